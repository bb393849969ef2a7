/* fleet/confine_calls.h - system calls that a session's process has no use for. */
#ifndef DCLI_FLEET_CONFINE_CALLS_H
#define DCLI_FLEET_CONFINE_CALLS_H

#include <stdbool.h>

#include <dcl/base.h>

/** Whether this system filters calls, and this machine's numbers of them are known. */
bool dcli_calls_can_be_filtered(void);
/** Refuse them from now on, in all threads of this process and those it starts. @return DCL_OK, DCL_ERR_UNSUPPORTED. */
dcl_status dcli_calls_filter(void);

#endif

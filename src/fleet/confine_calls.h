/* fleet/confine_calls.h - block system calls that a session's process does not need. */
#ifndef DCLI_FLEET_CONFINE_CALLS_H
#define DCLI_FLEET_CONFINE_CALLS_H

#include <stdbool.h>

#include <dcl/base.h>

/** Whether this system can filter calls, and the call numbers of this machine are known. */
bool dcli_calls_can_be_filtered(void);
/** Block the calls from now on, in all threads of this process and the processes that it starts. @return DCL_OK,
 *  DCL_ERR_UNSUPPORTED. */
dcl_status dcli_calls_filter(void);

#endif

/* runtime/entrance.h - functions for the dcl command besides the public interface. Not installed. */
#ifndef DCLI_RUNTIME_ENTRANCE_H
#define DCLI_RUNTIME_ENTRANCE_H

#include <dcl/base.h>

/** Serve one node until its session ends: the main function of `dcl worker --process TERMS`, which the library starts.
 *  Exported, because the command is linked to the shared library.
 *  @param terms  made by the library that starts the process.
 *  @return DCL_OK; DCL_ERR_INVALID: malformed terms; else why the process ended. */
DCL_API dcl_status dcl_worker_process(const char *terms);

#endif

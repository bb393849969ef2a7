/* runtime/serve.c - what the dcl command needs to offer devices to programs elsewhere. */
#include <dcl/worker.h>

#include "base/error.h"
#include "worker/serve.h"

dcl_status dcl_worker_process(const char *terms)
{
    dcli_error_enter(__func__);
    if (terms == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "terms is NULL; expected those of the library that starts the process");
    return dcli_serve_process(terms);
}

/* fleet/serve.h - the main function of a worker process. */
#ifndef DCLI_FLEET_SERVE_H
#define DCLI_FLEET_SERVE_H

#include <dcl/base.h>

/** Run a worker process until the host stops it or is gone. `terms` is one command-line argument without secrets,
 *  because others can read it:
 *  `shared parent=PID self=N nodes=N session=HEX processes=N device=N gpus=0|1 status=FD links=PEER:SOCKET:MEMORY:SIDE,...`,
 *  where `nodes` includes places for nodes that join later, and `processes` of this host share the processors;
 *  `wire parent=PID status=FD control=FD [files=FD]`
 *  @return DCL_OK, or the error (DCL_ERR_INVALID: not started by DCL). */
dcl_status dcli_serve_process(const char *terms);

#endif

/* fleet/serve.h - the main function of a worker process. */
#ifndef DCLI_FLEET_SERVE_H
#define DCLI_FLEET_SERVE_H

#include <dcl/base.h>

/** How a worker process is told what it is: one argument of its command line, without secrets, which others could read.
 *  `shared parent=PID self=N nodes=N session=HEX device=N status=FD links=PEER:SOCKET:MEMORY:SIDE,...`
 *  `wire parent=PID status=FD control=FD`
 *  Serve until the host stops or is gone.
 *  @return DCL_OK, or what went wrong (DCL_ERR_INVALID: not started by DCL). */
dcl_status dcli_serve_process(const char *terms);

#endif

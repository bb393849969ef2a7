/* worker/exec_tiles.h - launching tile kernels. */
#ifndef DCLI_WORKER_EXEC_TILES_H
#define DCLI_WORKER_EXEC_TILES_H

#include "kernel/tile_kernel.h"
#include "worker/peer.h"

/** Launch a tile kernel for a row, after all arguments are set. @return DCL_OK; DCL_ERR_UNSUPPORTED: too many
 *  work-groups; or as dcli_exec_launch(). */
dcl_status dcli_tile_launch(dcli_worker *worker, dcli_kernel *kernel, dcli_variant variant, const int64_t row[],
                            int count, const dcli_argument arguments[]);

#endif

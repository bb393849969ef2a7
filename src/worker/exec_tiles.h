/* worker/exec_tiles.h - what exec_forall.c does otherwise for tile kernels. */
#ifndef DCLI_WORKER_EXEC_TILES_H
#define DCLI_WORKER_EXEC_TILES_H

#include "kernel/tile_kernel.h"
#include "worker/peer.h"

/** The row of a work. @param base  [access_count] elements before the storage of each binding. */
void dcli_tile_fill_row(const dcli_body *body, const dcli_work *work, const dcli_binding bindings[],
                        const int64_t base[], int64_t row[]);

/** Launch it for a row, with all arguments in place. */
dcl_status dcli_tile_launch(dcli_worker *worker, dcli_kernel *kernel, dcli_variant variant, const int64_t row[],
                            int count, const dcli_argument arguments[]);

#endif

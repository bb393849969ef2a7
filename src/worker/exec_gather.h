/* worker/exec_gather.h - run launches that gather their inputs (lower/gather.h). */
#ifndef DCLI_WORKER_EXEC_GATHER_H
#define DCLI_WORKER_EXEC_GATHER_H

#include "worker/peer.h"

/** Write the source addresses of this operation into the arena. */
dcl_status dcli_gather_start(dcli_worker *worker, const dcli_entry *entry, const dcli_lowered *lowered,
                             dcli_memory *arena);
/** Start launch number l, which gathers.
 *  @param arguments  [count + 1], with room for 2 more; the last one is the memory of the report of stray accesses. */
dcl_status dcli_gather_launch(dcli_worker *worker, const dcli_entry *entry, const dcli_prepared *prepared, int64_t l,
                              dcli_argument arguments[], int count);

#endif

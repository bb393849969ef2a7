/* worker/exec_routes.h - carrying out transfers between memory of this node and other spaces: lower/routes.h. */
#ifndef DCLI_WORKER_EXEC_ROUTES_H
#define DCLI_WORKER_EXEC_ROUTES_H

#include "lower/routes.h"
#include "worker/peer.h"

/** From a chunk, or a peer's part, to the device's memory. @param host  where that space begins in the host's memory. */
dcl_status dcli_routes_take(dcli_worker *worker, const dcli_entry *entry, const dcli_route *route, dcli_memory *to,
                            const char *host);
/** Those that go to one chunk, into the host's memory; of devices that use it in place.
 *  @param from  the memory of all; NULL: of each the own part of its operand. */
dcl_status dcli_routes_give(dcli_worker *worker, const dcli_entry *entry, const dcli_routes *routes, int chunk,
                            dcli_memory *from, char *host);
/** Start to bring them to a slot, where the chunk has `count` bytes; of other devices. */
dcl_status dcli_routes_fetch(dcli_worker *worker, const dcli_entry *entry, const dcli_routes *routes, int chunk,
                             dcli_memory *from, dcli_slot *slot, size_t count);

/** Those that fill stages and replicas. @param arena  that of the batch. */
dcl_status dcli_routes_run(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                           const dcli_routes *routes, dcli_memory *arena);
/** Those that empty stages, once the chunks of the batch have their memory. */
dcl_status dcli_routes_pass(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_lowered *lowered, dcli_memory *arena);

#endif

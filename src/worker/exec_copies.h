/* worker/exec_copies.h - carrying out copies between memory of this node and another place. */
#ifndef DCLI_WORKER_EXEC_COPIES_H
#define DCLI_WORKER_EXEC_COPIES_H

#include "lower/copies.h"
#include "worker/peer.h"

/** From the host's memory to the device's. @param host  where the other place begins. */
dcl_status dcli_copies_take(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies, dcli_memory *near,
                            const char *host);
/** Those of a list that go to one chunk: into the host's memory, where the chunk has `count` bytes.
 *  @param near  the memory of all; NULL: of each the own part of its operand. */
dcl_status dcli_copies_give(dcli_worker *worker, const dcli_entry *entry, const dcli_copies_list *list, int where,
                            dcli_memory *near, char *host, size_t count);

/** Make those that fill stages. @param near  where these are: the arena of a batch, or the copy behind a stage. */
dcl_status dcli_copies_run(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                           const dcli_copies_list *list, dcli_memory *near);
/** Make those that empty them, once the chunks of the batch have their memory. */
dcl_status dcli_copies_pass(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_lowered *lowered, dcli_memory *arena);

#endif

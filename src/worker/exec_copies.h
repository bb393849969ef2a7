/* worker/exec_copies.h - copies between memory of this node and another place, joined where they go on.
 *
 * A record: count[rank]; of the near side, memory of this node's device, offset and step[rank]; the same of the other place. */
#ifndef DCLI_WORKER_EXEC_COPIES_H
#define DCLI_WORKER_EXEC_COPIES_H

#include "worker/peer.h"

/** The copies that go the same way to or from the same place; new ones when there are none. NULL: DCL_ERR_NOMEM.
 *  @param like  out, operand, kind and where count. */
dcli_copies *dcli_copies_for(const dcli_worker *worker, const dcli_entry *entry, dcli_copies_list *list,
                             const dcli_copies *like);
/** Add a box that lies so on both sides. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_copies_add(dcli_copies *copies, const dcli_region *near, const dcli_region *other);
/** Fewer records of the same elements. Launches cost more than uneven ones: on devices with memory of their own two records
 *  make an axis, too.
 *  @param by_near  no element of the near side occurs twice; else none of the other place does. */
dcl_status dcli_copies_join(const dcli_worker *worker, dcli_copies_list *list, bool by_near);

/** From the host's memory to the device's. @param host  where the other place begins. */
dcl_status dcli_copies_take(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies, dcli_memory *near,
                            const char *host);
/** Those of a list that go to one chunk: into the host's memory, where the chunk has `count` bytes.
 *  @param near  the memory of all; NULL: of each the own part of its operand. */
dcl_status dcli_copies_give(dcli_worker *worker, const dcli_entry *entry, const dcli_copies_list *list, int where,
                            dcli_memory *near, char *host, size_t count);

/** Whether a piece that comes into a stage is among the copies of its batch: the stage ends with that, and it does not come
 *  from a copy. */
bool dcli_copies_have(const dcli_stage *stage, const dcli_piece *piece);
/** Add a piece of a stage. @param at  where the stage begins, bytes. @param out  the piece is copied out of it. */
dcl_status dcli_copies_add_piece(const dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage,
                                 int64_t at, const dcli_piece *piece, bool out, dcli_copies_list *list);
/** Find the copies of a batch whose stages have their places. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_copies_prepare(const dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                               const dcli_batch *batch, dcli_prepared *prepared);
/** Make those that fill stages. @param near  where these are: the arena of a batch, or the copy behind a stage. */
dcl_status dcli_copies_run(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                           const dcli_copies_list *list, dcli_memory *near);
/** Make those that empty them, once the chunks of the batch have their memory. */
dcl_status dcli_copies_pass(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_prepared *prepared, dcli_memory *arena);

#endif

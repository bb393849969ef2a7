/* lower/copies.h - copies between memory of this node and another place, joined where they go on.
 *
 * A record: count[rank]; of the near side, memory of this node's device, offset and step[rank]; the same of the other place. */
#ifndef DCLI_LOWER_COPIES_H
#define DCLI_LOWER_COPIES_H

#include "lower/lower.h"

/** The copies that go the same way to or from the same place; new ones when there are none. NULL: DCL_ERR_NOMEM.
 *  @param like  out, operand, kind and where count. */
dcli_copies *dcli_copies_for(const dcli_traits *traits, const dcli_operation *operation, dcli_copies_list *list,
                             const dcli_copies *like);
/** Add a box that lies so on both sides. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_copies_add(dcli_copies *copies, const dcli_region *near, const dcli_region *other);
/** Fewer records of the same elements. Launches cost more than uneven ones: on devices with memory of their own two records
 *  make an axis, too.
 *  @param by_near  no element of the near side occurs twice; else none of the other place does. */
dcl_status dcli_copies_join(const dcli_traits *traits, dcli_copies_list *list, bool by_near);

/** Both sides of record r. @param shift  elements to be added to the other one's offset. */
void dcli_copies_regions(const dcli_copies *copies, int64_t r, int64_t shift, dcli_region *near_out,
                         dcli_region *other_out);
void dcli_copies_free(dcli_copies_list *list);
/** Memory that a list takes. */
int64_t dcli_copies_bytes(const dcli_copies_list *list);

/** Where a box of a stage, which begins at so many bytes, lies in the arena. */
dcli_region dcli_stage_region(const dcli_operation *operation, const dcli_stage *stage, int64_t at, const dcl_box *box);
/** Whether a piece that comes into a stage is among the copies of its batch: the stage ends with that, and it does not come
 *  from a copy. */
bool dcli_copies_have(const dcli_stage *stage, const dcli_piece *piece);
/** Add a piece of a stage. @param at  where the stage begins, bytes. @param out  the piece is copied out of it. */
dcl_status dcli_copies_add_piece(const dcli_traits *traits, const dcli_operation *operation, const dcli_stage *stage,
                                 int64_t at, const dcli_piece *piece, bool out, dcli_copies_list *list);
/** Find the copies of a batch whose stages have their places. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_copies_prepare(const dcli_traits *traits, const dcli_operation *operation, const dcli_plan *plan,
                               const dcli_batch *batch, dcli_lowered *lowered);
/** Find the copies between the parts of a node and a chunk. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_copies_of_chunk(const dcli_traits *traits, const dcli_operation *operation, const dcli_plan *plan,
                                const dcli_chunk *chunk, dcli_copies_list *list);

#endif

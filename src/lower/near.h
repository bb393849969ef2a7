/* lower/near.h - a spatial index of a stage's pieces. */
#ifndef DCLI_LOWER_NEAR_H
#define DCLI_LOWER_NEAR_H

#include "lower/lower.h"

/** An index of a stage's pieces by their position. Start with {0}; free with dcli_near_free(). */
typedef struct dcli_near {
    bool made;
    dcli_box_set boxes; /* boxes of the pieces, sorted so that neighbours are close together */
    int64_t *piece;     /* [boxes] numbers of the pieces in the plan */
} dcli_near;

/** Build the index of a stage, unless it exists. @return DCL_OK, or DCL_ERR_NOMEM: `near` is empty. Cost: O(n log n)
 *  for n pieces. */
dcl_status dcli_near_make(dcli_near *near, const dcli_plan *plan, const dcli_stage *stage);
/** Find the first piece, at index *place_in_out or later, that has elements of a box; *place_in_out becomes the index
 *  after it. @return NULL: there is none. Cost: O(log n), if the boxes that enclose neighbouring pieces do not
 *  overlap. */
const dcli_piece *dcli_near_next(const dcli_near *near, const dcli_plan *plan, const dcl_box *box,
                                 int64_t *place_in_out);
void dcli_near_free(dcli_near *near);

#endif

/* lower/near.h - the pieces of a stage, found by where they lie. */
#ifndef DCLI_LOWER_NEAR_H
#define DCLI_LOWER_NEAR_H

#include "lower/lower.h"

/** Starts as {0}; freed with dcli_near_free(). */
typedef struct dcli_near {
    bool made;
    dcli_box_set boxes; /* of the pieces, those that lie near each other next to each other */
    int64_t *piece;     /* [boxes] numbers in the plan */
} dcli_near;

/** Put the pieces of a stage into bins, unless that is done. @return DCL_OK, or DCL_ERR_NOMEM: `near` is as it was. Cost:
 *  O(n log n) of n pieces. */
dcl_status dcli_near_make(dcli_near *near, const dcli_plan *plan, const dcli_stage *stage);
/** The first piece, from place *place_in_out on, that has elements of a box; the place behind it. NULL: there is none. Cost:
 *  O(log n) where pieces have no gaps that others lie in. */
const dcli_piece *dcli_near_next(const dcli_near *near, const dcli_plan *plan, const dcl_box *box,
                                 int64_t *place_in_out);
void dcli_near_free(dcli_near *near);

#endif

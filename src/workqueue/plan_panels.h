/* workqueue/plan_panels.h - panels: parts of the reduced index of a contraction, whose batches follow one another. */
#ifndef DCLI_WORKQUEUE_PLAN_PANELS_H
#define DCLI_WORKQUEUE_PLAN_PANELS_H

#include "workqueue/builder.h"

/** The panels of a plan. */
typedef struct dcli_panels {
    int64_t most;                            /* most indices of a panel; 0: the plan has no panels */
    int64_t depth, next;                     /* number of reduced indices, and of those that are in panels */
    bool begun;                              /* the first panel was begun */
    int factor[2];                           /* the accesses of the factors */
    dcli_subscripts whole[2], whole_base[2]; /* their subscripts for all indices */
} dcli_panels;

/** Find the panels of the planned node, after the accesses were looked at. @param at_once  nothing is exchanged: there are
 *  none. */
dcl_status dcli_panels_begin(dcli_builder *builder, bool at_once, dcli_panels *panels_out);
/** Narrow the subscripts of the factors to the next panel. Without panels there is one, of all indices. @return false: there
 *  is none; the subscripts are whole again. */
bool dcli_panels_next(dcli_builder *builder, dcli_panels *panels);

#endif

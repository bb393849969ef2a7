/* workqueue/plan_panels.h - panels: parts of the reduced index of a contraction, whose batches follow one another. */
#ifndef DCLI_WORKQUEUE_PLAN_PANELS_H
#define DCLI_WORKQUEUE_PLAN_PANELS_H

#include "workqueue/builder.h"

/** The panels of a plan. */
typedef struct dcli_panels {
    int64_t most;                            /* most reduced indices of a panel; 0: the plan has no panels */
    int64_t depth, next;                     /* number of reduced indices; number of those in panels that have been
                                                begun */
    bool begun;                              /* the first panel was begun */
    int factor[2];                           /* the accesses of the factors */
    dcli_subscripts whole[2], whole_base[2]; /* subscripts of the factors for all reduced indices: as in the body,
                                                and for the array behind the view */
} dcli_panels;

/** Find the panels of the planned node, after the accesses were looked at.
 *  @param at_once  nothing is exchanged: there are no panels. */
dcl_status dcli_panels_begin(dcli_builder *builder, bool at_once, dcli_panels *panels_out);
/** Narrow the subscripts of the factors to the next panel. Without panels there is one, of all reduced indices.
 *  @return false: no panel is left; the subscripts are whole again. */
bool dcli_panels_next(dcli_builder *builder, dcli_panels *panels);

#endif

/* workqueue/plan_detail.h - what a plan of a body or of a move takes in detail: for reports, made only when asked for. */
#ifndef DCLI_WORKQUEUE_PLAN_DETAIL_H
#define DCLI_WORKQUEUE_PLAN_DETAIL_H

#include "workqueue/builder.h"

/** What the planned node's tasks touch of a peer's elements; dcl_report_pair says what is counted. */
typedef struct dcli_plan_pair {
    bool met; /* stands in `peer` of the detail */
    int64_t blocks, bytes, messages, bytes_read, bytes_written;
} dcli_plan_pair;

/** How much more an access is given than it reads; 0 where dcli_access_is_wide() says no. */
typedef struct dcli_plan_excess {
    int64_t elements;     /* of the footprints of all works */
    int64_t read_at_most; /* of these */
} dcli_plan_excess;

struct dcli_plan_detail {
    dcli_plan_pair *pair;           /* [node_count] by peer */
    int *peer, peer_count;          /* [node_count] those with something to move, as they came */
    int64_t moved[DCLI_MAX_PARAMS]; /* bytes of counters.bytes_moved, by operand */
    dcli_plan_excess excess[DCLI_MAX_ACCESSES];
    int64_t elements;      /* indices of all works */
    int64_t staged_bytes;  /* most bytes of stages of a batch */
    int64_t arrived_bytes; /* most bytes of received chunks that live at once */
    int64_t copied_bytes;  /* of the copies that are made and kept */
};

/** Whether the footprints of an access are boxes around what it reads. @param subscripts  as in the body. */
static inline bool dcli_access_is_wide(const dcli_body_access *access, const dcli_subscripts *subscripts)
{
    return access->read && subscripts->reach == DCLI_REACH_AFFINE && !dcli_subscripts_exact(subscripts);
}

/** An empty detail for builder->plan. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_detail_begin(dcli_builder *builder);
void dcli_detail_free(dcli_plan_detail *detail);

/** What moves between the planned node and a peer. */
typedef struct dcli_detail_move {
    int operand, peer;
    int64_t bytes, blocks; /* `blocks`: those that are not in the set of the operand and peer */
    bool written, counted; /* not counted: what is written was counted when it was read */
} dcli_detail_move;

/** Note a move, where a detail is asked for. */
void dcli_detail_moved(dcli_builder *builder, const dcli_detail_move *move);

/** What follows from the finished plan. */
void dcli_detail_end(dcli_builder *builder);

#endif

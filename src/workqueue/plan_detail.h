/* workqueue/plan_detail.h - details of the plan of a body or of a move, for reports; made only on request. */
#ifndef DCLI_WORKQUEUE_PLAN_DETAIL_H
#define DCLI_WORKQUEUE_PLAN_DETAIL_H

#include "workqueue/builder.h"

/** What the tasks of the planned node access of one peer's elements; dcl_report_pair defines each count. */
typedef struct dcli_plan_pair {
    bool met; /* the peer is already listed in `peer` of the detail */
    int64_t blocks, bytes, messages, bytes_read, bytes_written;
} dcli_plan_pair;

/** For one access: how much its footprints exceed what it reads; all 0 if dcli_access_is_wide() is false. */
typedef struct dcli_plan_excess {
    int64_t elements;     /* elements of the footprints of all works */
    int64_t read_at_most; /* an upper bound on how many of these are read */
} dcli_plan_excess;

struct dcli_plan_detail {
    dcli_plan_pair *pair;           /* [node_count] counts by peer */
    int *peer, peer_count;          /* [node_count] peers with something to move, in the order found */
    int64_t moved[DCLI_MAX_PARAMS]; /* bytes of counters.bytes_moved, by operand */
    dcli_plan_excess excess[DCLI_MAX_ACCESSES];
    int64_t elements;      /* indices of all works */
    int64_t staged_bytes;  /* most bytes of stages of a batch */
    int64_t arrived_bytes; /* most bytes of received chunks at the same time */
    int64_t copied_bytes;  /* bytes of the replicas that are made */
};

/** Whether the footprints of an affine access may contain elements that it does not read (dcli_subscripts_exact()). False
 *  for accesses that only write, and for declared reaches, whatever these contain. @param subscripts  as in the body. */
static inline bool dcli_access_is_wide(const dcli_body_access *access, const dcli_subscripts *subscripts)
{
    return access->read && subscripts->reach == DCLI_REACH_AFFINE && !dcli_subscripts_exact(subscripts);
}

/** Make an empty detail for builder->plan. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_detail_begin(dcli_builder *builder);
void dcli_detail_free(dcli_plan_detail *detail);

/** Elements that move between the planned node and a peer. */
typedef struct dcli_detail_move {
    int operand, peer;
    int64_t bytes, blocks; /* `blocks`: only blocks that were not counted for this operand and peer before */
    bool written, counted; /* counted false: what is written was already counted when it was read */
} dcli_detail_move;

/** Record a move, if a detail is requested. */
void dcli_detail_moved(dcli_builder *builder, const dcli_detail_move *move);

/** Complete the detail from the finished plan. */
void dcli_detail_end(dcli_builder *builder);

#endif

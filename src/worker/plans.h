/* worker/plans.h - the plans that a peer keeps for operations of the same shape, and what it has prepared for them. Used by the
 * thread of its peer. */
#ifndef DCLI_WORKER_PLANS_H
#define DCLI_WORKER_PLANS_H

#include "device/device.h"
#include "lower/lower.h"
#include "worker/plan_cache.h"

/** Where the elements of a chunk lie on this node, from the second time on that it is packed here, or written. */
typedef struct dcli_packing {
    bool used, ready;
    dcli_routes routes;
} dcli_packing;

/** What is prepared for a batch the first time it runs. */
typedef struct dcli_prepared {
    bool ready;
    dcli_lowered lowered;
    dcli_memory *
        *table; /* [lowered.launch_count] rows, or tables, as kernels read them; NULL: rows are passed by value */
    double element_ns; /* cost of an element that rows were cut by; 0: it was not known */
    int64_t elements;  /* indices that it runs; 0: its time says nothing about the cost of one */
    int64_t units;     /* compute units that its rows keep busy */
    int cuts;          /* times that it was prepared anew because costs had turned out to be others */
} dcli_prepared;

/** That a plan is of a layout or of a body, by whose address it is found when that ends. */
typedef struct dcli_naming {
    struct dcli_kept_plan *kept;
    const void *named;
    struct dcli_naming *next, **before;
} dcli_naming;

/** A plan that a peer keeps for operations of the same shape. */
typedef struct dcli_kept_plan {
    dcli_shared_plan *shared; /* held */
    const dcli_plan *plan;    /* the same one's */
    dcli_prepared *prepared;  /* [batch_count], own plans only; NULL until the first batch runs */
    dcli_packing *packing;    /* [chunk_count], others' plans only; NULL until the first chunk is packed or written */
    int64_t bytes;            /* of memory: this peer's share of the plan, and all of what it has prepared */
    int64_t uses;             /* open operations that use it */
    struct dcli_kept_plan *next;          /* of its bucket */
    struct dcli_kept_plan *older, *newer; /* by last use */
    dcli_naming naming[];                 /* [operand_count + 1] its layouts, and its body */
} dcli_kept_plan;

typedef struct dcli_plans {
    dcli_plan_terms terms; /* `kept`: the books of copies after the last operation that was added */
    int self;
    dcli_plan_cache *cache;
    int sharers; /* peers that have the plan of another one, and what is exchanged with it: each counts its part */
    dcli_kept_plan *bucket[DCLI_PLAN_BUCKETS];
    dcli_kept_plan *oldest, *newest; /* by last use */
    dcli_naming *naming[DCLI_PLAN_BUCKETS];
    int64_t count;
    int64_t bytes, most_bytes; /* beyond the second, those in use alone are kept */
    dcli_kept_state asked;     /* of the node whose plan is looked for; memory that is used again */
    /** Told what begins to be planned, and NULL at its end. NULL: nobody is. */
    void (*planning)(void *user, const char *what);
    /** Given a plan that was not kept; it may be one that another peer of the process made. NULL: nobody is. */
    void (*planned)(void *user, const dcli_operation *operation, int node, const dcli_plan *plan);
    void *planning_user; /* of both */
} dcli_plans;

/** @param cache  outlives it. @param most_bytes  of all kept plans, but for those in use. */
void dcli_plans_init(dcli_plans *plans, int self, const dcli_plan_terms *terms, dcli_plan_cache *cache, int sharers,
                     int64_t most_bytes);
/** The plan of an operation for a node, kept or made now; stays until it is let go.
 *  @param shapes  [operand_count] scalars that stand in subscripts: the others do not matter; NULL: none do.
 *  @return NULL: DCL_ERR_NOMEM. */
dcli_kept_plan *dcli_plans_hold(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node);
void dcli_plans_let_go(dcli_kept_plan *kept);

/** Whether this node has planned an operation of this shape before: then it was checked, too. */
bool dcli_plans_known(dcli_plans *plans, const dcli_operation *operation, const bool shapes[]);
/** Give back what was prepared for a batch: as if it had never run. */
void dcli_prepared_clear(dcli_prepared *prepared);
/** Count memory that was prepared for a kept plan. */
void dcli_plans_add(dcli_plans *plans, dcli_kept_plan *kept, int64_t bytes);
/** Forget plans that no open operation uses, those that were used longest ago first, until all have at most `bytes`. */
void dcli_plans_trim(dcli_plans *plans, int64_t bytes);
/** Forget plans that name a layout, which is about to end; none of them is in use. Cost: their number. */
void dcli_plans_forget(dcli_plans *plans, const dcli_layout *layout);
/** Forget plans of a body, which is about to end; none of them is in use. */
void dcli_plans_forget_body(dcli_plans *plans, const dcli_body *body);
/** Give back what plans hold on the device. */
void dcli_plans_release_device(dcli_plans *plans);
void dcli_plans_free(dcli_plans *plans);

#endif

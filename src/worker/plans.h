/* worker/plans.h - the plans that a peer caches for operations of the same shape, and what it has prepared for them.
 * Used by the thread of its peer. */
#ifndef DCLI_WORKER_PLANS_H
#define DCLI_WORKER_PLANS_H

#include "device/device.h"
#include "lower/lower.h"
#include "worker/plan_cache.h"
#include "workqueue/plan_loan.h"

/** The copies by which a chunk of another node's plan is packed or committed here. */
typedef struct dcli_packing {
    bool ready;
    dcli_routes routes;
} dcli_packing;

/** What is prepared for a batch when it first runs. */
typedef struct dcli_prepared {
    bool ready;
    dcli_lowered lowered;
    dcli_memory **table; /* [lowered.launch_count] rows, or tables, for kernels; NULL: rows are passed by value, or read
                            at their address */
    double element_ns;   /* element cost that the rows were cut by; 0: unknown */
    int64_t elements;    /* indices that it runs; 0: its time does not measure the cost of one */
    int64_t units;       /* compute units that its rows keep busy */
    enum {
        DCLI_JOINS_UNKNOWN,
        DCLI_JOINS_NEVER,
        DCLI_JOINS_IF_SHORT
    } joins;         /* whether it can be part of a series: see series.h */
    int64_t first;   /* number of the batch */
    int64_t count;   /* batches that are launched together: this one, and those that follow it */
    int cuts;        /* times that it was prepared again because the measured costs had changed */
    int64_t samples; /* measurements of the cost with which the rows were last found to be right; 0: none */
} dcli_prepared;

/** The plan of a loan: of batches of the plan that caches it, for a thief. */
typedef struct dcli_cached_loan {
    int thief;
    int64_t count;          /* of batches */
    dcl_status status;      /* DCL_ERR_INVALID: they cannot be lent */
    dcli_loan *loan;        /* NULL: `status` is not DCL_OK */
    dcli_prepared prepared; /* at the thief */
    struct dcli_cached_loan *next;
} dcli_cached_loan;

/** A reference from a plan to a layout or body, by whose address the plan is found when that is freed. */
typedef struct dcli_naming {
    struct dcli_cached_plan *cached;
    const void *named;
    struct dcli_naming *next, **before;
} dcli_naming;

/** A plan that a peer caches for operations of the same shape. */
typedef struct dcli_cached_plan {
    dcli_shared_plan *shared; /* the plan, shared with other peers; held until this is freed */
    const dcli_plan *plan;    /* shared->plan */
    dcli_prepared *prepared;  /* [batch_count], only in plans of this node's own tasks; NULL until one of the batches
                                 runs */
    dcli_packing *packing;    /* [chunk_count], only in plans of other nodes' tasks; NULL until one of the chunks is
                                 packed or committed */
    dcli_cached_loan **
        loans; /* [batch_count], of whole plans: the list of the loans that begin with a batch; NULL: none was planned */
    int64_t bytes;                 /* bytes of memory: this peer's share of the plan, and all that it has prepared */
    int64_t uses;                  /* number of open operations that use it */
    struct dcli_cached_plan *next; /* next in its bucket */
    struct dcli_cached_plan *older, *newer; /* neighbours in the order of last use */
    dcli_naming naming[];                   /* [operand_count + 1] entries in `naming` of dcli_plans for its layouts,
                                               and for its body */
} dcli_cached_plan;

typedef struct dcli_plans {
    dcli_plan_terms terms; /* terms of planning; their `directory` is the record of replicas after the last operation
                              added */
    int self;
    dcli_plan_cache *cache;
    int sharers; /* number of peers of this process that share the plan of another node's tasks: all but that node
                    and the host, at least 1; each counts an equal part of its bytes */
    dcli_cached_plan *bucket[DCLI_PLAN_BUCKETS];
    dcli_cached_plan *oldest, *newest; /* ends of the list in the order of last use */
    dcli_naming *naming[DCLI_PLAN_BUCKETS];
    int64_t count;
    int64_t bytes, most_bytes;  /* bytes of all plans, and the limit beyond which only plans in use are kept */
    dcli_directory_state asked; /* replicas of the node whose plan is looked up; memory that is reused */
    /** Callback when planning begins, with its description, and with NULL when it ends. NULL: none. */
    void (*planning)(void *user, const char *what);
    /** Callback with a plan that was not cached here; another peer of the process may have made it. NULL: none. */
    void (*planned)(void *user, const dcli_operation *operation, int node, const dcli_plan *plan);
    void *planning_user; /* the `user` of both callbacks */
} dcli_plans;

/** Initialize. @param cache  outlives it. @param most_bytes  limit for all cached plans, except those in use. */
void dcli_plans_init(dcli_plans *plans, int self, const dcli_plan_terms *terms, dcli_plan_cache *cache, int sharers,
                     int64_t most_bytes);
/** Get the plan of an operation for a node, cached or made now; held until it is released.
 *  @param shapes  [operand_count] scalars that occur in subscripts: the others do not matter; NULL: none do.
 *  @return NULL: DCL_ERR_NOMEM. */
dcli_cached_plan *dcli_plans_hold(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node);
/** The same for the whole plan of another node. It equals that node's own plan if no replicas are used. */
dcli_cached_plan *dcli_plans_hold_whole(dcli_plans *plans, const dcli_operation *operation, const bool shapes[],
                                        int node);
/** Find the loan of `count` batches from `batch` on, or plan it. It is freed with `cached`, which is the whole plan of the victim.
 *  @return DCL_OK; DCL_ERR_INVALID: the batch cannot be lent; DCL_ERR_NOMEM. */
dcl_status dcli_plans_loan(dcli_plans *plans, dcli_cached_plan *cached, const dcli_operation *operation, int64_t batch,
                           int64_t count, int victim, int thief, dcli_cached_loan **loan_out);
/** Release a plan that was held; it stays cached. */
void dcli_plans_let_go(dcli_cached_plan *cached);

/** Find this node's plan of an operation if one of this shape was planned before; then it has also been checked. It is not
 *  held. @param fixed_out  replicas play no part in it, so that it stays the operation's plan when some are dropped.
 *  @return NULL: there is none. */
dcli_cached_plan *dcli_plans_find(dcli_plans *plans, const dcli_operation *operation, const bool shapes[],
                                  bool *fixed_out);
/** Hold a plan that was found. */
void dcli_plans_use(dcli_plans *plans, dcli_cached_plan *cached);
/** Free what was prepared for a batch, as if it had never run. */
void dcli_prepared_clear(dcli_prepared *prepared);
/** Count memory that was prepared for a cached plan. */
void dcli_plans_add(dcli_plans *plans, dcli_cached_plan *cached, int64_t bytes);
/** Evict plans without open operations, least recently used first, until all plans take at most `bytes`. */
void dcli_plans_trim(dcli_plans *plans, int64_t bytes);
/** Remove the plans that use a layout which is about to be freed; none of them is in use. Cost: their number. */
void dcli_plans_forget(dcli_plans *plans, const dcli_layout *layout);
/** Remove the plans of a body which is about to be freed; none of them is in use. */
void dcli_plans_forget_body(dcli_plans *plans, const dcli_body *body);
/** Free all that was prepared for batches, with its memory on the device. */
void dcli_plans_release_device(dcli_plans *plans);
void dcli_plans_free(dcli_plans *plans);

#endif

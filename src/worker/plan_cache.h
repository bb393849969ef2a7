/* worker/plan_cache.h - plans that the peers of one process share: whichever needs one first makes it, and who needs the same
 * one meanwhile waits for it. Used by all threads.
 *
 * What a peer prepares for a plan, and which plans it keeps, is its own: plans.h. A plan lasts as long as some peer holds it. */
#ifndef DCLI_WORKER_PLAN_CACHE_H
#define DCLI_WORKER_PLAN_CACHE_H

#include <pthread.h>

#include "workqueue/plan.h"

/** What a plan is made for: the operation without its storages, and the scalars that count. */
typedef struct dcli_plan_wanted {
    const dcli_operation *operation;
    const bool *shapes;           /* [operand_count] scalars that stand in subscripts; NULL: none do */
    const dcli_kept_state *state; /* copies there are of its operands at the planned node */
    int node;                     /* that is planned */
    bool streams;                 /* as in dcli_plan_terms */
    uint64_t hash;                /* of all this: dcli_plan_hash() */
} dcli_plan_wanted;

uint64_t dcli_plan_hash(const dcli_plan_wanted *wanted);

/** An operand as plans depend on it. */
typedef struct dcli_plan_operand {
    const dcli_layout *layout;
    const dcli_transform *view;
    dcli_declared declared;
    uint64_t value; /* 0 where it does not count */
    bool kept, keeps;
} dcli_plan_operand;

/** A plan that peers share. Immutable once it is held, but for what its cache's lock guards. */
typedef struct dcli_shared_plan {
    uint64_t hash;
    const dcli_plan *plan;
    int64_t bytes; /* of memory, with all that is here */
    int node;
    bool streams;
    dcli_op_kind kind;
    int target; /* dcli_operation.node */
    const dcli_body *body;
    dcl_box box;
    dcli_kept_state state;
    int operand_count;
    dcli_plan_operand *operand; /* [operand_count] */
    /* With the lock of the cache: */
    int64_t holders;
    enum { DCLI_PLAN_BEING_MADE, DCLI_PLAN_READY, DCLI_PLAN_FAILED } stage;
    struct dcli_shared_plan *next;
} dcli_shared_plan;

enum { DCLI_PLAN_BUCKETS = 1024 };

typedef struct dcli_plan_cache {
    pthread_mutex_t lock;   /* what follows; never held while something is planned; a leaf */
    pthread_cond_t changed; /* some plan is ready, or has failed */
    dcli_shared_plan *bucket[DCLI_PLAN_BUCKETS];
    int64_t made; /* plans, since it was opened */
} dcli_plan_cache;

void dcli_plan_cache_init(dcli_plan_cache *cache);
/** All plans have been let go. */
void dcli_plan_cache_free(dcli_plan_cache *cache);

/** Whether a shared plan is for this. */
bool dcli_plan_fits(const dcli_shared_plan *shared, const dcli_plan_wanted *wanted);
/** A plan, which is made now if there is none. @param terms  `streams` is as wanted.
 *  @return NULL: DCL_ERR_NOMEM. */
dcli_shared_plan *dcli_plan_cache_hold(dcli_plan_cache *cache, const dcli_plan_wanted *wanted,
                                       const dcli_plan_terms *terms);
void dcli_plan_cache_let_go(dcli_plan_cache *cache, dcli_shared_plan *shared);
/** How many have been made so far. */
int64_t dcli_plan_cache_made(dcli_plan_cache *cache);

#endif

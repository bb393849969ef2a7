/* worker/plan_cache.h - plans that the peers of one process share: the first peer that needs one makes it, and others
 * that need the same one meanwhile wait for it. Used by all threads.
 *
 * What a peer prepares for a plan, and which plans it retains, is its own: plans.h. A plan exists as long as a peer
 * holds it. */
#ifndef DCLI_WORKER_PLAN_CACHE_H
#define DCLI_WORKER_PLAN_CACHE_H

#include <pthread.h>

#include "workqueue/plan.h"

/** The key of a plan: the operation without its storages, and the relevant scalars. */
typedef struct dcli_plan_wanted {
    const dcli_operation *operation;
    const bool *shapes;                /* [operand_count] scalars that occur in subscripts; NULL: none do */
    const dcli_directory_state *state; /* existing replicas of its operands on the planned node */
    int node;                          /* the planned node */
    int with;                          /* dcli_plan_terms.with, if the plan is of a pair; -1: it is not */
    bool streams;                      /* dcli_plan_terms.streams, with which the plan was made */
    int64_t fine_elements;             /* dcli_plan_terms.fine_elements */
    uint64_t hash;                     /* hash of all this: dcli_plan_hash() */
} dcli_plan_wanted;

uint64_t dcli_plan_hash(const dcli_plan_wanted *wanted);

/** The properties of an operand that plans depend on. */
typedef struct dcli_plan_operand {
    const dcli_layout *layout;
    const dcli_transform *view;
    dcli_declared declared;
    uint64_t value; /* value of a scalar on which the plan depends; else 0 */
    bool uses_replicas, keeps, fresh;
} dcli_plan_operand;

/** A plan that peers share. Immutable once it is held, except for what its cache's lock guards. */
typedef struct dcli_shared_plan {
    uint64_t hash;
    const dcli_plan *plan;
    int64_t bytes; /* bytes of memory, including this record */
    int node, with;
    bool streams;
    int64_t fine_elements;
    dcli_op_kind kind;
    int target;      /* MOVE: dcli_operation.node, to which the elements move */
    int64_t overlap; /* as in dcli_operation */
    const dcli_body *body;
    dcl_box box;
    dcli_directory_state state;
    int operand_count;
    dcli_plan_operand *operand; /* [operand_count] what the plan depends on of each operand */
    /* Guarded by the lock of the cache: */
    int64_t holders;
    enum { DCLI_PLAN_BEING_MADE, DCLI_PLAN_READY, DCLI_PLAN_FAILED } stage;
    struct dcli_shared_plan *next;
} dcli_shared_plan;

enum { DCLI_PLAN_BUCKETS = 1024 };

typedef struct dcli_plan_cache {
    pthread_mutex_t lock;   /* guards the following fields; not held during planning; no other lock is taken under it */
    pthread_cond_t changed; /* signalled when a plan is ready, or has failed */
    dcli_shared_plan *bucket[DCLI_PLAN_BUCKETS];
    int64_t made; /* number of plans made since it was opened */
} dcli_plan_cache;

void dcli_plan_cache_init(dcli_plan_cache *cache);
/** Free the cache; all plans were released. */
void dcli_plan_cache_free(dcli_plan_cache *cache);

/** Whether a shared plan has this key. */
bool dcli_plan_fits(const dcli_shared_plan *shared, const dcli_plan_wanted *wanted);
/** Get a plan; if there is none, it is made now; if another peer is making it, this waits. @param terms  `streams` is as
 *  wanted. @return NULL: DCL_ERR_NOMEM. */
dcli_shared_plan *dcli_plan_cache_hold(dcli_plan_cache *cache, const dcli_plan_wanted *wanted,
                                       const dcli_plan_terms *terms);
/** Release a plan that was held. */
void dcli_plan_cache_let_go(dcli_plan_cache *cache, dcli_shared_plan *shared);
/** Number of plans made so far. */
int64_t dcli_plan_cache_made(dcli_plan_cache *cache);

#endif

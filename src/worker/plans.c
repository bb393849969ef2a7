/* worker/plans.c - a peer's cache of plans: a program repeats its operations, and a plan does not depend on which
 * storages of a layout are used. The bytes of the cache are limited; plans in use are always kept. */
#include "worker/plans.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "lower/routes.h"

/* ---- prepared batches --------------------------------------------------------------------------------------------- */

void dcli_prepared_clear(dcli_prepared *prepared)
{
    for (int64_t l = 0; prepared->table != NULL && l < prepared->lowered.launch_count; l++)
        dcli_memory_release(prepared->table[l]); /* released before the rows, which it may wrap */
    dcli_free(prepared->table);
    dcli_lowered_free(&prepared->lowered);
    *prepared = (dcli_prepared){0};
}

static void release_prepared(dcli_cached_plan *cached)
{
    for (int64_t b = 0; cached->prepared != NULL && b < cached->plan->batch_count; b++)
        dcli_prepared_clear(&cached->prepared[b]);
    dcli_free(cached->prepared);
    cached->prepared = NULL;
    for (int64_t b = 0; cached->loans != NULL && b < cached->plan->batch_count; b++)
        for (dcli_cached_loan *loan = cached->loans[b]; loan != NULL; loan = loan->next)
            dcli_prepared_clear(&loan->prepared);
}

static void free_loans(dcli_cached_plan *cached)
{
    for (int64_t b = 0; cached->loans != NULL && b < cached->plan->batch_count; b++)
        for (dcli_cached_loan *loan = cached->loans[b], *next; loan != NULL; loan = next) {
            next = loan->next;
            dcli_loan_free(loan->loan);
            dcli_free(loan);
        }
    dcli_free(cached->loans);
}

void dcli_plans_add(dcli_plans *plans, dcli_cached_plan *cached, int64_t bytes)
{
    cached->bytes += bytes;
    plans->bytes += bytes;
}

void dcli_plans_release_device(dcli_plans *plans)
{
    for (dcli_cached_plan *cached = plans->oldest; cached != NULL; cached = cached->newer)
        release_prepared(cached);
}

/* ---- by last use -------------------------------------------------------------------------------------------------- */

static void unlink_age(dcli_plans *plans, dcli_cached_plan *cached)
{
    *(cached->older != NULL ? &cached->older->newer : &plans->oldest) = cached->newer;
    *(cached->newer != NULL ? &cached->newer->older : &plans->newest) = cached->older;
}

static void link_newest(dcli_plans *plans, dcli_cached_plan *cached)
{
    cached->older = plans->newest;
    cached->newer = NULL;
    *(plans->newest != NULL ? &plans->newest->newer : &plans->oldest) = cached;
    plans->newest = cached;
}

/* ---- by layout and body ------------------------------------------------------------------------------------------- */

static dcli_naming **naming_bucket(dcli_plans *plans, const void *named)
{
    return &plans->naming[dcli_hash_word(DCLI_HASH_START, (uint64_t)(uintptr_t)named) % DCLI_PLAN_BUCKETS];
}

static void link_name(dcli_plans *plans, dcli_cached_plan *cached, int n, const void *named)
{
    dcli_naming *naming = &cached->naming[n], **first = naming_bucket(plans, named);
    if (named == NULL) /* a scalar, or no body */
        return;
    *naming = (dcli_naming){.cached = cached, .named = named, .next = *first, .before = first};
    if (*first != NULL)
        (*first)->before = &naming->next;
    *first = naming;
}

static void link_names(dcli_plans *plans, dcli_cached_plan *cached)
{
    const dcli_shared_plan *shared = cached->shared;
    for (int k = 0; k < shared->operand_count; k++)
        link_name(plans, cached, k, shared->operand[k].layout);
    link_name(plans, cached, shared->operand_count, shared->body);
}

static void unlink_names(dcli_cached_plan *cached)
{
    for (int n = 0; n <= cached->shared->operand_count; n++) {
        dcli_naming *naming = &cached->naming[n];
        if (naming->named == NULL)
            continue;
        *naming->before = naming->next;
        if (naming->next != NULL)
            naming->next->before = naming->before;
    }
}

/* ---- forgetting --------------------------------------------------------------------------------------------------- */

static void forget(dcli_plans *plans, dcli_cached_plan *cached)
{
    dcli_cached_plan **at = &plans->bucket[cached->shared->hash % DCLI_PLAN_BUCKETS];
    while (*at != cached)
        at = &(*at)->next;
    *at = cached->next;
    unlink_age(plans, cached);
    unlink_names(cached);
    plans->count--;
    plans->bytes -= cached->bytes;
    release_prepared(cached);
    free_loans(cached);
    for (int64_t c = 0; cached->packing != NULL && c < cached->plan->chunk_count; c++)
        dcli_routes_free(&cached->packing[c].routes);
    dcli_free(cached->packing);
    dcli_plan_cache_let_go(plans->cache, cached->shared);
    dcli_free(cached);
}

void dcli_plans_trim(dcli_plans *plans, int64_t bytes)
{
    for (dcli_cached_plan *cached = plans->oldest, *newer; cached != NULL && plans->bytes > bytes; cached = newer) {
        newer = cached->newer;
        if (cached->uses == 0)
            forget(plans, cached);
    }
}

static void forget_all_of(dcli_plans *plans, const void *named)
{
    dcli_naming **at = naming_bucket(plans, named);
    while (*at != NULL)
        if ((*at)->named == named) {
            assert((*at)->cached->uses == 0);
            forget(plans, (*at)->cached); /* with all its references, before and after this one */
            at = naming_bucket(plans, named);
        } else {
            at = &(*at)->next;
        }
}

void dcli_plans_forget(dcli_plans *plans, const dcli_layout *layout) { forget_all_of(plans, layout); }

void dcli_plans_forget_body(dcli_plans *plans, const dcli_body *body) { forget_all_of(plans, body); }

/* ---- life --------------------------------------------------------------------------------------------------------- */

void dcli_plans_init(dcli_plans *plans, int self, const dcli_plan_terms *terms, dcli_plan_cache *cache, int sharers,
                     int64_t most_bytes)
{
    *plans = (dcli_plans){
        .terms = *terms, .self = self, .cache = cache, .sharers = sharers < 1 ? 1 : sharers, .most_bytes = most_bytes};
    plans->terms.planner = NULL; /* made with the first plan */
}

void dcli_plans_free(dcli_plans *plans)
{
    while (plans->oldest != NULL)
        forget(plans, plans->oldest);
    dcli_planner_free(plans->terms.planner);
    plans->terms.planner = NULL;
    dcli_free(plans->asked.number);
    plans->asked = (dcli_directory_state){0};
}

/* ---- finding and making ------------------------------------------------------------------------------------------- */

/* Describe the key of a node's plan; valid until the next call. */
static dcl_status describe(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node,
                           dcli_plan_wanted *wanted_out)
{
    /* If no other peer of this process shares the plans of that node, only what this peer exchanges with it is planned.
     * Several peers share one plan of all that the node exchanges, which takes less time than a plan for each of them.
     * New replicas are in such a plan, too. */
    bool streams = node != plans->self, alone = plans->sharers == 1 && !dcli_makes_replicas(operation);
    *wanted_out = (dcli_plan_wanted){.operation = operation,
                                     .shapes = shapes,
                                     .state = &plans->asked,
                                     .node = node,
                                     .with = streams && alone ? plans->self : -1,
                                     .streams = streams,
                                     .fine_elements = plans->terms.fine_elements};
    dcl_status status = dcli_directory_describe(plans->terms.directory, node, operation, &plans->asked);
    wanted_out->hash = dcli_plan_hash(wanted_out);
    return status;
}

static void tell_planning(const dcli_plans *plans, const char *what)
{
    if (plans->planning != NULL)
        plans->planning(plans->planning_user, what);
}

static dcli_cached_plan *add_plan(dcli_plans *plans, const dcli_plan_wanted *wanted)
{
    size_t own_bytes = sizeof(dcli_cached_plan) + ((size_t)wanted->operation->operand_count + 1) * sizeof(dcli_naming);
    dcli_cached_plan *cached = dcli_calloc(1, own_bytes);
    const dcli_body *body = wanted->operation->body;
    if (cached == NULL)
        return NULL;
    if (plans->terms.planner == NULL && (plans->terms.planner = dcli_planner_new()) == NULL) {
        dcli_free(cached);
        return NULL;
    }
    dcli_plan_terms terms = plans->terms;
    terms.streams = wanted->streams;
    terms.pair = wanted->with >= 0;
    terms.with = wanted->with;
    if (wanted->node != plans->self && !wanted->streams)
        terms.directory = NULL; /* dcli_plans_hold_whole() */
    tell_planning(plans, body != NULL ? body->text : "what is read, written or moved");
    cached->shared = dcli_plan_cache_hold(plans->cache, wanted, &terms);
    tell_planning(plans, NULL);
    if (cached->shared == NULL) {
        dcli_free(cached);
        return NULL;
    }
    cached->plan = cached->shared->plan;
    if (plans->planned != NULL)
        plans->planned(plans->planning_user, wanted->operation, wanted->node, cached->plan);
    int64_t bytes = (int64_t)own_bytes + cached->shared->bytes / (wanted->streams ? plans->sharers : 1);
    dcli_plans_trim(plans, plans->most_bytes - bytes);
    dcli_plans_add(plans, cached, bytes);
    cached->next = plans->bucket[wanted->hash % DCLI_PLAN_BUCKETS];
    plans->bucket[wanted->hash % DCLI_PLAN_BUCKETS] = cached;
    link_newest(plans, cached);
    link_names(plans, cached);
    plans->count++;
    return cached;
}

static dcli_cached_plan *find_plan(const dcli_plans *plans, const dcli_plan_wanted *wanted)
{
    dcli_cached_plan *cached = plans->bucket[wanted->hash % DCLI_PLAN_BUCKETS];
    while (cached != NULL && !dcli_plan_fits(cached->shared, wanted))
        cached = cached->next;
    return cached;
}

dcli_cached_plan *dcli_plans_find(dcli_plans *plans, const dcli_operation *operation, const bool shapes[],
                                  bool *fixed_out)
{
    dcli_plan_wanted wanted;
    bool described = describe(plans, operation, shapes, plans->self, &wanted) == DCL_OK;
    *fixed_out = described && plans->asked.count == 0;
    return described ? find_plan(plans, &wanted) : NULL;
}

void dcli_plans_use(dcli_plans *plans, dcli_cached_plan *cached)
{
    unlink_age(plans, cached);
    link_newest(plans, cached);
    cached->uses++;
    dcli_plans_trim(plans, plans->most_bytes); /* what was prepared for plans has grown since they were added */
}

/* Find or make a plan, and hold it. */
static dcli_cached_plan *hold(dcli_plans *plans, const dcli_plan_wanted *wanted)
{
    dcli_cached_plan *cached = find_plan(plans, wanted);
    if (cached == NULL && (cached = add_plan(plans, wanted)) == NULL)
        return NULL;
    dcli_plans_use(plans, cached);
    return cached;
}

dcli_cached_plan *dcli_plans_hold(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node)
{
    dcli_plan_wanted wanted;
    return describe(plans, operation, shapes, node, &wanted) == DCL_OK ? hold(plans, &wanted) : NULL;
}

dcli_cached_plan *dcli_plans_hold_whole(dcli_plans *plans, const dcli_operation *operation, const bool shapes[],
                                        int node)
{
    static const dcli_directory_state none = {0};
    dcli_plan_wanted wanted = {.operation = operation,
                               .shapes = shapes,
                               .state = &none,
                               .node = node,
                               .with = -1,
                               .fine_elements = plans->terms.fine_elements};
    wanted.hash = dcli_plan_hash(&wanted);
    return hold(plans, &wanted);
}

dcl_status dcli_plans_loan(dcli_plans *plans, dcli_cached_plan *cached, const dcli_operation *operation, int64_t batch,
                           int64_t count, int victim, int thief, dcli_cached_loan **loan_out)
{
    int64_t batches = cached->plan->batch_count;
    if (batch < 0 || batch >= batches)
        return DCL_ERR_INVALID;
    if (cached->loans == NULL) {
        if ((cached->loans = dcli_calloc((size_t)batches, sizeof *cached->loans)) == NULL)
            return DCL_ERR_NOMEM;
        dcli_plans_add(plans, cached, batches * (int64_t)sizeof *cached->loans);
    }
    dcli_cached_loan *found = cached->loans[batch];
    while (found != NULL && (found->thief != thief || found->count != count))
        found = found->next;
    if (found == NULL) {
        if ((found = dcli_calloc(1, sizeof *found)) == NULL)
            return DCL_ERR_NOMEM;
        found->thief = thief;
        found->count = count;
        tell_planning(plans, "batches for another node");
        found->status =
            dcli_loan_make(operation, cached->plan, batch, count, victim, thief, &plans->terms, &found->loan);
        tell_planning(plans, NULL);
        if (found->status == DCL_ERR_NOMEM) {
            dcli_free(found);
            return DCL_ERR_NOMEM;
        }
        found->next = cached->loans[batch];
        cached->loans[batch] = found;
        int64_t bytes = found->loan != NULL ? dcli_plan_bytes(found->loan->plan) : 0;
        dcli_plans_add(plans, cached, bytes + (int64_t)sizeof *found);
    }
    *loan_out = found;
    return found->status;
}

void dcli_plans_let_go(dcli_cached_plan *cached)
{
    assert(cached->uses > 0);
    cached->uses--;
}

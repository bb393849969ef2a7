/* worker/plans.c - plans are kept: a program repeats its operations, and a plan does not depend on which storages of a
 * layout are used. Their bytes are limited; a plan in use stays. */
#include "worker/plans.h"

#include "base/alloc.h"
#include "lower/routes.h"

/* ---- what is prepared --------------------------------------------------------------------------------------------- */

void dcli_prepared_clear(dcli_prepared *prepared)
{
    for (int64_t l = 0; prepared->table != NULL && l < prepared->lowered.launch_count; l++)
        dcli_memory_release(prepared->table[l]); /* before the rows, which it may wrap */
    dcli_free(prepared->table);
    dcli_lowered_free(&prepared->lowered);
    *prepared = (dcli_prepared){0};
}

static void release_prepared(dcli_kept_plan *kept)
{
    for (int64_t b = 0; kept->prepared != NULL && b < kept->plan->batch_count; b++)
        dcli_prepared_clear(&kept->prepared[b]);
    dcli_free(kept->prepared);
    kept->prepared = NULL;
}

void dcli_plans_add(dcli_plans *plans, dcli_kept_plan *kept, int64_t bytes)
{
    kept->bytes += bytes;
    plans->bytes += bytes;
}

void dcli_plans_release_device(dcli_plans *plans)
{
    for (dcli_kept_plan *kept = plans->oldest; kept != NULL; kept = kept->newer)
        release_prepared(kept);
}

/* ---- by last use -------------------------------------------------------------------------------------------------- */

static void unlink_age(dcli_plans *plans, dcli_kept_plan *kept)
{
    *(kept->older != NULL ? &kept->older->newer : &plans->oldest) = kept->newer;
    *(kept->newer != NULL ? &kept->newer->older : &plans->newest) = kept->older;
}

static void link_newest(dcli_plans *plans, dcli_kept_plan *kept)
{
    kept->older = plans->newest;
    kept->newer = NULL;
    *(plans->newest != NULL ? &plans->newest->newer : &plans->oldest) = kept;
    plans->newest = kept;
}

/* ---- forgetting --------------------------------------------------------------------------------------------------- */

static void forget(dcli_plans *plans, dcli_kept_plan *kept)
{
    dcli_kept_plan **at = &plans->bucket[kept->shared->hash % DCLI_PLAN_BUCKETS];
    while (*at != kept)
        at = &(*at)->next;
    *at = kept->next;
    unlink_age(plans, kept);
    plans->count--;
    plans->bytes -= kept->bytes;
    release_prepared(kept);
    for (int64_t c = 0; kept->packing != NULL && c < kept->plan->chunk_count; c++)
        dcli_routes_free(&kept->packing[c].routes);
    dcli_free(kept->packing);
    dcli_plan_cache_let_go(plans->cache, kept->shared);
    dcli_free(kept);
}

/* Remove the plans that `match` picks. */
typedef bool match_fn(const dcli_kept_plan *kept, const void *what);

static void remove_if(dcli_plans *plans, match_fn *match, const void *what)
{
    for (dcli_kept_plan *kept = plans->oldest, *newer; kept != NULL; kept = newer) {
        newer = kept->newer;
        if (match(kept, what))
            forget(plans, kept);
    }
}

void dcli_plans_trim(dcli_plans *plans, int64_t bytes)
{
    for (dcli_kept_plan *kept = plans->oldest, *newer; kept != NULL && plans->bytes > bytes; kept = newer) {
        newer = kept->newer;
        if (kept->uses == 0)
            forget(plans, kept);
    }
}

static bool names_layout(const dcli_kept_plan *kept, const void *layout)
{
    for (int k = 0; k < kept->shared->operand_count; k++)
        if (kept->shared->operand[k].layout == layout)
            return true;
    return false;
}

void dcli_plans_forget(dcli_plans *plans, const dcli_layout *layout) { remove_if(plans, names_layout, layout); }

static bool is_of_body(const dcli_kept_plan *kept, const void *body) { return kept->shared->body == body; }

void dcli_plans_forget_body(dcli_plans *plans, const dcli_body *body) { remove_if(plans, is_of_body, body); }

static bool is_any(const dcli_kept_plan *kept, const void *what)
{
    (void)kept;
    (void)what;
    return true;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

void dcli_plans_init(dcli_plans *plans, int self, const dcli_plan_terms *terms, dcli_plan_cache *cache, int sharers,
                     int64_t most_bytes)
{
    *plans = (dcli_plans){
        .terms = *terms, .self = self, .cache = cache, .sharers = sharers < 1 ? 1 : sharers, .most_bytes = most_bytes};
}

void dcli_plans_free(dcli_plans *plans)
{
    remove_if(plans, is_any, NULL);
    dcli_free(plans->asked.number);
    plans->asked = (dcli_kept_state){0};
}

/* ---- finding and making ------------------------------------------------------------------------------------------- */

/* What a node's plan is found by; good until the next one is looked for. */
static dcl_status describe(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node,
                           dcli_plan_wanted *wanted_out)
{
    *wanted_out = (dcli_plan_wanted){
        .operation = operation, .shapes = shapes, .state = &plans->asked, .node = node, .streams = node != plans->self};
    dcl_status status = dcli_kept_describe(plans->terms.kept, node, operation, &plans->asked);
    wanted_out->hash = dcli_plan_hash(wanted_out);
    return status;
}

static void tell_planning(const dcli_plans *plans, const char *what)
{
    if (plans->planning != NULL)
        plans->planning(plans->planning_user, what);
}

static dcli_kept_plan *add_plan(dcli_plans *plans, const dcli_plan_wanted *wanted)
{
    dcli_kept_plan *kept = dcli_calloc(1, sizeof *kept);
    dcli_plan_terms terms = plans->terms;
    const dcli_body *body = wanted->operation->body;
    if (kept == NULL)
        return NULL;
    terms.streams = wanted->streams;
    tell_planning(plans, body != NULL ? body->text : "what is read, written or moved");
    kept->shared = dcli_plan_cache_hold(plans->cache, wanted, &terms);
    tell_planning(plans, NULL);
    if (kept->shared == NULL) {
        dcli_free(kept);
        return NULL;
    }
    kept->plan = kept->shared->plan;
    int64_t bytes = (int64_t)sizeof *kept + kept->shared->bytes / (wanted->streams ? plans->sharers : 1);
    dcli_plans_trim(plans, plans->most_bytes - bytes);
    dcli_plans_add(plans, kept, bytes);
    kept->next = plans->bucket[wanted->hash % DCLI_PLAN_BUCKETS];
    plans->bucket[wanted->hash % DCLI_PLAN_BUCKETS] = kept;
    link_newest(plans, kept);
    plans->count++;
    return kept;
}

static dcli_kept_plan *find_plan(const dcli_plans *plans, const dcli_plan_wanted *wanted)
{
    dcli_kept_plan *kept = plans->bucket[wanted->hash % DCLI_PLAN_BUCKETS];
    while (kept != NULL && !dcli_plan_fits(kept->shared, wanted))
        kept = kept->next;
    return kept;
}

bool dcli_plans_known(dcli_plans *plans, const dcli_operation *operation, const bool shapes[])
{
    dcli_plan_wanted wanted;
    return describe(plans, operation, shapes, plans->self, &wanted) == DCL_OK && find_plan(plans, &wanted) != NULL;
}

dcli_kept_plan *dcli_plans_hold(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node)
{
    dcli_plan_wanted wanted;
    if (describe(plans, operation, shapes, node, &wanted) != DCL_OK)
        return NULL;
    dcli_kept_plan *kept = find_plan(plans, &wanted);
    if (kept != NULL) {
        unlink_age(plans, kept);
        link_newest(plans, kept);
    } else if ((kept = add_plan(plans, &wanted)) == NULL) {
        return NULL;
    }
    kept->uses++;
    return kept;
}

void dcli_plans_let_go(dcli_kept_plan *kept) { kept->uses--; }

/* worker/plans.c - plans are kept: a program repeats its operations, and a plan does not depend on which storages of a
 * layout are used. Their number and their bytes are limited; a plan in use stays. */
#include "worker/plans.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "lower/copies.h"
#include "segment/declared.h"

enum { BUCKETS = 256, MOST_KEPT = 256 };

/* An operation as the cache looks at it. */
struct key {
    const dcli_operation *operation;
    const bool *shapes; /* scalars that stand in subscripts; NULL: no body */
    const dcli_kept_state *state;
};

static uint64_t value_of(const struct key *key, int k)
{
    return key->shapes != NULL && key->shapes[k] ? key->operation->value[k].u : 0;
}

static uint64_t hash_view(uint64_t hash, const dcli_transform *view)
{
    size_t bytes = (size_t)view->base_rank * sizeof(int64_t);
    for (int v = 0; v < view->grid.rank; v++)
        hash = dcli_hash_word(dcli_hash_word(hash, (uint64_t)view->grid.origin[v]), (uint64_t)view->grid.extent[v]);
    hash = dcli_hash_bytes(hash, view->axis, (size_t)view->base_rank * sizeof(int));
    return dcli_hash_bytes(dcli_hash_bytes(hash, view->constant, bytes), view->step, bytes);
}

static bool equal_views(const dcli_transform *a, const dcli_transform *b)
{
    return a == NULL || b == NULL ? a == b : dcli_transform_equal(a, b);
}

static uint64_t hash_state(const dcli_kept_state *state)
{
    return dcli_hash_bytes(DCLI_HASH_START, state->number, (size_t)state->count * sizeof(int64_t));
}

static uint64_t hash_of(const struct key *key, int node)
{
    const dcli_operation *operation = key->operation;
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, (uint64_t)operation->kind * 1048576 + (uint64_t)node);
    hash = dcli_hash_word(hash, (uint64_t)operation->node);
    hash = dcli_hash_word(hash, (uint64_t)(uintptr_t)operation->body);
    for (int k = 0; k < operation->operand_count; k++) {
        hash = dcli_hash_word(hash, (uint64_t)(uintptr_t)operation->operand[k].layout);
        hash = dcli_hash_word(hash, value_of(key, k) + (operation->operand[k].kept > 0) + operation->operand[k].keeps);
        if (operation->operand[k].view != NULL)
            hash = hash_view(hash, operation->operand[k].view);
        const dcli_declared *declared = &operation->operand[k].declared;
        hash = dcli_hash_bytes(hash, declared->number, (size_t)declared->count * sizeof(int64_t));
    }
    hash = dcli_hash_word(hash, hash_state(key->state));
    size_t bytes = (size_t)operation->box.rank * sizeof(int64_t);
    hash = dcli_hash_bytes(hash, operation->box.start, bytes);
    hash = dcli_hash_bytes(hash, operation->box.count, bytes);
    return dcli_hash_bytes(hash, operation->box.stride, bytes);
}

static bool equal_states(const dcli_kept_state *a, const dcli_kept_state *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->number, b->number, (size_t)a->count * sizeof(int64_t)) == 0);
}

static bool equal_keys(const struct key *x, const struct key *y)
{
    const dcli_operation *a = x->operation, *b = y->operation;
    if (a->kind != b->kind || a->node != b->node || a->body != b->body || a->operand_count != b->operand_count ||
        a->box.rank != b->box.rank || !equal_states(x->state, y->state))
        return false;
    for (int k = 0; k < a->operand_count; k++)
        if (a->operand[k].layout != b->operand[k].layout || value_of(x, k) != value_of(y, k) ||
            (a->operand[k].kept > 0) != (b->operand[k].kept > 0) || a->operand[k].keeps != b->operand[k].keeps ||
            !equal_views(a->operand[k].view, b->operand[k].view) ||
            !dcli_declared_equal(&a->operand[k].declared, &b->operand[k].declared))
            return false;
    size_t bytes = (size_t)a->box.rank * sizeof(int64_t);
    return memcmp(a->box.start, b->box.start, bytes) == 0 && memcmp(a->box.count, b->box.count, bytes) == 0 &&
           memcmp(a->box.stride, b->box.stride, bytes) == 0;
}

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

static void free_kept(dcli_kept_plan *kept)
{
    release_prepared(kept);
    for (int64_t c = 0; kept->packing != NULL && c < kept->plan->chunk_count; c++)
        dcli_copies_free(&kept->packing[c].list);
    dcli_free(kept->packing);
    dcli_plan_free(kept->plan);
    dcli_free(kept->views);
    dcli_free(kept->numbers);
    dcli_free(kept->state.number);
    dcli_free(kept);
}

static dcl_status keep_views(dcli_kept_plan *kept, int views)
{
    kept->views = dcli_malloc((size_t)views * sizeof *kept->views);
    if (kept->views == NULL)
        return DCL_ERR_NOMEM;
    dcli_transform *next = kept->views;
    for (int k = 0; k < kept->key.operand_count; k++)
        if (kept->key.operand[k].view != NULL) {
            *next = *kept->key.operand[k].view;
            kept->key.operand[k].view = next++;
        }
    return DCL_OK;
}

static dcl_status keep_numbers(dcli_kept_plan *kept, size_t numbers)
{
    kept->numbers = dcli_malloc(numbers * sizeof *kept->numbers);
    if (kept->numbers == NULL)
        return DCL_ERR_NOMEM;
    int64_t *next = kept->numbers;
    for (int k = 0; k < kept->key.operand_count; k++) {
        dcli_declared *declared = &kept->key.operand[k].declared;
        if (declared->count == 0)
            continue;
        memcpy(next, declared->number, (size_t)declared->count * sizeof(int64_t));
        declared->number = next;
        next += declared->count;
    }
    return DCL_OK;
}

static dcl_status keep_state(dcli_kept_plan *kept, const dcli_kept_state *state)
{
    size_t bytes = (size_t)state->count * sizeof *state->number;
    kept->state = (dcli_kept_state){.number = dcli_malloc(bytes), .count = state->count, .capacity = state->count};
    if (kept->state.number == NULL)
        return DCL_ERR_NOMEM;
    memcpy(kept->state.number, state->number, bytes);
    return DCL_OK;
}

/* The operation that a plan is found by outlives the entry that it was made for. */
static dcl_status keep_key(dcli_kept_plan *kept, const struct key *key)
{
    const dcli_operation *operation = key->operation;
    int views = 0;
    size_t numbers = 0;
    for (int k = 0; k < operation->operand_count; k++) {
        views += operation->operand[k].view != NULL;
        numbers += (size_t)operation->operand[k].declared.count;
    }
    kept->key = *operation;
    dcl_status status = views > 0 ? keep_views(kept, views) : DCL_OK;
    if (status == DCL_OK && numbers > 0)
        status = keep_numbers(kept, numbers);
    return status == DCL_OK && key->state->count > 0 ? keep_state(kept, key->state) : status;
}

static void forget(dcli_plans *plans, dcli_kept_plan **at)
{
    dcli_kept_plan *kept = *at;
    *at = kept->next;
    plans->count--;
    plans->bytes -= kept->bytes;
    free_kept(kept);
}

/* Remove the plans that `match` picks. */
typedef bool match_fn(const dcli_kept_plan *kept, const void *what);

static void remove_if(dcli_plans *plans, match_fn *match, const void *what)
{
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_kept_plan **at = &plans->bucket[b]; *at != NULL;) {
            if (match(*at, what))
                forget(plans, at);
            else
                at = &(*at)->next;
        }
}

/* Where the plan stands that is not in use and was used longest ago. NULL: all are in use. */
static dcli_kept_plan **find_oldest(dcli_plans *plans)
{
    dcli_kept_plan **oldest = NULL;
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_kept_plan **at = &plans->bucket[b]; *at != NULL; at = &(*at)->next)
            if ((*at)->uses == 0 && (oldest == NULL || (*at)->last_use < (*oldest)->last_use))
                oldest = at;
    return oldest;
}

void dcli_plans_trim(dcli_plans *plans, int64_t bytes)
{
    dcli_kept_plan **oldest;
    while (plans->bytes > bytes && (oldest = find_oldest(plans)) != NULL)
        forget(plans, oldest);
}

void dcli_plans_add(dcli_plans *plans, dcli_kept_plan *kept, int64_t bytes)
{
    kept->bytes += bytes;
    plans->bytes += bytes;
}

static bool names_layout(const dcli_kept_plan *kept, const void *layout)
{
    for (int k = 0; k < kept->key.operand_count; k++)
        if (kept->key.operand[k].layout == layout)
            return true;
    return false;
}

void dcli_plans_forget(dcli_plans *plans, const dcli_layout *layout) { remove_if(plans, names_layout, layout); }

static bool is_of_body(const dcli_kept_plan *kept, const void *body) { return kept->key.body == body; }

void dcli_plans_forget_body(dcli_plans *plans, const dcli_body *body) { remove_if(plans, is_of_body, body); }

static bool is_old(const dcli_kept_plan *kept, const void *limit)
{
    return kept->uses == 0 && kept->last_use < *(const int64_t *)limit;
}

static bool is_any(const dcli_kept_plan *kept, const void *what)
{
    (void)kept;
    (void)what;
    return true;
}

void dcli_plans_init(dcli_plans *plans, int self, const dcli_plan_terms *terms)
{
    *plans = (dcli_plans){.terms = *terms, .self = self};
}

void dcli_plans_free(dcli_plans *plans)
{
    remove_if(plans, is_any, NULL);
    dcli_free(plans->asked.number);
    plans->asked = (dcli_kept_state){0};
}

void dcli_plans_release_device(dcli_plans *plans)
{
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_kept_plan *kept = plans->bucket[b]; kept != NULL; kept = kept->next)
            release_prepared(kept);
}

/* What a node's plan is found by; good until the next one is looked for. */
static dcl_status make_key(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node,
                           struct key *key_out)
{
    *key_out = (struct key){.operation = operation, .shapes = shapes, .state = &plans->asked};
    return dcli_kept_describe(plans->terms.kept, node, operation, &plans->asked);
}

static void tell_planning(const dcli_plans *plans, const char *what)
{
    if (plans->planning != NULL)
        plans->planning(plans->planning_user, what);
}

static dcli_kept_plan *make_plan(dcli_plans *plans, const struct key *key, int node, uint64_t hash)
{
    dcli_kept_plan *kept = dcli_calloc(1, sizeof *kept);
    dcli_plan_terms terms = plans->terms;
    if (kept == NULL)
        return NULL;
    terms.streams = node != plans->self;
    dcl_status status = keep_key(kept, key);
    if (status == DCL_OK) {
        const dcli_body *body = key->operation->body;
        tell_planning(plans, body != NULL ? body->text : "what is read, written or moved");
        status = dcli_plan_make(key->operation, node, &terms, &kept->plan);
        tell_planning(plans, NULL);
    }
    if (status != DCL_OK) {
        dcli_free(kept->views);
        dcli_free(kept->numbers);
        dcli_free(kept->state.number);
        dcli_free(kept);
        return NULL;
    }
    if (plans->count >= MOST_KEPT) {
        int64_t limit = plans->clock - MOST_KEPT / 2;
        remove_if(plans, is_old, &limit);
    }
    int64_t bytes = (int64_t)sizeof *kept + dcli_plan_bytes(kept->plan) + plans->terms.node_count + 1;
    dcli_plans_trim(plans, plans->most_bytes - bytes);
    dcli_plans_add(plans, kept, bytes);
    kept->shapes = key->shapes;
    kept->hash = hash;
    kept->node = node;
    kept->next = plans->bucket[hash % BUCKETS];
    plans->bucket[hash % BUCKETS] = kept;
    plans->count++;
    return kept;
}

static dcli_kept_plan *find_plan(const dcli_plans *plans, const struct key *key, int node, uint64_t hash)
{
    dcli_kept_plan *kept = plans->bucket[hash % BUCKETS];
    while (kept != NULL &&
           !(kept->hash == hash && kept->node == node &&
             equal_keys(&(struct key){.operation = &kept->key, .shapes = kept->shapes, .state = &kept->state}, key)))
        kept = kept->next;
    return kept;
}

bool dcli_plans_known(dcli_plans *plans, const dcli_operation *operation, const bool shapes[])
{
    struct key key;
    return make_key(plans, operation, shapes, plans->self, &key) == DCL_OK &&
           find_plan(plans, &key, plans->self, hash_of(&key, plans->self)) != NULL;
}

dcli_kept_plan *dcli_plans_hold(dcli_plans *plans, const dcli_operation *operation, const bool shapes[], int node)
{
    struct key key;
    if (make_key(plans, operation, shapes, node, &key) != DCL_OK)
        return NULL;
    uint64_t hash = hash_of(&key, node);
    dcli_kept_plan *kept = find_plan(plans, &key, node, hash);
    if (kept == NULL)
        kept = make_plan(plans, &key, node, hash);
    if (kept == NULL)
        return NULL;
    kept->uses++;
    kept->last_use = ++plans->clock;
    return kept;
}

void dcli_plans_let_go(dcli_kept_plan *kept) { kept->uses--; }

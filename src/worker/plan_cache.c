/* worker/plan_cache.c - plans that the peers of one process share. */
#include "worker/plan_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "segment/declared.h"

/* ---- keys of plans ------------------------------------------------------------------------------------------------ */

static uint64_t value_of(const dcli_plan_wanted *wanted, int k)
{
    return wanted->shapes != NULL && wanted->shapes[k] ? wanted->operation->value[k].u : 0;
}

static uint64_t hash_view(uint64_t hash, const dcli_transform *view)
{
    size_t bytes = (size_t)view->base_rank * sizeof(int64_t);
    for (int v = 0; v < view->grid.rank; v++)
        hash = dcli_hash_word(dcli_hash_word(hash, (uint64_t)view->grid.origin[v]), (uint64_t)view->grid.extent[v]);
    hash = dcli_hash_bytes(hash, view->axis, (size_t)view->base_rank * sizeof(int));
    return dcli_hash_bytes(dcli_hash_bytes(hash, view->constant, bytes), view->step, bytes);
}

static uint64_t hash_state(const dcli_directory_state *state)
{
    return dcli_hash_bytes(DCLI_HASH_START, state->number, (size_t)state->count * sizeof(int64_t));
}

uint64_t dcli_plan_hash(const dcli_plan_wanted *wanted)
{
    const dcli_operation *operation = wanted->operation;
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, (uint64_t)operation->kind * 1048576 + (uint64_t)wanted->node);
    hash = dcli_hash_word(hash, 2 * (uint64_t)operation->node + wanted->streams);
    hash = dcli_hash_word(hash, (uint64_t)operation->overlap);
    hash = dcli_hash_word(hash, (uint64_t)wanted->with);
    hash = dcli_hash_word(hash, (uint64_t)wanted->fine_elements);
    hash = dcli_hash_word(hash, (uint64_t)(uintptr_t)operation->body);
    for (int k = 0; k < operation->operand_count; k++) {
        hash = dcli_hash_word(hash, (uint64_t)(uintptr_t)operation->operand[k].layout);
        hash = dcli_hash_word(hash, value_of(wanted, k));
        hash = dcli_hash_word(hash, 4 * (uint64_t)(operation->operand[k].generation > 0) +
                                        2 * (uint64_t)operation->operand[k].keeps + operation->operand[k].fresh);
        if (operation->operand[k].view != NULL)
            hash = hash_view(hash, operation->operand[k].view);
        const dcli_declared *declared = &operation->operand[k].declared;
        hash = dcli_hash_bytes(hash, declared->number, (size_t)declared->count * sizeof(int64_t));
    }
    hash = dcli_hash_word(hash, hash_state(wanted->state));
    size_t bytes = (size_t)operation->box.rank * sizeof(int64_t);
    hash = dcli_hash_bytes(hash, operation->box.start, bytes);
    hash = dcli_hash_bytes(hash, operation->box.count, bytes);
    return dcli_hash_bytes(hash, operation->box.stride, bytes);
}

static bool equal_states(const dcli_directory_state *a, const dcli_directory_state *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->number, b->number, (size_t)a->count * sizeof(int64_t)) == 0);
}

static bool equal_views(const dcli_transform *a, const dcli_transform *b)
{
    return a == NULL || b == NULL ? a == b : dcli_transform_equal(a, b);
}

static bool equal_operands(const dcli_plan_operand *a, const dcli_operand *b, uint64_t value)
{
    return a->layout == b->layout && a->value == value && a->uses_replicas == (b->generation > 0) &&
           a->keeps == b->keeps && a->fresh == b->fresh && equal_views(a->view, b->view) &&
           dcli_declared_equal(&a->declared, &b->declared);
}

bool dcli_plan_fits(const dcli_shared_plan *shared, const dcli_plan_wanted *wanted)
{
    const dcli_operation *operation = wanted->operation;
    const dcl_box *a = &shared->box, *b = &operation->box;
    size_t bytes = (size_t)a->rank * sizeof(int64_t);
    if (shared->hash != wanted->hash || shared->node != wanted->node || shared->with != wanted->with ||
        shared->streams != wanted->streams || shared->fine_elements != wanted->fine_elements ||
        shared->kind != operation->kind || shared->target != operation->node || shared->overlap != operation->overlap ||
        shared->body != operation->body || shared->operand_count != operation->operand_count || a->rank != b->rank ||
        !equal_states(&shared->state, wanted->state))
        return false;
    for (int k = 0; k < operation->operand_count; k++)
        if (!equal_operands(&shared->operand[k], &operation->operand[k], value_of(wanted, k)))
            return false;
    return memcmp(a->start, b->start, bytes) == 0 && memcmp(a->count, b->count, bytes) == 0 &&
           memcmp(a->stride, b->stride, bytes) == 0;
}

/* ---- plans with their keys ---------------------------------------------------------------------------------------- */

/* Make the record of a plan in one allocation: its operands, their views, and the numbers of these and of the state. */
static dcli_shared_plan *make_record(const dcli_plan_wanted *wanted)
{
    const dcli_operation *operation = wanted->operation;
    size_t views = 0, numbers = (size_t)wanted->state->count, operands = (size_t)operation->operand_count;
    for (size_t k = 0; k < operands; k++) {
        views += operation->operand[k].view != NULL;
        numbers += (size_t)operation->operand[k].declared.count;
    }
    size_t bytes = sizeof(dcli_shared_plan) + operands * sizeof(dcli_plan_operand) + views * sizeof(dcli_transform) +
                   numbers * sizeof(int64_t);
    dcli_shared_plan *shared = dcli_calloc(1, bytes);
    if (shared == NULL)
        return NULL;
    *shared = (dcli_shared_plan){.hash = wanted->hash,
                                 .bytes = (int64_t)bytes,
                                 .node = wanted->node,
                                 .with = wanted->with,
                                 .streams = wanted->streams,
                                 .fine_elements = wanted->fine_elements,
                                 .kind = operation->kind,
                                 .target = operation->node,
                                 .overlap = operation->overlap,
                                 .body = operation->body,
                                 .box = operation->box,
                                 .operand_count = operation->operand_count,
                                 .operand = (dcli_plan_operand *)(shared + 1),
                                 .holders = 1};
    dcli_transform *view = (dcli_transform *)(shared->operand + operands);
    int64_t *number = (int64_t *)(view + views);
    for (size_t k = 0; k < operands; k++) {
        const dcli_operand *from = &operation->operand[k];
        dcli_plan_operand *to = &shared->operand[k];
        *to = (dcli_plan_operand){.layout = from->layout,
                                  .declared = from->declared,
                                  .value = value_of(wanted, (int)k),
                                  .uses_replicas = from->generation > 0,
                                  .keeps = from->keeps,
                                  .fresh = from->fresh};
        if (from->view != NULL) {
            *view = *from->view;
            to->view = view++;
        }
        if (from->declared.count > 0) {
            memcpy(number, from->declared.number, (size_t)from->declared.count * sizeof(int64_t));
            to->declared.number = number;
            number += from->declared.count;
        }
    }
    shared->state = (dcli_directory_state){.number = number, .count = wanted->state->count};
    if (wanted->state->count > 0)
        memcpy(number, wanted->state->number, (size_t)wanted->state->count * sizeof(int64_t));
    return shared;
}

static void free_record(dcli_shared_plan *shared)
{
    dcli_plan_free((dcli_plan *)(uintptr_t)shared->plan);
    dcli_free(shared);
}

/* ---- the cache ---------------------------------------------------------------------------------------------------- */

void dcli_plan_cache_init(dcli_plan_cache *cache)
{
    *cache = (dcli_plan_cache){.bucket = {NULL}};
    pthread_mutex_init(&cache->lock, NULL);
    dcli_cond_init(&cache->changed);
}

void dcli_plan_cache_free(dcli_plan_cache *cache)
{
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->lock);
}

/* Find the plan with a key; NULL: none. The lock is held. */
static dcli_shared_plan *find(const dcli_plan_cache *cache, const dcli_plan_wanted *wanted)
{
    dcli_shared_plan *shared = cache->bucket[wanted->hash % DCLI_PLAN_BUCKETS];
    while (shared != NULL && !dcli_plan_fits(shared, wanted))
        shared = shared->next;
    return shared;
}

/* Remove a failed plan from the cache; the lock is held. It is freed by the last thread that waited for it. */
static void take_off(dcli_plan_cache *cache, const dcli_shared_plan *shared)
{
    dcli_shared_plan **at = &cache->bucket[shared->hash % DCLI_PLAN_BUCKETS];
    while (*at != shared)
        at = &(*at)->next;
    *at = shared->next;
}

/* Wait until a plan is ready; the lock is released meanwhile. @return whether it is ready; otherwise the reference has
 * been dropped. */
static bool await(dcli_plan_cache *cache, dcli_shared_plan *shared)
{
    shared->holders++;
    while (shared->stage == DCLI_PLAN_BEING_MADE)
        pthread_cond_wait(&cache->changed, &cache->lock);
    if (shared->stage == DCLI_PLAN_READY)
        return true;
    if (--shared->holders == 0)
        free_record(shared);
    return false;
}

/* Plan for a record that is in the cache and that the caller references. The lock is not held. */
static dcli_shared_plan *make_plan(dcli_plan_cache *cache, dcli_shared_plan *shared, const dcli_plan_wanted *wanted,
                                   const dcli_plan_terms *terms)
{
    dcli_plan *plan = NULL;
    dcl_status status = dcli_plan_make(wanted->operation, wanted->node, terms, &plan);
    pthread_mutex_lock(&cache->lock);
    if (status == DCL_OK) {
        shared->plan = plan;
        shared->bytes += dcli_plan_bytes(plan);
        shared->stage = DCLI_PLAN_READY;
        cache->made++;
    } else {
        shared->stage = DCLI_PLAN_FAILED;
        take_off(cache, shared);
        if (--shared->holders == 0)
            free_record(shared);
    }
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    return status == DCL_OK ? shared : NULL;
}

dcli_shared_plan *dcli_plan_cache_hold(dcli_plan_cache *cache, const dcli_plan_wanted *wanted,
                                       const dcli_plan_terms *terms)
{
    dcli_shared_plan *shared;
    pthread_mutex_lock(&cache->lock);
    while ((shared = find(cache, wanted)) != NULL) {
        if (!await(cache, shared))
            continue; /* the thread that was planning had no memory: try again here */
        pthread_mutex_unlock(&cache->lock);
        return shared;
    }
    if ((shared = make_record(wanted)) != NULL) {
        shared->next = cache->bucket[wanted->hash % DCLI_PLAN_BUCKETS];
        cache->bucket[wanted->hash % DCLI_PLAN_BUCKETS] = shared;
    }
    pthread_mutex_unlock(&cache->lock);
    return shared != NULL ? make_plan(cache, shared, wanted, terms) : NULL;
}

void dcli_plan_cache_let_go(dcli_plan_cache *cache, dcli_shared_plan *shared)
{
    pthread_mutex_lock(&cache->lock);
    bool ends = --shared->holders == 0;
    if (ends)
        take_off(cache, shared);
    pthread_mutex_unlock(&cache->lock);
    if (ends)
        free_record(shared);
}

int64_t dcli_plan_cache_made(dcli_plan_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    int64_t made = cache->made;
    pthread_mutex_unlock(&cache->lock);
    return made;
}

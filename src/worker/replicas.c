/* worker/replicas.c - replicas: which ones all nodes have, and the memory of this node's. */
#include "worker/replicas.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"

struct dropping {
    dcli_replicas *replicas;
    int64_t until; /* operations before this one may still use the replicas that are dropped */
};

static size_t bucket_of(int64_t storage, const dcl_box *box)
{
    size_t bytes = (size_t)box->rank * sizeof(int64_t);
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, (uint64_t)storage);
    hash = dcli_hash_bytes(hash, box->start, bytes);
    hash = dcli_hash_bytes(hash, box->count, bytes);
    return (size_t)(hash % DCLI_REPLICA_BUCKETS);
}

/* The first replica in a list that is of this storage and exactly this box, and valid for operation `number`. @return
 * NULL: there is none. */
static dcli_replica_memory *find(dcli_replica_memory *memory, int64_t number, int64_t storage, const dcl_box *box)
{
    while (memory != NULL && !(memory->storage == storage && memory->from <= number && number < memory->until &&
                               dcli_box_equal(&memory->box, box)))
        memory = memory->next;
    return memory;
}

/* Append a dropped replica, which the caller has removed from its bucket, to the list of those that end. A separate list
 * keeps lookups short even if a program is thousands of operations ahead. */
static void begin_to_end(dcli_replicas *replicas, dcli_replica_memory *memory)
{
    memory->next = NULL;
    assert(replicas->ending == NULL || replicas->last_ending->until <= memory->until);
    if (replicas->ending == NULL)
        replicas->ending = memory;
    else
        replicas->last_ending->next = memory;
    replicas->last_ending = memory;
}

static void drop_copy(void *user, int node, const dcli_replica *copy)
{
    const struct dropping *dropping = user;
    if (node != dropping->replicas->self)
        return;
    dcli_replica_memory **at = &dropping->replicas->copies[bucket_of(copy->storage, &copy->box)];
    while (*at != NULL && !((*at)->storage == copy->storage && dcli_box_equal(&(*at)->box, &copy->box)))
        at = &(*at)->next;
    dcli_replica_memory *memory = *at;
    if (memory == NULL)
        return;
    *at = memory->next;
    memory->until = dropping->until;
    begin_to_end(dropping->replicas, memory);
}

static dcl_status make_copies(dcli_replicas *replicas, const dcli_operation *operation, const dcli_plan *plan)
{
    for (int64_t s = 0; s < plan->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        int64_t storage = operation->operand[stage->operand].storage;
        dcli_replica_memory **first = &replicas->copies[bucket_of(storage, &stage->box)];
        if (stage->kind != DCLI_STAGE_NEW_REPLICA || find(*first, operation->number, storage, &stage->box) != NULL)
            continue; /* the replica exists already: the array has two names in the body, or several batches fill the
                         replica */
        dcli_replica_memory *memory = dcli_calloc(1, sizeof *memory);
        if (memory == NULL)
            return DCL_ERR_NOMEM;
        *memory = (dcli_replica_memory){
            .storage = storage, .box = stage->box, .from = operation->number, .until = INT64_MAX, .next = *first};
        *first = memory;
    }
    return DCL_OK;
}

void dcli_replicas_begin(dcli_replicas *replicas, const dcli_operation *operation)
{
    struct dropping dropping = {.replicas = replicas, .until = operation->number};
    dcli_directory_begin(&replicas->directory, operation, drop_copy, &dropping);
}

dcl_status dcli_replicas_add(dcli_replicas *replicas, int node, const dcli_operation *operation, const dcli_plan *plan)
{
    dcl_status status = dcli_directory_add(&replicas->directory, node, operation, plan);
    return status == DCL_OK && node == replicas->self ? make_copies(replicas, operation, plan) : status;
}

void dcli_replicas_write(dcli_replicas *replicas, const dcli_operation *operation)
{
    /* The operation itself may still read its replicas, though it writes the array through another view: drop them from
     * the next operation on. */
    struct dropping dropping = {.replicas = replicas, .until = operation->number + 1};
    dcli_directory_write(&replicas->directory, operation, drop_copy, &dropping);
}

dcli_replica_memory *dcli_replicas_find(const dcli_replicas *replicas, const dcli_operation *operation, int operand,
                                        const dcl_box *box)
{
    int64_t storage = operation->operand[operand].storage;
    dcli_replica_memory *memory = find(replicas->copies[bucket_of(storage, box)], operation->number, storage, box);
    return memory != NULL ? memory : find(replicas->ending, operation->number, storage, box);
}

static size_t bytes_of(const dcli_replica_memory *memory)
{
    size_t bytes = 0;
    for (; memory != NULL; memory = memory->next)
        bytes += memory->memory != NULL ? dcli_memory_bytes(memory->memory) : 0;
    return bytes;
}

size_t dcli_replicas_bytes(const dcli_replicas *replicas)
{
    size_t bytes = bytes_of(replicas->ending);
    for (int b = 0; b < DCLI_REPLICA_BUCKETS; b++)
        bytes += bytes_of(replicas->copies[b]);
    return bytes;
}

static dcli_replica_memory *free_copy(dcli_replica_memory *memory)
{
    dcli_replica_memory *next = memory->next;
    dcli_memory_release(memory->memory);
    dcli_free(memory);
    return next;
}

void dcli_replicas_end(dcli_replicas *replicas, int64_t first_open)
{
    while (replicas->ending != NULL && replicas->ending->until <= first_open)
        replicas->ending = free_copy(replicas->ending);
    for (int b = 0; first_open == INT64_MAX && b < DCLI_REPLICA_BUCKETS; b++)
        while (replicas->copies[b] != NULL)
            replicas->copies[b] = free_copy(replicas->copies[b]);
}

void dcli_replicas_free(dcli_replicas *replicas)
{
    assert(replicas->ending == NULL); /* dcli_replicas_end() has given all memory back */
    dcli_directory_free(&replicas->directory);
}

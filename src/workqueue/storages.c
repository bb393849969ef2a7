/* workqueue/storages.c - a hash table of storages, and the rule for failed ones. */
#include "workqueue/storages.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/search.h"

static int64_t start_of(const dcli_storages *table, int64_t id)
{
    return (int64_t)(dcli_hash_word(DCLI_HASH_START, (uint64_t)id) & (uint64_t)(table->capacity - 1));
}

static int64_t slot_of(const dcli_storages *table, int64_t id)
{
    int64_t at = start_of(table, id);
    while (table->slot[at] != NULL && table->slot[at]->id != id)
        at = (at + 1) & (table->capacity - 1);
    return at;
}

static dcl_status enlarge(dcli_storages *table)
{
    dcli_storages larger = {.capacity = table->capacity == 0 ? 16 : table->capacity * 2};
    larger.slot = dcli_calloc((size_t)larger.capacity, sizeof *larger.slot);
    if (larger.slot == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t at = 0; at < table->capacity; at++)
        if (table->slot[at] != NULL)
            larger.slot[slot_of(&larger, table->slot[at]->id)] = table->slot[at];
    larger.count = table->count;
    dcli_free(table->slot);
    *table = larger;
    return DCL_OK;
}

dcli_storage *dcli_storages_find(const dcli_storages *table, int64_t id)
{
    return table->capacity == 0 ? NULL : table->slot[slot_of(table, id)];
}

static void free_storage(dcli_storage *storage)
{
    dcli_free(storage->failures.number);
    dcli_free(storage->overwrites.number);
    dcli_free(storage->touch);
    dcli_free(storage);
}

dcli_storage *dcli_storages_get(dcli_storages *table, int64_t id)
{
    dcli_storage *storage = dcli_storages_find(table, id);
    if (storage != NULL)
        return storage;
    if (2 * (table->count + 1) > table->capacity && enlarge(table) != DCL_OK)
        return NULL;
    storage = dcli_calloc(1, sizeof *storage);
    if (storage == NULL)
        return NULL;
    storage->id = id;
    table->slot[slot_of(table, id)] = storage;
    table->count++;
    return storage;
}

void dcli_storages_drop(dcli_storages *table, int64_t id)
{
    if (dcli_storages_find(table, id) == NULL)
        return;
    int64_t hole = slot_of(table, id), mask = table->capacity - 1;
    free_storage(table->slot[hole]);
    table->slot[hole] = NULL;
    table->count--;
    /* Move up entries that the hole would hide. Source: Knuth, TAOCP 3, 6.4, algorithm R. */
    for (int64_t at = (hole + 1) & mask; table->slot[at] != NULL; at = (at + 1) & mask) {
        int64_t home = start_of(table, table->slot[at]->id);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->slot[hole] = table->slot[at];
            table->slot[at] = NULL;
            hole = at;
        }
    }
}

void dcli_storages_free(dcli_storages *table)
{
    for (int64_t at = 0; at < table->capacity; at++)
        if (table->slot[at] != NULL)
            free_storage(table->slot[at]);
    dcli_free(table->slot);
    *table = (dcli_storages){0};
}

static bool has_smaller_peer(const void *touches, int64_t i, int64_t peer)
{
    return ((const dcli_touch *)touches)[i].peer < peer;
}

static int64_t find_touch(const dcli_storage *storage, int peer)
{
    return dcli_lower_bound(storage->touch, storage->touch_count, peer, has_smaller_peer);
}

dcli_touch *dcli_storage_touch(dcli_storage *storage, int peer)
{
    int64_t at = find_touch(storage, peer), after = storage->touch_count - at;
    if (after > 0 && storage->touch[at].peer == peer)
        return &storage->touch[at];
    if (dcli_grow(&storage->touch, storage->touch_count, &storage->touch_capacity, sizeof *storage->touch) != 0)
        return NULL;
    memmove(storage->touch + at + 1, storage->touch + at, (size_t)after * sizeof *storage->touch);
    storage->touch[at] = (dcli_touch){.peer = peer};
    storage->touch_count++;
    return &storage->touch[at];
}

dcli_touch dcli_storage_touched(const dcli_storage *storage, int peer)
{
    int64_t at = find_touch(storage, peer);
    bool there = at < storage->touch_count && storage->touch[at].peer == peer;
    return there ? storage->touch[at] : (dcli_touch){.peer = peer};
}

static int64_t last_before(const dcli_numbers *numbers, int64_t limit)
{
    int64_t last = 0;
    for (int64_t n = 0; n < numbers->count; n++)
        if (numbers->number[n] < limit && numbers->number[n] > last)
            last = numbers->number[n];
    return last;
}

static dcl_status add(dcli_numbers *numbers, int64_t number)
{
    if (numbers->count > 0 && numbers->number[numbers->count - 1] == number)
        return DCL_OK;
    if (dcli_grow(&numbers->number, numbers->count, &numbers->capacity, sizeof number) != 0)
        return DCL_ERR_NOMEM;
    numbers->number[numbers->count++] = number;
    return DCL_OK;
}

bool dcli_storage_failed(const dcli_storage *storage, int64_t reader)
{
    if (storage->failures.count == 0)
        return false;
    int64_t failure = last_before(&storage->failures, reader);
    return failure > 0 && last_before(&storage->overwrites, reader) <= failure;
}

dcl_status dcli_storage_fail(dcli_storage *storage, int64_t operation)
{
    for (int64_t n = 0; n < storage->failures.count; n++)
        if (storage->failures.number[n] == operation)
            return DCL_OK;
    return add(&storage->failures, operation);
}

dcl_status dcli_storage_overwrite(dcli_storage *storage, int64_t operation)
{
    return add(&storage->overwrites, operation);
}

static void keep_from(dcli_numbers *numbers, int64_t first)
{
    int64_t last = last_before(numbers, first), kept = 0;
    for (int64_t n = 0; n < numbers->count; n++)
        if (numbers->number[n] >= last)
            numbers->number[kept++] = numbers->number[n];
    numbers->count = kept;
}

void dcli_storage_prune(dcli_storage *storage, int64_t first)
{
    enum { FEW = 32 };
    if (storage->failures.count + storage->overwrites.count <= FEW + storage->prune_at)
        return;
    keep_from(&storage->failures, first);
    keep_from(&storage->overwrites, first);
    storage->prune_at = 2 * (storage->failures.count + storage->overwrites.count);
}

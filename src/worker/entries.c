/* worker/entries.c - the list of open operations, in the order of their numbers, and ended entries for reuse. */
#include "worker/entries.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

/* Make an entry with room for `operands` operands, followed by their storages. */
static dcli_entry *make_entry(bool is_small, size_t operands)
{
    size_t own = offsetof(dcli_entry, operation) + offsetof(dcli_operation, operand) + operands * sizeof(dcli_operand);
    size_t held = operands * sizeof(dcli_known_storage *), more = is_small ? 0 : sizeof(dcli_entry_more);
    char *memory = dcli_calloc(1, own + held + more);
    dcli_entry *entry = (dcli_entry *)(void *)memory;
    if (memory == NULL)
        return NULL;
    entry->is_small = is_small;
    entry->held = (dcli_known_storage **)(void *)(memory + own);
    entry->more = is_small ? NULL : (dcli_entry_more *)(void *)(memory + own + held);
    return entry;
}

dcli_entry *dcli_entries_take(dcli_entries *entries, int kind, int operands)
{
    bool is_small = kind == DCLI_OP_FORALL && operands <= DCLI_FEW_OPERANDS;
    dcli_entry *entry = entries->spare[is_small];
    if (entry == NULL)
        return make_entry(is_small, is_small ? DCLI_FEW_OPERANDS : DCLI_MAX_PARAMS);
    entries->spare[is_small] = entry->next;
    entry->next = NULL;
    return entry;
}

/* Set what the operation has used to zero. */
static void zero_entry(dcli_entry *entry)
{
    dcli_operation *operation = &entry->operation;
    size_t operands = (size_t)operation->operand_count;
    if (operation->kind != DCLI_OP_FORALL && entry->more != NULL)
        memset(&entry->more->descriptor, 0, sizeof entry->more->descriptor);
    memset(entry->held, 0, operands * sizeof(dcli_known_storage *));
    memset(operation->operand, 0, operands * sizeof *operation->operand);
    /* up to the values that were used, without what belongs to the memory */
    memset(&entry->kernel, 0,
           offsetof(dcli_entry, operation) - offsetof(dcli_entry, kernel) + offsetof(dcli_operation, value) +
               operands * sizeof *operation->value);
    entry->plans.count = 0;
    entry->next = NULL;
}

/* Reset an entry for reuse; the list of plans is retained. */
static void clear_entry(dcli_entry *entry)
{
    if (entry->more != NULL) {
        dcli_free((char *)entry->more->descriptor.path);
        dcli_lent_release(entry->lent);
    }
    if (entry->shapes != NULL || entry->views != NULL) {
        dcli_free(entry->shapes);
        dcli_free(entry->views);
    }
    if (entry->problem != NULL)
        dcli_free(entry->problem);
    if (entry->numbers != NULL)
        dcli_free(entry->numbers);
    zero_entry(entry);
}

void dcli_entries_give(dcli_entries *entries, dcli_entry *entry)
{
    clear_entry(entry);
    entry->next = entries->spare[entry->is_small];
    entries->spare[entry->is_small] = entry;
}

static bool is_of_smaller_peer(const void *plans, int64_t n, int64_t peer)
{
    return ((const struct dcli_peer_plan *)plans)[n].peer < peer;
}

/* The index of the first plan of a peer that is not smaller. */
static int64_t find_plan(const dcli_entry_plans *plans, int peer)
{
    return dcli_lower_bound(plans->of, plans->count, peer, is_of_smaller_peer);
}

dcli_cached_plan *dcli_entry_plan(const dcli_entry *entry, int peer)
{
    if (entry->plans.count > 0 && entry->plans.of[0].peer == peer) /* mostly there is one */
        return entry->plans.of[0].plan;
    int64_t at = find_plan(&entry->plans, peer);
    return at < entry->plans.count && entry->plans.of[at].peer == peer ? entry->plans.of[at].plan : NULL;
}

dcl_status dcli_entry_reserve_plan(dcli_entry *entry)
{
    dcli_entry_plans *plans = &entry->plans;
    return dcli_grow(&plans->of, plans->count, &plans->capacity, sizeof *plans->of) == 0 ? DCL_OK : DCL_ERR_NOMEM;
}

void dcli_entry_add_plan(dcli_entry *entry, int peer, dcli_cached_plan *plan)
{
    dcli_entry_plans *plans = &entry->plans;
    int64_t at = find_plan(plans, peer);
    assert(plans->count < plans->capacity && dcli_entry_plan(entry, peer) == NULL);
    memmove(plans->of + at + 1, plans->of + at, (size_t)(plans->count - at) * sizeof *plans->of);
    plans->of[at] = (struct dcli_peer_plan){.peer = peer, .plan = plan};
    plans->count++;
}

dcl_status dcli_entry_copy_plans(dcli_entry *entry, const dcli_entry *from)
{
    dcli_entry_plans *plans = &entry->plans;
    assert(plans->count == 0);
    if (dcli_reserve(&plans->of, 0, from->plans.count, &plans->capacity, sizeof *plans->of) != 0)
        return DCL_ERR_NOMEM;
    for (int64_t n = 0; n < from->plans.count; n++) {
        plans->of[n] = from->plans.of[n];
        plans->of[n].plan->uses++; /* of the plans last used, it is among the newest already */
    }
    plans->count = from->plans.count;
    return DCL_OK;
}

static void append(dcli_entry **first, dcli_entry **last, dcli_entry *entry)
{
    entry->before = *last;
    entry->next = NULL;
    *(*last != NULL ? &(*last)->next : first) = entry;
    *last = entry;
}

void dcli_entries_append(dcli_entries *entries, dcli_entry *entry)
{
    entries->last_operation = entry->operation.number;
    append(&entries->first, &entries->last, entry);
}

void dcli_entries_keep(dcli_entries *entries, dcli_entry *entry)
{
    dcli_entries_remove(entries, entry);
    entry->kept = true;
    append(&entries->kept_first, &entries->kept_last, entry);
}

void dcli_entries_remove(dcli_entries *entries, dcli_entry *entry)
{
    dcli_entry **first = entry->kept ? &entries->kept_first : &entries->first;
    dcli_entry **last = entry->kept ? &entries->kept_last : &entries->last;
    *(entry->before != NULL ? &entry->before->next : first) = entry->next;
    *(entry->next != NULL ? &entry->next->before : last) = entry->before;
    entry->kept = false;
}

dcli_entry *dcli_entries_find(const dcli_entries *entries, int64_t operation)
{
    dcli_entry *entry = entries->kept_first;
    while (entry != NULL && entry->operation.number != operation)
        entry = entry->next;
    if (entry == NULL)
        entry = entries->first;
    while (entry != NULL && entry->operation.number != operation)
        entry = entry->next;
    return entry;
}

dcli_entry *dcli_entries_after(dcli_entry *last, int64_t operation)
{
    dcli_entry *found = NULL;
    for (; last != NULL && last->operation.number > operation; last = last->before)
        found = last;
    return found;
}

int64_t dcli_entries_first_open(const dcli_entries *entries)
{
    return entries->first != NULL ? entries->first->operation.number : entries->last_operation + 1;
}

void dcli_entries_free(dcli_entries *entries)
{
    assert(entries->first == NULL && entries->kept_first == NULL);
    for (int small = 0; small < 2; small++)
        while (entries->spare[small] != NULL) {
            dcli_entry *entry = entries->spare[small];
            entries->spare[small] = entry->next;
            dcli_free(entry->plans.of);
            dcli_free(entry);
        }
}

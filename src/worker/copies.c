/* worker/copies.c - memory of copies that outlive their operation. */
#include "base/alloc.h"
#include "worker/catalog.h"

struct dropping {
    dcli_catalog *catalog;
    int64_t until; /* operations before this one may still use what is dropped */
};

/* A program may be thousands of operations ahead: what is dropped must not be in the way of what is looked for. */
static void begin_to_end(dcli_catalog *catalog, dcli_copy_memory *memory)
{
    memory->next = NULL;
    if (catalog->ending == NULL)
        catalog->ending = memory;
    else
        catalog->last_ending->next = memory;
    catalog->last_ending = memory;
}

static void drop_copy(void *user, int node, const dcli_copy *copy)
{
    const struct dropping *dropping = user;
    if (node != dropping->catalog->self)
        return;
    for (dcli_copy_memory **at = &dropping->catalog->copies; *at != NULL;) {
        dcli_copy_memory *memory = *at;
        if (memory->storage != copy->storage || !dcli_box_equal(&memory->box, &copy->box)) {
            at = &memory->next;
            continue;
        }
        *at = memory->next;
        memory->until = dropping->until;
        begin_to_end(dropping->catalog, memory);
    }
}

/* An array may have two names in a body. */
static bool is_made(const dcli_catalog *catalog, const dcli_operation *operation, const dcli_stage *stage)
{
    int64_t storage = operation->operand[stage->operand].storage;
    const dcli_copy_memory *memory = catalog->copies;
    for (; memory != NULL && memory->from == operation->number; memory = memory->next)
        if (memory->storage == storage && dcli_box_equal(&memory->box, &stage->box))
            return true;
    return false;
}

static dcl_status make_copies(dcli_catalog *catalog, const dcli_operation *operation, const dcli_plan *plan)
{
    for (int64_t s = 0; s < plan->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        if (stage->kept != DCLI_STAGE_KEEP || is_made(catalog, operation, stage))
            continue;
        dcli_copy_memory *memory = dcli_calloc(1, sizeof *memory);
        if (memory == NULL)
            return DCL_ERR_NOMEM;
        *memory = (dcli_copy_memory){.storage = operation->operand[stage->operand].storage,
                                     .box = stage->box,
                                     .from = operation->number,
                                     .until = INT64_MAX,
                                     .next = catalog->copies};
        catalog->copies = memory;
    }
    return DCL_OK;
}

void dcli_catalog_begin_copies(dcli_catalog *catalog, const dcli_operation *operation)
{
    struct dropping dropping = {.catalog = catalog, .until = operation->number};
    dcli_kept_begin(&catalog->kept, operation, drop_copy, &dropping);
}

dcl_status dcli_catalog_enter_copies(dcli_catalog *catalog, dcli_entry *entry)
{
    const dcli_operation *operation = &entry->operation;
    dcl_status status = DCL_OK;
    bool keeps = dcli_keeps(operation);
    for (int n = 0; keeps && n < catalog->terms.node_count && status == DCL_OK; n++) {
        if (entry->plan[n] == NULL)
            continue;
        status = dcli_kept_add(&catalog->kept, n, operation, entry->plan[n]->plan);
        if (status == DCL_OK && n == catalog->self)
            status = make_copies(catalog, operation, entry->plan[n]->plan);
    }
    /* It may have read some elements of a copy, and written others by another view of the array. */
    struct dropping dropping = {.catalog = catalog, .until = operation->number + 1};
    dcli_kept_write(&catalog->kept, operation, drop_copy, &dropping);
    return status;
}

/* The first of a list that an operation may use. */
static dcli_copy_memory *find(dcli_copy_memory *memory, int64_t number, int64_t storage, const dcl_box *box)
{
    while (memory != NULL && !(memory->storage == storage && memory->from <= number && number < memory->until &&
                               dcli_box_equal(&memory->box, box)))
        memory = memory->next;
    return memory;
}

dcli_copy_memory *dcli_catalog_copy(const dcli_catalog *catalog, const dcli_entry *entry, int operand,
                                    const dcl_box *box)
{
    int64_t number = entry->operation.number, storage = entry->operation.operand[operand].storage;
    dcli_copy_memory *memory = find(catalog->ending, number, storage, box);
    return memory != NULL ? memory : find(catalog->copies, number, storage, box);
}

static dcli_copy_memory *free_copy(dcli_copy_memory *memory)
{
    dcli_copy_memory *next = memory->next;
    dcli_memory_release(memory->memory);
    dcli_free(memory);
    return next;
}

void dcli_catalog_free_copies(dcli_catalog *catalog, int64_t first_open)
{
    while (catalog->ending != NULL && catalog->ending->until <= first_open)
        catalog->ending = free_copy(catalog->ending);
    while (catalog->copies != NULL && first_open == INT64_MAX)
        catalog->copies = free_copy(catalog->copies);
}

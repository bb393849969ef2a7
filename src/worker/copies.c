/* worker/copies.c - memory of copies that outlive their operation. */
#include "base/alloc.h"
#include "worker/catalog.h"

struct dropping {
    dcli_catalog *catalog;
    int64_t until; /* the first operation that does not use it */
};

static void drop_copy(void *user, int node, const dcli_copy *copy)
{
    const struct dropping *dropping = user;
    if (node != dropping->catalog->self)
        return;
    for (dcli_copy_memory *memory = dropping->catalog->copies; memory != NULL; memory = memory->next)
        if (memory->until == INT64_MAX && memory->storage == copy->storage && dcli_box_equal(&memory->box, &copy->box))
            memory->until = dropping->until;
}

/* An array may have two names in a body. */
static bool is_made(const dcli_catalog *catalog, const dcli_operation *operation, const dcli_stage *stage)
{
    const dcli_copy_memory *memory = catalog->copies;
    while (memory != NULL &&
           !(memory->from == operation->number && memory->storage == operation->operand[stage->operand].storage &&
             dcli_box_equal(&memory->box, &stage->box)))
        memory = memory->next;
    return memory != NULL;
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

dcli_copy_memory *dcli_catalog_copy(const dcli_catalog *catalog, const dcli_entry *entry, int operand,
                                    const dcl_box *box)
{
    int64_t number = entry->operation.number, storage = entry->operation.operand[operand].storage;
    dcli_copy_memory *memory = catalog->copies;
    while (memory != NULL && !(memory->storage == storage && memory->from <= number && number < memory->until &&
                               dcli_box_equal(&memory->box, box)))
        memory = memory->next;
    return memory;
}

void dcli_catalog_free_copies(dcli_catalog *catalog, int64_t first_open)
{
    for (dcli_copy_memory **at = &catalog->copies; *at != NULL;) {
        dcli_copy_memory *memory = *at;
        if (memory->until > first_open) {
            at = &memory->next;
            continue;
        }
        *at = memory->next;
        dcli_memory_release(memory->memory);
        dcli_free(memory);
    }
}

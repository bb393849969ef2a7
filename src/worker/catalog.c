/* worker/catalog.c - turns a descriptor into an open operation, by finding its storages, body, plans and replicas; and
 * ends it. */
#include "worker/catalog.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "worker/process_data.h"
#include "workqueue/overlap.h"

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void forget_layout(void *plans, const dcli_layout *layout) { dcli_plans_forget(plans, layout); }

static void forget_body(void *plans, const dcli_body *body) { dcli_plans_forget_body(plans, body); }

void dcli_catalog_init(dcli_catalog *catalog, int self, const dcli_plan_terms *terms, dcli_process_data *process_data,
                       int64_t most_plan_bytes)
{
    *catalog = (dcli_catalog){.self = self, .node_count = terms->node_count};
    catalog->replicas.self = self;
    catalog->replicas.directory.node_count = terms->node_count;
    dcli_plans_init(&catalog->plans, self, terms, &process_data->plans, process_data->peers - 2, most_plan_bytes);
    catalog->plans.terms.directory = &catalog->replicas.directory;
    dcli_storage_table_init(&catalog->storage_table, terms->node_count, &process_data->layouts, forget_layout,
                            &catalog->plans);
    dcli_kernels_init(&catalog->kernels, &process_data->bodies, forget_body, &catalog->plans);
}

void dcli_catalog_release_device(dcli_catalog *catalog)
{
    dcli_plans_release_device(&catalog->plans);
    dcli_replicas_end(&catalog->replicas, INT64_MAX);
    dcli_storage_table_release_device(&catalog->storage_table);
    dcli_kernels_release_device(&catalog->kernels);
}

void dcli_catalog_free(dcli_catalog *catalog)
{
    while (catalog->entries.kept_first != NULL)
        dcli_catalog_retire(catalog, catalog->entries.kept_first);
    while (catalog->entries.first != NULL)
        dcli_catalog_retire(catalog, catalog->entries.first);
    dcli_entries_free(&catalog->entries);
    dcli_storage_table_free(&catalog->storage_table);
    dcli_kernels_free(&catalog->kernels);
    dcli_plans_free(&catalog->plans);
    dcli_replicas_free(&catalog->replicas);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static dcl_status copy_strings(dcli_msg_operation *descriptor)
{
    descriptor->operand = NULL;
    descriptor->view = NULL;
    descriptor->reach = NULL;
    descriptor->map = NULL;
    if (descriptor->path == NULL || descriptor->path[0] == '\0') {
        descriptor->path = NULL;
        return DCL_OK;
    }
    descriptor->path = dcli_strdup(descriptor->path);
    return descriptor->path != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

static dcl_status find_operands(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    dcli_operation *operation = &entry->operation;
    if (descriptor->operand_count > DCLI_MAX_PARAMS || descriptor->operand_count < 1)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has %d operands", descriptor->number,
                         descriptor->operand_count);
    operation->operand_count = descriptor->operand_count;
    for (int k = 0; k < descriptor->operand_count; k++) {
        int64_t storage = descriptor->operand[k].storage;
        dcli_known_storage *held = dcli_storage_table_find(&catalog->storage_table, storage);
        if (storage >= 0 && (held == NULL || held->released))
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " uses storage %" PRId64 ", which does not exist%s",
                             descriptor->number, storage, held != NULL ? " any more" : "");
        int64_t generation = held != NULL ? descriptor->operand[k].generation : 0;
        entry->held[k] = held;
        operation->operand[k] = (dcli_operand){.storage = storage,
                                               .layout = held != NULL ? held->shared->layout : NULL,
                                               .generation = generation < 0 ? -generation : generation,
                                               .keeps = generation > 0,
                                               .fresh = (descriptor->fresh >> k & 1) != 0};
        operation->value[k].u = descriptor->operand[k].value;
    }
    return DCL_OK;
}

static void read_view(const dcli_msg_view *message, dcl_type type, dcli_transform *view)
{
    *view = (dcli_transform){.grid = {.type = type, .rank = message->rank}, .base_rank = message->base_rank};
    memcpy(view->grid.origin, message->origin, sizeof view->grid.origin);
    memcpy(view->grid.extent, message->extent, sizeof view->grid.extent);
    memcpy(view->constant, message->constant, sizeof view->constant);
    memcpy(view->step, message->step, sizeof view->step);
    for (int d = 0; d < view->base_rank; d++)
        view->axis[d] = (int)message->axis[d];
}

static dcl_status find_view(dcli_catalog *catalog, const dcli_msg_view *message, dcli_entry *entry, int v)
{
    dcli_operand *operand = &entry->operation.operand[message->operand];
    dcl_status status = DCL_OK;
    if (message->shape_rank > 0) {
        status = dcli_storage_table_shape(&catalog->storage_table, entry->held[message->operand], message,
                                          &entry->shapes[v]);
        if (status != DCL_OK)
            return status;
        operand->layout = entry->shapes[v]->layout;
        operand->reshaped = true;
        operand->generation = 0; /* replicas exist only in the storage's own shape */
        operand->keeps = false;
    }
    read_view(message, operand->layout->grid.type, &entry->views[v]);
    operand->view = &entry->views[v];
    return dcli_transform_check(operand->view, &operand->layout->grid);
}

/* Whether an operand may have a view: operations that transfer to and from the program have only reshaped views. */
static bool may_have_view(const dcli_msg_operation *descriptor, const dcli_msg_view *view)
{
    return descriptor->kind == DCLI_OP_FORALL ||
           (view->shape_rank > 0 && (descriptor->kind == DCLI_OP_FILL || descriptor->kind == DCLI_OP_READ ||
                                     descriptor->kind == DCLI_OP_WRITE));
}

/* Decode the views of the operands. */
static dcl_status find_views(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    size_t count = (size_t)descriptor->view_count;
    if (count == 0)
        return DCL_OK;
    entry->views = dcli_calloc(count, sizeof *entry->views);
    entry->shapes = dcli_calloc(count, sizeof(dcli_shared_layout *));
    if (entry->views == NULL || entry->shapes == NULL)
        return DCL_ERR_NOMEM;
    entry->view_count = descriptor->view_count;
    dcl_status status = DCL_OK;
    for (int v = 0, next = 0; v < descriptor->view_count && status == DCL_OK; v++) {
        int k = descriptor->view[v].operand;
        if (!may_have_view(descriptor, &descriptor->view[v]) || k < next || k >= descriptor->operand_count ||
            entry->held[k] == NULL)
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has a view of operand %d, which cannot have one",
                             descriptor->number, k);
        status = find_view(catalog, &descriptor->view[v], entry, v);
        next = k + 1;
    }
    dcli_operand *moved = &entry->operation.operand[0];
    if (status != DCL_OK || descriptor->kind == DCLI_OP_FORALL)
        return status;
    dcli_transform as_it_is = dcli_transform_of(&moved->layout->grid);
    bool plain = dcli_transform_equal(moved->view, &as_it_is);
    moved->view = NULL;
    return plain ? DCL_OK
                 : DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " moves what a view sees; expected a shape alone",
                             descriptor->number);
}

/* Decode the declarations of what is read of the operands. */
static dcl_status find_reaches(const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    size_t numbers = 0;
    for (int r = 0; r < descriptor->reach_count; r++)
        numbers += (size_t)descriptor->reach[r].count;
    if (descriptor->reach_count == 0)
        return DCL_OK;
    /* + 1: the allocation is not NULL even without numbers. */
    if ((entry->numbers = dcli_malloc((numbers + 1) * sizeof(int64_t))) == NULL)
        return DCL_ERR_NOMEM;
    int64_t *number = entry->numbers;
    for (int r = 0, next = 0; r < descriptor->reach_count; r++) {
        const dcli_msg_reach *reach = &descriptor->reach[r];
        int k = reach->operand;
        if (descriptor->kind != DCLI_OP_FORALL || k < next || k >= descriptor->operand_count ||
            entry->operation.operand[k].layout == NULL)
            return DCLI_FAIL(DCL_ERR_PROTOCOL,
                             "operation %" PRId64 " declares what it reads of operand %d, which cannot have that",
                             descriptor->number, k);
        if (reach->count > 0) /* otherwise `reach->number` may be NULL */
            memcpy(number, reach->number, (size_t)reach->count * sizeof(int64_t));
        entry->operation.operand[k].declared =
            (dcli_declared){.approximate = reach->approximate, .count = reach->count, .number = number};
        number += reach->count;
        next = k + 1;
    }
    return DCL_OK;
}

static dcl_status fit_forall(const dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    entry->kernel = dcli_kernels_find(&catalog->kernels, descriptor->kernel);
    if (entry->kernel == NULL || entry->kernel->forgotten ||
        entry->kernel->body->param_count != descriptor->operand_count)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "operation %" PRId64 " runs kernel %" PRId64 " with %d operands, which does not fit",
                         descriptor->number, descriptor->kernel, descriptor->operand_count);
    const dcli_body *body = entry->kernel->body;
    for (int k = 0; k < body->param_count; k++)
        if (dcli_param_is_scalar(&body->params[k]) != (entry->operation.operand[k].layout == NULL))
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "operand %d of operation %" PRId64 " does not fit its kernel", k,
                             descriptor->number);
    entry->operation.body = body;
    return DCL_OK;
}

static dcl_status set_box(const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    dcli_operation *operation = &entry->operation;
    int first = operation->kind == DCLI_OP_FORALL ? operation->body->owner : 0;
    if (operation->operand[first].layout == NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has no array", descriptor->number);
    const dcl_grid *grid = dcli_operand_grid(&operation->operand[first]);
    operation->box = descriptor->box_rank == 0 ? dcl_box_of(grid) : descriptor->box;
    return dcli_box_check(&operation->box, grid);
}

/* Whether two operands are the same storage; then their subscripts must be checked. */
static bool names_twice(const dcli_operation *operation)
{
    for (int k = 1; k < operation->operand_count; k++)
        for (int l = 0; l < k && operation->operand[k].storage >= 0; l++)
            if (operation->operand[k].storage == operation->operand[l].storage)
                return true;
    return false;
}

static const bool *shapes_of(const dcli_entry *entry) { return entry->kernel != NULL ? entry->kernel->shapes : NULL; }

/* Fill an entry from its descriptor: find storages, body, views and plan. @param plan_out  the operation's plan, if it
 * is certain already; else NULL. */
static dcl_status fill_entry(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry *entry,
                             dcli_cached_plan **plan_out)
{
    *plan_out = NULL;
    if (descriptor->kind < DCLI_OP_CREATE || descriptor->kind >= DCLI_OP_KIND_COUNT)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " is of kind %d", descriptor->number, descriptor->kind);
    bool uses_file = descriptor->kind == DCLI_OP_LOAD || descriptor->kind == DCLI_OP_SAVE;
    bool moves = descriptor->kind == DCLI_OP_MOVE;
    if (moves && (descriptor->node >= catalog->node_count || descriptor->operand_count != 1 ||
                  descriptor->operand[0].generation < 1))
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "operation %" PRId64 " moves %d arrays to node %d of %d, generation %" PRId64,
                         descriptor->number, descriptor->operand_count, descriptor->node, catalog->node_count,
                         descriptor->operand_count > 0 ? descriptor->operand[0].generation : 0);
    entry->operation.node = descriptor->node;
    entry->operation.overlap = descriptor->overlap;
    if (uses_file && (descriptor->path == NULL || descriptor->path[0] == '\0'))
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " names no file", descriptor->number);
    dcl_status status =
        descriptor->kind == DCLI_OP_CREATE ? dcli_storage_table_create(&catalog->storage_table, descriptor) : DCL_OK;
    if (status == DCL_OK)
        status = find_operands(catalog, descriptor, entry);
    if (status == DCL_OK)
        status = find_views(catalog, descriptor, entry);
    if (status == DCL_OK)
        status = find_reaches(descriptor, entry);
    if (status == DCL_OK && descriptor->kind == DCLI_OP_FORALL)
        status = fit_forall(catalog, descriptor, entry);
    if (status == DCL_OK)
        status = set_box(descriptor, entry);
    if (status != DCL_OK)
        return status;
    if (descriptor->kind == DCLI_OP_RELEASE)
        entry->held[0]->released = true; /* free the storage later: open operations may still use it */
    dcli_operation_resolve(&entry->operation);
    if (descriptor->overlap != 0 || descriptor->fresh != 0)
        status = dcli_overlap_check_received(&entry->operation);
    if (status != DCL_OK || entry->operation.kind != DCLI_OP_FORALL || catalog->self == catalog->node_count)
        return status;
    bool fixed;
    dcli_cached_plan *known = dcli_plans_find(&catalog->plans, &entry->operation, shapes_of(entry), &fixed);
    *plan_out = fixed ? known : NULL;
    return known != NULL && !names_twice(&entry->operation) ? DCL_OK : dcli_operation_check(&entry->operation);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void give_entry(dcli_catalog *catalog, dcli_entry *entry)
{
    for (int v = 0; v < entry->view_count; v++)
        if (entry->shapes[v] != NULL)
            dcli_storage_table_end_layout(&catalog->storage_table, entry->shapes[v]);
    dcli_entries_give(&catalog->entries, entry);
}

dcl_status dcli_catalog_know(dcli_catalog *catalog, const dcli_msg_operation *descriptor)
{
    if (descriptor->kind != DCLI_OP_CREATE)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "an operation of kind %d has no number", descriptor->kind);
    return dcli_storage_table_create(&catalog->storage_table, descriptor);
}

dcl_status dcli_catalog_add(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry **entry_out)
{
    dcli_entry *entry = dcli_entries_take(&catalog->entries, descriptor->kind, descriptor->operand_count);
    if (entry == NULL)
        return DCL_ERR_NOMEM;
    entry->operation.number = descriptor->number;
    entry->operation.kind = (dcli_op_kind)descriptor->kind;
    entry->steal = (dcl_steal_policy)descriptor->steal;
    dcli_cached_plan *plan;
    dcl_status status = fill_entry(catalog, descriptor, entry, &plan);
    if (status == DCL_OK && entry->operation.kind != DCLI_OP_FORALL) {
        entry->more->descriptor = *descriptor;
        status = copy_strings(&entry->more->descriptor);
    }
    if (status == DCL_OK)
        status = dcli_entry_reserve_plan(entry); /* for that of this peer */
    if (status != DCL_OK) {
        give_entry(catalog, entry);
        return status;
    }
    if (entry->kernel != NULL)
        entry->kernel->uses++;
    if (plan != NULL) {
        dcli_plans_use(&catalog->plans, plan);
        dcli_entry_add_plan(entry, catalog->self, plan);
    }
    dcli_entries_append(&catalog->entries, entry);
    *entry_out = entry;
    return DCL_OK;
}

/* Whether an operation can be repeated by copying its entry: a loop body without views, declarations and replicas, all
 * of whose storages and body still exist, with the plan of this node. */
static bool is_repeatable(const dcli_catalog *catalog, const dcli_entry *like)
{
    const dcli_operation *operation = &like->operation;
    bool repeatable =
        operation->kind == DCLI_OP_FORALL && !like->kernel->forgotten && like->view_count == 0 && like->numbers == NULL;
    for (int k = 0; k < operation->operand_count && repeatable; k++)
        repeatable = operation->operand[k].generation == 0 && (like->held[k] == NULL || !like->held[k]->released);
    return repeatable && (catalog->self == catalog->node_count || dcli_entry_plan(like, catalog->self) != NULL);
}

static void copy_operation(const dcli_operation *from, dcli_operation *to)
{
    size_t operands = (size_t)from->operand_count;
    memcpy(to, from, offsetof(dcli_operation, value) + operands * sizeof *from->value);
    memcpy(to->operand, from->operand, operands * sizeof *from->operand);
}

dcl_status dcli_catalog_repeat(dcli_catalog *catalog, const dcli_entry *like, int64_t number, dcli_entry **entry_out)
{
    if (!is_repeatable(catalog, like))
        return DCL_ERR_INVALID;
    dcli_entry *entry = dcli_entries_take(&catalog->entries, DCLI_OP_FORALL, like->operation.operand_count);
    if (entry == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_entry_copy_plans(entry, like);
    if (status != DCL_OK) {
        dcli_entries_give(&catalog->entries, entry);
        return status;
    }
    copy_operation(&like->operation, &entry->operation);
    entry->operation.number = number;
    entry->steal = like->steal;
    entry->kernel = like->kernel;
    entry->kernel->uses++;
    memcpy(entry->held, like->held, (size_t)like->operation.operand_count * sizeof *like->held);
    dcli_entries_append(&catalog->entries, entry);
    *entry_out = entry;
    return DCL_OK;
}

static void let_go_of_plans(dcli_entry *entry)
{
    for (int64_t n = 0; n < entry->plans.count; n++)
        dcli_plans_let_go(entry->plans.of[n].plan);
    entry->plans.count = 0;
}

static void end_replicas(dcli_catalog *catalog)
{
    if (catalog->replicas.ending != NULL)
        dcli_replicas_end(&catalog->replicas, dcli_entries_first_open(&catalog->entries));
}

void dcli_catalog_finish(dcli_catalog *catalog, dcli_entry *entry)
{
    let_go_of_plans(entry);
    dcli_entries_keep(&catalog->entries, entry);
    end_replicas(catalog);
}

void dcli_catalog_retire(dcli_catalog *catalog, dcli_entry *entry)
{
    bool kept = entry->kept;
    dcli_entries_remove(&catalog->entries, entry);
    let_go_of_plans(entry);
    if (entry->kernel != NULL)
        dcli_kernels_end_use(&catalog->kernels, entry->kernel);
    give_entry(catalog, entry);
    if (!kept)
        end_replicas(catalog);
}

dcli_cached_plan *dcli_catalog_plan(dcli_catalog *catalog, dcli_entry *entry, int node)
{
    dcli_cached_plan *plan = dcli_entry_plan(entry, node);
    if (plan != NULL || dcli_entry_reserve_plan(entry) != DCL_OK)
        return plan;
    plan = dcli_plans_hold(&catalog->plans, &entry->operation, shapes_of(entry), node);
    if (plan != NULL)
        dcli_entry_add_plan(entry, node, plan);
    return plan;
}

dcl_status dcli_catalog_lender(dcli_catalog *catalog, dcli_entry *entry, int node, dcli_cached_plan **plan_out)
{
    dcli_cached_plan *own = node == catalog->self ? dcli_entry_plan(entry, node) : NULL;
    if (dcli_makes_replicas(&entry->operation) || (own != NULL && own->shared->state.count > 0))
        return DCL_ERR_INVALID;
    if (own != NULL)
        dcli_plans_use(&catalog->plans, own);
    else
        own = dcli_plans_hold_whole(&catalog->plans, &entry->operation, shapes_of(entry), node);
    *plan_out = own;
    return own != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

dcl_status dcli_catalog_record_replicas(dcli_catalog *catalog, dcli_entry *entry)
{
    const dcli_operation *operation = &entry->operation;
    dcl_status status = DCL_OK;
    bool keeps = dcli_makes_replicas(operation);
    for (int64_t n = 0; keeps && n < entry->plans.count && status == DCL_OK; n++)
        if (entry->plans.of[n].peer < catalog->node_count)
            status = dcli_replicas_add(&catalog->replicas, entry->plans.of[n].peer, operation,
                                       entry->plans.of[n].plan->plan);
    dcli_replicas_write(&catalog->replicas, operation);
    return status;
}

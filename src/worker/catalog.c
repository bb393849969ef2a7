/* worker/catalog.c - storages, kernels and open operations of a peer. Plans are in plans.c. */
#include "worker/catalog.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/tile_kernel.h"
#include "resmap/map_text.h"
#include "worker/plans.h"

enum { BUCKETS = 256 };

void dcli_catalog_init(dcli_catalog *catalog, int self, const dcli_plan_terms *terms)
{
    *catalog = (dcli_catalog){.terms = *terms, .self = self, .peers = terms->node_count + 1};
    catalog->kept.node_count = terms->node_count;
    catalog->terms.kept = &catalog->kept;
}

/* ---- storages ----------------------------------------------------------------------------------------------------- */

dcli_held *dcli_catalog_held(const dcli_catalog *catalog, int64_t storage)
{
    dcli_held *held = storage < 0 ? NULL : catalog->held[storage % BUCKETS];
    while (held != NULL && held->id != storage)
        held = held->next;
    return held;
}

size_t dcli_held_bytes(const dcli_held *held, int node)
{
    const dcli_layout *layout = &held->shared->layout;
    return (size_t)dcli_layout_storage(layout, node) * dcl_type_bytes(layout->grid.type);
}

static void end_layout_use(dcli_catalog *catalog, dcli_shared_layout *shared)
{
    if (--shared->uses > 0)
        return;
    dcli_plans_forget(catalog, &shared->layout);
    for (dcli_shared_layout **at = &catalog->layouts; *at != NULL; at = &(*at)->next)
        if (*at == shared) {
            *at = shared->next;
            dcli_layout_release(&shared->layout);
            dcli_free(shared);
            return;
        }
}

void dcli_held_forget_peers(const dcli_catalog *catalog, dcli_held *held)
{
    for (int n = 0; held->peer != NULL && n < catalog->terms.node_count; n++)
        dcli_memory_release(held->peer[n]);
    dcli_free(held->peer);
    held->peer = NULL;
}

void dcli_catalog_drop(dcli_catalog *catalog, dcli_held *held)
{
    for (dcli_held **at = &catalog->held[held->id % BUCKETS]; *at != NULL; at = &(*at)->next)
        if (*at == held) {
            *at = held->next;
            dcli_held_forget_peers(catalog, held);
            for (int s = 0; s < DCLI_MOST_SHAPES; s++)
                if (held->shape[s] != NULL)
                    end_layout_use(catalog, held->shape[s]);
            end_layout_use(catalog, held->shared);
            dcli_free(held);
            return;
        }
}

static bool equal_grids(const dcl_grid *a, const dcl_grid *b)
{
    if (a->type != b->type || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->origin[d] != b->origin[d] || a->extent[d] != b->extent[d])
            return false;
    return true;
}

/* Takes the layout over. */
static dcl_status share_layout(dcli_catalog *catalog, const dcli_layout *layout, dcli_shared_layout **shared_out)
{
    dcli_shared_layout *shared = catalog->layouts;
    while (shared != NULL && !(equal_grids(&shared->layout.grid, &layout->grid) &&
                               dcli_map_rule_equal(&shared->layout.rule, &layout->rule) &&
                               shared->layout.rule.tile_bytes == layout->rule.tile_bytes &&
                               shared->layout.rule.block_bytes == layout->rule.block_bytes))
        shared = shared->next;
    if (shared == NULL) {
        shared = dcli_calloc(1, sizeof *shared);
        if (shared == NULL) {
            dcli_layout_release(layout);
            return DCL_ERR_NOMEM;
        }
        shared->layout = *layout; /* and its tables */
        shared->next = catalog->layouts;
        catalog->layouts = shared;
    } else {
        dcli_layout_release(layout);
    }
    shared->uses++;
    *shared_out = shared;
    return DCL_OK;
}

static dcl_status bind_descriptor(const dcli_catalog *catalog, const dcli_msg_operation *descriptor,
                                  dcli_layout *layout_out)
{
    dcli_map_rule rule;
    dcl_grid grid = {.type = (dcl_type)descriptor->type, .rank = descriptor->rank};
    memcpy(grid.origin, descriptor->origin, sizeof grid.origin);
    memcpy(grid.extent, descriptor->extent, sizeof grid.extent);
    dcl_status status = dcli_grid_check(&grid);
    int nodes = descriptor->map_nodes > 0 ? descriptor->map_nodes : catalog->terms.node_count;
    if (status == DCL_OK && nodes > catalog->terms.node_count)
        status = DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has a map over %d nodes; expected at most %d",
                           descriptor->number, nodes, catalog->terms.node_count);
    if (status == DCL_OK)
        status = dcli_map_rule_parse(descriptor->map, nodes, &rule);
    if (status != DCL_OK)
        return status;
    rule.tile_bytes = descriptor->tile_bytes;
    rule.block_bytes = descriptor->block_bytes;
    rule.small_bytes = descriptor->small_bytes;
    status = dcli_layout_bind(&rule, &grid, layout_out);
    dcli_map_rule_release(&rule);
    return status;
}

static dcl_status create(dcli_catalog *catalog, const dcli_msg_operation *descriptor)
{
    if (descriptor->operand_count != 1 || descriptor->operand[0].storage < 0 ||
        dcli_catalog_held(catalog, descriptor->operand[0].storage) != NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " creates a storage that exists", descriptor->number);
    dcli_layout layout;
    dcl_status status = bind_descriptor(catalog, descriptor, &layout);
    if (status != DCL_OK)
        return status;
    dcli_held *held = dcli_calloc(1, sizeof *held);
    if (held == NULL) {
        dcli_layout_release(&layout);
        return DCL_ERR_NOMEM;
    }
    if (share_layout(catalog, &layout, &held->shared) != DCL_OK) {
        dcli_free(held);
        return DCL_ERR_NOMEM;
    }
    held->id = descriptor->operand[0].storage;
    if (catalog->last_created < held->id)
        catalog->last_created = held->id;
    held->next = catalog->held[held->id % BUCKETS];
    catalog->held[held->id % BUCKETS] = held;
    return DCL_OK;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

dcli_kernel *dcli_catalog_kernel(const dcli_catalog *catalog, int64_t number)
{
    dcli_kernel *kernel = number < 0 ? NULL : catalog->kernels[number % BUCKETS];
    while (kernel != NULL && kernel->number != number)
        kernel = kernel->next;
    return kernel;
}

static void free_kernel(dcli_kernel *kernel)
{
    dcli_body_free(kernel->body);
    dcli_free(kernel->build_problem);
    dcli_free(kernel);
}

static dcl_status parse_kernel(const dcli_msg_kernel *message, const dcli_param params[], dcli_body **body_out)
{
    if (message->item_count == 0)
        return dcli_body_parse(message->text, message->prelude, message->parameter_count, params, body_out);
    if (message->item_count != DCLI_MSG_ITEMS)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "kernel %" PRId64 " has %d sizes; expected %d", message->kernel,
                         message->item_count, DCLI_MSG_ITEMS);
    dcli_items items;
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        items.group[d] = message->items[d];
        items.count[d] = message->items[DCLI_ITEM_DIMENSIONS + d];
    }
    return dcli_tile_kernel_parse(message->text, message->prelude, message->parameter_count, params, &items, body_out);
}

dcl_status dcli_catalog_add_kernel(dcli_catalog *catalog, const dcli_msg_kernel *message, dcli_kernel **kernel_out)
{
    if (message->kernel < 0 || dcli_catalog_kernel(catalog, message->kernel) != NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "kernel %" PRId64 " is there already", message->kernel);
    dcli_param params[DCLI_MAX_PARAMS];
    if (message->parameter_count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "kernel %" PRId64 " has %d parameters; expected at most %d", message->kernel,
                         message->parameter_count, DCLI_MAX_PARAMS);
    for (int k = 0; k < message->parameter_count; k++) {
        const dcli_msg_parameter *parameter = &message->parameter[k];
        params[k] = (dcli_param){.access = (dcl_access)parameter->access,
                                 .type = (dcl_type)parameter->type,
                                 .rank = parameter->rank,
                                 .turned = parameter->turned};
        strncpy(params[k].name, parameter->name, sizeof params[k].name - 1);
    }
    dcli_kernel *kernel = dcli_calloc(1, sizeof *kernel);
    if (kernel == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = parse_kernel(message, params, &kernel->body);
    if (status != DCL_OK) {
        dcli_free(kernel);
        return status;
    }
    kernel->number = message->kernel;
    for (int k = 0; k < kernel->body->param_count; k++)
        kernel->shapes[k] = dcli_body_subscripts_use(kernel->body, k);
    kernel->next = catalog->kernels[kernel->number % BUCKETS];
    catalog->kernels[kernel->number % BUCKETS] = kernel;
    *kernel_out = kernel;
    return DCL_OK;
}

static void end_kernel(dcli_catalog *catalog, dcli_kernel *kernel)
{
    dcli_kernel **at = &catalog->kernels[kernel->number % BUCKETS];
    while (*at != kernel)
        at = &(*at)->next;
    *at = kernel->next;
    dcli_plans_forget_body(catalog, kernel->body);
    dcli_program_release(kernel->program);
    free_kernel(kernel);
}

void dcli_catalog_forget_kernels(dcli_catalog *catalog, const dcli_msg_kernel *message)
{
    for (int n = 0; n < message->forgotten_count; n++) {
        dcli_kernel *kernel = dcli_catalog_kernel(catalog, message->forgotten[n]);
        if (kernel == NULL)
            continue;
        kernel->forgotten = true;
        if (kernel->uses == 0)
            end_kernel(catalog, kernel);
    }
}

dcli_kernel *dcli_catalog_oldest_program(const dcli_catalog *catalog, const dcli_kernel *but)
{
    dcli_kernel *oldest = NULL;
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_kernel *kernel = catalog->kernels[b]; kernel != NULL; kernel = kernel->next)
            if (kernel->program != NULL && kernel != but && (oldest == NULL || kernel->used < oldest->used))
                oldest = kernel;
    return oldest;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

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
        dcli_held *held = dcli_catalog_held(catalog, storage);
        if (storage >= 0 && (held == NULL || held->released))
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " uses storage %" PRId64 ", which does not exist%s",
                             descriptor->number, storage, held != NULL ? " any more" : "");
        int64_t kept = held != NULL ? descriptor->operand[k].kept : 0;
        entry->held[k] = held;
        operation->operand[k] = (dcli_operand){.storage = storage,
                                               .layout = held != NULL ? &held->shared->layout : NULL,
                                               .kept = kept < 0 ? -kept : kept,
                                               .keeps = kept > 0};
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

/* The layout of a storage's elements in another shape, with a use of the caller's. */
static dcl_status find_shape(dcli_catalog *catalog, dcli_held *held, const dcli_msg_view *message,
                             dcli_shared_layout **shape_out)
{
    dcl_grid grid = {.type = held->shared->layout.grid.type, .rank = message->shape_rank};
    memcpy(grid.extent, message->shape, sizeof grid.extent);
    int s = 0;
    while (s < DCLI_MOST_SHAPES && (held->shape[s] == NULL || !equal_grids(&held->shape[s]->layout.grid, &grid)))
        s++;
    if (s == DCLI_MOST_SHAPES) {
        dcli_layout layout;
        dcli_shared_layout *shape;
        dcl_status status = dcli_layout_reshape(&held->shared->layout, &grid, &layout);
        if (status == DCL_OK)
            status = share_layout(catalog, &layout, &shape);
        if (status != DCL_OK)
            return status;
        s = held->next_shape++ % DCLI_MOST_SHAPES;
        if (held->shape[s] != NULL)
            end_layout_use(catalog, held->shape[s]);
        held->shape[s] = shape;
    }
    held->shape[s]->uses++;
    *shape_out = held->shape[s];
    return DCL_OK;
}

static dcl_status find_view(dcli_catalog *catalog, const dcli_msg_view *message, dcli_entry *entry, int v)
{
    dcli_operand *operand = &entry->operation.operand[message->operand];
    dcl_status status = DCL_OK;
    if (message->shape_rank > 0) {
        status = find_shape(catalog, entry->held[message->operand], message, &entry->shapes[v]);
        if (status != DCL_OK)
            return status;
        operand->layout = &entry->shapes[v]->layout;
        operand->reshaped = true;
        operand->kept = 0; /* copies are of the storage's own shape */
        operand->keeps = false;
    }
    read_view(message, operand->layout->grid.type, &entry->views[v]);
    operand->view = &entry->views[v];
    return dcli_transform_check(operand->view, &operand->layout->grid);
}

/* What moves elements to and from the program knows other shapes only. */
static bool may_have_view(const dcli_msg_operation *descriptor, const dcli_msg_view *view)
{
    return descriptor->kind == DCLI_OP_FORALL ||
           (view->shape_rank > 0 && (descriptor->kind == DCLI_OP_FILL || descriptor->kind == DCLI_OP_READ ||
                                     descriptor->kind == DCLI_OP_WRITE));
}

/* What operands are not seen as they are. */
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

/* What is declared of operands beyond their kind of reach. */
static dcl_status find_reaches(const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    size_t numbers = 0;
    for (int r = 0; r < descriptor->reach_count; r++)
        numbers += (size_t)descriptor->reach[r].count;
    if (descriptor->reach_count == 0)
        return DCL_OK;
    if ((entry->numbers = dcli_malloc((numbers + 1) * sizeof(int64_t))) == NULL) /* not NULL where there are none */
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
        if (reach->count > 0) /* else its address is NULL */
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
    entry->kernel = dcli_catalog_kernel(catalog, descriptor->kernel);
    if (entry->kernel == NULL || entry->kernel->forgotten ||
        entry->kernel->body->param_count != descriptor->operand_count)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "operation %" PRId64 " runs kernel %" PRId64 " with %d operands, which does not fit",
                         descriptor->number, descriptor->kernel, descriptor->operand_count);
    const dcli_body *body = entry->kernel->body;
    for (int k = 0; k < body->param_count; k++)
        if ((body->params[k].access == DCL_ACCESS_VALUE) != (entry->operation.operand[k].layout == NULL))
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "operand %d of operation %" PRId64 " does not fit its kernel", k,
                             descriptor->number);
    entry->operation.body = body;
    return DCL_OK;
}

static dcl_status set_box(const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    dcli_operation *operation = &entry->operation;
    int first = operation->kind == DCLI_OP_FORALL ? operation->body->first_output : 0;
    if (operation->operand[first].layout == NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has no array", descriptor->number);
    const dcl_grid *grid = dcli_operand_grid(&operation->operand[first]);
    operation->box = descriptor->box_rank == 0 ? dcl_box_of(grid) : descriptor->box;
    return dcli_box_check(&operation->box, grid);
}

/* Whether two operands are the same storage: then it matters which subscripts they have. */
static bool names_twice(const dcli_operation *operation)
{
    for (int k = 1; k < operation->operand_count; k++)
        for (int l = 0; l < k && operation->operand[k].storage >= 0; l++)
            if (operation->operand[k].storage == operation->operand[l].storage)
                return true;
    return false;
}

static dcl_status fill_entry(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry *entry)
{
    if (descriptor->kind < DCLI_OP_CREATE || descriptor->kind >= DCLI_OP_KIND_COUNT)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " is of kind %d", descriptor->number, descriptor->kind);
    bool uses_file = descriptor->kind == DCLI_OP_LOAD || descriptor->kind == DCLI_OP_SAVE;
    bool moves = descriptor->kind == DCLI_OP_MOVE;
    if (moves && (descriptor->node >= catalog->terms.node_count || descriptor->operand_count != 1 ||
                  descriptor->operand[0].kept < 1))
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "operation %" PRId64 " moves %d arrays to node %d of %d, generation %" PRId64,
                         descriptor->number, descriptor->operand_count, descriptor->node, catalog->terms.node_count,
                         descriptor->operand_count > 0 ? descriptor->operand[0].kept : 0);
    entry->operation.node = descriptor->node;
    if (uses_file && (descriptor->path == NULL || descriptor->path[0] == '\0'))
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " names no file", descriptor->number);
    dcl_status status = descriptor->kind == DCLI_OP_CREATE ? create(catalog, descriptor) : DCL_OK;
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
        entry->held[0]->released = true; /* what is open may still use it */
    dcli_operation_resolve(&entry->operation);
    bool checked = entry->operation.kind != DCLI_OP_FORALL || catalog->self == catalog->terms.node_count ||
                   (dcli_plans_known(catalog, entry) && !names_twice(&entry->operation));
    return checked ? DCL_OK : dcli_operation_check(&entry->operation);
}

static dcli_entry *take_entry(dcli_catalog *catalog)
{
    dcli_entry *entry = catalog->spare;
    if (entry == NULL) {
        entry = dcli_calloc(1, sizeof *entry);
        if (entry != NULL)
            entry->plan = dcli_calloc((size_t)catalog->peers, sizeof(dcli_kept_plan *));
        if (entry != NULL && entry->plan == NULL) {
            dcli_free(entry);
            return NULL;
        }
        return entry;
    }
    catalog->spare = entry->next;
    entry->next = NULL;
    return entry;
}

static void end_views(dcli_catalog *catalog, dcli_entry *entry)
{
    for (int v = 0; v < entry->view_count; v++)
        if (entry->shapes[v] != NULL)
            end_layout_use(catalog, entry->shapes[v]);
    dcli_free(entry->shapes);
    dcli_free(entry->views);
}

/* Back to the state of a new one; what is large stays allocated. */
static void clear_entry(dcli_catalog *catalog, dcli_entry *entry)
{
    dcli_kept_plan **plan = entry->plan;
    memset(plan, 0, (size_t)catalog->peers * sizeof(dcli_kept_plan *));
    dcli_free((char *)entry->descriptor.path);
    dcli_free(entry->problem);
    dcli_lent_release(entry->lent);
    end_views(catalog, entry);
    dcli_free(entry->numbers);
    memset(entry, 0, sizeof *entry);
    entry->plan = plan;
}

dcl_status dcli_catalog_know(dcli_catalog *catalog, const dcli_msg_operation *descriptor)
{
    if (descriptor->kind != DCLI_OP_CREATE)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "an operation of kind %d has no number", descriptor->kind);
    return create(catalog, descriptor);
}

dcl_status dcli_catalog_add(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry **entry_out)
{
    dcli_entry *entry = take_entry(catalog);
    if (entry == NULL)
        return DCL_ERR_NOMEM;
    entry->operation.number = descriptor->number;
    entry->operation.kind = (dcli_op_kind)descriptor->kind;
    dcl_status status = fill_entry(catalog, descriptor, entry);
    if (status == DCL_OK) {
        entry->descriptor = *descriptor;
        status = copy_strings(&entry->descriptor);
    }
    if (status != DCL_OK) {
        clear_entry(catalog, entry);
        entry->next = catalog->spare;
        catalog->spare = entry;
        return status;
    }
    catalog->last_operation = descriptor->number;
    if (entry->kernel != NULL)
        entry->kernel->uses++;
    *(catalog->last != NULL ? &catalog->last->next : &catalog->first) = entry;
    catalog->last = entry;
    *entry_out = entry;
    return DCL_OK;
}

void dcli_catalog_retire(dcli_catalog *catalog, dcli_entry *entry)
{
    dcli_entry *before = NULL;
    for (dcli_entry *at = catalog->first; at != entry; at = at->next)
        before = at;
    *(before != NULL ? &before->next : &catalog->first) = entry->next;
    if (catalog->last == entry)
        catalog->last = before;
    for (int q = 0; q < catalog->peers; q++)
        if (entry->plan[q] != NULL)
            entry->plan[q]->uses--;
    dcli_kernel *kernel = entry->kernel;
    if (kernel != NULL && --kernel->uses == 0 && kernel->forgotten)
        end_kernel(catalog, kernel);
    clear_entry(catalog, entry);
    entry->next = catalog->spare;
    catalog->spare = entry;
    if (catalog->ending != NULL)
        dcli_catalog_free_copies(catalog, catalog->first != NULL ? catalog->first->operation.number
                                                                 : catalog->last_operation + 1);
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

void dcli_catalog_release_device(dcli_catalog *catalog)
{
    dcli_plans_release_device(catalog);
    dcli_catalog_free_copies(catalog, INT64_MAX);
    for (int b = 0; b < BUCKETS; b++) {
        for (dcli_held *held = catalog->held[b]; held != NULL; held = held->next) {
            dcli_held_forget_peers(catalog, held);
            dcli_memory_release(held->memory);
            held->memory = NULL;
        }
        for (dcli_kernel *kernel = catalog->kernels[b]; kernel != NULL; kernel = kernel->next) {
            dcli_program_release(kernel->program);
            kernel->program = NULL;
        }
    }
}

static void free_entry(dcli_entry *entry)
{
    dcli_free((char *)entry->descriptor.path);
    dcli_free(entry->problem);
    dcli_free(entry->numbers);
    dcli_free(entry->plan);
    dcli_free(entry);
}

void dcli_catalog_free(dcli_catalog *catalog)
{
    while (catalog->first != NULL)
        dcli_catalog_retire(catalog, catalog->first);
    while (catalog->spare != NULL) {
        dcli_entry *entry = catalog->spare;
        catalog->spare = entry->next;
        free_entry(entry);
    }
    for (int b = 0; b < BUCKETS; b++) {
        while (catalog->held[b] != NULL)
            dcli_catalog_drop(catalog, catalog->held[b]);
        while (catalog->kernels[b] != NULL) {
            dcli_kernel *kernel = catalog->kernels[b];
            catalog->kernels[b] = kernel->next;
            free_kernel(kernel);
        }
    }
    dcli_plans_free(catalog);
    dcli_kept_free(&catalog->kept);
}

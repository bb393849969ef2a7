/* worker/exec_forall.c - run a batch of a loop body: fill stages, launch kernels, pass on outputs. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

#include "base/check.h"
#include "base/error.h"
#include "kernel/fold.h"
#include "kernel/keyed.h"
#include "kernel/product.h"
#include "worker/account.h"
#include "worker/exec_combine.h"
#include "worker/exec_gather.h"
#include "worker/exec_prepare.h"
#include "worker/exec_routes.h"
#include "worker/exec_tiles.h"
#include "worker/peer.h"
#include "worker/plans.h"
#include "worker/process_data.h"
#include "worker/scalar.h"
#include "worker/series.h"
#include "worker/stealing.h"
#include "worker/trace.h"
#include "worker/window.h"
#include "workqueue/plan_fine.h"
#include <assert.h>

/* ---- programs ----------------------------------------------------------------------------------------------------- */

/* Remember a permanent compile error; any other error is retried. */
static void keep_build_problem(dcli_kernel *kernel, dcl_status status)
{
    kernel->build_status = status;
    dcli_free(kernel->build_problem);
    kernel->build_problem = dcli_strdup(dcli_error_sentence());
}

static dcli_form form_of(const dcli_worker *worker)
{
    return dcli_device_is_gpu(worker->as_node->device) ? DCLI_FORM_GPU : DCLI_FORM_CPU;
}

/* Whether the program of a body has the kernels that gather, or dcl_mixed: a GPU that reads no memory of others does not
 * need it. */
static bool has_more_kernels(const dcli_worker *worker, const dcli_kernel *kernel)
{
    return kernel->gathers && (form_of(worker) == DCLI_FORM_CPU || dcli_device_reads_peers(worker->as_node->device));
}

static dcl_status fail_build(const dcli_worker *worker, dcli_kernel *kernel, dcl_status status, char *log)
{
    if (status == DCL_ERR_BODY) {
        char *sentence = dcli_body_log(kernel->body, form_of(worker), worker->terms.check_access,
                                       has_more_kernels(worker, kernel), log != NULL ? log : "");
        DCLI_FAIL(DCL_ERR_BODY, "%s", sentence != NULL ? sentence : "the compiler refuses the body");
        dcli_free(sentence);
    }
    dcli_free(log);
    if (status == DCL_ERR_BODY)
        keep_build_problem(kernel, status);
    return status;
}

/* Check whether the device supports the work-groups of a tile kernel. */
static dcl_status check_group(dcli_device *device, dcli_kernel *kernel)
{
    if (!dcli_items_grouped(&kernel->body->items))
        return DCL_OK;
    dcl_status status = dcli_device_check_group(device, kernel->program, kernel->body->items.group);
    if (status != DCL_ERR_UNSUPPORTED)
        return status;
    dcli_error_adopt(DCL_ERR_BODY, dcli_error_sentence());
    dcli_program_release(kernel->program);
    kernel->program = NULL;
    keep_build_problem(kernel, DCL_ERR_BODY);
    return DCL_ERR_BODY;
}

static bool is_running(const dcli_as_node *own, const dcli_kernel *kernel)
{
    for (int64_t r = own->running_first; r < own->running_count; r++)
        if (own->running[r].kernel == kernel->number)
            return true;
    return false;
}

/* Release the least recently used program: programs take far more memory than the rest of a body. The device frees
 * programs without references. @return false: there is none to release, or its kernels are running. */
static bool give_back_oldest(dcli_worker *worker, const dcli_kernel *newest)
{
    dcli_kernel *oldest = dcli_kernels_oldest_program(&worker->catalog.kernels, newest);
    if (oldest == NULL || is_running(worker->as_node, oldest))
        return false;
    dcli_program_release(oldest->program);
    oldest->program = NULL;
    return true;
}

/* The program of a body for a node's device. */
struct source {
    char *text;
    const char *names[DCLI_VARIANT_MOST];
};

/* Generate a program. @return false: there is no memory. */
static bool make_source(const dcli_worker *worker, const dcli_kernel *kernel, struct source *source_out)
{
    dcli_form form = form_of(worker);
    source_out->text = dcli_body_program(kernel->body, form, worker->terms.check_access,
                                         has_more_kernels(worker, kernel), source_out->names);
    return source_out->text != NULL;
}

dcli_compiling *dcli_exec_compile(dcli_worker *worker, const dcli_kernel *kernel)
{
    struct source source;
    if (!make_source(worker, kernel, &source))
        return NULL;
    dcli_compiling *compiling = dcli_program_compile(worker->as_node->device, source.text, DCLI_VARIANT_MOST,
                                                     source.names, dcli_device_is_gpu(worker->as_node->device) ? 0 : 1);
    dcli_free(source.text);
    return compiling;
}

static void limit_programs(dcli_worker *worker, const dcli_kernel *newest)
{
    while (dcli_programs_are_many(worker->as_node->device) && give_back_oldest(worker, newest))
        ;
}

void dcli_exec_compiled(dcli_worker *worker, dcli_kernel *kernel, dcli_program *program)
{
    worker->counters.kernels_built += program != NULL;
    if (kernel == NULL || kernel->program != NULL || program == NULL) {
        dcli_program_release(program);
        return;
    }
    kernel->program = program;
    kernel->used = worker->catalog.entries.last_operation;
    limit_programs(worker, kernel);
}

int64_t dcli_exec_begin_building(dcli_worker *worker, int64_t kernel, const char *text)
{
    dcli_watch_kernel(worker->terms.watch, DCLI_BUILDING, kernel);
    dcli_watch_activity(worker->terms.watch, DCLI_BUILDING, text);
    return dcli_trace_begin(worker);
}

void dcli_exec_end_building(dcli_worker *worker, int64_t began_ns)
{
    dcli_trace_end(worker, DCLI_TRACE_COMPILE, began_ns, NULL, -1, DCLI_TRACE_NOBODY, 0);
    dcli_watch_activity(worker->terms.watch, DCLI_BUILDING, NULL);
    dcli_watch_kernel(worker->terms.watch, DCLI_BUILDING, 0);
}

dcl_status dcli_exec_build(dcli_worker *worker, dcli_kernel *kernel)
{
    dcli_as_node *own = worker->as_node;
    if (kernel->build_status != DCL_OK)
        return DCLI_FAIL(kernel->build_status, "%s", kernel->build_problem != NULL ? kernel->build_problem : "");
    kernel->used = worker->catalog.entries.last_operation;
    dcli_stealing_built(worker, kernel);
    if (kernel->program != NULL)
        return DCL_OK;
    /* Checked first, since a compiler's message would be less clear. */
    dcl_status status = check_group(own->device, kernel);
    if (status != DCL_OK)
        return status;
    struct source source;
    if (!make_source(worker, kernel, &source))
        return DCL_ERR_NOMEM;
    char *log = NULL;
    bool fresh = false;
    int64_t began_ns = dcli_exec_begin_building(worker, kernel->number, kernel->body->text);
    status = (kernel->body->tile_kernel ? dcli_program_build_own : dcli_program_build)(
        own->device, source.text, DCLI_VARIANT_MOST, source.names, &kernel->program, &fresh, &log);
    dcli_exec_end_building(worker, began_ns);
    dcli_free(source.text);
    if (status != DCL_OK)
        return fail_build(worker, kernel, status, log);
    worker->counters.kernels_built += fresh;
    if (fresh)
        limit_programs(worker, kernel);
    return check_group(own->device, kernel);
}

/* Whether a batch needs kernels that the program of its body was built without. */
static bool lacks_kernels(const dcli_kernel *kernel, const dcli_prepared *prepared)
{
    for (int64_t l = 0; l < prepared->lowered.launch_count; l++) {
        const dcli_launch *launch = &prepared->lowered.launch[l];
        if (launch->gathers || launch->mixed)
            return !dcli_program_has(kernel->program, (int)(launch->mixed ? DCLI_VARIANT_MIXED : launch->variant));
    }
    return false;
}

/* Whether a batch cannot be launched yet: its tables are in use, it needs what another batch writes, or its program is to be built
 * again while its kernels run. */
static bool must_wait(dcli_worker *worker, const dcli_running *running, const dcli_prepared *prepared)
{
    const dcli_kernel *kernel = running->job.entry->kernel;
    return prepared == NULL || dcli_pending_batch_must_wait(worker, &running->job, &prepared->lowered) ||
           (lacks_kernels(kernel, prepared) && is_running(worker->as_node, kernel));
}

/* Build the program of a body again, with the kernels that gather or mix. Its kernels must not be running. */
static dcl_status build_gathering(dcli_worker *worker, dcli_kernel *kernel)
{
    dcli_program_release(kernel->program);
    kernel->program = NULL;
    kernel->gathers = true;
    return dcli_exec_build(worker, kernel);
}

/* ---- chunks for other nodes --------------------------------------------------------------------------------------- */

static dcl_status make_chunks(dcli_worker *worker, const dcli_job *job)
{
    const dcli_batch *batch = job->batch;
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++) {
        const dcli_chunk *chunk = &job->plan->chunk[c];
        dcli_stored_chunk *made = dcli_chunks_add(job->made, chunk->peer, job->entry->operation.number, true, c);
        if (made == NULL || (made->bytes = dcli_buffers_take(worker->terms.buffers, (size_t)chunk->bytes)) == NULL)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

static bool is_memory_at(const dcli_memory *memory, const dcli_memory_place *place)
{
    return place->host != NULL ? dcli_memory_host(memory) == place->host : dcli_memory_is_import(memory, place);
}

dcl_status dcli_exec_peer_memory(dcli_worker *worker, dcli_known_storage *held, int node, dcli_memory **memory_out)
{
    dcli_device *device = worker->as_node->device;
    size_t bytes = dcli_known_storage_bytes(held, node);
    dcli_memory_place place;
    bool peers = dcli_device_reads_peers(device),
         found = dcli_address_table_get(worker->terms.addresses, held->id, node, bytes, &place) &&
                 (place.host == NULL) == peers;
    if (!found && peers)
        return DCLI_FAIL(DCL_ERR_NOMEM,
                         "node %d has no part of storage %" PRId64
                         " that can be read here; DCL_LOG=warn says why its GPU "
                         "has no such memory for it; use smaller arrays or more nodes, raise the limit of open files "
                         "(ulimit -n), or set DCL_TRANSFER to \"slots\"",
                         node, held->id);
    if (!found)
        return DCLI_FAIL(DCL_ERR_NOMEM,
                         "node %d has no part of storage %" PRId64 " that can be read here: " DCLI_NO_ROOM, node,
                         held->id);
    if (held->peer == NULL &&
        (held->peer = dcli_calloc((size_t)worker->terms.node_count, sizeof(dcli_memory *))) == NULL)
        return DCL_ERR_NOMEM;
    if (held->peer[node] != NULL && !is_memory_at(held->peer[node], &place)) {
        dcli_memory_release(held->peer[node]);
        held->peer[node] = NULL;
    }
    dcl_status status = DCL_OK;
    if (held->peer[node] == NULL)
        status = peers ? dcli_memory_import(device, &place, bytes, &held->peer[node])
                       : dcli_memory_wrap(device, place.host, bytes, &held->peer[node]);
    *memory_out = held->peer[node];
    return status;
}

dcl_status dcli_exec_launch(dcli_worker *worker, dcli_kernel *kernel, dcli_variant variant, int count,
                            const dcli_argument arguments[], int dimensions, const size_t global[],
                            const size_t local[])
{
    dcl_status status = dcli_device_launch(worker->as_node->device, kernel->program, variant, count, arguments,
                                           dimensions, global, local, NULL);
    dcli_watch_tick(worker->terms.watch);
    return status;
}

/* How many work-items, or groups of a GPU, can have partial results of their own. In keyed reductions all change the same. */
static int64_t partial_slots(const dcli_worker *worker, const dcli_entry *entry)
{
    const dcli_body *body = entry->operation.body;
    if (body->keyed)
        return dcli_device_is_gpu(worker->as_node->device) ? DCLI_GROUP_SLOTS : DCLI_PARTIAL_SLOTS;
    return dcli_layout_owned(entry->held[body->partials]->shared->layout, worker->terms.self) /
           dcli_slot_longs(body->result_count);
}

/* How many groups of a GPU reduce. They share the tiles, however many they are. As many as run at a time read as fast as more of
 * them, and the last one merges what each leaves. Sums and several results take more registers, so that fewer groups run. */
static size_t reducing_groups(const dcli_worker *worker, const dcli_entry *entry)
{
    enum { GROUPS_PER_UNIT = 4, LARGE_GROUPS_PER_UNIT = 2 };
    const dcli_body *body = entry->operation.body;
    int64_t slots = partial_slots(worker, entry), units = dcli_device_about(worker->as_node->device)->compute_units;
    if (body->keyed)
        return (size_t)slots;
    bool large = body->result_count > 1 || dcli_fold_is_summed(body, 0);
    return (size_t)dcli_min(slots - DCLI_GROUPS_FROM, (large ? LARGE_GROUPS_PER_UNIT : GROUPS_PER_UNIT) * units);
}

/* Set the arguments that only dcl_mixed has: the memory of the rows that read a peer's part. */
static dcl_status set_mixed(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch,
                            dcli_argument arguments[], int *count)
{
    const dcli_body *body = entry->operation.body;
    for (int a = 0; a < body->access_count; a++) {
        if (!dcli_body_may_mix(body, a))
            continue;
        dcli_memory *memory = arguments[a].memory;
        dcl_status status =
            launch->there[a].kind == DCLI_SPACE_PEER
                ? dcli_exec_peer_memory(worker, entry->held[body->access[a].param], launch->there[a].number, &memory)
                : DCL_OK;
        if (status != DCL_OK)
            return status;
        arguments[(*count)++] = (dcli_argument){.memory = memory};
    }
    return DCL_OK;
}

/* Set the kernel arguments in the order of kernel/body.h, without the row or table. */
static dcl_status set_arguments(dcli_worker *worker, const dcli_job *job, const dcli_launch *launch, dcli_memory *arena,
                                dcli_own_scalar scalars[], dcli_argument arguments[], int *count_out)
{
    const dcli_entry *entry = job->entry;
    const dcli_body *body = entry->operation.body;
    int count = 0;
    for (int a = 0; a < body->access_count; a++) {
        dcli_known_storage *held = entry->held[body->access[a].param];
        dcli_memory *memory = launch->space[a].kind == DCLI_SPACE_STAGE ? arena : held->memory;
        if (memory == NULL)
            memory = worker->as_node->nothing; /* the kernel accesses none of its elements */
        dcl_status status = DCL_OK;
        if (launch->space[a].kind == DCLI_SPACE_PEER)
            status = dcli_exec_peer_memory(worker, held, launch->space[a].number, &memory);
        else if (launch->space[a].kind == DCLI_SPACE_REPLICA)
            status = dcli_exec_replica(worker, entry, &job->plan->stage[launch->space[a].number], &memory);
        if (status != DCL_OK)
            return status;
        arguments[count++] = (dcli_argument){.memory = memory, .written = body->access[a].written};
    }
    dcl_status mixed = launch->mixed ? set_mixed(worker, entry, launch, arguments, &count) : DCL_OK;
    if (mixed != DCL_OK)
        return mixed;
    for (int n = 0; n < dcli_body_partial_arrays(body); n++) {
        const dcli_known_storage *held = entry->held[body->partials + n];
        int64_t slots = dcli_device_is_gpu(worker->as_node->device) ? DCLI_GROUPS_FROM + 1 : 1;
        int64_t least = body->keyed ? dcli_keyed_room(body, n, entry->operation.value)
                                    : slots * dcli_slot_longs(body->result_count);
        dcli_memory *partials = held->memory;
        if (partials == NULL || least < 0 || dcli_layout_owned(held->shared->layout, worker->terms.self) < least)
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has no room for the partial results of node %d",
                             entry->operation.number, worker->terms.self);
        arguments[count++] = (dcli_argument){.memory = partials, .written = true};
    }
    for (int k = 0; k < body->param_count; k++)
        if (body->params[k].access == DCL_ACCESS_VALUE) {
            dcli_scalar_narrow(body->params[k].type, entry->operation.value[k], &scalars[k]);
            arguments[count++] = (dcli_argument){.value = &scalars[k], .bytes = dcl_type_bytes(body->params[k].type)};
        }
    *count_out = count;
    return DCL_OK;
}

/* NULL as the argument of a parameter that the kernel does not use. Drivers do some work for every buffer of a launch. */
static dcli_argument no_memory(void)
{
    static void *const none = NULL;
    return (dcli_argument){.value = &none, .bytes = sizeof none};
}

/* Launch a tile kernel once per row. */
static dcl_status launch_tiles(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch,
                               dcli_argument arguments[], int count)
{
    dcli_argument report = arguments[count];
    int length = dcli_row_length(entry->operation.body);
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < launch->row_count && status == DCL_OK; r++) {
        const int64_t *row = launch->row + r * length;
        arguments[count] = (dcli_argument){.value = row, .bytes = (size_t)length * sizeof(int64_t)};
        arguments[count + 1] = report;
        worker->counters.launches++;
        status = dcli_tile_launch(worker, entry->kernel, launch->variant, row, count + 2, arguments);
    }
    return status;
}

/* Launch one row, whose numbers are all arguments. */
static dcl_status launch_one(dcli_worker *worker, const dcli_entry *entry, const int64_t row[],
                             dcli_argument arguments[], int count)
{
    const dcli_body *body = entry->operation.body;
    dcli_launch_size size =
        dcli_body_launch_size(body, DCLI_VARIANT_UNIT, row + dcli_row_at(body, DCLI_ROW_COUNT, 0), 1, false);
    arguments[count + 1] = arguments[count]; /* the report of accesses outside is the last argument */
    arguments[count] = (dcli_argument){.value = row, .bytes = (size_t)dcli_row_length(body) * sizeof(int64_t)};
    worker->counters.launches++;
    return dcli_exec_launch(worker, entry->kernel, DCLI_VARIANT_ONE, count + 2, arguments, size.dimensions, size.global,
                            size.local);
}

/* Launch a set of rows: one launch, unless it has more rows than a launch can have. */
static dcl_status launch_set(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch, int64_t s,
                             dcli_memory *table, dcli_argument arguments[], int count)
{
    const dcli_body *body = entry->operation.body;
    dcli_argument report = arguments[count];
    const int64_t *row = launch->row + s * dcli_row_length(body);
    dcli_variant variant = launch->mixed ? DCLI_VARIANT_MIXED : launch->variant;
    if (launch->set[s].count == 1 && !launch->mixed && launch->variant == DCLI_VARIANT_UNIT && dcli_body_has_one(body))
        return launch_one(worker, entry, row, arguments, count);
    const dcli_row_set *set = &launch->set[s];
    dcl_status status = DCL_OK;
    for (int64_t done = 0; done < set->count && status == DCL_OK;) {
        bool alone = set->count == 1; /* a set of one row runs from `row`, not from the table; `first` is then always 0,
                                because setting an argument to the same value costs nothing */
        dcli_launch_size size = dcli_body_launch_size(body, launch->variant, row + dcli_row_at(body, DCLI_ROW_COUNT, 0),
                                                      set->count - done, !alone);
        if (dcli_body_is_reduced(body))
            size.global[0] = dcli_min(size.global[0], reducing_groups(worker, entry) * size.local[0]);
        uint32_t first = alone ? 0 : (uint32_t)(set->first + done), rows = (uint32_t)size.rows;
        arguments[count] = (dcli_argument){.value = row, .bytes = (size_t)dcli_row_length(body) * sizeof(int64_t)};
        arguments[count + 1] = (dcli_argument){.memory = table != NULL ? table : worker->as_node->nothing};
        arguments[count + 2] = (dcli_argument){.value = &first, .bytes = sizeof first};
        arguments[count + 3] = (dcli_argument){.value = &rows, .bytes = sizeof rows};
        arguments[count + 4] = (dcli_argument){.value = &size.each, .bytes = sizeof size.each};
        arguments[count + 5] = report;
        worker->counters.launches++;
        status = dcli_exec_launch(worker, entry->kernel, variant, count + 6, arguments, size.dimensions, size.global,
                                  size.local);
        done += size.rows;
    }
    return status;
}

/* Launch all rows at once, from a table that work-items share. @param table  NULL: kernels read the rows in host
 * memory, at launch->row. */
static dcl_status launch_table(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch,
                               dcli_memory *table, dcli_argument arguments[], int count)
{
    size_t global = dcli_device_items(worker->as_node->device, (size_t)launch->row_count), local = 1;
    if (dcli_body_is_reduced(entry->operation.body))
        global = (size_t)dcli_min((int64_t)global, partial_slots(worker, entry));
    uint64_t at = table == NULL ? (uintptr_t)launch->row : 0;
    dcli_claims_turn turn = dcli_claims_begin(&worker->as_node->claims, entry->operation.body, launch->row_count);
    arguments[count + 5] = arguments[count]; /* the report of accesses outside is the last argument */
    arguments[count] = table != NULL ? (dcli_argument){.memory = table} : no_memory();
    arguments[count + 1] = (dcli_argument){.value = &at, .bytes = sizeof at};
    arguments[count + 2] = (dcli_argument){.value = &launch->row_count, .bytes = sizeof launch->row_count};
    arguments[count + 3] = (dcli_argument){.value = &turn.at, .bytes = sizeof turn.at};
    arguments[count + 4] = (dcli_argument){.value = &turn.number, .bytes = sizeof turn.number};
    worker->counters.launches++;
    return dcli_exec_launch(worker, entry->kernel, launch->streams ? DCLI_VARIANT_STREAMED : launch->variant, count + 6,
                            arguments, 1, &global, &local);
}

/* Start the products of a launch. */
static dcl_status launch_products(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch,
                                  const dcli_argument arguments[])
{
    const dcli_body *body = entry->operation.body;
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < launch->row_count && status == DCL_OK; r++) {
        dcli_matrix_product product;
        dcli_memory *matrix[DCLI_PRODUCT_MATRICES];
        int access[DCLI_PRODUCT_MATRICES];
        dcli_row_product(body, launch->row + r * dcli_row_length(body), &product, access); /* it was one when lowered */
        product.scale = dcli_product_scale(body, entry->operation.value);
        for (int n = 0; n < DCLI_PRODUCT_MATRICES; n++)
            matrix[n] = arguments[access[n]].memory;
        worker->counters.launches++;
        status = dcli_device_multiply(worker->as_node->device, &product, matrix);
        dcli_watch_tick(worker->terms.watch);
    }
    return status;
}

/* Launch the rows of a launch. @param arguments  [count + 1] with room for more: the last one is the report. */
static dcl_status launch_rows(dcli_worker *worker, const dcli_entry *entry, const dcli_launch *launch,
                              dcli_memory *table, dcli_argument arguments[], int count)
{
    dcl_status status = DCL_OK;
    if (launch->multiplies)
        return launch_products(worker, entry, launch, arguments);
    if (entry->operation.body->tile_kernel)
        return launch_tiles(worker, entry, launch, arguments, count);
    if (launch->set_count == 0)
        return launch_table(worker, entry, launch, table, arguments, count);
    dcli_argument report = arguments[count];
    for (int64_t s = 0; s < launch->set_count && status == DCL_OK; s++) {
        arguments[count] = report;
        status = launch_set(worker, entry, launch, s, table, arguments, count);
    }
    return status;
}

/* How many times to launch a batch: once, unless a test makes this node slow. A body that reads elements which it also writes
 * cannot be repeated. */
static int64_t times_to_launch(const dcli_as_node *own, const dcli_body *body)
{
    if (dcli_body_is_reduced(body))
        return 1;
    for (int a = 0; a < body->access_count && own->slow_times > 0; a++)
        if (body->access[a].read && body->access[a].written)
            return 1;
    return dcli_max(own->slow_times, 1);
}

static dcl_status launch_all(dcli_worker *worker, const dcli_prepared *prepared, dcli_running *running)
{
    dcli_as_node *own = worker->as_node;
    dcli_entry *entry = running->job.entry;
    dcli_own_scalar scalars[DCLI_MAX_PARAMS];
    dcli_argument arguments[2 * DCLI_MAX_ACCESSES + DCLI_MAX_PARAMS + 7];
    dcl_status status = DCL_OK;
    bool in_place = dcli_device_in_place(own->device);
    int64_t launches = prepared->lowered.launch_count, all = launches * times_to_launch(own, entry->operation.body);
    dcli_device_measure(own->device, running->elements > 0 ? running->sum : -1);
    for (int64_t n = 0; n < all && status == DCL_OK; n++) {
        int64_t l = n % launches;
        const dcli_launch *launch = &prepared->lowered.launch[l];
        int count = 0;
        status = set_arguments(worker, &running->job, launch, running->arena, scalars, arguments, &count);
        if (status != DCL_OK)
            break;
        dcli_argument none = in_place ? no_memory() : (dcli_argument){.memory = own->nothing};
        arguments[count] = running->report != NULL ? (dcli_argument){.memory = running->report, .written = true} : none;
        status = launch->gathers ? dcli_gather_launch(worker, entry, prepared, l, arguments, count)
                                 : launch_rows(worker, entry, launch, prepared->table[l], arguments, count);
    }
    dcli_device_measure(own->device, -1);
    running->ticket = dcli_device_launched(own->device);
    return status;
}

/* Whether kernels of this batch may report a stray access. */
static bool may_report(const dcli_body *body, const dcli_lowered *lowered)
{
    for (int64_t l = 0; l < lowered->launch_count; l++)
        if (lowered->launch[l].variant == DCLI_VARIANT_CHECKED)
            return true;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE && !body->tile_kernel)
            return true;
    return body->keyed;
}

static void give_back_cut(dcli_worker *worker, dcli_cached_plan *cached, const dcli_body *body, bool stale,
                          dcli_prepared *prepared)
{
    int cuts = prepared->cuts + stale;
    dcli_plans_add(&worker->catalog.plans, cached, -dcli_lowered_bytes(&prepared->lowered, body));
    dcli_prepared_clear(prepared);
    prepared->cuts = cuts;
}

/* Whether a running batch still uses the prepared tables of this batch: another operation may have the same plan. */
static bool is_in_use(const dcli_worker *worker, const dcli_running *batch)
{
    const dcli_as_node *own = worker->as_node;
    for (int64_t r = own->running_first; r < own->running_count; r++)
        if (own->running[r].job.plan == batch->job.plan && own->running[r].batch == batch->batch)
            return true;
    return false;
}

/* Whether the prepared tables of a launch can be used now: they have no more batches than can start, and about as many as
 * wanted, unless the tables cannot be replaced now. */
static bool suits(const dcli_prepared *prepared, int64_t wanted, int64_t possible, bool in_use)
{
    return prepared->count <= possible && (in_use || (2 * prepared->count >= wanted && prepared->count <= 2 * wanted));
}

/* Prepare a batch, to be launched together with those that follow it: `count` in all. */
static dcl_status prepare(dcli_worker *worker, const dcli_running *running, int64_t count, dcli_prepared *prepared)
{
    const dcli_job *job = &running->job;
    const dcli_plan *plan = job->plan;
    const dcli_batch *last = job->batch + count - 1;
    dcli_batch joined = *job->batch;
    dcli_plan alike = *plan;
    prepared->first = running->batch;
    prepared->count = count;
    if (count == 1)
        return dcli_exec_prepare(worker, job->entry, plan, job->batch, prepared);
    dcli_work *works = dcli_malloc((size_t)(last->first_work + last->work_count - joined.first_work) * sizeof *works);
    if (works == NULL)
        return DCL_ERR_NOMEM;
    joined.work_count = dcli_plan_join(&job->entry->operation, plan, running->batch, count, works);
    joined.first_work = 0;
    alike.work = works;
    dcl_status status = dcli_exec_prepare(worker, job->entry, &alike, &joined, prepared);
    dcli_free(works);
    return status;
}

/* Find the cached tables of a batch, and the plan that caches them. */
static dcl_status find_prepared(dcli_worker *worker, const dcli_running *running, dcli_cached_plan **cached_out,
                                dcli_prepared **prepared_out)
{
    const dcli_borrowed *borrowed = running->job.borrowed;
    if (borrowed != NULL) {
        *cached_out = borrowed->plan;
        *prepared_out = &borrowed->loan->prepared;
        return DCL_OK;
    }
    dcli_cached_plan *cached = *cached_out = dcli_entry_plan(running->job.entry, worker->terms.self);
    if (cached->prepared == NULL) {
        cached->prepared = dcli_calloc((size_t)cached->plan->batch_count, sizeof *cached->prepared);
        if (cached->prepared == NULL)
            return DCL_ERR_NOMEM;
        dcli_plans_add(&worker->catalog.plans, cached, cached->plan->batch_count * (int64_t)sizeof *cached->prepared);
    }
    *prepared_out = &cached->prepared[running->batch];
    return DCL_OK;
}

/* Get the prepared tables of a batch and of those that are launched with it. *prepared_out is NULL if they must be replaced,
 * but a running batch still uses them. */
static dcl_status get_prepared(dcli_worker *worker, const dcli_running *running, dcli_prepared **prepared_out)
{
    dcli_entry *entry = running->job.entry;
    dcli_cached_plan *cached;
    dcl_status status = find_prepared(worker, running, &cached, prepared_out);
    if (status != DCL_OK)
        return status;
    bool ready = (*prepared_out)->ready, in_use = ready && is_in_use(worker, running);
    bool stale = ready && dcli_exec_cut_is_stale(worker, entry->kernel, *prepared_out);
    int64_t possible = 1, wanted = 1;
    if (running->job.borrowed == NULL)
        wanted = dcli_window_share(worker, entry, running->batch, &possible);
    bool other = ready && !suits(*prepared_out, wanted, possible, in_use);
    if (ready && !stale && !other)
        return DCL_OK;
    if (in_use) {
        *prepared_out = NULL;
        return DCL_OK;
    }
    if (ready)
        give_back_cut(worker, cached, entry->kernel->body, stale, *prepared_out);
    dcli_watch_activity(worker->terms.watch, DCLI_PLANNING, entry->kernel->body->text);
    int64_t began_ns = dcli_trace_begin(worker);
    status = prepare(worker, running, wanted, *prepared_out);
    dcli_trace_end(worker, DCLI_TRACE_PLAN, began_ns, entry, running->batch, DCLI_TRACE_NOBODY, 0);
    dcli_watch_activity(worker->terms.watch, DCLI_PLANNING, NULL);
    if (status == DCL_OK)
        dcli_plans_add(&worker->catalog.plans, cached,
                       dcli_lowered_bytes(&(*prepared_out)->lowered, entry->kernel->body));
    return status;
}

void dcli_exec_release_arenas(dcli_as_node *own)
{
    for (int64_t r = own->running_first; r < own->running_count; r++) {
        if (own->running[r].passes != NULL)
            continue; /* the host still copies from its arena */
        dcli_memory_release(own->running[r].arena);
        own->running[r].arena = NULL;
    }
}

static dcl_status take_arena(dcli_worker *worker, const dcli_lowered *lowered, dcli_memory **arena_out)
{
    size_t bytes = (size_t)lowered->arena_bytes;
    if (bytes == 0)
        return DCL_OK;
    dcl_status status = dcli_account_check(worker, DCLI_USE_STAGES, bytes, "what a batch of a loop body stages");
    return status == DCL_OK ? dcli_memory_scratch(worker->as_node->device, bytes, arena_out) : status;
}

/* Start copying the report to the host, if it is not there already. */
static dcl_status fetch_report(dcli_as_node *own, dcli_running *running)
{
    const size_t bytes = DCLI_REPORT_LONGS * sizeof(int64_t);
    if (running->report == NULL || dcli_device_in_place(own->device))
        return DCL_OK;
    dcl_status status = dcli_slot_take(own->device, bytes, &running->report_slot);
    return status == DCL_OK ? dcli_slot_fetch(running->report_slot, running->report, 0, bytes) : status;
}

/* Copy what the batch wrote to stages on to parts and chunks. A device with memory of its own does this after the
 * kernels; otherwise the host does it when they have ended. */
static dcl_status pass(dcli_worker *worker, const dcli_lowered *lowered, dcli_running *running)
{
    if (!dcli_device_in_place(worker->as_node->device))
        return dcli_routes_pass(worker, &running->job, lowered, running->arena);
    running->passes = running->job.batch->made_count > 0 ? lowered : NULL;
    for (int64_t r = 0; r < lowered->routes.count; r++)
        if (lowered->routes.route[r].from.kind == DCLI_SPACE_STAGE) {
            running->passes = lowered;
            running->passes_to_parts |= lowered->routes.route[r].to.kind != DCLI_SPACE_CHUNK;
        }
    return DCL_OK;
}

/* The last of the device's commands that read the chunks of a batch; 0: there is none. */
static uint64_t last_crossing(const dcli_running *running)
{
    const dcli_job *job = &running->job;
    uint64_t last = 0;
    for (int64_t c = job->batch->first_chunk; c < job->batch->first_chunk + job->batch->chunk_count; c++) {
        const dcli_stored_chunk *chunk =
            dcli_chunks_find(job->received, job->plan->chunk[c].peer, running->operation, false, c);
        if (chunk != NULL && chunk->crossing > last)
            last = chunk->crossing;
    }
    return last;
}

/* Copy the inputs of a batch to its stages. */
static dcl_status fill(dcli_worker *worker, const dcli_prepared *prepared, dcli_running *running)
{
    const dcli_job *job = &running->job;
    const dcli_entry *entry = job->entry;
    const dcli_lowered *lowered = &prepared->lowered;
    dcl_status status = take_arena(worker, lowered, &running->arena);
    if (status == DCL_OK && may_report(entry->operation.body, lowered))
        status = dcli_exec_take_report(worker->as_node, &running->report);
    int64_t copied = worker->counters.bytes_copied,
            began_ns = job->batch->stage_count > 0 ? dcli_trace_begin(worker) : 0;
    if (status == DCL_OK)
        status = dcli_exec_fill_stages(worker, job, lowered->stage_at, &lowered->routes, running->arena);
    dcli_trace_end(worker, DCLI_TRACE_STAGE, began_ns, entry, running->batch, DCLI_TRACE_NOBODY,
                   worker->counters.bytes_copied - copied);
    running->crossing = last_crossing(running);
    return status == DCL_OK ? dcli_gather_start(worker, entry, lowered, running->arena) : status;
}

static dcl_status launch(dcli_worker *worker, const dcli_prepared *prepared, dcli_running *running)
{
    const dcli_job *job = &running->job;
    const dcli_entry *entry = job->entry;
    running->traced = worker->terms.trace != NULL ? dcli_trace_launch(worker) : NULL;
    dcl_status status = launch_all(worker, prepared, running);
    if (__builtin_expect(running->traced != NULL, 0)) {
        running->traced->launches = worker->counters.launches - running->traced->launches;
        dcli_trace_end(worker, DCLI_TRACE_LAUNCH, running->traced->launched_ns, entry, running->batch,
                       DCLI_TRACE_NOBODY, 0);
    }
    if (status == DCL_OK)
        status = fetch_report(worker->as_node, running);
    if (status == DCL_OK)
        status = make_chunks(worker, job);
    if (status == DCL_OK)
        status = pass(worker, &prepared->lowered, running);
    return status;
}

/* Count a batch, and those that are launched with it, as running. If its kernels read nothing of peers, these need not wait
 * for its end. */
static dcl_status note_runs(dcli_worker *worker, const dcli_running *running, const dcli_prepared *prepared)
{
    if (running->job.borrowed != NULL)
        return DCL_OK;
    dcli_node_run_more(worker->node, running->operation, running->batch, running->more);
    if (running->status == DCL_OK && !prepared->lowered.reads_peers && worker->terms.node_count > 1)
        return dcli_node_batches_read(worker->node, running->operation, running->batch, 1 + running->more);
    return DCL_OK;
}

/* Send watermarks (MARKS) for which peers may be waiting. This is done before a launch, because a kernel that computes on all
 * processors can keep this thread from running until it ends. */
static void tell_peers(dcli_worker *worker)
{
    dcl_status status = DCL_OK;
    dcli_action marks;
    while (status == DCL_OK && dcli_node_next_marks(worker->node, &marks))
        status = dcli_perform(worker, &marks);
    if (status != DCL_OK)
        dcli_break_down(worker, status);
}

/* Fill the stages of a batch, and launch its kernels. running->status gets the status of the batch. @return the status of
 * the node. */
static dcl_status start(dcli_worker *worker, const dcli_prepared *prepared, dcli_running *running)
{
    running->status = fill(worker, prepared, running);
    dcl_status status = note_runs(worker, running, prepared);
    if (worker->terms.node_count > 1)
        tell_peers(worker);
    if (running->status == DCL_OK)
        running->status = launch(worker, prepared, running);
    if (running->status != DCL_OK) { /* the batch counts as running: some of its kernels may have been started */
        if (running->job.borrowed == NULL)
            dcli_keep_problem(running->job.entry);
        running->ticket = dcli_device_launched(worker->as_node->device);
        running->passes = NULL;
    }
    return status;
}

/* Append a batch to the list of running ones. */
static void add_running(dcli_worker *worker, const dcli_running *running)
{
    dcli_as_node *own = worker->as_node;
    own->running[own->running_count++] = *running;
    own->window_parts += dcli_window_is_part(running);
    dcli_window_moved(worker, own->running_count - own->running_first == 1);
}

/* Whether a launch has borrowed batches, or only some of the batches of an operation that was cut so that batches can
 * be lent. The times of these launches decide how many batches are lent, and costs may differ from part to part. */
static bool is_part(const dcli_running *running)
{
    return running->job.borrowed != NULL ||
           (running->job.plan->batch[running->batch].fine && running->more + 1 < running->job.plan->fine_count);
}

/* Predicted time of a launch; 0: it is not known. */
static int64_t predict(const dcli_worker *worker, const dcli_running *running, const dcli_prepared *prepared)
{
    if (running->job.borrowed != NULL && running->job.borrowed->expected_ns > 0)
        return running->job.borrowed->expected_ns;
    if (is_part(running) && running->job.borrowed == NULL)
        return (int64_t)dcli_exec_batches_ns(worker, running->job.entry, running->batch, 1 + running->more);
    return (int64_t)dcli_exec_elements_ns(worker, running->job.entry->kernel, prepared->elements);
}

/* A sum of the device that no running batch uses. @return -1: there is none. */
static int free_sum(const dcli_as_node *own)
{
    int sum = 0;
    while (sum < DCLI_MEASURES && (own->measuring & (1u << sum)) != 0)
        sum++;
    return sum < DCLI_MEASURES ? sum : -1;
}

/* Launch a batch that is not in a series. */
static dcl_status launch_alone(dcli_worker *worker, dcli_prepared *prepared, dcli_running *running)
{
    dcli_as_node *own = worker->as_node;
    const dcli_body *body = running->job.entry->kernel->body;
    bool first = own->running_first == own->running_count;
    dcli_exec_watch_beside(worker, 0);
    dcli_watch_announce(worker->terms.watch, DCLI_COMPUTING, body->text);
    dcli_watch_kernel(worker->terms.watch, DCLI_COMPUTING, dcli_exec_only_kernel(own, running->kernel));
    dcl_status status = start(worker, prepared, running);
    own->passing += running->passes != NULL && running->passes_to_parts;
    add_running(worker, running);
    own->measuring |= running->elements > 0 ? 1u << running->sum : 0;
    if (first) /* after start(), so that a driver that hangs in starting a kernel counts as silent */
        dcli_watch_activity(worker->terms.watch, DCLI_COMPUTING, body->text);
    return status;
}

static dcl_status run_job(dcli_worker *worker, const dcli_job *job, int64_t batch, dcli_start *start_out)
{
    dcli_as_node *own = worker->as_node;
    dcli_entry *entry = job->entry;
    dcli_prepared *prepared;
    dcli_running running = {
        .job = *job, .operation = entry->operation.number, .batch = batch, .kernel = entry->kernel->number};
    dcl_status status = dcli_exec_build(worker, entry->kernel);
    if (status == DCL_OK)
        status = get_prepared(worker, &running, &prepared);
    if (status == DCL_OK &&
        dcli_grow(&own->running, own->running_count, &own->running_capacity, sizeof *own->running) != 0)
        status = DCL_ERR_NOMEM;
    if (status != DCL_OK)
        return status;
    if (prepared != NULL)
        running.more = prepared->count - 1;
    own->delays = prepared != NULL && own->slow_times == 0 && job->borrowed == NULL &&
                  dcli_series_delays(worker, &running, prepared);
    if (own->delays) {
        *start_out = DCLI_START_NOT_YET;
        return DCL_OK;
    }
    if (prepared != NULL && dcli_window_lends(worker))
        running.expected_ns = predict(worker, &running, prepared);
    bool joins = prepared != NULL && own->slow_times == 0 && job->borrowed == NULL &&
                 dcli_series_joins(worker, &running, prepared);
    running.sum = free_sum(own);
    bool timed =
        prepared != NULL && prepared->elements > 0 &&
        (is_part(&running) ? running.sum >= 0 : own->measuring == 0 && dcli_cost_due(&entry->kernel->cost, joins));
    *start_out = DCLI_START_RUNS;
    if (joins && !timed && dcli_series_add(worker, &running, prepared)) {
        running.in_series = true;
        add_running(worker, &running);
        return note_runs(worker, &running, prepared);
    }
    dcli_series_launch(worker);
    if (must_wait(worker, &running, prepared)) {
        *start_out = DCLI_START_NOT_YET;
        return DCL_OK;
    }
    bool done = false;
    if (dcli_combine_is_possible(worker, job, prepared))
        status = dcli_combine_run(worker, job, prepared, &done);
    if (done || status != DCL_OK) {
        *start_out = DCLI_START_ENDED;
        return status;
    }
    if (lacks_kernels(entry->kernel, prepared) && (status = build_gathering(worker, entry->kernel)) != DCL_OK)
        return status;
    if (timed) {
        running.elements = prepared->elements;
        running.units = prepared->units;
    }
    return launch_alone(worker, prepared, &running);
}

dcl_status dcli_exec_forall(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out)
{
    const dcli_job job = dcli_own_job(worker, entry, batch);
    return run_job(worker, &job, batch, start_out);
}

dcl_status dcli_exec_borrowed(dcli_worker *worker, dcli_borrowed *borrowed, dcli_start *start_out)
{
    const dcli_plan *plan = borrowed->loan->loan->plan;
    const dcli_job job = {.entry = borrowed->entry,
                          .plan = plan,
                          .batch = &plan->batch[0],
                          .received = &borrowed->received,
                          .made = &borrowed->made,
                          .borrowed = borrowed};
    return run_job(worker, &job, borrowed->batch, start_out);
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

static dcli_stored_chunk *find_made(const dcli_running *running, int64_t number)
{
    const dcli_job *job = &running->job;
    return dcli_chunks_find(job->made, job->plan->chunk[number].peer, running->operation, true, number);
}

bool dcli_exec_has_fetched(const dcli_running *running)
{
    dcl_status status;
    const dcli_batch *batch = running->job.batch;
    bool all = running->report_slot == NULL || dcli_slot_is_complete(running->report_slot, &status);
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count && all; c++) {
        const dcli_stored_chunk *made = find_made(running, c);
        all = made == NULL || made->slot == NULL || dcli_slot_is_complete(made->slot, &status);
    }
    return all;
}

/* Copy finished chunks from their slots to buffers, so that the slots are free for others before the peers take the
 * chunks. If the batch has failed, the chunks are sent without data. */
static dcl_status take_made(dcli_worker *worker, const dcli_running *running, dcl_status status)
{
    const dcli_batch *batch = running->job.batch;
    const dcli_plan *plan = running->job.plan;
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++) {
        dcli_stored_chunk *made = find_made(running, c);
        if (made == NULL || made->slot == NULL)
            continue;
        if (status == DCL_OK)
            dcli_slot_is_complete(made->slot, &status);
        if (status == DCL_OK && dcli_peer_sees_slots(worker, made->peer) && dcli_slot_lend(made->slot)) {
            dcli_buffers_give(made->bytes);
            made->bytes = NULL;
            continue; /* the data is sent from the slot, without a copy */
        }
        if (made->bytes == NULL)
            made->bytes = dcli_slot_leave(made->slot); /* the device has written directly into the message's memory */
        else if (status == DCL_OK)
            dcli_helpers_copy(worker->process_data->helpers, made->bytes, dcli_slot_host(made->slot),
                              (size_t)plan->chunk[c].bytes);
        dcli_slot_give(made->slot);
        made->slot = NULL;
    }
    return status;
}

dcl_status dcli_exec_end_forall(dcli_worker *worker, dcli_running *running)
{
    dcl_status status = dcli_device_outcome(worker->as_node->device, running->ticket);
    dcl_status taken = take_made(worker, running, status == DCL_OK ? running->status : status);
    if (status == DCL_OK && running->status == DCL_OK)
        status = taken;
    int64_t copied = worker->counters.bytes_copied, began_ns = running->passes != NULL ? dcli_trace_begin(worker) : 0;
    if (status == DCL_OK && running->passes != NULL)
        status = dcli_routes_pass(worker, &running->job, running->passes, running->arena);
    dcli_trace_end(worker, DCLI_TRACE_PASS, began_ns, running->job.entry, running->batch, DCLI_TRACE_NOBODY,
                   worker->counters.bytes_copied - copied);
    if (status != DCL_OK && running->job.borrowed == NULL)
        dcli_keep_problem(running->job.entry);
    running->status = running->status != DCL_OK ? running->status : status;
    if (dcli_exec_end_report(worker, running) && running->job.borrowed != NULL)
        running->status = DCL_ERR_RANGE; /* the victim will run the batch again, and report the access */
    worker->as_node->passing -= running->passes != NULL && running->passes_to_parts;
    assert(worker->as_node->passing >= 0);
    dcli_pending_update_hold(worker);
    dcli_slot_give(running->report_slot);
    dcli_memory_release(running->arena);
    return running->status;
}

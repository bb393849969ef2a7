/* worker/exec_prepare.c - prepare a batch of a loop body: lower it, and copy its tables to the device. */
#include "worker/exec_prepare.h"

#include <sched.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/product.h"
#include "worker/account.h"
#include "worker/log_plan.h"
#include "worker/plans.h"

dcli_traits dcli_exec_traits(const dcli_worker *worker)
{
    /* Elements of a strip per compute unit: a quarter of the work-groups that an H200 runs at a time. */
    enum { NEAR_BYTES = 128 << 10, STRIP_PER_UNIT = 2048 };
    const dcli_device *device = worker->as_node->device;
    return (dcli_traits){.self = worker->terms.self,
                         .is_gpu = dcli_device_is_gpu(device),
                         .in_place = dcli_device_in_place(device),
                         .reads_peers = dcli_device_reads_peers(device),
                         .same_addresses = dcli_device_same_addresses(device),
                         .check_access = worker->terms.check_access,
                         .compute_units = dcli_device_about(device)->compute_units,
                         .near_bytes = NEAR_BYTES,
                         .strip_elements = (int64_t)STRIP_PER_UNIT * dcli_device_about(device)->compute_units,
                         .shares = (int64_t)dcli_device_shares(device)};
}

/* Whether a library multiplies matrices on this node. Worker processes of one program on one host divide the processors: the threads
 * of a product wait for one another, so more threads than processors would slow all products down. A program's own process keeps
 * what it has set for OpenBLAS. */
static bool multiplies(const dcli_worker *worker)
{
    dcli_device *device = worker->as_node->device;
    if (!dcli_device_multiplies(device))
        return false;
    cpu_set_t processors;
    int nodes = 0;
    if (!worker->terms.is_process || sched_getaffinity(0, sizeof processors, &processors) != 0)
        return true;
    for (int n = 0; n < worker->terms.node_count; n++)
        nodes += !worker->gone[n] && worker->terms.ways[n].group == worker->terms.ways[worker->terms.self].group;
    dcli_device_multiply_threads(dcli_max(1, CPU_COUNT(&processors) / dcli_max(1, nodes)));
    return true;
}

/* Copy a table to the device's own memory. */
static dcl_status upload(dcli_worker *worker, const int64_t table[], size_t bytes, dcli_memory **memory_out)
{
    dcl_status status = dcli_account_check(worker, DCLI_USE_STAGES, bytes, "a table of a loop body");
    if (status == DCL_OK)
        status = dcli_memory_create_private(worker->as_node->device, bytes, memory_out);
    return status == DCL_OK ? dcli_memory_put(*memory_out, 0, table, bytes) : status;
}

/* Make rows available to kernels: at their address, in place, or copied to the device; then the host's copy is freed. */
static dcl_status upload_rows(dcli_worker *worker, const dcli_body *body, dcli_launch *launch, dcli_memory **table_out)
{
    size_t bytes = (size_t)launch->row_count * (size_t)dcli_row_length(body) * sizeof(int64_t);
    if (dcli_device_same_addresses(worker->as_node->device))
        return DCL_OK;
    if (dcli_device_in_place(worker->as_node->device))
        return dcli_memory_wrap(worker->as_node->device, launch->row, bytes, table_out); /* counted with the plan */
    dcl_status status = upload(worker, launch->row, bytes, table_out);
    if (status == DCL_OK)
        dcli_launch_drop_lists(launch);
    return status;
}

/* Copy the own numbers of sets with several rows; a set of one row has them in its row. */
static dcl_status upload_sets(dcli_worker *worker, const dcli_body *body, dcli_launch *launch, dcli_memory **table_out)
{
    int own[dcli_row_length(body)];
    size_t bytes = (size_t)launch->row_count * (size_t)dcli_row_own(body, own) * sizeof(int64_t);
    dcl_status status = DCL_OK;
    if (launch->set_count < launch->row_count)
        status = upload(worker, launch->own, bytes, table_out);
    dcli_free(launch->own);
    launch->own = NULL;
    return status;
}

static dcl_status upload_gathering(dcli_worker *worker, const dcli_body *body, const dcli_lowered *lowered,
                                   dcli_launch *launch, dcli_memory **table_out)
{
    int64_t *table = NULL;
    size_t bytes = 0;
    dcl_status status = dcli_gather_table(body, lowered, launch, &table, &bytes);
    if (status == DCL_OK)
        status = upload(worker, table, bytes, table_out);
    if (status == DCL_OK)
        dcli_launch_drop_lists(launch);
    dcli_free(table);
    return status;
}

static dcl_status upload_tables(dcli_worker *worker, const dcli_traits *traits, const dcli_body *body,
                                dcli_prepared *prepared)
{
    dcli_lowered *lowered = &prepared->lowered;
    dcli_row_form form = dcli_row_form_of(traits, body);
    dcl_status status = DCL_OK;
    prepared->table = dcli_calloc((size_t)lowered->launch_count, sizeof(dcli_memory *));
    if (prepared->table == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t l = 0; l < lowered->launch_count && status == DCL_OK; l++) {
        dcli_launch *launch = &lowered->launch[l];
        if (launch->multiplies)
            continue; /* its rows are used by the host */
        if (launch->gathers)
            status = upload_gathering(worker, body, lowered, launch, &prepared->table[l]);
        else if (form == DCLI_ROWS_SETS)
            status = upload_sets(worker, body, launch, &prepared->table[l]);
        else if (form == DCLI_ROWS_TABLE)
            status = upload_rows(worker, body, launch, &prepared->table[l]);
    }
    return status;
}

/* Record what is needed to compute the cost of an element from the time of the batch. `elements` stays 0 for GPUs, tile
 * kernels and kernels that gather: their rows are not cut by cost. */
static void note_size(const dcli_traits *traits, const dcli_body *body, const dcli_plan *plan, const dcli_batch *batch,
                      dcli_prepared *prepared)
{
    const dcli_lowered *lowered = &prepared->lowered;
    int64_t rows = 0;
    bool cut = !body->tile_kernel && !traits->is_gpu;
    for (int64_t l = 0; l < lowered->launch_count; l++) {
        rows = dcli_max(rows, lowered->launch[l].row_count);
        cut &= !lowered->launch[l].gathers;
    }
    for (int64_t w = 0; w < batch->work_count && cut; w++)
        prepared->elements += dcli_box_elements(&plan->work[batch->first_work + w].box);
    prepared->units = dcli_min(rows, traits->compute_units);
    prepared->element_ns = traits->element_ns;
}

bool dcli_exec_cut_is_stale(const dcli_worker *worker, const dcli_kernel *kernel, dcli_prepared *prepared)
{
    enum { MOST_CUTS = 3 };
    int units = dcli_device_about(worker->as_node->device)->compute_units;
    if (prepared->elements == 0 || prepared->cuts >= MOST_CUTS || prepared->samples == kernel->cost.samples)
        return false;
    int64_t then = dcli_body_rows(kernel->body, prepared->elements, units, prepared->element_ns);
    int64_t now = dcli_body_rows(kernel->body, prepared->elements, units, dcli_cost_ns(&kernel->cost));
    bool stale = now >= 2 * then || then >= 2 * now;
    if (!stale)
        prepared->samples = kernel->cost.samples;
    return stale;
}

dcl_status dcli_exec_prepare(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_batch *batch, dcli_prepared *prepared)
{
    dcli_traits traits = dcli_exec_traits(worker);
    traits.element_ns = dcli_cost_ns(&entry->kernel->cost);
    traits.multiplies = dcli_body_is_product(entry->operation.body) && multiplies(worker);
    dcl_status status = dcli_lower(&entry->operation, plan, batch, &traits, &prepared->lowered);
    if (status == DCL_OK)
        dcli_log_lowered(worker, &entry->operation, prepared->first, &prepared->lowered);
    if (status == DCL_OK)
        note_size(&traits, entry->operation.body, plan, batch, prepared);
    if (status == DCL_OK)
        status = upload_tables(worker, &traits, entry->operation.body, prepared);
    if (status != DCL_OK)
        dcli_prepared_clear(prepared); /* the next attempt starts from the beginning */
    else
        prepared->ready = true;
    return status;
}

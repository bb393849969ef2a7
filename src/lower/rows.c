/* lower/prepare.c - what a batch of a loop body needs before it can run: places of its stages, rows for its kernels. */
#include "lower/rows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "lower/gather.h"
#include "lower/group.h"
#include "resmap/elements.h"
#include "worker/account.h"
#include "worker/exec_copies.h"
#include "worker/exec_tiles.h"
#include "worker/plans.h"

static int64_t stage_offset(const dcli_plan *plan, const dcli_batch *batch, const dcli_prepared *prepared,
                            const dcli_entry *entry, int stage)
{
    if (stage < 0)
        return 0;
    return prepared->stage_at[stage - batch->first_stage] /
           (int64_t)dcli_operand_bytes(entry, plan->stage[stage].operand);
}

void dcli_fill_row(const dcli_entry *entry, bool planned_only, const dcli_work *work, const dcli_binding bindings[],
                   const int64_t base[], int64_t row[])
{
    const dcli_body *body = entry->operation.body;
    int rank = body->space_rank;
    for (int m = 0; m < rank; m++) {
        row[m] = work->box.start[m];
        row[rank + m] = work->box.stride[m];
        row[2 * rank + m] = work->box.count[m];
    }
    for (int a = 0; a < body->access_count; a++) {
        const dcli_binding *binding = &bindings[a];
        const dcli_limits *limits = binding->limits;
        dcli_limits found;
        if (limits == NULL && planned_only) {
            found = dcli_limits_of(&entry->operation, a, &work->box);
            limits = &found;
        }
        dcl_grid reached = dcli_access_grid(&entry->operation, a), *grid = &reached;
        int64_t *at = row + dcli_row_access(body, a), *bounds = row + dcli_row_bounds(body, a);
        at[0] = binding->offset + base[a];
        if (body->access[a].reach == DCLI_REACH_AFFINE) {
            memcpy(at + 1, binding->step, (size_t)rank * sizeof(int64_t));
        } else {
            memcpy(at + 1, limits->low, (size_t)grid->rank * sizeof(int64_t));
            memcpy(at + 1 + grid->rank, limits->count, (size_t)grid->rank * sizeof(int64_t));
            memcpy(at + 1 + 2 * grid->rank, binding->step, (size_t)grid->rank * sizeof(int64_t));
            for (int n = 1 + 3 * grid->rank; n < dcli_row_access(body, a + 1) - dcli_row_access(body, a); n++)
                at[n] = limits->width[n - 1 - 3 * grid->rank];
        }
        for (int d = 0; d < grid->rank; d++) {
            bounds[d] = planned_only ? limits->low[d] : grid->origin[d];
            bounds[grid->rank + d] = bounds[d] + (planned_only ? limits->count[d] : grid->extent[d]);
        }
    }
}

/* Whether it matters where an access is bound to. */
static bool is_somewhere(const dcli_launch *launch, int a)
{
    return launch->kind[a] == DCLI_BIND_PEER || launch->kind[a] == DCLI_BIND_KEPT;
}

static bool are_alike(const dcli_launch *launch, const dcli_launch *other, int accesses)
{
    if (launch->variant != other->variant || launch->gathers != other->gathers)
        return false;
    for (int a = 0; a < accesses; a++)
        if (launch->kind[a] != other->kind[a] || (is_somewhere(other, a) && launch->where[a] != other->where[a]))
            return false;
    return true;
}

static int64_t *bucket_of(dcli_prepared *prepared, const dcli_launch *launch, int accesses)
{
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, 2 * (uint64_t)launch->variant + launch->gathers);
    for (int a = 0; a < accesses; a++) {
        uint64_t where = is_somewhere(launch, a) ? (uint64_t)launch->where[a] + 1 : 0;
        hash = dcli_hash_word(hash, where << 8 | (uint64_t)launch->kind[a]);
    }
    return &prepared->bucket[hash % DCLI_LAUNCH_BUCKETS];
}

dcli_launch *dcli_launch_like(dcli_prepared *prepared, const dcli_launch *like, int accesses)
{
    int64_t *bucket = bucket_of(prepared, like, accesses);
    for (int64_t l = *bucket; l > 0; l = prepared->launch[l - 1].next)
        if (are_alike(&prepared->launch[l - 1], like, accesses))
            return &prepared->launch[l - 1];
    if (dcli_grow(&prepared->launch, prepared->launch_count, &prepared->launch_capacity, sizeof *prepared->launch) != 0)
        return NULL;
    dcli_launch *launch = &prepared->launch[prepared->launch_count++];
    *launch = (dcli_launch){.variant = like->variant, .gathers = like->gathers, .next = *bucket};
    memcpy(launch->kind, like->kind, sizeof launch->kind);
    memcpy(launch->where, like->where, sizeof launch->where);
    *bucket = prepared->launch_count;
    return launch;
}

/* The launch that rows with these bindings belong to. */
static dcli_launch *launch_for(dcli_prepared *prepared, dcli_variant variant, const dcli_binding bindings[],
                               int accesses)
{
    dcli_launch like = {.variant = variant};
    for (int a = 0; a < accesses; a++) {
        like.kind[a] = bindings[a].kind;
        like.where[a] = bindings[a].where;
    }
    return dcli_launch_like(prepared, &like, accesses);
}

int64_t *dcli_next_row(dcli_launch *launch, int length)
{
    if (dcli_grow(&launch->row, launch->row_count, &launch->row_capacity, (size_t)length * sizeof(int64_t)) != 0)
        return NULL;
    return launch->row + launch->row_count++ * length;
}

static dcl_status put_row(dcli_launch *launch, int length, const int64_t row[])
{
    int64_t *next = dcli_next_row(launch, length);
    if (next == NULL)
        return DCL_ERR_NOMEM;
    memcpy(next, row, (size_t)length * sizeof *row);
    return DCL_OK;
}

/* A tile kernel has one row per work. */
static dcl_status add_tile(const dcli_worker *worker, const dcli_body *body, const dcli_work *work,
                           const dcli_binding bindings[], const int64_t base[], dcli_prepared *prepared)
{
    int length = dcli_row_length(body);
    int64_t filled[length];
    dcli_tile_fill_row(body, work, bindings, base, filled);
    dcli_variant variant = worker->terms.check_access            ? DCLI_VARIANT_CHECKED
                           : dcli_tile_row_is_unit(body, filled) ? DCLI_VARIANT_UNIT
                                                                 : DCLI_VARIANT_ANY;
    dcli_launch *launch = launch_for(prepared, variant, bindings, body->access_count);
    return launch != NULL ? put_row(launch, length, filled) : DCL_ERR_NOMEM;
}

/* Whether works are single elements that lie in no pattern: there is nothing to join, and of these there may be millions. */
static bool are_scattered(const dcli_entry *entry)
{
    const dcli_operation *operation = &entry->operation;
    return dcli_layout_is_shuffled(operation->operand[operation->body->first_output].layout);
}

/* Cut a row into such as devices are given. */
static dcl_status cut_row(dcli_worker *worker, const dcli_body *body, dcli_launch *launch, const int64_t whole[])
{
    int rank = body->space_rank, length = dcli_row_length(body);
    const int64_t *all = whole + 2 * rank;
    int64_t shape[DCL_MAX_RANK], lo[DCL_MAX_RANK] = {0}, count[DCL_MAX_RANK];
    if (dcli_volume(rank, all) == 1)
        return put_row(launch, length, whole);
    memcpy(shape, all, (size_t)rank * sizeof shape[0]);
    if (!dcli_device_is_gpu(worker->device))
        dcli_body_row_shape(body, all, dcli_device_about(worker->device)->compute_units, shape);
    for (;;) {
        int64_t *row = dcli_next_row(launch, length);
        if (row == NULL)
            return DCL_ERR_NOMEM;
        for (int m = 0; m < rank; m++)
            count[m] = dcli_min(shape[m], all[m] - lo[m]);
        dcli_row_part(body, whole, lo, count, row);
        int m = rank - 1;
        while (m >= 0 && (lo[m] += shape[m]) >= all[m])
            lo[m--] = 0;
        if (m < 0)
            return DCL_OK;
    }
}

/* Make rows of a work. @param waiting  where they stay whole, if others of the batch may join them. */
static dcl_status add_rows(dcli_worker *worker, const dcli_entry *entry, const dcli_work *work,
                           const dcli_binding bindings[], const int64_t base[], dcli_prepared *prepared,
                           dcli_prepared *waiting)
{
    const dcli_body *body = entry->operation.body;
    bool check = worker->terms.check_access, checked = work->checked || check;
    bool waits = body->blind && !checked && !are_scattered(entry);
    int length = dcli_row_length(body);
    int64_t whole[length];
    dcli_fill_row(entry, check, work, bindings, base, whole);
    dcli_variant variant = checked                                   ? DCLI_VARIANT_CHECKED
                           : !waits && dcli_row_is_unit(body, whole) ? DCLI_VARIANT_UNIT
                                                                     : DCLI_VARIANT_ANY;
    dcli_launch *launch = launch_for(waits ? waiting : prepared, variant, bindings, body->access_count);
    if (launch == NULL)
        return DCL_ERR_NOMEM;
    return waits ? put_row(launch, length, whole) : cut_row(worker, body, launch, whole);
}

/* Join the rows that wait, launch by launch, and put what they become where it belongs. */
static dcl_status join_rows(dcli_worker *worker, const dcli_body *body, dcli_prepared *waiting, dcli_prepared *prepared)
{
    dcl_status status = DCL_OK;
    for (int64_t l = 0; l < waiting->launch_count && status == DCL_OK; l++) {
        dcli_launch *launch = &waiting->launch[l];
        status = dcli_rows_join(body, false, launch->row, &launch->row_count);
        for (int64_t r = 0; r < launch->row_count && status == DCL_OK; r++) {
            const int64_t *row = launch->row + r * dcli_row_length(body);
            launch->variant = dcli_row_is_unit(body, row) ? DCLI_VARIANT_UNIT : DCLI_VARIANT_ANY;
            dcli_launch *target = dcli_launch_like(prepared, launch, body->access_count);
            status = target != NULL ? cut_row(worker, body, target, row) : DCL_ERR_NOMEM;
        }
    }
    return status;
}

/* Kernels read the rows where they are, or where the device has them: then they are not needed here any more. */
static dcl_status upload_rows(dcli_worker *worker, const dcli_body *body, dcli_launch *launch)
{
    size_t bytes = (size_t)launch->row_count * (size_t)dcli_row_length(body) * sizeof(int64_t);
    if (dcli_device_in_place(worker->device))
        return dcli_memory_wrap(worker->device, launch->row, bytes, &launch->table); /* counted with the plan */
    dcl_status status = dcli_account_check(worker, DCLI_USE_STAGES, bytes, "a table of a loop body");
    if (status == DCL_OK)
        status = dcli_memory_create_private(worker->device, bytes, &launch->table);
    if (status == DCL_OK)
        status = dcli_memory_put(launch->table, 0, launch->row, bytes);
    if (status == DCL_OK) {
        dcli_free(launch->row);
        launch->row = NULL;
    }
    return status;
}

static dcl_status upload_tables(dcli_worker *worker, const dcli_body *body, dcli_prepared *prepared)
{
    dcl_status status = DCL_OK;
    for (int64_t l = 0; l < prepared->launch_count && status == DCL_OK; l++) {
        dcli_launch *launch = &prepared->launch[l];
        if (launch->gathers)
            status = dcli_gather_upload(worker, body, prepared, launch);
        else if (!dcli_exec_row_per_launch(worker, body))
            status = upload_rows(worker, body, launch);
    }
    return status;
}

/* Stages that works which do not gather for themselves read or write. @param wanted_out  [batch->stage_count] */
static void find_wanted(const dcli_gather *gather, const dcli_plan *plan, const dcli_batch *batch, int accesses,
                        bool wanted_out[])
{
    for (int64_t w = 0; w < batch->work_count; w++) {
        const dcli_binding *bindings = &plan->binding[plan->work[batch->first_work + w].first_binding];
        for (int a = 0; a < accesses && !dcli_gather_took(gather, w); a++)
            if (bindings[a].kind == DCLI_BIND_STAGE && bindings[a].where >= 0)
                wanted_out[bindings[a].where - batch->first_stage] = true;
    }
}

/* Stages of few elements lie close together: of single elements there may be millions. */
enum { STAGE_ALIGN = 64, SMALL_STAGE = 64, ELEMENT_ALIGN = 8 };

static int64_t round_up(int64_t bytes, int64_t align) { return dcli_ceil_div(bytes, align) * align; }

/* Give stages their places in the arena, behind the addresses; those that nobody wants, or that have memory of their own,
 * get none. */
static dcl_status place_stages(const dcli_gather *gather, const dcli_plan *plan, const dcli_batch *batch,
                               const dcli_entry *entry, dcli_prepared *prepared)
{
    bool *wanted = dcli_calloc((size_t)batch->stage_count, sizeof *wanted);
    prepared->stage_at = dcli_malloc((size_t)batch->stage_count * sizeof *prepared->stage_at);
    if (prepared->stage_at == NULL || wanted == NULL) {
        dcli_free(wanted);
        return DCL_ERR_NOMEM;
    }
    find_wanted(gather, plan, batch, entry->operation.body->access_count, wanted);
    prepared->arena_bytes = dcli_gather_address_bytes(prepared);
    for (int64_t s = 0; s < batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[batch->first_stage + s];
        int64_t bytes = stage->elements * (int64_t)dcli_operand_bytes(entry, stage->operand);
        if (bytes >= SMALL_STAGE)
            prepared->arena_bytes = round_up(prepared->arena_bytes, STAGE_ALIGN);
        prepared->stage_at[s] = wanted[s] ? prepared->arena_bytes : -1;
        if (stage->kept != DCLI_STAGE_PASSING)
            prepared->stage_at[s] = 0;
        if (stage->kept != DCLI_STAGE_PASSING || !wanted[s])
            continue;
        prepared->arena_bytes += round_up(bytes, bytes < SMALL_STAGE ? ELEMENT_ALIGN : STAGE_ALIGN);
    }
    prepared->arena_bytes = round_up(prepared->arena_bytes, STAGE_ALIGN);
    dcli_free(wanted);
    return DCL_OK;
}

static dcl_status add_work(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan, const dcli_batch *batch,
                           const dcli_work *work, dcli_prepared *prepared, dcli_prepared *waiting)
{
    const dcli_body *body = entry->operation.body;
    const dcli_binding *bindings = &plan->binding[work->first_binding];
    int64_t base[DCLI_MAX_ACCESSES];
    for (int a = 0; a < body->access_count; a++)
        base[a] =
            bindings[a].kind == DCLI_BIND_STAGE ? stage_offset(plan, batch, prepared, entry, bindings[a].where) : 0;
    return body->tile_kernel ? add_tile(worker, body, work, bindings, base, prepared)
                             : add_rows(worker, entry, work, bindings, base, prepared, waiting);
}

static dcl_status make_rows(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch, dcli_prepared *prepared)
{
    dcli_prepared waiting = {0};
    dcli_gather gather;
    dcl_status status = dcli_gather_open(&gather, worker, entry, plan, batch, prepared);
    for (int64_t w = 0; w < batch->work_count && status == DCL_OK; w++)
        status = dcli_gather_add(&gather, w);
    if (status == DCL_OK)
        status = dcli_gather_end(&gather);
    if (status == DCL_OK)
        status = place_stages(&gather, plan, batch, entry, prepared);
    if (status == DCL_OK)
        dcli_gather_place(worker, prepared);
    for (int64_t w = 0; w < batch->work_count && status == DCL_OK; w++)
        if (!dcli_gather_took(&gather, w))
            status = add_work(worker, entry, plan, batch, &plan->work[batch->first_work + w], prepared, &waiting);
    dcli_gather_close(&gather);
    if (status == DCL_OK)
        status = dcli_copies_prepare(worker, entry, plan, batch, prepared);
    if (status == DCL_OK)
        status = join_rows(worker, entry->operation.body, &waiting, prepared);
    dcli_prepared_clear(&waiting);
    return status;
}

dcl_status dcli_exec_prepare(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_batch *batch, dcli_prepared *prepared)
{
    dcl_status status = make_rows(worker, entry, plan, batch, prepared);
    if (status == DCL_OK)
        status = upload_tables(worker, entry->operation.body, prepared);
    if (status != DCL_OK)
        dcli_prepared_clear(prepared); /* the next try begins anew */
    else
        prepared->ready = true;
    return status;
}

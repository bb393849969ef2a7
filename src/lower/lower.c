/* lower/lower.c - lower a batch of a loop body to launches and transfers: place its stages, and make rows for its
 * kernels. */
#include "lower/lower.h"

#include "base/alloc.h"
#include "base/check.h"
#include "lower/group.h"
#include "lower/mixed.h"
#include "lower/routes.h"
#include "lower/rows.h"
#include "lower/sets.h"

static int64_t stage_offset(const dcli_plan *plan, const dcli_batch *batch, const dcli_lowered *lowered,
                            const dcli_operation *operation, int stage)
{
    if (stage < 0)
        return 0;
    return lowered->stage_at[stage - batch->first_stage] /
           (int64_t)dcli_element_bytes(operation, plan->stage[stage].operand);
}

/* Find the stages that are read or written by some work that does not gather. @param wanted_out  [batch->stage_count]
 * all false before the call. */
static void find_wanted(const dcli_gather *gather, const dcli_plan *plan, const dcli_batch *batch, int accesses,
                        bool wanted_out[])
{
    for (int64_t w = 0; w < batch->work_count; w++) {
        const dcli_binding *bindings = &plan->binding[plan->work[batch->first_work + w].first_binding];
        for (int a = 0; a < accesses && !dcli_gather_took(gather, w); a++)
            if (bindings[a].kind == DCLI_SPACE_STAGE && bindings[a].where >= 0)
                wanted_out[bindings[a].where - batch->first_stage] = true;
    }
}

/* Small stages are packed closely, because there may be millions of stages with one element. */
enum { STAGE_ALIGN = 64, SMALL_STAGE = 64, ELEMENT_ALIGN = 8 };

static int64_t round_up(int64_t bytes, int64_t align) { return dcli_ceil_div(bytes, align) * align; }

/* Place stages in the arena, after the addresses of source parts: stage_at is their offset. It is -1 for stages that
 * only gathering works use, 0 for replicas, which have memory of their own, and the offset in the part for lines around it. */
static dcl_status place_stages(const dcli_gather *gather, const dcli_plan *plan, const dcli_batch *batch,
                               const dcli_operation *operation, dcli_lowered *lowered)
{
    bool *wanted = dcli_calloc((size_t)batch->stage_count, sizeof *wanted);
    lowered->stage_at = dcli_malloc((size_t)batch->stage_count * sizeof *lowered->stage_at);
    if (lowered->stage_at == NULL || wanted == NULL) {
        dcli_free(wanted);
        return DCL_ERR_NOMEM;
    }
    find_wanted(gather, plan, batch, operation->body->access_count, wanted);
    lowered->arena_bytes = dcli_gather_address_bytes(lowered);
    for (int64_t s = 0; s < batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[batch->first_stage + s];
        int64_t bytes = stage->elements * (int64_t)dcli_element_bytes(operation, stage->operand);
        if (bytes >= SMALL_STAGE)
            lowered->arena_bytes = round_up(lowered->arena_bytes, STAGE_ALIGN);
        lowered->stage_at[s] = wanted[s] ? lowered->arena_bytes : -1;
        if (stage->kind != DCLI_STAGE_TEMPORARY)
            lowered->stage_at[s] = stage->offset * (int64_t)dcli_element_bytes(operation, stage->operand);
        if (stage->kind != DCLI_STAGE_TEMPORARY || !wanted[s])
            continue;
        lowered->arena_bytes += round_up(bytes, bytes < SMALL_STAGE ? ELEMENT_ALIGN : STAGE_ALIGN);
    }
    lowered->arena_bytes = round_up(lowered->arena_bytes, STAGE_ALIGN);
    dcli_free(wanted);
    return DCL_OK;
}

static dcl_status add_work(const dcli_traits *traits, const dcli_operation *operation, const dcli_plan *plan,
                           const dcli_batch *batch, const dcli_work *work, dcli_lowered *lowered, dcli_lowered *waiting)
{
    const dcli_body *body = operation->body;
    const dcli_binding *bindings = &plan->binding[work->first_binding];
    int64_t base[DCLI_MAX_ACCESSES];
    for (int a = 0; a < body->access_count; a++)
        base[a] =
            bindings[a].kind == DCLI_SPACE_STAGE ? stage_offset(plan, batch, lowered, operation, bindings[a].where) : 0;
    return dcli_rows_add(operation, traits, work, bindings, base, lowered, waiting);
}

/* Whether something may still read peers' parts after the batch has been started: kernels do, and copies by a device
 * with memory of its own. On a device in host memory the host has finished its copies by then. */
static bool reads_peers(const dcli_body *body, const dcli_traits *traits, const dcli_lowered *lowered)
{
    for (int64_t n = 0; n < lowered->source_count; n++)
        if (lowered->source[n].node != traits->self)
            return true;
    for (int64_t r = 0; r < lowered->routes.count && !traits->in_place; r++)
        if (lowered->routes.route[r].from.kind == DCLI_SPACE_PEER)
            return true;
    for (int64_t l = 0; l < lowered->launch_count; l++)
        for (int a = 0; a < body->access_count; a++)
            if (lowered->launch[l].space[a].kind == DCLI_SPACE_PEER || lowered->launch[l].mixed)
                return true;
    return false;
}

dcl_status dcli_lower(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch,
                      const dcli_traits *traits, dcli_lowered *lowered)
{
    dcli_lowered waiting = {0};
    dcli_gather gather;
    dcl_status status = dcli_gather_open(&gather, operation, plan, batch, traits, lowered);
    for (int64_t w = 0; w < batch->work_count && status == DCL_OK; w++)
        status = dcli_gather_add(&gather, w);
    if (status == DCL_OK)
        status = dcli_gather_end(&gather);
    if (status == DCL_OK)
        status = place_stages(&gather, plan, batch, operation, lowered);
    if (status == DCL_OK)
        dcli_gather_place(traits, lowered);
    for (int64_t w = 0; w < batch->work_count && status == DCL_OK; w++)
        if (!dcli_gather_took(&gather, w))
            status = add_work(traits, operation, plan, batch, &plan->work[batch->first_work + w], lowered, &waiting);
    dcli_gather_close(&gather);
    if (status == DCL_OK)
        status = dcli_routes_of_batch(operation, plan, batch, traits, lowered->stage_at, &lowered->routes);
    if (status == DCL_OK)
        status = dcli_rows_end(operation->body, traits, &waiting, lowered);
    bool sets = dcli_row_form_of(traits, operation->body) == DCLI_ROWS_SETS;
    if (sets && status == DCL_OK)
        status = dcli_rows_mix(operation->body, traits, lowered);
    for (int64_t l = 0; l < lowered->launch_count && sets && status == DCL_OK; l++)
        if (!lowered->launch[l].multiplies)
            status = dcli_rows_divide(operation->body, &lowered->launch[l]);
    bool table = dcli_row_form_of(traits, operation->body) == DCLI_ROWS_TABLE;
    for (int64_t l = 0; l < lowered->launch_count && table && status == DCL_OK; l++) {
        dcli_launch *launch = &lowered->launch[l];
        launch->streams = launch->variant == DCLI_VARIANT_UNIT && !launch->gathers && !launch->multiplies &&
                          dcli_rows_stream(operation->body, launch->row, launch->row_count);
    }
    if (status == DCL_OK)
        lowered->reads_peers = reads_peers(operation->body, traits, lowered);
    dcli_lowered_free(&waiting);
    return status;
}

void dcli_launch_drop_lists(dcli_launch *launch)
{
    dcli_free(launch->row);
    dcli_free(launch->own);
    dcli_free(launch->set);
    dcli_free(launch->group);
    dcli_transfers_free(&launch->piece);
    dcli_free(launch->origin);
    launch->row = launch->own = launch->group = NULL;
    launch->set = NULL;
    launch->origin = NULL;
}

void dcli_lowered_free(dcli_lowered *lowered)
{
    for (int64_t l = 0; l < lowered->launch_count; l++)
        dcli_launch_drop_lists(&lowered->launch[l]);
    dcli_routes_free(&lowered->routes);
    dcli_free(lowered->launch);
    dcli_free(lowered->stage_at);
    dcli_free(lowered->source);
    *lowered = (dcli_lowered){0};
}

int64_t dcli_lowered_bytes(const dcli_lowered *lowered, const dcli_body *body)
{
    int64_t longs = 0, bytes = 0;
    for (int64_t l = 0; l < lowered->launch_count; l++) {
        const dcli_launch *launch = &lowered->launch[l];
        longs += launch->row != NULL ? launch->row_capacity * dcli_row_length(body) : 0;
        longs += launch->set_capacity * (int64_t)(sizeof(dcli_row_set) / sizeof(int64_t));
        longs += launch->group != NULL ? launch->group_capacity * DCLI_GROUP_LONGS : 0;
        bytes += dcli_transfers_bytes(&launch->piece);
        bytes += launch->origin != NULL ? launch->origin_capacity * (int64_t)sizeof *launch->origin : 0;
    }
    return bytes + longs * (int64_t)sizeof(int64_t) + lowered->launch_capacity * (int64_t)sizeof *lowered->launch +
           lowered->source_capacity * (int64_t)sizeof *lowered->source + dcli_routes_bytes(&lowered->routes);
}

/* workqueue/plan.c - makes and frees plans; plans transfers between the host and the nodes; checks that a batch's
 * chunks fit the pool. */
#include "workqueue/plan.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "workqueue/builder.h"
#include "workqueue/overlap.h"
#include "workqueue/partners.h"
#include "workqueue/plan_detail.h"
#include "workqueue/plan_forall.h"
#include "workqueue/plan_move.h"

void dcli_plan_free(dcli_plan *plan)
{
    if (plan == NULL)
        return;
    dcli_plan_lists_free(plan);
    dcli_node_list_free(&plan->reads);
    dcli_node_list_free(&plan->partners);
    dcli_limits_free(plan->limits);
    dcli_detail_free(plan->detail);
    dcli_free(plan);
}

/* Record the needs of a host transfer: the elements of the operation's box, one stream per owner. */
static dcl_status need_all(dcli_builder *builder, bool written)
{
    const dcli_operation *operation = builder->operation;
    const dcli_layout *layout = operation->operand[0].layout;
    dcl_status status = DCL_OK;
    int first = builder->terms->pair ? builder->terms->with : 0;
    for (int p = first; p < layout->node_end && dcli_plans_with(builder, p) && status == DCL_OK; p++) {
        builder->regions.count = 0;
        status = dcli_layout_regions(layout, p, &operation->box, &builder->regions);
        for (int64_t r = 0; r < builder->regions.count && status == DCL_OK; r++)
            status = dcli_builder_need(
                builder,
                &(dcli_need){.written = written, .peer = p, .stage = -1, .region = builder->regions.region[r]});
    }
    return status;
}

/* Whether a host transfer is planned by element numbers: the map deals single elements, and at least one in FEW of them
 * is transferred. */
static bool is_of_points(const dcli_builder *builder)
{
    enum { FEW = 16 };
    const dcli_layout *layout = builder->operation->operand[0].layout;
    return !builder->terms->no_points && dcli_layout_is_shuffled(layout) &&
           dcli_box_elements(&builder->operation->box) >= layout->piece_total / FEW;
}

/* As need_all(), but with points instead of boxes. */
static dcl_status need_points(dcli_builder *builder, bool written)
{
    const dcli_operation *operation = builder->operation;
    const dcli_layout *layout = operation->operand[0].layout;
    dcl_box whole = dcl_box_of(&layout->grid);
    bool all = dcli_box_equal(&whole, &operation->box);
    dcl_status status = DCL_OK;
    int first = builder->terms->pair ? builder->terms->with : 0;
    for (int p = first; p < layout->node_end && dcli_plans_with(builder, p) && status == DCL_OK; p++) {
        dcli_element_list list;
        status = dcli_layout_stored_elements(layout, p, &list);
        for (int64_t e = 0; e < list.count && status == DCL_OK; e++) {
            int64_t index[DCL_MAX_RANK];
            dcli_element_index(&layout->grid, list.by_extent, list.element[e].number, index);
            if (all || dcli_box_contains(&operation->box, index))
                status = dcli_builder_point(builder, &(dcli_point){.written = written,
                                                                   .peer = p,
                                                                   .stage = -1,
                                                                   .number = list.element[e].number,
                                                                   .offset = list.element[e].offset});
        }
        dcli_element_list_free(&list);
    }
    return status;
}

/* Add batch b of a host transfer, which copies between chunk b and the program's memory. */
static void batch_of_chunk(dcli_builder *builder, int64_t b, bool written)
{
    dcli_plan *plan = builder->plan;
    plan->chunk[b].first_batch = plan->chunk[b].last_batch = b;
    plan->batch[b] = (dcli_batch){.first_chunk = b, .chunk_count = !written, .first_made = b, .made_count = written};
}

static dcl_status plan_transfer(dcli_builder *builder, bool written)
{
    if (builder->self != builder->terms->node_count || dcli_box_is_empty(&builder->operation->box))
        return DCL_OK; /* an owner only sends or receives the host's streams, without a batch of its own */
    if (dcli_builder_batch(builder) == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = (is_of_points(builder) ? need_points : need_all)(builder, written);
    if (status == DCL_OK)
        status = dcli_builder_chunks(builder);
    dcli_plan *plan = builder->plan;
    if (plan->chunk_count == 0)
        plan->batch_count = 0; /* no element of the box is stored */
    while (status == DCL_OK && plan->batch_count < plan->chunk_count)
        if (dcli_builder_batch(builder) == NULL)
            status = DCL_ERR_NOMEM;
    for (int64_t b = 0; b < plan->chunk_count && status == DCL_OK; b++)
        batch_of_chunk(builder, b, written);
    return status;
}

/* Plan an operation on a node's whole part (create, release, fill, load, save): one batch without works. */
static dcl_status plan_whole_part(dcli_builder *builder)
{
    if (dcli_layout_place(builder->operation->operand[0].layout, builder->self) < 0)
        return DCL_OK;
    return dcli_builder_batch(builder) != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Compute nothing: receive or send empty chunks, one per batch. The peers do not know that the plan has failed, because
 * none of them makes all of it; so the streams stay. The peers learn from the grants that their chunks are not read. */
static dcl_status drain(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    dcl_status status = DCL_OK;
    plan->batch_count = plan->work_count = plan->binding_count = plan->stage_count = plan->piece_count = 0;
    plan->live_bytes = 0;
    for (int64_t c = 0; c < plan->chunk_count && status == DCL_OK; c++) {
        if (dcli_builder_batch(builder) == NULL)
            return DCL_ERR_NOMEM;
        batch_of_chunk(builder, c, plan->chunk[c].written);
    }
    return status;
}

/* Compute the most bytes of received chunks that are needed at the same time. If they exceed the pool, the plan
 * fails. */
static dcl_status check_pool(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    int64_t *change = dcli_calloc((size_t)plan->batch_count + 1, sizeof *change);
    if (change == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        if (plan->chunk[c].written)
            continue;
        change[plan->chunk[c].first_batch] += plan->chunk[c].bytes;
        change[plan->chunk[c].last_batch + 1] -= plan->chunk[c].bytes;
    }
    int64_t live = 0, most = 0;
    for (int64_t b = 0; b < plan->batch_count; b++)
        most = dcli_max(most, live += change[b]);
    dcli_free(change);
    plan->live_bytes = most;
    if (plan->detail != NULL)
        plan->detail->arrived_bytes = most;
    if (most <= builder->terms->pool_bytes)
        return DCL_OK;
    plan->status = DCL_ERR_NOMEM;
    snprintf(plan->problem, sizeof plan->problem,
             "its tasks need %" PRId64 " bytes of other nodes' elements at once; the pool has %" PRId64
             "; set DCL_POOL_BYTES to more, or give the map smaller tiles (;tile=...)",
             most, builder->terms->pool_bytes);
    return drain(builder);
}

/* Make a plan by `plan`, with its detail for reports if requested. */
static dcl_status plan_in_detail(dcli_builder *builder, dcl_status (*plan)(dcli_builder *))
{
    dcl_status status = builder->terms->detailed ? dcli_detail_begin(builder) : DCL_OK;
    if (status == DCL_OK)
        status = plan(builder);
    if (status == DCL_OK && builder->terms->detailed)
        dcli_detail_end(builder);
    return status;
}

static dcl_status fill_plan(dcli_builder *builder)
{
    switch (builder->operation->kind) {
    case DCLI_OP_FORALL:
        return builder->self < builder->terms->node_count ? plan_in_detail(builder, dcli_plan_forall) : DCL_OK;
    case DCLI_OP_READ:
    case DCLI_OP_WRITE:
        return plan_transfer(builder, builder->operation->kind == DCLI_OP_WRITE);
    case DCLI_OP_MOVE:
        return builder->self == builder->operation->node ? plan_in_detail(builder, dcli_plan_move) : DCL_OK;
    case DCLI_OP_DROP:
        return DCL_OK; /* the operation changes the directory of replicas only */
    default:
        return plan_whole_part(builder);
    }
}

/* Whether a batch reads parts of peers in place: in kernels, or to fill its stages. */
static bool reads_parts(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch)
{
    int64_t accesses = operation->body != NULL ? operation->body->access_count : 0;
    bool reads = false;
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count && !reads; w++)
        for (int64_t a = 0; a < accesses && !reads; a++)
            reads = plan->binding[plan->work[w].first_binding + a].kind == DCLI_SPACE_PEER;
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count && !reads; s++)
        for (int64_t p = plan->stage[s].first_in; p < plan->stage[s].first_in + plan->stage[s].in_count && !reads; p++)
            reads = plan->piece[p].kind == DCLI_SPACE_PEER;
    return reads;
}

/* Make a plan with a builder that was begun. */
static dcl_status make(dcli_builder *builder)
{
    const dcli_operation *operation = builder->operation;
    const dcli_plan_terms *terms = builder->terms;
    dcli_plan *plan = builder->plan;
    dcl_status status = fill_plan(builder);
    if (status == DCL_OK)
        status = dcli_builder_number_chunks(builder);
    bool body = operation->kind == DCLI_OP_FORALL && builder->self < terms->node_count;
    plan->local = status == DCL_OK && (body ? builder->local : dcli_operation_is_local(operation));
    for (int64_t b = 0; status == DCL_OK && b < plan->batch_count; b++)
        plan->batch[b].reads_parts = operation->kind != DCLI_OP_FORALL || reads_parts(operation, plan, &plan->batch[b]);
    if (status == DCL_OK && !terms->streams && !plan->local)
        status = dcli_find_partners(operation, builder->accesses->own, builder->accesses->subscripts, builder->self,
                                    terms->node_count,
                                    &(dcli_partner_search){.home = builder->accesses->home,
                                                           .some = builder->accesses->some,
                                                           .foot = builder->accesses->foot,
                                                           .part = builder->part,
                                                           .regions = &builder->regions,
                                                           .boxes = &builder->fresh,
                                                           .owners = &builder->owners},
                                    &plan->partners);
    if (status == DCL_OK && plan->chunk_count > 0 && !terms->pair)
        status = check_pool(builder);
    if (operation->kind == DCLI_OP_FORALL || operation->kind == DCLI_OP_MOVE)
        plan->counters.messages_planned = plan->chunk_count;
    dcli_builder_fit(builder);
    return status;
}

/* As dcli_plan_make(), without a planner. */
static dcl_status make_alone(const dcli_operation *operation, int self, const dcli_plan_terms *terms, dcli_plan *plan)
{
    dcli_builder builder;
    dcli_accesses accesses;
    memset(&builder, 0, offsetof(dcli_builder, plan));
    accesses.known = false;
    dcli_builder_begin(&builder, plan, operation, self, terms, &accesses);
    dcl_status status = make(&builder);
    dcli_builder_end(&builder);
    dcli_builder_free(&builder);
    return status;
}

dcl_status dcli_plan_make(const dcli_operation *operation, int self, const dcli_plan_terms *terms, dcli_plan **plan_out)
{
    dcli_planner *planner = terms->planner;
    dcl_status status;
    dcli_plan *plan = dcli_calloc(1, sizeof *plan);
    if (plan == NULL)
        return DCL_ERR_NOMEM;
    if (planner == NULL) {
        status = make_alone(operation, self, terms, plan);
    } else {
        int node = terms->pair ? terms->with : self;
        if (planner->operation != operation || planner->number != operation->number || planner->node != node)
            planner->accesses.known = false;
        planner->operation = operation;
        planner->number = operation->number;
        planner->node = node;
        dcli_builder_begin(&planner->builder, plan, operation, self, terms, &planner->accesses);
        status = make(&planner->builder);
        planner->accesses.known = planner->accesses.known && status == DCL_OK;
        dcli_builder_end(&planner->builder);
    }
    if (status != DCL_OK) {
        dcli_plan_free(plan);
        return status;
    }
    *plan_out = plan;
    return DCL_OK;
}

dcli_planner *dcli_planner_new(void)
{
    dcli_planner *planner = dcli_malloc(sizeof *planner);
    if (planner == NULL)
        return NULL;
    memset(&planner->builder, 0, offsetof(dcli_builder, plan));
    planner->accesses.known = false;
    return planner;
}

void dcli_planner_free(dcli_planner *planner)
{
    if (planner == NULL)
        return;
    dcli_builder_free(&planner->builder);
    dcli_free(planner);
}

bool dcli_access_is_home(const dcli_operation *operation, const dcli_subscripts base[], int a)
{
    const dcli_body *body = operation->body;
    int first = body->home;
    return dcli_subscripts_same(&base[a], &base[first]) &&
           dcli_layout_same(operation->operand[body->access[a].param].layout, operation->operand[body->owner].layout);
}

bool dcli_operation_is_local(const dcli_operation *operation)
{
    dcli_subscripts own, base[DCLI_MAX_ACCESSES];
    if (operation->kind == DCLI_OP_READ || operation->kind == DCLI_OP_WRITE || operation->kind == DCLI_OP_MOVE)
        return false;
    if (operation->kind != DCLI_OP_FORALL)
        return true;
    if (operation->overlap > 0)
        return !dcli_overlap_receives(operation);
    for (int a = 0; a < operation->body->access_count; a++)
        if (dcli_operation_subscripts(operation, a, &own, &base[a]) != DCL_OK)
            return false;
    for (int a = 0; a < operation->body->access_count; a++)
        if (!dcli_access_is_home(operation, base, a))
            return false;
    return true;
}

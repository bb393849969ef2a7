/* workqueue/plan_loan.c - the plan of a loan: the works of one or more batches of the victim, bound for the thief.
 *
 * Works that can be joined are one work. Stages of the victim's batches are stages of the thief, filled from where the
 * thief finds the same elements. Accesses that the victim binds to its own part, or to a part that it reads in place,
 * are bound by the thief to the same part if it reads that in place, and to a stage otherwise. All that is written is
 * bound to stages. */
#include "workqueue/plan_loan.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workqueue/plan_fine.h"
#include "workqueue/plan_view.h"

/* Elements that are exchanged with the victim: one side is a stage of the loan, the other is `there`, in the victim's
 * spaces. */
struct exchanged {
    int64_t stage;
    dcli_piece there;
};

/* A piece of a stage of the loan, before the pieces are sorted by stage. */
struct placed {
    int64_t stage, order;
    bool out;
    dcli_piece piece;
};

struct lending {
    const dcli_plan *own; /* the victim's plan */
    int64_t first, count; /* the batches of the victim's plan that are lent: number of the first; how many */
    dcli_work *work;      /* [work_count] works of these batches, joined */
    int64_t work_count;
    int victim, thief;
    struct exchanged *exchanged; /* number n is the `stage` of dcli_need and of builder.item_stage[] */
    int64_t exchanged_count, exchanged_capacity;
    struct placed *placed;
    int64_t placed_count, placed_capacity;
    int64_t *stage_of;    /* the loan's stage for each stage of the batches, batch by batch; -1: the loan needs none for
                          it */
    dcli_builder builder; /* builder of the loan's plan; large, and not cleared as a whole */
    dcli_accesses accesses;
};

/* ---- batches that may be lent ------------------------------------------------------------------------------------ */

/* Whether some batch makes a replica: later ones may use it. */
static bool makes_replica(const dcli_plan *plan)
{
    for (int64_t s = 0; s < plan->stage_count; s++)
        if (plan->stage[s].kind == DCLI_STAGE_NEW_REPLICA)
            return true;
    return false;
}

/* Plans of single elements are not lent: moving such inputs costs more than computing. */
static dcl_status check(const dcli_operation *operation, const dcli_plan *own, int64_t b, int64_t count)
{
    bool may = operation->kind == DCLI_OP_FORALL && own->status == DCL_OK && b >= 0 && b < own->batch_count &&
               count >= 1 && count <= own->batch_count - b && own->spot == NULL && !makes_replica(own);
    for (int64_t n = b; may && n < b + count; n++)
        may = own->batch[n].made_count == 0;
    if (may)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "batch %" PRId64 " of operation %" PRId64 " cannot be lent; expected one of the %" PRId64
                     " batches of a loop body that writes to its own node alone and makes no replicas",
                     b, operation->number, own->batch_count);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static dcl_status place(struct lending *lending, int64_t stage, bool out, const dcli_piece *piece)
{
    if (dcli_grow(&lending->placed, lending->placed_count, &lending->placed_capacity, sizeof *lending->placed) != 0)
        return DCL_ERR_NOMEM;
    lending->placed[lending->placed_count] =
        (struct placed){.stage = stage, .order = lending->placed_count, .out = out, .piece = *piece};
    lending->placed_count++;
    return DCL_OK;
}

/* Exchange elements of a stage with the victim: they are sent along or, if `written`, returned. */
static dcl_status exchange(struct lending *lending, int64_t stage, bool written, const dcli_piece *there)
{
    if (dcli_grow(&lending->exchanged, lending->exchanged_count, &lending->exchanged_capacity,
                  sizeof *lending->exchanged) != 0)
        return DCL_ERR_NOMEM;
    lending->exchanged[lending->exchanged_count] = (struct exchanged){.stage = stage, .there = *there};
    return dcli_builder_need(&lending->builder, &(dcli_need){.written = written,
                                                             .peer = lending->victim,
                                                             .operand = lending->builder.plan->stage[stage].operand,
                                                             .stage = lending->exchanged_count++,
                                                             .region = there->region});
}

/* Find where the thief finds elements that the victim finds in its space `kind`, number `where`. @return false: the
 * thief cannot read them in place. */
static bool is_in_place(const struct lending *lending, dcli_space_kind kind, int where, dcli_space *space_out)
{
    int node = kind == DCLI_SPACE_OWN ? lending->victim : where;
    if (kind != DCLI_SPACE_OWN && kind != DCLI_SPACE_PEER)
        return false;
    if (node == lending->thief) { /* the victim reads the thief's part in place, so nobody overwrites it */
        *space_out = (dcli_space){DCLI_SPACE_OWN, 0};
        return true;
    }
    *space_out = (dcli_space){DCLI_SPACE_PEER, node};
    return dcli_reads_part(&lending->builder, node) &&
           (node == lending->victim || !lending->builder.terms->shown_on_demand);
}

/* Let a stage get a piece that the victim finds at `there`. */
static dcl_status fill_from(struct lending *lending, int64_t stage, const dcli_piece *there)
{
    dcli_space space;
    if (!is_in_place(lending, there->kind, there->where, &space))
        return exchange(lending, stage, false, there);
    dcli_piece here = *there;
    here.kind = space.kind;
    here.where = space.number;
    return place(lending, stage, false, &here);
}

/* Fill a stage of the loan with the elements of its box that `node` stores, which is the victim or a node whose part it
 * reads in place; or return them to the victim. */
static dcl_status pieces_of_part(struct lending *lending, int64_t stage, const dcl_box *box, int node, bool written)
{
    dcli_builder *builder = &lending->builder;
    const dcli_layout *layout = builder->operation->operand[builder->plan->stage[stage].operand].layout;
    dcli_region_list regions = {0};
    dcl_status status = dcli_layout_regions(layout, node, box, &regions);
    for (int64_t r = 0; r < regions.count && status == DCL_OK; r++) {
        dcli_piece there = {.kind = node == lending->victim ? DCLI_SPACE_OWN : DCLI_SPACE_PEER,
                            .where = node,
                            .region = regions.region[r]};
        status = written ? exchange(lending, stage, true, &there) : fill_from(lending, stage, &there);
    }
    dcli_region_list_free(&regions);
    return status;
}

/* ---- stages of the victim's batch -------------------------------------------------------------------------------- */

/* Whether a kernel uses stage `s` of the victim's plan. If not, only pieces of other stages come from it. */
static bool is_bound(const struct lending *lending, int64_t s)
{
    const dcli_plan *own = lending->own;
    int accesses = lending->builder.operation->body->access_count;
    for (int64_t w = 0; w < lending->work_count; w++)
        for (int a = 0; a < accesses; a++) {
            const dcli_binding *binding = &own->binding[lending->work[w].first_binding + a];
            if (binding->kind != DCLI_SPACE_OWN && binding->kind != DCLI_SPACE_PEER && binding->where == s)
                return true;
        }
    return false;
}

/* Find the entry of lending->stage_of for stage `s` of the victim's plan, which belongs to one of the batches. Their
 * entries follow one another, but between the stages of two batches there may be stages of others. */
static int64_t *stage_of(const struct lending *lending, int64_t s)
{
    int64_t *first = lending->stage_of;
    const dcli_batch *batch = &lending->own->batch[lending->first];
    for (; s < batch->first_stage || s >= batch->first_stage + batch->stage_count; batch++)
        first += batch->stage_count;
    return first + (s - batch->first_stage);
}

/* A replica of the victim is sent as a whole. */
static dcl_status fill_from_replica(struct lending *lending, int64_t stage, int64_t s)
{
    const dcli_stage *replica = &lending->own->stage[s];
    int64_t bytes = dcli_builder_bytes(&lending->builder, replica->operand);
    dcli_piece there = {
        .kind = DCLI_SPACE_REPLICA, .where = (int)s, .region = dcli_region_padded(&replica->box, 0, bytes)};
    return fill_from(lending, stage, &there);
}

static dcl_status take_stage(struct lending *lending, int64_t s)
{
    const dcli_plan *own = lending->own;
    const dcli_stage *old = &own->stage[s];
    int64_t *stage = stage_of(lending, s);
    *stage = -1;
    if (old->kind == DCLI_STAGE_REPLICA && !is_bound(lending, s))
        return DCL_OK;
    dcl_status status = dcli_add_stage(&lending->builder, old->operand, &old->box, stage);
    if (status != DCL_OK)
        return status;
    lending->builder.plan->stage[*stage].fill_first = old->fill_first;
    if (old->kind == DCLI_STAGE_REPLICA)
        return fill_from_replica(lending, *stage, s);
    for (int64_t p = old->first_in; p < old->first_in + old->in_count && status == DCL_OK; p++)
        status = fill_from(lending, *stage, &own->piece[p]);
    for (int64_t p = old->first_out; p < old->first_out + old->out_count && status == DCL_OK; p++) {
        assert(own->piece[p].kind == DCLI_SPACE_OWN); /* the batch makes no chunks */
        status = exchange(lending, *stage, true, &own->piece[p]);
    }
    return status;
}

/* ---- accesses of parts ------------------------------------------------------------------------------------------- */

/* How one access of a work is bound by the thief. */
struct bound {
    bool done;    /* it is bound already: to a stage as the victim does, or in place */
    bool written; /* its stage is returned */
    dcli_space space;
    int node; /* not done: the node whose part the victim uses */
    struct dcli_view view;
};

/* Whether another access of the work writes the same elements, so that both must use one stage. */
static bool is_written_by_other(const struct lending *lending, const struct bound bounds[], int a)
{
    const dcli_body *body = lending->builder.operation->body;
    for (int b = 0; b < body->access_count; b++)
        if (b != a && body->access[b].written && body->access[b].param == body->access[a].param && !bounds[b].done &&
            dcli_box_equal(&bounds[b].view.foot, &bounds[a].view.foot))
            return true;
    return false;
}

static void look(struct lending *lending, const dcli_work *work, int a, struct bound *bound)
{
    const dcli_builder *builder = &lending->builder;
    const dcli_body_access *access = &builder->operation->body->access[a];
    const dcli_binding *binding = &lending->own->binding[work->first_binding + a];
    bool cut;
    *bound = (struct bound){.written = access->written};
    bound->view = (struct dcli_view){
        .content = dcli_needs_content(access), .written = access->written, .kind = DCLI_SPACE_STAGE, .stage = -1};
    bound->view.empty = !dcli_access_footprint(builder->operation, a, &builder->accesses->own[a], &work->box,
                                               &bound->view.seen, &bound->view.foot, &cut);
    if (binding->kind == DCLI_SPACE_OWN || binding->kind == DCLI_SPACE_PEER) {
        bound->node = binding->kind == DCLI_SPACE_OWN ? lending->victim : binding->where;
        return;
    }
    bound->done = true;
    bound->space = (dcli_space){DCLI_SPACE_STAGE, -1};
    if (binding->where >= 0)
        bound->space.number = (int)*stage_of(lending, binding->where);
}

/* Bind what the thief reads in place. */
static void look_in_place(const struct lending *lending, const dcli_work *work, int a, struct bound bounds[])
{
    const dcli_binding *binding = &lending->own->binding[work->first_binding + a];
    struct bound *bound = &bounds[a];
    if (!bound->done && !bound->written && !is_written_by_other(lending, bounds, a))
        bound->done = is_in_place(lending, binding->kind, binding->where, &bound->space);
}

/* Whether access b may use the stage of access a. */
static bool may_share(const struct lending *lending, const struct bound bounds[], int a, int b)
{
    const dcli_body *body = lending->builder.operation->body;
    const struct bound *x = &bounds[a], *y = &bounds[b];
    if (body->access[a].param != body->access[b].param || y->done || y->view.empty || y->view.stage >= 0 ||
        x->node != y->node)
        return false;
    if (dcli_box_equal(&x->view.foot, &y->view.foot))
        return true;
    return !x->written && !y->written && !is_written_by_other(lending, bounds, a) &&
           !is_written_by_other(lending, bounds, b);
}

/* Find the box of a common stage for access a and those that may share it: around all their footprints, if it has no
 * more elements than they have together; else only those with the same footprint. */
static dcl_box common_box(const struct lending *lending, const struct bound bounds[], int a, bool *all_out)
{
    dcl_box box = bounds[a].view.foot;
    int64_t apart = 0;
    for (int b = a; b < lending->builder.operation->body->access_count; b++)
        if (may_share(lending, bounds, a, b)) {
            dcli_box_bound(&box, &bounds[b].view.foot, &box);
            apart += dcli_box_elements(&bounds[b].view.foot);
        }
    *all_out = dcli_box_elements(&box) <= apart;
    return *all_out ? box : bounds[a].view.foot;
}

/* Find a stage that an earlier work got for the same box of the same part, and that is only read, among the last
 * LOOK_BACK stages. @return -1: there is none. */
static int64_t find_stage(const struct lending *lending, const int64_t parts[], int64_t first, int k, int node,
                          const dcl_box *box)
{
    enum { LOOK_BACK = 16 };
    const dcli_plan *plan = lending->builder.plan;
    for (int64_t s = plan->stage_count - 1; s >= first && s >= plan->stage_count - LOOK_BACK; s--)
        if (parts[s - first] == node && plan->stage[s].operand == k && dcli_box_equal(&plan->stage[s].box, box))
            return s;
    return -1;
}

/* The stages that were added for parts. `node`: for each, the node whose part it has, or -1 if it is written. */
struct part_stages {
    int64_t first; /* number of the first of them */
    int64_t *node, count, capacity;
};

static dcl_status stage_access(struct lending *lending, struct part_stages *parts, struct bound bounds[], int a)
{
    const dcli_body *body = lending->builder.operation->body;
    struct bound *bound = &bounds[a];
    bool all, written = false, content = false;
    dcl_box box = common_box(lending, bounds, a, &all);
    bool shares[DCLI_MAX_ACCESSES] = {false};
    for (int b = a; b < body->access_count; b++) {
        shares[b] = may_share(lending, bounds, a, b) && (all || dcli_box_equal(&bounds[b].view.foot, &box));
        written |= shares[b] && bounds[b].written;
        content |= shares[b] && bounds[b].view.content;
    }
    int k = body->access[a].param;
    int64_t stage = written ? -1 : find_stage(lending, parts->node, parts->first, k, bound->node, &box);
    dcl_status status = DCL_OK;
    if (stage < 0) {
        if (dcli_grow(&parts->node, parts->count, &parts->capacity, sizeof *parts->node) != 0)
            return DCL_ERR_NOMEM;
        parts->node[parts->count++] = written ? -1 : bound->node;
        status = dcli_add_stage(&lending->builder, k, &box, &stage);
        if (status == DCL_OK && content)
            status = pieces_of_part(lending, stage, &box, bound->node, false);
        if (status == DCL_OK && written)
            status = pieces_of_part(lending, stage, &box, lending->victim, true);
    }
    for (int b = a; b < body->access_count; b++)
        if (shares[b])
            bounds[b].view.stage = stage;
    return status;
}

static dcl_status copy_limits(struct lending *lending, const dcli_binding *old, dcli_binding *binding)
{
    binding->limits = NULL;
    if (old->limits == NULL)
        return DCL_OK;
    dcli_limits *limits = dcli_builder_limits(&lending->builder);
    if (limits == NULL)
        return DCL_ERR_NOMEM;
    *limits = *old->limits;
    binding->limits = limits;
    return DCL_OK;
}

static dcl_status take_work(struct lending *lending, struct part_stages *parts, const dcli_work *old)
{
    dcli_builder *builder = &lending->builder;
    int accesses = builder->operation->body->access_count;
    struct bound bounds[DCLI_MAX_ACCESSES];
    dcl_status status = DCL_OK;
    for (int a = 0; a < accesses; a++)
        look(lending, old, a, &bounds[a]);
    for (int a = 0; a < accesses; a++)
        look_in_place(lending, old, a, bounds);
    for (int a = 0; a < accesses && status == DCL_OK; a++)
        if (!bounds[a].done && !bounds[a].view.empty && bounds[a].view.stage < 0)
            status = stage_access(lending, parts, bounds, a);
    dcli_work *work = status == DCL_OK ? dcli_builder_work(builder) : NULL;
    if (work == NULL)
        return DCL_ERR_NOMEM;
    *work = (dcli_work){.box = old->box, .checked = old->checked, .first_binding = builder->plan->binding_count};
    dcli_binding *binding = dcli_builder_bindings(builder, accesses);
    if (binding == NULL)
        return DCL_ERR_NOMEM;
    for (int a = 0; a < accesses && status == DCL_OK; a++) {
        const dcli_binding *source = &lending->own->binding[old->first_binding + a];
        binding[a] = *source;
        status = copy_limits(lending, source, &binding[a]);
        if (bounds[a].done) {
            binding[a].kind = bounds[a].space.kind;
            binding[a].where = bounds[a].space.number;
        } else {
            dcli_bind_view(builder, a, &old->box, &bounds[a].view, &binding[a]);
        }
    }
    return status;
}

/* ---- the whole loan ---------------------------------------------------------------------------------------------- */

/* Place a piece for each item of the chunks in its stage, and note where the victim finds the inputs. */
static dcl_status place_items(struct lending *lending, dcli_loan *loan)
{
    dcli_plan *plan = lending->builder.plan;
    dcl_status status = DCL_OK;
    if (plan->item_count == 0)
        return DCL_OK;
    loan->source = dcli_calloc((size_t)plan->item_count, sizeof *loan->source);
    if (loan->source == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t i = 0; i < plan->item_count && status == DCL_OK; i++) {
        const dcli_item *item = &plan->item[i];
        const struct exchanged *exchanged = &lending->exchanged[lending->builder.item_stage[i]];
        loan->source[i] = exchanged->there;
        loan->source[i].region = item->region;
        dcli_piece piece = {.kind = DCLI_SPACE_CHUNK,
                            .where = (int)item->chunk,
                            .region = dcli_region_packed(&item->region.box, 0),
                            .byte_offset = item->byte_offset};
        status = place(lending, exchanged->stage, plan->chunk[item->chunk].written, &piece);
    }
    return status;
}

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    if (x->out != y->out)
        return (int)x->out - (int)y->out;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sort the pieces by stage: those that are copied in, then those that are copied out. */
static dcl_status add_pieces(struct lending *lending)
{
    dcli_plan *plan = lending->builder.plan;
    dcli_piece *piece = dcli_builder_pieces(&lending->builder, lending->placed_count);
    if (lending->placed_count == 0)
        return DCL_OK;
    if (piece == NULL)
        return DCL_ERR_NOMEM;
    qsort(lending->placed, (size_t)lending->placed_count, sizeof *lending->placed, compare_placed);
    int64_t p = 0;
    for (int64_t s = 0; s < plan->stage_count; s++) {
        dcli_stage *stage = &plan->stage[s];
        stage->first_in = p;
        for (; p < lending->placed_count && lending->placed[p].stage == s && !lending->placed[p].out; p++)
            piece[p] = lending->placed[p].piece;
        stage->in_count = p - stage->first_in;
        stage->first_out = p;
        for (; p < lending->placed_count && lending->placed[p].stage == s; p++)
            piece[p] = lending->placed[p].piece;
        stage->out_count = p - stage->first_out;
    }
    return DCL_OK;
}

/* Record a part that is read in place. */
static dcl_status note_read(dcli_loan *loan, dcli_space_kind kind, int where)
{
    if (kind == DCLI_SPACE_OWN || kind == DCLI_SPACE_PEER)
        loan->size.in_place = loan->plan->batch[0].reads_parts = true;
    return kind == DCLI_SPACE_PEER ? dcli_node_list_add(&loan->plan->reads, where) : DCL_OK;
}

static dcl_status note_reads(const dcli_operation *operation, dcli_loan *loan)
{
    const dcli_plan *plan = loan->plan;
    dcl_status status = DCL_OK;
    for (int64_t w = 0; w < plan->work_count; w++)
        for (int a = 0; a < operation->body->access_count && status == DCL_OK; a++) {
            const dcli_binding *binding = &plan->binding[plan->work[w].first_binding + a];
            status = note_read(loan, binding->kind, binding->where);
        }
    for (int64_t p = 0; p < plan->piece_count && status == DCL_OK; p++)
        status = note_read(loan, plan->piece[p].kind, plan->piece[p].where);
    return status;
}

static void add_up(const dcli_builder *builder, dcli_loan *loan)
{
    const dcli_plan *plan = loan->plan;
    for (int64_t s = 0; s < plan->stage_count; s++)
        loan->size.bytes += plan->stage[s].elements * dcli_builder_bytes(builder, plan->stage[s].operand);
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        loan->size.bytes += plan->chunk[c].bytes;
        loan->size.chunks += !plan->chunk[c].written;
        loan->size.result_bytes += plan->chunk[c].written ? plan->chunk[c].bytes : 0;
    }
}

static dcl_status fill(struct lending *lending, dcli_loan *loan)
{
    dcli_builder *builder = &lending->builder;
    const dcli_operation *operation = builder->operation;
    const dcli_batch *old = &lending->own->batch[lending->first], *end = old + lending->count;
    dcli_batch *batch = dcli_builder_batch(builder);
    dcl_status status = batch != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int a = 0; a < operation->body->access_count && status == DCL_OK; a++)
        status = dcli_operation_subscripts(operation, a, &builder->accesses->own[a], &builder->accesses->subscripts[a]);
    for (const dcli_batch *b = old; b < end; b++)
        for (int64_t s = b->first_stage; s < b->first_stage + b->stage_count && status == DCL_OK; s++)
            status = take_stage(lending, s);
    struct part_stages parts = {.first = builder->plan->stage_count};
    for (int64_t w = 0; w < lending->work_count && status == DCL_OK; w++)
        status = take_work(lending, &parts, &lending->work[w]);
    dcli_free(parts.node);
    if (status != DCL_OK)
        return status;
    batch->first_tile = old->first_tile;
    for (const dcli_batch *b = old; b < end; b++)
        batch->tile_count += b->tile_count;
    batch->work_count = builder->plan->work_count;
    batch->stage_count = builder->plan->stage_count;
    status = dcli_builder_chunks(builder);
    if (status == DCL_OK)
        status = dcli_builder_number_chunks(builder);
    if (status == DCL_OK)
        status = place_items(lending, loan);
    if (status == DCL_OK)
        status = add_pieces(lending);
    if (status == DCL_OK)
        status = note_reads(operation, loan);
    add_up(builder, loan);
    return status;
}

/* List the works of the batches, and make room for their stages. Works are joined where the victim would launch them
 * together, too. */
static dcl_status list_works(struct lending *lending)
{
    const dcli_plan *own = lending->own;
    const dcli_batch *batch = &own->batch[lending->first];
    int64_t works = 0, stages = 0;
    for (int64_t b = 0; b < lending->count; b++) {
        works += batch[b].work_count;
        stages += batch[b].stage_count;
    }
    lending->work = dcli_malloc(((size_t)works + 1) * sizeof *lending->work);
    lending->stage_of = dcli_calloc((size_t)stages + 1, sizeof *lending->stage_of);
    if (lending->work == NULL || lending->stage_of == NULL)
        return DCL_ERR_NOMEM;
    bool fine = dcli_plan_are_fine(own, lending->first, lending->count);
    if (fine)
        lending->work_count =
            dcli_plan_join(lending->builder.operation, own, lending->first, lending->count, lending->work);
    for (int64_t b = 0; b < lending->count && !fine; b++)
        for (int64_t w = 0; w < batch[b].work_count; w++)
            lending->work[lending->work_count++] = own->work[batch[b].first_work + w];
    return DCL_OK;
}

dcl_status dcli_loan_make(const dcli_operation *operation, const dcli_plan *own, int64_t batch, int64_t count,
                          int victim, int thief, const dcli_plan_terms *terms, dcli_loan **loan_out)
{
    dcl_status status = check(operation, own, batch, count);
    if (status != DCL_OK)
        return status;
    dcli_loan *loan = dcli_calloc(1, sizeof *loan);
    if (loan == NULL)
        return DCL_ERR_NOMEM;
    loan->plan = dcli_calloc(1, sizeof *loan->plan);
    if (loan->plan == NULL) {
        dcli_free(loan);
        return DCL_ERR_NOMEM;
    }
    struct lending lending;
    memset(&lending, 0, offsetof(struct lending, builder) + offsetof(dcli_builder, plan));
    lending.own = own;
    lending.first = batch;
    lending.count = count;
    lending.victim = victim;
    lending.thief = thief;
    dcli_builder_begin(&lending.builder, loan->plan, operation, thief, terms, &lending.accesses);
    status = list_works(&lending);
    if (status == DCL_OK)
        status = fill(&lending, loan);
    dcli_builder_fit(&lending.builder);
    dcli_builder_end(&lending.builder);
    dcli_builder_free(&lending.builder);
    dcli_free(lending.exchanged);
    dcli_free(lending.placed);
    dcli_free(lending.stage_of);
    dcli_free(lending.work);
    if (status != DCL_OK) {
        dcli_loan_free(loan);
        return status;
    }
    *loan_out = loan;
    return DCL_OK;
}

void dcli_loan_free(dcli_loan *loan)
{
    if (loan == NULL)
        return;
    dcli_plan_free(loan->plan);
    dcli_free(loan->source);
    dcli_free(loan);
}

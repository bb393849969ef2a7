/* test/support/simkernel.c - run a batch of a loop body as planned: fill stages, run works through their bindings, copy
 * out what was written to stages. */
#include "support/simkernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct run {
    sim_data *data;
    int p;
    const dcli_operation *operation;
    sim_plan *plan;
    const dcli_batch *batch;
    bool failed;
    int64_t **stage; /* [batch->stage_count] */
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES];
    /* the work that runs */
    const dcli_work *work;
    sim_memory memory[DCLI_MAX_ACCESSES];
    int64_t place[DCL_MAX_RANK];
};

static void wrong(struct run *run, int a, const char *what)
{
    char box[160];
    dcli_box_print(&run->work->box, box, sizeof box);
    sim_wrong(run->data, "operation %" PRId64 " on node %d, batch %td, work %s, access %d (binding %d): %s",
              run->operation->number, run->p, run->batch - run->plan->plan->batch, box, a,
              run->plan->plan->binding[run->work->first_binding + a].kind, what);
}

static const dcli_stage *stage_of(const struct run *run, int64_t s)
{
    return &run->plan->plan->stage[run->batch->first_stage + s];
}

/* ---- stages ------------------------------------------------------------------------------------------------------- */

static sim_memory piece_memory(struct run *run, const dcli_stage *stage, const dcli_piece *piece, bool in)
{
    if (piece->kind == DCLI_SPACE_CHUNK)
        return sim_chunk_memory(run->data, run->plan, piece->where, piece->byte_offset);
    if (piece->kind == DCLI_SPACE_PEER && (!in || !dcli_node_list_has(&run->plan->plan->reads, piece->where)))
        sim_wrong(run->data, "a piece lies at peer %d, which is not read in place", piece->where);
    if (piece->kind == DCLI_SPACE_REPLICA)
        return (sim_memory){.data = run->stage[piece->where - run->batch->first_stage],
                            .elements = run->plan->plan->stage[piece->where].elements};
    if (piece->kind == DCLI_SPACE_PEER && !run->plan->borrowed)
        return sim_copied_part(run->data, run->operation, run->batch - run->plan->plan->batch, stage->operand, run->p,
                               piece->where);
    if (piece->kind == DCLI_SPACE_PEER)
        return sim_read_part(run->data, run->operation, stage->operand, piece->where);
    return in ? sim_read_part(run->data, run->operation, stage->operand, run->p)
              : sim_written_part(run->data, run->operation, stage->operand, run->p);
}

static void copy_pieces(struct run *run, int64_t s, bool in)
{
    const dcli_stage *stage = stage_of(run, s);
    sim_memory memory = {.data = run->stage[s], .elements = stage->elements};
    int64_t bytes = (int64_t)dcl_type_bytes(run->operation->operand[stage->operand].layout->grid.type);
    dcli_region whole = dcli_region_padded(&stage->box, 0, bytes), part;
    int64_t first = in ? stage->first_in : stage->first_out, count = in ? stage->in_count : stage->out_count;
    for (int64_t n = first; n < first + count && !sim_is_wrong(run->data); n++) {
        const dcli_piece *piece = &run->plan->plan->piece[n];
        if (run->failed && (in || piece->kind == DCLI_SPACE_CHUNK))
            continue;
        sim_memory other = piece_memory(run, stage, piece, in);
        if (!dcli_region_cut(&whole, &piece->region.box, &part))
            sim_wrong(run->data, "a piece lies outside its stage");
        else if (run->failed)
            sim_poison(run->data, &other, &piece->region);
        else if (in)
            sim_copy(run->data, &memory, &part, &other, &piece->region);
        else
            sim_copy(run->data, &other, &piece->region, &memory, &part);
    }
    if (sim_is_wrong(run->data))
        dcli_text_put(&run->data->problem, "operation %" PRId64 " on node %d, batch %td, stage %" PRId64 ", %s\n",
                      run->operation->number, run->p, run->batch - run->plan->plan->batch, s, in ? "in" : "out");
}

/* The memory of a stage; of a retained stage that of its replica. */
static int64_t *stage_memory(struct run *run, const dcli_stage *stage)
{
    if (stage->elements != dcli_box_elements(&stage->box))
        sim_wrong(run->data, "a stage has another size than its box");
    if (stage->kind == DCLI_STAGE_TEMPORARY)
        return sim_garbage(stage->elements);
    if (stage->kind == DCLI_STAGE_AROUND) {
        sim_memory part = sim_written_part(run->data, run->operation, stage->operand, run->p);
        if (stage->offset < 0 || stage->offset + stage->elements > part.elements)
            sim_wrong(run->data, "lines around a part lie outside its memory");
        return part.data + stage->offset;
    }
    sim_replica *copy = sim_replica_of(run->data, run->p, run->operation, stage);
    if (copy != NULL && copy->data == NULL && stage->kind == DCLI_STAGE_NEW_REPLICA)
        copy->data = sim_garbage(stage->elements);
    return copy != NULL ? copy->data : NULL;
}

static void open_stages(struct run *run)
{
    run->stage = calloc((size_t)run->batch->stage_count + 1, sizeof *run->stage);
    if (run->stage == NULL)
        abort();
    for (int64_t s = 0; s < run->batch->stage_count; s++)
        run->stage[s] = stage_memory(run, stage_of(run, s));
    for (int64_t s = 0; s < run->batch->stage_count; s++) {
        const dcli_stage *stage = stage_of(run, s);
        for (int64_t n = 0; stage->fill_first && n < stage->elements; n++)
            run->stage[s][n] = sim_fill_value(run->operation->operand[stage->operand].layout);
        copy_pieces(run, s, true);
    }
}

static void close_stages(struct run *run)
{
    for (int64_t s = 0; s < run->batch->stage_count; s++) {
        copy_pieces(run, s, false);
        if (stage_of(run, s)->kind == DCLI_STAGE_TEMPORARY)
            free(run->stage[s]);
    }
    free(run->stage);
}

/* ---- works -------------------------------------------------------------------------------------------------------- */

static sim_memory binding_memory(struct run *run, int a, const dcli_binding *binding)
{
    int k = run->operation->body->access[a].param;
    int64_t s = binding->where - run->batch->first_stage;
    switch (binding->kind) {
    case DCLI_SPACE_OWN:
        return run->operation->body->access[a].written ? sim_written_part(run->data, run->operation, k, run->p)
                                                       : sim_read_part(run->data, run->operation, k, run->p);
    case DCLI_SPACE_PEER:
        if (run->operation->body->access[a].written || !dcli_node_list_has(&run->plan->plan->reads, binding->where))
            wrong(run, a, "bound to a peer that is not read in place");
        return sim_read_part(run->data, run->operation, k, binding->where);
    default:
        if (binding->where == -1)
            return (sim_memory){0}; /* nothing is touched */
        if (s < 0 || s >= run->batch->stage_count || stage_of(run, s)->operand != k) {
            wrong(run, a, "bound to a stage of another batch or operand");
            return (sim_memory){0};
        }
        return (sim_memory){.data = run->stage[s], .elements = stage_of(run, s)->elements};
    }
}

/* The address of an element for access `a`; NULL if the plan is wrong. */
static int64_t *find_place(struct run *run, int a, const int64_t element[])
{
    const dcli_binding *binding = &run->plan->plan->binding[run->work->first_binding + a];
    const dcli_subscripts *subscripts = &run->subscripts[a];
    int64_t at = binding->offset;
    if (subscripts->reach == DCLI_REACH_AFFINE)
        for (int m = 0; m < subscripts->space_rank; m++)
            at += run->place[m] * binding->step[m];
    else
        for (int d = 0; d < subscripts->rank; d++) {
            bool strides = subscripts->reach == DCLI_REACH_BOX || subscripts->reach == DCLI_REACH_FUNCTION;
            int64_t stride = strides ? binding->limits->width[d] : 1, apart = element[d] - binding->limits->low[d];
            if (apart < 0 || apart % stride != 0 || apart / stride >= binding->limits->count[d]) {
                wrong(run, a, "reads what is not said to be there");
                return NULL;
            }
            at += apart / stride * binding->step[d];
        }
    if (at >= 0 && at < run->memory[a].elements)
        return run->memory[a].data + at;
    wrong(run, a, "lies outside its memory");
    return NULL;
}

static int64_t fetch(void *user, int a, const int64_t element[])
{
    struct run *run = user;
    const int64_t *place = find_place(run, a, element);
    if (place == NULL)
        return 0;
    if (*place == SIM_GARBAGE)
        wrong(run, a, "reads what was never written");
    if (*place == SIM_POISON)
        wrong(run, a, "reads what failed");
    return *place;
}

static void outside(void *user, int a)
{
    struct run *run = user;
    if (run->subscripts[a].reach == DCLI_REACH_AFFINE && !run->work->checked)
        wrong(run, a, "reads outside the grid unchecked");
}

static void store(void *user, int a, const int64_t element[], int64_t value)
{
    struct run *run = user;
    int64_t *place = find_place(run, a, element);
    if (place != NULL)
        *place = value;
}

/* Instead of running: poison everything that would be written in the own part. */
static void lose(struct run *run)
{
    const dcli_body *body = run->operation->body;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].written && run->plan->plan->binding[run->work->first_binding + a].kind == DCLI_SPACE_OWN)
            store(run, a, NULL, SIM_POISON);
}

static void run_work(struct run *run, const dcli_work *work)
{
    const dcli_body *body = run->operation->body;
    sim_access access = {.user = run, .fetch = fetch, .outside = outside, .store = store};
    int64_t index[DCL_MAX_RANK];
    run->work = work;
    memset(run->place, 0, sizeof run->place);
    for (int a = 0; a < body->access_count; a++)
        if (!run->failed || body->access[a].written)
            run->memory[a] = binding_memory(run, a, &run->plan->plan->binding[work->first_binding + a]);
    do {
        for (int m = 0; m < work->box.rank; m++)
            index[m] = work->box.start[m] + run->place[m] * work->box.stride[m];
        if (run->failed)
            lose(run);
        else
            sim_evaluate(run->operation, run->subscripts, index, &access);
    } while (!sim_is_wrong(run->data) && sim_next_place(run->place, &work->box));
}

bool sim_is_lowered(const dcli_operation *operation)
{
    enum { NOT_LOWERED = 4 }; /* one of this many operations runs as planned instead of as lowered */
    return operation->kind == DCLI_OP_FORALL && !operation->body->tile_kernel && operation->number % NOT_LOWERED != 0;
}

/* ---- what is copied when a batch starts --------------------------------------------------------------------------- */

static sim_early *find_early(sim_data *data, const sim_early *like)
{
    for (int64_t e = 0; e < data->early_count; e++) {
        sim_early *early = &data->early[e];
        if (early->p == like->p && early->operation == like->operation && early->batch == like->batch &&
            early->operand == like->operand && early->owner == like->owner)
            return early;
    }
    return NULL;
}

sim_memory sim_copied_part(sim_data *data, const dcli_operation *operation, int64_t batch, int k, int p, int owner)
{
    const sim_early *early = find_early(
        data, &(sim_early){.p = p, .operand = k, .owner = owner, .operation = operation->number, .batch = batch});
    return early != NULL ? (sim_memory){early->data, early->elements} : sim_read_part(data, operation, k, owner);
}

static void copy_early(sim_data *data, int p, const dcli_operation *operation, int64_t batch, int k, int owner)
{
    sim_early early = {.p = p, .operand = k, .owner = owner, .operation = operation->number, .batch = batch};
    if (find_early(data, &early) != NULL)
        return;
    sim_memory part = sim_read_part(data, operation, k, owner);
    early.elements = part.elements;
    early.data = sim_garbage(part.elements);
    if (dcli_grow(&data->early, data->early_count, &data->early_capacity, sizeof early) != 0)
        abort();
    memcpy(early.data, part.data, (size_t)part.elements * sizeof *part.data);
    data->early[data->early_count++] = early;
}

static bool is_bound_to_peers(const dcli_operation *operation, const dcli_plan *plan, const dcli_batch *batch)
{
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count; w++)
        for (int a = 0; a < operation->body->access_count; a++)
            if (plan->binding[plan->work[w].first_binding + a].kind == DCLI_SPACE_PEER)
                return true;
    return false;
}

bool sim_reads_early(sim_data *data, int p, const dcli_operation *operation, int64_t b)
{
    const dcli_plan *plan = sim_plan_of(data, operation, p)->plan;
    const dcli_batch *batch = &plan->batch[b];
    if (operation->kind != DCLI_OP_FORALL)
        return false;
    if (sim_is_lowered(operation) ? sim_lowered_reads_peers(data, p, operation, b)
                                  : is_bound_to_peers(operation, plan, batch))
        return false;
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count; s++)
        for (int64_t n = plan->stage[s].first_in; n < plan->stage[s].first_in + plan->stage[s].in_count; n++)
            if (plan->piece[n].kind == DCLI_SPACE_PEER)
                copy_early(data, p, operation, b, plan->stage[s].operand, plan->piece[n].where);
    return true;
}

void sim_drop_early(sim_data *data, int p, const dcli_operation *operation, int64_t batch)
{
    for (int64_t e = 0; e < data->early_count;) {
        sim_early *early = &data->early[e];
        if (early->p != p || early->operation != operation->number || early->batch != batch) {
            e++;
            continue;
        }
        free(early->data);
        *early = data->early[--data->early_count];
    }
}

/* ---- a batch ------------------------------------------------------------------------------------------------------ */

void sim_kernel(sim_data *data, int p, const dcli_operation *operation, sim_plan *plan, int64_t b, bool failed)
{
    if (!failed && sim_is_lowered(operation)) {
        sim_lowered(data, p, operation, plan, b);
        return;
    }
    struct run run = {.data = data, .p = p, .operation = operation, .plan = plan, .failed = failed};
    run.batch = &run.plan->plan->batch[b];
    if (operation->kind == DCLI_OP_FORALL)
        sim_subscripts(operation, run.subscripts);
    if (!failed)
        sim_make_chunks(data, plan, b);
    open_stages(&run);
    for (int64_t w = 0; w < run.batch->work_count && !sim_is_wrong(data); w++)
        run_work(&run, &run.plan->plan->work[run.batch->first_work + w]);
    close_stages(&run);
}

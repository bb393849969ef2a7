/* test/support/simlowered.c - run a batch as lowered for some device: copy its routes and run its rows, with plain
 * memory instead of a device's. What launches gather is decoded from the table that kernels would get. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "kernel/gather.h"
#include "lower/lower.h"
#include "support/setrow.h"
#include "support/simkernel.h"

struct run {
    sim_data *data;
    int p;
    const dcli_operation *operation;
    const dcli_body *body; /* NULL: a move */
    sim_plan *plan;
    const dcli_batch *batch;
    dcli_lowered lowered;
    sim_memory arena;
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES];
    /* the row that runs */
    const dcli_launch *launch;
    const int64_t *row;
    sim_memory memory[DCLI_MAX_ACCESSES];
    int64_t place[DCL_MAX_RANK];
};

static void wrong(struct run *run, int a, const char *what)
{
    sim_wrong(run->data, "operation %" PRId64 " on node %d, batch %td, lowered, variant %d, access %d: %s",
              run->operation->number, run->p, run->batch - run->plan->plan->batch,
              run->launch != NULL ? (int)run->launch->variant : -1, a, what);
}

/* The device of a node for an operation: one of several kinds. */
static dcli_traits find_traits(const sim_data *data, int p, const dcli_operation *operation)
{
    uint64_t hash = dcli_hash_word(dcli_hash_word(DCLI_HASH_START, (uint64_t)operation->number), (uint64_t)p + 9) >> 20;
    bool is_gpu = !data->alike && hash % 3 == 0, in_place = !is_gpu && (data->alike || (hash >> 4) % 4 > 0);
    return (dcli_traits){.self = p,
                         .is_gpu = is_gpu,
                         .reads_peers = is_gpu && (hash >> 24) % 2 == 0,
                         .in_place = in_place,
                         .same_addresses = in_place,
                         .check_access = !data->alike && (hash >> 8) % 8 == 0,
                         .compute_units = 1 + (int)((hash >> 12) % 4),
                         .near_bytes = 32 << (hash >> 16) % 10,
                         .strip_elements = 1 + (int64_t)((hash >> 20) % 8),
                         .shares = 2};
}

/* ---- routes ------------------------------------------------------------------------------------------------------- */

static sim_memory memory_of(struct run *run, int operand, dcli_space space, bool written)
{
    const dcli_plan *plan = run->plan->plan;
    sim_replica *copy;
    switch (space.kind) {
    case DCLI_SPACE_OWN:
        return written ? sim_written_part(run->data, run->operation, operand, run->p)
                       : sim_read_part(run->data, run->operation, operand, run->p);
    case DCLI_SPACE_PEER:
        if (written || !dcli_node_list_has(&plan->reads, space.number))
            sim_wrong(run->data, "the part of peer %d is used, which is not read in place", space.number);
        return sim_read_part(run->data, run->operation, operand, space.number);
    case DCLI_SPACE_STAGE:
        return run->arena;
    case DCLI_SPACE_REPLICA:
        copy = sim_replica_of(run->data, run->p, run->operation, &plan->stage[space.number]);
        if (copy == NULL)
            return (sim_memory){0};
        if (copy->data == NULL)
            copy->data = sim_garbage(plan->stage[space.number].elements);
        return (sim_memory){.data = copy->data, .elements = plan->stage[space.number].elements};
    case DCLI_SPACE_CHUNK:
        return sim_chunk_memory(run->data, run->plan, space.number, 0);
    }
    return (sim_memory){0};
}

/* Carry out the routes into stages and replicas, or those out of stages. */
static void run_routes(struct run *run, bool out)
{
    for (int64_t r = 0; r < run->lowered.routes.count && !sim_is_wrong(run->data); r++) {
        const dcli_route *route = &run->lowered.routes.route[r];
        if ((route->from.kind == DCLI_SPACE_STAGE) != out)
            continue;
        run->data->via[route->via] = true;
        if (route->elements != dcli_transfers_elements(&route->transfers))
            sim_wrong(run->data, "a route counts other elements than it has");
        sim_memory to = memory_of(run, route->operand, route->to, true);
        sim_memory from = memory_of(run, route->operand, route->from, false);
        if (route->from.kind == DCLI_SPACE_PEER && !run->plan->borrowed)
            from = sim_copied_part(run->data, run->operation, run->batch - run->plan->plan->batch, route->operand,
                                   run->p, route->from.number);
        for (int64_t n = 0; n < route->transfers.count; n++) {
            dcli_transfer transfer = dcli_transfers_get(&route->transfers, n);
            dcli_region target = dcli_transfer_region(&transfer, &transfer.to),
                        source = dcli_transfer_region(&transfer, &transfer.from);
            sim_copy(run->data, &to, &target, &from, &source);
        }
        if (sim_is_wrong(run->data))
            dcli_text_put(&run->data->problem, "operation %" PRId64 " on node %d: a route from space %d to %d\n",
                          run->operation->number, run->p, (int)route->from.kind, (int)route->to.kind);
    }
}

static void fill_not_stored(struct run *run)
{
    const dcli_plan *plan = run->plan->plan;
    for (int64_t s = run->batch->first_stage; s < run->batch->first_stage + run->batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        bool passing = stage->kind == DCLI_STAGE_TEMPORARY;
        int64_t at = passing ? run->lowered.stage_at[s - run->batch->first_stage] : 0;
        if (stage->kind == DCLI_STAGE_NEW_REPLICA || (stage->fill_first && at >= 0)) {
            dcli_space space = {passing ? DCLI_SPACE_STAGE : DCLI_SPACE_REPLICA, (int)s};
            sim_memory memory = memory_of(run, stage->operand, space, true);
            for (int64_t n = 0; stage->fill_first && n < stage->elements && !sim_is_wrong(run->data); n++)
                memory.data[at / 8 + n] = sim_fill_value(run->operation->operand[stage->operand].layout);
        }
    }
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* A field of the current row; NULL: the access does not have it. */
static const int64_t *field_of(const struct run *run, dcli_row_field field, int a)
{
    int at = dcli_row_at(run->body, field, a);
    return at >= 0 ? run->row + at : NULL;
}

/* The address of an element for access `a`, computed only from the row's numbers; NULL if these are wrong. */
static int64_t *find_place(struct run *run, int a, const int64_t element[])
{
    const dcli_subscripts *subscripts = &run->subscripts[a];
    const int64_t *step = field_of(run, DCLI_ROW_STEP, a), *low = field_of(run, DCLI_ROW_LOW, a);
    const int64_t *extent = field_of(run, DCLI_ROW_EXTENT, a), *width = field_of(run, DCLI_ROW_WIDTH, a);
    int64_t offset = *field_of(run, DCLI_ROW_OFFSET, a);
    if (subscripts->reach == DCLI_REACH_AFFINE)
        for (int m = 0; m < run->body->space_rank; m++)
            offset += run->place[m] * step[m];
    else
        for (int d = 0, rank = subscripts->rank; d < rank; d++) {
            bool strides = subscripts->reach == DCLI_REACH_BOX || subscripts->reach == DCLI_REACH_FUNCTION;
            int64_t stride = strides ? width[d] : 1, apart = element[d] - low[d];
            if (apart < 0 || apart % stride != 0 || apart / stride >= extent[d]) {
                wrong(run, a, "reads what is not said to be there");
                return NULL;
            }
            offset += apart / stride * step[d];
        }
    if (offset >= 0 && offset < run->memory[a].elements)
        return run->memory[a].data + offset;
    wrong(run, a, "lies outside its memory");
    return NULL;
}

/* Whether the bounds of a checked row admit an element. */
static bool is_let_through(const struct run *run, int a, const int64_t element[])
{
    const int64_t *low = field_of(run, DCLI_ROW_GRID_LOW, a), *end = field_of(run, DCLI_ROW_GRID_END, a);
    int rank = run->subscripts[a].rank;
    for (int d = 0; d < rank; d++)
        if (element[d] < low[d] || element[d] >= end[d])
            return false;
    return true;
}

static int64_t fetch(void *user, int a, const int64_t element[])
{
    struct run *run = user;
    bool affine = run->subscripts[a].reach == DCLI_REACH_AFFINE;
    if (run->launch->variant == DCLI_VARIANT_CHECKED && affine && !is_let_through(run, a, element))
        wrong(run, a, "is checked and not let through");
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
    if (run->subscripts[a].reach == DCLI_REACH_AFFINE && run->launch->variant != DCLI_VARIANT_CHECKED)
        wrong(run, a, "reads outside the grid unchecked");
}

static void store(void *user, int a, const int64_t element[], int64_t value)
{
    int64_t *place = find_place(user, a, element);
    if (place != NULL)
        *place = value;
}

static void run_row(struct run *run, const int64_t row[])
{
    const sim_access access = {.user = run, .fetch = fetch, .outside = outside, .store = store};
    int rank = run->body->space_rank;
    dcl_box box = {.rank = rank};
    memcpy(box.start, row + dcli_row_at(run->body, DCLI_ROW_START, 0), (size_t)rank * sizeof row[0]);
    memcpy(box.stride, row + dcli_row_at(run->body, DCLI_ROW_STRIDE, 0), (size_t)rank * sizeof row[0]);
    memcpy(box.count, row + dcli_row_at(run->body, DCLI_ROW_COUNT, 0), (size_t)rank * sizeof row[0]);
    bool unit = run->launch->variant == DCLI_VARIANT_UNIT || run->launch->variant == DCLI_VARIANT_GATHERED;
    if (unit && !dcli_row_is_unit(run->body, row))
        wrong(run, -1, "a row does not have the steps of its kernel");
    if (run->launch->variant == DCLI_VARIANT_STRAIGHT && !dcli_row_is_straight(run->body, row))
        wrong(run, -1, "a row is not straight");
    run->row = row;
    memset(run->place, 0, sizeof run->place);
    do {
        int64_t index[DCL_MAX_RANK];
        for (int m = 0; m < rank; m++)
            index[m] = box.start[m] + run->place[m] * box.stride[m];
        if (run->body->blind && run->launch->variant != DCLI_VARIANT_CHECKED)
            sim_evaluate_blind(run->operation, &access);
        else
            sim_evaluate(run->operation, run->subscripts, index, &access);
    } while (!sim_is_wrong(run->data) && sim_next_place(run->place, &box));
}

/* @param there  for a row that finds inputs in other memory */
static void bind(struct run *run, const dcli_launch *launch, bool there)
{
    run->launch = launch;
    for (int a = 0; a < run->body->access_count; a++) {
        run->data->via[launch->via[a]] = true;
        if (launch->via[a] == DCLI_VIA_BINDING)
            run->memory[a] = memory_of(run, run->body->access[a].param, there ? launch->there[a] : launch->space[a],
                                       run->body->access[a].written);
    }
}

static void run_rows(struct run *run, const dcli_launch *launch)
{
    int length = dcli_row_length(run->body);
    bind(run, launch, false);
    int64_t rows = 0;
    for (int64_t s = 0; s < launch->set_count; s++)
        for (int64_t n = 0; n < launch->set[s].count && !sim_is_wrong(run->data); n++, rows++) {
            int64_t row[length];
            write_set_row(run->body, launch, s, n, row);
            if (launch->mixed)
                bind(run, launch, (launch->set[s].first + n) % 2 == 1);
            run_row(run, row);
        }
    if (launch->set_count > 0 && rows != launch->row_count && !sim_is_wrong(run->data))
        wrong(run, -1, "its sets have other rows than the launch");
    for (int64_t r = 0; r < launch->row_count && launch->set_count == 0 && !sim_is_wrong(run->data); r++)
        run_row(run, launch->row + r * length);
}

/* Gather the pieces of a group, by the places and shapes of a table (kernel/gather.h). */
static void gather_piece(struct run *run, const int64_t table[], const int64_t place[], sim_memory *scratch)
{
    const int64_t *shape = table + place[3];
    const dcli_source_part *part = &run->lowered.source[place[2]];
    dcli_transfer transfer = {.rank = DCLI_GATHER_AXES, .to.offset = place[0], .from.offset = place[1]};
    memcpy(transfer.count, shape + DCLI_SHAPE_COUNTS, DCLI_GATHER_AXES * sizeof shape[0]);
    memcpy(transfer.to.step, shape + DCLI_SHAPE_TO, DCLI_GATHER_AXES * sizeof shape[0]);
    memcpy(transfer.from.step, shape + DCLI_SHAPE_FROM, DCLI_GATHER_AXES * sizeof shape[0]);
    dcli_space space = {part->node == run->p ? DCLI_SPACE_OWN : DCLI_SPACE_PEER, part->node};
    sim_memory from = memory_of(run, part->operand, space, false);
    dcli_region target = dcli_transfer_region(&transfer, &transfer.to),
                source = dcli_transfer_region(&transfer, &transfer.from);
    if (part->operand != run->body->access[shape[0]].param)
        wrong(run, (int)shape[0], "gathers from another array");
    if (shape[1] < DCLI_SHAPE_LINES || shape[1] > DCLI_SHAPE_SQUARE)
        wrong(run, (int)shape[0], "gathers in no known way");
    sim_copy(run->data, scratch, &target, &from, &source);
}

static void run_groups(struct run *run, const dcli_launch *launch)
{
    int64_t *table = NULL, elements = 0;
    size_t bytes = 0;
    int length = dcli_row_length(run->body);
    if (dcli_gather_table(run->body, &run->lowered, launch, &table, &bytes) != DCL_OK)
        abort();
    bind(run, launch, false);
    for (int64_t g = 0; g < launch->group_count && !sim_is_wrong(run->data); g++) {
        const int64_t *group = table + DCLI_GATHER_HEAD + g * DCLI_GROUP_LONGS;
        sim_memory scratch = {sim_garbage(table[DCLI_GATHER_BYTES] / 8), table[DCLI_GATHER_BYTES] / 8};
        for (int a = 0; a < run->body->access_count; a++) {
            bool gathered = table[DCLI_GATHER_MASK] >> a & 1;
            if (gathered != (launch->via[a] == DCLI_VIA_GATHER))
                wrong(run, a, "is gathered or not, says the table");
            if (gathered)
                run->memory[a] = scratch;
        }
        for (int64_t n = 0; n < group[3] && !sim_is_wrong(run->data); n++)
            gather_piece(run, table, table + group[2] + n * DCLI_PLACE_LONGS, &scratch);
        for (int64_t r = 0; r < group[1] && !sim_is_wrong(run->data); r++) {
            const int64_t *row = table + group[0] + r * length;
            dcl_box box = {.rank = run->body->space_rank};
            memcpy(box.count, row + dcli_row_at(run->body, DCLI_ROW_COUNT, 0), (size_t)box.rank * sizeof row[0]);
            elements += dcli_box_elements(&box);
            run_row(run, row);
        }
        free(scratch.data);
    }
    if (!sim_is_wrong(run->data) && elements != table[DCLI_GATHER_ELEMENTS])
        wrong(run, -1, "its groups compute other elements than the launch");
    dcli_free(table);
}

void sim_lowered(sim_data *data, int p, const dcli_operation *operation, sim_plan *plan, int64_t b)
{
    struct run run = {.data = data, .p = p, .operation = operation, .body = operation->body};
    const dcli_traits traits = find_traits(data, p, operation);
    run.plan = plan;
    run.batch = &run.plan->plan->batch[b];
    sim_make_chunks(data, plan, b);
    sim_subscripts(operation, run.subscripts);
    if (dcli_lower(operation, run.plan->plan, run.batch, &traits, &run.lowered) != DCL_OK)
        abort();
    run.arena = (sim_memory){sim_garbage(run.lowered.arena_bytes / 8), run.lowered.arena_bytes / 8};
    fill_not_stored(&run);
    run_routes(&run, false);
    for (int64_t l = 0; l < run.lowered.launch_count && !sim_is_wrong(data); l++)
        (run.lowered.launch[l].gathers ? run_groups : run_rows)(&run, &run.lowered.launch[l]);
    run_routes(&run, true);
    dcli_lowered_free(&run.lowered);
    free(run.arena.data);
}

bool sim_lowered_reads_peers(sim_data *data, int p, const dcli_operation *operation, int64_t b)
{
    const dcli_plan *plan = sim_plan_of(data, operation, p)->plan;
    const dcli_traits traits = find_traits(data, p, operation);
    dcli_lowered lowered = {0};
    if (dcli_lower(operation, plan, &plan->batch[b], &traits, &lowered) != DCL_OK)
        abort();
    bool reads = lowered.reads_peers;
    dcli_lowered_free(&lowered);
    return reads;
}

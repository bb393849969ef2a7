/* test/support/simdata.c - parts, chunks and plans of a simulated cluster, and all actions except loop bodies. */
#include "support/simdata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/check.h"
#include "support/simkernel.h"
#include "support/simplan.h"

void sim_wrong(sim_data *data, const char *format, ...)
{
    char line[512];
    va_list values;
    if (sim_is_wrong(data))
        return;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    dcli_text_put(&data->problem, "%s\n", line);
}

int64_t *sim_garbage(int64_t elements)
{
    int64_t *memory = malloc((size_t)dcli_max(elements, 1) * sizeof *memory);
    if (memory == NULL)
        abort();
    for (int64_t n = 0; n < elements; n++)
        memory[n] = SIM_GARBAGE;
    return memory;
}

/* ---- plans -------------------------------------------------------------------------------------------------------- */

/* The most bytes of chunks that exist at the same time, batch by batch. */
static int64_t most_bytes(const dcli_plan *plan)
{
    int64_t most = 0, live = 0;
    int64_t *ending = calloc((size_t)plan->batch_count + 1, sizeof *ending);
    if (ending == NULL)
        abort();
    for (int64_t b = 0, c = 0; b < plan->batch_count; b++) {
        for (; c < plan->chunk_count && plan->chunk[c].first_batch == b; c++)
            if (!plan->chunk[c].written) {
                live += plan->chunk[c].bytes;
                ending[plan->chunk[c].last_batch] += plan->chunk[c].bytes;
            }
        most = dcli_max(most, live);
        live -= ending[b];
    }
    free(ending);
    return most;
}

/* Check what every plan must satisfy. */
static void check_plan(sim_data *data, const dcli_operation *operation, int self, const dcli_plan *plan)
{
    int64_t length[2][65] = {{0}}, batch = 0;
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        bool ordered = chunk->number == length[chunk->written][chunk->peer]++ && chunk->first_batch >= batch &&
                       chunk->last_batch >= chunk->first_batch && chunk->last_batch < plan->batch_count;
        if (!ordered || chunk->peer == self || chunk->bytes > dcli_max(data->terms.chunk_bytes, 8) ||
            chunk->bytes < 8 || chunk->item_count < 1)
            sim_wrong(data, "chunk %" PRId64 " of operation %" PRId64 " for peer %d is not as it should be", c,
                      operation->number, self);
        batch = chunk->first_batch;
    }
    for (int64_t w = 0; w < plan->work_count; w++)
        if (dcli_box_is_empty(&plan->work[w].box))
            sim_wrong(data, "work %" PRId64 " of operation %" PRId64 " for peer %d is empty", w, operation->number,
                      self);
}

sim_plan *sim_plan_of(sim_data *data, const dcli_operation *operation, int peer)
{
    return &data->plan[(operation->number - 1) * data->peers + peer];
}

static void make_plan(sim_data *data, const dcli_operation *operation, int peer)
{
    sim_plan *plan = sim_plan_of(data, operation, peer);
    if (dcli_plan_make(operation, peer, &data->terms, &plan->plan) != DCL_OK)
        abort();
    plan->payload = calloc((size_t)plan->plan->chunk_count + 1, sizeof *plan->payload);
    plan->most = most_bytes(plan->plan);
    check_plan(data, operation, peer, plan->plan);
    const char *difference = sim_plan_differs(plan->plan, operation, peer, &data->terms);
    if (difference != NULL)
        sim_wrong(data, "the plan of operation %" PRId64 " for peer %d differs, made another way, by its %s",
                  operation->number, peer, difference);
    int step = 1 + data->peers / 5; /* of many peers a few */
    for (int other = (int)(operation->number % step); other < data->peers && difference == NULL; other += step) {
        if (other == peer)
            continue;
        difference = sim_pair_differs(plan->plan, operation, peer, other, &data->terms);
        if (difference != NULL)
            sim_wrong(data,
                      "the plan of operation %" PRId64 " for peer %d differs, made for the pair with %d, by its %s",
                      operation->number, peer, other, difference);
    }
    if (plan->payload == NULL)
        abort();
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static sim_replica *find_copy(const sim_data *data, int p, int64_t storage, const dcl_box *box, int64_t operation)
{
    for (int64_t c = 0; c < data->copy_count; c++) {
        sim_replica *copy = &data->copy[c];
        if (copy->node == p && copy->storage == storage && copy->from <= operation && operation < copy->until &&
            dcli_box_equal(&copy->box, box))
            return copy;
    }
    return NULL;
}

sim_replica *sim_replica_of(sim_data *data, int p, const dcli_operation *operation, const dcli_stage *stage)
{
    sim_replica *copy = find_copy(data, p, operation->operand[stage->operand].storage, &stage->box, operation->number);
    if (copy == NULL)
        sim_wrong(data, "operation %" PRId64 " on node %d uses a copy that nobody makes", operation->number, p);
    return copy;
}

/* Record the replicas that node p's plan for an operation makes. */
static void note_copies(sim_data *data, int p, const dcli_operation *operation)
{
    const dcli_plan *plan = sim_plan_of(data, operation, p)->plan;
    if (dcli_directory_add(&data->directory, p, operation, plan) != DCL_OK)
        abort();
    for (int64_t s = 0; s < plan->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        int64_t storage = operation->operand[stage->operand].storage;
        if (stage->kind != DCLI_STAGE_NEW_REPLICA ||
            find_copy(data, p, storage, &stage->box, operation->number) != NULL)
            continue;
        if (dcli_grow(&data->copy, data->copy_count, &data->copy_capacity, sizeof *data->copy) != 0)
            abort();
        data->copy[data->copy_count++] = (sim_replica){
            .node = p, .storage = storage, .from = operation->number, .until = INT64_MAX, .box = stage->box};
    }
}

struct dropping {
    sim_data *data;
    int64_t operation, until;
};

static void drop_copy(void *user, int node, const dcli_replica *copy)
{
    struct dropping *dropping = user;
    sim_replica *dropped = find_copy(dropping->data, node, copy->storage, &copy->box, dropping->operation);
    if (dropped == NULL)
        abort();
    dropped->until = dropping->until;
}

/* Make the plans in order, because what an operation moves depends on earlier replicas. */
static void make_plans(sim_data *data)
{
    data->terms.directory = &data->directory;
    for (int s = 0; s < data->program->step_count; s++) {
        const dcli_operation *operation = &data->program->step[s].operation;
        struct dropping dropping = {.data = data, .operation = operation->number, .until = operation->number};
        dcli_directory_begin(&data->directory, operation, drop_copy, &dropping);
        for (int p = 0; p < data->peers; p++)
            make_plan(data, operation, p);
        for (int p = 0; p < data->terms.node_count; p++)
            note_copies(data, p, operation);
        dropping.until = operation->number + 1; /* it may have read other elements of it */
        dcli_directory_write(&data->directory, operation, drop_copy, &dropping);
    }
}

uint64_t *sim_held(const sim_data *data, const dcli_operation *operation, int k)
{
    const dcli_operand *operand = &operation->operand[k];
    if (operand->generation == 0)
        return NULL;
    uint64_t *held = calloc((size_t)dcl_grid_count(&operand->layout->grid) + 1, sizeof *held);
    if (held == NULL)
        abort();
    for (int64_t c = 0; c < data->copy_count; c++) {
        const sim_replica *copy = &data->copy[c];
        int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK];
        if (copy->storage != operand->storage || copy->from >= operation->number || operation->number >= copy->until)
            continue;
        do {
            for (int d = 0; d < copy->box.rank; d++)
                element[d] = copy->box.start[d] + place[d] * copy->box.stride[d];
            sim_wrap(operand->layout, element);
            held[sim_number_of(&operand->layout->grid, element)] |= UINT64_C(1) << copy->node;
        } while (sim_next_place(place, &copy->box));
    }
    return held;
}

bool sim_lacks_copy(sim_data *data, int p, const dcli_operation *operation, int64_t b)
{
    const dcli_plan *plan = sim_plan_of(data, operation, p)->plan;
    for (int64_t s = plan->batch[b].first_stage; s < plan->batch[b].first_stage + plan->batch[b].stage_count; s++) {
        if (plan->stage[s].kind != DCLI_STAGE_REPLICA)
            continue;
        const sim_replica *copy = sim_replica_of(data, p, operation, &plan->stage[s]);
        if (copy != NULL && !copy->filled)
            return true;
    }
    return false;
}

void sim_fill_copies(sim_data *data, int p, const dcli_operation *operation, int64_t b)
{
    const dcli_plan *plan = sim_plan_of(data, operation, p)->plan;
    for (int64_t s = plan->batch[b].first_stage; s < plan->batch[b].first_stage + plan->batch[b].stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        sim_replica *copy = stage->kind == DCLI_STAGE_NEW_REPLICA ? sim_replica_of(data, p, operation, stage) : NULL;
        if (copy != NULL && !stage->unfinished)
            copy->filled = true;
    }
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

void sim_data_open(sim_data *data, sim_program *program, const dcli_plan_terms *terms)
{
    *data = (sim_data){.program = program, .terms = *terms, .peers = terms->node_count + 1};
    data->terms.planner = dcli_planner_new();
    data->plan = calloc((size_t)(program->step_count * data->peers), sizeof *data->plan);
    data->part = calloc((size_t)(program->array_count * terms->node_count), sizeof *data->part);
    if (data->plan == NULL || data->part == NULL || data->terms.planner == NULL)
        abort();
    data->directory.node_count = terms->node_count;
    make_plans(data);
}

static void free_plans(sim_data *data)
{
    for (int n = 0; n < data->program->step_count * data->peers; n++) {
        sim_plan *plan = &data->plan[n];
        for (int64_t c = 0; plan->plan != NULL && c < plan->plan->chunk_count; c++)
            free(plan->payload[c].data);
        free(plan->payload);
        dcli_plan_free(plan->plan);
        *plan = (sim_plan){0};
    }
    for (int64_t c = 0; c < data->copy_count; c++)
        free(data->copy[c].data);
    data->copy_count = 0;
    dcli_directory_free(&data->directory);
    data->directory.generation = 0;
}

void sim_set_pool(sim_data *data, int64_t pool_bytes)
{
    free_plans(data);
    data->terms.pool_bytes = pool_bytes;
    make_plans(data);
}

void sim_data_close(sim_data *data)
{
    free_plans(data);
    for (int n = 0; n < data->program->array_count * data->terms.node_count; n++)
        free(data->part[n].data);
    for (int64_t e = 0; e < data->early_count; e++)
        free(data->early[e].data);
    dcli_free(data->early);
    dcli_free(data->copy);
    free(data->plan);
    free(data->part);
    dcli_planner_free(data->terms.planner);
    dcli_text_free(&data->problem);
}

/* ---- memories ----------------------------------------------------------------------------------------------------- */

static sim_part *part_of(sim_data *data, int64_t storage, int p)
{
    return &data->part[(storage - 1) * data->terms.node_count + p];
}

sim_memory sim_read_part(sim_data *data, const dcli_operation *operation, int k, int p)
{
    const sim_part *part = part_of(data, operation->operand[k].storage, p);
    if (part->data == NULL && dcli_layout_storage(operation->operand[k].layout, p) > 0)
        sim_wrong(data, "operation %" PRId64 " reads the part of node %d of storage %" PRId64 ", which is not there",
                  operation->number, p, operation->operand[k].storage);
    return (sim_memory){.data = part->data, .elements = part->data == NULL ? 0 : part->elements};
}

sim_memory sim_written_part(sim_data *data, const dcli_operation *operation, int k, int p)
{
    sim_part *part = part_of(data, operation->operand[k].storage, p);
    if (part->released)
        sim_wrong(data, "operation %" PRId64 " writes to the part of node %d of storage %" PRId64 " after its release",
                  operation->number, p, operation->operand[k].storage);
    if (part->data == NULL) { /* its allocation failed before: try again now */
        part->elements = dcli_layout_storage(operation->operand[k].layout, p);
        part->data = sim_garbage(part->elements);
        for (int64_t n = 0; n < part->elements; n++)
            part->data[n] = SIM_POISON;
    }
    return (sim_memory){.data = part->data, .elements = part->elements};
}

sim_memory sim_chunk_memory(sim_data *data, sim_plan *plan, int64_t c, int64_t byte_offset)
{
    const dcli_chunk *chunk = &plan->plan->chunk[c];
    const sim_payload *payload = &plan->payload[c];
    if (payload->data == NULL || (!chunk->written && !payload->arrived))
        sim_wrong(data, "chunk %" PRId64 " is used and not there", c);
    if (byte_offset % 8 != 0 || byte_offset < 0 || byte_offset > chunk->bytes)
        sim_wrong(data, "byte offset %" PRId64 " in a chunk of %" PRId64 " bytes", byte_offset, chunk->bytes);
    if (payload->data == NULL || sim_is_wrong(data))
        return (sim_memory){0};
    return (sim_memory){.data = payload->data + byte_offset / 8, .elements = (chunk->bytes - byte_offset) / 8};
}

static bool fits(const sim_memory *memory, const dcli_region *region)
{
    int64_t low = region->offset, high = region->offset;
    if (dcli_box_is_empty(&region->box))
        return true;
    for (int d = 0; d < region->box.rank; d++) {
        int64_t reach = (region->box.count[d] - 1) * region->step[d];
        *(reach < 0 ? &low : &high) += reach;
    }
    return low >= 0 && high < memory->elements;
}

static int64_t *place_in(const sim_memory *memory, const dcli_region *region, const int64_t place[])
{
    int64_t *at = memory->data + region->offset;
    for (int d = 0; d < region->box.rank; d++)
        at += place[d] * region->step[d];
    return at;
}

void sim_copy(sim_data *data, const sim_memory *target, const dcli_region *to, const sim_memory *source,
              const dcli_region *from)
{
    int64_t place[DCL_MAX_RANK] = {0};
    if (sim_is_wrong(data) || dcli_box_is_empty(&to->box))
        return;
    if (!fits(target, to) || !fits(source, from) || !dcli_box_equal(&to->box, &from->box)) {
        sim_wrong(data, "a region does not fit its memory");
        return;
    }
    do {
        int64_t value = *place_in(source, from, place);
        if (value == SIM_GARBAGE)
            sim_wrong(data, "an element is copied that was never written");
        *place_in(target, to, place) = value;
    } while (sim_next_place(place, &to->box));
}

void sim_poison(sim_data *data, const sim_memory *target, const dcli_region *region)
{
    int64_t place[DCL_MAX_RANK] = {0};
    if (dcli_box_is_empty(&region->box))
        return;
    if (!fits(target, region)) {
        sim_wrong(data, "a region does not fit its memory");
        return;
    }
    do
        *place_in(target, region, place) = SIM_POISON;
    while (sim_next_place(place, &region->box));
}

/* ---- actions ------------------------------------------------------------------------------------------------------ */

void sim_make_chunks(sim_data *data, sim_plan *plan, int64_t b)
{
    const dcli_batch *batch = &plan->plan->batch[b];
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++) {
        if (plan->payload[c].data != NULL)
            sim_wrong(data, "chunk %" PRId64 " is made twice", c);
        plan->payload[c].data = sim_garbage(plan->plan->chunk[c].bytes / 8);
    }
}

static void run_create(sim_data *data, int p, const dcli_operation *operation, bool failed)
{
    sim_part *part = part_of(data, operation->operand[0].storage, p);
    if (failed)
        return;
    part->elements = dcli_layout_storage(operation->operand[0].layout, p);
    part->data = sim_garbage(part->elements);
    for (int64_t n = 0; n < part->elements; n++)
        part->data[n] = 0;
}

static void run_release(sim_data *data, int p, const dcli_operation *operation)
{
    sim_part *part = part_of(data, operation->operand[0].storage, p);
    for (int64_t n = 0; part->data != NULL && n < part->elements; n++)
        part->data[n] = SIM_GARBAGE;
    part->released = true;
}

/* The value that FILL and LOAD give to an element, and SAVE expects. */
static int64_t whole_value(const sim_step *step, int64_t number, bool failed)
{
    if (failed)
        return SIM_POISON;
    switch (step->operation.kind) {
    case DCLI_OP_FILL:
        return step->fill;
    case DCLI_OP_LOAD:
        return sim_loaded(step->fill, number);
    default:
        return step->expected[number];
    }
}

/* FILL, LOAD, SAVE: process every element of the own part. */
static void run_whole(sim_data *data, int p, const dcli_operation *operation, bool failed)
{
    const sim_step *step = sim_step_of(data->program, operation->number);
    const dcli_layout *layout = operation->operand[0].layout;
    bool saves = operation->kind == DCLI_OP_SAVE;
    dcli_region_list regions = {0};
    if ((saves && failed) || dcli_layout_owned(layout, p) == 0)
        return;
    sim_memory memory = saves ? sim_read_part(data, operation, 0, p) : sim_written_part(data, operation, 0, p);
    if (dcli_layout_regions(layout, p, NULL, &regions) != DCL_OK)
        abort();
    for (int64_t r = 0; r < regions.count && !sim_is_wrong(data); r++) {
        const dcli_region *region = &regions.region[r];
        int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK];
        do {
            for (int d = 0; d < region->box.rank; d++)
                element[d] = region->box.start[d] + place[d] * region->box.stride[d];
            int64_t *at = place_in(&memory, region, place);
            int64_t value = whole_value(step, sim_number_of(&layout->grid, element), failed);
            if (saves && *at != value)
                sim_wrong(data,
                          "operation %" PRId64 " saves a wrong element on node %d: %" PRIx64 ", expected %" PRIx64,
                          operation->number, p, *at, value);
            *at = value;
        } while (sim_next_place(place, &region->box));
    }
    dcli_region_list_free(&regions);
}

/* READ, WRITE on the host: copy between a chunk and the program's memory. */
static void run_transfer(sim_data *data, int p, const dcli_operation *operation, int64_t b, bool failed)
{
    const sim_step *step = sim_step_of(data->program, operation->number);
    sim_plan *plan = sim_plan_of(data, operation, p);
    const dcli_chunk *moved = &plan->plan->chunk[b];
    sim_memory program = {.data = step->memory, .elements = dcli_box_elements(&operation->box)};
    dcli_region whole = dcli_region_packed(&operation->box, 0);
    bool reads = operation->kind == DCLI_OP_READ;
    if (failed)
        return;
    if (!reads)
        sim_make_chunks(data, plan, b);
    for (int64_t i = moved->first_item; i < moved->first_item + moved->item_count && !sim_is_wrong(data); i++) {
        dcli_item item = dcli_plan_item(plan->plan, i);
        sim_memory chunk = sim_chunk_memory(data, plan, b, item.byte_offset);
        dcli_region part, packed = dcli_region_packed(&item.region.box, 0);
        if (!dcli_region_cut(&whole, &item.region.box, &part))
            sim_wrong(data, "operation %" PRId64 " moves what it was not asked to", operation->number);
        else if (reads)
            sim_copy(data, &program, &part, &chunk, &packed);
        else
            sim_copy(data, &chunk, &packed, &program, &part);
    }
}

void sim_run(sim_data *data, int p, const dcli_operation *operation, int64_t b, bool failed)
{
    switch (operation->kind) {
    case DCLI_OP_CREATE:
        run_create(data, p, operation, failed);
        break;
    case DCLI_OP_RELEASE:
        run_release(data, p, operation);
        break;
    case DCLI_OP_FORALL:
    case DCLI_OP_MOVE:
        sim_kernel(data, p, operation, sim_plan_of(data, operation, p), b, failed);
        sim_drop_early(data, p, operation, b);
        break;
    case DCLI_OP_READ:
    case DCLI_OP_WRITE:
        run_transfer(data, p, operation, b, failed);
        break;
    default:
        run_whole(data, p, operation, failed);
    }
}

void sim_run_borrowed(sim_data *data, int p, const dcli_operation *operation, sim_plan *plan)
{
    sim_kernel(data, p, operation, plan, 0, false);
}

/* Where the victim finds an input of a loan. */
static sim_memory memory_of_source(sim_data *data, int p, const dcli_operation *operation, int k,
                                   const dcli_piece *source)
{
    sim_plan *plan = sim_plan_of(data, operation, p);
    if (source->kind == DCLI_SPACE_CHUNK)
        return sim_chunk_memory(data, plan, source->where, source->byte_offset);
    if (source->kind == DCLI_SPACE_REPLICA) {
        const dcli_stage *stage = &plan->plan->stage[source->where];
        const sim_replica *copy = sim_replica_of(data, p, operation, stage);
        return copy == NULL ? (sim_memory){0} : (sim_memory){.data = copy->data, .elements = stage->elements};
    }
    return sim_read_part(data, operation, k, source->kind == DCLI_SPACE_PEER ? source->where : p);
}

void sim_pack_loan(sim_data *data, int p, const dcli_operation *operation, const dcli_loan *loan, sim_payload payload[],
                   int64_t c)
{
    const dcli_chunk *chunk = &loan->plan->chunk[c];
    payload[c].data = sim_garbage(chunk->bytes / 8);
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && !sim_is_wrong(data); i++) {
        const dcli_item *item = &loan->plan->item[i];
        sim_memory source = memory_of_source(data, p, operation, item->operand, &loan->source[i]);
        sim_memory target = {.data = payload[c].data + item->byte_offset / 8,
                             .elements = (chunk->bytes - item->byte_offset) / 8};
        dcli_region packed = dcli_region_packed(&item->region.box, 0);
        sim_copy(data, &target, &packed, &source, &loan->source[i].region);
    }
}

void sim_commit_loan(sim_data *data, int p, const dcli_operation *operation, const dcli_loan *loan,
                     sim_payload payload[], int64_t c)
{
    const dcli_chunk *chunk = &loan->plan->chunk[c];
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && !sim_is_wrong(data); i++) {
        const dcli_item *item = &loan->plan->item[i];
        sim_memory part = sim_written_part(data, operation, item->operand, p);
        sim_memory source = {.data = payload[c].data + item->byte_offset / 8,
                             .elements = (chunk->bytes - item->byte_offset) / 8};
        dcli_region packed = dcli_region_packed(&item->region.box, 0);
        sim_copy(data, &part, &item->region, &source, &packed);
    }
}

void sim_pack(sim_data *data, int p, const dcli_operation *operation, int peer, int64_t c, bool failed)
{
    sim_plan *plan = sim_plan_of(data, operation, peer);
    const dcli_chunk *chunk = &plan->plan->chunk[c];
    sim_payload *payload = &plan->payload[c];
    if (chunk->written || chunk->peer != p || payload->data != NULL)
        sim_wrong(data, "node %d packs chunk %" PRId64 " of node %d, which it cannot", p, c, peer);
    if (failed)
        return;
    payload->data = sim_garbage(chunk->bytes / 8);
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && !sim_is_wrong(data); i++) {
        const dcli_item found = dcli_plan_item(plan->plan, i), *item = &found;
        sim_memory part = sim_read_part(data, operation, item->operand, p);
        sim_memory target = {.data = payload->data + item->byte_offset / 8,
                             .elements = (chunk->bytes - item->byte_offset) / 8};
        dcli_region packed = dcli_region_packed(&item->region.box, 0);
        sim_copy(data, &target, &packed, &part, &item->region);
    }
    if (sim_is_wrong(data))
        dcli_text_put(&data->problem, "node %d packs chunk %" PRId64 " of operation %" PRId64 " for %d\n", p, c,
                      operation->number, peer);
}

void sim_commit(sim_data *data, int p, const dcli_operation *operation, int peer, int64_t c, bool failed)
{
    sim_plan *plan = sim_plan_of(data, operation, peer);
    const dcli_chunk *chunk = &plan->plan->chunk[c];
    sim_payload *payload = &plan->payload[c];
    if (!chunk->written || chunk->peer != p || !payload->arrived)
        sim_wrong(data, "node %d commits chunk %" PRId64 " of node %d, which it cannot", p, c, peer);
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && !sim_is_wrong(data); i++) {
        const dcli_item found = dcli_plan_item(plan->plan, i), *item = &found;
        sim_memory part = sim_written_part(data, operation, item->operand, p);
        dcli_region packed = dcli_region_packed(&item->region.box, 0);
        if (failed) {
            sim_poison(data, &part, &item->region);
            continue;
        }
        sim_memory source = sim_chunk_memory(data, plan, c, item->byte_offset);
        sim_copy(data, &part, &item->region, &source, &packed);
    }
    if (sim_is_wrong(data))
        dcli_text_put(&data->problem, "node %d commits chunk %" PRId64 " of operation %" PRId64 " of %d\n", p, c,
                      operation->number, peer);
    free(payload->data);
    *payload = (sim_payload){0};
}

void sim_drop(sim_data *data, int p, const dcli_operation *operation, int64_t c)
{
    sim_plan *plan = sim_plan_of(data, operation, p);
    if (plan->plan->chunk[c].written || !plan->payload[c].arrived || plan->payload[c].dropped)
        sim_wrong(data, "node %d drops chunk %" PRId64 " of operation %" PRId64 ", which it does not have", p, c,
                  operation->number);
    sim_discard(&plan->payload[c]);
    plan->payload[c].dropped = true;
}

void sim_discard(sim_payload *payload)
{
    free(payload->data);
    *payload = (sim_payload){0};
}

/* test/support/simcheck.c - check the results of a simulated run. */
#include "support/simcheck.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/simcount.h"
#include "workqueue/plan_detail.h"

void sim_verdict_open(sim_verdict *verdict, sim_program *program, int peers)
{
    size_t steps = (size_t)program->step_count;
    *verdict = (sim_verdict){.program = program, .peers = peers};
    verdict->failed = calloc((2 + (size_t)peers * (size_t)peers) * steps, sizeof(bool));
    if (verdict->failed == NULL)
        abort();
    verdict->refused = verdict->failed + steps;
    verdict->cause = verdict->refused + steps;
}

void sim_verdict_close(sim_verdict *verdict)
{
    free(verdict->failed);
    dcli_storages_free(&verdict->known);
}

static dcli_storage *known(sim_verdict *verdict, int64_t storage)
{
    dcli_storage *entry = dcli_storages_get(&verdict->known, storage);
    if (entry == NULL)
        abort();
    return entry;
}

void sim_verdict_issued(sim_verdict *verdict, const dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].overwrites &&
            dcli_storage_overwrite(known(verdict, operation->operand[k].storage), operation->number) != DCL_OK)
            abort();
}

void sim_verdict_failed(sim_verdict *verdict, const dcli_operation *operation)
{
    verdict->failed[operation->number - 1] = true;
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].storage >= 0 && operation->operand[k].writes &&
            dcli_storage_fail(known(verdict, operation->operand[k].storage), operation->number) != DCL_OK)
            abort();
}

void sim_verdict_cause(sim_verdict *verdict, const dcli_operation *operation, int p, int by)
{
    verdict->cause[((operation->number - 1) * verdict->peers + p) * verdict->peers + by] = true;
}

void sim_verdict_read(sim_verdict *verdict, sim_data *data, const sim_step *step)
{
    int64_t number = step->operation.number;
    verdict->refused[number - 1] = verdict->failed[number - 1];
    if (verdict->failed[number - 1])
        return;
    for (int64_t n = 0; n < dcli_box_elements(&step->operation.box); n++)
        if (step->memory[n] != step->expected[n]) {
            sim_wrong(data, "operation %" PRId64 " reads %" PRIx64 " at place %" PRId64 "; expected %" PRIx64, number,
                      step->memory[n], n, step->expected[n]);
            return;
        }
}

/* ---- the end ------------------------------------------------------------------------------------------------------- */

static void check_contents(sim_data *data, const sim_array *array)
{
    const dcl_grid *grid = &array->layout.grid;
    dcl_box box = dcl_box_of(grid);
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK], offset;
    if (array->elements == 0)
        return;
    do {
        int node;
        for (int d = 0; d < grid->rank; d++)
            element[d] = grid->origin[d] + place[d];
        dcli_layout_locate(&array->layout, element, &node, &offset);
        if (node < 0)
            continue;
        const sim_part *part = &data->part[(array->storage - 1) * data->terms.node_count + node];
        int64_t expected = array->value[sim_number_of(grid, element)];
        if (part->data == NULL || part->data[offset] != expected) {
            sim_wrong(data, "storage %" PRId64 " ends with %" PRIx64 " at element %" PRId64 "; expected %" PRIx64,
                      array->storage, part->data == NULL ? 0 : part->data[offset], sim_number_of(grid, element),
                      expected);
            return;
        }
    } while (sim_next_place(place, &box));
}

/* Follow failures through the program: which operations can have failed, and which must have. */
struct failures {
    bool may[SIM_MAX_ARRAYS + 1], must[SIM_MAX_ARRAYS + 1]; /* by storage */
};

static bool follow(struct failures *failures, const dcli_operation *operation, bool excuse, bool cause)
{
    bool may = excuse || cause;
    for (int k = 0; k < operation->operand_count; k++)
        may |= operation->operand[k].storage >= 0 && operation->operand[k].reads &&
               failures->may[operation->operand[k].storage];
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_operand *operand = &operation->operand[k];
        if (operand->storage < 0 || !operand->writes)
            continue;
        if (operand->overwrites)
            failures->may[operand->storage] = failures->must[operand->storage] = false;
        failures->may[operand->storage] |= may;
        failures->must[operand->storage] |= cause;
    }
    return may;
}

static bool is_lost(const sim_verdict *verdict, const dcli_layout *layout, const bool dead[])
{
    for (int p = 0; p < verdict->peers - 1; p++)
        if (dead[p] && dcli_layout_owned(layout, p) > 0)
            return true;
    return false;
}

/* Find why an operation failed. @param excuse_out  something went wrong, but the peer that had to report it is dead. */
static bool find_cause(const sim_verdict *verdict, int s, const bool dead[], bool *excuse_out)
{
    int peers = verdict->peers;
    bool cause = false;
    *excuse_out = false;
    for (int p = 0; p < peers; p++)
        for (int by = 0; by < peers; by++)
            *(dead[p] || dead[by] ? excuse_out : &cause) |= verdict->cause[(s * peers + p) * peers + by];
    return cause;
}

void sim_verdict_end(sim_verdict *verdict, sim_data *data, const bool dead[])
{
    struct failures failures = {.may = {false}};
    for (int s = 0; s < verdict->program->step_count; s++) {
        bool excuse, cause = find_cause(verdict, s, dead, &excuse);
        bool may = follow(&failures, &verdict->program->step[s].operation, excuse, cause);
        if (verdict->failed[s] && !may)
            sim_wrong(data, "operation %d fails without a reason", s + 1);
        if (cause && !verdict->failed[s])
            sim_wrong(data, "operation %d failed, and the program is not told", s + 1);
    }
    for (int n = 0; n < verdict->program->array_count && !sim_is_wrong(data); n++) {
        const sim_array *array = &verdict->program->array[n];
        bool failed = dcli_storage_failed(known(verdict, array->storage), INT64_MAX);
        if (array->released || is_lost(verdict, &array->layout, dead))
            continue;
        if (failed && !failures.may[array->storage])
            sim_wrong(data, "storage %" PRId64 " is failed without a reason", array->storage);
        if (!failed && failures.must[array->storage])
            sim_wrong(data, "storage %" PRId64 " failed, and the program takes it for good", array->storage);
        if (!failed)
            check_contents(data, array);
    }
}

/* ---- counters ------------------------------------------------------------------------------------------------------ */

/* Whether planned counters are valid for counted ones: equal, or at least as large. */
static bool fits(int64_t planned_bytes, int64_t planned_blocks, int64_t bytes, int64_t blocks, bool exact)
{
    return exact ? planned_bytes == bytes && planned_blocks == blocks
                 : planned_bytes >= bytes && planned_blocks >= blocks;
}

static void check_pair(sim_data *data, const dcli_operation *operation, const dcli_plan_pair *pair, int owner, int user,
                       int64_t bytes, int64_t blocks, bool exact)
{
    if (!fits(pair->bytes, pair->blocks, bytes, blocks, exact))
        sim_wrong(data,
                  "operation %" PRId64 " plans to move %" PRId64 " bytes, %" PRId64 " blocks between owner %d and user "
                  "%d; counted are %" PRId64 ", %" PRId64,
                  operation->number, pair->bytes, pair->blocks, owner, user, bytes, blocks);
    if (pair->bytes > pair->bytes_read + pair->bytes_written || pair->bytes < pair->bytes_read ||
        pair->bytes < pair->bytes_written)
        sim_wrong(data,
                  "operation %" PRId64 ", owner %d, user %d: %" PRId64 " bytes of which %" PRId64 " are read, %" PRId64
                  " written",
                  operation->number, owner, user, pair->bytes, pair->bytes_read, pair->bytes_written);
}

/* Whether the operation has a halo: for indices farther apart than their halos, plans take everything, marked as
 * approximate. */
static bool has_halo(const dcli_operation *operation)
{
    for (int a = 0; a < operation->body->access_count; a++) {
        dcli_reach reach = operation->body->access[a].reach;
        if (reach == DCLI_REACH_HALO || reach == DCLI_REACH_CROSS)
            return true;
    }
    return false;
}

/* Check the counters of a user, for each pair and in total. */
static void check_user(sim_data *data, const dcli_operation *operation, int user, const int64_t bytes[],
                       const int64_t blocks[], bool exact)
{
    const dcli_plan *plan = sim_plan_of(data, operation, user)->plan;
    exact &= plan->counters.approximate == 0 || !has_halo(operation);
    int nodes = data->terms.node_count;
    dcli_plan_pair sum = {0};
    for (int owner = 0; owner < nodes; owner++) {
        const dcli_plan_pair *pair = &plan->detail->pair[owner];
        check_pair(data, operation, pair, owner, user, bytes[owner * nodes + user], blocks[owner * nodes + user],
                   exact);
        sum.bytes += pair->bytes;
        sum.blocks += pair->blocks;
        sum.messages += pair->messages;
    }
    const dcl_counters *counters = &plan->counters;
    if (sum.bytes != counters->bytes_moved || sum.blocks != counters->blocks_moved ||
        sum.messages != counters->messages_planned)
        sim_wrong(data,
                  "operation %" PRId64 ", node %d: counters have %" PRId64 " bytes, %" PRId64 " blocks, %" PRId64
                  " messages; pairs %" PRId64 ", %" PRId64 ", %" PRId64,
                  operation->number, user, counters->bytes_moved, counters->blocks_moved, counters->messages_planned,
                  sum.bytes, sum.blocks, sum.messages);
    if (exact && counters->approximate != 0)
        sim_wrong(data, "operation %" PRId64 " is called approximate", operation->number);
}

static void check_operation(sim_data *data, const dcli_operation *operation, int64_t *bytes_moved)
{
    enum { MOST = 64 };
    int64_t bytes[MOST * MOST], blocks[MOST * MOST];
    bool exact = sim_count_moved(data, operation, bytes, blocks);
    for (int p = 0; p < data->terms.node_count; p++) {
        check_user(data, operation, p, bytes, blocks, exact);
        *bytes_moved += sim_plan_of(data, operation, p)->plan->counters.bytes_moved;
    }
}

/* Check the counters of a move: the elements that the node does not have, unless they exceed its budget. */
static void check_move(sim_data *data, const dcli_operation *operation, int64_t *bytes_moved)
{
    enum { MOST = 64 };
    int64_t bytes[MOST * MOST], blocks[MOST * MOST], sum = 0, block_sum = 0;
    int nodes = data->terms.node_count;
    sim_count_moved(data, operation, bytes, blocks);
    for (int owner = 0; owner < nodes; owner++) {
        sum += bytes[owner * nodes + operation->node];
        block_sum += blocks[owner * nodes + operation->node];
    }
    for (int p = 0; p < nodes; p++) {
        const dcli_plan *plan = sim_plan_of(data, operation, p)->plan;
        bool mine = p == operation->node && plan->status == DCL_OK;
        if (plan->counters.bytes_moved != (mine ? sum : 0) || plan->counters.blocks_moved != (mine ? block_sum : 0))
            sim_wrong(data,
                      "operation %" PRId64 " plans to move %" PRId64 " bytes, %" PRId64
                      " blocks to node %d; counted are "
                      "%" PRId64 ", %" PRId64 " for node %d",
                      operation->number, plan->counters.bytes_moved, plan->counters.blocks_moved, p, sum, block_sum,
                      operation->node);
        *bytes_moved += plan->counters.bytes_moved;
    }
}

void sim_check_counters(sim_data *data, int64_t *bytes_moved_out)
{
    for (int s = 0; s < data->program->step_count && !sim_is_wrong(data); s++)
        if (data->program->step[s].operation.kind == DCLI_OP_FORALL)
            check_operation(data, &data->program->step[s].operation, bytes_moved_out);
        else if (data->program->step[s].operation.kind == DCLI_OP_MOVE)
            check_move(data, &data->program->step[s].operation, bytes_moved_out);
}

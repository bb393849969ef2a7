/* sim/program.c - make the arrays and operations of a simulated program. */
#include "sim/program.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "resmap/map_text.h"

/* The programs. The arrays of step s are storages order[s % turns][...], in the order of the parameters. */
static const struct kind {
    const char *body;
    const char *map, *other_map;
    int rank, parameters, storages, turns;
    int order[2][DCLI_SIM_STORAGES];
} kinds[DCL_SIM_PROGRAMS] = {
    [DCL_SIM_ADD] = {"C(i,j) = A(i,j) + B(i,j);", "block", NULL, 2, 3, 3, 2, {{3, 1, 2}, {1, 3, 2}}},
    [DCL_SIM_TRANSPOSE] = {"C(i,j) = A(i,j) + B(j,i);", "block", NULL, 2, 3, 3, 2, {{3, 1, 2}, {2, 1, 3}}},
    [DCL_SIM_STENCIL] = {"C(i,j) = 0.2f * (A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1));",
                         "block",
                         NULL,
                         2,
                         2,
                         2,
                         2,
                         {{2, 1}, {1, 2}}},
    [DCL_SIM_REMAP] = {"C(i,j) = A(i,j);", "block", "block,*", 2, 2, 2, 2, {{2, 1}, {1, 2}}},
    [DCL_SIM_UNEVEN] = {"float x = A(i); for (int n = 0; n < 100; n++) x += B(i); C(i) = x;",
                        "block",
                        NULL,
                        1,
                        3,
                        3,
                        2,
                        {{3, 1, 2}, {1, 3, 2}}},
};

double dcli_sim_random(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t hash = dcli_hash_word(dcli_hash_word(dcli_hash_word(DCLI_HASH_START, seed), a), b);
    return (double)(dcli_hash_word(hash, 1) >> 11) * 0x1p-53;
}

/* ---- layouts ------------------------------------------------------------------------------------------------------ */

static dcl_status bind(const dcl_sim_settings *settings, const char *text, dcli_sim_program *program, int l)
{
    dcli_map_rule rule;
    dcl_status status = dcli_map_rule_parse(text, settings->nodes, &rule);
    if (status != DCL_OK)
        return status;
    status = dcli_map_rule_check(&rule);
    rule.tile_bytes = settings->tile_bytes;
    rule.block_bytes = settings->chunk_bytes;
    if (status == DCL_OK)
        status = dcli_layout_bind(&rule, &program->grid, &program->layout[l]);
    if (status == DCL_OK)
        program->layout_count = l + 1;
    if (status == DCL_OK && dcli_map_rule_print(&rule, program->map[l], DCLI_SIM_MOST_MAP) >= DCLI_SIM_MOST_MAP)
        status = DCLI_FAIL(DCL_ERR_INVALID, "the map '%.40s...' has more than %d bytes; expected a shorter rule", text,
                           DCLI_SIM_MOST_MAP - 1);
    dcli_map_rule_release(&rule);
    return status;
}

static dcl_status make_layouts(const dcl_sim_settings *settings, const struct kind *kind, dcli_sim_program *program)
{
    const char *map = settings->map != NULL ? settings->map : kind->map;
    const char *other = settings->other_map != NULL ? settings->other_map : kind->other_map;
    int64_t side = kind->rank == 1 ? settings->elements : (int64_t)ceil(sqrt((double)settings->elements));
    program->grid = kind->rank == 1 ? dcl_grid_1d(DCL_FLOAT, side) : dcl_grid_2d(DCL_FLOAT, side, side);
    dcl_status status = bind(settings, map, program, 0);
    if (status == DCL_OK && kind->other_map != NULL)
        status = bind(settings, other, program, 1);
    return status;
}

/* ---- costs of tiles ----------------------------------------------------------------------------------------------- */

/* Shuffle. Source: D. E. Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm P. */
static void shuffle(double cost[], int64_t count, uint64_t seed)
{
    for (int64_t n = count - 1; n > 0; n--) {
        int64_t other = (int64_t)(dcli_sim_random(seed, (uint64_t)n, 0) * (double)(n + 1));
        double kept = cost[n];
        cost[n] = cost[other];
        cost[other] = kept;
    }
}

static dcl_status make_costs(const dcl_sim_settings *settings, dcli_sim_program *program)
{
    double sum = 0;
    if (settings->program != DCL_SIM_UNEVEN)
        return DCL_OK;
    program->tile_count = (int64_t)settings->tiles * settings->nodes;
    program->tile_cost = dcli_calloc((size_t)program->tile_count, sizeof *program->tile_cost);
    if (program->tile_cost == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t t = 0; t < program->tile_count; t++) {
        program->tile_cost[t] = settings->cost == DCL_SIM_RAMP   ? (double)t + 0.5
                                : settings->cost == DCL_SIM_EVEN ? 1
                                                                 : 1 / (double)(t + 1);
        sum += program->tile_cost[t];
    }
    for (int64_t t = 0; t < program->tile_count; t++)
        program->tile_cost[t] *= (double)program->tile_count / sum;
    if (settings->cost == DCL_SIM_ZIPF)
        shuffle(program->tile_cost, program->tile_count, settings->seed);
    return DCL_OK;
}

double dcli_sim_cost_of(const dcli_sim_program *program, const dcl_box *box)
{
    double elements = 1, sum = 0;
    for (int d = 0; d < box->rank; d++)
        elements *= (double)box->count[d];
    if (program->tile_cost == NULL)
        return elements;
    /* the part of each tile that the box covers, along the first axis */
    double extent = (double)program->grid.extent[0], each = extent / (double)program->tile_count;
    double begin = (double)box->start[0], end = begin + (double)(box->count[0] * box->stride[0]);
    for (int64_t t = (int64_t)(begin / each); t < program->tile_count && (double)t * each < end; t++)
        sum += program->tile_cost[t] * fmax(0, fmin(end, (double)(t + 1) * each) - fmax(begin, (double)t * each)) /
               (end - begin);
    return elements * sum;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static dcl_status parse(const struct kind *kind, dcli_sim_program *program)
{
    static const char *const names[DCLI_SIM_STORAGES] = {"C", "A", "B"};
    dcli_param param[DCLI_SIM_STORAGES] = {0};
    for (int k = 0; k < kind->parameters; k++) {
        param[k].access = k == 0 ? DCL_ACCESS_OUT : DCL_ACCESS_IN;
        param[k].type = DCL_FLOAT;
        param[k].rank = kind->rank;
        snprintf(param[k].name, sizeof param[k].name, "%s", names[k]);
    }
    return dcli_body_parse(kind->body, "", kind->parameters, param, &program->body);
}

/* The layout of a storage, from 1: the second array of a program with two layouts has the second one. */
static const dcli_layout *layout_of(const dcli_sim_program *program, int storage)
{
    return &program->layout[storage == 2 && program->layout_count == 2];
}

static void make_create(dcli_sim_program *program, int number)
{
    dcli_operation *operation = &program->operation[number - 1];
    *operation = (dcli_operation){.number = number, .kind = DCLI_OP_CREATE, .operand_count = 1};
    operation->operand[0] = (dcli_operand){.storage = number, .layout = layout_of(program, number)};
    operation->box = dcl_box_of(&program->grid);
    dcli_operation_resolve(operation);
}

static dcl_status make_step(const struct kind *kind, dcli_sim_program *program, int number)
{
    dcli_operation *operation = &program->operation[number - 1];
    const int *order = kind->order[(number - program->storage_count - 1) % kind->turns];
    *operation = (dcli_operation){
        .number = number, .kind = DCLI_OP_FORALL, .operand_count = kind->parameters, .body = program->body};
    for (int k = 0; k < kind->parameters; k++)
        operation->operand[k] = (dcli_operand){.storage = order[k], .layout = layout_of(program, order[k])};
    operation->box = dcl_box_of(&program->grid);
    dcli_operation_resolve(operation);
    return dcli_operation_check(operation);
}

dcl_status dcli_sim_program_make(const dcl_sim_settings *settings, dcli_sim_program *program)
{
    const struct kind *kind = &kinds[settings->program];
    *program = (dcli_sim_program){.storage_count = kind->storages, .operation_count = kind->storages + settings->steps};
    dcl_status status = make_layouts(settings, kind, program);
    if (status == DCL_OK)
        status = make_costs(settings, program);
    if (status == DCL_OK)
        status = parse(kind, program);
    program->shapes = program->layout_count; /* plans depend on the layouts, not on the storages */
    if (status != DCL_OK)
        return status;
    program->operation = dcli_calloc((size_t)program->operation_count, sizeof *program->operation);
    if (program->operation == NULL)
        return DCL_ERR_NOMEM;
    for (int number = 1; number <= kind->storages; number++)
        make_create(program, number);
    for (int number = kind->storages + 1; number <= program->operation_count && status == DCL_OK; number++)
        status = make_step(kind, program, number);
    return status;
}

void dcli_sim_program_free(dcli_sim_program *program)
{
    for (int l = 0; l < program->layout_count; l++)
        dcli_layout_release(&program->layout[l]);
    dcli_body_free(program->body);
    dcli_free(program->tile_cost);
    dcli_free(program->operation);
    *program = (dcli_sim_program){0};
}

dcli_msg_operation dcli_sim_describe(const dcli_sim_program *program, const dcli_operation *operation, int nodes,
                                     dcli_msg_operand operands[])
{
    const dcl_grid *grid = &program->grid;
    dcli_msg_operation descriptor = {.number = operation->number,
                                     .kind = (int)operation->kind,
                                     .kernel = operation->kind == DCLI_OP_FORALL,
                                     .operand_count = operation->operand_count,
                                     .operand = operands};
    for (int k = 0; k < operation->operand_count; k++)
        operands[k] = (dcli_msg_operand){.storage = operation->operand[k].storage};
    if (operation->kind != DCLI_OP_CREATE)
        return descriptor;
    const dcli_layout *layout = operation->operand[0].layout;
    descriptor.type = grid->type;
    descriptor.rank = grid->rank;
    descriptor.extent[0] = grid->extent[0];
    descriptor.extent[1] = grid->extent[1];
    descriptor.map = program->map[layout - program->layout];
    descriptor.map_nodes = nodes;
    descriptor.tile_bytes = layout->rule.tile_bytes;
    descriptor.block_bytes = layout->rule.block_bytes;
    return descriptor;
}

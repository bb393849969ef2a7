/* fuzz/program.c - operations over small grids with a few maps and bodies. */
#include "fuzz/program.h"

#include <stdio.h>
#include <string.h>

#include <dcl/forall.h>

#include "workqueue/operation.h"

static const dcl_grid grids[] = {
    {.type = DCL_FLOAT, .rank = 1, .extent = {16}},
    {.type = DCL_FLOAT, .rank = 1, .origin = {-3}, .extent = {33}},
    {.type = DCL_FLOAT, .rank = 2, .extent = {8, 8}},
    {.type = DCL_FLOAT, .rank = 2, .origin = {1, -2}, .extent = {8, 8}},
    {.type = DCL_FLOAT, .rank = 1, .extent = {16}},
    {.type = DCL_INT32, .rank = 1, .extent = {16}},
    {.type = DCL_DOUBLE, .rank = 3, .extent = {3, 4, 5}},
    {.type = DCL_FLOAT, .rank = 1, .extent = {200}},
};
enum { GRIDS = sizeof grids / sizeof grids[0] };

/* By rank; those from FOR_TWO on name two nodes. */
enum { MAPS = 8, FOR_TWO = 6 };
static const char *const maps[3][MAPS] = {
    {"block", "cyclic(2)", "rows:cyclic(3)", "rows:cyclic;nodes=0", "block;tile=3;block=2", "cyclic;tile=2",
     "rows:block(4);nodes=0-1", "block;nodes=1"},
    {"block", "cyclic(2)", "rows:cyclic(2x2)", "*,block", "cyclic(3),block", "columns:block(2x3)",
     "columns:cyclic(3x2);nodes=0-1", "block,*;nodes=1"},
    {"block", "cyclic(2)", "rows:cyclic(2x2x2)", "*,block,cyclic", "columns:cyclic(1x2x3)", "block;nodes=0",
     "rows:block;nodes=1", "*,*,cyclic(2)"},
};

typedef struct body {
    const char *text, *prelude;
    int count;
    dcli_msg_parameter parameter[4];
} body;

static const body bodies[] = {
    {"B(i) = A(i) + 1.0f;", "", 2, {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"B(i) = A(i-1) + A(i+1);", "", 2, {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"B(i) = A(15-i);", "", 2, {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"B(i,j) = A(j,i);", "", 2, {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 2, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 2, 0}}},
    {"B(i) = A(i); C(i) = 2.0f * A(i);",
     "",
     3,
     {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0},
      {"C", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0},
      {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"A(i) = s * A(i);", "", 2, {{"A", DCL_ACCESS_INOUT, DCL_FLOAT, 1, 0}, {"s", DCL_ACCESS_VALUE, DCL_FLOAT, 0, 0}}},
    {"B(i) = A(k + i);",
     "",
     3,
     {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0},
      {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0},
      {"k", DCL_ACCESS_VALUE, DCL_INT64, 0, 0}}},
    {"B(i,j) = A(i);", "", 2, {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 2, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"B(i) = f(A(i * i));",
     "float f(float x) { return x; }",
     2,
     {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0}, {"A", DCL_ACCESS_IN_ALL, DCL_FLOAT, 1, 0}}},
    {"B(i,j) += A(i, j * j);",
     "",
     2,
     {{"B", DCL_ACCESS_INOUT, DCL_FLOAT, 2, 0}, {"A", DCL_ACCESS_IN_ROWS, DCL_FLOAT, 2, 0}}},
    {"D(i) = i > 0 ? D(i) : n;",
     "",
     2,
     {{"D", DCL_ACCESS_INOUT, DCL_INT32, 1, 0}, {"n", DCL_ACCESS_VALUE, DCL_INT32, 0, 0}}},
    {"B(j,i) = A(i,j); C(i,j) = A(j,i);",
     "",
     3,
     {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 2, 0},
      {"C", DCL_ACCESS_OUT, DCL_FLOAT, 2, 0},
      {"A", DCL_ACCESS_IN, DCL_FLOAT, 2, 0}}},
    {"B(i = A(i);", "", 2, {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"B(dcl_item(0)) = A(dcl_item(0));",
     "",
     2,
     {{"B", DCL_ACCESS_OUT, DCL_FLOAT, 1, 0}, {"A", DCL_ACCESS_IN, DCL_FLOAT, 1, 0}}},
    {"B(0, 0) = A(0, 1); C(0, 0) += B_count(1);",
     "",
     3,
     {{"B", DCL_ACCESS_INOUT, DCL_FLOAT, 2, 0},
      {"C", DCL_ACCESS_OUT, DCL_FLOAT, 2, 0},
      {"A", DCL_ACCESS_IN_COLUMNS, DCL_FLOAT, 2, 0}}},
};
enum { BODIES = sizeof bodies / sizeof bodies[0] };
/* Of the last bodies, which are tile kernels. */
static const int64_t items[][DCLI_MSG_ITEMS] = {{0, 0, 0, 0, 1, 1}, {8, 4, 1, 1, 0, 0}};
enum { FIRST_TILES = BODIES - sizeof items / sizeof items[0] };

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

int64_t fuzz_storage(const fuzz_program *program, fuzz_input *input)
{
    return fuzz_below(input, program->storages + 1);
}

int64_t fuzz_near(const fuzz_program *program, fuzz_input *input)
{
    int64_t number = program->operations + 2 - fuzz_below(input, 8);
    return number > 0 ? number : 0;
}

void fuzz_grid_of(const fuzz_program *program, int64_t storage, dcli_msg_operation *grid_out)
{
    const dcl_grid *grid = &grids[program->grid_of[storage]];
    grid_out->rank = grid->rank;
    memcpy(grid_out->origin, grid->origin, sizeof grid->origin);
    memcpy(grid_out->extent, grid->extent, sizeof grid->extent);
}

const char *fuzz_path(const fuzz_program *program, fuzz_input *input)
{
    static const char *const names[] = {"/a.npy",    "/b.npy",  "/folder/c.npy",   "/out/hosts",
                                        "/../hosts", "/none/d", "/.dcl-1-1.token", "/../outside/hosts",
                                        ""};
    static char path[600];
    int name = fuzz_below(input, sizeof names / sizeof names[0] + 2);
    if (name >= (int)(sizeof names / sizeof names[0]))
        return name % 2 == 0 ? "" : "a.npy";
    snprintf(path, sizeof path, "%s%s", program->folder, names[name]);
    return path;
}

static bool is_taken(const dcli_msg_operand operands[], int count, int64_t storage)
{
    for (int k = 0; k < count; k++)
        if (operands[k].storage == storage)
            return true;
    return false;
}

/* A storage that fits, looking from a place on; -1: there is none.
 * @param grid  that it must have; NULL: any of this type and rank; rank 0: any at all. */
static int64_t find_storage(const fuzz_program *program, int start, dcl_type type, int rank, const dcl_grid *grid,
                            const dcli_msg_operand operands[], int count)
{
    for (int n = 0; n < program->storages; n++) {
        int storage = (start + n) % program->storages;
        const dcl_grid *found = &grids[program->grid_of[storage]];
        bool fits = rank == 0 || (found->type == type && found->rank == rank);
        if (!program->released[storage] && fits && !is_taken(operands, count, storage) &&
            (grid == NULL || memcmp(grid, found, sizeof *grid) == 0))
            return storage;
    }
    return -1;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

bool fuzz_create(fuzz_program *program, fuzz_input *input, dcli_msg_operation *operation, dcli_msg_operand operands[])
{
    if (program->storages == FUZZ_STORAGES)
        return false;
    int number = fuzz_below(input, GRIDS), bits = fuzz_byte(input);
    const dcl_grid *grid = &grids[number];
    operation->kind = DCLI_OP_CREATE;
    operation->operand_count = 1;
    operands[0] = (dcli_msg_operand){.storage = program->storages};
    operation->type = grid->type;
    operation->rank = grid->rank;
    memcpy(operation->origin, grid->origin, sizeof grid->origin);
    memcpy(operation->extent, grid->extent, sizeof grid->extent);
    operation->map = maps[grid->rank - 1][fuzz_below(input, program->nodes > 1 ? MAPS : FOR_TWO)];
    operation->tile_bytes = 4 << (bits & 7);
    operation->block_bytes = 32;
    operation->small_bytes = (bits & 8) != 0 ? 1 << 20 : 0;
    program->grid_of[program->storages++] = number;
    return true;
}

/* A box of the grid of a storage, perhaps with a step. */
static void cut_box(const fuzz_program *program, fuzz_input *input, int64_t storage, dcli_msg_operation *operation)
{
    if (storage < 0 || storage >= program->storages || !fuzz_flag(input))
        return;
    const dcl_grid *grid = &grids[program->grid_of[storage]];
    operation->box_rank = operation->box.rank = grid->rank;
    for (int d = 0; d < grid->rank; d++) {
        int first = fuzz_below(input, (int)grid->extent[d]), stride = 1 + fuzz_below(input, 3);
        operation->box.start[d] = grid->origin[d] + first;
        operation->box.count[d] = (grid->extent[d] - first + stride - 1) / stride;
        operation->box.stride[d] = stride;
    }
}

/* An array seen from its other end, transposed, under other numbers; at times wrongly. */
static void see_otherwise(const dcl_grid *grid, fuzz_input *input, dcli_msg_view *view)
{
    enum { TRANSPOSED = 1, BACKWARDS = 2, WRONG = 4 };
    int how = fuzz_byte(input), by = (int)fuzz_number(input, -8, 8);
    view->rank = view->base_rank = grid->rank;
    for (int d = 0; d < grid->rank; d++) {
        int v = (how & TRANSPOSED) != 0 ? grid->rank - 1 - d : d;
        int64_t first = grid->origin[d], last = first + grid->extent[d] - 1;
        view->axis[d] = v;
        view->origin[v] = first + by;
        view->extent[v] = grid->extent[d];
        view->step[d] = (how & BACKWARDS) != 0 ? -1 : 1;
        view->constant[d] = (how & BACKWARDS) != 0 ? last + first + by : -by;
    }
    if ((how & WRONG) != 0)
        *(by < 0    ? &view->step[0]
          : by == 0 ? &view->axis[0]
                    : &view->extent[0]) = by == 0 ? -1 : fuzz_number(input, 0, INT64_MAX);
}

static bool make_forall(fuzz_program *program, fuzz_input *input, dcli_msg_operation *operation,
                        dcli_msg_operand operands[])
{
    enum { SEEN_FROM = 224, SETS = 8 };
    static dcli_msg_view sets[SETS][DCLI_MOST_OPERANDS]; /* of the last operations: a few go into a message */
    dcli_msg_view *views = sets[program->operations % SETS];
    if (program->kernels == 0)
        return false;
    operation->kernel = fuzz_below(input, program->kernels);
    if (program->forgotten[operation->kernel])
        return false;
    const body *run = &bodies[program->body_of[operation->kernel]];
    const dcl_grid *first = NULL;
    operation->operand_count = run->count;
    for (int k = 0; k < run->count; k++) {
        const dcli_msg_parameter *parameter = &run->parameter[k];
        operands[k] = (dcli_msg_operand){.storage = -1};
        if (parameter->access == DCL_ACCESS_VALUE) {
            operands[k].value = (uint64_t)fuzz_number(input, -8, 200);
            continue;
        }
        const dcl_grid *grid = parameter->access == DCL_ACCESS_OUT ? first : NULL;
        int start = fuzz_byte(input);
        operands[k].storage =
            find_storage(program, start, (dcl_type)parameter->type, parameter->rank, grid, operands, k);
        if (operands[k].storage < 0)
            return false;
        if (parameter->access == DCL_ACCESS_IN)
            operands[k].generation = start % 4 < 2 ? 0 : start % 4 == 2 ? 1 : -1; /* copies are made, or used only */
        if (parameter->access == DCL_ACCESS_IN && start >= SEEN_FROM) {
            operation->view = views;
            views[operation->view_count] = (dcli_msg_view){.operand = k};
            see_otherwise(&grids[program->grid_of[operands[k].storage]], input, &views[operation->view_count++]);
        }
        if (first == NULL)
            first = &grids[program->grid_of[operands[k].storage]];
    }
    cut_box(program, input, operands[0].storage, operation);
    return true;
}

static bool make_other(fuzz_program *program, fuzz_input *input, dcli_msg_operation *operation,
                       dcli_msg_operand operands[])
{
    operation->operand_count = 1;
    operands[0].storage = find_storage(program, fuzz_byte(input), DCL_FLOAT, 0, NULL, operands, 0);
    if (operands[0].storage < 0)
        return false;
    switch (operation->kind) {
    case DCLI_OP_RELEASE:
        program->released[operands[0].storage] = true;
        break;
    case DCLI_OP_FILL:
        operation->element = (uint64_t)fuzz_byte(input);
        break;
    case DCLI_OP_READ:
    case DCLI_OP_WRITE:
        cut_box(program, input, operands[0].storage, operation);
        break;
    case DCLI_OP_MOVE:
        operands[0].generation = 1 + fuzz_below(input, 2);
        operation->node = fuzz_below(input, 2);
        cut_box(program, input, operands[0].storage, operation);
        break;
    case DCLI_OP_DROP:
        break;
    default:
        operation->path = fuzz_path(program, input);
        operation->data_start = fuzz_number(input, 0, INT64_MAX);
        operation->fortran_order = fuzz_flag(input);
        operation->swapped = operation->kind == DCLI_OP_LOAD && fuzz_flag(input);
        break;
    }
    return true;
}

bool fuzz_operation(fuzz_program *program, fuzz_input *input, dcli_msg_operation *operation,
                    dcli_msg_operand operands[])
{
    static const int kinds[] = {DCLI_OP_CREATE,  DCLI_OP_FORALL, DCLI_OP_FORALL, DCLI_OP_FILL,
                                DCLI_OP_READ,    DCLI_OP_WRITE,  DCLI_OP_LOAD,   DCLI_OP_SAVE,
                                DCLI_OP_RELEASE, DCLI_OP_MOVE,   DCLI_OP_DROP};
    memset(operation, 0, sizeof *operation);
    memset(operands, 0, 4 * sizeof operands[0]);
    operation->kind = kinds[fuzz_below(input, sizeof kinds / sizeof kinds[0])];
    operation->number = program->operations + 1;
    operation->operand = operands;
    bool right = operation->kind == DCLI_OP_CREATE   ? fuzz_create(program, input, operation, operands)
                 : operation->kind == DCLI_OP_FORALL ? make_forall(program, input, operation, operands)
                                                     : make_other(program, input, operation, operands);
    program->operations += right;
    return right;
}

void fuzz_tame(dcli_msg_operation *operation)
{
    int64_t elements = 1;
    for (int d = 0; d < operation->rank; d++) {
        if (operation->extent[d] > 300)
            operation->extent[d] = 300;
        elements *= operation->extent[d] > 0 ? operation->extent[d] : 1;
        if (elements > 2000)
            operation->extent[d] = 1;
        if (elements > 2000)
            elements = 2000;
    }
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

bool fuzz_kernel(fuzz_program *program, fuzz_input *input, dcli_msg_kernel *kernel, dcli_msg_parameter parameters[])
{
    enum { FORGETS_FROM = 160 };
    if (program->kernels == FUZZ_KERNELS)
        return false;
    static int64_t builders[] = {0, 1, 2}, forgotten[2];
    int number = fuzz_below(input, BODIES), byte = fuzz_byte(input);
    const body *told = &bodies[number];
    memcpy(parameters, told->parameter, sizeof told->parameter);
    *kernel = (dcli_msg_kernel){.kernel = program->kernels,
                                .text = told->text,
                                .prelude = told->prelude,
                                .parameter_count = told->count,
                                .parameter = parameters,
                                .builder_count = byte % 4,
                                .builder = builders,
                                .forgotten = forgotten};
    if (byte >= FORGETS_FROM && program->kernels > 0) { /* and one that nobody has, or that is forgotten already */
        kernel->forgotten_count = 2;
        forgotten[0] = byte / 4 % program->kernels;
        forgotten[1] = byte % FUZZ_KERNELS;
        if (forgotten[1] < program->kernels)
            program->forgotten[forgotten[1]] = true;
        program->forgotten[forgotten[0]] = true;
    }
    if (number >= FIRST_TILES) {
        kernel->item_count = DCLI_MSG_ITEMS;
        memcpy(kernel->items, items[number - FIRST_TILES], sizeof items[0]);
    }
    program->body_of[program->kernels++] = number;
    return true;
}

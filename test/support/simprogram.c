/* test/support/simprogram.c - random programs with their oracle: operations run one after the other on plain arrays. */
#include "support/simprogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "resmap/map_text.h"
#include "segment/declared.h"
#include "support/simbody.h"
#include "support/simmap.h"
#include "support/simview.h"

sim_array *sim_array_of(sim_program *program, int64_t storage)
{
    for (int s = 0; s < program->array_count; s++)
        if (program->array[s].storage == storage)
            return &program->array[s];
    abort();
}

const sim_step *sim_step_of(const sim_program *program, int64_t operation) { return &program->step[operation - 1]; }

int64_t sim_number_of(const dcl_grid *grid, const int64_t element[])
{
    int64_t number = 0;
    for (int d = 0; d < grid->rank; d++)
        number = number * grid->extent[d] + element[d] - grid->origin[d];
    return number;
}

void sim_wrap(const dcli_layout *layout, int64_t element[])
{
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t origin = layout->grid.origin[d], extent = layout->grid.extent[d];
        if ((layout->rule.periodic >> d & 1) != 0 && extent > 0)
            element[d] = origin + ((element[d] - origin) % extent + extent) % extent;
    }
}

void sim_behind(const dcli_operand *operand, const int64_t index[], int64_t element_out[])
{
    if (operand->view != NULL)
        dcli_transform_index(operand->view, index, element_out);
    else
        memcpy(element_out, index, (size_t)operand->layout->grid.rank * sizeof *index);
    sim_wrap(operand->layout, element_out);
}

int64_t sim_number_seen(const dcli_operand *operand, const int64_t index[])
{
    int64_t element[DCL_MAX_RANK];
    sim_behind(operand, index, element);
    return sim_number_of(&operand->layout->grid, element);
}

/* The axis of an array that axis v of the view covers completely, in steps of 1 or -1. @return -1: there is none. */
static int whole_axis(const dcli_operand *operand, int v, bool *backwards_out)
{
    for (int d = 0; d < operand->layout->grid.rank; d++) {
        int64_t step = operand->view != NULL ? operand->view->step[d] : 1;
        if ((operand->view != NULL ? operand->view->axis[d] : d) != v)
            continue;
        *backwards_out = step < 0;
        return (step == 1 || step == -1) && dcli_operand_grid(operand)->extent[v] == operand->layout->grid.extent[d]
                   ? d
                   : -1;
    }
    return -1;
}

dcl_grid sim_seen(const dcli_operation *operation, int a)
{
    const dcli_body_access *access = &operation->body->access[a];
    const dcli_operand *operand = &operation->operand[access->param];
    const dcli_map_rule *rule = &operand->layout->rule;
    dcl_grid grid = *dcli_operand_grid(operand);
    bool wraps = dcl_grid_count(&operand->layout->grid) > 0 && access->reach != DCLI_REACH_ALL &&
                 access->reach != DCLI_REACH_ROWS && access->reach != DCLI_REACH_COLUMNS &&
                 access->reach != DCLI_REACH_BOX && access->reach != DCLI_REACH_FUNCTION;
    for (int b = 0; b < operation->body->access_count; b++)
        wraps = wraps && !(operation->body->access[b].param == access->param && operation->body->access[b].written);
    for (int v = 0; v < grid.rank && wraps; v++) {
        bool backwards;
        int d = whole_axis(operand, v, &backwards);
        if (d < 0 || (rule->periodic >> d & 1) == 0)
            continue;
        grid.origin[v] -= backwards ? rule->halo_high[d] : rule->halo_low[d];
        grid.extent[v] += rule->halo_low[d] + rule->halo_high[d];
    }
    return grid;
}

bool sim_is_stored(const dcli_layout *layout, const int64_t element[])
{
    int node;
    int64_t offset;
    dcli_layout_locate(layout, element, &node, &offset);
    return node >= 0;
}

int64_t sim_fill_value(const dcli_layout *layout) { return (int64_t)layout->fill_value; }

int64_t sim_loaded(int64_t fill, int64_t number)
{
    return (int64_t)dcli_hash_word(dcli_hash_word(DCLI_HASH_START, (uint64_t)fill), (uint64_t)number);
}

bool sim_next_place(int64_t place[], const dcl_box *box)
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++place[d] < box->count[d])
            return true;
        place[d] = 0;
    }
    return false;
}

/* ---- a body at one index ------------------------------------------------------------------------------------------ */

void sim_subscripts(const dcli_operation *operation, dcli_subscripts subscripts_out[])
{
    for (int a = 0; a < operation->body->access_count; a++)
        if (dcli_body_subscripts(operation->body, a, operation->value, &subscripts_out[a]) != DCL_OK)
            abort();
        else
            subscripts_out[a].declared = operation->operand[operation->body->access[a].param].declared;
}

static bool is_near(const dcli_subscripts *subscripts, const int64_t index[], const int64_t element[])
{
    int away = 0;
    for (int d = 0; d < subscripts->rank; d++) {
        int64_t apart = element[d] > index[d] ? element[d] - index[d] : index[d] - element[d];
        if (apart > subscripts->declared.number[d])
            return false;
        away += apart > 0;
    }
    return subscripts->reach == DCLI_REACH_HALO || away <= 1;
}

bool sim_may_read(const dcli_subscripts *subscripts, const int64_t index[], const int64_t element[])
{
    dcl_box box;
    dcli_portion portion;
    switch (subscripts->reach) {
    case DCLI_REACH_AFFINE:
        return false;
    case DCLI_REACH_ALL:
        return true;
    case DCLI_REACH_ROWS:
        return element[0] == index[0];
    case DCLI_REACH_COLUMNS:
        return element[subscripts->rank - 1] == index[subscripts->space_rank - 1];
    case DCLI_REACH_HALO:
    case DCLI_REACH_CROSS:
        return is_near(subscripts, index, element);
    case DCLI_REACH_BOX:
        return dcli_declared_box(subscripts, NULL, &box) && dcli_box_contains(&box, element);
    case DCLI_REACH_FUNCTION:
        for (int p = 0; p < dcli_declared_portions(subscripts); p++) {
            portion = dcli_declared_portion(subscripts, p);
            if (dcli_box_contains(&portion.space, index))
                return dcli_box_contains(&portion.reads, element);
        }
    }
    return false;
}

static bool is_inside(const dcl_grid *grid, const int64_t element[])
{
    for (int d = 0; d < grid->rank; d++)
        if (element[d] < grid->origin[d] || element[d] >= grid->origin[d] + grid->extent[d])
            return false;
    return true;
}

bool sim_element(const dcli_subscripts *subscripts, const dcl_grid *grid, const int64_t index[], int64_t element_out[])
{
    for (int d = 0; d < subscripts->rank; d++) {
        element_out[d] = subscripts->axis[d].constant;
        for (int m = 0; m < subscripts->space_rank; m++)
            element_out[d] += subscripts->axis[d].coef[m] * index[m];
    }
    return is_inside(grid, element_out);
}

static uint64_t hash_index(uint64_t salt, int rank, const int64_t index[])
{
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, salt);
    for (int m = 0; m < rank; m++)
        hash = dcli_hash_word(hash, (uint64_t)index[m] + 77);
    return hash ^ hash >> 29;
}

/* Pick an element within a halo, or on one arm of a cross. */
static void near_element(const dcli_subscripts *subscripts, const int64_t index[], uint64_t hash, int64_t element_out[])
{
    int arm = subscripts->reach == DCLI_REACH_CROSS ? (int)((hash >> 40) % (uint64_t)subscripts->rank) : -1;
    for (int d = 0; d < subscripts->rank; d++) {
        int64_t width = arm < 0 || arm == d ? subscripts->declared.number[d] : 0;
        hash = dcli_hash_word(hash, (uint64_t)d);
        element_out[d] = index[d] + (int64_t)((hash >> 8) % (uint64_t)(2 * width + 1)) - width;
    }
}

/* Pick an element of a box. @return false if the box is empty. */
static bool box_element(const dcl_box *box, uint64_t hash, int64_t element_out[])
{
    for (int d = 0; d < box->rank && !dcli_box_is_empty(box); d++) {
        hash = dcli_hash_word(hash, (uint64_t)d);
        element_out[d] = box->start[d] + (int64_t)((hash >> 8) % (uint64_t)box->count[d]) * box->stride[d];
    }
    return !dcli_box_is_empty(box);
}

/* The box that an index reads by its portion. @return false if there is none. */
static bool box_of_index(const dcli_subscripts *subscripts, const int64_t index[], dcl_box *box_out)
{
    if (subscripts->reach == DCLI_REACH_BOX)
        return dcli_declared_box(subscripts, NULL, box_out);
    for (int p = 0; p < dcli_declared_portions(subscripts); p++) {
        dcli_portion portion = dcli_declared_portion(subscripts, p);
        *box_out = portion.reads;
        if (dcli_box_contains(&portion.space, index))
            return true;
    }
    return false;
}

/* Pick an element that an access of a declared reach may read: different for every index, access and `salt`. */
static bool reach_element(const dcli_subscripts *subscripts, const dcl_grid *grid, const int64_t index[], uint64_t salt,
                          int64_t element_out[])
{
    uint64_t hash = hash_index(salt, subscripts->space_rank, index);
    if (subscripts->reach == DCLI_REACH_HALO || subscripts->reach == DCLI_REACH_CROSS) {
        near_element(subscripts, index, hash, element_out);
        return is_inside(grid, element_out);
    }
    if (subscripts->reach == DCLI_REACH_BOX || subscripts->reach == DCLI_REACH_FUNCTION) {
        dcl_box box;
        return box_of_index(subscripts, index, &box) && box_element(&box, hash, element_out);
    }
    for (int d = 0; d < grid->rank; d++) {
        hash = dcli_hash_word(hash, (uint64_t)d);
        element_out[d] = grid->origin[d] + (int64_t)((hash >> 8) % (uint64_t)dcli_max(grid->extent[d], 1));
    }
    if (subscripts->reach == DCLI_REACH_ROWS)
        element_out[0] = index[0];
    if (subscripts->reach == DCLI_REACH_COLUMNS)
        element_out[grid->rank - 1] = index[subscripts->space_rank - 1];
    return is_inside(grid, element_out);
}

static int64_t read_one(const sim_access *access, int a, bool inside, const int64_t element[])
{
    if (inside)
        return access->fetch(access->user, a, element);
    access->outside(access->user, a);
    return 0;
}

static void mix(uint64_t *hash, bool *poisoned, int64_t value)
{
    *poisoned |= value == SIM_POISON;
    *hash = dcli_hash_word(*hash, (uint64_t)value);
}

static void gather(const dcli_operation *operation, const dcli_subscripts subscripts[], const int64_t index[],
                   const sim_access *access, uint64_t *hash, bool *poisoned)
{
    enum { REACHED = 3 };
    int64_t element[DCL_MAX_RANK];
    for (int a = 0; a < operation->body->access_count; a++) {
        dcl_grid grid = sim_seen(operation, a);
        if (!operation->body->access[a].read)
            continue;
        if (subscripts[a].reach == DCLI_REACH_AFFINE) {
            bool inside = sim_element(&subscripts[a], &grid, index, element);
            mix(hash, poisoned, read_one(access, a, inside, element));
            continue;
        }
        for (int n = 0; n < REACHED; n++) {
            bool inside = reach_element(&subscripts[a], &grid, index, (uint64_t)(a * REACHED + n), element);
            mix(hash, poisoned, read_one(access, a, inside, element));
        }
    }
}

/* The start value at an index; a blind body does not know the index. */
static uint64_t hash_of(const dcli_operation *operation, const int64_t index[])
{
    return hash_index((uint64_t)operation->number, operation->body->blind ? 0 : operation->body->space_rank, index);
}

/* Whether the condition of an access holds at an index. @param hash  of the values read there. */
static bool is_met(const dcli_body *body, int a, const int64_t index[], uint64_t hash)
{
    return ((body->blind ? hash >> a : hash_index((uint64_t)a + 1000, body->space_rank, index)) & 1) != 0;
}

void sim_evaluate(const dcli_operation *operation, const dcli_subscripts subscripts[], const int64_t index[],
                  const sim_access *access)
{
    const dcli_body *body = operation->body;
    uint64_t hash = hash_of(operation, index);
    bool poisoned = false;
    gather(operation, subscripts, index, access, &hash, &poisoned);
    for (int a = 0; a < body->access_count; a++) {
        int64_t element[DCL_MAX_RANK];
        if (!body->access[a].written)
            continue;
        if (body->access[a].conditional && !is_met(body, a, index, hash))
            continue;
        if (!sim_element(&subscripts[a], dcli_operand_grid(&operation->operand[body->access[a].param]), index, element))
            abort(); /* cannot happen: outputs cover the index space */
        access->store(access->user, a, element, poisoned ? SIM_POISON : (int64_t)dcli_hash_word(hash, (uint64_t)a));
    }
}

void sim_evaluate_blind(const dcli_operation *operation, const sim_access *access)
{
    const dcli_body *body = operation->body;
    uint64_t hash = hash_of(operation, NULL);
    bool poisoned = false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].read)
            mix(&hash, &poisoned, access->fetch(access->user, a, NULL));
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].written && (!body->access[a].conditional || is_met(body, a, NULL, hash)))
            access->store(access->user, a, NULL, poisoned ? SIM_POISON : (int64_t)dcli_hash_word(hash, (uint64_t)a));
}

/* ---- the oracle --------------------------------------------------------------------------------------------------- */

struct oracle {
    sim_program *program;
    const dcli_operation *operation;
    sim_array *array[DCLI_MAX_PARAMS];
};

static int64_t *oracle_place(struct oracle *oracle, int a, const int64_t element[])
{
    int k = oracle->operation->body->access[a].param;
    return &oracle->array[k]->value[sim_number_seen(&oracle->operation->operand[k], element)];
}

static int64_t oracle_fetch(void *user, int a, const int64_t element[]) { return *oracle_place(user, a, element); }

static void oracle_outside(void *user, int a)
{
    (void)user;
    (void)a;
}

static void oracle_store(void *user, int a, const int64_t element[], int64_t value)
{
    *oracle_place(user, a, element) = value;
}

/* Whether a body runs at an index: where its first output is stored. `index` is the operation's; loop axes are the
 * output's. */
static bool is_computed(const dcli_operation *operation, const int64_t index[])
{
    const dcli_operand *first = &operation->operand[operation->body->owner];
    int64_t element[DCL_MAX_RANK];
    if (first->view != NULL)
        dcli_transform_index(first->view, index, element);
    return sim_is_stored(first->layout, first->view != NULL ? element : index);
}

static void run_forall(sim_program *program, const dcli_operation *operation)
{
    struct oracle oracle = {.program = program, .operation = operation};
    sim_access access = {.user = &oracle, .fetch = oracle_fetch, .outside = oracle_outside, .store = oracle_store};
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES];
    sim_subscripts(operation, subscripts);
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].storage >= 0)
            oracle.array[k] = sim_array_of(program, operation->operand[k].storage);
    int64_t place[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK];
    if (dcli_box_is_empty(&operation->box))
        return;
    do {
        for (int m = 0; m < operation->box.rank; m++)
            index[m] = operation->box.start[m] + place[m] * operation->box.stride[m];
        if (is_computed(operation, index))
            sim_evaluate(operation, subscripts, index, &access);
    } while (sim_next_place(place, &operation->box));
}

/* Copy between an array and memory packed over a box. */
static void transfer(sim_array *array, const dcl_box *box, int64_t memory[], bool read)
{
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK], n = 0;
    if (dcli_box_is_empty(box))
        return;
    do {
        for (int d = 0; d < box->rank; d++)
            element[d] = box->start[d] + place[d] * box->stride[d];
        int64_t *value = &array->value[sim_number_of(&array->layout.grid, element)];
        if (read)
            memory[n++] = *value;
        else if (sim_is_stored(&array->layout, element))
            *value = memory[n++];
        else
            n++;
    } while (sim_next_place(place, box));
}

/* Set all elements: FILL, LOAD, and creation. @param step  NULL: zeros, and the fill value for elements that are not
 * stored */
static void set_all(sim_array *array, const sim_step *step)
{
    dcl_box box = dcl_box_of(&array->layout.grid);
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK], n = 0;
    if (array->elements == 0)
        return;
    do {
        for (int d = 0; d < box.rank; d++)
            element[d] = box.start[d] + place[d];
        if (!sim_is_stored(&array->layout, element))
            array->value[n] = sim_fill_value(&array->layout);
        else if (step == NULL)
            array->value[n] = 0;
        else
            array->value[n] = step->operation.kind == DCLI_OP_LOAD ? sim_loaded(step->fill, n) : step->fill;
        n++;
    } while (sim_next_place(place, &box));
}

static void *need(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (memory == NULL)
        abort();
    return memory;
}

static void run_step(sim_program *program, sim_step *step)
{
    const dcli_operation *operation = &step->operation;
    sim_array *array = operation->kind == DCLI_OP_FORALL ? NULL : sim_array_of(program, operation->operand[0].storage);
    switch (operation->kind) {
    case DCLI_OP_FORALL:
        run_forall(program, operation);
        break;
    case DCLI_OP_RELEASE:
        array->released = true;
        break;
    case DCLI_OP_FILL:
        set_all(array, step);
        break;
    case DCLI_OP_LOAD:
        set_all(array, step);
        break;
    case DCLI_OP_WRITE:
        transfer(array, &operation->box, step->memory, false);
        break;
    case DCLI_OP_READ:
        step->expected = need((size_t)dcli_box_elements(&operation->box), sizeof *step->expected);
        transfer(array, &operation->box, step->expected, true);
        break;
    case DCLI_OP_SAVE:
        step->expected = need((size_t)array->elements, sizeof *step->expected);
        memcpy(step->expected, array->value, (size_t)array->elements * sizeof *array->value);
        break;
    default:
        break;
    }
}

/* ---- making a program --------------------------------------------------------------------------------------------- */

/* A program being generated: handles are what the user holds, and swaps exchange their storages. */
struct maker {
    sim_program *program;
    test_random *random;
    int present;                  /* nodes that have joined */
    int64_t extent[4], origin[4]; /* pool of axes for arrays, so that many fit each other */
    int64_t generation;           /* of copies; 0: there are none */
    bool loops;                   /* the arrays have one grid and an overlap, and bodies are steps of time loops */
    dcli_valid_lines lines[SIM_MAX_ARRAYS]; /* by storage, less 1 */
    int handle[SIM_MAX_ARRAYS], handles;
};

static sim_step *new_step(struct maker *maker, dcli_op_kind kind)
{
    sim_program *program = maker->program;
    sim_step *step = &program->step[program->step_count++];
    step->operation = (dcli_operation){.number = program->step_count, .kind = kind, .operand_count = 1};
    return step;
}

/* Let some operations use lines as if they were in the loop of a nest. */
static bool program_repeats(const sim_program *program) { return program->step_count / 4 % 2 == 0; }

static void finish_step(struct maker *maker, sim_step *step)
{
    dcli_operation *operation = &step->operation;
    dcli_valid_lines *lines[DCLI_MAX_PARAMS];
    for (int k = 0; k < operation->operand_count; k++)
        lines[k] = operation->operand[k].storage > 0 ? &maker->lines[operation->operand[k].storage - 1] : NULL;
    dcli_operation_resolve(operation);
    if (operation->kind == DCLI_OP_FORALL)
        dcli_overlap_choose(operation, (const dcli_valid_lines *const *)lines, program_repeats(maker->program));
    dcli_operation_resolve(operation);
    dcli_overlap_record(operation, lines);
    run_step(maker->program, step);
}

static sim_step *step_on(struct maker *maker, dcli_op_kind kind, sim_array *array)
{
    sim_step *step = new_step(maker, kind);
    step->operation.operand[0] = (dcli_operand){.storage = array->storage, .layout = &array->layout};
    step->operation.box = dcl_box_of(&array->layout.grid);
    return step;
}

static sim_array *any_array(struct maker *maker)
{
    return &maker->program->array[maker->handle[test_between(maker->random, 0, maker->handles - 1)]];
}

static void pick_extents(struct maker *maker)
{
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23, 24, 29, 32, 37};
    for (int d = 0; d < 4; d++) {
        maker->extent[d] = extents[test_between(maker->random, d > 1 ? 0 : 3, d > 1 ? 5 : 16)];
        if (test_between(maker->random, 0, 39) == 0)
            maker->extent[d] = test_between(maker->random, 0, 1);
        maker->origin[d] = test_between(maker->random, 0, 3) == 0 ? test_between(maker->random, -5, 9) : 0;
    }
}

static void pick_grid(struct maker *maker, dcl_grid *grid)
{
    static const int ranks[] = {1, 1, 2, 2, 2, 2, 2, 3, 3, 4};
    *grid = (dcl_grid){.type = DCL_INT64, .rank = ranks[test_between(maker->random, 0, 9)]};
    int first = (int)test_between(maker->random, 0, 3);
    for (int d = 0, axis = first; d < grid->rank; d++, axis++) {
        int from = grid->rank <= 2 ? axis % 2 : axis % grid->rank;
        grid->extent[d] = maker->extent[from];
        grid->origin[d] = maker->origin[from];
    }
    if (grid->rank == 1 && test_between(maker->random, 0, 2) == 0)
        grid->extent[0] = test_between(maker->random, 1, 200);
}

/* Bind one of few maps with an overlap, so that most arrays have the same. */
static void bind_overlap(struct maker *maker, const dcl_grid *grid, sim_array *array)
{
    dcli_map_rule rule;
    if (maker->program->array_count > 1 && test_between(maker->random, 0, 7) > 0)
        snprintf(array->map, sizeof array->map, "%s", maker->program->array[0].map);
    else
        snprintf(array->map, sizeof array->map, "%s%s;overlap=%d",
                 maker->present > 3 && test_between(maker->random, 0, 2) == 0 ? "splits(3,9,17)" : "block",
                 grid->rank > 1 ? ",*" : "", (int)test_between(maker->random, 2, 6));
    if (dcli_map_rule_parse(array->map, maker->present, &rule) != DCL_OK || dcli_map_rule_check(&rule) != DCL_OK ||
        dcli_layout_bind(&rule, grid, &array->layout) != DCL_OK)
        abort();
    dcli_map_rule_release(&rule);
}

static void create(struct maker *maker)
{
    sim_program *program = maker->program;
    sim_array *array = &program->array[program->array_count];
    dcl_grid grid;
    pick_grid(maker, &grid);
    if (maker->loops)
        grid = (dcl_grid){.type = DCL_INT64, .rank = 2, .extent = {maker->extent[0] + 12, maker->extent[1]}};
    array->storage = ++program->array_count;
    if (maker->loops)
        bind_overlap(maker, &grid, array);
    else
        sim_map_bind(maker->random, maker->present, &grid, array->map, sizeof array->map, &array->layout);
    array->elements = dcl_grid_count(&grid);
    array->value = need((size_t)array->elements, sizeof *array->value);
    set_all(array, NULL);
    maker->handle[maker->handles++] = program->array_count - 1;
    sim_step *step = step_on(maker, DCLI_OP_CREATE, array);
    finish_step(maker, step);
}

static void release(struct maker *maker)
{
    int h = (int)test_between(maker->random, 0, maker->handles - 1);
    sim_array *array = &maker->program->array[maker->handle[h]];
    maker->handle[h] = maker->handle[--maker->handles];
    finish_step(maker, step_on(maker, DCLI_OP_RELEASE, array));
}

static void simple(struct maker *maker, dcli_op_kind kind)
{
    sim_step *step = step_on(maker, kind, any_array(maker));
    step->fill = (int64_t)(test_next(maker->random) >> 2);
    finish_step(maker, step);
}

dcl_box sim_random_box(test_random *random, const dcl_grid *grid)
{
    dcl_box box = dcl_box_of(grid);
    if (test_between(random, 0, 2) == 0)
        return box;
    for (int d = 0; d < grid->rank; d++) {
        if (grid->extent[d] == 0 || test_between(random, 0, 2) == 0)
            continue;
        box.stride[d] = test_between(random, 0, 2) == 0 ? test_between(random, 1, 4) : 1;
        int64_t first = test_between(random, 0, grid->extent[d] - 1);
        box.start[d] = grid->origin[d] + first;
        box.count[d] = test_between(random, 1, (grid->extent[d] - 1 - first) / box.stride[d] + 1);
        if (test_between(random, 0, 39) == 0)
            box.count[d] = 0;
    }
    return box;
}

/* Write the fill value as a reading program does, because no node sends elements that are not stored. */
static void put_fill_value(const sim_array *array, const dcl_box *box, int64_t memory[])
{
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK], n = 0;
    if (dcli_box_is_empty(box))
        return;
    do {
        for (int d = 0; d < box->rank; d++)
            element[d] = box->start[d] + place[d] * box->stride[d];
        if (!sim_is_stored(&array->layout, element))
            memory[n] = sim_fill_value(&array->layout);
        n++;
    } while (sim_next_place(place, box));
}

static void host_transfer(struct maker *maker, dcli_op_kind kind, bool whole)
{
    sim_array *array = any_array(maker);
    sim_step *step = step_on(maker, kind, array);
    if (!whole)
        step->operation.box = sim_random_box(maker->random, &array->layout.grid);
    int64_t elements = dcli_box_elements(&step->operation.box);
    step->memory = need((size_t)elements, sizeof *step->memory);
    for (int64_t n = 0; n < elements; n++)
        step->memory[n] = kind == DCLI_OP_WRITE ? (int64_t)(test_next(maker->random) >> 1) : SIM_GARBAGE;
    if (kind == DCLI_OP_READ)
        put_fill_value(array, &step->operation.box, step->memory);
    step->waits = test_between(maker->random, 0, 2) == 0;
    finish_step(maker, step);
}

static void swap(struct maker *maker)
{
    int a = (int)test_between(maker->random, 0, maker->handles - 1);
    int b = (int)test_between(maker->random, 0, maker->handles - 1);
    const dcli_layout *one = &maker->program->array[maker->handle[a]].layout;
    const dcli_layout *other = &maker->program->array[maker->handle[b]].layout;
    if (!dcli_layout_same(one, other))
        return;
    int kept = maker->handle[a];
    maker->handle[a] = maker->handle[b];
    maker->handle[b] = kept;
}

static void end_step(sim_step *step)
{
    dcli_body_free(step->body);
    free(step->memory);
    free(step->expected);
    for (int n = 0; n < step->shape_count; n++)
        dcli_layout_release(&step->shape[n]);
}

/* Use replicas, which exist only in an array's own shape. Sometimes what is received becomes one. */
static void use_copies(struct maker *maker, dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++) {
        dcli_operand *operand = &operation->operand[k];
        if (operand->storage < 0)
            continue;
        operand->reshaped = operand->layout != &sim_array_of(maker->program, operand->storage)->layout;
        operand->generation = operand->reshaped ? 0 : maker->generation;
        operand->keeps = !operand->reshaped && test_between(maker->random, 0, 3) == 0;
    }
}

static void move(struct maker *maker)
{
    sim_array *array = any_array(maker);
    sim_step *step = step_on(maker, DCLI_OP_MOVE, array);
    step->operation.box = sim_random_box(maker->random, &array->layout.grid);
    step->operation.node = (int)test_between(maker->random, 0, maker->present - 1);
    step->operation.operand[0].generation = maker->generation;
    snprintf(step->text, sizeof step->text, "to node %d", step->operation.node);
    finish_step(maker, step);
}

/* A step of a time loop: V from elements near (i,j), in a box in which these are in the grid. */
static void loop_step(struct maker *maker)
{
    enum { PARAMS = 3 };
    static const char *const bodies[] = {
        "V(i,j) = U(i-%d,j) + U(i+%d,j+%d) + U(i,j-%d);", "V(i,j) = U(i-%d,j) + U(i+%d,j+%d) + W(i,j-%d);",
        "V(i,j) += U(i-%d,j) + U(i+%d,j+%d) - U(i,j-%d);", "if (U(i-%d,j) > 5) V(i,j) = U(i+%d,j+%d) + W(i,j-%d);"};
    static const char *const names[PARAMS] = {"V", "U", "W"};
    int kind = (int)test_between(maker->random, 0, 3), low = (int)test_between(maker->random, 0, 2);
    int high = (int)test_between(maker->random, 0, 2), right = (int)test_between(maker->random, 0, 1);
    int left = (int)test_between(maker->random, 0, 1), first = (int)test_between(maker->random, 0, maker->handles - 1);
    sim_step *step = new_step(maker, DCLI_OP_FORALL);
    dcli_operation *operation = &step->operation;
    dcli_param param[PARAMS];
    operation->operand_count = kind == 1 || kind == 3 ? 3 : 2;
    for (int k = 0; k < operation->operand_count; k++) {
        const sim_array *array = &maker->program->array[maker->handle[(first + k) % maker->handles]];
        dcl_access access = k > 0 ? DCL_ACCESS_IN : kind == 2 ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT;
        param[k] = (dcli_param){.access = access, .type = DCL_INT64, .rank = 2};
        snprintf(param[k].name, sizeof param[k].name, "%s", names[k]);
        operation->operand[k] = (dcli_operand){.storage = array->storage, .layout = &array->layout};
    }
    snprintf(step->text, sizeof step->text, bodies[kind], low, high, right, left);
    if (dcli_body_parse(step->text, "", operation->operand_count, param, &step->body) != DCL_OK)
        abort();
    operation->body = step->body;
    operation->box = dcl_box_of(&operation->operand[0].layout->grid);
    int64_t around[] = {dcli_max(low, high), 1};
    for (int d = 0; d < 2; d++) {
        int64_t more = test_between(maker->random, 0, 3) == 0 ? test_between(maker->random, 0, 3) : 0;
        operation->box.start[d] += around[d] + more;
        operation->box.count[d] = dcli_max(0, operation->box.count[d] - 2 * around[d] - more);
    }
    if (dcli_operation_check(operation) != DCL_OK)
        abort();
    finish_step(maker, step);
}

static void forall(struct maker *maker)
{
    enum { TRIES = 12 };
    sim_program *program = maker->program;
    sim_array *arrays[SIM_MAX_ARRAYS];
    for (int h = 0; h < maker->handles; h++)
        arrays[h] = &program->array[maker->handle[h]];
    for (int tries = 0; tries < TRIES; tries++) {
        sim_step *step = new_step(maker, DCLI_OP_FORALL);
        if (sim_body_make(maker->random, maker->handles, arrays, step)) {
            use_copies(maker, &step->operation);
            finish_step(maker, step);
            return;
        }
        program->step_count--;
        end_step(step);
        memset(step, 0, sizeof *step);
    }
}

static void any_step(struct maker *maker)
{
    int64_t dice = test_between(maker->random, 0, 99);
    if (maker->loops && dice < 80 && maker->handles > 2) {
        for (int64_t steps = test_between(maker->random, 1, 3); steps > 0; steps--)
            loop_step(maker);
        return;
    }
    if (dice < 48)
        forall(maker);
    else if (dice < 55)
        move(maker);
    else if (dice < 56)
        simple(maker, DCLI_OP_DROP);
    else if (dice < 61)
        simple(maker, DCLI_OP_FILL);
    else if (dice < 64)
        simple(maker, DCLI_OP_LOAD);
    else if (dice < 67)
        simple(maker, DCLI_OP_SAVE);
    else if (dice < 77)
        host_transfer(maker, DCLI_OP_WRITE, false);
    else if (dice < 88)
        host_transfer(maker, DCLI_OP_READ, false);
    else if (dice < 91)
        swap(maker);
    else if (dice < 96 && maker->handles > 2)
        release(maker);
    else if (maker->handles < 8)
        create(maker);
}

/* Sometimes let a spare node join before the next operation. */
static void maybe_join(struct maker *maker, int steps_left)
{
    sim_program *program = maker->program;
    int spares = program->node_count - maker->present;
    if (spares == 0 || test_between(maker->random, 0, steps_left) >= 2 * spares)
        return;
    program->joins[program->spare_count - spares] = program->step_count + 1;
    maker->present++;
    maker->generation++; /* it knows of no copies */
    do
        create(maker);
    while (maker->handles < 6 && test_between(maker->random, 0, 1) == 0);
}

sim_program *sim_program_make(test_random *random, int node_count, int spares, int steps, bool loops)
{
    sim_program *program = need(1, sizeof *program);
    program->node_count = node_count;
    program->spare_count = spares;
    for (int n = 0; n < spares; n++)
        program->joins[n] = INT64_MAX;
    struct maker maker = {
        .program = program, .random = random, .present = node_count - spares, .generation = 1, .loops = loops};
    pick_extents(&maker);
    int64_t arrays = test_between(random, loops ? 3 : 2, 5);
    for (int64_t n = 0; n < arrays; n++)
        create(&maker);
    for (int64_t n = 0; n < arrays; n++)
        host_transfer(&maker, DCLI_OP_WRITE, true);
    int last = program->step_count + steps;
    for (int tries = 0; program->step_count < last && tries < 1000; tries++) {
        maybe_join(&maker, last - program->step_count);
        any_step(&maker);
    }
    return program;
}

void sim_program_free(sim_program *program)
{
    for (int s = 0; s < program->step_count; s++)
        end_step(&program->step[s]);
    for (int s = 0; s < program->array_count; s++) {
        dcli_layout_release(&program->array[s].layout);
        free(program->array[s].value);
    }
    free(program);
}

/* ---- as text ------------------------------------------------------------------------------------------------------ */

static void print_array(const sim_array *array, dcli_text *text)
{
    dcl_box whole = dcl_box_of(&array->layout.grid);
    char box[160];
    dcli_box_print(&whole, box, sizeof box);
    dcli_text_put(text, "storage %" PRId64 ": %s, map %s\n", array->storage, box, array->map);
}

/* Print the shape of a reshaped array. */
static void print_shape(const sim_program *program, const dcli_operand *operand, char *text, size_t capacity)
{
    size_t length = strlen(text);
    dcl_box shape = dcl_box_of(&operand->layout->grid);
    for (int s = 0; s < program->array_count; s++)
        if (operand->layout == &program->array[s].layout)
            return;
    snprintf(text + length, capacity - length, " in the shape ");
    length += strlen(text + length);
    dcli_box_print(&shape, text + length, capacity - length);
}

void sim_program_print(const sim_program *program, dcli_text *text)
{
    static const char *kinds[] = {"?",    "create", "release", "forall", "fill", "write",
                                  "read", "load",   "save",    "move",   "drop"};
    for (int s = 0; s < program->array_count; s++)
        print_array(&program->array[s], text);
    for (int s = 0; s < program->step_count; s++) {
        const dcli_operation *operation = &program->step[s].operation;
        char box[160];
        dcli_box_print(&operation->box, box, sizeof box);
        dcli_text_put(text, "%3" PRId64 " %s over %s: %s", operation->number, kinds[operation->kind], box,
                      program->step[s].text);
        if (operation->overlap > 0)
            dcli_text_put(text, " with %" PRId64 " lines more,", operation->overlap - 1);
        for (int k = 0; k < operation->operand_count; k++)
            if (operation->operand[k].storage >= 0) {
                char view[320] = "";
                if (operation->operand[k].view != NULL)
                    sim_print_view(operation->operand[k].view, view, sizeof view);
                print_shape(program, &operation->operand[k], view, sizeof view);
                dcli_text_put(text, " %s=%" PRId64 "%s",
                              operation->body != NULL ? operation->body->params[k].name : "array",
                              operation->operand[k].storage, view);
            } else {
                dcli_text_put(text, " %s=%" PRId64, operation->body->params[k].name, operation->value[k].i);
            }
        dcli_text_put(text, "\n");
    }
}

/* test/support/simbody.c - random loop bodies: generated as text, parsed by the library.
 *
 * Expressions are sums; only the accesses vary. Reads: plain, permuted, shifted beyond the edge, strided, reversed,
 * constant subscripts, two indices in one subscript, one index on two axes, declared reaches; with or without views.
 * Writes: one or two outputs at permuted indices, also to views of arrays, conditional, or read as well. */
#include "support/simbody.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/declared.h"
#include "support/simview.h"

static const char index_names[] = "ijklmnop";

/* A body with a prelude may be costly: dcli_body_may_be_costly(). */
#define COSTLY "#define COSTLY"

struct maker {
    test_random *random;
    int count;
    sim_array *const *arrays;
    sim_step *step;
    size_t length;
    int params;
    dcli_param param[DCLI_MAX_PARAMS];
    int rank;                   /* of the first output */
    int index_of[DCL_MAX_RANK]; /* index of each axis */
    bool halved;                /* the output is every second element of its array: inputs may be the others */
};

static int64_t pick(struct maker *maker, int64_t lo, int64_t hi) { return test_between(maker->random, lo, hi); }

__attribute__((format(printf, 2, 3))) static void put(struct maker *maker, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(maker->step->text + maker->length, sizeof maker->step->text - maker->length, format, values);
    va_end(values);
    maker->length += (size_t)length;
    if (maker->length >= sizeof maker->step->text)
        abort();
}

/* Pick the array's own layout, or a reshaped one. */
static const dcli_layout *pick_shape(struct maker *maker, const sim_array *array)
{
    dcl_grid shape = sim_random_shape(maker->random, &array->layout.grid);
    dcli_layout *layout = &maker->step->shape[maker->step->shape_count];
    if (pick(maker, 0, 4) > 0 || dcli_layout_reshape(&array->layout, &shape, layout) != DCL_OK)
        return &array->layout;
    maker->step->shape_count++;
    return layout;
}

/* Add an array as operand. @param layout  the array's, possibly reshaped. @param view  NULL: all of it. @return the
 * grid that the body sees. */
static const dcl_grid *add_array(struct maker *maker, const char *name, dcl_access access, const sim_array *array,
                                 const dcli_layout *layout, const dcli_transform *view)
{
    dcli_operand *operand = &maker->step->operation.operand[maker->params];
    *operand = (dcli_operand){.storage = array->storage, .layout = layout};
    if (view != NULL) {
        maker->step->view[maker->step->view_count] = *view;
        operand->view = &maker->step->view[maker->step->view_count++];
    }
    dcli_param *param = &maker->param[maker->params++];
    *param = (dcli_param){.access = access, .type = DCL_INT64, .rank = dcli_operand_grid(operand)->rank};
    snprintf(param->name, sizeof param->name, "%s", name);
    return dcli_operand_grid(operand);
}

static void add_scalar(struct maker *maker, const char *name, int64_t value)
{
    dcli_param *param = &maker->param[maker->params];
    *param = (dcli_param){.access = DCL_ACCESS_VALUE, .type = DCL_INT64};
    snprintf(param->name, sizeof param->name, "%s", name);
    maker->step->operation.operand[maker->params] = (dcli_operand){.storage = -1};
    maker->step->operation.value[maker->params++].i = value;
}

static void shuffle(struct maker *maker, int count, int numbers[])
{
    for (int n = 0; n < count; n++)
        numbers[n] = n;
    for (int n = count - 1; n > 0; n--) {
        int other = (int)pick(maker, 0, n), kept = numbers[n];
        numbers[n] = numbers[other];
        numbers[other] = kept;
    }
}

/* ---- what is read ------------------------------------------------------------------------------------------------- */

static void put_subscript(struct maker *maker, int index)
{
    char name = index_names[index], other = index_names[pick(maker, 0, maker->rank - 1)];
    switch (pick(maker, 0, 19)) {
    case 0:
    case 1:
    case 2:
    case 3:
        put(maker, "%c%+d", name, (int)pick(maker, -3, 3));
        break;
    case 4:
        put(maker, "%d*%c%+d", (int)pick(maker, 2, 3), name, (int)pick(maker, -1, 1));
        break;
    case 5:
    case 6:
        put(maker, "t - %c", name);
        break;
    case 7:
        put(maker, "%d", (int)pick(maker, 0, 6));
        break;
    case 8:
        put(maker, "%c + %c", name, other);
        break;
    case 9:
        put(maker, "s*%c", name);
        break;
    case 10:
        put(maker, "%c", other); /* perhaps on two axes */
        break;
    default:
        put(maker, "%c", name);
    }
}

static void put_affine(struct maker *maker, const char *name, int rank)
{
    int index[DCL_MAX_RANK];
    bool straight = pick(maker, 0, 2) == 0;
    shuffle(maker, maker->rank, index);
    put(maker, "%s(", name);
    for (int d = 0; d < rank; d++) {
        put(maker, "%s", d > 0 ? ", " : "");
        put_subscript(maker, straight && d < maker->rank ? maker->index_of[d] : index[d % maker->rank]);
    }
    put(maker, ")");
}

static void put_reach(struct maker *maker, const char *name, int rank)
{
    put(maker, "%s(", name);
    for (int d = 0; d < rank; d++)
        put(maker, "%s(%c * %c + %d) %% 7", d > 0 ? ", " : "", index_names[pick(maker, 0, maker->rank - 1)],
            index_names[pick(maker, 0, maker->rank - 1)], d);
    put(maker, ")");
}

static void declare_box(struct maker *maker, const dcl_box *box)
{
    if (maker->step->number_count + 3 * box->rank > SIM_MAX_NUMBERS)
        abort();
    dcli_declared_put(box, maker->step->number + maker->step->number_count);
    maker->step->number_count += 3 * box->rank;
}

/* Make a random box of a grid, sometimes with strides, perhaps empty. */
static dcl_box random_box(struct maker *maker, const dcl_grid *grid)
{
    dcl_box box = dcl_box_of(grid);
    for (int d = 0; d < grid->rank; d++) {
        int64_t first = box.count[d] == 0 ? 0 : pick(maker, 0, box.count[d] - 1);
        box.start[d] += first;
        box.stride[d] = pick(maker, 0, 2) == 0 ? pick(maker, 1, 3) : 1;
        int64_t most = box.count[d] == 0 ? 0 : (box.count[d] - first - 1) / box.stride[d] + 1;
        box.count[d] = pick(maker, most > 0 && pick(maker, 0, 9) > 0 ? 1 : 0, most);
    }
    return box;
}

/* Make portions: the index space cut into slabs along one axis, each of which reads some box; sometimes the last index
 * is omitted. */
static void declare_portions(struct maker *maker, const dcl_grid *space, const dcl_grid *grid)
{
    int axis = (int)pick(maker, 0, space->rank - 1);
    dcl_box slab = dcl_box_of(space);
    int64_t end = space->origin[axis] + space->extent[axis] - (pick(maker, 0, 5) == 0);
    while (slab.start[axis] < end) {
        slab.count[axis] = pick(maker, dcli_max(space->extent[axis] / 5, 1), space->extent[axis]);
        slab.count[axis] = dcli_min(slab.count[axis], end - slab.start[axis]);
        dcl_box reads = random_box(maker, grid);
        declare_box(maker, &slab);
        declare_box(maker, &reads);
        slab.start[axis] += slab.count[axis];
    }
}

/* Make the declaration for the array just named. */
static void declare(struct maker *maker, dcl_access access, const dcl_grid *grid)
{
    sim_step *step = maker->step;
    dcli_declared *declared = &step->operation.operand[maker->params - 1].declared;
    int before = step->number_count;
    if (access == DCL_ACCESS_IN_HALO || access == DCL_ACCESS_IN_CROSS)
        for (int d = 0; d < grid->rank; d++)
            step->number[step->number_count++] = pick(maker, 0, 3);
    dcl_box box;
    if (access == DCL_ACCESS_IN_BOX) {
        box = random_box(maker, grid);
        declare_box(maker, &box);
    }
    if (access == DCL_ACCESS_IN_FUNCTION)
        declare_portions(maker, dcli_operand_grid(&step->operation.operand[0]), grid);
    declared->number = step->number + before;
    declared->count = step->number_count - before;
}

/* Pick a declared reach that an array of this rank can have. */
static dcl_access pick_reach(struct maker *maker, int rank)
{
    static const dcl_access reaches[] = {DCL_ACCESS_IN_ALL,  DCL_ACCESS_IN_ROWS,     DCL_ACCESS_IN_COLUMNS,
                                         DCL_ACCESS_IN_BOX,  DCL_ACCESS_IN_FUNCTION, DCL_ACCESS_IN_HALO,
                                         DCL_ACCESS_IN_CROSS};
    return reaches[pick(maker, 0, rank == maker->rank ? 6 : 4)];
}

/* Write one input, read once or twice. */
static void put_input(struct maker *maker, const char *name)
{
    const sim_array *array = maker->arrays[pick(maker, 0, maker->count - 1)];
    bool declared = pick(maker, 0, 5) == 0, seen = pick(maker, 0, 2) == 0;
    const dcli_layout *layout = pick_shape(maker, array);
    dcli_transform view;
    if (maker->halved && array->storage == maker->step->operation.operand[0].storage) {
        layout = &array->layout;
        view = sim_every_second(&layout->grid, true);
        seen = true;
    } else if (seen) {
        view = sim_random_view(maker->random, &layout->grid, false);
    }
    int rank = seen ? view.grid.rank : layout->grid.rank;
    dcl_access access = declared ? pick_reach(maker, rank) : DCL_ACCESS_IN;
    const dcl_grid *grid = add_array(maker, name, access, array, layout, seen ? &view : NULL);
    if (declared)
        declare(maker, access, grid);
    for (int64_t times = pick(maker, 0, 3) == 0 ? 2 : 1; times > 0; times--) {
        put(maker, " + ");
        if (declared)
            put_reach(maker, name, rank);
        else
            put_affine(maker, name, rank);
    }
}

/* ---- what is written ---------------------------------------------------------------------------------------------- */

static void put_written(struct maker *maker, const char *name, const int index[])
{
    put(maker, "%s(", name);
    for (int d = 0; d < maker->rank; d++)
        put(maker, "%s%c", d > 0 ? "," : "", index_names[index[d]]);
    put(maker, ")");
}

/* Write an assignment to an output: plain, in a condition, or adding to the old value. */
static const char *put_assignment(struct maker *maker, const char *name, const int index[], dcl_access access)
{
    if (pick(maker, 0, 3) == 0)
        put(maker, "if (%c > 2) ", index_names[index[0]]);
    put_written(maker, name, index);
    return access == DCL_ACCESS_INOUT ? " +=" : " =";
}

/* Find another array, or a view of one, whose axes in some order have the extents of the index space. */
static bool find_output(struct maker *maker, const sim_array **array_out, dcli_transform *view_out, int index_out[])
{
    enum { TRIES = 8 };
    const dcli_operand *first = &maker->step->operation.operand[0];
    const dcl_grid *space = dcli_operand_grid(first);
    for (int tries = 0; tries < TRIES; tries++) {
        const sim_array *array = maker->arrays[pick(maker, 0, maker->count - 1)];
        int axis[DCL_MAX_RANK];
        *view_out = first->view != NULL && array->layout.grid.rank == first->layout->grid.rank
                        ? *first->view
                        : sim_random_view(maker->random, &array->layout.grid, true);
        if (dcli_transform_check(view_out, &array->layout.grid) != DCL_OK || pick(maker, 0, 1) == 0)
            *view_out = dcli_transform_of(&array->layout.grid);
        bool fits = view_out->grid.rank == maker->rank && array->storage != first->storage;
        shuffle(maker, maker->rank, axis);
        for (int d = 0; d < maker->rank && fits; d++) {
            fits = view_out->grid.extent[d] == space->extent[axis[d]] &&
                   view_out->grid.origin[d] == space->origin[axis[d]];
            index_out[d] = maker->index_of[axis[d]];
        }
        *array_out = array;
        if (fits)
            return true;
    }
    return false;
}

static void put_output(struct maker *maker, const char *name, const int index[], dcl_access access, int inputs)
{
    static const char *names[] = {"A", "B", "F", "G", "H", "K"};
    put(maker, "%s 1", put_assignment(maker, name, index, access));
    int first = name[0] == 'C' ? 0 : 3;
    for (int n = 0; n < inputs; n++)
        put_input(maker, names[first + n]);
    put(maker, "; ");
}

static dcl_access pick_access(struct maker *maker)
{
    return pick(maker, 0, 3) == 0 ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT;
}

/* Write the first output, which determines the order of the loop's axes. */
static const dcl_grid *put_first(struct maker *maker)
{
    const sim_array *array = maker->arrays[pick(maker, 0, maker->count - 1)];
    int64_t dice = pick(maker, 0, 11);
    const dcli_layout *layout = dice == 0 ? &array->layout : pick_shape(maker, array);
    dcli_transform view;
    maker->halved = dice == 0;
    if (dice == 0)
        view = sim_every_second(&layout->grid, false);
    else if (dice <= 4)
        view = sim_random_view(maker->random, &layout->grid, true);
    dcl_access access = pick_access(maker);
    const dcl_grid *grid = add_array(maker, "C", access, array, layout, dice <= 4 ? &view : NULL);
    maker->rank = grid->rank;
    if (pick(maker, 0, 2) > 0)
        for (int d = 0; d < maker->rank; d++)
            maker->index_of[d] = d;
    else
        shuffle(maker, maker->rank, maker->index_of);
    put_output(maker, "C", maker->index_of, access, (int)pick(maker, 0, 3));
    return grid;
}

static void put_body(struct maker *maker)
{
    const dcl_grid *grid = put_first(maker);
    const sim_array *other;
    dcli_transform view;
    int index[DCL_MAX_RANK];
    if (pick(maker, 0, 2) == 0 && find_output(maker, &other, &view, index)) {
        dcl_access access = pick_access(maker);
        dcli_transform as_it_is = dcli_transform_of(&other->layout.grid);
        add_array(maker, "D", access, other, &other->layout, dcli_transform_equal(&view, &as_it_is) ? NULL : &view);
        put_output(maker, "D", index, access, (int)pick(maker, 0, 2));
    }
    add_scalar(maker, "s", pick(maker, -2, 2));
    add_scalar(maker, "t", grid->extent[0] + grid->origin[0] - 1);
}

bool sim_body_make(test_random *random, int count, sim_array *const arrays[], sim_step *step)
{
    struct maker maker = {.random = random, .count = count, .arrays = arrays, .step = step};
    put_body(&maker);
    const char *prelude = maker.length % 3 == 0 ? COSTLY : "";
    dcli_operation *operation = &step->operation;
    operation->operand_count = maker.params;
    operation->box = sim_random_box(random, dcli_operand_grid(&operation->operand[0]));
    if (dcli_body_parse(step->text, prelude, maker.params, maker.param, &step->body) != DCL_OK) {
        fprintf(stderr, "%s\n%s\n", step->text, dcl_error());
        abort();
    }
    operation->body = step->body;
    if (dcli_operation_check(operation) == DCL_OK)
        return true;
    dcli_body_free(step->body);
    step->body = NULL;
    return false;
}

/* segment/declared.c - declared reaches: halos, crosses, boxes and portions, and the elements that they cover. */
#include "segment/declared.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/wide.h"

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

int dcli_declared_box_length(int rank) { return 3 * rank; }

int dcli_declared_portion_length(int space_rank, int rank)
{
    return dcli_declared_box_length(space_rank) + dcli_declared_box_length(rank);
}

void dcli_declared_put(const dcl_box *box, int64_t number_out[])
{
    for (int d = 0; d < box->rank; d++) {
        number_out[d] = box->start[d];
        number_out[box->rank + d] = box->count[d];
        number_out[2 * box->rank + d] = box->stride[d];
    }
}

static dcl_box get_box(int rank, const int64_t number[])
{
    dcl_box box = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        box.start[d] = number[d];
        box.count[d] = number[rank + d];
        box.stride[d] = number[2 * rank + d];
    }
    return box;
}

static dcli_portion get_portion(int space_rank, int rank, const int64_t number[])
{
    return (dcli_portion){.space = get_box(space_rank, number),
                          .reads = get_box(rank, number + dcli_declared_box_length(space_rank))};
}

bool dcli_declared_equal(const dcli_declared *a, const dcli_declared *b)
{
    return a->approximate == b->approximate && a->count == b->count &&
           (a->count == 0 || memcmp(a->number, b->number, (size_t)a->count * sizeof(int64_t)) == 0);
}

int dcli_declared_portions(const dcli_subscripts *subscripts)
{
    if (subscripts->reach != DCLI_REACH_FUNCTION)
        return 0;
    return subscripts->declared.count / dcli_declared_portion_length(subscripts->space_rank, subscripts->rank);
}

dcli_portion dcli_declared_portion(const dcli_subscripts *subscripts, int p)
{
    int length = dcli_declared_portion_length(subscripts->space_rank, subscripts->rank);
    return get_portion(subscripts->space_rank, subscripts->rank, subscripts->declared.number + (ptrdiff_t)p * length);
}

/* ---- checking ----------------------------------------------------------------------------------------------------- */

static dcl_status check_widths(const dcli_declared *declared, const char *name, const dcl_grid *space,
                               const dcl_grid *grid)
{
    if (grid->rank != space->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s has %d ax%s and the first output %d; expected as many, for a halo lies around the same "
                         "index; declare DCL_IN_ROWS, DCL_IN_COLUMNS or DCL_IN_BOX",
                         name, grid->rank, grid->rank == 1 ? "is" : "es", space->rank);
    if (declared->count != grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "the halo of %s has %d widths; expected %d, one per axis, or one for all",
                         name, declared->count, grid->rank);
    for (int d = 0; d < grid->rank; d++)
        if (declared->number[d] < 0 || declared->number[d] > DCLI_MOST_WIDTH)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "the halo of %s has width %" PRId64 " along axis %d; expected 0..%" PRId64
                             " elements to either side",
                             name, declared->number[d], d, DCLI_MOST_WIDTH);
    return DCL_OK;
}

/* Check a declared box. dcli_box_check() names the axis; this adds the name of the array. */
dcl_status dcli_declared_check_box(const dcl_box *box, const dcl_grid *grid, const char *name, const char *what)
{
    dcl_status status = dcli_box_check(box, grid);
    if (status == DCL_OK)
        return DCL_OK;
    char sentence[DCLI_ERROR_BYTES];
    strncpy(sentence, dcli_error_sentence(), sizeof sentence - 1);
    sentence[sizeof sentence - 1] = '\0';
    return DCLI_FAIL(status, "%s %s: %s", what, name, sentence);
}

static dcl_status check_portions(const dcli_declared *declared, const char *name, const dcl_grid *space,
                                 const dcl_grid *grid)
{
    int length = dcli_declared_portion_length(space->rank, grid->rank);
    if (declared->count % length != 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s comes with %d numbers; expected a multiple of %d, as boxes of its call take", name,
                         declared->count, length);
    dcl_status status = DCL_OK;
    for (int at = 0; at < declared->count && status == DCL_OK; at += length) {
        dcli_portion portion = get_portion(space->rank, grid->rank, declared->number + at);
        status = dcli_declared_check_box(&portion.space, space, name, "the indices that a box is declared for, of");
        if (status == DCL_OK)
            status = dcli_declared_check_box(&portion.reads, grid, name, "the box that the function gave for");
    }
    return status;
}

dcl_status dcli_declared_check(dcli_reach reach, const dcli_declared *declared, const char *name, const dcl_grid *space,
                               const dcl_grid *grid)
{
    dcl_box box;
    switch (reach) {
    case DCLI_REACH_HALO:
    case DCLI_REACH_CROSS:
        return check_widths(declared, name, space, grid);
    case DCLI_REACH_BOX:
        if (declared->count != dcli_declared_box_length(grid->rank))
            return DCLI_FAIL(DCL_ERR_INVALID, "the box of %s has %d axes; expected %d, as the array has", name,
                             declared->count / 3, grid->rank);
        box = get_box(grid->rank, declared->number);
        return dcli_declared_check_box(&box, grid, name, "the box of");
    case DCLI_REACH_FUNCTION:
        return check_portions(declared, name, space, grid);
    default:
        return declared->count == 0
                   ? DCL_OK
                   : DCLI_FAIL(DCL_ERR_INVALID, "%s comes with %d numbers; expected none", name, declared->count);
    }
}

/* ---- coverage ----------------------------------------------------------------------------------------------------- */

bool dcli_declared_box(const dcli_subscripts *subscripts, const dcl_box *space, dcl_box *box_out)
{
    if (subscripts->reach == DCLI_REACH_BOX) {
        *box_out = get_box(subscripts->rank, subscripts->declared.number);
        return !dcli_box_is_empty(box_out);
    }
    dcl_box box = {.rank = subscripts->rank}, common;
    for (int d = 0; d < box.rank; d++)
        box.stride[d] = 1;
    for (int p = 0; p < dcli_declared_portions(subscripts); p++) {
        dcli_portion portion = dcli_declared_portion(subscripts, p);
        if (dcli_box_intersect(&portion.space, space, &common))
            dcli_box_bound(&box, &portion.reads, &box);
    }
    *box_out = box;
    return !dcli_box_is_empty(&box);
}

/* Axis d of a box, widened by `width` on both sides, as a box of one axis. @param approximate set to true if the result
 * contains indices that are not within reach. */
static dcl_box widen(const dcl_box *space, int d, int64_t width, bool *approximate)
{
    dcl_box run = {.rank = 1, .start = {space->start[d]}, .count = {space->count[d]}, .stride = {space->stride[d]}};
    if (width == 0)
        return run;
    dcli_wide low = (dcli_wide)space->start[d] - width;
    dcli_wide high = dcli_run_last(space->start[d], space->count[d], space->stride[d]) + width;
    run.start[0] = dcli_wide_clip(low);
    run.count[0] = dcli_wide_clip(high - run.start[0] + 1);
    run.stride[0] = 1;
    *approximate |= space->count[d] > 1 && space->stride[d] > 2 * width + 1;
    return run;
}

/* The box of the elements within the given widths of a box, limited to the grid. @param approximate  set to true if the
 * result contains other elements, too. @return false: it is empty. */
static bool widened(const dcl_box *space, const int64_t width[], const dcl_grid *grid, dcl_box *out, bool *approximate)
{
    dcl_box box = {.rank = grid->rank};
    for (int d = 0; d < grid->rank; d++) {
        dcl_box run = widen(space, d, width[d], approximate);
        if (!dcli_run_intersect(run.start[0], run.count[0], run.stride[0], grid->origin[d], grid->extent[d], 1,
                                &box.start[d], &box.count[d], &box.stride[d]))
            return false;
    }
    *out = box;
    return true;
}

int dcli_declared_parts(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                        dcl_box parts_out[], bool *approximate_out)
{
    const int64_t *width = subscripts->declared.number;
    if (dcli_box_is_empty(space))
        return 0;
    if (subscripts->reach == DCLI_REACH_HALO)
        return widened(space, width, grid, &parts_out[0], approximate_out);
    int parts = 0, arms = 0;
    for (int d = 0; d < grid->rank; d++) {
        int64_t arm[DCL_MAX_RANK] = {0};
        arm[d] = width[d];
        if (width[d] == 0 && (arms > 0 || d < grid->rank - 1))
            continue; /* the indices themselves belong to every arm; a box for them alone is needed only if there is
                         no other arm */
        arms++;
        parts += widened(space, arm, grid, &parts_out[parts], approximate_out);
    }
    return parts;
}

/* Find the positions along axis d of `space` (0: its first index) whose reads along that axis, `width` to either side,
 * lie in the target. An end of the target that is also the grid's end is no limit, because nothing is read beyond it.
 * @return false: there are none. */
static bool inside_axis(const dcl_box *space, int d, int64_t width, const dcl_grid *grid, const dcl_box *target,
                        int64_t *lo_out, int64_t *count_out)
{
    dcli_wide low = target->start[d], high = low + target->count[d] - 1;
    dcli_wide first = 0, last = space->count[d] - 1;
    if (low > grid->origin[d])
        first = dcli_wide_max(first, dcli_wide_ceil_div(low + width - space->start[d], space->stride[d]));
    if (high < (dcli_wide)grid->origin[d] + grid->extent[d] - 1)
        last = dcli_wide_min(last, dcli_wide_floor_div(high - width - space->start[d], space->stride[d]));
    *lo_out = (int64_t)dcli_wide_min(first, space->count[d]);
    *count_out = first <= last ? (int64_t)(last - first + 1) : 0;
    return first <= last;
}

bool dcli_declared_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                          const dcl_box *target, int64_t lo_out[], int64_t count_out[])
{
    bool some = !dcli_box_is_empty(space) && !dcli_box_is_empty(target);
    for (int d = 0; d < grid->rank && some; d++)
        some = (target->stride[d] == 1 || target->count[d] == 1) &&
               inside_axis(space, d, subscripts->declared.number[d], grid, target, &lo_out[d], &count_out[d]);
    return some;
}

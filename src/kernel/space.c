/* kernel/space.c - the ranges of the indices of a reduction: those of the arrays' axes in whose subscripts the indices
 * stand alone, and those of DCL_OVER or of a box. */
#include "kernel/space.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "kernel/inside.h"
#include "kernel/keyed.h"
#include "kernel/names.h"

static int rank_of(const dcli_body *body, int a) { return body->params[body->access[a].param].rank; }

/* Where an index stands alone. */
struct range {
    int param, axis; /* param -1: not yet found */
    int64_t start, count;
};

static dcl_status note_range(const dcli_body *body, int index, int param, int d, const dcl_grid *grid,
                             struct range *range)
{
    int64_t start = grid->origin[d], count = grid->extent[d];
    if (range->param < 0)
        *range = (struct range){param, d, start, count};
    if (dcli_over_has(body, index)) { /* its range must lie in all of these axes */
        int64_t end = dcli_min(range->start + range->count, start + count);
        range->start = dcli_max(range->start, start);
        range->count = dcli_max(end - range->start, 0);
        return DCL_OK;
    }
    if (range->start == start && range->count == count)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "index %s runs over %" PRId64 "..%" PRId64 " as axis %d of %s, and over %" PRId64 "..%" PRId64
                     " as axis %d of %s; expected one range; give both axes the same extent and origin, or slice one "
                     "(dcl_slice())",
                     dcli_index_name(index), range->start, range->start + range->count - 1, range->axis,
                     body->params[range->param].name, start, start + count - 1, d, body->params[param].name);
}

/* Find where each index stands alone. @param first  an access whose axes come first in messages. @param range  [DCL_MAX_RANK]
 * by index; param -1: it stands alone nowhere. */
static dcl_status find_ranges(const dcli_body *body, int first, const dcl_grid *const grids[], struct range range[])
{
    dcl_status status = DCL_OK;
    for (int n = 0; n < DCL_MAX_RANK; n++)
        range[n] = (struct range){.param = -1, .count = -1};
    for (int step = 0; step <= body->access_count && status == DCL_OK; step++) {
        int a = step == 0 ? first : step - 1;
        if (a == body->access_count || body->access[a].reach != DCLI_REACH_AFFINE)
            continue;
        for (int d = 0; d < rank_of(body, a) && status == DCL_OK; d++) {
            int index = dcli_affine_plain_index(dcli_inside_subscript(body, a, d));
            if (index >= 0)
                status = note_range(body, index, body->access[a].param, d, grids[body->access[a].param], &range[index]);
        }
    }
    return status;
}

dcl_status dcli_along_ranges(const dcli_body *body, const dcl_grid *const grids[], int64_t start_out[],
                             int64_t count_out[])
{
    struct range range[DCL_MAX_RANK];
    dcl_status status = find_ranges(body, body->home, grids, range); /* outputs have the ranges of kept indices */
    for (int q = 0; q < body->inner_rank && status == DCL_OK; q++) {
        start_out[q] = range[body->index_of_axis[body->space_rank + q]].start;
        count_out[q] = range[body->index_of_axis[body->space_rank + q]].count;
    }
    return status;
}

/* ---- spaces of their own --------------------------------------------------------------------------------------------- */

/* Stands for the unknown range of an index: DCL_OVER has to narrow it at both ends. */
static const int64_t unknown_low = INT64_MIN / 2, unknown_count = INT64_MAX;

static bool is_unknown(int64_t start, int64_t count)
{
    return count > 0 && (start == unknown_low || start + (dcli_wide)count == unknown_low + (dcli_wide)unknown_count);
}

static dcl_status refuse_unknown(int index)
{
    const char *name = dcli_index_name(index);
    return DCLI_FAIL(
        DCL_ERR_BODY,
        "the range of index %s is unknown, because it stands alone in no subscript; expected it alone in a "
        "subscript of a DCL_IN, such as A(%s), or in DCL_OVER(\"0 <= %s < n\")",
        name, name, name);
}

/* Note the ranges of keys that are indices. */
static dcl_status note_keys(const dcli_body *body, int r, const dcl_grid *grid, struct range range[])
{
    int key[DCL_MAX_RANK], param = body->result[r].param;
    dcl_status status = DCL_OK;
    if (grid == NULL || !body->keyed)
        return DCL_OK;
    dcli_keyed_axes(body, r, key);
    for (int d = 0; d < grid->rank && status == DCL_OK; d++)
        if (key[d] >= 0 && dcli_body_has_index(body, key[d]))
            status = note_range(body, key[d], param, d, grid, &range[key[d]]);
    return status;
}

dcl_status dcli_space_find(const dcli_body *body, const dcl_grid *const grids[], const dcli_scalar values[],
                           const dcl_box *given, dcl_grid *space_out)
{
    struct range range[DCL_MAX_RANK];
    dcl_grid space = {.type = DCL_INT8, .rank = body->space_rank};
    if (given != NULL && given->rank != space.rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "the box has %d axes; expected %d, one for each index of the body",
                         given->rank, space.rank);
    dcl_status status = find_ranges(body, body->access_count, grids, range);
    for (int r = 0; r < body->result_count && status == DCL_OK; r++)
        status = note_keys(body, r, grids[body->result[r].param], range);
    for (int m = 0; m < space.rank && status == DCL_OK; m++) {
        int index = body->index_of_axis[m];
        bool known = range[index].param >= 0, boxed = !known && given != NULL && !dcli_over_has(body, index);
        if (!known && !boxed && !dcli_over_has(body, index))
            return refuse_unknown(index);
        space.origin[m] = known ? range[index].start : boxed ? given->start[m] : unknown_low;
        space.extent[m] = known ? range[index].count : boxed ? 0 : unknown_count;
        if (boxed && given->count[m] > 0 &&
            (__builtin_mul_overflow(given->count[m] - 1, given->stride[m], &space.extent[m]) ||
             __builtin_add_overflow(space.extent[m], 1, &space.extent[m])))
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "the box has %" PRId64 " indices of %s in steps of %" PRId64
                             ", which do not fit 64 bits; expected fewer",
                             given->count[m], dcli_index_name(index), given->stride[m]);
    }
    if (status == DCL_OK && body->over != NULL) {
        dcl_box box;
        status = dcli_over_box(body, values, &space, &box);
        for (int m = 0; m < space.rank && status == DCL_OK; m++) {
            if (is_unknown(box.start[m], box.count[m]))
                return refuse_unknown(body->index_of_axis[m]);
            space.origin[m] = box.count[m] > 0 ? box.start[m] : 0;
            space.extent[m] = box.count[m];
        }
    }
    if (status == DCL_OK)
        *space_out = space;
    return status;
}

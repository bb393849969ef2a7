/* lower/tiles.c - fill the row that a tile kernel gets for a box of a tile. */
#include "lower/rows.h"

#include <string.h>

#include "base/check.h"
#include "kernel/tile_kernel.h"

static bool is_halo(const dcli_body *body, int a)
{
    return body->access[a].reach == DCLI_REACH_HALO || body->access[a].reach == DCLI_REACH_CROSS;
}

/* Whether local index 0 along axis d of an array is the tile's first index. Otherwise it is the first index that the
 * declaration names. */
static bool is_same_axis(const dcli_body *body, int a, int d, int rank)
{
    switch (body->access[a].reach) {
    case DCLI_REACH_AFFINE:
    case DCLI_REACH_HALO:
    case DCLI_REACH_CROSS:
        return true;
    case DCLI_REACH_ROWS:
        return d == 0;
    case DCLI_REACH_COLUMNS:
        return d == rank - 1;
    default:
        return false;
    }
}

/* How much the index in the grid grows from one local index to the next. */
static int64_t stride_along(const dcli_body *body, int a, int d, int rank, const dcli_work *work,
                            const dcli_binding *binding)
{
    dcli_reach reach = body->access[a].reach;
    if (reach == DCLI_REACH_BOX || reach == DCLI_REACH_FUNCTION)
        return binding->limits->count[d] > 0 ? binding->limits->width[d] : 1;
    if (is_halo(body, a) && binding->limits->width[d] > 0)
        return 1; /* the planner cuts boxes with gaps along such an axis */
    return is_same_axis(body, a, d, rank) ? work->box.stride[reach == DCLI_REACH_COLUMNS ? work->box.rank - 1 : d] : 1;
}

/* The numbers that a row has for one axis of an array. */
struct axis {
    int64_t step, low, high, first, by;
};

/* The numbers of an axis with a halo. The plan contains all indices between the ends of the halo. If the tile has a stride,
 * local indices count only every `by`-th of them. */
static struct axis halo_axis(int64_t first, int64_t by, const dcli_binding *binding, int d)
{
    int64_t before = binding->limits->low[d] - first;
    return (struct axis){.step = binding->step[d] * by,
                         .low = dcli_ceil_div(before, by),
                         .high = dcli_floor_div(before + binding->limits->count[d] - 1, by) + 1,
                         .first = first,
                         .by = by};
}

static struct axis find_axis(const dcli_body *body, int a, int d, const dcli_work *work, const dcli_binding *binding)
{
    int rank = body->params[body->access[a].param].rank;
    dcli_reach reach = body->access[a].reach;
    struct axis axis = {.step = binding->step[d], .by = stride_along(body, a, d, rank, work, binding)};
    if (is_same_axis(body, a, d, rank))
        axis.first = work->box.start[reach == DCLI_REACH_COLUMNS ? work->box.rank - 1 : d];
    else if (binding->limits->count[d] > 0)
        axis.first = binding->limits->low[d];
    if (reach == DCLI_REACH_AFFINE)
        axis.high = work->box.count[d];
    else if (binding->limits->count[d] > 0 && is_halo(body, a))
        return halo_axis(axis.first, axis.by, binding, d);
    else if (binding->limits->count[d] > 0) {
        axis.low = (binding->limits->low[d] - axis.first) / axis.by;
        axis.high = axis.low + binding->limits->count[d];
    }
    return axis;
}

/* Fill the fields of one array. */
static void fill_array(const dcli_body *body, int a, const dcli_work *work, const dcli_binding *binding, int64_t base,
                       int64_t row[])
{
    bool affine = body->access[a].reach == DCLI_REACH_AFFINE;
    int64_t *offset = row + dcli_row_at(body, DCLI_ROW_OFFSET, a);
    *offset = binding->offset + base;
    for (int d = 0; d < body->params[body->access[a].param].rank; d++) {
        struct axis axis = find_axis(body, a, d, work, binding);
        /* A binding's offset is that of the first element present; a row's is that of local index 0. */
        if (!affine && binding->limits->count[d] > 0)
            *offset -= (binding->limits->low[d] - axis.first) / (is_halo(body, a) ? 1 : axis.by) * binding->step[d];
        row[dcli_row_at(body, DCLI_ROW_STEP, a) + d] = axis.step;
        row[dcli_row_at(body, DCLI_ROW_LOW, a) + d] = axis.low;
        row[dcli_row_at(body, DCLI_ROW_HIGH, a) + d] = axis.high;
        row[dcli_row_at(body, DCLI_ROW_FIRST, a) + d] = axis.first;
        row[dcli_row_at(body, DCLI_ROW_BY, a) + d] = axis.by;
    }
}

void dcli_tile_fill_row(const dcli_body *body, const dcli_work *work, const dcli_binding bindings[],
                        const int64_t base[], int64_t row[])
{
    dcli_fill_row_box(body, &work->box, row);
    for (int a = 0; a < body->access_count; a++)
        fill_array(body, a, work, &bindings[a], base[a], row);
}

/* test/support/simview.c - random views, made by the library from the kinds of views that programs can make. */
#include "support/simview.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

static void permute(test_random *random, dcli_transform *view)
{
    int axes[DCL_MAX_RANK], rank = view->grid.rank;
    for (int n = 0; n < rank; n++)
        axes[n] = n;
    for (int n = rank - 1; n > 0; n--) {
        int other = (int)test_between(random, 0, n), kept = axes[n];
        axes[n] = axes[other];
        axes[other] = kept;
    }
    if (dcli_transform_permute(view, axes) != DCL_OK)
        abort();
}

static void slice(test_random *random, dcli_transform *view)
{
    int64_t start[DCL_MAX_RANK], count[DCL_MAX_RANK], stride[DCL_MAX_RANK];
    for (int v = 0; v < view->grid.rank; v++) {
        int64_t origin = view->grid.origin[v], extent = view->grid.extent[v];
        bool backwards = test_between(random, 0, 2) == 0;
        int64_t step = test_between(random, 0, 1) == 0 ? 1 : test_between(random, 1, 3);
        int64_t first = extent == 0 || test_between(random, 0, 1) == 0 ? 0 : test_between(random, 0, extent / 2);
        int64_t most = extent == 0 ? 0 : (extent - 1 - first) / step + 1;
        start[v] = origin + (backwards ? extent - 1 - first : first);
        count[v] = most == 0 || test_between(random, 0, 1) == 0 ? most : test_between(random, dcli_min(most, 1), most);
        stride[v] = backwards ? -step : step;
    }
    if (dcli_transform_slice(view, start, count, stride) != DCL_OK)
        abort();
}

static void sub(test_random *random, dcli_transform *view)
{
    dcl_box box = dcl_box_of(&view->grid);
    for (int v = 0; v < box.rank; v++) {
        int64_t first = box.count[v] == 0 ? 0 : test_between(random, 0, (box.count[v] - 1) / 2);
        box.start[v] += first;
        box.count[v] = box.count[v] == 0 ? 0 : test_between(random, 1, box.count[v] - first);
    }
    if (dcli_transform_sub(view, &box) != DCL_OK)
        abort();
}

static void shift(test_random *random, dcli_transform *view)
{
    int64_t by[DCL_MAX_RANK];
    for (int v = 0; v < view->grid.rank; v++)
        by[v] = test_between(random, -7, 7);
    if (dcli_transform_shift(view, by) != DCL_OK)
        abort();
}

static void broadcast(test_random *random, dcli_transform *view)
{
    int axis = (int)test_between(random, 0, view->grid.rank);
    if (view->grid.rank < 4 && dcli_transform_broadcast(view, axis, test_between(random, 1, 9)) != DCL_OK)
        abort();
}

static void take(test_random *random, dcli_transform *view)
{
    int axis = (int)test_between(random, 0, view->grid.rank - 1);
    if (view->grid.rank == 1 || view->grid.extent[axis] == 0)
        return;
    int64_t index = view->grid.origin[axis] + test_between(random, 0, view->grid.extent[axis] - 1);
    if (dcli_transform_take(view, axis, index) != DCL_OK)
        abort();
}

dcli_transform sim_random_view(test_random *random, const dcl_grid *base, bool written)
{
    dcli_transform view = dcli_transform_of(base);
    for (int64_t steps = test_between(random, 1, 4); steps > 0; steps--)
        switch (test_between(random, 0, written ? 4 : 5)) {
        case 0:
            permute(random, &view);
            break;
        case 1:
            slice(random, &view);
            break;
        case 2:
            sub(random, &view);
            break;
        case 3:
            shift(random, &view);
            break;
        case 4:
            if (test_between(random, 0, 1) == 0)
                take(random, &view);
            break;
        default:
            broadcast(random, &view);
        }
    return view;
}

dcl_grid sim_random_shape(test_random *random, const dcl_grid *grid)
{
    enum { TRIES = 12 };
    dcl_grid shape = {.type = grid->type, .rank = (int)test_between(random, 1, 3)};
    int64_t left = dcl_grid_count(grid);
    for (int d = shape.rank - 1; d > 0; d--) {
        shape.extent[d] = 1;
        for (int tries = 0; tries < TRIES && shape.extent[d] == 1; tries++) {
            int64_t factor = test_between(random, 1, dcli_max(left / 2, 1));
            shape.extent[d] = left % factor == 0 ? factor : 1;
        }
        left /= shape.extent[d];
    }
    shape.extent[0] = left;
    return shape;
}

dcli_transform sim_every_second(const dcl_grid *base, bool second)
{
    dcli_transform view = dcli_transform_of(base);
    int64_t start[DCL_MAX_RANK], count[DCL_MAX_RANK], stride[DCL_MAX_RANK];
    for (int v = 0; v < base->rank; v++) {
        start[v] = base->origin[v] + (v == 0 && second);
        count[v] = v == 0 ? (base->extent[v] + !second) / 2 : base->extent[v];
        stride[v] = v == 0 ? 2 : 1;
    }
    if (dcli_transform_slice(&view, start, count, stride) != DCL_OK)
        abort();
    return view;
}

void sim_print_view(const dcli_transform *view, char *text, size_t capacity)
{
    dcl_box box = dcl_box_of(&view->grid);
    size_t length = (size_t)dcli_box_print(&box, text, capacity);
    for (int d = 0; d < view->base_rank && length < capacity; d++) {
        const char *before = d > 0 ? ", " : " of ";
        length += (size_t)(view->axis[d] < 0
                               ? snprintf(text + length, capacity - length, "%s%" PRId64, before, view->constant[d])
                               : snprintf(text + length, capacity - length, "%s%" PRId64 "%+" PRId64 "*%c", before,
                                          view->constant[d], view->step[d], "ijklmnop"[view->axis[d]]));
    }
}

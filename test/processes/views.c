/* processes/views.c - random views of arrays, against tables of the elements that they must show: views SEED CASES
 *
 * A case makes two arrays with maps of their own, views of them by a few random steps, and with these reads, writes and
 * runs bodies; each step is done to the handle by the library, and to a table element by element here. What explain says
 * is compared with what is counted. Prints `right ...` with the number of operations, or `WRONG ...` with the case. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { MOST_RANK = 4, MOST_ELEMENTS = 20000, MOST_SIDE = 7 };

static uint64_t state;
static int64_t the_case, operations, shapes;

/* Source: splitmix64, Steele, Lea, Flood, OOPSLA 2014. */
static int64_t pick(int64_t lo, int64_t hi)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return lo + (int64_t)((z ^ (z >> 31)) % (uint64_t)(hi - lo + 1));
}

static void fail(const char *what, const char *why)
{
    printf("WRONG case %lld: %s: %s\n", (long long)the_case, what, why);
    fflush(stdout);
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        fail(what, dcl_error());
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* An array of the cluster and its true contents. */
struct base {
    dcl_array *handle;
    int64_t count;
    int32_t value[MOST_ELEMENTS];
};

/* A handle and what it must show: element[] has numbers in the base, row-major over the view's grid. */
struct view {
    dcl_array *handle;
    struct base *base;
    int rank;
    bool broadcast, reshaped;
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];
    int64_t count, element[MOST_ELEMENTS];
};

static int64_t count_of(int rank, const int64_t extent[])
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= extent[d];
    return count;
}

/* Row-major number of a place, counted from the first index. */
static int64_t number_of(const struct view *view, const int64_t place[])
{
    int64_t number = 0;
    for (int d = 0; d < view->rank; d++)
        number = number * view->extent[d] + place[d];
    return number;
}

static bool next_place(int64_t place[], int rank, const int64_t extent[])
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++place[d] < extent[d])
            return true;
        place[d] = 0;
    }
    return false;
}

/* The place in the view before that a place of the new one stands for. */
typedef void from_fn(const int64_t place[], int64_t before[], const void *how);

/* The view becomes another one: `next` has its grid, `from` says where its elements come from. */
static void change(struct view *view, struct view *next, from_fn *from, const void *how, dcl_array *handle,
                   const char *what)
{
    if (handle == NULL)
        fail(what, dcl_error());
    dcl_release(view->handle);
    next->handle = handle;
    next->base = view->base;
    next->count = count_of(next->rank, next->extent);
    int64_t place[DCL_MAX_RANK] = {0}, before[DCL_MAX_RANK], n = 0;
    if (next->count > 0)
        do {
            from(place, before, how);
            next->element[n++] = view->element[number_of(view, before)];
        } while (next_place(place, next->rank, next->extent));
    dcl_grid grid = dcl_grid_of(handle);
    bool right = grid.rank == next->rank;
    for (int d = 0; d < next->rank && right; d++)
        right = grid.origin[d] == next->origin[d] && grid.extent[d] == next->extent[d];
    if (!right)
        fail(what, "its grid is another");
    *view = *next;
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static struct view next; /* too large for the stack */

struct axes {
    int rank, axis[DCL_MAX_RANK];
};

static void from_permuted(const int64_t place[], int64_t before[], const void *how)
{
    const struct axes *axes = how;
    for (int n = 0; n < axes->rank; n++)
        before[axes->axis[n]] = place[n];
}

static void permute(struct view *view)
{
    struct axes axes = {.rank = view->rank};
    bool reversed = pick(0, 1) == 0;
    for (int n = 0; n < view->rank; n++)
        axes.axis[n] = reversed ? view->rank - 1 - n : n;
    for (int n = view->rank - 1; n > 0 && !reversed; n--) {
        int other = (int)pick(0, n), kept = axes.axis[n];
        axes.axis[n] = axes.axis[other];
        axes.axis[other] = kept;
    }
    next = *view;
    for (int n = 0; n < view->rank; n++) {
        next.origin[n] = view->origin[axes.axis[n]];
        next.extent[n] = view->extent[axes.axis[n]];
    }
    change(view, &next, from_permuted, &axes,
           reversed ? dcl_transpose(view->handle) : dcl_permute(view->handle, axes.axis), "dcl_permute");
}

struct slice {
    int rank;
    int64_t first[DCL_MAX_RANK], step[DCL_MAX_RANK];
};

static void from_sliced(const int64_t place[], int64_t before[], const void *how)
{
    const struct slice *slice = how;
    for (int d = 0; d < slice->rank; d++)
        before[d] = slice->first[d] + place[d] * slice->step[d];
}

static void slice(struct view *view)
{
    struct slice slice = {.rank = view->rank};
    int64_t start[DCL_MAX_RANK];
    next = *view;
    for (int d = 0; d < view->rank; d++) {
        bool backwards = pick(0, 2) == 0;
        int64_t step = pick(0, 1) == 0 ? 1 : pick(1, 3);
        int64_t skipped = view->extent[d] > 0 ? pick(0, (view->extent[d] - 1) / 2) : 0;
        int64_t most = view->extent[d] > 0 ? (view->extent[d] - 1 - skipped) / step + 1 : 0;
        slice.first[d] = backwards ? view->extent[d] - 1 - skipped : skipped;
        slice.step[d] = backwards ? -step : step;
        start[d] = view->origin[d] + slice.first[d];
        next.origin[d] = 0;
        next.extent[d] = most > 1 && pick(0, 2) == 0 ? pick(1, most) : most;
    }
    change(view, &next, from_sliced, &slice, dcl_slice(view->handle, start, next.extent, slice.step), "dcl_slice");
}

static void sub(struct view *view)
{
    struct slice slice = {.rank = view->rank};
    next = *view;
    for (int d = 0; d < view->rank; d++) {
        slice.step[d] = 1;
        slice.first[d] = view->extent[d] > 0 ? pick(0, (view->extent[d] - 1) / 2) : 0;
        next.origin[d] = view->origin[d] + slice.first[d];
        next.extent[d] = view->extent[d] > 0 ? pick(1, view->extent[d] - slice.first[d]) : 0;
    }
    dcl_box box = dcl_box_nd(view->rank, next.origin, next.extent);
    change(view, &next, from_sliced, &slice, dcl_sub(view->handle, &box), "dcl_sub");
}

static void shift(struct view *view, const int64_t by[])
{
    struct slice slice = {.rank = view->rank};
    next = *view;
    for (int d = 0; d < view->rank; d++) {
        slice.step[d] = 1;
        next.origin[d] += by[d];
    }
    change(view, &next, from_sliced, &slice, dcl_shift(view->handle, by), "dcl_shift");
}

/* One axis more, or less: where, and the index of it. */
struct one {
    int rank, axis; /* of the view after, or before */
    int64_t place;
};

static void from_spread(const int64_t place[], int64_t before[], const void *how)
{
    const struct one *one = how;
    for (int d = 0, n = 0; d < one->rank; d++)
        if (d != one->axis)
            before[n++] = place[d];
}

static void broadcast(struct view *view)
{
    struct one one = {.rank = view->rank + 1, .axis = (int)pick(0, view->rank)};
    int64_t extent = pick(1, 4);
    next = *view;
    next.rank++;
    next.broadcast = true;
    for (int d = view->rank; d > one.axis; d--) {
        next.origin[d] = view->origin[d - 1];
        next.extent[d] = view->extent[d - 1];
    }
    next.origin[one.axis] = 0;
    next.extent[one.axis] = extent;
    change(view, &next, from_spread, &one, dcl_broadcast(view->handle, one.axis, extent), "dcl_broadcast");
}

static void from_taken(const int64_t place[], int64_t before[], const void *how)
{
    const struct one *one = how;
    for (int d = 0, n = 0; d < one->rank; d++)
        before[d] = d == one->axis ? one->place : place[n++];
}

static void take(struct view *view)
{
    struct one one = {.rank = view->rank, .axis = (int)pick(0, view->rank - 1)};
    if (view->rank == 1 || view->extent[one.axis] == 0)
        return;
    one.place = pick(0, view->extent[one.axis] - 1);
    next = *view;
    next.rank--;
    for (int d = one.axis; d < next.rank; d++) {
        next.origin[d] = view->origin[d + 1];
        next.extent[d] = view->extent[d + 1];
    }
    change(view, &next, from_taken, &one, dcl_take(view->handle, one.axis, view->origin[one.axis] + one.place),
           "dcl_take");
}

static void from_number(const int64_t place[], int64_t before[], const void *how)
{
    const struct view *from = ((const struct view *const *)how)[0], *to = ((const struct view *const *)how)[1];
    int64_t number = number_of(to, place);
    for (int d = from->rank - 1; d >= 0; number /= from->extent[d--])
        before[d] = number % from->extent[d];
}

/* Another shape, where there is one without moving elements. */
static void reshape(struct view *view)
{
    const struct view *how[] = {view, &next};
    next = *view;
    next.rank = (int)pick(1, 3);
    memset(next.origin, 0, sizeof next.origin);
    next.extent[0] = view->count;
    for (int d = 1; d < next.rank; d++) {
        int64_t factor = pick(1, 6);
        next.extent[d] = next.extent[0] % factor == 0 ? factor : 1;
        next.extent[0] /= next.extent[d];
    }
    dcl_array *handle = next.rank == 1 ? dcl_flatten(view->handle) : dcl_reshape(view->handle, next.rank, next.extent);
    next.reshaped = true;
    if (handle != NULL)
        change(view, &next, from_number, how, handle, "dcl_reshape");
    else if (dcl_status_of(NULL) != DCL_ERR_UNSUPPORTED)
        fail("dcl_reshape", dcl_error());
    else
        dcl_clear_error(dcl_cluster_of(view->handle));
    shapes += handle != NULL;
}

static void any_step(struct view *view, bool written)
{
    int64_t by[DCL_MAX_RANK];
    for (int d = 0; d < DCL_MAX_RANK; d++)
        by[d] = pick(-9, 9);
    switch (pick(0, written ? 4 : 5)) {
    case 0:
        permute(view);
        break;
    case 1:
        slice(view);
        break;
    case 2:
        sub(view);
        break;
    case 3:
        shift(view, by);
        break;
    case 4:
        if (pick(0, 2) == 0)
            take(view);
        break;
    default:
        if (view->rank < MOST_RANK && view->count < MOST_ELEMENTS / 8)
            broadcast(view);
    }
}

/* ---- arrays and views --------------------------------------------------------------------------------------------- */

static dcl_array *make_array(dcl_cluster *cluster, dcl_grid grid)
{
    static const char *const maps[3][6] = {
        {"block", "cyclic(1)", "cyclic(3)", "rows:cyclic(2)", "rows:block(3)", "block(40)"},
        {"block", "*,cyclic(2)", "cyclic(2),block", "rows:cyclic(2x3)", "columns:cyclic(1x2)", "rows:block(1x1)"},
        {"block", "cyclic(1),*,*", "*,block,cyclic(2)", "rows:cyclic(2x1x2)", "columns:block(1x2x3)", "*,*,block"}};
    dcl_map *map = grid.rank > 3 ? dcl_map_block(cluster) : dcl_map_parse(cluster, maps[grid.rank - 1][pick(0, 5)]);
    dcl_array *array = dcl_agile(grid, map);
    if (array == NULL)
        fail("dcl_agile", dcl_error());
    dcl_release(map);
    return array;
}

static void make_base(dcl_cluster *cluster, struct base *base)
{
    dcl_grid grid = {.type = DCL_INT32, .rank = (int)pick(1, 3)};
    for (int d = 0; d < grid.rank; d++) {
        grid.origin[d] = pick(-3, 3);
        grid.extent[d] = pick(1, grid.rank == 1 ? 40 : MOST_SIDE);
    }
    base->count = dcl_grid_count(&grid);
    base->handle = make_array(cluster, grid);
    for (int64_t e = 0; e < base->count; e++)
        base->value[e] = (int32_t)pick(-1000, 1000);
    check(dcl_write(base->handle, NULL, base->value, NULL), "dcl_write");
}

/* A view of an array by some steps, with its first index 0 on all axes. */
static void make_view(struct base *base, bool written, struct view *view)
{
    dcl_grid grid = dcl_grid_of(base->handle);
    int64_t none[DCL_MAX_RANK] = {0};
    *view =
        (struct view){.handle = dcl_shift(base->handle, none), .base = base, .rank = grid.rank, .count = base->count};
    memcpy(view->origin, grid.origin, sizeof view->origin);
    memcpy(view->extent, grid.extent, sizeof view->extent);
    for (int64_t e = 0; e < base->count; e++)
        view->element[e] = e;
    if (pick(0, 2) == 0)
        reshape(view);
    for (int64_t steps = pick(0, 4); steps > 0; steps--)
        any_step(view, written);
    int64_t by[DCL_MAX_RANK];
    for (int d = 0; d < view->rank; d++)
        by[d] = -view->origin[d];
    shift(view, by);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static void expect_base(const struct base *base, const char *what)
{
    static int32_t found[MOST_ELEMENTS];
    check(dcl_read(base->handle, NULL, found, NULL), "dcl_read");
    for (int64_t e = 0; e < base->count; e++)
        if (found[e] != base->value[e])
            fail(what, "an element of the array differs from plain C");
}

static void try_transfers(struct view *view)
{
    static int32_t memory[MOST_ELEMENTS];
    check(dcl_read(view->handle, NULL, memory, NULL), "dcl_read of a view");
    for (int64_t n = 0; n < view->count; n++)
        if (memory[n] != view->base->value[view->element[n]])
            fail("dcl_read of a view", "an element differs from plain C");
    operations++;
    if (view->broadcast)
        return;
    int32_t all = (int32_t)pick(-1000, 1000);
    bool fills = pick(0, 2) == 0;
    for (int64_t n = 0; n < view->count; n++)
        view->base->value[view->element[n]] = memory[n] = fills ? all : (int32_t)pick(-1000, 1000);
    check(fills ? dcl_fill(view->handle, &all) : dcl_write(view->handle, NULL, memory, NULL), "writing a view");
    expect_base(view->base, "writing a view");
    operations++;
}

/* Run a body, after explaining it. */
static dcl_status run(dcl_cluster *cluster, const dcl_box *box, const char *body, int count, const dcl_arg args[])
{
    dcl_counters before, after, planned;
    dcl_status status = dcl_call_explain(DCL_CALL_BODY_N(cluster, box, body, count, args), DCL_ALL_NODES, &planned);
    if (status != DCL_OK)
        return status;
    check(dcl_stats(cluster, DCL_ALL_NODES, &before), "dcl_stats");
    check(dcl_call_run(DCL_CALL_BODY_N(cluster, box, body, count, args)), body);
    check(dcl_stats(cluster, DCL_ALL_NODES, &after), "dcl_stats");
    if (after.tasks - before.tasks != planned.tasks || after.bytes_moved - before.bytes_moved != planned.bytes_moved ||
        after.blocks_moved - before.blocks_moved != planned.blocks_moved ||
        after.approximate - before.approximate != planned.approximate)
        fail(body, "what is counted differs from what was explained");
    operations++;
    return DCL_OK;
}

static const char *const new_bodies[MOST_RANK] = {"C(i) = 2 * V(i) + W(i);", "C(i,j) = 2 * V(i,j) + W(i,j);",
                                                  "C(i,j,k) = 2 * V(i,j,k) + W(i,j,k);",
                                                  "C(i,j,k,l) = 2 * V(i,j,k,l) + W(i,j,k,l);"};
static const char *const own_bodies[MOST_RANK] = {"V(i) = 2 * V(i) + W(i);", "V(i,j) = 2 * V(i,j) + W(i,j);",
                                                  "V(i,j,k) = 2 * V(i,j,k) + W(i,j,k);",
                                                  "V(i,j,k,l) = 2 * V(i,j,k,l) + W(i,j,k,l);"};

/* The indices that both have. @return whether there are any. */
static bool common_extent(const struct view *V, const struct view *W, int64_t extent[])
{
    for (int d = 0; d < V->rank; d++)
        extent[d] = V->extent[d] < W->extent[d] ? V->extent[d] : W->extent[d];
    return count_of(V->rank, extent) > 0;
}

static void try_new(dcl_cluster *cluster, const struct view *V, const struct view *W)
{
    static int32_t found[MOST_ELEMENTS];
    int64_t extent[DCL_MAX_RANK], place[DCL_MAX_RANK] = {0}, n = 0;
    if (!common_extent(V, W, extent))
        return;
    dcl_array *C = make_array(cluster, dcl_grid_nd(DCL_INT32, V->rank, extent, NULL));
    dcl_arg args[] = {DCL_OUT(C), DCL_IN_AS("V", V->handle), DCL_IN_AS("W", W->handle)};
    dcl_box all = dcl_box_nd(V->rank, place, extent);
    check(run(cluster, &all, new_bodies[V->rank - 1], 3, args), "a body that reads views");
    check(dcl_read(C, NULL, found, NULL), "dcl_read");
    do {
        int32_t v = V->base->value[V->element[number_of(V, place)]],
                w = W->base->value[W->element[number_of(W, place)]];
        if (found[n++] != 2 * v + w)
            fail("a body that reads views", "an element differs from plain C");
    } while (next_place(place, V->rank, extent));
    dcl_release(C);
}

enum meeting { NEVER, ALWAYS, SOMEWHERE }; /* whether V and W show the same elements */

static enum meeting meet(const struct view *V, const struct view *W, const int64_t extent[])
{
    static bool written[MOST_ELEMENTS];
    int64_t place[DCL_MAX_RANK] = {0};
    bool common = false, same = true;
    if (V->base != W->base)
        return NEVER;
    memset(written, 0, sizeof written);
    do
        written[V->element[number_of(V, place)]] = true;
    while (next_place(place, V->rank, extent));
    do {
        common |= written[W->element[number_of(W, place)]];
        same &= V->element[number_of(V, place)] == W->element[number_of(W, place)];
    } while (next_place(place, V->rank, extent));
    return same ? ALWAYS : common ? SOMEWHERE : NEVER;
}

/* V is written, and read: W has to be another array, or show other elements. */
static void try_own(dcl_cluster *cluster, struct view *V, const struct view *W)
{
    int64_t extent[DCL_MAX_RANK], place[DCL_MAX_RANK] = {0};
    if (!common_extent(V, W, extent))
        return;
    dcl_box box = dcl_box_nd(V->rank, place, extent);
    dcl_arg args[] = {DCL_INOUT_AS("V", V->handle), DCL_IN_AS("W", W->handle)};
    enum meeting meeting = meet(V, W, extent);
    dcl_status status = run(cluster, &box, own_bodies[V->rank - 1], 2, args);
    bool may_refuse = V->reshaped || W->reshaped; /* boxes of different shapes are not compared */
    if (status == DCL_OK ? meeting != NEVER : meeting == NEVER && !may_refuse)
        fail(own_bodies[V->rank - 1], status == DCL_OK ? "elements that meet are not refused" : dcl_error());
    if (status != DCL_OK)
        return;
    do {
        int32_t *v = &V->base->value[V->element[number_of(V, place)]];
        *v = 2 * *v + W->base->value[W->element[number_of(W, place)]];
    } while (next_place(place, V->rank, extent));
    expect_base(V->base, own_bodies[V->rank - 1]);
    for (int64_t e = 0; e < V->base->count; e++)
        V->base->value[e] %= 1000; /* no overflow later */
    check(dcl_write(V->base->handle, NULL, V->base->value, NULL), "dcl_write");
}

static void run_case(dcl_cluster *cluster)
{
    static struct base A, B;
    static struct view V, W;
    make_base(cluster, &A);
    make_base(cluster, &B);
    make_view(&A, true, &V);
    make_view(pick(0, 1) == 0 ? &A : &B, false, &W);
    try_transfers(&V);
    try_transfers(&W);
    while (W.rank < V.rank)
        broadcast(&W);
    while (W.rank > V.rank && W.extent[0] > 0)
        take(&W);
    if (W.rank == V.rank) {
        try_own(cluster, &V, &W);
        try_new(cluster, &V, &W);
        try_new(cluster, &W, &V);
    }
    /* views outlive their arrays, and end with them */
    dcl_array *handle[] = {A.handle, V.handle, B.handle, W.handle};
    for (int n = 0, first = (int)pick(0, 3); n < 4; n++)
        dcl_release(handle[(first + n) % 4]);
}

int main(int argc, char **argv)
{
    int64_t seed = argc > 1 ? atoll(argv[1]) : 1, cases = argc > 2 ? atoll(argv[2]) : 100;
    dcl_cluster *cluster = dcl_open(NULL);
    check(dcl_status_of(cluster), "dcl_open");
    for (the_case = seed; the_case < seed + cases; the_case++) {
        state = (uint64_t)the_case;
        run_case(cluster);
    }
    dcl_counters counters;
    check(dcl_stats(cluster, DCL_ALL_NODES, &counters), "dcl_stats");
    if (counters.storage_bytes != 0)
        fail("dcl_release", "arrays are left");
    printf("right %lld operations, %lld other shapes\n", (long long)operations, (long long)shapes);
    check(dcl_close(cluster), "dcl_close");
    return EXIT_SUCCESS;
}

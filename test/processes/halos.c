/* processes/halos.c - random arrays with halos, periodic or not, against plain loops that count modulo: halos SEED CASES
 *
 * A case makes an array A under a map with a halo, an output C, and does some steps: bodies that read A around their
 * index, by offsets, backwards, or by a declared halo or cross, also through views; writes of A, some of them by bodies that
 * read another array D of A's map; exchanges of A and C; and other maps for A. What explain says of every node is compared
 * with what is counted there, for most calls only: others are not explained. Prints `right ...` with the number of
 * operations, or `WRONG ...` with the case. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { MOST_RANK = 4, MOST_ELEMENTS = 400, MOST_NODES = 8 };

static uint64_t state;
static int64_t the_case, operations, free_of_moves;

/* Source: splitmix64, Steele, Lea, Flood, OOPSLA 2014. */
static int64_t pick(int64_t lo, int64_t hi)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return lo + (int64_t)((z ^ (z >> 31)) % (uint64_t)(hi - lo + 1));
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- what a case has ---------------------------------------------------------------------------------------------- */

/* The array with the halo, and its true contents, row-major. */
static struct {
    dcl_array *handle;
    dcl_grid grid;
    char map[200]; /* without its halo */
    int64_t low[MOST_RANK], high[MOST_RANK];
    bool periodic[MOST_RANK];
    int32_t value[MOST_ELEMENTS];
} A;

/* What bodies read: axis v shows axis base[v] of A, index x being sign * x + constant there, from `first` to `last`, beyond
 * which the halo begins where the axis is periodic. */
static struct {
    dcl_array *handle;
    int base[MOST_RANK];
    int64_t sign[MOST_RANK], constant[MOST_RANK], first[MOST_RANK], last[MOST_RANK];
    bool whole[MOST_RANK];
} V;

static struct {
    dcl_array *handle;
    dcl_grid grid;
    bool as_a; /* laid out as A, and V is A */
    int32_t value[MOST_ELEMENTS];
} C;

/* As A is made, and not changed. */
static struct {
    dcl_array *handle;
    int64_t low[MOST_RANK], high[MOST_RANK];
    bool periodic[MOST_RANK];
    int32_t value[MOST_ELEMENTS];
} D;

static void fail(const char *what, const char *why)
{
    printf("WRONG case %" PRId64 ": A is", the_case);
    for (int d = 0; d < A.grid.rank; d++)
        printf(" %" PRId64 "..%" PRId64 " halo %" PRId64 ":%" PRId64 "%s", A.grid.origin[d],
               A.grid.origin[d] + A.grid.extent[d] - 1, A.low[d], A.high[d], A.periodic[d] ? " periodic" : "");
    printf(" %s: %s: %s\n", A.map, what, why);
    fflush(stdout);
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        fail(what, dcl_error());
}

static int64_t number_of(const dcl_grid *grid, const int64_t index[])
{
    int64_t number = 0;
    for (int d = 0; d < grid->rank; d++)
        number = number * grid->extent[d] + index[d] - grid->origin[d];
    return number;
}

/* The element that is read at an index of V: beyond an edge, from the other side. */
static int32_t element_at(const int64_t index[])
{
    int64_t at[MOST_RANK];
    for (int v = 0; v < A.grid.rank; v++) {
        int d = V.base[v];
        int64_t from_origin = V.sign[v] * index[v] + V.constant[v] - A.grid.origin[d];
        at[d] = A.grid.origin[d] + (from_origin % A.grid.extent[d] + A.grid.extent[d]) % A.grid.extent[d];
    }
    return A.value[number_of(&A.grid, at)];
}

/* What V may be read at along an axis. */
static void readable(int v, int64_t *first_out, int64_t *last_out)
{
    int d = V.base[v];
    bool beyond = A.periodic[d] && V.whole[v];
    *first_out = V.first[v] - (beyond ? (V.sign[v] > 0 ? A.low[d] : A.high[d]) : 0);
    *last_out = V.last[v] + (beyond ? (V.sign[v] > 0 ? A.high[d] : A.low[d]) : 0);
}

static bool next_index(int64_t index[], const dcl_box *box)
{
    for (int d = box->rank - 1; d >= 0; d--) {
        index[d] += box->stride[d];
        if (index[d] < box->start[d] + box->count[d] * box->stride[d])
            return true;
        index[d] = box->start[d];
    }
    return false;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

static void choose_map(int nodes, const dcl_grid *grid, char text[], size_t capacity)
{
    static const char *const maps[MOST_RANK][8] = {
        {"block", "cyclic(1)", "cyclic(3)", "rows:cyclic(2)", "rows:block(3)", "rows:hash(2)", "splits(2,5)", "block"},
        {"block", "block,*", "*,cyclic(2)", "cyclic(2),block", "rows:cyclic(2x3)", "columns:hash(1x2)",
         "splits(1,3),block", "rows:block(2x2)"},
        {"block", "cyclic(1),*,*", "*,block,cyclic(2)", "rows:cyclic(2x1x2)", "columns:block(1x2x3)", "*,*,block",
         "*,splits(2),*", "block,block,*"},
        {"block", "block,*,*,*", "rows:cyclic(2x2x1x2)", "*,cyclic,*,*", "columns:hash(2x2x2x2)", "*,*,*,block",
         "block,block,*,*", "rows:block(1x1x2x2)"}};
    int at = snprintf(text, capacity, "%s", maps[grid->rank - 1][pick(0, 7)]);
    if (pick(0, 5) == 0 && grid->extent[0] > 1) { /* boxes: two halves */
        int64_t middle = grid->origin[0] + pick(1, grid->extent[0] - 1);
        at = snprintf(text, capacity, "boxes:");
        for (int half = 0; half < 2; half++) {
            at += snprintf(text + at, capacity - (size_t)at, "%s[%" PRId64 ":%" PRId64, half ? "," : "",
                           half ? middle : grid->origin[0], half ? grid->origin[0] + grid->extent[0] : middle);
            for (int d = 1; d < grid->rank; d++)
                at += snprintf(text + at, capacity - (size_t)at, ",%" PRId64 ":%" PRId64, grid->origin[d],
                               grid->origin[d] + grid->extent[d]);
            at += snprintf(text + at, capacity - (size_t)at, "]@%d", (int)pick(0, nodes - 1));
        }
    } else if (nodes > 1 && pick(0, 3) == 0) {
        snprintf(text + at, capacity - (size_t)at, ";nodes=%d", (int)pick(1, nodes - 1));
    }
}

/* The map of A with its halo, by its text or by the constructor. */
static dcl_map *map_with_halo(dcl_cluster *cluster)
{
    char text[400];
    int at = snprintf(text, sizeof text, "%s;halo=", A.map), rank = A.grid.rank;
    for (int d = 0; d < rank; d++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", A.low[d],
                       A.high[d]);
    const char *before = ";periodic=";
    for (int d = 0; d < rank; d++)
        if (A.periodic[d]) { /* one width and flag stand for all axes */
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%c", before, rank == 1 ? '*' : '0' + d);
            before = ",";
        }
    dcl_map *plain = dcl_map_parse(cluster, A.map), *parsed = dcl_map_parse(cluster, text);
    dcl_map *made = dcl_map_halo(plain, rank, A.low, A.high, A.periodic);
    if (made == NULL || !dcl_map_equal(made, parsed))
        fail(text, made == NULL ? dcl_error() : "the map that is made is not equal to the one that is read");
    dcl_release(parsed);
    dcl_release(plain);
    return made;
}

static void choose_halo(void)
{
    for (int d = 0; d < A.grid.rank; d++) {
        A.low[d] = smaller(pick(0, 2), A.grid.extent[d]);
        A.high[d] = pick(0, 2) == 0 ? smaller(pick(0, 3), A.grid.extent[d]) : A.low[d];
        A.periodic[d] = A.low[d] + A.high[d] > 0 && pick(0, 2) > 0;
    }
}

static void make_a(dcl_cluster *cluster)
{
    A.grid = (dcl_grid){.type = DCL_INT32, .rank = (int)pick(1, MOST_RANK)};
    for (int d = 0; d < A.grid.rank; d++) {
        A.grid.origin[d] = pick(-3, 3);
        A.grid.extent[d] = pick(1, A.grid.rank == 1 ? 40 : A.grid.rank == 2 ? 12 : A.grid.rank == 3 ? 6 : 4);
    }
    choose_map(dcl_node_count(cluster), &A.grid, A.map, sizeof A.map);
    choose_halo();
    dcl_map *map = map_with_halo(cluster);
    A.handle = dcl_agile(A.grid, map);
    D.handle = dcl_agile(A.grid, map);
    if (A.handle == NULL || D.handle == NULL)
        fail("dcl_agile", dcl_error());
    dcl_release(map);
    for (int64_t e = 0; e < dcl_grid_count(&A.grid); e++) {
        A.value[e] = (int32_t)pick(-1000, 1000);
        D.value[e] = (int32_t)pick(-1000, 1000);
    }
    check(dcl_write(A.handle, NULL, A.value, NULL), "dcl_write");
    check(dcl_write(D.handle, NULL, D.value, NULL), "dcl_write");
    memcpy(D.low, A.low, sizeof D.low);
    memcpy(D.high, A.high, sizeof D.high);
    memcpy(D.periodic, A.periodic, sizeof D.periodic);
}

static void take_view(dcl_array *next)
{
    if (next == NULL)
        fail("a view", dcl_error());
    if (V.handle != A.handle)
        dcl_release(V.handle);
    V.handle = next;
}

/* A itself, or a view: permuted, shifted, and along some axes reversed or cut. */
static void make_view(bool plain)
{
    int rank = A.grid.rank, axes[MOST_RANK];
    int64_t by[MOST_RANK], start[MOST_RANK], count[MOST_RANK], stride[MOST_RANK];
    V.handle = A.handle;
    for (int v = 0; v < rank; v++)
        axes[v] = v;
    for (int v = rank - 1; v > 0 && !plain; v--) {
        int w = (int)pick(0, v), axis = axes[v];
        axes[v] = axes[w];
        axes[w] = axis;
    }
    for (int v = 0; v < rank; v++) {
        int d = axes[v];
        bool cut = !plain && pick(0, 3) == 0;
        V.base[v] = d;
        V.sign[v] = !plain && A.grid.extent[d] > 1 && pick(0, 2) == 0 ? -1 : 1; /* one index has no direction */
        start[v] = A.grid.origin[d] + (cut ? pick(0, A.grid.extent[d] - 1) : V.sign[v] > 0 ? 0 : A.grid.extent[d] - 1);
        int64_t room = V.sign[v] > 0 ? A.grid.origin[d] + A.grid.extent[d] - start[v] : start[v] - A.grid.origin[d] + 1;
        count[v] = cut ? pick(1, room) : room;
        V.sign[v] = count[v] > 1 ? V.sign[v] : 1;
        stride[v] = V.sign[v];
        by[v] = plain ? A.grid.origin[d] : pick(-3, 3);
        V.first[v] = by[v];
        V.last[v] = by[v] + count[v] - 1;
        V.whole[v] = count[v] == A.grid.extent[d];
        V.constant[v] = start[v] - V.sign[v] * by[v];
    }
    if (plain)
        return;
    take_view(dcl_permute(V.handle, axes));
    take_view(dcl_slice(V.handle, start, count, stride));
    dcl_grid grid = dcl_grid_of(V.handle); /* counts from 0, or from where the slice began */
    for (int v = 0; v < rank; v++)
        by[v] -= grid.origin[v];
    take_view(dcl_shift(V.handle, by));
}

static void make_c(dcl_cluster *cluster)
{
    C.as_a = pick(0, 2) == 0;
    make_view(C.as_a || pick(0, 1) == 0);
    C.grid = (dcl_grid){.type = DCL_INT32, .rank = A.grid.rank};
    for (int v = 0; v < C.grid.rank; v++) {
        C.grid.origin[v] = C.as_a ? A.grid.origin[v] : V.first[v] + (pick(0, 3) == 0 ? pick(-2, 2) : 0);
        C.grid.extent[v] =
            C.as_a ? A.grid.extent[v] : larger(1, V.last[v] - V.first[v] + 1 + (pick(0, 3) == 0 ? pick(-1, 1) : 0));
    }
    if (dcl_grid_count(&C.grid) > MOST_ELEMENTS)
        for (int v = 0; v < C.grid.rank; v++)
            C.grid.extent[v] = V.last[v] - V.first[v] + 1;
    char text[200];
    choose_map(dcl_node_count(cluster), &C.grid, text, sizeof text);
    dcl_map *map = C.as_a ? map_with_halo(cluster) : dcl_map_parse(cluster, text);
    C.handle = dcl_agile(C.grid, map);
    if (C.handle == NULL)
        fail(text, dcl_error());
    dcl_release(map);
    memset(C.value, 0, sizeof C.value);
    check(dcl_fill(C.handle, &(int32_t){0}), "dcl_fill");
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static void expect_values(dcl_array *array, const int32_t value[], int64_t count, const char *what)
{
    static int32_t found[MOST_ELEMENTS];
    check(dcl_read(array, NULL, found, NULL), "dcl_read");
    for (int64_t e = 0; e < count; e++)
        if (found[e] != value[e]) {
            char why[120];
            snprintf(why, sizeof why, "element %" PRId64 " is %d; plain loops give %d", e, found[e], value[e]);
            fail(what, why);
        }
}

/* Explain a body for every node, or don't, run it, compare. @return bytes moved */
static int64_t run(dcl_cluster *cluster, const dcl_box *box, const char *body, int count, const dcl_arg args[])
{
    dcl_counters before[MOST_NODES], planned[MOST_NODES], after;
    int nodes = dcl_node_count(cluster);
    bool explained = pick(0, 2) > 0; /* the program's side brings its books up to date when it is asked only */
    int64_t bytes = 0;
    for (int n = 0; n < nodes; n++) {
        check(dcl_stats(cluster, n, &before[n]), "dcl_stats");
        if (explained)
            check(dcl_call_explain(DCL_CALL_BODY_N(cluster, box, body, count, args), n, &planned[n]), body);
    }
    check(dcl_call_run(DCL_CALL_BODY_N(cluster, box, body, count, args)), body);
    for (int n = 0; n < nodes; n++) {
        check(dcl_stats(cluster, n, &after), "dcl_stats");
        bytes += after.bytes_moved - before[n].bytes_moved;
        if (explained && (after.tasks - before[n].tasks != planned[n].tasks ||
                          after.bytes_moved - before[n].bytes_moved != planned[n].bytes_moved ||
                          after.blocks_moved - before[n].blocks_moved != planned[n].blocks_moved ||
                          after.messages_planned - before[n].messages_planned != planned[n].messages_planned))
            fail(body, "what is counted differs from what was explained");
    }
    operations++;
    return bytes;
}

/* A box of C whose indices read V from index + least to index + most along each axis, or, backwards, from least - index to
 * most - index. @return false: there is none */
static bool choose_box(const int64_t least[], const int64_t most[], bool backwards, dcl_box *box)
{
    *box = dcl_box_of(&C.grid);
    bool whole = pick(0, 1) == 0;
    for (int v = 0; v < C.grid.rank; v++) {
        int64_t first, last, lo, hi;
        readable(v, &first, &last);
        lo = larger(C.grid.origin[v], backwards ? most[v] - last : first - least[v]);
        hi = smaller(C.grid.origin[v] + C.grid.extent[v] - 1, backwards ? least[v] - first : last - most[v]);
        if (lo > hi)
            return false;
        box->start[v] = whole ? lo : pick(lo, hi);
        box->stride[v] = whole ? 1 : pick(1, 2);
        box->count[v] = (hi - box->start[v]) / box->stride[v] + 1;
        if (!whole)
            box->count[v] = pick(1, box->count[v]);
    }
    return true;
}

/* How far a body reads from its index. */
struct reach {
    bool backwards, declared, cross;
    int64_t offset[2][MOST_RANK]; /* two places; declared: [0] is the width */
};

static int32_t sum_around(const struct reach *reach, const int64_t index[])
{
    int rank = C.grid.rank;
    int32_t sum = 0;
    dcl_box around = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        around.start[d] = index[d] - reach->offset[0][d];
        around.count[d] = 2 * reach->offset[0][d] + 1;
        around.stride[d] = 1;
    }
    int64_t at[MOST_RANK];
    memcpy(at, around.start, sizeof at);
    do {
        int away = 0;
        for (int d = 0; d < rank; d++)
            away += at[d] != index[d];
        if (!reach->cross || away <= 1)
            sum += element_at(at);
    } while (next_index(at, &around));
    return sum;
}

/* The same in plain loops. */
static void compute(const dcl_box *box, const struct reach *reach)
{
    int64_t index[MOST_RANK], at[2][MOST_RANK];
    memcpy(index, box->start, sizeof index);
    do {
        for (int n = 0; n < 2; n++)
            for (int d = 0; d < C.grid.rank; d++)
                at[n][d] = reach->backwards ? reach->offset[n][d] - index[d] : reach->offset[n][d] + index[d];
        C.value[number_of(&C.grid, index)] =
            reach->declared ? sum_around(reach, index) : element_at(at[0]) - 3 * element_at(at[1]);
    } while (next_index(index, box));
}

static const char *const bodies[4][MOST_RANK] = {
    {"C(i) = V(i + a0) - 3 * V(i + b0);", "C(i,j) = V(i + a0, j + a1) - 3 * V(i + b0, j + b1);",
     "C(i,j,k) = V(i + a0, j + a1, k + a2) - 3 * V(i + b0, j + b1, k + b2);",
     "C(i,j,k,l) = V(i + a0, j + a1, k + a2, l + a3) - 3 * V(i + b0, j + b1, k + b2, l + b3);"},
    {"C(i) = V(a0 - i) - 3 * V(b0 - i);", "C(i,j) = V(a0 - i, a1 - j) - 3 * V(b0 - i, b1 - j);",
     "C(i,j,k) = V(a0 - i, a1 - j, a2 - k) - 3 * V(b0 - i, b1 - j, b2 - k);",
     "C(i,j,k,l) = V(a0 - i, a1 - j, a2 - k, a3 - l) - 3 * V(b0 - i, b1 - j, b2 - k, b3 - l);"},
    {"int s = 0; for (long x = -a0; x <= a0; x++) s += V(i + x); C(i) = s + 0 * (int)b0;",
     "int s = 0; for (long x = -a0; x <= a0; x++) for (long y = -a1; y <= a1; y++) s += V(i + x, j + y); C(i,j) = s + "
     "0 * "
     "(int)(b0 + b1);",
     "int s = 0; for (long x = -a0; x <= a0; x++) for (long y = -a1; y <= a1; y++) for (long z = -a2; z <= a2; z++) s "
     "+= V(i "
     "+ x, j + y, k + z); C(i,j,k) = s + 0 * (int)(b0 + b1 + b2);",
     NULL},
    {NULL,
     "int s = V(i,j); for (long x = 1; x <= a0; x++) s += V(i + x, j) + V(i - x, j); for (long y = 1; y <= a1; y++) s "
     "+= V(i, j + "
     "y) + V(i, j - y); C(i,j) = s + 0 * (int)(b0 + b1);",
     NULL, NULL}};

static struct reach choose_reach(int kind)
{
    struct reach reach = {.backwards = kind == 1, .declared = kind >= 2, .cross = kind == 3};
    bool near = pick(0, 3) > 0;
    for (int v = 0; v < A.grid.rank; v++) {
        int d = V.base[v];
        for (int n = 0; n < 2; n++) {
            reach.offset[n][v] = near ? pick(-A.low[d], A.high[d]) : pick(-4, 4);
            if (reach.backwards) /* so that the first index reads the last */
                reach.offset[n][v] += V.last[v] + C.grid.origin[v];
            if (reach.declared)
                reach.offset[n][v] = near ? smaller(A.low[d], A.high[d]) : pick(0, 2);
        }
    }
    return reach;
}

/* Whether all that is read lies in the halo of who computes: then nothing moves twice. A node has copies of so many boxes only,
 * and declared reaches take what lies between indices that are far apart. */
static bool must_be_kept(const struct reach *reach, const dcl_box *box)
{
    bool near = C.as_a && !reach->backwards && dcl_grid_count(&C.grid) <= 120;
    for (int d = 0; d < A.grid.rank && reach->declared; d++)
        near = near && box->stride[d] == 1 && strstr(A.map, "cyclic") == NULL && strstr(A.map, "hash") == NULL;
    for (int d = 0; d < A.grid.rank && near; d++)
        for (int n = 0; n < 2 && near; n++)
            near = reach->declared ? reach->offset[n][d] <= smaller(A.low[d], A.high[d])
                                   : reach->offset[n][d] >= -A.low[d] && reach->offset[n][d] <= A.high[d];
    return near;
}

static dcl_box some_box(const dcl_grid *grid)
{
    dcl_box box = {.rank = grid->rank};
    for (int d = 0; d < grid->rank; d++) {
        box.start[d] = grid->origin[d] + pick(0, grid->extent[d] - 1);
        box.count[d] = pick(1, grid->origin[d] + grid->extent[d] - box.start[d]);
        box.stride[d] = 1;
    }
    return box;
}

/* Write a part of A by a body that reads D, one element away along an axis. */
static void try_take(dcl_cluster *cluster)
{
    static const char *const bodies_of_a[MOST_RANK] = {"A(i) = D(i + a0);", "A(i,j) = D(i + a0, j + a1);",
                                                       "A(i,j,k) = D(i + a0, j + a1, k + a2);",
                                                       "A(i,j,k,l) = D(i + a0, j + a1, k + a2, l + a3);"};
    static const char *const names[MOST_RANK] = {"a0", "a1", "a2", "a3"};
    int rank = A.grid.rank, along = (int)pick(0, rank - 1);
    dcl_arg args[2 + MOST_RANK] = {DCL_OUT_AS("A", A.handle), DCL_IN_AS("D", D.handle)};
    dcl_box box = some_box(&A.grid);
    int64_t by = pick(0, 1) == 0 ? -1 : 1, first = A.grid.origin[along], end = first + A.grid.extent[along];
    first += by < 0 && !(D.periodic[along] && D.low[along] > 0);
    end -= by > 0 && !(D.periodic[along] && D.high[along] > 0);
    if (first >= end)
        return;
    box.start[along] = first;
    box.count[along] = end - first;
    for (int d = 0; d < rank; d++)
        args[2 + d] = dcl_arg_signed(names[d], DCL_INT64, d == along ? by : 0);
    run(cluster, &box, bodies_of_a[rank - 1], 2 + rank, args);
    int64_t index[MOST_RANK], at[MOST_RANK];
    memcpy(index, box.start, sizeof index);
    do {
        memcpy(at, index, sizeof at);
        at[along] = (index[along] + by - A.grid.origin[along] + A.grid.extent[along]) % A.grid.extent[along] +
                    A.grid.origin[along];
        A.value[number_of(&A.grid, index)] = D.value[number_of(&A.grid, at)];
    } while (next_index(index, &box));
}

static void try_body(dcl_cluster *cluster)
{
    static const char *const names[2][MOST_RANK] = {{"a0", "a1", "a2", "a3"}, {"b0", "b1", "b2", "b3"}};
    int kind = (int)pick(0, 3), rank = A.grid.rank, count = 2;
    const char *body = bodies[kind][rank - 1];
    struct reach reach = choose_reach(kind);
    dcl_arg args[2 + 2 * MOST_RANK] = {DCL_OUT_AS("C", C.handle)};
    int64_t least[MOST_RANK], most[MOST_RANK];
    dcl_box box;
    for (int d = 0; d < rank; d++) {
        least[d] = reach.declared ? -reach.offset[0][d] : smaller(reach.offset[0][d], reach.offset[1][d]);
        most[d] = reach.declared ? reach.offset[0][d] : larger(reach.offset[0][d], reach.offset[1][d]);
    }
    if (body == NULL || !choose_box(least, most, reach.backwards, &box))
        return;
    args[1] = reach.declared ? dcl_arg_halo(reach.cross ? DCL_ACCESS_IN_CROSS : DCL_ACCESS_IN_HALO, "V", V.handle, rank,
                                            reach.offset[0])
                             : dcl_arg_array(pick(0, 4) == 0 ? DCL_ACCESS_IN_KEPT : DCL_ACCESS_IN, "V", V.handle);
    for (int n = 0; n < 2; n++)
        for (int d = 0; d < rank; d++)
            args[count++] = dcl_arg_signed(names[n][d], DCL_INT64, reach.offset[n][d]);
    bool kept = must_be_kept(&reach, &box);
    int written = pick(0, 2) == 0; /* after the first time */
    for (int times = 0; times < 3; times++) {
        int64_t bytes = run(cluster, &box, body, count, args);
        if (times > written && kept && bytes != 0)
            fail(body, "what was read before, within the halo, is moved again");
        free_of_moves += times > written && kept;
        if (times == 0 && written)
            try_take(cluster);
    }
    compute(&box, &reach);
    expect_values(C.handle, C.value, dcl_grid_count(&C.grid), body);
}

/* Write a part of A, by the program or by a body. */
static void try_write(dcl_cluster *cluster)
{
    static const char *const turned[MOST_RANK] = {"A(i) = 7 - A(i);", "A(i,j) = 7 - A(i,j);",
                                                  "A(i,j,k) = 7 - A(i,j,k);", "A(i,j,k,l) = 7 - A(i,j,k,l);"};
    static int32_t memory[MOST_ELEMENTS];
    dcl_box box = some_box(&A.grid);
    bool by_body = pick(0, 1) == 0;
    int64_t index[MOST_RANK], n = 0;
    memcpy(index, box.start, sizeof index);
    do {
        int32_t *value = &A.value[number_of(&A.grid, index)];
        *value = by_body ? 7 - *value : (int32_t)pick(-1000, 1000);
        memory[n++] = *value;
    } while (next_index(index, &box));
    if (by_body)
        run(cluster, &box, turned[A.grid.rank - 1], 1, (dcl_arg[]){DCL_INOUT_AS("A", A.handle)});
    else
        check(dcl_write(A.handle, &box, memory, NULL), "dcl_write");
    expect_values(A.handle, A.value, dcl_grid_count(&A.grid), "writing a part");
}

/* Exchange A and C, where they are laid out alike. */
static void try_swap(void)
{
    static int32_t value[MOST_ELEMENTS];
    if (!C.as_a)
        return;
    check(dcl_swap(A.handle, C.handle), "dcl_swap");
    memcpy(value, A.value, sizeof value);
    memcpy(A.value, C.value, sizeof value);
    memcpy(C.value, value, sizeof value);
}

/* Another halo, which moves nothing, or another map. */
static void try_remap(dcl_cluster *cluster)
{
    bool same = pick(0, 1) == 0;
    dcl_counters planned;
    choose_halo();
    if (!same)
        choose_map(dcl_node_count(cluster), &A.grid, A.map, sizeof A.map);
    dcl_map *map = map_with_halo(cluster);
    check(dcl_call_explain(DCL_CALL_REMAP(A.handle, map, 0), DCL_ALL_NODES, &planned), "explain remap");
    if (same && planned.bytes_moved != 0)
        fail("dcl_remap", "another halo moves elements");
    check(dcl_remap(A.handle, map), "dcl_remap");
    dcl_release(map);
    C.as_a = false;
    operations++;
}

static void try_case(dcl_cluster *cluster)
{
    make_a(cluster);
    make_c(cluster);
    for (int64_t steps = pick(2, 8); steps > 0; steps--) {
        int64_t what = pick(0, 11);
        if (what == 0 && V.handle == A.handle)
            try_remap(cluster);
        else if (what <= 2)
            try_write(cluster);
        else if (what <= 4)
            try_take(cluster);
        else if (what == 5)
            try_swap();
        else
            try_body(cluster);
    }
    dcl_release(C.handle);
    dcl_release(D.handle);
    if (V.handle != A.handle)
        dcl_release(V.handle);
    dcl_release(A.handle);
}

int main(int argc, char *argv[])
{
    if (argc != 3) {
        fprintf(stderr, "usage: halos SEED CASES\n");
        return EXIT_FAILURE;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    int64_t cases = strtoll(argv[2], NULL, 10);
    dcl_cluster *cluster = dcl_open(NULL);
    if (cluster == NULL) {
        printf("WRONG dcl_open: %s\n", dcl_error());
        return EXIT_FAILURE;
    }
    for (the_case = 0; the_case < cases; the_case++) {
        state = (seed + (uint64_t)the_case) * UINT64_C(0xD1342543DE82EF95);
        try_case(cluster);
        check(dcl_status_of(cluster), "the cluster");
    }
    if (dcl_close(cluster) != DCL_OK)
        fail("dcl_close", dcl_error());
    printf("right %" PRId64 " operations, %" PRId64 " of which had all in their halo\n", operations, free_of_moves);
    return EXIT_SUCCESS;
}

/* test/runtime/loop_test.c - loops of a body whose variables are in subscripts, against plain loops of the program. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segment/box.h"
#include "segment/random.h"
#include "support/nodes.h"

TestSuite(loop_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 23, COLUMNS = 31, WEIGHTS = 7, CASES = 60 };

/* One set of scalars that a body is called with. */
struct numbers {
    int32_t low, high; /* bounds of the outer loop: low .. high - 1 */
    int32_t step, shift;
};

struct arrays {
    int32_t a[ROWS][COLUMNS], g[WEIGHTS];
};

/* A read outside gives 0. */
static int64_t at(const struct arrays *arrays, int64_t i, int64_t j)
{
    return i >= 0 && i < ROWS && j >= 0 && j < COLUMNS ? arrays->a[i][j] : 0;
}

static int64_t weight(const struct arrays *arrays, int64_t n) { return n >= 0 && n < WEIGHTS ? arrays->g[n] : 0; }

/* The bodies, and what each computes for an element. Reads that may lie outside are guarded. */
#define GUARDED(i, j) "(" i " >= 0 && " i " < 23 && " j " >= 0 && " j " < 31 ? A(" i "," j ") : 0)"

static int64_t row_window(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        s += weight(in, d - n->low) * at(in, i, j + d);
    return s;
}

static int64_t window(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        for (int64_t e = -2; e <= 2; e++)
            s = 3 * s + at(in, i + d, j - e + n->shift);
    return s;
}

static int64_t downwards(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->high; d >= n->low; d -= 2)
        s = 3 * s + at(in, i + n->step * d, j);
    return s;
}

static int64_t blocks(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = 0; d < 3; d++)
        for (int64_t e = 0; e < n->high; e++)
            s = 3 * s + at(in, 3 * i + d, n->step * j + e);
    return s;
}

static int64_t line(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = j;
    for (int64_t d = 0; d < 31; d++)
        s = 3 * s + at(in, i, d) + at(in, n->low + 3, d);
    return s;
}

static int64_t diagonal(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        s = 3 * s + at(in, i + d, j + d) + at(in, j + d, i - d);
    return s;
}

static int64_t column(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = -2; d <= 2; d++)
        s = 3 * s + at(in, i + d, j + n->shift);
    return s;
}

static int64_t turned(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = -1; d <= 3; d++)
        s = 3 * s + at(in, j, i + d + n->low);
    return s;
}

/* Limits at the beginning of a loop narrow what is moved. */
static int64_t band(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = n->low;
    for (int64_t d = 0; d < 31; d++)
        if (d >= j - 4 && d <= i + 5)
            s = 3 * s + at(in, i, d);
    return s;
}

/* ... but not what conditions before them read. */
static int64_t stopped(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = n->low;
    for (int64_t d = 0; d < 23 && d >= at(in, d, j) % 50 - 30; d++)
        if (d >= i - 3)
            s = 3 * s + at(in, d, j);
    return s;
}

static int64_t across(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = n->low;
    for (int64_t d = 30; d >= 0; d -= 2)
        if (d <= 2 * j - i && d >= j - 9)
            s = 3 * s + at(in, i - d + 3, d);
    return s;
}

static const struct {
    const char *text;
    int64_t (*expected)(const struct arrays *in, const struct numbers *n, int64_t i, int64_t j);
    bool inside; /* runs over indices whose reads lie in the grid only: reads are not guarded */
} bodies[] = {
    {"int s = 0; for (int d = low; d < high; d++) if (d - low < 7) s += G(d-low) * " GUARDED("i",
                                                                                             "j+d") "; C(i,j) = s;",
     row_window, false},
    {"int s = 0; for (long d = low; d < high; d++) { for (short e = -2; e <= 2; e++)\n"
     " s = 3 * s + " GUARDED("i+d", "j-e+shift") "; } C(i,j) = s;",
     window, false},
    {"int s = 0; for (int d = high; d >= low; d -= 2) s = 3 * s + " GUARDED("i+step*d", "j") "; C(i,j) = s;", downwards,
     false},
    {"int s = 0; for (uint d = 0; d < 3; ++d) for (int e = 0; e < high; e += 1)\n"
     " s = 3 * s + " GUARDED("3*i+d", "step*j+e") "; C(i,j) = s;",
     blocks, false},
    {"int s = j; for (int d = 0; d < 31; d++) s = 3 * s + A(i,d) + A(low+3,d); C(i,j) = s;", line, false},
    {"int s = 0; for (int d = low; d < high; d++) s = 3 * s + " GUARDED("i+d", "j+d") " + " GUARDED(
         "j+d", "i-d") ";\n"
                       " C(i,j) = s;",
     diagonal, false},
    {"int s = 0; for (int d = -2; d <= 2; d++) s = 3 * s + A(i+d,j+shift); C(i,j) = s;", column, true},
    {"int s = 0; for (int d = -1; d <= 3; d++) s = 3 * s + A(j,i+d+low); C(i,j) = s;", turned, true},
    {"int s = low; for (int d = 0; d < 31; d++) { if (d < j - 4) continue; if (d > i + 5) break; s = 3 * s + A(i,d); "
     "}\n"
     " C(i,j) = s;",
     band, false},
    {"int s = low; for (int d = 0; d < 23; d++) { if (d < A(d,j) % 50 - 30) break; if (d < i - 3) continue;\n"
     " s = 3 * s + A(d,j); } C(i,j) = s;",
     stopped, false},
    {"int s = low; for (int d = 30; d >= 0; d -= 2) { if (d > 2*j - i) continue; if (d < j - 9) break;\n"
     " s = 3 * s + " GUARDED("i-d+3", "d") "; } C(i,j) = s;",
     across, false},
};

/* A random box of indices; often it has one row or one column. */
static dcl_box random_box(test_random *random, bool inside)
{
    int64_t margin = inside ? 4 : 0, side = inside ? 15 : ROWS;
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){0, 0});
    for (int m = 0; m < 2; m++) {
        box.start[m] = test_between(random, 0, side - 1);
        box.count[m] = test_between(random, 0, 3) == 0 ? 1 : test_between(random, 1, side - box.start[m]);
        box.start[m] += margin;
    }
    return box;
}

/* An array with the numbers of A; a view of every second column of a wider one. */
static dcl_array *make_input(dcl_cluster *cluster, const char *map, const struct arrays *in, bool view)
{
    dcl_array *wide = test_array(cluster, map, dcl_grid_2d(DCL_INT32, ROWS, view ? 2 * COLUMNS : COLUMNS));
    dcl_box every = dcl_box_nd(2, (int64_t[]){0, 1}, (int64_t[]){ROWS, COLUMNS});
    every.stride[1] = 2;
    if (!view) {
        TEST_OK(dcl_write(wide, NULL, in->a, NULL));
        return wide;
    }
    TEST_OK(dcl_write(wide, &every, in->a, NULL));
    dcl_array *array = dcl_slice(wide, every.start, every.count, every.stride);
    dcl_release(wide);
    return array;
}

static void expect_equal(uint64_t seed, size_t body, const struct numbers *n, const struct arrays *in,
                         const dcl_box *box, int32_t (*found)[COLUMNS])
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            bool computed = dcli_box_contains(box, (int64_t[]){i, j});
            int32_t expected = computed ? (int32_t)(uint32_t)bodies[body].expected(in, n, i, j) : -1;
            cr_assert_eq(found[i][j], expected,
                         "seed %" PRIu64 ", body %zu, low %d, high %d, step %d, shift %d: C(%" PRId64 ",%" PRId64
                         ") is %d, expected %d",
                         seed, body, n->low, n->high, n->step, n->shift, i, j, found[i][j], expected);
        }
}

Test(loop_on_device, gives_what_plain_loops_give)
{
    static const char *const maps[] = {"block,block", "block", "cyclic(3)", "rows:cyclic(5x4)", "*,cyclic"};
    static struct arrays in;
    static int32_t c[ROWS][COLUMNS];
    for (int e = 0; e < ROWS * COLUMNS; e++)
        in.a[e / COLUMNS][e % COLUMNS] = e * 7919 % 1000;
    for (int e = 0; e < WEIGHTS; e++)
        in.g[e] = 1 + e * e;
    test_random random = 4711;
    for (int nodes = 3; nodes >= 1; nodes -= 2) { /* the first call decides how many devices there are */
        dcl_config config = test_config(nodes);
        config.tile_bytes = 512;
        dcl_cluster *cluster = test_open(&config);
        for (int t = 0; t < CASES; t++) {
            uint64_t seed = random;
            size_t body = (size_t)t % (sizeof bodies / sizeof bodies[0]);
            const char *map = maps[test_between(&random, 0, 4)], *other = maps[test_between(&random, 0, 4)];
            dcl_array *A = make_input(cluster, map, &in, test_between(&random, 0, 2) == 0);
            dcl_array *C = test_array(cluster, other, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS));
            dcl_array *G = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, WEIGHTS));
            struct numbers n = {.low = (int32_t)test_between(&random, -3, 1),
                                .step = (int32_t)test_between(&random, -2, 2)};
            n.high = n.low + (int32_t)test_between(&random, 0, 6);
            n.shift = (int32_t)test_between(&random, -4, 4);
            int32_t low = n.low, high = n.high, step = n.step, shift = n.shift;
            dcl_box box = random_box(&random, bodies[body].inside);
            memset(c, -1, sizeof c);
            TEST_OK(dcl_write(G, NULL, in.g, NULL));
            TEST_OK(dcl_write(C, NULL, c, NULL));
            TEST_OK(dcl_forall_over(cluster, &box, bodies[body].text, DCL_OUT(C), DCL_IN(A), DCL_IN(G), DCL_VALUE(low),
                                    DCL_VALUE(high), DCL_VALUE(step), DCL_VALUE(shift)));
            TEST_OK(dcl_read(C, NULL, c, NULL));
            expect_equal(seed, body, &n, &in, &box, c);
            dcl_release(A);
            dcl_release(C);
            dcl_release(G);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* Only the rows that the loop reads move: two on either side of the edge between two nodes. */
Test(loop_on_device, moves_what_it_reads)
{
    static const char *const body = "float s = 0; for (int d = -2; d <= 2; d++) s += A(i+d,j); C(i,j) = s;";
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 40, 10));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 40, 10));
    dcl_box inner = dcl_box_nd(2, (int64_t[]){2, 0}, (int64_t[]){36, 10});
    dcl_counters counters;
    TEST_OK(dcl_call_explain(DCL_CALL_BODY(cluster, &inner, body, DCL_OUT(C), DCL_IN(A)), DCL_ALL_NODES, &counters));
    cr_expect_eq(counters.bytes_moved, 2 * 2 * 10 * 4, "%" PRId64, counters.bytes_moved);
    cr_expect_eq(counters.approximate, 0);
    TEST_OK(dcl_forall_over(cluster, &inner, body, DCL_OUT(C), DCL_IN(A)));
    TEST_OK(dcl_wait(cluster)); /* no read is outside */
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "A(");
    dcl_close(cluster);
}

/* Of each node's loop over all rows, the limits leave one row on the other side of the edge. */
Test(loop_on_device, limits_narrow_what_moves)
{
    static const char *const body =
        "float s = 0; for (int d = 0; d < 40; d++) { if (d < i - 1) continue; if (d > i + 1) "
        "break; s += A(d,j); } C(i,j) = s;";
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 40, 10));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 40, 10));
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY(cluster, NULL, body, DCL_OUT(C), DCL_IN(A)), DCL_ALL_NODES, &planned));
    cr_expect_eq(planned.bytes_moved, 2 * 10 * 4, "%" PRId64, planned.bytes_moved);
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    dcl_close(cluster);
}

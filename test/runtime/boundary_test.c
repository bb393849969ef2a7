/* test/runtime/boundary_test.c - subscripts with boundaries, against plain loops of the program. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "segment/box.h"
#include "segment/random.h"
#include "support/nodes.h"

TestSuite(boundary_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 23, COLUMNS = 31, CASES = 45 };

/* One set of scalars that a body is called with. */
struct numbers {
    int32_t low, high; /* bounds of a loop: low .. high - 1 */
    int32_t first, last, shift;
};

typedef int32_t matrix[ROWS][COLUMNS];

static int64_t clamped(int64_t x, int64_t low, int64_t high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* As reflect (repeat 0) and symmetric (repeat 1): mirrored step by step. */
static int64_t mirrored(int64_t x, int64_t low, int64_t high, int64_t repeat)
{
    while (low < high && (x < low || x > high))
        x = x < low ? 2 * low - repeat - x : 2 * high + repeat - x;
    return low < high ? x : low;
}

static bool is_between(int64_t x, int64_t low, int64_t high) { return low <= x && x <= high; }

/* The bodies, and what each computes for an element. */
static int64_t blur_rows(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        s = 3 * s + a[i][clamped(j + d, 0, COLUMNS - 1)];
    return s;
}

static int64_t blur_columns(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = n->low;
    for (int64_t d = -3; d <= 3; d++)
        s = 3 * s + a[clamped(i + d, 0, ROWS - 1)][j];
    return s;
}

static int64_t window(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        for (int64_t e = -2; e <= 2; e++)
            s = 3 * s + a[clamped(i - d, 0, ROWS - 1)][clamped(j + e, n->first, n->last)];
    return s;
}

static int64_t neighbours(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    return a[i > 0 ? i - 1 : 0][j] + 3 * a[i < ROWS - 1 ? i + 1 : ROWS - 1][j] + 5 * a[i][clamped(j - 1, 0, n->last)] +
           7 * a[i][clamped(j + n->shift, n->first, n->last)];
}

static int64_t far(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    return a[clamped(2 * i - 5, 0, ROWS - 1)][clamped(COLUMNS - 3 * j, 0, n->last)] +
           3 * a[clamped(i + j, n->low + 3, 20)][clamped(n->shift, 0, 30)];
}

static int64_t torus(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        s = 3 * s + a[(i + d + ROWS) % ROWS][(j + 1) % COLUMNS] + a[i][(j - d + COLUMNS) % COLUMNS];
    return s;
}

static int64_t mixed(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    return a[(i + ROWS - 1) % ROWS][clamped(j - n->shift, 0, COLUMNS - 1)] +
           3 * a[i % ROWS][(j + 2 * COLUMNS) % COLUMNS];
}

static int64_t mirrors(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    int64_t s = 0;
    for (int64_t d = n->low; d < n->high; d++)
        s = 3 * s + a[mirrored(i + d, 0, ROWS - 1, 0)][mirrored(j - 2 * d, n->first, n->last, 1)];
    return s;
}

static int64_t constants(matrix a, const struct numbers *n, int64_t i, int64_t j)
{
    bool inside = is_between(i - 1, 0, ROWS - 1) && is_between(j + n->shift, n->first, n->last);
    return (inside ? a[i - 1][j + n->shift] : 7) +
           3 * (is_between(2 * j - 5, 0, COLUMNS - 1) ? a[i][2 * j - 5] : -n->shift) +
           5 * a[mirrored(i + n->shift, 0, ROWS - 1, 1)][mirrored(30 - j, 3, 3, 0)];
}

static const struct {
    const char *text;
    int64_t (*expected)(matrix a, const struct numbers *n, int64_t i, int64_t j);
} bodies[] = {
    {"int s = 0; for (int d = low; d < high; d++) s = 3 * s + A(i,clamp(j+d,0,30)); C(i,j) = s;", blur_rows},
    {"int s = low; for (int d = -3; d <= 3; d++) s = 3 * s + A(min(max(i+d,0),n-1),j); C(i,j) = s;", blur_columns},
    {"int s = 0; for (long d = low; d < high; d++) for (int e = -2; e <= 2; e++)\n"
     " s = 3 * s + A(max(0,min(n-1,i-d)),clamp(j+e,first,last)); C(i,j) = s;",
     window},
    {"C(i,j) = A(max(i-1,0),j) + 3*A(min(i+1,n-1),j) + 5*A(i,clamp(j-1,0,last)) + 7*A(i,clamp(j+shift,first,last));",
     neighbours},
    {"C(i,j) = A(clamp(2*i-5,0,n-1),clamp(m-3*j,0,last)) + 3*A(clamp(i+j,low+3,20),clamp(shift,0,30));", far},
    {"int s = 0; for (int d = low; d < high; d++) s = 3 * s + A((i+d+n)%n,(j+1)%m) + A(i,(j-d+m) % m); C(i,j) = s;",
     torus},
    {"C(i,j) = A((i+n-1)%n,clamp(j-shift,0,m-1)) + 3*A(i % n,(j+2*m)%m);", mixed},
    {"int s = 0; for (int d = low; d < high; d++) s = 3 * s + A(reflect(i+d,0,n-1),symmetric(j-2*d,first,last));\n"
     "C(i,j) = s;",
     mirrors},
    {"C(i,j) = A(constant(i-1,0,n-1,7),constant(j+shift,first,last,7)) + 3*A(i,constant(2*j-5,0,m-1,-shift))\n"
     " + 5*A(symmetric(i+shift,0,n-1),reflect(m-1-j,3,3));",
     constants},
};

/* A random box of indices; often it has one row or one column. */
static dcl_box random_box(test_random *random)
{
    const int64_t extent[] = {ROWS, COLUMNS};
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, extent);
    for (int m = 0; m < 2 && test_between(random, 0, 2) > 0; m++) {
        box.start[m] = test_between(random, 0, extent[m] - 1);
        box.stride[m] = test_between(random, 0, 3) == 0 ? 2 : 1;
        box.count[m] = test_between(random, 0, 3) == 0
                           ? 1
                           : test_between(random, 1, (extent[m] - 1 - box.start[m]) / box.stride[m] + 1);
    }
    return box;
}

/* An array with the numbers of A; or a view of every second column of a wider one, the last column first. */
static dcl_array *make_input(dcl_cluster *cluster, const char *map, matrix in, bool view)
{
    dcl_array *wide = test_array(cluster, map, dcl_grid_2d(DCL_INT32, ROWS, view ? 2 * COLUMNS : COLUMNS));
    dcl_box every = dcl_box_nd(2, (int64_t[]){0, 1}, (int64_t[]){ROWS, COLUMNS});
    every.stride[1] = 2;
    if (!view) {
        TEST_OK(dcl_write(wide, NULL, in, NULL));
        return wide;
    }
    matrix turned;
    for (int64_t e = 0; e < ROWS * COLUMNS; e++)
        turned[e / COLUMNS][COLUMNS - 1 - e % COLUMNS] = in[e / COLUMNS][e % COLUMNS];
    TEST_OK(dcl_write(wide, &every, turned, NULL));
    dcl_array *array = dcl_slice(wide, (int64_t[]){0, 2 * COLUMNS - 1}, every.count, (int64_t[]){1, -2});
    dcl_release(wide);
    return array;
}

static void expect_equal(uint64_t seed, size_t body, const struct numbers *n, matrix in, const dcl_box *box,
                         matrix found)
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            bool computed = dcli_box_contains(box, (int64_t[]){i, j});
            int32_t expected = computed ? (int32_t)(uint32_t)bodies[body].expected(in, n, i, j) : -1;
            cr_assert_eq(found[i][j], expected,
                         "seed %" PRIu64 ", body %zu, loop %d..%d, limits %d..%d, shift %d: C(%" PRId64 ",%" PRId64
                         ") is %d, expected %d",
                         seed, body, n->low, n->high, n->first, n->last, n->shift, i, j, found[i][j], expected);
        }
}

Test(boundary_on_device, gives_what_plain_loops_give)
{
    static const char *const maps[] = {"block,block", "block", "cyclic(3)", "rows:cyclic(5x4)", "*,cyclic"};
    static matrix in, c;
    for (int e = 0; e < ROWS * COLUMNS; e++)
        in[e / COLUMNS][e % COLUMNS] = e * 7919 % 1000;
    test_random random = 4711;
    for (int round = 0; round < 3; round++) { /* the first call decides how many devices there are */
        dcl_config config = test_config(round < 2 ? 3 : 1);
        config.tile_bytes = 512;
        config.transfer = round == 0 ? "send" : "place";
        dcl_cluster *cluster = test_open(&config);
        for (int t = 0; t < CASES; t++) {
            uint64_t seed = random;
            size_t body = (size_t)t % (sizeof bodies / sizeof bodies[0]);
            const char *map = maps[test_between(&random, 0, 4)], *other = maps[test_between(&random, 0, 4)];
            bool view = bodies[body].expected != torus && bodies[body].expected != mixed && t / 9 % 3 == 0;
            dcl_array *A = make_input(cluster, map, in, view);
            dcl_array *C = test_array(cluster, other, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS));
            struct numbers s = {.low = (int32_t)test_between(&random, -3, 1),
                                .first = (int32_t)test_between(&random, 0, 12),
                                .last = (int32_t)test_between(&random, 12, COLUMNS - 1),
                                .shift = (int32_t)test_between(&random, -40, 40)};
            s.high = s.low + (int32_t)test_between(&random, 0, 6);
            int32_t low = s.low, high = s.high, first = s.first, last = s.last, shift = s.shift, n = ROWS, m = COLUMNS;
            dcl_box box = random_box(&random);
            memset(c, -1, sizeof c);
            TEST_OK(dcl_write(C, NULL, c, NULL));
            TEST_OK(dcl_forall_over(cluster, &box, bodies[body].text, DCL_OUT(C), DCL_IN(A), DCL_VALUE(low),
                                    DCL_VALUE(high), DCL_VALUE(first), DCL_VALUE(last), DCL_VALUE(shift), DCL_VALUE(n),
                                    DCL_VALUE(m)));
            TEST_OK(dcl_read(C, NULL, c, NULL));
            TEST_OK(dcl_wait(cluster)); /* nothing was read outside */
            expect_equal(seed, body, &s, in, &box, c);
            dcl_release(A);
            dcl_release(C);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* What moves: of `extent` rows of 10 floats on two nodes, whose edge is in the middle. */
static int64_t rows_moved(const char *body, int64_t extent)
{
    dcl_config config = test_config(2);
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, extent, 10));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, extent, 10));
    dcl_counters counters, before, after;
    int64_t n = extent;
    TEST_OK(dcl_call_explain(DCL_CALL_BODY(cluster, NULL, body, DCL_OUT(C), DCL_IN(A), DCL_VALUE(n)), DCL_ALL_NODES,
                             &counters));
    cr_expect_eq(counters.approximate, 0, "%s", body);
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_VALUE(n)));
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(after.bytes_moved - before.bytes_moved, counters.bytes_moved, "%s: %" PRId64 ", explained %" PRId64,
                 body, after.bytes_moved - before.bytes_moved, counters.bytes_moved);
    dcl_close(cluster);
    return counters.bytes_moved / 40;
}

Test(boundary_on_device, moves_what_it_reads)
{
    cr_expect_eq(rows_moved("float s = 0; for (int d = -2; d <= 2; d++) s += A(clamp(i+d,0,n-1),j); C(i,j) = s;", 40),
                 4); /* two at either side of the middle */
    cr_expect_eq(rows_moved("C(i,j) = A(min(i+3,n-1),j);", 40), 3);
    cr_expect_eq(rows_moved("C(i,j) = A(min(i,19),j);", 40), 1); /* row 19, for all of the second node */
    cr_expect_eq(rows_moved("C(i,j) = A(min(i,25),j);", 40), 0);
    cr_expect_eq(rows_moved("C(i,j) = A(reflect(i-2,0,n-1),j);", 40), 2);
    cr_expect_eq(rows_moved("C(i,j) = A(symmetric(i-20,0,n-1),j);", 40), 20); /* row 0 of the second node is row 0 */
    cr_expect_eq(rows_moved("C(i,j) = A(constant(i+3,0,n-1,0.5f),j);", 40), 3);
    cr_expect_eq(rows_moved("C(i,j) = A(constant(i-15,0,n-1,0.5f),j);", 40), 15);
    cr_expect_eq(rows_moved("C(i,j) = A(constant(i-15,0,9,0.5f),j);", 40), 5); /* rows 5 .. 9 */
    cr_expect_eq(rows_moved("C(i,j) = A((i+2)%n,j);", 40), 4); /* two at the middle, and two at the end */
    cr_expect_eq(rows_moved("float s = 0; for (int d = -2; d <= 2; d++) s += A((i+d+n)%n,j); C(i,j) = s;", 40), 8);
}

Test(boundary_on_device, refusals)
{
    static const struct {
        const char *body, *words;
        int64_t n;
    } cases[] = {
        {"C(i) = A((i-1)%n);", "the left side of % is -1 for some index", 12},
        {"C(i) = A((i+1)%n);", "it wraps around at 7, and the axis has the indices 0..11", 7},
        {"C(i) = A((i+1)%n);", "the right side of % is 0; expected the extent of the axis, 12", 0},
        {"C(i) = A((9*i)%n);", "the left side of % runs from 0 to 99; expected it to wrap around once", 12},
        {"C(i) = A(min(i,n*n));", "overflows 64 bits", INT64_MAX},
        {"C(i) = A(reflect(i,1,n));", "the limits of reflect are 1 and 0; expected the lowest and the highest index",
         0},
        {"C(i) = A(constant(i,0,n,1));", "the limits of constant are 0 and -1; expected", -1},
        {"C(i) = A(symmetric(i,n,9));", "overflows 64 bits", INT64_MIN},
    };
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 12));
    dcl_array *C = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 12));
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
        int64_t n = cases[t].n;
        TEST_REFUSED(dcl_forall(cluster, cases[t].body, DCL_OUT(C), DCL_IN(A), DCL_VALUE(n)), DCL_ERR_BODY,
                     cases[t].words);
        dcl_clear_error(cluster);
    }
    int64_t n = 12, few = 10;
    dcl_array *V = dcl_slice(A, (int64_t[]){2}, &few, NULL);
    TEST_REFUSED(dcl_forall(cluster, "C(i) = V((i+1)%few);", DCL_OUT(C), DCL_IN(V), DCL_VALUE(few)), DCL_ERR_BODY,
                 "only some of those of the array behind this view");
    dcl_clear_error(cluster);
    /* limits outside the grid are errors of the body, as other reads outside */
    TEST_OK(dcl_forall(cluster, "C(i) = A(clamp(i+1,0,n));", DCL_OUT(C), DCL_IN(A), DCL_VALUE(n)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "A(12)");
    dcl_close(cluster);
}

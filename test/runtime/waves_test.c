/* test/runtime/waves_test.c - large operations that are run band after band: the same bits as if launched one by one. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/cluster.h"
#include "support/nodes.h"
#include "worker/series.h"

TestSuite(waves_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 512, COLUMNS = 192, ROUNDS = 60, USUAL_S = 15, MOST_S = 60 };

typedef struct arrays {
    dcl_array *A, *B, *C, *E;
} arrays;

/* Steps of a stencil with a rim, one in place without a corner, one that reads two rows ahead, one in double that reads a row behind, a
 * scalar that changes; and, each seventh round, one that reads columns, which cannot be run band after band. */
static void call_all(dcl_cluster *cluster, arrays *of, int round)
{
    dcl_array *A = of->A, *B = of->B, *C = of->C, *E = of->E;
    const dcl_box inside = {.rank = 2, .start = {1, 1}, .count = {ROWS - 2, COLUMNS - 2}, .stride = {1, 1}};
    const dcl_box upper = {.rank = 2, .count = {ROWS - 2, COLUMNS}, .stride = {1, 1}};
    const dcl_box lower = {.rank = 2, .start = {1}, .count = {ROWS - 1, COLUMNS}, .stride = {1, 1}};
    float s = 0.01f * (float)(round % 5);
    for (int n = 0; n < 2; n++) {
        TEST_OK(dcl_forall_over(cluster, &inside, "B(i,j) = 0.25f * (A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) + s;",
                                DCL_OUT(B), DCL_IN(A), DCL_VALUE(s)));
        TEST_OK(dcl_swap(A, B));
    }
    TEST_OK(dcl_forall(cluster, "C(i,j) = 0.5f * C(i,j) + A(i,j);", DCL_INOUT(C), DCL_IN(A),
                       DCL_OVER("0 <= i < 512, max(0, i - 400) <= j < 192")));
    TEST_OK(dcl_forall_over(cluster, &upper, "A(i,j) = 0.5f * C(i+2,j);", DCL_OUT(A), DCL_IN(C)));
    TEST_OK(dcl_forall_over(cluster, &lower, "E(i,j) = 0.5 * E(i,j) + A(i-1,j) * (j % 7);", DCL_INOUT(E), DCL_IN(A)));
    if (round % 7 == 0)
        TEST_OK(dcl_forall(cluster, "B(i,j) = A(j,i % 192);", DCL_OUT(B), DCL_IN_ALL(A)));
}

static void make(arrays *of, dcl_cluster *cluster, const char *map)
{
    of->A = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    of->B = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    of->C = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    of->E = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS));
    dcl_array *A = of->A, *B = of->B;
    TEST_OK(dcl_forall(cluster, "A(i,j) = B(i,j) = (i * 37 + j * 11) % 101;", DCL_OUT(A), DCL_OUT(B)));
}

/* Run rounds until operations share launches, at least two sets of ROUNDS; or `sets` of them. @return number of sets. */
static int run(const dcl_config *config, const char *map, int sets, float A_out[], double E_out[])
{
    dcl_cluster *cluster = test_open(config);
    arrays of;
    make(&of, cluster, map);
    int64_t first = 0, before = test_counters(cluster, DCL_ALL_NODES).launches;
    int64_t end_ns = dcli_monotonic_ns() + (int64_t)MOST_S * 1000000000;
    bool shared = false;
    int done = 0;
    for (; sets > 0 ? done < sets : (!shared || done < 2) && dcli_monotonic_ns() < end_ns; done++) {
        for (int round = 0; round < ROUNDS; round++)
            call_all(cluster, &of, round);
        TEST_OK(dcl_wait(cluster));
        int64_t all = test_counters(cluster, DCL_ALL_NODES).launches;
        first = done == 0 ? all - before : first;
        shared = all - before < first * 9 / 10;
        before = all;
    }
    if (sets == 0)
        cr_expect(shared, "%s: no launches were shared in %d sets", map, done);
    TEST_OK(dcl_read(of.A, NULL, A_out, NULL));
    TEST_OK(dcl_read(of.E, NULL, E_out, NULL));
    TEST_OK(dcl_close(cluster));
    return done;
}

/* Kernels that check every access are launched one by one. @param sets  as of run(). */
static void compare(int nodes, const char *map, int sets)
{
    static float A[2][ROWS * COLUMNS];
    static double E[2][ROWS * COLUMNS];
    dcl_config config = test_config(nodes);
    sets = run(&config, map, sets, A[0], E[0]);
    config.check = "access";
    run(&config, map, sets, A[1], E[1]);
    cr_expect_eq(memcmp(A[0], A[1], sizeof A[0]), 0, "%d nodes, %s: A differs", nodes, map);
    cr_expect_eq(memcmp(E[0], E[1], sizeof E[0]), 0, "%d nodes, %s: E differs", nodes, map);
}

Test(waves_on_device, has_the_same_bits) { compare(1, "block", 0); }

/* Columns of different nodes: rows are cut at both ends, and edges move between most steps. */
Test(waves_on_device, has_the_same_bits_on_several_nodes) { compare(4, "columns:block", 3); }

/* ---- random programs ------------------------------------------------------------------------------------------------ */

enum { HEIGHT = 320, WIDTH = 208, ARRAYS = 3, CALLS = 64, PROGRAMS = 12, FAR = 3 };

/** Arrays of a cluster, and their elements as plain loops compute them. */
typedef struct modelled {
    dcl_array *array[ARRAYS], *large;
    uint32_t value[ARRAYS][HEIGHT][WIDTH];
    uint64_t large_value[HEIGHT][WIDTH];
} modelled;

static int64_t among(int64_t first, int64_t last) { return first + rand() % (last + 1 - first); }

/* Draw the whole grid without the rim that reads at most FAR away need, a part of it, or some rows or columns at an edge. */
static dcl_box draw_box(void)
{
    dcl_box box = {.rank = 2, .stride = {1, 1}};
    const int64_t extent[2] = {HEIGHT, WIDTH};
    bool part = rand() % 4 == 0;
    for (int d = 0; d < 2; d++) {
        box.start[d] = FAR + (part ? among(0, 9) : 0);
        box.count[d] = extent[d] - FAR - box.start[d] - (part ? among(0, extent[d] / 2) : 0);
    }
    if (rand() % 3 == 0) {
        int d = rand() % 2;
        int64_t some = among(1, 3);
        box.start[d] += rand() % 2 == 0 ? 0 : box.count[d] - some;
        box.count[d] = some;
    }
    if (rand() % 9 == 0) {
        box.stride[0] = 2;
        box.count[0] = (box.count[0] + 1) / 2;
    }
    return box;
}

#define EACH_INDEX(box)                                                                    \
    for (int64_t i = (box).start[0], u = 0; u < (box).count[0]; u++, i += (box).stride[0]) \
        for (int64_t j = (box).start[1], v = 0; v < (box).count[1]; v++, j += (box).stride[1])

/* Call a step from one array to another, or one in place from or to elements of another size; then perhaps swap arrays. */
static void call_any(dcl_cluster *cluster, modelled *of)
{
    int from = rand() % ARRAYS, to = (from + 1 + rand() % (ARRAYS - 1)) % ARRAYS, kind = rand() % 3;
    int p = (int)among(-FAR, FAR), q = (int)among(-FAR, FAR);
    dcl_array *A = of->array[from], *B = of->array[to], *E = of->large;
    uint32_t(*a)[WIDTH] = of->value[from], (*b)[WIDTH] = of->value[to];
    const dcl_box box = draw_box();
    if (kind == 0) {
        TEST_OK(dcl_forall_over(cluster, &box, "B(i,j) = 3 * A(i+p,j+q) + A(i-p,j) + p;", DCL_OUT(B), DCL_IN(A),
                                DCL_VALUE(p), DCL_VALUE(q)));
        EACH_INDEX(box)
        b[i][j] = 3 * a[i + p][j + q] + a[i - p][j] + (uint32_t)p;
    } else if (kind == 1) {
        TEST_OK(dcl_forall_over(cluster, &box, "E(i,j) = 5 * E(i,j) + A(i+p,j+q);", DCL_INOUT(E), DCL_IN(A),
                                DCL_VALUE(p), DCL_VALUE(q)));
        EACH_INDEX(box)
        of->large_value[i][j] = 5 * of->large_value[i][j] + a[i + p][j + q];
    } else {
        TEST_OK(dcl_forall_over(cluster, &box, "B(i,j) = 7 * B(i,j) + (uint)E(i+p,j+q);", DCL_INOUT(B), DCL_IN(E),
                                DCL_VALUE(p), DCL_VALUE(q)));
        EACH_INDEX(box)
        b[i][j] = 7 * b[i][j] + (uint32_t)of->large_value[i + p][j + q];
    }
    if (rand() % 3 == 0) {
        static uint32_t kept[HEIGHT][WIDTH];
        TEST_OK(dcl_swap(A, B));
        memcpy(kept, a, sizeof kept);
        memcpy(a, b, sizeof kept);
        memcpy(b, kept, sizeof kept);
    }
}

static void expect_values(dcl_array *array, const void *values, size_t bytes, unsigned seed)
{
    static uint64_t got[HEIGHT * WIDTH];
    TEST_OK(dcl_read(array, NULL, got, NULL));
    cr_assert_eq(memcmp(got, values, bytes), 0, "elements of %zu bytes differ; TEST_SEED=%u", bytes, seed);
}

/* Run programs of many calls, until operations have shared launches in PROGRAMS of them. A slow machine runs fewer. */
Test(waves_on_device, random_programs_have_the_same_elements)
{
    static modelled of;
    const char *text = getenv("TEST_SEED");
    unsigned seed = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 7;
    dcl_cluster *cluster = open_nodes(1);
    for (int n = 0; n < ARRAYS; n++)
        of.array[n] = test_array(cluster, "block", dcl_grid_2d(DCL_UINT32, HEIGHT, WIDTH));
    of.large = test_array(cluster, "block", dcl_grid_2d(DCL_UINT64, HEIGHT, WIDTH));
    for (int n = 0; n < ARRAYS; n++)
        TEST_OK(dcl_write(of.array[n], NULL, of.value[n], NULL));
    TEST_OK(dcl_write(of.large, NULL, of.large_value, NULL));
    int64_t begin_ns = dcli_monotonic_ns();
    int shared = 0;
    for (int done = 0; shared < PROGRAMS; done++) {
        if (dcli_monotonic_ns() - begin_ns > (int64_t)(shared > 0 ? USUAL_S : MOST_S) * 1000000000)
            break;
        srand(seed + (unsigned)done);
        int64_t before = test_counters(cluster, DCL_ALL_NODES).launches;
        for (int n = 0; n < CALLS; n++)
            call_any(cluster, &of);
        TEST_OK(dcl_wait(cluster));
        shared += test_counters(cluster, DCL_ALL_NODES).launches - before < CALLS * 9 / 10;
        for (int n = 0; n < ARRAYS; n++)
            expect_values(of.array[n], of.value[n], sizeof of.value[n], seed + (unsigned)done);
        expect_values(of.large, of.large_value, sizeof of.large_value, seed + (unsigned)done);
    }
    cr_expect_gt(shared, 0, "operations shared launches in none of the programs");
    TEST_OK(dcl_close(cluster));
}

/* A kernel that transposes an input in blocks is faster than one line after the other. Before, such calls shared launches once their
 * body had been compiled again, in the background. */
Test(waves_on_device, transposing_kernels_are_launched_alone)
{
    enum { EDGE = 768, TRIES = 12, TRANSPOSED = 150 };
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE)), *out[4];
    for (int k = 0; k < 4; k++)
        out[k] = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    int64_t before = test_counters(cluster, DCL_ALL_NODES).launches;
    for (int n = 0; n < TRIES; n++) {
        for (int k = 0; k < TRANSPOSED; k++)
            TEST_OK(dcl_forall(cluster, "B(i,j) = 0.5f * A(j,i);", DCL_OUT_AS("B", out[k % 4]), DCL_IN(A)));
        TEST_OK(dcl_wait(cluster));
    }
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).launches - before, TRIES * TRANSPOSED);
    TEST_OK(dcl_close(cluster));
}

/* Call a body, which is known if there is more than one call: then they reach the node together. @return number of launches. */
static int64_t step_many(dcl_cluster *cluster, dcl_array *A, dcl_array *B, int count)
{
    dcl_cluster *inside = TEST_INSIDE(cluster);
    const dcl_box box = {.rank = 2, .start = {1, 1}, .count = {1022, 510}, .stride = {1, 1}};
    const float s = 0;
    int64_t before = test_counters(cluster, DCL_ALL_NODES).launches;
    dcli_host_hold(inside->worker[inside->host], count > 1);
    for (int n = 0; n < count; n++) {
        TEST_OK(dcl_forall_over(cluster, &box, "B(i,j) = 0.25f * (A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) + s;",
                                DCL_OUT(B), DCL_IN(A), DCL_VALUE(s)));
        TEST_OK(dcl_swap(A, B));
    }
    dcli_host_hold(inside->worker[inside->host], false);
    TEST_OK(dcl_wait(cluster));
    return test_counters(cluster, DCL_ALL_NODES).launches - before;
}

/* Before, the node launched all of such calls before it had measured the first one, so that it began to compile the program of their
 * waves rounds later, or never if the rounds began with other bodies. */
Test(waves_on_device, calls_sent_ahead_are_measured_first)
{
    enum { MANY = 128, MOST_WAIT_S = 60 };
    dcl_cluster *cluster = open_nodes(1);
    const dcli_as_node *node = TEST_INSIDE(cluster)->worker[0]->as_node;
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 1024, 512)),
              *B = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 1024, 512));
    TEST_OK(dcl_forall(cluster, "A(i,j) = B(i,j) = (i * 37 + j * 11) % 101;", DCL_OUT(A), DCL_OUT(B)));
    step_many(cluster, A, B, 1); /* the first call of a body waits until it is compiled */
    int64_t launches = step_many(cluster, A, B, MANY);
    const dcli_compiling *compiling = dcli_series_compiling(node);
    cr_assert(compiling != NULL || launches < MANY, "all %d calls were launched before the node knew what they cost",
              MANY);
    int64_t end_ns = dcli_monotonic_ns() + (int64_t)MOST_WAIT_S * 1000000000;
    while (compiling != NULL && !dcli_program_is_compiled(compiling) && dcli_monotonic_ns() < end_ns)
        usleep(1000);
    launches = step_many(cluster, A, B, MANY);
    cr_expect_lt(launches, MANY * 9 / 10, "%d calls took %d launches", MANY, (int)launches);
    TEST_OK(dcl_close(cluster));
}

/* Call steps of a time loop, which reach the node together if there are several: a row is filled with an element of a table, then the elements below it are
 * computed. @return number of launches. */
static int64_t fill_and_step(dcl_cluster *cluster, dcl_array *A, dcl_array *B, dcl_array *F, int count)
{
    dcl_cluster *inside = TEST_INSIDE(cluster);
    const dcl_box row = {.rank = 2, .count = {1, 512}, .stride = {1, 1}};
    const dcl_box below = {.rank = 2, .start = {1, 0}, .count = {1023, 512}, .stride = {1, 1}};
    int64_t before = test_counters(cluster, DCL_ALL_NODES).launches;
    dcli_host_hold(inside->worker[inside->host], count > 1);
    for (int t = 0; t < count; t++) {
        TEST_OK(dcl_forall_over(cluster, &row, "float e; e = F(t); A(i,j) = e;", DCL_OUT(A), DCL_IN(F), DCL_VALUE(t)));
        TEST_OK(dcl_forall_over(cluster, &below, "B(i,j) = 0.5f * (A(i,j) + A(i-1,j));", DCL_OUT(B), DCL_IN(A)));
        TEST_OK(dcl_forall_over(cluster, &below, "A(i,j) = B(i,j) + 1;", DCL_OUT(A), DCL_IN(B)));
    }
    dcli_host_hold(inside->worker[inside->host], false);
    TEST_OK(dcl_wait(cluster));
    return test_counters(cluster, DCL_ALL_NODES).launches - before;
}

/* Before, the row was never part of a wave: its kernel gathered the element of the table, and a line of it was taken to be one
 * element, because its body reads the table first. */
Test(waves_on_device, edges_that_are_one_element_of_a_table_are_in_waves)
{
    enum { MANY = 64 };
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 1024, 512)),
              *B = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 1024, 512)),
              *F = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, MANY));
    TEST_OK(dcl_forall(cluster, "F(i) = i;", DCL_OUT(F)));
    fill_and_step(cluster, A, B, F, 1); /* the first call of a body waits until it is compiled */
    int64_t end_ns = dcli_monotonic_ns() + (int64_t)MOST_S * 1000000000, launches = MANY;
    while (launches >= MANY / 2 && dcli_monotonic_ns() < end_ns)
        launches = fill_and_step(cluster, A, B, F, MANY);
    cr_expect_lt(launches, MANY / 2, "%d steps of three operations took %d launches", MANY, (int)launches);
    TEST_OK(dcl_close(cluster));
}

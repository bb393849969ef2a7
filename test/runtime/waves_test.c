/* test/runtime/waves_test.c - large operations that are run band after band: the same bits as if launched one by one. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "support/nodes.h"

TestSuite(waves_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 512, COLUMNS = 192, ROUNDS = 60, MOST_S = 15 };

typedef struct arrays {
    dcl_array *A, *B, *C, *E;
} arrays;

/* Steps of a stencil with a rim, one in place, one that reads two rows ahead, one in double that reads a row behind, a
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
    TEST_OK(dcl_forall(cluster, "C(i,j) = 0.5f * C(i,j) + A(i,j);", DCL_INOUT(C), DCL_IN(A)));
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

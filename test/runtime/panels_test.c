/* test/runtime/panels_test.c - products whose factors come from other nodes in panels of the reduced index: the bits are those of one
 * chain, whatever the maps, the way of the elements and the memory for them; explain agrees with the counters. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(panels, .timeout = TEST_SECONDS);

enum { HIGH = 52, DEEP = 600, WIDE = 45, NODES = 3 };

static float a[HIGH][DEEP], b[DEEP][WIDE], before[HIGH][WIDE], fresh[HIGH][WIDE], added[HIGH][WIDE], found[HIGH][WIDE];

static void expect(void)
{
    uint32_t state = 3;
    float *const filled[] = {&a[0][0], &b[0][0], &before[0][0]};
    const size_t count[] = {HIGH * DEEP, DEEP * WIDE, HIGH * WIDE};
    for (int n = 0; n < 3; n++)
        for (size_t e = 0; e < count[n]; e++) {
            state = state * 1664525 + 1013904223;
            filled[n][e] = ldexpf((float)(int32_t)state, (int)(state >> 9) % 20 - 40);
        }
    for (int i = 0; i < HIGH; i++)
        for (int j = 0; j < WIDE; j++) {
            fresh[i][j] = 0;
            added[i][j] = before[i][j];
            for (int k = 0; k < DEEP; k++) {
                fresh[i][j] = fmaf(a[i][k], b[k][j], fresh[i][j]);
                added[i][j] = fmaf(a[i][k], b[k][j], added[i][j]);
            }
        }
}

static void compare(dcl_array *C, float right[HIGH][WIDE], const char *what)
{
    int wrong = 0;
    memset(found, 0, sizeof found);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < HIGH; i++)
        for (int j = 0; j < WIDE; j++)
            wrong += memcmp(&found[i][j], &right[i][j], sizeof found[i][j]) != 0;
    cr_expect_eq(wrong, 0, "%s: %d elements differ", what, wrong);
}

struct maps {
    const char *C, *A, *B;
    int64_t moved; /* bytes that all nodes need of others; -1: not computed by hand */
};

static void multiply(dcl_cluster *cluster, const struct maps *maps, const char *what)
{
    dcl_array *C = test_array(cluster, maps->C, dcl_grid_2d(DCL_FLOAT, HIGH, WIDE));
    dcl_array *A = test_array(cluster, maps->A, dcl_grid_2d(DCL_FLOAT, HIGH, DEEP));
    dcl_array *B = test_array(cluster, maps->B, dcl_grid_2d(DCL_FLOAT, DEEP, WIDE));
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(B, NULL, b, NULL));
    TEST_OK(dcl_write(C, NULL, before, NULL));
    dcl_counters planned, earlier = test_counters(cluster, DCL_ALL_NODES), later;
    TEST_OK(dcl_call_explain(
        DCL_CALL_REDUCTION(cluster, NULL, "C(i,j) += A(i,k) * B(k,j);", DCL_INOUT(C), DCL_IN(A), DCL_IN(B)),
        DCL_ALL_NODES, &planned));
    TEST_OK(dcl_reduce(cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_INOUT(C), DCL_IN(A), DCL_IN(B)));
    compare(C, added, what);
    later = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(later.bytes_moved - earlier.bytes_moved, planned.bytes_moved, "%s", what);
    cr_expect_eq(later.blocks_moved - earlier.blocks_moved, planned.blocks_moved, "%s", what);
    cr_expect_eq(later.messages_planned - earlier.messages_planned, planned.messages_planned, "%s", what);
    cr_expect_eq(later.tasks - earlier.tasks, planned.tasks, "%s", what);
    if (maps->moved >= 0)
        cr_expect_eq(planned.bytes_moved, maps->moved, "%s: %" PRId64 " bytes", what, planned.bytes_moved);
    TEST_OK(dcl_reduce(cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    compare(C, fresh, what);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
}

static const struct maps maps[] = {
    {"block,*@3x1", "block,*@3x1", "block,*@3x1", 2 * DEEP *WIDE * 4}, /* each node needs the B of two others */
    {"block,*@3x1", "*,block@1x3", "*,block@1x3", -1},
    {"block,block@3x1", "cyclic,*@3x1", "*,cyclic@1x3", -1},
    {"rows:cyclic(7x9)", "rows:cyclic(11x40)", "rows:hash(50x6)", -1},
    {"cyclic(5),cyclic(4)@1x3", "block,*@3x1", "cyclic(20),*@3x1", -1},
};

static void on(const char *transfer, size_t pool_bytes, const char *workers)
{
    dcl_config config = test_config(NODES);
    config.transfer = transfer;
    config.pool_bytes = pool_bytes;
    config.workers = workers;
#ifdef TEST_DCL
    config.program = TEST_DCL;
#endif
    dcl_cluster *cluster = test_open(&config);
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        char what[200];
        snprintf(what, sizeof what, "C %s, A %s, B %s, %s, pool of %zu", maps[m].C, maps[m].A, maps[m].B, transfer,
                 pool_bytes);
        multiply(cluster, &maps[m], what);
    }
    TEST_OK(dcl_close(cluster));
}

/* All factors together take 233 KB, and the pool 32 KB: a node never has all that it reads. */
Test(panels, in_messages_little_memory)
{
    expect();
    on("send", 32 << 10, NULL);
}

/* Blocks of 200 of the reduced index are not cut; panels of some dozens read in place. */
Test(panels, in_place)
{
    expect();
    on("auto", 32 << 10, NULL);
    on("auto", 1 << 30, NULL);
}

#ifdef TEST_DCL
Test(panels, of_processes)
{
    expect();
    on("auto", 32 << 10, "local:3");
}
#endif

/* The kernel in the form for GPUs, on devices with memory of their own. PoCL takes seconds to compile it. */
Test(panels, on_gpus)
{
    if (getenv("TEST_LONG") == NULL)
        cr_skip_test("only with TEST_LONG=1");
    fake_opencl_select();
    setenv("TEST_OPENCL", "apart; gpu", 1);
    expect();
    dcl_config config = test_config(2);
    config.pool_bytes = 32 << 10;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *C = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, HIGH, WIDE));
    dcl_array *A = test_array(cluster, "*,block", dcl_grid_2d(DCL_FLOAT, HIGH, DEEP));
    dcl_array *B = test_array(cluster, "*,block", dcl_grid_2d(DCL_FLOAT, DEEP, WIDE));
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(B, NULL, b, NULL));
    TEST_OK(dcl_write(C, NULL, before, NULL));
    TEST_OK(dcl_reduce(cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    compare(C, fresh, "GPUs");
    TEST_OK(dcl_close(cluster));
}

/* Panels end where the part of an owner ends, so that parts are read in place, without copies. */
Test(panels, end_with_owners)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    static const struct maps own = {"block,*@2x1", "block,*@2x1", "block,*@2x1", DEEP * WIDE * 4};
    expect();
    multiply(cluster, &own, "two nodes");
    dcl_counters earlier = test_counters(cluster, DCL_ALL_NODES), later;
    dcl_array *C = test_array(cluster, own.C, dcl_grid_2d(DCL_FLOAT, 2048, 512));
    dcl_array *A = test_array(cluster, own.A, dcl_grid_2d(DCL_FLOAT, 2048, 600));
    dcl_array *B = test_array(cluster, own.B, dcl_grid_2d(DCL_FLOAT, 600, 512));
    TEST_OK(dcl_reduce(cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    TEST_OK(dcl_wait(cluster));
    later = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(later.bytes_copied, earlier.bytes_copied, "%" PRId64 " bytes copied",
                 later.bytes_copied - earlier.bytes_copied);
    TEST_OK(dcl_close(cluster));
}

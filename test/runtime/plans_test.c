/* test/runtime/plans_test.c - a program repeats its operations: they are planned once. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "runtime/cluster.h"
#include "support/nodes.h"
#include "worker/process_data.h"

TestSuite(plans_on_device, .timeout = TEST_SECONDS);

enum { NODES = 4, SIDE = 2000, LOOP = 1000 };

static int64_t made(dcl_cluster *cluster) { return dcli_plan_cache_made(&TEST_INSIDE(cluster)->process_data->plans); }

/* A thousand operations, each on a box of its own: C(i) = A(SIDE - 1 - i) + pass for i from n on. What no open
 * operation uses may be forgotten: there are never more than a few open ones. */
static void run_loop(dcl_cluster *cluster, dcl_array *C, dcl_array *A, int pass)
{
    enum { AT_ONCE = 50 };
    int s = -1, t = SIDE - 1, u = pass;
    for (int n = 0; n < LOOP; n++) {
        dcl_box box = {.rank = 1, .start = {n}, .count = {SIDE - n}, .stride = {1}};
        TEST_OK(dcl_forall_over(cluster, &box, TEST_SHIFT, DCL_OUT(C), DCL_IN(A), DCL_VALUE(s), DCL_VALUE(t),
                                DCL_VALUE(u)));
        if (n % AT_ONCE == AT_ONCE - 1)
            TEST_OK(dcl_wait(cluster));
    }
}

static void repeat(const char *transfer)
{
    static int32_t result[SIDE];
    dcl_config config = test_config(NODES);
    config.transfer = transfer;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, SIDE));
    dcl_array *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, SIDE));
    test_count_up(A, 0, 1);
    int64_t before = made(cluster);
    run_loop(cluster, C, A, 1);
    int64_t first = made(cluster);
    cr_expect_geq(first - before, LOOP, "%" PRId64 " plans in the first pass", first - before);
    /* Of each node its own plan, and one for all others; and what fills and reads. */
    cr_expect_leq(first - before, 2 * NODES * (LOOP + 1), "%" PRId64 " plans in the first pass", first - before);
    run_loop(cluster, C, A, 2);
    cr_expect_eq(made(cluster), first, "%s: %" PRId64 " plans in the second pass", transfer, made(cluster) - first);
    TEST_OK(dcl_read(C, NULL, result, NULL));
    for (int i = 0; i < SIDE; i++)
        cr_assert_eq(result[i], SIDE - 1 - i + 2, "C(%d) is %d", i, (int)result[i]);
    dcl_release(C);
    dcl_release(A);
    dcl_close(cluster);
}

Test(plans_on_device, a_thousand_boxes_are_planned_once_when_sent) { repeat("send"); }

Test(plans_on_device, a_thousand_boxes_are_planned_once_in_place) { repeat("auto"); }

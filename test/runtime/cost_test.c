/* test/runtime/cost_test.c - few elements that cost much are shared by all units of a processor, from the third call
 * on. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/cluster.h"
#include "support/nodes.h"
#include "worker/peer.h"

TestSuite(cost_on_device, .timeout = TEST_SECONDS);

enum { COUNT = 96, CALLS = 6 };

/* Rows that work-items share of the only batch of the only plan there is; its node rests. */
static int64_t rows_of(dcl_cluster *cluster)
{
    const dcli_plans *plans = &TEST_INSIDE(cluster)->worker[0]->catalog.plans;
    int64_t rows = 0;
    for (size_t n = 0; n < sizeof plans->bucket / sizeof plans->bucket[0]; n++)
        for (const dcli_cached_plan *cached = plans->bucket[n]; cached != NULL; cached = cached->next)
            if (cached->prepared != NULL && cached->prepared[0].lowered.launch_count == 1)
                rows += cached->prepared[0].lowered.launch[0].row_count;
    return rows;
}

/* Every element takes some 0.1 ms. */
Test(cost_on_device, few_costly_elements_are_shared_by_all_units)
{
    dcl_cluster *cluster = open_nodes(1);
    const dcl_device_info *device = dcli_worker_device(TEST_INSIDE(cluster)->worker[0]);
    if (strcmp(device->kind, "cpu") != 0 || device->compute_units < 2)
        cr_skip_test("node 0 is no processor with several units");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, COUNT), map), *C = dcl_agile(dcl_grid_1d(DCL_FLOAT, COUNT), map);
    TEST_OK(dcl_write(A, NULL, (int32_t[COUNT]){0}, NULL));
    float first[COUNT], c[COUNT];
    for (int call = 0; call < CALLS; call++) {
        TEST_OK(dcl_forall(
            cluster,
            "float x = i; for (int k = A(i); k < 20000 + i; k++) { x = x * 0.999f + 0.001f; if (x > 9e9f) break; } "
            "C(i) = x;",
            DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_wait(cluster));
        cr_expect_eq(rows_of(cluster), call < 2 ? 1 : COUNT, "call %d: %d rows", call, (int)rows_of(cluster));
        TEST_OK(dcl_read(C, NULL, call == 0 ? first : c, NULL));
        cr_expect(call == 0 || memcmp(first, c, sizeof c) == 0, "call %d: other bits", call);
    }
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

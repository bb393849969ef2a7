/* test/runtime/memory_test.c - the program's side without memory: the n-th allocation of this thread fails, for every n. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "support/folder.h"
#include "support/nodes.h"

TestSuite(memory_on_device, .timeout = TEST_SECONDS);

enum { N = 30, MOST_ALLOCATIONS = 2000 };

static void expect_told(int n)
{
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_NOMEM, "allocation %d: %s", n, dcl_error());
    cr_expect(strstr(dcl_error(), "out of memory: ") != NULL, "allocation %d: %s", n, dcl_error());
}

/* Something may be done without (which extensions a platform has): then the cluster opens nevertheless. */
Test(memory_on_device, that_lacks_while_opening_is_told)
{
    dcl_config config = test_config(2);
    int refused = 0;
    for (int n = 1; n < MOST_ALLOCATIONS; n++) {
        dcl_clear_error(NULL);
        dcli_alloc_fail_after(n);
        dcl_cluster *cluster = dcl_open(&config);
        dcli_alloc_fail_after(0);
        bool failed = dcl_status_of(NULL) != DCL_OK;
        refused += cluster == NULL;
        if (cluster == NULL)
            expect_told(n);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
        if (!failed)
            break;
    }
    cr_expect_gt(refused, 10, "only %d allocations failed", refused);
}

/* Calls of every kind. @return how many failed, all for want of memory. Asking is no failure of the cluster. */
static int run(dcl_cluster *cluster, const char *path, int n, int *asked_out)
{
    static const char *const body = TEST_SHIFT;
    int failed = 0;
    *asked_out = 0;
    dcl_counters counters;
    int32_t memory[N] = {0}, one = 1;
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(4)"),
            *grains = dcl_map_with_grains(map, 1, NULL, (int64_t[]){4});
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map), *C = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    failed += grains == NULL || A == NULL || C == NULL;
    if (A != NULL && C != NULL) {
        dcl_status status[] = {
            dcl_fill(A, &one),
            test_shift(C, A, -1, N - 1, n),
            dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_VALUE_AS("s", 1), DCL_VALUE_AS("t", 0),
                       DCL_VALUE_AS("u", n), DCL_PRELUDE("/* another text */")),
            dcl_write(A, NULL, memory, NULL),
            dcl_swap(A, C),
            dcl_read(A, NULL, memory, NULL),
            dcl_save_npy(A, path),
            dcl_load_npy(C, path),
            dcl_wait_for(C, -1),
            dcl_stats(cluster, DCL_ALL_NODES, &counters),
        };
        *asked_out = dcl_explain(cluster, &counters, body, DCL_OUT(C), DCL_IN(A), DCL_VALUE_AS("s", 2),
                                 DCL_VALUE_AS("t", 0), DCL_VALUE_AS("u", n)) != DCL_OK;
        for (size_t c = 0; c < sizeof status / sizeof status[0]; c++) {
            failed += status[c] != DCL_OK;
            cr_expect(status[c] == DCL_OK || status[c] == DCL_ERR_NOMEM, "allocation %d: call %zu: %s: %s", n, c,
                      dcl_status_name(status[c]), dcl_error());
        }
    }
    dcl_release(C);
    dcl_release(A);
    dcl_release(grains);
    dcl_release(map);
    return failed;
}

Test(memory_on_device, that_lacks_in_a_call_is_told_and_nothing_else_suffers)
{
    char path[TEST_PATH];
    test_make_folder();
    test_path(path, "a.npy");
    dcl_cluster *cluster = open_nodes(2);
    int n = 0, failed = 1, asked = 0;
    while (failed + asked > 0 && ++n < MOST_ALLOCATIONS) {
        dcl_clear_error(NULL);
        dcli_alloc_fail_after(n);
        failed = run(cluster, path, n, &asked);
        dcli_alloc_fail_after(0);
        cr_expect_leq(test_files_left("a.npy"), 0, "allocation %d: files are left behind", n);
        cr_expect(failed == 0 || dcl_status_of(cluster) == DCL_ERR_NOMEM,
                  "allocation %d: the cluster has not been told", n);
        failed += dcl_status_of(cluster) != DCL_OK; /* giving an array back gives no status */
        dcl_clear_error(cluster);
        dcl_clear_error(NULL);
    }
    cr_expect_gt(n, 10, "only %d allocations failed", n);
    cr_expect_eq(run(cluster, path, 7, &asked) + asked, 0);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

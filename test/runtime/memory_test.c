/* test/runtime/memory_test.c - no memory for the library's own books: the n-th allocation of a thread fails. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
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

/* How many of the calls with allocation n failing have failed: for lack of memory. */
static int failures(const char *kind, int n, size_t count, const dcl_status status[])
{
    int failed = 0;
    for (size_t c = 0; c < count; c++) {
        failed += status[c] != DCL_OK;
        cr_expect(status[c] == DCL_OK || status[c] == DCL_ERR_NOMEM, "allocation %d: %s %zu: %s: %s", n, kind, c,
                  dcl_status_name(status[c]), dcl_error());
    }
    return failed;
}

/* Calls of every kind. @return how many failed, all for want of memory. Neither asking nor making a map is a failure of
 * the cluster. */
static int run(dcl_cluster *cluster, const char *path, int n, int *asked_out)
{
    static const char *const body = TEST_SHIFT;
    int failed = 0;
    dcl_counters counters;
    int32_t memory[N] = {0}, one = 1;
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(4)"),
            *grains = dcl_map_with_grains(map, 1, NULL, (int64_t[]){4}), *other = dcl_map_parse(cluster, "block");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map), *C = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    failed += map != NULL && (A == NULL || C == NULL);
    *asked_out = map == NULL || grains == NULL || other == NULL;
    if (other != NULL && A != NULL && C != NULL) {
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
            dcl_copy(A, C),
            dcl_remap(C, other),
            dcl_wait_for(C, -1),
        };
        dcl_status asked[] = {dcl_stats(cluster, DCL_ALL_NODES, &counters),
                              dcl_explain(cluster, &counters, body, DCL_OUT(C), DCL_IN(A), DCL_VALUE_AS("s", 2),
                                          DCL_VALUE_AS("t", 0), DCL_VALUE_AS("u", n))};
        *asked_out += failures("question", n, sizeof asked / sizeof asked[0], asked);
        failed += failures("call", n, sizeof status / sizeof status[0], status);
    }
    dcl_release(C);
    dcl_release(A);
    dcl_release(grains);
    dcl_release(other);
    dcl_release(map);
    return failed;
}

Test(memory_on_device, that_lacks_in_a_call_is_told_and_nothing_else_suffers)
{
    char path[TEST_PATH];
    dcl_cluster *cluster = open_nodes(2);
    test_make_folder();
    test_path(path, "a.npy");
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

/* ---- the books of copies ------------------------------------------------------------------------------------------ */

static const char reverse[] = "C(i) = A(29 - i);";

static dcl_status visit(void *user, const dcl_tile *tile)
{
    *(int64_t *)user += tile->box_count;
    return DCL_OK;
}

/* Whatever makes copies, or asks for them. @return calls that failed. */
static int use_copies(dcl_cluster *cluster, dcl_array *C, dcl_array *A, int n)
{
    int64_t boxes = 0;
    int failed = 0;
    dcl_counters counters;
    dcl_box half = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){N / 2}),
            some = dcl_box_nd(1, (int64_t[]){3}, (int64_t[]){5});
    dcl_arg kept[] = {DCL_OUT(C), DCL_IN_KEPT(A)};
    dcl_status status[] = {
        dcl_call_run(DCL_CALL_BODY_N(cluster, &half, reverse, 2, kept)),
        dcl_move(A, &some, 1),
        dcl_call_explain(DCL_CALL_MOVE(A, &half, 1), DCL_ALL_NODES, &counters),
        dcl_tiles(A, DCL_ALL_NODES, visit, &boxes),
        dcl_keep(A, n % 3 > 0),
        dcl_move(A, &some, 1),
    };
    for (size_t c = 0; c < sizeof status / sizeof status[0]; c++) {
        failed += status[c] != DCL_OK;
        cr_expect(status[c] == DCL_OK || status[c] == DCL_ERR_NOMEM, "allocation %d: call %zu: %s: %s", n, c,
                  dcl_status_name(status[c]), dcl_error());
    }
    return failed;
}

/* Books that could not be kept are begun anew: what is explained afterwards is what moves. */
Test(memory_on_device, that_lacks_for_the_directory_is_reported)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map), *C = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A)};
    int failed = 0;
    for (int n = 1; n < 150; n++) { /* more than there are: what fails in plans for the books alone, no call tells */
        TEST_OK(dcl_fill(A, &n));   /* ends the copies of the last round */
        dcli_alloc_fail_after(n);
        failed += use_copies(cluster, C, A, n) > 0;
        dcli_alloc_fail_after(0);
        dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
        int32_t found[N];
        dcl_clear_error(cluster);
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, reverse, 2, args), DCL_ALL_NODES, &planned));
        TEST_OK(dcl_forall_n(cluster, reverse, 2, args));
        int64_t moved = test_counters(cluster, DCL_ALL_NODES).bytes_moved - before.bytes_moved;
        cr_expect_eq(moved, planned.bytes_moved, "allocation %d: %" PRId64 " bytes moved; explained %" PRId64, n, moved,
                     planned.bytes_moved);
        TEST_OK(dcl_read(C, NULL, found, NULL));
        cr_expect_eq(found[N - 1], n);
    }
    cr_expect_gt(failed, 10, "only %d allocations failed", failed);
    dcl_release(A);
    dcl_release(C);
    dcl_map_release(map);
    TEST_OK(dcl_close(cluster));
}

/* ---- a node's thread ---------------------------------------------------------------------------------------------- */

struct trap {
    pthread_t program;
    int n;
    atomic_bool set;
};

/* Called by the thread of node 1 when it says that the first array has failed. */
static void set_trap(void *user, int level, const char *line)
{
    struct trap *trap = user;
    (void)level, (void)line;
    if (!pthread_equal(pthread_self(), trap->program) && !atomic_exchange(&trap->set, true))
        dcli_alloc_fail_after(trap->n);
}

/* @param failed  counts calls that have failed. */
static void expect_right_or_told(int n, int *failed, dcl_status status, const char *call)
{
    *failed += status != DCL_OK;
    if (status == DCL_ERR_INVALID && strstr(dcl_error(), "node 1: there is no replica of A") != NULL)
        return; /* it was to be made by the call that lacked memory */
    cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM, "allocation %d: %s: %s: %s", n, call,
              dcl_status_name(status), dcl_error());
    cr_expect(status == DCL_OK || strstr(dcl_error(), "node 1: out of memory: ") != NULL, "allocation %d: %s: %s", n,
              call, dcl_error());
}

/* @param n  the allocation that fails; 0: none does. @return how many calls have failed. */
static int run_with_trap(dcl_config *config, int n)
{
    int failed = 0;
    struct trap trap = {.program = pthread_self(), .n = n};
    int32_t memory[N] = {0}, one = 1;
    config->log_user = &trap;
    dcl_cluster *cluster = test_open(config);
    dcl_map *map = dcl_map_parse(cluster, "cyclic(4)");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, N);
    dcl_array *first = dcl_agile(grid, map);
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_NOMEM, "%s", dcl_error());
    dcl_clear_error(cluster);
    dcl_array *A = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    expect_right_or_told(n, &failed, dcl_fill(A, &one), "fill");
    expect_right_or_told(n, &failed, dcl_move(A, NULL, 1), "move");
    expect_right_or_told(n, &failed, test_shift(C, A, -1, N - 1, 1), "forall");
    expect_right_or_told(n, &failed, dcl_keep(A, false), "keep");
    dcl_status added = test_shift(A, C, -1, N - 1, 1); /* refused, and A is as it was, if C is known to have failed */
    expect_right_or_told(n, &failed, added, "forall");
    dcl_status status = dcl_read(A, NULL, memory, NULL);
    expect_right_or_told(n, &failed, status, "read");
    for (int e = 0; e < N && status == DCL_OK; e++)
        cr_assert_eq(memory[e], added == DCL_OK ? 3 : 1, "allocation %d: element %d is %d", n, e, memory[e]);
    expect_right_or_told(n, &failed, dcl_write(C, NULL, memory, NULL), "write");
    expect_right_or_told(n, &failed, dcl_wait(cluster), "wait");
    dcl_release(A);
    dcl_release(C);
    dcl_release(first);
    dcl_release(map);
    expect_right_or_told(n, &failed, dcl_close(cluster), "close");
    return failed;
}

/* Wherever it happens: an operation fails, or nothing completes any more; nothing hangs, nothing is lost at the end. */
Test(memory_on_device, that_lacks_on_a_node_is_told)
{
    dcl_config config = test_config(3);
    int lacked = 0;
    test_fault("alloc node=1 count=1");
    config.log = "warn";
    config.log_fn = set_trap;
    for (int n = 1; n < 150; n += 5) {
        config.transfer = n % 2 == 0 ? "auto" : "send";
        lacked += run_with_trap(&config, n) > 0;
    }
    cr_expect_gt(lacked, 5, "only %d allocations were missed", lacked);
    for (int n = 0; n < 2; n++) {
        config.transfer = n % 2 == 0 ? "auto" : "send";
        cr_expect_eq(run_with_trap(&config, 0), 0, "calls fail although no allocation does");
    }
}

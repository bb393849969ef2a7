/* test/runtime/weighted_test.c - maps by shares, given and measured. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "runtime/cluster.h"
#include "support/nodes.h"

TestSuite(weighted_on_device, .timeout = TEST_SECONDS);
TestSuite(weighted_planned, .timeout = TEST_SECONDS);

static void expect_text(dcl_map *map, const char *expected)
{
    char text[128];
    cr_assert_not_null(map, "%s", dcl_error());
    dcl_map_print(map, text, sizeof text);
    cr_expect_str_eq(text, expected);
    dcl_map_release(map);
}

Test(weighted_planned, given_shares)
{
    dcl_cluster *cluster = dcl_open_plan(3);
    expect_text(dcl_map_weighted(cluster, 3, (double[]){3, 1.5, 0}), "weighted(10000:5000:0)");
    expect_text(dcl_map_weighted(cluster, 3, (double[]){1e-9, 1, 1}), "weighted(1:10000:10000)");
    dcl_close(cluster);
}

static void expect_refused(dcl_cluster *cluster, int count, const double shares[], const char *words)
{
    cr_expect_null(dcl_map_weighted(cluster, count, shares), "%s", words);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" has not \"%s\"", dcl_error(), words);
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_INVALID, "%s", words);
    dcl_clear_error(cluster);
}

Test(weighted_planned, refused)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    cr_expect_null(dcl_map_weighted(NULL, 1, (double[]){1}));
    expect_refused(cluster, 2, NULL, "dcl_map_weighted: shares is NULL");
    expect_refused(cluster, 2, (double[]){0, 0}, "all 2 shares are 0");
    expect_refused(cluster, 2, (double[]){1, -0.5}, "shares[1] is -0.5; expected a number of at least 0");
    expect_refused(cluster, 1, (double[]){1}, "count is 1; expected 2, a share for each node alive");
    expect_refused(cluster, 3, (double[]){1, 1, 1}, "count is 3; expected 2");
    dcl_close(cluster);
}

static void expect_unmeasured(dcl_cluster *cluster, const char *body, dcl_status status, const char *words)
{
    double shares[2] = {-1, -1};
    int count = -1;
    TEST_REFUSED(dcl_measure_shares(cluster, body, 2, shares, &count), status, words);
    cr_expect(count == -1 && shares[0] == -1, "outputs of a call that fails are untouched");
    cr_expect_eq(dcl_status_of(cluster), status, "%s", words); /* it runs operations: they fail for the cluster */
    dcl_clear_error(cluster);
}

Test(weighted_planned, shares_are_not_measured)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    int count;
    expect_unmeasured(cluster, NULL, DCL_ERR_UNSUPPORTED, "this cluster only plans");
    TEST_REFUSED(dcl_measure_shares(NULL, NULL, 0, NULL, &count), DCL_ERR_INVALID, "cluster is NULL");
    dcl_close(cluster);
}

/* The nodes are of one kind: none gets many times what another gets. The second call times nothing. */
Test(weighted_on_device, measured_shares)
{
    dcl_cluster *cluster = open_nodes(2);
    static const char body[] = "C(i,j) = A(i,j) * B(j,i) + sqrt(A(i,j));";
    int64_t rows[2];
    int count = 0;
    double shares[3] = {0}, again[2] = {0};
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 1000, 10);
    TEST_OK(dcl_measure_shares(cluster, body, 3, shares, &count));
    cr_assert_eq(count, 2);
    cr_expect_float_eq(shares[0] + shares[1], 1, 1e-9);
    cr_expect_eq(shares[2], 0);
    dcl_map *map = dcl_map_weighted(cluster, count, shares);
    cr_assert_not_null(map, "%s", dcl_error());
    for (int n = 0; n < 2; n++) {
        TEST_OK(dcl_map_storage(map, &grid, n, &rows[n]));
        cr_expect_gt(rows[n], 500, "node %d stores %" PRId64 " of 10000", n, rows[n]);
    }
    cr_expect_eq(rows[0] + rows[1], 10000);
    int64_t launches = test_counters(cluster, DCL_ALL_NODES).launches;
    cr_expect_gt(launches, 0);
    TEST_OK(dcl_measure_shares(cluster, body, 2, again, &count));
    cr_expect(again[0] == shares[0] && again[1] == shares[1]);
    count = 0;
    TEST_OK(dcl_measure_shares(cluster, body, 0, NULL, &count)); /* asks how many there are */
    cr_expect_eq(count, 2);
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).launches, launches);
    dcl_map_release(map);
    expect_unmeasured(cluster, "x = 3;", DCL_ERR_INVALID, "the body to be timed names no array");
    expect_unmeasured(cluster, "C(i) = A(i", DCL_ERR_BODY, "line 1");
    TEST_REFUSED(dcl_measure_shares(cluster, body, 2, NULL, &count), DCL_ERR_INVALID, "shares_out is NULL");
    dcl_close(cluster);
}

enum { MOST_CALLS = 200000, CHANGES = 1000000 };

struct joining {
    dcl_cluster *cluster;
    atomic_bool stop;
    atomic_int changes;
};

/* Of 64 numbers one is taken, then all are. */
static void *let_nodes_come_and_go(void *argument)
{
    struct joining *joining = argument;
    while (!atomic_load(&joining->stop))
        atomic_store(&TEST_INSIDE(joining->cluster)->node_count,
                     atomic_fetch_add(&joining->changes, 1) % 2 == 0 ? 1 : 64);
    return NULL;
}

Test(weighted_planned, nodes_that_join_meanwhile_have_room)
{
    pthread_t thread;
    double shares[64];
    for (int n = 0; n < 64; n++)
        shares[n] = 1;
    struct joining joining = {.cluster = dcl_open_plan(64)};
    cr_assert_eq(pthread_create(&thread, NULL, let_nodes_come_and_go, &joining), 0);
    for (int n = 0; n < MOST_CALLS && atomic_load(&joining.changes) < CHANGES; n++)
        dcl_map_release(dcl_map_weighted(joining.cluster, 64, shares)); /* refused where the nodes have changed */
    atomic_store(&joining.stop, true);
    pthread_join(thread, NULL);
    atomic_store(&TEST_INSIDE(joining.cluster)->node_count, 64);
    dcl_close(joining.cluster);
}

Test(weighted_on_device, earlier_errors_do_not_count)
{
    dcl_cluster *cluster = open_nodes(2);
    cr_assert_null(dcl_agile(dcl_grid_1d(DCL_FLOAT, 8), dcl_map_parse(cluster, "no such map")));
    cr_assert_neq(dcl_status_of(cluster), DCL_OK);
    double shares[2];
    int count;
    TEST_OK(dcl_measure_shares(cluster, "C(i,j) = A(i,j) * B(j,i) + sqrt(A(i,j));", 2, shares, &count));
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

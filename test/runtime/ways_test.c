/* test/runtime/ways_test.c - nodes that exchange elements in different ways: nodes 0 and 1 work in host memory, node 2 has memory
 * of its own. Threads of the program, and worker processes. The driver is that of support/fake_opencl. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(ways_on_device, .timeout = TEST_SECONDS);

#ifdef TEST_FAKE_OPENCL

enum { NODES = 3, N = 30, STEPS = 12 };

static dcl_config config_of(const char *transfer, const char *workers)
{
    fake_opencl_select();
    setenv("TEST_OPENCL", "apart 2", 1);
    dcl_config config = test_config(NODES);
    config.transfer = transfer;
    config.workers = workers;
#ifdef TEST_DCL
    config.program = TEST_DCL;
#endif
    return config;
}

static const char turned[] = "C(i,j) = A(i,j) + B(j,i);";

/* As "owner>user way messages". */
static void expect_ways(dcl_array *C, dcl_array *A, dcl_array *B, const char *expected)
{
    dcl_report *report = dcl_explain_report(dcl_cluster_of(C), turned, DCL_OUT(C), DCL_IN(A), DCL_IN(B));
    cr_assert_not_null(report, "%s", dcl_error());
    char text[512] = "";
    for (int64_t p = 0; p < report->pair_count; p++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d>%d %s %d", p > 0 ? ", " : "",
                 report->pair[p].owner, report->pair[p].user, report->pair[p].way, (int)report->pair[p].messages);
    cr_expect_str_eq(text, expected, "%s", text);
    dcl_counters before = test_counters(dcl_cluster_of(C), DCL_ALL_NODES), after;
    TEST_OK(dcl_forall(dcl_cluster_of(C), turned, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    after = test_counters(dcl_cluster_of(C), DCL_ALL_NODES);
    cr_expect_eq(after.messages_planned - before.messages_planned, report->planned.messages_planned);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, report->planned.bytes_moved);
    dcl_report_release(report);
}

/* Sums that each need what the last one wrote, by all ways in turn; D is written by others than own it. */
static void compute(dcl_array *X[], dcl_array *D, int32_t x[][N][N], int32_t d[N][N])
{
    for (int s = 0; s < STEPS; s++) {
        dcl_array *C = X[(s + 2) % 3], *A = X[(s + 1) % 3], *B = X[s % 3];
        if (s % 3 == 2)
            TEST_OK(dcl_forall(dcl_cluster_of(C), "C(i,j) = A(i,j) + B(j,i); D(j,i) = A(i,j);", DCL_OUT(C), DCL_OUT(D),
                               DCL_IN(A), DCL_IN(B)));
        else
            TEST_OK(dcl_forall(dcl_cluster_of(C), turned, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                x[(s + 2) % 3][i][j] = (int32_t)((uint32_t)x[(s + 1) % 3][i][j] + (uint32_t)x[s % 3][j][i]);
                if (s % 3 == 2)
                    d[j][i] = x[(s + 1) % 3][i][j];
            }
    }
}

static void check_sums(const char *transfer, const char *workers, const char *ways)
{
    dcl_config config = config_of(transfer, workers);
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    dcl_array *X[3], *D = test_array(cluster, "*,block", grid);
    static int32_t x[3][N][N], d[N][N], found[N][N];
    for (int n = 0; n < 3; n++) {
        X[n] = test_array(cluster, "block,*", grid);
        test_count_up(X[n], n, 7);
        for (int e = 0; e < N * N; e++)
            x[n][e / N][e % N] = n + 7 * e;
    }
    compute(X, D, x, d);
    for (int n = 0; n < 4; n++) {
        int32_t(*expected)[N] = n < 3 ? x[n] : d;
        TEST_OK(dcl_read(n < 3 ? X[n] : D, NULL, found, NULL));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                cr_assert_eq(found[i][j], expected[i][j], "%s: array %d (%d,%d) is %d; expected %d", transfer, n, i, j,
                             found[i][j], expected[i][j]);
    }
    expect_ways(X[2], X[1], X[0], ways);
    TEST_OK(dcl_close(cluster));
}

static const char mixed[] = "1>0 place 0, 2>0 slots 1, 0>1 place 0, 2>1 slots 1, 0>2 slots 1, 1>2 slots 1",
                  slots[] = "1>0 slots 1, 2>0 slots 1, 0>1 slots 1, 2>1 slots 1, 0>2 slots 1, 1>2 slots 1",
                  sent[] = "1>0 send 1, 2>0 send 1, 0>1 send 1, 2>1 send 1, 0>2 send 1, 1>2 send 1";

Test(ways_on_device, are_chosen_for_each_pair_of_threads) { check_sums("auto", NULL, mixed); }
Test(ways_on_device, are_demanded_of_threads)
{
    check_sums("slots", NULL, slots);
    check_sums("send", NULL, sent);
}

Test(ways_on_device, that_are_impossible_are_refused)
{
    dcl_config config = config_of("place", NULL);
    cr_expect_null(dcl_open(&config));
    cr_expect_not_null(strstr(dcl_error(), "DCL_TRANSFER is \"place\", but node 0, "), "%s", dcl_error());
    cr_expect_not_null(strstr(dcl_error(), "cannot get elements of node 2"), "%s", dcl_error());
}

/* Between two devices with memory of their own, elements cross from the slot that the owner's device has put them in: those that
 * are read, and those that are written for another node. */
Test(ways_on_device, devices_copy_from_each_others_slots)
{
    for (int sent = 1; sent >= 0; sent--) {
        fake_opencl fake;
        dcl_config config = config_of(sent ? "send" : "auto", NULL);
        cr_assert(fake_opencl_find(&fake));
        fake.plan("apart");
        dcl_cluster *cluster = test_open(&config);
        dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
        dcl_array *A = test_array(cluster, "block,*", grid), *B = test_array(cluster, "block,*", grid),
                  *C = test_array(cluster, "block,*", grid), *D = test_array(cluster, "*,block", grid);
        test_count_up(A, 1, 1);
        test_count_up(B, 5, 3);
        TEST_OK(dcl_wait(cluster));
        fake.passed();
        dcl_counters start = test_counters(cluster, DCL_ALL_NODES), end;
        TEST_OK(dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i); D(j,i) = A(i,j);", DCL_OUT(C), DCL_OUT(D), DCL_IN(A),
                           DCL_IN(B)));
        TEST_OK(dcl_wait(cluster));
        end = test_counters(cluster, DCL_ALL_NODES);
        int64_t moved = end.bytes_moved - start.bytes_moved, passed = fake.passed();
        cr_expect_eq(passed, sent ? 0 : moved, "sent %d: %" PRId64 " bytes passed; %" PRId64 " moved", sent, passed,
                     moved);
        int32_t c[N][N], d[N][N];
        TEST_OK(dcl_read(C, NULL, c, NULL));
        TEST_OK(dcl_read(D, NULL, d, NULL));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                cr_assert(c[i][j] == 1 + N * i + j + 5 + 3 * (N * j + i) && d[j][i] == 1 + N * i + j, "(%d,%d)", i, j);
        dcl_release(A);
        dcl_release(B);
        dcl_release(C);
        dcl_release(D);
        TEST_OK(dcl_close(cluster));
    }
}

#ifdef TEST_DCL
Test(ways_on_device, are_chosen_for_each_pair_of_processes) { check_sums("auto", "local:3", mixed); }
Test(ways_on_device, are_demanded_of_processes)
{
    check_sums("slots", "local:3", slots);
    check_sums("send", "local:3", sent);
}

/* A newcomer was not shown parts made before: it is sent what it reads, and read in place. */
Test(ways_on_device, of_a_newcomer)
{
    dcl_config config = config_of("auto", "local:2");
    config.spare = 1;
    dcl_cluster *cluster = test_open(&config);
    setenv("TEST_OPENCL", "", 1);
    TEST_OK(dcl_add_workers(cluster, "local:1"));
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    dcl_array *A = test_array(cluster, "block,*", grid), *B = test_array(cluster, "block,*", grid),
              *C = test_array(cluster, "block,*", grid);
    test_count_up(A, 1, 1);
    test_count_up(B, 5, 3);
    expect_ways(C, A, B, "1>0 place 0, 2>0 place 0, 0>1 place 0, 2>1 place 0, 0>2 slots 1, 1>2 slots 1");
    TEST_OK(dcl_forall(cluster, turned, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    int32_t found[N][N];
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            cr_assert_eq(found[i][j], 1 + N * i + j + 5 + 3 * (N * j + i));
    TEST_OK(dcl_close(cluster));
}
#endif
#endif

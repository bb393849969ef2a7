/* test/runtime/sized_test.c - structs that may grow: of an older program, which has them shorter, no more is written; lengths
 * that are none are refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(sized_planned, .timeout = TEST_SECONDS);
TestSuite(sized_on_device, .timeout = TEST_SECONDS);

enum { UNTOUCHED = 0x5A, SHORT = 16 };

static void expect_only(const char *what, const void *memory, size_t written, size_t all)
{
    const unsigned char *bytes = memory;
    for (size_t b = written; b < all; b++)
        cr_assert_eq(bytes[b], UNTOUCHED, "%s: byte %zu of %zu is written; expected the first %zu only", what, b, all,
                     written);
}

Test(sized_planned, shorter_structs_are_filled_as_far_as_they_go)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *map = dcl_map_block(cluster);
    const dcl_grid grid = dcl_grid_1d(DCL_INT32, 8);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    union {
        dcl_counters counters;
        dcl_map_properties properties;
        dcl_config config;
        dcl_worker_config worker;
        char bytes[1024];
    } old, now;
    const dcl_call *call = DCL_CALL_COPY(A, B);

    memset(&old, UNTOUCHED, sizeof old);
    TEST_OK(dcl_call_explain(call, DCL_ALL_NODES, &now.counters));
    TEST_OK(dcl_call_explain_sized(call, DCL_ALL_NODES, &old.counters, SHORT));
    cr_expect_eq(memcmp(&old, &now, SHORT), 0);
    expect_only("dcl_call_explain", &old, SHORT, sizeof old);

    memset(&old, UNTOUCHED, sizeof old);
    TEST_OK(dcl_stats_sized(cluster, DCL_ALL_NODES, &old.counters, SHORT));
    expect_only("dcl_stats", &old, SHORT, sizeof old);

    memset(&old, UNTOUCHED, sizeof old);
    TEST_OK(dcl_map_describe(map, &grid, &now.properties));
    TEST_OK(dcl_map_describe_sized(map, &grid, &old.properties, SHORT));
    cr_expect_eq(memcmp(&old, &now, SHORT), 0);
    expect_only("dcl_map_describe", &old, SHORT, sizeof old);

    memset(&old, UNTOUCHED, sizeof old);
    TEST_OK(dcl_config_read_sized(&old.config, SHORT));
    cr_expect_eq(old.config.struct_size, SHORT);
    expect_only("dcl_config_read", &old, SHORT, sizeof old);

    memset(&old, UNTOUCHED, sizeof old);
    dcl_worker_defaults_sized(&old.worker, SHORT);
    cr_expect_eq(old.worker.struct_size, SHORT);
    expect_only("dcl_worker_defaults", &old, SHORT, sizeof old);

    dcl_report *report = dcl_call_report(call, DCL_ALL_NODES);
    cr_assert_not_null(report);
    cr_expect_eq(report->struct_size, sizeof *report);
    dcl_report_release(report);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(sized_planned, unknown_lengths_are_refused)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *map = dcl_map_block(cluster);
    const dcl_grid grid = dcl_grid_1d(DCL_INT32, 8);
    dcl_array *A = dcl_agile(grid, map);
    static char room[1 << 16];
    int count;
    memset(room, UNTOUCHED, sizeof room);
    for (int bytes = 0; bytes <= 1 << 12; bytes += 1 << 12) { /* garbage, and a newer header */
        size_t n = (size_t)bytes;
        TEST_REFUSED(dcl_stats_sized(cluster, 0, (dcl_counters *)room, n), DCL_ERR_INVALID,
                     "expected sizeof(dcl_counters)");
        TEST_REFUSED(dcl_call_explain_sized(DCL_CALL_COPY(A, A), 0, (dcl_counters *)room, n), DCL_ERR_INVALID,
                     "dcl_explain: counters_bytes is ");
        TEST_REFUSED(dcl_map_describe_sized(map, &grid, (dcl_map_properties *)room, n), DCL_ERR_INVALID,
                     "expected sizeof(dcl_map_properties)");
        TEST_REFUSED(dcl_config_read_sized((dcl_config *)room, n), DCL_ERR_INVALID, "build against the headers");
        TEST_REFUSED(dcl_device_list_sized(1, (dcl_device_info *)room, n, &count), DCL_ERR_INVALID,
                     "dcl_device_list: info_bytes is ");
        TEST_REFUSED(dcl_worker_list_sized(NULL, 1, (dcl_worker_info *)room, n == 0 ? 0 : sizeof room,
                                           sizeof(dcl_device_info), &count),
                     DCL_ERR_INVALID, "");
    }
    expect_only("refused calls", room, 0, sizeof room);
    dcl_release(A);
    dcl_release(map);
    dcl_close(cluster);
}

/* Rows of a list lie as far apart as the program has them. */
Test(sized_on_device, rows_of_an_older_program)
{
    dcl_config config = test_config(2); /* asks for two devices */
    enum { MOST = 8, OLD = offsetof(dcl_device_info, kind) };
    dcl_device_info now[MOST];
    char old[MOST][OLD];
    int count = 0, again = 0;
    (void)config;
    TEST_OK(dcl_device_list(MOST, now, &count));
    TEST_OK(dcl_device_list_sized(MOST, (dcl_device_info *)(void *)old, OLD, &again));
    cr_assert_eq(again, count);
    for (int d = 0; d < count && d < MOST; d++)
        cr_expect_eq(memcmp(old[d], &now[d], OLD), 0, "device %d", d);
}

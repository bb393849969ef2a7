/* test/runtime/call_test.c - descriptions of calls: one is explained, reported and run; wrong and older ones. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(call_on_device, .timeout = TEST_SECONDS);
TestSuite(call_planned, .timeout = TEST_SECONDS);

enum { N = 24 };

struct scene {
    dcl_cluster *cluster;
    dcl_map *block, *cyclic;
    dcl_array *A, *B;
};

static struct scene make_scene(dcl_cluster *cluster)
{
    struct scene s = {.cluster = cluster, .block = dcl_map_block(cluster), .cyclic = dcl_map_parse(cluster, "cyclic")};
    s.A = dcl_agile(dcl_grid_1d(DCL_INT32, N), s.block);
    s.B = dcl_agile(dcl_grid_1d(DCL_INT32, N), s.cyclic);
    cr_assert(s.A != NULL && s.B != NULL, "%s", dcl_error());
    return s;
}

static void end_scene(struct scene *s)
{
    dcl_release(s->A);
    dcl_release(s->B);
    dcl_release(s->block);
    dcl_release(s->cyclic);
    cr_expect_eq(dcl_close(s->cluster), DCL_OK, "%s", dcl_error());
}

/* What is said, reported and counted are the same bytes. */
static void expect_as_explained(const char *what, struct scene *s, const dcl_call *call)
{
    dcl_counters planned, before = test_counters(s->cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(call, DCL_ALL_NODES, &planned));
    dcl_report *report = dcl_call_report(call, DCL_ALL_NODES);
    cr_assert_not_null(report, "%s: %s", what, dcl_error());
    cr_expect_eq(report->planned.bytes_moved, planned.bytes_moved, "%s", what);
    dcl_report_release(report);
    TEST_OK(dcl_call_run(call));
    int64_t moved = test_counters(s->cluster, DCL_ALL_NODES).bytes_moved - before.bytes_moved;
    cr_expect_eq(moved, planned.bytes_moved, "%s: %" PRId64 " bytes moved; explained were %" PRId64, what, moved,
                 planned.bytes_moved);
    cr_expect_gt(moved, 0, "%s", what);
}

Test(call_on_device, each_kind_counts_what_was_explained)
{
    struct scene s = make_scene(open_nodes(2));
    int32_t values[N];
    TEST_OK(dcl_forall(s.cluster, "B(i) = 3 * i;", DCL_OUT_AS("B", s.B)));
    expect_as_explained("body", &s,
                        DCL_CALL_BODY(s.cluster, NULL, "A(i) = B(i);", DCL_OUT_AS("A", s.A), DCL_IN_AS("B", s.B)));
    expect_as_explained(
        "tiles", &s,
        DCL_CALL_TILES(s.cluster, NULL, "A(dcl_item(0)) = B(dcl_item(0));", DCL_OUT_AS("A", s.A), DCL_IN_AS("B", s.B)));
    expect_as_explained("copy", &s, DCL_CALL_COPY(s.B, s.A));
    expect_as_explained("move", &s, DCL_CALL_MOVE(s.A, NULL, 1));
    expect_as_explained("remap", &s, DCL_CALL_REMAP(s.A, s.cyclic, 0));
    TEST_OK(dcl_read(s.A, NULL, values, NULL));
    for (int i = 0; i < N; i++)
        cr_expect_eq(values[i], 3 * i, "A(%d) is %d", i, values[i]);
    cr_expect(dcl_map_equal(dcl_map_of(s.A), s.cyclic));
    end_scene(&s);
}

/* A move is counted at the node that elements move to. */
Test(call_planned, moves_are_counted_where_they_go)
{
    struct scene s = make_scene(dcl_open_plan(2));
    dcl_counters all, there, elsewhere, host;
    const dcl_call *move = DCL_CALL_MOVE(s.A, NULL, 1);
    TEST_OK(dcl_call_explain(move, DCL_ALL_NODES, &all));
    TEST_OK(dcl_call_explain(move, 1, &there));
    TEST_OK(dcl_call_explain(move, 0, &elsewhere));
    TEST_OK(dcl_call_explain(move, DCL_HOST, &host));
    cr_expect_eq(all.bytes_moved, N / 2 * 4);
    cr_expect_eq(there.bytes_moved, all.bytes_moved);
    cr_expect_eq(elsewhere.bytes_moved, 0);
    cr_expect_eq(host.bytes_moved, 0);
    end_scene(&s);
}

static void expect_refused(struct scene *s, const dcl_call *call, const char *words)
{
    dcl_counters counters;
    TEST_REFUSED(dcl_call_run(call), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_call_explain(call, DCL_ALL_NODES, &counters), DCL_ERR_INVALID, words);
    dcl_clear_error(NULL);
    cr_expect_null(dcl_call_report(call, DCL_ALL_NODES), "%s", words);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" has not \"%s\"", dcl_error(), words);
    dcl_clear_error(s->cluster);
}

Test(call_planned, wrong_descriptions)
{
    struct scene s = make_scene(dcl_open_plan(2));
    const dcl_arg args[] = {DCL_OUT_AS("A", s.A), DCL_IN_AS("B", s.B)};
    const dcl_call good = dcl_call_body(s.cluster, NULL, "A(i) = B(i);", 2, args);
    dcl_call bad = good;
    expect_refused(&s, NULL, "call is NULL");
    bad.struct_size = 0;
    expect_refused(&s, &bad, "call->struct_size is 0; expected sizeof(dcl_call)");
    bad.struct_size = sizeof bad + 1;
    expect_refused(&s, &bad, "build against the headers of the library that is loaded");
    bad = good;
    bad.kind = (dcl_call_kind)0;
    expect_refused(&s, &bad, "call->kind is 0; expected DCL_CALL_IS_BODY..DCL_CALL_IS_LOOPS");
    bad.kind = (dcl_call_kind)9;
    expect_refused(&s, &bad, "call->kind is 9");
    bad = good;
    bad.arg_bytes = 0;
    expect_refused(&s, &bad, "call->arg_bytes is 0; expected sizeof(dcl_arg)");
    bad.arg_bytes = sizeof(dcl_arg) + 8;
    expect_refused(&s, &bad, "call->arg_bytes is ");
    bad = good;
    bad.arg_count = 0;
    expect_refused(&s, &bad, "count is 0; expected 1..64 arguments");
    bad = good;
    bad.args = NULL;
    expect_refused(&s, &bad, "expected 1..64 arguments");
    end_scene(&s);
}

/* A program that was built when dcl_arg had no fields after `value`, and dcl_call none after `args`. */
Test(call_planned, older_descriptions)
{
    struct scene s = make_scene(dcl_open_plan(2));
    enum { OLD = offsetof(dcl_arg, width_count) };
    char old_args[2 * OLD];
    const dcl_arg args[] = {DCL_OUT_AS("A", s.A), DCL_IN_AS("B", s.B)};
    memcpy(old_args, &args[0], OLD);
    memcpy(old_args + OLD, &args[1], OLD);
    dcl_call now = dcl_call_body(s.cluster, NULL, "A(i) = B(i);", 2, args), old = now;
    old.args = (const dcl_arg *)(const void *)old_args;
    old.arg_bytes = OLD;
    old.struct_size = offsetof(dcl_call, array);
    memset((char *)&old + old.struct_size, 0x55, sizeof old - old.struct_size);
    dcl_counters of_now, of_old;
    TEST_OK(dcl_call_explain(&now, DCL_ALL_NODES, &of_now));
    TEST_OK(dcl_call_explain(&old, DCL_ALL_NODES, &of_old));
    cr_expect_eq(memcmp(&of_now, &of_old, sizeof of_now), 0);
    end_scene(&s);
}

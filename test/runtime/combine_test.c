/* test/runtime/combine_test.c - partial results that are combined up a tree: the bits of those that are combined at once; explain
 * agrees with the counters; so many messages as nodes. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(combine, .timeout = TEST_SECONDS);

enum { ROWS = 43, COLUMNS = 29, NODES = 5 };

static float A[ROWS][COLUMNS];

struct found {
    float single, high;
    double sum;
    int64_t where[2];
    float elements[2];
};

static void reduce(dcl_cluster *cluster, dcl_array *a, struct found *f)
{
    const dcl_box rows = dcl_box_nd(2, (int64_t[]){3, 0}, (int64_t[]){ROWS - 5, COLUMNS});
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 3)),
              *h = test_array(cluster, "replicated", dcl_grid_1d(DCL_FLOAT, 1));
    const float two = 2;
    memset(f, 0, sizeof *f);
    TEST_OK(dcl_fill(s, &two));
    TEST_OK(dcl_reduce_over(cluster, &rows, "single += a(i,j); sum += (double)a(i,j) / 3; high max= a(i,j);",
                            DCL_RESULT_AS("single", &f->single), DCL_RESULT_AS("sum", &f->sum),
                            DCL_RESULT_AS("high", &f->high), DCL_RESULT_AT(f->where), DCL_IN(a)));
    TEST_OK(dcl_reduce(cluster, "s(1) += a(i,j); h(0) max= a(i,j);", DCL_INOUT(s), DCL_OUT(h), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, (float[3]){0}, NULL));
    const dcl_box one = dcl_box_nd(1, (int64_t[]){1}, (int64_t[]){1});
    TEST_OK(dcl_read(s, &one, &f->elements[0], NULL));
    TEST_OK(dcl_read(h, NULL, &f->elements[1], NULL));
    dcl_release(h);
    dcl_release(s);
}

static void expect_same(const char *map, size_t fanout, const struct found *f, const struct found *g)
{
    cr_expect(f->single == g->single && f->sum == g->sum && f->high == g->high,
              "%s, fanout %zu: %a %a %a, not %a %a %a", map, fanout, (double)f->single, f->sum, (double)f->high,
              (double)g->single, g->sum, (double)g->high);
    cr_expect(f->where[0] == g->where[0] && f->where[1] == g->where[1], "%s, fanout %zu: at %" PRId64 ", %" PRId64, map,
              fanout, f->where[0], f->where[1]);
    cr_expect(memcmp(f->elements, g->elements, sizeof f->elements) == 0, "%s, fanout %zu: %a %a", map, fanout,
              (double)f->elements[0], (double)f->elements[1]);
}

static void fill(void)
{
    uint32_t state = 5;
    for (int e = 0; e < ROWS * COLUMNS; e++) {
        state = state * 1664525 + 1013904223;
        A[e / COLUMNS][e % COLUMNS] = ldexpf((float)(int32_t)state, -24 - (int)(state >> 9) % 30);
    }
    A[7][3] = A[30][1] = A[41][1] = 1e6F; /* the lowest one counts */
}

Test(combine, gives_the_same_bits)
{
    static const char *const maps[] = {"block", "rows:cyclic(3x7)"};
    struct found first, f;
    fill();
    for (size_t fanout = 16; fanout > 1; fanout = fanout == 16 ? 2 : 0) {
        dcl_config config = test_config(NODES);
        config.fanout = fanout;
        dcl_cluster *cluster = test_open(&config);
        for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
            dcl_array *a = test_array(cluster, maps[m], dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
            TEST_OK(dcl_write(a, NULL, A, NULL));
            reduce(cluster, a, &f);
            if (fanout == 16 && m == 0)
                first = f;
            expect_same(maps[m], fanout, &f, &first);
            reduce(cluster, a, &f); /* now slots and rows have old stamps */
            expect_same(maps[m], fanout, &f, &first);
            dcl_release(a);
        }
        TEST_OK(dcl_close(cluster));
    }
    cr_expect(first.where[0] == 7 && first.where[1] == 3 && first.high == 1e6F);
}

static dcl_counters explained(dcl_cluster *cluster, dcl_array *s, dcl_array *a, int node)
{
    dcl_counters counters;
    TEST_OK(dcl_call_explain(DCL_CALL_REDUCTION(cluster, NULL, "s(1) += a(i,j);", DCL_INOUT(s), DCL_IN(a)), node,
                             &counters));
    return counters;
}

Test(combine, moves_what_is_explained)
{
    dcl_config config = test_config(NODES);
    config.fanout = 2;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS)),
              *s = test_array(cluster, "cyclic", dcl_grid_1d(DCL_FLOAT, 3));
    const float two = 2;
    TEST_OK(dcl_fill(a, &two));
    TEST_OK(dcl_fill(s, &two));
    for (int node = 0; node <= NODES; node++) {
        dcl_counters before, after, planned = explained(cluster, s, a, node < NODES ? node : DCL_ALL_NODES);
        TEST_OK(dcl_stats(cluster, node < NODES ? node : DCL_ALL_NODES, &before));
        TEST_OK(dcl_reduce(cluster, "s(1) += a(i,j);", DCL_INOUT(s), DCL_IN(a)));
        TEST_OK(dcl_stats(cluster, node < NODES ? node : DCL_ALL_NODES, &after));
        cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "node %d", node);
        cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned, "node %d", node);
        cr_expect_eq(after.tasks - before.tasks, planned.tasks, "node %d", node);
    }
    dcl_release(s);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* Plans for many nodes: each but the first sends its partial results to one other node; the last step sends one row to the owner of the
 * element. */
Test(combine, takes_one_message_per_node)
{
    static const struct {
        int nodes, fanout, steps;
    } cases[] = {{64, 2, 6}, {64, 4, 3}, {64, 16, 2}, {17, 16, 2}, {63, 3, 4}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char fanout[8];
        snprintf(fanout, sizeof fanout, "%d", cases[c].fanout);
        setenv("DCL_FANOUT", fanout, 1);
        dcl_cluster *cluster = dcl_open_plan(cases[c].nodes);
        cr_assert(cluster != NULL, "%s", dcl_error());
        dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 10000)),
                  *s = test_array(cluster, "cyclic", dcl_grid_1d(DCL_FLOAT, 3));
        dcl_counters counters;
        TEST_OK(dcl_call_explain(DCL_CALL_REDUCTION(cluster, NULL, "s(1) += a(i);", DCL_INOUT(s), DCL_IN(a)),
                                 DCL_ALL_NODES, &counters));
        cr_expect_eq(counters.messages_planned, cases[c].nodes, "%d nodes, fanout %d: %" PRId64 " messages",
                     cases[c].nodes, cases[c].fanout, counters.messages_planned);
        char words[40];
        snprintf(words, sizeof words, "another one, up a tree of %d steps,", cases[c].steps);
        dcl_report *report =
            dcl_call_report(DCL_CALL_REDUCTION(cluster, NULL, "s(1) += a(i);", DCL_INOUT(s), DCL_IN(a)), DCL_ALL_NODES);
        cr_assert(report != NULL, "%s", dcl_error());
        cr_expect(strstr(report->method, words) != NULL, "%s", report->method);
        dcl_report_release(report);
        dcl_release(s);
        dcl_release(a);
        TEST_OK(dcl_close(cluster));
    }
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

enum { LENGTH = 300 };

/* Fill an array with ones, reduce it into an element and a value, and wait for both. @return what failed first. */
static dcl_status reduce_ones(dcl_cluster *cluster, dcl_array *a, float *element_out, float *value_out)
{
    const float one = 1;
    const dcl_box middle = dcl_box_nd(1, (int64_t[]){1}, (int64_t[]){1});
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 3));
    dcl_status status = dcl_fill(a, &one);
    if (status == DCL_OK)
        status = dcl_reduce(cluster, "s(1) += a(i);", DCL_OUT(s), DCL_IN(a));
    if (status == DCL_OK)
        status = dcl_read(s, &middle, element_out, NULL);
    if (status == DCL_OK)
        status = dcl_reduce(cluster, "sum += a(i);", DCL_RESULT_AS("sum", value_out), DCL_IN(a));
    dcl_release(s);
    return status;
}

/* One allocation of an array on the way up fails: so does the call, with the cause. Later calls are right. */
Test(combine, a_node_without_memory_fails_the_call_only)
{
    enum {
        FIRST = 4,
        STEPS = 2,
        CALLS = 2
    }; /* allocations for `a`, the first `s` and the partial results come before */
    for (int node = 0; node < 3; node += 2)
        for (int count = FIRST; count < FIRST + STEPS; count++) {
            int failed = 0;
            char fault[48];
            snprintf(fault, sizeof fault, "alloc node=%d count=%d", node, count);
            test_fault(fault);
            dcl_config config = test_config(3);
            config.fanout = 2;
            dcl_cluster *cluster = test_open(&config);
            test_fault(NULL);
            dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, LENGTH));
            for (int n = 0; n < CALLS; n++) {
                float element = 0, value = 0;
                dcl_status status = reduce_ones(cluster, a, &element, &value);
                if (status == DCL_OK) {
                    cr_expect(element == LENGTH && value == LENGTH, "%s: %g %g", fault, (double)element, (double)value);
                    continue;
                }
                cr_expect(strstr(dcl_error(), "DCL_FAULT") != NULL, "%s: the cause is not named: %s", fault,
                          dcl_error());
                cr_expect_lt(n, CALLS - 1, "%s: %s", fault, dcl_error());
                failed++;
                dcl_wait(cluster);
                dcl_clear_error(cluster);
            }
            cr_expect_eq(failed, 1, "%s: %d calls failed", fault, failed);
            dcl_release(a);
            dcl_close(cluster);
        }
}

#ifdef TEST_DCL
/* A process is killed while partial results go up: then calls fail as their arrays have a part on it, and those on the others are
 * right, in a smaller tree. */
Test(combine, a_lost_node_is_left_out)
{
    dcl_config config = test_config(1);
    config.workers = "local:4";
    config.program = TEST_DCL;
    config.fanout = 2;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, LENGTH)),
              *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 3));
    const float one = 1;
    float element, value;
    TEST_OK(reduce_ones(cluster, a, &element, &value));
    TEST_OK(dcl_fill(s, &one));
    dcl_status status = DCL_OK;
    for (int n = 0; n < 100000 && status == DCL_OK; n++) {
        if (n == 20)
            cr_assert_eq(kill(test_child(true), SIGKILL), 0);
        status = dcl_reduce(cluster, "s(1) += a(i);", DCL_INOUT(s), DCL_IN(a));
    }
    cr_expect_eq(status, DCL_ERR_NODE_LOST, "%s", dcl_error());
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_NODE_LOST, "have failed: a"); /* s has no part on it */
    cr_expect(strstr(dcl_error(), "no body has named") == NULL, "the library's own are counted: %s", dcl_error());
    dcl_clear_error(cluster);
    dcl_release(s);
    dcl_release(a);
    a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, LENGTH));
    TEST_OK(reduce_ones(cluster, a, &element, &value));
    cr_expect(element == LENGTH && value == LENGTH, "%g %g", (double)element, (double)value);
    dcl_release(a);
    dcl_close(cluster);
}
#endif

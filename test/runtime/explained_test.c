/* test/runtime/explained_test.c - reports of copies, remaps and moves: pairs, memory, balance, refusals. That they agree with
 * the counters under all kinds of maps is seen in test/pairs, and for moves in move_test.c. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/nodes.h"

TestSuite(explained, .timeout = TEST_SECONDS);

static dcl_array *square(dcl_cluster *cluster, const char *map) /* of 8 x 8 */
{
    return test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, 8, 8));
}

/* "owner>user blocks bytes messages; ..." */
static void print_pairs(const dcl_report *report, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t n = 0; n < report->pair_count; n++) {
        const dcl_report_pair *pair = &report->pair[n];
        cr_expect(pair->bytes_read == pair->bytes && pair->bytes_written == 0, "all of it is read");
        used += (size_t)snprintf(text + used, capacity - used, "%s%d>%d %" PRId64 " %" PRId64 " %" PRId64,
                                 n > 0 ? "; " : "", pair->owner, pair->user, pair->blocks, pair->bytes, pair->messages);
    }
}

static void expect_pairs(const dcl_report *report, const char *expected)
{
    char text[512];
    cr_assert_not_null(report, "%s", dcl_error());
    print_pairs(report, text, sizeof text);
    cr_expect_str_eq(text, expected, "%s; expected %s", text, expected);
    cr_expect_eq(report->advice_count, 0);
}

/* ---- copies and remaps -------------------------------------------------------------------------------------------- */

struct copy_case {
    char what[48];
    int nodes;
    char from[40], to[40];
    char pairs[128];
    double elements, bytes; /* largest share / mean */
};

ParameterizedTestParameters(explained, copies)
{
    static struct copy_case cases[] = {
        {"rows stay", 2, "block,*", "block,*;tile=1x8", "", 1, 1},
        /* Rows 0..3 and 4..7, which become 0 2 4 6 and 1 3 5 7: of each four two are at the other node. */
        {"rows are dealt", 2, "block,*", "cyclic,*", "1>0 1 64 1; 0>1 1 64 1", 1, 1},
        /* Of 4 x 8 elements the other half of the columns. */
        {"rows become columns", 2, "block,*", "*,block", "1>0 1 64 1; 0>1 1 64 1", 1, 1},
        /* Node 1 gets the four rows it has not. */
        {"all goes to one", 2, "block,*", "*;nodes=1", "0>1 1 128 1", 1, 1},
        /* Six rows and two: node 0 gets two more, 24 and 8 are the elements; nothing goes the other way. */
        {"an uneven map", 2, "block,*", "splits(6),*", "1>0 1 64 1", 1.5, 2},
    };
    return cr_make_param_array(struct copy_case, cases, sizeof cases / sizeof cases[0]);
}

static void expect_copy(const struct copy_case *c, const dcl_report *report)
{
    expect_pairs(report, c->pairs);
    cr_assert_eq(report->array_count, 2);
    cr_expect(strcmp(report->array[0].name, "to") == 0 && strcmp(report->array[0].map, c->to) == 0 &&
              report->array[0].elements == 64 && report->array[0].stored == 64 && report->array[0].bytes_moved == 0);
    cr_expect(strcmp(report->array[1].name, "from") == 0 && strcmp(report->array[1].map, c->from) == 0 &&
              report->array[1].bytes_moved == report->planned.bytes_moved);
    cr_expect(report->node == DCL_ALL_NODES && report->nodes == c->nodes && report->node_count == c->nodes);
    cr_expect(report->imbalance_elements == c->elements && report->imbalance_bytes == c->bytes, "%s: %g, %g", c->what,
              report->imbalance_elements, report->imbalance_bytes);
}

ParameterizedTest(struct copy_case *c, explained, copies)
{
    dcl_cluster *cluster = dcl_open_plan(c->nodes);
    dcl_array *from = square(cluster, c->from), *to = square(cluster, c->to);
    dcl_report *copied = dcl_call_report(DCL_CALL_COPY(from, to), DCL_ALL_NODES);
    expect_copy(c, copied);
    dcl_report *remapped = dcl_call_report(DCL_CALL_REMAP(from, (dcl_map *)dcl_map_of(to), 0), DCL_ALL_NODES);
    expect_copy(c, remapped);
    dcl_counters planned;
    for (int n = 0; n < c->nodes; n++) {
        TEST_OK(dcl_call_explain(DCL_CALL_COPY(from, to), n, &planned));
        cr_expect_eq(memcmp(&planned, &copied->node_row[n].planned, sizeof planned), 0, "%s: node %d", c->what, n);
        dcl_report *one = dcl_call_report(DCL_CALL_COPY(from, to), n);
        cr_assert(one != NULL && one->node == n && one->node_count == 1, "%s", dcl_error());
        cr_expect_eq(memcmp(&planned, &one->planned, sizeof planned), 0, "%s: node %d alone", c->what, n);
        dcl_report_release(one);
    }
    dcl_report_release(copied);
    dcl_report_release(remapped);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* An array copied to itself, an equal map, and one whose nodes may take its places in the order that there is. */
Test(explained, nothing_to_do)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *A = square(cluster, "block,*"), *other = square(cluster, "block,*;nodes=1,0");
    dcl_map *same = (dcl_map *)dcl_map_of(A), *turned = (dcl_map *)dcl_map_of(other);
    dcl_report *reports[] = {dcl_call_report(DCL_CALL_COPY(A, A), DCL_ALL_NODES),
                             dcl_call_report(DCL_CALL_REMAP(A, same, 0), DCL_ALL_NODES),
                             dcl_call_report(DCL_CALL_REMAP(A, turned, DCL_REMAP_RELABEL), DCL_ALL_NODES)};
    for (int n = 0; n < 3; n++) {
        const dcl_report *report = reports[n];
        expect_pairs(report, "");
        cr_expect(report->node_count == 2 && report->planned.tasks == 0 && report->planned.bytes_moved == 0, "%d", n);
        cr_expect(report->imbalance_elements == 1 && report->imbalance_bytes == 1, "%d", n);
        cr_expect(report->array_count == 2 && strcmp(report->array[0].name, "to") == 0 &&
                      strcmp(report->array[1].map, "block,*") == 0 && report->array[1].stored == 64,
                  "%d", n);
        dcl_report_release(reports[n]);
    }
    dcl_report *moved = dcl_call_report(DCL_CALL_REMAP(A, turned, 0), 1);
    expect_pairs(moved, "0>1 1 128 1");
    dcl_report_release(moved);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* ---- moves -------------------------------------------------------------------------------------------------------- */

/* Four nodes have two rows each, of 32 bytes. */
Test(explained, moves)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_array *A = square(cluster, "block,*");
    dcl_report *report = dcl_call_report(DCL_CALL_MOVE(A, NULL, 0), DCL_ALL_NODES);
    expect_pairs(report, "1>0 1 64 1; 2>0 1 64 1; 3>0 1 64 1");
    cr_expect(report->node == 0 && report->node_count == 1 && report->array_count == 1);
    cr_expect_str_eq(report->array[0].name, "array");
    cr_expect(report->array[0].read && !report->array[0].written && report->array[0].bytes_moved == 192);
    cr_expect_eq(report->node_row[0].copied_bytes, 256, "the whole box: %" PRId64, report->node_row[0].copied_bytes);
    cr_expect_eq(report->node_row[0].arrived_bytes, 192);
    cr_expect(report->node_row[0].elements == 0 && report->node_row[0].staged_bytes == 0 && report->planned.tasks == 0);
    cr_expect(report->imbalance_elements == 0 && report->imbalance_bytes == 0);
    dcl_report_release(report);
    dcl_box three = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){3, 8});
    report = dcl_call_report(DCL_CALL_MOVE(A, &three, 0), DCL_ALL_NODES);
    expect_pairs(report, "1>0 1 32 1");
    cr_expect_eq(report->node_row[0].copied_bytes, 32, "what is around its own rows");
    dcl_report_release(report);
    three.count[0] = 2;
    report = dcl_call_report(DCL_CALL_MOVE(A, &three, 0), DCL_ALL_NODES);
    expect_pairs(report, "");
    cr_expect(report->planned.messages_planned == 0 && report->node_row[0].copied_bytes == 0);
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* Of the array behind the view, under the name that bodies gave it: column 7, of which node 1 has all. */
Test(explained, moves_behind_views)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *B = square(cluster, "*,block"), *T = dcl_transpose(B);
    dcl_box row = dcl_box_nd(2, (int64_t[]){7, 0}, (int64_t[]){1, 8});
    dcl_counters planned;
    TEST_OK(dcl_explain(cluster, &planned, "B(i,j) = 1;", DCL_OUT(B)));
    dcl_report *report = dcl_call_report(DCL_CALL_MOVE(T, &row, 0), DCL_ALL_NODES);
    expect_pairs(report, "1>0 1 32 1");
    cr_expect_str_eq(report->array[0].name, "B");
    cr_expect_str_eq(report->array[0].map, "*,block");
    char json[2048];
    cr_expect_lt(dcl_report_print(report, DCL_REPORT_JSON, json, sizeof json), sizeof json);
    cr_expect_not_null(strstr(json, "\"node\": 0, \"tasks\": 0, \"blocks_moved\": 1, \"bytes_moved\": 32"), "%s", json);
    cr_expect_not_null(strstr(json, "\"copied_bytes\": 32, \"name\""), "%s", json);
    dcl_report_release(report);
    dcl_release(T);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* A body that keeps what it reads makes copies, too: of the other node's four rows. */
Test(explained, copies_that_bodies_keep)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *B = square(cluster, "block,*"), *C = square(cluster, "block,*");
    dcl_report *report = dcl_explain_report(cluster, "C(i,j) = B(7 - i,j) + B(i,7 - j);", DCL_OUT(C), DCL_IN_KEPT(B));
    expect_pairs(report, "1>0 1 128 1; 0>1 1 128 1");
    cr_expect(report->node_row[0].copied_bytes == 128 && report->node_row[0].staged_bytes == 0);
    dcl_report_release(report);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void expect_refused(dcl_report *report, const char *words)
{
    cr_expect_null(report);
    cr_expect_not_null(strstr(dcl_error(), words), "\"%s\" has not \"%s\"", dcl_error(), words);
    dcl_report_release(report);
}

Test(explained, refusals)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *A = square(cluster, "block,*"), *V = dcl_transpose(A);
    dcl_array *W = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, 8, 9)), *flat = dcl_flatten(A);
    dcl_map *map = (dcl_map *)dcl_map_of(A);
    dcl_box far = dcl_box_nd(2, (int64_t[]){4, 0}, (int64_t[]){5, 8});
    expect_refused(dcl_call_report(DCL_CALL_COPY(NULL, A), 0), "dcl_explain_report: `from` is NULL");
    expect_refused(dcl_call_report(DCL_CALL_COPY(A, NULL), 0), "`to` is NULL");
    expect_refused(dcl_call_report(DCL_CALL_COPY(A, W), 0), "axis 1 of `from` has 8 elements and of `to` 9");
    expect_refused(dcl_call_report(DCL_CALL_COPY(A, V), 0), "`from` and `to` are views of one array");
    expect_refused(dcl_call_report(DCL_CALL_COPY(A, A), 2), "node is 2; expected 0..1, or DCL_ALL_NODES");
    expect_refused(dcl_call_report(DCL_CALL_COPY(A, A), DCL_HOST), "node is -2");
    expect_refused(dcl_call_report(DCL_CALL_REMAP(NULL, map, 0), 0), "dcl_explain_report: array is NULL");
    expect_refused(dcl_call_report(DCL_CALL_REMAP(A, NULL, 0), 0), "map is NULL");
    expect_refused(dcl_call_report(DCL_CALL_REMAP(V, map, 0), 0), "array is a view");
    expect_refused(dcl_call_report(DCL_CALL_REMAP(A, map, 8), 0), "flags are 8");
    expect_refused(dcl_call_report(DCL_CALL_REMAP(A, map, 0), -4), "node is -4");
    expect_refused(dcl_call_report(DCL_CALL_MOVE(NULL, NULL, 0), DCL_ALL_NODES), "dcl_explain_report: array is NULL");
    expect_refused(dcl_call_report(DCL_CALL_MOVE(A, NULL, DCL_ALL_NODES), DCL_ALL_NODES), "node is -3; expected 0..1");
    expect_refused(dcl_call_report(DCL_CALL_MOVE(A, &far, 0), DCL_ALL_NODES), "axis 0 runs from 4 to 8");
    expect_refused(dcl_call_report(DCL_CALL_MOVE(flat, NULL, 0), DCL_ALL_NODES),
                   "the array is a view of another shape");
    dcl_clear_error(cluster);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

/* Node 1 has no more than half of the box: all of it is copied, and the budget has no room for 256 bytes. */
Test(explained, a_move_that_does_not_fit)
{
    dcl_config config = test_config(2);
    config.kept_bytes = 100;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = square(cluster, "block,*");
    expect_refused(dcl_call_report(DCL_CALL_MOVE(A, NULL, 1), DCL_ALL_NODES),
                   "node 1: replicas of the box take 256 bytes");
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_NOMEM);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}

/* A copy that is filled bit by bit is one. */
Test(explained, a_move_in_several_batches)
{
    dcl_config config = test_config(2);
    config.tile_bytes = 64;
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = square(cluster, "block,*");
    dcl_report *report = dcl_call_report(DCL_CALL_MOVE(A, NULL, 1), DCL_ALL_NODES);
    expect_pairs(report, "0>1 1 128 2");
    cr_expect_eq(report->node_row[0].copied_bytes, 256, "%" PRId64 " bytes", report->node_row[0].copied_bytes);
    cr_expect_eq(report->node_row[0].arrived_bytes, 64);
    dcl_report_release(report);
    TEST_OK(dcl_close(cluster));
}

typedef dcl_report *ask_fn(dcl_array *A, dcl_array *B);

static dcl_report *ask_copy(dcl_array *A, dcl_array *B) { return dcl_call_report(DCL_CALL_COPY(A, B), DCL_ALL_NODES); }
static dcl_report *ask_same(dcl_array *A, dcl_array *B)
{
    return (void)B, dcl_call_report(DCL_CALL_COPY(A, A), DCL_ALL_NODES);
}
static dcl_report *ask_move(dcl_array *A, dcl_array *B)
{
    return (void)B, dcl_call_report(DCL_CALL_MOVE(A, NULL, 0), DCL_ALL_NODES);
}
static dcl_report *ask_remap(dcl_array *A, dcl_array *B)
{
    return dcl_call_report(DCL_CALL_REMAP(A, (dcl_map *)dcl_map_of(B), DCL_REMAP_RELABEL), DCL_ALL_NODES);
}

/* The n-th allocation fails: there is a sentence and no report, or a whole report. */
Test(explained, memory_that_lacks_is_told)
{
    static ask_fn *const asks[] = {ask_copy, ask_same, ask_move, ask_remap};
    dcl_cluster *cluster = dcl_open_plan(3);
    dcl_array *A = square(cluster, "block,*"), *B = square(cluster, "*,cyclic");
    for (int k = 0; k < 4; k++) {
        int refused = 0;
        for (int n = 1, whole = 0; whole < 30; n++) {
            dcl_clear_error(NULL);
            dcli_alloc_fail_after(n);
            dcl_report *report = asks[k](A, B);
            dcli_alloc_fail_after(0);
            whole = report != NULL ? whole + 1 : 0;
            refused += report == NULL;
            if (report == NULL)
                cr_expect(strstr(dcl_error(), "out of memory: ") != NULL, "%d: allocation %d: %s", k, n, dcl_error());
            dcl_report_release(report);
        }
        cr_expect_gt(refused, 5, "%d: only %d allocations failed", k, refused);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

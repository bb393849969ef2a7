/* test/runtime/report_test.c - reports: pairs of nodes, memory, balance, slots, footprints. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "support/nodes.h"

TestSuite(report_planned, .timeout = TEST_SECONDS);
TestSuite(report_on_device, .timeout = TEST_SECONDS);

/* A cluster that plans, and three arrays of it. */
struct planned {
    dcl_cluster *cluster;
    dcl_array *C, *A, *B;
};

static dcl_array *array_of(dcl_cluster *cluster, dcl_grid grid, const char *map)
{
    dcl_map *made = dcl_map_parse(cluster, map);
    dcl_array *array = dcl_agile(grid, made);
    cr_assert_not_null(array, "%s: %s", map, dcl_error());
    dcl_release(made);
    return array;
}

static struct planned open_planned(int nodes, dcl_grid grid, const char *c, const char *a, const char *b)
{
    struct planned planned = {.cluster = dcl_open_plan(nodes)};
    planned.C = array_of(planned.cluster, grid, c);
    planned.A = array_of(planned.cluster, grid, a);
    planned.B = array_of(planned.cluster, grid, b);
    return planned;
}

static void close_planned(struct planned *planned) { cr_expect_eq(dcl_close(planned->cluster), DCL_OK); }

static dcl_report *report_on(const struct planned *planned, const char *body, dcl_access c, dcl_access a, dcl_access b)
{
    dcl_arg args[] = {dcl_arg_array(c, "C", planned->C), dcl_arg_array(a, "A", planned->A),
                      dcl_arg_array(b, "B", planned->B)};
    dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(planned->cluster, NULL, body, 3, args), DCL_ALL_NODES);
    cr_assert_not_null(report, "%s: %s", body, dcl_error());
    return report;
}

/* Indices and method of a report, as text. */
static void expect_form(const dcl_call *call, const char *indices, const char *words)
{
    dcl_report *report = dcl_call_report(call, DCL_ALL_NODES);
    char text[200] = "";
    cr_assert_not_null(report, "%s: %s", call->text, dcl_error());
    for (int n = 0; n < report->index_count; n++) {
        const dcl_report_index *row = &report->index[n];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %s %" PRId64 "+%" PRId64, n > 0 ? ", " : "",
                 row->name, row->use, row->first, row->count);
    }
    cr_expect_str_eq(text, indices, "%s: %s; expected %s", call->text, text, indices);
    cr_expect(strstr(report->method, words) != NULL, "%s: \"%s\" has not \"%s\"", call->text, report->method, words);
    dcl_report_release(report);
}

Test(report_planned, reductions_and_scans)
{
    struct planned planned = open_planned(3, dcl_grid_2d(DCL_FLOAT, 3000, 40), "block", "block", "cyclic");
    dcl_cluster *cluster = planned.cluster;
    dcl_array *A = planned.A, *C = planned.C, *y = array_of(cluster, dcl_grid_1d(DCL_FLOAT, 40), "block");
    dcl_array *S = array_of(cluster, dcl_grid_2d(DCL_FLOAT, 40, 40), "block"), *T = dcl_transpose(planned.B);
    double s;
    float high;
    int64_t origin[] = {7};
    dcl_array *n = array_of(cluster, dcl_grid_nd(DCL_INT32, 1, (int64_t[]){2000}, origin), "block");
    expect_form(DCL_CALL_REDUCTION(cluster, NULL, "s += A(j,k);", DCL_RESULT(s), DCL_IN(A)),
                "j reduced 0+3000, k reduced 0+40", "s: a sum that does not depend on the order");
    expect_form(DCL_CALL_REDUCTION(cluster, NULL, "s += A(i,j); high max= A(i,j);", DCL_RESULT(s), DCL_RESULT(high),
                                   DCL_IN(A), DCL_FAST),
                "i reduced 0+3000, j reduced 0+40", "s: a sum in any order (DCL_FAST); high: exact; 2 operations");
    expect_form(DCL_CALL_REDUCTION(cluster, NULL, "y(j) += A(i,j);", DCL_OUT(y), DCL_IN(A)),
                "j kept 0+40, i reduced 0+3000", "y: a sum that");
    expect_form(DCL_CALL_REDUCTION(cluster, NULL, "S(i,j) += T(i,k) * A(k,j);", DCL_OUT(S), DCL_IN(T), DCL_IN(A)),
                "i kept 0+40, j kept 0+40, k reduced 0+3000", "S: a chain of fused multiply-adds");
    expect_form(DCL_CALL_REDUCTION(cluster, NULL, "y(j) *= A(i,j);", DCL_OUT(y), DCL_IN(A)),
                "j kept 0+40, i reduced 0+3000", "y: combined in ascending order of the reduced indices");
    expect_form(
        DCL_CALL_REDUCTION(cluster, NULL, "n(i % 7 + 7) += 1; y(j) max= A(i,j);", DCL_OUT(n), DCL_OUT(y), DCL_IN(A)),
        "i reduced 0+3000, j reduced 0+40",
        "y: exact; each node reduces into 16320 bytes of partial results, which further operations combine");
    expect_form(DCL_CALL_SCAN(cluster, "C(i,j) += A(i,j);", DCL_OUT(C), DCL_IN(A), DCL_ALONG("i")),
                "i scanned 0+3000, j kept 0+40", "leaves of 1024 elements and blocks of 16");
    expect_form(DCL_CALL_SCAN(cluster, "n(i) max= i;", DCL_OUT(n), DCL_ALONG("i")), "i scanned 7+2000",
                "leaves of 1024 elements; 3 operations");
    close_planned(&planned);
}

struct reach_case {
    char what[40], body[64], map[16];
    int nodes;
    dcl_access access; /* of B */
    char words[48];    /* of the sentence; "": there is none */
};

ParameterizedTestParameters(report_planned, all_to_all)
{
    static struct reach_case cases[] = {
        {"declared", "C(i,j) = A(i,j) + B(3,2);", "block", 5, DCL_ACCESS_IN_ALL,
         "elements of B are read (line 1, column 19)"},
        {"two indices in a subscript", "C(i,j) = A(i,j) + B(i+j,3);", "block,*", 4, DCL_ACCESS_IN, "each of 4 nodes"},
        {"single elements by hash", "C(i,j) = A(i,j) + B(j,i);", "rows:hash(1x1)", 4, DCL_ACCESS_IN, "elements of B"},
        {"two nodes", "C(i,j) = A(i,j) + B(3,2);", "block", 2, DCL_ACCESS_IN_ALL, ""},
        {"transposed: known", "C(i,j) = A(i,j) + B(j,i);", "block,*", 4, DCL_ACCESS_IN, ""},
        {"a stencil", "C(i,j) = i > 0 ? B(i-1,j) : A(i,j);", "block", 4, DCL_ACCESS_IN, ""},
    };
    return cr_make_param_array(struct reach_case, cases, sizeof cases / sizeof cases[0]);
}

/* The text says when a read of unknown reach makes all nodes exchange with all. */
ParameterizedTest(struct reach_case *c, report_planned, all_to_all)
{
    struct planned planned = open_planned(c->nodes, dcl_grid_2d(DCL_FLOAT, 40, 40), c->map, c->map, c->map);
    dcl_report *report = report_on(&planned, c->body, DCL_ACCESS_OUT, DCL_ACCESS_IN, c->access);
    char text[8192];
    bool said = report->all_to_all != NULL;
    cr_expect_eq(said, c->words[0] != '\0', "%s: %s", c->what, said ? report->all_to_all : "nothing");
    cr_expect(!said || strstr(report->all_to_all, c->words) != NULL, "%s: %s", c->what, report->all_to_all);
    dcl_report_print(report, DCL_REPORT_TEXT, text, sizeof text);
    cr_expect_eq(strstr(text, "All to all: which") != NULL, said, "%s: %s", c->what, text);
    dcl_report_print(report, DCL_REPORT_JSON, text, sizeof text);
    cr_expect(strstr(text, said ? "\"all_to_all\": \"which" : "\"all_to_all\": null") != NULL, "%s: %s", c->what, text);
    dcl_report_release(report);
    close_planned(&planned);
}

/* "owner>user blocks bytes=read+written messages; ..." */
static void print_pairs(const dcl_report *report, char *text, size_t capacity)
{
    text[0] = '\0';
    for (int64_t n = 0; n < report->pair_count; n++) {
        const dcl_report_pair *pair = &report->pair[n];
        size_t used = strlen(text);
        snprintf(text + used, capacity - used, "%s%d>%d %" PRId64 " %" PRId64 "=%" PRId64 "+%" PRId64 " %" PRId64,
                 n > 0 ? "; " : "", pair->owner, pair->user, pair->blocks, pair->bytes, pair->bytes_read,
                 pair->bytes_written, pair->messages);
    }
}

/* ---- pairs -------------------------------------------------------------------------------------------------------- */

struct pair_case {
    char what[56], body[64];
    dcl_access b;
    int nodes;
    char c[48], other[48]; /* maps of C and A, and of B; all are float, 8 x 8 */
    char pairs[160];
};

ParameterizedTestParameters(report_planned, pairs)
{
    static struct pair_case cases[] = {
        {"at home", "C(i,j) = A(i,j) + B(i,j);", DCL_ACCESS_IN, 4, "block,*", "block,*", ""},
        /* Each of two nodes has four rows; of each row the other's half is four elements: 16 elements, 64 bytes. */
        {"transposed", "C(i,j) = A(i,j) + B(j,i);", DCL_ACCESS_IN, 2, "block,*", "block,*",
         "1>0 1 64=64+0 1; 0>1 1 64=64+0 1"},
        {"the same in blocks of 2x2", "C(i,j) = A(i,j) + B(j,i);", DCL_ACCESS_IN, 2, "block,*", "block,*;block=2x2",
         "1>0 4 64=64+0 1; 0>1 4 64=64+0 1"},
        /* Rows 0 2 4 6 and 1 3 5 7, needed by who has 0..3 and 4..7. */
        {"rows dealt otherwise", "C(i,j) = A(i,j) + B(i,j);", DCL_ACCESS_IN, 2, "block,*", "cyclic,*",
         "1>0 2 64=64+0 1; 0>1 2 64=64+0 1"},
        /* The last of four nodes has rows 6 and 7. */
        {"one row for all", "C(i,j) = A(i,j) + B(7,j);", DCL_ACCESS_IN, 4, "block,*", "block,*",
         "3>0 1 32=32+0 1; 3>1 1 32=32+0 1; 3>2 1 32=32+0 1"},
        {"written elsewhere", "C(i,j) = A(i,j); B(j,i) = 1;", DCL_ACCESS_OUT, 2, "block,*", "block,*",
         "1>0 1 64=0+64 1; 0>1 1 64=0+64 1"},
        {"read and written elsewhere", "C(i,j) = A(i,j); B(j,i) += 1;", DCL_ACCESS_INOUT, 2, "block,*", "block,*",
         "1>0 1 64=64+64 2; 0>1 1 64=64+64 2"},
    };
    return cr_make_param_array(struct pair_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct pair_case *c, report_planned, pairs)
{
    struct planned planned = open_planned(c->nodes, dcl_grid_2d(DCL_FLOAT, 8, 8), c->c, c->c, c->other);
    dcl_report *report = report_on(&planned, c->body, DCL_ACCESS_OUT, DCL_ACCESS_IN, c->b);
    char text[1024];
    print_pairs(report, text, sizeof text);
    cr_expect_str_eq(text, c->pairs, "%s: %s", c->what, text);
    dcl_report_release(report);
    close_planned(&planned);
}

/* C = A + B^T over nine segments of 32 x 32 on four nodes: 1 and 3 exchange two segments of 4096 bytes; tasks are half
 * segments wide and stage a quarter of one each. */
Test(report_planned, of_the_worked_example)
{
    const char *map = "rows:cyclic(32x32);block=16x16;tile=16x16";
    struct planned planned = open_planned(4, dcl_grid_2d(DCL_FLOAT, 96, 96), map, map, map);
    dcl_report *report = report_on(&planned, "C(i,j) = A(i,j) + B(j,i);", DCL_ACCESS_OUT, DCL_ACCESS_IN, DCL_ACCESS_IN);
    char text[256];
    print_pairs(report, text, sizeof text);
    cr_expect_str_eq(text, "3>1 8 8192=8192+0 1; 1>3 8 8192=8192+0 1", "%s", text);
    cr_expect(report->nodes == 4 && report->node == DCL_ALL_NODES && report->node_count == 4);
    cr_expect(report->planned.tasks == 36 && report->planned.blocks_moved == 16 &&
              report->planned.bytes_moved == 16384 && report->planned.messages_planned == 2);
    cr_expect_float_eq(report->imbalance_elements, 3 / 2.25, 1e-12, "%g", report->imbalance_elements);
    cr_expect_float_eq(report->imbalance_bytes, 2, 1e-12, "%g", report->imbalance_bytes);
    static const int64_t elements[] = {3 * 1024, 2 * 1024, 2 * 1024, 2 * 1024}, arrived[] = {0, 8192, 0, 8192};
    for (int n = 0; n < 4; n++) {
        const dcl_report_node *row = &report->node_row[n];
        cr_expect(row->node == n && strcmp(row->name, "planned") == 0);
        cr_expect_eq(row->elements, elements[n], "node %d: %" PRId64 " elements", n, row->elements);
        cr_expect_eq(row->arrived_bytes, arrived[n], "node %d: %" PRId64 " bytes", n, row->arrived_bytes);
        cr_expect_eq(row->staged_bytes, arrived[n], "node %d: %" PRId64 " bytes", n, row->staged_bytes);
    }
    dcl_report_release(report);
    close_planned(&planned);
}

/* ---- arrays and footprints ---------------------------------------------------------------------------------------- */

Test(report_planned, arrays_have_their_slots_and_share)
{
    struct planned planned =
        open_planned(2, dcl_grid_2d(DCL_FLOAT, 10, 10), "rows:cyclic(4x4)", "block,*", "rows:cyclic(5x5)");
    dcl_report *report = report_on(&planned, "C(i,j) = A(i,j) + B(i,j);", DCL_ACCESS_OUT, DCL_ACCESS_IN, DCL_ACCESS_IN);
    cr_assert_eq(report->array_count, 3);
    static const char *const names[] = {"C", "A", "B"}, *const maps[] = {"rows:cyclic(4x4)", "block,*",
                                                                         "rows:cyclic(5x5)"};
    static const int64_t stored[] = {9 * 16, 100, 100};
    int64_t moved = 0;
    for (int n = 0; n < 3; n++) {
        const dcl_report_array *row = &report->array[n];
        cr_expect(strcmp(row->name, names[n]) == 0 && strcmp(row->map, maps[n]) == 0, "%s %s", row->name, row->map);
        cr_expect(row->read == (n > 0) && row->written == (n == 0));
        cr_expect(row->elements == 100 && row->stored == stored[n], "%s: %" PRId64, row->name, row->stored);
        moved += row->bytes_moved;
    }
    cr_expect(report->array[0].bytes_moved == 0 && report->array[1].bytes_moved > 0 &&
              report->array[2].bytes_moved > 0);
    cr_expect_eq(moved, report->planned.bytes_moved);
    dcl_report_release(report);
    close_planned(&planned);
}

/* Of two nodes with 4 rows each, a diagonal of 4 is read in a box of 4 x 4. For i + j a box of 11 is read wholly. */
Test(report_planned, footprints_wider_than_what_is_read)
{
    struct planned planned = open_planned(2, dcl_grid_2d(DCL_FLOAT, 8, 8), "block,*", "block,*", "block,*");
    dcl_array *D = array_of(planned.cluster, dcl_grid_1d(DCL_FLOAT, 16), "block");
    dcl_report *report =
        dcl_explain_report(planned.cluster, "C(i,j) = A(i,j)\n  + B(i,i) + D(i+j);", DCL_OUT_AS("C", planned.C),
                           DCL_IN_AS("A", planned.A), DCL_IN_AS("B", planned.B), DCL_IN(D));
    cr_assert_not_null(report, "%s", dcl_error());
    cr_assert_eq(report->footprint_count, 2);
    const dcl_report_footprint *b = &report->footprint[0], *d = &report->footprint[1];
    cr_expect(strcmp(b->name, "B") == 0 && b->line == 2 && b->column == 5, "%s %d %d", b->name, b->line, b->column);
    cr_expect(b->elements == 2 * 16 && b->read_at_most == 2 * 4, "%" PRId64 " %" PRId64, b->elements, b->read_at_most);
    cr_expect(strcmp(d->name, "D") == 0 && d->line == 2 && d->column == 14, "%s %d %d", d->name, d->line, d->column);
    cr_expect(d->elements == 2 * 11 && d->read_at_most == 2 * 11, "%" PRId64 " %" PRId64, d->elements, d->read_at_most);
    cr_expect_eq(report->planned.approximate, 2);
    dcl_report_release(report);
    close_planned(&planned);
}

Test(report_planned, of_one_node)
{
    struct planned planned = open_planned(2, dcl_grid_2d(DCL_FLOAT, 8, 8), "block,*", "block,*", "cyclic,*");
    dcl_arg args[] = {DCL_OUT_AS("C", planned.C), DCL_IN_AS("B", planned.B)};
    dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(planned.cluster, NULL, "C(i,j) = B(i,j);", 2, args), 1);
    char text[256];
    cr_assert_not_null(report, "%s", dcl_error());
    print_pairs(report, text, sizeof text);
    cr_expect_str_eq(text, "0>1 2 64=64+0 1");
    cr_expect(report->node == 1 && report->node_count == 1 && report->node_row[0].node == 1);
    cr_expect(report->planned.bytes_moved == 64 && report->imbalance_elements == 0 && report->imbalance_bytes == 0);
    dcl_report_release(report);
    dcl_box rows = dcl_box_of(&(dcl_grid){.rank = 2, .type = DCL_FLOAT, .extent = {8, 8}});
    rows.count[0] = 2; /* node 0 has both, and owns one of them */
    report = dcl_call_report(DCL_CALL_BODY_N(planned.cluster, &rows, "C(i,j) = B(i,j);", 2, args), DCL_ALL_NODES);
    cr_assert_not_null(report, "%s", dcl_error());
    print_pairs(report, text, sizeof text);
    cr_expect_str_eq(text, "1>0 1 32=32+0 1");
    cr_expect(report->node_row[0].elements == 16 && report->node_row[1].elements == 0);
    cr_expect_eq(report->imbalance_elements, 2);
    dcl_report_release(report);
    close_planned(&planned);
}

/* What moves is what lies behind views: of two nodes with 4 rows each, a transposed view moves two squares of 16, and a
 * diagonal seen backwards has the boxes of the diagonal. */
Test(report_planned, of_views)
{
    struct planned planned = open_planned(2, dcl_grid_2d(DCL_FLOAT, 8, 8), "block,*", "block,*", "block,*");
    dcl_array *T = dcl_transpose(planned.A);
    dcl_array *R = dcl_slice(planned.B, (int64_t[]){7, 7}, (int64_t[]){8, 8}, (int64_t[]){-1, -1});
    dcl_report *report = dcl_explain_report(planned.cluster, "C(i,j) = T(i,j) + R(i,i);", DCL_OUT_AS("C", planned.C),
                                            DCL_IN(T), DCL_IN(R));
    cr_assert_not_null(report, "%s", dcl_error());
    char text[256];
    print_pairs(report, text, sizeof text);
    cr_expect_str_eq(text, "1>0 2 128=128+0 1; 0>1 2 128=128+0 1", "%s", text);
    cr_expect(strcmp(report->array[1].name, "T") == 0 && report->array[1].elements == 64 &&
              report->array[1].bytes_moved == 128 && strcmp(report->array[1].map, "block,*") == 0);
    cr_assert_eq(report->footprint_count, 1);
    cr_expect(strcmp(report->footprint[0].name, "R") == 0 && report->footprint[0].elements == 2 * 2 * 16 &&
              report->footprint[0].read_at_most == 2 * 2 * 4); /* the half that reads T at home is computed apart */
    dcl_report_release(report);
    close_planned(&planned);
}

Test(report_planned, refusals)
{
    struct planned planned = open_planned(2, dcl_grid_2d(DCL_FLOAT, 8, 8), "block,*", "block,*", "block,*");
    dcl_arg args[] = {DCL_OUT_AS("C", planned.C), DCL_IN_AS("A", planned.A)};
    static const struct {
        const char *body;
        int node;
        const char *words;
    } cases[] = {
        {"C(i,j) = A(i,j);", DCL_HOST, "node is -2; expected 0..1, or DCL_ALL_NODES"},
        {"C(i,j) = A(i,j);", 2, "node is 2; expected 0..1"},
        {"C(i,j) = A(i*i,j);", DCL_ALL_NODES, "line 1, column 13"},
        {NULL, DCL_ALL_NODES, "body is NULL"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        cr_expect_null(dcl_call_report(DCL_CALL_BODY_N(planned.cluster, NULL, cases[n].body, 2, args), cases[n].node));
        cr_expect_not_null(strstr(dcl_error(), cases[n].words), "\"%s\" has not \"%s\"", dcl_error(), cases[n].words);
    }
    cr_expect_null(dcl_call_report(DCL_CALL_BODY_N(NULL, NULL, "C(i,j) = A(i,j);", 2, args), 0));
    cr_expect_not_null(strstr(dcl_error(), "cluster is NULL"), "%s", dcl_error());
    dcl_report_release(NULL);
    close_planned(&planned);
}

/* The n-th allocation fails: there is a sentence and no report, or a whole report. */
Test(report_planned, memory_that_lacks_is_told)
{
    struct planned planned = open_planned(3, dcl_grid_2d(DCL_FLOAT, 64, 64), "block,*", "block,*", "cyclic(3),*");
    int refused = 0;
    for (int n = 1, whole = 0; whole < 50; n++) {
        dcl_arg args[] = {DCL_OUT_AS("C", planned.C), DCL_IN_AS("A", planned.A), DCL_IN_AS("B", planned.B)};
        dcl_clear_error(NULL);
        dcli_alloc_fail_after(n);
        dcl_report *report = dcl_call_report(
            DCL_CALL_BODY_N(planned.cluster, NULL, "C(i,j) = A(i,j) + B(i,i);", 3, args), DCL_ALL_NODES);
        size_t length = dcl_report_print(report, DCL_REPORT_TEXT, NULL, 0);
        dcli_alloc_fail_after(0);
        whole = report != NULL && length > 0 ? whole + 1 : 0;
        refused += report == NULL;
        if (report == NULL)
            cr_expect(dcl_status_of(NULL) == DCL_ERR_NOMEM && strstr(dcl_error(), "out of memory: ") != NULL,
                      "allocation %d: %s", n, dcl_error());
        else
            cr_expect(report->pair_count == 6 && report->array_count == 3 && report->footprint_count == 1);
        dcl_report_release(report);
    }
    cr_expect_gt(refused, 50, "only %d allocations failed", refused);
    close_planned(&planned);
}

/* ---- carried out -------------------------------------------------------------------------------------------------- */

/* What is read in place is not sent; what is written elsewhere always is. */
Test(report_on_device, messages_are_those_of_the_way_of_moving)
{
    dcl_config config = test_config(2);
    for (int sent = 0; sent < 2; sent++) {
        config.transfer = sent ? "send" : "place";
        dcl_cluster *cluster = test_open(&config);
        dcl_array *C = array_of(cluster, dcl_grid_2d(DCL_FLOAT, 8, 8), "block,*"),
                  *A = array_of(cluster, dcl_grid_2d(DCL_FLOAT, 8, 8), "block,*");
        dcl_report *report = dcl_explain_report(cluster, "C(i,j) = A(j,i);", DCL_OUT(C), DCL_IN(A));
        cr_assert_not_null(report, "%s", dcl_error());
        char text[256];
        print_pairs(report, text, sizeof text);
        cr_expect_str_eq(text, sent ? "1>0 1 64=64+0 1; 0>1 1 64=64+0 1" : "1>0 1 64=64+0 0; 0>1 1 64=64+0 0");
        cr_expect_eq(report->planned.messages_planned, 2 * sent);
        dcl_report_release(report);
        report = dcl_explain_report(cluster, "C(i,j) = 1; A(j,i) = 2;", DCL_OUT(C), DCL_OUT(A));
        cr_assert_not_null(report, "%s", dcl_error());
        print_pairs(report, text, sizeof text);
        cr_expect_str_eq(text, "1>0 1 64=0+64 1; 0>1 1 64=0+64 1");
        dcl_report_release(report);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* ---- views --------------------------------------------------------------------------------------------------------- */

/* A + B^T through a view reports what A + B(j,i) does, under the view's name. */
Test(report_planned, views)
{
    struct planned planned = open_planned(4, dcl_grid_2d(DCL_FLOAT, 16, 8), "block,*", "block,*", "*,block");
    dcl_array *T = dcl_transpose(planned.B), *S = dcl_sub(T, &(dcl_box){2, {0, 0}, {8, 8}, {1, 1}});
    dcl_array *U = dcl_sub(planned.C, &(dcl_box){2, {4, 0}, {8, 8}, {1, 1}});
    char direct[512], viewed[512];
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){8, 8});
    dcl_arg args[2][2] = {{DCL_OUT_AS("C", planned.C), DCL_IN_AS("B", planned.B)},
                          {DCL_OUT_AS("C", planned.C), DCL_IN_AS("S", S)}};
    dcl_report *one =
        dcl_call_report(DCL_CALL_BODY_N(planned.cluster, &box, "C(i,j) = B(j,i);", 2, args[0]), DCL_ALL_NODES);
    dcl_report *other =
        dcl_call_report(DCL_CALL_BODY_N(planned.cluster, &box, "C(i,j) = S(i,j);", 2, args[1]), DCL_ALL_NODES);
    cr_assert(one != NULL && other != NULL, "%s", dcl_error());
    print_pairs(one, direct, sizeof direct);
    print_pairs(other, viewed, sizeof viewed);
    cr_expect(strcmp(direct, viewed) == 0 && one->pair_count > 0, "%s; %s", direct, viewed);
    cr_expect_str_eq(other->array[1].name, "S");
    cr_expect_str_eq(other->array[1].map, "*,block");
    cr_expect(other->array[1].elements == 64 && other->array[1].stored == 128 && one->array[1].elements == 128);
    dcl_report_release(other);
    dcl_report_release(one);
    /* a footprint that is a box around what is read, on the view's grid; the view that is written says who computes */
    args[1][0] = DCL_OUT_AS("U", U);
    other =
        dcl_call_report(DCL_CALL_BODY_N(planned.cluster, NULL, "U(i,j) = S(i - 4, (i + j) / 1 - i);", 2, args[1]), 1);
    cr_expect_null(other, "not affine");
    other = dcl_call_report(DCL_CALL_BODY_N(planned.cluster, NULL, "U(i,j) = S(j, j);", 2, args[1]), 1);
    cr_assert_not_null(other, "%s", dcl_error());
    cr_expect(other->node_row[0].elements == 32 && other->footprint_count == 1);
    cr_expect(other->footprint[0].elements == 64 && other->footprint[0].read_at_most == 8, "%" PRId64 ", %" PRId64,
              other->footprint[0].elements, other->footprint[0].read_at_most);
    dcl_report_release(other);
    dcl_array *views[] = {T, S, U};
    for (int n = 0; n < 3; n++)
        dcl_release(views[n]);
    dcl_clear_error(planned.cluster);
    close_planned(&planned);
}

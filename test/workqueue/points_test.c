/* test/workqueue/points_test.c - plans over single elements are those that are made the long way. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "support/simplan.h"
#include "support/ways.h"
#include "workqueue/ops.h"

static dcli_plan_terms terms_of(int nodes, bool in_place)
{
    return (dcli_plan_terms){.node_count = nodes,
                             .ways = test_ways(in_place != 0),
                             .batch_bytes = 1 << 20,
                             .chunk_bytes = 1 << 22,
                             .pool_bytes = INT64_C(1) << 40,
                             .kept_bytes = 1 << 20};
}

struct points_case {
    char what[48], body[64];
    char c[40], a[40], b[40]; /* maps of 23 x 17 floats */
    int nodes;
    int64_t batch_bytes, chunk_bytes;
    bool narrowed; /* the body runs over a part of the grid, with gaps */
};

ParameterizedTestParameters(points, same_plan)
{
    static struct points_case cases[] = {
        {"transposed", "C(i,j) = A(j,i);", "rows:hash(1x1)", "rows:hash(1x1)", "", 2, 1 << 20, 1 << 22, false},
        {"one node", "C(i,j) = A(j,i);", "rows:hash(1x1)", "rows:hash(1x1)", "", 1, 1 << 20, 1 << 22, false},
        {"small chunks", "C(i,j) = A(j,i);", "rows:hash(1x1)", "rows:hash(1x1)", "", 3, 1 << 20, 40, false},
        {"small batches", "C(i,j) = A(j,i);", "rows:hash(1x1)", "rows:hash(1x1)", "", 3, 100, 40, false},
        {"columns first", "C(i,j) = A(i,j);", "columns:hash(1x1)", "rows:hash(1x1)", "", 4, 100, 1 << 22, false},
        {"two inputs", "C(i,j) = A(j,i) + B(i,j);", "rows:hash(1x1)", "block", "rows:cyclic(2x3)", 3, 512, 64, false},
        {"read and written", "C(i,j) = C(i,j) + A(j,i);", "rows:hash(1x1)", "cyclic", "", 3, 512, 64, false},
        {"reversed", "C(i,j) = A(16-j,22-i);", "rows:hash(1x1)", "rows:hash(1x1)", "", 2, 512, 64, false},
        {"few of the indices", "C(i,j) = A(j,i);", "rows:hash(1x1)", "rows:hash(1x1)", "", 3, 512, 64, true},
        {"tiles of many elements", "C(i,j) = A(j,i);", "rows:hash(1x1);tile=50x1", "block", "", 2, 64, 64, false},
        /* The long way alone: */
        {"read twice", "C(i,j) = A(j,i) + A(j,0);", "rows:hash(1x1)", "rows:hash(1x1)", "", 3, 512, 64, false},
        {"read outside", "C(i,j) = A(j,i+1);", "rows:hash(1x1)", "rows:hash(1x1)", "", 3, 512, 64, false},
        {"larger pieces", "C(i,j) = A(j,i);", "rows:hash(2x1)", "rows:hash(1x2)", "", 3, 512, 64, false},
        {"two outputs", "C(i,j) = A(i,j); B(i,j) = 1;", "rows:hash(1x1)", "block", "cyclic", 3, 512, 64, false},
    };
    return cr_make_param_array(struct points_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct points_case *c, points, same_plan)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 23, 17), turned = dcl_grid_2d(DCL_FLOAT, 17, 23);
    bool plain = strstr(c->body, "A(i,j)") != NULL, writes_b = strstr(c->body, "B(i,j) =") != NULL;
    test_arg args[3] = {{strstr(c->body, "= C(") != NULL ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT, "C", 1,
                         test_layout(c->c, c->nodes, &grid)},
                        {DCL_ACCESS_IN, "A", 2, test_layout(c->a, c->nodes, plain ? &grid : &turned)}};
    int count = 2;
    if (c->b[0] != '\0')
        args[count++] =
            (test_arg){writes_b ? DCL_ACCESS_OUT : DCL_ACCESS_IN, "B", 3, test_layout(c->b, c->nodes, &grid)};
    dcli_operation *operation = test_forall(1, c->body, count, args);
    if (c->narrowed)
        operation->box = (dcl_box){.rank = 2, .start = {2, 1}, .count = {5, 4}, .stride = {3, 4}};
    for (int in_place = 0; in_place < 2; in_place++)
        for (int node = 0; node < c->nodes; node++) {
            dcli_plan_terms terms = terms_of(c->nodes, in_place);
            dcli_plan *plan = NULL;
            terms.batch_bytes = c->batch_bytes;
            terms.chunk_bytes = c->chunk_bytes;
            cr_assert_eq(dcli_plan_make(operation, node, &terms, &plan), DCL_OK, "%s", dcl_error());
            const char *difference = sim_plan_differs(plan, operation, node, &terms);
            cr_expect_null(difference, "%s: node %d, %s: other %s", c->what, node, in_place ? "in place" : "sent",
                           difference);
            dcli_plan_free(plan);
        }
    test_ops_free();
}

struct transfer_case {
    char what[48], map[40]; /* of 23 x 17 floats */
    int nodes;
    int64_t chunk_bytes;
    dcl_box box;
};

ParameterizedTestParameters(points, same_transfer)
{
    static struct transfer_case cases[] = {
        {"all", "rows:hash(1x1)", 2, 1 << 22, {2, {0, 0}, {23, 17}, {1, 1}}},
        {"all of one node", "rows:hash(1x1)", 1, 1 << 22, {2, {0, 0}, {23, 17}, {1, 1}}},
        {"small chunks", "rows:hash(1x1)", 3, 40, {2, {0, 0}, {23, 17}, {1, 1}}},
        {"columns first", "columns:hash(1x1)", 4, 64, {2, {0, 0}, {23, 17}, {1, 1}}},
        {"with gaps", "rows:hash(1x1)", 3, 64, {2, {2, 1}, {7, 8}, {3, 2}}},
        {"one row", "rows:hash(1x1)", 3, 64, {2, {4, 0}, {1, 17}, {1, 1}}},
        {"a few: the long way alone", "rows:hash(1x1)", 3, 64, {2, {4, 0}, {1, 9}, {1, 1}}},
        {"larger pieces: the long way alone", "rows:hash(1x2)", 3, 64, {2, {0, 0}, {23, 17}, {1, 1}}},
    };
    return cr_make_param_array(struct transfer_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct transfer_case *c, points, same_transfer)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 23, 17);
    const dcli_layout *layout = test_layout(c->map, c->nodes, &grid);
    for (int written = 0; written < 2; written++)
        for (int node = 0; node <= c->nodes; node++) {
            dcli_operation *operation = test_operation(1, written ? DCLI_OP_WRITE : DCLI_OP_READ, 1, layout);
            dcli_plan_terms terms = terms_of(c->nodes, false);
            dcli_plan *plan = NULL;
            operation->box = c->box;
            terms.chunk_bytes = c->chunk_bytes;
            cr_assert_eq(dcli_plan_make(operation, node, &terms, &plan), DCL_OK, "%s", dcl_error());
            int64_t elements = 0;
            for (int64_t i = 0; i < plan->item_count; i++)
                elements += dcli_box_elements(&(dcl_box[]){dcli_plan_item(plan, i).region.box}[0]);
            cr_expect_eq(elements, node == c->nodes ? dcli_box_elements(&c->box) : 0, "%s: %" PRId64 " elements",
                         c->what, elements);
            const char *difference = sim_plan_differs(plan, operation, node, &terms);
            cr_expect_null(difference, "%s: node %d, %s: other %s", c->what, node, written ? "written" : "read",
                           difference);
            dcli_plan_free(plan);
        }
    test_ops_free();
}

/* Of the processor, so that other programs matter little. */
static double plan_seconds(const dcli_operation *operation, int node, bool no_points, bool streams)
{
    dcli_plan_terms terms = terms_of(2, false);
    dcli_plan *plan = NULL;
    terms.batch_bytes = 1 << 24;
    terms.no_points = no_points;
    terms.streams = streams;
    clock_t begin = clock();
    cr_assert_eq(dcli_plan_make(operation, node, &terms, &plan), DCL_OK, "%s", dcl_error());
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    dcli_plan_free(plan);
    return seconds;
}

Test(points, cost_less)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 400, 400);
    const dcli_layout *layout = test_layout("rows:hash(1x1)", 2, &grid);
    dcli_operation *operation =
        TEST_FORALL(1, "C(i,j) = A(j,i);", {DCL_ACCESS_OUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
    double most = 0;
    for (int round = 0; round < 5; round++) { /* of the node's own and its peer's plan, against two as they were */
        double points = plan_seconds(operation, 0, false, false) + plan_seconds(operation, 0, false, true);
        double ratio = 2 * plan_seconds(operation, 0, true, false) / points;
        most = ratio > most ? ratio : most;
    }
    cr_expect_gt(most, 2, "planning single elements is %.1f times as fast as the long way", most);
    test_ops_free();
}

Test(points, transfers_cost_less)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 400, 400);
    const dcli_layout *layout = test_layout("rows:hash(1x1)", 2, &grid);
    dcli_operation *operation = test_operation(1, DCLI_OP_READ, 1, layout);
    double most = 0;
    for (int round = 0; round < 5; round++) {
        double ratio = plan_seconds(operation, 2, true, false) / plan_seconds(operation, 2, false, false);
        most = ratio > most ? ratio : most;
    }
    cr_expect_gt(most, 2, "planning to read single elements is %.1f times as fast as the long way", most);
    test_ops_free();
}

/* test/workqueue/plan_test.c - what moves, what runs where, how it is cut: examples to check by hand. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "support/ways.h"
#include "workqueue/ops.h"
#include "workqueue/plan_fine.h"

enum { MOST_NODES = 8 };

static dcli_plan_terms terms_of(int nodes, bool in_place)
{
    return (dcli_plan_terms){.node_count = nodes,
                             .ways = test_ways(in_place != 0),
                             .batch_bytes = 1 << 20,
                             .chunk_bytes = 1 << 22,
                             .pool_bytes = INT64_C(1) << 40,
                             .kept_bytes = 1 << 20};
}

static dcli_plan *make(const dcli_operation *operation, int self, const dcli_plan_terms *terms)
{
    dcli_plan *plan = NULL;
    cr_assert_eq(dcli_plan_make(operation, self, terms, &plan), DCL_OK, "%s", dcl_error());
    return plan;
}

/* ---- counters ----------------------------------------------------------------------------------------------------- */

/* Two inputs A and B and an output C, each with a grid and a map; "" : the array does not occur. */
struct moved_case {
    char what[48], body[64];
    int nodes;
    char c[80], a[64], b[64];              /* "extents|map" */
    char tasks[48], blocks[48], bytes[80]; /* node after node */
};

static const dcli_layout *read_array(const char *text, int nodes)
{
    dcl_grid grid = {.type = DCL_FLOAT};
    for (char after = 'x'; after == 'x'; text++) {
        int used = 0;
        cr_assert_eq(sscanf(text, "%" SCNd64 "%n", &grid.extent[grid.rank++], &used), 1, "%s", text);
        text += used;
        after = *text;
    }
    return test_layout(text, nodes, &grid);
}

ParameterizedTestParameters(plan, counters)
{
    static struct moved_case cases[] = {
        /* The worked example: 6144 x 6144, pieces of 2048 x 2048 dealt to four nodes; the nodes 1 and 3 exchange two
         * pieces each. */
        {"a sum moves nothing", "C(i,j) = A(i,j) + B(i,j);", 4,
         "6144x6144|rows:cyclic(2048x2048);block=1024x1024;tile=1024x1024", "6144x6144|rows:cyclic(2048x2048)",
         "6144x6144|rows:cyclic(2048x2048)", "12 8 8 8", "0 0 0 0", "0 0 0 0"},
        {"a transposed sum: 16 blocks, 64 MiB", "C(i,j) = A(i,j) + B(j,i);", 4,
         "6144x6144|rows:cyclic(2048x2048);tile=1024x1024", "6144x6144|rows:cyclic(2048x2048)",
         "6144x6144|rows:cyclic(2048x2048);block=1024x1024", "12 8 8 8", "0 8 0 8", "0 33554432 0 33554432"},
        {"larger blocks: 8 of them", "C(i,j) = A(i,j) + B(j,i);", 4, "6144x6144|rows:cyclic(2048x2048);tile=1024x1024",
         "6144x6144|rows:cyclic(2048x2048)", "6144x6144|rows:cyclic(2048x2048);block=2048x1024", "12 8 8 8", "0 4 0 4",
         "0 33554432 0 33554432"},
        /* One axis, two nodes: 0..3 and 4..7. */
        {"neighbours at the seam", "C(i) = A(i-1) + A(i) + A(i+1);", 2, "8|block", "8|block", "", "1 1", "1 1", "4 4"},
        {"an element needed by two accesses, once", "C(i) = A(i+1) + A(i+2) + A(i+1);", 2, "8|block", "8|block", "",
         "1 1", "1 0", "8 0"},
        {"two arguments, counted each", "C(i) = A(i+1) + B(i+1);", 2, "8|block", "8|block", "8|block", "1 1", "2 0",
         "8 0"},
        {"reversed: all of it", "C(i) = A(7 - i);", 2, "8|block", "8|block", "", "1 1", "1 1", "16 16"},
        {"reversed, blocks of two", "C(i) = A(7 - i);", 2, "8|block", "8|block;block=2", "", "1 1", "2 2", "16 16"},
        {"every second element: at home", "C(i) = A(2*i);", 2, "8|block", "16|block", "", "1 1", "0 0", "0 0"},
        {"every second element, dealt: odd ones", "C(i) = A(2*i);", 2, "8|block", "16|cyclic(2)", "", "1 1", "2 2",
         "8 8"},
        {"another map", "C(i) = A(i);", 2, "8|block", "8|cyclic", "", "1 1", "2 2", "8 8"},
        {"one element for all", "C(i) = A(5);", 2, "8|block", "8|block", "", "1 1", "1 0", "4 0"},
        {"a row for all rows, needed once", "C(i,j) = A(j);", 2, "6x4|block,*", "4|block", "", "1 1", "1 1", "8 8"},
        {"beyond the edge: nothing", "C(i) = A(i+8);", 2, "8|block", "8|block", "", "1 1", "0 0", "0 0"},
        {"nothing owned, nothing done", "C(i) = A(i);", 3, "2|block", "8|cyclic", "", "1 1 0", "0 0 0", "0 0 0"},
        {"no elements", "C(i) = A(i);", 2, "0|block", "8|block", "", "0 0", "0 0", "0 0"},
        {"tiles of two", "C(i) = A(i);", 2, "8|block;tile=2", "8|block", "", "2 2", "0 0", "0 0"},
        {"dealt pieces, tiles of one piece", "C(i) = 1;", 2, "9|rows:cyclic(2);tile=2", "", "", "3 2", "0 0", "0 0"},
    };
    return cr_make_param_array(struct moved_case, cases, sizeof cases / sizeof cases[0]);
}

static void print_counters(const dcli_operation *operation, const dcli_plan_terms *terms, dcli_text text[3])
{
    for (int p = 0; p < terms->node_count; p++) {
        dcli_plan *plan = make(operation, p, terms);
        const char *gap = p > 0 ? " " : "";
        dcli_text_put(&text[0], "%s%" PRId64, gap, plan->counters.tasks);
        dcli_text_put(&text[1], "%s%" PRId64, gap, plan->counters.blocks_moved);
        dcli_text_put(&text[2], "%s%" PRId64, gap, plan->counters.bytes_moved);
        cr_expect_eq(plan->counters.approximate, 0);
        dcli_plan_free(plan);
    }
}

ParameterizedTest(struct moved_case *c, plan, counters)
{
    test_arg args[3] = {{DCL_ACCESS_OUT, "C", 1, read_array(c->c, c->nodes)}};
    int count = 1;
    if (c->a[0] != '\0')
        args[count++] = (test_arg){DCL_ACCESS_IN, "A", 2, read_array(c->a, c->nodes)};
    if (c->b[0] != '\0')
        args[count++] = (test_arg){DCL_ACCESS_IN, "B", 3, read_array(c->b, c->nodes)};
    dcli_operation *operation = test_forall(1, c->body, count, args);
    for (int in_place = 0; in_place < 2; in_place++) {
        dcli_plan_terms terms = terms_of(c->nodes, in_place != 0);
        dcli_text text[3] = {{0}};
        print_counters(operation, &terms, text);
        cr_expect_str_eq(text[0].bytes, c->tasks, "%s, in place %d: tasks %s", c->what, in_place, text[0].bytes);
        cr_expect_str_eq(text[1].bytes, c->blocks, "%s, in place %d: blocks %s", c->what, in_place, text[1].bytes);
        cr_expect_str_eq(text[2].bytes, c->bytes, "%s, in place %d: bytes %s", c->what, in_place, text[2].bytes);
        for (int n = 0; n < 3; n++)
            dcli_text_free(&text[n]);
    }
    test_ops_free();
}

/* What is written elsewhere is counted where the task runs; what is read and written elsewhere, once. */
Test(plan, second_outputs)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 4, 4);
    const dcli_layout *rows = test_layout("block,*", 2, &square);
    dcli_plan_terms terms = terms_of(2, false);
    static const struct {
        dcl_access access;
        const char *body;
        int64_t received, sent;
    } cases[] = {
        {DCL_ACCESS_OUT, "C(i,j) = 1; D(j,i) = 2;", 0, 1},
        {DCL_ACCESS_INOUT, "C(i,j) = 1; D(j,i) += 2;", 1, 1},
        {DCL_ACCESS_OUT, "C(i,j) = 1; if (i > j) D(j,i) = 2;", 1, 1},
    };
    for (int n = 0; n < 3; n++) {
        dcli_operation *operation =
            TEST_FORALL(1, cases[n].body, {DCL_ACCESS_OUT, "C", 1, rows}, {cases[n].access, "D", 2, rows});
        dcli_plan *plan = make(operation, 0, &terms);
        int64_t chunks[2] = {0, 0};
        for (int64_t c = 0; c < plan->chunk_count; c++)
            chunks[plan->chunk[c].written] += plan->chunk[c].peer == 1 && plan->chunk[c].bytes == 4 * 8;
        cr_expect_eq(plan->counters.bytes_moved, 4 * 8, "%s: %" PRId64, cases[n].body, plan->counters.bytes_moved);
        cr_expect(chunks[0] == cases[n].received && chunks[1] == cases[n].sent, "%s: %" PRId64 " in, %" PRId64 " out",
                  cases[n].body, chunks[0], chunks[1]);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* Declared reaches, and subscripts whose footprint is only a box around what is read. */
Test(plan, wide_footprints)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 4, 4), line = dcl_grid_1d(DCL_INT64, 8);
    const dcli_layout *rows = test_layout("block,*", 2, &square), *columns = test_layout("*,block", 2, &square);
    const dcli_layout *halves = test_layout("block", 2, &line), *odd = test_layout("cyclic,*", 2, &square);
    static const struct {
        const char *body;
        dcl_access access;
        int c, a; /* which layout */
        int64_t bytes, approximate;
    } cases[] = {
        {"C(i,j) = A(i*i, j);", DCL_ACCESS_IN_ALL, 0, 0, 8 * 8, 0},     /* the other two rows */
        {"C(i,j) = A(i, j*j);", DCL_ACCESS_IN_ROWS, 0, 0, 0, 0},        /* own rows */
        {"C(i,j) = A(i, j*j);", DCL_ACCESS_IN_ROWS, 0, 1, 4 * 8, 0},    /* half of two rows */
        {"C(i,j) = A(i, j*j);", DCL_ACCESS_IN_ROWS, 3, 3, 0, 0},        /* own rows, which have gaps */
        {"C(i,j) = A(i*i, j);", DCL_ACCESS_IN_COLUMNS, 0, 0, 8 * 8, 0}, /* all columns */
        {"C(i,j) = A(i*i, j);", DCL_ACCESS_IN_COLUMNS, 1, 1, 0, 0},     /* own columns */
        {"C(i,j) = A(i + j);", DCL_ACCESS_IN, 0, 2, 1 * 8, 1},          /* rows 0, 1: elements 0 .. 4 */
    };
    const dcli_layout *layouts[] = {rows, columns, halves, odd};
    dcli_plan_terms terms = terms_of(2, true);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_operation *operation = TEST_FORALL(1, cases[n].body, {DCL_ACCESS_OUT, "C", 1, layouts[cases[n].c]},
                                                {cases[n].access, "A", 2, layouts[cases[n].a]});
        dcli_plan *plan = make(operation, 0, &terms);
        cr_expect(plan->counters.bytes_moved == cases[n].bytes && plan->counters.approximate == cases[n].approximate,
                  "case %zu, %s: %" PRId64 " bytes, approximate %" PRId64, n, cases[n].body, plan->counters.bytes_moved,
                  plan->counters.approximate);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* ---- works -------------------------------------------------------------------------------------------------------- */

/* A line per work: its box, "checked" when reads may be outside, and how each access is bound: own, peer n, stage. */
static char *print_works(const dcli_plan *plan, int accesses)
{
    dcli_text text = {0};
    dcli_text_put(&text, "%s", "");
    for (int64_t w = 0; w < plan->work_count; w++) {
        char box[128];
        dcli_box_print(&plan->work[w].box, box, sizeof box);
        dcli_text_put(&text, "%s%s", box, plan->work[w].checked ? " checked:" : ":");
        for (int a = 0; a < accesses; a++) {
            const dcli_binding *binding = &plan->binding[plan->work[w].first_binding + a];
            if (binding->kind == DCLI_SPACE_PEER)
                dcli_text_put(&text, " peer %d", binding->where);
            else
                dcli_text_put(&text, " %s", binding->kind == DCLI_SPACE_OWN ? "own" : "stage");
        }
        dcli_text_put(&text, "\n");
    }
    return dcli_text_take(&text);
}

static void expect_works(const char *what, const dcli_operation *operation, int self, const dcli_plan_terms *terms,
                         const char *expected)
{
    dcli_plan *plan = make(operation, self, terms);
    char *works = print_works(plan, operation->body->access_count);
    cr_expect_str_eq(works, expected, "%s:\n%s", what, works);
    dcli_free(works);
    dcli_plan_free(plan);
}

/* Eight elements on two nodes; node 1 owns 4 .. 7. */
Test(plan, works)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 80);
    const dcli_layout *halves = test_layout("block", 2, &line);
    dcli_plan_terms send = terms_of(2, false), place = terms_of(2, true);
    dcli_operation *same =
        TEST_FORALL(1, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN, "A", 2, halves});
    dcli_operation *stencil =
        TEST_FORALL(1, "C(i) = A(i-1) + A(i+1);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN, "A", 2, halves});
    dcli_operation *far =
        TEST_FORALL(1, "C(i) = A(i+40);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN, "A", 2, halves});
    expect_works("all at home", same, 0, &send, "[0:40]: own own\n");
    /* The inside reads its own part; at the seam a stage; at the grid's edge checks. */
    expect_works("stencil, left half", stencil, 0, &send,
                 "[1:39]: own own own\n[39:40]: own own stage\n[0:1] checked: own own own\n");
    expect_works("stencil, right half, in place", stencil, 1, &place,
                 "[41:79]: own own own\n[40:41]: own peer 0 own\n[79:80] checked: own own own\n");
    expect_works("all elsewhere, in place", far, 0, &place, "[0:40]: own peer 1\n");
    place.early_bytes = 40 * 8;
    expect_works("little elsewhere, in place", far, 0, &place, "[0:40]: own stage\n");
    expect_works("less elsewhere, in place", stencil, 1, &place,
                 "[41:79]: own own own\n[40:41]: own stage own\n[79:80] checked: own own own\n");
    place.early_bytes--;
    expect_works("more elsewhere, in place", far, 0, &place, "[0:40]: own peer 1\n");
    place.early_bytes = 0;
    /* A halo is cut likewise, without checks at the edge: kernels check it in any case. */
    const int64_t two = 2;
    dcli_operation *halo =
        TEST_FORALL(1, "C(i) = A(i*i);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN_HALO, "A", 2, halves});
    halo->operand[1].declared = (dcli_declared){.count = 1, .number = &two};
    expect_works("halo, left half", halo, 0, &send, "[0:38]: own own\n[38:40]: own stage\n");
    expect_works("halo, right half, in place", halo, 1, &place, "[42:80]: own own\n[40:42]: own stage\n");
    expect_works("all elsewhere, sent", far, 0, &send, "[0:40]: own stage\n");
    expect_works("all outside", far, 1, &send, "[40:80] checked: own stage\n");
    expect_works("nothing for the host", same, 2, &send, "");
    test_ops_free();
}

/* ---- borders of large segments ------------------------------------------------------------------------------------ */

/* C and A of one grid and map; node 0 of two, which send to each other. */
struct border_case {
    char what[48], map[40], body[96];
    int rank;
    int64_t extent[3], origin[3];
    char works[1400];
};

/* Segments of 4096 elements and more are cut at their borders, until each part reads one segment per access. */
ParameterizedTestParameters(plan, borders)
{
    static struct border_case cases[] = {
        {"side by side",
         "rows:block(128x128)",
         "C(i,j) = A(i,j-1) + A(i,j+1);",
         2,
         {256, 256},
         {0},
         "[0:128, 1:127]: own own own\n"
         "[0:128, 127:128]: own own own\n"
         "[0:128, 0:1] checked: own own own\n"
         "[0:128, 129:255]: own own own\n"
         "[0:128, 128:129]: own own own\n"
         "[0:128, 255:256] checked: own own own\n"},
        {"with lower bounds",
         "rows:block(128x128)",
         "C(i,j) = A(i,j-1) + A(i,j+1);",
         2,
         {256, 256},
         {-5, 1000},
         "[-5:123, 1001:1127]: own own own\n"
         "[-5:123, 1127:1128]: own own own\n"
         "[-5:123, 1000:1001] checked: own own own\n"
         "[-5:123, 1129:1255]: own own own\n"
         "[-5:123, 1128:1129]: own own own\n"
         "[-5:123, 1255:1256] checked: own own own\n"},
        {"corners",
         "rows:block(128x128)",
         "C(i,j) = A(i-1,j-1) + A(i+1,j+1);",
         2,
         {512, 256},
         {0},
         "[1:127, 1:127]: own own own\n"
         "[127:128, 1:127]: own own own\n"
         "[127:128, 127:128]: own own own\n"
         "[1:127, 127:128]: own own own\n"
         "[0:1, 0:127] checked: own own own\n"
         "[0:1, 127:128] checked: own own own\n"
         "[1:127, 0:1] checked: own own own\n"
         "[127:128, 0:1] checked: own own own\n"
         "[1:127, 129:255]: own own own\n"
         "[127:128, 128:129]: own own own\n"
         "[127:128, 129:255]: own own own\n"
         "[1:127, 128:129]: own own own\n"
         "[0:1, 128:256] checked: own own own\n"
         "[1:128, 255:256] checked: own own own\n"
         "[129:255, 1:127]: own own own\n"
         "[128:129, 1:127]: own own own\n"
         "[128:129, 127:128]: own own own\n"
         "[255:256, 1:128]: own own stage\n"
         "[129:255, 127:128]: own own own\n"
         "[128:256, 0:1] checked: own stage stage\n"
         "[129:255, 129:255]: own own own\n"
         "[128:129, 128:129]: own own own\n"
         "[128:129, 129:255]: own own own\n"
         "[255:256, 128:129]: own own stage\n"
         "[255:256, 129:255]: own own stage\n"
         "[129:255, 128:129]: own own own\n"
         "[128:129, 255:256] checked: own own own\n"
         "[129:256, 255:256] checked: own own own\n"},
        {"three axes",
         "rows:block(32x32x32)",
         "C(i,j,k) = A(i,j-1,k) + A(i,j,k+1);",
         3,
         {64, 64, 64},
         {0},
         "[0:32, 1:32, 0:31]: own own own\n"
         "[0:32, 1:32, 31:32]: own own own\n"
         "[0:32, 0:1, 0:31] checked: own own own\n"
         "[0:32, 0:1, 31:32] checked: own own own\n"
         "[0:32, 1:32, 32:63]: own own own\n"
         "[0:32, 0:1, 32:64] checked: own own own\n"
         "[0:32, 1:32, 63:64] checked: own own own\n"
         "[0:32, 33:64, 0:31]: own own own\n"
         "[0:32, 32:33, 0:31]: own own own\n"
         "[0:32, 32:33, 31:32]: own own own\n"
         "[0:32, 33:64, 31:32]: own own own\n"
         "[0:32, 33:64, 32:63]: own own own\n"
         "[0:32, 32:33, 32:63]: own own own\n"
         "[0:32, 32:33, 63:64] checked: own own own\n"
         "[0:32, 33:64, 63:64] checked: own own own\n"},
        {"borders of one element",
         "rows:cyclic(8192)",
         "C(i) = A(i-1) + A(i+1);",
         1,
         {24576},
         {0},
         "[1:8191]: own own own\n"
         "[8191:8192]: own own stage\n"
         "[0:1] checked: own own own\n"
         "[16385:24575]: own own own\n"
         "[16384:16385]: own stage own\n"
         "[24575:24576] checked: own own own\n"},
        {"wide and from one side",
         "rows:cyclic(8192)",
         "C(i) = A(i+5);",
         1,
         {24576},
         {7},
         "[7:8194]: own own\n"
         "[8194:8199]: own stage\n"
         "[16391:24578]: own own\n"
         "[24578:24583] checked: own stage\n"},
        {"small segments are staged",
         "rows:block(32x32)",
         "C(i,j) = A(i-1,j-1) + A(i,j);",
         2,
         {128, 64},
         {0},
         "[1:32, 1:32]: own own own\n"
         "[0:1, 0:32] checked: own own own\n"
         "[1:32, 0:1] checked: own own own\n"
         "[1:32, 33:64]: own own own\n"
         "[1:32, 32:33]: own own own\n"
         "[0:1, 32:64] checked: own own own\n"
         "[33:64, 1:32]: own own own\n"
         "[32:33, 1:32]: own own own\n"
         "[32:64, 0:1] checked: own own own\n"
         "[33:64, 33:64]: own own own\n"
         "[32:33, 32:64]: own stage own\n"
         "[33:64, 32:33]: own own own\n"},
    };
    return cr_make_param_array(struct border_case, cases, sizeof cases / sizeof cases[0]);
}

/* The works of a plan have no index in common, and all indices of the node together. */
static void expect_once(const char *what, const dcli_plan *plan, const dcli_layout *layout)
{
    int64_t elements = 0;
    dcl_box common;
    for (int64_t w = 0; w < plan->work_count; w++) {
        elements += dcli_box_elements(&plan->work[w].box);
        for (int64_t v = 0; v < w; v++)
            cr_expect_not(dcli_box_intersect(&plan->work[w].box, &plan->work[v].box, &common), "%s: works %d and %d",
                          what, (int)v, (int)w);
    }
    cr_expect_eq(elements, dcli_layout_owned(layout, 0), "%s", what);
}

ParameterizedTest(struct border_case *c, plan, borders)
{
    dcl_grid grid = {.type = DCL_INT64, .rank = c->rank};
    memcpy(grid.extent, c->extent, sizeof c->extent);
    memcpy(grid.origin, c->origin, sizeof c->origin);
    const dcli_layout *layout = test_layout(c->map, 2, &grid);
    dcli_plan_terms send = terms_of(2, false);
    dcli_operation *operation =
        TEST_FORALL(c->rank, c->body, {DCL_ACCESS_OUT, "C", c->rank, layout}, {DCL_ACCESS_IN, "A", c->rank, layout});
    expect_works(c->what, operation, 0, &send, c->works);
    dcli_plan *plan = make(operation, 0, &send);
    expect_once(c->what, plan, layout);
    dcli_plan_free(plan);
    test_ops_free();
}

static void expect_early(const char *what, const dcli_operation *operation, const dcli_node_ways ways[],
                         int64_t early_bytes, int64_t stages, int64_t early)
{
    dcli_plan_terms terms = terms_of(2, true);
    terms.early_bytes = early_bytes;
    terms.ways = ways;
    dcli_plan *plan = make(operation, 0, &terms);
    int64_t found = 0;
    for (int64_t s = 0; s < plan->stage_count; s++)
        found += plan->stage[s].early;
    cr_expect(plan->stage_count == stages && found == early, "%s: %" PRId64 " stages, %" PRId64 " early", what,
              plan->stage_count, found);
    dcli_plan_free(plan);
}

/* What a batch reads in place is copied early altogether, or not at all; a box that is read twice has one stage. */
Test(plan, little_is_copied_early)
{
    static const dcli_node_ways gpus[] = {{.can = DCLI_CAN_READ_GPUS | DCLI_CAN_SHOW_GPU},
                                          {.can = DCLI_CAN_READ_GPUS | DCLI_CAN_SHOW_GPU}};
    const dcli_node_ways *all = test_ways(true);
    dcl_grid line = dcl_grid_1d(DCL_INT64, 80);
    const dcli_layout *halves = test_layout("block", 2, &line), *turns = test_layout("cyclic(4)", 2, &line);
    dcli_operation *twice =
        TEST_FORALL(1, "C(i) = A(i+40) * A(79-i);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN, "A", 2, halves});
    expect_early("too much", twice, all, 2 * 40 * 8 - 1, 0, 0);
    expect_early("each access counts", twice, all, 2 * 40 * 8, 1, 1);
    dcli_operation *mixed =
        TEST_FORALL(1, "C(i) = B(i);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN, "B", 2, turns});
    expect_early("a stage from both parts, too large", mixed, all, 40 * 8 - 1, 1, 0);
    expect_early("a stage from both parts", mixed, all, 40 * 8, 1, 1);
    expect_early("a GPU makes its copies with its kernels", twice, gpus, 2 * 40 * 8, 0, 0);
    expect_early("also of what is staged", mixed, gpus, 40 * 8, 1, 0);
    test_ops_free();
}

/* A five-point stencil on two nodes: of the 40 x 20 rows of node 0, only the last needs the other node's, and only the
 * rim is checked. */
Test(plan, stencil)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 80, 20);
    const dcli_layout *rows = test_layout("block,*", 2, &square);
    dcli_plan_terms terms = terms_of(2, true);
    dcli_operation *operation = TEST_FORALL(1, "C(i,j) = A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);",
                                            {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    expect_works("five points", operation, 0, &terms,
                 "[1:39, 1:19]: own own own own own own\n"
                 "[39:40, 1:19]: own own own peer 1 own own\n"
                 "[0:1, 0:20] checked: own own own own own own\n"
                 "[1:40, 0:1] checked: own own own stage own own\n"
                 "[1:40, 19:20] checked: own own own stage own own\n");
    test_ops_free();
}

static void expect_batches_by(const char *what, const dcli_operation *operation, int self, const dcli_node_ways *ways,
                              int64_t local_bytes, const char *expected)
{
    dcli_plan_terms terms = terms_of(4, true);
    dcli_text text = {0};
    terms.ways = ways;
    terms.batch_bytes = 4 * 20 * 8; /* four rows */
    terms.local_bytes = local_bytes;
    dcli_plan *plan = make(operation, self, &terms);
    for (int64_t b = 0; b < plan->batch_count; b++) {
        const dcli_batch *batch = &plan->batch[b];
        int64_t first = INT64_MAX, end = 0;
        for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count; w++) {
            const dcl_box *box = &plan->work[w].box;
            first = box->start[0] < first ? box->start[0] : first;
            end = box->start[0] + box->count[0] > end ? box->start[0] + box->count[0] : end;
        }
        dcli_text_put(&text, "%" PRId64 "-%" PRId64, first, end);
        for (int64_t c = 0; c < plan->chunk_count; c++)
            if (plan->chunk[c].first_batch == b)
                dcli_text_put(&text, " chunk %" PRId64, c);
        dcli_text_put(&text, batch->reads_parts ? " in place\n" : "\n");
    }
    char *found = dcli_text_take(&text);
    cr_expect_str_eq(found, expected, "%s:\n%sexpected:\n%s", what, found, expected);
    dcli_free(found);
    dcli_plan_free(plan);
}

static void expect_batches(const char *what, const dcli_operation *operation, int self, bool in_place,
                           int64_t local_bytes, const char *expected)
{
    expect_batches_by(what, operation, self, test_ways(in_place), local_bytes, expected);
}

/* On GPUs that read each other's memory, a plan has three batches, and the second one is the border. The third one has what is
 * checked at the edges of the grid, or half of the own elements. An operation that reads much of others has one batch. */
Test(plan, gpus_read_borders_early_and_halves_at_once)
{
    enum { CAN = DCLI_CAN_READ_GPUS | DCLI_CAN_SHOW_GPU | DCLI_CAN_REGISTER };
    static const dcli_node_ways gpus[] = {{.can = CAN}, {.can = CAN}, {.can = CAN}, {.can = CAN}};
    dcl_grid square = dcl_grid_2d(DCL_INT64, 80, 20);
    const dcli_layout *rows = test_layout("block,*", 4, &square);
    dcli_operation *stencil = TEST_FORALL(1, "C(i,j) = A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);",
                                          {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    expect_batches_by("a border", stencil, 1, gpus, 1, "21-39\n20-40 in place\n21-39\n");
    expect_batches_by("at the upper rim", stencil, 0, gpus, 1, "1-19\n19-20 in place\n0-19\n");
    dcli_operation *down = TEST_FORALL(1, "C(i,j) = A(i,j) + A(min(i+1,79),j);", {DCL_ACCESS_OUT, "C", 1, rows},
                                       {DCL_ACCESS_IN, "A", 2, rows});
    expect_batches_by("nothing is checked", down, 1, gpus, 1, "20-32\n39-40 in place\n32-39\n");
    dcl_grid wide = dcl_grid_2d(DCL_INT64, 1024, 1024);
    const dcli_layout *lines = test_layout("block,*", 4, &wide);
    dcli_operation *turn =
        TEST_FORALL(2, "C(i,j) = A(j,i);", {DCL_ACCESS_OUT, "C", 1, lines}, {DCL_ACCESS_IN, "A", 2, lines});
    dcli_plan_terms terms = terms_of(4, true);
    terms.ways = gpus;
    terms.batch_bytes = 1 << 16;
    terms.local_bytes = 1;
    dcli_plan *plan = make(turn, 1, &terms);
    cr_expect_eq(plan->batch_count, 1, "%d batches", (int)plan->batch_count);
    cr_expect(plan->batch[0].reads_parts && plan->batch[0].work_count == plan->work_count);
    dcli_plan_free(plan);
    test_ops_free();
}

/* The same stencil on 4 nodes with 20 rows each: what needs no other node is joined, and comes first. If the rest is read
 * in place, half of it comes last. */
Test(plan, what_uses_own_parts_only_is_joined_and_comes_first)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 80, 20);
    const dcli_layout *rows = test_layout("block,*", 4, &square);
    dcli_operation *operation = TEST_FORALL(1, "C(i,j) = A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);",
                                            {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    expect_batches("as they are", operation, 1, false, 0, "20-24 chunk 0\n24-28\n28-32\n32-36\n36-40 chunk 1\n");
    expect_batches("joined", operation, 1, false, 1 << 20, "24-36\n20-24 chunk 0\n36-40 chunk 1\n");
    expect_batches("joined to two", operation, 1, false, 8 * 20 * 8, "24-32\n32-36\n20-24 chunk 0\n36-40 chunk 1\n");
    expect_batches("at the upper rim", operation, 0, false, 1 << 20, "0-16\n16-20 chunk 0\n");
    expect_batches("at the lower rim", operation, 3, false, 1 << 20, "64-80\n60-64 chunk 0\n");
    expect_batches("in place", operation, 1, true, 1 << 20, "24-36\n20-24 in place\n36-40 in place\n");
    expect_batches("in place, two", operation, 1, true, 8 * 20 * 8, "24-32\n20-24 in place\n36-40 in place\n32-36\n");
    test_ops_free();
}

static dcli_plan *plan_on_gpu(const char *what, const dcli_operation *operation, int64_t batch_bytes,
                              const char *expected)
{
    static dcli_node_ways ways[64];
    for (int n = 0; n < 64; n++)
        ways[n].can = dcli_ways_of_device(false, false);
    dcli_plan_terms terms = terms_of(4, false);
    terms.ways = ways;
    terms.batch_bytes = batch_bytes;
    terms.local_bytes = 1 << 20;
    expect_works(what, operation, 1, &terms, expected);
    return make(operation, 1, &terms);
}

/* On a device with memory of its own, indices that touch own elements only are in batches of their own, which come first and are
 * joined. Thin borders are not cut at the edges of the grid. */
Test(plan, own_elements_have_batches_of_their_own)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 34, 20);
    const dcli_layout *rows = test_layout("block(9),*", 4, &square);
    dcli_operation *stencil = TEST_FORALL(1, "C(i,j) = A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);",
                                          {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    dcli_plan *plan = plan_on_gpu("stencil", stencil, 4 * 20 * 8,
                                  "[10:14, 1:19]: own own own own own own\n"
                                  "[10:14, 0:1] checked: own own own own own own\n"
                                  "[10:14, 19:20] checked: own own own own own own\n"
                                  "[14:17, 1:19]: own own own own own own\n"
                                  "[14:17, 0:1] checked: own own own own own own\n"
                                  "[14:17, 19:20] checked: own own own own own own\n"
                                  "[9:10, 0:20] checked: own own stage own own own\n"
                                  "[17:18, 0:20] checked: own own own stage own own\n");
    cr_expect_eq(plan->batch_count, 2);
    cr_expect(plan->batch[0].work_count == 6 && plan->batch[0].chunk_count == 0, "own elements");
    cr_expect(plan->batch[1].work_count == 2 && plan->batch[1].chunk_count == 2, "elements of both neighbours");
    dcli_plan_free(plan);
    dcl_grid wide = dcl_grid_2d(DCL_INT64, 20, 20);
    const dcli_layout *fives = test_layout("block,*", 4, &wide);
    dcli_operation *turn = TEST_FORALL(2, "C(i,j) = A(i,j) + B(j,i);", {DCL_ACCESS_OUT, "C", 1, fives},
                                       {DCL_ACCESS_IN, "A", 2, fives}, {DCL_ACCESS_IN, "B", 3, fives});
    plan = plan_on_gpu("transposed", turn, 2 * 20 * 8,
                       "[5:10, 5:10]: own own own\n"
                       "[5:10, 0:5]: own own stage\n"
                       "[5:9, 10:20]: own own stage\n"
                       "[9:10, 10:20]: own own stage\n");
    cr_expect(plan->batch_count > 1 && plan->batch[0].chunk_count == 0 && plan->batch[1].chunk_count > 0);
    dcli_plan_free(plan);
    plan = plan_on_gpu("small", turn, 1 << 20, "[5:10, 0:20]: own own stage\n");
    cr_expect_eq(plan->batch_count, 1);
    dcli_plan_free(plan);
    test_ops_free();
}

/* All batches together have the works of the plan without lending. */
static void expect_joined(const char *what, const dcli_operation *operation, const dcli_plan *plan,
                          const dcli_plan_terms *terms)
{
    dcli_plan_terms usual = *terms;
    usual.fine_elements = 0;
    dcli_plan *whole = make(operation, 1, &usual);
    dcli_work works[128];
    cr_assert_leq(plan->work_count, 128);
    int64_t count = dcli_plan_join(operation, plan, 0, plan->batch_count, works);
    cr_expect_eq(count, whole->work_count, "%s: %" PRId64 " works, expected %" PRId64, what, count, whole->work_count);
    for (int64_t w = 0; w < count && count == whole->work_count; w++) {
        cr_expect(dcli_box_equal(&works[w].box, &whole->work[w].box), "%s: work %" PRId64, what, w);
        cr_expect_eq(plan->binding[works[w].first_binding].offset, whole->binding[whole->work[w].first_binding].offset,
                     "%s: work %" PRId64, what, w);
    }
    cr_expect_eq(dcli_plan_join(operation, plan, 1, 1, works), plan->batch[1].work_count);
    cr_expect(dcli_box_equal(&works[0].box, &plan->work[plan->batch[1].first_work].box));
    dcli_plan_free(whole);
}

/* Plan for node 1 of 4 with batches that can be lent; describe their number, and the elements of the first and of the
 * last. */
static void expect_fine(const char *what, const dcli_operation *operation, int nodes, int64_t fine_elements,
                        const char *expected)
{
    dcli_plan_terms terms = terms_of(nodes, true);
    dcli_text text = {0};
    int64_t all = 0, tiles = 0, elements[2] = {0};
    terms.batch_bytes = 9600; /* is not a limit */
    terms.local_bytes = 1 << 20;
    terms.fine_elements = fine_elements;
    dcli_plan *plan = make(operation, nodes > 1, &terms);
    bool fine = plan->fine_count > 0;
    cr_expect(plan->fine_count == (fine ? plan->batch_count : 0));
    if (fine)
        expect_joined(what, operation, plan, &terms);
    for (int64_t b = 0; b < plan->batch_count; b++) {
        const dcli_batch *batch = &plan->batch[b];
        int64_t here = 0;
        for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count; w++)
            here += dcli_box_elements(&plan->work[w].box);
        cr_expect_eq(batch->first_work, b == 0 ? 0 : batch[-1].first_work + batch[-1].work_count, "%s", what);
        cr_expect(batch->fine == fine);
        cr_expect(!fine || (batch->stage_count == 0 && batch->chunk_count == 0 && batch->made_count == 0));
        elements[b > 0] = here;
        all += here;
        tiles += batch->tile_count;
    }
    dcli_text_put(&text, "%s %" PRId64 ": %" PRId64 " %" PRId64 " of %" PRId64, fine ? "fine" : "not",
                  plan->batch_count, elements[0], elements[1], all);
    cr_expect(!fine || tiles == plan->counters.tasks, "%s: %" PRId64 " tiles", what, tiles);
    char *found = dcli_text_take(&text);
    cr_expect_str_eq(found, expected, "%s: %s; expected: %s", what, found, expected);
    dcli_free(found);
    dcli_plan_free(plan);
}

#define LOOP "for (int k = 0; k < 9; k++) C(i,j) += A(i,j);"

Test(plan, what_exchanges_nothing_is_cut_so_that_batches_can_be_lent)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 400, 20), small = dcl_grid_2d(DCL_INT64, 12, 20);
    const dcli_layout *rows = test_layout("block,*", 4, &square), *few = test_layout("block,*", 4, &small),
                      *tiles = test_layout("block,*;tile=10x20", 4, &square),
                      *deal = test_layout("rows:cyclic(5x5)", 4, &square), *whole = test_layout("block,*", 1, &square);
    dcli_operation *add =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    expect_fine("without lending", add, 4, 0, "not 1: 2000 0 of 2000");
    expect_fine("some 64 batches: two rows each", add, 4, 1, "fine 100: 20 20 of 2000");
    expect_fine("of at least so many elements", add, 4, 200, "fine 10: 200 200 of 2000");
    expect_fine("too few elements", add, 4, 1001, "not 1: 2000 0 of 2000");
    dcli_operation *loop = TEST_FORALL(1, LOOP, {DCL_ACCESS_INOUT, "C", 1, few}, {DCL_ACCESS_IN, "A", 2, few});
    expect_fine("a loop may be costly", loop, 4, 1 << 16, "fine 60: 1 1 of 60");
    dcli_operation *tiled =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, tiles}, {DCL_ACCESS_IN, "A", 2, tiles});
    expect_fine("several tiles", tiled, 4, 600, "fine 4: 600 200 of 2000");
    dcli_operation *dealt =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, deal}, {DCL_ACCESS_IN, "A", 2, deal});
    expect_fine("dealt pieces", dealt, 4, 100, "fine 20: 100 100 of 2000");
    const dcli_layout *columns = test_layout("*,cyclic(2)", 4, &square);
    dcli_operation *beside =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, columns}, {DCL_ACCESS_IN, "A", 2, columns});
    expect_fine("runs of columns are cut at the same rows", beside, 4, 600, "fine 4: 600 600 of 2400");
    dcli_operation *turned =
        TEST_FORALL(1, "C(i,j) = A(399-i,j);", {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    expect_fine("parts of others are read", turned, 4, 1, "not 1: 2000 0 of 2000");
    dcli_operation *alone =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, whole}, {DCL_ACCESS_IN, "A", 2, whole});
    expect_fine("one node", alone, 1, 1, "not 1: 8000 0 of 8000");
    dcl_grid tall = dcl_grid_2d(DCL_INT64, 1600, 4), wide = dcl_grid_2d(DCL_INT64, 4, 1600);
    const dcli_layout *lines = test_layout("block,*;nodes=1", 4, &tall),
                      *across = test_layout("block,*;nodes=1", 4, &wide);
    dcli_operation *transposed =
        TEST_FORALL(1, "C(i,j) = A(j,i);", {DCL_ACCESS_OUT, "C", 1, lines}, {DCL_ACCESS_IN, "A", 2, across});
    expect_fine("transposed, 150 rows each", transposed, 4, 600, "fine 11: 600 400 of 6400");
    expect_fine("transposed, 100 rows each are too few", transposed, 4, 400, "not 1: 6400 0 of 6400");
    dcl_grid row = dcl_grid_1d(DCL_INT64, 1600);
    dcli_operation *scaled = TEST_FORALL(1, "C(i,j) = v(i);", {DCL_ACCESS_OUT, "C", 1, lines},
                                         {DCL_ACCESS_IN, "v", 2, test_layout("block;nodes=1", 4, &row)});
    expect_fine("an element for each row", scaled, 4, 400, "fine 16: 400 400 of 6400");
    test_ops_free();
}

/* The works of a plan, in the order of their batches, fine ones joined. @return how many */
static int64_t list_works(const dcli_operation *operation, const dcli_plan *plan, dcli_work works_out[])
{
    int64_t count = 0;
    for (int64_t b = 0; b < plan->batch_count; b++) {
        const dcli_batch *batch = &plan->batch[b];
        if (batch->fine) {
            count += dcli_plan_join(operation, plan, b, plan->fine_count, works_out + count);
            b += plan->fine_count - 1;
        } else {
            memcpy(works_out + count, plan->work + batch->first_work, (size_t)batch->work_count * sizeof *works_out);
            count += batch->work_count;
        }
    }
    return count;
}

/* Compare a plan whose works of own parts are cut with one that is not cut: they have the same works, or some that are
 * joined across batches; they exchange the same chunks, and each chunk names the batch that it belongs to. */
static void expect_only_cut(const dcli_operation *operation, const dcli_plan *plan, const dcli_plan *whole)
{
    dcli_work cut[16], works[16];
    int64_t count = list_works(operation, plan, cut), before = list_works(operation, whole, works), stages = 0;
    for (int64_t o = 0; o < before; o++) {
        int64_t found = 0;
        for (int64_t w = 0; w < count; w++) {
            dcl_box common;
            if (!dcli_box_intersect(&cut[w].box, &works[o].box, &common))
                continue;
            const dcli_binding *x = &plan->binding[cut[w].first_binding];
            const dcli_binding *y = &whole->binding[works[o].first_binding];
            cr_expect(dcli_box_equal(&common, &works[o].box) && cut[w].checked == works[o].checked);
            for (int a = 0; a < operation->body->access_count; a++, x++, y++)
                cr_expect(x->kind == y->kind && x->where == y->where && memcmp(x->step, y->step, sizeof x->step) == 0 &&
                          x->offset == y->offset - (works[o].box.start[0] - cut[w].box.start[0]) * x->step[0]);
            found++;
        }
        cr_expect_eq(found, 1);
    }
    cr_expect_eq(plan->stage_count, whole->stage_count);
    cr_expect_eq(plan->chunk_count, whole->chunk_count);
    cr_expect_eq(plan->counters.bytes_moved, whole->counters.bytes_moved);
    cr_expect_eq(plan->counters.tasks, whole->counters.tasks);
    for (int64_t b = 0; b < plan->batch_count; b++) {
        const dcli_batch *batch = &plan->batch[b];
        cr_expect(!batch->fine || (batch->stage_count == 0 && batch->chunk_count == 0 && !batch->reads_parts));
        cr_expect_eq(batch->first_work, b == 0 ? 0 : batch[-1].first_work + batch[-1].work_count);
        stages += batch->stage_count;
        for (int64_t c = batch->first_chunk; c < batch->first_chunk + batch->chunk_count; c++)
            cr_expect_eq(plan->chunk[c].first_batch, b);
    }
    cr_expect_eq(stages, plan->stage_count);
}

Test(plan, what_uses_own_parts_of_a_costly_body_is_cut)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 400, 20);
    const dcli_layout *rows = test_layout("block,*", 4, &square),
                      *tiles = test_layout("block,*;tile=10x20", 4, &square);
    static const char costly[] = "for (int k = 0; k < 9; k++) C(i,j) += A(i-1,j) + A(i+1,j);";
    for (int in_place = 0; in_place < 2; in_place++)
        for (int small = 0; small < 2; small++) {
            const dcli_layout *layout = small ? tiles : rows;
            dcli_plan_terms terms = terms_of(4, in_place != 0), usual = terms;
            terms.batch_bytes = usual.batch_bytes = small ? 3200 : 1 << 20;
            terms.fine_elements = 1 << 16;
            dcli_operation *loop =
                TEST_FORALL(1, costly, {DCL_ACCESS_INOUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
            dcli_plan *plan = make(loop, 1, &terms), *whole = make(loop, 1, &usual);
            cr_expect_geq(plan->fine_count, DCLI_FINE_BATCHES / 2, "%" PRId64 " batches", plan->fine_count);
            cr_expect_gt(plan->batch_count, plan->fine_count);
            cr_expect(plan->batch[0].fine == !in_place);
            expect_only_cut(loop, plan, whole);
            dcli_plan_free(plan);
            terms.local_bytes = 1 << 20; /* its batches of own parts are joined instead */
            plan = make(loop, 1, &terms);
            cr_expect_eq(plan->fine_count, 0);
            dcli_plan_free(plan);
            dcli_plan_free(whole);
        }
    dcl_grid grid = dcl_grid_2d(DCL_INT64, 4096, 1024);
    const dcli_layout *large = test_layout("block,*", 4, &grid);
    dcli_operation *uncut[] = {
        TEST_FORALL(1, "C(i,j) = A(i-1,j) + A(i+1,j);", {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows}),
        TEST_FORALL(1, costly, {DCL_ACCESS_INOUT, "C", 1, large}, {DCL_ACCESS_IN, "A", 2, large})};
    for (size_t n = 0; n < sizeof uncut / sizeof uncut[0]; n++) {
        dcli_plan_terms terms = terms_of(4, true);
        terms.batch_bytes = 16 << 20;
        terms.fine_elements = 1;
        dcli_plan *plan = make(uncut[n], 1, &terms);
        cr_expect(plan->fine_count == 0 && plan->batch_count == 1);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* A thief has an input and a result of 8 bytes per element, each twice, in 4 tiles of 80 bytes; 1024 batches at most. */
Test(plan, batches_fit_the_memory_of_a_thief)
{
    static const struct {
        int64_t batch_bytes, batches;
    } cases[] = {{1 << 20, 2}, {80, 200}, {1, 1000}};
    dcl_grid square = dcl_grid_2d(DCL_INT64, 400, 20);
    const dcli_layout *rows = test_layout("block,*", 4, &square);
    dcli_operation *add =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, rows}, {DCL_ACCESS_IN, "A", 2, rows});
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_plan_terms terms = terms_of(4, true);
        terms.batch_bytes = cases[n].batch_bytes;
        terms.local_bytes = 1 << 20;
        terms.fine_elements = 1000;
        dcli_plan *plan = make(add, 1, &terms);
        cr_expect_eq(plan->batch_count, cases[n].batches, "%" PRId64 " bytes: %" PRId64 " batches",
                     cases[n].batch_bytes, plan->batch_count);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* ---- limits -------------------------------------------------------------------------------------------------------- */

/* 40 elements of 8 bytes come from the other node. */
Test(plan, pool_and_chunks)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 80);
    const dcli_layout *halves = test_layout("block;tile=10", 2, &line);
    dcli_operation *far =
        TEST_FORALL(1, "C(i) = A(i+40);", {DCL_ACCESS_OUT, "C", 1, halves}, {DCL_ACCESS_IN, "A", 2, halves});
    dcli_plan_terms terms = terms_of(2, false);
    terms.chunk_bytes = 64;
    terms.batch_bytes = 80; /* a tile per batch */
    dcli_plan *plan = make(far, 0, &terms);
    cr_expect(plan->batch_count == 4 && plan->chunk_count == 8, "%" PRId64 " batches, %" PRId64 " chunks",
              plan->batch_count, plan->chunk_count);
    for (int64_t c = 0; c < plan->chunk_count; c++)
        cr_expect(plan->chunk[c].bytes <= 64 && plan->chunk[c].number == c && plan->chunk[c].first_batch == c / 2);
    dcli_plan_free(plan);

    terms.pool_bytes = 80;
    plan = make(far, 0, &terms);
    cr_expect_eq(plan->status, DCL_OK, "80 bytes at once fit: %s", plan->problem);
    dcli_plan_free(plan);
    terms.pool_bytes = 72;
    plan = make(far, 0, &terms);
    cr_expect_eq(plan->status, DCL_ERR_NOMEM);
    cr_expect_not_null(strstr(plan->problem, "need 80 bytes"), "%s", plan->problem);
    cr_expect_not_null(strstr(plan->problem, "the pool has 72"), "%s", plan->problem);
    cr_expect_not_null(strstr(plan->problem, "set DCL_POOL_BYTES"), "%s", plan->problem);
    cr_expect(plan->batch_count == plan->chunk_count && plan->work_count == 0 && plan->stage_count == 0,
              "what comes all the same is dropped, chunk by chunk");
    cr_expect(plan->chunk_count > 8 && plan->live_bytes <= 72 / 4);
    dcli_plan_free(plan);
    test_ops_free();
}

/* What a node has alone is one batch, also where there are other nodes; that has 4 batches where one array lies elsewhere, too. */
Test(plan, batches_of_a_node_that_owns_everything)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 80);
    const dcli_layout *whole = test_layout("block;tile=20", 1, &line), *halves = test_layout("block;tile=20", 2, &line);
    dcli_plan_terms terms = terms_of(2, false);
    terms.batch_bytes = 160;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        dcli_operation *operation = TEST_FORALL(1, "C(i) = A(79-i);", {DCL_ACCESS_OUT, "C", 1, whole},
                                                {DCL_ACCESS_IN, "A", 2, elsewhere ? halves : whole});
        dcli_plan *plan = make(operation, 0, &terms);
        cr_expect_eq(plan->batch_count, elsewhere ? 4 : 1, "%" PRId64 " batches", plan->batch_count);
        cr_expect_eq(plan->chunk_count > 0, elsewhere, "%" PRId64 " chunks", plan->chunk_count);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* The host reads and writes: a chunk per batch, from or to the owners. */
Test(plan, transfers)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 80);
    const dcli_layout *halves = test_layout("block", 2, &line);
    dcli_plan_terms terms = terms_of(2, true);
    terms.chunk_bytes = 160;
    for (int written = 0; written < 2; written++) {
        dcli_operation *operation = test_operation(1, written ? DCLI_OP_WRITE : DCLI_OP_READ, 1, halves);
        dcli_plan *plan = make(operation, 2, &terms);
        cr_expect(plan->batch_count == 4 && plan->chunk_count == 4);
        for (int64_t c = 0; c < plan->chunk_count; c++)
            cr_expect(plan->chunk[c].peer == c / 2 && plan->chunk[c].number == c % 2 && plan->chunk[c].bytes == 160 &&
                      plan->chunk[c].written == (written != 0) && plan->chunk[c].first_batch == c);
        dcli_plan_free(plan);
        plan = make(operation, 0, &terms);
        cr_expect(plan->batch_count == 0 && plan->chunk_count == 0);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

static void print_region(dcli_text *text, const dcli_region *region)
{
    char box[128];
    dcli_box_print(&region->box, box, sizeof box);
    dcli_text_put(text, " %s at %" PRId64, box, region->offset);
}

/* A binding's or a piece's: of a peer, what stands for it; the own part is the only one of its kind. */
static int place_of(int kind, int where, const int node[])
{
    return kind == DCLI_SPACE_OWN ? 0 : kind == DCLI_SPACE_PEER ? node[where] : where;
}

static void print_tasks(dcli_text *text, const dcli_plan *plan, int accesses, const int node[])
{
    dcli_text_put(text, "%" PRId64 " tasks, %" PRId64 " blocks, %" PRId64 " bytes\n", plan->counters.tasks,
                  plan->counters.blocks_moved, plan->counters.bytes_moved);
    for (int64_t b = 0; b < plan->batch_count; b++)
        dcli_text_put(text, "batch: tiles %" PRId64 " + %" PRId64 "\n", plan->batch[b].first_tile,
                      plan->batch[b].tile_count);
    for (int64_t w = 0; w < plan->work_count; w++) {
        dcli_text_put(text, "work:");
        print_region(text, &(dcli_region){.box = plan->work[w].box});
        for (int a = 0; a < accesses; a++) {
            const dcli_binding *binding = &plan->binding[plan->work[w].first_binding + a];
            dcli_text_put(text, ", %d %d at %" PRId64, (int)binding->kind,
                          place_of(binding->kind, binding->where, node), binding->offset);
        }
        dcli_text_put(text, "\n");
    }
}

static void print_moves(dcli_text *text, const dcli_plan *plan, const int node[])
{
    for (int64_t k = 0; k < plan->piece_count; k++) {
        const dcli_piece *piece = &plan->piece[k];
        dcli_text_put(text, "piece: %d %d", piece->kind, place_of(piece->kind, piece->where, node));
        print_region(text, &piece->region);
        dcli_text_put(text, "\n");
    }
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        dcli_text_put(text, "chunk: %d %d %" PRId64 " %" PRId64 ":", chunk->written, node[chunk->peer], chunk->number,
                      chunk->bytes);
        for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count; i++)
            print_region(text, &(dcli_region[]){dcli_plan_item(plan, i).region}[0]);
        dcli_text_put(text, "\n");
    }
}

/* What happens where; node[p] stands for p. */
static char *print_plan(const dcli_plan *plan, int accesses, const int node[])
{
    dcli_text text = {0};
    print_tasks(&text, plan, accesses, node);
    print_moves(&text, plan, node);
    return dcli_text_take(&text);
}

static void expect_same_plan(const char *what, dcli_plan *plan, dcli_plan *expected, int accesses, const int node[])
{
    static const int same[] = {0, 1, 2, 3, 4, 5, 6};
    char *text = print_plan(plan, accesses, same), *expected_text = print_plan(expected, accesses, node);
    cr_expect_str_eq(text, expected_text, "%s:\n%s\nexpected:\n%s", what, text, expected_text);
    for (int q = 0; q <= 3; q++)
        cr_expect_eq(dcli_node_list_has(&plan->reads, node[q]), dcli_node_list_has(&expected->reads, q), "%s: reads %d",
                     what, node[q]);
    dcli_free(text);
    dcli_free(expected_text);
    dcli_plan_free(plan);
    dcli_plan_free(expected);
}

/* Three nodes of six, and the host, plan what three of three do; the others have nothing to do. */
static void expect_renumbered(const char *what, const dcli_operation *three, const dcli_operation *six, bool in_place)
{
    static const int node[] = {1, 3, 4, 6}, others[] = {0, 2, 5};
    dcli_plan_terms few = terms_of(3, in_place), many = terms_of(6, in_place);
    few.chunk_bytes = many.chunk_bytes = 128;
    for (int p = 0; p <= 3; p++)
        expect_same_plan(what, make(six, node[p], &many), make(three, p, &few),
                         three->body != NULL ? three->body->access_count : 0, node);
    for (int k = 0; k < 3; k++) {
        dcli_plan *plan = make(six, others[k], &many);
        cr_expect(plan->batch_count == 0 && plan->chunk_count == 0 && plan->counters.tasks == 0, "%s: node %d", what,
                  others[k]);
        dcli_plan_free(plan);
    }
}

Test(plan, over_some_of_the_nodes)
{
    dcl_grid square = dcl_grid_2d(DCL_INT64, 12, 12);
    const dcli_layout *rows[] = {test_layout("block,*;tile=2x12", 3, &square),
                                 test_layout("block,*;tile=2x12;nodes=1,3-4", 6, &square)};
    const dcli_layout *dealt[] = {test_layout("rows:cyclic(3x3)", 3, &square),
                                  test_layout("rows:cyclic(3x3);nodes=1,3-4", 6, &square)};
    const struct {
        const char *body;
        int count; /* of C, A, D */
        const dcli_layout **a;
    } cases[] = {
        {"C(i,j) = A(i,j);", 2, dealt},
        {"C(i,j) = A(i+4,j);", 2, rows}, /* all of it on the next node */
        {"C(i,j) = A(j,i) + A(i-1,j);", 2, dealt},
        {"C(i,j) = A(i,j); D(j,i) = A(i,j);", 3, dealt},
    };
    for (int in_place = 0; in_place < 2; in_place++) {
        dcli_operation *made[2];
        for (int n = 0; n < 4; n++) {
            for (int k = 0; k < 2; k++) {
                test_arg args[] = {{DCL_ACCESS_OUT, "C", 1, rows[k]},
                                   {DCL_ACCESS_IN, "A", 2, cases[n].a[k]},
                                   {DCL_ACCESS_OUT, "D", 3, dealt[k]}};
                made[k] = test_forall(1, cases[n].body, cases[n].count, args);
            }
            expect_renumbered(cases[n].body, made[0], made[1], in_place != 0);
        }
        for (dcli_op_kind kind = DCLI_OP_CREATE; kind < DCLI_OP_KIND_COUNT; kind++) {
            if (kind == DCLI_OP_FORALL)
                continue;
            for (int k = 0; k < 2; k++) {
                made[k] = test_operation(1, kind, 1, dealt[k]);
                made[k]->node = k; /* node 0 of three is node 1 of six */
            }
            expect_renumbered("an operation on one array", made[0], made[1], in_place != 0);
        }
    }
    test_ops_free();
}

/* ---- operations ---------------------------------------------------------------------------------------------------- */

Test(operation, resolve)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8);
    const dcli_layout *layout = test_layout("block", 2, &line);
    static const struct {
        const char *body;
        dcl_access access;
        bool reads, overwrites; /* C; it is written in all of them */
    } cases[] = {
        {"C(i) = A(i);", DCL_ACCESS_OUT, false, true},
        {"C(i) += A(i);", DCL_ACCESS_INOUT, true, false},
        {"if (i > 2) C(i) = A(i);", DCL_ACCESS_OUT, true, false}, /* the rest is kept */
        {"C(i) = 1; C(i) = C(i) + A(i);", DCL_ACCESS_OUT, false, true},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_operation *operation =
            TEST_FORALL(1, cases[n].body, {cases[n].access, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
        const dcli_operand *c = &operation->operand[0], *a = &operation->operand[1];
        cr_expect(c->writes && c->reads == cases[n].reads && c->overwrites == cases[n].overwrites,
                  "%s: reads %d, overwrites %d", cases[n].body, c->reads, c->overwrites);
        cr_expect(a->reads && !a->writes && !a->overwrites);
    }
    dcli_operation *part = TEST_FORALL(1, "C(i) = 1;", {DCL_ACCESS_OUT, "C", 1, layout});
    part->box.count[0] = 7;
    part->operand[0].overwrites = false;
    dcli_operation_resolve(part);
    cr_expect_not(part->operand[0].overwrites, "one element is left");
    cr_expect(test_operation(1, DCLI_OP_FILL, 1, layout)->operand[0].overwrites);
    cr_expect(test_operation(1, DCLI_OP_WRITE, 1, layout)->operand[0].overwrites);
    cr_expect_not(test_operation(1, DCLI_OP_SAVE, 1, layout)->operand[0].writes);
    test_ops_free();
}

/* Bodies over C (storage 1), A and B; `same`: B is the array of C. */
Test(operation, check)
{
    dcl_grid wide = dcl_grid_2d(DCL_INT64, 4, 6), high = dcl_grid_2d(DCL_INT64, 6, 4);
    const dcli_layout *w = test_layout("block", 2, &wide), *h = test_layout("block", 2, &high);
    const struct {
        const char *body;
        const dcli_layout *b;
        dcl_access access;
        int64_t storage;
        dcl_status status;
        const char *words;
    } cases[] = {
        {"C(i,j) = B(j,i);", h, DCL_ACCESS_IN, 2, DCL_OK, ""},
        {"C(i,j) = B(i,j);", w, DCL_ACCESS_IN, 1, DCL_ERR_BODY, "one name, with DCL_INOUT"},
        {"C(i,j) = B(i,j+1);", w, DCL_ACCESS_IN, 1, DCL_ERR_BODY, "same array"},
        {"C(i,j) = B(i,j+1);", w, DCL_ACCESS_IN, 1, DCL_ERR_BODY, "dcl_swap"},
        {"C(i,j) = B(i,j+1);", w, DCL_ACCESS_IN, 1, DCL_ERR_BODY, "line 1, column 10"},
        {"C(i,j) = B(j*j,i);", w, DCL_ACCESS_IN_ALL, 1, DCL_ERR_BODY, "same array"},
        {"C(i,j) = 1; B(j,i) = 1;", h, DCL_ACCESS_OUT, 2, DCL_OK, ""},
        {"C(i,j) = 1; B(i,j) = 1;", h, DCL_ACCESS_OUT, 2, DCL_ERR_INVALID,
         "axis 0 of output B runs 0..5; expected 0..3"},
        {"C(i,j) = 1; B(i,j) = 2;", w, DCL_ACCESS_OUT, 1, DCL_ERR_BODY, "one name"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_operation *operation = TEST_FORALL(1, cases[n].body, {DCL_ACCESS_OUT, "C", 1, w},
                                                {cases[n].access, "B", cases[n].storage, cases[n].b});
        dcl_status status = dcli_operation_check(operation);
        cr_expect_eq(status, cases[n].status, "case %zu: %s", n, dcl_error());
        if (cases[n].status != DCL_OK)
            cr_expect_not_null(strstr(dcl_error(), cases[n].words), "case %zu: %s", n, dcl_error());
    }
    dcli_operation *outside = TEST_FORALL(1, "C(i,j) = 1;", {DCL_ACCESS_OUT, "C", 1, w});
    outside->box.start[1] = 1;
    cr_expect_eq(dcli_operation_check(outside), DCL_ERR_RANGE);
    test_ops_free();
}

Test(operation, local)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8);
    const dcli_layout *block = test_layout("block", 2, &line), *cyclic = test_layout("cyclic", 2, &line);
    cr_expect(dcli_operation_is_local(
        TEST_FORALL(1, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 1, block}, {DCL_ACCESS_IN, "A", 2, block})));
    cr_expect_not(dcli_operation_is_local(
        TEST_FORALL(1, "C(i) = A(i+1);", {DCL_ACCESS_OUT, "C", 1, block}, {DCL_ACCESS_IN, "A", 2, block})));
    cr_expect_not(dcli_operation_is_local(
        TEST_FORALL(1, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 1, block}, {DCL_ACCESS_IN, "A", 2, cyclic})));
    cr_expect(dcli_operation_is_local(test_operation(1, DCLI_OP_FILL, 1, block)));
    cr_expect_not(dcli_operation_is_local(test_operation(1, DCLI_OP_READ, 1, block)));
    test_ops_free();
}

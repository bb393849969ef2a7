/* test/workqueue/halo_test.c - what maps with a halo move, operation after operation: rows to check by hand. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/ways.h"
#include "workqueue/directory.h"
#include "workqueue/ops.h"

enum { MOST_NODES = 5 };

/* A run of operations on A, of int8 so that bytes are elements, and on C, laid out as A or by another map. Steps: r
 * reads A by the body, w writes all of A, f the far body, and a digit the element of that number. After each step that
 * reads stands what every node moves. */
struct run_row {
    char what[48], body[72], far[40];
    int nodes;
    char grid[8], map[56], c_map[32]; /* "": as A */
    char steps[8], moved[64];
};

ParameterizedTestParameters(halo_plan, moved)
{
    static struct run_row rows[] = {
        /* 12 elements on three nodes: 0..3, 4..7, 8..11 */
        {"once, and again after a write", "C(i) = A(i-1) + A(i) + A(i+1);", "", 3, "12", "block;halo=1", "", "rrwrr",
         "1 2 1; 0 0 0; 1 2 1; 0 0 0"},
        {"without a halo each time", "C(i) = A(i-1) + A(i) + A(i+1);", "", 3, "12", "block", "", "rr", "1 2 1; 1 2 1"},
        {"around the edge", "C(i) = A(i-1) + A(i+1);", "", 3, "12", "block;halo=1;periodic=0", "", "rrwr",
         "2 2 2; 0 0 0; 2 2 2"},
        {"one side only", "C(i) = A(i+1);", "", 3, "12", "block;halo=0:1;periodic=0", "", "rr", "1 1 1; 0 0 0"},
        {"a write of 3: node 1 has a copy", "C(i) = A(i-1) + A(i+1);", "", 3, "12", "block;halo=1;periodic=0", "",
         "r3r", "2 2 2; 0 1 0"},
        {"a write of 0: beyond the end of node 2", "C(i) = A(i-1) + A(i+1);", "", 3, "12", "block;halo=1;periodic=0",
         "", "r0r", "2 2 2; 0 0 1"},
        {"a write of 5: nobody has a copy", "C(i) = A(i-1) + A(i+1);", "", 3, "12", "block;halo=1;periodic=0", "",
         "r5r", "2 2 2; 0 0 0"},
        {"farther than the halo", "C(i) = A(i-2);", "", 3, "12", "block;halo=1", "", "rr", "0 2 2; 0 2 2"},
        {"farther, what is there is used", "C(i) = A(i-1);", "C(i) = A(i-2);", 3, "12", "block;halo=1", "", "rffr",
         "0 1 1; 0 1 1; 0 1 1; 0 0 0"},
        {"two beyond an edge", "C(i) = A(i-2) + A(i+1);", "", 3, "12", "block;halo=2:1;periodic=0", "", "rr",
         "3 3 3; 0 0 0"},
        {"beyond the width is outside", "C(i) = A(i-2);", "", 3, "12", "block;halo=1;periodic=0", "", "r", "1 2 2"},
        {"one node: nothing moves", "C(i) = A(i-1) + A(i+1);", "", 1, "12", "block;halo=1;periodic=0", "", "rr",
         "0; 0"},
        {"a node that owns nothing", "C(i) = A(i-1) + A(i+1);", "", 3, "2", "block;halo=1;periodic=0", "", "rr",
         "1 1 0; 0 0 0"},
        {"the same element from both sides, once", "C(i) = A(i-1) + A(i+1);", "", 2, "2", "block;halo=1;periodic=0", "",
         "rr", "1 1; 0 0"},
        {"dealt singly: all of it", "C(i) = A(i-1) + A(i+1);", "", 3, "12", "cyclic;halo=1;periodic=0", "", "rr",
         "8 8 8; 0 0 0"},
        /* The other array's elements are elsewhere: 0, 2, 4, ... of A are read by node 0, which owns 0..5. */
        {"another map than the output's", "C(i) = A(i);", "", 2, "12", "block;halo=1", "cyclic", "rr", "3 3; 3 3"},
        /* 6 x 4 by rows, two each */
        {"rows of four", "C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);", "", 3, "6x4", "block,*;halo=1", "",
         "rr", "4 8 4; 0 0 0"},
        {"a torus", "C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);", "", 3, "6x4", "block,*;halo=1;periodic=*",
         "", "rrwr", "8 8 8; 0 0 0; 8 8 8"},
        {"its corner, from the node across", "C(i,j) = A(i-1,j-1);", "", 4, "4x4", "block;halo=1;periodic=*", "", "rr",
         "3 3 3 3; 0 0 0 0"},
        {"a cylinder: rows wrap", "C(i,j) = A(i-1,j) + A(i,j+1);", "", 3, "6x4", "block,*;halo=1;periodic=0", "", "rr",
         "4 4 4; 0 0 0"},
    };
    return cr_make_param_array(struct run_row, rows, sizeof rows / sizeof rows[0]);
}

static dcl_grid read_grid(const char *text)
{
    dcl_grid grid = {.type = DCL_INT8};
    for (; *text != '\0'; text += *text == 'x')
        grid.extent[grid.rank++] = strtoll(text, (char **)&text, 10);
    return grid;
}

struct world {
    const struct run_row *row;
    dcli_plan_terms terms;
    dcli_directory directory;
    const dcli_layout *a, *c;
    dcli_text moved;
};

/* Plan an operation for all nodes, note what they move, and enter it in the books. */
static void carry_out(struct world *world, const dcli_operation *operation, bool told)
{
    dcli_plan *plan[MOST_NODES];
    dcli_directory_begin(&world->directory, operation, NULL, NULL);
    if (told && world->moved.length > 0)
        dcli_text_put(&world->moved, "; ");
    for (int n = 0; n < world->row->nodes; n++) {
        cr_assert_eq(dcli_plan_make(operation, n, &world->terms, &plan[n]), DCL_OK, "%s", dcl_error());
        if (told)
            dcli_text_put(&world->moved, "%s%" PRId64, n > 0 ? " " : "", plan[n]->counters.bytes_moved);
    }
    for (int n = 0; n < world->row->nodes; n++) {
        cr_assert_eq(dcli_directory_add(&world->directory, n, operation, plan[n]), DCL_OK);
        dcli_plan_free(plan[n]);
    }
    dcli_directory_write(&world->directory, operation, NULL, NULL);
    for (int n = 0; n < world->row->nodes; n++)
        cr_expect_eq(dcli_directory_bytes(&world->directory, n), 0, "a halo takes nothing of the budget");
}

static void step(struct world *world, int64_t number, char what)
{
    const char *body = what == 'f' ? world->row->far : world->row->body;
    dcli_operation *operation;
    if (what == 'r' || what == 'f') {
        operation = TEST_FORALL(number, body, {DCL_ACCESS_OUT, "C", 1, world->c}, {DCL_ACCESS_IN, "A", 2, world->a});
        operation->operand[1].generation = world->a->rule.halo_rank > 0;
    } else {
        operation = test_operation(number, what == 'w' ? DCLI_OP_LOAD : DCLI_OP_WRITE, 2, world->a);
        if (what != 'w')
            operation->box = (dcl_box){.rank = 1, .start = {what - '0'}, .count = {1}, .stride = {1}};
        dcli_operation_resolve(operation);
    }
    carry_out(world, operation, what == 'r' || what == 'f');
}

ParameterizedTest(struct run_row *row, halo_plan, moved)
{
    dcl_grid grid = read_grid(row->grid);
    for (int in_place = 0; in_place < 2; in_place++) {
        struct world world = {.row = row,
                              .terms = {.node_count = row->nodes,
                                        .ways = test_ways(in_place != 0),
                                        .batch_bytes = 1 << 20,
                                        .chunk_bytes = 1 << 22,
                                        .pool_bytes = INT64_C(1) << 40},
                              .directory = {.node_count = row->nodes}};
        world.terms.directory = &world.directory;
        world.a = test_layout(row->map, row->nodes, &grid);
        world.c = row->c_map[0] == '\0' ? world.a : test_layout(row->c_map, row->nodes, &grid);
        for (int s = 0; row->steps[s] != '\0'; s++)
            step(&world, s + 1, row->steps[s]);
        cr_expect_str_eq(world.moved.bytes, row->moved, "%s, in place %d: %s", row->what, in_place, world.moved.bytes);
        dcli_text_free(&world.moved);
        dcli_directory_free(&world.directory);
    }
    test_ops_free();
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

/* What an access of a view of A finds: first index and end, before and behind the grid where that is periodic. */
Test(halo_plan, views)
{
    dcl_grid grid = {.type = DCL_INT8, .rank = 2, .extent = {8, 6}};
    const dcli_layout *a = test_layout("block,*;halo=1:2,3;periodic=0", 2, &grid);
    static const struct {
        const char *what;
        int permuted[2];
        int64_t start[2], count[2], stride[2]; /* count 0: all */
        int64_t lo[2], end[2];
    } cases[] = {
        {"as it is", {0, 1}, {0, 0}, {0, 0}, {1, 1}, {-1, 0}, {10, 6}},
        {"transposed", {1, 0}, {0, 0}, {0, 0}, {1, 1}, {0, -1}, {6, 10}},
        {"reversed: behind is before", {0, 1}, {7, 0}, {8, 6}, {-1, 1}, {-2, 0}, {9, 6}},
        {"cut: ends where it ends", {0, 1}, {0, 0}, {7, 6}, {1, 1}, {0, 0}, {7, 6}},
        {"every second", {0, 1}, {0, 0}, {4, 6}, {2, 1}, {0, 0}, {4, 6}},
        {"the other axis cut", {0, 1}, {0, 2}, {8, 3}, {1, 1}, {-1, 0}, {10, 3}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dcli_transform view = dcli_transform_of(&grid);
        cr_assert_eq(dcli_transform_permute(&view, cases[k].permuted), DCL_OK);
        if (cases[k].count[0] > 0)
            cr_assert_eq(dcli_transform_slice(&view, cases[k].start, cases[k].count, cases[k].stride), DCL_OK);
        dcli_operation *operation =
            TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, a}, {DCL_ACCESS_IN, "A", 2, a});
        operation->operand[1].view = &view;
        dcl_grid found = dcli_access_grid(operation, 1);
        for (int d = 0; d < 2; d++) {
            int64_t from = view.grid.origin[d]; /* slices may keep their first number */
            cr_expect_eq(found.origin[d] - from, cases[k].lo[d], "%s: axis %d", cases[k].what, d);
            cr_expect_eq(found.origin[d] - from + found.extent[d], cases[k].end[d], "%s: axis %d", cases[k].what, d);
        }
    }
    test_ops_free();
}

/* What is written ends at the grid, and so do reaches that are of all of it. */
Test(halo_plan, reads_only)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT8, 8);
    const dcli_layout *a = test_layout("block;halo=1;periodic=0", 2, &grid);
    static const struct {
        const char *body;
        dcl_access access;
        int64_t extent;
    } cases[] = {{"C(i) = A(i);", DCL_ACCESS_IN, 10},
                 {"C(i) = A(i); A(i) = 1;", DCL_ACCESS_INOUT, 8},
                 {"C(i) = A(i);", DCL_ACCESS_IN_ALL, 8}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dcli_operation *operation =
            TEST_FORALL(1, cases[k].body, {DCL_ACCESS_OUT, "C", 1, a}, {cases[k].access, "A", 2, a});
        int of_a = operation->body->access[0].param == 1 ? 0 : 1;
        cr_expect_eq(dcli_access_grid(operation, of_a).extent[0], cases[k].extent, "case %zu", k);
        cr_expect_eq(dcli_access_grid(operation, 1 - of_a).extent[0], 8);
    }
    test_ops_free();
}

/* A view that is written and the array around it: they meet across the edge. */
Test(halo_plan, alias_across_the_edge)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT8, 8);
    const dcli_layout *a = test_layout("block;halo=1;periodic=0", 2, &grid), *plain = test_layout("block", 2, &grid);
    for (int periodic = 0; periodic < 2; periodic++) {
        dcli_transform last = dcli_transform_of(&grid);
        cr_assert_eq(dcli_transform_slice(&last, (int64_t[]){7}, (int64_t[]){1}, NULL), DCL_OK);
        cr_assert_eq(dcli_transform_shift(&last, (int64_t[]){-last.grid.origin[0]}), DCL_OK);
        const dcli_layout *layout = periodic ? a : plain;
        dcli_operation *operation =
            TEST_FORALL(1, "C(i) = A(i-1);", {DCL_ACCESS_OUT, "C", 2, layout}, {DCL_ACCESS_IN, "A", 2, layout});
        operation->operand[0].view = &last;
        operation->box = dcl_box_of(&last.grid);
        cr_expect_eq(dcli_operation_check(operation), periodic ? DCL_ERR_BODY : DCL_OK, "periodic %d: %s", periodic,
                     dcl_error());
    }
    test_ops_free();
}

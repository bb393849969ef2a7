/* test/workqueue/overlap_test.c - several steps per exchange: which steps receive lines, how many lines they compute beyond the
 * parts, and what their plans move. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/ways.h"
#include "workqueue/ops.h"
#include "workqueue/overlap.h"

enum { NODES = 4, ROWS = 40, COLUMNS = 8 };

/* Three arrays of 40 x 8 floats, and how many of their lines are valid. */
struct loop {
    const dcli_layout *layout;
    int64_t storage[3];
    dcli_valid_lines lines[3];
};

static struct loop open_loop(const char *map)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS);
    return (struct loop){.layout = test_layout(map, NODES, &grid), .storage = {1, 2, 3}};
}

/* A step that writes V, storage[0], from U and W, the next ones; over the indices that are at least `edge` from the edges. */
static dcli_operation *step_of(struct loop *loop, const char *body, int arrays, int64_t edge)
{
    test_arg args[] = {{DCL_ACCESS_OUT, "V", loop->storage[0], loop->layout},
                       {DCL_ACCESS_IN, "U", loop->storage[1], loop->layout},
                       {DCL_ACCESS_IN, "W", loop->storage[2], loop->layout}};
    if (strncmp(body, "V(i,j) +=", 9) == 0)
        args[0].access = DCL_ACCESS_INOUT;
    dcli_operation *operation = test_forall(1, body, arrays, args);
    for (int d = 0; d < 2; d++) {
        operation->box.start[d] += edge;
        operation->box.count[d] -= 2 * edge;
    }
    return operation;
}

/* Choose, note and describe an operation as "beyond" or "-", with a "*" for each array that is received. */
static void issue(struct loop *loop, dcli_operation *operation, dcli_text *text)
{
    dcli_valid_lines *lines[3];
    for (int k = 0; k < operation->operand_count; k++)
        lines[k] = &loop->lines[operation->operand[k].storage - 1];
    dcli_overlap_choose(operation, (const dcli_valid_lines *const *)lines, false);
    dcli_operation_resolve(operation);
    cr_assert_eq(dcli_overlap_check_received(operation), DCL_OK, "%s", dcl_error());
    dcli_overlap_record(operation, lines);
    if (operation->overlap > 0)
        dcli_text_put(text, " %" PRId64, operation->overlap - 1);
    else
        dcli_text_put(text, " -");
    for (int k = 0; k < operation->operand_count; k++)
        dcli_text_put(text, operation->operand[k].fresh ? "*" : "");
}

/* What eight steps do, V and U exchanged after each. */
struct steps_row {
    char map[24], body[72];
    int arrays, edge;
    char chosen[48];
};

ParameterizedTestParameters(overlap, steps)
{
    static struct steps_row rows[] = {
        /* the second step receives U, of which the first one wrote the interior only; then the edges stay valid */
        {"block,*;overlap=3", "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1, " 2* 2* 1 0 2* 1 0 2*"},
        {"block,*;overlap=4", "V(i,j) = U(i-2,j+1) + U(i,j-1);", 2, 2, " 2* 2* 0 2* 0 2* 0 2*"},
        {"block,*;overlap=2", "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1, " 1* 1* 0 1* 0 1* 0 1*"},
        /* all of V is written: nothing of it has to be received */
        {"block,*;overlap=3", "V(i,j) = U(i,j-0) + 1;", 2, 0, " 0 0 0 0 0 0 0 0"},
        {"block,*;overlap=3", "V(i,j) = i + j;", 1, 0, " 3 3 3 3 3 3 3 3"},
        /* with a constant array that is read in place: it is received once */
        {"block,*;overlap=3", "V(i,j) = U(i-1,j) + W(i,j);", 3, 1, " 2** 2* 1 0 2* 1 0 2*"},
        /* V is written by the step that needs its lines: they are not received with it. The fifth step has few of them, and drops them, so
         * that the sixth receives all */
        {"block,*;overlap=3", "V(i,j) += U(i-1,j);", 2, 1, " 0* 2* 1 0 0* 2* 1 0"},
        {"block,*;overlap=1", "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1, " - - - - - - - -"}, /* too few for two steps */
        {"block,*", "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1, " - - - - - - - -"},
        {"block,*;overlap=9", "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 0, " - - - - - - - -"}, /* reads outside */
        {"block,*;overlap=9", "V(i,j) = U(clamp(i-1,0,39),j);", 2, 1, " - - - - - - - -"},
        {"block,*;overlap=9", "V(i,j) = U(2*i-i,j) + U(39-i,j);", 2, 1, " - - - - - - - -"},
        {"block,*;overlap=9", "V(i,j) = U(j,j);", 2, 1, " - - - - - - - -"},
        {"block,*;overlap=9", "float s = 0; for (int d = -2; d <= 1; d++) s += U(i+d,j); V(i,j) = s;", 2, 2,
         " 7* 7* 5 3 1 7* 5 3"},
    };
    return cr_make_param_array(struct steps_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct steps_row *row, overlap, steps)
{
    struct loop loop = open_loop(row->map);
    dcli_text text = {0};
    for (int n = 0; n < 8; n++) {
        issue(&loop, step_of(&loop, row->body, row->arrays, row->edge), &text);
        int64_t other = loop.storage[0];
        loop.storage[0] = loop.storage[1];
        loop.storage[1] = other;
    }
    cr_expect_str_eq(text.bytes, row->chosen, "%s, %s: %s", row->map, row->body, text.bytes);
    dcli_text_free(&text);
    test_ops_free();
}

/* Lines that DCL has reserved are used from the fifth step of a time loop on, by the bodies of a row in turn. */
struct reserved_row {
    char bodies[2][48];
    int edge[2];
    char chosen[64];
};

ParameterizedTestParameters(overlap, reserved)
{
    static struct reserved_row rows[] = {
        {{"V(i,j) = U(i-1,j) + U(i+1,j);", ""}, {1, 1}, " - - - - 2* 2* 1 0 2* 1 0 2*"},
        /* a body that reads its own lines only: it computes lines where they are valid, and is no step */
        {{"V(i,j) = U(i-1,j);", "V(i,j) = 2 * U(i,j);"}, {1, 1}, " - - - - - - - - 2* 2 1 1"},
        {{"V(i,j) = 2 * U(i,j);", ""}, {0, 0}, " - - - - - - - - - - - -"},
        /* a body that cannot use the lines, because it reads outside the array, begins the loop anew */
        {{"V(i,j) = U(i-1,j);", "V(i,j) = U(i-1,j);"}, {1, 0}, " - - - - - - - - - - - -"},
    };
    return cr_make_param_array(struct reserved_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct reserved_row *row, overlap, reserved)
{
    struct loop loop = open_loop("block,*");
    dcli_layout layout = *loop.layout;
    dcli_layout_set_lines(&layout, 3);
    loop.layout = &layout;
    dcli_text text = {0};
    for (int n = 0; n < 12; n++) {
        int k = n % 2 == 1 && row->bodies[1][0] != '\0';
        issue(&loop, step_of(&loop, row->bodies[k], 2, row->edge[k]), &text);
        int64_t other = loop.storage[0];
        loop.storage[0] = loop.storage[1];
        loop.storage[1] = other;
    }
    cr_expect_str_eq(text.bytes, row->chosen, "%s %s: %s", row->bodies[0], row->bodies[1], text.bytes);
    dcli_text_free(&text);
    test_ops_free();
}

/* Other operations that write an array end its valid lines; those that read it do not. */
Test(overlap, other_operations)
{
    static const dcli_op_kind writing[] = {DCLI_OP_WRITE, DCLI_OP_FILL, DCLI_OP_LOAD};
    struct loop loop = open_loop("block,*;overlap=6");
    dcli_text text = {0};
    issue(&loop, step_of(&loop, "V(i,j) = U(i-1,j);", 2, 1), &text);
    dcli_valid_lines *u = &loop.lines[1];
    cr_expect(u->inside == 6 && u->outside == 6 && loop.lines[0].inside == 5 && loop.lines[0].outside == 0);
    dcli_overlap_record(test_operation(2, DCLI_OP_READ, 2, loop.layout), &u);
    dcli_overlap_record(test_operation(3, DCLI_OP_SAVE, 2, loop.layout), &u);
    cr_expect(u->inside == 6 && u->outside == 6);
    for (int n = 0; n < 3; n++) {
        *u = (dcli_valid_lines){.inside = 6, .outside = 6};
        dcli_overlap_record(test_operation(4, writing[n], 2, loop.layout), &u);
        cr_expect(u->inside == 0 && u->outside == 0, "kind %d", (int)writing[n]);
    }
    dcli_text_free(&text);
    test_ops_free();
}

/* A body that cannot use the lines leaves them valid if it writes only lines that no other node stores. 4 parts of 10 rows, 3 lines. */
Test(overlap, lines_apart_from_borders)
{
    static const struct {
        int64_t first, count;
        bool valid;
    } rows[] = {
        {0, 7, true}, {1, 7, false}, {13, 4, true}, {12, 4, false}, {33, 7, true}, {6, 20, false}, {0, 40, false},
    };
    struct loop loop = open_loop("block,*;overlap=3");
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 4);
    const dcli_layout *other = test_layout("block", 1, &grid);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        test_arg args[] = {{DCL_ACCESS_OUT, "V", 1, loop.layout}, {DCL_ACCESS_IN, "F", 2, other}};
        dcli_operation *operation = test_forall(1, "V(i,j) = F(2);", 2, args);
        dcli_valid_lines v = {.inside = 2, .outside = 3, .steps = 4}, f = {0}, *lines[] = {&v, &f};
        operation->box.start[0] = rows[r].first;
        operation->box.count[0] = rows[r].count;
        dcli_overlap_choose(operation, (const dcli_valid_lines *const *)lines, false);
        cr_assert_eq(operation->overlap, 0);
        dcli_overlap_record(operation, lines);
        cr_expect(v.inside == 2 * rows[r].valid && v.outside == 3 * rows[r].valid && (v.steps == 4) == rows[r].valid,
                  "rows %d..: %d", (int)rows[r].first, (int)v.inside);
    }
    test_ops_free();
}

/* What is valid in a box and outside of it, when boxes of different steps differ. */
Test(overlap, boxes)
{
    struct loop loop = open_loop("block,*;overlap=6");
    dcli_text text = {0};
    dcli_operation *all = step_of(&loop, "V(i,j) = i;", 1, 0), *inner = step_of(&loop, "V(i,j) = U(i-1,j);", 2, 2),
                   *outer = step_of(&loop, "V(i,j) = U(i-1,j);", 2, 1);
    issue(&loop, all, &text); /* 6 lines of V */
    loop.lines[1] = (dcli_valid_lines){.inside = 3, .outside = 3};
    issue(&loop, outer, &text); /* 2 of them where it wrote, 6 outside */
    const dcli_valid_lines *v = &loop.lines[0];
    cr_expect(v->inside == 2 && v->outside == 6 && v->box.start[0] == 1);
    loop.lines[1] = (dcli_valid_lines){.inside = 5, .outside = 5};
    issue(&loop, inner, &text); /* 4 where it wrote; around that, what the step before left */
    cr_expect(v->inside == 4 && v->outside == 2 && v->box.start[0] == 2);
    issue(&loop, step_of(&loop, "V(i,j) = U(i-1,j);", 2, 1), &text);
    cr_expect(v->inside == 4 && v->outside == 2 && v->box.start[0] == 1);
    dcli_text_free(&text);
    test_ops_free();
}

static dcli_plan *make_plan(const dcli_operation *operation, int node, bool in_place)
{
    dcli_plan_terms terms = {.node_count = NODES,
                             .ways = test_ways(in_place),
                             .batch_bytes = 64, /* an operation with an overlap is one batch, however small these are */
                             .chunk_bytes = 1 << 20,
                             .pool_bytes = 1 << 20,
                             .fine_elements = 1};
    dcli_plan *plan = NULL;
    cr_assert_eq(dcli_plan_make(operation, node, &terms, &plan), DCL_OK, "%s", dcl_error());
    cr_assert_eq(plan->status, DCL_OK);
    cr_expect(!dcli_may_be_lent(operation, node, &terms) && !dcli_may_be_lent_by_any(operation, &terms));
    return plan;
}

/* 40 rows of 8 floats over 4 nodes, 3 lines around each part. A step that receives moves 3 lines over each border in each
 * direction; the next two move nothing. Each node computes fewer lines from step to step. */
Test(overlap, plans)
{
    static const int64_t computed[4][3] = {{11, 10, 9}, {14, 12, 10}, {14, 12, 10}, {11, 10, 9}};
    struct loop loop = open_loop("block,*;overlap=3");
    for (int in_place = 0; in_place < 2; in_place++) {
        loop.lines[0] = loop.lines[1] = (dcli_valid_lines){.inside = 0};
        loop.lines[0].outside = loop.lines[0].inside = 3;
        for (int n = 0; n < 3; n++) {
            dcli_text text = {0};
            dcli_operation *operation = step_of(&loop, "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1);
            issue(&loop, operation, &text);
            cr_expect_eq(dcli_operation_is_local(operation), n > 0, "step %d:%s", n, text.bytes);
            for (int node = 0; node < NODES; node++) {
                dcli_plan *plan = make_plan(operation, node, in_place != 0);
                bool edge = node == 0 || node == 3;
                int64_t neighbours = n > 0 ? 0 : edge ? 1 : 2;
                cr_expect_eq(plan->counters.bytes_moved, neighbours * 3 * COLUMNS * 4, "step %d, node %d", n, node);
                cr_expect_eq(plan->counters.messages_planned, in_place ? 0 : neighbours);
                cr_expect_eq(plan->reads.count, in_place ? neighbours : 0);
                cr_expect_eq(plan->partners.count, neighbours);
                cr_assert(plan->batch_count == 1 && plan->work_count == 1 && !plan->work[0].checked);
                cr_expect(plan->work[0].box.count[0] == computed[node][n] && plan->work[0].box.count[1] == 6,
                          "step %d, node %d: %" PRId64 " lines", n, node, plan->work[0].box.count[0]);
                for (int a = 0; a < operation->body->access_count; a++)
                    cr_expect_eq(plan->binding[a].kind, DCLI_SPACE_OWN);
                dcli_plan_free(plan);
            }
            int64_t other = loop.storage[0];
            loop.storage[0] = loop.storage[1];
            loop.storage[1] = other;
            dcli_text_free(&text);
        }
        loop.storage[0] = 1;
        loop.storage[1] = 2;
    }
    test_ops_free();
}

/* A received operation that would read or write beyond the lines that are stored, or that its body does not allow. */
Test(overlap, refused)
{
    struct loop loop = open_loop("block,*;overlap=3"), plain = open_loop("block,*");
    dcli_operation *step = step_of(&loop, "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1);
    step->overlap = 3;
    cr_expect_eq(dcli_overlap_check_received(step), DCL_OK);
    step->overlap = 4; /* reads a fourth line of U */
    cr_expect_eq(dcli_overlap_check_received(step), DCL_ERR_PROTOCOL);
    step->overlap = INT64_MAX;
    cr_expect_eq(dcli_overlap_check_received(step), DCL_ERR_PROTOCOL);
    step->overlap = 0;
    step->operand[1].fresh = true; /* without an overlap */
    cr_expect_eq(dcli_overlap_check_received(step), DCL_ERR_PROTOCOL);
    step->overlap = 1;
    cr_expect_eq(dcli_overlap_check_received(step), DCL_OK);
    step->operand[0].fresh = true; /* it is written */
    cr_expect_eq(dcli_overlap_check_received(step), DCL_ERR_PROTOCOL);
    step = step_of(&plain, "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 1);
    step->overlap = 1;
    cr_expect_eq(dcli_overlap_check_received(step), DCL_ERR_PROTOCOL);
    step = step_of(&loop, "V(i,j) = U(i-1,j) + U(i+1,j);", 2, 0); /* reads outside the grid */
    step->overlap = 1;
    cr_expect_eq(dcli_overlap_check_received(step), DCL_ERR_PROTOCOL);
    cr_expect(strstr(dcl_error(), "which does not fit its body") != NULL, "%s", dcl_error());
    test_ops_free();
}

/* test/loop/lines_test.c - tests plans for arrays whose tiles have whole lines: a recurrence along lines is one operation, whose threads
 * compute a line each; what it reads of inputs; and which nests have no such operations. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "loop/inside.h"
#include "support/loop_arrays.h"
#include "support/nests.h"

TestSuite(loops_lines, .timeout = 120);

/* Axes that are whole, as bits: lines along axis 1 are rows. GATHERED: lines along the other axes may be gathered. */
enum { ROWS = 2, COLUMNS = 1, GATHERED = 8 };

/* Plan a nest with arrays A (input), B, C [10][10], T [10][10][10], x [10] and n = 10. */
static dcli_loops_plan *make(const char *text, unsigned whole)
{
    static dcli_loops_name names[] = {
        /* plans borrow them */
        ARRAY("A", DCL_ACCESS_IN, 2, 10, 10),
        ARRAY("B", DCL_ACCESS_INOUT, 2, 10, 10),
        ARRAY("C", DCL_ACCESS_INOUT, 2, 10, 10),
        ARRAY("T", DCL_ACCESS_INOUT, 3, 10, 10, 10),
        ARRAY("x", DCL_ACCESS_INOUT, 1, 10),
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 10},
    };
    dcli_loops_plan *plan = NULL;
    for (size_t a = 0; a < sizeof names / sizeof names[0]; a++)
        names[a].whole = whole % GATHERED, names[a].gather = whole < GATHERED ? 0 : ~whole % GATHERED;
    dcl_status status = dcli_loops_plan_make(text, (int)(sizeof names / sizeof names[0]), names, &plan);
    cr_assert_eq(status, DCL_OK, "%s", dcl_error());
    return plan;
}

struct lines_case {
    char what[72];
    unsigned whole;
    char text[400], plan[600];
};

ParameterizedTestParameters(loops_lines, plans)
{
    static struct lines_case cases[] = {
        {"a recurrence along rows", ROWS, "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] += C[i][j-1];",
         "operation 0: S0 writes C; i (line 1) parallel; j (line 1) in order; lines along axis 1\n"},
        {"rows that are divided", COLUMNS, "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] += C[i][j-1];",
         "program: j (line 1)\n  operation 0: S0 writes C; i (line 1) parallel\n"},
        {"rows that are gathered", COLUMNS | GATHERED,
         "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] += C[i][j-1];",
         "operation 0: S0 writes C; i (line 1) parallel; j (line 1) in order; lines along axis 1, gathered\n"},
        {"whole lines before those that are gathered", COLUMNS | GATHERED,
         "for (t = 0; t < n; t++) {\n for (i = 1; i < n; i++) for (j = 0; j < n; j++) B[i][j] -= 0.5 * B[i-1][j];\n"
         " for (i = 0; i < n; i++) for (j = 1; j < n; j++) B[i][j] -= 0.5 * B[i][j-1]; }",
         "program: t (line 1)\n"
         "  operation 0: S0 writes B; i (line 2) in order; j (line 2) parallel; lines along axis 0\n"
         "  operation 1: S1 writes B; i (line 3) parallel; j (line 3) in order; lines along axis 1, gathered\n"},
        {"backwards along columns", COLUMNS,
         "for (i = n - 2; i >= 0; i--) for (j = 0; j < n; j++) C[i][j] += C[i+1][j] * A[j][i];",
         "operation 0: S0 writes C; i (line 1) in order; j (line 1) parallel; lines along axis 0\n"},
        {"values in variables", ROWS,
         "for (i = 0; i < n; i++) { double s = 0;\n for (j = 0; j < n; j++) { s = 0.5 * s + A[i][j]; C[i][j] = s; } }",
         "operation 0: S0 S1 S2 writes C; i (line 1) parallel; j (line 2) in order; lines along axis 1\n"},
        {"first elements, and two arrays", ROWS,
         "for (i = 0; i < n; i++) { C[i][0] = 1; B[i][0] = 2;\n for (j = 1; j < n; j++) {\n C[i][j] = C[i][j-1] * "
         "0.5;\n"
         " B[i][j] = B[i][j-1] + C[i][j-1]; } }",
         "operation 0: S0 S1 S2 S3 writes C, B; i (line 1) parallel; j (line 2) in order; lines along axis 1\n"},
        {"elements stay elements", ROWS,
         "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] = C[i][j-1] * 0.5;\n"
         "for (i = 0; i < n; i++) for (j = 0; j < n; j++) B[i][j] = C[i][j];",
         "operation 0: S0 writes C; i (line 1) parallel; j (line 1) in order; lines along axis 1\n"
         "operation 1: S1 writes B; i (line 2) parallel; j (line 2) parallel\n"},
        {"in a time loop", ROWS | COLUMNS,
         "for (t = 0; t < n; t++) {\n for (i = 1; i < n; i++) for (j = 0; j < n; j++) B[i][j] -= 0.5 * B[i-1][j];\n"
         " for (i = 0; i < n; i++) for (j = 1; j < n; j++) B[i][j] -= 0.5 * B[i][j-1]; }",
         "program: t (line 1)\n"
         "  operation 0: S0 writes B; i (line 2) in order; j (line 2) parallel; lines along axis 0\n"
         "  operation 1: S1 writes B; i (line 3) parallel; j (line 3) in order; lines along axis 1\n"},
        {"planes", 2,
         "for (i = 0; i < n; i++) for (j = 1; j < n; j++) for (k = 0; k < n; k++) T[i][j][k] += T[i][j-1][k];",
         "operation 0: S0 writes T; i (line 1) parallel; j (line 1) in order; k (line 1) parallel; lines along axis "
         "1\n"},
        {"other lines are read", ROWS,
         "for (i = 1; i < n; i++) for (j = 1; j < n; j++) C[i][j] += C[i][j-1] + C[i-1][j];",
         "program: i (line 1), j (line 1); nothing in parallel\n"},
        {"sums of many terms", ROWS,
         "for (i = 0; i < n; i++) for (j = 1; j < n; j++)\n for (k = 0; k < j; k++) C[i][j] -= A[k][j] * C[i][k];",
         "program: j (line 1)\n  operation 0: S0 writes C; i (line 1) parallel; k (line 2) in order\n"},
        {"nothing but one line", 1, "for (i = 1; i < n; i++) x[i] += x[i-1];",
         "program: i (line 1); nothing in parallel\n  operation 0: S0 writes x; one thread\n"},
    };
    return cr_make_param_array(struct lines_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct lines_case *c, loops_lines, plans)
{
    dcli_loops_plan *plan = make(c->text, c->whole);
    dcli_text text = {0};
    dcli_loops_plan_print(plan, &text);
    if (strstr(c->plan, "nothing in parallel") != NULL)
        cr_expect(strstr(text.bytes, "lines along") == NULL, "%s:\n%s", c->what, text.bytes);
    else
        cr_expect_str_eq(text.bytes, c->plan, "%s:\n%s", c->what, text.bytes);
    cr_expect_eq(dcli_loops_plan_has_lines(plan), strstr(c->plan, "lines along") != NULL, "%s", c->what);
    dcli_text_free(&text);
    dcli_loops_plan_free(plan);
}

/* ---- what is read ---------------------------------------------------------------------------------------------------- */

struct read_case {
    char what[48], text[240];
    int axis, tile_start, tile_count, tile_stride; /* the threads of a tile */
    char read[32];                                 /* of A: `1..4 x 0..8` */
};

static dcl_status note_call(void *user, const dcli_loops_call *call)
{
    struct read_case *c = ((void **)user)[0];
    char *found = ((void **)user)[1];
    dcl_grid grid = dcl_grid_2d(DCL_DOUBLE, 10, 10);
    dcl_box box = call->box, reads;
    int other = 1 - call->along;
    box.start[other] = c->tile_start;
    box.count[other] = c->tile_count;
    box.stride[other] = c->tile_stride;
    cr_assert_eq(call->along, c->axis, "%s", c->what);
    strcpy(found, "nothing");
    for (int k = 0; k < call->operand_count; k++)
        if (call->operand[k].access == DCL_ACCESS_IN && dcli_loops_lines_read(call, k, &grid, &box, &reads))
            snprintf(found, 32, "%d..%d x %d..%d", (int)reads.start[0], (int)(reads.start[0] + reads.count[0]) - 1,
                     (int)reads.start[1], (int)(reads.start[1] + reads.count[1]) - 1);
    return DCL_OK;
}

ParameterizedTestParameters(loops_lines, reads)
{
    static struct read_case cases[] = {
        {"the same line", "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] = C[i][j-1] + A[i][j];", 1, 2, 3, 1,
         "2..4 x 1..9"},
        {"neighbours of a transposed line",
         "for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++) C[i][j] = C[i][j-1] + A[j][i-1] - A[j-1][i+1];", 1, 2,
         3, 1, "0..8 x 1..5"},
        {"lines with gaps between them",
         "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] = C[i][j-1] + A[i][j-1];", 1, 1, 3, 2, "1..5 x 0..8"},
        {"mirrored", "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[9 - i][j] = C[9 - i][j-1] + A[i][9 - j];", 1, 2,
         3, 1, "5..7 x 0..8"},
        {"along columns, cut at the edge",
         "for (i = 1; i < n; i++) for (j = 0; j < n; j++) C[i][j] = C[i-1][j] + (j < 8 ? A[i][j + 2] : 0.0);", 0, 7, 3,
         1, "1..9 x 9..9"},
        {"by the counter of the program",
         "for (t = 3; t < 4; t++) { for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] = C[i][j-1] + A[t][i];\n"
         " for (i = 0; i < n; i++) for (j = 1; j < n; j++) B[j][i] = C[i][j] + C[j][i] + B[i][j]; }",
         1, 2, 3, 1, "3..3 x 2..4"},
    };
    return cr_make_param_array(struct read_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status note_lines(void *user, const dcli_loops_call *call)
{
    return call->along >= 0 ? note_call(user, call) : DCL_OK;
}

ParameterizedTest(struct read_case *c, loops_lines, reads)
{
    dcli_loops_plan *plan = make(c->text, ROWS | COLUMNS);
    char found[32] = "no operation on lines";
    cr_expect_eq(dcli_loops_plan_walk(plan, note_lines, (void *[]){c, found}), DCL_OK);
    cr_expect_str_eq(found, c->read, "%s: %s", c->what, found);
    dcli_loops_plan_free(plan);
}

/* ---- verification ---------------------------------------------------------------------------------------------------- */

/* As if the line above could be read while it is computed. */
Test(loops_lines, a_dependence_between_lines_is_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] += C[i][j-1];", ROWS);
    dcli_loops_operation *operation = plan->operation[0];
    cr_assert_eq(operation->along, 1);
    isl_map_free(operation->threads[0]);
    operation->threads[0] =
        isl_map_read_from_str(plan->sets->ctx, "{ S0[i, j] -> [j, 0] : 0 <= i <= 9 and 1 <= j <= 9 }");
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

Test(loops_lines, random_recurrences_are_operations_on_lines)
{
    for (int64_t n = 1; n <= 40; n++) {
        dcli_text text = {0}, printed = {0};
        dcli_loops_plan *plan = NULL;
        dcli_loops_name names[TEST_NEST_ARRAYS];
        memset(names, 0, sizeof names);
        for (int a = 0; a < TEST_NEST_ARRAYS; a++) {
            names[a] = (dcli_loops_name){
                .access = DCL_ACCESS_INOUT,
                .type = DCL_DOUBLE,
                .whole = n % 2 == 0 ? ROWS : COLUMNS,
                .grid = {.rank = test_nest_ranks[a], .type = DCL_DOUBLE, .extent = {TEST_NEST_EDGE, TEST_NEST_EDGE}}};
            strcpy(names[a].name, test_nest_names[a]);
        }
        test_nest_lines_put(&text, n, n % 2 == 0);
        cr_assert_eq(dcli_loops_plan_make(text.bytes, TEST_NEST_ARRAYS, names, &plan), DCL_OK,
                     "nest %" PRId64 ": %s\n%s", n, dcl_error(), text.bytes);
        dcli_loops_plan_print(plan, &printed);
        cr_expect(dcli_loops_plan_has_lines(plan) && strstr(printed.bytes, "program") == NULL,
                  "nest %" PRId64 ":\n%s\n%s", n, text.bytes, printed.bytes);
        dcli_loops_plan_free(plan);
        dcli_text_free(&printed);
        dcli_text_free(&text);
    }
}

/* test/loop/plan_test.c - tests the plans of loop nests: which loops are found parallel, what stands in the way of others, and that
 * a plan that violates a dependence is found out. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/error.h"
#include "loop/inside.h"
#include "support/loop_arrays.h"

TestSuite(loops_plan, .timeout = 120);

/* Arrays A[10][10] (input), B[10][10], C[10][10], x[10], y[10], z[19], w[10] (output); n = 10. */
static dcli_loops_name names[] = {
    ARRAY("A", DCL_ACCESS_IN, 2, 10, 10),
    ARRAY("B", DCL_ACCESS_INOUT, 2, 10, 10),
    ARRAY("C", DCL_ACCESS_INOUT, 2, 10, 10),
    ARRAY("x", DCL_ACCESS_INOUT, 1, 10),
    ARRAY("y", DCL_ACCESS_INOUT, 1, 10),
    ARRAY("z", DCL_ACCESS_INOUT, 1, 19),
    ARRAY("w", DCL_ACCESS_OUT, 1, 10),
    ARRAY("A3", DCL_ACCESS_IN, 3, 10, 10, 10),
    {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 10},
};
enum { NAMES = sizeof names / sizeof names[0] };

struct plan_case {
    char what[64], text[320], plan[800];
};

ParameterizedTestParameters(loops_plan, plans)
{
    static struct plan_case cases[] = {
        {"elements", "for (i = 0; i < n; i++) for (j = 0; j < n; j++) C[i][j] = A[j][i];",
         "operation 0: S0 writes C; i (line 1) parallel; j (line 1) parallel\n"},
        {"a product: the sum in order",
         "for (i = 0; i < n; i++) for (k = 0; k < n; k++) for (j = 0; j < n; j++)\nC[i][j] += A[i][k] * B[k][j];",
         "operation 0: S0 writes C; i (line 1) parallel; k (line 1) in order; j (line 1) parallel\n"},
        {"a product of polynomials", "for (i = 0; i < n; i++) for (j = 0; j < n; j++) z[i+j] += x[i] * y[j];",
         "operation 0: S0 writes z; i (line 1) in order; j (line 1) parallel\n"},
        {"statements of one element together",
         "for (i = 0; i < n; i++) { y[i] = 0;\n for (j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }",
         "operation 0: S0 S1 writes y; i (line 1) parallel; j (line 2) in order\n"},
        {"two results of one loop",
         "for (i = 0; i < n; i++) { y[i] = 0;\n for (j = 0; j < n; j++) { x[j] += A[i][j]; y[i] += A[i][j]; } }",
         "operation 0: S0 S2 writes y; i (line 1) parallel; j (line 2) in order\n"
         "operation 1: S1 writes x; i (line 1) in order; j (line 2) parallel\n"},
        {"shortest paths: loops are cut at row k and column k",
         "for (k = 0; k < n; k++)\n for (i = 0; i < n; i++)\n for (j = 0; j < n; j++)\n"
         " C[i][j] = fmin(C[i][j], C[i][k] + C[k][j]);",
         "program: k (line 1)\n"
         "  operation 0: S0 S3 writes C; i (line 2) parallel; j (line 3) parallel; j (line 3) parallel\n"
         "  operation 1: S1 S5 writes C; i (line 2) parallel; j (line 3) parallel; j (line 3) parallel\n"
         "  operation 2: S2 S7 writes C; i (line 2) parallel; j (line 3) parallel; j (line 3) parallel\n"
         "  operation 3: S4 writes C; i (line 2) parallel; j (line 3) parallel\n"
         "  operation 4: S6 writes C; i (line 2) parallel; j (line 3) parallel\n"
         "  operation 5: S8 writes C; i (line 2) parallel; j (line 3) parallel\n"},
        {"an element that changes on the way", "for (j = n - 1; j >= 0; j--) x[j] = x[j] * x[3] + y[j];",
         "operation 0: S0 writes x; j (line 1) parallel\n"
         "operation 1: S1 writes x; j (line 1) parallel\n"
         "operation 2: S2 writes x; j (line 1) parallel\n"},
        {"a time loop",
         "for (t = 0; t < n; t++) {\n for (i = 1; i < n - 1; i++) y[i] = x[i-1] + x[i+1];\n for (i = 1; i < n - 1; "
         "i++) x[i] = y[i]; }",
         "program: t (line 1)\n"
         "  operation 0: S0 writes y; i (line 2) parallel\n"
         "  operation 1: S1 writes x; i (line 3) parallel\n"},
        {"rows after each other", "for (i = 1; i < n; i++) for (j = 0; j < n; j++) C[i][j] += C[i-1][j];",
         "program: i (line 1)\n  operation 0: S0 writes C; j (line 1) parallel\n"},
        {"columns after each other", "for (i = 0; i < n; i++) for (j = 1; j < n; j++) C[i][j] += C[i][j-1];",
         "program: j (line 1)\n  operation 0: S0 writes C; i (line 1) parallel\n"},
        {"downwards", "for (i = n - 2; i >= 0; i--) for (j = 0; j < n; j++) C[i][j] += C[i+1][j];",
         "program: i (line 1)\n  operation 0: S0 writes C; j (line 1) parallel\n"},
        {"reads of rows that are written later",
         "for (i = 0; i < n; i++) for (j = 0; j < n; j++)\n for (k = i + 1; k < n; k++) B[i][j] += A[k][i] * B[k][j];",
         "operation 0: S0 writes B; i (line 1) parallel; j (line 1) parallel; k (line 2) in order\n"},
        {"a triangle", "for (i = 0; i < n; i++) for (j = 0; j <= i; j++) C[i][j] = x[j];",
         "operation 0: S0 writes C; i (line 1) parallel; j (line 1) parallel\n"},
        {"a variable", "for (i = 0; i < n; i++) { double s = 0; for (j = 0; j < n; j++) s += A[i][j]; y[i] = s; }",
         "operation 0: S0 S1 S2 writes y; i (line 1) parallel; j (line 1) in order\n"},
        {"a variable declared outside", "double s; for (i = 0; i < n; i++) { s = x[i]; y[i] = s * s; }",
         "operation 0: S0 S1 writes y; i (line 1) parallel\n"},
        {"one after the other", "for (i = 0; i < n; i++) y[i] = x[i]; for (i = 0; i < n; i++) x[i] = y[n-1-i];",
         "operation 0: S0 writes y; i (line 1) parallel\noperation 1: S1 writes x; i (line 1) parallel\n"},
        {"elements that are written later are copied", "for (i = 0; i < 9; i++) y[i] = x[i] + y[i+1];",
         "operation 0: S0 writes y; i (line 1) parallel\n"},
        {"red and black", "for (i = 2; i < n; i += 2) y[i] = y[i-1];",
         "operation 0: S0 writes y; i (line 1) parallel\n"},
        {"a recurrence", "for (i = 1; i < n; i++)\n    y[i] = y[i-1] + x[i];",
         "program: i (line 1); nothing in parallel\n  operation 0: S0 writes y; one thread\n"},
        {"a recurrence beside something parallel",
         "for (i = 1; i < n; i++) {\n y[i] = y[i-1] + x[i];\n C[i][i] = y[i]; }",
         "program: i (line 1); nothing in parallel\n  operation 0: S0 writes y; one thread\n"
         "operation 1: S1 writes C; i (line 1) parallel\n"},
        {"neighbours in place",
         "for (t = 0; t < 3; t++) for (i = 1; i < n-1; i++) for (j = 1; j < n-1; j++)\n"
         "    C[i][j] = C[i-1][j+1] + C[i+1][j-1] + C[i][j-1] + C[i][j+1];",
         "program: t (line 1); nothing in parallel\n  program: i (line 1); nothing in parallel\n"
         "    program: j (line 1); nothing in parallel\n      operation 0: S0 writes C; one thread\n"},
        {"a sum to one element", "for (i = 0; i < n; i++) y[0] += x[i];",
         "operation 0: S0 writes y; i (line 1) in order; one thread\n"},
        {"a variable with two users",
         "for (i = 0; i < n; i++) {\n double s = x[i];\n y[i] = s;\n for (j = 0; j < n; j++) C[j][i] = s; }",
         "operation 0: S0 S1 writes y; i (line 1) parallel\n"
         "operation 1: S2 S3 writes C; i (line 1) parallel; j (line 4) parallel\n"},
        {"constants with users in two operations",
         "double s = 0.5 * n, r; r = s - 1; for (t = 0; t < n; t++) {\n for (i = 1; i < 9; i++) y[i] = s * x[i-1];\n"
         " for (i = 1; i < 9; i++) x[i] = r * y[i+1]; }",
         "program: t (line 1)\n  operation 0: S2 writes y; i (line 2) parallel\n"
         "  operation 1: S3 writes x; i (line 3) parallel\n"},
        {"a variable from the iteration before", "double s = 0; for (i = 0; i < n; i++) { s += x[i]; y[i] = s; }",
         "operation 0: S0 writes s; one thread\nprogram: i (line 1); nothing in parallel\n"
         "  operation 1: S1 writes s; one thread\n  operation 2: S2 writes y; one thread\n"},
        {"a factor of the inner counter",
         "for (i = 0; i < 5; i++)\n for (j = 0; j < 7; j++) z[i + 2*j] += x[i] * y[j];",
         "operation 0: S0 writes z; i (line 1) parallel; j (line 2) in order\n"},
        {"factors of both counters", "for (i = 0; i < 2; i++) for (j = 0; j < 2; j++) z[2*i + 3*j] += x[i] * y[j];",
         "program: i (line 1); nothing in parallel\n  program: j (line 1); nothing in parallel\n"
         "    operation 0: S0 writes z; one thread\n"},
        {"a factor in what is written", "for (i = 0; i < 5; i++) y[2*i] = 1;",
         "program: i (line 1); nothing in parallel\n  operation 0: S0 writes y; one thread\n"},
        {"a triangular system: column by column",
         "for (i = 0; i < n; i++) {\n y[i] = x[i];\n for (j = 0; j < i; j++) y[i] -= A[i][j] * y[j];\n"
         " y[i] /= A[i][i]; }",
         "operation 0: S0 writes y; i (line 1) parallel\n"
         "program: i (line 1), j (line 3)\n"
         "  operation 1: S2 writes y; one thread\n"
         "  operation 2: S1 writes y; i (line 1) parallel\n"},
        {"factors: the rest of the matrix after each pivot",
         "for (i = 0; i < n; i++) {\n for (j = 0; j < i; j++) {\n  for (k = 0; k < j; k++) C[i][j] -= C[i][k] * "
         "C[k][j];\n"
         "  C[i][j] /= C[j][j]; }\n"
         " for (j = i; j < n; j++)\n  for (k = 0; k < i; k++) C[i][j] -= C[i][k] * C[k][j]; }",
         "program: j (line 2), k (line 3), k (line 6)\n"
         "  operation 0: S1 writes C; i (line 1) parallel\n"
         "  operation 1: S0 S2 writes C; i (line 1) parallel; j (line 2) parallel; j (line 5) parallel\n"},
        {"a loop of no iterations", "for (i = n; i < n; i++) y[i] = x[i];",
         "operation 0: S0 writes y; i (line 1) parallel\n"},
    };
    return cr_make_param_array(struct plan_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct plan_case *c, loops_plan, plans)
{
    dcli_loops_plan *plan = NULL;
    dcli_text printed = {0};
    cr_assert_eq(dcli_loops_plan_make(c->text, NAMES, names, &plan), DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_loops_plan_print(plan, &printed);
    cr_expect_str_eq(printed.bytes, c->plan, "%s:\n%s", c->what, printed.bytes);
    dcli_text_free(&printed);
    dcli_loops_plan_free(plan);
}

/* ---- explained ------------------------------------------------------------------------------------------------------ */

struct explained_case {
    char what[48], text[200], explained[1400];
};

ParameterizedTestParameters(loops_plan, explained)
{
    static struct explained_case cases[] = {
        {"a product of polynomials", "for (i = 0; i < n; i++)\n for (j = 0; j < n; j++) z[i+j] += x[i] * y[j];",
         "operation 0\n"
         "  a thread for each z[i + j] (line 2): 19\n"
         "  thread number i + j (line 2): 19; found by Farkas' lemma, by isl's scheduler; verified\n"
         "  loop i (line 1): a reduction: each thread adds up z[i + j] in the order of the loop\n"
         "  loop j (line 2): parallel: its counter follows from the element, so each thread has one iteration\n"
         "verified: 3 dependences, each within a thread or from an earlier step to a later one\n"},
        {"diagonals", "for (i = 1; i < n; i++)\n for (j = 1; j < n; j++) C[i][j] = C[i-1][j-1];",
         "loop i (line 1): in order, run by the program\n"
         "  because the iterations of loop j cannot run in parallel: C is written by one iteration and read by a later "
         "one\n"
         "  note: written at i = 1, j = 1 (line 2), read at i = 2, j = 2 (line 2)\n"
         "  thread number i - j + 8 (line 2): 17; found by Farkas' lemma, by isl's scheduler; verified\n"
         "  operation 0\n"
         "    a thread for each C[i][j] (line 2): 1 x 9\n"
         "    thread number j - 1 (line 2): 9; found in the loops as written, by Farkas' lemma, by isl's scheduler; "
         "verified\n"
         "    loop j (line 2): parallel: its counter follows from the element, so each thread has one iteration\n"
         "verified: 1 dependence, each within a thread or from an earlier step to a later one\n"},
        {"a loop of the program", "for (i = 1; i < n; i++)\n for (j = 0; j < n; j++) C[i][j] = C[i-1][j] + C[i][j+0];",
         "loop i (line 1): in order, run by the program\n"
         "  because the iterations of loop j cannot run in parallel: C is written by one iteration and read by a later "
         "one\n"
         "  note: written at i = 1, j = 0 (line 2), read at i = 2, j = 0 (line 2)\n"
         "  thread number j (line 2): 10; found in the loops as written, by Farkas' lemma, by isl's scheduler; "
         "verified\n"
         "  operation 0\n"
         "    a thread for each C[i][j] (line 2): 1 x 10\n"
         "    thread number j (line 2): 10; found in the loops as written, by Farkas' lemma, by isl's scheduler; "
         "verified\n"
         "    loop j (line 2): parallel: its counter follows from the element, so each thread has one iteration\n"
         "verified: 1 dependence, each within a thread or from an earlier step to a later one\n"},
        {"a copy", "for (i = 0; i < 9; i++) y[i] += y[i+1];",
         "operation 0\n"
         "  a thread for each y[i] (line 1): 9\n"
         "  thread number i (line 1): 9; found in the loops as written, by Farkas' lemma, by isl's scheduler; "
         "verified\n"
         "  loop i (line 1): parallel: its counter follows from the element, so each thread has one iteration\n"
         "  before it, elements of y that other threads write are copied\n"
         "verified: 1 dependence, each within a thread or from an earlier step to a later one\n"},
        {"a triangle", "for (i = 0; i < n; i++)\n for (j = 0; j <= i; j++) C[i][j] = A[i][j];",
         "operation 0\n"
         "  a thread for each C[i][j] (line 2): 10 x 10, where j <= i (i, j, ...: the subscripts)\n"
         "  thread number (i, j) (line 2): 10 x 10; found in the loops as written, by Farkas' lemma, by isl's "
         "scheduler; "
         "verified\n"
         "  loop i (line 1): parallel: its counter follows from the element, so each thread has one iteration\n"
         "  loop j (line 2): parallel: its counter follows from the element, so each thread has one iteration\n"
         "  reads 55 elements of A, in a box of 100\n"
         "verified: 0 dependences, each within a thread or from an earlier step to a later one\n"},
        {"nothing in parallel", "for (i = 1; i < n; i++) y[i] = y[i-1];",
         "loop i (line 1): in order, run by the program; nothing in it is parallel\n"
         "  because the iterations of loop i cannot run in parallel: y is written by one iteration and read by a later "
         "one\n"
         "  note: written at i = 1 (line 1), read at i = 2 (line 1)\n"
         "  operation 0: one thread, nothing in parallel\n"
         "    a thread for each y[i] (line 1): 1\n"
         "verified: 1 dependence, each within a thread or from an earlier step to a later one\n"},
    };
    return cr_make_param_array(struct explained_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct explained_case *c, loops_plan, explained)
{
    dcli_loops_plan *plan = NULL;
    dcli_text printed = {0};
    cr_assert_eq(dcli_loops_plan_make(c->text, NAMES, names, &plan), DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_loops_plan_explain(plan, &printed);
    cr_expect_str_eq(printed.bytes, c->explained, "%s:\n%s", c->what, printed.bytes);
    dcli_text_free(&printed);
    dcli_loops_plan_free(plan);
}

Test(loops_plan, what_is_not_parallel_is_said)
{
    static const struct {
        const char *text, *warning; /* NULL: none */
    } cases[] = {
        {"for (i = 1; i < n; i++) y[i] = y[i-1];",
         "nest:1:32: warning: the iterations of loop i cannot run in parallel"},
        {"for (i = 0; i < n; i++) y[0] += x[i];", "nest:1:25: warning: one thread runs the loops"},
        {"for (i = 0; i < 5; i++) y[2*i] = 1;", "nest:1:25: warning: the counter in a subscript of y"},
        {"for (t = 0; t < 2; t++) {\n for (i = 0; i < n; i++) x[i] = y[i];\n for (i = 1; i < n; i++) y[i] = y[i-1] + "
         "x[i];\n}",
         "nest:3:33: warning: the iterations of loop i cannot"},
        {"for (i = 0; i < 9; i++) y[i] = y[i+1];", NULL},
        {"y[0] = 1;", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dcli_loops_plan *plan = NULL;
        dcli_text said = {0};
        cr_assert_eq(dcli_loops_plan_make(cases[k].text, NAMES, names, &plan), DCL_OK, "%s", dcl_error());
        cr_expect_eq(dcli_loops_plan_warn(plan, true, &said), cases[k].warning != NULL, "%s: %s", cases[k].text,
                     said.bytes);
        if (cases[k].warning != NULL)
            cr_expect(said.bytes != NULL && strncmp(said.bytes, cases[k].warning, strlen(cases[k].warning)) == 0,
                      "%s: %s", cases[k].text, said.bytes);
        dcli_text_free(&said);
        dcli_loops_plan_free(plan);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

struct refused_case {
    char what[48], text[280], error[200], note[200];
};

ParameterizedTestParameters(loops_plan, refused)
{
    static struct refused_case cases[] = {
        {"outside of the array", "for (i = 0; i < n; i++)\n  y[i] = x[i+1];",
         "nest:2:10: error: subscript 1 of x is 10, outside of 0..9 [out-of-bounds]", "at i = 9; narrow the loop"},
        {"outside of one axis", "for (i = 0; i < n; i++) for (j = i; j <= n; j++) C[i][j] = 1;",
         "nest:1:50: error: subscript 2 of C is 10, outside of 0..9 [out-of-bounds]", "at i = 0, j = 10"},
        {"outside where a condition is false", "for (i = 0; i < n; i++) y[i] = i > 1 ? x[i-2] : x[i-1];",
         "nest:1:49: error: subscript 1 of x is -1, outside of 0..9 [out-of-bounds]", "at i = 0"},
        {"an output that is read", "for (i = 0; i < n; i++) w[i] += x[i];",
         "nest:1:25: error: w is read before the nest assigns it [unassigned]",
         "it is a DCL_OUT; pass it as DCL_INOUT"},
        {"a variable that is read", "for (i = 0; i < n; i++) { double s; if (i > 3) s = 1; y[i] = s; }",
         "nest:1:62: error: s is read before the nest assigns it [unassigned]", "at i = 0; give it a value"},
        {"a variable that would be a large array",
         "for (h = 0; h < 2000; h++) for (i = 0; i < 2000; i++) for (j = 0; j < 2000; j++) {\n"
         "  double s = 0;\n  for (k = 0; k < n; k++) { s = s / 2 + x[k]; y[k] += s; } }",
         "nest:3:33: error: the variable s carries a value between iterations that would run in parallel [scalar]",
         "assigned at h = 0, i = 0, j = 0, k = 0 (line 3)"},
        {"too many operations of one thread",
         "for (t = 0; t < 10000; t++)\n  for (i = 1; i < n; i++) y[i] = y[i-1] + x[i];",
         "nest:2:34: error: the iterations of loop i cannot run in parallel: y is written by one iteration and read by "
         "a later one [carried]",
         "more than 16384 operations of one thread each"},
    };
    return cr_make_param_array(struct refused_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct refused_case *c, loops_plan, refused)
{
    dcli_loops_plan *plan = NULL;
    dcl_status status = dcli_loops_plan_make(c->text, NAMES, names, &plan);
    cr_expect_eq(status, DCL_ERR_BODY, "%s: accepted", c->what);
    cr_expect_eq(strncmp(dcli_error_sentence(), c->error, strlen(c->error)), 0, "%s: %s", c->what, dcl_error());
    cr_expect(strstr(dcl_error(), c->note) != NULL, "%s: %s", c->what, dcl_error());
    dcli_loops_plan_free(plan);
}

Test(loops_plan, a_nest_that_is_too_hard_is_refused)
{
    /* many subscripts of many counters, at each other: far beyond the limit of operations */
    dcli_text text = {0};
    dcli_text_put(&text,
                  "for (a = 0; a < 2; a++) for (b = a; b < 9; b++) for (c = 0; c < b; c++) for (d = c; d < 7; d += 2)\n"
                  "for (e = 0; e < d; e++) for (f = e; f < 9; f += 3) for (g = 0; g < f; g++) {");
    for (int k = 0; k < 12; k++)
        dcli_text_put(&text, "C[b][d] += A3[%d*a+b-c+d][e+f-g][c-d+e] * A[a+b-d][f-e+%d] * B[a][g] * C[c][e];", k % 3,
                      k % 2);
    dcli_text_put(&text, "}");
    dcli_loops_complaints complaints = {.text = text.bytes};
    dcli_loops_tree *tree = dcli_loops_parse(text.bytes, NAMES, names, &complaints);
    cr_assert(tree != NULL && complaints.count == 0);
    dcli_loops_sets *sets = dcli_loops_sets_make(tree, 20000, &complaints);
    cr_expect(sets != NULL && sets->failed, "20,000 operations were enough");
    dcli_loops_sets_free(sets);
    dcli_loops_complaints_free(&complaints);
    dcli_loops_tree_free(tree);
    dcli_text_free(&text);
}

/* ---- verification -------------------------------------------------------------------------------------------------- */

static dcli_loops_plan *make(const char *text)
{
    dcli_loops_plan *plan = NULL;
    cr_assert_eq(dcli_loops_plan_make(text, NAMES, names, &plan), DCL_OK, "%s", dcl_error());
    cr_assert(dcli_loops_verify(plan));
    return plan;
}

Test(loops_plan, operations_in_another_order_are_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < n; i++) y[i] = x[i]; for (i = 0; i < n; i++) x[i] = y[i] + 1;");
    dcli_loops_step *first = plan->first, *second = first->next;
    plan->first = second;
    second->next = first;
    first->next = NULL;
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

Test(loops_plan, a_statement_without_an_operation_is_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < n; i++) { y[i] = x[i]; y[i] += 1; }");
    plan->operation[0]->statements &= ~(dcli_loops_mask)2;
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

/* All rows at once, which depend on each other: as if the program did not run the loop i. */
Test(loops_plan, threads_that_depend_on_each_other_are_found_out)
{
    dcli_loops_plan *plan = make("for (i = 1; i < n; i++) for (j = 0; j < n; j++) C[i][j] += C[i-1][j];");
    dcli_loops_operation *operation = plan->operation[0];
    isl_map_free(operation->threads[0]);
    operation->threads[0] =
        isl_map_read_from_str(plan->sets->ctx, "{ S0[i,j] -> [i,j] : 1 <= i <= 9 and 0 <= j <= 9 }");
    operation->hosts.count = 0;
    plan->first->operation = 0;
    cr_expect(!dcli_loops_verify(plan));
    plan->first->operation = -1;
    dcli_loops_plan_free(plan);
}

/* The loop of the program is that of another loop in one statement: as if its iterations could run earlier. */
Test(loops_plan, loops_beside_each_other_that_violate_a_dependence_are_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < n; i++) {\n for (j = 0; j < i; j++) y[i] -= A[i][j] * y[j];\n"
                                 " y[i] /= A[i][i]; }");
    cr_assert(plan->first->operation < 0 && plan->first->inside.depth[0][0] == 1);
    dcli_loops_step *second = plan->first->first->next;
    plan->first->first->next = NULL;
    second->next = plan->first->first; /* the divisions after the subtractions */
    plan->first->first = second;
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

/* A value that another thread has computed: as if the variable were shared. */
Test(loops_plan, values_that_do_not_reach_their_thread_are_found_out)
{
    dcli_loops_plan *plan = make("double s; for (i = 0; i < n; i++) { s = x[i]; y[i] = s; }");
    isl_map_free(plan->operation[0]->threads[0]);
    plan->operation[0]->threads[0] = isl_map_read_from_str(plan->sets->ctx, "{ S0[i] -> [9 - i] : 0 <= i <= 9 }");
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

/* An element that another thread writes later: as if it were not read from a copy. */
Test(loops_plan, a_copy_that_is_left_out_is_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < 9; i++) y[i] = y[i+1];");
    cr_assert(plan->operation[0]->copied[0][0]);
    plan->operation[0]->copied[0][0] = false;
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

/* The thread's own element, after it was written: as if it were read from the copy. */
Test(loops_plan, an_own_element_that_is_read_from_a_copy_is_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < n; i++) for (j = i; j < n; j++) y[i] += y[j];");
    cr_assert(plan->operation[0]->copied[0][0] && plan->operation[0]->mixed[0][0]);
    plan->operation[0]->mixed[0][0] = false;
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

/* The loop inside, which a thread runs around the other one, in the wrong direction: its sum in another order. */
Test(loops_plan, iterations_of_a_thread_in_another_order_are_found_out)
{
    dcli_loops_plan *plan = make("for (i = 0; i < 5; i++) for (j = 0; j < 7; j++) z[i + 2*j] += x[i] * y[j];");
    cr_assert_eq(plan->operation[0]->run[0].turned, -1);
    plan->operation[0]->run[0].turned = 1;
    cr_expect(!dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

/* ---- threads that are no box ------------------------------------------------------------------------------------------- */

/* Text of nests whose operations start exactly the threads that run an iteration. */
static const struct {
    const char *what, *text;
    int operations; /* whose threads are no box */
} exact[] = {
    {"syrk",
     "for (i = 0; i < n; i++) { for (j = 0; j <= i; j++) C[i][j] *= 2;\n"
     " for (k = 0; k < n; k++) for (j = 0; j <= i; j++) C[i][j] += A[i][k] * A[j][k]; }",
     1},
    {"the upper triangle",
     "for (i = 0; i < n; i++) for (j = i; j < n; j++) { C[i][j] = 0; for (k = 0; k < n; k++) C[i][j] += A[k][i] * "
     "A[k][j]; }",
     1},
    {"a band", "for (i = 0; i < n; i++) for (j = max(0, i - 2); j < min(n, i + 3); j++) C[i][j] += A[i][j];", 1},
    {"below an anti-diagonal", "for (i = 0; i < n; i++) for (j = n - 1 - i; j < n; j++) C[i][j] += A[i][j];", 1},
    {"cholesky",
     "for (i = 0; i < n; i++) {\n for (j = 0; j < i; j++) {\n  for (k = 0; k < j; k++) C[i][j] -= C[i][k] * C[j][k];\n"
     "  C[i][j] /= C[j][j]; }\n for (k = 0; k < i; k++) C[i][i] -= C[i][k] * C[i][k];\n C[i][i] = sqrt(C[i][i]); }",
     1},
    {"a triangle that shrinks with a loop of the program",
     "for (t = 0; t < n; t++) for (i = t; i < n; i++) for (j = t; j <= i; j++) C[i][j] = C[i][j] * 0.5 + B[i][j] + t;",
     1},
};

Test(loops_plan, only_threads_with_iterations_are_started)
{
    for (size_t k = 0; k < sizeof exact / sizeof exact[0]; k++) {
        dcli_loops_plan *plan = NULL;
        cr_assert_eq(dcli_loops_plan_make(exact[k].text, NAMES, names, &plan), DCL_OK, "%s: %s", exact[k].what,
                     dcl_error());
        int slanted = 0;
        for (int o = 0; o < plan->operation_count; o++) {
            const dcli_loops_operation *operation = plan->operation[o];
            isl_set *idle = isl_set_copy(operation->box);
            if (operation->over != NULL)
                idle = isl_set_intersect(idle, isl_set_copy(operation->over));
            for (int s = 0; s < plan->tree->statement_count; s++)
                if (operation->threads[s] != NULL)
                    idle = isl_set_subtract(idle, isl_map_range(isl_map_copy(operation->threads[s])));
            cr_expect(dcli_loops_no_set(plan->sets, idle), "%s: operation %d starts threads without iterations",
                      exact[k].what, o);
            slanted += operation->over != NULL;
        }
        cr_expect_eq(slanted, exact[k].operations, "%s: %d operations", exact[k].what, slanted);
        dcli_loops_plan_free(plan);
    }
}

/* A plan that leaves out threads with iterations is found out. */
Test(loops_plan, threads_that_are_missing_are_found)
{
    dcli_loops_plan *plan = NULL;
    cr_assert_eq(dcli_loops_plan_make(exact[0].text, NAMES, names, &plan), DCL_OK, "%s", dcl_error());
    cr_assert(dcli_loops_verify(plan));
    dcli_loops_operation *operation = plan->operation[0];
    isl_set_free(operation->over);
    operation->over = isl_set_read_from_str(plan->sets->ctx, "{ [x0,x1] : x1 < x0 }");
    cr_expect_not(dcli_loops_verify(plan));
    dcli_loops_plan_free(plan);
}

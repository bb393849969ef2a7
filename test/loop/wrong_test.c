/* test/loop/wrong_test.c - tests what is said of wrong loop nests: line, column, code, sentence and witness. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "loop/plan.h"
#include "support/loop_arrays.h"

/* Arrays A[n][m] (input), C[n][m], D[n][n], x[m], y[n], w[n] (output); scalars n = 20000, m = 40000 (int), alpha (double): loops in order
 * are refused from 16384 steps on. */
static const dcli_loops_name names[] = {
    ARRAY("A", DCL_ACCESS_IN, 2, 20000, 40000),
    ARRAY("C", DCL_ACCESS_INOUT, 2, 20000, 40000),
    ARRAY("D", DCL_ACCESS_INOUT, 2, 20000, 20000),
    ARRAY("x", DCL_ACCESS_INOUT, 1, 40000),
    ARRAY("y", DCL_ACCESS_INOUT, 1, 20000),
    ARRAY("w", DCL_ACCESS_OUT, 1, 20000),
    {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 20000},
    {.name = "m", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 40000},
    {.name = "alpha", .access = DCL_ACCESS_VALUE, .type = DCL_DOUBLE},
};
enum { NAMES = sizeof names / sizeof names[0] };

struct message_case {
    char what[48], text[240];
    int line, column;
    char code[20], said[100], note[120];
};

/* Not a parameterized test, which would be a process for each row. */
static const struct message_case cases[] = {
    {"a subscript of data", "for (i = 0; i < n; i++)\n\ty[i] = x[A[i][0]];", 2, 11, "data-subscript",
     "this subscript depends on data, so that what it touches is not known",
     "use counters and integer scalars; for elements named by data, use dcl_forall() with DCL_IN_ALL"},
    {"a variable as subscript", "for (i = 0; i < n; i++) {\n    int s = 2;\n    y[s] = 1; }", 3, 7, "data-subscript",
     "this subscript depends on data, so that what it touches is not known",
     "use counters and integer scalars; for elements named by data, use dcl_forall() with DCL_IN_ALL"},
    {"a bound of data", "for (i = 0; i < x[0]; i++) y[i] = 1;", 1, 17, "data-subscript",
     "this bound depends on data, so that how often the loop runs is not known",
     "use outer counters and integer scalars; for a loop until a condition, see dcl_iterate()"},
    {"a condition of data", "for (i = 0; i < n; i++)\n    if (x[i] > 0)\n        y[i] = 1;", 2, 9, "data-subscript",
     "this condition depends on data, so that where it holds is not known",
     "write x = condition ? new : x; in place of if"},
    {"a condition that is no comparison", "for (i = 0; i < n; i++)\n    if (i) y[i] = 1;", 2, 9, "condition",
     "this condition is no comparison of counters",
     "where it depends on data, write x = condition ? new : x; in place of if"},
    {"a function without a version for integers", "for (i = 0; i < n; i++)\n    y[i] = pow(2, 3);", 2, 12, "argument",
     "pow takes real numbers, but is given integers only", "write a real number, as 2.0, or a cast, as (double)i"},
    {"a root of a counter", "for (i = 0; i < n; i++) y[i] = 1 + sqrt(i);", 1, 36, "argument",
     "sqrt takes real numbers, but is given an integer", "write a real number, as 2.0, or a cast, as (double)i"},
    {"an argument too few", "for (i = 0; i < n; i++) y[i] = pow(x[i]);", 1, 32, "argument",
     "pow is given 1 argument; expected 2", "the functions are those of OpenCL C, on numbers"},
    {"arguments of two types", "for (i = 0; i < n; i++) y[i] = max(x[i], 0);", 1, 32, "argument",
     "max is given arguments of types double and int; expected one type",
     "write 0.0 in place of 0, or use fmax and fmin, which take integers beside reals"},
    {"a float beside a double", "for (i = 0; i < n; i++) y[i] = fmin(x[i], 2.0f * i);", 1, 32, "argument",
     "fmin is given arguments of types double and float; expected one type",
     "cast one of them, as (double)x[i]; a number of type float is written 2.0f"},
    {"a float in hexadecimal beside a double", "for (i = 0; i < n; i++) y[i] = fmin(x[i], 0x1p3f);", 1, 32, "argument",
     "fmin is given arguments of types double and float; expected one type",
     "cast one of them, as (double)x[i]; a number of type float is written 2.0f"},
    {"an unsigned integer beside another", "for (i = 0; i < n; i++) y[i] = mul24(3u, i);", 1, 32, "argument",
     "mul24 is given arguments of types uint and int; expected one type", "cast one of them, as (int)u"},
    {"a value of a function that is an integer", "for (i = 0; i < n; i++) y[i] = exp(isnan(x[i]) ? 1 : i);", 1, 32,
     "argument", "exp takes real numbers, but is given an integer",
     "write a real number, as 2.0, or a cast, as (double)i"},
    {"the absolute value of a real number", "for (i = 0; i < n; i++) y[i] = abs(x[i]);", 1, 32, "argument",
     "abs takes integers, but is given a double", "use fabs for floats and doubles"},
    {"a product of counters", "for (i = 0; i < n; i++)\n    for (j = 0; j < 2; j++)\n        y[i*j] = 1;", 3, 12,
     "product", "this subscript multiplies counters, so that it is not affine",
     "give the array one more axis, as A[i][j] in place of A[i*n+j]"},
    {"a product in a bound", "for (i = 0; i < n; i++)\n    for (j = 0; j < i * i; j++)\n        C[i][j] = 1;", 2, 23,
     "product", "this bound multiplies counters, so that it is not affine",
     "use sums of counters, multiplied by integers"},
    {"a quotient of a counter", "for (i = 0; i < n; i++) y[i / 2] = 1;", 1, 29, "division",
     "this subscript divides a counter, so that it is not affine",
     "let the loop run over the quotient, with another loop inside over the remainder"},
    {"a remainder of a counter", "for (i = 0; i < n; i++) y[i] = x[i % 3];", 1, 36, "division",
     "this subscript divides a counter, so that it is not affine",
     "let the loop run over the quotient, with another loop inside over the remainder"},
    {"a division by a negative number", "for (i = 0; i < n; i++) y[i] = x[7 / -2 + i];", 1, 36, "division",
     "this subscript divides by a negative number, which C rounds towards 0",
     "divide by a number above 0, and put the sign before the quotient"},
    {"a division by 0", "for (i = 0; i < n; i++) y[i] = x[i / (n - 20000)];", 1, 36, "division",
     "this subscript divides by 0", "divide by a number above 0, and put the sign before the quotient"},
    {"a real subscript", "for (i = 0; i < n; i++) y[i + 1.5] = 1;", 1, 31, "not-affine",
     "this subscript contains a number that is no integer", "write integers, counters and integer scalars"},
    {"a real scalar in a subscript", "for (i = 0; i < n; i++) y[i + alpha] = 1;", 1, 31, "not-affine",
     "this subscript contains a scalar that is no integer", "pass an integer as DCL_VALUE, of 64 bits with sign"},
    {"a function in a subscript", "for (i = 0; i < n; i++) y[i] = x[abs(i - 3)];", 1, 34, "not-affine",
     "this subscript is not affine", "use sums of counters, multiplied by integers"},
    {"a step that changes", "for (i = 1; i < n; i *= 2) y[i] = 1;", 1, 20, "step",
     "the step of this loop is not constant, or 0", "write i++, i--, i += 2 or i -= 2"},
    {"a step of 0", "for (i = 1; i < n; i += 0) y[i] = 1;", 1, 20, "step",
     "the step of this loop is not constant, or 0", "write i++, i--, i += 2 or i -= 2"},
    {"a step away from the limit", "for (i = 1; i < n; i--) y[i] = 1;", 1, 15, "step",
     "this loop counts down, away from its limit", "write < or <= with a step above 0, > or >= with a step below 0"},
    {"a step of another counter", "for (i = 0; i < n; j++) y[i] = 1;", 1, 20, "step",
     "this loop does not change its counter, i", "write i++, i--, i += 2 or i -= 2"},
    {"a limit by !=", "for (i = 0; i != n; i++) y[i] = 1;", 1, 15, "for",
     "the condition of this loop is no comparison by < <= > or >=", "write for (i = 0; i < n; i++)"},
    {"a counter that is real", "for (float i = 0; i < n; i++) y[i] = 1;", 1, 12, "for",
     "the counter of a loop is an int or a long", "write for (int i = 0; i < n; i++)"},
    {"a bound of too many parts", "for (i = max(0, 1, 2, 3, 4); i < n; i++)\n    y[i] = 1;", 1, 26, "too-large",
     "this bound has more than 4 parts", "write some of them as an if inside of the loop"},
    {"a counter twice", "for (i = 0; i < n; i++)\n    for (i = 0; i < 2; i++)\n        y[i] = 1;", 2, 5, "assigned",
     "i is the counter of a loop around this one, too", "choose another name"},
    {"a counter assigned", "for (i = 0; i < n; i++) {\n    y[i] = 1;\n    i = i + 2;\n}", 3, 5, "assigned",
     "i is a counter, which is not assigned in a nest",
     "assign to an element, or to a variable that the nest declares"},
    {"a bound beyond 64 bits", "for (i = 0; i < -9223372036854775807 - 1; i++) y[i] = 1;", 1, 38, "overflow",
     "this bound does not fit 64 bits", "pass smaller numbers"},
    {"while", "for (i = 0; i < n; i++)\n  while (1) y[i] = 1;", 2, 3, "while",
     "how often this loop runs is not known before it runs",
     "write for with bounds that do not depend on data; for a loop until a condition, see dcl_iterate()"},
    {"break", "for (i = 0; i < n; i++) {\n y[i] = 1;\n break; }", 3, 2, "break", "a nest leaves no loop early",
     "write the condition into the bounds of the loop, or use if"},
    {"continue", "for (i = 0; i < n; i++) {\n if (i == 3) continue;\n y[i] = 1; }", 2, 14, "break",
     "a nest leaves no loop early", "write the condition into the bounds of the loop, or use if"},
    {"return", "for (i = 0; i < n; i++) {\n    y[i] = 1;\n    return;\n}", 3, 5, "statement",
     "a nest consists of for, if and assignments", "use if and else"},
    {"a call as statement", "for (i = 0; i < n; i++)\n    print(y[i]);", 2, 5, "statement",
     "a call is no statement of a nest, which consists of assignments", "assign its value to an element"},
    {"an array declared", "for (i = 0; i < n; i++) {\n    double s[3];\n    y[i] = 1; }", 2, 13, "statement",
     "a nest declares no arrays", "pass an array of the call"},
    {"a pointer", "for (i = 0; i < n; i++) *y = 1;", 1, 25, "statement", "a nest has no pointers",
     "pass an array, and write x[0] in place of *x"},
    {"another operator", "for (i = 0; i < n; i++) y[i] %= 2;", 1, 30, "operator",
     "this operator is none of = += -= *= /=", "write x += 1, or x = x % y"},
    {"an increment inside", "for (i = 0; i < n; i++) y[i] = x[i]++;", 1, 36, "statement",
     "an expression changes a variable", "write an assignment of its own"},
    {"an assignment inside", "for (i = 0; i < n; i++) y[i] = (w[i] = 1);", 1, 38, "statement",
     "an expression changes a variable", "write an assignment of its own"},
    {"an unknown function", "for (i = 0; i < n; i++) y[i] = foo(x[i]);", 1, 32, "unknown-function",
     "foo is no function that a nest may call",
     "use the built-in functions of OpenCL C on numbers, as sqrt, fabs, exp, pow, fmin, fma"},
    {"an unknown name", "for (i = 0; i < n; i++) y[i] = beta;", 1, 32, "unknown-name", "beta is not known here",
     "pass it as DCL_IN, DCL_OUT, DCL_INOUT or DCL_VALUE, or declare it in the nest"},
    {"a counter behind its loop", "for (i = 0; i < n; i++)\n    y[i] = 1;\ny[0] = i;", 3, 8, "unknown-name",
     "i is not known here", "pass it as DCL_IN, DCL_OUT, DCL_INOUT or DCL_VALUE, or declare it in the nest"},
    {"too few subscripts", "for (i = 0; i < n; i++) C[i] = 1;", 1, 25, "rank",
     "C has 1 subscript; expected 2, one per axis", "write one pair of brackets per axis, as C[i][j]"},
    {"too many subscripts", "for (i = 0; i < n; i++) y[i][0] = 1;", 1, 25, "rank",
     "y has 2 subscripts; expected 1, one per axis", "write one pair of brackets per axis"},
    {"subscripts of a scalar", "for (i = 0; i < n; i++) y[i] = n[0];", 1, 32, "rank",
     "n is no array, but has subscripts", "pass an array under this name, or leave the subscripts out"},
    {"a counter read after its loop", "int i; for (i = 0; i < n; i++) y[i] = 1;\ny[0] = i;", 2, 8, "unknown-name",
     "i is the counter of a loop, and is used outside of this loop, too", "choose another name for the counter"},
    {"a counter read before its loop",
     "int k = 5;\nfor (i = 0; i < n; i++) { y[i] = k;\n for (k = 0; k < 2; k++) y[i] += k; }", 3, 7, "unknown-name",
     "k is the counter of a loop, and is used outside of this loop, too", "declare it in the loop"},
    {"a counter of another type declared before", "float i;\nfor (i = 0; i < n; i++) y[i] = 1;", 2, 6, "for",
     "the counter of a loop is an int or a long", "write for (int i = 0; i < n; i++)"},
    {"an input assigned", "for (i = 0; i < n; i++) A[i][0] = 1;", 1, 25, "assigned",
     "A is an input of the call and is assigned here",
     "pass it as DCL_INOUT(A), or as DCL_OUT where the nest never reads what it held before"},
    {"a scalar of the call assigned", "for (i = 0; i < n; i++) alpha = 1;", 1, 25, "assigned",
     "alpha is a scalar of the call (DCL_VALUE), which is not assigned in a nest",
     "assign to an element, or to a variable that the nest declares"},
    {"an output that is read", "for (i = 0; i < n; i++) w[i] += x[i];", 1, 25, "unassigned",
     "w is read before the nest assigns it",
     "at i = 0; it is a DCL_OUT; pass it as DCL_INOUT to read what it held before"},
    {"a variable without a value", "for (i = 0; i < n; i++) {\n    double s;\n    if (i > 3) s = 1;\n    y[i] = s;\n}",
     4, 12, "unassigned", "s is read before the nest assigns it", "at i = 0; give it a value where it is declared"},
    {"beyond an array", "for (i = 0; i < n; i++)\n    y[i] = x[2*i+2];", 2, 12, "out-of-bounds",
     "subscript 1 of x is 40000, outside of 0..39999",
     "at i = 19999; narrow the loop, or put the statement into an if"},
    {"before an array", "for (i = 0; i < n; i++)\n    y[i] = C[i-1][0];", 2, 12, "out-of-bounds",
     "subscript 1 of C is -1, outside of 0..19999", "at i = 0; narrow the loop, or put the statement into an if"},
    {"beyond an axis, in a triangle", "for (i = 0; i < n; i++)\n    for (j = i; j <= m; j++)\n        C[i][j] = 1;", 3,
     9, "out-of-bounds", "subscript 2 of C is 40000, outside of 0..39999",
     "at i = 0, j = 40000; narrow the loop, or put the statement into an if"},
    {"beyond an array where a condition is false", "for (i = 0; i < n; i++) y[i] = i > 1 ? x[i-2] : x[i-1];", 1, 49,
     "out-of-bounds", "subscript 1 of x is -1, outside of 0..39999",
     "at i = 0; narrow the loop, or put the statement into an if"},
    {"a recurrence", "for (i = 1; i < n; i++)\n    y[i] = y[i-1] + x[i];", 2, 12, "carried",
     "the iterations of loop i cannot run in parallel: y is written by one iteration and read by a",
     "written at i = 1 (line 2), read at i = 2 (line 2)"},
    {"a recurrence over two", "for (i = 2; i < n; i++)\n    y[i] = 0.5 * y[i-2];", 2, 18, "carried",
     "the iterations of loop i cannot run in parallel: y is written by one iteration and read by a",
     "written at i = 2 (line 2), read at i = 4 (line 2)"},
    {"neighbours in both directions",
     "for (i = 1; i < n; i++)\n    for (j = 1; j < n; j++)\n        D[i][j] = D[i-1][j] + D[i][j-1];", 3, 19, "carried",
     "the iterations of loop j cannot run in parallel: D is written by one iteration and read by a",
     "iterations with the same i + j are independent"},
    {"neighbours on all sides, in place",
     "for (t = 0; t < 300; t++)\n  for (i = 1; i < n-1; i++)\n    for (j = 1; j < n-1; j++)\n      D[i][j] = "
     "D[i-1][j+1] + D[i+1][j-1] + D[i][j-1];",
     4, 17, "carried", "the iterations of loop j cannot run in parallel: D is written by one iteration and read by a",
     "iterations with the same 2*t + 2*i + j are independent"},
    {"a variable from the iteration before",
     "double s = 0;\nfor (i = 0; i < n; i++) {\n    s += x[i];\n    y[i] = s;\n}", 3, 5, "scalar",
     "the variable s carries a value between iterations that would run in parallel",
     "assigned at i = 0 (line 3), read at i = 1 (line 3)"},
    {"no semicolon", "for (i = 0; i < n; i++) y[i] = 1", 1, 33, "syntax",
     "the text ends here; expected ; after the assignment", ""},
    {"no brace", "for (i = 0; i < n; i++) { y[i] = 1;", 1, 25, "syntax", "this brace is not closed; expected }", ""},
    {"a comment that is open", "for (i = 0; i < n; i++) y[i] = 1; /* y", 1, 35, "syntax",
     "this comment does not end; expected */", ""},
    {"a directive", "for (i = 0; i < n; i++)\n#ifdef FAST\n    y[i] = 1;", 2, 1, "directive",
     "a nest has no preprocessor directives",
     "pass defined numbers as DCL_VALUE, and write out the branch that is meant"},
    {"an else alone", "for (i = 0; i < n; i++) y[i] = 1;\nelse y[0] = 1;", 2, 1, "syntax", "this else belongs to no if",
     ""},
    {"nothing", "\n ; ", 2, 4, "syntax", "the nest has no assignment", ""},
};

/* The line of the text that the error is in, and a caret below its column; a tab stays one. */
static void print_caret(const struct message_case *c, char shown_out[400])
{
    const char *line = c->text;
    for (int n = 1; n < c->line; n++)
        line = strchr(line, '\n') + 1;
    int length = (int)strcspn(line, "\n"), at = sprintf(shown_out, "\n    %.*s\n    ", length, line);
    for (int column = 1; column < c->column; column++)
        shown_out[at++] = column <= length && line[column - 1] == '\t' ? '\t' : ' ';
    strcpy(shown_out + at, "^");
}

static void check(const struct message_case *c)
{
    dcli_loops_plan *plan = NULL;
    char place[64], code[32], shown[400];
    cr_expect_eq(dcli_loops_plan_make(c->text, NAMES, names, &plan), DCL_ERR_BODY, "%s: accepted", c->what);
    const char *said = dcli_error_sentence();
    snprintf(place, sizeof place, "nest:%d:%d: error: ", c->line, c->column);
    snprintf(code, sizeof code, " [%s]\n", c->code);
    print_caret(c, shown);
    cr_expect_eq(strncmp(said, place, strlen(place)), 0, "%s: expected %s: %s", c->what, place, said);
    const char *end = strchr(said, '\n');
    cr_assert(end != NULL);
    cr_expect(end - said + 1 > (long)strlen(code) && strncmp(end + 1 - strlen(code), code, strlen(code)) == 0,
              "%s: expected [%s]: %s", c->what, c->code, said);
    cr_expect(strstr(said, c->said) != NULL && strstr(said, c->said) < end, "%s: %s", c->what, said);
    cr_expect_eq(strncmp(end, shown, strlen(shown)), 0, "%s: expected%s: %s", c->what, shown, said);
    cr_expect(c->note[0] == '\0' || strstr(end, c->note) != NULL, "%s: %s", c->what, said);
    cr_expect(strstr(end, ": error: ") == NULL, "%s: more than one error: %s", c->what, said);
    dcli_loops_plan_free(plan);
}

Test(loops_plan, says_what_is_wrong_with_nests)
{
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++)
        check(&cases[n]);
}

/* What is right, but copies far more than it reads: a warning. */
Test(loops_plan, says_where_far_more_is_copied_than_read)
{
    static const struct {
        const char *what, *text, *said; /* NULL: nothing */
    } rows[] = {
        {"a diagonal", "for (i = 0; i < n; i++)\n    y[i] = A[i][i];",
         "nest:2:12: warning: nodes get the box around what is read of A: 400000000 elements, of which about 20000 are "
         "read [footprint]\n        y[i] = A[i][i];\n               ^\n  note: keep what is read in an array of its "
         "own, "
         "as a[i] in place of A[i][i], or a[i][k] in place of A[i][i+k]"},
        {"a band", "for (i = 1; i < n - 1; i++)\n  for (j = i - 1; j <= i + 1; j++) y[i] += A[i][j] * x[j];",
         "nest:2:44: warning: nodes get the box around what is read of A: 399960000 elements, of which about 59994 are "
         "read [footprint]"},
        {"two of every thousand", "for (i = 0; i < 20; i++)\n  for (k = 0; k < 2; k++) y[i] += x[1000*i+k];",
         "nest:2:35: warning: nodes get the box around what is read of x: 19002 elements, of which 40 are read [foot"},
        {"the diagonal at each step",
         "for (k = 1; k < 100; k++)\n for (i = 0; i < n; i++)\n  C[k][i] = C[k-1][i] * D[i][i];",
         "nest:3:25: warning: nodes get the box around what is read of D: 400000000 elements"},
        {"every thousandth element", "for (i = 0; i < 20; i++) y[i] = x[1000*i];", NULL},
        {"a small diagonal", "for (i = 0; i < 90; i++) y[i] = A[i][i];", NULL},
        {"a triangle", "for (i = 0; i < n; i++) for (j = 0; j <= i; j++) y[i] += A[i][j];", NULL},
        {"a product",
         "for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < 9; k++) D[i][j] += A[i][k] * A[j][k];", NULL},
        {"a wide band", "for (i = 0; i < n; i++) for (j = 0; j < n; j++) y[i] += A[i][i+j];", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        dcli_loops_plan *plan = NULL;
        dcli_text said = {0};
        cr_assert_eq(dcli_loops_plan_make(rows[r].text, NAMES, names, &plan), DCL_OK, "%s: %s", rows[r].what,
                     dcl_error());
        cr_expect_eq(dcli_loops_plan_warn(plan, true, &said), rows[r].said != NULL, "%s: %s", rows[r].what, said.bytes);
        if (rows[r].said != NULL)
            cr_expect(said.bytes != NULL && strncmp(said.bytes, rows[r].said, strlen(rows[r].said)) == 0, "%s: %s",
                      rows[r].what, said.bytes);
        dcli_text_free(&said);
        dcli_loops_plan_free(plan);
        cr_assert_eq(dcli_loops_plan_make(rows[r].text, NAMES, names, &plan), DCL_OK);
        cr_expect(!dcli_loops_plan_warn(plan, false, &said), "%s, on one node: %s", rows[r].what, said.bytes);
        dcli_loops_plan_free(plan);
    }
}

/* Nests beyond a limit, made by repeating a text: said of the first part that is too much. */
Test(loops_plan, says_where_a_nest_is_beyond_a_limit)
{
    static const struct {
        const char *what, *before, *repeated, *after;
        int count;
        const char *said;
    } limits[] = {
        {"assignments", "", "y[0] = 1;\n", "", 49, "nest:49:1: error: this is assignment number 49 of the nest"},
        {"loops inside each other", "", "for (%c = 0; %c < 2; %c++)\n", "y[0] = 1;", 11,
         "nest:11:1: error: the nest has more than 48 loops, or 10 inside each other [too-large]"},
        {"reads", "y[0] = 0", "\n+ x[0]", ";", 33, "nest:34:3: error: this statement reads more than 32 elements"},
        {"parentheses", "y[0] = ", "(", "1", 70, "nest:1:39: error: this is nested too deeply [too-large]"},
        {"blocks", "", "{", "y[0] = 1;", 70, "nest:1:65: error: statements are nested too deeply [too-large]"},
        {"variables", "", "double s%c;\n", "y[0] = 1;", 33,
         "nest:33:8: error: the nest declares more than 32 variables"},
        {"bytes", "", "y[0] = 1;\n", "", 7000, "nest:1:1: error: the nest has 70000 bytes; expected 65536 at most"},
    };
    for (size_t n = 0; n < sizeof limits / sizeof limits[0]; n++) {
        dcli_text text = {0};
        dcli_loops_plan *plan = NULL;
        dcli_text_put(&text, "%s", limits[n].before);
        for (int k = 0; k < limits[n].count; k++)
            for (const char *c = limits[n].repeated; *c != '\0'; c++)
                if (strncmp(c, "%c", 2) == 0)
                    dcli_text_put(&text, "%c", (k < 26 ? 'a' : 'A' - 26) + k), c++;
                else
                    dcli_text_append(&text, c, 1);
        dcli_text_put(&text, "%s", limits[n].after);
        cr_expect_eq(dcli_loops_plan_make(text.bytes, NAMES, names, &plan), DCL_ERR_BODY, "%s", limits[n].what);
        cr_expect_eq(strncmp(dcli_error_sentence(), limits[n].said, strlen(limits[n].said)), 0, "%s: %.300s",
                     limits[n].what, dcli_error_sentence());
        dcli_text_free(&text);
    }
}

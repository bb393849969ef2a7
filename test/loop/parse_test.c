/* test/loop/parse_test.c - tests the parser of loop nests: the tree that it makes of a text, and what it says of wrong ones. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/error.h"
#include "loop/tree.h"

TestSuite(loops_parse, .timeout = 60);

/* Arrays A[10][20] (input), C[10][20], x[20], y[10]; scalars n = 10, m = 20 (int), alpha (double). */
static dcli_loops_name names[] = {
    {.name = "A",
     .access = DCL_ACCESS_IN,
     .type = DCL_DOUBLE,
     .grid = {.rank = 2, .type = DCL_DOUBLE, .extent = {10, 20}}},
    {.name = "C",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 2, .type = DCL_DOUBLE, .extent = {10, 20}}},
    {.name = "x",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 1, .type = DCL_DOUBLE, .extent = {20}}},
    {.name = "y",
     .access = DCL_ACCESS_OUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 1, .type = DCL_DOUBLE, .extent = {10}}},
    {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 10},
    {.name = "m", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 20},
    {.name = "alpha", .access = DCL_ACCESS_VALUE, .type = DCL_DOUBLE},
};
enum { NAMES = sizeof names / sizeof names[0] };

struct tree_case {
    char what[48], text[320], tree[400];
};

ParameterizedTestParameters(loops_parse, trees)
{
    static struct tree_case cases[] = {
        {"in lines of a file, with a pragma of others",
         "#line 7 \"a.c\"\n#pragma omp parallel for\nfor (i = 0; i < n; i++) y[i] = 1;",
         "for i in [0, 9] { S0: y[i] = 1; } "},
        {"one loop", "for (i = 0; i < n; i++) y[i] = 1;", "for i in [0, 9] { S0: y[i] = 1; } "},
        {"counters declared", "for (int i = 0; i <= n - 1; ++i) for (long j = 0; j < 20; j += 3) C[i][j] *= alpha;",
         "for i in [0, 9] { for j in [0, 19] by 3 { S0: C[i][j] *= alpha; } } "},
        {"downwards", "for (i = n - 1; i >= 2; i = i - 2) { y[i] = i; }", "for i in [2, 9] by -2 { S0: y[i] = i; } "},
        {"bounds of counters, of min and max",
         "for (i = 0; i < n; i++) for (j = max(0, i - 2); j <= min(i + 2, m - 1); j++) C[i][j] = 0;",
         "for i in [0, 9] { for j in [0 & i - 2, i + 2 & 19] { S0: C[i][j] = 0; } } "},
        {"imperfect, with comments",
         "for (i = 0; i < n; i++) { // row\n y[i] = 0; /* sum\n */ for (j = 0; j < m; j++)\n"
         " y[i] += A[i][j] * x[j]; }",
         "for i in [0, 9] { S0: y[i] = 0; for j in [0, 19] { S1: y[i] += (A[i][j] * x[j]); } } "},
        {"variables", "for (i = 0; i < n; i++) { double s = 0, t; t = 2; s += t; y[i] = s; }",
         "for i in [0, 9] { S0: double s = 0; S1: t = 2; S2: s += t; S3: y[i] = s; } "},
        {"types of several words",
         "for (i = 0; i < n; i++) { unsigned long long int a = 1; const short int b = 2; unsigned c = 3; long long d = "
         "4;"
         " y[i] = (signed char)a; }",
         "for i in [0, 9] { S0: ulong a = 1; S1: short b = 2; S2: uint c = 3; S3: long d = 4; S4: y[i] = ((char)a); "
         "} "},
        {"if and else", "for (i = 0; i < n; i++) if (i > 2 && !(i == 7)) y[i] = 1; else { y[i] = 2; }",
         "for i in [0, 9] { if ((i > 2) && (!(i == 7))) { S0: y[i] = 1; } if !((i > 2) && (!(i == 7))) { S1: y[i] = 2; "
         "} } "},
        {"precedence, casts, functions",
         "for (i = 0; i < n; i++) y[i] = 1 + 2 * -x[i] / sqrt((double)i) < 3 ? 1e-3f : x[i+1] - 1;",
         "for i in [0, 9] { S0: y[i] = (((1 + ((2 * (-x[i])) / sqrt(((double)i)))) < 3) ? 1e-3f : (x[(i + 1)] - 1)); "
         "} "},
    };
    return cr_make_param_array(struct tree_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct tree_case *c, loops_parse, trees)
{
    dcli_loops_complaints complaints = {.text = c->text};
    dcli_loops_tree *tree = dcli_loops_parse(c->text, NAMES, names, &complaints);
    dcli_text printed = {0};
    cr_assert(tree != NULL);
    cr_expect_eq(dcli_loops_complaints_end(&complaints), DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_loops_tree_print(tree, &printed);
    cr_expect_str_eq(printed.bytes, c->tree, "%s: %s", c->what, printed.bytes);
    dcli_text_free(&printed);
    dcli_loops_tree_free(tree);
    dcli_loops_complaints_free(&complaints);
}

struct wrong_case {
    char what[48], text[240], error[160];
};

ParameterizedTestParameters(loops_parse, wrong)
{
    static struct wrong_case cases[] = {
        {"no type", "for (i = 0; i < n; i++) { unsigned double s = 2; y[i] = s; }", "nest:1:27: error: "},
        {"a subscript of data", "for (i = 0; i < n; i++)\n    y[i] = x[A[i][0]];",
         "nest:2:14: error: this subscript depends on data"},
        {"a variable as subscript", "for (i = 0; i < n; i++) { int s = 2; y[s] = 1; }",
         "nest:1:40: error: this subscript depends on data"},
        {"a product of counters", "for (i = 0; i < n; i++) for (j = 0; j < 2; j++) y[i*j] = 1;",
         "nest:1:52: error: this subscript multiplies counters"},
        {"a quotient", "for (i = 0; i < n; i++) y[i / 2] = 1;", "nest:1:29: error: this subscript divides a counter"},
        {"a real subscript", "for (i = 0; i < n; i++) y[i + 1.5] = 1;",
         "nest:1:31: error: this subscript contains a number that is no integer"},
        {"a scalar that is real", "for (i = 0; i < n; i++) y[i + alpha] = 1;",
         "nest:1:31: error: this subscript contains a scalar that is no integer"},
        {"a bound of data", "for (i = 0; i < x[0]; i++) y[i] = 1;", "nest:1:17: error: this bound depends on data"},
        {"a step that changes", "for (i = 1; i < n; i *= 2) y[i] = 1;",
         "nest:1:20: error: the step of this loop is not constant, or 0 [step]"},
        {"a step of 0", "for (i = 1; i < n; i += 0) y[i] = 1;",
         "nest:1:20: error: the step of this loop is not constant, or 0 [step]"},
        {"a step away from the limit", "for (i = 1; i < n; i--) y[i] = 1;",
         "nest:1:15: error: this loop counts down, away from its limit [step]"},
        {"a step that has no negative", "for (i = 9; i > 0; i -= -9223372036854775807 - 1) y[i] = 1;",
         "nest:1:20: error: the step of this loop is not constant, or 0 [step]"},
        {"a limit before all numbers", "for (i = 0; i < -9223372036854775807 - 1; i++) y[i] = 1;",
         "nest:1:38: error: this bound does not fit 64 bits [overflow]"},
        {"a step of another counter", "for (i = 1; i < n; j++) y[i] = 1;",
         "nest:1:20: error: the step of this loop is none of its counter [step]"},
        {"while", "for (i = 0; i < n; i++)\n  while (1) y[i] = 1;",
         "nest:2:3: error: how often this loop runs is not known"},
        {"break", "for (i = 0; i < n; i++) {\n y[i] = 1;\n break; }",
         "nest:3:2: error: a nest leaves no loop early [break]"},
        {"return", "return;", "nest:1:1: error: a nest consists of for, if and assignments [statement]"},
        {"a call as statement", "for (i = 0; i < n; i++) foo(i);",
         "nest:1:25: error: a call is no statement of a nest"},
        {"an unknown function", "for (i = 0; i < n; i++) y[i] = foo(i);",
         "nest:1:32: error: foo is no function that a nest may call [unknown-function]"},
        {"an unknown name", "for (i = 0; i < n; i++) y[i] = beta;",
         "nest:1:32: error: beta is not known here [unknown-name]"},
        {"a counter outside of its loop", "for (i = 0; i < n; i++) y[i] = 1; y[0] = i;",
         "nest:1:42: error: i is not known here [unknown-name]"},
        {"too few subscripts", "for (i = 0; i < n; i++) C[i] = 1;",
         "nest:1:25: error: C has 1 subscripts; expected 2, one per axis [rank]"},
        {"subscripts of a scalar", "for (i = 0; i < n; i++) y[i] = n[0];",
         "nest:1:32: error: n is no array, but has subscripts [rank]"},
        {"an input assigned", "for (i = 0; i < n; i++) A[i][0] = 1;",
         "nest:1:25: error: A is an input of the call and is assigned here [assigned]"},
        {"a scalar of the call assigned", "for (i = 0; i < n; i++) alpha = 1;",
         "nest:1:25: error: alpha is a scalar of the call"},
        {"a counter assigned", "for (i = 0; i < n; i++) i = 1;",
         "nest:1:25: error: i is a counter, which is not assigned in a nest [assigned]"},
        {"a counter twice", "for (i = 0; i < n; i++) for (i = 0; i < 2; i++) y[i] = 1;",
         "nest:1:25: error: i is the counter of a loop around this one, too"},
        {"a condition of data", "for (i = 0; i < n; i++) if (x[i] > 0) y[i] = 1;",
         "nest:1:29: error: this condition depends on data"},
        {"a condition that is no comparison", "for (i = 0; i < n; i++) if (i) y[i] = 1;",
         "nest:1:29: error: this condition is no comparison of counters [condition]"},
        {"another loop form", "for (i = 0; i != n; i++) y[i] = 1;",
         "nest:1:15: error: the condition of this loop is no comparison by"},
        {"another operator", "for (i = 0; i < n; i++) y[i] %= 2;",
         "nest:1:30: error: this operator is none of = += -= *= /= [operator]"},
        {"increments inside", "for (i = 0; i < n; i++) y[i] = x[i]++;",
         "nest:1:36: error: an expression changes a variable [statement]"},
        {"no semicolon", "for (i = 0; i < n; i++) y[i] = 1",
         "nest:1:33: error: the text ends here; expected ; after the assignment [syntax]"},
        {"no brace", "for (i = 0; i < n; i++) { y[i] = 1;",
         "nest:1:25: error: this brace is not closed; expected } [syntax]"},
        {"a directive", "for (i = 0; i < n; i++)\n#ifdef FAST\n y[i] = 1;",
         "nest:2:1: error: a nest has no preprocessor directives [directive]"},
        {"a #line without a file", "#line 7\ny[0] = 1;", "nest:1:1: error: a nest has no preprocessor directives"},
        {"a #line behind a token", "y[0] = 1;\n#line 7 \"a.c\"\ny[0] = 2;",
         "nest:2:1: error: a nest has no preprocessor directives"},
        {"in lines of a file", "#line 70 \"a b.c\"\n#pragma omp \\\n parallel\n/* */ y[0] = beta;",
         "a b.c:72:14: error: beta is not known here [unknown-name]\n    /* */ y[0] = beta;\n                 ^\n"},
        {"a name of a file with quotes", "\n # line 70 \"a\\\\b\\\"c\" \n beta",
         "a\\b\"c:70:2: error: beta is not known here"},
        {"an open comment", "/* y", "nest:1:1: error: this comment does not end; expected */ [syntax]"},
        {"nothing", " ; ", "nest:1:4: error: the nest has no assignment [syntax]"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct wrong_case *c, loops_parse, wrong)
{
    dcli_loops_complaints complaints = {.text = c->text};
    dcli_loops_tree *tree = dcli_loops_parse(c->text, NAMES, names, &complaints);
    cr_assert(tree != NULL);
    cr_expect_eq(dcli_loops_complaints_end(&complaints), DCL_ERR_BODY, "%s: accepted", c->what);
    cr_expect_eq(strncmp(dcli_error_sentence(), c->error, strlen(c->error)), 0, "%s: %s", c->what, dcl_error());
    dcli_loops_tree_free(tree);
    dcli_loops_complaints_free(&complaints);
}

Test(loops_parse, all_errors_of_a_nest_at_once_in_the_order_of_the_text)
{
    static const char text[] = "for (i = 0; i < n; i++) {\n"
                               "\ty[i] = beta;\n"
                               "    while (1) ;\n"
                               "    y[i*i] = 2;\n"
                               "    y[i] = 3;\n"
                               "}\n";
    dcli_loops_complaints complaints = {.text = text};
    dcli_loops_tree *tree = dcli_loops_parse(text, NAMES, names, &complaints);
    cr_expect_eq(dcli_loops_complaints_end(&complaints), DCL_ERR_BODY);
    cr_expect_str_eq(
        dcli_error_sentence(),
        "nest:2:9: error: beta is not known here [unknown-name]\n"
        "    \ty[i] = beta;\n"
        "    \t       ^\n"
        "  note: pass it as DCL_IN, DCL_OUT, DCL_INOUT or DCL_VALUE, or declare it in the nest; a counter is "
        "known inside of its loop only\n"
        "nest:3:5: error: how often this loop runs is not known before it runs [while]\n"
        "        while (1) ;\n"
        "        ^\n"
        "  note: write for with bounds that do not depend on data; for a loop until a condition, see "
        "dcl_iterate()\n"
        "nest:4:8: error: this subscript multiplies counters, so that it is not affine [product]\n"
        "        y[i*i] = 2;\n"
        "           ^\n"
        "  note: give the array one more axis, as A[i][j] in place of A[i*n+j]");
    dcli_loops_tree_free(tree);
    dcli_loops_complaints_free(&complaints);
}

/* Random strings of tokens: no crash, and an answer. */
Test(loops_parse, random_tokens_end)
{
    static const char *const words[] = {"for", "(", ")",     "{", "}",   "i",    "j",  "=", "<", "0",      ";",
                                        "++",  "y", "[",     "]", "if",  "else", "+",  "*", "n", "double", "s",
                                        "?",   ":", "while", ",", "max", "1.5",  "/*", "-", "!", "&&"};
    uint64_t state = 1;
    for (int round = 0; round < 4000; round++) {
        dcli_text text = {0};
        for (int k = 0; k < 30; k++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            dcli_text_put(&text, "%s ", words[(state >> 33) % (sizeof words / sizeof words[0])]);
        }
        dcli_loops_complaints complaints = {.text = text.bytes};
        dcli_loops_tree *tree = dcli_loops_parse(text.bytes, NAMES, names, &complaints);
        cr_assert(tree != NULL);
        dcl_status status = dcli_loops_complaints_end(&complaints);
        cr_expect(status == DCL_OK || status == DCL_ERR_BODY, "%s", text.bytes);
        dcli_loops_tree_free(tree);
        dcli_loops_complaints_free(&complaints);
        dcli_text_free(&text);
    }
}

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
        {"counters declared before their loops",
         "{ int i, k; for (i = 0; i < n; i++) { double s = 0; for (k = 0; k < 2; k++) s += k; y[i] = s; }"
         " for (i = 1; i < n; i++) x[i] = i; }",
         "for i in [0, 9] { S0: double s = 0; for k in [0, 1] { S1: s += k; } S2: y[i] = s; } "
         "for i in [1, 9] { S3: x[i] = i; } "},
        {"a counter that hides a variable", "double k = 2; for (int k = 0; k < n; k++) y[k] = k; y[0] = k;",
         "S0: double k = 2; for k in [0, 9] { S1: y[k] = k; } S2: y[0] = k; "},
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

/* More wrong texts are in wrong_test.c. */
struct wrong_case {
    char what[48], text[240], error[160];
};

ParameterizedTestParameters(loops_parse, wrong)
{
    static struct wrong_case cases[] = {
        {"no type", "for (i = 0; i < n; i++) { unsigned double s = 2; y[i] = s; }", "nest:1:27: error: "},
        {"a step that has no negative", "for (i = 9; i > 0; i -= -9223372036854775807 - 1) y[i] = 1;",
         "nest:1:20: error: the step of this loop is not constant, or 0 [step]"},
        {"a directive", "for (i = 0; i < n; i++)\n#ifdef FAST\n y[i] = 1;",
         "nest:2:1: error: a nest has no preprocessor directives [directive]"},
        {"a #line without a file", "#line 7\ny[0] = 1;", "nest:1:1: error: a nest has no preprocessor directives"},
        {"a #line behind a token", "y[0] = 1;\n#line 7 \"a.c\"\ny[0] = 2;",
         "nest:2:1: error: a nest has no preprocessor directives"},
        {"in lines of a file", "#line 70 \"a b.c\"\n#pragma omp \\\n parallel\n/* */ y[0] = beta;",
         "a b.c:72:14: error: beta is not known here [unknown-name]\n    /* */ y[0] = beta;\n                 ^\n"},
        {"a name of a file with quotes", "\n # line 70 \"a\\\\b\\\"c\" \n beta",
         "a\\b\"c:70:2: error: beta is not known here"},
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

/* test/kernel/macro_test.c - macros of a prelude in a body: which writes are sure behind them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"

struct macro_case {
    char what[48], prelude[160], text[160], accesses[64]; /* over out C 1, in A 1 */
};

ParameterizedTestParameters(kernel_macro, writes)
{
    static struct macro_case cases[] = {
        {"if", "#define WHEN(x) if (x)", "WHEN(i > 5) C(i) = 2;", "C(x0) wc u0"},
        {"if without parameters", "#define MAYBE if (1)", "MAYBE C(i) = 2;", "C(x0) wc u0"},
        {"a block", "#define WHEN(x) if (x)", "WHEN(i > 5) { C(i) = 2; } float t; t = 3;", "C(x0) wc u0"},
        {"opening and closing", "#define OPEN if (0) {\n#define CLOSE }", "OPEN; C(i) = 2; CLOSE;", "C(x0) wc u0"},
        {"an operator", "#define OR ||", "int t; t = 3 OR 4, C(i) = 2;", "C(x0) wc u0"},
        {"?", "#define Q ?", "int t; i > 5 Q t = 1, C(i) = 2 : 0;", "C(x0) wc u0"},
        {"an argument", "#define NOTHING(x) 0", "NOTHING(C(i) = 2);", "C(x0) wc u0"},
        {"an argument not evaluated", "", "int t = sizeof(C(i) = 2);", "C(x0) wc u0"},
        {"one in another", "#define A1 A2\n#define A2 A1 A3\n#define A3 if (0)", "A1; C(i) = 2;", "C(x0) wc u0"},
        {"joined lines", "#def\\\nine MAYBE \\\n  if (0)", "MAYBE; C(i) = 2;", "C(x0) wc u0"},
        {"comments", "/* a\n */ # /* b */ define/**/MAYBE /*\n*/ if (0) // c", "MAYBE; C(i) = 2;", "C(x0) wc u0"},
        {"the second definition", "#if 1\n#define T 1\n#else\n#define T if (0)\n#endif", "T; C(i) = 2;", "C(x0) wc u0"},
        {"words made of words", "#define GLUE(a, b) a##b", "GLUE(i, f)(0); C(i) = 2;", "C(x0) wc u0"},
        {"a constant", "#define N (1 + 2)\n#define M N", "int t = M; C(i) = t;", "C(x0) w u0"},
        {"an expression", "#define SUM(a, b) a + b", "C(i) = SUM(A(i), 2);", "C(x0) w u0; A(x0) r u0"},
        {"a choice", "#define MAX(a, b) ((a) > (b) ? (a) : (b))", "C(i) = MAX(A(i), 2);", "C(x0) w u0; A(x0) r u0"},
        {"a choice without parentheses", "#define MAX(a, b) a > b ? a : b", "C(i) = MAX(A(i), 2);",
         "C(x0) wc u0; A(x0) r u0"},
        {"a function of an index", "void trace (long i) {}", "trace(i); C(i) = 2;", "C(x0) w u0"},
        {"one not used", "#define WHEN(x) if (x)\nint f(int when) { return when; }", "C(i) = f(2);", "C(x0) w u0"},
        {"text and comments are none", "// #define f if (0)\n/*\n#define f if (0)\n*/", "C(i) = f(2);", "C(x0) w u0"},
    };
    return cr_make_param_array(struct macro_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status parse(const char *prelude, const char *text, dcli_body **body_out)
{
    dcli_param params[4];
    int count = test_spec("out C 1, in A 1", params);
    return dcli_body_parse(text, prelude, count, params, body_out);
}

ParameterizedTest(struct macro_case *c, kernel_macro, writes)
{
    dcli_body *body;
    cr_assert_eq(parse(c->prelude, c->text, &body), DCL_OK, "%s: %s", c->what, dcl_error());
    char *accesses = test_accesses(body, NULL);
    cr_expect_str_eq(accesses, c->accesses, "%s: found %s, expected %s", c->what, accesses, c->accesses);
    free(accesses);
    dcli_body_free(body);
}

/* A line is stored as a whole only where all of it was written. */
Test(kernel_macro, what_may_be_left_out_is_not_streamed)
{
    for (int sure = 0; sure < 2; sure++) {
        dcli_body *body;
        cr_assert_eq(parse("#define WHEN(x) if (x)", sure ? "C(i) = 2;" : "WHEN(i > 5) C(i) = 2;", &body), DCL_OK);
        char *text = dcli_body_source(body, DCLI_FORM_CPU, false);
        cr_expect_eq(strstr(text, "dcl_store_float") != NULL, sure != 0);
        dcli_free(text);
        dcli_body_free(body);
    }
}

static void expect_refused(const char *prelude, const char *text, const char *words)
{
    dcli_body *body = NULL;
    cr_expect_eq(parse(prelude, text, &body), DCL_ERR_BODY, "%s\n%s", prelude, text);
    cr_expect(strstr(dcl_error(), words) != NULL, "expected '%s' in %s", words, dcl_error());
    dcli_body_free(body);
}

Test(kernel_macro, refusals)
{
    expect_refused("typedef long real;", "real (i); C(i) = i;",
                   "line 1, column 7: i is an index of the body and cannot be");
    expect_refused("#define DONE return", "C(i) = 1; DONE;",
                   "line 1, column 11: DONE cannot stand in a body, as the prelude defines it with return: ");
    expect_refused("#define ME AT(0)\n#define AT(d) get_global_id(d)", "C(i) = ME;", "defines it with get_global_id: ");
    expect_refused("#define NEXT continue", "if (i > 5) NEXT; C(i) = 1;", "it may end a loop over the indices");
    expect_refused("\r\n// c \r#define C if (0)", "C(i) = 1;", "prelude line 2 has a carriage return alone");
    expect_refused("#define SET(x, y) { x = y; }", "float t; C(i) = 1; SET(t, 2) C(i) = C(i) + t;",
                   "read here before it is surely written, as the prelude's SET in line 1 may be more than");
}

/* Every allocation that fails is an error of that kind, and nothing leaks (the sanitizers watch). */
Test(kernel_macro, allocations_that_fail)
{
    dcl_status status = DCL_ERR_NOMEM;
    for (int n = 1; n < 200 && status == DCL_ERR_NOMEM; n++) {
        dcli_body *body = NULL;
        dcli_alloc_fail_after(n);
        status = parse("#define A (1)\n#define B {\n#define D ) A\n", "C(i) = 2;", &body);
        dcli_alloc_fail_after(0);
        dcli_body_free(body);
    }
    cr_expect_eq(status, DCL_OK, "%s", dcl_error());
}

/* Any prelude ends in DCL_OK or DCL_ERR_BODY, never in a crash (the sanitizers watch). */
Test(kernel_macro, random_preludes)
{
    static const char *const parts[] = {"#",  "define", "X",    "Y",       "(",  ")",  "a",  "if",
                                        "\n", "\n",     "\\\n", "/*",      "*/", "//", "?",  ":",
                                        "{",  "\"",     "\'",   "include", "%:", " ",  "\\", "\r\n"};
    unsigned state = 54321;
    int conditional = 0;
    for (int round = 0; round < 5000; round++) {
        char prelude[256] = "#define ";
        for (int p = 0; p < 12; p++) {
            state = state * 1664525u + 1013904223u;
            strcat(prelude, parts[(state >> 16) % (sizeof parts / sizeof parts[0])]);
            strcat(prelude, (state >> 12) % 2 ? " " : "");
        }
        dcli_body *body = NULL;
        dcl_status status = parse(prelude, "C(i) = X(Y);", &body);
        cr_assert(status == DCL_OK || status == DCL_ERR_BODY, "seed 54321 round %d: %s", round, prelude);
        conditional += body != NULL && body->access[0].conditional;
        dcli_body_free(body);
    }
    cr_expect(conditional > 20 && conditional < 4950, "%d of 5000 hide something: the generator is of no use",
              conditional);
}

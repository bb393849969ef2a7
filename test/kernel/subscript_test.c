/* test/kernel/subscript_test.c - subscripts with the values of scalars. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/ranges.h"
#include "kernel/spec.h"

struct value_case {
    char what[40], subscript[64]; /* of A in C(i,j) = A(...), over n int64, u uint32, b int8 */
    int64_t n;
    uint64_t u;
    int64_t b;
    char found[64]; /* over x0, x1; "overflow" */
};

ParameterizedTestParameters(kernel_subscript, values)
{
    static struct value_case cases[] = {
        {"a scalar", "n", 7, 0, 0, "7"},
        {"reversed", "n-1-i", 10, 0, 0, "9-1*x0"},
        {"a coefficient", "n*i + u*j - b", 3, 4, -5, "5+3*x0+4*x1"},
        {"products of scalars", "(n + 1) * (u - b) * i", 2, 5, 1, "12*x0"},
        {"terms that cancel", "n*i - i*n + j", 99, 0, 0, "x1"},
        {"a coefficient of 0", "n*i + j", 0, 0, 0, "x1"},
        {"nested signs", "-(-(i - n)) * -1", 4, 0, 0, "4-1*x0"},
        {"unsigned is not wrapped", "u - 5", 0, 3, 0, "-2"},
        {"powers", "n*n*n*i", 100, 0, 0, "1000000*x0"},
        {"a limit", "max(i - n, 0)", 3, 0, 0, "-3+x0 >= 0"},
        {"the limit first", "min(n - 1, i + b)", 9, 0, 2, "2+x0 <= 8"},
        {"clamp", "clamp(j + b, -n, n - 1)", 9, 0, 2, "2+x1 >= -9 <= 8"},
        {"limits in limits", "max(min(max(i, b), n), u)", 9, 5, 2, "x0 >= 5 <= 9"},
        {"clamp to an empty range", "clamp(i, 5, n)", 3, 0, 0, "x0 >= 3 <= 3"},
        {"below a range above", "max(min(i, 2), 5)", 0, 0, 0, "x0 >= 5 <= 5"},
        {"of a constant", "min(n, 5)", 7, 0, 0, "7 <= 5"},
        {"reflect", "reflect(i - b, 0, n - 1)", 9, 0, 2, "-2+x0 >= 0 <= 8 mirrored, 0"},
        {"symmetric", "symmetric(2*j, n, 2*n)", 9, 0, 0, "2*x1 >= 9 <= 18 mirrored, 1"},
        {"constant", "constant(j + 1, b, n, -1)", 9, 0, 2, "1+x1 >= 2 <= 9 or nothing"},
        {"in parentheses", "(max((i), (0)))", 0, 0, 0, "x0 >= 0"},
        {"a period", "(i + b + n) % n", 7, 0, -1, "6+x0 mod 7"},
        {"a period of a product", "2*i*n % (n + 1)", 7, 0, 0, "14*x0 mod 8"},
        {"a limit that overflows", "min(i, n + 1)", INT64_MAX, 0, 0, "overflow"},
        {"largest", "n + 0*i", INT64_MAX, 0, 0, "9223372036854775807"},
        {"smallest", "n", INT64_MIN, 0, 0, "-9223372036854775808"},
        {"over the end", "n + 1", INT64_MAX, 0, 0, "overflow"},
        {"and back", "n + 1 - b", INT64_MAX, 0, 1, "9223372036854775807"},
        {"products overflow", "n*n*i", INT64_C(4000000000), 0, 0, "overflow"},
        {"far beyond 128 bits", "n*n*n*n*n*n*i", INT64_MIN, 0, 0, "overflow"},
    };
    return cr_make_param_array(struct value_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct value_case *c, kernel_subscript, values)
{
    char text[128];
    snprintf(text, sizeof text, "C(i,j) = A(%s);", c->subscript);
    dcli_body *body;
    cr_assert_eq(test_parse("out C 2, in A 1, value n int64, value u uint32, value b int8", text, &body), DCL_OK,
                 "%s: %s", c->what, dcl_error());
    dcli_scalar values[5] = {[2].i = c->n, [3].u = c->u, [4].i = c->b};
    if (strcmp(c->found, "overflow") == 0) {
        dcli_subscripts subscripts;
        cr_expect_eq(dcli_body_subscripts(body, 1, values, &subscripts), DCL_ERR_BODY, "%s", c->what);
        cr_expect(strstr(dcl_error(), "subscript 1 of A (line 1, column 10) overflows 64 bits") != NULL, "%s",
                  dcl_error());
    } else {
        char expected[128], *found = test_accesses(body, values);
        snprintf(expected, sizeof expected, "C(x0,x1) w u1; A(%s) r", c->found);
        cr_expect_eq(strncmp(found, expected, strlen(expected)), 0, "%s: found %s, expected %s", c->what, found,
                     expected);
        free(found);
    }
    dcli_body_free(body);
}

/* ---- loops of the body -------------------------------------------------------------------------------------------- */

struct loop_case {
    char what[48], loop[96]; /* a loop around s += A(...), over n int64, u uint32, b int8 */
    int64_t n, b;
    char found[64]; /* the subscript of A; or words of the error */
};

ParameterizedTestParameters(kernel_subscript, loops)
{
    static struct loop_case cases[] = {
        {"literals", "for (int d = -2; d <= 2; d++) s += A(j+d);", 0, 0, "-2+x1+t0; t0 < 5"},
        {"scalars", "for (long d = b; d < n; d++) s += A(j+d);", 9, 4, "4+x1+t0; t0 < 5"},
        {"sums of scalars", "for (int d = 2*b-1; d < n*b; ++d) s += A(d);", 5, 2, "3+t0; t0 < 7"},
        {"downwards", "for (int d = n; d > b; d--) s += A(j-d);", 3, 0, "-3+x1+t0; t0 < 3"},
        {"downwards with the last", "for (int d = 2; d >= -2; --d) s += A(j+d);", 0, 0, "2+x1-1*t0; t0 < 5"},
        {"steps", "for (int d = 1; d < 8; d += 3) s += A(2*j+d);", 0, 0, "1+2*x1+3*t0; t0 < 3"},
        {"steps that hit the end", "for (int d = 1; d <= 7; d += 3) s += A(d);", 0, 0, "1+3*t0; t0 < 3"},
        {"steps downwards", "for (int d = 9; d > 0; d -= 4) s += A(j + d*n);", 2, 0, "18+x1-8*t0; t0 < 3"},
        {"unsigned", "for (uint d = 0; d < 4; d++) s += A(j - d);", 0, 0, "x1-1*t0; t0 < 4"},
        {"no iteration", "for (int d = 0; d < n; d++) s += A(d);", -5, 0, "t0; t0 < 0"},
        {"a loop in a loop", "for (int d = 0; d < 2; d++) for (int e = 0; e < 3; e++) s += A(j+3*d+e);", 0, 0,
         "x1+3*t0+t1; t0 < 2; t1 < 3"},
        {"only the inner one", "for (int d = 0; d < 2; d++) { for (int e = 0; e < 3; e++) s += A(j+e); }", 0, 0,
         "x1+t0; t0 < 3"},
        {"one name twice", "for (int d = 0; d < 2; d++) s += 1; for (int d = 0; d < 3; d++) s += A(d);", 0, 0,
         "t0; t0 < 3"},
        {"with a condition", "for (int d = 0; d < 9; d++) if (d != b) { s += A(d); } else break;", 0, 0, "t0; t0 < 9"},
        {"a short up to its last value", "for (short d = 0; d < n; d++) s += A(d);", 32767, 0, "t0; t0 < 32767"},
        {"a short beyond it", "for (short d = 0; d < n; d++) s += A(d);", 32768, 0,
         "the limit 32768 with the scalars of this call, which short does"},
        {"an int beyond it", "for (int d = n; d <= 2147483647; d++) s += A(d);", 0, 0, "which int does not contain"},
        {"an unsigned below 0", "for (uint d = n; d < 5; d++) s += A(d);", -1, 0, "which uint does not contain"},
        {"bounds that overflow", "for (long d = 0; d < n*n; d++) s += A(d);", INT64_MAX, 0, "overflow 64 bits"},
        {"a subscript that overflows", "for (long d = n; d < n+1; d++) s += A(4*d);", INT64_MAX / 2, 0,
         "subscript 1 of A (line 1, column"},
    };
    return cr_make_param_array(struct loop_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct loop_case *c, kernel_subscript, loops)
{
    char text[192];
    snprintf(text, sizeof text, "float s = 0; %s C(i,j) = s;", c->loop);
    dcli_body *body;
    cr_assert_eq(test_parse("out C 2, in A 1, value n int64, value u uint32, value b int8", text, &body), DCL_OK,
                 "%s: %s", c->what, dcl_error());
    dcli_scalar values[5] = {[2].i = c->n, [4].i = c->b};
    dcli_subscripts subscripts;
    int a = body->access[0].param == 1 ? 0 : 1;
    if (dcli_body_subscripts(body, a, values, &subscripts) != DCL_OK) {
        cr_expect(strstr(dcl_error(), c->found) != NULL, "%s: %s", c->what, dcl_error());
    } else {
        char expected[128], *found = test_accesses(body, values);
        snprintf(expected, sizeof expected, "A(%s) r", c->found);
        cr_expect(strstr(found, expected) != NULL, "%s: found %s, expected %s", c->what, found, expected);
        free(found);
    }
    dcli_body_free(body);
}

/* ---- limits of loops ----------------------------------------------------------------------------------------------- */

struct limit_case {
    char what[40], loop[40], limits[80]; /* around A(d), with n = 5 int64, m = 5 int32, b = 3 uint8, u = 5 uint32 */
    char found[24];                      /* the counters that may occur for i in 10..19: "first + count" */
};

#define UP "int d = 0; d < 100; d++"
#define DOWN "int d = 99; d >= 0; d -= 3"

ParameterizedTestParameters(kernel_subscript, limits)
{
    static struct limit_case cases[] = {
        {"none", UP, "", "0 + 100"},
        {"the least value for all indices", UP, "if (d < i) continue;", "10 + 90"},
        {"the greatest", UP, "if (d > i - n) break;", "0 + 15"},
        {"both", UP, "if (d < i - 4) continue; if (d > i + 4) break;", "6 + 18"},
        {"a negative coefficient", UP, "if (d < -(2*i - 60)) continue;", "22 + 78"},
        {"two of one kind", UP, "if (d > i + 9) break; if (d > 12) break;", "0 + 13"},
        {"of no index", UP, "if (d < 2*n) continue;", "10 + 90"},
        {"nothing is left", UP, "if (d < i + 200) continue;", "0 + 0"},
        {"a long literal", UP, "if (d > i - 3000000000) break;", "0 + 0"},
        {"a loop that falls", DOWN, "if (d > i) continue;", "27 + 7"},
        {"its other end", DOWN, "if (d < i) break;", "0 + 30"},
        {"an int", UP, "if (d < i - m) continue;", "5 + 95"},
        {"ints that cannot overflow", UP, "if (d < 3 * m - 7 + i) continue; if (d > m * m + i) break;", "18 + 27"},
        {"a byte is an int", UP, "if (d < i - b) continue;", "7 + 93"},
        /* not used */
        {"ints that may overflow", UP, "if (d < 400000000 * m + i) continue;", "0 + 100"},
        {"a sum that may overflow", UP, "if (d > 2000000000 + m + i + 2000000000) continue;", "0 + 100"},
        {"an unsigned scalar", UP, "if (d < i - u) continue;", "0 + 100"},
        {"a scalar that cancels out", UP, "if (d < i + m - m) continue;", "0 + 100"},
        {"so may literals", UP, "if (d < 99999 * 99999 * i) continue;", "0 + 100"},
        {"an unsigned literal", UP, "if (d < 20u) continue;", "0 + 100"},
        {"an unsigned variable", "uint d = 0; d < 100; d++", "if (d > -5) break;", "0 + 100"},
        {"not affine", UP, "if (d < i * i) continue;", "0 + 100"},
        {"another comparison", UP, "if (d <= i) continue;", "0 + 100"},
        {"after another statement", UP, "s++; if (d < i) continue;", "0 + 100"},
        {"more than one statement", UP, "if (d < i) { s++; continue; }", "0 + 100"},
        {"one that is not used before one that is", UP, "if (d < u) continue; if (d < i) continue;", "10 + 90"},
        {"one that reads before one that is used", UP, "if (d < A(d) - 40) break; if (d < i) continue;", "0 + 100"},
        {"one that reads after one that is used", UP, "if (d < i) continue; if (d < A(d) - 40) break;", "10 + 90"},
    };
    return cr_make_param_array(struct limit_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct limit_case *c, kernel_subscript, limits)
{
    char text[256], found[48];
    snprintf(text, sizeof text, "float s = 0; for (%s) { %s s += A(d); } C(i) = s;", c->loop, c->limits);
    dcli_body *body;
    cr_assert_eq(
        test_parse("out C 1, in A 1, value n int64, value m int32, value b uint8, value u uint32", text, &body), DCL_OK,
        "%s: %s", c->what, dcl_error());
    const dcli_scalar values[6] = {[2].i = 5, [3].i = 5, [4].u = 3, [5].u = 5};
    const dcl_box box = dcl_box_nd(1, (int64_t[]){10}, (int64_t[]){10});
    dcli_subscripts subscripts;
    int64_t first[DCL_MAX_RANK] = {0};
    int a = body->access[0].written ? 1 : 0;
    cr_assert_eq(dcli_body_subscripts(body, a, values, &subscripts), DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_inner_narrow(body, a, values, &box, first, subscripts.inner_count);
    snprintf(found, sizeof found, "%" PRId64 " + %" PRId64, first[0], subscripts.inner_count[0]);
    cr_expect_str_eq(found, c->found, "%s: found %s, expected %s", c->what, found, c->found);
    dcli_body_free(body);
}

/* Footprints depend on the bounds of loops whose variables are in subscripts, not on other bounds. */
Test(kernel_subscript, scalars_of_loops)
{
    dcli_body *body;
    cr_assert_eq(test_parse("out C 1, in A 1, value n int32, value u int32, value b int32",
                            "float s = 0; for (int d = 0; d < n; d++) for (int e = 0; e < u; e++) s += b * A(i+d); "
                            "C(i) = s;",
                            &body),
                 DCL_OK, "%s", dcl_error());
    cr_expect(dcli_body_subscripts_use(body, 2) && !dcli_body_subscripts_use(body, 3) &&
              !dcli_body_subscripts_use(body, 4));
    dcli_body_free(body);
}

/* Footprints depend on the limits and periods of subscripts; equal ones make one access. */
Test(kernel_subscript, boundaries)
{
    dcli_body *body;
    cr_assert_eq(test_parse("out C 1, in A 1, value n int32, value u int32, value b int32",
                            "C(i) = A(min(i,n)) + A(min(n,i)) + A(max(i,n)) + A(i) + A(i % u) + b * A(i%(u));", &body),
                 DCL_OK, "%s", dcl_error());
    cr_expect(dcli_body_subscripts_use(body, 2) && dcli_body_subscripts_use(body, 3) &&
              !dcli_body_subscripts_use(body, 4));
    cr_expect_eq(body->access_count, 5, "%d accesses", body->access_count);
    cr_expect(dcli_body_clamps(body, 1) && dcli_body_clamps(body, 2) && !dcli_body_clamps(body, 3));
    cr_expect(dcli_body_wraps(body, 4, 0) && !dcli_body_wraps(body, 2, 0) && !dcli_body_clamps(body, 4));
    dcli_body_free(body);
}

/* A prelude's min is not that of OpenCL C. */
Test(kernel_subscript, functions_of_the_prelude)
{
    dcli_body *body;
    dcli_param params[] = {{.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1},
                           {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 1}};
    cr_expect_eq(dcli_body_parse("C(i) = A(clamp(i,0,9));", "long clamp(long x, int a, int b) { return x / a; }", 2,
                                 params, &body),
                 DCL_ERR_BODY);
    cr_expect(strstr(dcl_error(), "it is a function call") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_body_parse("C(i) = A(constant(i,0,9,1));", "constant float table[] = {1};", 2, params, &body),
                 DCL_OK, "%s", dcl_error()); /* a keyword */
    dcli_body_free(body);
}

/* A loop whose variable a macro of the prelude may change has no known range. Lines of the prelude may end within a word. */
Test(kernel_subscript, macros_that_change_a_loop)
{
    static const struct {
        const char *prelude, *statement;
        bool known;
    } cases[] = {
        {"#define NEXT(x) \\\n    ((x) < 5 ? 3 : 2)", "s += NEXT(s);", true},
        {"#define NEXT dd += 2", "NEXT;", false},
        {"#define NEXT d\\\nd += 2", "NEXT;", false},
        {"#define PASTE(x) x#\\\n#x += 2\n#define NEXT PASTE(d)", "NEXT;", false},
        {"#define NEXT ++", "dd NEXT;", false},
        {"#define NEXT +=", "(dd) NEXT 2;", false},
        {"#define NEXT ++", "NEXT (dd);", false},
        {"#define NEXT ++", "if (dd) s += 1;", true},
    };
    dcli_param params[] = {{.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1},
                           {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 1}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        char text[160];
        dcli_body *body = NULL;
        snprintf(text, sizeof text, "int s = 0; for (int dd = 0; dd < 3; dd++) { %s s += A(i+dd); } C(i) = s;",
                 cases[n].statement);
        dcl_status status = dcli_body_parse(text, cases[n].prelude, 2, params, &body);
        cr_expect_eq(status, cases[n].known ? DCL_OK : DCL_ERR_BODY, "%s, %s: %s", cases[n].prelude, cases[n].statement,
                     dcl_error());
        cr_expect(status == DCL_OK || strstr(dcl_error(), "'dd' in subscript 1 of A is not affine") != NULL, "%s",
                  dcl_error());
        dcli_body_free(body);
    }
}

/* Of arrays that lie otherwise in memory than their axes stand: what runs along it. */
Test(kernel_subscript, neighbours_in_memory)
{
    static const struct {
        int turned;
        const char *found;
    } cases[] = {
        {0, "C(x0,x1) w u1; A(x0,x1) r u1; A(x1,x0) r u0; A(x1,x1) r"},
        {1, "C(x0,x1) w u1; A(x0,x1) r u0; A(x1,x0) r u1; A(x1,x1) r"},
        {-1, "C(x0,x1) w u1; A(x0,x1) r; A(x1,x0) r; A(x1,x1) r"},
        {7, "C(x0,x1) w u1; A(x0,x1) r; A(x1,x0) r; A(x1,x1) r"}, /* more than it has axes: none */
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_param params[2];
        dcli_body *body;
        int count = test_spec("out C 2, in A 2", params);
        params[1].turned = cases[n].turned;
        cr_assert_eq(dcli_body_parse("C(i,j) = A(i,j) + A(j,i) + A(j,j);", "", count, params, &body), DCL_OK, "%s",
                     dcl_error());
        char *found = test_accesses(body, NULL);
        cr_expect_str_eq(found, cases[n].found, "turned %d: %s", cases[n].turned, found);
        free(found);
        dcli_body_free(body);
    }
}

/* The loop axes of subscripts are those of the first output, whatever the indices are called. */
Test(kernel_subscript, axes_follow_the_first_output)
{
    dcli_body *body;
    cr_assert_eq(test_parse("out D 3, inout C 3, in A 2", "C(i,j,k) += A(2*k, i); D(k,i,j) = 1;", &body), DCL_OK, "%s",
                 dcl_error());
    char *found = test_accesses(body, NULL);
    cr_expect_str_eq(found, "C(x1,x2,x0) rw u0; A(2*x0,x1) r u1; D(x0,x1,x2) w u2");
    cr_expect_eq(body->owner, 0);
    cr_expect(body->index_of_axis[0] == 2 && body->index_of_axis[1] == 0 && body->index_of_axis[2] == 1);
    free(found);
    dcli_body_free(body);
}

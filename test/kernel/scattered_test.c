/* test/kernel/scattered_test.c - whose declared reads are scattered along a line, so that results are not stored past the caches. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"

struct scattered_case {
    char what[48], text[160];
    bool scattered;
};

ParameterizedTestParameters(kernel_scattered, has)
{
    /* clang-format off */
    static struct scattered_case cases[] = {
        {"an element in a subscript", "C(i,j) = H(K(i,j),j);", true},
        {"a variable made from an element", "long r = i + K(i,j); C(i,j) = H(r,j);", true},
        {"by a second variable", "long q = K(i,j), r = q / 2; C(i,j) = H(i,r);", true},
        {"by a variable that is declared before", "long r = 0, q = 0; r += q; q = K(i,j); C(i,j) = H(r,j);", true},
        {"an element of a declared read", "C(i,j) = H((int)H(K(i,j),0),j);", true},
        {"an element that the line shares", "C(i,j) = H(L(i),j);", false},
        {"a variable that the line shares", "long r = L(i) + 1; C(i,j) = H(r,j) + K(i,j);", false},
        {"a declared read that the line shares", "C(i,j) = H((int)H(L(i),0),j);", false},
        {"an element in another expression", "long r = i; C(i,j) = H(r,j) * K(i,j);", false},
        {"indices and a scalar", "C(i,j) = H(i * n / 2,j);", false},
        {"a loop's variable", "float s = 0; for (long d = 0; d < K(i,j); d++) s += H(d,j); C(i,j) = s;", false},
        {"no declared read", "long r = K(i,j); C(i,j) = r;", false},
    };
    /* clang-format on */
    return cr_make_param_array(struct scattered_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct scattered_case *c, kernel_scattered, has)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in K 2 int32, in L 1 int32, all H 2, value n int64", c->text, &body), DCL_OK,
                 "%s: %s", c->what, dcl_error());
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    cr_expect_eq(strstr(source, "dcl_streamed") == NULL, c->scattered, "%s", c->what);
    dcli_free(source);
    dcli_body_free(body);
}

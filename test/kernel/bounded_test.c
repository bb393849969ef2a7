/* test/kernel/bounded_test.c - which subscripts of declared reads are bounded once per line of indices. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "kernel/bounded.h"
#include "kernel/spec.h"

struct bounded_case {
    char what[40], before[96], subscript[64]; /* of A in `before A(subscript)` */
    bool bounded;
};

ParameterizedTestParameters(kernel_bounded, subscripts)
{
    static struct bounded_case cases[] = {
        {"an index", "C(i,j) =", "i", true},
        {"a sum", "C(i,j) =", "2*(i - n) + (long)b - -j", true},
        {"an unsigned scalar", "C(i,j) =", "i + u", false},
        {"an unsigned literal", "C(i,j) =", "i + 1u", false},
        {"a quotient", "C(i,j) =", "i / 2", false},
        {"a quotient in a product", "C(i,j) =", "2 * i / 3 * 2", false},
        {"a shift", "C(i,j) =", "i << 1 + b", false},
        {"a condition", "C(i,j) =", "i > 0 ? i : j + 1", false},
        {"a product of indices", "C(i,j) =", "i * j", false},
        {"factors of factors", "C(i,j) =", "2 * (3 * i)", false},
        {"a large factor", "C(i,j) =", "2000 * i", false},
        {"a hexadecimal literal", "C(i,j) =", "0x10 + i", false},
        {"an element", "C(i,j) =", "(long)K(i,j)", false},
        {"an element within limits", "C(i,j) =", "clamp((long)K(i,j), 0L, n)", true},
        {"limited at one side", "C(i,j) =", "min((long)K(i,j), n)", false},
        {"limits that are elements", "C(i,j) =", "clamp(i, 0L, (long)K(i,j))", false},
        {"another function", "C(i,j) =", "mad24(b, 2, 1)", false},
        {"a variable", "const long r = i + 1; C(i,j) =", "r", true},
        {"a variable of a variable", "const int q = b; long r = q - j; C(i,j) =", "r - q", true},
        {"a variable that changes", "long r = i; r += 1; C(i,j) =", "r", false},
        {"one that changes later", "long r = i; for (int q = 0; q < 3; r++) q++; C(i,j) =", "r", false},
        {"one whose address is taken", "long r = i; long *q = &r; *q = 5; C(i,j) =", "r", false},
        {"one of two of that name", "long r = i; if (r > 3) { long r = (long)K(i,j); C(i,j) = r; } C(i,j) =", "r",
         false},
        {"without a value at first", "long r; r = i; C(i,j) =", "r", false},
        {"the first of a declaration", "long r = i, q = (long)K(i,j); C(i,j) =", "r", true},
        {"the second of a declaration", "long q = 3, r = i; C(i,j) =", "r", false},
        {"an unsigned variable", "unsigned long r = i; C(i,j) =", "r", false},
        {"of another type", "short r = i; C(i,j) =", "r", false},
        {"a variable of itself", "long r = r + r; C(i,j) =", "r", false},
        {"a loop up to its own variable", "float s = 0; for (long r = 0; r < r + j; r++) s +=", "r", false},
        {"in a loop", "float s = 0; for (int r = -b; r <= b; r++) s +=", "i + r", true},
        {"down, in steps", "float s = 0; for (long r = j + 3; r > j; r -= 3) s +=", "r", true},
        {"a loop that is left by a sum", "float s = 0; for (int r = 0; s < 9; r++) s +=", "r", false},
        {"a loop with two conditions", "float s = 0; for (int r = 0; r < n && s < 9; r++) s +=", "r", false},
        {"a loop in the other direction", "float s = 0; for (int r = 0; r < n; r--) s +=", "r", false},
        {"a loop of products", "float s = 0; for (int r = 1; r < n; r *= 2) s +=", "r", false},
        {"a loop of two steps", "float s = 0; for (int r = 1; r < n; r++, s++) s +=", "r", false},
        {"a variable changed in its loop", "float s = 0; for (int r = 0; r < n; r++) s += r++ +", "r", false},
        {"from an element on", "float s = 0; for (long r = (long)K(i,j); r < n; r++) s +=", "r", false},
        {"of another loop's variable",
         "float s = 0; for (int r = 0; r < 2; r++) for (int q = r; q < 4; q++) s +=", "q - r", true},
    };
    return cr_make_param_array(struct bounded_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct bounded_case *c, kernel_bounded, subscripts)
{
    char text[256];
    dcli_body *body;
    dcli_bounded found;
    snprintf(text, sizeof text, "%s A(%s); C(i,j) = 1;", c->before, c->subscript);
    cr_assert_eq(test_parse("out C 2, all A 1, in K 2, value n int64, value u uint32, value b int8", text, &body),
                 DCL_OK, "%s: %s", c->what, dcl_error());
    dcli_bounded_find(body, &found);
    int a = 0;
    while (body->access[a].param != 1)
        a++;
    cr_expect_eq(found.bounded[a][0], c->bounded, "%s: expected %d", c->what, c->bounded);
    cr_expect(c->bounded == (strstr(found.code, "dcl_safe") != NULL), "%s: %s", c->what, found.code);
    dcli_bounded_free(&found);
    dcli_body_free(body);
}

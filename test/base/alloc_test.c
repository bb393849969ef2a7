/* Allocation: failures recorded with their size, overflow, provoked failures, growing; checked arithmetic. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

Test(alloc, memory_is_zero_and_nothing_is_something)
{
    int64_t *numbers = dcli_calloc(100, sizeof *numbers);
    cr_assert_not_null(numbers);
    for (int n = 0; n < 100; n++)
        cr_expect_eq(numbers[n], 0);
    dcli_free(numbers);
    void *none = dcli_malloc(0), *no_items = dcli_calloc(0, 8);
    cr_expect_not_null(none);
    cr_expect_not_null(no_items);
    dcli_free(none);
    dcli_free(no_items);
    dcli_free(NULL);
}

Test(alloc, a_product_that_overflows_is_refused)
{
    cr_expect_null(dcli_calloc(SIZE_MAX / 2, 3));
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
    dcli_error_clear();
    cr_expect_null(dcli_realloc(NULL, SIZE_MAX / 8, 9));
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
}

Test(alloc, provoked_failures_come_at_the_count_and_once)
{
    dcli_alloc_fail_after(2);
    void *first = dcli_malloc(10), *second = dcli_malloc(4711), *third = dcli_malloc(10);
    cr_expect_not_null(first);
    cr_expect_null(second);
    cr_expect_not_null(third);
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
    cr_expect_not_null(strstr(dcl_error(), "4711 bytes"), "%s", dcl_error());
    dcli_free(first);
    dcli_free(third);
}

Test(alloc, a_failed_realloc_keeps_the_old)
{
    char *old = dcli_strdup("kept");
    dcli_alloc_fail_after(1);
    cr_expect_null(dcli_realloc(old, 1000, 1));
    cr_expect_str_eq(old, "kept");
    dcli_free(old);
    dcli_alloc_fail_after(1);
    cr_expect_null(dcli_strdup("text"));
}

Test(alloc, fit_releases_what_is_beyond_the_entries)
{
    int *list = NULL;
    int64_t capacity = 0;
    for (int n = 0; n < 3; n++) {
        cr_assert_eq(dcli_grow(&list, n, &capacity, sizeof *list), 0);
        list[n] = n;
    }
    cr_assert_gt(capacity, 3);
    dcli_fit(&list, 3, &capacity, sizeof *list);
    cr_expect_eq(capacity, 3);
    cr_expect(list[0] == 0 && list[1] == 1 && list[2] == 2);
    dcli_fit(&list, 0, &capacity, sizeof *list);
    cr_expect(list == NULL && capacity == 0);
}

Test(alloc, grow_keeps_what_was_there)
{
    int *items = NULL;
    int64_t capacity = 0;
    for (int64_t count = 0; count < 1000; count++) {
        cr_assert_eq(dcli_grow(&items, count, &capacity, sizeof *items), 0);
        cr_assert_lt(count, capacity);
        items[count] = (int)count;
    }
    for (int n = 0; n < 1000; n++)
        cr_expect_eq(items[n], n);
    cr_expect_lt(capacity, 2001, "doubling, not more");
    int64_t before = capacity;
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_grow(&items, capacity, &capacity, sizeof *items), -1);
    cr_expect_eq(capacity, before);
    cr_expect_eq(items[999], 999);
    dcli_free(items);
}

struct division_case {
    int64_t a, b, floor, ceil, mod;
};

/* clang-format off */
ParameterizedTestParameters(check, division)
{
    static struct division_case cases[] = {
        /*        a   b  floor  ceil mod */
        {         7,  2,     3,    4,  1},
        {        -7,  2,    -4,   -3,  1},
        {         8,  4,     2,    2,  0},
        {        -8,  4,    -2,   -2,  0},
        {        -1,  5,    -1,    0,  4},
        {         0,  5,     0,    0,  0},
        { INT64_MIN,  1, INT64_MIN, INT64_MIN, 0},
        { INT64_MAX,  2, INT64_MAX / 2, INT64_MAX / 2 + 1, 1},
    };
    return cr_make_param_array(struct division_case, cases, sizeof cases / sizeof cases[0]);
}
/* clang-format on */

ParameterizedTest(struct division_case *c, check, division)
{
    cr_expect_eq(dcli_floor_div(c->a, c->b), c->floor);
    cr_expect_eq(dcli_ceil_div(c->a, c->b), c->ceil);
    cr_expect_eq(dcli_mod(c->a, c->b), c->mod);
}

Test(check, overflow_is_noticed_at_the_edge)
{
    int64_t out;
    cr_expect(dcli_add(INT64_MAX - 1, 1, &out) && out == INT64_MAX);
    cr_expect_not(dcli_add(INT64_MAX, 1, &out));
    cr_expect(dcli_sub(INT64_MIN + 1, 1, &out) && out == INT64_MIN);
    cr_expect_not(dcli_sub(INT64_MIN, 1, &out));
    cr_expect(dcli_mul(INT64_C(1) << 31, INT64_C(1) << 31, &out) && out == INT64_C(1) << 62);
    cr_expect_not(dcli_mul(INT64_C(1) << 32, INT64_C(1) << 31, &out));
}

Test(check, greatest_common_divisor)
{
    cr_expect_eq(dcli_gcd(12, 18), 6);
    cr_expect_eq(dcli_gcd(0, 7), 7);
    cr_expect_eq(dcli_gcd(7, 0), 7);
    cr_expect_eq(dcli_gcd(INT64_MAX, 1), 1);
}

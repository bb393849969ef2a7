/* Division by multiplication: the quotients that divide instructions give. */
#include <criterion/criterion.h>

#include <inttypes.h>

#include "base/divisor.h"
#include "segment/random.h"

static void expect(int64_t n, int64_t by)
{
    int64_t quotient = dcli_divided(n, dcli_divisor_of(by));
    cr_expect_eq(quotient, n / by, "%" PRId64 " / %" PRId64 " is %" PRId64 ", expected %" PRId64, n, by, quotient,
                 n / by);
}

Test(divisor, small_numbers)
{
    for (int64_t by = 1; by <= 300; by++)
        for (int64_t n = 0; n <= 1000; n++)
            expect(n, by);
}

/* A multiplier that is too small or too large shows first just before or at a multiple, of large numbers. */
Test(divisor, multiples_of_every_size)
{
    test_random random = 1;
    for (int k = 0; k < 20000; k++) {
        int64_t by = 1 + (int64_t)(test_next(&random) >> test_between(&random, 3, 63));
        by = by > INT64_C(1) << 62 ? INT64_C(1) << 62 : by;
        int64_t multiple = INT64_MAX / by - test_between(&random, 0, INT64_MAX / by);
        expect(multiple * by, by);
        expect(multiple > 0 ? multiple * by - 1 : 0, by);
        expect(INT64_MAX / by * by, by);
        expect(INT64_MAX / by * by - 1, by);
        expect(INT64_MAX, by);
    }
}

Test(divisor, powers_of_two_and_their_neighbours)
{
    for (int shift = 1; shift <= 62; shift++)
        for (int64_t by = (INT64_C(1) << shift) - 1; by <= INT64_C(1) << 62 && by <= (INT64_C(1) << shift) + 1; by++)
            for (int64_t n = INT64_MAX; n > 0; n /= 2) {
                expect(n, by);
                expect(n - n % by, by);
                expect(n - n % by > 0 ? n - n % by - 1 : 0, by);
            }
}

/* test/worker/claims_test.c - when launches have claims, and the numbers of their turns. */
#include <criterion/criterion.h>

#include "base/log.h"
#include "kernel/claim.h"
#include "worker/claims.h"

static dcli_device *open_device(void)
{
    dcli_device *device = NULL;
    cr_assert_eq(dcli_device_open(0, NULL, &device), DCL_OK);
    return device;
}

Test(worker_claims, each_thread_has_a_part)
{
    dcli_device *device = open_device();
    int units = dcli_device_about(device)->compute_units;
    dcli_claims claims = {0};
    cr_assert_eq(dcli_claims_open(&claims, device), DCL_OK);
    if (units < 2 || !dcli_device_same_addresses(device)) {
        cr_expect_eq(dcli_claims_begin(&claims, NULL, 1000).at, 0, "one thread takes all rows");
    } else {
        cr_expect_eq(claims.at[0], units);
        cr_expect_eq((uintptr_t)claims.at % 128, 0, "parts share no cache line with other memory");
        cr_expect_eq(dcli_claims_begin(&claims, NULL, units - 1).at, 0, "too few rows");
        cr_expect_eq(dcli_claims_begin(&claims, NULL, DCLI_CLAIM_ROWS + 1).at, 0, "more than a counter can count");
        cr_expect_eq(claims.turn, 0, "launches without claims have no turn");
        cr_expect_eq(dcli_claims_begin(&claims, NULL, units).at, (uintptr_t)claims.at);
        cr_expect_eq(dcli_claims_begin(&claims, NULL, units).number, 2);
        const dcli_body fast = {.result_count = 2, .result[1].fast = true}, exact = {.result_count = 2};
        cr_expect_eq(dcli_claims_begin(&claims, &fast, 1000).at, 0, "its bits must not depend on who takes which row");
        cr_expect_eq(dcli_claims_begin(&claims, &exact, 1000).at, (uintptr_t)claims.at);
        claims.turn = DCLI_CLAIM_TURNS;
        cr_expect_eq(dcli_claims_begin(&claims, NULL, units).number, 1, "0 is no turn");
    }
    dcli_claims_close(&claims);
    cr_expect_eq(dcli_claims_begin(&claims, NULL, 1000).at, 0);
    dcli_device_close(device);
}

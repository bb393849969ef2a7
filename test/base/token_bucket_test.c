/* test/base/token_bucket_test.c - so many at once, then so many a second, whenever it is asked. */
#include <criterion/criterion.h>

#include "base/token_bucket.h"

enum { BURST = 5000, PER_S = 2000, START_MS = 77 };

Test(token_bucket, is_full_at_first)
{
    dcli_token_bucket bucket = {0};
    cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS, BURST, PER_S), BURST);
}

Test(token_bucket, fills_by_time)
{
    dcli_token_bucket bucket = {0};
    dcli_token_bucket_fill(&bucket, START_MS, BURST, PER_S);
    bucket.tokens -= BURST;
    cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS, BURST, PER_S), 0);
    for (int64_t ms = 1; ms <= 1000; ms++) /* asked often, it gives as much */
        cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS + ms, BURST, PER_S), ms * PER_S / 1000);
}

Test(token_bucket, pays_what_is_owed_first)
{
    dcli_token_bucket bucket = {.tokens = -1000, .filled_ms = START_MS};
    cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS + 400, BURST, PER_S), -200);
    cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS + 600, BURST, PER_S), 200);
}

Test(token_bucket, holds_no_more_than_the_burst)
{
    dcli_token_bucket bucket = {.tokens = 4000, .filled_ms = START_MS};
    cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS + 500, BURST, PER_S), BURST);
    cr_expect_eq(dcli_token_bucket_fill(&bucket, START_MS + 501, BURST, PER_S), BURST);
    cr_expect_eq(dcli_token_bucket_fill(&bucket, INT64_MAX, BURST, PER_S), BURST);
}

/* base/token_bucket.h - a token bucket: so many bytes at once, then so many a second. */
#ifndef DCLI_BASE_TOKEN_BUCKET_H
#define DCLI_BASE_TOKEN_BUCKET_H

#include <stdint.h>

/** Zeroed, it is full. */
typedef struct dcli_token_bucket {
    int64_t tokens;    /* at filled_ms; the caller takes what it uses, and may owe some */
    int64_t filled_ms; /* by dcli_monotonic_ms(); 0: never yet */
} dcli_token_bucket;

/** Add what has come since the last time. @param burst  most tokens, below 2^53. @param per_s  1000 at least. @return the tokens there are now. */
static inline int64_t dcli_token_bucket_fill(dcli_token_bucket *bucket, int64_t now_ms, int64_t burst, int64_t per_s)
{
    int64_t passed_ms = now_ms - bucket->filled_ms, missing = burst - bucket->tokens;
    int64_t full_ms = missing > 0 ? missing * 1000 / per_s : 0; /* compared, as the product of a long time overflows */
    bucket->tokens = bucket->filled_ms == 0 || passed_ms > full_ms ? burst : bucket->tokens + passed_ms * per_s / 1000;
    bucket->filled_ms = now_ms;
    return bucket->tokens;
}

#endif

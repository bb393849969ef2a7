/* base/token_bucket.h - a token bucket: limits a flow to a burst of bytes and then a number of bytes per second. */
#ifndef DCLI_BASE_TOKEN_BUCKET_H
#define DCLI_BASE_TOKEN_BUCKET_H

#include <stdint.h>

/** A token bucket. A zeroed one is full. */
typedef struct dcli_token_bucket {
    int64_t tokens;    /* tokens at filled_ms; the caller subtracts what it uses, and may go below 0 */
    int64_t filled_ms; /* time of the last fill, by dcli_monotonic_ms(); 0: never */
} dcli_token_bucket;

/** Add the tokens of the time since the last call.
 *  @param burst  most tokens, below 2^53.
 *  @param per_s  tokens per second, at least 1000.
 *  @return the tokens available now. */
static inline int64_t dcli_token_bucket_fill(dcli_token_bucket *bucket, int64_t now_ms, int64_t burst, int64_t per_s)
{
    int64_t passed_ms = now_ms - bucket->filled_ms, missing = burst - bucket->tokens;
    int64_t full_ms = missing > 0 ? missing * 1000 / per_s : 0; /* time until full; compared first, because the
                                                                   product for a long time would overflow */
    bucket->tokens = bucket->filled_ms == 0 || passed_ms > full_ms ? burst : bucket->tokens + passed_ms * per_s / 1000;
    bucket->filled_ms = now_ms;
    return bucket->tokens;
}

#endif

/* seal_test.c - checksums of messages: the same bits whatever the processor has. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "net/seal.h"

struct sum_case {
    char what[32];
    size_t payload_bytes;
};

ParameterizedTestParameters(seal, sums_are_those_of_xxhash)
{
    static struct sum_case cases[] = {
        {"no payload", 0},
        {"one byte", 1},
        {"a short one", 240},
        {"the shortest long one", 241},
        {"a block of stripes", 1024},
        {"one byte more", 1025},
        {"many blocks", 300001},
    };
    return cr_make_param_array(struct sum_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct sum_case *c, seal, sums_are_those_of_xxhash)
{
    static unsigned char payload[300001];
    unsigned char frame[40];
    uint64_t sum = 0;
    memset(frame, 7, sizeof frame);
    for (size_t n = 0; n < sizeof payload; n++)
        payload[n] = (unsigned char)(n * n >> 3);
    dcli_seal_put(frame, 24, 5, true, payload, c->payload_bytes);
    for (int byte = 7; byte >= 0; byte--)
        sum = sum << 8 | frame[32 + byte];
    uint64_t seed = c->payload_bytes > 0 ? XXH3_64bits(payload, c->payload_bytes) : 0;
    cr_expect_eq(sum, XXH3_64bits_withSeed(frame, 32, seed), "%s", c->what);
    cr_expect(dcli_seal_holds(frame, sizeof frame, payload, c->payload_bytes), "%s", c->what);
    dcli_seal_put(frame, 24, 5 | DCLI_SEAL_BARE, true, payload, c->payload_bytes);
    for (int byte = 7; byte >= 0; byte--)
        sum = sum << 8 | frame[32 + byte];
    cr_expect_eq(sum, XXH3_64bits(frame, 32), "%s, which is not summed", c->what);
    cr_expect(dcli_seal_holds(frame, sizeof frame, payload, c->payload_bytes), "%s, which is not summed", c->what);
    dcli_seal_put(frame, 24, 5, true, payload, c->payload_bytes);
    for (size_t flip = 0; flip < c->payload_bytes; flip = 2 * flip + 1) {
        payload[flip] ^= 16;
        cr_expect_not(dcli_seal_holds(frame, sizeof frame, payload, c->payload_bytes), "%s, bit in byte %zu", c->what,
                      flip);
        payload[flip] ^= 16;
    }
}

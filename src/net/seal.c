/* net/seal.c - sequence numbers and checksums of messages over tcp. */
#include "net/seal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void put(unsigned char *at, uint64_t number)
{
    for (int byte = 0; byte < 8; byte++)
        at[byte] = (unsigned char)(number >> 8 * byte);
}

static uint64_t get(const unsigned char *at)
{
    uint64_t number = 0;
    for (int byte = 0; byte < 8; byte++)
        number |= (uint64_t)at[byte] << 8 * byte;
    return number;
}

/* Checksum of a payload, with AVX2 if the CPU has it; this is determined once. The result is the same either way. */
static uint64_t sum_of_payload(const void *payload, size_t bytes)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return dcli_seal_sum_wide(payload, bytes);
#endif
    return XXH3_64bits(payload, bytes);
}

static uint64_t sum_of(const void *frame, size_t bytes, const void *payload, size_t payload_bytes)
{
    uint64_t seed = payload_bytes > 0 ? sum_of_payload(payload, payload_bytes) : 0;
    return XXH3_64bits_withSeed(frame, bytes, seed);
}

void dcli_seal_put(void *frame, size_t length, uint64_t number, bool sum, const void *payload, size_t payload_bytes)
{
    unsigned char *seal = (unsigned char *)frame + length;
    put(seal, number);
    if (sum)
        put(seal + DCLI_SEAL_NUMBER,
            sum_of(frame, length + DCLI_SEAL_NUMBER, payload, (number & DCLI_SEAL_BARE) == 0 ? payload_bytes : 0));
}

void dcli_seal_put_view(void *frame, uint64_t view) { put(frame, view); }

uint64_t dcli_seal_view(const void *frame) { return get(frame); }

uint64_t dcli_seal_number(const void *frame, size_t frame_bytes, bool sum)
{
    return get((const unsigned char *)frame + frame_bytes - dcli_seal_bytes(sum));
}

bool dcli_seal_holds(const void *frame, size_t frame_bytes, const void *payload, size_t payload_bytes)
{
    size_t summed = frame_bytes - DCLI_SEAL_SUM;
    bool bare = (dcli_seal_number(frame, frame_bytes, true) & DCLI_SEAL_BARE) != 0;
    return get((const unsigned char *)frame + summed) == sum_of(frame, summed, payload, bare ? 0 : payload_bytes);
}

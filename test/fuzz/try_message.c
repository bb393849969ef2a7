/* fuzz/try_message.c - dcli_message_unpack() over arbitrary bytes: no access outside them, and what it accepts packs to
 * bytes that unpack to the same and pack to themselves. */
#include "fuzz/try_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "net/codec.h"
#include "net/random_message.h"

struct fuzz_seen fuzz_seen;

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: seed %llu: %s\n", fuzz_seen.seed, what);
    abort();
}

static void check_round_trip(const dcli_message *message)
{
    static dcli_arena arena;
    static dcli_pack_buffer first, second;
    dcli_message again;
    const char *different;
    demand(dcli_message_pack_into(message, &first) == DCL_OK, "an accepted message cannot be packed");
    demand(dcli_message_unpack(first.bytes, first.length, &arena, &again) == DCL_OK, "a packed message is refused");
    demand(test_message_equal(message, &again, &different), different);
    demand(dcli_message_pack_into(&again, &second) == DCL_OK, "an unpacked message cannot be packed");
    demand(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0,
           "packing what was unpacked gives other bytes");
    dcli_arena_free(&arena);
}

void fuzz_try_bytes(const uint8_t *bytes, size_t length)
{
    dcli_arena arena = {0};
    dcli_message message;
    if (dcli_message_unpack(bytes, length, &arena, &message) == DCL_OK) {
        fuzz_seen.accepted++;
        check_round_trip(&message);
    } else {
        fuzz_seen.refused++;
    }
    dcli_arena_free(&arena);
}

/** Change some bytes, or cut. @return the new length. */
static size_t mutate(test_random *random, uint8_t *bytes, size_t length)
{
    static const uint8_t heads[] = {0x00, 0x7f, 0x80, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xc4, 0xc7, 0xca, 0xcc,
                                    0xcf, 0xd0, 0xd3, 0xd4, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff};
    for (int changes = 1 + test_random_below(random, 3); changes > 0 && length > 0; changes--) {
        size_t at = (size_t)test_random_below(random, (int)(length < 64 || changes == 1 ? length : 64));
        switch (test_random_below(random, 4)) {
        case 0:
            bytes[at] = (uint8_t)test_random_bits(random);
            break;
        case 1:
            bytes[at] = heads[test_random_below(random, sizeof heads)];
            break;
        case 2:
            bytes[at] ^= (uint8_t)(1 << test_random_below(random, 8));
            break;
        default:
            length = at;
        }
    }
    return length;
}

void fuzz_replay(uint64_t seed, int messages)
{
    test_random random = {seed};
    dcli_pack_buffer packed = {0};
    fuzz_seen.seed = seed;
    for (int i = 0; i < messages; i++) {
        dcli_message message = test_random_message(&random, 1 + i % (DCLI_MSG_KIND_COUNT - 1));
        demand(dcli_message_pack_into(&message, &packed) == DCL_OK, "a random message cannot be packed");
        for (int round = 0; round < 8; round++) {
            uint8_t *copy = malloc(packed.length);
            memcpy(copy, packed.bytes, packed.length);
            size_t length = round == 0 ? packed.length : mutate(&random, copy, packed.length);
            uint8_t *exact = malloc(length > 0 ? length : 1); /* an access behind it is seen */
            memcpy(exact, copy, length);
            fuzz_try_bytes(exact, length);
            free(exact);
            free(copy);
        }
    }
    dcli_free(packed.bytes);
}

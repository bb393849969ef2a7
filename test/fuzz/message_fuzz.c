/* fuzz/message_fuzz.c - packing and unpacking. The first byte of an input is the kind of a message. The message's fields are
 * made of the next bytes, and the last ones change its packed bytes. Or the first byte says that the rest are packed bytes. The
 * number of the version, if it is one byte, is replaced by DCLI_PROTOCOL then, so that recorded inputs stay valid; but not
 * after a first byte 0. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fuzz/input.h"
#include "fuzz/try_message.h"
#include "net/codec.h"
#include "net/random_message.h"

/* What is packed is understood by whoever gets it. Only what is larger than a message may be, or has
 * more items, is refused: senders see to it. */
static bool pack(const dcli_message *message, dcli_pack_buffer *packed)
{
    dcli_arena arena = {0};
    dcli_message again;
    const char *different = "";
    if (dcli_message_pack_into(message, packed) != DCL_OK)
        return false;
    bool taken = dcli_message_unpack(packed->bytes, packed->length, &arena, &again) == DCL_OK;
    if (!taken && strstr(dcl_error(), "too many items") != NULL) {
        dcli_arena_free(&arena);
        return false;
    }
    fuzz_demand(taken, "a packed message is refused");
    bool equal = test_message_equal(message, &again, &different);
    fuzz_demand(equal, different);
    dcli_arena_free(&arena);
    return true;
}

/* In memory of its own, so that an access behind it is seen. */
static void break_bytes(fuzz_input *input, const char *bytes, size_t length)
{
    uint8_t *copy = malloc(length);
    memcpy(copy, bytes, length);
    while (input->at < input->end && length > 0) {
        size_t at = (size_t)(fuzz_byte(input) | fuzz_byte(input) << 8) % length;
        if (fuzz_byte(input) == 0)
            length = at;
        else
            copy[at] = (uint8_t)fuzz_byte(input);
    }
    uint8_t *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, copy, length);
    fuzz_try_bytes(exact, length);
    free(exact);
    free(copy);
}

/* Unpack bytes of another version as those of this one. */
static void try_as_own_version(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1); /* an access behind it is seen */
    if (length > 0)
        memcpy(copy, bytes, length);
    size_t head = length == 0 ? 1 : copy[0] == 0xdc ? 3 : copy[0] == 0xdd ? 5 : 1; /* bytes of the head of the array */
    if (head < length && copy[head] < 128)
        copy[head] = DCLI_PROTOCOL;
    fuzz_try_bytes(copy, length);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dcli_pack_buffer packed;
    fuzz_input input = {data, data + size};
    int kind = fuzz_byte(&input);
    if (kind == 0 || kind >= DCLI_MSG_KIND_COUNT) {
        size_t bytes = (size_t)(input.end - input.at);
        if (kind == 0)
            fuzz_try_bytes(input.at, bytes);
        else
            try_as_own_version(input.at, bytes);
        return 0;
    }
    dcli_message message = {.kind = (dcli_message_kind)kind};
    fuzz_forget();
    message.epoch = (uint64_t)fuzz_number(&input, INT64_MIN, INT64_MAX);
    fuzz_fill(&input, &message);
    if (pack(&message, &packed) && input.at < input.end)
        break_bytes(&input, packed.bytes, packed.length);
    return 0;
}

/* fuzz/input.c - numbers and messages from the bytes of an input, along the table of messages. */
#include "fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/table.h"

void fuzz_demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

int fuzz_byte(fuzz_input *input) { return input->at < input->end ? *input->at++ : 0; }

int fuzz_below(fuzz_input *input, int limit) { return limit > 1 ? fuzz_byte(input) % limit : 0; }

bool fuzz_flag(fuzz_input *input) { return (fuzz_byte(input) & 1) != 0; }

static int64_t clamp(int64_t value, int64_t minimum, int64_t maximum)
{
    return value < minimum ? minimum : value > maximum ? maximum : value;
}

static uint64_t fuzz_bits(fuzz_input *input)
{
    uint64_t bits = 0;
    for (int n = 0; n < 8; n++)
        bits = bits << 8 | (uint64_t)fuzz_byte(input);
    return bits;
}

int64_t fuzz_number(fuzz_input *input, int64_t minimum, int64_t maximum)
{
    enum { SMALL = 224 };
    static const int64_t edges[] = {INT64_MIN,  INT64_MIN + 1, INT64_MAX,     INT64_MAX - 1,      INT32_MIN,
                                    INT32_MAX,  1LL << 31,     1LL << 32,     1LL << 40,          1LL << 62,
                                    UINT16_MAX, 1 << 20,       INT64_MAX / 8, INT64_MAX / 1000000};
    enum { EDGES = sizeof edges / sizeof edges[0] };
    int byte = fuzz_byte(input);
    if (byte < SMALL && minimum < 0)
        return clamp((byte & 1) != 0 ? -(byte / 2) - 1 : byte / 2, minimum, maximum);
    if (byte < SMALL)
        return clamp(minimum + byte, minimum, maximum);
    if (byte < SMALL + EDGES)
        return clamp(edges[byte - SMALL], minimum, maximum);
    return clamp((int64_t)fuzz_bits(input), minimum, maximum);
}

int fuzz_event(int byte, int events, int nothing) { return (byte & 31) < events ? byte & 31 : nothing; }

/* ---- memory of one message ---------------------------------------------------------------------------------------- */

static struct {
    _Alignas(16) char bytes[4 << 20];
    size_t used;
} pool;

void fuzz_forget(void) { pool.used = 0; }

/* Zeroed. NULL: there is no more. */
static void *take(size_t bytes)
{
    size_t rounded = (bytes + 15) / 16 * 16;
    if (rounded > sizeof pool.bytes - pool.used)
        return NULL;
    void *memory = pool.bytes + pool.used;
    pool.used += rounded;
    return memset(memory, 0, bytes);
}

/* Short ones letter by letter, long ones of one letter. */
static const char *text(fuzz_input *input, int most)
{
    enum { SHORT = 32 };
    int length = fuzz_byte(input);
    bool is_long = length >= SHORT;
    if (is_long)
        length = (int)((int64_t)(length - SHORT) * (most + 1) / (255 - SHORT));
    if (length > most)
        length = most;
    char *start = take((size_t)length + 1);
    if (start == NULL)
        return "";
    int letter = is_long ? fuzz_byte(input) : 0;
    for (int n = 0; n < length; n++) {
        int next = is_long ? letter : fuzz_byte(input);
        start[n] = (char)(next == 0 ? 'x' : next);
    }
    return start;
}

/* ---- fields ------------------------------------------------------------------------------------------------------- */

static void fill_record(fuzz_input *input, const dcli_record *record, char *base);

static int *count_of(const dcli_field *field, char *base) { return (int *)(void *)(base + field->count); }

/* *alike_out: all items are as the first. */
static int choose_count(fuzz_input *input, int most, bool *alike_out)
{
    enum { FEW = 240, ALIKE = 254 };
    int byte = fuzz_byte(input);
    int count = byte < FEW ? byte % 6 : byte >= ALIKE ? most - (255 - byte) : byte;
    *alike_out = byte >= ALIKE;
    return count < most ? count : most;
}

static void fill_inline(fuzz_input *input, const dcli_field *field, char *base)
{
    int64_t *items = (int64_t *)(void *)(base + field->offset);
    if (field->count_kind == DCLI_COUNT_OWN) {
        int count = fuzz_below(input, field->most + 1);
        *count_of(field, base) = count;
        if (field->count_copy != 0)
            *(int *)(void *)(base + field->count_copy) = count;
    }
    int count = field->count_kind == DCLI_COUNT_FIXED ? field->most : *count_of(field, base);
    for (int n = 0; n < count; n++)
        items[n] = fuzz_number(input, field->minimum, field->maximum);
}

/* NUMBERS and RECORDS. */
static void fill_list(fuzz_input *input, const dcli_field *field, char *base)
{
    size_t bytes = field->kind == DCLI_FIELD_RECORDS ? field->record->bytes : sizeof(int64_t);
    bool alike;
    int count = choose_count(input, field->most, &alike);
    char *items = take((size_t)count * bytes);
    *count_of(field, base) = items != NULL ? count : 0;
    memcpy(base + field->offset, &items, sizeof items);
    for (int n = 0; items != NULL && n < count; n++) {
        if (alike && n > 0)
            memcpy(items + (size_t)n * bytes, items, bytes);
        else if (field->kind == DCLI_FIELD_RECORDS)
            fill_record(input, field->record, items + (size_t)n * bytes);
        else
            ((int64_t *)(void *)items)[n] = fuzz_number(input, field->minimum, field->maximum);
    }
}

static void fill_field(fuzz_input *input, const dcli_field *field, char *base)
{
    void *at = base + field->offset;
    switch (field->kind) {
    case DCLI_FIELD_INT:
        *(int *)at = (int)fuzz_number(input, field->minimum, field->maximum);
        break;
    case DCLI_FIELD_INT64:
        *(int64_t *)at = fuzz_number(input, field->minimum, field->maximum);
        break;
    case DCLI_FIELD_BITS:
        *(uint64_t *)at = (uint64_t)fuzz_number(input, INT64_MIN, INT64_MAX);
        break;
    case DCLI_FIELD_BOOL:
        *(bool *)at = fuzz_flag(input);
        break;
    case DCLI_FIELD_STRING:
    case DCLI_FIELD_SENTENCE:
        *(const char **)at = text(input, field->most);
        break;
    case DCLI_FIELD_INLINE:
        fill_inline(input, field, base);
        break;
    case DCLI_FIELD_NUMBERS:
    case DCLI_FIELD_RECORDS:
        fill_list(input, field, base);
        break;
    }
}

static void fill_record(fuzz_input *input, const dcli_record *record, char *base)
{
    for (int f = 0; f < record->field_count; f++)
        fill_field(input, &record->field[f], base);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static char *contents(dcli_message *message) { return (char *)&message->kernel; }

void fuzz_fill(fuzz_input *input, dcli_message *message)
{
    fill_record(input, &dcli_message_table[message->kind], contents(message));
}

/* A field, or one of a record in a list. Numbers of several fields that belong together are made anew together. */
static void twist_record(fuzz_input *input, const dcli_record *record, char *base)
{
    if (record->field_count == 0)
        return;
    int chosen = fuzz_below(input, record->field_count);
    const dcli_field *field = &record->field[chosen];
    if (field->kind == DCLI_FIELD_RECORDS && *count_of(field, base) > 0 && fuzz_byte(input) < 224) {
        char *items;
        memcpy(&items, base + field->offset, sizeof items);
        twist_record(input, field->record,
                     items + (size_t)fuzz_below(input, *count_of(field, base)) * field->record->bytes);
        return;
    }
    fill_field(input, field, base);
    bool own = field->kind == DCLI_FIELD_INLINE && field->count_kind == DCLI_COUNT_OWN;
    for (int f = chosen + 1; own && f < record->field_count && record->field[f].count == field->count; f++)
        fill_field(input, &record->field[f], base);
}

void fuzz_twist(fuzz_input *input, dcli_message *message)
{
    twist_record(input, &dcli_message_table[message->kind], contents(message));
}

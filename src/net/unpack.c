/* net/unpack.c - unpack bytes into a message, according to the table.
 * The bytes have been scanned: every announced item is complete. So reading need not check for the end of the bytes, as
 * long as it takes exactly as many items as each array announces. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "net/arena.h"
#include "net/codec.h"
#include "net/table.h"

typedef struct reader {
    const unsigned char *at;
    dcli_arena *arena;
    dcli_fault fault;
} reader;

static void *place(void *object, uint16_t offset) { return (char *)object + offset; }
static void set_int(void *object, uint16_t offset, int value) { *(int *)place(object, offset) = value; }

/** Set a pointer member of any type. */
static void set_pointer(void *object, uint16_t offset, const void *pointer)
{
    memcpy(place(object, offset), &pointer, sizeof pointer);
}

/* ---- items ---- */

/** Read an integer of any encoding. @return false, having read nothing, if the item is not an integer. */
static bool read_any_integer(reader *r, uint64_t *bits_out, bool *negative_out)
{
    int head = *r->at;
    *negative_out = false;
    if (head < 0x80) {
        *bits_out = (uint64_t)head;
        r->at++;
        return true;
    }
    if (head >= DCLI_WIRE_NEGATIVE) {
        *bits_out = (uint64_t)(int64_t)(int8_t)head;
        *negative_out = true;
        r->at++;
        return true;
    }
    if (head < DCLI_WIRE_UINT8 || head > DCLI_WIRE_INT64)
        return false;
    int bytes = 1 << ((head - DCLI_WIRE_UINT8) & 3);
    uint64_t bits = dcli_wire_number(r->at + 1, bytes);
    if (head >= DCLI_WIRE_INT8) {
        uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
        *negative_out = (bits & sign) != 0;
        if (*negative_out)
            bits |= ~(sign - 1);
    }
    *bits_out = bits;
    r->at += 1 + bytes;
    return true;
}

static bool wrong_type(reader *r, const char *expected)
{
    return dcli_fault_what(&r->fault, "is of another type (first byte 0x%02x); expected %s", (unsigned)*r->at,
                           expected);
}

static bool read_integer(reader *r, const dcli_field *field, int64_t *value_out)
{
    uint64_t bits;
    bool negative;
    if (!read_any_integer(r, &bits, &negative))
        return wrong_type(r, "an integer");
    if (!negative && bits > INT64_MAX)
        return dcli_fault_what(&r->fault, "is %" PRIu64 "; expected %" PRId64 "..%" PRId64, bits, field->minimum,
                               field->maximum);
    int64_t value = (int64_t)bits;
    if (value < field->minimum || value > field->maximum)
        return dcli_fault_range(&r->fault, value, field);
    *value_out = value;
    return true;
}

static bool read_bits(reader *r, uint64_t *bits_out)
{
    bool negative;
    if (!read_any_integer(r, bits_out, &negative))
        return wrong_type(r, "an integer");
    if (negative)
        return dcli_fault_what(&r->fault, "is %" PRId64 "; expected 0 or more", (int64_t)*bits_out);
    return true;
}

static bool read_bool(reader *r, bool *value_out)
{
    if (*r->at != DCLI_WIRE_FALSE && *r->at != DCLI_WIRE_TRUE)
        return wrong_type(r, "a boolean");
    *value_out = *r->at++ == DCLI_WIRE_TRUE;
    return true;
}

/** Read the length of an array or string. Its short encoding is `small` + length (up to `mask`); its long encodings
 *  have the codes `first` (with 1 << `first_log` bytes) to `last`. @return false, having read nothing, if the item is
 *  of another type. */
static bool read_count(reader *r, int small, int mask, int first, int first_log, int last, uint64_t *count_out)
{
    int head = *r->at;
    if ((head & ~mask) == small) {
        *count_out = (uint64_t)(head & mask);
        r->at++;
        return true;
    }
    if (head < first || head > last)
        return false;
    int bytes = 1 << (head - first + first_log);
    *count_out = dcli_wire_number(r->at + 1, bytes);
    r->at += 1 + bytes;
    return true;
}

/** Read the head of an array of `least`..`most` items. */
static bool read_array(reader *r, int least, int most, int *count_out)
{
    uint64_t count;
    if (!read_count(r, DCLI_WIRE_ARRAY, 0x0f, DCLI_WIRE_ARRAY16, 1, DCLI_WIRE_ARRAY32, &count))
        return wrong_type(r, "an array");
    if (count < (uint64_t)least || count > (uint64_t)most)
        return dcli_fault_what(&r->fault, "has %" PRIu64 " items; expected %d..%d", count, least, most);
    *count_out = (int)count;
    return true;
}

static void *take(reader *r, size_t bytes)
{
    void *memory = dcli_arena_take(r->arena, bytes);
    r->fault.no_memory = memory == NULL;
    return memory;
}

static bool read_string(reader *r, const dcli_field *field, const char **string_out)
{
    uint64_t length;
    if (!read_count(r, DCLI_WIRE_STRING, 0x1f, DCLI_WIRE_STRING8, 0, DCLI_WIRE_STRING32, &length))
        return wrong_type(r, "a string");
    if (length > (uint64_t)field->most)
        return dcli_fault_what(&r->fault, "has %" PRIu64 " bytes; expected %d at most", length, field->most);
    if (memchr(r->at, '\0', (size_t)length) != NULL)
        return dcli_fault_what(&r->fault, "holds a byte 0; expected none before its end");
    char *string = take(r, (size_t)length + 1);
    if (string == NULL)
        return false;
    memcpy(string, r->at, (size_t)length);
    string[length] = '\0';
    r->at += length;
    *string_out = string;
    return true;
}

/* ---- arrays ---- */

static bool read_fields(reader *r, const dcli_record *record, void *object, int count);

static bool read_integers(reader *r, const dcli_field *field, int64_t value_out[], int count)
{
    for (int i = 0; i < count; i++)
        if (!read_integer(r, field, &value_out[i]))
            return dcli_fault_where(&r->fault, field->name, i);
    return true;
}

static bool read_inline(reader *r, const dcli_field *field, void *object)
{
    int least = 0, most = field->most, count;
    if (field->count_kind == DCLI_COUNT_SAME)
        least = most = *(int *)place(object, field->count);
    else if (field->count_kind == DCLI_COUNT_FIXED)
        least = most;
    if (!read_array(r, least, most, &count))
        return false;
    if (field->count_kind == DCLI_COUNT_OWN)
        set_int(object, field->count, count);
    if (field->count_copy != 0)
        set_int(object, field->count_copy, count);
    return read_integers(r, field, place(object, field->offset), count);
}

static bool read_numbers(reader *r, const dcli_field *field, void *object)
{
    int count;
    if (!read_array(r, 0, field->most, &count))
        return false;
    int64_t *list = take(r, (size_t)count * sizeof *list);
    if (list == NULL)
        return false;
    set_pointer(object, field->offset, list);
    set_int(object, field->count, count);
    return read_integers(r, field, list, count);
}

static bool read_records(reader *r, const dcli_field *field, void *object)
{
    const dcli_record *record = field->record;
    int count, fields;
    if (!read_array(r, 0, field->most, &count))
        return false;
    char *list = take(r, (size_t)count * record->bytes);
    if (list == NULL)
        return false;
    memset(list, 0, (size_t)count * record->bytes);
    set_pointer(object, field->offset, list);
    set_int(object, field->count, count);
    for (int i = 0; i < count; i++, list += record->bytes)
        if (!read_array(r, record->required, record->field_count, &fields) || !read_fields(r, record, list, fields))
            return dcli_fault_where(&r->fault, field->name, i);
    return true;
}

/* ---- fields ---- */

static bool read_field(reader *r, const dcli_field *field, void *object)
{
    void *target = place(object, field->offset);
    int64_t value;
    const char *string = NULL;
    switch (field->kind) {
    case DCLI_FIELD_INT:
        if (!read_integer(r, field, &value))
            return false;
        *(int *)target = (int)value; /* the table's limits are within int */
        return true;
    case DCLI_FIELD_INT64:
        return read_integer(r, field, target);
    case DCLI_FIELD_BITS:
        return read_bits(r, target);
    case DCLI_FIELD_BOOL:
        return read_bool(r, target);
    case DCLI_FIELD_STRING:
    case DCLI_FIELD_SENTENCE:
        if (!read_string(r, field, &string))
            return false;
        set_pointer(object, field->offset, string);
        return true;
    case DCLI_FIELD_INLINE:
        return read_inline(r, field, object);
    case DCLI_FIELD_NUMBERS:
        return read_numbers(r, field, object);
    default:
        return read_records(r, field, object);
    }
}

/** Handle an omitted field: the object is already zero. */
static bool leave_out(reader *r, const dcli_field *field, void *object)
{
    if (field->kind == DCLI_FIELD_STRING || field->kind == DCLI_FIELD_SENTENCE)
        set_pointer(object, field->offset, "");
    else if (field->count_kind == DCLI_COUNT_SAME && *(int *)place(object, field->count) != 0)
        return dcli_fault_what(&r->fault, "is left out; expected %d items", *(int *)place(object, field->count));
    return true;
}

/** Read the first `count` fields of a zeroed struct; the others were omitted. A faulty field adds its name to the error
 *  path, unless one of its items has done so. */
static bool read_fields(reader *r, const dcli_record *record, void *object, int count)
{
    for (int i = 0; i < record->field_count; i++) {
        const dcli_field *field = &record->field[i];
        if (!(i < count ? read_field(r, field, object) : leave_out(r, field, object)))
            return r->fault.depth > 0 ? false : dcli_fault_where(&r->fault, field->name, -1);
    }
    return true;
}

/* ---- messages ---- */

/** Compare only the version: the rest of another version's message may look different. */
static dcl_status check_version(const unsigned char *bytes, size_t length)
{
    if (length >= 2 && (bytes[0] & 0xf0) == DCLI_WIRE_ARRAY && bytes[1] == DCLI_PROTOCOL)
        return DCL_OK;
    unsigned char start[16] = {0}; /* the heads of the array and of the integer take at most 14 bytes */
    memcpy(start, bytes, length < sizeof start ? length : sizeof start);
    reader r = {.at = start};
    int count;
    uint64_t version;
    bool negative;
    if (!read_array(&r, 1, INT_MAX, &count) || !read_any_integer(&r, &version, &negative) ||
        (size_t)(r.at - start) > length || (!negative && version == DCLI_PROTOCOL))
        return DCL_OK; /* or not a version at all, which the next checks refuse */
    return DCLI_FAIL(DCL_ERR_PROTOCOL,
                     "a message speaks version %" PRId64
                     " of the protocol, this peer version %d; let all peers run the "
                     "same version of DCL",
                     (int64_t)version, DCLI_PROTOCOL);
}

/** Read version, kind and epoch. */
static bool read_head(reader *r, dcli_message *message, int *fields_out)
{
    static const dcli_field version = {"version", .minimum = DCLI_PROTOCOL, .maximum = DCLI_PROTOCOL};
    static const dcli_field kind = {"kind", .minimum = 1, .maximum = DCLI_MSG_KIND_COUNT - 1};
    int count;
    int64_t value;
    if (!read_array(r, DCLI_HEAD_ITEMS, DCLI_MOST_ITEMS, &count))
        return dcli_fault_where(&r->fault, "the array", -1);
    if (!read_integer(r, &version, &value))
        return dcli_fault_where(&r->fault, version.name, -1);
    if (!read_integer(r, &kind, &value))
        return dcli_fault_where(&r->fault, kind.name, -1);
    message->kind = (dcli_message_kind)value;
    if (!read_bits(r, &message->epoch))
        return dcli_fault_where(&r->fault, "epoch", -1);
    *fields_out = count - DCLI_HEAD_ITEMS;
    return true;
}

static bool read_message(reader *r, dcli_message *message)
{
    int count = 0;
    if (!read_head(r, message, &count))
        return false;
    const dcli_record *record = &dcli_message_table[message->kind];
    if (count < record->required || count > record->field_count)
        return dcli_fault_what(&r->fault, "has %d fields; expected %d..%d", count, record->required,
                               record->field_count);
    return read_fields(r, record, place(message, offsetof(dcli_message, kernel)), count);
}

dcl_status dcli_message_unpack(const void *bytes, size_t length, dcli_arena *arena, dcli_message *message_out)
{
    dcl_status status = check_version(bytes, length);
    if (status == DCL_OK)
        status = dcli_message_scan(bytes, length);
    if (status != DCL_OK)
        return status;
    dcli_arena_reset(arena);
    dcli_message message = {0};
    reader r;
    r.at = bytes;
    r.arena = arena;
    r.fault.depth = 0;
    r.fault.no_memory = false;
    if (!read_message(&r, &message))
        return dcli_fault_record(&r.fault, DCL_ERR_PROTOCOL,
                                 message.kind == 0 ? "of unknown kind" : dcli_message_table[message.kind].name,
                                 "the message was dropped: let all peers run the same version of DCL");
    *message_out = message;
    return DCL_OK;
}

uint64_t dcli_message_version(const void *bytes, size_t length)
{
    const unsigned char *at = bytes, *end = at + length;
    if (at == end)
        return 0;
    size_t head = *at == DCLI_WIRE_ARRAY32 ? 5 : *at == DCLI_WIRE_ARRAY16 ? 3 : (*at & 0xf0) == DCLI_WIRE_ARRAY ? 1 : 0;
    if (head == 0 || (size_t)(end - at) <= head)
        return 0;
    at += head;
    if (*at < 0x80)
        return *at;
    if (*at < DCLI_WIRE_UINT8 || *at > DCLI_WIRE_UINT64)
        return 0;
    int digits = 1 << (*at - DCLI_WIRE_UINT8);
    return end - at > digits ? dcli_wire_number(at + 1, digits) : 0;
}

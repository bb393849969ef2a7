/* net/pack.c - pack a message into bytes, according to the table. Ranges are checked here, too, so that a mistake is
 * found at its origin. */
#include <string.h>

#include <msgpack/pack.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/codec.h"
#include "net/table.h"

typedef struct writer {
    msgpack_packer packer;
    dcli_fault fault;
} writer;

/** The write callback of msgpack. */
static int put(void *data, const char *bytes, size_t length)
{
    dcli_pack_buffer *buffer = data;
    if (buffer->length + length > buffer->capacity) {
        size_t capacity = (buffer->length + length) * 2 + 256;
        char *larger = dcli_realloc(buffer->bytes, capacity, 1);
        if (larger == NULL) {
            buffer->failed = true;
            return -1;
        }
        buffer->bytes = larger;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return 0;
}

static const void *at(const void *object, uint16_t offset) { return (const char *)object + offset; }
static int int_at(const void *object, uint16_t offset) { return *(const int *)at(object, offset); }
static int64_t int64_at(const void *object, uint16_t offset) { return *(const int64_t *)at(object, offset); }

/** Read a pointer member of any type. */
static const void *pointer_at(const void *object, uint16_t offset)
{
    const void *pointer;
    memcpy(&pointer, at(object, offset), sizeof pointer);
    return pointer;
}

static int count_of(const dcli_field *field, const void *object)
{
    return field->count_kind == DCLI_COUNT_FIXED ? field->most : int_at(object, field->count);
}

static bool is_default(const dcli_field *field, const void *object)
{
    const char *string;
    switch (field->kind) {
    case DCLI_FIELD_INT:
        return int_at(object, field->offset) == 0;
    case DCLI_FIELD_INT64:
    case DCLI_FIELD_BITS:
        return int64_at(object, field->offset) == 0;
    case DCLI_FIELD_BOOL:
        return !*(const bool *)at(object, field->offset);
    case DCLI_FIELD_STRING:
    case DCLI_FIELD_SENTENCE:
        string = pointer_at(object, field->offset);
        return string == NULL || *string == '\0';
    default:
        if (field->count_kind != DCLI_COUNT_FIXED)
            return int_at(object, field->count) == 0;
        for (int i = 0; i < field->most; i++)
            if (((const int64_t *)at(object, field->offset))[i] != 0)
                return false;
        return true;
    }
}

static bool write_integer(writer *w, int64_t value, const dcli_field *field)
{
    if (value < field->minimum || value > field->maximum)
        return dcli_fault_range(&w->fault, value, field);
    msgpack_pack_int64(&w->packer, value);
    return true;
}

static bool write_integers(writer *w, const int64_t value[], int count, const dcli_field *field)
{
    msgpack_pack_array(&w->packer, (size_t)count);
    for (int i = 0; i < count; i++)
        if (!write_integer(w, value[i], field))
            return dcli_fault_where(&w->fault, field->name, i);
    return true;
}

static bool write_string(writer *w, const char *string, const dcli_field *field)
{
    size_t length = string == NULL ? 0 : strlen(string), most = (size_t)field->most;
    if (length > most) {
        if (field->kind != DCLI_FIELD_SENTENCE)
            return dcli_fault_what(&w->fault, "has %zu bytes; expected %zu at most", length, most);
        length = most;
    }
    msgpack_pack_str(&w->packer, length);
    if (length > 0)
        msgpack_pack_str_body(&w->packer, string, length);
    return true;
}

static bool write_record(writer *w, const dcli_record *record, const void *object);

static bool write_records(writer *w, const void *list, int count, const dcli_field *field)
{
    msgpack_pack_array(&w->packer, (size_t)count);
    for (int i = 0; i < count; i++)
        if (!write_record(w, field->record, (const char *)list + (size_t)i * field->record->bytes))
            return dcli_fault_where(&w->fault, field->name, i);
    return true;
}

static bool write_array(writer *w, const dcli_field *field, const void *object)
{
    int count = count_of(field, object);
    if (count < 0 || count > field->most)
        return dcli_fault_what(&w->fault, "has %d items; expected 0..%d", count, field->most);
    if (field->kind == DCLI_FIELD_INLINE)
        return write_integers(w, at(object, field->offset), count, field);
    const void *list = pointer_at(object, field->offset);
    return field->kind == DCLI_FIELD_NUMBERS ? write_integers(w, list, count, field)
                                             : write_records(w, list, count, field);
}

static bool write_field(writer *w, const dcli_field *field, const void *object)
{
    switch (field->kind) {
    case DCLI_FIELD_INT:
        return write_integer(w, int_at(object, field->offset), field);
    case DCLI_FIELD_INT64:
        return write_integer(w, int64_at(object, field->offset), field);
    case DCLI_FIELD_BITS:
        msgpack_pack_uint64(&w->packer, *(const uint64_t *)at(object, field->offset));
        return true;
    case DCLI_FIELD_BOOL:
        if (*(const bool *)at(object, field->offset))
            msgpack_pack_true(&w->packer);
        else
            msgpack_pack_false(&w->packer);
        return true;
    case DCLI_FIELD_STRING:
    case DCLI_FIELD_SENTENCE:
        return write_string(w, pointer_at(object, field->offset), field);
    default:
        return write_array(w, field, object);
    }
}

/** Pack the fields of a struct. A faulty field adds its name to the error path, unless one of its items has done so. */
static bool write_fields(writer *w, const dcli_record *record, const void *object, int count)
{
    for (int i = 0; i < count; i++)
        if (!write_field(w, &record->field[i], object))
            return w->fault.depth > 0 ? false : dcli_fault_where(&w->fault, record->field[i].name, -1);
    return true;
}

/** Number of fields to send: trailing optional fields with default values are omitted. */
static int sent_fields(const dcli_record *record, const void *object)
{
    int count = record->field_count;
    while (count > record->required && is_default(&record->field[count - 1], object))
        count--;
    return count;
}

static bool write_record(writer *w, const dcli_record *record, const void *object)
{
    int count = sent_fields(record, object);
    msgpack_pack_array(&w->packer, (size_t)count);
    return write_fields(w, record, object, count);
}

static bool write_message(writer *w, const dcli_message *message, const dcli_record *record)
{
    const void *object = at(message, offsetof(dcli_message, kernel)); /* the union */
    int count = sent_fields(record, object);
    msgpack_pack_array(&w->packer, (size_t)(DCLI_HEAD_ITEMS + count));
    msgpack_pack_int(&w->packer, DCLI_PROTOCOL);
    msgpack_pack_int(&w->packer, (int)message->kind);
    msgpack_pack_uint64(&w->packer, message->epoch);
    return write_fields(w, record, object, count);
}

dcl_status dcli_message_pack_into(const dcli_message *message, dcli_pack_buffer *buffer)
{
    if (message->kind < 1 || message->kind >= DCLI_MSG_KIND_COUNT)
        return DCLI_FAIL(DCL_ERR_INVALID, "kind of a message is %d; expected 1..%d; set it before packing",
                         (int)message->kind, DCLI_MSG_KIND_COUNT - 1);
    const dcli_record *record = &dcli_message_table[message->kind];
    writer w;
    msgpack_packer_init(&w.packer, buffer, put);
    w.fault.depth = 0;
    w.fault.no_memory = false;
    buffer->length = 0;
    buffer->failed = false;
    if (!write_message(&w, message, record))
        return dcli_fault_record(&w.fault, DCL_ERR_INVALID, record->name, "send only what receivers accept");
    if (!buffer->failed && buffer->length > DCLI_MOST_MESSAGE)
        return DCLI_FAIL(DCL_ERR_INVALID, "a message %s has %zu bytes; expected at most %d; send it in parts",
                         record->name, buffer->length, DCLI_MOST_MESSAGE);
    return buffer->failed ? DCL_ERR_NOMEM : DCL_OK;
}

dcl_status dcli_message_pack(const dcli_message *message, void **bytes_out, size_t *length_out)
{
    dcli_pack_buffer buffer = {0};
    dcl_status status = dcli_message_pack_into(message, &buffer);
    if (status != DCL_OK) {
        dcli_free(buffer.bytes);
        return status;
    }
    *bytes_out = buffer.bytes;
    *length_out = buffer.length;
    return DCL_OK;
}

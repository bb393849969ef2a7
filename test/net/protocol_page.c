/* test/net/protocol_page.c - generates docs/protocol.md from the table of messages. */
#include "net/protocol_page.h"

#include <inttypes.h>

#include "base/text.h"
#include "net/table.h"

static void put_integers(dcli_text *text, const dcli_field *field)
{
    if (field->minimum == INT64_MIN)
        dcli_text_put(text, "any int64");
    else if (field->maximum == INT64_MAX)
        dcli_text_put(text, "%" PRId64 " or more", field->minimum);
    else
        dcli_text_put(text, "%" PRId64 "..%" PRId64, field->minimum, field->maximum);
}

static void put_array(dcli_text *text, const dcli_field *field, const char *before)
{
    dcli_text_put(text, "array of ");
    if (field->count_kind == DCLI_COUNT_OWN)
        dcli_text_put(text, "at most %d ", field->most);
    else if (field->count_kind == DCLI_COUNT_FIXED)
        dcli_text_put(text, "%d ", field->most);
    if (field->kind == DCLI_FIELD_RECORDS) {
        dcli_text_put(text, "of *%s*", field->record->name);
        return;
    }
    dcli_text_put(text, "integers, each ");
    put_integers(text, field);
    if (field->count_kind != DCLI_COUNT_OWN && field->count_kind != DCLI_COUNT_FIXED)
        dcli_text_put(text, "; as many as in %s", before);
}

static void put_type(dcli_text *text, const dcli_field *field, const char *before)
{
    switch (field->kind) {
    case DCLI_FIELD_INT:
    case DCLI_FIELD_INT64:
        dcli_text_put(text, "integer, ");
        put_integers(text, field);
        break;
    case DCLI_FIELD_BITS:
        dcli_text_put(text, "integer, any uint64");
        break;
    case DCLI_FIELD_BOOL:
        dcli_text_put(text, "boolean");
        break;
    case DCLI_FIELD_STRING:
    case DCLI_FIELD_SENTENCE:
        dcli_text_put(text, "string of at most %d bytes", field->most);
        break;
    default:
        put_array(text, field, before);
    }
}

static void put_record(dcli_text *text, const dcli_record *record)
{
    const char *counted = ""; /* the array whose length the following arrays share */
    if (record->field_count > 0)
        dcli_text_put(text, "\n| field | on the wire | meaning |\n|---|---|---|\n");
    for (int i = 0; i < record->field_count; i++) {
        const dcli_field *field = &record->field[i];
        dcli_text_put(text, "| %s%s | ", field->name, i < record->required ? "" : " (optional)");
        put_type(text, field, counted);
        dcli_text_put(text, " | %s |\n", field->about);
        if (field->kind == DCLI_FIELD_INLINE && field->count_kind == DCLI_COUNT_OWN)
            counted = field->name;
    }
}

static void put_inner(dcli_text *text, const dcli_record *record)
{
    for (int i = 0; i < record->field_count; i++) {
        const dcli_record *inner = record->field[i].record;
        if (inner == NULL)
            continue;
        dcli_text_put(text, "\n### *%s*: %s\n", inner->name, inner->about);
        put_record(text, inner);
        put_inner(text, inner);
    }
}

static const char introduction[] =
    "# The protocol\n\n"
    "Made from the table in `src/net/message_table.c` by `test/net/protocol_page.c`; a test compares the two.\n\n"
    "The words are those of [design.md](design.md), sections Words and How data moves. In the directions below,\n"
    "*program* is the program as a peer, which the source names `host`. *Node* is the thread or worker process that "
    "serves\n"
    "a node. *Listener* stands for the supervisor of a worker (`dcl worker`), and *client* for the program that "
    "connects\n"
    "to it.\n\n"
    "A message is one frame: a [MessagePack](https://msgpack.org) array of version, kind, epoch, then the fields below "
    "in\n"
    "their order. The version is %d; a peer with another version is refused. The epoch at this place, any uint64, is "
    "the\n"
    "random number of the session, or 0 before there is a session. Fields called epoch in OPERATIONS, SETUP, LOST and\n"
    "JOINED are something else: the version number of the list of members, which grows with every loss and every join. "
    "A\n"
    "struct inside a message is an array of its fields in their order. Optional fields may be omitted from the end of\n"
    "their array; they are then 0, false, empty or \"\". A CHUNK may have a second frame with its data in the sender's "
    "byte\n"
    "order; more frames are an error.\n\n"
    "Before any field is read, the frame is scanned without allocating memory. Limits: %d bytes, arrays nested %d "
    "deep,\n"
    "%d items. An array must not announce more items than bytes remain, because an item takes at least one byte. "
    "Strings\n"
    "must end inside the frame and contain no byte 0. The only types are integers, booleans, strings and arrays. "
    "Nothing\n"
    "may follow the message.\n\n"
    "Over tcp, in a session, each message frame ends with a seal after the array. The seal is the number of the "
    "message\n"
    "on its connection, from 1, as 8 bytes little-endian. Without keys, a checksum of 8 bytes follows: the 64-bit "
    "XXH3\n"
    "of all bytes before it, with the XXH3 of the payload as seed (0 without payload). A frame that is only a seal is "
    "a\n"
    "heartbeat; it has the number of the last message. The connection ends if the number of a message is not the next "
    "one,\n"
    "or if its checksum is wrong.\n\n"
    "With checksums, the first heartbeat of each end has 8 bytes before the seal: a hash of how this end sees the "
    "connection\n"
    "(the running system, its network namespace, the addresses and ports of both ends). If the receiver sees the same\n"
    "connection, nothing lies between the two ends. It then sends payloads without a checksum of their own, and sets\n"
    "the highest bit of the numbers of messages that have such a payload.\n";

char *protocol_page(void)
{
    dcli_text text = {0};
    dcli_text_put(&text, introduction, DCLI_PROTOCOL, DCLI_MOST_MESSAGE, DCLI_MOST_DEPTH, DCLI_MOST_ITEMS);
    for (int kind = 1; kind < DCLI_MSG_KIND_COUNT; kind++) {
        const dcli_record *record = &dcli_message_table[kind];
        dcli_text_put(&text, "\n## %d %s: %s\n", kind, record->name, record->about);
        put_record(&text, record);
        put_inner(&text, record);
    }
    return dcli_text_take(&text);
}

/* net/codec.h - packing and unpacking steps that other files of the net room use separately. */
#ifndef DCLI_NET_CODEC_H
#define DCLI_NET_CODEC_H

#include "net/message.h"

/** A growing buffer for packing, reused from message to message. Start with {0}; free `bytes` with dcli_free(). */
typedef struct dcli_pack_buffer {
    char *bytes;
    size_t length, capacity;
    bool failed; /* out of memory; the error is recorded */
} dcli_pack_buffer;

/** Pack a message into a buffer, replacing the buffer's contents. @return as dcli_message_pack(). */
dcl_status dcli_message_pack_into(const dcli_message *message, dcli_pack_buffer *buffer);

/** Check the structure of a message: one array that ends with the last byte, within the limits of message.h, consisting
 *  only of integers, booleans, strings and arrays. Reads every header once; no allocation, no recursion.
 *  @return DCL_OK or DCL_ERR_PROTOCOL. Source: the MessagePack specification, "Formats". */
dcl_status dcli_message_scan(const void *bytes, size_t length);

/** The protocol version of a message, if the bytes begin like a message. @return 0: they do not. */
uint64_t dcli_message_version(const void *bytes, size_t length);

/** First bytes of msgpack items. */
enum {
    DCLI_WIRE_ARRAY = 0x90,  /* an array of up to 15 items: this + their number */
    DCLI_WIRE_STRING = 0xa0, /* a string of up to 31 bytes: this + its length */
    DCLI_WIRE_FALSE = 0xc2,
    DCLI_WIRE_TRUE,
    DCLI_WIRE_UINT8 = 0xcc,
    DCLI_WIRE_UINT64 = 0xcf,
    DCLI_WIRE_INT8 = 0xd0,
    DCLI_WIRE_INT64 = 0xd3,
    DCLI_WIRE_STRING8 = 0xd9,
    DCLI_WIRE_STRING32 = 0xdb,
    DCLI_WIRE_ARRAY16 = 0xdc,
    DCLI_WIRE_ARRAY32 = 0xdd,
    DCLI_WIRE_NEGATIVE = 0xe0 /* this and all bytes above it stand for -32..-1 */
};

/** Read a big-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t dcli_wire_number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

#endif

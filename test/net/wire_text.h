/* net/wire_text.h - messages written as text, for tests: "[v,4,0,[-5,true,'abc']]" -> msgpack, by msgpack-c. */
#ifndef TEST_NET_WIRE_TEXT_H
#define TEST_NET_WIRE_TEXT_H

#include <stddef.h>

#include "net/message.h"

/** The protocol version in decimal digits, for expected sentences. */
#define TEST_PROTOCOL TEST_DIGITS(DCLI_PROTOCOL)
#define TEST_DIGITS(number) TEST_DIGITS_OF(number)
#define TEST_DIGITS_OF(number) #number

/** Integers (also above INT64_MAX), v (the protocol version), true, false, nil, 'strings' ("\0" as backslash zero), arrays; `'a'*70` repeats a
 *  string's letters, `[...]*70` an array's one item. Valid until the next call. @return its length in bytes. */
size_t test_wire(const char *text, const unsigned char **bytes_out);

#endif

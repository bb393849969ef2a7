/* net/wire_text.h - messages written as text, for tests: "[1,4,0,[-5,true,'abc']]" -> msgpack, by msgpack-c. */
#ifndef TEST_NET_WIRE_TEXT_H
#define TEST_NET_WIRE_TEXT_H

#include <msgpack.h>

/** Integers (also above INT64_MAX), true, false, nil, 'strings' ("\0" as backslash zero), arrays; `'a'*70` repeats a
 *  string's letters, `[...]*70` an array's one item. Valid until the next call. @return its length in bytes. */
size_t test_wire(const char *text, const unsigned char **bytes_out);

#endif

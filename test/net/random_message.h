/* net/random_message.h - messages with random contents within the limits, and their comparison, field by field: written
 * without the table, so that a mistake in it shows. */
#ifndef TEST_NET_RANDOM_MESSAGE_H
#define TEST_NET_RANDOM_MESSAGE_H

#include "net/message.h"

/** SplitMix64 (G. Steele, D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
typedef struct test_random {
    uint64_t state;
} test_random;
uint64_t test_random_bits(test_random *random);
/** 0..limit-1. */
int test_random_below(test_random *random, int limit);

/** A message of `kind`; its strings and arrays lie in static memory until the next call. */
dcli_message test_random_message(test_random *random, int kind);

/** Whether two messages say the same. NULL strings are equal to "". @param different_out  names the first difference. */
bool test_message_equal(const dcli_message *a, const dcli_message *b, const char **different_out);

#endif

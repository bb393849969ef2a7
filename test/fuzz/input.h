/* fuzz/input.h - the bytes of a fuzzer as numbers and messages. Made so that most inputs are valid messages, and that a
 * small change of an input is a small change of what it says. */
#ifndef TEST_FUZZ_INPUT_H
#define TEST_FUZZ_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/message.h"

/** What is left of an input; behind its end it reads as zeros. */
typedef struct fuzz_input {
    const uint8_t *at, *end;
} fuzz_input;

int fuzz_byte(fuzz_input *input);
/** 0..limit-1. */
int fuzz_below(fuzz_input *input, int limit);
bool fuzz_flag(fuzz_input *input);
/** A number of a range: near its lower end or near 0 (a byte), an edge of some type, or any (9 bytes). */
int64_t fuzz_number(fuzz_input *input, int64_t minimum, int64_t maximum);

/** Which of some events a byte stands for, by its low 5 bits: so that what inputs mean stays when an event is added.
 *  @param nothing  for numbers without one. */
int fuzz_event(int byte, int events, int nothing);

/** All fields of a message of message->kind. They point into static memory, until fuzz_forget(). */
void fuzz_fill(fuzz_input *input, dcli_message *message);
/** Change one field of a message that is right as it is. Its records, if it has any, must not be constant. */
void fuzz_twist(fuzz_input *input, dcli_message *message);
void fuzz_forget(void);

/** End the process with a sentence when something does not hold. */
void fuzz_demand(bool holds, const char *what);

#endif

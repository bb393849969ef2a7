/* fuzz/try_message.h - bytes that may be a message, tried: by the fuzzer, and by a short test without it. */
#ifndef TEST_FUZZ_TRY_MESSAGE_H
#define TEST_FUZZ_TRY_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

/** What was seen, so that a run can tell whether it went deep. */
extern struct fuzz_seen {
    long accepted, refused;
    unsigned long long seed; /* of a replay */
} fuzz_seen;

/** Unpack; what is accepted must survive a round trip. Ends the process where something does not hold. */
void fuzz_try_bytes(const uint8_t *bytes, size_t length);
/** Try `messages` random messages, each as it is and mutated several times. */
void fuzz_replay(uint64_t seed, int messages);

#endif

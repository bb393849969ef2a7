/* net/seal.h - what ends the first frame of every message over tcp, so that none is missing or changed unnoticed.
 *
 * Behind the message stands its number on this connection, 8 bytes little-endian, the first is 1; and where nothing is
 * encrypted a checksum of both and of the payload, 8 bytes: XXH3 of 64 bits of the frame's other bytes, its seed that of the
 * payload's bytes, 0 without one. A beat is a seal alone, with the number of the last message sent: so what was lost on a
 * connection that lives on is known with the next beat. Source: xxhash.h; RFC 23/ZMTP has neither. */
#ifndef DCLI_NET_SEAL_H
#define DCLI_NET_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DCLI_SEAL_NUMBER = 8, DCLI_SEAL_SUM = 8 };

/** Bytes of a seal. @param sum  whether it has a checksum. */
static inline size_t dcli_seal_bytes(bool sum) { return DCLI_SEAL_NUMBER + (sum ? DCLI_SEAL_SUM : 0); }
/** Write a seal behind `length` bytes of a message, 0 for a beat. @param payload  [payload_bytes] */
void dcli_seal_put(void *frame, size_t length, uint64_t number, bool sum, const void *payload, size_t payload_bytes);

/** Of a frame that is at least a seal: the number in it. */
uint64_t dcli_seal_number(const void *frame, size_t frame_bytes, bool sum);
/** Whether nothing of a frame that is at least a seal, and of its payload, has changed. */
bool dcli_seal_holds(const void *frame, size_t frame_bytes, const void *payload, size_t payload_bytes);

#if defined __x86_64__
/** seal_wide.c: XXH3 of `count` bytes, on processors with AVX2. */
uint64_t dcli_seal_sum_wide(const void *bytes, size_t count);
#endif

#endif

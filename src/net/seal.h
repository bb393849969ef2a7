/* net/seal.h - the end of the first frame of every message over tcp, which detects missing and changed messages.
 *
 * After the message come its number on this connection, 8 bytes little-endian, starting at 1, and without encryption a
 * checksum of 8 bytes: the 64-bit XXH3 of all other bytes of the frame, with the XXH3 of the payload as seed (0 without
 * payload). If the highest bit of the number is set, the checksum leaves out the payload. A heartbeat is a frame that
 * is only a seal, with the number of the last message sent. So the next heartbeat reveals messages lost on a connection
 * that still works. If the connection has checksums, its first heartbeat has 8 bytes more, before the seal: how its
 * sender sees the connection (direct.h). Source: xxhash.h; RFC 23/ZMTP has neither. */
#ifndef DCLI_NET_SEAL_H
#define DCLI_NET_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DCLI_SEAL_NUMBER = 8, DCLI_SEAL_SUM = 8, DCLI_SEAL_VIEW = 8 };

#define DCLI_SEAL_BARE (UINT64_C(1) << 63) /* flag in a number: the checksum leaves out the payload */

/** Length of a seal. @param sum  whether it has a checksum. */
static inline size_t dcli_seal_bytes(bool sum) { return DCLI_SEAL_NUMBER + (sum ? DCLI_SEAL_SUM : 0); }
/** Write a seal after `length` bytes: of a message; 0 for a heartbeat; DCLI_SEAL_VIEW for a connection's first
 *  heartbeat.
 *  @param number   with DCLI_SEAL_BARE, the payload is not read.
 *  @param payload  [payload_bytes] */
void dcli_seal_put(void *frame, size_t length, uint64_t number, bool sum, const void *payload, size_t payload_bytes);

/** Write, and read, the 8 bytes before the seal of a connection's first heartbeat. */
void dcli_seal_put_view(void *frame, uint64_t view);
uint64_t dcli_seal_view(const void *frame);

/** The number in a seal, with DCLI_SEAL_BARE; the frame is long enough for one. */
uint64_t dcli_seal_number(const void *frame, size_t frame_bytes, bool sum);
/** Whether the checksum is right for the frame, which is long enough for a seal, and its payload. */
bool dcli_seal_holds(const void *frame, size_t frame_bytes, const void *payload, size_t payload_bytes);

#if defined __x86_64__
/** seal_wide.c: XXH3 of `count` bytes, for CPUs with AVX2. */
uint64_t dcli_seal_sum_wide(const void *bytes, size_t count);
#endif

#endif

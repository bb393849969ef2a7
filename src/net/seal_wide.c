/* net/seal_wide.c - the checksum of payloads, 32 bytes at a time. On x86-64 this file is compiled for AVX2; seal.c
 * checks that the CPU has it. */
#include "net/seal.h"

#if defined __x86_64__

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t dcli_seal_sum_wide(const void *bytes, size_t count) { return XXH3_64bits(bytes, count); }

#endif

/* net/seal_wide.c - the checksum of payloads, 32 bytes at a time: on x86-64 only, where this file is compiled for AVX2. Not
 * every such processor has it: seal.c asks before it calls. */
#include "net/seal.h"

#if defined __x86_64__

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t dcli_seal_sum_wide(const void *bytes, size_t count) { return XXH3_64bits(bytes, count); }

#endif

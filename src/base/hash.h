/* base/hash.h - hashing of short keys for in-memory tables. Not for keys that an attacker can choose. */
#ifndef DCLI_BASE_HASH_H
#define DCLI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DCLI_HASH_START UINT64_C(0x9E3779B97F4A7C15)

/** Mix one word into a hash, by one multiplication and one shift. The factor is one of the finalizer of MurmurHash3 (A.
 *  Appleby, 2011). */
static inline uint64_t dcli_hash_word(uint64_t hash, uint64_t word)
{
    hash ^= word;
    hash *= UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 32;
    return hash;
}

/** Mix bytes into a hash, eight at a time. */
static inline uint64_t dcli_hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    hash = dcli_hash_word(hash, length);
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = dcli_hash_word(hash, word);
    }
    if (length > 0) {
        uint64_t word = 0;
        memcpy(&word, at, length);
        hash = dcli_hash_word(hash, word);
    }
    return hash;
}

#endif

/* net/proof.h - what a session's host alone can say: passwords and keys that come of a secret which stays in the program,
 * and tags by which a node knows that a message passed on by others is the host's.
 * Source: RFC 7693, BLAKE2b, keyed; by libsodium, which libzmq uses for CURVE. */
#ifndef DCLI_NET_PROOF_H
#define DCLI_NET_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include <dcl/base.h>

#include "net/keys.h"

enum { DCLI_DIGEST_BYTES = 32 };

/** Of one session, never sent. What is derived from it tells nothing of it, nor of anything else that is derived. */
typedef struct dcli_secret {
    unsigned char bytes[32];
} dcli_secret;

/** What a secret is for. */
typedef enum dcli_purpose {
    DCLI_HOST_PASSWORD = 1, /* the host presents it to one node, where there are no keys */
    DCLI_WORD_KEY           /* the host and one node: tags of what others pass on to it */
} dcli_purpose;

/** 32 random bytes. @return DCL_OK or DCL_ERR_INTERNAL (the system has no random numbers). */
dcl_status dcli_secret_make(dcli_secret *secret_out);
/** One for a purpose and a node, as hexadecimal digits. */
void dcli_secret_derive(const dcli_secret *secret, dcli_purpose purpose, int node, char hex_out[DCLI_KEY_HEX]);

void dcli_digest(const void *bytes, size_t length, unsigned char digest_out[DCLI_DIGEST_BYTES]);
/** Who does not know the key guesses right once in 2^64. @param key  of dcli_secret_derive(). */
uint64_t dcli_tag(const char *key, const unsigned char digest[DCLI_DIGEST_BYTES]);

#endif

/* net/proof.h - how the host of a session authenticates itself: passwords and keys derived from a secret that stays in
 * the program, and authentication tags by which a node verifies that a forwarded message is from the host.
 * Source: RFC 7693, BLAKE2b, keyed; by libsodium, which libzmq uses for CURVE. */
#ifndef DCLI_NET_PROOF_H
#define DCLI_NET_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include <dcl/base.h>

#include "net/keys.h"

enum { DCLI_DIGEST_BYTES = 32 };

/** The secret of a session, never sent. A value derived from it reveals neither the secret nor other derived values. */
typedef struct dcli_secret {
    unsigned char bytes[32];
} dcli_secret;

/** What a value derived from a secret is for. */
typedef enum dcli_purpose {
    DCLI_HOST_PASSWORD = 1, /* password that the host sends to one node, if there are no keys */
    DCLI_HOST_NAME,         /* by which one node tells the host's connection: see dcli_host_routing_id() */
    DCLI_WORD_KEY           /* key shared by the host and one node: for tags of forwarded messages */
} dcli_purpose;

/** Make a secret: 32 random bytes. @return DCL_OK or DCL_ERR_INTERNAL (the system has no random numbers). */
dcl_status dcli_secret_make(dcli_secret *secret_out);
/** Derive the value for a purpose and a node, as hexadecimal digits. */
void dcli_secret_derive(const dcli_secret *secret, dcli_purpose purpose, int node, char hex_out[DCLI_KEY_HEX]);

void dcli_digest(const void *bytes, size_t length, unsigned char digest_out[DCLI_DIGEST_BYTES]);
/** The authentication tag of a digest. Without the key it can be guessed with probability 1 in 2^64. @param key  of
 *  dcli_secret_derive(). */
uint64_t dcli_tag(const char *key, const unsigned char digest[DCLI_DIGEST_BYTES]);

#endif

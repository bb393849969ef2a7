/* net/proof.c - passwords, keys and authentication tags by keyed BLAKE2b. */
#include "net/proof.h"

#include <string.h>
#include <sys/random.h>

#include <sodium.h>

#include "base/error.h"

dcl_status dcli_secret_make(dcli_secret *secret_out)
{
    if (getrandom(secret_out->bytes, sizeof secret_out->bytes, 0) == (ssize_t)sizeof secret_out->bytes)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INTERNAL, "getrandom: the system has no random numbers; expected 32 bytes of them");
}

void dcli_secret_derive(const dcli_secret *secret, dcli_purpose purpose, int node, char hex_out[DCLI_KEY_HEX])
{
    unsigned char derived[(DCLI_KEY_HEX - 1) / 2];
    const int32_t what[2] = {purpose, node};
    crypto_generichash(derived, sizeof derived, (const unsigned char *)what, sizeof what, secret->bytes,
                       sizeof secret->bytes);
    sodium_bin2hex(hex_out, DCLI_KEY_HEX, derived, sizeof derived);
    explicit_bzero(derived, sizeof derived);
}

void dcli_digest(const void *bytes, size_t length, unsigned char digest_out[DCLI_DIGEST_BYTES])
{
    crypto_generichash(digest_out, DCLI_DIGEST_BYTES, bytes, length, NULL, 0);
}

uint64_t dcli_tag(const char *key, const unsigned char digest[DCLI_DIGEST_BYTES])
{
    unsigned char tag[crypto_generichash_BYTES_MIN];
    uint64_t first;
    crypto_generichash(tag, sizeof tag, digest, DCLI_DIGEST_BYTES, (const unsigned char *)key, strlen(key));
    memcpy(&first, tag, sizeof first);
    return first;
}

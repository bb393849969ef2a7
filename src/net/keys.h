/* net/keys.h - CURVE key pairs, and the folder that contains them.
 *
 * A key folder contains `own.secret` (mode 0600), `own.public` (0644) and a folder `allowed` with the public keys of
 * others, one per file `NAME.public`. A key file has one line `dcl public HEX` or `dcl secret HEX` with 64 hexadecimal
 * digits, and possibly comments that begin with '#' and empty lines. In memory keys are in Z85, as libzmq takes them.
 * Source: zmq_curve(7), zmq_z85_encode(3), RFC 32/Z85. */
#ifndef DCLI_NET_KEYS_H
#define DCLI_NET_KEYS_H

#include <stdint.h>

#include <dcl/base.h>

enum {
    DCLI_KEY_Z85 = 41,       /* characters of a key in Z85, with the final '\0' */
    DCLI_KEY_HEX = 65,       /* characters of a key in hexadecimal digits, with the final '\0' */
    DCLI_FINGERPRINT = 17,   /* characters of a fingerprint, the first 16 digits of a key, with the final '\0' */
    DCLI_MOST_ALLOWED = 4096 /* keys on one list */
};

typedef struct dcli_keypair {
    char public_key[DCLI_KEY_Z85], secret_key[DCLI_KEY_Z85];
} dcli_keypair;

/** Public keys. Start with {0}; end with dcli_key_list_free(). */
typedef struct dcli_key_list {
    char (*key)[DCLI_KEY_Z85]; /* [count] public keys */
    int64_t count, capacity;
} dcli_key_list;
void dcli_key_list_free(dcli_key_list *list);

/** Make a key pair in memory only: for one session. @return DCL_OK or DCL_ERR_UNSUPPORTED (this libzmq has no
 *  CURVE). */
dcl_status dcli_keypair_make(dcli_keypair *pair_out);
/** Overwrite the keys; call it before the memory is freed. */
void dcli_keypair_wipe(dcli_keypair *pair);

/** Make a key pair and its files, also the folder (mode 0700) and its `allowed` if they are missing. Existing files are
 *  never overwritten. On failure no new files remain, except perhaps the folders.
 *  @param pair_out  the pair; overwrite it after use. NULL: not wanted.
 *  @return DCL_OK, DCL_ERR_FILE (a key exists already, the folder cannot be made or others may write to it),
 *          DCL_ERR_UNSUPPORTED (this libzmq has no CURVE). */
dcl_status dcli_keys_make(const char *folder, dcli_keypair *pair_out);

/** Read the pair of a key folder.
 *  @param pair_out  untouched on failure; wipe it.
 *  @return DCL_OK or DCL_ERR_FILE: missing; the secret readable by others or another user's; the folder or the public
 *          key writable by others; malformed, with file and line (never what a secret's line holds); public and secret
 *          key not of one pair. DCL_ERR_UNSUPPORTED: this libzmq has no CURVE. */
dcl_status dcli_keys_read(const char *folder, dcli_keypair *pair_out);

/** Read a file with one public key, such as another's `own.public`.
 *  @return DCL_OK or DCL_ERR_FILE (missing, writable by others, malformed). */
dcl_status dcli_key_read(const char *path, char key_out[DCLI_KEY_Z85]);

/** A public key given as text: 64 hexadecimal digits of either case and nothing else.
 *  @return DCL_OK or DCL_ERR_INVALID. */
dcl_status dcli_key_parse(const char *hex, char key_out[DCLI_KEY_Z85]);

/** Read the public keys in `allowed`, in the order of their file names. If there is no folder `allowed`, there are
 *  none.
 *  @param list_out  must be {0}; empty on failure.
 *  @return DCL_OK, DCL_ERR_FILE (one is malformed or writable by others, or there are more than DCLI_MOST_ALLOWED; then
 *          nothing is allowed), DCL_ERR_NOMEM. */
dcl_status dcli_keys_allowed(const char *folder, dcli_key_list *list_out);

/** Read the public key of a host: `allowed/HOST.public`.
 *  @param host  as in an address, without the port: a name, 10.0.0.3, [::1].
 *  @return DCL_OK, DCL_ERR_INVALID (not valid as a file name), DCL_ERR_FILE (missing, malformed, writable by
 *          others). */
dcl_status dcli_keys_find(const char *folder, const char *host, char key_out[DCLI_KEY_Z85]);

/** Convert a key to hexadecimal digits, lower case. */
void dcli_key_text(const char key[DCLI_KEY_Z85], char hex_out[DCLI_KEY_HEX]);

#endif

/* net/token.h - random tokens that keep other users of this machine out of a listener on loopback that has no keys.
 * The listener writes a new token at each start into a file that only its user can read; clients present it as
 * password. */
#ifndef DCLI_NET_TOKEN_H
#define DCLI_NET_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include <dcl/base.h>

enum {
    DCLI_TOKEN = 65 /* characters of a token, 64 hexadecimal digits, with the final '\0' */
};

/** A new one, of 256 random bits. @return DCL_OK or DCL_ERR_INTERNAL (the system has no random numbers). */
dcl_status dcli_token_make(char token_out[DCLI_TOKEN]);

/** Whether two strings are equal. The time it takes depends on their lengths, not on where they differ. */
bool dcli_token_equal(const char *given, const char *expected);

/** Where the token of a listener is written: `tcp-127.0.0.1-7700.token` for tcp://127.0.0.1:7700, in /run/user/UID/dcl
 *  where /run/user/UID is there and this user's, else in /tmp/dcl-UID. "localhost" stands for 127.0.0.1. Makes nothing.
 *  @param path_out  [bytes].
 *  @return DCL_OK or DCL_ERR_INVALID (longer than a path may be). */
dcl_status dcli_token_path(const char *address, char *path_out, size_t bytes);

/** Write a token to a file of mode 0600, replacing an old one of this user at once (readers see the old or the new).
 *  Its folder is made where it is missing (its parent is not) and must be this user's, mode 0700.
 *  @return DCL_OK or DCL_ERR_FILE (folder or old file: owner, mode, kind; what to do). */
dcl_status dcli_token_write(const char *path, const char token[DCLI_TOKEN]);

/** Read one. @param token_out  untouched on failure.
 *  @return DCL_OK or DCL_ERR_FILE (missing, another user's, readable by others, not a regular file, malformed). */
dcl_status dcli_token_read(const char *path, char token_out[DCLI_TOKEN]);

/** Read the one of the listener at `address` from wherever dcli_token_path() of a process of this user may have put it:
 *  a worker started outside of a login has no /run/user/UID.
 *  @return as dcli_token_read(); when there is none the sentence has the places that were looked at. */
dcl_status dcli_token_find(const char *address, char token_out[DCLI_TOKEN]);

/** Whether a token may be shown to who listens on this machine: PLAIN proves nothing about the listener, and a worker that
 *  was killed leaves its token to whoever takes its port.
 *  @param host  a number of loopback: 127.0.0.1, or [::1].
 *  @return DCL_OK: the listener is this user's or root's; DCL_ERR_NETWORK (another user's, or nobody listens, or the system
 *  does not tell). */
dcl_status dcli_token_listener_is_ours(const char *host, int port);
/** The same, but DCL_OK where nobody listens, or where it cannot be told. */
dcl_status dcli_token_listener_is_not_foreign(const char *host, int port);
/** Whether the other end of a connection on this host is held by a process of this user or of root: between looking at a
 *  listener and connecting to it another one can take its place. To be asked when the other side has answered.
 *  @return DCL_OK, also when the connection has ended; DCL_ERR_NETWORK. */
dcl_status dcli_token_connection_is_ours(int fd);

/** Remove the file if it holds this token still; another listener's newer one stays. */
void dcli_token_remove(const char *path, const char token[DCLI_TOKEN]);

#endif

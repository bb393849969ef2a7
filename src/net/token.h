/* net/token.h - random tokens that keep other users of this machine out of a listener on loopback without keys.
 * The listener writes a new token at each start into a file that only its user can read; clients send it as
 * password. */
#ifndef DCLI_NET_TOKEN_H
#define DCLI_NET_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include <dcl/base.h>

enum {
    DCLI_TOKEN = 65 /* characters of a token, 64 hexadecimal digits, with the final '\0' */
};

/** Make a token of 256 random bits. @return DCL_OK or DCL_ERR_INTERNAL (the system has no random numbers). */
dcl_status dcli_token_make(char token_out[DCLI_TOKEN]);

/** Whether two strings are equal. The time depends on their lengths, not on where they differ. */
bool dcli_token_equal(const char *given, const char *expected);

/** The path of a listener's token file: `tcp-127.0.0.1-7700.token` for tcp://127.0.0.1:7700, in /run/user/UID/dcl if
 *  /run/user/UID exists and is this user's, else in /tmp/dcl-UID. "localhost" means 127.0.0.1. Makes no file.
 *  @param path_out  [bytes].
 *  @return DCL_OK or DCL_ERR_INVALID (longer than a path may be). */
dcl_status dcli_token_path(const char *address, char *path_out, size_t bytes);

/** Write a token to a file of mode 0600, atomically replacing an old one of this user. Its folder is made if it is
 *  missing (but not the folder's parent) and must be this user's, mode 0700.
 *  @return DCL_OK, DCL_ERR_FILE (folder or old file: owner, mode, kind; what to do), DCL_ERR_INTERNAL (the system has
 *          no random numbers). */
dcl_status dcli_token_write(const char *path, const char token[DCLI_TOKEN]);

/** Read a token file. @param token_out  untouched on failure. @return DCL_OK or DCL_ERR_FILE (missing, another user's,
 *  readable by others, not a regular file, malformed). */
dcl_status dcli_token_read(const char *path, char token_out[DCLI_TOKEN]);

/** Read the token of the listener at `address` from each place that dcli_token_path() of a process of this user may
 *  have chosen: a worker started outside of a login has no /run/user/UID.
 *  @return as dcli_token_read(); if there is none, the sentence lists the places. */
dcl_status dcli_token_find(const char *address, char token_out[DCLI_TOKEN]);

/** Whether a token may be sent to the listener at a port of this machine. PLAIN does not authenticate the listener, and
 *  a worker that was killed leaves its token file to whoever takes its port.
 *  @param host  a numeric loopback address: 127.0.0.1, or [::1].
 *  @return DCL_OK: the listener is this user's or root's; DCL_ERR_NETWORK (another user's, or nobody listens, or the
 *          system does not tell). */
dcl_status dcli_token_listener_is_ours(const char *host, int port);
/** Check a listener as dcli_token_listener_is_ours() does, but return DCL_OK also if nobody listens or the system does
 *  not tell. */
dcl_status dcli_token_listener_is_not_foreign(const char *host, int port);
/** Whether the other end of a connection on this host belongs to a process of this user or of root. Call it when the
 *  other side has answered: between checking a listener and connecting, another process can take its place.
 *  @return DCL_OK, also when the connection has ended; DCL_ERR_NETWORK. */
dcl_status dcli_token_connection_is_ours(int fd);

/** Remove the token file if it still contains this token; a newer one of another listener stays. */
void dcli_token_remove(const char *path, const char token[DCLI_TOKEN]);

#endif

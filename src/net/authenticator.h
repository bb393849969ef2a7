/* net/authenticator.h - the authenticator (ZAP handler) of a net: decides which connections are admitted.
 *
 * A listening socket belongs to a *domain*. For each domain the authenticator knows either one password (ZMTP PLAIN,
 * user name "dcl") or the public keys that are allowed (CURVE). It refuses everything else with status 400: unknown
 * domains, the mechanism NULL, malformed requests. Beware: libzmq admits every key if no handler is bound. So the
 * authenticator must be opened and have passed its self-test before anything else of the net is bound, and must be
 * closed after the last listening socket. Source: RFC 27/ZAP, RFC 24/ZMTP-PLAIN, RFC 26/CurveZMQ; zmq_plain(7),
 * zmq_curve(7). */
#ifndef DCLI_NET_AUTHENTICATOR_H
#define DCLI_NET_AUTHENTICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/base.h>

#include "base/log.h"
#include "net/keys.h"
#include "net/net.h"

enum {
    DCLI_DOMAIN_BYTES = 64,    /* longest name of a domain, with the final '\0' */
    DCLI_PASSWORD_BYTES = 256, /* longest password, with the final '\0': what ZMTP PLAIN can carry */
    DCLI_HANDSHAKE_MS = 5000   /* time limit for authentication; then the connection is ended */
};

/** The user names of ZMTP PLAIN: of ordinary peers, and of a session's host. */
#define DCLI_AUTHENTICATOR_USER "dcl"
#define DCLI_AUTHENTICATOR_HOST "host"

/** Used by any thread. */
typedef struct dcli_authenticator dcli_authenticator;

/** Open an authenticator: bind the handler, start its thread, and test it over an abstract Unix socket. The right
 *  password and an allowed key must be admitted; a wrong password, an unknown key, a key that was allowed before, and a
 *  peer with neither must be refused. Keys are tested only if this libzmq has CURVE. Takes about 10 ms. No listener
 *  remains.
 *  @param net  with at least one I/O thread and nothing bound yet but inproc; outlives the authenticator.
 *  @param log  where refusals are logged, at most one line a second per domain; NULL: nowhere. Outlives the
 *              authenticator.
 *  @return DCL_OK; DCL_ERR_NETWORK (another handler is bound, no descriptor or thread is free, or the test failed: bind
 *          nothing), DCL_ERR_INTERNAL (the system has no random numbers), DCL_ERR_NOMEM. */
dcl_status dcli_authenticator_open(dcli_net *net, const dcli_log *log, dcli_authenticator **authenticator_out);
/** Close the authenticator and end its thread. Admitted peers stay connected. Close listening sockets before, since
 *  with keys they would now admit everybody. NULL is accepted. */
void dcli_authenticator_close(dcli_authenticator *authenticator);
/** Whether this libzmq has CURVE; if so, the self-test covered it. */
bool dcli_authenticator_has_keys(const dcli_authenticator *authenticator);

/** Add a domain with a password. @param name  1..DCLI_DOMAIN_BYTES-1 characters. @param password  copied. @return
 *  DCL_OK, DCL_ERR_INVALID (the domain exists, too long, empty), DCL_ERR_NOMEM. */
dcl_status dcli_authenticator_add_password(dcli_authenticator *authenticator, const char *name, const char *password);
/** Add a second password to a domain that has one, for the user name DCLI_AUTHENTICATOR_HOST only. @return DCL_OK,
 *  DCL_ERR_INVALID (no such domain, it has keys, too long, empty). */
dcl_status dcli_authenticator_add_host(dcli_authenticator *authenticator, const char *name, const char *password);
/** Add a domain with an empty list of keys. @return as dcli_authenticator_add_password(); DCL_ERR_UNSUPPORTED: this
 *  libzmq has no CURVE. */
dcl_status dcli_authenticator_add_keys(dcli_authenticator *authenticator, const char *name);
/** Remove a domain: from now on nobody is admitted there. An unknown domain is no error. */
void dcli_authenticator_remove(dcli_authenticator *authenticator, const char *name);

/** Admit the owner of this public key from now on. Adding a key that is there already changes nothing.
 *  @return DCL_OK, DCL_ERR_INVALID (no such domain, it has a password, not a key, more than DCLI_MOST_ALLOWED),
 *          DCL_ERR_NOMEM. */
dcl_status dcli_authenticator_allow(dcli_authenticator *authenticator, const char *name, const char key[DCLI_KEY_Z85]);
/** Stop admitting this key. Its existing connections remain. An unknown key is no error. */
void dcli_authenticator_forbid(dcli_authenticator *authenticator, const char *name, const char key[DCLI_KEY_Z85]);

/** Number of refusals in a domain; NULL: of requests that belong to no domain. 0 for unknown domains. */
int64_t dcli_authenticator_refused(dcli_authenticator *authenticator, const char *name);

/** Let a domain decide about a socket's connections: call it before zmq_bind(). Also sets the time limit of the
 *  handshake. The caller sets the limits of messages (ZMQ_MAXMSGSIZE also holds for frames before authentication). The
 *  messages of admitted peers have the properties (zmq_msg_gets) "User-Id", the public key in hexadecimal digits or the
 *  user name, and "Peer-Address".
 *  @param socket  of the authenticator's net. @param own  the listener's key pair if the domain has keys, else NULL.
 *  @return DCL_OK, DCL_ERR_INVALID (no such domain, key pair and kind of domain do not fit), DCL_ERR_NETWORK. */
dcl_status dcli_authenticator_guard_socket(dcli_authenticator *authenticator, void *socket, const char *name,
                                           const dcli_keypair *own);

/** Client side: set the password that a socket sends; call it before zmq_connect(). @return DCL_OK, DCL_ERR_INVALID
 *  (too long, empty), DCL_ERR_NETWORK. */
dcl_status dcli_present_password(void *socket, const char *password);
/** Client side: set a password with another user name. */
dcl_status dcli_present_password_as(void *socket, const char *user, const char *password);
/** Client side: set the key pair. @param server_key  public key of the listener: an impostor without its secret key is
 *  not accepted. @return DCL_OK, DCL_ERR_INVALID (malformed keys), DCL_ERR_NETWORK. */
dcl_status dcli_present_key(void *socket, const dcli_keypair *own, const char server_key[DCLI_KEY_Z85]);

/** Run the self-test of an authenticator over sockets of `net`: its own, or in a test another net, which has no
 *  handler.
 *  @return DCL_OK, DCL_ERR_NETWORK (the test failed), DCL_ERR_INTERNAL (the system has no random numbers),
 *          DCL_ERR_NOMEM. */
dcl_status dcli_authenticator_prove(dcli_authenticator *authenticator, dcli_net *net);

#endif

/* net/gate.h - who is let in: the ZAP handler of a net.
 *
 * A socket that listens belongs to a *domain*. The gate knows for each domain either one password (ZMTP PLAIN, user
 * name "dcl") or the public keys that are allowed (CURVE); all else is refused with status 400: unknown domains, the
 * mechanism NULL, malformed requests. Beware: libzmq lets every key in when no handler is bound. So the gate is opened,
 * and has proved itself, before anything else of the net is bound; and it is closed after the last socket that listens.
 * Source: RFC 27/ZAP, RFC 24/ZMTP-PLAIN, RFC 26/CurveZMQ; zmq_plain(7), zmq_curve(7). */
#ifndef DCLI_NET_GATE_H
#define DCLI_NET_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/base.h>

#include "base/log.h"
#include "net/keys.h"
#include "net/net.h"

enum {
    DCLI_DOMAIN_BYTES = 64,    /* longest name of a domain, with the final '\0' */
    DCLI_PASSWORD_BYTES = 256, /* longest password, with the final '\0': what ZMTP PLAIN can carry */
    DCLI_HANDSHAKE_MS = 5000   /* a peer that has not said who it is by then is cut off */
};

/** The user names that ZMTP PLAIN carries beside a password: of everybody, and of a session's host. */
#define DCLI_GATE_USER "dcl"
#define DCLI_GATE_HOST "host"

/** Used by any thread. */
typedef struct dcli_gate dcli_gate;

/** Bind the handler, start its thread, and prove over an abstract Unix socket that the right password and an allowed
 *  key are let in, and that a wrong password, an unknown key, one that was allowed before, and a peer with neither are
 *  refused. Takes some 10 ms. Listens nowhere that outlasts the call.
 *  @param net  with at least one I/O thread and nothing bound yet but inproc; outlives the gate.
 *  @param log  where refusals are told, at most one line a second per domain; NULL: nowhere. Outlives the gate.
 *  @return DCL_OK; DCL_ERR_NETWORK (another handler is bound, the proof failed: bind nothing), DCL_ERR_NOMEM. */
dcl_status dcli_gate_open(dcli_net *net, const dcli_log *log, dcli_gate **gate_out);
/** Ends the thread. Peers that are in stay in; sockets that still listen with keys would let everyone in: close them
 *  before. NULL is accepted. */
void dcli_gate_close(dcli_gate *gate);
/** Whether this libzmq has CURVE, which the proof covered then. */
bool dcli_gate_has_keys(const dcli_gate *gate);

/** A new domain, with a password. @param name  1..DCLI_DOMAIN_BYTES-1 characters; @param password  copied.
 *  @return DCL_OK, DCL_ERR_INVALID (there is such a domain, too long, empty), DCL_ERR_NOMEM. */
dcl_status dcli_gate_add_password(dcli_gate *gate, const char *name, const char *password);
/** A second password for a domain that has one: of the user name DCLI_GATE_HOST, which nobody else is let in with.
 *  @return DCL_OK, DCL_ERR_INVALID (no such domain, it has keys, too long, empty). */
dcl_status dcli_gate_add_host(dcli_gate *gate, const char *name, const char *password);
/** A new domain, with a list of keys that is still empty.
 *  @return as above; DCL_ERR_UNSUPPORTED: this libzmq has no CURVE. */
dcl_status dcli_gate_add_keys(dcli_gate *gate, const char *name);
/** End a domain: from now on nobody is let in there. No such domain is no error. */
void dcli_gate_remove(dcli_gate *gate, const char *name);

/** Let the owner of this public key in from now on. One that is allowed already stays so.
 *  @return DCL_OK, DCL_ERR_INVALID (no such domain, it has a password, no key, more than DCLI_MOST_ALLOWED),
 *          DCL_ERR_NOMEM. */
dcl_status dcli_gate_allow(dcli_gate *gate, const char *name, const char key[DCLI_KEY_Z85]);
/** Do not let it in any more. Connections that it has live on. Unknown ones are no error. */
void dcli_gate_forbid(dcli_gate *gate, const char *name, const char key[DCLI_KEY_Z85]);

/** How often someone was refused in a domain; of NULL: of requests that belong to none. 0 for unknown domains. */
int64_t dcli_gate_refused(dcli_gate *gate, const char *name);

/** Make a socket one that lets in who the domain allows: call it before zmq_bind(). Also sets the time for a handshake;
 *  limits of messages are the caller's to set (ZMQ_MAXMSGSIZE holds for frames that come before anybody is checked,
 *  too). Peers that are let in have in the properties of their messages (zmq_msg_gets) "User-Id": the public key in
 *  hexadecimal digits, or the user name; and "Peer-Address".
 *  @param socket  of the gate's net; @param own  the listener's pair where the domain has keys, else NULL.
 *  @return DCL_OK, DCL_ERR_INVALID (no such domain, pair and kind of domain do not fit), DCL_ERR_NETWORK. */
dcl_status dcli_gate_guard_socket(dcli_gate *gate, void *socket, const char *name, const dcli_keypair *own);

/** The other side, before zmq_connect(). @return DCL_OK, DCL_ERR_INVALID (too long, empty), DCL_ERR_NETWORK. */
dcl_status dcli_present_password(void *socket, const char *password);
/** The same under another user name. */
dcl_status dcli_present_password_as(void *socket, const char *user, const char *password);
/** @param server_key  public key of the listener: an impostor without its secret half cannot take its place.
 *  @return DCL_OK, DCL_ERR_INVALID (keys are malformed), DCL_ERR_NETWORK. */
dcl_status dcli_present_key(void *socket, const dcli_keypair *own, const char server_key[DCLI_KEY_Z85]);

/** For the proof and its test: prove a gate through sockets of `net`, which for a sound gate is its own.
 *  @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_gate_prove(dcli_gate *gate, dcli_net *net);

#endif

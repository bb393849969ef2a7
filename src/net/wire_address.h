/* net/wire_address.h - addresses of listeners: tcp://HOST:PORT. */
#ifndef DCLI_NET_WIRE_ADDRESS_H
#define DCLI_NET_WIRE_ADDRESS_H

#include <stdbool.h>

#include <dcl/base.h>

#include "net/message.h"

typedef enum dcli_address_use {
    DCLI_TO_CALL,  /* to connect: needs a host and a port */
    DCLI_TO_LISTEN /* the port may be 0 or "*": any; the host may be "*": all addresses of this machine */
} dcli_address_use;

typedef struct dcli_address {
    char text[DCLI_MOST_ADDRESS + 1]; /* the address as it was given */
    char host[DCLI_MOST_ADDRESS + 1]; /* HOST, without brackets */
    int port;                         /* 0: any free port */
} dcli_address;

/** Parse tcp://HOST:PORT. HOST is a name, an IPv4 address, or an IPv6 address in brackets; PORT is 1..65535. Resolves
 *  nothing. @return DCL_OK or DCL_ERR_INVALID (what is wrong, and an example). */
dcl_status dcli_address_parse(const char *text, dcli_address_use use, dcli_address *address_out);

/** A numeric address for sockets. */
typedef struct dcli_resolved {
    char host[64]; /* 10.0.0.1, or [fd00::1] */
    int port;      /* 0: any free port */
    bool ipv6;     /* it is an IPv6 address: sockets need the option ZMQ_IPV6 */
    bool loopback; /* all addresses of the host are loopback */
} dcli_resolved;

/** Resolve the host; an IPv4 address is preferred. Takes at most 10 s; no time for a numeric address. @return DCL_OK;
 *  DCL_ERR_NETWORK (no such name), DCL_ERR_TIMEOUT, DCL_ERR_NOMEM. */
dcl_status dcli_address_resolve(const dcli_address *address, dcli_resolved *resolved_out);
/** Resolve with a time limit. 0: for threads that serve others; then a name is DCL_ERR_INVALID.
 *  @return otherwise as dcli_address_resolve(). */
dcl_status dcli_address_resolve_within(const dcli_address *address, int milliseconds, dcli_resolved *resolved_out);
/** This machine's address on the route to another one. @return false: there is none. */
bool dcli_address_on_way_to(const dcli_resolved *other, dcli_resolved *own_out);

/** Write an address as "tcp://host:port"; for port 0 "tcp://host:*". */
void dcli_resolved_text(const dcli_resolved *resolved, int port, char text_out[DCLI_MOST_ADDRESS + 1]);

/** Refuse to listen where other machines can connect, unless there are keys. @return DCL_OK or DCL_ERR_INVALID (how to
 *  make keys). */
dcl_status dcli_address_check_listener(const dcli_address *address, const dcli_resolved *resolved, bool has_keys);

/** Refuse to send a password where it could be read in transit. @return DCL_OK or DCL_ERR_INVALID (how to make
 *  keys). */
dcl_status dcli_address_check_call(const dcli_address *address, const dcli_resolved *resolved, bool has_keys);

/** Try to connect, only to find out why it fails. @return 0 (it succeeds), or the system's error code; ETIMEDOUT after
 *  that many milliseconds. */
int dcli_address_probe(const dcli_resolved *resolved, int milliseconds);

#endif

/* net/handshake.h - how establishing a connection went, as its client sees it. */
#ifndef DCLI_NET_HANDSHAKE_H
#define DCLI_NET_HANDSHAKE_H

#include <dcl/base.h>

#include "net/net.h"

typedef enum dcli_greeting {
    DCLI_LET_IN,      /* the other side accepted the credentials */
    DCLI_TURNED_AWAY, /* it refused: wrong password, unknown key */
    DCLI_MISFIT,      /* it requires the other mechanism, for instance keys instead of a password; sometimes it is
                         reported as CUT_SHORT */
    DCLI_CUT_SHORT,   /* it ended the connection during the handshake: wrong server key, not ZeroMQ, or it went away */
    DCLI_NOBODY,      /* nobody listens there */
    DCLI_NO_WORD      /* none of these yet */
} dcli_greeting;

/** A monitor of one socket that connects to one address. */
typedef struct dcli_handshake dcli_handshake;

/** Start monitoring, before zmq_connect(). @param socket  of this net, used by the calling thread; outlives the
 *  monitor. @return DCL_OK, DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_handshake_watch(dcli_net *net, void *socket, dcli_handshake **watch_out);
/** Wait for the next result. May be called again, because libzmq reconnects after CUT_SHORT and NOBODY unless the
 *  socket forbids it. @param milliseconds  longest wait, 0: do not wait. */
dcli_greeting dcli_handshake_next(dcli_handshake *watch, int milliseconds);
/** NULL is accepted. */
void dcli_handshake_end(dcli_handshake *watch);

#endif

/* net/desk_inside.h - what desks and calls share. */
#ifndef DCLI_NET_DESK_INSIDE_H
#define DCLI_NET_DESK_INSIDE_H

#include "net/desk.h"
#include "net/endpoint.h"

/** What the sockets of a desk or call brought. */
typedef struct dcli_slip {
    dcli_incoming incoming; /* frames are taken from a pool */
    unsigned char id[256];  /* of the sender, from a ROUTER */
    size_t id_bytes;
} dcli_slip;

/** The next message, whole. @param has_id  the socket is a ROUTER. @return DCL_OK, DCL_ERR_TIMEOUT, DCL_ERR_NETWORK,
 *  DCL_ERR_NOMEM. End it with dcli_slip_open() or dcli_slip_drop(). */
dcl_status dcli_slip_take(void *socket, bool has_id, dcli_frames_pool *pool, dcli_slip *slip_out);
void dcli_slip_drop(dcli_slip *slip);
/** Nothing but the sign that a connection stands. */
bool dcli_slip_is_knock(const dcli_slip *slip);
/** Unpack it. @return DCL_OK, or DCL_ERR_PROTOCOL, DCL_ERR_NOMEM: it is dropped then. */
dcl_status dcli_slip_open(dcli_slip *slip, dcli_received *received_out);
/** The version a message speaks, when it begins like one. @return 0: it does not. */
uint64_t dcli_slip_version(const dcli_slip *slip);
/** Poll at most DCLI_DESK_DESCRIPTORS for reading. @param until_ns  as dcli_monotonic_ns(). */
void dcli_slip_wait(int count, const int descriptors[], int64_t until_ns);

#endif

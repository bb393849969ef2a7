/* net/listener_inside.h - shared by listeners and calls. */
#ifndef DCLI_NET_LISTENER_INSIDE_H
#define DCLI_NET_LISTENER_INSIDE_H

#include "net/endpoint.h"
#include "net/listener.h"

/** A message as the socket of a listener or call delivered it. */
typedef struct dcli_envelope {
    dcli_incoming incoming; /* its frames are taken from a pool */
    unsigned char id[256];  /* routing id of the sender, from a ROUTER */
    size_t id_bytes;
} dcli_envelope;

/** Take the next whole message from a socket, without waiting. End it with dcli_envelope_open() or dcli_envelope_drop().
 *  @param has_id  the socket is a ROUTER.
 *  @return DCL_OK; DCL_ERR_TIMEOUT: there is none now; DCL_ERR_NOMEM. */
dcl_status dcli_envelope_take(void *socket, bool has_id, dcli_frames_pool *pool, dcli_envelope *envelope_out);
void dcli_envelope_drop(dcli_envelope *envelope);
/** Whether the message is the empty greeting that shows that a connection is established. */
bool dcli_envelope_is_greeting(const dcli_envelope *envelope);
/** Unpack the message. @return DCL_OK, or DCL_ERR_PROTOCOL, DCL_ERR_NOMEM: then it is dropped. */
dcl_status dcli_envelope_open(dcli_envelope *envelope, dcli_received *received_out);
/** The protocol version of the message, if it begins like one. @return 0: it does not. */
uint64_t dcli_envelope_version(const dcli_envelope *envelope);
/** Poll at most DCLI_LISTENER_DESCRIPTORS for reading. @param until_ns  as dcli_monotonic_ns(). */
void dcli_envelope_wait(int count, const int descriptors[], int64_t until_ns);

#endif

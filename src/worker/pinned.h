/* worker/pinned.h - pinned memory for messages, so that a device copies chunks into it and out of it directly, without
 * a copy by the host.
 *
 * Between threads of one process these are the slots of the sending node's device. Between processes of one program it
 * is the shared memory of payloads, which the devices of both processes register (pin) when they first use it. */
#ifndef DCLI_WORKER_PINNED_H
#define DCLI_WORKER_PINNED_H

#include "worker/peer.h"

/** Take a buffer for a chunk to a peer that this node's device fills directly. DCL_POOL_BYTES, or 256 MB if that is
 *  more, limits how much is registered.
 *  @return NULL, without an error: there is none; use a slot. */
void *dcli_pinned_take(dcli_worker *worker, int peer, size_t bytes);
/** Whether this node's device can fill `buffer` directly, which was taken for a chunk to a peer. */
bool dcli_pinned_has(dcli_worker *worker, int peer, void *buffer, size_t bytes);
/** Whether this node's device can copy directly out of the payload of a chunk. */
bool dcli_pinned_chunk(dcli_worker *worker, const dcli_stored_chunk *chunk);
/** If a member of this session registers payload memory, allow all members to map this worker's payload memory for
 *  writing, because registering needs that. Call again when a member has joined. */
void dcli_pinned_let_write(const dcli_worker *worker);

#endif

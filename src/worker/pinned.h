/* worker/pinned.h - memory of messages that devices copy from and to at full speed, so that the host copies nothing.
 *
 * Between threads it is the slots of the owner's device. Between processes of one program it is the memory of payloads,
 * which the devices of both processes register at first use. */
#ifndef DCLI_WORKER_PINNED_H
#define DCLI_WORKER_PINNED_H

#include "worker/peer.h"

/** Take a buffer for a chunk to a peer that this node's device fills directly. DCL_POOL_BYTES, or 256 MB if that is more, limits how much is registered.
 *  @return NULL, without an error: there is none; use a slot. */
void *dcli_pinned_take(dcli_worker *worker, int peer, size_t bytes);
/** Whether this node's device can fill a buffer directly that was taken for a chunk to a peer. */
bool dcli_pinned_has(dcli_worker *worker, int peer, void *buffer, size_t bytes);
/** Whether this node's device can copy directly out of the payload of a chunk. */
bool dcli_pinned_chunk(dcli_worker *worker, const dcli_kept_chunk *chunk);
/** Let members of this session map what this one sends for writing, if one of them registers it. Again when one has
 *  joined. */
void dcli_pinned_let_write(const dcli_worker *worker);

#endif

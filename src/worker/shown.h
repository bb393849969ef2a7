/* worker/shown.h - the nodes of one host announce the memory of their parts to each other, for reading in place.
 *
 * Many parts may lie in one memfd. Its descriptor is sent with the first part that a peer learns of; the peer maps all
 * of it, once, and keeps the mapping until it is told that the memory was freed. */
#ifndef DCLI_WORKER_SHOWN_H
#define DCLI_WORKER_SHOWN_H

#include "worker/peer.h"

/** From now on tell peers when the device frees memory that they know. Nodes only. */
void dcli_show_begin(dcli_worker *worker);
/** Stop telling them, before the device is closed. */
void dcli_show_end(dcli_worker *worker);
/** Announce this node's part of a storage to the nodes that read it in place: at once in a session without a tree; else to
 *  each node with the first watermarks, or the first loan, that it gets afterwards. Nothing happens if its memory cannot be shared.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_show_part(dcli_worker *worker, const dcli_known_storage *held);
/** Announce all parts that a node does not know yet. Called before this node's watermarks are sent to it, because a
 *  node reads a part in place only after the watermark of the operation that wrote it; and before it is lent something,
 *  because a thief reads the victim's part in place (dcli_plan_terms.shown_on_demand). In a tree, this avoids a message
 *  and a link between each pair of nodes. @return as dcli_show_part(). */
dcl_status dcli_show_parts(dcli_worker *worker, int node);

/** Handle the announcement of a peer's part. */
dcl_status dcli_take_part(dcli_worker *worker, const dcli_received *received);
/** Handle the message that a peer has freed memory. */
dcl_status dcli_take_forget(dcli_worker *worker, int from, const dcli_msg_forget *forget);
/** Unmap parts of arrays that are released here and whose owners have freed them (DCLI_DO_FINISH of a RELEASE). Nodes
 *  only. */
void dcli_drop_freed_parts(dcli_worker *worker);

#endif

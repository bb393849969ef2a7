/* worker/tree.h - how descriptors reach many nodes, and how the host hears of completion: along a tree.
 *
 * The first nodes of a session, where there are more than `fanout` of them, are a tree: node p passes on what the host
 * says to nodes f*(p+1) .. f*(p+1)+f-1, and the host itself says it to the first f. Whose parent is lost, and who joined
 * later, has the host as parent. Watermarks come up the same way: each node tells its parent the least of its own and of
 * what it has been told. With no more than `fanout` nodes all have the host as parent, which hears each by itself.
 *
 * What goes down: KERNEL and OPERATIONS, in order. The host keeps what may not have reached everyone, and says it again to
 * the children of a node that is lost; who has heard it already ignores it.
 *
 * Over tcp a node does not believe its parent: the host shares a key with each node, and what is passed on carries a tag for
 * each node that it is still to reach, of a digest of the message. A parent can keep a message back, or say it twice, but
 * not make or change one (docs/decisions/0035). */
#ifndef DCLI_WORKER_TREE_H
#define DCLI_WORKER_TREE_H

#include "worker/peer.h"

/** Whether there is one: then the host hears the watermarks of its children only, which stand for all below them. */
bool dcli_tree_is(const dcli_worker *worker);
/** The peer that a node hears the host through: a node, or the host. */
int dcli_tree_parent(const dcli_worker *worker, int node);
/** Whether `node` hears the host through this peer. */
bool dcli_tree_is_child(const dcli_worker *worker, int node);

/** Whether a message KERNEL or OPERATIONS is the host's. */
bool dcli_tree_believes(const dcli_worker *worker, int from, dcli_message *message);

/** Send to all children. The host keeps it until it is sure to have arrived. */
dcl_status dcli_tree_send_down(dcli_worker *worker, dcli_message *message);
/** Host: operations up to this one are complete everywhere. */
void dcli_tree_forget(dcli_worker *worker, int64_t complete);
void dcli_tree_free(dcli_worker *worker);

/** Host: a message FAILED or REPORT of a node has come. These come directly, watermarks up the tree; a watermark that counts
 *  one of these is held until it is here. */
dcl_status dcli_tree_take_notice(dcli_worker *worker, int from);
/** A child says what all below it have reached. */
dcl_status dcli_tree_take_risen(dcli_worker *worker, int from, const dcli_msg_risen *risen);
/** Nodes: tell the parent, if there is news. */
dcl_status dcli_tree_rise(dcli_worker *worker);
/** A node is lost: the host says again to its children what they may have missed; these tell the host. */
dcl_status dcli_tree_mend(dcli_worker *worker, int lost);

#endif

/* worker/tree.h - the tree along which descriptors reach many nodes, and the host learns of completion.
 *
 * If a session begins with more than f = `fanout` nodes, these form a tree: the host sends to the first f nodes, and
 * node p forwards the host's messages to nodes f*(p+1) .. f*(p+1)+f-1. A node that joined late, or whose parent was
 * lost, is attached to the host. Watermarks travel upwards: each node sends its parent the minimum of its own and of
 * what its children have reported. With no more than `fanout` nodes, all are attached to the host.
 *
 * KERNEL, OPERATIONS and FAILED travel down, in order. The host stores messages that may not have reached everyone, and
 * sends them again to the children of a lost node; a node ignores repetitions, and passes on those of FAILED. FAILED travels
 * up directly, from the node where an operation failed to the host, which passes it on once per operation.
 *
 * Over tcp a node does not trust its parent. The host shares a key with each node, and a forwarded message carries an
 * authentication tag, of a digest of the message, for each node that it has yet to reach. A parent can withhold or
 * repeat a message, but not forge or change one (docs/decisions/0035). */
#ifndef DCLI_WORKER_TREE_H
#define DCLI_WORKER_TREE_H

#include "worker/peer.h"

/** Whether there is a tree: then the host receives watermarks only from its children, for all nodes below them. */
bool dcli_tree_is(const dcli_worker *worker);
/** The parent of a node: a node, or the host. */
int dcli_tree_parent(const dcli_worker *worker, int node);
/** The next child of this peer, in ascending order, after number `after` (-1: the first child). @return -1: there is
 *  none. */
int dcli_tree_next_child(const dcli_worker *worker, int after);

/** Host: its child to whose subtree a present node belongs; its watermarks are the least of the whole subtree. */
int dcli_tree_speaker(const dcli_worker *host, int node);

/** Whether a KERNEL or OPERATIONS message is taken for the host's: it came from the host itself; or from this node's
 *  parent, and has a valid tag, or this node has no key for tags. */
bool dcli_tree_believes(const dcli_worker *worker, int from, dcli_message *message);

/** Send a KERNEL, OPERATIONS or FAILED to all children. With a tree, the host adds the tags (not to FAILED), and stores
 *  the message until it has surely arrived. The message has no tags afterwards. */
dcl_status dcli_tree_send_down(dcli_worker *worker, dcli_message *message);
/** Send the failure of an operation, without its sentence and cause, to all children: the host does so with the first
 *  FAILED of an operation, a node with each from its parent. */
dcl_status dcli_tree_pass_on(dcli_worker *worker, const dcli_msg_failed *failed);
void dcli_tree_free(dcli_worker *worker);

/** Host: a FAILED or REPORT of a node has arrived. These are sent directly, watermarks along the tree; watermarks that
 *  count one of these are held until it has arrived. */
dcl_status dcli_tree_take_notice(dcli_worker *worker, int from);
/** Handle a child's report of what it and all nodes below it have reached. */
dcl_status dcli_tree_take_risen(dcli_worker *worker, int from, const dcli_msg_risen *risen);
/** Nodes of a tree: send the parent the least watermarks of this node and of those below it, and their counts of FAILED
 *  and REPORT, if any of these has changed since the last report. */
dcl_status dcli_tree_rise(dcli_worker *worker);
/** Handle a loss: the host sends stored messages again to the lost node's children, which are now its own; every node
 *  reports its watermarks again, to its present parent. */
dcl_status dcli_tree_mend(dcli_worker *worker, int lost);

#endif

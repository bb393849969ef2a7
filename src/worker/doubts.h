/* worker/doubts.h - host: nodes that are suspected to be gone, until it is decided which are. Used only by the host's
 * worker. */
#ifndef DCLI_WORKER_DOUBTS_H
#define DCLI_WORKER_DOUBTS_H

#include "worker/peer.h"

dcl_status dcli_doubts_open(dcli_worker *host);
void dcli_doubts_close(dcli_worker *host);

/** The host's own connection to a node has ended. The node is given up after a short time, in which the process monitor
 *  may learn how it ended. */
void dcli_doubts_notice(dcli_worker *host, int node, const char *seen);
/** A node reports that it cannot reach another one. Complaints are collected for a while, because many nodes complain
 *  about one badly connected node; then the fewest nodes are given up. */
void dcli_doubts_complain(dcli_worker *host, int from, int about, const char *sentence);
/** Drop all complaints about a node that was given up. */
void dcli_doubts_forget(dcli_worker *host, int node);

/** Give up nodes whose time is over. */
dcl_status dcli_doubts_decide(dcli_worker *host);
/** Milliseconds until the next decision; -1: there is none. */
int dcli_doubts_wait_ms(const dcli_worker *host);

#endif

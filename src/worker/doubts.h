/* worker/doubts.h - host: nodes that are said to be gone, until it is decided which are. Used by the host's worker alone. */
#ifndef DCLI_WORKER_DOUBTS_H
#define DCLI_WORKER_DOUBTS_H

#include "worker/peer.h"

dcl_status dcli_doubts_open(dcli_worker *host);
void dcli_doubts_close(dcli_worker *host);

/** The host's own connection to a node has ended. The node is given up in a moment, in which the keeper may hear how it
 *  ended. */
void dcli_doubts_notice(dcli_worker *host, int node, const char *seen);
/** A node says that it cannot reach another one. Complaints are gathered for a while, as one badly connected node has them of
 *  many; then the fewest nodes are given up. */
void dcli_doubts_complain(dcli_worker *host, int from, int about, const char *sentence);
/** A node has been given up: nothing is left to be decided about it. */
void dcli_doubts_forget(dcli_worker *host, int node);

/** Give up those whose time has come. */
dcl_status dcli_doubts_decide(dcli_worker *host);
/** Milliseconds until there is something to decide; -1: nothing. */
int dcli_doubts_wait_ms(const dcli_worker *host);

#endif

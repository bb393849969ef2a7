/* worker/suspects.h - host: nodes that may be lost. Each node's case is decided after a short time. Used only by the
 * host's worker. */
#ifndef DCLI_WORKER_SUSPECTS_H
#define DCLI_WORKER_SUSPECTS_H

#include "worker/peer.h"

dcl_status dcli_suspects_open(dcli_worker *host);
void dcli_suspects_close(dcli_worker *host);

/** The host's connection to a node has ended. The node is declared lost after a short time, in which the process
 *  monitor may learn how its process ended. */
void dcli_suspects_notice(dcli_worker *host, int node, const char *seen);
/** A node reports that it cannot reach another one. Reports are collected for a while, because one badly connected node
 *  causes many; then nodes are declared lost, the one in the most reports first, until no report is left. */
void dcli_suspects_complain(dcli_worker *host, int from, int about, const char *sentence);
/** Drop all reports about and by a node that is declared lost. */
void dcli_suspects_forget(dcli_worker *host, int node);

/** Declare those nodes lost whose waiting time has passed. */
dcl_status dcli_suspects_decide(dcli_worker *host);
/** Milliseconds until the next decision, at most 1000; -1: there is none. */
int dcli_suspects_wait_ms(const dcli_worker *host);

#endif

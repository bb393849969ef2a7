/* worker/members.h - peers that join and are lost. */
#ifndef DCLI_WORKER_MEMBERS_H
#define DCLI_WORKER_MEMBERS_H

#include "worker/peer.h"

/** Handle a violation of the protocol by a node (this thread's error says how): the host declares it lost; a node drops
 *  its connection to it, and reports it to the host. @return the error's status if peers are threads, or `peer` is the
 *  host or this worker. */
dcl_status dcli_peer_offends(dcli_worker *worker, int peer);
/** Handle the end of the connection to a peer (this thread's error says how): the host suspects the peer; a node
 *  reports it to the host, or stops if it is the host. */
dcl_status dcli_peer_is_gone(dcli_worker *worker, int peer);

/** Host: lose a node: make sure that it no longer runs, and tell all nodes and the runtime. Once per node. @param seen
 *  how the loss was noticed. */
dcl_status dcli_host_lose(dcli_worker *worker, int peer, const char *seen);
/** Host: a node reports that it cannot reach another one. */
dcl_status dcli_host_complaint(dcli_worker *worker, int from, const dcli_msg_lost *lost);

/** Host: a node sends its counters. */
void dcli_host_counts(dcli_worker *worker, int from, const dcli_msg_counts *counts);
/** Record a node's answer to question `number`; DCLI_ANY_QUESTION: to any, because the node is lost or absent. Answers
 *  to earlier questions are dropped. */
enum { DCLI_ANY_QUESTION = 0 };
void dcli_question_answer(dcli_worker *worker, int from, int64_t number, bool yes);
/** Whether question `number` waits for a node's answer. */
bool dcli_question_awaits(dcli_worker *worker, int from, int64_t number);

/* Nodes: handle LOST, JOINED, COUNT and SEES of the host. */
dcl_status dcli_take_lost(dcli_worker *worker, const dcli_msg_lost *lost);
dcl_status dcli_take_joined(dcli_worker *worker, const dcli_msg_joined *joined);
dcl_status dcli_take_count(dcli_worker *worker, const dcli_msg_count *count);
dcl_status dcli_take_sees(dcli_worker *worker, const dcli_msg_sees *sees);

#endif

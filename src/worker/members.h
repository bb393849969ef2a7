/* worker/members.h - peers that come and go. */
#ifndef DCLI_WORKER_MEMBERS_H
#define DCLI_WORKER_MEMBERS_H

#include "worker/peer.h"

/** This thread's error says how a node has broken the protocol: it is taken for lost.
 *  @return the error's status where that is not for this worker to do: of threads, of the host. */
dcl_status dcli_peer_offends(dcli_worker *worker, int peer);
/** The connection to a peer has ended (this thread's error says how). */
dcl_status dcli_peer_is_gone(dcli_worker *worker, int peer);

/** Host: a node is lost: see that it does not run any more, tell all and the runtime. Once per node.
 *  @param seen  how it was noticed. */
dcl_status dcli_host_lose(dcli_worker *worker, int peer, const char *seen);
/** Host: a node cannot reach another one. */
dcl_status dcli_host_complaint(dcli_worker *worker, int from, const dcli_msg_lost *lost);
/** Host: a node answers a question about a file. */
void dcli_host_seen(dcli_worker *worker, int from, const dcli_msg_seen *seen);

/** Host: a node tells its counters. */
void dcli_host_counts(dcli_worker *worker, int from, const dcli_msg_counts *counts);
/** The question `number` is answered; DCLI_ANY_QUESTION: any, as this node is lost or not there. Answers to earlier questions
 *  are dropped. */
enum { DCLI_ANY_QUESTION = 0 };
void dcli_question_answer(dcli_worker *worker, int from, int64_t number, bool yes);

/* Nodes: messages of the host. */
dcl_status dcli_take_lost(dcli_worker *worker, const dcli_msg_lost *lost);
dcl_status dcli_take_joined(dcli_worker *worker, dcli_received *received);
dcl_status dcli_take_count(dcli_worker *worker, const dcli_msg_count *count);
dcl_status dcli_take_sees(dcli_worker *worker, const dcli_msg_sees *sees);

#endif

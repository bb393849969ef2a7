/* worker/window.h - how much work a node keeps in its device's queue, by the measured costs of bodies. */
#ifndef DCLI_WORKER_WINDOW_H
#define DCLI_WORKER_WINDOW_H

#include "worker/peer.h"
#include "workqueue/lend_pace.h"

/** Predicted time of `elements` elements of a body on this node's device, if nothing else runs there; 0: it is not
 *  known (cost.h). */
double dcli_exec_elements_ns(const dcli_worker *worker, const dcli_kernel *kernel, int64_t elements);
/** Predicted time of a batch of a plan of a loop body on this node's device; 0: it is not known. */
double dcli_exec_plan_ns(const dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan, int64_t batch);
/** Predicted time of consecutive batches of this node's plan of a loop body on its device, by the times of the same batches
 *  in earlier calls (profile.h), or else by the last measurements of the body; 0: it is not known. */
double dcli_exec_batches_ns(const dcli_worker *worker, const dcli_entry *entry, int64_t batch, int64_t count);
double dcli_exec_batch_ns(const dcli_worker *worker, const dcli_entry *entry, int64_t batch);
/** Predicted time until the device has run all batches in its queue. Batches of unknown cost count as 0. */
int64_t dcli_exec_queued_ns(const dcli_worker *worker);

/** Find how much work this node has, as far as it is known. */
void dcli_window_load(const dcli_worker *worker, dcli_lend_load *load_out);

/** Whether nodes of this session lend batches. */
static inline bool dcli_window_lends(const dcli_worker *worker) { return worker->plan_terms.fine_elements > 0; }
/** How many batches, from `batch` on, to launch together, if the plan has batches that can be lent; else 1. Few enough
 *  that most of those that follow can still be lent; but many, if they are short, so that launches cost little beside
 *  them. @param possible_out  how many could start now */
int64_t dcli_window_share(dcli_worker *worker, const dcli_entry *entry, int64_t batch, int64_t *possible_out);
/** Whether a running batch counts in dcli_as_node.window_parts: not if all batches of its operation are launched with it,
 *  which then are too short to be lent. Such operations often come in large numbers, and it would cost much to wake up for
 *  each few of them. */
bool dcli_window_is_part(const dcli_running *running);
/** Batches were started, or have ended: start no more that could be lent while the device has enough to do
 *  (dcli_lend_is_enough()). @param front  another one is now the first of the running batches */
void dcli_window_moved(dcli_worker *worker, bool front);
/** While no more batches may be started: the ticket of the launch after whose end the node should wake and start some.
 *  That is the last launch after whose end the device still has enough to do until the node has woken; so the node
 *  wakes once for many short launches. */
uint64_t dcli_window_ticket(const dcli_worker *worker);

#endif

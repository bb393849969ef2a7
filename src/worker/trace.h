/* worker/trace.h - record what a peer does while it is traced. Without tracing each of these functions costs one
 * branch. */
#ifndef DCLI_WORKER_TRACE_H
#define DCLI_WORKER_TRACE_H

#include "base/clock.h"
#include "base/trace.h"
#include "worker/peer.h"

/** The time at which something begins; 0: this peer is not traced. */
static inline int64_t dcli_trace_begin(const dcli_worker *worker)
{
    return __builtin_expect(worker->terms.trace != NULL, 0) ? dcli_monotonic_ns() : 0;
}

/** Record an event of an operation that ends now. @param began_ns  from dcli_trace_begin(); 0: nothing is recorded.
 *  @param entry  NULL: of no operation. */
void dcli_trace_add_ended(dcli_worker *worker, dcli_trace_kind kind, int64_t began_ns, const dcli_entry *entry,
                          int64_t part, int peer, int64_t bytes);
static inline void dcli_trace_end(dcli_worker *worker, dcli_trace_kind kind, int64_t began_ns, const dcli_entry *entry,
                                  int64_t part, int peer, int64_t bytes)
{
    if (__builtin_expect(began_ns != 0, 0))
        dcli_trace_add_ended(worker, kind, began_ns, entry, part, peer, bytes);
}

/** Record a pack or commit that has ended, if its begin was noted. */
void dcli_trace_add_moved(dcli_worker *worker, const dcli_moving *moving);
static inline void dcli_trace_moved(dcli_worker *worker, const dcli_moving *moving)
{
    if (__builtin_expect(moving->began_ns != 0, 0))
        dcli_trace_add_moved(worker, moving);
}

/** Record that a chunk was given to the transport or taken from it. Traced peers only. */
void dcli_trace_chunk(dcli_worker *worker, dcli_trace_kind kind, int peer, int64_t operation, bool written,
                      int64_t chunk, int64_t bytes);

/** As dcli_trace_chunk(), for a payload of a lent batch. */
void dcli_trace_loan_chunk(dcli_worker *worker, dcli_trace_kind kind, int peer, const dcli_msg_loan *loan,
                           int64_t bytes);
/** Record that something was done for a lent batch, and ends now. @param began_ns  from dcli_trace_begin(); 0: nothing
 *  is recorded. @param loan  its chunk -1: all of the batch. */
void dcli_trace_add_loan(dcli_worker *worker, dcli_trace_kind kind, int64_t began_ns, const dcli_entry *entry, int peer,
                         const dcli_msg_loan *loan, int64_t bytes);
static inline void dcli_trace_loan(dcli_worker *worker, dcli_trace_kind kind, int64_t began_ns, const dcli_entry *entry,
                                   int peer, const dcli_msg_loan *loan, int64_t bytes)
{
    if (__builtin_expect(began_ns != 0, 0))
        dcli_trace_add_loan(worker, kind, began_ns, entry, peer, loan, bytes);
}

/** Begin the notes on a batch that is about to be launched. Traced nodes only. @return NULL: there is no memory. */
dcli_traced_batch *dcli_trace_launch(dcli_worker *worker);
/** Record a batch that has ended, and those of its series that follow it, which share its time evenly. Take back the notes. */
void dcli_trace_batch(dcli_worker *worker, dcli_running *running);

/** The node has nothing to do: record for which peer it waits. If it waits for another peer than before, the wait
 *  before ends. Traced nodes only. */
void dcli_trace_idle(dcli_worker *worker);
/** The node has something to do: end what dcli_trace_idle() has begun. */
void dcli_trace_busy(dcli_worker *worker);

/** Node: answer TRACE of the host. */
dcl_status dcli_take_trace(dcli_worker *worker, const dcli_msg_trace *trace);
/** Host: handle TRACED of a node. */
void dcli_host_traced(dcli_worker *worker, int from, const dcli_msg_traced *traced);

/** From now on, note the device's times of launches with the batches that run. */
void dcli_trace_device(dcli_worker *worker);

#endif

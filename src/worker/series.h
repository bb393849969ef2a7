/* worker/series.h - several small batches of a node in one launch, a *series*.
 *
 * A launch of a small batch costs more than the batch: the driver takes as long for it as for thousands of elements.
 * Therefore a batch whose measured cost is low is not launched at once, but appended to a series, which is launched when
 * the device has nothing else to do, when it is full, or before anything else touches the device or its memory. Its
 * kernel (kernel/series.h) runs the batches in order, so that they need not be independent of each other.
 *
 * The kernel contains the bodies of a *set*: those that the node has run often of late. It is compiled in a thread of
 * its own; until then, and for all other bodies, each batch is a launch. A node has few sets; the least recently used one
 * is dropped, and so is each with a body that the program evicts.
 *
 * All batches of a series end together: they have one ticket, and if the device reports an error, all of them fail. */
#ifndef DCLI_WORKER_SERIES_H
#define DCLI_WORKER_SERIES_H

#include "worker/peer.h"
#include "worker/plans.h"

typedef struct dcli_series dcli_series;

/** Open, if the device runs series; else as_node->series stays NULL, which all functions accept. */
dcl_status dcli_series_open(dcli_worker *worker);
/** Stop compiling, which may wait for the compiler, so the watch must still look; release the programs. The tables of
 *  launched series stay. */
void dcli_series_stop(dcli_worker *worker);
/** Call this instead of dcli_series_stop() for a node that was given up: it leaves the compiler alone, and nothing may
 *  be freed then. */
void dcli_series_leave(dcli_worker *worker);
/** The program that is being compiled, or was and is not used yet; NULL: none. */
dcli_compiling *dcli_series_compiling(const dcli_as_node *own);
/** Free, after the device was closed. */
void dcli_series_free(dcli_as_node *own);

/** Whether a batch is of the kind that series contain: its body is, it uses only own parts, and it is known to be
 *  short. */
bool dcli_series_joins(dcli_worker *worker, const dcli_running *running, dcli_prepared *prepared);
/** Whether to delay a large batch that might be run in a wave soon: the device has enough to do, and the cost of the body
 *  is being measured, or the program for the wave is being compiled. Otherwise the node would launch alone all that the
 *  program has sent ahead, perhaps hundreds of operations, before it has a measurement or the program. */
bool dcli_series_delays(dcli_worker *worker, const dcli_running *running, dcli_prepared *prepared);
/** Append a batch for which dcli_series_joins() is true; the caller then adds it to the running batches. @return false:
 *  no program has its body yet, or there is no memory; the caller launches it alone. */
bool dcli_series_add(dcli_worker *worker, dcli_running *running, const dcli_prepared *prepared);
/** Launch the present series, if there is one. If that fails, its batches have failed. */
void dcli_series_launch(dcli_worker *worker);
/** The same, because something else will use the device: the next batch cannot join the one before. */
void dcli_series_interrupt(dcli_worker *worker);
/** Launch the present series, unless it is better to wait for more batches: while the device computes, and nobody waits
 *  for the end of the series. @param idle  the node has nothing else to do. */
void dcli_series_offer(dcli_worker *worker, bool idle);
/** Take back the table of a series that has ended. NULL is accepted. */
void dcli_series_give(dcli_as_node *own, struct dcli_steps *steps);
/** The program evicts these bodies: drop the programs with them. */
void dcli_series_forget(dcli_worker *worker, int count, const int64_t bodies[]);

#endif

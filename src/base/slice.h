/* base/slice.h - how soon a thread runs after it has woken up. */
#ifndef DCLI_BASE_SLICE_H
#define DCLI_BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/** The time slice that dcli_slice_shorten() asks for, in ns: the shortest that Linux gives. */
#define DCLI_SHORT_SLICE_NS UINT64_C(100000)

/** Ask for a short time slice for the calling thread, for one that works briefly after each wake-up, such as one that answers
 *  messages: the scheduler then lets it run at once, although a thread that computes has the processor. Its share of the
 *  processor stays the same, and threads that it starts have usual slices.
 *  Needs Linux 6.12, else it does nothing; neither does it for a thread with a policy of its own, such as SCHED_RR.
 *  @return whether the thread has a short slice now.
 *  Source: sched_setattr(2); kernel/sched/fair.c of Linux 6.12, PREEMPT_SHORT. */
bool dcli_slice_shorten(void);

/** The time slice of the calling thread in ns; 0: not known. */
uint64_t dcli_slice_of_thread(void);

#endif

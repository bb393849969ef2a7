/* base/slice.h - how soon a thread runs after it has woken up. */
#ifndef DCLI_BASE_SLICE_H
#define DCLI_BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/** The time slice that dcli_slice_shorten() asks for, in ns: the shortest that Linux gives. */
#define DCLI_SHORT_SLICE_NS UINT64_C(100000)

/** For a thread that works briefly after each wake-up, such as one that answers messages: ask the scheduler to let it run
 *  at once, although a thread that computes has the processor.
 *  - SCHED_OTHER, SCHED_BATCH: a short time slice. The thread's share of the processor stays the same, and threads that it
 *    starts have usual slices. Needs Linux 6.12, else it does nothing.
 *  - SCHED_RR, SCHED_FIFO: one priority more than before. Else it would wait for a thread of the same priority until that
 *    has nothing to do. Nothing changes if the process may not have the next priority.
 *  @return whether the thread has a short slice, or the priority, now.
 *  Source: sched_setattr(2), sched(7); kernel/sched/fair.c of Linux 6.12, PREEMPT_SHORT. */
bool dcli_slice_shorten(void);
/** Give up the priority to which dcli_slice_shorten() has raised the calling thread, and take it again. A thread gives
 *  it up while it starts other threads, because they inherit it; and while it polls, because sched_yield() lets only
 *  threads of the same priority run. For other threads, both do nothing. */
void dcli_slice_lower(void);
void dcli_slice_restore(void);

/** For a thread that polls for milliseconds: sleep for DCLI_REST_NS if dcli_slice_shorten() has raised its priority and it has polled for
 *  DCLI_POLL_NS without a pause of DCLI_REST_NS. Linux stops the real-time threads of a processor for the rest of a second in which they have
 *  run for 950 ms; a thread that polls all the time is stopped for 50 ms.
 *  @param now_ns  the monotonic time. @return whether it has slept.
 *  Source: Documentation/scheduler/sched-rt-group.rst of Linux, sched_rt_runtime_us. */
bool dcli_slice_rest(int64_t now_ns);
enum { DCLI_POLL_NS = 450000, DCLI_REST_NS = 50000 };

/** Whether dcli_slice_shorten() has raised the priority of the calling thread. */
bool dcli_slice_is_raised(void);

/** The time slice of the calling thread in ns; 0: not known. */
uint64_t dcli_slice_of_thread(void);
/** The real-time priority of the calling thread; 0: it has none. */
int dcli_slice_priority(void);

#endif

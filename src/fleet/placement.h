/* fleet/placement.h - keeps each process of `local:N` on a processor of its own while no other program uses that one.
 *
 * A node has a thread that serves it and, where it has one processor, one of its device. Linux places threads one by one, and often runs both threads of
 * a node and the serving threads of other nodes on one processor while another one is free. So a process binds its threads to one
 * processor, and lifts this if they then wait for others too long: bound threads cannot move away from other programs. */
#ifndef DCLI_FLEET_PLACEMENT_H
#define DCLI_FLEET_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

/** Times of threads since they began, in ns. */
typedef struct dcli_group_times {
    int64_t ran, waited; /* waited: they could have run, but others had the processor */
} dcli_group_times;

/** Times of the thread that serves the node, and of all other threads of the process. */
typedef struct dcli_process_times {
    dcli_group_times serving, others;
} dcli_process_times;

/** Whether a process is bound, and what that depends on. Starts as {0}. */
typedef struct dcli_affinity {
    bool bound;
    dcli_process_times seen; /* times at the last judgement */
    int64_t since_ns;        /* when it was bound */
    int64_t next_ns;         /* not bound: when it is tried again */
    int64_t pause_ns;        /* the last time between giving up and trying again */
} dcli_affinity;

/** Decide whether a process should be bound. It gives up if its threads wait for other programs for more than a fifth of the time in which they
 *  run or want to run. It tries again after 100 ms, and later each time, up to a minute, if it then has to give up soon. Pure.
 *  @param now_ns  of a monotonic clock. @return affinity->bound. */
bool dcli_affinity_look(dcli_affinity *affinity, const dcli_process_times *times, int64_t now_ns);

typedef struct dcli_placement dcli_placement;

/** Prepare to bind this process.
 *  @param number     of the process, from 0: of the processors that it may use, it gets the one with this number.
 *  @param processes  number of processes that share these processors.
 *  @return NULL: it is not bound: it has no processor of its own, or more than one; or Linux does not count the times of threads; or there
 *          is no memory. */
dcli_placement *dcli_placement_open(int number, int processes);
/** Look at the threads of this process, and bind or free them. Called by one thread, every 100 ms or more often. */
void dcli_placement_look(dcli_placement *placement, int64_t now_ns);
/** Free the threads, and the object. NULL is accepted. */
void dcli_placement_close(dcli_placement *placement);

#endif

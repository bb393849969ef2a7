/* loop/partition.h - the space partition of statements: affine forms of an iteration's counters that give the numbers
 * of the thread which runs it.
 *
 * Iterations that depend on each other have the same numbers, and there are as many independent forms as possible. So
 * iterations with different numbers may run at the same time, without waiting for each other. */
#ifndef DCLI_LOOP_PARTITION_H
#define DCLI_LOOP_PARTITION_H

#include "loop/inside.h"

/** How a partition is found. */
typedef enum dcli_loops_path {
    DCLI_LOOPS_AS_WRITTEN, /* counters of loops as numbers, if no dependence leads along them */
    DCLI_LOOPS_FARKAS,     /* from the dependence polyhedra */
    DCLI_LOOPS_SCHEDULER   /* the coincident dimensions of a schedule by isl */
} dcli_loops_path;

enum { DCLI_LOOPS_NUMBERS = 2 * DCLI_LOOPS_DEPTH }; /* most numbers of a thread */

typedef struct dcli_loops_partition {
    dcli_loops_mask statements;
    int component[DCLI_LOOPS_STATEMENTS]; /* by statement: the first statement to which dependences connect it */
    int rank[DCLI_LOOPS_STATEMENTS];      /* how many numbers the threads of a component have, by its first statement */
    dcli_loops_linear number[DCLI_LOOPS_STATEMENTS][DCLI_LOOPS_NUMBERS]; /* by statement */
} dcli_loops_partition;

/** Find a partition.
 *  @param statements  those that are partitioned, in one iteration of the host loops.
 *  @param operation   reads that it redirects to copies are no dependences; NULL: all are.
 *  @return yours, verified; end it with dcli_free(). NULL: none was found within the limit of isl's operations, or
 *  there is no memory. */
dcli_loops_partition *dcli_loops_partition_find(dcli_loops_sets *sets, dcli_loops_mask statements,
                                                const dcli_loops_hosts *hosts, const dcli_loops_operation *operation,
                                                dcli_loops_path path);

/** Whether no dependence leads from one thread to another, and no number is negative, in one iteration of the host loops. */
bool dcli_loops_partition_verify(dcli_loops_sets *sets, const dcli_loops_partition *partition,
                                 const dcli_loops_hosts *hosts, const dcli_loops_operation *operation);

/** Whether iterations of a component that have equal numbers in partition a also have equal numbers in partition b of
 *  the same statements. */
bool dcli_loops_partition_refines(dcli_loops_sets *sets, const dcli_loops_partition *a, const dcli_loops_partition *b,
                                  const dcli_loops_hosts *hosts);

/** The number of threads along number n of a component; -1: it depends on the counters of the host loops. */
int64_t dcli_loops_partition_threads(dcli_loops_sets *sets, const dcli_loops_partition *partition, int component, int n,
                                     const dcli_loops_hosts *hosts);

#endif

/* test/support/simcluster.h - a cluster in one thread: a virtual clock, random delays, and the state machine and plans that
 * the workers use. Everything follows from a seed. */
#ifndef TEST_SUPPORT_SIMCLUSTER_H
#define TEST_SUPPORT_SIMCLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lower/lower.h"

typedef struct sim_settings {
    uint64_t seed;
    int nodes;  /* 0: 8..64 at random */
    int steps;  /* operations after the first ones, which give some arrays their contents */
    bool lose;  /* nodes are lost for certain */
    bool alike; /* all devices are processors that see memory where the host does */
    bool trace; /* every action and message, on standard error */
} sim_settings;

/** What happened, for showing that the simulation does something. */
typedef struct sim_figures {
    int nodes, operations, foralls;
    int64_t batches, chunks, messages, bytes_moved, failures;
    int64_t lost, joined, losses_told; /* nodes; operations that failed because of lost ones */
    bool in_place, sent;               /* some nodes read in place; some are sent everything */
    bool via[DCLI_VIA_COUNT];          /* ways in which elements got to kernels, or from them */
} sim_figures;

/** Run one random program on one random cluster.
 *  Checked are: every element that the program reads, saves or leaves behind; that nothing waits forever; that watermarks
 *  only rise, pools are not exceeded and chunks are given up; that planned counters are what is found element by element;
 *  and with failures, that what was lost is never taken for good, and that nothing else fails. In some runs nodes are
 *  lost at any time, each noticed by the others at times of their own, and spare nodes join.
 *  @return NULL when all is right, else what is wrong, the program and what every node waits for; freed with dcli_free() */
char *sim_cluster_run(const sim_settings *settings, sim_figures *figures_out);

#endif

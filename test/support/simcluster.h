/* test/support/simcluster.h - a simulated cluster in one thread: a virtual clock, random delays, and the workers' state
 * machine and plans. Everything is determined by a seed. */
#ifndef TEST_SUPPORT_SIMCLUSTER_H
#define TEST_SUPPORT_SIMCLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lower/lower.h"

/** Policies of lending. */
typedef enum sim_lending {
    SIM_LEND_ANY, /* one of the others, by the seed */
    SIM_LEND_NEVER,
    SIM_LEND_RARELY,
    SIM_LEND_ALWAYS, /* a node asks as soon as it has nothing to do, and lends what it may */
    SIM_LEND_HOSTILE /* a node asks although it has work, lends everything, and takes much back at once */
} sim_lending;

typedef struct sim_settings {
    uint64_t seed;
    int nodes;           /* 0: 8..64 at random */
    int steps;           /* operations after the first ones, which fill some arrays */
    bool lose;           /* lose nodes in every run */
    bool alike;          /* all devices are CPUs that see memory at the host's addresses */
    sim_lending lending; /* how nodes lend batches to each other */
    bool loops;          /* time loops, with several steps per exchange */
    bool trace;          /* print every action and message to standard error */
} sim_settings;

/** What happened in a run, to show that the simulation covers it. */
typedef struct sim_figures {
    int nodes, operations, foralls;
    int overlapped, received; /* bodies that used the lines around parts; that received them first */
    int64_t batches, chunks, messages, bytes_moved, failures;
    int64_t declined; /* streams of a plan that has failed: their chunks came empty */
    int64_t failures_in_marks,
        most_told;          /* failures that watermarks carried; most messages about one failed operation */
    int64_t joined_batches; /* that were started together with another one */
    int64_t cut_out;        /* batches that were cut out of plans that exchange elements */
    int64_t early;          /* batches that copied of peers' parts when they started, and read them no more */
    int64_t lost, joined, losses_told;  /* nodes lost and joined; operations that failed because of losses */
    int64_t asked, lent, lent_in_place; /* questions; batches lent, and those of them that read in place */
    int64_t lent_together;              /* loans of several batches */
    int64_t returned, taken_back, late; /* batches that were not run; were taken back; results that were dropped */
    int64_t won;                        /* results that were written */
    bool in_place, sent;                /* some nodes read in place; some are sent everything */
    bool via[DCLI_VIA_COUNT];           /* the ways in which elements got to kernels or from them */
} sim_figures;

/** Run one random program on one random cluster.
 *  Checks: every element that the program reads, saves or leaves behind; that nothing waits for ever; that
 *  watermarks only rise, pools are not exceeded and chunks are freed; that planned counters equal those counted
 *  element by element; and with failures, that lost data is never treated as valid, and nothing else fails. In some
 *  runs nodes are lost at any time, which the others notice at different times, and spare nodes join.
 *  @return NULL if all is right, else what is wrong, the program and what every node waits for; freed with
 *          dcli_free() */
char *sim_cluster_run(const sim_settings *settings, sim_figures *figures_out);

#endif

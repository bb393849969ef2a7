/* test/support/simcheck.h - what a simulated program may expect: contents, failures, counters. */
#ifndef TEST_SUPPORT_SIMCHECK_H
#define TEST_SUPPORT_SIMCHECK_H

#include "support/simdata.h"
#include "workqueue/storages.h"

/** What the program has been told, and what really went wrong. */
typedef struct sim_verdict {
    sim_program *program;
    dcli_storages known; /* failures reported to the host */
    bool *failed;        /* [steps] reported to the host as failed */
    bool *cause; /* [steps * peers * peers] something in it failed at the first peer, which the second one reports */
    int peers;
    bool *refused; /* [steps] READ: the program got an error */
} sim_verdict;

void sim_verdict_open(sim_verdict *verdict, sim_program *program, int peers);
void sim_verdict_close(sim_verdict *verdict);

/** Record that the program has made this call. */
void sim_verdict_issued(sim_verdict *verdict, const dcli_operation *operation);
/** Record that the host was told of an operation's failure. */
void sim_verdict_failed(sim_verdict *verdict, const dcli_operation *operation);
/** Record an injected failure at peer p. @param by  the peer that reports it: p, or the receiver of bad data. If that
 *  peer is lost, so is what it was to compute. */
void sim_verdict_cause(sim_verdict *verdict, const dcli_operation *operation, int p, int by);
/** Check a READ that has ended: its elements are right, or it has an error. */
void sim_verdict_read(sim_verdict *verdict, sim_data *data, const sim_step *step);
/** Check the end: arrays are right or known as failed, and only those failed that can have. @param dead  [peers]
 *  failures there may have been reported or not; arrays with a part there are lost. */
void sim_verdict_end(sim_verdict *verdict, sim_data *data, const bool dead[]);

/** Compare the planned counters of all bodies with those counted element by element. */
void sim_check_counters(sim_data *data, int64_t *bytes_moved_out);

#endif

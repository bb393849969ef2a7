/* test/support/simcheck.h - what a simulated program may expect: contents, failures, counters. */
#ifndef TEST_SUPPORT_SIMCHECK_H
#define TEST_SUPPORT_SIMCHECK_H

#include "support/simdata.h"
#include "workqueue/storages.h"

/** What the program knows, and what went wrong in truth. */
typedef struct sim_verdict {
    sim_program *program;
    dcli_storages known; /* failures the host was told */
    bool *failed;        /* [steps] the host was told */
    bool *cause; /* [steps * peers * peers] something of it went wrong by itself there, which the other one tells */
    int peers;
    bool *refused; /* [steps] READ: the program got an error */
} sim_verdict;

void sim_verdict_open(sim_verdict *verdict, sim_program *program, int peers);
void sim_verdict_close(sim_verdict *verdict);

/** The program has made this call. */
void sim_verdict_issued(sim_verdict *verdict, const dcli_operation *operation);
/** The host learns that an operation failed. */
void sim_verdict_failed(sim_verdict *verdict, const dcli_operation *operation);
/** Something goes wrong on purpose, at peer p.
 *  @param by  the peer who tells of it: p, or who is sent what is wrong. Where it is lost, so is what it was to compute. */
void sim_verdict_cause(sim_verdict *verdict, const dcli_operation *operation, int p, int by);
/** A READ has ended: the elements are right, or there is an error. */
void sim_verdict_read(sim_verdict *verdict, sim_data *data, const sim_step *step);
/** All has ended: arrays are right or known as failed; only what can have failed is.
 *  @param dead  [peers] what went wrong there may have been told or not; arrays with a part there are lost. */
void sim_verdict_end(sim_verdict *verdict, sim_data *data, const bool dead[]);

/** Compare the planned counters of all bodies with what is found element by element. */
void sim_check_counters(sim_data *data, int64_t *bytes_moved_out);

#endif

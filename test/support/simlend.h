/* test/support/simlend.h - lending in a simulated cluster: what nodes ask, lend and take back at random, and the
 * memories of lent batches. */
#ifndef TEST_SUPPORT_SIMLEND_H
#define TEST_SUPPORT_SIMLEND_H

#include "support/simstate.h"

/** Pick a policy, the memory for loans, and which node sleeps or is slow. */
void sim_lend_open(struct sim *sim);
void sim_lend_close(struct sim *sim);

/** terms.loan_of of all nodes. */
dcl_status sim_loan_of(void *sim, const dcli_operation *operation, int64_t batch, int64_t count, int victim, int thief,
                       dcli_loan_size *size_out);

/** Let a node ask, lend, refuse or take back. @param idle  it has nothing else to do. @return whether it did. */
bool sim_lend_decide(struct sim *sim, int p, bool idle);

/** Whether an action belongs to lending; and whether it is one that is done in order, as a task. */
bool sim_lend_is(dcli_action_kind kind);
bool sim_lend_is_task(dcli_action_kind kind);
/** Carry out an action that is no task; or what of a task is done at once. */
void sim_lend_act(struct sim *sim, int p, const dcli_action *action);
/** Carry out a task. `begins`: a borrowed batch starts, and ends by another call. */
void sim_lend_do(struct sim *sim, int p, const dcli_action *action, bool begins);
/** A message of lending arrives. */
dcl_status sim_lend_deliver(struct sim *sim, const sim_event *event);
/** Whether an event is such a message. */
bool sim_lend_is_message(sim_event_kind kind);
/** Check that a borrowed batch may run now. */
void sim_lend_check_run(struct sim *sim, int p, const dcli_action *action);
/** At the end: everything has been answered, and no memory is reserved. */
void sim_lend_check_end(struct sim *sim);

#endif

/* test/support/simplan.h - compare plans of one operation that are made in different ways. */
#ifndef TEST_SUPPORT_SIMPLAN_H
#define TEST_SUPPORT_SIMPLAN_H

#include "workqueue/plan.h"

/** Describe a difference between two plans; NULL: none. @param streams  compare only what peers exchange:
 *  dcli_plan_terms.streams. @param regrouped  one of them has joined its local batches, or cut its works: dcli_plan_terms.local_bytes, .fine_elements */
const char *sim_plans_differ(const dcli_plan *a, const dcli_plan *b, bool streams, bool regrouped);

/** Make the plan of an operation again as its peers do, and, for a FORALL, without shortcuts; compare. @return as
 *  above. */
const char *sim_plan_differs(const dcli_plan *plan, const dcli_operation *operation, int self,
                             const dcli_plan_terms *terms);

/** Compare the plan of peer `self`, made in full, with the plan of the pair: the peers with which `peer` shares
 *  something must include `self` if the plan names it, and the plan for the pair must have the same chunks. @return as
 *  above. */
const char *sim_pair_differs(const dcli_plan *plan, const dcli_operation *operation, int self, int peer,
                             const dcli_plan_terms *terms);

#endif

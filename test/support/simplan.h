/* test/support/simplan.h - plans of one operation that are made in different ways say the same. */
#ifndef TEST_SUPPORT_SIMPLAN_H
#define TEST_SUPPORT_SIMPLAN_H

#include "workqueue/plan.h"

/** What differs between two plans, for a sentence; NULL: nothing.
 *  @param streams  only what peers exchange is compared: dcli_plan_terms.streams */
const char *sim_plans_differ(const dcli_plan *a, const dcli_plan *b, bool streams);

/** Make the plan of an operation again, for its peers, and, for a FORALL, the long way. @return as above. */
const char *sim_plan_differs(const dcli_plan *plan, const dcli_operation *operation, int self,
                             const dcli_plan_terms *terms);

#endif

/* runtime/report.h - planning a call without running it, and what the files of a report share. */
#ifndef DCLI_RUNTIME_REPORT_H
#define DCLI_RUNTIME_REPORT_H

#include <dcl/explain.h>

#include "runtime/cluster.h"
#include "workqueue/plan_detail.h"

/** A call of dcl_forall_n() that could be made. */
typedef struct dcli_planned {
    dcl_cluster *cluster;
    const dcli_operation *operation;
    dcl_array *const *array; /* by parameter; NULL for scalars */
} dcli_planned;

/** Called with the lock held. */
typedef dcl_status dcli_planned_fn(void *user, const dcli_planned *planned);

/** Check a call as dcl_forall_n() does and have `look` see it. Takes the lock.
 *  @return the statuses of dcl_forall_n(), or what `look` returned. */
dcl_status dcli_call_planned(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                             const dcl_arg args[], dcli_planned_fn *look, void *user);

/** The same for a body of the library's own (dcli_forall_start()). The lock is held. */
dcl_status dcli_forall_planned(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[],
                               dcli_planned_fn *look, void *user);

/** The plan of a node, by the terms that nodes of the cluster have. A plan that does not fit the pool is an error.
 *  @param detailed  with plan->detail. */
dcl_status dcli_plan_for_report(const dcl_cluster *cluster, const dcli_operation *operation, int node, bool detailed,
                                dcli_plan **plan_out);

/** Add all fields. */
void dcli_counters_add(dcl_counters *sum, const dcl_counters *more);

/** A report as it is made. */
typedef struct dcli_report {
    dcl_report seen; /* by the program; first, as dcl_report_release() gets its address */
    dcl_report_node *node;
    dcl_report_pair *pair;
    int64_t pair_capacity;
    dcl_report_array *array;
    dcl_report_footprint *footprint;
    int wide[DCLI_MAX_ACCESSES]; /* by row of `footprint`: the access */
    int param[DCLI_MAX_PARAMS];  /* by row of `array`: the parameter */
    char **text;                 /* all strings of the report */
    int64_t text_count, text_capacity;
} dcli_report;

/** A copy of a string that lives as long as the report. @return NULL (recorded). */
const char *dcli_report_keep(dcli_report *report, const char *text);

#endif

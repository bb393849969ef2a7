/* runtime/report.h - planning a call without running it, and what the files of a report share. */
#ifndef DCLI_RUNTIME_REPORT_H
#define DCLI_RUNTIME_REPORT_H

#include <dcl/tile_kernel.h>

#include "runtime/cluster.h"
#include "workqueue/plan_detail.h"

/** A call that could be made. */
typedef struct dcli_planned {
    dcl_cluster *cluster;
    const dcli_operation *operation;
    dcl_array *const *array; /* by operand; NULL for scalars */
    const char *const *name; /* of the arrays, by operand; NULL: those of the body's parameters */
} dcli_planned;

/** Called with the lock held. */
typedef dcl_status dcli_planned_fn(void *user, const dcli_planned *planned);

/** Check a call as dcl_forall() does, or dcl_forall_tiles(), and have `look` see it. Takes the lock.
 *  @return the statuses of dcl_forall(), or what `look` returned. */
dcl_status dcli_call_planned(dcl_cluster *cluster, const dcl_box *box, const char *body, bool tiles, int count,
                             const dcl_arg args[], dcli_planned_fn *look, void *user);

/** The same for a body of the library's own (dcli_forall_start()). The lock is held. Arrays may have books of no storage. */
dcl_status dcli_forall_planned(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[],
                               dcli_planned_fn *look, void *user);

/** Planned counters, of a node, DCL_ALL_NODES, or DCL_HOST: zeros. */
typedef struct dcli_counted {
    int node;
    dcl_counters sum;
} dcli_counted;
/** A dcli_planned_fn. @param counted  a dcli_counted. */
dcl_status dcli_count_planned(void *counted, const dcli_planned *planned);

/** What the nodes of a cluster plan by. @param detailed  with plan->detail. */
dcli_plan_terms dcli_report_terms(const dcl_cluster *cluster, bool detailed);

/** The plan of a node by these terms. A plan that does not fit the pool is an error. */
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
    const char **advice;
    int64_t advice_capacity;
    int64_t works;               /* of all plans: what planning costs */
    int64_t promised;            /* least bytes that would move by what was said so far; at first, those that do */
    int wide[DCLI_MAX_ACCESSES]; /* by row of `footprint`: the access */
    int param[DCLI_MAX_PARAMS];  /* by row of `array`: the parameter */
    char **text;                 /* all strings of the report */
    int64_t text_count, text_capacity;
} dcli_report;

/** A report that is asked for. */
typedef struct dcli_report_asked {
    int node; /* or DCL_ALL_NODES */
    bool advise;
    dcli_report *report; /* made by dcli_report_on() */
} dcli_report_asked;

/** dcl_forall(), or dcl_forall_tiles(); what it would count; the report on it. */
dcl_status dcli_forall_run(dcl_cluster *cluster, const dcl_box *box, const char *body, bool tiles, int count,
                           const dcl_arg args[]);
dcl_status dcli_forall_explain(dcl_cluster *cluster, const dcl_box *box, const char *body, bool tiles, int count,
                               const dcl_arg args[], int node, dcl_counters *counters_out);
dcl_report *dcli_forall_report(dcl_cluster *cluster, const dcl_box *box, const char *body, bool tiles, int count,
                               const dcl_arg args[], int node);
/** What a move to `node` would count at `counted`: all of it, where that is `node` or DCL_ALL_NODES; and the report on it. */
dcl_status dcli_move_explain(dcl_array *array, const dcl_box *box, int node, int counted, dcl_counters *counters_out);
dcl_report *dcli_move_report(dcl_array *array, const dcl_box *box, int node);

/** Whether `node` is one that reports are asked of. */
dcl_status dcli_report_check_node(const dcl_cluster *cluster, int node);
/** A dcli_planned_fn: make the report of a loop body or a move. @param asked  a dcli_report_asked. */
dcl_status dcli_report_on(void *asked, const dcli_planned *planned);
/** The report of a copy of an array to itself, which does nothing. The lock is held. */
dcl_status dcli_report_on_nothing(dcli_report_asked *asked, dcl_array *array);
/** The finished report for the program. @return NULL where status is an error. */
dcl_report *dcli_report_end(dcli_report_asked *asked, dcl_status status);

/** Find out where another map or grain would serve the body better, and say so in report->advice. The report is complete.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_report_advise(dcli_report *report, const dcli_planned *planned);
/** Append a sentence to the advice. */
dcl_status dcli_report_say(dcli_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Advice on one array that is read: whether a map that follows from the first output's lets less of it move.
 *  @param row  of report->array. */
dcl_status dcli_report_advise_map(dcli_report *report, const dcli_planned *planned, int row);

/** Advice on the arrays that have the first output's map: whether another one for all of them lets less move. */
dcl_status dcli_report_advise_together(dcli_report *report, const dcli_planned *planned);

#define DCLI_NOTICED_IMBALANCE 1.25
#define DCLI_LEAST_MOVED 0.25 /* of an array: below that no other map is looked for */
/** Whether planning once more, in so many works, takes no time to speak of. */
bool dcli_report_is_small(const dcli_report *report, int64_t works);
/** What the nodes would count for an operation that is not the one planned.
 *  @param sum_out  its bytes_moved are -1 where it cannot be planned. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_report_try(const dcli_planned *planned, const dcli_operation *operation, const dcli_plan_terms *terms,
                           dcl_counters *sum_out);
/** The same with another layout of operand k. */
dcl_status dcli_report_try_layout(const dcli_planned *planned, int k, const dcli_layout *layout,
                                  const dcli_plan_terms *terms, dcl_counters *sum_out);
/** What a node computes at most / mean, if the first output were laid out so. */
dcl_status dcli_report_share(const dcli_operation *operation, const dcli_layout *layout, double *share_out);

enum { DCLI_REPORT_MAP_TEXT = 192 };
/** A map for a sentence: what is long ends in dots. */
void dcli_report_print_map(const dcli_map_rule *rule, char text[DCLI_REPORT_MAP_TEXT]);
/** Give a rule the halo and the periodic axes of a layout: with others, reads would find something else. */
void dcli_report_keep_edges(const dcli_layout *layout, dcli_map_rule *rule);
/** An empty rule over the nodes of a layout's map, with the grains that are aimed at there. */
dcli_map_rule dcli_report_rule(const dcli_layout *layout, dcli_map_kind kind, int rank);
enum { DCLI_SMALLER_TILES = 16 }; /* as many as now */
/** Advice on blocks and tiles that are far too small. */
dcl_status dcli_report_advise_grains(dcli_report *report, const dcli_planned *planned);
/** Sizes as maps are written: "4x4". */
void dcli_report_print_sizes(int rank, const int64_t sizes[], char *text, size_t capacity);
/** What would move with tiles of the first output, and batches, of so many bytes. @param bytes_out  -1: not tried, as
 *  planning takes long. */
dcl_status dcli_report_try_tile(const dcli_report *report, const dcli_planned *planned, int64_t tile_bytes,
                                int64_t *bytes_out);

enum { DCLI_RUN_BYTES = 64 }; /* elements side by side that loops should find: a cache line */
/** Dealt: bytes of elements that are side by side in the grid and in a slot. */
int64_t dcli_report_run_bytes(const dcli_layout *layout);

/** A copy of a string that lives as long as the report. @return NULL (recorded). */
const char *dcli_report_keep(dcli_report *report, const char *text);

#endif

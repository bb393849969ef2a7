/* runtime/report.h - planning a call without running it; shared by the files of a report. */
#ifndef DCLI_RUNTIME_REPORT_H
#define DCLI_RUNTIME_REPORT_H

#include <dcl/tile_kernel.h>

#include "kernel/element.h"
#include "runtime/cluster.h"
#include "runtime/foresight.h"
#include "workqueue/plan_detail.h"

/** What a report says of the indices of a reduction or scan. */
typedef struct dcli_report_form {
    int count;
    const dcl_report_index *index; /* [count] */
    const char *method;
} dcli_report_form;

/** An operation that is planned but not run. */
typedef struct dcli_planned {
    dcl_cluster *cluster;
    const dcli_operation *operation;
    dcl_array *const *array;      /* by operand; NULL for scalars */
    const char *const *name;      /* names of the arrays, by operand; NULL: those of the body's parameters */
    const dcli_report_form *form; /* NULL: that of the operation's body */
} dcli_planned;

/** Callback with a planned call; the lock is held. */
typedef dcl_status dcli_planned_fn(void *user, const dcli_planned *planned);

/** How a description of a call is looked at instead of run: to count it, or to make a report. */
typedef struct dcli_look {
    dcl_status (*check)(const dcl_cluster *cluster, const void *user); /* checks what was asked for */
    dcli_planned_fn *on;
    void *user;
    dcli_foresight
        *foresight; /* what the operations that were looked at before would have changed; NULL: it stands alone */
    bool repeats;   /* as of dcli_overlap_choose() */
} dcli_look;

/** Check a call as running it does, and pass it to `look`. Only a move is refused for an array that has failed. Takes
 *  the lock. @return the statuses of dcl_forall(), dcl_copy(), ..., or what `look` returned. */
dcl_status dcli_forall_look(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                            const dcl_arg args[], const dcli_look *look);
dcl_status dcli_reduction_look(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                               const dcl_arg args[], const dcli_look *look);
dcl_status dcli_scan_look(dcl_cluster *cluster, const char *text, int count, const dcl_arg args[],
                          const dcli_look *look);
/** Run a loop nest, or pass its operations to `look`: dcl_loops(). Takes the lock. */
dcl_status dcli_loops_run(const dcl_call *call);
dcl_status dcli_loops_look(const dcl_call *call, const dcli_look *look);
dcl_status dcli_keyed_look(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[],
                           const dcli_look *look);
/** Run a checked keyed reduction, or pass its operations to `look` if that is not NULL. The lock is held.
 *  @param imagined  number of the last array that the caller has made without storage. */
dcl_status dcli_keyed_start(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[],
                            const dcli_look *look, int imagined);
dcl_status dcli_copy_look(dcl_array *from, dcl_array *to, const dcli_look *look);
dcl_status dcli_remap_look(dcl_array *array, dcl_map *map, unsigned flags, const dcli_look *look);
dcl_status dcli_move_look(dcl_array *array, const dcl_box *box, int node, const dcli_look *look);

/** Pass a body of the library's own (dcli_forall_start()) to `look`. The lock is held. Arrays may be without
 *  storage. */
dcl_status dcli_forall_planned(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind,
                               int count, const dcl_arg args[], dcli_planned_fn *look, void *user);
/** If the outputs of a reduction are single elements of arrays, start it.
 *  @param look       if not NULL, the operations are passed to it instead.
 *  @param found_out  whether the outputs are single elements. */
dcl_status dcli_elements_run(const dcl_call *call, const dcli_look *look, bool *found_out);
/** Check the arguments of a reduction into elements, after dcli_args_check(). */
dcl_status dcli_elements_check(int count, const dcl_arg args[], int elements, const dcli_reduced_element element[]);
/** The argument by which the parser knows an output that is an element: a result with a rank. */
dcl_arg dcli_arg_into_element(const dcl_arg *output);
/** List the arguments of a reduction to values, into elements or by keys as the parser knows them.
 *  @param args_out  [DCLI_MAX_PARAMS]. @param count_out  how many are in args_out.
 *  @return false: the call is another one, or its arguments are wrong. */
bool dcli_reduction_args(const dcl_call *call, dcl_arg args_out[], int *count_out);
/** If no input of a reduction to values, into elements or by keys is read at all indices, run it with one more input that
 *  is (runtime/space.c).
 *  @param look, found_out  as of dcli_elements_run(). */
dcl_status dcli_own_space_run(const dcl_call *call, const dcli_look *look, bool *found_out);
/** If the input that gives the indices of a reduction stores only some of its elements, run the reduction with a copy.
 *  @param look, found_out  as of dcli_elements_run(). */
dcl_status dcli_filled_run(const dcl_call *call, const dcli_look *look, bool *found_out);
/** Run a reduction of any kind, or pass its operations to `look` (call.c). */
dcl_status dcli_reduction_call(const dcl_call *call);
dcl_status dcli_reduction_look_at(const dcl_call *call, const dcli_look *look);
/** If a reduction along axes moves fewer bytes when the owners of an input compute partial results, run it that way
 *  (runtime/at_input.c).
 *  @param look, found_out  as of dcli_elements_run(). */
dcl_status dcli_at_input_run(const dcl_call *call, const dcli_look *look, bool *found_out);
/** dcli_at_input_run() while the lock is held. @param imagined  as of dcli_keyed_start(). */
dcl_status dcli_at_input_start(const dcl_call *call, const dcli_look *look, int imagined, bool *found_out);
/** If a reduction into arrays has a DCL_RESULT_AT, run it. @param look, found_out  as of dcli_elements_run(). */
dcl_status dcli_along_places_run(const dcl_call *call, const dcli_look *look, bool *found_out);
/** If a reduction to values or into elements combines results in one order, run it.
 *  @param look  as dcli_elements_run(). @param found_out  whether it does. */
dcl_status dcli_leaves_run(const dcl_call *call, const dcli_look *look, bool *found_out);

/** Pass the operation of a checked reduction that has partial results to `look`. The lock is held. @param added  as for
 *  dcli_reduction_start(); arrays may be without storage. */
dcl_status dcli_reduction_planned(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                  const dcl_arg args[], int added_count, const dcl_arg added[],
                                  dcli_result results_out[], dcli_node_list *computing_out, dcli_planned_fn *look,
                                  void *user);

/** Planned counters of a node, or of DCL_ALL_NODES; DCL_HOST: zeros. */
typedef struct dcli_counted {
    int node;
    const void *out; /* the program's memory for the counters: here it is only checked for NULL */
    dcl_counters sum;
} dcli_counted;
/** Count a planned call (a dcli_planned_fn). @param counted  a dcli_counted. */
dcl_status dcli_count_planned(void *counted, const dcli_planned *planned);

/** The terms by which the nodes of a cluster plan. @param detailed  with plan->detail. */
dcli_plan_terms dcli_report_terms(const dcl_cluster *cluster, bool detailed);

/** Make the plan of a node with the terms of dcli_report_terms(). A plan that does not fit the pool is an error. */
dcl_status dcli_plan_for_report(const dcl_cluster *cluster, const dcli_operation *operation, int node, bool detailed,
                                dcli_plan **plan_out);

/** Add each counter of `more` to that of `sum`. */
void dcli_counters_add(dcl_counters *sum, const dcl_counters *more);

/** A report being made. */
typedef struct dcli_report {
    dcl_report seen; /* the public part; first, because dcl_report_release() gets its address */
    dcl_report_node *node;
    dcl_report_pair *pair;
    int64_t pair_capacity;
    dcl_report_array *array;
    dcl_report_footprint *footprint;
    dcl_report_index index[DCL_MAX_RANK];
    int operations;      /* planned so far: a scan has several */
    int first_footprint; /* row of `footprint` at which those of the present operation begin */
    const char **advice;
    int64_t advice_capacity;
    int64_t works;               /* works of all plans: the cost of planning */
    int64_t promised;            /* fewest bytes that would move with the advice so far; at first, the bytes that do
                                    move */
    int wide[DCLI_MAX_ACCESSES]; /* by row of `footprint`: number of the access */
    int param[DCLI_MAX_PARAMS];  /* by row of `array`: number of the operand; -1: no operand of this operation */
    const dcli_times *times;     /* what the nodes have measured of the body; NULL: not known */
    char **text;                 /* all strings of the report */
    int64_t text_count, text_capacity;
} dcli_report;

/** What is asked of a report, and the report once it is made. */
typedef struct dcli_report_asked {
    int node; /* the node to report on, or DCL_ALL_NODES */
    bool advise;
    const dcli_times *times; /* as in dcli_report */
    dcli_report *report;     /* made by dcli_report_on(); NULL at first */
} dcli_report_asked;

/** Run dcl_forall(), dcl_forall_tiles(), or dcl_reduce() into arrays. */
dcl_status dcli_forall_run(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                           const dcl_arg args[]);

/** Run an operation of a loop nest, or look at it. @param repeats  as of dcli_overlap_choose(). @param look  NULL: run it; its `repeats` is
 *  not read. */
dcl_status dcli_forall_step(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                            const dcl_arg args[], bool repeats, const dcli_look *look);

/** Set report->seen.index and method of an operation. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_report_describe(dcli_report *report, const dcli_planned *planned);

/** Make the report of an operation, or add a further operation to it (a dcli_planned_fn). @param asked  a
 *  dcli_report_asked. */
dcl_status dcli_report_on(void *asked, const dcli_planned *planned);

/** Find better maps and grains for the body, and add them to report->advice. The rest of the report is complete.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_report_advise(dcli_report *report, const dcli_planned *planned);
/** Append a sentence to the advice. */
dcl_status dcli_report_say(dcli_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Advise on one array that is read: whether a map derived from the first output's saves at least half of the bytes
 *  that the array causes to move. @param row  of report->array. */
dcl_status dcli_report_advise_map(dcli_report *report, const dcli_planned *planned, int row);

/** Advise on the arrays that have the first output's map: whether another map for all of them makes less than half as
 *  much move. */
dcl_status dcli_report_advise_together(dcli_report *report, const dcli_planned *planned);

/** Plan with another map for the first output and all arrays that have its map; for the first output alone if they
 *  cannot be changed together.
 *  @param names      receives the names of those arrays.
 *  @param bytes_out  bytes that would move; -1: this cannot be planned. */
dcl_status dcli_report_try_for_all(const dcli_report *report, const dcli_planned *planned, const dcli_map_rule *rule,
                                   char *names, size_t capacity, int64_t *bytes_out);

/** Find the number that the nodes know a body by (a dcli_planned_fn). @param kernel  an int64_t; 0: they do not have
 *  it, or the session does not lend. */
dcl_status dcli_report_find_body(void *kernel, const dcli_planned *planned);
/** Wait for all calls, and ask the nodes what they have measured of a body. Takes the lock. @param times_out  unchanged
 *  if another thread is asking; free it with dcli_free(). */
dcl_status dcli_report_ask(dcl_cluster *cluster, int64_t kernel, dcli_times **times_out);
/** Advise on a map that divides the work evenly, by report->times. */
dcl_status dcli_report_advise_balance(dcli_report *report, const dcli_planned *planned);

#define DCLI_NOTICED_IMBALANCE 1.25 /* largest / mean share of a node; below this it counts as even */
#define DCLI_LEAST_MOVED 0.25       /* fraction of an array that must move before other maps are tried */
/** Whether planning again, with that many works, takes negligible time. */
bool dcli_report_is_small(const dcli_report *report, int64_t works);
/** Counters of all nodes for a variant of the planned operation. @param sum_out  its bytes_moved are -1 if it cannot be
 *  planned. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_report_try(const dcli_planned *planned, const dcli_operation *operation, const dcli_plan_terms *terms,
                           dcl_counters *sum_out);
/** dcli_report_try() with another layout of operand k. */
dcl_status dcli_report_try_layout(const dcli_planned *planned, int k, const dcli_layout *layout,
                                  const dcli_plan_terms *terms, dcl_counters *sum_out);
/** Largest / mean number of elements that a node computes, if the first output had this layout. */
dcl_status dcli_report_share(const dcli_operation *operation, const dcli_layout *layout, double *share_out);

enum { DCLI_REPORT_MAP_TEXT = 192 };
/** Print a map for a sentence; a long one ends in dots. */
void dcli_report_print_map(const dcli_map_rule *rule, char text[DCLI_REPORT_MAP_TEXT]);
/** Copy the halo and the periodic axes of a layout to a rule, because reads depend on them. */
void dcli_report_keep_edges(const dcli_layout *layout, dcli_map_rule *rule);
/** Begin a rule over the nodes of a layout's map, with its intended grains. */
dcli_map_rule dcli_report_rule(const dcli_layout *layout, dcli_map_kind kind, int rank);
enum { DCLI_SMALLER_TILES = 16 }; /* how many times as many tiles are tried as the plan has now */
/** Advise on blocks and tiles that are far too small. */
dcl_status dcli_report_advise_grains(dcli_report *report, const dcli_planned *planned);
/** Bytes that would move with tiles of the first output, and batches, of that size. @param bytes_out  -1: not tried,
 *  because planning takes long, or such tiles cannot be planned. */
dcl_status dcli_report_try_tile(const dcli_report *report, const dcli_planned *planned, int64_t tile_bytes,
                                int64_t *bytes_out);

enum { DCLI_RUN_BYTES = 64 }; /* shortest run of contiguous elements that is good for loops: a cache line */
/** Dealt maps: bytes of elements that are contiguous both in the grid and in a slot. */
int64_t dcli_report_run_bytes(const dcli_layout *layout);

/** A copy of a string that lives as long as the report. @return NULL (recorded). */
const char *dcli_report_keep(dcli_report *report, const char *text);

#endif

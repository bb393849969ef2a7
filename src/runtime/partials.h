/* runtime/partials.h - arrays of partial results, which reductions share. The lock is held in all functions. */
#ifndef DCLI_RUNTIME_PARTIALS_H
#define DCLI_RUNTIME_PARTIALS_H

#include "runtime/cluster.h"
#include "runtime/report.h"

/** An array of partial results that is kept for later reductions. Each call has one of its own. */
struct dcli_partials {
    dcl_array *array; /* each node's part has slots of partial results (kernel/body.h) */
    int results;      /* number of results for which the array is made */
    int64_t stamp;    /* of the reduction that uses the array, or used it last: 1, 2, ... (dcli_body.partials) */
    dcl_array *level[DCLI_MAX_RESULTS][2]; /* by result: the two arrays that the levels of a tree of reductions use
                                              in turn; NULL: not made yet */
    struct dcli_partials *next;
};

/** Get an array, with a new stamp. @param partials_out  NULL after some errors; end it with dcli_partials_put(). */
dcl_status dcli_partials_get(dcl_cluster *cluster, int results, struct dcli_partials **partials_out);
/** Make an array of partial results for plans only. @param array_out  freed with dcli_array_free(); NULL: there is
 *  none. */
dcl_status dcli_partials_imagine(dcl_cluster *cluster, int results, dcl_array **array_out);
/** The distance in longs of slots that may have partial results: GPUs have them in the first slot of their parts only.
 *  @param results  for which the array is made. */
int64_t dcli_partials_step(const dcl_cluster *cluster, const dcl_array *partials, int results);
/** The arguments that the parser of a reduction adds. */
enum { DCLI_PARTIALS_ADDED = 2 };
void dcli_partials_args(dcl_array *array, int64_t stamp, dcl_arg args_out[DCLI_PARTIALS_ADDED]);
/** Read what a reduction has left in an array, and store its results in the program's variables. Waits.
 *  @param computing  the nodes that may have partial results. @param grid  of the array that gives the indices.
 *  @param args       [count] of the reduction; a result without a variable is left out.
 *  @param top        [results] from dcli_tree_combine(), which are read instead; NULL: there is no tree.
 *  @return DCL_OK; DCL_ERR_RANGE: the body accessed elements outside, but the results are stored; or another
 *          failure. */
dcl_status dcli_partials_read(const struct dcli_partials *partials, const dcli_node_list *computing,
                              const dcl_grid *grid, const dcli_result reduced[], int count, const dcl_arg args[],
                              dcl_array *const top[]);
/** Keep an array for later reductions, or end it if `status` is an error. @param partials  NULL is accepted. */
void dcli_partials_put(dcl_cluster *cluster, struct dcli_partials *partials, dcl_status status);

/* ---- bodies that combine: combine.c ---- */

/** How partial results are combined. */
typedef enum dcli_combining {
    DCLI_COMBINE_SLOTS,    /* slots of several nodes are combined into a row (dcli_tree_source()) */
    DCLI_COMBINE_ROWS,     /* rows are combined into a row */
    DCLI_COMBINE_ELEMENT,  /* slots of all nodes are combined into an element (dcli_element_source()) */
    DCLI_COMBINE_INTO = 4, /* added to ELEMENT: the element's old value counts, too */
    DCLI_COMBINE_TOP = 8   /* added to ELEMENT: a row is combined instead of slots */
} dcli_combining;

/** The text and the prelude of a body, kept for later calls. @param rank  of the element's array; 0 for rows. */
dcl_status dcli_combination_get(dcl_cluster *cluster, dcli_fold fold, dcl_type type, int rank, int how,
                                const char **text_out, const char **prelude_out);

/** How many steps a tree has that combines the partial results of nodes; 0: they are few, and combined at once. */
int dcli_tree_steps(const dcl_cluster *cluster, int computing);

/** Partial results that are combined up a tree. */
typedef struct dcli_tree {
    dcl_cluster *cluster;
    dcl_array *partials; /* the array of the partial results of all nodes */
    int results;
    int64_t stamp;
    const dcli_look *look; /* the operations are passed to this; NULL: they are run */
} dcli_tree;

/** Combine the partial results of result r in row 0 of an array of slots.
 *  @param level_in_out  [2] arrays; those that are NULL are made. With `look`, end them with dcli_array_free().
 *  @param top_out  the array: one of these. */
dcl_status dcli_tree_combine(const dcli_tree *tree, int r, const dcli_result *result, dcl_type type,
                             dcl_array *level_in_out[2], dcl_array **top_out);

#endif

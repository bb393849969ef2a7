/* runtime/partials.h - arrays of partial results, which reductions share. The lock is held in all functions. */
#ifndef DCLI_RUNTIME_PARTIALS_H
#define DCLI_RUNTIME_PARTIALS_H

#include "runtime/cluster.h"

/** An array of partial results that is kept for later reductions. Each call has one of its own. */
struct dcli_partials {
    dcl_array *array; /* each node's part has the partial results of its work-items, those of all results in turn */
    int results;      /* the number of results it is made for */
    int64_t stamp;    /* of the reduction that uses it, or used it last: 1, 2, ... (dcli_body.partials) */
    struct dcli_partials *next;
};

/** Get an array, with a new stamp. @param partials_out  NULL after some errors; end it with dcli_partials_put(). */
dcl_status dcli_partials_get(dcl_cluster *cluster, int results, struct dcli_partials **partials_out);
/** Make an array of partial results for plans only. @param array_out  freed with dcli_array_free(); NULL: there is none. */
dcl_status dcli_partials_imagine(dcl_cluster *cluster, int results, dcl_array **array_out);
/** The arguments that the parser of a reduction adds. */
enum { DCLI_PARTIALS_ADDED = 2 };
void dcli_partials_args(dcl_array *array, int64_t stamp, dcl_arg args_out[DCLI_PARTIALS_ADDED]);
/** Read what a reduction has left in an array, and store its results in the program's variables. Waits.
 *  @param computing  the nodes that may have partial results. @param grid  of the array that gives the indices.
 *  @param args       [count] of the reduction; a result without a variable is left out. */
dcl_status dcli_partials_read(const struct dcli_partials *partials, const dcli_node_list *computing,
                              const dcl_grid *grid, const dcli_result reduced[], int count, const dcl_arg args[]);
/** Keep an array for later reductions, or end it if `status` is an error. @param partials  NULL is accepted. */
void dcli_partials_put(dcl_cluster *cluster, struct dcli_partials *partials, dcl_status status);

#endif

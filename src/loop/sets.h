/* loop/sets.h - the iterations of a nest, what they access and how they depend on each other, as sets of integers (isl).
 *
 * Statement s has the space S<s>[c0, c1, ...] of the counters of its loops, array a the space A<a>[...] of its indices,
 * variable v the space V<v>[]. In sets with parameters, p<k> is the counter of host loop k of a plan. */
#ifndef DCLI_LOOP_SETS_H
#define DCLI_LOOP_SETS_H

#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/set.h>

#include "loop/tree.h"

/** Iterations of `sink` that must run after iterations of `source`: both access an element, and one of them writes it. */
typedef struct dcli_loops_dependence {
    int source, sink;           /* statements */
    int source_read, sink_read; /* number of the read; -1: the target */
    isl_map *map;
} dcli_loops_dependence;

/** Iterations of `sink` that read the value of a variable which iterations of `source` have assigned last. */
typedef struct dcli_loops_flow {
    int source, sink, scalar;
    isl_map *map;
} dcli_loops_flow;

typedef struct dcli_loops_sets {
    const dcli_loops_tree *tree;
    isl_ctx *ctx;
    bool failed; /* a set could not be computed: the limit of operations, or no memory */
    int depth;   /* of the deepest statement */
    isl_set *domain[DCLI_LOOPS_STATEMENTS];
    isl_map *order[DCLI_LOOPS_STATEMENTS]; /* to the time of each iteration in the program's order */
    isl_map *write[DCLI_LOOPS_STATEMENTS]; /* to what is written */
    isl_map *read[DCLI_LOOPS_STATEMENTS][DCLI_LOOPS_READS];
    isl_set *at[DCLI_LOOPS_STATEMENTS]; /* the last result of dcli_loops_at(), for the hosts beside it */
    int at_count[DCLI_LOOPS_STATEMENTS], at_depth[DCLI_LOOPS_STATEMENTS][DCLI_LOOPS_DEPTH];
    int64_t dependence_count, dependence_capacity;
    dcli_loops_dependence *dependence;
    int64_t flow_count, flow_capacity;
    dcli_loops_flow *flow;
} dcli_loops_sets;

/** Compute only the iterations of a tree without errors.
 *  @param most  operations of isl after which it gives up.
 *  @return NULL: DCL_ERR_NOMEM is recorded. */
dcli_loops_sets *dcli_loops_sets_begin(const dcli_loops_tree *tree, unsigned long most);
/** Compute the sets of a tree without errors. What is wrong with its accesses is added to `complaints`: indices outside of
 *  arrays, variables and outputs that are read before they are assigned.
 *  @param most  operations of isl after which it gives up.
 *  @return NULL: DCL_ERR_NOMEM is recorded. */
dcli_loops_sets *dcli_loops_sets_make(const dcli_loops_tree *tree, unsigned long most,
                                      dcli_loops_complaints *complaints);
void dcli_loops_sets_free(dcli_loops_sets *sets);

/** Whether a map or set, which is taken, is empty; true, and sets->failed is set, if that could not be computed. */
bool dcli_loops_no_map(dcli_loops_sets *sets, isl_map *map);
bool dcli_loops_no_set(dcli_loops_sets *sets, isl_set *set);
isl_set *dcli_loops_read_set(dcli_loops_sets *sets, dcli_text *text);
isl_map *dcli_loops_read_map(dcli_loops_sets *sets, dcli_text *text);

/** Put the text of a linear form: `3 + 2*c0 - c1`. */
void dcli_loops_put_linear(dcli_text *out, const dcli_loops_linear *linear);
/** Put the space of a statement: `S3[c0,c1]`. */
void dcli_loops_put_space(dcli_text *out, const dcli_loops_sets *sets, int s);
/** Begin a map between the iterations of s and t, whose counters are c<d> and d<d>, that is empty unless ` or ...` follows:
 *  `{ S0[c0] -> S1[d0] : 0 = 1`. */
void dcli_loops_put_pairs(dcli_text *out, const dcli_loops_sets *sets, int s, int t);
/** Put a condition as constraints. */
void dcli_loops_put_test(dcli_text *out, const dcli_loops_tree *tree, const dcli_loops_expr *condition, bool negated);

/** Put ` and ...` for each of some conditions. */
void dcli_loops_put_tests(dcli_text *out, const dcli_loops_tree *tree, int count, const dcli_loops_test test[]);

/** Find the first point of a set without parameters; the set is taken. @return false: it is empty. */
bool dcli_loops_first_point(dcli_loops_sets *sets, isl_set *set, int count, int64_t point_out[]);
/** Print `i = 1, j = 2` for a point of the counters of a statement. */
void dcli_loops_put_iteration(dcli_text *out, const dcli_loops_tree *tree, int s, const int64_t point[]);
/** Find a pair of a dependence, the first one, in a map from iterations of s to those of t; the map is taken. */
bool dcli_loops_first_pair(dcli_loops_sets *sets, isl_map *map, int s, int t, int64_t source_out[], int64_t sink_out[]);

/** Whether a nest may have subscripts that are to be divided among the axes of their arrays (loop/flat.c). */
bool dcli_loops_has_flat(const dcli_loops_tree *tree);
/** Divide the subscripts that count elements among the axes of their arrays, and give axes to arrays that may have any
 *  shape.
 *  @param sets  of dcli_loops_sets_begin().
 *  @return DCL_OK, perhaps with a complaint, or with sets->failed; DCL_ERR_NOMEM. */
dcl_status dcli_loops_divide_flat(dcli_loops_tree *tree, dcli_loops_sets *sets, dcli_loops_complaints *complaints);

/** Whether the library that is loaded is the isl that DCL was built for, and no other library's.
 *  @return DCL_OK or DCL_ERR_UNSUPPORTED. */
dcl_status dcli_loops_check_isl(void);

#endif

/* loop/inside.h - a plan while it is made: for the files of this room that make it, verify it and generate its
 * bodies. */
#ifndef DCLI_LOOP_INSIDE_H
#define DCLI_LOOP_INSIDE_H

#include <isl/aff.h>
#include <isl/space.h>

#include "loop/plan.h"
#include "loop/sets.h"

/** A set of statements, or of loops: bit n is number n. */
typedef uint64_t dcli_loops_mask;
static inline bool dcli_loops_in(dcli_loops_mask mask, int n) { return (mask >> n & 1) != 0; }

/** The *host loops* of an operation: the loops that the program runs around it, the outermost first. Counter k of the
 *  program is that of `loop[k]`. It may also be the counter of loops around other statements, at depth[k] of each: then
 *  iterations of equal counters belong to one operation. */
typedef struct dcli_loops_hosts {
    int count, loop[DCLI_LOOPS_DEPTH];
    int8_t depth[DCLI_LOOPS_DEPTH][DCLI_LOOPS_STATEMENTS]; /* by statement around which the program runs it */
} dcli_loops_hosts;

/** Whether the program runs the loop at depth d around statement s. */
static inline bool dcli_loops_is_hosted(const dcli_loops_hosts *hosts, int s, int d)
{
    for (int k = 0; k < hosts->count; k++)
        if (hosts->depth[k][s] == d)
            return true;
    return false;
}

/** How the threads of an operation run a loop. */
typedef enum dcli_loops_way {
    DCLI_LOOPS_FREE,  /* all iterations in order, within `low` and `high` */
    DCLI_LOOPS_FIXED, /* one iteration: counter = sign * (index of the element along `row` - `rest`) */
    DCLI_LOOPS_HOSTED /* one iteration: the program runs the loop */
} dcli_loops_way;

typedef struct dcli_loops_run {
    dcli_loops_way way;
    int row, sign; /* HOSTED: `row` is the number of the host */
    int statement; /* FIXED: `rest` is a sum of counters of the loops around this statement; inner loops among them
                      may be HOSTED or `turned` */
    int turned;    /* FIXED: 1 or -1: threads run the loop inside this loop, whose counter is in `rest`, around this
                      loop, upwards or downwards; 0: they do not */
    dcli_loops_linear rest;
    isl_set *range; /* FREE: the values of the counter, from least to greatest, by the counters of the host loops */
    isl_pw_aff *low, *high; /* FREE: the least and the greatest of these values */
} dcli_loops_run;

/** Elements of an array that are copied before or after an operation. */
typedef struct dcli_loops_copy {
    enum dcli_loops_copying {
        DCLI_LOOPS_ASIDE, /* before it, because its threads read elements that it writes */
        DCLI_LOOPS_THERE, /* before it, to the array with whole lines in which it runs */
        DCLI_LOOPS_BACK   /* after it, from that array */
    } way;
    int array, rank;
    dcli_loops_place place;                             /* ASIDE: place of the first of these reads */
    char body[96];                                      /* copy(i,j) = from(i,j); */
    isl_pw_aff *low[DCL_MAX_RANK], *high[DCL_MAX_RANK]; /* the box around them, by the counters of the host loops */
} dcli_loops_copy;

/** A condition that the indices x of threads fulfil: constant + sum of index[r] * x[r] + sum of host[k] * (counter k of
 *  the program) >= 0. */
typedef struct dcli_loops_slant {
    int axis; /* the innermost index with a coefficient of 1 or -1; the condition is written as a bound of its range */
    int64_t constant, index[DCL_MAX_RANK], host[DCLI_LOOPS_DEPTH];
} dcli_loops_slant;

enum { DCLI_LOOPS_SLANTS = 6 }; /* most conditions of an operation */

/** A read of an input by a statement of an operation on lines. */
typedef struct dcli_loops_reader {
    int statement, read, operand;
} dcli_loops_reader;

typedef struct dcli_loops_operation {
    dcli_loops_mask statements;
    dcli_loops_hosts hosts;
    int rank;
    /* Threads compute whole lines of the outputs along this axis, and their index along it is 0; -1: they compute one
     * element (loop/lines.c). */
    int along;
    int output_count, output[DCLI_LOOPS_STATEMENTS]; /* the arrays that are written, the first one in the text first */
    dcli_loops_run run[DCLI_LOOPS_MOST];             /* by loop */
    /* By statement: from its iterations to the indices of the elements whose threads run them. */
    isl_map *threads[DCLI_LOOPS_STATEMENTS];
    isl_set *box; /* the threads */
    int slant_count;
    dcli_loops_slant slant[DCLI_LOOPS_SLANTS];
    isl_set *over; /* only threads of the box that are in this set are started; NULL: all are */
    isl_pw_aff *low[DCL_MAX_RANK], *high[DCL_MAX_RANK];   /* of the box, by the counters of the host loops */
    bool own[DCLI_LOOPS_STATEMENTS][DCLI_LOOPS_READS];    /* a read is of the thread's own element */
    bool copied[DCLI_LOOPS_STATEMENTS][DCLI_LOOPS_READS]; /* a read is of the copy that is made before the operation */
    bool mixed[DCLI_LOOPS_STATEMENTS][DCLI_LOOPS_READS];  /* a read is of the copy, unless it is of the thread's own
                                                             element */
    unsigned long gathered; /* operations on lines: bit k: lines of output k are whole in a copy only */
    int copy_count;
    dcli_loops_copy copy[2 * DCLI_LOOPS_STATEMENTS];
    bool parallel;       /* threads take the place of a loop */
    char *body, *ranges; /* ranges: the text of DCL_OVER; NULL: none */
    /* What threads run before their last loop, and that loop; NULL: they run nothing but the loop, or it does not run
     * in parts. */
    char *head, *rest;
    uint64_t head_uses, rest_uses; /* bit k: `head`, `rest` uses operand k */
    int reach_count;
    dcli_loops_reader reader[DCLI_LOOPS_REACHES]; /* operations on lines: the reads of inputs */
    int operand_count;
    dcli_loops_operand operand[DCLI_LOOPS_OPERANDS]; /* VALUEs with symbol -1: `value` is 2 * loop (low), 2 * loop + 1
                                                        (high), or -1 - k (counter of host k), unless `bound` is set */
} dcli_loops_operation;

/** Why statements cannot be one operation. */
typedef struct dcli_loops_why {
    enum { DCLI_LOOPS_CROSS, DCLI_LOOPS_STRIDE, DCLI_LOOPS_SCALAR, DCLI_LOOPS_MIXED } reason;
    int statement; /* STRIDE: the statement whose subscript has another factor than 1 and -1 */
    int number;    /* CROSS: number of the dependence; SCALAR: number of the flow */
} dcli_loops_why;

/** Why a part of a nest is not parallel. */
typedef struct dcli_loops_failure {
    bool known;
    dcli_loops_mask statements;
    dcli_loops_hosts hosts;
    dcli_loops_why why;
} dcli_loops_failure;

/** A step of a plan: an operation, or a loop around steps. */
typedef struct dcli_loops_step {
    int operation;           /* -1: a loop */
    int loop;                /* the loop that the program runs */
    dcli_loops_hosts inside; /* around what is inside of it: `hosts` and this loop */
    dcli_loops_hosts hosts;  /* around the step */
    dcli_loops_mask statements;
    bool in_order;                        /* a loop inside of which nothing runs in parallel */
    dcli_loops_why why;                   /* why the program runs the loop */
    isl_pw_aff *low, *high;               /* the least and the greatest value of its counter, by those of the hosts */
    struct dcli_loops_step *first, *next; /* inside of a loop; after this step */
} dcli_loops_step;

/** What a nest reads or writes of an array, once it was computed. */
typedef struct dcli_loops_touched {
    bool known, all;
    dcl_box box;
} dcli_loops_touched;

struct dcli_loops_plan {
    dcli_loops_tree *tree;
    dcli_loops_sets *sets;
    int operation_count;
    dcli_loops_operation *operation[DCLI_LOOPS_OPERATIONS];
    dcli_loops_step *first;
    char file[256]; /* as in complaints */
    int shift;
    bool warned;
    bool improvable;        /* refused, or partly in order, because of how its statements depend on each other */
    dcli_loops_mask failed; /* if the nest is refused: statements that could not be planned */
    int64_t in_order;       /* iterations of the loops that the program runs though nothing in them is parallel */
    int64_t bound_count, bound_capacity, bound_next;
    struct dcli_loops_bound *bound; /* [bound_count] bounds that were evaluated, as rows: loop/bound.c */
    dcli_loops_touched *touched; /* [2 * tree->name_count] reads and writes of each argument; NULL: none is known yet */
};

/** Try to make statements one operation. @return NULL: they cannot be one, and *why_out says why; or sets->failed is
 *  set. */
dcli_loops_operation *dcli_loops_operation_try(dcli_loops_sets *sets, dcli_loops_mask statements,
                                               const dcli_loops_hosts *hosts, dcli_loops_why *why_out);
/** Try to make statements one operation whose threads compute whole lines of the outputs along an axis. Lines that
 *  tiles divide are gathered: the operation runs in copies of such outputs. @return as
 *  dcli_loops_operation_try(). */
dcli_loops_operation *dcli_loops_lines_try(dcli_loops_sets *sets, dcli_loops_mask statements,
                                           const dcli_loops_hosts *hosts, int along, dcli_loops_why *why_out);
/** Whether an operation, of elements or lines, concerns one index only along an axis. */
bool dcli_loops_is_thin(const dcli_loops_operation *operation, int axis);
void dcli_loops_operation_free(dcli_loops_operation *operation);

/** The iterations of a statement in the iteration of the host loops that the parameters name. */
isl_set *dcli_loops_at(dcli_loops_sets *sets, int s, const dcli_loops_hosts *hosts);
/** Restrict a map from iterations of statement s to those of t: both in the iteration of the host loops that the
 *  parameters name, as for dcli_loops_at(). Takes the map. */
isl_map *dcli_loops_both_at(dcli_loops_sets *sets, isl_map *map, int s, int t, const dcli_loops_hosts *hosts);
/** Put the parameters: `[p0,p1] -> `. */
void dcli_loops_put_parameters(dcli_text *out, const dcli_loops_hosts *hosts);
/** The depth at which loop `loop` is around statement s; -1: it is not around s. */
int dcli_loops_depth_in(const dcli_loops_tree *tree, int s, int loop);
/** The step in which a loop is run: its own, if its first value depends on no outer counter and the step is at most
 *  INT16_MAX in size. Other loops visit every value between the bounds, in steps of 1 or -1. */
int64_t dcli_loops_step_run(const dcli_loops_loop *loop);
/** The values that counter number k of `inside` has in statements: a set of one dimension.
 *  @param hosts  the counters by which it is given: the first ones of `inside`. */
isl_set *dcli_loops_counter(dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *inside, int k,
                            const dcli_loops_hosts *hosts);
/** The values of a loop's counter in statements: a set of one dimension. */
isl_set *dcli_loops_range(dcli_loops_sets *sets, dcli_loops_mask statements, int loop, const dcli_loops_hosts *hosts);
/** The least and the greatest value of dimension d of a set, by its parameters. */
void dcli_loops_bounds(dcli_loops_sets *sets, const isl_set *set, int d, isl_pw_aff **low_out, isl_pw_aff **high_out);
/** The smallest box around a set, which is taken. */
isl_set *dcli_loops_box(dcli_loops_sets *sets, isl_set *set);

/** The loop that threads run around a turned loop: in the text it is the only node inside the turned loop. */
static inline int dcli_loops_inner(const dcli_loops_tree *tree, int loop)
{
    return tree->loop[loop].node->first->number;
}

/** If the threads that run an iteration do not fill their box, find conditions that all of them fulfil. */
void dcli_loops_find_slants(dcli_loops_sets *sets, dcli_loops_operation *operation);
/** Whether the conditions leave out no thread that runs an iteration. */
bool dcli_loops_slants_hold(dcli_loops_sets *sets, const dcli_loops_operation *operation);

/** Iterations that run in the threads of an operation if nothing but its ways of running loops restricts them. */
isl_map *dcli_loops_unguarded(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s);

/** A map from threads to the elements that read r of statement s reaches in them. */
isl_map *dcli_loops_reached(const dcli_loops_operation *operation, const dcli_loops_sets *sets, int s, int r);

/** The elements that read r of statement s reaches in an iteration of the host loops. */
isl_set *dcli_loops_elements(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r);
/** The elements that the read reaches if conditions of the body are ignored, which is what DCL derives from its
 *  loops. */
isl_set *dcli_loops_elements_derived(dcli_loops_sets *sets, const dcli_loops_operation *operation, int s, int r);

/** How many elements of an array an operation reads in one iteration of the host loops, and how many are in the box around
 *  one of its reads. */
typedef struct dcli_loops_excess {
    double read, box;       /* elements */
    bool estimated;         /* `read` was extrapolated */
    dcli_loops_place place; /* of the read whose box it is */
} dcli_loops_excess;

/** Compare the number of elements that an operation reads of an array with the largest box around one of its reads.
 *  @return whether the box is larger. */
bool dcli_loops_find_excess(dcli_loops_sets *sets, const dcli_loops_operation *operation, int array,
                            dcli_loops_excess *out);

/** Whether the box of an operation has more than twice as many threads as the boxes of its two parts together, in an
 *  iteration of the host loops. */
bool dcli_loops_box_is_larger(dcli_loops_sets *sets, const dcli_loops_operation *together,
                              const dcli_loops_operation *a, const dcli_loops_operation *b);

/** Whether the values of a variable reach the threads that use them: each computes them itself. */
bool dcli_loops_values_reach(dcli_loops_sets *sets, const dcli_loops_operation *operation, const dcli_loops_flow *flow);

/** Put a sum of the counters of the loops around statements, as `2*i + j`, that grows along all their dependences:
 *  iterations with the same sum are independent. @return false: none was found. */
bool dcli_loops_skew(dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *hosts, dcli_text *out);

/** The value of a bound for the counters of hosts. @return false: it has none, because nothing runs. */
bool dcli_loops_evaluate(dcli_loops_plan *plan, isl_pw_aff *bound, int count, const int64_t counter[],
                         int64_t *value_out);
/** dcli_loops_evaluate() by isl, which is slower. */
bool dcli_loops_evaluate_by_isl(dcli_loops_plan *plan, isl_pw_aff *bound, int count, const int64_t counter[],
                                int64_t *value_out);
void dcli_loops_plan_forget_bounds(dcli_loops_plan *plan);

/** Make the body and the arguments of an operation. */
dcl_status dcli_loops_emit(dcli_loops_sets *sets, dcli_loops_operation *operation);

/** Say why statements do not run in parallel. */
void dcli_loops_blame(dcli_loops_sets *sets, const dcli_loops_failure *failure, dcli_loops_complaints *complaints);

/** Whether a plan keeps all dependences: an independent test of the plan that is run. */
bool dcli_loops_verify(dcli_loops_plan *plan);

#endif

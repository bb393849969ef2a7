/* loop/plan.h - what is done for a loop nest: operations over the elements that it writes, and loops around them that
 * the program runs.
 *
 * An operation computes elements of its outputs, each by one thread: the thread of element x runs, in the program's
 * order, the iterations of the operation's statements that write x. So operations have the form of bodies of
 * dcl_forall(). Where threads read elements that others write later, these are copied to another array by an operation
 * before. The plan is verified before it is used (loop/verify.c). */
#ifndef DCLI_LOOP_PLAN_H
#define DCLI_LOOP_PLAN_H

#include "loop/tree.h"

enum {
    DCLI_LOOPS_OPERATIONS = 64, /* most operations of a plan */
    DCLI_LOOPS_OPERANDS = 60,   /* most arguments of an operation */
    DCLI_LOOPS_REACHES = 64,    /* most reads of inputs of an operation on lines */
    DCLI_LOOPS_LANES = 8        /* lines that a work-item of a CPU computes together */
};

/** An argument of an operation. */
typedef struct dcli_loops_operand {
    char name[64];
    dcl_access access; /* OUT, INOUT, IN, VALUE, OVER */
    bool of_copy;      /* not the argument, but an array of its grid that keeps a copy of some of its elements */
    int gathered; /* if not 0: not the argument, but an array of its grid whose tiles have all indices of axis gathered - 1 */
    int symbol;    /* argument of the nest, or one after them: an array of the plan; -1: an integer of the plan */
    int64_t value; /* of an integer of the plan */
    int bound; /* if not 0, the integer is the first (1 + 2 * r) or the last (2 + 2 * r) index of axis r of the box */
    int part; /* if not 0, the integer is the first (1) or the last (2) value of the loop that a thread runs last. A thread may as
                 well run parts of it, one after the other, if all outputs are as the part before has left them. */
    const char *over;       /* OVER: ranges of the indices; borrowed until the plan is freed */
    dcli_loops_place place; /* of an array in the nest: where the operation reads or writes it */
} dcli_loops_operand;

/** The subscripts of a read along an axis, for threads with indices x[r] along the other axes than that of lines: low
 *  to high, each plus the sum of index[r] * x[r]. */
typedef struct dcli_loops_span {
    int64_t low, high, index[DCL_MAX_RANK];
} dcli_loops_span;

/** What an operation on lines reads of an input, at one place of the nest. */
typedef struct dcli_loops_reach {
    int operand;
    bool empty; /* its loop has no iterations */
    dcli_loops_span span[DCL_MAX_RANK];
} dcli_loops_reach;

/** An operation as it is to be run: a body at the indices of a box of its first output, or a tile kernel whose
 *  work-items compute whole lines of the box. */
typedef struct dcli_loops_call {
    int operation; /* its number; -1: a copy before or after one */
    const int64_t
        *counter;   /* of the loops that the program runs around it, the outermost first; borrowed during the call */
    int64_t rounds; /* iterations of the innermost of these loops; 0: there are none */
    const char *body;
    /* -1: it is a body. Otherwise the axis of lines. The tile kernel also has two arguments of type long: `q_items`,
     * the number of work-items, and `q_lanes`, 1 or DCLI_LOOPS_LANES. */
    int along;
    int reach_count;
    const dcli_loops_reach *reach; /* [reach_count], borrowed during the call */
    /* The body without the loop that runs in parts, and this loop, with all outputs as inputs too; NULL: the loop is
     * all of the body, or no loop runs in parts. */
    const char *head, *rest;
    uint64_t head_uses, rest_uses; /* bit k: `head`, `rest` uses operand k */
    int operand_count;
    dcli_loops_operand operand[DCLI_LOOPS_OPERANDS];
    dcl_box box;
} dcli_loops_call;

typedef struct dcli_loops_plan dcli_loops_plan;

/** Called for each operation in order. @return not DCL_OK: the walk ends with this status. */
typedef dcl_status dcli_loops_run_fn(void *user, const dcli_loops_call *call);

/** Parse, analyse and plan a nest.
 *  @param text   borrowed until the plan is freed, as names.
 *  @param names  [count] its arguments; no half.
 *  @return DCL_OK; DCL_ERR_BODY: all that is wrong with it (loop/message.h); DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED,
 *          DCL_ERR_INTERNAL (the plan violates a dependence: an error of the library, and nothing is run). */
dcl_status dcli_loops_plan_make(const char *text, int count, const dcli_loops_name names[], dcli_loops_plan **plan_out);
void dcli_loops_plan_free(dcli_loops_plan *plan);

/** An argument of the nest, or an array of the plan: one whose symbol is not below the number of arguments. */
const dcli_loops_name *dcli_loops_plan_name(const dcli_loops_plan *plan, int symbol);

/** Call `run` for each operation, with the values of the loops around it. */
dcl_status dcli_loops_plan_walk(dcli_loops_plan *plan, dcli_loops_run_fn *run, void *user);

/** Find the elements of an array that a nest reads or writes.
 *  @param box_out  the smallest box around them; empty if there are none.
 *  @param all_out  whether they are all elements of the box. */
dcl_status dcli_loops_plan_touches(dcli_loops_plan *plan, int array, bool written, dcl_box *box_out, bool *all_out);

/** The arrays that an operation writes.
 *  @param operation  0, 1, ...
 *  @return [*count_out], borrowed; NULL: there are no more operations. */
const int *dcli_loops_plan_outputs(const dcli_loops_plan *plan, int operation, int *count_out);

/** Print the plan: per line an operation or a loop around operations; for tests and people.
 *
 *      for t: in order
 *        op 0: S0 at B[i], 98 threads
 *
 *  A loop of an operation is followed by how it runs: a thread each, or in order. */
void dcli_loops_plan_print(const dcli_loops_plan *plan, dcli_text *out);

/** Explain the plan: for each loop whether it is parallel, in order or a reduction, and why. */
void dcli_loops_plan_explain(const dcli_loops_plan *plan, dcli_text *out);

/** Whether some operation computes whole lines, because axes of arrays are `whole`. */
bool dcli_loops_plan_has_lines(const dcli_loops_plan *plan);
/** The smallest box that an operation on lines reads of an input.
 *  @param box  of the first output.
 *  @return false: nothing is read. */
bool dcli_loops_lines_read(const dcli_loops_call *call, int operand, const dcl_grid *grid, const dcl_box *box,
                           dcl_box *reads_out);

/** Record an error at a place of the nest. @param code  a constant. @param note  what the user can do.
 *  @return status. */
dcl_status dcli_loops_plan_fail(const dcli_loops_plan *plan, dcli_loops_place place, dcl_status status,
                                const char *code, const char *note, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/** Print a warning for each part of the nest in which nothing runs in parallel, and for each array of which nodes get a
 *  box that is much larger than what they read. Does nothing when it is called again for a plan.
 *  @param moves  whether elements are copied: between nodes, or from the program's memory.
 *  @return whether there is a warning. */
bool dcli_loops_plan_warn(dcli_loops_plan *plan, bool moves, dcli_text *out);

#endif

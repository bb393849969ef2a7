/* kernel/keyed.h - keyed reductions: results that are arrays, whose elements the body selects by keys that it computes,
 * as in H(bin(i)) += w(i). Every node reduces into partial results of its own, one for each element of the result. */
#ifndef DCLI_KERNEL_KEYED_H
#define DCLI_KERNEL_KEYED_H

#include "base/text.h"
#include "kernel/body.h"

enum {
    DCLI_KEYED_MOST_RANK = DCL_MAX_RANK - 2, /* axes of a result: the partial results have two more */
    DCLI_KEYED_OWN_BYTES = 1 << 15           /* a work-item has partial results of its own if those of a result take no
                                                more than this */
};

/** Whether the text reduces into arrays by keys: whether some subscript of an output is anything but a plain index of
 *  the body.
 *  @param outputs  [count] the outputs' names. @param params  names of all arguments. */
bool dcli_text_is_keyed(const char *text, int output_count, const char *const outputs[], int param_count,
                        const char *const params[]);

/** Length in longs of a partial result: DCLI_PARTIAL_LONGS for a sum of floating-point numbers (a dcli_sum), otherwise 1. The
 *  one long is 0 for no values:
 *      sums, |=, ^=  the value; narrower types use the lower half of the long
 *      *=            the value minus 1 (modulo 2^64)
 *      &=            the complement of the value
 *      max=, min=    how far the value is above the least value of the type, or below the largest one; for float and double
 *                    the distance between the keys (kernel/key.cl) of the value and of an infinity, and all bits set for a NaN. */
int dcli_keyed_longs(const dcli_body *body, int r);

/** The indices that are reduced into result r, as a set of names: those of the body that do not stand alone as one and
 *  the same subscript in all statements of the result. Bit 0 is i. */
unsigned dcli_keyed_reduced(const dcli_body *body, int r);

/** Whether every key is an index of the body: the keyed reduction is a reduction along axes that is computed where an
 *  input is stored. */
bool dcli_keyed_is_along(const dcli_body *body);
/** Whether every sum of floating-point numbers gets at most one value per index. Only then does a reduction along axes
 *  have the same bits: it first adds all values of one index and rounds their sum. */
bool dcli_keyed_adds_once(const dcli_body *body);
/** Most elements that result r may have so that each work-group of a GPU has partial results of its own. */
int64_t dcli_keyed_group_count(const dcli_body *body, int r);

/** Find, for each axis of result r, the index that is its key; -1: the key is another expression, or differs between
 *  statements.
 *  @param kept_out  [rank of the result] */
void dcli_keyed_axes(const dcli_body *body, int r, int kept_out[]);
/** Whether kernels for CPUs reduce each box into variables or a table before they change the node's partial results
 *  (kernel/source_kept.c). */
bool dcli_keyed_folds(const dcli_body *body);
/** Whether they use a table: they reduce a block of neighbouring elements of the results at once. */
bool dcli_keyed_folds_blocks(const dcli_body *body);
/** Make a copy of the body that is a reduction along axes, for the functions of kernel/fold.h.
 *  @return freed with dcli_free(), shares memory with the body; NULL: DCL_ERR_NOMEM. */
dcli_body *dcli_keyed_as_along(const dcli_body *body);
/** Whether each work-item of a CPU can have partial results of its own if result r has that many elements. */
bool dcli_keyed_has_own(const dcli_body *body, int r, int64_t elements);

/** Longs of a node's partial results of result r.
 *  @param values  [param_count] the scalars of a call. @return -1: an extent is negative, or they are too many. */
int64_t dcli_keyed_room(const dcli_body *body, int r, const dcli_scalar values[]);

/** Text of the value of a partial result, for the body that combines those of all nodes.
 *  @param partial  an expression of type long. */
void dcli_keyed_put_value(dcli_text *out, dcli_fold fold, dcl_type type, const char *partial);
/** Functions for bodies that round sums (kernel/sum.cl and others), with names that begin with keyed_ in place of dcl_.
 *  @return freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_keyed_functions(dcl_type type);

/** Emit the functions that reduce into the partial results. */
void dcli_emit_keyed_functions(dcli_text *out, const dcli_body *body, dcli_form form);
/** Emit, for CPUs, the variables at the beginning of a kernel.
 *  @param folds  the kernel is one of kernel/source_kept.c.
 *  This function and dcli_emit_keyed_end() emit nothing if the body is no keyed reduction. */
void dcli_emit_keyed_begin(dcli_text *out, const dcli_body *body, bool folds);
/** Emit the code at the end of a kernel that adds a work-item's own partial results to the node's. */
void dcli_emit_keyed_end(dcli_text *out, const dcli_body *body);

/** What the statements of a keyed reduction do, which the text calls dcl_into<r>(keys, value). */
typedef enum dcli_keyed_calls {
    DCLI_KEYED_CHECKED,   /* reduce the value if there is an element with these keys, else report them */
    DCLI_KEYED_UNCHECKED, /* reduce it; there is an element */
    DCLI_KEYED_LOOKING,   /* note how far the keys are from the lowest ones */
    DCLI_KEYED_INSIDE,    /* sums of lines: note whether there is no element with these keys, */
    DCLI_KEYED_FITTING,   /* whether its slot has room for the value, */
    DCLI_KEYED_ADDING     /* and add it to the slot */
} dcli_keyed_calls;

/** Whether kernels for CPUs compute the keys of a strip in a loop of its own first: short bodies without effects.
 *  Compilers vectorize it, and the loop that reduces the values need not check their keys. */
bool dcli_keyed_looks_ahead(const dcli_body *body);
/** Emit the beginning of a loop from dcl_from on that runs as long as DCL_KEYED_AHEAD elements are left. The second
 *  function emits, after statements that look ahead, the code that leaves the loop if some element does not exist. */
void dcli_emit_keyed_look(dcli_text *out, const dcli_body *body);
void dcli_emit_keyed_looked(dcli_text *out, const dcli_body *body);
/** Whether kernels for CPUs add the values of a strip to neighbouring elements of a sum of floating-point numbers as
 *  vectors: the body is one statement, such as S(label(i), j) += X(i,j); the last key is the index of the innermost
 *  axis, and the others do not depend on it. */
bool dcli_keyed_adds_lines(const dcli_body *body);
/** Emit the begin of a block that is run for strips that can be added so, as far as their keys do not decide it; and
 *  the code between its loops. */
void dcli_emit_keyed_lines(dcli_text *out, const dcli_body *body);
void dcli_emit_keyed_room(dcli_text *out);
/** Emit, for CPUs, the definition of dcl_into<r> for the statements that follow. Without it they are
 *  DCLI_KEYED_CHECKED. */
void dcli_emit_keyed_calls(dcli_text *out, const dcli_body *body, dcli_keyed_calls calls);

/** Whether kernels for GPUs may run a tile in two rounds (kernel/keyed_sum_gpu.cl): some result is a sum of
 *  floating-point numbers. */
bool dcli_keyed_has_rounds(const dcli_body *body);
/** Emit, for GPUs, the group's tables at the beginning of a kernel. */
void dcli_emit_keyed_group_begin(dcli_text *out, const dcli_body *body);
/** Emit the variables of a work-item for one round. */
void dcli_emit_keyed_asked(dcli_text *out, const dcli_body *body);
/** Emit the condition that the work-item needs a second round. */
void dcli_emit_keyed_again(dcli_text *out, const dcli_body *body);
/** Emit calls of a function for the group's tables, "dcl_raise_", "dcl_settle_" or "dcl_end_". @param words  also for
 *  tables of words. */
void dcli_emit_keyed_group(dcli_text *out, const dcli_body *body, const char *function, bool words);

#endif

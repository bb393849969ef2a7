/* kernel/fold.h - generates the code by which kernels reduce values, and merges their partial results. */
#ifndef DCLI_KERNEL_FOLD_H
#define DCLI_KERNEL_FOLD_H

#include "base/text.h"
#include "kernel/body.h"
#include "kernel/sum.h"

/** Most elements of a strip: the length of a loop over the innermost axis. */
#define DCLI_FOLD_STRIP 2048
/** Elements of a strip from which on a run is faster than the buffer. */
#define DCLI_FOLD_LEAST_RUN 96
/** After strips whose numbers were too different for a run, the most following strips of a bundle that are not tried as runs. */
#define DCLI_FOLD_LONGEST_PAUSE 15

/** How the values of a strip's elements are reduced. */
typedef enum dcli_fold_way {
    DCLI_FOLD_BUFFERED, /* sums of floating-point numbers collect values in buffers, across strips */
    DCLI_FOLD_OF_GPU,   /* as that, also with DCL_FAST: source_gpu_reduce.c adds the values */
    DCLI_FOLD_RUN, /* they add the strip, which may turn out to be impossible; then it is done again in another way */
    DCLI_FOLD_WIDE_RUN /* the same, of numbers as of type double, which may differ more than those of type float */
} dcli_fold_way;

/** The neutral element of an operator, as a constant of OpenCL C. */
const char *dcli_fold_neutral(dcli_fold fold, dcl_type type);
/** The operator that combines two integers; not for minima and maxima. */
const char *dcli_fold_sign(dcli_fold fold);

/** Emit the functions that the results of a body need. Nothing if it is no reduction, as all functions below. */
void dcli_emit_fold_functions(dcli_text *out, const dcli_body *body, dcli_form form);
/** Emit the code that empties the slot dcl_slot if another reduction used it last. */
void dcli_emit_slot_begin(dcli_text *out, const dcli_body *body);
/** Emit, at the beginning of a kernel, the variables dcl_f<r> in which a work-item reduces result r. In reductions
 *  along axes, these belong to one element; then only the state is emitted that all elements of a work-item share.
 *  @param folds  as of dcli_emit_keyed_begin(). */
void dcli_emit_partials_begin(dcli_text *out, const dcli_body *body, bool folds);
/** Whether strips may be done as a run: whether a result is a sum of floating-point numbers. */
bool dcli_fold_runs(const dcli_body *body);
/** Whether strips that cannot be done as a run may be done as a wide run: whether the values of such a sum are of type float. */
bool dcli_fold_runs_wide(const dcli_body *body);
/** Emit the request to vectorize the loop that follows. Bodies that compute much per element get vectors of 64 bytes,
 *  two at a time: those with declared reads (dcli_body_looks()), which compute addresses and gather, and those whose
 *  inner loops are unrolled, in which an element is a long chain of dependent operations. Other bodies are limited by
 *  memory. */
void dcli_emit_vectorize(dcli_text *out, const dcli_body *body);
/** Emit the code before the loop over a strip of dcl_m elements. For a run it ends with an `if` whose block is the
 *  loop, because only long strips are tried as runs. A wide run is emitted after a run, and before the other way; it
 *  ends with an `if`, too, so the caller closes two blocks then. */
void dcli_emit_strip_begin(dcli_text *out, const dcli_body *body, dcli_fold_way way);
/** Emit, before the body's statements, the variables dcl_r<r> which the statements reduce for one index. */
void dcli_emit_neutral(dcli_text *out, const dcli_body *body);
/** Emit, after the statements for element dcl_k of the strip, the reduction of dcl_r<r> into dcl_f<r>. */
void dcli_emit_fold(dcli_text *out, const dcli_body *body, dcli_fold_way way);
/** Emit the code after the loop of a strip. After a run, this is the begin of the block that adds the strip again if
 *  the run could not add it. */
void dcli_emit_strip_end(dcli_text *out, const dcli_body *body, dcli_fold_way way);
/** Emit, at the end of a kernel, the code that adds the variables to the work-item's partial results. */
void dcli_emit_partials_end(dcli_text *out, const dcli_body *body);

/** Whether a result is a sum of floating-point numbers, whose partial results are a dcli_sum. */
bool dcli_fold_is_summed(const dcli_body *body, int r);
/** Emit the variable dcl_f<r> (and dcl_g<r>) in which a work-item reduces a result that is no such sum. */
void dcli_emit_variable(dcli_text *out, const dcli_body *body, int r);
/** Emit dcl_e<r>: the value of the variable dcl_f<r> (and dcl_g<r>), as the second long of a partial result. */
void dcli_emit_value(dcli_text *out, const dcli_body *body, int r);
/** Emit dcl_own<r>: the partial result in these variables, a pointer to or an array of DCLI_PARTIAL_LONGS longs. */
void dcli_emit_own_partial(dcli_text *out, const dcli_body *body, int r);
/** Emit the function dcl_merge_<r>, which merges two partial results of a work-item. */
void dcli_emit_merge(dcli_text *out, const dcli_body *body, int r);
/** Reductions along axes: emit the variables in which one element of each output is reduced; dcl_a<a> are the
 *  elements. */
void dcli_emit_along_begin(dcli_text *out, const dcli_body *body);
/** Emit the code that starts dcl_f<r> from the element's present value, if result r is combined in one order. */
void dcli_emit_ordered_begin(dcli_text *out, const dcli_body *body, int r);
/** Emit arrays in which the variables of `height` elements are kept while others are reduced. */
void dcli_emit_along_room(dcli_text *out, const dcli_body *body, int height);
/** Emit the code that stores the variables as those of element dcl_q. dcli_emit_along_continue() emits, instead of
 *  dcli_emit_along_begin(), the code that continues with them. */
void dcli_emit_along_keep(dcli_text *out, const dcli_body *body);
void dcli_emit_along_continue(dcli_text *out, const dcli_body *body);
/** Emit the product of all factors of a contraction but the last one; dcl_a<a> is the element. */
void dcli_emit_left(dcli_text *out, const dcli_body *body);
/** Emit, in place of the statements of a contraction, the code that adds the product for the inner indices dcl_t<m>. */
void dcli_emit_chain(dcli_text *out, const dcli_body *body);
/** Whether a result of a reduction along axes starts from the present values of its elements. */
bool dcli_fold_is_added_to(const dcli_body *body, int r);
/** Emit the code that stores a value of result r in the element. If the result is not a sum, the value is first
 *  combined with the element's present value. */
void dcli_emit_along_store(dcli_text *out, const dcli_body *body, int r, const char *value);
/** Emit the code that stores the values of all results in the elements dcl_a<a>. */
void dcli_emit_along_end(dcli_text *out, const dcli_body *body);

/** Emit the end of an element whose partial results are merged with others later. Afterwards dcl_f<r> has all values of
 *  result r if that is a sum, and dcl_e<r> is its value otherwise. */
void dcli_emit_kept_end(dcli_text *out, const dcli_body *body);

/** A partial result of any operator and type: DCLI_PARTIAL_LONGS longs, as kernels write them. All 0: of no values. */
typedef union dcli_partial {
    int64_t word[DCLI_PARTIAL_LONGS];
    dcli_sum sum; /* of a sum of floating-point numbers */
} dcli_partial;

/** Merge a partial result into another one. In whatever order partial results are merged, the words are the same. */
void dcli_partial_merge(dcli_fold fold, dcl_type type, dcli_partial *partial, const dcli_partial *other);
/** The number of the index of a minimum or maximum, if it is found (kernel/place.h). INT64_MAX: of no values. */
int64_t dcli_partial_place(const dcli_partial *partial);
/** Whether a partial result from outside is one that kernels could have made. */
bool dcli_partial_is_valid(dcli_fold fold, dcl_type type, const dcli_partial *partial);
/** The value of a partial result; of no values the neutral element: 0, 1, all bits set, or for min and max the largest
 *  and the least value of the type (infinities). */
dcli_scalar dcli_partial_value(dcli_fold fold, dcl_type type, const dcli_partial *partial);

#endif

/* kernel/stretch.h - stretches: parts of a line of the innermost axis along which no comparison of indices in the body changes its
 * value. A stencil that tests `j > 0` and `j < n - 1` has three per line. Kernels for CPUs do not evaluate the comparisons for
 * each element, because loops that evaluate them for each element take up to half as long again. */
#ifndef DCLI_KERNEL_STRETCH_H
#define DCLI_KERNEL_STRETCH_H

#include "base/text.h"
#include "kernel/body.h"

/** Find the comparisons of a body without loops that are inequalities between sums of indices, scalars and literals, all of them
 *  signed integers: their values change at most once along a line. None if the prelude has macros. The text names comparison n by the macro dcl_is<n>, by edits that kernel/inner.c sorts later;
 *  those in guards have no edits. After dcli_guards_find(). @return DCL_OK, DCL_ERR_NOMEM. */
dcl_status dcli_comparisons_find(dcli_body *body);

/** The comparison that begins at token t, or -1. */
int dcli_comparison_at(const dcli_body *body, int t);

/** Emit the definitions of the macros dcl_is<n>. @param held  as the variables of dcli_emit_stretch(), else as the comparisons. */
void dcli_emit_comparisons(dcli_text *out, const dcli_body *body, bool held);
void dcli_emit_comparisons_end(dcli_text *out, const dcli_body *body);

struct dcli_nest;
/** Emit the variables dcl_held<n>, with the values of the comparisons at element dcl_k = `first`, and reduce variable
 *  `count` to the number of elements that have these values. @param index  emits the counter and the index of the innermost axis for dcl_k. */
void dcli_emit_stretch(struct dcli_nest *nest, const char *first, const char *count, void (*index)(struct dcli_nest *));

#endif

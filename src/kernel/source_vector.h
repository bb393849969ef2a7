/* kernel/source_vector.h - generates sums along an axis whose statements run on vectors. */
#ifndef DCLI_KERNEL_SOURCE_VECTOR_H
#define DCLI_KERNEL_SOURCE_VECTOR_H

#include "kernel/nest.h"

/** Most elements of a strip that is added in vectors (kernel/sum_vector.cl). */
#define DCLI_VECTOR_STRIP 8192

/** Whether the statements of a bundle (kernel/source_bundle.h) can run on vectors of eight elements: they only add, subtract and multiply
 *  elements, scalars and literals, all of the type of the results. */
bool dcli_runs_in_vectors(const dcli_body *body);

/** Emit the loop over a strip, dcl_m elements from dcl_v on, for `height` elements of each output. Then dcl_w<r>[q] are the sums
 *  of element q of result r, of dcl_count numbers, dcl_most<r> and dcl_least<r> the bounds of magnitudes, and dcl_by<r> the constants.
 *  @param narrow  the sums are struct dcl_narrow, otherwise struct dcl_vectors, and there is no dcl_least<r> */
void dcli_emit_vector_strip(const dcli_nest *nest, const char *height, bool narrow);

#endif

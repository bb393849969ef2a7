/* kernel/place.h - generates the code that finds the index of a minimum or maximum (DCL_RESULT_AT).
 *
 * Indices are counted in the grid of the input that gives them, its last subscript fastest. The lowest number wins among equal
 * values, and among NaNs. In generated code dcl_q<r> tells whether result r was reduced at the present index, dcl_where<r> is the
 * number of the value in dcl_f<r>, LONG_MAX for none. */
#ifndef DCLI_KERNEL_PLACE_H
#define DCLI_KERNEL_PLACE_H

#include "kernel/nest.h"

/** Emit, before the loops of a strip, the variables in which its extreme values are found apart from the result so far:
 *  dcl_f<r>. */
void dcli_emit_places_begin(dcli_text *out, const dcli_body *body);
/** Emit, after these loops, the code that looks for the index if the strip changes the result. It evaluates the body
 *  once more. */
void dcli_emit_places_end(dcli_nest *nest);
/** Emit the number of the present index: an expression. */
void dcli_emit_place(dcli_nest *nest);
/** Emit the reduction of dcl_r<r> into the variables of result r. Its index has the number dcl_l<r>, an array if there is a
 *  subscript such as "[dcl_k]"; LONG_MAX for none. */
void dcli_emit_place_fold(dcli_text *out, const dcli_body *body, int r, const char *subscript);
/** Emit the code that merges the number dcl_from[3] into dcl_to[3], for two partial results that both have values. It
 *  must come before the code that merges their other words. */
void dcli_emit_place_merge(dcli_text *out, const dcli_body *body, int r);

#endif

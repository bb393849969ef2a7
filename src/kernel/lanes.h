/* kernel/lanes.h - bodies with a loop whose number of steps depends on elements (Mandelbrot sets, Newton's method): many elements at
 * once.
 *
 * Compilers vectorize only loops without inner loops. Such a body is therefore run for a block of elements. First the
 * statements before the loop are run for each element. Then some steps of the loop are run, again and again, each for
 * those elements whose condition holds. Then the statements after the loop are run for each element. Between these
 * loops over elements, the variables are kept in arrays. The compiler vectorizes all three. An element goes through the
 * same operations as alone, so that the bits are the same. Source: Allen et al., Conversion of Control Dependence to
 * Data Dependence, POPL 1983. */
#ifndef DCLI_KERNEL_LANES_H
#define DCLI_KERNEL_LANES_H

#include "kernel/nest.h"

enum { DCLI_LANES_AT_ONCE = 32 }; /* elements of a block: two vectors of 64 bytes of floats */

/** Whether dcl_unit runs a body in this way: its statements are plain ones, of which one is a loop `while (C)` or `for (...; C; ...)`,
 *  perhaps with `if (D) break;` at its beginning; within it are no arrays, loops, jumps, integer divisions by variables, or calls
 *  of functions that are not vectorized; variables declared before are numbers; there is no prelude. */
bool dcli_lanes_has(const dcli_body *body);

/** Emit the loops over `count` elements of the innermost axis, for which dcli_lanes_has().
 *  @param index  emits, for the counter dcl_k from 0 on, the variables that the body's text needs. */
void dcli_emit_lanes(dcli_nest *nest, const char *count, void (*index)(dcli_nest *nest));

#endif

/* kernel/stack.h - bodies that read neighbouring lines (convolutions, stencils): several lines of the result at once.
 *
 * In a 5 x 5 convolution, each element of the input is read for 25 elements of the result. A stack is a few neighbouring lines
 * of the result, which are computed in one loop over their indices. Each statement of the body is executed for all lines of the stack
 * before the next statement, also inside the inner loops, so that an element that was read for one line is still in a register when
 * the next line needs it. An element goes through the same operations as alone, so that the bits are the same. Source: unroll-and-jam,
 * Callahan, Cocke and Kennedy, Estimating Interlock and Improving Balance for Pipelined Architectures, J. Parallel and Distributed
 * Computing 5 (1988). */
#ifndef DCLI_KERNEL_STACK_H
#define DCLI_KERNEL_STACK_H

#include "kernel/nest.h"

enum { DCLI_STACK = 4 }; /* lines of a stack: their sums, and what three lines share, fit into 32 vector registers */

/** Which kernels of a body compute stacks. Such a body streams all outputs (dcli_is_streamed()); its variables are numbers; it has no
 *  other loops, no jumps, no reductions and no prelude. */
typedef enum dcli_stacking {
    DCLI_STACK_NEVER,
    DCLI_STACK_NAMED, /* dcl_streamed only, because inputs in the caches are loaded fast enough without stacks: accesses of an input read
                         neighbouring lines, as in `A(i-1,j) + A(i+1,j)`, the body has no conditions, and elements have at least 4 bytes */
    DCLI_STACK_LOOPS /* in dcl_unit, too: a subscript of an input adds an unrolled inner axis to the index of the axis before the
                         innermost one */
} dcli_stacking;

dcli_stacking dcli_stacks(const dcli_body *body);

/** Emit the loop over the stacks of the axis before the innermost one. It ends at line dcl_u of this axis; the lines from
 *  there on are left to the caller. */
void dcli_emit_stacks(dcli_nest *nest);

#endif

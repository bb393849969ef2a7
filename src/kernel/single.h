/* kernel/single.h - sums of type double whose summands are of type float, such as `s += R(i,j) * R(i,j);` of floats. */
#ifndef DCLI_KERNEL_SINGLE_H
#define DCLI_KERNEL_SINGLE_H

#include "kernel/body.h"

/** Whether all values that a body adds to a result of type double are of type float: the body has one statement for the result,
 *  `s += EXPRESSION;` or `s -= EXPRESSION;`, outside of loops, and by C's conversions the type of the expression is float. This is
 *  decided by the text, so false can also mean that it is not known. */
bool dcli_adds_singles(const dcli_body *body, int r);

#endif

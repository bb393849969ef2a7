/* kernel/scattered.h - finds bodies whose declared reads are scattered along a line. */
#ifndef DCLI_KERNEL_SCATTERED_H
#define DCLI_KERNEL_SCATTERED_H

#include "kernel/body.h"

/** Whether a subscript of a declared read contains elements that depend on the innermost index, directly or by a variable of the body:
 *  `long r = C(i,j); B(i,j) = A(r,j);`. Such a read gathers single elements. After the places of the body have been found. */
bool dcli_scattered_find(const dcli_body *body);

#endif

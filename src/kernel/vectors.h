/* kernel/vectors.h - blocks of a GPU whose lines are vectors: a work-item computes 16 bytes of neighbouring elements of
 * a line, and reads and stores each vector that is aligned to its size with one instruction.
 *
 * A read such as A(i,j+1) takes its element from the vector of A(i,j), or reads it alone if it is beyond the vector's
 * end. */
#ifndef DCLI_KERNEL_VECTORS_H
#define DCLI_KERNEL_VECTORS_H

#include "kernel/nest.h"

/** How a body's accesses use vectors along the innermost axis. */
typedef struct dcli_vectors {
    int length; /* elements of a vector; 0: the body is not computed with vectors */
    struct {
        int first;  /* reads: number of the first read of the same line of the array, from whose vector the element is
                      taken; -1: it is read alone. Writes: the access itself */
        int64_t at; /* distance of its elements from those of the vector */
    } of[DCLI_MAX_ACCESSES];
} dcli_vectors;

/** Find how the accesses of a body use vectors of `length` elements. The result has length 0 unless all outputs can be
 *  stored as vectors. */
dcli_vectors dcli_vectors_find(const dcli_body *body, int length);
/** Emit ` && CONDITION`: in this row, all vectors are aligned to their size wherever that of the first output is. */
void dcli_emit_vectors_test(const dcli_nest *nest, const dcli_vectors *vectors);
/** Emit how many elements after a multiple of `length` the first output's element for counter 0 of the innermost axis
 *  is. */
void dcli_emit_vectors_shift(const dcli_nest *nest, const dcli_vectors *vectors);
/** Emit the variables of the vectors of a line of a block, with the reads, and redefine the macros dcl_a<a> as their
 *  elements number dcl_k. The counter of the innermost axis is that of element 0; offsets are those emitted last. */
void dcli_emit_vectors(const dcli_nest *nest, const dcli_vectors *vectors);
/** Emit the code that stores the vectors of the outputs. */
void dcli_emit_vectors_end(const dcli_nest *nest, const dcli_vectors *vectors);

#endif

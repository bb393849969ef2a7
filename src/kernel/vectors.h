/* kernel/vectors.h - blocks of a GPU whose lines are vectors: a work-item computes 16 bytes of neighbouring elements of a line, and reads
 * and stores them with one instruction each where they begin at a multiple of their size.
 *
 * A read such as A(i,j+1) takes its element from the vector of A(i,j), and reads it alone where it is beyond the vector's end. */
#ifndef DCLI_KERNEL_VECTORS_H
#define DCLI_KERNEL_VECTORS_H

#include "kernel/nest.h"

/** How a body's accesses use vectors along the innermost axis. */
typedef struct dcli_vectors {
    int length; /* elements of a vector; 0: the body is not computed with vectors */
    struct {
        int first; /* reads: the first read of the same line of the array, whose vector it takes elements from; -1: of none. Writes: the
                       access itself */
        int64_t at; /* how far its elements are from those of the vector */
    } of[DCLI_MAX_ACCESSES];
} dcli_vectors;

/** Find how the accesses of a body use vectors of some length: if all outputs can be stored as vectors. */
dcli_vectors dcli_vectors_find(const dcli_body *body, int length);
/** Emit ` && CONDITION`: all vectors of this row begin at multiples of their size if those of the first output do. */
void dcli_emit_vectors_test(const dcli_nest *nest, const dcli_vectors *vectors);
/** Emit the number of elements by which the first output's element for counter 0 of the innermost axis is beyond a multiple of the length. */
void dcli_emit_vectors_shift(const dcli_nest *nest, const dcli_vectors *vectors);
/** Emit the vectors of a line of a block, read where needed, and define the macros dcl_a<a> anew: as their elements dcl_k. The counter of the
 *  innermost axis is that of element 0; offsets are those emitted last. */
void dcli_emit_vectors(const dcli_nest *nest, const dcli_vectors *vectors);
/** Emit that the vectors of the outputs are stored. */
void dcli_emit_vectors_end(const dcli_nest *nest, const dcli_vectors *vectors);

#endif

/* kernel/nest.h - index arithmetic in generated loops: offsets are advanced axis by axis. */
#ifndef DCLI_KERNEL_NEST_H
#define DCLI_KERNEL_NEST_H

#include "kernel/emit.h"

enum {
    DCLI_SQUARE = 32,         /* side of the squares of transposed input that a GPU turns */
    DCLI_MOST_SQUARES = 65535 /* along the axis across: what devices let dimensions 1 and 2 of a launch have */
};

/** A kernel being written. In it dcl_n<m>, dcl_i<m>, dcl_d<m> are count, start and stride of loop axis m, dcl_t<m> its
 *  counter; dcl_s<a>_<m> is the step of access a along axis m, dcl_x<a>_<level[a]> its offset in the loops so far. */
typedef struct dcli_nest {
    dcli_text *out;
    const dcli_body *body;
    dcli_variant variant;
    dcli_form form;
    bool gathers;  /* dcl_h<a> is where what was gathered of access a lies, 0: nothing was */
    bool straight; /* no input is transposed: steps along the innermost axis are 1 */
    int innermost; /* loop axis */
    int levels;    /* offsets named so far */
    int level[DCLI_MAX_ACCESSES];
} dcli_nest;

dcli_nest dcli_nest_start(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant);

/** Take everything out of the row. */
void dcli_nest_row(dcli_nest *nest);
/** Define the index that runs axis m, for counter dcl_t<m>. */
void dcli_nest_index(dcli_nest *nest, int m);
/** Advance the offsets that depend on axis m to counter dcl_t<m>. */
void dcli_nest_advance(dcli_nest *nest, int m);
/** Whether the step of access a along axis m is 1 in this kernel. */
bool dcli_nest_is_unit(const dcli_nest *nest, int a, int m);
/** The offset of affine access a at counter dcl_t<m> of the axis m, the only one not advanced yet.
 *  @param out  [capacity] text. */
void dcli_nest_offset(const dcli_nest *nest, int a, int m, char *out, size_t capacity);

/** The loop axis along which a transposed input lies contiguously, -1 when there is none: some input is read with
 *  neighbours along this axis, not along the innermost, though it depends on the innermost too. */
int dcli_transposed_axis(const dcli_body *body);
/** Whether access a is read that way, and among the first few: they are loaded in blocks. */
bool dcli_is_transposed(const dcli_body *body, int a);

#endif

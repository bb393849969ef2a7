/* kernel/block.h - helper functions of CPU kernels: transposing inputs block by block, and storing outputs without
 * caching them. */
#ifndef DCLI_KERNEL_BLOCK_H
#define DCLI_KERNEL_BLOCK_H

#include "kernel/nest.h"

enum {
    DCLI_LANES = 8, /* side of the squares that are transposed in registers */
    DCLI_TALL_HEIGHT = 512,
    DCLI_TALL_BYTES = 256,
    DCLI_TALL_PITCH = 4096,
    DCLI_STREAM_ARRAY_BYTES = 32 << 20, /* arrays of at least this size do not stay in caches */
    DCLI_STREAM_LAUNCH_BYTES = 4 << 20  /* launches that write at least this much store it without caching, because it
                                           would not be read from caches again */
};

/** Height of the blocks in which a CPU kernel transposes inputs: elements along the axis along which the inputs are
 *  contiguous (dcli_transposed_axis()). */
int dcli_block_height(const dcli_body *body);
/** Width of the blocks that dcli_block_height() is the height of: elements along the innermost axis. */
int dcli_block_width(const dcli_body *body);

/** The input for whose blocks a CPU kernel may use another shape: DCLI_TALL_HEIGHT times DCLI_TALL_BYTES, if the distance of its rows in
 *  memory is a multiple of DCLI_TALL_PITCH bytes. -1: none. */
int dcli_tall_access(const dcli_body *body);

/** Whether a kernel may store the elements of access a a line at a time: they are written at every index, never read,
 *  and contiguous along the innermost axis. */
bool dcli_is_streamed(const dcli_body *body, int a);
/** The first access for which dcli_is_streamed() is true; -1: none. */
int dcli_first_streamed(const dcli_body *body);

/** Whether the program of a body for CPUs has dcl_streamed. */
bool dcli_body_streams(const dcli_body *body);

/** Generate the helper functions that this body's kernels call:
 *  DCL_AHEAD(place): prefetch a cache line, if the compiler can; any address is allowed;
 *  dcl_square_T(source, pitch, target, line): transpose a square of DCLI_LANES x DCLI_LANES elements;
 *  dcl_turn_T(source, pitch, target, line, height, width): target[u * line + v] = source[v * pitch + u];
 *  dcl_store_T(target, source, count): store count elements without caching them.
 *  @param names  of the kernels, by variant; NULL: not this one. */
void dcli_emit_block_functions(dcli_text *out, const dcli_body *body, const char *const names[DCLI_VARIANT_MOST]);
/** Emit a text of kernel/cl.h with dcl_T defined as this type. */
void dcli_emit_of_type(dcli_text *out, const char *text, dcl_type type);

#endif

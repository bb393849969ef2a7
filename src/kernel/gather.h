/* kernel/gather.h - gathering: the work-item that computes a group of rows first copies their scattered inputs into
 * scratch memory of its own, so that they are in the nearest caches when they are used. Only for CPU kernels of blind
 * bodies.
 *
 * The arena of a launch begins with addresses, as longs, of parts of arrays in memory that host and kernels share.
 * After them, every work-item has scratch memory. The table of dcl_gathered and dcl_straight, in longs:
 *   head     [DCLI_GATHER_HEAD];
 *   groups   [dcl_groups * DCLI_GROUP_LONGS]: position of its rows in the table and their number, position of the
 *   places of the pieces that it gathers and their number;
 *   rows     (kernel/body.h): offsets of gathered accesses count from the work-item's scratch memory, whose argument is
 *   the arena;
 *   places   [DCLI_PLACE_LONGS] per piece: offset in the scratch memory, offset in the source, number of the source's
 *   address, position of its shape in the table;
 *   shapes   [DCLI_SHAPE_LONGS]: the access; how it is gathered; per axis counts, steps in the scratch memory, steps in
 *            the source. Many pieces share one shape, because reading the table takes time, too. */
#ifndef DCLI_KERNEL_GATHER_H
#define DCLI_KERNEL_GATHER_H

#include "kernel/emit.h"

enum {
    DCLI_GATHER_MASK,     /* bit a: access a is gathered */
    DCLI_GATHER_SCRATCH,  /* offset of the scratch memory in the arena, bytes */
    DCLI_GATHER_BYTES,    /* bytes of scratch memory per work-item */
    DCLI_GATHER_ELEMENTS, /* elements of the first output that the launch computes */
    DCLI_GATHER_HEAD,
    DCLI_GROUP_LONGS = 4,
    DCLI_GATHER_AXES = 4, /* most loop axes of a body that gathers */
    DCLI_PLACE_LONGS = 4,
    DCLI_SHAPE_COUNTS = 2,
    DCLI_SHAPE_TO = DCLI_SHAPE_COUNTS + DCLI_GATHER_AXES,
    DCLI_SHAPE_FROM = DCLI_SHAPE_TO + DCLI_GATHER_AXES,
    DCLI_SHAPE_LONGS = DCLI_SHAPE_FROM + DCLI_GATHER_AXES
};

/** How the pieces of a shape are gathered. */
enum {
    DCLI_SHAPE_LINES,
    DCLI_SHAPE_TURNED, /* transposed: the last axis is contiguous in the scratch memory, the axis before it in the
                          source */
    DCLI_SHAPE_SQUARE  /* transposed, and exactly one square, which is transposed in registers */
};

/** Whether the program of a body has kernels that gather. */
bool dcli_gathers(const dcli_body *body);
/** Whether they include dcl_straight: some input is transposed in blocks by dcl_unit. */
bool dcli_gathers_straight(const dcli_body *body);
/** Whether access a is an input that dcl_gathered may gather. */
bool dcli_may_gather(const dcli_body *body, int a);

/** Emit the functions that the code of dcli_emit_gathering() calls. They call those of dcli_emit_block_functions(). */
void dcli_emit_gather_functions(dcli_text *out, const dcli_body *body);
/** Emit dcl_h<a>: the offset, in elements of access a's argument, of the work-item's scratch memory; 0 for accesses
 *  that are not gathered. */
void dcli_emit_places(dcli_text *out, const dcli_body *body);
/** Emit the code that gathers all pieces of a group; dcl_g points to the group in the table. */
void dcli_emit_gathering(dcli_text *out, const dcli_body *body);

#endif

/* kernel/gather.h - inputs that lie in many places are gathered by the work-item that computes with them: what it reads is
 * then still in the nearest caches. CPU form, of bodies that do not see their indices.
 *
 * The arena of a launch begins with addresses, longs: where parts of arrays lie in memory that the host and kernels both
 * see. Behind them, every work-item has scratch memory of its own. The table of dcl_gathered and dcl_straight, in longs:
 *   head     [DCLI_GATHER_HEAD];
 *   groups   [dcl_groups * DCLI_GROUP_LONGS]: where in the table its rows begin, how many they are, where the places of
 *            the pieces that it gathers begin, how many they are;
 *   rows     (kernel/body.h): of gathered accesses, offsets are elements from the item's scratch memory, whose arguments are the
 *            arena;
 *   places   [DCLI_PLACE_LONGS] of pieces: offset in the scratch memory, offset where it is gathered from, the number of that
 *            address, where in the table its shape is;
 *   shapes   [DCLI_SHAPE_LONGS]: the access; how it is gathered; per axis counts, steps in the scratch memory, steps where it
 *            is gathered from. Many pieces have one shape: what is read of the table takes time, too. */
#ifndef DCLI_KERNEL_GATHER_H
#define DCLI_KERNEL_GATHER_H

#include "kernel/emit.h"

enum {
    DCLI_GATHER_MASK,     /* bit a: access a is gathered */
    DCLI_GATHER_SCRATCH,  /* where scratch memory begins in the arena, bytes */
    DCLI_GATHER_BYTES,    /* of scratch memory per work-item */
    DCLI_GATHER_ELEMENTS, /* of the first output that the launch computes */
    DCLI_GATHER_HEAD,
    DCLI_GROUP_LONGS = 4,
    DCLI_GATHER_AXES = 4, /* at most as many axes have the loops of a body that gathers */
    DCLI_PLACE_LONGS = 4,
    DCLI_SHAPE_COUNTS = 2,
    DCLI_SHAPE_TO = DCLI_SHAPE_COUNTS + DCLI_GATHER_AXES,
    DCLI_SHAPE_FROM = DCLI_SHAPE_TO + DCLI_GATHER_AXES,
    DCLI_SHAPE_LONGS = DCLI_SHAPE_FROM + DCLI_GATHER_AXES
};

/** How pieces of a shape are gathered. */
enum {
    DCLI_SHAPE_LINES,
    DCLI_SHAPE_TURNED, /* the last axis is contiguous in the scratch memory, the one before it at the other place */
    DCLI_SHAPE_SQUARE  /* the same, and it is one square that is turned in registers */
};

/** Whether inputs of a body can be gathered; and which. */
bool dcli_gathers(const dcli_body *body);
bool dcli_may_gather(const dcli_body *body, int a);

/** The functions that dcli_emit_gathering() calls; behind those of dcli_emit_block_functions(). */
void dcli_emit_gather_functions(dcli_text *out, const dcli_body *body);
/** dcl_h<a>: the first element of the item's scratch memory, 0 for accesses that are not gathered. */
void dcli_emit_places(dcli_text *out, const dcli_body *body);
/** Gather what the group dcl_g needs. */
void dcli_emit_gathering(dcli_text *out, const dcli_body *body);

#endif

/* loop/tiles.h - split an operation of a nest into steps, so that data larger than the memory of the nodes streams
 * through them.
 *
 * The indices of an operation are independent of each other (its plan was verified), so each box of them can be a step
 * of its own. Axis d is split into parts[d] parts of length[d] indices; the last one may be shorter. Step e computes
 * part (e / product of parts[order[l]], l < k) mod parts[order[k]] of axis order[k].
 *
 * The loop that the threads of an operation run last may be another axis, the *inner* one, the last of the box and the
 * first in the order: a node runs its parts one after the other, and what the operation writes stays there until the
 * last of them has ended. So a product of matrices needs only parts of the rows and columns of its factors at a time.
 * Source: A. Doroshenko, O. Beketov, M. Bondarenko, O. Yatsenko, "Automated design of parallel programs for
 * heterogeneous platforms using algebra-algorithmic tools" (2020): LoopRipper. Pure functions. */
#ifndef DCLI_LOOP_TILES_H
#define DCLI_LOOP_TILES_H

#include "segment/footprint.h"

enum {
    DCLI_TILES_ARRAYS = 24,    /* most arrays of an operation that is split */
    DCLI_TILES_FILL = 1 << 20, /* number of threads with long loops that a GPU runs in the time of one thread */
};

/** An array of the operation: a written one is accessed at the operation's own indices only. */
typedef struct dcli_tiles_array {
    bool reads, writes;
    dcl_grid grid;
} dcli_tiles_array;

/** What a step reads of an array that is only read. */
typedef struct dcli_tiles_access {
    int array;
    dcli_subscripts subscripts;
} dcli_tiles_access;

/** How fast a node is, for choosing. Bytes are weighted by the length of contiguous runs: dcli_tiles_weight(). */
typedef struct dcli_tiles_speed {
    double in_s, out_s; /* seconds per weighted byte, to the node and back */
    double index_s;     /* seconds of the kernels per index of the operation; kernel_s: further ones per step */
    double kernel_s;
    double step_s; /* fixed cost of a step */
    bool shared;   /* copies and kernels use the same processors, so their times add up; else they overlap */
} dcli_tiles_speed;

typedef struct dcli_tiles {
    dcl_box box; /* the indices, of stride 1; `inner`: and the values of a loop, less the first */
    bool inner;
    int array_count, access_count;
    dcli_tiles_array array[DCLI_TILES_ARRAYS];
    const dcli_tiles_access *access; /* [access_count], borrowed */
    /* chosen: */
    int64_t parts[DCL_MAX_RANK], length[DCL_MAX_RANK];
    int order[DCL_MAX_RANK]; /* the axes, the axis that changes fastest first */
    int64_t steps;
    int ahead, behind; /* number of steps that are copied to a node before the step that is computed, and back after
                          it */
    int buffers[DCLI_TILES_ARRAYS]; /* by array: parts of it that a node holds at the same time */
    int64_t node_bytes;             /* bytes of all buffers of a node */
    int64_t copied_bytes;           /* bytes that all steps together copy, estimated */
    double seconds;                 /* time of all steps, estimated */
} dcli_tiles;

/** Choose parts and order: the split that takes the least time among those whose buffers fit.
 *  @param nodes       number of nodes that share the steps.
 *  @param most_bytes  memory of a node for the buffers.
 *  @return false: no split fits into `most_bytes`; `tiles` then has the one with the smallest buffers, of those that
 *          were tried. */
bool dcli_tiles_choose(dcli_tiles *tiles, int nodes, int64_t most_bytes, const dcli_tiles_speed *speed);
/** Set the parts of each axis instead, and choose only the order. @return as dcli_tiles_choose() */
bool dcli_tiles_set(dcli_tiles *tiles, const int64_t parts[], int nodes, int64_t most_bytes,
                    const dcli_tiles_speed *speed);
/** Bytes of a box of an array, times 1 + 128 / (the length in bytes of a contiguous run in the program's memory). */
double dcli_tiles_weight(const dcli_tiles *tiles, int array, const dcl_box *box);
/** The indices of step e. */
dcl_box dcli_tiles_step(const dcli_tiles *tiles, int64_t e);
/** A box of step indices without the inner axis. */
dcl_box dcli_tiles_outer(const dcli_tiles *tiles, const dcl_box *box);
/** The number of consecutive steps that compute the same elements. */
int64_t dcli_tiles_rounds(const dcli_tiles *tiles);
/** The smallest box of stride 1 around two boxes. */
dcl_box dcli_tiles_hull(const dcl_box *a, const dcl_box *b);
/** The elements of an array that a box of indices needs: the smallest box around them. If there are none, one
 *  element. */
dcl_box dcli_tiles_needs(const dcli_tiles *tiles, int array, const dcl_box *indices);

#endif

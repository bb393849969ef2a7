/* kernel/sweep.h - bodies with long inner loops (products of matrices, of polynomials): many elements per step of the
 * loop.
 *
 * Compilers vectorize the innermost loop only. If that is a loop of the body, its order must be kept, so nothing is
 * vectorized. A sweep is a strip of the innermost axis, times a few neighbouring lines. The variables of the body are
 * kept in arrays, one value per element of the sweep. Each step of the loop, or a few steps at once, is run for all
 * these elements, in a loop over the strip that compilers vectorize. An element goes through the same operations in the
 * same order as alone, so that the bits are the same.
 * Source: loop interchange and unroll-and-jam, R. Allen, K. Kennedy, Optimizing Compilers for Modern Architectures
 * (2002), chapter 8. */
#ifndef DCLI_KERNEL_SWEEP_H
#define DCLI_KERNEL_SWEEP_H

#include "kernel/nest.h"

enum {
    DCLI_SWEEP_LINES = 4,      /* most lines of a sweep */
    DCLI_SWEEP_ELEMENTS = 256, /* most elements of its lines, on CPUs */
    DCLI_GPU_LINES = 8,        /* lines of a sweep on GPUs, where each work-item has a sweep of its own, in registers */
    DCLI_GPU_COLUMNS = 4       /* elements of these lines */
};

/** Whether dcl_unit and dcl_checked run a body in sweeps: it contains loops that are inner axes, count up by 1 and are
 *  not unrolled, perhaps in each other or in `if`s without `else`; their variables are in subscripts; all other
 *  statements are plain; no address is taken; elements that are read in such loops are the same along the innermost
 *  axis, or neighbours in memory. Such a loop may begin with `if (x < E) continue;` and `if (x > E) break;`, where x is
 *  its variable and E consists of indices, integer literals, scalars and variables of loops around it, all of signed
 *  integer types. In E and in the conditions, the divisors of % are literals. */
bool dcli_sweeps(const dcli_body *body);

/** Emit the loops over all axes; after dcli_nest_row(). In dcl_checked, steps at which all reads stay inside are not
 *  checked. */
void dcli_emit_sweeps(dcli_nest *nest);

/** Whether kernels for GPUs compute a body in sweeps: bodies that CPUs compute in sweeps, if they have no limits,
 *  conditions or guards, and lines or columns of a sweep share elements that they read. */
bool dcli_sweeps_on_gpus(const dcli_body *body);
/** Emit the statements for a sweep of DCLI_GPU_LINES lines, from counter dcl_u on, times DCLI_GPU_COLUMNS elements,
 *  from counter dcl_v on and `distance` apart: so neighbouring work-items read contiguous elements at a time. Offsets
 *  are those of line dcl_u. */
void dcli_emit_gpu_sweep(dcli_nest *nest, int distance);

#endif

/* kernel/gpu_reduce.h - the parts of programs for GPUs that reduce values. */
#ifndef DCLI_KERNEL_GPU_REDUCE_H
#define DCLI_KERNEL_GPU_REDUCE_H

#include "kernel/nest.h"

/** Emit the functions that the results of a reduction need. */
void dcli_emit_reducing_functions(dcli_text *out, const dcli_body *body);
/** Emit one of the kernels of a reduction: dcl_unit, dcl_any or a checking one. Arguments: as for
 *  dcli_body_source(). */
void dcli_emit_reducing_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant);
/** As dcli_emit_reducing_kernel(), for keyed reductions. */
void dcli_emit_keyed_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant);
/** As dcli_emit_reducing_kernel(), for reductions along axes. */
void dcli_emit_along_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant);
/** The size of a launch of a reduction, as dcli_body_launch_size(). */
dcli_launch_size dcli_reducing_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table);
/** The size of a launch of a reduction along axes, as dcli_body_launch_size(). */
dcli_launch_size dcli_along_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table);

/* Parts of these kinds of kernels. */

/** Emit the signature, and open the kernel's block. */
void dcli_emit_reducing_signature(dcli_text *out, const dcli_body *body, dcli_variant variant);
/** Emit the variables in which a work-item reduces: dcl_f<r>, and of sums the partial result dcl_h<r>. */
void dcli_emit_reducing_variables(dcli_text *out, const dcli_body *body);
/** Emit the number of tiles of a row, dcl_row_tiles, and of all rows, dcl_tiles. Rows of one launch have the same shape. */
void dcli_emit_tile_counts(dcli_nest *nest);
/** Emit where a work-item begins in tile dcl_tile: its line of the row, dcl_line, which may be dcl_lines or more; its first index of the
 *  innermost axis, dcl_begin. */
void dcli_emit_tile_place(dcli_nest *nest);
/** Emit, for tile dcl_tile, dcl_row_tiles of which are a row, the row's own numbers: those of the only row, or those in the table. */
void dcli_emit_reducing_row(dcli_nest *nest);
/** Emit the indices of the first `axes` axes, and where the accesses are at them, for dcl_line: the number of a line of the row, the
 *  last of these axes running fastest. */
void dcli_emit_line_indices(dcli_nest *nest, int axes);
/** Emit the code in which a work-item reduces DCL_EACH indices of the innermost axis, at the distance dcl_wide, from
 *  dcl_begin on.
 *  @param wide  the usual dcl_wide. */
void dcli_emit_reducing_tile(dcli_nest *nest, int wide);

#endif

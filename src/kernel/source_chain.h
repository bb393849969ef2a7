/* kernel/source_chain.h - generate the kernels of contractions that are computed in blocks. */
#ifndef DCLI_KERNEL_SOURCE_CHAIN_H
#define DCLI_KERNEL_SOURCE_CHAIN_H

#include "kernel/nest.h"

/** Whether a body is a contraction that is computed in blocks: it has one inner axis, and each factor a loop axis of its own. */
bool dcli_chain_is_blocked(const dcli_body *body);
/** Emit the functions of such a body for a CPU; nothing for others. */
void dcli_emit_chain_functions(dcli_text *out, const dcli_body *body);
/** Emit for a CPU the loops over a row's box, after dcli_nest_row(); rows may have any steps. */
void dcli_emit_chain_blocks(dcli_nest *nest);
/** Emit one of the kernels of such a body for a GPU: dcl_unit or dcl_any. Arguments: as for dcli_body_source(). */
void dcli_emit_chain_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant);
/** The size of a launch of the kernel of a contraction, as dcli_body_launch_size(). */
dcli_launch_size dcli_chain_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table);

/* Parts of kernels for both kinds of devices. */

/** Axes of a contraction, and accesses of its factors. */
typedef struct dcli_chain_plan {
    int down, across, inner; /* loop axes of which one factor each depends, and the reduced one */
    int low, wide;           /* the access that depends on `down`, and the one that depends on `across` */
} dcli_chain_plan;

/** Find the axes and factors of a contraction. @return dcli_chain_is_blocked(). */
bool dcli_chain_plan_of(const dcli_body *body, dcli_chain_plan *plan);
/** Emit the definition of dcl_a<a>: the element of an access at dcl_i of loop axis m and dcl_kb + dcl_k of the reduced index. */
void dcli_emit_factor(dcli_nest *nest, int a, int m, int inner);
/** Emit the statement that packs an element of a factor, or 0 if it does not exist. */
void dcli_emit_packed(dcli_nest *nest, int a, const char *to, const char *exists);

#endif

/* kernel/gpu_reduce.h - the parts of programs for GPUs that reduce values. */
#ifndef DCLI_KERNEL_GPU_REDUCE_H
#define DCLI_KERNEL_GPU_REDUCE_H

#include "base/text.h"
#include "kernel/body.h"

/** Emit the functions that the results of a reduction need. */
void dcli_emit_reducing_functions(dcli_text *out, const dcli_body *body);
/** Emit one of its kernels: dcl_unit, dcl_any or a checking one. Arguments: as for dcli_body_source(). */
void dcli_emit_reducing_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant);
/** dcli_body_launch_size() for a reduction. */
dcli_launch_size dcli_reducing_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table);

#endif

/* kernel/source_bundle.h - generate sums of floating-point numbers along an axis for a CPU, several elements at once. */
#ifndef DCLI_KERNEL_SOURCE_BUNDLE_H
#define DCLI_KERNEL_SOURCE_BUNDLE_H

#include "kernel/nest.h"

/** Whether dcl_unit computes several elements of the outputs at once. */
bool dcli_is_bundled(const dcli_body *body);
/** How many elements of each output a bundle has. */
int dcli_bundle_height(const dcli_body *body);
/** Emit the loops over a row's box, after dcli_nest_row(). */
void dcli_emit_bundles(dcli_nest *nest);

#endif

/* lower/print.h - print plans and lowered batches, one line per part: for tests and for debugging (DCL_LOG=debug). */
#ifndef DCLI_LOWER_PRINT_H
#define DCLI_LOWER_PRINT_H

#include "base/text.h"
#include "lower/lower.h"

/** Print a plan: its batches, and for each its works with bindings, its stages with their pieces, and its chunks.
 *  @param most  lines printed of each list; then the number of remaining ones. */
void dcli_plan_print(const dcli_operation *operation, const dcli_plan *plan, int64_t most, dcli_text *text);
/** Print a lowered batch: its routes, launches, and bytes of the arena. `most` as above. */
void dcli_lowered_print(const dcli_operation *operation, const dcli_lowered *lowered, int64_t most, dcli_text *text);

#endif

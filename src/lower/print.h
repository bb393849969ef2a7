/* lower/print.h - print plans and lowered batches, one line per part: for tests and for debugging (DCL_LOG=debug). */
#ifndef DCLI_LOWER_PRINT_H
#define DCLI_LOWER_PRINT_H

#include "base/text.h"
#include "lower/lower.h"

/** Print a plan: its batches, with their works and bindings, and stages with their pieces; then its chunks.
 *  @param most  most lines of each list; a list that is longer ends with how many are missing. */
void dcli_plan_print(const dcli_operation *operation, const dcli_plan *plan, int64_t most, dcli_text *text);
/** Print a lowered batch: its routes, launches, and bytes of the arena. `most` as for dcli_plan_print(). */
void dcli_lowered_print(const dcli_operation *operation, const dcli_lowered *lowered, int64_t most, dcli_text *text);

#endif

/* lower/print.h - plans and lowered batches as text, a line for each part: for tests, and for people who look for a fault. */
#ifndef DCLI_LOWER_PRINT_H
#define DCLI_LOWER_PRINT_H

#include "base/text.h"
#include "lower/lower.h"

/** "own part", "peer", "stage", "replica", "chunk". */
const char *dcli_space_name(dcli_space_kind kind);
/** "bound", "gathered", "by host", "by kernel", "by wire". */
const char *dcli_via_name(dcli_via via);

/** Batches, and in each its works with bindings, its stages with their pieces, and its chunks.
 *  @param most  of each list of the plan so many lines are put, then how many more there are. */
void dcli_plan_print(const dcli_operation *operation, const dcli_plan *plan, int64_t most, dcli_text *text);
/** Routes, launches, and the bytes of the arena. `most` as above. */
void dcli_lowered_print(const dcli_operation *operation, const dcli_lowered *lowered, int64_t most, dcli_text *text);

#endif

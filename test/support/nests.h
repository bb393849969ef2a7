/* support/nests.h - random loop nests: 1-4 loops, triangular bounds, shifts, sums and multiples of counters, conditions, variables, several
 * statements. */
#ifndef DCL_TEST_NESTS_H
#define DCL_TEST_NESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Arrays a, b of rank 1, C, D of rank 2, all indices 0..8. */
enum { TEST_NEST_EDGE = 9, TEST_NEST_ARRAYS = 4 };
extern const int test_nest_ranks[TEST_NEST_ARRAYS];
extern const char *const test_nest_names[TEST_NEST_ARRAYS];

/** Put the text of nest `number`. */
void test_nest_put(dcli_text *out, int64_t number);
/** Put a nest with one subscript for C and D, which counts elements: C[(i)*9 + (j)] for C[i][j]. */
void test_nest_flatten(dcli_text *out, const char *text);
/** Put the text of nest `number` of those with recurrences along the lines of C and D, with variables, conditions, triangles, reads of other
 *  lines of what is not written, and single elements of lines before and after the recurrence. */
void test_nest_lines_put(dcli_text *out, int64_t number, bool along_rows);

#endif

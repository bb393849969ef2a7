/* kernel/rewrite.h - replace the accesses of a body by macro names, and map columns back to the user's text. */
#ifndef DCLI_KERNEL_REWRITE_H
#define DCLI_KERNEL_REWRITE_H

#include "base/text.h"
#include "kernel/inside.h"

/** A stretch of a line of the rewritten text, from `column` to the next shift: either the user's text, whose columns
 *  differ by a constant, or a name that replaces an access. */
typedef struct dcli_shift {
    int line;
    int column; /* column in the rewritten line */
    int length; /* length of the replacing name; 0: the user's own text */
    int user_column;
} dcli_shift;

/** The shifts of a rewritten text, in the order of the text. */
typedef struct dcli_shift_list {
    dcli_shift *shift;
    int64_t count, capacity;
} dcli_shift_list;

/** Append the rewritten body: an affine access `A(i,j)` becomes `dcl_a3`, one of declared reach `A(x, y)` becomes
 *  `dcl_a3(x, y)`. Line numbers do not change. @param shifts  filled if not NULL; free shift with dcli_free(). */
void dcli_rewrite(const dcli_body *body, dcli_text *out, dcli_shift_list *shifts);

/** The same for the tokens [first, end) alone. Line and column numbers are not those of the user's text. */
void dcli_rewrite_range(const dcli_body *body, dcli_text *out, int first, int end);

/** Map a column of the rewritten text to the user's column. */
int dcli_shift_back(const dcli_shift_list *shifts, int line, int column);

#endif

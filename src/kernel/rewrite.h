/* kernel/rewrite.h - a body with its accesses replaced by the names of macros, and the way back to the user's columns. */
#ifndef DCLI_KERNEL_REWRITE_H
#define DCLI_KERNEL_REWRITE_H

#include "base/text.h"
#include "kernel/inside.h"

/** From this column of a rewritten line on, columns are the user's again, shifted; before it stands a replaced name. */
typedef struct dcli_shift {
    int line;
    int column; /* of the rewritten line */
    int length; /* of the replacement that begins here; 0: the user's own text begins here */
    int user_column;
} dcli_shift;

/** In the order of the text. */
typedef struct dcli_shift_list {
    dcli_shift *shift;
    int64_t count, capacity;
} dcli_shift_list;

/** Append the body: an affine access `A(i,j)` becomes `dcl_a3`, one of declared reach `A(x, y)` becomes `dcl_a3(x, y)`.
 *  Lines stay lines.
 *  @param shifts  filled when not NULL; free shift with dcli_free(). */
void dcli_rewrite(const dcli_body *body, dcli_text *out, dcli_shift_list *shifts);

/** The user's column of a column of the rewritten text. */
int dcli_shift_back(const dcli_shift_list *shifts, int line, int column);

#endif

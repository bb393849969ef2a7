/* kernel/bounded.h - finds declared reads whose subscripts need no check on a whole line of the innermost axis. */
#ifndef DCLI_KERNEL_BOUNDED_H
#define DCLI_KERNEL_BOUNDED_H

#include "base/text.h"
#include "kernel/body.h"

/** What is known of a body's declared reads. */
typedef struct dcli_bounded {
    bool bounded[DCLI_MAX_ACCESSES]
                [DCL_MAX_RANK]; /* whether `code` checks this subscript of the access, wherever it occurs */
    char *
        code; /* statements of OpenCL C that set dcl_safe to false if such a subscript may violate its declaration at some index
                   of the line; freed with dcli_bounded_free() */
} dcli_bounded;

/** Find the bounds of subscripts: those of indices, integer scalars, literals, variables that do not change after their
 *  declaration, and of `for` loops' variables, combined by + - * min max clamp. Other subscripts are not bounded.
 *  The code uses the limits dcl_k<a>_<n> (dcli_emit_look_limits()), the indices of the outer axes by name, and the first and last
 *  innermost index dcl_jl and dcl_jh.
 *  Without memory, nothing is bounded. */
void dcli_bounded_find(const dcli_body *body, dcli_bounded *bounded_out);
void dcli_bounded_free(dcli_bounded *found);

#endif

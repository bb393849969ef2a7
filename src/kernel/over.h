/* kernel/over.h - parse DCL_OVER: ranges of indices, such as "0 <= j <= i, 0 <= k < n". */
#ifndef DCLI_KERNEL_OVER_H
#define DCLI_KERNEL_OVER_H

#include "kernel/parser.h"

/** Parse body->over into body->inside->over, once body->indices are known. @return DCL_OK, or DCL_ERR_BODY with line,
 *  column and the text of DCL_OVER marked. */
dcl_status dcli_over_read(dcli_body *body);
void dcli_over_free(struct dcli_body_inside *inside);

/** Whether a bound depends on an index besides its own. */
bool dcli_bound_is_slanted(const dcli_bound *bound);
/** Whether outputs may be written only in part of the box of loop axes: a bound depends on several kept indices. */
bool dcli_over_is_partial(const dcli_body *body);
/** Whether DCL_OVER contains a scalar parameter. */
bool dcli_over_uses(const dcli_body *body, int k);

#endif

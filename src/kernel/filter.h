/* kernel/filter.h - refuse text that makes a compiler read files, use assembly or call functions of the process. */
#ifndef DCLI_KERNEL_FILTER_H
#define DCLI_KERNEL_FILTER_H

#include "kernel/body.h"

/** Check the prelude and the text of a body or tile kernel before a compiler sees them; program and worker both do.
 *
 *  This gives a helpful error with line and column; it is no security barrier. Hostile kernels are contained by
 *  confining the worker's process. docs/decisions/0026 lists what is refused, with the reasons.
 *  @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_BODY. */
dcl_status dcli_filter_check(const dcli_body *body);

#endif

/* kernel/filter.h - what a client's text must not ask a compiler for: files, assembly, functions of the process. */
#ifndef DCLI_KERNEL_FILTER_H
#define DCLI_KERNEL_FILTER_H

#include "kernel/body.h"

/** Check the prelude and the text of a body or tile kernel, as program and worker do before a compiler sees it.
 *
 *  This is a courtesy, which answers with line and column: what contains a hostile kernel, whose machine code can do
 *  without any of this, is the worker's process. docs/decisions/0026 says what is refused and why.
 *  @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_BODY. */
dcl_status dcli_filter_check(const dcli_body *body);

#endif

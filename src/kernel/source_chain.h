/* kernel/source_chain.h - generate the kernel of a contraction for a CPU. */
#ifndef DCLI_KERNEL_SOURCE_CHAIN_H
#define DCLI_KERNEL_SOURCE_CHAIN_H

#include "kernel/nest.h"

/** Whether a body is a contraction that is computed in blocks: it has one inner axis, and each factor a loop axis of its own. */
bool dcli_chain_is_blocked(const dcli_body *body);
/** Emit the functions of such a body; nothing for others. */
void dcli_emit_chain_functions(dcli_text *out, const dcli_body *body);
/** Emit the loops over a row's box, after dcli_nest_row(); rows may have any steps. */
void dcli_emit_chain_blocks(dcli_nest *nest);

#endif

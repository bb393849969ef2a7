/* kernel/block.h - what a CPU kernel does beside its loops: inputs turned block by block, outputs stored past the cache. */
#ifndef DCLI_KERNEL_BLOCK_H
#define DCLI_KERNEL_BLOCK_H

#include "kernel/nest.h"

enum { DCLI_LANES = 8 }; /* side of the squares that are turned in registers */

/** Elements along the transposed axis and along the innermost axis of the blocks of a body's transposed inputs. */
int dcli_block_height(const dcli_body *body);
int dcli_block_width(const dcli_body *body);

/** Whether the elements of access a may be gathered in a line and then stored at once: written at every index, never
 *  read, neighbours along the innermost axis. */
bool dcli_is_streamed(const dcli_body *body, int a);
/** The first such access, -1. */
int dcli_first_streamed(const dcli_body *body);

/** What the kernels of this body call:
 *  DCL_AHEAD(place): ask for a cache line that is read soon, where the compiler can; the place may be anywhere;
 *  dcl_square_T(source, pitch, target, line): a square of DCLI_LANES turned, as dcl_turn_T() does;
 *  dcl_turn_T(source, pitch, target, line, height, width): target[u * line + v] = source[v * pitch + u];
 *  dcl_store_T(target, source, count): count elements, not kept in caches. */
void dcli_emit_block_functions(dcli_text *out, const dcli_body *body);
/** A text of kernel/cl.h for one type. */
void dcli_emit_of_type(dcli_text *out, const char *text, dcl_type type);

#endif

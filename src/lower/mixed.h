/* lower/mixed.h - launches in which rows that read own memory and rows that read a peer's alternate. */
#ifndef DCLI_LOWER_MIXED_H
#define DCLI_LOWER_MIXED_H

#include "lower/lower.h"

/** On a GPU that reads other GPUs' memory: take rows out of launches that differ only in whether inputs lie in the own
 *  part or in a peer's, cut them into strips of one shape, and add launches that run strips of both in turn. Rows that
 *  have no counterpart stay where they are. Before dcli_rows_divide(). @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_rows_mix(const dcli_body *body, const dcli_traits *traits, dcli_lowered *lowered);

#endif

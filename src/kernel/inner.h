/* kernel/inner.h - inner axes: loops of a body whose variables may stand in affine subscripts, because their bounds are
 * known when a call is planned. */
#ifndef DCLI_KERNEL_INNER_H
#define DCLI_KERNEL_INNER_H

#include "kernel/parser.h"

/** Decide whether a `for` is an inner axis, and if so add it to body->inside->inner. It is one if it has the form
 *  `for (int d = FIRST; d < LIMIT; d++)`: d of a type int, short, long or uint; also with <=, or with > and >= and a
 *  descending step; a step of ++, --, += or -= and an integer literal; FIRST and LIMIT of integer literals and integer
 *  DCL_VALUEs by + - *; d unchanged in the loop's statement. Reductions along axes (body->along) have none: their
 *  inner axes are the reduced indices.
 *  @param keyword    the token `for`.
 *  @param semicolon  [2] the tokens between its three parts.
 *  @return DCL_OK, also if it is none; DCL_ERR_NOMEM. */
dcl_status dcli_inner_find(const dcli_parser *parser, int keyword, const int semicolon[]);

/** Once all accesses are known: list the edits by which the generated text takes the loops' bounds from macros, and
 *  unrolls short loops. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_inner_edit(dcli_body *body);

/** The inner axis whose variable the name at token t is; -1: none. */
int dcli_inner_at(const dcli_body *body, int t);

/** Whether the variable at token `name` may change, or another of its name be declared, in the tokens [begin, end). */
bool dcli_may_change(const dcli_body *body, int name, int begin, int end);

/** The token after the statement that begins at token t; -1: unknown. */
int dcli_statement_end(const dcli_tokens *tokens, int t);

/** Whether the prelude contains the name at token t as a word. @param tokens  those of the body or of DCL_OVER */
bool dcli_prelude_names(const dcli_body *body, const dcli_tokens *tokens, int t);

/** Compute first value, length and step of inner axis q for the values of a call. @return DCL_OK, or DCL_ERR_BODY: the
 *  variable's type or 64 bits do not suffice. */
dcl_status dcli_inner_range(const dcli_body *body, int q, const dcli_scalar values[], int64_t *first_out,
                            int64_t *count_out);

/** The step in memory of access a along its inner axis number k where dcl_unit runs, if it is 1 or -1, else 0: the subscript of the array's
 *  contiguous axis contains the counter with this coefficient. If the counter takes several values, the footprint has no gaps on
 *  that axis, nor has the memory to which the access is bound, so neighbours in the array are neighbours in memory. If it does
 *  not, the step is never used. */
int dcli_inner_unit(const dcli_body *body, int a, int k);

/** Copies of a statement of inner axis q's loop when it and the loops around it are unrolled; INT64_MAX: it is not unrolled, or its
 *  variable is in no subscript. */
int64_t dcli_inner_copies(const dcli_body *body, int q);
/** Whether the generated text unrolls some loop. */
bool dcli_inner_unrolls(const dcli_body *body);

/** Emit the macros that the edits of dcli_inner_edit() name. */
void dcli_emit_inner_bounds(dcli_text *out, const dcli_body *body);
/** Emit the counter of inner axis q, computed from the loop's variable. */
void dcli_emit_inner_counter(dcli_text *out, const dcli_body *body, int q);

#endif

/* test/kernel/spec.h - parameters of bodies in short text. */
#ifndef TEST_KERNEL_SPEC_H
#define TEST_KERNEL_SPEC_H

#include "kernel/body.h"

/** Parameters from "out C 2, in A 2, all T 1, value n int32, in U 1 uint8, result s": role, name, rank of an array (float when no
 *  type follows) or type of a scalar. Roles: out in inout all rows columns value result. @return their number. */
int test_spec(const char *spec, dcli_param params_out[]);

/** Parse a body with such parameters. */
dcl_status test_parse(const char *spec, const char *text, dcli_body **body_out);

/** The accesses of a body: "C(x0,x1) w u1; A(1+x0,-2*x1) r": subscripts over the loop axes, r read, w written,
 *  c conditional, u<unit axis>, all/rows/columns for a declared reach. Scalars have the values given. Counters of inner
 *  axes are t0, t1, ...: "A(-1+x0+t0; t0 < 3) r".
 *  @return text to free(). */
char *test_accesses(const dcli_body *body, const dcli_scalar values[]);

#endif

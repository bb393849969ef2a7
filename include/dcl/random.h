/* dcl/random.h - random numbers that depend on a seed and the number of an element only. */
#ifndef DCL_RANDOM_H
#define DCL_RANDOM_H

#include <dcl/array.h>
#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** dcl_random(array, seed): fill an array with random numbers. Element n in row-major order is made from the four words
 *  x, y, z and w of random_bits(seed, n, 0) (DCL_RANDOM):
 *
 *      half            11 bits of word x: a multiple of 2^-11 in [0, 1)
 *      float           24 bits of word x: a multiple of 2^-24 in [0, 1)
 *      double          53 bits of words y and x: a multiple of 2^-53 in [0, 1)
 *      integers        up to 32 bits: the low bits of word x; 64 bits: words y (high) and x
 *
 *  The numbers are the same for every number of nodes, every map, and on all devices. In a view, n counts the elements of the
 *  view. Elements that are stored nowhere are skipped.
 *  @return DCL_OK when started; otherwise as dcl_forall(). Cost: one operation. Nothing moves.
 *  Source: Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel Random Numbers: As Easy as
 *  1, 2, 3" (SC'11). */
#define dcl_random(array, seed) dcl_random_to(DCL_OUT_AS("array", (array)), (seed))
/** The function that this macro calls. @param output  DCL_OUT of any name. */
DCL_API dcl_status dcl_random_to(dcl_arg output, uint64_t seed);

/** An argument that gives bodies, reductions, scans and tile kernels these functions:
 *
 *      uint4 random_bits(ulong seed, ulong number, ulong stream)   128 bits, the block of Philox4x32-10 with the key
 *                                                                  `seed` and the counter (number, stream), low words first
 *      ulong random_long(ulong seed, ulong number)                 64 bits: words y (high) and x of random_bits(seed, number, 0)
 *      float random_float(ulong seed, ulong number)                the upper 24 bits of word x as a number in [0, 1)
 *
 *  Different numbers, streams or seeds give numbers that are statistically independent.
 *
 *      dcl_forall(cluster, "hits(i) = random_float(seed, i) < p;", DCL_OUT(hits), DCL_VALUE(seed), DCL_VALUE(p),
 *                 DCL_RANDOM); */
#define DCL_RANDOM dcl_arg_prelude(dcl_random_functions())
/** The text of these functions, OpenCL C. */
DCL_API const char *dcl_random_functions(void);

#ifdef __cplusplus
}
#endif
#endif

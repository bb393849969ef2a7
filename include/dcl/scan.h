/* dcl/scan.h - scans: running sums, minima and others along one axis of an array. */
#ifndef DCL_SCAN_H
#define DCL_SCAN_H

#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline dcl_call dcl_call_scan(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[])
{
    dcl_call call = dcl_call_body(cluster, NULL, body, count, args);
    call.kind = DCL_CALL_IS_SCAN;
    return call;
}

/** The index along which elements are combined, as text: DCL_ALONG("i"). */
#define DCL_ALONG(index) dcl_arg_array(DCL_ACCESS_ALONG, (index), NULL)
/** An element gets the combination of all elements before it, without its own. The first one gets the neutral element. */
#define DCL_EXCLUSIVE dcl_arg_array(DCL_ACCESS_EXCLUSIVE, NULL, NULL)

/** dcl_scan(cluster, body, ...): combine all elements up to each one along an axis (prefix sums).
 *
 *      dcl_scan(cluster, "P(i) += A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"));
 *      dcl_scan(cluster, "R(i,j) max= A(i,j) * w(j);", DCL_OUT(R), DCL_IN(A), DCL_IN(w), DCL_ALONG("j"));
 *
 *  The body is one statement `P(i, ...) OP expression;`. P is the only output, and its subscripts are plain indices. OP
 *  is one of += *= min= max=, for integers also &= |= ^=, or the name of an operator of the program (DCL_OPERATOR,
 *  dcl/reduce.h) and `=`. The expression is OpenCL C as in dcl_forall(); it must not read P.
 *
 *  P(i) becomes the combination of the expression's values at all indices from the beginning of the axis up to i. The
 *  values are converted to P's type before they are combined. P's old elements do not count. The other indices are
 *  kept: DCL_ALONG("j") scans each row of P(i,j) separately.
 *
 *  Integers wrap. A NaN makes all later elements NaN, with min= and max=, too; -0 is less than +0. Floating-point sums
 *  and products, and operators of the program, have the same bits for every number of nodes, map and tile size, because
 *  only the extent of the axis decides in which order values are combined: see docs/scans.md. An element of an exclusive
 *  scan has the bits of the element before it in the inclusive scan.
 *
 *  @param cluster  NULL is an error.
 *  @param body     borrowed for the call.
 *  @param ...      2..56 arguments: one DCL_OUT, DCL_ALONG, and any inputs, DCL_VALUE and DCL_PRELUDE of dcl_forall();
 *                  optionally DCL_EXCLUSIVE and one DCL_OPERATOR. No argument and no name in the body may begin with scan_.
 *  Cost: one to four operations. Each is compiled at its first use.
 *    - One operation computes the results. It reads every input once.
 *    - Before it, an operation computes the totals of sections of the axis, and reads every input, too. It is left out if
 *      the axis has at most 1,024 elements, or if the tiles of P contain the whole axis and enough lines along it to keep
 *      all work-items busy.
 *    - If the expression reads elements at other subscripts than P's, or arrays of another grid, or no array, or uses
 *      an index as a number, a body first stores the values of the expression in an array of the library, of P's size.
 *    - If the tiles of P consist of more than about a hundred boxes, the results are computed in such an array, too,
 *      and then copied to P.
 *  @return DCL_OK when started; otherwise as dcl_forall(). */
#define dcl_scan(cluster, body, ...) dcl_call_run(DCL_CALL_SCAN(cluster, body, __VA_ARGS__))

/** The description of a scan. */
#define DCL_CALL_SCAN(cluster, body, ...) DCLI_CALL(dcl_call_scan((cluster), (body), DCLI_ARGUMENTS(__VA_ARGS__)))

#ifdef __cplusplus
}

template <size_t N> inline dcl_call dcl_call_scan(dcl_cluster *cluster, const char *body, const dcli_arguments<N> &list)
{
    return dcl_call_scan(cluster, body, static_cast<int>(N), list.arg);
}
#endif
#endif

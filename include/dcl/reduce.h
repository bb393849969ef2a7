/* dcl/reduce.h - reductions: sums, minima and others over all elements of arrays, or along some axes into arrays. */
#ifndef DCL_REDUCE_H
#define DCL_REDUCE_H

#include <dcl/array.h>
#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @param result  variable of type `type`; written when the call returns DCL_OK or DCL_ERR_RANGE. */
static inline dcl_arg dcl_arg_result(const char *name, dcl_type type, void *result)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_RESULT, name, NULL);
    arg.type = type;
    arg.result = result;
    return arg;
}

/** @param index  [rank of the input that gives the indices]; written when the call returns DCL_OK or DCL_ERR_RANGE. */
static inline dcl_arg dcl_arg_result_at(int64_t index[])
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_RESULT_AT, NULL, NULL);
    arg.result = index;
    return arg;
}

/** @param index  an array of int32 or int64. */
static inline dcl_arg dcl_arg_result_at_array(dcl_array *index)
{
    return dcl_arg_array(DCL_ACCESS_RESULT_AT, NULL, index);
}

/** @param name  the operator, a blank, and its neutral element: "combine 0.0f". */
static inline dcl_arg dcl_arg_operator(const char *name)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_OPERATOR, name, NULL);
    arg.type = DCL_INT32; /* not used */
    return arg;
}

static inline dcl_call dcl_call_reduction(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                          const dcl_arg args[])
{
    dcl_call call = dcl_call_body(cluster, box, body, count, args);
    call.kind = DCL_CALL_IS_REDUCTION;
    return call;
}

/** A variable that gets a result, under its own name or another one. Its type: any integer type, float or double. */
#define DCL_RESULT(x) DCL_RESULT_AS(#x, &(x))
#define DCL_RESULT_AS(name, address) DCLI_RESULT((name), (address))
/** The index of a minimum or maximum, which is the DCL_RESULT directly before this argument. `index` is an array of int64_t.
 *  If an input gives the indices of the body (dcl_reduce()), the array has one number for each axis of this input, in the
 *  order of its subscripts; otherwise it has one for each index, in the order of the alphabet. Among equal values, the
 *  lexicographically lowest index wins. If there is a NaN, it is the index of the first NaN. If no statement was executed
 *  at any index, all numbers are -1.
 *
 *      float high;
 *      int64_t where[2];
 *      dcl_reduce(cluster, "high max= A(i,j);", DCL_RESULT(high), DCL_RESULT_AT(where), DCL_IN(A));
 *
 *  After a DCL_OUT or DCL_INOUT of a reduction along axes, `index` is an array of int32 or int64 with the axes of that
 *  output. It gets the reduced index of each minimum or maximum. If several indices are reduced, the array has one more
 *  axis, the last one: element q along it is the q-th of these indices in the order of the alphabet. Among equal values,
 *  the lexicographically lowest combination wins. An element without values gets -1. With DCL_INOUT, an element also gets
 *  -1 if its old value is better than all new ones. The values are computed twice: by the reduction, and by a second one
 *  that finds the indices.
 *
 *      dcl_reduce(cluster, "low(i) min= A(i,j);", DCL_OUT(low), DCL_RESULT_AT(column), DCL_IN(A));
 *
 *  The same holds for reductions by keys. There, the reduced indices of an output are those that do not stand alone as one of
 *  its subscripts: i in `low(key(i), j) min= A(i,j);`.
 *
 *      dcl_reduce(cluster, "low(key(i)) min= x(i);", DCL_OUT(low), DCL_RESULT_AT(where), DCL_IN(key), DCL_IN(x)); */
#define DCL_RESULT_AT(index) DCLI_RESULT_AT(index)
/** An operator of the program, for scans and for all reductions except those by keys: `y(i) combine= expression;`. Both
 *  arguments are string literals. `name` is a function of the DCL_PRELUDE, which takes two values of the output's type and
 *  returns their combination. The function should be associative. `neutral` is its neutral element, one constant of
 *  OpenCL C: combine(neutral, x) and combine(x, neutral) must be x. Values are combined in the order of the reduced
 *  indices, so the bits do not depend on nodes, map or tiles.
 *
 *      dcl_reduce(cluster, "y(i) combine= A(i,j);", DCL_OUT(y), DCL_IN(A), DCL_OPERATOR("combine", "0.0f"),
 *                 DCL_PRELUDE("float combine(float a, float b) { return hypot(a, b); }")); */
#define DCL_OPERATOR(name, neutral) dcl_arg_operator(name " " neutral)
/** An argument of reductions: sums of float and double may be added in any order. Their last bits then depend on the number
 *  of nodes, the map, and the tiles. It has an effect on two kinds of reductions:
 *
 *  - Sums to values. A result of type float is added as float within a row (2,048 elements at most), and as double across
 *    rows. On CPUs, sums of float are usually faster with it, sums of double are not.
 *  - Contractions (dcl_reduce()) with one reduced index, in which each factor has a kept index that the other factor lacks.
 *    A node that is a CPU computes them with OpenBLAS (libopenblas.so.0, loaded at the first such call) on three
 *    conditions: OpenBLAS is installed; a batch has 262,144 multiply-adds or more; and each factor is contiguous along its
 *    reduced index or along that kept index. Otherwise the contraction is computed as without DCL_FAST. OpenBLAS gets
 *    the product of the scalar factors as a double.
 *
 *  On GPUs it has no effect. */
#define DCL_FAST dcl_arg_array(DCL_ACCESS_FAST, "DCL_FAST", NULL)

/** dcl_reduce(cluster, body, ...): reduce values over all indices of an input, and wait for the results.
 *
 *      double norm2;
 *      float low, high;
 *      dcl_reduce(cluster, "norm2 += R(i,j) * R(i,j);", DCL_RESULT(norm2), DCL_IN(R));
 *      dcl_reduce(cluster, "low min= A(i); high max= A(i);", DCL_RESULT(low), DCL_RESULT(high), DCL_IN(A));
 *
 *  The body is OpenCL C as of dcl_forall(). A result x occurs only at the beginning of statements `x OP expression;`.
 *  OP is one of
 *
 *      += -=          sum                                       min= max=      minimum, maximum
 *      *=             product                                   &= |= ^=       bitwise (integers)
 *      any=           1 if some value is not 0, else 0          all=           1 if no value is 0, else 0 (integers)
 *
 *  or the name of an operator of the program and `=` (DCL_OPERATOR). All statements of one result have the same OP; += and
 *  -= count as the same.
 *
 *  Products of float and double, and operators of the program, combine values in one fixed order: the order of the elements
 *  of the input that gives the indices, with the last subscript fastest. The value of an index at which the body is not run
 *  is the neutral element. First the last axis is reduced: it is cut into leaves of 1,024 elements, and each leaf is
 *  combined from left to right. The results of the leaves are cut and combined in the same way, until one value is left
 *  for each row. Then the axis before the last one is reduced in this way, and so on.
 *
 *  A letter i..p in a subscript is an index, unless an argument or a function has this name. A letter that has a range in
 *  DCL_OVER is an index outside of subscripts, too. If the subscripts of an input are all indices of the body, each once, in
 *  any order, as in A(j,i), this input *gives the indices*: the body runs at every index of its grid, on the nodes that own
 *  the elements. If there are several such inputs, it is the first one in the text. If the map of this input stores only
 *  some of its elements, the others have the map's fill value, and the input is first copied into an array of the library
 *  that is divided in blocks.
 *  If there is no such input, as in `trace += A(i,i);` or `s += x(i) * y(j);`, an index has the range of the axes in whose
 *  subscripts it stands alone, or that of DCL_OVER or of the box. The index with the most values is then divided among the
 *  nodes.
 *
 *  While the body runs at one index, a result is a variable of its type that starts at the neutral element, and the
 *  statements have the meaning of OpenCL C. For example, if s is a double and A has floats, `s += A(i)*A(i)` multiplies
 *  as float. Then the values of all indices are reduced. Results do not start from the variable's value. The result of
 *  no elements is the neutral element: 0 for a sum, |= and ^=, 1 for a product, all bits set for &=, the largest value
 *  of the type for a minimum, and the least one for a maximum (infinity and -infinity for float and double).
 *
 *  Integers wrap. A NaN gives NaN, for minimum and maximum, too; -0 is less than +0. Without DCL_FAST, results have the
 *  same bits for every number of nodes, map and tile size. Sums of float and double achieve this as follows: the value
 *  of each index is rounded to a multiple of a unit, which depends only on the largest magnitude m; then the multiples
 *  are summed exactly. The error of a sum of n values is at most n m 2^-50, plus one rounding at the end.
 *
 *  @param cluster  NULL is an error.
 *  @param body     borrowed for the call.
 *  @param ...      1..62 arguments: DCL_RESULT (1..8), DCL_RESULT_AT, DCL_OUT, DCL_INOUT, DCL_IN, DCL_IN_ALL, DCL_VALUE, DCL_OVER,
 *                  DCL_PRELUDE, DCL_OPERATOR, DCL_FAST.
 *  Cost: each node reads the elements that it owns once. It sends its partial results to the program: 3.5 KB for one
 *  variable and 3 KB more for each further one, or 16 times as much if any node of the cluster is a GPU. The call is two
 *  operations and one wait. The body is compiled at its first use. Threads may reduce at the same time. A result that is
 *  combined in one fixed order takes a few operations per axis. It also takes memory for its values at all indices, unless
 *  the body is one statement whose value is an element of the result's type: `p *= A(i,j);`.
 *  @return DCL_OK: the variables are set. DCL_ERR_RANGE: the variables are set, but an element outside of its array was
 *          read, and counted as 0. Otherwise the variables are unchanged: DCL_ERR_BODY with line, column and the text
 *          marked; DCL_ERR_INVALID; DCL_ERR_UNSUPPORTED; DCL_ERR_NOMEM; DCL_ERR_TIMEOUT; DCL_ERR_NODE_LOST; the error of a
 *          failed array that is read.
 *  Source of the sums: J. Demmel and H. D. Nguyen, "Parallel Reproducible Summation", IEEE Transactions on Computers 64
 *  (2015).
 *
 *  dcl_reduce() into arrays: the indices on the left stay, the other indices are reduced.
 *
 *      dcl_reduce(cluster, "y(i) += A(i,j) * x(j);", DCL_OUT(y), DCL_IN(A), DCL_IN(x));
 *      dcl_reduce(cluster, "C(i,j) += alpha * A(i,k) * B(k,j);", DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(alpha));
 *      dcl_reduce(cluster, "most(j) max= fabs(A(i,j));", DCL_OUT(most), DCL_IN(A));
 *
 *  Arguments DCL_OUT or DCL_INOUT in place of DCL_RESULT make a reduction along axes. An output stands at the beginning
 *  of statements `y(i) OP expression;`. Its subscripts are plain indices, each once, and all outputs have the same
 *  indices. These indices are kept; every other index is reduced. Everything else is as above, with the following
 *  differences.
 *
 *  - An index has the range of the axes in whose subscripts it stands alone. If these ranges differ, the call is
 *    refused. A reduced index that stands alone in no subscript of a DCL_IN has the range of DCL_OVER or of the box;
 *    without one the call is refused.
 *  - An element of a DCL_OUT starts from the neutral element. An element of a DCL_INOUT starts from its present value:
 *    a sum is added to it, the minimum is taken with it, and so on.
 *  - A *contraction* is a body of the single statement `C(i,j) += A(i,k) * B(k,j);`, if A and B both have indices of C,
 *    and all three are float or all three are double. Scalar factors may stand anywhere before B. It is not summed as
 *    other sums are, but is a chain: C = fma(alpha * A(i,k), B(k,j), C), with the product of all factors before B on
 *    the left. The chain starts from the value of C (DCL_INOUT) or from 0 (DCL_OUT), and runs in ascending order of the
 *    reduced index. Several reduced indices run in the alphabetic order of their names, the last one fastest. `-=`
 *    changes the sign of the left factor.
 *  - Products of float and double, and operators of the program (DCL_OPERATOR), combine values from left to right, in
 *    ascending order of the reduced index. The order of several reduced indices is that of contractions. With DCL_INOUT the
 *    first value is that of the element.
 *  - The owners of the first output compute, or the owners of an input if less moves in this way. The elements that
 *    they need are sent to them. dcl_call_explain() with DCL_CALL_REDUCTION() returns how much that is. The call does not
 *    wait.
 *
 *  @param ...  DCL_OUT and DCL_INOUT (1..8, of equal ranks), DCL_RESULT_AT, DCL_IN, DCL_IN_ALL, DCL_IN_KEPT, DCL_VALUE,
 *              DCL_OVER, DCL_PRELUDE, DCL_OPERATOR, DCL_STEALING, DCL_FAST (contractions only).
 *
 *  dcl_reduce() into single elements of arrays: the subscripts on the left are constants. Nothing is sent to the program,
 *  and the call does not wait; later bodies read the elements.
 *
 *      dcl_reduce(cluster, "rho(0) += R(i) * R(i);", DCL_OUT(rho), DCL_IN(R));
 *      dcl_forall(cluster, "X(i) += (float)(rho(0) / pq(0)) * P(i);", DCL_INOUT(X), DCL_IN(P), DCL_IN(rho), DCL_IN(pq));
 *
 *  This is a reduction to values, with the same indices, ranges and bits. The result is an element of an array instead of a
 *  variable; its type is that of the array. The constants are numbers, or names of integer DCL_VALUEs: rho(step). All
 *  statements name the same element of an array. With DCL_INOUT, the element's present value is one of the values that are
 *  reduced. Other elements do not change. Every node sends its partial results to the node that stores the element, which
 *  combines them. They take 3.5 KB for one element and 3 KB more for each further one, or 16 times as much if any node of
 *  the cluster is a GPU. If more than DCL_FANOUT nodes have partial results, nodes first combine them along a tree.
 *
 *  @param ...  DCL_OUT and DCL_INOUT (1..8), DCL_IN, DCL_IN_ALL, DCL_VALUE, DCL_OVER, DCL_PRELUDE, DCL_OPERATOR, DCL_FAST;
 *              also ordinary outputs, as described next.
 *
 *  dcl_reduce() beside ordinary outputs: a body whose results are variables or elements may also write arrays, as a body of
 *  dcl_forall() does, at the same index at which it reduces.
 *
 *      dcl_reduce(cluster, "X(i,j) += alpha * P(i,j); R(i,j) -= alpha * Q(i,j); rho(0) += R(i,j) * R(i,j);",
 *                 DCL_INOUT(X), DCL_INOUT(R), DCL_OUT(rho), DCL_IN(P), DCL_IN(Q), DCL_VALUE(alpha));
 *
 *  An ordinary output has all indices of the body as its subscripts, each once, in any order. The body runs once at each
 *  index of the first ordinary output, on the node that owns the element there, and the results are reduced over these
 *  indices. The first ordinary output must store all of its elements. Assignments have the meaning of C; an array whose
 *  elements the body reads before it writes them must be a DCL_INOUT. If all results are elements of arrays, a
 *  statement of one of two forms makes the call a reduction by keys (see below). The first form is `X(i) += A(i);` if X is a
 *  DCL_OUT and the body has not assigned to it before. The second is a statement whose operator is a word, as in
 *  `X(i) max= A(i);`.
 *
 *  A call may have elements and variables as results, up to eight in all. It waits if any of them is a variable. The bits
 *  are those of separate calls. Results that are combined in one fixed order (products of float and double, DCL_OPERATOR)
 *  are not possible beside ordinary outputs. If the call fails, the contents of its outputs are undefined.
 *
 *  dcl_reduce() by keys, into arrays: a *key* is a subscript of an output that is not an index but another integer
 *  expression. It selects the element that gets the value.
 *
 *      dcl_reduce(cluster, "H(bin(i)) += w(i);", DCL_OUT(H), DCL_IN(bin), DCL_IN(w));
 *      dcl_reduce(cluster, "S(label(i), j) += X(i,j);", DCL_OUT(S), DCL_IN(label), DCL_IN(X));
 *
 *  As in a reduction to values, an input gives the indices, and the nodes that own its elements compute; or the indices
 *  have ranges. A letter i..p that the body declares is a variable. Keys are indices of the output's grid. A value whose key
 *  is outside of the grid is left out. DCL_ERR_RANGE then reports the first such key of each node, at the next wait and when
 *  the output is read.
 *  OP is any of the above but any= and all=; *= is for integers only. An element of a DCL_OUT starts from the neutral
 *  element, an element of a DCL_INOUT from its present value. Sums of float and double have a unit for each element, so the
 *  magnitudes of other elements do not matter. The bits are the same for every number of nodes, map and tile size. An array
 *  cannot be both an output and an input of the same call.
 *
 *  @param ...  DCL_OUT and DCL_INOUT (1..8, of any integer type, float or double, of 1 to 6 axes), DCL_RESULT_AT, DCL_IN,
 *              DCL_IN_ALL, DCL_VALUE, DCL_PRELUDE, DCL_FAST (without effect).
 *  Cost: each node reads the elements that it owns once. Its partial results take 8 bytes per element of each output, or 48
 *  for sums of float and double, and are sent to the owners of the outputs. On a CPU, each thread has partial results of
 *  its own for outputs of at most 1,365 sums of float and double, 8,192 other elements of up to 4 bytes, or 4,096 of 8
 *  bytes. For larger outputs the threads change the node's partial results by atomic operations. On GPUs these limits are
 *  lower: docs/reductions.md. The call does not wait.
 *
 *  @return of reductions into arrays: DCL_OK when started; DCL_ERR_BODY; DCL_ERR_INVALID, also if an index has two ranges;
 *          otherwise as dcl_forall(). */
#define dcl_reduce(cluster, body, ...) dcl_call_run(DCL_CALL_REDUCTION(cluster, NULL, body, __VA_ARGS__))
/** The matrix product C = A B, of three arrays with two axes, as dcl_reduce() computes it. */
#define dcl_matmul(cluster, C, A, B) \
    dcl_reduce(cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT_AS("C", C), DCL_IN_AS("A", A), DCL_IN_AS("B", B))
/** dcl_reduce() over a box of indices. The box lies in the grid of the input that gives the indices, or has an axis for
 *  each index, in the order of the alphabet; in a reduction along axes, it lies in the grid of the first output. */
#define dcl_reduce_over(cluster, box, body, ...) dcl_call_run(DCL_CALL_REDUCTION(cluster, box, body, __VA_ARGS__))

/** The description of a reduction. @param box  NULL: all indices. */
#define DCL_CALL_REDUCTION(cluster, box, body, ...) \
    DCLI_CALL(dcl_call_reduction((cluster), (box), (body), DCLI_ARGUMENTS(__VA_ARGS__)))

/** Reduce all elements of an array, and wait. Errors and costs are those of dcl_reduce().
 *  @param result  address of a variable of any integer type, float or double. Elements are converted to its type first.
 *
 *      double sum, product, norm;
 *      dcl_sum(A, &sum);
 *      dcl_dot(A, B, &product);    (A and B: equal extents)
 *      dcl_norm2(A, &norm);        the square root of the sum of squares, computed as double; norm is a float or double
 *      dcl_min(A, &low); dcl_max(A, &high); */
#define dcl_sum(array, result) dcl_sum_to((array), DCL_RESULT_AS("result", (result)))
#define dcl_dot(array, other, result) dcl_dot_to((array), (other), DCL_RESULT_AS("result", (result)))
#define dcl_norm2(array, result) dcl_norm2_to((array), DCL_RESULT_AS("result", (result)))
#define dcl_min(array, result) dcl_min_to((array), DCL_RESULT_AS("result", (result)))
#define dcl_max(array, result) dcl_max_to((array), DCL_RESULT_AS("result", (result)))

/** The functions that these macros call. @param result  DCL_RESULT of any name. */
DCL_API dcl_status dcl_sum_to(dcl_array *array, dcl_arg result);
DCL_API dcl_status dcl_dot_to(dcl_array *array, dcl_array *other, dcl_arg result);
DCL_API dcl_status dcl_norm2_to(dcl_array *array, dcl_arg result);
DCL_API dcl_status dcl_min_to(dcl_array *array, dcl_arg result);
DCL_API dcl_status dcl_max_to(dcl_array *array, dcl_arg result);

#ifdef __cplusplus
}

template <size_t N>
inline dcl_call dcl_call_reduction(dcl_cluster *cluster, const dcl_box *box, const char *body,
                                   const dcli_arguments<N> &list)
{
    return dcl_call_reduction(cluster, box, body, static_cast<int>(N), list.arg);
}

inline dcl_arg dcli_result_at(int64_t *x) { return dcl_arg_result_at(x); }
inline dcl_arg dcli_result_at(dcl_array *x) { return dcl_arg_result_at_array(x); }
#define DCLI_RESULT_AT(index) dcli_result_at(index)

inline dcl_arg dcli_result(const char *n, signed char *x) { return dcl_arg_result(n, DCL_INT8, x); }
inline dcl_arg dcli_result(const char *n, unsigned char *x) { return dcl_arg_result(n, DCL_UINT8, x); }
inline dcl_arg dcli_result(const char *n, short *x) { return dcl_arg_result(n, DCL_INT16, x); }
inline dcl_arg dcli_result(const char *n, unsigned short *x) { return dcl_arg_result(n, DCL_UINT16, x); }
inline dcl_arg dcli_result(const char *n, int *x) { return dcl_arg_result(n, DCL_INT32, x); }
inline dcl_arg dcli_result(const char *n, unsigned *x) { return dcl_arg_result(n, DCL_UINT32, x); }
inline dcl_arg dcli_result(const char *n, long *x) { return dcl_arg_result(n, DCL_INT64, x); }
inline dcl_arg dcli_result(const char *n, unsigned long *x) { return dcl_arg_result(n, DCL_UINT64, x); }
inline dcl_arg dcli_result(const char *n, long long *x) { return dcl_arg_result(n, DCL_INT64, x); }
inline dcl_arg dcli_result(const char *n, unsigned long long *x) { return dcl_arg_result(n, DCL_UINT64, x); }
inline dcl_arg dcli_result(const char *n, float *x) { return dcl_arg_result(n, DCL_FLOAT, x); }
inline dcl_arg dcli_result(const char *n, double *x) { return dcl_arg_result(n, DCL_DOUBLE, x); }
#define DCLI_RESULT(name, address) dcli_result((name), (address))
#else
#define DCLI_RESULT_AT(index) \
    _Generic((index), dcl_array * : dcl_arg_result_at_array, int64_t * : dcl_arg_result_at)(index)

/* clang-format off */
#define DCLI_RESULT(name, address)                                                                                  \
    dcl_arg_result((name),                                                                                          \
                   _Generic(*(address), signed char: DCL_INT8, unsigned char: DCL_UINT8, short: DCL_INT16,          \
                            unsigned short: DCL_UINT16, int: DCL_INT32, unsigned: DCL_UINT32, long: DCL_INT64,      \
                            unsigned long: DCL_UINT64, long long: DCL_INT64, unsigned long long: DCL_UINT64,        \
                            float: DCL_FLOAT, double: DCL_DOUBLE),                                                  \
                   (address))
/* clang-format on */
#endif
#endif

/* dcl/loops.h - loop nests in C, run in parallel on distributed arrays. */
#ifndef DCL_LOOPS_H
#define DCL_LOOPS_H

#include <dcl/forall.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @param args  [count], borrowed until the call was run. */
static inline dcl_call dcl_call_loops(dcl_cluster *cluster, const char *nest, int count, const dcl_arg args[])
{
    dcl_call call = dcl_call_of(DCL_CALL_IS_LOOPS);
    call.cluster = cluster;
    call.text = nest;
    call.arg_count = count;
    call.arg_bytes = sizeof(dcl_arg);
    call.args = args;
    return call;
}

/** dcl_loops(cluster, nest, ...): run loops as they would be written for plain arrays.
 *
 *      dcl_loops(cluster,
 *                "for (i = 0; i < n; i++)\n"
 *                "    for (j = 0; j < n; j++) {\n"
 *                "        C[i][j] *= beta;\n"
 *                "        for (k = 0; k < m; k++)\n"
 *                "            C[i][j] += alpha * A[i][k] * B[k][j];\n"
 *                "    }\n",
 *                DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(n), DCL_VALUE(m), DCL_VALUE(alpha), DCL_VALUE(beta));
 *
 *  DCL computes which iterations depend on each other. It groups the statements into operations, each of which computes all
 *  its elements in parallel, like dcl_forall(): the owner of an element runs, in the order of the loops, all iterations that
 *  write it. The program runs the remaining loops around the operations, without waiting for the nodes. Before the first
 *  operation is started, the plan is tested against all dependences.
 *
 *  The elements get the values that the loops would compute one after the other, with the rules of docs/numerics.md: the
 *  bits of sequential C that is compiled without contraction, for + - * / and sqrt in double. Sums are added in
 *  the order of the loops.
 *
 *  A nest consists of
 *    - loops `for (i = LOW; i < HIGH; i++)`, also with <= > >=, steps --, += STEP, -= STEP and a counter declared as int or
 *      long. Bounds are affine: sums of outer counters, multiplied by integers; max(...) of several as LOW, min(...) as HIGH.
 *      Integer literals and integer DCL_VALUEs are integers; a nest is planned for their values;
 *    - `if` and `else` with comparisons of affine expressions, joined by && || !;
 *    - assignments by = += -= *= /= to elements A[i][j+1], whose subscripts are affine, and to variables that the nest declares;
 *    - in expressions: elements, variables, counters, scalars, arithmetic, comparisons, ?:, casts, and functions of OpenCL C on
 *      numbers (sqrt, fabs, exp, pow, fmin, fma, ...).
 *  Loops need not be perfectly nested. All names are free: no letter is reserved.
 *
 *  Two arguments must not show the same elements if one of them is written.
 *
 *  Loops inside of which nothing can run in parallel are run by the program, one operation per element that is written: the
 *  log has a warning (DCL_LOG=warn) that says which iterations depend on each other. Counters with factors in what is written, as
 *  in A[2*i], are among these. More than 16,384 such operations are refused.
 *
 *  @param cluster  NULL is an error.
 *  @param nest     borrowed for the call.
 *  @param ...      DCL_IN, DCL_OUT (its old elements are not read), DCL_INOUT and DCL_VALUE under their names in the nest;
 *                  with _AS under others. Elements of outputs that the nest does not assign keep their values. No half.
 *  @return DCL_OK when started. DCL_ERR_BODY if the nest is wrong or too much of it cannot run in parallel. Then the text lists all
 *          errors, each with line, column, a code in brackets and a way out (docs/loops.md):
 *
 *              nest:2:12: error: the iterations of loop i cannot run in parallel: ... [carried]
 *
 *          Otherwise as dcl_forall(). A nest that is refused changes nothing; if the compiler of a device refuses a later
 *          operation of it, earlier ones have run. Calls of other threads may come between the operations of a nest: a
 *          thread that uses the same arrays must wait until this call has returned.
 *  Cost: a nest is analysed at each call: tens of milliseconds for nests of a few statements. dcl_call_explain() of
 *  DCL_CALL_LOOPS() sums the planned counters of all operations. */
#define dcl_loops(cluster, nest, ...) dcl_call_run(DCL_CALL_LOOPS(cluster, nest, __VA_ARGS__))

/** The description of a loop nest. */
#define DCL_CALL_LOOPS(cluster, nest, ...) DCLI_CALL(dcl_call_loops((cluster), (nest), DCLI_ARGUMENTS(__VA_ARGS__)))

#ifdef __cplusplus
}

template <size_t N>
inline dcl_call dcl_call_loops(dcl_cluster *cluster, const char *nest, const dcli_arguments<N> &list)
{
    return dcl_call_loops(cluster, nest, static_cast<int>(N), list.arg);
}
#endif
#endif

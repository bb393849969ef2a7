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
 *      long. Bounds are affine: sums of integers and of outer counters, which may be multiplied by integers. LOW may be
 *      max(...) of several such sums, HIGH min(...). Integer literals and integer DCL_VALUEs are integers; a nest is planned
 *      for their values;
 *    - `if` and `else` with comparisons of affine expressions, joined by && || !;
 *    - assignments by = += -= *= /= to elements A[i][j+1], whose subscripts are affine, and to variables that the nest declares;
 *    - in expressions: elements, variables, counters, scalars, arithmetic, comparisons, ?:, casts, and functions of OpenCL C on
 *      numbers (sqrt, fabs, exp, pow, fmin, fma, ...).
 *  Loops need not be perfectly nested. All names are free: no letter is reserved. An array of several axes that begin at 0 may
 *  have one subscript, which counts its elements in row-major order, as A[i*m + k] for A[i][k]. DCL divides it into an index
 *  for each axis, here i and k. The nest is refused if one of these indices leaves its axis in some iteration.
 *
 *  If an argument is written, no other argument may be the same array or a view that shows elements of it.
 *
 *  If nothing inside of a loop can run in parallel, the program runs the loop, with one operation per element that is written.
 *  The log then has a warning (DCL_LOG=warn) that says which iterations depend on each other. The same holds for most loops
 *  whose counter is multiplied in a subscript of an element that is written, such as A[2*i] (docs/loops.md, `stride`). A nest
 *  that needs more than 16,384 such operations is refused.
 *
 *  Arrays may also be memory of the program: DCL_HOST_IN, DCL_HOST_OUT and DCL_HOST_INOUT. The elements that the nest reads
 *  are copied to the nodes, and those that it writes are copied back. Then the call returns when the results are in the
 *  program's memory.
 *
 *  @param cluster  NULL is an error.
 *  @param nest     borrowed for the call.
 *  @param ...      DCL_IN, DCL_OUT (its old elements are not read), DCL_INOUT and DCL_VALUE under their names in the nest;
 *                  with _AS under others; DCL_HOST_IN, DCL_HOST_OUT, DCL_HOST_INOUT. Elements of outputs that the nest does
 *                  not assign keep their values. No half.
 *  @return DCL_OK when started, or, if an argument is memory of the program, when complete. DCL_ERR_BODY if the nest is wrong or
 *          too much of it cannot run in parallel. The error text lists all errors, each with line, column, a code in brackets and
 *          a way out (docs/loops.md):
 *
 *              nest:2:12: error: the iterations of loop i cannot run in parallel: ... [carried]
 *
 *          Otherwise as dcl_forall(). A nest that is refused changes nothing; if the compiler of a device refuses a later
 *          operation of it, earlier ones have run. Calls of other threads may come between the operations of a nest: a
 *          thread that uses the same arrays must wait until this call has returned.
 *  Cost: the first call analyses the nest, in tens of milliseconds for nests of a few statements. The plans of the last 16 nests
 *  are kept for calls with the same text, grids and integers. dcl_call_explain() of DCL_CALL_LOOPS() sums the planned counters
 *  of all operations. */
#define dcl_loops(cluster, nest, ...) dcl_call_run(DCL_CALL_LOOPS(cluster, nest, __VA_ARGS__))

/** Memory of the program as an array of a loop nest, in row-major order: `DCL_HOST_IN(A, n, m)` is A[0..n-1][0..m-1].
 *
 *      double A[100][50], c[100][20], *B = malloc(50 * 20 * sizeof *B);
 *      dcl_loops(cluster, text, DCL_HOST_INOUT_AS("C", &c[0][0], 100, 20), DCL_HOST_IN(A, 100, 50), DCL_HOST_IN(B, 50, 20));
 *
 *  If the nest has one subscript, as A[i*m + k], the memory may also be given with one extent, DCL_HOST_IN(A, n * m).
 *
 *  The memory is given by a pointer to the first element, or by an array or pointer to arrays of up to four axes. The element
 *  type is that of the variable: an integer type, float or double. Only the memory of DCL_HOST_IN may be const. The program must
 *  not change the memory while the call runs; other threads may read what the nest does not write.
 *
 *  With DCL_HOST_OUT, the nest must assign each element before it reads it. If an argument is written, no other argument may
 *  overlap it in memory. DCL_ERR_INVALID is returned for a null pointer, for an extent below 1, and for overlaps.
 *
 *  If a nest is refused, or fails while it is computed, the memory is as it was before the call. There are two exceptions:
 *    - The nest fails while results are copied back. This only happens when a node is lost. The memory that the nest writes then
 *      has undefined contents.
 *    - The arrays are streamed (docs/loops.md), because they do not fit the nodes: they may use three quarters of the nodes'
 *      memory, or of DCL_QUOTA_BYTES. Results are then copied back as they are computed. So if the nest fails after the first
 *      of them were copied back, parts of the outputs are new.
 *  In these two cases, and only then, dcl_error() contains the words "undefined contents".
 *
 *  @param ...  1..DCL_MAX_RANK extents. */
#define DCL_HOST_IN_AS(name, memory, ...) DCLI_HOST(DCL_ACCESS_HOST_IN, name, memory, DCLI_HOST_READ, __VA_ARGS__)
#define DCL_HOST_OUT_AS(name, memory, ...) DCLI_HOST(DCL_ACCESS_HOST_OUT, name, memory, DCLI_HOST_WRITTEN, __VA_ARGS__)
#define DCL_HOST_INOUT_AS(name, memory, ...) \
    DCLI_HOST(DCL_ACCESS_HOST_INOUT, name, memory, DCLI_HOST_WRITTEN, __VA_ARGS__)
/** Memory of the program under the name of its variable. */
#define DCL_HOST_IN(memory, ...) DCL_HOST_IN_AS(#memory, memory, __VA_ARGS__)
#define DCL_HOST_OUT(memory, ...) DCL_HOST_OUT_AS(#memory, memory, __VA_ARGS__)
#define DCL_HOST_INOUT(memory, ...) DCL_HOST_INOUT_AS(#memory, memory, __VA_ARGS__)

/** @param access  DCL_ACCESS_HOST_IN, DCL_ACCESS_HOST_OUT or DCL_ACCESS_HOST_INOUT.
 *  @param memory  address of the first element; not written for HOST_IN.
 *  @param count, extents  [count] the rank, and elements along each axis. */
static inline dcl_arg dcl_arg_host(dcl_access access, const char *name, dcl_type type, const void *memory, int count,
                                   const int64_t extents[])
{
    dcl_arg arg = dcl_arg_halo(access, name, NULL, count, extents);
    arg.type = type;
    arg.result = (void *)(uintptr_t)memory;
    return arg;
}

/** The description of a loop nest. */
#define DCL_CALL_LOOPS(cluster, nest, ...) DCLI_CALL(dcl_call_loops((cluster), (nest), DCLI_ARGUMENTS(__VA_ARGS__)))

#ifdef __cplusplus
}

template <size_t N>
inline dcl_call dcl_call_loops(dcl_cluster *cluster, const char *nest, const dcli_arguments<N> &list)
{
    return dcl_call_loops(cluster, nest, static_cast<int>(N), list.arg);
}

/* The type of an element of memory: T for T, T[5] and T[5][7]. */
template <class T> struct dcli_element {
    typedef T type;
};
template <class T, size_t N> struct dcli_element<T[N]> : dcli_element<T> {
};
static inline dcl_type dcli_type_of(const char *) { return static_cast<char>(-1) < 0 ? DCL_INT8 : DCL_UINT8; }
static inline dcl_type dcli_type_of(const signed char *) { return DCL_INT8; }
static inline dcl_type dcli_type_of(const short *) { return DCL_INT16; }
static inline dcl_type dcli_type_of(const int *) { return DCL_INT32; }
static inline dcl_type dcli_type_of(const long *) { return DCL_INT64; }
static inline dcl_type dcli_type_of(const long long *) { return DCL_INT64; }
static inline dcl_type dcli_type_of(const unsigned char *) { return DCL_UINT8; }
static inline dcl_type dcli_type_of(const unsigned short *) { return DCL_UINT16; }
static inline dcl_type dcli_type_of(const unsigned *) { return DCL_UINT32; }
static inline dcl_type dcli_type_of(const unsigned long *) { return DCL_UINT64; }
static inline dcl_type dcli_type_of(const unsigned long long *) { return DCL_UINT64; }
static inline dcl_type dcli_type_of(const float *) { return DCL_FLOAT; }
static inline dcl_type dcli_type_of(const double *) { return DCL_DOUBLE; }
template <class T, class... E>
inline dcl_arg dcli_host_read(dcl_access access, const char *name, const T *memory, E... extent)
{
    const int64_t extents[] = {static_cast<int64_t>(extent)...};
    const typename dcli_element<T>::type *element = NULL;
    return dcl_arg_host(access, name, dcli_type_of(element), memory, static_cast<int>(sizeof...(E)), extents);
}
template <class T, class... E>
inline dcl_arg dcli_host_written(dcl_access access, const char *name, T *memory, E... extent)
{
    void *written = memory; /* not const */
    (void)written;
    return dcli_host_read(access, name, memory, extent...);
}
#define DCLI_HOST_READ dcli_host_read
#define DCLI_HOST_WRITTEN dcli_host_written
#define DCLI_HOST(access, name, memory, function, ...) function((access), (name), (memory), __VA_ARGS__)
#else
/* clang-format off */
/* Turns a pointer to arrays into a pointer to what these contain; a pointer to elements stays as it is. The expression is not
 * evaluated: only its type is used. */
#define DCLI_HOST_DOWN(p)                                                                                          \
    (*_Generic((p), char *: (char **)0, const char *: (const char **)0,                                            \
        signed char *: (signed char **)0, const signed char *: (const signed char **)0,                            \
        short *: (short **)0, const short *: (const short **)0, int *: (int **)0, const int *: (const int **)0,    \
        long *: (long **)0, const long *: (const long **)0,                                                        \
        long long *: (long long **)0, const long long *: (const long long **)0,                                    \
        unsigned char *: (unsigned char **)0, const unsigned char *: (const unsigned char **)0,                    \
        unsigned short *: (unsigned short **)0, const unsigned short *: (const unsigned short **)0,                \
        unsigned *: (unsigned **)0, const unsigned *: (const unsigned **)0,                                        \
        unsigned long *: (unsigned long **)0, const unsigned long *: (const unsigned long **)0,                    \
        unsigned long long *: (unsigned long long **)0, const unsigned long long *: (const unsigned long long **)0, \
        float *: (float **)0, const float *: (const float **)0,                                                    \
        double *: (double **)0, const double *: (const double **)0, default: (p)))
#define DCLI_HOST_ELEMENTS(p) DCLI_HOST_DOWN(DCLI_HOST_DOWN(DCLI_HOST_DOWN(p)))
#define DCLI_HOST_MUTABLE                                                                                 \
    char *: (char)-1 < 0 ? DCL_INT8 : DCL_UINT8, signed char *: DCL_INT8, short *: DCL_INT16,             \
    int *: DCL_INT32, long *: DCL_INT64, long long *: DCL_INT64, unsigned char *: DCL_UINT8,              \
    unsigned short *: DCL_UINT16, unsigned *: DCL_UINT32, unsigned long *: DCL_UINT64,                    \
    unsigned long long *: DCL_UINT64, float *: DCL_FLOAT, double *: DCL_DOUBLE
#define DCLI_HOST_READ(p)                                                                                 \
    _Generic(DCLI_HOST_ELEMENTS(p), const char *: (char)-1 < 0 ? DCL_INT8 : DCL_UINT8, const signed char *: DCL_INT8,                     \
    const short *: DCL_INT16, const int *: DCL_INT32, const long *: DCL_INT64,                            \
    const long long *: DCL_INT64, const unsigned char *: DCL_UINT8, const unsigned short *: DCL_UINT16,   \
    const unsigned *: DCL_UINT32, const unsigned long *: DCL_UINT64,                                      \
    const unsigned long long *: DCL_UINT64, const float *: DCL_FLOAT, const double *: DCL_DOUBLE,         \
    DCLI_HOST_MUTABLE)
#define DCLI_HOST_WRITTEN(p) _Generic(DCLI_HOST_ELEMENTS(p), DCLI_HOST_MUTABLE)
/* clang-format on */
#define DCLI_HOST(access, name, memory, type_of, ...)         \
    dcl_arg_host((access), (name), type_of(memory), (memory), \
                 (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#endif
#endif

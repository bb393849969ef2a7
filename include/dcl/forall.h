/* dcl/forall.h - loop bodies over distributed arrays. */
#ifndef DCL_FORALL_H
#define DCL_FORALL_H

#include <dcl/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a body uses an argument. */
typedef enum dcl_access {
    DCL_ACCESS_OUT = 1,       /**< written, not read */
    DCL_ACCESS_IN,            /**< read at affine subscripts */
    DCL_ACCESS_INOUT,         /**< read and written at the same subscript */
    DCL_ACCESS_IN_ALL,        /**< read anywhere */
    DCL_ACCESS_IN_ROWS,       /**< row i of the output reads row i of the input (first axis), anywhere in the row */
    DCL_ACCESS_IN_COLUMNS,    /**< column j of the output reads column j of the input (last axis), anywhere in the
                                 column */
    DCL_ACCESS_VALUE,         /**< a scalar; its value at the time of the call */
    DCL_ACCESS_PRELUDE,       /**< text before the kernel: helper functions, types, constants */
    DCL_ACCESS_IN_KEPT,       /**< as IN, and nodes retain the replicas that they receive: see dcl_keep() */
    DCL_ACCESS_IN_HALO,       /**< read within `width` of the output's index, along every axis */
    DCL_ACCESS_IN_CROSS,      /**< as IN_HALO, but along one axis at a time: no corners */
    DCL_ACCESS_IN_BOX,        /**< read in `box`, the same for every index */
    DCL_ACCESS_IN_AT,         /**< its first subscript is read from an index array whose values lie in first..last */
    DCL_ACCESS_IN_FUNCTION,   /**< read in the boxes that `function` returns for a box of indices */
    DCL_ACCESS_RESULT,        /**< reductions: a value that is reduced over all indices: see dcl/reduce.h */
    DCL_ACCESS_RESULT_FAST,   /**< DCL replaces RESULT by this in a call with DCL_FAST: sums of float and double may be
                                 added in any order. Programs pass RESULT */
    DCL_ACCESS_RESULT_PLACED, /**< DCL replaces a RESULT that stands before a RESULT_AT by this: the index of the value is
                                 found, too. Programs pass RESULT */
    DCL_ACCESS_OPERATOR,      /**< reductions and scans: an operator of the program; see DCL_OPERATOR in dcl/reduce.h */
    DCL_ACCESS_MOVE,          /**< as IN; the field `of` names the output that is computed from it */
    DCL_ACCESS_GROUP,         /**< tile kernels: `width` gives the work-group sizes; see dcl/tile_kernel.h */
    DCL_ACCESS_ITEMS,         /**< tile kernels: `width` gives the number of work-items per tile */
    DCL_ACCESS_STEALING,      /**< value.i: the dcl_steal_policy of this call; see DCL_STEALING */
    DCL_ACCESS_ALONG,         /**< scans: `name` is the index that is scanned; see dcl/scan.h */
    DCL_ACCESS_EXCLUSIVE,     /**< scans: an element's own value does not count */
    DCL_ACCESS_FAST,          /**< reductions: in any order; see DCL_FAST in dcl/reduce.h */
    DCL_ACCESS_RESULT_AT,     /**< reductions: gets the index at which the minimum or maximum before it was found; see
                                 DCL_RESULT_AT in dcl/reduce.h */
    DCL_ACCESS_OVER,          /**< `name` is the text of DCL_OVER: ranges of indices */
    DCL_ACCESS_HOST_IN,       /**< loop nests: memory of the program, read; see DCL_HOST_IN in dcl/loops.h */
    DCL_ACCESS_HOST_OUT,      /**< loop nests: memory of the program, written before it is read */
    DCL_ACCESS_HOST_INOUT     /**< loop nests: memory of the program, read and written */
} dcl_access;

/** Callback for DCL_IN_FUNCTION: returns the boxes of an input that the body reads at a box of indices.
 *  @param user        as given to DCL_IN_FUNCTION.
 *  @param output      a box of a tile, as indices of the first output's grid. With maps that deal single elements in turn,
 *                     its strides are more than 1.
 *  @param most        capacity of inputs_out: DCL_MOST_READS.
 *  @param inputs_out  [most] boxes of the input's grid. Several boxes count as the smallest box that contains them.
 *  @return number of boxes, 0 if nothing is read; a negative number fails the call. */
typedef int dcl_reads_fn(void *user, const dcl_box *output, int most, dcl_box inputs_out[]);
#define DCL_MOST_READS 16

/** One argument of a body. Made by the macros DCL_IN and so on, or by hand from other languages. Borrowed for the
 *  call. */
typedef struct dcl_arg {
    dcl_access access;
    const char *name; /**< its name in the body, an identifier; PRELUDE: the text */
    dcl_array *array; /**< all kinds but VALUE, RESULT, PRELUDE, GROUP, ITEMS, STEALING, ALONG, EXCLUSIVE, FAST,
                           OPERATOR, OVER and HOST_*. RESULT_AT: the array that gets the indices, or NULL after a
                           RESULT */
    dcl_type type;    /**< VALUE: type of the scalar; HOST_*: of the elements */
    union {
        int64_t i;  /**< signed types */
        uint64_t u; /**< unsigned types */
        double f;   /**< float (converted), double */
    } value;
    int width_count;             /**< entries of `width`. IN_HALO, IN_CROSS: 1 or the array's rank; GROUP, ITEMS:
                                      1..3; HOST_*: the rank */
    int64_t width[DCL_MAX_RANK]; /**< [width_count] IN_HALO, IN_CROSS: elements to either side, per axis or one for
                                      all axes; HOST_*: the extents */
    const dcl_box *box;          /**< IN_BOX: borrowed for the call */
    int64_t first, last;         /**< IN_AT: least and greatest first subscript */
    dcl_reads_fn *function;      /**< IN_FUNCTION */
    void *user;                  /**< IN_FUNCTION: passed to `function` */
    const char *of;              /**< MOVE: name of the output that is computed from the array */
    void *result; /**< RESULT: the variable, of type `type`; RESULT_AT: int64_t, one per axis; HOST_*: the
                                      first element, which HOST_IN does not change */
} dcl_arg;

/** How a body uses an array. */
typedef struct dcl_use {
    bool read, written;
    int rank; /**< number of subscripts; 0 if the name never has subscripts */
} dcl_use;

/** Determine how a body uses the array called `name`.
 *  @param count, names  [count] names of all arrays in this body.
 *  @return DCL_OK, or DCL_ERR_BODY. */
DCL_API dcl_status dcl_body_use(const char *body, int count, const char *const names[], const char *name,
                                dcl_use *use_out);

/** Determine unknown grids of arrays from the known ones. If a subscript of a known array is an index alone, like i in
 *  A(i, 2*j), this index gets the range of that axis. An unknown grid gets the origins and extents of its indices and, if
 *  its type is 0, the type of the first known array.
 *  @param grids  [count] in: known if rank > 0; out: all known.
 *  @return DCL_OK; DCL_ERR_BODY if no known array has such a subscript for an index, or if several have one with different
 *          extents (the error text names all). */
DCL_API dcl_status dcl_body_infer(const char *body, int count, const char *const names[], dcl_grid grids[]);

static inline dcl_arg dcl_arg_array(dcl_access access, const char *name, dcl_array *array)
{
    dcl_arg arg;
    memset(&arg, 0, sizeof arg);
    arg.access = access;
    arg.name = name;
    arg.array = array;
    return arg;
}

/** @param count, width  [count] */
static inline dcl_arg dcl_arg_halo(dcl_access access, const char *name, dcl_array *array, int count,
                                   const int64_t width[])
{
    dcl_arg arg = dcl_arg_array(access, name, array);
    arg.width_count = count;
    for (int d = 0; d < count && d < DCL_MAX_RANK; d++)
        arg.width[d] = width[d];
    return arg;
}

static inline dcl_arg dcl_arg_box(const char *name, dcl_array *array, const dcl_box *box)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_IN_BOX, name, array);
    arg.box = box;
    return arg;
}

static inline dcl_arg dcl_arg_at(const char *name, dcl_array *array, int64_t first, int64_t last)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_IN_AT, name, array);
    arg.first = first;
    arg.last = last;
    return arg;
}

static inline dcl_arg dcl_arg_function(const char *name, dcl_array *array, dcl_reads_fn *function, void *user)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_IN_FUNCTION, name, array);
    arg.function = function;
    arg.user = user;
    return arg;
}

static inline dcl_arg dcl_arg_move(const char *of, const char *name, dcl_array *array)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_MOVE, name, array);
    arg.of = of;
    return arg;
}

static inline dcl_arg dcl_arg_signed(const char *name, dcl_type type, int64_t value)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_VALUE, name, NULL);
    arg.type = type;
    arg.value.i = value;
    return arg;
}

static inline dcl_arg dcl_arg_unsigned(const char *name, dcl_type type, uint64_t value)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_VALUE, name, NULL);
    arg.type = type;
    arg.value.u = value;
    return arg;
}

static inline dcl_arg dcl_arg_floating(const char *name, dcl_type type, double value)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_VALUE, name, NULL);
    arg.type = type;
    arg.value.f = value;
    return arg;
}

static inline dcl_arg dcl_arg_prelude(const char *text) { return dcl_arg_array(DCL_ACCESS_PRELUDE, text, NULL); }
static inline dcl_arg dcl_arg_stealing(dcl_steal_policy policy)
{
    dcl_arg arg = dcl_arg_array(DCL_ACCESS_STEALING, "DCL_STEALING", NULL);
    arg.value.i = (int64_t)policy;
    return arg;
}

/** @param args  [count], borrowed until the call was run. */
static inline dcl_call dcl_call_body(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                     const dcl_arg args[])
{
    dcl_call call = dcl_call_of(DCL_CALL_IS_BODY);
    call.cluster = cluster;
    call.box = box;
    call.text = body;
    call.arg_count = count;
    call.arg_bytes = sizeof(dcl_arg);
    call.args = args;
    return call;
}

/** dcl_forall() with its arguments in an array. In C and C++, dcl_forall_n() is a macro that passes sizeof(dcl_arg) to
 *  the library. Other languages call the function; their dcl_arg must have the same layout as the dcl_arg of the loaded
 *  library.
 *  @param args  [count] */
DCL_API dcl_status dcl_forall_n(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[]);
#define dcl_forall_n(cluster, body, count, ...) dcl_call_run(DCL_CALL_BODY_N(cluster, NULL, body, count, __VA_ARGS__))

#define DCL_OUT_AS(name, array) dcl_arg_array(DCL_ACCESS_OUT, (name), (array))
#define DCL_IN_AS(name, array) dcl_arg_array(DCL_ACCESS_IN, (name), (array))
#define DCL_INOUT_AS(name, array) dcl_arg_array(DCL_ACCESS_INOUT, (name), (array))
#define DCL_IN_ALL_AS(name, array) dcl_arg_array(DCL_ACCESS_IN_ALL, (name), (array))
#define DCL_IN_ROWS_AS(name, array) dcl_arg_array(DCL_ACCESS_IN_ROWS, (name), (array))
#define DCL_IN_COLUMNS_AS(name, array) dcl_arg_array(DCL_ACCESS_IN_COLUMNS, (name), (array))
#define DCL_IN_HALO_AS(name, array, ...) DCLI_WIDTHS(DCL_ACCESS_IN_HALO, (name), (array), __VA_ARGS__)
#define DCL_IN_CROSS_AS(name, array, ...) DCLI_WIDTHS(DCL_ACCESS_IN_CROSS, (name), (array), __VA_ARGS__)
#define DCL_IN_BOX_AS(name, array, box) dcl_arg_box((name), (array), (box))
#define DCL_IN_AT_AS(name, array, first, last) dcl_arg_at((name), (array), (first), (last))
#define DCL_IN_FUNCTION_AS(name, array, function, user) dcl_arg_function((name), (array), (function), (user))
#define DCL_OUT(array) DCL_OUT_AS(#array, array)
#define DCL_IN(array) DCL_IN_AS(#array, array)
#define DCL_INOUT(array) DCL_INOUT_AS(#array, array)
/** An input whose replicas are retained for later calls: see dcl_keep(). */
#define DCL_IN_KEPT_AS(name, array) dcl_arg_array(DCL_ACCESS_IN_KEPT, (name), (array))
#define DCL_IN_KEPT(array) DCL_IN_KEPT_AS(#array, array)
#define DCL_IN_ALL(array) DCL_IN_ALL_AS(#array, array)
#define DCL_IN_ROWS(array) DCL_IN_ROWS_AS(#array, array)
#define DCL_IN_COLUMNS(array) DCL_IN_COLUMNS_AS(#array, array)
#define DCL_IN_HALO(array, ...) DCL_IN_HALO_AS(#array, array, __VA_ARGS__)
#define DCL_IN_CROSS(array, ...) DCL_IN_CROSS_AS(#array, array, __VA_ARGS__)
#define DCL_IN_BOX(array, box) DCL_IN_BOX_AS(#array, array, box)
#define DCL_IN_AT(array, first, last) DCL_IN_AT_AS(#array, array, first, last)
#define DCL_IN_FUNCTION(array, function, user) DCL_IN_FUNCTION_AS(#array, array, function, user)
/** DCL_IN(array) with a note for readers of the program: `output` is computed from this input. DCL only checks that
 *  `output` is an output of the same call. dcl_move() is something else: it prefetches elements. */
#define DCL_MOVE_AS(output, name, array) dcl_arg_move((output), (name), (array))
#define DCL_MOVE(output, array) DCL_MOVE_AS(#output, #array, array)
/** Helper functions, types and macros for the body, in OpenCL C.
 *
 *  If a body uses a macro whose definition contains statements, or contains ?, && or || without parentheses around the
 *  whole definition, DCL cannot tell whether the body writes every element. Then the outputs keep their old values
 *  where nothing is written, and an array that the body reads after writing it must be declared DCL_INOUT. A macro must
 *  not have the name of an argument or index.
 *
 *  Allowed directives: #define, #undef, #if and its companions, #pragma OPENCL and #pragma unroll. The following are
 *  refused with DCL_ERR_BODY, line and column: #include and other directives, inline assembly, functions without a body,
 *  `extern`, names that begin with two underscores and are not OpenCL C's, and macros with the name of an OpenCL C
 *  keyword. */
#define DCL_PRELUDE(text) dcl_arg_prelude(text)
/** Ranges of indices, for dcl_forall() and dcl_reduce():
 *
 *      dcl_forall(cluster, "C(i,j) = A(i,j);", DCL_INOUT(C), DCL_IN(A), DCL_VALUE(n), DCL_OVER("1 <= i < n, 0 <= j < n"));
 *
 *  Each range has the form LOW <= index <= HIGH, with <= or <. Ranges are separated by commas; an index has at most one. LOW
 *  and HIGH are sums and products of integer literals, integer scalars (DCL_VALUE) and other indices, as in "0 <= j <= i";
 *  they are linear in the indices, so i * j is refused. LOW may also be max(...) of several such bounds, HIGH min(...).
 *
 *  An index without a range has that of the arrays, as without DCL_OVER. If an index stands alone in a subscript of an
 *  array, its range must lie within that axis of the array. A range may be empty: then nothing is computed. Elements of
 *  outputs for whose indices the body is not run keep their values.
 *
 *  In dcl_forall_over() and dcl_reduce_over() an index has the values that are in both the box and its range. */
#define DCL_OVER(ranges) dcl_arg_array(DCL_ACCESS_OVER, (ranges), NULL)
/** The stealing policy of this call: a dcl_steal_policy. It overrides the policy that dcl_steal() has set for the array. If
 *  the setting DCL_STEAL of the session is "never", nothing is lent, whatever the policy. */
#define DCL_STEALING(policy) dcl_arg_stealing(policy)

/** A scalar under the given name: any arithmetic type but long double. */
#define DCL_VALUE_AS(name, x) DCLI_VALUE((name), (x))
/** A scalar under the name of its variable. */
#define DCL_VALUE(x) DCL_VALUE_AS(#x, x)

/** dcl_forall(cluster, body, ...): run a body at every index of the first output's grid.
 *
 *      dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B));
 *
 *  The body consists of OpenCL C statements without preprocessor lines. `C(i,j)` is an element of the argument C. The
 *  names of indices are i, j, k, l, m, n, o and p. The indices of a body are the names in the subscripts of the first
 *  output, where the text first names it. They are read-only variables of type long. If the first output has r axes, an
 *  argument cannot have one of the first r of these letters as its name. The owner of an element of the first output
 *  computes it.
 *
 *  Subscripts: outputs are written at a permutation of the plain indices, inputs are read at affine subscripts (`A(2*i
 *  + 1, j)`; integer scalars may occur). Affine subscripts are exact 64-bit integers, whatever the types of scalars and
 *  literals in them: they do not wrap, and a value that does not fit is an error. An array that is written may be passed as
 *  one argument only, and all accesses to it must have the same subscripts.
 *
 *  Variables of loops inside the body may stand in affine subscripts of inputs, too, if the loop has the form
 *      for (int d = -8; d <= 8; d++) s += G(d+8) * A(i,j+d);
 *  The variable d is an int, long, short or uint that is declared in the loop. Both bounds are sums and products of
 *  integer literals and integer scalars. The loop counts up (< or <=, with ++ or += LITERAL) or down (> or >=, with -- or
 *  -= LITERAL); the literal is at most 32767. The loop's statement does not change d. A value that the type of d cannot
 *  hold is an error. The elements of all steps count as read, even if the loop ends early or skips steps. The exception
 *  are steps that the loop leaves out by limits at its beginning, such as `if (d > i) break;` (docs/access.md).
 *
 *  Boundaries: a subscript of an input may end in
 *      min(e, limit), max(e, limit) (arguments in any order), clamp(e, low, high): e is affine, and the limits are sums and
 *                        products of integer literals and integer scalars; up to four may be nested. clamp is
 *                        min(max(e, low), high). `A(i, clamp(j+d, 0, n-1))` repeats the elements at the edge.
 *      reflect(e, low, high)     e is mirrored at low and high, again and again until it lies between them. The
 *                        elements at the edges are not repeated: reflect(-1, 0, n-1) is 1. NumPy's mode 'reflect' pads
 *                        in the same way.
 *      symmetric(e, low, high)   the same, but the elements at the edges are repeated: symmetric(-1, 0, n-1) is 0,
 *                        symmetric(-2, 0, n-1) is 1. NumPy's mode is 'symmetric'.
 *      constant(e, low, high, value)   if e is not in low .. high, the access has this value, and nothing is read. The
 *                        value is a number or the name of a scalar, with or without a sign, and is converted to the type
 *                        of the elements. If several subscripts of an access have a value, it must be the same.
 *      e % n             the axis continues at its other end: `A((i+d+n) % n)`. n is the extent of the axis, whose first
 *                        index is 0. e must not be negative for any index, because % of a negative number is negative
 *                        in C. e may wrap around once in each direction: for some multiple m of n, all values of e lie
 *                        in m - n .. m + 2 * n - 1. If the input is a view, it must show the whole axis of its array.
 *  Only the elements that these subscripts name are moved. Indices for which a limit has an effect run a kernel that
 *  checks each read. For all other indices, and for %, reads are as fast as without a boundary. If the prelude has a
 *  function or macro with one of these names, the name means that function or macro. In reflect, symmetric and constant,
 *  low must not be above high, and the two must be less than 2^60 apart.
 *
 *  A read outside the array's grid (along a periodic axis: outside the halo, see dcl_map_halo()) gives 0 and is
 *  reported as DCL_ERR_RANGE at the next wait. A condition in the body prevents this: `i > 0 ? A(i-1) : 0`.
 *
 *  If subscripts are not affine (`A(idx(i), j)`, or another local variable), the argument must declare what the body reads:
 *  DCL_IN_ALL(A), DCL_IN_ROWS(A), DCL_IN_COLUMNS(A), or
 *    DCL_IN_HALO(A, w)         elements at most w away from the output's index along every axis (a width per axis: w0,
 *                              w1, ...). A has as many axes as the first output; axis d of A belongs to axis d of the
 *                              output.
 *    DCL_IN_CROSS(A, w)        the same along one axis at a time: corners are not moved.
 *    DCL_IN_BOX(A, &box)       one box of A's grid, the same for every index.
 *    DCL_IN_AT(A, lo, hi)      elements whose first subscript comes from an index array with values in lo..hi (both
 *                              included); other subscripts are arbitrary. DCL does not look at the values before the
 *                              call: it moves all of A whose first subscript is in lo..hi. This adds to the counter
 *                              `approximate` (dcl_counters).
 *    DCL_IN_FUNCTION(A, f, u)  the boxes that the program's function f returns for a tile of indices: see dcl_reads_fn.
 *                              f runs in this thread, before the call returns, once for each tile of every node (if a tile
 *                              has several boxes, once for each of them); this suits hundreds of tiles, not thousands. If
 *                              f returns several boxes, the smallest box that contains them is moved. If that box has
 *                              more elements than the boxes themselves, this adds to the counter `approximate`, too.
 *
 *  A read outside the declaration gives 0, and is reported like a read outside the grid. The error text quotes the
 *  declaration. With dcl_config.check "access" (DCL_CHECK=access), kernels also check affine reads and writes: each
 *  must lie in the box of elements that DCL has derived from the subscripts.
 *
 *  DCL parses and compiles a body at its first use and caches both, up to a limit: parse trees (about 12 KB each) up to
 *  24 MB in the program and 12 MB in a worker process, compiled programs up to about 48 MB per device. The least recently used
 *  entries are evicted. So pass values that change as DCL_VALUE, not as part of the text. If the limit is reached and
 *  every cached body is in use, a call with a new body waits for earlier operations.
 *
 *  dcl_forall_over(cluster, &box, body, ...) runs the body only at the indices of a box in the first output's grid.
 *
 *  @param cluster  NULL is an error.
 *  @param body     borrowed for the call.
 *  @param ...      1..64 arguments, with at least one OUT or INOUT. The first of these determines the index space.
 *  @return DCL_OK when started; DCL_ERR_BODY with line, column and the text marked; DCL_ERR_INVALID (arguments; NULL
 *          arrays); DCL_ERR_TIMEOUT (waited longer than DCL_WAIT_MS); the error of a failed array that is read. A call
 *          that is refused changes nothing. */
#define dcl_forall(cluster, body, ...) dcl_call_run(DCL_CALL_BODY(cluster, NULL, body, __VA_ARGS__))
#define dcl_forall_over(cluster, box, body, ...) dcl_call_run(DCL_CALL_BODY(cluster, box, body, __VA_ARGS__))
/** Planned counters of a body, summed over all nodes: dcl_explain(cluster, &counters, body, ...). See
 *  dcl_call_explain(). */
#define dcl_explain(cluster, counters_out, body, ...) \
    dcl_call_explain(DCL_CALL_BODY(cluster, NULL, body, __VA_ARGS__), DCL_ALL_NODES, (counters_out))

/** The description of a call that runs a body.
 *  @param box  in the first output's grid; NULL: all of it. */
#define DCL_CALL_BODY(cluster, box, body, ...) \
    DCLI_CALL(dcl_call_body((cluster), (box), (body), DCLI_ARGUMENTS(__VA_ARGS__)))
/** DCL_CALL_BODY with its arguments in an array: the last macro argument is an array of `count` dcl_arg. */
#define DCL_CALL_BODY_N(cluster, box, body, count, ...) \
    DCLI_CALL(dcl_call_body((cluster), (box), (body), (count), __VA_ARGS__))

/* Make a scalar argument; one function per C type. */
static inline dcl_arg dcli_value_i8(const char *n, int8_t v) { return dcl_arg_signed(n, DCL_INT8, v); }
static inline dcl_arg dcli_value_char(const char *n, char v)
{
    return (char)-1 < 0 ? dcl_arg_signed(n, DCL_INT8, v) : dcl_arg_unsigned(n, DCL_UINT8, (uint8_t)v);
}
static inline dcl_arg dcli_value_i16(const char *n, int16_t v) { return dcl_arg_signed(n, DCL_INT16, v); }
static inline dcl_arg dcli_value_i32(const char *n, int32_t v) { return dcl_arg_signed(n, DCL_INT32, v); }
static inline dcl_arg dcli_value_i64(const char *n, int64_t v) { return dcl_arg_signed(n, DCL_INT64, v); }
static inline dcl_arg dcli_value_u8(const char *n, uint8_t v) { return dcl_arg_unsigned(n, DCL_UINT8, v); }
static inline dcl_arg dcli_value_u16(const char *n, uint16_t v) { return dcl_arg_unsigned(n, DCL_UINT16, v); }
static inline dcl_arg dcli_value_u32(const char *n, uint32_t v) { return dcl_arg_unsigned(n, DCL_UINT32, v); }
static inline dcl_arg dcli_value_u64(const char *n, uint64_t v) { return dcl_arg_unsigned(n, DCL_UINT64, v); }
static inline dcl_arg dcli_value_f32(const char *n, float v) { return dcl_arg_floating(n, DCL_FLOAT, v); }
static inline dcl_arg dcli_value_f64(const char *n, double v) { return dcl_arg_floating(n, DCL_DOUBLE, v); }

#ifdef __cplusplus
}

/* In C++, overloads and templates take the place of _Generic and compound literals. */
static inline dcl_arg dcli_value(const char *n, bool v) { return dcli_value_u8(n, v); }
static inline dcl_arg dcli_value(const char *n, char v) { return dcli_value_char(n, v); }
static inline dcl_arg dcli_value(const char *n, signed char v) { return dcli_value_i8(n, v); }
static inline dcl_arg dcli_value(const char *n, short v) { return dcli_value_i16(n, v); }
static inline dcl_arg dcli_value(const char *n, int v) { return dcli_value_i32(n, v); }
static inline dcl_arg dcli_value(const char *n, long v) { return dcli_value_i64(n, v); }
static inline dcl_arg dcli_value(const char *n, long long v) { return dcli_value_i64(n, v); }
static inline dcl_arg dcli_value(const char *n, unsigned char v) { return dcli_value_u8(n, v); }
static inline dcl_arg dcli_value(const char *n, unsigned short v) { return dcli_value_u16(n, v); }
static inline dcl_arg dcli_value(const char *n, unsigned v) { return dcli_value_u32(n, v); }
static inline dcl_arg dcli_value(const char *n, unsigned long v) { return dcli_value_u64(n, v); }
static inline dcl_arg dcli_value(const char *n, unsigned long long v) { return dcli_value_u64(n, v); }
static inline dcl_arg dcli_value(const char *n, float v) { return dcli_value_f32(n, v); }
static inline dcl_arg dcli_value(const char *n, double v) { return dcli_value_f64(n, v); }
#define DCLI_VALUE(name, x) dcli_value((name), (x))

template <class... W> inline dcl_arg dcli_widths(dcl_access access, const char *name, dcl_array *array, W... width)
{
    const int64_t list[] = {static_cast<int64_t>(width)...};
    return dcl_arg_halo(access, name, array, static_cast<int>(sizeof...(W)), list);
}
#define DCLI_WIDTHS(access, name, array, ...) dcli_widths((access), (name), (array), __VA_ARGS__)

template <size_t N> struct dcli_arguments {
    dcl_arg arg[N];
};
template <class... A> inline dcli_arguments<sizeof...(A)> dcli_list(const A &...args) { return {{args...}}; }
#define DCLI_ARGUMENTS(...) dcli_list(__VA_ARGS__)
/* `list` is a temporary: it is valid until the end of the full expression that makes the call. */
template <size_t N>
inline dcl_call dcl_call_body(dcl_cluster *cluster, const dcl_box *box, const char *body, const dcli_arguments<N> &list)
{
    return dcl_call_body(cluster, box, body, static_cast<int>(N), list.arg);
}
#else
/* clang-format off */
#define DCLI_VALUE(name, x)                                                                         \
    _Generic((x), _Bool: dcli_value_u8, char: dcli_value_char, signed char: dcli_value_i8,            \
             short: dcli_value_i16, int: dcli_value_i32, long: dcli_value_i64,                      \
             long long: dcli_value_i64, unsigned char: dcli_value_u8,                               \
             unsigned short: dcli_value_u16, unsigned: dcli_value_u32,                              \
             unsigned long: dcli_value_u64, unsigned long long: dcli_value_u64,                     \
             float: dcli_value_f32, double: dcli_value_f64)((name), (x))
/* clang-format on */
#define DCLI_WIDTHS(access, name, array, ...)                                                          \
    dcl_arg_halo((access), (name), (array), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                 (int64_t[]){__VA_ARGS__})
#define DCLI_ARGUMENTS(...) \
    (int)(sizeof((dcl_arg[]){__VA_ARGS__}) / sizeof(dcl_arg)), (dcl_arg[]) { __VA_ARGS__ }
#endif
#endif

/* kernel/body.h - a parsed loop body or tile kernel: its parameters and accesses, the OpenCL C program generated from
 * it, and the numbers (rows) that its kernels are called with. Pure functions on text. */
#ifndef DCLI_KERNEL_BODY_H
#define DCLI_KERNEL_BODY_H

#include <dcl/forall.h>

#include "segment/condition.h"
#include "segment/footprint.h"

enum {
    DCLI_MAX_PARAMS = 64,
    DCLI_MAX_REDUCED_PARAMS = DCLI_MAX_PARAMS - 2, /* most that a reduction to values has: the parser adds two */
    DCLI_MAX_RESULTS = 8,                          /* most results of a reduction */
    DCLI_PARTIAL_LONGS = 6,                        /* length of a partial result */
    DCLI_PARTIAL_SLOTS = 64, /* partial results per node and result: each work-item of a launch has one of its own */
    DCLI_GROUP_SLOTS = 1024, /* where a node is a GPU */
    DCLI_GROUPS_FROM = 2,    /* of these, the first that a work-group has; those before are the node's */
    DCLI_MAX_ACCESSES = 64,  /* most distinct (array, subscripts) pairs of one body */
    DCLI_MAX_BODY_BYTES = 1 << 16,
    DCLI_MAX_CONDITIONS = 24,             /* most bounds in DCL_OVER */
    DCLI_REPORT_SPARE = 2 + DCL_MAX_RANK, /* index in the report: where a write outside goes */
    DCLI_REPORT_ZERO,                     /* index in the report: what a tile kernel reads instead of an element
                                             outside */
    DCLI_REPORT_LONGS                     /* length of the report in longs */
};

/** A parameter of a body as declared by the caller. */
typedef struct dcli_param {
    char name[64];     /* OPERATOR: followed by a blank and the neutral element, a constant of OpenCL C */
    dcl_access access; /* any but DCL_ACCESS_PRELUDE */
    dcl_type type;
    int rank; /* arrays: 1..DCL_MAX_RANK; VALUE: 0; RESULT: 0, or the rank of an array that is reduced into by keys, or
                   into one of its elements */
    int turned; /* the axis of the array along which elements are contiguous in memory: 0 the last, 1 the one before
                   it, ...; -1: none. RESULT of a rank: 0 reduced into by keys, 1 one element is */
} dcli_param;

/** Value of a scalar parameter in a call; its type selects the member, as in dcl_arg. */
typedef union dcli_scalar {
    int64_t i;
    uint64_t u;
    double f;
} dcli_scalar;

/** How a result is reduced. */
typedef enum dcli_fold {
    DCLI_FOLD_SUM, /* += and -= */
    DCLI_FOLD_PRODUCT,
    DCLI_FOLD_MIN,
    DCLI_FOLD_MAX,
    DCLI_FOLD_AND,
    DCLI_FOLD_OR,
    DCLI_FOLD_XOR,
    DCLI_FOLD_ANY, /* any= and all=: whether some value is not 0, whether none is 0 */
    DCLI_FOLD_ALL,
    DCLI_FOLD_OWN /* an operator of the program: a function of its prelude */
} dcli_fold;

/** A result of a reduction: parameter `param` is reduced over all indices, or, if it is an output, over those that it does not
 *  have. */
typedef struct dcli_result {
    int param;
    bool used;
    dcli_fold fold;
    int combine; /* OWN: the parameter that is the operator */
    int access;  /* of an output: the access that is written */
    bool fast;   /* sums of floating-point numbers may be added in any order */
    bool placed; /* min= and max=: also find the index */
    int element; /* if the result is an array element such as R(0): the token of its first opening parenthesis */
} dcli_result;

/** An access: an array with one list of subscripts. It may occur several times in the text. */
typedef struct dcli_body_access {
    int param;
    bool read; /* some occurrence reads the value that the element had before this iteration */
    bool written;
    bool conditional; /* written, but perhaps not at every index, because all writes are inside if, a loop, switch,
                         ?:, && or || */
    dcli_reach reach;
    int unit_axis; /* the loop axis, or inner axis, along which the access is contiguous: the subscript of the array's contiguous
                         axis (param.turned) contains its index, with coefficient 1, and no other subscript does; -1:
                         none or unknown */
    int line, column; /* position of its first occurrence in the user's text, both from 1 */
} dcli_body_access;

/** How many work-items run a tile kernel, by dimension of the launch: dimension 0 is the last axis of the first output,
 *  1 the axis before it, 2 all others together. */
enum { DCLI_ITEM_DIMENSIONS = 3 };
typedef struct dcli_items {
    int64_t group[DCLI_ITEM_DIMENSIONS]; /* work-group sizes; all 0: the library chooses, and the kernel must not
                                            depend on them */
    int64_t count[DCLI_ITEM_DIMENSIONS]; /* work-items per tile; 0: one per element along that dimension */
} dcli_items;

/** A parsed body, made by dcli_body_parse() and immutable afterwards. All rooms may read the fields.
 *
 *  Loop axis m is axis m of the first output's grid; its index is the one at that position of the first output's
 *  subscripts. Loop axis 0 is the outermost loop. */
typedef struct dcli_body {
    char *text, *prelude; /* prelude: "" if there is none */
    char *over;           /* the text of DCL_OVER; NULL: there is none */
    bool slanted;         /* DCL_OVER has bounds that depend on other indices: the index space need not be a box */
    int param_count;
    dcli_param params[DCLI_MAX_PARAMS];
    int owner;                       /* the parameter whose owners compute: the first output; of a reduction the first
                                        input that is read at all indices, each in a subscript of its own */
    int home;                        /* its access whose subscripts are the indices, in the order of the loop axes */
    int space_rank;                  /* number of loop axes: rank of that parameter */
    int index_of_axis[DCL_MAX_RANK]; /* the name of loop axis m's index: 0 = i, 1 = j, ...; then of the inner axes */
    unsigned indices;                /* the set of index names in use: bit 0 = i, ... */
    int result_count;                /* more than 0: the body is a reduction */
    dcli_result result[DCLI_MAX_RESULTS];
    bool along; /* the results are the outputs: the reduction is along axes, and has no partial results */
    bool fast;  /* `along`, in a call with DCL_FAST: a contraction may be computed in any order (kernel/product.h) */
    int inner_rank; /* of such a reduction, the number of inner axes: the indices that the outputs do not have, in the order of
                       their names. Inner axis q is axis space_rank + q of index_of_axis */
    bool outline;   /* parsed by dcli_outline_parse() */
    bool own_space; /* outlines only: no input is read at all indices. There is no home and no owner; loop axes are the
                      indices in the order of the alphabet */
    bool keyed;     /* the results are arrays, whose elements the body selects by keys (kernel/keyed.h) */
    int partials; /* reductions that are not along axes: the first of the parameters that the parser adds. To values: the
                     partial results, an array of longs, and a stamp, a scalar of type long. Each node uses its own part of the array: work-item
                     w of a launch adds to slot w, of dcli_slot_longs(). The first long of a slot is
                     the stamp of the reduction that used it last: if it is another one, the slot begins as empty. Then there are
                     result_count partial results. All 0 means: no values. On a GPU only slot 0 has
                     a stamp. The second long of slot 1 counts the work-groups of the running launch that have ended, and work-group g leaves its
                     partial results in slot DCLI_GROUPS_FROM + g, from which the last one merges them into slot 0. Keyed reductions: for
                     each result an array of partial results, then for each axis of each result two scalars of type long, the
                     first index and the number of indices. A node's partial results of a result follow one another, in
                     the order of its elements, the last axis fastest */
    int added;    /* number of parameters that the parser adds */
    bool blind;   /* indices are used in affine subscripts only, so what is computed does not depend on the index */
    int access_count;
    dcli_body_access access[DCLI_MAX_ACCESSES];
    bool tile_kernel; /* a tile kernel, not a loop body: its text is what a work-item runs; see kernel/tile_kernel.h */
    dcli_items items; /* tile kernels: the work-items that run it */
    struct dcli_body_inside *inside; /* tokens and subscript expressions, for the kernel room only */
} dcli_body;

/** Whether a parameter is a result of a reduction. */
static inline bool dcli_param_is_result(const dcli_param *param)
{
    return param->access >= DCL_ACCESS_RESULT && param->access <= DCL_ACCESS_RESULT_PLACED;
}

/** Whether a parameter is no array: a value, a result or an operator. */
static inline bool dcli_param_is_scalar(const dcli_param *param)
{
    return param->access == DCL_ACCESS_VALUE || param->access == DCL_ACCESS_OPERATOR || dcli_param_is_result(param);
}

/** Whether a parameter is an array that the body writes. */
static inline bool dcli_param_is_output(const dcli_param *param)
{
    return param->access == DCL_ACCESS_OUT || param->access == DCL_ACCESS_INOUT;
}

/** Whether the body is a reduction to values, which has partial results. */
static inline bool dcli_body_is_reduced(const dcli_body *body) { return body->result_count > 0 && !body->along; }

/** Whether the body is a reduction to values that also writes outputs: each index is evaluated once only. */
static inline bool dcli_body_writes_beside(const dcli_body *body)
{
    return dcli_body_is_reduced(body) && !body->keyed && body->access[body->home].written;
}

/** Whether values must be combined in one order, because their combination rounds or is the program's. */
static inline bool dcli_fold_is_ordered(dcli_fold fold, dcl_type type)
{
    return fold == DCLI_FOLD_OWN || (fold == DCLI_FOLD_PRODUCT && type >= DCL_HALF);
}

/** Whether some result of the body is combined in one order. */
static inline bool dcli_body_is_ordered(const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++)
        if (dcli_fold_is_ordered(body->result[r].fold, body->params[body->result[r].param].type))
            return true;
    return false;
}

/** Whether the index of some result is found. */
static inline bool dcli_body_places(const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++)
        if (body->result[r].placed)
            return true;
    return false;
}

/** Number of arrays of partial results: the parameters from dcli_body.partials on. */
static inline int dcli_body_partial_arrays(const dcli_body *body)
{
    return body->keyed ? body->result_count : dcli_body_is_reduced(body);
}

/** Whether a parameter is an array of partial results. */
static inline bool dcli_body_has_partials(const dcli_body *body, int param)
{
    return param >= body->partials && param < body->partials + dcli_body_partial_arrays(body);
}

/** Length in longs of a slot of partial results, for this many results: a stamp, and a partial result for each. */
static inline int64_t dcli_slot_longs(int results) { return 1 + (int64_t)results * DCLI_PARTIAL_LONGS; }

/** Number of parameters that the program declares: all but those that the parser adds. */
static inline int dcli_body_declared(const dcli_body *body) { return body->param_count - body->added; }

/** Whether a name is an index of the body. @param index  its number (i = 0), -1 for other names. */
static inline bool dcli_body_has_index(const dcli_body *body, int index)
{
    return index >= 0 && (body->indices >> index & 1) != 0;
}

/** Parse and check a body against its parameters.
 *  @param prelude  "" for none.
 *  @param params   [count]; names are identifiers, unique, not reserved (index names in use, OpenCL C keywords and types,
 *                  names that begin with dcl_ or DCL_).
 *  @return DCL_OK, or DCL_ERR_BODY / DCL_ERR_INVALID / DCL_ERR_NOMEM. Body errors say
 *          `line L, column C: ...; ...` and quote the user's line with a caret under the column. */
dcl_status dcli_body_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                           dcli_body **body_out);
/** As dcli_body_parse(), for a reduction along axes, whose outputs occur in statements `C(i,j) += ...;`. */
dcl_status dcli_along_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                            dcli_body **body_out);
/** Whether a reduction along axes is a chain of fused multiply-adds (a contraction). */
bool dcli_body_is_chain(const dcli_body *body);
/** Whether batches may compute a chain in parts, one after the other: DCLI_ROW_INNER_BEFORE. The chain has one inner axis.
 *  @param factors_out  [2] accesses of the factors. */
bool dcli_body_has_panels(const dcli_body *body, int factors_out[2]);
/** As dcli_body_parse() or, if `along`, dcli_along_parse(). @param over  the text of DCL_OVER; "" for none. @param fast  the
 *  call has DCL_FAST. */
dcl_status dcli_over_parse(bool along, bool fast, const char *text, const char *prelude, const char *over, int count,
                           const dcli_param params[], dcli_body **body_out);
/** As dcli_over_parse() of a reduction to values, whose results may be combined in one order (kernel/leaves.h). No program can be
 *  generated from it. */
dcl_status dcli_outline_parse(const char *text, const char *prelude, const char *over, int count,
                              const dcli_param params[], dcli_body **body_out);
/** Refuse a body in which no input is read at all indices. @return DCL_ERR_BODY. */
dcl_status dcli_refuse_own_space(const dcli_body *body);
/** Find the ranges of the inner axes: those of the arrays' axes in whose subscripts their indices stand alone.
 *  @param grids      [param_count] by parameter; NULL: a scalar.
 *  @param start_out  [inner_rank], as count_out.
 *  An index to which DCL_OVER gives a range has what these axes have in common; count -1: it stands alone nowhere.
 *  @return DCL_OK, or DCL_ERR_INVALID: another index, inner or not, has two ranges. */
dcl_status dcli_along_ranges(const dcli_body *body, const dcl_grid *const grids[], int64_t start_out[],
                             int64_t count_out[]);

/** Whether DCL_OVER gives an index a range. @param index  its number (i = 0). */
bool dcli_over_has(const dcli_body *body, int index);
/** The conditions of DCL_OVER for one call, by loop axes and then inner axes.
 *  @param out  [DCLI_MAX_CONDITIONS]
 *  @return DCL_OK, or DCL_ERR_BODY: a bound overflows. */
dcl_status dcli_over_conditions(const dcli_body *body, const dcli_scalar values[], dcli_condition out[],
                                int *count_out);
/** The box around the kept indices that DCL_OVER allows: conditions on reduced indices do not count.
 *  @param grid  whose indices the loop axes have.
 *  @return DCL_OK, or DCL_ERR_BODY: the box would leave the grid. */
dcl_status dcli_over_box(const dcli_body *body, const dcli_scalar values[], const dcl_grid *grid, dcl_box *box_out);
/** Narrow the ranges of the inner axes to what DCL_OVER allows for the indices of a box.
 *  @param start  [inner_rank], as count: in: as of dcli_along_ranges().
 *  @return DCL_OK, or DCL_ERR_BODY: a range is unknown, leaves an array's axis, or overflows. */
dcl_status dcli_over_inner(const dcli_body *body, const dcli_scalar values[], const dcl_box *box, int64_t start[],
                           int64_t count[]);
void dcli_body_free(dcli_body *body);
/** Bytes of memory that a parsed body takes. */
size_t dcli_body_bytes(const dcli_body *body);

/** The kind of reach of an array whose parameter has this access; AFFINE if none is declared. */
dcli_reach dcli_reach_of(dcl_access access);

/** The loop axis along which a transposed input is contiguous; -1: there is none. An input is transposed if it is
 *  contiguous along this axis, not along the innermost one, but also depends on the innermost one; not if it depends on
 *  loops of the body. In reductions along axes the innermost axis is the inner one; there is no transposed input if there
 *  are several. */
int dcli_transposed_axis(const dcli_body *body);

/** Compute the subscripts of access `a` for one call, whose scalars have values. Declared reaches are not included.
 *  @param values  [param_count], indexed by parameter.
 *  @return DCL_OK, or DCL_ERR_BODY (a coefficient overflows, a scalar in a subscript is not an integer). */
dcl_status dcli_body_subscripts(const dcli_body *body, int a, const dcli_scalar values[], dcli_subscripts *out);

/** Whether subscript d of access a is taken modulo a period. */
bool dcli_body_wraps(const dcli_body *body, int a, int d);
/** Whether some subscript of access a is clamped. Such accesses have DCLI_ROW_WIDTH. */
bool dcli_body_clamps(const dcli_body *body, int a);

/** Whether the body writes parameter k. */
bool dcli_body_writes(const dcli_body *body, int k);

/** Whether some subscript, its boundary, or a bound of a loop whose variable is in a subscript, depends on scalar parameter k. Other
 *  scalars do not influence what moves. */
bool dcli_body_subscripts_use(const dcli_body *body, int k);

/** Kinds of devices that code is generated for. */
typedef enum dcli_form {
    DCLI_FORM_CPU, /* a work-item runs some rows of a table, each a whole box; work-groups have one work-item, there
                      are no barriers */
    DCLI_FORM_GPU  /* a work-item computes one index of a row, or a few; a launch runs boxes of one shape */
} dcli_form;

/** The kernels of a generated program, with their names. */
typedef enum dcli_variant {
    DCLI_VARIANT_UNIT,    /* "dcl_unit": the fast one; requires the innermost steps that dcli_row_is_unit() checks */
    DCLI_VARIANT_ANY,     /* "dcl_any": rows with any steps; no checks */
    DCLI_VARIANT_CHECKED, /* "dcl_checked": any steps; reads are checked against bounds, and violations reported */
    DCLI_VARIANT_COUNT,
    DCLI_VARIANT_ONE = DCLI_VARIANT_COUNT,      /* GPUs: "dcl_one": as dcl_unit, for a launch of one row */
    DCLI_VARIANT_STREAMED = DCLI_VARIANT_COUNT, /* CPUs: "dcl_streamed": as dcl_unit, but stores without caching; for
                                                   what dcli_rows_stream() says */
    DCLI_VARIANT_GATHERED,                      /* CPUs: "dcl_gathered": as dcl_unit, but gathers inputs first:
                                                   kernel/gather.h */
    DCLI_VARIANT_MIXED = DCLI_VARIANT_GATHERED, /* GPUs: "dcl_mixed": as dcl_unit, but every second row reads inputs
                                                   from other memory */
    DCLI_VARIANT_STRAIGHT,                      /* CPUs: "dcl_straight": as dcl_gathered, with all innermost steps 1 */
    DCLI_VARIANT_MOST
} dcli_variant;

/** Generate the program: complete OpenCL C with some of these kernels.
 *
 *  Kernel arguments, in this order:
 *    - one `__global T *` per access, in the order of body->access, without an offset: the row has it;
 *    - dcl_mixed: one more per access that dcli_body_may_mix(): what the rows with odd numbers in the table use instead;
 *    - reductions: `__global long *`, the node's part of the partial results;
 *    - one scalar per VALUE parameter, in the order of the parameters, in its own type;
 *    - CPU: `__global const long *table` of rows of dcli_row_length() longs; `ulong at`: if not 0, the table is at this
 *      address instead; `long rows`: their number; any number of work-items share them; `ulong claims_at` and `ulong
 *      turn`: if claims_at is not 0, they share them by the claims at this address (kernel/claim.h), in this turn, 1 to
 *      DCLI_CLAIM_TURNS; dcl_gathered and dcl_straight: as in kernel/gather.h, then claims_at and turn;
 *    - GPU: `dcl_row row`, a struct of dcli_row_length() longs by value; dcl_one has no more arguments for rows, the
 *      others: `__global const long *table` of dcli_row_own() longs per row, and `uint first, rows, each`. If `each` is 0,
 *      `row` is run; otherwise `rows` rows whose own numbers are in the table, from number `first` on, each by `each`
 *      work-items along dimension 2. If there is a dcl_one, `each` of dcl_unit must not be 0; that of dcl_mixed never is;
 *    - `__global long *report`, [DCLI_REPORT_LONGS]: [0] 0 = nothing reported yet (set by an atomic), [1] access
 *      number, [2..] the subscripts of the first access outside.
 *
 *  A row consists of fields (dcli_row_field). Where an element of an access lies:
 *    AFFINE: element t of the box at offset + sum t[m] * step[m];
 *    others: element e (indices) at offset + sum (e[d] - low[d]) * step[d] when 0 <= e[d] - low[d] < extent[d], else the
 *            access is reported and reads 0; HALO, CROSS: also if e lies farther than width[d] from the loop's index;
 *            CROSS: also if more than one index differs from the loop's;
 *            BOX, FUNCTION: e[d] - low[d] above is divided by width[d], and also reported if there is a remainder;
 *            ROWS, COLUMNS: also if the index that the declaration fixes is not that of the loop.
 *
 *  @param watched  dcl_checked also checks where outputs are written; a write outside is reported and lost.
 *  @param gathers  whether dcl_gathered and dcl_straight, or dcl_mixed for a GPU, are wanted, if the body can be run by
 *                  them: compiling these takes long, and few operations need them.
 *  @param names_out  [DCLI_VARIANT_MOST] the names of the kernels, by variant; NULL: the program does not have it.
 *  Contraction is off; built-in functions are called in scalar width. Lines of the user's text keep their numbers
 *  (#line).
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_body_program(const dcli_body *body, dcli_form form, bool watched, bool gathers,
                        const char *names_out[DCLI_VARIANT_MOST]);
/** The text of dcli_body_program() with all kernels that the body can be run by. */
char *dcli_body_source(const dcli_body *body, dcli_form form, bool watched);
/** Whether the program for a GPU has dcl_one, unless it is watched: then only dcl_checked is launched. */
bool dcli_body_has_one(const dcli_body *body);
/** Whether the program for a GPU can have dcl_mixed. */
bool dcli_body_mixes(const dcli_body *body);
/** Whether dcl_mixed can read access a in other memory: the body only reads it, by affine subscripts. */
bool dcli_body_may_mix(const dcli_body *body, int a);
/** Name of the kernel of a variant. */
const char *dcli_variant_kernel(dcli_form form, dcli_variant variant);

/** The fields of a row. A row is a list of 64-bit integers that describes one box to a kernel: its size, and where each
 *  access finds its elements. The table in kernel/rows.c says which accesses have a field, and how long it is.
 *  dcli_row_at() says where a field is in the row. The field STEP directly follows OFFSET. */
typedef enum dcli_row_field {
    /* fields of the box, per loop axis: start, stride and count */
    DCLI_ROW_START,
    DCLI_ROW_STRIDE,
    DCLI_ROW_COUNT,
    DCLI_ROW_INNER_START, /* per inner axis */
    DCLI_ROW_INNER_BEFORE, /* contractions: inner indices whose products earlier batches have added, so that the chain goes on */
    DCLI_ROW_INNER_COUNT,
    /* fields of each access: */
    DCLI_ROW_OFFSET, /* one number: offset in elements of the element from which `step` counts; tile kernels: that at
                        local index 0 */
    DCLI_ROW_STEP,   /* step in memory from one index to the next, in elements. AFFINE: per loop axis, then per inner
                        axis of the access; others: per axis of the array */
    DCLI_ROW_LOW,    /* declared reaches, per axis: the least index present; tile kernels: the least local index
                        present */
    DCLI_ROW_EXTENT, /* declared reaches: number of indices present */
    DCLI_ROW_WIDTH, /* HALO, CROSS: the declared width; BOX, FUNCTION: stride of the indices present; AFFINE with clamped
                        subscripts: step in memory per index of the array */
    DCLI_ROW_HIGH,  /* tile kernels: end of the local indices present; not above LOW: none is present */
    DCLI_ROW_FIRST, /* tile kernels: the index in the grid that local index 0 stands for */
    DCLI_ROW_BY,    /* tile kernels: how much the index in the grid grows per local index */
    /* The bounds of affine accesses and declared reaches that dcl_checked checks: those of the array's grid, or of a
     * part of it. They follow all other fields. */
    DCLI_ROW_GRID_LOW,
    DCLI_ROW_GRID_END, /* end: the last index + 1 */
    DCLI_ROW_FIELDS
} dcli_row_field;

/** Index of the first number of a field in a row. @param a  the access; any if the field is of the box. @return -1: the
 *  access does not have the field. */
int dcli_row_at(const dcli_body *body, dcli_row_field field, int a);
/** Length of a field in longs; 0: the access does not have it. */
int dcli_row_field_length(const dcli_body *body, dcli_row_field field, int a);
/** Length of a row in longs. */
int dcli_row_length(const dcli_body *body);
/** Whether the numbers of a field are "own numbers" of a row: on GPUs one launch can run rows that differ only in
 *  these. */
bool dcli_row_is_own(dcli_row_field field);
/** List the indices, in a row, of its own numbers (dcli_row_is_own()), in the order in which the table of a launch has
 *  them. @param at_out  [dcli_row_length()]. @return how many there are. */
int dcli_row_own(const dcli_body *body, int at_out[]);

/** Make a row for a part of a row's box: the elements number lo .. lo + count - 1 per axis. */
void dcli_row_part(const dcli_body *body, const int64_t row[], const int64_t lo[], const int64_t count[],
                   int64_t part_out[]);

/** Join rows of a blind body into fewer rows with the same elements, for a launch without checks. START and STRIDE of
 *  joined rows mean nothing, because a blind body does not use indices. The order of rows changes.
 *  @param straight  the rows are for dcl_straight, else for dcl_unit.
 *  @param rows      [*count_in_out] of at least one element.
 *  @return DCL_OK; DCL_ERR_NOMEM: the rows are valid, joined or not. */
dcl_status dcli_rows_join(const dcli_body *body, bool straight, int64_t rows[], int64_t *count_in_out);

/** Whether the rows of a launch on a CPU are better run by dcl_streamed than by dcl_unit: the body has it, its first output does
 *  not fit into caches, and much of it is written. */
bool dcli_rows_stream(const dcli_body *body, const int64_t rows[], int64_t count);

/** Whether dcl_straight may run a row: accesses that are contiguous along some axis and depend on the innermost one
 *  have step 1 along that. */
bool dcli_row_is_straight(const dcli_body *body, const int64_t row[]);

/** Whether dcl_unit may run a row: its innermost steps (for transposed accesses the step along unit_axis) are those
 *  that the code was generated for, and a transposed box is not longer than a launch can cover (2 million indices
 *  across).
 *
 *  dcl_unit may read elements that a condition of the body excludes (`i > 0 ? B(j,i) : 0`). Therefore a row whose
 *  footprint was clipped at the edge of a grid must be run by dcl_checked, which reads only what the body asks for. */
bool dcli_row_is_unit(const dcli_body *body, const int64_t row[]);

/** Whether the cost of an element may be high, and differ from element to element: the body has loops, or functions of its
 *  own. */
bool dcli_body_may_be_costly(const dcli_body *body);

/** CPU: the number of table rows into which to divide the computation of `elements`. It depends on their number and, if
 *  there are few, on their measured cost.
 *  @param units  compute units of the device. @param element_ns  time of one element on one unit; 0: unknown.
 *  @return 1 if another row would cost more than it gains. */
int64_t dcli_body_rows(const dcli_body *body, int64_t elements, int units, double element_ns);
/** CPU: choose the shape of table rows into which a box of the loop axes is cut: the elements per axis of one row. It
 *  is chosen for caches, and so that a large box has several rows per compute unit. A small box is one row, unless its
 *  elements are costly.
 *  @param count  [space_rank] of the box. @param units, element_ns  as above.
 *  @return whether neighbouring rows of the table should come from distant parts of the box. This is so if elements are
 *          costly: then locality does not matter, but the cost may rise or fall along the box. */
bool dcli_body_row_shape(const dcli_body *body, const int64_t count[], int units, double element_ns,
                         int64_t shape_out[]);
/** GPU: the size of a launch. */
typedef struct dcli_launch_size {
    int dimensions; /* number of dimensions of the launch, 1..3 */
    size_t global[3], local[3];
    int64_t rows;  /* rows that the launch runs: fewer than asked for if these are too many for a launch */
    uint32_t each; /* the kernel's argument `each` */
} dcli_launch_size;

/** GPU: find the size of a launch for rows of one shape; it may run fewer rows than given. @param count  [space_rank]
 *  of each row. @param rows  1 or more. @param in_table  the kernel reads the rows' own numbers from the table; false:
 *  there is one row, in the kernel's argument. */
dcli_launch_size dcli_body_launch_size(const dcli_body *body, dcli_variant variant, const int64_t count[], int64_t rows,
                                       bool in_table);

/** Translate a compiler's log into a sentence about the user's text: line and column there, the message, and the
 *  line with a caret. @param form, watched, gathers  as for dcli_body_program(). @return text freed with dcli_free(); NULL:
 *  DCL_ERR_NOMEM. */
char *dcli_body_log(const dcli_body *body, dcli_form form, bool watched, bool gathers, const char *build_log);

#endif

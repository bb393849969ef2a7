/* kernel/body.h - a loop body: parsed, its subscripts, its OpenCL C. Pure: text in, text out. */
#ifndef DCLI_KERNEL_BODY_H
#define DCLI_KERNEL_BODY_H

#include <dcl/forall.h>

#include "segment/footprint.h"

enum {
    DCLI_MAX_PARAMS = 64,
    DCLI_MAX_ACCESSES = 64, /* distinct (array, subscripts) pairs of one body */
    DCLI_MAX_BODY_BYTES = 1 << 16,
    DCLI_REPORT_SPARE = 2 + DCL_MAX_RANK, /* where a write that is outside goes, in the report */
    DCLI_REPORT_ZERO,                     /* what a tile kernel reads that is outside */
    DCLI_REPORT_LONGS                     /* of the report */
};

/** A parameter of a body as declared by the caller. */
typedef struct dcli_param {
    char name[64];
    dcl_access access; /* not PRELUDE */
    dcl_type type;
    int rank;   /* arrays: 1..DCL_MAX_RANK; VALUE: 0 */
    int turned; /* neighbours along which axis are neighbours in memory: 0 the last, 1 the one before it, ...; -1: none */
} dcli_param;

/** The value of a scalar parameter at a call, in the member its type selects as in dcl_arg. */
typedef union dcli_scalar {
    int64_t i;
    uint64_t u;
    double f;
} dcli_scalar;

/** One distinct access: an array at one list of subscripts. */
typedef struct dcli_body_access {
    int param;
    bool read; /* reads what was there before this iteration */
    bool written;
    bool conditional; /* written, but not surely at every index: only behind some if, loop, switch, ?:, && or || */
    dcli_reach reach;
    int unit_axis;    /* loop axis whose index is, with coefficient +1, the subscript of the axis whose neighbours are
                         neighbours in memory (the last, unless param.turned); -1: none or not known */
    int line, column; /* of its first occurrence in the user's text, from 1 */
} dcli_body_access;

/** Work-items of a tile kernel, by dimension of a launch: 0 runs the last axis of the first output, 1 the one before it, 2 all
 *  others together. */
enum { DCLI_ITEM_DIMENSIONS = 3 };
typedef struct dcli_items {
    int64_t group[DCLI_ITEM_DIMENSIONS]; /* of a work-group; all 0: the library chooses, and the text must not care */
    int64_t count[DCLI_ITEM_DIMENSIONS]; /* of a tile; 0: one for each of its elements along that dimension */
} dcli_items;

/** A parsed body. Fields may be read by all; made by dcli_body_parse(). Immutable afterwards.
 *
 *  Loop axis m is axis m of the first output's grid: the index that stands there in the first output's subscripts. The
 *  loop nest runs loop axis 0 outermost. */
typedef struct dcli_body {
    char *text, *prelude; /* prelude may be "" */
    int param_count;
    dcli_param params[DCLI_MAX_PARAMS];
    int first_output;                /* param number */
    int space_rank;                  /* loop axes = rank of the first output */
    int index_of_axis[DCL_MAX_RANK]; /* which index name (0 = i, 1 = j, ...) loop axis m runs */
    bool blind; /* indices stand in affine subscripts alone: what is computed does not depend on where */
    int access_count;
    dcli_body_access access[DCLI_MAX_ACCESSES];
    bool tile_kernel; /* no body: the text is what work-items run, tile by tile; see kernel/tile_kernel.h */
    dcli_items items; /* then: how many */
    struct dcli_body_inside *inside; /* tokens, subscript expressions: kernel room only */
} dcli_body;

/** Parse and check a body against its parameters.
 *  @param prelude  "" for none.
 *  @param params   [count]; names are identifiers, unique, not reserved (index names in use, OpenCL C keywords and types,
 *                  names that begin with dcl_ or DCL_).
 *  @return DCL_OK, or DCL_ERR_BODY / DCL_ERR_INVALID / DCL_ERR_NOMEM. Body errors say
 *          `line L, column C: ...; ...` and quote the user's line with a caret under the column. */
dcl_status dcli_body_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                           dcli_body **body_out);
void dcli_body_free(dcli_body *body);
/** Memory that it takes. */
size_t dcli_body_bytes(const dcli_body *body);

/** What an access of an array that is declared so reaches. */
dcli_reach dcli_reach_of(dcl_access access);

/** The subscripts of access `a` at a call: scalars take their values. What the call declares is left out.
 *  @param values  [param_count], indexed by parameter.
 *  @return DCL_OK, or DCL_ERR_BODY (a coefficient overflows, a scalar in a subscript is not an integer). */
dcl_status dcli_body_subscripts(const dcli_body *body, int a, const dcli_scalar values[], dcli_subscripts *out);

/** Whether some subscript depends on scalar parameter k: only such scalars matter to where data moves. */
bool dcli_body_subscripts_use(const dcli_body *body, int k);

/** Kinds of device a text is generated for. */
typedef enum dcli_form {
    DCLI_FORM_CPU, /* a work-item runs whole boxes: its share of the table's rows; work-group size 1, no barriers */
    DCLI_FORM_GPU  /* a work-item is one index (or a few); a launch runs boxes of one shape */
} dcli_form;

/** Kernels in every generated program. */
typedef enum dcli_variant {
    DCLI_VARIANT_UNIT,    /* "dcl_unit": innermost steps are as dcli_row_is_unit() wants them; the fast one */
    DCLI_VARIANT_ANY,     /* "dcl_any": any steps */
    DCLI_VARIANT_CHECKED, /* "dcl_checked": any steps; reads are checked against bounds and reported */
    DCLI_VARIANT_COUNT,
    DCLI_VARIANT_GATHERED = DCLI_VARIANT_COUNT, /* "dcl_gathered": as dcl_unit; gathers inputs first: kernel/gather.h */
    DCLI_VARIANT_STRAIGHT,                      /* "dcl_straight": as that, and all innermost steps are 1 */
    DCLI_VARIANT_MOST
} dcli_variant;

/** How many of them the program of a body has. */
int dcli_body_kernel_count(const dcli_body *body, dcli_form form, bool watched);

/** Generate the program: complete OpenCL C with these kernels.
 *
 *  Kernel arguments, in this order:
 *    - one `__global T *` per access, in the order of body->access (already includes no offset: the row has it);
 *    - one scalar per VALUE parameter, in the order of the parameters, in its own type;
 *    - CPU: `__global const long *table` of rows of dcli_row_length() longs, `long rows`: any number of work-items share
 *      them; dcl_gathered and dcl_straight: what kernel/gather.h says;
 *      GPU: `dcl_row row`, a struct of dcli_row_length() longs by value; `__global const long *table` of dcli_row_own() longs
 *      per row, `uint first, rows, each`: where `each` is 0 the row is run, else `rows` rows that have their own numbers in
 *      the table, from number `first` on, by `each` work-items along dimension 2 each;
 *    - `__global long *report`, [DCLI_REPORT_LONGS]: [0] 0 = nothing reported yet (set by an atomic), [1] access number,
 *      [2..] the subscripts of the first read outside.
 *
 *  A row consists of fields (dcli_row_field). Where an element of an access lies:
 *    AFFINE: element t of the box at offset + sum t[m] * step[m];
 *    others: element e (indices) at offset + sum (e[d] - low[d]) * step[d] when 0 <= e[d] - low[d] < extent[d], else it is
 *            reported and 0; HALO, CROSS: e lies within width[d] of the same index, else it is reported and 0;
 *            BOX, FUNCTION: read e[d] - low[d] above as divided by width[d], without a rest;
 *            ROWS, COLUMNS: the index that counts is that of the loop, else it is reported and 0.
 *
 *  @param watched  dcl_checked also checks where outputs are written; a write outside is reported and lost.
 *  Contraction is off; built-in functions are called in scalar width. Lines of the user's text keep their numbers (#line).
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_body_source(const dcli_body *body, dcli_form form, bool watched);
const char *dcli_variant_kernel(dcli_variant variant);

/** The fields of a row, which is all that a kernel is given for a box: lists of longs. The table in kernel/rows.c says which
 *  accesses have a field and how long it is; those who fill rows and those who generate text find fields by dcli_row_at().
 *  The field behind OFFSET is STEP. */
typedef enum dcli_row_field {
    /* of the box, per loop axis */
    DCLI_ROW_START,
    DCLI_ROW_STRIDE,
    DCLI_ROW_COUNT,
    /* of an access */
    DCLI_ROW_OFFSET, /* one: in elements, of what `step` counts from; tile kernels: of local index 0 */
    DCLI_ROW_STEP, /* elements in memory from one index to the next. AFFINE: per loop axis; others: per axis of the array */
    DCLI_ROW_LOW,    /* declared reach, per axis: least index that is there; tile kernels: least local index */
    DCLI_ROW_EXTENT, /* declared reach: how many indices are there */
    DCLI_ROW_WIDTH,  /* HALO, CROSS: as declared; BOX, FUNCTION: from an index that is there to the next */
    DCLI_ROW_HIGH,   /* tile kernels: the greatest local index that is there, + 1; not above LOW: nothing is there */
    DCLI_ROW_FIRST,  /* tile kernels: index in the grid of local index 0 */
    DCLI_ROW_BY,     /* tile kernels: from a local index to the next in the grid */
    /* of an access of a loop body, behind all of the above: what dcl_checked checks against, the array's grid or a part */
    DCLI_ROW_GRID_LOW,
    DCLI_ROW_GRID_END, /* exclusive */
    DCLI_ROW_FIELDS
} dcli_row_field;

/** Where a field begins in a row. @param a  the access; of a field of the box: any. @return -1: it has no such field. */
int dcli_row_at(const dcli_body *body, dcli_row_field field, int a);
/** How many longs a field has; 0: the access has none. */
int dcli_row_field_length(const dcli_body *body, dcli_row_field field, int a);
int dcli_row_length(const dcli_body *body);
/** Whether a field is a row's own: on GPUs, rows of a launch that differ in nothing else are run together. */
bool dcli_row_is_own(dcli_row_field field);
/** Where the own numbers of a row stand, in the order in which the table of a launch has them. @param at_out
 *  [dcli_row_length()]. @return how many there are. */
int dcli_row_own(const dcli_body *body, int at_out[]);

/** The part lo .. lo + count - 1 (per axis) of a row's box as a row. */
void dcli_row_part(const dcli_body *body, const int64_t row[], const int64_t lo[], const int64_t count[],
                   int64_t part_out[]);

/** Make fewer rows of many, of a blind body and of one launch, that is not checked: they have the same elements then, and in
 *  place of indices any others. Rows are sorted.
 *  @param straight  for dcl_straight, else for dcl_unit.
 *  @param rows      [*count_in_out] of at least one element. @return DCL_OK or DCL_ERR_NOMEM: rows as before, or settled. */
dcl_status dcli_rows_join(const dcli_body *body, bool straight, int64_t rows[], int64_t *count_in_out);

/** Whether a row may be run by dcl_straight. */
bool dcli_row_is_straight(const dcli_body *body, const int64_t row[]);

/** Whether a row may be run by dcl_unit: its innermost steps (and for transposed accesses the step along unit_axis) are
 *  what the text was generated for, and a transposed box is not longer than a launch can cover (2 million indices across).
 *  Looks at one row.
 *
 *  dcl_unit may read an element that the body guards (`i > 0 ? B(j,i) : 0`): a row whose footprint was cut at a grid's
 *  edge is run by dcl_checked, which reads only what the body asks for. */
bool dcli_row_is_unit(const dcli_body *body, const int64_t row[]);

/** CPU: how many table rows so many elements are worth: by their number, and where these are few, by their measured cost.
 *  @param units  compute units of the device. @param element_ns  time of one element on one unit; 0: not known.
 *  @return 1 where a second row would cost more than it brings. */
int64_t dcli_body_rows(const dcli_body *body, int64_t elements, int units, double element_ns);
/** CPU: how to cut a box of the loop axes into table rows: elements per axis of one row, chosen for caches and so that
 *  there are several rows per compute unit when the box is large. A small box is one row, unless its elements are costly.
 *  @param count  [space_rank] of the box. @param units, element_ns  as above.
 *  @return whether rows should take turns with rows from elsewhere in the box: elements are so costly that their places
 *          in caches do not matter, but their costs may rise or fall along the box. */
bool dcli_body_row_shape(const dcli_body *body, const int64_t count[], int units, double element_ns,
                         int64_t shape_out[]);
/** GPU: a launch. */
typedef struct dcli_launch_size {
    int dimensions; /* 1..3 */
    size_t global[3], local[3];
    int64_t rows;  /* that it runs; no launch can have more than some */
    uint32_t each; /* the kernel's argument of this name */
} dcli_launch_size;

/** GPU: the launch of rows of one shape. @param count  [space_rank] of each. @param rows  1 or more. */
dcli_launch_size dcli_body_launch_size(const dcli_body *body, dcli_variant variant, const int64_t count[],
                                       int64_t rows);

/** Turn a compiler's log into a sentence about the user's text: line, column (mapped back through the rewriting), message,
 *  the line and a caret. @param watched  as it was for the text. @return text freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_body_log(const dcli_body *body, bool watched, const char *build_log);

#endif

/* kernel/rows.c - rows, the numbers that describe a box to a kernel: which fields they have, and how boxes are cut into
 * rows. */
#include <string.h>

#include "base/check.h"
#include "kernel/block.h"
#include "kernel/inner.h"
#include "kernel/keyed.h"
#include "kernel/lanes.h"
#include "kernel/source_bundle.h"
#include "kernel/sweep.h"
#include "kernel/tile_kernel.h"

/* ---- the layout of a row -------------------------------------------------------------------------------------------- */

/* The kinds of accesses that have a field of a row, as bits. BOX stands for the fields that a row has once. */
enum {
    BOX = 1,      /* a field of the row's box */
    AFFINE = 2,   /* affine accesses of loop bodies */
    DECLARED = 4, /* accesses of loop bodies whose reach is declared */
    WIDE = 8,     /* declared reaches that also have widths or strides */
    TILES = 16,   /* accesses of tile kernels */
    CLAMPED = 32, /* affine accesses with clamped subscripts, besides AFFINE */
    BODIES = AFFINE | DECLARED
};

/* How long a field is: one number, one per loop axis, one per inner axis, or one per axis of the access's array. */
enum { ONE, LOOP_AXES, INNER_AXES, ARRAY_AXES };

static const struct {
    int has, length;
    bool own; /* an own number of the row: rows that differ only in own numbers run in one launch */
} fields[] = {
    /* clang-format off */
    [DCLI_ROW_START]    = {BOX, LOOP_AXES, .own = true},
    [DCLI_ROW_STRIDE]   = {BOX, LOOP_AXES},
    [DCLI_ROW_COUNT]    = {BOX, LOOP_AXES},
    [DCLI_ROW_INNER_START] = {BOX, INNER_AXES},
    [DCLI_ROW_INNER_BEFORE] = {BOX, INNER_AXES},
    [DCLI_ROW_INNER_COUNT] = {BOX, INNER_AXES},
    [DCLI_ROW_OFFSET]   = {BODIES | TILES, ONE, .own = true},
    [DCLI_ROW_STEP]     = {BODIES | TILES, ARRAY_AXES}, /* AFFINE accesses: per loop and inner axis instead */
    [DCLI_ROW_LOW]      = {DECLARED | TILES, ARRAY_AXES, .own = true},
    [DCLI_ROW_EXTENT]   = {DECLARED, ARRAY_AXES},
    [DCLI_ROW_WIDTH]    = {WIDE | CLAMPED, ARRAY_AXES},
    [DCLI_ROW_HIGH]     = {TILES, ARRAY_AXES},
    [DCLI_ROW_FIRST]    = {TILES, ARRAY_AXES},
    [DCLI_ROW_BY]       = {TILES, ARRAY_AXES},
    [DCLI_ROW_GRID_LOW] = {BODIES, ARRAY_AXES},
    [DCLI_ROW_GRID_END] = {BODIES, ARRAY_AXES},
    /* clang-format on */
};

static int kinds_of(const dcli_body *body, int a)
{
    if (body->tile_kernel)
        return TILES;
    switch (body->access[a].reach) {
    case DCLI_REACH_AFFINE:
        return AFFINE | (dcli_boundary_clamps_any(body, a) ? CLAMPED : 0);
    case DCLI_REACH_ALL:
    case DCLI_REACH_ROWS:
    case DCLI_REACH_COLUMNS:
        return DECLARED;
    default:
        return DECLARED | WIDE;
    }
}

int dcli_row_field_length(const dcli_body *body, dcli_row_field field, int a)
{
    int kinds = field <= DCLI_ROW_INNER_COUNT ? BOX : kinds_of(body, a);
    if ((fields[field].has & kinds) == 0)
        return 0;
    if (field == DCLI_ROW_STEP && (kinds & AFFINE) != 0)
        return body->space_rank + body->inner_rank + body->inside->access_inner_count[a];
    if (fields[field].length == LOOP_AXES || fields[field].length == INNER_AXES)
        return fields[field].length == LOOP_AXES ? body->space_rank : body->inner_rank;
    return fields[field].length == ONE ? 1 : body->params[body->access[a].param].rank;
}

/* Set the positions of the fields `first` to `last` in a row, for one access after the other, from index `at` on.
 * @return the index after them. */
static int place_fields(dcli_body *body, int accesses, dcli_row_field first, dcli_row_field last, int at)
{
    for (int a = 0; a < accesses; a++)
        for (int field = (int)first; field <= (int)last; field++) {
            int length = dcli_row_field_length(body, (dcli_row_field)field, a);
            body->inside->row_at[a][field] = (int16_t)(length > 0 ? at : -1);
            at += length;
        }
    return at;
}

void dcli_rows_lay_out(dcli_body *body)
{
    int at = place_fields(body, 1, DCLI_ROW_START, DCLI_ROW_INNER_COUNT, 0);
    at = place_fields(body, body->access_count, DCLI_ROW_OFFSET, DCLI_ROW_BY, at);
    body->inside->row_length = place_fields(body, body->access_count, DCLI_ROW_GRID_LOW, DCLI_ROW_GRID_END, at);
}

int dcli_row_at(const dcli_body *body, dcli_row_field field, int a)
{
    return body->inside->row_at[field <= DCLI_ROW_INNER_COUNT ? 0 : a][field];
}

bool dcli_row_is_own(dcli_row_field field) { return fields[field].own; }

int dcli_row_own(const dcli_body *body, int at_out[])
{
    int count = 0;
    for (int a = 0; a < body->access_count; a++)
        for (int field = a == 0 ? DCLI_ROW_START : DCLI_ROW_OFFSET; field < DCLI_ROW_FIELDS; field++)
            for (int n = 0; n < dcli_row_field_length(body, (dcli_row_field)field, a) && fields[field].own; n++)
                at_out[count++] = dcli_row_at(body, (dcli_row_field)field, a) + n;
    return count;
}

int dcli_row_length(const dcli_body *body) { return body->inside->row_length; }

/* ---- boxes of rows -------------------------------------------------------------------------------------------------- */

void dcli_row_part(const dcli_body *body, const int64_t row[], const int64_t lo[], const int64_t count[],
                   int64_t part_out[])
{
    int rank = body->space_rank;
    memcpy(part_out, row, (size_t)dcli_row_length(body) * sizeof row[0]);
    for (int m = 0; m < rank; m++) {
        part_out[dcli_row_at(body, DCLI_ROW_START, 0) + m] += lo[m] * row[dcli_row_at(body, DCLI_ROW_STRIDE, 0) + m];
        part_out[dcli_row_at(body, DCLI_ROW_COUNT, 0) + m] = count[m];
    }
    for (int a = 0; a < body->access_count; a++)
        for (int m = 0; body->access[a].reach == DCLI_REACH_AFFINE && m < rank; m++)
            part_out[dcli_row_at(body, DCLI_ROW_OFFSET, a)] += lo[m] * row[dcli_row_at(body, DCLI_ROW_STEP, a) + m];
}

/* Number of elements along an axis of the loop or an inner axis. */
static int64_t count_along(const dcli_body *body, const int64_t row[], int axis)
{
    int inner = axis - body->space_rank;
    return inner < 0 ? row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + axis]
                     : row[dcli_row_at(body, DCLI_ROW_INNER_COUNT, 0) + inner];
}

/* Whether access a has step 1 along an axis. On an axis with one element any step will do, because it is not used. */
static bool is_step_one(const dcli_body *body, const int64_t row[], int a, int axis)
{
    return count_along(body, row, axis) <= 1 || row[dcli_row_at(body, DCLI_ROW_STEP, a) + axis] == 1;
}

bool dcli_row_is_unit(const dcli_body *body, const int64_t row[])
{
    int innermost = body->space_rank - 1, across = dcli_transposed_axis(body);
    if (across >= 0 && row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + across] > (int64_t)DCLI_MOST_SQUARES * DCLI_SQUARE)
        return false;
    for (int a = 0; a < body->access_count; a++) {
        int axis = body->access[a].unit_axis;
        if (axis >= 0 && (axis == innermost || body->along || dcli_is_transposed(body, a)) &&
            !is_step_one(body, row, a, axis))
            return false;
    }
    return true;
}

bool dcli_row_is_straight(const dcli_body *body, const int64_t row[])
{
    int innermost = body->space_rank - 1;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].unit_axis >= 0 && dcli_inside_depends(body, a, innermost) &&
            !is_step_one(body, row, a, innermost))
            return false;
    return true;
}

enum {
    SMALL_BOX = 16384,     /* least elements of a row: with fewer, starting another row costs more than it gains */
    LOOP_WEIGHT = 64,      /* how many times as long as another an element is assumed to take in a body with loops */
    ROWS_PER_UNIT = 8,     /* table rows per compute unit, so that units that are slower get fewer */
    ACROSS_ELEMENTS = 256, /* transposed inputs: elements of a row along the axis in which they are contiguous */
    LEAST_ACROSS = 256,    /* least elements of a row of a keyed reduction along its innermost axis, which is kept */
    ALONG_ELEMENTS = 1024, /* most elements of a row along the innermost axis, so that its pages fit the TLB */
    SMALL_NS = 60000,      /* a box that one unit computes in less is one row: other units take as long to wake */
    ROW_NS = 8000,         /* least time of a row that is cut by cost */
    COSTLY_NS = 50,        /* elements that take at least this long do not wait for memory, and their cost may vary */
    COSTLY_PER_UNIT = 128  /* most rows per unit if elements are costly. Drivers hand out half of the remaining rows
                              at a time, divided by all units */
};

static int64_t product(int rank, const int64_t count[])
{
    int64_t elements = 1;
    for (int m = 0; m < rank; m++)
        if (!dcli_mul(elements, count[m], &elements))
            return INT64_MAX;
    return elements;
}

/* Cut the shape of a row along its axes, the outermost first, into about equal parts, until there are `wanted` rows. */
static void cut_rows(int rank, int64_t wanted, int64_t shape[])
{
    for (int m = 0; m < rank && wanted > 1; m++) {
        int64_t cuts = dcli_min(wanted, shape[m]);
        shape[m] = dcli_ceil_div(shape[m], cuts);
        wanted = dcli_ceil_div(wanted, cuts);
    }
}

/* Halve the longest axis of a row until there are `wanted` rows: the rows of a product read least if they are about
 * square. */
static void cut_evenly(int rank, int64_t wanted, int64_t shape[])
{
    for (int64_t rows = 1; rows < wanted; rows *= 2) {
        int longest = 0;
        for (int m = 1; m < rank; m++)
            longest = shape[m] > shape[longest] ? m : longest;
        shape[longest] = dcli_ceil_div(shape[longest], 2);
    }
}

/* Choose the shape of rows for transposed inputs: about square in the two axes of the transposition, and along the
 * other axes as long as the row's size allows. */
static void cut_squares(const dcli_body *body, int across, int64_t wanted, int64_t shape[])
{
    int along = body->space_rank - 1;
    int64_t elements = product(body->space_rank, shape);
    int64_t most = dcli_min((int64_t)ACROSS_ELEMENTS * ALONG_ELEMENTS, dcli_max(elements / wanted, SMALL_BOX));
    int64_t least = dcli_block_height(body);
    shape[along] = dcli_min(shape[along], ALONG_ELEMENTS);
    int64_t high = dcli_max(most / shape[along], least) / least * least;
    shape[across] = dcli_min(shape[across], high);
    int64_t left = dcli_max(most / (shape[along] * shape[across]), 1);
    for (int m = along - 1; m >= 0; m--)
        if (m != across) {
            shape[m] = dcli_min(shape[m], left);
            left /= shape[m];
        }
}

/* Cut rows along the innermost axis first, but not below LEAST_ACROSS elements. These are reduced in a table, which is
 * added to the node's partial results once per row. */
static void cut_across(int rank, int64_t wanted, int64_t shape[])
{
    int64_t cuts = dcli_max(dcli_min(wanted, shape[rank - 1] / LEAST_ACROSS), 1);
    shape[rank - 1] = dcli_ceil_div(shape[rank - 1], cuts);
    cut_rows(rank, dcli_ceil_div(wanted, cuts), shape);
}

static int64_t rows_by_cost(int64_t elements, int units, double element_ns)
{
    double all_ns = element_ns * (double)elements;
    int64_t most = (int64_t)(element_ns >= COSTLY_NS ? COSTLY_PER_UNIT : ROWS_PER_UNIT) * units;
    if (units < 2 || all_ns < SMALL_NS)
        return 1;
    return all_ns / ROW_NS < (double)most ? dcli_min(elements, (int64_t)(all_ns / ROW_NS)) : dcli_min(elements, most);
}

bool dcli_body_may_be_costly(const dcli_body *body) { return body->inside->has_loop || body->prelude[0] != '\0'; }

static int64_t rows_by_size(const dcli_body *body, int64_t elements, int units)
{
    int64_t small = body->inside->has_loop ? SMALL_BOX / LOOP_WEIGHT : SMALL_BOX;
    return dcli_max(1, dcli_min(elements / small, (int64_t)ROWS_PER_UNIT * units));
}

int64_t dcli_body_rows(const dcli_body *body, int64_t elements, int units, double element_ns)
{
    int64_t by_size = rows_by_size(body, elements, units);
    return by_size < (int64_t)ROWS_PER_UNIT * units ? dcli_max(by_size, rows_by_cost(elements, units, element_ns))
                                                    : by_size;
}

/* Lengthen rows, so that a row has at least the elements of a block that run at once, as long as each compute unit
 * still gets a row. */
static void widen_for_lanes(const dcli_body *body, int64_t elements, int units, const int64_t count[], int64_t shape[])
{
    int last = body->space_rank - 1;
    if (shape[last] >= DCLI_LANES_AT_ONCE || shape[last] >= count[last] || !body->inside->has_loop ||
        !dcli_lanes_has(body))
        return;
    int64_t least = dcli_min(DCLI_LANES_AT_ONCE, dcli_ceil_div(elements, units));
    shape[last] = dcli_min(count[last], dcli_max(shape[last], least));
}

/* Lengthen rows along axis m to a multiple of `least`, if several rows per unit are left. */
static void widen(int rank, int m, int64_t least, int units, const int64_t count[], int64_t shape[])
{
    enum { LEAST_PER_UNIT = 4 };
    int64_t whole = dcli_ceil_div(shape[m], least) * least, rows = dcli_ceil_div(count[m], whole);
    for (int other = 0; other < rank; other++)
        rows *= other != m ? dcli_ceil_div(count[other], shape[other]) : 1;
    if (rows >= LEAST_PER_UNIT * units)
        shape[m] = dcli_min(count[m], whole);
}

/* Lengthen rows to whole bundles, whose elements are added together (kernel/source_bundle.h). */
static void widen_for_bundles(const dcli_body *body, int units, const int64_t count[], int64_t shape[])
{
    if (dcli_is_bundled(body))
        widen(body->space_rank, body->space_rank - 1, dcli_bundle_height(body), units, count, shape);
}

/* Lengthen rows to whole sweeps, whose lines are computed together (kernel/sweep.h). */
static void widen_for_sweeps(const dcli_body *body, int units, const int64_t count[], int64_t shape[])
{
    if (body->space_rank > 1 && dcli_sweeps(body))
        widen(body->space_rank, body->space_rank - 2, DCLI_SWEEP_LINES, units, count, shape);
}

bool dcli_body_row_shape(const dcli_body *body, const int64_t count[], int units, double element_ns,
                         int64_t shape_out[])
{
    units = dcli_max(units, 1);
    for (int m = 0; m < body->space_rank; m++)
        shape_out[m] = dcli_max(count[m], 1);
    int64_t elements = product(body->space_rank, shape_out);
    int64_t wanted = dcli_body_rows(body, elements, units, element_ns);
    bool by_cost = wanted > rows_by_size(body, elements, units);
    int across = dcli_transposed_axis(body);
    if (dcli_inside_is_chain(body))
        cut_evenly(body->space_rank, wanted, shape_out);
    else if (wanted > 1 && across >= 0 && !by_cost && !body->along)
        cut_squares(body, across, wanted, shape_out);
    else if (dcli_keyed_folds_blocks(body))
        cut_across(body->space_rank, wanted, shape_out);
    else
        cut_rows(body->space_rank, wanted, shape_out);
    widen_for_lanes(body, elements, units, count, shape_out);
    widen_for_bundles(body, units, count, shape_out);
    widen_for_sweeps(body, units, count, shape_out);
    return by_cost && element_ns >= COSTLY_NS;
}

/* lower/group.c - build a group: what one work-item gathers, how it is packed, and the rows that it runs.
 *
 * Inputs are packed in one of two orders. DCLI_SOURCE_ORDER is the order of the input's array: it is the cheapest to
 * gather, and kernels transpose the packed input. DCLI_OUTPUT_ORDER is that of the group's output: rows are as long as
 * if nothing were gathered, and inputs are transposed while they are gathered. */
#include "lower/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/gather.h"
#include "lower/rows.h"

int64_t dcli_volume(int rank, const int64_t count[])
{
    int64_t elements = 1;
    for (int m = 0; m < rank; m++)
        elements *= count[m];
    return elements;
}

bool dcli_axis_counts(const dcli_subscripts *subscripts, int m)
{
    for (int d = 0; d < subscripts->rank; d++)
        if (subscripts->axis[d].coef[m] != 0)
            return true;
    return false;
}

int dcli_axis_of(const dcli_subscripts *subscripts, int d)
{
    int m = subscripts->space_rank - 1;
    while (m >= 0 && subscripts->axis[d].coef[m] == 0)
        m--;
    return m;
}

/* ---- packing ------------------------------------------------------------------------------------------------------ */

/* Make the row of a part as if all inputs were read in place. */
static void find_row(const dcli_gather *gather, const dcli_gather_part *part, int64_t row_out[])
{
    const dcli_body *body = dcli_part_body(gather);
    dcli_row_part(body, gather->row + part->number * dcli_row_length(body), part->lo, part->count, row_out);
}

/* The stretch of the output's storage that contains the group's output: its first offset and its length in elements. */
struct span {
    int64_t first, elements;
};

static struct span find_span(const dcli_gather *gather)
{
    const dcli_body *body = dcli_part_body(gather);
    int64_t first = INT64_MAX, last = INT64_MIN, row[dcli_row_length(body)];
    for (int64_t p = 0; p < gather->part_count; p++) {
        find_row(gather, &gather->part[p], row);
        const int64_t *at = row + dcli_row_at(body, DCLI_ROW_OFFSET, gather->output);
        int64_t low = at[0], high = at[0];
        for (int m = 0; m < body->space_rank; m++)
            *(at[1 + m] < 0 ? &low : &high) += (gather->part[p].count[m] - 1) * at[1 + m];
        first = dcli_min(first, low);
        last = dcli_max(last, high);
    }
    return (struct span){first, last - first + 1};
}

bool dcli_group_is_dense(const dcli_gather *gather)
{
    return find_span(gather).elements <= gather->elements + gather->elements / 4 + 64;
}

/* Find the steps of a part's input that is packed without gaps, in the order of the loop axes (`by_loop`) or of the
 * array's axes. @param step_out  per loop axis; 0 on axes that the access does not depend on. @return number of
 * elements. */
static int64_t pack_alone(const dcli_gather *gather, const dcli_gather_part *part, int a, bool by_loop,
                          int64_t step_out[])
{
    const dcli_subscripts *subscripts = &gather->subscripts[a];
    int64_t elements = 1;
    memset(step_out, 0, DCL_MAX_RANK * sizeof step_out[0]);
    for (int n = (by_loop ? subscripts->space_rank : subscripts->rank) - 1; n >= 0; n--) {
        int m = by_loop ? n : dcli_axis_of(subscripts, n);
        if (m < 0 || !dcli_axis_counts(subscripts, m))
            continue;
        step_out[m] = elements;
        elements *= part->count[m];
    }
    return elements;
}

/* The layout of a group's scratch memory. An access that depends on all loop axes may have one area for the whole
 * group, laid out like the group's output. Otherwise each part packs its inputs one after the other. */
struct layout {
    int order;
    bool like_output[DCLI_MAX_ACCESSES]; /* per access: it has an area laid out like the output */
    int64_t area_at[DCLI_MAX_ACCESSES];  /* offset of that area in the scratch memory, elements */
    struct span span;
    int64_t end; /* bytes used so far */
};

/* Begin a layout. @param areas  whether accesses may have areas laid out like the output. */
static struct layout open_layout(const dcli_gather *gather, bool areas)
{
    const dcli_body *body = dcli_part_body(gather);
    struct layout layout = {.order = gather->order};
    if (!areas)
        return layout;
    layout.span = gather->far < 0 ? find_span(gather) : (struct span){.elements = gather->elements};
    for (int a = 0; a < body->access_count; a++) {
        layout.like_output[a] = dcli_part_gathers(gather, &gather->part[0], a);
        for (int m = 0; m < body->space_rank; m++)
            layout.like_output[a] &= dcli_axis_counts(&gather->subscripts[a], m);
        if (!layout.like_output[a])
            continue;
        layout.area_at[a] = dcli_ceil_div(layout.end, dcli_part_bytes(gather, a));
        layout.end = (layout.area_at[a] + layout.span.elements) * dcli_part_bytes(gather, a);
    }
    return layout;
}

/* Find the steps per axis of the packed input of one of the parts, which have one shape and alternate along axis `far`:
 * that axis is outermost, then come the parts, then the other axes in the output's order. @return the step between
 * parts. */
static int64_t interleave(const dcli_gather *gather, const dcli_gather_part *part, const int64_t output_step[],
                          int64_t step_out[])
{
    int rank = dcli_part_body(gather)->space_rank;
    int64_t elements = 1;
    bool done[DCL_MAX_RANK] = {false};
    for (int n = 0; n < rank - 1; n++) {
        int nearest = -1;
        for (int m = 0; m < rank; m++)
            if (m != gather->far && !done[m] && (nearest < 0 || llabs(output_step[m]) < llabs(output_step[nearest])))
                nearest = m;
        done[nearest] = true;
        step_out[nearest] = elements;
        elements *= part->count[nearest];
    }
    step_out[gather->far] = gather->part_count * elements;
    return elements;
}

/* Find where the input of access a of a part is packed in the scratch memory. @param row  the part's row as if all
 * inputs were read in place. */
static dcli_packed pack(const dcli_gather *gather, struct layout *layout, const dcli_gather_part *part, int a,
                        const int64_t row[])
{
    const dcli_body *body = dcli_part_body(gather);
    dcli_packed packed = {.at = 0};
    const int64_t *at = row + dcli_row_at(body, DCLI_ROW_OFFSET, gather->output);
    if (layout->like_output[a] && gather->far >= 0) {
        packed.at = layout->area_at[a] + (part - gather->part) * interleave(gather, part, at + 1, packed.step);
        return packed;
    }
    if (layout->like_output[a]) {
        packed.at = layout->area_at[a] + at[0] - layout->span.first;
        memcpy(packed.step, at + 1, (size_t)body->space_rank * sizeof packed.step[0]);
        return packed;
    }
    int64_t bytes = dcli_part_bytes(gather, a);
    packed.at = dcli_ceil_div(layout->end, bytes);
    layout->end = (packed.at + pack_alone(gather, part, a, layout->order == DCLI_OUTPUT_ORDER, packed.step)) * bytes;
    return packed;
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* Make the row of a part, with gathered inputs at their positions in the scratch memory. @param packed_out
 * [access_count] these positions; NULL: not wanted. */
static void fill_row(const dcli_gather *gather, struct layout *layout, const dcli_gather_part *part, int64_t row[],
                     dcli_packed packed_out[])
{
    const dcli_body *body = dcli_part_body(gather);
    int64_t plain[dcli_row_length(body)];
    find_row(gather, part, plain);
    memcpy(row, plain, (size_t)dcli_row_length(body) * sizeof row[0]);
    for (int a = 0; a < body->access_count; a++)
        if (dcli_part_gathers(gather, part, a)) {
            dcli_packed packed = pack(gather, layout, part, a, plain);
            int64_t *at = row + dcli_row_at(body, DCLI_ROW_OFFSET, a);
            at[0] = packed.at;
            memcpy(at + 1, packed.step, (size_t)body->space_rank * sizeof at[0]);
            if (packed_out != NULL)
                packed_out[a] = packed;
        }
}

static bool fits(const dcli_body *body, int order, const int64_t row[])
{
    return order == DCLI_OUTPUT_ORDER && dcli_gathers_straight(body) ? dcli_row_is_straight(body, row)
                                                                     : dcli_row_is_unit(body, row);
}

int dcli_group_orders(const dcli_gather *gather, const dcli_gather_part *part)
{
    const dcli_body *body = dcli_part_body(gather);
    int64_t row[dcli_row_length(body)];
    int orders = 0;
    for (int order = DCLI_SOURCE_ORDER; order <= DCLI_OUTPUT_ORDER; order++) {
        struct layout layout = {.order = order};
        fill_row(gather, &layout, part, row, NULL);
        orders |= fits(body, order, row) ? order : 0;
    }
    return orders;
}

/* The rows of a group while it is built. */
struct rows {
    int64_t *row, count;
    dcli_packed *packed; /* [parts][access_count] where gathered inputs are in the scratch memory */
    int64_t bytes;       /* bytes of scratch memory that the group uses */
};

static bool all_fit(const dcli_gather *gather, const struct rows *rows)
{
    const dcli_body *body = dcli_part_body(gather);
    int64_t r = 0;
    while (r < rows->count && fits(body, gather->order, rows->row + r * dcli_row_length(body)))
        r++;
    return r == rows->count;
}

/* Make one row per part. @return whether all rows suit their kernel; without `areas` they always do. */
static bool fill_rows(const dcli_gather *gather, bool areas, struct rows *rows)
{
    int accesses = dcli_part_body(gather)->access_count, length = dcli_row_length(dcli_part_body(gather));
    struct layout layout = open_layout(gather, areas);
    for (int64_t p = 0; p < gather->part_count; p++)
        fill_row(gather, &layout, &gather->part[p], rows->row + p * length, rows->packed + p * accesses);
    rows->count = gather->part_count;
    rows->bytes = layout.end;
    return all_fit(gather, rows);
}

/* Make one row per part and join them to fewer; but keep one per part if joined rows would not suit the kernel. @return
 * DCL_OK or DCL_ERR_NOMEM. */
static dcl_status make_rows(const dcli_gather *gather, struct rows *rows)
{
    const dcli_body *body = dcli_part_body(gather);
    int length = dcli_row_length(body);
    rows->row = dcli_malloc((size_t)gather->part_count * (size_t)length * sizeof(int64_t));
    rows->packed = dcli_malloc((size_t)gather->part_count * (size_t)body->access_count * sizeof *rows->packed);
    if (rows->row == NULL || rows->packed == NULL)
        return DCL_ERR_NOMEM;
    bool areas = gather->order == DCLI_OUTPUT_ORDER && (gather->far >= 0 || dcli_group_is_dense(gather));
    /* An output that is a view may have steps that inputs must not have. */
    if (!fill_rows(gather, areas, rows) && areas) {
        areas = false;
        fill_rows(gather, areas, rows);
    }
    dcl_status status = dcli_rows_join(body, gather->order == DCLI_OUTPUT_ORDER && dcli_gathers_straight(body),
                                       rows->row, &rows->count);
    if (status == DCL_OK && !all_fit(gather, rows))
        fill_rows(gather, areas, rows);
    return status;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

/* Find or make the launch for a group's rows. */
static dcli_launch *find_launch(const dcli_gather *gather)
{
    const dcli_body *body = dcli_part_body(gather);
    bool straight = gather->order == DCLI_OUTPUT_ORDER && dcli_gathers_straight(body);
    dcli_launch like = {.gathers = true, .variant = straight ? DCLI_VARIANT_STRAIGHT : DCLI_VARIANT_GATHERED};
    for (int a = 0; a < body->access_count; a++) {
        const dcli_binding *binding = dcli_part_binding(gather, &gather->part[0], a);
        bool gathered = dcli_part_gathers(gather, &gather->part[0], a);
        like.via[a] = gathered ? DCLI_VIA_GATHER : DCLI_VIA_BINDING;
        like.space[a] = gathered ? (dcli_space){DCLI_SPACE_STAGE, 0} : dcli_bound_space(binding);
    }
    return dcli_launch_like(gather->lowered, &like, body->access_count);
}

static dcl_status append_rows(dcli_launch *launch, int length, const struct rows *rows)
{
    for (int64_t r = 0; r < rows->count; r++) {
        int64_t *row = dcli_next_row(launch, length);
        if (row == NULL)
            return DCL_ERR_NOMEM;
        memcpy(row, rows->row + r * length, (size_t)length * sizeof row[0]);
    }
    return DCL_OK;
}

static dcl_status append_pieces(const dcli_gather *gather, dcli_launch *launch)
{
    dcl_status status = DCL_OK;
    launch->piece.rank = DCLI_GATHER_AXES;
    for (int64_t b = 0; b < gather->bin_count; b++) {
        const dcli_bin *bin = &gather->bin[b];
        for (int64_t p = 0; p < bin->pieces.count && status == DCL_OK; p++) {
            dcli_transfer piece = dcli_transfers_get(&bin->pieces, p);
            assert(bin->access < dcli_part_body(gather)->access_count);
            assert(bin->address < gather->lowered->source_count);
            if (dcli_grow(&launch->origin, launch->piece.count, &launch->origin_capacity, sizeof *launch->origin) != 0)
                return DCL_ERR_NOMEM;
            launch->origin[launch->piece.count] = (dcli_origin){bin->access, bin->address};
            status = dcli_transfers_add(&launch->piece, &piece);
        }
        launch->gathered_bytes += dcli_transfers_elements(&bin->pieces) * dcli_part_bytes(gather, bin->access);
    }
    return status;
}

static int64_t count_pieces(const dcli_gather *gather)
{
    int64_t count = 0;
    for (int64_t b = 0; b < gather->bin_count; b++)
        count += gather->bin[b].pieces.count;
    return count;
}

static dcl_status append(const dcli_gather *gather, const struct rows *rows)
{
    dcli_launch *launch = find_launch(gather);
    if (launch == NULL || dcli_grow(&launch->group, launch->group_count, &launch->group_capacity,
                                    DCLI_GROUP_LONGS * sizeof(int64_t)) != 0)
        return DCL_ERR_NOMEM;
    int64_t *group = launch->group + DCLI_GROUP_LONGS * launch->group_count++;
    memcpy(group, (int64_t[]){launch->row_count, rows->count, launch->piece.count, count_pieces(gather)},
           DCLI_GROUP_LONGS * sizeof group[0]);
    launch->elements += gather->elements;
    launch->scratch_bytes = dcli_max(launch->scratch_bytes, rows->bytes);
    dcl_status status = append_rows(launch, dcli_row_length(dcli_part_body(gather)), rows);
    return status == DCL_OK ? append_pieces(gather, launch) : status;
}

dcl_status dcli_group_add(dcli_gather *gather, const dcli_gather_part *part)
{
    if (dcli_grow(&gather->part, gather->part_count, &gather->part_capacity, sizeof *gather->part) != 0)
        return DCL_ERR_NOMEM;
    gather->part[gather->part_count++] = *part;
    gather->elements += dcli_volume(dcli_part_body(gather)->space_rank, part->count);
    return DCL_OK;
}

dcl_status dcli_group_end(dcli_gather *gather, bool *slow_out)
{
    struct rows rows = {0};
    if (slow_out != NULL)
        *slow_out = false;
    if (gather->part_count == 0)
        return DCL_OK;
    dcl_status status = make_rows(gather, &rows);
    if (status == DCL_OK)
        status = dcli_pieces_make(gather, rows.packed);
    if (status == DCL_OK && slow_out != NULL && !dcli_pieces_are_quick(gather))
        *slow_out = true;
    else if (status == DCL_OK)
        status = append(gather, &rows);
    dcli_free(rows.row);
    dcli_free(rows.packed);
    gather->part_count = gather->elements = 0;
    return status;
}

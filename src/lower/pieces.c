/* lower/pieces.c - compute the pieces that a group gathers: source and destination of each. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/gather.h"
#include "lower/group.h"

/* Index of a node's part in lowered->source; it is added if necessary. @return -1: DCL_ERR_NOMEM. */
static int64_t address_of(dcli_lowered *lowered, int operand, int node)
{
    for (int64_t n = 0; n < lowered->source_count; n++)
        if (lowered->source[n].operand == operand && lowered->source[n].node == node)
            return n;
    if (dcli_grow(&lowered->source, lowered->source_count, &lowered->source_capacity, sizeof *lowered->source) != 0)
        return -1;
    lowered->source[lowered->source_count] = (dcli_source_part){.operand = operand, .node = node};
    return lowered->source_count++;
}

/* Set axis m of a piece. @param at  position of the first element on the axis of the packed input. @param by  increment
 * of the position; if negative, the axis is reversed on both sides. @param step, from_step  steps in the scratch
 * memory, per position, and in the source, per element. */
static void set_axis(dcli_transfer *piece, int m, int64_t count, int64_t at, int64_t by, int64_t step,
                     int64_t from_step)
{
    piece->to.offset += at * step;
    if (count == 1)
        return;
    int64_t turn = by < 0 ? count - 1 : 0, sign = by < 0 ? -1 : 1;
    piece->to.offset += turn * by * step;
    piece->from.offset += turn * from_step;
    piece->count[m] = count;
    piece->to.step[m] = sign * by * step;
    piece->from.step[m] = sign * from_step;
}

static dcli_transfer one_element(int64_t to, int64_t from)
{
    dcli_transfer piece = {.rank = DCLI_GATHER_AXES, .to.offset = to, .from.offset = from};
    for (int m = 0; m < DCLI_GATHER_AXES; m++)
        piece.count[m] = 1;
    return piece;
}

/* Add a piece to the bin of its access and source part. @param kind, where  OWN: this node's part; PEER: that of node
 * `where`. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status add_piece(dcli_gather *gather, int a, int kind, int where, const dcli_transfer *piece)
{
    int node = kind == DCLI_SPACE_PEER ? where : gather->traits->self;
    int64_t address = address_of(gather->lowered, dcli_part_body(gather)->access[a].param, node), b = 0;
    if (address < 0)
        return DCL_ERR_NOMEM;
    while (b < gather->bin_count && (gather->bin[b].access != a || gather->bin[b].address != address))
        b++;
    if (b == gather->bin_capacity) {
        int64_t before = gather->bin_capacity;
        if (dcli_grow(&gather->bin, b, &gather->bin_capacity, sizeof *gather->bin) != 0)
            return DCL_ERR_NOMEM;
        memset(gather->bin + before, 0, (size_t)(gather->bin_capacity - before) * sizeof *gather->bin);
    }
    dcli_bin *bin = &gather->bin[b];
    if (b == gather->bin_count) { /* a new bin, which may still have the list of an earlier group */
        gather->bin_count++;
        bin->access = a;
        bin->address = address;
        bin->pieces.rank = DCLI_GATHER_AXES;
        bin->pieces.count = 0;
    }
    return dcli_transfers_add(&bin->pieces, piece);
}

/* Add the one piece of an input that could also be read in place. */
static dcl_status add_bound(dcli_gather *gather, const dcli_gather_part *part, int a, const dcli_packed *packed)
{
    const dcli_binding *binding = dcli_part_binding(gather, part, a);
    dcli_transfer piece = one_element(packed->at, binding->offset);
    for (int m = 0; m < dcli_part_work(gather, part)->work->box.rank; m++) {
        piece.from.offset += part->lo[m] * binding->step[m];
        if (dcli_axis_counts(&gather->subscripts[a], m))
            set_axis(&piece, m, part->count[m], 0, 1, packed->step[m], binding->step[m]);
    }
    return add_piece(gather, a, (int)binding->kind, binding->where, &piece);
}

/* The elements of its array that access a reads for a part. @param first_out  [rank] subscripts at the part's first
 * index. @param by_out  [rank] their increments along the axes of the part. */
static dcl_box footprint(const dcli_gather *gather, const dcli_gather_part *part, int a, int64_t first_out[],
                         int64_t by_out[])
{
    const dcli_subscripts *subscripts = &gather->subscripts[a];
    const dcl_box *box = &dcli_part_work(gather, part)->work->box;
    dcl_box foot = {.rank = subscripts->rank};
    for (int d = 0; d < subscripts->rank; d++) {
        int m = dcli_axis_of(subscripts, d);
        int64_t count = m < 0 ? 1 : part->count[m], coef = m < 0 ? 0 : subscripts->axis[d].coef[m];
        by_out[d] = m < 0 ? 0 : coef * box->stride[m];
        first_out[d] = subscripts->axis[d].constant;
        if (m >= 0)
            first_out[d] += coef * (box->start[m] + part->lo[m] * box->stride[m]);
        foot.start[d] = by_out[d] < 0 ? first_out[d] + (count - 1) * by_out[d] : first_out[d];
        foot.count[d] = count;
        foot.stride[d] = count > 1 ? llabs(by_out[d]) : 1;
    }
    return foot;
}

/* Add the elements of a stage's piece that a part reads. @param from  the piece of the stage. @param cut  the elements
 * of that piece which the part reads, as a region of the node's part. @param first, by  as from footprint(). */
static dcl_status add_cut(dcli_gather *gather, const dcli_gather_part *part, int a, const dcli_piece *from,
                          const dcli_region *cut, const int64_t first[], const int64_t by[], const dcli_packed *packed)
{
    const dcl_box *box = &cut->box;
    dcli_transfer piece = one_element(packed->at, cut->offset);
    for (int d = 0; d < box->rank; d++) {
        int m = dcli_axis_of(&gather->subscripts[a], d);
        if (m >= 0 && part->count[m] > 1)
            set_axis(&piece, m, box->count[d], (box->start[d] - first[d]) / by[d],
                     box->count[d] > 1 ? box->stride[d] / by[d] : 1, packed->step[m], cut->step[d]);
    }
    return add_piece(gather, a, from->kind, from->where, &piece);
}

/* Add the pieces of an input that would otherwise be copied into a stage: what each piece of the stage contributes. */
static dcl_status add_staged(dcli_gather *gather, const dcli_gather_part *part, int a, const dcli_packed *packed)
{
    int number = dcli_part_binding(gather, part, a)->where;
    if (gather->near == NULL)
        gather->near = dcli_calloc((size_t)gather->batch->stage_count, sizeof *gather->near);
    if (gather->near == NULL)
        return DCL_ERR_NOMEM;
    dcli_near *near = &gather->near[number - gather->batch->first_stage];
    dcl_status status = dcli_near_make(near, gather->plan, &gather->plan->stage[number]);
    int64_t first[DCL_MAX_RANK], by[DCL_MAX_RANK], place = 0;
    dcl_box foot = footprint(gather, part, a, first, by);
    while (status == DCL_OK) {
        const dcli_piece *piece = dcli_near_next(near, gather->plan, &foot, &place);
        dcli_region cut;
        if (piece == NULL)
            break;
        if (dcli_region_cut(&piece->region, &foot, &cut))
            status = add_cut(gather, part, a, piece, &cut, first, by, packed);
    }
    return status;
}

static void swap_axes(dcli_transfer *piece, int m, int n)
{
    int64_t *const axes[] = {piece->count, piece->to.step, piece->from.step};
    for (int k = 0; k < 3; k++) {
        int64_t kept = axes[k][m];
        axes[k][m] = axes[k][n];
        axes[k][n] = kept;
    }
}

/* The axis of a piece, before axis `end`, with the smallest step on this side. */
static int least_axis(const dcli_transfer *piece, int end, const dcli_side *side)
{
    int least = end - 1;
    for (int m = 0; m < end; m++)
        if (piece->count[m] > 1 && (piece->count[least] == 1 || llabs(side->step[m]) < llabs(side->step[least])))
            least = m;
    return least;
}

/* Sort a piece's axes as kernels need them: the last axis has the smallest step in the scratch memory, the one before
 * it in the source. */
static void order_axes(dcli_transfer *piece)
{
    int last = DCLI_GATHER_AXES - 1;
    swap_axes(piece, least_axis(piece, last + 1, &piece->to), last);
    swap_axes(piece, least_axis(piece, last, &piece->from), last - 1);
    swap_axes(piece, least_axis(piece, last - 1, &piece->to), last - 2);
}

/* Join the pieces of a bin, and sort the axes of each. */
static dcl_status finish(dcli_transfers *pieces)
{
    dcl_status status = dcli_transfers_join(pieces, DCLI_JOIN_BY_BOTH | DCLI_JOIN_REGULAR_PAIRS);
    for (int64_t p = 0; p < pieces->count && status == DCL_OK; p++) {
        dcli_transfer piece = dcli_transfers_get(pieces, p);
        order_axes(&piece);
        dcli_transfers_set(pieces, p, &piece);
    }
    return status;
}

dcl_status dcli_pieces_make(dcli_gather *gather, const dcli_packed packed[])
{
    int accesses = dcli_part_body(gather)->access_count;
    dcl_status status = DCL_OK;
    gather->bin_count = 0;
    for (int64_t p = 0; p < gather->part_count; p++)
        for (int a = 0; a < accesses && status == DCL_OK; a++) {
            const dcli_gather_part *part = &gather->part[p];
            if (dcli_part_gathers(gather, part, a))
                status = (dcli_part_binding(gather, part, a)->kind == DCLI_SPACE_STAGE ? add_staged : add_bound)(
                    gather, part, a, &packed[p * accesses + a]);
        }
    for (int64_t b = 0; b < gather->bin_count && status == DCL_OK; b++)
        status = finish(&gather->bin[b].pieces);
    return status;
}

/* Whether kernels copy a piece with vectors: it has at least 4 contiguous elements in the target, and in the source
 * they have step 1 or 2, or those along the next axis (at least 4) are contiguous, as in a transposition. */
static bool is_quick(const dcli_transfer *piece)
{
    enum { LEAST = 4 };
    const int64_t *to = piece->to.step, *from = piece->from.step, *count = piece->count;
    const int last = DCLI_GATHER_AXES - 1;
    if (to[last] != 1 || count[last] < LEAST)
        return false;
    return from[last] == 1 || from[last] == 2 || (from[last - 1] == 1 && count[last - 1] >= LEAST);
}

bool dcli_pieces_are_quick(const dcli_gather *gather)
{
    int64_t quick = 0, all = 0;
    for (int64_t b = 0; b < gather->bin_count; b++)
        for (int64_t p = 0; p < gather->bin[b].pieces.count; p++) {
            dcli_transfer piece = dcli_transfers_get(&gather->bin[b].pieces, p);
            int64_t elements = dcli_volume(piece.rank, piece.count);
            all += elements;
            quick += is_quick(&piece) ? elements : 0;
        }
    return quick > all / 2;
}

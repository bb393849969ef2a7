/* lower/pieces.c - what a group gathers, as pieces: where each comes from and where it goes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/gather.h"
#include "lower/group.h"
#include "segment/join.h"

/* The number of the address of a part. @return -1: DCL_ERR_NOMEM. */
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

/* An axis of a piece. @param at  of the loop index where it begins. @param by  from one to the next; may be negative. */
static void set_axis(int64_t piece[], int m, int64_t count, int64_t at, int64_t by, int64_t step, int64_t from_step)
{
    piece[DCLI_PIECE_TO] += at * step;
    if (count == 1)
        return;
    int64_t turn = by < 0 ? count - 1 : 0, sign = by < 0 ? -1 : 1;
    piece[DCLI_PIECE_TO] += turn * by * step;
    piece[DCLI_PIECE_FROM] += turn * from_step;
    piece[m] = count;
    piece[DCLI_PIECE_TO + 1 + m] = sign * by * step;
    piece[DCLI_PIECE_FROM + 1 + m] = sign * from_step;
}

/* A piece of one element. NULL: DCL_ERR_NOMEM. */
static int64_t *next_piece(const dcli_gather *gather, dcli_pieces *pieces, int a, int kind, int where, int64_t to)
{
    int node = kind == DCLI_SPACE_PEER ? where : gather->traits->self;
    int64_t address = address_of(gather->lowered, dcli_part_body(gather)->access[a].param, node);
    if (address < 0 ||
        dcli_grow(&pieces->piece, pieces->count, &pieces->capacity, DCLI_PIECE_LONGS * sizeof(int64_t)) != 0)
        return NULL;
    int64_t *piece = pieces->piece + DCLI_PIECE_LONGS * pieces->count++;
    memset(piece, 0, DCLI_PIECE_LONGS * sizeof piece[0]);
    for (int m = 0; m < DCLI_GATHER_AXES; m++)
        piece[m] = 1;
    piece[DCLI_PIECE_TO] = to;
    piece[DCLI_PIECE_ACCESS] = a;
    piece[DCLI_PIECE_ADDRESS] = address;
    return piece;
}

/* What is read in place otherwise: one piece. */
static dcl_status add_bound(dcli_gather *gather, dcli_pieces *pieces, const dcli_gather_part *part, int a,
                            const dcli_packed *packed)
{
    const dcli_binding *binding = dcli_part_binding(gather, part, a);
    int64_t *piece = next_piece(gather, pieces, a, (int)binding->kind, binding->where, packed->at);
    if (piece == NULL)
        return DCL_ERR_NOMEM;
    piece[DCLI_PIECE_FROM] = binding->offset;
    for (int m = 0; m < dcli_part_work(gather, part)->work->box.rank; m++) {
        piece[DCLI_PIECE_FROM] += part->lo[m] * binding->step[m];
        if (dcli_axis_counts(&gather->subscripts[a], m))
            set_axis(piece, m, part->count[m], 0, 1, packed->step[m], binding->step[m]);
    }
    return DCL_OK;
}

/* The elements of its array that an access reads for a part. @param first_out  [rank] for the part's first index. */
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

/* What a piece of a stage has of a part, whose first index reads `first` and next ones go on by `by`.
 * @param cut  in its storage. */
static dcl_status add_cut(const dcli_gather *gather, dcli_pieces *pieces, const dcli_gather_part *part, int a,
                          const dcli_piece *from, const dcli_region *cut, const int64_t first[], const int64_t by[],
                          const dcli_packed *packed)
{
    const dcl_box *box = &cut->box;
    int64_t *piece = next_piece(gather, pieces, a, from->kind, from->where, packed->at);
    if (piece == NULL)
        return DCL_ERR_NOMEM;
    piece[DCLI_PIECE_FROM] = cut->offset;
    for (int d = 0; d < box->rank; d++) {
        int m = dcli_axis_of(&gather->subscripts[a], d);
        if (m >= 0 && part->count[m] > 1)
            set_axis(piece, m, box->count[d], (box->start[d] - first[d]) / by[d],
                     box->count[d] > 1 ? box->stride[d] / by[d] : 1, packed->step[m], cut->step[d]);
    }
    return DCL_OK;
}

/* What would be staged otherwise: what each piece of the stage has of it. */
static dcl_status add_staged(dcli_gather *gather, dcli_pieces *pieces, const dcli_gather_part *part, int a,
                             const dcli_packed *packed)
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
            status = add_cut(gather, pieces, part, a, piece, &cut, first, by, packed);
    }
    return status;
}

static bool is_from_same(const int64_t x[], const int64_t y[])
{
    return x[DCLI_PIECE_ACCESS] == y[DCLI_PIECE_ACCESS] && x[DCLI_PIECE_ADDRESS] == y[DCLI_PIECE_ADDRESS];
}

/* Join pieces of one access and address that lie in a pattern. */
static dcl_status join_by(bool pairs, int64_t piece[], int64_t *count_in_out)
{
    const dcli_patterns patterns = {.rank = DCLI_GATHER_AXES,
                                    .places = 2,
                                    .length = DCLI_PIECE_LONGS,
                                    .by_all = true,
                                    .pairs = pairs,
                                    .at = (int[]){DCLI_PIECE_TO, DCLI_PIECE_FROM}};
    return dcli_patterns_join(&patterns, piece, count_in_out);
}

static bool has_shape_of(const int64_t x[], const int64_t y[])
{
    const size_t bytes = DCLI_GATHER_AXES * sizeof x[0];
    return memcmp(x, y, bytes) == 0 && memcmp(x + DCLI_PIECE_TO + 1, y + DCLI_PIECE_TO + 1, bytes) == 0 &&
           memcmp(x + DCLI_PIECE_FROM + 1, y + DCLI_PIECE_FROM + 1, bytes) == 0;
}

/* Whether half of them or more have the shape of the first. */
static bool are_regular(const int64_t piece[], int64_t count)
{
    int64_t alike = 0;
    for (int64_t p = 0; p < count; p++)
        alike += has_shape_of(piece, piece + p * DCLI_PIECE_LONGS);
    return 2 * alike >= count;
}

/* The same, pairs only where they are regular or the beginning of something: by chance, each has a shape of its own. Many that
 * three do not join lie by chance. */
static dcl_status join_alike(int64_t piece[], int64_t *count_in_out)
{
    enum { WORTH = 4, FEW = 64 };
    int64_t before = *count_in_out;
    dcl_status status = join_by(false, piece, count_in_out);
    int64_t count = *count_in_out;
    if (status != DCL_OK || count < 2 || (count > FEW && count > before / 2))
        return status;
    size_t bytes = DCLI_PIECE_LONGS * sizeof *piece;
    int64_t *paired = dcli_malloc((size_t)count * bytes);
    if (paired == NULL)
        return DCL_ERR_NOMEM;
    memcpy(paired, piece, (size_t)count * bytes);
    status = join_by(true, paired, &count);
    if (status == DCL_OK && (count * WORTH <= *count_in_out || are_regular(paired, count))) {
        memcpy(piece, paired, (size_t)count * bytes);
        *count_in_out = count;
    }
    dcli_free(paired);
    return status;
}

/* Take out the first piece and those that are from the same, joined. @param rest  what is left moves to the front.
 * @param taken_out  [pieces->count] of the length of pieces. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status take_alike(dcli_pieces *rest, int64_t taken_out[], int64_t *taken_count_out)
{
    const size_t bytes = DCLI_PIECE_LONGS * sizeof(int64_t);
    int64_t first[DCLI_PIECE_LONGS], left = 0, taken = 0;
    memcpy(first, rest->piece, bytes);
    for (int64_t p = 0; p < rest->count; p++) {
        const int64_t *piece = rest->piece + p * DCLI_PIECE_LONGS;
        int64_t *to = is_from_same(first, piece) ? taken_out + DCLI_PIECE_LONGS * taken++
                                                 : rest->piece + DCLI_PIECE_LONGS * left++;
        memmove(to, piece, bytes);
    }
    rest->count = left;
    *taken_count_out = taken;
    return join_alike(taken_out, taken_count_out);
}

/* Join those that lie in one pattern. */
static dcl_status join_pieces(dcli_pieces *pieces)
{
    int64_t *joined = dcli_malloc((size_t)pieces->count * DCLI_PIECE_LONGS * sizeof *joined), count = 0, taken;
    dcl_status status = joined != NULL ? DCL_OK : DCL_ERR_NOMEM;
    int64_t capacity = pieces->count;
    while (status == DCL_OK && pieces->count > 0) {
        status = take_alike(pieces, joined + count * DCLI_PIECE_LONGS, &taken);
        count += taken;
    }
    dcli_free(pieces->piece);
    *pieces = (dcli_pieces){.piece = joined, .count = count, .capacity = capacity};
    return status;
}

static void swap_axes(int64_t piece[], int m, int n)
{
    for (int at = 0; at <= DCLI_PIECE_FROM + 1; at += at == 0 ? DCLI_PIECE_TO + 1 : DCLI_GATHER_AXES + 1) {
        int64_t kept = piece[at + m];
        piece[at + m] = piece[at + n];
        piece[at + n] = kept;
    }
}

/* The axis of a piece, below `end`, with the least step at a place. */
static int least_axis(const int64_t piece[], int end, int place)
{
    int least = end - 1;
    for (int m = 0; m < end; m++)
        if (piece[m] > 1 && (piece[least] == 1 || llabs(piece[place + 1 + m]) < llabs(piece[place + 1 + least])))
            least = m;
    return least;
}

/* The axes in the order in which kernels run them: the last is the closest in the scratch memory, the one before it where
 * they are gathered from. */
static void order_axes(int64_t piece[])
{
    int last = DCLI_GATHER_AXES - 1;
    swap_axes(piece, least_axis(piece, last + 1, DCLI_PIECE_TO), last);
    swap_axes(piece, least_axis(piece, last, DCLI_PIECE_FROM), last - 1);
    swap_axes(piece, least_axis(piece, last - 1, DCLI_PIECE_TO), last - 2);
}

dcl_status dcli_pieces_make(dcli_gather *gather, const dcli_packed packed[], dcli_pieces *pieces)
{
    int accesses = dcli_part_body(gather)->access_count;
    dcl_status status = DCL_OK;
    for (int64_t p = 0; p < gather->part_count; p++)
        for (int a = 0; a < accesses && status == DCL_OK; a++) {
            const dcli_gather_part *part = &gather->part[p];
            if (dcli_part_gathers(gather, part, a))
                status = (dcli_part_binding(gather, part, a)->kind == DCLI_SPACE_STAGE ? add_staged : add_bound)(
                    gather, pieces, part, a, &packed[p * accesses + a]);
        }
    if (status == DCL_OK)
        status = join_pieces(pieces);
    for (int64_t p = 0; p < pieces->count && status == DCL_OK; p++)
        order_axes(pieces->piece + p * DCLI_PIECE_LONGS);
    return status;
}

/* Whether kernels gather a piece in vectors. */
static bool is_quick(const int64_t piece[])
{
    enum { LEAST = 4 };
    const int64_t *to = piece + DCLI_PIECE_TO + 1, *from = piece + DCLI_PIECE_FROM + 1;
    const int last = DCLI_GATHER_AXES - 1;
    if (to[last] != 1 || piece[last] < LEAST)
        return false;
    return from[last] == 1 || from[last] == 2 || (from[last - 1] == 1 && piece[last - 1] >= LEAST);
}

bool dcli_pieces_are_quick(const dcli_pieces *pieces)
{
    int64_t quick = 0, all = 0;
    for (int64_t p = 0; p < pieces->count; p++) {
        const int64_t *piece = pieces->piece + p * DCLI_PIECE_LONGS;
        int64_t elements = dcli_volume(DCLI_GATHER_AXES, piece);
        all += elements;
        quick += is_quick(piece) ? elements : 0;
    }
    return quick > all / 2;
}

/* lower/gather.c - decide which works of a batch gather their inputs, and cut these works into groups whose inputs fit
 * the nearest caches. */
#include "lower/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/gather.h"
#include "kernel/nest.h"
#include "lower/group.h"
#include "lower/rows.h"
#include "segment/cut.h"

enum {
    ALONG_ELEMENTS = 256, /* most elements along the innermost axis of a part whose inputs are packed in the output's
                             order */
    BLOCK_ALONG = 256,    /* most elements along the innermost axis of a part whose inputs kernels transpose */
    FEW = 16,             /* a group of small works gathers only 1/FEW of what fits, so that its inputs stay in the
                             first-level cache */
    SMALL_WORK = 8192     /* works with fewer elements also gather inputs that could be read in place, if these lie
                             in another order than the output: read in place, they would take too many rows */
};

static const dcli_body *body_of(const dcli_gather *gather) { return gather->operation->body; }

static const dcli_binding *binding_of(const dcli_gather *gather, const dcli_work *work, int a)
{
    return &gather->plan->binding[work->first_binding + a];
}

/* ---- choice of works ---------------------------------------------------------------------------------------------- */

/* Whether a work-item can gather a stage itself: all its pieces are in the node's own part or in peers' parts, and it
 * is a plain temporary stage. A stage is not if it is a replica, is written back, needs the fill value, or is copied
 * early. */
static bool comes_from_parts(const dcli_gather *gather, int number)
{
    if (number < 0)
        return false;
    const dcli_stage *stage = &gather->plan->stage[number];
    for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count; p++)
        if (gather->plan->piece[p].kind != DCLI_SPACE_OWN && gather->plan->piece[p].kind != DCLI_SPACE_PEER)
            return false;
    return stage->out_count == 0 && stage->kind == DCLI_STAGE_TEMPORARY && !stage->fill_first && !stage->early;
}

static bool is_staged_twice(const dcli_gather *gather, const dcli_work *work, int a)
{
    for (int b = 0; b < a; b++)
        if (binding_of(gather, work, b)->kind == DCLI_SPACE_STAGE &&
            binding_of(gather, work, b)->where == binding_of(gather, work, a)->where)
            return true;
    return false;
}

static bool lie_alike(const dcli_work *work, const dcli_binding *x, const dcli_binding *y)
{
    for (int m = 0; m < work->box.rank; m++)
        if (work->box.count[m] > 1 && x->step[m] != y->step[m])
            return false;
    return true;
}

/* Whether an access reads one and the same element for all elements of a work. */
static bool is_constant(const dcli_work *work, const dcli_binding *binding)
{
    for (int m = 0; m < work->box.rank; m++)
        if (work->box.count[m] > 1 && binding->step[m] != 0)
            return false;
    return true;
}

/* Find the accesses of a work that are gathered, as a set of bits; 0: the work does not gather, because some stage
 * cannot be gathered, or no access needs to be. */
static uint64_t mask_of(const dcli_gather *gather, const dcli_work *work)
{
    const dcli_body *body = body_of(gather);
    const dcli_binding *output = binding_of(gather, work, gather->output);
    uint64_t mask = 0;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].written && binding_of(gather, work, a)->kind != DCLI_SPACE_OWN)
            return 0;
    bool small = dcli_volume(work->box.rank, work->box.count) < SMALL_WORK;
    for (int a = 0; a < body->access_count; a++) {
        const dcli_binding *binding = binding_of(gather, work, a);
        bool staged = binding->kind == DCLI_SPACE_STAGE;
        bool fit = dcli_may_gather(body, a) && dcli_subscripts_exact(&gather->subscripts[a]);
        if (staged && (!fit || !comes_from_parts(gather, binding->where) || is_staged_twice(gather, work, a)))
            return 0;
        bool in_place = binding->kind == DCLI_SPACE_OWN || binding->kind == DCLI_SPACE_PEER;
        if (staged || (fit && small && in_place && !lie_alike(work, binding, output) && !is_constant(work, binding)))
            mask |= UINT64_C(1) << a;
    }
    return mask;
}

static bool bind_alike(const dcli_gather *gather, const dcli_gathered *x, const dcli_gathered *y)
{
    for (int a = 0; a < body_of(gather)->access_count; a++) {
        const dcli_binding *p = binding_of(gather, x->work, a), *q = binding_of(gather, y->work, a);
        if ((x->mask >> a & 1) == 0 && (p->kind != q->kind || p->where != q->where))
            return false;
    }
    return x->mask == y->mask;
}

/* ---- cutting ------------------------------------------------------------------------------------------------------ */

/* A series: consecutive works (sorted by output) of one shape, bound alike. In the output they often alternate with
 * each other. */
struct series {
    int64_t first, count;
    const int64_t *shape;
};

static struct series find_series(const dcli_gather *gather, int64_t first)
{
    const dcli_gathered *work = &gather->work[first];
    struct series series = {first, 1, work->work->box.count};
    size_t bytes = (size_t)body_of(gather)->space_rank * sizeof(int64_t);
    while (first + series.count < gather->work_count && bind_alike(gather, work, &work[series.count]) &&
           work->orders == work[series.count].orders &&
           memcmp(series.shape, work[series.count].work->box.count, bytes) == 0)
        series.count++;
    return series;
}

/* How many elements a work may compute so that its gathered inputs fit the nearest caches; at least 1. */
static int64_t most_elements(const dcli_gather *gather, uint64_t mask)
{
    int64_t bytes = 0;
    for (int a = 0; a < body_of(gather)->access_count; a++)
        bytes += mask >> a & 1 ? (int64_t)dcli_element_bytes(gather->operation, body_of(gather)->access[a].param) : 0;
    return dcli_max(gather->traits->near_bytes / bytes, 1);
}

/* The axis of a box of the series' works along which the output has the largest step; -1: the box has one element.
 * @param cell  [rank] elements of the box per axis. */
static int furthest_axis(const dcli_gather *gather, const struct series *series, const int64_t cell[])
{
    const dcli_body *body = body_of(gather);
    const int64_t *step =
        gather->row + series->first * dcli_row_length(body) + dcli_row_at(body, DCLI_ROW_STEP, gather->output);
    int furthest = -1;
    for (int m = 0; m < body->space_rank; m++)
        if (cell[m] > 1 && (furthest < 0 || llabs(step[m]) > llabs(step[furthest])))
            furthest = m;
    return furthest;
}

/* Find a band: consecutive works, from the first of the series on, whose outputs all begin within one step of the
 * first work's output along axis `far`. In the output, the rows of these works are interleaved along that axis.
 * @return the number of works. */
static int64_t find_band(const dcli_gather *gather, const struct series *series, int far)
{
    const dcli_body *body = body_of(gather);
    int length = dcli_row_length(body), at = dcli_row_at(body, DCLI_ROW_OFFSET, gather->output);
    const int64_t *first = gather->row + series->first * length + at;
    int64_t count = 1;
    while (far >= 0 && count < series->count && first[count * length] - first[0] < llabs(first[1 + far]))
        count++;
    return count;
}

/* Choose how to cut a band's works into cells, so that the cells of several works together are a block of the output
 * and not a long strip. @param cell_out  elements of a cell per axis. @return number of works whose cells form a
 * block. */
static int64_t find_cell(const dcli_gather *gather, const struct series *series, int far, int64_t most,
                         int64_t cell_out[])
{
    const dcli_body *body = body_of(gather);
    int rank = body->space_rank;
    int64_t along = dcli_transposed_axis(body) >= 0 ? ALONG_ELEMENTS : most, works = find_band(gather, series, far);
    memcpy(cell_out, series->shape, (size_t)rank * sizeof cell_out[0]);
    /* Cut the other axes until a cell has at most `along` elements besides axis `far`. */
    for (int m = 0; m < rank && far >= 0; m++) {
        int64_t inner = dcli_volume(rank, cell_out) / cell_out[far];
        if (m != far && inner > along)
            cell_out[m] = dcli_max(1, along / (inner / cell_out[m]));
    }
    int64_t inner = far >= 0 ? dcli_volume(rank, cell_out) / cell_out[far] : 1;
    works = dcli_min(works, inner < along ? along / inner : dcli_max(1, most / inner));
    if (far >= 0)
        cell_out[far] = dcli_min(cell_out[far], dcli_max(1, most / (works * inner)));
    return works;
}

/* Choose the cells of one work if kernels transpose its inputs: blocks of the two transposed axes. */
static void find_block(const dcli_body *body, const int64_t shape[], int64_t most, int64_t cell_out[])
{
    int innermost = body->space_rank - 1, across = dcli_transposed_axis(body);
    memcpy(cell_out, shape, (size_t)body->space_rank * sizeof cell_out[0]);
    if (across >= 0 && dcli_volume(body->space_rank, cell_out) > most) {
        cell_out[innermost] = dcli_min(cell_out[innermost], BLOCK_ALONG);
        cell_out[across] = dcli_min(cell_out[across], dcli_max(1, most / BLOCK_ALONG));
    }
    for (int m = 0; m < body->space_rank; m++) {
        int64_t elements = dcli_volume(body->space_rank, cell_out);
        if (elements > most)
            cell_out[m] = dcli_max(1, most / (elements / cell_out[m]));
    }
}

/* Cut works of one shape into cells, and make a group of the cells at each position.
 * @param slow_out  set to true if most elements of the first group would be copied one by one; then no group is made.
 *                  NULL: make all groups in any case. */
static dcl_status make_cells(dcli_gather *gather, const struct series *works, const int64_t cell[], bool *slow_out)
{
    dcli_cut cut = dcli_cut_begin(body_of(gather)->space_rank, works->shape, cell);
    bool first = true;
    dcl_status status = DCL_OK;
    while (dcli_cut_next(&cut)) {
        for (int64_t w = works->first; w < works->first + works->count && status == DCL_OK; w++) {
            dcli_gather_part part = {.number = w};
            memcpy(part.lo, cut.lo, sizeof part.lo);
            memcpy(part.count, cut.count, sizeof part.count);
            status = dcli_group_add(gather, &part);
        }
        if (status == DCL_OK)
            status = dcli_group_end(gather, first ? slow_out : NULL);
        if (status != DCL_OK || (first && slow_out != NULL && *slow_out))
            return status;
        first = false;
    }
    return DCL_OK;
}

static dcl_status make_blocks(dcli_gather *gather, const struct series *series, int64_t most)
{
    int64_t cell[DCL_MAX_RANK];
    dcl_status status = DCL_OK;
    find_block(body_of(gather), series->shape, most, cell);
    gather->order = DCLI_SOURCE_ORDER;
    for (int64_t w = series->first; w < series->first + series->count && status == DCL_OK; w++)
        status = make_cells(gather, &(struct series){w, 1, series->shape}, cell, NULL);
    return status;
}

/* Make groups of the first works of a series, in the output's order if possible and fast, else in the order of the
 * inputs' arrays. @param count_out  number of works used. */
static dcl_status cut_some(dcli_gather *gather, const struct series *series, int64_t most, int64_t *count_out)
{
    int orders = gather->work[series->first].orders;
    int64_t cell[DCL_MAX_RANK];
    int far = furthest_axis(gather, series, series->shape);
    struct series some = {series->first, find_cell(gather, series, far, most, cell), series->shape};
    bool slow = false, choice = (orders & DCLI_SOURCE_ORDER) != 0;
    *count_out = some.count;
    gather->order = DCLI_OUTPUT_ORDER;
    gather->far = far;
    dcl_status status = DCL_OK;
    if ((orders & DCLI_OUTPUT_ORDER) != 0)
        status = make_cells(gather, &some, cell, choice ? &slow : NULL);
    gather->far = -1;
    if (status == DCL_OK && (slow || (orders & DCLI_OUTPUT_ORDER) == 0))
        status = make_blocks(gather, &some, most);
    return status;
}

static dcl_status cut_series(dcli_gather *gather, const struct series *series, int64_t most)
{
    dcl_status status = DCL_OK;
    for (int64_t w = 0, count; w < series->count && status == DCL_OK; w += count)
        status = cut_some(gather, &(struct series){series->first + w, series->count - w, series->shape}, most, &count);
    return status;
}

/* Collect whole works from number `first` on for one group, as many as it may have; the caller ends the group or drops
 * it. @param count_out  number of works; 0: the first one alone is too large, or cannot be packed in the output's
 * order. */
static dcl_status add_small(dcli_gather *gather, int64_t first, int64_t most, int64_t *count_out)
{
    const dcli_gathered *work = &gather->work[first];
    int rank = body_of(gather)->space_rank;
    int64_t count = 0;
    dcl_status status = DCL_OK;
    gather->order = DCLI_OUTPUT_ORDER;
    while (status == DCL_OK && first + count < gather->work_count && bind_alike(gather, work, &work[count]) &&
           (work[count].orders & DCLI_OUTPUT_ORDER) != 0) {
        dcli_gather_part part = {.number = first + count};
        memcpy(part.count, work[count].work->box.count, sizeof part.count);
        if (gather->elements + dcli_volume(rank, part.count) > (count > 0 ? most / FEW : most))
            break;
        status = dcli_group_add(gather, &part);
        count++;
    }
    *count_out = count;
    return status;
}

/* Make groups of some works from number `first` on: one group of whole small works if its output has few gaps, else
 * groups of parts of a series. @param count_out  number of works used. */
static dcl_status make_groups(dcli_gather *gather, int64_t first, int64_t *count_out)
{
    int64_t most = most_elements(gather, gather->work[first].mask);
    dcl_status status = add_small(gather, first, most, count_out);
    if (status == DCL_OK && *count_out > 0 && dcli_group_is_dense(gather))
        return dcli_group_end(gather, NULL);
    gather->part_count = gather->elements = 0;
    struct series series = find_series(gather, first);
    *count_out = series.count;
    return status == DCL_OK ? cut_series(gather, &series, most) : status;
}

/* ---- all of a batch ----------------------------------------------------------------------------------------------- */

dcl_status dcli_gather_open(dcli_gather *gather, const dcli_operation *operation, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_traits *traits, dcli_lowered *lowered)
{
    const dcli_body *body = operation->body;
    *gather = (dcli_gather){.operation = operation, .plan = plan, .batch = batch, .traits = traits, .lowered = lowered};
    if (!dcli_gathers(body) || traits->check_access || traits->is_gpu || !traits->same_addresses)
        return DCL_OK;
    gather->took = dcli_calloc((size_t)batch->work_count, sizeof *gather->took);
    if (gather->took == NULL)
        return DCL_ERR_NOMEM;
    gather->possible = true;
    gather->far = -1;
    while (!body->access[gather->output].written)
        gather->output++;
    dcl_status status = DCL_OK;
    for (int a = 0; a < body->access_count && status == DCL_OK; a++) {
        dcli_subscripts own;
        status = dcli_operation_subscripts(operation, a, &own, &gather->subscripts[a]);
    }
    return status;
}

static dcl_status add_row(dcli_gather *gather, const dcli_work *work)
{
    static const int64_t none[DCLI_MAX_ACCESSES];
    size_t length = (size_t)dcli_row_length(body_of(gather));
    if (dcli_grow(&gather->row, gather->row_count, &gather->row_capacity, length * sizeof(int64_t)) != 0)
        return DCL_ERR_NOMEM;
    int64_t *row = gather->row + (int64_t)length * gather->row_count++;
    dcli_fill_row(gather->operation, false, work, binding_of(gather, work, 0), none, row);
    return DCL_OK;
}

dcl_status dcli_gather_add(dcli_gather *gather, int64_t w)
{
    const dcli_work *work = &gather->plan->work[gather->batch->first_work + w];
    dcli_gathered taken = {.work = work};
    if (!gather->possible || work->checked || (taken.mask = mask_of(gather, work)) == 0)
        return DCL_OK;
    if (dcli_grow(&gather->work, gather->work_count, &gather->work_capacity, sizeof *gather->work) != 0 ||
        add_row(gather, work) != DCL_OK)
        return DCL_ERR_NOMEM;
    dcli_gather_part whole = {.number = gather->work_count};
    memcpy(whole.count, work->box.count, sizeof whole.count);
    gather->work[gather->work_count] = taken;
    taken.orders = dcli_group_orders(gather, &whole);
    if (taken.orders == 0) {
        gather->row_count--;
        return DCL_OK;
    }
    gather->work[gather->work_count++] = taken;
    gather->took[w] = true;
    return DCL_OK;
}

bool dcli_gather_took(const dcli_gather *gather, int64_t w) { return gather->possible && gather->took[w]; }

/* A work's number, and the offset at which its output begins. */
struct placed {
    int64_t offset, number;
};

static int by_offset(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sort the works by the offset of their output. Plans need not be sorted. */
static dcl_status sort_works(dcli_gather *gather)
{
    size_t length = (size_t)dcli_row_length(body_of(gather)), count = (size_t)gather->work_count;
    struct placed *placed = dcli_malloc(count * sizeof *placed);
    dcli_gathered *work = dcli_malloc(count * sizeof *work);
    int64_t *row = dcli_malloc(count * length * sizeof *row);
    bool enough = placed != NULL && work != NULL && row != NULL;
    for (size_t n = 0; n < count && enough; n++)
        placed[n] = (struct placed){
            gather->row[n * length + (size_t)dcli_row_at(body_of(gather), DCLI_ROW_OFFSET, gather->output)],
            (int64_t)n};
    if (enough)
        qsort(placed, count, sizeof *placed, by_offset);
    for (size_t n = 0; n < count && enough; n++) {
        work[n] = gather->work[placed[n].number];
        memcpy(row + n * length, gather->row + (size_t)placed[n].number * length, length * sizeof *row);
    }
    dcli_free(placed);
    dcli_free(enough ? gather->work : work);
    dcli_free(enough ? gather->row : row);
    if (!enough)
        return DCL_ERR_NOMEM;
    gather->work = work;
    gather->row = row;
    gather->work_capacity = gather->row_capacity = gather->work_count;
    return DCL_OK;
}

dcl_status dcli_gather_end(dcli_gather *gather)
{
    dcl_status status = gather->work_count > 1 ? sort_works(gather) : DCL_OK;
    for (int64_t w = 0, count; w < gather->work_count && status == DCL_OK; w += count)
        status = make_groups(gather, w, &count);
    return status;
}

void dcli_gather_close(dcli_gather *gather)
{
    for (int s = 0; gather->near != NULL && s < gather->batch->stage_count; s++)
        dcli_near_free(&gather->near[s]);
    dcli_free(gather->near);
    dcli_free(gather->took);
    dcli_free(gather->work);
    dcli_free(gather->row);
    dcli_free(gather->part);
    for (int64_t b = 0; b < gather->bin_capacity; b++)
        dcli_transfers_free(&gather->bin[b].pieces);
    dcli_free(gather->bin);
}

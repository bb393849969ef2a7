/* lower/rows.c - turn works into rows: fill them, join them if the body allows it, and cut them for the device. */
#include "lower/rows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "kernel/product.h"
#include "kernel/tile_kernel.h"
#include "lower/group.h"
#include "resmap/elements.h"
#include "segment/cut.h"

/* Write the numbers of a field of an access into a row. Does nothing if the access has no such field. */
static void put(const dcli_body *body, dcli_row_field field, int a, const int64_t numbers[], int64_t row[])
{
    int length = dcli_row_field_length(body, field, a);
    if (length > 0)
        memcpy(row + dcli_row_at(body, field, a), numbers, (size_t)length * sizeof row[0]);
}

void dcli_fill_row_box(const dcli_body *body, const dcl_box *box, int64_t row[])
{
    put(body, DCLI_ROW_START, 0, box->start, row);
    put(body, DCLI_ROW_STRIDE, 0, box->stride, row);
    put(body, DCLI_ROW_COUNT, 0, box->count, row);
}

/* By how much subscript d in the body's text exceeds that of the plan: a multiple of its period. */
static int64_t shift_of(const dcli_operation *operation, int a, int d)
{
    dcli_subscripts own, base;
    return dcli_body_wraps(operation->body, a, d) && dcli_operation_subscripts(operation, a, &own, &base) == DCL_OK
               ? own.axis[d].shift
               : 0;
}

void dcli_fill_row(const dcli_operation *operation, bool planned_only, const dcli_work *work,
                   const dcli_binding bindings[], const int64_t base[], int64_t row[])
{
    const dcli_body *body = operation->body;
    dcli_fill_row_box(body, &work->box, row);
    if (body->inner_rank > 0) {
        int64_t start[DCL_MAX_RANK], count[DCL_MAX_RANK], before[DCL_MAX_RANK] = {work->panel_first};
        dcli_operation_inner(operation, start, count); /* it was checked before planning */
        start[0] += work->panel_first;
        if (work->panel_count > 0)
            count[0] = work->panel_count;
        put(body, DCLI_ROW_INNER_BEFORE, 0, before, row);
        put(body, DCLI_ROW_INNER_START, 0, start, row);
        put(body, DCLI_ROW_INNER_COUNT, 0, count, row);
    }
    for (int a = 0; a < body->access_count; a++) {
        const dcli_binding *binding = &bindings[a];
        const dcli_limits *limits = binding->limits;
        dcli_limits found;
        if (limits == NULL && planned_only) {
            found = dcli_limits_of(operation, a, &work->box);
            limits = &found;
        }
        row[dcli_row_at(body, DCLI_ROW_OFFSET, a)] = binding->offset + base[a];
        put(body, DCLI_ROW_STEP, a, binding->step, row);
        if (body->access[a].reach != DCLI_REACH_AFFINE) {
            put(body, DCLI_ROW_LOW, a, limits->low, row);
            put(body, DCLI_ROW_EXTENT, a, limits->count, row);
            put(body, DCLI_ROW_WIDTH, a, limits->width, row);
        }
        if (dcli_body_clamps(body, a))
            put(body, DCLI_ROW_WIDTH, a, binding->limits != NULL ? binding->limits->width : (int64_t[DCL_MAX_RANK]){0},
                row);
        bool numbered = dcli_body_places(body) && a == body->home; /* indices are numbered in its grid, without halos */
        dcl_grid grid =
            numbered ? *dcli_operand_grid(&operation->operand[body->access[a].param]) : dcli_access_grid(operation, a);
        int64_t *low = row + dcli_row_at(body, DCLI_ROW_GRID_LOW, a),
                *end = row + dcli_row_at(body, DCLI_ROW_GRID_END, a);
        bool whole = !planned_only || numbered;
        for (int d = 0; d < grid.rank; d++) {
            low[d] = (!whole ? limits->low[d] : grid.origin[d]) + shift_of(operation, a, d);
            end[d] = low[d] + (!whole ? limits->count[d] : grid.extent[d]);
        }
    }
}

static bool are_alike(const dcli_launch *launch, const dcli_launch *other, int accesses)
{
    if (launch->variant != other->variant || launch->gathers != other->gathers ||
        launch->multiplies != other->multiplies)
        return false;
    for (int a = 0; a < accesses; a++)
        if (launch->via[a] != other->via[a] || launch->space[a].kind != other->space[a].kind ||
            launch->space[a].number != other->space[a].number)
            return false;
    return true;
}

static int64_t *bucket_of(dcli_lowered *lowered, const dcli_launch *launch, int accesses)
{
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, 2 * (uint64_t)launch->variant + launch->gathers);
    for (int a = 0; a < accesses; a++)
        hash = dcli_hash_word(hash, (uint64_t)launch->space[a].number << 8 | (uint64_t)launch->space[a].kind);
    return &lowered->bucket[hash % DCLI_LAUNCH_BUCKETS];
}

dcli_launch *dcli_launch_like(dcli_lowered *lowered, const dcli_launch *like, int accesses)
{
    int64_t *bucket = bucket_of(lowered, like, accesses);
    for (int64_t l = *bucket; l > 0; l = lowered->launch[l - 1].next)
        if (are_alike(&lowered->launch[l - 1], like, accesses))
            return &lowered->launch[l - 1];
    if (dcli_grow(&lowered->launch, lowered->launch_count, &lowered->launch_capacity, sizeof *lowered->launch) != 0)
        return NULL;
    dcli_launch *launch = &lowered->launch[lowered->launch_count++];
    *launch = (dcli_launch){
        .variant = like->variant, .gathers = like->gathers, .multiplies = like->multiplies, .next = *bucket};
    memcpy(launch->space, like->space, sizeof launch->space);
    memcpy(launch->via, like->via, sizeof launch->via);
    *bucket = lowered->launch_count;
    return launch;
}

/* Find the launch of a kernel, or of products, with the memory of these bindings as arguments, or add it. @return NULL:
 * DCL_ERR_NOMEM. */
static dcli_launch *launch_for(dcli_lowered *lowered, dcli_variant variant, bool multiplies,
                               const dcli_binding bindings[], int accesses)
{
    dcli_launch like = {.variant = variant, .multiplies = multiplies};
    for (int a = 0; a < accesses; a++)
        like.space[a] = dcli_bound_space(&bindings[a]);
    return dcli_launch_like(lowered, &like, accesses);
}

int64_t *dcli_next_row(dcli_launch *launch, int length)
{
    if (dcli_grow(&launch->row, launch->row_count, &launch->row_capacity, (size_t)length * sizeof(int64_t)) != 0)
        return NULL;
    return launch->row + launch->row_count++ * length;
}

static dcl_status put_row(dcli_launch *launch, int length, const int64_t row[])
{
    int64_t *next = dcli_next_row(launch, length);
    if (next == NULL)
        return DCL_ERR_NOMEM;
    memcpy(next, row, (size_t)length * sizeof *row);
    return DCL_OK;
}

/* The axis along which `next` continues a row, so that one longer row can replace both; -1: there is none. */
static int follows_along(const dcli_body *body, const int64_t row[], const int64_t next[])
{
    int start = dcli_row_at(body, DCLI_ROW_START, 0), count = dcli_row_at(body, DCLI_ROW_COUNT, 0),
        stride = dcli_row_at(body, DCLI_ROW_STRIDE, 0), length = dcli_row_length(body), axis = -1;
    for (int m = 0; m < body->space_rank; m++)
        if (row[start + m] != next[start + m]) {
            if (axis >= 0)
                return -1;
            axis = m;
        }
    if (axis < 0)
        return -1;
    int64_t expected[length];
    memcpy(expected, row, (size_t)length * sizeof row[0]);
    expected[start + axis] += row[count + axis] * row[stride + axis];
    expected[count + axis] = next[count + axis];
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach == DCLI_REACH_AFFINE && dcli_row_field_length(body, DCLI_ROW_STEP, a) > 0)
            expected[dcli_row_at(body, DCLI_ROW_OFFSET, a)] +=
                row[count + axis] * row[dcli_row_at(body, DCLI_ROW_STEP, a) + axis];
    return memcmp(expected, next, (size_t)length * sizeof next[0]) == 0 ? axis : -1;
}

/* Lengthen one of the launch's last rows by `next`, if `next` continues it, as works of consecutive tiles do. Then a
 * launch may need no table of rows, and the borders of all tiles take one launch. The kernel must suit the longer row,
 * too. @return whether a row was lengthened. */
static bool lengthen_row(const dcli_body *body, dcli_launch *launch, const int64_t next[])
{
    enum { MOST_TRIED = 4 }; /* a tile has few borders */
    int length = dcli_row_length(body), count = dcli_row_at(body, DCLI_ROW_COUNT, 0);
    for (int64_t r = launch->row_count - 1; r >= 0 && r >= launch->row_count - MOST_TRIED; r--) {
        int64_t *row = launch->row + r * length;
        int axis = follows_along(body, row, next);
        if (axis < 0)
            continue;
        row[count + axis] += next[count + axis];
        if (launch->variant != DCLI_VARIANT_UNIT || dcli_row_is_unit(body, row))
            return true;
        row[count + axis] -= next[count + axis];
    }
    return false;
}

/* Add the row of a work of a tile kernel to its launch. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status add_tile(const dcli_traits *traits, const dcli_body *body, const dcli_work *work,
                           const dcli_binding bindings[], const int64_t base[], dcli_lowered *lowered)
{
    int length = dcli_row_length(body);
    int64_t filled[length];
    dcli_tile_fill_row(body, work, bindings, base, filled);
    dcli_variant variant = traits->check_access                  ? DCLI_VARIANT_CHECKED
                           : dcli_tile_row_is_unit(body, filled) ? DCLI_VARIANT_UNIT
                                                                 : DCLI_VARIANT_ANY;
    dcli_launch *launch = launch_for(lowered, variant, false, bindings, body->access_count);
    return launch != NULL ? put_row(launch, length, filled) : DCL_ERR_NOMEM;
}

/* Whether the works of an operation are single elements without a pattern, because the first output's map shuffles
 * elements. There may be millions, and joining them would gain nothing. */
static bool are_scattered(const dcli_operation *operation)
{
    return dcli_layout_is_shuffled(operation->operand[operation->body->owner].layout);
}

/* Reorder rows whose cost rises or falls along the box. Drivers first give each thread many consecutive rows, so all
 * stretches of consecutive rows should cost about the same.
 * @param turns  if not 0: rows 0, turns, 2 * turns, ..., then 1, turns + 1, ..., so that consecutive rows come from
 *               all over the box. 0: the first, the last, the second, the last but one, ...: if the cost changes
 *               linearly, as in a triangle, all such pairs cost the same. */
static dcl_status reorder(int64_t row[], int64_t count, int64_t turns, int length)
{
    size_t bytes = (size_t)length * sizeof row[0];
    int64_t *sorted = dcli_malloc((size_t)count * bytes), *at = sorted;
    if (sorted == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t first = 0; first < turns; first++)
        for (int64_t r = first; r < count; r += turns, at += length)
            memcpy(at, row + r * length, bytes);
    for (int64_t r = 0; turns == 0 && r < count; r++, at += length)
        memcpy(at, row + (r % 2 == 0 ? r / 2 : count - 1 - r / 2) * length, bytes);
    memcpy(row, sorted, (size_t)count * bytes);
    dcli_free(sorted);
    return DCL_OK;
}

/* Cut a row into rows of a size that suits the device, and add them to the launch. For a GPU the row is not cut; if it
 * continues a row of the launch, that one is lengthened. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status cut_row(const dcli_traits *traits, const dcli_body *body, dcli_launch *launch, const int64_t whole[])
{
    int rank = body->space_rank, length = dcli_row_length(body);
    const int64_t *all = whole + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    int64_t shape[DCL_MAX_RANK];
    if (traits->is_gpu && lengthen_row(body, launch, whole))
        return DCL_OK;
    if (traits->is_gpu || dcli_volume(rank, all) == 1)
        return put_row(launch, length, whole);
    bool turns = dcli_body_row_shape(body, all, traits->compute_units, traits->element_ns, shape);
    int64_t before = launch->row_count;
    dcli_cut cut = dcli_cut_begin(rank, all, shape);
    while (dcli_cut_next(&cut)) {
        int64_t *row = dcli_next_row(launch, length);
        if (row == NULL)
            return DCL_ERR_NOMEM;
        dcli_row_part(body, whole, cut.lo, cut.count, row);
    }
    if (!turns && !body->slanted)
        return DCL_OK;
    return reorder(launch->row + before * length, launch->row_count - before, body->slanted ? 0 : traits->shares,
                   length);
}

dcl_status dcli_rows_add(const dcli_operation *operation, const dcli_traits *traits, const dcli_work *work,
                         const dcli_binding bindings[], const int64_t base[], dcli_lowered *lowered,
                         dcli_lowered *waiting)
{
    const dcli_body *body = operation->body;
    if (body->tile_kernel)
        return add_tile(traits, body, work, bindings, base, lowered);
    bool check = traits->check_access, checked = work->checked || check;
    bool waits = body->blind && !checked && !are_scattered(operation);
    int length = dcli_row_length(body);
    int64_t whole[length];
    dcli_fill_row(operation, check, work, bindings, base, whole);
    dcli_variant variant = checked                                   ? DCLI_VARIANT_CHECKED
                           : !waits && dcli_row_is_unit(body, whole) ? DCLI_VARIANT_UNIT
                                                                     : DCLI_VARIANT_ANY;
    dcli_matrix_product product;
    int access[DCLI_PRODUCT_MATRICES];
    bool multiplies = traits->multiplies && !checked && dcli_row_product(body, whole, &product, access);
    waits &= !multiplies;
    dcli_launch *launch = launch_for(waits ? waiting : lowered, variant, multiplies, bindings, body->access_count);
    if (launch == NULL)
        return DCL_ERR_NOMEM;
    return waits || multiplies ? put_row(launch, length, whole) : cut_row(traits, body, launch, whole);
}

dcl_status dcli_rows_end(const dcli_body *body, const dcli_traits *traits, dcli_lowered *waiting, dcli_lowered *lowered)
{
    dcl_status status = DCL_OK;
    for (int64_t l = 0; l < waiting->launch_count && status == DCL_OK; l++) {
        dcli_launch *launch = &waiting->launch[l];
        status = dcli_rows_join(body, false, launch->row, &launch->row_count);
        for (int64_t r = 0; r < launch->row_count && status == DCL_OK; r++) {
            const int64_t *row = launch->row + r * dcli_row_length(body);
            launch->variant = dcli_row_is_unit(body, row) ? DCLI_VARIANT_UNIT : DCLI_VARIANT_ANY;
            dcli_launch *target = dcli_launch_like(lowered, launch, body->access_count);
            status = target != NULL ? cut_row(traits, body, target, row) : DCL_ERR_NOMEM;
        }
    }
    return status;
}

/* lower/mixed.c - let a GPU read its own memory and that of another GPU at the same time.
 *
 * The link between two GPUs is much slower than their memories. A GPU runs the kernels of one queue one after the other.
 * Even kernels of two queues hardly overlap: the work-groups of the second kernel start when all those of the first one
 * have begun. So a batch would take as long as computing with own elements takes, and computing with the peer's after it. Therefore
 * both are cut into thin strips, and one launch (dcl_mixed) runs a strip of each in turn. Its work-groups begin in the
 * order of the strips, so most of those that run at a time wait for the link, and the others
 * fill the gaps. Two H200s, C = A + B^T of 16384 x 16384 float: 1008 us one after the other, 817 us in turn; reading the
 * peer's half alone takes 810 us. */
#include "lower/mixed.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/nest.h"
#include "lower/group.h"
#include "lower/rows.h"

enum {
    LEAST_STRIPS = 4, /* fewer strips overlap too little to be worth a launch with a table */
    MOST_ROWS = 64    /* most rows of a launch whose counterparts are looked for */
};

static bool is_simple(const dcli_launch *launch)
{
    return launch->variant == DCLI_VARIANT_UNIT && !launch->gathers && !launch->multiplies && !launch->mixed &&
           launch->row_count <= MOST_ROWS;
}

/* Whether two launches differ only in that `far` reads a peer's part where `near` reads the own part. */
static bool differ_in_place(const dcli_body *body, const dcli_launch *near, const dcli_launch *far)
{
    bool any = false;
    for (int a = 0; a < body->access_count; a++) {
        const dcli_space *x = &near->space[a], *y = &far->space[a];
        if (x->kind == y->kind && x->number == y->number)
            continue;
        if (!dcli_body_may_mix(body, a) || x->kind != DCLI_SPACE_OWN || y->kind != DCLI_SPACE_PEER)
            return false;
        any = true;
    }
    return any;
}

/* The axis along which two rows are cut into strips: the outermost one with several indices in both. -1: the rows differ in
 * more than their own numbers and their lengths along this axis. */
static int find_axis(const dcli_body *body, const int64_t near[], const int64_t far[])
{
    int length = dcli_row_length(body), own[length], own_count = dcli_row_own(body, own);
    int count = dcli_row_at(body, DCLI_ROW_COUNT, 0), axis = 0;
    while (axis < body->space_rank && (near[count + axis] <= 1 || far[count + axis] <= 1))
        axis++;
    if (axis == body->space_rank)
        return -1;
    int64_t x[length], y[length];
    memcpy(x, near, sizeof x);
    memcpy(y, far, sizeof y);
    for (int n = 0; n < own_count; n++)
        x[own[n]] = y[own[n]] = 0;
    x[count + axis] = y[count + axis] = 0;
    return memcmp(x, y, sizeof x) == 0 ? axis : -1;
}

/* How many indices a strip has along an axis. Work-groups cover squares of transposed inputs, or several lines of the
 * innermost plane.
 * @param common  indices along the axis that are cut. @return 0: they are too few */
static int64_t thickness_of(const dcli_body *body, const dcli_traits *traits, const int64_t row[], int axis,
                            int64_t common)
{
    const int64_t *count = row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    int64_t slab = 1;
    for (int m = 0; m < body->space_rank; m++)
        slab *= m == axis ? 1 : count[m];
    int64_t thick = dcli_max(traits->strip_elements / slab, 1), whole = dcli_ceil_div(thick, DCLI_SQUARE) * DCLI_SQUARE;
    bool squares = axis == dcli_transposed_axis(body);
    if (squares || (axis >= body->space_rank - 2 && common / whole >= LEAST_STRIPS))
        thick = whole;
    return common / thick >= LEAST_STRIPS ? thick : 0;
}

/* Move `thick` indices of a row from the front of the row to the end of a launch. */
static dcl_status move_strip(const dcli_body *body, int64_t row[], int axis, int64_t thick, dcli_launch *mixed)
{
    int64_t lo[DCL_MAX_RANK] = {0}, count[DCL_MAX_RANK], rest[dcli_row_length(body)];
    const int64_t *all = row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    int64_t *strip = dcli_next_row(mixed, dcli_row_length(body));
    if (strip == NULL)
        return DCL_ERR_NOMEM;
    memcpy(count, all, (size_t)body->space_rank * sizeof count[0]);
    count[axis] = thick;
    dcli_row_part(body, row, lo, count, strip);
    lo[axis] = thick;
    count[axis] = all[axis] - thick;
    dcli_row_part(body, row, lo, count, rest);
    memcpy(row, rest, sizeof rest);
    return DCL_OK;
}

/* Cut the indices that two rows have in common into strips, and move the strips to a launch. A row may be empty afterwards. */
static dcl_status mix_rows(const dcli_body *body, const dcli_traits *traits, int64_t near[], int64_t far[],
                           dcli_launch *mixed)
{
    int axis = find_axis(body, near, far), at = dcli_row_at(body, DCLI_ROW_COUNT, 0) + axis;
    if (axis < 0)
        return DCL_OK;
    int64_t common = dcli_min(near[at], far[at]), thick = thickness_of(body, traits, near, axis, common);
    dcl_status status = DCL_OK;
    if (thick == 0)
        return DCL_OK;
    for (; common > 0 && status == DCL_OK; common -= thick) {
        thick = dcli_min(thick, common);
        status = move_strip(body, near, axis, thick, mixed);
        if (status == DCL_OK)
            status = move_strip(body, far, axis, thick, mixed);
    }
    return status;
}

static bool is_empty(const dcli_body *body, const int64_t row[])
{
    return dcli_volume(body->space_rank, row + dcli_row_at(body, DCLI_ROW_COUNT, 0)) == 0;
}

static void drop_empty_rows(const dcli_body *body, dcli_launch *launch)
{
    int length = dcli_row_length(body);
    int64_t left = 0;
    for (int64_t r = 0; r < launch->row_count; r++)
        if (!is_empty(body, launch->row + r * length))
            memmove(launch->row + left++ * length, launch->row + r * length, (size_t)length * sizeof *launch->row);
    launch->row_count = left;
}

/* Mix the rows of two launches of `lowered`. A launch that gets rows is appended. */
static dcl_status mix(const dcli_body *body, const dcli_traits *traits, dcli_lowered *lowered, int64_t near,
                      int64_t far)
{
    int length = dcli_row_length(body);
    dcli_launch *x = &lowered->launch[near], *y = &lowered->launch[far];
    dcli_launch mixed = {.variant = DCLI_VARIANT_UNIT, .mixed = true};
    dcl_status status = DCL_OK;
    memcpy(mixed.space, x->space, sizeof mixed.space);
    memcpy(mixed.via, x->via, sizeof mixed.via);
    memcpy(mixed.there, y->space, sizeof mixed.there);
    for (int64_t r = 0; r < x->row_count; r++)
        for (int64_t s = 0; s < y->row_count && status == DCL_OK; s++)
            if (!is_empty(body, x->row + r * length) && !is_empty(body, y->row + s * length))
                status = mix_rows(body, traits, x->row + r * length, y->row + s * length, &mixed);
    drop_empty_rows(body, x);
    drop_empty_rows(body, y);
    if (status == DCL_OK && mixed.row_count > 0 &&
        dcli_grow(&lowered->launch, lowered->launch_count, &lowered->launch_capacity, sizeof *lowered->launch) != 0)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK && mixed.row_count > 0)
        lowered->launch[lowered->launch_count++] = mixed;
    else
        dcli_launch_drop_lists(&mixed);
    return status;
}

/* Remove launches without rows. The launches with strips come first: peers wait until their parts have been read. */
static void sort_launches(dcli_lowered *lowered, int64_t before)
{
    int64_t left = 0;
    for (int64_t l = 0; l < lowered->launch_count; l++) {
        if (lowered->launch[l].row_count > 0 || l >= before)
            lowered->launch[left++] = lowered->launch[l];
        else
            dcli_launch_drop_lists(&lowered->launch[l]);
    }
    int64_t mixed = lowered->launch_count - before;
    lowered->launch_count = left;
    for (int64_t n = 0; n < mixed; n++) {
        dcli_launch last = lowered->launch[left - 1];
        memmove(&lowered->launch[1], &lowered->launch[0], (size_t)(left - 1) * sizeof last);
        lowered->launch[0] = last;
    }
}

dcl_status dcli_rows_mix(const dcli_body *body, const dcli_traits *traits, dcli_lowered *lowered)
{
    int64_t before = lowered->launch_count;
    dcl_status status = DCL_OK;
    if (!traits->is_gpu || !traits->reads_peers || traits->check_access || before > MOST_ROWS || !dcli_body_mixes(body))
        return DCL_OK;
    for (int64_t n = 0; n < before; n++)
        for (int64_t f = 0; f < before && status == DCL_OK; f++)
            if (n != f && is_simple(&lowered->launch[n]) && is_simple(&lowered->launch[f]) &&
                differ_in_place(body, &lowered->launch[n], &lowered->launch[f]))
                status = mix(body, traits, lowered, n, f);
    sort_launches(lowered, before);
    return status;
}

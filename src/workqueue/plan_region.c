/* workqueue/plan_region.c - cuts the index boxes of tiles where declared reaches need it: portions, rows, columns, and
 * halos of tile kernels. */
#include "workqueue/plan_view.h"

#include "segment/declared.h"

/* ---- portions ---------------------------------------------------------------------------------------------------- */

static dcl_status plan_portions(dcli_builder *builder, const dcl_box *box, int a);
static dcl_status plan_without_gaps(dcli_builder *builder, const dcl_box *box);

/* Plan the indices of `rest` that lie in `portion`, a box of indices for which the program's DCL_IN_FUNCTION gave one
 * box to read, and remove them from `rest`. */
static dcl_status take_portion(dcli_builder *builder, const dcl_box *portion, int a, dcli_box_list *rest)
{
    dcli_box_list left = {0};
    dcl_status status = DCL_OK;
    for (int64_t b = 0; b < rest->count && status == DCL_OK; b++) {
        dcl_box common;
        if (dcli_box_intersect(&rest->box[b], portion, &common))
            status = plan_portions(builder, &common, a + 1);
        if (status == DCL_OK)
            status = dcli_box_subtract(&rest->box[b], portion, &left);
    }
    dcli_box_list_free(rest);
    *rest = left;
    return status;
}

/* Cut a box by the portions of access `a` and of later accesses, so that each work lies in one portion per access, or
 * outside of all of them. */
static dcl_status plan_portions(dcli_builder *builder, const dcl_box *box, int a)
{
    int accesses = builder->operation->body->access_count;
    while (a < accesses && builder->accesses->own[a].reach != DCLI_REACH_FUNCTION)
        a++;
    if (a == accesses)
        return plan_without_gaps(builder, box);
    dcli_box_list rest = {0};
    dcl_status status = dcli_box_list_add(&rest, box);
    for (int p = 0; p < dcli_declared_portions(&builder->accesses->own[a]) && status == DCL_OK && rest.count > 0; p++) {
        dcli_portion portion = dcli_declared_portion(&builder->accesses->own[a], p);
        status = take_portion(builder, &portion.space, a, &rest);
    }
    for (int64_t b = 0; b < rest.count && status == DCL_OK; b++)
        status = plan_portions(builder, &rest.box[b], a + 1); /* no portion: nothing is read */
    dcli_box_list_free(&rest);
    return status;
}

/* ---- gaps -------------------------------------------------------------------------------------------------------- */

/* As find_gaps() for a tile kernel: a tile with a halo needs consecutive indices. */
static int find_gaps_in_tile(const dcli_builder *builder, const dcl_box *box)
{
    for (int a = 0; a < builder->operation->body->access_count; a++) {
        const dcli_subscripts *own = &builder->accesses->own[a];
        for (int d = 0; d < box->rank && (own->reach == DCLI_REACH_HALO || own->reach == DCLI_REACH_CROSS); d++)
            if (own->declared.number[d] > 0 && box->stride[d] != 1 && box->count[d] > 1)
                return d;
    }
    return -1;
}

/* Find an axis along which the indices of a box have gaps, though a declared reach needs consecutive ones; -1: there is
 * none. Kernels address the rows or columns that they have without gaps. */
static int find_gaps(const dcli_builder *builder, const dcl_box *box)
{
    if (builder->operation->body->tile_kernel)
        return find_gaps_in_tile(builder, box);
    for (int a = 0; a < builder->operation->body->access_count; a++) {
        dcli_reach reach = builder->accesses->subscripts[a].reach;
        int axis = reach == DCLI_REACH_ROWS ? 0 : box->rank - 1;
        if ((reach == DCLI_REACH_ROWS || reach == DCLI_REACH_COLUMNS) && box->stride[axis] != 1 && box->count[axis] > 1)
            return axis;
    }
    return -1;
}

dcl_status dcli_cut_gaps(const dcli_builder *builder, const dcl_box *box, dcli_box_list *out)
{
    int axis = find_gaps(builder, box);
    if (axis < 0)
        return dcli_box_list_add(out, box);
    dcl_box row = *box;
    row.count[axis] = row.stride[axis] = 1;
    dcl_status status = DCL_OK;
    for (int64_t t = 0; t < box->count[axis] && status == DCL_OK; t++) {
        row.start[axis] = box->start[axis] + t * box->stride[axis];
        status = dcli_cut_gaps(builder, &row, out);
    }
    return status;
}

static dcl_status plan_without_gaps(dcli_builder *builder, const dcl_box *box)
{
    if (find_gaps(builder, box) < 0)
        return dcli_plan_box(builder, box);
    dcli_box_list parts = {0};
    dcl_status status = dcli_cut_gaps(builder, box, &parts);
    for (int64_t b = 0; b < parts.count && status == DCL_OK; b++)
        status = dcli_plan_box(builder, &parts.box[b]);
    dcli_box_list_free(&parts);
    return status;
}

dcl_status dcli_plan_region(dcli_builder *builder, const dcl_box *box) { return plan_portions(builder, box, 0); }

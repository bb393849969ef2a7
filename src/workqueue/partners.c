/* workqueue/partners.c - finds which peers read or write elements of a node's part.
 *
 * For each access: the regions of the node's part that the operation may touch, the loop indices that touch them
 * (segment/preimage.h), and the owners of these indices' elements of the first output, which compute them. */
#include "workqueue/partners.h"

#include "resmap/elements.h"
#include "segment/image.h"
#include "segment/preimage.h"
#include "segment/wide.h"
#include "workqueue/overlap.h"
#include "workqueue/plan.h"

/* The search for the partners of one node in a loop body. */
struct search {
    const dcli_operation *operation;
    const dcli_subscripts *own, *base; /* [accesses] */
    const dcli_layout *space;          /* layout of the first output */
    int self;
    bool gaps[DCL_MAX_RANK]; /* as of dcli_preimage() */
    const dcli_partner_search *with;
    dcli_region_list *regions; /* those of `with` */
    dcli_box_list *boxes;
    dcli_node_list *owners, *partners;
};

/* Add the nodes that compute the indices of a box. */
static dcl_status add_computing(struct search *search, const dcl_box *indices)
{
    const dcli_operand *output = &search->operation->operand[search->operation->body->owner];
    dcl_box box = *indices;
    if (output->view != NULL)
        dcli_transform_box(output->view, indices, &box);
    dcl_status status = dcli_layout_owners(search->space, &box, search->owners);
    return status == DCL_OK ? dcli_node_list_add_all(search->partners, search->owners, search->self) : status;
}

/* Whether all nodes that compute, except search->self, are partners. */
static bool has_all(const struct search *search)
{
    return search->partners->count + (dcli_layout_place(search->space, search->self) >= 0) >= search->space->node_count;
}

/* Add the nodes that touch the elements of a box of the array, through an access with these subscripts. */
static dcl_status add_touching(struct search *search, const dcli_subscripts *subscripts, const dcl_box *part)
{
    search->boxes->count = 0;
    dcl_status status = dcli_preimage(subscripts, &search->operation->box, part, search->gaps, search->boxes);
    for (int64_t b = 0; b < search->boxes->count && status == DCL_OK; b++)
        status = add_computing(search, &search->boxes->box[b]);
    return status;
}

/* One access. */
struct touched {
    const dcli_operand *operand;
    const dcli_subscripts *own, *base;
    bool wraps;   /* reads beyond a periodic axis */
    dcl_box foot; /* all that it reads */
};

/* Move a box along axis d; indices of more than 64 bits are left out. @return false: none is left. */
static bool moved(const dcl_box *box, int d, dcli_wide by, dcl_box *out)
{
    dcli_wide start = box->start[d] + by, last = dcli_run_last(box->start[d], box->count[d], box->stride[d]) + by;
    int64_t stride = box->stride[d];
    if (start < INT64_MIN)
        start += ((dcli_wide)INT64_MIN - start + stride - 1) / stride * stride;
    if (last > INT64_MAX)
        last -= (last - INT64_MAX + stride - 1) / stride * stride;
    *out = *box;
    out->start[d] = (int64_t)start;
    out->count[d] = start <= last ? (int64_t)((last - start) / stride) + 1 : 0;
    return start <= last;
}

static bool leaves_axis(const dcl_box *box, const dcl_grid *grid, int d)
{
    return box->start[d] < grid->origin[d] ||
           dcli_run_last(box->start[d], box->count[d], box->stride[d]) >= (dcli_wide)grid->origin[d] + grid->extent[d];
}

/* As add_touching(), also for the places of a box beyond the edges of periodic axes, from axis d on. */
static dcl_status add_images(struct search *search, const struct touched *touched, const dcl_box *part, int d)
{
    const dcli_layout *layout = touched->operand->layout;
    if (!touched->wraps || d == layout->grid.rank)
        return add_touching(search, touched->base, part);
    dcl_status status = add_images(search, touched, part, d + 1);
    for (int side = -1; side <= 1 && status == DCL_OK; side += 2) {
        dcl_box image;
        if (leaves_axis(&touched->foot, &layout->grid, d) &&
            moved(part, d, (dcli_wide)side * layout->grid.extent[d], &image))
            status = add_images(search, touched, &image, d + 1);
    }
    return status;
}

/* Add the nodes that touch a region of this node's part. */
static dcl_status add_region(struct search *search, const struct touched *touched, const dcl_box *region)
{
    dcl_box seen;
    if (touched->base->reach == DCLI_REACH_AFFINE || touched->operand->view == NULL)
        return add_images(search, touched, region, 0);
    if (touched->wraps)
        return add_computing(search, &search->operation->box);
    return dcli_transform_seen(touched->operand->view, region, &seen) ? add_touching(search, touched->own, &seen)
                                                                      : DCL_OK;
}

/* List the regions of a box in this node's part of the array of access a. */
static dcl_status list_regions(struct search *search, int a, const dcli_layout *layout, const dcl_box *box)
{
    dcli_region region;
    const dcli_region *part = search->with->part != NULL ? search->with->part[a] : NULL;
    if (part == NULL)
        return dcli_layout_regions(layout, search->self, box, search->regions);
    return dcli_region_cut(part, box, &region) ? dcli_region_list_add(search->regions, &region) : DCL_OK;
}

/* Find the box around all elements that an access touches. @return false: there are none. */
static bool find_footprint(const struct search *search, int a, const dcli_subscripts *own, dcl_box *foot_out)
{
    dcl_box seen;
    bool cut;
    if (search->with->foot == NULL)
        return dcli_access_footprint(search->operation, a, own, &search->operation->box, &seen, foot_out, &cut);
    *foot_out = search->with->foot[a];
    return search->with->some[a];
}

/* List the regions of this node's part that an access may touch. */
static dcl_status find_regions(struct search *search, int a, struct touched *touched)
{
    const dcli_layout *layout = touched->operand->layout;
    dcl_box whole;
    search->regions->count = 0;
    if (!find_footprint(search, a, touched->own, &touched->foot))
        return DCL_OK;
    touched->wraps = dcli_box_leaves(&touched->foot, &layout->grid);
    if (touched->wraps)
        whole = dcl_box_of(&layout->grid);
    return list_regions(search, a, layout, touched->wraps ? &whole : &touched->foot);
}

static dcl_status add_access(struct search *search, int a)
{
    const dcli_operation *operation = search->operation;
    struct touched touched = {.operand = &operation->operand[operation->body->access[a].param],
                              .own = &search->own[a],
                              .base = &search->base[a]};
    const dcli_layout *layout = touched.operand->layout;
    bool home = search->with->home != NULL ? search->with->home[a] : dcli_access_is_home(operation, search->base, a);
    if (home || dcli_layout_place(layout, search->self) < 0)
        return DCL_OK;
    if (dcli_layout_is_shuffled(layout)) /* its elements are needed everywhere */
        return add_computing(search, &operation->box);
    dcl_status status = find_regions(search, a, &touched);
    for (int64_t r = 0; r < search->regions->count && status == DCL_OK && !has_all(search); r++)
        status = add_region(search, &touched, &search->regions->region[r].box);
    return status;
}

static dcl_status search_accesses(struct search *search)
{
    const dcli_operation *operation = search->operation;
    const dcli_body *body = operation->body;
    dcl_status status = DCL_OK;
    for (int d = 0; d < operation->box.rank; d++)
        search->gaps[d] = operation->operand[body->owner].view != NULL || operation->box.stride[d] != 1 ||
                          !dcli_layout_is_dense(search->space, d);
    for (int a = 0; a < body->access_count && status == DCL_OK && !has_all(search); a++)
        status = add_access(search, a);
    return status;
}

static dcl_status find_in_body(const dcli_operation *operation, const dcli_subscripts own[],
                               const dcli_subscripts base[], int self, const dcli_partner_search *with,
                               dcli_node_list *partners)
{
    struct search search = {.operation = operation,
                            .own = own,
                            .base = base,
                            .space = operation->operand[operation->body->owner].layout,
                            .self = self,
                            .with = with,
                            .regions = with->regions,
                            .boxes = with->boxes,
                            .owners = with->owners,
                            .partners = partners};
    if (operation->overlap > 0)
        return dcli_overlap_partners(operation, self, partners);
    if (dcli_box_is_empty(&operation->box))
        return DCL_OK;
    return dcli_makes_replicas(operation) ? add_computing(&search, &operation->box) : search_accesses(&search);
}

/* As find_in_body(), with lists of its own. */
static dcl_status find_alone(const dcli_operation *operation, const dcli_subscripts own[], const dcli_subscripts base[],
                             int self, dcli_node_list *partners)
{
    dcli_region_list regions = {0};
    dcli_box_list boxes = {0};
    dcli_node_list owners = {0};
    dcl_status status =
        find_in_body(operation, own, base, self,
                     &(dcli_partner_search){.regions = &regions, .boxes = &boxes, .owners = &owners}, partners);
    dcli_region_list_free(&regions);
    dcli_box_list_free(&boxes);
    dcli_node_list_free(&owners);
    return status;
}

dcl_status dcli_find_partners(const dcli_operation *operation, const dcli_subscripts own[],
                              const dcli_subscripts base[], int self, int node_count, const dcli_partner_search *with,
                              dcli_node_list *partners_out)
{
    bool moves = operation->kind == DCLI_OP_MOVE;
    partners_out->count = 0;
    if (self == node_count)
        return DCL_OK; /* the host plans for no node */
    if (operation->kind == DCLI_OP_FORALL)
        return with != NULL ? find_in_body(operation, own, base, self, with, partners_out)
                            : find_alone(operation, own, base, self, partners_out);
    bool some = moves ? self != operation->node
                      : (operation->kind == DCLI_OP_READ || operation->kind == DCLI_OP_WRITE) &&
                            dcli_layout_place(operation->operand[0].layout, self) >= 0;
    return some ? dcli_node_list_add(partners_out, moves ? operation->node : node_count) : DCL_OK;
}

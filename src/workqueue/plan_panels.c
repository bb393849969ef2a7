/* workqueue/plan_panels.c - a contraction C(i,j) += A(i,k) * B(k,j) whose factors come from other nodes is planned in
 * panels: first the batches of all tiles for the first indices k, then those for the next ones. So a node holds a panel
 * of each factor only, and the next panel arrives while it computes. As batches run in order, the chain of an element
 * goes on where it was interrupted.
 *
 * Source: R. van de Geijn and J. Watts, "SUMMA: Scalable Universal Matrix Multiplication Algorithm", Concurrency:
 * Practice and Experience 9 (1997). Panels are sent by their owners to each node that needs them, instead of along rows
 * and columns of nodes, because maps need not form such a grid. */
#include "workqueue/plan_panels.h"

#include "base/check.h"
#include "workqueue/plan_view.h"

enum {
    DEPTH = 1024, /* most indices of a panel: C is read and written once per panel */
    /* Least indices of a panel, because kernels take this many at a time; fewer only if memory for received elements is
     * short. */
    LEAST_DEPTH = 256,
    POOL_SHARE = 4,  /* a panel takes at most this part of the pool, so that the next ones can arrive */
    MOST_OWNERS = 16 /* along the reduced index; with more, panels do not end where an owner's part ends */
};

/* Narrow the subscripts of an access to inner indices first .. first + count - 1. */
static void narrow(dcli_subscripts *subscripts, int64_t first, int64_t count)
{
    int inner = subscripts->space_rank;
    for (int d = 0; d < subscripts->rank; d++)
        subscripts->axis[d].constant += subscripts->axis[d].coef[inner] * first;
    subscripts->inner_count[0] = count;
}

/* Bytes of the elements that the node's indices read of a factor for one reduced index. */
static int64_t bytes_of_index(dcli_builder *builder, int a, const dcl_box *box)
{
    dcli_subscripts one = builder->accesses->own[a];
    dcl_box foot;
    bool cut;
    narrow(&one, 0, 1);
    dcli_footprint(&one, box, &builder->accesses->grid[a], &foot, &cut);
    return dcli_box_elements(&foot) * dcli_builder_bytes(builder, dcli_param_of(builder, a));
}

/* The box around the indices that the node computes. */
static dcl_status find_own_box(dcli_builder *builder, dcl_box *box_out)
{
    const dcli_operation *operation = builder->operation;
    const dcli_operand *owner = &operation->operand[operation->body->owner];
    const dcli_region *own = NULL;
    dcl_box common;
    *box_out = operation->box;
    dcl_status status =
        owner->view == NULL ? dcli_builder_one(builder, operation->body->owner, builder->self, &own) : DCL_OK;
    if (status == DCL_OK && own != NULL && dcli_box_intersect(&own->box, &operation->box, &common))
        *box_out = common;
    return status;
}

/* The number of blocks into which the reduced index of a factor is divided among nodes; 1: it is not divided, or not by
 * blocks.
 * @param axis_out  the axis of the array. */
static int64_t blocks_along(const dcli_builder *builder, const dcli_subscripts *own, int a, int *axis_out)
{
    const dcli_layout *layout = dcli_layout_of(builder, a);
    if (dcli_operand_of(builder, a)->view != NULL || layout->rule.kind != DCLI_MAP_AXES)
        return 1;
    for (int d = 0; d < own->rank; d++)
        if (own->axis[d].coef[own->space_rank] == 1 && layout->rule.axes[d].kind == DCL_AXIS_BLOCK) {
            *axis_out = d;
            return layout->rule.nodes[d];
        }
    return 1;
}

/* Where the block that contains the next index ends: a number of reduced indices. */
static int64_t end_of_block(const dcli_builder *builder, const dcli_panels *panels, int n)
{
    int axis;
    const dcli_subscripts *own = &panels->whole[n];
    int64_t blocks = blocks_along(builder, own, panels->factor[n], &axis);
    if (blocks < 2 || blocks > MOST_OWNERS)
        return panels->depth;
    const dcl_grid *grid = &dcli_layout_of(builder, panels->factor[n])->grid;
    int64_t each = grid->extent[axis] / blocks, longer = grid->extent[axis] % blocks;
    int64_t first = own->axis[axis].constant - grid->origin[axis]; /* of the reduced indices */
    if (each < LEAST_DEPTH)
        return panels->depth;
    for (int64_t b = 1; b < blocks; b++) {
        int64_t begin = b * each + dcli_min(b, longer) - first;
        if (begin > panels->next)
            return dcli_min(begin, panels->depth);
    }
    return panels->depth;
}

/* Whether some operand has replicas here, or gets some. They are made for all indices at once, not for a panel. */
static bool has_copies(const dcli_builder *builder)
{
    for (int k = 0; k < builder->operation->operand_count; k++)
        if (builder->operation->operand[k].layout != NULL && dcli_has_copies(builder, k))
            return true;
    return false;
}

dcl_status dcli_panels_begin(dcli_builder *builder, bool at_once, dcli_panels *panels)
{
    const dcli_body *body = builder->operation->body;
    dcl_box box;
    int64_t bytes = 0;
    panels->most = panels->next = 0;
    panels->begun = false;
    builder->panel_first = builder->panel_count = 0;
    if (at_once || !body->along || !dcli_body_has_panels(body, panels->factor) || has_copies(builder))
        return DCL_OK;
    dcl_status status = find_own_box(builder, &box);
    for (int n = 0; n < 2 && status == DCL_OK; n++) {
        int a = panels->factor[n];
        if (builder->accesses->wraps[a] || builder->accesses->leaves[a] ||
            builder->accesses->own[a].reach != DCLI_REACH_AFFINE)
            return DCL_OK;
        panels->whole[n] = builder->accesses->own[a];
        panels->whole_base[n] = builder->accesses->subscripts[a];
        panels->depth = builder->accesses->own[a].inner_count[0];
        bytes += bytes_of_index(builder, a, &box);
    }
    if (status != DCL_OK)
        return status;
    int64_t most = dcli_max(1, builder->terms->pool_bytes / POOL_SHARE / dcli_max(1, bytes));
    most = most > LEAST_DEPTH ? dcli_min(most / LEAST_DEPTH * LEAST_DEPTH, DEPTH) : most;
    bool several = panels->depth > most;
    for (int n = 0; n < 2; n++)
        several |= end_of_block(builder, panels, n) < panels->depth;
    panels->most = several ? most : 0;
    return DCL_OK;
}

/* Use the subscripts of the factors for a part of the reduced indices. */
static void use(dcli_builder *builder, const dcli_panels *panels, int64_t first, int64_t count)
{
    builder->accesses->known = false; /* the next plan looks at them again */
    for (int n = 0; n < 2; n++) {
        int a = panels->factor[n];
        builder->accesses->own[a] = panels->whole[n];
        builder->accesses->subscripts[a] = panels->whole_base[n];
        narrow(&builder->accesses->own[a], first, count);
        narrow(&builder->accesses->subscripts[a], first, count);
    }
}

bool dcli_panels_next(dcli_builder *builder, dcli_panels *panels)
{
    bool first = !panels->begun;
    panels->begun = true;
    if (panels->most == 0)
        return first;
    if (panels->next == panels->depth) {
        use(builder, panels, 0, panels->depth);
        builder->panel_first = builder->panel_count = 0;
        return false;
    }
    int64_t end = dcli_min(end_of_block(builder, panels, 0), end_of_block(builder, panels, 1));
    int64_t left = end - panels->next, count = dcli_ceil_div(left, dcli_ceil_div(left, panels->most));
    if (count > LEAST_DEPTH) /* panels of about equal length, which kernels need not cut into short blocks */
        count = dcli_min(left, dcli_ceil_div(count, LEAST_DEPTH) * LEAST_DEPTH);
    builder->panel_first = panels->next;
    builder->panel_count = count;
    use(builder, panels, panels->next, count);
    panels->next += count;
    return true;
}

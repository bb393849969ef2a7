/* segment/image.c - where boxes that reach beyond a periodic grid lie in it. */
#include "segment/image.h"

#include "base/check.h"
#include "segment/wide.h"

bool dcli_box_leaves(const dcl_box *box, const dcl_grid *grid)
{
    for (int d = 0; d < box->rank; d++)
        if (box->start[d] < grid->origin[d] ||
            dcli_run_last(box->start[d], box->count[d], box->stride[d]) >= (dcli_wide)grid->origin[d] + grid->extent[d])
            return true;
    return false;
}

/* Intersect axis d of a box with the grid (where = 0), or with the grid moved by one extent down (1) or up (2). Stores
 * the common part, with indices as in the box, and the shift. @return false: the part is empty. */
static bool cut_axis(const dcl_box *box, const dcl_grid *grid, int d, int where, dcli_image *image)
{
    dcli_wide first = grid->origin[d];
    int64_t shift = where == 0 ? 0 : where == 1 ? -grid->extent[d] : grid->extent[d];
    first += shift;
    int64_t start = dcli_wide_clip(first), count = dcli_wide_clip(first + grid->extent[d] - start);
    image->shift[d] = shift;
    return dcli_run_intersect(box->start[d], box->count[d], box->stride[d], start, count, 1, &image->box.start[d],
                              &image->box.count[d], &image->box.stride[d]);
}

/* The only image of a box that lies in the grid. */
static bool take_whole(const dcl_box *box, dcli_image *image_out)
{
    image_out->box = *box;
    for (int d = 0; d < box->rank; d++) {
        image_out->shift[d] = 0;
        if (box->count[d] == 1)
            image_out->box.stride[d] = 1;
    }
    return !dcli_box_is_empty(box);
}

bool dcli_image_next(const dcl_box *box, const dcl_grid *grid, int *next_in_out, dcli_image *image_out)
{
    int all = 1;
    if (!dcli_box_leaves(box, grid))
        return (*next_in_out)++ == 0 && take_whole(box, image_out);
    for (int d = 0; d < box->rank; d++)
        all *= 3;
    while (*next_in_out < all) {
        int rest = (*next_in_out)++;
        bool some = true;
        image_out->box.rank = box->rank;
        for (int d = box->rank - 1; d >= 0 && some; d--, rest /= 3)
            some = cut_axis(box, grid, d, rest % 3, image_out);
        if (!some)
            continue;
        dcli_box_move(&image_out->box, image_out->shift, -1);
        return true;
    }
    return false;
}

bool dcli_images_meet(const dcl_box *box, const dcl_grid *grid, const dcl_box *other)
{
    dcli_image image;
    dcl_box common;
    for (int next = 0; dcli_image_next(box, grid, &next, &image);)
        if (dcli_box_intersect(&image.box, other, &common))
            return true;
    return false;
}

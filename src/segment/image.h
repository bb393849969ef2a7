/* segment/image.h - boxes that extend beyond a grid with periodic axes. Pure functions. */
#ifndef DCLI_SEGMENT_IMAGE_H
#define DCLI_SEGMENT_IMAGE_H

#include "segment/box.h"

/** An image: `box` lies in the grid, and box + shift is a part of the original box. */
typedef struct dcli_image {
    dcl_box box;
    int64_t shift[DCL_MAX_RANK]; /* a multiple of the extent along each axis */
} dcli_image;

/** Whether some index of a non-empty box lies outside the grid. */
bool dcli_box_leaves(const dcl_box *box, const dcl_grid *grid);

/** Iterate over the images of a box. They are disjoint parts of the box, and together cover all of it that lies within
 *  one extent of the grid. Two images may contain the same elements. @param next_in_out  0 before the first. @return
 *  false: no more. */
bool dcli_image_next(const dcl_box *box, const dcl_grid *grid, int *next_in_out, dcli_image *image_out);

/** Whether an image of a box intersects another box, which lies in the grid. */
bool dcli_images_meet(const dcl_box *box, const dcl_grid *grid, const dcl_box *other);

/** Move a box. @param sign  1 or -1. */
static inline void dcli_box_move(dcl_box *box, const int64_t by[], int sign)
{
    for (int d = 0; d < box->rank; d++)
        box->start[d] += sign * by[d];
}

#endif

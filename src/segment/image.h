/* segment/image.h - boxes that reach beyond a grid whose axes go on at their other end. Pure. */
#ifndef DCLI_SEGMENT_IMAGE_H
#define DCLI_SEGMENT_IMAGE_H

#include "segment/box.h"

/** A part of a box as the grid has it: `box` lies in the grid, box + shift in the box asked for. */
typedef struct dcli_image {
    dcl_box box;
    int64_t shift[DCL_MAX_RANK]; /* of a multiple of the extent along each axis */
} dcli_image;

/** Whether some index of a box that is not empty lies outside the grid. */
bool dcli_box_leaves(const dcl_box *box, const dcl_grid *grid);

/** The images of a box, one after the other: disjoint in the box, together all of it that lies within one extent of the grid. Two
 *  of them may be of the same elements.
 *  @param next_in_out  0 before the first. @return false: no more. */
bool dcli_image_next(const dcl_box *box, const dcl_grid *grid, int *next_in_out, dcli_image *image_out);

/** Whether some image of a box has an index in common with another, which lies in the grid. */
bool dcli_images_meet(const dcl_box *box, const dcl_grid *grid, const dcl_box *other);

/** Move a box. @param sign  1 or -1. */
static inline void dcli_box_move(dcl_box *box, const int64_t by[], int sign)
{
    for (int d = 0; d < box->rank; d++)
        box->start[d] += sign * by[d];
}

#endif

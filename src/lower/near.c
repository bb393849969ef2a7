/* lower/near.c - a spatial index of a stage's pieces. Plans store pieces in the order of storage, which for hashed maps
 * is arbitrary, and there may be millions. So the pieces are sorted along a space-filling curve that keeps neighbours
 * together. */
#include "lower/near.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/check.h"

/* A piece with its position on the curve. */
struct spot {
    uint64_t along;
    int64_t piece;
};

/* Position of a box on a Z-order curve through the stage: the leading bits of all axes, interleaved.
 * Source: G. M. Morton, A Computer Oriented Geodetic Data Base and a New Technique in File Sequencing (IBM, 1966). */
static uint64_t place_on_curve(const dcl_box *whole, const dcl_box *box)
{
    const int bits = 63 / whole->rank;
    uint64_t along = 0;
    double scaled[DCL_MAX_RANK];
    for (int d = 0; d < whole->rank; d++)
        scaled[d] = (double)(box->start[d] - whole->start[d]) / ((double)whole->count[d] * (double)whole->stride[d]);
    for (int b = 0; b < bits; b++)
        for (int d = 0; d < whole->rank; d++) {
            scaled[d] *= 2;
            along = along << 1 | (scaled[d] >= 1);
            scaled[d] -= scaled[d] >= 1;
        }
    return along;
}

static int by_curve(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    if (x->along != y->along)
        return x->along < y->along ? -1 : 1;
    return (x->piece > y->piece) - (x->piece < y->piece);
}

static dcl_status put_all(dcli_near *near, const dcli_plan *plan, const struct spot spot[], int64_t count)
{
    dcl_status status = DCL_OK;
    near->piece = dcli_malloc((size_t)count * sizeof *near->piece);
    if (near->piece == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t n = 0; n < count && status == DCL_OK; n++) {
        near->piece[n] = spot[n].piece;
        status = dcli_box_set_put(&near->boxes, &plan->piece[spot[n].piece].region.box);
    }
    return status;
}

dcl_status dcli_near_make(dcli_near *near, const dcli_plan *plan, const dcli_stage *stage)
{
    if (near->made)
        return DCL_OK;
    struct spot *spot = dcli_malloc((size_t)stage->in_count * sizeof *spot);
    if (spot == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t n = 0; n < stage->in_count; n++) {
        int64_t piece = stage->first_in + n;
        spot[n] = (struct spot){place_on_curve(&stage->box, &plan->piece[piece].region.box), piece};
    }
    qsort(spot, (size_t)stage->in_count, sizeof *spot, by_curve);
    dcl_status status = put_all(near, plan, spot, stage->in_count);
    dcli_free(spot);
    if (status != DCL_OK)
        dcli_near_free(near);
    else
        near->made = true;
    return status;
}

const dcli_piece *dcli_near_next(const dcli_near *near, const dcli_plan *plan, const dcl_box *box,
                                 int64_t *place_in_out)
{
    int64_t at = near->boxes.boxes.count > 0 ? dcli_box_set_next(&near->boxes, box, *place_in_out) : 0;
    *place_in_out = at + 1;
    return at < near->boxes.boxes.count ? &plan->piece[near->piece[at]] : NULL;
}

void dcli_near_free(dcli_near *near)
{
    dcli_box_set_free(&near->boxes);
    dcli_free(near->piece);
    *near = (dcli_near){0};
}

/* kernel/rows.c - the numbers a kernel is given for a box: where they stand, how boxes are cut. */
#include "base/check.h"
#include "kernel/inside.h"
#include "kernel/nest.h"

/* Longs that say where the elements of an access lie. */
static int place_length(const dcli_body *body, int a)
{
    return body->access[a].reach == DCLI_REACH_AFFINE ? 1 + body->space_rank
                                                      : 1 + 3 * body->params[body->access[a].param].rank;
}

int dcli_row_access(const dcli_body *body, int a)
{
    int at = 3 * body->space_rank;
    for (int before = 0; before < a; before++)
        at += place_length(body, before);
    return at;
}

int dcli_row_bounds(const dcli_body *body, int a)
{
    int at = dcli_row_access(body, body->access_count);
    for (int before = 0; before < a; before++)
        at += 2 * body->params[body->access[before].param].rank;
    return at;
}

int dcli_row_length(const dcli_body *body) { return dcli_row_bounds(body, body->access_count); }

/* A step along an axis of one element is not used. */
static bool is_step_one(const dcli_body *body, const int64_t row[], int a, int axis)
{
    return row[2 * body->space_rank + axis] <= 1 || row[dcli_row_access(body, a) + 1 + axis] == 1;
}

bool dcli_row_is_unit(const dcli_body *body, const int64_t row[])
{
    int innermost = body->space_rank - 1;
    for (int a = 0; a < body->access_count; a++) {
        int axis = body->access[a].unit_axis;
        if (axis >= 0 && (axis == innermost || dcli_is_transposed(body, a)) && !is_step_one(body, row, a, axis))
            return false;
    }
    return true;
}

enum {
    SMALL_BOX = 16384,    /* elements that one work-item runs: below, starting another costs more than it brings */
    ROWS_PER_UNIT = 8     /* table rows per compute unit, so that units that are slower get fewer */
};

void dcli_body_row_shape(const dcli_body *body, const int64_t count[], int units, int64_t shape_out[])
{
    int64_t elements = 1;
    for (int m = 0; m < body->space_rank; m++) {
        shape_out[m] = dcli_max(count[m], 1);
        if (!dcli_mul(elements, shape_out[m], &elements))
            elements = INT64_MAX;
    }
    int64_t small = body->inside->has_loop ? SMALL_BOX / 64 : SMALL_BOX;
    int64_t wanted = dcli_min(elements / small, (int64_t)ROWS_PER_UNIT * dcli_max(units, 1));
    for (int m = 0; m < body->space_rank && wanted > 1; m++) {
        int64_t cuts = dcli_min(wanted, shape_out[m]);
        shape_out[m] = dcli_ceil_div(shape_out[m], cuts);
        wanted = dcli_ceil_div(wanted, cuts);
    }
}

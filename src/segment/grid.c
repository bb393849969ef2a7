/* segment/grid.c - element types, grids and the checks of grids and boxes that come from outside. */
#include <dcl/grid.h>

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/box.h"
#include "segment/wide.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [DCL_INT8] = {"int8", 1},     [DCL_INT16] = {"int16", 2},   [DCL_INT32] = {"int32", 4},
    [DCL_INT64] = {"int64", 8},   [DCL_UINT8] = {"uint8", 1},   [DCL_UINT16] = {"uint16", 2},
    [DCL_UINT32] = {"uint32", 4}, [DCL_UINT64] = {"uint64", 8}, [DCL_HALF] = {"half", 2},
    [DCL_FLOAT] = {"float", 4},   [DCL_DOUBLE] = {"double", 8},
};

static bool type_known(dcl_type type) { return (int)type >= DCL_INT8 && (int)type <= DCL_DOUBLE; }

size_t dcl_type_bytes(dcl_type type) { return type_known(type) ? types[type].bytes : 0; }

const char *dcl_type_name(dcl_type type) { return type_known(type) ? types[type].name : "?"; }

dcl_type dcl_type_named(const char *name)
{
    for (int type = DCL_INT8; name != NULL && type <= DCL_DOUBLE; type++)
        if (strcmp(name, types[type].name) == 0)
            return (dcl_type)type;
    return (dcl_type)0;
}

dcl_grid dcl_grid_1d(dcl_type type, int64_t n0) { return dcl_grid_nd(type, 1, (int64_t[]){n0}, NULL); }

dcl_grid dcl_grid_2d(dcl_type type, int64_t n0, int64_t n1) { return dcl_grid_nd(type, 2, (int64_t[]){n0, n1}, NULL); }

dcl_grid dcl_grid_3d(dcl_type type, int64_t n0, int64_t n1, int64_t n2)
{
    return dcl_grid_nd(type, 3, (int64_t[]){n0, n1, n2}, NULL);
}

dcl_grid dcl_grid_nd(dcl_type type, int rank, const int64_t extent[], const int64_t origin[])
{
    /* A rank out of range is kept: dcli_grid_check() then names it. */
    dcl_grid grid = {.type = type, .rank = extent == NULL && rank <= DCL_MAX_RANK ? 0 : rank};
    for (int d = 0; extent != NULL && d < grid.rank && d < DCL_MAX_RANK; d++) {
        grid.extent[d] = extent[d];
        grid.origin[d] = origin == NULL ? 0 : origin[d];
    }
    return grid;
}

dcl_box dcl_box_nd(int rank, const int64_t start[], const int64_t count[])
{
    dcl_box box = {.rank = rank};
    for (int d = 0; d < rank && d < DCL_MAX_RANK; d++) {
        box.start[d] = start[d];
        box.count[d] = count[d];
        box.stride[d] = 1;
    }
    return box;
}

dcl_box dcl_box_of(const dcl_grid *grid) { return dcl_box_nd(grid->rank, grid->origin, grid->extent); }

/* What is wrong with a grid. No error is recorded with it, because dcl_grid_count() reports none. */
typedef enum grid_fault { FAULT_NONE, FAULT_TYPE, FAULT_RANK, FAULT_EXTENT, FAULT_ORIGIN, FAULT_BYTES } grid_fault;

/* Find the first fault of a grid. The check of the size for overflow skips axes of extent 0, so that products of the
 * extents of some axes cannot overflow elsewhere either. */
static grid_fault find_fault(const dcl_grid *grid, int *axis_out)
{
    if (!type_known(grid->type))
        return FAULT_TYPE;
    if (grid->rank < 1 || grid->rank > DCL_MAX_RANK)
        return FAULT_RANK;
    int64_t bytes = (int64_t)dcl_type_bytes(grid->type), end;
    for (int d = 0; d < grid->rank; d++) {
        *axis_out = d;
        if (grid->extent[d] < 0)
            return FAULT_EXTENT;
        if (!dcli_add(grid->origin[d], grid->extent[d], &end))
            return FAULT_ORIGIN;
        if (grid->extent[d] > 0 && !dcli_mul(bytes, grid->extent[d], &bytes))
            return FAULT_BYTES;
    }
    return FAULT_NONE;
}

int64_t dcl_grid_count(const dcl_grid *grid)
{
    int axis = 0;
    if (grid == NULL || find_fault(grid, &axis) != FAULT_NONE)
        return -1;
    int64_t count = 1;
    for (int d = 0; d < grid->rank; d++)
        count *= grid->extent[d];
    return count;
}

dcl_status dcli_grid_check(const dcl_grid *grid)
{
    if (grid == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "the grid is NULL; expected a grid; make one with dcl_grid_1d() ... _nd()");
    int axis = 0;
    switch (find_fault(grid, &axis)) {
    case FAULT_TYPE:
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the grid's element type is number %d; expected %d..%d; use DCL_INT8 ... DCL_DOUBLE",
                         (int)grid->type, DCL_INT8, DCL_DOUBLE);
    case FAULT_RANK:
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the grid's rank is %d; expected 1..%d; a single number is a grid of extent 1", grid->rank,
                         DCL_MAX_RANK);
    case FAULT_EXTENT:
        return DCLI_FAIL(DCL_ERR_INVALID, "extent[%d] is %" PRId64 "; expected 0 or more elements; check the shape",
                         axis, grid->extent[axis]);
    case FAULT_ORIGIN:
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "origin[%d] is %" PRId64 " and extent[%d] is %" PRId64 "; expected a sum of at most %" PRId64
                         "; move the origin",
                         axis, grid->origin[axis], axis, grid->extent[axis], INT64_MAX);
    case FAULT_BYTES:
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "extent[%d] is %" PRId64 ": with it the grid of %s exceeds %" PRId64
                         " bytes; expected fewer (extents of 0 not counted); use smaller extents",
                         axis, grid->extent[axis], dcl_type_name(grid->type), INT64_MAX);
    case FAULT_NONE:
        break;
    }
    return DCL_OK;
}

static dcl_status check_form(const dcl_box *box, const dcl_grid *grid)
{
    if (box->rank != grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the box has rank %d; expected the grid's rank %d; give one start and count per axis",
                         box->rank, grid->rank);
    for (int d = 0; d < box->rank; d++) {
        if (box->count[d] < 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "the box's count[%d] is %" PRId64 "; expected 0 or more; count elements, not ends", d,
                             box->count[d]);
        if (box->stride[d] < 1)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "the box's stride[%d] is %" PRId64
                             "; expected 1 or more; boxes run upwards, use 1 for every index",
                             d, box->stride[d]);
    }
    return DCL_OK;
}

dcl_status dcli_box_check(const dcl_box *box, const dcl_grid *grid)
{
    if (box == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "the box is NULL; expected a box; dcl_box_of(&grid) is the whole grid");
    dcl_status status = check_form(box, grid);
    if (status != DCL_OK || dcli_box_is_empty(box))
        return status;
    for (int d = 0; d < box->rank; d++) {
        dcli_wide last = dcli_run_last(box->start[d], box->count[d], box->stride[d]);
        if (box->start[d] < grid->origin[d] || last >= (dcli_wide)grid->origin[d] + grid->extent[d])
            return DCLI_FAIL(DCL_ERR_RANGE,
                             "the box's axis %d runs from %" PRId64 " to %" PRId64 " (count %" PRId64
                             ", stride %" PRId64 "); expected indices from %" PRId64 " to below %" PRId64
                             "; cut the box to the grid",
                             d, box->start[d], dcli_wide_clip(last), box->count[d], box->stride[d], grid->origin[d],
                             grid->origin[d] + grid->extent[d]);
    }
    return DCL_OK;
}

/* runtime/reshape_copy.c - copy an array's elements to another shape when no view can show them.
 * Both shapes are copied through arrays that deal whole rows: these can always be flattened, and are then copied
 * flat. */
#include <dcl/remap.h>
#include <dcl/view.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/error.h"
#include "runtime/cluster.h"
#include "segment/box.h"

/* Make an array with one piece of whole rows per node. */
static dcl_array *make_rows(dcl_cluster *cluster, dcl_grid grid)
{
    int64_t piece[DCL_MAX_RANK], nodes = dcli_max(dcl_node_count(cluster), 1);
    for (int d = 0; d < grid.rank; d++)
        piece[d] = dcli_max(d > 0 ? grid.extent[d] : dcli_ceil_div(grid.extent[0], nodes), 1);
    dcl_map *map = dcl_map_dealt(cluster, DCL_ROWS, DCL_DEAL_CYCLIC, grid.rank, piece);
    dcl_array *array = dcl_agile(grid, map);
    dcl_map_release(map);
    return array;
}

/* Copy into an array of another shape, by way of an array whose map deals whole rows: arrays of whole rows can be
 * flattened. @param to  its map deals whole rows. */
static dcl_status copy_rows(dcl_array *from, dcl_array *to)
{
    dcl_array *rows = make_rows(dcl_cluster_of(from), dcl_grid_of(from));
    dcl_array *flat = dcl_flatten(rows), *flat_to = dcl_flatten(to);
    dcl_status status = flat != NULL && flat_to != NULL ? dcl_copy(from, rows) : dcli_error_status();
    if (status == DCL_OK)
        status = dcl_copy(flat, flat_to);
    dcl_array_release(flat_to);
    dcl_array_release(flat);
    dcl_array_release(rows);
    return status;
}

static dcl_status copy_shape(dcl_array *from, dcl_array *to, bool fits)
{
    if (fits)
        return copy_rows(from, to);
    dcl_array *rows = make_rows(dcl_cluster_of(to), dcl_grid_of(to));
    dcl_status status = rows != NULL ? copy_rows(from, rows) : dcli_error_status();
    if (status == DCL_OK)
        status = dcl_copy(rows, to);
    dcl_array_release(rows);
    return status;
}

static dcl_status check(const dcl_grid *grid, int rank, const int64_t extent[], dcl_grid *shape_out)
{
    if (rank < 1 || rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "rank is %d; expected 1..%d", rank, DCL_MAX_RANK);
    if (extent == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "extent is NULL; expected a number of elements per axis");
    *shape_out = dcl_grid_nd(grid->type, rank, extent, NULL);
    dcl_status status = dcli_grid_check(shape_out);
    int64_t before = dcl_grid_count(grid), after = status == DCL_OK ? dcl_grid_count(shape_out) : before;
    if (before != after)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the new shape has %" PRId64 " elements and the array %" PRId64 "; expected as many", after,
                         before);
    return status;
}

/* Fail: the functions called meanwhile have set their own names and are not constructors. @return NULL, which passes
 * the error on. */
static dcl_array *give_up(dcl_array *copy)
{
    char text[DCLI_ERROR_BYTES];
    dcl_status status = dcli_error_status();
    snprintf(text, sizeof text, "%s", dcli_error_sentence());
    dcl_array_release(copy);
    dcli_error_enter_constructor("dcl_reshape_copy");
    DCLI_FAIL(status, "%s", text);
    return NULL;
}

dcl_array *dcl_reshape_copy(dcl_array *array, int rank, const int64_t extent[], dcl_map *map)
{
    if (array == NULL)
        return NULL; /* the constructor's error is still the current one */
    dcli_error_enter_constructor(__func__);
    dcl_grid shape, grid = dcl_grid_of(array);
    if (check(&grid, rank, extent, &shape) != DCL_OK)
        return NULL;
    if (map != NULL && map->cluster != array->cluster) {
        DCLI_FAIL(DCL_ERR_INVALID,
                  "the map is of another cluster than the array; expected one of the same; make it anew "
                  "with the array's cluster (dcl_cluster_of())");
        return NULL;
    }
    dcl_array *copy = map != NULL ? dcl_agile(shape, map) : make_rows(dcl_cluster_of(array), shape);
    if (copy != NULL && (dcl_grid_count(&shape) == 0 || copy_shape(array, copy, map == NULL) == DCL_OK))
        return copy;
    return give_up(copy);
}

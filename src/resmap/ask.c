/* resmap/ask.c - questions about a map and a grid: the owner of an element, and its offset in the owner's storage. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "resmap/parts.h"

enum { MOST_BOUND = 8 }; /* most layouts that a map caches; a program uses few grids per map */

dcl_status dcli_map_bind(const dcl_map *map, const dcl_grid *grid, dcli_layout *layout_out)
{
    if (map == NULL)
        return DCLI_FAIL_NULL("map is NULL; expected a map; dcl_map_default() makes one");
    if (grid == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "grid is NULL; expected a grid such as dcl_grid_2d() makes");
    dcl_status status = dcli_grid_check(grid);
    return status != DCL_OK ? status : dcli_layout_bind(&map->rule, grid, layout_out);
}

static dcl_status check_node(const dcl_map *map, int node)
{
    int all = dcli_map_host_of(map->cluster)->node_count(map->cluster);
    if (node < 0 || node >= all)
        return DCLI_FAIL(DCL_ERR_INVALID, "node is %d; expected 0..%d", node, all - 1);
    return DCL_OK;
}

dcl_status dcli_map_bind_node(const dcl_map *map, const dcl_grid *grid, int node, bool out, const char *what,
                              dcli_layout *layout_out)
{
    dcl_status status = dcli_map_bind(map, grid, layout_out);
    if (status != DCL_OK)
        return status;
    status = check_node(map, node);
    if (status == DCL_OK && !out)
        status = DCLI_FAIL(DCL_ERR_INVALID, "%s", what);
    if (status != DCL_OK)
        dcli_layout_release(layout_out);
    return status;
}

dcl_status dcli_map_check_index(const dcl_grid *grid, const int64_t index[])
{
    for (int d = 0; d < grid->rank; d++) {
        if (grid->extent[d] == 0)
            return DCLI_FAIL(DCL_ERR_RANGE, "index[%d] is %" PRId64 "; the grid has no elements, extent[%d] is 0", d,
                             index[d], d);
        int64_t last = grid->origin[d] + (grid->extent[d] - 1);
        if (index[d] < grid->origin[d] || index[d] > last)
            return DCLI_FAIL(DCL_ERR_RANGE, "index[%d] is %" PRId64 "; expected %" PRId64 "..%" PRId64, d, index[d],
                             grid->origin[d], last);
    }
    return DCL_OK;
}

/* ---- layouts cached by a map ------------------------------------------------------------------------------------- */

/* Find the cached layout of a grid; NULL: there is none. Cached layouts live as long as the map, so they are read
 * without a lock. */
static const dcli_layout *kept_layout(const dcl_map *map, const dcl_grid *grid)
{
    const dcli_bound_layout *bound = __atomic_load_n(&map->bound, __ATOMIC_ACQUIRE);
    while (bound != NULL && !dcli_grid_equal(&bound->layout.grid, grid))
        bound = bound->next;
    return bound != NULL ? &bound->layout : NULL;
}

/* Cache a layout with the map, if there is room. If another thread has just added a layout of the same grid, the map
 * has two, which is harmless. @return true: the map owns the layout from now on; false: the caller still does. */
static bool keep_layout(const dcl_map *map, const dcli_layout *layout)
{
    int count = 0;
    dcli_bound_layout *first = __atomic_load_n(&map->bound, __ATOMIC_ACQUIRE);
    for (const dcli_bound_layout *bound = first; bound != NULL; bound = bound->next)
        count++;
    dcli_bound_layout *kept = count < MOST_BOUND ? dcli_malloc(sizeof *kept) : NULL;
    if (kept == NULL)
        return false;
    *kept = (dcli_bound_layout){.layout = *layout, .next = first};
    while (!__atomic_compare_exchange_n(&((dcl_map *)map)->bound, &kept->next, kept, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
    return true;
}

/* ---- questions ----------------------------------------------------------------------------------------------------- */

/* Locate an element without a cached layout of the grid: check the arguments, bind the map, and cache the layout.
 * @param complete  false: some argument is NULL, which is an error. */
static dcl_status locate_anew(const dcl_map *map, const dcl_grid *grid, bool complete, const int64_t index[],
                              int *node_out, int64_t *offset_out)
{
    dcli_layout layout;
    dcl_status status = dcli_map_bind(map, grid, &layout);
    if (status != DCL_OK)
        return status;
    if (!complete)
        status =
            DCLI_FAIL(DCL_ERR_INVALID, "index, node_out or offset_out is NULL; expected an index and room for both");
    else
        status = dcli_map_check_index(grid, index);
    if (status == DCL_OK)
        dcli_layout_locate(&layout, index, node_out, offset_out);
    if (!complete || !keep_layout(map, &layout))
        dcli_layout_release(&layout);
    return status;
}

/* Whether an index lies in the grid. If it is before the origin, the unsigned difference wraps around and exceeds every
 * extent. */
static bool is_inside(const dcl_grid *grid, const int64_t index[])
{
    bool inside = true;
    for (int d = 0; d < grid->rank; d++)
        inside &= (uint64_t)index[d] - (uint64_t)grid->origin[d] < (uint64_t)grid->extent[d];
    return inside;
}

/* Locate an element by a cached layout. @return false: nothing was done, because there is no cached layout of this grid
 * or an argument is wrong. */
static inline bool locate_kept(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                               int64_t *offset_out)
{
    bool complete = map != NULL && grid != NULL && index != NULL && node_out != NULL && offset_out != NULL;
    const dcli_layout *layout = complete ? kept_layout(map, grid) : NULL;
    if (layout == NULL || !is_inside(grid, index))
        return false;
    dcli_layout_locate(layout, index, node_out, offset_out);
    return true;
}

dcl_status dcl_map_locate(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                          int64_t *offset_out)
{
    if (locate_kept(map, grid, index, node_out, offset_out))
        return DCL_OK;
    dcli_error_enter(__func__);
    bool complete = map != NULL && grid != NULL && index != NULL && node_out != NULL && offset_out != NULL;
    if (complete && kept_layout(map, grid) != NULL)
        return dcli_map_check_index(grid, index);
    return locate_anew(map, grid, complete, index, node_out, offset_out);
}

dcl_status dcli_map_locate_seen(const dcl_map *handle, const dcl_grid *grid, const int64_t index[], int *node_out,
                                int64_t *offset_out, dcli_locate_fn *otherwise)
{
    bool is_kept = locate_kept(dcli_handle_look(handle, DCLI_MAPS), grid, index, node_out, offset_out);
    dcli_handle_look_away();
    return is_kept ? DCL_OK : otherwise(handle, grid, index, node_out, offset_out);
}

dcl_status dcl_map_storage(const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = dcli_map_bind_node(map, grid, node, elements_out != NULL,
                                           "elements_out is NULL; expected room for a number of elements", &layout);
    if (status != DCL_OK)
        return status;
    *elements_out = dcli_layout_storage(&layout, node);
    dcli_layout_release(&layout);
    return DCL_OK;
}

dcl_status dcl_map_boxes(const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = dcli_map_bind_node(map, grid, node, visit != NULL,
                                           "visit is NULL; expected a function to call with every box", &layout);
    if (status != DCL_OK)
        return status;
    dcli_region_list list = {0};
    status = dcli_layout_regions(&layout, node, NULL, &list);
    for (int64_t k = 0; status == DCL_OK && k < list.count; k++)
        status = visit(user, &list.region[k].box);
    dcli_region_list_free(&list);
    dcli_layout_release(&layout);
    return status;
}

/* runtime/nest_lines.c - run operations of loop nests on whole lines: tile kernels of arrays whose tiles are not cut along an axis. */
#include "runtime/nest_lines.h"

#include <string.h>

#include "base/check.h"
#include "runtime/stream.h"

enum {
    MOST_TILES = 256,           /* tiles of an array that are examined; if it has more, no axis counts as whole */
    MOST_GATHERING = 64,        /* nodes of a cluster that gathers lines: each has a tile more than its share */
    TILES_GATHERED = 64,        /* tiles of an array of gathered lines, if it has one node */
    MOST_LINES_GATHERED = 4096, /* with more, steps are large enough to be operations */
    MOST_LINES_PER_STEP = 32,   /* with more, copies take longer than the few steps */
    LEAST_STEPS = 8,            /* indices of a line */
    ITEMS = 64,                 /* work-items of a tile on CPUs */
    GPU_ITEMS = 4096            /* work-items of a tile if some nodes are GPUs */
};

/* ---- whole axes ---------------------------------------------------------------------------------------------------- */

/* Find the axes along which all boxes of tiles have all indices of the grid. */
static dcl_status look_at_tiles(const dcli_layout *layout, unsigned *whole_out)
{
    dcli_region_list regions = {0};
    dcl_status status = DCL_OK;
    unsigned whole = (1u << layout->grid.rank) - 1;
    int64_t seen = 0;
    for (int p = 0; p < layout->node_count && status == DCL_OK && whole != 0; p++) {
        int node = dcli_layout_node(layout, p);
        int64_t tiles = dcli_layout_tile_count(layout, node);
        seen += tiles;
        for (int64_t t = 0; t < tiles && seen <= MOST_TILES && status == DCL_OK && whole != 0; t++) {
            regions.count = 0;
            status = dcli_layout_tiles(layout, node, t, 1, &regions);
            for (int64_t r = 0; r < regions.count && status == DCL_OK; r++)
                for (int d = 0; d < layout->grid.rank; d++)
                    if (regions.region[r].box.count[d] < layout->grid.extent[d])
                        whole &= ~(1u << d);
        }
    }
    dcli_region_list_free(&regions);
    *whole_out = seen <= MOST_TILES ? whole : 0;
    return status;
}

/* Each call of a nest needs this of all its arrays, so it is kept until an array gets another layout. */
dcl_status dcli_lines_find(dcl_array *array, unsigned *whole_out)
{
    dcl_status status = DCL_OK;
    *whole_out = 0;
    if (array->base != NULL) /* the tiles of a view are those of its base */
        return DCL_OK;
    pthread_mutex_lock(&array->cluster->lock);
    if (!array->lines_known) {
        status = look_at_tiles(&array->layout, &array->whole);
        array->lines_known = status == DCL_OK;
    }
    *whole_out = status == DCL_OK ? array->whole : 0;
    pthread_mutex_unlock(&array->cluster->lock);
    return status;
}

dcl_status dcli_lines_of_host(dcl_cluster *cluster, const dcl_grid *grid, unsigned *whole_out)
{
    dcli_layout layout;
    *whole_out = 0;
    /* on several nodes, the array has only elements that the nest uses, and may be divided in another way */
    if (cluster->node_count != 1)
        return DCL_OK;
    dcl_map *map = dcli_map_new_block(cluster);
    if (map == NULL)
        return dcli_error_status();
    dcl_status status = dcli_layout_bind(&map->rule, grid, &layout);
    if (status == DCL_OK) {
        status = look_at_tiles(&layout, whole_out);
        dcli_layout_release(&layout);
    }
    dcl_map_release(map);
    return status;
}

/* ---- gathered lines ------------------------------------------------------------------------------------------------ */

/* Whether each node has eight times the memory that it needs for its share of a second array. The program's arrays may take the rest, and
 * a nest that ran without gathering must not fail for lack of memory. */
static bool have_room(const dcl_cluster *cluster, const dcl_grid *grid)
{
    enum { TIMES = 8 };
    double share = (double)dcl_grid_count(grid) * (double)dcl_type_bytes(grid->type) / cluster->node_count;
    for (int n = 0; n < cluster->node_count && !cluster->plan_only; n++)
        if (!cluster->lost[n] && TIMES * share > (double)dcli_stream_bytes_of_node(cluster, n))
            return false;
    return true;
}

/* A step on its own is an operation, and only the nodes that own its elements compute it. If lines are gathered, about half of the elements
 * move there and back. On two processes of a host, both take the same time with 4096 lines. */
unsigned dcli_lines_gather(const dcl_cluster *cluster, const dcl_grid *grid, unsigned whole)
{
    unsigned axes = 0;
    int64_t elements = dcl_grid_count(grid);
    if (cluster->node_count < 2 || cluster->node_count > MOST_GATHERING || grid->rank < 2 || elements == 0 ||
        !have_room(cluster, grid))
        return 0;
    for (int d = 0; d < grid->rank; d++)
        if ((whole >> d & 1) == 0 && grid->extent[d] >= LEAST_STEPS &&
            elements / grid->extent[d] <= dcli_min(MOST_LINES_GATHERED, MOST_LINES_PER_STEP * grid->extent[d]))
            axes |= 1u << d;
    return axes;
}

/* The first of the other axes that has an index for each node; if there is none, the longest one. */
static int axis_to_divide(const dcl_cluster *cluster, const dcl_grid *grid, int axis)
{
    int longest = axis == 0 ? 1 : 0;
    for (int d = 0; d < grid->rank; d++) {
        if (d != axis && grid->extent[d] >= cluster->node_count)
            return d;
        if (d != axis && grid->extent[d] > grid->extent[longest])
            longest = d;
    }
    return longest;
}

/* One of the other axes is divided among the nodes, and into tiles of the usual size if they are few. */
dcl_map *dcli_lines_map(dcl_cluster *cluster, const dcl_grid *grid, int axis)
{
    char text[8 * DCL_MAX_RANK] = "";
    int divided = axis_to_divide(cluster, grid, axis);
    int64_t tile[DCL_MAX_RANK],
        bytes = (int64_t)dcl_type_bytes(grid->type); /* of all elements with one index of the divided axis */
    for (int d = 0; d < grid->rank; d++) {
        strcat(text, d > 0 ? "," : "");
        strcat(text, d == divided ? "block" : "*");
        tile[d] = grid->extent[d];
        bytes *= d != divided ? grid->extent[d] : 1;
    }
    tile[divided] =
        dcli_max(dcli_ceil_div(grid->extent[divided], TILES_GATHERED), (int64_t)cluster->config.tile_bytes / bytes);
    dcl_map *map = dcl_map_parse(cluster, text), *cut = dcl_map_with_grains(map, grid->rank, NULL, tile);
    dcl_map_release(map);
    return cut;
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

/* What is needed to find the elements of an input that a tile needs. */
struct reading {
    const dcli_loops_call *operation;
    int operand;
    const dcl_grid *grid;
};

static int find_reads(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    const struct reading *reading = user;
    (void)most;
    return dcli_loops_lines_read(reading->operation, reading->operand, reading->grid, output, &inputs_out[0]) ? 1 : 0;
}

/* Check that the lines of all outputs are still whole: another thread of the program may have moved an array since the nest was
 * planned. */
static dcl_status check_whole(const dcli_loops_call *operation, const dcl_arg args[])
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < operation->operand_count && status == DCL_OK; k++) {
        unsigned whole;
        if (operation->operand[k].access != DCL_ACCESS_OUT && operation->operand[k].access != DCL_ACCESS_INOUT)
            continue;
        status = dcli_lines_find(args[k].array, &whole);
        if (status == DCL_OK && (whole >> operation->along & 1) == 0)
            status = DCLI_FAIL(DCL_ERR_INVALID,
                               "the map of %s was changed while the nest was planned; expected no dcl_remap() of its "
                               "arrays by other threads during the call",
                               args[k].name);
    }
    return status;
}

dcl_status dcli_lines_run(dcl_cluster *cluster, const dcli_loops_call *operation, const dcl_arg args[], bool repeats,
                          const dcli_look *look)
{
    dcl_arg all[DCLI_LOOPS_OPERANDS + 3];
    struct reading reading[DCLI_LOOPS_OPERANDS];
    bool gpus = false;
    int count = operation->operand_count;
    for (int n = 0; n < cluster->node_count && !cluster->plan_only; n++)
        gpus |= dcli_node_is_gpu(cluster, n);
    for (int k = 0; k < count; k++) {
        bool input = operation->operand[k].access == DCL_ACCESS_IN;
        all[k] = args[k];
        if (!input)
            continue;
        reading[k] = (struct reading){operation, k, dcli_array_grid(args[k].array)};
        all[k] = dcl_arg_function(args[k].name, args[k].array, find_reads, &reading[k]);
    }
    dcl_arg items = dcl_arg_array(DCL_ACCESS_ITEMS, "DCL_ITEMS", NULL);
    items.width_count = 1;
    items.width[0] = gpus ? GPU_ITEMS : ITEMS;
    all[count++] = items;
    all[count++] = dcl_arg_signed("q_items", DCL_INT64, items.width[0]);
    all[count++] = dcl_arg_signed("q_lanes", DCL_INT64, gpus ? 1 : DCLI_LOOPS_LANES);
    dcl_status status = check_whole(operation, args);
    if (status != DCL_OK)
        return status;
    return dcli_forall_step(cluster, &operation->box, operation->body, DCLI_TEXT_TILES, count, all, repeats, look);
}

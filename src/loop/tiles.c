/* loop/tiles.c - choose how an operation is split into steps. Each candidate is judged by a step in the middle and its neighbours: what
 * they need, and have in common. */
#include "loop/tiles.h"

#include "base/check.h"

enum { MOST_SPLIT_AXES = 3, MOST_CANDIDATES = 96 };

/* What the step in the middle of a split needs of an array. */
struct need {
    double bytes;
    double runs; /* cost of copying a byte, for the length of contiguous runs in the program's memory: at least 1 */
    bool depends[DCL_MAX_RANK];  /* the neighbour along the axis needs something else */
    double common[DCL_MAX_RANK]; /* bytes that the neighbour along the axis needs, too */
};

static double bytes_of(const dcli_tiles *tiles, int array, const dcl_box *box)
{
    double bytes = (double)dcl_type_bytes(tiles->array[array].grid.type);
    for (int d = 0; d < box->rank; d++)
        bytes *= (double)box->count[d];
    return bytes;
}

static int64_t end_of(const dcl_box *box, int axis)
{
    return box->start[axis] + (box->count[axis] - 1) * box->stride[axis] + 1;
}

dcl_box dcli_tiles_hull(const dcl_box *a, const dcl_box *b)
{
    const dcl_box *first = dcli_box_is_empty(a) ? b : a, *second = dcli_box_is_empty(b) ? first : b;
    dcl_box hull = {.rank = a->rank};
    for (int d = 0; d < hull.rank; d++) {
        hull.start[d] = dcli_min(first->start[d], second->start[d]);
        hull.count[d] = dcli_max(end_of(first, d), end_of(second, d)) - hull.start[d];
        hull.stride[d] = 1;
    }
    if (dcli_box_is_empty(first))
        hull.count[0] = 0;
    return hull;
}

dcl_box dcli_tiles_needs(const dcli_tiles *tiles, int array, const dcl_box *indices)
{
    const dcli_tiles_array *of = &tiles->array[array];
    dcl_box all = {.rank = of->grid.rank}, one;
    bool cut;
    if (of->writes)
        return *indices;
    for (int a = 0; a < tiles->access_count; a++)
        if (tiles->access[a].array == array &&
            dcli_footprint(&tiles->access[a].subscripts, indices, &of->grid, &one, &cut))
            all = dcli_tiles_hull(&all, &one);
    if (dcli_box_is_empty(&all))
        for (int d = 0; d < all.rank; d++) {
            all.start[d] = of->grid.origin[d];
            all.count[d] = all.stride[d] = 1;
        }
    return all;
}

/* Restrict a box to a part of an axis. */
static void cut(const dcli_tiles *tiles, int axis, int64_t part, dcl_box *box)
{
    int64_t from = part * tiles->length[axis];
    box->start[axis] = tiles->box.start[axis] + from;
    box->count[axis] = dcli_min(tiles->length[axis], tiles->box.count[axis] - from);
}

dcl_box dcli_tiles_step(const dcli_tiles *tiles, int64_t e)
{
    dcl_box box = tiles->box;
    for (int k = 0; k < box.rank; k++) {
        cut(tiles, tiles->order[k], e % tiles->parts[tiles->order[k]], &box);
        e /= tiles->parts[tiles->order[k]];
    }
    return box;
}

/* The cost of copying a byte of a box: a run of contiguous elements costs about as much as RUN_BYTES more. */
static double cost_of_runs(const dcli_tiles *tiles, int array, const dcl_box *box)
{
    enum { RUN_BYTES = 128 };
    const dcl_grid *grid = &tiles->array[array].grid;
    double run = (double)dcl_type_bytes(grid->type);
    for (int d = box->rank - 1; d >= 0; d--) {
        run *= (double)box->count[d];
        if (box->count[d] < grid->extent[d])
            break;
    }
    return 1 + RUN_BYTES / run;
}

/* ---- judging ------------------------------------------------------------------------------------------------------ */

static void measure(const dcli_tiles *tiles, int array, struct need *need)
{
    dcl_box middle = tiles->box;
    for (int d = 0; d < middle.rank; d++)
        cut(tiles, d, tiles->parts[d] / 2, &middle);
    dcl_box here = dcli_tiles_needs(tiles, array, &middle);
    need->bytes = bytes_of(tiles, array, &here);
    need->runs = cost_of_runs(tiles, array, &here);
    for (int d = 0; d < middle.rank; d++) {
        need->depends[d] = false;
        need->common[d] = 0;
        if (tiles->parts[d] == 1)
            continue;
        dcl_box beside = middle, both;
        cut(tiles, d, tiles->parts[d] / 2 - 1, &beside);
        dcl_box there = dcli_tiles_needs(tiles, array, &beside);
        double first = bytes_of(tiles, array, &there);
        need->bytes = first > need->bytes ? first : need->bytes;
        need->depends[d] = !dcli_box_equal(&here, &there);
        if (!tiles->array[array].writes && dcli_box_intersect(&here, &there, &both))
            need->common[d] = bytes_of(tiles, array, &both);
    }
}

/* Bytes that all steps copy of an array that is only read. It is copied again whenever an axis on which it depends moves on; what two
 * neighbours along the fastest of these axes have in common stays. */
static double copied_in(const dcli_tiles *tiles, const struct need *need)
{
    int fastest = 0, rank = tiles->box.rank;
    while (fastest < rank && !need->depends[tiles->order[fastest]])
        fastest++;
    if (fastest == rank)
        return need->bytes;
    double times = 1, rows;
    for (int k = fastest + 1; k < rank; k++)
        times *= (double)tiles->parts[tiles->order[k]];
    int axis = tiles->order[fastest];
    rows = (double)tiles->parts[axis];
    return times * (rows * (need->bytes - need->common[axis]) + need->common[axis]);
}

/* Complete a candidate whose parts and order are set. @return whether its buffers fit. */
static bool judge(dcli_tiles *tiles, const struct need need[], int nodes, int64_t most_bytes,
                  const dcli_tiles_speed *speed)
{
    double held = 0, copied = 0, cost = 0, ends = 0, all = 1;
    tiles->steps = 1;
    for (int d = 0; d < tiles->box.rank; d++) {
        tiles->steps *= tiles->parts[d];
        all *= (double)tiles->box.count[d];
    }
    for (int a = 0; a < tiles->array_count; a++) {
        const dcli_tiles_array *array = &tiles->array[a];
        bool moves = false;
        for (int d = 0; d < tiles->box.rank; d++)
            moves |= need[a].depends[d];
        tiles->buffers[a] = !moves ? 1 : array->writes && array->reads ? 3 : 2;
        held += tiles->buffers[a] * need[a].bytes;
        double element = (double)dcl_type_bytes(array->grid.type);
        double bytes = array->writes ? all * element * (array->reads ? 2 : 1) : copied_in(tiles, &need[a]);
        copied += bytes;
        cost += bytes * need[a].runs;
        ends += need[a].bytes * (array->writes && array->reads ? 2 : 1);
    }
    tiles->node_bytes = held < 9e18 ? (int64_t)held : INT64_MAX;
    tiles->copied_bytes = copied < 9e18 ? (int64_t)copied : INT64_MAX;
    /* the first copies to a node and the last ones back overlap with nothing */
    tiles->seconds = (cost + ends) / speed->bytes_per_s + (double)tiles->steps * speed->step_s;
    if (tiles->steps < nodes)
        tiles->seconds *= (double)nodes / (double)tiles->steps; /* nodes that have nothing to do */
    return tiles->node_bytes <= most_bytes;
}

/* ---- candidates --------------------------------------------------------------------------------------------------- */

/* Numbers of parts to try for an axis, each about `ratio` times the one before. */
static int list_parts(int64_t extent, double ratio, int64_t parts[MOST_CANDIDATES])
{
    int count = 0;
    double next = 1;
    while (count < MOST_CANDIDATES - 1 && next < (double)extent) {
        int64_t n = (int64_t)next;
        n = dcli_ceil_div(extent, dcli_ceil_div(extent, n)); /* parts that are not empty */
        if (count == 0 || n > parts[count - 1])
            parts[count++] = n;
        next = next * ratio > next + 1 ? next * ratio : next + 1;
    }
    parts[count++] = extent;
    return count;
}

static void set_parts(dcli_tiles *tiles, int axis, int64_t parts)
{
    tiles->length[axis] = dcli_ceil_div(tiles->box.count[axis], parts);
    tiles->parts[axis] = dcli_ceil_div(tiles->box.count[axis], tiles->length[axis]);
}

/* Try all orders of the split axes; the other axes have one part, and come last. */
static void try_orders(dcli_tiles *tiles, int split, int nodes, int64_t most_bytes, const dcli_tiles_speed *speed,
                       dcli_tiles *best, bool *found, dcli_tiles *smallest)
{
    static const int orders[6][MOST_SPLIT_AXES] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct need need[DCLI_TILES_ARRAYS];
    for (int a = 0; a < tiles->array_count; a++)
        measure(tiles, a, &need[a]);
    for (int o = 0; o < (split == 3 ? 6 : split); o++) {
        for (int k = 0; k < split; k++)
            tiles->order[k] = orders[o][k];
        bool fits = judge(tiles, need, nodes, most_bytes, speed);
        if (tiles->node_bytes < smallest->node_bytes)
            *smallest = *tiles;
        if (!fits || (*found && tiles->seconds >= best->seconds))
            continue;
        *best = *tiles;
        *found = true;
    }
}

bool dcli_tiles_choose(dcli_tiles *tiles, int nodes, int64_t most_bytes, const dcli_tiles_speed *speed)
{
    static const double ratios[MOST_SPLIT_AXES + 1] = {1, 1.15, 1.3, 1.8};
    int rank = tiles->box.rank, split = (int)dcli_min(rank, MOST_SPLIT_AXES), count[MOST_SPLIT_AXES] = {1, 1, 1};
    int64_t parts[MOST_SPLIT_AXES][MOST_CANDIDATES] = {{1}, {1}, {1}};
    dcli_tiles best = *tiles, smallest = *tiles;
    bool found = false;
    smallest.node_bytes = INT64_MAX;
    for (int d = 0; d < rank; d++) {
        tiles->order[d] = d;
        set_parts(tiles, d, 1);
        if (d < split)
            count[d] = list_parts(tiles->box.count[d], ratios[split], parts[d]);
    }
    for (int a = 0; a < count[0]; a++)
        for (int b = 0; b < count[1]; b++)
            for (int c = 0; c < count[2]; c++) {
                const int64_t chosen[MOST_SPLIT_AXES] = {parts[0][a], parts[1][b], parts[2][c]};
                for (int d = 0; d < split; d++)
                    set_parts(tiles, d, chosen[d]);
                try_orders(tiles, split, nodes, most_bytes, speed, &best, &found, &smallest);
            }
    *tiles = found ? best : smallest;
    return found;
}

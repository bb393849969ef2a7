/* loop/tiles.c - choose how an operation is split into steps. Each candidate is judged by a step in the middle and its
 * neighbours: by the elements that each of them needs, and that two of them share. */
#include "loop/tiles.h"

#include "base/check.h"

enum { MOST_SPLIT_AXES = 3, MOST_CANDIDATES = 96, MOST_BOXES = 64 };

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

dcl_box dcli_tiles_outer(const dcli_tiles *tiles, const dcl_box *box)
{
    dcl_box outer = *box;
    outer.rank -= tiles->inner;
    return outer;
}

int64_t dcli_tiles_rounds(const dcli_tiles *tiles) { return tiles->inner ? tiles->parts[tiles->box.rank - 1] : 1; }

dcl_box dcli_tiles_needs(const dcli_tiles *tiles, int array, const dcl_box *indices)
{
    const dcli_tiles_array *of = &tiles->array[array];
    dcl_box all = {.rank = of->grid.rank}, one;
    bool cut;
    if (of->writes)
        return dcli_tiles_outer(tiles, indices);
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

double dcli_tiles_weight(const dcli_tiles *tiles, int array, const dcl_box *box)
{
    return bytes_of(tiles, array, box) * cost_of_runs(tiles, array, box);
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

/* Bytes that all steps copy of an array that is only read. It is copied again whenever an axis on which it depends
 * moves on; what two neighbours along the fastest of these axes have in common stays. */
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

/* Copies to the nodes and back, in weighted bytes (dcli_tiles_weight()). */
struct traffic {
    double in, out;
    double own;         /* the part of `in` that is of arrays which are written, too */
    double first, last; /* what is copied before the first step can be computed; what is copied after the last step
                           was computed */
};

static void count_array(dcli_tiles *tiles, int a, const struct need *need, struct traffic *traffic)
{
    const dcli_tiles_array *array = &tiles->array[a];
    double all = (double)dcl_type_bytes(array->grid.type);
    for (int d = 0; d < tiles->box.rank - tiles->inner; d++)
        all *= (double)tiles->box.count[d];
    double in = !array->reads ? 0 : array->writes ? all : copied_in(tiles, need), out = array->writes ? all : 0;
    traffic->in += in * need->runs;
    traffic->out += out * need->runs;
    traffic->own += array->writes ? in * need->runs : 0;
    traffic->first += array->reads ? need->bytes * need->runs : 0;
    traffic->last += array->writes ? need->bytes * need->runs : 0;
    double copied = (double)tiles->copied_bytes + in + out;
    tiles->copied_bytes = copied < 9e18 ? (int64_t)copied : INT64_MAX;
}

static double most(double a, double b) { return a > b ? a : b; }

/* Number of buffers of an array that is only written. */
static int outputs_of(const dcli_tiles *tiles) { return tiles->behind > 2 ? tiles->behind : 2; }

/* Number of buffers of an array of which each step accesses another part.
 * @param shares  steps pass on elements that the next step reads, too. */
static int buffers_of(const dcli_tiles *tiles, const dcli_tiles_array *array, bool shares)
{
    if (array->writes) /* the last step of a buffer was fetched before the first step of another part is sent there */
        return array->reads ? (int)dcli_ceil_div(tiles->ahead + tiles->behind, dcli_tiles_rounds(tiles)) + 1
                            : outputs_of(tiles);
    return tiles->ahead + 1 + shares;
}

/* Time of the kernels of a step. If a loop runs in parts, each part also reads and writes the elements of the outputs,
 * and on a GPU a launch takes as long as one with DCLI_TILES_FILL more threads. */
static double time_of_kernel(const dcli_tiles *tiles, double indices, const dcli_tiles_speed *speed)
{
    enum { FEW_COST = 4 }; /* work-items of launches with less threads compute one element each, not a block of them */
    double steps = (double)tiles->steps, kernel = indices * speed->index_s / steps + speed->kernel_s, threads = 1;
    const double device_bytes_per_s = (speed->shared ? 10 : 40) / speed->in_s;
    if (!tiles->inner)
        return kernel;
    const int axis = tiles->box.rank - 1;
    for (int d = 0; d < axis; d++)
        threads *= (double)tiles->length[d];
    if (!speed->shared)
        kernel *= 1 + (threads < DCLI_TILES_FILL ? FEW_COST : 1) * DCLI_TILES_FILL / threads;
    for (int a = 0; a < tiles->array_count && tiles->parts[axis] > 1; a++)
        if (tiles->array[a].writes)
            kernel += 2 * threads * (double)dcl_type_bytes(tiles->array[a].grid.type) / device_bytes_per_s;
    return kernel;
}

/* Time of all steps. While a step is computed, others are copied, but a buffer is filled again only when its last use
 * has ended, so the time of a step is also at least that of what must follow one another, over the number of steps in
 * which it happens. If several steps compute the same elements, one of them waits until these have been sent, and
 * another one until others are fetched. */
static double time_of(const dcli_tiles *tiles, const struct traffic *traffic, double indices, int nodes,
                      const dcli_tiles_speed *speed)
{
    double steps = (double)tiles->steps, rounds = (double)dcli_ceil_div(tiles->steps, nodes),
           same = (double)dcli_tiles_rounds(tiles), kernel = time_of_kernel(tiles, indices, speed);
    double in = traffic->in * speed->in_s / steps, out = traffic->out * speed->out_s / steps,
           ends = traffic->first * speed->in_s + traffic->last * speed->out_s, latency = speed->step_s, more = 0;
    if (speed->shared)
        return rounds * (in + kernel + out + latency) + ends;
    double own = traffic->own * speed->in_s / steps * same, results = out * same;
    if (same > 1) {
        in -= traffic->own * speed->in_s / steps;
        out = 0;
    }
    double step = most(most(in, out), kernel);
    step = most(step, (in + kernel + latency) / (tiles->ahead + 1));
    step = most(step, (kernel + out + latency) / outputs_of(tiles));
    step = most(step, (in + out + latency) / (tiles->ahead + 2)); /* see dcli_stream_run_steps() */
    step = most(step, (in + kernel + out + latency) / (tiles->ahead + tiles->behind + 1));
    if (same > 1)
        more = most(in + own - step, 0) + most(results - step, 0);
    return rounds * (step + latency + more / same) + ends + kernel + latency;
}

/* Complete a candidate whose parts, order and buffering are set. @return whether its buffers fit. */
static bool judge(dcli_tiles *tiles, const struct need need[], int nodes, int64_t most_bytes,
                  const dcli_tiles_speed *speed)
{
    double held = 0, all = 1;
    struct traffic traffic = {0};
    tiles->steps = 1;
    tiles->copied_bytes = 0;
    for (int d = 0; d < tiles->box.rank; d++) {
        tiles->steps *= tiles->parts[d];
        all *= (double)tiles->box.count[d];
    }
    for (int a = 0; a < tiles->array_count; a++) {
        const dcli_tiles_array *array = &tiles->array[a];
        bool moves = false, shares = false;
        for (int d = 0; d < tiles->box.rank; d++) {
            moves |= need[a].depends[d];
            shares |= need[a].common[d] > 0 && need[a].depends[d];
        }
        tiles->buffers[a] = moves ? buffers_of(tiles, array, shares) : 1;
        held += tiles->buffers[a] * need[a].bytes;
        count_array(tiles, a, &need[a], &traffic);
    }
    tiles->node_bytes = held < 9e18 ? (int64_t)held : INT64_MAX;
    tiles->seconds = time_of(tiles, &traffic, all, nodes, speed);
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

/* The best candidate so far. */
struct choice {
    dcli_tiles best;
    bool found;
    dcli_tiles smallest; /* of all that were tried, that with the smallest buffers */
};

/* Judge a candidate with each number of buffers. More of them help only where copies and kernels overlap. */
static void try_buffers(dcli_tiles *tiles, const struct need need[], int nodes, int64_t most_bytes,
                        const dcli_tiles_speed *speed, struct choice *choice)
{
    static const struct {
        int ahead, behind;
    } buffers[] = {{1, 1}, {2, 1}, {2, 2}};
    for (int b = 0; b < (speed->shared ? 1 : 3); b++) {
        tiles->ahead = buffers[b].ahead;
        tiles->behind = buffers[b].behind;
        bool fits = judge(tiles, need, nodes, most_bytes, speed);
        if (tiles->node_bytes < choice->smallest.node_bytes)
            choice->smallest = *tiles;
        if (!fits || (choice->found && tiles->seconds >= choice->best.seconds))
            continue;
        choice->best = *tiles;
        choice->found = true;
    }
}

/* Try all orders of the split axes; the other axes have one part, and come last. */
static void try_orders(dcli_tiles *tiles, int split, int nodes, int64_t most_bytes, const dcli_tiles_speed *speed,
                       struct choice *choice)
{
    static const int orders[6][MOST_SPLIT_AXES] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int inner = tiles->inner ? tiles->box.rank - 1 : -1;
    struct need need[DCLI_TILES_ARRAYS];
    for (int a = 0; a < tiles->array_count; a++)
        measure(tiles, a, &need[a]);
    for (int o = 0; o < (split == 3 ? 6 : split); o++) {
        for (int k = 0; k < split; k++)
            tiles->order[k] = orders[o][k];
        if (inner >= 0 && tiles->order[0] != inner)
            continue;
        try_buffers(tiles, need, nodes, most_bytes, speed, choice);
    }
}

static bool take_best(dcli_tiles *tiles, const struct choice *choice)
{
    *tiles = choice->found ? choice->best : choice->smallest;
    return choice->found;
}

/* Begin with one part for each axis. @return number of axes that may be split */
static int begin(dcli_tiles *tiles, struct choice *choice)
{
    for (int d = 0; d < tiles->box.rank; d++) {
        tiles->order[d] = d;
        set_parts(tiles, d, 1);
    }
    *choice = (struct choice){.best = *tiles, .smallest = *tiles};
    choice->smallest.node_bytes = INT64_MAX;
    return (int)dcli_min(tiles->box.rank, MOST_SPLIT_AXES);
}

bool dcli_tiles_set(dcli_tiles *tiles, const int64_t parts[], int nodes, int64_t most_bytes,
                    const dcli_tiles_speed *speed)
{
    struct choice choice;
    int split = begin(tiles, &choice);
    for (int d = 0; d < split; d++)
        set_parts(tiles, d, dcli_max(1, dcli_min(parts[d], tiles->box.count[d])));
    try_orders(tiles, split, nodes, most_bytes, speed, &choice);
    return take_best(tiles, &choice);
}

/* Whether parts of the inner axis need not be tried, because there would be many boxes of the other axes. */
static bool is_slow(const dcli_tiles *tiles, const struct choice *choice)
{
    int64_t boxes = 1;
    for (int d = 0; d + 1 < tiles->box.rank; d++)
        boxes *= tiles->parts[d];
    return tiles->inner && choice->found && tiles->parts[tiles->box.rank - 1] > 1 && boxes > MOST_BOXES;
}

bool dcli_tiles_choose(dcli_tiles *tiles, int nodes, int64_t most_bytes, const dcli_tiles_speed *speed)
{
    static const double ratios[MOST_SPLIT_AXES + 1] = {1, 1.15, 1.3, 1.8};
    int64_t parts[MOST_SPLIT_AXES][MOST_CANDIDATES] = {{1}, {1}, {1}};
    struct choice choice;
    int count[MOST_SPLIT_AXES] = {1, 1, 1}, split = begin(tiles, &choice);
    for (int d = 0; d < split; d++)
        count[d] = list_parts(tiles->box.count[d], tiles->inner ? ratios[2] : ratios[split], parts[d]);
    for (int a = 0; a < count[0]; a++)
        for (int b = 0; b < count[1]; b++)
            for (int c = 0; c < count[2]; c++) {
                const int64_t chosen[MOST_SPLIT_AXES] = {parts[0][a], parts[1][b], parts[2][c]};
                for (int d = 0; d < split; d++)
                    set_parts(tiles, d, chosen[d]);
                if (is_slow(tiles, &choice))
                    continue;
                try_orders(tiles, split, nodes, most_bytes, speed, &choice);
            }
    return take_best(tiles, &choice);
}

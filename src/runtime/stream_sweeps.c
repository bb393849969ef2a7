/* runtime/stream_sweeps.c - several operations of a nest per copy of the elements: the sweeps of a time loop.
 *
 * The nest's operations compute rows (axis 0) of their arrays, and read a few rows around. A front moves over the rows.
 * In a visit it moves by some rows; the first operation computes up to the front, each later one `skew` rows less,
 * where `skew` is the farthest row that any of them reads. So an operation finds what the ones before have computed,
 * and nothing that a later one has replaced. Sent are the rows that the front reaches, fetched are those that no
 * operation computes any more, and the rows between stay on the node: a visit has a window of each array, and copies
 * the rows that it still needs from the window before. All of this is on one node, even if there are several: for the
 * first window of another node, the rows of the node before would have to be complete. Where the link to the host takes
 * most of the time, one node that gets each element once is faster than several that get it with each operation. Nodes
 * that share the processors of their host run each operation on all of them instead. Source: skewing of loops and tiles, M. Wolfe, "More iteration
 * space tiling" (Supercomputing, 1989). */
#include "runtime/stream_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/box.h"

/* What a group of operations does with an array of the program's memory. */
struct window {
    int host;
    bool moves;   /* each operation reads rows at fixed distances from those that it computes */
    bool written; /* operation `last` writes it, and perhaps others do */
    bool fresh;   /* the first operation computes elements of it without reading any: these are not sent */
    int64_t reach;
    int last;
    dcl_box used, computed, first;         /* boxes that the operations use, that they compute, and that the first
                                              one computes; all of them along axis 0 */
    double row_bytes, in_bytes, out_bytes; /* weighted bytes of a row: of the window, of the part that is sent, of
                                              the part that is fetched */
};

/* A group of consecutive operations. */
struct group {
    dcli_stream *stream;
    struct run *const *op; /* [count] */
    int count, window_count;
    struct window window[DCLI_TILES_ARRAYS];
    int64_t skew, from, end; /* rows that are computed: from, ..., end - 1 */
    int64_t rows;            /* number of rows by which the front moves in a visit */
    int ahead, kept;         /* number of windows that are filled ahead of their use; number of windows of each array
                                on a node */
    struct run *run;         /* stands for an operation whose arrays are the windows, with their numbers */
};

/* ---- which operations can run together ---------------------------------------------------------------------------- */

/* What an operation needs of an array for a row that it computes. */
static dcl_box needs_of_row(const struct run *op, int array, int64_t row)
{
    dcl_box box = op->tiles.box;
    box.start[0] = row;
    box.count[0] = 1;
    return dcli_tiles_needs(&op->tiles, array, &box);
}

/* Find how far an operation reads from the row that it computes. @return -1: not at fixed distances */
static int64_t reach_of(const struct run *op, int array)
{
    const dcl_box *all = &op->tiles.box;
    int64_t first = all->start[0], count = all->count[0], middle = first + count / 2, reach = 0;
    if (count < 2 || op->tiles.array[array].grid.rank < 1)
        return -1;
    if (middle + 1 >= first + count)
        middle--;
    dcl_box a = needs_of_row(op, array, middle), b = needs_of_row(op, array, middle + 1);
    const int64_t rows[] = {first, middle, middle + 1, first + count - 1};
    if (b.start[0] != a.start[0] + 1 || b.count[0] != a.count[0])
        return -1;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        dcl_box box = needs_of_row(op, array, rows[r]);
        reach = dcli_max(reach, dcli_max(rows[r] - box.start[0], box.start[0] + box.count[0] - 1 - rows[r]));
    }
    return reach;
}

static struct window *window_of(struct group *group, int host, int rank)
{
    for (int w = 0; w < group->window_count; w++)
        if (group->window[w].host == host)
            return &group->window[w];
    if (group->window_count == DCLI_TILES_ARRAYS)
        return NULL;
    struct window *window = &group->window[group->window_count++];
    *window = (struct window){.host = host, .moves = true, .last = -1, .used.rank = rank, .computed.rank = rank};
    return window;
}

/* Whether an operation reads an array of the program's memory. */
static bool reads_host(const struct run *op, int host)
{
    for (int a = 0; a < op->tiles.array_count; a++)
        if (op->host[a] == host && op->tiles.array[a].reads)
            return true;
    return false;
}

static bool add_array(struct group *group, int number, int array)
{
    const struct run *op = group->op[number];
    const dcli_tiles_array *of = &op->tiles.array[array];
    struct window *window = window_of(group, op->host[array], of->grid.rank);
    dcl_box needs = dcli_tiles_needs(&op->tiles, array, &op->tiles.box);
    if (window == NULL)
        return false;
    if (window->used.count[0] == 0 && of->writes && !reads_host(op, op->host[array])) {
        window->fresh = true;
        window->first = needs;
    }
    window->used = dcli_tiles_hull(&window->used, &needs);
    if (of->writes) {
        window->written = true;
        window->last = number;
        window->computed = dcli_tiles_hull(&window->computed, &needs);
        return true;
    }
    int64_t reach = reach_of(op, array);
    window->moves &= reach >= 0;
    window->reach = dcli_max(window->reach, reach);
    return true;
}

static double weight(const struct group *group, const struct window *window, const dcl_box *box)
{
    dcli_tiles one = {.box = *box, .array_count = 1};
    one.array[0].grid = group->stream->host[window->host].grid;
    return dcli_tiles_weight(&one, 0, box);
}

/* Weighted bytes of a row of each array. */
static void weigh(struct group *group)
{
    for (int w = 0; w < group->window_count; w++) {
        struct window *window = &group->window[w];
        const double rows = (double)window->used.count[0];
        dcli_box_list rest = {0};
        window->row_bytes = (double)dcl_type_bytes(group->stream->host[window->host].grid.type);
        for (int d = 1; d < window->used.rank; d++)
            window->row_bytes *= (double)window->used.count[d];
        if (window->fresh && dcli_box_subtract(&window->used, &window->first, &rest) == DCL_OK)
            for (int64_t b = 0; b < rest.count; b++)
                window->in_bytes += weight(group, window, &rest.box[b]) / rows;
        else
            window->in_bytes = weight(group, window, &window->used) / rows;
        if (window->written)
            window->out_bytes = weight(group, window, &window->computed) / rows;
        dcli_box_list_free(&rest);
    }
}

/* Find what operations do with their arrays. @return whether they can run together. */
static bool survey(struct group *group)
{
    group->window_count = 0;
    group->skew = 0;
    group->from = INT64_MAX;
    group->end = INT64_MIN;
    for (int k = 0; k < group->count; k++) {
        const struct run *op = group->op[k];
        group->from = dcli_min(group->from, op->tiles.box.start[0]);
        group->end = dcli_max(group->end, op->tiles.box.start[0] + op->tiles.box.count[0]);
        for (int a = 0; a < op->tiles.array_count; a++)
            if (!add_array(group, k, a))
                return false;
    }
    for (int w = 0; w < group->window_count; w++) {
        const struct window *window = &group->window[w];
        if (!window->moves && window->written)
            return false;
        if (window->moves)
            group->skew = dcli_max(group->skew, window->reach);
    }
    weigh(group);
    return true;
}

/* ---- how many, and in which steps --------------------------------------------------------------------------------- */

static double most(double a, double b) { return a > b ? a : b; }

/* Estimate the time of `count` operations per visit, with fronts that move by group->rows. */
static double time_of(const struct group *group, int count)
{
    const dcli_tiles_speed *speed = &group->op[0]->speed;
    double in = 0, out = 0, row = 0, kernel = 0, rows = (double)group->rows, resident = 0, fixed = 0;
    for (int w = 0; w < group->window_count; w++) {
        const struct window *window = &group->window[w];
        in += window->moves ? rows * window->in_bytes * speed->in_s : 0;
        out += window->moves ? rows * window->out_bytes * speed->out_s : 0;
        row += window->moves ? window->row_bytes : 0;
        resident += window->moves ? 0 : window->in_bytes * (double)window->used.count[0] * speed->in_s;
    }
    for (int k = 0; k < group->count; k++) {
        const dcli_tiles *tiles = &group->op[k]->tiles;
        kernel += group->op[k]->speed.index_s * (double)dcli_box_elements(&tiles->box) / (double)tiles->box.count[0];
        fixed += group->op[k]->speed.kernel_s;
    }
    fixed = fixed * count / group->count;
    const double device_bytes_per_s = speed->shared ? 0.5 / speed->in_s : 20 / speed->in_s;
    kernel = kernel * rows * count / group->count + row * (double)(group->skew * (count + 1)) / device_bytes_per_s;
    double visits = (double)dcli_ceil_div(group->end - group->from + group->skew * (count - 1), group->rows);
    fixed += speed->step_s * (1 + (double)count / 3);
    if (speed->shared)
        return visits * (in + kernel + out + fixed) + resident;
    double visit = most(most(in, out), kernel);
    visit = most(visit, (in + kernel) / (group->ahead + 1));
    visit = most(visit, (in + out) / (group->ahead + 2));
    visit = most(visit, (in + kernel + out) / (group->ahead + 2));
    return visits * (visit + fixed) + in + kernel + out + resident;
}

/* The most rows by which a front can move. */
static int64_t most_rows(const struct group *group, int count)
{
    double row = 0, resident = 0;
    for (int w = 0; w < group->window_count; w++) {
        const struct window *window = &group->window[w];
        row += window->moves ? window->row_bytes : 0;
        resident += window->moves ? 0 : window->row_bytes * (double)window->used.count[0];
    }
    double rows = ((double)group->stream->most_bytes - resident) / (row * group->kept);
    return (int64_t)rows - group->skew * (count + 1);
}

static void set_buffers(struct group *group, int ahead)
{
    group->ahead = ahead;
    group->kept = ahead + 2; /* one is computed, one is fetched */
}

/* Choose how many of the operations run together in a visit, and how far a front moves.
 * @return the number; 1: each alone is faster */
static int choose(struct group *group)
{
    double alone = 0, least = 0;
    int best = 1, best_ahead = 1;
    int64_t best_rows = 0, all = group->end - group->from;
    for (int k = 0; k < group->count; k++)
        alone += group->op[k]->tiles.seconds;
    for (int ahead = 1; ahead <= (group->op[0]->speed.shared ? 1 : 2); ahead++)
        for (int count = 2; count <= group->count; count++) {
            set_buffers(group, ahead);
            int64_t fitting = dcli_min(most_rows(group, count), dcli_ceil_div(all, 4));
            for (group->rows = fitting; group->rows >= dcli_max(1, fitting / 16); group->rows = group->rows * 3 / 4) {
                double seconds = time_of(group, count) * group->count / count;
                if (seconds > 0.9 * alone || (best > 1 && seconds >= least))
                    continue;
                least = seconds;
                best = count;
                best_rows = group->rows;
                best_ahead = ahead;
            }
        }
    set_buffers(group, best_ahead);
    group->rows = best_rows;
    return best;
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

/* Where the front is after a visit; -1: before the first one. */
static int64_t front(const struct group *group, int64_t visit) { return group->from + (visit + 1) * group->rows; }

/* Restrict a box to rows from, ..., end - 1. @return whether any is left. */
static bool restrict_rows(const dcl_box *box, int64_t from, int64_t end, dcl_box *part_out)
{
    from = dcli_max(from, box->start[0]);
    end = dcli_min(end, box->start[0] + box->count[0]);
    *part_out = *box;
    part_out->start[0] = from;
    part_out->count[0] = end - from;
    return end > from;
}

/* The rows of a box between two fronts, both less `behind`; before the first visit all, as many as there are. */
static bool rows_of_visit(const struct group *group, const dcl_box *box, int64_t visit, int64_t behind,
                          dcl_box *part_out)
{
    int64_t from = visit == 0 ? INT64_MIN : front(group, visit - 1) - behind;
    return restrict_rows(box, from, front(group, visit) - behind, part_out);
}

/* The rows of a window in a visit. */
static dcl_box window_box(const struct group *group, const struct window *window, int64_t visit)
{
    dcl_box box;
    if (!window->moves)
        return window->used;
    int64_t from = visit == 0 ? INT64_MIN : front(group, visit - 1) - group->skew * group->count;
    if (!restrict_rows(&window->used, from, front(group, visit) + group->skew, &box)) { /* it is not used any more */
        box = window->used;
        box.start[0] += box.count[0] - 1;
        box.count[0] = 1;
    }
    return box;
}

static struct slot *slot_of(const struct group *group, int w, int64_t visit)
{
    return &group->run->ring[w].slot[group->window[w].moves ? visit % group->kept : 0];
}

/* Start to send the elements of a box that the first operation does not compute. */
static dcl_status send(struct group *group, int w, const dcl_box *box, dcl_array *view)
{
    const struct window *window = &group->window[w];
    dcli_box_list rest = {0};
    dcl_box unused;
    dcl_status status;
    if (window->fresh && dcli_box_intersect(box, &window->first, &unused))
        status = dcli_box_subtract(box, &window->first, &rest);
    else
        status = dcli_box_list_add(&rest, box);
    for (int64_t b = 0; b < rest.count && status == DCL_OK; b++)
        status = dcli_stream_want(group->run, w, false, view, &rest.box[b]);
    dcli_box_list_free(&rest);
    return status;
}

/* Start to send what the front reaches in a visit. */
static dcl_status prepare(struct group *group, int64_t visit)
{
    dcl_status status = DCL_OK;
    for (int w = 0; w < group->window_count && status == DCL_OK; w++) {
        const struct window *window = &group->window[w];
        struct slot *slot = slot_of(group, w, visit);
        dcl_box box = window_box(group, window, visit), sent = box;
        if (!window->moves && visit > 0)
            continue;
        dcl_grid grid = dcl_grid_nd(group->run->tiles.array[w].grid.type, box.rank, box.count, NULL);
        if (window->moves)
            grid.extent[0] = dcli_min(group->rows + group->skew * (group->count + 1), window->used.count[0]);
        status = dcli_stream_set_slot(group->stream, 0, &grid, &box, slot);
        bool any = !window->moves || rows_of_visit(group, &window->used, visit, -group->skew, &sent);
        if (status == DCL_OK && any)
            status = send(group, w, &sent, slot->view);
    }
    return status;
}

/* Copy the rows that a visit needs from the windows of the visit before. */
static dcl_status carry(struct group *group, int64_t visit)
{
    dcl_status status = DCL_OK;
    for (int w = 0; w < group->window_count && visit > 0 && status == DCL_OK; w++) {
        const struct slot *before = slot_of(group, w, visit - 1), *slot = slot_of(group, w, visit);
        dcl_box part, both;
        if (group->window[w].moves &&
            restrict_rows(&slot->box, INT64_MIN, front(group, visit - 1) + group->skew, &part) &&
            dcli_box_intersect(&part, &before->box, &both))
            status = dcli_stream_copy_common(group->run, w, &both, before->view, slot->view);
    }
    return status;
}

/* Run an operation of a visit. */
static dcl_status compute(struct group *group, int64_t visit, int number)
{
    const struct run *op = group->op[number];
    const dcli_loops_call *operation = op->operation;
    dcl_arg args[DCLI_LOOPS_OPERANDS];
    dcl_box box;
    if (!rows_of_visit(group, &operation->box, visit, group->skew * number, &box))
        return DCL_OK;
    for (int k = 0; k < operation->operand_count; k++) {
        int bound = operation->operand[k].bound, r = (bound - 1) / 2, a = op->array[k];
        args[k] = op->args[k];
        if (a >= 0)
            args[k].array = slot_of(group, (int)(window_of(group, op->host[a], 0) - group->window), visit)->view;
        if (bound > 0)
            args[k].value.i = box.start[r] + (bound % 2 == 1 ? 0 : box.count[r] - 1);
    }
    return dcli_forall_run(group->stream->cluster, &box, operation->body, DCLI_TEXT_BODY, operation->operand_count,
                           args);
}

/* Start to fetch what a visit was the last to compute. */
static dcl_status fetch(struct group *group, int64_t visit)
{
    dcl_status status = DCL_OK;
    for (int w = 0; w < group->window_count && status == DCL_OK; w++) {
        const struct window *window = &group->window[w];
        dcl_box box;
        if (window->written && rows_of_visit(group, &window->computed, visit, group->skew * window->last, &box))
            status = dcli_stream_want(group->run, w, true, slot_of(group, w, visit)->view, &box);
    }
    return status;
}

static dcl_status run_visits(struct group *group, int64_t visits)
{
    dcli_stream *stream = group->stream;
    dcl_status status = DCL_OK;
    for (int64_t t = -group->ahead; t <= visits && status == DCL_OK; t++) {
        status = dcli_stream_collect(stream, ++stream->round - ROUNDS_IN_FLIGHT, status);
        if (status == DCL_OK && t + group->ahead < visits)
            status = prepare(group, t + group->ahead);
        if (status == DCL_OK && t > 0)
            status = fetch(group, t - 1);
        if (status == DCL_OK)
            status = dcli_stream_start(stream);
        if (t < 0 || t == visits)
            continue;
        if (status == DCL_OK)
            status = carry(group, t);
        for (int k = 0; k < group->count && status == DCL_OK; k++)
            status = compute(group, t, k);
    }
    return status;
}

static void log_group(const struct group *group, int64_t visits)
{
    const dcli_stream *stream = group->stream;
    DCLI_LOG(&stream->cluster->log, DCLI_LOG_INFO,
             "dcl_loops: streamed %d operations together in %" PRId64 " steps of %" PRId64 " rows; copied %" PRId64
             " bytes to the nodes and %" PRId64 " back, %" PRId64 " between buffers",
             group->count, visits, group->rows, stream->in_bytes, stream->out_bytes, stream->kept_bytes);
}

/* Run operations that can run together. */
static dcl_status run_group(struct group *group)
{
    dcli_stream *stream = group->stream;
    int64_t visits = dcli_ceil_div(group->end - group->from + group->skew * (group->count - 1), group->rows);
    struct run *run = group->run = dcli_calloc(1, sizeof *run);
    if (run == NULL)
        return DCL_ERR_NOMEM;
    run->stream = stream;
    run->tiles.array_count = group->window_count;
    run->tiles.box = group->op[0]->tiles.box;
    for (int w = 0; w < group->window_count; w++) {
        run->host[w] = group->window[w].host;
        run->tiles.array[w].grid = stream->host[run->host[w]].grid;
    }
    stream->in_bytes = stream->out_bytes = stream->kept_bytes = 0;
    dcl_status status = dcli_stream_begin_steps(run);
    if (status == DCL_OK)
        status = run_visits(group, visits);
    if (status == DCL_OK)
        log_group(group, visits);
    dcli_stream_end_steps(run);
    dcli_free(run);
    return status;
}

bool dcli_stream_can_join(const struct run *op)
{
    const dcli_stream *stream = op->stream;
    if (op->tiles.box.rank < 1 || (stream->node_count > 1 && op->speed.shared))
        return false;
    if (stream->cluster->fault != NULL && strncmp(stream->cluster->fault, "together ", 9) == 0)
        return true;
    return op->measured && stream->cluster->fault == NULL;
}

dcl_status dcli_stream_run_together(dcli_stream *stream, int count, struct run *const op[], int *done_out)
{
    struct group group = {.stream = stream, .op = op, .count = count};
    const char *fault = stream->cluster->fault;
    int forced;
    *done_out = 0;
    if (count < 2 || !survey(&group))
        return DCL_OK;
    int together = 1;
    if (fault != NULL && sscanf(fault, "together %d x %" SCNd64, &forced, &group.rows) == 2) {
        together = (int)dcli_min(forced, count);
        set_buffers(&group, 1 + together % 2);
    } else {
        together = choose(&group);
    }
    dcl_status status = DCL_OK;
    for (int at = 0; together > 1 && at < count && status == DCL_OK; at += group.count) {
        group.op = op + at;
        group.count = (int)dcli_min(together, count - at);
        bool joins = survey(&group); /* those of all do, so those of some do */
        assert(joins);
        (void)joins;
        status = run_group(&group);
        *done_out = at + group.count;
    }
    return status;
}

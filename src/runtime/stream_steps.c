/* runtime/stream_steps.c - the order in which steps of an operation are sent, computed and fetched, and the times of
 * the first steps. */
#include "runtime/stream_inside.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "segment/box.h"

/* Give back the buffers of all nodes. */
void dcli_stream_end_steps(struct run *run)
{
    const dcli_stream *stream = run->stream;
    for (int r = 0; run->ring != NULL && r < stream->node_count * run->tiles.array_count; r++)
        for (int s = 0; s < MOST_BUFFERS; s++)
            if (run->ring[r].slot[s].view != NULL)
                dcl_array_release(run->ring[r].slot[s].view);
    for (struct buffer *buffer = stream->buffers; buffer != NULL; buffer = buffer->next)
        buffer->used = false;
    dcli_free(run->ring);
    run->ring = NULL;
}

dcl_status dcli_stream_begin_steps(struct run *run)
{
    run->ring = dcli_calloc((size_t)(run->stream->node_count * run->tiles.array_count), sizeof *run->ring);
    return run->ring != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Copy to a slot the elements of its box, except for those that another slot has, which are copied from there later. */
static dcl_status fill(struct run *run, int array, const struct slot *before, const struct slot *slot,
                       struct ready *ready)
{
    dcli_box_list rest = {0};
    dcl_status status = DCL_OK;
    if (before != NULL && before->view != NULL && dcli_box_intersect(&before->box, &slot->box, &ready->common[array])) {
        ready->from[array] = before->view;
        status = dcli_box_subtract(&slot->box, &ready->common[array], &rest);
    } else {
        status = dcli_box_list_add(&rest, &slot->box);
    }
    for (int64_t b = 0; b < rest.count && status == DCL_OK; b++)
        status = dcli_stream_want(run, array, false, slot->view, &rest.box[b]);
    dcli_box_list_free(&rest);
    return status;
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

/* The grid of buffers for an array: as large as a step in the middle needs. */
static dcl_grid buffer_grid(const struct run *run, int array)
{
    const dcli_tiles *tiles = &run->tiles;
    int64_t middle = 0, times = 1;
    for (int k = 0; k < tiles->box.rank; k++) {
        middle += tiles->parts[tiles->order[k]] / 2 * times;
        times *= tiles->parts[tiles->order[k]];
    }
    dcl_box box = dcli_tiles_step(tiles, middle);
    for (int d = 0; d < box.rank; d++)
        box.count[d] = dcli_min(tiles->length[d], tiles->box.count[d]);
    for (int d = 0; d < box.rank; d++)
        box.start[d] = dcli_min(box.start[d], tiles->box.start[d] + tiles->box.count[d] - box.count[d]);
    box = dcli_tiles_needs(tiles, array, &box);
    return dcl_grid_nd(tiles->array[array].grid.type, box.rank, box.count, NULL);
}

/* The slots of an array on a node. The number of buffers was chosen for a step in the middle: where that step and its
 * neighbour read the same elements, others may not, and then need a slot for each step that is sent ahead. */
static int slots_of(const struct run *run, int array)
{
    int least = run->tiles.array[array].writes ? 2 : run->tiles.ahead + 1;
    return (int)dcli_max(run->tiles.buffers[array], least);
}

/* Let the next slot of an array show what a step accesses. */
static dcl_status next_slot(struct run *run, int node, int array, const dcl_box *box, struct slot **slot_out)
{
    struct ring *ring = &run->ring[node * run->tiles.array_count + array];
    dcl_grid grid = buffer_grid(run, array);
    if (ring->slot[ring->current].view != NULL)
        ring->current = (ring->current + 1) % slots_of(run, array);
    *slot_out = &ring->slot[ring->current];
    return dcli_stream_set_slot(run->stream, node, &grid, box, *slot_out);
}

/* Start to copy to a node what a step reads. */
static dcl_status prepare(struct run *run, int node, int64_t e, struct ready *ready)
{
    const dcli_tiles *tiles = &run->tiles;
    const int64_t rounds = dcli_tiles_rounds(tiles);
    dcl_box step = dcli_tiles_step(tiles, e);
    *ready = (struct ready){
        .box = dcli_tiles_outer(tiles, &step), .begins = e % rounds == 0, .ends = e % rounds == rounds - 1};
    if (tiles->inner) {
        ready->low = run->first + step.start[ready->box.rank];
        ready->count = step.count[ready->box.rank];
    }
    for (int a = 0; a < tiles->array_count; a++) {
        if (!tiles->array[a].reads)
            continue;
        const struct ring *ring = &run->ring[node * tiles->array_count + a];
        const struct slot *before = &ring->slot[ring->current];
        dcl_box box = dcli_tiles_needs(tiles, a, &step);
        bool writes = tiles->array[a].writes,
             shares = !writes && slots_of(run, a) > tiles->ahead + 1; /* the slot before is there until it was copied */
        if (writes ? ready->begins : before->view == NULL || !dcli_box_equal(&box, &before->box)) {
            struct slot *slot;
            dcl_status status = next_slot(run, node, a, &box, &slot);
            if (status == DCL_OK)
                status = fill(run, a, shares && slot != before ? before : NULL, slot, ready);
            if (status != DCL_OK)
                return status;
        }
        ready->view[a] = ring->slot[ring->current].view;
    }
    return DCL_OK;
}

/* Complete what a step reads by what the step before has of it, too. */
static dcl_status complete(struct run *run, const struct ready *ready)
{
    dcl_status status = DCL_OK;
    for (int a = 0; a < run->tiles.array_count && status == DCL_OK; a++)
        if (ready->from[a] != NULL)
            status = dcli_stream_copy_common(run, a, &ready->common[a], ready->from[a], ready->view[a]);
    return status;
}

/* Let buffers show the arrays that a step only writes. */
static dcl_status show_outputs(struct run *run, int node, struct ready *ready)
{
    for (int a = 0; a < run->tiles.array_count; a++) {
        struct slot *slot;
        if (run->tiles.array[a].reads)
            continue;
        if (ready->begins) {
            dcl_status status = next_slot(run, node, a, &ready->box, &slot);
            if (status != DCL_OK)
                return status;
        }
        const struct ring *ring = &run->ring[node * run->tiles.array_count + a];
        ready->view[a] = ring->slot[ring->current].view;
    }
    return DCL_OK;
}

/* Start to compute a box of a step's indices.
 * @param body  the operation's, or a share of it. @param uses  bit k: it uses operand k */
static dcl_status launch_text(struct run *run, const struct ready *ready, const dcl_box *box, const char *body,
                              uint64_t uses)
{
    const dcli_loops_call *operation = run->operation;
    dcl_arg args[DCLI_LOOPS_OPERANDS];
    int count = 0;
    for (int k = 0; k < operation->operand_count; k++) {
        int bound = operation->operand[k].bound, r = (bound - 1) / 2;
        dcl_arg *arg = &args[count];
        if ((uses >> k & 1) == 0)
            continue;
        count++;
        *arg = run->args[k];
        if (run->array[k] >= 0)
            arg->array = ready->view[run->array[k]];
        if (body == operation->rest && operation->operand[k].access == DCL_ACCESS_OUT)
            arg->access = DCL_ACCESS_INOUT;
        if (bound > 0)
            arg->value.i = box->start[r] + (bound % 2 == 1 ? 0 : box->count[r] - 1);
        if (operation->operand[k].part > 0 && run->tiles.inner)
            arg->value.i = ready->low + (operation->operand[k].part == 1 ? 0 : ready->count - 1);
    }
    return dcli_forall_run(run->stream->cluster, box, body, DCLI_TEXT_BODY, count, args);
}

/* Start to compute a box of a step's indices. If a loop runs in parts, the statements before it run with the first
 * part. */
static dcl_status launch(struct run *run, const struct ready *ready, const dcl_box *box)
{
    const dcli_loops_call *operation = run->operation;
    dcl_status status = DCL_OK;
    if (!run->tiles.inner || operation->rest == NULL || (ready->begins && ready->ends))
        return launch_text(run, ready, box, operation->body, UINT64_MAX);
    if (ready->begins)
        status = launch_text(run, ready, box, operation->head, operation->head_uses);
    return status == DCL_OK ? launch_text(run, ready, box, operation->rest, operation->rest_uses) : status;
}

static dcl_status compute(struct run *run, int node, struct ready *ready)
{
    dcl_status status = show_outputs(run, node, ready);
    return status == DCL_OK ? launch(run, ready, &ready->box) : status;
}

/* Start to copy the results of a step back. */
static dcl_status fetch(struct run *run, const struct ready *ready)
{
    dcl_status status = DCL_OK;
    for (int a = 0; a < run->tiles.array_count && status == DCL_OK; a++)
        if (run->tiles.array[a].writes)
            status = dcli_stream_want(run, a, true, ready->view[a], &ready->box);
    return status;
}

/* Run a phase of the step that node n has in a round. */
static dcl_status run_phase(struct run *run, int phase, int n, int64_t step, struct ready *ready)
{
    switch (phase) {
    case 0:
        return prepare(run, n, step, ready);
    case 1:
        return ready->ends ? fetch(run, ready) : DCL_OK;
    case 2:
        return complete(run, ready);
    default:
        return compute(run, n, ready);
    }
}

/* The first step of node n, if the nodes have steps `first`, ...: the last one of some elements, and the first one of
 * others, are of different nodes only together. */
static int64_t first_of(const struct run *run, int64_t first, int64_t n)
{
    const dcli_tiles *tiles = &run->tiles;
    int64_t share = dcli_ceil_div(tiles->steps - first, run->stream->node_count), rounds = dcli_tiles_rounds(tiles);
    return n == 0 ? first : dcli_min(dcli_ceil_div(first + n * share, rounds) * rounds, tiles->steps);
}

/* Run the steps from `first` on. Each node has consecutive ones. In a round, the elements of a step are sent to the
 * node, the results of the step that was computed `behind` rounds before are fetched, and a step is computed whose
 * elements were sent `ahead` rounds before. All of these go on at the same time, but two orders must be kept: the host
 * sends nothing while an earlier transfer has not arrived, and a node fetches nothing while an earlier kernel has not
 * started, hence has no inputs. So a step is sent when the results of `ahead` + `behind` + 1 steps before are there,
 * and the elements of `ahead` + 2 steps before. */
dcl_status dcli_stream_run_steps(struct run *run, int64_t first)
{
    dcli_stream *stream = run->stream;
    const int ahead = run->tiles.ahead, behind = run->tiles.behind, kept = ahead + behind + 1;
    int64_t nodes = stream->node_count, most = 0;
    const int shift[] = {ahead, -behind, 0, 0}; /* of the phases */
    struct ready *ready = dcli_calloc((size_t)(nodes * kept), sizeof *ready);
    dcl_status status = ready != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int64_t n = 0; n < nodes; n++)
        most = dcli_max(most, first_of(run, first, n + 1) - first_of(run, first, n));
    for (int64_t t = -ahead; t < most + behind && status == DCL_OK; t++) {
        status = dcli_stream_collect(stream, ++stream->round - ROUNDS_IN_FLIGHT, status);
        for (int phase = 0; phase < 4; phase++) {
            for (int64_t n = 0; n < nodes && status == DCL_OK; n++) {
                int64_t of_node = t + shift[phase], e = first_of(run, first, n) + of_node;
                if (of_node >= 0 && e < first_of(run, first, n + 1))
                    status = run_phase(run, phase, (int)n, e, &ready[n * kept + of_node % kept]);
            }
            if (phase == 1 && status == DCL_OK)
                status = dcli_stream_start(stream);
        }
    }
    dcli_free(ready);
    return status;
}

/* ---- measuring ---------------------------------------------------------------------------------------------------- */

static double larger(double a, double b) { return a > b ? a : b; }

/* Wait for everything that was started. @return DCL_OK, or the first failure. */
static dcl_status settle(struct run *run, dcl_status status)
{
    dcl_cluster *cluster = run->stream->cluster;
    if (status == DCL_OK)
        status = dcli_stream_start(run->stream);
    status = dcli_stream_collect(run->stream, INT64_MAX, status);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&cluster->lock);
    status = dcli_cluster_wait(cluster, cluster->operations, false, -1);
    return dcli_cluster_end_call(cluster, status);
}

/* What is measured of a step. */
enum { SEND, FIRST, REST, FETCH, PHASES };

/* The first quarter of a box, or what it leaves. */
static dcl_box share_of(const dcl_box *box, bool first)
{
    dcl_box share = *box;
    int64_t quarter = (box->count[0] + 3) / 4;
    share.count[0] = first ? quarter : box->count[0] - quarter;
    share.start[0] += first ? 0 : quarter;
    return share;
}

/* Run a step alone, one phase after the other, its kernel for a first part of the indices and then for the rest.
 * @param s_out  [PHASES] seconds. @param indices_out  numbers of indices of both kernels */
static dcl_status run_alone(struct run *run, int64_t e, double s_out[], double indices_out[2])
{
    struct ready ready;
    dcl_status status = DCL_OK;
    for (int phase = 0; phase < PHASES && status == DCL_OK; phase++) {
        int64_t began = dcli_monotonic_ns();
        if (phase == SEND)
            status = prepare(run, 0, e, &ready);
        else if (phase == FETCH)
            status = fetch(run, &ready);
        else {
            dcl_box box = share_of(&ready.box, phase == FIRST);
            indices_out[phase - FIRST] = (double)dcli_box_elements(&box);
            if (run->tiles.inner) /* as in the model: loop/tiles.c */
                indices_out[phase - FIRST] =
                    (indices_out[phase - FIRST] + (run->speed.shared ? 0 : DCLI_TILES_FILL)) * (double)ready.count;
            if (!dcli_box_is_empty(&box))
                status = launch(run, &ready, &box);
        }
        status = settle(run, status);
        s_out[phase] = 1e-9 * (double)(dcli_monotonic_ns() - began);
        if (phase == SEND && status == DCL_OK)
            status = complete(run, &ready);
        if (phase == SEND && status == DCL_OK)
            status = settle(run, show_outputs(run, 0, &ready));
    }
    return status;
}

/* What the kernels of a step cost: on GPUs a part does not grow with the indices, as long as these do not fill the
 * device. */
static void note_kernels(const double s[PHASES], const double indices[2], double latency_s, dcli_tiles_speed *speed)
{
    double first = larger(s[FIRST] - latency_s, 0), rest = larger(s[REST] - latency_s, 0);
    speed->index_s = (first + rest) / (indices[0] + indices[1]);
    speed->kernel_s = 0;
    if (speed->shared || indices[1] <= indices[0])
        return;
    speed->index_s = larger(rest - first, rest / 20) / (indices[1] - indices[0]);
    speed->kernel_s = larger(rest - speed->index_s * indices[1], 0);
}

/* Measure the shortest time of a transfer of one element that the node has already. @param s_out  0 if no array is
 * read */
static dcl_status time_transfer(struct run *run, double *s_out)
{
    enum { TIMES = 3 };
    dcl_status status = DCL_OK;
    for (int a = 0; a < run->tiles.array_count; a++) {
        const struct slot *slot = &run->ring[a].slot[run->ring[a].current];
        if (!run->tiles.array[a].reads)
            continue;
        dcl_box one = slot->box;
        for (int d = 0; d < one.rank; d++)
            one.count[d] = 1;
        for (int n = 0; n < TIMES && status == DCL_OK; n++) {
            int64_t began = dcli_monotonic_ns();
            status = settle(run, dcli_stream_want(run, a, false, slot->view, &one));
            double s = 1e-9 * (double)(dcli_monotonic_ns() - began);
            *s_out = n == 0 || s < *s_out ? s : *s_out;
        }
        return status;
    }
    return DCL_OK;
}

/* Run the first steps one after the other, and measure the last of them: the others compile the kernels, also those of
 * copies between buffers. Copies of less than LEAST_BYTES say little of the rate. */
dcl_status dcli_stream_measure(struct run *run, dcli_tiles_speed *speed)
{
    /* Least bytes of a step; operations of a step, of which each costs as much as a small transfer. */
    enum { LEAST_BYTES = 256 << 10, OPERATIONS = 3 };
    dcli_stream *stream = run->stream;
    double s[PHASES] = {0}, indices[2] = {0};
    dcl_status status = settle(run, DCL_OK);
    for (int64_t e = 0; e < MEASURED_STEPS && status == DCL_OK; e++) {
        stream->in_weight = stream->out_weight = 0;
        status = run_alone(run, e, s, indices);
    }
    double in_weight = stream->in_weight, out_weight = stream->out_weight, latency_s = 0;
    if (status == DCL_OK)
        status = time_transfer(run, &latency_s);
    if (status != DCL_OK)
        return status;
    if (in_weight > LEAST_BYTES)
        speed->in_s = larger(s[SEND] - latency_s, s[SEND] / 2) / in_weight;
    if (out_weight > LEAST_BYTES)
        speed->out_s = larger(s[FETCH] - latency_s, s[FETCH] / 2) / out_weight;
    if (latency_s > 0 &&
        !speed->shared) /* on processors, kernels of small steps keep some of them idle, which costs more */
        speed->step_s = OPERATIONS * latency_s;
    note_kernels(s, indices, latency_s, speed);
    DCLI_LOG(&stream->cluster->log, DCLI_LOG_INFO,
             "dcl_loops: measured a step of the stream: %.3g ms for copies to the node (%.2f GB/s), %.3g and %.3g ms "
             "of kernels for a quarter and the rest, "
             "%.3g ms for copies back (%.2f GB/s), %.3g ms for a small copy",
             1e3 * s[SEND], 1e-9 / speed->in_s, 1e3 * s[FIRST], 1e3 * s[REST], 1e3 * s[FETCH], 1e-9 / speed->out_s,
             1e3 * latency_s);
    dcli_stream_speed_keep(stream->cluster, dcli_stream_key(run->operation, &run->tiles), speed);
    return DCL_OK;
}

/* runtime/stream.c - run an operation of a nest in steps. Each node has a few buffers per array: while a step is computed in one of them,
 * the elements of the next step are copied to another, and the results of the step before are copied back. The buffers are arrays on one
 * node, seen through views that have the indices of the program's arrays; so the order of copies and kernels is that of all operations
 * on arrays, and nothing here waits but for the results.
 *
 * What a step has in common with the step before on the same node is copied there, from buffer to buffer. What does not change
 * stays where it is. Steps of an operation are independent: an operation has been verified to have no dependence between its
 * indices, and here arrays that it both writes and reads elsewhere are refused. */
#include "runtime/stream.h"

#include <dcl/view.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/names.h"
#include "loop/tiles.h"
#include "runtime/report.h"
#include "segment/box.h"

enum { MOST_BUFFERS = 3, STEPS_IN_FLIGHT = 3 };

/* Assumed until a first operation was measured. */
static const dcli_tiles_speed assumed = {.bytes_per_s = 3e9, .step_s = 300e-6};

/* A buffer: an array on one node. */
struct buffer {
    dcl_array *array;
    dcl_grid grid;
    int node;
    bool used;
    struct buffer *next;
};

/* A buffer that holds a part of an array of the nest. */
struct slot {
    struct buffer *buffer;
    dcl_array *view; /* of the part, under the indices of the whole array; NULL: nothing yet */
    dcl_box box;
};

/* The buffers of one array on one node; the current one was filled last. */
struct ring {
    int current;
    struct slot slot[MOST_BUFFERS];
};

/* A transfer that was started. */
struct started {
    int64_t number, step;
};

struct dcli_stream {
    dcl_cluster *cluster;
    const dcli_loops_plan *plan;
    int host_count, node_count;
    dcli_host_array *host;
    dcl_map **map; /* [node_count] over one node */
    int64_t most_bytes;
    struct buffer *buffers;
    int64_t started_count, started_capacity, collected;
    struct started *started;
    int64_t in_bytes, out_bytes, kept_bytes; /* of the present operation */
    bool wrote;                              /* results were copied back */
};

/* An operation while it is run. */
struct run {
    dcli_stream *stream;
    const dcli_loops_call *operation;
    const dcl_arg *args;
    const int *host_of;
    int array[DCLI_LOOPS_OPERANDS]; /* by operand: its number in `tiles`; -1: none */
    int host[DCLI_TILES_ARRAYS];
    dcli_tiles tiles;
    int64_t access_count;
    dcli_tiles_access access[DCLI_MAX_ACCESSES];
    struct ring *ring; /* [node_count][tiles.array_count] */
};

/* A step that is ready to be computed. */
struct ready {
    dcl_box box;
    dcl_array *view[DCLI_TILES_ARRAYS];
};

/* Functions on arrays, maps and views give errors their own names: give them that of the call again. */
static void name_call(void) { dcli_error_enter("dcl_loops"); }

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static bool is_cpu(const dcl_cluster *cluster, int node)
{
    return strcmp(dcli_node_device(cluster, node)->kind, "cpu") == 0;
}

/* Memory of a node for buffers: three quarters of what it has, or may use. Nodes that are processors may share the memory of a host: each
 * has a part. */
static int64_t bytes_of_node(const dcl_cluster *cluster, int node)
{
    int64_t bytes = dcli_node_device(cluster, node)->memory_bytes;
    int sharing = 0;
    for (int n = 0; n < cluster->node_count; n++)
        sharing += !cluster->lost[n] && is_cpu(cluster, n);
    if (is_cpu(cluster, node) && sharing > 1)
        bytes /= sharing;
    if (cluster->config.quota_bytes > 0)
        bytes = dcli_min(bytes, (int64_t)(cluster->config.quota_bytes & INT64_MAX));
    return bytes / 4 * 3;
}

bool dcli_stream_is_needed(const dcl_cluster *cluster, int host_count, const dcli_host_array host[])
{
    double needed = 0, there = 0;
    if (cluster->plan_only)
        return false;
    for (int h = 0; h < host_count; h++)
        needed += (double)dcli_box_elements(&host[h].all) * (double)dcl_type_bytes(host[h].grid.type);
    for (int n = 0; n < cluster->node_count; n++)
        there += cluster->lost[n] ? 0 : (double)bytes_of_node(cluster, n);
    return needed > there;
}

static dcl_status open_maps(dcli_stream *stream)
{
    dcl_map *block = dcli_map_new_block(stream->cluster);
    dcl_status status = block != NULL ? DCL_OK : dcli_error_status();
    for (int n = 0; n < stream->cluster->node_count && status == DCL_OK; n++) {
        if (stream->cluster->lost[n])
            continue;
        stream->map[stream->node_count] = dcl_map_on(block, 1, &n);
        status = stream->map[stream->node_count] != NULL ? DCL_OK : dcli_error_status();
        stream->node_count += status == DCL_OK;
        stream->most_bytes = dcli_min(stream->most_bytes, bytes_of_node(stream->cluster, n));
    }
    dcl_map_release(block);
    name_call();
    return status;
}

dcl_status dcli_stream_open(dcl_cluster *cluster, const dcli_loops_plan *plan, int host_count, dcli_host_array host[],
                            dcli_stream **stream_out)
{
    enum { APART = 1 << 20 }; /* numbers that no array made meanwhile gets */
    dcli_stream *stream = dcli_calloc(1, sizeof *stream);
    if (stream == NULL)
        return DCL_ERR_NOMEM;
    *stream = (dcli_stream){
        .cluster = cluster, .plan = plan, .host_count = host_count, .host = host, .most_bytes = INT64_MAX};
    stream->map = dcli_calloc((size_t)cluster->node_count, sizeof(dcl_map *));
    dcl_status status = stream->map != NULL ? open_maps(stream) : DCL_ERR_NOMEM;
    for (int h = 0; h < host_count && status == DCL_OK; h++)
        status = dcli_host_array_imagine(cluster, APART + h, &host[h]);
    if (status == DCL_OK) {
        *stream_out = stream;
        return DCL_OK;
    }
    for (int h = 0; h < host_count; h++)
        dcli_host_array_close(cluster, &host[h], true);
    return dcli_stream_close(stream, status);
}

dcl_status dcli_stream_close(dcli_stream *stream, dcl_status status)
{
    char why[DCLI_ERROR_BYTES];
    snprintf(why, sizeof why, "%s", dcli_error_sentence()); /* releasing may replace it */
    while (stream->buffers != NULL) {
        struct buffer *buffer = stream->buffers;
        stream->buffers = buffer->next;
        dcl_array_release(buffer->array);
        dcli_free(buffer);
    }
    for (int n = 0; n < stream->node_count; n++)
        dcl_map_release(stream->map[n]);
    dcli_free(stream->map);
    dcli_free(stream->started);
    name_call();
    if (status != DCL_OK && stream->wrote) /* programs look for "undefined contents": dcl/loops.h */
        DCLI_FAIL(status,
                  "the memory of the outputs has undefined contents, since a part of the results is in it already: "
                  "%.600s",
                  why);
    else if (status != DCL_OK && strcmp(why, dcli_error_sentence()) != 0)
        DCLI_FAIL(status, "%s", why);
    dcli_free(stream);
    return status;
}

static int64_t bytes_of_grid(const dcl_grid *grid)
{
    return dcl_grid_count(grid) * (int64_t)dcl_type_bytes(grid->type);
}

/* Release buffers of a node that are not used, so that others can take their place. */
static void make_room(dcli_stream *stream, int node, int64_t bytes)
{
    int64_t held = bytes;
    for (const struct buffer *buffer = stream->buffers; buffer != NULL; buffer = buffer->next)
        held += buffer->node == node ? bytes_of_grid(&buffer->grid) : 0;
    for (struct buffer **at = &stream->buffers; *at != NULL && held > stream->most_bytes;) {
        struct buffer *buffer = *at;
        if (buffer->node != node || buffer->used) {
            at = &buffer->next;
            continue;
        }
        held -= bytes_of_grid(&buffer->grid);
        *at = buffer->next;
        dcl_array_release(buffer->array);
        dcli_free(buffer);
    }
    name_call();
}

/* Take a buffer of a node for a box of at most these counts. */
static dcl_status take_buffer(dcli_stream *stream, int node, const dcl_grid *grid, struct buffer **buffer_out)
{
    for (struct buffer *buffer = stream->buffers; buffer != NULL; buffer = buffer->next)
        if (!buffer->used && buffer->node == node && dcli_grid_equal(&buffer->grid, grid)) {
            buffer->used = true;
            *buffer_out = buffer;
            return DCL_OK;
        }
    make_room(stream, node, bytes_of_grid(grid));
    struct buffer *made = dcli_calloc(1, sizeof *made);
    if (made == NULL)
        return DCL_ERR_NOMEM;
    *made = (struct buffer){.grid = *grid, .node = node, .used = true};
    pthread_mutex_lock(&stream->cluster->lock);
    dcl_status status = dcli_array_make(stream->cluster, grid, stream->map[node], true, &made->array);
    status = dcli_cluster_end_call(stream->cluster, status);
    if (made->array == NULL) {
        dcli_free(made);
        return status;
    }
    made->array->hidden = true;
    made->next = stream->buffers;
    stream->buffers = made;
    *buffer_out = made;
    return status;
}

/* Let a slot show another part of its array. */
static dcl_status set_slot(dcli_stream *stream, int node, const dcl_grid *largest, const dcl_box *box,
                           struct slot *slot)
{
    const int64_t zero[DCL_MAX_RANK] = {0};
    bool fits = slot->buffer != NULL;
    dcl_grid grid = *largest;
    for (int d = 0; d < box->rank; d++) {
        fits = fits && slot->buffer->grid.extent[d] >= box->count[d];
        grid.extent[d] = dcli_max(grid.extent[d], box->count[d]);
    }
    if (slot->view != NULL)
        dcl_array_release(slot->view);
    slot->view = NULL;
    if (!fits && slot->buffer != NULL)
        slot->buffer->used = false;
    dcl_status status = fits ? DCL_OK : take_buffer(stream, node, &grid, &slot->buffer);
    if (status != DCL_OK)
        return status;
    dcl_array *part = dcl_slice(slot->buffer->array, zero, box->count, NULL);
    slot->view = part != NULL ? dcl_shift(part, box->start) : NULL;
    dcl_array_release(part);
    name_call();
    slot->box = *box;
    return slot->view != NULL ? DCL_OK : dcli_error_status();
}

/* ---- transfers ---------------------------------------------------------------------------------------------------- */

/* Start to copy a box between the program's memory and a slot. */
static dcl_status start(struct run *run, int array, dcli_op_kind kind, dcl_array *view, const dcl_box *box,
                        int64_t step)
{
    dcli_stream *stream = run->stream;
    if (dcli_grow(&stream->started, stream->started_count, &stream->started_capacity, sizeof *stream->started) != 0)
        return DCL_ERR_NOMEM;
    int64_t strides[DCL_MAX_RANK], bytes;
    void *memory = dcli_host_address(&stream->host[run->host[array]], box, strides);
    dcli_msg_operation descriptor = {.kind = kind};
    pthread_mutex_lock(&stream->cluster->lock);
    dcl_status status = dcli_cluster_await_room(stream->cluster);
    if (status == DCL_OK)
        status = dcli_cluster_issue_one(view, &descriptor, box, true, memory, strides);
    if (status == DCL_OK)
        stream->started[stream->started_count++] = (struct started){descriptor.number, step};
    bytes = dcli_box_elements(box) * (int64_t)dcl_type_bytes(run->tiles.array[array].grid.type);
    stream->wrote |= kind == DCLI_OP_READ;
    *(kind == DCLI_OP_WRITE ? &stream->in_bytes : &stream->out_bytes) += bytes;
    return dcli_cluster_end_call(stream->cluster, status);
}

/* Wait for the transfers of steps before `step`; after a failure, too: the memory is then not used any more. */
static dcl_status collect(dcli_stream *stream, int64_t step, dcl_status status)
{
    while (stream->collected < stream->started_count && stream->started[stream->collected].step < step) {
        pthread_mutex_lock(&stream->cluster->lock);
        dcl_status ended = dcli_cluster_end_of(stream->cluster, stream->started[stream->collected++].number, true);
        ended = dcli_cluster_end_call(stream->cluster, ended);
        status = status == DCL_OK ? ended : status;
    }
    return status;
}

/* Copy what two slots of a node have in common. */
static dcl_status copy_common(struct run *run, int array, const dcl_box *box, dcl_array *from, dcl_array *to)
{
    char text[96], at[2 * DCL_MAX_RANK + 1] = "";
    for (int d = 0; d < box->rank; d++)
        snprintf(at + strlen(at), 3, "%s%s", d > 0 ? "," : "", dcli_index_name(d));
    snprintf(text, sizeof text, "stream_to(%s) = stream_from(%s);", at, at);
    const dcl_arg args[] = {dcl_arg_array(DCL_ACCESS_OUT, "stream_to", to),
                            dcl_arg_array(DCL_ACCESS_IN, "stream_from", from)};
    run->stream->kept_bytes += dcli_box_elements(box) * (int64_t)dcl_type_bytes(run->tiles.array[array].grid.type);
    return dcli_forall_run(run->stream->cluster, box, text, DCLI_TEXT_BODY, 2, args);
}

/* Fill a slot with the elements of its box, from the slot before it as far as that has them. */
static dcl_status fill(struct run *run, int array, const struct slot *before, const struct slot *slot, int64_t step)
{
    dcl_box common;
    dcli_box_list rest = {0};
    dcl_status status = DCL_OK;
    bool shares = before != NULL && before->view != NULL && dcli_box_intersect(&before->box, &slot->box, &common);
    if (shares) {
        status = copy_common(run, array, &common, before->view, slot->view);
        if (status == DCL_OK)
            status = dcli_box_subtract(&slot->box, &common, &rest);
    } else {
        status = dcli_box_list_add(&rest, &slot->box);
    }
    for (int64_t b = 0; b < rest.count && status == DCL_OK; b++)
        status = start(run, array, DCLI_OP_WRITE, slot->view, &rest.box[b], step);
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

/* Start to copy to a node what a step needs. */
static dcl_status prepare(struct run *run, int node, int64_t e, int64_t issued, struct ready *ready)
{
    dcli_tiles *tiles = &run->tiles;
    ready->box = dcli_tiles_step(tiles, e);
    for (int a = 0; a < tiles->array_count; a++) {
        struct ring *ring = &run->ring[node * tiles->array_count + a];
        struct slot *before = &ring->slot[ring->current];
        dcl_box box = dcli_tiles_needs(tiles, a, &ready->box);
        bool writes = tiles->array[a].writes,
             same = !writes && before->view != NULL && dcli_box_equal(&box, &before->box);
        if (!same) {
            dcl_grid grid = buffer_grid(run, a);
            if (before->view != NULL)
                ring->current = (ring->current + 1) % (int)dcli_max(tiles->buffers[a], 2);
            struct slot *slot = &ring->slot[ring->current];
            dcl_status status = set_slot(run->stream, node, &grid, &box, slot);
            if (status == DCL_OK && tiles->array[a].reads)
                status = fill(run, a, !writes && slot != before ? before : NULL, slot, issued);
            if (status != DCL_OK)
                return status;
        }
        ready->view[a] = ring->slot[ring->current].view;
    }
    return DCL_OK;
}

static dcl_status compute(struct run *run, const struct ready *ready, int64_t issued)
{
    const dcli_loops_call *operation = run->operation;
    dcl_arg args[DCLI_LOOPS_OPERANDS];
    for (int k = 0; k < operation->operand_count; k++) {
        int bound = operation->operand[k].bound, r = (bound - 1) / 2;
        args[k] = run->args[k];
        if (run->array[k] >= 0)
            args[k].array = ready->view[run->array[k]];
        if (bound > 0)
            args[k].value.i = ready->box.start[r] + (bound % 2 == 1 ? 0 : ready->box.count[r] - 1);
    }
    dcl_status status = dcli_forall_run(run->stream->cluster, &ready->box, operation->body, DCLI_TEXT_BODY,
                                        operation->operand_count, args);
    for (int a = 0; a < run->tiles.array_count && status == DCL_OK; a++)
        if (run->tiles.array[a].writes)
            status = start(run, a, DCLI_OP_READ, ready->view[a], &ready->box, issued);
    return status;
}

/* Run all steps. Each node has consecutive ones; what the next one needs is copied before the present one is computed. */
static dcl_status run_steps(struct run *run)
{
    dcli_stream *stream = run->stream;
    int64_t steps = run->tiles.steps, nodes = stream->node_count, share = dcli_ceil_div(steps, nodes), issued = 0;
    struct ready *ready = dcli_calloc((size_t)nodes, sizeof *ready);
    dcl_status status = ready != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int64_t t = 0; t <= share && status == DCL_OK; t++)
        for (int64_t n = 0; n < nodes && status == DCL_OK; n++, issued++) {
            int64_t e = n * share + t;
            struct ready present = ready[n];
            status = collect(stream, issued - STEPS_IN_FLIGHT * nodes, status);
            if (status == DCL_OK && t < share && e < steps)
                status = prepare(run, (int)n, e, issued, &ready[n]);
            if (status == DCL_OK && t > 0 && e - 1 < steps)
                status = compute(run, &present, issued);
        }
    dcli_free(ready);
    return collect(stream, INT64_MAX, status);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

/* Note the arrays of an operation and their accesses (a dcli_planned_fn). The lock is held. */
static dcl_status note_accesses(void *user, const dcli_planned *planned)
{
    struct run *run = user;
    const dcli_operation *operation = planned->operation;
    for (int a = 0; a < operation->body->access_count; a++) {
        int k = operation->body->access[a].param; /* operands and parameters correspond */
        if (k >= run->operation->operand_count || run->array[k] < 0 || run->tiles.array[run->array[k]].writes)
            continue;
        dcli_subscripts base;
        dcli_tiles_access *access = &run->access[run->access_count++];
        access->array = run->array[k];
        dcl_status status = dcli_operation_subscripts(operation, a, &access->subscripts, &base);
        if (status != DCL_OK)
            return status;
    }
    return DCL_OK;
}

static const char *name_of(const struct run *run, int array) { return run->stream->host[run->host[array]].arg->name; }

/* Where the operation uses an array first. */
static dcli_loops_place place_of(const struct run *run, int array)
{
    int k = 0;
    while (run->array[k] != array)
        k++;
    return run->operation->operand[k].place;
}

/* Whether an array that the operation writes is also read by other names where it is written. */
static dcl_status check_apart(const struct run *run)
{
    const dcli_tiles *tiles = &run->tiles;
    for (int a = 0; a < tiles->array_count; a++)
        for (int b = 0; b < tiles->array_count; b++) {
            dcl_box read, both;
            if (tiles->array[a].writes || !tiles->array[b].writes || run->host[a] != run->host[b])
                continue;
            read = dcli_tiles_needs(tiles, a, &tiles->box);
            if (dcli_box_intersect(&read, &tiles->box, &both))
                return dcli_loops_plan_fail(
                    run->stream->plan, place_of(run, a), DCL_ERR_UNSUPPORTED, "stream", "write to another array",
                    "%s is read near the elements of it that are written at the same time, so it cannot be "
                    "streamed, and the arrays of the nest do not fit the nodes",
                    name_of(run, a));
        }
    return DCL_OK;
}

static dcl_status describe(struct run *run)
{
    const dcli_loops_call *operation = run->operation;
    dcli_tiles *tiles = &run->tiles;
    tiles->box = operation->box;
    for (int k = 0; k < operation->operand_count; k++) {
        bool writes =
            operation->operand[k].access == DCL_ACCESS_OUT || operation->operand[k].access == DCL_ACCESS_INOUT;
        run->array[k] = -1;
        if (run->host_of[k] < 0)
            continue;
        if (tiles->array_count == DCLI_TILES_ARRAYS)
            return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                             "statements that run together use more than %d arrays; split the nest", DCLI_TILES_ARRAYS);
        int a = tiles->array_count++;
        run->array[k] = a;
        run->host[a] = run->host_of[k];
        tiles->array[a] = (dcli_tiles_array){.reads = operation->operand[k].access != DCL_ACCESS_OUT,
                                             .writes = writes,
                                             .grid = *dcli_array_grid(run->args[k].array)};
    }
    pthread_mutex_lock(&run->stream->cluster->lock);
    dcl_status status = dcli_forall_planned(run->stream->cluster, &operation->box, operation->body, DCLI_TEXT_BODY,
                                            operation->operand_count, run->args, note_accesses, run);
    pthread_mutex_unlock(&run->stream->cluster->lock);
    tiles->access = run->access;
    tiles->access_count = (int)run->access_count;
    return status == DCL_OK ? check_apart(run) : status;
}

static void log_choice(const struct run *run)
{
    const dcli_tiles *tiles = &run->tiles;
    const dcli_stream *stream = run->stream;
    char parts[160] = "";
    for (int d = 0; d < tiles->box.rank; d++)
        snprintf(parts + strlen(parts), sizeof parts - strlen(parts), "%s%" PRId64, d > 0 ? " x " : "",
                 tiles->parts[d]);
    DCLI_LOG(&stream->cluster->log, DCLI_LOG_INFO,
             "dcl_loops: streamed in %s steps: buffers of %" PRId64 " of %" PRId64 " bytes per node; copied %" PRId64
             " bytes to the nodes and %" PRId64 " back, %" PRId64 " between buffers",
             parts, tiles->node_bytes, stream->most_bytes, stream->in_bytes, stream->out_bytes, stream->kept_bytes);
}

static void end_run(struct run *run)
{
    dcli_stream *stream = run->stream;
    for (int r = 0; run->ring != NULL && r < stream->node_count * run->tiles.array_count; r++)
        for (int s = 0; s < MOST_BUFFERS; s++)
            if (run->ring[r].slot[s].view != NULL)
                dcl_array_release(run->ring[r].slot[s].view);
    for (struct buffer *buffer = stream->buffers; buffer != NULL; buffer = buffer->next)
        buffer->used = false;
    stream->started_count = stream->collected = 0;
    dcli_free(run->ring);
    dcli_free(run);
}

/* Say why not even the steps with the smallest buffers fit: which array needs most. */
static dcl_status refuse_steps(const struct run *run)
{
    const dcli_tiles *tiles = &run->tiles;
    dcl_box step = dcli_tiles_step(tiles, tiles->steps / 2);
    int64_t most = -1;
    int largest = 0;
    for (int a = 0; a < tiles->array_count; a++) {
        dcl_box box = dcli_tiles_needs(tiles, a, &step);
        int64_t bytes =
            tiles->buffers[a] * dcli_box_elements(&box) * (int64_t)dcl_type_bytes(tiles->array[a].grid.type);
        largest = bytes > most ? a : largest;
        most = dcli_max(most, bytes);
    }
    return dcli_loops_plan_fail(run->stream->plan, place_of(run, largest), DCL_ERR_NOMEM, "tile",
                                "call the nest for a part of this array after the other, or use nodes with more memory "
                                "(DCL_QUOTA_BYTES limits it)",
                                "the operation cannot be streamed: its smallest step, of %" PRId64
                                " element%s, needs %" PRId64 " bytes on a node, %" PRId64
                                " of them for %s; nodes may use %" PRId64,
                                dcli_box_elements(&step), dcli_box_elements(&step) == 1 ? "" : "s", tiles->node_bytes,
                                most, name_of(run, largest), run->stream->most_bytes);
}

/* Describe an operation and choose its steps. */
static dcl_status begin_run(struct run *run, dcli_stream *stream, const dcli_loops_call *operation,
                            const dcl_arg args[], const int host_of[])
{
    *run = (struct run){.stream = stream, .operation = operation, .args = args, .host_of = host_of};
    stream->in_bytes = stream->out_bytes = stream->kept_bytes = 0;
    dcl_status status = describe(run);
    if (status == DCL_OK && !dcli_tiles_choose(&run->tiles, stream->node_count, stream->most_bytes, &assumed))
        return refuse_steps(run);
    return status;
}

/* Check an operation, or also run it. */
static dcl_status check_or_run(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                               const int host_of[], bool runs)
{
    if (dcli_box_is_empty(&operation->box))
        return DCL_OK;
    struct run *run = dcli_calloc(1, sizeof *run);
    if (run == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = begin_run(run, stream, operation, args, host_of);
    if (status == DCL_OK && runs) {
        run->ring = dcli_calloc((size_t)(stream->node_count * run->tiles.array_count), sizeof *run->ring);
        status = run->ring != NULL ? run_steps(run) : DCL_ERR_NOMEM;
    }
    if (status == DCL_OK && runs)
        log_choice(run);
    end_run(run);
    return status;
}

dcl_status dcli_stream_check(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                             const int host_of[])
{
    return check_or_run(stream, operation, args, host_of, false);
}

dcl_status dcli_stream_run(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                           const int host_of[])
{
    return check_or_run(stream, operation, args, host_of, true);
}

/* runtime/stream.c - run an operation of a nest in steps. Each node has a few buffers per array: while a step is
 * computed in one of them, the elements of the next step are copied to another, and the results of the step before are
 * copied back. The buffers are arrays on one node, seen through views that have the indices of the program's arrays; so
 * the order of copies and kernels is that of all operations on arrays, and nothing here waits but for the results.
 *
 * What a step has in common with the step before on the same node is copied there, from buffer to buffer. What does not
 * change stays where it is. Steps of an operation are independent: an operation has been verified to have no dependence
 * between its indices, and here arrays that it both writes and reads elsewhere are refused. */
#include "runtime/stream_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/box.h"

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static bool is_cpu(const dcl_cluster *cluster, int node)
{
    return strcmp(dcli_node_device(cluster, node)->kind, "cpu") == 0;
}

int64_t dcli_stream_bytes_of_node(const dcl_cluster *cluster, int node)
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
        there += cluster->lost[n] ? 0 : (double)dcli_stream_bytes_of_node(cluster, n);
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
        stream->most_bytes = dcli_min(stream->most_bytes, dcli_stream_bytes_of_node(stream->cluster, n));
    }
    dcl_map_release(block);
    dcli_stream_name_call();
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

/* ---- operations --------------------------------------------------------------------------------------------------- */

/* Where accesses are noted. */
struct noted {
    const struct run *run;
    dcli_tiles_access *access; /* [DCLI_MAX_ACCESSES] */
    int64_t count;
};

/* Note the accesses to arrays that an operation only reads (a dcli_planned_fn). The lock is held. */
static dcl_status note_accesses(void *user, const dcli_planned *planned)
{
    struct noted *noted = user;
    const struct run *run = noted->run;
    const dcli_operation *operation = planned->operation;
    for (int a = 0; a < operation->body->access_count; a++) {
        int k = operation->body->access[a].param; /* operands and parameters correspond */
        if (k >= run->operation->operand_count || run->array[k] < 0 || run->tiles.array[run->array[k]].writes)
            continue;
        dcli_subscripts base;
        dcli_tiles_access *access = &noted->access[noted->count++];
        access->array = run->array[k];
        dcl_status status = dcli_operation_subscripts(operation, a, &access->subscripts, &base);
        if (status != DCL_OK)
            return status;
    }
    return DCL_OK;
}

static dcl_status find_accesses(const struct run *run, const dcl_arg args[], struct noted *noted)
{
    const dcli_loops_call *operation = run->operation;
    dcl_cluster *cluster = run->stream->cluster;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_forall_planned(cluster, &operation->box, operation->body, DCLI_TEXT_BODY,
                                            operation->operand_count, args, note_accesses, noted);
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

/* Make the counter of a loop an axis of the space of an access.
 * @param later  the same access, if the loop begins one value later: its inner axis is then shorter, and the access
 *               begins elsewhere.
 * @return false: this is not the only difference */
static bool add_axis(dcli_subscripts *access, const dcli_subscripts *later)
{
    dcli_subscripts all = *access;
    int space = access->space_rank, counter = -1;
    if (access->reach != DCLI_REACH_AFFINE || later->reach != DCLI_REACH_AFFINE ||
        later->inner_rank != access->inner_rank)
        return false;
    for (int q = 0; q < access->inner_rank; q++)
        if (later->inner_count[q] != access->inner_count[q]) {
            if (counter >= 0 || later->inner_count[q] != access->inner_count[q] - 1)
                return false;
            counter = q;
        }
    if (counter < 0 && space + access->inner_rank == DCL_MAX_RANK)
        return false;
    all.space_rank++;
    for (int q = counter; q >= 0 && q + 1 < access->inner_rank; q++)
        all.inner_count[q] = access->inner_count[q + 1];
    all.inner_rank -= counter >= 0;
    for (int d = 0; d < access->rank; d++) {
        const dcli_subscript *now = &access->axis[d], *then = &later->axis[d];
        int64_t coef = counter >= 0 ? now->coef[space + counter] : 0, moved;
        if (now->clamped || now->period != 0 || memcmp(now->coef, then->coef, sizeof now->coef) != 0 ||
            __builtin_sub_overflow(then->constant, now->constant, &moved) || moved != coef)
            return false;
        all.axis[d].coef[space] = coef;
        for (int q = 0, n = space + 1; q < access->inner_rank; q++)
            if (q != counter)
                all.axis[d].coef[n++] = now->coef[space + q];
    }
    *access = all;
    return true;
}

/* If the loop that the threads of an operation run last can run in parts, let its counter be the inner axis. */
static dcl_status find_inner(struct run *run)
{
    enum { MOST_AXES = 2 }; /* beside it */
    const dcli_loops_call *operation = run->operation;
    dcl_arg args[DCLI_LOOPS_OPERANDS];
    int bound[2] = {-1, -1};
    for (int k = 0; k < operation->operand_count; k++) {
        args[k] = run->args[k];
        if (operation->operand[k].part > 0)
            bound[operation->operand[k].part - 1] = k;
    }
    int64_t count = 0;
    if (operation->box.rank > MOST_AXES || bound[0] < 0 || bound[1] < 0 ||
        __builtin_sub_overflow(args[bound[1]].value.i, args[bound[0]].value.i, &count) || count < 1)
        return DCL_OK;
    struct noted later = {.run = run, .access = dcli_calloc(DCLI_MAX_ACCESSES, sizeof *later.access)};
    if (later.access == NULL)
        return DCL_ERR_NOMEM;
    run->first = args[bound[0]].value.i++;
    dcl_status status = find_accesses(run, args, &later);
    bool fits = status == DCL_OK && later.count == run->access_count;
    for (int64_t a = 0; a < run->access_count && fits; a++) {
        dcli_subscripts *with = &later.access[a].subscripts, all = run->access[a].subscripts;
        fits = later.access[a].array == run->access[a].array && add_axis(&all, with);
        *with = all;
    }
    if (fits) {
        dcl_box *box = &run->tiles.box;
        memcpy(run->access, later.access, (size_t)later.count * sizeof *later.access);
        box->start[box->rank] = 0;
        box->count[box->rank] = count + 1;
        box->stride[box->rank++] = 1;
        run->tiles.inner = true;
    }
    dcli_free(later.access);
    return status;
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
            const dcl_box *written = &run->operation->box;
            if (tiles->array[a].writes || !tiles->array[b].writes || run->host[a] != run->host[b])
                continue;
            read = dcli_tiles_needs(tiles, a, &tiles->box);
            if (dcli_box_intersect(&read, written, &both))
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
    struct noted noted = {.run = run, .access = run->access};
    dcl_status status = find_accesses(run, run->args, &noted);
    run->access_count = noted.count;
    tiles->access = run->access;
    tiles->access_count = (int)run->access_count;
    if (status == DCL_OK)
        status = find_inner(run);
    run->all = tiles->box;
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

/* Choose how the indices of `tiles` are split: as the speed demands, or as DCL_FAULT does for tests. */
static bool choose(struct run *run, const dcli_tiles_speed *speed)
{
    const dcli_stream *stream = run->stream;
    const char *fault = stream->cluster->fault;
    int64_t parts[3] = {1, 1, 1};
    if (fault != NULL &&
        sscanf(fault, "parts %" SCNd64 " x %" SCNd64 " x %" SCNd64, &parts[0], &parts[1], &parts[2]) > 0) {
        run->measured = true;
        return dcli_tiles_set(&run->tiles, parts, stream->node_count, stream->most_bytes, speed);
    }
    return dcli_tiles_choose(&run->tiles, stream->node_count, stream->most_bytes, speed);
}

/* Choose as choose() does, or, if the operation was split before, the order and the buffers of the same parts. */
static bool choose_again(struct run *run, uint64_t key)
{
    const dcli_stream *stream = run->stream;
    int64_t parts[DCL_MAX_RANK];
    if (dcli_stream_parts_find(stream->cluster, key, stream->node_count, stream->most_bytes, parts) &&
        dcli_tiles_set(&run->tiles, parts, stream->node_count, stream->most_bytes, &run->speed))
        return true;
    if (!choose(run, &run->speed))
        return false;
    dcli_stream_parts_keep(stream->cluster, key, stream->node_count, stream->most_bytes, run->tiles.parts);
    return true;
}

/* Say why not even the steps with the smallest buffers fit: which array needs most. */
static dcl_status refuse_steps(const struct run *run)
{
    const dcli_tiles *tiles = &run->tiles;
    dcl_box step = dcli_tiles_step(tiles, tiles->steps / 2), indices = dcli_tiles_outer(tiles, &step);
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
                                dcli_box_elements(&indices), dcli_box_elements(&indices) == 1 ? "" : "s",
                                tiles->node_bytes, most, name_of(run, largest), run->stream->most_bytes);
}

/* Describe an operation and choose its steps. */
static dcl_status begin_run(struct run *run, dcli_stream *stream, const dcli_loops_call *operation,
                            const dcl_arg args[], const int host_of[])
{
    *run = (struct run){.stream = stream, .operation = operation, .args = args, .host_of = host_of};
    dcl_status status = describe(run);
    if (status != DCL_OK)
        return status;
    uint64_t key = dcli_stream_key(operation, &run->tiles);
    run->measured = dcli_stream_speed_find(stream->cluster, key, &run->speed);
    if (run->measured ? !choose_again(run, key) : !choose(run, &run->speed))
        return refuse_steps(run);
    return status;
}

/* The number of first steps that compute a box, with all parts of the inner axis: the measured ones, and those that
 * complete it. */
static int64_t steps_of_box(const dcli_tiles *tiles)
{
    int64_t row = dcli_tiles_rounds(tiles);
    for (int k = tiles->inner; k < tiles->box.rank && row * tiles->parts[tiles->order[k]] < MEASURED_STEPS; k++)
        row *= tiles->parts[tiles->order[k]];
    return dcli_ceil_div(MEASURED_STEPS, row) * row;
}

/* The boxes that the first steps leave, each split again. */
struct rest {
    int64_t count;
    dcli_tiles *tiles; /* [count] */
};

/* Split the boxes that the first steps leave once more, with the measured speed.
 * @param fits_out  false: a part of one would need more memory than there is, although the steps so far fit. Nothing
 *                  has been changed then. */
static dcl_status split_rest(struct run *run, struct rest *rest, bool *fits_out)
{
    const dcli_tiles before = run->tiles;
    dcl_box first = dcli_tiles_step(&before, 0), last = dcli_tiles_step(&before, steps_of_box(&before) - 1),
            done = dcli_tiles_hull(&first, &last);
    dcli_box_list boxes = {0};
    dcl_status status = dcli_box_subtract(&run->all, &done, &boxes);
    rest->count = status == DCL_OK ? boxes.count : 0;
    if (rest->count > 0 && (rest->tiles = dcli_calloc((size_t)rest->count, sizeof *rest->tiles)) == NULL)
        status = DCL_ERR_NOMEM;
    *fits_out = status == DCL_OK;
    for (int64_t b = 0; b < rest->count && *fits_out; b++) {
        run->tiles.box = boxes.box[b];
        *fits_out = choose(run, &run->speed);
        rest->tiles[b] = run->tiles;
    }
    run->tiles = before;
    dcli_box_list_free(&boxes);
    return status;
}

/* Run the steps that are missing in the box of the first steps, then all other boxes. */
static dcl_status run_rest(struct run *run, const struct rest *rest)
{
    dcl_status status = DCL_OK;
    run->tiles.steps = steps_of_box(&run->tiles);
    if (run->tiles.steps > MEASURED_STEPS)
        status = dcli_stream_run_steps(run, MEASURED_STEPS);
    dcli_stream_end_steps(run);
    for (int64_t b = 0; b < rest->count && status == DCL_OK; b++) {
        run->tiles = rest->tiles[b];
        status = dcli_stream_begin_steps(run);
        if (status == DCL_OK)
            status = dcli_stream_run_steps(run, 0);
        dcli_stream_end_steps(run);
    }
    return status;
}

/* Run all steps; the first ones are measured, unless the speed is known, or there are few. */
static dcl_status run_all(struct run *run)
{
    enum { FEW = 2 * MEASURED_STEPS };
    dcl_status status = dcli_stream_begin_steps(run);
    if (status != DCL_OK)
        return status;
    if (run->measured || run->tiles.steps <= FEW)
        return dcli_stream_run_steps(run, 0);
    dcli_tiles before = run->tiles;
    status = dcli_stream_measure(run, &run->speed);
    if (status != DCL_OK)
        return status;
    dcli_tiles same = run->tiles;
    dcli_tiles_set(&same, before.parts, run->stream->node_count, run->stream->most_bytes, &run->speed);
    bool better = choose(run, &run->speed) && run->tiles.seconds < 0.95 * same.seconds;
    run->tiles = before;
    struct rest rest = {0};
    if (better)
        status = split_rest(run, &rest, &better);
    if (status == DCL_OK)
        status = better ? run_rest(run, &rest) : dcli_stream_run_steps(run, MEASURED_STEPS);
    dcli_free(rest.tiles);
    return status;
}

/* Run an operation alone. */
static dcl_status run_one(struct run *run)
{
    run->stream->in_bytes = run->stream->out_bytes = run->stream->kept_bytes = 0;
    dcl_status status = run_all(run);
    if (status == DCL_OK)
        log_choice(run);
    dcli_stream_end_steps(run);
    return status;
}

/* Run the operations that wait, unless something has failed. */
static dcl_status flush(dcli_stream *stream, dcl_status status)
{
    struct run *run[MOST_WAITING];
    int done = 0, count = stream->waiting_count;
    for (int n = 0; n < count; n++)
        run[n] = &stream->waiting[n]->run;
    if (status == DCL_OK && count > 0)
        status = dcli_stream_run_together(stream, count, run, &done);
    for (int n = done; n < count && status == DCL_OK; n++)
        status = run_one(run[n]);
    for (int n = 0; n < count; n++)
        dcli_free(stream->waiting[n]);
    stream->waiting_count = 0;
    return status;
}

dcl_status dcli_stream_check(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                             const int host_of[])
{
    if (dcli_box_is_empty(&operation->box))
        return DCL_OK;
    struct run *run = dcli_calloc(1, sizeof *run);
    if (run == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = begin_run(run, stream, operation, args, host_of);
    dcli_free(run);
    return status;
}

/* Keep an operation and its arguments. */
static struct waiting *keep(const dcli_loops_call *operation, const dcl_arg args[], const int host_of[])
{
    struct waiting *waiting = dcli_calloc(1, sizeof *waiting);
    if (waiting == NULL)
        return NULL;
    waiting->operation = *operation;
    for (int k = 0; k < operation->operand_count; k++) {
        waiting->args[k] = args[k];
        waiting->host_of[k] = host_of[k];
        if (args[k].name == operation->operand[k].name)
            waiting->args[k].name = waiting->operation.operand[k].name;
    }
    return waiting;
}

dcl_status dcli_stream_run(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                           const int host_of[])
{
    if (dcli_box_is_empty(&operation->box))
        return DCL_OK;
    struct waiting *waiting = keep(operation, args, host_of);
    if (waiting == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = begin_run(&waiting->run, stream, &waiting->operation, waiting->args, waiting->host_of);
    if (status == DCL_OK && dcli_stream_can_join(&waiting->run)) {
        stream->waiting[stream->waiting_count++] = waiting;
        return stream->waiting_count == MOST_WAITING ? flush(stream, status) : DCL_OK;
    }
    status = flush(stream, status);
    if (status == DCL_OK)
        status = run_one(&waiting->run);
    dcli_free(waiting);
    return status;
}

dcl_status dcli_stream_close(dcli_stream *stream, dcl_status status)
{
    char why[DCLI_ERROR_BYTES];
    status = flush(stream, status);
    if (status != DCL_OK) {
        snprintf(why, sizeof why, "%s", dcli_error_sentence()); /* waiting may replace it */
        dcli_stream_collect(stream, INT64_MAX, status);
    } else {
        status = dcli_stream_collect(stream, INT64_MAX, status);
        snprintf(why, sizeof why, "%s", dcli_error_sentence()); /* releasing may replace it */
    }
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
    for (int reads = 0; reads < 2; reads++)
        dcli_free(stream->wanted[reads]);
    dcli_stream_name_call();
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

/* runtime/stream_copy.c - buffers on nodes, and copies between them and the program's memory. */
#include "runtime/stream_inside.h"

#include <dcl/view.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/names.h"
#include "segment/box.h"

/* ---- buffers ------------------------------------------------------------------------------------------------------ */

static int64_t bytes_of_grid(const dcl_grid *grid)
{
    return dcl_grid_count(grid) * (int64_t)dcl_type_bytes(grid->type);
}

/* Release buffers of a node that are not used, so that others can take their place. */
static dcl_status make_room(dcli_stream *stream, int node, int64_t bytes)
{
    dcl_status status = DCL_OK;
    int64_t held = bytes;
    for (const struct buffer *buffer = stream->buffers; buffer != NULL; buffer = buffer->next)
        held += buffer->node == node ? bytes_of_grid(&buffer->grid) : 0;
    if (held > stream->most_bytes)
        status = dcli_stream_collect(stream, INT64_MAX,
                                     status); /* memory is free when the operations that use it have ended */
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
    dcli_stream_name_call();
    return status;
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
    dcl_status status = make_room(stream, node, bytes_of_grid(grid));
    if (status != DCL_OK)
        return status;
    struct buffer *made = dcli_calloc(1, sizeof *made);
    if (made == NULL)
        return DCL_ERR_NOMEM;
    *made = (struct buffer){.grid = *grid, .node = node, .used = true};
    pthread_mutex_lock(&stream->cluster->lock);
    status = dcli_array_make(stream->cluster, grid, stream->map[node], true, &made->array);
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
dcl_status dcli_stream_set_slot(dcli_stream *stream, int node, const dcl_grid *largest, const dcl_box *box,
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
    dcli_stream_name_call();
    slot->box = *box;
    return slot->view != NULL ? DCL_OK : dcli_error_status();
}

/* ---- transfers ---------------------------------------------------------------------------------------------------- */

/* Wait for one of the started transfers and forget it. */
static dcl_status collect_one(dcli_stream *stream, int64_t n, dcl_status status)
{
    int64_t number = stream->started[n].number;
    memmove(&stream->started[n], &stream->started[n + 1],
            (size_t)(--stream->started_count - n) * sizeof *stream->started);
    pthread_mutex_lock(&stream->cluster->lock);
    dcl_status ended = dcli_cluster_end_of(stream->cluster, number, true);
    ended = dcli_cluster_end_call(stream->cluster, ended);
    return status == DCL_OK ? ended : status;
}

/* Wait for the transfers of rounds before `round`; after a failure, too: the memory is then not used any more. */
dcl_status dcli_stream_collect(dcli_stream *stream, int64_t round, dcl_status status)
{
    while (stream->started_count > 0 && stream->started[0].round < round)
        status = collect_one(stream, 0, status);
    return status;
}

/* Wait for the transfers that use the same memory of the program: elements that are read must be there before they are sent
 * again, and sent before they are replaced. */
static dcl_status collect_conflicts(dcli_stream *stream, int host, bool reads, const dcl_box *box)
{
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < stream->started_count && status == DCL_OK;) {
        const struct started *started = &stream->started[n];
        dcl_box both;
        if (started->host == host && (started->reads || reads) && dcli_box_intersect(&started->box, box, &both))
            status = collect_one(stream, n, status);
        else
            n++;
    }
    return status;
}

dcl_status dcli_stream_want(struct run *run, int array, bool reads, dcl_array *view, const dcl_box *box)
{
    dcli_stream *stream = run->stream;
    if (dcli_grow(&stream->wanted[reads], stream->wanted_count[reads], &stream->wanted_capacity[reads],
                  sizeof *stream->wanted[reads]) != 0)
        return DCL_ERR_NOMEM;
    double weight = dcli_tiles_weight(&run->tiles, array, box);
    stream->wanted[reads][stream->wanted_count[reads]++] =
        (struct wanted){.view = view, .host = run->host[array], .box = *box};
    *(reads ? &stream->out_weight : &stream->in_weight) += weight;
    return DCL_OK;
}

/* Start a transfer of a box. */
static dcl_status start(dcli_stream *stream, const struct wanted *wanted, bool reads, const dcl_box *box)
{
    const dcli_host_array *host = &stream->host[wanted->host];
    if (dcli_grow(&stream->started, stream->started_count, &stream->started_capacity, sizeof *stream->started) != 0)
        return DCL_ERR_NOMEM;
    dcl_status status = collect_conflicts(stream, wanted->host, reads, box);
    if (status != DCL_OK)
        return status;
    int64_t strides[DCL_MAX_RANK];
    void *memory = dcli_host_address(host, box, strides);
    dcli_msg_operation descriptor = {.kind = reads ? DCLI_OP_READ : DCLI_OP_WRITE};
    pthread_mutex_lock(&stream->cluster->lock);
    status = dcli_cluster_await_room(stream->cluster);
    if (status == DCL_OK)
        status = dcli_cluster_issue_one(wanted->view, &descriptor, box, true, memory, strides);
    if (status == DCL_OK)
        stream->started[stream->started_count++] = (struct started){
            .number = descriptor.number, .round = stream->round, .host = wanted->host, .reads = reads, .box = *box};
    stream->wrote |= reads;
    *(reads ? &stream->out_bytes : &stream->in_bytes) +=
        dcli_box_elements(box) * (int64_t)dcl_type_bytes(host->grid.type);
    return dcli_cluster_end_call(stream->cluster, status);
}

/* How far the transfers of one direction have been started. */
struct progress {
    int64_t number, rows; /* number of transfers that were started as a whole; rows of the next one */
    int64_t bytes;        /* bytes that were started in all */
};

/* Start the next piece of a direction's transfers. */
static dcl_status start_piece(dcli_stream *stream, bool reads, struct progress *at)
{
    enum { CHUNKS = 3 }; /* chunks of a piece: fewer than are under way at the same time */
    const struct wanted *wanted = &stream->wanted[reads][at->number];
    dcl_box piece = wanted->box;
    int64_t row = dcli_box_elements(&piece) / piece.count[0] *
                  (int64_t)dcl_type_bytes(stream->host[wanted->host].grid.type),
            rows_of_chunk = dcli_max((int64_t)stream->cluster->config.chunk_bytes / row, 1),
            rows = stream->cluster->has_gpus ? CHUNKS * rows_of_chunk : piece.count[0];
    piece.start[0] += at->rows;
    piece.count[0] = dcli_min(rows, piece.count[0] - at->rows);
    dcl_status status = start(stream, wanted, reads, &piece);
    at->bytes += row * piece.count[0];
    at->rows += piece.count[0];
    if (at->rows == wanted->box.count[0]) {
        at->rows = 0;
        at->number++;
    }
    return status;
}

static int64_t bytes_wanted(const dcli_stream *stream, bool reads)
{
    int64_t bytes = 0;
    for (int64_t n = 0; n < stream->wanted_count[reads]; n++) {
        const struct wanted *wanted = &stream->wanted[reads][n];
        bytes += dcli_box_elements(&wanted->box) * (int64_t)dcl_type_bytes(stream->host[wanted->host].grid.type);
    }
    return bytes;
}

dcl_status dcli_stream_start(dcli_stream *stream)
{
    struct progress at[2] = {{0}};
    const double bytes[] = {(double)bytes_wanted(stream, false), (double)bytes_wanted(stream, true)};
    dcl_status status = DCL_OK;
    while (status == DCL_OK) {
        bool in = at[0].number < stream->wanted_count[0], out = at[1].number < stream->wanted_count[1];
        if (!in && !out)
            break;
        bool reads = !in || (out && (double)at[1].bytes * bytes[0] < (double)at[0].bytes * bytes[1]);
        status = start_piece(stream, reads, &at[reads]);
    }
    stream->wanted_count[0] = stream->wanted_count[1] = 0;
    return status;
}

/* Copy what two slots of a node have in common. */
dcl_status dcli_stream_copy_common(struct run *run, int array, const dcl_box *box, dcl_array *from, dcl_array *to)
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

/* runtime/stream_file.c - load and save .npy files by sending elements, for nodes that do not see the files.
 *
 * The file passes through two buffers, stretch by stretch in its own order: while one is read from or written to the
 * file, the elements of the other are sent to or from the nodes. For other threads of the program the whole file is one
 * exclusive call: their calls wait until it has ended. */
#include <stdio.h>

#include "base/alloc.h"
#include "runtime/cluster.h"
#include "store/npy_stream.h"

/* A buffer and the operation that uses it. */
struct stage {
    char *elements;
    dcli_npy_stretch stretch;
    int64_t operation; /* number of the operation that uses the buffer; 0: none */
};

struct stream {
    dcl_array *array;
    dcl_cluster *cluster;
    dcli_npy_stream file;
    struct stage stage[2];
    bool writes; /* an operation that writes the array has been started */
};

/* ---- one call at a time ------------------------------------------------------------------------------------------- */

void dcli_cluster_turn(dcl_cluster *cluster)
{
    dcli_file_use *files = &cluster->files;
    while (files->streaming && !pthread_equal(files->streamer, pthread_self()))
        dcli_cluster_sleep(cluster, cluster->operations + 1);
}

void dcli_cluster_begin_turn(dcl_cluster *cluster)
{
    dcli_cluster_turn(cluster);
    cluster->files.streaming = true;
    cluster->files.streamer = pthread_self();
}

void dcli_cluster_end_turn(dcl_cluster *cluster)
{
    cluster->files.streaming = false;
    pthread_cond_broadcast(&cluster->changed);
}

/* ---- stretches ---------------------------------------------------------------------------------------------------- */

static dcl_status issue(struct stream *stream, dcli_op_kind kind, struct stage *stage)
{
    dcli_msg_operation descriptor = {.kind = kind};
    dcl_status status = dcli_cluster_issue_one(stream->array, &descriptor, &stage->stretch.box, true, stage->elements,
                                               stage->stretch.strides);
    if (status != DCL_OK)
        return status;
    stage->operation = descriptor.number;
    stream->writes |= kind == DCLI_OP_WRITE;
    return DCL_OK;
}

/* Wait for the operation that uses a buffer, if there is one. For writes, wait until every node has its elements, so
 * that an error ends the loading, and at most two buffers are in transit. */
static dcl_status land(struct stream *stream, struct stage *stage, bool host_only)
{
    int64_t operation = stage->operation;
    stage->operation = 0;
    return operation == 0 ? DCL_OK : dcli_cluster_end_of(stream->cluster, operation, host_only);
}

/* Wait for all buffers before they are freed. The first error is kept. */
static dcl_status land_all(struct stream *stream, int first, bool host_only, dcl_status status)
{
    char text[DCLI_ERROR_BYTES] = "";
    for (int n = 0; n < 2; n++) {
        if (status != DCL_OK && text[0] == '\0')
            snprintf(text, sizeof text, "%s", dcl_error());
        dcl_status landed = land(stream, &stream->stage[(first + n) % 2], host_only);
        if (status == DCL_OK)
            status = landed;
    }
    return text[0] != '\0' ? dcli_error_adopt(status, text) : status;
}

/* Use the file without the lock, so that the nodes' messages and other threads are served. */
static dcl_status use_file(struct stream *stream, struct stage *stage, bool writing)
{
    pthread_mutex_unlock(&stream->cluster->lock);
    dcl_status status = writing ? dcli_npy_stream_write(&stream->file, &stage->stretch, stage->elements)
                                : dcli_npy_stream_read(&stream->file, &stage->stretch, stage->elements);
    pthread_mutex_lock(&stream->cluster->lock);
    return status;
}

static dcl_status load_stretches(struct stream *stream)
{
    dcl_status status = DCL_OK;
    int n = 0;
    for (; status == DCL_OK; n = 1 - n) {
        struct stage *stage = &stream->stage[n];
        status = land(stream, stage, false);
        if (status != DCL_OK || !dcli_npy_stream_next(&stream->file, &stage->stretch))
            break;
        status = use_file(stream, stage, false);
        if (status == DCL_OK)
            status = issue(stream, DCLI_OP_WRITE, stage);
    }
    return land_all(stream, n, false, status);
}

static dcl_status save_stretches(struct stream *stream)
{
    dcl_status status = DCL_OK;
    bool more = true;
    int n = 0;
    for (; status == DCL_OK && (more || stream->stage[1 - n].operation != 0); n = 1 - n) {
        struct stage *next = &stream->stage[n], *last = &stream->stage[1 - n];
        more = more && dcli_npy_stream_next(&stream->file, &next->stretch);
        if (more) {
            dcli_partial_rest(stream->array, &next->stretch.box, next->elements, next->stretch.strides);
            status = issue(stream, DCLI_OP_READ, next);
        }
        if (status != DCL_OK || last->operation == 0)
            continue;
        status = land(stream, last, true);
        if (status == DCL_OK)
            dcli_view_repeat(stream->array, &last->stretch.box, last->elements, last->stretch.strides);
        if (status == DCL_OK)
            status = use_file(stream, last, true);
    }
    return land_all(stream, n, true, status);
}

/* ---- whole files -------------------------------------------------------------------------------------------------- */

static dcl_status make_buffers(struct stream *stream)
{
    size_t bytes = (size_t)stream->file.most * dcl_type_bytes(stream->file.info.grid.type);
    for (int n = 0; n < 2 && bytes > 0; n++) {
        stream->stage[n].elements = dcli_malloc(bytes);
        if (stream->stage[n].elements == NULL)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

/* Clear failures before loading. A load replaces the whole array, but its stretches write only parts, which clear
 * neither a failure nor the mark of a stray access; a FILL of the whole array clears both. */
static dcl_status heal(struct stream *stream)
{
    dcl_array *array = stream->array;
    const dcli_storage_state *state = dcli_array_state(array);
    dcl_status status = dcli_cluster_wait(array->cluster, state->last_use, false, -1);
    if (status != DCL_OK || (!dcli_storage_state_failed(state) && !dcli_storage_state_has_strayed(state)))
        return status;
    dcli_msg_operation fill = {.kind = DCLI_OP_FILL};
    status = dcli_cluster_issue_one(array, &fill, NULL, true, NULL, NULL);
    stream->writes |= status == DCL_OK;
    return status == DCL_OK ? dcli_cluster_end_of(array->cluster, fill.number, false) : status;
}

static dcl_status stream_file(dcl_array *array, int fd, const char *path, const dcl_npy_info *info, bool writing)
{
    struct stream stream = {.array = array, .cluster = array->cluster};
    stream.file = dcli_npy_stream_begin(fd, path, info, dcli_array_grid(array)->origin, array->cluster->stretch_bytes);
    dcl_status status = make_buffers(&stream);
    if (status == DCL_OK && !writing)
        status = heal(&stream);
    if (status == DCL_OK)
        status = writing ? save_stretches(&stream) : load_stretches(&stream);
    if (status != DCL_OK && stream.writes)
        dcli_array_spoil(array, status); /* the nodes have only a part of the file, and know of no failure */
    for (int n = 0; n < 2; n++)
        dcli_free(stream.stage[n].elements);
    return status;
}

dcl_status dcli_stream_load(dcl_array *array, int fd, const char *path, const dcl_npy_info *info)
{
    dcli_cluster_begin_turn(array->cluster);
    dcl_status status = stream_file(array, fd, path, info, false);
    dcli_cluster_end_turn(array->cluster);
    return status;
}

dcl_status dcli_stream_save(dcl_array *array, int fd, const char *path, const dcl_npy_info *info)
{
    dcli_cluster_begin_turn(array->cluster);
    dcl_status status = stream_file(array, fd, path, info, true);
    dcli_cluster_end_turn(array->cluster);
    return status;
}

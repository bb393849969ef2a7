/* remote/table.c - the objects that the driver has named by numbers. */
#include <string.h>

#include "remote/inside.h"

#include "base/alloc.h"
#include "base/error.h"

/* With the address sanitizer, none is kept, so that it notices the use of freed blocks. */
#if defined(__SANITIZE_ADDRESS__)
enum { MOST_SPARES = 0 };
#else
enum { MOST_SPARES = 512 };
#endif

/* ---- spares ---- */

void *dcli_spares_take(dcli_spares *spares, size_t bytes)
{
    void *block = spares->first;
    if (block == NULL)
        return dcli_calloc(1, bytes);
    memcpy(&spares->first, block, sizeof spares->first);
    spares->count--;
    return memset(block, 0, bytes);
}

void dcli_spares_give(dcli_spares *spares, void *block)
{
    if (spares->count == MOST_SPARES) {
        dcli_free(block);
        return;
    }
    memcpy(block, &spares->first, sizeof spares->first);
    spares->first = block;
    spares->count++;
}

static void free_spares(dcli_spares *spares)
{
    for (void *block = spares->first, *next; block != NULL; block = next) {
        memcpy(&next, block, sizeof next);
        dcli_free(block);
    }
    *spares = (dcli_spares){0};
}

/* ---- objects ---- */

static dcli_object tombstone; /* marks a place whose object was removed */

static uint64_t place_of(const dcli_remote *remote, int64_t number)
{
    uint64_t hash = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15);
    return (hash >> 32) & (uint64_t)(remote->table_size - 1);
}

dcli_object *dcli_object_find(dcli_remote *remote, int64_t number, dcli_object_kind kind)
{
    if (remote->table_size == 0)
        return NULL;
    for (uint64_t at = place_of(remote, number);; at = (at + 1) & (uint64_t)(remote->table_size - 1)) {
        dcli_object *object = remote->table[at];
        if (object == NULL)
            return NULL;
        if (object != &tombstone && object->number == number && object->kind == kind)
            return object;
    }
}

static bool is_used(const dcli_remote *remote, int64_t number)
{
    for (uint64_t at = place_of(remote, number);; at = (at + 1) & (uint64_t)(remote->table_size - 1)) {
        if (remote->table[at] == NULL)
            return false;
        if (remote->table[at] != &tombstone && remote->table[at]->number == number)
            return true;
    }
}

static void put(dcli_remote *remote, dcli_object *object)
{
    uint64_t at = place_of(remote, object->number);
    while (remote->table[at] != NULL && remote->table[at] != &tombstone)
        at = (at + 1) & (uint64_t)(remote->table_size - 1);
    remote->tomb_count -= remote->table[at] == &tombstone;
    remote->table[at] = object;
}

dcli_object *dcli_object_at(const dcli_remote *remote, int64_t place)
{
    dcli_object *object = remote->table[place];
    return object != &tombstone ? object : NULL;
}

/* Keep at least half of the table empty. */
static dcl_status make_room(dcli_remote *remote)
{
    enum { LEAST = 256 };
    int64_t used = remote->object_count + remote->tomb_count;
    if (remote->table_size > 0 && 2 * (used + 1) <= remote->table_size)
        return DCL_OK;
    int64_t size = LEAST, old_size = remote->table_size;
    while (size < 4 * (remote->object_count + 1))
        size *= 2;
    dcli_object **old = remote->table, **table = dcli_calloc((size_t)size, sizeof(dcli_object *));
    if (table == NULL)
        return DCL_ERR_NOMEM;
    remote->table = table;
    remote->table_size = size;
    remote->tomb_count = 0;
    for (int64_t n = 0; n < old_size; n++)
        if (old[n] != NULL && old[n] != &tombstone)
            put(remote, old[n]);
    dcli_free(old);
    return DCL_OK;
}

dcli_object *dcli_object_make(dcli_remote *remote, int64_t number, dcli_object_kind kind)
{
    if (make_room(remote) != DCL_OK)
        return NULL;
    if (number < 1 || number == DCLI_OUTPUT_TRANSFER || is_used(remote, number)) {
        DCLI_FAIL(DCL_ERR_PROTOCOL, "a new object has the number %lld, which is %s; expected a new one",
                  (long long)number, number < 1 ? "none" : "in use");
        return NULL;
    }
    if (remote->object_count >= DCLI_MOST_REMOTE_OBJECTS) {
        DCLI_FAIL(DCL_ERR_PROTOCOL, "the session has %d OpenCL objects; expected at most as many; release some",
                  DCLI_MOST_REMOTE_OBJECTS);
        return NULL;
    }
    dcli_object *object =
        kind == DCLI_OBJECT_EVENT ? dcli_spares_take(&remote->events, sizeof *object) : dcli_calloc(1, sizeof *object);
    if (object == NULL)
        return NULL;
    object->number = number;
    object->kind = kind;
    object->refs = 1;
    put(remote, object);
    remote->object_count++;
    return object;
}

void dcli_object_remove(dcli_remote *remote, dcli_object *object)
{
    for (uint64_t at = place_of(remote, object->number); remote->table[at] != NULL;
         at = (at + 1) & (uint64_t)(remote->table_size - 1))
        if (remote->table[at] == object) {
            remote->table[at] = &tombstone;
            remote->tomb_count++;
            remote->object_count--;
            dcli_object_drop(remote, object);
            return;
        }
}

dcli_object *dcli_object_hold(dcli_object *object)
{
    if (object != NULL)
        object->refs++;
    return object;
}

void dcli_value_drop(dcli_remote *remote, dcli_value *argument)
{
    if (argument == NULL || --argument->refs > 0)
        return;
    dcli_object_drop(remote, argument->buffer);
    dcli_free(argument);
}

/* Free a queue. It has no tasks left, because tasks hold their queue. */
static void free_queue(dcli_remote *remote, dcli_object *object)
{
    for (dcli_object **at = &remote->queues; *at != NULL; at = &(*at)->queue.next)
        if (*at == object) {
            *at = object->queue.next;
            break;
        }
    dcli_queue_report(remote, object);
    if (object->queue.queue != NULL)
        clReleaseCommandQueue(object->queue.queue);
    dcli_object_drop(remote, object->queue.context);
}

static void free_kernel(dcli_remote *remote, dcli_object *object)
{
    for (int a = 0; a < object->kernel.count; a++) {
        dcli_value_drop(remote, object->kernel.argument[a]);
        dcli_value_drop(remote, object->kernel.applied[a]);
    }
    dcli_free(object->kernel.takes_object);
    dcli_free(object->kernel.argument);
    dcli_free(object->kernel.applied);
    if (object->kernel.kernel != NULL)
        clReleaseKernel(object->kernel.kernel);
}

static void free_transfer(dcli_remote *remote, dcli_object *object)
{
    remote->stored_bytes -= object->transfer.stored ? object->transfer.total : 0;
    remote->held_bytes -= object->transfer.held;
    if (object->transfer.eager > 0)
        remote->peers.eager_bytes -= dcli_max(object->transfer.eager, DCLI_PEER_LEAST);
    if (object->transfer.loan != NULL && atomic_load(&object->transfer.loan->count) == 0)
        dcli_free(object->transfer.loan); /* else the session ends */
    while (object->transfer.first != NULL) {
        dcli_chunk *chunk = object->transfer.first;
        object->transfer.first = chunk->next;
        dcli_chunk_free(remote, chunk);
    }
    while (object->transfer.sent != NULL) {
        dcli_chunk *chunk = object->transfer.sent;
        object->transfer.sent = chunk->next;
        dcli_chunk_free(remote, chunk);
    }
}

void dcli_object_drop(dcli_remote *remote, dcli_object *object)
{
    if (object == NULL || --object->refs > 0)
        return;
    switch (object->kind) {
    case DCLI_OBJECT_BUFFER:
        dcli_buffer_release(remote, object);
        return;
    case DCLI_OBJECT_QUEUE:
        free_queue(remote, object);
        break;
    case DCLI_OBJECT_PROGRAM:
        if (object->program.program != NULL)
            clReleaseProgram(object->program.program);
        dcli_program_free_text(remote, object);
        dcli_object_drop(remote, object->program.context);
        break;
    case DCLI_OBJECT_SUB_DEVICE:
        dcli_sub_device_free(remote, object);
        break;
    case DCLI_OBJECT_CONTEXT:
        dcli_context_free(object);
        break;
    case DCLI_OBJECT_KERNEL:
        free_kernel(remote, object);
        break;
    case DCLI_OBJECT_EVENT:
        if (object->event.real != NULL)
            clReleaseEvent(object->event.real);
        dcli_free(object->event.told);
        dcli_spares_give(&remote->events, object);
        return;
    case DCLI_OBJECT_TRANSFER:
        free_transfer(remote, object);
        break;
    }
    dcli_free(object);
}

void dcli_objects_close(dcli_remote *remote)
{
    for (dcli_object *queue = remote->queues, *next; queue != NULL; queue = next) {
        dcli_object_hold(queue);
        while (queue->queue.first != NULL) {
            dcli_task *task = queue->queue.first;
            queue->queue.first = task->next;
            dcli_task_free(remote, task);
        }
        next = queue->queue.next;
        dcli_object_drop(remote, queue);
    }
    for (int64_t n = 0; n < remote->table_size; n++)
        if (remote->table[n] != NULL && remote->table[n] != &tombstone) {
            dcli_object *object = remote->table[n];
            remote->table[n] = &tombstone;
            dcli_object_drop(remote, object);
        }
    dcli_buffers_release_late(remote, true);
    dcli_free(remote->table);
    remote->table = NULL;
    remote->table_size = 0;
    free_spares(&remote->tasks);
    free_spares(&remote->events);
    free_spares(&remote->completion_memory);
}

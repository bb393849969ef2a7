/* remote/buffer.c - the memory of buffers.
 *
 * A device that works in host memory is given the memory of its buffers, if it uses that memory itself. Then the serving thread
 * can copy contents while the device does nothing, and large contents can be mapped by a driver of the same host. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/check.h"
#include "remote/inside.h"

enum {
    LINE = 128, /* alignment of a buffer that is smaller than a page: that of the largest vector */
    PAGE = 4096,
    HUGE_PAGE = 2 << 20
};

/* ---- devices that work in the memory that they are given ---- */

/* Bytes of the attempt. Not whole pages: some drivers copy such memory, and work only in memory of whole pages. */
enum { TRIED = 100 };

/* Whether the contents of memory and buffer are the same without mapping, in both directions. */
static bool is_one_memory(cl_command_queue queue, cl_mem first, cl_mem second, unsigned char *memory,
                          const unsigned char *other)
{
    const unsigned char pattern = 0xa5, changed = 0x3c;
    if (clEnqueueFillBuffer(queue, first, &pattern, sizeof pattern, 0, TRIED, 0, NULL, NULL) != CL_SUCCESS ||
        clFinish(queue) != CL_SUCCESS)
        return false;
    for (int n = 0; n < TRIED; n++)
        if (memory[n] != pattern)
            return false;
    memset(memory, changed, TRIED);
    return clEnqueueCopyBuffer(queue, first, second, 0, 0, TRIED, 0, NULL, NULL) == CL_SUCCESS &&
           clFinish(queue) == CL_SUCCESS && memcmp(memory, other, TRIED) == 0;
}

static bool try_memory(const dcli_remote *remote)
{
    enum { BUFFERS = 2 };
    void *memory[BUFFERS] = {NULL, NULL};
    cl_mem mem[BUFFERS] = {NULL, NULL};
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(remote->context, remote->device, 0, &code);
    bool made = queue != NULL;
    for (int b = 0; b < BUFFERS && made; b++) {
        made = posix_memalign(&memory[b], LINE, TRIED) == 0;
        if (made)
            mem[b] = clCreateBuffer(remote->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, TRIED,
                                    memset(memory[b], 0, TRIED), &code);
        made = mem[b] != NULL;
    }
    bool one = made && is_one_memory(queue, mem[0], mem[1], memory[0], memory[1]);
    for (int b = 0; b < BUFFERS; b++) {
        if (mem[b] != NULL)
            clReleaseMemObject(mem[b]);
        free(memory[b]);
    }
    if (queue != NULL)
        clReleaseCommandQueue(queue);
    return one;
}

/* Whether the device works in memory that it is given. Only processors are tried: others may share memory with the host and yet
 * have caches of their own, which mapping takes care of. */
static bool works_in_memory(dcli_remote *remote)
{
    cl_device_type type = 0;
    if (!remote->tried) {
        clGetDeviceInfo(remote->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
        remote->tried = true;
        remote->works_in_memory = (type & CL_DEVICE_TYPE_CPU) != 0 && try_memory(remote);
    }
    return remote->in_place && remote->works_in_memory;
}

/* ---- making ---- */

static void free_place(dcli_place *place)
{
    if (place->mappable)
        dcli_buffers_give(place->bytes);
    else
        free(place->bytes);
    dcli_free(place);
}

/* Called by the device's driver when nothing uses a buffer any more. */
static void CL_CALLBACK give_place(cl_mem mem, void *user)
{
    dcli_place *place = user;
    dcli_remote *remote = place->remote;
    (void)mem;
    free_place(place);
    atomic_fetch_sub(&remote->places, 1);
}

/* Memory in large pages, where it is large: kernels and copies look up fewer addresses. @return NULL: there is none. */
static void *take_memory(size_t bytes)
{
    void *memory = NULL;
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : bytes >= PAGE ? PAGE : LINE;
    if (posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    if (bytes >= HUGE_PAGE)
        (void)madvise(memory, bytes - bytes % HUGE_PAGE, MADV_HUGEPAGE); /* without large pages it is only slower */
    return memory;
}

static dcli_place *take_place(dcli_remote *remote, int64_t bytes, bool mappable)
{
    dcli_place *place = dcli_malloc(sizeof *place);
    if (place == NULL)
        return NULL;
    *place = (dcli_place){.remote = remote, .mappable = mappable};
    place->bytes =
        mappable ? dcli_buffers_take_alone(remote->terms.buffers, (size_t)bytes) : take_memory((size_t)bytes);
    if (place->bytes != NULL)
        return place;
    dcli_free(place);
    return NULL;
}

/* Make a buffer in memory of this process. @param mappable  by the driver, so that large transfers are copied once.
 * @return false: it was not made. */
static bool make_in_memory(dcli_remote *remote, dcli_object *object, cl_context context, cl_mem_flags flags,
                           bool mappable)
{
    cl_int status;
    dcli_place *place = take_place(remote, object->bytes, mappable);
    if (place == NULL)
        return false;
    cl_mem mem = clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, (size_t)object->bytes, place->bytes, &status);
    if (mem != NULL && clSetMemObjectDestructorCallback(mem, give_place, place) == CL_SUCCESS) {
        atomic_fetch_add(&remote->places, 1);
        object->buffer.mem = mem;
        object->buffer.place = mappable ? place->bytes : NULL;
        object->buffer.memory = works_in_memory(remote) ? place->bytes : NULL;
        return true;
    }
    if (mem != NULL)
        clReleaseMemObject(mem);
    free_place(place);
    return false;
}

void dcli_buffer_make(dcli_remote *remote, dcli_object *object, cl_context context, cl_mem_flags flags)
{
    bool mappable = remote->terms.shares && remote->in_place && object->bytes >= DCLI_PLACED_BYTES;
    if ((mappable || works_in_memory(remote)) && make_in_memory(remote, object, context, flags, mappable))
        return;
    object->buffer.mem = clCreateBuffer(context, flags, (size_t)object->bytes, NULL, &object->status);
}

/* ---- releasing ---- */

static void release_now(dcli_remote *remote, dcli_object *object)
{
    if (object->buffer.mem != NULL)
        clReleaseMemObject(object->buffer.mem);
    if (object->buffer.parent == NULL && object->status == CL_SUCCESS)
        remote->used_bytes -= object->bytes;
    dcli_object_drop(remote, object->buffer.parent);
    dcli_free(object);
}

bool dcli_buffers_have_room(const dcli_remote *remote, int64_t bytes)
{
    enum { SHARE = 8 }; /* of the device's memory: its driver and other programs need some */
    int64_t memory = (int64_t)(remote->info.memory_bytes - remote->info.memory_bytes / SHARE),
            quota = remote->terms.quota_bytes;
    return bytes <= memory - remote->used_bytes && (quota <= 0 || bytes <= quota - remote->used_bytes);
}

/* Whether the release of a buffer may be put off. On GPUs clReleaseMemObject() waits for the commands that use the buffer, and the serving
 * thread would neither receive messages nor report ends meanwhile. As the memory of these buffers is missing until then, their bytes are
 * limited (decision 191). */
static bool may_be_late(const dcli_remote *remote, const dcli_object *object)
{
    enum { SHARE = 16 }; /* of the device's memory */
    int64_t bytes = object->buffer.parent == NULL ? object->bytes : 0;
    return remote->polls && remote->outstanding > 0 && object->buffer.mem != NULL &&
           bytes <= (int64_t)(remote->info.memory_bytes / SHARE) - remote->late_bytes &&
           dcli_buffers_have_room(remote, 0);
}

void dcli_buffer_release(dcli_remote *remote, dcli_object *object)
{
    if (!may_be_late(remote, object)) {
        release_now(remote, object);
        return;
    }
    object->buffer.submitted = remote->submitted;
    object->buffer.later = NULL;
    remote->late_bytes += object->buffer.parent == NULL ? object->bytes : 0;
    if (remote->late_first == NULL)
        remote->late_last = &remote->late_first;
    *remote->late_last = object;
    remote->late_last = &object->buffer.later;
}

void dcli_buffers_release_late(dcli_remote *remote, bool all)
{
    int64_t ended = all ? INT64_MAX : remote->submitted; /* all up to this number have ended */
    if (remote->late_first == NULL)
        return;
    for (const dcli_object *queue = remote->queues; queue != NULL && !all; queue = queue->queue.next)
        if (queue->queue.oldest != NULL)
            ended = dcli_min(ended, queue->queue.oldest->number - 1);
    while (remote->late_first != NULL && remote->late_first->buffer.submitted <= ended) {
        dcli_object *object = remote->late_first;
        remote->late_first = object->buffer.later;
        remote->late_bytes -= object->buffer.parent == NULL ? object->bytes : 0;
        release_now(remote, object);
    }
}

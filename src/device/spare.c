/* device/spare.c - retains the buffers of freed device memory for reuse.
 * Drivers may wait for all running commands before they free a buffer: NVIDIA's does, even for one of 96 bytes, for as
 * long as kernels are queued. So a buffer is freed only while the device is idle, or if memory is lacking; until then
 * it is retained, and serves the next memory of about its size once no command uses it. */
#include "device/opencl.h"

#include <string.h>

enum {
    LEAST_BYTES = 256,
    EXACT_BYTES = 1 << 20, /* smaller buffers have a power of two of bytes, so that they fit more often */
    MOST_OF_LIMIT = 4      /* times the limit: most bytes retained while the device is busy */
};

/* The size of the buffer to make for memory of `bytes`: rounded up, so that it fits other memory later. */
static size_t size_for(const dcli_device *device, size_t bytes)
{
    size_t size = LEAST_BYTES;
    if (bytes < EXACT_BYTES)
        while (size < bytes)
            size *= 2;
    else
        size = (bytes + EXACT_BYTES - 1) / EXACT_BYTES * EXACT_BYTES;
    return size > device->most_bytes ? bytes : size;
}

static bool is_idle(const dcli_device *device)
{
    for (int n = 0; n < DCLI_QUEUES; n++)
        if (!dcli_queue_is_idle(&device->queue[n]))
            return false;
    return true;
}

/* Whether the commands that used a buffer are known to be complete; does not ask the driver. */
static bool is_unused(const dcli_device *device, const dcli_spare *spare)
{
    for (int n = 0; n < DCLI_QUEUES; n++)
        if (spare->used[n] > device->queue[n].retired && !dcli_queue_is_idle(&device->queue[n]))
            return false;
    return true;
}

static cl_mem remove_spare(dcli_device *device, int n)
{
    cl_mem buffer = device->spare[n].buffer;
    device->spare_bytes -= device->spare[n].bytes;
    device->spare_count--;
    memmove(&device->spare[n], &device->spare[n + 1], (size_t)(device->spare_count - n) * sizeof device->spare[n]);
    return buffer;
}

/* Free the oldest buffers until at most that many bytes are retained. */
static void trim(dcli_device *device, size_t most_bytes)
{
    while (device->spare_bytes > most_bytes)
        clReleaseMemObject(remove_spare(device, 0));
}

/* The smallest unused buffer that has `size` bytes and wastes at most an eighth; -1: none. */
static int find_spare(const dcli_device *device, size_t size)
{
    int best = -1;
    for (int n = 0; n < device->spare_count; n++) {
        const dcli_spare *spare = &device->spare[n];
        if (spare->bytes >= size && spare->bytes - size <= size / 8 &&
            (best < 0 || spare->bytes < device->spare[best].bytes) && is_unused(device, spare))
            best = n;
    }
    return best;
}

/* Whether the device may lack `bytes` of free memory. Some drivers allocate a buffer when it is first used, so
 * they do not say so in time. */
static bool may_lack(const dcli_device *device, size_t bytes)
{
    size_t all = (size_t)device->info.memory_bytes;
    return device->taken_bytes + dcli_device_spare_bytes(device) + bytes > all - all / 16;
}

void dcli_device_rest(dcli_device *device)
{
    dcli_ended_release(device);
    if (is_idle(device))
        trim(device, device->most_pool_bytes);
}

dcl_status dcli_spare_take(dcli_device *device, size_t bytes, cl_mem *buffer_out, size_t *size_out)
{
    size_t size = size_for(device, bytes);
    dcli_device_rest(device);
    int found = find_spare(device, size);
    if (found >= 0) {
        *size_out = device->spare[found].bytes;
        *buffer_out = remove_spare(device, found);
        return DCL_OK;
    }
    if (dcli_device_spare_bytes(device) > 0 && may_lack(device, size))
        dcli_device_drop_spare(device);
    cl_int code;
    cl_mem buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (buffer == NULL && dcli_device_spare_bytes(device) > 0) { /* spare memory may be what is missing */
        dcli_device_drop_spare(device);
        buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    }
    if (buffer == NULL)
        return dcli_cl_fail(device, "clCreateBuffer", code);
    *buffer_out = buffer;
    *size_out = size;
    return DCL_OK;
}

void dcli_spare_give(dcli_device *device, cl_mem buffer, size_t size, const uint64_t used[DCLI_QUEUES])
{
    if (device->lost || size > MOST_OF_LIMIT * device->most_pool_bytes) {
        clReleaseMemObject(buffer);
        return;
    }
    if (device->spare_count == DCLI_MOST_SPARE)
        clReleaseMemObject(remove_spare(device, 0));
    dcli_spare *spare = &device->spare[device->spare_count++];
    *spare = (dcli_spare){.buffer = buffer, .bytes = size};
    memcpy(spare->used, used, sizeof spare->used);
    device->spare_bytes += size;
    trim(device, (is_idle(device) ? 1 : MOST_OF_LIMIT) * device->most_pool_bytes);
}

void dcli_spare_empty(dcli_device *device) { trim(device, 0); }

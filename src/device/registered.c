/* device/registered.c - registers host memory with a device, so that the driver pins its pages.
 *
 * Drivers pin the pages of a buffer made with CL_MEM_USE_HOST_PTR. From then on, transfers between the device and any
 * address of that memory are as fast as those of slots. NVIDIA's driver pins only writable mappings. Commands do not
 * name these buffers, so the driver does not know when the memory is in use; the device's tickets record it. */
#include "device/opencl.h"

#include "base/alloc.h"
#include "base/error.h"

struct dcli_registered {
    const char *host;
    size_t bytes;
    cl_mem pinned; /* NULL: the driver has refused to pin it; it is not asked again */
    uint64_t used[DCLI_QUEUES];
};

/* The memory that contains an address; NULL: none. There are few, and they are looked up once per transfer. */
static dcli_registered *find(const dcli_device *device, const void *host)
{
    for (int64_t n = 0; n < device->registered_count; n++) {
        dcli_registered *memory = &device->registered[n];
        if ((uintptr_t)host - (uintptr_t)memory->host < memory->bytes)
            return memory;
    }
    return NULL;
}

static cl_mem pin(dcli_device *device, void *host, size_t bytes)
{
    cl_int code;
    cl_mem pinned = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, host, &code);
    if (pinned == NULL && !device->registering_failed)
        DCLI_LOG(device->log, DCLI_LOG_WARN,
                 "device %d: %zu bytes of shared memory cannot be registered: clCreateBuffer gave %s (%d); the host "
                 "copies what crosses there",
                 device->info.number, bytes, dcli_cl_name(code), code);
    device->registering_failed |= pinned == NULL;
    return pinned;
}

bool dcli_device_register(dcli_device *device, void *host, size_t bytes, size_t most_bytes)
{
    const dcli_registered *known = find(device, host);
    if (known != NULL)
        return known->pinned != NULL;
    if (device->lost || bytes > most_bytes || device->registered_bytes > most_bytes - bytes ||
        dcli_grow(&device->registered, device->registered_count, &device->registered_capacity,
                  sizeof device->registered[0]) != 0)
        return false;
    cl_mem pinned = pin(device, host, bytes);
    device->registered[device->registered_count++] = (dcli_registered){.host = host, .bytes = bytes, .pinned = pinned};
    device->registered_bytes += pinned != NULL ? bytes : 0;
    return pinned != NULL;
}

static void forget(dcli_device *device, dcli_registered *memory)
{
    if (memory->pinned != NULL) {
        clReleaseMemObject(memory->pinned);
        device->registered_bytes -= memory->bytes;
    }
    *memory = device->registered[--device->registered_count];
}

bool dcli_device_unregister(dcli_device *device, const void *host)
{
    dcli_registered *memory = find(device, host);
    if (memory == NULL)
        return true;
    dcli_tickets_finish(device, memory->used); /* failed commands no longer use it either */
    if (device->lost)
        return false;
    forget(device, memory);
    return true;
}

void dcli_registered_touch(dcli_device *device, const void *host, dcli_direction direction, uint64_t ticket)
{
    dcli_registered *memory = find(device, host);
    if (memory != NULL)
        memory->used[direction] = ticket;
}

void dcli_registered_free(dcli_device *device)
{
    while (device->registered_count > 0)
        forget(device, &device->registered[device->registered_count - 1]);
    dcli_free(device->registered);
}

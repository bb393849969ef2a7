/* device/pool.c - host memory that a device uses in place, kept for reuse.
 * The first write to fresh pages runs at a tenth of the memory's speed, so what is freed is kept, up to a limit, and
 * zeroed when it is taken again, unless the taker overwrites it anyway. */
#include "device/opencl.h"

#include <string.h>

#include "base/memory.h"

/* The smallest kept mapping that holds `bytes` without wasting more than an eighth; -1: none. */
static int find_kept(const dcli_device *device, size_t bytes, bool shared)
{
    int best = -1;
    for (int n = 0; n < device->pool_count; n++) {
        const dcli_mapping *kept = &device->pool[n];
        bool fits = (kept->descriptor >= 0) == shared && kept->bytes >= bytes && kept->bytes - bytes <= bytes / 8;
        if (fits && (best < 0 || kept->bytes < device->pool[best].bytes))
            best = n;
    }
    return best;
}

static dcli_mapping remove_kept(dcli_device *device, int n)
{
    dcli_mapping mapping = device->pool[n];
    device->pool_bytes -= mapping.bytes;
    device->pool_count--;
    memmove(&device->pool[n], &device->pool[n + 1], (size_t)(device->pool_count - n) * sizeof mapping);
    return mapping;
}

dcl_status dcli_mapping_take(dcli_device *device, size_t bytes, int flags, dcli_mapping *mapping_out)
{
    size_t rounded = dcli_pages_round(bytes);
    bool shared = (flags & DCLI_MAPPING_SHARED) != 0;
    int kept = find_kept(device, rounded, shared);
    if (kept < 0)
        return dcli_pages_map(device, rounded, shared, mapping_out);
    *mapping_out = remove_kept(device, kept);
    if (flags & DCLI_MAPPING_ZEROED)
        memset(mapping_out->host, 0, mapping_out->bytes);
    return DCL_OK;
}

/* As much as is in use may be kept, and an eighth more for what is lost by rounding: so the storage that a remap gives back
 * is there for the next one. What is in use shrinks as arrays are released, and what is kept with it. */
static size_t most_kept(const dcli_device *device)
{
    size_t used = device->taken_bytes + device->taken_bytes / 8;
    return used > device->most_pool_bytes ? used : device->most_pool_bytes;
}

/* Unmap the oldest until so many bytes more can be kept. */
static void make_room(dcli_device *device, size_t bytes)
{
    size_t most = most_kept(device);
    while (device->pool_count > 0 && (device->pool_count == DCLI_POOL_REGIONS || device->pool_bytes + bytes > most)) {
        dcli_mapping oldest = remove_kept(device, 0);
        dcli_pages_unmap(&oldest);
    }
}

/* Others need memory, too: much is kept only while more than that is free. */
static bool may_keep(const dcli_device *device, size_t bytes)
{
    size_t kept = device->pool_bytes + bytes;
    return kept <= most_kept(device) && (bytes < DCLI_LARGE_BYTES || kept <= dcli_memory_left());
}

void dcli_mapping_give(dcli_device *device, dcli_mapping *mapping)
{
    if (device->lost)
        return;
    make_room(device, mapping->bytes);
    if (!may_keep(device, mapping->bytes)) {
        dcli_pages_unmap(mapping);
        return;
    }
    device->pool[device->pool_count++] = *mapping;
    device->pool_bytes += mapping->bytes;
}

void dcli_pool_empty(dcli_device *device)
{
    while (device->pool_count > 0) {
        dcli_mapping mapping = remove_kept(device, 0);
        dcli_pages_unmap(&mapping);
    }
}

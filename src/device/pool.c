/* device/pool.c - retain freed host memory for reuse.
 * The first write to fresh pages runs at a tenth of the memory's speed. So freed memory is retained, up to a limit, and
 * zeroed when it is taken again, unless the caller overwrites it anyway. */
#include "device/opencl.h"

#include <string.h>

#include "base/memory.h"

/* Whether a retained mapping has `bytes` and wastes at most an eighth. Peer memory must consist of exactly the pieces
 * needed, because its readers import as many as they need. */
static bool fits(const dcli_mapping *kept, size_t bytes, bool shared)
{
    const dcli_pieces *pieces = kept->pieces;
    if ((kept->descriptor >= 0) != shared || kept->bytes < bytes || kept->bytes - bytes > bytes / 8)
        return false;
    return pieces == NULL || (size_t)pieces->count == (bytes + pieces->bytes - 1) / pieces->bytes;
}

/* The smallest retained mapping that fits; -1: none. */
static int find_kept(const dcli_device *device, size_t bytes, bool shared)
{
    int best = -1;
    for (int n = 0; n < device->pool_count; n++) {
        const dcli_mapping *kept = &device->pool[n];
        if (fits(kept, bytes, shared) && (best < 0 || kept->bytes < device->pool[best].bytes))
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

/* Take memory: small memories from slabs, unless no slab can be made (`ulimit -f` limits memfds, too). @param dirty_out
 * number of bytes at the start that may not be zero. */
static dcl_status take(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out, size_t *dirty_out)
{
    if (bytes < DCLI_HUGE_BYTES && dcli_slab_take(device, bytes, shared, mapping_out, dirty_out) == DCL_OK)
        return DCL_OK;
    int kept = find_kept(device, bytes, shared);
    *dirty_out = kept >= 0 ? device->pool[kept].bytes : 0;
    if (kept < 0)
        return dcli_pages_map(device, bytes, shared, mapping_out);
    *mapping_out = remove_kept(device, kept);
    return DCL_OK;
}

dcl_status dcli_mapping_take(dcli_device *device, size_t bytes, int flags, dcli_mapping *mapping_out)
{
    size_t dirty;
    dcl_status status = take(device, dcli_pages_round(bytes), (flags & DCLI_MAPPING_SHARED) != 0, mapping_out, &dirty);
    if (status == DCL_OK && (flags & DCLI_MAPPING_ZEROED) != 0)
        memset(mapping_out->host, 0, dirty);
    return status;
}

/* Get the limit of retained bytes: 2 1/8 times the bytes in use. A remap may begin before the previous one has ended; then
 * the array has three memories at once. When both remaps have ended, two of the memories are retained, and the next two
 * remaps use them. The eighth is for sizes, which are rounded. When arrays are released, the limit falls. */
static size_t most_kept(const dcli_device *device)
{
    if (device->peers.on) /* no more than this: stages and replicas cannot use GPU memory that is retained */
        return device->most_pool_bytes;
    size_t most = 2 * device->taken_bytes + device->taken_bytes / 8;
    return most > device->most_pool_bytes ? most : device->most_pool_bytes;
}

static bool is_too_much(const dcli_device *device, size_t bytes)
{
    return dcli_pool_bytes(device) + bytes > most_kept(device);
}

static void unmap_oldest(dcli_device *device)
{
    dcli_mapping oldest = remove_kept(device, 0);
    dcli_pages_unmap(device, &oldest);
}

/* Return memory to the system until that many bytes more may be retained. */
static void make_room(dcli_device *device, size_t bytes)
{
    while (is_too_much(device, bytes) && dcli_slab_drop_empty(device))
        ;
    if (is_too_much(device, bytes))
        dcli_slabs_trim(device);
    while (device->pool_count > 0 && (device->pool_count == DCLI_POOL_REGIONS || is_too_much(device, bytes)))
        unmap_oldest(device);
}

/* Whether a large mapping may be retained: only while more memory is free than is retained, because other programs need
 * memory, too. */
static bool may_keep(const dcli_device *device, size_t bytes)
{
    if (is_too_much(device, bytes))
        return false;
    return bytes < DCLI_LARGE_BYTES || device->peers.on || dcli_pool_bytes(device) + bytes <= dcli_memory_left();
}

static void keep(dcli_device *device, const dcli_mapping *mapping)
{
    make_room(device, mapping->bytes);
    if (!may_keep(device, mapping->bytes)) {
        dcli_pages_unmap(device, mapping);
        return;
    }
    device->pool[device->pool_count++] = *mapping;
    device->pool_bytes += mapping->bytes;
}

void dcli_mapping_give(dcli_device *device, dcli_mapping *mapping)
{
    if (device->lost)
        return;
    if (mapping->slab == NULL) {
        keep(device, mapping);
    } else {
        dcli_slab_give(device, mapping);
        make_room(device, 0);
    }
}

void dcli_pool_empty(dcli_device *device)
{
    while (dcli_slab_drop_empty(device))
        ;
    dcli_slabs_trim(device);
    while (device->pool_count > 0)
        unmap_oldest(device);
}

size_t dcli_pool_bytes(const dcli_device *device) { return device->pool_bytes + device->slab_bytes; }

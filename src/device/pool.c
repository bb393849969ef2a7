/* device/pool.c - host memory that a device uses in place: mapped in huge pages, kept for reuse.
 * The first write to fresh pages runs at a tenth of the memory's speed, so what is freed is kept, up to a limit, and
 * zeroed when it is taken again, unless the taker overwrites it anyway. */
#include "device/opencl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

enum { PAGE_BYTES = 4096, HUGE_BYTES = 2 << 20, LARGE_BYTES = 64 << 20 };

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* Bytes the system says can still be had; a large number where it does not say. */
static uint64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return UINT64_MAX;
    char line[128];
    uint64_t kilobytes = 0;
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL)
        found = sscanf(line, "MemAvailable: %" SCNu64 " kB", &kilobytes) == 1;
    fclose(file);
    return found ? kilobytes * 1024 : UINT64_MAX;
}

static dcl_status fail_to_map(const dcli_device *device, size_t bytes, const char *why)
{
    return DCLI_FAIL(
        DCL_ERR_NOMEM,
        "%zu bytes of host memory were asked for on device %d, \"%s\": %s; expected as much to be free; use "
        "smaller arrays or close other programs",
        bytes, device->info.number, device->info.name, why);
}

/* Mapped memory is only promised: a program that later touches more than there is would be killed. So what clearly
 * exceeds the memory that is free is refused here. */
static dcl_status check_available(dcli_device *device, size_t bytes)
{
    if (bytes < LARGE_BYTES)
        return DCL_OK;
    uint64_t available = available_bytes();
    if (bytes > available)
        dcli_pool_empty(device);
    if (bytes <= available || bytes <= (available = available_bytes()))
        return DCL_OK;
    char why[64];
    snprintf(why, sizeof why, "only %" PRIu64 " are free", available);
    return fail_to_map(device, bytes, why);
}

static dcl_status map_pages(dcli_device *device, size_t bytes, dcli_mapping *mapping_out)
{
    dcl_status status = check_available(device, bytes);
    if (status != DCL_OK)
        return status;
    bool huge = bytes >= HUGE_BYTES;
    size_t slack = huge ? HUGE_BYTES : 0; /* to begin at a multiple of a huge page */
    char *at = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return fail_to_map(device, bytes, strerror(errno));
    if (huge) {
        size_t before = round_up((uintptr_t)at, HUGE_BYTES) - (uintptr_t)at;
        if (before > 0)
            munmap(at, before);
        munmap(at + before + bytes, slack - before);
        at += before;
        madvise(at, bytes, MADV_HUGEPAGE); /* a wish: without it the memory is only slower */
    }
    *mapping_out = (dcli_mapping){.host = at, .bytes = bytes};
    return DCL_OK;
}

/* The smallest kept mapping that holds `bytes` without wasting more than an eighth; -1: none. */
static int find_kept(const dcli_device *device, size_t bytes)
{
    int best = -1;
    for (int n = 0; n < device->pool_count; n++) {
        size_t kept = device->pool[n].bytes;
        if (kept >= bytes && kept - bytes <= bytes / 8 && (best < 0 || kept < device->pool[best].bytes))
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

dcl_status dcli_mapping_take(dcli_device *device, size_t bytes, bool zero, dcli_mapping *mapping_out)
{
    if (bytes > SIZE_MAX / 2)
        return fail_to_map(device, bytes, "that is more than a process can address");
    size_t rounded = round_up(bytes, bytes >= HUGE_BYTES ? HUGE_BYTES : PAGE_BYTES);
    int kept = find_kept(device, rounded);
    if (kept < 0)
        return map_pages(device, rounded, mapping_out);
    *mapping_out = remove_kept(device, kept);
    if (zero)
        memset(mapping_out->host, 0, mapping_out->bytes);
    return DCL_OK;
}

void dcli_mapping_give(dcli_device *device, dcli_mapping *mapping)
{
    if (mapping->bytes > device->most_pool_bytes) {
        munmap(mapping->host, mapping->bytes);
        return;
    }
    while (device->pool_count == DCLI_POOL_REGIONS || device->pool_bytes + mapping->bytes > device->most_pool_bytes) {
        dcli_mapping oldest = remove_kept(device, 0);
        munmap(oldest.host, oldest.bytes);
    }
    device->pool[device->pool_count++] = *mapping;
    device->pool_bytes += mapping->bytes;
}

void dcli_pool_empty(dcli_device *device)
{
    while (device->pool_count > 0) {
        dcli_mapping mapping = remove_kept(device, 0);
        munmap(mapping.host, mapping.bytes);
    }
}

/* device/pages.c - host memory from the system, mapped in huge pages where useful. Memory for other processes is in a
 * memfd: it has no name in a file system, so it disappears with its last user. */
#include "device/opencl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { PAGE_BYTES = DCLI_MEMORY_ALIGN };
enum { SPARE_BYTES = 16 << 20 }; /* free memory that small mappings leave for the rest of the process */

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

static dcl_status fail_to_map(const dcli_device *device, size_t bytes, const char *why)
{
    return DCLI_FAIL(
        DCL_ERR_NOMEM,
        "%zu bytes of host memory were asked for on device %d, \"%s\": %s; expected as much to be free; use "
        "smaller arrays or close other programs",
        bytes, device->info.number, device->info.name, why);
}

/* Refuse a mapping that exceeds the free memory; before that, the pool of free blocks is emptied. The system grants
 * mappings without backing them, and would kill a program that later touches too much. Small mappings are not checked
 * until half of the memory that the last check left, but at most DCLI_LARGE_BYTES, has been mapped. */
static dcl_status check_available(dcli_device *device, size_t bytes)
{
    if (bytes < DCLI_LARGE_BYTES && bytes <= device->unseen_bytes) {
        device->unseen_bytes -= bytes;
        return DCL_OK;
    }
    size_t needed = bytes + (bytes < DCLI_LARGE_BYTES ? SPARE_BYTES : 0);
    uint64_t available = dcli_memory_left();
    if (needed > available) {
        dcli_pool_empty(device);
        available = dcli_memory_left();
    }
    if (needed <= available) {
        uint64_t half = (available - bytes) / 2;
        device->unseen_bytes = half < DCLI_LARGE_BYTES ? half : DCLI_LARGE_BYTES;
        return DCL_OK;
    }
    char why[64];
    snprintf(why, sizeof why, "only %" PRIu64 " are free", available);
    device->unseen_bytes = 0;
    return fail_to_map(device, bytes, why);
}

/* Map private memory, aligned to a huge page if it has one. */
static void *map_aligned(size_t bytes, int protection)
{
    size_t slack = bytes >= DCLI_HUGE_BYTES ? DCLI_HUGE_BYTES : 0;
    char *at = mmap(NULL, bytes + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || slack == 0)
        return at;
    size_t before = round_up((uintptr_t)at, DCLI_HUGE_BYTES) - (uintptr_t)at;
    if (before > 0)
        munmap(at, before);
    munmap(at + before + bytes, slack - before);
    return at + before;
}

static dcl_status map_private(const dcli_device *device, size_t bytes, dcli_mapping *mapping_out)
{
    void *at = map_aligned(bytes, PROT_READ | PROT_WRITE);
    if (at == MAP_FAILED)
        return fail_to_map(device, bytes, strerror(errno));
    *mapping_out = (dcli_mapping){.host = at, .bytes = bytes, .descriptor = -1};
    return DCL_OK;
}

static dcl_status fail_to_share(const dcli_device *device, size_t bytes, const char *call)
{
    bool descriptors = errno == EMFILE || errno == ENFILE;
    return DCLI_FAIL(DCL_ERR_NOMEM,
                     "%zu bytes of memory shared with other processes were asked for on device %d, \"%s\": %s: %s; "
                     "expected %s",
                     bytes, device->info.number, device->info.name, call, strerror(errno),
                     descriptors ? "a descriptor for every large array; raise the limit of open files (ulimit -n)"
                                 : "as much memory to be free; use smaller arrays or close other programs");
}

/* Make a memfd, unless few descriptors are left. */
static int make_frugally(void)
{
    int descriptor = memfd_create("dcl-part", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0 || dcli_descriptor_may_stay(descriptor))
        return descriptor;
    close(descriptor);
    errno = EMFILE;
    return -1;
}

/* Make a memfd. If no descriptor is left, return the retained memory to the system, which closes its descriptors,
 * and try again. */
static int make_memfd(dcli_device *device)
{
    int descriptor = make_frugally();
    if (descriptor < 0 && (errno == EMFILE || errno == ENFILE)) {
        dcli_pool_empty(device);
        descriptor = make_frugally();
    }
    return descriptor;
}

/* Seal a memfd: its size, because a reader in another process would be killed if pages were removed, and, if the system
 * supports it, against later writable mappings. */
static bool seal(int descriptor)
{
    fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

/* Unmap memory after a call has failed. @return the call, with its errno. */
static const char *fail_mapped(void *at, size_t bytes, const char *call)
{
    int code = errno;
    munmap(at, bytes);
    errno = code;
    return call;
}

/* Size, map and seal a memfd. @return the call that failed, with errno; or NULL. */
static const char *map_memfd(int descriptor, size_t bytes, bool sparse, void **host_out)
{
    const char *call = dcli_memory_size(descriptor, bytes);
    if (call != NULL)
        return call;
    void *room = map_aligned(bytes, PROT_NONE);
    if (room == MAP_FAILED)
        return "mmap";
    void *at = mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
    if (at == MAP_FAILED)
        return fail_mapped(room, bytes, "mmap");
    if (!sparse)
        dcli_memory_make_huge(descriptor, at, bytes);
    if (!sparse && (call = dcli_memory_reserve(descriptor, 0, bytes)) != NULL)
        return fail_mapped(at, bytes, call);
    if (!seal(descriptor))
        return fail_mapped(at, bytes, "fcntl");
    *host_out = at;
    return NULL;
}

static dcl_status map_shared(dcli_device *device, size_t bytes, bool sparse, dcli_mapping *mapping_out)
{
    int descriptor = make_memfd(device);
    if (descriptor < 0)
        return fail_to_share(device, bytes, "memfd_create");
    void *at;
    const char *call = map_memfd(descriptor, bytes, sparse, &at);
    if (call != NULL) {
        dcl_status status = fail_to_share(device, bytes, call);
        close(descriptor);
        return status;
    }
    *mapping_out =
        (dcli_mapping){.host = at, .bytes = bytes, .descriptor = descriptor, .number = ++device->memfds_made};
    return DCL_OK;
}

void dcli_pages_unmap(dcli_device *device, const dcli_mapping *mapping)
{
    for (int n = 0; mapping->descriptor >= 0 && device->unmapped != NULL &&
                    n < (mapping->pieces != NULL ? mapping->pieces->count : 1);
         n++)
        /* The callback may still pass the descriptor on. */
        device->unmapped(device->unmapped_user, mapping->number + n);
    if (mapping->pieces != NULL) {
        dcli_peers_unmap(device, mapping);
        return;
    }
    munmap(mapping->host, mapping->bytes);
    if (mapping->descriptor >= 0)
        close(mapping->descriptor);
}

size_t dcli_pages_round(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return SIZE_MAX; /* too large: dcli_pages_map() refuses it */
    return round_up(bytes, bytes >= DCLI_HUGE_BYTES ? DCLI_HUGE_BYTES : PAGE_BYTES);
}

dcl_status dcli_pages_map(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out)
{
    if (bytes > SIZE_MAX / 2)
        return fail_to_map(device, bytes, "that is more than a process can address");
    if (device->peers.on)
        return dcli_peers_map(device, bytes, mapping_out);
    dcl_status status = check_available(device, bytes);
    if (status == DCL_OK)
        status = shared ? map_shared(device, bytes, false, mapping_out) : map_private(device, bytes, mapping_out);
    if (status == DCL_OK && bytes >= DCLI_HUGE_BYTES)
        madvise(mapping_out->host, bytes, MADV_HUGEPAGE); /* optional: without huge pages the memory is only slower */
    return status;
}

dcl_status dcli_pages_map_sparse(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out)
{
    if (device->peers.on)
        return dcli_peers_map(device, bytes, mapping_out);
    if (shared)
        return map_shared(device, bytes, true, mapping_out);
    dcl_status status = map_private(device, bytes, mapping_out);
    if (status == DCL_OK)
        madvise(mapping_out->host, bytes, MADV_NOHUGEPAGE); /* otherwise the first small array would take a huge page */
    return status;
}

dcl_status dcli_pages_back(dcli_device *device, const dcli_mapping *mapping, size_t offset, size_t bytes)
{
    if (mapping->pieces != NULL)
        return DCL_OK; /* it has all of its memory */
    dcl_status status = check_available(device, bytes);
    if (status != DCL_OK || mapping->descriptor < 0)
        return status;
    const char *call = dcli_memory_reserve(mapping->descriptor, offset, bytes);
    return call == NULL ? DCL_OK : fail_to_share(device, bytes, call);
}

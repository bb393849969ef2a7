/* device/slab.c - small memories share mappings: they are slots in slabs, so that thousands of arrays need few
 * descriptors and few mappings. Slots are whole pages, placed as near to the start of a slab as they fit; pages beyond
 * the highest slot used so far are not allocated. Memory shared with other processes and private memory use separate
 * slabs. */
#include "device/opencl.h"

#include <sys/mman.h>

#include "base/alloc.h"

enum {
    PAGE_BYTES = DCLI_MEMORY_ALIGN,
    SLAB_BYTES = DCLI_SLAB_BYTES,
    SLAB_PAGES = SLAB_BYTES / PAGE_BYTES,
    WORD_PAGES = 64
};

struct dcli_slab {
    dcli_mapping pages;
    size_t used_bytes; /* bytes of slots in use */
    size_t
        backed_bytes; /* bytes from the start that have pages: those that have ever been part of a slot; of peer memory all */
    uint64_t in_use[SLAB_PAGES / WORD_PAGES]; /* a bit per page */
    size_t longest;                           /* upper bound of the longest run of free pages */
    dcli_slab *next;
};

/* The first run of `count` free pages; SLAB_PAGES: there is none. */
static size_t find_free(const dcli_slab *slab, size_t count)
{
    size_t run = 0;
    for (size_t page = 0; page < SLAB_PAGES && run < count;) {
        uint64_t word = slab->in_use[page / WORD_PAGES];
        bool whole = page % WORD_PAGES == 0;
        if (whole && (word == 0 || word == UINT64_MAX)) {
            run = word == 0 ? run + WORD_PAGES : 0;
            page += WORD_PAGES;
        } else {
            run = (word >> page % WORD_PAGES & 1) == 0 ? run + 1 : 0;
            page++;
        }
        if (run >= count)
            return page - run;
    }
    return SLAB_PAGES;
}

static void mark(dcli_slab *slab, size_t first, size_t count, bool in_use)
{
    for (size_t page = first; page < first + count; page++) {
        uint64_t bit = UINT64_C(1) << page % WORD_PAGES;
        slab->in_use[page / WORD_PAGES] =
            in_use ? slab->in_use[page / WORD_PAGES] | bit : slab->in_use[page / WORD_PAGES] & ~bit;
    }
}

static bool is_in_use(const dcli_slab *slab, size_t page)
{
    return (slab->in_use[page / WORD_PAGES] >> page % WORD_PAGES & 1) != 0;
}

static dcl_status add_slab(dcli_device *device, bool shared, dcli_slab **slab_out)
{
    dcli_slab *slab = dcli_calloc(1, sizeof *slab), **last = &device->slabs;
    if (slab == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_pages_map_sparse(device, SLAB_BYTES, shared, &slab->pages);
    if (status != DCL_OK) {
        dcli_free(slab);
        return status;
    }
    slab->longest = SLAB_PAGES;
    slab->backed_bytes = slab->pages.pieces != NULL ? SLAB_BYTES : 0;
    device->slab_bytes += slab->backed_bytes;
    while (*last != NULL)
        last = &(*last)->next;
    *last = slab;
    *slab_out = slab;
    return DCL_OK;
}

/* The oldest slab with that many consecutive free pages, so that the newest slabs become empty. */
static dcl_status find_slab(dcli_device *device, size_t count, bool shared, dcli_slab **slab_out, size_t *first_out)
{
    for (dcli_slab *slab = device->slabs; slab != NULL; slab = slab->next) {
        if ((slab->pages.descriptor >= 0) != shared || slab->longest < count)
            continue;
        *first_out = find_free(slab, count);
        *slab_out = slab;
        if (*first_out < SLAB_PAGES)
            return DCL_OK;
        slab->longest = count - 1;
    }
    *first_out = 0;
    return add_slab(device, shared, slab_out);
}

dcl_status dcli_slab_take(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out, size_t *dirty_out)
{
    dcli_slab *slab;
    size_t first, count = bytes / PAGE_BYTES;
    dcl_status status = find_slab(device, count, shared, &slab, &first);
    if (status != DCL_OK)
        return status;
    size_t offset = first * PAGE_BYTES, end = offset + bytes, backed = slab->backed_bytes;
    mark(slab, first, count, true);
    slab->used_bytes += bytes;
    if (end > backed && (status = dcli_pages_back(device, &slab->pages, backed, end - backed)) != DCL_OK) {
        mark(slab, first, count, false);
        slab->used_bytes -= bytes;
        return status;
    }
    slab->backed_bytes = end > backed ? end : backed;
    device->slab_bytes += slab->backed_bytes - backed;
    device->slab_bytes -= bytes;
    *mapping_out = slab->pages;
    if (slab->pages.host != NULL)
        mapping_out->host = (char *)slab->pages.host + offset;
    mapping_out->bytes = bytes;
    mapping_out->offset = offset;
    mapping_out->slab = slab;
    *dirty_out = backed > offset ? (backed < end ? backed : end) - offset : 0;
    return DCL_OK;
}

void dcli_slab_give(dcli_device *device, const dcli_mapping *mapping)
{
    dcli_slab *slab = mapping->slab;
    mark(slab, mapping->offset / PAGE_BYTES, mapping->bytes / PAGE_BYTES, false);
    slab->used_bytes -= mapping->bytes;
    slab->longest = SLAB_PAGES;
    device->slab_bytes += mapping->bytes;
}

bool dcli_slab_drop_empty(dcli_device *device)
{
    for (dcli_slab **at = &device->slabs; *at != NULL; at = &(*at)->next) {
        dcli_slab *slab = *at;
        if (slab->used_bytes > 0)
            continue;
        *at = slab->next;
        device->slab_bytes -= slab->backed_bytes;
        dcli_pages_unmap(device, &slab->pages);
        dcli_free(slab);
        return true;
    }
    return false;
}

/* Release pages beyond the last slot in use. Pages of a memfd stay: the write seal forbids punching holes. */
void dcli_slabs_trim(dcli_device *device)
{
    for (dcli_slab *slab = device->slabs; slab != NULL; slab = slab->next) {
        size_t end = slab->backed_bytes;
        while (end > 0 && !is_in_use(slab, end / PAGE_BYTES - 1))
            end -= PAGE_BYTES;
        if (slab->pages.descriptor >= 0 || end == slab->backed_bytes)
            continue;
        if (madvise((char *)slab->pages.host + end, slab->backed_bytes - end, MADV_DONTNEED) != 0)
            continue; /* locked memory keeps its pages and their contents */
        device->slab_bytes -= slab->backed_bytes - end;
        slab->backed_bytes = end;
    }
}

/* Unmap all slabs. If the device is lost, its slots are in use for ever. */
void dcli_slabs_close(dcli_device *device)
{
    while (dcli_slab_drop_empty(device))
        ;
    while (device->slabs != NULL) {
        dcli_slab *slab = device->slabs;
        device->slabs = slab->next;
        dcli_free(slab);
    }
}

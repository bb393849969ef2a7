/* net/buffers.c - a pool of buffers in size classes of powers of two, bounded in bytes.
 * Shared buffers lie in regions. A large buffer has a region of its own, with its header in a private page before it.
 * Small buffers lie side by side in slabs, each after its header, which other processes can read but not write. */
#include "net/buffers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/shared_memory.h"

enum {
    LEAST_SHIFT = 12,
    CLASSES = 40,
    HEADER_BYTES = 64,
    SLAB_BYTES = 2 << 20,
    ALONE = CLASSES, /* class of a buffer whose region is unmapped when it is returned */
    SLAB_CLASSES = 7 /* buffers of up to 256 KB share a region; for larger ones an extra page for the header costs
                        little */
};
/* Most bytes of free buffers that a pool retains. Regions that others register are costly to make: there it is twice
 * what a receiver requests ahead (64 MB). */
static const size_t most_kept_bytes = (size_t)64 << 20, most_kept_registered_bytes = (size_t)128 << 20;

/* The header before the bytes of a buffer. */
struct header {
    dcli_buffers *owner;
    struct header *next;
    struct region *region; /* region that contains the buffer; NULL: it is private memory of this process */
    int class;
};

struct region {
    uint64_t number;
    dcli_sealed memory;
    int class;
    int slots, carved, used; /* slots are carved off in order, so that no page is touched before it is used */
    struct region *next;     /* next of the list of regions that are being unmapped */
};

struct dcli_buffers {
    pthread_mutex_t lock; /* guards the fields up to `last_region`, and the contents of free buffers and regions */
    struct header *kept[CLASSES];
    size_t kept_bytes;
    bool shared, others_write;
    bool (*drop)(void *user, const void *bytes); /* dcli_buffers_on_drop(); set by the only thread that returns
                                                    buffers */
    void *drop_user;
    struct region **region; /* [region_count] all regions */
    int64_t region_count, region_capacity;
    struct region *slab[SLAB_CLASSES]; /* the slab that may have slots left to carve; NULL: none */
    uint64_t last_region;
    _Atomic uint64_t dropped;
    atomic_size_t bytes;
};

static size_t bytes_of(int class) { return (size_t)1 << (LEAST_SHIFT + class); }

dcli_buffers *dcli_buffers_open(void)
{
    dcli_buffers *buffers = dcli_calloc(1, sizeof *buffers);
    if (buffers != NULL)
        pthread_mutex_init(&buffers->lock, NULL);
    return buffers;
}

dcli_buffers *dcli_buffers_open_shared(void)
{
    dcli_buffers *buffers = dcli_buffers_open();
    if (buffers != NULL)
        buffers->shared = true;
    return buffers;
}

void dcli_buffers_let_write(dcli_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    buffers->others_write = true;
    pthread_mutex_unlock(&buffers->lock);
}

void dcli_buffers_on_drop(dcli_buffers *buffers, bool (*drop)(void *user, const void *bytes), void *user)
{
    pthread_mutex_lock(&buffers->lock);
    buffers->drop = drop;
    buffers->drop_user = user;
    pthread_mutex_unlock(&buffers->lock);
}

void dcli_buffers_close(dcli_buffers *buffers)
{
    if (buffers == NULL)
        return;
    for (int c = 0; c < CLASSES; c++)
        while (!buffers->shared && buffers->kept[c] != NULL) {
            struct header *header = buffers->kept[c];
            buffers->kept[c] = header->next;
            free(header);
        }
    for (int64_t r = 0; r < buffers->region_count; r++) {
        dcli_sealed_close(&buffers->region[r]->memory);
        dcli_free(buffers->region[r]);
    }
    dcli_free(buffers->region);
    pthread_mutex_destroy(&buffers->lock);
    dcli_free(buffers);
}

/* ---- regions: all with the lock held ------------------------------------------------------------------------------ */

static struct region *add_region(dcli_buffers *buffers, int class, size_t bytes)
{
    bool slab = class < SLAB_CLASSES, writable = class == ALONE || (buffers->others_write && !slab);
    if (dcli_grow(&buffers->region, buffers->region_count, &buffers->region_capacity, sizeof buffers->region[0]) != 0)
        return NULL;
    struct region *region = dcli_calloc(1, sizeof *region);
    if (region == NULL)
        return NULL;
    if (dcli_sealed_make(bytes, writable ? DCLI_SEALED_WRITABLE : DCLI_SEALED_READABLE, &region->memory) != DCL_OK) {
        dcli_free(region);
        return NULL;
    }
    region->class = class;
    region->slots = slab ? (int)(SLAB_BYTES / (HEADER_BYTES + bytes_of(class))) : 1;
    atomic_fetch_add_explicit(&buffers->bytes, region->memory.length, memory_order_relaxed);
    region->number = ++buffers->last_region;
    buffers->region[buffers->region_count++] = region;
    return region;
}

static struct header *carve(dcli_buffers *buffers, int class, size_t bytes)
{
    struct region *region = class < SLAB_CLASSES ? buffers->slab[class] : NULL;
    if (class < SLAB_CLASSES)
        bytes = SLAB_BYTES;
    if (region == NULL && (region = add_region(buffers, class, bytes)) == NULL)
        return NULL;
    unsigned char *at = class < SLAB_CLASSES
                            ? region->memory.bytes + (size_t)region->carved * (HEADER_BYTES + bytes_of(class))
                            : region->memory.bytes - HEADER_BYTES;
    region->carved++;
    if (class < SLAB_CLASSES)
        buffers->slab[class] = region->carved < region->slots ? region : NULL;
    struct header *header = (struct header *)at;
    header->region = region;
    return header;
}

/* Find a region none of whose buffers is in use. */
static struct region *find_idle(const dcli_buffers *buffers)
{
    for (int64_t r = 0; r < buffers->region_count; r++)
        if (buffers->region[r]->used == 0)
            return buffers->region[r];
    return NULL;
}

/* Remove a region from the pool. The caller unmaps it. */
static void remove_region(dcli_buffers *buffers, struct region *region)
{
    struct header **at = region->class != ALONE ? &buffers->kept[region->class] : NULL;
    while (at != NULL && *at != NULL)
        if ((*at)->region == region) {
            *at = (*at)->next;
            buffers->kept_bytes -= bytes_of(region->class);
        } else
            at = &(*at)->next;
    if (region->class < SLAB_CLASSES && buffers->slab[region->class] == region)
        buffers->slab[region->class] = NULL;
    for (int64_t r = 0; r < buffers->region_count; r++)
        if (buffers->region[r] == region)
            buffers->region[r] = buffers->region[--buffers->region_count];
    atomic_fetch_sub_explicit(&buffers->bytes, region->memory.length, memory_order_relaxed);
    atomic_fetch_add_explicit(&buffers->dropped, 1, memory_order_release);
}

/* Unmap regions that were removed from the pool, unless `drop` refuses. Without the lock: `drop` may call a driver. */
static void unmap_regions(dcli_buffers *buffers, struct region *first)
{
    for (struct region *region = first, *next; region != NULL; region = next) {
        next = region->next;
        if (buffers->drop == NULL || buffers->drop(buffers->drop_user, region->memory.bytes))
            dcli_sealed_close(&region->memory);
        dcli_free(region);
    }
}

/* ---- taking and giving -------------------------------------------------------------------------------------------- */

static struct header *take_header(dcli_buffers *buffers, int class)
{
    pthread_mutex_lock(&buffers->lock);
    struct header *header = buffers->kept[class];
    if (header != NULL) {
        buffers->kept[class] = header->next;
        buffers->kept_bytes -= bytes_of(class);
    } else if (buffers->shared)
        header = carve(buffers, class, bytes_of(class));
    if (header != NULL && header->region != NULL)
        header->region->used++;
    pthread_mutex_unlock(&buffers->lock);
    if (header != NULL || buffers->shared)
        return header;
    header = aligned_alloc(HEADER_BYTES, HEADER_BYTES + bytes_of(class));
    if (header != NULL) {
        header->region = NULL;
        atomic_fetch_add_explicit(&buffers->bytes, HEADER_BYTES + bytes_of(class), memory_order_relaxed);
    }
    return header;
}

void *dcli_buffers_take(dcli_buffers *buffers, size_t bytes)
{
    int class = 0;
    while (class < CLASSES && bytes_of(class) < bytes)
        class ++;
    struct header *header = class < CLASSES ? take_header(buffers, class) : NULL;
    if (header == NULL) {
        if (!buffers->shared || class == CLASSES) /* otherwise the failing call has recorded its error */
            DCLI_FAIL(DCL_ERR_NOMEM,
                      "out of memory: %zu bytes for data on its way; set DCL_POOL_BYTES to less, or use smaller "
                      "arrays",
                      bytes);
        return NULL;
    }
    header->owner = buffers;
    header->next = NULL;
    header->class = class;
    return (char *)header + HEADER_BYTES;
}

void *dcli_buffers_take_alone(dcli_buffers *buffers, size_t bytes)
{
    if (!buffers->shared) {
        DCLI_FAIL(DCL_ERR_UNSUPPORTED, "the pool of buffers is private; expected a shared one; report this");
        return NULL;
    }
    pthread_mutex_lock(&buffers->lock);
    struct header *header = carve(buffers, ALONE, bytes);
    if (header != NULL)
        header->region->used++;
    pthread_mutex_unlock(&buffers->lock);
    if (header == NULL)
        return NULL;
    header->owner = buffers;
    header->next = NULL;
    header->class = ALONE;
    return (char *)header + HEADER_BYTES;
}

static void free_private(dcli_buffers *buffers, struct header *header)
{
    atomic_fetch_sub_explicit(&buffers->bytes, HEADER_BYTES + bytes_of(header->class), memory_order_relaxed);
    free(header);
}

static void give_shared(dcli_buffers *buffers, struct header *header)
{
    struct region *idle, *dropped = NULL;
    pthread_mutex_lock(&buffers->lock);
    header->region->used--;
    if (header->class == ALONE) {
        dropped = header->region;
        remove_region(buffers, dropped);
        dropped->next = NULL;
    } else {
        header->next = buffers->kept[header->class];
        buffers->kept[header->class] = header;
        buffers->kept_bytes += bytes_of(header->class);
    }
    size_t most_bytes = buffers->others_write ? most_kept_registered_bytes : most_kept_bytes;
    while (buffers->kept_bytes > most_bytes && (idle = find_idle(buffers)) != NULL) {
        remove_region(buffers, idle);
        idle->next = dropped;
        dropped = idle;
    }
    pthread_mutex_unlock(&buffers->lock);
    unmap_regions(buffers, dropped);
}

void dcli_buffers_give(void *buffer)
{
    if (buffer == NULL)
        return;
    struct header *header = (struct header *)((char *)buffer - HEADER_BYTES);
    dcli_buffers *buffers = header->owner;
    if (header->region != NULL) {
        give_shared(buffers, header);
        return;
    }
    size_t bytes = bytes_of(header->class);
    pthread_mutex_lock(&buffers->lock);
    bool keep = buffers->kept_bytes + bytes <= most_kept_bytes;
    if (keep) {
        header->next = buffers->kept[header->class];
        buffers->kept[header->class] = header;
        buffers->kept_bytes += bytes;
    }
    pthread_mutex_unlock(&buffers->lock);
    if (!keep)
        free_private(buffers, header);
}

size_t dcli_buffers_bytes(const dcli_buffers *buffers)
{
    return atomic_load_explicit(&buffers->bytes, memory_order_relaxed);
}

/* ---- where they lie ----------------------------------------------------------------------------------------------- */

bool dcli_buffers_find(dcli_buffers *buffers, const void *bytes, size_t length, dcli_buffers_place *place_out)
{
    uintptr_t at = (uintptr_t)bytes;
    bool found = false;
    pthread_mutex_lock(&buffers->lock);
    for (int64_t r = 0; r < buffers->region_count && !found; r++) {
        const struct region *region = buffers->region[r];
        uintptr_t start = (uintptr_t)region->memory.bytes;
        found = at >= start && at - start < region->memory.length && length <= region->memory.length - (at - start);
        if (found)
            *place_out =
                (dcli_buffers_place){region->number, region->memory.length, at - start, region->memory.descriptor};
    }
    pthread_mutex_unlock(&buffers->lock);
    return found;
}

bool dcli_buffers_has(dcli_buffers *buffers, uint64_t number)
{
    bool found = false;
    pthread_mutex_lock(&buffers->lock);
    for (int64_t r = 0; r < buffers->region_count && !found; r++)
        found = buffers->region[r]->number == number;
    pthread_mutex_unlock(&buffers->lock);
    return found;
}

uint64_t dcli_buffers_dropped(const dcli_buffers *buffers)
{
    return atomic_load_explicit(&buffers->dropped, memory_order_acquire);
}

/* worker/address_table.c - the address table: for each storage and node, where kernels of this process find the node's
 * part. */
#include "worker/address_table.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

struct entry {
    int64_t storage;
    int node;
    dcli_memory_place place; /* where the part lies: its address here, or its place in peer memory; neither: it
                                cannot be read here */
    size_t bytes;
    struct memory *memory;  /* memory of another process that contains the part; NULL: memory of this process */
    struct memory **pieces; /* [place.piece_count] for peer memory of another process: its allocations up to the end of
                               the part, beginning with `memory`; else NULL */
    int *descriptors;       /* [place.piece_count] descriptors of the allocations in `pieces` */
    struct entry *next;
};

/* Memory of another process: mapped, or one allocation of peer memory. */
struct memory {
    int node;
    int64_t memfd;
    void *address; /* where it is mapped here; NULL: it could not be mapped, or it is peer memory, which is not
                      mapped */
    size_t bytes;
    int descriptor; /* descriptor of peer memory; -1: this is not peer memory */
    int64_t parts;  /* number of parts in it */
    bool ended;     /* its owner has freed it: unmap it when the table has no part in it any more */
    struct memory *next;
};

enum { BUCKETS = 1024 };

struct dcli_address_table {
    pthread_mutex_t lock; /* guards the fields below */
    struct entry *bucket[BUCKETS];
    struct memory *memory[BUCKETS]; /* by the number of the memory at its owner */
};

static struct entry **bucket_of(dcli_address_table *addresses, int64_t storage)
{
    return &addresses->bucket[dcli_hash_word(DCLI_HASH_START, (uint64_t)storage) % BUCKETS];
}

static struct memory **memories_of(dcli_address_table *addresses, int64_t memfd)
{
    return &addresses->memory[(uint64_t)memfd % BUCKETS];
}

static struct memory *find_memory(dcli_address_table *addresses, int node, int64_t memfd)
{
    struct memory *memory = *memories_of(addresses, memfd);
    while (memory != NULL && (memory->memfd != memfd || memory->node != node))
        memory = memory->next;
    return memory;
}

static void free_memory(dcli_address_table *addresses, struct memory *memory)
{
    struct memory **at = memories_of(addresses, memory->memfd);
    while (*at != memory)
        at = &(*at)->next;
    *at = memory->next;
    if (memory->address != NULL)
        munmap(memory->address, memory->bytes);
    if (memory->descriptor >= 0)
        close(memory->descriptor);
    dcli_free(memory);
}

/* Number of memory objects that contain a part: several if its peer memory consists of several allocations. */
static int count_memories(const struct entry *entry)
{
    return entry->memory == NULL ? 0 : entry->pieces == NULL ? 1 : entry->place.piece_count;
}

static struct memory *memory_of(const struct entry *entry, int n)
{
    return entry->pieces != NULL ? entry->pieces[n] : entry->memory;
}

static void free_entry(dcli_address_table *addresses, struct entry *entry)
{
    for (int n = 0; n < count_memories(entry); n++) {
        struct memory *memory = memory_of(entry, n);
        if (--memory->parts == 0 && memory->ended)
            free_memory(addresses, memory);
    }
    dcli_free(entry->pieces);
    dcli_free(entry->descriptors);
    dcli_free(entry);
}

dcli_address_table *dcli_address_table_open(void)
{
    dcli_address_table *addresses = dcli_calloc(1, sizeof *addresses);
    if (addresses != NULL)
        pthread_mutex_init(&addresses->lock, NULL);
    return addresses;
}

void dcli_address_table_close(dcli_address_table *addresses)
{
    if (addresses == NULL)
        return;
    for (int b = 0; b < BUCKETS; b++)
        for (struct entry *entry = addresses->bucket[b], *next; entry != NULL; entry = next) {
            next = entry->next;
            free_entry(addresses, entry);
        }
    for (int b = 0; b < BUCKETS; b++)
        while (addresses->memory[b] != NULL)
            free_memory(addresses, addresses->memory[b]);
    pthread_mutex_destroy(&addresses->lock);
    dcli_free(addresses);
}

static struct entry *find(dcli_address_table *addresses, int64_t storage, int node)
{
    struct entry *entry = *bucket_of(addresses, storage);
    while (entry != NULL && (entry->storage != storage || entry->node != node))
        entry = entry->next;
    return entry;
}

static dcl_status put(dcli_address_table *addresses, const struct entry *contents)
{
    struct entry *fresh = dcli_malloc(sizeof *fresh);
    if (fresh == NULL)
        return DCL_ERR_NOMEM;
    *fresh = *contents;
    pthread_mutex_lock(&addresses->lock);
    bool again = find(addresses, fresh->storage, fresh->node) != NULL;
    struct entry **bucket = bucket_of(addresses, fresh->storage);
    fresh->next = *bucket;
    if (!again)
        *bucket = fresh;
    for (int n = 0; !again && n < count_memories(fresh); n++)
        memory_of(fresh, n)->parts++;
    pthread_mutex_unlock(&addresses->lock);
    if (!again)
        return DCL_OK;
    dcli_free(fresh);
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "node %d shows its part of storage %" PRId64 " again", contents->node,
                     contents->storage);
}

dcl_status dcli_address_table_put(dcli_address_table *addresses, int64_t storage, int node,
                                  const dcli_memory_place *place, size_t bytes)
{
    return put(addresses, &(struct entry){.storage = storage, .node = node, .place = *place, .bytes = bytes});
}

/* Find the memory objects that contain a part. Sets *missing_out if one of them was not announced, or is not peer
 * memory. The lock is held. */
static dcl_status find_pieces(dcli_address_table *addresses, const dcli_msg_part *part, struct entry *entry,
                              bool *missing_out)
{
    int64_t count = (part->offset + part->bytes - 1) / part->piece_bytes + 1;
    entry->descriptors = dcli_malloc((size_t)count * sizeof *entry->descriptors);
    entry->pieces = dcli_malloc((size_t)count * sizeof *entry->pieces);
    if (entry->descriptors == NULL || entry->pieces == NULL)
        return DCL_ERR_NOMEM;
    *missing_out = false;
    for (int64_t n = 0; n < count && !*missing_out; n++) {
        struct memory *memory = find_memory(addresses, entry->node, part->memfd + n);
        *missing_out = memory == NULL || memory->descriptor < 0;
        entry->pieces[n] = memory;
        entry->descriptors[n] = *missing_out ? -1 : memory->descriptor;
    }
    entry->place.piece_count = (int)count;
    entry->place.piece_bytes = (size_t)part->piece_bytes;
    entry->place.descriptors = entry->descriptors;
    return DCL_OK;
}

/* Add a part. Only the calling thread adds and ends memories, so a memory found here stays. */
dcl_status dcli_address_table_put_part(dcli_address_table *addresses, int node, const dcli_msg_part *part)
{
    enum { MOST_PIECES = 1 << 16 };
    struct entry entry = {.storage = part->storage, .node = node, .bytes = (size_t)part->bytes};
    bool missing = false;
    dcl_status status = DCL_OK;
    pthread_mutex_lock(&addresses->lock);
    entry.memory = find_memory(addresses, node, part->memfd);
    if (entry.memory->descriptor < 0) {
        entry.place.host = (char *)entry.memory->address + part->offset;
    } else {
        entry.place = (dcli_memory_place){
            .memfd = part->memfd, .descriptor = entry.memory->descriptor, .offset = (size_t)part->offset};
        missing = part->piece_bytes == 0 || part->offset > INT64_MAX - part->bytes ||
                  (part->offset + part->bytes) / part->piece_bytes >= MOST_PIECES;
        if (!missing)
            status = find_pieces(addresses, part, &entry, &missing);
    }
    pthread_mutex_unlock(&addresses->lock);
    if (status == DCL_OK && !missing)
        status = put(addresses, &entry);
    if (status != DCL_OK || missing) {
        dcli_free(entry.pieces);
        dcli_free(entry.descriptors);
    }
    return status; /* a part with a missing allocation cannot be read; this was reported when the allocation could
                      not be received */
}

dcl_status dcli_address_table_add_memory(dcli_address_table *addresses, int node, int64_t memfd, void *address,
                                         size_t bytes, int descriptor)
{
    struct memory *memory = dcli_malloc(sizeof *memory);
    if (memory == NULL)
        return DCL_ERR_NOMEM;
    *memory =
        (struct memory){.node = node, .memfd = memfd, .address = address, .bytes = bytes, .descriptor = descriptor};
    pthread_mutex_lock(&addresses->lock);
    bool again = find_memory(addresses, node, memfd) != NULL;
    struct memory **first = memories_of(addresses, memfd);
    memory->next = *first;
    if (!again)
        *first = memory;
    pthread_mutex_unlock(&addresses->lock);
    if (!again)
        return DCL_OK;
    dcli_free(memory);
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "node %d shows memory %" PRId64 " again", node, memfd);
}

bool dcli_address_table_find_memory(dcli_address_table *addresses, int node, int64_t memfd, void **address_out,
                                    size_t *bytes_out)
{
    pthread_mutex_lock(&addresses->lock);
    const struct memory *memory = find_memory(addresses, node, memfd);
    if (memory != NULL) {
        *address_out = memory->address;
        *bytes_out = memory->bytes;
    }
    pthread_mutex_unlock(&addresses->lock);
    return memory != NULL;
}

static void end(dcli_address_table *addresses, struct memory *memory)
{
    memory->ended = true;
    if (memory->parts == 0)
        free_memory(addresses, memory);
}

void dcli_address_table_end_memory(dcli_address_table *addresses, int node, int64_t memfd)
{
    pthread_mutex_lock(&addresses->lock);
    struct memory *one = memfd != 0 ? find_memory(addresses, node, memfd) : NULL;
    if (one != NULL)
        end(addresses, one);
    for (int b = 0; b < BUCKETS && memfd == 0; b++)
        for (struct memory *memory = addresses->memory[b], *next; memory != NULL; memory = next) {
            next = memory->next;
            if (memory->node == node)
                end(addresses, memory);
        }
    pthread_mutex_unlock(&addresses->lock);
}

bool dcli_address_table_get(dcli_address_table *addresses, int64_t storage, int node, size_t bytes,
                            dcli_memory_place *place_out)
{
    pthread_mutex_lock(&addresses->lock);
    const struct entry *entry = find(addresses, storage, node);
    bool found = entry != NULL && entry->bytes >= bytes && (entry->place.host != NULL || entry->place.memfd != 0);
    if (found) {
        *place_out = entry->place;
        place_out->owner = node;
    }
    pthread_mutex_unlock(&addresses->lock);
    return found;
}

static bool has_ended(const struct entry *entry)
{
    for (int n = 0; n < count_memories(entry); n++)
        if (memory_of(entry, n)->ended)
            return true;
    return false;
}

/* Remove the part of a node (-1: of all nodes) of a storage; `ended`: only if its memory has ended. */
static void drop(dcli_address_table *addresses, int64_t storage, int node, bool ended)
{
    pthread_mutex_lock(&addresses->lock);
    for (struct entry **at = bucket_of(addresses, storage); *at != NULL;) {
        struct entry *entry = *at;
        if (entry->storage == storage && (node < 0 || entry->node == node) && (!ended || has_ended(entry))) {
            *at = entry->next;
            free_entry(addresses, entry);
        } else {
            at = &entry->next;
        }
    }
    pthread_mutex_unlock(&addresses->lock);
}

void dcli_address_table_drop(dcli_address_table *addresses, int64_t storage, int node)
{
    drop(addresses, storage, node, false);
}

void dcli_address_table_drop_ended(dcli_address_table *addresses, int64_t storage)
{
    drop(addresses, storage, -1, true);
}

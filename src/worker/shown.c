/* worker/shown.c - announces this node's memory to peers of its host, remembers which peers know it, and takes their
 * announcements. */
#include "worker/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/search.h"
#include "worker/stealing.h"
#include "worker/tree.h"

/* ---- showing ------------------------------------------------------------------------------------------------------ */

/* Memory of this node in which a part lies, or lay, that was announced to others. */
struct dcli_shown {
    int64_t memfd;
    int descriptor; /* owned by the device; valid while the entry is listed */
    bool *to;       /* [node_count] nodes that know it */
};

static bool has_smaller_memfd(const void *shown, int64_t i, int64_t memfd)
{
    return ((const struct dcli_shown *)shown)[i].memfd < memfd;
}

/* Position of a memfd in the sorted list. Numbers increase, so a new one is last. */
static int64_t place_of(const dcli_as_node *own, int64_t memfd)
{
    return dcli_lower_bound(own->shown, own->shown_count, memfd, has_smaller_memfd);
}

static struct dcli_shown *find_shown(const dcli_worker *worker, int64_t memfd)
{
    const dcli_as_node *own = worker->as_node;
    int64_t at = place_of(own, memfd);
    return at < own->shown_count && own->shown[at].memfd == memfd ? &own->shown[at] : NULL;
}

/* Add a memfd to the list. @return NULL: DCL_ERR_NOMEM. */
static struct dcli_shown *add_shown(dcli_worker *worker, const dcli_memory_place *place)
{
    dcli_as_node *own = worker->as_node;
    if (dcli_grow(&own->shown, own->shown_count, &own->shown_capacity, sizeof *own->shown) != 0)
        return NULL;
    bool *to = dcli_calloc((size_t)worker->terms.node_count, sizeof *to);
    if (to == NULL)
        return NULL;
    int64_t at = place_of(own, place->memfd);
    struct dcli_shown *shown = &own->shown[at];
    memmove(shown + 1, shown, (size_t)(own->shown_count - at) * sizeof *shown);
    own->shown_count++;
    *shown = (struct dcli_shown){place->memfd, place->descriptor, to};
    return shown;
}

static void remove_shown(dcli_as_node *own, struct dcli_shown *shown)
{
    dcli_free(shown->to);
    own->shown_count--;
    memmove(shown, shown + 1, (size_t)(own->shown + own->shown_count - shown) * sizeof *shown);
}

/* Find the descriptor for a message that is about to be sent. If the memory has been freed meanwhile, so were all parts
 * in it, and peers need no descriptor. */
static int find_descriptor(void *user, int64_t memfd)
{
    const struct dcli_shown *shown = find_shown(user, memfd);
    return shown != NULL ? shown->descriptor : -1;
}

static dcl_status show(dcli_worker *worker, struct dcli_shown *shown, int node, const dcli_message *message)
{
    if (shown->to[node])
        return dcli_endpoint_send(worker->endpoint, node, message, NULL);
    /* Lend the descriptor to the message instead of duplicating it: many messages may wait, because a node that
     * compiles receives nothing for seconds. */
    dcli_descriptor_loan loan = {find_descriptor, worker, shown->memfd};
    dcl_status status = dcli_endpoint_send_lent(worker->endpoint, node, message, &loan);
    shown->to[node] = status == DCL_OK;
    return status;
}

static bool reads_here(const dcli_worker *worker, int node)
{
    const dcli_node_ways *ways = worker->terms.ways;
    return node != worker->terms.self && !worker->gone[node] &&
           dcli_way_between(&ways[node], &ways[worker->terms.self]) == DCLI_WAY_PLACE;
}

/* Announce memory to a node. @param place  the memory of a part, or one of the several allocations of a part. */
static dcl_status show_place(dcli_worker *worker, int node, const dcli_memory_place *place, const dcli_message *message)
{
    struct dcli_shown *shown = find_shown(worker, place->memfd);
    if (shown == NULL && (shown = add_shown(worker, place)) == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = show(worker, shown, node, message);
    return status == DCL_ERR_NETWORK ? DCL_OK : status; /* NETWORK: this peer is gone */
}

/* Nodes of this process find parts in the address table. They are recorded as readers only to be told when the memory
 * is freed. */
static dcl_status note_readers(dcli_worker *worker, const dcli_memory_place *place)
{
    struct dcli_shown *shown = find_shown(worker, place->memfd);
    if (shown != NULL)
        return DCL_OK;
    if ((shown = add_shown(worker, place)) == NULL)
        return DCL_ERR_NOMEM;
    for (int node = 0; node < worker->terms.node_count; node++)
        shown->to[node] = reads_here(worker, node);
    return DCL_OK;
}

/* Announce a part to a node. */
static dcl_status show_part(dcli_worker *worker, int node, const dcli_known_storage *held)
{
    dcli_memory_place place;
    dcl_status status = DCL_OK;
    if (!dcli_memory_place_of(held->memory, &place))
        return DCL_OK;
    dcli_message message = {.kind = DCLI_MSG_PART,
                            .epoch = worker->terms.session,
                            .part = {.storage = held->id,
                                     .bytes = (int64_t)dcli_memory_bytes(held->memory),
                                     .memfd = place.memfd,
                                     .offset = (int64_t)place.offset,
                                     .piece_bytes = (int64_t)place.piece_bytes}};
    for (int piece = place.piece_count - 1; piece > 0 && status == DCL_OK; piece--) {
        dcli_memory_place one = {.memfd = place.memfd + piece, .descriptor = place.descriptors[piece]};
        message.part.memfd = one.memfd;
        message.part.piece = piece;
        status = show_place(worker, node, &one, &message);
    }
    message.part.memfd = place.memfd;
    message.part.piece = 0;
    return status == DCL_OK ? show_place(worker, node, &place, &message) : status;
}

/* Append a part to the list of parts to announce. If the list is full, entries of released storages are dropped first. */
static dcl_status list_part(dcli_worker *worker, int64_t storage)
{
    dcli_as_node *own = worker->as_node;
    dcli_part_list *parts = &own->parts;
    int64_t kept = 0;
    if (parts->told == NULL &&
        (parts->told = dcli_calloc((size_t)worker->terms.node_count, sizeof *parts->told)) == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t n = 0; parts->count == parts->capacity && n < parts->count; n++)
        if (dcli_storage_table_find(&worker->catalog.storage_table, parts->part[n].storage) != NULL)
            parts->part[kept++] = parts->part[n];
    if (parts->count == parts->capacity)
        parts->count = kept;
    if (dcli_grow(&parts->part, parts->count, &parts->capacity, sizeof *parts->part) != 0)
        return DCL_ERR_NOMEM;
    parts->part[parts->count++] = (dcli_listed_part){.number = ++parts->last, .storage = storage};
    return DCL_OK;
}

static bool has_smaller_number(const void *parts, int64_t i, int64_t number)
{
    return ((const dcli_listed_part *)parts)[i].number < number;
}

dcl_status dcli_show_parts(dcli_worker *worker, int node)
{
    const dcli_part_list *parts = &worker->as_node->parts;
    dcl_status status = DCL_OK;
    if (parts->told == NULL || parts->told[node] == parts->last || !reads_here(worker, node))
        return DCL_OK;
    int64_t n = dcli_lower_bound(parts->part, parts->count, parts->told[node] + 1, has_smaller_number);
    for (; n < parts->count && status == DCL_OK; n++) {
        const dcli_known_storage *held =
            dcli_storage_table_find(&worker->catalog.storage_table, parts->part[n].storage);
        if (held != NULL && held->memory != NULL)
            status = show_part(worker, node, held);
    }
    if (status == DCL_OK)
        parts->told[node] = parts->last;
    return status;
}

dcl_status dcli_show_part(dcli_worker *worker, const dcli_known_storage *held)
{
    dcli_memory_place place;
    if (!dcli_memory_place_of(held->memory, &place))
        return DCL_OK;
    if (!worker->terms.is_process)
        return note_readers(worker, &place);
    dcl_status status = list_part(worker, held->id);
    for (int node = 0; !dcli_tree_is(worker) && node < worker->terms.node_count && status == DCL_OK; node++)
        status = dcli_show_parts(worker, node);
    return status;
}

/* Tell peers that the device has freed a memfd or peer memory. If there is no memory for the message, a peer keeps it
 * until the session ends. */
static void tell_unmapped(void *user, int64_t memfd)
{
    dcli_worker *worker = user;
    struct dcli_shown *shown = find_shown(worker, memfd);
    if (shown == NULL)
        return;
    dcli_message message = {.kind = DCLI_MSG_FORGET, .epoch = worker->terms.session, .forget = {.memfd = memfd}};
    for (int node = 0; node < worker->terms.node_count; node++)
        if (shown->to[node] && !worker->gone[node])
            dcli_endpoint_send(worker->endpoint, node, &message, NULL);
    remove_shown(worker->as_node, shown);
}

void dcli_show_begin(dcli_worker *worker) { dcli_device_on_unmap(worker->as_node->device, tell_unmapped, worker); }

void dcli_show_end(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    dcli_device_on_unmap(own->device, NULL, NULL);
    for (int64_t n = 0; n < own->shown_count; n++)
        dcli_free(own->shown[n].to);
    dcli_free(own->shown);
    dcli_free(own->parts.part);
    dcli_free(own->parts.told);
    own->parts = (dcli_part_list){0};
    own->shown = NULL;
    own->shown_count = own->shown_capacity = 0;
}

/* ---- parts of other nodes ----------------------------------------------------------------------------------------- */

/* Record memory that cannot be mapped here, and log the reason. Operations that read parts in it fail; other parts can
 * be read. */
static dcl_status add_unseen(dcli_worker *worker, const dcli_received *received, const char *why)
{
    DCLI_LOG(worker->terms.log, DCLI_LOG_WARN,
             "node %d cannot read the part of storage %" PRId64 " on node %d: %s; raise the limit of open files "
             "(`ulimit -n`), or use fewer arrays",
             worker->terms.self, received->message.part.storage, received->from, why);
    return dcli_address_table_add_memory(worker->terms.addresses, received->from, received->message.part.memfd, NULL, 0,
                                         -1);
}

/* Map a peer's memory. The sender is untrusted, so the memory must be sealed against shrinking. */
static dcl_status map_memory(dcli_worker *worker, const dcli_received *received)
{
    const dcli_msg_part *part = &received->message.part;
    struct stat about;
    int seals = fcntl(received->descriptor, F_GET_SEALS);
    if (fstat(received->descriptor, &about) != 0 || about.st_size < part->bytes || seals < 0 ||
        (seals & F_SEAL_SHRINK) == 0)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "node %d shows a part of storage %" PRId64 " that is not memory of %" PRId64 " bytes",
                         received->from, part->storage, part->bytes);
    size_t bytes = (size_t)about.st_size;
    void *address = mmap(NULL, bytes, PROT_READ, MAP_SHARED, received->descriptor, 0);
    if (address == MAP_FAILED)
        return add_unseen(worker, received, strerror(errno));
    dcl_status status =
        dcli_address_table_add_memory(worker->terms.addresses, received->from, part->memfd, address, bytes, -1);
    if (status != DCL_OK)
        munmap(address, bytes);
    return status;
}

/* Store the descriptor of GPU memory; it is imported when a kernel first reads it. */
static dcl_status keep_descriptor(dcli_worker *worker, const dcli_received *received)
{
    int descriptor = fcntl(received->descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor >= 0 && !dcli_descriptor_may_stay(descriptor)) {
        close(descriptor);
        descriptor = -1;
    }
    if (descriptor < 0)
        return add_unseen(worker, received, "no descriptor is free for it");
    dcl_status status = dcli_address_table_add_memory(worker->terms.addresses, received->from,
                                                      received->message.part.memfd, NULL, SIZE_MAX, descriptor);
    if (status != DCL_OK)
        close(descriptor);
    return status;
}

static dcl_status take_memory(dcli_worker *worker, const dcli_received *received)
{
    if (received->descriptor_missing)
        return add_unseen(worker, received, "no descriptor is free for it");
    if (!received->has_descriptor)
        return DCL_OK;
    bool peers = worker->as_node != NULL && dcli_device_reads_peers(worker->as_node->device);
    return peers ? keep_descriptor(worker, received) : map_memory(worker, received);
}

dcl_status dcli_take_part(dcli_worker *worker, const dcli_received *received)
{
    const dcli_msg_part *part = &received->message.part;
    dcl_status status = take_memory(worker, received);
    if (status != DCL_OK || part->piece > 0)
        return status;
    const dcli_known_storage *held = dcli_storage_table_find(&worker->catalog.storage_table, part->storage);
    if (part->storage <= worker->catalog.storage_table.last_created && held == NULL)
        return DCL_OK; /* the storage was released here in the meantime */
    if (held != NULL && (size_t)part->bytes < dcli_known_storage_bytes(held, received->from))
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "node %d shows %" PRId64 " bytes of storage %" PRId64 "; expected %zu, its part of it",
                         received->from, part->bytes, part->storage, dcli_known_storage_bytes(held, received->from));
    void *address;
    size_t bytes;
    if (!dcli_address_table_find_memory(worker->terms.addresses, received->from, part->memfd, &address, &bytes))
        return DCL_OK; /* freed before its descriptor was sent: the part is released, too */
    if (bytes == 0)
        return DCL_OK; /* it could not be mapped here, as the log said when it was announced */
    if ((size_t)part->offset > bytes || (size_t)part->bytes > bytes - (size_t)part->offset ||
        part->offset % DCLI_MEMORY_SHIFT != 0)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "node %d shows %" PRId64 " bytes from byte %" PRId64
                         " on, of memory of %zu bytes, as its part of "
                         "storage %" PRId64 "; expected a multiple of %d, and bytes of it",
                         received->from, part->bytes, part->offset, bytes, part->storage, DCLI_MEMORY_SHIFT);
    return dcli_address_table_put_part(worker->terms.addresses, received->from, part);
}

/* A released array is kept here while batches may be borrowed that read it. Nobody lends these any more once its owner has
 * freed its part: then unmap the part, so that the system gets its pages back. */
void dcli_drop_freed_parts(dcli_worker *worker)
{
    const dcli_stealing *stealing = worker->as_node->stealing;
    if (stealing == NULL || stealing->borrowed != NULL || !worker->terms.is_process)
        return; /* what is borrowed may be of a lost node, whose memory is mapped until then */
    for (const dcli_entry *entry = worker->catalog.entries.kept_first; entry != NULL; entry = entry->next)
        if (entry->operation.kind == DCLI_OP_RELEASE)
            dcli_address_table_drop_ended(worker->terms.addresses, entry->held[0]->id);
}

dcl_status dcli_take_forget(dcli_worker *worker, int from, const dcli_msg_forget *forget)
{
    dcli_address_table_end_memory(worker->terms.addresses, from, forget->memfd);
    dcli_device_end_imports(worker->as_node->device, from, forget->memfd);
    dcli_drop_freed_parts(worker);
    return DCL_OK;
}

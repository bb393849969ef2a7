/* worker/pinned.c - decides whether the memory of a message is pinned for this node's device, and registers it with the
 * device. */
#include "worker/pinned.h"

#include "worker/process_data.h"

static bool has_own_memory(const dcli_worker *worker)
{
    return worker->as_node != NULL && !dcli_device_in_place(worker->as_node->device);
}

/* Whether this node and a peer both map the memory of payloads, and DCL_TRANSFER allows its use. The host has no entry
 * in the table of ways: for it this node's own ability decides. */
static bool shares(const dcli_worker *worker, int peer)
{
    const dcli_node_ways *ways = worker->terms.ways, *self = &ways[worker->terms.self];
    return peer == worker->terms.node_count ? (self->can & DCLI_CAN_SHARE) != 0 : dcli_ways_share(self, &ways[peer]);
}

static bool registers(dcli_worker *worker, void *region, size_t bytes)
{
    const size_t least = (size_t)256 << 20, pool = worker->terms.config->pool_bytes; /* least: a few windows */
    return dcli_device_register(worker->as_node->device, region, bytes, pool > least ? pool : least);
}

bool dcli_pinned_has(dcli_worker *worker, int peer, void *buffer, size_t bytes)
{
    dcli_buffers_place place;
    return worker->terms.is_process && has_own_memory(worker) && shares(worker, peer) &&
           dcli_buffers_find(worker->terms.buffers, buffer, bytes, &place) &&
           registers(worker, (char *)buffer - place.offset, place.region_bytes);
}

void *dcli_pinned_take(dcli_worker *worker, int peer, size_t bytes)
{
    if (!worker->terms.is_process || !shares(worker, peer))
        return NULL;
    void *buffer = dcli_buffers_take(worker->terms.buffers, bytes);
    if (buffer != NULL && dcli_pinned_has(worker, peer, buffer, bytes))
        return buffer;
    dcli_buffers_give(buffer);
    return NULL;
}

/* Between threads: whether the payload still lies in the slot into which the sender's device wrote it. */
static bool is_in_slot(const dcli_worker *worker, const dcli_stored_chunk *chunk)
{
    const dcli_process_data *process_data = worker->process_data;
    int peer = chunk->peer;
    return peer < worker->terms.node_count && peer < process_data->peers && process_data->device[peer] != NULL &&
           shares(worker, peer) && dcli_slot_at(process_data->device[peer], chunk->received.payload) != NULL;
}

bool dcli_pinned_chunk(dcli_worker *worker, const dcli_stored_chunk *chunk)
{
    void *region;
    size_t bytes;
    if (!has_own_memory(worker))
        return false;
    if (!worker->terms.is_process)
        return is_in_slot(worker, chunk);
    return shares(worker, chunk->peer) && dcli_received_region(&chunk->received, &region, &bytes) &&
           registers(worker, region, bytes);
}

void dcli_pinned_let_write(const dcli_worker *worker)
{
    bool wanted = false;
    for (int n = 0; n < worker->terms.node_count && worker->terms.is_process; n++)
        wanted |= n != worker->terms.self && (worker->terms.ways[n].can & DCLI_CAN_REGISTER) != 0;
    if (wanted)
        dcli_buffers_let_write(worker->terms.buffers);
}

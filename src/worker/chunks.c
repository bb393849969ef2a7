/* worker/chunks.c - a hash table of chunks. */
#include "worker/chunks.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "net/buffers.h"

enum { BUCKETS = 256 };

static uint64_t bucket_of(int peer, int64_t operation, bool written, int64_t number)
{
    uint64_t hash = dcli_hash_word(DCLI_HASH_START, (uint64_t)operation);
    hash = dcli_hash_word(hash, (uint64_t)peer * 2 + written);
    return dcli_hash_word(hash, (uint64_t)number) % BUCKETS;
}

dcli_stored_chunk *dcli_chunks_add(dcli_chunks *chunks, int peer, int64_t operation, bool written, int64_t number)
{
    dcli_stored_chunk *chunk = dcli_calloc(1, sizeof *chunk);
    if (chunk == NULL)
        return NULL;
    chunk->peer = peer;
    chunk->operation = operation;
    chunk->written = written;
    chunk->number = number;
    dcli_stored_chunk **bucket = &chunks->bucket[bucket_of(peer, operation, written, number)];
    chunk->next = *bucket;
    *bucket = chunk;
    return chunk;
}

void dcli_chunks_hold(dcli_chunks *chunks, dcli_stored_chunk *chunk, dcli_received *received)
{
    chunk->received = *received;
    *received = (dcli_received){0};
    chunk->counted = (int64_t)dcli_received_bytes(&chunk->received);
    chunks->bytes += chunk->counted;
}

dcli_stored_chunk *dcli_chunks_find(const dcli_chunks *chunks, int peer, int64_t operation, bool written,
                                    int64_t number)
{
    dcli_stored_chunk *chunk = chunks->bucket[bucket_of(peer, operation, written, number)];
    while (chunk != NULL && (chunk->peer != peer || chunk->operation != operation || chunk->written != written ||
                             chunk->number != number))
        chunk = chunk->next;
    return chunk;
}

static void free_chunk(dcli_chunks *chunks, dcli_stored_chunk *chunk)
{
    chunks->bytes -= chunk->counted;
    dcli_free(chunk->problem);
    if (chunk->received.frames != NULL)
        dcli_received_free(&chunk->received);
    dcli_buffers_give(chunk->bytes);
    dcli_slot_give(chunk->slot);
    dcli_free(chunk);
}

static void unlink_chunk(dcli_chunks *chunks, dcli_stored_chunk *chunk)
{
    dcli_stored_chunk **at = &chunks->bucket[bucket_of(chunk->peer, chunk->operation, chunk->written, chunk->number)];
    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
}

void dcli_chunks_drop(dcli_chunks *chunks, dcli_stored_chunk *chunk)
{
    if (chunk == NULL)
        return;
    unlink_chunk(chunks, chunk);
    free_chunk(chunks, chunk);
}

void dcli_chunks_leave(dcli_chunks *chunks, dcli_stored_chunk *chunk)
{
    unlink_chunk(chunks, chunk);
    chunk->next = chunks->leaving;
    chunks->leaving = chunk;
}

void dcli_chunks_sweep(dcli_chunks *chunks, bool (*is_over)(void *user, const dcli_stored_chunk *chunk), void *user)
{
    for (dcli_stored_chunk **at = &chunks->leaving; *at != NULL;) {
        dcli_stored_chunk *chunk = *at;
        if (!is_over(user, chunk)) {
            at = &chunk->next;
            continue;
        }
        *at = chunk->next;
        free_chunk(chunks, chunk);
    }
}

void dcli_chunks_drop_after(dcli_chunks *chunks, int peer, int64_t operation)
{
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_stored_chunk **at = &chunks->bucket[b]; *at != NULL;) {
            dcli_stored_chunk *chunk = *at;
            if (chunk->peer != peer || chunk->operation <= operation) {
                at = &chunk->next;
                continue;
            }
            *at = chunk->next;
            free_chunk(chunks, chunk);
        }
}

static bool always(void *user, const dcli_stored_chunk *chunk)
{
    (void)user;
    (void)chunk;
    return true;
}

void dcli_chunks_free(dcli_chunks *chunks)
{
    dcli_chunks_sweep(chunks, always, NULL);
    for (int b = 0; b < BUCKETS; b++)
        while (chunks->bucket[b] != NULL) {
            dcli_stored_chunk *chunk = chunks->bucket[b];
            chunks->bucket[b] = chunk->next;
            free_chunk(chunks, chunk);
        }
}

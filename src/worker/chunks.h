/* worker/chunks.h - chunks of data at rest: received and not yet used, or made and not yet sent. */
#ifndef DCLI_WORKER_CHUNKS_H
#define DCLI_WORKER_CHUNKS_H

#include "device/device.h"
#include "net/net.h"

/** One chunk. Received ones hold their message, made ones their bytes. */
typedef struct dcli_kept_chunk {
    int peer;
    bool written;
    int64_t operation, number;
    dcli_received received; /* received: payload and length in here */
    void *bytes;            /* made: of dcli_buffers_take() */
    dcli_slot *slot;        /* made: from where they are on their way to `bytes`; NULL: they are there */
    char *problem;          /* received: why it was not kept; NULL: it is here */
    int64_t counted;        /* bytes that it holds */
    struct dcli_kept_chunk *next;
} dcli_kept_chunk;

/** A table of chunks. Start with {0}. */
typedef struct dcli_chunks {
    dcli_kept_chunk *bucket[256];
    int64_t bytes; /* held by received chunks; those to be sent are counted by the stock of buffers */
} dcli_chunks;

/** @return a new entry, or NULL: DCL_ERR_NOMEM. */
dcli_kept_chunk *dcli_chunks_add(dcli_chunks *chunks, int peer, int64_t operation, bool written, int64_t number);
/** Give a chunk the message that it came in, which is empty then. */
void dcli_chunks_hold(dcli_chunks *chunks, dcli_kept_chunk *chunk, dcli_received *received);
dcli_kept_chunk *dcli_chunks_find(const dcli_chunks *chunks, int peer, int64_t operation, bool written, int64_t number);
/** Free it with what it holds. NULL is accepted. */
void dcli_chunks_drop(dcli_chunks *chunks, dcli_kept_chunk *chunk);
/** Free those of a peer for operations after `operation`. */
void dcli_chunks_drop_after(dcli_chunks *chunks, int peer, int64_t operation);
void dcli_chunks_free(dcli_chunks *chunks);

#endif

/* worker/chunks.h - data chunks in memory: received and not used yet, or made by this node and not sent yet. */
#ifndef DCLI_WORKER_CHUNKS_H
#define DCLI_WORKER_CHUNKS_H

#include "device/device.h"
#include "net/net.h"

/** A chunk. A received one holds its message, a made one its bytes. */
typedef struct dcli_stored_chunk {
    int peer;                  /* its sender, or its receiver */
    bool written;              /* its stream: false: inputs that the receiver reads; true: outputs for their owner */
    int64_t operation, number; /* number: in its stream; of a made chunk: index in this node's own plan */
    dcli_received received;    /* received: the message, whose payload is the data */
    void *bytes;               /* made: the data, from dcli_buffers_take(); NULL: it is in `slot` */
    dcli_slot *slot;           /* made: the slot that is filled: its data is then copied to `bytes`, or it is lent to
                                  the receiver, or its memory is that of the message; NULL: none */
    char *problem;             /* received: the error for which the data was discarded; NULL: it was not discarded */
    int64_t counted;           /* received: bytes of its message; made: 0 */
    uint64_t crossing;         /* received: ticket of the device's last command that reads the payload; 0: none */
    struct dcli_stored_chunk *next;
} dcli_stored_chunk;

/** A table of chunks. Start with {0}. */
typedef struct dcli_chunks {
    dcli_stored_chunk *bucket[256];
    dcli_stored_chunk *leaving; /* dropped while the device still reads their payloads */
    int64_t bytes;              /* bytes held by received chunks; the buffer pool counts those to be sent */
} dcli_chunks;

/** Add an entry. @return the entry, or NULL: DCL_ERR_NOMEM. */
dcli_stored_chunk *dcli_chunks_add(dcli_chunks *chunks, int peer, int64_t operation, bool written, int64_t number);
/** Move a received message into its chunk; `received` is empty afterwards. */
void dcli_chunks_hold(dcli_chunks *chunks, dcli_stored_chunk *chunk, dcli_received *received);
dcli_stored_chunk *dcli_chunks_find(const dcli_chunks *chunks, int peer, int64_t operation, bool written,
                                    int64_t number);
/** Free a chunk with its data. NULL is accepted. */
void dcli_chunks_drop(dcli_chunks *chunks, dcli_stored_chunk *chunk);
/** Drop a chunk whose payload the device still reads: dcli_chunks_sweep() will free it. */
void dcli_chunks_leave(dcli_chunks *chunks, dcli_stored_chunk *chunk);
/** Free the chunks that were passed to dcli_chunks_leave() and for which `is_over` returns true. */
void dcli_chunks_sweep(dcli_chunks *chunks, bool (*is_over)(void *user, const dcli_stored_chunk *chunk), void *user);
/** Free the chunks of a peer for operations after `operation`. */
void dcli_chunks_drop_after(dcli_chunks *chunks, int peer, int64_t operation);
void dcli_chunks_free(dcli_chunks *chunks);

#endif

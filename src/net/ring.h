/* net/ring.h - a stream of records from one process to another through shared memory: one writer, one reader.
 * Either process may be corrupt. So each side has its own position in private memory, checks the other's position
 * before use, and copies a record's head before checking it. Source: L. Lamport, "Specifying Concurrent Program
 * Modules" (1983), for the queue of one producer and one consumer. */
#ifndef DCLI_NET_RING_H
#define DCLI_NET_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DCLI_RING_BYTES = 1 << 18,
    DCLI_RING_ALIGN = 16,                           /* alignment of records */
    DCLI_RING_MOST_BODY = DCLI_RING_BYTES / 4 - 64, /* most bytes of a record after its head */
    DCLI_RING_LINE = 64
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "a lock would not be shared by processes");

/** The shared variables of a direction, beside the bytes. */
typedef struct dcli_ring_words {
    alignas(DCLI_RING_LINE) _Atomic uint64_t head; /* bytes ever written; set by the writer */
    alignas(DCLI_RING_LINE) _Atomic uint64_t tail; /* bytes ever read; set by the reader */
    /* Wake-up flags. A side that will sleep sets its flag and then looks once more; a side that moves a position reads
     * the flag afterwards, sequentially consistent. So one of the two sees the other. Whoever clears a flag must wake
     * up the other side. */
    alignas(DCLI_RING_LINE) _Atomic uint32_t asleep;     /* the reader sleeps */
    alignas(DCLI_RING_LINE) _Atomic uint32_t wants_room; /* the writer sleeps, and records wait for room in
                                                            the ring or the socket */
} dcli_ring_words;

/** The shared memory of a link: a ring per direction. */
typedef struct dcli_ring_pair {
    dcli_ring_words words[2];
    alignas(4096) unsigned char bytes[2][DCLI_RING_BYTES];
} dcli_ring_pair;

/** The head of a record. */
typedef struct dcli_ring_head {
    uint32_t length;      /* bytes of the body */
    uint16_t kind, flags; /* the next three are not used by the ring: see dcli_shared_kind */
    uint64_t value;
} dcli_ring_head;

_Static_assert(sizeof(dcli_ring_head) == DCLI_RING_ALIGN, "a head never wraps");

/** One side's private state of a ring. */
typedef struct dcli_ring {
    dcli_ring_words *words;
    unsigned char *bytes;
    uint64_t own;   /* position of this side */
    uint64_t other; /* the other side's position, as last seen and checked */
} dcli_ring;

typedef enum dcli_ring_answer {
    DCLI_RING_DONE,
    DCLI_RING_WAIT,  /* not enough room, or no record */
    DCLI_RING_BROKEN /* the other side's position or a length is impossible */
} dcli_ring_answer;

/** Start using one side of a ring whose memory is fresh. */
dcli_ring dcli_ring_of(dcli_ring_pair *pair, int direction);

/* ---- the writer ---- */

/** Whether a record with a body of that many bytes, at most DCLI_RING_MOST_BODY, fits now. */
dcli_ring_answer dcli_ring_has_room(dcli_ring *ring, size_t body_bytes);
/** Write a record that fits. @param head  its length is first_bytes + second_bytes. */
void dcli_ring_put(dcli_ring *ring, const dcli_ring_head *head, const void *first, size_t first_bytes,
                   const void *second, size_t second_bytes);
/** After dcli_ring_put(): whether the reader must be woken up. */
bool dcli_ring_must_ring_reader(dcli_ring *ring);
/** Whether the reader seems to have made room since the last check. */
bool dcli_ring_has_moved(const dcli_ring *ring);
/** Announce that the writer is about to sleep while records wait (true), or end that. */
void dcli_ring_want_room(dcli_ring *ring, bool wants);

/* ---- the reader ---- */

/** Whether there seems to be a record, without checking it. */
bool dcli_ring_seems_filled(const dcli_ring *ring);
/** Get the checked head of the next record; its body is complete. */
dcli_ring_answer dcli_ring_look(dcli_ring *ring, dcli_ring_head *head_out);
/** Copy bytes from the body of the record that dcli_ring_look() has found. at + bytes <= its length. */
void dcli_ring_copy(const dcli_ring *ring, size_t at, void *out, size_t bytes);
/** Remove the record that dcli_ring_look() has found; its room is free for the writer. */
void dcli_ring_pass(dcli_ring *ring, const dcli_ring_head *head);
/** After dcli_ring_pass(), or after something else was read that the writer may wait for: whether it must be woken
 *  up. */
bool dcli_ring_must_ring_writer(dcli_ring *ring);
/** Announce that this reader is about to sleep; call dcli_ring_seems_filled() afterwards. */
void dcli_ring_sleep(dcli_ring *ring);
/** End the announcement that the reader is about to sleep. @return whether the writer has seen it, so that its wake-up
 *  packet has come or will come. */
bool dcli_ring_awake(dcli_ring *ring);

#endif

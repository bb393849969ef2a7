/* net/ring.h - a stream of records from one process to another through shared memory: one writes, one reads.
 * Either side may have gone wild: each keeps its own position to itself, takes the other's for what it is after checking
 * it, and copies a head before looking at it. Source: L. Lamport, "Specifying Concurrent Program Modules" (1983), for the
 * queue of one producer and one consumer. */
#ifndef DCLI_NET_RING_H
#define DCLI_NET_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DCLI_RING_BYTES = 1 << 18,
    DCLI_RING_ALIGN = 16,                           /* records begin and end at multiples of it */
    DCLI_RING_MOST_BODY = DCLI_RING_BYTES / 4 - 64, /* bytes of a record behind its head */
    DCLI_RING_LINE = 64
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "a lock would not be shared by processes");

/** What both sides of a direction share beside the bytes. */
typedef struct dcli_ring_words {
    alignas(DCLI_RING_LINE) _Atomic uint64_t head; /* bytes ever written: the writer's */
    alignas(DCLI_RING_LINE) _Atomic uint64_t tail; /* bytes ever read: the reader's */
    /* Doorbells. Who waits sets its flag and then looks once more; who moves a position looks at the flag after it, in
     * one order for all: so one of the two sees the other. Clearing a flag is the promise to ring. */
    alignas(DCLI_RING_LINE) _Atomic uint32_t asleep;     /* the reader sleeps */
    alignas(DCLI_RING_LINE) _Atomic uint32_t wants_room; /* the writer has more than there is room for */
} dcli_ring_words;

/** In shared memory: a ring per direction. */
typedef struct dcli_ring_pair {
    dcli_ring_words words[2];
    alignas(4096) unsigned char bytes[2][DCLI_RING_BYTES];
} dcli_ring_pair;

/** What begins a record. */
typedef struct dcli_ring_head {
    uint32_t length; /* bytes of the body */
    uint16_t kind, flags;
    uint64_t value;
} dcli_ring_head;

_Static_assert(sizeof(dcli_ring_head) == DCLI_RING_ALIGN, "a head never wraps");

/** One side's view of a ring. */
typedef struct dcli_ring {
    dcli_ring_words *words;
    unsigned char *bytes;
    uint64_t own;   /* position of this side */
    uint64_t other; /* of the other side, as last seen and checked */
} dcli_ring;

typedef enum dcli_ring_answer {
    DCLI_RING_DONE,
    DCLI_RING_WAIT,  /* no room, or nothing there */
    DCLI_RING_BROKEN /* the other side's position or a length cannot be */
} dcli_ring_answer;

/** A side of a ring whose memory is fresh. */
dcli_ring dcli_ring_of(dcli_ring_pair *pair, int direction);

/* ---- the writer ---- */

/** Whether a body of that many bytes, at most DCLI_RING_MOST_BODY, has room now. */
dcli_ring_answer dcli_ring_has_room(dcli_ring *ring, size_t body_bytes);
/** Write a record that has room. @param head  its length is first_bytes + second_bytes. */
void dcli_ring_put(dcli_ring *ring, const dcli_ring_head *head, const void *first, size_t first_bytes,
                   const void *second, size_t second_bytes);
/** After dcli_ring_put(): whether the reader is to be rung. */
bool dcli_ring_must_ring_reader(dcli_ring *ring);
/** Whether the reader seems to have made room since it was last asked for. */
bool dcli_ring_has_moved(const dcli_ring *ring);
void dcli_ring_want_room(dcli_ring *ring, bool wants);

/* ---- the reader ---- */

/** Whether something seems to be there, without checking it. */
bool dcli_ring_seems_filled(const dcli_ring *ring);
/** The head of the next record, checked: its body is there. */
dcli_ring_answer dcli_ring_look(dcli_ring *ring, dcli_ring_head *head_out);
/** Copy from the body of that record. at + bytes <= its length. */
void dcli_ring_copy(const dcli_ring *ring, size_t at, void *out, size_t bytes);
/** Be done with that record. */
void dcli_ring_pass(dcli_ring *ring, const dcli_ring_head *head);
/** After dcli_ring_pass(), or when something was read elsewhere that the writer may wait for: whether to ring it. */
bool dcli_ring_must_ring_writer(dcli_ring *ring);
/** Say that this reader is about to sleep; look at dcli_ring_seems_filled() after it. */
void dcli_ring_sleep(dcli_ring *ring);
/** @return whether the writer has seen that, so that its bell has come or is on its way. */
bool dcli_ring_awake(dcli_ring *ring);

#endif

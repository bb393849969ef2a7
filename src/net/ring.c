/* net/ring.c - records of bytes in a ring. Positions only grow; the offset in the ring is the position modulo the
 * size. */
#include "net/ring.h"

#include <string.h>

dcli_ring dcli_ring_of(dcli_ring_pair *pair, int direction)
{
    return (dcli_ring){.words = &pair->words[direction], .bytes = pair->bytes[direction]};
}

static uint64_t whole(uint64_t bytes) { return (bytes + DCLI_RING_ALIGN - 1) / DCLI_RING_ALIGN * DCLI_RING_ALIGN; }

static uint64_t record_bytes(uint64_t body_bytes) { return whole(sizeof(dcli_ring_head) + body_bytes); }

/* ---- the writer --------------------------------------------------------------------------------------------------- */

static uint64_t room(const dcli_ring *ring) { return DCLI_RING_BYTES - (ring->own - ring->other); }

dcli_ring_answer dcli_ring_has_room(dcli_ring *ring, size_t body_bytes)
{
    uint64_t wanted = record_bytes(body_bytes);
    if (room(ring) >= wanted)
        return DCLI_RING_DONE;
    uint64_t tail = atomic_load(&ring->words->tail);
    uint64_t read = tail - ring->other;
    if (read > ring->own - ring->other || read % DCLI_RING_ALIGN != 0)
        return DCLI_RING_BROKEN;
    ring->other = tail;
    return room(ring) >= wanted ? DCLI_RING_DONE : DCLI_RING_WAIT;
}

/* Copy bytes to the position `at`. @return the position after them. */
static uint64_t write_bytes(dcli_ring *ring, uint64_t at, const void *bytes, size_t length)
{
    size_t place = (size_t)(at % DCLI_RING_BYTES), first = DCLI_RING_BYTES - place;
    if (first > length)
        first = length;
    if (first > 0)
        memcpy(ring->bytes + place, bytes, first);
    if (length > first)
        memcpy(ring->bytes, (const unsigned char *)bytes + first, length - first);
    return at + length;
}

void dcli_ring_put(dcli_ring *ring, const dcli_ring_head *head, const void *first, size_t first_bytes,
                   const void *second, size_t second_bytes)
{
    uint64_t at = write_bytes(ring, ring->own, head, sizeof *head);
    at = write_bytes(ring, at, first, first_bytes);
    write_bytes(ring, at, second, second_bytes);
    ring->own += record_bytes(head->length);
    atomic_store(&ring->words->head, ring->own);
}

bool dcli_ring_must_ring_reader(dcli_ring *ring)
{
    return atomic_load(&ring->words->asleep) != 0 && atomic_exchange(&ring->words->asleep, 0) != 0;
}

bool dcli_ring_has_moved(const dcli_ring *ring) { return atomic_load(&ring->words->tail) != ring->other; }

void dcli_ring_want_room(dcli_ring *ring, bool wants) { atomic_store(&ring->words->wants_room, wants); }

/* ---- the reader --------------------------------------------------------------------------------------------------- */

bool dcli_ring_seems_filled(const dcli_ring *ring)
{
    return ring->other != ring->own || atomic_load(&ring->words->head) != ring->own;
}

dcli_ring_answer dcli_ring_look(dcli_ring *ring, dcli_ring_head *head_out)
{
    if (ring->other == ring->own) {
        uint64_t head = atomic_load(&ring->words->head);
        if (head - ring->own > DCLI_RING_BYTES || head % DCLI_RING_ALIGN != 0)
            return DCLI_RING_BROKEN;
        ring->other = head;
    }
    uint64_t there = ring->other - ring->own;
    if (there == 0)
        return DCLI_RING_WAIT;
    memcpy(head_out, ring->bytes + ring->own % DCLI_RING_BYTES, sizeof *head_out);
    if (head_out->length > DCLI_RING_MOST_BODY || record_bytes(head_out->length) > there)
        return DCLI_RING_BROKEN;
    return DCLI_RING_DONE;
}

void dcli_ring_copy(const dcli_ring *ring, size_t at, void *out, size_t bytes)
{
    size_t place = (size_t)((ring->own + sizeof(dcli_ring_head) + at) % DCLI_RING_BYTES);
    size_t first = DCLI_RING_BYTES - place;
    if (first > bytes)
        first = bytes;
    if (first > 0)
        memcpy(out, ring->bytes + place, first);
    if (bytes > first)
        memcpy((unsigned char *)out + first, ring->bytes, bytes - first);
}

void dcli_ring_pass(dcli_ring *ring, const dcli_ring_head *head)
{
    ring->own += record_bytes(head->length);
    atomic_store(&ring->words->tail, ring->own);
}

/* Whether to wake up the writer, which waits for room: only when half of the ring is free, not for every record; then
 * even the largest record fits. */
bool dcli_ring_must_ring_writer(dcli_ring *ring)
{
    if (atomic_load(&ring->words->wants_room) == 0)
        return false;
    uint64_t filled = atomic_load(&ring->words->head) - ring->own;
    return filled <= DCLI_RING_BYTES / 2 && atomic_exchange(&ring->words->wants_room, 0) != 0;
}

void dcli_ring_sleep(dcli_ring *ring) { atomic_store(&ring->words->asleep, 1); }

bool dcli_ring_awake(dcli_ring *ring) { return atomic_exchange(&ring->words->asleep, 0) == 0; }

/* net/ring_test.c - records between two sides: order, wrapping, room, positions that cannot be, bells. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "net/ring.h"

/** Both sides of one direction. */
typedef struct joined {
    dcli_ring_pair *pair;
    dcli_ring writer, reader;
} joined;

static joined join(void)
{
    joined j = {.pair = aligned_alloc(4096, (sizeof(dcli_ring_pair) + 4095) / 4096 * 4096)};
    memset(j.pair, 0, sizeof *j.pair);
    j.writer = dcli_ring_of(j.pair, 1);
    j.reader = dcli_ring_of(j.pair, 1);
    return j;
}

/** Byte i of record n. */
static unsigned char byte_of(unsigned n, size_t i) { return (unsigned char)(n * 31 + i * 7 + (i >> 8)); }

static bool write_record(dcli_ring *ring, unsigned n, size_t length)
{
    static _Thread_local unsigned char body[DCLI_RING_MOST_BODY];
    if (dcli_ring_has_room(ring, length) != DCLI_RING_DONE)
        return false;
    for (size_t i = 0; i < length; i++)
        body[i] = byte_of(n, i);
    dcli_ring_head head = {.length = (uint32_t)length, .kind = (uint16_t)(n % 1000), .flags = 3, .value = n};
    size_t first = length / 3;
    dcli_ring_put(ring, &head, body, first, body + first, length - first);
    return true;
}

/** Read the next record and check that it is number n. @return false: none there. */
static bool read_record(dcli_ring *ring, unsigned n, size_t length)
{
    static _Thread_local unsigned char body[DCLI_RING_MOST_BODY];
    dcli_ring_head head;
    dcli_ring_answer answer = dcli_ring_look(ring, &head);
    cr_assert_neq(answer, DCLI_RING_BROKEN);
    if (answer == DCLI_RING_WAIT)
        return false;
    cr_assert(head.value == n && head.length == length && head.kind == n % 1000 && head.flags == 3,
              "record %llu of %u bytes; expected %u of %zu", (unsigned long long)head.value, head.length, n, length);
    size_t first = length / 2;
    dcli_ring_copy(ring, 0, body, first);
    dcli_ring_copy(ring, first, body + first, length - first);
    for (size_t i = 0; i < length; i++)
        cr_assert_eq(body[i], byte_of(n, i), "byte %zu of record %u", i, n);
    dcli_ring_pass(ring, &head);
    return true;
}

/** Lengths of 0 bytes to the longest, most of them short. */
static size_t length_of(unsigned n)
{
    uint64_t mixed = (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
    mixed ^= mixed >> 29;
    return mixed % (n % 16 == 0 ? DCLI_RING_MOST_BODY + 1 : n % 4 == 0 ? 5000 : 100);
}

Test(ring, is_empty_at_first)
{
    joined j = join();
    dcli_ring_head head;
    cr_expect_eq(dcli_ring_look(&j.reader, &head), DCLI_RING_WAIT);
    cr_expect(!dcli_ring_seems_filled(&j.reader));
    cr_expect_eq(dcli_ring_has_room(&j.writer, DCLI_RING_MOST_BODY), DCLI_RING_DONE);
    free(j.pair);
}

Test(ring, keeps_order_and_bytes_however_it_wraps)
{
    joined j = join();
    unsigned written = 0, read = 0;
    while (read < 4000) {
        while (written < 4000 && write_record(&j.writer, written, length_of(written)))
            written++;
        cr_assert(dcli_ring_seems_filled(&j.reader));
        for (unsigned n = 0; n < 1 + written % 7 && read < written; n++)
            read += read_record(&j.reader, read, length_of(read));
    }
    cr_expect(j.writer.own > 10 * DCLI_RING_BYTES, "it went around more than ten times");
    cr_expect_not(read_record(&j.reader, 0, 0));
    free(j.pair);
}

Test(ring, has_room_for_all_of_its_bytes_and_no_more)
{
    joined j = join();
    unsigned records = DCLI_RING_BYTES / 64; /* of 16 bytes and 48 */
    for (unsigned n = 0; n < records; n++)
        cr_assert(write_record(&j.writer, n, 48));
    cr_expect_not(write_record(&j.writer, records, 0));
    cr_expect_eq(dcli_ring_has_room(&j.writer, 0), DCLI_RING_WAIT);
    cr_assert(read_record(&j.reader, 0, 48));
    cr_expect_eq(dcli_ring_has_room(&j.writer, 49), DCLI_RING_WAIT);
    cr_assert(write_record(&j.writer, records, 48));
    cr_expect_not(write_record(&j.writer, records + 1, 0));
    for (unsigned n = 1; n <= records; n++)
        cr_assert(read_record(&j.reader, n, 48));
    free(j.pair);
}

static void *write_all(void *argument)
{
    dcli_ring *writer = argument;
    for (unsigned n = 0; n < 20000;)
        if (write_record(writer, n, length_of(n) % 2000))
            n++;
        else
            sched_yield();
    return NULL;
}

Test(ring, is_used_by_two_threads_at_once)
{
    joined j = join();
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, write_all, &j.writer), 0);
    for (unsigned n = 0; n < 20000;)
        if (read_record(&j.reader, n, length_of(n) % 2000))
            n++;
        else
            sched_yield();
    pthread_join(thread, NULL);
    free(j.pair);
}

/* ---- what cannot be ---- */

Test(ring, notices_positions_that_cannot_be)
{
    static const uint64_t heads[] = {1, 15, 17, DCLI_RING_BYTES + 16, UINT64_MAX, UINT64_MAX - 15, UINT64_C(1) << 63};
    for (size_t c = 0; c < sizeof heads / sizeof heads[0]; c++) {
        joined j = join();
        dcli_ring_head head;
        atomic_store(&j.reader.words->head, heads[c]);
        cr_expect_eq(dcli_ring_look(&j.reader, &head), DCLI_RING_BROKEN, "head %llx", (unsigned long long)heads[c]);
        free(j.pair);
    }
    static const uint64_t tails[] = {1, 15, DCLI_RING_BYTES + 16, UINT64_MAX, UINT64_MAX - 15};
    for (size_t c = 0; c < sizeof tails / sizeof tails[0]; c++) {
        joined j = join();
        while (write_record(&j.writer, 0, 1008)) /* all of the ring */
            ;
        atomic_store(&j.writer.words->tail, tails[c]);
        cr_expect_eq(dcli_ring_has_room(&j.writer, 0), DCLI_RING_BROKEN, "tail %llx", (unsigned long long)tails[c]);
        free(j.pair);
    }
}

Test(ring, notices_lengths_that_reach_beyond_what_is_there)
{
    static const struct {
        uint32_t length;
        dcli_ring_answer answer;
    } cases[] = {
        {0, DCLI_RING_DONE},
        {48, DCLI_RING_DONE},
        {49, DCLI_RING_BROKEN},
        {DCLI_RING_MOST_BODY + 1, DCLI_RING_BROKEN},
        {UINT32_MAX, DCLI_RING_BROKEN},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        joined j = join();
        cr_assert(write_record(&j.writer, 0, 48));
        memcpy(j.reader.bytes, &cases[c].length, sizeof cases[c].length);
        dcli_ring_head head;
        cr_expect_eq(dcli_ring_look(&j.reader, &head), cases[c].answer, "length %u", cases[c].length);
        free(j.pair);
    }
}

/* ---- bells ---- */

Test(ring, rings_a_sleeping_reader_once)
{
    joined j = join();
    write_record(&j.writer, 0, 8);
    cr_expect_not(dcli_ring_must_ring_reader(&j.writer), "it is awake");
    read_record(&j.reader, 0, 8);
    dcli_ring_sleep(&j.reader);
    write_record(&j.writer, 1, 8);
    cr_expect(dcli_ring_must_ring_reader(&j.writer));
    write_record(&j.writer, 2, 8);
    cr_expect_not(dcli_ring_must_ring_reader(&j.writer), "it has been rung");
    cr_expect(dcli_ring_awake(&j.reader), "it learns that it was");
    dcli_ring_sleep(&j.reader);
    cr_expect_not(dcli_ring_awake(&j.reader), "nobody rang this time");
    write_record(&j.writer, 3, 8);
    cr_expect_not(dcli_ring_must_ring_reader(&j.writer));
    free(j.pair);
}

Test(ring, rings_a_writer_when_half_of_it_is_free)
{
    joined j = join();
    unsigned written = 0, read = 0;
    while (write_record(&j.writer, written, 1008)) /* 1024 with the head: 256 of them */
        written++;
    dcli_ring_want_room(&j.writer, true);
    while (read < written / 2 - 1) {
        read_record(&j.reader, read++, 1008);
        cr_assert_not(dcli_ring_must_ring_writer(&j.reader), "after %u of %u", read, written);
    }
    read_record(&j.reader, read++, 1008);
    cr_expect(dcli_ring_must_ring_writer(&j.reader));
    read_record(&j.reader, read++, 1008);
    cr_expect_not(dcli_ring_must_ring_writer(&j.reader), "once is enough");
    cr_expect_eq(dcli_ring_has_room(&j.writer, DCLI_RING_MOST_BODY), DCLI_RING_DONE);
    free(j.pair);
}

/* net/shared_test.c - peers of one host, here in one process: messages, payloads, descriptors, sleep, closing. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dcl/forall.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/shared.h"

enum { PEERS = 3, LONG = 20000 /* milliseconds: a test that waits so long has failed */ };

/** Peers 0..PEERS-1 in this process, each linked to each. */
typedef struct group {
    dcli_net *net;
    dcli_endpoint *peer[PEERS];
} group;

static group open_group(void)
{
    group g = {0};
    dcli_shared_link link[PEERS][PEERS];
    cr_assert_eq(dcli_net_open(&g.net), DCL_OK, "%s", dcl_error());
    for (int a = 0; a < PEERS; a++) {
        link[a][a].socket = -1;
        for (int b = 0; b < a; b++) {
            dcli_shared_link ends[2];
            cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
            link[a][b] = ends[0];
            link[b][a] = ends[1];
        }
    }
    for (int p = 0; p < PEERS; p++)
        cr_assert_eq(dcli_endpoint_open_shared(g.net, p, PEERS, link[p], &g.peer[p]), DCL_OK, "%s", dcl_error());
    return g;
}

static void close_group(group *g)
{
    for (int p = 0; p < PEERS; p++)
        dcli_endpoint_close(g->peer[p]);
    dcli_net_close(g->net);
}

static dcli_message credit(int64_t chunks) { return (dcli_message){.kind = DCLI_MSG_CREDIT, .credit = {chunks}}; }

static dcli_message chunk(int64_t number)
{
    return (dcli_message){.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1, .chunk = number}};
}

static void send_credit(dcli_endpoint *from, int to, int64_t chunks)
{
    dcli_message message = credit(chunks);
    cr_assert_eq(dcli_endpoint_send(from, to, &message, NULL), DCL_OK, "%s", dcl_error());
}

static dcli_received receive(dcli_endpoint *at, dcli_message_kind kind)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(at, LONG, &received), DCL_OK, "%s", dcl_error());
    cr_assert_eq(received.message.kind, kind);
    return received;
}

static void expect_credit(dcli_endpoint *at, int from, int64_t chunks)
{
    dcli_received received = receive(at, DCLI_MSG_CREDIT);
    cr_assert(received.from == from && received.message.credit.chunks == chunks,
              "from %d: %" PRId64 " chunks; expected from %d: %" PRId64, received.from, received.message.credit.chunks,
              from, chunks);
    dcli_received_free(&received);
}

static void expect_lost(dcli_endpoint *at, int peer, const char *words)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(at, LONG, &received), DCL_ERR_NODE_LOST, "%s", dcl_error());
    cr_expect_eq(received.from, peer);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), words);
    cr_expect_eq(dcli_endpoint_receive(at, 0, &received), DCL_ERR_TIMEOUT, "it is said once");
}

/* ---- messages ---- */

Test(shared, order_of_each_pair_is_kept)
{
    group g = open_group();
    for (int i = 0; i < 100; i++) {
        send_credit(g.peer[0], 2, i);
        send_credit(g.peer[1], 2, 1000 + i);
        send_credit(g.peer[2], 2, 2000 + i); /* also to itself */
    }
    int next[PEERS] = {0};
    for (int i = 0; i < 300; i++) {
        dcli_received received = receive(g.peer[2], DCLI_MSG_CREDIT);
        cr_assert_eq(received.message.credit.chunks, received.from * 1000 + next[received.from]);
        next[received.from]++;
        dcli_received_free(&received);
    }
    cr_expect(next[0] == 100 && next[1] == 100 && next[2] == 100);
    dcli_received none;
    cr_expect_eq(dcli_endpoint_receive(g.peer[2], 0, &none), DCL_ERR_TIMEOUT);
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], 10, &none), DCL_ERR_TIMEOUT);
    close_group(&g);
}

Test(shared, a_closed_peer_is_lost_after_its_last_message)
{
    group g = open_group();
    send_credit(g.peer[1], 0, 5);
    dcli_endpoint_close(g.peer[1]);
    g.peer[1] = NULL;
    expect_credit(g.peer[0], 1, 5);
    expect_lost(g.peer[0], 1, "the process of peer 1 has ended");
    dcli_message message = credit(1);
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &message, NULL), DCL_ERR_NETWORK);
    send_credit(g.peer[2], 0, 6);
    expect_credit(g.peer[0], 2, 6);
    close_group(&g);
}

static void *send_burst(void *argument)
{
    dcli_endpoint *endpoint = argument;
    for (int i = 0; i < 20000; i++) {
        dcli_message message = credit(i);
        if (dcli_endpoint_send(endpoint, 1, &message, NULL) != DCL_OK)
            break;
    }
    dcli_received none; /* what waits for room is written when its sender looks after its links */
    while (((dcli_shared *)endpoint->link)->link[1].first != NULL)
        if (dcli_endpoint_receive(endpoint, 100, &none) != DCL_ERR_TIMEOUT)
            break;
    return NULL;
}

Test(shared, a_burst_of_20000_arrives_complete)
{
    group g = open_group();
    pthread_t sender;
    for (int i = 0; i < 20000; i++) /* with nobody receiving meanwhile: 1 MB, more than the ring has room for */
        send_credit(g.peer[0], 1, i);
    cr_expect_not_null(((dcli_shared *)g.peer[0]->link)->link[1].first);
    cr_assert_eq(pthread_create(&sender, NULL, send_burst, g.peer[0]), 0);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20000; i++)
            expect_credit(g.peer[1], 0, i);
    pthread_join(sender, NULL);
    int64_t messages, bytes;
    dcli_endpoint_counts(g.peer[0], &messages, &bytes);
    cr_expect(messages == 40000 && bytes == 0);
    close_group(&g);
}

/** A body of 60,000 bytes and a prelude of 50,000, each of one letter that goes with the number. */
static dcli_message long_message(int64_t number, char text_out[60001], char prelude_out[50001])
{
    memset(text_out, 'a' + (int)(number % 26), 60000);
    memset(prelude_out, 'A' + (int)(number % 26), 50000);
    text_out[60000] = prelude_out[50000] = '\0';
    return (dcli_message){.kind = DCLI_MSG_KERNEL,
                          .kernel = {.kernel = number, .text = text_out, .prelude = prelude_out}};
}

Test(shared, messages_longer_than_a_record_arrive_in_pieces)
{
    static char text[60001], prelude[50001];
    group g = open_group();
    for (int64_t n = 0; n < 30; n++) { /* 3.3 MB */
        dcli_message message = long_message(n, text, prelude);
        cr_assert_eq(dcli_endpoint_send(g.peer[0], 2, &message, NULL), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_endpoint_send(g.peer[1], 2, &message, NULL), DCL_OK, "%s", dcl_error());
        send_credit(g.peer[0], 2, n);
    }
    int long_ones[2] = {0}, short_ones = 0;
    for (int idle = 0; short_ones < 30 || long_ones[0] < 30 || long_ones[1] < 30;) {
        dcli_received received;
        dcl_status status = dcli_endpoint_receive(g.peer[2], 0, &received);
        cr_assert(status == DCL_OK || status == DCL_ERR_TIMEOUT);
        for (int p = 0; p < 2; p++) { /* push */
            dcli_received none;
            cr_assert_eq(dcli_endpoint_receive(g.peer[p], 1, &none), DCL_ERR_TIMEOUT);
        }
        cr_assert((idle = status == DCL_OK ? 0 : idle + 1) < 1000);
        if (status != DCL_OK)
            continue;
        if (received.message.kind == DCLI_MSG_CREDIT)
            cr_assert_eq(received.message.credit.chunks, short_ones++);
        else {
            dcli_message expected = long_message(long_ones[received.from], text, prelude);
            cr_assert_eq(received.message.kernel.kernel, long_ones[received.from]++);
            cr_assert_str_eq(received.message.kernel.text, expected.kernel.text);
            cr_assert_str_eq(received.message.kernel.prelude, expected.kernel.prelude);
        }
        dcli_received_free(&received);
    }
    close_group(&g);
}

Test(shared, a_peer_that_takes_nothing_is_lost_at_64_mb)
{
    static char text[60001], prelude[50001];
    group g = open_group();
    dcl_status status = DCL_OK;
    int64_t sent = 0;
    for (; status == DCL_OK && sent < 1000; sent++) {
        dcli_message message = long_message(sent, text, prelude);
        status = dcli_endpoint_send(g.peer[0], 1, &message, NULL);
    }
    cr_expect_eq(status, DCL_ERR_NETWORK);
    cr_expect(strstr(dcl_error(), "bytes wait for peer 1; expected it to take them") != NULL, "%s", dcl_error());
    cr_expect(sent > 600 && sent < 625, "%" PRId64 " of 110,000 bytes", sent);
    expect_lost(g.peer[0], 1, "bytes wait for peer 1");
    send_credit(g.peer[0], 2, 1);
    expect_credit(g.peer[2], 0, 1);
    close_group(&g);
}

/* ---- payloads ---- */

static void count_release(void *bytes, void *user)
{
    free(bytes);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void count_give(void *bytes, void *user)
{
    dcli_buffers_give(bytes);
    atomic_fetch_add((atomic_int *)user, 1);
}

/** Let the peer hear of what was given back. */
static void hear(dcli_endpoint *endpoint)
{
    dcli_received none;
    cr_assert_eq(dcli_endpoint_receive(endpoint, 1, &none), DCL_ERR_TIMEOUT, "%s", dcl_error());
}

static void send_payload(dcli_endpoint *from, int to, int64_t number, dcli_payload payload)
{
    dcli_message message = chunk(number);
    cr_assert_eq(dcli_endpoint_send(from, to, &message, &payload), DCL_OK, "%s", dcl_error());
}

Test(shared, payloads_of_the_stock_are_read_in_place)
{
    group g = open_group();
    dcli_buffers *buffers = dcli_buffers_open_shared();
    dcli_endpoint_use_buffers(g.peer[0], buffers);
    atomic_int released = 0;
    static const size_t lengths[] = {1, 64, 4096, 4097, 100000, 300000, 1 << 20, 4 << 20};
    for (int round = 0; round < 3; round++)
        for (size_t c = 0; c < sizeof lengths / sizeof lengths[0]; c++) {
            unsigned char *bytes = dcli_buffers_take(buffers, lengths[c]);
            cr_assert_not_null(bytes, "%s", dcl_error());
            memset(bytes, (int)c, lengths[c]);
            send_payload(g.peer[0], 1, (int64_t)c, (dcli_payload){bytes, lengths[c], count_give, &released});
            dcli_received received = receive(g.peer[1], DCLI_MSG_CHUNK);
            const unsigned char *seen = received.payload;
            cr_assert_eq(received.payload_bytes, lengths[c]);
            cr_expect(seen[0] == c && seen[lengths[c] - 1] == c);
            bytes[lengths[c] - 1] = 200; /* it was not copied, neither here nor there */
            cr_expect_eq(seen[lengths[c] - 1], 200);
            int before = released;
            hear(g.peer[0]);
            cr_expect_eq(released, before);
            dcli_received_free(&received);
            hear(g.peer[0]);
            cr_expect_eq(released, before + 1);
        }
    close_group(&g);
    dcli_buffers_close(buffers);
    cr_expect_eq(released, 24);
}

static bool may_unmap(void *user, const void *bytes)
{
    (void)user;
    return bytes != NULL;
}

/* A buffer with a region of its own: others write to it, and its memory is gone when it is returned. */
Test(shared, a_buffer_alone_is_written_by_others)
{
    enum { BYTES = (3 << 20) + 100 };
    group g = open_group();
    dcli_buffers *buffers = dcli_buffers_open_shared();
    dcli_endpoint_use_buffers(g.peer[0], buffers);
    dcli_endpoint_map_writable(g.peer[1], may_unmap, NULL);
    unsigned char *bytes = dcli_buffers_take_alone(buffers, BYTES);
    cr_assert_not_null(bytes, "%s", dcl_error());
    cr_expect_eq(dcli_buffers_bytes(buffers), BYTES);
    for (size_t at = 0; at < BYTES; at += BYTES - 17) {
        send_payload(g.peer[0], 1, 1, (dcli_payload){bytes + at, 17, NULL, NULL});
        dcli_received received = receive(g.peer[1], DCLI_MSG_CHUNK);
        void *region;
        size_t length;
        cr_assert(dcli_received_region(&received, &region, &length), "it is mapped for writing");
        cr_expect_eq(length, BYTES);
        memset((unsigned char *)region + ((const unsigned char *)received.payload - (unsigned char *)region), 99, 17);
        dcli_received_free(&received);
        cr_expect(bytes[at] == 99 && bytes[at + 16] == 99);
    }
    dcli_buffers_give(bytes);
    cr_expect_eq(dcli_buffers_bytes(buffers), 0);
    cr_expect_eq(dcli_buffers_dropped(buffers), 1);
    close_group(&g);
    dcli_buffers_close(buffers);
    dcli_buffers *private_pool = dcli_buffers_open();
    cr_expect_null(dcli_buffers_take_alone(private_pool, BYTES));
    cr_expect(strstr(dcl_error(), "expected a shared one") != NULL, "%s", dcl_error());
    dcli_buffers_close(private_pool);
}

Test(shared, payloads_are_freed_in_any_order)
{
    enum { COUNT = 200 };
    group g = open_group();
    dcli_buffers *buffers = dcli_buffers_open_shared();
    dcli_endpoint_use_buffers(g.peer[0], buffers);
    atomic_int released = 0;
    dcli_received received[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size_t length = sizeof(int) + (size_t)(i * 797 % 9000);
        bool heap = i % 5 == 0; /* copied into the stock */
        int *bytes = heap ? malloc(length) : dcli_buffers_take(buffers, length);
        *bytes = i;
        send_payload(g.peer[0], 1, i, (dcli_payload){bytes, length, heap ? count_release : count_give, &released});
        cr_expect_eq(released, 1 + i / 5, "the copied ones are released at once");
        received[i] = receive(g.peer[1], DCLI_MSG_CHUNK);
    }
    for (int i = 0; i < COUNT; i++)
        cr_assert(received[i].message.chunk.chunk == i && *(const int *)received[i].payload == i);
    for (int i = 0; i < COUNT; i++)
        dcli_received_free(&received[i * 77 % COUNT]);
    hear(g.peer[0]);
    cr_expect_eq(released, COUNT);
    close_group(&g);
    dcli_buffers_close(buffers);
}

static int count_views(const dcli_endpoint *endpoint, int peer)
{
    return ((const dcli_shared *)endpoint->link)->link[peer].view_count;
}

Test(shared, regions_that_are_dropped_are_forgotten)
{
    enum { COUNT = 40 }; /* of 4 MB: more than a stock keeps */
    group g = open_group();
    dcli_buffers *buffers = dcli_buffers_open_shared();
    dcli_endpoint_use_buffers(g.peer[0], buffers);
    atomic_int released = 0;
    for (int round = 0; round < 3; round++) {
        dcli_received received[COUNT];
        for (int i = 0; i < COUNT; i++) {
            unsigned char *bytes = dcli_buffers_take(buffers, 4 << 20);
            bytes[i] = (unsigned char)i;
            send_payload(g.peer[0], 1, i, (dcli_payload){bytes, 4 << 20, count_give, &released});
            received[i] = receive(g.peer[1], DCLI_MSG_CHUNK);
        }
        cr_expect_eq(count_views(g.peer[1], 0), COUNT);
        for (int i = 0; i < COUNT; i++) {
            cr_assert_eq(((const unsigned char *)received[i].payload)[i], i);
            dcli_received_free(&received[i]);
        }
        hear(g.peer[0]);
        hear(g.peer[1]);
        cr_expect_eq(released, COUNT * (round + 1));
        cr_expect_eq(count_views(g.peer[1], 0), 16, "%d regions of 4 MB; 64 MB are kept", count_views(g.peer[1], 0));
    }
    cr_expect_eq(dcli_buffers_dropped(buffers), 3 * (COUNT - 16));
    close_group(&g);
    dcli_buffers_close(buffers);
}

/* ---- payloads that a device registers ---- */

enum { LARGE = 1 << 20, SMALL = 100 };

static int descriptor_of(dcli_buffers *buffers, const void *bytes)
{
    dcli_buffers_place place;
    cr_assert(dcli_buffers_find(buffers, bytes, 1, &place));
    return place.descriptor;
}

/** Whether the system lets a process with this descriptor map it for writing. */
static bool can_map_writable(int descriptor)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at != MAP_FAILED)
        munmap(at, 4096);
    return at != MAP_FAILED;
}

static bool count_unmap(void *user, const void *bytes)
{
    int *unmapped = user;
    cr_expect_eq(*(const volatile unsigned char *)bytes, 7, "it is still mapped");
    ++*unmapped;
    return true;
}

/** Send a buffer that begins with 7 from peer 0 to peer 1. */
static dcli_received pass(const group *g, dcli_buffers *buffers, size_t length)
{
    unsigned char *bytes = dcli_buffers_take(buffers, length);
    static atomic_int released;
    bytes[0] = 7;
    send_payload(g->peer[0], 1, 0, (dcli_payload){bytes, length, count_give, &released});
    return receive(g->peer[1], DCLI_MSG_CHUNK);
}

/** Only large buffers of a pool that lets others write, at a receiver that wants to, are mapped for writing. */
Test(shared, payloads_are_writable_only_where_both_sides_want_it)
{
    for (int lets = 0; lets < 2; lets++)
        for (int wants = 0; wants < 2; wants++)
            for (int large = 0; large < 2; large++) {
                group g = open_group();
                dcli_buffers *buffers = dcli_buffers_open_shared();
                int unmapped = 0;
                void *region = NULL;
                size_t length = 0;
                dcli_endpoint_use_buffers(g.peer[0], buffers);
                if (lets)
                    dcli_buffers_let_write(buffers);
                if (wants)
                    dcli_endpoint_map_writable(g.peer[1], count_unmap, &unmapped);
                dcli_received received = pass(&g, buffers, large ? LARGE : SMALL);
                bool writable = dcli_received_region(&received, &region, &length);
                cr_expect_eq(writable, lets && wants && large, "%d %d %d", lets, wants, large);
                void *bytes = dcli_buffers_take(buffers, large ? LARGE : SMALL);
                cr_expect_eq(can_map_writable(descriptor_of(buffers, bytes)), lets && large, "%d %d", lets, large);
                dcli_buffers_give(bytes);
                if (writable) {
                    cr_expect(region == received.payload && length == LARGE);
                    ((unsigned char *)region)[LARGE - 1] = 3;
                }
                dcli_received_free(&received);
                close_group(&g);
                cr_expect_eq(unmapped, writable);
                dcli_buffers_close(buffers);
            }
}

/** What both sides do before memory is unmapped: while it is not held any more, and still mapped. */
Test(shared, what_is_registered_is_told_before_it_is_unmapped)
{
    enum { COUNT = 200 }; /* more than a pool retains */
    group g = open_group();
    dcli_buffers *buffers = dcli_buffers_open_shared();
    int dropped = 0, unmapped = 0;
    static dcli_received received[COUNT];
    dcli_endpoint_use_buffers(g.peer[0], buffers);
    dcli_buffers_let_write(buffers);
    dcli_buffers_on_drop(buffers, count_unmap, &dropped);
    dcli_endpoint_map_writable(g.peer[1], count_unmap, &unmapped);
    for (int i = 0; i < COUNT; i++)
        received[i] = pass(&g, buffers, LARGE);
    dcli_received last = received[COUNT - 1];
    for (int i = 0; i < COUNT - 1; i++)
        dcli_received_free(&received[i]);
    hear(g.peer[0]);
    hear(g.peer[1]);
    cr_expect_eq(dropped, COUNT - 1 - 128, "%d regions of 1 MB; 128 MB are retained", dropped);
    cr_expect_eq(unmapped, dropped);
    dcli_endpoint_close(g.peer[0]); /* the last is held: its memory stays, whatever its sender does */
    dcli_received none = {0};
    cr_expect_eq(dcli_endpoint_receive(g.peer[1], LONG, &none), DCL_ERR_NODE_LOST);
    cr_expect_eq(unmapped, COUNT - 1, "%d", unmapped);
    cr_expect_eq(*(const unsigned char *)last.payload, 7);
    dcli_received_free(&last);
    cr_expect_eq(unmapped, COUNT, "%d", unmapped);
    g.peer[0] = NULL;
    close_group(&g);
    dcli_buffers_on_drop(buffers, NULL, NULL);
    dcli_buffers_close(buffers);
}

/** The owner of the function goes first: nothing is told any more. */
Test(shared, what_is_registered_is_told_only_until_its_end)
{
    group g = open_group();
    dcli_buffers *buffers = dcli_buffers_open_shared();
    int unmapped = 0;
    dcli_endpoint_use_buffers(g.peer[0], buffers);
    dcli_buffers_let_write(buffers);
    dcli_endpoint_map_writable(g.peer[1], count_unmap, &unmapped);
    dcli_received received = pass(&g, buffers, LARGE);
    dcli_received_free(&received);
    dcli_endpoint_map_writable(g.peer[1], NULL, NULL);
    close_group(&g);
    cr_expect_eq(unmapped, 0);
    dcli_buffers_close(buffers);
}

Test(shared, payloads_that_cannot_be_sent_are_released_once)
{
    group g = open_group();
    atomic_int released = 0;
    int sent = 0;
    for (int fail_after = 1; fail_after < 40; fail_after++) {
        dcli_payload payload = {malloc(100), 100, count_release, &released};
        dcli_message message = chunk(sent);
        dcli_alloc_fail_after(fail_after);
        dcl_status status = dcli_endpoint_send(g.peer[0], 1, &message, &payload);
        dcli_alloc_fail_after(0);
        cr_assert(status == DCL_OK || status == DCL_ERR_NOMEM, "%s", dcl_error());
        sent += status == DCL_OK;
        cr_expect_eq(released, fail_after, "after %d allocations", fail_after);
    }
    cr_expect(sent > 20 && sent < 39, "%d were sent: some allocations are needed at first, none later", sent);
    for (int i = 0; i < sent; i++) {
        dcli_received received = receive(g.peer[1], DCLI_MSG_CHUNK);
        cr_expect_eq(received.message.chunk.chunk, i);
        dcli_received_free(&received);
    }
    dcli_payload payload = {malloc(100), 100, count_release, &released};
    dcli_message message = chunk(0);
    dcli_endpoint_close(g.peer[2]);
    g.peer[2] = NULL;
    expect_lost(g.peer[0], 2, "has ended");
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 2, &message, &payload), DCL_ERR_NETWORK);
    cr_expect_eq(released, 40);
    close_group(&g);
}

Test(shared, closing_releases_what_was_not_received)
{
    for (int first = 0; first < PEERS; first++) { /* whoever closes first */
        atomic_int released = 0;
        group g = open_group();
        dcli_buffers *buffers = dcli_buffers_open_shared();
        for (int p = 0; p < PEERS; p++)
            dcli_endpoint_use_buffers(g.peer[p], buffers);
        for (int i = 0; i < 90; i++) {
            int *bytes = dcli_buffers_take(buffers, 100);
            *bytes = i;
            send_payload(g.peer[i % 3], i / 3 % 3, i, (dcli_payload){bytes, 100, count_give, &released});
        }
        dcli_received received = receive(g.peer[1], DCLI_MSG_CHUNK); /* held over the closing */
        int number = (int)received.message.chunk.chunk;
        dcli_endpoint_close(g.peer[first]);
        g.peer[first] = NULL;
        for (int p = 0; p < PEERS; p++)
            dcli_endpoint_close(g.peer[p]);
        memset(g.peer, 0, sizeof g.peer);
        cr_expect_eq(*(const int *)received.payload, number);
        dcli_received_free(&received);
        cr_expect_eq(released, 90);
        close_group(&g);
        dcli_buffers_close(buffers);
    }
}

/* ---- descriptors ---- */

/** A memfd that holds a number. */
static int numbered(int number)
{
    int descriptor = memfd_create("number", MFD_CLOEXEC);
    cr_assert_eq(write(descriptor, &number, sizeof number), (ssize_t)sizeof number);
    return descriptor;
}

static void send_part(dcli_endpoint *from, int to, int number)
{
    dcli_message message = {.kind = DCLI_MSG_PART, .part = {.storage = number, .bytes = 4, .memfd = 1}};
    int descriptor = numbered(number);
    cr_assert_eq(dcli_endpoint_send_descriptor(from, to, &message, descriptor), DCL_OK, "%s", dcl_error());
    close(descriptor);
}

static void expect_part(dcli_endpoint *at, int number)
{
    dcli_received received = receive(at, DCLI_MSG_PART);
    int found = -1;
    cr_assert(received.message.part.storage == number && received.has_descriptor);
    cr_assert_eq(pread(received.descriptor, &found, sizeof found, 0), (ssize_t)sizeof found);
    cr_assert_eq(found, number);
    cr_expect(fcntl(received.descriptor, F_GETFD) & FD_CLOEXEC);
    close(received.descriptor);
    dcli_received_free(&received);
}

Test(shared, descriptors_come_with_their_messages)
{
    group g = open_group();
    for (int n = 0; n < 400; n++) { /* more than a socket has room for */
        send_part(g.peer[0], 1, n);
        if (n % 3 == 0)
            send_credit(g.peer[0], 1, n);
    }
    cr_expect(((dcli_shared *)g.peer[0]->link)->link[1].waiting_descriptors > 0);
    for (int n = 0; n < 400; n++) {
        expect_part(g.peer[1], n);
        if (n % 3 == 0)
            expect_credit(g.peer[1], 0, n);
        hear(g.peer[0]);
    }
    send_part(g.peer[2], 2, 7);
    expect_part(g.peer[2], 7);
    for (int n = 0; n < 300; n++)
        send_part(g.peer[0], 1, n); /* nobody takes them: closed with the endpoints */
    send_part(g.peer[2], 2, 7);
    close_group(&g);
}

static void *send_parts(void *argument)
{
    for (int n = 0; n < 300; n++) {
        send_part(argument, 1, n);
        if (n % 50 == 0)
            usleep(1000); /* the other falls asleep */
    }
    dcli_received none;
    while (((dcli_shared *)((dcli_endpoint *)argument)->link)->link[1].first != NULL)
        dcli_endpoint_receive(argument, 100, &none);
    return NULL;
}

Test(shared, descriptors_reach_a_peer_that_sleeps)
{
    group g = open_group();
    pthread_t sender;
    cr_assert_eq(pthread_create(&sender, NULL, send_parts, g.peer[0]), 0);
    for (int n = 0; n < 300; n++)
        expect_part(g.peer[1], n);
    pthread_join(sender, NULL);
    close_group(&g);
}

/* ---- sleeping ---- */

static void *answer(void *argument)
{
    dcli_endpoint *endpoint = argument;
    for (;;) {
        dcli_received received = {0};
        if (dcli_endpoint_receive(endpoint, LONG, &received) != DCL_OK)
            return endpoint;
        int64_t number = received.message.credit.chunks;
        dcli_received_free(&received);
        dcli_message message = credit(number);
        if (dcli_endpoint_send(endpoint, 0, &message, NULL) != DCL_OK || number == 0)
            return NULL;
    }
}

Test(shared, a_sleeping_peer_is_woken)
{
    group g = open_group();
    pthread_t other;
    g.peer[0]->spin_ns = g.peer[1]->spin_ns = 0; /* both sleep whenever they wait */
    cr_assert_eq(pthread_create(&other, NULL, answer, g.peer[1]), 0);
    for (int n = 2000; n >= 0; n--) {
        send_credit(g.peer[0], 1, n);
        expect_credit(g.peer[0], 1, n);
        if (n % 400 == 0)
            usleep(2000);
    }
    void *failed;
    pthread_join(other, &failed);
    cr_expect_null(failed);
    close_group(&g);
}

Test(shared, no_bell_is_rung_for_a_peer_that_is_awake)
{
    group g = open_group();
    for (int n = 0; n < 100; n++) {
        send_credit(g.peer[0], 1, n);
        expect_credit(g.peer[1], 0, n);
    }
    char byte;
    int socket = ((dcli_shared *)g.peer[1]->link)->link[0].socket;
    cr_expect_eq(read(socket, &byte, 1), -1, "nothing has been sent over the socket");
    close_group(&g);
}

/** Whether a peer that sleeps is woken when payloads of so many bytes are given back. */
static bool wakes(group *g, int count, size_t bytes)
{
    static atomic_int released; /* may be counted after this function */
    dcli_received received[8];
    for (int n = 0; n < count; n++) {
        send_payload(g->peer[0], 1, n, (dcli_payload){calloc(1, bytes), bytes, count_release, &released});
        received[n] = receive(g->peer[1], DCLI_MSG_CHUNK);
    }
    cr_assert(g->peer[0]->transport->arm(g->peer[0]));
    for (int n = 0; n < count; n++)
        dcli_received_free(&received[n]);
    char byte;
    bool rung = recv(((dcli_shared *)g->peer[0]->link)->link[1].socket, &byte, 1, MSG_PEEK) == 1;
    g->peer[0]->transport->disarm(g->peer[0]);
    hear(g->peer[0]);
    return rung;
}

Test(shared, little_memory_given_back_wakes_nobody)
{
    group g = open_group();
    cr_expect_not(wakes(&g, 1, 4096));
    cr_expect_not(wakes(&g, 8, 100000));
    cr_expect(wakes(&g, 8, 200000), "more than 1 MB");
    send_credit(g.peer[1], 0, 1);
    expect_credit(g.peer[0], 1, 1);
    cr_expect(wakes(&g, 1, 2 << 20));
    close_group(&g);
}

Test(shared, waking_ends_a_wait)
{
    group g = open_group();
    dcli_received none;
    dcli_endpoint_wake(g.peer[0]);
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], LONG, &none), DCL_ERR_TIMEOUT);
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], 5, &none), DCL_ERR_TIMEOUT);
    close_group(&g);
}

/* ---- peers that come and go ---- */

Test(shared, a_dropped_peer_is_not_heard_and_its_end_not_said)
{
    group g = open_group();
    atomic_int released = 0;
    send_credit(g.peer[1], 0, 1);
    send_payload(g.peer[0], 1, 0, (dcli_payload){malloc(10), 10, count_release, &released});
    dcli_endpoint_drop(g.peer[0], 1);
    send_credit(g.peer[2], 0, 2);
    expect_credit(g.peer[0], 2, 2);
    dcli_message message = credit(3);
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &message, NULL), DCL_ERR_NETWORK);
    hear(g.peer[0]);
    cr_expect_eq(released, 1);
    dcli_received received = receive(g.peer[1], DCLI_MSG_CHUNK);
    expect_lost(g.peer[1], 0, "has ended");
    dcli_received_free(&received);
    close_group(&g);
}

Test(shared, a_peer_may_come_later_and_once)
{
    group g = open_group();
    dcli_shared_link ends[2], none[4] = {{.socket = -1}, {.socket = -1}, {.socket = -1}, {.socket = -1}};
    dcli_endpoint *host, *late;
    cr_assert_eq(dcli_endpoint_open_shared(g.net, 3, 4, none, &host), DCL_OK, "%s", dcl_error());
    dcli_message message = credit(1);
    cr_expect_eq(dcli_endpoint_send(host, 2, &message, NULL), DCL_ERR_NETWORK);
    cr_expect(strstr(dcl_error(), "peer 2 has no link") != NULL, "%s", dcl_error());
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK);
    cr_assert_eq(dcli_endpoint_add_link(host, 2, &ends[1]), DCL_OK, "%s", dcl_error());
    send_credit(host, 2, 9); /* before the other side is there */
    none[3] = ends[0];
    cr_assert_eq(dcli_endpoint_open_shared(g.net, 2, 4, none, &late), DCL_OK, "%s", dcl_error());
    expect_credit(late, 3, 9);
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK);
    cr_expect_eq(dcli_endpoint_add_link(host, 2, &ends[0]), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "peer 2 has, or had, a link") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_add_link(host, 3, &ends[1]), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "peer of a link is 3; expected 0..3, and not 3 itself") != NULL, "%s", dcl_error());
    dcli_endpoint_close(late);
    dcli_endpoint_close(host);
    close_group(&g);
}

Test(shared, links_that_are_none_are_refused)
{
    group g = open_group();
    dcli_endpoint *endpoint = NULL;
    for (int c = 0; c < 4; c++) {
        static const char *const words[] = {"is no socket of a link", "is of something that can shrink",
                                            "side of a link is 2; expected 0 or 1", "shared memory has 4096 bytes"};
        dcli_shared_link ends[2], link[2] = {{.socket = -1}, {.socket = -1}};
        cr_assert_eq(dcli_shared_link_make(ends), DCL_OK);
        dcli_sealed other;
        cr_assert_eq(dcli_sealed_make(4096, DCLI_SEALED_WRITABLE, &other), DCL_OK);
        link[1] = ends[0];
        if (c == 0)
            dup2(other.descriptor, link[1].socket);
        if (c == 1)
            dup2(ends[1].socket, link[1].memory);
        if (c == 2)
            link[1].side = 2;
        if (c == 3)
            dup2(other.descriptor, link[1].memory);
        dcl_status expected = c == 2 ? DCL_ERR_INVALID : DCL_ERR_PROTOCOL;
        cr_expect_eq(dcli_endpoint_open_shared(g.net, 0, 2, link, &endpoint), expected);
        cr_expect(strstr(dcl_error(), words[c]) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), words[c]);
        dcli_shared_link_close(&ends[1]);
        dcli_sealed_close(&other);
    }
    cr_expect_null(endpoint);
    close_group(&g);
}

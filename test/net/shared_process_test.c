/* net/shared_process_test.c - peers in processes of their own: death, standstill, hostility, and what is left. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dcl/forall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/shared.h"

enum { LONG = 20000 /* milliseconds: a test that waits so long has failed */ };

enum { HOST = 2, PEERS };

/** Peers 0 and 1 are processes, linked to this one, which is peer 2. */
typedef struct processes {
    dcli_net *net;
    dcli_endpoint *endpoint;
    pid_t process[HOST]; /* 0: none */
} processes;

/** What another process does; it ends with the value that this returns. */
typedef int serve_fn(dcli_endpoint *endpoint);

static pid_t start(int peer, serve_fn *serve, dcli_shared_link *end_out)
{
    dcli_shared_link ends[2];
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    pid_t process = fork();
    cr_assert(process >= 0);
    if (process == 0) {
        dcli_shared_link_close(&ends[1]);
        dcli_net *net;
        dcli_endpoint *endpoint;
        dcli_shared_link link[PEERS] = {{.socket = -1}, {.socket = -1}, ends[0]};
        bool open =
            dcli_net_open(&net) == DCL_OK && dcli_endpoint_open_shared(net, peer, PEERS, link, &endpoint) == DCL_OK;
        _exit(open ? serve(endpoint) : 99);
    }
    dcli_shared_link_close(&ends[0]);
    *end_out = ends[1];
    return process;
}

/** @param second  NULL: there is no peer 1. */
static processes start_processes(serve_fn *first, serve_fn *second)
{
    processes c = {0};
    dcli_shared_link link[PEERS] = {{.socket = -1}, {.socket = -1}, {.socket = -1}};
    if (second != NULL)
        c.process[1] = start(1, second, &link[1]);
    c.process[0] = start(0, first, &link[0]);
    cr_assert_eq(dcli_net_open(&c.net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open_shared(c.net, HOST, PEERS, link, &c.endpoint), DCL_OK, "%s", dcl_error());
    return c;
}

static int end_of(pid_t process)
{
    int status = 0;
    cr_assert_eq(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void end_processes(processes *c)
{
    dcli_endpoint_close(c->endpoint);
    dcli_net_close(c->net);
}

static dcli_link *link_of(const dcli_endpoint *endpoint, int peer)
{
    return &((dcli_shared *)endpoint->link)->link[peer];
}

static dcl_status send_credit(dcli_endpoint *from, int to, int64_t chunks)
{
    dcli_message message = {.kind = DCLI_MSG_CREDIT, .credit = {chunks}};
    return dcli_endpoint_send(from, to, &message, NULL);
}

/** @return the number; -1: something else came. */
static int64_t take_credit(dcli_endpoint *at)
{
    dcli_received received = {0};
    if (dcli_endpoint_receive(at, LONG, &received) != DCL_OK)
        return -1;
    int64_t chunks = received.message.kind == DCLI_MSG_CREDIT ? received.message.credit.chunks : -1;
    dcli_received_free(&received);
    return chunks;
}

static void expect_lost(dcli_endpoint *at, const char *words)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(at, LONG, &received), DCL_ERR_NODE_LOST, "%s", dcl_error());
    cr_expect_eq(received.from, 0);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), words);
    cr_expect_eq(dcli_endpoint_receive(at, 0, &received), DCL_ERR_TIMEOUT, "it is said once");
}

/* ---- two processes ---- */

static int echo(dcli_endpoint *endpoint)
{
    for (;;) {
        int64_t number = take_credit(endpoint);
        if (number < 0 || send_credit(endpoint, HOST, number) != DCL_OK)
            return 1;
        if (number == 0)
            return 0;
    }
}

Test(shared_process, messages_go_there_and_back)
{
    processes c = start_processes(echo, NULL);
    for (int64_t n = 1; n <= 3000; n++) {
        cr_assert_eq(send_credit(c.endpoint, 0, n), DCL_OK, "%s", dcl_error());
        cr_assert_eq(take_credit(c.endpoint), n, "%s", dcl_error());
        if (n % 1000 == 0)
            usleep(3000); /* it falls asleep */
    }
    send_credit(c.endpoint, 0, 0);
    cr_expect_eq(take_credit(c.endpoint), 0);
    cr_expect_eq(end_of(c.process[0]), 0);
    expect_lost(c.endpoint, "the process of peer 0 has ended");
    end_processes(&c);
}

static void give(void *bytes, void *user)
{
    dcli_buffers_give(bytes);
    ++*(int *)user;
}

enum { PAYLOADS = 60, WORDS = 1 << 18 };

static int send_payloads(dcli_endpoint *endpoint)
{
    int released = 0;
    dcli_buffers *buffers = dcli_buffers_open_shared();
    dcli_endpoint_use_buffers(endpoint, buffers);
    for (int n = 0; n < PAYLOADS; n++) {
        int *words = dcli_buffers_take(buffers, WORDS * sizeof *words);
        for (int i = 0; i < WORDS; i++)
            words[i] = n + i;
        dcli_message message = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1, .chunk = n}};
        dcli_payload payload = {words, WORDS * sizeof *words, give, &released};
        if (dcli_endpoint_send(endpoint, HOST, &message, &payload) != DCL_OK)
            return 1;
    }
    if (take_credit(endpoint) != 5)
        return 2;
    return released == PAYLOADS ? 0 : 3;
}

Test(shared_process, payloads_cross_processes)
{
    processes c = start_processes(send_payloads, NULL);
    for (int n = 0; n < PAYLOADS; n++) {
        dcli_received received;
        cr_assert_eq(dcli_endpoint_receive(c.endpoint, LONG, &received), DCL_OK, "%s", dcl_error());
        const int *words = received.payload;
        int wrong = 0;
        for (int i = 0; i < WORDS; i++)
            wrong += words[i] != n + i;
        cr_assert_eq(wrong, 0, "payload %d", n);
        dcli_received_free(&received);
    }
    send_credit(c.endpoint, 0, 5);
    cr_expect_eq(end_of(c.process[0]), 0);
    end_processes(&c);
}

/* ---- death ---- */

static int send_and_die(dcli_endpoint *endpoint)
{
    static int words[1000] = {4711};
    dcli_message part = {.kind = DCLI_MSG_PART, .part = {.storage = 1, .bytes = 1, .memfd = 1}};
    dcli_message chunk = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1}};
    dcli_payload payload = {words, sizeof words, NULL, NULL};
    for (int n = 0; n < 500; n++)
        send_credit(endpoint, HOST, n);
    dcli_endpoint_send_descriptor(endpoint, HOST, &part, 2);
    dcli_endpoint_send(endpoint, HOST, &chunk, &payload);
    return raise(SIGKILL);
}

Test(shared_process, what_was_sent_before_death_arrives)
{
    processes c = start_processes(send_and_die, NULL);
    cr_assert_eq(end_of(c.process[0]), 1000 + SIGKILL);
    for (int n = 0; n < 500; n++)
        cr_assert_eq(take_credit(c.endpoint), n, "%s", dcl_error());
    dcli_received part, chunk;
    cr_assert_eq(dcli_endpoint_receive(c.endpoint, LONG, &part), DCL_OK, "%s", dcl_error());
    cr_expect(part.has_descriptor);
    close(part.descriptor);
    dcli_received_free(&part);
    cr_assert_eq(dcli_endpoint_receive(c.endpoint, LONG, &chunk), DCL_OK, "%s", dcl_error());
    expect_lost(c.endpoint, "the process of peer 0 has ended");
    cr_expect_eq(*(const int *)chunk.payload, 4711, "what is held stays");
    dcli_received_free(&chunk);
    cr_expect_eq(send_credit(c.endpoint, 0, 1), DCL_ERR_NETWORK);
    end_processes(&c);
}

static int sleep_for_ever(dcli_endpoint *endpoint)
{
    send_credit(endpoint, HOST, 1);
    dcli_received none;
    return dcli_endpoint_receive(endpoint, -1, &none);
}

Test(shared_process, death_wakes_a_sleeper)
{
    processes c = start_processes(sleep_for_ever, NULL);
    cr_assert_eq(take_credit(c.endpoint), 1);
    int64_t start_ns = dcli_monotonic_ns();
    pid_t killer = fork();
    if (killer == 0) {
        usleep(30000);
        kill(c.process[0], SIGKILL);
        _exit(0);
    }
    expect_lost(c.endpoint, "the process of peer 0 has ended");
    int64_t took_ms = (dcli_monotonic_ns() - start_ns) / 1000000;
    cr_expect(took_ms >= 20 && took_ms < 5000, "%" PRId64 " ms", took_ms);
    end_of(killer);
    end_of(c.process[0]);
    end_processes(&c);
}

static int flood(dcli_endpoint *endpoint)
{
    for (int64_t n = 0; send_credit(endpoint, HOST, n) == DCL_OK; n++) {
        dcli_received none;
        while (link_of(endpoint, HOST)->first != NULL)
            if (dcli_endpoint_receive(endpoint, 10, &none) == DCL_ERR_NODE_LOST)
                return 0;
    }
    return 0;
}

static int die(dcli_endpoint *endpoint)
{
    (void)endpoint;
    return 0;
}

Test(shared_process, death_is_noticed_by_who_is_busy_with_others)
{
    processes c = start_processes(flood, die);
    end_of(c.process[1]);
    dcli_received received;
    dcl_status status = DCL_OK;
    int64_t start_ns = dcli_monotonic_ns(), taken = 0;
    for (; status == DCL_OK && dcli_monotonic_ns() - start_ns < INT64_C(10000000000); taken++) {
        status = dcli_endpoint_receive(c.endpoint, LONG, &received);
        if (status == DCL_OK)
            dcli_received_free(&received);
    }
    cr_expect_eq(status, DCL_ERR_NODE_LOST);
    cr_expect_eq(received.from, 1);
    cr_expect(dcli_monotonic_ns() - start_ns < INT64_C(5000000000), "%" PRId64 " ms",
              (dcli_monotonic_ns() - start_ns) / 1000000);
    dcli_endpoint_close(c.endpoint);
    c.endpoint = NULL;
    cr_expect_eq(end_of(c.process[0]), 0, "the other learns of our end");
    end_processes(&c);
}

Test(shared_process, death_is_noticed_by_who_never_waits)
{
    processes c = start_processes(die, NULL);
    end_of(c.process[0]);
    dcli_received received;
    dcl_status status = DCL_ERR_TIMEOUT;
    int64_t start_ns = dcli_monotonic_ns();
    while (status == DCL_ERR_TIMEOUT && dcli_monotonic_ns() - start_ns < INT64_C(10000000000))
        status = dcli_endpoint_receive(c.endpoint, 0, &received);
    cr_expect_eq(status, DCL_ERR_NODE_LOST);
    cr_expect(dcli_monotonic_ns() - start_ns < INT64_C(5000000000), "%" PRId64 " ms",
              (dcli_monotonic_ns() - start_ns) / 1000000);
    end_processes(&c);
}

Test(shared_process, a_stopped_process_loses_nothing)
{
    processes c = start_processes(echo, NULL);
    cr_assert_eq(send_credit(c.endpoint, 0, 1), DCL_OK);
    cr_assert_eq(take_credit(c.endpoint), 1);
    kill(c.process[0], SIGSTOP);
    for (int64_t n = 2; n <= 30000; n++)
        cr_assert_eq(send_credit(c.endpoint, 0, n), DCL_OK, "%s", dcl_error());
    cr_expect_not_null(link_of(c.endpoint, 0)->first, "more than there is room for");
    dcli_received none;
    cr_expect_eq(dcli_endpoint_receive(c.endpoint, 20, &none), DCL_ERR_TIMEOUT);
    kill(c.process[0], SIGCONT);
    for (int64_t n = 2; n <= 30000; n++)
        cr_assert_eq(take_credit(c.endpoint), n, "%s", dcl_error());
    send_credit(c.endpoint, 0, 0);
    cr_expect_eq(take_credit(c.endpoint), 0);
    cr_expect_eq(end_of(c.process[0]), 0);
    end_processes(&c);
}

static int answer_the_last(dcli_endpoint *endpoint)
{
    for (int64_t n = 30000; n >= 0; n--)
        if (take_credit(endpoint) != n)
            return 1;
    return send_credit(endpoint, HOST, 1) == DCL_OK ? 0 : 2;
}

Test(shared_process, a_sender_that_sleeps_is_told_of_room)
{
    processes c = start_processes(answer_the_last, NULL);
    kill(c.process[0], SIGSTOP);
    for (int64_t n = 30000; n >= 0; n--)
        cr_assert_eq(send_credit(c.endpoint, 0, n), DCL_OK, "%s", dcl_error());
    kill(c.process[0], SIGCONT);
    cr_expect_eq(take_credit(c.endpoint), 1, "%s", dcl_error());
    cr_expect_eq(end_of(c.process[0]), 0);
    end_processes(&c);
}

/* ---- hostility: the other end is the test's own hand ---- */

/** A link whose one end is an endpoint, whose other is raw. */
typedef struct raw {
    dcli_net *net;
    dcli_endpoint *endpoint; /* peer 1 of 2 */
    int socket;
    dcli_sealed memory;
    dcli_ring in, out; /* of the raw end */
} raw;

static raw open_raw(void)
{
    raw r = {0};
    dcli_shared_link ends[2];
    cr_assert_eq(dcli_net_open(&r.net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_sealed_map(ends[0].memory, sizeof(dcli_ring_pair), DCLI_SEALED_WRITABLE, &r.memory), DCL_OK);
    r.socket = ends[0].socket;
    close(ends[0].memory);
    r.out = dcli_ring_of((dcli_ring_pair *)r.memory.bytes, 0);
    r.in = dcli_ring_of((dcli_ring_pair *)r.memory.bytes, 1);
    dcli_shared_link link[2] = {ends[1], {.socket = -1}};
    cr_assert_eq(dcli_endpoint_open_shared(r.net, 1, 2, link, &r.endpoint), DCL_OK, "%s", dcl_error());
    return r;
}

static void close_raw(raw *r)
{
    dcli_endpoint_close(r->endpoint);
    dcli_net_close(r->net);
    dcli_sealed_close(&r->memory);
    close(r->socket);
}

static void put(raw *r, int kind, int flags, uint64_t value, const void *body, size_t length)
{
    dcli_ring_head head = {(uint32_t)length, (uint16_t)kind, (uint16_t)flags, value};
    if (dcli_ring_has_room(&r->out, length) == DCLI_RING_DONE)
        dcli_ring_put(&r->out, &head, body, length, NULL, 0);
}

/** A packet with `count` copies of a descriptor. */
static void packet(const raw *r, const char *bytes, size_t length, int descriptor, int count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN((size_t)count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        for (int n = 0; n < count; n++)
            memcpy(CMSG_DATA(head) + (size_t)n * sizeof(int), &descriptor, sizeof descriptor);
    }
    (void)sendmsg(r->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static const unsigned char credit_of_5[] = {0x94, DCLI_PROTOCOL, 6, 0, 5},
                           chunk_of_1[] = {0x96, DCLI_PROTOCOL, 5, 0, 1, 0, 0};

static void put_place(raw *r, uint64_t region, uint64_t offset, uint64_t length)
{
    unsigned char body[sizeof(dcli_shared_place) + sizeof chunk_of_1];
    dcli_shared_place place = {region, offset, length, 1};
    memcpy(body, &place, sizeof place);
    memcpy(body + sizeof place, chunk_of_1, sizeof chunk_of_1);
    put(r, DCLI_SHARED_MESSAGE, DCLI_SHARED_HAS_PAYLOAD, sizeof chunk_of_1, body, sizeof body);
}

static void put_region(raw *r, uint64_t number, uint64_t bytes, int descriptor)
{
    if (descriptor >= 0)
        packet(r, "d", 1, descriptor, 1);
    put(r, DCLI_SHARED_REGION, DCLI_SHARED_HAS_DESCRIPTOR, number, &bytes, sizeof bytes);
}

static void good_region(raw *r)
{
    dcli_sealed memory;
    cr_assert_eq(dcli_sealed_make(8192, DCLI_SEALED_READABLE, &memory), DCL_OK);
    put_region(r, 7, 8192, memory.descriptor);
    dcli_sealed_close(&memory);
}

static void head_beyond(raw *r) { atomic_store(&r->out.words->head, 1 << 20); }
static void head_odd(raw *r) { atomic_store(&r->out.words->head, 8); }
static void unknown_kind(raw *r) { put(r, 9, 0, 0, NULL, 0); }
static void unknown_flags(raw *r) { put(r, DCLI_SHARED_MESSAGE, 8, 5, credit_of_5, 5); }
static void too_long(raw *r) { put(r, DCLI_SHARED_MESSAGE, 0, (1 << 20) + 1, credit_of_5, 5); }
static void longer_than_said(raw *r) { put(r, DCLI_SHARED_MESSAGE, 0, 4, credit_of_5, 5); }
static void more_of_nothing(raw *r) { put(r, DCLI_SHARED_MORE, 0, 0, credit_of_5, 5); }
static void more_than_said(raw *r)
{
    put(r, DCLI_SHARED_MESSAGE, 0, 8, credit_of_5, 5);
    put(r, DCLI_SHARED_MORE, 0, 0, credit_of_5, 5);
}
static void nothing_more(raw *r)
{
    put(r, DCLI_SHARED_MESSAGE, 0, 8, credit_of_5, 5);
    put(r, DCLI_SHARED_MORE, 0, 0, NULL, 0);
}
static void message_in_message(raw *r)
{
    put(r, DCLI_SHARED_MESSAGE, 0, 8, credit_of_5, 5);
    put(r, DCLI_SHARED_MESSAGE, 0, 5, credit_of_5, 5);
}
static void unknown_ticket(raw *r) { put(r, DCLI_SHARED_RETURN, 0, UINT64_C(1) << 32, NULL, 0); }
/** Let the endpoint send a payload. @return its ticket. */
static uint64_t ticket_of_payload(raw *r)
{
    static int words[100];
    dcli_message message = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1}};
    dcli_payload payload = {words, sizeof words, NULL, NULL};
    cr_assert_eq(dcli_endpoint_send(r->endpoint, 0, &message, &payload), DCL_OK, "%s", dcl_error());
    for (;;) {
        dcli_ring_head head;
        dcli_shared_place place;
        cr_assert_eq(dcli_ring_look(&r->in, &head), DCLI_RING_DONE);
        dcli_ring_copy(&r->in, 0, &place, head.length < sizeof place ? head.length : sizeof place);
        dcli_ring_pass(&r->in, &head);
        if (head.kind == DCLI_SHARED_MESSAGE)
            return place.ticket;
    }
}

static void return_twice(raw *r)
{
    uint64_t ticket = ticket_of_payload(r);
    cr_assert_eq(ticket, UINT64_C(1) << 32, "first use of the first place");
    put(r, DCLI_SHARED_RETURN, 0, ticket, NULL, 0);
    put(r, DCLI_SHARED_RETURN, 0, ticket, NULL, 0);
}

static void return_what_was_before(raw *r)
{
    uint64_t ticket = ticket_of_payload(r);
    put(r, DCLI_SHARED_RETURN, 0, ticket, NULL, 0);
    dcli_received none;
    cr_assert_eq(dcli_endpoint_receive(r->endpoint, 1, &none), DCL_ERR_TIMEOUT);
    cr_assert_eq(ticket_of_payload(r), UINT64_C(2) << 32, "second use of the first place");
    put(r, DCLI_SHARED_RETURN, 0, ticket, NULL, 0);
}

static void unknown_region(raw *r) { put_place(r, 3, 0, 10); }
static void payload_beyond(raw *r)
{
    good_region(r);
    put_place(r, 7, 8000, 193);
}
static void payload_overflow(raw *r)
{
    good_region(r);
    put_place(r, 7, UINT64_MAX - 5, 10);
}
static void payload_of_nothing(raw *r)
{
    good_region(r);
    put_place(r, 7, 0, 0);
}
static void no_place(raw *r) { put(r, DCLI_SHARED_MESSAGE, DCLI_SHARED_HAS_PAYLOAD, 5, credit_of_5, 5); }
static void region_twice(raw *r)
{
    good_region(r);
    good_region(r);
}
static void forget_unknown(raw *r) { put(r, DCLI_SHARED_FORGET, 0, 8, NULL, 0); }
static void forget_twice(raw *r)
{
    good_region(r);
    put(r, DCLI_SHARED_FORGET, 0, 7, NULL, 0);
    put(r, DCLI_SHARED_FORGET, 0, 7, NULL, 0);
}
static void region_without_descriptor(raw *r) { put_region(r, 7, 8192, -1); }
static void region_of_no_memory(raw *r) { put_region(r, 7, 8192, r->socket); }
static void region_that_can_shrink(raw *r)
{
    int descriptor = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(descriptor, 8192), 0);
    put_region(r, 7, 8192, descriptor);
    close(descriptor);
}
static void region_of_other_size(raw *r)
{
    dcli_sealed memory;
    cr_assert_eq(dcli_sealed_make(4096, DCLI_SEALED_READABLE, &memory), DCL_OK);
    put_region(r, 7, 8192, memory.descriptor);
    dcli_sealed_close(&memory);
}
static void descriptor_without_record(raw *r)
{
    packet(r, "d", 1, 2, 1);
    packet(r, "d", 1, 2, 1);
}
static void bell_behind_descriptor(raw *r)
{
    packet(r, "d", 1, 2, 1);
    packet(r, "b", 1, 2, 0);
}
static void two_descriptors(raw *r) { packet(r, "d", 1, 2, 2); }
static void bell_with_descriptor(raw *r) { packet(r, "b", 1, 2, 1); }
static void odd_packet(raw *r) { packet(r, "x", 1, 2, 0); }
static void long_packet(raw *r) { packet(r, "bb", 2, 2, 0); }
static void read_too_much(raw *r)
{
    while (link_of(r->endpoint, 0)->first == NULL) /* so the ring is full */
        cr_assert_eq(send_credit(r->endpoint, 0, 1), DCL_OK);
    atomic_store(&r->in.words->tail, UINT64_C(1) << 40);
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/** Lines of /proc/self/maps about memory that is shared. */
static int count_mappings(void)
{
    int count = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "/memfd:") != NULL;
    fclose(maps);
    return count;
}

Test(shared_process, a_violation_is_said_and_ends_the_peer)
{
    static const struct {
        void (*violate)(raw *r);
        const char *words;
    } cases[] = {
        {head_beyond, "a position or length that cannot be"},
        {head_odd, "a position or length that cannot be"},
        {unknown_kind, "a record of kind 9 about 0"},
        {unknown_flags, "began a message of 5 bytes with a record of 5"},
        {too_long, "began a message of 1048577 bytes with a record of 5; expected 1048576 at most"},
        {longer_than_said, "began a message of 4 bytes with a record of 5"},
        {more_of_nothing, "continued a message by 5 bytes; expected 0 at most"},
        {more_than_said, "continued a message by 5 bytes; expected 3 at most"},
        {nothing_more, "continued a message by 0 bytes; expected 3 at most"},
        {message_in_message, "a record of kind 1 about 5"},
        {unknown_ticket, "a record of kind 3 about 4294967296"},
        {return_twice, "a record of kind 3 about 4294967296"},
        {return_what_was_before, "a record of kind 3 about 4294967296"},
        {unknown_region, "a payload of 10 bytes at 0 of region 3, which has 0"},
        {payload_beyond, "a payload of 193 bytes at 8000 of region 7, which has 8192"},
        {payload_overflow, "a payload of 10 bytes at 18446744073709551610 of region 7"},
        {payload_of_nothing, "a payload of 0 bytes at 0 of region 7"},
        {no_place, "began a message of 5 bytes with a record of 5"},
        {region_twice, "shares region 7 twice"},
        {forget_unknown, "a record of kind 5 about 8"},
        {forget_twice, "a record of kind 5 about 7"},
        {region_without_descriptor, "announced a descriptor that did not come"},
        {region_of_no_memory, "is of something that can shrink"},
        {region_that_can_shrink, "is of something that can shrink"},
        {region_of_other_size, "shared memory has 4096 bytes; expected 8192"},
        {descriptor_without_record, "a descriptor that no record announced"},
        {bell_behind_descriptor, "a descriptor that no record announced"},
        {two_descriptors, "neither bell nor descriptor"},
        {bell_with_descriptor, "neither bell nor descriptor"},
        {odd_packet, "neither bell nor descriptor"},
        {long_packet, "neither bell nor descriptor"},
        {read_too_much, "has read what was never sent"},
    };
    int descriptors = count_descriptors(), mappings = count_mappings();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        raw r = open_raw();
        put(&r, DCLI_SHARED_MESSAGE, 0, 5, credit_of_5, 5);
        cr_assert_eq(take_credit(r.endpoint), 5, "what was right before is taken");
        cases[c].violate(&r);
        dcli_received received;
        cr_expect_eq(dcli_endpoint_receive(r.endpoint, 1000, &received), DCL_ERR_PROTOCOL, "%s", cases[c].words);
        cr_expect(strstr(dcl_error(), cases[c].words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), cases[c].words);
        cr_expect_eq(dcli_endpoint_refused(r.endpoint), 1);
        expect_lost(r.endpoint, cases[c].words);
        struct pollfd end = {.fd = r.socket, .events = 0};
        cr_expect_eq(poll(&end, 1, 1000), 1, "the other side learns of it");
        close_raw(&r);
        cr_expect_eq(count_descriptors(), descriptors, "%s", cases[c].words);
        cr_expect_eq(count_mappings(), mappings, "%s", cases[c].words);
    }
}

Test(shared_process, a_region_that_is_forgotten_too_early_stays_while_it_is_held)
{
    raw r = open_raw();
    good_region(&r);
    put_place(&r, 7, 100, 5000);
    put(&r, DCLI_SHARED_FORGET, 0, 7, NULL, 0);
    dcli_received received, none;
    cr_assert_eq(dcli_endpoint_receive(r.endpoint, LONG, &received), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_receive(r.endpoint, 1, &none), DCL_ERR_TIMEOUT);
    cr_expect_eq(((const char *)received.payload)[4999], 0);
    cr_expect_eq(link_of(r.endpoint, 0)->view_count, 1);
    dcli_received_free(&received);
    cr_expect_eq(link_of(r.endpoint, 0)->view_count, 0);
    close_raw(&r);
}

static void free_body(void *bytes, void *user)
{
    (void)user;
    free(bytes);
}

static uint64_t random_of(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) ^ *state >> 7;
}

/** Something that is right, nearly right or wrong. */
static void do_anything(raw *r, uint64_t *state)
{
    unsigned char body[200];
    uint64_t choice = random_of(state) % 16, value = random_of(state);
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (unsigned char)random_of(state);
    switch (choice) {
    case 0:
        put(r, (int)(value % 7), (int)(value >> 8) % 5, value >> 16 & (value & 64 ? UINT64_MAX : 255), body,
            (value >> 4) % sizeof body);
        break;
    case 1:
        packet(r, value % 2 ? "d" : "b", 1, r->socket, (int)(value >> 8) % 3);
        break;
    case 2:
        good_region(r);
        break;
    case 3:
        put_place(r, value % 9, value >> 8 & 0x3fff, value >> 24 & 0x3fff);
        break;
    case 4:
        if (value % 4 == 0) /* anywhere: positions, flags, records */
            memcpy(r->memory.bytes + random_of(state) % 512, body, 8);
        break;
    case 5:
        memcpy(r->memory.bytes + 4096 + value % 4096, body, 1 + value % 8);
        break;
    case 6:
        atomic_fetch_add(&r->in.words->tail, value % 8 * 16);
        break;
    default:
        put(r, DCLI_SHARED_MESSAGE, 0, 5, credit_of_5, 5);
    }
}

Test(shared_process, garbage_is_survived)
{
    enum { SEEDS = 600, HELD = 8 };
    int descriptors = count_descriptors(), mappings = count_mappings(), lost = 0, taken = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t state = seed;
        raw r = open_raw();
        dcli_received held[HELD] = {0};
        dcl_status status = DCL_OK;
        for (int n = 0; n < (int)(seed % 60) && status != DCL_ERR_NODE_LOST; n++) {
            dcli_received received;
            do_anything(&r, &state);
            status = dcli_endpoint_receive(r.endpoint, n % 20 == 0, &received);
            cr_assert(status == DCL_OK || status == DCL_ERR_TIMEOUT || status == DCL_ERR_PROTOCOL ||
                      status == DCL_ERR_NODE_LOST);
            if (status == DCL_OK) {
                taken++;
                if (received.has_descriptor)
                    close(received.descriptor);
                dcli_received_free(&held[n % HELD]);
                held[n % HELD] = received;
            }
            dcli_message message = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1}};
            dcli_payload payload = {calloc(1, 1000), 1000, free_body, NULL};
            (void)dcli_endpoint_send(r.endpoint, 0, &message, &payload);
        }
        lost += status == DCL_ERR_NODE_LOST;
        close_raw(&r);
        for (int n = 0; n < HELD; n++)
            dcli_received_free(&held[n]);
    }
    cr_expect(lost > SEEDS / 2 && lost < SEEDS, "%d of %d", lost, SEEDS);
    cr_expect(taken > SEEDS, "%d messages were right", taken);
    cr_expect_eq(count_descriptors(), descriptors);
    cr_expect_eq(count_mappings(), mappings);
}

/* ---- what is left ---- */

Test(shared_process, nothing_stays_open_after_closing)
{
    int descriptors = count_descriptors(), mappings = count_mappings();
    for (int round = 0; round < 20; round++) {
        processes c = start_processes(round % 2 == 0 ? send_payloads : send_and_die, die);
        dcli_received received, kept = {0};
        for (int n = 0; n < 20; n++)
            if (dcli_endpoint_receive(c.endpoint, LONG, &received) == DCL_OK) {
                if (received.has_descriptor)
                    close(received.descriptor);
                dcli_received_free(&kept);
                kept = received;
            }
        kill(c.process[0], SIGKILL);
        end_processes(&c);
        dcli_received_free(&kept);
        end_of(c.process[0]);
        end_of(c.process[1]);
    }
    cr_expect_eq(count_descriptors(), descriptors);
    cr_expect_eq(count_mappings(), mappings);
}

/* net/shared_descriptor_test.c - descriptors between processes: their order, many of them, and more than belong there. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/shared.h"

enum { LONG = 20000 /* milliseconds: a test that waits so long has failed */ };

/* ---- what comes between two looks ---- */

/* What the other side does right before the n-th time that a socket is read. */
static _Thread_local struct {
    int socket, reads; /* reads 0: nothing is due */
    void (*act)(void *user);
    void *user;
} due;

ssize_t recvmsg(int socket, struct msghdr *packet, int flags)
{
    ssize_t (*receive)(int, struct msghdr *, int);
    *(void **)&receive = dlsym(RTLD_NEXT, "recvmsg");
    if (due.reads > 0 && socket == due.socket && --due.reads == 0)
        due.act(due.user);
    return receive(socket, packet, flags);
}

/* ---- descriptors ---- */

/** A memfd that holds a number. */
static int numbered(int64_t number)
{
    int descriptor = memfd_create("number", MFD_CLOEXEC);
    cr_assert_eq(write(descriptor, &number, sizeof number), (ssize_t)sizeof number);
    return descriptor;
}

static dcli_message part(int64_t number)
{
    return (dcli_message){.kind = DCLI_MSG_PART, .part = {.storage = number, .bytes = 8, .memfd = 1}};
}

/** The next message, a part. @return the number in its memory; -1: that is not the message's. */
static int64_t take_part(dcli_endpoint *at)
{
    dcli_received received = {0};
    int64_t found = -1;
    cr_assert_eq(dcli_endpoint_receive(at, LONG, &received), DCL_OK, "%s", dcl_error());
    cr_assert(received.message.kind == DCLI_MSG_PART && received.has_descriptor);
    cr_assert_eq(pread(received.descriptor, &found, sizeof found, 0), (ssize_t)sizeof found);
    cr_expect_eq(received.message.part.storage, found, "memory of part %d came with part %d", (int)found,
                 (int)received.message.part.storage);
    close(received.descriptor);
    dcli_received_free(&received);
    return found;
}

static int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    cr_assert_not_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/** With `count` copies of a descriptor. */
static void send_packet(int socket, char type, int descriptor, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    struct iovec byte = {&type, 1};
    struct msghdr packet = {.msg_iov = &byte, .msg_iovlen = 1};
    packet.msg_control = control.bytes;
    packet.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *head = CMSG_FIRSTHDR(&packet);
    *head =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    for (size_t n = 0; n < count; n++)
        memcpy(CMSG_DATA(head) + n * sizeof(int), &descriptor, sizeof descriptor);
    cr_assert_eq(sendmsg(socket, &packet, MSG_NOSIGNAL), 1);
}

/* ---- their order ---- */

/** Peer 1 of a net, and in this test's hand the other end of its link to peer 0. */
typedef struct hand {
    dcli_net *net;
    dcli_endpoint *endpoint;
    int socket;
    dcli_sealed memory;
    dcli_ring out;
} hand;

static hand open_hand(void)
{
    hand h = {0};
    dcli_shared_link ends[2];
    cr_assert_eq(dcli_net_open(&h.net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_sealed_map(ends[0].memory, sizeof(dcli_ring_pair), DCLI_SEALED_WRITABLE, &h.memory), DCL_OK);
    close(ends[0].memory);
    h.socket = ends[0].socket;
    h.out = dcli_ring_of((dcli_ring_pair *)h.memory.bytes, 0);
    dcli_shared_link link[2] = {ends[1], {.socket = -1}};
    cr_assert_eq(dcli_endpoint_open_shared(h.net, 1, 2, link, &h.endpoint), DCL_OK, "%s", dcl_error());
    return h;
}

static void close_hand(hand *h)
{
    dcli_endpoint_close(h->endpoint);
    dcli_net_close(h->net);
    dcli_sealed_close(&h->memory);
    close(h->socket);
}

static void write_descriptor(hand *h, int64_t number)
{
    int descriptor = numbered(number);
    send_packet(h->socket, 'd', descriptor, 1);
    close(descriptor);
}

static void write_record(hand *h, int64_t number)
{
    dcli_pack_buffer packed = {0};
    dcli_message message = part(number);
    cr_assert_eq(dcli_message_pack_into(&message, &packed), DCL_OK);
    dcli_ring_head head = {(uint32_t)packed.length, DCLI_SHARED_MESSAGE, DCLI_SHARED_HAS_DESCRIPTOR, packed.length};
    cr_assert_eq(dcli_ring_has_room(&h->out, packed.length), DCLI_RING_DONE);
    dcli_ring_put(&h->out, &head, packed.bytes, packed.length, NULL, 0);
    dcli_free(packed.bytes);
}

static void write_the_rest(void *user)
{
    write_record(user, 1);
    write_descriptor(user, 2);
    write_record(user, 2);
}

/* The reader has taken the first descriptor, and has seen that there is no record yet, when the record and the second
 * descriptor come. */
Test(shared_descriptor, one_that_came_early_keeps_its_place)
{
    hand h = open_hand();
    dcli_link *link = &((dcli_shared *)h.endpoint->link)->link[0];
    int before = open_descriptors();
    write_descriptor(&h, 1);
    due.socket = link->socket;
    due.reads = 2;
    due.act = write_the_rest;
    due.user = &h;
    dcli_link_drain(link);
    cr_assert_eq(due.reads, 0, "the reader has looked at the socket twice");
    cr_expect_eq(link->state, DCLI_LINK_OPEN, "%s", link->why);
    cr_expect_eq(take_part(h.endpoint), 1);
    cr_expect_eq(take_part(h.endpoint), 2);
    cr_expect_eq(open_descriptors(), before);
    close_hand(&h);
}

Test(shared_descriptor, the_end_is_seen_behind_one_that_came_early)
{
    hand h = open_hand();
    dcli_link *link = &((dcli_shared *)h.endpoint->link)->link[0];
    dcli_received none = {0};
    write_descriptor(&h, 1);
    dcli_link_drain(link);
    cr_expect(link->early >= 0 && link->state == DCLI_LINK_OPEN);
    shutdown(h.socket, SHUT_RDWR);
    cr_expect_eq(dcli_endpoint_receive(h.endpoint, LONG, &none), DCL_ERR_NODE_LOST);
    cr_expect(strstr(dcl_error(), "has ended") != NULL, "%s", dcl_error());
    close_hand(&h);
}

/* ---- more than belong there ---- */

Test(shared_descriptor, a_folded_link_brings_one)
{
    for (size_t count = 1; count <= 2; count++) {
        dcli_shared_link ends[2], adopted = {.socket = -1};
        int before = open_descriptors();
        cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
        send_packet(ends[1].socket, 0, ends[0].memory, count);
        dcl_status status = dcli_shared_link_adopt(ends[0].socket, &adopted); /* takes the socket */
        cr_expect_eq(status, count == 1 ? DCL_OK : DCL_ERR_PROTOCOL, "%zu descriptors: %s", count, dcl_error());
        if (count == 2)
            cr_expect(strstr(dcl_error(), "or with more; expected both") != NULL, "%s", dcl_error());
        dcli_shared_link_close(&adopted);
        dcli_shared_link_close(&ends[1]);
        close(ends[0].memory);
        cr_expect_eq(open_descriptors(), before, "%zu descriptors: all are closed", count);
    }
}

/* ---- many that wait ---- */

/** Finds memory that holds the number, of which one at a time is open. */
typedef struct lender {
    int descriptor;
    bool released; /* every tenth is not there any more */
} lender;

static bool is_released(int64_t number) { return number % 10 == 7; }

static int lend(void *user, int64_t number)
{
    lender *lender = user;
    if (lender->descriptor >= 0)
        close(lender->descriptor);
    lender->descriptor = lender->released && is_released(number) ? -1 : numbered(number);
    return lender->descriptor;
}

/* The receiver takes nothing until thousands wait: what is still wanted then comes, in order, with its own memory. */
Test(shared_descriptor, lent_ones_wait_without_copies)
{
    enum { COUNT = 3000 };
    dcli_net *net;
    dcli_endpoint *peer[2];
    dcli_shared_link ends[2], none = {.socket = -1};
    cr_assert_eq(dcli_net_open(&net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open_shared(net, 0, 2, (dcli_shared_link[]){none, ends[0]}, &peer[0]), DCL_OK);
    cr_assert_eq(dcli_endpoint_open_shared(net, 1, 2, (dcli_shared_link[]){ends[1], none}, &peer[1]), DCL_OK);
    dcli_link *link = &((dcli_shared *)peer[0]->link)->link[1];
    lender lender = {.descriptor = -1};
    int before = open_descriptors();
    int64_t sent = 0; /* at once */
    for (int64_t n = 0; n < COUNT; n++) {
        dcli_message message = part(n);
        dcli_descriptor_loan loan = {lend, &lender, n};
        cr_assert_eq(dcli_endpoint_send_lent(peer[0], 1, &message, &loan), DCL_OK, "%s", dcl_error());
        sent += link->first == NULL;
    }
    cr_expect(sent < COUNT / 2, "%d had room", (int)sent);
    cr_expect_eq(open_descriptors(), before + 1);
    lender.released = true;
    for (int64_t n = 0; n < COUNT; n++) {
        dcli_received nothing;
        if (n >= sent && is_released(n))
            continue;
        cr_assert_eq(take_part(peer[1]), n);
        cr_assert_eq(dcli_endpoint_receive(peer[0], 0, &nothing), DCL_ERR_TIMEOUT, "%s", dcl_error());
        dcli_link_push(link);
    }
    cr_expect_null(link->first, "all is sent");
    dcli_endpoint_close(peer[0]);
    dcli_endpoint_close(peer[1]);
    dcli_net_close(net);
    close(lender.descriptor);
}

Test(shared_descriptor, a_lent_one_that_is_gone_is_not_sent)
{
    hand h = open_hand();
    lender lender = {.descriptor = -1, .released = true};
    dcli_message message = part(7);
    dcli_descriptor_loan loan = {lend, &lender, 7};
    char byte;
    cr_expect_eq(dcli_endpoint_send_lent(h.endpoint, 0, &message, &loan), DCL_OK, "%s", dcl_error());
    cr_expect_eq(recv(h.socket, &byte, 1, MSG_DONTWAIT), -1, "nothing has been sent over the socket");
    close_hand(&h);
}

/* ---- none is free ------------------------------------------------------------------------------------------------- */

/* Two endpoints of this process, which may open nothing more until allow_descriptors(). */
typedef struct poor {
    dcli_net *net;
    dcli_endpoint *peer[2];
    struct rlimit limit;
} poor;

static void open_poor(poor *p)
{
    dcli_shared_link ends[2], none = {.socket = -1};
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &p->limit), 0);
    cr_assert_eq(dcli_net_open(&p->net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open_shared(p->net, 0, 2, (dcli_shared_link[]){none, ends[0]}, &p->peer[0]), DCL_OK);
    cr_assert_eq(dcli_endpoint_open_shared(p->net, 1, 2, (dcli_shared_link[]){ends[1], none}, &p->peer[1]), DCL_OK);
}

static void close_poor(poor *p)
{
    dcli_endpoint_close(p->peer[0]);
    dcli_endpoint_close(p->peer[1]);
    dcli_net_close(p->net);
}

static void deny_descriptors(const poor *p)
{
    int lowest = dup(0);
    cr_assert(lowest >= 0);
    close(lowest);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)lowest, p->limit.rlim_max}), 0);
}

static void allow_descriptors(const poor *p) { cr_assert_eq(setrlimit(RLIMIT_NOFILE, &p->limit), 0); }

static dcli_received receive(dcli_endpoint *at)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(at, LONG, &received), DCL_OK, "%s", dcl_error());
    return received;
}

/* A link to a newcomer whose memory has no descriptor: only that newcomer cannot be reached. */
Test(shared_descriptor, a_folded_link_for_whose_memory_there_is_no_room_is_a_lost_peer)
{
    poor p;
    dcli_shared_link ends[2], adopted = {.socket = -1};
    open_poor(&p);
    int before = open_descriptors();
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_shared_link_fold(&ends[0], &ends[1]), DCL_OK, "%s", dcl_error());
    deny_descriptors(&p);
    dcl_status status = dcli_shared_link_adopt(ends[0].socket, &adopted); /* takes the socket */
    allow_descriptors(&p);
    cr_expect_eq(status, DCL_ERR_NODE_LOST, "%s", dcl_error());
    cr_expect(strstr(dcl_error(), "ulimit -n") != NULL, "%s", dcl_error());
    dcli_shared_link_close(&ends[1]);
    cr_expect_eq(open_descriptors(), before);
    close_poor(&p);
}

/* The message comes, and says that its descriptor has not; the next one has its own. */
Test(shared_descriptor, one_for_which_there_is_no_room_is_missing)
{
    poor p;
    open_poor(&p);
    int descriptor = numbered(1);
    dcli_message message = part(1);
    cr_assert_eq(dcli_endpoint_send_descriptor(p.peer[0], 1, &message, descriptor), DCL_OK, "%s", dcl_error());
    deny_descriptors(&p);
    dcli_received first = receive(p.peer[1]);
    allow_descriptors(&p);
    cr_expect(first.message.kind == DCLI_MSG_PART && !first.has_descriptor && first.descriptor_missing);
    dcli_received_free(&first);
    cr_assert_eq(dcli_endpoint_send_descriptor(p.peer[0], 1, &message, descriptor), DCL_OK, "%s", dcl_error());
    cr_expect_eq(take_part(p.peer[1]), 1);
    close(descriptor);
    close_poor(&p);
}

static void give_back(void *bytes, void *user)
{
    (void)user;
    dcli_buffers_give(bytes);
}

static void send_chunk(const poor *p, dcli_buffers *buffers, int number)
{
    dcli_message message = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = number}};
    int *bytes = dcli_buffers_take(buffers, sizeof *bytes);
    cr_assert_not_null(bytes);
    *bytes = number;
    dcli_payload payload = {.bytes = bytes, .length = sizeof *bytes, .release = give_back};
    cr_assert_eq(dcli_endpoint_send(p->peer[0], 1, &message, &payload), DCL_OK, "%s", dcl_error());
}

/* The memory that payloads lie in cannot be mapped: these are missing, until it is told anew. */
Test(shared_descriptor, payloads_are_missing_while_there_is_no_room)
{
    poor p;
    open_poor(&p);
    dcli_buffers *buffers = dcli_buffers_open_shared();
    cr_assert_not_null(buffers);
    dcli_endpoint_use_buffers(p.peer[0], buffers);
    send_chunk(&p, buffers, 1);
    send_chunk(&p, buffers, 2);
    deny_descriptors(&p);
    for (int n = 1; n <= 2; n++) {
        dcli_received missing = receive(p.peer[1]);
        cr_expect(missing.message.chunk.operation == n && missing.payload == NULL && missing.payload_missing);
        dcli_received_free(&missing);
    }
    allow_descriptors(&p);
    dcli_received nothing;
    cr_expect_eq(dcli_endpoint_receive(p.peer[0], 0, &nothing), DCL_ERR_TIMEOUT, "%s", dcl_error());
    for (int n = 3; n <= 4; n++) {
        send_chunk(&p, buffers, n);
        dcli_received whole = receive(p.peer[1]);
        cr_expect(whole.message.chunk.operation == n && !whole.payload_missing);
        cr_assert(whole.payload != NULL && whole.payload_bytes == sizeof n);
        cr_expect_eq(*(const int *)whole.payload, n);
        dcli_received_free(&whole);
    }
    close_poor(&p);
    dcli_buffers_close(buffers);
}

/* test/net/acceptor_test.c - which connection an acceptor ends, if a descriptor has been reused and events come late or out
 * of order. The tests hold back the events of libzmq, and deliver them when and in which order they want. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/authenticator.h"
#include "net/stranger.h"
#include "net/wire_socket.h"

typedef struct lobby {
    dcli_net *net;
    dcli_authenticator *authenticator;
    dcli_acceptor acceptor;
    dcli_monitor real; /* the events of libzmq */
    void *feed;        /* events sent here are those that the acceptor sees */
} lobby;

static lobby open_lobby(void)
{
    lobby l = {0};
    cr_assert_eq(dcli_net_open_io(1, &l.net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_open(l.net, NULL, &l.authenticator), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_add_password(l.authenticator, "lobby", "sesame"), DCL_OK, "%s", dcl_error());
    dcli_acceptor_terms terms = {.net = l.net,
                                 .address = "tcp://127.0.0.1:*",
                                 .authenticator = l.authenticator,
                                 .domain = "lobby",
                                 .silence_ms = 30000,
                                 .most_bytes = 1000,
                                 .most_connections = 64};
    cr_assert_eq(dcli_acceptor_open(&terms, &l.acceptor), DCL_OK, "%s", dcl_error());
    l.real = l.acceptor.monitor;
    l.feed = dcli_net_socket(l.net, ZMQ_PAIR);
    void *events = dcli_net_socket(l.net, ZMQ_PAIR);
    cr_assert(l.feed != NULL && events != NULL && zmq_bind(l.feed, "inproc://events") == 0 &&
              zmq_connect(events, "inproc://events") == 0);
    l.acceptor.monitor = (dcli_monitor){.events = events, .fd = -1};
    return l;
}

static void close_lobby(lobby *l)
{
    zmq_close(l->acceptor.monitor.events);
    zmq_close(l->feed);
    l->acceptor.monitor = l->real;
    dcli_acceptor_close(&l->acceptor);
    dcli_authenticator_close(l->authenticator);
    dcli_net_close(l->net);
}

/** Wait for the next event of a kind, which the acceptor does not see. @return its descriptor. */
static int wait_for(lobby *l, int kind)
{
    dcli_event event;
    for (int64_t until = dcli_monotonic_ns() + (int64_t)20e9; dcli_monotonic_ns() < until; usleep(1000))
        while (dcli_monitor_next(&l->real, &event))
            if (event.kind == kind)
                return event.value;
    cr_assert(false, "event %d has not come", kind);
    return -1;
}

static void tell(lobby *l, uint16_t kind, int fd)
{
    unsigned char head[6];
    int32_t value = fd;
    memcpy(head, &kind, sizeof kind);
    memcpy(head + sizeof kind, &value, sizeof value);
    cr_assert_eq(zmq_send(l->feed, head, sizeof head, ZMQ_SNDMORE), (int)sizeof head);
    cr_assert_eq(zmq_send(l->feed, "", 0, 0), 0);
}

/** Process all events that were told. Nobody has a holder, so no end is reported. */
static void look(lobby *l)
{
    int64_t holder;
    cr_expect_not(dcli_acceptor_next_end(&l->acceptor, &holder));
}

/** End a connection at its client, and wait until the acceptor's descriptor is free. */
static void leave(lobby *l, int client, int fd)
{
    close(client);
    cr_assert_eq(wait_for(l, ZMQ_EVENT_DISCONNECTED), fd);
    while (fcntl(fd, F_GETFD) != -1)
        usleep(1000);
}

/** Connect a client whose connection gets a certain free descriptor of the acceptor. Another thread may have it for a moment; then
 *  the next attempt gets it. */
static int reuse(lobby *l, int fd)
{
    enum { ATTEMPTS = 100 };
    for (int n = 0; n < ATTEMPTS; n++) {
        int occupied[TEST_MOST_OCCUPIED], client = test_socket_above(fd), count = test_occupy_below(fd, occupied);
        test_stranger_call(client, l->acceptor.address);
        int given = wait_for(l, ZMQ_EVENT_ACCEPTED);
        while (count > 0)
            close(occupied[--count]);
        if (given == fd)
            return client;
        leave(l, client, given);
    }
    cr_assert(false, "the descriptor was not reused");
    return -1;
}

Test(acceptor, a_connection_whose_end_was_told_first_leaves_no_record)
{
    lobby l = open_lobby();
    int first = test_stranger_connect(l.acceptor.address), fd = wait_for(&l, ZMQ_EVENT_ACCEPTED);
    leave(&l, first, fd);
    tell(&l, ZMQ_EVENT_DISCONNECTED, fd);
    tell(&l, ZMQ_EVENT_ACCEPTED, fd);
    look(&l);
    cr_expect_eq(l.acceptor.count, 0);
    int second = reuse(&l, fd);
    cr_expect_eq(dcli_acceptor_cut_silent(&l.acceptor, INT64_MAX), 0);
    cr_expect_not(test_stranger_is_cut(second), "it has the descriptor of one that was ended");
    close(second);
    close_lobby(&l);
}

Test(acceptor, a_connection_is_recorded_once)
{
    lobby l = open_lobby();
    int first = test_stranger_connect(l.acceptor.address), fd = wait_for(&l, ZMQ_EVENT_ACCEPTED);
    leave(&l, first, fd);
    int second = reuse(&l, fd);
    tell(&l, ZMQ_EVENT_DISCONNECTED, fd);
    tell(&l, ZMQ_EVENT_ACCEPTED, fd); /* of the first; it is taken for the second's */
    look(&l);
    cr_expect_eq(l.acceptor.count, 1);
    tell(&l, ZMQ_EVENT_ACCEPTED, fd);
    look(&l);
    cr_expect_eq(l.acceptor.count, 1);
    leave(&l, second, fd);
    tell(&l, ZMQ_EVENT_DISCONNECTED, fd);
    look(&l);
    cr_expect_eq(l.acceptor.count, 0);
    close_lobby(&l);
}

Test(acceptor, a_connection_that_ended_untold_is_not_confused_with_the_next)
{
    lobby l = open_lobby();
    int first = test_stranger_connect(l.acceptor.address), fd = wait_for(&l, ZMQ_EVENT_ACCEPTED);
    tell(&l, ZMQ_EVENT_ACCEPTED, fd);
    look(&l);
    cr_expect_eq(l.acceptor.count, 1);
    leave(&l, first, fd);
    int second = reuse(&l, fd);
    dcli_acceptor_cut_stranger(&l.acceptor, fd, NULL, 0);
    (void)dcli_acceptor_cut_silent(&l.acceptor, INT64_MAX);
    cr_expect_not(test_stranger_is_cut(second), "the first one was to be cut");
    tell(&l, ZMQ_EVENT_ACCEPTED, fd); /* its end is never told */
    look(&l);
    cr_expect_eq(l.acceptor.count, 1);
    cr_expect_eq(dcli_acceptor_cut_silent(&l.acceptor, INT64_MAX), 1);
    cr_expect(test_stranger_is_cut(second));
    close(second);
    close_lobby(&l);
}

Test(acceptor, a_message_left_by_another_does_not_end_a_connection)
{
    static const unsigned char id[] = "an id of nobody";
    lobby l = open_lobby();
    int client = test_stranger_connect(l.acceptor.address), fd = wait_for(&l, ZMQ_EVENT_ACCEPTED);
    tell(&l, ZMQ_EVENT_ACCEPTED, fd);
    dcli_acceptor_cut_stranger(&l.acceptor, fd, id, sizeof id);
    cr_expect_not(dcli_acceptor_claim(&l.acceptor, fd, id, sizeof id, 7));
    cr_expect_not(test_stranger_is_cut(client));
    dcli_acceptor_cut_stranger(&l.acceptor, fd, NULL, 0);
    cr_expect(test_stranger_is_cut(client));
    close(client);
    close_lobby(&l);
}

/** Connect a client that knows the password, and take its first message. */
static void *admit(lobby *l, char id_out[256], size_t *id_bytes_out, int *fd_out)
{
    void *client = dcli_net_socket(l->net, ZMQ_DEALER);
    cr_assert(client != NULL);
    cr_assert_eq(dcli_wire_dress(client, 30000, -1), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_present_password_as(client, DCLI_AUTHENTICATOR_USER, "sesame"), DCL_OK, "%s", dcl_error());
    cr_assert_eq(zmq_connect(client, l->acceptor.address), 0);
    cr_assert_eq(zmq_send(client, "hello", 5, 0), 5);
    zmq_pollitem_t item = {l->acceptor.router, 0, ZMQ_POLLIN, 0};
    cr_assert_eq(zmq_poll(&item, 1, 20000), 1, "the message has not come");
    *id_bytes_out = (size_t)zmq_recv(l->acceptor.router, id_out, 256, 0);
    zmq_msg_t message;
    zmq_msg_init(&message);
    cr_assert_eq(zmq_msg_recv(&message, l->acceptor.router, 0), 5);
    *fd_out = zmq_msg_get(&message, ZMQ_SRCFD);
    zmq_msg_close(&message);
    return client;
}

Test(acceptor, a_message_cannot_have_come_over_a_connection_in_the_handshake)
{
    lobby l = open_lobby();
    char id[256];
    size_t bytes;
    int fd;
    void *sender = admit(&l, id, &bytes, &fd);
    tell(&l, ZMQ_EVENT_ACCEPTED, fd);
    cr_assert_eq(wait_for(&l, ZMQ_EVENT_ACCEPTED), fd);
    int client = test_stranger_connect(l.acceptor.address), other = wait_for(&l, ZMQ_EVENT_ACCEPTED);
    tell(&l, ZMQ_EVENT_ACCEPTED, other);
    cr_expect_not(dcli_acceptor_claim(&l.acceptor, other, id, bytes, 7), "as if its descriptor had been the sender's");
    dcli_acceptor_cut_stranger(&l.acceptor, other, id, bytes);
    cr_expect_not(test_stranger_is_cut(client));
    cr_expect(dcli_acceptor_claim(&l.acceptor, fd, id, bytes, 7), "over this one it has come");
    close(client);
    zmq_close(sender);
    close_lobby(&l);
}

/* net/shared_broker_test.c - links that are made when two peers first exchange something, here in one process. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "net/shared.h"

enum { NODES = 3, BROKER = NODES };

/** Nodes 0..NODES-1, each linked to the broker alone. */
typedef struct star {
    dcli_net *net;
    dcli_endpoint *peer[NODES + 1];
} star;

static star open_star(void)
{
    star s = {0};
    cr_assert_eq(dcli_net_open(&s.net), DCL_OK, "%s", dcl_error());
    for (int p = 0; p <= NODES; p++) {
        cr_assert_eq(dcli_endpoint_open_shared(s.net, p, NODES + 1, NULL, &s.peer[p]), DCL_OK, "%s", dcl_error());
        dcli_endpoint_link_on_demand(s.peer[p], BROKER);
    }
    for (int p = 0; p < NODES; p++) {
        dcli_shared_link ends[2];
        cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_endpoint_add_link(s.peer[p], BROKER, &ends[0]), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_endpoint_add_link(s.peer[BROKER], p, &ends[1]), DCL_OK, "%s", dcl_error());
    }
    return s;
}

static void close_star(star *s)
{
    for (int p = 0; p <= NODES; p++)
        dcli_endpoint_close(s->peer[p]);
    dcli_net_close(s->net);
}

/* Let peers process their records; they have no messages, or these stay for later. */
static void run(dcli_endpoint *peer)
{
    dcli_received none = {0};
    cr_expect_eq(dcli_endpoint_receive(peer, 0, &none), DCL_ERR_TIMEOUT, "%s", dcl_error());
}

static void send_number(const star *s, int from, int to, int64_t number)
{
    dcli_message message = {.kind = DCLI_MSG_CREDIT, .credit = {number}};
    cr_assert_eq(dcli_endpoint_send(s->peer[from], to, &message, NULL), DCL_OK, "%s", dcl_error());
}

static void expect_number(const star *s, int at, int from, int64_t number)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(s->peer[at], 1000, &received), DCL_OK, "%s", dcl_error());
    cr_expect_eq(received.from, from);
    cr_expect_eq(received.message.credit.chunks, number);
    dcli_received_free(&received);
}

static void expect_lost(const star *s, int at, int peer, const char *words)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(s->peer[at], 1000, &received), DCL_ERR_NODE_LOST, "%s", dcl_error());
    cr_expect_eq(received.from, peer);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), words);
}

static void expect_links(const star *s, int a, int b, int c)
{
    int expected[] = {a, b, c};
    for (int p = 0; p < NODES; p++)
        cr_expect_eq(dcli_endpoint_links(s->peer[p]), expected[p], "peer %d has %d links; expected %d", p,
                     dcli_endpoint_links(s->peer[p]), expected[p]);
}

Test(shared_broker, the_first_message_makes_the_link)
{
    star s = open_star();
    expect_links(&s, 1, 1, 1);
    send_number(&s, 0, 2, 7); /* the lower peer makes it at once */
    expect_links(&s, 2, 1, 1);
    run(s.peer[BROKER]);
    expect_number(&s, 2, 0, 7);
    expect_links(&s, 2, 1, 2);
    send_number(&s, 2, 0, 8);
    send_number(&s, 0, BROKER, 9);
    expect_number(&s, 0, 2, 8);
    expect_number(&s, BROKER, 0, 9);
    expect_links(&s, 2, 1, 2);
    close_star(&s);
}

Test(shared_broker, messages_wait_for_a_link_that_was_asked_for)
{
    star s = open_star();
    static int released;
    char *bytes = malloc(9);
    strcpy(bytes, "contents");
    send_number(&s, 2, 1, 1);
    dcli_message chunk = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1}};
    dcli_payload payload = {bytes, 9, NULL, &released};
    cr_assert_eq(dcli_endpoint_send(s.peer[2], 1, &chunk, &payload), DCL_OK, "%s", dcl_error());
    send_number(&s, 2, 1, 2);
    expect_links(&s, 1, 1, 1);
    run(s.peer[BROKER]); /* passes the request on */
    run(s.peer[1]);      /* makes the link */
    run(s.peer[BROKER]);
    run(s.peer[2]); /* takes it, and writes what waited */
    expect_links(&s, 1, 2, 2);
    expect_number(&s, 1, 2, 1);
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(s.peer[1], 1000, &received), DCL_OK, "%s", dcl_error());
    cr_assert_eq(received.payload_bytes, 9);
    cr_expect_str_eq(received.payload, "contents");
    dcli_received_free(&received);
    expect_number(&s, 1, 2, 2);
    close_star(&s);
    free(bytes);
}

Test(shared_broker, both_may_begin)
{
    star s = open_star();
    send_number(&s, 1, 0, 10); /* asks */
    send_number(&s, 0, 1, 20); /* makes */
    for (int round = 0; round < 2; round++)
        run(s.peer[BROKER]);
    expect_number(&s, 1, 0, 20);
    expect_number(&s, 0, 1, 10);
    send_number(&s, 1, 0, 11);
    expect_number(&s, 0, 1, 11);
    expect_links(&s, 2, 2, 1);
    close_star(&s);
}

Test(shared_broker, a_link_to_a_lost_peer_has_ended)
{
    star s = open_star();
    dcli_endpoint_drop(s.peer[BROKER], 1);
    send_number(&s, 0, 1, 1);
    send_number(&s, 2, 1, 2); /* asks, and is answered by nobody */
    run(s.peer[BROKER]);
    expect_lost(&s, 0, 1, "the process of peer 1 has ended");
    run(s.peer[2]);
    close_star(&s);
}

/* Send a record as a peer that has gone wild. */
static void forge(const star *s, int from, int to, dcli_shared_kind kind, uint64_t value)
{
    dcli_shared *shared = s->peer[from]->link;
    dcli_outgoing outgoing = {.kind = (uint16_t)kind, .value = value, .descriptor = -1};
    cr_assert_eq(dcli_link_send(&shared->link[to], &outgoing), DCL_OK);
}

Test(shared_broker, records_that_do_not_follow_are_refused)
{
    static const struct {
        int from, to;
        uint64_t value;
    } forged[] = {
        {0, BROKER, 1},      /* the lower peer never asks */
        {0, BROKER, 0},      /* itself */
        {2, BROKER, BROKER}, /* the broker */
        {2, BROKER, 99},     /* nobody */
        {BROKER, 1, 0},      /* asked by a lower peer */
        {BROKER, 1, 99},
    };
    for (size_t n = 0; n < sizeof forged / sizeof forged[0]; n++) {
        star s = open_star();
        dcli_received received = {0};
        forge(&s, forged[n].from, forged[n].to, DCLI_SHARED_WANTED, forged[n].value);
        cr_expect_eq(dcli_endpoint_receive(s.peer[forged[n].to], 1000, &received), DCL_ERR_PROTOCOL, "case %zu", n);
        cr_expect(strstr(dcl_error(), "sent a record of kind 8") != NULL, "%s", dcl_error());
        close_star(&s);
    }
}

Test(shared_broker, only_the_broker_passes_links_on)
{
    star s = open_star();
    dcli_received received = {0};
    send_number(&s, 0, 1, 1);
    run(s.peer[BROKER]);
    expect_number(&s, 1, 0, 1);
    forge(&s, 0, 1, DCLI_SHARED_WANTED, 2);
    cr_expect_eq(dcli_endpoint_receive(s.peer[1], 1000, &received), DCL_ERR_PROTOCOL);
    close_star(&s);
}

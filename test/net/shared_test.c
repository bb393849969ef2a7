/* net/shared_test.c - peers that are processes of one host: messages, payloads, descriptors, sleep and death. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

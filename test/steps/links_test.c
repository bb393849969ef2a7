/* test/steps/links_test.c - how many steps a message costs an endpoint that has links to many processes, most of them
 * idle: receiving it, with the looks for others before and after, and answering. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "net/shared.h"
#include "steps/count.h"

enum {
    MOST = 120, /* links; each needs some five descriptors, of which a process usually has 1,024 */
    ROUNDS = 64 /* messages of which the mean is taken */
};

static void send_credit(dcli_endpoint *from, int to)
{
    dcli_message message = {.kind = DCLI_MSG_CREDIT, .credit = {1}};
    cr_assert_eq(dcli_endpoint_send(from, to, &message, NULL), DCL_OK, "%s", dcl_error());
}

/* A message from the peer to number 0, which has looked for others in vain before, as a thread does that polls; and an
 * answer. */
static void ping(dcli_endpoint *middle, dcli_endpoint *peer, int number)
{
    dcli_received received;
    for (int looks = 0; looks < 16; looks++)
        cr_assert_eq(dcli_endpoint_receive(middle, 0, &received), DCL_ERR_TIMEOUT);
    send_credit(peer, 0);
    cr_assert_eq(dcli_endpoint_receive(middle, -1, &received), DCL_OK, "%s", dcl_error());
    cr_assert_eq(received.from, number);
    dcli_received_free(&received);
    send_credit(middle, number);
}

/* Steps per message at an endpoint with `links` links that exchanges messages with one peer only. */
static int64_t steps_per_message(int links)
{
    dcli_net *net;
    dcli_endpoint *peer[MOST + 1] = {NULL};
    dcli_shared_link all[MOST + 1], one[MOST + 1];
    cr_assert_eq(dcli_net_open(&net), DCL_OK, "%s", dcl_error());
    for (int p = 0; p <= links; p++)
        all[p].socket = one[p].socket = -1;
    for (int p = 1; p <= links; p++) {
        dcli_shared_link ends[2];
        cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
        all[p] = ends[0];
        one[0] = ends[1];
        cr_assert_eq(dcli_endpoint_open_shared(net, p, links + 1, one, &peer[p]), DCL_OK, "%s", dcl_error());
    }
    cr_assert_eq(dcli_endpoint_open_shared(net, 0, links + 1, all, &peer[0]), DCL_OK, "%s", dcl_error());
    peer[0]->spin_ns = INT64_MAX / 4; /* it never sleeps: how long it would poll before depends on the clock */
    for (int n = 0; n < 20 * DCLI_SHARED_LOOKS; n++) /* until it does not attend to idle links any more */
        ping(peer[0], peer[links], links);
    steps = 0;
    for (int n = 0; n < ROUNDS; n++)
        ping(peer[0], peer[links], links);
    int64_t sum = steps;
    for (int p = 0; p <= links; p++)
        dcli_endpoint_close(peer[p]);
    dcli_net_close(net);
    return sum / ROUNDS;
}

Test(steps, of_a_message_among_many_links)
{
    int64_t one = steps_per_message(1), few = steps_per_message(DCLI_SHARED_FEW), many = steps_per_message(MOST);
    fprintf(stderr, "steps per message: %" PRId64 " with one link, %" PRId64 " with %d, %" PRId64 " with %d\n", one,
            few, DCLI_SHARED_FEW, many, MOST);
    cr_expect(5 * many <= 6 * few, "%" PRId64 " steps with %d links, %" PRId64 " with %d", many, MOST, few,
              DCLI_SHARED_FEW);
}

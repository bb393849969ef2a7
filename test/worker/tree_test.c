/* test/worker/tree_test.c - what the host takes of watermarks that come up a tree: not before what they follow; and how
 * failures go down it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "worker/peer.h"
#include "worker/tree.h"

enum { NODES = 6, FANOUT = 2 }; /* 2 and 3 are below 0, 4 and 5 below 1 */

/* What the runtime is told, in order: "m0" marks of node 0, "r2" a report and "f2" a failure of node 2. */
static char told[256];

static void tell(char what, int node)
{
    size_t length = strlen(told);
    snprintf(told + length, sizeof told - length, "%s%c%d", length > 0 ? " " : "", what, node);
}

static void on_marks(void *user, int peer, int64_t done, int64_t ready, const int64_t counters[])
{
    (void)user, (void)done, (void)ready, (void)counters;
    tell('m', peer);
}

static void on_report(void *user, int node, const dcli_msg_report *report)
{
    (void)user;
    cr_expect(report->storage_count == 1 && report->storage[0] == 6 + report->operation,
              "what the operation writes, whatever is reported");
    tell('r', node);
}

static void on_failed(void *user, const dcli_msg_failed *failed)
{
    (void)user;
    cr_expect(failed->storage_count == 1 && failed->storage[0] == 7, "what the operation writes, whatever is reported");
    tell('f', failed->node);
}

static const dcli_plan *no_work(void *user, const dcli_operation *operation, int node)
{
    static const dcli_plan plan;
    (void)user, (void)operation, (void)node;
    return &plan;
}

/* The ends of the links: of nodes 0, 1, ..., and of the host. */
static dcli_net *net;
static dcli_endpoint *end[NODES + 1];

static dcli_worker *make_worker(int self, int fanout)
{
    static const dcli_host_hooks hooks = {.marks = on_marks, .report = on_report, .failed = on_failed};
    static dcli_node_ways ways[NODES];
    told[0] = '\0';
    dcli_worker *worker = dcli_calloc(1, sizeof *worker);
    cr_assert_not_null(worker);
    worker->is_host = self == NODES;
    worker->terms = (dcli_worker_terms){.self = self,
                                        .node_count = NODES,
                                        .hooks = &hooks,
                                        .is_process = true,
                                        .fanout = fanout,
                                        .tree_nodes = NODES,
                                        .ways = ways};
    if (worker->is_host)
        cr_assert_eq(dcli_host_open(worker), DCL_OK);
    else
        cr_assert_not_null(worker->as_node = dcli_calloc(1, sizeof *worker->as_node));
    worker->gone = dcli_calloc(NODES + 1, sizeof(bool));
    worker->absent = dcli_calloc(NODES + 1, sizeof(bool));
    cr_assert(worker->gone != NULL && worker->absent != NULL);
    dcli_node_terms terms = {.plan = {.node_count = NODES, .ways = ways},
                             .self = self,
                             .window_chunks = 1,
                             .made_bytes = 1,
                             .plan_of = no_work,
                             .absent = worker->gone};
    worker->node = dcli_node_open(&terms);
    cr_assert_not_null(worker->node);
    enum { OPERATIONS = 3 };
    static dcli_operation fill[OPERATIONS];
    for (int n = 0; n < OPERATIONS; n++) {
        fill[n] = (dcli_operation){
            .number = n + 1, .kind = DCLI_OP_FILL, .operand_count = 1, .operand = {{.storage = 7 + n, .writes = true}}};
        cr_assert_eq(dcli_node_operation(worker->node, &fill[n]), DCL_OK, "%s", dcl_error());
    }
    cr_assert_eq(dcli_net_open(&net), DCL_OK);
    for (int n = 0; n <= NODES; n++)
        cr_assert_eq(dcli_endpoint_open(net, 5, n, NODES + 1, &end[n]), DCL_OK, "%s", dcl_error());
    worker->terms.session = 5;
    worker->endpoint = end[self];
    return worker;
}

static dcli_worker *make_host(void) { return make_worker(NODES, FANOUT); }

static void free_worker(dcli_worker *worker)
{
    dcli_tree_free(worker);
    if (worker->is_host)
        dcli_host_close(worker);
    for (int n = 0; n <= NODES; n++)
        dcli_endpoint_close(end[n]);
    dcli_net_close(net);
    dcli_node_close(worker->node);
    dcli_free(worker->as_node);
    dcli_free(worker->gone);
    dcli_free(worker->absent);
    dcli_free(worker);
}

static void hear(dcli_worker *host, int from, dcli_message message, const char *expected)
{
    dcli_received received = {.from = from, .message = message};
    told[0] = '\0';
    cr_assert_eq(dcli_hear(host, &received), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(told, expected, "%s of node %d: it was told \"%s\"; expected \"%s\"",
                     dcli_message_name(message.kind), from, told, expected);
}

/* @param count  notices that `node` has sent; 0: nobody below has sent any. */
static dcli_message risen(int64_t number, int node, int64_t count)
{
    static int64_t notice[2];
    notice[0] = node;
    notice[1] = count;
    return (dcli_message){
        .kind = DCLI_MSG_RISEN,
        .risen = {.done = number, .ready = number, .notice_count = count > 0 ? 2 : 0, .notice = notice}};
}

static dcli_message report(int64_t operation)
{
    static int64_t wrong = 99;
    return (dcli_message){
        .kind = DCLI_MSG_REPORT,
        .report = {.operation = operation, .storage_count = 1, .storage = &wrong, .array = "A", .rank = 1}};
}

static dcli_message failed(int node)
{
    static int64_t wrong = 8;
    return (dcli_message){.kind = DCLI_MSG_FAILED,
                          .failed = {.operation = 1,
                                     .node = node,
                                     .status = DCL_ERR_DEVICE,
                                     .storage_count = node % 2,
                                     .storage = &wrong,
                                     .sentence = ""}};
}

/* Which failures have arrived at the nodes: "0:1 1:1" means that operation 1 failed, at nodes 0 and 1. */
static void expect_arrived_from(bool from_host, const char *expected)
{
    char found[256] = "";
    size_t length = 0;
    for (int n = 0; n < NODES; n++) {
        dcli_received received;
        while (dcli_endpoint_receive(end[n], 0, &received) == DCL_OK) {
            const dcli_msg_failed *heard = &received.message.failed;
            cr_expect_eq(received.message.kind, DCLI_MSG_FAILED);
            cr_expect(!from_host || (heard->storage_count == 1 && heard->storage[0] == 7));
            length += (size_t)snprintf(found + length, sizeof found - length, "%s%d:%d", length > 0 ? " " : "", n,
                                       (int)received.message.failed.operation);
            dcli_received_free(&received);
        }
    }
    cr_expect_str_eq(found, expected, "\"%s\" has arrived; expected \"%s\"", found, expected);
}

static void expect_arrived(const char *expected) { expect_arrived_from(true, expected); }

/* The host passes the failure of an operation on once, to its children; whoever tells it next, it is no news. */
Test(tree, the_host_passes_a_failure_on_once)
{
    dcli_worker *host = make_host();
    hear(host, 3, failed(3), "f3");
    expect_arrived("0:1 1:1");
    hear(host, 0, failed(0), "f0");
    hear(host, 4, failed(4), "f4");
    expect_arrived("");
    free_worker(host);
}

/* Node 1 is lost, perhaps before it has passed a failure on: the host tells those below it. */
Test(tree, nodes_below_a_lost_one_hear_of_failures_again)
{
    dcli_worker *host = make_host();
    hear(host, 2, failed(2), "f2");
    expect_arrived("0:1 1:1");
    host->gone[1] = true;
    cr_assert_eq(dcli_tree_mend(host, 1), DCL_OK);
    expect_arrived("4:1 5:1");
    free_worker(host);
}

/* Without a tree all nodes are the host's children. */
Test(tree, without_a_tree_the_host_tells_all_nodes)
{
    dcli_worker *host = make_worker(NODES, NODES);
    hear(host, 2, failed(2), "f2");
    expect_arrived("0:1 1:1 2:1 3:1 4:1 5:1");
    free_worker(host);
}

/* A node passes on what its parent says, and nobody else may tell it of failures. */
Test(tree, a_node_passes_failures_on)
{
    dcli_worker *node = make_worker(1, FANOUT);
    dcli_received received = {.from = NODES, .message = failed(3)};
    cr_assert_eq(dcli_hear(node, &received), DCL_OK, "%s", dcl_error());
    expect_arrived_from(false, "4:1 5:1");
    received.from = 2;
    node->terms.is_process = false; /* the error is returned, and the sender is not dropped */
    cr_expect_eq(dcli_hear(node, &received), DCL_ERR_PROTOCOL);
    expect_arrived("");
    free_worker(node);
}

/* After any losses, the children of the host are the nodes that have no other parent; node 5 has joined. */
Test(tree, children_of_the_host_after_losses)
{
    dcli_worker *host = make_host();
    host->terms.tree_nodes = NODES - 1;
    host->epoch = 1;
    for (unsigned lost = 0; lost < 1U << NODES; lost++) {
        int last = -1;
        for (int n = 0; n < NODES; n++)
            host->gone[n] = (lost >> n) & 1;
        for (int n = 0; n < NODES; n++) {
            if (host->gone[n] || dcli_tree_parent(host, n) != NODES)
                continue;
            cr_assert_eq(dcli_tree_next_child(host, last), n, "after %d, with lost nodes %#x", last, lost);
            last = n;
        }
        cr_assert_eq(dcli_tree_next_child(host, last), -1, "after %d, with lost nodes %#x", last, lost);
    }
    memset(host->gone, 0, NODES * sizeof *host->gone);
    free_worker(host);
}

/* Node 2 has read outside a grid, or has failed: it says so itself, and node 0 says that all below it are done. */
Test(tree, marks_do_not_overtake_what_they_follow)
{
    dcli_worker *host = make_host();
    hear(host, 0, risen(1, 2, 2), "");
    hear(host, 1, risen(1, 0, 0), "m1");
    hear(host, 2, report(1), "r2");
    hear(host, 2, failed(2), "f2 m0");
    hear(host, 0, risen(2, 2, 2), "m0");
    hear(host, 4, report(2), "r4");
    hear(host, 1, risen(2, 4, 1), "m1");
    free_worker(host);
}

/* Node 3 is ahead: what it says of operation 2 does not stand for what node 2 says of operation 1. */
Test(tree, marks_wait_for_the_reports_of_each_node)
{
    dcli_worker *host = make_host();
    hear(host, 0, risen(1, 2, 1), "");
    hear(host, 3, report(2), "r3");
    hear(host, 2, report(1), "r2 m0");
    free_worker(host);
}

/* Where every operation reports, marks are taken as their own reports come, not when all have come. */
Test(tree, marks_do_not_wait_for_later_reports)
{
    dcli_worker *host = make_host();
    hear(host, 0, risen(1, 2, 1), "");
    hear(host, 0, risen(2, 2, 2), "");
    hear(host, 0, risen(3, 2, 3), "");
    hear(host, 2, report(1), "r2 m0");
    hear(host, 2, report(2), "r2");
    hear(host, 2, report(3), "r2 m0");
    free_worker(host);
}

Test(tree, notices_that_are_no_pairs_are_refused)
{
    dcli_worker *host = make_host();
    dcli_message odd = risen(1, 2, 1), nobody = risen(1, NODES, 1);
    odd.risen.notice_count = 1;
    cr_expect_eq(dcli_tree_take_risen(host, 0, &odd.risen), DCL_ERR_PROTOCOL);
    cr_expect_eq(dcli_tree_take_risen(host, 0, &nobody.risen), DCL_ERR_PROTOCOL);
    free_worker(host);
}

/* What a node that is lost has sent may never come. */
Test(tree, nobody_waits_for_what_a_lost_node_has_sent)
{
    dcli_worker *host = make_host();
    hear(host, 0, risen(1, 2, 1), "");
    host->gone[2] = true;
    told[0] = '\0';
    cr_assert_eq(dcli_tree_mend(host, 2), DCL_OK);
    cr_expect_str_eq(told, "m0");
    /* Its children are the host's now. What it said last and was not taken counts no more. */
    hear(host, 1, risen(1, 4, 1), "");
    host->gone[1] = true;
    told[0] = '\0';
    cr_assert_eq(dcli_tree_mend(host, 1), DCL_OK);
    cr_expect_str_eq(told, "m4 m5");
    hear(host, 4, report(1), "r4");
    hear(host, 4, risen(1, 4, 1), "m4");
    hear(host, 5, risen(1, 0, 0), "m5");
    free_worker(host);
}

/* test/worker/tree_test.c - what the host takes of watermarks that come up a tree: not before what they follow. */
#include <criterion/criterion.h>
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
    (void)user, (void)report;
    tell('r', node);
}

static void on_failed(void *user, const dcli_msg_failed *failed)
{
    (void)user;
    tell('f', failed->node);
}

static const dcli_plan *no_plan(void *user, const dcli_operation *operation, int node)
{
    (void)user, (void)operation, (void)node;
    return NULL;
}

static dcli_worker *make_host(void)
{
    static const dcli_host_hooks hooks = {.marks = on_marks, .report = on_report, .failed = on_failed};
    static dcli_node_ways ways[NODES];
    told[0] = '\0';
    dcli_worker *host = dcli_calloc(1, sizeof *host);
    cr_assert_not_null(host);
    host->is_host = true;
    host->terms = (dcli_worker_terms){.self = NODES,
                                      .node_count = NODES,
                                      .hooks = &hooks,
                                      .is_process = true,
                                      .fanout = FANOUT,
                                      .tree_nodes = NODES,
                                      .ways = ways};
    cr_assert_eq(dcli_host_open(host), DCL_OK);
    host->gone = dcli_calloc(NODES + 1, sizeof(bool));
    host->absent = dcli_calloc(NODES + 1, sizeof(bool));
    cr_assert(host->gone != NULL && host->absent != NULL);
    dcli_node_terms terms = {.plan = {.node_count = NODES, .ways = ways},
                             .self = NODES,
                             .window_chunks = 1,
                             .made_bytes = 1,
                             .plan_of = no_plan,
                             .absent = host->gone};
    host->node = dcli_node_open(&terms);
    cr_assert_not_null(host->node);
    return host;
}

static void free_host(dcli_worker *host)
{
    dcli_tree_free(host);
    dcli_host_close(host);
    dcli_node_close(host->node);
    dcli_free(host->gone);
    dcli_free(host->absent);
    dcli_free(host);
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
    return (dcli_message){.kind = DCLI_MSG_REPORT, .report = {.operation = operation, .array = "A", .rank = 1}};
}

static dcli_message failed(int node)
{
    return (dcli_message){.kind = DCLI_MSG_FAILED,
                          .failed = {.operation = 1, .node = node, .status = DCL_ERR_DEVICE, .sentence = ""}};
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
    free_host(host);
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
    free_host(host);
}

/* Node 3 is ahead: what it says of operation 2 does not stand for what node 2 says of operation 1. */
Test(tree, marks_wait_for_the_reports_of_each_node)
{
    dcli_worker *host = make_host();
    hear(host, 0, risen(1, 2, 1), "");
    hear(host, 3, report(2), "r3");
    hear(host, 2, report(1), "r2 m0");
    free_host(host);
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
    free_host(host);
}

Test(tree, notices_that_are_no_pairs_are_refused)
{
    dcli_worker *host = make_host();
    dcli_message odd = risen(1, 2, 1), nobody = risen(1, NODES, 1);
    odd.risen.notice_count = 1;
    cr_expect_eq(dcli_tree_take_risen(host, 0, &odd.risen), DCL_ERR_PROTOCOL);
    cr_expect_eq(dcli_tree_take_risen(host, 0, &nobody.risen), DCL_ERR_PROTOCOL);
    free_host(host);
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
    free_host(host);
}

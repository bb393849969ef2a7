/* test/runtime/balance_test.c - dividing work by measured times: two nodes of 320 indices each, 10 in each part. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "runtime/balance.h"

enum { PARTS = DCLI_MSG_WORK_PARTS, EACH = 320, CALLS = 10 };

struct balance_case {
    char what[64];
    int64_t cost[2]; /* ns of a part's elements at nodes 0 and 1, per call, if neither is slow */
    int64_t grows;   /* added for each part before it, of both nodes */
    int64_t times;   /* how many times as long node 1 takes as node 0 */
    int lent;        /* parts of node 1 that node 0 computes, the last ones */
    int seen, stolen;
    int axis; /* along which node 1 has measured */
    dcl_status status;
    int64_t length; /* of node 0 */
    int64_t now_ns, then_ns;
};

/* What a node measures in CALLS calls. */
static void measure(dcli_node_times *row, const struct balance_case *c, int node)
{
    int64_t theirs = 0, ours = 0;
    *row = (dcli_node_times){.first = 100 + (int64_t)node * EACH, .count = EACH, .calls = CALLS};
    for (int b = 0; b < PARTS; b++) {
        int64_t cost = CALLS * (c->cost[node] + c->grows * (node * PARTS + b)), *of = &row->work[4 * b];
        bool lent = node == 1 && b >= PARTS - c->lent;
        of[lent ? 2 : 0] = lent || node == 0 ? cost : c->times * cost;
        of[lent ? 3 : 1] = EACH / PARTS * CALLS;
        theirs += lent ? cost : 0;
        ours += lent ? c->times * cost : 0;
    }
    if (node == 0)
        return;
    row->axis = c->axis;
    row->seen = c->seen;
    row->stolen = c->stolen;
    row->thief_count = theirs > 0 ? 3 : 0;
    row->thief[1] = theirs; /* thief[0] is node 0 */
    row->thief[2] = ours;
}

ParameterizedTestParameters(balance, of_two_nodes)
{
    static struct balance_case cases[] = {
        /* what                        cost       grows times lent seen stolen axis status       length now    then */
        {"a node three times as slow", {100, 100}, 0, 3, 16, 10, 10, 0, DCL_OK, 480, 9600, 4800},
        {"a part that costs more", {100, 300}, 0, 1, 8, 10, 8, 0, DCL_OK, 427, 9600, 6400},
        {"cost grows with the index", {5, 5}, 10, 1, 8, 10, 10, 0, DCL_OK, 453, 15360, 10240},
        {"both", {100, 300}, 0, 3, 16, 64, 60, 0, DCL_OK, 533, 28800, 9600},
        {"even work", {100, 100}, 0, 1, 16, 10, 10, 0, DCL_ERR_INVALID, 0, 0, 0},
        {"little is gained", {100, 119}, 0, 1, 8, 10, 10, 0, DCL_ERR_INVALID, 0, 0, 0},
        {"enough is gained", {100, 126}, 0, 1, 8, 10, 10, 0, DCL_OK, 353, 4032, 3616},
        {"too few calls", {100, 300}, 0, 1, 8, 7, 7, 0, DCL_ERR_INVALID, 0, 0, 0},
        {"too seldom", {100, 300}, 0, 1, 8, 12, 8, 0, DCL_ERR_INVALID, 0, 0, 0},
        {"nothing was lent", {100, 300}, 0, 1, 0, 10, 10, 0, DCL_ERR_INVALID, 0, 0, 0},
        {"along another axis", {100, 300}, 0, 1, 8, 10, 10, 1, DCL_ERR_INVALID, 0, 0, 0},
    };
    return cr_make_param_array(struct balance_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct balance_case *c, balance, of_two_nodes)
{
    static const int nodes[2] = {0, 1};
    dcli_times *work = dcli_times_make(2, 7);
    int64_t length[2] = {0};
    dcli_balance found;
    for (int n = 0; n < 2; n++)
        measure(&work->row[n], c, n);
    cr_expect_eq(dcli_balance_find(work, 0, 100, 2 * EACH, 2, nodes, &found, length), c->status, "%s", c->what);
    if (c->status == DCL_OK) {
        cr_expect_eq(found.victim, 1, "%s", c->what);
        cr_expect(length[0] == c->length && length[1] == 2 * EACH - c->length, "%s: lengths %" PRId64 ", %" PRId64,
                  c->what, length[0], length[1]);
        cr_expect_float_eq(found.now_ns, (double)c->now_ns, 1, "%s: now %g", c->what, found.now_ns);
        /* a boundary is rounded to an index */
        cr_expect_float_eq(found.then_ns, (double)c->then_ns, 0.005 * (double)c->then_ns, "%s: then %g", c->what,
                           found.then_ns);
    }
    dcli_free(work);
}

/* Nodes that have computed nothing for others are as fast as those that have: node 0 steals from node 3, nodes 1 and 2 do
 * not. All have 320 indices, of equal cost; node 3 takes twice as long. */
Test(balance, of_nodes_that_do_not_steal)
{
    enum { NODES = 4 };
    static const int nodes[NODES] = {0, 1, 2, 3};
    const struct balance_case slow = {.cost = {100, 100}, .times = 2, .lent = 8, .seen = 8, .stolen = 8};
    dcli_times *work = dcli_times_make(NODES, 7);
    int64_t length[NODES] = {0};
    dcli_balance found;
    for (int n = 0; n < NODES; n++) {
        measure(&work->row[n], &slow, n == NODES - 1);
        work->row[n].first = 100 + (int64_t)n * EACH;
    }
    cr_assert_eq(dcli_balance_find(work, 0, 100, (int64_t)NODES * EACH, NODES, nodes, &found, length), DCL_OK);
    cr_expect_eq(found.victim, 3);
    static const int64_t expected[NODES] = {366, 365, 366, 183}; /* 2 : 2 : 2 : 1 of 1280 */
    for (int n = 0; n < NODES; n++)
        cr_expect_eq(length[n], expected[n], "node %d: %" PRId64, n, length[n]);
    dcli_free(work);
}

/* Answers about another body, and of nodes beyond those that were asked, change nothing. */
Test(balance, notes_what_was_asked)
{
    int64_t numbers[4 * PARTS] = {0};
    dcli_times *work = dcli_times_make(1, 7);
    dcli_msg_counts counts = {.kernel = 8, .count = 5, .work_count = 4 * PARTS, .work = numbers};
    dcli_times_note(work, 0, &counts);
    cr_expect_eq(work->row[0].count, 0);
    counts.kernel = 7;
    dcli_times_note(work, 1, &counts);
    dcli_times_note(work, 0, &counts);
    cr_expect_eq(work->row[0].count, 5);
    counts.work_count = 0; /* it knows nothing of the body */
    counts.count = 9;
    dcli_times_note(work, 0, &counts);
    cr_expect_eq(work->row[0].count, 5);
    dcli_free(work);
}

/* test/worker/stealing_test.c - what a node knows of the nodes that it may lend to. */
#include <criterion/criterion.h>

#include "worker/stealing.h"
#include "workqueue/lend_pace.h"

enum { PLACES = 8 };

/* A session has places for nodes that may join. They must not make two nodes lend as little at once as many do. */
Test(stealing, counts_nodes_that_are_present)
{
    static dcli_node_ways ways[PLACES];
    bool gone[PLACES + 1] = {false, false, true, true, true, true, true, true};
    dcli_stealing stealing = {.steal = {.policy = DCL_STEAL_PAYS}};
    dcli_as_node own = {.stealing = NULL};
    dcli_worker worker = {.terms = {.node_count = PLACES, .ways = ways}, .as_node = &own, .gone = gone};
    cr_expect_eq(dcli_stealing_others(&worker), 0, "without stealing");
    own.stealing = &stealing;
    dcli_stealing_members(&worker);
    cr_expect_eq(dcli_stealing_others(&worker), 1);
    cr_expect_eq(dcli_lend_at_once(dcli_stealing_others(&worker)), DCLI_LEND_AT_ONCE);
    for (int n = 0; n < 6; n++)
        gone[n] = false;
    dcli_stealing_members(&worker);
    cr_expect_eq(dcli_stealing_others(&worker), 5, "four nodes have joined");
    cr_expect_lt(dcli_lend_at_once(dcli_stealing_others(&worker)), DCLI_LEND_AT_ONCE);
}

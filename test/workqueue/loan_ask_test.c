/* test/workqueue/loan_ask_test.c - whom a node asks for work, and when it asks the same node again. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "workqueue/bench.h"
#include "workqueue/loan_ask.h"

enum { BYTES = 64, MANY = 1024 };

/* Nodes of `per_host` nodes on each host. */
static const dcli_node_ways *hosts(int nodes, int per_host)
{
    static dcli_node_ways ways[MANY];
    memset(ways, 0, sizeof ways);
    for (int n = 0; n < nodes && per_host > 1; n++)
        ways[n] = (dcli_node_ways){.can = DCLI_CAN_ALL, .group = (int16_t)(n / per_host)};
    return ways;
}

Test(loan_ask, each_node_asks_few_others_those_of_its_host_first)
{
    static const int sizes[][2] = {{2, 1}, {3, 3}, {16, 1}, {17, 4}, {64, 2}, {64, 8}, {MANY, 1}, {MANY, 64}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int nodes = sizes[s][0], per_host = sizes[s][1], asked[MANY] = {0}, most = 0;
        const dcli_node_ways *ways = hosts(nodes, per_host);
        for (int self = 0; self < nodes; self++) {
            dcli_asking asking = {0};
            bool seen[MANY] = {false};
            int near = 0;
            dcli_asking_choose(&asking, 7, self, nodes, ways, NULL);
            cr_expect_eq(asking.count, nodes - 1 < DCLI_ASK_MOST ? nodes - 1 : DCLI_ASK_MOST, "of %d nodes", nodes);
            for (int n = 0; n < asking.count; n++) {
                int victim = asking.victim[n].node;
                cr_assert(victim >= 0 && victim < nodes && victim != self && !seen[victim], "node %d", victim);
                seen[victim] = true;
                asked[victim]++;
                near += near == n && per_host > 1 && victim / per_host == self / per_host;
            }
            int on_host = nodes - self / per_host * per_host < per_host ? nodes % per_host : per_host;
            cr_expect_geq(near, on_host - 1 < DCLI_ASK_NEAR ? on_host - 1 : DCLI_ASK_NEAR, "node %d of %d", self,
                          nodes);
        }
        for (int n = 0; n < nodes; n++)
            most = asked[n] > most ? asked[n] : most;
        cr_expect_leq(most, 3 * DCLI_ASK_MOST, "a node of %d is asked by %d", nodes, most);
    }
}

/* Nodes of other sessions, or with other numbers, ask others. */
Test(loan_ask, the_choice_depends_on_the_session_and_the_node)
{
    dcli_asking one = {0}, other = {0};
    dcli_asking_choose(&one, 7, 5, MANY, hosts(MANY, 1), NULL);
    dcli_asking_choose(&other, 8, 5, MANY, hosts(MANY, 1), NULL);
    cr_expect(memcmp(one.victim, other.victim, sizeof one.victim) != 0);
    other = (dcli_asking){0};
    dcli_asking_choose(&other, 7, 5, MANY, hosts(MANY, 1), NULL);
    cr_expect(memcmp(one.victim, other.victim, sizeof one.victim) == 0);
}

static void expect_present(const dcli_asking *asking, const bool absent[], int count)
{
    cr_expect_eq(asking->count, count);
    for (int n = 0; n < asking->count; n++) {
        cr_expect_not(absent[asking->victim[n].node], "node %d is absent", asking->victim[n].node);
        for (int m = 0; m < n; m++)
            cr_expect_neq(asking->victim[n].node, asking->victim[m].node);
    }
}

/* Few of many numbers are in use: nodes ask those. When most are lost and others join, they ask these; of those that stay,
 * they know what they knew. */
Test(loan_ask, present_nodes_are_asked)
{
    bool absent[MANY];
    dcli_asking asking = {0};
    memset(absent, true, sizeof absent);
    for (int n = 0; n < 20; n++)
        absent[n] = false;
    dcli_asking_choose(&asking, 7, 5, MANY, hosts(MANY, 4), absent);
    expect_present(&asking, absent, DCLI_ASK_MOST);
    for (int n = 0; n < asking.count; n++)
        asking.victim[n].refused_upto = 100 + asking.victim[n].node;
    asking.open = 1;
    for (int n = 8; n < 20; n++)
        absent[n] = true;
    dcli_asking_choose(&asking, 7, 5, MANY, hosts(MANY, 4), absent);
    expect_present(&asking, absent, 7);
    cr_expect_eq(asking.open, 1);
    for (int n = 0; n < asking.count; n++)
        cr_expect(asking.victim[n].refused_upto == 100 + asking.victim[n].node || asking.victim[n].refused_upto == 0);
    cr_expect_eq(asking.victim[0].node, 6, "of the same host");
    cr_expect_eq(asking.victim[0].refused_upto, 106);
    dcli_asking_answered(&asking, 19, false, 1); /* it was asked before it was lost */
    cr_expect_eq(asking.open, 0);
    for (int n = 500; n < 600; n++)
        absent[n] = false;
    dcli_asking_choose(&asking, 7, 5, MANY, hosts(MANY, 4), absent);
    expect_present(&asking, absent, DCLI_ASK_MOST);
}

static dcl_status no_loans(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                           int thief, dcli_loan_size *size_out)
{
    (void)user, (void)operation, (void)batch, (void)count, (void)victim, (void)thief, (void)size_out;
    return DCL_ERR_INVALID;
}

/* Node 1 has seen operations 3 and 4, of which node 0 has four batches each. */
static struct bench *idle_node(dcli_asking *asking)
{
    struct bench *bench = bench_open(1, false);
    bench->terms.plan.batch_bytes = 8;
    bench->terms.loan_of = no_loans;
    bench->terms.loan_bytes = bench->terms.result_bytes = BYTES;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->only[0]));
    for (int64_t n = 3; n <= 4; n++)
        bench_sees(bench, TEST_FORALL(n, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 1, bench->halves},
                                      {DCL_ACCESS_IN, "A", 2, bench->only[0]}));
    bench_expect(bench, "its own batches wait", "grant 3 to 0; grant 4 to 0; retire 2; marks to 2 2/2");
    *asking = (dcli_asking){0};
    dcli_asking_limit(asking, BYTES);
    dcli_asking_choose(asking, 7, 1, NODES, bench->ways, NULL);
    return bench;
}

static void hears_nothing(struct bench *bench, dcli_asking *asking, int64_t question, int64_t now_ns)
{
    cr_assert_eq(dcli_node_nothing(bench->node, 0, question), DCL_OK, "%s", dcl_error());
    dcli_asking_answered(asking, 0, false, now_ns);
}

Test(loan_ask, a_question_names_the_operations_up_to_a_limit)
{
    dcli_asking asking;
    struct bench *bench = idle_node(&asking);
    bool later = false;
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 2, 0, &later), 0, "nothing can be lent of these");
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 3, 0, &later), 1);
    bench_expect(bench, "it asks with half of its memory", "ask 0 question 1, 3-3, 32 bytes");
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 4, 0, &later), 0, "the question is open");
    cr_expect_not(later);
    bench_close(bench);
}

Test(loan_ask, after_a_no_it_asks_for_later_operations_after_a_pause)
{
    dcli_asking asking;
    struct bench *bench = idle_node(&asking);
    bool later = false;
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 3, 0, &later), 1);
    bench_expect(bench, "it asks", "ask 0 question 1, 3-3, 32 bytes");
    hears_nothing(bench, &asking, 1, 1000);
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 3, 10000000, &later), 0, "it knows no later operation");
    cr_expect_not(later);
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 4, 50999, &later), 0, "the pause of 50 us is not over");
    cr_expect(later);
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 4, 51000, &later), 1);
    bench_expect(bench, "it asks again", "ask 0 question 2, 3-4, 32 bytes");
    hears_nothing(bench, &asking, 2, 100000);
    cr_expect_eq(asking.victim[0].next_ns, 200000, "the pause doubles");
    bench_close(bench);
}

Test(loan_ask, a_node_that_has_lent_is_asked_again_at_once)
{
    dcli_asking asking;
    struct bench *bench = idle_node(&asking);
    bool later = false;
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 3, 0, &later), 1);
    bench_expect(bench, "it asks", "ask 0 question 1, 3-3, 32 bytes");
    cr_assert_eq(dcli_node_nothing(bench->node, 0, 1), DCL_OK);
    dcli_asking_answered(&asking, 0, true, 1000);
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, 3, 1000, &later), 1);
    bench_close(bench);
}

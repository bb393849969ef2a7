/* test/workqueue/member_test.c - nodes that are lost, and nodes that join: what another one does about it. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "workqueue/bench.h"

static void loses(struct bench *bench, int peer)
{
    cr_assert_eq(dcli_node_lost(bench->node, peer), DCL_OK, "%s", dcl_error());
}

/* Storages 1 and 2 in halves. */
static struct bench *halves(int self, bool in_place)
{
    struct bench *bench = bench_open(self, in_place);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    return bench;
}

/* Storage 1 on node 0, storage 2 on node 1. */
static struct bench *apart(int self, bool in_place)
{
    struct bench *bench = bench_open(self, in_place);
    for (int p = 0; p < NODES; p++) {
        if (p == self)
            bench_create(bench, p + 1, p + 1, bench->only[p]);
        else
            bench_sees(bench, test_operation(p + 1, DCLI_OP_CREATE, p + 1, bench->only[p]));
    }
    dcli_action action;
    while (dcli_node_next(bench->node, &action))
        cr_assert(action.kind == DCLI_DO_RETIRE || action.kind == DCLI_DO_MARKS);
    return bench;
}

/* C(i) = A(i) with C on node `to` and A on the other: storages 1 and 2 of apart(). */
static const dcli_operation *across(struct bench *bench, int64_t number, int to)
{
    return TEST_FORALL(number, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", to + 1, bench->only[to]},
                       {DCL_ACCESS_IN, "A", 2 - to, bench->only[1 - to]});
}

/* C(i) = 1; D(i) = 2 with C on node 0 and D on node 1. */
static const dcli_operation *output(struct bench *bench, int64_t number)
{
    return TEST_FORALL(number, "C(i) = 1; D(i) = 2;", {DCL_ACCESS_OUT, "C", 1, bench->only[0]},
                       {DCL_ACCESS_OUT, "D", 2, bench->only[1]});
}

/* ---- streams -------------------------------------------------------------------------------------------------------- */

Test(member, chunks_that_will_not_come)
{
    struct bench *bench = halves(0, false);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "elements of node 1 are needed", "grant 3 to 1");
    loses(bench, 1);
    bench_expect(bench, "it fails here; nothing is dropped, as nothing came",
                 "failed 3 NODE_LOST; skip 3 NODE_LOST; retire 3; marks to 2 3/3");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), DCL_OK);
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 9, false, 0, DCL_OK), DCL_OK);
    cr_expect_eq(dcli_node_grant(bench->node, 1, 3, 1), DCL_OK);
    cr_expect_eq(dcli_node_credit(bench->node, 1, 1), DCL_OK);
    cr_expect_eq(dcli_node_marks(bench->node, 1, 1, 1), DCL_OK);
    bench_expect(bench, "what it said before is ignored", "");
    bench_close(bench);
}

Test(member, stays_failed)
{
    struct bench *bench = halves(0, false);
    loses(bench, 1);
    loses(bench, 1);
    bench_expect(bench, "nothing is open", "");
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    bench_expect(bench, "an overwrite cannot write all of it",
                 "failed 3 NODE_LOST; skip 3 NODE_LOST; retire 3; marks to 2 3/3");
    bench_sees(bench, test_operation(4, DCLI_OP_CREATE, 3, bench->halves));
    bench_expect(bench, "nothing new over a lost node",
                 "failed 4 NODE_LOST; skip 4 NODE_LOST; retire 4; marks to 2 4/4");
    bench_sees(bench, test_operation(5, DCLI_OP_RELEASE, 2, bench->halves));
    bench_expect(bench, "what is there is given up", "run 5");
    bench_ends(bench, 5, DCL_OK);
    bench_expect(bench, "without an error", "retire 5; marks to 2 5/5");
    bench_create(bench, 6, 4, bench->only[0]);
    bench_sees(bench, test_operation(7, DCLI_OP_FILL, 4, bench->only[0]));
    bench_expect(bench, "arrays elsewhere live on", "run 7");
    cr_expect(!dcli_node_storage_failed(bench->node, 4));
    bench_close(bench);
}

Test(member, what_has_ended_is_right)
{
    struct bench *bench = halves(0, false);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "elements of node 1 are needed", "grant 3 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "they are here", "run 3");
    bench_ends(bench, 3, DCL_OK);
    loses(bench, 1);
    bench_expect(bench, "nothing of it is missing", "drop 3 from 1; retire 3; marks to 2 3/3");
    bench_close(bench);
}

Test(member, what_runs_has_failed)
{
    struct bench *bench = halves(0, false);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "elements of node 1 are needed", "grant 3 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "they are here", "run 3");
    loses(bench, 1);
    bench_expect(bench, "told at once", "failed 3 NODE_LOST");
    bench_ends(bench, 3, DCL_OK);
    bench_expect(bench, "over when it has ended", "drop 3 from 1; retire 3; marks to 2 3/3");
    bench_close(bench);
}

/* Granted memory comes back: the pool holds one chunk. */
Test(member, pool_comes_back)
{
    struct bench *bench = bench_open(0, false);
    bench->terms.plan.pool_bytes = 64;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->only[0]);
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->only[1]));
    bench_expect(bench, "not here", "retire 2; marks to 2 2/2");
    bench_sees(bench, across(bench, 3, 0));
    bench_expect(bench, "64 bytes", "grant 3 to 1");
    loses(bench, 1);
    bench_expect(bench, "lost", "failed 3 NODE_LOST; skip 3 NODE_LOST; retire 3; marks to 2 3/3");
    char *state = dcli_node_explain(bench->node);
    cr_expect_not_null(strstr(state, "pool used 0"), "%s", state);
    dcli_free(state);
    bench_close(bench);
}

/* What was made for the lost node is given up when its batch has ended; the window to it does not matter. */
Test(member, discards)
{
    struct bench *bench = apart(0, false);
    for (int64_t n = 3; n <= 6; n++)
        bench_sees(bench, output(bench, n));
    bench_expect(bench, "four that write to node 1", "run 3; run 4; run 5; run 6");
    for (int64_t n = 3; n <= 5; n++)
        bench_ends(bench, n, DCL_OK);
    bench_expect(bench, "credit for two", "send 3 to 1; send 4 to 1; retire 3; retire 4; marks to 2 5/5");
    loses(bench, 1);
    bench_expect(bench, "the third is made, the fourth not yet", "failed 6 NODE_LOST; discard 5 for 1; retire 5");
    bench_ends(bench, 6, DCL_OK);
    bench_expect(bench, "now it is", "discard 6 for 1 NODE_LOST; retire 6; marks to 2 6/6");
    bench_close(bench);
}

/* Output of the lost node that came is passed on, to be freed; what it was written to has failed, and can be healed. */
Test(member, output_of_the_lost)
{
    struct bench *bench = apart(1, false);
    bench_sees(bench, output(bench, 3));
    bench_expect(bench, "output of node 0 is to come", "");
    cr_expect_eq(dcli_node_chunk(bench->node, 0, 3, true, 0, DCL_OK), DCL_OK);
    loses(bench, 0);
    bench_expect(bench, "no credit", "failed 3 NODE_LOST; commit 3 from 0 NODE_LOST; retire 3; marks to 2 3/3");
    cr_expect(dcli_node_storage_failed(bench->node, 2));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->only[1]));
    bench_expect(bench, "it lies here alone", "run 4");
    cr_expect(!dcli_node_storage_failed(bench->node, 2));
    bench_close(bench);
}

Test(member, output_that_will_not_come)
{
    struct bench *bench = apart(1, false);
    bench_sees(bench, output(bench, 3));
    bench_expect(bench, "output of node 0 is to come", "");
    loses(bench, 0);
    bench_expect(bench, "nobody waits for it", "failed 3 NODE_LOST; retire 3; marks to 2 3/3");
    bench_close(bench);
}

/* Who has not heard of the loss asks and sends as before. */
Test(member, others_do_not_know)
{
    struct bench *bench = halves(0, false);
    loses(bench, 1);
    bench_sees(bench, test_operation(3, DCLI_OP_WRITE, 1, bench->halves));
    bench_expect(bench, "a write of the host", "failed 3 NODE_LOST");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 3, true, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "taken, written nowhere: the part may not be there",
                 "commit 3 from 2 NODE_LOST; credit from 2; retire 3; marks to 2 3/3");
    bench_sees(bench, test_operation(4, DCLI_OP_READ, 1, bench->halves));
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 4, 1), DCL_OK);
    bench_expect(bench, "answered, empty", "failed 4 NODE_LOST; pack 4 to 2 NODE_LOST; retire 4; marks to 2 4/4");
    bench_close(bench);
}

/* ---- in place -------------------------------------------------------------------------------------------------------- */

Test(member, was_to_be_ready)
{
    struct bench *bench = halves(0, true);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "the other's part is not known to be filled", "run 3; marks to 1 2/2");
    bench_ends(bench, 3, DCL_OK);
    loses(bench, 1);
    bench_expect(bench, "the fill has ended here; its reader cannot be done",
                 "failed 4 NODE_LOST; skip 4 NODE_LOST; retire 3; retire 4; marks to 2 4/4");
    bench_close(bench);
}

Test(member, was_to_read)
{
    struct bench *bench = apart(1, true);
    bench_sees(bench, across(bench, 3, 0));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->only[1]));
    bench_expect(bench, "the fill waits for node 0", "retire 3; marks to 0 3/3; marks to 2 3/3");
    loses(bench, 0);
    bench_expect(bench, "which reads no more", "run 4");
    bench_close(bench);
}

/* ---- the host -------------------------------------------------------------------------------------------------------- */

Test(member, host_reads)
{
    struct bench *bench = bench_open(HOST, false);
    bench_sees(bench, test_operation(1, DCLI_OP_CREATE, 1, bench->halves));
    bench_sees(bench, test_operation(2, DCLI_OP_READ, 1, bench->halves));
    bench_expect(bench, "a half from each", "grant 2 to 0; grant 2 to 1; retire 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 0, 2, false, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "one is here", "run 2");
    loses(bench, 1);
    bench_expect(bench, "the other does not come", "failed 2 NODE_LOST; skip 2 NODE_LOST");
    bench_ends(bench, 2, DCL_OK);
    bench_expect(bench, "over", "drop 2 from 0; retire 2");
    bench_close(bench);
}

Test(member, host_writes)
{
    struct bench *bench = bench_open(HOST, false);
    bench_sees(bench, test_operation(1, DCLI_OP_CREATE, 1, bench->halves));
    loses(bench, 1);
    bench_sees(bench, test_operation(2, DCLI_OP_WRITE, 1, bench->halves));
    bench_expect(bench, "an empty chunk for who is there, none for who is not",
                 "failed 2 NODE_LOST; skip 2 NODE_LOST; send 2 to 0 NODE_LOST; skip 2 NODE_LOST; "
                 "discard 2 for 1 NODE_LOST; retire 1; retire 2");
    bench_close(bench);
}

/* ---- joining --------------------------------------------------------------------------------------------------------- */

/* Node 0 or the host, with node 1 absent; storage 1 is on node 0. */
static struct bench *alone(int self, bool in_place)
{
    static const bool absent[NODES] = {false, true};
    struct bench *bench = bench_open(self, in_place);
    bench->terms.absent = absent;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->only[0]);
    return bench;
}

Test(member, joins)
{
    struct bench *bench = alone(0, true);
    cr_expect(!dcli_node_is_there(bench->node, 1));
    cr_expect(dcli_node_is_there(bench->node, 0) && dcli_node_is_there(bench->node, HOST));
    cr_expect_eq(dcli_node_joined(bench->node, 1, 2), DCL_OK, "%s", dcl_error());
    cr_expect(dcli_node_is_there(bench->node, 1));
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->only[1]));
    bench_sees(bench, across(bench, 3, 1));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 1, bench->only[0]));
    bench_expect(bench, "the fill waits for the newcomer's reading, which is told how far we are",
                 "retire 2; retire 3; marks to 1 3/3; marks to 2 3/3");
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 3), DCL_OK);
    bench_expect(bench, "it has read", "run 4");
    bench_close(bench);
}

/* Its words may be faster than the host's. */
Test(member, speaks_early)
{
    struct bench *bench = alone(0, true);
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 3), DCL_OK);
    EXPECT_REFUSED(dcli_node_marks(bench->node, 1, 2, 2), "sets done 2");
    cr_expect_eq(dcli_node_joined(bench->node, 1, 2), DCL_OK, "%s", dcl_error());
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->only[1]));
    bench_sees(bench, across(bench, 3, 1));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 1, bench->only[0]));
    bench_expect(bench, "what it said is not forgotten", "run 4; retire 2; retire 3; marks to 1 3/3; marks to 2 3/3");
    bench_close(bench);
}

/* The host waits until all before is over everywhere. */
Test(member, joins_when_all_is_over)
{
    static const bool absent[NODES] = {false, true};
    struct bench *bench = bench_open(HOST, false);
    bench->terms.absent = absent;
    bench_reopen(bench);
    bench_sees(bench, test_operation(1, DCLI_OP_CREATE, 1, bench->only[0]));
    bench_expect(bench, "nothing to do for the host", "retire 1");
    EXPECT_REFUSED(dcli_node_joined(bench->node, 1, 2), "up to 0 are over");
    cr_expect(!dcli_node_is_there(bench->node, 1));
    cr_expect_eq(dcli_node_marks(bench->node, 0, 1, 1), DCL_OK);
    cr_expect_eq(dcli_node_joined(bench->node, 1, 2), DCL_OK, "%s", dcl_error());
    bench_close(bench);
}

Test(member, absent_is_as_lost)
{
    struct bench *bench = alone(0, false);
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->halves));
    bench_expect(bench, "nothing can be made there", "failed 2 NODE_LOST; skip 2 NODE_LOST; retire 2; marks to 2 2/2");
    loses(bench, 1);
    cr_expect_eq(dcli_node_joined(bench->node, 1, 3), DCL_OK, "%s", dcl_error());
    cr_expect(!dcli_node_is_there(bench->node, 1)); /* it was lost before we heard that it had come */
    bench_close(bench);
}

Test(member, newcomer)
{
    struct bench *bench = bench_open(1, true);
    bench->terms.first_operation = 5;
    bench_reopen(bench);
    int64_t done, ready;
    dcli_node_watermarks(bench->node, &done, &ready);
    cr_expect(done == 4 && ready == 4);
    EXPECT_REFUSED(dcli_node_operation(bench->node, test_operation(1, DCLI_OP_FILL, 1, bench->only[0])), "expected 5");
    cr_expect_eq(dcli_node_failed(bench->node, 0, 4, 1, (int64_t[]){1}), DCL_OK, "a node cannot know: ignored");
    cr_expect_eq(dcli_node_failed(bench->node, 2, 4, 1, (int64_t[]){3}), DCL_OK);
    cr_expect(dcli_node_storage_failed(bench->node, 3) && !dcli_node_storage_failed(bench->node, 1));
    bench_sees(bench, test_operation(5, DCLI_OP_CREATE, 2, bench->only[1]));
    bench_sees(bench, TEST_FORALL(6, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 2, bench->only[1]},
                                  {DCL_ACCESS_IN, "A", 3, bench->only[0]}));
    bench_expect(bench, "ready with all before, not yet with a creation", "run 5");
    cr_expect_eq(dcli_node_marks(bench->node, 0, 5, 5), DCL_OK);
    bench_expect(bench, "it is: but the input was failed", "skip 6 INVALID; failed 6 INVALID");
    bench_ends(bench, 5, DCL_OK);
    bench_expect(bench, "over", "retire 5; retire 6; marks to 0 6/6 after 2 failures, the first of 4; marks to 2 6/6");
    bench_close(bench);
}

/* What the others had before it came is ready. */
Test(member, newcomer_reads)
{
    struct bench *bench = bench_open(1, true);
    bench->terms.first_operation = 5;
    bench_reopen(bench);
    bench_sees(bench, TEST_FORALL(5, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 2, bench->only[1]},
                                  {DCL_ACCESS_IN, "A", 1, bench->only[0]}));
    bench_expect(bench, "node 0 has said nothing, and need not", "run 5");
    bench_close(bench);
}

/* ---- others ---------------------------------------------------------------------------------------------------------- */

/* Node 1 has too little memory for operation 3. Node 0, which sends to it, does not know: what it sends is dropped. */
Test(member, refused_plan_of_another)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->only[0]);
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->only[1]));
    bench_sees(bench, across(bench, 3, 1));
    bench_expect(bench, "node 1 grants", "retire 2; marks to 2 3/3");
    cr_expect_eq(dcli_node_grant(bench->node, 1, 3, 1), DCL_OK, "%s", dcl_error());
    bench_expect(bench, "and gets it", "pack 3 to 1; retire 3");
    bench_close(bench);
}

Test(member, refused_plan)
{
    struct bench *bench = bench_open(1, false);
    bench->terms.plan.pool_bytes = 8;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->only[0]);
    bench_create(bench, 2, 2, bench->only[1]);
    bench_sees(bench, across(bench, 3, 1));
    bench_expect(bench, "64 bytes do not fit", "failed 3 NOMEM; grant 3 to 0 NOMEM");
    for (int64_t n = 0; n < 8; n++) {
        cr_expect_eq(dcli_node_chunk(bench->node, 0, 3, false, n, DCL_ERR_NOMEM), DCL_OK, "%s", dcl_error());
        bench_expect(bench, "one after the other, empty",
                     n < 7 ? "skip 3 NOMEM; drop 3 from 0" : "skip 3 NOMEM; drop 3 from 0; retire 3; marks to 2 3/3");
    }
    bench_close(bench);
}

Test(member, refuses)
{
    struct bench *bench = alone(0, false);
    EXPECT_REFUSED(dcli_node_lost(bench->node, 0), "said to have been lost");
    EXPECT_REFUSED(dcli_node_lost(bench->node, HOST), "said to have been lost");
    EXPECT_REFUSED(dcli_node_lost(bench->node, -1), "peer -1");
    EXPECT_REFUSED(dcli_node_joined(bench->node, 0, 9), "said to have joined");
    EXPECT_REFUSED(dcli_node_joined(bench->node, 1, 1), "operation after 1");
    cr_expect_eq(dcli_node_joined(bench->node, 1, 2), DCL_OK);
    EXPECT_REFUSED(dcli_node_joined(bench->node, 1, 3), "not there");
    bench_close(bench);
}

/* test/workqueue/node_test.c - the state machine of one node: what it does when, told what by whom.
 *
 * Two nodes and the host (peer 2); arrays of eight elements in halves. A script of events gives a line of actions. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "workqueue/node.h"
#include "workqueue/ops.h"

enum { NODES = 2, HOST = 2, MOST_OPS = 24 };

struct bench {
    bool in_place[NODES];
    dcli_node_terms terms;
    dcli_node *node;
    dcli_plan *plan[MOST_OPS + 1][NODES + 1];
    const dcli_layout *halves; /* [0, 4) and [4, 8) */
};

static const dcli_plan *plan_of(void *user, const dcli_operation *operation, int peer)
{
    struct bench *bench = user;
    dcli_plan **plan = &bench->plan[operation->number][peer];
    if (*plan == NULL)
        cr_assert_eq(dcli_plan_make(operation, peer, &bench->terms.plan, plan), DCL_OK);
    return *plan;
}

static struct bench *open_bench(int self, bool in_place)
{
    static struct bench bench;
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8);
    bench = (struct bench){.in_place = {in_place, in_place}};
    bench.halves = test_layout("block", NODES, &line);
    bench.terms = (dcli_node_terms){.plan = {.node_count = NODES,
                                             .in_place = bench.in_place,
                                             .batch_bytes = 1 << 20,
                                             .chunk_bytes = 1 << 20,
                                             .pool_bytes = 1 << 20},
                                    .self = self,
                                    .window_chunks = 2,
                                    .made_bytes = 1 << 20,
                                    .plan_of = plan_of,
                                    .user = &bench};
    bench.node = dcli_node_open(&bench.terms);
    cr_assert_not_null(bench.node);
    return &bench;
}

static void close_bench(struct bench *bench)
{
    dcli_node_close(bench->node);
    for (int n = 0; n <= MOST_OPS; n++)
        for (int p = 0; p <= NODES; p++)
            dcli_plan_free(bench->plan[n][p]);
    test_ops_free();
}

static void put_action(dcli_text *text, const dcli_action *action)
{
    static const char *names[] = {"run",   "skip",   "pack",   "send",  "commit", "drop",
                                  "grant", "credit", "failed", "marks", "retire"};
    int64_t number = action->operation != NULL ? action->operation->number : 0;
    dcli_text_put(text, "%s%s", text->length > 0 ? "; " : "", names[action->kind]);
    if (number > 0)
        dcli_text_put(text, " %" PRId64, number);
    if (action->kind == DCLI_DO_PACK || action->kind == DCLI_DO_SEND || action->kind == DCLI_DO_GRANT ||
        action->kind == DCLI_DO_MARKS)
        dcli_text_put(text, " to %d", action->peer);
    if (action->kind == DCLI_DO_COMMIT || action->kind == DCLI_DO_DROP || action->kind == DCLI_DO_CREDIT)
        dcli_text_put(text, " from %d", action->peer);
    if (action->kind == DCLI_DO_MARKS)
        dcli_text_put(text, " %" PRId64 "/%" PRId64, action->done, action->ready);
    if (action->status != DCL_OK)
        dcli_text_put(text, " %s", dcl_status_name(action->status) + strlen("DCL_ERR_"));
}

/* What the node does now, up to where it waits. */
static void expect(struct bench *bench, const char *when, const char *expected)
{
    dcli_text text = {0};
    dcli_action action;
    dcli_text_put(&text, "%s", "");
    while (dcli_node_next(bench->node, &action))
        put_action(&text, &action);
    if (strcmp(text.bytes, expected) != 0) {
        char *state = dcli_node_explain(bench->node);
        cr_expect(false, "%s:\n  does      %s\n  expected  %s\n%s", when, text.bytes, expected, state);
        dcli_free(state);
    }
    dcli_text_free(&text);
}

static void sees(struct bench *bench, const dcli_operation *operation)
{
    cr_assert_eq(dcli_node_operation(bench->node, operation), DCL_OK, "%s", dcl_error());
}

static void ends(struct bench *bench, int64_t operation, dcl_status status)
{
    cr_assert_eq(dcli_node_batch_done(bench->node, operation, 0, status), DCL_OK, "%s", dcl_error());
}

static void create(struct bench *bench, int64_t operation, int64_t storage)
{
    sees(bench, test_operation(operation, DCLI_OP_CREATE, storage, bench->halves));
    dcli_action action;
    while (dcli_node_next(bench->node, &action))
        if (action.kind == DCLI_DO_RUN)
            ends(bench, operation, DCL_OK);
}

/* C(i) = A(text), over halves. */
static const dcli_operation *reads(struct bench *bench, int64_t number, const char *body, int64_t c, int64_t a)
{
    return TEST_FORALL(number, body, {DCL_ACCESS_OUT, "C", c, bench->halves}, {DCL_ACCESS_IN, "A", a, bench->halves});
}

/* ---- one node by itself --------------------------------------------------------------------------------------------- */

Test(node, local_operations)
{
    struct bench *bench = open_bench(0, false);
    sees(bench, test_operation(1, DCLI_OP_CREATE, 1, bench->halves));
    sees(bench, test_operation(2, DCLI_OP_FILL, 1, bench->halves));
    expect(bench, "all start in order, without waiting for the end", "run 1; run 2");
    ends(bench, 2, DCL_OK);
    expect(bench, "the second ended: the marks wait for the first", "");
    ends(bench, 1, DCL_OK);
    expect(bench, "both ended", "retire 1; retire 2; marks to 2 2/2");
    cr_expect(dcli_node_idle(bench->node));
    close_bench(bench);
}

/* ---- streams --------------------------------------------------------------------------------------------------------- */

Test(node, receives)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    expect(bench, "elements of node 1 are needed", "grant 3 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), DCL_OK);
    expect(bench, "they are here", "run 3");
    ends(bench, 3, DCL_OK);
    expect(bench, "they have been used", "drop 3 from 1; retire 3; marks to 2 3/3");
    close_bench(bench);
}

Test(node, sends)
{
    struct bench *bench = open_bench(1, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    cr_expect_eq(dcli_node_grant(bench->node, 0, 3, 1), DCL_OK); /* before the operation is seen */
    expect(bench, "a grant alone", "");
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->halves));
    expect(bench, "packed before it is overwritten", "pack 3 to 0; run 3; run 4");
    close_bench(bench);
}

Test(node, overwrites_after_packing)
{
    struct bench *bench = open_bench(1, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->halves));
    expect(bench, "what it owns of C is outside of A; the fill has to wait", "run 3");
    cr_expect_eq(dcli_node_grant(bench->node, 0, 3, 1), DCL_OK);
    expect(bench, "granted", "pack 3 to 0; run 4");
    close_bench(bench);
}

Test(node, writes_elsewhere)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, TEST_FORALL(3, "C(i) = 1; D(i) = 2;", {DCL_ACCESS_OUT, "C", 1, bench->halves},
                            {DCL_ACCESS_OUT, "D", 2, bench->halves}));
    expect(bench, "a body over equal maps is local", "run 3");
    ends(bench, 3, DCL_OK);
    expect(bench, "its end", "retire 3; marks to 2 3/3");
    close_bench(bench);
}

/* A write of the host: every node commits its half, in order, and gives credit. */
Test(node, commits)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 2, true, 0, DCL_OK), DCL_OK); /* early */
    sees(bench, test_operation(2, DCLI_OP_WRITE, 1, bench->halves));
    expect(bench, "committed", "commit 2 from 2; credit from 2; retire 2; marks to 2 2/2");
    sees(bench, test_operation(3, DCLI_OP_WRITE, 1, bench->halves));
    sees(bench, test_operation(4, DCLI_OP_READ, 1, bench->halves));
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 4, 1), DCL_OK);
    expect(bench, "a read waits for the write before it", "marks to 2 4/2");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 3, true, 0, DCL_OK), DCL_OK);
    expect(bench, "which comes", "commit 3 from 2; pack 4 to 2; credit from 2; retire 3; retire 4; marks to 2 4/4");
    close_bench(bench);
}

/* Storage 1 waits for an output of the host's write 4; storage 2, written later by the host, does not stand for it. */
Test(node, needs_are_per_storage)
{
    struct bench *bench = open_bench(1, false);
    for (int64_t n = 1; n <= 3; n++)
        create(bench, n, n);
    sees(bench, test_operation(4, DCLI_OP_WRITE, 1, bench->halves));
    sees(bench, test_operation(5, DCLI_OP_WRITE, 2, bench->halves));
    sees(bench, TEST_FORALL(6, "C(i) = A(i) + B(i);", {DCL_ACCESS_OUT, "C", 3, bench->halves},
                            {DCL_ACCESS_IN, "A", 1, bench->halves}, {DCL_ACCESS_IN, "B", 2, bench->halves}));
    expect(bench, "nothing has come", "marks to 2 5/3");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 5, true, 0, DCL_OK), DCL_OK);
    expect(bench, "the later write has come, the earlier has not", "commit 5 from 2; credit from 2");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 4, true, 0, DCL_OK), DCL_OK);
    expect(bench, "both have", "commit 4 from 2; run 6; credit from 2; retire 4; retire 5; marks to 2 5/5");
    close_bench(bench);
}

/* Operation 6 reads storages 1 and 2 for node 0 and waits for the host's write of 2; operation 7 reads 1 alone. It is not
 * packed first: the write 8 of 1, which waits for the last reader, would then overtake operation 6. */
Test(node, packs_in_order)
{
    struct bench *bench = open_bench(1, false);
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8);
    const dcli_layout *zero = test_layout("block(8)", NODES, &line); /* all on node 0 */
    for (int64_t n = 1; n <= 4; n++)
        create(bench, n, n);
    sees(bench, test_operation(5, DCLI_OP_WRITE, 2, bench->halves));
    sees(bench, TEST_FORALL(6, "C(i) = A(i) + B(i);", {DCL_ACCESS_OUT, "C", 3, zero},
                            {DCL_ACCESS_IN, "A", 1, bench->halves}, {DCL_ACCESS_IN, "B", 2, bench->halves}));
    sees(bench, TEST_FORALL(7, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 4, zero}, {DCL_ACCESS_IN, "A", 1, bench->halves}));
    sees(bench, test_operation(8, DCLI_OP_FILL, 1, bench->halves));
    int64_t chunks = 0;
    for (int64_t c = 0; c < bench->plan[6][0]->chunk_count; c++)
        chunks += bench->plan[6][0]->chunk[c].peer == 1;
    cr_expect_eq(dcli_node_grant(bench->node, 0, 6, chunks), DCL_OK);
    cr_expect_eq(dcli_node_grant(bench->node, 0, 7, 1), DCL_OK);
    expect(bench, "all is granted, but the write has not come", "marks to 2 7/4");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 5, true, 0, DCL_OK), DCL_OK);
    expect(bench, "it has",
           "commit 5 from 2; pack 6 to 0; pack 7 to 0; run 8; credit from 2; retire 5; retire 6; retire 7; "
           "marks to 2 7/7");
    close_bench(bench);
}

/* ---- in place -------------------------------------------------------------------------------------------------------- */

Test(node, reads_in_place)
{
    struct bench *bench = open_bench(0, true);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    sees(bench, reads(bench, 4, "C(i) = A(i+4);", 1, 2));
    expect(bench, "the other's part is not known to be filled", "run 3; marks to 1 2/2");
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 2), DCL_OK);
    expect(bench, "done, not ready", "");
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 3), DCL_OK);
    expect(bench, "ready", "run 4");
    close_bench(bench);
}

Test(node, is_read_in_place)
{
    struct bench *bench = open_bench(1, true);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->halves));
    expect(bench, "the fill waits for the reader; who is told how far we are", "run 3; marks to 0 2/2");
    cr_expect_eq(dcli_node_marks(bench->node, 0, 2, 2), DCL_OK);
    expect(bench, "it has not read", "");
    cr_expect_eq(dcli_node_marks(bench->node, 0, 3, 2), DCL_OK);
    expect(bench, "it has", "run 4");
    close_bench(bench);
}

/* ---- failures -------------------------------------------------------------------------------------------------------- */

Test(node, failure_spreads_and_heals)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    expect(bench, "a fill", "run 3");
    ends(bench, 3, DCL_ERR_DEVICE);
    expect(bench, "fails: all are told before the marks", "failed 3 DEVICE; retire 3; marks to 2 3/3");
    sees(bench, reads(bench, 4, "C(i) = A(i);", 1, 2));
    expect(bench, "its reader does not run", "skip 4 INVALID; failed 4 INVALID; retire 4; marks to 2 4/4");
    sees(bench, test_operation(5, DCLI_OP_FILL, 2, bench->halves));
    sees(bench, reads(bench, 6, "C(i) = A(i);", 1, 2));
    expect(bench, "overwritten, it is good again", "run 5; run 6");
    close_bench(bench);
}

Test(node, failure_in_streams)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    expect(bench, "elements are needed", "grant 3 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_ERR_INVALID), DCL_OK);
    expect(bench, "which failed: skipped, and all is given up",
           "failed 3 INVALID; skip 3 INVALID; drop 3 from 1; retire 3; marks to 2 3/3");
    sees(bench, test_operation(4, DCLI_OP_READ, 1, bench->halves));
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 4, 1), DCL_OK);
    expect(bench, "the host gets an empty chunk", "pack 4 to 2 INVALID; retire 4; marks to 2 4/4");
    close_bench(bench);
}

Test(node, failure_elsewhere)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    sees(bench, reads(bench, 4, "C(i) = A(i);", 1, 2));
    expect(bench, "both run", "run 3; run 4");
    cr_expect_eq(dcli_node_failed(bench->node, 3, 1, (int64_t[]){2}, DCL_ERR_DEVICE), DCL_OK);
    ends(bench, 3, DCL_OK);
    ends(bench, 4, DCL_OK);
    expect(bench, "node 1 failed the fill while the reader ran",
           "failed 4 INVALID; retire 3; retire 4; marks to 2 4/4");
    close_bench(bench);
}

Test(node, pool_too_small)
{
    struct bench *bench = open_bench(0, false);
    bench->terms.plan.pool_bytes = 8;
    dcli_node_close(bench->node);
    bench->node = dcli_node_open(&bench->terms);
    create(bench, 1, 1);
    create(bench, 2, 2);
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    expect(bench, "32 bytes do not fit", "failed 3 NOMEM; retire 3; marks to 2 3/3");
    close_bench(bench);
}

/* ---- what no correct peer says ---------------------------------------------------------------------------------------- */

#define EXPECT_REFUSED(call, words)                                          \
    do {                                                                     \
        cr_expect_eq((call), DCL_ERR_PROTOCOL);                              \
        cr_expect_not_null(strstr(dcl_error(), (words)), "%s", dcl_error()); \
    } while (0)

Test(node, refuses)
{
    struct bench *bench = open_bench(0, false);
    create(bench, 1, 1);
    create(bench, 2, 2);
    EXPECT_REFUSED(dcli_node_operation(bench->node, test_operation(4, DCLI_OP_FILL, 1, bench->halves)), "expected 3");
    sees(bench, reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), "not expected"); /* before the grant */
    expect(bench, "granted once", "grant 3 to 1");
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, 3, false, 1, DCL_OK), "not expected");
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, 3, true, 0, DCL_OK), "not expected");
    EXPECT_REFUSED(dcli_node_chunk(bench->node, HOST, 3, false, 0, DCL_OK), "not expected");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), DCL_OK);
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), "not expected"); /* again */
    EXPECT_REFUSED(dcli_node_grant(bench->node, 1, 3, 1), "not expected");
    EXPECT_REFUSED(dcli_node_grant(bench->node, 1, 1, 1), "operation 1"); /* retired */
    EXPECT_REFUSED(dcli_node_credit(bench->node, 1, 1), "0 are outstanding");
    cr_expect_eq(dcli_node_marks(bench->node, 1, 2, 1), DCL_OK);
    EXPECT_REFUSED(dcli_node_marks(bench->node, 1, 1, 1), "sets done 1");
    EXPECT_REFUSED(dcli_node_marks(bench->node, 1, 2, 3), "ready 3");
    cr_expect_eq(dcli_node_batch_done(bench->node, 3, 1, DCL_OK), DCL_ERR_INTERNAL);
    expect(bench, "nothing of that changed anything", "run 3");
    close_bench(bench);
}

/* Whatever is refused memory: the node says so and can be closed. */
Test(node, out_of_memory)
{
    for (int n = 1; n < 40; n++) {
        struct bench *bench = open_bench(0, false);
        create(bench, 1, 1);
        create(bench, 2, 2);
        const dcli_operation *operation = reads(bench, 3, "C(i) = A(i+4);", 1, 2);
        for (int p = 0; p <= NODES; p++)
            plan_of(bench, operation, p);
        dcli_alloc_fail_after(n);
        dcl_status status = dcli_node_operation(bench->node, operation);
        dcli_alloc_fail_after(0);
        cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM);
        close_bench(bench);
        if (status == DCL_OK)
            return;
    }
    cr_expect(false, "there is no end of allocations");
}

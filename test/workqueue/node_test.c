/* test/workqueue/node_test.c - the state machine of one node: what it does when, told what by whom. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "workqueue/bench.h"
#include "workqueue/node_inside.h"

/* ---- one node by itself --------------------------------------------------------------------------------------------- */

Test(node, local_operations)
{
    struct bench *bench = bench_open(0, false);
    bench_sees(bench, test_operation(1, DCLI_OP_CREATE, 1, bench->halves));
    bench_sees(bench, test_operation(2, DCLI_OP_FILL, 1, bench->halves));
    bench_expect(bench, "all start in order, without waiting for the end", "run 1; run 2");
    bench_ends(bench, 2, DCL_OK);
    bench_expect(bench, "the second ended: the marks wait for the first", "");
    bench_ends(bench, 1, DCL_OK);
    bench_expect(bench, "both ended", "retire 1; retire 2; marks to 2 2/2");
    cr_expect(dcli_node_idle(bench->node));
    bench_close(bench);
}

/* ---- streams --------------------------------------------------------------------------------------------------------- */

Test(node, receives)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "elements of node 1 are needed", "grant 3 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "they are here", "run 3");
    bench_ends(bench, 3, DCL_OK);
    bench_expect(bench, "they have been used", "drop 3 from 1; retire 3; marks to 2 3/3");
    bench_close(bench);
}

Test(node, sends)
{
    struct bench *bench = bench_open(1, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    cr_expect_eq(dcli_node_grant(bench->node, 0, 3, 1), DCL_OK); /* before the operation is seen */
    bench_expect(bench, "a grant alone", "");
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->halves));
    bench_expect(bench, "packed before it is overwritten", "run 3; pack 3 to 0; run 4");
    bench_close(bench);
}

/* Operations that follow each other do not keep a pack waiting, each because nothing of it runs yet. */
Test(node, local_operations_do_not_overtake_a_pack)
{
    struct bench *bench = bench_open(1, false);
    for (int n = 1; n <= 8; n++)
        bench_create(bench, n, n, bench->halves);
    cr_expect_eq(dcli_node_grant(bench->node, 0, 9, 1), DCL_OK); /* before the operation is seen */
    bench_sees(bench, bench_reads(bench, 9, "C(i) = A(i+4);", 1, 2));
    for (int n = 10; n <= 12; n++)
        bench_sees(bench, bench_reads(bench, n, "C(i) = A(i);", n - 7, 2));
    bench_expect(bench, "local bodies behind an exchange", "run 9; pack 9 to 0; run 10; run 11; run 12");
    bench_close(bench);
}

/* Storage 3 to node 0, while a body computes storage 1. */
static void see_move(struct bench *bench)
{
    for (int64_t n = 1; n <= 3; n++)
        bench_create(bench, n, n, bench->halves);
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i);", 1, 2));
    bench_expect(bench, "a body", "run 4");
    dcli_operation *move = test_operation(5, DCLI_OP_MOVE, 3, bench->halves);
    move->node = 0;
    bench_sees(bench, move);
}

Test(node, moves_while_it_computes)
{
    struct bench *bench = bench_open(0, false);
    see_move(bench);
    bench_expect(bench, "it is asked for at once", "grant 5 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 5, false, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "it is here, and the body has not ended", "run 5");
    bench_ends(bench, 5, DCL_OK);
    bench_expect(bench, "it is in its place", "drop 5 from 1");
    bench_ends(bench, 4, DCL_OK);
    bench_expect(bench, "the body has ended", "retire 4; retire 5; marks to 2 5/5");
    bench_close(bench);
}

Test(node, is_moved_from_while_it_computes)
{
    struct bench *bench = bench_open(1, false);
    see_move(bench);
    bench_expect(bench, "nobody asks yet", "");
    cr_expect_eq(dcli_node_grant(bench->node, 0, 5, 1), DCL_OK);
    bench_expect(bench, "granted, and the body has not ended", "pack 5 to 0");
    bench_close(bench);
}

Test(node, overwrites_after_packing)
{
    struct bench *bench = bench_open(1, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->halves));
    bench_expect(bench, "what it owns of C is outside of A; the fill has to wait", "run 3");
    cr_expect_eq(dcli_node_grant(bench->node, 0, 3, 1), DCL_OK);
    bench_expect(bench, "granted", "pack 3 to 0; run 4");
    bench_close(bench);
}

Test(node, writes_elsewhere)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, TEST_FORALL(3, "C(i) = 1; D(i) = 2;", {DCL_ACCESS_OUT, "C", 1, bench->halves},
                                  {DCL_ACCESS_OUT, "D", 2, bench->halves}));
    bench_expect(bench, "a body over equal maps is local", "run 3");
    bench_ends(bench, 3, DCL_OK);
    bench_expect(bench, "its end", "retire 3; marks to 2 3/3");
    bench_close(bench);
}

/* A write of the host: every node commits its half, in order, and gives credit. */
Test(node, commits)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 2, true, 0, DCL_OK), DCL_OK); /* early */
    bench_sees(bench, test_operation(2, DCLI_OP_WRITE, 1, bench->halves));
    bench_expect(bench, "committed", "commit 2 from 2; credit from 2; retire 2; marks to 2 2/2");
    bench_sees(bench, test_operation(3, DCLI_OP_WRITE, 1, bench->halves));
    bench_sees(bench, test_operation(4, DCLI_OP_READ, 1, bench->halves));
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 4, 1), DCL_OK);
    bench_expect(bench, "a read waits for the write before it", "");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 3, true, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "which comes",
                 "commit 3 from 2; pack 4 to 2; credit from 2; retire 3; retire 4; marks to 2 4/4");
    bench_close(bench);
}

static void chunk_ends(struct bench *bench, int64_t operation, bool written, dcl_status status)
{
    cr_expect_eq(dcli_node_chunk_done(bench->node, operation, HOST, written, status), DCL_OK, "%s", dcl_error());
}

/* Operation 2 writes an array and 3 reads it; packs and commits end when the test says so. */
static struct bench *write_then_read(void)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench->ends_chunks = true;
    bench_sees(bench, test_operation(2, DCLI_OP_WRITE, 1, bench->halves));
    bench_sees(bench, test_operation(3, DCLI_OP_READ, 1, bench->halves));
    return bench;
}

/* Nothing follows a commit before it has ended; a writer follows a pack that has begun. */
Test(node, packs_and_commits_end_late)
{
    struct bench *bench = write_then_read();
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 1, bench->halves));
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 2, true, 0, DCL_OK), DCL_OK);
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 3, 1), DCL_OK);
    bench_expect(bench, "the commit begins", "commit 2 from 2");
    chunk_ends(bench, 2, true, DCL_OK);
    bench_expect(bench, "it has ended", "pack 3 to 2; run 4; credit from 2; retire 2; marks to 2 3/3");
    bench_ends(bench, 4, DCL_OK);
    bench_expect(bench, "the fill has ended, the packing before it has not", "marks to 2 4/4");
    chunk_ends(bench, 3, false, DCL_OK);
    bench_expect(bench, "both have", "retire 3; retire 4");
    cr_expect_eq(dcli_node_chunk_done(bench->node, 3, HOST, false, DCL_OK), DCL_ERR_INTERNAL);
    bench_close(bench);
}

Test(node, a_commit_that_fails_late_fails_its_operation)
{
    struct bench *bench = write_then_read();
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 2, true, 0, DCL_OK), DCL_OK);
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 3, 1), DCL_OK);
    bench_expect(bench, "the commit begins", "commit 2 from 2");
    chunk_ends(bench, 2, true, DCL_ERR_DEVICE);
    bench_expect(bench, "it has failed",
                 "failed 2 DEVICE; pack 3 to 2 INVALID; credit from 2; retire 2; marks to 2 3/3");
    bench_close(bench);
}

/* Messages go on; memory is left alone. */
Test(node, a_held_node_touches_no_memory)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    dcli_node_hold(bench->node, true);
    bench_sees(bench, test_operation(3, DCLI_OP_WRITE, 1, bench->halves));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(7 - i);", 1, 2));
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 3, true, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "held", "grant 4 to 1");
    cr_expect_eq(dcli_node_grant(bench->node, 1, 4, 1), DCL_OK);
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 4, false, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "still held", "");
    dcli_node_hold(bench->node, false);
    bench_expect(bench, "goes on", "commit 3 from 2; run 4; pack 4 to 1; credit from 2; retire 3; marks to 2 3/3");
    bench_close(bench);
}

/* Storage 1 waits for an output of the host's write 4; storage 2, written later by the host, does not stand for it. */
Test(node, needs_are_per_storage)
{
    struct bench *bench = bench_open(1, false);
    for (int64_t n = 1; n <= 3; n++)
        bench_create(bench, n, n, bench->halves);
    bench_sees(bench, test_operation(4, DCLI_OP_WRITE, 1, bench->halves));
    bench_sees(bench, test_operation(5, DCLI_OP_WRITE, 2, bench->halves));
    bench_sees(bench, TEST_FORALL(6, "C(i) = A(i) + B(i);", {DCL_ACCESS_OUT, "C", 3, bench->halves},
                                  {DCL_ACCESS_IN, "A", 1, bench->halves}, {DCL_ACCESS_IN, "B", 2, bench->halves}));
    bench_expect(bench, "nothing has come", "");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 5, true, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "the later write has come, the earlier has not", "commit 5 from 2; credit from 2");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 4, true, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "both have", "commit 4 from 2; run 6; credit from 2; retire 4; retire 5; marks to 2 5/5");
    bench_close(bench);
}

/* Operation 6 reads storages 1 and 2 for node 0 and waits for the host's write of 2; operation 7 reads 1 alone. It is not
 * packed first: the write 8 of 1, which waits for the last reader, would then overtake operation 6. */
Test(node, packs_in_order)
{
    struct bench *bench = bench_open(1, false);
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8);
    const dcli_layout *zero = test_layout("block(8)", NODES, &line); /* all on node 0 */
    for (int64_t n = 1; n <= 4; n++)
        bench_create(bench, n, n, bench->halves);
    bench_sees(bench, test_operation(5, DCLI_OP_WRITE, 2, bench->halves));
    bench_sees(bench, TEST_FORALL(6, "C(i) = A(i) + B(i);", {DCL_ACCESS_OUT, "C", 3, zero},
                                  {DCL_ACCESS_IN, "A", 1, bench->halves}, {DCL_ACCESS_IN, "B", 2, bench->halves}));
    bench_sees(bench,
               TEST_FORALL(7, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 4, zero}, {DCL_ACCESS_IN, "A", 1, bench->halves}));
    bench_sees(bench, test_operation(8, DCLI_OP_FILL, 1, bench->halves));
    int64_t chunks = 0;
    for (int64_t c = 0; c < bench->plan[6][0]->chunk_count; c++)
        chunks += bench->plan[6][0]->chunk[c].peer == 1;
    cr_expect_eq(dcli_node_grant(bench->node, 0, 6, chunks), DCL_OK);
    cr_expect_eq(dcli_node_grant(bench->node, 0, 7, 1), DCL_OK);
    bench_expect(bench, "all is granted, but the write has not come", "");
    cr_expect_eq(dcli_node_chunk(bench->node, HOST, 5, true, 0, DCL_OK), DCL_OK);
    bench_expect(bench, "it has",
                 "commit 5 from 2; pack 6 to 0; pack 7 to 0; run 8; credit from 2; retire 5; retire 6; retire 7; "
                 "marks to 2 7/7");
    bench_close(bench);
}

/* ---- in place -------------------------------------------------------------------------------------------------------- */

Test(node, reads_in_place)
{
    struct bench *bench = bench_open(0, true);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "the other's part is not known to be filled", "run 3; marks to 1 2/2");
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 2), DCL_OK);
    bench_expect(bench, "done, not ready", "");
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 3), DCL_OK);
    bench_expect(bench, "ready", "run 4");
    bench_close(bench);
}

/* Parts are read in place, batches have two elements, and operation 3 has filled A. */
static struct bench *open_with_small_batches(void)
{
    struct bench *bench = bench_open(0, true);
    bench->terms.plan.batch_bytes = 8;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    return bench;
}

/* Of four batches only the last one reads the other's part. */
Test(node, batches_that_read_no_parts_wait_for_no_peer)
{
    struct bench *bench = open_with_small_batches();
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i+1);", 1, 2));
    int64_t operation = 0;
    int peer = -1;
    bench_expect(bench, "the other is not ready", "run 3; run 4; run 4; run 4; marks to 1 2/2");
    cr_expect(dcli_node_awaits(bench->node, &operation, &peer) && operation == 4 && peer == 1);
    cr_expect_eq(dcli_node_marks(bench->node, 1, 3, 3), DCL_OK);
    bench_expect(bench, "it is", "run 4");
    bench_close(bench);
}

Test(node, the_peer_that_is_awaited_is_the_one_that_hinders)
{
    struct bench *bench = open_with_small_batches();
    bench_sees(bench, test_operation(4, DCLI_OP_WRITE, 1, bench->halves));
    bench_sees(bench, TEST_FORALL(5, "C(i) = A(i+1);", {DCL_ACCESS_IN, "A", 2, bench->halves},
                                  {DCL_ACCESS_OUT, "C", 1, bench->halves}));
    bench_expect(bench, "the host has not written C, and node 1 has not filled A", "run 3; marks to 1 2/2");
    int64_t operation = 0;
    int peer = -1;
    cr_expect(dcli_node_awaits(bench->node, &operation, &peer) && peer == HOST, "peer %d", peer);
    bench_close(bench);
}

Test(node, is_read_in_place)
{
    struct bench *bench = bench_open(1, true);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->halves));
    bench_expect(bench, "the fill waits for the reader; who is told how far we are", "run 3; marks to 0 2/2");
    cr_expect_eq(dcli_node_marks(bench->node, 0, 2, 2), DCL_OK);
    bench_expect(bench, "it has not read", "");
    cr_expect_eq(dcli_node_marks(bench->node, 0, 3, 2), DCL_OK);
    bench_expect(bench, "it has", "run 4");
    bench_close(bench);
}

/* *done* may rise before *ready*: when nothing is read in place any more. Only a peer whose part was read is told. */
Test(node, has_read_before_it_ends)
{
    struct bench *bench = bench_open(0, true);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i);", 1, 2));
    cr_expect_eq(dcli_node_marks(bench->node, 1, 2, 2), DCL_OK);
    bench_expect(bench, "both run", "run 3; run 4; marks to 1 2/2");
    cr_expect_eq(dcli_node_batch_read(bench->node, 4, 0), DCL_OK);
    bench_expect(bench, "the second has read: the marks wait for the first", "");
    cr_expect_eq(dcli_node_batch_read(bench->node, 3, 0), DCL_OK);
    cr_expect_eq(dcli_node_batch_read(bench->node, 3, 0), DCL_OK);
    bench_expect(bench, "both have read", "marks to 1 4/2");
    bench_ends(bench, 3, DCL_OK);
    bench_expect(bench, "the first has ended", "retire 3; marks to 1 4/3; marks to 2 4/3");
    bench_ends(bench, 4, DCL_OK);
    bench_expect(bench, "the second has", "retire 4; marks to 2 4/4");
    cr_expect_eq(dcli_node_batch_read(bench->node, 4, 0), DCL_ERR_INTERNAL);
    bench_close(bench);
}

/* Peers can be told before the next batch is started. */
Test(node, tells_before_it_goes_on)
{
    struct bench *bench = bench_open(0, true);
    dcli_action marks;
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i);", 1, 2));
    cr_expect_eq(dcli_node_marks(bench->node, 1, 2, 2), DCL_OK);
    bench_expect_some(bench, "the first is started", 1, "run 3");
    cr_expect_eq(dcli_node_batch_read(bench->node, 3, 0), DCL_OK);
    cr_assert(dcli_node_next_marks(bench->node, &marks));
    cr_expect(marks.kind == DCLI_DO_MARKS && marks.peer == 1 && marks.done == 3 && marks.ready == 2,
              "kind %d to %d: %d/%d", marks.kind, marks.peer, (int)marks.done, (int)marks.ready);
    cr_expect_not(dcli_node_next_marks(bench->node, &marks), "there is no other");
    bench_expect(bench, "it is told once", "run 4");
    bench_close(bench);
}

/* ---- failures -------------------------------------------------------------------------------------------------------- */

Test(node, failure_spreads_and_heals)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    bench_expect(bench, "a fill", "run 3");
    bench_ends(bench, 3, DCL_ERR_DEVICE);
    bench_expect(bench, "fails: all are told before the marks", "failed 3 DEVICE; retire 3; marks to 2 3/3");
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i);", 1, 2));
    bench_expect(bench, "its reader does not run", "skip 4 INVALID; failed 4 INVALID; retire 4; marks to 2 4/4");
    bench_sees(bench, test_operation(5, DCLI_OP_FILL, 2, bench->halves));
    bench_sees(bench, bench_reads(bench, 6, "C(i) = A(i);", 1, 2));
    bench_expect(bench, "overwritten, it is good again", "run 5; run 6");
    bench_close(bench);
}

Test(node, failure_in_streams)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "elements are needed", "grant 3 to 1");
    cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_ERR_INVALID), DCL_OK);
    bench_expect(bench, "which failed: skipped, and all is given up",
                 "failed 3 INVALID; skip 3 INVALID; drop 3 from 1; retire 3; marks to 2 3/3");
    bench_sees(bench, test_operation(4, DCLI_OP_READ, 1, bench->halves));
    cr_expect_eq(dcli_node_grant(bench->node, HOST, 4, 1), DCL_OK);
    bench_expect(bench, "the host gets an empty chunk", "pack 4 to 2 INVALID; retire 4; marks to 2 4/4");
    bench_close(bench);
}

Test(node, failure_elsewhere)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i);", 1, 2));
    bench_expect(bench, "both run", "run 3; run 4");
    cr_expect_eq(dcli_node_failed(bench->node, HOST, 3, 1, (int64_t[]){2}), DCL_OK);
    bench_ends(bench, 3, DCL_OK);
    bench_ends(bench, 4, DCL_OK);
    bench_expect(bench, "node 1 failed the fill while the reader ran",
                 "failed 4 INVALID; retire 3; retire 4; marks to 2 4/4");
    bench_close(bench);
}

/* Node 1 reads our part in place: with the watermarks it hears of failures, each once. */
Test(node, watermarks_carry_failures)
{
    enum { MANY = DCLI_MOST_TOLD_FAILURES + 1 };
    struct bench *bench = bench_open(0, true);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i-4);", 1, 2));
    bench_expect(bench, "they run", "run 3; run 4; marks to 1 2/2");
    bench_ends(bench, 3, DCL_ERR_DEVICE);
    bench_expect(bench, "node 1 would read what the fill has left",
                 "failed 3 DEVICE; retire 3; marks to 1 3/3 after 1 failures, the first of 3; marks to 2 3/3");
    for (int s = 0; s < MANY; s++) {
        dcli_storages_get(&bench->node->storages, 10 + s);
        cr_expect_eq(dcli_node_failed(bench->node, HOST, 2, 1, (int64_t[]){10 + s}), DCL_OK);
    }
    bench_ends(bench, 4, DCL_OK);
    cr_expect_eq(dcli_node_marks(bench->node, 1, 4, 4), DCL_OK);
    cr_expect_eq(dcli_node_marks(bench->node, 1, 4, 4), DCL_OK, "as they are repeated with more failures");
    bench_sees(bench, test_operation(5, DCLI_OP_FILL, 2, bench->halves));
    bench_sees(bench, bench_reads(bench, 6, "C(i) = A(i-4);", 1, 2));
    bench_expect(bench, "too many failures for one message: the watermarks rise with the last of them",
                 "failed 4 INVALID; run 5; run 6; retire 4; marks to 1 3/3 after 64 failures, the first of 2; "
                 "marks to 1 4/4 after 2 failures, the first of 2; marks to 2 4/4");
    bench_ends(bench, 5, DCL_OK);
    bench_expect(bench, "each is told once", "retire 5; marks to 1 5/5; marks to 2 5/5");
    bench_close(bench);
}

Test(node, the_host_hears_no_failures_of_the_future)
{
    dcli_failure_report report;
    struct bench *bench = bench_open(HOST, false);
    bench_create(bench, 1, 1, bench->halves);
    EXPECT_REFUSED(dcli_node_reported(bench->node, 0, 2, &report), "operation 2");
    cr_expect_eq(dcli_node_reported(bench->node, 0, 1, &report), DCL_OK);
    cr_expect(report.counts && report.is_news);
    cr_expect_eq(dcli_node_reported(bench->node, 1, 1, &report), DCL_OK);
    cr_expect(report.counts && !report.is_news, "the nodes were told");
    bench_close(bench);
}

/* However often a node reports failures, the host passes on one of each operation, and none after it was complete. What
 * fails is what the operation writes. */
Test(node, the_host_passes_on_what_can_have_failed)
{
    enum { MANY = 100 };
    dcli_failure_report report;
    int passed = 0;
    struct bench *bench = bench_open(HOST, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    for (int64_t number = 3; number < 3 + MANY; number++) {
        bench_sees(bench, test_operation(number, DCLI_OP_FILL, number % 2 + 1, bench->halves));
        cr_expect_eq(dcli_node_marks(bench->node, 0, number, number), DCL_OK);
        if (number == 50) {
            cr_expect_eq(dcli_node_reported(bench->node, 1, number, &report), DCL_OK);
            cr_expect(report.counts && report.is_news && report.storage_count == 1 && report.storage[0] == 1);
        }
        cr_expect_eq(dcli_node_marks(bench->node, 1, number, number), DCL_OK);
        dcli_action action;
        while (dcli_node_next(bench->node, &action))
            ;
    }
    cr_expect(bench->node->written.count < 80, "%" PRId64 " entries are kept", bench->node->written.count);
    for (int64_t number = 3; number < 3 + MANY; number++) {
        cr_expect_eq(dcli_node_reported(bench->node, 0, number, &report), DCL_OK);
        passed += report.is_news || report.counts;
    }
    cr_expect_eq(passed, 0, "the operations are complete on all nodes");
    bench_sees(bench, bench_reads(bench, 3 + MANY, "C(i) = A(i);", 1, 2));
    for (int n = 0; n < 10; n++) {
        cr_expect_eq(dcli_node_reported(bench->node, n % 2, 3 + MANY, &report), DCL_OK);
        cr_expect(report.counts && report.is_news == (n == 0) && report.storage_count == 1 && report.storage[0] == 1);
    }
    cr_expect_eq(dcli_node_lost(bench->node, 1), DCL_OK);
    cr_expect_eq(dcli_node_reported(bench->node, 1, 3 + MANY, &report), DCL_OK);
    cr_expect_not(report.counts, "a lost node says nothing");
    bench_close(bench);
}

/* Failures of operations that were not seen here are kept until these come, so many of each peer, and make no storages. */
Test(node, peers_foretell_a_limited_number_of_failures)
{
    int64_t pair[2] = {3, 2};
    struct bench *bench = bench_open(0, true);
    bench_create(bench, 1, 1, bench->halves);
    cr_expect_eq(dcli_node_marks_failures(bench->node, 1, 1, pair), DCL_OK);
    for (int64_t n = 0; n < DCLI_MOST_FORETOLD - 1; n++) {
        pair[0] = INT64_MAX - n % 7;
        pair[1] = 1000 + n;
        cr_assert_eq(dcli_node_marks_failures(bench->node, 1, 1, pair), DCL_OK);
        cr_assert_eq(dcli_node_marks_failures(bench->node, 1, 1, pair), DCL_OK, "those that are repeated do not count");
    }
    pair[1] = 999;
    EXPECT_REFUSED(dcli_node_marks_failures(bench->node, 1, 1, pair), "peer 1 tells of more than 65536 failures");
    cr_expect_eq(dcli_node_failed(bench->node, HOST, 4, 1, (int64_t[]){2}), DCL_OK, "others may still tell");
    cr_expect_eq(bench->node->storages.count, 1);
    bench_create(bench, 2, 2, bench->halves);
    cr_expect_not(dcli_node_storage_failed(bench->node, 2));
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    cr_expect(dcli_node_storage_failed(bench->node, 2), "the fill has failed at node 1");
    cr_expect_eq(bench->node->storages.count, 2);
    pair[1] = 999;
    cr_expect_eq(dcli_node_marks_failures(bench->node, 1, 1, pair), DCL_OK, "there is room for another one");
    bench_close(bench);
}

/* What a lost peer has foretold stays, because others may have told the same and were not kept. So it still counts. */
Test(node, what_a_lost_peer_has_foretold_still_counts)
{
    int64_t pair[2] = {3, 2};
    struct bench *bench = bench_open(0, true);
    bench_create(bench, 1, 1, bench->halves);
    cr_expect_eq(dcli_node_marks_failures(bench->node, 1, 1, pair), DCL_OK);
    cr_expect_eq(dcli_node_lost(bench->node, 1), DCL_OK);
    cr_expect_eq(dcli_peer_seen(bench->node, 1)->foretold, 1);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->halves));
    cr_expect(dcli_node_storage_failed(bench->node, 2));
    cr_expect_eq(dcli_peer_seen(bench->node, 1)->foretold, 0);
    bench_close(bench);
}

Test(node, pool_too_small)
{
    struct bench *bench = bench_open(0, false);
    bench->terms.plan.pool_bytes = 8;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "32 bytes do not fit, so node 1 is to send none of them", "failed 3 NOMEM; grant 3 to 1 NOMEM");
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), "not expected");
    for (int64_t n = 0; n < 4; n++)
        cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, n, DCL_ERR_NOMEM), DCL_OK, "%s", dcl_error());
    bench_expect(bench, "they come empty",
                 "skip 3 NOMEM; drop 3 from 1; skip 3 NOMEM; drop 3 from 1; skip 3 NOMEM; drop 3 from 1; skip 3 NOMEM; "
                 "drop 3 from 1; retire 3; marks to 2 3/3");
    bench_close(bench);
}

/* Node 1 has no memory for what it would read of us, and says so before we see the operation, or afterwards. */
Test(node, a_peer_without_memory_is_sent_nothing)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    cr_expect_eq(dcli_node_decline(bench->node, 1, 3, 1), DCL_OK);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i-4);", 1, 2));
    bench_expect(bench, "the chunk is sent empty, and the own batch runs", "run 3; pack 3 to 1 NOMEM");
    bench_ends(bench, 3, DCL_OK);
    bench_expect(bench, "our part has not failed", "retire 3; marks to 2 3/3");
    bench_sees(bench, bench_reads(bench, 4, "C(i) = A(i-4);", 1, 2));
    cr_expect_eq(dcli_node_decline(bench->node, 1, 4, 1), DCL_OK);
    bench_expect(bench, "the same", "run 4; pack 4 to 1 NOMEM");
    EXPECT_REFUSED(dcli_node_decline(bench->node, 1, 4, 2), "not expected");
    bench_close(bench);
}

/* A peer that sends before anything asks for it: chunks to read were never granted, written ones are bounded. */
Test(node, refuses_floods)
{
    enum { WINDOW = 4, FAR = 1000 };
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, FAR, false, 0, DCL_OK), "not expected");
    int taken = 0;
    while (taken < 100 && dcli_node_chunk(bench->node, 1, FAR, true, taken, DCL_OK) == DCL_OK)
        taken++;
    cr_expect_leq(taken, WINDOW, "%d chunks of an operation to come were kept", taken);
    cr_expect_not_null(strstr(dcl_error(), "are not committed"), "%s", dcl_error());
    bench_expect(bench, "and changed nothing", "");
    bench_close(bench);
}

/* ---- what no correct peer says ---------------------------------------------------------------------------------------- */

Test(node, refuses)
{
    struct bench *bench = bench_open(0, false);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    EXPECT_REFUSED(dcli_node_operation(bench->node, test_operation(4, DCLI_OP_FILL, 1, bench->halves)), "expected 3");
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    EXPECT_REFUSED(dcli_node_chunk(bench->node, 1, 3, false, 0, DCL_OK), "not expected"); /* before the grant */
    bench_expect(bench, "granted once", "grant 3 to 1");
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
    bench_expect(bench, "nothing of that changed anything", "run 3");
    bench_close(bench);
}

/* Whatever is refused memory: the node says so and can be closed. */
Test(node, out_of_memory)
{
    for (int n = 1; n < 40; n++) {
        struct bench *bench = bench_open(0, false);
        bench_create(bench, 1, 1, bench->halves);
        bench_create(bench, 2, 2, bench->halves);
        const dcli_operation *operation = bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2);
        for (int p = 0; p <= NODES; p++)
            bench_plan(bench, operation, p);
        dcli_alloc_fail_after(n);
        dcl_status status = dcli_node_operation(bench->node, operation);
        dcli_alloc_fail_after(0);
        cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM);
        bench_close(bench);
        if (status == DCL_OK)
            return;
    }
    cr_expect(false, "there is no end of allocations");
}

/* ---- how far ahead a node grants -------------------------------------------------------------------------------------- */

enum { GRANTS_AHEAD = 4096, MANY_READS = GRANTS_AHEAD + 100, TOLD_AHEAD = 64 }; /* as in workqueue/node.c */

/* All reads have one plan. */
static const dcli_plan *plan_of_reads(void *user, const dcli_operation *operation, int peer)
{
    struct bench *bench = user;
    if (bench->plan[2][peer] == NULL && operation->kind == DCLI_OP_READ)
        cr_assert_eq(dcli_plan_make(operation, peer, &bench->terms.plan, &bench->plan[2][peer]), DCL_OK);
    return operation->kind == DCLI_OP_READ ? bench->plan[2][peer] : bench_plan(user, operation, peer);
}

static int64_t last_granted(struct bench *bench)
{
    int64_t last = 0;
    dcli_action action;
    while (dcli_node_next(bench->node, &action))
        if (action.kind == DCLI_DO_GRANT && action.operation->number > last)
            last = action.operation->number;
    return last;
}

/* What running batches have copied is dropped before they end, so that more is granted. */
Test(node, copied_chunks_make_room)
{
    struct bench *bench = bench_open(0, false);
    bench->terms.plan.batch_bytes = 8;
    bench->terms.ahead_bytes = 16;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i+4);", 1, 2));
    bench_expect(bench, "two of four", "grant 3 to 1");
    for (int64_t c = 0; c < 2; c++)
        cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, c, DCL_OK), DCL_OK);
    bench_expect(bench, "both are in use", "run 3; run 3");
    cr_expect_eq(dcli_node_batches_copied(bench->node, 3, 0, 1), DCL_OK);
    bench_expect(bench, "the first is not", "drop 3 from 1; grant 3 to 1");
    cr_expect_eq(dcli_node_batches_copied(bench->node, 3, 1, 1), DCL_OK);
    bench_expect(bench, "nor the second", "drop 3 from 1; grant 3 to 1");
    cr_expect_eq(dcli_node_batches_copied(bench->node, 3, 2, 1), DCL_ERR_INTERNAL, "it was not started");
    for (int64_t b = 0; b < 2; b++)
        bench_ends_batch(bench, 3, b, DCL_OK);
    bench_expect(bench, "nothing is dropped twice", "");
    for (int64_t c = 2; c < 4; c++)
        cr_expect_eq(dcli_node_chunk(bench->node, 1, 3, false, c, DCL_OK), DCL_OK);
    bench_expect(bench, "the others", "run 3; run 3");
    for (int64_t b = 2; b < 4; b++)
        bench_ends_batch(bench, 3, b, DCL_OK);
    bench_expect(bench, "they have been used", "drop 3 from 1; drop 3 from 1; retire 3; marks to 2 3/3");
    bench_close(bench);
}

/* Thousands of small chunks fit the pool: peers that are behind would have to keep a grant for each. */
Test(node, grants_for_a_bounded_number_of_operations)
{
    struct bench *bench = bench_open(HOST, false);
    bench->terms.plan_of = plan_of_reads;
    bench_reopen(bench);
    bench_sees(bench, test_operation(1, DCLI_OP_CREATE, 1, bench->halves));
    static dcli_operation reads[MANY_READS];
    const dcli_operation *read = test_operation(2, DCLI_OP_READ, 1, bench->halves);
    for (int n = 0; n < MANY_READS; n++) {
        reads[n] = *read;
        reads[n].number = 2 + n;
        bench_sees(bench, &reads[n]);
    }
    cr_expect_eq(last_granted(bench), GRANTS_AHEAD + 1);
    for (int64_t number = 2, again = GRANTS_AHEAD + 2 - TOLD_AHEAD; number < again; number++) {
        for (int peer = 0; peer < NODES; peer++)
            cr_assert_eq(dcli_node_chunk(bench->node, peer, number, false, 0, DCL_OK), DCL_OK);
        int64_t last = last_granted(bench);
        cr_assert_eq(last, number + 1 < again ? 0 : MANY_READS + 1,
                     "after %d: up to %d; more are put off until few are granted ahead", (int)number, (int)last);
    }
    bench_close(bench);
}

Test(node, keeps_grants_of_a_bounded_number_of_operations)
{
    struct bench *bench = bench_open(0, false);
    for (int64_t n = 0; n < GRANTS_AHEAD; n++)
        cr_assert_eq(dcli_node_grant(bench->node, HOST, 2 + n, 1), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < 70000; n++) /* grants for one operation are kept as one */
        cr_assert_eq(dcli_node_grant(bench->node, HOST, GRANTS_AHEAD + 1, 1 + n), DCL_OK, "%s", dcl_error());
    EXPECT_REFUSED(dcli_node_grant(bench->node, HOST, GRANTS_AHEAD + 2, 1), "too far ahead");
    cr_expect_eq(dcli_node_grant(bench->node, 1, GRANTS_AHEAD + 2, 1), DCL_OK, "of another peer");
    bench_create(bench, 1, 1, bench->halves);
    bench_sees(bench, test_operation(2, DCLI_OP_READ, 1, bench->halves));
    bench_expect(bench, "its grant was kept", "pack 2 to 2; retire 2; marks to 2 2/2");
    cr_expect_eq(dcli_node_grant(bench->node, HOST, GRANTS_AHEAD + 2, 1), DCL_OK, "one is not kept any more");
    bench_close(bench);
}

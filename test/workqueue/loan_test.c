/* test/workqueue/loan_test.c - nodes that lend and borrow batches: each event, legal and not, and what goes wrong in the
 * broken variants of the model (docs/model.md). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "support/ways.h"
#include "workqueue/bench.h"
#include "workqueue/loan.h"
#include "workqueue/loan_ask.h"
#include "workqueue/ops.h"
#include "workqueue/plan_loan.h"

/* Operations 1 and 2 create C, in halves, and A, on node 0. Operation 3 is C(i) = A(i): on node 0 it has four batches of
 * an element, which read and write there. */
enum { VICTIM = 0, THIEF = 1, LENT_OP = 3, BATCHES = 4, BYTES = 1 << 12 };

static bool no_memory; /* for plans of loans */
static int planned;    /* calls of loan_of() */

static dcl_status loan_of(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                          int thief, dcli_loan_size *size_out)
{
    struct bench *bench = user;
    dcli_loan *loan;
    planned++;
    if (no_memory)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_loan_make(operation, bench_plan(bench, operation, victim), batch, count, victim, thief,
                                       &bench->terms.plan, &loan);
    if (status != DCL_OK)
        return status;
    *size_out = loan->size;
    dcli_loan_free(loan);
    return DCL_OK;
}

static const dcli_operation *copy(struct bench *bench, int64_t number)
{
    return TEST_FORALL(number, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 1, bench->halves},
                       {DCL_ACCESS_IN, "A", 2, bench->only[0]});
}

static struct bench *lending_bench(int self, bool in_place)
{
    struct bench *bench = bench_open(self, in_place);
    no_memory = false;
    bench->terms.plan.batch_bytes = 8;
    bench->terms.loan_of = loan_of;
    bench->terms.loan_bytes = bench->terms.result_bytes = BYTES;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    return bench;
}

static void see_copy(struct bench *bench)
{
    bench_sees(bench, copy(bench, LENT_OP));
    cr_assert_eq(bench_plan(bench, copy(bench, LENT_OP), VICTIM)->batch_count, BATCHES);
}

static void hears_hunger(struct bench *bench, int64_t question, int64_t upto)
{
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, question, 1, upto, BYTES), DCL_OK, "%s", dcl_error());
}

/* Node 0 has started batch 0 of operation 3, and node 1 asks. */
static struct bench *victim(bool in_place)
{
    struct bench *bench = lending_bench(VICTIM, in_place);
    bench_create(bench, 2, 2, bench->only[0]);
    see_copy(bench);
    hears_hunger(bench, 1, LENT_OP);
    bench_expect_some(bench, "it starts", 1, "run 3");
    return bench;
}

/* ... and has lent the last batch. */
static struct bench *lender(bool in_place)
{
    struct bench *bench = victim(in_place);
    cr_assert(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    bench_expect_some(bench, "it lends the last batch", 1, "lend 3.3 and 0 more to 1 question 1");
    return bench;
}

/* Node 1 waits for node 0, and has asked it. */
static struct bench *thief(bool in_place)
{
    struct bench *bench = lending_bench(THIEF, in_place);
    bench_sees(bench, test_operation(2, DCLI_OP_CREATE, 2, bench->only[0]));
    see_copy(bench);
    bench_expect(bench, "its own batches wait",
                 in_place ? "retire 2; marks to 0 2/2; marks to 2 2/2" : "grant 3 to 0; retire 2; marks to 2 2/2");
    cr_assert(dcli_node_ask(bench->node, VICTIM, INT64_MAX, BYTES));
    bench_expect(bench, "it asks", "ask 0 question 1, 3-3, 4096 bytes");
    return bench;
}

static void hears_lent(struct bench *bench, int64_t question, int64_t first, int64_t count)
{
    cr_assert_eq(dcli_node_lent(bench->node, VICTIM, question, LENT_OP, first, count, 1), DCL_OK, "%s", dcl_error());
}

static void hears_result(struct bench *bench, int64_t question, int64_t batch, bool computed)
{
    cr_assert_eq(dcli_node_result(bench->node, THIEF, question, LENT_OP, batch, computed), DCL_OK, "%s", dcl_error());
}

static void expect_marks(struct bench *bench, int64_t done, int64_t ready)
{
    int64_t is_done, is_ready;
    dcli_node_watermarks(bench->node, &is_done, &is_ready);
    cr_expect(is_done == done && is_ready == ready, "done %d, ready %d", (int)is_done, (int)is_ready);
}

/* ---- a loan, from question to result ------------------------------------------------------------------------------- */

Test(loan, victim_lends_and_writes_the_result)
{
    struct bench *bench = lender(true);
    bench_expect(bench, "it goes on with the others", "run 3.1; run 3.2; marks to 1 2/2");
    for (int64_t b = 0; b < 3; b++)
        bench_ends_batch(bench, LENT_OP, b, DCL_OK);
    bench_expect(bench, "what is lent is missing", "");
    expect_marks(bench, 2, 2);
    hears_result(bench, 1, 3, true);
    expect_marks(bench, 3, 2);
    bench_expect(bench, "the result", "write 3.3 to 1 question 1");
    bench_ends_batch(bench, LENT_OP, 3, DCL_OK);
    bench_expect(bench, "it is written", "retire 3; marks to 1 3/3; marks to 2 3/3");
    bench_close(bench);
}

/* The thief had nothing else to do when it borrowed them. */
Test(loan, a_node_asks_none_that_has_batches_of_it)
{
    struct bench *bench = lender(true);
    dcli_asking asking = {0};
    bool later = false;
    dcli_asking_limit(&asking, BYTES);
    dcli_asking_choose(&asking, 7, VICTIM, NODES, bench->ways, NULL);
    bench_expect(bench, "it goes on with the others", "run 3.1; run 3.2; marks to 1 2/2");
    cr_expect(dcli_node_has_lent(bench->node, THIEF));
    cr_expect_not(dcli_node_has_lent(bench->node, THIEF + 1));
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, LENT_OP, 0, &later), 0);
    cr_expect(later, "it may ask when the batch is back");
    hears_result(bench, 1, 3, true);
    cr_expect_not(dcli_node_has_lent(bench->node, THIEF));
    later = false;
    cr_expect_eq(dcli_asking_ask(&asking, bench->node, LENT_OP, 0, &later), 1);
    cr_expect_not(later);
    bench_close(bench);
}

Test(loan, thief_computes_what_it_reads_in_place)
{
    struct bench *bench = thief(true);
    hears_lent(bench, 1, 2, 2);
    bench_expect(bench, "at once", "run loan 3.2 to 0 question 1; run loan 3.3 to 0 question 1");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 2, DCL_OK), DCL_OK);
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 3, DCL_ERR_DEVICE), DCL_OK);
    bench_expect(bench, "a failure fails nothing", "result 3.2 to 0 question 1; return 3.3 to 0 question 1");
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES);
    bench_close(bench);
}

Test(loan, thief_waits_for_inputs)
{
    struct bench *bench = thief(false);
    bool wanted = false;
    hears_lent(bench, 1, 3, 1);
    bench_expect(bench, "A comes with the batch", "");
    cr_expect_lt(dcli_node_loan_room(bench->node), BYTES);
    EXPECT_REFUSED(dcli_node_loan_chunk(bench->node, VICTIM, 1, LENT_OP, 3, 1, &wanted), "a chunk");
    cr_expect_eq(dcli_node_loan_chunk(bench->node, VICTIM, 1, LENT_OP, 3, 0, &wanted), DCL_OK);
    cr_expect(wanted);
    bench_expect(bench, "here it is", "run loan 3.3 to 0 question 1");
    EXPECT_REFUSED(dcli_node_loan_chunk(bench->node, VICTIM, 1, LENT_OP, 3, 1, &wanted), "a chunk");
    bench_close(bench);
}

/* The plans of loans say what each side needs. */
Test(loan, plans)
{
    struct bench *bench = lending_bench(VICTIM, true);
    const dcli_plan *own = bench_plan(bench, copy(bench, LENT_OP), VICTIM);
    dcli_loan *loan;
    cr_assert_eq(dcli_loan_make(copy(bench, LENT_OP), own, 3, 1, VICTIM, THIEF, &bench->terms.plan, &loan), DCL_OK);
    cr_expect(loan->size.in_place && loan->size.chunks == 0 && loan->size.result_bytes == 8 && loan->size.bytes == 16);
    cr_expect(loan->plan->batch_count == 1 && loan->plan->chunk_count == 1 && loan->plan->chunk[0].written);
    cr_expect(loan->plan->binding[0].kind == DCLI_SPACE_STAGE && loan->plan->binding[1].kind == DCLI_SPACE_PEER);
    cr_expect_eq(loan->plan->item[0].region.offset, 3); /* the last element of the victim's half */
    dcli_loan_free(loan);
    bench->ways[THIEF].can = 0;
    cr_assert_eq(dcli_loan_make(copy(bench, LENT_OP), own, 3, 1, VICTIM, THIEF, &bench->terms.plan, &loan), DCL_OK);
    cr_expect(!loan->size.in_place && loan->size.chunks == 1 && loan->size.bytes == 32);
    cr_expect(loan->source[0].kind == DCLI_SPACE_OWN && loan->source[0].region.offset == 3);
    dcli_loan_free(loan);
    cr_expect_eq(dcli_loan_make(copy(bench, LENT_OP), own, 4, 1, VICTIM, THIEF, &bench->terms.plan, &loan),
                 DCL_ERR_INVALID);
    bench_close(bench);
}

/* What a loan of several batches needs is what its batches need; works that follow each other are one. */
Test(loan, plans_of_several_batches)
{
    struct bench *bench = lending_bench(VICTIM, true);
    const dcli_plan *own = bench_plan(bench, copy(bench, LENT_OP), VICTIM);
    dcli_loan *loan;
    cr_assert_eq(dcli_loan_make(copy(bench, LENT_OP), own, 1, 3, VICTIM, THIEF, &bench->terms.plan, &loan), DCL_OK);
    cr_expect(loan->size.result_bytes == 24 && loan->size.bytes == 48 && loan->size.chunks == 0);
    cr_expect(loan->plan->batch_count == 1 && loan->plan->batch[0].tile_count == 3 && loan->plan->work_count == 3);
    cr_expect(loan->plan->work[0].box.start[0] == 1 && loan->plan->work[2].box.start[0] == 3);
    dcli_loan_free(loan);
    cr_expect_eq(dcli_loan_make(copy(bench, LENT_OP), own, 1, 4, VICTIM, THIEF, &bench->terms.plan, &loan),
                 DCL_ERR_INVALID, "there are four batches");
    cr_expect_eq(dcli_loan_make(copy(bench, LENT_OP), own, 1, 0, VICTIM, THIEF, &bench->terms.plan, &loan),
                 DCL_ERR_INVALID);
    bench_close(bench);
}

/* Of batches that were cut to be lent, it is one work. */
Test(loan, plans_join_works)
{
    struct bench *bench = lending_bench(VICTIM, true);
    bench->terms.plan.fine_elements = 1;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    const dcli_operation *operation = bench_reads(bench, LENT_OP, "C(i) = A(i);", 1, 2);
    const dcli_plan *own = bench_plan(bench, operation, VICTIM);
    dcli_loan *loan;
    cr_assert(own->fine_count == BATCHES && own->batch_count == BATCHES);
    cr_assert_eq(dcli_loan_make(operation, own, 1, 3, VICTIM, THIEF, &bench->terms.plan, &loan), DCL_OK);
    cr_expect(loan->plan->work_count == 1 && loan->plan->work[0].box.start[0] == 1 &&
              loan->plan->work[0].box.count[0] == 3);
    cr_expect(loan->plan->chunk_count == 1 && loan->plan->chunk[0].bytes == 24 && loan->plan->item_count == 1);
    dcli_loan_free(loan);
    bench_close(bench);
}

/* A batch of node 0 reads its own part of A and node 1's part of B. Node 2 is the thief. */
Test(loan, parts_that_may_not_have_been_shown_are_sent_along)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 24);
    const dcli_layout *layout = test_layout("block;tile=4", 3, &grid);
    const dcli_operation *operation =
        TEST_FORALL(3, "C(i) = A(i) + (i < 16 ? B(i+8) : 0);", {DCL_ACCESS_OUT, "C", 1, layout},
                    {DCL_ACCESS_IN, "A", 2, layout}, {DCL_ACCESS_IN, "B", 4, layout});
    dcli_plan_terms terms = {
        .node_count = 3, .ways = test_ways(true), .batch_bytes = 16, .chunk_bytes = 4096, .pool_bytes = 1 << 20};
    dcli_plan *own;
    cr_assert_eq(dcli_plan_make(operation, 0, &terms, &own), DCL_OK, "%s", dcl_error());
    for (int on_demand = 0; on_demand < 2; on_demand++) {
        dcli_loan *loan;
        terms.shown_on_demand = on_demand;
        cr_assert_eq(dcli_loan_make(operation, own, 0, 1, 0, 2, &terms, &loan), DCL_OK, "%s", dcl_error());
        const dcli_binding *binding = loan->plan->binding;
        cr_expect(binding[1].kind == DCLI_SPACE_PEER && binding[1].where == 0, "the victim's part is read in place");
        cr_expect_eq(binding[2].kind, on_demand ? DCLI_SPACE_STAGE : DCLI_SPACE_PEER);
        cr_expect_eq(loan->size.chunks, on_demand);
        cr_expect(!on_demand || (loan->source[0].kind == DCLI_SPACE_PEER && loan->source[0].where == 1));
        dcli_loan_free(loan);
    }
    dcli_plan_free(own);
    test_ops_free();
}

Test(loan, plans_that_write_elsewhere_are_not_lent)
{
    struct bench *bench = lending_bench(VICTIM, false);
    const dcli_operation *two = TEST_FORALL(2, "C(i) = 1; D(i) = 2;", {DCL_ACCESS_OUT, "C", 1, bench->halves},
                                            {DCL_ACCESS_OUT, "D", 2, bench->only[1]});
    dcli_loan *loan;
    cr_expect_eq(dcli_loan_make(two, bench_plan(bench, two, VICTIM), 0, 1, VICTIM, THIEF, &bench->terms.plan, &loan),
                 DCL_ERR_INVALID);
    bench_close(bench);
}

/* ---- questions ------------------------------------------------------------------------------------------------------ */

Test(loan, asks_once_and_what_it_has_memory_for)
{
    struct bench *bench = thief(false);
    cr_expect(dcli_node_is_asking(bench->node, VICTIM));
    cr_expect_not(dcli_node_ask(bench->node, VICTIM, INT64_MAX, 1), "a question is open");
    cr_expect_not(dcli_node_ask(bench->node, HOST, INT64_MAX, 1), "the host lends nothing");
    cr_expect_not(dcli_node_ask(bench->node, THIEF, INT64_MAX, 1), "itself");
    cr_expect_eq(dcli_node_loan_room(bench->node), 0);
    cr_expect_eq(dcli_node_nothing(bench->node, VICTIM, 1), DCL_OK);
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES);
    cr_expect_not(dcli_node_ask(bench->node, VICTIM, INT64_MAX, BYTES + 1), "more than it has");
    cr_expect(dcli_node_ask(bench->node, VICTIM, INT64_MAX, 10));
    bench_expect(bench, "it asks again", "ask 0 question 2, 3-3, 10 bytes");
    bench_close(bench);
}

Test(loan, refuses_illegal_questions)
{
    struct bench *bench = lending_bench(VICTIM, false);
    EXPECT_REFUSED(dcli_node_hungry(bench->node, HOST, 1, 1, 3, 1), "HUNGRY");
    EXPECT_REFUSED(dcli_node_hungry(bench->node, VICTIM, 1, 1, 3, 1), "HUNGRY");
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 2, 1, 3, 1), "HUNGRY");
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 1, 0, 3, 1), "HUNGRY");
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 1, 4, 3, 1), "HUNGRY");
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 1, 1, 3, 0), "HUNGRY");
    cr_expect_eq(dcli_node_hungry(bench->node, THIEF, 1, 1, 3, 1), DCL_OK);
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 2, 1, 3, 1), "HUNGRY");
    cr_expect(dcli_node_next_hungry(bench->node, -1) == THIEF && dcli_node_next_hungry(bench->node, THIEF) == -1);
    cr_expect(dcli_node_refuse(bench->node, THIEF));
    cr_expect_not(dcli_node_refuse(bench->node, THIEF));
    bench_expect(bench, "refused", "nothing to 1 question 1");
    bench_close(bench);
}

Test(loan, refuses_illegal_answers)
{
    struct bench *bench = thief(false);
    bool wanted;
    EXPECT_REFUSED(dcli_node_nothing(bench->node, VICTIM, 2), "NOTHING");
    EXPECT_REFUSED(dcli_node_nothing(bench->node, HOST, 1), "NOTHING");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 2, LENT_OP, 3, 1, 1), "LENT");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, 4, 3, 1, 1), "LENT");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, 2, 0, 1, 1), "LENT");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, -1, 1, 1), "LENT");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 3, 2, 1), "LENT");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 3, 0, 1), "LENT");
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 1, INT64_MAX, 1), "LENT");
    EXPECT_REFUSED(dcli_node_loan_chunk(bench->node, VICTIM, 1, LENT_OP, 3, 0, &wanted), "a chunk");
    EXPECT_REFUSED(dcli_node_recall(bench->node, VICTIM, 2, LENT_OP, 3), "RECALL");
    EXPECT_REFUSED(dcli_node_recall(bench->node, VICTIM, 1, LENT_OP, 3), "RECALL"); /* nothing was lent yet */
    EXPECT_REFUSED(dcli_node_recall(bench->node, VICTIM, 0, LENT_OP, 3), "RECALL");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 3, DCL_OK), DCL_ERR_INTERNAL);
    cr_expect_eq(dcli_node_nothing(bench->node, VICTIM, 1), DCL_OK);
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 3, 1, 1), "LENT");
    bench_close(bench);
}

/* More than the thief has asked for is refused: it has no memory for it. */
Test(loan, refuses_more_than_it_asked_for)
{
    struct bench *bench = thief(false);
    cr_expect_eq(dcli_node_nothing(bench->node, VICTIM, 1), DCL_OK);
    cr_expect(dcli_node_ask(bench->node, VICTIM, INT64_MAX, 40)); /* a batch takes 32 */
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 2, LENT_OP, 2, 2, 1), "LENT");
    cr_expect_eq(dcli_node_lent(bench->node, VICTIM, 2, LENT_OP, 2, 1, 1), DCL_OK);
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES - 32);
    bench_close(bench);
}

Test(loan, a_node_without_lending_refuses_all)
{
    struct bench *bench = bench_open(VICTIM, false);
    bool wanted;
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 1, 1, 1, 1), "HUNGRY");
    EXPECT_REFUSED(dcli_node_lent(bench->node, THIEF, 1, 1, 0, 1, 1), "LENT");
    EXPECT_REFUSED(dcli_node_nothing(bench->node, THIEF, 1), "NOTHING");
    EXPECT_REFUSED(dcli_node_recall(bench->node, THIEF, 1, 1, 0), "RECALL");
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 1, 1, 0, true), "RESULT");
    EXPECT_REFUSED(dcli_node_loan_chunk(bench->node, THIEF, 1, 1, 0, 0, &wanted), "a chunk");
    cr_expect_not(dcli_node_ask(bench->node, THIEF, INT64_MAX, 1));
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 1, 1, &(dcli_offer){0}));
    cr_expect_eq(dcli_node_next_hungry(bench->node, -1), -1);
    dcli_node_stop_lending(bench->node);
    bench_close(bench);
}

Test(loan, a_question_that_is_too_late_gets_nothing)
{
    struct bench *bench = victim(false);
    bench_expect(bench, "it has started all", "run 3.1; run 3.2; run 3.3; nothing to 1 question 1");
    bench_close(bench);
}

Test(loan, nothing_is_lent_after_the_stop)
{
    struct bench *bench = victim(false);
    dcli_node_stop_lending(bench->node);
    cr_expect_not(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    cr_expect_not(dcli_node_ask(bench->node, THIEF, INT64_MAX, 1));
    bench_expect_some(bench, "an answer all the same", 1, "nothing to 1 question 1");
    bench_close(bench);
}

/* ---- offers --------------------------------------------------------------------------------------------------------- */

Test(loan, offers_the_last_batches)
{
    struct bench *bench = victim(false);
    dcli_offer offer;
    cr_assert(dcli_node_offer(bench->node, THIEF, INT64_MAX, 1, &offer));
    cr_expect(offer.first == 1 && offer.end == 4 && offer.waiting == 3 && offer.operation->number == LENT_OP);
    cr_assert(dcli_node_offer(bench->node, THIEF, 2, 1, &offer));
    cr_expect(offer.first == 2 && offer.end == 4);
    cr_expect_not(dcli_node_offer(bench->node, VICTIM, 2, 1, &offer));
    cr_expect_not(dcli_node_lend(bench->node, THIEF, LENT_OP, 4, 1), "one has started");
    cr_expect_not(dcli_node_lend(bench->node, THIEF, LENT_OP + 1, 1, 1));
    cr_expect_not(dcli_node_lend(bench->node, THIEF, LENT_OP, 0, 1));
    dcli_node_hold(bench->node, true);
    cr_expect_not(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    dcli_node_hold(bench->node, false);
    cr_expect(dcli_node_lend(bench->node, THIEF, LENT_OP, 2, 1));
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 2, 1, &offer), "the question has its answer");
    bench_expect(bench, "two are lent", "lend 3.2 and 1 more to 1 question 1; run 3.1");
    bench_close(bench);
}

Test(loan, an_offer_ends_where_a_loan_cannot_be_planned)
{
    struct bench *bench = victim(false);
    dcli_offer offer;
    no_memory = true;
    planned = 0;
    cr_expect_not(dcli_node_offer(bench->node, THIEF, INT64_MAX, 1, &offer));
    cr_expect_eq(planned, 1, "%d loans planned, one for each batch that waits", planned);
    no_memory = false;
    cr_expect(dcli_node_offer(bench->node, THIEF, INT64_MAX, 1, &offer));
    bench_close(bench);
}

/* Operation 3 exchanges nothing: it has four batches of an element, so that they can be lent. */
static struct bench *fine_victim(void)
{
    struct bench *bench = lending_bench(VICTIM, false);
    bench->terms.plan.fine_elements = 1;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    const dcli_operation *operation = bench_reads(bench, LENT_OP, "C(i) = A(i);", 1, 2);
    const dcli_plan *plan = bench_plan(bench, operation, VICTIM);
    cr_assert(plan->fine_count == BATCHES && plan->batch_count == BATCHES);
    bench_sees(bench, operation);
    hears_hunger(bench, 1, LENT_OP);
    bench_expect_some(bench, "it starts", 1, "run 3");
    return bench;
}

Test(loan, several_batches_start_together)
{
    struct bench *bench = fine_victim();
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 0, 10), 3);
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 0, 2), 2);
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 1, 10), 0, "batch 1 has not started");
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP + 1, 0, 10), 0);
    dcli_node_run_more(bench->node, LENT_OP, 0, 1);
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 1, 10), 2);
    cr_assert(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 1, 10), 1, "one is lent");
    bench_expect(bench, "the last but one is left", "lend 3.3 and 0 more to 1 question 1; run 3.2");
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 2, 10), 0);
    cr_expect_eq(dcli_node_batches_read(bench->node, LENT_OP, 0, 4), DCL_ERR_INTERNAL, "one is lent");
    cr_assert_eq(dcli_node_batches_read(bench->node, LENT_OP, 0, 2), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_node_batches_done(bench->node, LENT_OP, 0, 4, DCL_OK), DCL_ERR_INTERNAL, "one is lent");
    cr_assert_eq(dcli_node_batches_done(bench->node, LENT_OP, 0, 3, DCL_OK), DCL_OK, "%s", dcl_error());
    expect_marks(bench, 2, 2);
    hears_result(bench, 1, 3, true);
    bench_expect(bench, "the result", "write 3.3 to 1 question 1");
    bench_ends_batch(bench, LENT_OP, 3, DCL_OK);
    expect_marks(bench, 3, 3);
    bench_close(bench);
}

static void expect_pause(struct bench *bench, const char *afterwards)
{
    dcli_offer offer;
    dcli_node_pause(bench->node, true);
    bench_expect(bench, "it is paused", "");
    cr_expect(dcli_node_has_lendable(bench->node));
    cr_expect(dcli_node_offer(bench->node, THIEF, INT64_MAX, 1, &offer) && offer.first == 1 && offer.waiting == 3);
    cr_expect(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    bench_expect(bench, "it lends", "lend 3.3 and 0 more to 1 question 1");
    dcli_node_pause(bench->node, false);
    bench_expect(bench, "it goes on", afterwards);
    bench_close(bench);
}

Test(loan, a_paused_node_starts_nothing_and_lends)
{
    expect_pause(fine_victim(), "run 3.1; run 3.2");
    expect_pause(victim(false), "run 3.1; run 3.2");
}

Test(loan, what_is_left_of_the_last_operation)
{
    struct bench *bench = fine_victim();
    const dcli_operation *operation;
    int64_t next, count;
    cr_expect(dcli_node_left(bench->node, &operation, &next, &count));
    cr_expect(operation->number == LENT_OP && next == 1 && count == 3);
    dcli_node_run_more(bench->node, LENT_OP, 0, 3);
    bench_expect(bench, "all have started", "nothing to 1 question 1");
    cr_expect(dcli_node_left(bench->node, &operation, &next, &count) && operation == NULL && count == 0);
    bench_close(bench);
    bench = fine_victim();
    bench_sees(bench, test_operation(LENT_OP + 1, DCLI_OP_FILL, 1, bench->halves));
    cr_expect_not(dcli_node_left(bench->node, &operation, &next, &count), "a fill follows");
    bench_close(bench);
}

Test(loan, a_paused_thief_starts_nothing)
{
    struct bench *bench = thief(true);
    hears_lent(bench, 1, 2, 2);
    dcli_node_pause(bench->node, true);
    bench_expect(bench, "it is paused", "");
    dcli_node_pause(bench->node, false);
    bench_expect(bench, "it goes on", "run loan 3.2 to 0 question 1; run loan 3.3 to 0 question 1");
    bench_close(bench);
}

Test(loan, batches_do_not_start_together_after_a_failure)
{
    struct bench *bench = fine_victim();
    bench_ends_batch(bench, LENT_OP, 0, DCL_ERR_DEVICE);
    cr_expect_eq(dcli_node_more(bench->node, LENT_OP, 0, 10), 0);
    bench_close(bench);
}

Test(loan, offers_what_both_have_memory_for)
{
    struct bench *bench = lending_bench(VICTIM, false);
    bench->terms.result_bytes = 8; /* of one batch */
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->only[0]);
    see_copy(bench);
    dcli_offer offer;
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 1, 1, LENT_OP, 31), DCL_OK);
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 4, 1, &offer), "a batch takes 32 bytes there");
    cr_expect(dcli_node_refuse(bench->node, THIEF));
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 2, 1, LENT_OP, 100), DCL_OK);
    cr_expect(dcli_node_offer(bench->node, THIEF, 4, 1, &offer) && offer.end - offer.first == 1);
    cr_expect(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 3, 1, LENT_OP, 100), DCL_OK);
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 4, 1, &offer), "no memory for a second result");
    bench_close(bench);
}

/* A thief reads memory; this node's command queue does not wait for it. */
Test(loan, nothing_is_lent_before_earlier_batches_have_ended)
{
    struct bench *bench = lending_bench(VICTIM, true);
    bench_create(bench, 2, 2, bench->only[0]);
    bench_sees(bench, test_operation(3, DCLI_OP_FILL, 2, bench->only[0]));
    bench_sees(bench, copy(bench, 4));
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 1, 1, 4, BYTES), DCL_OK);
    dcli_offer offer;
    bench_expect_some(bench, "the fill runs", 2, "run 3; run 4");
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 1, 1, &offer));
    bench_ends(bench, 3, DCL_OK);
    cr_expect(dcli_node_offer(bench->node, THIEF, 1, 1, &offer));
    bench_close(bench);
}

Test(loan, nothing_is_lent_of_what_has_failed)
{
    struct bench *bench = victim(true);
    dcli_offer offer;
    cr_expect(dcli_node_offer(bench->node, THIEF, 1, 1, &offer));
    cr_expect_eq(dcli_node_failed(bench->node, HOST, 2, 1, (int64_t[]){2}), DCL_OK);
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 1, 1, &offer));
    bench_close(bench);
}

/* A result that comes after the operation has failed is not written. */
Test(loan, a_result_of_what_has_failed_is_freed)
{
    struct bench *bench = lender(true);
    cr_expect_eq(dcli_node_failed(bench->node, HOST, 2, 1, (int64_t[]){2}), DCL_OK);
    hears_result(bench, 1, 3, true);
    bench_expect(bench, "it comes too late",
                 "write 3.3 to 1 question 1 INVALID; failed 3 INVALID; skip 3.1 INVALID; skip 3.2 INVALID; marks to 1 "
                 "2/2 after 2 "
                 "failures, the first of 3");
    bench_ends_batch(bench, LENT_OP, 0, DCL_OK);
    bench_ends_batch(bench, LENT_OP, 3, DCL_OK);
    bench_expect(bench, "all have ended", "retire 3; marks to 1 3/3; marks to 2 3/3");
    bench_close(bench);
}

/* ---- loans of several batches ------------------------------------------------------------------------------------------ */

/* Batches 1 to 3 are lent in loans of two: 1 alone, as loans begin at even numbers, then 2 and 3. */
static struct bench *lender_of_two(bool in_place)
{
    struct bench *bench = victim(in_place);
    dcli_offer offer;
    dcli_lent_batch lent;
    cr_assert(dcli_node_offer(bench->node, THIEF, INT64_MAX, 2, &offer) && offer.first == 1 && offer.end == 4);
    cr_assert(dcli_node_lend(bench->node, THIEF, LENT_OP, 3, 2));
    cr_expect(dcli_node_lent_batch(bench->node, 0, &lent) && lent.batch == 1 && lent.count == 1);
    cr_expect(dcli_node_lent_batch(bench->node, 1, &lent) && lent.batch == 2 && lent.count == 2);
    cr_expect_not(dcli_node_lent_batch(bench->node, 2, &lent));
    bench_expect(bench, "all that had not started",
                 in_place ? "lend 3.1 and 2 more to 1 question 1; marks to 1 2/2"
                          : "lend 3.1 and 2 more to 1 question 1");
    return bench;
}

Test(loan, results_of_several_batches_come_together)
{
    struct bench *bench = lender_of_two(true);
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 1, LENT_OP, 3, true), "RESULT");
    bench_ends_batch(bench, LENT_OP, 0, DCL_OK);
    hears_result(bench, 1, 2, true);
    bench_expect(bench, "both", "write 3.2 and 1 more to 1 question 1");
    expect_marks(bench, 2, 2);
    cr_expect_eq(dcli_node_batch_done(bench->node, LENT_OP, 2, DCL_OK), DCL_ERR_INTERNAL, "they end together");
    cr_expect_eq(dcli_node_batches_done(bench->node, LENT_OP, 2, 2, DCL_OK), DCL_OK, "%s", dcl_error());
    hears_result(bench, 1, 1, true);
    expect_marks(bench, 3, 2);
    bench_expect(bench, "the other loan", "write 3.1 to 1 question 1");
    bench_ends_batch(bench, LENT_OP, 1, DCL_OK);
    bench_expect(bench, "all have ended", "retire 3; marks to 1 3/3; marks to 2 3/3");
    bench_close(bench);
}

Test(loan, several_batches_are_returned_and_run_here)
{
    struct bench *bench = lender_of_two(true);
    hears_result(bench, 1, 2, false);
    bench_expect(bench, "both are back", "run 3.2; run 3.3");
    bench_close(bench);
}

Test(loan, several_batches_are_taken_back)
{
    struct bench *bench = lender_of_two(false);
    cr_expect_not(dcli_node_take_back(bench->node, LENT_OP, 3), "it is the second one of its loan");
    cr_expect(dcli_node_take_back(bench->node, LENT_OP, 2));
    bench_expect(bench, "they run at once", "recall 3.2 and 1 more to 1 question 1; run 3.2; run 3.3");
    hears_result(bench, 1, 2, true);
    bench_expect(bench, "their result is late", "drop late 0.2 and 1 more to 1 question 1");
    bench_close(bench);
}

Test(loan, a_lost_thief_had_several_batches)
{
    struct bench *bench = lender_of_two(false);
    cr_assert_eq(dcli_node_lost(bench->node, THIEF), DCL_OK);
    cr_expect_not(dcli_node_lent_batch(bench->node, 0, &(dcli_lent_batch){0}));
    bench_close(bench);
}

/* The result of two batches takes 16 bytes. */
Test(loan, there_is_no_memory_for_a_loan_of_several)
{
    struct bench *bench = lending_bench(VICTIM, false);
    dcli_offer offer;
    bench->terms.result_bytes = 12;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->only[0]);
    see_copy(bench);
    hears_hunger(bench, 1, LENT_OP);
    bench_expect_some(bench, "it starts", 1, "run 3");
    cr_expect_not(dcli_node_offer(bench->node, THIEF, INT64_MAX, 2, &offer));
    cr_expect(dcli_node_offer(bench->node, THIEF, INT64_MAX, 1, &offer) && offer.first == 3 && offer.end == 4);
    bench_close(bench);
}

Test(loan, a_thief_runs_several_batches_together)
{
    struct bench *bench = thief(true);
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 1, 3, 0), "LENT");
    cr_assert_eq(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 1, 3, 2), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES - 48);
    bench_expect(bench, "at once", "run loan 3.1 to 0 question 1; run loan 3.2 and 1 more to 0 question 1");
    EXPECT_REFUSED(dcli_node_recall(bench->node, VICTIM, 2, LENT_OP, 2), "RECALL");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 3, DCL_OK), DCL_ERR_INTERNAL, "no loan begins with it");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 2, DCL_OK), DCL_OK);
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 1, DCL_ERR_DEVICE), DCL_OK);
    bench_expect(bench, "an answer each", "return 3.1 to 0 question 1; result 3.2 and 1 more to 0 question 1");
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES);
    bench_close(bench);
}

/* ---- taking back ------------------------------------------------------------------------------------------------------ */

Test(loan, refuses_illegal_results)
{
    struct bench *bench = lender(false);
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 2, LENT_OP, 3, true), "RESULT");
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 1, LENT_OP, 2, true), "RESULT");
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 1, LENT_OP + 1, 3, true), "RESULT");
    EXPECT_REFUSED(dcli_node_result(bench->node, HOST, 1, LENT_OP, 3, false), "RETURNED");
    cr_expect_eq(dcli_node_batch_done(bench->node, LENT_OP, 3, DCL_OK), DCL_ERR_INTERNAL, "it does not run here");
    hears_result(bench, 1, 3, true);
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 1, LENT_OP, 3, true), "RESULT");
    cr_expect_eq(dcli_node_batch_done(bench->node, LENT_OP, 3, DCL_OK), DCL_ERR_INTERNAL, "it is not written yet");
    bench_close(bench);
}

Test(loan, what_is_returned_runs_here)
{
    struct bench *bench = lender(true);
    bench_expect(bench, "the others", "run 3.1; run 3.2; marks to 1 2/2");
    hears_result(bench, 1, 3, false);
    bench_expect(bench, "it is back", "run 3.3");
    bench_close(bench);
}

Test(loan, a_node_waits_for_its_thief)
{
    struct bench *bench = lender(true);
    bench_expect(bench, "the others", "run 3.1; run 3.2; marks to 1 2/2");
    int64_t operation;
    int peer;
    cr_expect(dcli_node_awaits(bench->node, &operation, &peer));
    cr_expect(operation == LENT_OP && peer == THIEF);
    dcli_lent_batch lent;
    cr_assert(dcli_node_lent_batch(bench->node, 0, &lent));
    cr_expect(lent.operation == LENT_OP && lent.batch == 3 && lent.question == 1 && lent.thief == THIEF &&
              !lent.recalled);
    cr_expect_not(dcli_node_lent_batch(bench->node, 1, &lent));
    cr_expect(dcli_node_take_back(bench->node, LENT_OP, 3));
    cr_expect(dcli_node_lent_batch(bench->node, 0, &lent) && lent.recalled);
    bench_close(bench);
}

Test(loan, a_recalled_batch_that_has_not_begun_is_returned)
{
    struct bench *bench = thief(false);
    bool wanted = true;
    hears_lent(bench, 1, 3, 1);
    EXPECT_REFUSED(dcli_node_recall(bench->node, VICTIM, 1, LENT_OP + 1, 3), "RECALL");
    cr_expect_eq(dcli_node_recall(bench->node, VICTIM, 1, LENT_OP, 3), DCL_OK);
    bench_expect(bench, "it waited for A", "return 3.3 to 0 question 1");
    cr_expect_eq(dcli_node_loan_chunk(bench->node, VICTIM, 1, LENT_OP, 3, 0, &wanted), DCL_OK);
    cr_expect_not(wanted, "A comes too late");
    cr_expect_eq(dcli_node_recall(bench->node, VICTIM, 1, LENT_OP, 3), DCL_OK, "a second time has no effect");
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES);
    bench_close(bench);
}

Test(loan, without_memory_for_its_plan_a_batch_is_returned)
{
    struct bench *bench = thief(false);
    no_memory = true;
    hears_lent(bench, 1, 3, 1);
    bench_expect(bench, "it cannot be planned", "return 3.3 to 0 question 1");
    bench_close(bench);
}

/* ---- operations are kept -------------------------------------------------------------------------------------------- */

Test(loan, finished_operations_are_kept_for_slower_nodes)
{
    struct bench *bench = lending_bench(VICTIM, false);
    bench->terms.kept_operations = 2;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    for (int64_t n = 3; n <= 5; n++) {
        bench_sees(bench, bench_reads(bench, n, "C(i) = A(i);", 1, 2));
        bench_expect(bench, "it runs", n == 5 ? "run 5; retire 3" : n == 4 ? "run 4" : "run 3");
        bench_ends(bench, n, DCL_OK);
        bench_expect(bench, "it has ended",
                     n == 5   ? "finish 5; marks to 2 5/5"
                     : n == 4 ? "finish 4; marks to 2 4/4"
                              : "finish 3; marks to 2 3/3");
        cr_expect(dcli_node_idle(bench->node));
    }
    cr_expect(dcli_node_ask(bench->node, THIEF, INT64_MAX, 8));
    bench_expect(bench, "they can be lent here", "ask 1 question 1, 4-5, 8 bytes");
    dcli_node_stop_lending(bench->node);
    bench_expect(bench, "while the question is open they stay", "");
    cr_expect_eq(dcli_node_nothing(bench->node, THIEF, 1), DCL_OK);
    bench_expect(bench, "nothing comes any more", "retire 4; retire 5");
    bench_close(bench);
}

/* Only loop bodies are kept. What comes after them retires, so that memory is given back; but the storage of a released
 * array stays known until the loop bodies that name it retire. */
Test(loan, what_is_kept_does_not_hold_back_later_operations)
{
    struct bench *bench = lending_bench(VICTIM, false);
    bench->terms.kept_operations = 3;
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->halves);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i);", 1, 2));
    bench_expect(bench, "it runs", "run 3");
    bench_ends(bench, 3, DCL_OK);
    bench_expect(bench, "it is kept", "finish 3; marks to 2 3/3");
    bench_sees(bench, test_operation(4, DCLI_OP_DROP, 1, bench->halves));
    bench_expect(bench, "memory of replicas is not held back", "retire 4; marks to 2 4/4");
    bench_sees(bench, test_operation(5, DCLI_OP_RELEASE, 2, bench->halves));
    bench_expect(bench, "C is given back", "run 5");
    bench_ends(bench, 5, DCL_OK);
    bench_expect(bench, "3 names it", "finish 5; marks to 2 5/5");
    cr_expect(dcli_node_idle(bench->node) && dcli_node_may_borrow(bench->node));
    bench_sees(bench, test_operation(6, DCLI_OP_FILL, 1, bench->halves));
    bench_expect(bench, "3 is too old", "run 6; retire 3; retire 5");
    bench_ends(bench, 6, DCL_OK);
    bench_expect(bench, "nothing is kept", "retire 6; marks to 2 6/6");
    cr_expect_not(dcli_node_may_borrow(bench->node));
    bench_close(bench);
}

/* ---- the broken variants of the model ------------------------------------------------------------------------------- */

/* COMMITTED_BY_THIEF: the thief has no action that writes the victim's part, and all that it writes is in stages. */
Test(loan_variants, committed_by_thief)
{
    struct bench *bench = thief(true);
    hears_lent(bench, 1, 3, 1);
    bench_expect(bench, "it runs", "run loan 3.3 to 0 question 1");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 3, DCL_OK), DCL_OK);
    bench_expect(bench, "and only tells the result", "result 3.3 to 0 question 1");
    bench_close(bench);
}

/* LATE_RESULT: the victim runs what it has taken back, and drops the result that comes then. */
Test(loan_variants, late_result)
{
    struct bench *bench = lender(false);
    cr_expect(dcli_node_take_back(bench->node, LENT_OP, 3));
    cr_expect_not(dcli_node_take_back(bench->node, LENT_OP, 3));
    bench_expect(bench, "it is this node's again", "recall 3.3 to 1 question 1; run 3.1; run 3.2; run 3.3");
    hears_result(bench, 1, 3, true);
    bench_expect(bench, "the result is late", "drop late 0.3 to 1 question 1");
    for (int64_t b = 0; b < BATCHES; b++)
        bench_ends_batch(bench, LENT_OP, b, DCL_OK);
    expect_marks(bench, 3, 3);
    bench_close(bench);
}

/* ... and lends it again, to the same thief: the first answer does not count for the second attempt. */
Test(loan_variants, late_result_of_an_earlier_attempt)
{
    struct bench *bench = lender(false);
    cr_expect(dcli_node_take_back(bench->node, LENT_OP, 3));
    hears_hunger(bench, 2, LENT_OP);
    cr_expect(dcli_node_lend(bench->node, THIEF, LENT_OP, 1, 1));
    hears_result(bench, 1, 3, true);
    bench_expect(bench, "the second attempt counts",
                 "recall 3.3 to 1 question 1; lend 3.3 and 0 more to 1 question 2; drop late 0.3 to 1 question 1; run "
                 "3.1; run 3.2");
    hears_result(bench, 2, 3, true);
    bench_expect(bench, "its result", "write 3.3 to 1 question 2");
    bench_close(bench);
}

/* READY_WITHOUT_LENT and DONE_WITHOUT_LENT: neither watermark passes what is lent, and no later operation starts. */
Test(loan_variants, ready_without_lent)
{
    struct bench *bench = lender(true);
    bench_sees(bench, test_operation(4, DCLI_OP_FILL, 2, bench->only[0]));
    bench_expect(bench, "the others", "run 3.1; run 3.2; marks to 1 2/2");
    for (int64_t b = 0; b < 3; b++)
        bench_ends_batch(bench, LENT_OP, b, DCL_OK);
    bench_expect(bench, "the fill waits for the thief", "");
    expect_marks(bench, 2, 2);
    bench_close(bench);
}

Test(loan_variants, done_without_lent)
{
    struct bench *bench = lender(true);
    bench_expect(bench, "the others", "run 3.1; run 3.2; marks to 1 2/2");
    for (int64_t b = 0; b < 3; b++)
        cr_assert_eq(dcli_node_batch_read(bench->node, LENT_OP, b), DCL_OK);
    cr_expect_eq(dcli_node_batch_read(bench->node, LENT_OP, 3), DCL_ERR_INTERNAL);
    expect_marks(bench, 2, 2);
    hears_result(bench, 1, 3, true);
    expect_marks(bench, 3, 2);
    bench_close(bench);
}

/* LENT_AND_RUN: the victim does not run what it has lent. */
Test(loan_variants, lent_and_run)
{
    struct bench *bench = lender(true);
    bench_expect(bench, "all others", "run 3.1; run 3.2; marks to 1 2/2");
    hears_result(bench, 1, 3, true);
    bench_expect(bench, "the result, once", "write 3.3 to 1 question 1");
    bench_expect(bench, "and no more", "");
    bench_close(bench);
}

/* LENT_EARLY: a batch whose chunks have not arrived is not lent, also not one that a later batch shares. */
Test(loan_variants, lent_early)
{
    struct bench *bench = lending_bench(VICTIM, false);
    bench_create(bench, 2, 2, bench->halves);
    bench_sees(bench, bench_reads(bench, 3, "C(i) = A(i + 4);", 1, 2));
    hears_hunger(bench, 1, 3);
    dcli_offer offer;
    bench_expect(bench, "it waits", "grant 3 to 1");
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 4, 1, &offer));
    const dcli_plan *plan = dcli_node_plan(bench->node, 3, VICTIM);
    for (int64_t c = 0; c < plan->chunk_count - 1; c++)
        cr_assert_eq(dcli_node_chunk(bench->node, THIEF, 3, false, c, DCL_OK), DCL_OK, "%s", dcl_error());
    cr_expect(dcli_node_offer(bench->node, THIEF, 4, 1, &offer));
    cr_expect_eq(offer.end, plan->batch_count - 1, "the last batch has no inputs");
    bench_close(bench);
}

/* LENT_UNSEEN: nothing is lent of an operation that the thief does not know, or has forgotten. */
Test(loan_variants, lent_unseen)
{
    struct bench *bench = lending_bench(VICTIM, false);
    bench_create(bench, 2, 2, bench->only[0]);
    see_copy(bench);
    dcli_offer offer;
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 1, 1, 2, BYTES), DCL_OK);
    bench_expect_some(bench, "it does not know operation 3", 2, "nothing to 1 question 1; run 3");
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 2, 4, 5, BYTES), DCL_OK);
    cr_expect_not(dcli_node_offer(bench->node, THIEF, 4, 1, &offer), "it has forgotten operation 3");
    bench_close(bench);
}

/* TAKEN_IN_PLACE: what the thief reads in place comes back by its answer only. */
Test(loan_variants, taken_in_place)
{
    struct bench *bench = lender(true);
    cr_expect(dcli_node_take_back(bench->node, LENT_OP, 3));
    bench_expect(bench, "it is not run here", "recall 3.3 to 1 question 1; run 3.1; run 3.2; marks to 1 2/2");
    hears_result(bench, 1, 3, false);
    bench_expect(bench, "until it is returned", "run 3.3");
    bench_close(bench);
}

/* RECALL_UNANSWERED: a thief that gives a batch back says so; one that runs it sends the result. */
Test(loan_variants, recall_unanswered)
{
    struct bench *bench = thief(true);
    hears_lent(bench, 1, 1, 3);
    bench_expect(bench, "two are started", "run loan 3.1 to 0 question 1; run loan 3.2 to 0 question 1");
    for (int64_t b = 1; b <= 3; b++)
        cr_expect_eq(dcli_node_recall(bench->node, VICTIM, 1, LENT_OP, b), DCL_OK);
    bench_expect(bench, "the third comes back", "return 3.3 to 0 question 1");
    for (int64_t b = 1; b <= 2; b++)
        cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, b, DCL_OK), DCL_OK);
    bench_expect(bench, "the others have results", "result 3.1 to 0 question 1; result 3.2 to 0 question 1");
    bench_close(bench);
}

/* LENT_FROM_POOL: loans take no memory that is granted for chunks. */
Test(loan_variants, lent_from_pool)
{
    struct bench *bench = thief(false);
    int64_t granted = dcli_node_granted_bytes(bench->node);
    hears_lent(bench, 1, 2, 2);
    cr_expect_eq(dcli_node_granted_bytes(bench->node), granted);
    cr_expect_lt(dcli_node_loan_room(bench->node), BYTES);
    bench_close(bench);
}

/* LENT_LAST: a thief whose own batches wait runs a borrowed one. */
Test(loan_variants, lent_last)
{
    struct bench *bench = thief(true);
    int64_t operation;
    int peer;
    cr_assert(dcli_node_awaits(bench->node, &operation, &peer) && peer == VICTIM, "its own work waits for the victim");
    hears_lent(bench, 1, 3, 1);
    bench_expect(bench, "the borrowed batch does not", "run loan 3.3 to 0 question 1");
    bench_close(bench);
}

/* LOST_THIEF: what a lost thief had is run here. */
Test(loan_variants, lost_thief)
{
    struct bench *bench = lending_bench(VICTIM, true);
    bench_create(bench, 2, 2, bench->only[0]);
    bench_create(bench, 3, 3, bench->only[0]);
    const dcli_operation *body = TEST_FORALL(4, "C(i) = A(7 - i);", {DCL_ACCESS_OUT, "C", 3, bench->only[0]},
                                             {DCL_ACCESS_IN, "A", 2, bench->only[0]});
    bench->plan[4][VICTIM] = NULL;
    bench_sees(bench, body);
    hears_hunger(bench, 1, 4);
    int64_t batches = dcli_node_plan(bench->node, 4, VICTIM)->batch_count;
    dcli_offer offer;
    cr_assert(dcli_node_offer(bench->node, THIEF, batches, 1, &offer));
    cr_assert(dcli_node_lend(bench->node, THIEF, 4, offer.end - offer.first, 1));
    cr_assert_eq(dcli_node_lost(bench->node, THIEF), DCL_OK);
    cr_expect_not(dcli_node_lent_batch(bench->node, 0, &(dcli_lent_batch){0}));
    dcli_action action;
    int64_t run = 0;
    while (dcli_node_next(bench->node, &action))
        run += action.kind == DCLI_DO_RUN;
    cr_expect_eq(run, batches);
    cr_expect_eq(dcli_node_hungry(bench->node, THIEF, 2, 1, 4, 1), DCL_OK, "messages of a lost node are ignored");
    cr_expect_eq(dcli_node_next_hungry(bench->node, -1), -1);
    cr_expect_eq(dcli_node_result(bench->node, THIEF, 1, 4, 0, true), DCL_OK);
    bench_close(bench);
}

/* A result that has arrived before the loss is written. */
Test(loan_variants, lost_thief_after_its_result)
{
    struct bench *bench = lender(true);
    hears_result(bench, 1, 3, true);
    cr_assert_eq(dcli_node_lost(bench->node, THIEF), DCL_OK);
    bench_expect_some(bench, "C has a part on the lost node", 2,
                      "failed 3 NODE_LOST; write 3.3 to 1 question 1 NODE_LOST");
    bench_ends_batch(bench, LENT_OP, 3, DCL_OK);
    bench_close(bench);
}

/* LOST_VICTIM: a thief gives up the memory for a lost victim; what runs is run to its end. */
Test(loan_variants, lost_victim)
{
    struct bench *bench = thief(true);
    hears_lent(bench, 1, 1, 3);
    bench_expect(bench, "two are started", "run loan 3.1 to 0 question 1; run loan 3.2 to 0 question 1");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 1, DCL_OK), DCL_OK);
    cr_assert_eq(dcli_node_lost(bench->node, VICTIM), DCL_OK);
    bench_expect_some(bench, "one has a result, one has not begun", 3,
                      "failed 3 NODE_LOST; forget 3.1 to 0 question 1; forget 3.3 to 0 question 1");
    cr_expect_eq(dcli_node_loan_done(bench->node, VICTIM, 1, 2, DCL_OK), DCL_OK);
    dcli_action action;
    bool forgotten = false;
    while (dcli_node_next(bench->node, &action)) {
        cr_expect(action.kind != DCLI_DO_RESULT && action.kind != DCLI_DO_RETURNED);
        forgotten |= action.kind == DCLI_DO_FORGET && action.index == 2;
    }
    cr_expect(forgotten);
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES);
    bench_close(bench);
}

Test(loan_variants, lost_victim_that_has_not_answered)
{
    struct bench *bench = thief(true);
    cr_assert_eq(dcli_node_lost(bench->node, VICTIM), DCL_OK);
    cr_expect_eq(dcli_node_loan_room(bench->node), BYTES);
    cr_expect_eq(dcli_node_nothing(bench->node, VICTIM, 1), DCL_OK, "messages of a lost node are ignored");
    cr_expect_not(dcli_node_ask(bench->node, VICTIM, INT64_MAX, 1));
    bench_close(bench);
}

/* JOIN_FORGOTTEN: the question of a node of whose join this one has not heard is kept. */
Test(loan_variants, join_forgotten)
{
    struct bench *bench = lending_bench(VICTIM, true);
    bench->terms.absent = (bool[]){false, true};
    bench_reopen(bench);
    bench_create(bench, 1, 1, bench->only[0]);
    cr_assert_eq(dcli_node_hungry(bench->node, THIEF, 1, 2, 2, BYTES), DCL_OK);
    cr_expect_eq(dcli_node_next_hungry(bench->node, -1), -1, "it is not there yet");
    cr_expect_not(dcli_node_refuse(bench->node, THIEF));
    cr_assert_eq(dcli_node_joined(bench->node, THIEF, 2), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_node_next_hungry(bench->node, -1), THIEF);
    bench_sees(bench, test_operation(2, DCLI_OP_FILL, 1, bench->only[0]));
    bench_expect(bench, "there was nothing to lend", "run 2; nothing to 1 question 1");
    bench_close(bench);
}

/* UNNUMBERED: a message that comes twice is noticed. */
Test(loan_variants, unnumbered)
{
    struct bench *bench = lender(false);
    EXPECT_REFUSED(dcli_node_hungry(bench->node, THIEF, 1, 1, LENT_OP, BYTES), "HUNGRY");
    hears_result(bench, 1, 3, false);
    EXPECT_REFUSED(dcli_node_result(bench->node, THIEF, 1, LENT_OP, 3, false), "RETURNED");
    bench_close(bench);
    bench = thief(true);
    hears_lent(bench, 1, 3, 1);
    cr_expect(dcli_node_ask(bench->node, VICTIM, INT64_MAX, 8));
    EXPECT_REFUSED(dcli_node_lent(bench->node, VICTIM, 1, LENT_OP, 3, 1, 1), "LENT");
    EXPECT_REFUSED(dcli_node_nothing(bench->node, VICTIM, 1), "NOTHING");
    bench_close(bench);
}

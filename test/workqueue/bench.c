/* test/workqueue/bench.c - the state machine of one node, told what to say by a test. */
#include "workqueue/bench.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

const dcli_plan *bench_plan(void *user, const dcli_operation *operation, int peer)
{
    struct bench *bench = user;
    dcli_plan **plan = &bench->plan[operation->number][peer];
    if (*plan == NULL)
        cr_assert_eq(dcli_plan_make(operation, peer, &bench->terms.plan, plan), DCL_OK);
    return *plan;
}

struct bench *bench_open(int self, bool in_place)
{
    static struct bench bench;
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8);
    bench = (struct bench){0};
    for (int n = 0; n < NODES && in_place; n++)
        bench.ways[n].can = DCLI_CAN_ALL;
    bench.halves = test_layout("block", NODES, &line);
    bench.only[0] = test_layout("block;nodes=0", NODES, &line);
    bench.only[1] = test_layout("block;nodes=1", NODES, &line);
    bench.terms = (dcli_node_terms){.plan = {.node_count = NODES,
                                             .ways = bench.ways,
                                             .batch_bytes = 1 << 20,
                                             .chunk_bytes = 1 << 20,
                                             .pool_bytes = 1 << 20,
                                             .kept_bytes = 1 << 20},
                                    .self = self,
                                    .window_chunks = 2,
                                    .made_bytes = 1 << 20,
                                    .plan_of = bench_plan,
                                    .user = &bench};
    bench.node = dcli_node_open(&bench.terms);
    cr_assert_not_null(bench.node);
    return &bench;
}

void bench_reopen(struct bench *bench)
{
    dcli_node_close(bench->node);
    bench->node = dcli_node_open(&bench->terms);
    cr_assert_not_null(bench->node);
}

void bench_close(struct bench *bench)
{
    dcli_node_close(bench->node);
    for (int n = 0; n <= MOST_OPS; n++)
        for (int p = 0; p <= NODES; p++)
            dcli_plan_free(bench->plan[n][p]);
    test_ops_free();
}

/* A batch of an operation; the first batch has no number. */
static void put_batch(dcli_text *text, const dcli_action *action)
{
    dcli_text_put(text, " %" PRId64, action->operation != NULL ? action->operation->number : 0);
    if (action->index > 0)
        dcli_text_put(text, ".%" PRId64, action->index);
}

static void put_lending(dcli_text *text, const dcli_action *action)
{
    static const char *names[] = {
        [DCLI_DO_RUN_LOAN] = "run loan", [DCLI_DO_RESULT] = "result",       [DCLI_DO_RETURNED] = "return",
        [DCLI_DO_FORGET] = "forget",     [DCLI_DO_LEND] = "lend",           [DCLI_DO_RECALL] = "recall",
        [DCLI_DO_COMMIT_LOAN] = "write", [DCLI_DO_DROP_LOAN] = "drop late", [DCLI_DO_NOTHING] = "nothing"};
    if (text->length > 0)
        dcli_text_put(text, "; ");
    if (action->kind == DCLI_DO_ASK) {
        dcli_text_put(text, "ask %d question %" PRId64 ", %" PRId64 "-%" PRId64 ", %" PRId64 " bytes", action->peer,
                      action->question, action->first, action->upto, action->bytes);
        return;
    }
    dcli_text_put(text, "%s", names[action->kind]);
    if (action->kind != DCLI_DO_NOTHING)
        put_batch(text, action);
    if (action->kind == DCLI_DO_LEND || action->count > 1)
        dcli_text_put(text, " and %" PRId64 " more", action->count - 1);
    dcli_text_put(text, " to %d question %" PRId64, action->peer, action->question);
    if (action->status != DCL_OK)
        dcli_text_put(text, " %s", dcl_status_name(action->status) + strlen("DCL_ERR_"));
}

static void put_action(const struct bench *bench, dcli_text *text, const dcli_action *action)
{
    if (action->kind >= DCLI_DO_ASK) {
        put_lending(text, action);
        return;
    }
    static const char *names[] = {"run",    "skip",   "pack",  "send",   "commit", "drop",   "grant",
                                  "credit", "failed", "marks", "finish", "retire", "discard"};
    int64_t number = action->operation != NULL ? action->operation->number : 0;
    dcli_text_put(text, "%s%s", text->length > 0 ? "; " : "", names[action->kind]);
    if (bench->terms.loan_of != NULL && (action->kind == DCLI_DO_RUN || action->kind == DCLI_DO_SKIP))
        put_batch(text, action); /* they may be lent one by one */
    else if (number > 0)
        dcli_text_put(text, " %" PRId64, number);
    if (action->kind == DCLI_DO_PACK || action->kind == DCLI_DO_SEND || action->kind == DCLI_DO_GRANT ||
        action->kind == DCLI_DO_MARKS)
        dcli_text_put(text, " to %d", action->peer);
    if (action->kind == DCLI_DO_COMMIT || action->kind == DCLI_DO_DROP || action->kind == DCLI_DO_CREDIT)
        dcli_text_put(text, " from %d", action->peer);
    if (action->kind == DCLI_DO_DISCARD)
        dcli_text_put(text, " for %d", action->peer);
    if (action->kind == DCLI_DO_MARKS)
        dcli_text_put(text, " %" PRId64 "/%" PRId64, action->done, action->ready);
    if (action->kind == DCLI_DO_MARKS && action->failure_count > 0)
        dcli_text_put(text, " after %d failures, the first of %" PRId64, action->failure_count, action->failure[0]);
    if (action->status != DCL_OK)
        dcli_text_put(text, " %s", dcl_status_name(action->status) + strlen("DCL_ERR_"));
}

/* Packing and committing take no time here, unless a test ends them itself. */
static void end_chunk(struct bench *bench, const dcli_action *action)
{
    bool written = action->kind == DCLI_DO_COMMIT;
    if (!bench->ends_chunks && (written || action->kind == DCLI_DO_PACK))
        cr_assert_eq(dcli_node_chunk_done(bench->node, action->operation->number, action->peer, written, DCL_OK),
                     DCL_OK, "%s", dcl_error());
}

void bench_expect(struct bench *bench, const char *when, const char *expected)
{
    bench_expect_some(bench, when, INT64_MAX, expected);
}

void bench_expect_some(struct bench *bench, const char *when, int64_t most, const char *expected)
{
    dcli_text text = {0};
    dcli_action action;
    dcli_text_put(&text, "%s", "");
    for (int64_t n = 0; n < most && dcli_node_next(bench->node, &action); n++) {
        put_action(bench, &text, &action);
        end_chunk(bench, &action);
    }
    if (strcmp(text.bytes, expected) != 0) {
        char *state = dcli_node_explain(bench->node);
        cr_expect(false, "%s:\n  does      %s\n  expected  %s\n%s", when, text.bytes, expected, state);
        dcli_free(state);
    }
    dcli_text_free(&text);
}

void bench_sees(struct bench *bench, const dcli_operation *operation)
{
    cr_assert_eq(dcli_node_operation(bench->node, operation), DCL_OK, "%s", dcl_error());
}

void bench_ends(struct bench *bench, int64_t operation, dcl_status status)
{
    bench_ends_batch(bench, operation, 0, status);
}

void bench_ends_batch(struct bench *bench, int64_t operation, int64_t batch, dcl_status status)
{
    cr_assert_eq(dcli_node_batch_done(bench->node, operation, batch, status), DCL_OK, "%s", dcl_error());
}

void bench_create(struct bench *bench, int64_t operation, int64_t storage, const dcli_layout *layout)
{
    bench_sees(bench, test_operation(operation, DCLI_OP_CREATE, storage, layout));
    dcli_action action;
    while (dcli_node_next(bench->node, &action))
        if (action.kind == DCLI_DO_RUN)
            bench_ends(bench, operation, DCL_OK);
}

const dcli_operation *bench_reads(struct bench *bench, int64_t number, const char *body, int64_t c, int64_t a)
{
    return TEST_FORALL(number, body, {DCL_ACCESS_OUT, "C", c, bench->halves}, {DCL_ACCESS_IN, "A", a, bench->halves});
}

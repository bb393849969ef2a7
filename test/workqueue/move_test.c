/* test/workqueue/move_test.c - moves ahead of use: what is copied, in which steps, what is read from copies, and when
 * they end. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/ways.h"
#include "workqueue/ops.h"

enum { NODES = 4 };

static dcli_plan_terms terms_of(bool in_place)
{
    return (dcli_plan_terms){.node_count = NODES,
                             .ways = test_ways(in_place != 0),
                             .batch_bytes = 1 << 20,
                             .chunk_bytes = 1 << 20,
                             .pool_bytes = 1 << 24,
                             .kept_bytes = 1 << 20};
}

static dcli_plan *make(const dcli_operation *operation, int self, const dcli_plan_terms *terms)
{
    dcli_plan *plan = NULL;
    cr_assert_eq(dcli_plan_make(operation, self, terms, &plan), DCL_OK, "%s", dcl_error());
    return plan;
}

/* Storage 1, laid out by `layout`: a box of it to a node. */
static dcli_operation *move_of(const dcli_layout *layout, const dcl_box *box, int node)
{
    dcli_operation *operation = test_operation(1, DCLI_OP_MOVE, 1, layout);
    operation->box = *box;
    operation->node = node;
    return operation;
}

/* What a node does: its copies in the order they are made, "+" where a batch goes on with one, and what moves for
 * them. */
static void print_plan(const dcli_plan *plan, dcli_text *text)
{
    char box[200];
    bool goes_on = false;
    dcli_text_put(text, "%s", "");
    for (int64_t s = 0; s < plan->stage_count; s++) {
        if (plan->stage[s].kind != DCLI_STAGE_NEW_REPLICA)
            continue;
        dcli_box_print(&plan->stage[s].box, box, sizeof box);
        dcli_text_put(text, "%s%s", goes_on ? "+" : box, plan->stage[s].fill_first ? " with rest" : "");
        goes_on = plan->stage[s].unfinished;
    }
    dcli_text_put(text, ": %" PRId64 " bytes, %" PRId64 " blocks, %" PRId64 " messages", plan->counters.bytes_moved,
                  plan->counters.blocks_moved, plan->counters.messages_planned);
}

/* ---- what is copied ----------------------------------------------------------------------------------------------- */

/* A grid of 12 x 12 floats, or of 24, over four nodes; node 1 gets a box. */
struct move_case {
    char what[40], map[48], box[24], plan[96];
};

ParameterizedTestParameters(move, copies)
{
    static struct move_case cases[] = {
        /* what, map, box, and the plan where elements are sent */
        {"all of it", "splits(4,8,10)", "0:24", "[0:24]: 80 bytes, 3 blocks, 3 messages"},
        {"most is there", "splits(4,16,20)", "4:24", "[16:24]: 32 bytes, 2 blocks, 2 messages"},
        {"what is on both sides", "splits(4,20,22)", "2:22", "[2:4][20:22]: 16 bytes, 2 blocks, 2 messages"},
        {"own elements only", "block", "6:12", ": 0 bytes, 0 blocks, 0 messages"},
        {"one element of another", "block", "17:18", "[17:18]: 4 bytes, 1 blocks, 1 messages"},
        {"blocks of two are touched", "block;block=2", "12:15", "[12:15]: 12 bytes, 2 blocks, 1 messages"},
        {"dealt one by one", "cyclic", "0:8", "[0:8]: 24 bytes, 6 blocks, 3 messages"},
        {"the node owns nothing", "block;nodes=0,2", "0:24", "[0:24]: 96 bytes, 2 blocks, 2 messages"},
        {"some are stored nowhere", "rows:table(4);owners=-,0,1,-*3", "0:12",
         "[0:12] with rest: 16 bytes, 1 blocks, 1 messages"},
        {"others own nothing of it", "rows:table(4);owners=-,0,1,-*3", "8:24", ": 0 bytes, 0 blocks, 0 messages"},
        {"nothing", "block", "0:0", ": 0 bytes, 0 blocks, 0 messages"},
    };
    return cr_make_param_array(struct move_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct move_case *c, move, copies)
{
    dcl_grid line = dcl_grid_1d(DCL_FLOAT, 24);
    int64_t from, end;
    cr_assert_eq(sscanf(c->box, "%" SCNd64 ":%" SCNd64, &from, &end), 2);
    dcl_box box = dcl_box_nd(1, &from, (int64_t[]){end - from});
    dcli_operation *operation = move_of(test_layout(c->map, NODES, &line), &box, 1);
    for (int in_place = 0; in_place < 2; in_place++) {
        dcli_plan_terms terms = terms_of(in_place != 0);
        for (int p = 0; p < NODES; p++) {
            dcli_plan *plan = make(operation, p, &terms);
            dcli_text text = {0};
            print_plan(plan, &text);
            char *messages = strrchr(text.bytes, ','), expected[96];
            snprintf(expected, sizeof expected, "%s", p == 1 ? c->plan : ": 0 bytes, 0 blocks, 0 messages");
            if (in_place) /* nothing is sent */
                *messages = *strrchr(expected, ',') = '\0';
            cr_expect_str_eq(text.bytes, expected, "%s, node %d, in place %d: %s", c->what, p, in_place, text.bytes);
            cr_expect_eq(plan->counters.tasks, 0);
            cr_expect(!plan->local);
            dcli_text_free(&text);
            dcli_plan_free(plan);
        }
    }
    test_ops_free();
}

/* A copy is one, however many batches fill it; what is on its way for one of them is a sixteenth of the pool. Here
 * that is 16 of 40 floats; the last index of the grid's 8 x 5 changes fastest. */
Test(move, in_batches)
{
    dcl_grid square = dcl_grid_2d(DCL_FLOAT, 8, 5);
    dcl_box all = dcl_box_of(&square);
    dcli_plan_terms terms = terms_of(false);
    terms.pool_bytes = 16 * 16 * 4;
    dcli_plan *plan = make(move_of(test_layout("block,*;nodes=0", NODES, &square), &all, 3), 3, &terms);
    dcli_text text = {0};
    print_plan(plan, &text);
    cr_expect_str_eq(text.bytes, "[0:8, 0:5]++: 160 bytes, 1 blocks, 3 messages", "%s", text.bytes);
    cr_assert_eq(plan->batch_count, 3); /* 3, 3 and 2 rows */
    for (int64_t b = 0; b < 3; b++) {
        const dcli_chunk *chunk = &plan->chunk[b];
        cr_expect(chunk->first_batch == b && chunk->last_batch == b && chunk->bytes == (b < 2 ? 60 : 40) + (b < 2) * 4);
        const dcli_piece *piece = &plan->piece[plan->stage[plan->batch[b].first_stage].first_in];
        cr_expect(piece->kind == DCLI_SPACE_CHUNK && piece->region.box.start[0] == 3 * b);
    }
    cr_expect_eq(plan->live_bytes, 64);
    dcli_text_free(&text);
    dcli_plan_free(plan);
    test_ops_free();
}

/* Elements that are stored nowhere are set once, before any other comes, whichever batch has them. */
Test(move, rest_in_batches)
{
    dcl_grid line = dcl_grid_1d(DCL_FLOAT, 24);
    dcl_box all = dcl_box_of(&line);
    dcli_plan_terms terms = terms_of(false);
    terms.pool_bytes = 16 * 8 * 4;
    dcli_plan *plan = make(move_of(test_layout("rows:table(4);owners=0,0,-,-,0,0", NODES, &line), &all, 3), 3, &terms);
    dcli_text text = {0};
    print_plan(plan, &text);
    cr_expect_str_eq(text.bytes, "[0:24] with rest++: 64 bytes, 4 blocks, 2 messages", "%s", text.bytes);
    dcli_text_free(&text);
    dcli_plan_free(plan);
    test_ops_free();
}

/* ---- the budget --------------------------------------------------------------------------------------------------- */

static void expect_problem(const dcli_operation *operation, const dcli_plan_terms *terms, const char *words)
{
    dcli_plan *plan = make(operation, operation->node, terms);
    cr_expect_eq(plan->status, words != NULL ? DCL_ERR_NOMEM : DCL_OK, "%s", plan->problem);
    if (words != NULL)
        cr_expect(strstr(plan->problem, words) != NULL && plan->batch_count == 0, "%s", plan->problem);
    dcli_plan_free(plan);
}

Test(move, within_the_budget)
{
    dcl_grid line = dcl_grid_1d(DCL_FLOAT, 24);
    const dcli_layout *halves = test_layout("block;nodes=0-1", NODES, &line);
    const dcli_layout *shared = test_layout("replicated(2);nodes=0-1", NODES, &line);
    dcl_box all = dcl_box_of(&line), other = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){12});
    dcli_plan_terms terms = terms_of(false);
    terms.kept_bytes = 48;
    expect_problem(move_of(halves, &other, 1), &terms, NULL);
    expect_problem(move_of(halves, &all, 1), &terms,
                   "replicas of the box take 96 bytes; expected at most 48: replicas may take 48");
    terms.kept_bytes = 47;
    expect_problem(move_of(halves, &other, 1), &terms, "take 48 bytes; expected at most 47: replicas may take 47");
    expect_problem(move_of(shared, &all, 1), &terms, NULL); /* the map asks for this copy */
    expect_problem(move_of(shared, &all, 2), &terms, "take 96 bytes");
    test_ops_free();
}

/* ---- copies are used ---------------------------------------------------------------------------------------------- */

/* What a process knows after operations that ran one after the other: the books, and plans by them. */
struct history {
    dcli_directory directory;
    dcli_plan_terms terms;
};

static struct history begin(bool in_place)
{
    return (struct history){.directory.node_count = NODES, .terms = terms_of(in_place)};
}

/* Bytes that each node moves for an operation, and what that does to the books. */
static void run(struct history *history, const dcli_operation *operation, const int64_t bytes[NODES], const char *what)
{
    history->terms.directory = &history->directory;
    dcli_plan *plan[NODES];
    dcli_directory_begin(&history->directory, operation, NULL, NULL);
    for (int n = 0; n < NODES; n++)
        plan[n] = make(operation, n, &history->terms);
    for (int n = 0; n < NODES; n++) {
        cr_expect_eq(plan[n]->counters.bytes_moved, bytes[n],
                     "%s, in place %d: node %d moves %" PRId64 "; expected %" PRId64, what,
                     history->terms.ways[0].can != 0, n, plan[n]->counters.bytes_moved, bytes[n]);
        cr_assert_eq(dcli_directory_add(&history->directory, n, operation, plan[n]), DCL_OK);
        dcli_plan_free(plan[n]);
    }
    dcli_directory_write(&history->directory, operation, NULL, NULL);
}

static const int64_t nothing[NODES];

static dcli_operation *reads(const char *body, const dcli_layout *c, const dcli_layout *a)
{
    dcli_operation *operation = TEST_FORALL(1, body, {DCL_ACCESS_OUT, "C", 2, c}, {DCL_ACCESS_IN, "A", 1, a});
    operation->operand[1].generation = 1; /* used where they are there; none are made */
    return operation;
}

/* 24 elements, six per node. */
Test(move, bodies_find_what_was_moved)
{
    dcl_grid line = dcl_grid_1d(DCL_FLOAT, 24);
    const dcli_layout *block = test_layout("block", NODES, &line);
    dcl_box left = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){6}), some = dcl_box_nd(1, (int64_t[]){3}, (int64_t[]){5});
    dcli_operation *reverse = reads("C(i) = A(23 - i);", block, block);
    dcli_operation *next = reads("C(i) = A(i+1) + A(i-1);", block, block);
    dcli_operation *write = test_operation(1, DCLI_OP_WRITE, 1, block),
                   *drop = test_operation(1, DCLI_OP_DROP, 1, block);
    write->box = dcl_box_nd(1, (int64_t[]){5}, (int64_t[]){1});
    for (int in_place = 0; in_place < 2; in_place++) {
        struct history history = begin(in_place != 0);
        run(&history, reverse, (int64_t[]){24, 24, 24, 24}, "nothing was moved");
        run(&history, move_of(block, &left, 3), (int64_t[]){0, 0, 0, 24}, "a move");
        run(&history, reverse, (int64_t[]){24, 24, 24, 0}, "node 3 has all");
        run(&history, move_of(block, &left, 3), nothing, "again");
        run(&history, move_of(block, &some, 2), (int64_t[]){0, 0, 20, 0}, "to node 2, which reads 6..11");
        run(&history, reverse, (int64_t[]){24, 24, 16, 0}, "node 2 lacks 8..11");
        run(&history, next, (int64_t[]){4, 8, 8, 4}, "what is at node 2, but 11");
        run(&history, write, nothing, "element 5 is written");
        run(&history, reverse, (int64_t[]){24, 24, 24, 24}, "both copies had it");
        run(&history, move_of(block, &left, 3), (int64_t[]){0, 0, 0, 24}, "once more");
        run(&history, drop, nothing, "all are dropped");
        cr_expect_eq(dcli_directory_bytes(&history.directory, 3), 0);
        run(&history, reverse, (int64_t[]){24, 24, 24, 24}, "after that");
        run(&history, move_of(block, &left, 3), (int64_t[]){0, 0, 0, 24}, "and again");
        reverse->operand[1].generation = 2;
        run(&history, reverse, (int64_t[]){24, 24, 24, 24}, "another generation: something had failed");
        reverse->operand[1].generation = 1;
        dcli_directory_free(&history.directory);
    }
    test_ops_free();
}

/* The worked example: the 16 blocks that C = A + B^T moves, moved before. Node 1 has segments 2, 6 and node 3 has 4,
 * 8. */
Test(move, the_worked_example)
{
    dcl_grid square = dcl_grid_2d(DCL_FLOAT, 6144, 6144);
    const dcli_layout *c = test_layout("rows:cyclic(2048x2048);tile=1024x1024", NODES, &square);
    const dcli_layout *b = test_layout("rows:cyclic(2048x2048);block=1024x1024", NODES, &square);
    dcli_operation *add = TEST_FORALL(1, "C(i,j) = B(j,i);", {DCL_ACCESS_OUT, "C", 2, c}, {DCL_ACCESS_IN, "B", 1, b});
    /* In segments of B, 3 x 3 of them: whom they are moved to, rows, columns. */
    static const int lacks[4][3] = {{1, 1, 0}, {1, 2, 1}, {3, 0, 1}, {3, 1, 2}};
    add->operand[1].generation = 1;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct history history = begin(in_place != 0);
        history.terms.kept_bytes = INT64_C(8) << 22;
        history.terms.pool_bytes = 64 << 20;
        run(&history, add, (int64_t[]){0, 8 << 22, 0, 8 << 22}, "without moves");
        for (int m = 0; m < 16; m++) {
            const int *segment = lacks[m / 4];
            int64_t start[] = {segment[1] * 2048 + m / 2 % 2 * 1024, segment[2] * 2048 + m % 2 * 1024};
            dcl_box block = dcl_box_nd(2, start, (int64_t[]){1024, 1024});
            int64_t bytes[NODES] = {0};
            bytes[segment[0]] = 1 << 22;
            run(&history, move_of(b, &block, segment[0]), bytes, "a block");
        }
        run(&history, add, nothing, "after the moves");
        dcli_directory_free(&history.directory);
    }
    test_ops_free();
}

struct planning {
    const dcli_operation *operation;
    const dcli_plan_terms *terms;
    dcli_plan *plan;
};

static void *plan_for_node_1(void *user)
{
    struct planning *planning = user;
    if (dcli_plan_make(planning->operation, 1, planning->terms, &planning->plan) != DCL_OK)
        planning->plan = NULL;
    return NULL;
}

/* By a thread that has little room for calls within calls. */
static dcli_plan *plan_with_small_stack(const dcli_operation *operation, const dcli_plan_terms *terms)
{
    struct planning planning = {.operation = operation, .terms = terms};
    pthread_attr_t small;
    pthread_t thread;
    cr_assert(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 20) == 0);
    cr_assert_eq(pthread_create(&thread, &small, plan_for_node_1, &planning), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    cr_assert_not_null(planning.plan);
    return planning.plan;
}

/* As many copies as there may be, row by row: all that node 0 has is at node 1. */
Test(move, many_copies)
{
    enum { ROWS = 1024 };
    dcl_grid rows = dcl_grid_2d(DCL_FLOAT, 2 * ROWS, 3);
    const dcli_layout *halves = test_layout("block,*;nodes=0-1", NODES, &rows);
    dcli_operation *add = TEST_FORALL(1, "C(i,j) = A(i,j) + A(2047 - i, j);", {DCL_ACCESS_OUT, "C", 2, halves},
                                      {DCL_ACCESS_IN, "A", 1, halves});
    dcl_box row = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){1, 3});
    dcli_operation *move = move_of(halves, &row, 1);
    add->operand[1].generation = 1;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct history history = begin(in_place != 0);
        for (move->box.start[0] = 0; move->box.start[0] < ROWS; move->box.start[0]++)
            run(&history, move, (int64_t[]){0, 3 * 4, 0, 0}, "a row");
        dcli_plan *plan = plan_with_small_stack(add, &history.terms);
        cr_expect_eq(plan->counters.bytes_moved, 0);
        int64_t copied = 0;
        for (int64_t p = 0; p < plan->piece_count; p++)
            copied += plan->piece[p].kind == DCLI_SPACE_REPLICA ? dcli_box_elements(&plan->piece[p].region.box) : 0;
        cr_expect_eq(copied, ROWS * 3, "%" PRId64 " elements come from copies", copied);
        dcli_plan_free(plan);
        dcli_directory_free(&history.directory);
    }
    test_ops_free();
}

/* test/workqueue/bench.h - one node on a bench: a script of events gives a line of actions.
 *
 * Two nodes and the host (peer 2); arrays of eight elements in halves. */
#ifndef TEST_WORKQUEUE_BENCH_H
#define TEST_WORKQUEUE_BENCH_H

#include "workqueue/node.h"
#include "workqueue/ops.h"

enum { NODES = 2, HOST = 2, MOST_OPS = 128 };

struct bench {
    dcli_node_ways ways[NODES];
    dcli_node_terms terms;
    dcli_node *node;
    dcli_plan *plan[MOST_OPS + 1][NODES + 1];
    const dcli_layout *halves;      /* [0, 4) and [4, 8) */
    const dcli_layout *only[NODES]; /* all on one node */
    bool ends_chunks;               /* the test itself tells the ends of packs and commits */
};

struct bench *bench_open(int self, bool in_place);
/** The same with other terms; no operation has been seen. */
void bench_reopen(struct bench *bench);
void bench_close(struct bench *bench);

/** What the node does now, up to where it waits. */
void bench_expect(struct bench *bench, const char *when, const char *expected);

/** The same, but only its next `most` actions. */
void bench_expect_some(struct bench *bench, const char *when, int64_t most, const char *expected);

void bench_sees(struct bench *bench, const dcli_operation *operation);
/** Batch 0 of an operation ends. */
void bench_ends(struct bench *bench, int64_t operation, dcl_status status);
void bench_ends_batch(struct bench *bench, int64_t operation, int64_t batch, dcl_status status);
/** CREATE, from its descriptor to its end. */
void bench_create(struct bench *bench, int64_t operation, int64_t storage, const dcli_layout *layout);
/** The plan of an operation for a peer. */
const dcli_plan *bench_plan(void *bench, const dcli_operation *operation, int peer);

/** C(i) = A(text), over halves. */
const dcli_operation *bench_reads(struct bench *bench, int64_t number, const char *body, int64_t c, int64_t a);

#define EXPECT_REFUSED(call, words)                                          \
    do {                                                                     \
        cr_expect_eq((call), DCL_ERR_PROTOCOL);                              \
        cr_expect_not_null(strstr(dcl_error(), (words)), "%s", dcl_error()); \
    } while (0)

#endif

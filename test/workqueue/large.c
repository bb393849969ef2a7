/* test/workqueue/large.c - one node of a large cluster, whose peers the test plays. */
#include "workqueue/large.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const dcli_plan *plan_of(void *user, const dcli_operation *operation, int peer)
{
    struct large *large = user;
    dcli_plan_terms terms = large->terms;
    bool own = peer == large->self, kept = operation->kind == DCLI_OP_FORALL;
    dcli_plan **plan = !kept ? &large->whole : own ? &large->own : &large->pair[peer];
    terms.streams = terms.pair = !own;
    terms.with = large->self;
    if (!kept)
        dcli_plan_free(*plan);
    if (!kept || *plan == NULL) {
        large->pairs += !own;
        cr_assert_eq(dcli_plan_make(operation, peer, &terms, plan), DCL_OK, "%s", dcl_error());
    }
    return *plan;
}

void large_forget_plans(large *large)
{
    dcli_plan_free(large->own);
    large->own = NULL;
    for (int p = 0; p < large->nodes; p++) {
        dcli_plan_free(large->pair[p]);
        large->pair[p] = NULL;
    }
    large->pairs = 0;
}

/* The children of node n in the tree are n * LARGE_FANOUT + 1 ...; the first LARGE_FANOUT are the host's. */
static int speaker_of(void *user, int node)
{
    (void)user;
    while (node >= LARGE_FANOUT)
        node = node / LARGE_FANOUT - 1;
    return node;
}

large *large_open(int nodes, int self)
{
    static struct large opened;
    struct large *large = &opened;
    *large = (struct large){.nodes = nodes, .self = self};
    large->ways = calloc((size_t)nodes + 1, sizeof *large->ways);
    large->pair = calloc((size_t)nodes + 1, sizeof *large->pair);
    large->terms = (dcli_plan_terms){.node_count = nodes,
                                     .ways = large->ways,
                                     .batch_bytes = 16 << 20,
                                     .chunk_bytes = 4 << 20,
                                     .pool_bytes = 256 << 20,
                                     .kept_bytes = 1 << 20,
                                     .planner = dcli_planner_new()};
    dcli_node_terms terms = {.plan = large->terms,
                             .self = self,
                             .window_chunks = 2,
                             .made_bytes = 1 << 20,
                             .plan_of = plan_of,
                             .speaker_of = self == nodes ? speaker_of : NULL,
                             .user = large};
    large->node = dcli_node_open(&terms);
    cr_assert(large->ways != NULL && large->pair != NULL && large->node != NULL && large->terms.planner != NULL);
    return large;
}

void large_close(large *large)
{
    dcli_node_close(large->node);
    large_forget_plans(large);
    dcli_plan_free(large->whole);
    dcli_planner_free(large->terms.planner);
    free(large->pair);
    free(large->ways);
}

int64_t large_side(int nodes)
{
    int64_t side = 500;
    while (side * side < INT64_C(250000) * nodes)
        side += 500;
    return side;
}

int large_inside(int nodes, const dcli_layout *layout)
{
    int64_t middle[] = {layout->grid.extent[0] / 2, layout->grid.extent[1] / 3}, offset;
    int node;
    dcli_layout_locate(layout, middle, &node, &offset);
    cr_assert(node >= 0 && node < nodes);
    return node;
}

void large_begin(large *large, const dcli_operation *operation)
{
    cr_assert_eq(dcli_node_operation(large->node, operation), DCL_OK, "%s", dcl_error());
}

/* Carry out the actions of the node until it has none. @return the number of messages. */
static int64_t act(large *large, int64_t number, int64_t sent[])
{
    int64_t messages = 0;
    dcli_action action;
    while (dcli_node_next(large->node, &action)) {
        messages += action.kind == DCLI_DO_GRANT || action.kind == DCLI_DO_MARKS || action.kind == DCLI_DO_CREDIT;
        if (action.kind == DCLI_DO_RUN)
            cr_assert_eq(dcli_node_batch_done(large->node, number, action.index, DCL_OK), DCL_OK);
        else if (action.kind == DCLI_DO_PACK)
            cr_assert_eq(dcli_node_chunk_done(large->node, number, action.peer, false, DCL_OK), DCL_OK);
        else if (action.kind == DCLI_DO_GRANT)
            for (int64_t *c = &sent[action.peer]; *c < action.index; ++*c)
                cr_assert_eq(dcli_node_chunk(large->node, action.peer, number, false, *c, DCL_OK), DCL_OK, "%s",
                             dcl_error());
    }
    return messages;
}

int64_t large_finish_at_host(large *large, const dcli_operation *operation)
{
    int64_t number = operation->number, messages = act(large, number, NULL);
    for (int child = 0; child < LARGE_FANOUT; child++)
        cr_assert_eq(dcli_node_marks(large->node, child, number, number), DCL_OK, "%s", dcl_error());
    messages += act(large, number, NULL);
    cr_assert(dcli_node_idle(large->node), "operation %" PRId64 " does not end", number);
    return messages;
}

int64_t large_finish(large *large, const dcli_operation *operation)
{
    static int64_t sent[LARGE_MOST_NODES];
    memset(sent, 0, sizeof sent);
    int64_t number = operation->number, messages = act(large, number, sent);
    for (int p = 0; p < large->nodes && operation->kind == DCLI_OP_FORALL; p++)
        if (large->pair[p] != NULL && large->pair[p]->chunk_count > 0)
            cr_assert_eq(dcli_node_grant(large->node, p, number, large->pair[p]->chunk_count), DCL_OK);
    messages += act(large, number, sent);
    cr_assert(dcli_node_idle(large->node), "operation %" PRId64 " does not end", number);
    return messages;
}

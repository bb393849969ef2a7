/* test/workqueue/large.h - one node of a large cluster, or its host, whose peers the test plays: for what an operation
 * costs. */
#ifndef TEST_WORKQUEUE_LARGE_H
#define TEST_WORKQUEUE_LARGE_H

#include "workqueue/node.h"
#include "workqueue/ops.h"

enum { LARGE_MOST_NODES = 10000, LARGE_FANOUT = 8 };

/** Its plans are kept by operation shape, as the cache of a process keeps them. */
typedef struct large {
    int nodes, self;
    dcli_node_ways *ways;
    dcli_plan_terms terms;
    dcli_node *node;
    dcli_plan *own, **pair; /* [nodes] of its pairs */
    int64_t pairs;          /* number of pairs planned */
    dcli_plan *whole;       /* the plan of the last operation of another shape */
} large;

/** Open the node, or the host (`self` is `nodes`) of a session in which the nodes' watermarks come up a tree; 250,000
 *  elements per node are a usual size. Ends the test if it fails. */
large *large_open(int nodes, int self);
void large_close(large *large);
/** The side of a square grid of about 250,000 elements per node. */
int64_t large_side(int nodes);
/** A node inside the grid that the nodes form, not on its diagonal. */
int large_inside(int nodes, const dcli_layout *layout);
/** Forget the plans: the next operation is a new one. */
void large_forget_plans(large *large);
/** Begin an operation. */
void large_begin(large *large, const dcli_operation *operation);
/** Let an operation that was begun run to its end: peers send what is granted, and grant all. @return the number of
 *  actions of the node that are messages to peers. */
int64_t large_finish(large *large, const dcli_operation *operation);
/** The same at the host: its children in the tree report that all nodes have completed the operation. */
int64_t large_finish_at_host(large *large, const dcli_operation *operation);

#endif

/* pairs/counts.h - what an operation moves: as explained before, as stats count it, and as counted by owners here. */
#ifndef TEST_PAIRS_COUNTS_H
#define TEST_PAIRS_COUNTS_H

#include "pairs/model.h"

enum { TEST_MOST_NODES = 8 };

/** Rows by node, the last for all of them. */
typedef struct test_counts {
    dcl_cluster *cluster;
    int nodes;
    dcl_counters planned[TEST_MOST_NODES + 1], before[TEST_MOST_NODES + 1], after[TEST_MOST_NODES + 1];
    int64_t bytes[TEST_MOST_NODES + 1];
    bool at_most;                                         /* bytes are the most that may move */
    int64_t pair_bytes[TEST_MOST_NODES][TEST_MOST_NODES]; /* by owner, then by who reads or writes */
} test_counts;

test_counts test_counts_begin(dcl_cluster *cluster);

/** What dcl_stats() is asked for in row n. */
int test_counts_node(const test_counts *counts, int n);

/** Element e of an array is read or written where `computes` computes: -1 for either: nowhere. Of arrays that nodes keep
 *  copies of, no more moves than that. */
void test_counts_element(test_counts *counts, int computes, const test_model *model, int64_t e);

/** Whether a report of all nodes says so, pair by pair, and its pairs add up to what its nodes are planned. */
bool test_counts_report(const test_counts *counts, const dcl_report *report);

/** Ask for the counters: before the operation; and after it, whether all agree. @return whether all was right */
bool test_counts_before(test_counts *counts);
bool test_counts_agree(test_counts *counts);

#endif

/* pairs/counts.c - see counts.h. */
#include "pairs/counts.h"

#include <inttypes.h>

test_counts test_counts_begin(dcl_cluster *cluster)
{
    return (test_counts){.cluster = cluster, .nodes = dcl_node_count(cluster)};
}

int test_counts_node(const test_counts *counts, int n) { return n < counts->nodes ? n : DCL_ALL_NODES; }

void test_counts_element(test_counts *counts, int computes, const test_model *model, int64_t e)
{
    counts->at_most |= model->copied;
    if (model->kept || computes < 0 || e < 0 || model->owner[e] < 0 || model->owner[e] == computes)
        return;
    counts->bytes[computes] += (int64_t)dcl_type_bytes(model->grid.type);
    counts->bytes[counts->nodes] += (int64_t)dcl_type_bytes(model->grid.type);
    counts->pair_bytes[model->owner[e]][computes] += (int64_t)dcl_type_bytes(model->grid.type);
}

static bool ask(const test_counts *counts, dcl_counters rows[])
{
    bool good = true;
    for (int n = 0; good && n <= counts->nodes; n++)
        good = test_done("dcl_stats", dcl_stats(counts->cluster, test_counts_node(counts, n), &rows[n]));
    return good;
}

bool test_counts_before(test_counts *counts) { return ask(counts, counts->before); }

static bool equal(int node, const char *what, int64_t found, int64_t expected)
{
    return found == expected ||
           test_failed("node %d (-1: all): %s %" PRId64 "; expected %" PRId64, node, what, found, expected);
}

static bool right_bytes(const test_counts *counts, int64_t found, int64_t expected)
{
    return counts->at_most ? found <= expected : found == expected;
}

bool test_counts_report(const test_counts *counts, const dcl_report *report)
{
    int64_t bytes[TEST_MOST_NODES][TEST_MOST_NODES] = {{0}};
    dcl_counters sum[TEST_MOST_NODES] = {{0}};
    if (report == NULL)
        return test_failed("no report: %s", dcl_error());
    for (int64_t n = 0; n < report->pair_count; n++) {
        const dcl_report_pair *pair = &report->pair[n];
        bytes[pair->owner][pair->user] += pair->bytes;
        sum[pair->user].blocks_moved += pair->blocks;
        sum[pair->user].messages_planned += pair->messages;
    }
    bool good = equal(DCL_ALL_NODES, "nodes reported", report->node_count, counts->nodes);
    for (int user = 0; good && user < counts->nodes; user++) {
        good = equal(user, "blocks of pairs", sum[user].blocks_moved, counts->planned[user].blocks_moved) &&
               equal(user, "messages of pairs", sum[user].messages_planned, counts->planned[user].messages_planned);
        for (int owner = 0; good && owner < counts->nodes; owner++)
            good = right_bytes(counts, bytes[owner][user], counts->pair_bytes[owner][user]) ||
                   test_failed("from node %d to node %d the report has %" PRId64 " bytes; expected %" PRId64, owner,
                               user, bytes[owner][user], counts->pair_bytes[owner][user]);
    }
    return good;
}

static bool rows_agree(const test_counts *counts, int n)
{
    const dcl_counters *plan = &counts->planned[n], *a = &counts->after[n], *b = &counts->before[n];
    int node = test_counts_node(counts, n);
    if (!right_bytes(counts, plan->bytes_moved, counts->bytes[n]))
        return equal(node, "bytes_moved explained", plan->bytes_moved, counts->bytes[n]);
    return equal(node, "bytes_moved counted", a->bytes_moved - b->bytes_moved, plan->bytes_moved) &&
           equal(node, "blocks_moved counted", a->blocks_moved - b->blocks_moved, plan->blocks_moved) &&
           equal(node, "messages_planned counted", a->messages_planned - b->messages_planned, plan->messages_planned) &&
           equal(node, "tasks counted", a->tasks - b->tasks, plan->tasks) &&
           equal(node, "approximate explained", plan->approximate, 0) &&
           equal(node, "approximate counted", a->approximate - b->approximate, 0);
}

bool test_counts_agree(test_counts *counts)
{
    bool good = ask(counts, counts->after);
    for (int n = 0; good && n <= counts->nodes; n++)
        good = rows_agree(counts, n);
    return good;
}

/* runtime/balance.c - divides a body's work evenly, by measured times. */
#include "runtime/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

enum {
    PARTS = DCLI_MSG_WORK_PARTS,
    LEAST_CALLS = 8 /* fewest calls that say something of later ones */
};
#define LASTING 0.75    /* least share of a node's calls in which others computed for it */
#define LEAST_LENT 0.02 /* least share of a node's work that others computed */
#define MOST_LEFT 0.9   /* largest share of the present time that a proposed division may take */

/* ---- measured times -------------------------------------------------------------------------------------------- */

dcli_times *dcli_times_make(int node_count, int64_t kernel)
{
    dcli_times *work = dcli_calloc(1, sizeof *work + (size_t)node_count * sizeof work->row[0]);
    if (work != NULL) {
        work->kernel = kernel;
        work->node_count = node_count;
    }
    return work;
}

void dcli_times_note(dcli_times *work, int node, const dcli_msg_counts *counts)
{
    if (node >= work->node_count || counts->kernel != work->kernel || counts->work_count != 4 * PARTS)
        return;
    dcli_node_times *row = &work->row[node];
    *row = (dcli_node_times){.axis = counts->axis,
                             .first = counts->first,
                             .count = counts->count,
                             .calls = counts->calls,
                             .seen = counts->seen,
                             .stolen = counts->stolen,
                             .thief_count = counts->thief_count / 3 * 3};
    memcpy(row->work, counts->work, sizeof row->work);
    if (row->thief_count > 0)
        memcpy(row->thief, counts->thief, (size_t)row->thief_count * sizeof row->thief[0]);
}

static bool is_measured(const dcli_node_times *row) { return row->count > 0 && row->calls > 0; }

/* How many times as long the thieves of a node have taken for its batches as it would have. */
static double thieves_times(const dcli_node_times *row)
{
    double ns = 0, own_ns = 0;
    for (int t = 0; t < row->thief_count; t += 3) {
        ns += (double)row->thief[t + 1];
        own_ns += (double)row->thief[t + 2];
    }
    return ns > 0 && own_ns > 0 ? ns / own_ns : 1;
}

/* Time of a part per call, if its node computes all of it. */
static double part_ns(const dcli_node_times *row, int part, double times)
{
    const int64_t *of = &row->work[4 * part];
    return ((double)of[0] + (double)of[2] / times) / (double)row->calls;
}

/* Time of a node per call, if it computes all of its work. *lent_out: share of it that others have computed. */
static double node_ns(const dcli_node_times *row, double *lent_out)
{
    double sum = 0, lent = 0, times = thieves_times(row);
    for (int b = 0; b < PARTS && is_measured(row); b++) {
        sum += part_ns(row, b, times);
        lent += (double)row->work[4 * b + 2] / times / (double)row->calls;
    }
    *lent_out = sum > 0 ? lent / sum : 0;
    return sum;
}

/* ---- who is slow -------------------------------------------------------------------------------------------------- */

/* Compare `victim` with one of its thieves, if the time of exactly one of both is known: set the other one's time.
 * @return whether it was set. */
static bool compare(const dcli_times *work, int victim, const int64_t thief[3], double times[])
{
    int node = thief[0] < work->node_count ? (int)thief[0] : victim;
    if (node == victim || thief[1] == 0 || thief[2] == 0 || (times[victim] > 0) == (times[node] > 0))
        return false;
    double ratio = (double)thief[1] / (double)thief[2];
    if (times[victim] > 0)
        times[node] = times[victim] * ratio;
    else
        times[victim] = times[node] / ratio;
    return true;
}

/* Find how many times as long each node takes as `first`. @param times_out  [work->node_count] */
static void find_times(const dcli_times *work, int first, double times_out[])
{
    double sum = 0;
    int known = 0;
    memset(times_out, 0, (size_t)work->node_count * sizeof times_out[0]);
    times_out[first] = 1;
    for (bool more = true; more;) {
        more = false;
        for (int n = 0; n < work->node_count; n++)
            for (int t = 0; t < work->row[n].thief_count; t += 3)
                more |= compare(work, n, &work->row[n].thief[t], times_out);
    }
    for (int n = 0; n < work->node_count; n++)
        if (n != first && times_out[n] > 0) {
            sum += times_out[n];
            known++;
        }
    for (int n = 0; n < work->node_count; n++)
        if (times_out[n] == 0)
            times_out[n] = known > 0 ? sum / known : 1;
}

/* ---- where the work is -------------------------------------------------------------------------------------------- */

/* A change of the cost of an index, at the index `at`: by `more`, to `cost`. All indices before `at` together cost
 * `before`. */
struct change {
    double at, more, cost, before;
};

static int by_place(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* List where the cost of an index changes, in the order of the indices. @param changes_out  [2 * PARTS * node_count] */
static int64_t list_changes(const dcli_times *work, int64_t start, int node_count, const int nodes[],
                            const double times[], struct change changes_out[])
{
    int64_t count = 0;
    for (int p = 0; p < node_count; p++) {
        const dcli_node_times *row = &work->row[nodes[p]];
        double each = (double)row->count / PARTS, thieves = thieves_times(row);
        for (int b = 0; b < PARTS && is_measured(row); b++) {
            double from = (double)row->first - (double)start + b * each;
            double cost = part_ns(row, b, thieves) / times[nodes[p]] / each;
            if (cost <= 0)
                continue;
            changes_out[count++] = (struct change){.at = from, .more = cost};
            changes_out[count++] = (struct change){.at = from + each, .more = -cost};
        }
    }
    qsort(changes_out, (size_t)count, sizeof changes_out[0], by_place);
    for (int64_t n = 0; n < count; n++) {
        struct change *change = &changes_out[n];
        change->cost = change->more + (n > 0 ? change[-1].cost : 0);
        change->before = n > 0 ? change[-1].before + change[-1].cost * (change->at - change[-1].at) : 0;
    }
    return count;
}

/* Cost of all indices before a place. */
static double cost_before(int64_t count, const struct change changes[], double place)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (changes[middle].at <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? changes[low - 1].before + changes[low - 1].cost * (place - changes[low - 1].at) : 0;
}

/* Find the place for which all indices before it together cost `cost`. */
static double place_of(int64_t count, const struct change changes[], double cost)
{
    int64_t low = 0, high = count - 1; /* the last change from which on less than this was spent */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (changes[middle].before < cost)
            low = middle;
        else
            high = middle - 1;
    }
    return changes[low].cost > 0 ? changes[low].at + (cost - changes[low].before) / changes[low].cost : changes[low].at;
}

/* ---- dividing ----------------------------------------------------------------------------------------------------- */

/* Cut the axis so that each node takes equally long. @return the longest time of a node. */
static double divide(int64_t count, const struct change changes[], int64_t extent, int node_count, const int nodes[],
                     const double times[], int64_t length_out[])
{
    double all = changes[count - 1].before, speed = 0, target = 0, longest = 0;
    int64_t begin = 0;
    for (int p = 0; p < node_count; p++)
        speed += 1 / times[nodes[p]];
    for (int p = 0; p < node_count; p++) {
        target += all / speed / times[nodes[p]];
        double place = p + 1 < node_count ? place_of(count, changes, target) : (double)extent;
        int64_t end = place < (double)extent ? place > (double)begin ? llround(place) : begin : extent;
        double cost = cost_before(count, changes, (double)end) - cost_before(count, changes, (double)begin);
        longest = fmax(longest, times[nodes[p]] * cost);
        length_out[p] = end - begin;
        begin = end;
    }
    return longest;
}

/* The node of which others compute most, lastingly. @return -1: there is none, or not all was measured along this
 * axis. */
static int find_victim(const dcli_times *work, int axis, int node_count, const int nodes[], dcli_balance *balance_out)
{
    int victim = -1;
    double most = 0;
    for (int p = 0; p < node_count; p++) {
        const dcli_node_times *row = &work->row[nodes[p]];
        double lent, ns = node_ns(row, &lent);
        if (is_measured(row) && row->axis != axis)
            return -1;
        balance_out->now_ns = fmax(balance_out->now_ns, ns);
        if (!is_measured(row) || row->seen < LEAST_CALLS || row->stolen < LASTING * row->seen || lent < LEAST_LENT ||
            lent * ns <= most)
            continue;
        most = lent * ns;
        victim = nodes[p];
        balance_out->lent = lent;
        balance_out->seen = row->seen;
        balance_out->stolen = row->stolen;
    }
    return victim;
}

dcl_status dcli_balance_find(const dcli_times *work, int axis, int64_t start, int64_t extent, int node_count,
                             const int nodes[], dcli_balance *balance_out, int64_t length_out[])
{
    *balance_out = (dcli_balance){.axis = axis};
    balance_out->victim = find_victim(work, axis, node_count, nodes, balance_out);
    if (balance_out->victim < 0)
        return DCL_ERR_INVALID;
    double *times = dcli_calloc((size_t)work->node_count, sizeof *times);
    struct change *changes = dcli_calloc(2 * PARTS * (size_t)node_count, sizeof *changes);
    dcl_status status = DCL_ERR_NOMEM;
    if (times != NULL && changes != NULL) {
        find_times(work, balance_out->victim, times);
        int64_t count = list_changes(work, start, node_count, nodes, times, changes);
        balance_out->then_ns = divide(count, changes, extent, node_count, nodes, times, length_out);
        status = balance_out->then_ns <= MOST_LEFT * balance_out->now_ns ? DCL_OK : DCL_ERR_INVALID;
    }
    dcli_free(changes);
    dcli_free(times);
    return status;
}

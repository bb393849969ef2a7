/* resmap/irregular.c - axes divided by a list: split points or shares. Run k belongs to coordinate k mod nodes; the runs of a
 * coordinate are stored one after the other. Source: HPF 2.0, approved extensions, GEN_BLOCK. */
#include <string.h>

#include "base/check.h"
#include "resmap/parts.h"

static void begin_at_splits(int64_t extent, const dcl_axis *axis, int64_t begin[])
{
    for (int64_t k = 0; k < axis->count; k++)
        begin[k + 1] = dcli_min(axis->points[k], extent);
}

/* Find where each run begins if an axis is divided by shares: in proportion to their sums. Products of extents and sums
 * of shares take up to 92 bits. */
static void begin_by_shares(int64_t extent, const dcl_axis *axis, int64_t begin[])
{
    int64_t sum = 0, so_far = 0;
    for (int64_t k = 0; k < axis->count; k++)
        sum += axis->points[k];
    for (int64_t k = 0; k + 1 < axis->count; k++) {
        so_far += axis->points[k];
        begin[k + 1] = (int64_t)((dcli_wide)extent * so_far / sum);
    }
}

static void place_runs(int nodes, int64_t runs, const int64_t begin[], int64_t place[], int64_t length[])
{
    for (int64_t k = 0; k < runs; k++) {
        place[k] = length[k % nodes];
        length[k % nodes] += begin[k + 1] - begin[k];
    }
}

dcl_status dcli_irregular_divide(int64_t extent, const dcl_axis *axis, int nodes, dcli_division *division_out,
                                 dcli_table **bound_out)
{
    bool splits = axis->kind == DCL_AXIS_SPLITS;
    int64_t runs = splits ? axis->count + 1 : axis->count;
    dcli_table *bound = dcli_table_new(2 * runs + 1 + nodes);
    if (bound == NULL)
        return DCL_ERR_NOMEM;
    int64_t *begin = bound->value, *place = begin + runs + 1, *length = place + runs;
    (splits ? begin_at_splits : begin_by_shares)(extent, axis, begin);
    begin[runs] = extent;
    place_runs(nodes, runs, begin, place, length);
    *division_out = (dcli_division){
        .nodes = nodes, .used = nodes, .run = 1, .runs = runs, .begin = begin, .place = place, .length = length};
    for (int64_t k = 0; k < runs; k++)
        division_out->run = dcli_max(division_out->run, begin[k + 1] - begin[k]);
    *bound_out = bound;
    return DCL_OK;
}

int64_t dcli_irregular_index(const dcli_division *division, int64_t coordinate, int64_t local)
{
    int64_t turns = (division->runs - coordinate - 1) / division->nodes + 1, low = 0;
    for (int64_t n = turns; n > 1;) { /* binary search: the coordinate's last run whose elements begin at or before
                                         position `local` */
        int64_t half = n / 2;
        low += division->place[coordinate + (low + half) * division->nodes] <= local ? half : 0;
        n -= half;
    }
    int64_t run = coordinate + low * division->nodes;
    return division->begin[run] + local - division->place[run];
}

bool dcli_irregular_same(const dcli_division *a, const dcli_division *b)
{
    return a->runs == b->runs && a->nodes == b->nodes &&
           memcmp(a->begin, b->begin, (size_t)(a->runs + 1) * sizeof a->begin[0]) == 0;
}

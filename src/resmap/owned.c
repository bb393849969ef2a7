/* resmap/owned.c - maps that list the owner of each piece. The list is stored as runs of consecutive pieces with one
 * owner, or with none. Binary searches find the run of a piece, and the run of a slot. */
#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

static dcl_status check_count(const dcli_layout *layout)
{
    const dcli_table *owners = layout->rule.list;
    int64_t pieces = 0;
    for (int64_t k = 0; k < owners->count; k += 2)
        pieces += owners->value[k];
    if (pieces < layout->piece_total)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "piece %" PRId64 " has no owner: the table has %" PRId64 " owners and the grid %" PRId64
                         " pieces; expected one for each",
                         pieces, pieces, layout->piece_total);
    if (pieces > layout->piece_total)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the table has %" PRId64 " owners and the grid %" PRId64 " pieces; expected one for each",
                         pieces, layout->piece_total);
    return DCL_OK;
}

/* Count-sort. While the numbers are written, from[p] is the index in `of` where the next one of place p goes. */
void dcli_sort_by_place(int64_t count, int places, const int64_t place[], int64_t from[], int64_t of[])
{
    for (int p = 0; p < places; p++)
        from[p + 1] += from[p];
    for (int64_t k = 0; k < count; k++)
        if (place[k] >= 0)
            of[from[place[k]]++] = k;
    for (int p = places; p > 0; p--)
        from[p] = from[p - 1];
    from[0] = 0;
}

dcl_status dcli_owned_bind(dcli_layout *layout)
{
    dcl_status status = check_count(layout);
    if (status != DCL_OK)
        return status;
    const dcli_table *owners = layout->rule.list;
    int64_t runs = owners->count / 2;
    int nodes = layout->node_count;
    dcli_table *bound = dcli_table_new(4 * runs + 2 + 2 * (int64_t)nodes);
    if (bound == NULL)
        return DCL_ERR_NOMEM;
    int64_t *first = bound->value, *place = first + runs + 1, *slot = place + runs, *of = slot + runs;
    int64_t *from = of + runs, *slots = from + nodes + 1;
    for (int64_t k = 0; k < runs; k++) {
        place[k] = dcli_layout_place(layout, (int)owners->value[2 * k + 1]);
        first[k + 1] = first[k] + owners->value[2 * k];
        layout->partial = layout->partial || place[k] < 0;
        if (place[k] < 0)
            continue;
        slot[k] = slots[place[k]];
        slots[place[k]] += owners->value[2 * k];
        from[place[k] + 1]++;
    }
    dcli_sort_by_place(runs, nodes, place, from, of);
    layout->owned = (dcli_owner_runs){
        .runs = runs, .first = first, .place = place, .slot = slot, .from = from, .of = of, .slots = slots};
    layout->bound[0] = bound;
    return DCL_OK;
}

int dcli_owned_owner(const dcli_layout *layout, int64_t number, int64_t *slot_out)
{
    const dcli_owner_runs *owned = &layout->owned;
    int64_t run = dcli_last_below(owned->first, owned->runs, number);
    *slot_out = owned->slot[run] + number - owned->first[run];
    return (int)owned->place[run];
}

int64_t dcli_owned_run_at(const dcli_layout *layout, int node, int64_t slot)
{
    const dcli_owner_runs *owned = &layout->owned;
    int64_t low = owned->from[node];
    /* Binary search: the last run whose first slot is not after `slot`. */
    for (int64_t n = owned->from[node + 1] - low; n > 1;) {
        int64_t half = n / 2;
        low += owned->slot[owned->of[low + half]] <= slot ? half : 0;
        n -= half;
    }
    return low;
}

int64_t dcli_owned_piece(const dcli_layout *layout, int node, int64_t slot)
{
    int64_t run = layout->owned.of[dcli_owned_run_at(layout, node, slot)];
    return layout->owned.first[run] + slot - layout->owned.slot[run];
}

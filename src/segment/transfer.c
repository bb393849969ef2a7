/* segment/transfer.c - lists of transfers, joining them, and converting them to nested loops. */
#include "segment/transfer.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/join.h"

dcli_transfer dcli_transfer_between(const dcli_region *to, const dcli_region *from)
{
    assert(memcmp(to->box.count, from->box.count, (size_t)to->box.rank * sizeof(int64_t)) == 0);
    dcli_transfer transfer; /* fields beyond the rank are not initialized, because there may be millions of transfers */
    transfer.rank = to->box.rank;
    transfer.to.offset = to->offset;
    transfer.from.offset = from->offset;
    size_t bytes = (size_t)transfer.rank * sizeof(int64_t);
    memcpy(transfer.count, to->box.count, bytes);
    memcpy(transfer.to.step, to->step, bytes);
    memcpy(transfer.from.step, from->step, bytes);
    return transfer;
}

dcli_region dcli_transfer_region(const dcli_transfer *transfer, const dcli_side *side)
{
    dcli_region region = {.box.rank = transfer->rank, .offset = side->offset};
    for (int d = 0; d < transfer->rank; d++) {
        region.box.count[d] = transfer->count[d];
        region.box.stride[d] = 1;
        region.step[d] = side->step[d];
    }
    return region;
}

void dcli_side_reach(int rank, const int64_t count[], const dcli_side *side, int64_t *low_out, int64_t *end_out)
{
    int64_t low = side->offset, high = side->offset;
    for (int d = 0; d < rank; d++)
        *(side->step[d] < 0 ? &low : &high) += (count[d] - 1) * side->step[d];
    *low_out = low;
    *end_out = high + 1;
}

/* ---- lists -------------------------------------------------------------------------------------------------------- */

/* Number of longs in a record: count[rank]; offset and step[rank] of `to`; offset and step[rank] of `from`. */
static int length_of(int rank) { return rank + 2 * (1 + rank); }
static int to_of(int rank) { return rank; }
static int from_of(int rank) { return rank + 1 + rank; }

static void put_side(int64_t record[], const dcli_side *side, int rank, int used)
{
    record[0] = side->offset;
    for (int d = 0; d < rank; d++)
        record[1 + d] = d < used ? side->step[d] : 0;
}

void dcli_transfers_set(dcli_transfers *list, int64_t n, const dcli_transfer *transfer)
{
    int rank = list->rank;
    assert(transfer->rank <= rank);
    int64_t *record = list->record + n * length_of(rank);
    for (int d = 0; d < rank; d++)
        record[d] = d < transfer->rank ? transfer->count[d] : 1;
    put_side(record + to_of(rank), &transfer->to, rank, transfer->rank);
    put_side(record + from_of(rank), &transfer->from, rank, transfer->rank);
}

dcl_status dcli_transfers_add(dcli_transfers *list, const dcli_transfer *transfer)
{
    if (dcli_grow(&list->record, list->count, &list->capacity, (size_t)length_of(list->rank) * sizeof(int64_t)) != 0)
        return DCL_ERR_NOMEM;
    dcli_transfers_set(list, list->count++, transfer);
    return DCL_OK;
}

dcli_transfer dcli_transfers_get(const dcli_transfers *list, int64_t n)
{
    int rank = list->rank;
    const int64_t *record = list->record + n * length_of(rank);
    const size_t bytes = (size_t)rank * sizeof record[0];
    dcli_transfer transfer;
    transfer.rank = rank;
    transfer.to.offset = record[to_of(rank)];
    transfer.from.offset = record[from_of(rank)];
    memcpy(transfer.count, record, bytes);
    memcpy(transfer.to.step, record + to_of(rank) + 1, bytes);
    memcpy(transfer.from.step, record + from_of(rank) + 1, bytes);
    return transfer;
}

int64_t dcli_transfers_elements(const dcli_transfers *list)
{
    int64_t elements = 0;
    for (int64_t n = 0; n < list->count; n++) {
        int64_t of_one = 1;
        for (int d = 0; d < list->rank; d++)
            of_one *= list->record[n * length_of(list->rank) + d];
        elements += of_one;
    }
    return elements;
}

int64_t dcli_transfers_bytes(const dcli_transfers *list)
{
    return list->capacity * length_of(list->rank) * (int64_t)sizeof(int64_t);
}

void dcli_transfers_free(dcli_transfers *list)
{
    dcli_free(list->record);
    list->record = NULL;
    list->count = list->capacity = 0;
}

static dcl_status join(int rank, int flags, int64_t record[], int64_t *count_in_out)
{
    return dcli_patterns_join(&(dcli_patterns){.rank = rank,
                                               .places = 2,
                                               .length = length_of(rank),
                                               .at = (int[]){to_of(rank), from_of(rank)},
                                               .leading = (flags & DCLI_JOIN_BY_FROM) != 0,
                                               .by_all = (flags & DCLI_JOIN_BY_BOTH) != 0,
                                               .pairs = (flags & DCLI_JOIN_PAIRS) != 0},
                              record, count_in_out);
}

static bool have_one_shape(int rank, const int64_t x[], const int64_t y[])
{
    const size_t bytes = (size_t)rank * sizeof x[0];
    return memcmp(x, y, bytes) == 0 && memcmp(x + to_of(rank) + 1, y + to_of(rank) + 1, bytes) == 0 &&
           memcmp(x + from_of(rank) + 1, y + from_of(rank) + 1, bytes) == 0;
}

/* Whether at least half of the transfers have the shape of the first. */
static bool are_regular(int rank, const int64_t record[], int64_t count)
{
    int64_t alike = 0;
    for (int64_t n = 0; n < count; n++)
        alike += have_one_shape(rank, record, record + n * length_of(rank));
    return 2 * alike >= count;
}

/* Join pairs of transfers in a copy of the list, and use the copy only if it is regular or much shorter. A long list of
 * which joining by three and more has removed less than half is not tried: its pairs are probably accidental.
 * @param before  number of transfers before any were joined. */
static dcl_status join_regular_pairs(dcli_transfers *list, int flags, int64_t before)
{
    enum { WORTH = 4, FEW = 64 };
    int64_t count = list->count;
    if (count < 2 || (count > FEW && count > before / 2))
        return DCL_OK;
    size_t bytes = (size_t)(count * length_of(list->rank)) * sizeof(int64_t);
    int64_t *paired = dcli_malloc(bytes);
    if (paired == NULL)
        return DCL_ERR_NOMEM;
    memcpy(paired, list->record, bytes);
    dcl_status status = join(list->rank, flags | DCLI_JOIN_PAIRS, paired, &count);
    if (status == DCL_OK && (count * WORTH <= list->count || are_regular(list->rank, paired, count))) {
        memcpy(list->record, paired, (size_t)(count * length_of(list->rank)) * sizeof(int64_t));
        list->count = count;
    }
    dcli_free(paired);
    return status;
}

dcl_status dcli_transfers_join(dcli_transfers *list, int flags)
{
    int64_t before = list->count;
    dcl_status status = join(list->rank, flags, list->record, &list->count);
    if (status == DCL_OK && (flags & DCLI_JOIN_REGULAR_PAIRS) != 0)
        status = join_regular_pairs(list, flags, before);
    return status;
}

/* ---- loops -------------------------------------------------------------------------------------------------------- */

int dcli_transfer_loops(int rank, const int64_t count[], const int64_t to_step[], const int64_t from_step[],
                        int64_t *to_in_out, int64_t *from_in_out, dcli_loop loops_out[DCL_MAX_RANK])
{
    int depth = 0, last = 0;
    for (int d = 0; d < rank; d++) {
        dcli_loop loop = {count[d], to_step[d], from_step != NULL ? from_step[d] : 0};
        assert(loop.count >= 1);
        if (loop.count == 1)
            continue;
        if (loop.to < 0 || (loop.to == 0 && loop.from < 0)) { /* walk upwards, from the other end */
            *to_in_out += (loop.count - 1) * loop.to;
            *from_in_out += (loop.count - 1) * loop.from;
            loop.to = -loop.to;
            loop.from = -loop.from;
        }
        int at = depth++;
        for (; at > 0 && loops_out[at - 1].to < loop.to; at--)
            loops_out[at] = loops_out[at - 1];
        loops_out[at] = loop;
    }
    for (int k = 1; k < depth; k++) {
        dcli_loop *outer = &loops_out[last], inner = loops_out[k];
        if (outer->to == inner.count * inner.to && outer->from == inner.count * inner.from)
            *outer = (dcli_loop){outer->count * inner.count, inner.to, inner.from};
        else
            loops_out[++last] = inner;
    }
    return depth > 0 ? last + 1 : 0;
}

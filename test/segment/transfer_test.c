/* test/segment/transfer_test.c - transfers have the same pairs of elements however they are joined or looped over, and regular
 * ones become few. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "segment/random.h"
#include "segment/transfer.h"

enum { RANK = 4, MOST_PAIRS = 4096 };

/* Which element goes where. */
struct pairs {
    int64_t count, pair[MOST_PAIRS][2];
};

static void add_pairs(struct pairs *pairs, const dcli_transfer *transfer)
{
    int64_t t[DCL_MAX_RANK] = {0};
    for (int d = 0; d >= 0;) {
        int64_t to = transfer->to.offset, from = transfer->from.offset;
        for (int m = 0; m < transfer->rank; m++) {
            to += t[m] * transfer->to.step[m];
            from += t[m] * transfer->from.step[m];
        }
        cr_assert_lt(pairs->count, MOST_PAIRS);
        memcpy(pairs->pair[pairs->count++], (int64_t[]){to, from}, sizeof pairs->pair[0]);
        for (d = transfer->rank - 1; d >= 0 && ++t[d] == transfer->count[d]; d--)
            t[d] = 0;
    }
}

static int by_pair(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

static void find_pairs(struct pairs *pairs, const dcli_transfers *list)
{
    pairs->count = 0;
    for (int64_t n = 0; n < list->count; n++) {
        dcli_transfer transfer = dcli_transfers_get(list, n);
        add_pairs(pairs, &transfer);
    }
    qsort(pairs->pair, (size_t)pairs->count, sizeof pairs->pair[0], by_pair);
}

static void expect_same(const struct pairs *a, const struct pairs *b, int round)
{
    cr_assert_eq(a->count, b->count, "round %d", round);
    cr_assert_eq(memcmp(a->pair, b->pair, (size_t)a->count * sizeof a->pair[0]), 0, "round %d", round);
}

/* ---- lists -------------------------------------------------------------------------------------------------------- */

/* What is packed of the pieces of a grid of 12 x 12 that are dealt in turn; `most` transfers are to be left. */
struct deal {
    char what[40];
    int64_t rows, columns, every;
    int flags;
    int64_t most;
};

ParameterizedTestParameters(transfers, regular)
{
    /* clang-format off */
    static struct deal deals[] = {
        /* what                     rows columns every flags             most */
        {"all rows",                   1,     12,    1, 0,                  1},
        {"every other row",            1,     12,    2, 0,                  1},
        {"all columns",               12,      1,    1, 0,                  1},
        {"single elements",            1,      1,    1, 0,                  1},
        {"every third element",        1,      1,    3, 0,                  1},
        {"a chessboard",               3,      2,    2, DCLI_JOIN_PAIRS,    1},
        {"a chessboard, if regular",   3,      2,    2, DCLI_JOIN_REGULAR_PAIRS, 1},
        {"a chessboard by from",       3,      2,    2, DCLI_JOIN_PAIRS | DCLI_JOIN_BY_FROM, 4},
    };
    /* clang-format on */
    return cr_make_param_array(struct deal, deals, sizeof deals / sizeof deals[0]);
}

ParameterizedTest(struct deal *c, transfers, regular)
{
    static struct pairs before, after;
    dcli_transfers list = {.rank = RANK};
    int64_t packed = 0, number = 0;
    for (int64_t x = 0; x < 12; x += c->rows)
        for (int64_t y = 0; y < 12; y += c->columns)
            if (number++ % c->every == 0) {
                dcl_box box = {.rank = 2, .start = {x, y}, .count = {c->rows, c->columns}, .stride = {1, 1}};
                dcli_region from = {.box = box, .offset = 12 * x + y, .step = {12, 1}};
                dcli_region to = dcli_region_packed(&box, packed);
                dcli_transfer transfer = dcli_transfer_between(&to, &from);
                cr_assert_eq(dcli_transfers_add(&list, &transfer), DCL_OK);
                packed += c->rows * c->columns;
            }
    find_pairs(&before, &list);
    cr_expect_eq(dcli_transfers_elements(&list), packed, "%s", c->what);
    cr_assert_eq(dcli_transfers_join(&list, c->flags), DCL_OK);
    find_pairs(&after, &list);
    expect_same(&before, &after, 0);
    cr_expect_eq(dcli_transfers_elements(&list), packed, "%s", c->what);
    cr_expect_leq(list.count, c->most, "%s: %lld transfers", c->what, (long long)list.count);
    dcli_transfers_free(&list);
}

/* Some transfers of disjoint elements on both sides. */
static void fill(dcli_transfers *list, test_random *random)
{
    int64_t to = 0, from = 0;
    for (int n = (int)test_between(random, 1, 40); n > 0; n--) {
        dcli_transfer transfer = {.rank = (int)test_between(random, 1, RANK)};
        int64_t width = test_between(random, 1, 2), elements = width;
        for (int d = transfer.rank - 1; d >= 0; d--) {
            transfer.count[d] = test_between(random, 0, 2) > 0 ? 1 : test_between(random, 1, 3);
            transfer.to.step[d] = elements / width;
            transfer.from.step[d] = elements;
            elements *= transfer.count[d];
        }
        transfer.to.offset = to;
        transfer.from.offset = from;
        to += elements / width + test_between(random, 0, 1);
        from += elements + test_between(random, 0, 1) * 5;
        cr_assert_eq(dcli_transfers_add(list, &transfer), DCL_OK);
    }
}

Test(transfers, join_keeps_the_pairs)
{
    static struct pairs before, after;
    test_random random = 5;
    for (int round = 0; round < 2000; round++) {
        dcli_transfers list = {.rank = RANK};
        fill(&list, &random);
        find_pairs(&before, &list);
        int64_t count = list.count;
        cr_assert_eq(dcli_transfers_join(&list, round % 16), DCL_OK);
        find_pairs(&after, &list);
        expect_same(&before, &after, round);
        cr_assert_leq(list.count, count, "round %d", round);
        dcli_transfers_free(&list);
    }
}

/* Neighbouring elements of this list make pairs, each with steps of its own. */
Test(transfers, pairs_of_many_shapes_stay_apart)
{
    static const int64_t from[] = {0, 1, 40, 52, 99, 140, 143};
    static const int64_t to[] = {0, 1, 10, 13, 27, 40, 45};
    for (int flags = 0; flags <= DCLI_JOIN_REGULAR_PAIRS; flags += DCLI_JOIN_PAIRS) {
        dcli_transfers list = {.rank = 2};
        for (int n = 0; n < 7; n++) {
            dcli_transfer one = {.rank = 2, .count = {1, 1}, .to = {.offset = to[n]}, .from = {.offset = from[n]}};
            cr_assert_eq(dcli_transfers_add(&list, &one), DCL_OK);
        }
        cr_assert_eq(dcli_transfers_join(&list, flags), DCL_OK);
        if (flags == DCLI_JOIN_PAIRS)
            cr_expect_lt(list.count, 7);
        else
            cr_expect_eq(list.count, 7, "flags %d: %lld transfers", flags, (long long)list.count);
        dcli_transfers_free(&list);
    }
}

Test(transfers, records_keep_what_was_put)
{
    dcli_transfers list = {.rank = 3};
    dcli_transfer transfer = {
        .rank = 2, .count = {2, 3}, .to = {.offset = 7, .step = {-3, 1}}, .from = {.offset = 9, .step = {0, 5}}};
    cr_assert_eq(dcli_transfers_add(&list, &transfer), DCL_OK);
    transfer.to.offset = 70;
    dcli_transfer kept = dcli_transfers_get(&list, 0);
    cr_expect_eq(kept.rank, 3);
    cr_expect_eq(kept.count[1], 3);
    cr_expect_eq(kept.count[2], 1);
    cr_expect_eq(kept.to.offset, 7);
    cr_expect_eq(kept.to.step[0], -3);
    cr_expect_eq(kept.to.step[2], 0);
    cr_expect_eq(kept.from.step[1], 5);
    dcli_transfers_set(&list, 0, &transfer);
    cr_expect_eq(dcli_transfers_get(&list, 0).to.offset, 70);
    cr_expect_geq(dcli_transfers_bytes(&list), 11 * (int64_t)sizeof(int64_t));
    int64_t low, end;
    dcli_side_reach(2, transfer.count, &transfer.to, &low, &end);
    cr_expect_eq(low, 67);
    cr_expect_eq(end, 73);
    dcli_transfers_free(&list);
}

/* ---- loops -------------------------------------------------------------------------------------------------------- */

static int loops_of(dcli_transfer *transfer, dcli_loop loops[])
{
    return dcli_transfer_loops(transfer->rank, transfer->count, transfer->to.step, transfer->from.step,
                               &transfer->to.offset, &transfer->from.offset, loops);
}

struct loops_case {
    char what[40];
    dcli_transfer transfer;
    int depth;
    dcli_loop loop[3];
};

ParameterizedTestParameters(transfers, loops)
{
    /* clang-format off */
    static struct loops_case cases[] = {
        {"one element", {2, {1, 1}, {5, {9, 9}}, {6, {9, 9}}}, 0, {{0}}},
        {"packed on both sides", {2, {4, 6}, {0, {6, 1}}, {0, {6, 1}}}, 1, {{24, 1, 1}}},
        {"rows of a larger grid", {2, {4, 6}, {0, {6, 1}}, {0, {10, 1}}}, 2, {{4, 6, 10}, {6, 1, 1}}},
        {"transposed", {2, {4, 6}, {0, {1, 4}}, {0, {6, 1}}}, 2, {{6, 4, 1}, {4, 1, 6}}},
        {"downwards on both sides", {1, {4}, {3, {-1}}, {3, {-1}}}, 1, {{4, 1, 1}}},
        {"turned over", {1, {4}, {3, {-1}}, {0, {1}}}, 1, {{4, 1, -1}}},
        {"one element repeated", {2, {2, 3}, {0, {3, 1}}, {0, {0, 0}}}, 1, {{6, 1, 0}}},
    };
    /* clang-format on */
    return cr_make_param_array(struct loops_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct loops_case *c, transfers, loops)
{
    dcli_loop loops[DCL_MAX_RANK];
    int depth = loops_of(&c->transfer, loops);
    cr_assert_eq(depth, c->depth, "%s: %d loops", c->what, depth);
    for (int k = 0; k < depth; k++)
        cr_expect(loops[k].count == c->loop[k].count && loops[k].to == c->loop[k].to &&
                      loops[k].from == c->loop[k].from,
                  "%s: loop %d", c->what, k);
}

Test(transfers, loops_have_the_same_pairs)
{
    static struct pairs before, after;
    test_random random = 7;
    for (int round = 0; round < 2000; round++) {
        dcli_transfer transfer = {.rank = (int)test_between(&random, 1, RANK)}, looped = {.rank = RANK};
        dcli_loop loops[DCL_MAX_RANK];
        int64_t step = 1;
        for (int d = 0; d < transfer.rank; d++) { /* the first axis is the fastest */
            transfer.count[d] = test_between(&random, 1, 4);
            transfer.to.step[d] = test_between(&random, 0, 1) ? step : -step;
            transfer.from.step[d] =
                test_between(&random, 0, 2) > 0 ? transfer.to.step[d] : test_between(&random, -20, 20);
            step *= transfer.count[d] + test_between(&random, 0, 3) / 3;
        }
        before.count = after.count = 0;
        add_pairs(&before, &transfer);
        looped.rank = loops_of(&transfer, loops);
        looped.to.offset = transfer.to.offset;
        looped.from.offset = transfer.from.offset;
        for (int k = 0; k < looped.rank; k++) {
            looped.count[k] = loops[k].count;
            looped.to.step[k] = loops[k].to;
            looped.from.step[k] = loops[k].from;
            cr_assert(k == 0 || loops[k - 1].to >= loops[k].to, "round %d: loops are not in order", round);
        }
        add_pairs(&after, &looped);
        qsort(before.pair, (size_t)before.count, sizeof before.pair[0], by_pair);
        qsort(after.pair, (size_t)after.count, sizeof after.pair[0], by_pair);
        expect_same(&before, &after, round);
    }
}

/* test/segment/footprint_test.c - footprints against evaluating every subscript at every index. */
#include "segment/footprint.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "random.h"

#define SEED UINT64_C(5551)
#define SIDE 7 /* grids and targets lie in [-SIDE, SIDE) */

/* ---- rows ---- */

struct footprint_case {
    char what[48];
    int64_t constant, coef;
    int64_t space[3];   /* start, count, stride */
    int64_t extent;     /* of the grid, from 0 */
    char footprint[32]; /* "" for none */
    bool cut;
};

ParameterizedTestParameters(footprint, of_one_axis)
{
    static struct footprint_case cases[] = {
        {"A(i)", 0, 1, {2, 4, 1}, 10, "[2:6]", false},
        {"A(i-1) at the lower edge", -1, 1, {0, 4, 1}, 10, "[0:3]", true},
        {"A(i+1) at the upper edge", 1, 1, {6, 4, 1}, 10, "[7:10]", true},
        {"A(2*i)", 0, 2, {1, 3, 1}, 10, "[2:8:2]", false},
        {"A(2*i) of every third i", 0, 2, {0, 4, 3}, 14, "[0:18:6]", true},
        {"A(9-i)", 9, -1, {1, 3, 1}, 10, "[6:9]", false},
        {"A(9-3*i) cut below", 9, -3, {0, 5, 1}, 10, "[0:12:3]", true},
        {"A(5) whatever i", 5, 0, {0, 100, 1}, 10, "[5:6]", false},
        {"A(50) is outside", 50, 0, {0, 100, 1}, 10, "", true},
        {"no indices", 0, 1, {0, 0, 1}, 10, "", false},
        {"grid without elements", 0, 1, {0, 4, 1}, 0, "", true},
        {"steps over the grid", -5, 100, {0, 3, 1}, 10, "", true},
        {"products beyond int64_t", 0, INT64_MAX, {0, 3, 1}, 10, "[0:1]", true},
        {"the same downwards", 4, INT64_MIN, {-1, 3, INT64_C(1) << 61}, 10, "", true},
    };
    return cr_make_param_array(struct footprint_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct footprint_case *c, footprint, of_one_axis)
{
    dcl_box space = {.rank = 1, .start = {c->space[0]}, .count = {c->space[1]}, .stride = {c->space[2]}}, footprint;
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, c->extent);
    dcli_subscripts subscripts = {.space_rank = 1, .rank = 1, .axis = {{.constant = c->constant, .coef = {c->coef}}}};
    bool cut = !c->cut;
    bool some = dcli_footprint(&subscripts, &space, &grid, &footprint, &cut);
    char text[64] = "";
    if (some)
        dcli_box_print(&footprint, text, sizeof text);
    cr_expect_str_eq(text, c->footprint, "%s: %s, expected %s", c->what, text, c->footprint);
    cr_expect_eq(cut, c->cut, "%s", c->what);
    cr_expect_eq(some, !dcli_box_is_empty(&footprint), "%s", c->what);
}

/* The distance between what is read and the grid needs more than 64 bits. */
Test(footprint, far_outside)
{
    dcl_box space = {.rank = 1, .start = {0}, .count = {4}, .stride = {1}}, footprint;
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 10);
    grid.origin[0] = 100;
    dcli_subscripts subscripts = {.space_rank = 1, .rank = 1, .axis = {{.constant = INT64_MIN, .coef = {1}}}};
    bool cut = false;
    cr_expect_not(dcli_footprint(&subscripts, &space, &grid, &footprint, &cut));
    cr_expect(cut && dcli_box_is_empty(&footprint));
}

Test(footprint, sums_that_exceed_128_bits_are_taken_for_everything)
{
    dcl_box space = dcl_box_nd(4, (int64_t[]){0, 0, 0, 0}, (int64_t[]){1, 1, 1, 1}), footprint;
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 10);
    dcli_subscripts subscripts = {.space_rank = 4, .rank = 1};
    int64_t lo[4], count[4];
    bool cut = false;
    for (int m = 0; m < 4; m++) {
        space.start[m] = INT64_MAX;
        subscripts.axis[0].coef[m] = INT64_MAX;
    }
    cr_expect(dcli_footprint(&subscripts, &space, &grid, &footprint, &cut));
    cr_expect(cut);
    cr_expect_eq(dcli_box_elements(&footprint), 10);
    cr_expect(!dcli_footprint_inside(&subscripts, &space, &footprint, lo, count));
}

/* ---- declared reaches ---- */

Test(footprint, declared_reaches)
{
    dcl_box space = {.rank = 2, .start = {3, 5}, .count = {2, 3}, .stride = {2, 1}}, footprint;
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 4, 6);
    dcli_subscripts subscripts = {.reach = DCLI_REACH_ALL, .space_rank = 2, .rank = 2};
    char text[64];
    bool cut;

    cr_expect(dcli_footprint(&subscripts, &space, &grid, &footprint, &cut));
    dcli_box_print(&footprint, text, sizeof text);
    cr_expect_str_eq(text, "[0:4, 0:6]");
    cr_expect(!cut);
    subscripts.reach = DCLI_REACH_ROWS; /* rows 3 and 5 of 4 rows */
    cr_expect(dcli_footprint(&subscripts, &space, &grid, &footprint, &cut));
    dcli_box_print(&footprint, text, sizeof text);
    cr_expect_str_eq(text, "[3:4, 0:6]");
    cr_expect(cut);
    subscripts.reach = DCLI_REACH_COLUMNS; /* columns 5, 6, 7 of 6 columns */
    cr_expect(dcli_footprint(&subscripts, &space, &grid, &footprint, &cut));
    dcli_box_print(&footprint, text, sizeof text);
    cr_expect_str_eq(text, "[0:4, 5:6]");
    cr_expect(cut);

    int64_t lo[2], count[2];
    dcl_box whole = dcl_box_of(&grid);
    cr_expect(!dcli_footprint_inside(&subscripts, &space, &whole, lo, count));
    cr_expect(!dcli_subscripts_exact(&subscripts));
    cr_expect(!dcli_subscripts_injective(&subscripts));
}

Test(footprint, exact_and_injective)
{
    /* B(j, 2*i+1), B(j, 5), B(i, i), B(i+j, 0) */
    dcli_subscripts permuted = {.space_rank = 2, .rank = 2, .axis = {{0, {0, 1}}, {1, {2, 0}}}};
    dcli_subscripts column = {.space_rank = 2, .rank = 2, .axis = {{0, {0, 1}}, {5, {0, 0}}}};
    dcli_subscripts diagonal = {.space_rank = 1, .rank = 2, .axis = {{0, {1}}, {0, {1}}}};
    dcli_subscripts sum = {.space_rank = 2, .rank = 2, .axis = {{0, {1, 1}}, {0, {0, 0}}}};
    cr_expect(dcli_subscripts_exact(&permuted) && dcli_subscripts_injective(&permuted));
    cr_expect(dcli_subscripts_exact(&column) && !dcli_subscripts_injective(&column));
    cr_expect(!dcli_subscripts_exact(&diagonal) && !dcli_subscripts_injective(&diagonal));
    cr_expect(!dcli_subscripts_exact(&sum) && !dcli_subscripts_injective(&sum));
}

/* ---- inner axes ---- */

struct inner_case {
    char what[48];
    int64_t constant, coef;
    int64_t inner[2][2]; /* coefficient and length */
    int64_t space[3];    /* start, count, stride */
    char footprint[32];  /* of a grid 0 .. 19 */
    bool cut, exact;
    char inside[32]; /* the indices that read elements 4 .. 15 only */
};

ParameterizedTestParameters(footprint, of_inner_axes)
{
    static struct inner_case cases[] = {
        /* what                          constant coef inner               space        footprint  cut    exact inside */
        {"A(i+d), d = -2 .. 2", -2, 1, {{1, 5}, {0, 1}}, {0, 20, 1}, "[0:20]", true, true, "[6:14]"},
        {"the same inside", -2, 1, {{1, 5}, {0, 1}}, {7, 3, 1}, "[5:12]", false, true, "[7:10]"},
        {"A(i-d), d = 0 .. 3", 0, 1, {{-1, 4}, {0, 1}}, {3, 10, 1}, "[0:13]", false, true, "[7:13]"},
        {"A(10-i+d), d = 0 .. 1", 10, -1, {{1, 2}, {0, 1}}, {0, 5, 1}, "[6:12]", false, true, "[0:5]"},
        {"A(i+2*d): with gaps at the ends", 0, 1, {{2, 3}, {0, 1}}, {2, 3, 1}, "[2:9]", false, false, "[4:5]"},
        {"A(2*i+2*d): even elements", 0, 2, {{2, 3}, {0, 1}}, {1, 3, 1}, "[2:12:2]", false, true, "[2:4]"},
        {"A(3*i+d): blocks of three", 0, 3, {{1, 3}, {0, 1}}, {1, 4, 1}, "[3:15]", false, true, "[2:5]"},
        {"A(4*i+d): blocks with gaps", 0, 4, {{1, 3}, {0, 1}}, {1, 4, 1}, "[4:19]", false, false, "[1:4]"},
        {"A(i+4*d+e): two loops", 0, 1, {{4, 2}, {1, 4}}, {1, 3, 1}, "[1:11]", false, true, ""},
        {"A(3+d): the same for all", 3, 0, {{1, 4}, {0, 1}}, {0, 9, 1}, "[3:7]", false, true, ""},
        {"a loop without iterations", 0, 1, {{1, 0}, {0, 1}}, {0, 9, 1}, "", false, true, "[0:9]"},
        {"far beyond 64 bits",
         INT64_MAX,
         INT64_MAX,
         {{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}},
         {0, 2, 1},
         "[0:20]",
         true,
         false,
         ""},
    };
    return cr_make_param_array(struct inner_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct inner_case *c, footprint, of_inner_axes)
{
    dcl_box space = {.rank = 1, .start = {c->space[0]}, .count = {c->space[1]}, .stride = {c->space[2]}}, footprint;
    dcl_box target = dcl_box_nd(1, (int64_t[]){4}, (int64_t[]){12});
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 20);
    dcli_subscripts subscripts = {.space_rank = 1,
                                  .rank = 1,
                                  .inner_rank = 2,
                                  .inner_count = {c->inner[0][1], c->inner[1][1]},
                                  .axis = {{c->constant, {c->coef, c->inner[0][0], c->inner[1][0]}}}};
    bool cut = !c->cut;
    int64_t lo[1], count[1];
    char text[64] = "", inside[64] = "";
    if (dcli_footprint(&subscripts, &space, &grid, &footprint, &cut))
        dcli_box_print(&footprint, text, sizeof text);
    cr_expect_str_eq(text, c->footprint, "%s: %s, expected %s", c->what, text, c->footprint);
    cr_expect_eq(cut, c->cut, "%s", c->what);
    cr_expect_eq(dcli_subscripts_exact(&subscripts), c->exact, "%s", c->what);
    cr_expect_not(dcli_subscripts_injective(&subscripts), "%s", c->what);
    if (dcli_footprint_inside(&subscripts, &space, &target, lo, count)) {
        space.start[0] += lo[0];
        space.count[0] = count[0];
        dcli_box_print(&space, inside, sizeof inside);
    }
    cr_expect_str_eq(inside, c->inside, "%s: %s, expected %s", c->what, inside, c->inside);
}

Test(footprint, inner_axes_on_several_axes_of_the_array)
{
    /* A(i+d,j+e) and A(i+d,j+d): the second reads a diagonal of each box. */
    dcli_subscripts box = {.space_rank = 2,
                           .rank = 2,
                           .inner_rank = 2,
                           .inner_count = {3, 3},
                           .axis = {{-1, {1, 0, 1, 0}}, {-1, {0, 1, 0, 1}}}};
    dcli_subscripts diagonal = {
        .space_rank = 2, .rank = 2, .inner_rank = 1, .inner_count = {3}, .axis = {{-1, {1, 0, 1}}, {-1, {0, 1, 1}}}};
    dcli_subscripts longer = box;
    longer.inner_count[1] = 4;
    cr_expect(dcli_subscripts_exact(&box) && !dcli_subscripts_exact(&diagonal));
    cr_expect(dcli_subscripts_same(&box, &box) && !dcli_subscripts_same(&box, &longer));
    cr_expect_not(dcli_subscripts_same(&box, &diagonal));
}

/* ---- properties ---- */

enum { TURNS = 5 }; /* most axes of a random case's space and inner axes */

typedef struct random_case {
    dcli_subscripts subscripts;
    dcl_box space, target;
    dcl_box turns; /* .count: lengths of the axes of the space, then of the inner axes */
    dcl_grid grid;
} random_case;

static void add_inner(random_case *c, test_random *random)
{
    c->subscripts.inner_rank = (int)test_between(random, 1, TURNS - 3);
    for (int q = 0; q < c->subscripts.inner_rank; q++) {
        int m = c->subscripts.space_rank + q;
        c->turns.count[m] = c->subscripts.inner_count[q] = test_between(random, test_between(random, 0, 9) > 0, 3);
        c->subscripts.axis[test_between(random, 0, c->subscripts.rank - 1)].coef[m] = test_between(random, -2, 2);
        if (test_between(random, 0, 3) == 0)
            c->subscripts.axis[test_between(random, 0, c->subscripts.rank - 1)].coef[m] = test_between(random, -2, 2);
    }
    c->turns.rank += c->subscripts.inner_rank;
}

static random_case make_case(uint64_t seed)
{
    test_random random = seed;
    random_case c = {
        .subscripts = {.space_rank = (int)test_between(&random, 1, 3), .rank = (int)test_between(&random, 1, 3)}};
    int loops = c.subscripts.space_rank, rank = c.subscripts.rank, order[3] = {0, 1, 2};
    int64_t origin[3], extent[3];
    for (int m = 2; m > 0; m--) {
        int other = (int)test_between(&random, 0, m), kept = order[m];
        order[m] = order[other];
        order[other] = kept;
    }
    bool several = test_between(&random, 0, 4) == 0;
    for (int d = 0; d < rank; d++) {
        c.subscripts.axis[d].constant = test_between(&random, -4, 4);
        for (int m = 0; m < loops; m++)
            if (several ? test_between(&random, 0, 1) == 0 : order[m] == d)
                c.subscripts.axis[d].coef[m] = test_between(&random, -3, 3);
        origin[d] = test_between(&random, -SIDE, SIDE - 1);
        extent[d] = test_between(&random, test_between(&random, 0, 9) > 0, SIDE - origin[d]);
    }
    c.grid = dcl_grid_nd(DCL_INT8, rank, extent, origin);
    c.space = test_box(&random, loops, loops == 3 ? 3 : 5);
    c.target = test_box(&random, rank, SIDE);
    c.turns = c.space;
    if (test_between(&random, 0, 1) == 0)
        add_inner(&c, &random);
    return c;
}

static void subscripts_at(const random_case *c, const int64_t t[], int64_t index_out[])
{
    for (int d = 0; d < c->subscripts.rank; d++) {
        index_out[d] = c->subscripts.axis[d].constant;
        for (int m = 0; m < c->subscripts.space_rank; m++)
            index_out[d] += c->subscripts.axis[d].coef[m] * (c->space.start[m] + t[m] * c->space.stride[m]);
        for (int m = c->subscripts.space_rank; m < c->turns.rank; m++)
            index_out[d] += c->subscripts.axis[d].coef[m] * t[m];
    }
}

/* The next counters of the inner axes. */
static bool next_inner(const random_case *c, int64_t t[])
{
    for (int m = c->turns.rank - 1; m >= c->subscripts.space_rank; m--) {
        if (++t[m] < c->turns.count[m])
            return true;
        t[m] = 0;
    }
    return false;
}

/* Whether something is read at each index of the space. */
static bool reads_any(const random_case *c)
{
    for (int q = 0; q < c->subscripts.inner_rank; q++)
        if (c->subscripts.inner_count[q] == 0)
            return false;
    return true;
}

/* Whether a box has an axis with a stride. */
static bool has_stride(const dcl_box *box)
{
    for (int m = 0; m < box->rank; m++)
        if (box->count[m] > 1 && box->stride[m] > 1)
            return true;
    return false;
}

/* Whether subscripts are exact apart from their inner axes. */
static bool are_apart(const dcli_subscripts *subscripts)
{
    dcli_subscripts outer = *subscripts;
    outer.inner_rank = 0;
    for (int d = 0; d < outer.rank; d++)
        outer.axis[d].clamped = false;
    return dcli_subscripts_exact(&outer);
}

/* The next number of an index of the space. */
static bool next_number(const dcl_box *space, int64_t t[])
{
    for (int m = space->rank - 1; m >= 0; m--) {
        if (++t[m] < space->count[m])
            return true;
        t[m] = 0;
    }
    return false;
}

static int64_t bit_of(const int64_t index[], int rank)
{
    int64_t bit = 0;
    for (int d = 0; d < rank; d++)
        bit = bit * 2 * SIDE + index[d] + SIDE;
    return bit;
}

Test(footprint, matches_every_read)
{
    static bool read[8 * SIDE * SIDE * SIDE];
    int exact_cases = 0;
    for (uint64_t seed = SEED; seed < SEED + 6000; seed++) {
        random_case c = make_case(seed);
        int rank = c.subscripts.rank;
        bool cut, outside = false, right = true;
        bool exact =
            dcli_subscripts_exact(&c.subscripts) && (dcli_subscripts_single(&c.subscripts) || !has_stride(&c.space));
        dcl_box footprint, whole = dcl_box_of(&c.grid), around = {.rank = rank, .count = {0}};
        bool some = dcli_footprint(&c.subscripts, &c.space, &c.grid, &footprint, &cut);
        exact_cases += exact;

        memset(read, 0, sizeof read);
        int64_t t[TURNS] = {0}, index[3], elements = 0;
        if (!dcli_box_is_empty(&c.space) && reads_any(&c))
            do {
                subscripts_at(&c, t, index);
                dcl_box one = dcl_box_nd(rank, index, (int64_t[]){1, 1, 1});
                dcli_box_bound(&around, &one, &around);
                if (!dcli_box_contains(&whole, index)) {
                    outside = true;
                    continue;
                }
                elements += !read[bit_of(index, rank)];
                read[bit_of(index, rank)] = true;
                right &= dcli_box_contains(&footprint, index);
            } while (next_number(&c.turns, t));
        right &= cut == outside && some == !dcli_box_is_empty(&footprint);
        if (exact)
            right &= dcli_box_elements(&footprint) == elements;
        else { /* the bounding box of all reads, then cut */
            dcl_box expected;
            dcli_box_intersect(&around, &whole, &expected);
            right &= dcli_box_equal(&expected, &footprint);
        }
        cr_assert(right, "seed %" PRIu64 " (%s)", seed, exact ? "exact" : "bounding box");
    }
    cr_expect(exact_cases > 3000 && exact_cases < 5900, "%d exact cases", exact_cases);
}

/* Whether an index of one axis is one of the target's. */
static bool axis_has(const dcl_box *target, int d, int64_t index)
{
    int64_t distance = index - target->start[d];
    return distance >= 0 && distance % target->stride[d] == 0 && distance / target->stride[d] < target->count[d];
}

/* The longest run of numbers of loop axis m (0: it occurs on no axis) whose reads lie in the target. */
static int64_t longest_run(const random_case *c, int m)
{
    int64_t longest = 0, length = 0;
    for (int64_t number = 0; number < c->space.count[m]; number++) {
        int64_t t[TURNS] = {0}, index[3];
        bool in = true;
        t[m] = number;
        do {
            subscripts_at(c, t, index);
            for (int d = 0; d < c->subscripts.rank; d++)
                if (c->subscripts.axis[d].coef[m] != 0)
                    in &= axis_has(&c->target, d, index[d]);
        } while (next_inner(c, t));
        length = in ? length + 1 : 0;
        longest = dcli_max(longest, length);
    }
    return longest;
}

/* Whether all reads of the numbers lo .. lo + count - 1 lie in the target. */
static bool all_inside(const random_case *c, const int64_t lo[], const int64_t count[])
{
    dcl_box range = c->turns;
    int64_t t[TURNS] = {0}, at[TURNS], index[3];
    for (int m = 0; m < c->subscripts.space_rank; m++)
        range.count[m] = count[m];
    do {
        for (int m = 0; m < range.rank; m++)
            at[m] = t[m] + (m < c->subscripts.space_rank ? lo[m] : 0);
        subscripts_at(c, at, index);
        if (!dcli_box_contains(&c->target, index))
            return false;
    } while (next_number(&range, t));
    return true;
}

/* Whether axes of the array that use no index of the space lie in the target. */
static bool constants_inside(const random_case *c)
{
    int64_t t[TURNS] = {0}, index[3];
    do {
        subscripts_at(c, t, index);
        for (int d = 0; d < c->subscripts.rank; d++) {
            bool constant = true;
            for (int m = 0; m < c->subscripts.space_rank; m++)
                constant &= c->subscripts.axis[d].coef[m] == 0;
            if (constant && !axis_has(&c->target, d, index[d]))
                return false;
        }
    } while (next_inner(c, t));
    return true;
}

Test(footprint, inside_is_the_largest_range)
{
    int found = 0;
    for (uint64_t seed = SEED; seed < SEED + 12000; seed++) {
        random_case c = make_case(seed);
        int loops = c.subscripts.space_rank;
        int64_t lo[3], count[3], zero[3] = {0};
        bool some = dcli_footprint_inside(&c.subscripts, &c.space, &c.target, lo, count);
        bool expected = !dcli_box_is_empty(&c.space), right = true;
        if (!reads_any(&c)) { /* whatever the target */
            for (int m = 0; m < loops; m++)
                right &= lo[m] == 0 && count[m] == (expected ? c.space.count[m] : 0);
            cr_assert(right && some == expected, "seed %" PRIu64, seed);
            continue;
        }
        if (are_apart(&c.subscripts) && !dcli_subscripts_single(&c.subscripts) && has_stride(&c.target)) {
            expected = some; /* may be too small */
        } else if (are_apart(&c.subscripts)) {
            expected = expected && constants_inside(&c);
            for (int m = 0; m < loops; m++)
                expected = expected && longest_run(&c, m) > 0;
            for (int m = 0; m < loops; m++)
                right &= count[m] == (expected ? longest_run(&c, m) : 0);
        } else { /* inside when the bounding box is; a finer answer is allowed to be no */
            expected = expected && all_inside(&c, zero, c.space.count) && some;
            for (int m = 0; m < loops; m++)
                right &= lo[m] == 0 && count[m] == (some ? c.space.count[m] : 0);
        }
        right &= some == expected && (!some || all_inside(&c, lo, count));
        cr_assert(right, "seed %" PRIu64, seed);
        found += some;
    }
    cr_expect_gt(found, 500, "only %d cases had something inside", found);
}

/* For subscripts that are not exact: inside exactly when the bounding box is. */
Test(footprint, inside_of_sums_follows_the_bounding_box)
{
    int found = 0;
    for (uint64_t seed = SEED; seed < SEED + 12000; seed++) {
        random_case c = make_case(seed);
        int64_t lo[3], count[3], origin[3] = {-100, -100, -100}, extent[3] = {200, 200, 200};
        dcl_grid wide = dcl_grid_nd(DCL_INT8, c.subscripts.rank, extent, origin);
        dcl_box around, common;
        bool cut;
        if (are_apart(&c.subscripts) || !dcli_footprint(&c.subscripts, &c.space, &wide, &around, &cut))
            continue;
        if (seed % 4 == 0) /* few random targets are large enough */
            dcli_box_bound(&around, &c.target, &c.target);
        bool some = dcli_footprint_inside(&c.subscripts, &c.space, &c.target, lo, count);
        bool expected = dcli_box_intersect(&around, &c.target, &common) && dcli_box_equal(&around, &common);
        cr_assert_eq(some, expected, "seed %" PRIu64, seed);
        found += some;
    }
    cr_expect_gt(found, 200, "only %d cases lie inside", found);
}

/* ---- clamped subscripts ------------------------------------------------------------------------------------------- */

struct clamp_case {
    char what[40];
    int64_t constant, coef, low, high; /* clamp(constant + coef * x, low, high) */
    int64_t start, count, stride;      /* of the indices */
    char footprint[16];
    bool cut, exact;
    dcli_beyond beyond;
    int64_t repeat;
};

ParameterizedTestParameters(footprint, of_clamped_subscripts)
{
    static struct clamp_case cases[] = {
        /* what                       constant coef low high  indices   footprint     cut    exact */
        {"none moves", -2, 1, 0, 19, 2, 5, 1, "[0:5]", false, true, DCLI_BEYOND_EDGE, 0},
        {"one moves up", -2, 1, 0, 19, 1, 5, 1, "[0:4]", true, true, DCLI_BEYOND_EDGE, 0},
        {"some move down", 2, 1, 0, 19, 15, 5, 1, "[17:20]", true, true, DCLI_BEYOND_EDGE, 0},
        {"all move", 50, 1, 0, 19, 0, 5, 1, "[19:20]", true, true, DCLI_BEYOND_EDGE, 0},
        {"mirrored", 19, -1, 5, 19, 0, 20, 1, "[5:20]", true, true, DCLI_BEYOND_EDGE, 0},
        {"two apart, and none moves", 0, 2, 0, 19, 0, 5, 1, "[0:10:2]", false, false, DCLI_BEYOND_EDGE, 0},
        {"two apart", -3, 2, 0, 19, 0, 5, 1, "[0:6]", true, false, DCLI_BEYOND_EDGE, 0},
        {"every second index", -2, 1, 0, 19, 0, 5, 2, "[0:7]", true, true, DCLI_BEYOND_EDGE, 0},
        {"limits outside the grid", 0, 1, -10, 30, -15, 9, 1, "", true, true, DCLI_BEYOND_EDGE, 0},
        {"a constant", -4, 0, 3, 19, 0, 9, 1, "[3:4]", true, true, DCLI_BEYOND_EDGE, 0},
        {"beyond 64 bits", INT64_MAX, INT64_MAX, 0, 4, 1, 9, 1, "[4:5]", true, false, DCLI_BEYOND_EDGE, 0},
        {"reflected: -2, -1, 0", -2, 1, 0, 19, 0, 3, 1, "[0:3]", true, true, DCLI_BEYOND_MIRROR, 0},
        {"reflected: -2, -1", -2, 1, 0, 19, 0, 2, 1, "[1:3]", true, true, DCLI_BEYOND_MIRROR, 0},
        {"repeating the edge: -2, -1", -2, 1, 0, 19, 0, 2, 1, "[0:2]", true, true, DCLI_BEYOND_MIRROR, 1},
        {"reflected at the end: 18 .. 22", 18, 1, 0, 19, 0, 5, 1, "[16:20]", true, true, DCLI_BEYOND_MIRROR, 0},
        {"at the end, repeating: 21 .. 22", 21, 1, 0, 19, 0, 2, 1, "[17:19]", true, true, DCLI_BEYOND_MIRROR, 1},
        {"mirrored two times: 40 .. 42", 40, 1, 0, 19, 0, 3, 1, "[2:5]", true, true, DCLI_BEYOND_MIRROR, 0},
        {"more than a period", -50, 1, 2, 9, 0, 99, 1, "[2:10]", true, true, DCLI_BEYOND_MIRROR, 1},
        {"one element is all", -50, 1, 5, 5, 0, 99, 1, "[5:6]", true, true, DCLI_BEYOND_MIRROR, 0},
        {"far, reflected", INT64_MAX, INT64_MAX, 0, 4, 1, 9, 1, "[0:5]", true, false, DCLI_BEYOND_MIRROR, 0},
        {"nothing beyond: -2 .. 2", -2, 1, 0, 19, 0, 5, 1, "[0:3]", true, true, DCLI_BEYOND_NOTHING, 0},
        {"nothing beyond, all there", -9, 1, 0, 19, 0, 5, 1, "", true, true, DCLI_BEYOND_NOTHING, 0},
        {"nothing beyond, two apart", -3, 2, 0, 19, 0, 5, 1, "[1:7:2]", true, true, DCLI_BEYOND_NOTHING, 0},
        {"nothing beyond narrow limits", 0, 1, 5, 7, 0, 20, 1, "[5:8]", true, true, DCLI_BEYOND_NOTHING, 0},
    };
    return cr_make_param_array(struct clamp_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct clamp_case *c, footprint, of_clamped_subscripts)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 20);
    dcl_box space = {.rank = 1, .start = {c->start}, .count = {c->count}, .stride = {c->stride}}, footprint;
    dcli_subscripts subscripts = {.space_rank = 1,
                                  .rank = 1,
                                  .axis = {{c->constant,
                                            {c->coef},
                                            .clamped = true,
                                            .beyond = c->beyond,
                                            .low = c->low,
                                            .high = c->high,
                                            .repeat = c->repeat}}};
    bool cut;
    char found[32] = "";
    if (dcli_footprint(&subscripts, &space, &grid, &footprint, &cut))
        dcli_box_print(&footprint, found, sizeof found);
    cr_expect_str_eq(found, c->footprint, "%s: %s", c->what, found);
    cr_expect_eq(cut, c->cut, "%s", c->what);
    cr_expect_eq(dcli_subscripts_exact(&subscripts), c->exact, "%s", c->what);
    cr_expect(!dcli_subscripts_injective(&subscripts), "%s", c->what);
}

/* As make_case(), with clamps. */
static random_case make_clamped(uint64_t seed)
{
    random_case c = make_case(seed);
    test_random random = seed + 1000000;
    for (int d = 0; d < c.subscripts.rank; d++)
        if (d == 0 || test_between(&random, 0, 1) == 0)
            test_add_limits(&random, &c.subscripts.axis[d], SIDE + 2);
    return c;
}

/* As subscripts_at(). @return whether a clamp moves some subscript. */
static bool clamped_at(const random_case *c, const int64_t t[], int64_t index_out[])
{
    bool moves = false;
    subscripts_at(c, t, index_out);
    for (int d = 0; d < c->subscripts.rank; d++) {
        const dcli_subscript *subscript = &c->subscripts.axis[d];
        int64_t sum = index_out[d];
        index_out[d] = test_limited(subscript, sum);
        moves |= index_out[d] != sum;
    }
    return moves;
}

Test(footprint, of_clamps_contains_every_read)
{
    static bool read[8 * SIDE * SIDE * SIDE];
    int exact_cases = 0, cut_cases = 0;
    for (uint64_t seed = SEED; seed < SEED + 6000; seed++) {
        random_case c = make_clamped(seed);
        int rank = c.subscripts.rank;
        bool cut, expected_cut = false, right = true;
        bool exact = dcli_subscripts_exact(&c.subscripts) && !has_stride(&c.space);
        dcl_box footprint, whole = dcl_box_of(&c.grid);
        bool some = dcli_footprint(&c.subscripts, &c.space, &c.grid, &footprint, &cut);
        memset(read, 0, sizeof read);
        int64_t t[TURNS] = {0}, index[3], elements = 0;
        if (!dcli_box_is_empty(&c.space) && reads_any(&c))
            do {
                expected_cut |= clamped_at(&c, t, index);
                if (!dcli_box_contains(&whole, index)) {
                    expected_cut = true;
                    continue;
                }
                elements += !read[bit_of(index, rank)];
                read[bit_of(index, rank)] = true;
                right &= dcli_box_contains(&footprint, index);
            } while (next_number(&c.turns, t));
        right &= cut == expected_cut && some == !dcli_box_is_empty(&footprint);
        if (exact)
            right &= dcli_box_elements(&footprint) == elements;
        cr_assert(right, "seed %" PRIu64 " (%s)", seed, exact ? "exact" : "bounding box");
        exact_cases += exact;
        cut_cases += cut;
    }
    cr_expect(exact_cases > 500 && cut_cases > 1000, "%d exact cases, %d cut", exact_cases, cut_cases);
}

/* Whether all reads of the numbers lo .. lo + count - 1 lie in the target without being moved. */
static bool all_stay_inside(const random_case *c, const int64_t lo[], const int64_t count[])
{
    dcl_box range = c->turns;
    int64_t t[TURNS] = {0}, at[TURNS], index[3];
    for (int m = 0; m < c->subscripts.space_rank; m++)
        range.count[m] = count[m];
    do {
        for (int m = 0; m < range.rank; m++)
            at[m] = t[m] + (m < c->subscripts.space_rank ? lo[m] : 0);
        if (clamped_at(c, at, index) || !dcli_box_contains(&c->target, index))
            return false;
    } while (next_number(&range, t));
    return true;
}

Test(footprint, inside_stops_where_clamps_move)
{
    int found = 0;
    for (uint64_t seed = SEED; seed < SEED + 12000; seed++) {
        random_case c = make_clamped(seed);
        int64_t lo[3], count[3];
        if (!dcli_footprint_inside(&c.subscripts, &c.space, &c.target, lo, count) || !reads_any(&c))
            continue;
        cr_assert(all_stay_inside(&c, lo, count), "seed %" PRIu64, seed);
        bool narrows = are_apart(&c.subscripts) && !has_stride(&c.target);
        for (int m = 0; m < c.subscripts.space_rank && narrows; m++) { /* no larger range does */
            int64_t more_lo[3], more_count[3];
            memcpy(more_lo, lo, sizeof lo);
            memcpy(more_count, count, sizeof count);
            more_count[m]++;
            cr_assert(lo[m] + count[m] == c.space.count[m] || !all_stay_inside(&c, more_lo, more_count),
                      "seed %" PRIu64, seed);
            more_lo[m]--;
            cr_assert(lo[m] == 0 || !all_stay_inside(&c, more_lo, more_count), "seed %" PRIu64, seed);
        }
        found++;
    }
    cr_expect_gt(found, 200, "only %d cases had something inside", found);
}

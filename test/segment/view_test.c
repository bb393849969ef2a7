/* test/segment/view_test.c - views as arithmetic: rows to check by hand, refusals, and properties against tables of all
 * elements. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segment/random.h"
#include "segment/view.h"
#include "support/simview.h"

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* A chain of steps on the grid [10:13, -1:3], a letter each, and what it shows: "grid of base index, base index". */
struct chain_case {
    char what[40], steps[8], view[96];
};

/* t transpose; s every second row, columns backwards; c the cut [11:13, 0:2]; m moved by (-10, 1); b a new first axis of 5;
 * r row 12; f index 3 of the first axis; l the last column. */
static dcl_status step(char letter, dcli_transform *view)
{
    dcl_box cut = dcl_box_nd(2, (int64_t[]){11, 0}, (int64_t[]){2, 2});
    switch (letter) {
    case 't':
        return dcli_transform_permute(view, (int[]){1, 0});
    case 's':
        return dcli_transform_slice(view, (int64_t[]){10, 2}, (int64_t[]){2, 4}, (int64_t[]){2, -1});
    case 'c':
        return dcli_transform_sub(view, &cut);
    case 'm':
        return dcli_transform_shift(view, (int64_t[]){-10, 1});
    case 'b':
        return dcli_transform_broadcast(view, 0, 5);
    case 'r':
        return dcli_transform_take(view, 0, 12);
    case 'f':
        return dcli_transform_take(view, 0, 3);
    default:
        return dcli_transform_take(view, 1, view->grid.origin[1] + view->grid.extent[1] - 1);
    }
}

ParameterizedTestParameters(view, chains)
{
    static struct chain_case cases[] = {
        {"as it is", "", "[10:13, -1:3] of 0+1*i, 0+1*j"},
        {"transposed", "t", "[-1:3, 10:13] of 0+1*j, 0+1*i"},
        {"transposed twice", "tt", "[10:13, -1:3] of 0+1*i, 0+1*j"},
        {"sliced, backwards", "s", "[0:2, 0:4] of 10+2*i, 2-1*j"},
        {"sliced, then transposed", "st", "[0:4, 0:2] of 10+2*j, 2-1*i"},
        {"cut: numbers stay", "c", "[11:13, 0:2] of 0+1*i, 0+1*j"},
        {"moved", "m", "[0:3, 0:4] of 10+1*i, -1+1*j"},
        {"a new axis repeats", "b", "[0:5, 10:13, -1:3] of 0+1*j, 0+1*k"},
        {"a row", "r", "[-1:3] of 12, 0+1*i"},
        {"a column of a slice", "sl", "[0:2] of 10+2*i, -1"},
        {"a column for all rows", "lb", "[0:5, 10:13] of 0+1*j, 2"},
        {"a new axis taken away", "bf", "[10:13, -1:3] of 0+1*i, 0+1*j"},
    };
    return cr_make_param_array(struct chain_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_grid three_by_four(void) { return dcl_grid_nd(DCL_INT32, 2, (int64_t[]){3, 4}, (int64_t[]){10, -1}); }

ParameterizedTest(struct chain_case *c, view, chains)
{
    dcl_grid grid = three_by_four();
    dcli_transform view = dcli_transform_of(&grid);
    char text[128];
    for (const char *letter = c->steps; *letter != '\0'; letter++)
        cr_assert_eq(step(*letter, &view), DCL_OK, "%s: %s", c->what, dcl_error());
    sim_print_view(&view, text, sizeof text);
    cr_expect_str_eq(text, c->view, "%s: %s", c->what, text);
    cr_expect_eq(dcli_transform_check(&view, &grid), DCL_OK, "%s: %s", c->what, dcl_error());
}

Test(view, says_what_it_is)
{
    dcl_grid grid = three_by_four();
    dcli_transform view = dcli_transform_of(&grid), row = view, wide = view;
    cr_expect(dcli_transform_covers(&view, &grid) && !dcli_transform_broadcasts(&view));
    cr_assert(step('t', &view) == DCL_OK && step('r', &row) == DCL_OK && step('b', &wide) == DCL_OK);
    cr_expect(dcli_transform_covers(&view, &grid), "another order of all elements");
    cr_expect(!dcli_transform_covers(&row, &grid) && !dcli_transform_broadcasts(&row));
    cr_expect(dcli_transform_covers(&wide, &grid) && dcli_transform_broadcasts(&wide));
    cr_expect_eq(dcli_transform_base_axis(&view, 0), 1);
    cr_expect_eq(dcli_transform_base_axis(&wide, 0), -1);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

#define REFUSED(call, status, words)                                                       \
    do {                                                                                   \
        dcli_transform before = view;                                                      \
        cr_expect_eq((call), (status), "%s", #call);                                       \
        cr_expect(strstr(dcl_error(), (words)) != NULL, "%s: \"%s\"", #call, dcl_error()); \
        cr_expect(dcli_transform_equal(&before, &view), "%s changes the view", #call);     \
    } while (0)

Test(view, refusals)
{
    dcl_grid grid = three_by_four();
    dcli_transform view = dcli_transform_of(&grid);
    dcl_box box = dcl_box_of(&grid), out = dcl_box_nd(2, (int64_t[]){10, 0}, (int64_t[]){1, 4});
    box.stride[1] = 2;
    box.count[1] = 2;
    REFUSED(dcli_transform_permute(&view, (int[]){0, 0}), DCL_ERR_INVALID, "axes[1] is 0 again; expected each of 0..1");
    REFUSED(dcli_transform_permute(&view, (int[]){0, 2}), DCL_ERR_INVALID, "axes[1] is 2; expected each of 0..1 once");
    REFUSED(dcli_transform_slice(&view, (int64_t[]){10, -1}, (int64_t[]){3, -4}, NULL), DCL_ERR_INVALID,
            "count[1] is -4");
    REFUSED(dcli_transform_slice(&view, (int64_t[]){10, -1}, (int64_t[]){3, 4}, (int64_t[]){1, 0}), DCL_ERR_INVALID,
            "stride[1] is 0");
    REFUSED(dcli_transform_slice(&view, (int64_t[]){10, -1}, (int64_t[]){3, 4}, (int64_t[]){2, 1}), DCL_ERR_RANGE,
            "axis 0 of the slice goes from 10 to 14 (count 3, stride 2); expected indices from 10 to below 13");
    REFUSED(dcli_transform_slice(&view, (int64_t[]){10, 1}, (int64_t[]){3, 4}, (int64_t[]){1, INT64_MIN}),
            DCL_ERR_RANGE, "axis 1 of the slice goes from 1 to -9223372036854775808");
    REFUSED(dcli_transform_sub(&view, &box), DCL_ERR_INVALID, "stride[1] is 2; expected 1");
    REFUSED(dcli_transform_sub(&view, &out), DCL_ERR_RANGE, "axis 1 runs from 0 to 3");
    REFUSED(dcli_transform_shift(&view, (int64_t[]){INT64_MAX, 0}), DCL_ERR_RANGE, "by[0] is 9223372036854775807");
    REFUSED(dcli_transform_broadcast(&view, 3, 2), DCL_ERR_INVALID, "axis is 3; expected 0..2");
    REFUSED(dcli_transform_broadcast(&view, 0, -1), DCL_ERR_INVALID, "extent[0] is -1");
    REFUSED(dcli_transform_take(&view, 2, 0), DCL_ERR_INVALID, "axis is 2; expected 0..1");
    REFUSED(dcli_transform_take(&view, 0, 13), DCL_ERR_RANGE,
            "index is 13; expected one of axis 0: from 10 to below 13");
    cr_assert_eq(step('r', &view), DCL_OK);
    REFUSED(dcli_transform_take(&view, 0, 0), DCL_ERR_INVALID, "the array has one axis");
    for (int n = 1; n < DCL_MAX_RANK; n++)
        cr_assert_eq(dcli_transform_broadcast(&view, 0, 1), DCL_OK);
    REFUSED(dcli_transform_broadcast(&view, 0, 1), DCL_ERR_INVALID, "the array has 8 axes; expected at most 7");
}

/* What may come in a message. */
Test(view, checks_strangers)
{
    dcl_grid grid = three_by_four();
    dcli_transform good = dcli_transform_of(&grid), view;
    static const struct {
        int axis, d;
        int64_t constant, step;
        const char *words;
    } cases[] = {
        {1, 0, 0, 1, "axis 1 of the base is seen along axis 1"}, /* axis 1 twice */
        {2, 0, 0, 1, "axis 0 of the base is seen along axis 2 of the view; expected another one of its 2, or -1"},
        {-2, 0, 0, 0, "axis 0 of the base is seen along axis -2"},
        {-1, 0, 11, 1, "has step 1 and axis -1"},
        {0, 0, 0, 0, "has step 0 and axis 0"},
        {0, 0, 1, 1, "sees axis 0 of its base from 11 to 13; expected indices from 10 to below 13"},
        {1, 1, INT64_MAX, INT64_MAX, "sees axis 1 of its base from 0 to"},
        {-1, 1, 3, 0, "sees axis 1 of its base from 3 to 3"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        view = good;
        view.axis[cases[n].d] = cases[n].axis;
        view.constant[cases[n].d] = cases[n].constant;
        view.step[cases[n].d] = cases[n].step;
        cr_expect_neq(dcli_transform_check(&view, &grid), DCL_OK, "case %zu", n);
        cr_expect(strstr(dcl_error(), cases[n].words) != NULL, "case %zu: %s", n, dcl_error());
    }
    view = good;
    view.grid.type = DCL_FLOAT;
    cr_expect_eq(dcli_transform_check(&view, &grid), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "of type float over 2 axes; expected int32 over 2") != NULL, "%s", dcl_error());
    view.grid.rank = 9;
    cr_expect_eq(dcli_transform_check(&view, &grid), DCL_ERR_INVALID);
}

Test(view, subscripts_that_do_not_fit)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, 100);
    dcli_transform view = dcli_transform_of(&grid);
    dcli_subscripts own = {.space_rank = 1, .rank = 1}, base;
    cr_assert_eq(dcli_transform_slice(&view, (int64_t[]){1}, (int64_t[]){33}, (int64_t[]){3}), DCL_OK);
    own.axis[0] = (dcli_subscript){.constant = 2, .coef = {-4}};
    cr_assert(dcli_transform_subscripts(&view, &own, &base));
    cr_expect(base.axis[0].constant == 7 && base.axis[0].coef[0] == -12, "1 + 3 * (2 - 4 i)");
    own.axis[0].coef[0] = INT64_MAX / 2;
    cr_expect_not(dcli_transform_subscripts(&view, &own, &base));
    own.axis[0] = (dcli_subscript){.constant = INT64_MAX / 3 + 1};
    cr_expect_not(dcli_transform_subscripts(&view, &own, &base));
}

/* ---- properties --------------------------------------------------------------------------------------------------- */

static dcl_grid random_grid(test_random *random)
{
    dcl_grid grid = {.type = DCL_INT8, .rank = (int)test_between(random, 1, 3)};
    for (int d = 0; d < grid.rank; d++) {
        grid.origin[d] = test_between(random, -4, 4);
        grid.extent[d] = test_between(random, 0, 15) == 0 ? 0 : test_between(random, 1, 7);
    }
    return grid;
}

static bool next_in(int64_t place[], const dcl_box *box)
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++place[d] < box->count[d])
            return true;
        place[d] = 0;
    }
    return false;
}

static void index_at(const dcl_box *box, const int64_t place[], int64_t index[])
{
    for (int d = 0; d < box->rank; d++)
        index[d] = box->start[d] + place[d] * box->stride[d];
}

static dcl_box random_part(test_random *random, const dcl_grid *grid)
{
    dcl_box box = dcl_box_of(grid);
    for (int d = 0; d < grid->rank; d++) {
        if (grid->extent[d] == 0)
            continue;
        int64_t first = test_between(random, 0, grid->extent[d] - 1);
        box.stride[d] = test_between(random, 1, 3);
        box.start[d] += first;
        box.count[d] = test_between(random, 1, (grid->extent[d] - 1 - first) / box.stride[d] + 1);
    }
    return box;
}

/* The elements behind a box, and the indices before one, element by element. */
static void check_boxes(uint64_t seed, const dcli_transform *view, const dcl_box *part, const dcl_box *of_base)
{
    int64_t place[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK], element[DCL_MAX_RANK], behind = 0, before = 0;
    dcl_box all = dcl_box_of(&view->grid), image, seen;
    dcli_transform_box(view, part, &image);
    bool some = dcli_transform_seen(view, of_base, &seen);
    cr_assert_eq(some, !dcli_box_is_empty(&seen));
    do {
        index_at(&all, place, index);
        dcli_transform_index(view, index, element);
        if (dcli_box_contains(part, index)) {
            behind++;
            cr_assert(dcli_box_contains(&image, element), "seed %" PRIu64, seed);
        }
        bool inside = dcli_box_contains(of_base, element);
        before += inside;
        cr_assert_eq(inside, some && dcli_box_contains(&seen, index), "seed %" PRIu64, seed);
    } while (next_in(place, &all));
    cr_assert_eq(before, some ? dcli_box_elements(&seen) : 0, "seed %" PRIu64, seed);
    int64_t repeated = 1;
    for (int v = 0; v < part->rank; v++)
        repeated *= dcli_transform_base_axis(view, v) < 0 ? part->count[v] : 1;
    cr_assert_eq(behind, dcli_box_elements(&image) * repeated, "seed %" PRIu64 ": the box behind is no larger", seed);
}

/* Memory of a box, and where its base finds the same elements in it. */
static void check_place(uint64_t seed, test_random *random, const dcli_transform *view, const dcl_box *part)
{
    int64_t place[DCL_MAX_RANK] = {0}, strides[DCL_MAX_RANK], steps[DCL_MAX_RANK], offset;
    dcl_box base;
    for (int v = 0; v < part->rank; v++)
        strides[v] = test_between(random, -20, 20);
    dcli_transform_place(view, part, strides, &base, &offset, steps);
    do {
        int64_t index[DCL_MAX_RANK], element[DCL_MAX_RANK], at = 0, found = offset;
        bool repeated = false;
        index_at(part, place, index);
        dcli_transform_index(view, index, element);
        for (int v = 0; v < part->rank; v++) {
            at += place[v] * strides[v];
            repeated |= place[v] > 0 && dcli_transform_base_axis(view, v) < 0;
        }
        for (int d = 0; d < base.rank; d++)
            found += (element[d] - base.start[d]) / base.stride[d] * steps[d];
        cr_assert(repeated || at == found, "seed %" PRIu64 ": %" PRId64 ", %" PRId64, seed, at, found);
    } while (next_in(place, part));
}

static int64_t number_at(const dcli_subscript *subscript, int64_t x, int64_t y)
{
    int64_t number = subscript->constant + subscript->coef[0] * x + subscript->coef[1] * y;
    return test_limited(subscript, number);
}

/* Subscripts of the view, and the same of the base. */
static void check_subscripts(uint64_t seed, test_random *random, const dcli_transform *view)
{
    dcli_subscripts own = {.space_rank = 1, .rank = view->grid.rank, .inner_rank = 1, .inner_count = {6}}, base;
    for (int v = 0; v < own.rank; v++)
        own.axis[v] = (dcli_subscript){.constant = test_between(random, -5, 5),
                                       .coef = {test_between(random, -2, 2), test_between(random, -2, 2)}};
    for (int v = 0; v < own.rank; v++)
        if (test_between(random, 0, 1) == 0)
            test_add_limits(random, &own.axis[v], 4);
    cr_assert(dcli_transform_subscripts(view, &own, &base));
    cr_assert(base.inner_rank == 1 && base.inner_count[0] == 6);
    for (int64_t x = -3; x < 3; x++)
        for (int64_t y = -3; y < 3; y++) {
            int64_t index[DCL_MAX_RANK], element[DCL_MAX_RANK];
            for (int v = 0; v < own.rank; v++)
                index[v] = number_at(&own.axis[v], x, y);
            dcli_transform_index(view, index, element);
            for (int d = 0; d < base.rank; d++)
                if (view->axis[d] >= 0 && index[view->axis[d]] == TEST_NOTHING)
                    cr_assert_eq(number_at(&base.axis[d], x, y), TEST_NOTHING, "seed %" PRIu64, seed);
                else
                    cr_assert_eq(number_at(&base.axis[d], x, y), element[d], "seed %" PRIu64, seed);
        }
}

/* Elements that are seen, each counted. */
static void check_cover(uint64_t seed, const dcli_transform *view, const dcl_grid *grid)
{
    static bool seen[7 * 7 * 7];
    int64_t place[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK], element[DCL_MAX_RANK], count = 0, twice = 0;
    dcl_box all = dcl_box_of(&view->grid);
    memset(seen, 0, sizeof seen);
    while (!dcli_box_is_empty(&all)) {
        int64_t number = 0;
        index_at(&all, place, index);
        dcli_transform_index(view, index, element);
        for (int d = 0; d < grid->rank; d++)
            number = number * grid->extent[d] + element[d] - grid->origin[d];
        twice += seen[number];
        count += !seen[number];
        seen[number] = true;
        if (!next_in(place, &all))
            break;
    }
    cr_assert_eq(dcli_transform_covers(view, grid), count == dcl_grid_count(grid), "seed %" PRIu64, seed);
    cr_assert(twice == 0 || dcli_transform_broadcasts(view), "seed %" PRIu64, seed);
}

Test(view, properties)
{
    int empty = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        test_random random = seed;
        dcl_grid grid = random_grid(&random);
        dcli_transform view = sim_random_view(&random, &grid, seed % 2 == 0);
        dcl_box part = random_part(&random, &view.grid), of_base = random_part(&random, &grid), image;
        cr_assert_eq(dcli_transform_check(&view, &grid), DCL_OK, "seed %" PRIu64 ": %s", seed, dcl_error());
        check_cover(seed, &view, &grid);
        if (dcl_grid_count(&view.grid) == 0) {
            dcli_transform_box(&view, &part, &image);
            cr_assert(dcli_box_is_empty(&image) && !dcli_transform_seen(&view, &of_base, &image));
            empty++;
            continue;
        }
        check_boxes(seed, &view, &part, &of_base);
        check_place(seed, &random, &view, &part);
        check_subscripts(seed, &random, &view);
    }
    cr_expect(empty > 10 && empty < 1500, "%d of them empty", empty);
}

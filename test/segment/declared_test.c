/* test/segment/declared_test.c - what halos, crosses, boxes and portions cover: by hand, and against every element. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "segment/declared.h"
#include "segment/random.h"

/* ---- by hand ------------------------------------------------------------------------------------------------------ */

/* Indices of a 2-D loop over a grid of 10 x 10 with origin (0, 0). */
static void expect_parts(const char *what, dcli_reach reach, const int64_t width[2], const dcl_box *space,
                         const char *around, const char *parts, bool approximate)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 10, 10);
    dcli_subscripts subscripts = {
        .reach = reach, .space_rank = 2, .rank = 2, .declared = {.count = 2, .number = width}};
    dcl_box foot, part[DCL_MAX_RANK];
    char found[256] = "", one[64];
    bool cut, wide = false;
    dcli_footprint(&subscripts, space, &grid, &foot, &cut);
    dcli_box_print(&foot, one, sizeof one);
    cr_expect_str_eq(one, around, "%s: around is %s", what, one);
    int count = dcli_declared_parts(&subscripts, space, &grid, part, &wide);
    for (int p = 0; p < count; p++) {
        dcli_box_print(&part[p], one, sizeof one);
        strcat(strcat(found, p > 0 ? " " : ""), one);
    }
    cr_expect_str_eq(found, parts, "%s: parts are %s", what, found);
    cr_expect_eq(wide, approximate, "%s", what);
}

Test(declared, parts)
{
    dcl_box tile = {.rank = 2, .start = {2, 0}, .count = {3, 4}, .stride = {1, 1}};
    dcl_box dealt = {.rank = 2, .start = {0, 1}, .count = {3, 2}, .stride = {4, 1}};
    dcl_box beyond = {.rank = 2, .start = {10, 4}, .count = {2, 1}, .stride = {1, 1}};
    const int64_t none[] = {0, 0}, one[] = {1, 1}, rows[] = {1, 0}, two[] = {2, 0};
    expect_parts("a halo, cut", DCLI_REACH_HALO, one, &tile, "[1:6, 0:5]", "[1:6, 0:5]", false);
    expect_parts("a cross", DCLI_REACH_CROSS, one, &tile, "[1:6, 0:5]", "[1:6, 0:4] [2:5, 0:5]", false);
    expect_parts("a cross with one arm", DCLI_REACH_CROSS, rows, &tile, "[1:6, 0:4]", "[1:6, 0:4]", false);
    expect_parts("a cross without", DCLI_REACH_CROSS, none, &tile, "[2:5, 0:4]", "[2:5, 0:4]", false);
    expect_parts("rows 0, 4, 8 themselves", DCLI_REACH_HALO, none, &dealt, "[0:9, 1:3]", "[0:12:4, 1:3]", false);
    expect_parts("with a neighbour each: rows 2 and 6, too", DCLI_REACH_HALO, rows, &dealt, "[0:10, 1:3]",
                 "[0:10, 1:3]", true);
    expect_parts("with two: they meet", DCLI_REACH_HALO, two, &dealt, "[0:10, 1:3]", "[0:10, 1:3]", false);
    expect_parts("from beyond the edge", DCLI_REACH_HALO, one, &beyond, "[9:10, 3:6]", "[9:10, 3:6]", false);
    expect_parts("from beyond, one arm", DCLI_REACH_CROSS, one, &beyond, "[9:10, 3:6]", "[9:10, 4:5]", false);
}

Test(declared, portions)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 20);
    dcl_box box[] = {dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){4}), dcl_box_nd(1, (int64_t[]){10}, (int64_t[]){2}),
                     dcl_box_nd(1, (int64_t[]){4}, (int64_t[]){4}), dcl_box_nd(1, (int64_t[]){15}, (int64_t[]){1})};
    int64_t number[12];
    for (int b = 0; b < 4; b++)
        dcli_declared_put(&box[b], number + 3 * b);
    dcli_subscripts subscripts = {
        .reach = DCLI_REACH_FUNCTION, .space_rank = 1, .rank = 1, .declared = {.count = 12, .number = number}};
    cr_expect_eq(dcli_declared_portions(&subscripts), 2);
    dcl_box space = box[0], foot;
    bool cut;
    cr_expect(dcli_footprint(&subscripts, &space, &grid, &foot, &cut));
    cr_expect(foot.start[0] == 10 && foot.count[0] == 2 && !cut, "the first portion's");
    space.count[0] = 6; /* both: around 10, 11 and 15 */
    cr_expect(dcli_footprint(&subscripts, &space, &grid, &foot, &cut));
    cr_expect(foot.start[0] == 10 && foot.count[0] == 6 && foot.stride[0] == 1);
    space.start[0] = 8;
    cr_expect(!dcli_footprint(&subscripts, &space, &grid, &foot, &cut), "in no portion: nothing");
}

/* ---- against every element ---------------------------------------------------------------------------------------- */

struct random_case {
    dcli_subscripts subscripts;
    int64_t width[2];
    dcl_grid grid;
    dcl_box space, target;
};

static void make_case(uint64_t seed, struct random_case *c)
{
    test_random random = seed;
    *c = (struct random_case){.grid = {.type = DCL_FLOAT, .rank = 2}, .space = {.rank = 2}, .target = {.rank = 2}};
    c->subscripts = (dcli_subscripts){.reach = test_between(&random, 0, 1) ? DCLI_REACH_HALO : DCLI_REACH_CROSS,
                                      .space_rank = 2,
                                      .rank = 2,
                                      .declared = {.count = 2, .number = c->width}};
    for (int d = 0; d < 2; d++) {
        c->width[d] = test_between(&random, 0, 3);
        c->grid.origin[d] = test_between(&random, -3, 3);
        c->grid.extent[d] = test_between(&random, 1, 12);
        c->space.start[d] = test_between(&random, -5, 8);
        c->space.count[d] = test_between(&random, 1, 6);
        c->space.stride[d] = test_between(&random, 0, 1) ? 1 : test_between(&random, 1, 9);
        c->target.start[d] = c->grid.origin[d] + test_between(&random, 0, c->grid.extent[d] - 1);
        c->target.count[d] = test_between(&random, 1, c->grid.origin[d] + c->grid.extent[d] - c->target.start[d]);
        c->target.stride[d] = 1;
    }
}

static bool reads(const struct random_case *c, const int64_t index[], const int64_t element[])
{
    int away = 0;
    for (int d = 0; d < 2; d++) {
        int64_t apart = element[d] > index[d] ? element[d] - index[d] : index[d] - element[d];
        if (apart > c->width[d])
            return false;
        away += apart > 0;
    }
    return c->subscripts.reach == DCLI_REACH_HALO || away <= 1;
}

/* Whether some index from lo on, count of them per axis, reads an element. */
static bool some_reads(const struct random_case *c, const int64_t lo[], const int64_t count[], const int64_t element[])
{
    for (int64_t s = lo[0]; s < lo[0] + count[0]; s++)
        for (int64_t t = lo[1]; t < lo[1] + count[1]; t++) {
            int64_t index[] = {c->space.start[0] + s * c->space.stride[0], c->space.start[1] + t * c->space.stride[1]};
            if (reads(c, index, element))
                return true;
        }
    return false;
}

/* Whether all that a range of indices reads in the grid lies in the target. */
static bool stays_inside(const struct random_case *c, const int64_t lo[], const int64_t count[])
{
    for (int64_t x = 0; x < c->grid.extent[0]; x++)
        for (int64_t y = 0; y < c->grid.extent[1]; y++) {
            int64_t element[] = {c->grid.origin[0] + x, c->grid.origin[1] + y};
            if (!dcli_box_contains(&c->target, element) && some_reads(c, lo, count, element))
                return false;
        }
    return true;
}

static void expect_covered(const struct random_case *c, uint64_t seed)
{
    dcl_box part[DCL_MAX_RANK], foot;
    const int64_t zeros[2] = {0};
    bool approximate = false, cut;
    int parts = dcli_declared_parts(&c->subscripts, &c->space, &c->grid, part, &approximate);
    bool some = dcli_footprint(&c->subscripts, &c->space, &c->grid, &foot, &cut);
    cr_assert_eq(some, parts > 0, "seed %" PRIu64, seed);
    for (int64_t x = 0; x < c->grid.extent[0]; x++)
        for (int64_t y = 0; y < c->grid.extent[1]; y++) {
            int64_t element[] = {c->grid.origin[0] + x, c->grid.origin[1] + y};
            bool read = some_reads(c, zeros, c->space.count, element), covered = false;
            for (int p = 0; p < parts; p++)
                covered |= dcli_box_contains(&part[p], element);
            cr_assert(covered || !read, "seed %" PRIu64 ": %" PRId64 ", %" PRId64, seed, element[0], element[1]);
            cr_assert(read || !covered || approximate, "seed %" PRIu64 ": %" PRId64 ", %" PRId64, seed, element[0],
                      element[1]);
            cr_assert(!covered || dcli_box_contains(&foot, element), "seed %" PRIu64, seed);
        }
}

Test(declared, covers_what_is_read)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random_case c;
        make_case(seed, &c);
        expect_covered(&c, seed);
    }
}

/* For halos the range is the largest: one more index on any side of it reads elsewhere. */
Test(declared, stays_inside)
{
    int found = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random_case c;
        int64_t lo[DCL_MAX_RANK], count[DCL_MAX_RANK];
        make_case(seed, &c);
        if (!dcli_declared_inside(&c.subscripts, &c.space, &c.grid, &c.target, lo, count))
            continue;
        found++;
        cr_assert(stays_inside(&c, lo, count), "seed %" PRIu64, seed);
    }
    cr_expect_gt(found, 500, "%d", found);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void refuse(dcli_reach reach, int count, const int64_t number[], dcl_status expected, const char *words)
{
    dcl_grid space = dcl_grid_1d(DCL_FLOAT, 6), grid = dcl_grid_2d(DCL_FLOAT, 4, 4);
    dcli_declared declared = {.count = count, .number = number};
    cr_expect_eq(dcli_declared_check(reach, &declared, "A", &space, &grid), expected, "%s", words);
    cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" has not \"%s\"", dcl_error(), words);
}

Test(declared, refusals)
{
    const int64_t box[] = {0, 3, 2, 2, 1, 1}, portion[] = {5, 2, 1, 0, 0, 1, 1, 1, 1};
    refuse(DCLI_REACH_HALO, 2, box, DCL_ERR_INVALID, "A has 2 axes and the first output 1; expected as many");
    refuse(DCLI_REACH_BOX, 3, box, DCL_ERR_INVALID, "the box of A has 1 axes; expected 2");
    refuse(DCLI_REACH_BOX, 6, box, DCL_ERR_RANGE, "the box of A: the box's axis 1 runs from 3 to 4");
    refuse(DCLI_REACH_FUNCTION, 8, portion, DCL_ERR_INVALID, "A comes with 8 numbers; expected a multiple of 9");
    refuse(DCLI_REACH_FUNCTION, 9, portion, DCL_ERR_RANGE,
           "the indices that a box is declared for, of A: the box's axis 0");
    refuse(DCLI_REACH_ROWS, 1, box, DCL_ERR_INVALID, "A comes with 1 numbers; expected none");
}

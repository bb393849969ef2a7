/* test/segment/cut_test.c - blocks: they cover all indices once, in order, and are as large as asked for. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>

#include "segment/cut.h"
#include "segment/random.h"

struct shape_case {
    char what[48];
    int rank;
    int64_t whole[3], most, shape[3];
    int order[3];
};

ParameterizedTestParameters(cut, shapes)
{
    /* clang-format off */
    static struct shape_case cases[] = {
        /* what                              rank  whole      most  shape      order */
        {"all fits",                            2, {4, 6},      24, {4, 6},    {0, 1}},
        {"rows",                                2, {4, 6},      13, {2, 6},    {0, 1}},
        {"less than a row",                     2, {4, 6},       4, {1, 4},    {0, 1}},
        {"nothing is one element",              2, {4, 6},       0, {1, 1},    {0, 1}},
        {"the first axis is the fastest",       2, {4, 6},      13, {4, 3},    {1, 0}},
        {"the middle one is cut",               3, {4, 6, 5},   14, {1, 2, 5}, {0, 1, 2}},
        {"axes of one index",                   3, {1, 6, 1},    4, {1, 4, 1}, {0, 1, 2}},
    };
    /* clang-format on */
    return cr_make_param_array(struct shape_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct shape_case *c, cut, shapes)
{
    int64_t shape[3];
    dcli_cut_shape(c->rank, c->whole, c->order, c->most, shape);
    for (int d = 0; d < c->rank; d++)
        cr_expect_eq(shape[d], c->shape[d], "%s: %" PRId64 " along axis %d", c->what, shape[d], d);
}

Test(cut, blocks_cover_all_indices_once_in_order)
{
    test_random random = 3;
    for (int round = 0; round < 500; round++) {
        int rank = (int)test_between(&random, 1, 4);
        int64_t whole[4], shape[4], covered = 0, last = -1, elements = 1;
        int seen[256] = {0};
        for (int d = 0; d < rank; d++) {
            whole[d] = test_between(&random, 1, 4);
            shape[d] = test_between(&random, 1, 5);
            elements *= whole[d];
        }
        dcli_cut cut = dcli_cut_begin(rank, whole, shape);
        while (dcli_cut_next(&cut)) {
            int64_t first = 0, place[4] = {0};
            dcl_box block = {.rank = rank};
            for (int d = 0; d < rank; d++) {
                first = first * whole[d] + cut.lo[d];
                block.count[d] = cut.count[d];
                cr_assert(cut.count[d] >= 1 && cut.count[d] <= shape[d], "round %d", round);
            }
            cr_assert_gt(first, last, "round %d: blocks are not in order", round);
            last = first;
            for (int64_t n = 0; n < dcli_box_elements(&block); n++, covered++) {
                int64_t number = 0;
                for (int d = 0; d < rank; d++)
                    number = number * whole[d] + cut.lo[d] + place[d];
                cr_assert_eq(seen[number]++, 0, "round %d", round);
                for (int d = rank - 1; d >= 0 && ++place[d] == cut.count[d]; d--)
                    place[d] = 0;
            }
        }
        cr_assert_eq(covered, elements, "round %d", round);
    }
}

Test(cut, a_part_of_a_region_lies_where_the_region_has_it)
{
    const dcli_region region = {
        .box = {.rank = 2, .start = {10, 20}, .count = {4, 6}, .stride = {1, 3}}, .offset = 100, .step = {-8, 2}};
    dcli_region part = dcli_region_part(&region, (int64_t[]){1, 2}, (int64_t[]){3, 1});
    cr_expect_eq(part.offset, 100 - 8 + 4);
    cr_expect_eq(part.box.start[0], 11);
    cr_expect_eq(part.box.start[1], 26);
    cr_expect_eq(part.box.count[0], 3);
    cr_expect_eq(part.box.count[1], 1);
}

/* test/segment/neighbours_test.c - boxes that are neighbours become one. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "random.h"
#include "segment/box.h"

enum { MOST = 8 };

struct join_case {
    char what[40];
    int count;
    int64_t box[MOST][6]; /* start, count, stride of axis 0, then of axis 1 */
    char joined[80];
};

ParameterizedTestParameters(neighbours, join)
{
    static struct join_case cases[] = {
        {"none", 0, {{0}}, ""},
        {"one above the other", 2, {{1, 1, 1, 0, 4, 1}, {0, 1, 1, 0, 4, 1}}, "[0:2, 0:4]"},
        {"not where one is wider", 2, {{0, 1, 1, 0, 4, 1}, {1, 1, 1, 0, 5, 1}}, "[0:1, 0:4] [1:2, 0:5]"},
        {"not across a gap", 2, {{0, 1, 1, 0, 4, 1}, {2, 1, 1, 0, 4, 1}}, "[0:1, 0:4] [2:3, 0:4]"},
        {"elements of two pieces",
         8,
         {{0, 1, 1, 0, 1, 1},
          {0, 1, 1, 4, 1, 1},
          {0, 1, 1, 1, 1, 1},
          {0, 1, 1, 5, 1, 1},
          {1, 1, 1, 0, 1, 1},
          {1, 1, 1, 4, 1, 1},
          {1, 1, 1, 1, 1, 1},
          {1, 1, 1, 5, 1, 1}},
         "[0:2, 0:2] [0:2, 4:6]"},
        {"gaps along the other axis", 2, {{0, 3, 2, 1, 1, 1}, {0, 3, 2, 0, 1, 1}}, "[0:6:2, 0:2]"},
        {"gaps along the same", 2, {{0, 2, 2, 0, 1, 1}, {4, 2, 2, 0, 1, 1}}, "[0:4:2, 0:1] [4:8:2, 0:1]"},
    };
    return cr_make_param_array(struct join_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct join_case *c, neighbours, join)
{
    dcli_box_list list = {0};
    char text[200] = "", one[64];
    for (int b = 0; b < c->count; b++) {
        const int64_t *n = c->box[b];
        dcl_box box = {.rank = 2, .start = {n[0], n[3]}, .count = {n[1], n[4]}, .stride = {n[2], n[5]}};
        cr_assert_eq(dcli_box_list_add(&list, &box), DCL_OK);
    }
    dcli_box_list_join(&list);
    for (int64_t b = 0; b < list.count; b++) {
        dcli_box_print(&list.box[b], one, sizeof one);
        strcat(strcat(text, b > 0 ? " " : ""), one);
    }
    cr_expect_str_eq(text, c->joined, "%s: %s", c->what, text);
    dcli_box_list_free(&list);
}

/* A box that is cut again and again, some parts of which are missing: the elements stay, in fewer boxes. */
Test(neighbours, elements_stay_the_same)
{
    enum { SIDE = 6, ALL = SIDE * SIDE * SIDE };
    int64_t before = 0, after = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        test_random random = seed;
        dcli_box_list list = {0};
        int holders[ALL] = {0};
        for (int64_t e = 0; e < ALL; e++)
            if (test_between(&random, 0, 7) > 0) {
                dcl_box box =
                    dcl_box_nd(3, (int64_t[]){e / SIDE / SIDE, e / SIDE % SIDE, e % SIDE}, (int64_t[]){1, 1, 1});
                cr_assert_eq(dcli_box_list_add(&list, &box), DCL_OK);
                holders[e]++;
            }
        before += list.count;
        dcli_box_list_join(&list);
        after += list.count;
        for (int64_t e = 0; e < ALL; e++)
            for (int64_t b = 0; b < list.count; b++)
                holders[e] -= dcli_box_contains(&list.box[b], (int64_t[]){e / SIDE / SIDE, e / SIDE % SIDE, e % SIDE});
        for (int64_t e = 0; e < ALL; e++)
            cr_assert_eq(holders[e], 0, "seed %" PRIu64 ", element %" PRId64, seed, e);
        dcli_box_list_free(&list);
    }
    cr_expect_lt(4 * after, 3 * before);
}

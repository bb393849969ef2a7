/* test/segment/set_test.c - sets of boxes against a bitmap. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "random.h"
#include "segment/box.h"

static int64_t elements_of(const dcli_box_set *set)
{
    int64_t elements = 0;
    for (int64_t k = 0; k < set->boxes.count; k++)
        elements += dcli_box_elements(&set->boxes.box[k]);
    return elements;
}

#define SEED UINT64_C(77001)
#define SIDE 12

static dcl_box box_2d(int64_t i, int64_t j, int64_t rows, int64_t columns)
{
    return dcl_box_nd(2, (int64_t[]){i, j}, (int64_t[]){rows, columns});
}

static dcl_status add(dcli_box_set *set, dcl_box box, dcli_box_list *fresh)
{
    return dcli_box_set_add(set, &box, fresh);
}

static int holders(const dcli_box_list *list, const int64_t index[])
{
    int holders = 0;
    for (int64_t k = 0; k < list->count; k++)
        holders += dcli_box_contains(&list->box[k], index);
    return holders;
}

Test(set, only_what_is_new_is_fresh)
{
    dcli_box_set set = {0};
    dcli_box_list fresh = {0};
    char text[64];
    cr_assert_eq(add(&set, box_2d(0, 0, 4, 4), &fresh), DCL_OK);
    cr_assert_eq(add(&set, box_2d(1, 1, 2, 2), &fresh), DCL_OK); /* inside */
    cr_assert_eq(add(&set, box_2d(0, 9, 4, 0), &fresh), DCL_OK); /* empty */
    cr_assert_eq(fresh.count, 1);
    cr_assert_eq(add(&set, box_2d(2, 2, 2, 4), &fresh), DCL_OK); /* half of it inside */
    cr_assert_eq(fresh.count, 2);
    dcli_box_print(&fresh.box[1], text, sizeof text);
    cr_expect_str_eq(text, "[2:4, 4:6]");
    cr_expect_eq(elements_of(&set), 20);
    dcli_box_list_free(&fresh);
    dcli_box_set_free(&set);
}

Test(set, tiles_of_a_grid_become_one_box)
{
    dcli_box_set set = {0};
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < 8; j++)
            cr_assert_eq(add(&set, box_2d(16 * i, 16 * j, 16, 16), NULL), DCL_OK);
    cr_expect_eq(set.boxes.count, 1);
    cr_expect_eq(elements_of(&set), 128 * 128);
    dcli_box_set_free(&set);

    for (int64_t i = 7; i >= 0; i--) /* backwards, even columns before odd ones */
        for (int64_t odd = 0; odd < 2; odd++) {
            dcl_box box = box_2d(i, odd, 1, 8);
            box.stride[1] = 2;
            cr_assert_eq(add(&set, box, NULL), DCL_OK);
        }
    cr_expect_eq(set.boxes.count, 1);
    cr_expect_eq(elements_of(&set), 128);
    dcli_box_set_free(&set);
}

Test(set, a_cleared_set_is_empty_and_keeps_little_memory)
{
    dcli_box_set set = {0};
    for (int64_t n = 0; n < 100; n++) /* no two of them form one box, so the tree has two levels */
        cr_assert_eq(add(&set, box_2d(2 * n, 3 * n, 1, 4), NULL), DCL_OK);
    dcli_box_set_clear(&set, INT64_MAX);
    cr_expect_eq(set.boxes.count, 0);
    cr_expect_gt(set.boxes.capacity, 99);
    for (int64_t n = 99; n >= 0; n--) {
        dcli_box_list fresh = {0};
        cr_assert_eq(add(&set, box_2d(2 * n, 3 * n + 2, 1, 4), &fresh), DCL_OK);
        cr_expect_eq(fresh.count, 1, "box %d meets one from before", (int)n);
        dcli_box_list_free(&fresh);
    }
    cr_expect_eq(elements_of(&set), 400);
    dcli_box_set_clear(&set, 64);
    cr_expect(set.boxes.box == NULL && set.boxes.capacity == 0);
    dcli_box_set_free(&set);
}

Test(set, random_boxes_match_a_bitmap)
{
    test_random random = SEED;
    for (int n = 0; n < 300; n++) {
        int rank = (int)test_between(&random, 1, 2);
        int64_t index[2], elements = 0;
        bool in_set[2 * SIDE][2 * SIDE] = {{false}}, right = true;
        dcli_box_set set = {0};
        for (int boxes = 0; boxes < 12; boxes++) {
            dcl_box box = test_box(&random, rank, SIDE);
            dcli_box_list fresh = {0}, lacking = {0};
            cr_assert_eq(dcli_box_set_lacks(&set, &box, &lacking), DCL_OK);
            cr_assert_eq(dcli_box_set_add(&set, &box, test_between(&random, 0, 3) > 0 ? &fresh : NULL), DCL_OK);
            bool listed = fresh.count > 0;
            right &= !listed || (fresh.count == lacking.count &&
                                 memcmp(fresh.box, lacking.box, (size_t)fresh.count * sizeof *fresh.box) == 0);
            dcli_box_list_free(&lacking);
            index[0] = index[1] = -SIDE;
            do {
                bool *in = &in_set[index[0] + SIDE][rank == 2 ? index[1] + SIDE : 0];
                bool new = dcli_box_contains(&box, index) && !*in;
                right &= !listed || holders(&fresh, index) == new;
                *in |= new;
                elements += new;
                right &= holders(&set.boxes, index) == *in;
            } while (test_next_index(index, rank, SIDE));
            dcli_box_list_free(&fresh);
        }
        cr_assert(right && elements_of(&set) == elements, "seed %" PRIu64 " case %d", SEED, n);
        dcli_box_set_free(&set);
    }
}

/* Many boxes that cannot be merged, in random order: the tree has several levels and loose bounds. */
Test(set, thousands_of_boxes)
{
    enum { ACROSS = 80 };
    static int order[ACROSS * ACROSS];
    test_random random = SEED + 1;
    dcli_box_set set = {0};
    for (int k = 0; k < ACROSS * ACROSS; k++) {
        int other = (int)test_between(&random, 0, k);
        order[k] = order[other];
        order[other] = k;
    }
    for (int k = 0; k < ACROSS * ACROSS; k++)
        cr_assert_eq(add(&set, box_2d(3 * (order[k] / ACROSS), 3 * (order[k] % ACROSS), 2, 2), NULL), DCL_OK);
    cr_expect_eq(elements_of(&set), 4 * ACROSS * ACROSS);
    cr_expect_gt(set.boxes.count, ACROSS * ACROSS / 2);

    for (int k = 0; k < ACROSS * ACROSS; k += 7) { /* a second time: nothing is new */
        dcli_box_list fresh = {0};
        cr_assert_eq(add(&set, box_2d(3 * (k / ACROSS), 3 * (k % ACROSS), 2, 2), &fresh), DCL_OK);
        cr_expect_eq(fresh.count, 0, "seed %" PRIu64 " box %d", SEED + 1, k);
    }
    cr_assert_eq(add(&set, box_2d(0, 0, 3 * ACROSS, 3 * ACROSS), NULL), DCL_OK); /* all that is between */
    cr_expect_eq(elements_of(&set), 9 * ACROSS * ACROSS);
    dcli_box_set_free(&set);
}

/* Boxes that are put there stay as they are, and are found in their order, as by looking at each. */
Test(set, put_boxes_are_found)
{
    enum { BOXES = 500, QUERIES = 400, SIDES = 40 };
    static dcl_box put[BOXES];
    test_random random = SEED + 2;
    dcli_box_set set = {0};
    dcl_box common;
    int64_t found = 0;
    for (int k = 0; k < BOXES; k++) {
        put[k] = test_box(&random, 2, SIDES);
        for (int d = 0; d < 2; d++)
            put[k].count[d] = put[k].count[d] > 4 ? 4 : put[k].count[d] + (put[k].count[d] == 0);
        cr_assert_eq(dcli_box_set_put(&set, &put[k]), DCL_OK);
    }
    cr_assert_eq(set.boxes.count, BOXES);
    for (int q = 0; q < QUERIES; q++) {
        dcl_box query = test_box(&random, 2, SIDES);
        int64_t at = dcli_box_set_next(&set, &query, 0);
        for (int64_t k = 0; k < BOXES; k++) {
            if (!dcli_box_intersect(&put[k], &query, &common))
                continue;
            cr_assert_eq(at, k, "seed %" PRIu64 " query %d", SEED + 2, q);
            at = dcli_box_set_next(&set, &query, at + 1);
            found++;
        }
        cr_assert_eq(at, BOXES);
    }
    cr_expect_gt(found, QUERIES);
    dcli_box_set_free(&set);
}

Test(set, lack_of_memory_changes_nothing)
{
    for (int fail = 1;; fail++) {
        dcli_box_set set = {0};
        dcli_box_list fresh = {0};
        for (int64_t i = 0; i < 16; i++)
            cr_assert_eq(add(&set, box_2d(2 * i, 3 * i, 1, 1), NULL), DCL_OK);
        int64_t boxes = set.boxes.count;
        dcli_alloc_fail_after(fail);
        dcl_status status = add(&set, box_2d(0, 0, 40, 50), &fresh);
        dcli_alloc_fail_after(0);
        cr_expect_eq(fresh.count > 0, status == DCL_OK);
        cr_expect_eq(elements_of(&set), status == DCL_OK ? 2000 : 16, "allocation %d", fail);
        cr_expect(status == DCL_OK || (status == DCL_ERR_NOMEM && set.boxes.count == boxes));
        dcli_box_list_free(&fresh);
        dcli_box_set_free(&set);
        if (status == DCL_OK) {
            cr_expect_gt(fail, 4);
            break;
        }
    }
}

/* test/segment/region_test.c - packing, cutting and covering regions. */
#include "segment/region.h"

#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "random.h"

#define SEED UINT64_C(90210)

Test(region, rows_near_a_page_are_padded)
{
    dcl_box box = dcl_box_nd(3, (int64_t[]){0, 0, 0}, (int64_t[]){2, 3, 1024}), row = box;
    dcli_region region = dcli_region_padded(&box, 5, 4);
    cr_expect(region.offset == 5 && region.step[2] == 1 && region.step[1] == 1056 && region.step[0] == 3 * 1056,
              "rows of 4096 bytes lie 128 bytes further apart");
    cr_expect_eq(dcli_padded_elements(&box, 4), 2 * 3 * 1056);
    cr_expect_eq(dcli_region_padded(&box, 0, 2).step[1], 1024, "of 2048 bytes they do not");
    box.count[2] = 1023;
    cr_expect_eq(dcli_region_padded(&box, 0, 8).step[1], 1023 + 32, "of 8 bytes less than 8192: 256 bytes further");
    box.count[2] = 2016;
    cr_expect_eq(dcli_region_padded(&box, 0, 4).step[1], 2016);
    row.count[0] = row.count[1] = 1;
    cr_expect_eq(dcli_padded_elements(&row, 4), 1024, "a single row has none behind it");
    row.count[2] = 0;
    cr_expect_eq(dcli_padded_elements(&row, 4), 0);
}

Test(region, packed_counts_the_last_axis_fastest)
{
    dcl_box box = {.rank = 3, .start = {5, 6, 7}, .count = {2, 3, 4}, .stride = {1, 2, 1}};
    dcli_region region = dcli_region_packed(&box, 100);
    cr_expect_eq(region.offset, 100);
    cr_expect_eq(region.step[0], 12);
    cr_expect_eq(region.step[1], 4);
    cr_expect_eq(region.step[2], 1);
    cr_expect(dcli_box_equal(&region.box, &box));
}

Test(region, cut_follows_the_elements)
{
    dcl_box box = {.rank = 2, .start = {0, 10}, .count = {4, 6}, .stride = {1, 3}}; /* columns 10 13 16 19 22 25 */
    dcli_region region = dcli_region_packed(&box, 50), cut;
    dcl_box query = {.rank = 2, .start = {2, 13}, .count = {9, 2}, .stride = {1, 6}}; /* columns 13 19 */
    cr_assert(dcli_region_cut(&region, &query, &cut));
    cr_expect_eq(cut.offset, 50 + 2 * 6 + 1);
    cr_expect_eq(cut.step[0], 6);
    cr_expect_eq(cut.step[1], 2);
    cr_expect_eq(cut.box.count[0], 2);
    cr_expect_eq(cut.box.count[1], 2);
    query.start[1] = 14; /* 14 20: between */
    cr_expect(!dcli_region_cut(&region, &query, &region));
    cr_expect(dcli_box_is_empty(&region.box));
}

/* Offset of an index in a region that has it. */
static int64_t offset_of(const dcli_region *region, const int64_t index[])
{
    int64_t offset = region->offset;
    for (int d = 0; d < region->box.rank; d++)
        offset += (index[d] - region->box.start[d]) / region->box.stride[d] * region->step[d];
    return offset;
}

Test(region, cut_and_covers_agree_with_every_index)
{
    test_random random = SEED;
    for (int n = 0; n < 2000; n++) {
        int rank = (int)test_between(&random, 1, 3);
        int64_t side = rank == 3 ? 4 : 9, index[3] = {-side, -side, -side};
        dcl_box box = test_box(&random, rank, side), query = test_box(&random, rank, side);
        dcli_region region = {.box = box, .offset = test_between(&random, -9, 9)}, cut;
        for (int d = 0; d < rank; d++)
            region.step[d] = test_between(&random, -50, 50);
        bool some = dcli_region_cut(&region, &query, &cut), right = true, covered = true, met = false;
        do {
            bool wanted = dcli_box_contains(&query, index), in = dcli_box_contains(&box, index);
            right &= dcli_box_contains(&cut.box, index) == (wanted && in);
            if (wanted && in)
                right &= offset_of(&cut, index) == offset_of(&region, index);
            covered &= !wanted || in;
            met |= wanted && in;
        } while (test_next_index(index, rank, side));
        cr_assert(right && some == met && dcli_region_covers(&region, &query) == covered, "seed %" PRIu64 " case %d",
                  SEED, n);
    }
}

Test(region, lists_grow_and_report_lack_of_memory)
{
    dcli_region_list list = {0};
    dcl_box box = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){3});
    dcli_region region = dcli_region_packed(&box, 0);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_region_list_add(&list, &region), DCL_ERR_NOMEM);
    for (region.offset = 0; region.offset < 20; region.offset++)
        cr_assert_eq(dcli_region_list_add(&list, &region), DCL_OK);
    cr_expect_eq(dcli_region_list_add(&list, &list.region[19]), DCL_OK); /* one of its own */
    cr_expect_eq(list.count, 21);
    cr_expect_eq(list.region[20].offset, 19);
    dcli_region_list_free(&list);
    cr_expect_eq(list.count, 0);
}

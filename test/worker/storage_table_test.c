/* test/worker/holdings_test.c - storages by number, and which of them share a layout. */
#include <criterion/criterion.h>
#include <string.h>

#include "worker/storage_table.h"

enum { NODES = 2 };

static int layouts_ended;

static void count_end(void *user, const dcli_layout *layout)
{
    (void)user, (void)layout;
    layouts_ended++;
}

static dcl_status create(dcli_storage_table *storage_table, int64_t storage, const char *map, int64_t extent)
{
    dcli_msg_operand operand = {.storage = storage};
    dcli_msg_operation message = {.number = storage + 1,
                                  .kind = 1,
                                  .operand_count = 1,
                                  .operand = &operand,
                                  .type = DCL_INT32,
                                  .rank = 1,
                                  .extent = {extent},
                                  .map = map,
                                  .map_nodes = NODES,
                                  .tile_bytes = 1 << 20,
                                  .block_bytes = 1 << 10};
    return dcli_storage_table_create(storage_table, &message);
}

static dcli_layouts layouts;

static dcli_storage_table *make_table(void)
{
    static dcli_storage_table storage_table;
    layouts_ended = 0;
    dcli_layouts_init(&layouts);
    dcli_storage_table_init(&storage_table, NODES, &layouts, count_end, NULL);
    return &storage_table;
}

Test(storage_table, equal_grids_and_maps_are_one_layout)
{
    dcli_storage_table *storage_table = make_table();
    cr_assert_eq(create(storage_table, 1, "block", 16), DCL_OK, "%s", dcl_error());
    cr_assert_eq(create(storage_table, 2, "block", 16), DCL_OK, "%s", dcl_error());
    cr_assert_eq(create(storage_table, 3, "block", 17), DCL_OK, "%s", dcl_error());
    cr_assert_eq(create(storage_table, 4, "cyclic(2)", 16), DCL_OK, "%s", dcl_error());
    dcli_known_storage *one = dcli_storage_table_find(storage_table, 1),
                       *two = dcli_storage_table_find(storage_table, 2);
    cr_expect_eq(one->shared, two->shared);
    cr_expect_neq(one->shared, dcli_storage_table_find(storage_table, 3)->shared, "another grid");
    cr_expect_neq(one->shared, dcli_storage_table_find(storage_table, 4)->shared, "another map");
    cr_expect_eq(dcli_known_storage_bytes(one, 0), 8 * sizeof(int32_t));
    cr_expect_eq(storage_table->last_created, 4);
    dcli_storage_table_drop(storage_table, one);
    cr_expect_null(dcli_storage_table_find(storage_table, 1));
    cr_expect_eq(layouts_ended, 0, "storage 2 still has it");
    const dcli_layout *layout = two->shared->layout;
    dcli_storage_table_drop(storage_table, two);
    cr_expect_eq(layouts_ended, 0, "it is kept");
    cr_assert_eq(create(storage_table, 5, "block", 16), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_storage_table_find(storage_table, 5)->shared->layout, layout, "it is used again");
    dcli_storage_table_free(storage_table);
    cr_expect_eq(layouts_ended, 3);
}

/* What ends is the one that has not been used for longest. */
Test(storage_table, a_few_unused_layouts_are_kept)
{
    enum { COUNT = DCLI_MOST_UNUSED_LAYOUTS };
    dcli_storage_table *storage_table = make_table();
    for (int n = 0; n < 2 * COUNT; n++) {
        cr_assert_eq(create(storage_table, n, "block", 100 + n), DCL_OK, "%s", dcl_error());
        dcli_storage_table_drop(storage_table, dcli_storage_table_find(storage_table, n));
        cr_assert_eq(create(storage_table, 100 + n, "block", 100), DCL_OK, "%s", dcl_error());
        dcli_storage_table_drop(storage_table, dcli_storage_table_find(storage_table, 100 + n));
        cr_expect_eq(layouts_ended, n < COUNT ? 0 : n - COUNT + 1, "round %d", n);
    }
    dcli_storage_table_free(storage_table);
    cr_expect_eq(layouts_ended, 2 * COUNT);
    cr_expect_null(layouts.first);
}

Test(storage_table, a_number_is_taken_once)
{
    dcli_storage_table *storage_table = make_table();
    cr_assert_eq(create(storage_table, 1, "block", 16), DCL_OK, "%s", dcl_error());
    cr_expect_eq(create(storage_table, 1, "block", 16), DCL_ERR_PROTOCOL);
    cr_expect_not_null(strstr(dcl_error(), "creates a storage that exists"), "%s", dcl_error());
    cr_expect_null(dcli_storage_table_find(storage_table, 257), "of the same bucket");
    cr_expect_null(dcli_storage_table_find(storage_table, -1));
    dcli_storage_table_free(storage_table);
}

/* A shape that an operation uses outlives its being given up for others. */
Test(storage_table, shapes_last_as_long_as_their_uses)
{
    enum { SIDES = DCLI_MOST_SHAPES + 1 };
    static const int64_t rows[SIDES] = {2, 4, 8, 16, 32};
    dcli_storage_table *storage_table = make_table();
    dcli_shared_layout *shape[SIDES], *again;
    cr_assert_eq(create(storage_table, 1, "block(32)", 64), DCL_OK, "%s", dcl_error());
    dcli_known_storage *held = dcli_storage_table_find(storage_table, 1);
    for (int s = 0; s < SIDES; s++) {
        dcli_msg_view view = {.shape_rank = 2, .shape = {rows[s], 64 / rows[s]}};
        cr_assert_eq(dcli_storage_table_shape(storage_table, held, &view, &shape[s]), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_storage_table_shape(storage_table, held, &view, &again), DCL_OK, "%s", dcl_error());
        cr_expect_eq(again, shape[s]);
        dcli_storage_table_end_layout(storage_table, again);
    }
    cr_expect_eq(layouts_ended, 0, "the first one has been given up, and is in use");
    cr_expect_eq(storage_table->unused_count, 0);
    dcli_storage_table_end_layout(storage_table, shape[0]);
    cr_expect_eq(storage_table->unused_count, 1);
    for (int s = 1; s < SIDES; s++)
        dcli_storage_table_end_layout(storage_table, shape[s]);
    cr_expect_eq(storage_table->unused_count, 1, "the storage remembers the others");
    dcli_storage_table_free(storage_table);
    cr_expect_eq(layouts_ended, SIDES + 1);
}

/* Each peer hears when its own last use ends: the plans that it keeps are its own. */
Test(storage_table, peers_of_a_process_have_one_layout)
{
    static dcli_storage_table other;
    dcli_storage_table *storage_table = make_table();
    dcli_storage_table_init(&other, NODES, &layouts, count_end, NULL);
    cr_assert_eq(create(storage_table, 1, "block", 16), DCL_OK, "%s", dcl_error());
    cr_assert_eq(create(&other, 1, "block", 16), DCL_OK, "%s", dcl_error());
    cr_assert_eq(create(&other, 2, "block", 16), DCL_OK, "%s", dcl_error());
    const dcli_layout *layout = dcli_storage_table_find(storage_table, 1)->shared->layout;
    cr_expect_eq(dcli_storage_table_find(&other, 2)->shared->layout, layout);
    cr_expect_eq(layouts.first->uses, 2, "one of each peer");
    dcli_storage_table_free(storage_table);
    cr_expect_eq(layouts_ended, 1);
    cr_expect_eq(dcli_storage_table_find(&other, 1)->shared->layout, layout);
    dcli_storage_table_free(&other);
    cr_expect_eq(layouts_ended, 2);
    cr_expect_null(layouts.first);
}

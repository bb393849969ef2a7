/* test/resmap/map_test.c - the public functions of maps: what they make, what they answer, what they refuse. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <dcl/map.h>

#include "base/alloc.h"
#include "base/error.h"
#include "resmap/fake_cluster.h"
#include "resmap/layout.h"

static const dcl_axis block = {.kind = DCL_AXIS_BLOCK}, cyclic = {.kind = DCL_AXIS_CYCLIC},
                      whole = {.kind = DCL_AXIS_WHOLE};

static void expect_text(dcl_map *map, const char *expected)
{
    char text[128];
    cr_assert_not_null(map, "%s: %s", expected, dcl_error());
    dcl_map_print(map, text, sizeof text);
    cr_expect_str_eq(text, expected);
    dcl_map_release(map);
}

Test(map, constructors)
{
    dcl_cluster *four = test_cluster(4);
    expect_text(dcl_map_axes(four, 2, (dcl_axis[]){block, whole}, NULL), "block,*");
    expect_text(dcl_map_axes(four, 2, (dcl_axis[]){block, cyclic}, (int[]){1, 4}), "block,cyclic@1x4");
    expect_text(dcl_map_axes(four, 1, &block, NULL), "block@4");
    expect_text(dcl_map_axes(test_cluster(1), 1, &whole, NULL), "*@1");
    expect_text(dcl_map_dealt(four, DCL_ROWS, DCL_DEAL_BLOCK, 2, (int64_t[]){2, 3}), "rows:block(2x3)");
    expect_text(dcl_map_dealt(four, DCL_COLUMNS, DCL_DEAL_CYCLIC, 2, NULL), "columns:cyclic(1x1)");
    expect_text(dcl_map_dealt(four, DCL_COLUMNS, DCL_DEAL_CYCLIC, 0, NULL), "columns:cyclic");
    expect_text(dcl_map_block_cyclic(four, 2, (int64_t[]){2048, 2048}), "rows:cyclic(2048x2048)");
    const dcl_axis splits = {.kind = DCL_AXIS_SPLITS, .points = (int64_t[]){16}, .count = 1};
    const dcl_axis weighted = {.kind = DCL_AXIS_WEIGHTED, .points = (int64_t[]){1, 3}, .count = 2};
    expect_text(dcl_map_axes(four, 2, (dcl_axis[]){splits, splits}, (int[]){2, 2}), "splits(16),splits(16)@2x2");
    expect_text(dcl_map_axes(four, 2, (dcl_axis[]){block, weighted}, NULL), "block,weighted(1:3)");
    expect_text(dcl_map_block(four), "block");
    expect_text(dcl_map_default(four), "block");
    test_cluster_config()->map = "rows:cyclic(2x2)";
    expect_text(dcl_map_default(four), "rows:cyclic(2x2)");
}

Test(map, null_is_passed_through)
{
    cr_expect_null(dcl_map_axes(NULL, 1, &block, NULL));
    cr_expect_null(dcl_map_dealt(NULL, DCL_ROWS, DCL_DEAL_BLOCK, 0, NULL));
    cr_expect_null(dcl_map_block_cyclic(NULL, 1, (int64_t[]){1}));
    cr_expect_null(dcl_map_block(NULL));
    cr_expect_null(dcl_map_default(NULL));
    cr_expect_null(dcl_map_parse(NULL, "block"));
    cr_expect_null(dcl_map_with_grains(NULL, 1, NULL, NULL));
    cr_expect_null(dcl_map_retain(NULL));
    cr_expect_eq(dcl_map_node_count(NULL), 0);
    dcl_map_release(NULL);
}

static void expect_refused(dcl_map *map, const char *words)
{
    cr_expect_null(map, "accepted; expected: %s", words);
    cr_expect_eq(dcli_error_status(), DCL_ERR_INVALID, "%s: %s", words, dcl_status_name(dcli_error_status()));
    cr_expect_not_null(strstr(dcl_error(), words), "%s; expected the words: %s", dcl_error(), words);
}

Test(map, constructors_refuse)
{
    dcl_cluster *four = test_cluster(4);
    dcl_axis axes[] = {block, whole, cyclic};
    expect_refused(dcl_map_axes(four, 0, axes, NULL), "dcl_map_axes: rank is 0; expected 1..8");
    expect_refused(dcl_map_axes(four, 9, axes, NULL), "rank is 9; expected 1..8");
    expect_refused(dcl_map_axes(four, 2, NULL, NULL), "axes is NULL; expected 2 rules");
    expect_refused(dcl_map_axes(four, 2, axes, (int[]){4, 0}), "nodes[1] is 0; expected at least 1");
    expect_refused(dcl_map_axes(four, 2, axes, (int[]){0, 0}), "nodes[0] is 0; expected at least 1");
    expect_refused(dcl_map_axes(four, 2, axes, (int[]){2, 2}), "nodes[1] is 2; expected 1");
    expect_refused(dcl_map_axes(four, 2, axes, (int[]){3, 1}), "the arrangement has 3 nodes; expected 4");
    expect_refused(dcl_map_axes(four, 1, &whole, NULL), "every axis is whole (`*`) and there are 4 nodes");
    axes[2].size = -1;
    expect_refused(dcl_map_axes(four, 3, axes, NULL), "axes[2].size is -1; expected at least 1 element, or 0");
    axes[1].size = 3;
    expect_refused(dcl_map_axes(four, 3, axes, NULL), "axes[1].size is 3; expected 0, for the axis is whole");
    axes[0].kind = (dcl_axis_kind)17;
    expect_refused(dcl_map_axes(four, 3, axes, NULL), "axes[0].kind is 17; expected DCL_AXIS_WHOLE");

    int64_t piece[] = {2, 0};
    expect_refused(dcl_map_block_cyclic(four, 2, piece), "dcl_map_block_cyclic: piece[1] is 0; expected at least 1");
    expect_refused(dcl_map_block_cyclic(four, 2, NULL), "piece is NULL; expected 2 sizes");
    expect_refused(dcl_map_block_cyclic(four, 0, piece), "rank is 0");
    expect_refused(dcl_map_dealt(four, DCL_ROWS, DCL_DEAL_BLOCK, 0, piece), "dcl_map_dealt: rank is 0");
    expect_refused(dcl_map_dealt(four, (dcl_order)2, DCL_DEAL_BLOCK, 1, piece), "order is 2; expected DCL_ROWS");
    expect_refused(dcl_map_dealt(four, DCL_ROWS, (dcl_deal)-1, 1, piece), "deal is -1; expected DCL_DEAL_CYCLIC");
    expect_refused(dcl_map_dealt(four, DCL_ROWS, DCL_DEAL_BLOCK, 1, (int64_t[]){INT64_MIN}), "piece[0] is -9223372");
    expect_refused(dcl_map_parse(four, NULL), "text is NULL");
    test_cluster_config()->map = "rows:cyclc";
    expect_refused(dcl_map_default(four), "dcl_map_default: map \"rows:cyclc\": column 6: found \"cyclc\"");
}

/* Split points {16} x {16} of a grid of 36 x 36: (1+1) * (1+1) segments. */
Test(map, four_segments)
{
    const dcl_axis splits = {.kind = DCL_AXIS_SPLITS, .points = (int64_t[]){16}, .count = 1};
    static const int64_t expected[] = {16 * 16, 16 * 20, 20 * 16, 20 * 20};
    dcl_map *map = dcl_map_axes(test_cluster(4), 2, (dcl_axis[]){splits, splits}, NULL);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 36, 36);
    for (int node = 0; node < 4; node++) {
        int64_t elements = 0;
        cr_assert_eq(dcl_map_storage(map, &grid, node, &elements), DCL_OK, "%s", dcl_error());
        cr_expect_eq(elements, expected[node]);
    }
    dcl_map_release(map);
}

static dcl_box box_1d(int64_t start, int64_t count)
{
    return (dcl_box){.rank = 1, .start = {start}, .count = {count}, .stride = {1}};
}

static int owner_of_piece(void *user, const int64_t piece[])
{
    ++*(int *)user;
    return (int)((piece[0] + 2 * piece[1]) % 3);
}

Test(map, listed_owners)
{
    dcl_cluster *three = test_cluster(3);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 4, 5);
    int calls = 0;
    expect_text(dcl_map_hash(three, DCL_ROWS, 2, (int64_t[]){2, 2}, 5), "rows:hash(2x2);seed=5");
    expect_text(dcl_map_hash(three, DCL_COLUMNS, 0, NULL, 0), "columns:hash");
    expect_text(dcl_map_replicated(three, 0), "replicated");
    expect_text(dcl_map_replicated(three, 2), "replicated(2)");
    dcl_map *all = dcl_map_replicated(three, 0);
    expect_text(dcl_map_on(all, 2, (int[]){0, 2}), "replicated;nodes=0,2");
    dcl_map_release(all);
    expect_text(dcl_map_table(three, DCL_ROWS, 1, (int64_t[]){4}, 5, (int[]){0, 0, 2, 2, 1}),
                "rows:table(4);owners=0*2,2*2,1");
    expect_text(dcl_map_function(three, DCL_ROWS, 2, (int64_t[]){2, 2}, &grid, owner_of_piece, &calls),
                "rows:table(2x2);owners=0,2,1*2,0,2");
    expect_text(dcl_map_function(three, DCL_COLUMNS, 2, (int64_t[]){2, 2}, &grid, owner_of_piece, &calls),
                "columns:table(2x2);owners=0,1,2,0,1,2");
    cr_expect_eq(calls, 12);
    expect_text(dcl_map_listed(three, 2, (dcl_box[]){box_1d(3, 4), box_1d(-2, 5)}, (int[]){2, 0}),
                "boxes:[3:7]@2,[-2:3]@0");
}

static void expect_unbound(const char *map, const char *words)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 4, 6);
    int64_t elements;
    dcl_map *parsed = dcl_map_parse(test_cluster(3), map);
    cr_assert_not_null(parsed, "%s", dcl_error());
    cr_expect_eq(dcl_map_storage(parsed, &grid, 0, &elements), DCL_ERR_INVALID, "%s was laid over the grid", map);
    cr_expect_not_null(strstr(dcl_error(), words), "%s; expected the words: %s", dcl_error(), words);
    dcl_map_release(parsed);
}

Test(map, lists_that_do_not_fit_the_grid)
{
    expect_unbound("rows:table(2x2);owners=0*5", "piece 5 has no owner: the table has 5 owners and the grid 6 pieces");
    expect_unbound("rows:table(2x2);owners=0*7", "the table has 7 owners and the grid 6 pieces");
    expect_unbound("boxes:[0:4,0:5]@0", "no box of the map has index (0,5)");
    expect_unbound("boxes:[0:2,0:6]@0,[2:4,1:6]@1", "no box of the map has index (2,0)");
    expect_unbound("boxes:[0:4,0:4]@0,[0:4,3:6]@1", "boxes 0 and 1 of the map both have index (0,3)");
    expect_unbound("boxes:[0:4,0:7]@0", "box 0 of the map has the indices 0..6 of axis 1; the grid has 0..5");
    expect_unbound("boxes:[0:4]@0", "the map serves grids of rank 1; the grid has rank 2");
}

/* Boxes of 2, 1, 1, 9 and 3 elements of one node in tiles of 4: the first three share one. */
Test(map, tiles_of_boxes)
{
    dcl_map *map = dcl_map_parse(test_cluster(1), "boxes:[0:2]@0,[2:3]@0,[3:4]@0,[4:13]@0,[13:16]@0;tile=4");
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 16);
    dcli_layout layout;
    cr_assert_eq(dcli_layout_bind(&map->rule, &grid, &layout), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_layout_tile_count(&layout, 0), 5);
    dcli_region_list list = {0};
    cr_assert_eq(dcli_layout_tiles(&layout, 0, 0, 2, &list), DCL_OK);
    cr_expect_eq(list.count, 4);
    cr_expect_eq(list.region[3].box.start[0], 4);
    cr_expect_eq(list.region[3].box.count[0], 4);
    dcli_region_list_free(&list);
    dcli_layout_release(&layout);
    dcl_map_release(map);
}

Test(map, lists_refused)
{
    dcl_cluster *four = test_cluster(4);
    int64_t points[] = {2, 1, -1};
    dcl_axis axis = {.kind = DCL_AXIS_SPLITS, .count = 1};
    expect_refused(dcl_map_axes(four, 1, &axis, NULL),
                   "axes[0].points is NULL; expected an array of split points, as many as axes[0].count");
    axis.count = 0;
    expect_refused(dcl_map_axes(four, 1, &axis, NULL), "axes[0] has 0 split points; expected 1..1048576");
    axis.points = points;
    axis.count = 2;
    expect_refused(dcl_map_axes(four, 1, &axis, NULL), "axes[0].points[1] is 1; expected 3..");
    axis.size = 4;
    expect_refused(dcl_map_axes(four, 1, &axis, NULL), "axes[0].size is 4; expected 0, for the axis is divided by its");
    axis = (dcl_axis){.kind = DCL_AXIS_WEIGHTED, .points = points, .count = 3};
    expect_refused(dcl_map_axes(four, 1, &axis, NULL), "axes[0].points[2] is -1; expected a share of at least 0");
    axis.count = 2;
    expect_refused(dcl_map_axes(four, 1, &axis, NULL),
                   "the shares are for 2 nodes and the map has 4; expected as many");
    expect_refused(dcl_map_axes(four, 1, &axis, (int[]){4}),
                   "nodes[0] is 4; expected 2, for axis 0 has as many shares");
}

/* Over a grid of 6 x 8 and 4 nodes: what holds, the largest and smallest part, the shortest run. */
Test(map, properties)
{
    static const struct {
        const char *map;
        const char *letters; /* closed form, per axis, rectangular, contiguous, balanced */
        int owners;
        int64_t most, least, run;
    } rows[] = {
        {"block", "cprB", 4, 12, 12, 4},
        {"block,*", "cpr+", 4, 16, 8, 8},
        {"*,block", "cprB", 4, 12, 12, 2},
        {"cyclic,*", "cp", 4, 16, 8, 8},
        {"*,cyclic", "cpB", 4, 12, 12, 1},
        {"splits(2,3,5),*", "pr+", 4, 16, 8, 8},
        {"rows:block", "c+B", 4, 12, 12, 4},
        {"rows:cyclic(2x2)", "crB", 4, 12, 12, 2},
        {"rows:cyclic(2x3)", "c", 4, 16, 10, 2},
        {"rows:hash(3x4)", "crB", 4, 12, 12, 4},
        {"rows:table(6x4);owners=1,1", "r+", 1, 48, 0, 4},
        {"boxes:[0:6,0:8]@2", "r+", 1, 48, 0, 8},
        {"replicated", "cpr+", 1, 48, 0, 8},
        {"cyclic(100),*", "cpr+", 1, 48, 0, 8},
    };
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 6, 8);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        dcl_map_properties found;
        char letters[8] = "";
        dcl_map *map = dcl_map_parse(test_cluster(4), rows[r].map);
        cr_assert_eq(dcl_map_describe(map, &grid, &found), DCL_OK, "%s: %s", rows[r].map, dcl_error());
        strcat(letters, found.closed_form ? "c" : "");
        strcat(letters, found.per_axis ? "p" : "");
        strcat(letters, found.rectangular ? "r" : "");
        strcat(letters, found.contiguous ? "+" : "");
        strcat(letters, found.balanced ? "B" : "");
        cr_expect_str_eq(letters, rows[r].letters, "%s: %s; expected %s", rows[r].map, letters, rows[r].letters);
        cr_expect(found.complete);
        cr_expect_eq(found.owners, rows[r].owners, "%s: %d owners", rows[r].map, found.owners);
        cr_expect_eq(found.most, rows[r].most, "%s: most %" PRId64, rows[r].map, found.most);
        cr_expect_eq(found.least, rows[r].least, "%s: least %" PRId64, rows[r].map, found.least);
        cr_expect_eq(found.run, rows[r].run, "%s: run %" PRId64, rows[r].map, found.run);
        cr_expect_eq(found.copies, strcmp(rows[r].map, "replicated") == 0 ? 4 : 0);
        cr_expect_float_eq(found.imbalance, (double)rows[r].most / 12, 1e-9);
        dcl_map_release(map);
    }
    dcl_map *map = dcl_map_block(test_cluster(4));
    cr_expect_eq(dcl_map_describe(map, &grid, NULL), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "dcl_map_describe: properties_out is NULL"), "%s", dcl_error());
    cr_expect_eq(dcl_map_describe(NULL, &grid, &(dcl_map_properties){0}), DCL_ERR_INVALID);
    dcl_map_release(map);
}

Test(map, long_runs_of_owners_do_not_overflow)
{
    dcl_map *map = dcl_map_parse(test_cluster(2), "rows:table;owners=0*9223372036854775807,0*9223372036854775807,0*11");
    cr_expect_null(map);
    cr_expect_not_null(strstr(dcl_error(), "pieces stands in the list of owners"), "%s", dcl_error());
}

Test(map, constructors_of_lists_refuse)
{
    dcl_cluster *four = test_cluster(4);
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 8), large = dcl_grid_2d(DCL_FLOAT, 1 << 20, 1 << 20);
    int64_t nothing = 0;
    dcl_box strided = {.rank = 1, .start = {0}, .count = {4}, .stride = {2}};
    expect_refused(dcl_map_hash(four, DCL_ROWS, 0, NULL, -1), "dcl_map_hash: seed is -1; expected 0..2147483647");
    expect_refused(dcl_map_replicated(four, 5), "the map is for copies on 5 nodes; expected 1..4");
    expect_refused(dcl_map_replicated(four, -1), "the map is for copies on -1 nodes");
    expect_refused(dcl_map_hash(four, DCL_ROWS, 9, NULL, 0), "rank is 9");
    expect_refused(dcl_map_table(four, DCL_ROWS, 1, NULL, 0, (int[]){0}), "0 owners are given; expected a node for");
    expect_refused(dcl_map_table(four, DCL_ROWS, 1, NULL, 2, NULL), "owners is NULL; expected a node for every piece");
    expect_refused(dcl_map_table(four, DCL_ROWS, 1, NULL, 2, (int[]){0, 4}), "the owner of piece 1 is node 4");
    expect_refused(dcl_map_dealt(four, DCL_ROWS, DCL_DEAL_TABLE, 0, NULL), "call dcl_map_table()");
    expect_refused(dcl_map_function(four, DCL_ROWS, 1, NULL, &grid, NULL, NULL), "owner is NULL");
    expect_refused(dcl_map_function(four, DCL_ROWS, 1, NULL, NULL, owner_of_piece, NULL), "grid is NULL");
    expect_refused(dcl_map_function(four, DCL_ROWS, 2, NULL, &grid, owner_of_piece, NULL), "rank 1; expected 2");
    expect_refused(dcl_map_function(four, DCL_ROWS, 1, &nothing, &grid, owner_of_piece, NULL), "piece[0] is 0");
    expect_refused(dcl_map_function(four, DCL_ROWS, 2, NULL, &large, owner_of_piece, NULL), "has too many pieces");
    expect_refused(dcl_map_listed(four, 0, NULL, NULL),
                   "0 boxes are given; expected at least one, and a node for each");
    expect_refused(dcl_map_listed(four, 1, &strided, NULL), "nodes is NULL; expected boxes, and a node for each");
    expect_refused(dcl_map_listed(four, 1, &strided, (int[]){0}), "boxes[0].stride[0] is 2; expected 1");
    expect_refused(dcl_map_listed(four, 2, (dcl_box[]){box_1d(0, 4), dcl_box_of(&large)}, (int[]){0, 1}),
                   "boxes[1] has rank 2; expected all of one rank");
    expect_refused(dcl_map_listed(four, 1, (dcl_box[]){box_1d(0, 0)}, (int[]){0}), "box 0 has 0 elements along axis 0");
    expect_refused(dcl_map_listed(four, 1, (dcl_box[]){box_1d(0, 4)}, (int[]){7}), "box 0 is for node 7");
}

Test(map, grains)
{
    dcl_map *plain = dcl_map_block(test_cluster(4));
    dcl_map *grained = dcl_map_with_grains(plain, 2, (int64_t[]){4, 5}, (int64_t[]){6, 7});
    cr_expect_not(dcl_map_equal(plain, grained));
    dcl_map *kept = dcl_map_with_grains(grained, 2, NULL, (int64_t[]){8, 9});
    expect_refused(dcl_map_with_grains(plain, 0, NULL, NULL), "dcl_map_with_grains: rank is 0");
    expect_refused(dcl_map_with_grains(plain, 2, (int64_t[]){1, 0}, NULL), "block[1] is 0; expected at least 1");
    expect_refused(dcl_map_with_grains(grained, 3, NULL, (int64_t[]){1, 2, 3}), "the block has 2 sizes and the tile 3");
    expect_text(kept, "block;block=4x5;tile=8x9");
    expect_text(grained, "block;block=4x5;tile=6x7");
    dcl_map_release(plain);
}

Test(map, equal)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"block", "block", true},
        {"block", "cyclic", false},
        {"cyclic", "cyclic(1)", true},
        {"block,block", "block@2x2", true},
        {"block,block", "block@4x1", false},
        {"block,*", "block,*@4", true},
        {"block", "block,block", false}, /* one serves all ranks */
        {"rows:cyclic(2x2)", "rows:block(2x2)", false},
        {"rows:cyclic(2x2)", "columns:cyclic(2x2)", false},
        {"rows:cyclic(2x2)", "rows:cyclic(2x3)", false},
        {"rows:cyclic", "rows:cyclic(1)", false},
        {"block;tile=2x2", "block", false},
        {"block;tile=2x2", "block;block=2x2", false},
        {"block;tile=2x2", "block;tile=2x2", true},
        {"block;nodes=0-1", "block;nodes=0-1", true},
        {"block;nodes=0-1", "block;nodes=1-2", false},
        {"block;nodes=0-1", "block;nodes=0,2", false},
        {"block;nodes=0-1", "block;nodes=0-2", false},
        {"block;nodes=0-3", "block", true},
        {"block;nodes=0-2", "block", false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        dcl_map *a = dcl_map_parse(test_cluster(4), rows[k].a), *b = dcl_map_parse(test_cluster(4), rows[k].b);
        cr_expect_eq(dcl_map_equal(a, b), rows[k].equal, "%s and %s", rows[k].a, rows[k].b);
        cr_expect(dcl_map_equal(a, a) && !dcl_map_equal(a, NULL) && dcl_map_equal(NULL, NULL));
        dcl_map_release(a);
        dcl_map_release(b);
    }
    dcl_map *a = dcl_map_block(test_cluster(4)), *b = dcl_map_block(test_cluster(5));
    cr_expect_not(dcl_map_equal(a, b));
    dcl_map_release(a);
    dcl_map_release(b);
}

Test(map, over_the_nodes_named)
{
    dcl_cluster *six = test_cluster(6);
    dcl_map *all = dcl_map_parse(six, "cyclic(2);tile=4");
    dcl_map *some = dcl_map_on(all, 3, (int[]){4, 0, 1});
    cr_assert_not_null(some, "%s", dcl_error());
    cr_expect_eq(dcl_map_node_count(some), 3);
    cr_expect(dcl_map_node(some, 0) == 0 && dcl_map_node(some, 1) == 1 && dcl_map_node(some, 2) == 4);
    cr_expect(dcl_map_node(some, 3) == -1 && dcl_map_node(some, -1) == -1 && dcl_map_node(NULL, 0) == -1);
    cr_expect(dcl_map_node(all, 5) == 5 && dcl_map_node(all, 6) == -1);
    expect_text(dcl_map_on(some, 6, (int[]){5, 4, 3, 2, 1, 0}), "cyclic(2);tile=4");
    expect_text(dcl_map_on(some, 1, (int[]){5}), "cyclic(2);tile=4;nodes=5");
    expect_text(some, "cyclic(2);tile=4;nodes=0-1,4");
    expect_text(all, "cyclic(2);tile=4");
    cr_expect_null(dcl_map_on(NULL, 1, (int[]){0}));
}

Test(map, over_the_nodes_named_refuses)
{
    dcl_map *block_map = dcl_map_block(test_cluster(4)), *square = dcl_map_parse(test_cluster(4), "block@2x2");
    expect_refused(dcl_map_on(block_map, 0, (int[]){0}), "dcl_map_on: 0 nodes are given; expected the numbers of one");
    expect_refused(dcl_map_on(block_map, 2, NULL), "nodes is NULL; expected the numbers of nodes");
    expect_refused(dcl_map_on(block_map, 2, (int[]){0, 4}), "nodes[1] is 4; expected a node of the cluster, 0..3");
    expect_refused(dcl_map_on(block_map, 2, (int[]){-1, 0}), "nodes[0] is -1; expected a node");
    expect_refused(dcl_map_on(block_map, 3, (int[]){2, 0, 2}), "nodes[2] is 2 again; expected every node once");
    expect_refused(dcl_map_on(square, 3, (int[]){0, 1, 3}), "the arrangement has 4 nodes; expected 3");
    dcli_alloc_fail_after(1);
    cr_expect_null(dcl_map_on(block_map, 1, (int[]){0}));
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
    dcl_map_release(block_map);
    dcl_map_release(square);
}

/* 64 nodes in 32 ranges of one, and one range more. */
Test(map, over_at_most_32_ranges)
{
    char text[256] = "block;nodes=0";
    int node[65];
    for (int k = 0; k < 33; k++)
        node[k] = 2 * k;
    for (int k = 1; k < 33; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", 2 * k);
    dcl_map *map = dcl_map_block(test_cluster(66)), *most = dcl_map_on(map, 32, node);
    cr_assert_not_null(most, "%s", dcl_error());
    cr_expect(dcl_map_node(most, 31) == 62 && dcl_map_node_count(most) == 32);
    expect_refused(dcl_map_on(map, 33, node), "the nodes of the map make more than 32 ranges");
    expect_refused(dcl_map_parse(test_cluster(66), text), "the nodes of the map make more than 32 ranges");
    for (int k = 33; k < 65; k++) /* those between them: one range */
        node[k] = 2 * (k - 33) + 1;
    expect_text(dcl_map_on(map, 65, node), "block;nodes=0-64");
    for (int k = 1; k < 64; k += 2)
        test_cluster_lose(test_cluster(66), k);
    expect_refused(dcl_map_block(test_cluster(66)), "dcl_map_block: the nodes of the map make more than 32 ranges");
    dcl_map_release(map);
    dcl_map_release(most);
}

/* New maps are for the nodes that are left; older ones keep theirs, and say so. */
Test(map, over_the_nodes_alive)
{
    dcl_cluster *four = test_cluster(4);
    dcl_map *before = dcl_map_block(four);
    test_cluster_lose(four, 0);
    test_cluster_lose(four, 2);
    expect_text(dcl_map_block(four), "block;nodes=1,3");
    expect_text(dcl_map_axes(four, 2, (dcl_axis[]){block, cyclic}, (int[]){1, 2}), "block,cyclic@1x2;nodes=1,3");
    expect_text(dcl_map_block_cyclic(four, 1, (int64_t[]){7}), "rows:cyclic(7);nodes=1,3");
    expect_text(dcl_map_parse(four, "cyclic;tile=3"), "cyclic;tile=3;nodes=1,3");
    expect_text(dcl_map_parse(four, "cyclic;nodes=0-1"), "cyclic;nodes=0-1");
    expect_refused(dcl_map_parse(four, "block@2x2"), "the arrangement has 4 nodes; expected 2");
    expect_text(dcl_map_retain(before), "block;nodes=0-3");
    dcl_map *again = dcl_map_parse(four, "block;nodes=0-3");
    cr_expect(dcl_map_equal(before, again));
    dcl_map_release(again);
    dcl_map *grained = dcl_map_with_grains(before, 1, NULL, (int64_t[]){2});
    cr_expect_eq(dcl_map_node_count(grained), 4);
    dcl_map_release(grained);
    dcl_map_release(before);
    test_cluster_lose(four, 1);
    test_cluster_lose(four, 3);
    cr_expect_null(dcl_map_block(four));
    cr_expect_eq(dcli_error_status(), DCL_ERR_NODE_LOST);
    cr_expect_not_null(strstr(dcl_error(), "no node of the cluster is left"), "%s", dcl_error());
}

Test(map, a_map_lives_until_its_last_hold_ends)
{
    dcl_map *map = dcl_map_block(test_cluster(3));
    cr_expect_eq(dcl_map_retain(map), map);
    dcl_map_release(map);
    cr_expect_eq(dcl_map_node_count(map), 3);
    dcl_map_release(map);
}

Test(map, memory_may_run_out)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 10);
    dcli_alloc_fail_after(1);
    cr_expect_null(dcl_map_block(test_cluster(3)));
    cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
    dcl_map *map = dcl_map_block(test_cluster(3));
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcl_map_boxes(map, &grid, 0, NULL, NULL), DCL_ERR_INVALID);
    dcli_alloc_fail_after(0);
    dcl_map_release(map);
}

struct locate_case {
    char what[32], map[32];
    int64_t extent[2], index[2];
    dcl_status status;
    int node;
    int64_t offset;
};

ParameterizedTestParameters(map, locate)
{
    static struct locate_case cases[] = {
        /* what               map                 extent    index   status  node offset; 4 nodes, origin 10, -10 */
        {"first", "block", {6, 6}, {10, -10}, DCL_OK, 0, 0},
        {"second row", "block", {6, 6}, {11, -9}, DCL_OK, 0, 4},
        {"last", "block", {6, 6}, {15, -5}, DCL_OK, 3, 8},
        {"uneven: longer first", "block,*", {6, 6}, {13, -10}, DCL_OK, 1, 6},
        {"uneven: shorter last", "block,*", {6, 6}, {15, -10}, DCL_OK, 3, 0},
        {"fewer than nodes", "block,*", {2, 6}, {11, -5}, DCL_OK, 1, 5},
        {"wraps to node 0", "cyclic(1),*", {6, 6}, {14, -9}, DCL_OK, 0, 7},
        {"cut edge keeps a slot", "rows:cyclic(4x4)", {6, 6}, {14, -6}, DCL_OK, 3, 0},
        {"in a cut piece", "rows:cyclic(4x4)", {6, 6}, {15, -10}, DCL_OK, 2, 4},
        {"piece clamped", "rows:cyclic(99x1)", {6, 6}, {15, -6}, DCL_OK, 0, 11},
        {"one before the start", "block", {6, 6}, {9, -10}, DCL_ERR_RANGE, -1, -1},
        {"one past the end", "block", {6, 6}, {10, -4}, DCL_ERR_RANGE, -1, -1},
        {"no elements", "block", {6, 0}, {10, -10}, DCL_ERR_RANGE, -1, -1},
        {"another rank", "block,block,block", {6, 6}, {10, -10}, DCL_ERR_INVALID, -1, -1},
        {"block too small", "block(1),*", {6, 6}, {10, -10}, DCL_ERR_INVALID, -1, -1},
        {"the third of three nodes", "block,*;nodes=0-1,3", {6, 6}, {15, -5}, DCL_OK, 3, 11},
        {"dealt to two nodes", "rows:cyclic(4x4);nodes=1,3", {6, 6}, {14, -6}, DCL_OK, 3, 16},
    };
    return cr_make_param_array(struct locate_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct locate_case *c, map, locate)
{
    dcl_map *map = dcl_map_parse(test_cluster(4), c->map);
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, 2, c->extent, (int64_t[]){10, -10});
    int node = -1; /* stays so when the call fails: outputs are untouched */
    int64_t offset = -1;
    cr_expect_eq(dcl_map_locate(map, &grid, c->index, &node, &offset), c->status, "%s: %s", c->what, dcl_error());
    cr_expect_eq(node, c->node, "%s: node %d, expected %d", c->what, node, c->node);
    cr_expect_eq(offset, c->offset, "%s: offset %" PRId64 ", expected %" PRId64, c->what, offset, c->offset);
    dcl_map_release(map);
}

static void expect_words(dcl_status status, dcl_status expected, const char *words)
{
    cr_expect_eq(status, expected, "%s: %s", words, dcl_status_name(status));
    cr_expect_not_null(strstr(dcl_error(), words), "%s; expected the words: %s", dcl_error(), words);
}

static dcl_status storage_of(const char *text, dcl_grid grid)
{
    int64_t elements;
    dcl_map *map = dcl_map_parse(test_cluster(4), text);
    cr_assert_not_null(map, "%s", dcl_error());
    dcl_status status = dcl_map_storage(map, &grid, 0, &elements);
    dcl_map_release(map);
    return status;
}

Test(map, grids_that_do_not_fit)
{
    dcl_grid square = dcl_grid_2d(DCL_FLOAT, 10, 10);
    dcl_grid negative = dcl_grid_2d(DCL_FLOAT, -1, 10), wide = dcl_grid_2d(DCL_INT8, 0, INT64_MAX);
    expect_words(storage_of("block,block,block", square), DCL_ERR_INVALID,
                 "dcl_map_storage: the map serves grids of rank 3; the grid has rank 2");
    expect_words(
        storage_of("block(2),*", square), DCL_ERR_INVALID,
        "axis 0 is block(2) over 4 nodes, room for 8 elements; expected at least the extent, 10; use block(3)");
    expect_words(storage_of("block;tile=2x2x2", square), DCL_ERR_INVALID, "grains have 3 sizes; the grid has rank 2");
    expect_words(storage_of("block", negative), DCL_ERR_INVALID, "extent[0] is -1");
    expect_words(storage_of("block", wide), DCL_ERR_INVALID, "extent[1] is 9223372036854775807; maps serve at most");
    expect_words(storage_of("rows:cyclic(5x4611686018427387)", dcl_grid_2d(DCL_INT8, 8, 1000000000000000000)),
                 DCL_ERR_INVALID, "the storage of the grid exceeds");
}

static dcl_status count_box(void *user, const dcl_box *box)
{
    *(int64_t *)user += box->count[0];
    return DCL_OK;
}

Test(map, nodes_that_a_map_does_not_use)
{
    dcl_map *map = dcl_map_parse(test_cluster(5), "cyclic(2);nodes=1,3");
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 9);
    const int64_t expected[] = {0, 5, 0, 4, 0};
    for (int node = 0; node < 5; node++) {
        int64_t stored = -1, owned = 0;
        cr_assert_eq(dcl_map_storage(map, &grid, node, &stored), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcl_map_boxes(map, &grid, node, count_box, &owned), DCL_OK, "%s", dcl_error());
        cr_expect(stored == expected[node] && owned == expected[node], "node %d: %" PRId64 " stored, %" PRId64 " owned",
                  node, stored, owned);
    }
    dcl_map_release(map);
}

static dcl_status stop_at_once(void *user, const dcl_box *box)
{
    (void)box;
    ++*(int *)user;
    return DCL_ERR_UNSUPPORTED;
}

Test(map, arguments_that_are_wrong)
{
    dcl_map *map = dcl_map_parse(test_cluster(4), "rows:cyclic(2x2)");
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 8, 8);
    int node, calls = 0;
    int64_t at = 0, index[] = {0, 8};
    expect_words(dcl_map_locate(NULL, &grid, index, &node, &at), DCL_ERR_INVALID, "dcl_map_locate: map is NULL");
    expect_words(dcl_map_locate(map, NULL, index, &node, &at), DCL_ERR_INVALID, "grid is NULL");
    expect_words(dcl_map_locate(map, &grid, NULL, &node, &at), DCL_ERR_INVALID,
                 "index, node_out or offset_out is NULL");
    expect_words(dcl_map_locate(map, &grid, index, &node, &at), DCL_ERR_RANGE, "index[1] is 8; expected 0..7");
    expect_words(dcl_map_storage(map, &grid, 4, &at), DCL_ERR_INVALID, "dcl_map_storage: node is 4; expected 0..3");
    expect_words(dcl_map_storage(map, &grid, 0, NULL), DCL_ERR_INVALID, "elements_out is NULL");
    expect_words(dcl_map_boxes(map, &grid, -1, stop_at_once, &calls), DCL_ERR_INVALID, "node is -1; expected 0..3");
    expect_words(dcl_map_boxes(map, &grid, 0, NULL, &calls), DCL_ERR_INVALID, "visit is NULL");
    cr_expect_eq(dcl_map_boxes(map, &grid, 0, stop_at_once, &calls), DCL_ERR_UNSUPPORTED);
    cr_expect_eq(calls, 1);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcl_map_boxes(map, &grid, 0, stop_at_once, &calls), DCL_ERR_NOMEM);
    dcl_map_release(map);
}

Test(map, small_grids_of_the_default_map_stay_on_one_node)
{
    dcl_map *map = dcl_map_default(test_cluster(4)); /* below 16 KB */
    dcl_grid small = dcl_grid_1d(DCL_FLOAT, 4095), large = dcl_grid_1d(DCL_FLOAT, 4096);
    int node;
    int64_t at, index = 4094;
    cr_assert_eq(dcl_map_locate(map, &small, &index, &node, &at), DCL_OK);
    cr_expect(node == 0 && at == 4094, "node %d, offset %" PRId64, node, at);
    cr_assert_eq(dcl_map_storage(map, &small, 1, &at), DCL_OK);
    cr_expect_eq(at, 0);
    cr_assert_eq(dcl_map_locate(map, &large, &index, &node, &at), DCL_OK);
    cr_expect(node == 3 && at == 1022, "node %d, offset %" PRId64, node, at);
    dcl_map *without = dcl_map_on(map, 2, (int[]){1, 3}); /* there is no node 0: on its first */
    cr_assert_eq(dcl_map_locate(without, &small, &index, &node, &at), DCL_OK);
    cr_expect(node == 1 && at == 4094, "node %d, offset %" PRId64, node, at);
    dcl_map_release(without);
    dcl_map_release(map);
}

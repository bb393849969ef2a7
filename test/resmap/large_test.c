/* test/resmap/large_test.c - grids far too large to be walked: storage, padding, grains, and that answers cost what they
 * return. A scan over any of these grids would not end. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "resmap/fake_cluster.h"
#include "resmap/map_text.h"
#include "segment/random.h"

static dcli_layout bind(const char *map, int nodes, dcl_grid grid)
{
    dcli_map_rule rule;
    dcli_layout layout;
    cr_assert_eq(dcli_map_rule_parse(map, nodes, &rule), DCL_OK, "%s: %s", map, dcl_error());
    cr_assert_eq(dcli_layout_bind(&rule, &grid, &layout), DCL_OK, "%s: %s", map, dcl_error());
    return layout;
}

struct storage_row {
    char map[32];
    int nodes;
    dcl_type type;
    int64_t rows, columns, expected; /* elements on node 0 */
};

ParameterizedTestParameters(large, storage)
{
    static struct storage_row rows[] = {
        {"block", 4, DCL_FLOAT, 10000, 10000, 5000 * 5000},
        {"block,*", 4, DCL_FLOAT, 10000, 10000, 2500 * 10000},
        {"rows:cyclic", 4, DCL_FLOAT, 10000, 10000, 25000000},
        {"rows:block", 4, DCL_FLOAT, 10000, 10000, 25000000},
        {"rows:cyclic(64x64)", 4, DCL_FLOAT, 10000, 10000, 157 * 157 / 4 * 4096 + 4096},
        /* rows near a multiple of 4096 bytes are moved on by 128 bytes, or 256 */
        {"block", 4, DCL_FLOAT, 16384, 16384, 8192 * (8192 + 32)},
        {"block", 1, DCL_FLOAT, 8192, 8192, 8192 * (8192 + 32)},
        {"block", 1, DCL_DOUBLE, 8, 512, 8 * (512 + 16)},
        {"block", 1, DCL_INT8, 8, 4096, 8 * (4096 + 128)},
        {"block", 1, DCL_INT8, 8, 4095, 8 * 4095},
        {"block", 1, DCL_INT8, 8, 4223, 8 * (4223 + 128)},
        {"block", 1, DCL_INT8, 8, 4224, 8 * 4224},
        {"block", 1, DCL_INT8, 8, 8064, 8 * 8064},
        {"block", 1, DCL_INT8, 8, 8065, 8 * (8065 + 256)},
        {"block,*", 4, DCL_FLOAT, 3, 1000, 1000},
        {"block", 1, DCL_FLOAT, 0, 4096, 0},
    };
    return cr_make_param_array(struct storage_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct storage_row *row, large, storage)
{
    dcli_layout layout = bind(row->map, row->nodes, dcl_grid_2d(row->type, row->rows, row->columns));
    int64_t elements = dcli_layout_storage(&layout, 0);
    cr_expect_eq(elements, row->expected, "%s on %d nodes, %" PRId64 " x %" PRId64 ": %" PRId64 "; expected %" PRId64,
                 row->map, row->nodes, row->rows, row->columns, elements, row->expected);
}

/* Padding keeps all rows of 4 KB and more at least 64 bytes away from multiples of 4096, at 5 % at most. */
Test(large, padding_is_small_and_sufficient)
{
    static const dcl_type types[] = {DCL_INT8, DCL_HALF, DCL_FLOAT, DCL_DOUBLE};
    for (int t = 0; t < 4; t++)
        for (int64_t row = 4096 / (int64_t)dcl_type_bytes(types[t]); row < 20000; row += 3) {
            dcli_layout layout = bind("block", 1, dcl_grid_2d(types[t], 10, row));
            int64_t index[] = {1, 0}, pitch;
            int node;
            dcli_layout_locate(&layout, index, &node, &pitch);
            int64_t beyond = pitch * (int64_t)dcl_type_bytes(types[t]) % 4096;
            cr_assert(beyond >= 64 && beyond <= 4096 - 64, "row %" PRId64 " has pitch %" PRId64, row, pitch);
            cr_assert(pitch >= row && (double)pitch <= 1.05 * (double)row, "row %" PRId64 ", pitch %" PRId64, row,
                      pitch);
            cr_assert_eq(dcli_layout_storage(&layout, 0), 10 * pitch);
        }
}

/* Layouts of other element types are the same only where their padding is. */
Test(large, same_looks_at_padding)
{
    dcli_layout f = bind("block", 4, dcl_grid_2d(DCL_FLOAT, 4096, 4096)),
                i = bind("block,block@2x2", 4, dcl_grid_2d(DCL_INT32, 4096, 4096)),
                d = bind("block", 4, dcl_grid_2d(DCL_DOUBLE, 4096, 4096));
    cr_expect(dcli_layout_same(&f, &i));
    cr_expect_not(dcli_layout_same(&f, &d));
}

struct count_row {
    char map[40];
    int nodes, node;
    int64_t rows, columns, regions;
};

ParameterizedTestParameters(large, region_counts)
{
    static struct count_row rows[] = {
        {"block", 4, 3, 10000, 10000, 1},
        {"rows:cyclic", 4, 3, 10000, 10000, 1}, /* whole columns */
        {"rows:cyclic", 3, 1, 10000, 10000, 3}, /* a row of three begins anew */
        {"rows:cyclic", 3, 1, 9999, 3, 1},
        {"rows:block", 3, 1, 10000, 10000, 3},     /* rest of a row, rows, beginning of a row */
        {"cyclic", 4, 3, 10000, 10000, 1},         /* every second row and column */
        {"cyclic(2),*", 4, 3, 10000, 10000, 2},    /* first and second row of every run */
        {"cyclic(2048),*", 4, 1, 20000, 10000, 3}, /* run by run */
        {"cyclic(2)", 4, 0, 10000, 10000, 4},
        {"rows:cyclic(2048x2048)", 4, 0, 6144, 6144, 3},
        {"rows:cyclic(1024x10000)", 4, 1, 10000, 10000, 3},
        {"rows:block(1x10000)", 4, 1, 10000, 10000, 1}, /* pieces that touch are one region */
        {"rows:cyclic(2x10000)", 4, 1, 10000, 10000, 2},
    };
    return cr_make_param_array(struct count_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct count_row *row, large, region_counts)
{
    dcli_layout layout = bind(row->map, row->nodes, dcl_grid_2d(DCL_FLOAT, row->rows, row->columns));
    dcli_region_list list = {0};
    cr_assert_eq(dcli_layout_regions(&layout, row->node, NULL, &list), DCL_OK);
    cr_expect_eq(list.count, row->regions, "%s: %" PRId64 " regions; expected %" PRId64, row->map, list.count,
                 row->regions);
    dcli_region_list_free(&list);
}

static const char *const large_maps[] = {"block",
                                         "cyclic",
                                         "cyclic(3)",
                                         "cyclic(70000)",
                                         "block,*,cyclic(2)",
                                         "rows:cyclic",
                                         "rows:block",
                                         "columns:cyclic",
                                         "rows:cyclic(7x11x13)",
                                         "columns:cyclic(64x1x100000)",
                                         "columns:block(7x11x13)",
                                         "rows:block(1x1x3)"};

/* Boxes of a few thousand elements in a grid of 2^57: every element is found where locate says, by its owner. */
static void check_box(const dcli_layout *layout, const dcl_box *box, uint64_t seed)
{
    dcli_node_list owners = {0};
    int64_t elements = 0;
    cr_assert_eq(dcli_layout_owners(layout, box, &owners), DCL_OK);
    for (int node = 0; node < layout->node_count; node++) {
        dcli_region_list list = {0};
        cr_assert_eq(dcli_layout_regions(layout, node, box, &list), DCL_OK);
        cr_assert_eq(dcli_node_list_has(&owners, node), list.count > 0, "seed %" PRIu64 ": node %d", seed, node);
        for (int64_t k = 0; k < list.count; k++) {
            int found;
            int64_t offset;
            dcli_layout_locate(layout, list.region[k].box.start, &found, &offset);
            cr_assert(found == node && offset == list.region[k].offset, "seed %" PRIu64 ": node %d, region %" PRId64,
                      seed, node, k);
            elements += dcli_box_elements(&list.region[k].box);
        }
        dcli_region_list_free(&list);
    }
    cr_assert_eq(elements, dcli_box_elements(box), "seed %" PRIu64 ": %" PRId64 " of %" PRId64 " elements", seed,
                 elements, dcli_box_elements(box));
    dcli_node_list_free(&owners);
}

Test(large, a_box_costs_what_it_holds)
{
    static const int node_counts[] = {1, 4, 7, 12, 1000};
    for (uint64_t seed = 1; seed <= 600; seed++) {
        test_random random = seed;
        const char *map = large_maps[seed % (sizeof large_maps / sizeof large_maps[0])];
        int nodes = node_counts[test_between(&random, 0, seed % 10 == 0 ? 4 : 3)];
        dcl_grid grid = dcl_grid_3d(DCL_INT8, (1 << 19) - 1, 1 << 19, (1 << 19) + 21);
        dcl_box box = {.rank = 3};
        for (int d = 0; d < 3; d++) {
            box.stride[d] = test_between(&random, 1, test_between(&random, 0, 3) == 0 ? 5000 : 1);
            box.count[d] = test_between(&random, 1, 16);
            box.start[d] = test_between(&random, 0, grid.extent[d] - 1 - (box.count[d] - 1) * box.stride[d]);
        }
        dcli_layout layout = bind(map, nodes, grid);
        check_box(&layout, &box, seed);
    }
}

Test(large, every_node_has_its_share)
{
    for (size_t m = 0; m < sizeof large_maps / sizeof large_maps[0]; m++) {
        dcl_grid grid = dcl_grid_3d(DCL_INT8, (1 << 19) - 1, 1 << 19, (1 << 19) + 21);
        dcli_layout layout = bind(large_maps[m], 7, grid);
        dcl_box whole = dcl_box_of(&grid);
        dcli_node_list owners = {0};
        int64_t elements = 0;
        cr_assert_eq(dcli_layout_owners(&layout, &whole, &owners), DCL_OK);
        for (int node = 0; node < 7; node++) {
            int64_t owned = dcli_layout_owned(&layout, node);
            cr_expect_eq(dcli_node_list_has(&owners, node), owned > 0, "%s: node %d", large_maps[m], node);
            cr_expect_geq(dcli_layout_storage(&layout, node), owned, "%s: node %d", large_maps[m], node);
            elements += owned;
        }
        cr_expect_eq(elements, dcl_grid_count(&grid), "%s: %" PRId64 " elements", large_maps[m], elements);
        dcli_node_list_free(&owners);
    }
}

/* A tile is found by division too, and lies where its node's elements do. */
Test(large, tiles_of_large_grids)
{
    for (uint64_t seed = 1; seed <= 600; seed++) {
        test_random random = seed;
        const char *map = large_maps[seed % (sizeof large_maps / sizeof large_maps[0])];
        int nodes = (int)test_between(&random, 1, 9);
        dcli_layout layout = bind(map, nodes, dcl_grid_3d(DCL_INT8, (1 << 19) - 1, 1 << 19, (1 << 19) + 21));
        layout.rule.tile_bytes = 1000;
        int node = (int)test_between(&random, 0, nodes - 1);
        int64_t tiles = dcli_layout_tile_count(&layout, node);
        if (tiles == 0)
            continue;
        dcli_region_list list = {0};
        cr_assert_eq(dcli_layout_tiles(&layout, node, test_between(&random, 0, tiles - 1), 1, &list), DCL_OK);
        int64_t elements = 0;
        for (int64_t k = 0; k < list.count; k++) {
            int found;
            int64_t offset;
            dcli_layout_locate(&layout, list.region[k].box.start, &found, &offset);
            cr_assert(found == node && offset == list.region[k].offset, "seed %" PRIu64 ": %s, node %d", seed, map,
                      node);
            elements += dcli_box_elements(&list.region[k].box);
        }
        cr_assert(elements <= 1000, "seed %" PRIu64 ": %s: %" PRId64 " elements", seed, map, elements);
        dcli_region_list_free(&list);
    }
}

struct tile_row {
    char map[48];
    int64_t tile_bytes, rows, columns, tiles; /* on node 0 of 4, floats */
};

ParameterizedTestParameters(large, tile_counts)
{
    static struct tile_row rows[] = {
        /* map                                    tile bytes  grid        tiles */
        {"rows:cyclic(2048x2048);tile=1024x1024", 0, 6144, 6144, 12}, /* 3 slots of 4 */
        {"rows:cyclic(2048x2048);tile=4096x2048", 0, 6144, 6144, 2},  /* 2 slots, 1 slot */
        {"rows:cyclic(2048x2048)", 0, 6144, 6144, 3},                 /* a slot is 16 MB */
        {"rows:cyclic(2048x2048)", 1 << 20, 6144, 6144, 48},          /* 128 rows of 2048 */
        {"rows:cyclic(1x4096)", 1 << 20, 4096, 4096, 16},             /* 64 slots of 16 KB */
        {"block", 0, 8192, 8192, 4},                                  /* 1024 rows of 4096 */
        {"block", 4096, 8192, 8192, 4096 * 4},                        /* a row in 4 parts */
        {"block;tile=1000x1000", 0, 8192, 8192, 25},
        {"block;tile=99999x1", 0, 8192, 8192, 4096},
        {"block", 0, 1, 1, 1},
        {"block", 0, 0, 1, 0},
    };
    return cr_make_param_array(struct tile_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct tile_row *row, large, tile_counts)
{
    dcli_layout layout = bind(row->map, 4, dcl_grid_2d(DCL_FLOAT, row->rows, row->columns));
    layout.rule.tile_bytes = row->tile_bytes;
    cr_expect_eq(dcli_layout_tile_count(&layout, 0), row->tiles, "%s: %" PRId64 " tiles; expected %" PRId64, row->map,
                 dcli_layout_tile_count(&layout, 0), row->tiles);
}

struct block_row {
    char map[56];
    dcl_box box; /* of 6144 x 6144 floats on 4 nodes, all owned by one */
    int64_t blocks;
};

ParameterizedTestParameters(large, block_counts)
{
    static struct block_row rows[] = {
        {"rows:cyclic(2048x2048);block=1024x1024", {2, {0, 2048}, {2048, 2048}, {1, 1}}, 4},
        {"rows:cyclic(2048x2048);block=2048x1024", {2, {0, 2048}, {2048, 2048}, {1, 1}}, 2},
        {"rows:cyclic(2048x2048);block=1024x1024", {2, {1023, 3071}, {2, 2}, {1, 1}}, 4},
        {"rows:cyclic(2048x2048);block=1024x1024", {2, {0, 3000}, {2, 2}, {1024, 72}}, 4},
        {"rows:cyclic(2048x2048);block=1500x1500", {2, {0, 2048}, {2048, 2048}, {1, 1}}, 4}, /* cut at the edge */
        {"rows:cyclic(2048x2048)", {2, {0, 2048}, {2048, 2048}, {1, 1}}, 4},                 /* 512 rows, 4 MB */
        {"block", {2, {0, 0}, {3072, 3072}, {1, 1}}, 10},                                    /* 308 rows of 3072 */
        {"rows:cyclic", {2, {5, 1}, {1000, 1536}, {1, 4}}, 1536000},                         /* of one element each */
        {"cyclic(2)", {2, {0, 0}, {100, 1536}, {4, 4}}, 100 * 1536},
    };
    return cr_make_param_array(struct block_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct block_row *row, large, block_counts)
{
    dcli_layout layout = bind(row->map, 4, dcl_grid_2d(DCL_FLOAT, 6144, 6144));
    dcli_block_set set = {0};
    int64_t extra = 0;
    int node;
    int64_t offset;
    dcli_layout_locate(&layout, row->box.start, &node, &offset);
    for (int times = 0; times < 2; times++) /* the second time nothing is new, but single elements are not kept */
        cr_assert_eq(dcli_layout_blocks(&layout, node, &row->box, &set, &extra), DCL_OK);
    cr_expect_eq(set.count + extra / 2, row->blocks, "%s: %" PRId64 " blocks; expected %" PRId64, row->map,
                 set.count + extra / 2, row->blocks);
    dcli_block_set_free(&set);
}

struct arrange_row {
    int nodes;
    char divided[9]; /* per axis: 'd' or '*' */
    char expected[24];
};

ParameterizedTestParameters(large, arrangement)
{
    static struct arrange_row rows[] = {
        {4, "dd", "2x2"},           {6, "dd", "3x2"},
        {6, "d*d", "3x1x2"},        {12, "ddd", "3x2x2"},
        {16, "ddd", "4x2x2"},       {7, "dd", "7x1"},
        {1, "ddd", "1x1x1"},        {1, "**", "1x1"},
        {999983, "dd", "999983x1"}, {1000000, "dd", "1000x1000"},
        {720720, "dd", "858x840"},  {64, "dddddd", "2x2x2x2x2x2"},
    };
    return cr_make_param_array(struct arrange_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct arrange_row *row, large, arrangement)
{
    int rank = (int)strlen(row->divided), nodes[DCL_MAX_RANK];
    dcl_axis axes[DCL_MAX_RANK] = {{0}};
    char text[64] = "";
    for (int d = 0; d < rank; d++)
        axes[d] = (dcl_axis){.kind = row->divided[d] == 'd' ? DCL_AXIS_BLOCK : DCL_AXIS_WHOLE};
    dcli_map_arrange(row->nodes, rank, axes, nodes);
    for (int d = 0; d < rank; d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", d > 0 ? "x" : "", nodes[d]);
    cr_expect_str_eq(text, row->expected, "%d nodes over %s: %s; expected %s", row->nodes, row->divided, text,
                     row->expected);
}

/* A rule may come from another process: numbers that no constructor makes are refused. */
Test(large, rules_from_outside_are_checked)
{
    static const dcli_map_rule good = {.node_count = 4, .rank = 2, .piece = {1, 1}, .kind = DCLI_MAP_DEALT};
    dcli_map_rule rule = good;
    cr_expect_eq(dcli_map_rule_check(&rule), DCL_OK);
    rule.kind = (dcli_map_kind)3;
    cr_expect_eq(dcli_map_rule_check(&rule), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "the map is of kind 3"), "%s", dcl_error());
    rule = good;
    rule.rank = -1;
    cr_expect_eq(dcli_map_rule_check(&rule), DCL_ERR_INVALID);
    rule = good;
    rule.node_count = 0;
    cr_expect_eq(dcli_map_rule_check(&rule), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "the map is for 0 nodes; expected 1..1000000"), "%s", dcl_error());
    rule = good;
    rule.tile_rank = 9;
    cr_expect_eq(dcli_map_rule_check(&rule), DCL_ERR_INVALID);
    rule = good;
    rule.block_bytes = -1;
    cr_expect_eq(dcli_map_rule_check(&rule), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "expected at least 0"), "%s", dcl_error());
}

/* The list of nodes of such a rule: that for four nodes, 2, 3, 5, 6, and what is wrong with others. */
Test(large, lists_of_nodes_from_outside_are_checked)
{
    static const struct {
        const char *what;
        int count;
        dcli_node_range range[3];
        bool right;
    } rows[] = {
        {"two ranges", 2, {{2, 2}, {5, 2}}, true},
        {"the last numbers there are", 1, {{999996, 4}}, true},
        {"too few nodes", 2, {{2, 2}, {5, 1}}, false},
        {"too many nodes", 2, {{2, 2}, {5, 3}}, false},
        {"falling", 2, {{5, 2}, {2, 2}}, true},
        {"overlapping from above", 2, {{5, 2}, {4, 2}}, false},
        {"overlapping", 2, {{2, 2}, {3, 2}}, false},
        {"neighbours", 2, {{2, 2}, {4, 2}}, false},
        {"an empty range", 3, {{2, 2}, {5, 0}, {7, 2}}, false},
        {"a negative range", 3, {{2, 2}, {5, -1}, {7, 3}}, false},
        {"a negative node", 1, {{-1, 4}}, false},
        {"numbers too large", 1, {{999997, 4}}, false},
        {"numbers far too large", 2, {{2, 2}, {2147483647, 2}}, false},
        {"counts far too large", 3, {{0, 2}, {3, 2147483647}, {5, 2147483647}}, false},
        {"more ranges than there is room for", DCLI_NODE_RANGES + 1, {{2, 2}, {5, 2}}, false},
        {"a negative number of ranges", -1, {{2, 2}, {5, 2}}, false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        dcli_map_rule rule = {.node_count = 4, .rank = 2, .piece = {1, 1}, .kind = DCLI_MAP_DEALT};
        rule.range_count = rows[k].count;
        memcpy(rule.range, rows[k].range, sizeof rows[k].range);
        cr_expect_eq(dcli_map_rule_check(&rule), rows[k].right ? DCL_OK : DCL_ERR_INVALID, "%s", rows[k].what);
        if (!rows[k].right)
            cr_expect_not_null(strstr(dcl_error(), "expected 1..32 ranges without a node in common"), "%s: %s",
                               rows[k].what, dcl_error());
    }
}

Test(large, memory_may_run_out)
{
    dcli_layout layout = bind("rows:cyclic(64x64)", 4, dcl_grid_2d(DCL_FLOAT, 10000, 10000));
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){64, 64});
    dcli_region_list list = {0};
    dcli_block_set set = {0};
    int64_t extra = 0;
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_layout_regions(&layout, 0, NULL, &list), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(2);
    cr_expect_eq(dcli_layout_tiles(&layout, 0, 0, 2, &list), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_layout_blocks(&layout, 0, &box, &set, &extra), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_expect(set.count == 0 && extra == 0);
    dcli_region_list_free(&list);
}

/* test/resmap/layout_test.c - properties of layouts: thousands of random maps and grids against a model that deals out
 * elements one by one. Every failure names its seed. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "resmap/map_text.h"
#include "resmap/model.h"

enum { SEEDS = 3000 };

static test_model model;

Test(layout, locate_finds_the_owner_and_a_place_of_its_own)
{
    static bool taken[TEST_NODES][4 * TEST_MOST];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        int64_t owned[TEST_NODES] = {0};
        memset(taken, 0, sizeof taken);
        for (int64_t e = 0; e < model.elements; e++) {
            int64_t index[DCL_MAX_RANK], offset;
            int node;
            test_model_index(&model, e, index);
            dcli_layout_locate(&model.layout, index, &node, &offset);
            cr_assert(node == model.owner[e] && offset == model.offset[e],
                      "%s: element %" PRId64 " at node %d, offset %" PRId64 "; expected %d, %" PRId64, model.text, e,
                      node, offset, model.owner[e], model.offset[e]);
            if (node < 0)
                continue;
            cr_assert(offset < dcli_layout_storage(&model.layout, node) && !taken[node][offset],
                      "%s: element %" PRId64 ": offset %" PRId64 " is outside the storage or taken", model.text, e,
                      offset);
            taken[node][offset] = true;
            owned[node]++;
        }
        for (int node = 0; node <= model.cluster; node++)
            cr_assert_eq(dcli_layout_owned(&model.layout, node), owned[node],
                         "%s: node %d owns %" PRId64 "; expected %" PRId64, model.text, node,
                         dcli_layout_owned(&model.layout, node), owned[node]);
    }
}

/* Check that regions hold elements of `node` at their places, and add one to seen[] for each. */
static int64_t see_regions(const dcli_region_list *list, int node, const dcl_box *query, int seen[])
{
    int64_t elements = 0;
    for (int64_t k = 0; k < list->count; k++) {
        const dcli_region *region = &list->region[k];
        int64_t at[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK];
        cr_assert(!dcli_box_is_empty(&region->box) && dcli_box_check(&region->box, &model.grid) == DCL_OK, "%s: %s",
                  model.text, dcl_error());
        cr_assert(k == 0 || region->offset > list->region[k - 1].offset, "%s: region %" PRId64 " out of order",
                  model.text, k);
        do {
            test_box_index(&region->box, at, index);
            int64_t e = test_model_element(&model, index), offset = region->offset;
            for (int d = 0; d < model.grid.rank; d++)
                offset += at[d] * region->step[d];
            cr_assert(model.owner[e] == node && model.offset[e] == offset && dcli_box_contains(query, index),
                      "%s: node %d: region %" PRId64 " has element %" PRId64 " at %" PRId64
                      "; expected node %d at %" PRId64,
                      model.text, node, k, e, offset, model.owner[e], model.offset[e]);
            seen[e]++;
            elements++;
        } while (test_box_next(&region->box, at));
    }
    return elements;
}

static void check_query(const dcl_box *given, const dcl_box *query)
{
    static int seen[TEST_MOST];
    bool expected[TEST_NODES] = {false};
    dcli_node_list owners = {0};
    memset(seen, 0, sizeof seen);
    for (int node = 0; node <= model.cluster; node++) {
        dcli_region_list list = {0};
        cr_assert_eq(dcli_layout_regions(&model.layout, node, given, &list), DCL_OK);
        see_regions(&list, node, query, seen);
        dcli_region_list_free(&list);
    }
    for (int64_t e = 0; e < model.elements; e++) {
        int64_t index[DCL_MAX_RANK];
        test_model_index(&model, e, index);
        bool inside = model.owner[e] >= 0 && dcli_box_contains(query, index);
        cr_assert_eq(seen[e], inside, "%s: element %" PRId64 " is in %d regions; expected %d", model.text, e, seen[e],
                     inside);
        if (inside)
            expected[model.owner[e]] = true;
    }
    cr_assert_eq(dcli_layout_owners(&model.layout, query, &owners), DCL_OK);
    int64_t count = 0;
    for (int node = 0; node < model.layout.node_end; node++) {
        char text[128];
        dcli_box_print(query, text, sizeof text);
        bool listed = count < owners.count && owners.node[count] == node;
        cr_assert_eq(listed, expected[node], "%s: box %s: node %d %s; expected the contrary", model.text, text, node,
                     listed ? "is an owner" : "is no owner");
        cr_assert_eq(dcli_node_list_has(&owners, node), listed, "%s: box %s: node %d", model.text, text, node);
        count += listed;
    }
    cr_assert_eq(count, owners.count, "%s: %" PRId64 " owners; expected %" PRId64, model.text, owners.count, count);
    dcli_node_list_free(&owners);
}

Test(layout, places_are_nodes_of_the_list)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        int place = 0;
        int64_t storage = 0;
        for (int node = -1; node <= model.cluster; node++) {
            storage += dcli_layout_storage(&model.layout, node);
            bool listed = place < model.rule.node_count && model.node_of[place] == node;
            cr_assert_eq(dcli_layout_place(&model.layout, node), listed ? place : -1, "%s: node %d", model.text, node);
            cr_assert(!listed || dcli_layout_node(&model.layout, place) == node, "%s: place %d", model.text, place);
            cr_assert(listed || dcli_layout_storage(&model.layout, node) == 0, "%s: node %d", model.text, node);
            place += listed;
        }
        cr_assert_eq(place, model.layout.node_count);
        cr_assert_eq(model.layout.node_end, model.node_of[place - 1] + 1);
        cr_assert_eq(dcli_layout_total_storage(&model.layout), storage,
                     "%s: %" PRId64 " elements in all; expected %" PRId64, model.text,
                     dcli_layout_total_storage(&model.layout), storage);
    }
}

Test(layout, regions_cover_the_grid_once)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        dcl_box whole = dcl_box_of(&model.grid);
        check_query(NULL, &whole);
    }
}

Test(layout, regions_and_owners_of_a_box)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        for (int k = 0; k < 4; k++) {
            dcl_box box = test_model_box(&model);
            check_query(&box, &box);
        }
    }
}

/* Also by the layout's own word that some are. */
Test(layout, the_first_element_of_a_box_that_is_stored_nowhere)
{
    int64_t holes = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        bool some = false;
        for (int64_t e = 0; e < model.elements; e++)
            some = some || model.owner[e] < 0;
        cr_assert_eq(model.layout.partial, some, "%s", model.text);
        dcl_box box = test_model_box(&model);
        int64_t at[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK], hole[DCL_MAX_RANK];
        bool found, expected = false;
        cr_assert_eq(dcli_layout_first_hole(&model.layout, &box, &found, hole), DCL_OK);
        do {
            test_box_index(&box, at, index);
            expected = model.elements > 0 && model.owner[test_model_element(&model, index)] < 0;
        } while (!expected && test_box_next(&box, at));
        cr_assert_eq(found, expected, "%s", model.text);
        cr_assert(!found || memcmp(hole, index, (size_t)box.rank * sizeof index[0]) == 0, "%s", model.text);
        holes += found;
    }
    cr_assert_gt(holes, SEEDS / 10);
}

/* Tiles first .. first + count - 1 are made of the elements whose tile is among them. */
static void check_tiles(int node, int64_t first, int64_t count, int64_t tile_of[])
{
    static int seen[TEST_MOST];
    dcl_box whole = dcl_box_of(&model.grid);
    dcli_region_list list = {0};
    memset(seen, 0, sizeof seen);
    cr_assert_eq(dcli_layout_tiles(&model.layout, node, first, count, &list), DCL_OK);
    see_regions(&list, node, &whole, seen);
    for (int64_t e = 0; e < model.elements; e++) {
        bool inside = model.owner[e] == node && tile_of[e] >= first && tile_of[e] < first + count;
        cr_assert_eq(seen[e], inside,
                     "%s: node %d: tiles %" PRId64 " + %" PRId64 ": element %" PRId64 " is there %d times", model.text,
                     node, first, count, e, seen[e]);
    }
    dcli_region_list_free(&list);
}

/* Where the map gives no tile: number the tiles as the library cuts them, each element in one, each within its size. */
static void find_tiles(int node, int64_t tiles, int64_t tile_of[])
{
    static int seen[TEST_MOST];
    dcl_box whole = dcl_box_of(&model.grid);
    int64_t bytes = (int64_t)dcl_type_bytes(model.grid.type), all = 0;
    memset(seen, 0, sizeof seen);
    for (int64_t k = 0; k < tiles; k++) {
        dcli_region_list list = {0};
        cr_assert_eq(dcli_layout_tiles(&model.layout, node, k, 1, &list), DCL_OK);
        int64_t elements = see_regions(&list, node, &whole, seen);
        cr_assert(elements <= 1 || model.rule.tile_bytes == 0 || model.rule.tile_rank > 0 ||
                      elements * bytes <= model.rule.tile_bytes,
                  "%s: node %d: tile %" PRId64 " has %" PRId64 " elements", model.text, node, k, elements);
        for (int64_t e = 0; e < model.elements; e++)
            if (seen[e] == 1 && tile_of[e] < 0)
                tile_of[e] = k;
        all += elements;
        dcli_region_list_free(&list);
    }
    cr_assert_eq(all, dcli_layout_owned(&model.layout, node), "%s: node %d: tiles have %" PRId64 " elements",
                 model.text, node, all);
}

static void check_all_tiles(int node, int64_t tiles)
{
    dcli_region_list all = {0}, part = {0};
    cr_assert_eq(dcli_layout_tiles(&model.layout, node, 0, tiles, &all), DCL_OK);
    cr_assert_eq(dcli_layout_regions(&model.layout, node, NULL, &part), DCL_OK);
    cr_assert_eq(all.count, part.count, "%s: node %d: %" PRId64 " regions of all tiles; expected %" PRId64, model.text,
                 node, all.count, part.count);
    dcli_region_list_free(&all);
    dcli_region_list_free(&part);
}

Test(layout, tiles_partition_what_a_node_owns)
{
    static int64_t tile_of[TEST_MOST];
    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        test_model_make(&model, seed);
        memcpy(tile_of, model.tile, sizeof tile_of);
        for (int node = 0; node <= model.cluster; node++) {
            int64_t tiles = dcli_layout_tile_count(&model.layout, node);
            if (model.rule.tile_rank == 0 || model.rule.kind == DCLI_MAP_BOXES)
                find_tiles(node, tiles, tile_of);
            for (int k = 0; tiles > 0 && k < 4; k++) {
                int64_t first = test_between(&model.random, 0, tiles - 1);
                check_tiles(node, first, test_between(&model.random, 0, k == 0 ? 1 : tiles - first), tile_of);
            }
            check_tiles(node, 0, tiles, tile_of);
            check_all_tiles(node, tiles);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t count_blocks(int node, const dcl_box *box)
{
    static int64_t block[TEST_MOST];
    size_t count = 0;
    int64_t distinct = 0;
    for (int64_t e = 0; e < model.elements; e++) {
        int64_t index[DCL_MAX_RANK];
        test_model_index(&model, e, index);
        if (model.owner[e] == node && dcli_box_contains(box, index))
            block[count++] = model.block[e];
    }
    qsort(block, count, sizeof block[0], by_value);
    for (size_t k = 0; k < count; k++)
        distinct += k == 0 || block[k] != block[k - 1];
    return distinct;
}

Test(layout, blocks_of_a_box)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        dcl_box box = test_model_box(&model);
        dcli_block_set set = {0};
        for (int node = 0; node <= model.cluster; node++) {
            dcli_region_list list = {0};
            int64_t extra = 0;
            dcli_block_set_clear(&set, 64);
            cr_assert_eq(dcli_layout_regions(&model.layout, node, &box, &list), DCL_OK);
            for (int64_t k = 0; k < list.count; k++)
                cr_assert_eq(dcli_layout_blocks(&model.layout, node, &list.region[k].box, &set, &extra), DCL_OK);
            cr_assert_eq(set.count + extra, count_blocks(node, &box),
                         "%s: node %d: %" PRId64 " + %" PRId64 " blocks; expected %" PRId64, model.text, node,
                         set.count, extra, count_blocks(node, &box));
            dcli_region_list_free(&list);
        }
        dcli_block_set_free(&set);
    }
}

Test(layout, default_blocks_keep_their_size)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        int64_t bytes = (int64_t)dcl_type_bytes(model.grid.type);
        if (model.elements == 0 || model.rule.block_rank != 0 || model.rule.block_bytes == 0)
            continue;
        int64_t elements = 1;
        for (int d = 0; d < model.grid.rank; d++)
            elements *= model.layout.rule.block[d];
        cr_assert(elements == 1 || elements * bytes <= model.rule.block_bytes, "%s: a block has %" PRId64 " elements",
                  model.text, elements);
    }
}

Test(layout, a_filled_rule_binds_alike)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        dcli_layout again, other;
        test_model_make(&model, seed);
        cr_assert_eq(dcli_map_rule_check(&model.layout.rule), DCL_OK, "%s: %s", model.text, dcl_error());
        cr_assert_eq(dcli_layout_bind(&model.layout.rule, &model.grid, &again), DCL_OK, "%s: %s", model.text,
                     dcl_error());
        cr_assert(dcli_layout_same(&model.layout, &again), "%s", model.text);
        cr_assert(dcli_map_rule_equal(&model.layout.rule, &again.rule), "%s", model.text);
        dcl_grid moved = model.grid;
        moved.origin[0]++;
        dcli_layout_release(&again);
        if (model.rule.kind == DCLI_MAP_BOXES)
            continue; /* for one grid only */
        cr_assert_eq(dcli_layout_bind(&model.rule, &moved, &other), DCL_OK);
        cr_assert_not(dcli_layout_same(&model.layout, &other), "%s", model.text);
        dcli_layout_release(&other);
    }
}

/* Layouts that are called the same place every element alike; of one family, those that do are called the same. */
Test(layout, same_means_the_same_places)
{
    static test_model other;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_model_make(&model, seed);
        test_model_make(&other, seed + SEEDS);
        dcli_layout layout;
        other.rule.rank = other.rule.block_rank = other.rule.tile_rank = 0;
        other.rule.nodes[0] = 0;
        other.rule.node_count = model.rule.node_count;
        other.rule.range_count = seed % 2 == 0 ? model.rule.range_count : 0;
        memcpy(other.rule.range, model.rule.range, sizeof other.rule.range);
        if (dcli_map_rule_check(&other.rule) != DCL_OK || dcli_layout_bind(&other.rule, &model.grid, &layout) != DCL_OK)
            continue;
        bool alike = true;
        for (int64_t e = 0; alike && e < model.elements; e++) {
            int64_t index[DCL_MAX_RANK], offset;
            int node;
            test_model_index(&model, e, index);
            dcli_layout_locate(&layout, index, &node, &offset);
            alike = node == model.owner[e] && offset == model.offset[e];
        }
        bool same = dcli_layout_same(&layout, &model.layout);
        cr_assert(alike || !same, "%s and %s", model.text, other.text);
        dcli_layout_release(&layout);
    }
}

Test(layout, text_is_read_back)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static char text[32768], again[32768];
        dcli_map_rule rule;
        test_model_make(&model, seed);
        model.rule.tile_bytes = model.rule.block_bytes = 0;
        size_t length = dcli_map_rule_print(&model.rule, text, sizeof text);
        cr_assert_eq(length, strlen(text));
        cr_assert_eq(dcli_map_rule_parse(text, model.cluster, &rule), DCL_OK, "%s: %s", model.text, dcl_error());
        cr_assert(dcli_map_rule_equal(&rule, &model.rule), "%s: %s", model.text, text);
        dcli_map_rule_print(&rule, again, sizeof again);
        cr_assert_str_eq(text, again, "%s", model.text);
        dcli_map_rule_release(&rule);
    }
}

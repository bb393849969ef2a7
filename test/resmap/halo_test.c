/* test/resmap/halo_test.c - maps with a halo: as text, compared, refused; and what lies in a node's halo. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "resmap/fake_cluster.h"
#include "resmap/layout.h"
#include "segment/random.h"

/* ---- text --------------------------------------------------------------------------------------------------------- */

struct text_row {
    char text[64], printed[64];
};

ParameterizedTestParameters(halo, printed)
{
    static struct text_row rows[] = {
        {"block;halo=1", "block;halo=1"},
        {"block ; halo = 1 : 2 , 0 ; periodic = 0", "block;halo=1:2,0;periodic=0"},
        {"block;halo=1,1", "block;halo=1,1"}, /* of rank 2 only: another map than with one width for all */
        {"block,*;halo=1,1", "block,*;halo=1"},
        {"block,*;halo=2:1", "block,*;halo=2:1"},
        {"block,*;halo=1;periodic=*", "block,*;halo=1;periodic=0,1"},
        {"block,*;periodic=1,0;halo=1", "block,*;halo=1;periodic=0,1"},
        {"block;halo=3;periodic=*;tile=4x4", "block;tile=4x4;halo=3;periodic=*"},
        {"block;halo=3;periodic=1", "block;halo=3;periodic=1"},
        {"block;halo=1,1;periodic=*", "block;halo=1,1;periodic=0,1"}, /* of rank 2 only */
        {"rows:cyclic(2x2);halo=0,1;nodes=0-1", "rows:cyclic(2x2);nodes=0-1;halo=0,1"},
        {"boxes:[0:4]@0,[4:8]@1;halo=1;periodic=0", "boxes:[0:4]@0,[4:8]@1;halo=1;periodic=0"},
        {"rows:table(2);owners=0,-,1;halo=1;rest=7", "rows:table(2);owners=0,-,1;rest=7;halo=1"},
        {"block;halo=0", "block"},
        {"block,block;halo=0,0:0", "block,block"},
    };
    return cr_make_param_array(struct text_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct text_row *row, halo, printed)
{
    char printed[128];
    dcl_map *map = dcl_map_parse(test_cluster(4), row->text);
    cr_assert_not_null(map, "%s: %s", row->text, dcl_error());
    dcl_map_print(map, printed, sizeof printed);
    cr_expect_str_eq(printed, row->printed, "%s: printed as %s", row->text, printed);
    dcl_map *again = dcl_map_parse(test_cluster(4), printed);
    cr_expect(dcl_map_equal(map, again), "%s reads back to another map", printed);
    dcl_map_release(again);
    dcl_map_release(map);
}

struct refused_row {
    char text[64], words[120];
};

ParameterizedTestParameters(halo, refused)
{
    static struct refused_row rows[] = {
        {"block;halo", "column 11: found the end; expected \"=\" and widths such as 1 or 1:2,0"},
        {"block;halo=", "column 12: found the end; expected the width of a halo"},
        {"block;halo=-1", "column 12: found \"-1\"; expected the width of a halo, 0 or more"},
        {"block;halo=1:", "column 14: found the end; expected the width of a halo"},
        {"block;halo=1x2", "column 13: found \"x2\"; expected \";\" or the end"},
        {"block;halo=9999999999999", "column 12: found \"9999999999999\"; expected the width of a halo, 0 or more "
                                     "elements, at most 2^40"},
        {"block;halo=1;halo=2", "column 18: found \"=2\"; expected a halo that was not given before"},
        {"block;halo=1,1,1,1,1,1,1,1,1", "expected at most 8 axes"},
        {"block,*;halo=1,1,1", "the halo has 3 widths and the map is for 2 axes; expected one for each axis"},
        {"block;halo=1;periodic", "column 22: found the end; expected \"=\" and axes such as 0,1, or *"},
        {"block;halo=1;periodic=8", "column 23: found \"8\"; expected an axis, 0..7, or * for all"},
        {"block;halo=1;periodic=0;periodic=1", "expected periodic axes that were not given before"},
        {"block;periodic=0", "axis 0 is periodic and has no halo; expected a width of at least 1"},
        {"block;halo=1,0;periodic=0,1", "axis 1 is periodic and has no halo"},
        {"block;halo=1,0;periodic=*", "axis 1 is periodic and has no halo"},
        {"block,*;halo=1;periodic=2", "axis 2 is periodic and the map is for 2 axes; expected 0..1"},
        {"replicated;halo=1", "a replicated map is to have a halo; expected one or the other"},
        {"block;every=2;halo=1", "a map that stores every so many-th element only (;every=) is to have a halo"},
    };
    return cr_make_param_array(struct refused_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct refused_row *row, halo, refused)
{
    cr_expect_null(dcl_map_parse(test_cluster(4), row->text), "%s", row->text);
    cr_expect(strstr(dcl_error(), row->words) != NULL, "%s: %s", row->text, dcl_error());
}

/* ---- the constructor ---------------------------------------------------------------------------------------------- */

static void expect_text(dcl_map *map, const char *expected)
{
    char text[128];
    cr_assert_not_null(map, "%s: %s", expected, dcl_error());
    dcl_map_print(map, text, sizeof text);
    cr_expect_str_eq(text, expected);
    dcl_map_release(map);
}

static void expect_refused(dcl_map *map, const char *words)
{
    cr_expect_null(map, "%s", words);
    cr_expect(strstr(dcl_error(), words) != NULL, "%s: %s", words, dcl_error());
}

Test(halo, constructor)
{
    dcl_map *block = dcl_map_block(test_cluster(3)), *rows = dcl_map_parse(test_cluster(3), "block,*");
    static const int64_t one[] = {1, 1}, low[] = {1, 0}, high[] = {2, 0}, none[] = {0, 0};
    static const bool both[] = {true, true}, first[] = {true, false};
    expect_text(dcl_map_halo(block, 1, one, NULL, NULL), "block;halo=1");
    expect_text(dcl_map_halo(block, 1, one, high, both), "block;halo=1:2;periodic=*");
    expect_text(dcl_map_halo(block, 2, low, high, first), "block;halo=1:2,0;periodic=0");
    expect_text(dcl_map_halo(rows, 1, one, one, both), "block,*;halo=1;periodic=0,1");
    dcl_map *with = dcl_map_halo(rows, 2, one, NULL, NULL);
    expect_text(dcl_map_halo(with, 2, low, high, NULL), "block,*;halo=1:2,0"); /* instead of what there was */
    expect_text(dcl_map_halo(with, 1, none, NULL, NULL), "block,*");
    dcl_map *replicated = dcl_map_replicated(test_cluster(3), 0), *every = dcl_map_every(rows, 2, (int64_t[]){2, 1});
    expect_text(dcl_map_halo(replicated, 2, none, none, NULL), "replicated"); /* no halo is none beside copies */
    expect_text(dcl_map_halo(every, 1, none, NULL, NULL), "block,*;every=2x1");
    expect_refused(dcl_map_halo(replicated, 1, one, NULL, NULL), "a replicated map is to have a halo");
    expect_refused(dcl_map_halo(replicated, 1, none, NULL, both), "a replicated map is to have a halo");
    expect_text(dcl_map_with_grains(with, 2, NULL, (int64_t[]){4, 4}), "block,*;tile=4x4;halo=1");
    expect_text(dcl_map_on(with, 2, (int[]){0, 2}), "block,*;nodes=0,2;halo=1");
    expect_refused(dcl_map_halo(block, 0, one, NULL, NULL), "dcl_map_halo: rank is 0; expected 1..8");
    expect_refused(dcl_map_halo(block, 2, NULL, one, NULL), "low is NULL; expected 2 widths of a halo");
    expect_refused(dcl_map_halo(block, 1, (int64_t[]){-1}, none, NULL), "width -1 before axis 0; expected 0..");
    expect_refused(dcl_map_halo(block, 2, (int64_t[]){1, -3}, NULL, NULL), "width -3 before axis 1; expected 0..");
    expect_refused(dcl_map_halo(block, 2, one, (int64_t[]){INT64_MAX, 0}, NULL),
                   "behind axis 0; expected 0..1099511627776");
    expect_refused(dcl_map_halo(block, 2, low, NULL, both), "axis 1 is periodic and has no halo");
    expect_refused(dcl_map_halo(rows, 3, (int64_t[]){1, 1, 1}, NULL, NULL), "3 widths and the map is for 2 axes");
    cr_expect_null(dcl_map_halo(NULL, 1, one, NULL, NULL));
    dcl_map_release(every);
    dcl_map_release(replicated);
    dcl_map_release(with);
    dcl_map_release(rows);
    dcl_map_release(block);
}

Test(halo, makes_another_map)
{
    static const char *const texts[] = {"block,*",          "block,*;halo=1",
                                        "block,*;halo=1:2", "block,*;halo=1,0",
                                        "block,*;halo=0,1", "block,*;halo=1;periodic=0",
                                        "block;halo=1",     "block,*;halo=1;periodic=0,1"};
    enum { COUNT = sizeof texts / sizeof texts[0] };
    dcl_map *map[COUNT];
    for (int k = 0; k < COUNT; k++)
        map[k] = dcl_map_parse(test_cluster(2), texts[k]);
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++)
            cr_expect_eq(dcl_map_equal(map[a], map[b]), a == b, "%s and %s", texts[a], texts[b]);
    for (int k = 0; k < COUNT; k++)
        dcl_map_release(map[k]);
}

/* ---- grids -------------------------------------------------------------------------------------------------------- */

Test(halo, grids_that_fit)
{
    static const struct {
        const char *map;
        int64_t extent[2];
        const char *words; /* NULL: it is laid out */
    } cases[] = {
        {"block;halo=3;periodic=0", {3, 9}, NULL},
        {"block;halo=3;periodic=0",
         {2, 9},
         "width 3 along axis 0, which is periodic and has extent 2; expected at most"},
        {"block;halo=1:3,0;periodic=0", {2, 9}, "width 3 along axis 0"},
        {"block;halo=3;periodic=0", {3, 1}, NULL}, /* what is not periodic is cut by the grid */
        {"block;halo=3;periodic=*", {3, 1}, "width 3 along axis 1"},
        {"block;halo=3;periodic=*", {0, 9}, NULL}, /* nothing to read */
        {"block;halo=1,1,1", {4, 4}, "the map's halo has 3 widths; the grid has rank 2"},
        {"block;halo=1;periodic=2", {4, 4}, "axis 2 is periodic and the grid has rank 2; expected axes 0..1"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dcl_grid grid = dcl_grid_2d(DCL_FLOAT, cases[k].extent[0], cases[k].extent[1]);
        dcl_map *map = dcl_map_parse(test_cluster(2), cases[k].map);
        dcl_map_properties properties;
        dcl_status status = dcl_map_describe(map, &grid, &properties);
        cr_expect_eq(status, cases[k].words == NULL ? DCL_OK : DCL_ERR_INVALID, "%s", cases[k].map);
        if (cases[k].words != NULL)
            cr_expect(strstr(dcl_error(), cases[k].words) != NULL, "%s: %s", cases[k].map, dcl_error());
        else
            cr_expect(properties.halo && properties.periodic && properties.copies == 0);
        dcl_map_release(map);
    }
}

Test(halo, indices_beyond_64_bits)
{
    dcl_grid grid = {.type = DCL_INT8, .rank = 1, .origin = {INT64_MIN}, .extent = {9}};
    dcl_map *periodic = dcl_map_parse(test_cluster(2), "block;halo=1;periodic=0"),
            *plain = dcl_map_parse(test_cluster(2), "block;halo=1");
    dcl_map_properties properties;
    cr_expect_eq(dcl_map_describe(periodic, &grid, &properties), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "has no index in 64 bits; use another origin") != NULL, "%s", dcl_error());
    cr_expect_eq(dcl_map_describe(plain, &grid, &properties), DCL_OK);
    cr_expect(properties.halo && !properties.periodic);
    dcl_map_release(plain);
    dcl_map_release(periodic);
}

/* Owners and places are those of the map without a halo. */
Test(halo, changes_no_place)
{
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 7, 9);
    dcl_map *plain = dcl_map_parse(test_cluster(3), "rows:cyclic(2x3)"),
            *with = dcl_map_parse(test_cluster(3), "rows:cyclic(2x3);halo=2;periodic=*");
    for (int64_t i = 0; i < 7; i++)
        for (int64_t j = 0; j < 9; j++) {
            int node[2];
            int64_t offset[2], index[] = {i, j};
            cr_assert_eq(dcl_map_locate(plain, &grid, index, &node[0], &offset[0]), DCL_OK);
            cr_assert_eq(dcl_map_locate(with, &grid, index, &node[1], &offset[1]), DCL_OK);
            cr_assert(node[0] == node[1] && offset[0] == offset[1]);
        }
    dcl_map_release(with);
    dcl_map_release(plain);
}

/* ---- what is near ------------------------------------------------------------------------------------------------- */

struct near_row {
    char map[56];
    int nodes, node;
    int64_t extent[2], start[2], count[2], stride[2]; /* extent[1] == 0: one axis */
    bool near;
};

ParameterizedTestParameters(halo, near)
{
    static struct near_row rows[] = {
        /* 12 elements on 3 nodes: 0..3, 4..7, 8..11 */
        {"block;halo=1", 3, 1, {12}, {3}, {1}, {1}, true},
        {"block;halo=1", 3, 1, {12}, {2}, {1}, {1}, false},
        {"block;halo=1", 3, 1, {12}, {3}, {6}, {1}, true},
        {"block;halo=1", 3, 1, {12}, {3}, {7}, {1}, false},
        {"block;halo=1:2", 3, 1, {12}, {3}, {7}, {1}, true},
        {"block;halo=1:2", 3, 1, {12}, {2}, {8}, {1}, false},
        {"block;halo=1;nodes=0-1", 3, 2, {12}, {0}, {1}, {1}, false}, /* a node that has nothing has no halo */
        {"block;halo=1;periodic=0", 3, 0, {12}, {-1}, {6}, {1}, true},
        {"block;halo=1;periodic=0", 3, 2, {12}, {12}, {1}, {1}, true},
        {"block;halo=1;periodic=0", 3, 1, {12}, {12}, {1}, {1}, false},
        /* every third one: 1, 4, 7, 10 */
        {"cyclic;halo=1", 3, 1, {12}, {0}, {12}, {1}, true},
        {"cyclic;halo=0:1", 3, 1, {12}, {2}, {4}, {3}, true},
        {"cyclic;halo=0:1", 3, 1, {12}, {0}, {4}, {3}, false},
        {"cyclic;halo=1:0", 3, 1, {12}, {0}, {4}, {3}, true},
        {"cyclic;halo=0:1", 3, 1, {12}, {1}, {2}, {1}, true},
        {"cyclic;halo=0:1", 3, 1, {12}, {1}, {3}, {1}, false},
        /* pieces of 2 x 2 in a grid of 4 x 4, dealt 0 1 / 0 1 */
        {"rows:cyclic(2x2);halo=1", 2, 0, {4, 4}, {0, 0}, {4, 3}, {1, 1}, true},
        {"rows:cyclic(2x2);halo=1", 2, 0, {4, 4}, {0, 0}, {4, 4}, {1, 1}, false},
        {"rows:cyclic(2x2);halo=1,2", 2, 0, {4, 4}, {0, 0}, {4, 4}, {1, 1}, true},
        {"rows:cyclic(2x2);halo=0,1", 2, 0, {4, 4}, {1, 1}, {2, 2}, {1, 1}, true}, /* in the halos of two pieces */
        {"*,block;halo=0,1;periodic=1", 2, 0, {4, 4}, {0, -1}, {4, 4}, {1, 1}, true},
        {"*,block;halo=0,1;periodic=1", 2, 1, {4, 4}, {0, 1}, {4, 4}, {1, 1}, true},
        {"*,block;halo=0,1;periodic=1", 2, 1, {4, 4}, {0, 0}, {4, 4}, {1, 1}, false},
    };
    return cr_make_param_array(struct near_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct near_row *row, halo, near)
{
    dcl_map *map = dcl_map_parse(test_cluster(row->nodes), row->map);
    cr_assert_not_null(map, "%s", dcl_error());
    int rank = row->extent[1] == 0 ? 1 : 2;
    dcl_grid grid = {.type = DCL_FLOAT, .rank = rank, .extent = {row->extent[0], row->extent[1]}};
    dcl_box box = {.rank = rank};
    memcpy(box.start, row->start, sizeof row->start);
    memcpy(box.count, row->count, sizeof row->count);
    memcpy(box.stride, row->stride, sizeof row->stride);
    dcli_layout layout;
    dcli_region_list scratch = {0};
    bool near;
    cr_assert_eq(dcli_map_bind(map, &grid, &layout), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_layout_near(&layout, row->node, &box, &scratch, &near), DCL_OK);
    cr_expect_eq(near, row->near, "%s, node %d, from %d", row->map, row->node, (int)row->start[0]);
    dcli_region_list_free(&scratch);
    dcli_layout_release(&layout);
    dcl_map_release(map);
}

/* ---- what is near, element by element ----------------------------------------------------------------------------- */

static bool is_near(const dcli_layout *layout, int node, const int64_t index[])
{
    const dcli_map_rule *rule = &layout->rule;
    int64_t at[2];
    for (at[0] = index[0] - rule->halo_high[0]; at[0] <= index[0] + rule->halo_low[0]; at[0]++)
        for (at[1] = index[1] - rule->halo_high[1]; at[1] <= index[1] + rule->halo_low[1]; at[1]++) {
            int owner;
            int64_t offset;
            dcl_box whole = dcl_box_of(&layout->grid);
            if (!dcli_box_contains(&whole, at))
                continue;
            dcli_layout_locate(layout, at, &owner, &offset);
            if (owner == node)
                return true;
        }
    return false;
}

static bool all_near(const dcli_layout *layout, int node, const dcl_box *box)
{
    for (int64_t i = 0; i < box->count[0]; i++)
        for (int64_t j = 0; j < box->count[1]; j++) {
            int64_t index[] = {box->start[0] + i * box->stride[0], box->start[1] + j * box->stride[1]};
            if (!is_near(layout, node, index))
                return false;
        }
    return true;
}

/* A box is near where all of its elements are; boxes up to the widths beyond the grid's edges. */
Test(halo, near_is_what_all_elements_are)
{
    static const char *const maps[] = {"block",
                                       "cyclic",
                                       "cyclic(2),*",
                                       "*,cyclic(3)",
                                       "rows:cyclic(2x3)",
                                       "rows:hash(2x2)",
                                       "columns:cyclic",
                                       "splits(2,3),block",
                                       "rows:block(1x2)",
                                       "block,cyclic@2x2",
                                       "weighted(1:3:1:2)"};
    test_random random = 5;
    int near_ones = 0;
    for (int n = 0; n < 4000; n++) {
        char text[96];
        dcl_grid grid = {.type = DCL_FLOAT, .rank = 2};
        int64_t width[4];
        for (int d = 0; d < 2; d++) {
            grid.origin[d] = test_between(&random, -3, 3);
            grid.extent[d] = test_between(&random, 1, 9);
        }
        for (int w = 0; w < 4; w++)
            width[w] = test_between(&random, 0, 2);
        snprintf(text, sizeof text, "%s;halo=%d:%d,%d:%d", maps[test_between(&random, 0, 10)], (int)width[0],
                 (int)width[1], (int)width[2], (int)width[3]);
        dcl_map *map = dcl_map_parse(test_cluster(4), text);
        dcli_layout layout;
        cr_assert_eq(dcli_map_bind(map, &grid, &layout), DCL_OK, "%s: %s", text, dcl_error());
        dcli_region_list scratch = {0};
        for (int k = 0; k < 8; k++) {
            dcl_box box = {.rank = 2};
            for (int d = 0; d < 2; d++) {
                int64_t end = grid.origin[d] + grid.extent[d] + 2;
                box.start[d] = test_between(&random, grid.origin[d] - 2, end - 1);
                box.stride[d] = test_between(&random, 1, 4);
                box.count[d] = test_between(&random, 1, (end - 1 - box.start[d]) / box.stride[d] + 1);
                box.stride[d] = box.count[d] > 1 ? box.stride[d] : 1;
            }
            int node = (int)test_between(&random, 0, 3);
            bool near, expected = layout.rule.halo_rank > 0 && all_near(&layout, node, &box);
            cr_assert_eq(dcli_layout_near(&layout, node, &box, &scratch, &near), DCL_OK);
            char box_text[80];
            dcli_box_print(&box, box_text, sizeof box_text);
            cr_expect_eq(near, expected, "%s, %dx%d from %d,%d, node %d: %s is near: %d", text, (int)grid.extent[0],
                         (int)grid.extent[1], (int)grid.origin[0], (int)grid.origin[1], node, box_text, near);
            near_ones += near;
        }
        dcli_region_list_free(&scratch);
        dcli_layout_release(&layout);
        dcl_map_release(map);
    }
    cr_expect_gt(near_ones, 1000);
}

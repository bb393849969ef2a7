/* test/resmap/overlap_test.c - maps with an overlap: as text, refused, and where parts and the lines around them lie. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "resmap/fake_cluster.h"
#include "resmap/layout.h"

struct text_row {
    char text[48], printed[48];
};

ParameterizedTestParameters(overlap, printed)
{
    static struct text_row rows[] = {
        {"block;overlap=8", "block;overlap=8"},
        {"block , * ; overlap = 2 ; tile=4x4", "block,*;tile=4x4;overlap=2"},
        {"splits(3,5),*;overlap=1;nodes=0-2", "splits(3,5),*;nodes=0-2;overlap=1"},
        {"block,*;overlap=0", "block,*"},
    };
    return cr_make_param_array(struct text_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct text_row *row, overlap, printed)
{
    char printed[128];
    dcl_map *map = dcl_map_parse(test_cluster(4), row->text);
    cr_assert_not_null(map, "%s: %s", row->text, dcl_error());
    dcl_map_print(map, printed, sizeof printed);
    cr_expect_str_eq(printed, row->printed, "%s: printed as %s", row->text, printed);
    dcl_map *again = dcl_map_parse(test_cluster(4), printed),
            *other = dcl_map_parse(test_cluster(4), "block;overlap=7");
    cr_expect(dcl_map_equal(map, again) && !dcl_map_equal(map, other), "%s", printed);
    dcl_map_release(other);
    dcl_map_release(again);
    dcl_map_release(map);
}

/* Maps that are refused as text, or for a grid of 20 x 6. */
struct refused_row {
    char text[48], words[120];
};

ParameterizedTestParameters(overlap, refused)
{
    static struct refused_row rows[] = {
        {"block;overlap", "column 14: found the end; expected \"=\" and a number of lines"},
        {"block;overlap=-1", "expected a number of lines, 0..65536"},
        {"block;overlap=65537", "expected a number of lines, 0..65536"},
        {"block;overlap=1;overlap=1", "expected an overlap that was not given before"},
        {"block,*;overlap=1;halo=1", "the map has an overlap and a halo"},
        {"block,*;overlap=1;every=2x1", "the map has an overlap and steps (;every=)"},
        {"replicated;overlap=1", "a map that is replicated is to have an overlap"},
        {"rows:cyclic(2x2);overlap=1", "a map that is dealt or a list of boxes is to have an overlap"},
        {"boxes:[0:4]@0,[4:8]@1;overlap=1", "a map that is dealt or a list of boxes is to have an overlap"},
        {"block,block@2x2;overlap=1", "the map has an overlap and divides axis 1"},
        {"*,block;overlap=3", "the map has an overlap and divides axis 1"},
        {"cyclic(2),*;overlap=1", "the map has an overlap and gives a node several runs"},
        {"splits(3,5,6,7,9,11),*;overlap=1", "the map has an overlap and gives a node several runs"},
    };
    return cr_make_param_array(struct refused_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct refused_row *row, overlap, refused)
{
    dcl_map *map = dcl_map_parse(test_cluster(4), row->text);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 20, 6);
    int64_t elements;
    cr_expect(map == NULL || dcl_map_storage(map, &grid, 0, &elements) != DCL_OK, "%s was accepted", row->text);
    cr_expect(strstr(dcl_error(), row->words) != NULL, "%s: %s", row->text, dcl_error());
    dcl_map_release(map);
}

/* A grid over four nodes: what each stores, "first own:end own in first:end at offset of the part", for each node. */
struct part_row {
    char map[32];
    int64_t lines, row;
    char parts[160];
};

ParameterizedTestParameters(overlap, parts)
{
    static struct part_row rows[] = {
        /* lines of `row` elements; storage: lines of the part and twice the overlap */
        {"block,*;overlap=2", 16, 6,
         "0:4 in 0:6 at 12 of 48; 4:8 in 2:10 at 12 of 48; 8:12 in 6:14 at 12 of 48; 12:16 in "
         "10:16 at 12 of 48; "},
        {"block,*;overlap=3", 7, 5,
         "0:2 in 0:5 at 15 of 40; 2:4 in 0:7 at 15 of 40; 4:6 in 1:7 at 15 of 40; 6:7 in 3:7 at 15 "
         "of 35; "}, /* an overlap that reaches beyond the neighbour */
        {"splits(1,3,9),*;overlap=1", 6, 1, "0:1 in 0:2 at 1 of 3; 1:3 in 0:4 at 1 of 4; 3:6 in 2:6 at 1 of 5; -; "},
        {"*,*;overlap=4;nodes=2", 6, 2, "-; -; -; -; "}, /* one node owns all */
    };
    return cr_make_param_array(struct part_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct part_row *row, overlap, parts)
{
    dcl_map *map = dcl_map_parse(test_cluster(4), row->map);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, row->lines, row->row);
    dcli_layout layout;
    cr_assert_not_null(map, "%s", dcl_error());
    char found[400] = "";
    cr_assert_eq(dcli_layout_bind(&map->rule, &grid, &layout), DCL_OK, "%s", dcl_error());
    for (int node = 0; node < 4; node++) {
        dcli_region own, around;
        bool has;
        size_t length = strlen(found);
        cr_assert_eq(dcli_layout_around(&layout, node, &has, &own, &around), DCL_OK);
        if (!has) {
            snprintf(found + length, sizeof found - length, "-; ");
            continue;
        }
        snprintf(found + length, sizeof found - length, "%d:%d in %d:%d at %d of %d; ", (int)own.box.start[0],
                 (int)(own.box.start[0] + own.box.count[0]), (int)around.box.start[0],
                 (int)(around.box.start[0] + around.box.count[0]), (int)own.offset,
                 (int)dcli_layout_storage(&layout, node));
        /* both regions say the same of the part's first element, and dcli_layout_locate() does, too */
        int owner;
        int64_t offset;
        dcli_layout_locate(&layout, own.box.start, &owner, &offset);
        cr_expect(owner == node && offset == own.offset, "%s: node %d, %d", row->map, owner, (int)offset);
        cr_expect_eq(around.offset + (own.box.start[0] - around.box.start[0]) * around.step[0], own.offset);
        cr_expect(around.step[0] == dcli_layout_line(&layout) && around.offset >= 0);
    }
    cr_expect_str_eq(found, row->parts, "%s: %s", row->map, found);
    dcli_layout_release(&layout);
    dcl_map_release(map);
}

/* Two layouts are the same only with the same overlap. In another shape, elements stay where they are, after the lines. */
Test(overlap, compared)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 16, 6), shape = dcl_grid_1d(DCL_FLOAT, 96);
    dcli_layout layout[3], reshaped;
    static const char *const texts[] = {"block,*;overlap=2", "block,*;overlap=2;tile=2x2", "block,*"};
    for (int n = 0; n < 3; n++) {
        dcl_map *map = dcl_map_parse(test_cluster(4), texts[n]);
        cr_assert_eq(dcli_layout_bind(&map->rule, &grid, &layout[n]), DCL_OK);
        dcl_map_release(map);
    }
    cr_expect(dcli_layout_same(&layout[0], &layout[1]) && !dcli_layout_same(&layout[0], &layout[2]));
    cr_assert_eq(dcli_layout_reshape(&layout[0], &shape, &reshaped), DCL_OK, "%s", dcl_error());
    for (int64_t e = 0; e < 96; e++) {
        int node[2];
        int64_t offset[2];
        dcli_layout_locate(&layout[0], (int64_t[]){e / 6, e % 6}, &node[0], &offset[0]);
        dcli_layout_locate(&reshaped, &e, &node[1], &offset[1]);
        cr_assert(node[0] == node[1] && offset[0] == offset[1], "element %d: %d, %d", (int)e, (int)offset[0],
                  (int)offset[1]);
    }
    for (int node = 0; node < 4; node++)
        cr_expect_eq(dcli_layout_storage(&layout[0], node), dcli_layout_storage(&reshaped, node));
    dcli_layout_release(&reshaped);
    for (int n = 0; n < 3; n++)
        dcli_layout_release(&layout[n]);
}

/* Lines that are reserved without being asked for: as many as a 16th of a part's, up to a number, and
 * at least eight if the part has seven times as many. */
struct reserve_row {
    char map[40];
    int64_t extent[3];
    int64_t most, lines;
};

ParameterizedTestParameters(overlap, reserved)
{
    static struct reserve_row rows[] = {
        {"block,*", {4096, 4096, 0}, 32, 32},
        {"block,*", {2000, 4096, 0}, 32, 31},
        {"block,*", {4096, 4096, 0}, 12, 12},
        {"block,*", {4096, 4096, 0}, 7, 0},
        {"block,*", {4096, 4096, 0}, 0, 0},
        {"block,*", {8192, 128, 0}, 100, 100}, /* 2048 rows of 128: as many elements as are needed */
        {"block,*", {8192, 127, 0}, 100, 0},
        {"block,*", {512, 8192, 0}, 32, 8},
        {"block,*", {224, 8192, 0}, 32, 8}, /* 56 rows */
        {"block,*", {223, 8192, 0}, 32, 0}, /* 55 rows */
        {"block,*,*", {1024, 64, 64}, 32, 16},
        {"splits(1000,2000,3000),*", {4000, 1000, 0}, 100, 62},
        {"weighted(1:1:1:2),*", {4000, 1000, 0}, 100, 62},
        {"block,*;overlap=3", {4096, 4096, 0}, 32, 3},
        {"block,*;halo=1", {4096, 4096, 0}, 32, 0},
        {"block,*;every=2x2", {8192, 8192, 0}, 32, 0},
        {"block,*;nodes=2", {4096, 4096, 0}, 32, 0},
        {"block", {4096, 4096, 0}, 32, 0}, /* 2 x 2 nodes */
        {"cyclic(16),*", {4096, 4096, 0}, 32, 0},
        {"rows:cyclic(1024x4096)", {4096, 4096, 0}, 32, 0},
        {"replicated", {4096, 4096, 0}, 32, 0},
        {"block", {1 << 24, 0, 0}, 32, 32},
        {"block", {(1 << 20) - 1, 0, 0}, 32, 0},
        {"cyclic", {1 << 24, 0, 0}, 32, 0},
        {"block,*", {0, 4096, 0}, 32, 0},
        {"block,*", {(int64_t)1 << 40, 1 << 20, 0}, 32, 0}, /* too large to be stored */
    };
    return cr_make_param_array(struct reserve_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct reserve_row *row, overlap, reserved)
{
    int rank = row->extent[1] == 0 && row->extent[0] > 0 ? 1 : row->extent[2] == 0 ? 2 : 3;
    dcl_map *map = dcl_map_parse(test_cluster(4), row->map);
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, rank, row->extent, NULL);
    dcli_layout plain, layout;
    cr_assert_not_null(map, "%s", dcl_error());
    cr_assert_eq(dcli_layout_bind(&map->rule, &grid, &plain), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_layout_bind(&map->rule, &grid, &layout), DCL_OK);
    dcli_layout_reserve(&layout, row->most);
    cr_expect_eq(layout.around, row->lines, "%s: %d", row->map, (int)layout.around);
    cr_expect_eq(dcli_layout_same(&plain, &layout), layout.lead == plain.lead);
    for (int node = 0; node < 4; node++)
        cr_expect_eq(dcli_layout_storage(&layout, node) - dcli_layout_storage(&plain, node),
                     2 * (layout.lead - plain.lead) * (dcli_layout_storage(&plain, node) > 0), "%s", row->map);
    cr_expect(dcli_map_rule_equal(&plain.rule, &layout.rule), "the map stays as it is");
    dcli_layout_release(&plain);
    dcli_layout_release(&layout);
    dcl_map_release(map);
}

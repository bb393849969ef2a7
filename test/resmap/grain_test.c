/* test/resmap/grain_test.c - segments, blocks and tiles as they are told from outside. Letters stand for them in the order
 * in which row-major reading meets them; rows are separated by spaces. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include <dcl/grain.h>

#include "base/error.h"
#include "resmap/fake_cluster.h"

enum { MOST = 64 }; /* elements of a grid here */

struct grain_case {
    char map[64];
    int nodes, rank;
    int64_t extent[2];
    char segments[80], blocks[80], tiles[80];
};

ParameterizedTestParameters(grain, cuts)
{
    /* clang-format off */
    static struct grain_case cases[] = {
        {"block", 2, 1, {5}, "aaabb", "aaabb", "aaabb"},
        {"block;block=2;tile=1", 2, 1, {5}, "aaabb", "aabcc", "abcde"},
        {"cyclic(2)", 2, 1, {7}, "aabbccd", "aabbccd", "aabbaab"},
        {"cyclic(2);block=1;tile=3", 2, 1, {7}, "aabbccd", "abcdefg", "aabbacb"},
        {"cyclic(2)", 1, 1, {5}, "aaaaa", "aaaaa", "aaaaa"}, /* adjacent runs of one coordinate are one segment */
        {"rows:cyclic(2)", 1, 1, {5}, "aabbc", "aabbc", "aaaaa"},
        {"rows:cyclic(2);tile=4", 1, 1, {5}, "aabbc", "aabbc", "aaaab"}, /* a tile spans two slots */
        {"rows:cyclic(2);tile=1", 2, 1, {5}, "aabbc", "aabbc", "abcde"}, /* or is a part of one */
        {"rows:cyclic(2x2);block=1x2", 2, 2, {3, 4}, "aabb aabb ccdd", "aabb ccdd eeff", "aabb aabb aabb"},
        {"block,*;block=1x1;tile=2x2", 2, 2, {3, 4}, "aaaa aaaa bbbb", "abcd efgh ijkl", "aabb aabb ccdd"},
        {"block;nodes=1", 2, 1, {4}, "aaaa", "aaaa", "aaaa"},
    };
    /* clang-format on */
    return cr_make_param_array(struct grain_case, cases, sizeof cases / sizeof cases[0]);
}

/* Numbers by their first appearance, `width` of them in a row. */
static void expect_letters(const char *what, const struct grain_case *c, const int64_t numbers[], const char *expected)
{
    int64_t seen[MOST];
    int letters = 0, used = 0;
    char text[2 * MOST];
    int64_t width = c->extent[c->rank - 1], count = c->rank == 1 ? width : width * c->extent[0];
    for (int64_t k = 0; k < count; k++) {
        int letter = 0;
        while (letter < letters && seen[letter] != numbers[k])
            letter++;
        if (letter == letters)
            seen[letters++] = numbers[k];
        if (k > 0 && k % width == 0)
            text[used++] = ' ';
        text[used++] = (char)('a' + letter);
    }
    text[used] = '\0';
    cr_expect_str_eq(text, expected, "%s: %s are %s; expected %s", c->map, what, text, expected);
}

struct painting {
    const dcl_grid *grid;
    int64_t *tiles;
    int64_t last; /* node and number of the tile before */
};

static void paint_box(const struct painting *painting, const dcl_tile *tile, const dcl_box *box)
{
    int64_t rows = box->rank > 1 ? box->count[0] : 1, axis = box->rank - 1;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < box->count[axis]; k++) {
            int64_t row = box->rank > 1 ? box->start[0] + r * box->stride[0] : 0;
            int64_t place = row * painting->grid->extent[axis] + box->start[axis] + k * box->stride[axis];
            cr_expect_eq(painting->tiles[place], -1, "two tiles have element %d", (int)place);
            painting->tiles[place] = tile->number * 100 + tile->node;
        }
}

static dcl_status paint(void *user, const dcl_tile *tile)
{
    struct painting *painting = user;
    int64_t key = tile->node * INT64_C(1000000) + tile->number;
    cr_expect_gt(key, painting->last);
    cr_expect_gt(tile->box_count, 0);
    painting->last = key;
    for (int64_t b = 0; b < tile->box_count; b++)
        paint_box(painting, tile, &tile->box[b]);
    return DCL_OK;
}

ParameterizedTest(struct grain_case *c, grain, cuts)
{
    dcl_map *map = dcl_map_parse(test_cluster(c->nodes), c->map);
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, c->rank, c->extent, NULL);
    int64_t segments[MOST], blocks[MOST], tiles[MOST];
    for (int64_t k = 0; k < dcl_grid_count(&grid); k++) {
        int64_t width = c->extent[c->rank - 1], index[] = {c->rank == 1 ? k : k / width, k % width};
        cr_assert_eq(dcl_map_grains(map, &grid, index, &segments[k], &blocks[k]), DCL_OK, "%s", dcl_error());
        tiles[k] = -1;
    }
    struct painting painting = {.grid = &grid, .tiles = tiles, .last = -1};
    cr_assert_eq(dcl_map_tiles(map, &grid, DCL_ALL_NODES, paint, &painting), DCL_OK, "%s", dcl_error());
    expect_letters("segments", c, segments, c->segments);
    expect_letters("blocks", c, blocks, c->blocks);
    expect_letters("tiles", c, tiles, c->tiles);
    dcl_map_release(map);
}

static void expect_words(dcl_status found, dcl_status expected, const char *words)
{
    cr_expect_eq(found, expected, "%s: %s", words, dcl_status_name(found));
    cr_expect_not_null(strstr(dcl_error(), words), "%s; expected the words: %s", dcl_error(), words);
}

static dcl_status stop(void *user, const dcl_tile *tile)
{
    cr_expect_eq(tile->node, 0);
    cr_expect_eq(tile->box[0].count[0], 3);
    ++*(int *)user;
    return DCL_ERR_UNSUPPORTED;
}

Test(grain, refusals)
{
    dcl_map *map = dcl_map_block(test_cluster(2));
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 6);
    int64_t segment = 7, block = 8, index = 6;
    int calls = 0;
    expect_words(dcl_map_grains(map, &grid, &index, &segment, &block), DCL_ERR_RANGE,
                 "dcl_map_grains: index[0] is 6; expected 0..5");
    cr_expect_eq(segment, 7);
    cr_expect_eq(block, 8);
    expect_words(dcl_map_grains(NULL, &grid, &index, &segment, &block), DCL_ERR_INVALID, "map is NULL");
    expect_words(dcl_map_grains(map, NULL, &index, &segment, &block), DCL_ERR_INVALID, "grid is NULL");
    expect_words(dcl_map_grains(map, &grid, NULL, &segment, &block), DCL_ERR_INVALID,
                 "index, segment_out or block_out");
    expect_words(dcl_map_tiles(map, &grid, 2, stop, &calls), DCL_ERR_INVALID,
                 "dcl_map_tiles: node is 2; expected 0..1");
    expect_words(dcl_map_tiles(map, &grid, 0, NULL, NULL), DCL_ERR_INVALID, "visit is NULL");
    cr_expect_eq(calls, 0);
    cr_expect_eq(dcl_map_tiles(map, &grid, 0, stop, &calls), DCL_ERR_UNSUPPORTED);
    cr_expect_eq(calls, 1);
    dcl_map_release(map);
}

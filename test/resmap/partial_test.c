/* test/resmap/partial_test.c - maps that store only some elements: sparse tables and strided grids, what the others
 * read as, and what is refused. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <dcl/grain.h>
#include <dcl/map.h>

#include "base/alloc.h"
#include "base/error.h"
#include "resmap/fake_cluster.h"
#include "resmap/parts.h"

/* ---- what lies where ---------------------------------------------------------------------------------------------- */

struct drawn_row {
    char map[48];
    int nodes;
    int64_t extent[2];
    char owners[40], offsets[40]; /* by rows of the grid; '.': stored nowhere */
};

ParameterizedTestParameters(partial, drawn)
{
    /* clang-format off */
    static struct drawn_row rows[] = {
        {"rows:table(2x2);owners=0,-,1,-*2,0", 2, {4, 6}, "00..11 00..11 ....00 ....00", "01..01 23..23 ....45 ....67"},
        {"columns:table(2x2);owners=1,-,-,0", 2, {4, 4}, "11.. 11.. ..00 ..00", "01.. 23.. ..01 ..23"},
        {"rows:table(2x2);owners=-,0,1,-", 2, {3, 3}, "..0 ..0 11.", "..0 ..2 01."}, /* cut pieces keep their slots */
        {"rows:table(1x4);owners=-*2", 2, {2, 4}, ".... ....", ".... ...."},
        {"rows:table(1x1);owners=2,-,1;nodes=1-2", 4, {1, 3}, "2.1", "0.0"},
        {"block;every=2x3", 2, {4, 7}, "0..0..0 ....... 1..1..1 .......", "0..1..2 ....... 0..1..2 ......."},
        {"block;every=1x2", 2, {2, 4}, "0.0. 1.1.", "0.1. 0.1."},
        {"*,cyclic;every=1x2", 2, {1, 8}, "0.1.0.1.", "0.0.1.1."},
        {"rows:cyclic(1x2);every=2x1", 3, {3, 4}, "0011 .... 2200", "0101 .... 0123"}, /* pieces of what is stored */
        {"rows:table(1x1);owners=0,-,1,1;every=3x2", 2, {4, 4}, "0... .... .... 1.1.", "0... .... .... 0.1."},
        {"block;every=9x9", 2, {3, 3}, "0.. ... ...", "0.. ... ..."},
        {"block;every=1x9", 2, {2, 1}, "0 1", "0 0"}, /* nothing is between */
        {"splits(1),*@2x1;every=2x2", 2, {5, 2}, "0. .. 1. .. 1.", "0. .. 0. .. 1."},
        {"weighted(1:3),*;every=1x2", 2, {4, 2}, "0. 1. 1. 1.", "0. 0. 1. 2."},
    };
    /* clang-format on */
    return cr_make_param_array(struct drawn_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct drawn_row *row, partial, drawn)
{
    char owners[80] = "", offsets[80] = "";
    int length = 0;
    dcl_map *map = dcl_map_parse(test_cluster(row->nodes), row->map);
    cr_assert_not_null(map, "%s", dcl_error());
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, 2, row->extent, (int64_t[]){10, -10});
    for (int64_t e = 0; e < row->extent[0] * row->extent[1]; e++) {
        int64_t index[] = {10 + e / row->extent[1], e % row->extent[1] - 10}, offset = 99;
        int node = 99;
        cr_assert_eq(dcl_map_locate(map, &grid, index, &node, &offset), DCL_OK, "%s", dcl_error());
        cr_expect((node == DCL_NOWHERE) == (offset == -1), "%s: node %d, offset %" PRId64, row->map, node, offset);
        if (e > 0 && e % row->extent[1] == 0)
            owners[length] = offsets[length] = ' ', length++;
        owners[length] = (char)(node == DCL_NOWHERE ? '.' : '0' + node);
        offsets[length++] = (char)(offset == -1 ? '.' : '0' + offset);
    }
    cr_expect_str_eq(owners, row->owners, "%s: owners are %s; expected %s", row->map, owners, row->owners);
    cr_expect_str_eq(offsets, row->offsets, "%s: offsets are %s; expected %s", row->map, offsets, row->offsets);
    dcl_map_release(map);
}

static dcl_status print_box(void *user, const dcl_box *box)
{
    char *text = user;
    dcli_box_print(box, text + strlen(text), 100);
    return DCL_OK;
}

static dcl_status print_tile(void *user, const dcl_tile *tile)
{
    sprintf((char *)user + strlen(user), "%" PRId64, tile->number);
    for (int64_t b = 0; b < tile->box_count; b++)
        print_box(user, &tile->box[b]);
    return DCL_OK;
}

Test(partial, boxes_tiles_and_grains_are_those_of_what_is_stored)
{
    char boxes[400] = "", tiles[400] = "";
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, 1, (int64_t[]){11}, (int64_t[]){1}); /* stored: 1 3 5 7 9 11 */
    dcl_map *map = dcl_map_parse(test_cluster(2), "cyclic(2);tile=1;block=1;every=2");
    int64_t elements, segment[3], block[3];
    cr_assert_eq(dcl_map_boxes(map, &grid, 0, print_box, boxes), DCL_OK);
    cr_expect_str_eq(boxes, "[1:5:2][9:13:2]");
    cr_assert_eq(dcl_map_tiles(map, &grid, 0, print_tile, tiles), DCL_OK);
    cr_expect_str_eq(tiles, "0[1:2]1[3:4]2[9:10]3[11:12]");
    cr_assert_eq(dcl_map_storage(map, &grid, 1, &elements), DCL_OK);
    cr_expect_eq(elements, 2);
    for (int k = 0; k < 3; k++)
        cr_assert_eq(dcl_map_grains(map, &grid, (int64_t[]){1 + k}, &segment[k], &block[k]), DCL_OK);
    cr_expect(segment[0] == segment[2] && block[0] != block[2], "1 and 3 are one segment and two blocks");
    cr_expect(segment[1] == -1 && block[1] == -1, "2 is stored nowhere");
    dcl_map_release(map);
}

/* ---- making them -------------------------------------------------------------------------------------------------- */

static void expect_text(dcl_map *map, const char *expected)
{
    char text[128];
    cr_assert_not_null(map, "%s: %s", expected, dcl_error());
    dcl_map_print(map, text, sizeof text);
    cr_expect_str_eq(text, expected);
    dcl_map_release(map);
}

static int even_columns(void *user, const int64_t piece[])
{
    (void)user;
    return piece[1] % 2 == 0 ? (int)piece[0] % 2 : DCL_NOWHERE;
}

Test(partial, constructors)
{
    dcl_cluster *two = test_cluster(2);
    int64_t pieces[] = {7, 0, 1, 3};
    expect_text(dcl_map_sparse(two, DCL_ROWS, 2, (int64_t[]){2, 2}, 9, 4, pieces),
                "rows:table(2x2);owners=1,0,-,1,-*3,0,-");
    expect_text(dcl_map_sparse(two, DCL_COLUMNS, 1, NULL, 8, 4, pieces), "columns:table(1);owners=1,0,-,1,-*3,0");
    expect_text(dcl_map_table(two, DCL_ROWS, 1, NULL, 3, (int[]){0, DCL_NOWHERE, 1}), "rows:table(1);owners=0,-,1");
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 2, 3);
    expect_text(dcl_map_function(two, DCL_ROWS, 2, NULL, &grid, even_columns, NULL),
                "rows:table(1x1);owners=0,-,0,1,-,1");
    dcl_map *block = dcl_map_block(two), *every = dcl_map_every(block, 2, (int64_t[]){2, 3});
    dcl_map *rest = dcl_map_with_rest(every, -1.5), *one = dcl_map_every(rest, 1, (int64_t[]){1});
    expect_text(dcl_map_retain(every), "block;every=2x3");
    expect_text(dcl_map_retain(rest), "block;every=2x3;rest=-1.5");
    expect_text(dcl_map_retain(one), "block;rest=-1.5");
    expect_text(dcl_map_every(every, 1, (int64_t[]){4}), "block;every=4");
    cr_expect_not(dcl_map_equal(block, every));
    cr_expect_not(dcl_map_equal(every, rest));
    cr_expect_not(dcl_map_equal(block, one));
    dcl_map *zero = dcl_map_with_rest(rest, 0);
    cr_expect(dcl_map_equal(every, zero));
    expect_text(dcl_map_with_rest(block, NAN), "block;rest=nan");
    cr_expect_null(dcl_map_sparse(NULL, DCL_ROWS, 1, NULL, 1, 1, pieces));
    cr_expect_null(dcl_map_every(NULL, 1, pieces));
    cr_expect_null(dcl_map_with_rest(NULL, 1));
    dcl_map *maps[] = {block, every, rest, one, zero};
    for (int k = 0; k < 5; k++)
        dcl_map_release(maps[k]);
}

/* The nodes that are alive take turns. */
Test(partial, sparse_over_the_nodes_alive)
{
    dcl_cluster *four = test_cluster(4);
    test_cluster_lose(four, 1);
    expect_text(dcl_map_sparse(four, DCL_ROWS, 1, NULL, 6, 4, (int64_t[]){0, 1, 2, 5}),
                "rows:table(1);owners=0,2,3,-*2,0;nodes=0,2-3");
}

static void expect_refused(dcl_map *map, const char *words)
{
    cr_expect_null(map, "accepted; expected: %s", words);
    cr_expect_eq(dcli_error_status(), DCL_ERR_INVALID, "%s: %s", words, dcl_status_name(dcli_error_status()));
    cr_expect_not_null(strstr(dcl_error(), words), "%s; expected the words: %s", dcl_error(), words);
}

Test(partial, constructors_refuse)
{
    dcl_cluster *two = test_cluster(2);
    int64_t pieces[] = {3, 1, 3}, far[] = {0, 4}, before[] = {-1};
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 4, 3, pieces), "dcl_map_sparse: piece 3 is named twice");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 4, 2, far),
                   "pieces[1] is 4; expected 0..3, for the grid has 4 pieces");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 4, 1, before), "pieces[0] is -1; expected 0..3");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 4, 0, pieces), "0 pieces are named; expected at least one");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 2, 3, pieces),
                   "3 pieces are named; the grid has 2; expected");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 4, 1, NULL),
                   "pieces is NULL; expected the numbers of the pieces that are stored");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, NULL, 0, 1, pieces), "the grid has 0 pieces; expected 1..");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 0, NULL, 4, 2, pieces), "rank is 0; expected 1..8");
    expect_refused(dcl_map_sparse(two, DCL_ROWS, 1, (int64_t[]){0}, 4, 2, pieces), "piece[0] is 0; expected at least");
    expect_refused(dcl_map_table(two, DCL_ROWS, 1, NULL, 2, (int[]){0, -2}),
                   "the owner of piece 1 is node -2; expected one of the map's nodes: 0-1; or DCL_NOWHERE");
    dcl_map *block = dcl_map_block(two), *rows = dcl_map_parse(two, "rows:cyclic(2x2)");
    dcl_box box = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){4});
    dcl_map *boxes = dcl_map_listed(two, 1, &box, (int[]){0});
    expect_refused(dcl_map_every(block, 0, pieces), "dcl_map_every: rank is 0; expected 1..8");
    expect_refused(dcl_map_every(block, 1, NULL), "step is NULL; expected a step for each axis, rank of them");
    expect_refused(dcl_map_every(block, 1, before),
                   "every[0] is -1; expected a step of at least 1; 1 takes every index of axis 0");
    expect_refused(dcl_map_every(rows, 1, pieces), "every so many-th element of 1 axes (;every=) and divides 2");
    expect_refused(dcl_map_every(boxes, 1, pieces), "a map of listed boxes is to store every so many-th element only");
    dcl_map_release(block);
    dcl_map_release(rows);
    dcl_map_release(boxes);
}

static void expect_unfit(const char *text, dcl_grid grid, const char *words)
{
    dcl_map *map = dcl_map_parse(test_cluster(2), text);
    int64_t elements;
    cr_assert_not_null(map, "%s: %s", text, dcl_error());
    cr_expect_eq(dcl_map_storage(map, &grid, 0, &elements), DCL_ERR_INVALID, "%s", text);
    cr_expect_not_null(strstr(dcl_error(), words), "%s; expected the words: %s", dcl_error(), words);
    dcl_map_release(map);
}

Test(partial, grids_that_do_not_fit)
{
    expect_unfit("block;every=2x2", dcl_grid_1d(DCL_FLOAT, 8), "element of 2 axes (;every=); the grid has rank 1");
    expect_unfit("rows:table(2);owners=0,-,1", dcl_grid_1d(DCL_FLOAT, 8), "piece 3 has no owner");
    expect_unfit("block(1)@2;every=2", dcl_grid_1d(DCL_FLOAT, 5),
                 "room for 2 elements; expected at least the extent, 3");
    expect_unfit("block;rest=0.5", dcl_grid_1d(DCL_INT32, 8),
                 "read as 0.5 (;rest=), and the elements are of type int32");
    expect_unfit("block;rest=128", dcl_grid_1d(DCL_INT8, 8), "read as 128 (;rest=)");
    expect_unfit("block;rest=-1", dcl_grid_1d(DCL_UINT64, 8), "elements are of type uint64");
    expect_unfit("block;rest=nan", dcl_grid_1d(DCL_INT64, 8), "read as nan");
    expect_unfit("block;rest=1e39", dcl_grid_1d(DCL_FLOAT, 8), "read as 1e+39");
    expect_unfit("block;rest=65520", dcl_grid_1d(DCL_HALF, 8), "elements are of type half");
}

/* Binding a layout of two levels, with every allocation failing in turn. */
Test(partial, memory_may_run_out)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 10);
    int64_t elements;
    dcl_map *map = dcl_map_parse(test_cluster(3), "rows:table(1);owners=0,-*3,1;every=2");
    int failures = 0;
    for (int n = 1; n < 20; n++) {
        dcli_alloc_fail_after(n);
        failures += dcl_map_storage(map, &grid, 0, &elements) == DCL_ERR_NOMEM;
        dcli_alloc_fail_after(0);
    }
    cr_expect_eq(failures, 2);
    for (int n = 1; n < 4; n++) {
        dcli_alloc_fail_after(n);
        cr_expect_null(dcl_map_sparse(test_cluster(3), DCL_ROWS, 1, NULL, 4, 1, (int64_t[]){2}));
        cr_expect_eq(dcli_error_status(), DCL_ERR_NOMEM);
    }
    dcli_alloc_fail_after(0);
    dcl_map_release(map);
}

/* ---- what the others read as -------------------------------------------------------------------------------------- */

struct fill_value_row {
    double fill_value;
    dcl_type type;
    uint64_t bits;
};

ParameterizedTestParameters(partial, fill_value)
{
    static struct fill_value_row rows[] = {
        {-128, DCL_INT8, 0x80},
        {255, DCL_UINT8, 0xff},
        {-2, DCL_INT16, 0xfffe},
        {65535, DCL_UINT16, 0xffff},
        {-2147483648.0, DCL_INT32, 0x80000000},
        {4294967295.0, DCL_UINT32, 0xffffffff},
        {-1, DCL_INT64, UINT64_MAX},
        {9007199254740993.0, DCL_INT64, UINT64_C(9007199254740992)}, /* as the double has it */
        {18446744073709549568.0, DCL_UINT64, UINT64_C(18446744073709549568)},
        {1, DCL_HALF, 0x3c00},
        {-2.5, DCL_HALF, 0xc100},
        {65504, DCL_HALF, 0x7bff},
        {65519, DCL_HALF, 0x7bff},
        {2049, DCL_HALF, 0x6800},      /* a tie, to the even one below */
        {2051, DCL_HALF, 0x6802},      /* a tie, to the even one above */
        {0x1p-14, DCL_HALF, 0x0400},   /* the smallest that is normal */
        {0x1p-24, DCL_HALF, 0x0001},   /* the smallest of all */
        {0x1p-25, DCL_HALF, 0x0000},   /* half of it */
        {0x1.8p-25, DCL_HALF, 0x0001}, /* more than half of it */
        {4095.5, DCL_HALF, 0x6c00},    /* carries into the exponent */
        {-0.0, DCL_HALF, 0x8000},
        {INFINITY, DCL_HALF, 0x7c00},
        {0.1, DCL_FLOAT, 0x3dcccccd},
        {-INFINITY, DCL_FLOAT, 0xff800000},
        {0.1, DCL_DOUBLE, UINT64_C(0x3fb999999999999a)},
    };
    return cr_make_param_array(struct fill_value_row, rows, sizeof rows / sizeof rows[0]);
}

ParameterizedTest(struct fill_value_row *row, partial, fill_value)
{
    uint64_t bits = 0;
    unsigned char element[8] = {0};
    cr_assert_eq(dcli_fill_value_element(row->fill_value, row->type, element), DCL_OK, "%s", dcl_error());
    memcpy(&bits, element, dcl_type_bytes(row->type));
    cr_expect_eq(bits, row->bits, "%g as %s has the bits %" PRIx64 "; expected %" PRIx64, row->fill_value,
                 dcl_type_name(row->type), bits, row->bits);
}

Test(partial, nan_is_one_of_every_type_that_has_it)
{
    unsigned char element[8];
    float single;
    double whole;
    uint16_t half;
    cr_assert_eq(dcli_fill_value_element((double)NAN, DCL_FLOAT, element), DCL_OK);
    memcpy(&single, element, sizeof single);
    cr_assert_eq(dcli_fill_value_element((double)NAN, DCL_DOUBLE, element), DCL_OK);
    memcpy(&whole, element, sizeof whole);
    cr_assert_eq(dcli_fill_value_element((double)NAN, DCL_HALF, element), DCL_OK);
    memcpy(&half, element, sizeof half);
    cr_expect(isnan(single) && isnan(whole) && (half & 0x7fff) > 0x7c00);
}

Test(partial, text_of_a_rest_has_a_point_in_every_locale)
{
    static const double numbers[] = {0.1, -1.5e300, 5e-324, 1.0 / 3, 123456789, INFINITY};
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is installed */
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        char text[32];
        const char *end;
        dcli_fill_value_print(numbers[k], text);
        cr_expect_null(strchr(text, ','), "%s", text);
        cr_expect_eq(dcli_fill_value_parse(text, &end), numbers[k], "%s", text);
        cr_expect_eq(*end, '\0', "%s", text);
    }
}

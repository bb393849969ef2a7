/* test/segment/grid_test.c - element types, making grids and boxes, and what their checks refuse. */
#include <dcl/grid.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "segment/box.h"

Test(type, names_and_bytes)
{
    for (int type = DCL_INT8; type <= DCL_DOUBLE; type++)
        cr_expect_eq((int)dcl_type_named(dcl_type_name((dcl_type)type)), type);
    cr_expect_str_eq(dcl_type_name(DCL_UINT16), "uint16");
    cr_expect_eq(dcl_type_bytes(DCL_HALF), 2);
    cr_expect_eq(dcl_type_bytes(DCL_DOUBLE), 8);
    cr_expect_eq(dcl_type_bytes((dcl_type)0), 0);
    cr_expect_eq(dcl_type_bytes((dcl_type)12), 0);
    cr_expect_str_eq(dcl_type_name((dcl_type)-1), "?");
    cr_expect_eq((int)dcl_type_named("complex"), 0);
    cr_expect_eq((int)dcl_type_named(NULL), 0);
}

Test(grid, is_made_and_counted)
{
    dcl_grid grid = dcl_grid_3d(DCL_FLOAT, 2, 3, 4);
    cr_expect_eq(grid.rank, 3);
    cr_expect_eq(grid.extent[2], 4);
    cr_expect_eq(dcl_grid_count(&grid), 24);
    cr_expect_eq(dcli_grid_check(&grid), DCL_OK);

    grid = dcl_grid_nd(DCL_INT8, 2, (int64_t[]){5, 0}, (int64_t[]){-3, 7});
    cr_expect_eq(grid.origin[0], -3);
    cr_expect_eq(dcl_grid_count(&grid), 0);
    cr_expect_eq(dcli_grid_check(&grid), DCL_OK);

    dcl_box box = dcl_box_of(&grid);
    cr_expect_eq(box.start[1], 7);
    cr_expect_eq(box.count[0], 5);
    cr_expect_eq(box.stride[1], 1);
    grid = dcl_grid_1d((dcl_type)77, 4);
    cr_expect_eq(dcl_grid_count(&grid), -1);
    cr_expect_eq(dcl_grid_count(NULL), -1);
}

struct refused_grid {
    int type, rank;
    int64_t extent[3], origin[3];
    char words[64];
};

ParameterizedTestParameters(grid, refused)
{
    static struct refused_grid cases[] = {
        {0, 1, {4}, {0}, "element type is number 0; expected 1..11"},
        {DCL_FLOAT, 0, {4}, {0}, "rank is 0; expected 1..8"},
        {DCL_FLOAT, 9, {4}, {0}, "rank is 9; expected 1..8"},
        {DCL_FLOAT, -1, {4}, {0}, "rank is -1"},
        {DCL_FLOAT, 2, {4, -2}, {0}, "extent[1] is -2; expected 0 or more"},
        {DCL_FLOAT, 2, {4, 4}, {0, INT64_MAX - 3}, "origin[1] is 9223372036854775804 and extent[1] is 4"},
        {DCL_FLOAT, 1, {INT64_MAX / 2}, {0}, "extent[0] is 4611686018427387903: with it"},
        {DCL_INT8, 3, {1 << 30, 1 << 30, 8}, {0}, "extent[2] is 8: with it the grid of int8 exceeds"},
        {DCL_INT8, 3, {INT64_C(1) << 40, INT64_C(1) << 40, 0}, {0}, "(extents of 0 not counted)"},
    };
    return cr_make_param_array(struct refused_grid, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct refused_grid *c, grid, refused)
{
    int64_t extent[9] = {c->extent[0], c->extent[1], c->extent[2]},
            origin[9] = {c->origin[0], c->origin[1], c->origin[2]};
    dcl_grid grid = dcl_grid_nd((dcl_type)c->type, c->rank, extent, origin);
    cr_expect_eq(dcli_grid_check(&grid), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), c->words), "\"%s\" lacks \"%s\"", dcl_error(), c->words);
    cr_expect_eq(dcl_grid_count(&grid), -1);
}

struct box_case {
    int rank;
    int64_t start[2], count[2], stride[2];
    dcl_status status;
    char words[80];
};

ParameterizedTestParameters(grid, box_check)
{
    static struct box_case cases[] = {
        /* the grid: rows 0..9, columns 5..24 */
        {2, {0, 5}, {10, 20}, {1, 1}, DCL_OK, ""},
        {2, {1, 5}, {3, 7}, {4, 3}, DCL_OK, ""},
        {2, {99, 5}, {1, 0}, {1, 1}, DCL_OK, ""}, /* empty: inside */
        {1, {0}, {1}, {1}, DCL_ERR_INVALID, "the box has rank 1; expected the grid's rank 2"},
        {2, {0, 5}, {1, -1}, {1, 1}, DCL_ERR_INVALID, "count[1] is -1; expected 0 or more"},
        {2, {0, 5}, {1, 1}, {0, 1}, DCL_ERR_INVALID, "stride[0] is 0; expected 1 or more"},
        {2, {0, 4}, {1, 2}, {1, 1}, DCL_ERR_RANGE, "axis 1 runs from 4 to 5"},
        {2,
         {2, 5},
         {3, 1},
         {4, 1},
         DCL_ERR_RANGE,
         "axis 0 runs from 2 to 10 (count 3, stride 4); expected indices from 0 to"},
        {2, {0, 5}, {INT64_MAX, 1}, {INT64_MAX, 1}, DCL_ERR_RANGE, "axis 0 runs from 0 to 9223372036854775807"},
    };
    return cr_make_param_array(struct box_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct box_case *c, grid, box_check)
{
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, 2, (int64_t[]){10, 20}, (int64_t[]){0, 5});
    dcl_box box = {.rank = c->rank};
    memcpy(box.start, c->start, sizeof c->start);
    memcpy(box.count, c->count, sizeof c->count);
    memcpy(box.stride, c->stride, sizeof c->stride);
    cr_expect_eq(dcli_box_check(&box, &grid), c->status, "%s", dcl_error());
    if (c->status != DCL_OK)
        cr_expect_not_null(strstr(dcl_error(), c->words), "\"%s\" lacks \"%s\"", dcl_error(), c->words);
}

Test(grid, null_is_refused)
{
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, 3);
    cr_expect_eq(dcli_grid_check(NULL), DCL_ERR_INVALID);
    cr_expect_eq(dcli_box_check(NULL, &grid), DCL_ERR_INVALID);
}

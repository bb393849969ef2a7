/* test/workqueue/tile_plan_test.c - the boxes that a tile kernel is called for. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/text.h"
#include "support/ways.h"
#include "workqueue/ops.h"

/* C and A of 8 x 6 on two nodes; what node 0 runs. */
struct tile_case {
    char what[48], c[48], a[32];
    dcl_access access;
    int64_t width[2];
    char works[200];
};

ParameterizedTestParameters(tile_plan, works)
{
    static struct tile_case cases[] = {
        {"every tile by itself",
         "block,*;tile=2x3",
         "block,*",
         DCL_ACCESS_IN,
         {0},
         "[0:2, 0:3] [0:2, 3:6] [2:4, 0:3] [2:4, 3:6]"},
        {"not cut at edges or seams", "block,*;tile=4x6", "block,*", DCL_ACCESS_IN_HALO, {1, 1}, "[0:4, 0:6]"},
        {"nor where inputs lie elsewhere", "block,*;tile=4x6", "*,block", DCL_ACCESS_IN, {0}, "[0:4, 0:6]"},
        {"nor by size", "*,*;tile=8x6;nodes=0", "*,cyclic", DCL_ACCESS_IN_COLUMNS, {0}, "[0:8, 0:6]"},
        {"a box per piece",
         "rows:cyclic(2x2)",
         "block,*",
         DCL_ACCESS_IN_ROWS,
         {0},
         "[0:2, 0:2] [0:2, 4:6] [2:4, 2:4] [4:6, 0:2] [4:6, 4:6] [6:8, 2:4]"},
        {"rows with gaps", "cyclic,*", "block,*", DCL_ACCESS_IN_ROWS, {0}, "[0:8:2, 0:6]"},
        {"a halo across gaps",
         "cyclic,*",
         "block,*",
         DCL_ACCESS_IN_HALO,
         {1, 0},
         "[0:1, 0:6] [2:3, 0:6] [4:5, 0:6] [6:7, 0:6]"},
        {"and along them", "cyclic,*", "block,*", DCL_ACCESS_IN_CROSS, {0, 2}, "[0:8:2, 0:6]"},
    };
    return cr_make_param_array(struct tile_case, cases, sizeof cases / sizeof cases[0]);
}

/* Ends the test unless node 0 runs these boxes. */
static void expect_works(const struct tile_case *c, int64_t rows, int64_t columns)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, rows, columns);
    const dcli_operation *operation =
        TEST_TILES(1, "C(0, 0) = A(0, 0);", c->width, {DCL_ACCESS_OUT, "C", 1, test_layout(c->c, 2, &grid)},
                   {c->access, "A", 2, test_layout(c->a, 2, &grid)});
    for (int in_place = 0; in_place < 2; in_place++)
        for (int64_t batch_bytes = 4; batch_bytes <= 1 << 20; batch_bytes <<= 18) { /* a tile is never cut for it */
            dcli_plan_terms terms = {.node_count = 2,
                                     .ways = test_ways(in_place != 0),
                                     .batch_bytes = batch_bytes,
                                     .chunk_bytes = 1 << 22,
                                     .pool_bytes = 1 << 30};
            dcli_plan *plan;
            dcli_text works = {0};
            cr_assert_eq(dcli_operation_check(operation), DCL_OK, "%s", dcl_error());
            cr_assert_eq(dcli_plan_make(operation, 0, &terms, &plan), DCL_OK, "%s", dcl_error());
            for (int64_t w = 0; w < plan->work_count; w++) {
                char text[100];
                dcli_box_print(&plan->work[w].box, text, sizeof text);
                dcli_text_put(&works, "%s%s", w > 0 ? " " : "", text);
                cr_expect_not(plan->work[w].checked);
            }
            cr_expect_str_eq(works.bytes, c->works, "%s, in place %d: %s", c->what, in_place, works.bytes);
            dcli_text_free(&works);
            dcli_plan_free(plan);
        }
    test_ops_free();
}

ParameterizedTest(struct tile_case *c, tile_plan, works) { expect_works(c, 8, 6); }

/* Maps give pieces of two rows as every first and every second row where these are fewer boxes. */
Test(tile_plan, pieces_are_whole_around_a_halo)
{
    static const struct tile_case cases[] = {
        {"no halo", "cyclic(2),*", "block,*", DCL_ACCESS_IN, {0}, "[0:12:4, 0:4] [1:13:4, 0:4]"},
        {"a halo", "cyclic(2),*", "block,*", DCL_ACCESS_IN_HALO, {1, 0}, "[0:2, 0:4] [4:6, 0:4] [8:10, 0:4]"},
        {"a halo along the other axis",
         "cyclic(2),*",
         "block,*",
         DCL_ACCESS_IN_HALO,
         {0, 1},
         "[0:12:4, 0:4] [1:13:4, 0:4]"},
        {"tiles stay apart",
         "cyclic(2),*;tile=3x4",
         "block,*",
         DCL_ACCESS_IN_CROSS,
         {1, 1},
         "[0:2, 0:4] [4:5, 0:4] [5:6, 0:4] [8:10, 0:4]"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++)
        expect_works(&cases[n], 12, 4);
}

/* As many works as pieces, and a plan in a moment: each work looks for what it needs among what others needed. */
Test(tile_plan, many_pieces_with_a_halo, .timeout = 60)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 1000, 1000);
    const char *const maps[] = {"rows:cyclic(8x8)", "rows:hash(8x8)"};
    for (int m = 0; m < 2; m++) {
        const dcli_layout *layout = test_layout(maps[m], 4, &grid);
        const dcli_operation *operation =
            TEST_TILES(1, "C(0, 0) = A(0, 0);", ((int64_t[]){1, 1}), {DCL_ACCESS_OUT, "C", 1, layout},
                       {DCL_ACCESS_IN_HALO, "A", 2, layout});
        dcli_plan_terms terms = {.node_count = 4,
                                 .ways = test_ways(false),
                                 .batch_bytes = 1 << 24,
                                 .chunk_bytes = 1 << 22,
                                 .pool_bytes = 1 << 30};
        dcli_plan *plan;
        cr_assert_eq(dcli_plan_make(operation, 0, &terms, &plan), DCL_OK, "%s", dcl_error());
        cr_expect_eq(plan->work_count, 125 * 125 / 4 + 1, "%s: %d works", maps[m], (int)plan->work_count);
        dcli_plan_free(plan);
    }
    test_ops_free();
}

/* loop/tiles_test.c - tests how operations are split into steps. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "loop/tiles.h"
#include "segment/box.h"

TestSuite(tiles, .timeout = 60);

static const dcli_tiles_speed speed = {.in_s = 1e-9, .out_s = 1e-9, .step_s = 1e-4, .shared = true};

/* A subscript: index of loop axis `axis` + shift; axis -1: all `inner` values of an inner axis. */
static dcli_subscript plain(int axis, int64_t shift)
{
    dcli_subscript subscript = {.constant = shift};
    subscript.coef[axis] = 1;
    return subscript;
}

/* The product of matrices: C[i][j] += A[i][k] * B[k][j] with n * n elements each; k is an inner axis. */
static dcli_tiles product(int64_t n, dcli_tiles_access access[2])
{
    dcl_grid grid = dcl_grid_2d(DCL_DOUBLE, n, n);
    dcli_tiles tiles = {.box = dcl_box_of(&grid), .array_count = 3, .access_count = 2, .access = access};
    for (int a = 0; a < 3; a++)
        tiles.array[a] = (dcli_tiles_array){.reads = true, .writes = a == 0, .grid = grid};
    for (int a = 0; a < 2; a++) {
        access[a] = (dcli_tiles_access){.array = a + 1, .subscripts = {.space_rank = 2, .rank = 2, .inner_rank = 1}};
        access[a].subscripts.inner_count[0] = n;
        access[a].subscripts.axis[0] = plain(a == 0 ? 0 : 2, 0);
        access[a].subscripts.axis[1] = plain(a == 0 ? 2 : 1, 0);
    }
    return tiles;
}

/* Each index is in one step. */
static void expect_cover(const dcli_tiles *tiles)
{
    int64_t count = 0;
    for (int64_t e = 0; e < tiles->steps; e++) {
        dcl_box step = dcli_tiles_step(tiles, e), before, both;
        cr_assert_not(dcli_box_is_empty(&step), "step %" PRId64, e);
        count += dcli_box_elements(&step);
        for (int64_t b = 0; b < e; b++) {
            before = dcli_tiles_step(tiles, b);
            cr_assert_not(dcli_box_intersect(&before, &step, &both), "steps %" PRId64 " and %" PRId64, b, e);
        }
    }
    cr_expect_eq(count, dcli_box_elements(&tiles->box));
}

Test(tiles, a_product_that_fits_copies_each_matrix_once)
{
    dcli_tiles_access access[2];
    dcli_tiles tiles = product(256, access);
    cr_assert(dcli_tiles_choose(&tiles, 1, 16 * 256 * 256 * 8, &speed));
    cr_expect_eq(tiles.copied_bytes, 4 * 256 * 256 * 8, "A, B and C in, C out");
    expect_cover(&tiles);
}

/* With a quarter of the memory, one matrix is read again and again, by few large steps. */
Test(tiles, a_product_that_does_not_fit_is_split_along_both_axes)
{
    enum { SIZE = 256, BYTES = 3 * SIZE * SIZE * 8 / 4 };
    dcli_tiles_access access[2];
    dcli_tiles tiles = product(SIZE, access);
    cr_assert(dcli_tiles_choose(&tiles, 1, BYTES, &speed));
    cr_expect_leq(tiles.node_bytes, BYTES);
    cr_expect(tiles.parts[0] > 1 && tiles.parts[1] > 1, "%" PRId64 " x %" PRId64, tiles.parts[0], tiles.parts[1]);
    cr_expect_lt(tiles.copied_bytes, 10 * SIZE * SIZE * 8, "%" PRId64, tiles.copied_bytes);
    expect_cover(&tiles);
    /* what a step needs */
    dcl_box step = dcli_tiles_step(&tiles, 1), a = dcli_tiles_needs(&tiles, 1, &step),
            b = dcli_tiles_needs(&tiles, 2, &step);
    cr_expect(a.start[0] == step.start[0] && a.count[0] == step.count[0] && a.count[1] == SIZE);
    cr_expect(b.start[1] == step.start[1] && b.count[1] == step.count[1] && b.count[0] == SIZE);
}

/* No split that was not chosen is better by more than a few per cent: compared with all splits. */
Test(tiles, the_choice_is_near_the_best_of_all_splits)
{
    enum { SIZE = 60 };
    for (int64_t bytes = 9000; bytes < 200000; bytes *= 2) {
        dcli_tiles_access access[2];
        dcli_tiles tiles = product(SIZE, access);
        dcli_tiles_speed slow = {.in_s = 1e-9, .out_s = 1e-9, .step_s = 1e-7, .shared = true};
        cr_assert(dcli_tiles_choose(&tiles, 1, bytes, &slow));
        double least = 1e300;
        for (int64_t si = 1; si <= SIZE; si++)
            for (int64_t sj = 1; sj <= SIZE; sj++) {
                int64_t li = (SIZE + si - 1) / si, lj = (SIZE + sj - 1) / sj;
                int64_t ni = (SIZE + li - 1) / li, nj = (SIZE + lj - 1) / lj;
                double row = 8.0 * SIZE * (double)li, column = 8.0 * SIZE * (double)lj, c = 8.0 * (double)(li * lj);
                double held = (ni > 1 ? 2 : 1) * row + (nj > 1 ? 2 : 1) * column + (ni * nj > 1 ? 3 : 1) * c;
                double once = 8.0 * SIZE * SIZE;
                double again = (double)(ni < nj ? ni : nj);
                if (ni == 1 || nj == 1)
                    again = 1;
                /* A and, unless C is split along j, C have contiguous rows */
                double rows = 1 + 128 / row,
                       columns = nj == 1 ? 1 + 128 / (8.0 * SIZE * SIZE) : 1 + 128 / (8.0 * (double)lj);
                double parts = nj == 1 ? rows : columns;
                double a = once * (ni < nj ? 1 : again), b = once * (ni < nj ? again : 1);
                double seconds =
                    (2 * once * parts + a * rows + b * columns + row + column + 2 * c) / 1e9 + (double)(ni * nj) * 1e-7;
                if (held <= (double)bytes && seconds < least)
                    least = seconds;
            }
        cr_expect_leq(tiles.seconds, 1.15 * least, "%" PRId64 " bytes: %g, best %g", bytes, tiles.seconds, least);
    }
}

/* A stencil of five rows: neighbouring steps share four of them, which are copied once. */
Test(tiles, what_neighbours_share_is_copied_once)
{
    enum { ROWS = 1000, COLUMNS = 100 };
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS);
    dcli_tiles_access access[2];
    dcli_tiles tiles = {.box = dcl_box_of(&grid), .array_count = 2, .access_count = 2, .access = access};
    tiles.array[0] = (dcli_tiles_array){.writes = true, .grid = grid};
    tiles.array[1] = (dcli_tiles_array){.reads = true, .grid = grid};
    for (int a = 0; a < 2; a++) {
        access[a] = (dcli_tiles_access){.array = 1, .subscripts = {.space_rank = 2, .rank = 2}};
        access[a].subscripts.axis[0] = plain(0, a == 0 ? -2 : 2);
        access[a].subscripts.axis[1] = plain(1, 0);
    }
    cr_assert(dcli_tiles_choose(&tiles, 1, 100 * 1000, &speed));
    cr_expect_gt(tiles.parts[0], 1);
    cr_expect_lt((double)tiles.copied_bytes, 1.03 * 2 * ROWS * COLUMNS * 4, "%" PRId64, tiles.copied_bytes);
    for (int64_t e = 0; e < tiles.steps; e++) {
        dcl_box step = dcli_tiles_step(&tiles, e), needs = dcli_tiles_needs(&tiles, 1, &step);
        int64_t first = step.start[0] > 2 ? step.start[0] - 2 : 0, end = step.start[0] + step.count[0] + 2;
        cr_expect_eq(needs.start[0], first, "step %" PRId64, e);
        cr_expect_eq(needs.start[0] + needs.count[0], end < ROWS ? end : ROWS, "step %" PRId64, e);
        cr_expect(needs.start[1] == step.start[1] && needs.count[1] == step.count[1]);
    }
    expect_cover(&tiles);
}

/* Rows 1 and 4, of which the box has no step. */
Test(tiles, hulls_have_no_gaps)
{
    const dcl_box a = dcl_box_nd(2, (int64_t[]){1, 0}, (int64_t[]){1, 3}),
                  b = dcl_box_nd(2, (int64_t[]){4, 1}, (int64_t[]){1, 3}), none = {.rank = 2};
    dcl_box hull = dcli_tiles_hull(&a, &b), right = dcl_box_nd(2, (int64_t[]){1, 0}, (int64_t[]){4, 4});
    cr_expect(dcli_box_equal(&hull, &right));
    hull = dcli_tiles_hull(&none, &b);
    cr_expect(dcli_box_equal(&hull, &b));
    hull = dcli_tiles_hull(&none, &none);
    cr_expect(dcli_box_is_empty(&hull));
}

Test(tiles, what_does_not_fit_is_refused)
{
    dcli_tiles_access access[2];
    dcli_tiles tiles = product(64, access);
    cr_expect_not(dcli_tiles_choose(&tiles, 1, 2 * 64 * 8, &speed)); /* one row and one column, without buffers */
    cr_expect_gt(tiles.node_bytes, 2 * 64 * 8);
    cr_expect(dcli_tiles_choose(&tiles, 1, tiles.node_bytes, &speed));
}

/* The product of matrices, with k as an axis of its own. */
static dcli_tiles product_in_parts(int64_t n, dcli_tiles_access access[2])
{
    dcli_tiles tiles = product(n, access);
    tiles.inner = true;
    tiles.box = dcl_box_nd(3, (int64_t[]){0, 0, 0}, (int64_t[]){n, n, n});
    for (int a = 0; a < 2; a++) {
        access[a].subscripts.space_rank = 3;
        access[a].subscripts.inner_rank = 0;
    }
    return tiles;
}

/* On a GPU whose memory is a quarter of the matrices: launches are large enough to fill it, elements of C stay there while all parts of
 * k are computed, and the copies, at 50 GB/s, take less time than the kernels. */
Test(tiles, a_product_in_parts_of_its_loop_keeps_its_elements)
{
    enum { SIZE = 8192, BYTES = 402653184 };
    const dcli_tiles_speed gpu = {.in_s = 2e-11, .out_s = 2e-11, .index_s = 2.7e-13, .step_s = 75e-6};
    const double kernels = gpu.index_s * SIZE * SIZE * SIZE;
    dcli_tiles_access access[2];
    dcli_tiles tiles = product_in_parts(SIZE, access), whole = product(SIZE, access);
    cr_assert(dcli_tiles_choose(&whole, 1, BYTES, &gpu));
    tiles = product_in_parts(SIZE, access);
    cr_assert(dcli_tiles_choose(&tiles, 1, BYTES, &gpu));
    cr_expect_leq(tiles.node_bytes, BYTES);
    cr_expect_eq(tiles.order[0], 2);
    cr_expect_gt(tiles.parts[2], 1);
    cr_expect_leq(tiles.seconds, 1.25 * kernels, "%g s, kernels %g s", tiles.seconds, kernels);
    cr_expect_lt(tiles.copied_bytes, whole.copied_bytes);
    cr_expect_geq(tiles.length[0] * tiles.length[1], DCLI_TILES_FILL);
    expect_cover(&tiles);
    /* consecutive steps compute the same elements */
    for (int64_t e = 0; e < tiles.steps; e++) {
        dcl_box step = dcli_tiles_step(&tiles, e), c = dcli_tiles_needs(&tiles, 0, &step), first, same;
        dcl_box a = dcli_tiles_needs(&tiles, 1, &step), b = dcli_tiles_needs(&tiles, 2, &step);
        first = dcli_tiles_step(&tiles, e - e % dcli_tiles_rounds(&tiles));
        same = dcli_tiles_outer(&tiles, &first);
        cr_expect(dcli_box_equal(&c, &same), "step %" PRId64, e);
        cr_expect(a.start[0] == step.start[0] && a.start[1] == step.start[2] && a.count[1] == step.count[2]);
        cr_expect(b.start[0] == step.start[2] && b.start[1] == step.start[1] && b.count[0] == step.count[2]);
    }
}

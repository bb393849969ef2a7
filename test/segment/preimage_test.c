/* test/segment/preimage_test.c - preimages, by hand and against the footprints of random boxes of indices. */
#include "segment/preimage.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "segment/declared.h"
#include "segment/random.h"

static const bool dense[DCL_MAX_RANK], strided[DCL_MAX_RANK] = {true, true, true};

static void expect(const char *what, const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *part,
                   const bool gaps[], const char *expected)
{
    dcli_box_list list = {0};
    char found[256] = "", one[64];
    cr_assert_eq(dcli_preimage(subscripts, space, part, gaps, &list), DCL_OK);
    for (int64_t b = 0; b < list.count; b++) {
        dcli_box_print(&list.box[b], one, sizeof one);
        strcat(strcat(found, b > 0 ? " " : ""), one);
    }
    cr_expect_str_eq(found, expected, "%s: %s", what, found);
    dcli_box_list_free(&list);
}

Test(preimage, of_subscripts)
{
    dcl_box space = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){10, 20});
    dcl_box part = dcl_box_nd(2, (int64_t[]){4, 6}, (int64_t[]){3, 2}),
            line = dcl_box_nd(1, (int64_t[]){4}, (int64_t[]){3});
    dcl_box odd = {.rank = 2, .start = {1, 1}, .count = {4, 4}, .stride = {2, 2}};
    dcli_subscripts transposed = {.space_rank = 2, .rank = 2, .axis = {{0, {0, 1}}, {0, {1, 0}}}};
    dcli_subscripts shifted = {.space_rank = 2, .rank = 2, .axis = {{-1, {1, 0}}, {1, {0, 1}}}};
    dcli_subscripts mirrored = {.space_rank = 2, .rank = 2, .axis = {{9, {-1, 0}}, {0, {0, 3}}}};
    dcli_subscripts column = {.space_rank = 2, .rank = 2, .axis = {{0, {1, 0}}, {7, {0, 0}}}};
    dcli_subscripts other_column = {.space_rank = 2, .rank = 2, .axis = {{0, {1, 0}}, {8, {0, 0}}}};
    dcli_subscripts even = {.space_rank = 2, .rank = 2, .axis = {{0, {2, 0}}, {0, {0, 1}}}};
    dcli_subscripts diagonal = {.space_rank = 2, .rank = 2, .axis = {{0, {1, 0}}, {0, {1, 0}}}};
    dcli_subscripts sum = {.space_rank = 2, .rank = 1, .axis = {{0, {1, 1}}}};
    expect("A(j,i)", &transposed, &space, &part, dense, "[6:8, 4:7]");
    expect("A(i-1,j+1)", &shifted, &space, &part, dense, "[5:8, 5:7]");
    expect("A(9-i,3*j)", &mirrored, &space, &part, dense, "[3:6, 2:3]");
    expect("A(i,7)", &column, &space, &part, dense, "[4:7, 0:20]");
    expect("A(i,8)", &other_column, &space, &part, dense, "");
    expect("A(2*i,j): odd rows are never read", &even, &space, &odd, dense, "");
    expect("A(i,i): both subscripts name one index", &diagonal, &space, &part, dense, "[4:7, 0:20]");
    expect("A(i+j): either index alone says nothing", &sum, &space, &line, dense, "[0:10, 0:20]");
    dcli_subscripts window = {.space_rank = 2,
                              .rank = 2,
                              .inner_rank = 2,
                              .inner_count = {3, 2},
                              .axis = {{-1, {1, 0, 1, 0}}, {0, {0, 1, 0, -2}}}};
    dcli_subscripts all = {.space_rank = 2, .rank = 1, .inner_rank = 1, .inner_count = {5}, .axis = {{0, {0, 0, 1}}}};
    dcli_subscripts none = all;
    none.inner_count[0] = 4;
    expect("A(i+d,j-2*e), d = -1 .. 1, e = 0 .. 1", &window, &space, &part, dense, "[3:8, 6:10]");
    expect("A(d), d = 0 .. 4", &all, &space, &line, dense, "[0:10, 0:20]");
    expect("A(d), d = 0 .. 3", &none, &space, &line, dense, "");
    dcli_subscripts low = {
        .space_rank = 2, .rank = 2, .axis = {{.coef = {1, 0}, .clamped = true, .low = 4, .high = 8}, {.coef = {0, 1}}}};
    dcli_subscripts high = low, past = low;
    high.axis[0].low = 0;
    high.axis[0].high = 5;
    past.axis[0].low = 7;
    expect("A(clamp(i,4,8),j): rows 4 .. 6", &low, &space, &part, dense, "[0:7, 6:8]");
    expect("A(clamp(i,0,5),j)", &high, &space, &part, dense, "[4:10, 6:8]");
    expect("A(clamp(i,7,8),j)", &past, &space, &part, dense, "");
    dcli_subscripts beyond = low;
    beyond.axis[0] = (dcli_subscript){
        .constant = -2, .coef = {1}, .clamped = true, .beyond = DCLI_BEYOND_MIRROR, .low = 0, .high = 6};
    expect("A(reflect(i-2,0,6),j): rows 4 .. 6", &beyond, &space, &part, dense, "[6:10, 6:8]");
    beyond.axis[0].high = 4;
    expect("A(reflect(i-2,0,4),j)", &beyond, &space, &part, dense, "[6:7, 6:8]");
    beyond.axis[0].repeat = 1;
    expect("A(symmetric(i-2,0,4),j)", &beyond, &space, &part, dense, "[6:8, 6:8]");
    beyond.axis[0].beyond = DCLI_BEYOND_NOTHING;
    expect("A(constant(i-2,0,4,0),j)", &beyond, &space, &part, dense, "[6:9, 6:8]");
    beyond.axis[0].high = 3;
    expect("A(constant(i-2,0,3,0),j)", &beyond, &space, &part, dense, "");
}

Test(preimage, of_declared_reaches)
{
    dcl_box space = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){10, 20});
    dcl_box part = dcl_box_nd(2, (int64_t[]){4, 6}, (int64_t[]){3, 2});
    dcl_box far = dcl_box_nd(2, (int64_t[]){0, 15}, (int64_t[]){2, 2});
    const int64_t widths[] = {1, 2};
    int64_t box[6], portions[24];
    dcl_box portion[] = {dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){5, 20}), part,
                         dcl_box_nd(2, (int64_t[]){5, 0}, (int64_t[]){5, 20}), far};
    dcli_declared_put(&part, box);
    for (int p = 0; p < 4; p++)
        dcli_declared_put(&portion[p], portions + 6 * p);
    dcli_subscripts reads = {.space_rank = 2, .rank = 2, .reach = DCLI_REACH_ALL};
    expect("all", &reads, &space, &part, dense, "[0:10, 0:20]");
    reads.reach = DCLI_REACH_ROWS;
    expect("rows", &reads, &space, &part, dense, "[4:7, 0:20]");
    reads.reach = DCLI_REACH_COLUMNS;
    expect("columns", &reads, &space, &part, dense, "[0:10, 6:8]");
    reads.declared = (dcli_declared){.count = 2, .number = widths};
    reads.reach = DCLI_REACH_HALO;
    expect("a halo", &reads, &space, &part, dense, "[3:8, 4:10]");
    expect("a halo around indices far apart covers what is between", &reads, &space, &part, strided, "[0:10, 0:20]");
    reads.reach = DCLI_REACH_CROSS;
    expect("a cross: with the corners, which a replica has", &reads, &space, &part, dense, "[3:8, 4:10]");
    reads.declared = (dcli_declared){.count = 6, .number = box};
    reads.reach = DCLI_REACH_BOX;
    expect("a box", &reads, &space, &part, dense, "[0:10, 0:20]");
    expect("another box", &reads, &space, &far, dense, "");
    reads.declared = (dcli_declared){.count = 24, .number = portions};
    reads.reach = DCLI_REACH_FUNCTION;
    expect("portions", &reads, &space, &part, dense, "[0:5, 0:20]");
    portion[2].start[0] = 4; /* now row 4 is in both: it reads the bounding box of both */
    dcli_declared_put(&portion[2], portions + 12);
    expect("portions with indices in common", &reads, &space, &part, dense, "[0:10, 0:20]");
}

enum { SIDE = 6 };

static dcli_subscripts random_subscripts(test_random *random, int loops, int rank)
{
    dcli_subscripts subscripts = {.space_rank = loops, .rank = rank};
    bool several = test_between(random, 0, 3) == 0;
    for (int d = 0; d < rank; d++) {
        int only = (int)test_between(random, 0, loops - 1);
        subscripts.axis[d].constant = test_between(random, -4, 4);
        for (int m = 0; m < loops; m++)
            if (several || m == only)
                subscripts.axis[d].coef[m] = test_between(random, -3, 3);
    }
    subscripts.inner_rank = (int)test_between(random, 0, 2);
    for (int q = 0; q < subscripts.inner_rank; q++) {
        subscripts.inner_count[q] = test_between(random, test_between(random, 0, 9) > 0, 3);
        subscripts.axis[test_between(random, 0, rank - 1)].coef[loops + q] = test_between(random, -2, 2);
    }
    for (int d = 0; d < rank && test_between(random, 0, 2) == 0; d++) {
        test_add_limits(random, &subscripts.axis[d], SIDE);
    }
    return subscripts;
}

/* A random box of indices, all of which are in `space`. @param longest  step between its indices, at most. */
static dcl_box some_of(test_random *random, const dcl_box *space, int64_t longest)
{
    dcl_box box = *space;
    for (int m = 0; m < box.rank; m++) {
        int64_t step = test_between(random, 1, longest), first = test_between(random, 0, box.count[m] - 1);
        box.start[m] += first * box.stride[m];
        box.count[m] = test_between(random, 1, (box.count[m] - first - 1) / step + 1);
        box.stride[m] *= step;
    }
    return box;
}

/* A box of indices has a footprint that meets the part only if, and for exact subscripts if, it meets the preimage. */
Test(preimage, agrees_with_footprints)
{
    dcl_grid grid = dcl_grid_nd(DCL_INT8, 2, (int64_t[]){400, 400}, (int64_t[]){-200, -200});
    int64_t met = 0, missed = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        test_random random = seed;
        int loops = (int)test_between(&random, 1, 2), rank = (int)test_between(&random, 1, 2);
        dcli_subscripts subscripts = random_subscripts(&random, loops, rank);
        dcl_box space = test_box(&random, loops, SIDE), part = test_box(&random, rank, 2 * SIDE);
        dcli_box_list list = {0};
        grid.rank = rank;
        bool clamped = subscripts.axis[0].clamped, single = dcli_subscripts_single(&subscripts) && !clamped,
             gaps = single || seed % 2 == 0;
        cr_assert_eq(dcli_preimage(&subscripts, &space, &part, gaps && !single ? strided : dense, &list), DCL_OK);
        for (int turn = 0; turn < 20 && !dcli_box_is_empty(&space); turn++) {
            dcl_box work = some_of(&random, &space, gaps ? 3 : 1), foot, common;
            bool cut, reads = dcli_footprint(&subscripts, &work, &grid, &foot, &cut) &&
                              dcli_box_intersect(&foot, &part, &common);
            bool meets = false;
            for (int64_t b = 0; b < list.count; b++)
                meets |= dcli_box_intersect(&list.box[b], &work, &common);
            cr_assert(meets || !reads, "seed %" PRIu64 ": indices that read the part are outside its preimage", seed);
            bool tight = dcli_subscripts_exact(&subscripts) && single;
            cr_assert(reads || !meets || !tight, "seed %" PRIu64 ": indices in the preimage do not read the part",
                      seed);
            met += meets;
            missed += !meets;
        }
        dcli_box_list_free(&list);
    }
    cr_assert(met > 1000 && missed > 1000, "%" PRId64 " met, %" PRId64 " did not", met, missed);
}

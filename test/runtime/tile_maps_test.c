/* test/runtime/tile_maps_test.c - tile kernels give what bodies give, under every kind of map; copies that are kept. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(tile_maps_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 13, COLUMNS = 11, SEEDS = 48 };

static const char *const maps[] = {
    "block,*",
    "splits(3,9),*",
    "weighted(1:0:2),*",
    "cyclic(2),cyclic",
    "cyclic(3),block",
    "*,block;tile=3x2",
    "*,cyclic(4);tile=6x3",
    "rows:cyclic(2x3)",
    "columns:cyclic(3x2)",
    "rows:block(4x5);tile=2x5",
    "rows:hash(2x2)",
    "rows:table(5x6);owners=2,0,1,0,1,2",
    "boxes:[0:5,0:11]@0,[5:13,0:4]@1,[5:13,4:11]@2",
    "*,block;nodes=1-2",
    "replicated",
    "block,*;halo=2",
    "rows:cyclic(3x4);halo=1,2",
    /* some elements are stored nowhere */
    "block,*;every=2x3;rest=7",
    "rows:table(5x4);owners=2,0,-,0,-,2,1,-,0;rest=-3",
};
enum { MAPS = sizeof maps / sizeof maps[0] };

static const struct {
    const char *what, *body, *tiles;
    int64_t width[2]; /* of A, which has a halo, -1: the tile's own box */
    bool has_items;
    int64_t items[2];
} kernels[] = {
    {"sum",
     "C(i,j) = A(i,j) + 2 * B(i,j);",
     "for (long r = 0; r < C_count(0); r++)\n"
     "    for (long c = 0; c < C_count(1); c++)\n"
     "        C(r, c) = A(r, c) + 2 * B(r, c);",
     {-1, -1},
     true,
     {1, 1}},
    {"halo",
     "int s = B(i,j);\n"
     "for (int y = -2; y <= 2; y++)\n"
     "    for (int x = -1; x <= 1; x++)\n"
     "        if (i + y >= 0 && i + y < 13 && j + x >= 0 && j + x < 11) s += (y + 3 * x + 6) * A(i + y, j + x);\n"
     "C(i,j) = s;",
     "const long r = dcl_item(0), c = dcl_item(1);\n"
     "int s = B(r, c);\n"
     "for (long y = max(r - 2, A_low(0)); y < min(r + 3, A_high(0)); y++)\n"
     "    for (long x = max(c - 1, A_low(1)); x < min(c + 2, A_high(1)); x++)\n"
     "        s += (int)(y - r + 3 * (x - c) + 6) * A(y, x);\n"
     "C(r, c) = s;",
     {2, 1},
     false,
     {0, 0}},
    {"halo along rows",
     "C(i,j) = (j > 1 ? A(i, j - 2) : 0) - B(i,j);",
     "const long r = dcl_item(0);\n"
     "for (long c = 0; c < C_count(1); c++)\n"
     "    C(r, c) = (c - 2 >= A_low(1) ? A(r, c - 2) : 0) - B(r, c);",
     {0, 2},
     true,
     {1, 0}},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static dcl_array *make(dcl_cluster *cluster, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT32, ROWS, COLUMNS), map);
    dcl_release(map);
    cr_assert_not_null(array, "%s: %s", text, dcl_error());
    return array;
}

static int64_t pick(uint64_t *random, int64_t end)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*random >> 33) % (uint64_t)end);
}

/* C by the body and by the tile kernel, from the same. */
static void compare(dcl_cluster *cluster, uint64_t seed, const char *how)
{
    static int32_t by_body[ROWS][COLUMNS], by_tiles[ROWS][COLUMNS];
    uint64_t random = seed * 31 + 7;
    int k = (int)(seed % KERNELS);
    const char *c = maps[pick(&random, MAPS)], *a = maps[pick(&random, MAPS)], *b = maps[pick(&random, MAPS)];
    char what[256];
    snprintf(what, sizeof what, "seed %d, %s, C %s, A %s, B %s, %s", (int)seed, kernels[k].what, c, a, b, how);
    dcl_array *C = make(cluster, c), *A = make(cluster, a), *B = make(cluster, b);
    TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, "A(i,j) = 7 * i - j;", DCL_OUT_AS("A", B)));
    dcl_arg from = kernels[k].width[0] < 0 ? DCL_IN(A) : DCL_IN_HALO(A, kernels[k].width[0], kernels[k].width[1]);
    const dcl_arg args[] = {DCL_OUT(C), from, DCL_MOVE(C, B), DCL_ITEMS(kernels[k].items[0], kernels[k].items[1])};
    TEST_OK(dcl_forall_n(cluster, kernels[k].body, 3, args));
    TEST_OK(dcl_read(C, NULL, by_body, NULL));
    TEST_OK(dcl_forall(cluster, "C(i,j) = -12345;", DCL_OUT(C)));

    dcl_counters planned, after, before = test_counters(cluster, DCL_ALL_NODES);
    int count = kernels[k].has_items ? 4 : 3;
    TEST_OK(dcl_call_explain(DCL_CALL_TILES_N(cluster, NULL, kernels[k].tiles, count, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_call_run(DCL_CALL_TILES_N(cluster, NULL, kernels[k].tiles, count, args)));
    TEST_OK(dcl_read(C, NULL, by_tiles, NULL));
    after = test_counters(cluster, DCL_ALL_NODES);
    cr_assert_eq(dcl_wait(cluster), DCL_OK, "%s: %s", what, dcl_error());
    cr_assert(memcmp(by_body, by_tiles, sizeof by_body) == 0, "%s", what);
    cr_assert(after.tasks - before.tasks == planned.tasks &&
                  after.bytes_moved - before.bytes_moved == planned.bytes_moved &&
                  after.blocks_moved - before.blocks_moved == planned.blocks_moved,
              "%s: explained %" PRId64 " bytes, counted %" PRId64, what, planned.bytes_moved,
              after.bytes_moved - before.bytes_moved);
    dcl_release(B);
    dcl_release(A);
    dcl_release(C);
}

static void compare_all(const char *move, const char *check, uint64_t first, uint64_t end)
{
    dcl_config config = test_config(3);
    config.transfer = move;
    config.check = check;
    dcl_cluster *cluster = test_open(&config);
    for (uint64_t seed = first; seed < end; seed++)
        compare(cluster, seed, move);
    TEST_OK(dcl_close(cluster));
}

Test(tile_maps_on_device, gives_what_bodies_give)
{
    compare_all("place", "off", 0, SEEDS);
    compare_all("send", "off", SEEDS, 2 * SEEDS);
    compare_all("send", "access", 2 * SEEDS, 2 * SEEDS + SEEDS / 4);
}

/* Beyond an axis that goes on at its other end. */
Test(tile_maps_on_device, reads_around_periodic_axes)
{
    static const char *const periodic[] = {"block,*;halo=1;periodic=*", "cyclic,*;halo=1,2;periodic=*",
                                           "*,block;tile=3x4;halo=2:1,2;periodic=*",
                                           "rows:cyclic(4x5);halo=2;periodic=*"};
    static int32_t by_body[ROWS][COLUMNS], by_tiles[ROWS][COLUMNS];
    const char *body = "C(i,j) = A(i - 1, j) + 3 * A(i + 1, j) - A(i, j + 1) + 5 * A(i - 1, j - 1);";
    const char *text = "const long r = dcl_item(0), c = dcl_item(1);\n"
                       "C(r, c) = A(r - 1, c) + 3 * A(r + 1, c) - A(r, c + 1) + 5 * A(r - 1, c - 1);";
    for (int how = 0; how < 4; how++) {
        dcl_config config = test_config(how == 3 ? 1 : 3);
        config.transfer = how == 1 ? "send" : "auto";
        config.check = how == 2 ? "access" : "off";
        dcl_cluster *cluster = test_open(&config);
        for (int m = 0; m < 8; m++) {
            dcl_array *C = make(cluster, m < 4 ? "block,*" : "cyclic(2),cyclic"), *A = make(cluster, periodic[m % 4]);
            dcl_counters planned, after, before;
            TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j;", DCL_OUT(A)));
            TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
            TEST_OK(dcl_read(C, NULL, by_body, NULL));
            TEST_OK(dcl_forall(cluster, "C(i,j) = -12345;", DCL_OUT(C)));
            before = test_counters(cluster, DCL_ALL_NODES);
            TEST_OK(dcl_explain_tiles(cluster, &planned, text, DCL_OUT(C), DCL_IN_HALO(A, 1)));
            TEST_OK(dcl_forall_tiles(cluster, text, DCL_OUT(C), DCL_IN_HALO(A, 1)));
            TEST_OK(dcl_read(C, NULL, by_tiles, NULL));
            cr_assert_eq(dcl_wait(cluster), DCL_OK, "%s: %s", periodic[m % 4], dcl_error());
            cr_assert(memcmp(by_body, by_tiles, sizeof by_body) == 0, "%s, %d, how %d", periodic[m % 4], m, how);
            after = test_counters(cluster, DCL_ALL_NODES);
            cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
            dcl_release(A);
            dcl_release(C);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* What a tile received is not moved again, and is when it was written. */
Test(tile_maps_on_device, keeps_copies)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_array *C = make(cluster, "block,*"), *A = make(cluster, "*,block");
    int32_t found;
    dcl_box last = dcl_box_nd(2, (int64_t[]){ROWS - 1, COLUMNS - 1}, (int64_t[]){1, 1});
    TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j;", DCL_OUT(A)));
    for (int time = 0; time < 4; time++) {
        dcl_counters before = test_counters(cluster, DCL_ALL_NODES), after;
        if (time == 3)
            TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j + 1;", DCL_OUT(A)));
        TEST_OK(dcl_forall_tiles(cluster, "C(dcl_item(0), dcl_item(1)) = A(dcl_item(0), dcl_item(1));", DCL_OUT(C),
                                 DCL_IN_KEPT(A)));
        TEST_OK(dcl_read(C, &last, &found, NULL));
        after = test_counters(cluster, DCL_ALL_NODES);
        cr_expect_eq(found, 100 * (ROWS - 1) + COLUMNS - 1 + (time == 3));
        cr_expect_eq(after.bytes_moved > before.bytes_moved, time == 0 || time == 3, "time %d", time);
    }
    dcl_release(A);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* test/runtime/remap_test.c - another map for an array's contents, and copies: contents, what moves, refusals. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "segment/random.h"
#include "support/nodes.h"

TestSuite(remap_on_device, .timeout = TEST_SECONDS);
TestSuite(remap_planned, .timeout = TEST_SECONDS);

enum { NODES = 4, SIDE = 13, ELEMENTS = SIDE * SIDE };

/* One owner per element; several nodes own nothing in some of them. */
static const char *const maps[] = {
    "block",
    "cyclic",
    "cyclic(3)",
    "block,*",
    "*,cyclic(2)",
    "block(4),*@4x1",
    "rows:cyclic(2x3)",
    "rows:cyclic",
    "columns:cyclic(3x3)",
    "columns:cyclic(3x2)",
    "rows:block",
    "rows:block(2x2)",
    "columns:block",
    "block;nodes=1-2",
    "rows:cyclic(4x4);nodes=0,2",
    "*;nodes=3",
    "block;nodes=3,0,2,1",
    "splits(2,3,9,10,12),*",
    "block,splits(7)@2x2",
    "weighted(1:0:3:2)",
    "rows:hash(2x3);seed=5",
    "columns:hash",
    "rows:table(4x4);owners=3,0*4,2,1*3,0*2,3*5",
    "boxes:[0:5,0:13]@2,[5:13,0:6]@0,[5:13,6:13]@3",
};
enum { MAPS = sizeof maps / sizeof maps[0] };

static dcl_map *parse(dcl_cluster *cluster, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    cr_assert_not_null(map, "%s: %s", text, dcl_error());
    return map;
}

static int owner_of(const dcl_map *map, const dcl_grid *grid, const int64_t index[])
{
    int node = -1;
    int64_t offset;
    TEST_OK(dcl_map_locate(map, grid, index, &node, &offset));
    return node;
}

/* The next index, last axis fastest. @return false after the last. */
static bool next_index(const dcl_grid *grid, int64_t index[])
{
    for (int d = grid->rank - 1; d >= 0; d--) {
        if (++index[d] < grid->origin[d] + grid->extent[d])
            return true;
        index[d] = grid->origin[d];
    }
    return false;
}

/* Bytes of the elements that node n (DCL_ALL_NODES: any) owns under `to` and another under `from`, one by one. */
static int64_t differing_bytes(const dcl_map *from, const dcl_map *to, const dcl_grid *grid, int n)
{
    int64_t bytes = 0, index[DCL_MAX_RANK];
    if (dcl_grid_count(grid) == 0)
        return 0;
    memcpy(index, grid->origin, sizeof index);
    do {
        int owner = owner_of(to, grid, index);
        if ((n == DCL_ALL_NODES || owner == n) && owner_of(from, grid, index) != owner)
            bytes += (int64_t)dcl_type_bytes(grid->type);
    } while (next_index(grid, index));
    return bytes;
}

static void expect_count_up(dcl_array *array, const char *what)
{
    dcl_grid grid = dcl_grid_of(array);
    int64_t count = dcl_grid_count(&grid);
    int32_t *found = malloc((size_t)count * sizeof *found + 1);
    TEST_OK(dcl_read(array, NULL, found, NULL));
    for (int64_t e = 0; e < count; e++)
        cr_assert_eq(found[e], 100 + 3 * e, "%s: element %" PRId64 " is %d", what, e, found[e]);
    free(found);
}

static void expect_planned(const dcl_counters *planned, const dcl_counters *before, const dcl_counters *after,
                           const char *what)
{
    cr_assert_eq(after->tasks - before->tasks, planned->tasks, "%s", what);
    cr_assert_eq(after->bytes_moved - before->bytes_moved, planned->bytes_moved, "%s", what);
    cr_assert_eq(after->blocks_moved - before->blocks_moved, planned->blocks_moved, "%s", what);
    cr_assert_eq(after->messages_planned - before->messages_planned, planned->messages_planned, "%s", what);
    cr_assert_eq(after->approximate - before->approximate, 0, "%s", what);
}

/* Remap: what moves is what has to, node by node, as planned; the contents and the memory in use stay. */
static void remap_and_expect(dcl_array *array, dcl_map *map, const char *what)
{
    dcl_cluster *cluster = dcl_cluster_of(array);
    dcl_grid grid = dcl_grid_of(array);
    int nodes = dcl_node_count(cluster);
    dcl_counters planned[TEST_MOST_NODES], before[TEST_MOST_NODES], all;
    int64_t storage = 0, stored = 0, elements;
    for (int n = 0; n < nodes; n++) {
        TEST_OK(dcl_call_explain(DCL_CALL_REMAP(array, map, 0), n, &planned[n]));
        int64_t expected = differing_bytes(dcl_map_of(array), map, &grid, n);
        cr_assert_eq(planned[n].bytes_moved, expected, "%s: node %d: %" PRId64 " bytes planned; expected %" PRId64,
                     what, n, planned[n].bytes_moved, expected);
        before[n] = test_counters(cluster, n);
        TEST_OK(dcl_map_storage(dcl_map_of(array), &grid, n, &elements));
        storage -= elements * (int64_t)dcl_type_bytes(grid.type);
    }
    TEST_OK(dcl_call_explain(DCL_CALL_REMAP(array, map, 0), DCL_ALL_NODES, &all));
    cr_assert_eq(all.bytes_moved, differing_bytes(dcl_map_of(array), map, &grid, DCL_ALL_NODES), "%s", what);
    TEST_OK(dcl_remap(array, map));
    cr_assert(dcl_map_equal(dcl_map_of(array), map), "%s", what);
    for (int n = 0; n < nodes; n++) {
        dcl_counters after = test_counters(cluster, n);
        expect_planned(&planned[n], &before[n], &after, what);
        TEST_OK(dcl_map_storage(map, &grid, n, &elements));
        stored += after.storage_bytes - before[n].storage_bytes;
        storage += elements * (int64_t)dcl_type_bytes(grid.type);
    }
    cr_assert_eq(stored, storage, "%s: %" PRId64 " more bytes are stored; expected %" PRId64, what, stored, storage);
}

/* Every ordered pair of kinds: there and back. */
static void remap_between_all(const char *move)
{
    dcl_config config = test_config(NODES);
    config.transfer = move;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map[MAPS];
    for (int m = 0; m < MAPS; m++)
        map[m] = parse(cluster, maps[m]);
    for (int a = 0; a < MAPS; a++) {
        dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT32, SIDE, SIDE), map[a]);
        test_count_up(array, 100, 3);
        for (int b = a; b < MAPS; b++) {
            char what[120];
            snprintf(what, sizeof what, "%s: between %s and %s", move, maps[a], maps[b]);
            remap_and_expect(array, map[b], what);
            expect_count_up(array, what);
            remap_and_expect(array, map[a], what);
            expect_count_up(array, what);
        }
        dcl_release(array);
    }
    for (int m = 0; m < MAPS; m++)
        dcl_release(map[m]);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(remap_on_device, moves_what_changes_its_owner_in_place) { remap_between_all("auto"); }
Test(remap_on_device, moves_what_changes_its_owner_in_streams) { remap_between_all("send"); }

/* ---- A + B^T: what moves is what B's owners are not C's ------------------------------------------------------------- */

static int64_t transposed_bytes(const dcl_map *of_b, const dcl_map *of_c, const dcl_grid *grid)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++)
            if (owner_of(of_b, grid, (int64_t[]){j, i}) != owner_of(of_c, grid, (int64_t[]){i, j}))
                bytes += 4;
    return bytes;
}

static void expect_transposed(dcl_array *A, dcl_array *B, dcl_array *C, const char *what)
{
    static const char *const body = "C(i,j) = A(i,j) + B(j,i);";
    dcl_cluster *cluster = dcl_cluster_of(C);
    dcl_grid grid = dcl_grid_of(C);
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES), after;
    int64_t expected = transposed_bytes(dcl_map_of(B), dcl_map_of(C), &grid);
    TEST_OK(dcl_explain(cluster, &planned, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    cr_assert_eq(planned.bytes_moved, expected, "%s: %" PRId64 " bytes planned; expected %" PRId64, what,
                 planned.bytes_moved, expected);
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    after = test_counters(cluster, DCL_ALL_NODES);
    expect_planned(&planned, &before, &after, what);
    int32_t found[SIDE][SIDE];
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            cr_assert_eq(found[i][j], i * SIDE + j + 7 + 5 * (j * SIDE + i), "%s: (%d,%d)", what, i, j);
}

Test(remap_on_device, shares_its_rule_with_transposed_operands)
{
    static const char *const moves[] = {"auto", "send"};
    dcl_grid grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE);
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(NODES);
        config.transfer = moves[mode];
        dcl_cluster *cluster = test_open(&config);
        for (int c = 0; c < MAPS; c++) {
            dcl_map *of_c = parse(cluster, maps[c]);
            dcl_array *A = dcl_agile(grid, of_c), *C = dcl_agile(grid, of_c);
            test_count_up(A, 0, 1);
            for (int b = 0; b < MAPS; b++) {
                char what[120];
                snprintf(what, sizeof what, "%s: C by %s, B by %s", moves[mode], maps[c], maps[b]);
                dcl_map *of_b = parse(cluster, maps[b]);
                dcl_array *B = dcl_agile(grid, of_b);
                test_count_up(B, 7, 5);
                expect_transposed(A, B, C, what);
                dcl_release(B);
                dcl_release(of_b);
            }
            dcl_release(A);
            dcl_release(C);
            dcl_release(of_c);
        }
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* ---- random chains ------------------------------------------------------------------------------------------------ */

static const char *random_map(test_random *random, int rank, char text[80])
{
    static const char *const any[] = {"block", "cyclic", "cyclic(2)", "rows:cyclic", "columns:block", "rows:block"};
    if (test_between(random, 0, 2) == 0)
        return strcpy(text, any[test_between(random, 0, 5)]);
    bool dealt = test_between(random, 0, 1) == 0;
    size_t at = 0;
    if (dealt)
        at = (size_t)sprintf(text, "%s:%s(", test_between(random, 0, 1) ? "rows" : "columns",
                             test_between(random, 0, 1) ? "cyclic" : "block");
    for (int d = 0; d < rank; d++) {
        int size = (int)test_between(random, 1, 4);
        if (dealt)
            at += (size_t)sprintf(text + at, "%s%d", d > 0 ? "x" : "", size);
        else if (d == 0 || test_between(random, 0, 1))
            at += (size_t)sprintf(text + at, "%scyclic(%d)", d > 0 ? "," : "", size);
        else
            at += (size_t)sprintf(text + at, ",%s", test_between(random, 0, 1) ? "block" : "*");
    }
    if (dealt)
        strcpy(text + at, ")");
    return text;
}

static dcl_array *random_copy(test_random *random, dcl_array *from, dcl_map *map, const char *what)
{
    dcl_grid grid = dcl_grid_of(from);
    for (int d = 0; d < grid.rank && test_between(random, 0, 1); d++)
        grid.origin[d] = test_between(random, -5, 5);
    dcl_array *to = dcl_agile(grid, map);
    dcl_counters planned, before = test_counters(dcl_cluster_of(from), DCL_ALL_NODES), after;
    TEST_OK(dcl_call_explain(DCL_CALL_COPY(from, to), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_copy(from, to));
    after = test_counters(dcl_cluster_of(from), DCL_ALL_NODES);
    expect_planned(&planned, &before, &after, what);
    dcl_release(from);
    return to;
}

static void run_chain(dcl_cluster *cluster, uint64_t seed)
{
    test_random random = seed;
    char text[80], what[160];
    int rank = (int)test_between(&random, 1, 3);
    int64_t origin[DCL_MAX_RANK], extent[DCL_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        origin[d] = test_between(&random, -3, 3);
        extent[d] = test_between(&random, test_between(&random, 0, 9) > 0, rank > 2 ? 6 : 20);
    }
    dcl_map *map = parse(cluster, random_map(&random, rank, text));
    dcl_array *array = dcl_agile(dcl_grid_nd(DCL_INT32, rank, extent, origin), map);
    dcl_release(map);
    cr_assert_not_null(array, "seed %" PRIu64 ": %s: %s", seed, text, dcl_error());
    test_count_up(array, 100, 3);
    for (int step = 0; step < 6; step++) {
        map = parse(cluster, random_map(&random, rank, text));
        snprintf(what, sizeof what, "seed %" PRIu64 ", %d nodes, step %d: %s", seed, dcl_node_count(cluster), step,
                 text);
        if (test_between(&random, 0, 3) == 0)
            array = random_copy(&random, array, map, what);
        else if (dcl_node_count(cluster) > 1)
            remap_and_expect(array, map, what);
        else
            TEST_OK(dcl_remap(array, map));
        expect_count_up(array, what);
        dcl_release(map);
    }
    dcl_release(array);
}

/* TEST_SEED: the first of the seeds. */
Test(remap_on_device, keeps_contents_through_random_maps)
{
    enum { CHAINS = 40 };
    const char *given = getenv("TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 1;
    test_config(TEST_MOST_NODES);
    for (int nodes = 1; nodes <= TEST_MOST_NODES; nodes += 2) {
        dcl_config config = test_config(nodes);
        config.transfer = nodes == 3 ? "auto" : "send";
        config.tile_bytes = 64;
        dcl_cluster *cluster = test_open(&config);
        for (int c = 0; c < CHAINS; c++)
            run_chain(cluster, seed++);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* ---- handles ------------------------------------------------------------------------------------------------------ */

Test(remap_on_device, is_a_step_among_others_in_the_programs_order)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, 60);
    dcl_array *A = dcl_agile(grid, block), *B = dcl_agile(grid, cyclic), *C = dcl_agile(grid, block);
    test_count_up(A, 0, 1);
    TEST_OK(test_shift(C, A, -1, 59, 0)); /* 59 .. 0 */
    TEST_OK(dcl_remap(C, cyclic));
    TEST_OK(test_shift(B, C, 1, 0, 100)); /* 159 .. 100, without a move */
    TEST_OK(test_shift(C, A, 1, 0, 41));  /* 41 .. 100 */
    TEST_OK(dcl_remap(B, block));
    TEST_OK(dcl_swap(A, B));
    int32_t found[3][60];
    TEST_OK(dcl_read(A, NULL, found[0], NULL));
    TEST_OK(dcl_read(B, NULL, found[1], NULL));
    TEST_OK(dcl_read(C, NULL, found[2], NULL));
    for (int e = 0; e < 60; e++) {
        cr_expect_eq(found[0][e], 159 - e);
        cr_expect_eq(found[1][e], e);
        cr_expect_eq(found[2][e], e + 41);
    }
    TEST_REFUSED(dcl_swap(A, C), DCL_ERR_INVALID, "the arrays differ in grid, type or map");
    dcl_clear_error(cluster);
    TEST_OK(dcl_remap(C, block));
    TEST_OK(dcl_swap(A, C));
    TEST_OK(dcl_wait_for(C, -1));
    dcl_release(block); /* the array holds what it needs */
    TEST_OK(dcl_remap(C, cyclic));
    cr_expect(dcl_map_equal(dcl_map_of(C), cyclic));
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(cyclic);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* An equal map moves nothing and makes nothing; another grain is another map, though nothing leaves its node. */
Test(remap_on_device, costs_nothing_where_nothing_changes)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *block = parse(cluster, "block"), *again = parse(cluster, "block"), *tiled = parse(cluster, "block;tile=5");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 60), block);
    test_count_up(A, 100, 3);
    dcl_counters before = test_counters(cluster, DCL_ALL_NODES), after, planned;
    TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, again, 0), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_remap(A, again));
    after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect(planned.tasks == 0 && after.tasks == before.tasks && after.bytes_copied == before.bytes_copied);
    TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, tiled, 0), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_remap(A, tiled));
    after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect(planned.tasks == 12 && after.tasks == before.tasks + 12 && after.bytes_moved == before.bytes_moved);
    expect_count_up(A, "tiled");
    dcl_release(A);
    dcl_release(block);
    dcl_release(again);
    dcl_release(tiled);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* B^T under another map, rows of A backwards, a column repeated; the views go on showing what is behind them. */
Test(remap_on_device, copies_between_views)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(3);
        config.transfer = moves[mode];
        dcl_cluster *cluster = test_open(&config);
        dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "rows:cyclic(2x3)");
        dcl_array *A = dcl_agile(dcl_grid_2d(DCL_INT32, 6, 4), block),
                  *B = dcl_agile(dcl_grid_2d(DCL_INT32, 4, 6), cyclic);
        dcl_array *turned = dcl_transpose(B);
        dcl_array *back = dcl_slice(A, (int64_t[]){5, 0}, (int64_t[]){6, 4}, (int64_t[]){-1, 1});
        int32_t found[4][6];
        dcl_counters planned, before, after;
        test_count_up(A, 0, 1);
        TEST_OK(dcl_call_explain(DCL_CALL_COPY(back, turned), DCL_ALL_NODES, &planned));
        before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(dcl_copy(back, turned)); /* B(j,i) = A(5 - i,j) */
        after = test_counters(cluster, DCL_ALL_NODES);
        expect_planned(&planned, &before, &after, "views");
        TEST_OK(dcl_remap(B, block));
        TEST_OK(dcl_remap(A, cyclic));
        TEST_OK(dcl_read(B, NULL, found, NULL));
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 6; i++)
                cr_assert_eq(found[j][i], (5 - i) * 4 + j, "(%d,%d) is %d", j, i, found[j][i]);
        TEST_OK(dcl_copy(turned, back)); /* A as it was */
        TEST_OK(dcl_read(A, NULL, found, NULL));
        for (int e = 0; e < 24; e++)
            cr_assert_eq(((int32_t *)found)[e], e, "element %d is %d", e, ((int32_t *)found)[e]);
        TEST_REFUSED(dcl_copy(A, back), DCL_ERR_INVALID,
                     "dcl_copy: `from` and `to` are views of one array that have elements in common");
        dcl_clear_error(cluster);
        dcl_release(turned);
        dcl_release(back);
        dcl_release(A);
        dcl_release(B);
        dcl_release(block);
        dcl_release(cyclic);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* Replicated: one owner, whose part the others read; and what it kept anywhere is not there any more. */
Test(remap_on_device, to_and_from_replicated_and_kept_arrays)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(3);
        config.transfer = moves[mode];
        dcl_cluster *cluster = test_open(&config);
        dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic"),
                *all = parse(cluster, "replicated");
        dcl_grid grid = dcl_grid_1d(DCL_INT32, 60);
        dcl_array *A = dcl_agile(grid, block), *C = dcl_agile(grid, cyclic);
        test_count_up(A, 100, 3);
        remap_and_expect(A, all, "to all"); /* 40 elements of two nodes move to the one that owns them */
        expect_count_up(A, "to all");
        TEST_OK(test_shift(C, A, 1, 0, 0));
        expect_count_up(C, "read from all");
        TEST_OK(dcl_remap(A, block));
        expect_count_up(A, "from all");
        TEST_OK(dcl_keep(A, true));
        TEST_OK(test_shift(C, A, 1, 0, 0));
        remap_and_expect(A, cyclic, "a kept one");
        expect_count_up(A, "a kept one");
        remap_and_expect(A, block, "and back");
        TEST_OK(test_shift(C, A, 1, 0, 0));
        expect_count_up(C, "read after all");
        dcl_release(A);
        dcl_release(C);
        dcl_release(block);
        dcl_release(cyclic);
        dcl_release(all);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* What the new map stores nowhere is gone; what it stores is as it was, and moves as any element does. */
Test(remap_on_device, to_a_sparse_map_keeps_what_that_stores)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(2);
        config.transfer = moves[mode];
        dcl_cluster *cluster = test_open(&config);
        /* Nodes 0 and 1 have 0-5 and 6-11; of 0-3 and 8-11, kept by 1 and 1, only 8-11 have their owner. */
        dcl_map *block = parse(cluster, "block"), *sparse = parse(cluster, "rows:table(4);owners=1,-,1;rest=-1");
        dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 12), block);
        dcl_counters planned, before, after;
        int32_t found[12];
        test_count_up(A, 100, 3);
        TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, sparse, 0), DCL_ALL_NODES, &planned));
        cr_expect_eq(planned.bytes_moved, 4 * 4, "%" PRId64, planned.bytes_moved);
        before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(dcl_remap(A, sparse));
        after = test_counters(cluster, DCL_ALL_NODES);
        expect_planned(&planned, &before, &after, "sparse");
        cr_expect_eq(after.storage_bytes, 8 * 4, "%" PRId64, after.storage_bytes);
        TEST_OK(dcl_remap(A, block));
        TEST_OK(dcl_read(A, NULL, found, NULL));
        for (int e = 0; e < 12; e++)
            cr_expect_eq(found[e], e >= 4 && e < 8 ? -1 : 100 + 3 * e, "element %d is %d", e, found[e]);
        dcl_release(A);
        dcl_release(block);
        dcl_release(sparse);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

Test(remap_on_device, serves_all_types)
{
    static const dcl_type types[] = {DCL_INT8, DCL_UINT16, DCL_INT64, DCL_FLOAT, DCL_DOUBLE};
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic(3)");
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        unsigned char bytes[37 * 8], found[37 * 8];
        size_t length = 37 * dcl_type_bytes(types[t]);
        test_random random = t;
        for (size_t b = 0; b < length; b++)
            bytes[b] = (unsigned char)(test_next(&random) & 0x3f); /* no NaN */
        dcl_array *A = dcl_agile(dcl_grid_1d(types[t], 37), block);
        if (A == NULL)
            continue; /* the device has not this type */
        TEST_OK(dcl_write(A, NULL, bytes, NULL));
        TEST_OK(dcl_remap(A, cyclic));
        TEST_OK(dcl_read(A, NULL, found, NULL));
        cr_expect_eq(memcmp(bytes, found, length), 0, "%s", dcl_type_name(types[t]));
        dcl_release(A);
    }
    dcl_release(block);
    dcl_release(cyclic);
    dcl_close(cluster);
}

/* ---- other nodes for the same places ------------------------------------------------------------------------------ */

static void expect_map(const dcl_array *array, const char *expected)
{
    char text[200];
    dcl_map_print(dcl_map_of(array), text, sizeof text);
    cr_expect_str_eq(text, expected, "%s; expected %s", text, expected);
}

/* Blocks on nodes 2, 0, 1: a map that cuts almost as this one needs no node to take another's block. */
Test(remap_on_device, may_take_nodes_in_the_order_that_moves_least)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(3);
        config.transfer = moves[mode];
        dcl_cluster *cluster = test_open(&config);
        dcl_map *turned = parse(cluster, "block;nodes=2,0,1"), *cyclic = parse(cluster, "rows:cyclic(21)");
        dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 60), turned),
                  *B = dcl_agile(dcl_grid_1d(DCL_INT32, 60), turned);
        dcl_counters plain, relabelled, before, after;
        test_count_up(A, 100, 3);
        test_count_up(B, 100, 3);
        TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, cyclic, 0), DCL_ALL_NODES, &plain));
        TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, cyclic, DCL_REMAP_RELABEL), DCL_ALL_NODES, &relabelled));
        cr_expect_eq(plain.bytes_moved, 57 * 4, "%" PRId64, plain.bytes_moved);          /* 20; 40, 41 stay */
        cr_expect_eq(relabelled.bytes_moved, 3 * 4, "%" PRId64, relabelled.bytes_moved); /* 20; 40, 41 move */
        expect_map(A, "block;nodes=2,0-1");
        before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(dcl_remap_with(A, cyclic, DCL_REMAP_RELABEL));
        after = test_counters(cluster, DCL_ALL_NODES);
        expect_planned(&relabelled, &before, &after, "relabelled");
        expect_map(A, "rows:cyclic(21);nodes=2,0-1");
        expect_count_up(A, "relabelled");
        TEST_OK(dcl_remap(A, cyclic));
        expect_map(A, "rows:cyclic(21)");
        TEST_OK(dcl_copy(A, B));
        TEST_OK(
            dcl_remap_with(A, turned, DCL_REMAP_RELABEL)); /* and the way back needs no other order than the plain */
        expect_map(A, "block");
        TEST_OK(dcl_remap_with(A, turned, 0));
        TEST_OK(dcl_swap(A, B));
        expect_count_up(A, "copied");
        expect_count_up(B, "there and back");
        TEST_REFUSED(dcl_remap_with(A, cyclic, 2), DCL_ERR_INVALID, "flags are 2; expected 0 or DCL_REMAP_RELABEL");
        dcl_clear_error(cluster);
        dcl_release(A);
        dcl_release(B);
        dcl_release(turned);
        dcl_release(cyclic);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

/* Node 1 has no memory for its part of the new storage, whether it is the first or the last to be asked. */
Test(remap_on_device, without_storage_leaves_the_array_as_it_was)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(3);
        config.transfer = moves[mode];
        test_fault("alloc node=1 count=2");
        dcl_cluster *cluster = test_open(&config);
        dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic");
        dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 60), block);
        test_count_up(A, 100, 3);
        dcl_counters before = test_counters(cluster, DCL_ALL_NODES), after;
        TEST_REFUSED(dcl_remap(A, cyclic), DCL_ERR_NOMEM, "the array keeps its map and its contents");
        cr_expect(strstr(dcl_error(), "dcl_remap: ") == dcl_error() && strstr(dcl_error(), "node 1: ") != NULL &&
                      strstr(dcl_error(), "DCL_FAULT") != NULL,
                  "%s", dcl_error());
        cr_expect_eq(dcl_status_of(cluster), DCL_ERR_NOMEM);
        dcl_clear_error(cluster);
        cr_expect(dcl_map_equal(dcl_map_of(A), block));
        expect_count_up(A, "as it was");
        after = test_counters(cluster, DCL_ALL_NODES);
        cr_expect_eq(after.storage_bytes, before.storage_bytes, "%" PRId64 " bytes; expected %" PRId64,
                     after.storage_bytes, before.storage_bytes);
        TEST_OK(dcl_remap(A, cyclic)); /* now there is memory */
        expect_count_up(A, "remapped");
        dcl_release(A);
        dcl_release(block);
        dcl_release(cyclic);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* What a node would refuse while it copies is refused before, and tiles of any size are copied bit by bit. */
Test(remap_on_device, within_a_small_pool_is_done_or_refused_before)
{
    dcl_config config = test_config(2);
    config.transfer = "send";
    config.pool_bytes = 4096;
    config.tile_bytes = 1 << 20;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 100000), block);
    test_count_up(A, 100, 3);
    TEST_REFUSED(dcl_remap(A, cyclic), DCL_ERR_NOMEM, "the pool has 4096; set DCL_POOL_BYTES to more");
    cr_expect(dcl_map_equal(dcl_map_of(A), block));
    expect_count_up(A, "as it was");
    dcl_release(A);
    dcl_release(block);
    dcl_release(cyclic);
    dcl_clear_error(cluster);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    config.tile_bytes = 1024;
    cluster = test_open(&config);
    block = parse(cluster, "block;tile=100000");
    cyclic = parse(cluster, "cyclic;tile=100000");
    A = dcl_agile(dcl_grid_1d(DCL_INT32, 100000), block);
    test_count_up(A, 100, 3);
    remap_and_expect(A, cyclic, "large tiles, a small pool");
    expect_count_up(A, "large tiles, a small pool");
    dcl_release(A);
    dcl_release(block);
    dcl_release(cyclic);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* An array that has failed cannot be remapped, but copied over. */
Test(remap_on_device, of_a_failed_array_is_refused)
{
    dcl_config config = test_config(2);
    test_fault("alloc node=1 count=1");
    dcl_cluster *cluster = test_open(&config);
    dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, 60);
    dcl_array *failed = dcl_agile(grid, block), *A = dcl_agile(grid, cyclic), *B = dcl_agile(grid, block);
    dcl_wait(cluster);
    dcl_clear_error(cluster);
    test_count_up(A, 100, 3);
    TEST_REFUSED(dcl_remap(failed, cyclic), DCL_ERR_NOMEM, "cannot remap an array whose contents have failed");
    cr_expect(strstr(dcl_error(), "node 1: ") != NULL, "%s", dcl_error());
    cr_expect(dcl_map_equal(dcl_map_of(failed), block));
    TEST_REFUSED(dcl_copy(failed, B), DCL_ERR_NOMEM, "cannot read an array whose contents have failed");
    TEST_REFUSED(dcl_copy(failed, failed), DCL_ERR_NOMEM, "cannot copy an array whose contents have failed");
    TEST_OK(dcl_wait_for(B, -1)); /* a refused copy changes nothing */
    dcl_clear_error(cluster);
    TEST_OK(dcl_copy(A, B));
    TEST_OK(dcl_copy(A, failed));
    expect_count_up(B, "copied");
    expect_count_up(failed, "copied over");
    TEST_OK(dcl_remap(failed, cyclic));
    expect_count_up(failed, "remapped");
    dcl_release(A);
    dcl_release(B);
    dcl_release(failed);
    dcl_release(block);
    dcl_release(cyclic);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

Test(remap_on_device, of_wrong_arguments_is_refused)
{
    dcl_cluster *cluster = open_nodes(2), *other = open_nodes(2);
    dcl_map *block = parse(cluster, "block"), *foreign = parse(other, "cyclic"), *plane = parse(cluster, "block,*");
    dcl_map *cyclic = parse(cluster, "cyclic");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 60), block), *X = dcl_agile(dcl_grid_1d(DCL_INT32, 60), foreign);
    dcl_array *view = dcl_shift(A, (int64_t[]){2});
    dcl_counters counters;
    test_count_up(A, 100, 3);
    TEST_REFUSED(dcl_remap(NULL, block), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_remap(A, NULL), DCL_ERR_INVALID, "map is NULL");
    TEST_REFUSED(dcl_remap(view, cyclic), DCL_ERR_INVALID, "array is a view; expected one made by dcl_agile()");
    TEST_REFUSED(dcl_remap(A, foreign), DCL_ERR_INVALID, "the map is of another cluster than the array");
    TEST_REFUSED(dcl_remap(A, plane), DCL_ERR_INVALID, "the map serves grids of rank 2; the grid has rank 1");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_REMAP(A, plane, 0), 0, &counters), DCL_ERR_INVALID,
                 "the map serves grids of rank 2");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_REMAP(A, cyclic, 0), 2, &counters), DCL_ERR_INVALID, "node is 2");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_REMAP(A, cyclic, 0), 0, NULL), DCL_ERR_INVALID, "counters_out is NULL");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_REMAP(NULL, cyclic, 0), 0, &counters), DCL_ERR_INVALID, "array is NULL");
    expect_count_up(A, "after refusals");
    cr_expect(dcl_map_equal(dcl_map_of(A), block));
    TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, cyclic, 0), DCL_HOST, &counters));
    cr_expect(counters.tasks == 0 && counters.bytes_moved == 0);
    TEST_REFUSED(dcl_copy(A, NULL), DCL_ERR_INVALID, "`to` is NULL");
    TEST_REFUSED(dcl_copy(NULL, NULL), DCL_ERR_INVALID, "`from` is NULL");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_COPY(A, X), 0, &counters), DCL_ERR_INVALID,
                 "the arrays are of different clusters");
    TEST_REFUSED(dcl_copy(A, X), DCL_ERR_INVALID, "the arrays are of different clusters");
    expect_count_up(A, "a source of copies");
    dcl_clear_error(cluster);
    dcl_clear_error(other);
    dcl_release(X);
    dcl_release(view);
    dcl_release(A);
    dcl_release(block);
    dcl_release(cyclic);
    dcl_release(foreign);
    dcl_release(plane);
    cr_expect_eq(dcl_close(other), DCL_OK);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
}

Test(remap_on_device, of_arrays_that_differ_in_shape_is_no_copy)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *block = parse(cluster, "block");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 60), block), *longer = dcl_agile(dcl_grid_1d(DCL_INT32, 61), block);
    dcl_array *real = dcl_agile(dcl_grid_1d(DCL_FLOAT, 60), block),
              *plane = dcl_agile(dcl_grid_2d(DCL_INT32, 6, 10), block);
    TEST_REFUSED(dcl_copy(A, longer), DCL_ERR_INVALID, "axis 0 of `from` has 60 elements and of `to` 61");
    TEST_REFUSED(dcl_copy(A, real), DCL_ERR_INVALID, "`from` has elements of type int32 and `to` of type float");
    TEST_REFUSED(dcl_copy(A, plane), DCL_ERR_INVALID, "`from` has rank 1 and `to` rank 2");
    TEST_OK(dcl_wait_for(plane, -1)); /* a refused copy changes nothing */
    TEST_OK(dcl_copy(A, A));
    dcl_release(A);
    dcl_release(longer);
    dcl_release(real);
    dcl_release(plane);
    dcl_release(block);
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

/* ---- plans -------------------------------------------------------------------------------------------------------- */

/* By hand: 12 elements, block of 3 to cyclic over 4 nodes. Of n, n+4, n+8 each node n had one before:
 * elements 0, 5, 6, 11. */
Test(remap_planned, can_be_asked_of_a_cluster_that_only_plans)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_map *block = parse(cluster, "block"), *cyclic = parse(cluster, "cyclic");
    dcl_grid grid = dcl_grid_1d(DCL_DOUBLE, 12);
    dcl_array *A = dcl_agile(grid, block), *B = dcl_agile(grid, cyclic);
    dcl_counters counters;
    for (int n = 0; n < 4; n++) {
        TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, cyclic, 0), n, &counters));
        cr_expect(counters.tasks == 1 && counters.bytes_moved == 16, "node %d: %" PRId64 " bytes", n,
                  counters.bytes_moved);
    }
    TEST_OK(dcl_call_explain(DCL_CALL_COPY(A, B), DCL_ALL_NODES, &counters));
    cr_expect_eq(counters.bytes_moved, 64, "%" PRId64 " bytes", counters.bytes_moved);
    TEST_OK(dcl_call_explain(DCL_CALL_COPY(A, A), DCL_ALL_NODES, &counters));
    cr_expect_eq(counters.tasks, 0);
    TEST_REFUSED(dcl_remap(A, cyclic), DCL_ERR_UNSUPPORTED, "this cluster only plans");
    TEST_REFUSED(dcl_copy(A, B), DCL_ERR_UNSUPPORTED, "this cluster only plans");
    dcl_release(A);
    dcl_release(B);
    dcl_release(block);
    dcl_release(cyclic);
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

/* test/runtime/move_test.c - the local global view: tiles of arrays, elements brought to nodes ahead of use. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(move_on_device, .timeout = TEST_SECONDS);

enum { SIDE = 48, TILE = 8, NODES = 4 };

static const char add[] = "C(i,j) = A(i,j) + B(j,i);";

static dcl_cluster *open_with(const char *move, size_t kept_bytes)
{
    dcl_config config = test_config(NODES);
    config.transfer = move;
    config.kept_bytes = kept_bytes;
    return test_open(&config);
}

static dcl_array *make(dcl_cluster *cluster, dcl_grid grid, const char *map_text)
{
    dcl_map *map = dcl_map_parse(cluster, map_text);
    dcl_array *array = dcl_agile(grid, map);
    cr_assert_not_null(array, "%s", dcl_error());
    dcl_map_release(map);
    return array;
}

static dcl_array *square(dcl_cluster *cluster, const char *map_text)
{
    return make(cluster, dcl_grid_2d(DCL_INT32, SIDE, SIDE), map_text);
}

static int64_t moved(dcl_cluster *cluster) { return test_counters(cluster, DCL_ALL_NODES).bytes_moved; }

/* The same in detail. */
static void expect_report(const dcl_report *report, const dcl_counters *planned)
{
    int64_t bytes = 0, blocks = 0, messages = 0;
    cr_assert_not_null(report, "%s", dcl_error());
    for (int64_t p = 0; p < report->pair_count; p++) {
        bytes += report->pair[p].bytes;
        blocks += report->pair[p].blocks;
        messages += report->pair[p].messages;
    }
    cr_expect_eq(memcmp(&report->planned, planned, sizeof *planned), 0);
    cr_expect(bytes == planned->bytes_moved && blocks == planned->blocks_moved &&
              messages == planned->messages_planned && report->array[0].bytes_moved == bytes);
}

/* A move, and what it counts: as explained, all of it at the node. @return bytes */
static int64_t move(dcl_cluster *cluster, dcl_array *array, const dcl_box *box, int node)
{
    dcl_counters planned, before = test_counters(cluster, node), all = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_MOVE(array, box, node), DCL_ALL_NODES, &planned));
    dcl_report *report = dcl_call_report(DCL_CALL_MOVE(array, box, node), DCL_ALL_NODES);
    TEST_OK(dcl_move(array, box, node));
    expect_report(report, &planned);
    dcl_report_release(report);
    dcl_counters after = test_counters(cluster, node);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.blocks_moved - before.blocks_moved, planned.blocks_moved);
    cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned);
    cr_expect_eq(after.tasks, before.tasks);
    cr_expect_eq(moved(cluster) - all.bytes_moved, planned.bytes_moved, "other nodes move nothing");
    return planned.bytes_moved;
}

/* ---- the worked example ------------------------------------------------------------------------------------------- */

/* S1: 3 x 3 segments dealt to four nodes. A sixteenth of a segment is one tile's, and one block. */
struct example {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C;
    int64_t tiles, bytes; /* visited, moved for them */
};

static struct example open_example(const char *move, size_t kept_bytes)
{
    char map[80];
    struct example e = {.cluster = open_with(move, kept_bytes)};
    snprintf(map, sizeof map, "rows:cyclic(%dx%d);block=%dx%d;tile=%dx%d", 2 * TILE, 2 * TILE, TILE, TILE, TILE, TILE);
    e.A = square(e.cluster, map);
    e.B = square(e.cluster, map);
    e.C = square(e.cluster, map);
    test_count_up(e.A, 0, 1);
    test_count_up(e.B, 7, 3);
    return e;
}

static void close_example(struct example *e)
{
    dcl_release(e->A);
    dcl_release(e->B);
    dcl_release(e->C);
    TEST_OK(dcl_close(e->cluster));
}

static void expect_sum(struct example *e)
{
    static int32_t result[SIDE][SIDE];
    TEST_OK(dcl_read(e->C, NULL, result, NULL));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            cr_assert_eq(result[i][j], i * SIDE + j + 7 + 3 * (j * SIDE + i), "C(%d,%d) is %d", i, j, result[i][j]);
}

/* What tasks of one tile need of B is brought to the tile's node; then they run, and move nothing. */
static dcl_status compute_tile(void *user, const dcl_tile *tile)
{
    struct example *e = user;
    cr_assert_eq(tile->box_count, 1);
    const dcl_box *box = &tile->box[0];
    dcl_box turned = dcl_box_nd(2, (int64_t[]){box->start[1], box->start[0]}, (int64_t[]){TILE, TILE});
    dcl_counters planned;
    dcl_arg args[] = {DCL_OUT_AS("C", e->C), DCL_IN_AS("A", e->A), DCL_IN_AS("B", e->B)};
    e->tiles++;
    e->bytes += move(e->cluster, e->B, &turned, tile->node);
    int64_t before = moved(e->cluster);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(e->cluster, box, add, 3, args), DCL_ALL_NODES, &planned));
    cr_expect_eq(planned.bytes_moved, 0);
    cr_expect_eq(planned.tasks, 1);
    TEST_OK(dcl_call_run(DCL_CALL_BODY_N(e->cluster, box, add, 3, args)));
    cr_expect_eq(moved(e->cluster), before);
    return DCL_OK;
}

Test(move_on_device, the_worked_example)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        struct example e = open_example(moves[m], 1 << 20);
        TEST_OK(dcl_tiles(e.C, DCL_ALL_NODES, compute_tile, &e));
        cr_expect_eq(e.tiles, 36);
        cr_expect_eq(e.bytes, 16 * TILE * TILE * 4, "%" PRId64 " bytes: 16 of 36 blocks", e.bytes);
        cr_expect_eq(test_counters(e.cluster, DCL_ALL_NODES).blocks_moved, 16);
        expect_sum(&e);
        int64_t before = moved(e.cluster);
        int32_t zero = 0;
        TEST_OK(dcl_fill(e.C, &zero));
        TEST_OK(dcl_forall(e.cluster, add, DCL_OUT_AS("C", e.C), DCL_IN_AS("A", e.A), DCL_IN_AS("B", e.B)));
        expect_sum(&e);
        cr_expect_eq(moved(e.cluster), before, "all at once finds the same copies");
        close_example(&e);
    }
}

/* ---- how long copies last ----------------------------------------------------------------------------------------- */

static int64_t add_moves(struct example *e)
{
    dcl_arg args[] = {DCL_OUT_AS("C", e->C), DCL_IN_AS("A", e->A), DCL_IN_AS("B", e->B)};
    dcl_counters planned;
    int64_t before = moved(e->cluster);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(e->cluster, NULL, add, 3, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_forall_n(e->cluster, add, 3, args));
    cr_expect_eq(moved(e->cluster) - before, planned.bytes_moved);
    expect_sum(e);
    return planned.bytes_moved;
}

Test(move_on_device, copies_end_when_written_or_dropped)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        struct example e = open_example(moves[m], 1 << 20);
        enum { HALF = 8 * TILE * TILE * 4 }; /* what node 1 lacks, as much as node 3 */
        cr_expect_eq(add_moves(&e), 2 * HALF);
        move(e.cluster, e.B, NULL, 1);
        cr_expect_eq(add_moves(&e), HALF);
        cr_expect_eq(move(e.cluster, e.B, NULL, 1), 0);
        cr_expect_eq(add_moves(&e), HALF);
        int32_t same = 7 + 3 * (SIDE * SIDE - 1);
        dcl_box last = dcl_box_nd(2, (int64_t[]){SIDE - 1, SIDE - 1}, (int64_t[]){1, 1});
        TEST_OK(dcl_write(e.B, &last, &same, NULL));
        cr_expect_eq(add_moves(&e), 2 * HALF, "the copy was of all of B");
        move(e.cluster, e.B, NULL, 1);
        TEST_OK(dcl_keep(e.B, false));
        cr_expect_eq(add_moves(&e), 2 * HALF, "dropped");
        TEST_OK(dcl_keep(e.B, true));
        cr_expect_eq(add_moves(&e), 2 * HALF);
        cr_expect_eq(add_moves(&e), 0);
        TEST_OK(dcl_keep(e.B, false));
        cr_expect_eq(add_moves(&e), 2 * HALF);
        cr_expect_eq(add_moves(&e), 2 * HALF);
        close_example(&e);
    }
}

/* Whole kernels find copies, too: of what lies around a tile, and of other rows than its own. */
Test(move_on_device, tile_kernels_use_copies)
{
    static const char *const moves[] = {"place", "send"};
    static const char text[] =
        "long r = dcl_item(0), c = dcl_item(1); C(r, c) = A(r, c) + (A_high(1) > c + 1 ? A(r, c + 1) : 0)"
        " + B(C_at(0, r), C_at(1, c));";
    for (int m = 0; m < 2; m++) {
        struct example e = open_example(moves[m], 1 << 20);
        static int32_t found[SIDE][SIDE];
        dcl_arg args[] = {DCL_OUT_AS("C", e.C), DCL_IN_HALO_AS("A", e.A, 0, 1), DCL_IN_ALL_AS("B", e.B)};
        dcl_counters planned;
        TEST_OK(dcl_call_explain(DCL_CALL_TILES_N(e.cluster, NULL, text, 3, args), DCL_ALL_NODES, &planned));
        cr_expect_gt(planned.bytes_moved, 0);
        for (int node = 0; node < NODES; node++) {
            move(e.cluster, e.A, NULL, node);
            move(e.cluster, e.B, NULL, node);
        }
        int64_t before = moved(e.cluster);
        TEST_OK(dcl_call_explain(DCL_CALL_TILES_N(e.cluster, NULL, text, 3, args), DCL_ALL_NODES, &planned));
        cr_expect_eq(planned.bytes_moved, 0);
        TEST_OK(dcl_call_run(DCL_CALL_TILES_N(e.cluster, NULL, text, 3, args)));
        TEST_OK(dcl_read(e.C, NULL, found, NULL));
        cr_expect_eq(moved(e.cluster), before);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                int at = i * SIDE + j, next = j + 1 < SIDE ? at + 1 : 0;
                cr_assert_eq(found[i][j], at + next + 7 + 3 * at, "%s: C(%d,%d) is %d", moves[m], i, j, found[i][j]);
            }
        close_example(&e);
    }
}

/* Nobody waits between the calls, and memory of what is dropped is in use yet. */
Test(move_on_device, moves_and_drops_in_a_row)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        struct example e = open_example(moves[m], 1 << 20);
        dcl_arg args[] = {DCL_OUT_AS("C", e.C), DCL_IN_AS("A", e.A), DCL_IN_AS("B", e.B)};
        for (int k = 0; k < 30; k++) {
            int32_t start = 100 * k;
            TEST_OK(dcl_forall(e.cluster, "B(i,j) = 3*(48*i + j) + start;", DCL_OUT_AS("B", e.B), DCL_VALUE(start)));
            for (int node = 0; node < NODES; node++)
                TEST_OK(dcl_move(e.B, NULL, node));
            TEST_OK(dcl_forall_n(e.cluster, add, 3, args));
            if (k % 3 == 0)
                TEST_OK(dcl_keep(e.B, false));
        }
        test_count_up(e.B, 7, 3);
        TEST_OK(dcl_move(e.B, NULL, 3));
        cr_expect_gt(add_moves(&e), 0);
        close_example(&e);
    }
}

/* ---- the budget --------------------------------------------------------------------------------------------------- */

Test(move_on_device, what_does_not_fit_is_refused)
{
    struct example e = open_example("send", 2 * SIDE * 4);
    dcl_box two = dcl_box_nd(2, (int64_t[]){20, 0}, (int64_t[]){2, SIDE}), one = two, next = two;
    one.count[0] = 1;
    next.start[0] = 22;
    next.count[0] = 1;
    move(e.cluster, e.B, &one, 2);
    int64_t before = moved(e.cluster);
    TEST_REFUSED(dcl_move(e.B, &two, 2), DCL_ERR_NOMEM,
                 "dcl_move: node 2: replicas of the box take 384 bytes; expected at most 192: replicas may take 384 "
                 "(DCL_KEPT_BYTES), "
                 "192 of which are taken; drop some by dcl_keep(array, false)");
    dcl_counters counters;
    TEST_REFUSED(dcl_call_explain(DCL_CALL_MOVE(e.B, &two, 2), DCL_ALL_NODES, &counters), DCL_ERR_NOMEM,
                 "expected at most 192: replicas may take 384");
    cr_expect_eq(moved(e.cluster), before);
    move(e.cluster, e.B, &next, 2);
    move(e.cluster, e.B, &one, 1); /* every node has a budget of its own */
    TEST_REFUSED(dcl_move(e.A, &one, 2), DCL_ERR_NOMEM, "expected at most 0: replicas may take 384");
    TEST_OK(dcl_keep(e.B, false));
    move(e.cluster, e.B, &two, 2);
    dcl_clear_error(e.cluster);
    cr_expect_gt(add_moves(&e), 0);
    close_example(&e);
}

/* ---- views, parts that are missing, copies by the map ------------------------------------------------------------- */

Test(move_on_device, views)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        struct example e = open_example(moves[m], 1 << 20);
        dcl_array *T = dcl_transpose(e.B);
        dcl_array *S = dcl_slice(T, (int64_t[]){SIDE - 1, 32}, (int64_t[]){SIDE / 2, 16}, (int64_t[]){-2, 1});
        dcl_array *W = dcl_broadcast(S, 0, 5);
        dcl_box rows = dcl_box_nd(2, (int64_t[]){32, 0}, (int64_t[]){16, SIDE});
        dcl_array *P = dcl_sub(e.B, &rows);
        dcl_box right = dcl_box_nd(2, (int64_t[]){0, 32}, (int64_t[]){SIDE, 16}); /* of T: rows 32..47 of B */
        cr_expect_eq(move(e.cluster, T, &right, 1), 3 * 16 * 16 * 4, "segments 7, 8 and 9 are others'");
        cr_expect_eq(move(e.cluster, S, NULL, 1), 0, "every second column, backwards: it is there");
        cr_expect_eq(move(e.cluster, W, NULL, 1), 0);
        cr_expect_eq(move(e.cluster, P, NULL, 1), 0);
        cr_expect_eq(move(e.cluster, P, NULL, 2), 2 * 16 * 16 * 4, "segment 7 is its own");
        TEST_OK(dcl_keep(P, false));
        cr_expect_eq(move(e.cluster, S, NULL, 1), 3 * 8 * 16 * 4, "by its view, the array's copies were dropped");
        dcl_array *const views[] = {T, S, W, P};
        for (int v = 0; v < 4; v++)
            dcl_release(views[v]);
        close_example(&e);
    }
}

/* Copies are of the array's own shape; what is written in another one may be any of its elements. */
Test(move_on_device, other_shapes)
{
    dcl_cluster *cluster = open_with("send", 1 << 20);
    dcl_array *B = square(cluster, "block,*"), *F = dcl_flatten(B), *C = make(cluster, dcl_grid_of(F), "block");
    dcl_box first = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){1, 1});
    dcl_box one = dcl_box_nd(1, (int64_t[]){SIDE}, (int64_t[]){1});
    enum { OTHERS = SIDE * SIDE * 3 };
    int32_t value = 5, found = 0;
    test_count_up(B, 0, 1);
    TEST_REFUSED(dcl_move(F, NULL, 1), DCL_ERR_UNSUPPORTED, "dcl_move: the array is a view of another shape");
    dcl_clear_error(cluster);
    cr_expect_eq(move(cluster, B, NULL, 1), OTHERS);
    int64_t before = moved(cluster);
    TEST_OK(dcl_forall(cluster, "C(i) = F(2303 - i);", DCL_OUT(C), DCL_IN(F)));
    cr_expect_eq(moved(cluster) - before, SIDE * SIDE * 4, "as if there were no copy");
    TEST_OK(dcl_write(F, &one, &value, NULL)); /* B(1,0) */
    cr_expect_eq(move(cluster, B, &first, 1), 4, "not in the copy, but who knows");
    TEST_OK(dcl_read(B, &first, &found, NULL));
    cr_expect_eq(found, 0);
    dcl_array *const all[] = {F, B, C};
    for (int k = 0; k < 3; k++)
        dcl_release(all[k]);
    TEST_OK(dcl_close(cluster));
}

/* An operation reads elements of a copy that it ends, as it writes others of the same array. */
Test(move_on_device, a_last_use)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        dcl_cluster *cluster = open_with(moves[m], 1 << 20);
        dcl_array *A = square(cluster, "block,*");
        static int32_t found[SIDE][SIDE];
        int64_t half[] = {SIDE / 2, SIDE}, steps[] = {2, 1};
        dcl_array *even = dcl_slice(A, (int64_t[]){0, 0}, half, steps),
                  *odd = dcl_slice(A, (int64_t[]){1, 0}, half, steps);
        test_count_up(A, 0, 1);
        for (int node = 0; node < NODES; node++)
            move(cluster, A, NULL, node);
        int64_t before = moved(cluster);
        TEST_OK(dcl_forall(cluster, "E(i,j) = O(23 - i, j);", DCL_OUT_AS("E", even), DCL_IN_AS("O", odd)));
        TEST_OK(dcl_read(A, NULL, found, NULL));
        cr_expect_eq(moved(cluster), before);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                cr_assert_eq(found[i][j], (i % 2 == 0 ? SIDE - 1 - i : i) * SIDE + j, "%s: A(%d,%d) is %d", moves[m], i,
                             j, found[i][j]);
        cr_expect_gt(move(cluster, A, NULL, 2), 0);
        dcl_release(even);
        dcl_release(odd);
        dcl_release(A);
        TEST_OK(dcl_close(cluster));
    }
}

/* What is stored nowhere is not moved; copies show it as the map declares. Small tiles make several batches. */
Test(move_on_device, arrays_that_store_some_elements)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        dcl_config config = test_config(NODES);
        config.transfer = moves[m];
        config.tile_bytes = 64;
        dcl_cluster *cluster = test_open(&config);
        dcl_array *A = make(cluster, dcl_grid_1d(DCL_INT32, 64), "rows:table(8);owners=0,-,1,-,2,3,-,0;rest=-7");
        dcl_array *C = make(cluster, dcl_grid_1d(DCL_INT32, 64), "rows:table(64);owners=3");
        int32_t result[64];
        TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
        cr_expect_eq(move(cluster, A, NULL, 3), 4 * 8 * 4);
        int64_t before = moved(cluster);
        TEST_OK(dcl_forall(cluster, "C(i) = A(63 - i);", DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_read(C, NULL, result, NULL));
        cr_expect_eq(moved(cluster), before);
        for (int i = 0; i < 64; i++) {
            int at = 63 - i;
            bool nowhere = at / 8 == 1 || at / 8 == 3 || at / 8 == 6;
            cr_expect_eq(result[i], nowhere ? -7 : at, "%s: C(%d) is %d", moves[m], i, result[i]);
        }
        dcl_release(A);
        dcl_release(C);
        TEST_OK(dcl_close(cluster));
    }
}

/* Holders have no budget; others have theirs. */
Test(move_on_device, replicated_arrays)
{
    dcl_cluster *cluster = open_with("send", 0);
    dcl_array *A = square(cluster, "replicated(2)"), *C = square(cluster, "block,*");
    enum { ALL = SIDE * SIDE * 4 };
    test_count_up(A, 0, 1);
    cr_expect_eq(move(cluster, A, NULL, 0), 0, "its owner");
    cr_expect_eq(move(cluster, A, NULL, 1), ALL);
    cr_expect_eq(move(cluster, A, NULL, 1), 0);
    TEST_REFUSED(
        dcl_move(A, NULL, 2), DCL_ERR_NOMEM,
        "node 2: replicas of the box take 9216 bytes; expected at most 0: replicas may take 0 (DCL_KEPT_BYTES)");
    dcl_clear_error(cluster);
    int64_t before = moved(cluster);
    TEST_OK(dcl_forall(cluster, "C(i,j) = A(j,i);", DCL_OUT(C), DCL_IN(A)));
    cr_expect_eq(moved(cluster) - before, ALL / 2, "two nodes of four");
    dcl_release(A);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

Test(move_on_device, other_maps_and_storages)
{
    struct example e = open_example("send", 1 << 20);
    dcl_array *D = make(e.cluster, dcl_grid_of(e.B), "rows:cyclic(16x16);block=8x8;tile=8x8");
    dcl_map *map = dcl_map_parse(e.cluster, "*,block");
    move(e.cluster, e.B, NULL, 1);
    move(e.cluster, e.B, NULL, 3);
    cr_expect_eq(add_moves(&e), 0);
    TEST_OK(dcl_swap(e.B, D));
    cr_expect_gt(move(e.cluster, e.B, NULL, 1), 0, "the copies are D's now");
    TEST_OK(dcl_swap(e.B, D));
    cr_expect_eq(add_moves(&e), 0);
    TEST_OK(dcl_remap(e.B, map));
    cr_expect_gt(add_moves(&e), 0);
    for (int node = 0; node < NODES; node++)
        cr_expect_eq(move(e.cluster, e.B, NULL, node), SIDE * SIDE * 3 / 4 * 4);
    cr_expect_eq(add_moves(&e), 0);
    dcl_map_release(map);
    dcl_release(D);
    close_example(&e);
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

/* A node that has no memory for a copy says so; what was to use the copy fails, and can be done again. */
Test(move_on_device, a_node_without_memory)
{
    dcl_config config = test_config(NODES);
    config.transfer = "send";
    test_fault("alloc node=1 count=4"); /* after its parts of three arrays */
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = square(cluster, "block,*"), *B = square(cluster, "block,*"), *C = square(cluster, "block,*");
    test_count_up(A, 0, 1);
    test_count_up(B, 7, 3);
    TEST_OK(dcl_move(B, NULL, 1));
    TEST_OK(dcl_forall(cluster, add, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_NOMEM,
                 "node 1: allocation 4 of storage (9216 bytes for a replica of other nodes'");
    int32_t one;
    dcl_box first = dcl_box_nd(2, (int64_t[]){12, 0}, (int64_t[]){1, 1});
    if (dcl_read(C, &first, &one, NULL) != DCL_OK) /* else the failure was known when the body was called */
        cr_expect_not_null(strstr(dcl_error(), "there is no replica of B"), "%s", dcl_error());
    TEST_OK(dcl_read(B, &first, &one, NULL));
    cr_expect_eq(one, 7 + 3 * 12 * SIDE);
    dcl_clear_error(cluster);
    struct example e = {.cluster = cluster, .A = A, .B = B, .C = C};
    move(cluster, B, NULL, 1);
    cr_expect_gt(add_moves(&e), 0);
    close_example(&e);
}

Test(move_on_device, arrays_that_have_failed)
{
    dcl_cluster *cluster = open_with("send", 1 << 20);
    dcl_array *A = square(cluster, "block,*");
    dcl_counters counters;
    test_fail(A);
    TEST_REFUSED(dcl_move(A, NULL, 0), DCL_ERR_DEVICE, "dcl_move: cannot move an array whose contents have failed");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_MOVE(A, NULL, 0), DCL_ALL_NODES, &counters), DCL_ERR_DEVICE,
                 "dcl_explain: cannot move an array");
    TEST_OK(dcl_keep(A, false));
    test_count_up(A, 0, 1);
    dcl_clear_error(cluster);
    cr_expect_eq(move(cluster, A, NULL, 0), SIDE * SIDE * 3);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

Test(move_on_device, refusals)
{
    dcl_cluster *cluster = open_with("send", 1 << 20), *plan = dcl_open_plan(3);
    dcl_array *A = square(cluster, "block,*"), *Q = square(plan, "block,*");
    dcl_counters counters;
    dcl_box beyond = dcl_box_nd(2, (int64_t[]){40, 0}, (int64_t[]){9, 1}),
            line = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){1});
    TEST_REFUSED(dcl_move(NULL, NULL, 0), DCL_ERR_INVALID, "dcl_move: array is NULL; expected one made by dcl_agile()");
    TEST_REFUSED(dcl_move(A, NULL, 4), DCL_ERR_INVALID, "dcl_move: node is 4; expected 0..3");
    TEST_REFUSED(dcl_move(A, NULL, -1), DCL_ERR_INVALID, "node is -1; expected 0..3");
    TEST_REFUSED(dcl_move(A, &beyond, 1), DCL_ERR_RANGE, "dcl_move: ");
    TEST_REFUSED(dcl_move(A, &line, 1), DCL_ERR_INVALID, "dcl_move: ");
    TEST_REFUSED(dcl_move(Q, NULL, 1), DCL_ERR_UNSUPPORTED, "dcl_move: this cluster only plans");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_MOVE(NULL, NULL, 0), DCL_ALL_NODES, &counters), DCL_ERR_INVALID,
                 "dcl_explain: array is NULL");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_MOVE(A, NULL, 0), DCL_ALL_NODES, NULL), DCL_ERR_INVALID,
                 "counters_out is NULL");
    TEST_REFUSED(dcl_call_explain(DCL_CALL_MOVE(A, NULL, 4), DCL_ALL_NODES, &counters), DCL_ERR_INVALID, "node is 4");
    dcl_clear_error(cluster);
    TEST_OK(dcl_call_explain(DCL_CALL_MOVE(Q, NULL, 2), DCL_ALL_NODES, &counters));
    cr_expect_eq(counters.bytes_moved, SIDE * SIDE * 4 / 3 * 2);
    TEST_OK(dcl_keep(Q, false));
    dcl_box none = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){0, 4});
    cr_expect_eq(move(cluster, A, &none, 1), 0);
    dcl_release(A);
    dcl_release(Q);
    TEST_OK(dcl_close(cluster));
    dcl_close(plan);
}

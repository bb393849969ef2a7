/* test/runtime/kept_test.c - copies that nodes keep: moved once, dropped by writes, within a budget, and explain
 * knows. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(replica_on_device, .timeout = TEST_SECONDS);

enum { SIDE = 24, NODES = 4 };

static dcl_cluster *open_with(const char *move, size_t kept_bytes)
{
    dcl_config config = test_config(NODES);
    config.transfer = move;
    config.kept_bytes = kept_bytes;
    return test_open(&config);
}

static dcl_array *square(dcl_cluster *cluster, const char *map_text)
{
    dcl_map *map = dcl_map_parse(cluster, map_text);
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT32, SIDE, SIDE), map);
    cr_assert_not_null(array, "%s", dcl_error());
    dcl_map_release(map);
    return array;
}

/* C(i,j) = A(i,j) + B(j,i), whatever was explained before; C is what it should be, B counts from `start`. */
static int64_t add_transposed(dcl_cluster *cluster, dcl_array *C, dcl_array *A, dcl_array *B, int start, bool kept)
{
    static int32_t result[SIDE][SIDE];
    static const char body[] = "C(i,j) = A(i,j) + B(j,i);";
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A), DCL_IN(B)};
    args[2].access = kept ? DCL_ACCESS_IN_KEPT : DCL_ACCESS_IN;
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 3, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_forall_n(cluster, body, 3, args));
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved,
                 "%" PRId64 " bytes moved; explained %" PRId64, after.bytes_moved - before.bytes_moved,
                 planned.bytes_moved);
    cr_expect_eq(after.blocks_moved - before.blocks_moved, planned.blocks_moved);
    cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned);
    TEST_OK(dcl_read(C, NULL, result, NULL));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            cr_assert_eq(result[i][j], i * SIDE + j + start + j * SIDE + i, "C(%d,%d) is %d", i, j, result[i][j]);
    return planned.bytes_moved;
}

static void check_moves_once(const char *move, const char *map_b)
{
    dcl_cluster *cluster = open_with(move, 1 << 20);
    dcl_array *A = square(cluster, "block,*"), *B = square(cluster, map_b), *C = square(cluster, "block,*");
    test_count_up(A, 0, 1);
    test_count_up(B, 5, 1);
    int64_t once = add_transposed(cluster, C, A, B, 5, true);
    cr_expect_gt(once, 0);
    for (int k = 0; k < 100; k++)
        cr_assert_eq(add_transposed(cluster, C, A, B, 5, true), 0, "use %d", k + 2);
    cr_expect_eq(add_transposed(cluster, C, A, B, 5, false), 0); /* who asks for none uses those that are there */
    test_count_up(B, 7, 1);
    cr_expect_eq(add_transposed(cluster, C, A, B, 7, true), once);
    cr_expect_eq(add_transposed(cluster, C, A, B, 7, true), 0);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_close(cluster);
}

Test(replica_on_device, a_copy_moves_once)
{
    check_moves_once("place", "block,*");
    check_moves_once("send", "block,*");
    check_moves_once("send", "rows:cyclic(5x7)");
    check_moves_once("place", "cyclic");
}

/* What another body reads beyond the copies that are there is all that moves. */
Test(replica_on_device, only_what_is_not_there_moves)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        dcl_cluster *cluster = open_with(moves[m], 1 << 20);
        dcl_map *map = dcl_map_block(cluster);
        dcl_grid grid = dcl_grid_1d(DCL_INT32, 40);
        dcl_array *A = dcl_agile(grid, map), *C = dcl_agile(grid, map);
        int32_t result[40];
        test_count_up(A, 0, 1);
        TEST_OK(dcl_keep(A, true));
        dcl_counters first, second, third;
        const char *near = "C(i) = i < 38 ? A(i) + A(i+2) : 0;", *far = "C(i) = i < 37 ? A(i) + A(i+3) : 0;";
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, near, 2, (dcl_arg[]){DCL_OUT(C), DCL_IN(A)}),
                                 DCL_ALL_NODES, &first));
        TEST_OK(dcl_forall(cluster, near, DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, far, 2, (dcl_arg[]){DCL_OUT(C), DCL_IN(A)}),
                                 DCL_ALL_NODES, &second));
        TEST_OK(dcl_forall(cluster, far, DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_read(C, NULL, result, NULL));
        for (int i = 0; i < 40; i++)
            cr_assert_eq(result[i], i < 37 ? 2 * i + 3 : 0, "%s: C(%d) is %d", moves[m], i, result[i]);
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, near, 2, (dcl_arg[]){DCL_OUT(C), DCL_IN(A)}),
                                 DCL_ALL_NODES, &third));
        cr_expect_eq(first.bytes_moved, 3 * 2 * 4);
        cr_expect_eq(second.bytes_moved, 3 * 1 * 4);
        cr_expect_eq(third.bytes_moved, 0);
        cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved, 3 * 3 * 4);
        dcl_release(A);
        dcl_release(C);
        dcl_map_release(map);
        dcl_close(cluster);
    }
}

/* A write drops the copies that it touches, and no others. */
Test(replica_on_device, writes_drop_what_they_touch)
{
    dcl_cluster *cluster = open_with("send", 1 << 20);
    dcl_array *A = square(cluster, "block,*"), *B = square(cluster, "block,*"), *C = square(cluster, "block,*");
    int32_t row[SIDE];
    test_count_up(A, 0, 1);
    test_count_up(B, 5, 1);
    int64_t once = add_transposed(cluster, C, A, B, 5, true);
    for (int j = 0; j < SIDE; j++)
        row[j] = 5 + j; /* row 0 as it was, written anew: node 0's */
    dcl_box top = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){1, SIDE});
    TEST_OK(dcl_write(B, &top, row, NULL));
    int64_t again = add_transposed(cluster, C, A, B, 5, true);
    cr_expect(again > 0 && again <= once, "%" PRId64 " of %" PRId64 " bytes", again, once);
    cr_expect_eq(add_transposed(cluster, C, A, B, 5, true), 0);
    TEST_OK(dcl_forall(cluster, "B(i,j) = 24*i + j + 9;", DCL_OUT(B)));
    cr_expect_eq(add_transposed(cluster, C, A, B, 9, true), once);
    TEST_OK(dcl_forall(cluster, "A(i,j) = 24*i + j;", DCL_OUT(A))); /* another array */
    cr_expect_eq(add_transposed(cluster, C, A, B, 9, true), 0);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_close(cluster);
}

/* Nobody asks between the calls: one body makes copies of X and of A, another of B, and ends those of X. */
Test(replica_on_device, copies_that_end_are_made_again)
{
    static const char *const moves[] = {"place", "send"};
    static const char add[] = "C(i,j) = A(j,i) + X(j,i);", take[] = "X(i,j) = B(j,i);";
    for (int m = 0; m < 2; m++) {
        dcl_cluster *cluster = open_with(moves[m], 1 << 20);
        dcl_array *A = square(cluster, "block,*"), *B = square(cluster, "block,*"), *C = square(cluster, "block,*"),
                  *X = square(cluster, "block,*");
        dcl_arg adding[] = {DCL_OUT(C), DCL_IN_KEPT(A), DCL_IN_KEPT(X)};
        dcl_counters planned, before;
        TEST_OK(dcl_forall_n(cluster, add, 3, adding));
        TEST_OK(dcl_forall(cluster, take, DCL_OUT(X), DCL_IN_KEPT(B)));
        TEST_OK(dcl_forall_n(cluster, add, 3, adding));
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, add, 3, adding), DCL_ALL_NODES, &planned));
        cr_expect_eq(planned.bytes_moved, 0, "%s: %" PRId64 " bytes are explained", moves[m], planned.bytes_moved);
        before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(dcl_forall_n(cluster, add, 3, adding));
        cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved, before.bytes_moved);
        dcl_array *all[] = {A, B, C, X};
        for (int n = 0; n < 4; n++)
            dcl_release(all[n]);
        dcl_close(cluster);
    }
}

/* A body may read a copy and write other elements of its box, through views: it is the last one that uses the copy. */
Test(replica_on_device, a_copy_is_used_by_the_body_that_drops_it)
{
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++) {
        dcl_cluster *cluster = open_with(moves[m], 1 << 20);
        dcl_map *map = dcl_map_block(cluster), *dealt = dcl_map_parse(cluster, "cyclic(5)");
        dcl_grid grid = dcl_grid_1d(DCL_INT32, SIDE);
        dcl_array *A = dcl_agile(grid, map), *C = dcl_agile(grid, dealt);
        dcl_array *even = dcl_slice(A, (int64_t[]){0}, (int64_t[]){SIDE / 2}, (int64_t[]){2});
        dcl_array *odd = dcl_slice(A, (int64_t[]){1}, (int64_t[]){SIDE / 2}, (int64_t[]){2});
        int32_t result[SIDE];
        test_count_up(A, 0, 1);
        TEST_OK(dcl_keep(A, true));
        TEST_OK(dcl_forall(cluster, "C(i) = A(i) + A(23 - i);", DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_forall(cluster, "even(i) = 100 + odd(11 - i);", DCL_OUT(even), DCL_IN(odd)));
        TEST_OK(dcl_forall(cluster, "even(i) = even(i) + odd(11 - i);", DCL_INOUT(even), DCL_IN(odd)));
        TEST_OK(dcl_read(A, NULL, result, NULL));
        for (int i = 0; i < SIDE; i++)
            cr_assert_eq(result[i], i % 2 == 0 ? 100 + 2 * (SIDE - 1 - i) : i, "%s: A(%d) is %d", moves[m], i,
                         result[i]);
        dcl_array *all[] = {even, odd, A, C};
        for (int n = 0; n < 4; n++)
            dcl_release(all[n]);
        dcl_map_release(map);
        dcl_map_release(dealt);
        dcl_close(cluster);
    }
}

Test(replica_on_device, within_the_budget)
{
    dcl_cluster *none = open_with("send", 0), *little = open_with("send", 6 * 6 * 4);
    dcl_cluster *clusters[] = {none, little};
    for (int c = 0; c < 2; c++) {
        dcl_array *A = square(clusters[c], "block,*"), *B = square(clusters[c], "block,*");
        dcl_array *C = square(clusters[c], "block,*;tile=6x6");
        test_count_up(A, 0, 1);
        test_count_up(B, 5, 1);
        int64_t once = add_transposed(clusters[c], C, A, B, 5, true);
        int64_t again = add_transposed(clusters[c], C, A, B, 5, true);
        cr_expect(c == 0 ? again == once : again <= once, "%" PRId64 " then %" PRId64, once, again);
        dcl_release(A);
        dcl_release(B);
        dcl_release(C);
        dcl_close(clusters[c]);
    }
}

/* Views follow their array; exchanged arrays exchange their copies. */
Test(replica_on_device, views_and_swaps)
{
    dcl_cluster *cluster = open_with("send", 1 << 20);
    dcl_array *A = square(cluster, "block,*"), *B = square(cluster, "block,*"), *C = square(cluster, "block,*");
    dcl_array *T = dcl_transpose(B);
    dcl_counters planned;
    test_count_up(A, 0, 1);
    test_count_up(B, 5, 1);
    int64_t once = add_transposed(cluster, C, A, B, 5, true);
    dcl_arg args[] = {DCL_OUT(C), DCL_IN_KEPT(T)};
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, "C(i,j) = T(i,j);", 2, args), DCL_ALL_NODES, &planned));
    cr_expect_eq(planned.bytes_moved, 0, "%" PRId64, planned.bytes_moved);
    TEST_OK(dcl_forall_n(cluster, "C(i,j) = T(i,j);", 2, args));
    TEST_OK(dcl_swap(A, B)); /* A counts from 5, and has the copies */
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, "C(i,j) = T(i,j);", 2, args), DCL_ALL_NODES, &planned));
    cr_expect_eq(planned.bytes_moved, once, "%" PRId64 " of %" PRId64, planned.bytes_moved, once);
    TEST_OK(dcl_swap(A, B));
    cr_expect_eq(add_transposed(cluster, C, A, B, 5, true), 0);
    dcl_release(T);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_close(cluster);
}

/* Holders of a replicated array are given what they read, once; others every time. The owner computes what is
 * written. */
Test(replica_on_device, replicated_arrays)
{
    static const struct {
        const char *map;
        int again; /* of 3 nodes that do not own it, how many read over and over */
    } rows[] = {{"replicated", 0}, {"replicated(2)", 2}, {"replicated;nodes=1-2", 2}};
    static const char *const moves[] = {"place", "send"};
    for (int m = 0; m < 2; m++)
        for (int r = 0; r < 3; r++) {
            dcl_cluster *cluster = open_with(moves[m], 0);
            dcl_array *A = square(cluster, "block,*"), *B = square(cluster, rows[r].map);
            dcl_array *C = square(cluster, "block,*");
            test_count_up(A, 0, 1);
            test_count_up(B, 5, 1);
            int64_t quarter = SIDE * SIDE / NODES * 4; /* each node but the owner reads a quarter */
            cr_expect_eq(add_transposed(cluster, C, A, B, 5, false), 3 * quarter, "%s", rows[r].map);
            cr_expect_eq(add_transposed(cluster, C, A, B, 5, false), rows[r].again * quarter, "%s", rows[r].map);
            dcl_counters before = test_counters(cluster, DCL_ALL_NODES);
            TEST_OK(dcl_forall(cluster, "B(i,j) = 24*i + j + 8;", DCL_OUT(B)));
            cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved, before.bytes_moved);
            cr_expect_eq(add_transposed(cluster, C, A, B, 8, false), 3 * quarter, "%s", rows[r].map);
            dcl_release(A);
            dcl_release(B);
            dcl_release(C);
            dcl_close(cluster);
        }
}

/* An operation that fails where it should have made copies leaves none that anybody relies on. */
Test(replica_on_device, nothing_is_kept_of_failed_operations)
{
    dcl_cluster *cluster = open_with("send", 1 << 20);
    dcl_array *A = square(cluster, "block,*"), *B = square(cluster, "block,*"), *C = square(cluster, "block,*");
    dcl_array *D = square(cluster, "block,*");
    test_count_up(A, 0, 1);
    test_count_up(B, 5, 1);
    test_fail(D);
    cr_expect_neq(dcl_forall(cluster, "C(i,j) = D(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(D), DCL_IN_KEPT(B)), DCL_OK);
    dcl_clear_error(cluster);
    int64_t once = add_transposed(cluster, C, A, B, 5, true);
    cr_expect_gt(once, 0);
    cr_expect_eq(add_transposed(cluster, C, A, B, 5, true), 0);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(D);
    dcl_close(cluster);
}

/* Copies that were made before something unrelated failed are made anew, and used again. */
Test(replica_on_device, copies_after_a_failure)
{
    static const char *const maps[] = {"block,*", "replicated"};
    for (int m = 0; m < 2; m++) {
        dcl_cluster *cluster = open_with("send", 1 << 20);
        dcl_array *A = square(cluster, "block,*"), *B = square(cluster, maps[m]), *C = square(cluster, "block,*");
        dcl_map *map = dcl_map_parse(cluster, "block");
        dcl_array *line = dcl_agile(dcl_grid_1d(DCL_INT32, 40), map);
        test_count_up(A, 0, 1);
        test_count_up(B, 5, 1);
        int64_t once = add_transposed(cluster, C, A, B, 5, true);
        cr_expect_eq(add_transposed(cluster, C, A, B, 5, true), 0);
        cr_expect_neq(dcl_load_npy(line, "/nowhere/line.npy"), DCL_OK);
        dcl_clear_error(cluster);
        for (int k = 0; k < 3; k++) {
            int64_t moved = add_transposed(cluster, C, A, B, 5, true);
            cr_expect(moved == 0 || (k == 0 && moved == once), "%s: use %d moved %" PRId64, maps[m], k, moved);
        }
        dcl_release(A);
        dcl_release(B);
        dcl_release(C);
        dcl_release(line);
        dcl_map_release(map);
        dcl_close(cluster);
    }
}

/* What a call declares is remembered with it, also once the call has ended: another declaration is another
 * operation. */
Test(replica_on_device, declared_reads)
{
    dcl_cluster *cluster = open_with("send", 1 << 20);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, 40);
    dcl_array *A = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    static const char body[] = "long at = i > 37 ? i : i + 2; C(i) = A(at);";
    test_count_up(A, 0, 1);
    TEST_OK(dcl_keep(A, true));
    for (int k = 0; k < 4; k++) {
        dcl_arg args[] = {DCL_OUT(C), DCL_IN_HALO(A, 2 + k / 2)};
        dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 2, args), DCL_ALL_NODES, &planned));
        TEST_OK(dcl_forall_n(cluster, body, 2, args));
        int64_t counted = test_counters(cluster, DCL_ALL_NODES).bytes_moved - before.bytes_moved;
        cr_expect_eq(counted, planned.bytes_moved, "call %d moved %" PRId64 "; explained %" PRId64, k, counted,
                     planned.bytes_moved);
        cr_expect(k % 2 == 0 ? counted > 0 : counted == 0, "call %d moved %" PRId64, k, counted);
    }
    test_count_up(A, 1, 1); /* drops all copies; nobody asks between the next two calls */
    TEST_OK(dcl_forall_n(cluster, body, 2, (dcl_arg[]){DCL_OUT(C), DCL_IN_HALO(A, 2)}));
    TEST_OK(dcl_forall_n(cluster, body, 2, (dcl_arg[]){DCL_OUT(C), DCL_IN_HALO(A, 3)}));
    dcl_counters again;
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 2, (dcl_arg[]){DCL_OUT(C), DCL_IN_HALO(A, 3)}),
                             DCL_ALL_NODES, &again));
    cr_expect_eq(again.bytes_moved, 0, "explained %" PRId64, again.bytes_moved);
    dcl_release(A);
    dcl_release(C);
    dcl_map_release(map);
    dcl_close(cluster);
}

Test(replica_on_device, refusals)
{
    TEST_REFUSED(dcl_keep(NULL, true), DCL_ERR_INVALID, "dcl_keep: array is NULL; expected one made by dcl_agile()");
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = square(cluster, "block,*");
    dcl_arg odd = DCL_IN_KEPT(A);
    odd.access = (dcl_access)1000;
    TEST_REFUSED(dcl_forall_n(cluster, "A(i,j) = 1;", 1, &odd), DCL_ERR_INVALID, "has access number");
    dcl_release(A);
    dcl_close(cluster);
}

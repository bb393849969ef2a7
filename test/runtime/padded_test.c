/* test/runtime/padded_test.c - what is staged and kept of rows of 4 KB, which lie padded there, has the values that it should; so have
 * transposed planes whose distance is a multiple of 4 KB. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(padded_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 12, COLUMNS = 1024 };

static int32_t value(int i, int j) { return i * COLUMNS + j; }

/* C reads rows of other nodes, as columns and one by one, and D is written to other nodes. */
static void run(const char *transfer, int call, dcl_array *A, dcl_array *C, dcl_array *D)
{
    static int32_t c[ROWS][COLUMNS], d[ROWS][COLUMNS];
    dcl_array *B = A;
    int rows = ROWS;
    TEST_OK(
        dcl_forall(dcl_cluster_of(A),
                   "int s = 0; for (int k = 0; k < rows; k++) s += A(k,j); C(i,j) = s + 3 * B(11-i,j); D(i,j) = s - i;",
                   DCL_OUT(C), DCL_IN_COLUMNS(A), DCL_IN_KEPT(B), DCL_OUT(D), DCL_VALUE(rows)));
    TEST_OK(dcl_read(C, NULL, c, NULL));
    TEST_OK(dcl_read(D, NULL, d, NULL));
    for (int j = 0; j < COLUMNS; j++) {
        int32_t sum = ROWS * (ROWS - 1) / 2 * COLUMNS + ROWS * j;
        for (int i = 0; i < ROWS; i++) {
            cr_assert_eq(c[i][j], sum + 3 * value(11 - i, j), "%s, call %d: C(%d,%d)", transfer, call, i, j);
            cr_assert_eq(d[i][j], sum - i, "%s, call %d: D(%d,%d)", transfer, call, i, j);
        }
    }
}

Test(padded_on_device, rows_of_4_kb_keep_their_values)
{
    dcl_config config = test_config(3);
    for (int sent = 0; sent < 2; sent++) {
        config.transfer = sent ? "send" : "auto";
        dcl_cluster *cluster = test_open(&config);
        dcl_grid grid = dcl_grid_2d(DCL_INT32, ROWS, COLUMNS);
        dcl_array *A = test_array(cluster, "block,*", grid), *C = test_array(cluster, "block,*", grid),
                  *D = test_array(cluster, "cyclic,*", grid);
        test_count_up(A, 0, 1);
        for (int call = 0; call < 2; call++) /* the second one finds copies */
            run(config.transfer, call, A, C, D);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

enum { PLANES = 100, LINES = 4, LENGTH = 768 /* of 4 bytes: a plane has 12 KB */ };

/* A permutation of axes, in a box whose edges are no multiples of anything. */
Test(padded_on_device, planes_of_4_kb_are_transposed)
{
    static const dcl_box box = {.rank = 3, .start = {1, 3, 5}, .count = {3, 755, 93}, .stride = {1, 1, 1}};
    static float found[LINES][LENGTH][PLANES];
    test_config(2); /* the first call decides how many devices the process has */
    for (int nodes = 1; nodes <= 2; nodes++) {
        dcl_config config = test_config(nodes);
        dcl_cluster *cluster = test_open(&config);
        dcl_array *A = test_array(cluster, "*,block,*", dcl_grid_3d(DCL_FLOAT, PLANES, LINES, LENGTH)),
                  *B = test_array(cluster, "*,*,block", dcl_grid_3d(DCL_FLOAT, LINES, LENGTH, PLANES));
        TEST_OK(dcl_forall(cluster, "A(i,j,k) = (i * 4 + j) * 768 + k;", DCL_OUT(A)));
        TEST_OK(dcl_forall(cluster, "B(i,j,k) = -1;", DCL_OUT(B)));
        TEST_OK(dcl_forall_over(cluster, &box, "B(i,j,k) = A(k,i,j);", DCL_INOUT(B), DCL_IN(A)));
        TEST_OK(dcl_read(B, NULL, found, NULL));
        for (int i = 0; i < LINES; i++)
            for (int j = 0; j < LENGTH; j++)
                for (int k = 0; k < PLANES; k++) {
                    bool inside = i >= 1 && j >= 3 && j < 758 && k >= 5 && k < 98;
                    float right = inside ? (float)((k * LINES + i) * LENGTH + j) : -1;
                    cr_assert_eq(found[i][j][k], right, "%d nodes: B(%d,%d,%d) is %g", nodes, i, j, k,
                                 (double)found[i][j][k]);
                }
        dcl_release(A);
        dcl_release(B);
        TEST_OK(dcl_close(cluster));
    }
}

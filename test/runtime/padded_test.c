/* test/runtime/padded_test.c - what is staged and kept of rows of 4 KB, which lie padded there, has the values that it should. */
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

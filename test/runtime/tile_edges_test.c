/* test/runtime/tile_edges_test.c - tile kernels where they are seldom used: odd grids, sizes and names. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(tile_edges_on_device, .timeout = TEST_SECONDS);

enum { N = 12 };

/* Columns -2..2 of A around columns 0..4 of C: of column 4 only the outermost neighbour is there, not the same index. */
Test(tile_edges_on_device, reads_halos_of_shifted_grids)
{
    enum { ROWS = 4, COLUMNS = 5 };
    static const char *const maps[] = {"rows:hash(2x2)", "block,*;tile=2x1", "*,cyclic"};
    const char *text = "const long r = dcl_item(0), c = dcl_item(1);\n"
                       "int s = 0;\n"
                       "for (long x = max(c - 2, A_low(1)); x < min(c + 3, A_high(1)); x++)\n"
                       "    s = 10 * s + A(r, x);\n"
                       "C(r, c) = s;";
    static const int32_t expected[COLUMNS] = {12345, 2345, 345, 45, 5};
    dcl_cluster *cluster = open_nodes(2);
    for (int m = 0; m < 9; m++) {
        int32_t found[ROWS][COLUMNS];
        dcl_array *C = test_array(cluster, maps[m / 3], dcl_grid_2d(DCL_INT32, ROWS, COLUMNS));
        dcl_array *A =
            test_array(cluster, maps[m % 3], dcl_grid_nd(DCL_INT32, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){0, -2}));
        TEST_OK(dcl_forall(cluster, "A(i,j) = j + 3;", DCL_OUT(A)));
        TEST_OK(dcl_forall_tiles(cluster, text, DCL_OUT(C), DCL_IN_HALO(A, 0, 2)));
        TEST_OK(dcl_read(C, NULL, found, NULL));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                cr_expect_eq(found[i][j], expected[j], "%s, %s: C(%d, %d) is %d", maps[m / 3], maps[m % 3], i, j,
                             found[i][j]);
        dcl_release(A);
        dcl_release(C);
    }
    TEST_OK(dcl_close(cluster));
}

/* More work-groups than a processor's driver can number. On a GPU they would take too long. */
Test(tile_edges_on_device, refuses_too_many_groups)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    static dcl_device_info info[64];
    int devices;
    TEST_OK(dcl_device_list(64, info, &devices));
    if (strcmp(info[0].kind, "cpu") != 0) {
        TEST_OK(dcl_close(cluster));
        cr_skip_test("the first OpenCL device is no processor");
    }
    dcl_array *C = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, N, N));
    TEST_OK(dcl_forall_tiles(cluster, "if (dcl_item(0) < 0) C(0, 0) = 1;", DCL_OUT(C), DCL_ITEMS(65536, 65536)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_UNSUPPORTED,
                 "65536 x 65536 x 1 work-items for one tile, in groups of 1 x 1 x 1; processors take fewer than 2^32");
    dcl_clear_error(cluster);
    TEST_OK(dcl_forall(cluster, "C(i,j) = 0;", DCL_OUT(C)));
    TEST_OK(dcl_wait(cluster));
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* Names that the library has in what it generates are its own: a macro of the prelude may be called as anything else. */
Test(tile_edges_on_device, lives_with_macros_of_the_prelude)
{
    int32_t found[N];
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N));
    TEST_OK(dcl_forall_tiles(cluster, "C(dcl_item(0)) = v + n;", DCL_OUT(C), DCL_VALUE_AS("n", 1),
                             DCL_PRELUDE("#define v 3\n#define n 50\n#define C 60\n#define C_low 70")));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < N; i++)
        cr_expect_eq(found[i], 4, "C(%d) is %d", i, found[i]);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

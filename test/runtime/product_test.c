/* test/runtime/product_test.c - products of matrices with DCL_FAST: OpenBLAS computes those that it supports, with the right
 * arguments; kernels compute the others. The library is that of support/fake_blas; `real` uses OpenBLAS where there is one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/fake_blas/fake_blas.h"
#include "support/nodes.h"

TestSuite(product, .timeout = TEST_SECONDS);

/* All values are small integers, so that every order of summation gives the same. */
enum { ROWS = 40, INNER = 80, COLUMNS = 1024, LAYERS = 3, HIGH = 64, WIDE = 70, DEEP = 65 };

static float a_at(int64_t i, int64_t k) { return (float)((i * 7 + k * 3) % 11 - 5); }
static float b_at(int64_t k, int64_t j) { return (float)((k * 5 + j * 2) % 13 - 6); }

static dcl_cluster *open_with(int nodes, fake_blas *blas)
{
    cr_assert(fake_blas_load(blas), "%s", TEST_FAKE_BLAS);
    return open_nodes(nodes);
}

static void make_factors(dcl_cluster *cluster, const char *map, int64_t rows, dcl_array **A, dcl_array **B,
                         dcl_array **C)
{
    *A = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, rows, INNER));
    *B = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, INNER, COLUMNS));
    *C = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, rows, COLUMNS));
    TEST_OK(dcl_forall(cluster, "X(i,j) = (i * 7 + j * 3) % 11 - 5;", DCL_OUT_AS("X", *A)));
    TEST_OK(dcl_forall(cluster, "X(i,j) = (i * 5 + j * 2) % 13 - 6;", DCL_OUT_AS("X", *B)));
    TEST_OK(dcl_wait(cluster));
}

static dcl_status multiply(dcl_cluster *cluster, dcl_array *C, dcl_array *A, dcl_array *B)
{
    return dcl_reduce(cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT_AS("C", C), DCL_IN_AS("A", A), DCL_IN_AS("B", B),
                      DCL_FAST);
}

static void check_product(dcl_array *C, int64_t rows)
{
    float *found = malloc((size_t)(rows * COLUMNS) * sizeof *found);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (int64_t k = 0; k < INNER; k++)
                sum += a_at(i, k) * b_at(k, j);
            cr_assert_eq(found[i * COLUMNS + j], sum, "C(%d,%d) is %g, expected %g", (int)i, (int)j,
                         (double)found[i * COLUMNS + j], (double)sum);
        }
    free(found);
}

/* Rows are padded, as their pitch would be 4096 bytes. What C contains before, NaN here, does not count. */
Test(product, plain)
{
    fake_blas blas;
    dcl_cluster *cluster = open_with(1, &blas);
    dcl_array *A, *B, *C, *few;
    make_factors(cluster, "block", ROWS, &A, &B, &C);
    TEST_OK(dcl_forall(cluster, "X(i,j) = NAN;", DCL_OUT_AS("X", C)));
    TEST_OK(multiply(cluster, C, A, B));
    check_product(C, ROWS);
    cr_expect_eq(blas.calls(), 1, "%d calls", blas.calls());
    cr_expect_eq(blas.transposed(), 0);
    dcl_array *first = dcl_sub(A, &(dcl_box){.rank = 2, .start = {0, 0}, .count = {2, INNER}, .stride = {1, 1}});
    few = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 2, COLUMNS));
    TEST_OK(multiply(cluster, few, first, B)); /* small: by a kernel */
    check_product(few, 2);
    cr_expect_eq(blas.calls(), 1, "%d calls", blas.calls());
    TEST_OK(dcl_matmul(cluster, C, A, B)); /* without DCL_FAST: by a kernel */
    check_product(C, ROWS);
    cr_expect_eq(blas.calls(), 1, "%d calls", blas.calls());
    dcl_close(cluster);
}

Test(product, maps)
{
    static const char *const maps[] = {"block", "block,*", "*,block", "rows:cyclic(16x512)"};
    fake_blas blas;
    dcl_cluster *cluster = open_with(2, &blas);
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        dcl_array *A, *B, *C;
        int before = blas.calls();
        make_factors(cluster, maps[m], ROWS, &A, &B, &C);
        TEST_OK(multiply(cluster, C, A, B));
        check_product(C, ROWS);
        cr_expect_gt(blas.calls(), before, "%s", maps[m]);
        dcl_release(A);
        dcl_release(B);
        dcl_release(C);
    }
    dcl_close(cluster);
}

/* A product for each i; both factors are stored transposed; scalar factors of several types. */
Test(product, transposed_in_layers)
{
    fake_blas blas;
    dcl_cluster *cluster = open_with(1, &blas);
    dcl_array *A = test_array(cluster, "*", dcl_grid_3d(DCL_DOUBLE, LAYERS, DEEP, HIGH));
    dcl_array *B = test_array(cluster, "*", dcl_grid_3d(DCL_DOUBLE, WIDE, LAYERS, DEEP));
    dcl_array *C = test_array(cluster, "*", dcl_grid_3d(DCL_DOUBLE, LAYERS, HIGH, WIDE));
    static double a[LAYERS][DEEP][HIGH], b[WIDE][LAYERS][DEEP], c[LAYERS][HIGH][WIDE], found[LAYERS][HIGH][WIDE];
    for (int i = 0; i < LAYERS; i++)
        for (int l = 0; l < DEEP; l++) {
            for (int j = 0; j < HIGH; j++)
                a[i][l][j] = (i + 2 * l + 3 * j) % 7 - 3;
            for (int k = 0; k < WIDE; k++)
                b[k][i][l] = (2 * i + l + 5 * k) % 9 - 4;
        }
    for (int i = 0; i < LAYERS; i++)
        for (int j = 0; j < HIGH; j++)
            for (int k = 0; k < WIDE; k++) {
                c[i][j][k] = i + j - k;
                found[i][j][k] = c[i][j][k];
                for (int l = 0; l < DEEP; l++)
                    found[i][j][k] -= 16 * 0.5 * -3 * a[i][l][j] * b[k][i][l];
            }
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(B, NULL, b, NULL));
    TEST_OK(dcl_write(C, NULL, c, NULL));
    const float part = 0.5F;
    const signed char minus = -3;
    TEST_OK(dcl_reduce(cluster, "C(i,j,k) -= 0x10 * part * A(i,l,j) * minus * B(k,i,l);", DCL_INOUT(C), DCL_IN(A),
                       DCL_IN(B), DCL_VALUE(part), DCL_VALUE(minus), DCL_FAST));
    TEST_OK(dcl_read(C, NULL, c, NULL));
    cr_expect_eq(memcmp(c, found, sizeof c), 0, "%g, expected %g", c[1][2][3], found[1][2][3]);
    cr_expect_eq(blas.calls(), LAYERS, "%d calls", blas.calls());
    cr_expect_eq(blas.transposed(), 2 * LAYERS, "%d transposed", blas.transposed());
    dcl_close(cluster);
}

/* A fork waits for the end of a product, because OpenBLAS ends its threads then. */
Test(product, fork_waits)
{
    fake_blas blas;
    dcl_cluster *cluster = open_with(1, &blas);
    dcl_array *A, *B, *C;
    make_factors(cluster, "block", ROWS, &A, &B, &C);
    TEST_OK(multiply(cluster, C, A, B));
    TEST_OK(dcl_wait(cluster));
    blas.slow(200);
    TEST_OK(multiply(cluster, C, A, B));
    while (blas.calls() < 2)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int state;
    pid_t child = fork();
    if (child == 0)
        _exit(blas.runs());
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_expect(WIFEXITED(state) && WEXITSTATUS(state) == 0, "a product was being computed");
    check_product(C, ROWS);
    dcl_close(cluster);
}

/* Worker processes of one host divide the processors. */
Test(product, processes)
{
    char folder[sizeof TEST_FAKE_BLAS] = TEST_FAKE_BLAS, file[] = "/tmp/dcl-product-XXXXXX", noted[64];
    *strrchr(folder, '/') = '\0';
    int descriptor = mkstemp(file);
    cr_assert(descriptor >= 0);
    setenv("LD_LIBRARY_PATH", folder, 1);
    setenv("TEST_BLAS", file, 1);
    dcl_config config;
    TEST_OK(dcl_config_read(&config));
    config.workers = "local:2";
    config.program = TEST_DCL;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A, *B, *C;
    make_factors(cluster, "block,*", ROWS, &A, &B, &C);
    TEST_OK(multiply(cluster, C, A, B));
    check_product(C, ROWS);
    dcl_close(cluster);
    ssize_t calls = read(descriptor, noted, sizeof noted);
    long share = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    cr_expect_eq(calls, 2, "%zd calls", calls);
    for (ssize_t n = 0; n < calls; n++)
        cr_expect_eq(noted[n] - '0', share > 0 ? share : 1, "%d threads", noted[n] - '0');
    close(descriptor);
    unlink(file);
}

Test(product, real)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A, *B, *C;
    make_factors(cluster, "block", ROWS, &A, &B, &C);
    TEST_OK(multiply(cluster, C, A, B));
    check_product(C, ROWS);
    dcl_report *report = dcl_call_report(
        DCL_CALL_REDUCTION(cluster, NULL, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B), DCL_FAST),
        DCL_ALL_NODES);
    cr_assert_not_null(report, "%s", dcl_error());
    cr_expect(strstr(report->method, "OpenBLAS") != NULL, "%s", report->method);
    dcl_report_release(report);
    dcl_close(cluster);
}

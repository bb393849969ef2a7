/* test/runtime/body_test.c - loop bodies over arrays on several nodes, against plain loops. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/opencl.h"
#include "runtime/cluster.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"
#include "worker/peer.h"

TestSuite(body_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 12, COLUMNS = 9 };

static dcl_array *make(dcl_cluster *cluster, dcl_grid grid, const char *map_text)
{
    dcl_map *map = dcl_map_parse(cluster, map_text);
    dcl_array *array = dcl_agile(grid, map);
    cr_assert_not_null(array, "%s: %s", map_text, dcl_error());
    dcl_release(map);
    return array;
}

/* ---- statements, outputs, preludes -------------------------------------------------------------------------------- */

Test(body_on_device, has_statements_preludes_and_outputs_of_other_owners)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_array *A = make(cluster, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), "rows:cyclic(2x2)");
    dcl_array *C = make(cluster, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), "block");
    dcl_array *D = make(cluster, dcl_grid_2d(DCL_FLOAT, COLUMNS, ROWS), "columns:cyclic(1x5)");
    test_count_up(A, 0, 1);
    float scale = 2, c[ROWS][COLUMNS], d[COLUMNS][ROWS];
    TEST_OK(dcl_forall(cluster,
                       "float t = A(i,j) * scale; /* two outputs,\n one read again */\n"
                       "C(i,j) = square(t) + SHIFT;\n"
                       "D(j,i) = C(i,j) - t;",
                       DCL_PRELUDE("#define SHIFT 3"), DCL_OUT(C), DCL_OUT(D), DCL_IN(A), DCL_VALUE(scale),
                       DCL_PRELUDE("float square(float x) { return x * x; }")));
    TEST_OK(dcl_read(C, NULL, c, NULL));
    TEST_OK(dcl_read(D, NULL, d, NULL));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float t = 2.0f * (float)(i * COLUMNS + j);
            cr_assert_eq(c[i][j], t * t + 3, "C(%d,%d) is %g; expected %g", i, j, c[i][j], t * t + 3);
            cr_assert_eq(d[j][i], t * t + 3 - t, "D(%d,%d) is %g; expected %g", j, i, d[j][i], t * t + 3 - t);
        }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* What an output does not write at every index keeps its contents, at its owner, wherever that is. */
Test(body_on_device, writes_a_second_output_where_its_condition_holds)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_array *A = make(cluster, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS), "rows:cyclic(2x2)");
        dcl_array *C = make(cluster, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS), "block");
        dcl_array *D = make(cluster, dcl_grid_2d(DCL_INT32, COLUMNS, ROWS), "columns:cyclic(1x5)");
        test_count_up(A, 0, 1);
        test_count_up(D, 1000, 1);
        int32_t c[ROWS][COLUMNS], d[COLUMNS][ROWS];
        TEST_OK(dcl_forall(cluster, "C(i,j) = A(i,j); if (A(i,j) % 3 == 0) D(j,i) = -A(i,j);", DCL_OUT(C), DCL_OUT(D),
                           DCL_IN(A)));
        TEST_OK(dcl_read(C, NULL, c, NULL));
        TEST_OK(dcl_read(D, NULL, d, NULL));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                int a = i * COLUMNS + j, expected = a % 3 == 0 ? -a : 1000 + j * ROWS + i;
                cr_assert_eq(c[i][j], a, "%s: C(%d,%d) is %d", config.transfer, i, j, c[i][j]);
                cr_assert_eq(d[j][i], expected, "%s: D(%d,%d) is %d; expected %d", config.transfer, j, i, d[j][i],
                             expected);
            }
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* A scalar has the value of the call, whatever becomes of the variable. */
Test(body_on_device, changes_an_array_in_place_by_a_scalar)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_array *C = make(cluster, dcl_grid_1d(DCL_INT32, 100), "cyclic(7)");
    dcl_array *A = make(cluster, dcl_grid_1d(DCL_INT32, 100), "block");
    test_count_up(C, 0, 1000);
    test_count_up(A, 0, 1);
    for (int alpha = 1; alpha <= 10; alpha++)
        TEST_OK(dcl_forall(cluster, "C(i) += A(99 - i) * alpha;", DCL_INOUT(C), DCL_IN(A), DCL_VALUE(alpha)));
    int32_t c[100];
    TEST_OK(dcl_read(C, NULL, c, NULL));
    for (int i = 0; i < 100; i++)
        cr_assert_eq(c[i], 1000 * i + 55 * (99 - i), "C(%d) is %d", i, c[i]);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(body_on_device, takes_names_that_are_not_variables)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *fields[] = {make(cluster, dcl_grid_1d(DCL_INT32, 10), "block"),
                           make(cluster, dcl_grid_1d(DCL_INT32, 10), "block")};
    test_count_up(fields[1], 1, 1);
    TEST_OK(dcl_forall(cluster, TEST_SHIFT, DCL_OUT_AS("C", fields[0]), DCL_IN_AS("A", fields[1]),
                       DCL_VALUE_AS("s", -1), DCL_VALUE_AS("t", 9), DCL_VALUE_AS("u", 100)));
    /* the same by hand, as other languages do */
    dcl_arg args[] = {dcl_arg_array(DCL_ACCESS_OUT, "C", fields[1]), dcl_arg_array(DCL_ACCESS_IN, "A", fields[0]),
                      dcl_arg_signed("s", DCL_INT32, -1), dcl_arg_signed("t", DCL_INT32, 9),
                      dcl_arg_signed("u", DCL_INT32, 1000)};
    TEST_OK(dcl_forall_n(cluster, TEST_SHIFT, 5, args));
    int32_t c[10];
    TEST_OK(dcl_read(fields[1], NULL, c, NULL));
    for (int i = 0; i < 10; i++)
        cr_assert_eq(c[i], 1101 + i, "C(%d) is %d", i, c[i]);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- scalars ------------------------------------------------------------------------------------------------------ */

/* Generated code calls min() and max() only where these names are functions. */
Test(body_on_device, takes_scalars_called_min_and_max)
{
    enum { ROWS = 5, COLUMNS = 7 };
    const float min = 2, max = 4;
    float found[ROWS * COLUMNS], rows[ROWS], high = 0, sum = 0;
    int64_t where[2] = {-1, -1};
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS)),
              *C = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS)),
              *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, ROWS));
    test_count_up(A, 2, 2);
    TEST_OK(dcl_forall(cluster, "C(i,j) = (A(i,j) - min) / (max - min);", DCL_OUT(C), DCL_IN(A), DCL_VALUE(min),
                       DCL_VALUE(max)));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    TEST_OK(dcl_reduce(cluster, "sum += A(i,j) * min; high max= A(i,j) / max;", DCL_RESULT(sum), DCL_RESULT(high),
                       DCL_RESULT_AT(where), DCL_IN(A), DCL_VALUE(min), DCL_VALUE(max)));
    TEST_OK(dcl_reduce(cluster, "y(i) += A(i,j) * max - min;", DCL_OUT(y), DCL_IN(A), DCL_VALUE(min), DCL_VALUE(max)));
    TEST_OK(dcl_read(y, NULL, rows, NULL));
    for (int e = 0; e < ROWS * COLUMNS; e++)
        cr_assert_eq(found[e], (float)e, "element %d is %g", e, (double)found[e]);
    cr_expect(sum == 2520 && high == 17.5F && where[0] == ROWS - 1 && where[1] == COLUMNS - 1, "%g %g", (double)sum,
              (double)high);
    cr_expect(rows[0] == 210 && rows[4] == 1778, "%g %g", (double)rows[0], (double)rows[4]);
    const float one = 1;
    TEST_OK(dcl_fill(A, &one));
    TEST_OK(dcl_reduce(cluster, "y((int)A(i,j)) max= A(i,j) * max - min;", DCL_OUT(y), DCL_IN(A), DCL_VALUE(min),
                       DCL_VALUE(max)));
    TEST_OK(dcl_read(y, NULL, rows, NULL));
    cr_expect_eq(rows[1], 2, "%g", (double)rows[1]);
    dcl_release(y);
    dcl_release(C);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

Test(body_on_device, takes_scalars_of_every_type)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *L = make(cluster, dcl_grid_1d(DCL_INT64, 12), "cyclic"),
              *D = make(cluster, dcl_grid_1d(DCL_DOUBLE, 12), "block");
    bool vb = true;
    char vc = 'x';
    signed char vsc = -100;
    short vs = -30000;
    int vi = -2000000000;
    long vl = INT64_MIN;
    long long vll = INT64_MAX;
    unsigned char vuc = 200;
    unsigned short vus = 60000;
    unsigned vu = 4000000000;
    unsigned long vul = UINT64_MAX;
    unsigned long long vull = UINT64_C(1) << 63;
    float vf = 0.1f;
    double vd = 0.1;
    TEST_OK(dcl_forall(
        cluster,
        "L(i) = i == 0 ? vb : i == 1 ? vc : i == 2 ? vsc : i == 3 ? vs : i == 4 ? vi : i == 5 ? vl : i == 6 ? vll "
        ": i == 7 ? vuc : i == 8 ? vus : i == 9 ? vu : i == 10 ? as_long(vul) : as_long(vull);\n"
        "D(i) = i == 0 ? (double)vf : i == 1 ? vd : i == 2 ? (double)vul : i == 3 ? (double)vu : 0.0;",
        DCL_OUT(L), DCL_OUT(D), DCL_VALUE(vb), DCL_VALUE(vc), DCL_VALUE(vsc), DCL_VALUE(vs), DCL_VALUE(vi),
        DCL_VALUE(vl), DCL_VALUE(vll), DCL_VALUE(vuc), DCL_VALUE(vus), DCL_VALUE(vu), DCL_VALUE(vul), DCL_VALUE(vull),
        DCL_VALUE(vf), DCL_VALUE(vd)));
    int64_t l[12],
        expected[] = {1, 'x', -100, -30000, -2000000000, INT64_MIN, INT64_MAX, 200, 60000, 4000000000, -1, INT64_MIN};
    double d[12];
    TEST_OK(dcl_read(L, NULL, l, NULL));
    TEST_OK(dcl_read(D, NULL, d, NULL));
    for (int i = 0; i < 12; i++)
        cr_expect_eq(l[i], expected[i], "L(%d) is %" PRId64 "; expected %" PRId64, i, l[i], expected[i]);
    cr_expect_eq(d[0], (double)0.1f);
    cr_expect_eq(d[1], 0.1);
    cr_expect_eq(d[2], 0x1p64);
    cr_expect_eq(d[3], 4e9);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- parts of the index space ------------------------------------------------------------------------------------- */

Test(body_on_device, runs_over_a_box)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_grid grid = dcl_grid_nd(DCL_INT32, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){-4, 3});
    dcl_array *C = make(cluster, grid, "rows:cyclic(2x2)");
    dcl_grid turned = dcl_grid_nd(DCL_INT32, 2, (int64_t[]){COLUMNS, ROWS}, (int64_t[]){3, -4});
    dcl_array *D = make(cluster, turned, "block");
    test_count_up(C, 0, 0);
    test_count_up(D, 0, 0);
    dcl_box box = dcl_box_nd(2, (int64_t[]){-3, 4}, (int64_t[]){4, 3});
    box.stride[0] = 3;
    box.stride[1] = 2; /* rows -3 0 3 6, columns 4 6 8 */
    TEST_OK(dcl_forall_over(cluster, &box, "C(j,i) = 100 + 10 * (int)j + (int)i; D(i,j) = C(j,i);", DCL_OUT(C),
                            DCL_OUT(D)));
    int32_t c[ROWS][COLUMNS], d[COLUMNS][ROWS];
    TEST_OK(dcl_read(C, NULL, c, NULL));
    TEST_OK(dcl_read(D, NULL, d, NULL));
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            bool inside = row % 3 == 1 && column % 2 == 1 && column < 6;
            int expected = inside ? 100 + 10 * (row - 4) + column + 3 : 0;
            cr_assert_eq(c[row][column], expected, "C(%d,%d) is %d; expected %d", row - 4, column + 3, c[row][column],
                         expected);
            cr_assert_eq(d[column][row], expected, "D(%d,%d) is %d; expected %d", column + 3, row - 4, d[column][row],
                         expected);
        }
    dcl_box none = dcl_box_nd(2, (int64_t[]){-4, 3}, (int64_t[]){0, 3});
    TEST_OK(dcl_forall_over(cluster, &none, "C(j,i) = 1;", DCL_OUT(C)));
    TEST_OK(dcl_read(C, NULL, d, NULL));
    cr_expect_arr_eq(d, c, sizeof c);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- subscripts --------------------------------------------------------------------------------------------------- */

Test(body_on_device, reads_at_affine_subscripts)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_array *C = make(cluster, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS), "rows:cyclic(3x2)");
        dcl_array *A = make(cluster, dcl_grid_2d(DCL_INT32, 2 * ROWS + 1, 30), "block");
        dcl_array *v = make(cluster, dcl_grid_1d(DCL_INT32, ROWS), "cyclic");
        dcl_array *w = make(cluster, dcl_grid_nd(DCL_INT32, 1, (int64_t[]){40}, (int64_t[]){-3}), "rows:block");
        test_count_up(A, 0, 1);
        test_count_up(v, 0, 1000);
        test_count_up(w, 0, 100000);
        int s = 2;
        short t = -3;
        /* strided by a scalar, mirrored, broadcast, constant, and two indices in one subscript */
        TEST_OK(dcl_forall(cluster, "C(i,j) = A(s*i + 1, 29 - j) + v(11 - i) + A(4, 7) + w(i + 2*j + t);", DCL_OUT(C),
                           DCL_IN(A), DCL_IN(v), DCL_IN(w), DCL_VALUE(s), DCL_VALUE(t)));
        int32_t c[ROWS][COLUMNS];
        TEST_OK(dcl_read(C, NULL, c, NULL));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                int expected = (2 * i + 1) * 30 + 29 - j + (11 - i) * 1000 + 4 * 30 + 7 + (i + 2 * j) * 100000;
                cr_assert_eq(c[i][j], expected, "%s: C(%d,%d) is %d; expected %d", config.transfer, i, j, c[i][j],
                             expected);
            }
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

Test(body_on_device, reads_what_it_declares_to_read)
{
    enum { N = 10 };
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_array *A = make(cluster, dcl_grid_2d(DCL_INT32, N, 8), "rows:cyclic(2x3)");
        dcl_array *B = make(cluster, dcl_grid_2d(DCL_INT32, 8, N), "block");
        dcl_array *C = make(cluster, dcl_grid_2d(DCL_INT32, N, N), "columns:cyclic(3x3)");
        dcl_array *g = make(cluster, dcl_grid_nd(DCL_INT32, 1, (int64_t[]){50}, (int64_t[]){-5}), "cyclic");
        test_count_up(A, 1, 1);
        test_count_up(B, 2, 3);
        test_count_up(g, 0, 7);
        int n = 8;
        TEST_OK(dcl_forall(
            cluster, "int s = 0; for (int k = 0; k < n; k++) s += A(i,k) * B(k,j);\nC(i,j) = s + g((i * j) % 45 - 5);",
            DCL_OUT(C), DCL_IN_ROWS(A), DCL_IN_COLUMNS(B), DCL_IN_ALL(g), DCL_VALUE(n)));
        int32_t c[N][N];
        TEST_OK(dcl_read(C, NULL, c, NULL));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int expected = (i * j) % 45 * 7;
                for (int k = 0; k < 8; k++)
                    expected += (1 + i * 8 + k) * (2 + 3 * (k * N + j));
                cr_assert_eq(c[i][j], expected, "%s: C(%d,%d) is %d; expected %d", config.transfer, i, j, c[i][j],
                             expected);
            }
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

Test(body_on_device, has_up_to_eight_indices)
{
    static const int64_t extent[DCL_MAX_RANK] = {3, 2, 2, 1, 3, 2, 2, 4}, back[DCL_MAX_RANK] = {4, 2, 2, 3, 1, 2, 2, 3};
    enum { COUNT = 3 * 2 * 2 * 1 * 3 * 2 * 2 * 4 };
    dcl_cluster *cluster = open_nodes(3);
    dcl_array *A = make(cluster, dcl_grid_nd(DCL_INT32, 8, back, NULL), "rows:cyclic"),
              *C = make(cluster, dcl_grid_nd(DCL_INT32, 8, extent, NULL), "block");
    test_count_up(A, 0, 1);
    TEST_OK(dcl_forall(cluster, "C(i,j,k,l,m,n,o,p) = A(p,o,n,m,l,k,j,i);", DCL_OUT(C), DCL_IN(A)));
    int32_t c[COUNT];
    TEST_OK(dcl_read(C, NULL, c, NULL));
    for (int e = 0; e < COUNT; e++) {
        int64_t rest = e, index[8], expected = 0;
        for (int d = 7; d >= 0; d--) {
            index[d] = rest % extent[d];
            rest /= extent[d];
        }
        for (int d = 0; d < 8; d++)
            expected = expected * back[d] + index[7 - d];
        cr_assert_eq(c[e], expected, "element %d is %d; expected %" PRId64, e, c[e], expected);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- compiling ---------------------------------------------------------------------------------------------------- */

static void expect_built(dcl_cluster *cluster, int64_t expected)
{
    for (int n = 0; n < dcl_node_count(cluster); n++) {
        int64_t built = test_counters(cluster, n).kernels_built;
        cr_expect_eq(built, expected, "node %d has built %" PRId64 " programs; expected %" PRId64, n, built, expected);
    }
}

/* On every device that runs it. */
Test(body_on_device, is_compiled_once)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_array *A = make(cluster, dcl_grid_1d(DCL_INT32, 90), "block"),
              *C = make(cluster, dcl_grid_1d(DCL_INT32, 90), "block");
    dcl_array *P = make(cluster, dcl_grid_1d(DCL_INT32, 7), "cyclic"),
              *Q = make(cluster, dcl_grid_1d(DCL_INT32, 9), "rows:block");
    for (int u = 0; u < 3; u++) {
        TEST_OK(test_shift(C, A, 1, 0, u));
        TEST_OK(test_shift(P, Q, -1, 8, u)); /* other grids, maps and values */
    }
    expect_built(cluster, 1);
    dcl_array *F = make(cluster, dcl_grid_1d(DCL_FLOAT, 90), "block");
    TEST_OK(dcl_forall(cluster, TEST_SHIFT, DCL_OUT(C), DCL_IN_AS("A", F), DCL_VALUE_AS("s", 1), DCL_VALUE_AS("t", 0),
                       DCL_VALUE_AS("u", 0))); /* another type */
    expect_built(cluster, 2);
    TEST_OK(test_shift(C, A, 1, 0, 0));
    expect_built(cluster, 2);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* What the compiler could not do for a moment says nothing about the body: it is tried again at the next call. */
Test(body_on_device, is_tried_again_after_the_compiler_failed)
{
    fake_opencl fake = {0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 8));
    int32_t found[8], three = 3;
    TEST_OK(dcl_fill(C, &three));
    TEST_OK(dcl_wait(cluster));
    fake.plan("fail clBuildProgram 1+ -11");
    for (int n = 0; n < 2; n++)
        TEST_REFUSED(dcl_forall(cluster, "C(i) = C(i) + 4;", DCL_INOUT(C)), DCL_ERR_DEVICE, "at the moment");
    fake.plan(NULL);
    dcl_clear_error(cluster);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_expect_eq(found[7], 3);
    TEST_OK(dcl_forall(cluster, "C(i) = C(i) + 4;", DCL_INOUT(C)));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_expect_eq(found[7], 7);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* Sanitizers keep what was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_IS_GIVEN_BACK = 0 };
#else
enum { MEMORY_IS_GIVEN_BACK = 1 };
#endif

static long resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Programs of bodies that were not used for long are given back, and built again. A few at a time, as they compile slowly. */
Test(body_on_device, programs_are_limited_by_bytes)
{
    enum { BODIES = 24, MOST_PROGRAMS = 4 };
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 8));
    dcli_device *device = TEST_INSIDE(cluster)->worker[0]->as_node->device;
    device->most_program_bytes = (size_t)MOST_PROGRAMS << 20;
    long before = 0;
    for (int round = 0; round < 2; round++)
        for (int n = 0; n < BODIES; n++) {
            char body[40];
            int32_t found[8];
            snprintf(body, sizeof body, "C(i) = i + %d;", 1000 + n);
            TEST_OK(dcl_forall(cluster, body, DCL_OUT(C)));
            TEST_OK(dcl_read(C, NULL, found, NULL));
            cr_expect_eq(found[7], 1007 + n);
            cr_expect_leq(device->program_bytes, (size_t)(MOST_PROGRAMS + 2) << 20, "round %d, body %d: %zu bytes",
                          round, n, device->program_bytes);
            if (round == 0 && n == MOST_PROGRAMS)
                before = resident_kb();
        }
    if (MEMORY_IS_GIVEN_BACK)
        cr_expect_lt(resident_kb() - before, 30L << 10, "%ld KB more", resident_kb() - before);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

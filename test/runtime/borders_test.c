/* test/runtime/borders_test.c - bodies that read elements of other nodes, on devices with memory of their own: own elements are
 * computed in launches of their own, and elements arrive while kernels of earlier batches run. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(borders_on_device, .timeout = TEST_SECONDS);

enum { SIDE = 120, NODES = 3 };

static float a_at(int64_t i, int64_t j) { return (float)((i * 7 + j * 13) % 101); }
static float b_at(int64_t i, int64_t j) { return (float)((i * 3 + j * 5) % 97); }

static bool is_inside(int64_t i, int64_t j) { return i > 1 && j > 0 && i < SIDE - 3 && j < SIDE - 1; }

static int64_t nearest(int64_t index) { return index < 0 ? 0 : index < SIDE ? index : SIDE - 1; }

static const char *const bodies[] = {
    "C(i,j) = A(i,j) + B(j,i);",
    "C(i,j) = i > 1 && j > 0 && i < 117 && j < 119 ? A(i-2,j) + A(i+3,j) * 2 + A(i,j-1) + A(i,j+1) : B(i,j);",
    "C(i,j) = A(clamp(i-3,0,119),clamp(j+2,0,119)) + B(i,j);"};

/* What body n stores at (i, j). */
static float expected(int n, int64_t i, int64_t j)
{
    if (n == 0)
        return a_at(i, j) + b_at(j, i);
    if (n == 1)
        return is_inside(i, j) ? a_at(i - 2, j) + a_at(i + 3, j) * 2 + a_at(i, j - 1) + a_at(i, j + 1) : b_at(i, j);
    return a_at(nearest(i - 3), nearest(j + 2)) + b_at(i, j);
}

struct border_case {
    char map[24], transfer[8], plan[100];
};

ParameterizedTestParameters(borders_on_device, have_the_values_of_loops)
{
    static struct border_case cases[] = {
        {"block,*", "auto", "apart;gpu"},
        {"block,*", "send", "apart;gpu"},
        {"*,block", "auto", "apart;gpu"},
        {"block,block", "slots", "apart;gpu"},
        {"rows:cyclic(20x30)", "auto", "apart;gpu"},
        {"block,*", "auto", "apart;gpu;takes dcl_ 4"},
        {"block,*", "auto", "apart;gpu;late clEnqueueWriteBuffer 1+ 3;late clEnqueueWriteBufferRect 1+ 3"},
    };
    return cr_make_param_array(struct border_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct border_case *c, borders_on_device, have_the_values_of_loops)
{
    fake_opencl fake;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    fake.plan(c->plan);
    dcl_config config = test_config(NODES);
    config.transfer = c->transfer;
    config.tile_bytes = 4096; /* several batches of own elements, and several that wait for others */
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    dcl_array *A = test_array(cluster, c->map, grid), *B = test_array(cluster, c->map, grid),
              *C = test_array(cluster, c->map, grid);
    TEST_OK(dcl_forall(cluster, "A(i,j) = (i * 7 + j * 13) % 101;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, "B(i,j) = (i * 3 + j * 5) % 97;", DCL_OUT(B)));
    for (int n = 0; n < 3; n++) {
        static float found[SIDE * SIDE];
        int wrong = 0;
        TEST_OK(dcl_forall(cluster, bodies[n], DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
        TEST_OK(dcl_read(C, NULL, found, NULL));
        for (int64_t i = 0; i < SIDE; i++)
            for (int64_t j = 0; j < SIDE; j++)
                wrong += found[i * SIDE + j] != expected(n, i, j);
        cr_expect_eq(wrong, 0, "%s, %s, %s: %d elements of body %d", c->map, c->transfer, c->plan, wrong, n);
    }
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    fake.plan(NULL);
    TEST_OK(dcl_close(cluster));
}

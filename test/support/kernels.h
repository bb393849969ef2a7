/* support/kernels.h - loop nests: kernels of linear algebra and stencils, as texts and as C functions. They are those of L.-N. Pouchet et al.,
 * PolyBench/C, a product of polynomials and a blur of three channels, written down from their definitions. */
#ifndef DCL_TEST_KERNELS_H
#define DCL_TEST_KERNELS_H

#include "loop/tree.h"

enum {
    TEST_KERNEL_N = 14, /* values of n, m, l and steps in the texts */
    TEST_KERNEL_M = 11,
    TEST_KERNEL_L = 9,
    TEST_KERNEL_STEPS = 3,
    TEST_KERNEL_ARRAYS = 9, /* most arrays of a kernel; most elements of an array */
    TEST_KERNEL_ELEMENTS = TEST_KERNEL_N * TEST_KERNEL_N * TEST_KERNEL_N
};

struct test_kernel_array {
    const char *name;
    int rank, extent[3];
    dcl_access access;
};

struct test_kernel {
    const char *name, *text;
    void (*run)(double *p[], int n, int m, int l, int steps, double alpha, double beta);
    struct test_kernel_array array[TEST_KERNEL_ARRAYS];
    bool warned; /* something in it runs in order, which is said in the log */
};

extern const struct test_kernel test_kernels[];
extern const int test_kernel_count;

int test_kernel_elements(const struct test_kernel_array *array);
/** Describe the arguments of a kernel: its arrays; n, m, l, steps, alpha and beta.
 *  @param names_out  [TEST_KERNEL_ARRAYS + 6]
 *  @return their number. */
int test_kernel_names(const struct test_kernel *kernel, dcli_loops_name names_out[]);

#endif

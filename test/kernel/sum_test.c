/* test/kernel/sum_test.c - sums that do not depend on the order of their summands, here and on the device. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/cl.h"
#include "kernel/device.h"
#include "kernel/sum.h"

/* ---- random numbers ------------------------------------------------------------------------------------------------ */

static uint64_t state = 1;

static uint64_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 11;
}

/* A number with 53 random bits and an exponent between two bounds. */
static double draw_number(int least, int most)
{
    double magnitude =
        ldexp((double)(draw() | UINT64_C(1) << 52), least - 52 + (int)(draw() % (uint64_t)(most - least + 1)));
    return draw() % 2 == 0 ? magnitude : -magnitude;
}

static dcli_sum sum_of(int64_t count, const double numbers[])
{
    dcli_sum sum = (dcli_sum){0};
    for (int64_t n = 0; n < count; n++)
        dcli_sum_add(&sum, numbers[n]);
    return sum;
}

static void expect_same(const dcli_sum *a, const dcli_sum *b, const char *what)
{
    cr_expect(memcmp(a, b, sizeof *a) == 0,
              "%s: top %lld, seen %lld, %lld %lld, %lld %lld; expected %lld, %lld, %lld %lld, %lld %lld", what,
              (long long)a->top, (long long)a->seen, (long long)a->high[0], (long long)a->low[0], (long long)a->high[1],
              (long long)a->low[1], (long long)b->top, (long long)b->seen, (long long)b->high[0], (long long)b->low[0],
              (long long)b->high[1], (long long)b->low[1]);
}

/* ---- here ------------------------------------------------------------------------------------------------------------ */

struct sum_case {
    char what[48];
    int count;
    double number[6];
    dcl_type type;
    double sum;
};

ParameterizedTestParameters(kernel_sum, rounded)
{
    static struct sum_case cases[] = {
        {"nothing", 0, {0}, DCL_DOUBLE, 0},
        {"zeros of both signs", 2, {-0.0, -0.0}, DCL_DOUBLE, 0},
        {"one number", 1, {0.1}, DCL_DOUBLE, 0.1},
        {"the least number", 1, {-0x1p-1074}, DCL_DOUBLE, -0x1p-1074},
        {"the largest number", 1, {DBL_MAX}, DCL_DOUBLE, DBL_MAX},
        {"beyond the largest", 2, {DBL_MAX, DBL_MAX}, DCL_DOUBLE, INFINITY},
        {"beyond, and back", 4, {DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX}, DCL_DOUBLE, 0},
        {"cancelled", 3, {1e15, 1, -1e15}, DCL_DOUBLE, 1},
        {"too small beside the largest", 3, {0x1p200, 1, -0x1p200}, DCL_DOUBLE, 0},
        {"a tie goes to even", 2, {0x1p53, 1}, DCL_DOUBLE, 0x1p53},
        {"a tie goes to even, up", 2, {0x1p53 + 2, 1}, DCL_DOUBLE, 0x1p53 + 4},
        {"above a tie", 3, {0x1p48, 0x1p-5, 0x1p-50}, DCL_DOUBLE, 0x1p48 + 0x1p-4},
        {"below a negative tie", 3, {-0x1p48 - 0x1p-4, -0x1p-5, 0x1p-50}, DCL_DOUBLE, -0x1p48 - 0x1p-4},
        {"above a tie, float", 3, {0x1p24, 1, 0x1p-40}, DCL_FLOAT, 0x1p24 + 2},
        {"rounded once", 3, {0x1p24, 1, 0x1p-50}, DCL_FLOAT, 0x1p24 + 2},
        {"beyond float", 2, {FLT_MAX, FLT_MAX}, DCL_FLOAT, INFINITY},
        {"denormal float", 1, {0x1.8p-149}, DCL_FLOAT, 0x1p-148},
        {"half", 2, {2048, 1}, DCL_HALF, 2048},
        {"beyond half", 2, {-65504, -16}, DCL_HALF, -INFINITY},
        {"one infinity", 3, {1, -INFINITY, 2}, DCL_DOUBLE, -INFINITY},
        {"both infinities", 2, {INFINITY, -INFINITY}, DCL_FLOAT, NAN},
        {"not a number", 2, {NAN, INFINITY}, DCL_DOUBLE, NAN},
    };
    return cr_make_param_array(struct sum_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct sum_case *c, kernel_sum, rounded)
{
    dcli_sum sum = sum_of(c->count, c->number);
    double found = dcli_sum_round(&sum, c->type);
    cr_expect(dcli_sum_is_valid(&sum), "%s", c->what);
    cr_expect(isnan(c->sum) ? isnan(found) : found == c->sum && signbit(found) == signbit(c->sum),
              "%s: %a, expected %a", c->what, found, c->sum);
}

enum { MANY = 3000, PARTS = 7 };

static void shuffle(int64_t count, double numbers[])
{
    for (int64_t n = count - 1; n > 0; n--) {
        int64_t m = (int64_t)(draw() % (uint64_t)(n + 1));
        double number = numbers[n];
        numbers[n] = numbers[m];
        numbers[m] = number;
    }
}

/* The sum by parts of random sizes, merged in random order. */
static dcli_sum sum_by_parts(int64_t count, const double numbers[])
{
    dcli_sum part[PARTS], sum;
    for (int p = 0; p < PARTS; p++)
        part[p] = (dcli_sum){0};
    for (int64_t n = 0; n < count; n++)
        dcli_sum_add(&part[draw() % PARTS], numbers[n]);
    int first = (int)(draw() % PARTS);
    sum = part[first];
    for (int p = 1; p < PARTS; p++)
        dcli_sum_merge(&sum, &part[(first + p) % PARTS]);
    return sum;
}

struct range_case {
    char what[32];
    int least, most; /* exponents */
};

ParameterizedTestParameters(kernel_sum, any_order)
{
    static struct range_case cases[] = {
        {"alike", 0, 3},          {"floats", -149, 127}, {"within a bin", -10, 35}, {"denormal", -1060, -1022},
        {"very large", 960, 990}, {"all", -1022, 1000},  {"small", -1022, -890},
    };
    return cr_make_param_array(struct range_case, cases, sizeof cases / sizeof cases[0]);
}

/* The words of a sum are the same for every order and partition, and merging them is associative. */
ParameterizedTest(struct range_case *c, kernel_sum, any_order)
{
    static double numbers[MANY];
    state = (uint64_t)(c->least + 5000);
    for (int round = 0; round < 10; round++) {
        for (int n = 0; n < MANY; n++)
            numbers[n] = n % 17 == 0 ? 0 : draw_number(c->least, c->most);
        dcli_sum first = sum_of(MANY, numbers), parts = sum_by_parts(MANY, numbers);
        expect_same(&parts, &first, c->what);
        shuffle(MANY, numbers);
        dcli_sum other = sum_of(MANY, numbers);
        expect_same(&other, &first, c->what);
    }
}

__extension__ typedef __float128 quad;

/* With exponents close together nothing is dropped: the sum is exact, and rounded once. 113 bits hold it, too. */
Test(kernel_sum, exact)
{
    for (int round = 0; round < 200; round++) {
        quad exact = 0;
        dcli_sum sum = (dcli_sum){0};
        for (int n = 0; n < 500; n++) {
            double number = draw_number(-20, 20);
            exact += number;
            dcli_sum_add(&sum, number);
        }
        cr_expect(dcli_sum_round(&sum, DCL_DOUBLE) == (double)exact, "%a, expected %a",
                  dcli_sum_round(&sum, DCL_DOUBLE), (double)exact);
        cr_expect(dcli_sum_round(&sum, DCL_FLOAT) == (float)exact);
    }
}

/* Many merges carry into the high words. */
Test(kernel_sum, carries)
{
    dcli_sum sum = (dcli_sum){0};
    for (int n = 0; n < 3; n++)
        dcli_sum_add(&sum, 0x1.fffffffffffp48);
    for (int n = 0; n < 60; n++) { /* times 2^60 */
        dcli_sum twice = sum;
        dcli_sum_merge(&sum, &twice);
    }
    cr_expect_eq(dcli_sum_round(&sum, DCL_DOUBLE), 3 * 0x1.fffffffffffp48 * 0x1p60);
}

struct invalid_case {
    char what[32];
    dcli_sum sum;
};

ParameterizedTestParameters(kernel_sum, refused)
{
    static struct invalid_case cases[] = {
        {"top too high", {.top = 44}},
        {"top negative", {.top = -1}},
        {"unknown special", {.top = 1, .seen = 8}},
        {"low word negative", {.top = 1, .low = {-1, 0}}},
        {"low word too large", {.top = 1, .low = {0, INT64_C(1) << 50}}},
        {"units of no bin", {.top = 0, .high = {1, 0}}},
    };
    return cr_make_param_array(struct invalid_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct invalid_case *c, kernel_sum, refused)
{
    cr_expect_not(dcli_sum_is_valid(&c->sum), "%s", c->what);
}

/* ---- on the device ---------------------------------------------------------------------------------------------------- */

/* Sum the numbers on the device, as a type, in blocks of at most `most`, each as a run if that is possible.
 * @param runs_out  how many runs were added. */
static dcli_sum sum_on_device(test_device *device, bool single, int64_t count, const double numbers[], int most,
                              int *runs_out)
{
    static double values[MANY + 1024];
    static float singles[MANY + 1024];
    for (int64_t n = 0; n < count; n++) {
        values[n] = numbers[n];
        singles[n] = (float)numbers[n];
    }
    dcli_text text = {0};
    dcli_text_put(&text, "#pragma OPENCL FP_CONTRACT OFF\n%s%s%s#define dcl_T %s\n#define dcl_I %s\n%s", dcli_cl_min,
                  dcli_cl_names, dcli_cl_sum, single ? "float" : "double", single ? "uint" : "ulong", dcli_cl_sum_cpu);
    dcli_text_put(&text,
                  "__kernel void run(__global struct dcl_sum *out, __global const dcl_T *in, __global int *size)\n{\n"
                  "    struct dcl_sum s = *out;\n"
                  "    for (int at = 0, n; at < size[0]; at += n) {\n"
                  "        dcl_T v[1024];\n"
                  "        n = min(size[1], size[0] - at);\n"
                  "        struct DCL_OF(dcl_run_) run = DCL_OF(dcl_run_begin_)(&s);\n"
                  "        for (int t = 0; t < n; t++)\n"
                  "            DCL_OF(dcl_run_add_)(&run, in[at + t]);\n"
                  "        if (DCL_OF(dcl_run_end_)(&s, &run, n) == DCL_RUN_ADDED) {\n"
                  "            size[2]++;\n"
                  "            continue;\n"
                  "        }\n"
                  "        for (int t = 0; t < (n + 7) / 8 * 8; t++)\n"
                  "            v[t] = t < n ? in[at + t] : 0;\n"
                  "        DCL_OF(dcl_sum_)(&s, v, (n + 7) / 8 * 8);\n"
                  "    }\n"
                  "    *out = s;\n}\n");
    char *source = dcli_text_take(&text);
    cr_assert_not_null(source);
    int32_t size[3] = {(int32_t)count, most, 0};
    dcli_sum sum = (dcli_sum){0};
    test_device_run(device, source, "run", 3,
                    (test_buffer[]){{&sum, sizeof sum},
                                    {single ? (void *)singles : (void *)values,
                                     (size_t)count * (single ? sizeof(float) : sizeof(double))},
                                    {size, sizeof size}});
    dcli_free(source);
    *runs_out = size[2];
    return sum;
}

struct device_case {
    char what[32];
    int least, most; /* exponents */
    bool single, special;
    int block, runs; /* of so many blocks at least, runs are added */
};

ParameterizedTestParameters(kernel_sum, device)
{
    static struct device_case cases[] = {
        {"double", -3, 3, false, false, 1024, MANY / 1024},
        {"float", -3, 3, true, false, 1024, MANY / 1024},
        {"double, all", -1060, 1000, false, false, 1000, 1},
        {"float, all", -149, 127, true, false, 333, 0},
        {"float, different", 0, 18, true, false, 1024, MANY / 1024},
        {"float, too different", -24, 17, true, false, 1024, 0},
        {"float, large units", 14, 20, true, false, 1024, 0},
        {"float, of two bins", 45, 55, true, false, 64, 1},
        {"float, small", -60, -44, true, false, 64, 1},
        {"denormal", -1070, -1021, false, false, 1024, 1},
        {"very large", 900, 1000, false, false, 8, 1},
        {"double, specials", -3, 3, false, true, 64, 1},
        {"float, specials", -3, 3, true, true, 1024, 1},
    };
    return cr_make_param_array(struct device_case, cases, sizeof cases / sizeof cases[0]);
}

/* Kernels add in blocks, by vectors, and find the same words. */
ParameterizedTest(struct device_case *c, kernel_sum, device)
{
    static double numbers[MANY];
    test_device *device = test_device_open();
    if (device == NULL || test_device_is_gpu(device))
        cr_skip_test("no OpenCL device that is a processor");
    state = (uint64_t)(c->most + 3000);
    for (int n = 0; n < MANY; n++) {
        numbers[n] = n % 13 == 0 ? 0 : draw_number(c->least, c->most - (n < MANY / 2 ? (c->most - c->least) / 2 : 0));
        if (c->special && n % 1001 == 7)
            numbers[n] = n < 1000 ? INFINITY : n < 2000 ? -INFINITY : NAN;
        if (c->single)
            numbers[n] = (float)numbers[n];
    }
    int runs;
    dcli_sum found = sum_on_device(device, c->single, MANY, numbers, c->block, &runs), expected = sum_of(MANY, numbers);
    expect_same(&found, &expected, c->what);
    cr_expect_geq(runs, c->runs, "%s: %d of %d blocks", c->what, runs, (MANY + c->block - 1) / c->block);
    test_device_close(device);
}

/* test/kernel/reduction_test.c - bodies that reduce: how they are parsed, and their kernels compared with plain C loops. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kernel/device.h"
#include "kernel/fold.h"
#include "kernel/single.h"
#include "kernel/spec.h"
#include "kernel/sum.h"

/* ---- parsing ----------------------------------------------------------------------------------------------------------- */

struct parse_case {
    char spec[64], text[96];
    char
        found[96]; /* "index names by loop axis; the array whose owners compute; operators", or a part of the refusal */
    bool refused;
};

static const char *const folds[] = {"sum", "product", "min", "max", "and", "or", "xor", "any", "all"};

static void describe(const dcli_body *body, char *out, size_t capacity)
{
    int at = 0;
    for (int m = 0; m < body->space_rank; m++)
        at += snprintf(out + at, capacity - (size_t)at, "%c", 'i' + body->index_of_axis[m]);
    at += snprintf(out + at, capacity - (size_t)at, " %s", body->params[body->owner].name);
    for (int r = 0; r < body->result_count; r++)
        at += snprintf(out + at, capacity - (size_t)at, " %s", folds[body->result[r].fold]);
}

ParameterizedTestParameters(kernel_reduction, parsed)
{
    static struct parse_case cases[] = {
        {"result s, in A 2", "s += A(i,j);", "ij A sum", false},
        {"result s, in A 2", "s -= A(j,i) * A(i,j);", "ji A sum", false},
        {"result s, in x 1, in A 2", "s += x(k) * A(k,i);", "ki A sum", false},
        {"result lo, result hi, in A 1", "lo min= A(i); hi max= A(i);", "i A min max", false},
        {"result s int32, in i 1 int32", "s ^= i(j);", "j i xor", false},
        {"result s, in A 1", "float k = A(i); if (k > 0) s += k; else s -= k;", "i A sum", false},
        {"result s, in A 1", "s += 1;", "no array has an index as its subscript", true},
        {"result s, in A 1", "s += A(q);", "expected a reduction over indices, which are called i to p", true},
        {"result s, in A 2", "s += A(i,i);", "no DCL_IN is read at (i)", true},
        {"result s, in A 2, in B 2", "s += A(i,k) * B(k,j);", "no DCL_IN is read at (i,j,k)", true},
        {"result s, in A 1", "float t = A(i);", "s is DCL_RESULT, but the body does not reduce it", true},
        {"result s, in A 1", "s = A(i);", "expected a statement s += ...", true},
        {"result s, in A 1", "s += A(i); float t = s;", "its value is known only after the call", true},
        {"result s, in A 1", "s += A(i); s max= A(i);", "by another operator before", true},
        {"result s, in A 1", "s *= A(i);", "as a product that rounds", true},
        {"result s, in A 1", "if (s += A(i)) ;", "expected a statement s += ...", true},
        {"result s, in A 1", "s++; s += A(i);", "expected a statement s += ...", true},
        {"result s, in A 1", "s += A(i); i = 3;", "i is an index of the body and cannot be assigned to", true},
        {"result s, in A 1", "s += A(i), A(i);", "has a comma; expected one expression", true},
        {"result s, in A 1", "s min= A(p(i));", "not affine", true},
        {"result s, in A 2, out C 2", "s += A(i,j); C(j,i) = 1;", "ji C sum", false},
        {"result s, in A 2, out C 1", "s += A(i,j); C(i) = 1;", "output C is not written at (i,j)", true},
        {"result s, in A 1", "A(i) = 1; s += A(i);", "A is DCL_IN, but written here", true},
    };
    return cr_make_param_array(struct parse_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct parse_case *c, kernel_reduction, parsed)
{
    dcli_body *body = NULL;
    char found[96] = "";
    dcl_status status = test_parse(c->spec, c->text, &body);
    cr_assert_eq(status != DCL_OK, c->refused, "%s: %s", c->text, dcl_error());
    if (c->refused) {
        cr_expect(strstr(dcl_error(), c->found) != NULL, "%s: %s; expected %s", c->text, dcl_error(), c->found);
        return;
    }
    describe(body, found, sizeof found);
    cr_expect_str_eq(found, c->found, "%s: %s; expected %s", c->text, found, c->found);
    dcli_body_free(body);
}

/* Sums of type double whose values are of type float. */
struct single_case {
    char spec[80], text[112];
    bool singles;
};

ParameterizedTestParameters(kernel_reduction, singles)
{
    static struct single_case cases[] = {
        {"result s double, in A 1", "s += A(i);", true},
        {"result s double, in A 1", "s -= -(A(i) * 0.5f) / 2 + i;", true},
        {"result s double, in A 1, value t float, value n int64", "if (A(i) > 0) s += A(i) * (t + n);", true},
        {"result s double, in A 1", "float d = A(i) - 1; const float e = fabs(d); s += d * e;", true},
        {"result s double, in A 1, in U 1 uint8", "s += U(i) * A(i) + 1e-3f;", true},
        {"result s double, in A 1, result t double", "if (i > 3) { s += A(i); } else t += A(i) * A(i);", true},
        {"result s float, in A 1", "s += A(i);", false},
        {"result s double, in A 1 double", "s += A(i);", false},
        {"result s double, in A 1 int32", "s += A(i);", false},
        {"result s double, in A 1 half", "s += A(i);", false},
        {"result s double, in A 1, in D 1 double", "s += A(i) * D(i);", false},
        {"result s double, in A 1, value t double", "s += A(i) * t;", false},
        {"result s double, in A 1", "s += A(i) * 0.5;", false},
        {"result s double, in A 1", "s += (double)A(i);", false},
        {"result s double, in A 1", "if (A(i) > 0) s += i * i + 0 * 3;", false},
        {"result s double, in A 1", "s += A(i) > 0 ? A(i) : 1;", false},
        {"result s double, in A 1", "s += sqrt(A(i));", false},
        {"result s double, in A 1", "s += A(i); s += A(i);", false},
        {"result s double, in A 1", "for (int d = 0; d < 2; d++) s += A(i);", false},
        {"result s double, in A 1", "double d = A(i) / 3.0; s += d;", false},
        {"result s double, in A 1", "float d = A(i); { double d = 1 / 3.0; s += d; }", false},
        {"result s double, in A 1", "float d = A(i); { double (d) = 1 / 3.0; s += d; }", false},
        {"result s double, in A 1", "s max= A(i);", false},
    };
    return cr_make_param_array(struct single_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct single_case *c, kernel_reduction, singles)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse(c->spec, c->text, &body), DCL_OK, "%s: %s", c->text, dcl_error());
    cr_expect_eq(dcli_adds_singles(body, 0), c->singles, "%s; %s", c->spec, c->text);
    dcli_body_free(body);
}

/* ---- partial results ------------------------------------------------------------------------------------------------------ */

struct value_case {
    char what[32];
    dcli_fold fold;
    dcl_type type;
    int64_t a, b; /* integers */
    int64_t value;
};

ParameterizedTestParameters(kernel_reduction, merged)
{
    static struct value_case cases[] = {
        {"a sum wraps", DCLI_FOLD_SUM, DCL_INT8, 100, 100, -56},
        {"an unsigned sum wraps", DCLI_FOLD_SUM, DCL_UINT16, 65535, 2, 1},
        {"a product wraps", DCLI_FOLD_PRODUCT, DCL_INT32, 65536, 65537, 65536},
        {"min, signed", DCLI_FOLD_MIN, DCL_INT64, -1, 1, -1},
        {"min, unsigned", DCLI_FOLD_MIN, DCL_UINT64, -1, 1, 1},
        {"max, unsigned", DCLI_FOLD_MAX, DCL_UINT64, -1, 1, -1},
        {"and", DCLI_FOLD_AND, DCL_UINT8, 12, 10, 8},
        {"or", DCLI_FOLD_OR, DCL_INT32, 12, 10, 14},
        {"xor", DCLI_FOLD_XOR, DCL_INT16, 12, 10, 6},
    };
    return cr_make_param_array(struct value_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct value_case *c, kernel_reduction, merged)
{
    dcli_partial a = {{1, c->a}}, b = {{1, c->b}}, none = {{0}}, both = a;
    dcli_partial_merge(c->fold, c->type, &both, &b);
    dcli_partial_merge(c->fold, c->type, &both, &none);
    dcli_partial_merge(c->fold, c->type, &none, &both);
    cr_expect(dcli_partial_is_valid(c->fold, c->type, &none), "%s", c->what);
    cr_expect_eq(dcli_partial_value(c->fold, c->type, &none).i, c->value, "%s: %" PRId64 ", expected %" PRId64, c->what,
                 dcli_partial_value(c->fold, c->type, &none).i, c->value);
}

Test(kernel_reduction, no_values)
{
    dcli_partial none = {{0}};
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_SUM, DCL_DOUBLE, &none).f, 0);
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_MIN, DCL_FLOAT, &none).f, INFINITY);
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_MAX, DCL_DOUBLE, &none).f, -INFINITY);
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_MAX, DCL_INT8, &none).i, INT8_MIN);
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_MIN, DCL_UINT64, &none).u, UINT64_MAX);
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_PRODUCT, DCL_INT64, &none).i, 1);
    cr_expect_eq(dcli_partial_value(DCLI_FOLD_AND, DCL_UINT8, &none).u, 255);
}

Test(kernel_reduction, foreign_words)
{
    cr_expect_not(dcli_partial_is_valid(DCLI_FOLD_SUM, DCL_INT8, &(dcli_partial){{1, 128}}), "not of the type");
    cr_expect_not(dcli_partial_is_valid(DCLI_FOLD_SUM, DCL_INT8, &(dcli_partial){{2, 1}}));
    cr_expect_not(dcli_partial_is_valid(DCLI_FOLD_SUM, DCL_INT8, &(dcli_partial){{0, 1}}));
    cr_expect_not(dcli_partial_is_valid(DCLI_FOLD_MIN, DCL_FLOAT, &(dcli_partial){{1, INT64_MAX}}), "the key of a NaN");
    cr_expect_not(dcli_partial_is_valid(DCLI_FOLD_MIN, DCL_FLOAT, &(dcli_partial){{1, 0, 2}}));
    cr_expect_not(dcli_partial_is_valid(DCLI_FOLD_SUM, DCL_FLOAT, &(dcli_partial){{-1}}));
}

/* ---- kernels --------------------------------------------------------------------------------------------------------------- */

enum { ROWS = 37, COLUMNS = 301, ELEMENTS = ROWS * COLUMNS, MOST_SLOTS = 64, MOST_RESULTS = 4 };

static float A[ELEMENTS], B[ELEMENTS]; /* B: [COLUMNS][ROWS] */
static int64_t slots[MOST_SLOTS * (1 + MOST_RESULTS * DCLI_PARTIAL_LONGS)];
static const char *prelude = "";
static int launches = 1;
static dcli_partial merged[MOST_RESULTS]; /* of reduce() */

static void fill(void)
{
    uint32_t state = 7;
    for (int e = 0; e < ELEMENTS; e++) {
        state = state * 1664525 + 1013904223;
        A[e] = (float)(int32_t)state * 0x1p-20F;
        B[e] = (float)(e % 1000) - 500;
    }
}

/* Run a body on all elements of A, as one variant, and merge the partial results of all work-items. */
static void reduce(test_device *device, dcli_form form, const char *text, dcli_variant variant, int results,
                   const dcl_type types[], dcli_scalar values_out[])
{
    static const char *const names[] = {"r", "s", "t", "u"};
    const int64_t zeros[4] = {0}, ones[4] = {1, 1, 1, 1}, count[2] = {ROWS, COLUMNS};
    test_arg args[DCLI_MAX_PARAMS] = {
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {ROWS, COLUMNS}, .data = A},
        {.name = "B", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {COLUMNS, ROWS}, .data = B}};
    for (int r = 0; r < results; r++)
        args[2 + r] = (test_arg){.name = names[r], .access = DCL_ACCESS_RESULT, .type = types[r]};
    const int64_t stamp = 3, length = dcli_slot_longs(results);
    memset(slots, 0, sizeof slots);
    for (int w = 0; w < MOST_SLOTS; w++) /* what an earlier reduction has left */
        for (int64_t n = 0; n < length; n++)
            slots[w * length + n] = stamp - 1;
    int64_t *ended = &slots[length + 1]; /* of a GPU: groups of the running launch; never left otherwise than 0 */
    *ended = form == DCLI_FORM_GPU ? 0 : *ended;
    args[2 + results] = (test_arg){.name = "partials",
                                   .access = DCL_ACCESS_INOUT,
                                   .type = DCL_INT64,
                                   .rank = 1,
                                   .extent = {sizeof slots / sizeof slots[0]},
                                   .data = slots};
    args[3 + results] =
        (test_arg){.name = "stamp", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .value = {.i = stamp}};
    dcli_param params[DCLI_MAX_PARAMS];
    test_params(2 + results, args, params);
    dcli_body *body = NULL;
    cr_assert_eq(dcli_body_parse(text, prelude, 2 + results, params, &body), DCL_OK, "%s", dcl_error());
    test_program *program = test_program_build(device, body, form, NULL);
    for (int n = 0; n < launches; n++) {
        test_report report = test_program_run(program, body, variant, 4 + results, args, zeros, ones, count);
        cr_expect_not(report.any, "%s", text);
    }
    for (int w = 0; w < MOST_SLOTS && form == DCLI_FORM_GPU; w++)
        cr_expect_eq(slots[w * length] == stamp, w == 0, "%s: the last group merges in slot 0 alone, not in %d", text,
                     w);
    cr_expect(form != DCLI_FORM_GPU || *ended == 0, "%s", text);
    for (int r = 0; r < results; r++) {
        dcli_partial all = {{0}};
        for (int w = 0; w < MOST_SLOTS; w++) {
            dcli_partial one;
            if (slots[w * length] != stamp)
                continue;
            memcpy(&one, slots + w * length + 1 + (int64_t)r * DCLI_PARTIAL_LONGS, sizeof one);
            cr_expect(dcli_partial_is_valid(body->result[r].fold, types[r], &one), "%s: slot %d", text, w);
            dcli_partial_merge(body->result[r].fold, types[r], &all, &one);
        }
        merged[r] = all;
        values_out[r] = dcli_partial_value(body->result[r].fold, types[r], &all);
    }
    test_program_free(program);
    dcli_body_free(body);
}

static test_device *device;

static void open_device(void)
{
    device = test_device_open();
    if (device == NULL)
        cr_skip_test("no OpenCL device");
}

static void close_device(void)
{
    if (device != NULL)
        test_device_close(device);
}

/* Run a test with the kernels of each form that the device can run. */
static void each_form(void (*test)(dcli_form form))
{
    for (dcli_form form = test_device_is_gpu(device) ? DCLI_FORM_GPU : DCLI_FORM_CPU; form <= DCLI_FORM_GPU; form++) {
        fill();
        test(form);
    }
}

TestSuite(kernel_device_reduction, .init = open_device, .fini = close_device);

static void check_sums_and_extremes(dcli_form form)
{
    static const dcl_type types[] = {DCL_DOUBLE, DCL_FLOAT, DCL_FLOAT, DCL_FLOAT};
    dcli_sum exact = {0}, single = {0};
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float a = A[i * COLUMNS + j], b = B[j * ROWS + i];
            dcli_sum_add(&exact, (double)a * b);
            dcli_sum_add(&single, a * b);
            low = fminf(low, a);
            high = fmaxf(high, a + b);
        }
    for (int v = DCLI_VARIANT_UNIT; v <= DCLI_VARIANT_CHECKED; v++) {
        dcli_scalar found[MOST_RESULTS];
        reduce(device, form,
               "r += (double)A(i,j) * B(j,i); s += A(i,j) * B(j,i); t min= A(i,j); u max= A(i,j) + B(j,i);",
               (dcli_variant)v, 4, types, found);
        cr_expect(found[0].f == dcli_sum_round(&exact, DCL_DOUBLE), "variant %d: %a", v, found[0].f);
        cr_expect(found[1].f == dcli_sum_round(&single, DCL_FLOAT), "variant %d: %a", v, found[1].f);
        cr_expect(found[2].f == low && found[3].f == high, "variant %d: %a %a", v, found[2].f, found[3].f);
    }
}

Test(kernel_device_reduction, sums_and_extremes) { each_form(check_sums_and_extremes); }

/* A row of values: alike, of several magnitudes, with exponents that differ by 18 or more, or very small. */
static float value_of_row(int kind, uint32_t random)
{
    float fraction = (float)(random >> 8) * 0x1p-24F, sign = random % 2 == 0 ? 1 : -1;
    int spread = (int)(random >> 3) % 20;
    switch (kind) {
    case 0:
        return sign * (float)(random % 9);
    case 1:
        return fraction;
    case 2:
        return 0.4F * sign * fraction;
    case 3:
        return 1e7F * (fraction - 0.5F);
    case 4:
        return sign * ldexpf(1 + fraction, dcli_min(spread, 18));
    case 5:
        return sign * ldexpf(1 + fraction, spread);
    case 6:
        return random % 3 == 0 ? 0 : sign * ldexpf(fraction, -130);
    case 7:
        return sign * ldexpf(1 + fraction, 2 * spread - 26);
    default:
        return sign * ldexpf(1 + fraction, 6 * spread - 60);
    }
}

/* Sums of values of type float have the same slices, whatever the values of a strip have in common. */
static void check_singles(dcli_form form)
{
    enum { KINDS = 9 };
    static const dcl_type types[] = {DCL_DOUBLE, DCL_FLOAT, DCL_DOUBLE, DCL_FLOAT};
    for (int kind = 0; kind <= KINDS; kind++) { /* the last one: rows of all kinds */
        dcli_sum sum[MOST_RESULTS] = {{0}};
        uint32_t state = 5;
        for (int e = 0; e < ELEMENTS; e++) {
            state = state * 1664525 + 1013904223;
            A[e] = value_of_row(kind < KINDS ? kind : e / COLUMNS % KINDS, state ^ state >> 11);
            B[e] = (float)(e % 4) - 1.5F;
        }
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                float a = A[i * COLUMNS + j], b = B[j * ROWS + i];
                const float value[] = {a * b, a * b, a, -(a + 2)};
                for (int r = 0; r < MOST_RESULTS; r++)
                    dcli_sum_add(&sum[r], (double)value[r]);
            }
        dcli_scalar found[MOST_RESULTS];
        reduce(device, form, "r += A(i,j) * B(j,i); s += A(i,j) * B(j,i); t += A(i,j); u -= A(i,j) + 2;",
               DCLI_VARIANT_UNIT, 4, types, found);
        for (int r = 0; r < MOST_RESULTS; r++)
            cr_expect(memcmp(&merged[r].sum, &sum[r], sizeof sum[r]) == 0, "kind %d, result %d: %a, not %a", kind, r,
                      found[r].f, dcli_sum_round(&sum[r], types[r]));
    }
}

Test(kernel_device_reduction, sums_of_singles) { each_form(check_singles); }

/* Launches of one reduction add to the same partial results. */
static void check_launches(dcli_form form)
{
    static const dcl_type types[] = {DCL_DOUBLE, DCL_FLOAT, DCL_FLOAT, DCL_FLOAT};
    dcli_scalar once[MOST_RESULTS], twice[MOST_RESULTS];
    for (launches = 1; launches <= 2; launches++)
        reduce(device, form,
               "r += (double)A(i,j) * B(j,i); s += A(i,j) * B(j,i); t min= A(i,j); u max= A(i,j) + B(j,i);",
               DCLI_VARIANT_UNIT, 4, types, launches == 1 ? once : twice);
    launches = 1;
    cr_expect(twice[0].f == 2 * once[0].f && twice[1].f == 2 * once[1].f, "%a %a", twice[0].f, twice[1].f);
    cr_expect(twice[2].f == once[2].f && twice[3].f == once[3].f, "%a %a", twice[2].f, twice[3].f);
}

Test(kernel_device_reduction, launches_add_up) { each_form(check_launches); }

/* A prelude may define macros with the names of a vector's components. */
static void check_macros(dcli_form form)
{
    static const dcl_type types[] = {DCL_DOUBLE, DCL_FLOAT};
    dcli_scalar found[MOST_RESULTS];
    dcli_sum exact = {0};
    float low = INFINITY;
    prelude = "#define x 3\n#define y 2\n#define z x\n#define w 1.5f\n";
    for (int e = 0; e < ELEMENTS; e++) {
        dcli_sum_add(&exact, 1.5 * A[e]);
        low = fminf(low, A[e]);
    }
    reduce(device, form, "r += (double)A(i,j) * w + 0 * B(j,i); s min= A(i,j);", DCLI_VARIANT_UNIT, 2, types, found);
    cr_expect(found[0].f == dcli_sum_round(&exact, DCL_DOUBLE) && found[1].f == low, "%a, %a", found[0].f, found[1].f);
}

Test(kernel_device_reduction, prelude_with_macros_of_one_letter) { each_form(check_macros); }

static void check_integers(dcli_form form)
{
    static const dcl_type types[] = {DCL_INT32, DCL_UINT8, DCL_INT64, DCL_UINT16};
    int64_t sum = 0, most = INT64_MIN;
    uint8_t xored = 0;
    uint16_t product = 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int number = (int)B[i * COLUMNS + j];
            sum += number * 100000;
            xored ^= (uint8_t)(number + i);
            most = j % 3 == 1 && number * 5 - i > most ? number * 5 - i : most;
            product = (uint16_t)(product * (2 * j + 1));
        }
    dcli_scalar found[MOST_RESULTS];
    memcpy(A, B, sizeof A);
    reduce(
        device, form,
        "int n = (int)A(i,j); r += n * 100000; s ^= n + (int)i; if (j % 3 == 1) t max= n * 5 - (int)i; u *= 2 * j + 1;",
        DCLI_VARIANT_UNIT, 4, types, found);
    cr_expect_eq(found[0].i, (int32_t)sum, "%" PRId64, found[0].i);
    cr_expect_eq(found[1].i, xored, "%" PRId64, found[1].i);
    cr_expect_eq(found[2].i, most, "%" PRId64, found[2].i);
    cr_expect_eq(found[3].i, product, "%" PRId64, found[3].i);
}

Test(kernel_device_reduction, integers) { each_form(check_integers); }

static void check_not_a_number_and_zeros(dcli_form form)
{
    static const dcl_type types[] = {DCL_FLOAT, DCL_FLOAT, DCL_DOUBLE};
    dcli_scalar found[MOST_RESULTS];
    for (int e = 0; e < ELEMENTS; e++)
        A[e] = e == 5000 ? -0.0F : 0.0F;
    reduce(device, form, "r min= A(i,j); s max= A(i,j); t += 1 / A(i,j);", DCLI_VARIANT_UNIT, 3, types, found);
    cr_expect(found[0].f == 0 && signbit(found[0].f), "-0 is the least");
    cr_expect(found[1].f == 0 && !signbit(found[1].f));
    cr_expect(isnan(found[2].f), "infinities of both signs");
    reduce(device, form,
           "r min= A(i,j) * A(i,j); r min= -A(i,j) * A(i,j); s max= -0.0f; s max= A(i,j) * A(i,j); t += 1;",
           DCLI_VARIANT_ANY, 3, types, found);
    cr_expect(found[0].f == 0 && signbit(found[0].f), "of two statements, -0 is the least");
    cr_expect(found[1].f == 0 && !signbit(found[1].f));
    cr_expect(found[2].f == ELEMENTS);
    A[7] = NAN;
    reduce(device, form, "r min= A(i,j); s max= A(i,j); t += A(i,j);", DCLI_VARIANT_ANY, 3, types, found);
    cr_expect(isnan(found[0].f) && isnan(found[1].f) && isnan(found[2].f));
}

Test(kernel_device_reduction, not_a_number_and_zeros) { each_form(check_not_a_number_and_zeros); }

/* ---- along axes, on the device ------------------------------------------------------------------------------------------ */

/* Run a body for all elements of Y, [ROWS] or [COLUMNS] or [ROWS][ROWS], which begin as they are. */
static void reduce_along(dcli_form form, const char *text, dcli_variant variant, dcl_type type, int rank,
                         const int64_t extent[], void *Y)
{
    const int64_t zeros[2] = {0}, ones[2] = {1, 1};
    test_arg args[] = {
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {ROWS, COLUMNS}, .data = A},
        {.name = "B", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {COLUMNS, ROWS}, .data = B},
        {.name = "Y", .access = DCL_ACCESS_INOUT, .type = type, .rank = rank, .data = Y}};
    memcpy(args[2].extent, extent, (size_t)rank * sizeof *extent);
    dcli_param params[DCLI_MAX_PARAMS];
    test_params(3, args, params);
    dcli_body *body = NULL;
    cr_assert_eq(dcli_along_parse(text, "", 3, params, &body), DCL_OK, "%s", dcl_error());
    test_program *program = test_program_build(device, body, form, NULL);
    test_report report = test_program_run(program, body, variant, 3, args, zeros, ones, extent);
    cr_expect_not(report.any, "%s", text);
    test_program_free(program);
    dcli_body_free(body);
}

static void check_along(dcli_form form)
{
    static float rows[ROWS], columns[COLUMNS], product[ROWS][ROWS];
    static int16_t most[COLUMNS];
    for (int v = DCLI_VARIANT_UNIT; v <= DCLI_VARIANT_CHECKED; v++) {
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ROWS; j++)
                rows[i] = product[i][j] = (float)(i - j);
        memset(columns, 0, sizeof columns);
        memset(most, 0, sizeof most);
        reduce_along(form, "Y(i) += A(i,j) * B(j,i) + 1;", (dcli_variant)v, DCL_FLOAT, 1, (int64_t[]){ROWS}, rows);
        reduce_along(form, "Y(j) += A(i,j);", (dcli_variant)v, DCL_FLOAT, 1, (int64_t[]){COLUMNS}, columns);
        reduce_along(form, "Y(j) max= (short)B(j,i);", (dcli_variant)v, DCL_INT16, 1, (int64_t[]){COLUMNS}, most);
        reduce_along(form, "Y(i,j) += A(i,k) * B(k,j);", (dcli_variant)v, DCL_FLOAT, 2, (int64_t[]){ROWS, ROWS},
                     product);
        for (int i = 0; i < ROWS; i++) {
            dcli_sum sum = {0};
            dcli_sum_add(&sum, i - ROWS + 1);
            for (int j = 0; j < COLUMNS; j++)
                dcli_sum_add(&sum, A[i * COLUMNS + j] * B[j * ROWS + i] + 1);
            cr_expect(rows[i] == (float)dcli_sum_round(&sum, DCL_FLOAT), "variant %d: %d: %a", v, i, rows[i]);
            for (int j = 0; j < ROWS; j++) {
                float chain = (float)(i - j);
                for (int k = 0; k < COLUMNS; k++)
                    chain = fmaf(A[i * COLUMNS + k], B[k * ROWS + j], chain);
                cr_expect(product[i][j] == chain, "variant %d: %d, %d: %a", v, i, j, product[i][j]);
            }
        }
        for (int j = 0; j < COLUMNS; j++) {
            dcli_sum sum = {0};
            int16_t right = 0;
            for (int i = 0; i < ROWS; i++) {
                dcli_sum_add(&sum, A[i * COLUMNS + j]);
                right = (int16_t)fmaxf(right, B[j * ROWS + i]);
            }
            cr_expect(columns[j] == (float)dcli_sum_round(&sum, DCL_FLOAT), "variant %d: %d: %a", v, j, columns[j]);
            cr_expect_eq(most[j], right, "variant %d: %d: %d", v, j, most[j]);
        }
    }
}

Test(kernel_device_reduction, along_axes) { each_form(check_along); }

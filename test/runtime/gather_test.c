/* test/runtime/gather_test.c - inputs that lie in many places, gathered by the kernels that compute with them: what comes out
 * is what plain C computes, whatever the maps, types and subscripts are, and takes few launches. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(gather_on_device, .timeout = TEST_SECONDS);

enum { MOST_LAUNCHES = 8 /* of both nodes */ };

/* Arrays of a case, of a type, as numbers. */
struct operand {
    int rank;
    int64_t extent[4];
    int64_t *value;
    dcl_array *array;
};

static int64_t offset(const struct operand *operand, const int64_t index[])
{
    int64_t at = 0;
    for (int d = 0; d < operand->rank; d++)
        at = at * operand->extent[d] + index[d];
    return at;
}

static int64_t at(const struct operand *operand, int64_t i, int64_t j, int64_t k, int64_t l)
{
    return operand->value[offset(operand, (int64_t[]){i, j, k, l})];
}

typedef int64_t expected_fn(const struct operand *A, const struct operand *B, const int64_t c[]);

static int64_t transposed(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], c[1], 0, 0) + at(B, c[1], c[0], 0, 0);
}

static int64_t straight(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], c[1], 0, 0) - at(B, c[0], c[1], 0, 0);
}

static int64_t backwards(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, 699 - c[0], c[1], 0, 0) - at(B, c[1], 699 - c[0], 0, 0);
}

static int64_t every_second(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], c[1], 0, 0) + at(B, 2 * c[1], c[0], 0, 0);
}

static int64_t a_row(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], c[1], 0, 0) + at(B, c[0], 0, 0, 0);
}

static int64_t one_axis(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], 0, 0, 0) + at(B, 199999 - c[0], 0, 0, 0);
}

static int64_t turned_round(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], c[1], c[2], 0) + at(B, c[2], c[0], c[1], 0);
}

static int64_t inside_out(const struct operand *A, const struct operand *B, const int64_t c[])
{
    return at(A, c[0], c[1], c[2], c[3]) + at(B, c[3], c[2], c[1], c[0]);
}

struct body {
    const char *text;
    expected_fn *expected;
    int rank;
    int64_t extent[4]; /* of C and A */
    int b_rank;
    int64_t b_extent[4];
};

static const struct body bodies[] = {
    {"C(i,j) = A(i,j) + B(j,i);", transposed, 2, {700, 420}, 2, {420, 700}},
    {"C(i,j) = A(i,j) - B(i,j);", straight, 2, {700, 420}, 2, {700, 420}},
    {"C(i,j) = A(699-i,j) - B(j,699-i);", backwards, 2, {700, 420}, 2, {420, 700}},
    {"C(i,j) = A(i,j) + B(2*j,i);", every_second, 2, {700, 420}, 2, {840, 700}},
    {"C(i,j) = A(i,j) + B(i);", a_row, 2, {700, 420}, 1, {700}},
    {"C(i) = A(i) + B(199999-i);", one_axis, 1, {200000}, 1, {200000}},
    {"C(i,j,k) = A(i,j,k) + B(k,i,j);", turned_round, 3, {60, 70, 50}, 3, {50, 60, 70}},
    {"C(i,j,k,l) = A(i,j,k,l) + B(l,k,j,i);", inside_out, 4, {20, 23, 24, 19}, 4, {19, 24, 23, 20}},
};

struct gather_case {
    int body;
    dcl_type type;
    char map[56], b_map[24]; /* of C and A; of B */
    bool gathers;
};

static const struct gather_case cases[] = {
    /* body, type, C and A                B                     gathers */
    {0, DCL_INT32, "cyclic,*", "cyclic,*", true},
    {0, DCL_INT32, "*,cyclic(16)", "*,cyclic(16)", true},
    {0, DCL_INT32, "*,cyclic(64)", "*,cyclic(64)", true},
    {0, DCL_INT32, "cyclic(16)@2x1", "cyclic(16)@2x1", true},
    {0, DCL_INT32, "rows:cyclic(8x16)", "rows:cyclic(8x16)", true},
    {0, DCL_INT32, "columns:cyclic(7x5)", "columns:cyclic(7x5)", true},
    {0, DCL_INT32, "rows:block(8x16)", "rows:block(8x16)", true},
    {0, DCL_INT32, "rows:hash(8x16)", "rows:hash(8x16)", true},
    {0, DCL_INT32, "rows:hash(8x16)", "rows:cyclic(5x9)", true},
    {0, DCL_INT32, "rows:cyclic", "rows:cyclic", true},
    {0, DCL_INT32, "block,*", "rows:hash(3x5)", true},
    {0, DCL_INT32, "rows:table(64x64);owners=0,1*3,0*2,1,0,1*40,0*29", "*,cyclic(3)", true},
    {0, DCL_INT32, "*,splits(100,116,148)", "cyclic(20),*", true},
    {0, DCL_INT32, "block,*", "block,*", false},
    {0, DCL_INT8, "rows:cyclic(8x16)", "rows:cyclic(8x16)", true},
    {0, DCL_DOUBLE, "rows:cyclic(8x16)", "rows:hash(8x16)", true},
    {0, DCL_UINT16, "cyclic,*", "*,cyclic(16)", true},
    {1, DCL_INT32, "block,*", "cyclic,*", true},
    {1, DCL_INT32, "rows:cyclic(8x16)", "columns:cyclic(4x16)", true},
    {1, DCL_FLOAT, "rows:hash(6x10)", "*,cyclic(7)", true},
    {2, DCL_INT32, "rows:cyclic(8x16)", "rows:cyclic(8x16)", true},
    {2, DCL_INT32, "cyclic,*", "cyclic,*", true},
    {3, DCL_INT32, "rows:cyclic(8x16)", "rows:cyclic(16x8)", true},
    {4, DCL_INT32, "rows:cyclic(8x16)", "cyclic(8)", true},
    {5, DCL_INT32, "block", "cyclic(3)", true},
    {5, DCL_INT64, "rows:hash(100)", "cyclic", true},
    {6, DCL_INT32, "rows:cyclic(4x4x16)", "rows:cyclic(4x4x16)", true},
    {6, DCL_FLOAT, "cyclic(3),*,cyclic(5)", "*,cyclic(4),*", true},
    {7, DCL_INT32, "rows:cyclic(4x3x4x8)", "rows:hash(3x4x5x4)", true},
};

static int64_t count_of(const struct operand *operand)
{
    int64_t count = 1;
    for (int d = 0; d < operand->rank; d++)
        count *= operand->extent[d];
    return count;
}

static void put(void *elements, dcl_type type, int64_t n, int64_t value)
{
    switch (type) {
    case DCL_INT8:
        ((int8_t *)elements)[n] = (int8_t)value;
        break;
    case DCL_UINT16:
        ((uint16_t *)elements)[n] = (uint16_t)value;
        break;
    case DCL_INT32:
        ((int32_t *)elements)[n] = (int32_t)value;
        break;
    case DCL_INT64:
        ((int64_t *)elements)[n] = value;
        break;
    case DCL_FLOAT:
        ((float *)elements)[n] = (float)value;
        break;
    default:
        ((double *)elements)[n] = (double)value;
    }
}

/* An array of small numbers that differ from place to place. */
static struct operand make(dcl_cluster *cluster, const char *text, dcl_type type, int rank, const int64_t extent[],
                           int64_t salt)
{
    struct operand operand = {.rank = rank};
    memcpy(operand.extent, extent, (size_t)rank * sizeof extent[0]);
    dcl_map *map = dcl_map_parse(cluster, text);
    cr_assert_not_null(map, "%s: %s", text, dcl_error());
    operand.array = dcl_agile(dcl_grid_nd(type, rank, extent, NULL), map);
    dcl_map_release(map);
    cr_assert_not_null(operand.array, "%s: %s", text, dcl_error());
    int64_t count = count_of(&operand);
    char *elements = malloc((size_t)count * dcl_type_bytes(type));
    operand.value = malloc((size_t)count * sizeof *operand.value);
    for (int64_t n = 0; n < count; n++) {
        operand.value[n] = (n * 31 + n / 53 + salt) % 50;
        put(elements, type, n, operand.value[n]);
    }
    cr_assert_eq(dcl_write(operand.array, NULL, elements, NULL), DCL_OK, "%s", dcl_error());
    free(elements);
    return operand;
}

static void end(struct operand *operand)
{
    dcl_release(operand->array);
    free(operand->value);
}

static void expect_result(const struct gather_case *c, const struct operand *C, const struct operand *A,
                          const struct operand *B)
{
    const struct body *body = &bodies[c->body];
    int64_t count = count_of(C), index[4] = {0}, wrong = 0;
    size_t bytes = dcl_type_bytes(c->type);
    char *found = malloc((size_t)count * bytes), expected[8];
    cr_assert_eq(dcl_read(C->array, NULL, found, NULL), DCL_OK, "%s", dcl_error());
    for (int64_t n = 0; n < count; n++) {
        put(expected, c->type, 0, body->expected(A, B, index));
        wrong += memcmp(expected, found + (size_t)n * bytes, bytes) != 0;
        for (int d = C->rank - 1; d >= 0 && ++index[d] == C->extent[d]; d--)
            index[d] = 0;
    }
    cr_expect_eq(wrong, 0, "%s with %s and %s: %" PRId64 " of %" PRId64 " elements are wrong", body->text, c->map,
                 c->b_map, wrong, count);
    free(found);
}

/* Run the body, for the second time with everything prepared, and look at what that took. */
static void run(dcl_cluster *cluster, const struct gather_case *c, struct operand *A, struct operand *B,
                struct operand *C)
{
    const char *text = bodies[c->body].text;
    for (int turn = 0; turn < 2; turn++) {
        dcl_counters before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(
            dcl_forall_n(cluster, text, 3,
                         (dcl_arg[]){DCL_OUT_AS("C", C->array), DCL_IN_AS("A", A->array), DCL_IN_AS("B", B->array)}));
        TEST_OK(dcl_wait(cluster));
        dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
        int64_t launches = after.launches - before.launches, copied = after.bytes_copied - before.bytes_copied;
        cr_expect_leq(launches, MOST_LAUNCHES, "%s with %s and %s: %" PRId64 " launches", text, c->map, c->b_map,
                      launches);
        cr_expect_eq(copied > 0, c->gathers, "%s with %s and %s: %" PRId64 " bytes copied", text, c->map, c->b_map,
                     copied);
        expect_result(c, C, A, B);
    }
}

static void skip_unless_cpus(dcl_cluster *cluster)
{
    dcl_device_info info[1];
    int count = 0;
    TEST_OK(dcl_device_list(1, info, &count));
    if (count > 0 && strcmp(info[0].kind, "cpu") != 0) {
        dcl_close(cluster);
        cr_skip_test("the nodes are %s, which gather nothing", info[0].kind);
    }
}

static void try_body(int number)
{
    const struct body *body = &bodies[number];
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    skip_unless_cpus(cluster);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        const struct gather_case *c = &cases[n];
        if (c->body != number)
            continue;
        struct operand A = make(cluster, c->map, c->type, body->rank, body->extent, 3);
        struct operand C = make(cluster, c->map, c->type, body->rank, body->extent, 5);
        struct operand B = make(cluster, c->b_map, c->type, body->b_rank, body->b_extent, 7);
        run(cluster, c, &A, &B, &C);
        end(&A);
        end(&B);
        end(&C);
    }
    TEST_OK(dcl_close(cluster));
}

Test(gather_on_device, transposed) { try_body(0); }
Test(gather_on_device, straight) { try_body(1); }
Test(gather_on_device, backwards) { try_body(2); }
Test(gather_on_device, every_second) { try_body(3); }
Test(gather_on_device, a_row_for_all) { try_body(4); }
Test(gather_on_device, one_axis) { try_body(5); }
Test(gather_on_device, three_axes) { try_body(6); }
Test(gather_on_device, four_axes) { try_body(7); }

/* The last of them is the last access that a body can have. */
Test(gather_on_device, as_many_inputs_as_calls_take)
{
    enum { INPUTS = 63, SIDE = 96 };
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    skip_unless_cpus(cluster);
    static char body[32 * INPUTS] = "C(i,j) = 0", names[INPUTS][8];
    static int32_t found[SIDE * SIDE];
    dcl_grid grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE);
    dcl_array *C = test_array(cluster, "rows:cyclic(8x16)", grid), *A[INPUTS];
    dcl_arg args[1 + INPUTS] = {DCL_OUT(C)};
    for (int32_t n = 0; n < INPUTS; n++) {
        A[n] = test_array(cluster, "rows:cyclic(8x16)", grid);
        test_count_up(A[n], n, n + 1);
        sprintf(names[n], "A%d", n);
        sprintf(body + strlen(body), " + A%d(j,i)", n);
        args[1 + n] = DCL_IN_AS(names[n], A[n]);
    }
    strcat(body, ";");
    TEST_OK(dcl_forall_n(cluster, body, 1 + INPUTS, args));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    int64_t wrong = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            wrong += found[i * SIDE + j] != INPUTS * (INPUTS - 1) / 2 + INPUTS * (INPUTS + 1) / 2 * (j * SIDE + i);
    cr_expect_eq(wrong, 0, "%" PRId64 " elements are wrong", wrong);
    for (int n = 0; n < INPUTS; n++)
        dcl_release(A[n]);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* Inputs that are hashed apart are bound in many ways, which change from work to work: each way is one launch. */
static void try_hashed(const char *body)
{
    enum { NODES = 3, INPUTS = 3, SIDE = 160, WAYS = NODES * NODES * NODES, VARIANTS = 4 };
    dcl_config config = test_config(NODES);
    dcl_cluster *cluster = test_open(&config);
    skip_unless_cpus(cluster);
    static int32_t found[SIDE * SIDE];
    static const char *const maps[INPUTS] = {"rows:hash(2x1);seed=2", "rows:hash(2x1);seed=3", "rows:hash(2x1);seed=4"};
    static const char *const names[INPUTS] = {"A", "B", "D"};
    dcl_grid grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE);
    dcl_array *C = test_array(cluster, "rows:hash(2x1);seed=1", grid), *inputs[INPUTS];
    dcl_arg args[1 + INPUTS] = {DCL_OUT(C)};
    for (int n = 0; n < INPUTS; n++) {
        inputs[n] = test_array(cluster, maps[n], grid);
        test_count_up(inputs[n], n, n + 1);
        args[1 + n] = DCL_IN_AS(names[n], inputs[n]);
    }
    TEST_OK(dcl_wait(cluster));
    int64_t before = test_counters(cluster, DCL_ALL_NODES).launches, wrong = 0;
    TEST_OK(dcl_forall_n(cluster, body, 1 + INPUTS, args));
    TEST_OK(dcl_wait(cluster));
    int64_t launches = test_counters(cluster, DCL_ALL_NODES).launches - before;
    cr_expect_leq(launches, NODES * WAYS * VARIANTS, "%s: %" PRId64 " launches", body, launches);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int last = strstr(body, "D(j,i)") != NULL ? j * SIDE + i : i * SIDE + j;
            wrong += found[i * SIDE + j] != 3 + 3 * (i * SIDE + j) + 3 * last;
        }
    cr_expect_eq(wrong, 0, "%s: %" PRId64 " elements are wrong", body, wrong);
    for (int n = 0; n < INPUTS; n++)
        dcl_release(inputs[n]);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

Test(gather_on_device, hashed_apart) { try_hashed("C(i,j) = A(i,j) + B(i,j) + D(i,j);"); }
Test(gather_on_device, hashed_apart_and_turned) { try_hashed("C(i,j) = A(i,j) + B(i,j) + D(j,i);"); }

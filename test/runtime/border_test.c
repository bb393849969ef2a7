/* test/runtime/border_test.c - reads outside of a grid: 0 is taken and the place reported, unless the body guards it. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/folder.h"
#include "support/nodes.h"

TestSuite(border_on_device, .timeout = TEST_SECONDS);

enum { N = 40 };

static const char *const plain = "C(i) = A(i-1) + A(i+1);";
static const char *const guarded = "C(i) = (i > -5 ? A(i-1) : 0) + (i < 34 ? A(i+1) : 0);";

struct line {
    dcl_cluster *cluster;
    dcl_array *A, *C;
};

/* Two arrays over -5..34 on three nodes; A is 1 2 3 ... */
static struct line open_line(const dcl_config *config)
{
    struct line line = {.cluster = test_open(config)};
    dcl_map *map = dcl_map_block(line.cluster);
    dcl_grid grid = dcl_grid_nd(DCL_INT32, 1, (int64_t[]){N}, (int64_t[]){-5});
    line.A = dcl_agile(grid, map);
    line.C = dcl_agile(grid, map);
    dcl_release(map);
    test_count_up(line.A, 1, 1);
    return line;
}

/* C is the sum of both neighbours, 0 outside. */
static void expect_sums(dcl_array *C)
{
    int32_t c[N];
    TEST_OK(dcl_read(C, NULL, c, NULL));
    for (int e = 0; e < N; e++) {
        int expected = e + (e == N - 1 ? 0 : e + 2);
        cr_assert_eq(c[e], expected, "element %d is %d; expected %d", e, c[e], expected);
    }
}

Test(border_on_device, takes_0_outside_and_reports_at_the_next_wait)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        struct line line = open_line(&config);
        dcl_array *A = line.A, *C = line.C;
        TEST_OK(dcl_forall(line.cluster, plain, DCL_OUT(C), DCL_IN(A)));
        TEST_REFUSED(dcl_wait(line.cluster), DCL_ERR_RANGE, "outside its grid; 0 was taken; guard the read");
        bool low = strstr(dcl_error(), "A(-6)") != NULL, high = strstr(dcl_error(), "A(35)") != NULL;
        cr_expect(low || high, "the index is not named: %s", dcl_error());
        cr_expect_eq(dcl_status_of(line.cluster), DCL_ERR_RANGE);
        dcl_clear_error(line.cluster);
        expect_sums(C); /* the array has not failed */
        cr_expect_eq(dcl_wait(line.cluster), DCL_OK, "%s", dcl_error());
        cr_expect_eq(dcl_close(line.cluster), DCL_OK, "%s", dcl_error());
    }
}

static const char *const told = "went outside (operation ";

/* Each of these delivers what there is, and tells. */
static void expect_told(dcl_array *array, const char *path, bool tells)
{
    int32_t c[N] = {0}, loaded[N] = {0};
    dcl_status expected = tells ? DCL_ERR_RANGE : DCL_OK;
    dcl_array *copy = dcl_agile(dcl_grid_of(array), (dcl_map *)(uintptr_t)dcl_map_of(array));
    const dcl_status found[] = {dcl_read(array, NULL, c, NULL), dcl_wait_for(array, -1), dcl_save_npy(array, path)};
    for (int n = 0; n < 3; n++)
        cr_expect_eq(found[n], expected, "call %d: %s: %s", n, dcl_status_name(found[n]), dcl_error());
    cr_expect(!tells || (strstr(dcl_error(), told) != NULL && strncmp(dcl_error(), "dcl_save_npy: ", 14) == 0), "%s",
              dcl_error());
    TEST_OK(dcl_load_npy(copy, path)); /* the file was written, too */
    TEST_OK(dcl_read(copy, NULL, loaded, NULL));
    cr_expect(c[1] == 1 + 3 && c[N - 2] == N - 2 + N && memcmp(c, loaded, sizeof c) == 0);
    dcl_release(copy);
}

Test(border_on_device, is_told_by_what_delivers_the_result)
{
    dcl_config config = test_config(3);
    char path[TEST_PATH];
    test_make_folder();
    test_path(path, "c.npy");
    for (int mode = 0; mode < 2; mode++) {
        config.files = mode == 0 ? "direct" : "stream";
        config.chunk_bytes = 64; /* files in parts of the array */
        struct line line = open_line(&config);
        dcl_array *A = line.A, *C = line.C, *view = dcl_shift(C, (int64_t[]){1});
        dcl_box one = dcl_box_nd(1, (int64_t[]){4}, (int64_t[]){1});
        dcl_map *cyclic = dcl_map_parse(line.cluster, "cyclic(3)");
        int32_t c[N], element = 3 + 2 * 9;
        TEST_OK(dcl_forall(line.cluster, plain, DCL_OUT(C), DCL_IN(A)));
        TEST_REFUSED(dcl_read(view, NULL, c, NULL), DCL_ERR_RANGE, told); /* without a wait before */
        expect_told(C, path, true);
        expect_told(view, path, true);
        TEST_OK(dcl_read(A, NULL, c, NULL)); /* it was only read */
        TEST_OK(dcl_swap(A, C));
        expect_told(A, path, true);
        TEST_OK(dcl_swap(A, C));
        dcl_clear_error(NULL);
        TEST_OK(dcl_remap(C, cyclic));
        cr_expect_eq(dcl_status_of(NULL), DCL_OK, "a call that succeeds has recorded: %s", dcl_error());
        expect_told(C, path, true);
        TEST_OK(dcl_write(C, &one, &element, NULL)); /* a part is not enough */
        TEST_REFUSED(dcl_read(C, NULL, c, NULL), DCL_ERR_RANGE, told);
        cr_expect_eq(c[9], element);
        TEST_REFUSED(dcl_wait(line.cluster), DCL_ERR_RANGE, "outside its grid"); /* still the first */
        TEST_OK(dcl_forall(line.cluster, guarded, DCL_OUT(C), DCL_IN(A)));
        expect_told(C, path, false); /* overwritten, though the cluster has its error */
        TEST_OK(dcl_forall(line.cluster, plain, DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_load_npy(C, path)); /* overwrites it, too, whoever reads the file */
        expect_told(C, path, false);
        TEST_OK(dcl_forall(line.cluster, plain, DCL_OUT(C), DCL_IN(A)));
        TEST_REFUSED(dcl_wait_for(C, -1), DCL_ERR_RANGE, told);
        dcl_clear_error(line.cluster);
        expect_told(C, path, false);
        dcl_release(view);
        dcl_release(cyclic);
        cr_expect_eq(dcl_close(line.cluster), DCL_OK, "%s", dcl_error());
    }
    test_remove_folder();
}

Test(border_on_device, never_reports_guarded_reads)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        struct line line = open_line(&config);
        dcl_array *A = line.A, *C = line.C;
        TEST_OK(dcl_forall(line.cluster, guarded, DCL_OUT(C), DCL_IN(A)));
        cr_expect_eq(dcl_wait(line.cluster), DCL_OK, "%s", dcl_error());
        expect_sums(C);
        cr_expect_eq(dcl_close(line.cluster), DCL_OK, "%s", dcl_error());
    }
}

Test(border_on_device, is_not_reached_by_a_narrower_loop)
{
    dcl_config config = test_config(3);
    struct line line = open_line(&config);
    dcl_array *A = line.A, *C = line.C;
    dcl_box inside = dcl_box_nd(1, (int64_t[]){-4}, (int64_t[]){N - 2});
    int32_t c[N], seven = 7;
    TEST_OK(dcl_fill(C, &seven));
    TEST_OK(dcl_forall_over(line.cluster, &inside, plain, DCL_OUT(C), DCL_IN(A)));
    cr_expect_eq(dcl_wait(line.cluster), DCL_OK, "%s", dcl_error());
    TEST_OK(dcl_read(C, NULL, c, NULL));
    cr_expect(c[0] == 7 && c[1] == 1 + 3 && c[N - 2] == N - 2 + N && c[N - 1] == 7);
    cr_expect_eq(dcl_close(line.cluster), DCL_OK, "%s", dcl_error());
}

/* Kernels compute subscripts in 64 bits: 4 * 2^62 would be 0 there, an element that nobody has planned to be read. */
Test(border_on_device, beyond_64_bits_is_refused)
{
    dcl_config config = test_config(3);
    struct line line = open_line(&config);
    dcl_array *A = line.A, *C = line.C;
    dcl_box one = dcl_box_nd(1, (int64_t[]){4}, (int64_t[]){1}), low = dcl_box_nd(1, (int64_t[]){-2}, (int64_t[]){3});
    dcl_box none = dcl_box_nd(1, (int64_t[]){4}, (int64_t[]){0});
    const int64_t n = INT64_C(1) << 62;
    dcl_counters planned;
    TEST_REFUSED(dcl_forall_over(line.cluster, &one, "C(i) = A(4611686018427387904 * i);", DCL_OUT(C), DCL_IN(A)),
                 DCL_ERR_BODY, "line 1, column 8: subscript 1 of A does not fit 64 bits for some index");
    dcl_clear_error(line.cluster);
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A), DCL_VALUE(n)};
    TEST_REFUSED(
        dcl_call_explain(DCL_CALL_BODY_N(line.cluster, &one, "C(i) = A(n * i - 5);", 3, args), DCL_ALL_NODES, &planned),
        DCL_ERR_BODY, "subscript 1 of A does not fit 64 bits");
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(line.cluster, &low, "C(i) = A(n * i);", 3, args), DCL_ALL_NODES,
                             &planned)); /* -2^63 fits */
    TEST_REFUSED(
        dcl_call_explain(DCL_CALL_BODY_N(line.cluster, &low, "C(i) = A(n * i - 1);", 3, args), DCL_ALL_NODES, &planned),
        DCL_ERR_BODY, "subscript 1 of A does not fit 64 bits");
    TEST_OK(
        dcl_call_explain(DCL_CALL_BODY_N(line.cluster, &none, "C(i) = A(n * i);", 3, args), DCL_ALL_NODES, &planned));
    dcl_release(A);
    dcl_release(C);
    cr_expect_eq(dcl_close(line.cluster), DCL_OK, "%s", dcl_error());
}

/* Reads far outside, whole tiles of them, and of an array with fewer elements. */
Test(border_on_device, may_be_far_away)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        struct line line = open_line(&config);
        dcl_array *A = line.A, *C = line.C;
        int far = 1000000, c[N];
        TEST_OK(dcl_fill(C, &far));
        TEST_OK(test_shift(C, A, 1, far, 0));
        TEST_REFUSED(dcl_wait(line.cluster), DCL_ERR_RANGE, "A(");
        TEST_REFUSED(dcl_read(C, NULL, c, NULL), DCL_ERR_RANGE, "the elements were read");
        for (int e = 0; e < N; e++)
            cr_assert_eq(c[e], 0, "element %d is %d", e, c[e]);
        dcl_clear_error(line.cluster);
        far = 20;
        TEST_OK(test_shift(C, A, 1, far, 0));
        TEST_REFUSED(dcl_wait(line.cluster), DCL_ERR_RANGE, "A(");
        TEST_REFUSED(dcl_read(C, NULL, c, NULL), DCL_ERR_RANGE, "the elements were read");
        for (int e = 0; e < N; e++)
            cr_assert_eq(c[e], e < 20 ? e + 21 : 0, "element %d is %d", e, c[e]);
        cr_expect_eq(dcl_close(line.cluster), DCL_ERR_RANGE);
    }
}

Test(border_on_device, holds_for_arrays_read_anywhere)
{
    dcl_config config = test_config(3);
    struct line line = open_line(&config);
    dcl_array *A = line.A, *C = line.C;
    TEST_OK(dcl_forall(line.cluster, "C(i) = A((i * i) % 35);", DCL_OUT(C), DCL_IN_ALL(A))); /* 0..34: inside */
    cr_expect_eq(dcl_wait(line.cluster), DCL_OK, "%s", dcl_error());
    TEST_OK(dcl_forall(line.cluster, "C(i) = A(i == 7 ? 35 : -5);", DCL_OUT(C), DCL_IN_ALL(A)));
    TEST_REFUSED(dcl_wait(line.cluster), DCL_ERR_RANGE, "A(35)");
    int32_t c[N];
    TEST_REFUSED(dcl_read(C, NULL, c, NULL), DCL_ERR_RANGE, "A(35)");
    for (int e = 0; e < N; e++)
        cr_assert_eq(c[e], e == 12 ? 0 : 1, "element %d is %d", e, c[e]);
    cr_expect_eq(dcl_close(line.cluster), DCL_ERR_RANGE);
}

/* Two axes, two arrays: the one that is read outside is named, with all its subscripts. */
Test(border_on_device, names_the_array_and_all_subscripts)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *inner = dcl_agile(dcl_grid_2d(DCL_INT32, 4, 6), map),
              *wide = dcl_agile(dcl_grid_2d(DCL_INT32, 6, 5), map);
    TEST_OK(dcl_forall(cluster, "inner(i,j) = wide(i + 2, j - 1 > 0 ? 1 : 0) + wide(j, i);", DCL_OUT(inner),
                       DCL_IN_ALL(wide)));
    cr_expect_eq(dcl_wait(cluster), DCL_OK, "%s", dcl_error());
    TEST_OK(dcl_forall(cluster, "inner(i,j) = wide(i + 1, j);", DCL_OUT(inner), DCL_IN(wide)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "node ");
    cr_expect(strstr(dcl_error(), "wide(") != NULL && strstr(dcl_error(), ", 5)") != NULL, "%s", dcl_error());
    dcl_release(inner);
    dcl_release(wide);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_RANGE);
}

/* Rows that become fewer: what they are joined to, and that they have the same elements afterwards. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"
#include "segment/random.h"

static dcli_body *parse(const char *spec, const char *text)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse(spec, text, &body), DCL_OK, "%s", dcl_error());
    return body;
}

Test(kernel_join, indices_that_count)
{
    static const struct {
        const char *spec, *text;
        bool blind;
    } rows[] = {
        {"out C 2, in A 2", "C(i,j) = A(i,j);", true},
        {"out C 2, in A 2", "C(i,j) = A(2*j+1,i-3);", true},
        {"out C 2, in A 2", "int k = 3; C(i,j) = A(i,j) * k;", true}, /* k runs no axis */
        {"out C 2, in A 2", "C(i,j) = A(i,j) + i;", false},
        {"out C 2, in A 2", "if (j > 2) C(i,j) = A(i,j);", false},
        {"out C 2, all A 2", "C(i,j) = A(0,1);", false},
        {"out C 2, in A 2, all T 1", "C(i,j) = A(i,j) + T(j);", false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        dcli_body *body = parse(rows[r].spec, rows[r].text);
        cr_expect_eq(body->blind, rows[r].blind, "%s", rows[r].text);
        dcli_body_free(body);
    }
}

Test(kernel_join, macros_may_hide_indices)
{
    static const dcli_param params[] = {{.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1}};
    dcli_body *body = NULL;
    cr_assert_eq(dcli_body_parse("C(i) = NUMBER;", "#define NUMBER i\n", 1, params, &body), DCL_OK, "%s", dcl_error());
    cr_expect_not(body->blind);
    dcli_body_free(body);
    cr_assert_eq(dcli_body_parse("C(i) = half(3);", "float half(float x) { return x / 2; }", 1, params, &body), DCL_OK,
                 "%s", dcl_error());
    cr_expect(body->blind);
    dcli_body_free(body);
}

/* One row of C(i,j) and B(j,i), from offsets and steps. */
static void put(int64_t row[], int64_t n0, int64_t n1, const int64_t c[3], const int64_t b[3])
{
    int64_t filled[20] = {5, 6, 2, 3, n0, n1, c[0], c[1], c[2], b[0], b[1], b[2], 0, 0, 100, 100, 0, 0, 100, 100};
    memcpy(row, filled, sizeof filled);
}

/* Six pieces of 2 x 4, one behind the other, in any order: 12 rows of 4 elements are 48. */
Test(kernel_join, pieces_of_one_part_are_one_run)
{
    dcli_body *body = parse("out C 2, in B 2", "C(i,j) = B(i,j);");
    cr_assert_eq(dcli_row_length(body), 20);
    int64_t rows[6][20], count = 6;
    static const int64_t order[6] = {3, 0, 5, 1, 4, 2};
    for (int k = 0; k < 6; k++)
        put(rows[k], 2, 4, (int64_t[]){8 * order[k], 4, 1}, (int64_t[]){1000 + 8 * order[k], 4, 1});
    cr_assert_eq(dcli_rows_join(body, false, rows[0], &count), DCL_OK);
    cr_assert_eq(count, 1);
    cr_expect_eq(rows[0][4] * rows[0][5], 48);
    cr_expect_eq(rows[0][5], 48, "along the innermost axis");
    cr_expect_eq(rows[0][6], 0);
    cr_expect_eq(rows[0][9], 1000);
    cr_expect(dcli_row_is_unit(body, rows[0]));
    dcli_body_free(body);
}

/* Columns 0..1, 4..5, 8..9 of ten are columns 0..5 of this part, B's rows lie in a stage each: a transposition. */
Test(kernel_join, strips_of_a_transposition_are_one)
{
    dcli_body *body = parse("out C 2, in B 2", "C(i,j) = B(j,i);");
    int64_t rows[3][20], count = 3;
    for (int k = 0; k < 3; k++)
        put(rows[k], 8, 2, (int64_t[]){2 * k, 6, 1}, (int64_t[]){16 * k, 1, 8});
    cr_assert_eq(dcli_rows_join(body, false, rows[0], &count), DCL_OK);
    cr_assert_eq(count, 1);
    cr_expect_eq(rows[0][4], 8);
    cr_expect_eq(rows[0][5], 6);
    cr_expect(dcli_row_is_unit(body, rows[0]));
    dcli_body_free(body);
}

Test(kernel_join, what_fits_no_pattern_stays)
{
    dcli_body *body = parse("out C 2, in B 2", "C(i,j) = B(i,j);");
    int64_t rows[3][20], count = 3;
    put(rows[0], 1, 4, (int64_t[]){0, 0, 1}, (int64_t[]){0, 0, 1});
    put(rows[1], 1, 4, (int64_t[]){4, 0, 1}, (int64_t[]){9, 0, 1});  /* C goes on, B does not */
    put(rows[2], 1, 5, (int64_t[]){8, 0, 1}, (int64_t[]){14, 0, 1}); /* the same, and another length */
    cr_assert_eq(dcli_rows_join(body, false, rows[0], &count), DCL_OK);
    cr_expect_eq(count, 3);
    dcli_body_free(body);
}

Test(kernel_join, neighbours_of_other_lengths_are_joined)
{
    dcli_body *body = parse("out C 2, in B 2", "C(i,j) = B(i,j);");
    int64_t rows[4][20], count = 4;
    put(rows[0], 1, 5, (int64_t[]){20, 0, 1}, (int64_t[]){120, 0, 1});
    put(rows[1], 1, 4, (int64_t[]){0, 0, 1}, (int64_t[]){100, 0, 1});
    put(rows[2], 2, 6, (int64_t[]){4, 6, 1}, (int64_t[]){104, 6, 1}); /* twelve, one behind the other */
    put(rows[3], 1, 4, (int64_t[]){16, 0, 1}, (int64_t[]){116, 0, 1});
    cr_assert_eq(dcli_rows_join(body, false, rows[0], &count), DCL_OK);
    cr_expect_eq(count, 1);
    cr_expect_eq(rows[0][4] * rows[0][5], 25);
    cr_expect_eq(rows[0][6], 0, "C from its first element on");
    dcli_body_free(body);
}

/* A kernel does not step along an axis that stands in no subscript. */
Test(kernel_join, axes_are_only_stepped_where_subscripts_have_them)
{
    dcli_body *body = parse("out C 2, in B 1", "C(i,j) = B(j);");
    int length = dcli_row_length(body);
    int64_t rows[4 * 32], count = 4;
    cr_assert(length <= 32);
    for (int k = 0; k < 4; k++) {
        int64_t filled[32] = {0, 0, 1, 1, 1, 6, /* C */ 10 * k, 0, 1, /* B */ 7 * k, 0, 1};
        memcpy(rows + k * length, filled, (size_t)length * sizeof rows[0]);
    }
    cr_assert_eq(dcli_rows_join(body, false, rows, &count), DCL_OK);
    cr_expect_eq(count, 4, "B differs from row to row, and has no step along i");
    for (int k = 0; k < 4; k++)
        rows[k * length + 9] = 7;
    cr_assert_eq(dcli_rows_join(body, false, rows, &count), DCL_OK);
    cr_expect_eq(count, 1, "the same elements of B for all");
    dcli_body_free(body);
}

/* ---- the same elements, whatever is joined ------------------------------------------------------------------------ */

enum { MOST_ELEMENTS = 4096 };

struct elements {
    int64_t count, at[MOST_ELEMENTS][2];
};

static int by_place(const void *a, const void *b) { return memcmp(a, b, 2 * sizeof(int64_t)); }

static void list(int64_t rows[][20], int64_t count, struct elements *out)
{
    out->count = 0;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < rows[r][4]; i++)
            for (int64_t j = 0; j < rows[r][5]; j++) {
                cr_assert(out->count < MOST_ELEMENTS);
                out->at[out->count][0] = rows[r][6] + i * rows[r][7] + j * rows[r][8];
                out->at[out->count++][1] = rows[r][9] + i * rows[r][10] + j * rows[r][11];
            }
    qsort(out->at, (size_t)out->count, sizeof out->at[0], by_place);
}

/* Three axes of random extents, taken apart: some are loops of a row, others are many rows; a few rows are missing. */
static int64_t take_apart(test_random *random, int64_t rows[][20])
{
    int64_t n[4], c[4], b[4], next = 1, count = 0;
    for (int d = 3; d >= 0; d--) {
        n[d] = test_between(random, 1, 5);
        c[d] = next;
        next *= n[d] + (test_between(random, 0, 3) == 0);
    }
    next = 1;
    for (int k = 0, d = (int)test_between(random, 0, 3), by = test_between(random, 0, 1) ? 1 : 3; k < 4;
         k++, d = (d + by) % 4) {
        b[d] = next;
        next *= n[d];
    }
    for (int64_t u = 0; u < n[0]; u++)
        for (int64_t v = 0; v < n[1]; v++)
            if (test_between(random, 0, 15) > 0)
                put(rows[count++], n[2], n[3], (int64_t[]){u * c[0] + v * c[1], c[2], c[3]},
                    (int64_t[]){u * b[0] + v * b[1], b[2], b[3]});
    for (int64_t r = count - 1; r > 0; r--) {
        int64_t other = test_between(random, 0, r), held[20];
        memcpy(held, rows[r], sizeof held);
        memcpy(rows[r], rows[other], sizeof held);
        memcpy(rows[other], held, sizeof held);
    }
    return count;
}

Test(kernel_join, elements_stay_the_same)
{
    static struct elements before, after;
    static int64_t rows[25][20];
    dcli_body *body = parse("out C 2, in B 2", "C(i,j) = B(j,i);");
    int64_t fewer = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        test_random random = seed;
        int64_t all = take_apart(&random, rows), count = all;
        list(rows, count, &before);
        cr_assert_eq(dcli_rows_join(body, false, rows[0], &count), DCL_OK);
        list(rows, count, &after);
        cr_assert_eq(before.count, after.count, "seed %" PRIu64 ": %" PRId64 " elements of %" PRId64, seed, after.count,
                     before.count);
        cr_assert(memcmp(before.at, after.at, (size_t)before.count * sizeof before.at[0]) == 0, "seed %" PRIu64, seed);
        fewer += count < all;
    }
    cr_expect_gt(fewer, 1500, "%" PRId64 " of 3000 have a pattern", fewer);
    dcli_body_free(body);
}

Test(kernel_join, part_of_a_row)
{
    dcli_body *body = parse("out C 2, in B 2", "C(i,j) = B(j,i);");
    int64_t row[20], part[20];
    put(row, 8, 4, (int64_t[]){100, 4, 1}, (int64_t[]){200, 1, 8});
    dcli_row_part(body, row, (int64_t[]){2, 1}, (int64_t[]){3, 2}, part);
    cr_expect_eq(part[0], 5 + 2 * 2, "start of i, in strides of 2");
    cr_expect_eq(part[1], 6 + 1 * 3);
    cr_expect_eq(part[4], 3);
    cr_expect_eq(part[5], 2);
    cr_expect_eq(part[6], 100 + 2 * 4 + 1);
    cr_expect_eq(part[9], 200 + 2 + 8);
    dcli_body_free(body);
}

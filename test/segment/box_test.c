/* test/segment/box_test.c - boxes against rows checked by hand and against counting every index. */
#include "segment/box.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "random.h"

#define SEED UINT64_C(20240517)

static dcl_box run(int64_t start, int64_t count, int64_t stride)
{
    return (dcl_box){.rank = 1, .start = {start}, .count = {count}, .stride = {stride}};
}

static const char *text_of(const dcl_box *box)
{
    static char text[8][256];
    static int next;
    next = (next + 1) % 8;
    dcli_box_print(box, text[next], sizeof text[next]);
    return text[next];
}

struct run_case {
    char what[40];
    int64_t a[3], b[3]; /* start, count, stride */
    char common[64];
};

ParameterizedTestParameters(box, intersect_runs)
{
    static struct run_case cases[] = {
        {"overlapping intervals", {0, 6, 1}, {4, 6, 1}, "[4:6]"},
        {"touching, nothing common", {0, 4, 1}, {4, 4, 1}, "[0:0]"},
        {"even and multiples of three", {0, 50, 2}, {0, 34, 3}, "[0:102:6]"},
        {"even and odd", {0, 50, 2}, {1, 50, 2}, "[0:0]"},
        {"one common element has stride 1", {0, 3, 4}, {2, 2, 6}, "[8:9]"},
        {"negative starts", {-10, 8, 3}, {-9, 20, 2}, "[-7:17:6]"},
        {"empty", {0, 0, 1}, {0, 9, 1}, "[0:0]"},
        {"a single one with a stride", {5, 1, 10}, {0, 10, 1}, "[5:6]"},
        {"coprime strides meet late", {0, INT64_C(1) << 40, 1000003}, {1, INT64_C(1) << 40, 999983}, ""},
        {"both ends of int64_t", {INT64_MIN, 2, INT64_MAX}, {-1, 5, 1}, "[-1:0]"},
        {"a progression that leaves int64_t", {0, INT64_MAX, INT64_MAX}, {0, INT64_MAX, INT64_MAX - 1}, "[0:1]"},
        {"large equal strides", {7, 3, INT64_MAX / 4}, {7, 9, INT64_MAX / 4}, ""},
    };
    return cr_make_param_array(struct run_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct run_case *c, box, intersect_runs)
{
    dcl_box a = run(c->a[0], c->a[1], c->a[2]), b = run(c->b[0], c->b[1], c->b[2]), ab, ba;
    bool some = dcli_box_intersect(&a, &b, &ab);
    cr_expect_eq(some, !dcli_box_is_empty(&ab), "%s", c->what);
    cr_expect_eq(dcli_box_intersect(&b, &a, &ba), some, "%s: the other way round", c->what);
    cr_expect(dcli_box_equal(&ab, &ba), "%s: %s and %s", c->what, text_of(&ab), text_of(&ba));
    if (c->common[0] != '\0')
        cr_expect_str_eq(text_of(&ab), c->common, "%s: %s, expected %s", c->what, text_of(&ab), c->common);
    else { /* too large to write down: the first lies in both, the stride is the least common multiple */
        cr_expect(some && dcli_box_contains(&a, ab.start) && dcli_box_contains(&b, ab.start), "%s", c->what);
        cr_expect(ab.stride[0] % a.stride[0] == 0 && ab.stride[0] % b.stride[0] == 0, "%s", c->what);
    }
}

Test(box, intersect_counts_every_index)
{
    test_random random = SEED;
    for (int n = 0; n < 3000; n++) {
        int rank = (int)test_between(&random, 1, 3);
        int64_t side = rank == 3 ? 5 : 12, index[3] = {-side, -side, -side}, counted = 0;
        dcl_box a = test_box(&random, rank, side), b = test_box(&random, rank, side), common;
        bool some = dcli_box_intersect(&a, &b, &common);
        bool right = true;
        do {
            bool in = dcli_box_contains(&a, index) && dcli_box_contains(&b, index);
            right &= in == dcli_box_contains(&common, index);
            counted += in;
        } while (test_next_index(index, rank, side));
        cr_assert(right && some == (counted > 0) && dcli_box_elements(&common) == counted,
                  "seed %" PRIu64 " case %d: %s and %s gave %s", SEED, n, text_of(&a), text_of(&b), text_of(&common));
    }
}

struct subtract_case {
    char what[40];
    int64_t a[3], b[3];
    char left[128];
};

ParameterizedTestParameters(box, subtract_runs)
{
    static struct subtract_case cases[] = {
        {"nothing common", {0, 4, 1}, {6, 2, 1}, "[0:4]"},
        {"all covered", {2, 4, 1}, {0, 10, 1}, ""},
        {"a hole in the middle", {0, 10, 1}, {3, 4, 1}, "[0:3] [7:10]"},
        {"every second: the odd ones are one run", {0, 10, 1}, {0, 5, 2}, "[1:11:2]"},
        {"every second from 1", {0, 4, 1}, {1, 2, 2}, "[0:4:2]"},
        {"every third inside: two classes", {0, 12, 1}, {0, 4, 3}, "[1:13:3] [2:14:3]"},
        {"few far apart: gaps", {0, 20, 1}, {0, 2, 10}, "[1:10] [11:20]"},
        {"classes end where the run does", {0, 20, 1}, {6, 4, 2}, "[0:6] [7:13:2] [13:20]"},
        {"in the counting of a", {0, 6, 3}, {3, 1, 1}, "[0:1] [6:18:3]"},
        {"empty a", {0, 0, 1}, {0, 4, 1}, ""},
        {"empty b", {0, 4, 1}, {0, 0, 1}, "[0:4]"},
    };
    return cr_make_param_array(struct subtract_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct subtract_case *c, box, subtract_runs)
{
    dcl_box a = run(c->a[0], c->a[1], c->a[2]), b = run(c->b[0], c->b[1], c->b[2]);
    dcli_box_list left = {0};
    cr_expect_eq(dcli_box_subtract(&a, &b, &left), DCL_OK);
    char text[512] = "";
    for (int64_t k = 0; k < left.count; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k > 0 ? " " : "", text_of(&left.box[k]));
    cr_expect_str_eq(text, c->left, "%s: %s, expected %s", c->what, text, c->left);
    dcli_box_list_free(&left);
}

Test(box, subtract_counts_every_index)
{
    test_random random = SEED + 1;
    for (int n = 0; n < 3000; n++) {
        int rank = (int)test_between(&random, 1, 3);
        int64_t side = rank == 3 ? 5 : 12, index[3] = {-side, -side, -side};
        dcl_box a = test_box(&random, rank, side), b = test_box(&random, rank, side);
        dcli_box_list left = {0};
        cr_assert_eq(dcli_box_subtract(&a, &b, &left), DCL_OK);
        bool right = true;
        do {
            int holders = 0;
            for (int64_t k = 0; k < left.count; k++)
                holders += dcli_box_contains(&left.box[k], index);
            right &= holders == (dcli_box_contains(&a, index) && !dcli_box_contains(&b, index));
        } while (test_next_index(index, rank, side));
        for (int64_t k = 0; k < left.count; k++)
            right &= !dcli_box_is_empty(&left.box[k]);
        cr_assert(right, "seed %" PRIu64 " case %d: %s without %s", SEED + 1, n, text_of(&a), text_of(&b));
        dcli_box_list_free(&left);
    }
}

Test(box, subtract_reports_lack_of_memory)
{
    dcl_box a = run(0, 10, 1), b = run(3, 1, 1);
    dcli_box_list left = {0};
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_box_subtract(&a, &b, &left), DCL_ERR_NOMEM);
    cr_expect_eq(left.count, 0);
}

/* The smallest box: no axis can start later, end earlier or have a larger stride. */
static bool is_bound(const dcl_box *a, const dcl_box *b, const dcl_box *bound)
{
    if (dcli_box_is_empty(a) || dcli_box_is_empty(b))
        return dcli_box_equal(bound, dcli_box_is_empty(a) ? b : a);
    for (int d = 0; d < a->rank; d++) {
        int64_t seen = 0;
        for (int64_t x = bound->start[d]; x < bound->start[d] + bound->count[d] * bound->stride[d]; x++) {
            dcl_box axis_a = run(a->start[d], a->count[d], a->stride[d]),
                    axis_b = run(b->start[d], b->count[d], b->stride[d]);
            if (!dcli_box_contains(&axis_a, &x) && !dcli_box_contains(&axis_b, &x))
                continue;
            int64_t t = (x - bound->start[d]) / bound->stride[d];
            if ((x - bound->start[d]) % bound->stride[d] != 0 || (seen == 0 && t != 0))
                return false;
            seen++;
            if (t == bound->count[d] - 1)
                seen += 1000; /* the last one is used */
        }
        if (seen < 1000)
            return false;
    }
    return true;
}

Test(box, bound_is_the_smallest_around_both)
{
    test_random random = SEED + 2;
    for (int n = 0; n < 2000; n++) {
        int rank = (int)test_between(&random, 1, 3);
        dcl_box a = test_box(&random, rank, 12), b = test_box(&random, rank, 12), bound, common;
        dcli_box_bound(&a, &b, &bound);
        bool right = is_bound(&a, &b, &bound);
        right &= dcli_box_is_empty(&a) || (dcli_box_intersect(&a, &bound, &common) && dcli_box_equal(&a, &common));
        right &= dcli_box_is_empty(&b) || (dcli_box_intersect(&b, &bound, &common) && dcli_box_equal(&b, &common));
        cr_assert(right, "seed %" PRIu64 " case %d: %s around %s and %s", SEED + 2, n, text_of(&bound), text_of(&a),
                  text_of(&b));
    }
    dcl_box a = run(4, 1, 1), b = run(10, 1, 1);
    dcli_box_bound(&a, &b, &a); /* in place */
    cr_expect_str_eq(text_of(&a), "[4:16:6]");
}

Test(box, part_counts_in_the_box)
{
    dcl_box box = {.rank = 2, .start = {10, 0}, .count = {5, 4}, .stride = {3, 1}}, part;
    dcli_box_part(&box, (int64_t[]){1, 2}, (int64_t[]){3, 1}, &part);
    cr_expect_str_eq(text_of(&part), "[13:22:3, 2:3]");
    dcli_box_part(&box, (int64_t[]){4, 0}, (int64_t[]){1, 4}, &part);
    cr_expect_str_eq(text_of(&part), "[22:23, 0:4]");
    cr_expect_eq(part.stride[0], 1);
}

Test(box, print_counts_like_snprintf)
{
    dcl_box box = {.rank = 2, .start = {0, 2}, .count = {4, 4}, .stride = {1, 2}};
    char text[64], little[6];
    cr_expect_eq(dcli_box_print(&box, text, sizeof text), 13);
    cr_expect_str_eq(text, "[0:4, 2:10:2]");
    cr_expect_eq(dcli_box_print(&box, little, sizeof little), (int)strlen(text));
    cr_expect_str_eq(little, "[0:4,");
    cr_expect_eq(dcli_box_print(&box, NULL, 0), (int)strlen(text));
    dcl_box huge = {.rank = 1, .start = {INT64_MAX - 1}, .count = {2}, .stride = {1}};
    dcli_box_print(&huge, text, sizeof text);
    cr_expect_str_eq(text, "[9223372036854775806:9223372036854775807]");
}

Test(box, equality_ignores_strides_of_single_elements)
{
    dcl_box a = run(5, 1, 1), b = run(5, 1, 7), c = run(5, 2, 1), d = run(5, 2, 2), none = run(3, 0, 1),
            nil = run(9, 0, 4);
    cr_expect(dcli_box_equal(&a, &b));
    cr_expect(!dcli_box_equal(&a, &c));
    cr_expect(!dcli_box_equal(&c, &d));
    cr_expect(dcli_box_equal(&none, &nil));
    cr_expect(!dcli_box_equal(&none, &a));
}

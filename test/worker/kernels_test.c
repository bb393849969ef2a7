/* test/worker/kernels_test.c - bodies by number: when they end. */
#include <criterion/criterion.h>
#include <string.h>

#include "worker/kernels.h"

static int bodies_ended;

static void count_end(void *user, const dcli_body *body)
{
    (void)user, (void)body;
    bodies_ended++;
}

static dcl_status add(dcli_kernels *kernels, int64_t number, dcli_kernel **kernel_out)
{
    dcli_msg_parameter parameter[] = {
        {.access = DCL_ACCESS_OUT, .type = DCL_INT32, .rank = 1, .turned = -1, .name = "C"},
        {.access = DCL_ACCESS_VALUE, .type = DCL_INT64, .turned = -1, .name = "a"},
        {.access = DCL_ACCESS_VALUE, .type = DCL_INT64, .turned = -1, .name = "b"},
        {.access = DCL_ACCESS_IN, .type = DCL_INT32, .rank = 1, .turned = -1, .name = "A"}};
    dcli_msg_kernel message = {.kernel = number,
                               .over = "",
                               .text = "C(i) = A(i + a) + (int)b;",
                               .prelude = "",
                               .parameter_count = 4,
                               .parameter = parameter};
    return dcli_kernels_add(kernels, &message, kernel_out);
}

static dcli_parsed bodies;

static void forget(dcli_kernels *kernels, int64_t number)
{
    dcli_kernels_forget(kernels, &(dcli_msg_kernel){.forgotten = &number, .forgotten_count = 1});
}

Test(kernels, end_with_their_last_use_once_forgotten)
{
    static dcli_kernels kernels;
    dcli_kernel *kernel, *other;
    bodies_ended = 0;
    dcli_parsed_init(&bodies);
    dcli_kernels_init(&kernels, &bodies, count_end, NULL);
    cr_assert_eq(add(&kernels, 1, &kernel), DCL_OK, "%s", dcl_error());
    cr_assert_eq(add(&kernels, 257, &other), DCL_OK, "%s", dcl_error()); /* of the same bucket */
    cr_expect_eq(add(&kernels, 1, &other), DCL_ERR_PROTOCOL);
    cr_expect_not_null(strstr(dcl_error(), "is there already"), "%s", dcl_error());
    cr_expect(kernel->shapes[1] && !kernel->shapes[2], "`a` stands in a subscript, `b` does not");
    kernel->uses = 1;
    forget(&kernels, 1);
    forget(&kernels, 9);
    cr_expect_eq(dcli_kernels_find(&kernels, 1), kernel, "an open operation runs it");
    cr_expect(kernel->forgotten);
    cr_expect_eq(bodies_ended, 0);
    dcli_kernels_end_use(&kernels, kernel);
    cr_expect_null(dcli_kernels_find(&kernels, 1));
    cr_expect_eq(bodies_ended, 1);
    forget(&kernels, 257);
    cr_expect_null(dcli_kernels_find(&kernels, 257), "nothing runs it");
    cr_expect_eq(bodies_ended, 2);
    dcli_kernels_free(&kernels);
    dcli_parsed_free(&bodies);
}

/* Threads of one process run one body: it lasts until the last of them has ended it. */
Test(kernels, peers_of_a_process_parse_once)
{
    static dcli_kernels kernels[2];
    dcli_kernel *kernel[2];
    dcli_parsed_init(&bodies);
    for (int p = 0; p < 2; p++) {
        dcli_kernels_init(&kernels[p], &bodies, count_end, NULL);
        cr_assert_eq(add(&kernels[p], 1, &kernel[p]), DCL_OK, "%s", dcl_error());
    }
    cr_expect_eq(kernel[0]->body, kernel[1]->body);
    forget(&kernels[0], 1);
    cr_expect_str_eq(kernel[1]->body->text, "C(i) = A(i + a) + (int)b;");
    cr_expect_eq(add(&kernels[0], 1, &kernel[0]), DCL_OK, "%s", dcl_error());
    cr_expect_eq(kernel[0]->body, kernel[1]->body);
    for (int p = 0; p < 2; p++)
        dcli_kernels_free(&kernels[p]);
    dcli_parsed_free(&bodies);
}

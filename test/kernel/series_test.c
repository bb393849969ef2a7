/* test/kernel/series_test.c - the program of a series: accesses that share an offset. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/series.h"
#include "kernel/spec.h"

/* The program of a body that writes C. @return text, freed with dcli_free() */
static char *source_of(const char *text)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in A 2, in B 2", text, &body), DCL_OK, "%s", dcl_error());
    cr_assert(dcli_series_takes(body));
    const dcli_body *bodies[] = {body};
    char *source = dcli_series_source(1, bodies);
    cr_assert_not_null(source);
    dcli_body_free(body);
    return source;
}

/* Four neighbours of A share the offset of one of them, in rows in which all lie in one memory at their distance; in others, each
 * has its own. With fewer neighbours, and with reads of other arrays, each has its own. */
Test(kernel_series, neighbours_share_an_offset)
{
    char *shared = source_of("C(i,j) = A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1);"),
         *few = source_of("C(i,j) = A(i,j) + A(i-1,j);"), *others = source_of("C(i,j) = A(i,j) + B(i,j);");
    const char *test = strstr(shared, "    if (true"), *otherwise = test != NULL ? strstr(test, "} else {") : NULL;
    cr_assert_not_null(test);
    cr_assert_not_null(otherwise);
    int follow = 0;
    for (const char *at = test; (at = strstr(at, "\n        && dcl_p")) != NULL && at < otherwise; at++)
        follow++;
    cr_expect_eq(follow, 3, "a condition for each of three accesses: %d", follow);
    cr_expect_null(strstr(few, "    if (true"));
    cr_expect_null(strstr(others, "    if (true"));
    dcli_free(others);
    dcli_free(few);
    dcli_free(shared);
}

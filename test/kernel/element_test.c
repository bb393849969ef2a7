/* test/kernel/element_test.c - recognizing the bodies that combine partial results into an element. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/element.h"

TestSuite(kernel_element);

static const dcl_type types[] = {DCL_INT8,   DCL_INT16,  DCL_INT32,  DCL_INT64, DCL_UINT8,
                                 DCL_UINT16, DCL_UINT32, DCL_UINT64, DCL_FLOAT, DCL_DOUBLE};

enum { TYPES = sizeof types / sizeof types[0] };

/* Parse a combining body with the arguments that the runtime gives it, and look at it. */
static dcli_combines look_at(const char *text, const char *prelude, dcl_access access, dcl_type type, int rank,
                             const char *last)
{
    const dcli_param params[DCLI_ELEMENT_PARAMS] = {
        {.name = DCLI_ELEMENT, .access = access, .type = type, .rank = rank, .turned = -1},
        {.name = DCLI_ELEMENT_WORDS, .access = DCL_ACCESS_IN_ALL, .type = DCL_INT64, .rank = 1, .turned = -1},
        {.name = DCLI_ELEMENT_FIRST, .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .turned = -1},
        {.name = DCLI_ELEMENT_STEP, .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .turned = -1},
        {.name = DCLI_ELEMENT_COUNT, .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .turned = -1},
        {.name = DCLI_ELEMENT_STAMP, .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .turned = -1}};
    char line[32];
    snprintf(line, sizeof line, "%s\n", last);
    char *all = dcli_malloc(strlen(prelude) + sizeof line);
    cr_assert(all != NULL);
    strcpy(all, prelude);
    strcat(all, line);
    dcli_body *body = NULL;
    cr_assert_eq(dcli_body_parse(text, all, DCLI_ELEMENT_PARAMS, params, &body), DCL_OK, "%s", dcl_error());
    dcli_combines combines = dcli_element_recognize(body);
    dcli_body_free(body);
    dcli_free(all);
    return combines;
}

Test(kernel_element, its_own_texts)
{
    for (int t = 0; t < TYPES; t++)
        for (dcli_fold fold = DCLI_FOLD_SUM; fold < DCLI_FOLD_OWN; fold++)
            for (int rank = 1; rank <= 3; rank += 2) {
                char *text, *prelude;
                cr_assert_eq(dcli_element_source(fold, types[t], rank, false, false, &text, &prelude), DCL_OK);
                dcli_combines combines = look_at(text, prelude, DCL_ACCESS_OUT, types[t], rank, "");
                cr_expect(combines.known, "operator %d, type %d, rank %d", fold, types[t], rank);
                /* any= has the text of |= */
                cr_expect_eq(combines.fold, fold == DCLI_FOLD_ANY ? DCLI_FOLD_OR : fold, "operator %d, type %d: %d",
                             fold, types[t], combines.fold);
                dcli_free(text);
                dcli_free(prelude);
            }
}

Test(kernel_element, other_texts)
{
    char *text, *prelude, changed[8192];
    cr_assert_eq(dcli_element_source(DCLI_FOLD_SUM, DCL_DOUBLE, 1, true, false, &text, &prelude), DCL_OK);
    cr_expect_not(look_at(text, prelude, DCL_ACCESS_INOUT, DCL_DOUBLE, 1, "").known, "one that adds to the element");
    dcli_free(text);
    dcli_free(prelude);
    cr_assert_eq(dcli_element_source(DCLI_FOLD_SUM, DCL_DOUBLE, 1, false, false, &text, &prelude), DCL_OK);
    cr_expect_not(look_at(text, prelude, DCL_ACCESS_OUT, DCL_FLOAT, 1, "").known, "an element of another type");
    cr_expect_not(look_at(text, prelude, DCL_ACCESS_OUT, DCL_DOUBLE, 1, "typedef int t;").known, "a longer prelude");
    cr_assert(strlen(text) + 2 < sizeof changed);
    snprintf(changed, sizeof changed, "%s;", text);
    cr_expect_not(look_at(changed, prelude, DCL_ACCESS_OUT, DCL_DOUBLE, 1, "").known, "a longer text");
    dcli_free(text);
    dcli_free(prelude);
}

/* test/runtime/foresight_test.c - valid lines of storages, as operations that are only looked at would leave them. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/foresight.h"

Test(foresight, a_storage_at_the_address_of_an_ended_one_is_new)
{
    dcli_foresight foresight = {0};
    dcli_storage_state state = {.id = 4};
    dcli_valid_lines *lines = dcli_foresight_lines(&foresight, &state), none = {0};
    cr_assert_not_null(lines);
    memset(lines, 1, sizeof *lines); /* an operation would make lines valid */
    cr_expect_eq(dcli_foresight_lines(&foresight, &state), lines, "the storage is known");
    state = (dcli_storage_state){.id = 5}; /* dcl_remap() by another thread: a new storage, whose lines are not valid */
    lines = dcli_foresight_lines(&foresight, &state);
    cr_assert_not_null(lines);
    cr_expect_eq(memcmp(lines, &none, sizeof none), 0, "it has no valid lines");
    cr_expect_eq(foresight.count, 2);
    dcli_foresight_free(&foresight);
}

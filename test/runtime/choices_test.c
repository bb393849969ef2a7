/* test/runtime/choices_test.c - choices that are remembered for kinds of calls. */
#include <criterion/criterion.h>

#include "runtime/choices.h"

enum { MAX = 64 };

Test(choices, the_least_recently_used_one_makes_room)
{
    dcli_choices choices = {0};
    bool chosen = true;
    cr_expect_not(dcli_choices_find(&choices, 1, &chosen));
    for (uint64_t hash = 1; hash <= MAX; hash++)
        dcli_choices_add(&choices, hash, hash % 2 == 0);
    cr_expect(dcli_choices_find(&choices, 1, &chosen) && !chosen);
    dcli_choices_add(&choices, 1000, true); /* 2 was not used since 1 was found */
    cr_expect_not(dcli_choices_find(&choices, 2, &chosen));
    cr_expect(dcli_choices_find(&choices, 1000, &chosen) && chosen);
    for (uint64_t hash = 3; hash <= MAX; hash++)
        cr_expect(dcli_choices_find(&choices, hash, &chosen) && chosen == (hash % 2 == 0));
    cr_expect(dcli_choices_find(&choices, 1, &chosen) && !chosen);
    dcli_choices_free(&choices);
    cr_expect_not(dcli_choices_find(&choices, 1, &chosen));
}

/* test/worker/gain_test.c - whether lending shortens calls, from the times of calls with loans and without. */
#include <criterion/criterion.h>

#include "worker/gain.h"

/* Let a body run: lend when the gain says so. @return how many of the calls were lent */
static int run_calls(dcli_gain *gain, int calls, int64_t lent_ns, int64_t kept_ns)
{
    int count = 0;
    for (int n = 0; n < calls; n++) {
        bool lends = dcli_gain_lends(gain);
        dcli_gain_add(gain, lends, lends ? lent_ns : kept_ns);
        count += lends;
    }
    return count;
}

Test(gain, tries_both_at_first)
{
    dcli_gain gain = {.calls = 0};
    cr_expect_eq(run_calls(&gain, 2, 100, 200), 2);
    cr_expect_eq(run_calls(&gain, 2, 100, 200), 0);
}

Test(gain, does_what_takes_less_time_and_tries_the_other_twice_in_64_calls)
{
    dcli_gain gain = {.calls = 0};
    run_calls(&gain, 64, 100, 200);
    cr_expect_eq(run_calls(&gain, 640, 100, 200), 620, "lent calls are shorter");
    cr_expect_eq(run_calls(&gain, 64, 150, 100), 1, "the first kept call shows that it is shorter now");
    cr_expect_eq(run_calls(&gain, 640, 150, 100), 20);
    run_calls(&gain, 64, 50, 100);
    cr_expect_eq(run_calls(&gain, 640, 50, 100), 620, "lent calls are shorter again");
}

Test(gain, lends_nothing_for_a_gain_that_may_be_an_accident)
{
    dcli_gain gain = {.calls = 0};
    run_calls(&gain, 64, 98, 100);
    cr_expect_eq(run_calls(&gain, 64, 98, 100), 2);
}

/* A busy machine only adds to times. */
Test(gain, one_long_call_of_three_changes_nothing)
{
    dcli_gain gain = {.calls = 0};
    run_calls(&gain, 66, 100, 200);
    dcli_gain_add(&gain, true, 1000);
    cr_expect(dcli_gain_lends(&gain));
}

/* Nobody asks for batches of a call whose nodes end at the same time. */
Test(gain, without_any_loan_it_goes_on_lending)
{
    dcli_gain gain = {.calls = 0};
    for (int n = 0; n < 200; n++) {
        cr_expect(dcli_gain_lends(&gain));
        dcli_gain_add(&gain, false, 100);
    }
}

/* Nodes of other hosts are lent to in any case, so there may be no call without loans; or batches are lent that nobody wants to keep. */
Test(gain, goes_on_trying_if_no_call_is_kept)
{
    dcli_gain gain = {.calls = 0};
    int lends = 0;
    for (int n = 0; n < 640; n++) {
        lends += dcli_gain_lends(&gain);
        dcli_gain_add(&gain, true, 100);
    }
    cr_expect_eq(lends, 20);
}

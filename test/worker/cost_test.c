/* test/worker/cost_test.c - the cost of an element, from measured times. */
#include <criterion/criterion.h>

#include "worker/cost.h"

Test(worker_cost, is_the_median_of_the_last_three)
{
    dcli_cost cost = {.samples = 0};
    cr_expect_eq(dcli_cost_ns(&cost), 0);
    dcli_cost_add(&cost, 900, 10, 1);
    cr_expect_eq(dcli_cost_ns(&cost), 0, "the first may have met a compiler");
    dcli_cost_add(&cost, 20, 10, 1);
    cr_expect_eq(dcli_cost_ns(&cost), 2, "the smaller of two");
    dcli_cost_add(&cost, 15, 10, 2);
    cr_expect_eq(dcli_cost_ns(&cost), 3, "on two units");
    dcli_cost_add(&cost, 50, 10, 1);
    cr_expect_eq(dcli_cost_ns(&cost), 3, "in place of 90");
    dcli_cost_add(&cost, 60, 10, 1);
    cr_expect_eq(dcli_cost_ns(&cost), 5);
}

Test(worker_cost, times_that_are_not_known_do_not_count)
{
    dcli_cost cost = {.samples = 0};
    dcli_cost_add(&cost, 0, 10, 1);
    dcli_cost_add(&cost, 10, 0, 1);
    cr_expect_eq(cost.samples, 0);
}

Test(worker_cost, is_asked_for_at_first_and_then_now_and_then)
{
    dcli_cost cost = {.samples = 0};
    int due = 0;
    for (int n = 0; n < 3; n++) {
        cr_expect(dcli_cost_due(&cost, false));
        dcli_cost_add(&cost, 10, 10, 1);
    }
    for (int n = 0; n < 160; n++)
        due += dcli_cost_due(&cost, false);
    cr_expect_eq(due, 10);
}

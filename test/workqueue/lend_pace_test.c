/* test/workqueue/lend_pace_test.c - how many batches that can be lent are launched together, and when a node asks. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>

#include "workqueue/lend_pace.h"

struct launch_case {
    char what[48];
    int64_t possible;
    bool all;
    double batch_ns;
    int64_t count;
    int others;
};

ParameterizedTestParameters(lend_pace, launch)
{
    static struct launch_case cases[] = {
        /* what                                  possible all    batch_ns count others */
        {"unknown: one, to measure it", 64, true, 0, 1, 1},
        {"an operation of 2 ms is one launch", 64, true, 31250, 64, 1},
        {"a longer one is not", 64, true, 31251, 31, 1},
        {"a third of the rest", 36, false, 100000, 12, 1},
        {"at most 2 ms", 1000, false, 100000, 20, 1},
        {"at least 1 ms", 24, false, 50000, 20, 1},
        {"the rest of 1 ms is one launch", 20, false, 50000, 20, 1},
        {"of four others, too", 20, false, 50000, 20, 4},
        {"of many others, at least 500 us", 12, false, 50000, 10, 5},
        {"and the rest of 500 us is one launch", 20, false, 25000, 20, 5},
        {"long batches", 64, true, 1e9, 1, 1},
        {"batches of 500 us", 8, false, 500000, 2, 1},
        {"the last one", 1, false, 1e9, 1, 1},
    };
    return cr_make_param_array(struct launch_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct launch_case *c, lend_pace, launch)
{
    int64_t count = dcli_lend_launch(c->possible, c->all, c->batch_ns, c->others);
    cr_expect_eq(count, c->count, "%s: %" PRId64 ", expected %" PRId64, c->what, count, c->count);
}

Test(lend_pace, many_nodes_are_lent_less_at_once)
{
    cr_expect_eq(dcli_lend_at_once(1), DCLI_LEND_AT_ONCE);
    cr_expect_eq(dcli_lend_at_once(4), DCLI_LEND_AT_ONCE);
    cr_expect_eq(dcli_lend_at_once(5), 8);
}

Test(lend_pace, a_device_has_enough_to_do)
{
    const int64_t long_ns = 2000000;
    cr_expect_not(dcli_lend_is_enough(1, long_ns, false, false), "another launch must follow");
    cr_expect(dcli_lend_is_enough(2, 250000, false, false));
    cr_expect_not(dcli_lend_is_enough(2, 249999, false, false), "two short ones");
    cr_expect_not(dcli_lend_is_enough(2, 1999999, true, false), "borrowed batches are launched for 2 ms");
    cr_expect(dcli_lend_is_enough(2, 2000000, true, false));
    cr_expect(dcli_lend_is_enough(1, 250000, false, true), "at the end of an operation one launch is enough");
    cr_expect_not(dcli_lend_is_enough(0, 0, false, true));
    cr_expect(dcli_lend_is_enough(2, 2 * dcli_lend_queued_ns(0), false, false), "of unknown time");
    cr_expect(dcli_lend_are_last(8, 128) && !dcli_lend_are_last(9, 128));
}

struct ask_case {
    char what[56];
    dcli_lend_load load;
    int64_t busy_ns;
    bool asks;
};

ParameterizedTestParameters(lend_pace, ask)
{
    static struct ask_case cases[] = {
        /* what, dry, launches, queued_ns, borrowed_ns, leaves_others, waiting, batches, batch_ns, busy, asks */
        {"nothing to do", {true, 0, 0, 0, false, 0, 0, 0}, 0, true},
        {"nothing to do before inputs arrive", {true, 0, 0, 0, true, 0, 0, 0}, 0, true},
        {"nothing to do now; batches of unknown time wait", {true, 0, 0, 0, false, 64, 64, 0}, 0, true},
        {"launched batches end soon", {false, 2, 1000000, 0, false, 0, 0, 0}, 1000000, true},
        {"launched and borrowed batches", {false, 2, 1000000, 1000000, false, 0, 0, 0}, 2000000, false},
        {"the last launch runs", {false, 1, 8000000, 0, false, 0, 0, 0}, 8000000, true},
        {"the last two launches", {false, 2, 8000000, 0, false, 0, 0, 0}, 8000000, true},
        {"a third one follows", {false, 3, 8000000, 0, false, 0, 0, 0}, 8000000, false},
        {"a borrowed batch follows it", {false, 1, 8000000, 8000000, false, 0, 0, 0}, 16000000, false},
        {"another operation follows it", {false, 1, 8000000, 0, true, 0, 0, 0}, INT64_MAX, false},
        {"the last batches of an operation", {false, 2, 500000, 0, false, 4, 64, 100000}, 900000, true},
        {"more than the last batches", {false, 2, 500000, 0, false, 5, 64, 100000}, INT64_MAX, false},
        {"the last batches, of unknown time", {false, 2, 500000, 0, false, 4, 64, 0}, INT64_MAX, false},
        {"borrowed batches of unknown time", {false, 2, 500000, INT64_MAX, false, 0, 0, 0}, INT64_MAX, false},
    };
    return cr_make_param_array(struct ask_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct ask_case *c, lend_pace, ask)
{
    int64_t busy_ns = dcli_lend_busy_ns(&c->load);
    cr_expect_eq(busy_ns, c->busy_ns, "%s: %" PRId64 ", expected %" PRId64, c->what, busy_ns, c->busy_ns);
    cr_expect_eq(dcli_lend_asks(&c->load), c->asks, "%s", c->what);
}

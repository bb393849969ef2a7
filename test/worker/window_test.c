/* test/worker/window_test.c - how many batches that can be lent are launched together. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>

#include "worker/window.h"

struct window_case {
    char what[48];
    int64_t possible;
    bool all;
    double batch_ns;
    int64_t count;
};

ParameterizedTestParameters(window, count)
{
    static struct window_case cases[] = {
        /* what                                  possible all    batch_ns count */
        {"unknown: an eighth", 64, true, 0, 8},
        {"unknown: at least one", 7, false, 0, 1},
        {"an operation of 2 ms is one launch", 64, true, 31250, 64},
        {"a longer one is not", 64, true, 31251, 4},
        {"a sixteenth of the rest", 128, false, 100000, 8},
        {"at most 1 ms", 1000, false, 100000, 10},
        {"at least 100 us", 10, false, 50000, 2},
        {"the rest of 100 us is one launch", 4, false, 25000, 4},
        {"long batches", 64, true, 1e9, 1},
        {"a batch of 500 us and more", 8, false, 500001, 1},
        {"the last one", 1, false, 1e9, 1},
    };
    return cr_make_param_array(struct window_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct window_case *c, window, count)
{
    int64_t count = dcli_window_count(c->possible, c->all, c->batch_ns);
    cr_expect_eq(count, c->count, "%s: %" PRId64 ", expected %" PRId64, c->what, count, c->count);
}

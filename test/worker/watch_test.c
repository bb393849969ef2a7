/* test/worker/watch_test.c - what counts as a hang: silence, and deadlines in time that the program was running. */
#include <criterion/criterion.h>

#include "worker/watch.h"

static const int64_t ms = 1000000;

enum { BUILD_MS = 300, KERNEL_MS = 200 };

static dcli_watch *make_watch(void)
{
    dcli_watch *watch = dcli_watch_make();
    cr_assert_not_null(watch);
    dcli_watch_limits(watch, BUILD_MS, KERNEL_MS, 0);
    return watch;
}

static void look(dcli_watch *watch, int64_t passed_ms, dcli_life expected)
{
    dcli_life life = dcli_watch_look(watch, passed_ms * ms);
    cr_expect_eq(life, expected, "after %d ms: %d; expected %d", (int)passed_ms, (int)life, (int)expected);
}

/* Whatever the clock says, only what the caller counts is counted. */
Test(watch, deadlines_count_the_time_of_the_looks)
{
    dcli_watch *watch = make_watch();
    dcli_watch_activity(watch, DCLI_COMPUTING, "a body");
    look(watch, 1000, DCLI_ALIVE); /* it has begun since the last look */
    look(watch, 100, DCLI_ALIVE);
    look(watch, 100, DCLI_ALIVE);
    look(watch, 1, DCLI_OVERDUE);
    dcli_watch_activity(watch, DCLI_COMPUTING, "a body");
    look(watch, 1000, DCLI_ALIVE);
    dcli_watch_activity(watch, DCLI_BUILDING, "another");
    look(watch, KERNEL_MS, DCLI_ALIVE);
    dcli_watch_activity(watch, DCLI_COMPUTING, NULL);
    look(watch, BUILD_MS, DCLI_ALIVE);
    look(watch, 1, DCLI_OVERDUE);
    dcli_watch_close(watch);
}

Test(watch, moving_data_has_a_limit_only_without_progress)
{
    enum { HOUR_MS = 3600000 };
    dcli_watch *watch = make_watch();
    dcli_watch_activity(watch, DCLI_MOVING, "a file");
    look(watch, 0, DCLI_ALIVE);
    look(watch, HOUR_MS, DCLI_ALIVE);
    dcli_watch_progress(watch, DCLI_MOVING);
    look(watch, HOUR_MS, DCLI_ALIVE);
    look(watch, HOUR_MS, DCLI_ALIVE);
    look(watch, 1, DCLI_OVERDUE);
    dcli_watch_close(watch);
}

Test(watch, a_tick_is_a_sign_of_life)
{
    dcli_watch *watch = make_watch();
    look(watch, 1, DCLI_ALIVE);
    look(watch, 1, DCLI_SILENT);
    dcli_watch_tick(watch);
    look(watch, 1, DCLI_ALIVE);
    look(watch, 1, DCLI_SILENT);
    dcli_watch_close(watch);
}

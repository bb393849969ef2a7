/* test/fleet/watchdog_test.c - what counts as a hang: silence, and deadlines in time that the program was running. */
#include <criterion/criterion.h>

#include "fleet/watchdog.h"

static const int64_t ms = 1000000;

enum { BUILD_MS = 300, KERNEL_MS = 200 };

static dcli_watchdog *make_watchdog(void)
{
    dcli_watchdog *watchdog = dcli_watchdog_make();
    cr_assert_not_null(watchdog);
    dcli_watchdog_limits(watchdog, BUILD_MS, KERNEL_MS, 0);
    return watchdog;
}

static void look(dcli_watchdog *watchdog, int64_t passed_ms, dcli_life expected)
{
    dcli_life life = dcli_watchdog_look(watchdog, passed_ms * ms);
    cr_expect_eq(life, expected, "after %d ms: %d; expected %d", (int)passed_ms, (int)life, (int)expected);
}

/* Whatever the clock says, only what the caller counts is counted. */
Test(watchdog, deadlines_count_the_time_of_the_looks)
{
    dcli_watchdog *watchdog = make_watchdog();
    dcli_watch_activity(dcli_watchdog_watch(watchdog), DCLI_COMPUTING, "a body");
    look(watchdog, 1000, DCLI_ALIVE); /* it has begun since the last look */
    look(watchdog, 100, DCLI_ALIVE);
    look(watchdog, 100, DCLI_ALIVE);
    look(watchdog, 1, DCLI_OVERDUE);
    dcli_watch_activity(dcli_watchdog_watch(watchdog), DCLI_COMPUTING, "a body");
    look(watchdog, 1000, DCLI_ALIVE);
    dcli_watch_activity(dcli_watchdog_watch(watchdog), DCLI_BUILDING, "another");
    look(watchdog, KERNEL_MS, DCLI_ALIVE);
    dcli_watch_activity(dcli_watchdog_watch(watchdog), DCLI_COMPUTING, NULL);
    look(watchdog, BUILD_MS, DCLI_ALIVE);
    look(watchdog, 1, DCLI_OVERDUE);
    dcli_watchdog_close(watchdog);
}

Test(watchdog, moving_data_has_a_limit_only_without_progress)
{
    enum { HOUR_MS = 3600000 };
    dcli_watchdog *watchdog = make_watchdog();
    dcli_watch_activity(dcli_watchdog_watch(watchdog), DCLI_MOVING, "a file");
    look(watchdog, 0, DCLI_ALIVE);
    look(watchdog, HOUR_MS, DCLI_ALIVE);
    dcli_watch_progress(dcli_watchdog_watch(watchdog), DCLI_MOVING);
    look(watchdog, HOUR_MS, DCLI_ALIVE);
    look(watchdog, HOUR_MS, DCLI_ALIVE);
    look(watchdog, 1, DCLI_OVERDUE);
    dcli_watchdog_close(watchdog);
}

Test(watchdog, a_tick_is_a_sign_of_life)
{
    dcli_watchdog *watchdog = make_watchdog();
    look(watchdog, 1, DCLI_ALIVE);
    look(watchdog, 1, DCLI_SILENT);
    dcli_watch_tick(dcli_watchdog_watch(watchdog));
    look(watchdog, 1, DCLI_ALIVE);
    look(watchdog, 1, DCLI_SILENT);
    dcli_watchdog_close(watchdog);
}

/* A process that is stopped right after its start is silent. Without a beat it would count as still being loaded. */
Test(watchdog, beats_as_soon_as_it_is_open)
{
    dcli_status_page page = {0};
    dcli_watchdog *watchdog = dcli_watchdog_open(&page, -1);
    cr_expect_geq(atomic_load(&page.beats), 1);
    cr_assert_not_null(watchdog);
    dcli_watchdog_close(watchdog);
}

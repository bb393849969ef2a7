/* test/fleet/process_test.c - when a worker process counts as silent. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fleet/process.h"

enum { SILENCE_MS = 30000, PERIOD_MS = 250 };

/* Look at it every 250 ms for so long. @return whether it was silent at some look. */
static bool is_silent_for(dcli_process *process, int64_t *now_ms, int64_t milliseconds)
{
    bool silent = false;
    for (int64_t end = *now_ms + milliseconds; *now_ms < end; *now_ms += PERIOD_MS)
        silent |= dcli_process_is_silent(process, *now_ms * 1000000, SILENCE_MS);
    return silent;
}

static dcli_process new_process(void)
{
    dcli_process process = {0};
    cr_assert_eq(dcli_process_prepare(&process), DCL_OK, "%s", dcl_error());
    atomic_store(&process.page->beats, 1);
    return process;
}

static void end(dcli_process *process)
{
    munmap(process->page, sizeof *process->page);
    close(process->status_memory);
}

Test(process, is_silent_without_beats)
{
    dcli_process process = new_process();
    int64_t now_ms = 1000;
    cr_expect(!is_silent_for(&process, &now_ms, SILENCE_MS));
    atomic_fetch_add(&process.page->beats, 1);
    cr_expect(!is_silent_for(&process, &now_ms, SILENCE_MS), "a beat has not counted");
    cr_expect(is_silent_for(&process, &now_ms, 3 * PERIOD_MS), "silence has not counted");
    end(&process);
}

/* A debugger or a batch system stops the program and its processes alike. */
Test(process, is_not_silent_while_all_is_stopped)
{
    dcli_process process = new_process();
    int64_t now_ms = 1000;
    cr_expect(!is_silent_for(&process, &now_ms, 1000));
    now_ms += 100 * SILENCE_MS;
    cr_expect(!is_silent_for(&process, &now_ms, 1000), "the stop has counted");
    cr_expect(is_silent_for(&process, &now_ms, SILENCE_MS), "silence after the stop has not counted");
    end(&process);
}

/* test/base/trace_test.c - the ring of recorded events. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/trace.h"

enum { ROOM = 4 };

static dcli_trace *open_ring(void)
{
    dcli_trace *trace = dcli_trace_open(ROOM * sizeof(dcli_trace_event));
    cr_assert_not_null(trace);
    return trace;
}

static void add(dcli_trace *trace, int64_t operation)
{
    dcli_trace_add(trace, &(dcli_trace_event){.kind = DCLI_TRACE_FILL, .operation = operation});
}

static void expect(dcli_trace *trace, int64_t first, int64_t count, int64_t dropped)
{
    dcli_trace_event event[ROOM + 1];
    int64_t was_dropped, kept;
    dcli_trace_count(trace, &was_dropped, &kept);
    cr_expect_eq(kept, count);
    cr_expect_eq(was_dropped, dropped);
    cr_assert_eq(dcli_trace_copy(trace, 0, ROOM + 1, event), count);
    for (int64_t n = 0; n < count; n++)
        cr_expect_eq(event[n].operation, first + n);
}

Test(trace, keeps_the_last_events_in_order_and_counts_the_others)
{
    dcli_trace *trace = open_ring();
    expect(trace, 0, 0, 0);
    for (int64_t n = 1; n <= ROOM; n++)
        add(trace, n);
    expect(trace, 1, ROOM, 0);
    for (int64_t n = ROOM + 1; n <= 2 * ROOM + 1; n++)
        add(trace, n);
    expect(trace, ROOM + 2, ROOM, ROOM + 1);
    dcli_trace_close(trace);
}

Test(trace, is_read_in_parts)
{
    dcli_trace *trace = open_ring();
    dcli_trace_event event[ROOM];
    for (int64_t n = 1; n <= ROOM + 1; n++)
        add(trace, n);
    cr_expect_eq(dcli_trace_copy(trace, 0, 3, event), 3);
    cr_expect_eq(event[2].operation, 4);
    cr_expect_eq(dcli_trace_copy(trace, 3, 3, event), 1);
    cr_expect_eq(event[0].operation, 5);
    cr_expect_eq(dcli_trace_copy(trace, 4, 3, event), 0);
    cr_expect_eq(dcli_trace_copy(trace, 99, 3, event), 0);
    dcli_trace_close(trace);
}

Test(trace, records_nothing_once_stopped)
{
    dcli_trace *trace = open_ring();
    add(trace, 1);
    dcli_trace_stop(trace);
    add(trace, 2);
    dcli_trace_add_dropped(trace, 7);
    expect(trace, 1, 1, 7);
    dcli_trace_close(trace);
}

Test(trace, has_room_for_an_event_whatever_its_size)
{
    dcli_trace *trace = dcli_trace_open(1);
    cr_assert_not_null(trace);
    add(trace, 1);
    add(trace, 2);
    expect(trace, 2, 1, 1);
    dcli_trace_close(trace);
}

Test(trace, numbers_names_once)
{
    dcli_trace *trace = open_ring();
    char name[300];
    cr_expect_eq(dcli_trace_name(trace, "C(i) = A(i);\nD(i) = 0;"), 1);
    cr_expect_eq(dcli_trace_name(trace, "x"), 2);
    cr_expect_eq(dcli_trace_name(trace, "C(i) = A(i);"), 1);
    cr_expect_str_eq(dcli_trace_text(trace, 1), "C(i) = A(i);");
    cr_expect_str_eq(dcli_trace_text(trace, 0), "");
    cr_expect_str_eq(dcli_trace_text(trace, 3), "");
    memset(name, 'n', sizeof name);
    name[299] = '\0';
    memcpy(name + 94, "\xC3\xBC", 2); /* u umlaut: the cut at 95 bytes would divide it */
    cr_expect_eq(strlen(dcli_trace_text(trace, dcli_trace_name(trace, name))), 94);
    for (int n = 0; n < DCLI_TRACE_NAMES - 3; n++) {
        snprintf(name, sizeof name, "name %d", n);
        cr_expect_eq(dcli_trace_name(trace, name), n + 4);
    }
    cr_expect_eq(dcli_trace_name(trace, "one too many"), 0);
    cr_expect_eq(dcli_trace_name(trace, "x"), 2);
    dcli_trace_close(trace);
}

Test(trace, takes_the_first_line_that_is_not_blank)
{
    dcli_trace *trace = open_ring();
    cr_expect_eq(dcli_trace_name(trace, "\n \t\r\n  B(i) = 1;\n"), 1);
    cr_expect_str_eq(dcli_trace_text(trace, 1), "B(i) = 1;");
    cr_expect_eq(dcli_trace_name(trace, " \n "), 0);
    cr_expect_eq(dcli_trace_name(trace, ""), 0);
    cr_expect_eq(dcli_trace_name(trace, "x"), 2);
    cr_expect_str_eq(dcli_trace_text(trace, 2), "x");
    dcli_trace_close(trace);
}

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* Processes of one time namespace have one number, a process of another one has another. */
Test(trace, knows_the_clock)
{
    uint64_t numbers[2] = {0, 0};
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    for (int child = 0; child < 2; child++) {
        pid_t id = fork();
        if (id == 0) { /* only children of the caller of unshare() are in the new namespace */
            bool shifted = child == 0 || unshare(CLONE_NEWTIME) == 0;
            if (child == 1 && shifted && (id = fork()) != 0) {
                waitpid(id, NULL, 0);
                _exit(0);
            }
            uint64_t number = shifted ? dcli_trace_clock_id() : 0;
            _exit(write(ends[1], &number, sizeof number) != sizeof number);
        }
        cr_assert(id > 0);
        waitpid(id, NULL, 0);
        cr_assert_eq(read(ends[0], &numbers[child], sizeof numbers[child]), (ssize_t)sizeof numbers[child]);
    }
    cr_expect_neq(numbers[0], 0);
    cr_expect_eq(numbers[0], dcli_trace_clock_id()); /* the children have asked before this process has */
    if (numbers[1] == 0)
        cr_skip_test("a time namespace cannot be made here");
    cr_expect_neq(numbers[0], numbers[1]);
}

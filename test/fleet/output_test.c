/* test/fleet/output_test.c - what processes print, on its way to the program's user: read, limited, shown. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/supervisor_inside.h"
#include "fleet/worker_pool_inside.h"

enum { SECONDS = 60, SHOWN_BYTES = 1 << 21 };

TestSuite(output, .timeout = SECONDS);

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static void print(int end, const char *text) { cr_assert_eq(write(end, text, strlen(text)), (ssize_t)strlen(text)); }

static const char *taken(dcli_output *output)
{
    static char text[8 * DCLI_OUTPUT_LINE];
    int64_t dropped;
    dcli_output_take(output, text, sizeof text, &dropped);
    cr_expect_eq(dropped, 0, "%" PRId64 " bytes dropped", dropped);
    return text;
}

Test(output, lines_are_cleaned_and_come_whole)
{
    dcli_output output;
    int end;
    cr_assert_eq(dcli_output_open(&output, &end), DCL_OK, "%s", dcl_error());
    dcli_output_read(&output);
    cr_expect_not(dcli_output_has_text(&output));
    print(end, "one\ntw");
    dcli_output_read(&output);
    cr_expect_str_eq(taken(&output), "one\n");
    print(end, "o\n\033[2J\r\n\xff\n\n");
    dcli_output_read(&output);
    cr_expect_str_eq(taken(&output), "two\n\\e[2J\\r\n\\xff\n\n");
    print(end, "no end");
    dcli_output_read(&output);
    cr_expect_str_eq(taken(&output), "");
    dcli_output_end_line(&output);
    cr_expect_str_eq(taken(&output), "no end\n");
    cr_assert_eq(write(end, "a\0b", 3), 3); /* what a message may not hold */
    close(end);
    dcli_output_close(&output);
    cr_expect_str_eq(taken(&output), "a\\x00b\n", "what is left in the pipe is read at the end");
    cr_expect_not(dcli_output_is_polled(&output));
    dcli_output_free(&output);
}

Test(output, long_lines_are_divided)
{
    char line[2 * DCLI_OUTPUT_LINE + 2], expected[sizeof line + 3];
    dcli_output output;
    int end;
    memset(line, 'x', sizeof line);
    line[sizeof line - 2] = '\n';
    line[sizeof line - 1] = '\0';
    snprintf(expected, sizeof expected, "%.*s\n%.*s\n\n", DCLI_OUTPUT_LINE, line, DCLI_OUTPUT_LINE, line);
    cr_assert_eq(dcli_output_open(&output, &end), DCL_OK, "%s", dcl_error());
    print(end, line);
    dcli_output_read(&output);
    const char *text = taken(&output);
    cr_expect(strncmp(text, expected, strlen(expected) - 1) == 0 && strlen(text) <= strlen(expected), "\"%s\"", text);
    close(end);
    dcli_output_free(&output);
}

struct flood {
    int end;
    int64_t bytes;
};

static void *print_much(void *argument)
{
    const struct flood *flood = argument;
    static const char line[] = "0123456789abcde\n";
    for (int64_t at = 0; at < flood->bytes; at += (int64_t)strlen(line))
        print(flood->end, line);
    close(flood->end);
    return NULL;
}

/* Every byte is shown or counted, and who prints does not wait for somebody to take it. */
Test(output, what_is_too_much_is_counted)
{
    struct flood flood = {.bytes = 10 << 20};
    static char text[DCLI_OUTPUT_BYTES + 1];
    dcli_output output;
    pthread_t thread;
    int64_t dropped;
    cr_assert_eq(dcli_output_open(&output, &flood.end), DCL_OK, "%s", dcl_error());
    cr_assert_eq(pthread_create(&thread, NULL, print_much, &flood), 0);
    while (output.is_open) {
        dcli_output_read(&output);
        cr_assert(output.length <= DCLI_OUTPUT_BYTES);
    }
    pthread_join(thread, NULL);
    size_t length = dcli_output_take(&output, text, sizeof text, &dropped);
    cr_expect(length > DCLI_OUTPUT_BYTES / 2);
    cr_expect_eq((int64_t)length + dropped, flood.bytes, "%zu and %" PRId64, length, dropped);
    cr_expect_not(dcli_output_has_text(&output));
    dcli_output_free(&output);
}

/* ---- showing ------------------------------------------------------------------------------------------------------ */

/** What the program's function is given. */
typedef struct program {
    char shown[SHOWN_BYTES];
    size_t length;
    pthread_mutex_t lock;
    pthread_mutex_t stuck;       /* who holds it keeps the function from returning */
    dcli_worker_pool *waits_for; /* that the function waits for, as dcl_wait() does; NULL: for none */
    int64_t waited_ms;
} program;

static program *new_program(void)
{
    program *one = dcli_calloc(1, sizeof *one);
    cr_assert_not_null(one);
    pthread_mutex_init(&one->lock, NULL);
    pthread_mutex_init(&one->stuck, NULL);
    return one;
}

static void take_line(void *user, int level, const char *line)
{
    program *program = user;
    cr_expect_eq(level, 0);
    pthread_mutex_lock(&program->stuck);
    pthread_mutex_unlock(&program->stuck);
    int64_t begin = dcli_monotonic_ms();
    if (program->waits_for != NULL)
        dcli_worker_pool_show_printed(program->waits_for, SECONDS * 1000);
    program->waited_ms += dcli_monotonic_ms() - begin;
    pthread_mutex_lock(&program->lock);
    int length = snprintf(program->shown + program->length, SHOWN_BYTES - program->length, "%s\n", line);
    program->length += (size_t)length;
    cr_assert(program->length < SHOWN_BYTES);
    pthread_mutex_unlock(&program->lock);
}

static const char *shown(program *program)
{
    pthread_mutex_lock(&program->lock);
    program->shown[program->length] = '\0';
    pthread_mutex_unlock(&program->lock);
    return program->shown;
}

static dcli_printer *open_printer(program *program)
{
    dcli_log log = {.fn = take_line, .user = program};
    dcli_printer *printer = dcli_printer_open(&log);
    cr_assert_not_null(printer);
    return printer;
}

Test(output, lines_are_shown_in_their_order)
{
    program *program = new_program();
    dcli_printer *printer = open_printer(program);
    char expected[8000] = "";
    size_t length = 0;
    for (int n = 0; n < 1000; n++) {
        char line[16];
        snprintf(line, sizeof line, "%d", n);
        dcli_printer_put(printer, line);
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%d\n", n);
    }
    dcli_printer_flush(printer, SECONDS * 1000);
    cr_expect_str_eq(shown(program), expected);
    dcli_printer_put(printer, "last");
    dcli_printer_close(printer);
    cr_expect_str_eq(shown(program) + strlen(expected), "last\n");
    dcli_free(program);
}

/* Neither who puts lines nor who waits for them. */
Test(output, who_takes_nothing_keeps_nobody_waiting)
{
    enum { LINES = 100000 };
    program *program = new_program();
    dcli_printer *printer = open_printer(program);
    pthread_mutex_lock(&program->stuck);
    int64_t begin = dcli_monotonic_ns();
    for (int n = 0; n < LINES; n++)
        dcli_printer_put(printer, "0123456789abcdef0123456789abcde");
    for (int n = 0; n < 1000; n++)
        dcli_printer_flush(printer, 100); /* the first waits; nothing is shown afterwards */
    cr_expect_lt(dcli_monotonic_ns() - begin, (int64_t)20e9);
    pthread_mutex_unlock(&program->stuck);
    dcli_printer_close(printer);
    cr_expect(strstr(shown(program), " bytes of nodes dropped") != NULL);
    dcli_free(program);
}

struct slow {
    int end;
    atomic_bool hurries;
};

static void *take_slowly(void *argument)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    struct slow *slow = argument;
    char bytes[1024];
    while (read(slow->end, bytes, sizeof bytes) > 0)
        if (!slow->hurries)
            nanosleep(&pause, NULL);
    return NULL;
}

/* All lines would take minutes; none of them takes a second. */
Test(output, a_slow_reader_does_not_keep_the_end_waiting)
{
    int ends[2], before = dup(STDERR_FILENO);
    pthread_t reader;
    cr_assert_eq(pipe(ends), 0);
    struct slow slow = {.end = ends[0]};
    cr_assert_eq(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    cr_assert_eq(pthread_create(&reader, NULL, take_slowly, &slow), 0);
    dup2(ends[1], STDERR_FILENO);
    dcli_printer *printer = dcli_printer_open(&(dcli_log){0});
    cr_assert_not_null(printer);
    for (int n = 0; n < 100000; n++)
        dcli_printer_put(printer, "0123456789");
    int64_t begin = dcli_monotonic_ms();
    dcli_printer_close(printer);
    int64_t took = dcli_monotonic_ms() - begin;
    slow.hurries = true;
    dup2(before, STDERR_FILENO);
    close(ends[1]);
    pthread_join(reader, NULL);
    close(ends[0]);
    cr_expect_lt(took, 20000, "%" PRId64 " ms", took);
}

/* ---- the worker pool ----------------------------------------------------------------------------------------------------- */

typedef struct pooled {
    dcli_worker_pool pool;
    dcli_member member[2];
    program *program;
    int end; /* where node 1 prints */
} pooled;

static void open_pooled(pooled *c, bool is_local)
{
    *c = (pooled){.program = new_program()};
    c->pool = (dcli_worker_pool){
        .is_local = is_local, .capacity = 2, .node_count = 2, .member = c->member, .contact_count = 1, .wake_fd = -1};
    c->pool.printer = open_printer(c->program);
    snprintf(c->pool.contact[0].address, sizeof c->pool.contact[0].address, "tcp://n1:7700");
    c->pool.contact[0].count = 2;
    pthread_mutex_init(&c->pool.lock, NULL);
    dcli_cond_init(&c->pool.changed);
    if (is_local)
        cr_assert_eq(dcli_output_open(&c->member[1].output, &c->end), DCL_OK, "%s", dcl_error());
}

static void close_pooled(pooled *c)
{
    dcli_printer_close(c->pool.printer);
    dcli_output_free(&c->member[1].output);
    pthread_mutex_destroy(&c->pool.lock);
    pthread_cond_destroy(&c->pool.changed);
    dcli_free(c->program);
}

Test(output, local_nodes_are_named)
{
    pooled c;
    open_pooled(&c, true);
    print(c.end, "dcl warn: forged \033[2J\nresidual 0.5");
    dcli_worker_pool_show_printed(&c.pool, SECONDS * 1000);
    cr_expect_str_eq(shown(c.program),
                     "node 1 (this host): dcl warn: forged \\e[2J\nnode 1 (this host): residual 0.5\n");
    close(c.end);
    close_pooled(&c);
}

Test(output, last_words_come_before_the_loss)
{
    pooled c;
    char sentence[2048];
    open_pooled(&c, true);
    print(c.end, "last");
    close(c.end);
    dcli_worker_pool_lose(&c.pool, 1, "its process has ended", sentence, sizeof sentence);
    cr_expect_str_eq(shown(c.program), "node 1 (this host): last\n");
    close_pooled(&c);
}

Test(output, a_function_does_not_wait_for_itself)
{
    pooled c;
    open_pooled(&c, true);
    c.program->waits_for = &c.pool;
    print(c.end, "one\ntwo\n");
    dcli_worker_pool_show_printed(&c.pool, SECONDS * 1000);
    cr_expect_str_eq(shown(c.program), "node 1 (this host): one\nnode 1 (this host): two\n");
    cr_expect_lt(c.program->waited_ms, SECONDS * 1000 / 2, "%" PRId64 " ms", c.program->waited_ms);
    close(c.end);
    close_pooled(&c);
}

static void say(pooled *c, const dcli_msg_printed *printed)
{
    pthread_mutex_lock(&c->pool.lock);
    dcli_worker_pool_hear_output(&c->pool, &c->pool.contact[0], printed);
    pthread_mutex_unlock(&c->pool.lock);
}

/* Whatever a listener sends. */
Test(output, what_listeners_say_is_cleaned_and_limited)
{
    pooled c;
    static char much[DCLI_MOST_TEXT + 1];
    open_pooled(&c, false);
    say(&c, &(dcli_msg_printed){.number = 1, .process = 1, .text = "a\033[2J\rb\n\nno end", .dropped = 7});
    say(&c, &(dcli_msg_printed){.number = 2, .process = 2, .text = "of no node\n"});
    say(&c, &(dcli_msg_printed){.number = 3, .process = 0, .text = "other\n", .flushed = 4});
    cr_expect_eq(c.pool.contact[0].flushed, 4);
    dcli_worker_pool_show_printed(&c.pool, SECONDS * 1000);
    cr_expect_str_eq(shown(c.program), "node 1 (tcp://n1:7700): a\\e[2J\\rb\nnode 1 (tcp://n1:7700): \n"
                                       "node 1 (tcp://n1:7700): no end\nnode 0 (tcp://n1:7700): other\n"
                                       "node 1 (tcp://n1:7700): (7 bytes dropped)\n");
    memset(much, 'x', DCLI_MOST_TEXT);
    for (int n = 0; n < 1000; n++)
        say(&c, &(dcli_msg_printed){.number = 4 + n, .process = 1, .text = much, .dropped = INT64_MAX});
    dcli_worker_pool_show_printed(&c.pool, SECONDS * 1000);
    cr_expect_lt(strlen(shown(c.program)), (size_t)SHOWN_BYTES / 2);
    cr_expect(strstr(shown(c.program), "(9223372036854775807 bytes dropped)") != NULL);
    close_pooled(&c);
}

/* Nor do the listeners and the printer get the time of the limit each. */
Test(output, no_wait_is_longer_than_its_limit)
{
    enum { LIMIT_MS = 3000 };
    pooled c;
    open_pooled(&c, false);
    c.pool.attended = 1;
    dcli_contact *contact = &c.pool.contact[0]; /* nobody answers */
    cr_expect_not(dcli_worker_pool_show_printed(&c.pool, 20));
    cr_expect_not(contact->is_late, "20 ms prove nothing");
    pthread_mutex_lock(&c.program->stuck);
    say(&c, &(dcli_msg_printed){.number = 1, .text = "line\n"});
    int64_t begin = dcli_monotonic_ms();
    dcli_worker_pool_show_printed(&c.pool, LIMIT_MS);
    int64_t took = dcli_monotonic_ms() - begin;
    cr_expect(took >= LIMIT_MS && took < 2 * LIMIT_MS, "%" PRId64 " ms", took);
    cr_expect(contact->is_late);
    cr_expect(dcli_worker_pool_show_printed(&c.pool, LIMIT_MS), "both are waited for in vain");
    cr_expect(dcli_worker_pool_show_printed(&c.pool, SECONDS * 1000), "and not again");
    pthread_mutex_unlock(&c.program->stuck);
    close_pooled(&c);
}

/* ---- a worker's side ---------------------------------------------------------------------------------------------- */

Test(output, a_client_takes_what_was_sent_and_no_more)
{
    dcli_supervised *session = dcli_calloc(1, sizeof *session);
    cr_assert_not_null(session);
    session->count = 2;
    session->printed = 3;
    cr_expect_eq(dcli_supervisor_shown(NULL, session, &(dcli_msg_shown){.number = 4}), DCL_ERR_PROTOCOL);
    cr_expect_eq(dcli_supervisor_shown(NULL, session, &(dcli_msg_shown){.number = 3, .flush = 5}), DCL_OK);
    cr_expect_eq(dcli_supervisor_shown(NULL, session, &(dcli_msg_shown){.number = 2}), DCL_OK);
    cr_expect_eq(session->shown, 3);
    cr_expect_eq(session->flush, 5);
    dcli_free(session);
}

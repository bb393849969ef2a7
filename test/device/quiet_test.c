/* test/device/quiet_test.c - what a compiler counts on standard error is left out, and nothing else. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/quiet.h"

TestSuite(device_quiet, .timeout = 30);

static int before;
static FILE *target;

/* Standard error is a file from here on. */
static void begin(void)
{
    target = tmpfile();
    before = dup(STDERR_FILENO);
    cr_assert(target != NULL && before >= 0 && dup2(fileno(target), STDERR_FILENO) >= 0);
}

static void expect_written(const char *text)
{
    char found[512] = "";
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    ssize_t got = pread(fileno(target), found, sizeof found - 1, 0);
    cr_expect(got >= 0);
    cr_expect_str_eq(found, text, "%s", found);
    fclose(target);
    close(before);
}

static void say(const char *text) { cr_assert_eq(write(STDERR_FILENO, text, strlen(text)), (ssize_t)strlen(text)); }

Test(device_quiet, leaves_out_counts)
{
    begin();
    say("before\n4 errors generated.\n");
    struct dcli_quiet *quiet = dcli_quiet_begin();
    cr_assert_not_null(quiet);
    say("4 errors generated.\n1 error generated.\nkept\n1 warning and 2 err");
    say("ors generated.\n12 files generated.\nerrors generated.\n\n2 warnings generated.\nno end");
    dcli_quiet_end(quiet);
    say("\nafter\n");
    expect_written("before\n4 errors generated.\nkept\n12 files generated.\nerrors generated.\n\nno end\nafter\n");
}

Test(device_quiet, long_lines)
{
    char line[401];
    begin();
    struct dcli_quiet *quiet = dcli_quiet_begin();
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    say(line);
    dcli_quiet_end(quiet);
    expect_written(line);
}

static void *begin_too(void *unused)
{
    (void)unused;
    return dcli_quiet_begin();
}

/* One thread whose compiler hangs holds up no other. */
Test(device_quiet, one_at_a_time)
{
    pthread_t thread;
    void *other = &thread;
    begin();
    struct dcli_quiet *quiet = dcli_quiet_begin();
    cr_assert_eq(pthread_create(&thread, NULL, begin_too, NULL), 0);
    pthread_join(thread, &other);
    cr_expect_null(other);
    dcli_quiet_end(quiet);
    expect_written("");
}

/* A process that was started meanwhile keeps a standard error that somebody reads. */
Test(device_quiet, a_process_started_meanwhile)
{
    int go[2], status;
    char byte = 0;
    begin();
    cr_assert_eq(pipe(go), 0);
    struct dcli_quiet *quiet = dcli_quiet_begin();
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        ssize_t got = read(go[0], &byte, 1);
        _exit(got == 1 && write(STDERR_FILENO, "of the child\n", 13) == 13 ? 0 : 1);
    }
    say("of the parent\n");
    dcli_quiet_end(quiet);
    cr_assert_eq(write(go[1], "x", 1), 1);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int n = 0; n < 1000 && lseek(fileno(target), 0, SEEK_END) < 27; n++)
        usleep(10000);
    expect_written("of the parent\nof the child\n");
}

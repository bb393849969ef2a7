/* test/runtime/log_plan_test.c - at the level debug, the log shows each operation's plan once, and how devices run it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(log_plan_on_device, .timeout = TEST_SECONDS);

enum { ELEMENTS = 40 };

/* Lines of the level debug that have come. By the threads of all nodes. */
static struct lines {
    pthread_mutex_t lock;
    int count;
    char text[1 << 16];
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_line(void *user, int level, const char *line)
{
    (void)user;
    if (level != 3)
        return;
    pthread_mutex_lock(&lines.lock);
    size_t length = strlen(lines.text);
    snprintf(lines.text + length, sizeof lines.text - length, "%s\n", line);
    lines.count++;
    pthread_mutex_unlock(&lines.lock);
}

/* Forget what has come. @return how many lines that were. */
static int drop_lines(void)
{
    pthread_mutex_lock(&lines.lock);
    int count = lines.count;
    lines.count = 0;
    lines.text[0] = '\0';
    pthread_mutex_unlock(&lines.lock);
    return count;
}

static dcl_cluster *open_at(const char *level, const char *transfer)
{
    dcl_config config = test_config(2);
    config.log = level;
    config.log_fn = keep_line;
    config.transfer = transfer;
    return test_open(&config);
}

static void shift(dcl_cluster *cluster, dcl_array *C, dcl_array *A)
{
    TEST_OK(test_shift(C, A, -1, ELEMENTS - 1, 0));
    TEST_OK(dcl_wait(cluster));
}

static void expect_line(const char *line)
{
    cr_expect_not_null(strstr(lines.text, line), "\"%s\" is not in\n%s", line, lines.text);
}

Test(log_plan_on_device, each_plan_is_shown_once)
{
    dcl_cluster *cluster = open_at("debug", "send");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcl_array *A = test_array(cluster, "block", grid), *C = test_array(cluster, "block", grid);
    test_count_up(A, 0, 1);
    TEST_OK(dcl_wait(cluster));
    drop_lines();
    shift(cluster, C, A);
    expect_line("node 0: plan of operation ");
    expect_line(TEST_SHIFT);
    expect_line("node 1:   work [20:40]: C in own part at 0, A in stage 0 at ");
    expect_line("node 0: chunk 0 from peer 1: 80 bytes");
    expect_line("node 1: batch 0 of operation ");
    expect_line("node 0: A from chunk 0 to stage by wire: 20 elements in 1");
    cr_expect_gt(drop_lines(), 0);
    shift(cluster, C, A);
    cr_expect_eq(drop_lines(), 0, "the plan was known");
    TEST_OK(dcl_close(cluster));
}

Test(log_plan_on_device, nothing_is_shown_at_other_levels)
{
    dcl_cluster *cluster = open_at("info", "auto");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcl_array *A = test_array(cluster, "block", grid), *C = test_array(cluster, "block", grid);
    test_count_up(A, 0, 1);
    shift(cluster, C, A);
    cr_expect_eq(drop_lines(), 0);
    TEST_OK(dcl_close(cluster));
}

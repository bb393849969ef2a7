/* test/runtime/pin_test.c - the processors of worker processes of this host: DCL_PIN, and processes that bind themselves. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/nodes.h"

TestSuite(pin, .timeout = TEST_SECONDS);

#ifdef TEST_DCL
static int parent_of(int pid)
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file != NULL && fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    if (file != NULL)
        fclose(file);
    return parent;
}

static int threads_of(int pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (const struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;)
        count += entry->d_name[0] != '.';
    if (threads != NULL)
        closedir(threads);
    return count;
}

/* The processors of this process's children together. @param most_out  most processors of one of them. @param threads_out
 * threads of all of them. @return number of children. */
static int look_at_children(cpu_set_t *all_out, int *most_out, int *threads_out)
{
    int children = 0;
    CPU_ZERO(all_out);
    *most_out = *threads_out = 0;
    DIR *processes = opendir("/proc");
    cr_assert_not_null(processes);
    for (const struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        cpu_set_t one;
        int pid = atoi(entry->d_name);
        if (pid <= 0 || parent_of(pid) != (int)getpid() || sched_getaffinity(pid, sizeof one, &one) != 0)
            continue;
        children++;
        *most_out = CPU_COUNT(&one) > *most_out ? CPU_COUNT(&one) : *most_out;
        CPU_OR(all_out, all_out, &one);
        *threads_out += threads_of(pid);
    }
    closedir(processes);
    return children;
}

static int processors(void)
{
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    return CPU_COUNT(&allowed);
}

/* Open a session of worker processes, and look at them.
 * @param bound  wait until each of them has bound itself to a processor. */
static int look_at_session(const char *workers, bool pinned, bool bound, cpu_set_t *used_out, int *most_out,
                           int *threads_out)
{
    cpu_set_t before, after;
    dcl_config config = test_config(2);
    config.workers = workers;
    config.program = TEST_DCL;
    config.pin = pinned;
    sched_getaffinity(0, sizeof before, &before);
    dcl_cluster *cluster = test_open(&config);
    int children = look_at_children(used_out, most_out, threads_out);
    while (bound && *most_out > 1) { /* until the test's time limit */
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        children = look_at_children(used_out, most_out, threads_out);
    }
    sched_getaffinity(0, sizeof after, &after);
    cr_expect(CPU_EQUAL(&before, &after), "the program itself is not pinned");
    TEST_OK(dcl_close(cluster));
    return children;
}

Test(pin, processes_share_no_processor)
{
    cpu_set_t used;
    int most, threads;
    if (processors() < 2)
        cr_skip("this host has one processor");
    /* a process that has one processor stays there, if it can find out whether other programs use that, too */
    bool alone = processors() / 2 == 1 && access("/proc/self/schedstat", R_OK) == 0;
    for (int pinned = 0; pinned < 2; pinned++) {
        cr_expect_eq(look_at_session("local:2", pinned != 0, alone, &used, &most, &threads), 2);
        cr_expect_eq(most, pinned || alone ? 1 : processors());
        cr_expect_eq(CPU_COUNT(&used), pinned || alone ? 2 : processors());
    }
    look_at_session("local:1", false, false, &used, &most, &threads);
    cr_expect_eq(most, processors(), "a process alone");
}

Test(pin, drivers_have_as_many_threads_as_processors_together)
{
    cpu_set_t used;
    char text[16];
    int most, shared, set, pinned, share = processors() / 2;
    if (processors() < 2)
        cr_skip("this host has one processor");
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    unsetenv("POCL_CPU_MAX_CU_COUNT");
    look_at_session("local:2", false, false, &used, &most, &shared);
    look_at_session("local:2", true, false, &used, &most, &pinned);
    snprintf(text, sizeof text, "%d", share + 3);
    setenv("POCL_MAX_PTHREAD_COUNT", text, 1);
    look_at_session("local:2", false, false, &used, &most, &set);
    cr_expect_eq(set - shared, 2 * 3, "half of the processors each: %d threads, and %d with 3 more each", shared, set);
    cr_expect_eq(shared - pinned, 2 * (share - 1), "one each: %d and %d threads", shared, pinned);
}

/* Places for nodes that may join later are no processes. */
Test(pin, a_process_alone_has_all_processors)
{
    cpu_set_t used;
    char text[16];
    int most, alone, set;
    if (processors() < 2)
        cr_skip("this host has one processor");
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    unsetenv("POCL_CPU_MAX_CU_COUNT");
    look_at_session("local:1", false, false, &used, &most, &alone);
    snprintf(text, sizeof text, "%d", processors());
    setenv("POCL_MAX_PTHREAD_COUNT", text, 1);
    look_at_session("local:1", false, false, &used, &most, &set);
    cr_expect_eq(alone, set, "%d threads, and %d with one per processor", alone, set);
}
#endif

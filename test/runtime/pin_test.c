/* test/runtime/pin_test.c - DCL_PIN: worker processes of this host that run on one processor each. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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

Test(pin, processes_share_no_processor)
{
    cpu_set_t before, after, used;
    int most, threads[2];
    sched_getaffinity(0, sizeof before, &before);
    if (CPU_COUNT(&before) < 2)
        cr_skip("this host has one processor");
    for (int pinned = 0; pinned < 2; pinned++) {
        dcl_config config = test_config(2);
        config.workers = "local:2";
        config.program = TEST_DCL;
        config.pin = pinned != 0;
        dcl_cluster *cluster = test_open(&config);
        cr_expect_eq(look_at_children(&used, &most, &threads[pinned]), 2);
        cr_expect_eq(most, pinned ? 1 : CPU_COUNT(&before));
        cr_expect_eq(CPU_COUNT(&used), pinned ? 2 : CPU_COUNT(&before));
        sched_getaffinity(0, sizeof after, &after);
        cr_expect(CPU_EQUAL(&before, &after), "the program itself is not pinned");
        TEST_OK(dcl_close(cluster));
    }
    if (getenv("POCL_MAX_PTHREAD_COUNT") == NULL)
        cr_expect_eq(threads[0] - threads[1], 2 * (int)(sysconf(_SC_NPROCESSORS_ONLN) - 1),
                     "the driver has one thread per processor that it may use, %d and %d threads", threads[0],
                     threads[1]);
}
#endif

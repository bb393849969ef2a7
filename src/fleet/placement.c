/* fleet/placement.c - binding the threads of a worker process (see placement.h).
 * Source: sched_setaffinity(2); Documentation/scheduler/sched-stats.rst of Linux, "/proc/<pid>/schedstat". */
#include "fleet/placement.h"

#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"

struct dcli_placement {
    dcli_affinity affinity;
    cpu_set_t all, own; /* the processors of the process, and the one to which it is bound */
    int64_t looked_ns;
};

/* ---- the decision ------------------------------------------------------------------------------------------------------ */

/* Find the times of two groups of threads since the last judgement. @return false: a thread has ended, so that its times
 * are missing. */
static bool find_used(const dcli_process_times *before, const dcli_process_times *now, dcli_process_times *used_out)
{
    const dcli_group_times serving = {now->serving.ran - before->serving.ran,
                                      now->serving.waited - before->serving.waited},
                           others = {now->others.ran - before->others.ran, now->others.waited - before->others.waited};
    *used_out = (dcli_process_times){serving, others};
    return serving.ran >= 0 && serving.waited >= 0 && others.ran >= 0 && others.waited >= 0;
}

/* The least time that threads have waited for other programs: each group may have waited for the other one as long as that ran. */
static int64_t waited_for_programs(const dcli_process_times *used)
{
    return dcli_max(used->serving.waited - used->others.ran, 0) + dcli_max(used->others.waited - used->serving.ran, 0);
}

bool dcli_affinity_look(dcli_affinity *affinity, const dcli_process_times *times, int64_t now_ns)
{
    enum { MOST_WAITING = 5 /* a fifth */, LASTING = 10 /* pauses */ };
    const int64_t least_wanted_ns = 20000000, least_pause_ns = 100000000, most_pause_ns = 64000000000;
    if (!affinity->bound) {
        affinity->bound = now_ns >= affinity->next_ns;
        affinity->since_ns = now_ns;
        affinity->seen = *times;
        return affinity->bound;
    }
    dcli_process_times used;
    bool complete = find_used(&affinity->seen, times, &used);
    int64_t wanted = used.serving.ran + used.serving.waited + used.others.ran + used.others.waited;
    if (complete && wanted < least_wanted_ns)
        return true;
    affinity->seen = *times;
    if (!complete || MOST_WAITING * waited_for_programs(&used) <= wanted)
        return true;
    bool lasted = now_ns - affinity->since_ns >= LASTING * dcli_max(affinity->pause_ns, least_pause_ns);
    affinity->pause_ns =
        lasted ? least_pause_ns : dcli_min(dcli_max(2 * affinity->pause_ns, least_pause_ns), most_pause_ns);
    affinity->next_ns = now_ns + affinity->pause_ns;
    affinity->bound = false;
    return false;
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

/* Number of the next thread of this process; 0: there are no more. */
static int next_thread(DIR *threads)
{
    const struct dirent *entry;
    int number = 0;
    while (number <= 0 && (entry = readdir(threads)) != NULL)
        number = atoi(entry->d_name);
    return number > 0 ? number : 0;
}

/* Add the times of a thread. @return false: they are not known. */
static bool add_times(int thread, dcli_process_times *times)
{
    char path[64];
    int64_t ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    FILE *file = fopen(path, "re");
    bool known = file != NULL && fscanf(file, "%" SCNd64 " %" SCNd64, &ran, &waited) == 2;
    if (file != NULL)
        fclose(file);
    if (!known)
        return false;
    dcli_group_times *sum = thread == (int)getpid() ? &times->serving : &times->others; /* the first thread serves */
    sum->ran += ran;
    sum->waited += waited;
    return true;
}

static dcli_process_times all_times(void)
{
    dcli_process_times times = {0};
    DIR *threads = opendir("/proc/self/task");
    for (int thread; threads != NULL && (thread = next_thread(threads)) != 0;)
        (void)add_times(thread, &times); /* it may just have ended */
    if (threads != NULL)
        closedir(threads);
    return times;
}

/* Let all threads of this process run on these processors only. Threads that they start later inherit this. One that is started
 * meanwhile, by a thread that was not restricted yet, is found by the second pass. */
static void restrict_to(const cpu_set_t *processors)
{
    for (int pass = 0; pass < 2; pass++) {
        DIR *threads = opendir("/proc/self/task");
        for (int thread; threads != NULL && (thread = next_thread(threads)) != 0;)
            sched_setaffinity(thread, sizeof *processors, processors);
        if (threads != NULL)
            closedir(threads);
    }
}

/* ---- life -------------------------------------------------------------------------------------------------------------- */

dcli_placement *dcli_placement_open(int number, int processes)
{
    dcli_process_times times = {0};
    cpu_set_t all;
    if (processes < 2 || sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) / processes != 1 ||
        !add_times((int)getpid(), &times) || times.serving.ran == 0) /* it has run: Linux does not count */
        return NULL;
    dcli_placement *placement = dcli_calloc(1, sizeof *placement);
    if (placement == NULL)
        return NULL;
    int left = number % CPU_COUNT(&all), processor = 0;
    while (!CPU_ISSET(processor, &all) || left-- > 0)
        processor++;
    placement->all = all;
    CPU_ZERO(&placement->own);
    CPU_SET(processor, &placement->own);
    return placement;
}

void dcli_placement_look(dcli_placement *placement, int64_t now_ns)
{
    const int64_t period_ns = 100000000;
    if (placement->looked_ns != 0 && now_ns - placement->looked_ns < period_ns)
        return;
    placement->looked_ns = now_ns;
    const dcli_process_times times = all_times();
    bool before = placement->affinity.bound, bound = dcli_affinity_look(&placement->affinity, &times, now_ns);
    if (bound != before)
        restrict_to(bound ? &placement->own : &placement->all);
}

void dcli_placement_close(dcli_placement *placement)
{
    if (placement == NULL)
        return;
    if (placement->affinity.bound)
        restrict_to(&placement->all);
    dcli_free(placement);
}

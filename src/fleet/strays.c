/* fleet/strays.c - find and kill stray processes. A kernel can start processes, which may leave its process group and
 * session. The supervisor is their subreaper, so they become its children when the process of the session has ended.
 * A child is a stray if the supervisor does not expect it and it has more restrictions (no_new_privs, seccomp filters)
 * than the supervisor itself.
 * Source: prctl(2), PR_SET_CHILD_SUBREAPER; proc(5), /proc/PID/task/TID/children, NoNewPrivs, Seccomp_filters. */
#include "fleet/strays.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void dcli_strays_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

/* The number of restrictions that a process has given itself, none of which can be undone. -1: unknown. */
static int given_up(pid_t pid)
{
    char path[64], line[256];
    int no_new_privileges = 0, filters = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "NoNewPrivs: %d", &no_new_privileges);
        sscanf(line, "Seccomp_filters: %d", &filters);
    }
    fclose(file);
    return no_new_privileges + filters;
}

static bool end_children_of_thread(const char *thread, bool (*is_expected)(const void *owner, pid_t pid),
                                   const void *owner)
{
    char path[300];
    int pid;
    bool any = false;
    snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    int own = given_up(getpid());
    while (fscanf(file, "%d", &pid) == 1) {
        if (is_expected(owner, pid) || given_up(pid) <= own)
            continue;
        any = true;
        kill(pid, SIGKILL); /* our child, and not reaped, so the process id is still valid */
        waitpid(pid, NULL, WNOHANG);
    }
    fclose(file);
    return any;
}

static bool end_children(bool (*is_expected)(const void *owner, pid_t pid), const void *owner)
{
    bool any = false;
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL)
        return false;
    for (struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads))
        if (entry->d_name[0] != '.')
            any |= end_children_of_thread(entry->d_name, is_expected, owner);
    closedir(threads);
    return any;
}

/* Repeat passes without a pause: a process that starts another and ends at once may escape one pass. */
bool dcli_strays_end(bool (*is_expected)(const void *owner, pid_t pid), const void *owner)
{
    enum { PASSES = 1000 };
    int passes = 0;
    while (passes < PASSES && end_children(is_expected, owner))
        passes++;
    return passes == PASSES;
}

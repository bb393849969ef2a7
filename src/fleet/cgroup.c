/* fleet/cgroup.c - control groups of sessions.
 * A group that has child groups with limits must not contain processes itself, so the worker moves into a sibling of
 * the sessions' groups.
 * Source: Documentation/admin-guide/cgroup-v2.rst; systemd.resource-control(5), Delegate=. */
#include "fleet/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char own_name[] = "dcl-worker", prefix[] = "dcl-session-";

enum { PATH_BYTES = sizeof((dcli_cgroups *)NULL)->folder + 64 };

static bool write_to(const char *folder, const char *name, const char *text)
{
    int place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = openat(place, name, O_WRONLY | O_CLOEXEC);
    if (place >= 0)
        close(place);
    if (fd < 0)
        return false;
    bool done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return done;
}

static FILE *open_in(const char *folder, const char *name)
{
    int place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = openat(place, name, O_RDONLY | O_CLOEXEC);
    if (place >= 0)
        close(place);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && file == NULL)
        close(fd);
    return file;
}

static bool has_word(const char *folder, const char *name, const char *word)
{
    char found[64];
    bool has = false;
    FILE *file = open_in(folder, name);
    while (file != NULL && !has && fscanf(file, "%63s", found) == 1)
        has = strcmp(found, word) == 0;
    if (file != NULL)
        fclose(file);
    return has;
}

/* Find the mount point of the version 2 hierarchy. */
static bool find_mount(char *path_out, size_t capacity)
{
    char device[256], path[1024], kind[64], rest[1024];
    bool found = false;
    FILE *file = fopen("/proc/self/mounts", "re");
    while (file != NULL && !found && fscanf(file, "%255s %1023s %63s %1023[^\n]", device, path, kind, rest) == 4)
        found = strcmp(kind, "cgroup2") == 0 && strlen(path) < capacity;
    if (file != NULL)
        fclose(file);
    if (found)
        strcpy(path_out, path);
    return found;
}

static bool find_own(char *path_out, size_t capacity)
{
    char mount[1024], line[2048];
    bool found = false;
    if (!find_mount(mount, sizeof mount))
        return false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, "0::/", 4) == 0;
    if (file != NULL)
        fclose(file);
    if (!found)
        return false;
    line[strcspn(line, "\n")] = '\0';
    const char *path = line + 3;
    snprintf(path_out, capacity, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
    return true;
}

static bool is_alone_in(const char *folder)
{
    int pid, count = 0, own = 0;
    FILE *file = open_in(folder, "cgroup.procs");
    while (file != NULL && fscanf(file, "%d", &pid) == 1) {
        count++;
        own += pid == (int)getpid();
    }
    if (file != NULL)
        fclose(file);
    return count == 1 && own == 1;
}

void dcli_cgroups_open(dcli_cgroups *groups)
{
    char path[PATH_BYTES];
    *groups = (dcli_cgroups){.has_limits = false};
    if (!find_own(groups->folder, sizeof groups->folder))
        return;
    snprintf(path, sizeof path, "%s/%s", groups->folder, own_name);
    bool alone = is_alone_in(groups->folder);
    if (access(groups->folder, W_OK) != 0 || (alone && mkdir(path, 0755) != 0 && errno != EEXIST)) {
        groups->folder[0] = '\0';
        return;
    }
    if (alone)
        write_to(path, "cgroup.procs", "0");
    write_to(groups->folder, "cgroup.subtree_control", "+memory +pids");
    groups->has_limits = has_word(groups->folder, "cgroup.subtree_control", "memory") &&
                         has_word(groups->folder, "cgroup.subtree_control", "pids");
    dcli_cgroups_sweep(groups);
}

static bool path_of(const dcli_cgroups *groups, uint64_t session, char path_out[PATH_BYTES])
{
    snprintf(path_out, PATH_BYTES, "%s/%s%016" PRIx64 "-%d", groups->folder, prefix, session, (int)getpid());
    return groups->folder[0] != '\0';
}

void dcli_cgroup_make(const dcli_cgroups *groups, uint64_t session, int64_t memory_bytes, int64_t processes)
{
    char path[PATH_BYTES], number[32];
    if (!path_of(groups, session, path) || mkdir(path, 0755) != 0 || !groups->has_limits)
        return;
    snprintf(number, sizeof number, "%" PRId64, processes);
    write_to(path, "pids.max", number);
    snprintf(number, sizeof number, "%" PRId64, memory_bytes);
    if (memory_bytes > 0)
        write_to(path, "memory.max", number);
}

void dcli_cgroup_add(const dcli_cgroups *groups, uint64_t session, pid_t pid)
{
    char path[PATH_BYTES], number[32];
    if (!path_of(groups, session, path))
        return;
    snprintf(number, sizeof number, "%d", (int)pid);
    write_to(path, "cgroup.procs", number);
}

void dcli_cgroup_kill(const dcli_cgroups *groups, uint64_t session)
{
    char path[PATH_BYTES];
    if (path_of(groups, session, path))
        write_to(path, "cgroup.kill", "1");
}

void dcli_cgroups_sweep(const dcli_cgroups *groups)
{
    DIR *folder = groups->folder[0] != '\0' ? opendir(groups->folder) : NULL;
    if (folder == NULL)
        return;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0)
            continue;
        pid_t maker = (pid_t)atoi(strrchr(entry->d_name, '-') + 1);
        if (maker == getpid() ||
            (kill(maker, 0) != 0 && errno == ESRCH))              /* another running worker may be about to use it */
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR); /* fails if a process is still in the group */
    }
    closedir(folder);
}

void dcli_cgroups_close(dcli_cgroups *groups)
{
    char path[PATH_BYTES];
    if (groups->folder[0] == '\0')
        return;
    snprintf(path, sizeof path, "%s/%s", groups->folder, own_name);
    dcli_cgroups_sweep(groups);
    if (is_alone_in(path)) {
        write_to(groups->folder, "cgroup.subtree_control", "-memory -pids");
        if (write_to(groups->folder, "cgroup.procs", "0"))
            rmdir(path);
    }
    groups->folder[0] = '\0';
}

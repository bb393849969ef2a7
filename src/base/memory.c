/* base/memory.c - memory limits of the system and of control groups. Source: cgroups(7), Linux documentation,
 * admin-guide/cgroup-v2 ("Memory Interface Files") and admin-guide/cgroup-v1/memory. */
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* headers of systems before Linux 6.1 do not have it */
#endif

/* Read a number from a file of a control group. @return false: there is no such file, or it says "max". */
static bool read_number(const char *folder, const char *name, uint64_t *value_out)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool found = fscanf(file, "%" SCNu64, value_out) == 1;
    fclose(file);
    return found;
}

/* Bytes of page cache that a control group could drop: active and inactive file pages. 0: memory.stat cannot be
 * read. */
static uint64_t read_cache(const char *folder, const char *const names[2])
{
    char path[PATH_MAX + 64], key[64];
    uint64_t value, found = 0;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%63s %" SCNu64, key, &value) == 2)
        if (strcmp(key, names[0]) == 0 || strcmp(key, names[1]) == 0)
            found += value;
    if (file != NULL)
        fclose(file);
    return found;
}

/* The file names of one version of control groups. */
struct version {
    const char *limit, *used, *cache[2];
};
static const struct version versions[2] = {
    {"memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}},
    {"memory.max", "memory.current", {"inactive_file", "active_file"}},
};

static void add_group(const char *folder, const struct version *version, dcli_group_memory *memory)
{
    const uint64_t no_limit = UINT64_C(1) << 62; /* version 1 writes a huge number if there is no limit */
    uint64_t limit, used = 0;
    if (!read_number(folder, version->limit, &limit) || limit >= no_limit)
        return;
    read_number(folder, version->used, &used);
    uint64_t cache = read_cache(folder, version->cache);
    used = used > cache ? used - cache : 0;
    uint64_t left = limit > used ? limit - used : 0;
    memory->limit = limit < memory->limit ? limit : memory->limit;
    memory->left = left < memory->left ? left : memory->left;
}

/* Take the limits of a group and of all groups above it. In a container, `path` may be the host's path, although only
 * its last group is mounted, as the root of `mount`. */
static void add_groups(const char *mount, const char *path, const struct version *version, dcli_group_memory *memory)
{
    char folder[PATH_MAX];
    size_t top = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, path) >= sizeof folder)
        folder[top] = '\0';
    for (;;) {
        add_group(folder, version, memory);
        char *slash = strrchr(folder + top, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

dcli_group_memory dcli_group_memory_of(const char *group_file, const char *mount)
{
    dcli_group_memory memory = {UINT64_MAX, UINT64_MAX};
    char line[PATH_MAX], of_memory[PATH_MAX];
    FILE *file = fopen(group_file, "re");
    snprintf(of_memory, sizeof of_memory, "%s/memory", mount);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) { /* each line is number ":" controllers ":" path */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        bool named = false;
        for (char *rest, *name = strtok_r(controllers + 1, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
            named |= strcmp(name, "memory") == 0;
        if (controllers[1] == '\0')
            add_groups(mount, path, &versions[1], &memory);
        else if (named)
            add_groups(of_memory, path, &versions[0], &memory);
    }
    if (file != NULL)
        fclose(file);
    return memory;
}

static dcli_group_memory own_groups(void) { return dcli_group_memory_of("/proc/self/cgroup", "/sys/fs/cgroup"); }

uint64_t dcli_memory_limit(void)
{
    struct sysinfo machine;
    uint64_t limit = own_groups().limit;
    uint64_t all = sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit : UINT64_MAX;
    return all < limit ? all : limit;
}

static uint64_t left_of_system(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return UINT64_MAX;
    char line[128];
    uint64_t kilobytes = 0;
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL)
        found = sscanf(line, "MemAvailable: %" SCNu64 " kB", &kilobytes) == 1;
    fclose(file);
    return found ? kilobytes * 1024 : UINT64_MAX;
}

uint64_t dcli_memory_left(void)
{
    uint64_t system = left_of_system(), groups = own_groups().left;
    return system < groups ? system : groups;
}

/* Block signals: a signal makes fallocate() undo its work and start again, so a profiler's timer could keep it from
 * ever ending. */
const char *dcli_memory_reserve(int memfd, size_t offset, size_t bytes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = fallocate(memfd, 0, (off_t)offset, (off_t)bytes) == 0 ? 0 : errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return code == 0 || code == EOPNOTSUPP || code == ENOSYS ? NULL : "fallocate";
}

/* By default, Linux gives a memfd huge pages only on request (MADV_COLLAPSE, since 6.1), and only to ranges that already have a
 * page. So one page per range is reserved first. Huge pages halve the time of reading the memory: sums of 8192 x 8192 floats on two
 * cores read memfds at 31 GB/s with small pages, at 63 with huge ones. */
void dcli_memory_make_huge(int memfd, void *at, size_t bytes)
{
    enum { SMALL_BYTES = 4096, HUGE_BYTES = 2 << 20 };
    for (size_t offset = 0; offset + HUGE_BYTES <= bytes; offset += HUGE_BYTES)
        if (dcli_memory_reserve(memfd, offset, SMALL_BYTES) != NULL)
            return;
    if (bytes >= HUGE_BYTES)
        madvise(at, bytes, MADV_COLLAPSE); /* may fail: the pages are small then */
}

const char *dcli_memory_size(int memfd, size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) {
        errno = EFBIG; /* beyond the limit the call would end the process by a signal */
        return "ftruncate";
    }
    return ftruncate(memfd, (off_t)bytes) == 0 ? NULL : "ftruncate";
}

const char *dcli_memory_back(int memfd, size_t bytes)
{
    const char *call = dcli_memory_size(memfd, bytes);
    return call == NULL ? dcli_memory_reserve(memfd, 0, bytes) : call;
}

bool dcli_descriptor_may_stay(int descriptor)
{
    enum { SPARE = 32, SHARE = 8 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    rlim_t spare = limit.rlim_cur / SHARE < SPARE ? limit.rlim_cur / SHARE : SPARE;
    return (rlim_t)descriptor < limit.rlim_cur - spare;
}

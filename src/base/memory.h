/* base/memory.h - how much memory there is for this process, and memfds that surely have theirs. */
#ifndef DCLI_BASE_MEMORY_H
#define DCLI_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/** What a control group and those above it leave a process. */
typedef struct dcli_group_memory {
    uint64_t limit; /* the smallest limit; UINT64_MAX: there is none */
    uint64_t left;  /* the least that is left below a limit, caches that can be dropped counted as left */
} dcli_group_memory;

/** Read the limits of the control group that a file in the form of /proc/self/cgroup names, version 1 or 2.
 *  @param mount  where the groups are mounted: /sys/fs/cgroup. */
dcli_group_memory dcli_group_memory_of(const char *group_file, const char *mount);

/** Bytes that this process can still have: of the system, and of its control groups. UINT64_MAX where neither says. */
uint64_t dcli_memory_left(void);
/** Most bytes that this process may have at all: what the machine has, or its control groups allow. UINT64_MAX: nobody
 *  says. */
uint64_t dcli_memory_limit(void);

/** Give a new memfd its size, without pages. Beyond `ulimit -f` this is an error, and no signal (SIGXFSZ).
 *  @return NULL, or the call that failed, with errno. */
const char *dcli_memory_size(int memfd, size_t bytes);
/** Give bytes of a memfd their pages: what cannot be backed is an error now, and not a signal (SIGBUS) later. Pages that
 *  are written anyway cost no more than when they come one by one. @return NULL, or the call that failed, with errno. */
const char *dcli_memory_reserve(int memfd, size_t offset, size_t bytes);
/** Both: a new memfd with all its pages. */
const char *dcli_memory_back(int memfd, size_t bytes);

#endif

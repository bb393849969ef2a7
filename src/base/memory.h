/* base/memory.h - how much memory this process may use, and memfds whose pages are guaranteed. */
#ifndef DCLI_BASE_MEMORY_H
#define DCLI_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Limits that a control group and all groups above it set. */
typedef struct dcli_group_memory {
    uint64_t limit; /* the smallest limit; UINT64_MAX: there is none */
    uint64_t left;  /* the smallest remainder below a limit; page cache that can be dropped counts as free */
} dcli_group_memory;

/** Read the limits of the control group that a file in the form of /proc/self/cgroup names, version 1 or 2.
 *  @param mount  where the groups are mounted: /sys/fs/cgroup. */
dcli_group_memory dcli_group_memory_of(const char *group_file, const char *mount);

/** Bytes that this process can still allocate, by the system and by its control groups. UINT64_MAX: unknown. */
uint64_t dcli_memory_left(void);
/** Most bytes that this process may have in all: the machine's memory or the limit of its control groups. UINT64_MAX:
 *  unknown. */
uint64_t dcli_memory_limit(void);

/** Set the size of a new memfd without allocating pages. A size beyond `ulimit -f` is an error instead of a signal
 *  (SIGXFSZ). @return NULL, or the name of the call that failed, with errno. */
const char *dcli_memory_size(int memfd, size_t bytes);
/** Allocate the pages of a range of a memfd, so that a lack of memory is an error now instead of a signal (SIGBUS)
 *  later. Pages that are written anyway cost no more this way. @return NULL, or the name of the call that failed, with
 *  errno. */
const char *dcli_memory_reserve(int memfd, size_t offset, size_t bytes);
/** Give a mapped memfd that has no pages yet huge ones, in its whole ranges of 2 MB, if the system can. The caller then reserves all
 *  pages: where there are no huge ones, that allocates small ones. @param at  start of its mapping, aligned to 2 MB. */
void dcli_memory_make_huge(int memfd, void *at, size_t bytes);
/** Set the size of a new memfd and allocate all its pages. @return NULL, or the name of the call that failed, with
 *  errno. */
const char *dcli_memory_back(int memfd, size_t bytes);

/** Whether an array may keep a new descriptor: enough others remain for peers, joining nodes, files and compilers,
 *  without which a node could not continue. The system assigns the lowest free number, so the number tells how many are
 *  in use. */
bool dcli_descriptor_may_stay(int descriptor);

#endif

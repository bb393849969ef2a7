/* base/slice.c - how soon a thread runs after it has woken up. The C library has no functions for this. */
#include "base/slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of the kernel, in its first version. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* ns; runtime: the time slice, for SCHED_OTHER and SCHED_BATCH */
};

enum { RESET_ON_FORK = 1 }; /* SCHED_FLAG_RESET_ON_FORK */

static bool get(struct attributes *attributes)
{
    *attributes = (struct attributes){.size = sizeof *attributes};
    return syscall(SYS_sched_getattr, 0, attributes, sizeof *attributes, 0) == 0 &&
           (attributes->policy == SCHED_OTHER || attributes->policy == SCHED_BATCH);
}

uint64_t dcli_slice_of_thread(void)
{
    struct attributes attributes;
    return get(&attributes) ? attributes.runtime : 0;
}

bool dcli_slice_shorten(void)
{
    struct attributes attributes;
    if (!get(&attributes) || attributes.runtime == 0)
        return false; /* an older kernel does not tell the slice */
    attributes.flags = RESET_ON_FORK;
    attributes.runtime = DCLI_SHORT_SLICE_NS;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 && dcli_slice_of_thread() == DCLI_SHORT_SLICE_NS;
}

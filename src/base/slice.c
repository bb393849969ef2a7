/* base/slice.c - how soon a thread runs after it has woken up. The C library has no functions for this. */
#include "base/slice.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
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

/* The priority of the calling thread before it was raised; 0: it was not. */
static _Thread_local int inherited;

/* The calling thread's polling, in monotonic time. */
static _Thread_local struct {
    int64_t since_ns; /* it has polled since then without a pause */
    int64_t last_ns;  /* it has last polled */
} polling;

static bool get(struct attributes *attributes)
{
    *attributes = (struct attributes){.size = sizeof *attributes};
    return syscall(SYS_sched_getattr, 0, attributes, sizeof *attributes, 0) == 0;
}

static bool has_slices(const struct attributes *attributes)
{
    return attributes->policy == SCHED_OTHER || attributes->policy == SCHED_BATCH;
}

static bool is_real_time(const struct attributes *attributes)
{
    return attributes->policy == SCHED_RR || attributes->policy == SCHED_FIFO;
}

uint64_t dcli_slice_of_thread(void)
{
    struct attributes attributes;
    return get(&attributes) && has_slices(&attributes) ? attributes.runtime : 0;
}

int dcli_slice_priority(void)
{
    struct attributes attributes;
    return get(&attributes) && is_real_time(&attributes) ? (int)attributes.priority : 0;
}

static bool raise_priority(int policy, int priority)
{
    if (priority >= sched_get_priority_max(policy) || pthread_setschedprio(pthread_self(), priority + 1) != 0)
        return false;
    inherited = priority;
    return true;
}

bool dcli_slice_shorten(void)
{
    struct attributes attributes;
    if (!get(&attributes))
        return false;
    if (is_real_time(&attributes))
        return inherited > 0 || raise_priority((int)attributes.policy, (int)attributes.priority);
    if (!has_slices(&attributes) || attributes.runtime == 0)
        return false; /* an older kernel does not tell the slice */
    attributes.flags = RESET_ON_FORK;
    attributes.runtime = DCLI_SHORT_SLICE_NS;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 && dcli_slice_of_thread() == DCLI_SHORT_SLICE_NS;
}

bool dcli_slice_rest(int64_t now_ns)
{
    if (inherited == 0)
        return false;
    if (now_ns - polling.last_ns >= DCLI_REST_NS)
        polling.since_ns = now_ns;
    polling.last_ns = now_ns;
    if (now_ns - polling.since_ns < DCLI_POLL_NS)
        return false;
    polling.since_ns = now_ns + DCLI_REST_NS;
    polling.last_ns = polling.since_ns;
    nanosleep(&(struct timespec){.tv_nsec = DCLI_REST_NS}, NULL);
    return true;
}

bool dcli_slice_is_raised(void) { return inherited > 0; }

void dcli_slice_lower(void)
{
    if (inherited > 0)
        pthread_setschedprio(pthread_self(), inherited);
}

void dcli_slice_restore(void)
{
    if (inherited > 0)
        pthread_setschedprio(pthread_self(), inherited + 1);
}

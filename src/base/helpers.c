/* base/helpers.c - a pool of helper threads, and the queue of tasks whose parts they run. */
#include "base/helpers.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/signals.h"

enum { PER_DEVICE = 12, MOST_DEVICES = 4, MOST_HELPERS = PER_DEVICE * MOST_DEVICES, SPIN_NS = 50000 };

struct dcli_helpers {
    int count; /* number of threads to start; fewer may run, see `started` */
    pthread_t thread[MOST_HELPERS];
    atomic_int waiting;      /* number of parts in the queue that no thread has begun; changed with the lock held,
                                but also read without it */
    pthread_mutex_t lock;    /* guards the following fields, and the links and `begun` of tasks */
    pthread_cond_t changed;  /* signalled if a task was added, or if the pool is closed */
    pthread_cond_t settled;  /* signalled when no thread is in a callback any more */
    dcli_task *first, *last; /* queue of tasks with parts that no thread has begun */
    int started;             /* number of threads that were started */
    int busy;                /* threads that are running parts, or are in over() */
    bool tried;              /* starting threads was tried */
    bool ends;
};

static atomic_int chosen = -1;

void dcli_helpers_choose(int count) { atomic_store(&chosen, count); }

int dcli_helpers_usual(int devices)
{
    int count = atomic_load(&chosen), most = (int)dcli_min(dcli_max(devices, 1), MOST_DEVICES) * PER_DEVICE;
    if (count >= 0)
        return (int)dcli_min(count, most);
    cpu_set_t processors;
    count = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    return count <= 2 ? 0 : (int)dcli_min(dcli_max(count / 2, count - 4), most);
}

/* ---- parts -------------------------------------------------------------------------------------------------------- */

/* Begin the next part of a task; the lock is held. @return the part's number. */
static int begin_part(dcli_helpers *helpers, dcli_task *task)
{
    int part = task->begun++;
    atomic_fetch_sub_explicit(&helpers->waiting, 1, memory_order_relaxed);
    if (task->begun < task->parts)
        return part;
    dcli_task **at = &helpers->first, *before = NULL;
    for (; *at != task; at = &before->next)
        before = *at;
    *at = task->next;
    if (helpers->last == task)
        helpers->last = before;
    return part;
}

/* Run a part and count it as ended. The task is not accessed after its last part is counted, because its owner may free
 * it. */
static void run_part(dcli_task *task, int part)
{
    void (*over)(void *told) = task->over;
    void *told = task->told;
    task->run(task->user, part);
    if (atomic_fetch_sub_explicit(&task->left, 1, memory_order_acq_rel) == 1 && over != NULL)
        over(told);
}

/* Run the next part of a task. The lock is held, but not while the part runs. */
static void run_next(dcli_helpers *helpers, dcli_task *task)
{
    int part = begin_part(helpers, task);
    helpers->busy++;
    pthread_mutex_unlock(&helpers->lock);
    run_part(task, part);
    pthread_mutex_lock(&helpers->lock);
    if (--helpers->busy == 0)
        pthread_cond_broadcast(&helpers->settled);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

/* Poll for a task for a short time before sleeping, because tasks often follow each other so closely that sleeping
 * between them takes longer than they do. */
static void look_out(const dcli_helpers *helpers)
{
    for (int64_t end = dcli_monotonic_ns() + SPIN_NS;
         atomic_load_explicit(&helpers->waiting, memory_order_relaxed) == 0 && dcli_monotonic_ns() < end;)
        sched_yield();
}

static void *help(void *argument)
{
    dcli_helpers *helpers = argument;
    pthread_mutex_lock(&helpers->lock);
    for (bool looked = true; !helpers->ends || helpers->first != NULL;) {
        dcli_task *task = helpers->first;
        if (task == NULL) {
            if (looked) {
                pthread_cond_wait(&helpers->changed, &helpers->lock);
                continue;
            }
            pthread_mutex_unlock(&helpers->lock);
            look_out(helpers);
            looked = true;
            pthread_mutex_lock(&helpers->lock);
            continue;
        }
        run_next(helpers, task);
        looked = false;
    }
    pthread_mutex_unlock(&helpers->lock);
    return NULL;
}

/* Start the threads; the lock is held. */
static void start_threads(dcli_helpers *helpers)
{
    helpers->tried = true;
    while (helpers->started < helpers->count &&
           dcli_thread_start(&helpers->thread[helpers->started], help, helpers) == 0)
        helpers->started++;
}

dcli_helpers *dcli_helpers_open(int count)
{
    dcli_helpers *helpers = dcli_calloc(1, sizeof *helpers);
    if (helpers == NULL)
        return NULL;
    helpers->count = (int)dcli_min(count, MOST_HELPERS);
    pthread_mutex_init(&helpers->lock, NULL);
    dcli_cond_init(&helpers->changed);
    dcli_cond_init(&helpers->settled);
    return helpers;
}

void dcli_helpers_close(dcli_helpers *helpers)
{
    if (helpers == NULL)
        return;
    pthread_mutex_lock(&helpers->lock);
    helpers->ends = true;
    pthread_cond_broadcast(&helpers->changed);
    pthread_mutex_unlock(&helpers->lock);
    for (int t = 0; t < helpers->started; t++)
        pthread_join(helpers->thread[t], NULL);
    pthread_mutex_destroy(&helpers->lock);
    pthread_cond_destroy(&helpers->changed);
    pthread_cond_destroy(&helpers->settled);
    dcli_free(helpers);
}

int dcli_helpers_count(const dcli_helpers *helpers) { return helpers->count; }

void dcli_helpers_serve(dcli_helpers *helpers, int devices)
{
    pthread_mutex_lock(&helpers->lock);
    if (!helpers->tried)
        helpers->count = (int)dcli_max(helpers->count, dcli_helpers_usual(devices));
    pthread_mutex_unlock(&helpers->lock);
}

/* ---- tasks -------------------------------------------------------------------------------------------------------- */

void dcli_helpers_start(dcli_helpers *helpers, dcli_task *task)
{
    task->next = NULL;
    task->begun = 0;
    atomic_init(&task->left, task->parts);
    pthread_mutex_lock(&helpers->lock);
    if (!helpers->tried)
        start_threads(helpers);
    bool alone = helpers->started == 0;
    if (!alone) {
        *(helpers->last != NULL ? &helpers->last->next : &helpers->first) = task;
        helpers->last = task;
        atomic_fetch_add_explicit(&helpers->waiting, task->parts, memory_order_relaxed);
        pthread_cond_broadcast(&helpers->changed);
    }
    pthread_mutex_unlock(&helpers->lock);
    for (int part = 0, parts = task->parts; alone && part < parts; part++)
        run_part(task, part);
}

bool dcli_task_is_over(const dcli_task *task) { return atomic_load_explicit(&task->left, memory_order_acquire) == 0; }

void dcli_helpers_await(dcli_helpers *helpers, dcli_task *task)
{
    while (!dcli_task_is_over(task)) {
        pthread_mutex_lock(&helpers->lock);
        bool begins = task->begun < task->parts;
        if (begins)
            run_next(helpers, task);
        pthread_mutex_unlock(&helpers->lock);
        if (!begins)
            sched_yield();
    }
}

/* A copy in parts. */
struct copy {
    char *to;
    const char *from;
    size_t bytes;
};

enum { LEAST_BYTES = 512 << 10, PART_BYTES = 256 << 10 };

static void copy_part(void *user, int part)
{
    const struct copy *copy = user;
    size_t first = (size_t)part * PART_BYTES;
    size_t count = copy->bytes - first < PART_BYTES ? copy->bytes - first : PART_BYTES;
    memcpy(copy->to + first, copy->from + first, count);
}

void dcli_helpers_copy(dcli_helpers *helpers, void *to, const void *from, size_t bytes)
{
    if (helpers->count == 0 || bytes < LEAST_BYTES) {
        memcpy(to, from, bytes);
        return;
    }
    struct copy copy = {to, from, bytes};
    dcli_task task = {.run = copy_part, .user = &copy, .parts = (int)((bytes + PART_BYTES - 1) / PART_BYTES)};
    dcli_helpers_start(helpers, &task);
    dcli_helpers_await(helpers, &task);
}

void dcli_helpers_settle(dcli_helpers *helpers)
{
    pthread_mutex_lock(&helpers->lock);
    while (helpers->first != NULL || helpers->busy > 0)
        pthread_cond_wait(&helpers->settled, &helpers->lock);
    pthread_mutex_unlock(&helpers->lock);
}

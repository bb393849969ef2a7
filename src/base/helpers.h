/* base/helpers.h - a pool of helper threads that make long copies. A task has several parts, which run in any order and
 * at the same time.
 *
 * A thread that serves a node or the host must answer messages; so it gives long copies to helpers, and learns later
 * that they have ended. */
#ifndef DCLI_BASE_HELPERS_H
#define DCLI_BASE_HELPERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct dcli_helpers dcli_helpers;

/** A task. The owner sets the first five fields, and neither moves nor frees the task until dcli_task_is_over(). */
typedef struct dcli_task {
    void (*run)(void *user, int part); /* called once for each part, 0..parts-1 */
    void *user;
    int parts; /* number of parts, at least 1 */
    void (*over)(
        void *told); /* called by some thread after the last part has ended. It may only signal somebody, because the
                        task may not exist any more */
    void *told;
    /* The fields below are used by the helpers only. */
    struct dcli_task *next;
    int begun; /* number of parts that threads have begun */
    atomic_int left;
} dcli_task;

/** The suitable number of helpers on this host. Of the n processors that this process may use, n / 2 or n - 4,
 *  whichever is more, but at most 12 for each device that copies to and from the host; none with one or two, where helpers
 *  would take time from those that compute.
 *  @param devices  at most 4 count; 0 is taken as 1. */
int dcli_helpers_usual(int devices);
/** For tests: dcli_helpers_usual() returns `count` from now on; -1: its own answer again. */
void dcli_helpers_choose(int count);

/** Open a pool of `count` threads, at most 48, which start with the first task. @return NULL: DCL_ERR_NOMEM. */
dcli_helpers *dcli_helpers_open(int count);
/** Close the pool. All tasks must be over. Returns when no helper is in a callback any more. NULL is accepted. */
void dcli_helpers_close(dcli_helpers *helpers);
/** Number of threads that the pool was opened with, whether they have been started or not. */
int dcli_helpers_count(const dcli_helpers *helpers);
/** Let a pool that has run no task yet have as many threads as suit this number of devices. */
void dcli_helpers_serve(dcli_helpers *helpers, int devices);

/** Queue a task. Helpers begin tasks in the order of these calls. If no thread could be started, the task runs in this
 *  call and has ended when it returns. From any thread. */
void dcli_helpers_start(dcli_helpers *helpers, dcli_task *task);
/** Whether all parts have ended. Then this thread sees everything that they have written. */
bool dcli_task_is_over(const dcli_task *task);
/** Wait until a task is over, running parts of it meanwhile. */
void dcli_helpers_await(dcli_helpers *helpers, dcli_task *task);
/** Copy like memcpy(); a long copy is divided among the calling thread and helpers. */
void dcli_helpers_copy(dcli_helpers *helpers, void *to, const void *from, size_t bytes);
/** Wait until no helper is in a callback any more. No task may be started meanwhile. */
void dcli_helpers_settle(dcli_helpers *helpers);

#endif

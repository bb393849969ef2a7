/* base/helpers.h - a few threads that copy for others: the parts of a task run in any order, side by side.
 *
 * A thread that serves a node or the host must answer messages, so it leaves long copies to helpers and learns of their end. */
#ifndef DCLI_BASE_HELPERS_H
#define DCLI_BASE_HELPERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct dcli_helpers dcli_helpers;

/** Work in parts. The owner sets the first four fields and keeps the task where it is until dcli_task_is_over(). */
typedef struct dcli_task {
    void (*run)(void *user, int part); /* called once for each part, 0..parts-1 */
    void *user;
    int parts; /* at least 1 */
    void (*over)(
        void *told); /* called by some thread after the last part; the task may be gone by then. Only signals */
    void *told;
    /* the helpers' */
    struct dcli_task *next;
    int begun; /* parts */
    atomic_int left;
} dcli_task;

/** How many helpers are worth having on this host: half of the processors that this process may use, 8 at most; none on one or
 *  two processors, where they would take time from those that compute. */
int dcli_helpers_usual(void);
/** For tests: let dcli_helpers_usual() be so many from now on; -1: as usual. */
void dcli_helpers_choose(int count);

/** A pool of so many threads, which start with the first task. @return NULL: DCL_ERR_NOMEM. */
dcli_helpers *dcli_helpers_open(int count);
/** All tasks are over. Returns when no helper calls anything any more. NULL is accepted. */
void dcli_helpers_close(dcli_helpers *helpers);
/** Threads of the pool, started or not. */
int dcli_helpers_count(const dcli_helpers *helpers);

/** Start a task; in order with others as far as its beginning goes. Where no thread could be started, it is over when this
 *  returns. From any thread. */
void dcli_helpers_start(dcli_helpers *helpers, dcli_task *task);
/** Whether all parts have ended; what they wrote is seen then. */
bool dcli_task_is_over(const dcli_task *task);
/** Wait until a task is over, running parts of it meanwhile. */
void dcli_helpers_await(dcli_helpers *helpers, dcli_task *task);
/** memcpy(), if it is long by several threads, this one among them. */
void dcli_helpers_copy(dcli_helpers *helpers, void *to, const void *from, size_t bytes);
/** Wait until no helper calls anything any more. Nobody starts a task meanwhile. */
void dcli_helpers_settle(dcli_helpers *helpers);

#endif

/* fleet/watchdog.h - the watchdog of a worker process: a thread that shows that the serving thread lives, and keeps its
 * deadlines. For nodes that are threads, fleet/guard.h does so.
 *
 * It reads what the serving thread says of itself (worker/watch.h) and beats for it: while it sleeps or ticks, and while it
 * builds, plans or computes within the deadline; a thread that hangs otherwise is silent, and its parent notices. A deadline
 * that has passed ends the process: the parent finds the reason on the status page. The watchdog also ends the process when
 * its parent is gone. */
#ifndef DCLI_FLEET_WATCHDOG_H
#define DCLI_FLEET_WATCHDOG_H

#include "worker/watch.h"

typedef struct dcli_watchdog dcli_watchdog;

/** @param page    of the process. @param lifeline  a socket whose other end the parent holds; -1: none.
 *  @return NULL (recorded). */
dcli_watchdog *dcli_watchdog_open(dcli_status_page *page, int lifeline);
/** Moving data has no limit here: only an hour without progress counts as a hang.
 *  @param plan_ms  0: no limit. */
void dcli_watchdog_limits(dcli_watchdog *watchdog, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms);
/** NULL is accepted. */
void dcli_watchdog_close(dcli_watchdog *watchdog);
/** Where the serving thread shows that it lives: lives as long as the watchdog. */
dcli_watch *dcli_watchdog_watch(dcli_watchdog *watchdog);

/* Of a node that is a thread of the program, which nobody can end: the guard's thread looks. */

typedef enum dcli_life { DCLI_ALIVE, DCLI_SILENT, DCLI_OVERDUE } dcli_life;
/** A watchdog with a page of its own and without a thread. @return NULL (recorded). */
dcli_watchdog *dcli_watchdog_make(void);
/** Whether the serving thread has shown that it lives since the last look. By one thread.
 *  @param passed_ns  to be counted since the last look. The caller limits it, so that time in which the whole program was
 *                    stopped counts for neither silence nor deadlines. */
dcli_life dcli_watchdog_look(dcli_watchdog *watchdog, int64_t passed_ns);

#endif

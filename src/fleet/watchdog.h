/* fleet/watchdog.h - the watchdog of a worker process: a thread that shows the parent that the serving thread makes
 * progress, and enforces its time limits. For nodes that are threads, fleet/guard.h does this.
 *
 * It reads what the serving thread records (worker/watch.h), and beats for it: while the thread sleeps or makes
 * progress, and while it compiles, plans or computes within the time limit. It does not beat for a thread that hangs,
 * and the parent notices the silence. If a time limit has passed, the watchdog ends the process; the parent finds the
 * reason on the status page. The watchdog also ends the process when its parent is gone. */
#ifndef DCLI_FLEET_WATCHDOG_H
#define DCLI_FLEET_WATCHDOG_H

#include "fleet/placement.h"
#include "worker/watch.h"

typedef struct dcli_watchdog dcli_watchdog;

/** Start the watchdog.
 *  @param page    status page of the process.
 *  @param lifeline  a socket whose other end the parent holds; -1: none.
 *  @return NULL (recorded). */
dcli_watchdog *dcli_watchdog_open(dcli_status_page *page, int lifeline);
/** Set the time limits. Moving data may take an hour without progress; opening has no limit here.
 *  @param plan_ms  0: no limit. */
void dcli_watchdog_limits(dcli_watchdog *watchdog, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms);
/** Let the watchdog's thread look at the placement of this process, too. Takes it over. NULL is accepted: none. */
void dcli_watchdog_place(dcli_watchdog *watchdog, dcli_placement *placement);
/** End the thread and free the watchdog. NULL is accepted. */
void dcli_watchdog_close(dcli_watchdog *watchdog);
/** The watch in which the serving thread records its progress; valid as long as the watchdog. */
dcli_watch *dcli_watchdog_watch(dcli_watchdog *watchdog);

/* Result of dcli_watchdog_look(), which checks a node that is a thread; DCLI_OVERDUE: a time limit has passed. Nobody
 * can end that thread. */

typedef enum dcli_life { DCLI_ALIVE, DCLI_SILENT, DCLI_OVERDUE } dcli_life;
/** Make a watchdog with a page of its own and without a thread: the guard's thread looks at it. @return NULL
 *  (recorded). */
dcli_watchdog *dcli_watchdog_make(void);
/** Check whether the serving thread has made progress since the last look. Called by one thread.
 *  @param passed_ns  time to count since the last look. The caller limits it, so that time in which the whole program
 *                    was stopped counts neither as silence nor towards time limits. */
dcli_life dcli_watchdog_look(dcli_watchdog *watchdog, int64_t passed_ns);

#endif

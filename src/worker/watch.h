/* worker/watch.h - the watchdog of a worker process: a thread that shows that the serving thread lives, and keeps its
 * deadlines. For nodes that are threads, worker/guard.h does so.
 *
 * The serving thread ticks once per turn of its loop and says when it begins and ends to sleep, to build, to plan, and to
 * have kernels running. The watchdog beats for it: while it sleeps or ticks, and while it builds, plans or computes within
 * the deadline; a thread that hangs otherwise is silent, and its parent notices. A deadline that has passed ends the process:
 * the parent finds the reason on the status page. It also ends the process when its parent is gone. */
#ifndef DCLI_WORKER_WATCH_H
#define DCLI_WORKER_WATCH_H

#include <stdbool.h>

#include "worker/status.h"

typedef struct dcli_watch dcli_watch;

/** @param page    of the process. @param lifeline  a socket whose other end the parent holds; -1: none.
 *  @return NULL (recorded). */
dcli_watch *dcli_watch_open(dcli_status_page *page, int lifeline);
/** Moving data has no limit here: only an hour without progress counts as a hang.
 *  @param plan_ms  0: no limit. */
void dcli_watch_limits(dcli_watch *watch, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms);
void dcli_watch_close(dcli_watch *watch);

/* Of a node that is a thread of the program, which nobody can end: the guard's thread looks. */

typedef enum dcli_life { DCLI_ALIVE, DCLI_SILENT, DCLI_OVERDUE } dcli_life;
/** A watch with a page of its own and without a thread. @return NULL (recorded). */
dcli_watch *dcli_watch_make(void);
/** Whether the serving thread has shown that it lives since the last look. By one thread.
 *  @param passed_ns  to be counted since the last look. The caller limits it, so that time in which the whole program was
 *                    stopped counts for neither silence nor deadlines. */
dcli_life dcli_watch_look(dcli_watch *watch, int64_t passed_ns);
const dcli_status_page *dcli_watch_page(const dcli_watch *watch);
/** The node has been given up: its thread is to end without touching anything, if it can. */
void dcli_watch_give_up(dcli_watch *watch);
/** NULL is accepted. */
bool dcli_watch_is_given_up(const dcli_watch *watch);

/* All accept NULL (nobody watches). By the serving thread. */
void dcli_watch_tick(dcli_watch *watch);
void dcli_watch_sleep(dcli_watch *watch, bool asleep);
/** Whether nothing that was called is left to do. */
void dcli_watch_rest(dcli_watch *watch, bool rests);
/** Say which body comes next: who looks for the reason of a crash reads it, before the activity has begun. */
void dcli_watch_announce(dcli_watch *watch, dcli_activity activity, const char *text);
/** Say why this process ends by itself. */
void dcli_watch_farewell(dcli_watch *watch, const char *text);
/** Say which body would be to blame for a crash from now on. @param kernel  its number; 0: none, or more than one. */
void dcli_watch_kernel(dcli_watch *watch, dcli_activity activity, int64_t kernel);
/** Begin an activity (again), with the text of the body it is about; NULL ends it. */
void dcli_watch_activity(dcli_watch *watch, dcli_activity activity, const char *text);
/** An activity that is under way has made progress: its deadline begins anew. */
void dcli_watch_progress(dcli_watch *watch, dcli_activity activity);

#endif

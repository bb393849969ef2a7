/* worker/watch.h - progress of a serving thread, for a monitoring thread or the parent process.
 *
 * The serving thread increments a counter (`ticks`) at least once per turn of its loop, and for each message and
 * launch. It records when it begins and ends to sleep, to compile, to plan, and to have kernels running. Nothing here
 * waits or allocates. */
#ifndef DCLI_WORKER_WATCH_H
#define DCLI_WORKER_WATCH_H

#include <stdbool.h>

#include "worker/status.h"

/** Written by the serving thread, read by the monitoring thread. */
typedef struct dcli_watch {
    dcli_status_page *page; /* the status page of the process, or one for the thread alone */
    _Atomic int64_t ticks;
    atomic_bool asleep;
    atomic_bool given_up; /* set by the monitoring thread */
} dcli_watch;

/* ---- for the serving thread; all accept NULL: nobody monitors it ---- */

/** Whether the node has been given up: then its thread must end without touching anything, if it can. */
bool dcli_watch_is_given_up(const dcli_watch *watch);
/** Record that the thread makes progress. */
void dcli_watch_tick(dcli_watch *watch);
/** Record that the thread is about to sleep (true) or has woken up (false). */
void dcli_watch_sleep(dcli_watch *watch, bool asleep);
/** Record whether all operations that the node knows have ended, in a turn of the loop that found nothing to do. */
void dcli_watch_rest(dcli_watch *watch, bool rests);
/** Record which body comes next, before the activity begins, so that it is known after a crash. */
void dcli_watch_announce(dcli_watch *watch, dcli_activity activity, const char *text);
/** Record why this process ends by itself. */
void dcli_watch_farewell(dcli_watch *watch, const char *text);
/** Record which body would be to blame for a crash from now on. @param kernel  its number; 0: none, or more than
 *  one. */
void dcli_watch_kernel(dcli_watch *watch, dcli_activity activity, int64_t kernel);
/** Record how many compilations are going on in other threads. While there are any, a crash is not blamed on a body,
 *  because the compiler may have caused it. */
void dcli_watch_beside(dcli_watch *watch, int count);
/** Where kernels that run a series record its present step; NULL: nobody monitors. */
void *dcli_watch_step(dcli_watch *watch);
/** Begin an activity (again), with the text of its body; NULL ends it. */
void dcli_watch_activity(dcli_watch *watch, dcli_activity activity, const char *text);
/** Record progress of a running activity: its time limit starts again. */
void dcli_watch_progress(dcli_watch *watch, dcli_activity activity);

#endif

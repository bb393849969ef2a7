/* worker/watch.h - signs of life of a serving thread, for whoever watches it from another thread or from the parent process.
 *
 * The serving thread ticks once per turn of its loop and says when it begins and ends to sleep, to build, to plan, and to
 * have kernels running. Nothing here waits or allocates. */
#ifndef DCLI_WORKER_WATCH_H
#define DCLI_WORKER_WATCH_H

#include <stdbool.h>

#include "worker/status.h"

/** Written by the serving thread, read by the thread that watches. */
typedef struct dcli_watch {
    dcli_status_page *page; /* of the process, or of the thread alone */
    _Atomic int64_t ticks;
    atomic_bool asleep;
    atomic_bool given_up; /* set by the thread that watches */
} dcli_watch;

/* All accept NULL (nobody watches). By the serving thread. */

/** Whether the node has been given up: its thread is to end without touching anything, if it can. */
bool dcli_watch_is_given_up(const dcli_watch *watch);
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

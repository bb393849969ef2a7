/* worker/status.h - what a worker process shows of itself in shared memory: its parent can still read it after a crash. */
#ifndef DCLI_WORKER_STATUS_H
#define DCLI_WORKER_STATUS_H

#include <stdatomic.h>

#include <dcl/base.h>

/** What a process may be doing that takes its time: opening its device, compiling, running kernels, filling, loading and
 *  saving its part of an array, or planning an operation. Several at once are possible. */
typedef enum dcli_activity {
    DCLI_BUILDING,
    DCLI_COMPUTING,
    DCLI_MOVING,
    DCLI_OPENING,
    DCLI_PLANNING,
    DCLI_ACTIVITIES
} dcli_activity;

/** Written by the process, read by its parent, which trusts nothing in it: numbers are compared, text is cut and cleaned.
 *  Times are of CLOCK_MONOTONIC, in ns. */
typedef struct dcli_status_page {
    _Atomic int64_t beats; /* grows while the thread that serves is alive: see worker/watch.h */
    struct {
        _Atomic int64_t since_ns; /* 0: not now */
        char text[256];           /* beginning of the body that is built or run */
        _Atomic int64_t kernel;   /* its number; 0: none, or several are under way */
    } activity[DCLI_ACTIVITIES];
    char farewell[256];           /* why it ends by itself; "": it has not said so */
    atomic_bool rests;            /* nothing that was called is left to do */
    _Atomic int64_t rises;        /* how often it has begun to have something to do */
    atomic_bool limit_is_workers; /* what a kernel may take is less than its program allows */
    _Atomic int exceeded;         /* 1 + the activity whose deadline ended the process; 0: none */
} dcli_status_page;

enum { DCLI_STATUS_BYTES = 4096 };
_Static_assert(sizeof(dcli_status_page) <= DCLI_STATUS_BYTES, "the page has room for it");

#endif

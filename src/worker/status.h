/* worker/status.h - the status page: state of a worker process in shared memory, which its parent can read even after a
 * crash. */
#ifndef DCLI_WORKER_STATUS_H
#define DCLI_WORKER_STATUS_H

#include <stdatomic.h>

#include <dcl/base.h>

/** Activities of a process that may take long: BUILDING compiles, COMPUTING runs kernels or waits for the device's
 *  copies, MOVING allocates, fills, loads or saves parts, OPENING opens the device, PLANNING plans. Several are
 *  possible at the same time. */
typedef enum dcli_activity {
    DCLI_BUILDING,
    DCLI_COMPUTING,
    DCLI_MOVING,
    DCLI_OPENING,
    DCLI_PLANNING,
    DCLI_ACTIVITIES
} dcli_activity;

/** Written by the process, read by its parent, which does not trust it: numbers are range-checked, text is cut and
 *  escaped. Times are of CLOCK_MONOTONIC, in ns. */
typedef struct dcli_status_page {
    _Atomic int64_t
        beats; /* increased by the watchdog while the serving thread sleeps, makes progress, or is within a time
                              limit: see fleet/watchdog.h */
    struct {
        _Atomic int64_t since_ns; /* when it began, or last made progress; 0: it is not going on */
        char text[256];           /* beginning of the text of the body that is compiled or run */
        _Atomic int64_t kernel;   /* number of that body; 0: none, or several are running */
    } activity[DCLI_ACTIVITIES];
    struct {
        _Atomic int64_t kernel;   /* number of the body that the present step of a series runs; 0: no series runs, or it
                                   is between two steps */
        char text[256];           /* beginning of its text */
    } step;                       /* written by the kernel itself: DCLI_SERIES_NOW_LONGS longs of kernel/series.h */
    _Atomic int beside;           /* compilations in threads beside the serving one; see dcli_exec_watch_beside() */
    atomic_bool described;        /* the device is open and described: further processes may be started */
    char farewell[256];           /* why the process ends by itself; "": no reason given */
    atomic_bool rests;            /* all operations had ended when the serving loop last found nothing to do; a
                                     compilation may be going on: see `activity` */
    _Atomic int64_t rises;        /* number of changes from idle to busy */
    atomic_bool limit_is_workers; /* the limit on a kernel's time was set by the worker, lower than the program's */
    _Atomic int exceeded;         /* 1 + the activity whose time limit ended the process; 0: none */
} dcli_status_page;

enum { DCLI_STATUS_BYTES = 4096 };
_Static_assert(sizeof(dcli_status_page) <= DCLI_STATUS_BYTES, "the page has room for it");

#endif

/* base/signals.h - threads of the library handle no signals, because these are for the program's own threads. */
#ifndef DCLI_BASE_SIGNALS_H
#define DCLI_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

#include "base/slice.h"

/** Block signals in this thread, and in threads that it starts, until pthread_sigmask(SIG_SETMASK, before_out, NULL).
 *  Signals of a thread's own faults stay: they must reach the program's handler, whichever thread they concern. */
static inline void dcli_signals_block(sigset_t *before_out)
{
    static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t s = 0; s < sizeof own_faults / sizeof own_faults[0]; s++)
        sigdelset(&blocked, own_faults[s]);
    pthread_sigmask(SIG_SETMASK, &blocked, before_out);
}

/** Start a thread in which the signals of dcli_signals_block() are blocked. If this thread has called
 *  dcli_slice_shorten(), the new one gets the priority from before. @return as pthread_create(). */
static inline int dcli_thread_start(pthread_t *thread_out, void *(*run)(void *argument), void *argument)
{
    sigset_t before;
    dcli_signals_block(&before);
    dcli_slice_lower();
    int code = pthread_create(thread_out, NULL, run, argument);
    dcli_slice_restore();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

#endif

/* worker/turn.h - which thread serves the host's worker: its own thread or, in its place, a thread of the program that
 * waits for an operation.
 *
 * If the worker's own thread always served, each operation would wake two threads one after the other: the worker's,
 * when nodes report, and the program's, when the worker is done. Therefore a thread of the program that waits serves
 * the worker itself, and one that has called dcl_forall() sends the operation itself. Meanwhile, and for some time
 * after, the own thread does not run, because most programs soon call and wait again. */
#ifndef DCLI_WORKER_TURN_H
#define DCLI_WORKER_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct dcli_turn {
    pthread_mutex_t serving; /* held by the thread that serves; released while that thread sleeps */
    pthread_mutex_t lock;    /* guards the fields below */
    pthread_cond_t changed;  /* the worker's own thread waits on it while others serve */
    bool taken;              /* a thread of the program, `taker`, serves */
    pthread_t taker;
    bool lingers;         /* nobody serves: the own thread waits until it is summoned, or until LINGER_NS have passed */
    bool summoned;        /* while `taken` or `lingers`: something was queued, so the own thread must not linger */
    bool polls;           /* the thread that serves, or served last, does not sleep while it waits */
    bool resting, serves; /* own thread: it is waiting for its turn; it has started and not ended */
    bool looks;           /* own thread: it waits for a limited time */
    int posted, usual;    /* items queued since a thread of the program last took the turn; how many it queued the last
                          time that it waited within 50 us of the first of them: it is expected to do so again */
    int64_t pushed_ns;    /* when operations were last found to be due */
    int burst;            /* operations sent since the last pause, up to MOST_BURST */
    int64_t taken_ns, left_ns, posted_ns; /* when a thread of the program last took the turn, and left it; time of
                                             the first call since then, 0: none */
} dcli_turn;

struct dcli_worker;

void dcli_turn_init(dcli_turn *turn);
void dcli_turn_destroy(dcli_turn *turn);

/** By the own thread: wait for its turn and take it. */
void dcli_turn_await(struct dcli_worker *host);
/** By the own thread: its turn ends. */
void dcli_turn_give(struct dcli_worker *host);
/** By the own thread, when its loop begins and ends: only in between may other threads serve. */
void dcli_turn_serves(struct dcli_worker *host, bool serves);
/** By a thread of the program: take the turn. @param until_ns  gives up then (as dcli_monotonic_ns()), because the own
 *  thread may be planning for long. @param polls  it will poll, because there are processors to spare. @return false:
 *  it has not got the turn: another thread of the program serves, the worker has ended, or the time is over. */
bool dcli_turn_take(struct dcli_worker *host, int64_t until_ns, bool polls);
/** By a thread of the program: its turn ends. */
void dcli_turn_leave(struct dcli_worker *host);
/** Announce that something was queued for the worker; any thread may call it. If nobody serves, the worker's own thread
 *  wakes: at once or, if the program usually waits after its calls and then serves itself, after LINGER_NS. @return
 *  whether nobody serves; else the caller must wake the serving thread. */
bool dcli_turn_summon(struct dcli_worker *host);
/** By a thread of the program that has queued an operation without waking anyone: whether it and those queued before it,
 *  `queued` in all, are to be sent now. The first ones after a pause are sent one by one, so that nodes begin. Later ones
 *  are sent together, because a message for each would cost more. Those that are not due are sent with a later operation, by
 *  a thread that waits, or by the worker's own thread, which looks after LINGER_NS. */
bool dcli_turn_is_due(struct dcli_worker *host, int queued);
/** By a thread of the program: take the turn if no other thread serves. @return whether it has the turn. */
bool dcli_turn_try(struct dcli_worker *host);
/** Called by the serving thread before and after it sleeps: release and lock `serving`. While the own thread sleeps, a
 *  thread of the program may take the turn; one that has the turn keeps it while it sleeps. */
void dcli_turn_sleeps(void *host);
void dcli_turn_wakes(void *host);

#endif

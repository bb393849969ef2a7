/* worker/turn.h - who serves the host's worker: its own thread, or, in place of it, a thread of the program that waits.
 *
 * A thread that waits would otherwise only wait for the host's thread, which waits for the nodes: two threads to be woken one
 * after the other for each operation. The own thread rests as long as another one serves, and some time longer: most
 * programs call and wait again soon. */
#ifndef DCLI_WORKER_TURN_H
#define DCLI_WORKER_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct dcli_turn {
    pthread_mutex_t serving; /* held while a thread serves; given up while it sleeps */
    pthread_mutex_t lock;    /* what follows */
    pthread_cond_t changed;  /* the own thread rests on it */
    bool taken;              /* a thread of the program serves: `taker` */
    pthread_t taker;
    bool lingers;         /* nobody serves: the own thread rests until it is summoned, or some time has passed */
    bool summoned;        /* while it lingers: there is something to do */
    bool resting, serves; /* the own thread: it rests; it has begun and not ended */
    bool is_usual;        /* the program waits at once for what it has called */
    int64_t taken_ns, left_ns, posted_ns; /* posted: the first call since then, 0: none */
} dcli_turn;

struct dcli_worker;

void dcli_turn_init(dcli_turn *turn);
void dcli_turn_destroy(dcli_turn *turn);

/** By the own thread: wait until it is its turn, and take it. Others may not before. */
void dcli_turn_await(struct dcli_worker *host);
/** By the own thread: its turn ends. */
void dcli_turn_give(struct dcli_worker *host);
/** By the own thread, when it begins and ends: only in between may others serve in its place. */
void dcli_turn_serves(struct dcli_worker *host, bool serves);
/** By a thread of the program. @param until_ns  as dcli_monotonic_ns(): the own thread may be planning for long. @return
 *  false: another one serves, nobody does any more, or it was not this one's turn in time. */
bool dcli_turn_take(struct dcli_worker *host, int64_t until_ns);
void dcli_turn_leave(struct dcli_worker *host);
/** Something was queued for the worker. By any thread. @return whether nobody serves, so that this is enough: the own thread
 *  will come, at once unless the program usually waits for what it has called, which it will do itself then. */
bool dcli_turn_summon(struct dcli_worker *host);
/** Around the sleep of a thread that serves. */
void dcli_turn_sleeps(void *host);
void dcli_turn_wakes(void *host);

#endif

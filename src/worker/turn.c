/* worker/turn.c - decides which thread serves the host's worker. */
#include "worker/turn.h"

#include <sched.h>

#include "base/check.h"
#include "base/clock.h"
#include "worker/peer.h"

enum {
    LINGER_NS = 300000, /* how long the worker's own thread waits after another thread has served, before it serves
                           again */
    LOOK_NS = 1000000,  /* how often it looks, in a longer wait of a thread that polls, whether that thread has left */
    AT_ONCE_NS = 50000, /* if a thread waits within this time after its first call, it is expected to do so again,
                           and serves the worker itself */
    PAUSE_NS = 25000,   /* an operation is sent at once if none was sent for so long */
    MOST_BURST = 200,   /* operations are counted up to this; so at most MOST_BURST / 4 + 1 are sent together */
    MAX_USUAL = 4       /* of that many items; a reduction queues three: see runtime/reduce.c */
};

void dcli_turn_init(dcli_turn *turn)
{
    pthread_mutex_init(&turn->serving, NULL);
    pthread_mutex_init(&turn->lock, NULL);
    dcli_cond_init(&turn->changed);
}

void dcli_turn_destroy(dcli_turn *turn)
{
    pthread_mutex_destroy(&turn->serving);
    pthread_mutex_destroy(&turn->lock);
    pthread_cond_destroy(&turn->changed);
}

/* ---- the own thread ------------------------------------------------------------------------------------------------ */

/* Wait while another thread serves, and for LINGER_NS after that. If that thread polls, there are processors to spare, and this one
 * looks every LOOK_NS whether it has left. Otherwise a thread that has served for long wakes this one when it leaves. The lock is
 * held. */
static void rest(dcli_turn *turn)
{
    while (turn->taken || (turn->lingers && !turn->summoned)) {
        int64_t end_ns = (turn->taken ? turn->taken_ns : turn->left_ns) + LINGER_NS, now_ns = dcli_monotonic_ns();
        bool over = now_ns >= end_ns;
        if (over && !turn->taken)
            break;
        struct timespec end = dcli_at_ns(over ? now_ns + LOOK_NS : end_ns);
        turn->resting = true;
        turn->looks = !over || turn->polls;
        if (turn->looks)
            pthread_cond_timedwait(&turn->changed, &turn->lock, &end);
        else
            pthread_cond_wait(&turn->changed, &turn->lock);
        turn->resting = turn->looks = false;
    }
    turn->lingers = turn->summoned = false;
}

void dcli_turn_await(dcli_worker *host)
{
    dcli_turn *turn = &host->as_host->turn;
    for (bool taken = true; taken;) {
        pthread_mutex_lock(&turn->lock);
        rest(turn);
        pthread_mutex_unlock(&turn->lock);
        pthread_mutex_lock(&turn->serving);
        pthread_mutex_lock(&turn->lock);
        taken = turn->taken;
        if (!taken) /* another thread may have served since this one began to wait */
            turn->lingers = turn->summoned = false;
        pthread_mutex_unlock(&turn->lock);
        if (taken)
            pthread_mutex_unlock(&turn->serving);
    }
}

void dcli_turn_give(dcli_worker *host) { pthread_mutex_unlock(&host->as_host->turn.serving); }

void dcli_turn_serves(dcli_worker *host, bool serves)
{
    dcli_turn *turn = &host->as_host->turn;
    pthread_mutex_lock(&turn->lock);
    turn->serves = serves;
    pthread_mutex_unlock(&turn->lock);
}

/* ---- threads of the program ---------------------------------------------------------------------------------------- */

/* Lock a mutex, waiting at most until `until_ns`. @return false: it could not be locked by then. The thread sanitizer
 * of GCC 12 does not know pthread_mutex_clocklock(). */
static bool lock_until(pthread_mutex_t *mutex, int64_t until_ns)
{
#if defined(__SANITIZE_THREAD__)
    while (pthread_mutex_trylock(mutex) != 0) {
        if (dcli_monotonic_ns() >= until_ns)
            return false;
        sched_yield();
    }
    return true;
#else
    struct timespec until = dcli_at_ns(until_ns);
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until) == 0;
#endif
}

/* Give up taking the turn, because the worker's own thread did not end its turn in time. That thread continues to
 * serve. */
static void renounce(dcli_turn *turn)
{
    pthread_mutex_lock(&turn->lock);
    turn->taken = false;
    pthread_cond_signal(&turn->changed);
    pthread_mutex_unlock(&turn->lock);
}

/* Let the calling thread have the turn, unless another thread of the program has it, or the own thread does not serve. The lock is
 * held. */
static bool assign(dcli_turn *turn, bool polls)
{
    if (turn->taken || !turn->serves)
        return false;
    turn->taken = true;
    turn->polls = polls;
    turn->taker = pthread_self();
    turn->taken_ns = dcli_monotonic_ns();
    turn->lingers = turn->summoned = false;
    return true;
}

bool dcli_turn_take(dcli_worker *host, int64_t until_ns, bool polls)
{
    dcli_turn *turn = &host->as_host->turn;
    pthread_mutex_lock(&turn->lock);
    bool takes = assign(turn, polls);
    if (takes) {
        if (turn->posted_ns != 0)
            turn->usual = turn->taken_ns - turn->posted_ns < AT_ONCE_NS && turn->posted <= MAX_USUAL ? turn->posted : 0;
        turn->posted_ns = 0;
        turn->posted = 0;
    }
    pthread_mutex_unlock(&turn->lock);
    if (!takes)
        return false;
    if (lock_until(&turn->serving, until_ns))
        return true;
    renounce(turn);
    return false;
}

bool dcli_turn_try(dcli_worker *host)
{
    dcli_turn *turn = &host->as_host->turn;
    if (pthread_mutex_trylock(&turn->serving) != 0)
        return false;
    pthread_mutex_lock(&turn->lock);
    bool takes = assign(turn, false);
    pthread_mutex_unlock(&turn->lock);
    if (!takes)
        pthread_mutex_unlock(&turn->serving);
    return takes;
}

/* Count an item that the program has queued. The lock is held. */
static void count_posted(dcli_turn *turn, int64_t now_ns)
{
    if (turn->posted_ns == 0)
        turn->posted_ns = now_ns;
    turn->posted += turn->posted <= MAX_USUAL;
}

bool dcli_turn_is_due(dcli_worker *host, int queued)
{
    dcli_turn *turn = &host->as_host->turn;
    int64_t now_ns = dcli_monotonic_ns();
    pthread_mutex_lock(&turn->lock);
    count_posted(turn, now_ns);
    bool paused = now_ns - turn->pushed_ns >= PAUSE_NS;
    if (paused)
        turn->burst = 0;
    bool due = !turn->lingers || (turn->posted > turn->usual && (paused || queued > turn->burst / 4));
    if (due) {
        turn->burst = dcli_min(turn->burst + queued, MOST_BURST);
        turn->pushed_ns = now_ns;
    }
    pthread_mutex_unlock(&turn->lock);
    return due;
}

void dcli_turn_leave(dcli_worker *host)
{
    dcli_turn *turn = &host->as_host->turn;
    bool idle = dcli_host_may_sleep(host) && dcli_node_idle(host->node);
    atomic_store_explicit(&host->as_host->resting, true, memory_order_relaxed);
    pthread_mutex_lock(&turn->lock);
    turn->taken = false;
    turn->left_ns = dcli_monotonic_ns();
    turn->lingers = idle && (turn->looks || turn->left_ns - turn->taken_ns < LINGER_NS);
    bool rests = turn->resting;
    if (!turn->lingers || turn->summoned)
        pthread_cond_signal(&turn->changed);
    pthread_mutex_unlock(&turn->lock);
    dcli_endpoint_rouse(host->endpoint, !rests); /* the own thread may be asleep in the endpoint: wake it */
    pthread_mutex_unlock(&turn->serving);
}

bool dcli_turn_summon(dcli_worker *host)
{
    dcli_turn *turn = &host->as_host->turn;
    pthread_mutex_lock(&turn->lock);
    bool lingers = turn->lingers;
    count_posted(turn, dcli_monotonic_ns());
    if (turn->taken || (lingers && turn->posted > turn->usual)) {
        turn->summoned = true;
        if (!turn->taken)
            pthread_cond_signal(&turn->changed);
    }
    pthread_mutex_unlock(&turn->lock);
    return lingers;
}

void dcli_turn_sleeps(void *user)
{
    dcli_worker *host = user;
    pthread_mutex_unlock(&host->as_host->turn.serving);
}

void dcli_turn_wakes(void *user)
{
    dcli_worker *host = user;
    dcli_turn *turn = &host->as_host->turn;
    pthread_mutex_lock(&turn->lock);
    bool own = turn->taken && pthread_equal(turn->taker, pthread_self());
    pthread_mutex_unlock(&turn->lock);
    if (own)
        pthread_mutex_lock(&turn->serving);
    else
        dcli_turn_await(host);
}

/* test/worker/turn_test.c - when items that the program queues wake the host's own thread. */
#include <criterion/criterion.h>
#include <sched.h>

#include "base/clock.h"
#include "worker/peer.h"

struct turns {
    dcli_worker worker;
    dcli_as_host host;
};

static dcli_turn *begin(struct turns *turns)
{
    turns->worker.as_host = &turns->host;
    dcli_turn_init(&turns->host.turn);
    dcli_turn_serves(&turns->worker, true);
    return &turns->host.turn;
}

/* The own thread lingers; the program queues items. @return after how many the own thread was summoned, 0: it was not. */
static int queue(struct turns *turns, int items)
{
    dcli_turn *turn = &turns->host.turn;
    int summoned_at = 0;
    turn->lingers = true;
    for (int n = 1; n <= items; n++) {
        cr_expect(dcli_turn_summon(&turns->worker), "nobody serves");
        if (turn->summoned && summoned_at == 0)
            summoned_at = n;
    }
    return summoned_at;
}

/* The program waits, serves and leaves. @param late_ns  so long after its first item */
static void serve(struct turns *turns, int64_t late_ns)
{
    dcli_turn *turn = &turns->host.turn;
    turn->posted_ns += 1000000 - late_ns; /* the test's own pace does not count */
    cr_assert(dcli_turn_take(&turns->worker, INT64_MAX, false));
    turn->taken = false;
    pthread_mutex_unlock(&turn->serving);
}

/* A program that waits soon after some items is expected to do so again after as many, but not after many. */
Test(turn, items_before_a_wait_are_learned)
{
    static struct turns turns;
    dcli_turn *turn = begin(&turns);
    for (int items = 1; items <= 6; items++) {
        cr_expect_eq(queue(&turns, items), items <= 5 ? items : 5, "%d items, more than usual", items);
        serve(&turns, 0);
        cr_expect_eq(queue(&turns, items), items <= 4 ? 0 : 1, "%d items, as usual", items);
        serve(&turns, 0);
        cr_expect_eq(queue(&turns, 8), items <= 4 ? items + 1 : 1, "a stream after %d items", items);
        serve(&turns, 0);
        queue(&turns, items <= 4 ? items : 4);
        serve(&turns, 0);
    }
    queue(&turns, 2);
    serve(&turns, 1000000000);
    cr_expect_eq(queue(&turns, 1), 1, "the program computed before it waited");
    dcli_turn_destroy(turn);
}

static void *await(void *turns)
{
    dcli_turn_await(&((struct turns *)turns)->worker);
    dcli_turn_give(&((struct turns *)turns)->worker);
    return NULL;
}

/* A thread of the program that polls does not wake the own thread when it leaves, however long it has served. */
Test(turn, the_own_thread_sees_that_one_which_polled_has_left, .timeout = 60)
{
    static struct turns turns;
    dcli_turn *turn = begin(&turns);
    pthread_t own;
    cr_assert(dcli_turn_take(&turns.worker, INT64_MAX, true));
    cr_assert_eq(pthread_create(&own, NULL, await, &turns), 0);
    for (bool looks = false; !looks || dcli_monotonic_ns() - turn->taken_ns < 2000000; sched_yield()) {
        pthread_mutex_lock(&turn->lock);
        looks = turn->resting && turn->looks;
        pthread_mutex_unlock(&turn->lock);
    }
    pthread_mutex_lock(&turn->lock);
    turn->taken = false; /* as dcli_turn_leave() does, which needs a whole worker */
    turn->left_ns = dcli_monotonic_ns();
    turn->lingers = true;
    pthread_mutex_unlock(&turn->lock);
    pthread_mutex_unlock(&turn->serving);
    pthread_join(own, NULL);
    cr_expect(dcli_monotonic_ns() - turn->left_ns >= 300000, "it has waited, because the program may call again");
    dcli_turn_destroy(turn);
}

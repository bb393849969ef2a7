/* test/worker/turn_test.c - when items that the program queues are sent, and by which thread. */
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
    turn->posted_ns += 1000000000 - late_ns; /* the test's own pace does not count */
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
    serve(&turns, 10000000000);
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

/* Queue operations one by one, without a pause, and send them when they are due. @return how often any were sent. */
static int push(struct turns *turns, int operations, int *most_at_once_out)
{
    dcli_turn *turn = &turns->host.turn;
    int queued = 0, sent = 0;
    *most_at_once_out = 0;
    for (int n = 0; n < operations; n++) {
        turn->pushed_ns = INT64_MAX; /* the test's own pace does not count */
        if (dcli_turn_is_due(&turns->worker, ++queued)) {
            sent++;
            *most_at_once_out = queued > *most_at_once_out ? queued : *most_at_once_out;
            queued = 0;
        }
    }
    return sent;
}

Test(turn, operations_in_a_row_are_sent_together)
{
    static struct turns turns;
    dcli_turn *turn = begin(&turns);
    int most;
    turn->lingers = true;
    cr_expect_eq(push(&turns, 4, &most), 4, "the first ones start at once");
    turn->burst = 0;
    cr_expect_leq(push(&turns, 1000, &most), 40);
    cr_expect_leq(most, 51, "nodes have something to do meanwhile");
    cr_expect_gt(most, 20);
    turn->lingers = false;
    cr_expect_eq(push(&turns, 10, &most), 10, "nobody would look later");
    turn->lingers = true;
    turn->pushed_ns = 0;
    cr_expect(dcli_turn_is_due(&turns.worker, 1), "after a pause");
    dcli_turn_destroy(turn);
}

Test(turn, an_operation_that_is_usually_waited_for_is_left_to_the_wait)
{
    static struct turns turns;
    dcli_turn *turn = begin(&turns);
    turn->lingers = true;
    cr_expect(dcli_turn_is_due(&turns.worker, 1), "nothing is known of the program");
    serve(&turns, 0);
    turn->lingers = true;
    turn->pushed_ns = 0;
    cr_expect_not(dcli_turn_is_due(&turns.worker, 1));
    cr_expect(dcli_turn_is_due(&turns.worker, 2), "the second one shows that it does not wait");
    dcli_turn_destroy(turn);
}

static void *try_turn(void *turns) { return dcli_turn_try(&((struct turns *)turns)->worker) ? turns : NULL; }

/* @return whether another thread gets the turn. */
static bool another_takes(struct turns *turns)
{
    pthread_t other;
    void *taken;
    cr_assert_eq(pthread_create(&other, NULL, try_turn, turns), 0);
    pthread_join(other, &taken);
    return taken != NULL;
}

Test(turn, a_turn_is_taken_only_if_nobody_serves)
{
    static struct turns turns;
    dcli_turn *turn = begin(&turns);
    cr_assert(dcli_turn_try(&turns.worker));
    cr_expect_not(another_takes(&turns));
    cr_expect_not(dcli_turn_try(&turns.worker), "nor by the thread that has it");
    dcli_turn_sleeps(&turns.worker);
    cr_expect_not(another_takes(&turns), "a thread of the program keeps it while it sleeps");
    turn->taken = false;
    cr_expect(dcli_turn_try(&turns.worker));
    turn->taken = false;
    pthread_mutex_unlock(&turn->serving);
    dcli_turn_serves(&turns.worker, false);
    cr_expect_not(dcli_turn_try(&turns.worker), "the worker has ended");
    dcli_turn_destroy(turn);
}

/* test/worker/host_test.c - the host's worker as threads of the program use it: what nodes are asked, and which are
 * given up. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "support/host.h"
#include "worker/members.h"
#include "worker/peer.h"
#include "worker/suspects.h"

enum { NODES = 3, SECONDS = 60 };

TestSuite(host, .timeout = SECONDS);

/* ---- questions ---------------------------------------------------------------------------------------------------- */

struct answering {
    dcli_worker *host;
    atomic_bool stop;
};

static void *ask_for_counts(void *host)
{
    dcli_host_count(host, 0);
    return NULL;
}

/* Answers to every question, many times; those of earlier ones come late. */
static void *answer(void *argument)
{
    struct answering *answering = argument;
    for (int64_t number = 1; !atomic_load(&answering->stop); number = number % 50 + 1)
        for (int node = 0; node < NODES; node++)
            dcli_host_counts(answering->host, node, &(dcli_msg_counts){.number = number});
    return NULL;
}

Test(host, questions_are_answered_by_another_thread)
{
    struct answering answering = {.host = test_make_host(NODES)};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, answer, &answering), 0);
    for (int n = 0; n < 50; n++)
        cr_expect_eq(dcli_host_count(answering.host, 0), DCL_OK, "%s", dcl_error());
    atomic_store(&answering.stop, true);
    pthread_join(thread, NULL);
    test_free_host(answering.host);
}

/* One asks, one waits for its turn, one comes later: none of them waits for the nodes any more. */
Test(host, nobody_asks_any_more_once_questions_are_stopped)
{
    dcli_worker *host = test_make_host(NODES);
    bool all = true;
    pthread_t thread[2];
    for (int n = 0; n < 2; n++)
        cr_assert_eq(pthread_create(&thread[n], NULL, ask_for_counts, host), 0);
    for (int64_t asked = 0; asked == 0; nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL)) {
        pthread_mutex_lock(&host->as_host->question.lock);
        asked = host->as_host->question.number;
        pthread_mutex_unlock(&host->as_host->question.lock);
    }
    int64_t begin = dcli_monotonic_ns();
    dcli_host_stop_asking(host);
    for (int n = 0; n < 2; n++)
        pthread_join(thread[n], NULL);
    cr_expect_eq(dcli_host_sees(host, "/a", "token", &(dcli_file_id){.inode = 1}, &all), DCL_OK, "%s", dcl_error());
    cr_expect_not(all);
    cr_expect_lt(dcli_monotonic_ns() - begin, (int64_t)9e9, "somebody has waited for the answer");
    cr_expect_eq(host->as_host->question.number, 1, "another question was asked");
    test_free_host(host);
}

Test(host, a_late_answer_is_not_counted_for_the_next_question)
{
    dcli_worker *host = test_make_host(NODES);
    struct dcli_question *question = &host->as_host->question;
    question->asking = question->all = true;
    question->number = 5;
    dcli_question_answer(host, 0, 4, false);
    cr_expect_eq(question->answers, 0, "an answer to question 4");
    dcli_question_answer(host, 0, 5, true);
    dcli_question_answer(host, 0, 5, true);
    cr_expect_eq(question->answers, 1, "one of node 0, which answers twice");
    dcli_question_answer(host, 1, DCLI_ANY_QUESTION, true);
    cr_expect_eq(question->answers, 2, "a node that is lost is not waited for");
    cr_expect(question->all);
    dcli_question_answer(host, 2, 5, false);
    cr_expect_not(question->all);
    test_free_host(host);
}

/* ---- disputes ------------------------------------------------------------------------------------------------------ */

/* Node 1 is at odds with the others and is lost: what it said of node 0 does not count when node 0 is at odds with node
 * 2. */
Test(host, a_settled_dispute_is_forgotten)
{
    bool nobody[NODES] = {false};
    dcli_worker *host = test_make_host(NODES);
    host->gone = host->absent = nobody;
    dcli_suspects_complain(host, 1, 0, "node 1 cannot reach node 0");
    cr_expect(host->as_host->suspects.node[0].is_accused);
    dcli_suspects_forget(host, 1);
    cr_expect_not(host->as_host->suspects.node[0].is_accused);
    dcli_suspects_complain(host, 0, 2, "node 0 cannot reach node 2");
    cr_expect_not(host->as_host->suspects.node[0].is_accused);
    cr_expect_str_eq(host->as_host->suspects.node[0].told, "it cannot reach others: node 0 cannot reach node 2");
    cr_expect_str_eq(host->as_host->suspects.node[2].told, "node 0 cannot reach node 2");
    test_free_host(host);
}

Test(host, a_dispute_that_lasts_is_remembered)
{
    bool nobody[NODES] = {false};
    dcli_worker *host = test_make_host(NODES);
    host->gone = host->absent = nobody;
    dcli_suspects_complain(host, 1, 0, "node 1 cannot reach node 0");
    dcli_suspects_complain(host, 2, 0, "node 2 cannot reach node 0");
    dcli_suspects_forget(host, 1);
    cr_expect(host->as_host->suspects.node[0].is_accused, "node 2 still accuses it");
    cr_expect_str_eq(host->as_host->suspects.node[0].told, "node 1 cannot reach node 0");
    test_free_host(host);
}

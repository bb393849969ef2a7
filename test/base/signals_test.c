/* test/base/signals_test.c - the signals that threads of the library leave to the program. */
#include <criterion/criterion.h>

#include "base/signals.h"

static void *look(void *mask_out)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask_out);
    return NULL;
}

Test(signals, of_faults_reach_every_thread)
{
    sigset_t before, there, after;
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    cr_assert_eq(dcli_thread_start(&thread, look, &there), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    const int blocked[] = {SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGPROF}, open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    for (size_t s = 0; s < sizeof blocked / sizeof blocked[0]; s++)
        cr_expect(sigismember(&there, blocked[s]), "signal %d", blocked[s]);
    for (size_t s = 0; s < sizeof open / sizeof open[0]; s++)
        cr_expect_not(sigismember(&there, open[s]), "signal %d", open[s]);
    for (int s = 1; s < NSIG; s++)
        cr_expect_eq(sigismember(&before, s), sigismember(&after, s), "signal %d of the calling thread", s);
}

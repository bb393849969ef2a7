/* test/fleet/confine_test.c - what a session's process may still do once its calls are filtered. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet/confine_calls.h"

/* As a thread of libzmq does when it starts. */
static void *schedule_itself(void *result)
{
    struct sched_param parameters = {0};
    *(int *)result = pthread_setschedparam(pthread_self(), SCHED_OTHER, &parameters);
    return NULL;
}

/* In a process of its own: what is filtered stays so. @return what that thread was told; -1: it did not come to it. */
static int schedule_in_filtered_process(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        int told = 100;
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (dcli_calls_filter() == DCL_OK && pthread_create(&thread, NULL, schedule_itself, &told) == 0)
            pthread_join(thread, NULL);
        _exit(told);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(confine, a_thread_that_starts_late_sets_its_scheduling, .timeout = 60)
{
#ifdef __SANITIZE_THREAD__
    cr_skip("the thread sanitizer lets no forked process start threads");
#endif
    if (!dcli_calls_can_be_filtered())
        cr_skip("calls cannot be filtered here");
    cr_expect_eq(schedule_in_filtered_process(), 0);
}

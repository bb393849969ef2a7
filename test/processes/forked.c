/* processes/forked.c - a program that uses a cluster and forks: its children are refused, and harm nothing.
 *
 *   forked    says `children N`, those that ended as they should, and `end` */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>
#include <dcl/worker.h>

enum { N = 1000, CHILD_SECONDS = 20 };

static dcl_cluster *cluster;
static dcl_array *A, *B;
static dcl_map *map;
static int wrong_calls;

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

/* ---- the child ---------------------------------------------------------------------------------------------------- */

static void refused(const char *call, bool is_refused)
{
    if (is_refused && strstr(dcl_error(), "this process was forked from one that uses DCL") != NULL)
        return;
    fprintf(stderr, "in the child, %s was %s: %s\n", call, is_refused ? "refused" : "not refused", dcl_error());
    wrong_calls++;
}

#define REFUSED(call) refused(#call, (call) == DCL_ERR_INVALID)
#define REFUSED_NULL(call) refused(#call, (call) == NULL)

static void call_all(void)
{
    int32_t elements[N] = {0};
    int count;
    dcl_worker_config worker;
    dcl_worker_defaults(&worker);
    worker.listen = "tcp://127.0.0.1:1";
    REFUSED(dcl_fill(A, elements));
    REFUSED(dcl_read(A, NULL, elements, NULL));
    REFUSED(dcl_write(A, NULL, elements, NULL));
    REFUSED(dcl_wait(cluster));
    REFUSED(dcl_forall(cluster, "A(i) = B(i);", DCL_OUT(A), DCL_IN(B)));
    REFUSED(dcl_save_npy(A, "/nowhere/a.npy"));
    REFUSED(dcl_add_workers(cluster, "local:1"));
    REFUSED(dcl_status_of(cluster));
    REFUSED(dcl_device_list(0, NULL, &count));
    REFUSED(dcl_worker_run(&worker));
    dcl_worker_stop();
    REFUSED_NULL(dcl_agile(dcl_grid_1d(DCL_INT32, N), map));
    REFUSED_NULL(dcl_transpose(A));
    REFUSED_NULL(dcl_map_block(cluster));
    REFUSED_NULL(dcl_open(NULL));
    REFUSED_NULL(dcl_open_plan(2));
    dcl_release(A);
    dcl_release(map);
    REFUSED(dcl_close(cluster));
}

/* What many programs have: it closes at the end, in the child as well. */
static void close_at_exit(void)
{
    dcl_release(B);
    dcl_close(cluster);
}

/* ---- the parent ----------------------------------------------------------------------------------------------------- */

enum way { EXITS, ENDS_AT_ONCE, MADE_BY_A_SYSTEM_CALL, CALLS_NOTHING, IS_KILLED, WAYS };

static void be_child(enum way way)
{
    alarm(CHILD_SECONDS); /* a call that hangs ends it by a signal */
    if (way != CALLS_NOTHING)
        call_all();
    fflush(stderr);
    if (way == IS_KILLED)
        kill(getpid(), SIGKILL);
    if (way == ENDS_AT_ONCE || way == MADE_BY_A_SYSTEM_CALL || wrong_calls > 0)
        _exit(wrong_calls > 0);
    exit(0);
}

/* @return whether the child has ended as it should. */
static bool have_child(enum way way)
{
    int status;
    fflush(stdout);
    pid_t child = way == MADE_BY_A_SYSTEM_CALL ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
    if (child == 0)
        be_child(way);
    if (child < 0 || waitpid(child, &status, 0) != child)
        wrong("fork");
    bool right = way == IS_KILLED ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                  : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!right)
        fprintf(stderr, "child %d has ended with status %#x\n", way, (unsigned)status);
    return right;
}

static void check(const char *what)
{
    int32_t found[N];
    if (dcl_forall(cluster, "A(i) = B(i) + 1;", DCL_OUT(A), DCL_IN(B)) != DCL_OK ||
        dcl_read(A, NULL, found, NULL) != DCL_OK)
        wrong(what);
    for (int e = 0; e < N; e++)
        if (found[e] != 6)
            wrong("an element has another number");
}

/* Locks of the library are held at many moments of this. */
static void *keep_busy(void *argument)
{
    while (!atomic_load((atomic_bool *)argument))
        check("a call of the parent's other thread");
    return NULL;
}

int main(void)
{
    int32_t five = 5;
    int right = 0;
    cluster = dcl_open(NULL);
    map = dcl_map_block(cluster);
    A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    B = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    if (dcl_fill(B, &five) != DCL_OK || atexit(close_at_exit) != 0)
        wrong("dcl_fill");
    check("before");
    for (int way = 0; way < WAYS; way++) {
        right += have_child((enum way)way);
        check("after a child");
    }
    atomic_bool stop = false;
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep_busy, &stop) != 0)
        wrong("pthread_create");
    for (int n = 0; n < 10; n++) {
        nanosleep(&(struct timespec){.tv_nsec = 3000000 + 777777 * n}, NULL);
        right += have_child(ENDS_AT_ONCE);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    check("at the end");
    dcl_release(A);
    dcl_release(map);
    printf("children %d of %d\nend\n", right, WAYS + 10);
    return 0; /* closes */
}

/* test/runtime/signal_test.c - signals that a program handles interrupt the library's threads at any moment. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#include "support/nodes.h"

TestSuite(signal_on_device, .timeout = TEST_SECONDS);

enum { SIDE = 64, ROUNDS = 200 };

static atomic_long signals;

static void count(int number)
{
    (void)number;
    int saved = errno;
    atomic_fetch_add(&signals, 1);
    errno = saved;
}

/* A signal every millisecond, to whichever thread the kernel chooses; calls that it interrupts are not restarted. */
static void begin_signals(void)
{
    struct sigaction action = {.sa_handler = count};
    struct itimerval every = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
    cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
    cr_assert_eq(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void end_signals(void)
{
    cr_assert_eq(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL), 0);
    cr_expect_gt(atomic_load(&signals), 10, "only %ld signals came", atomic_load(&signals));
}

static void compute_and_compare(const dcl_config *config)
{
    int32_t source[SIDE][SIDE], found[SIDE][SIDE];
    begin_signals();
    dcl_cluster *cluster = test_open(config);
    dcl_array *A = test_array(cluster, "rows:cyclic(8x8)", dcl_grid_2d(DCL_INT32, SIDE, SIDE));
    dcl_array *B = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, SIDE, SIDE));
    for (int n = 0; n < ROUNDS; n++) {
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                source[i][j] = i * SIDE + j + n;
        TEST_OK(dcl_write(A, NULL, source, NULL));
        TEST_OK(dcl_forall(cluster, "B(i,j) = A(j,i) + 1;", DCL_OUT(B), DCL_IN(A)));
        TEST_OK(dcl_wait_for(B, 100));
        TEST_OK(dcl_read(B, NULL, found, NULL));
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                cr_assert_eq(found[i][j], source[j][i] + 1, "round %d: B(%d,%d) is %d", n, i, j, found[i][j]);
    }
    TEST_OK(dcl_wait(cluster));
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    end_signals();
}

Test(signal_on_device, disturbs_no_threads)
{
    dcl_config config = test_config(3);
    compute_and_compare(&config);
}

#ifdef TEST_DCL
Test(signal_on_device, disturbs_no_processes)
{
    dcl_config config = test_config(1);
    config.workers = "local:2";
    config.program = TEST_DCL;
    compute_and_compare(&config);
}
#endif

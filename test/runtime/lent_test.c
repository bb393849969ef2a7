/* test/runtime/lent_test.c - memory that a call has given back to the program is touched by nobody, whatever happens later. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/cluster.h"
#include "support/nodes.h"

TestSuite(lent_on_device, .timeout = TEST_SECONDS);

enum { N = 1000, BYTES = 4096 };

/* A call whose cluster breaks while its operation has not begun. */
struct call {
    dcl_array *array;
    bool writes;
    void *memory;
    dcl_status status;
};

static void *run_call(void *argument)
{
    struct call *call = argument;
    call->status = call->writes ? dcl_write(call->array, NULL, call->memory, NULL)
                                : dcl_read(call->array, NULL, call->memory, NULL);
    return NULL;
}

/* @return whether it came to pass before a generous deadline. */
static bool comes(dcl_cluster *cluster, const int64_t *mark, int64_t expected)
{
    for (int n = 0; n < TEST_SECONDS * 100; n++) {
        pthread_mutex_lock(&cluster->lock);
        bool there = *mark >= expected;
        pthread_mutex_unlock(&cluster->lock);
        if (there)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void break_call(bool writes)
{
    dcl_cluster *opened = open_nodes(1), *cluster = TEST_INSIDE(opened);
    struct call call = {.array = test_array(opened, "block", dcl_grid_1d(DCL_INT32, N)), .writes = writes};
    dcli_worker *host = cluster->worker[cluster->host];
    pthread_t thread;
    int32_t five = 5, *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    call.memory = memory;
    TEST_OK(dcl_fill(call.array, &five));
    TEST_OK(dcl_wait(opened));

    dcli_host_hold(host, true); /* the operation is queued, and stays there */
    cr_assert_eq(pthread_create(&thread, NULL, run_call, &call), 0);
    int64_t operation = cluster->complete + 1;
    cr_assert(comes(cluster, &cluster->operations, operation), "the operation was not queued");
    cluster->hooks.broken(cluster, DCL_ERR_NODE_LOST, "all is lost");
    pthread_join(thread, NULL);
    cr_expect_eq(call.status, DCL_ERR_NODE_LOST, "%s", dcl_status_name(call.status));

    memset(memory, 0x5a, BYTES); /* the program uses it for something else */
    if (writes)
        mprotect(memory, BYTES, PROT_NONE);
    dcli_host_hold(host, false);
    cr_expect(comes(cluster, &cluster->done[cluster->host], operation), "the operation did not end");
    for (int n = 0; !writes && n < N; n++)
        cr_assert_eq(memory[n], 0x5a5a5a5a, "element %d is %d: written after dcl_read() had returned", n, memory[n]);
    munmap(memory, BYTES);
    dcl_release(call.array);
    dcl_close(opened);
}

/* dcl_close() ends the call, whose memory is taken back before the elements were packed. */
static void close_call(bool late)
{
    dcl_cluster *opened = open_nodes(1), *cluster = TEST_INSIDE(opened);
    static int32_t memory[N];
    struct call call = {
        .array = test_array(opened, "block", dcl_grid_1d(DCL_INT32, N)), .writes = true, .memory = memory};
    dcli_worker *host = cluster->worker[cluster->host];
    pthread_t thread;
    TEST_OK(dcl_wait(opened));
    dcli_host_hold(host, true);
    cr_assert_eq(pthread_create(&thread, NULL, run_call, &call), 0);
    int64_t operation = cluster->complete + 1;
    cr_assert(comes(cluster, &cluster->operations, operation), "the operation was not queued");
    dcli_cluster_interrupt(cluster);
    pthread_join(thread, NULL);
    cr_expect_eq(call.status, DCL_ERR_INVALID, "%s", dcl_status_name(call.status));
    if (late)
        dcli_cluster_resume(cluster);
    dcli_host_hold(host, false);
    cr_expect(comes(cluster, &cluster->done[cluster->host], operation), "the operation did not end");
    if (!late)
        dcli_cluster_resume(cluster);
    cr_expect_eq(dcl_close(opened), DCL_OK, "%s", dcl_error());
}

Test(lent_on_device, that_is_taken_back_by_closing_is_no_error_of_the_cluster)
{
    close_call(false);
    close_call(true);
}

/* What nodes tell while dcl_close() ends the calls of other threads. */
Test(lent_on_device, is_not_all_that_fails_while_the_cluster_is_closed)
{
    dcl_cluster *opened = open_nodes(1), *cluster = TEST_INSIDE(opened);
    dcli_cluster_interrupt(cluster);
    cluster->hooks.failed(
        cluster, &(dcli_msg_failed){
                     .operation = 1, .status = DCL_ERR_DEVICE, .sentence = "the device has failed", .cause = true});
    dcli_cluster_resume(cluster);
    TEST_REFUSED(dcl_close(opened), DCL_ERR_DEVICE, "the device has failed");
}

Test(lent_on_device, is_not_written_after_a_read_has_returned) { break_call(false); }

/* The page cannot be read: who does so ends the test's process. */
Test(lent_on_device, is_not_read_after_a_write_has_returned) { break_call(true); }

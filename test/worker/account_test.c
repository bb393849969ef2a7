/* test/worker/account_test.c - each kind of memory counts, and its refusal names it. The driver is the one of
 * support/fake_opencl. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/fake_opencl/fake_opencl.h"
#include "worker/account.h"

enum { MB = 1 << 20 };

static int64_t used(const dcli_worker *worker, dcli_use use)
{
    int64_t bytes[DCLI_USES];
    dcli_account_read(worker, bytes);
    return bytes[use];
}

/* A worker of one node, which has opened its device. */
static dcli_worker *open_node(dcli_buffers *buffers, int64_t quota, int64_t transit)
{
    static dcli_node_ways ways[1];
    static dcl_config config = {
        .struct_size = sizeof(dcl_config), .pool_bytes = MB, .tile_bytes = MB, .chunk_bytes = MB / 4};
    static const dcli_log log;
    static dcli_net *net;
    int devices = 0;
    dcli_worker *worker = NULL;
    fake_opencl_select();
    setenv("POCL_DEVICES", "pthread", 1);
    if (dcli_device_enumerate(0, NULL, &devices) != DCL_OK || devices == 0)
        cr_skip_test("no OpenCL device on this host");
    cr_assert_eq(dcli_net_open(&net), DCL_OK, "%s", dcl_error());
    dcli_worker_terms terms = {.net = net,
                               .session = 7,
                               .node_count = 1,
                               .ways = ways,
                               .config = &config,
                               .log = &log,
                               .buffers = buffers,
                               .is_process = true,
                               .quota_bytes = quota,
                               .transit_bytes = transit};
    cr_assert_eq(dcli_worker_open(&terms, &worker), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_worker_prepare(worker), DCL_OK, "%s", dcl_error());
    return worker;
}

static void close_node(dcli_worker *worker, dcli_buffers *buffers)
{
    dcli_net *net = worker->terms.net;
    dcli_worker_close(worker);
    dcli_net_close(net);
    dcli_buffers_close(buffers);
}

static void expect_room(dcli_worker *worker, dcli_use use, size_t bytes, const char *when)
{
    cr_expect_eq(dcli_account_check(worker, use, bytes, "a test"), DCL_OK, "%s: %s", when, dcl_error());
}

static void expect_none(dcli_worker *worker, dcli_use use, size_t bytes, const char *words)
{
    cr_expect_eq(dcli_account_check(worker, use, bytes, "a test"), DCL_ERR_NOMEM, "%s", words);
    cr_expect_not_null(strstr(dcl_error(), use <= DCLI_USE_SENT
                                               ? "bytes for a test exceed the quota of this session"
                                               : "bytes for a test exceed the limit of data on its way"),
                       "%s", dcl_error());
    cr_expect_not_null(strstr(dcl_error(), words), "%s is not in: %s", words, dcl_error());
}

Test(account_on_device, counts_what_lasts)
{
    dcli_buffers *buffers = dcli_buffers_open();
    dcli_worker *worker = open_node(buffers, 10 * MB, 4 * MB);
    dcli_memory *memory;
    expect_room(worker, DCLI_USE_ARRAYS, 9 * MB, "nothing is taken");
    cr_assert_eq(dcli_memory_scratch(worker->as_node->device, 6 * MB, &memory), DCL_OK, "%s", dcl_error());
    cr_expect_geq(used(worker, DCLI_USE_STAGES), 6 * MB);
    expect_none(worker, DCLI_USE_ARRAYS, 5 * MB, "stages and tables ");
    expect_room(worker, DCLI_USE_STAGES, 3 * MB, "6 MB are taken");
    worker->counters.storage_bytes = 6 * MB;
    expect_none(worker, DCLI_USE_STAGES, 5 * MB, "arrays 6291456");
    worker->counters.storage_bytes = 0;
    dcli_memory_release(memory);
    expect_room(worker, DCLI_USE_ARRAYS, 9 * MB, "what is only kept is given back");
    if (dcli_device_in_place(worker->as_node->device)) { /* plans are in the same memory */
        worker->catalog.plans.bytes = 7 * MB;
        expect_none(worker, DCLI_USE_ARRAYS, 4 * MB, "plans 7340032");
        worker->catalog.plans.bytes = 0;
    }
    close_node(worker, buffers);
}

Test(account_on_device, counts_what_is_on_its_way)
{
    dcli_buffers *buffers = dcli_buffers_open();
    dcli_worker *worker = open_node(buffers, 10 * MB, 4 * MB);
    void *bytes = dcli_buffers_take(buffers, 5 * MB);
    cr_expect_geq(used(worker, DCLI_USE_SENT), 5 * MB);
    expect_room(worker, DCLI_USE_RECEIVED, 4 * MB, "data to send has no limit");
    expect_room(worker, DCLI_USE_WAITING, 4 * MB, "data to send has no limit");
    expect_room(worker, DCLI_USE_ARRAYS, 9 * MB, "what lasts is apart");
    dcli_buffers_give(bytes);
    worker->received.bytes = 3 * MB; /* 4 MB may come unasked beside the limit: a window of 16 chunks */
    expect_room(worker, DCLI_USE_RECEIVED, 5 * MB, "3 MB have come");
    expect_none(worker, DCLI_USE_RECEIVED, 5 * MB + 1, "3145728 of 8388608 bytes");
    expect_room(worker, DCLI_USE_WAITING, 4 * MB, "received data is apart");
    worker->received.bytes = 0;
    worker->as_node->waiting_bytes = 3 * MB;
    expect_none(worker, DCLI_USE_WAITING, MB + 1, "3145728 of 4194304 bytes");
    worker->as_node->waiting_bytes = 0;
    close_node(worker, buffers);
}

/* Operations of members that a node has not heard of wait, in order: nothing else bounds them. */
Test(account_on_device, bounds_words_that_wait)
{
    enum { MOST = 1 << 16, TRIES = 10000 };
    dcli_buffers *buffers = dcli_buffers_open();
    dcli_worker *worker = open_node(buffers, MB, MOST);
    int n = 0;
    dcl_status status = DCL_OK;
    for (; n < TRIES && status == DCL_OK; n++) {
        dcli_received received = {.from = 1, .message = {.kind = DCLI_MSG_OPERATIONS, .operations = {.epoch = 5}}};
        status = dcli_worker_hear(worker, &received);
    }
    cr_expect_eq(status, DCL_ERR_NOMEM, "%d messages wait", n);
    cr_expect_leq((size_t)n, MOST / sizeof(dcli_received) + 1, "%d messages waited", n);
    cr_expect_not_null(strstr(dcl_error(), "for operations that wait for a member exceed the limit"), "%s",
                       dcl_error());
    close_node(worker, buffers);
}

/* Data that does not fit is dropped; the operation that needs it fails with the sentence kept here. */
Test(account_on_device, refuses_data_beyond_the_limit)
{
    dcli_buffers *buffers = dcli_buffers_open();
    dcli_worker *worker = open_node(buffers, MB, 1 << 16);
    static const char payload[5 * MB]; /* a window of 16 chunks has 4 MB */
    dcli_received received = {
        .from = 1,
        .message = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1, .stream = 1}},
        .payload = payload,
        .payload_bytes = sizeof payload,
    };
    cr_expect_eq(dcli_worker_hear(worker, &received), DCL_OK, "%s", dcl_error());
    const dcli_stored_chunk *stored = dcli_chunks_find(&worker->received, 1, 1, true, 0);
    cr_assert_not_null(stored);
    cr_expect_null(stored->received.payload, "it was kept");
    cr_expect_eq(worker->received.bytes, 0);
    cr_assert_not_null(stored->problem);
    cr_expect_not_null(strstr(stored->problem, "for data received exceed the limit"), "%s", stored->problem);
    close_node(worker, buffers);
}

/* worker/account.c - sum the memory of a session on a node, and check it against its limits. */
#include "worker/account.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "worker/plans.h"

static const char *const names[DCLI_USES] = {
    [DCLI_USE_ARRAYS] = "arrays",      [DCLI_USE_REPLICAS] = "replicas",       [DCLI_USE_STAGES] = "stages and tables",
    [DCLI_USE_SPARE] = "spare memory", [DCLI_USE_SENT] = "data to send",       [DCLI_USE_RECEIVED] = "received data",
    [DCLI_USE_PLANS] = "plans",        [DCLI_USE_WAITING] = "waiting messages"};

/* Bytes of lasting uses. Plans are in host memory; they count only if the device works in host memory, too. */
static int64_t lasting_bytes(const dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    int64_t plans = dcli_device_in_place(own->device) ? worker->catalog.plans.bytes : 0;
    return (int64_t)(dcli_device_taken_bytes(own->device) + dcli_device_spare_bytes(own->device)) + plans;
}

/* Limit of received data: `transit_bytes` more than correct peers send, namely the chunks that this node granted, plus
 * one window of written chunks per node. So it does not depend on the size of batches. */
static int64_t most_received(const dcli_worker *worker)
{
    int64_t windows = dcli_window_bytes(worker->terms.config) * worker->terms.node_count;
    return worker->terms.transit_bytes + dcli_node_granted_bytes(worker->node) + windows;
}

void dcli_account_read(const dcli_worker *worker, int64_t bytes_out[DCLI_USES])
{
    const dcli_as_node *own = worker->as_node;
    bytes_out[DCLI_USE_ARRAYS] = worker->counters.storage_bytes;
    bytes_out[DCLI_USE_REPLICAS] = (int64_t)dcli_replicas_bytes(&worker->catalog.replicas);
    bytes_out[DCLI_USE_STAGES] =
        (int64_t)dcli_device_taken_bytes(own->device) - bytes_out[DCLI_USE_ARRAYS] - bytes_out[DCLI_USE_REPLICAS];
    bytes_out[DCLI_USE_SPARE] = (int64_t)dcli_device_spare_bytes(own->device);
    bytes_out[DCLI_USE_SENT] = (int64_t)dcli_buffers_bytes(worker->terms.buffers);
    bytes_out[DCLI_USE_RECEIVED] = worker->received.bytes;
    bytes_out[DCLI_USE_PLANS] = worker->catalog.plans.bytes;
    bytes_out[DCLI_USE_WAITING] = own->waiting_bytes;
}

static void give_back(dcli_worker *worker)
{
    /* First, so that the decision does not depend on how far the running batches have got. */
    dcli_exec_release_arenas(worker->as_node);
    dcli_plans_trim(&worker->catalog.plans, 0);
    dcli_storage_table_trim(&worker->catalog.storage_table);
    dcli_exec_drop_reports(worker->as_node);
    dcli_device_drop_spare(worker->as_node->device); /* last: what the others released is retained until then */
}

static dcl_status refuse(const dcli_worker *worker, size_t bytes, const char *what, int64_t taken, int64_t limit)
{
    char list[512] = "";
    int64_t of_kind[DCLI_USES];
    size_t length = 0;
    dcli_account_read(worker, of_kind);
    for (int use = 0; use < DCLI_USES && length < sizeof list; use++)
        if (of_kind[use] > 0)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s %" PRId64, length > 0 ? ", " : "",
                                       names[use], of_kind[use]);
    return DCLI_FAIL(
        DCL_ERR_NOMEM,
        "%zu bytes for %s exceed the quota of this session: %" PRId64 " of %" PRId64
        " bytes are in use on this node (%s); release arrays, drop replicas by dcl_keep(array, false), use "
        "more nodes, or raise DCL_QUOTA_BYTES or the worker's --quota",
        bytes, what, taken, limit, list);
}

static dcl_status check_transit(const dcli_worker *worker, dcli_use use, size_t bytes, const char *what)
{
    if (worker->terms.transit_bytes == 0)
        return DCL_OK;
    bool received = use == DCLI_USE_RECEIVED;
    int64_t taken = received ? worker->received.bytes : worker->as_node->waiting_bytes;
    int64_t limit = received ? most_received(worker) : worker->terms.transit_bytes;
    if ((int64_t)bytes <= limit - taken)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_NOMEM,
                     "%zu bytes for %s exceed the limit of data on its way: %" PRId64 " of %" PRId64
                     " bytes are in use on this node; use a smaller DCL_CHUNK_BYTES or DCL_POOL_BYTES, or raise "
                     "DCL_QUOTA_BYTES or the worker's --quota",
                     bytes, what, taken, limit);
}

dcl_status dcli_account_check(dcli_worker *worker, dcli_use use, size_t bytes, const char *what)
{
    assert(use != DCLI_USE_SENT);
    if (use > DCLI_USE_SENT)
        return check_transit(worker, use, bytes, what);
    int64_t limit = worker->terms.quota_bytes;
    if (limit == 0 || (int64_t)bytes <= limit - lasting_bytes(worker))
        return DCL_OK;
    give_back(worker);
    int64_t taken = lasting_bytes(worker);
    return (int64_t)bytes <= limit - taken ? DCL_OK : refuse(worker, bytes, what, taken, limit);
}

/* worker/worker.c - the loop of a peer: receives messages, and carries out the state machine's actions. */
#include "worker/worker.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "worker/copying.h"
#include "worker/log_plan.h"
#include "worker/members.h"
#include "worker/peer.h"
#include "worker/pinned.h"
#include "worker/process_data.h"
#include "worker/series.h"
#include "worker/shown.h"
#include "worker/stealing.h"
#include "worker/suspects.h"
#include "worker/trace.h"
#include "worker/tree.h"
#include "worker/window.h"

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

static void note_turn(dcli_as_host *host)
{
    atomic_store_explicit(&host->resting, false, memory_order_relaxed);
    atomic_fetch_add_explicit(&host->turns, 1, memory_order_relaxed);
}

/* Receive and handle the available messages, up to MOST_AT_ONCE; wait at most `milliseconds` for the first one; -1:
 * until woken. *any_out: set to true if there was one. */
static dcl_status receive(dcli_worker *worker, int milliseconds, bool *any_out)
{
    enum { MOST_AT_ONCE = 256, AHEAD_BYTES = 64 << 20, USUAL_WINDOW = 1024 };
    /* Bytes that a peer may send unrequested: the window of chunks that it writes, and small messages. */
    const int64_t unasked = dcli_window_bytes(worker->terms.config) + AHEAD_BYTES;
    dcli_endpoint_limit_ahead(worker->endpoint,
                              dcli_node_granted_bytes(worker->node) + unasked + dcli_stealing_bytes(worker));
    if (!worker->is_host &&
        dcli_tree_is(
            worker)) /* each operation of a window may bring a body. Nodes do not know the program's DCL_WINDOW, so
                        they assume its default */
        dcli_endpoint_allow_more(worker->endpoint, dcli_tree_parent(worker, worker->terms.self),
                                 2 * (int64_t)USUAL_WINDOW * DCLI_MOST_MESSAGE);
    for (int n = 0; n < MOST_AT_ONCE; n++) {
        dcli_received received = {0};
        dcl_status status = dcli_endpoint_receive(worker->endpoint, n == 0 ? milliseconds : 0, &received);
        dcli_watch_sleep(worker->terms.watch, false);
        dcli_watch_tick(worker->terms.watch);
        if (worker->is_host)
            note_turn(worker->as_host);
        if (status == DCL_ERR_TIMEOUT)
            return DCL_OK;
        *any_out = true;
        if (worker->as_node != NULL)
            worker->as_node->asked_since_ns = 0;
        if (status == DCL_OK && received.message.epoch != worker->terms.session)
            status =
                DCLI_FAIL(DCL_ERR_PROTOCOL, "a message of session %" PRIu64 " came from peer %d; expected %" PRIu64,
                          received.message.epoch, received.from, worker->terms.session);
        if (status == DCL_ERR_NODE_LOST)
            status = dcli_peer_is_gone(worker, received.from);
        else if (status == DCL_ERR_PROTOCOL)
            status = dcli_peer_offends(worker, received.from);
        else if (status == DCL_OK && worker->broken == DCL_OK)
            status = dcli_hear(worker, &received);
        else if (status == DCL_OK && received.message.kind == DCLI_MSG_STOP)
            worker->stopping = worker->stopping || received.from == worker->terms.node_count;
        if (received.has_descriptor)
            close(received.descriptor); /* no handler has taken the descriptor over */
        if (received.frames != NULL)
            dcli_received_free(&received);
        if (status != DCL_OK)
            return status;
    }
    return DCL_OK;
}

static void wake(void *user) { dcli_endpoint_wake(user); }

/* Ticket after which the oldest running batch has ended; without running batches, that of the last launch. */
static uint64_t oldest_ticket(const dcli_as_node *own)
{
    return own->running_first < own->running_count ? own->running[own->running_first].ticket
                                                   : dcli_device_launched(own->device);
}

/* Whether a batch is held until more is known about it, or the device has less to do. */
static bool is_delaying(const dcli_as_node *own)
{
    return own->held.operation != NULL && own->delays && own->running_first < own->running_count;
}

/* Ticket after which half of the running batches have ended. */
static uint64_t middle_ticket(const dcli_as_node *own)
{
    return own->running[own->running_first + (own->running_count - 1 - own->running_first) / 2].ticket;
}

/* The loop's wait in ms while a GPU works. The driver may call back 20 ms late, so the loop polls the device instead:
 * without a pause for the first 50 ms in which nothing ends, then every millisecond, which hardly prolongs work that
 * takes so long. */
static int wait_for_gpu(const dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    enum { ASK_NS = 50000000, PAUSE_MS = 1 };
    int64_t now = dcli_monotonic_ns();
    if (own->asked_since_ns == 0)
        own->asked_since_ns = now;
    dcli_endpoint_pause(worker->endpoint);
    dcli_slice_rest(now);
    return now - own->asked_since_ns < ASK_NS ? 0 : PAUSE_MS;
}

/* Whether polling would hold up what this thread waits for: it runs before all threads of the device and of libzmq, and
 * there are too few processors for all of them. */
static bool is_in_the_way(const dcli_worker *worker)
{
    return dcli_slice_is_raised() && dcli_endpoint_crowds(worker->endpoint);
}

/* Whether to poll the device for a short time rather than sleep, because waking up costs more: only while an action or
 * a peer waits for the device. */
static bool spins(const dcli_worker *worker)
{
    enum { SPIN_NS = 50000 };
    dcli_as_node *own = worker->as_node;
    bool holds = own->held.operation != NULL && !own->delays;
    if ((!holds && own->passing == 0 && own->moving_count == 0) || is_in_the_way(worker))
        return false;
    int64_t now = dcli_monotonic_ns();
    if (own->spin_end_ns == 0)
        own->spin_end_ns = now + SPIN_NS;
    dcli_slice_lower(); /* the device's threads have the usual priority, and may share this thread's processor */
    sched_yield();
    dcli_slice_restore();
    return now < own->spin_end_ns;
}

/* Whether the node has asked for work because it will soon have none. It does so only while it runs what can be lent:
 * waking up for each of many short operations would cost too much. */
static bool asks_ahead(dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    bool asked = false;
    if (own->stealing != NULL && worker->broken == DCL_OK &&
        (own->window_launches > 0 || own->stealing->borrowed != NULL))
        dcli_stealing_ask(worker, &asked);
    return asked;
}

/* How long the loop may sleep, in milliseconds: 0 if there is more to do; -1: until it is woken. */
static int idle_time(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (own == NULL)
        return dcli_host_may_sleep(worker) ? dcli_suspects_wait_ms(worker) : 0;
    if (own->running_first == own->running_count && own->moving_count == 0 && own->held.operation == NULL) {
        bool asked = false;
        own->asked_since_ns = 0;
        int again_ms = own->stealing != NULL && worker->broken == DCL_OK ? dcli_stealing_ask(worker, &asked) : -1;
        if (asked)
            return 0;
        dcli_device_rest(own->device);
        return again_ms;
    }
    if (dcli_device_is_gpu(own->device))
        return wait_for_gpu(worker);
    if (asks_ahead(worker) || spins(worker))
        return 0;
    /* Wake up for the oldest batch only if another node can then continue; otherwise when everything launched has
     * ended. Waking for each batch would cost more than small kernels. */
    uint64_t ticket = dcli_node_is_awaited(worker->node) ? oldest_ticket(own)
                      : is_delaying(own)                 ? middle_ticket(own)
                      : own->window_launches > 1         ? dcli_window_ticket(worker)
                                                         : dcli_device_launched(own->device);
    return dcli_device_notify(own->device, ticket, wake, worker->endpoint) == DCL_OK ? -1 : 1;
}

/* Try again to start the held action, which would have had to wait for the device. If it still would, it is held
 * again. */
static dcl_status retry_held(dcli_worker *worker)
{
    dcli_action action = worker->as_node->held;
    if (action.operation == NULL)
        return DCL_OK;
    worker->as_node->held.operation = NULL;
    worker->as_node->delays = false;
    dcli_pending_update_hold(worker);
    return dcli_perform(worker, &action);
}

/* Carry out actions that are due, with a limit on copies in a row: peers wait for grants and credits, and the watchdog
 * for progress. On a device with memory of its own an action costs tens of microseconds in the driver, so there the
 * limit is a time; by then its first transfers may have ended, and what waits for them can follow. *more_out: more
 * actions are due. */
static dcl_status act(dcli_worker *worker, bool *more_out)
{
    enum { MOST_NS = 50000 };
    const int64_t most_bytes = 1 << 20;
    int64_t copied = worker->counters.bytes_copied;
    dcli_as_node *own = worker->as_node;
    dcli_action action;
    bool separate = own != NULL && !dcli_device_in_place(own->device);
    int64_t end_ns = separate ? dcli_monotonic_ns() + MOST_NS : INT64_MAX;
    dcl_status status = own != NULL ? retry_held(worker) : DCL_OK;
    while (status == DCL_OK && !*more_out && !dcli_watch_is_given_up(worker->terms.watch) &&
           dcli_node_next(worker->node, &action)) {
        status = dcli_perform(worker, &action);
        if (own != NULL && own->held.operation == NULL)
            own->spin_end_ns = 0;
        *more_out = worker->counters.bytes_copied - copied >= most_bytes || (separate && dcli_monotonic_ns() >= end_ns);
    }
    if (status == DCL_OK && own != NULL) {
        dcli_series_offer(worker, false);
        status = dcli_device_flush(own->device);
    }
    return status;
}

/* When the last batch that ran has ended, tell the others before anything else is done: a thread of the program probably waits for it.
 * If messages have arrived, more operations probably have, and the end is reported with theirs. */
static dcl_status tell_end(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (own->running_count > 0 || own->moving_count > 0 || own->held.operation != NULL || own->stealing != NULL ||
        dcli_node_has_due(worker->node) || dcli_endpoint_seems_ready(worker->endpoint))
        return DCL_OK;
    dcl_status status = DCL_OK;
    dcli_action marks;
    while (status == DCL_OK && dcli_node_next_marks(worker->node, &marks))
        status = dcli_perform(worker, &marks);
    return status == DCL_OK ? dcli_tell_host(worker) : status;
}

/* Note which batches have ended. */
static dcl_status collect(dcli_worker *worker)
{
    bool ran = worker->as_node->running_count > 0;
    dcl_status status = dcli_exec_collect(worker);
    if (status == DCL_OK && ran)
        status = tell_end(worker);
    if (status == DCL_OK)
        status = dcli_pending_collect(worker);
    if (status == DCL_OK && worker->as_node->stealing != NULL)
        dcli_stealing_decide(worker);
    return status;
}

static void tell_own_marks(dcli_worker *worker)
{
    int64_t done, ready, counters[DCLI_MSG_COUNTERS];
    dcli_node_watermarks(worker->node, &done, &ready);
    int64_t *told = worker->as_host->marks_told;
    if (done == told[0] && ready == told[1])
        return;
    told[0] = done;
    told[1] = ready;
    dcli_peer_counters(worker, counters);
    worker->terms.hooks->marks(worker->terms.hooks->user, worker->terms.self, done, ready, counters);
}

enum { TELL_HOST_STEPS = 4, TELL_HOST_MS = 1 };

/* Whether a report to the program is put off: each would wake two threads of libzmq, for which processors are too few. The
 * program waits mostly for the end of all operations; until then, it needs to hear only from time to time how far this node
 * is. */
static bool reports_late(const dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    return own->host_due && dcli_endpoint_crowds(worker->endpoint) && !dcli_node_is_through(worker->node) &&
           dcli_monotonic_ns() - own->host_told_ns < TELL_HOST_MS * (int64_t)1000000;
}

/* One turn of the loop, without its sleep: take what the program has queued and what has ended, act, receive. @param
 * idle_out  how long the worker may sleep afterwards, in milliseconds; -1: until it is woken. */
static dcl_status step(dcli_worker *worker, bool *end_out, int *idle_out)
{
    *idle_out = 0;
    if (dcli_watch_is_given_up(worker->terms.watch)) { /* this node was declared lost while its driver hung */
        *end_out = true;
        return DCL_OK;
    }
    bool stop = false, more = false;
    dcl_status status = DCL_OK;
    if (worker->is_host && worker->broken == DCL_OK && atomic_load(&worker->as_host->abandoned))
        status = DCLI_FAIL(DCL_ERR_TIMEOUT, "the cluster is closed before all operations are complete");
    else if (worker->is_host) {
        status = dcli_host_take(worker, &stop);
        if (status == DCL_OK && worker->broken == DCL_OK)
            status = dcli_copying_collect(worker);
        if (status == DCL_OK)
            status = dcli_suspects_decide(worker);
    } else if (worker->broken == DCL_OK) {
        status = collect(worker);
    }
    if (status == DCL_OK && worker->broken == DCL_OK)
        status = act(worker, &more);
    if (worker->is_host && worker->broken == DCL_OK)
        tell_own_marks(worker);
    *end_out = worker->stopping || (stop && (worker->broken != DCL_OK || dcli_node_idle(worker->node)));
    if (status != DCL_OK || *end_out)
        return status;
    bool any = false;
    status = receive(worker, 0, &any);
    if (status == DCL_OK && !worker->is_host && (!any || ++worker->as_node->busy_steps % TELL_HOST_STEPS == 0) &&
        !reports_late(worker))
        status = dcli_tell_host(worker);
    if (status != DCL_OK || any || more)
        return status;
    if (__builtin_expect(worker->terms.trace != NULL, 0) && !worker->is_host)
        dcli_trace_idle(worker);
    if (!worker->is_host) {
        dcli_series_offer(worker, true);
        status = dcli_device_flush(worker->as_node->device);
    }
    *idle_out = idle_time(worker);
    if (!worker->is_host && worker->as_node->host_due && (*idle_out < 0 || *idle_out > TELL_HOST_MS))
        *idle_out = TELL_HOST_MS;
    dcli_watch_rest(worker->terms.watch, dcli_node_idle(worker->node));
    return status;
}

/* Whether to sleep at once, because polling for messages would take the processor from the device, which has launches of
 * some length to run, or from threads that cannot run while this one polls. */
static bool leaves_processor(const dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    return own->window_launches > 0 || (own->running_first < own->running_count && dcli_slice_is_raised()) ||
           is_in_the_way(worker);
}

static dcl_status sleep_for(dcli_worker *worker, int milliseconds)
{
    bool any = false;
    dcli_watch_sleep(worker->terms.watch, true);
    if (worker->is_host)
        atomic_store_explicit(&worker->as_host->resting, true, memory_order_relaxed);
    else {
        dcli_endpoint_spin(worker->endpoint, leaves_processor(worker) ? DCLI_SPIN_AT_ONCE_NS : 0);
        dcli_endpoint_set_needed(worker->endpoint, !dcli_node_idle(worker->node));
    }
    return receive(worker, milliseconds, &any);
}

/* Tell the watchdog about planning, which does not count as silence within its time limit. */
static void note_planning(void *user, const char *what)
{
    dcli_worker *worker = user;
    dcli_watch_activity(worker->terms.watch, DCLI_PLANNING, what);
    if (worker->is_host)
        atomic_store(&worker->as_host->planning_ms, what != NULL ? dcli_monotonic_ms() : 0);
    if (what == NULL)
        dcli_trace_end(worker, DCLI_TRACE_PLAN, worker->planning_ns, NULL, -1, DCLI_TRACE_NOBODY, 0);
    worker->planning_ns = what != NULL ? dcli_trace_begin(worker) : 0;
}

static void log_plan(void *user, const dcli_operation *operation, int node, const dcli_plan *plan)
{
    const dcli_worker *worker = user;
    if (node == worker->terms.self)
        dcli_log_plan(worker, operation, plan);
}

bool dcli_host_is_alive(dcli_worker *host)
{
    dcli_as_host *own = host->as_host;
    int64_t turns = atomic_load(&own->turns), planning = atomic_load(&own->planning_ms);
    bool alive = turns != own->turns_seen || atomic_load(&own->resting) ||
                 (planning != 0 && dcli_monotonic_ms() - planning <= (int64_t)host->terms.config->plan_ms);
    own->turns_seen = turns;
    return alive;
}

/* One turn of the loop. */
static void serve_once(dcli_worker *worker, bool *end_out)
{
    int idle;
    dcl_status status = step(worker, end_out, &idle);
    if (status == DCL_OK && idle != 0)
        status = sleep_for(worker, idle);
    if (status != DCL_OK)
        dcli_break_down(worker, status);
}

bool dcli_host_serve_while(dcli_worker *host, int64_t until_ns, int64_t spin_ns, bool (*goes_on)(void *user),
                           void *user)
{
    bool end = false;
    if (!dcli_turn_take(host, until_ns, spin_ns > 0))
        return false;
    dcli_error_set_aside(true);
    dcli_endpoint_spin(host->endpoint, spin_ns);
    while (!end && goes_on(user)) {
        int idle;
        dcl_status status = step(host, &end, &idle);
        int64_t left_ms = (until_ns - dcli_monotonic_ns() + 999999) / 1000000;
        if (left_ms <= 0)
            end = true;
        else if (status == DCL_OK && !end && idle != 0 && goes_on(user))
            status = sleep_for(host, idle > 0 && idle < left_ms ? idle : (int)dcli_min(left_ms, INT_MAX));
        if (status != DCL_OK)
            dcli_break_down(host, status);
    }
    dcli_endpoint_spin(host->endpoint, 0);
    dcli_error_set_aside(false);
    dcli_turn_leave(host);
    return true;
}

void dcli_host_push(dcli_worker *host)
{
    int deferred = dcli_host_deferred(host), idle;
    bool end = false;
    if (deferred == 0 || !dcli_turn_is_due(host, deferred))
        return;
    if (!dcli_turn_try(host)) {
        dcli_host_nudge(host);
        return;
    }
    dcli_error_set_aside(true);
    dcl_status status = step(host, &end, &idle);
    if (status != DCL_OK)
        dcli_break_down(host, status);
    dcli_error_set_aside(false);
    dcli_turn_leave(host);
}

/* End of serving: kernels may read peers' parts, so no node is closed before all have ended theirs. A driver may hang here,
 * too; the watch still looks. */
static void end_computing(dcli_worker *worker)
{
    dcli_device *device = worker->as_node->device;
    if (dcli_watch_is_given_up(worker->terms.watch)) {
        dcli_stealing_leave(worker);
        dcli_series_leave(worker);
        return;
    }
    dcli_device_finish(device, dcli_device_launched(device));
    dcli_stealing_stop(worker);
    dcli_series_stop(worker);
}

static void serve(dcli_worker *worker)
{
    bool end = false;
    if (worker->as_node != NULL)
        dcli_slice_shorten(); /* others wait for answers while the device's threads compute */
    if (worker->is_host)
        dcli_turn_serves(worker, true);
    while (!end) {
        if (worker->is_host)
            dcli_turn_await(worker);
        serve_once(worker, &end);
        if (worker->is_host)
            dcli_turn_give(worker);
    }
    if (worker->is_host)
        dcli_turn_serves(worker, false);
    dcli_message stop = {.kind = DCLI_MSG_STOP};
    for (int node = 0; worker->is_host && node < worker->terms.node_count; node++)
        dcli_peer_send(worker, node, &stop, NULL);
    if (!worker->is_host)
        end_computing(worker);
}

static void *serve_in_thread(void *argument)
{
    dcli_worker *worker = argument;
    serve(worker);
    const dcli_fleet_hooks *fleet = worker->terms.fleet;
    if (!worker->is_host && fleet != NULL)
        fleet->thread_ends(fleet->user, worker->terms.self);
    return NULL;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static const dcli_plan *plan_of(void *user, const dcli_operation *operation, int node)
{
    static const dcli_plan nothing = {.local = true};
    dcli_worker *worker = user;
    if (worker->is_host && (operation->kind == DCLI_OP_FORALL || operation->kind == DCLI_OP_MOVE))
        return &nothing; /* the host has no part in this operation */
    dcli_cached_plan *cached = dcli_catalog_plan(&worker->catalog, dcli_entry_of(operation), node);
    return cached != NULL ? cached->plan : NULL;
}

static int speaker_of(void *user, int node) { return dcli_tree_speaker(user, node); }

static void set_fault(dcli_worker *worker)
{
    int node;
    long long count;
    const char *fault = worker->terms.fault;
    if (fault != NULL && sscanf(fault, "alloc node=%d count=%lld", &node, &count) == 2 && node == worker->terms.self)
        worker->as_node->fault_at = count;
    if (fault != NULL && sscanf(fault, "result node=%d count=%lld", &node, &count) == 2 && node == worker->terms.self)
        worker->as_node->result_fault_at = count;
    if (fault != NULL && sscanf(fault, "slow node=%d times=%lld", &node, &count) == 2 && node == worker->terms.self)
        worker->as_node->slow_times = count;
}

/* Limit of cached plans in bytes: 1/8 of a node's memory, at least 64 MB; nodes that are threads share the process's
 * memory with the host. Making a plan again costs more than caching some plans. */
static int64_t most_plan_bytes(const dcli_worker *worker)
{
    enum { LEAST_BYTES = 64 << 20, SHARE = 8 };
    uint64_t own = (uint64_t)worker->terms.quota_bytes;
    if (own == 0)
        own = dcli_memory_limit() / (uint64_t)(worker->terms.node_count + 1);
    return dcli_max(LEAST_BYTES, (int64_t)(own / SHARE));
}

/* Whether the host packs chunks into slots of nodes of this process. It can borrow 48 MB of a node's slots: enough for
 * the made chunks and for the window of chunks that the node has not committed. Other chunks take a buffer and are
 * copied twice. */
static bool fills_slots(const dcli_worker *worker)
{
    bool fills = false;
    for (int n = 0; worker->is_host && n < worker->process_data->peers && !fills; n++)
        fills = worker->process_data->device[n] != NULL && !dcli_device_in_place(worker->process_data->device[n]);
    return fills;
}

/* For dcli_node_terms.ahead_bytes. A device with memory of its own passes received chunks through two queues, and uses
 * them only when kernels launched before have ended. So more of them must be under way to keep both directions of the
 * link busy. Between threads these chunks are in slots of their owners, which lend 48 MB. */
static int64_t ahead_bytes(const dcli_worker *worker)
{
    enum { AHEAD_OF_THREAD = 48 << 20, AHEAD_OF_PROCESS = 64 << 20 };
    if (worker->is_host || dcli_device_in_place(worker->as_node->device))
        return 0;
    return worker->terms.is_process ? AHEAD_OF_PROCESS : AHEAD_OF_THREAD;
}

/* For dcli_plan_terms.local_bytes: on a device with memory of its own, batches that use own parts only are joined up to
 * TILES tiles, because a launch costs as much as some 10 MB of computing. They are not all joined: packing and
 * unpacking wait for a running kernel. */
static int64_t most_local_bytes(const dcli_worker *worker)
{
    enum { TILES = 64 };
    bool joins = !worker->is_host && !dcli_device_in_place(worker->as_node->device);
    return joins ? TILES * (int64_t)worker->terms.config->tile_bytes : 0;
}

dcl_status dcli_worker_prepare(dcli_worker *worker)
{
    /* Maximum bytes of made chunks that are not sent yet. With those in transit they then fit the buffer pool, or the
     * slots that can be borrowed; chunks beyond that would each take fresh pages. */
    enum { MOST_MADE = 48 << 20, MOST_MADE_IN_SLOTS = 32 << 20 };
    const dcl_config *config = worker->terms.config;
    worker->plan_terms = (dcli_plan_terms){.node_count = worker->terms.node_count,
                                           .ways = worker->terms.ways,
                                           .batch_bytes = (int64_t)config->tile_bytes,
                                           .chunk_bytes = (int64_t)config->chunk_bytes,
                                           .pool_bytes = (int64_t)config->pool_bytes,
                                           .kept_bytes = (int64_t)config->kept_bytes,
                                           .early_bytes = DCLI_EARLY_BYTES,
                                           .local_bytes = most_local_bytes(worker),
                                           .shown_on_demand = worker->terms.is_process && dcli_tree_is(worker)};
    if (dcli_steal_lends(dcli_config_steal(config)) && worker->terms.node_count > 1)
        worker->plan_terms.fine_elements = DCLI_FINE_ELEMENTS;
    worker->process_data = worker->terms.process_data != NULL ? worker->terms.process_data : dcli_process_data_open(1);
    if (worker->process_data == NULL)
        return DCL_ERR_NOMEM;
    dcli_catalog_init(&worker->catalog, worker->terms.self, &worker->plan_terms, worker->process_data,
                      most_plan_bytes(worker));
    worker->catalog.plans.planning = note_planning;
    worker->catalog.plans.planned = log_plan;
    worker->catalog.plans.planning_user = worker;
    dcli_node_terms terms = {
        .plan = worker->plan_terms,
        .self = worker->terms.self,
        .window_chunks = dcli_window_chunks(config),
        .ahead_bytes = ahead_bytes(worker),
        .made_bytes = dcli_min((int64_t)config->pool_bytes, fills_slots(worker) ? MOST_MADE_IN_SLOTS : MOST_MADE),
        .plan_of = plan_of,
        .user = worker,
        .first_operation = worker->terms.first_operation,
        .absent = worker->gone,
        .speaker_of = worker->is_host && dcli_tree_is(worker) ? speaker_of : NULL};
    dcli_pinned_let_write(worker);
    dcl_status status = dcli_stealing_open(worker, &terms);
    if (status != DCL_OK)
        return status;
    worker->node = dcli_node_open(&terms);
    return worker->node != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Release what started batches and packs hold, and the waiting messages. */
static void drop_begun(dcli_as_node *own)
{
    if (own->device != NULL)
        dcli_device_on_timed(own->device, NULL, NULL);
    for (int64_t r = own->running_first; r < own->running_count; r++) {
        dcli_series_give(own, own->running[r].steps);
        dcli_slot_give(own->running[r].report_slot);
        dcli_memory_release(own->running[r].report);
        dcli_memory_release(own->running[r].arena);
        dcli_free(own->running[r].traced);
    }
    dcli_free(own->running);
    for (dcli_traced_batch *traced = own->traced_spare, *next; traced != NULL; traced = next) {
        next = traced->next;
        dcli_free(traced);
    }
    dcli_pending_free(own);
    for (int64_t n = 0; n < own->waiting_count; n++)
        dcli_received_free(&own->waiting[n]);
    dcli_free(own->waiting);
}

/* Close the node's part; nothing else uses the device any more. */
static void close_as_node(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (worker->terms.is_process && worker->endpoint != NULL) { /* closing the device unregisters all */
        dcli_endpoint_map_writable(worker->endpoint, NULL, NULL);
        dcli_buffers_on_drop(worker->terms.buffers, NULL, NULL);
    }
    dcli_free(own->kept_back);
    dcli_memory_release(own->nothing);
    dcli_exec_drop_reports(own);
    dcli_series_stop(worker);       /* if it never served */
    dcli_device_close(own->device); /* waits for launches, and for callbacks, which wake the endpoint */
    dcli_series_free(own);
    dcli_claims_close(&own->claims);
    dcli_free(own);
}

static void close_worker(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (worker->as_host != NULL)
        dcli_copying_end(worker);
    if (own != NULL && own->device != NULL)
        dcli_show_end(worker);
    if (own != NULL) {
        drop_begun(own);
        dcli_stealing_close(worker);
    }
    dcli_free(worker->gone);
    dcli_free(worker->absent);
    dcli_tree_free(worker);
    dcli_chunks_free(&worker->received);
    dcli_chunks_free(&worker->made);
    dcli_node_close(worker->node);
    if (own != NULL && own->device != NULL)
        dcli_catalog_release_device(&worker->catalog);
    dcli_catalog_free(&worker->catalog);
    if (worker->process_data != worker->terms.process_data)
        dcli_process_data_close(worker->process_data);
    if (own != NULL)
        close_as_node(worker);
    if (worker->endpoint != NULL)
        dcli_endpoint_close(worker->endpoint);
    if (worker->is_host)
        dcli_host_close(worker);
    dcli_free(worker);
}

static bool may_read_gpus(const dcli_worker_terms *terms)
{
    return terms->node_count > 1 && (dcli_ways_allowed(terms->config->transfer, false) & DCLI_CAN_READ_GPUS) != 0;
}

static int open_flags(const dcli_worker_terms *terms)
{
    bool lends = terms->node_count > 1 && !terms->is_process;
    return (may_read_gpus(terms) ? DCLI_OPEN_PEERS : 0) | (lends ? DCLI_OPEN_LENDS : 0);
}

static dcl_status open_as_node(dcli_worker *worker)
{
    const dcli_worker_terms *terms = &worker->terms;
    dcli_as_node *own = worker->as_node;
    dcl_status status = DCL_OK;
    if (own->device == NULL)
        status = dcli_device_open_as(terms->device, terms->log, open_flags(terms), &own->device);
    if (status == DCL_OK)
        status = dcli_memory_create_private(own->device, 256, &own->nothing);
    if (status == DCL_OK)
        status = dcli_claims_open(&own->claims, own->device);
    if (status == DCL_OK)
        status = dcli_series_open(worker);
    if (status == DCL_OK && terms->trace != NULL)
        dcli_trace_device(worker);
    if (status == DCL_OK)
        dcli_show_begin(worker);
    if (status == DCL_OK && terms->process_data != NULL)
        terms->process_data->device[terms->self] = own->device;
    return status;
}

static dcl_status open_worker(dcli_worker *worker)
{
    const dcli_worker_terms *terms = &worker->terms;
    dcl_status status = DCL_OK;
    worker->gone = dcli_calloc((size_t)terms->node_count + 1, sizeof(bool));
    worker->absent = dcli_calloc((size_t)terms->node_count + 1, sizeof(bool));
    if (worker->gone == NULL || worker->absent == NULL)
        status = DCL_ERR_NOMEM;
    for (int n = 0; status == DCL_OK && terms->absent != NULL && n < terms->node_count; n++)
        worker->gone[n] = worker->absent[n] = terms->absent[n];
    if (status == DCL_OK)
        status = worker->is_host ? dcli_host_open(worker) : open_as_node(worker);
    if (status == DCL_OK && worker->endpoint == NULL)
        status = dcli_endpoint_open(terms->net, terms->session, terms->self, terms->node_count + 1, &worker->endpoint);
    if (status == DCL_OK && worker->is_host)
        status = dcli_endpoint_share(worker->endpoint,
                                     &(dcli_turns){.user = worker, .give = dcli_turn_sleeps, .take = dcli_turn_wakes});
    return status;
}

/* Make a worker; takes over device and endpoint of the terms. @return NULL: DCL_ERR_NOMEM; then the caller still has
 * both. */
static dcli_worker *new_worker(const dcli_worker_terms *terms)
{
    bool is_host = terms->self == terms->node_count;
    dcli_worker *worker = dcli_calloc(1, sizeof *worker);
    dcli_as_node *own = is_host ? NULL : dcli_calloc(1, sizeof *own);
    if (worker == NULL || (own == NULL && !is_host)) {
        dcli_free(worker);
        dcli_free(own);
        return NULL;
    }
    worker->terms = *terms;
    worker->is_host = is_host;
    worker->as_node = own;
    worker->epoch = terms->epoch;
    worker->endpoint = terms->endpoint;
    if (own == NULL)
        return worker;
    own->device = terms->opened;
    own->told_risen.done = -1;
    set_fault(worker);
    return worker;
}

dcl_status dcli_worker_open(const dcli_worker_terms *terms, dcli_worker **worker_out)
{
    dcli_worker *worker = new_worker(terms);
    if (worker == NULL) {
        dcli_endpoint_close(terms->endpoint); /* closed before the device, because it may unregister memory from it */
        dcli_device_close(terms->opened);
        return DCL_ERR_NOMEM;
    }
    dcl_status status = open_worker(worker);
    if (status != DCL_OK) {
        close_worker(worker);
        return status;
    }
    *worker_out = worker;
    return DCL_OK;
}

dcl_status dcli_worker_start(dcli_worker *worker)
{
    dcl_status status = dcli_worker_prepare(worker);
    if (status != DCL_OK)
        return status;
    if (pthread_create(&worker->thread, NULL, serve_in_thread, worker) != 0)
        return DCLI_FAIL(DCL_ERR_NOMEM, "a thread for node %d could not be started; close other programs",
                         worker->terms.self);
    worker->started = true;
    return DCL_OK;
}

dcl_status dcli_worker_serve(dcli_worker *worker)
{
    serve(worker);
    return worker->broken;
}

dcl_status dcli_worker_hear(dcli_worker *worker, dcli_received *received)
{
    dcl_status status = dcli_hear(worker, received);
    if (received->has_descriptor)
        close(received->descriptor);
    if (received->frames != NULL)
        dcli_received_free(received);
    return status;
}

void dcli_worker_join(dcli_worker *worker)
{
    if (worker == NULL || !worker->started)
        return;
    const dcli_fleet_hooks *fleet = worker->terms.fleet;
    bool ends = worker->is_host || fleet == NULL || fleet->await_thread(fleet->user, worker->terms.self);
    if (ends)
        pthread_join(worker->thread, NULL);
    else
        pthread_detach(worker->thread);
}

void dcli_worker_close(dcli_worker *worker)
{
    if (worker != NULL)
        close_worker(worker);
}

const dcl_device_info *dcli_worker_device(const dcli_worker *worker)
{
    return dcli_device_about(worker->as_node->device);
}

uint8_t dcli_worker_can(const dcli_worker *worker)
{
    const dcli_device *device = worker->as_node != NULL ? worker->as_node->device : NULL;
    return device != NULL ? dcli_ways_of_device(dcli_device_in_place(device), dcli_device_reads_peers(device))
                          : DCLI_CAN_SHARE;
}

const char *dcli_worker_kind(const dcli_worker *worker) { return dcli_device_kind(worker->as_node->device); }

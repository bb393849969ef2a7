/* fleet/serve.c - the main program of a worker process: read the terms, open the device, describe it, wait for SETUP,
 * serve. */
#include "fleet/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/config.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"
#include "fleet/confine.h"
#include "fleet/environment.h"
#include "fleet/process.h"
#include "fleet/serving.h"

/* ---- the process -------------------------------------------------------------------------------------------------- */

/* Make this process end with the thread that has started it. */
static dcl_status bind_to_parent(int64_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the parent of this process is %d; expected %" PRId64 "; worker processes are started by DCL",
                         (int)getppid(), parent);
    return DCL_OK;
}

/* Close descriptors that the program had open without close-on-exec, except those in the (short) list `keep`. */
static void close_others(int count, const int keep[])
{
    int most = 2;
    for (int d = 0; d < count; d++)
        most = keep[d] > most ? keep[d] : most;
    for (int fd = 3; fd <= most; fd++) {
        bool kept = false;
        for (int d = 0; d < count; d++)
            kept |= keep[d] == fd;
        if (kept)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        else
            close(fd);
    }
    syscall(SYS_close_range, (unsigned)most + 1, ~0U, 0);
}

static dcl_status map_status(dcli_serving *serving)
{
    void *page = mmap(NULL, DCLI_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, serving->status_memory, 0);
    if (page == MAP_FAILED)
        return DCLI_FAIL(DCL_ERR_INVALID, "status=%d cannot be mapped: %s; worker processes are started by DCL",
                         serving->status_memory, strerror(errno));
    serving->page = page;
    return DCL_OK;
}

/* ---- terms -------------------------------------------------------------------------------------------------------- */

/* Find what follows `name=` in the terms of this process, up to the end of the terms. @return NULL: there is no such
 * name. */
static const char *find(const char *terms, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strchr(terms, ' '); at != NULL; at = strchr(at + 1, ' '))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=')
            return at + 2 + length;
    return NULL;
}

static bool find_number(const char *terms, const char *name, int base, int64_t *number_out)
{
    const char *text = find(terms, name);
    char *end;
    if (text == NULL)
        return false;
    errno = 0;
    *number_out = (int64_t)strtoull(text, &end, base);
    return errno == 0 && end != text && (*end == ' ' || *end == '\0');
}

static bool find_descriptor(const char *terms, const char *name, int *descriptor_out)
{
    int64_t number;
    if (!find_number(terms, name, 10, &number) || number < 3 || number > INT32_MAX)
        return false;
    *descriptor_out = (int)number;
    return fcntl(*descriptor_out, F_GETFD) >= 0;
}

static dcl_status malformed(const char *terms)
{
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "\"%s\" are no terms of a worker process; expected those that DCL gives to the "
                     "processes it starts; use `dcl worker --listen`",
                     terms);
}

/* Read the link to the host, SOCKET:MEMORY:SIDE. */
static bool find_link(const char *terms, dcli_shared_link *link_out)
{
    const char *text = find(terms, "link");
    dcli_shared_link link;
    if (text == NULL || sscanf(text, "%d:%d:%d", &link.socket, &link.memory, &link.side) != 3 || link.socket < 3 ||
        link.memory < 3)
        return false;
    *link_out = link;
    return true;
}

static dcl_status take_shared_terms(dcli_serving *serving, const char *terms)
{
    int64_t parent, self, nodes, processes, session, device, gpus;
    int64_t opencl = 0;
    find_number(terms, "opencl", 10, &opencl);
    serving->is_opencl = opencl != 0;
    if (!find_number(terms, "parent", 10, &parent) || !find_number(terms, "self", 10, &self) ||
        !find_number(terms, "nodes", 10, &nodes) || !find_number(terms, "session", 16, &session) ||
        !find_number(terms, "processes", 10, &processes) || !find_number(terms, "device", 10, &device) ||
        !find_number(terms, "gpus", 10, &gpus) || !find_descriptor(terms, "status", &serving->status_memory) ||
        nodes < 1 || nodes > DCLI_MOST_NODES || processes < 1 || processes > nodes || self < 0 || self >= nodes ||
        !find_link(terms, &serving->host_link))
        return malformed(terms);
    serving->self = (int)self;
    serving->node_count = (int)nodes;
    serving->processes = (int)processes;
    serving->session = (uint64_t)session;
    serving->device_number = (int)device;
    serving->may_read_gpus = gpus != 0;
    serving->files = dcli_files_everywhere; /* this is the program's own user on the program's host */
    const int keep[] = {serving->status_memory, serving->host_link.socket, serving->host_link.memory};
    close_others(3, keep);
    serving->lifeline = serving->host_link.socket;
    return bind_to_parent(parent);
}

static dcl_status take_wire_terms(dcli_serving *serving, const char *terms)
{
    int64_t parent;
    if (!find_number(terms, "parent", 10, &parent) || !find_descriptor(terms, "status", &serving->status_memory) ||
        !find_descriptor(terms, "control", &serving->control))
        return malformed(terms);
    int keep[] = {serving->status_memory, serving->control, -1};
    bool has_files = find_descriptor(terms, "files", &keep[2]);
    close_others(has_files ? 3 : 2, keep);
    serving->lifeline = serving->control;
    if (has_files)
        serving->files = dcli_files_adopt(keep[2], serving->order.files);
    dcl_status status = bind_to_parent(parent);
    dcli_confine_basics();
    if (status == DCL_OK)
        status = dcli_serving_read_wire_terms(serving);
    if (status != DCL_OK || !serving->order.contain)
        return status;
    const dcli_wire_order *order = &serving->order;
    char held[32]; /* the folder that the parent holds open, whatever its name refers to now */
    snprintf(held, sizeof held, "/proc/self/fd/%d", serving->files.folder);
    dcli_confine_terms confine = {
        .files = has_files ? held : NULL,
        .cache = order->cache[0] != '\0' ? order->cache : NULL,
        .port = {{order->first_port, order->last_port}, {order->first_peer_port, order->last_peer_port}}};
    status = dcli_confine(&confine);
    if (status != DCL_OK)
        dcli_serving_answer(serving, status);
    return status;
}

static dcl_status open_shared(dcli_serving *serving)
{
    dcl_status status = dcli_net_open(&serving->net);
    if (status == DCL_OK && (serving->buffers = dcli_buffers_open_shared()) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status =
            dcli_endpoint_open_shared(serving->net, serving->self, serving->node_count + 1, NULL, &serving->endpoint);
    if (status != DCL_OK)
        return status;
    dcli_endpoint_link_on_demand(serving->endpoint, serving->node_count);
    dcli_endpoint_use_buffers(serving->endpoint, serving->buffers);
    return dcli_endpoint_add_link(serving->endpoint, serving->node_count, &serving->host_link);
}

/* ---- serving ------------------------------------------------------------------------------------------------------ */

static dcl_status describe_device(dcli_serving *serving)
{
    const dcl_device_info *info =
        serving->is_opencl ? dcli_remote_about(serving->remote) : dcli_device_about(serving->device);
    bool is_node = !serving->is_opencl;
    dcli_message message = {.kind = DCLI_MSG_DEVICE,
                            .epoch = serving->session,
                            .device = {.name = info->name,
                                       .platform = info->platform,
                                       .version = info->version,
                                       .class = info->kind,
                                       .kind = is_node ? dcli_device_kind(serving->device) : "",
                                       .number = info->number,
                                       .compute_units = info->compute_units,
                                       .has_half = info->has_half,
                                       .has_double = info->has_double,
                                       .in_place = is_node && dcli_device_in_place(serving->device),
                                       .reads_gpus = is_node && dcli_device_reads_peers(serving->device),
                                       .memory_bytes = info->memory_bytes,
                                       .process = getpid()}};
    return dcli_endpoint_send(serving->endpoint, serving->node_count, &message, NULL);
}

static dcl_status refuse_service(dcli_serving *serving, dcl_status status)
{
    dcli_message message = {.kind = DCLI_MSG_REFUSED,
                            .epoch = serving->session,
                            .refused = {.status = status, .sentence = dcli_error_sentence()}};
    dcli_endpoint_send(serving->endpoint, serving->node_count, &message, NULL);
    return status;
}

/* A driver calls no OpenCL, so each process of `local:N` that it starts selects its own device. */
static dcl_status find_selected(dcli_serving *serving)
{
    dcl_config config;
    int *devices, count = 0;
    if (serving->is_wire)
        return DCL_OK;
    if (dcl_config_read(&config) != DCL_OK)
        return dcli_error_status();
    if ((devices = dcli_calloc(DCLI_MOST_NODES, sizeof *devices)) == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_device_select(config.devices, DCLI_MOST_NODES, devices, &count);
    if (status == DCL_OK)
        serving->device_number = devices[serving->self % count];
    dcli_free(devices);
    return status;
}

/* Open the device. A driver may take seconds; this state does not count as silence. */
static dcl_status open_device(dcli_serving *serving)
{
    dcli_watch_activity(serving->watch, DCLI_OPENING, "its device");
    if (serving->is_opencl) {
        dcl_status opened = find_selected(serving);
        if (opened == DCL_OK)
            opened = dcli_remote_open(serving->device_number, &serving->log, serving->watch, &serving->remote);
        dcli_watch_activity(serving->watch, DCLI_OPENING, NULL);
        return opened;
    }
    int flags = (serving->is_wire ? 0 : DCLI_OPEN_SHARED) | (serving->may_read_gpus ? DCLI_OPEN_PEERS : 0);
    dcl_status status = dcli_device_open_as(serving->device_number, &serving->log, flags, &serving->device);
    dcli_watch_activity(serving->watch, DCLI_OPENING, NULL);
    return status;
}

/* Wait for SETUP. Other nodes may have theirs already and send; their messages are stored. */
static dcl_status wait_for_setup(dcli_serving *serving, dcli_received *setup_out)
{
    enum { MOST_EARLY = 100000, MOST_EARLY_BYTES = 256 << 20, LEAST_EARLY_BYTES = 1 << 20 };
    int64_t early_bytes = 0, most_bytes = MOST_EARLY_BYTES;
    if (serving->quota_bytes > 0)
        most_bytes = dcli_max(LEAST_EARLY_BYTES, dcli_min(most_bytes, serving->quota_bytes));
    for (;;) {
        dcli_received received = {0};
        dcl_status status = dcli_endpoint_receive(serving->endpoint, -1, &received);
        if (status == DCL_ERR_TIMEOUT)
            continue;
        if (status == DCL_ERR_NODE_LOST && received.from < serving->node_count)
            continue; /* the host will handle it */
        if (status != DCL_OK)
            return status;
        if (received.from == serving->node_count && received.message.kind == DCLI_MSG_SETUP &&
            received.message.epoch == serving->session) {
            *setup_out = received;
            return DCL_OK;
        }
        if (received.from == serving->node_count && received.message.epoch != serving->session) {
            dcli_received_free(&received);
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "the host speaks of another session; expected %016" PRIx64,
                             serving->session);
        }
        bool stops = received.message.kind == DCLI_MSG_STOP && received.from == serving->node_count;
        early_bytes += (int64_t)dcli_received_bytes(&received);
        if (stops || serving->early_count == MOST_EARLY || early_bytes > most_bytes ||
            dcli_grow(&serving->early, serving->early_count, &serving->early_capacity, sizeof received) != 0) {
            dcli_received_free(&received);
            return DCLI_FAIL(DCL_ERR_PROTOCOL, "the session ended before it began");
        }
        serving->early[serving->early_count++] = received;
    }
}

static const int64_t usual_build_ms = 600000;

static int64_t at_most_int64(uint64_t bytes) { return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes; }

/* Number of processes that share this host's memory: those of all open sessions of a worker, or those of the
 * program. */
static int count_sharers(const dcli_serving *serving, const dcli_msg_setup *setup)
{
    int sharers = serving->is_wire ? serving->order.sharers : 0;
    for (int p = 0; !serving->is_wire && p < setup->peer_count; p++)
        sharers += setup->peer[p].present;
    return (int)dcli_max(sharers, 1);
}

/* Time limits: those of the session, at most those of the worker. */
static void choose_times(dcli_serving *serving, const dcli_msg_setup *setup)
{
    int64_t most = serving->is_wire ? serving->order.most_kernel_ms : INT64_MAX;
    if (serving->page != NULL) /* the worker is a process, so it has a page */
        atomic_store(&serving->page->limit_is_workers, setup->kernel_ms > most);
    /* A small kernel limit must not shorten the usual compile time. */
    int64_t most_build = most > usual_build_ms ? most : usual_build_ms;
    dcli_watchdog_limits(serving->watchdog, setup->build_ms < most_build ? setup->build_ms : most_build,
                         setup->kernel_ms < most ? setup->kernel_ms : most, setup->plan_ms);
}

/* Memory limits of a session. Without a quota, the limit is the device's memory. If the device works in host memory, it
 * is four fifths of this process's share of the machine's memory or of the control group's limit. The last fifth is for
 * data in transit. */
static void choose_limits(dcli_serving *serving, const dcli_msg_setup *setup)
{
    enum { LEAST_TRANSIT = 64 << 20 }; /* twice what a node requests ahead */
    const dcl_device_info *info =
        serving->is_opencl ? dcli_remote_about(serving->remote) : dcli_device_about(serving->device);
    uint64_t of_device = info->memory_bytes, of_host = dcli_memory_limit();
    bool in_place = serving->is_opencl ? dcli_remote_in_place(serving->remote) : dcli_device_in_place(serving->device);
    int64_t quota = setup->quota_bytes;
    if (quota == 0 || (serving->quota_bytes > 0 && serving->quota_bytes < quota))
        quota = serving->quota_bytes;
    if (in_place && of_device < of_host)
        of_host = of_device;
    int64_t share = at_most_int64(of_host / (unsigned)count_sharers(serving, setup));
    serving->transit_bytes = dcli_max(LEAST_TRANSIT, quota > 0 ? quota / 4 : share / 5);
    serving->quota_bytes = quota > 0 ? quota : in_place ? share - share / 5 : at_most_int64(of_device);
}

static dcl_status apply_setup(dcli_serving *serving, const dcli_msg_setup *setup)
{
    if (setup->peer_count != serving->node_count || setup->self != serving->self)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "SETUP is for node %d of %d; expected node %d of %d", setup->self,
                         setup->peer_count, serving->self, serving->node_count);
    if (setup->tree_nodes > serving->node_count)
        return DCLI_FAIL(
            DCL_ERR_PROTOCOL,
            "the host sent SETUP with a tree of %d nodes; expected at most %d, those of the session; use the "
            "same release on both sides",
            setup->tree_nodes, serving->node_count);
    serving->log.level = setup->log;
    serving->check_access = setup->check_access;
    serving->config = (dcl_config){
        .struct_size = sizeof(dcl_config),
        .tile_bytes = (size_t)setup->tile_bytes,
        .chunk_bytes = (size_t)setup->chunk_bytes,
        .pool_bytes = (size_t)setup->pool_bytes,
        .kept_bytes = (size_t)setup->kept_bytes,
        .fanout = (size_t)setup->fanout,
        .steal = dcli_steal_name((dcli_steal){.policy = (dcl_steal_policy)setup->steal, .kinds = setup->steal_kinds})};
    if (setup->fault[0] != '\0' && (serving->fault = dcli_strdup(setup->fault)) == NULL)
        return DCL_ERR_NOMEM;
    choose_limits(serving, setup);
    if (setup->trace_bytes > 0) {
        enum { SHARE = 16 }; /* of the session's memory, most for its events */
        int64_t bytes = dcli_min(setup->trace_bytes, serving->quota_bytes / SHARE);
        if ((serving->trace = dcli_trace_open((size_t)bytes)) == NULL)
            DCLI_LOG(&serving->log, DCLI_LOG_WARN, "node %d records no events: %" PRId64 " bytes are not available",
                     serving->self, bytes);
    }
    serving->tree_nodes = setup->tree_nodes;
    snprintf(serving->word_key, sizeof serving->word_key, "%s", setup->word_key);
    serving->epoch = setup->epoch;
    choose_times(serving, setup);
    for (int p = 0; p < serving->node_count; p++) {
        serving->ways[p] = (dcli_node_ways){.can = (uint8_t)setup->peer[p].can, .group = (int16_t)setup->peer[p].group};
        serving->absent[p] = !setup->peer[p].present;
    }
    if ((serving->ways[serving->self].can & DCLI_CAN_SHOW_GPU) == 0)
        dcli_device_forgo_peers(serving->device);
    return serving->is_wire ? dcli_serving_meet_all(serving, setup) : DCL_OK;
}

static dcl_status open_worker(dcli_serving *serving, int64_t first_operation)
{
    if ((serving->addresses = dcli_address_table_open()) == NULL)
        return DCL_ERR_NOMEM;
    dcli_worker_terms terms = {.net = serving->net,
                               .session = serving->session,
                               .self = serving->self,
                               .node_count = serving->node_count,
                               .ways = serving->ways,
                               .config = &serving->config,
                               .fault = serving->fault,
                               .check_access = serving->check_access,
                               .log = &serving->log,
                               .trace = serving->trace,
                               .addresses = serving->addresses,
                               .buffers = serving->buffers,
                               .is_process = true,
                               .endpoint = serving->endpoint,
                               .opened = serving->device,
                               .absent = serving->absent,
                               .fanout = (int)serving->config.fanout,
                               .tree_nodes = serving->tree_nodes,
                               .epoch = serving->epoch,
                               .first_operation = first_operation,
                               .quota_bytes = serving->quota_bytes,
                               .transit_bytes = serving->transit_bytes,
                               .files = &serving->files,
                               .watch = serving->watch,
                               .word_key = serving->word_key};
    serving->endpoint = NULL;
    serving->device = NULL;
    dcl_status status = dcli_worker_open(&terms, &serving->worker);
    return status == DCL_OK ? dcli_worker_prepare(serving->worker) : status;
}

static dcl_status hear_early(dcli_serving *serving)
{
    dcl_status status = DCL_OK;
    int64_t n = 0;
    for (; n < serving->early_count && status == DCL_OK; n++)
        status = dcli_worker_hear(serving->worker, &serving->early[n]);
    for (; n < serving->early_count; n++)
        dcli_received_free(&serving->early[n]);
    serving->early_count = 0;
    return status;
}

/* Serve an OpenCL driver. */
static dcl_status serve_driver(dcli_serving *serving, const dcli_msg_setup *setup)
{
    if (setup->peer_count != serving->node_count || setup->self != serving->self)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "SETUP is for node %d of %d; expected node %d of %d", setup->self,
                         setup->peer_count, serving->self, serving->node_count);
    serving->log.level = setup->log;
    choose_limits(serving, setup);
    choose_times(serving, setup);
    if (serving->is_wire)
        dcli_serving_meet_each(serving, setup, serving->absent);
    dcli_remote_terms terms = {.endpoint = serving->endpoint,
                               .client = serving->node_count,
                               .session = serving->session,
                               .buffers = serving->buffers,
                               .chunk_bytes = dcli_min(setup->chunk_bytes, DCLI_REMOTE_CHUNK),
                               .quota_bytes = serving->quota_bytes,
                               .shares = !serving->is_wire,
                               .prints = true,
                               .self = serving->self,
                               .apart = serving->absent,
                               .early = serving->early,
                               .early_count = serving->early_count};
    serving->early_count = 0;
    return dcli_remote_serve(serving->remote, &terms);
}

static dcl_status serve(dcli_serving *serving)
{
    dcli_received setup = {0};
    dcl_status status = describe_device(serving);
    if (serving->page != NULL) /* the worker is a process */
        atomic_store(&serving->page->described, true);
    if (status == DCL_OK) {
        dcli_watch_rest(serving->watch, true);
        dcli_watch_sleep(serving->watch, true);
        status = wait_for_setup(serving, &setup);
        dcli_watch_sleep(serving->watch, false);
    }
    if (status == DCL_OK && serving->is_opencl) {
        status = serve_driver(serving, &setup.message.setup);
        dcli_received_free(&setup);
        return status;
    }
    if (status == DCL_OK)
        status = apply_setup(serving, &setup.message.setup);
    int64_t first = status == DCL_OK ? setup.message.setup.first_operation : 0;
    dcli_received_free(&setup);
    bool places = serving->watchdog != NULL && !serving->is_wire && dcli_device_in_place(serving->device) &&
                  dcli_device_about(serving->device)->compute_units == 1; /* one thread computes */
    if (status == DCL_OK)
        status = open_worker(serving, first);
    if (status == DCL_OK && places) /* last, because what counts processors should count all that the process may use */
        dcli_watchdog_place(serving->watchdog, dcli_placement_open(serving->self, serving->processes));
    if (status == DCL_OK)
        status = hear_early(serving);
    return status == DCL_OK ? dcli_worker_serve(serving->worker) : status;
}

static void close_serving(dcli_serving *serving)
{
    dcli_worker_close(serving->worker);
    dcli_trace_close(serving->trace);
    for (int64_t n = 0; n < serving->early_count; n++)
        dcli_received_free(&serving->early[n]);
    dcli_free(serving->early);
    if (serving->device != NULL && serving->endpoint != NULL && !serving->is_wire) {
        dcli_endpoint_map_writable(serving->endpoint, NULL, NULL);
        dcli_buffers_on_drop(serving->buffers, NULL, NULL);
    }
    dcli_device_close(serving->device);
    dcli_remote_close(serving->remote);
    dcli_endpoint_close(serving->endpoint);
    dcli_serving_close_wire(serving);
    dcli_net_close(serving->net);
    dcli_address_table_close(serving->addresses);
    dcli_buffers_close(serving->buffers);
    dcli_watchdog_close(serving->watchdog);
    dcli_files_release(&serving->files);
    dcli_free(serving->fault);
    if (serving->page != NULL)
        munmap(serving->page, DCLI_STATUS_BYTES);
    dcli_free(serving);
}

static bool unregister(void *device, const void *memory) { return dcli_device_unregister(device, memory); }

/* A device with memory of its own registers memory of messages, and gives it back before that is unmapped. Before the
 * first message: memory that is mapped earlier would only be readable. */
static void prepare_registering(dcli_serving *serving)
{
    if (serving->is_opencl || dcli_device_in_place(serving->device))
        return;
    dcli_endpoint_map_writable(serving->endpoint, unregister, serving->device);
    dcli_buffers_on_drop(serving->buffers, unregister, serving->device);
}

/* Start to serve in a session whose peers are on one host: connect to them, and open the device. If the device cannot
 * be opened, report the reason to the program. */
static dcl_status start_shared(dcli_serving *serving)
{
    dcl_status status = open_shared(serving);
    if (status != DCL_OK)
        return status;
    status = open_device(serving);
    if (status != DCL_OK)
        return refuse_service(serving, status);
    prepare_registering(serving);
    return DCL_OK;
}

static dcl_status start_wire(dcli_serving *serving)
{
    dcl_status status = open_device(serving);
    if (status == DCL_OK)
        status = dcli_serving_open_wire(serving);
    if (status == DCL_OK && serving->order.contain)
        status = dcli_confine_calls();
    dcli_serving_answer(serving, status);
    return status;
}

dcl_status dcli_serve_process(const char *terms)
{
    dcli_serving *serving = dcli_calloc(1, sizeof *serving);
    if (serving == NULL)
        return DCL_ERR_NOMEM;
    serving->lifeline = serving->files.folder = -1;
    dcli_environment_use_drivers();
    dcli_process_raise_limit();
    dcli_trace_clock_id();            /* read before this process is confined */
    setvbuf(stdout, NULL, _IOLBF, 0); /* stdout is a pipe: flush per line, so that what kernels print is not delayed */
    serving->is_wire = strncmp(terms, "wire ", 5) == 0;
    dcl_status status = serving->is_wire                    ? take_wire_terms(serving, terms)
                        : strncmp(terms, "shared ", 7) == 0 ? take_shared_terms(serving, terms)
                                                            : malformed(terms);
    if (status == DCL_OK) {
        dcli_environment_share_processors(serving->is_wire ? 1 : serving->processes);
        status = map_status(serving);
    }
    if (status == DCL_OK && (serving->watchdog = dcli_watchdog_open(serving->page, serving->lifeline)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        serving->watch = dcli_watchdog_watch(serving->watchdog);
    if (status == DCL_OK)
        status = serving->is_wire ? start_wire(serving) : start_shared(serving);
    if (status == DCL_OK)
        status = serve(serving);
    close_serving(serving);
    return status;
}

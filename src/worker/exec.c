/* worker/exec.c - carry out the actions of a node's state machine, except loop bodies. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/files.h"
#include "store/npy.h"
#include "worker/account.h"
#include "worker/peer.h"
#include "worker/process_data.h"
#include "worker/profile.h"
#include "worker/series.h"
#include "worker/shown.h"
#include "worker/stealing.h"
#include "worker/trace.h"
#include "worker/window.h"

/* ---- storage ------------------------------------------------------------------------------------------------------ */

/* Allocate memory for a purpose. Zeroing or copying many bytes takes long, so the watchdog is informed. */
dcl_status dcli_exec_create(dcli_worker *worker, size_t bytes, const char *what, dcli_create_fn *make,
                            dcli_memory **memory_out)
{
    dcli_as_node *own = worker->as_node;
    dcl_status status = dcli_account_check(worker, DCLI_USE_ARRAYS, bytes, what);
    if (status != DCL_OK)
        return status;
    if (++own->allocations == own->fault_at)
        return DCLI_FAIL(DCL_ERR_NOMEM,
                         "allocation %" PRId64 " of storage (%zu bytes for %s) fails, as DCL_FAULT asks for",
                         own->allocations, bytes, what);
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, what);
    int64_t began_ns = dcli_trace_begin(worker);
    status = make(own->device, bytes, memory_out);
    dcli_trace_end(worker, DCLI_TRACE_ALLOCATE, began_ns, NULL, -1, DCLI_TRACE_NOBODY, (int64_t)bytes);
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, NULL);
    return status;
}

/* Enter this node's part in the address table, where nodes of this process find it. */
static dcl_status put_in_address_table(dcli_worker *worker, const dcli_known_storage *held, size_t bytes)
{
    dcli_memory_place place = {.host = dcli_memory_host(held->memory)};
    if (dcli_device_reads_peers(worker->as_node->device))
        dcli_memory_place_of(held->memory, &place);
    return dcli_address_table_put(worker->terms.addresses, held->id, worker->terms.self, &place, bytes);
}

dcl_status dcli_exec_allocate(dcli_worker *worker, dcli_known_storage *held)
{
    if (held->memory != NULL)
        return DCL_OK;
    size_t bytes = dcli_known_storage_bytes(held, worker->terms.self);
    dcl_status status = dcli_exec_create(worker, bytes, "a new array",
                                         held->unset ? dcli_memory_create_unset : dcli_memory_create, &held->memory);
    if (status != DCL_OK)
        return status;
    status = put_in_address_table(worker, held, bytes);
    if (status != DCL_OK) {
        dcli_memory_release(held->memory);
        held->memory = NULL;
        return status;
    }
    worker->counters.storage_bytes += (int64_t)bytes;
    return dcli_show_part(worker, held);
}

static bool reads_us(const dcli_worker *worker, int node)
{
    const dcli_node_ways *ways = worker->terms.ways;
    return dcli_way_between(&ways[node], &ways[worker->terms.self]) == DCLI_WAY_PLACE;
}

/* Whether a lost node with a hanging thread may still read parts of this node in place. */
static bool may_be_read_by_lost(const dcli_worker *worker)
{
    int node = 0;
    if (worker->terms.fleet == NULL)
        return false;
    while (node < worker->terms.node_count && !(worker->gone[node] && reads_us(worker, node)))
        node++;
    return node < worker->terms.node_count;
}

/* Put memory that a hanging thread may read on a list instead of freeing it, so that leak checkers do not report it. If
 * the list cannot grow, the memory is not freed either. */
static void keep_back(dcli_as_node *own, dcli_memory *memory)
{
    if (dcli_grow(&own->kept_back, own->kept_back_count, &own->kept_back_capacity, sizeof(dcli_memory *)) == 0)
        own->kept_back[own->kept_back_count++] = memory;
}

static void release(dcli_worker *worker, dcli_known_storage *held)
{
    if (held->memory == NULL)
        return;
    dcli_address_table_drop(worker->terms.addresses, held->id, worker->terms.self);
    worker->counters.storage_bytes -= (int64_t)dcli_memory_bytes(held->memory);
    if (may_be_read_by_lost(worker))
        keep_back(worker->as_node, held->memory);
    else
        dcli_memory_release(held->memory);
    held->memory = NULL;
}

/* ---- operations on a node's whole part ---------------------------------------------------------------------------- */

/* Report progress of moving data to the watchdog: it is not a hang, however much data there is. */
static void note_moved(void *watch) { dcli_watch_progress(watch, DCLI_MOVING); }

/* Fill all of a part, including the padding between its rows. */
static dcl_status fill_part(dcli_device *device, dcli_entry *entry)
{
    dcli_known_storage *held = entry->held[0];
    size_t bytes = dcli_element_bytes(&entry->operation, 0);
    int64_t count = (int64_t)(dcli_memory_bytes(held->memory) / bytes), zero = 0;
    dcl_box all = dcl_box_nd(1, &zero, &count);
    dcli_region region = dcli_region_packed(&all, 0);
    return dcli_store_fill(device, held->memory, &region, &entry->more->descriptor.element, bytes);
}

static dcl_status fill(dcli_worker *worker, dcli_entry *entry)
{
    if (entry->more->descriptor.box_rank == 0)
        return fill_part(worker->as_node->device, entry);
    dcli_known_storage *held = entry->held[0];
    dcli_region_list regions = {0};
    dcl_status status =
        dcli_layout_regions(entry->operation.operand[0].layout, worker->terms.self, &entry->operation.box, &regions);
    for (int64_t r = 0; r < regions.count && status == DCL_OK; r++) {
        note_moved(worker->terms.watch);
        status = dcli_store_fill(worker->as_node->device, held->memory, &regions.region[r],
                                 &entry->more->descriptor.element, dcli_element_bytes(&entry->operation, 0));
    }
    dcli_region_list_free(&regions);
    return status;
}

/* Save a part. Remote processes call fsync() here, because the program's fsync() reaches only its own host's page
 * cache. */
static dcl_status save_part(const dcli_worker *worker, int fd, const char *path, const dcl_npy_info *info,
                            const dcli_region_list *regions, const dcli_known_storage *held)
{
    dcl_status status =
        dcli_npy_save(fd, path, info, held->shared->layout->grid.origin, regions, worker->as_node->device, held->memory,
                      &(dcli_npy_progress){note_moved, worker->terms.watch});
    if (status == DCL_OK && worker->terms.is_process && !worker->terms.files->everywhere && fdatasync(fd) != 0)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "\"%s\" cannot be written to the disk: %s; expected a disk with room that works; make room, "
                         "or save elsewhere",
                         path, strerror(errno));
    return status;
}

static int open_file(const dcli_worker *worker, const dcli_msg_operation *descriptor)
{
    bool saves = descriptor->kind == DCLI_OP_SAVE;
    dcli_file_id id = {.device = descriptor->device, .inode = descriptor->inode};
    const dcli_files *files = worker->terms.is_process ? worker->terms.files : &dcli_files_everywhere;
    return dcli_files_open(files, descriptor->path, saves, saves || id.inode != 0 ? &id : NULL);
}

static dcl_status use_file(dcli_worker *worker, dcli_entry *entry)
{
    dcli_known_storage *held = entry->held[0];
    const char *path = entry->more->descriptor.path;
    const dcli_layout *layout = held->shared->layout;
    dcl_npy_info info = {.grid = layout->grid,
                         .fortran_order = entry->more->descriptor.fortran_order,
                         .swapped = entry->more->descriptor.swapped,
                         .data_start = entry->more->descriptor.data_start};
    memset(info.grid.origin, 0, sizeof info.grid.origin);
    dcli_region_list regions = {0};
    int fd = open_file(worker, &entry->more->descriptor);
    if (fd < 0)
        return DCL_ERR_FILE;
    dcl_status status = dcli_layout_regions(layout, worker->terms.self, NULL, &regions);
    if (status == DCL_OK)
        status =
            entry->operation.kind == DCLI_OP_LOAD
                ? dcli_npy_load(fd, path, &info, layout->grid.origin, &regions, worker->as_node->device, held->memory,
                                worker->process_data->helpers, &(dcli_npy_progress){note_moved, worker->terms.watch})
                : save_part(worker, fd, path, &info, &regions, held);
    dcli_region_list_free(&regions);
    /* Quotas and network file systems may report errors only now. */
    if (close(fd) != 0 && errno != EINTR && status == DCL_OK)
        status = DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be written: %s", path, strerror(errno));
    return status;
}

static dcl_status move_part(dcli_worker *worker, dcli_entry *entry)
{
    dcl_status status = DCL_OK;
    bool fills = entry->operation.kind == DCLI_OP_FILL;
    bool uses_file = entry->operation.kind == DCLI_OP_LOAD || entry->operation.kind == DCLI_OP_SAVE;
    if (!fills && !uses_file)
        return DCL_OK;
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, fills ? "an array" : entry->more->descriptor.path);
    int64_t began_ns = dcli_trace_begin(worker);
    status = fills ? fill(worker, entry) : use_file(worker, entry);
    dcli_trace_end(worker,
                   fills                                   ? DCLI_TRACE_FILL
                   : entry->operation.kind == DCLI_OP_LOAD ? DCLI_TRACE_LOAD
                                                           : DCLI_TRACE_SAVE,
                   began_ns, entry, -1, DCLI_TRACE_NOBODY,
                   entry->held[0]->memory != NULL ? (int64_t)dcli_memory_bytes(entry->held[0]->memory) : 0);
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, NULL);
    return status;
}

dcl_status dcli_exec_run(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out)
{
    *start_out = DCLI_START_ENDED;
    if (worker->is_host)
        return dcli_host_run(worker, entry, batch, start_out);
    if (entry->operation.kind == DCLI_OP_RELEASE) {
        release(worker, entry->held[0]);
        return DCL_OK;
    }
    for (int k = 0; k < entry->operation.operand_count; k++) {
        if (entry->held[k] == NULL || dcli_layout_place(entry->held[k]->shared->layout, worker->terms.self) < 0)
            continue;
        dcl_status status = dcli_exec_allocate(worker, entry->held[k]);
        if (status != DCL_OK)
            return status;
    }
    if (entry->operation.kind == DCLI_OP_MOVE)
        return dcli_exec_move(worker, entry, batch);
    return entry->operation.kind == DCLI_OP_FORALL ? dcli_exec_forall(worker, entry, batch, start_out)
                                                   : move_part(worker, entry);
}

/* ---- batches that run --------------------------------------------------------------------------------------------- */

int64_t dcli_exec_only_kernel(const dcli_as_node *own, int64_t kernel)
{
    for (int64_t r = own->running_first; r < own->running_count; r++)
        if (own->running[r].kernel != kernel)
            return 0;
    return kernel;
}

static bool is_going_on(const dcli_compiling *compiling)
{
    return compiling != NULL && !dcli_program_is_compiled(compiling);
}

void dcli_exec_watch_beside(dcli_worker *worker, int begin)
{
    const dcli_as_node *own = worker->as_node;
    int count = begin + is_going_on(dcli_series_compiling(own));
    if (own->stealing != NULL)
        count += is_going_on(own->stealing->compiling);
    dcli_watch_beside(worker->terms.watch, count);
}

/* Called after each batch, and after each copy while no kernel runs, so that the watchdog starts a new time limit. */
void dcli_exec_watch(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    const dcli_entry *entry =
        own->running_first < own->running_count ? own->running[own->running_first].job.entry : NULL;
    dcli_exec_watch_beside(worker, 0);
    const char *copies = own->moving_count > 0 ? "copies between the device and the host" : NULL;
    dcli_watch_activity(worker->terms.watch, DCLI_COMPUTING, entry != NULL ? entry->kernel->body->text : copies);
    dcli_watch_kernel(worker->terms.watch, DCLI_COMPUTING,
                      entry != NULL ? dcli_exec_only_kernel(own, entry->kernel->number) : 0);
}

/* Record the measured time of a batch as a cost of its body. @return that time; 0: it was not measured. */
static int64_t note_cost(dcli_worker *worker, const dcli_running *running)
{
    dcli_kernel *kernel = dcli_kernels_find(&worker->catalog.kernels, running->kernel);
    dcli_as_node *own = worker->as_node;
    int64_t ns = 0;
    if (running->elements > 0) {
        ns = dcli_device_measured_ns(own->device, running->sum);
        own->measuring &= ~(1u << running->sum);
    }
    if (kernel != NULL)
        dcli_cost_add(&kernel->cost, ns, running->elements, running->units);
    return ns;
}

/* The time that a launch of borrowed batches kept the device from other work. The victim predicts its own batches by the same
 * (worker/profile.h), so kernels alone would make each thief look faster than it is.
 * @param kernel_ns  0: not measured */
static int64_t borrowed_ns(const dcli_as_node *own, const dcli_running *running, int64_t kernel_ns)
{
    int64_t took_ns = dcli_device_took_ns(own->device, own->ended_ticket, running->ticket);
    return kernel_ns > 0 ? dcli_max(kernel_ns, took_ns) : 0;
}

/* Note how long the device took for launches of which the host has noticed the end. It may notice late, and then two ends at
 * once, if its thread waits for a processor. So the driver's times are used, and those of the host only if it tells none.
 * @param after  ticket of the last one before, as in own->ended_ticket */
static void note_times(const dcli_as_node *own, int64_t first, int64_t last, uint64_t after)
{
    for (int64_t begin = first, next; begin <= last; begin = next) {
        uint64_t ticket = own->running[begin].ticket;
        for (next = begin + 1; next <= last && own->running[next].ticket == ticket;)
            next++;
        int64_t ns = dcli_device_took_ns(own->device, after, ticket);
        if (ns == 0 && begin == first && own->front_since_ns > 0) {
            ns = dcli_monotonic_ns() - own->front_since_ns;
            next = last + 1;
        }
        dcli_profile_ran(own, begin, next - 1, ns);
        after = ticket;
    }
}

/* Tell the node which running batches have copied their chunks to stages. On a device with memory of its own that may be long before
 * their kernels run, and their peers wait for the memory of the chunks. */
static dcl_status tell_copied(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    dcl_status status = DCL_OK, unused;
    if (worker->terms.node_count == 1 || dcli_device_in_place(own->device))
        return DCL_OK;
    own->copied = dcli_max(own->copied, own->running_first);
    for (; own->copied < own->running_count && status == DCL_OK; own->copied++) {
        const dcli_running *running = &own->running[own->copied];
        if (running->crossing != 0 && !dcli_device_has_taken(own->device, running->crossing, &unused))
            break;
        if (running->job.borrowed == NULL)
            status = dcli_node_batches_copied(worker->node, running->operation, running->batch, 1 + running->more);
    }
    return status;
}

dcl_status dcli_exec_collect(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (own->running_first == own->running_count)
        return DCL_OK;
    uint64_t retired = dcli_device_retired(own->device);
    int64_t first = own->running_first;
    uint64_t after = own->ended_ticket;
    dcl_status status = tell_copied(worker);
    while (own->running_first < own->running_count && status == DCL_OK) {
        dcli_running *running = &own->running[own->running_first];
        if (running->ticket > retired || !dcli_exec_has_fetched(running))
            break;
        if (__builtin_expect(running->traced != NULL, 0))
            dcli_trace_batch(worker, running);
        dcl_status ended = dcli_exec_end_forall(worker, running);
        int64_t ns = note_cost(worker, running);
        if (running->job.borrowed != NULL)
            ns = borrowed_ns(own, running, ns);
        own->ended_ticket = running->ticket;
        dcli_series_give(own, running->steps);
        own->window_parts -= dcli_window_is_part(running);
        own->running_first++;
        if (running->job.borrowed != NULL)
            status = dcli_borrowed_ended(worker, running->job.borrowed, ns, ended);
        else
            status = dcli_node_batches_done(worker->node, running->operation, running->batch, 1 + running->more, ended);
    }
    if (own->running_first > first) {
        own->asked_since_ns = 0;
        if (own->stealing != NULL)
            note_times(own, first, own->running_first - 1, after);
        dcli_window_moved(worker, true);
        dcli_exec_watch(worker);
    }
    if (own->running_first == own->running_count)
        own->running_first = own->running_count = own->copied = 0;
    return status;
}

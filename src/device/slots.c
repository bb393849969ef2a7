/* device/slots.c - slots: how bytes cross between the host and a device with memory of its own.
 *
 * A slot is a range of pinned host memory, which the device copies fast, and a range of equal length of the device's
 * scratch memory, in two buffers that are made with the device. Rows cross directly between the pinned memory and
 * their memory, in the OUT queue or the IN queue. Other elements are packed into the scratch memory in the PACK queue
 * before they leave the device, and unpacked from it in the UNPACK queue after they have entered it. So one slot is
 * packed while another crosses and kernels run. A returned slot becomes free when its commands are complete; nobody
 * waits for that. If the ring is full, a slot gets ordinary memory, and dcli_slots_are_short() then asks callers to
 * start no new work.
 *
 * The two buffers are shared out separately, because not every slot needs both: what enters from memory of another
 * device, or crosses to and from registered memory, needs scratch memory alone.
 *
 * Slots are lent to other threads of the process, at most three quarters of the pinned memory. These threads fill or
 * read them in place, and return them at any time, even after the device was closed. In a process with several nodes, a
 * message to another node of the process carries a lent slot instead of a copy, and the receiver keeps the slot until
 * all elements that its batch needs have arrived. So the rings of such a process are larger. */
#include "device/opencl.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    UNIT_BYTES = 16 << 10,
    /* The least; usually, of which three quarters can be lent, 48 MB to the program for each direction of its transfers; and with
     * DCLI_OPEN_LENDS. More than the least only if the device has MEMORY_SHARE times as much memory. */
    LEAST_RING_BYTES = 64 << 20,
    RING_BYTES = 128 << 20,
    MOST_RING_BYTES = 256 << 20,
    MEMORY_SHARE = 64,
    MORE_SCRATCH_BYTES = 64 << 20, /* so much more scratch memory than pinned memory */
    SPARE_UNITS = (8 << 20) / UNIT_BYTES
};

struct dcli_ring {
    cl_mem pinned, scratch;
    char *host;             /* host address of `pinned` */
    cl_command_queue queue; /* a retained queue, by which `pinned` is unmapped */
    dcli_slot *retiring;    /* used by the serving thread: returned slots whose commands may not be complete */
    pthread_mutex_t lock;   /* guards the fields below */
    bool closed;            /* the device was closed: the remaining slots are lent ones */
    dcli_slot *given;       /* slots returned by any thread since the serving thread last looked */
    uint64_t serial;        /* serial number of the last slot */
    size_t taken_units, lent_units, taken_scratch_units;
    size_t units, scratch_units;      /* of `pinned` and `scratch`; not changed later */
    dcli_slot **slot, **scratch_slot; /* the slot that each unit belongs to; NULL: it is free */
};

/* Slots have a range of serial numbers of their own, because any thread makes them. */
static const uint64_t slot_serials = UINT64_C(1) << 63;

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

static dcl_status open_buffers(dcli_device *device)
{
    dcli_ring *ring = device->ring;
    cl_int code = clRetainCommandQueue(device->queue[DCLI_IN].handle);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clRetainCommandQueue", code);
    ring->queue = device->queue[DCLI_IN].handle;
    ring->pinned = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, ring->units * UNIT_BYTES,
                                  NULL, &code);
    if (ring->pinned == NULL)
        return dcli_cl_fail(device, "clCreateBuffer", code);
    ring->host = clEnqueueMapBuffer(ring->queue, ring->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                    ring->units * UNIT_BYTES, 0, NULL, NULL, &code);
    if (ring->host == NULL)
        return dcli_cl_fail(device, "clEnqueueMapBuffer", code);
    ring->scratch = clCreateBuffer(device->context, CL_MEM_READ_WRITE, ring->scratch_units * UNIT_BYTES, NULL, &code);
    return ring->scratch == NULL ? dcli_cl_fail(device, "clCreateBuffer", code) : DCL_OK;
}

static size_t ring_bytes(const dcli_device *device, bool lends)
{
    size_t bytes = lends ? MOST_RING_BYTES : RING_BYTES;
    while (bytes > LEAST_RING_BYTES && (size_t)device->info.memory_bytes / MEMORY_SHARE < bytes)
        bytes /= 2;
    return bytes;
}

dcl_status dcli_ring_open(dcli_device *device, bool lends)
{
    dcli_ring *ring = device->ring = dcli_calloc(1, sizeof *ring);
    if (ring == NULL)
        return DCL_ERR_NOMEM;
    pthread_mutex_init(&ring->lock, NULL);
    ring->units = ring_bytes(device, lends) / UNIT_BYTES;
    ring->scratch_units = ring->units + MORE_SCRATCH_BYTES / UNIT_BYTES;
    ring->slot = dcli_calloc(ring->units, sizeof *ring->slot);
    ring->scratch_slot = dcli_calloc(ring->scratch_units, sizeof *ring->scratch_slot);
    return ring->slot != NULL && ring->scratch_slot != NULL ? open_buffers(device) : DCL_ERR_NOMEM;
}

static void free_ring(dcli_ring *ring)
{
    if (ring->host != NULL)
        clEnqueueUnmapMemObject(ring->queue, ring->pinned, ring->host, 0, NULL, NULL);
    if (ring->pinned != NULL)
        clReleaseMemObject(ring->pinned);
    if (ring->scratch != NULL)
        clReleaseMemObject(ring->scratch);
    if (ring->queue != NULL)
        clReleaseCommandQueue(ring->queue);
    pthread_mutex_destroy(&ring->lock);
    dcli_free(ring->slot);
    dcli_free(ring->scratch_slot);
    dcli_free(ring);
}

static size_t units_of(const dcli_slot *slot) { return (slot->memory.bytes + UNIT_BYTES - 1) / UNIT_BYTES; }

/* Free the units of a slot in the ring. The lock is held. */
static void leave_ring(dcli_slot *slot)
{
    dcli_ring *ring = slot->ring;
    size_t units = units_of(slot);
    memset(ring->scratch_slot + slot->memory.base / UNIT_BYTES, 0, units * sizeof ring->slot[0]);
    ring->taken_scratch_units -= units;
    if (!slot->pinned)
        return;
    memset(ring->slot + (size_t)(slot->host - ring->host) / UNIT_BYTES, 0, units * sizeof ring->slot[0]);
    ring->taken_units -= units;
}

static void free_slot(dcli_device *device, dcli_slot *slot)
{
    if (slot->end != NULL && !device->lost) /* otherwise the driver may still write to it */
        slot->end(slot->host);
    if (slot->own != NULL) {
        dcli_memory_release(slot->own);
        if (slot->end == NULL && slot->host != NULL && !device->lost)
            dcli_free(slot->host);
    } else {
        pthread_mutex_lock(&slot->ring->lock);
        leave_ring(slot);
        pthread_mutex_unlock(&slot->ring->lock);
    }
    dcli_free(slot);
}

/* Free returned slots whose commands are complete. The lock is not held during driver calls: a driver that hangs must
 * not block threads that return slots. */
static void collect(dcli_device *device, bool all)
{
    dcli_ring *ring = device->ring;
    if (device->lost && !all)
        return;
    dcli_slot **at = &ring->retiring;
    while (*at != NULL)
        at = &(*at)->next;
    pthread_mutex_lock(&ring->lock);
    *at = ring->given;
    ring->given = NULL;
    pthread_mutex_unlock(&ring->lock);
    for (at = &ring->retiring; *at != NULL;) {
        dcli_slot *slot = *at;
        dcl_status unused;
        if (!all && !dcli_slot_is_complete(slot, &unused)) {
            at = &slot->next;
            continue;
        }
        *at = slot->next;
        free_slot(device, slot);
    }
}

void dcli_ring_free(dcli_device *device)
{
    dcli_ring *ring = device->ring;
    if (ring == NULL)
        return;
    collect(device, true);
    pthread_mutex_lock(&ring->lock);
    bool is_lent = ring->lent_units > 0;
    ring->closed = true;
    dcli_slot *given = ring->given; /* slots given back by other threads since they were last collected */
    ring->given = NULL;
    pthread_mutex_unlock(&ring->lock);
    for (dcli_slot *next; given != NULL; given = next) {
        next = given->next;
        dcli_free(given);
    }
    if (!is_lent)
        free_ring(ring);
    device->ring = NULL;
}

/* ---- taking and giving back -------------------------------------------------------------------------------------- */

/* The first run of that many free units; -1: there is none. */
static int64_t find_units(dcli_slot *const of[], size_t count, size_t taken, size_t wanted)
{
    size_t free_units = 0;
    for (size_t n = 0; n < count && wanted <= count - taken;) {
        if (of[n] != NULL) {
            free_units = 0;
            n += units_of(of[n]); /* unit n is the first of that slot */
            continue;
        }
        n++;
        if (++free_units == wanted)
            return (int64_t)(n - wanted);
    }
    return -1;
}

static void take_units(dcli_slot *of[], int64_t first, dcli_slot *slot)
{
    for (size_t n = 0; n < units_of(slot); n++)
        of[(size_t)first + n] = slot;
}

/* Place a slot in the ring, with the lock held. @return false: there is no room. */
static bool find_place(dcli_slot *slot, bool pinned)
{
    dcli_ring *ring = slot->ring;
    size_t units = units_of(slot);
    int64_t scratch = find_units(ring->scratch_slot, ring->scratch_units, ring->taken_scratch_units, units);
    int64_t unit = pinned && scratch >= 0 ? find_units(ring->slot, ring->units, ring->taken_units, units) : -1;
    if (scratch < 0 || (pinned && unit < 0))
        return false;
    take_units(ring->scratch_slot, scratch, slot);
    ring->taken_scratch_units += units;
    slot->memory.buffer = ring->scratch;
    slot->memory.base = (size_t)scratch * UNIT_BYTES;
    slot->pinned = pinned;
    if (!pinned)
        return true;
    take_units(ring->slot, unit, slot);
    ring->taken_units += units;
    slot->host = ring->host + (size_t)unit * UNIT_BYTES;
    return true;
}

/* Whether `units` more units may be lent. The lock is held. */
static bool may_lend(const dcli_ring *ring, size_t units)
{
    size_t most = ring->units / 4 * 3;
    return units <= most && ring->lent_units <= most - units;
}

/* Place a slot in the ring, if there is room and not too much is lent. @param pinned  whether it needs host memory.
 * @param lent  for a thread other than the serving one. @return false: it is not in the ring. */
static bool enter_ring(dcli_slot *slot, bool pinned, bool lent)
{
    dcli_ring *ring = slot->ring;
    size_t units = units_of(slot);
    pthread_mutex_lock(&ring->lock);
    slot->memory.serial = slot_serials + ++ring->serial;
    bool entered = (!lent || may_lend(ring, units)) && find_place(slot, pinned);
    slot->lent = entered && lent;
    ring->lent_units += slot->lent ? units : 0;
    pthread_mutex_unlock(&ring->lock);
    return entered;
}

static dcl_status make_scratch(dcli_slot *slot)
{
    dcl_status status = dcli_memory_scratch(slot->memory.device, slot->memory.bytes, &slot->own);
    if (status == DCL_OK)
        slot->memory.buffer = slot->own->buffer;
    return status;
}

static dcl_status make_own(dcli_slot *slot)
{
    slot->host = dcli_malloc(slot->memory.bytes);
    if (slot->host == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = make_scratch(slot);
    if (status != DCL_OK)
        dcli_free(slot->host);
    return status;
}

static dcli_slot *new_slot(dcli_device *device, size_t bytes)
{
    dcli_slot *slot = dcli_calloc(1, sizeof *slot);
    if (slot == NULL)
        return NULL;
    slot->ring = device->ring;
    slot->memory = (dcli_memory){.device = device, .bytes = bytes, .in_slot = true};
    return slot;
}

dcl_status dcli_slot_take(dcli_device *device, size_t bytes, dcli_slot **slot_out)
{
    collect(device, false);
    dcli_slot *slot = new_slot(device, bytes);
    if (slot == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = enter_ring(slot, true, false) ? DCL_OK : make_own(slot);
    if (status != DCL_OK)
        dcli_free(slot);
    else
        *slot_out = slot;
    return status;
}

dcl_status dcli_slot_take_over(dcli_device *device, void *host, size_t bytes, void (*end)(void *host),
                               dcli_slot **slot_out)
{
    assert((host == NULL) == (end == NULL));
    collect(device, false);
    dcli_slot *slot = new_slot(device, bytes);
    if (slot == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = enter_ring(slot, false, false) ? DCL_OK : make_scratch(slot);
    if (status != DCL_OK) {
        dcli_free(slot);
        return status;
    }
    slot->host = host;
    slot->end = end;
    *slot_out = slot;
    return DCL_OK;
}

void *dcli_slot_leave(dcli_slot *slot)
{
    dcl_status unused;
    if (slot == NULL || slot->end == NULL || !dcli_slot_is_complete(slot, &unused))
        return NULL;
    void *host = slot->host;
    slot->host = NULL;
    slot->end = NULL;
    return host;
}

/* Return a lent slot, from any thread: the serving thread finds it at its next look. The last slot of a closed device
 * frees the ring. */
static void return_lent(dcli_slot *slot)
{
    dcli_ring *ring = slot->ring;
    pthread_mutex_lock(&ring->lock);
    ring->lent_units -= units_of(slot);
    bool closed = ring->closed, last = closed && ring->lent_units == 0;
    if (!closed) {
        slot->lent = false;
        slot->next = ring->given;
        ring->given = slot;
    }
    pthread_mutex_unlock(&ring->lock);
    if (closed)
        dcli_free(slot);
    if (last)
        free_ring(ring);
}

void dcli_slot_give(dcli_slot *slot)
{
    if (slot == NULL)
        return;
    if (slot->lent) {
        return_lent(slot);
        return;
    }
    slot->next = slot->ring->retiring;
    slot->ring->retiring = slot;
    collect(slot->memory.device, false);
}

/* ---- lending to other threads ------------------------------------------------------------------------------------- */

dcli_slot *dcli_slot_borrow(dcli_device *device, size_t bytes)
{
    dcli_slot *slot = new_slot(device, bytes);
    if (slot != NULL && enter_ring(slot, true, true))
        return slot;
    dcli_free(slot);
    return NULL;
}

bool dcli_slot_lend(dcli_slot *slot)
{
    dcli_ring *ring = slot->ring;
    size_t units = units_of(slot);
    if (!slot->pinned)
        return false;
    pthread_mutex_lock(&ring->lock);
    slot->lent = may_lend(ring, units);
    ring->lent_units += slot->lent ? units : 0;
    pthread_mutex_unlock(&ring->lock);
    return slot->lent;
}

dcli_slot *dcli_slot_at(dcli_device *device, const void *host)
{
    dcli_ring *ring = device->ring;
    uintptr_t at = (uintptr_t)host, start = ring != NULL ? (uintptr_t)ring->host : 0;
    if (ring == NULL || at < start || at - start >= ring->units * UNIT_BYTES)
        return NULL;
    pthread_mutex_lock(&ring->lock);
    dcli_slot *slot = ring->slot[(at - start) / UNIT_BYTES];
    pthread_mutex_unlock(&ring->lock);
    return slot;
}

void *dcli_slot_host(const dcli_slot *slot) { return slot->host; }

dcli_memory *dcli_slot_memory(dcli_slot *slot) { return &slot->memory; }

bool dcli_slots_are_short(dcli_device *device)
{
    dcli_ring *ring = device->ring;
    collect(device, false);
    pthread_mutex_lock(&ring->lock);
    bool is_pinned_short = ring->units - ring->taken_units < SPARE_UNITS && ring->taken_units > ring->lent_units;
    bool is_scratch_short =
        ring->scratch_units - ring->taken_scratch_units < SPARE_UNITS && ring->taken_scratch_units > ring->lent_units;
    bool are_short = !device->lost && (is_pinned_short || is_scratch_short);
    pthread_mutex_unlock(&ring->lock);
    return are_short;
}

void dcli_slots_await(dcli_device *device)
{
    while (dcli_slots_are_short(device) && device->ring->retiring != NULL)
        dcli_slot_finish(device->ring->retiring);
}

/* ---- crossing ---------------------------------------------------------------------------------------------------- */

/* Find the commands that a crossing of a memory must follow. */
static dcl_status begin_crossing(dcli_direction direction, const dcli_memory *memory, dcli_after *after_out)
{
    dcli_after_add(after_out, memory, direction == DCLI_IN);
    return dcli_after_find(memory->device, direction, after_out);
}

/* Record the command of a slot that copies elements between `host` and a memory. @param code  of the OpenCL call: if it
 * failed, its error is recorded instead. */
static dcl_status end_crossing(dcli_slot *slot, const void *host, dcli_direction direction, dcli_memory *memory,
                               const char *call, cl_int code, cl_event event)
{
    dcli_device *device = slot->memory.device;
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, call, code);
    uint64_t ticket = dcli_ticket_add(device, direction, call, event);
    dcli_memory_touch(memory, direction, ticket, direction == DCLI_IN);
    dcli_memory_touch(&slot->memory, direction, ticket, false);
    if (device->registered_count > 0)
        dcli_registered_touch(device, host, direction, ticket);
    return DCL_OK;
}

/* The queue in which bytes cross. Few bytes that the last launch writes leave in the launch's own queue: a timeline on an
 * H200 shows 5 us between the launch and a copy in another queue, and a copy of less than 3 us. A launch without an event keeps the usual way, on which it gets one: its failure
 * would count as the copy's. */
static dcli_direction queue_of(const dcli_memory *memory, dcli_direction direction, size_t bytes)
{
    enum { FEW_BYTES = 4096 };
    const dcli_queue *compute = &memory->device->queue[DCLI_COMPUTE];
    bool follows = direction == DCLI_OUT && bytes <= FEW_BYTES && !dcli_queue_is_idle(compute) &&
                   compute->unmarked == 0 && memory->written[DCLI_COMPUTE] == compute->last;
    return follows ? DCLI_COMPUTE : direction;
}

/* Start copying bytes between `host` and one buffer of `memory`. */
static dcl_status cross_buffer(dcli_slot *slot, char *host, dcli_direction direction, dcli_memory *memory,
                               cl_mem buffer, size_t at, size_t bytes)
{
    dcli_device *device = slot->memory.device;
    bool enters = direction == DCLI_IN;
    direction = queue_of(memory, direction, bytes);
    cl_command_queue queue = device->queue[direction].handle;
    cl_event event = NULL;
    dcli_after after = {0};
    dcl_status status = begin_crossing(direction, memory, &after);
    if (status != DCL_OK)
        return status;
    const cl_event *list = dcli_after_list(&after);
    cl_int code = enters ? clEnqueueWriteBuffer(queue, buffer, CL_FALSE, at, bytes, host, after.count, list, &event)
                         : clEnqueueReadBuffer(queue, buffer, CL_FALSE, at, bytes, host, after.count, list, &event);
    return end_crossing(slot, host, direction, memory, enters ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", code,
                        event);
}

/* Start copying bytes between `host` and a memory, by a command for each of its buffers that the range touches. */
static dcl_status cross(dcli_slot *slot, dcli_direction direction, char *host, dcli_memory *memory, size_t offset_bytes,
                        size_t bytes)
{
    dcl_status status = DCL_OK;
    for (size_t done = 0, stretch; done < bytes && status == DCL_OK; done += stretch) {
        size_t at = memory->base + offset_bytes + done;
        stretch = bytes - done;
        cl_mem buffer = dcli_memory_buffer_at(memory, &at, &stretch);
        status = cross_buffer(slot, host + done, direction, memory, buffer, at, stretch);
    }
    return status;
}

dcl_status dcli_slot_send(dcli_slot *slot, dcli_memory *target, size_t offset_bytes, size_t bytes)
{
    return cross(slot, DCLI_IN, slot->host, target, offset_bytes, bytes);
}

dcl_status dcli_slot_send_from(dcli_slot *slot, const void *host, dcli_memory *target, size_t offset_bytes,
                               size_t bytes)
{
    return cross(slot, DCLI_IN, (char *)(uintptr_t)host, target, offset_bytes, bytes);
}

dcl_status dcli_slot_fetch(dcli_slot *slot, dcli_memory *source, size_t offset_bytes, size_t bytes)
{
    return cross(slot, DCLI_OUT, slot->host, source, offset_bytes, bytes);
}

static bool is_run(const dcli_crossing_rows *crossing)
{
    return crossing->rows == 1 ||
           (crossing->memory_pitch == crossing->row_bytes && crossing->host_pitch == crossing->row_bytes);
}

/* Whether rows lie within lines of `pitch` bytes, as OpenCL demands. */
static bool are_in_lines(size_t at, size_t pitch, size_t row_bytes)
{
    return pitch >= row_bytes && at % pitch <= pitch - row_bytes;
}

bool dcli_slot_takes_rows(const dcli_memory *memory, const dcli_crossing_rows *crossing)
{
    enum { LEAST_ROW_BYTES = 256 };            /* on an H200 4 MB of such rows cross as fast as 4 MB in one run */
    const size_t most_pitch = (size_t)1 << 30; /* drivers have limits near 2 GB */
    size_t at = memory->base + crossing->memory_at;
    return is_run(crossing) ||
           (crossing->row_bytes >= LEAST_ROW_BYTES && memory->pieces == NULL && crossing->memory_pitch <= most_pitch &&
            crossing->host_pitch <= most_pitch && are_in_lines(at, crossing->memory_pitch, crossing->row_bytes) &&
            crossing->host_pitch >= crossing->row_bytes);
}

/* Cross several rows that are not a run. */
static dcl_status cross_lines(dcli_slot *slot, dcli_direction direction, char *host, dcli_memory *memory,
                              const dcli_crossing_rows *crossing)
{
    dcli_device *device = slot->memory.device;
    size_t pitch = crossing->memory_pitch, host_pitch = crossing->host_pitch, at = memory->base + crossing->memory_at;
    const size_t origin[3] = {at % pitch, at / pitch}, host_origin[3] = {0},
                 region[3] = {crossing->row_bytes, crossing->rows, 1};
    char *rows = host + crossing->host_at;
    bool enters = direction == DCLI_IN;
    cl_command_queue queue = device->queue[direction].handle;
    cl_event event = NULL;
    dcli_after after = {0};
    dcl_status status = begin_crossing(direction, memory, &after);
    if (status != DCL_OK)
        return status;
    const cl_event *list = dcli_after_list(&after);
    cl_int code = enters ? clEnqueueWriteBufferRect(queue, memory->buffer, CL_FALSE, origin, host_origin, region, pitch,
                                                    0, host_pitch, 0, rows, after.count, list, &event)
                         : clEnqueueReadBufferRect(queue, memory->buffer, CL_FALSE, origin, host_origin, region, pitch,
                                                   0, host_pitch, 0, rows, after.count, list, &event);
    return end_crossing(slot, rows, direction, memory, enters ? "clEnqueueWriteBufferRect" : "clEnqueueReadBufferRect",
                        code, event);
}

/* Whether the line of the last row ends within the memory. NVIDIA's driver refuses the call otherwise, even if the row
 * itself ends within the memory. */
static bool ends_within(const dcli_memory *memory, const dcli_crossing_rows *crossing)
{
    size_t line = (memory->base + crossing->memory_at) / crossing->memory_pitch + crossing->rows;
    return line * crossing->memory_pitch <= memory->base + memory->bytes;
}

static dcl_status cross_rows(dcli_slot *slot, dcli_direction direction, char *host, dcli_memory *memory,
                             const dcli_crossing_rows *crossing)
{
    assert(dcli_slot_takes_rows(memory, crossing));
    if (is_run(crossing))
        return cross(slot, direction, host + crossing->host_at, memory, crossing->memory_at,
                     crossing->rows * crossing->row_bytes);
    if (ends_within(memory, crossing))
        return cross_lines(slot, direction, host, memory, crossing);
    dcli_crossing_rows rest = *crossing, last = *crossing;
    rest.rows--;
    last.rows = 1;
    last.memory_at += rest.rows * crossing->memory_pitch;
    last.host_at += rest.rows * crossing->host_pitch;
    dcl_status status = cross_rows(slot, direction, host, memory, &rest);
    return status == DCL_OK ? cross_rows(slot, direction, host, memory, &last) : status;
}

dcl_status dcli_slot_send_rows(dcli_slot *slot, const void *host, dcli_memory *target,
                               const dcli_crossing_rows *crossing)
{
    return cross_rows(slot, DCLI_IN, (char *)(uintptr_t)host, target, crossing);
}

dcl_status dcli_slot_fetch_rows(dcli_slot *slot, dcli_memory *source, const dcli_crossing_rows *crossing)
{
    return cross_rows(slot, DCLI_OUT, slot->host, source, crossing);
}

bool dcli_slot_is_complete(dcli_slot *slot, dcl_status *status_out)
{
    return dcli_tickets_are_complete(slot->memory.device, slot->memory.used, status_out);
}

dcl_status dcli_slot_finish(dcli_slot *slot) { return dcli_tickets_finish(slot->memory.device, slot->memory.used); }

/* support/fake_opencl/order.c - check that commands which touch the same bytes are ordered: see order.h. */
#include "support/fake_opencl/order.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_QUEUES = 256, MOST_ARGUMENTS = 128, MOST_RANK = 8, NAME_BYTES = 64, WALK_BYTES = 240 };

/* A queue of a context; the clocks of its commands have an entry for each of these. */
enum { MOST_OF_CONTEXT = 16 };

struct clock {
    long last[MOST_OF_CONTEXT];
};

struct queue {
    cl_command_queue handle; /* NULL: it is gone, or was never there */
    cl_context context;
    int number; /* among those of its context */
    long last;  /* number of its last command */
    struct clock clock;
    long seen; /* commands up to this one have ended, as the host has seen */
};

struct event {
    cl_event handle;
    const struct queue *queue;
    struct clock clock; /* of the command itself, too */
};

struct memory {
    cl_mem handle;
    long serial; /* of the buffer that it is, or is part of */
    size_t offset, bytes;
};

struct access {
    const struct queue *queue;
    long command;
    long serial; /* 0: host memory */
    uintptr_t first, end;
    bool written;
    char name[NAME_BYTES];
};

struct kernel {
    cl_kernel handle;
    char name[NAME_BYTES];
    cl_mem memory[MOST_ARGUMENTS]; /* NULL: a value */
    bool is_const[MOST_ARGUMENTS];
    unsigned char walk[WALK_BYTES]; /* the last value of this size */
};

/* A list whose members are found by their first field, the handle. */
struct list {
    void *members;
    size_t count, capacity, bytes;
};

static struct {
    pthread_mutex_t lock;
    struct queue queues[MOST_QUEUES]; /* never moved or reused: accesses name them */
    int queue_count;
    struct list events, memories, accesses, kernels;
    long serial;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .events = {.bytes = sizeof(struct event)},
         .memories = {.bytes = sizeof(struct memory)},
         .accesses = {.bytes = sizeof(struct access)},
         .kernels = {.bytes = sizeof(struct kernel)}};

/* ---- lists -------------------------------------------------------------------------------------------------------- */

static void *add(struct list *list)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->members = realloc(list->members, list->capacity * list->bytes);
        if (list->members == NULL)
            abort();
    }
    void *member = (char *)list->members + list->count++ * list->bytes;
    memset(member, 0, list->bytes);
    return member;
}

static void *at(const struct list *list, size_t n) { return (char *)list->members + n * list->bytes; }

static void *find(const struct list *list, const void *handle)
{
    for (size_t n = list->count; n > 0; n--)
        if (*(void **)at(list, n - 1) == handle)
            return at(list, n - 1);
    return NULL;
}

static void take_out(struct list *list, void *member) { memmove(member, at(list, --list->count), list->bytes); }

static void forget(struct list *list, const void *handle)
{
    pthread_mutex_lock(&all.lock);
    void *member = find(list, handle);
    if (member != NULL)
        take_out(list, member);
    pthread_mutex_unlock(&all.lock);
}

/* ---- queues and events -------------------------------------------------------------------------------------------- */

static struct queue *find_queue(cl_command_queue handle)
{
    cl_context context = NULL;
    int number = 0;
    for (int n = 0; n < all.queue_count; n++)
        if (all.queues[n].handle == handle)
            return &all.queues[n];
    fake_real.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, (void *)&context, NULL);
    for (int n = 0; n < all.queue_count; n++)
        number += all.queues[n].handle != NULL && all.queues[n].context == context;
    if (all.queue_count == MOST_QUEUES || number == MOST_OF_CONTEXT)
        return NULL; /* the table is full, which happens only in a test with very many clusters: this queue's
                        commands are not checked */
    all.queues[all.queue_count] = (struct queue){.handle = handle, .context = context, .number = number};
    return &all.queues[all.queue_count++];
}

static void join(struct clock *to, const struct clock *from)
{
    for (int n = 0; n < MOST_OF_CONTEXT; n++)
        if (to->last[n] < from->last[n])
            to->last[n] = from->last[n];
}

/* The host has seen that all commands of a clock have ended. */
static void see(cl_context context, const struct clock *clock)
{
    for (int n = 0; n < all.queue_count; n++) {
        struct queue *queue = &all.queues[n];
        if (queue->handle != NULL && queue->context == context && queue->seen < clock->last[queue->number])
            queue->seen = clock->last[queue->number];
    }
}

static void join_seen(struct clock *clock, cl_context context)
{
    for (int n = 0; n < all.queue_count; n++) {
        const struct queue *queue = &all.queues[n];
        if (queue->handle != NULL && queue->context == context && clock->last[queue->number] < queue->seen)
            clock->last[queue->number] = queue->seen;
    }
}

void fake_order_event_ended(cl_event handle)
{
    pthread_mutex_lock(&all.lock);
    const struct event *event = find(&all.events, handle);
    if (event != NULL)
        see(event->queue->context, &event->clock);
    pthread_mutex_unlock(&all.lock);
}

void fake_order_queue_ended(cl_command_queue handle)
{
    pthread_mutex_lock(&all.lock);
    const struct queue *queue = find_queue(handle);
    if (queue != NULL)
        see(queue->context, &queue->clock);
    pthread_mutex_unlock(&all.lock);
}

void fake_order_forget_event(cl_event handle) { forget(&all.events, handle); }

void fake_order_forget_kernel(cl_kernel handle) { forget(&all.kernels, handle); }

void fake_order_forget_queue(cl_command_queue handle)
{
    pthread_mutex_lock(&all.lock);
    for (int n = 0; n < all.queue_count; n++)
        if (all.queues[n].handle == handle) {
            all.queues[n].handle = NULL;
            all.queues[n].seen = all.queues[n].last; /* it is released when all has ended */
        }
    pthread_mutex_unlock(&all.lock);
}

/* ---- accesses ------------------------------------------------------------------------------------------------------ */

void fake_order_memory(cl_mem handle, cl_mem parent, size_t offset, size_t bytes)
{
    pthread_mutex_lock(&all.lock);
    const struct memory *whole = parent != NULL ? find(&all.memories, parent) : NULL;
    struct memory made = {.handle = handle, .bytes = bytes};
    made.serial = whole != NULL ? whole->serial : ++all.serial;
    made.offset = whole != NULL ? whole->offset + offset : 0;
    struct memory *old = find(&all.memories, handle); /* of a buffer that is gone */
    if (old == NULL)
        old = add(&all.memories);
    *old = made;
    pthread_mutex_unlock(&all.lock);
}

static bool is_over(const struct access *access) { return access->command <= access->queue->seen; }

static bool is_before(const struct access *access, const struct queue *queue, const struct clock *clock)
{
    if (access->queue->context != queue->context)
        return is_over(access); /* no event of another context can be waited for */
    return access->queue == queue || access->command <= clock->last[access->queue->number] || is_over(access);
}

static void check(const struct access *made, const struct clock *clock)
{
    for (size_t n = 0; n < all.accesses.count;) {
        const struct access *before = at(&all.accesses, n);
        if (is_over(before)) {
            take_out(&all.accesses, at(&all.accesses, n));
            continue;
        }
        n++;
        if (before->serial != made->serial || before->end <= made->first || made->end <= before->first ||
            !(before->written || made->written) || is_before(before, made->queue, clock))
            continue;
        fprintf(
            stderr,
            "fake OpenCL: no event orders %s (queue %d, command %ld, %s bytes %zu..%zu) and %s (queue %d, command %ld, "
            "%s bytes %zu..%zu) of %s %ld\n",
            before->name, before->queue->number, before->command, before->written ? "writes" : "reads",
            (size_t)before->first, (size_t)before->end, made->name, made->queue->number, made->command,
            made->written ? "writes" : "reads", (size_t)made->first, (size_t)made->end,
            made->serial == 0 ? "host memory" : "buffer", made->serial);
        abort();
    }
}

static void note(const struct queue *queue, const char *name, const fake_access *access)
{
    const struct memory *memory = access->memory != NULL ? find(&all.memories, access->memory) : NULL;
    if (access->bytes == 0 || (access->memory != NULL && memory == NULL))
        return;
    struct access made = {.queue = queue, .command = queue->last, .written = access->written};
    made.serial = memory != NULL ? memory->serial : 0;
    made.first = access->offset + (memory != NULL ? memory->offset : (uintptr_t)access->host);
    made.end = made.first + access->bytes;
    snprintf(made.name, sizeof made.name, "%s", name);
    check(&made, &queue->clock);
    *(struct access *)add(&all.accesses) = made;
}

static void note_command(cl_command_queue handle, const char *name, cl_uint count, const cl_event list[],
                         const cl_event *event, int access_count, const fake_access accesses[])
{
    struct queue *queue = find_queue(handle);
    if (queue == NULL)
        return;
    queue->clock.last[queue->number] = ++queue->last;
    join_seen(&queue->clock, queue->context);
    for (cl_uint n = 0; n < count; n++) {
        const struct event *waited = find(&all.events, list[n]);
        if (waited != NULL)
            join(&queue->clock, &waited->clock);
    }
    for (int n = 0; n < access_count; n++)
        note(queue, name, &accesses[n]);
    if (event == NULL)
        return;
    struct event *made = find(&all.events, *event);
    if (made == NULL)
        made = add(&all.events);
    *made = (struct event){.handle = *event, .queue = queue, .clock = queue->clock};
}

void fake_order_command(cl_command_queue queue, const char *name, cl_uint count, const cl_event list[],
                        const cl_event *event, int access_count, const fake_access accesses[])
{
    pthread_mutex_lock(&all.lock);
    note_command(queue, name, count, list, event, access_count, accesses);
    pthread_mutex_unlock(&all.lock);
}

/* ---- kernels ------------------------------------------------------------------------------------------------------- */

void fake_order_kernel_name(cl_kernel kernel, char name_out[64])
{
    name_out[0] = '\0';
    fake_real.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, NAME_BYTES, name_out, NULL);
}

static struct kernel *find_kernel(cl_kernel handle)
{
    struct kernel *kernel = find(&all.kernels, handle);
    if (kernel != NULL)
        return kernel;
    kernel = add(&all.kernels);
    kernel->handle = handle;
    fake_order_kernel_name(handle, kernel->name);
    for (cl_uint n = 0; n < MOST_ARGUMENTS; n++) {
        cl_kernel_arg_type_qualifier qualifier = 0;
        if (fake_real.clGetKernelArgInfo(handle, n, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL) !=
            CL_SUCCESS)
            break;
        kernel->is_const[n] = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
    }
    return kernel;
}

void fake_order_argument(cl_kernel handle, cl_uint index, size_t bytes, const void *value)
{
    if (index >= MOST_ARGUMENTS || value == NULL)
        return;
    pthread_mutex_lock(&all.lock);
    struct kernel *kernel = find_kernel(handle);
    cl_mem memory = NULL;
    if (bytes == sizeof memory)
        memcpy(&memory, value, sizeof memory);
    kernel->memory[index] = memory != NULL && find(&all.memories, memory) != NULL ? memory : NULL;
    if (bytes == WALK_BYTES)
        memcpy(kernel->walk, value, bytes);
    pthread_mutex_unlock(&all.lock);
}

/* The range of one side of a walk of device/strided.c. */
static void find_range(const int64_t *walk, int side, size_t element, size_t *offset_out, size_t *bytes_out)
{
    const int64_t *count = walk + 2, *step = walk + 2 + (1 + side) * MOST_RANK;
    int64_t low = walk[side], high = walk[side];
    for (int d = 0; d < MOST_RANK; d++) {
        int64_t span = (count[d] - 1) * step[d];
        *(span < 0 ? &low : &high) += span;
    }
    *offset_out = (size_t)low * element;
    *bytes_out = (size_t)(high + 1 - low) * element;
}

/* Copies and fills, as device/strided.c calls them: dcl_copy_4. @return 0: another kernel; else the size of an element. */
static size_t element_of(const char *name)
{
    bool walks = strncmp(name, "dcl_copy_", 9) == 0 || strncmp(name, "dcl_fill_", 9) == 0;
    return walks ? (size_t)atoi(name + 9) : 0;
}

void fake_order_launch(cl_command_queue queue, cl_kernel handle, cl_uint count, const cl_event list[],
                       const cl_event *event)
{
    fake_access accesses[MOST_ARGUMENTS];
    int access_count = 0;
    pthread_mutex_lock(&all.lock);
    const struct kernel *kernel = find_kernel(handle);
    size_t element = element_of(kernel->name);
    int64_t walk[WALK_BYTES / 8];
    memcpy(walk, kernel->walk, sizeof walk);
    for (int n = 0; n < MOST_ARGUMENTS; n++) {
        const struct memory *memory = kernel->memory[n] != NULL ? find(&all.memories, kernel->memory[n]) : NULL;
        if (memory == NULL)
            continue;
        fake_access access = {.memory = kernel->memory[n], .bytes = memory->bytes, .written = !kernel->is_const[n]};
        if (element > 0)
            find_range(walk, n, element, &access.offset, &access.bytes);
        accesses[access_count++] = access;
    }
    note_command(queue, kernel->name, count, list, event, access_count, accesses);
    pthread_mutex_unlock(&all.lock);
}

/* icd/random.c - random OpenCL programs: commands on buffers, parts of buffers and rectangles, in queues in and out of order, on up to
 * three devices of one context. Each command waits for the last ones on its buffers, some also for the program. Everything that is
 * read is compared with what plain loops in memory give.
 *
 *   random [ROUNDS [SEED]]      prints the seed of a round that fails */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 5, PARTS = 3, MOST_DEVICES = 3, QUEUES = 2 * MOST_DEVICES, MOST_COMMANDS = 80, MOST_BYTES = 60000 };

static const char source[] = "kernel void add(global uchar *a, global const uchar *b, ulong n, uchar k)\n"
                             "{ ulong i = get_global_id(0); if (i < n) a[i] = a[i] * 3 + b[i] + k; }\n"
                             "kernel void count(global uchar *a, ulong n, local uchar *t)\n"
                             "{ ulong i = get_global_id(0); if (i < n) a[i] += (uchar)i; }\n";

/** A buffer, or a part of one. */
typedef struct buffer {
    cl_mem mem;
    int whole; /* the buffer to which it belongs */
    size_t bytes;
    unsigned char *expected;
    void *host; /* memory of the program that it uses; NULL: none */
} buffer;

/** What was read. */
typedef struct comparison {
    unsigned char *got, *expected;
    size_t bytes;
} comparison;

static struct {
    unsigned seed, state;
    cl_device_id device[MOST_DEVICES];
    int devices, queues, buffers, comparisons, sent;
    cl_context context;
    cl_command_queue queue[QUEUES];
    cl_program program;
    cl_kernel add, count;
    buffer buffer[BUFFERS + PARTS];
    cl_event last[BUFFERS]; /* the last command on each whole buffer; NULL: none */
    cl_event gate;          /* that the program sets; NULL: none */
    bool open;              /* the program may wait for commands */
    comparison comparison[MOST_COMMANDS];
    void *memory[MOST_COMMANDS]; /* of writes */
} s;

static unsigned next(void)
{
    s.state = s.state * 1664525 + 1013904223;
    return s.state >> 8;
}

/* A number from 0 to limit - 1. */
static size_t below(size_t limit) { return next() % limit; }

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    printf("seed %u: %s: %d\n", s.seed, call, status);
    exit(1);
}

static void compare(const unsigned char *got, const unsigned char *expected, size_t bytes, const char *what)
{
    size_t at = 0;
    while (at < bytes && got[at] == expected[at])
        at++;
    if (at == bytes)
        return;
    printf("seed %u: %s: byte %zu of %zu is %d; expected %d\n", s.seed, what, at, bytes, got[at], expected[at]);
    exit(1);
}

static unsigned char *fill(unsigned char *bytes, size_t count)
{
    for (size_t n = 0; n < count; n++)
        bytes[n] = (unsigned char)next();
    return bytes;
}

/* ---- commands -------------------------------------------------------------------------------------------------------- */

/** Arguments that all commands have. */
typedef struct command {
    cl_command_queue queue;
    buffer *x, *y;
    cl_event wait[3];
    cl_uint waits;
    cl_bool blocks;
    cl_event event;
} command;

#define WAITS(c) (c)->waits, (c)->waits > 0 ? (c)->wait : NULL

/* A random run of bytes of a buffer. */
static size_t run_of(const buffer *b, size_t *bytes_out)
{
    size_t offset = below(b->bytes);
    *bytes_out = 1 + below(b->bytes - offset);
    return offset;
}

static bool write_run(command *c)
{
    size_t bytes, offset = run_of(c->x, &bytes);
    unsigned char *from = fill(s.memory[s.sent++] = malloc(bytes), bytes);
    check(clEnqueueWriteBuffer(c->queue, c->x->mem, c->blocks, offset, bytes, from, WAITS(c), &c->event), "write");
    memcpy(c->x->expected + offset, from, bytes);
    return true;
}

static bool read_run(command *c)
{
    size_t bytes, offset = run_of(c->x, &bytes);
    comparison *read = &s.comparison[s.comparisons++];
    *read = (comparison){malloc(bytes), malloc(bytes), bytes};
    memcpy(read->expected, c->x->expected + offset, bytes);
    check(clEnqueueReadBuffer(c->queue, c->x->mem, c->blocks, offset, bytes, read->got, WAITS(c), &c->event), "read");
    if (c->blocks)
        compare(read->got, read->expected, bytes, "a read that blocks");
    return true;
}

static bool fill_run(command *c)
{
    unsigned char pattern[8];
    size_t unit = (size_t)1 << below(4), offset = below(c->x->bytes) / unit * unit,
           most = (c->x->bytes - offset) / unit;
    if (most == 0)
        return false;
    size_t bytes = unit * (1 + below(most));
    fill(pattern, sizeof pattern);
    check(clEnqueueFillBuffer(c->queue, c->x->mem, pattern, unit, offset, bytes, WAITS(c), &c->event), "fill");
    for (size_t n = 0; n < bytes; n++)
        c->x->expected[offset + n] = pattern[n % unit];
    return true;
}

static bool copy_run(command *c)
{
    size_t bytes, to = run_of(c->x, &bytes);
    bytes = bytes < c->y->bytes ? bytes : c->y->bytes;
    size_t from = below(c->y->bytes - bytes + 1);
    check(clEnqueueCopyBuffer(c->queue, c->y->mem, c->x->mem, from, to, bytes, WAITS(c), &c->event), "copy");
    memcpy(c->x->expected + to, c->y->expected + from, bytes);
    return true;
}

/* Read or write a box of the buffer, from or to one of other pitches. */
static bool move_box(command *c)
{
    bool in = below(2) == 0;
    const size_t region[3] = {1 + below(40), 1 + below(8), 1 + below(3)};
    size_t row = region[0] + below(20), slice = row * (region[1] + below(3)), host_row = region[0] + below(20),
           host_slice = host_row * (region[1] + below(2)), bytes = host_slice * region[2] + host_row;
    const size_t origin[3] = {below(row - region[0] + 1), below(slice / row - region[1] + 1), below(2)},
                 host_origin[3] = {below(host_row - region[0] + 1), 0, 0};
    if (slice * (origin[2] + region[2]) > c->x->bytes)
        return false;
    unsigned char *host = fill(malloc(bytes), bytes), *expected = malloc(bytes);
    memcpy(expected, host, bytes);
    for (size_t k = 0; k < region[2]; k++)
        for (size_t j = 0; j < region[1]; j++) {
            unsigned char *here = c->x->expected + (origin[2] + k) * slice + (origin[1] + j) * row + origin[0],
                          *there = expected + k * host_slice + j * host_row + host_origin[0];
            memcpy(in ? here : there, in ? there : here, region[0]);
        }
    if (in)
        check(clEnqueueWriteBufferRect(c->queue, c->x->mem, c->blocks, origin, host_origin, region, row, slice,
                                       host_row, host_slice, host, WAITS(c), &c->event),
              "write of a box");
    else
        check(clEnqueueReadBufferRect(c->queue, c->x->mem, c->blocks, origin, host_origin, region, row, slice, host_row,
                                      host_slice, host, WAITS(c), &c->event),
              "read of a box");
    s.comparison[s.comparisons++] = (comparison){host, expected, bytes};
    return true;
}

static bool launch_add(command *c)
{
    cl_ulong items = c->x->bytes < c->y->bytes ? c->x->bytes : c->y->bytes;
    cl_uchar more = (cl_uchar)next();
    const size_t global = items;
    check(clSetKernelArg(s.add, 0, sizeof(cl_mem), &c->x->mem), "clSetKernelArg");
    check(clSetKernelArg(s.add, 1, sizeof(cl_mem), &c->y->mem), "clSetKernelArg");
    check(clSetKernelArg(s.add, 2, sizeof items, &items), "clSetKernelArg");
    check(clSetKernelArg(s.add, 3, sizeof more, &more), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(c->queue, s.add, 1, NULL, &global, NULL, WAITS(c), &c->event), "launch");
    for (size_t n = 0; n < items; n++)
        c->x->expected[n] = (unsigned char)(c->x->expected[n] * 3 + c->y->expected[n] + more);
    return true;
}

static bool launch_count(command *c)
{
    cl_ulong items = c->x->bytes;
    const size_t local = 16, global = (items + local - 1) / local * local;
    check(clSetKernelArg(s.count, 0, sizeof(cl_mem), &c->x->mem), "clSetKernelArg");
    check(clSetKernelArg(s.count, 1, sizeof items, &items), "clSetKernelArg");
    check(clSetKernelArg(s.count, 2, local, NULL), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(c->queue, s.count, 1, NULL, &global, &local, WAITS(c), &c->event), "launch");
    for (size_t n = 0; n < items; n++)
        c->x->expected[n] = (unsigned char)(c->x->expected[n] + n);
    return true;
}

static bool map_run(command *c)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_READ | CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    cl_int status;
    size_t bytes, offset = run_of(c->x, &bytes), kind = below(3);
    if (!s.open)
        return false;
    unsigned char *mapped =
        clEnqueueMapBuffer(c->queue, c->x->mem, CL_TRUE, flags[kind], offset, bytes, WAITS(c), NULL, &status);
    check(status, "map");
    if (kind < 2)
        compare(mapped, c->x->expected + offset, bytes, "a mapped region");
    if (kind > 0)
        memcpy(c->x->expected + offset, fill(mapped, bytes), bytes);
    check(clEnqueueUnmapMemObject(c->queue, c->x->mem, mapped, 0, NULL, &c->event), "unmap");
    return true;
}

static bool migrate(command *c)
{
    const cl_mem both[2] = {s.buffer[c->x->whole].mem, s.buffer[c->y->whole].mem};
    cl_mem_migration_flags flags = below(2) == 0 ? 0 : CL_MIGRATE_MEM_OBJECT_HOST;
    check(clEnqueueMigrateMemObjects(c->queue, 2, both, flags, WAITS(c), &c->event), "migrate");
    return true;
}

static void note_last(int whole, cl_event event)
{
    check(clRetainEvent(event), "clRetainEvent");
    if (s.last[whole] != NULL)
        clReleaseEvent(s.last[whole]);
    s.last[whole] = event;
}

static void run_command(void)
{
    static bool (*const all[])(command *) = {write_run,  read_run,     fill_run, copy_run, move_box,
                                             launch_add, launch_count, map_run,  migrate};
    command c = {.queue = s.queue[below((size_t)s.queues)],
                 .x = &s.buffer[below((size_t)s.buffers)],
                 .blocks = s.open && below(4) == 0};
    do
        c.y = &s.buffer[below((size_t)s.buffers)];
    while (c.y->whole == c.x->whole);
    const cl_event may_wait[] = {s.last[c.x->whole], s.last[c.y->whole], below(3) == 0 ? s.gate : NULL};
    for (size_t n = 0; n < 3; n++)
        if (may_wait[n] != NULL)
            c.wait[c.waits++] = may_wait[n];
    if (!all[below(sizeof all / sizeof all[0])](&c))
        return;
    note_last(c.x->whole, c.event);
    note_last(c.y->whole, c.event);
    clReleaseEvent(c.event);
    if (below(9) == 0)
        check(clFlush(c.queue), "clFlush");
    if (s.open && below(25) == 0)
        check(clFinish(c.queue), "clFinish");
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------- */

static void make_buffer(int b)
{
    cl_int status;
    buffer *made = &s.buffer[b];
    *made = (buffer){.whole = b, .bytes = 512 + below(MOST_BYTES)};
    made->expected = fill(malloc(made->bytes), made->bytes);
    size_t kind = below(3);
    if (kind == 0)
        made->host = memcpy(malloc(made->bytes), made->expected, made->bytes);
    made->mem = clCreateBuffer(s.context,
                               kind == 0   ? CL_MEM_USE_HOST_PTR
                               : kind == 1 ? CL_MEM_COPY_HOST_PTR
                                           : CL_MEM_READ_WRITE,
                               made->bytes,
                               kind == 0   ? made->host
                               : kind == 1 ? made->expected
                                           : NULL,
                               &status);
    check(status, "clCreateBuffer");
    if (kind == 2)
        check(clEnqueueWriteBuffer(s.queue[0], made->mem, CL_TRUE, 0, made->bytes, made->expected, 0, NULL, NULL),
              "write");
}

static void make_part(int b)
{
    cl_int status;
    cl_uint bits = 8;
    const buffer *whole = &s.buffer[below(BUFFERS)];
    check(clGetDeviceInfo(s.device[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL), "clGetDeviceInfo");
    cl_buffer_region region = {.origin = below(whole->bytes) / (bits / 8) * (bits / 8)};
    region.size = 1 + below(whole->bytes - region.origin);
    s.buffer[b] = (buffer){.whole = whole->whole, .bytes = region.size, .expected = whole->expected + region.origin};
    s.buffer[b].mem = clCreateSubBuffer(whole->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
}

static void open_round(void)
{
    cl_int status;
    const char *text = source;
    int devices = 1 + (int)below((size_t)s.devices);
    s.queues = s.comparisons = s.sent = 0;
    s.context = clCreateContext(NULL, (cl_uint)devices, s.device, NULL, NULL, &status);
    check(status, "clCreateContext");
    for (int q = 0; q < 2 * devices; q++) {
        const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES,
                                            q % 2 == 0 ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
        s.queue[s.queues++] = clCreateCommandQueueWithProperties(s.context, s.device[q / 2], list, &status);
        check(status, "clCreateCommandQueueWithProperties");
    }
    s.program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(s.program, 0, NULL, "", NULL, NULL), "clBuildProgram");
    s.add = clCreateKernel(s.program, "add", &status);
    check(status, "clCreateKernel");
    s.count = clCreateKernel(s.program, "count", &status);
    check(status, "clCreateKernel");
    for (int b = 0; b < BUFFERS; b++)
        make_buffer(b);
    for (int b = BUFFERS; b < BUFFERS + PARTS; b++)
        make_part(b);
    s.buffers = BUFFERS + PARTS;
    s.gate = below(2) == 0 ? clCreateUserEvent(s.context, &status) : NULL;
    check(status, "clCreateUserEvent");
    s.open = s.gate == NULL;
}

static void close_round(void)
{
    for (int b = s.buffers - 1; b >= 0; b--)
        check(clReleaseMemObject(s.buffer[b].mem), "clReleaseMemObject");
    for (int b = 0; b < BUFFERS; b++) {
        if (s.last[b] != NULL)
            clReleaseEvent(s.last[b]);
        s.last[b] = NULL;
        free(s.buffer[b].expected);
        free(s.buffer[b].host);
    }
    if (s.gate != NULL)
        clReleaseEvent(s.gate);
    for (int n = 0; n < s.comparisons; n++) {
        free(s.comparison[n].got);
        free(s.comparison[n].expected);
    }
    for (int n = 0; n < s.sent; n++)
        free(s.memory[n]);
    clReleaseKernel(s.add);
    clReleaseKernel(s.count);
    clReleaseProgram(s.program);
    for (int q = 0; q < s.queues; q++)
        clReleaseCommandQueue(s.queue[q]);
    clReleaseContext(s.context);
}

static void run_round(unsigned seed)
{
    s.seed = seed;
    s.state = seed * 2654435761U;
    open_round();
    size_t commands = 20 + below(MOST_COMMANDS - 20), opens_at = below(commands);
    for (size_t n = 0; n < commands; n++) {
        if (n == opens_at && s.gate != NULL) {
            check(clSetUserEventStatus(s.gate, CL_COMPLETE), "clSetUserEventStatus");
            s.open = true;
        }
        run_command();
    }
    for (int q = 0; q < s.queues; q++)
        check(clFinish(s.queue[q]), "clFinish");
    for (int n = 0; n < s.comparisons; n++)
        compare(s.comparison[n].got, s.comparison[n].expected, s.comparison[n].bytes, "what was read");
    for (int b = 0; b < BUFFERS; b++) {
        unsigned char *got = malloc(s.buffer[b].bytes);
        check(clEnqueueReadBuffer(s.queue[below((size_t)s.queues)], s.buffer[b].mem, CL_TRUE, 0, s.buffer[b].bytes, got,
                                  0, NULL, NULL),
              "read");
        compare(got, s.buffer[b].expected, s.buffer[b].bytes, "a buffer at the end");
        free(got);
    }
    close_round();
}

int main(int count, char **list)
{
    cl_platform_id platform;
    cl_uint found = 0;
    unsigned rounds = count > 1 ? (unsigned)strtoul(list[1], NULL, 10) : 10,
             seed = count > 2 ? (unsigned)strtoul(list[2], NULL, 10) : 1;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, s.device, &found), "clGetDeviceIDs");
    s.devices = (int)(found < MOST_DEVICES ? found : MOST_DEVICES);
    for (unsigned r = 0; r < rounds; r++)
        run_round(seed + r);
    printf("%u random programs\n", rounds);
    return 0;
}

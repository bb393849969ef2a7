/* fleet/worker_pool_local.c - worker processes of this host: making their links and starting them. */
#include "fleet/worker_pool_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    DESCRIPTORS = 5,       /* per process: socket and memory of its link, status page, pidfd, output */
    SPARE_DESCRIPTORS = 64 /* for the program and DCL's other threads */
};

int dcli_worker_pool_parse_local(const char *text)
{
    char *end;
    const char *digits = text + strlen("local:");
    errno = 0;
    long count = strtol(digits, &end, 10);
    if (errno == 0 && end != digits && *end == '\0' && digits[0] != '+' && count >= 1 && count <= DCLI_MOST_NODES)
        return (int)count;
    DCLI_FAIL(DCL_ERR_INVALID,
              "DCL_WORKERS is \"%s\"; expected local:N, N from 1 to %d: so many processes of this host", text,
              DCLI_MOST_NODES);
    return -1;
}

/* Whether a process has to find out whether its GPU reads memory of others: this loads NVIDIA's libcuda and tries every
 * GPU of the host. */
static bool may_read_gpus(const dcli_worker_pool *pool)
{
    return pool->capacity > 1 && (dcli_ways_allowed(pool->terms.config->transfer, true) & DCLI_CAN_READ_GPUS) != 0;
}

/* Restrict this thread to one of its processors. A process that it starts then inherits the restriction.
 * @param before_out  the processors that it could use before. */
static dcl_status pin(int number, cpu_set_t *before_out)
{
    if (sched_getaffinity(0, sizeof *before_out, before_out) != 0)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "DCL_PIN is 1, but sched_getaffinity() fails: %s; expected a host with at most %d processors; "
                         "unset DCL_PIN",
                         strerror(errno), CPU_SETSIZE);
    int left = number % CPU_COUNT(before_out), processor = 0;
    while (!CPU_ISSET(processor, before_out) || left-- > 0)
        processor++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0
               ? DCL_OK
               : DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                           "DCL_PIN is 1, but this process may not choose processor %d: %s; unset DCL_PIN", processor,
                           strerror(errno));
}

/* Start a process; with DCL_PIN, on a processor of its own. */
static dcl_status start_process(dcli_worker_pool *pool, int node, const char *terms, int output,
                                const int descriptors[3], dcli_process *process)
{
    cpu_set_t processors;
    bool pins = pool->terms.config->pin;
    dcl_status status = pins ? pin(node, &processors) : DCL_OK;
    if (status != DCL_OK)
        return status;
    status = dcli_process_start(pool->program, terms, NULL, output, 3, descriptors, process);
    if (pins)
        sched_setaffinity(0, sizeof processors, &processors);
    return status;
}

/* Start a process, with one end of its link to the host. @param count  how many processes share the processors. */
static dcl_status start_one(dcli_worker_pool *pool, int node, int count)
{
    dcli_process process;
    dcli_output printed = {0};
    dcli_shared_link ends[2] = {{.socket = -1, .memory = -1}, {.socket = -1, .memory = -1}};
    int output = -1;
    dcl_status status = dcli_process_prepare(&process);
    if (status != DCL_OK)
        return status;
    status = dcli_output_open(&printed, &output);
    if (status == DCL_OK && (status = dcli_shared_link_make(ends)) == DCL_OK)
        pool->host_link[node] = ends[0];
    char text[256];
    snprintf(text, sizeof text,
             "shared parent=%d self=%d nodes=%d session=%" PRIx64
             " processes=%d device=%d gpus=%d opencl=%d status=%d link=%d:%d:%d",
             (int)getpid(), node, pool->capacity, pool->terms.session, count, pool->devices[node % pool->device_count],
             may_read_gpus(pool) && !pool->terms.opencl, pool->terms.opencl, process.status_memory, ends[1].socket,
             ends[1].memory, ends[1].side);
    const int descriptors[] = {process.status_memory, ends[1].socket, ends[1].memory};
    if (status == DCL_OK)
        status = start_process(pool, node, text, output, descriptors, &process);
    dcli_shared_link_close(&ends[1]);
    if (output >= 0)
        close(output);
    dcli_member *member = &pool->member[node];
    snprintf(member->name, sizeof member->name, "process %d of this host", (int)process.pid);
    pthread_mutex_lock(&pool->lock);
    member->output = printed;
    member->process = process; /* also if it did not start: freed with the worker pool */
    pthread_mutex_unlock(&pool->lock);
    return status;
}

/* Wait until a process has described its device or has ended, for at most DCLI_START_MS. Meanwhile pass on its output,
 * because the process would block if its pipe were full. */
static void await_description(dcli_worker_pool *pool, int node)
{
    enum { STEP_MS = 1 };
    const dcli_process *process = &pool->member[node].process;
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    int64_t until_ms = dcli_monotonic_ms() + DCLI_START_MS;
    while (!atomic_load(&process->page->described) && dcli_monotonic_ms() < until_ms && poll(&end, 1, STEP_MS) == 0) {
        pthread_mutex_lock(&pool->lock);
        dcli_worker_pool_read_output(pool, node, DCLI_LINES);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Only a few processes start at a time: if very many did, none would describe its device within its time. */
dcl_status dcli_worker_pool_start_local(dcli_worker_pool *pool, int first, int count)
{
    enum { LEAST_AT_ONCE = 8 };
    int at_once = (int)dcli_max(LEAST_AT_ONCE, 2 * sysconf(_SC_NPROCESSORS_ONLN));
    dcl_status status = dcli_process_allow_descriptors(count * DESCRIPTORS + SPARE_DESCRIPTORS);
    for (int n = first; n < first + count && status == DCL_OK; n++) {
        if (n - at_once >= first)
            await_description(pool, n - at_once);
        status = start_one(pool, n, first + count);
    }
    return status;
}

/* fleet/worker_pool_local.c - worker processes of this host: making their links and starting them. */
#include "fleet/worker_pool_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

int dcli_worker_pool_parse_local(const char *text)
{
    char *end;
    const char *digits = text + strlen("local:");
    errno = 0;
    long count = strtol(digits, &end, 10);
    if (errno == 0 && end != digits && *end == '\0' && digits[0] != '+' && count >= 1 && count <= DCLI_MOST_LOCAL)
        return (int)count;
    DCLI_FAIL(DCL_ERR_INVALID,
              "DCL_WORKERS is \"%s\"; expected local:N, N from 1 to %d: so many processes of this host", text,
              DCLI_MOST_LOCAL);
    return -1;
}

/* Link ends that the parent holds for processes being started, until each has inherited its own: [count][capacity +
 * 1]. */
struct ends {
    int first, count, peers;
    dcli_shared_link *link;
};

static dcli_shared_link *end_of(const struct ends *ends, int node, int peer)
{
    return &ends->link[(node - ends->first) * ends->peers + peer];
}

static void free_ends(struct ends *ends)
{
    for (int l = 0; ends->link != NULL && l < ends->count * ends->peers; l++)
        dcli_shared_link_close(&ends->link[l]);
    dcli_free(ends->link);
}

static dcl_status make_link(dcli_shared_link *one, dcli_shared_link *other)
{
    dcli_shared_link link[2];
    dcl_status status = dcli_shared_link_make(link);
    if (status != DCL_OK)
        return status;
    *one = link[0];
    *other = link[1];
    return DCL_OK;
}

/* Make the link between a joining node and an existing one; the existing node's end is stored until JOINED carries it
 * there. */
static dcl_status make_introduction(dcli_worker_pool *pool, struct ends *ends, int node, int other)
{
    dcli_shared_link theirs, *ours = end_of(ends, node, other);
    dcl_status status = make_link(ours, &theirs);
    if (status == DCL_OK)
        status = dcli_shared_link_fold(&theirs, ours);
    if (status != DCL_OK) {
        dcli_shared_link_close(&theirs);
        return status;
    }
    pool->member[node].introduction[other] = theirs.socket;
    return DCL_OK;
}

static dcl_status make_introductions(dcli_worker_pool *pool, struct ends *ends, int node)
{
    dcl_status status = DCL_OK;
    int *sockets = dcli_calloc((size_t)pool->capacity, sizeof *sockets);
    if (sockets == NULL)
        return DCL_ERR_NOMEM;
    for (int p = 0; p < pool->capacity; p++)
        sockets[p] = -1;
    pool->member[node].introduction = sockets;
    for (int p = 0; p < ends->first && status == DCL_OK; p++) {
        pthread_mutex_lock(&pool->lock);
        bool there = !pool->member[p].lost && pool->member[p].introduced;
        pthread_mutex_unlock(&pool->lock);
        if (there)
            status = make_introduction(pool, ends, node, p);
    }
    return status;
}

void dcli_worker_pool_forget_introduction(dcli_worker_pool *pool, int node)
{
    int *sockets = pool->member[node].introduction;
    for (int p = 0; sockets != NULL && p < pool->capacity; p++)
        if (sockets[p] >= 0)
            close(sockets[p]);
    dcli_free(sockets);
    pool->member[node].introduction = NULL;
}

/* Make the links of every new process: to the host, to every other new process, and to the existing nodes. */
static dcl_status make_links(dcli_worker_pool *pool, struct ends *ends)
{
    size_t total = (size_t)ends->count * (size_t)ends->peers;
    ends->link = dcli_calloc(total, sizeof *ends->link);
    if (ends->link == NULL)
        return DCL_ERR_NOMEM;
    for (size_t l = 0; l < total; l++)
        ends->link[l].socket = ends->link[l].memory = -1;
    dcl_status status = DCL_OK;
    for (int n = ends->first; n < ends->first + ends->count && status == DCL_OK; n++) {
        status = make_link(&pool->host_link[n], end_of(ends, n, pool->capacity));
        for (int m = n + 1; m < ends->first + ends->count && status == DCL_OK; m++)
            status = make_link(end_of(ends, n, m), end_of(ends, m, n));
        if (status == DCL_OK && ends->first > 0)
            status = make_introductions(pool, ends, n);
    }
    return status;
}

/* Whether a process has to find out whether its GPU reads memory of others: this loads NVIDIA's libcuda and tries every
 * GPU of the host. */
static bool may_read_gpus(const dcli_worker_pool *pool)
{
    return pool->capacity > 1 && (dcli_ways_allowed(pool->terms.config->transfer, true) & DCLI_CAN_READ_GPUS) != 0;
}

/* Restrict this thread, and with it what it starts, to one of its processors. @param before_out  its processors
 * before. */
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
static dcl_status start_process(dcli_worker_pool *pool, int node, const char *terms, int output, int count,
                                const int descriptors[], dcli_process *process)
{
    cpu_set_t processors;
    bool pins = pool->terms.config->pin;
    dcl_status status = pins ? pin(node, &processors) : DCL_OK;
    if (status != DCL_OK)
        return status;
    status = dcli_process_start(pool->program, terms, NULL, output, count, descriptors, process);
    if (pins)
        sched_setaffinity(0, sizeof processors, &processors);
    return status;
}

static dcl_status start_one(dcli_worker_pool *pool, struct ends *ends, int node)
{
    dcli_process process;
    dcli_output printed = {0};
    int output = -1;
    dcl_status status = dcli_process_prepare(&process);
    if (status != DCL_OK)
        return status;
    status = dcli_output_open(&printed, &output);
    int descriptors[2 * (DCLI_MOST_LOCAL + 130)], count = 0;
    descriptors[count++] = process.status_memory;
    dcli_text terms = {0};
    dcli_text_put(&terms, "shared parent=%d self=%d nodes=%d session=%" PRIx64 " device=%d gpus=%d status=%d links=",
                  (int)getpid(), node, pool->capacity, pool->terms.session, pool->devices[node % pool->device_count],
                  may_read_gpus(pool), process.status_memory);
    for (int peer = 0; peer <= pool->capacity; peer++) {
        const dcli_shared_link *link = end_of(ends, node, peer);
        if (link->socket < 0)
            continue;
        dcli_text_put(&terms, "%s%d:%d:%d:%d", count > 1 ? "," : "", peer, link->socket, link->memory, link->side);
        descriptors[count++] = link->socket;
        descriptors[count++] = link->memory;
    }
    char *text = dcli_text_take(&terms);
    if (text == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = start_process(pool, node, text, output, count, descriptors, &process);
    dcli_free(text);
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

dcl_status dcli_worker_pool_start_local(dcli_worker_pool *pool, int first, int count)
{
    struct ends ends = {.first = first, .count = count, .peers = pool->capacity + 1};
    dcl_status status = make_links(pool, &ends);
    for (int n = first; n < first + count && status == DCL_OK; n++)
        status = start_one(pool, &ends, n);
    free_ends(&ends);
    return status;
}

/* icd/servers.c - reaching the servers, and what their devices are. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"
#include "base/signals.h"
#include "fleet/addresses.h"
#include "fleet/worker_pool.h"
#include "icd/inside.h"

/* ---- losses; the process monitor reports them with the pool's lock ---- */

void icd_report_loss(void *user, int node, const char *seen)
{
    icd_server *server = user;
    pthread_mutex_lock(&icd.lock);
    snprintf(server->seen[node], sizeof server->seen[node], "%s", seen);
    server->reported[node] = server->has_losses = true;
    pthread_mutex_unlock(&icd.lock);
    dcli_endpoint_wake(server->endpoint);
}

static bool may_unmap(void *user, const void *bytes)
{
    (void)user;
    (void)bytes;
    return true;
}

static bool is_alive(void *user)
{
    (void)user;
    return true;
}

static const dcli_pool_user pool_user = {.report_loss = icd_report_loss, .is_alive = is_alive};

/* ---- devices ---- */

const icd_fact *icd_device_fact(const icd_device *device, int64_t key)
{
    for (int64_t f = 0; f < device->fact_count; f++)
        if (device->fact[f].key == key)
            return &device->fact[f];
    return device->root != device ? icd_device_fact(device->root, key) : NULL;
}

cl_ulong icd_device_number(const icd_device *device, cl_device_info what)
{
    const icd_fact *fact = icd_device_fact(device, what);
    cl_ulong number = 0;
    if (fact != NULL)
        memcpy(&number, fact->value, fact->bytes < sizeof number ? fact->bytes : sizeof number);
    return number;
}

static cl_int ask_device(icd_device *device)
{
    icd_question question = {.kind = DCLI_ASK_DEVICE};
    pthread_mutex_lock(&icd.lock);
    question.number = icd_number();
    icd_question_begin(device, &question);
    cl_int status = icd_question_await(device, &question);
    device->fact = question.fact;
    device->fact_count = question.fact_count;
    pthread_mutex_unlock(&icd.lock);
    dcli_free(question.data);
    return status;
}

static dcl_status make_devices(icd_server *server)
{
    int count = dcli_worker_pool_nodes(server->pool);
    if (count > ICD_MOST_PLATFORM_DEVICES)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "%s has %d devices; expected at most %d; offer fewer", server->name,
                         count, ICD_MOST_PLATFORM_DEVICES);
    if ((server->apart = dcli_calloc((size_t)count * (size_t)count, sizeof *server->apart)) == NULL)
        return DCL_ERR_NOMEM;
    for (int d = 0; d < count; d++) {
        pthread_mutex_lock(&icd.lock);
        icd_device *device = icd_make(ICD_DEVICE, sizeof *device);
        pthread_mutex_unlock(&icd.lock);
        if (device == NULL)
            return DCLI_FAIL(DCL_ERR_NOMEM, "there is no memory for the devices of %s", server->name);
        device->root = device;
        device->server = server;
        device->node = d;
        device->last = &device->first;
        device->pending_last = &device->pending;
        device->outgoing_last = &device->outgoing;
        server->device[server->device_count++] = device;
    }
    return DCL_OK;
}

/* ---- one server ---- */

static void say(const char *sentence) { fprintf(stderr, "dcl opencl: %s\n", sentence); }

static dcl_status start(icd_server *server)
{
    dcli_node_ways *ways = dcli_calloc(DCLI_MOST_NODES + 1, sizeof *ways);
    if (ways == NULL)
        return DCL_ERR_NOMEM;
    server->endpoint = dcli_worker_pool_setup(server->pool, ways);
    dcli_free(ways);
    if (server->endpoint == NULL)
        return dcli_error_status();
    server->client = dcli_worker_pool_capacity(server->pool);
    if (server->shares)
        dcli_endpoint_map_writable(server->endpoint, may_unmap, NULL);
    dcl_status status = icd_turn_open(server);
    if (status == DCL_OK)
        status = make_devices(server);
    if (status != DCL_OK)
        return status;
    dcli_worker_pool_report_with(server->pool, &pool_user, server);
    if (pthread_create(&server->thread, NULL, icd_serve, server) != 0)
        return DCLI_FAIL(DCL_ERR_NOMEM, "a thread for %s cannot be started; close other programs", server->name);
    pthread_detach(server->thread);
    return DCL_OK;
}

typedef struct opening {
    icd_server *server;
    dcli_worker_address address;
    bool has_address, has_thread;
    pthread_t thread;
    dcl_status status;
    char problem[DCLI_ERROR_BYTES];
} opening;

/* How long a thread of the program polls for messages of a server before it sleeps; 0: as usual. A thread that has slept for milliseconds
 * wakes up some 25 us later than one that polls. Kernels on GPUs need no processor, so one to spare may poll, as the native clFinish()
 * of a GPU does. */
static int64_t spin_of(const icd_server *server)
{
    enum { GPU_SPIN_NS = 50000000 };
    bool has_gpu = false;
    for (int d = 0; d < server->device_count; d++)
        has_gpu = has_gpu || (icd_device_number(server->device[d], CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0;
    return has_gpu && sysconf(_SC_NPROCESSORS_ONLN) >= 2 * (long)server->device_count + 4 ? GPU_SPIN_NS : 0;
}

/* Ask all devices what they are. Devices that do not answer are left out. @return an error if none answers. */
static dcl_status describe(icd_server *server)
{
    dcl_status status = DCL_OK;
    bool any = false;
    for (int d = 0; d < server->device_count; d++) {
        icd_device *device = server->device[d];
        device->described = ask_device(device) == CL_SUCCESS;
        any = any || device->described;
        if (device->described)
            continue;
        status =
            DCLI_FAIL(DCL_ERR_DEVICE, "device %d of %s does not describe itself: %s", d, server->name, device->why);
        if (server->device_count > 1)
            say(dcli_error_sentence());
    }
    server->spin_ns = spin_of(server);
    return any ? DCL_OK : status;
}

/* libzmq takes memory for each chunk of a read from the heap. glibc returns free memory at the end of a heap to the system if it is more
 * than twice the largest mapped block that the program has ever freed, and then new chunks need new pages, which cost a tenth of a read or
 * more. So free such a block once. It is never touched, and settings of the program's own take precedence. */
static void have_heap_keep_chunks(void)
{
    enum { BYTES = 12 << 20 }; /* half of what is free between two reads */
    dcli_free(dcli_malloc(BYTES));
}

static dcl_status open_server(opening *open)
{
    icd_server *server = open->server;
    if (open->has_address)
        have_heap_keep_chunks();
    if (getrandom(&server->session, sizeof server->session, 0) != (ssize_t)sizeof server->session)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "getrandom() gives no random number; expected one for the session");
    server->session |= 1;
    dcli_worker_pool_terms terms = {.config = &server->config,
                                    .log = &server->log,
                                    .session = server->session,
                                    .opencl = true,
                                    .address = open->has_address ? &open->address : NULL,
                                    .net = &server->net,
                                    .buffers = &server->buffers};
    dcl_status status = dcli_worker_pool_open(&terms, &server->pool);
    if (status == DCL_OK)
        status = start(server);
    return status == DCL_OK ? describe(server) : status;
}

static void *open_one(void *argument)
{
    opening *open = argument;
    open->status = open_server(open);
    if (open->status != DCL_OK)
        snprintf(open->problem, sizeof open->problem, "%s", dcli_error_sentence());
    return NULL;
}

/* ---- all servers ---- */

static bool prepare(opening *open, const dcl_config *config, const dcli_worker_address *address)
{
    icd_server *server = dcli_calloc(1, sizeof *server);
    if (server == NULL)
        return false;
    server->config = *config;
    server->config.spare = 0;
    server->config.chunk_bytes = ICD_CHUNK;
    server->config.trace = NULL;
    server->log.level = dcli_config_log_level(config);
    snprintf(server->name, sizeof server->name, "%.299s", address != NULL ? address->text : config->workers);
    *open = (opening){.server = server, .has_address = address != NULL};
    char *workers = address != NULL ? server->name : dcli_strdup(config->workers);
    if (workers == NULL)
        return false;
    server->config.workers = workers;
    const char *fault = dcli_config_fault();
    server->stores = fault != NULL && strcmp(fault, "store") == 0;
    server->shares = address == NULL && dcli_worker_pool_starts(config->workers);
    server->encrypts = !server->shares && config->keys != NULL;
    if (address != NULL)
        open->address = *address;
    return true;
}

static void add_devices(icd_server *server)
{
    pthread_mutex_lock(&icd.lock);
    icd.server[icd.server_count++] = server;
    for (int d = 0; d < server->device_count && icd.device_count < ICD_MOST_PLATFORM_DEVICES; d++)
        if (server->device[d]->described)
            icd.device[icd.device_count++] = server->device[d];
    pthread_mutex_unlock(&icd.lock);
}

/* Open one session for all workers, so that their servers reach each other. @return false: nothing was opened, so
 * they can be opened one by one. If opening fails later than that, the reason is printed, and no devices are added. */
static bool open_together(const dcl_config *config)
{
    opening open;
    if (!prepare(&open, config, NULL))
        return false;
    icd_server *server = open.server;
    open.status = open_server(&open);
    if (open.status == DCL_OK) {
        add_devices(server);
        return true;
    }
    if (server->pool != NULL) { /* its threads remain */
        say(dcli_error_sentence());
        return true;
    }
    dcli_buffers_close(server->buffers);
    dcli_net_close(server->net);
    dcli_free((char *)(uintptr_t)server->config.workers);
    dcli_free(server->apart);
    dcli_free(server);
    return false;
}

/* Open the workers. If they cannot be opened together, each has a session of its own, and what moves between them moves through this
 * process. Their connections are then opened at the same time: workers that do not answer delay the program twice, however
 * many they are. */
static void open_all(const dcl_config *config)
{
    static dcli_worker_address list[DCLI_MOST_CALLS];
    static opening open[DCLI_MOST_CALLS];
    int count = 1;
    bool local = dcli_worker_pool_starts(config->workers);
    if (!local && (count = dcli_addresses_read(config->workers, list)) < 0) {
        say(dcli_error_sentence());
        return;
    }
    if (count > 1 && open_together(config))
        return;
    for (int s = 0; s < count; s++) {
        if (!prepare(&open[s], config, local ? NULL : &list[s])) {
            say(dcli_error_sentence());
            return;
        }
        open[s].has_thread = count > 1 && pthread_create(&open[s].thread, NULL, open_one, &open[s]) == 0;
        if (!open[s].has_thread)
            open_one(&open[s]);
    }
    for (int s = 0; s < count; s++) {
        if (open[s].has_thread)
            pthread_join(open[s].thread, NULL);
        if (open[s].status != DCL_OK)
            say(open[s].problem);
        else
            add_devices(open[s].server);
    }
}

static void open_once(void)
{
    sigset_t before;
    dcl_config config;
    dcli_signals_block(&before); /* also of threads that are started here */
    if (dcl_config_read(&config) != DCL_OK)
        say(dcli_error_sentence());
    else if (config.workers != NULL)
        open_all(&config);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void icd_open_servers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
}

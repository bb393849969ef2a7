/* Whole sessions of worker processes, as their threads meet: the program's calls, the host's worker, the process
 * monitor, and for tcp the listener and its authenticator. The driver is the one of support/fake_opencl; no body is
 * compiled. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dcl/worker.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/folder.h"
#include "support/nodes.h"

#ifdef TEST_DCL

enum { ELEMENTS = 3000, LONG_MS = 60000 };

TestSuite(session_on_device, .timeout = 2 * TEST_SECONDS);

/* ---- clusters ----------------------------------------------------------------------------------------------------- */

static dcl_config config_of(const char *workers)
{
    dcl_config config;
    int devices = 0;
    fake_opencl_select();
    setenv("POCL_DEVICES", "pthread", 1);
    if (dcl_device_list(0, NULL, &devices) != DCL_OK || devices == 0)
        cr_skip_test("no OpenCL device on this host");
    TEST_OK(dcl_config_read(&config));
    config.workers = workers;
    config.program = TEST_DCL;
    config.spare = 8;
    return config;
}

static void sleep_ms(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

/* What is made now is over the nodes that are there. @return false: one of them has gone meanwhile. */
static bool use(dcl_cluster *cluster)
{
    static _Thread_local int32_t found[ELEMENTS];
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map);
    dcl_status status = array != NULL ? dcl_fill(array, &(int32_t){9}) : dcl_status_of(NULL);
    if (status == DCL_OK)
        status = dcl_read(array, NULL, found, NULL);
    for (int e = 0; e < ELEMENTS && status == DCL_OK; e++)
        cr_assert_eq(found[e], 9, "element %d is %d", e, (int)found[e]);
    cr_expect(status == DCL_OK || status == DCL_ERR_NODE_LOST, "%s", dcl_error());
    dcl_release(array);
    dcl_map_release(map);
    return status == DCL_OK;
}

static void use_until_it_works(dcl_cluster *cluster)
{
    for (int n = 0; !use(cluster); n++) {
        cr_assert_lt(n, 100, "%s", dcl_error());
        dcl_clear_error(cluster);
    }
    dcl_wait(cluster);
    dcl_clear_error(cluster);
}

static void await_loss(const dcl_cluster *cluster, int node)
{
    for (int waited = 0; dcl_node_is_alive(cluster, node); waited++) {
        cr_assert_lt(waited, LONG_MS, "the loss of node %d is not noticed", node);
        sleep_ms(1);
    }
}

struct caller {
    dcl_cluster *cluster;
    atomic_bool stop;
    int calls;
};

/* Another thread of the program: questions to all nodes, and operations. */
static void *keep_calling(void *argument)
{
    struct caller *caller = argument;
    while (!atomic_load(&caller->stop)) {
        dcl_counters counters;
        dcl_status status = dcl_stats(caller->cluster, DCL_ALL_NODES, &counters);
        cr_expect(status == DCL_OK || status == DCL_ERR_NODE_LOST, "%s", dcl_error());
        use(caller->cluster);
        caller->calls++;
    }
    return NULL;
}

/* ---- local -------------------------------------------------------------------------------------------------------- */

Test(session_on_device, nodes_come_and_go_while_threads_call)
{
    dcl_config config = config_of("local:2");
    struct caller caller = {.cluster = test_open(&config)};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, keep_calling, &caller), 0);
    for (int round = 0; round < 2; round++) {
        int newcomer = dcl_node_count(caller.cluster);
        TEST_OK(dcl_add_workers(caller.cluster, "local:1"));
        cr_expect(dcl_node_is_alive(caller.cluster, newcomer));
        int pid = test_child(round == 0);
        cr_assert(pid > 0 && kill(pid, SIGKILL) == 0);
        await_loss(caller.cluster, round == 0 ? newcomer : 0);
    }
    atomic_store(&caller.stop, true);
    pthread_join(thread, NULL);
    cr_expect_gt(caller.calls, 0);
    cr_expect(dcl_node_is_alive(caller.cluster, 1) && dcl_node_is_alive(caller.cluster, 3));
    dcl_wait(caller.cluster);
    dcl_clear_error(caller.cluster);
    use_until_it_works(caller.cluster);
    TEST_OK(dcl_close(caller.cluster));
}

/* The newcomer's driver has no devices: it says so, and all others go on. */
Test(session_on_device, a_newcomer_that_cannot_serve_says_why)
{
    dcl_config config = config_of("local:1");
    dcl_cluster *cluster = test_open(&config);
    setenv("TEST_OPENCL", "no devices", 1);
    TEST_REFUSED(dcl_add_workers(cluster, "local:2"), DCL_ERR_DEVICE, "did not start");
    unsetenv("TEST_OPENCL");
    dcl_clear_error(cluster);
    use_until_it_works(cluster);
    TEST_OK(dcl_add_workers(cluster, "local:1"));
    use_until_it_works(cluster);
    TEST_OK(dcl_close(cluster));
}

/* ---- tcp ---------------------------------------------------------------------------------------------------------- */

/* The kernel chooses a port that is free; another process may take it before it is used. */
static int free_port(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof name) == 0 &&
              getsockname(fd, (struct sockaddr *)&name, &length) == 0);
    close(fd);
    return ntohs(name.sin_port);
}

/* In the folder where it was built. */
static void look_for_command(void)
{
    char path[4096];
    const char *slash = strrchr(TEST_DCL, '/'), *before = getenv("PATH");
    snprintf(path, sizeof path, "%.*s:%s", (int)(slash - TEST_DCL), TEST_DCL, before != NULL ? before : "");
    setenv("PATH", path, 1);
}

struct offer {
    dcl_worker_config config;
    dcl_status status;
};

static void *serve(void *argument)
{
    struct offer *offer = argument;
    offer->status = dcl_worker_run(&offer->config);
    return NULL;
}

static dcl_cluster *call(const dcl_config *config)
{
    for (int tries = 0;; tries++) {
        dcl_cluster *cluster = dcl_open(config);
        if (cluster != NULL)
            return cluster;
        cr_assert_lt(tries, 300, "%s", dcl_error());
        sleep_ms(100);
    }
}

/* A worker in a thread of this process: its listener, authenticator and supervisor beside the program's own threads. */
Test(session_on_device, a_worker_and_its_program_share_a_process)
{
    char token[TEST_PATH], address[64] = "";
    dcl_config config = config_of(address);
    struct offer offer;
    pthread_t worker, thread;
    look_for_command();
    snprintf(address, sizeof address, "tcp://127.0.0.1:%d", free_port());
    test_make_folder();
    test_path(token, "token");
    dcl_worker_defaults(&offer.config);
    offer.config.listen = address;
    offer.config.token = token;
    offer.config.contain = "off";
    cr_assert_eq(pthread_create(&worker, NULL, serve, &offer), 0);
    config.token = token;
    struct caller caller = {.cluster = call(&config)};
    cr_assert_eq(pthread_create(&thread, NULL, keep_calling, &caller), 0);
    dcl_cluster *other = call(&config); /* a second session */
    use_until_it_works(other);
    TEST_OK(dcl_close(other));
    atomic_store(&caller.stop, true);
    pthread_join(thread, NULL);
    use_until_it_works(caller.cluster);
    TEST_OK(dcl_close(caller.cluster));
    dcl_worker_stop();
    pthread_join(worker, NULL);
    cr_expect_eq(offer.status, DCL_OK);
    test_remove_folder();
}

#endif

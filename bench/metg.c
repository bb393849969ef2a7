/* metg.c - the smallest tasks that DCL still runs efficiently: METG, the minimum effective task granularity of Task Bench
 * (E. Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance", SC20).
 *
 *     metg                 on one embedded node, and on local:2
 *     metg tcp             on two workers over tcp on loopback, which it starts, each on its share of the processors
 *     metg WORKERS         on workers as DCL_WORKERS names them
 *
 * An array has one element per core, a column. Each step is one forall, and a task is one element of one step: a chain of
 * dependent multiply-adds, `rounds` of them. Patterns: "trivial" (no task depends on another), "no communication" (a task
 * depends on the same column's last one), "stencil 1D" (on the last ones of the column and its neighbours). For fewer and
 * fewer rounds, all steps and a wait are timed. The efficiency is the rate of rounds over the largest rate of any run of the
 * same pattern and nodes; the granularity is the time of a step, since there are as many columns as cores. METG is the least
 * granularity with an efficiency of at least 50 %.
 *
 * Beside them: what a step cannot do without. A round trip of ZeroMQ: a message of 64 bytes over tcp on loopback, there and back,
 * between two processes. A launch: clEnqueueNDRangeKernel of an empty kernel with a work-item, and clFinish, on the device of
 * node 0. Both are measured before and after each pattern, as medians of 2,000. Over tcp, METG is compared with three round
 * trips, a launch and a finish, by the means of before and after. Workers that share all processors with each other take longer, and
 * differ from run to run, because Linux moves their threads:
 *
 *     dcl worker --listen tcp://127.0.0.1:7101 & dcl worker --listen tcp://127.0.0.1:7102 &
 *     metg tcp://127.0.0.1:7101,tcp://127.0.0.1:7102
 *
 * Every run is repeated, and the fastest counts; of round trips and launches it is the median. Compiling, and measuring the cost
 * of elements, is done before. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include <dcl.h>

#include "device.h"

enum { ARRAYS = 8, REPEATS = 3, WARM_STEPS = 64, MOST_STEPS = 1000, LEAST_STEPS = 20, MOST_ROUNDS = 1 << 20 };

/* ---- the lower bound of a step ---------------------------------------------------------------------------------------- */

enum { TRIPS = 2000, MESSAGE_BYTES = 64 };

/* Send back all that comes, until an empty message. */
static void echo(int port_out)
{
    char message[MESSAGE_BYTES], address[64];
    size_t length = sizeof address;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    check(zmq_bind(socket, "tcp://127.0.0.1:*") == 0 &&
              zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address, &length) == 0 &&
              write(port_out, address, sizeof address) == sizeof address,
          "zmq_bind");
    for (int n; (n = zmq_recv(socket, message, sizeof message, 0)) > 0;)
        zmq_send(socket, message, (size_t)n, 0);
    zmq_close(socket);
    zmq_ctx_term(context);
}

/* @return us of a round trip. Called where no other thread runs: it forks. */
static double measure_trip(void)
{
    double us[TRIPS];
    char message[MESSAGE_BYTES] = "", address[64];
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        echo(ends[1]);
        _exit(0);
    }
    close(ends[1]); /* so that reading ends if the other process does */
    check(child > 0 && read(ends[0], address, sizeof address) == sizeof address, "fork");
    close(ends[0]);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    check(zmq_connect(socket, address) == 0, "zmq_connect");
    for (int n = -TRIPS / 4; n < TRIPS; n++) {
        double start = now_us();
        check(zmq_send(socket, message, sizeof message, 0) >= 0 && zmq_recv(socket, message, sizeof message, 0) >= 0,
              "zmq_send");
        us[n < 0 ? 0 : n] = now_us() - start;
    }
    zmq_send(socket, "", 0, 0);
    waitpid(child, NULL, 0);
    zmq_close(socket);
    zmq_ctx_term(context);
    return median(TRIPS, us);
}

/* A process that measures round trips when it is asked, and the ends of pipes to it. */
struct tripper {
    pid_t child;
    int question, answer;
};

static struct tripper open_tripper(void)
{
    int question[2], answer[2];
    check(pipe(question) == 0 && pipe(answer) == 0, "pipe");
    fflush(stdout);
    pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        char any;
        close(question[1]);
        close(answer[0]);
        while (read(question[0], &any, 1) == 1) {
            double us = measure_trip();
            check(write(answer[1], &us, sizeof us) == sizeof us, "write");
        }
        _exit(0);
    }
    close(question[0]);
    close(answer[1]);
    return (struct tripper){.child = child, .question = question[1], .answer = answer[0]};
}

static double ask_tripper(const struct tripper *tripper)
{
    double us = 0;
    check(write(tripper->question, "", 1) == 1 && read(tripper->answer, &us, sizeof us) == sizeof us, "round trips");
    return us;
}

static void close_tripper(const struct tripper *tripper)
{
    close(tripper->question);
    close(tripper->answer);
    waitpid(tripper->child, NULL, 0);
}

/* @return us of a launch and its finish. */
static double measure_launch(const char *name)
{
    static const char *text = "__kernel void nothing(long n) {}";
    double us[TRIPS];
    const size_t one = 1;
    const cl_long n = 0;
    cl_device_id device = find_device(name, 0);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "nothing", NULL);
    clSetKernelArg(kernel, 0, sizeof n, &n);
    for (int k = -TRIPS / 4; k < TRIPS; k++) {
        double start = now_us();
        check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) == CL_SUCCESS &&
                  clFinish(queue) == CL_SUCCESS,
              "clEnqueueNDRangeKernel");
        us[k < 0 ? 0 : k] = now_us() - start;
    }
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return median(TRIPS, us);
}

/* ---- patterns --------------------------------------------------------------------------------------------------------- */

static const struct pattern {
    const char *name, *body;
    bool reads, neighbours; /* the body reads the array of the last step; also neighbours, so it needs their number */
} patterns[] = {
    {"trivial", "float x = i; for (int k = 0; k < rounds; k++) x = x * 0.999f + 0.001f; B(i) = x;", false, false},
    {"no communication", "float x = A(i); for (int k = 0; k < rounds; k++) x = x * 0.999f + 0.001f; B(i) = x;", true,
     false},
    {"stencil 1D",
     "float x = (i > 0 ? A(i-1) : 0.0f) + A(i) + (i < n - 1 ? A(i+1) : 0.0f);"
     "for (int k = 0; k < rounds; k++) x = x * 0.999f + 0.001f; B(i) = x;",
     true, true}};

struct nodes {
    dcl_cluster *cluster;
    dcl_array *array[ARRAYS]; /* each step writes the next one in turn */
    int columns;
};

/* @return us of all steps. */
static double run(const struct nodes *nodes, const struct pattern *pattern, int rounds, int steps)
{
    int n = nodes->columns;
    double start = now_us();
    for (int s = 0; s < steps; s++) {
        dcl_array *A = nodes->array[s % ARRAYS], *B = nodes->array[(s + 1) % ARRAYS];
        dcl_status status =
            !pattern->reads ? dcl_forall(nodes->cluster, pattern->body, DCL_OUT(B), DCL_VALUE(rounds))
            : !pattern->neighbours
                ? dcl_forall(nodes->cluster, pattern->body, DCL_OUT(B), DCL_IN(A), DCL_VALUE(rounds))
                : dcl_forall(nodes->cluster, pattern->body, DCL_OUT(B), DCL_IN(A), DCL_VALUE(rounds), DCL_VALUE(n));
        check(status == DCL_OK, pattern->name);
    }
    check(dcl_wait(nodes->cluster) == DCL_OK, "dcl_wait");
    return now_us() - start;
}

struct point {
    double rate, us; /* rounds per us; us of a step */
};

static struct point measure(const struct nodes *nodes, const struct pattern *pattern, int rounds)
{
    const double aim_us = 50000;
    double best = INFINITY, step_us = run(nodes, pattern, rounds, LEAST_STEPS) / LEAST_STEPS;
    int steps = (int)fmin(MOST_STEPS, fmax(LEAST_STEPS, aim_us / step_us));
    for (int r = 0; r < REPEATS; r++)
        best = fmin(best, run(nodes, pattern, rounds, steps) / steps);
    return (struct point){.rate = rounds * (double)nodes->columns / best, .us = best};
}

/* What a step cannot do without, in us. */
struct bound {
    double trip, launch; /* trip 0: there are no messages over tcp */
};

static struct bound measure_bound(const struct nodes *nodes, const struct tripper *tripper)
{
    return (struct bound){.trip = tripper != NULL ? ask_tripper(tripper) : 0,
                          .launch = measure_launch(dcl_node_name(nodes->cluster, 0))};
}

/* Messages are slower while the machine does other work. So the bound is measured before and after the sweep, and the mean is used.
 * @param before  the first of these measurements. @return the second one. */
static struct bound sweep(const struct nodes *nodes, const struct pattern *pattern, const char *where,
                          const struct tripper *tripper, struct bound before)
{
    enum { MOST_POINTS = 128 };
    struct point point[MOST_POINTS];
    int count = 0;
    double peak = 0;
    run(nodes, pattern, MOST_ROUNDS / 64, WARM_STEPS);
    for (double rounds = MOST_ROUNDS; rounds >= 1 && count < MOST_POINTS; rounds /= 1.3) {
        point[count] = measure(nodes, pattern, (int)rounds);
        peak = fmax(peak, point[count].rate);
        if (point[count++].rate < 0.25 * peak)
            break;
    }
    struct point least = point[0];
    for (int p = 0; p < count; p++)
        if (point[p].rate >= 0.5 * peak && point[p].us < least.us)
            least = point[p];
    printf("METG of %s, %d columns, %s: %.1f us at %.0f %% of the peak (a step without work %.1f us; least of %d)",
           pattern->name, nodes->columns, where, least.us, 100 * least.rate / peak, measure(nodes, pattern, 0).us,
           REPEATS);
    struct bound after = measure_bound(nodes, tripper);
    if (tripper != NULL)
        printf("; %.2f of three round trips of ZeroMQ (%.1f us before, %.1f after), a launch and a finish",
               least.us / ((3 * (before.trip + after.trip) + before.launch + after.launch) / 2), before.trip,
               after.trip);
    printf("; launch of an empty kernel and finish %.1f us before, %.1f after\n", before.launch, after.launch);
    return after;
}

static int measure_on(const char *devices, const char *workers)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.devices = devices != NULL ? devices : config.devices;
    config.workers = workers;
    bool over_tcp = workers != NULL && strncmp(workers, "tcp:", 4) == 0;
    struct tripper opened, *tripper = NULL;
    if (over_tcp) {
        opened = open_tripper(); /* before any thread is started */
        tripper = &opened;
    }
    struct nodes nodes = {.cluster = dcl_open(&config), .columns = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    check(nodes.cluster != NULL, "dcl_open");
    dcl_map *map = dcl_map_block(nodes.cluster);
    for (int k = 0; k < ARRAYS; k++) {
        nodes.array[k] = dcl_agile(dcl_grid_1d(DCL_FLOAT, nodes.columns), map);
        check(nodes.array[k] != NULL, "dcl_agile");
    }
    struct bound bound = measure_bound(&nodes, tripper);
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++)
        bound = sweep(&nodes, &patterns[p], workers != NULL ? workers : "one embedded node", tripper, bound);
    for (int k = 0; k < ARRAYS; k++)
        dcl_release(nodes.array[k]);
    dcl_release(map);
    check(dcl_close(nodes.cluster) == DCL_OK, "dcl_close");
    if (tripper != NULL)
        close_tripper(tripper);
    return 0;
}

/* Measure in a process of its own: a driver may not survive a fork. */
static bool in_child(const char *devices, const char *workers)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(measure_on(devices, workers));
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* ---- workers over tcp --------------------------------------------------------------------------------------------------- */

struct worker {
    pid_t child;
    FILE *log;
    char address[64];
};

/* Run on share number `share` of the processors, as a batch system starts several processes of one host. */
static void take_share(int share, int shares)
{
    cpu_set_t all, own;
    CPU_ZERO(&own);
    check(sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) >= shares, "a processor for each worker");
    for (int processor = 0, seen = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &all) && seen++ * shares / CPU_COUNT(&all) == share)
            CPU_SET(processor, &own);
    check(sched_setaffinity(0, sizeof own, &own) == 0, "sched_setaffinity");
}

/* The dcl command: DCL_PROGRAM, or in the folder above that of this program. */
static const char *find_program(void)
{
    static char path[4096];
    const char *given = getenv("DCL_PROGRAM");
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    check(length > 0, "readlink");
    path[length] = '\0';
    for (int n = 0; n < 2; n++)
        *strrchr(path, '/') = '\0';
    strcat(path, "/dcl");
    return given != NULL ? given : path;
}

/* Start a worker, and wait until programs can call it. It ends with this program at the latest. */
static void start_worker(struct worker *worker, int share, int shares)
{
    const char *program = find_program(), *says = "listening on ", *at = NULL;
    char line[256];
    int log[2];
    check(access(program, X_OK) == 0, "the dcl command is not where it is built; give it in DCL_PROGRAM");
    check(pipe(log) == 0, "pipe");
    worker->child = fork();
    check(worker->child >= 0, "fork");
    if (worker->child == 0) {
        check(prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && dup2(log[1], STDERR_FILENO) >= 0, "a worker's log");
        close(log[0]);
        close(log[1]);
        take_share(share, shares);
        execl(program, program, "worker", "--log", "info", "--listen", "tcp://127.0.0.1:*", NULL);
        _exit(127);
    }
    close(log[1]);
    worker->log = fdopen(log[0], "r");
    while (at == NULL && fgets(line, sizeof line, worker->log) != NULL)
        at = strstr(line, says);
    check(at != NULL && sscanf(at + strlen(says), "%63s", worker->address) == 1, "start of a worker");
}

static void end_worker(const struct worker *worker)
{
    kill(worker->child, SIGTERM);
    waitpid(worker->child, NULL, 0);
    fclose(worker->log);
}

static bool measure_tcp(void)
{
    enum { WORKERS = 2 };
    struct worker worker[WORKERS];
    char workers[WORKERS * sizeof worker->address] = "";
    for (int w = 0; w < WORKERS; w++) {
        start_worker(&worker[w], w, WORKERS);
        strcat(strcat(workers, w > 0 ? "," : ""), worker[w].address);
    }
    bool right = in_child(NULL, workers);
    for (int w = 0; w < WORKERS; w++)
        end_worker(&worker[w]);
    return right;
}

int main(int argc, char **argv)
{
    printf("DCL %s, commit %s, METG\n", dcl_version(), bench_commit);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "tcp") == 0)
        return measure_tcp() ? 0 : 1;
    if (argc > 1)
        return in_child(NULL, argv[1]) ? 0 : 1;
    bool embedded = in_child("0", NULL);
    return in_child(NULL, "local:2") && embedded ? 0 : 1;
}

/* workers.c - worker processes against bare ZeroMQ between two processes, taking turns in one run.
 *
 * Round trips: from a call until the program knows that it is complete, against a message to another process and back.
 * Streams: 64 MB of floats in chunks of 4 MB from one process to another, until they lie in an array there. The reference
 * packs each chunk into a fresh message, as any program must whose array goes on being used, and its receiver copies it
 * into an array; the limit copies nothing and its receiver touches the first byte of each chunk. Starts: from dcl_open()
 * to the end of dcl_close(), against processes that open the OpenCL device. Results are compared first. The ratio is the
 * result, absolute figures are for orientation. Workers over tcp are started here, on ports of loopback.
 *
 * Copying from node to node includes the kernel that copies. All processes share the processors of this host, and all
 * workers the first device that dcl_open() would take, unless DCL_DEVICES names another.
 *
 *     workers [rounds [name]]      rounds: 11 if not given; name: only what has it in its own, such as "tcp" */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <zmq.h>

#include <dcl.h>

#include "common.h"

enum { MOST_ROUNDS = 101, TRIPS = 200, ELEMENTS = 16 << 20, CHUNK = 4 << 20, SMALL = 4096, MOST_CHILDREN = 8 };
static const size_t stream_bytes = ELEMENTS * sizeof(float);

static int rounds;
static const char *only; /* what has this in its name */
static char program[4096], keys_folder[64];
static dcl_device_info device;
static char devices[64]; /* for dcl_config and `dcl worker` */
static pid_t child[MOST_CHILDREN];
static int child_count;
static pid_t starter; /* the process that cleans up */

/* Sorts the values. */
static double quantile(int count, double values[], double part)
{
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return values[(int)(part * (count - 1) + 0.5)];
}

static double spread(double values[])
{
    double middle = quantile(rounds, values, 0.5);
    return 100 * (quantile(rounds, values, 0.9) - quantile(rounds, values, 0.1)) / middle;
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

/* A child that does not outlive this process, however that ends. @return 0 in the child. */
static pid_t start_child(void)
{
    check(child_count < MOST_CHILDREN, "too many processes");
    fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    check(pid >= 0, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
    } else {
        child[child_count++] = pid;
    }
    return pid;
}

static void end_children(void)
{
    for (int n = 0; n < child_count; n++)
        kill(child[n], SIGTERM);
    for (int n = 0; n < child_count; n++)
        waitpid(child[n], NULL, 0);
    child_count = 0;
}

static void remove_keys(void)
{
    static const char *const names[] = {"worker/allowed/program.public",
                                        "worker/allowed",
                                        "worker/own.secret",
                                        "worker/own.public",
                                        "worker",
                                        "program/own.secret",
                                        "program/allowed/127.0.0.1.public",
                                        "program/allowed",
                                        "program/own.public",
                                        "program",
                                        ""};
    char path[256];
    for (size_t n = 0; keys_folder[0] != '\0' && n < sizeof names / sizeof names[0]; n++) {
        snprintf(path, sizeof path, "%s/%s", keys_folder, names[n]);
        remove(path);
    }
}

static void clean_up(void)
{
    if (getpid() != starter)
        return;
    end_children();
    remove_keys();
}

static void stop(int signal)
{
    clean_up();
    _exit(128 + signal);
}

/* ---- the reference: ZeroMQ by hand -------------------------------------------------------------------------------- */

/* Sockets of one side for one transport. */
struct link {
    void *talk, *out, *in; /* DEALER; PUSH, PULL */
};

enum { OVER_IPC, OVER_TCP, OVER_KEYS, LINKS };
static const char *const link_name[LINKS] = {"ipc", "tcp", "tcp with keys"};

/* What the other side is to do. */
struct order {
    enum { OPEN, ECHO, GIVE, TAKE } what;
    int link, count;
    bool copies, verify;
    char talk[64], out[64], in[64]; /* OPEN: addresses */
    char server_key[41];            /* "": no keys */
};

static struct link links[LINKS];
static void *context;
static float *mine; /* [ELEMENTS] sent, and received into */
static int control; /* to the other side, or from it */

static float value_at(long k) { return (float)(k % 1009); }

static bool is_whole(const float *values)
{
    for (long k = 0; k < ELEMENTS; k++)
        if (values[k] != value_at(k))
            return false;
    return true;
}

static float *new_array(void)
{
    float *array = aligned_alloc(1 << 21, stream_bytes);
    check(array != NULL, "memory");
    for (long k = 0; k < ELEMENTS; k++)
        array[k] = value_at(k);
    return array;
}

static void *new_socket(int type)
{
    void *socket = zmq_socket(context, type);
    int none = 0;
    check(socket != NULL && zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none) == 0, "zmq_socket");
    return socket;
}

static void keep(void *bytes, void *hint) { (void)bytes, (void)hint; }

static void give(const struct link *link, bool copies)
{
    for (size_t at = 0; at < stream_bytes; at += CHUNK) {
        zmq_msg_t message;
        char *bytes = (char *)mine + at;
        if (copies) {
            check(zmq_msg_init_size(&message, CHUNK) == 0, "zmq_msg_init_size");
            memcpy(zmq_msg_data(&message), bytes, CHUNK);
        } else {
            check(zmq_msg_init_data(&message, bytes, CHUNK, keep, NULL) == 0, "zmq_msg_init_data");
        }
        check(zmq_msg_send(&message, link->out, 0) == CHUNK, "zmq_msg_send");
    }
}

static void take(const struct link *link, bool copies)
{
    static volatile char first;
    for (size_t at = 0; at < stream_bytes; at += CHUNK) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        check(zmq_msg_recv(&message, link->in, 0) == CHUNK, "zmq_msg_recv");
        if (copies)
            memcpy((char *)mine + at, zmq_msg_data(&message), CHUNK);
        else
            first = *(char *)zmq_msg_data(&message);
        zmq_msg_close(&message);
    }
    (void)first;
}

static void echo(const struct link *link, int count)
{
    char bytes[8];
    for (int n = 0; n < count; n++) {
        check(zmq_recv(link->talk, bytes, sizeof bytes, 0) == sizeof bytes, "zmq_recv");
        check(zmq_send(link->talk, bytes, sizeof bytes, 0) == sizeof bytes, "zmq_send");
    }
}

static void connect_to(void *socket, const char *address, const char *server_key)
{
    char public_key[41], secret_key[41];
    if (server_key[0] != '\0')
        check(zmq_curve_keypair(public_key, secret_key) == 0 &&
                  zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, 41) == 0 &&
                  zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, 41) == 0 &&
                  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, 41) == 0,
              "keys");
    check(zmq_connect(socket, address) == 0, "zmq_connect");
}

static void carry_out(const struct order *order)
{
    struct link *link = &links[order->link];
    char answer = 1;
    switch (order->what) {
    case OPEN:
        *link = (struct link){new_socket(ZMQ_DEALER), new_socket(ZMQ_PUSH), new_socket(ZMQ_PULL)};
        connect_to(link->talk, order->talk, order->server_key);
        connect_to(link->out, order->in, order->server_key);
        connect_to(link->in, order->out, order->server_key);
        break;
    case ECHO:
        echo(link, order->count);
        break;
    case GIVE:
        give(link, order->copies);
        break;
    case TAKE:
        if (order->verify)
            memset(mine, 0, stream_bytes);
        take(link, order->copies);
        answer = !order->verify || is_whole(mine);
    }
    check(send(control, &answer, 1, 0) == 1, "send");
}

/* Start the process on the other side, before this one has threads. */
static void start_other_side(void)
{
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    bool other = start_child() == 0;
    control = ends[other];
    close(ends[!other]);
    mine = new_array();
    context = zmq_ctx_new();
    check(context != NULL && zmq_ctx_set(context, ZMQ_IO_THREADS, 2) == 0, "zmq_ctx_new");
    struct order order;
    while (other && recv(control, &order, sizeof order, 0) == sizeof order)
        carry_out(&order);
    if (other)
        _exit(0);
}

static void tell(const struct order *order) { check(send(control, order, sizeof *order, 0) == sizeof *order, "send"); }

static void hear(void)
{
    char answer = 0;
    check(recv(control, &answer, 1, 0) == 1 && answer == 1, "the other side has something else than was sent");
}

static void bind_to(void *socket, const char *address, const char *secret_key, char bound_out[64])
{
    size_t length = 64;
    int yes = 1;
    if (secret_key != NULL)
        check(zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &yes, sizeof yes) == 0 &&
                  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, 41) == 0,
              "keys");
    check(zmq_bind(socket, address) == 0 && zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound_out, &length) == 0,
          "zmq_bind");
}

static void open_link(int which)
{
    struct order order = {.what = OPEN, .link = which};
    char public_key[41] = "", secret_key[41],
         address[3][64] = {"tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    struct link *link = &links[which];
    bool keys = which == OVER_KEYS;
    for (int n = 0; which == OVER_IPC && n < 3; n++) /* without a name in the file system */
        snprintf(address[n], sizeof address[n], "ipc://@dcl-bench-%d-%d", (int)getpid(), n);
    if (keys)
        check(zmq_curve_keypair(public_key, secret_key) == 0, "zmq_curve_keypair");
    *link = (struct link){new_socket(ZMQ_DEALER), new_socket(ZMQ_PUSH), new_socket(ZMQ_PULL)};
    bind_to(link->talk, address[0], keys ? secret_key : NULL, order.talk);
    bind_to(link->out, address[1], keys ? secret_key : NULL, order.out);
    bind_to(link->in, address[2], keys ? secret_key : NULL, order.in);
    memcpy(order.server_key, public_key, sizeof order.server_key);
    tell(&order);
    hear();
}

static double send_by_hand(int which, bool copies, bool verify)
{
    double start = now();
    tell(&(struct order){.what = TAKE, .link = which, .copies = copies, .verify = verify});
    give(&links[which], copies);
    hear();
    return now() - start;
}

static double receive_by_hand(int which, bool copies)
{
    double start = now();
    tell(&(struct order){.what = GIVE, .link = which, .copies = copies});
    take(&links[which], copies);
    double seconds = now() - start;
    hear();
    return seconds;
}

static void ping_by_hand(int which, int count, double seconds_out[])
{
    char bytes[8] = {0};
    tell(&(struct order){.what = ECHO, .link = which, .count = count});
    for (int n = 0; n < count; n++) {
        double start = now();
        check(zmq_send(links[which].talk, bytes, sizeof bytes, 0) == sizeof bytes, "zmq_send");
        check(zmq_recv(links[which].talk, bytes, sizeof bytes, 0) == sizeof bytes, "zmq_recv");
        seconds_out[n] = now() - start;
    }
    hear();
}

static void verify_hand(int which)
{
    send_by_hand(which, true, true);
    memset(mine, 0, stream_bytes);
    receive_by_hand(which, true);
    check(is_whole(mine), "received something else than was sent");
}

/* ---- workers ------------------------------------------------------------------------------------------------------ */

static void find_program(void)
{
    const char *given = getenv("DCL_PROGRAM");
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 16);
    check(length > 0, "readlink");
    program[length] = '\0';
    for (int n = 0; n < 2; n++) /* this program lies in a folder beside it */
        *strrchr(program, '/') = '\0';
    strcat(program, "/dcl");
    if (given != NULL)
        snprintf(program, sizeof program, "%s", given);
    check(access(program, X_OK) == 0, "the dcl command is not where it is built; give it in DCL_PROGRAM");
}

static void choose_device(void)
{
    const char *given = getenv("DCL_DEVICES");
    dcl_device_info info[64];
    int count = 0;
    check(dcl_device_list(64, info, &count) == DCL_OK && count > 0, "no OpenCL device");
    for (int d = (count < 64 ? count : 64) - 1; d >= 0; d--)
        if (info[d].is_default || d == 0)
            device = info[d];
    snprintf(devices, sizeof devices, "%d", device.number);
    if (given != NULL)
        snprintf(devices, sizeof devices, "%s", given);
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &length) == 0,
          "a free port");
    close(fd);
    return ntohs(address.sin_port);
}

static void await_answer(const char *address, const char *keys)
{
    dcl_config config;
    dcl_worker_info info[1];
    int count = 0;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.workers = address;
    config.keys = keys;
    for (double end = now() + 20; now() < end; usleep(20000))
        if (dcl_worker_list(&config, 1, info, &count) == DCL_OK && count == 1 && info[0].status == DCL_OK)
            return;
    check(0, info[0].problem);
}

/* @param keys  folder of the worker's keys and of the program's; NULL: none. @param address_out  [64] */
static void start_worker(const char *worker_keys, const char *program_keys, char address_out[])
{
    snprintf(address_out, 64, "tcp://127.0.0.1:%d", free_port());
    if (start_child() == 0) {
        execl(program, program, "worker", "--log", "warn", "--devices", devices, "--listen", address_out,
              worker_keys != NULL ? "--keys" : NULL, worker_keys, NULL);
        _exit(127);
    }
    await_answer(address_out, program_keys);
}

static void copy_key(const char *from, const char *to)
{
    char path[2][256], line[256] = "";
    snprintf(path[0], sizeof path[0], "%s/%s", keys_folder, from);
    snprintf(path[1], sizeof path[1], "%s/%s", keys_folder, to);
    FILE *source = fopen(path[0], "r"), *target = fopen(path[1], "w");
    check(source != NULL && target != NULL, "keys");
    while (fgets(line, sizeof line, source) != NULL)
        fputs(line, target);
    fclose(source);
    check(fclose(target) == 0, "keys");
}

/* Two pairs that know each other. */
static void make_keys(char worker_out[], char program_out[])
{
    strcpy(keys_folder, "/tmp/dcl-bench-XXXXXX");
    check(mkdtemp(keys_folder) != NULL, "mkdtemp");
    snprintf(worker_out, 128, "%s/worker", keys_folder);
    snprintf(program_out, 128, "%s/program", keys_folder);
    check(dcl_keys_make(worker_out, NULL) == DCL_OK && dcl_keys_make(program_out, NULL) == DCL_OK, "dcl_keys_make");
    copy_key("program/own.public", "worker/allowed/program.public");
    copy_key("worker/own.public", "program/allowed/127.0.0.1.public");
}

static dcl_cluster *open_cluster(const char *workers, const char *move, const char *keys)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.workers = workers;
    config.transfer = move;
    config.keys = keys;
    config.devices = devices;
    config.chunk_bytes = CHUNK;
    config.program = program;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

/* ---- round trips -------------------------------------------------------------------------------------------------- */

static void trips(dcl_cluster *cluster, dcl_array *A, dcl_array *B, bool empty, int count, double seconds_out[])
{
    dcl_box nothing = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){0});
    for (int n = 0; n < count; n++) {
        double start = now();
        if (empty)
            check(dcl_forall_over(cluster, &nothing, "B(i) = A(i) + 1.0f;", DCL_OUT(B), DCL_IN(A)) == DCL_OK, "forall");
        else
            check(dcl_forall(cluster, "B(i) = A(i) + 1.0f;", DCL_OUT(B), DCL_IN(A)) == DCL_OK, "forall");
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
        seconds_out[n] = now() - start;
    }
}

static void verify_trips(dcl_cluster *cluster, dcl_array *A, dcl_array *B)
{
    static float values[SMALL], got[SMALL];
    double seconds;
    for (int k = 0; k < SMALL; k++)
        values[k] = (float)k;
    check(dcl_write(A, NULL, values, NULL) == DCL_OK, "dcl_write");
    trips(cluster, A, B, false, 1, &seconds);
    check(dcl_read(B, NULL, got, NULL) == DCL_OK, "dcl_read");
    for (int k = 0; k < SMALL; k++)
        check(got[k] == values[k] + 1.0f, "a sum is wrong");
}

static void measure_trips(const char *what, const char *workers, int link)
{
    static double dcl[2][MOST_ROUNDS * TRIPS], hand[MOST_ROUNDS * TRIPS];
    if (strstr(what, only) == NULL)
        return;
    dcl_cluster *cluster = open_cluster(workers, "auto", NULL);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, SMALL);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    check(B != NULL, "dcl_agile");
    verify_trips(cluster, A, B);
    trips(cluster, A, B, true, TRIPS, dcl[0]);
    ping_by_hand(link, TRIPS, hand);
    for (int r = 0; r < rounds; r++) {
        trips(cluster, A, B, true, TRIPS, dcl[0] + r * TRIPS);
        trips(cluster, A, B, false, TRIPS, dcl[1] + r * TRIPS);
        ping_by_hand(link, TRIPS, hand + r * TRIPS);
    }
    int count = rounds * TRIPS;
    double reference = quantile(count, hand, 0.5);
    for (int n = 0; n < 2; n++) {
        double middle = quantile(count, dcl[n], 0.5);
        printf(
            "round trip of %s + wait, %s: dcl p50 %.1f us p99 %.1f us, ZeroMQ there and back over %s p50 %.1f us p99 "
            "%.1f us, dcl / ZeroMQ %.2f (%d rounds of %d)\n",
            n == 0 ? "an empty forall" : "a forall on 4096 floats", what, 1e6 * middle,
            1e6 * quantile(count, dcl[n], 0.99), link_name[link], 1e6 * reference, 1e6 * quantile(count, hand, 0.99),
            middle / reference, rounds, TRIPS);
    }
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
}

/* ---- streams ------------------------------------------------------------------------------------------------------ */

typedef enum { READ, WRITE, COPY } stream;
static const char *const stream_name[] = {"read", "write", "copy from node 0 to node 1"};

struct arrays {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *A, *B; /* B: COPY only */
    float *values;
};

static double run_stream(stream kind, const struct arrays *arrays)
{
    dcl_array *A = arrays->A, *B = arrays->B;
    double start = now();
    if (kind == READ)
        check(dcl_read(A, NULL, arrays->values, NULL) == DCL_OK, "dcl_read");
    else if (kind == WRITE)
        check(dcl_write(A, NULL, arrays->values, NULL) == DCL_OK, "dcl_write");
    else
        check(dcl_forall(arrays->cluster, "B(i) = A(i);", DCL_OUT(B), DCL_IN(A)) == DCL_OK, "dcl_forall");
    if (kind != READ)
        check(dcl_wait(arrays->cluster) == DCL_OK, "dcl_wait");
    return now() - start;
}

static void verify_stream(stream kind, const struct arrays *arrays)
{
    check(dcl_write(arrays->A, NULL, arrays->values, NULL) == DCL_OK, "dcl_write");
    run_stream(kind, arrays);
    memset(arrays->values, 0, stream_bytes);
    check(dcl_read(kind == COPY ? arrays->B : arrays->A, NULL, arrays->values, NULL) == DCL_OK, "dcl_read");
    check(is_whole(arrays->values), "DCL has something else than was sent");
}

static void print_stream(stream kind, const char *what, int link, double dcl[], double hand[], double limit[])
{
    double size = 1e-9 * (double)stream_bytes, middle = quantile(rounds, dcl, 0.5);
    double reference = quantile(rounds, hand, 0.5);
    printf("%s %d MB f32 in chunks of %d MB, %s: dcl %.2f GB/s, ZeroMQ over %s with copies %.2f GB/s, ratio %.2f; "
           "without copies %.2f GB/s (median of %d, spread %.0f %%)\n",
           stream_name[kind], (int)(stream_bytes >> 20), CHUNK >> 20, what, size / middle, link_name[link],
           size / reference, reference / middle, size / quantile(rounds, limit, 0.5), rounds, spread(dcl));
}

static void measure_stream(stream kind, const char *what, int link, const struct arrays *arrays)
{
    double dcl[MOST_ROUNDS], hand[MOST_ROUNDS], limit[MOST_ROUNDS];
    verify_stream(kind, arrays);
    for (int r = 0; r < rounds; r++) {
        dcl[r] = run_stream(kind, arrays);
        hand[r] = kind == READ ? receive_by_hand(link, true) : send_by_hand(link, true, false);
        limit[r] = kind == READ ? receive_by_hand(link, false) : send_by_hand(link, false, false);
    }
    print_stream(kind, what, link, dcl, hand, limit);
}

static struct arrays make_arrays(dcl_cluster *cluster, int target)
{
    struct arrays made = {.cluster = cluster, .map = dcl_map_block(cluster), .values = new_array()};
    dcl_map *first = dcl_map_on(made.map, 1, (int[]){0}), *second = dcl_map_on(made.map, 1, (int[]){target});
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, ELEMENTS);
    made.A = dcl_agile(grid, first);
    made.B = dcl_agile(grid, second);
    check(made.A != NULL && made.B != NULL, "dcl_agile");
    dcl_release(first);
    dcl_release(second);
    return made;
}

static void free_arrays(struct arrays *arrays)
{
    dcl_release(arrays->A);
    dcl_release(arrays->B);
    dcl_release(arrays->map);
    free(arrays->values);
}

/* Of one worker with the program, or between two. */
static void measure_streams(const char *what, const char *workers, const char *move, const char *keys, int link)
{
    if (strstr(what, only) == NULL)
        return;
    dcl_cluster *cluster = open_cluster(workers, move, keys);
    int nodes = dcl_node_count(cluster);
    struct arrays arrays = make_arrays(cluster, nodes - 1);
    if (nodes == 1) {
        measure_stream(READ, what, link, &arrays);
        measure_stream(WRITE, what, link, &arrays);
    } else {
        measure_stream(COPY, what, link, &arrays);
    }
    free_arrays(&arrays);
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
}

/* ---- starts ------------------------------------------------------------------------------------------------------- */

/* The first of this name on its platform. */
static bool find_device(cl_platform_id platform, const char *wanted, cl_device_id *device_out)
{
    cl_device_id found[16];
    cl_uint count = 0;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, found, &count);
    for (cl_uint d = 0; d < count && d < 16; d++) {
        char name[128] = "";
        clGetDeviceInfo(found[d], CL_DEVICE_NAME, sizeof name, name, NULL);
        *device_out = found[d];
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* What the processes of the reference do. */
static int open_device(const char *name)
{
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    cl_device_id id;
    cl_int error = CL_DEVICE_NOT_FOUND;
    clGetPlatformIDs(16, platforms, &platform_count);
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        if (!find_device(platforms[p], name, &id))
            continue;
        cl_context opened = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
        if (error == CL_SUCCESS)
            clCreateCommandQueue(opened, id, 0, &error);
        break;
    }
    return error == CL_SUCCESS ? 0 : 1;
}

static double start_by_hand(int count)
{
    double start = now();
    pid_t started[2];
    for (int n = 0; n < count; n++) {
        char *arguments[] = {"workers", "--open-device", device.name, NULL};
        check(posix_spawn(&started[n], "/proc/self/exe", NULL, NULL, arguments, environ) == 0, "posix_spawn");
    }
    for (int n = 0; n < count; n++) {
        int status = 1;
        check(waitpid(started[n], &status, 0) == started[n] && status == 0, "a process that opens the device");
    }
    return now() - start;
}

static double start_cluster(const char *workers)
{
    double start = now();
    check(dcl_close(open_cluster(workers, "auto", NULL)) == DCL_OK, "dcl_close");
    return now() - start;
}

static void measure_start(const char *what, const char *workers)
{
    double dcl[MOST_ROUNDS], hand[MOST_ROUNDS];
    if (strstr(what, only) == NULL)
        return;
    start_cluster(workers);
    start_by_hand(2);
    for (int r = 0; r < rounds; r++) {
        dcl[r] = start_cluster(workers);
        hand[r] = start_by_hand(2);
    }
    double mine_s = quantile(rounds, dcl, 0.5), theirs = quantile(rounds, hand, 0.5);
    printf(
        "dcl_open + dcl_close, %s, nothing compiled: dcl %.1f ms, two processes at once that open the device %.1f ms, "
        "dcl / reference %.2f (median of %d, spread %.0f %%)\n",
        what, 1e3 * mine_s, 1e3 * theirs, mine_s / theirs, rounds, spread(dcl));
}

static void measure_plain(const char *one, const char *other)
{
    char both[129];
    snprintf(both, sizeof both, "%s,%s", one, other);
    measure_trips("local:1", "local:1", OVER_IPC);
    measure_trips("local:2", "local:2", OVER_IPC);
    measure_trips("tcp, 1 worker", one, OVER_TCP);
    measure_trips("tcp, 2 workers", both, OVER_TCP);
    measure_streams("local:1", "local:1", "auto", NULL, OVER_IPC);
    measure_streams("local:2, sent", "local:2", "send", NULL, OVER_IPC);
    measure_streams("local:2, in place", "local:2", "auto", NULL, OVER_IPC);
    measure_streams("tcp, 1 worker", one, "auto", NULL, OVER_TCP);
    measure_streams("tcp, 2 workers", both, "auto", NULL, OVER_TCP);
    measure_start("local:2", "local:2");
    measure_start("tcp, 2 workers", both);
}

static void measure_keys(const char *keys, const char *one, const char *other)
{
    char both[129];
    snprintf(both, sizeof both, "%s,%s", one, other);
    measure_streams("tcp with keys, 1 worker", one, "auto", keys, OVER_KEYS);
    measure_streams("tcp with keys, 2 workers", both, "auto", keys, OVER_KEYS);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--open-device") == 0)
        return open_device(argv[2]);
    rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 11;
    only = argc > 2 ? argv[2] : "";
    check(rounds >= 1 && rounds <= MOST_ROUNDS, "rounds is not 1..101");
    starter = getpid();
    atexit(clean_up);
    start_other_side();
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    find_program();
    choose_device();
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("DCL %s, commit %s, worker processes of this host on \"%s\"; streams until the data lies in an array of the "
           "receiver\n",
           dcl_version(), bench_commit, device.name);

    char address[4][64], worker_keys[128], program_keys[128];
    for (int link = 0; link < LINKS; link++) {
        open_link(link);
        verify_hand(link);
    }
    start_worker(NULL, NULL, address[0]);
    start_worker(NULL, NULL, address[1]);
    measure_plain(address[0], address[1]);
    make_keys(worker_keys, program_keys);
    start_worker(worker_keys, program_keys, address[2]);
    start_worker(worker_keys, program_keys, address[3]);
    measure_keys(program_keys, address[2], address[3]);
    return 0;
}

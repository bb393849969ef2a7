/* processes/crowd.c - a session of very many worker processes: crowd NODES. It opens, runs a stencil of five points, whose
 * values are compared with those of plain C, loses two nodes that forward messages to others, runs the stencil on the
 * rest, and closes. It measures the time of each, the memory of the workers (their proportional share, PSS), their
 * connections and the messages of the program. It fails if a worker has other connections than one to the program, one
 * along each edge of the tree and one to each node with which it exchanges elements, if the program sends messages to
 * others than its children in the tree, or if something is left. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { SIDE = 4, STEPS = 3, MOST_PSS_KB = 16 * 1024, MOST_SECONDS = 60 };

static const char stencil[] = "B(i,j) = 0.25f * ((i > 0 ? A(i-1,j) : 0) + (i < rows-1 ? A(i+1,j) : 0)"
                              "                + (j > 0 ? A(i,j-1) : 0) + (j < columns-1 ? A(i,j+1) : 0));";

static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- the workers as the system sees them ---- */

typedef struct crowd {
    int count, threads;
    long first; /* the least process id: node 0 is started first */
    long pss_kb, most_pss_kb, sockets;
} crowd;

/* A number of a file of /proc, after a word at the beginning of a line; -1: it is not there. */
static long number_of(const char *pid, const char *name, const char *word)
{
    char path[300], line[256];
    long number = -1;
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *file = fopen(path, "re");
    while (file != NULL && number < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, word, strlen(word)) == 0)
            number = strtol(line + strlen(word), NULL, 10);
    if (file != NULL)
        fclose(file);
    return number;
}

static int count_sockets(const char *pid)
{
    char path[300], target[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        count += strncmp(target, "socket:", strlen("socket:")) == 0;
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Look at all children of this process: the workers. */
static crowd look_around(void)
{
    crowd found = {0};
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (number_of(entry->d_name, "status", "PPid:") != (long)getpid())
            continue;
        long pss = number_of(entry->d_name, "smaps_rollup", "Pss:");
        long id = strtol(entry->d_name, NULL, 10);
        found.count++;
        found.first = found.first == 0 || id < found.first ? id : found.first;
        found.threads += (int)number_of(entry->d_name, "status", "Threads:");
        found.sockets += count_sockets(entry->d_name);
        found.pss_kb += pss;
        found.most_pss_kb = pss > found.most_pss_kb ? pss : found.most_pss_kb;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* ---- the stencil ---- */

static void step(int rows, int columns, const float *a, float *b)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            b[i * columns + j] =
                0.25f * ((i > 0 ? a[(i - 1) * columns + j] : 0) + (i < rows - 1 ? a[(i + 1) * columns + j] : 0) +
                         (j > 0 ? a[i * columns + j - 1] : 0) + (j < columns - 1 ? a[i * columns + j + 1] : 0));
}

/* Messages that the program has sent so far. */
static double messages_of_host(dcl_cluster *cluster)
{
    dcl_counters counters;
    check(dcl_wait(cluster), "dcl_wait");
    check(dcl_stats(cluster, DCL_HOST, &counters), "dcl_stats");
    return (double)counters.messages_sent;
}

/* Run the stencil on the nodes and here. @param messages_out  messages of the program per step after the first one.
 * @return whether the values are the same. */
static bool compute(dcl_cluster *cluster, dcl_map *map, int rows, int columns, double *messages_out)
{
    size_t count = (size_t)rows * (size_t)columns;
    float *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b), *found = calloc(count, sizeof *found);
    if (a == NULL || b == NULL || found == NULL)
        exit(EXIT_FAILURE);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, rows, columns);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    check(dcl_status_of(cluster), "making the arrays");
    for (size_t e = 0; e < count; e++)
        a[e] = (float)(e * 37 % 101);
    check(dcl_write(A, NULL, a, NULL), "dcl_write");
    for (int t = 0; t < STEPS; t++) {
        check(dcl_forall(cluster, stencil, DCL_OUT(B), DCL_IN(A), DCL_VALUE(rows), DCL_VALUE(columns)), "dcl_forall");
        check(dcl_swap(A, B), "dcl_swap");
        step(rows, columns, a, b);
        memcpy(a, b, count * sizeof *a);
        if (t == 0)
            *messages_out = messages_of_host(cluster);
    }
    *messages_out = (messages_of_host(cluster) - *messages_out) / (STEPS - 1);
    check(dcl_read(A, NULL, found, NULL), "dcl_read");
    bool right = memcmp(a, found, count * sizeof *a) == 0;
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    free(a);
    free(b);
    free(found);
    return right;
}

/* Kill the process with the least id, and wait until the program knows of the loss. */
static void lose_first(dcl_cluster *cluster)
{
    kill((pid_t)look_around().first, SIGKILL);
    while (dcl_status_of(cluster) == DCL_OK)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (dcl_status_of(cluster) != DCL_ERR_NODE_LOST)
        check(dcl_status_of(cluster), "waiting for a loss");
    dcl_clear_error(cluster);
}

/* A map over the nodes that live. */
static dcl_map *map_of_living(dcl_cluster *cluster, int nodes)
{
    int *living = calloc((size_t)nodes, sizeof *living), count = 0;
    if (living == NULL)
        exit(EXIT_FAILURE);
    for (int n = 0; n < nodes; n++)
        if (dcl_node_is_alive(cluster, n))
            living[count++] = n;
    dcl_map *rows = dcl_map_parse(cluster, "block,*"), *map = dcl_map_on(rows, count, living);
    dcl_release(rows);
    free(living);
    return map;
}

/* ---- the session ---- */

static int expect(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "crowd: expected %s\n", what);
    return holds ? 0 : 1;
}

int main(int argc, char *argv[])
{
    int nodes = argc > 1 ? atoi(argv[1]) : 64, down = 1;
    for (int n = 2; n * n <= nodes; n++) /* `block` divides both axes as evenly as it can */
        down = nodes % n == 0 ? n : down;
    int across = nodes / down;
    char workers[32];
    snprintf(workers, sizeof workers, "local:%d", nodes);
    dcl_config config = {.struct_size = sizeof config};
    check(dcl_config_read(&config), "dcl_config_read");
    config.workers = workers;

    double began = now();
    dcl_cluster *cluster = dcl_open(&config);
    if (cluster == NULL)
        check(DCL_ERR_INTERNAL, "dcl_open");
    double opened = now();
    double messages, later;
    bool right = compute(cluster, dcl_map_block(cluster), SIDE * down, SIDE * across, &messages);
    double computed = now();
    crowd found = look_around();
    lose_first(cluster);
    lose_first(cluster);
    bool right_again = compute(cluster, map_of_living(cluster, nodes), nodes, SIDE, &later);
    double looked = now();
    check(dcl_close(cluster), "dcl_close");
    double closed = now();
    int left = look_around().count;

    long links = (found.sockets - nodes) / 2; /* between nodes: both ends are counted */
    /* Without a tree, all nodes show their parts to each other. */
    int fanout = (int)config.fanout, edges = nodes > fanout ? nodes - fanout : nodes * (nodes - 1) / 2;
    int pairs = down * (across - 1) + across * (down - 1);
    printf(
        "%d workers, %d threads: open %.1f s, %d steps %.1f s, close %.1f s; memory each %.1f MB, at most %.1f MB; "
        "%ld links between nodes, %d pairs exchange, %d edges of the tree; the program sends %.1f messages per step\n",
        found.count, found.threads, opened - began, STEPS, computed - opened, closed - looked,
        (double)found.pss_kb / 1024 / found.count, (double)found.most_pss_kb / 1024, links, pairs, edges, messages);
    int wrong = expect(right, "the values of plain C") + expect(right_again, "them, too, after two losses") +
                expect(found.count == nodes, "as many workers as were asked for");
    wrong += expect(opened - began <= MOST_SECONDS, "the session to open within 60 s");
    wrong += expect(found.most_pss_kb <= MOST_PSS_KB, "at most 16 MB for each worker");
    wrong += expect(links <= pairs + edges, "links along the tree and between nodes that exchange only");
    wrong += expect(messages <= 2 * fanout + 2, "the program to send each message to its children only");
    wrong += expect(left == 0, "no worker to be left");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

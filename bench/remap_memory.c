/* remap_memory.c - what dcl_remap() and A + B^T need beside their arrays: memory of the worker processes, as it grows.
 *
 * Two worker processes of this host hold an array of floats, half of it each. A thread of this program looks at their
 * memory every few milliseconds while an array is remapped or copied, or C = A + B^T is computed: the private pages of each,
 * and the pages of the memfds that it writes. What a process has at most beyond what it had before, and beyond its part
 * of the new storage, is temporary: packed chunks, stages, plans. The limit is 64 MB and a tenth of a node's share. What
 * moves is compared with the plan, and the contents with what they were.
 *
 *     remap_memory [megabytes]      of the array: 1024 if not given. Ends with 1 where a limit is exceeded. */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

#include "common.h"

enum { NODES = 2, MOST_PROCESSES = 16, MEGA = 1 << 20, TRANSPOSED = 3 /* pairs of maps */ };

static int64_t side; /* elements along each axis */
static int exceeded;

/* ---- memory of the worker processes ------------------------------------------------------------------------------- */

/* Children of any thread of this program. */
static int list_workers(long process[])
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/children", task->d_name);
        FILE *file = fopen(path, "r");
        while (file != NULL && count < MOST_PROCESSES && fscanf(file, "%ld", &process[count]) == 1)
            count++;
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* Private memory of a process. */
static int64_t private_bytes(long process)
{
    char path[64], line[200];
    long long kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssAnon: %lld kB", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kilobytes * 1024;
}

/* Memory that a process shares with others, as far as it has pages: what it can write is its own. */
struct shared {
    unsigned long own[4096], seen[4096]; /* inodes */
    int own_count, seen_count;
};

static bool is_among(unsigned long inode, const unsigned long list[], int count)
{
    int n = 0;
    while (n < count && list[n] != inode)
        n++;
    return n < count;
}

static void list_own(struct shared *shared, long process)
{
    char path[64], line[400], access[8], name[64];
    unsigned long inode;
    int most = (int)(sizeof shared->own / sizeof shared->own[0]);
    snprintf(path, sizeof path, "/proc/%ld/maps", process);
    FILE *file = fopen(path, "r");
    while (file != NULL && shared->own_count < most && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%*s %7s %*s %*s %lu %63s", access, &inode, name) == 3 && strcmp(access, "rw-s") == 0 &&
            strncmp(name, "/memfd:", 7) == 0)
            shared->own[shared->own_count++] = inode;
    if (file != NULL)
        fclose(file);
}

/* Of a descriptor: 0 where it is no memory, another process's, or counted already. */
static int64_t bytes_behind(struct shared *shared, const char *path)
{
    char name[64];
    struct stat about;
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (length <= 7 || memcmp(name, "/memfd:", 7) != 0 || stat(path, &about) != 0 ||
        !is_among(about.st_ino, shared->own, shared->own_count) ||
        is_among(about.st_ino, shared->seen, shared->seen_count) ||
        shared->seen_count == (int)(sizeof shared->seen / sizeof shared->seen[0]))
        return 0;
    shared->seen[shared->seen_count++] = about.st_ino;
    return (int64_t)about.st_blocks * 512;
}

static int64_t shared_bytes(long process)
{
    static struct shared shared;
    char folder[64], path[400];
    int64_t sum = 0;
    shared.own_count = shared.seen_count = 0;
    list_own(&shared, process);
    snprintf(folder, sizeof folder, "/proc/%ld/fd", process);
    DIR *descriptors = opendir(folder);
    for (const struct dirent *entry; descriptors != NULL && (entry = readdir(descriptors)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        sum += bytes_behind(&shared, path);
    }
    if (descriptors != NULL)
        closedir(descriptors);
    return sum;
}

static int64_t memory_of(long process) { return private_bytes(process) + shared_bytes(process); }

struct watch {
    long process[MOST_PROCESSES];
    int count, looks;
    int64_t before[MOST_PROCESSES], most[MOST_PROCESSES];
    atomic_bool ends;
    pthread_t thread;
};

static void look(struct watch *watch)
{
    for (int p = 0; p < watch->count; p++) {
        int64_t found = memory_of(watch->process[p]);
        watch->most[p] = found > watch->most[p] ? found : watch->most[p];
    }
    watch->looks++;
}

static void *keep_looking(void *user)
{
    struct watch *watch = user;
    while (!watch->ends) {
        look(watch);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

static void begin_watch(struct watch *watch)
{
    memset(watch, 0, sizeof *watch);
    watch->count = list_workers(watch->process);
    look(watch);
    memcpy(watch->before, watch->most, sizeof watch->before);
    check(watch->count == NODES && pthread_create(&watch->thread, NULL, keep_looking, watch) == 0, "worker processes");
}

/* The most there was in one of the processes beyond what was there before, less `kept` bytes. */
static int64_t end_watch(struct watch *watch, int64_t kept)
{
    int64_t most = INT64_MIN;
    watch->ends = true;
    pthread_join(watch->thread, NULL);
    look(watch);
    for (int p = 0; p < watch->count; p++)
        most = watch->most[p] - watch->before[p] > most ? watch->most[p] - watch->before[p] : most;
    return most - kept;
}

/* ---- cases -------------------------------------------------------------------------------------------------------- */

static void report(const char *what, int64_t temporary, int64_t moved, double seconds, int looks)
{
    int64_t share = side * side * 4 / NODES, limit = 64 * MEGA + share / 10;
    printf("%-61s temporary %5.1f MB on a node, limit %5.1f; moved %7.1f MB, %5.2f s, %d looks%s\n", what,
           (double)temporary / MEGA, (double)limit / MEGA, (double)moved / MEGA, seconds, looks,
           temporary > limit ? "; EXCEEDED" : "");
    fflush(stdout);
    exceeded += temporary > limit;
}

static int64_t moved_so_far(dcl_cluster *cluster)
{
    dcl_counters counters;
    check(dcl_stats(cluster, DCL_ALL_NODES, &counters) == DCL_OK, "dcl_stats");
    return counters.bytes_moved;
}

static dcl_array *make(dcl_cluster *cluster, int64_t rows, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_FLOAT, rows, rows), map);
    check(array != NULL, text);
    dcl_release(map);
    return array;
}

static void count_up(dcl_array *A)
{
    check(dcl_forall(dcl_cluster_of(A), "A(i,j) = (float)((i * 7 + j * 13) % 1000003);", DCL_OUT(A)) == DCL_OK,
          "dcl_forall");
    check(dcl_wait(dcl_cluster_of(A)) == DCL_OK, "dcl_wait");
}

/* Some rows of it. */
static void expect_counted_up(dcl_array *A, const char *what)
{
    float *row = malloc((size_t)side * sizeof *row);
    check(row != NULL, "memory");
    for (int64_t i = 0; i < side; i += side / 61 + 1) {
        dcl_box box = dcl_box_nd(2, (int64_t[]){i, 0}, (int64_t[]){1, side});
        check(dcl_read(A, &box, row, NULL) == DCL_OK, "dcl_read");
        for (int64_t j = 0; j < side; j++)
            if (row[j] != (float)((i * 7 + j * 13) % 1000003)) {
                fprintf(stderr, "remap_memory: %s: element (%" PRId64 ",%" PRId64 ") is %g\n", what, i, j,
                        (double)row[j]);
                exit(2);
            }
    }
    free(row);
}

typedef void case_fn(dcl_cluster *cluster, const char *move, const char *from, const char *to);

static void remap(dcl_cluster *cluster, const char *move, const char *from, const char *to)
{
    char what[200];
    struct watch watch;
    dcl_counters planned;
    snprintf(what, sizeof what, "%s: remap %s to %s", move, from, to);
    dcl_array *A = make(cluster, side, from);
    dcl_map *map = dcl_map_parse(cluster, to);
    count_up(A);
    check(dcl_call_explain(DCL_CALL_REMAP(A, map, 0), DCL_ALL_NODES, &planned) == DCL_OK, "explain remap");
    int64_t moved = moved_so_far(cluster);
    begin_watch(&watch);
    double begin = now();
    check(dcl_remap(A, map) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_remap");
    double seconds = now() - begin;
    int64_t temporary = end_watch(&watch, side * side * 4 / NODES);
    moved = moved_so_far(cluster) - moved;
    check(moved == planned.bytes_moved, "what has moved is not what was planned");
    report(what, temporary, moved, seconds, watch.looks);
    expect_counted_up(A, what);
    dcl_release(A);
    dcl_release(map);
}

/* The same movement between arrays that are both there: what is temporary is seen apart from what comes and goes. */
static void copy(dcl_cluster *cluster, const char *move, const char *from, const char *to)
{
    char what[200];
    struct watch watch;
    dcl_counters planned;
    snprintf(what, sizeof what, "%s: copy %s to %s", move, from, to);
    dcl_array *A = make(cluster, side, from), *B = make(cluster, side, to);
    float zero = 0;
    count_up(A);
    check(dcl_fill(B, &zero) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_fill");
    check(dcl_call_explain(DCL_CALL_COPY(A, B), DCL_ALL_NODES, &planned) == DCL_OK, "explain copy");
    int64_t moved = moved_so_far(cluster);
    begin_watch(&watch);
    double begin = now();
    check(dcl_copy(A, B) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_copy");
    double seconds = now() - begin;
    int64_t temporary = end_watch(&watch, 0);
    moved = moved_so_far(cluster) - moved;
    check(moved == planned.bytes_moved, "what has moved is not what was planned");
    report(what, temporary, moved, seconds, watch.looks);
    expect_counted_up(B, what);
    dcl_release(A);
    dcl_release(B);
}

static void transpose(dcl_cluster *cluster, const char *move, const char *of_b, const char *of_c)
{
    char what[200];
    struct watch watch;
    snprintf(what, sizeof what, "%s: A + B^T, A and C %s, B %s", move, of_c, of_b);
    dcl_array *A = make(cluster, side, of_c), *B = make(cluster, side, of_b), *C = make(cluster, side, of_c);
    count_up(B);
    float zero = 0;
    check(dcl_fill(A, &zero) == DCL_OK && dcl_fill(C, &zero) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_fill");
    int64_t moved = moved_so_far(cluster);
    begin_watch(&watch);
    double begin = now();
    check(dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)) == DCL_OK &&
              dcl_wait(cluster) == DCL_OK,
          "dcl_forall");
    double seconds = now() - begin;
    int64_t temporary = end_watch(&watch, 0);
    report(what, temporary, moved_so_far(cluster) - moved, seconds, watch.looks);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
}

/* Compilers take memory, too, which is not what is looked at. */
static void warm(dcl_cluster *cluster)
{
    dcl_array *A = make(cluster, 64, "block"), *B = make(cluster, 64, "block");
    dcl_map *map = dcl_map_parse(cluster, "cyclic");
    count_up(A);
    check(dcl_remap(A, map) == DCL_OK, "dcl_remap");
    check(dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT_AS("C", B), DCL_IN(A), DCL_IN_AS("B", A)) == DCL_OK,
          "dcl_forall");
    check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
}

/* In a cluster of its own: worker processes keep what arrays before have left. */
static void run(const dcl_config *config, case_fn *one, const char *from, const char *to)
{
    dcl_cluster *cluster = dcl_open(config);
    check(cluster != NULL, "dcl_open");
    warm(cluster);
    one(cluster, config->transfer, from, to);
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
}

int main(int argc, char **argv)
{
    static const char *const maps[][2] = {
        {"block,*", "cyclic"}, {"block,*", "*,block"},   {"rows:cyclic(64x64)", "block,*"},
        {"cyclic", "block"},   {"block", "rows:cyclic"}, {"rows:cyclic(256x256)", "columns:block(100x100)"}};
    static const char *const moves[] = {"auto", "send"};
    dcl_config config;
    int64_t megabytes = argc > 1 ? atol(argv[1]) : 1024;
    check(megabytes >= 1 && dcl_config_read(&config) == DCL_OK, "[megabytes]");
    while ((side + 1) * (side + 1) * 4 <= megabytes * MEGA)
        side++;
    printf("# %s: an array of %" PRId64 " x %" PRId64 " floats on local:2\n", bench_commit, side, side);
    config.workers = "local:2";
    for (int m = 0; m < 2; m++) {
        config.transfer = moves[m];
        for (size_t k = 0; k < sizeof maps / sizeof maps[0]; k++) {
            run(&config, copy, maps[k][0], maps[k][1]);
            run(&config, remap, maps[k][0], maps[k][1]);
            if (k < TRANSPOSED)
                run(&config, transpose, maps[k][0], maps[k][1]);
        }
    }
    return exceeded > 0;
}

/* processes/pools.c - memory of worker processes comes from few pools and is used again: pools many COUNT | remap
 *
 * many:  COUNT arrays, most of them small, are made, filled, read from other nodes' parts, and released; those made after
 *        that are zero. Prints `made N`, `right N`, `zero N`, `descriptors N` (of parts, the most that a process had) and
 *        `kept N` (megabytes of parts, the most that a process has after all are released).
 * remap: an array that is remapped again and again lies in the same few memories. Prints `remaps N` and `memories N`: the
 *        memfds that parts lay in, of all processes and rounds.
 * What is wrong is printed as `WRONG ...`. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dcl.h>

enum { ELEMENTS = 1000, STEP = 61 /* one of so many is looked at */, MOST_PROCESSES = 16, MOST_PARTS = 4096 };

static void fail(const char *what, const char *why)
{
    printf("WRONG %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        fail(what, dcl_error());
}

static void say(const char *word, int64_t number)
{
    printf("%s %lld\n", word, (long long)number);
    fflush(stdout);
}

/* ---- memory of the worker processes ------------------------------------------------------------------------------- */

/* Memfds that parts of arrays lie in, of all processes. */
struct parts {
    uint64_t inode[MOST_PARTS];
    int count, most_of_one;
    int64_t most_bytes_of_one;
};

/* Children of any thread of this program. */
static int list_workers(int process[])
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/children", task->d_name);
        FILE *file = fopen(path, "r");
        while (file != NULL && count < MOST_PROCESSES && fscanf(file, "%d", &process[count]) == 1)
            count++;
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

static void add_parts(struct parts *parts, int process)
{
    char folder[64], path[400], name[64];
    int before = parts->count;
    int64_t bytes = 0;
    snprintf(folder, sizeof folder, "/proc/%d/fd", process);
    DIR *descriptors = opendir(folder);
    for (const struct dirent *entry; descriptors != NULL && (entry = readdir(descriptors)) != NULL;) {
        struct stat about;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, name, sizeof name - 1);
        if (length < 15 || memcmp(name, "/memfd:dcl-part", 15) != 0 || stat(path, &about) != 0)
            continue;
        if (parts->count == MOST_PARTS)
            fail("descriptors", "there are too many");
        parts->inode[parts->count++] = about.st_ino;
        bytes += (int64_t)about.st_blocks * 512;
    }
    if (descriptors != NULL)
        closedir(descriptors);
    if (parts->count - before > parts->most_of_one)
        parts->most_of_one = parts->count - before;
    if (bytes > parts->most_bytes_of_one)
        parts->most_bytes_of_one = bytes;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct parts *list_parts(void)
{
    static struct parts parts;
    int process[MOST_PROCESSES], count = list_workers(process);
    memset(&parts, 0, sizeof parts);
    for (int p = 0; p < count; p++)
        add_parts(&parts, process[p]);
    qsort(parts.inode, (size_t)parts.count, sizeof parts.inode[0], by_value);
    return &parts;
}

/* ---- many arrays -------------------------------------------------------------------------------------------------- */

static int64_t elements_of(int n) { return n % 1000 == 999 ? 1500000 : n % 13 == 0 ? 40 * ELEMENTS : ELEMENTS; }

static dcl_array **make(dcl_map *map, int count)
{
    dcl_array **array = calloc((size_t)count, sizeof array[0]);
    for (int n = 0; array != NULL && n < count; n++)
        if ((array[n] = dcl_agile(dcl_grid_1d(DCL_INT32, elements_of(n)), map)) == NULL)
            fail("dcl_agile", dcl_error());
    return array;
}

/* The first elements of Y, in reverse: each node reads the other's. */
static void expect(dcl_array *S, dcl_array *Y, int32_t value)
{
    static int32_t found[ELEMENTS];
    check(dcl_forall(dcl_cluster_of(S), "S(i) = Y(999 - i);", DCL_OUT(S), DCL_IN(Y)), "dcl_forall");
    check(dcl_read(S, NULL, found, NULL), "dcl_read");
    for (int i = 0; i < ELEMENTS; i++)
        if (found[i] != value)
            fail("an element", "it is not what it was set to");
}

static int look(dcl_array *S, int count, dcl_array *array[], bool filled)
{
    int looked = 0;
    for (int n = 0; n < count; n += STEP, looked++)
        expect(S, array[n], filled ? n + 1 : 0);
    return looked;
}

static void release(int count, dcl_array *array[])
{
    for (int n = 0; n < count; n++)
        dcl_release(array[n]);
    free(array);
}

static void run_many(dcl_cluster *cluster, int count)
{
    dcl_map *map = dcl_map_parse(cluster, "block");
    dcl_array *S = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map), **array = make(map, count);
    check(dcl_wait(cluster), "dcl_wait");
    say("made", count);
    for (int n = 0; n < count; n++)
        check(dcl_fill(array[n], &(int32_t){n + 1}), "dcl_fill");
    say("right", look(S, count, array, true));
    int descriptors = list_parts()->most_of_one;
    release(count, array);
    check(dcl_wait(cluster), "dcl_release");
    array = make(map, count / 4);
    say("zero", look(S, count / 4, array, false));
    release(count / 4, array);
    check(dcl_wait(cluster), "dcl_release");
    say("descriptors", descriptors);
    say("kept", list_parts()->most_bytes_of_one >> 20);
    dcl_release(S);
    dcl_release(map);
}

/* ---- an array that is remapped ------------------------------------------------------------------------------------ */

/* Add the memfds of parts that were not seen before. */
static void add_fresh(struct parts *seen)
{
    const struct parts *now = list_parts();
    for (int n = 0; n < now->count; n++) {
        int known = 0;
        while (known < seen->count && seen->inode[known] != now->inode[n])
            known++;
        if (known == MOST_PARTS)
            fail("descriptors", "there are too many");
        if (known == seen->count)
            seen->inode[seen->count++] = now->inode[n];
    }
}

/* A remap may begin while readers still hold the memory of the one before, so an array may lie in three memories of each
 * process at once. All further remaps use those again. */
static void run_remap(dcl_cluster *cluster)
{
    enum { ROWS = 1000, COLUMNS = 40000, ROUNDS = 6, MOST_OF_PROCESS = 4 };
    static struct parts seen;
    dcl_map *map[] = {dcl_map_parse(cluster, "*,block"), dcl_map_parse(cluster, "block,*")};
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_INT32, ROWS, COLUMNS), map[1]);
    check(dcl_forall(cluster, "A(i,j) = 40000*i + j;", DCL_OUT(A)), "dcl_forall");
    for (int round = 0; round < ROUNDS; round++) {
        for (int m = 0; m < 2; m++)
            check(dcl_remap(A, map[m]), "dcl_remap");
        check(dcl_wait(cluster), "dcl_wait");
        add_fresh(&seen);
    }
    if (seen.count > MOST_OF_PROCESS * list_workers((int[MOST_PROCESSES]){0}))
        fail("remaps", "each of them takes fresh memory");
    static int32_t found[COLUMNS];
    for (int64_t i = 0; i < ROWS; i += 111) {
        dcl_box row = dcl_box_nd(2, (int64_t[]){i, 0}, (int64_t[]){1, COLUMNS});
        check(dcl_read(A, &row, found, NULL), "dcl_read");
        for (int64_t j = 0; j < COLUMNS; j++)
            if (found[j] != COLUMNS * i + j)
                fail("an element", "it is not what it was before");
    }
    say("remaps", 2 * ROUNDS);
    say("memories", seen.count);
    dcl_release(A);
    dcl_release(map[0]);
    dcl_release(map[1]);
}

int main(int argc, char **argv)
{
    dcl_cluster *cluster = dcl_open(NULL);
    check(dcl_status_of(cluster), "dcl_open");
    if (argc == 3 && strcmp(argv[1], "many") == 0)
        run_many(cluster, atoi(argv[2]));
    else if (argc == 2 && strcmp(argv[1], "remap") == 0)
        run_remap(cluster);
    else
        fail("arguments", "pools many COUNT | remap");
    check(dcl_close(cluster), "dcl_close");
    return EXIT_SUCCESS;
}

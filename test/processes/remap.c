/* processes/remap.c - arrays that are remapped and copied by worker processes: remap chains SEED COUNT | quota | lost | chunks N
 *
 * chains: COUNT arrays, each taken through random maps; what is read back has to be what was written. Prints `right N`.
 * quota: with DCL_QUOTA_BYTES=19000000, parts of 10000000 bytes have no second ones beside them, and replicas of other nodes'
 *        elements count like parts. Prints `right 3`, `counted`.
 * chunks: what one node copies from another arrives in N messages, as explained before. Prints `right 1`.
 * lost: a worker process is killed while an array is remapped again and again. Prints `lost N`, `right 3`; or `WRONG ...`. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { MOST_ELEMENTS = 5000000 };

static uint64_t state; /* of draw() */

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

static void expect(dcl_status status, dcl_status expected, const char *words, const char *what)
{
    if (status != expected || strstr(dcl_error(), words) == NULL)
        fail(what, dcl_error());
}

/* A number below `below`. Source: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static int64_t draw(int64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)below);
}

static dcl_map *parse(dcl_cluster *cluster, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    if (map == NULL)
        fail(text, dcl_error());
    return map;
}

/* An array of numbers 7, 10, 13, ... */
static dcl_array *count_up(dcl_cluster *cluster, dcl_grid grid, const char *text)
{
    static int32_t element[MOST_ELEMENTS];
    dcl_map *map = parse(cluster, text);
    dcl_array *array = dcl_agile(grid, map);
    dcl_release(map);
    for (int64_t e = 0; e < dcl_grid_count(&grid); e++)
        element[e] = (int32_t)(7 + 3 * e);
    check(dcl_write(array, NULL, element, NULL), "dcl_write");
    return array;
}

static void expect_counted_up(dcl_array *array, const char *what)
{
    static int32_t element[MOST_ELEMENTS];
    dcl_grid grid = dcl_grid_of(array);
    check(dcl_read(array, NULL, element, NULL), what);
    for (int64_t e = 0; e < dcl_grid_count(&grid); e++)
        if (element[e] != 7 + 3 * e)
            fail(what, "an element is not what it was");
}

/* ---- chains ------------------------------------------------------------------------------------------------------- */

static const char *random_map(char text[80])
{
    static const char *const kinds[] = {"block", "cyclic", "block,*", "*,cyclic(3)", "rows:cyclic", "columns:block"};
    switch (draw(4)) {
    case 0:
        snprintf(text, 80, "rows:cyclic(%dx%d)", 1 + (int)draw(9), 1 + (int)draw(9));
        return text;
    case 1:
        snprintf(text, 80, "cyclic(%d),cyclic(%d);tile=%dx%d", 1 + (int)draw(5), 1 + (int)draw(5), 1 + (int)draw(40),
                 1 + (int)draw(40));
        return text;
    default:
        return kinds[draw(6)];
    }
}

static void run_chain(dcl_cluster *cluster, int number)
{
    char text[80], what[160];
    dcl_grid grid = dcl_grid_2d(DCL_INT32, draw(200), 1 + draw(200));
    dcl_array *array = count_up(cluster, grid, random_map(text));
    for (int step = 0; step < 5; step++) {
        dcl_map *map = parse(cluster, random_map(text));
        snprintf(what, sizeof what, "array %d, %d x %d, step %d: %s", number, (int)grid.extent[0], (int)grid.extent[1],
                 step, text);
        if (draw(4) == 0) {
            dcl_array *copied = dcl_agile(grid, map);
            check(dcl_copy(array, copied), what);
            dcl_release(array);
            array = copied;
        } else {
            check(dcl_remap_with(array, map, draw(2) == 0 ? DCL_REMAP_RELABEL : 0), what);
        }
        dcl_release(map);
        if (draw(2) == 0)
            expect_counted_up(array, what);
    }
    expect_counted_up(array, what);
    dcl_release(array);
}

static void run_chains(dcl_cluster *cluster, uint64_t seed, int count)
{
    state = seed * 2 + 1;
    for (int n = 0; n < count; n++)
        run_chain(cluster, n);
    printf("right %d\n", count);
}

/* ---- no room ------------------------------------------------------------------------------------------------------ */

static void run_without_room(dcl_cluster *cluster)
{
    dcl_map *cyclic = parse(cluster, "cyclic");
    dcl_array *A = count_up(cluster, dcl_grid_1d(DCL_INT32, 2500000 * dcl_node_count(cluster)), "block");
    dcl_array *small = count_up(cluster, dcl_grid_1d(DCL_INT32, 100), "block");
    expect(dcl_remap(A, cyclic), DCL_ERR_NOMEM, "exceed the quota", "a remap without room");
    expect(DCL_ERR_NOMEM, DCL_ERR_NOMEM, "the array keeps its map and its contents", "a remap without room");
    dcl_clear_error(cluster);
    expect_counted_up(A, "the array that was not remapped");
    check(dcl_remap(small, cyclic), "a remap with room"); /* what was taken for the other has been given back */
    expect_counted_up(small, "the small array");
    dcl_release(A);
    A = count_up(cluster, dcl_grid_1d(DCL_INT32, 1000000 * dcl_node_count(cluster)), "block");
    check(dcl_remap(A, cyclic), "a remap with room");
    expect_counted_up(A, "the array that was remapped");
    printf("right 3\n");
    dcl_release(A);
    dcl_release(small);
    dcl_release(cyclic);
}

/* Node 0 has 4000000 bytes of A, twice as many of B, each with 256 bytes for lines around them, and copies of twice that of the one
 * or the other. */
static void run_with_copies(dcl_cluster *cluster)
{
    int32_t one = 1;
    dcl_map *first = parse(cluster, "block;nodes=0-1");
    dcl_array *A = count_up(cluster, dcl_grid_1d(DCL_INT32, 2000000), "block;nodes=0-1");
    check(dcl_move(A, NULL, 0), "dcl_move");
    check(dcl_wait(cluster), "a copy beside its array");
    dcl_array *B = dcl_agile(dcl_grid_1d(DCL_INT32, 4000000), first);
    expect(dcl_wait(cluster), DCL_ERR_NOMEM, "8000256 bytes for a new array exceed the quota of this session",
           "another array");
    expect(DCL_ERR_NOMEM, DCL_ERR_NOMEM, "(arrays 4000256, replicas 8000000", "another array");
    dcl_clear_error(cluster);
    check(dcl_keep(A, false), "dcl_keep");
    check(dcl_wait(cluster), "the copy is dropped"); /* calls after it may begin before its memory is given back */
    check(dcl_fill(B, &one), "dcl_fill");
    check(dcl_wait(cluster), "another array once the copy is dropped");
    check(dcl_move(B, NULL, 0), "dcl_move");
    expect(dcl_wait(cluster), DCL_ERR_NOMEM, "16000000 bytes for a replica of other nodes' elements exceed the quota",
           "a copy beside two arrays");
    dcl_clear_error(cluster);
    expect_counted_up(A, "the array whose copy was dropped");
    printf("counted\n");
    dcl_release(A);
    dcl_release(B);
    dcl_release(first);
}

/* ---- a node is lost ----------------------------------------------------------------------------------------------- */

/* A child of any thread of this process. @return 0: none. */
static pid_t worker_process(void)
{
    int process = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; process == 0 && tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/children", task->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fscanf(file, "%d", &process) != 1)
            process = 0;
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return process;
}

static int lost_node(const dcl_cluster *cluster)
{
    for (int n = 0; n < dcl_node_count(cluster); n++)
        if (!dcl_node_is_alive(cluster, n))
            return n;
    return -1;
}

/* Remap an array over all nodes to and fro until one of them is lost. */
static void remap_until_lost(dcl_cluster *cluster, dcl_array *A)
{
    dcl_map *map[2] = {parse(cluster, "cyclic"), parse(cluster, "block")};
    dcl_status status = DCL_OK;
    int rounds = 0;
    for (time_t end = time(NULL) + 30; status == DCL_OK && time(NULL) < end; rounds++) {
        if (rounds == 20) {
            pid_t worker = worker_process();
            if (worker == 0 || kill(worker, SIGKILL) != 0)
                fail("kill", "no worker process was found");
        }
        status = dcl_remap(A, map[rounds % 2]);
    }
    expect(status, DCL_ERR_NODE_LOST, "node ", "remapping while a node is lost");
    expect(dcl_remap(A, map[1 - rounds % 2]), DCL_ERR_NODE_LOST, "lost", "a remap of what is lost");
    printf("lost %d\n", lost_node(cluster));
    fflush(stdout);
    dcl_release(map[0]);
    dcl_release(map[1]);
}

static void run_with_loss(dcl_cluster *cluster)
{
    enum { NODES = 3 };
    dcl_array *A = count_up(cluster, dcl_grid_1d(DCL_INT32, MOST_ELEMENTS), "block"), *on[NODES];
    dcl_map *before = parse(cluster, "cyclic");
    for (int n = 0; n < NODES; n++) {
        char text[32];
        snprintf(text, sizeof text, "block;nodes=%d", n);
        on[n] = count_up(cluster, dcl_grid_1d(DCL_INT32, 1000), text);
    }
    check(dcl_wait(cluster), "dcl_wait");
    remap_until_lost(cluster, A);
    int lost = lost_node(cluster), right = 1;
    dcl_clear_error(cluster);
    dcl_map *after = parse(cluster, "cyclic");
    expect(dcl_remap(on[lost], after), DCL_ERR_NODE_LOST, "cannot remap an array with a part on a node that is lost",
           "an array on the node that is lost");
    for (int n = 0; n < NODES; n++) {
        if (n == lost)
            continue;
        expect(dcl_remap(on[n], before), DCL_ERR_NODE_LOST, "make the map anew", "a map from before");
        expect_counted_up(on[n], "an array elsewhere");
        check(dcl_remap(on[n], after), "a remap afterwards");
        expect_counted_up(on[n], "an array that was remapped afterwards");
        right++;
    }
    printf("right %d\n", right);
    dcl_clear_error(cluster);
    dcl_release(A);
    for (int n = 0; n < NODES; n++)
        dcl_release(on[n]);
    dcl_release(before);
    dcl_release(after);
}

static dcl_counters counters_of(dcl_cluster *cluster)
{
    dcl_counters counters;
    check(dcl_wait(cluster), "dcl_wait");
    check(dcl_stats(cluster, DCL_ALL_NODES, &counters), "dcl_stats");
    return counters;
}

static void run_chunks(dcl_cluster *cluster, int64_t messages)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, 3000000); /* the second node copies 6 MB */
    dcl_map *block = parse(cluster, "block"), *last = dcl_map_on(block, 1, (int[]){1});
    dcl_array *from = count_up(cluster, grid, "block"), *to = dcl_agile(grid, last);
    dcl_counters planned, before = counters_of(cluster);
    check(dcl_call_explain(DCL_CALL_COPY(from, to), DCL_ALL_NODES, &planned), "dcl_call_explain");
    check(dcl_copy(from, to), "dcl_copy");
    int64_t counted = counters_of(cluster).messages_planned - before.messages_planned;
    if (planned.messages_planned != messages || counted != messages) {
        printf("WRONG %lld messages planned, %lld counted; expected %lld\n", (long long)planned.messages_planned,
               (long long)counted, (long long)messages);
        exit(EXIT_FAILURE);
    }
    expect_counted_up(to, "chunks");
    printf("right 1\n");
    dcl_release(to);
    dcl_release(from);
    dcl_map_release(last);
    dcl_map_release(block);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    dcl_cluster *cluster = dcl_open(NULL);
    check(dcl_status_of(cluster), "dcl_open");
    if (strcmp(what, "chains") == 0)
        run_chains(cluster, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, argc > 3 ? atoi(argv[3]) : 50);
    else if (strcmp(what, "quota") == 0) {
        run_without_room(cluster);
        run_with_copies(cluster);
    } else if (strcmp(what, "lost") == 0)
        run_with_loss(cluster);
    else if (strcmp(what, "chunks") == 0)
        run_chunks(cluster, argc > 2 ? atoi(argv[2]) : 1);
    else
        fail("remap chains SEED COUNT | quota | lost | chunks N", what);
    check(dcl_close(cluster), "dcl_close");
    return EXIT_SUCCESS;
}

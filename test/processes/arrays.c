/* processes/arrays.c - a program that makes many arrays while a node takes nothing: arrays COUNT
 *
 * First the nodes compile a body that no cache knows, then a worker process of its own is stopped for a while. What one
 * node shows the other of each array waits that long. Prints `made N` after either, and `right N` when so many of the
 * arrays have been computed from other nodes' parts and read back; or `WRONG ...`. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { ELEMENTS = 1000, RELEASED = 10 /* one of so many, at once */, STEP = 97 /* one of so many is looked at */ };

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

/* @return 0: none. */
static pid_t worker_process(void)
{
    char path[64];
    int process = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%d", &process) != 1)
        process = 0;
    fclose(file);
    return process;
}

static void make(dcl_map *map, int count, dcl_array *array[])
{
    for (int n = 0; n < count; n++) {
        array[n] = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map);
        if (array[n] == NULL)
            fail("dcl_agile", dcl_error());
        if (n % RELEASED == 1) {
            dcl_array_release(array[n]);
            array[n] = NULL;
        }
    }
    printf("made %d\n", count);
    fflush(stdout);
}

static void make_while_compiling(dcl_array *X, dcl_map *map, int count, dcl_array *array[])
{
    char body[64];
    snprintf(body, sizeof body, "X(i) = i + 0 * %d;", (int)getpid());
    check(dcl_forall(dcl_cluster_of(X), body, DCL_OUT(X)), "dcl_forall");
    make(map, count, array);
}

static void make_while_stopped(dcl_map *map, int count, dcl_array *array[])
{
    pid_t worker = worker_process();
    if (worker > 0)
        kill(worker, SIGSTOP);
    make(map, count, array);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* the other nodes come to the last of them */
    if (worker > 0)
        kill(worker, SIGCONT);
}

static void look_at(dcl_array *X, dcl_array *Y)
{
    int32_t found[ELEMENTS], two = 2;
    check(dcl_fill(Y, &two), "dcl_fill");
    check(dcl_forall(dcl_cluster_of(X), "Y(i) = Y(i) + X(999 - i);", DCL_INOUT(Y), DCL_IN(X)), "dcl_forall");
    check(dcl_read(Y, NULL, found, NULL), "dcl_read");
    for (int i = 0; i < ELEMENTS; i++)
        if (found[i] != 2 + ELEMENTS - 1 - i)
            fail("an array", "its elements are not those of plain C");
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2000, looked = 0;
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_parse(cluster, "block");
    dcl_array *X = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map);
    dcl_array **array = calloc(2 * (size_t)count, sizeof array[0]);
    check(dcl_status_of(cluster), "dcl_open");
    if (array == NULL)
        return EXIT_FAILURE;
    make_while_compiling(X, map, count, array);
    check(dcl_wait_for(X, 60), "dcl_wait_for");
    make_while_stopped(map, count, array + count);
    for (int n = 0; n < 2 * count; n++) {
        if (n % STEP == 0 && array[n] != NULL) {
            look_at(X, array[n]);
            looked++;
        }
        dcl_array_release(array[n]);
    }
    printf("right %d\n", looked);
    free(array);
    dcl_release(X);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return EXIT_SUCCESS;
}

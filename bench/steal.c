/* steal.c - work that is spread unevenly over nodes, and what it costs that it could be lent.
 *
 *     steal [item]         uneven, slow, mandelbrot, balanced; all of them if not given
 *
 * uneven      256 tasks of 512 integers whose cost is proportional to the task's number, map "block", two worker processes of this
 *             host on a processor each. Ideal: the time of all tasks on one such process, divided by two. Without lending, the
 *             node with the second half takes 1.5 of that.
 * slow        256 tasks of equal cost; one of the two processes does everything twice. Ideal: the time on one process / 1.5.
 * mandelbrot  the set on 4096^2 points, at most 256 steps. Ideal: the time on one process / 2.
 * balanced    C = A + B, C = A + B^T and a five-point stencil on 2048^2 floats: one embedded node, and two worker processes.
 *
 * Nodes do not lend yet: figures say "never". Timed: a call and its wait, from the second on, the clusters taking turns. Results are
 * compared first. Processes of a single processor need one that is free: with other work on this host, nothing here means much. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

#include "common.h"

enum { ROUNDS = 11, TASKS = 256, TASK = 512, SIDE = 4096, FLOATS = 2048 };

static dcl_cluster *open_cluster(const char *workers, bool pinned)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.workers = workers;
    config.pin = pinned;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

/* ---- uneven work ---------------------------------------------------------------------------------------------------- */

/* A body with one output, and what one process is measured against. */
struct work {
    const char *name, *body, *map;
    dcl_grid grid;
    double ideal; /* nodes that are as fast as the one alone */
};

static double run(dcl_cluster *cluster, const struct work *work, dcl_array *C)
{
    double began = now_ms();
    check(dcl_forall(cluster, work->body, DCL_OUT(C)) == DCL_OK && dcl_wait(cluster) == DCL_OK, work->name);
    return now_ms() - began;
}

static void compare(const struct work *work, dcl_array *C, dcl_array *D)
{
    int64_t count = dcl_grid_count(&work->grid);
    int32_t *here = malloc((size_t)count * sizeof *here), *there = malloc((size_t)count * sizeof *there);
    check(here != NULL && there != NULL, "malloc");
    check(dcl_read(C, NULL, here, NULL) == DCL_OK && dcl_read(D, NULL, there, NULL) == DCL_OK, "dcl_read");
    check(memcmp(here, there, (size_t)count * sizeof *here) == 0, "results differ");
    free(here);
    free(there);
}

static void measure(const struct work *work, const char *fault)
{
    dcl_cluster *one = open_cluster("local:1", true);
    if (fault != NULL)
        setenv("DCL_FAULT", fault, 1);
    dcl_cluster *two = open_cluster("local:2", true);
    unsetenv("DCL_FAULT");
    dcl_map *alone = dcl_map_parse(one, work->map), *map = dcl_map_parse(two, work->map);
    dcl_array *C = dcl_agile(work->grid, alone), *D = dcl_agile(work->grid, map);
    check(C != NULL && D != NULL, "dcl_agile");
    double single[ROUNDS], pair[ROUNDS];
    run(one, work, C);
    run(two, work, D);
    compare(work, C, D);
    for (int r = 0; r < ROUNDS; r++) {
        single[r] = run(one, work, C);
        pair[r] = run(two, work, D);
    }
    double ideal = median(ROUNDS, single) / work->ideal, took = median(ROUNDS, pair);
    printf("%s, two processes of a processor each, never: dcl %.2f ms, ideal %.2f ms, ratio %.2f (median of %d)\n",
           work->name, took, ideal, took / ideal, ROUNDS);
    dcl_release(C);
    dcl_release(D);
    dcl_release(alone);
    dcl_release(map);
    check(dcl_close(one) == DCL_OK && dcl_close(two) == DCL_OK, "dcl_close");
}

static void uneven(void)
{
    measure(&(struct work){.name = "256 tasks of cost ~ number",
                           .body =
                               "int s = (int)i; for (int k = 0; k < 4 * (i / 512); k++) s = s * 1664525 + 1013904223;"
                               " C(i) = s;",
                           .map = "block;tile=512",
                           .grid = dcl_grid_1d(DCL_INT32, (int64_t)TASKS * TASK),
                           .ideal = 2},
            NULL);
}

static void slow(void)
{
    measure(
        &(struct work){.name = "256 equal tasks, one node half as fast",
                       .body = "int s = (int)i; for (int k = 0; k < 512; k++) s = s * 1664525 + 1013904223; C(i) = s;",
                       .map = "block;tile=512",
                       .grid = dcl_grid_1d(DCL_INT32, (int64_t)TASKS * TASK),
                       .ideal = 1.5},
        "slow node=1 times=2");
}

static void mandelbrot(void)
{
    measure(
        &(struct work){
            .name = "Mandelbrot set on 4096^2 points",
            .body = "float x = 0, y = 0, u = -2.2f + 3 * (float)j / 4096, v = -1.9f + 3 * (float)i / 4096; int n = 0;"
                    " while (n < 256 && x * x + y * y < 4) { float t = x * x - y * y + u; y = 2 * x * y + v;"
                    " x = t; n++; } C(i,j) = n;",
            .map = "block,*",
            .grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE),
            .ideal = 2},
        NULL);
}

/* ---- balanced work -------------------------------------------------------------------------------------------------- */

static void balanced_on(const char *workers)
{
    static const char *const names[] = {"A + B", "A + B^T", "stencil"};
    enum { CALLS = 10, BODIES = 3 };
    dcl_cluster *cluster = open_cluster(workers, false);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, FLOATS, FLOATS);
    dcl_map *map = dcl_map_parse(cluster, "block,*");
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    check(C != NULL, "dcl_agile");
    check(dcl_forall(cluster, "A(i,j) = i - j;", DCL_OUT(A)) == DCL_OK, "A");
    check(dcl_forall(cluster, "B(i,j) = i + j;", DCL_OUT(B)) == DCL_OK, "B");
    double took[BODIES][ROUNDS];
    for (int r = -1; r < ROUNDS; r++)
        for (int b = 0; b < BODIES; b++) {
            check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
            double began = now_ms();
            for (int n = 0; n < CALLS; n++) {
                dcl_status status =
                    b == 0 ? dcl_forall(cluster, "C(i,j) = A(i,j) + B(i,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B))
                    : b == 1
                        ? dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B))
                        : dcl_forall(cluster,
                                     "C(i,j) = i > 0 && j > 0 && i < 2047 && j < 2047 ? 0.25f * (A(i-1,j) + A(i+1,j) +"
                                     " A(i,j-1) + A(i,j+1)) : A(i,j);",
                                     DCL_OUT(C), DCL_IN(A));
                check(status == DCL_OK, names[b]);
            }
            check(dcl_wait(cluster) == DCL_OK, names[b]);
            if (r >= 0)
                took[b][r] = (now_ms() - began) / CALLS;
        }
    for (int b = 0; b < BODIES; b++)
        printf("%s on 2048^2 f32, %s, never: dcl %.3f ms (median of %d)\n", names[b],
               workers != NULL ? workers : "one embedded node", median(ROUNDS, took[b]), ROUNDS);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(map);
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
}

static void balanced(void)
{
    balanced_on(NULL);
    balanced_on("local:2");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(void);
    } items[] = {{"uneven", uneven}, {"slow", slow}, {"mandelbrot", mandelbrot}, {"balanced", balanced}};
    printf("DCL %s, commit %s\n", dcl_version(), bench_commit);
    bool any = false;
    for (size_t n = 0; n < sizeof items / sizeof items[0]; n++)
        if (argc < 2 || strcmp(argv[1], items[n].name) == 0) {
            items[n].measure();
            any = true;
        }
    if (!any)
        fprintf(stderr, "steal: no item \"%s\"; expected uneven, slow, mandelbrot or balanced\n", argv[1]);
    return any ? 0 : 2;
}

/* steal.c - measures what stealing gains where work is spread unevenly over the nodes, and what it costs where the work is
 * even.
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
 * Each item runs with the policies never, pays and always (DCL_STEAL). Timed: a call and its wait, from the second on, the
 * clusters taking turns. Results are compared first. Processes of a single processor need one that is free: with other work on
 * this host, nothing here means much; the least times, which are printed too, suffer least. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

#include "common.h"

enum { ROUNDS = 11, BALANCED_ROUNDS = 31, TASKS = 256, TASK = 512, SIDE = 4096, FLOATS = 2048 };

static const char *const policy[] = {"never", "pays", "always"};
enum { POLICIES = sizeof policy / sizeof policy[0] };

static dcl_cluster *open_cluster(const char *workers, bool pinned, const char *steal)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.workers = workers;
    config.pin = pinned;
    config.steal = steal;
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
    int rounds;   /* calls that are timed; 0: ROUNDS */
};

static int rounds_of(const struct work *work) { return work->rounds > 0 ? work->rounds : ROUNDS; }

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

/* Two processes with a policy. */
struct pair {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *C;
    double took[ROUNDS];
};

static struct pair open_pair(const struct work *work, const char *steal)
{
    struct pair pair = {.cluster = open_cluster("local:2", true, steal)};
    pair.map = dcl_map_parse(pair.cluster, work->map);
    pair.C = dcl_agile(work->grid, pair.map);
    check(pair.C != NULL, "dcl_agile");
    return pair;
}

/* Print a median, and how it compares with the ideal, beside the same of the least times. */
static void report(const struct work *work, const struct pair *pair, const char *steal, double single[], double took[])
{
    dcl_counters counters;
    int rounds = rounds_of(work);
    double ideal = median(rounds, single) / work->ideal, middle = median(rounds, took);
    check(dcl_stats(pair->cluster, DCL_ALL_NODES, &counters) == DCL_OK, "dcl_stats");
    printf("%s, two processes of a processor each, %s: dcl %.2f ms, ideal %.2f ms, ratio %.2f, of least times %.2f "
           "(median of %d); "
           "%" PRId64 " lent, %" PRId64 " taken back, %" PRId64 " bytes, %" PRId64 " in vain\n",
           work->name, steal, middle, ideal, middle / ideal, took[0] / (single[0] / work->ideal), rounds,
           counters.loans_won, counters.loans_taken_back, counters.loan_bytes, counters.loan_bytes_in_vain);
    fflush(stdout);
}

static void measure(const struct work *work, const char *fault)
{
    dcl_cluster *one = open_cluster("local:1", true, "never");
    dcl_map *alone = dcl_map_parse(one, work->map);
    dcl_array *C = dcl_agile(work->grid, alone);
    check(C != NULL, "dcl_agile");
    if (fault != NULL)
        setenv("DCL_FAULT", fault, 1);
    struct pair pair[POLICIES];
    for (int p = 0; p < POLICIES; p++)
        pair[p] = open_pair(work, policy[p]);
    unsetenv("DCL_FAULT");
    double single[ROUNDS];
    run(one, work, C);
    for (int p = 0; p < POLICIES; p++) {
        run(pair[p].cluster, work, pair[p].C);
        compare(work, C, pair[p].C);
    }
    for (int r = 0; r < rounds_of(work); r++) {
        single[r] = run(one, work, C);
        for (int p = 0; p < POLICIES; p++)
            pair[p].took[r] = run(pair[p].cluster, work, pair[p].C);
    }
    for (int p = 0; p < POLICIES; p++) {
        compare(work, C, pair[p].C);
        report(work, &pair[p], policy[p], single, pair[p].took);
        dcl_release(pair[p].C);
        dcl_release(pair[p].map);
        check(dcl_close(pair[p].cluster) == DCL_OK, "dcl_close");
    }
    dcl_release(C);
    dcl_release(alone);
    check(dcl_close(one) == DCL_OK, "dcl_close");
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
            .ideal = 2,
            .rounds = 5}, /* a round takes some 6 s */
        NULL);
}

/* ---- balanced work -------------------------------------------------------------------------------------------------- */

static const char *const balanced_names[] = {"A + B", "A + B^T", "stencil"};
enum { CALLS = 10, BODIES = sizeof balanced_names / sizeof balanced_names[0] };

/* A cluster with the arrays of the balanced bodies. */
struct even {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *A, *B, *C;
    double took[BODIES][BALANCED_ROUNDS];
};

static void open_even(struct even *even, const char *workers, const char *steal)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, FLOATS, FLOATS);
    dcl_cluster *cluster = even->cluster = open_cluster(workers, false, steal);
    even->map = dcl_map_parse(cluster, "block,*");
    dcl_array *A = even->A = dcl_agile(grid, even->map), *B = even->B = dcl_agile(grid, even->map);
    even->C = dcl_agile(grid, even->map);
    check(even->C != NULL, "dcl_agile");
    check(dcl_forall(cluster, "A(i,j) = i - j;", DCL_OUT(A)) == DCL_OK, "A");
    check(dcl_forall(cluster, "B(i,j) = i + j;", DCL_OUT(B)) == DCL_OK, "B");
}

/* @return ms of a call */
static double run_even(struct even *even, int body)
{
    dcl_array *A = even->A, *B = even->B, *C = even->C;
    check(dcl_wait(even->cluster) == DCL_OK, "dcl_wait");
    double began = now_ms();
    for (int n = 0; n < CALLS; n++) {
        dcl_status status =
            body == 0   ? dcl_forall(even->cluster, "C(i,j) = A(i,j) + B(i,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B))
            : body == 1 ? dcl_forall(even->cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B))
                        : dcl_forall(even->cluster,
                                     "C(i,j) = i > 0 && j > 0 && i < 2047 && j < 2047 ? 0.25f * (A(i-1,j) + A(i+1,j) +"
                                     " A(i,j-1) + A(i,j+1)) : A(i,j);",
                                     DCL_OUT(C), DCL_IN(A));
        check(status == DCL_OK, balanced_names[body]);
    }
    check(dcl_wait(even->cluster) == DCL_OK, balanced_names[body]);
    return (now_ms() - began) / CALLS;
}

/* Print how many of the bytes moved under a policy were moved in vain. */
static void report_moved(const struct even *even, const char *workers, const char *steal)
{
    dcl_counters counters;
    check(dcl_stats(even->cluster, DCL_ALL_NODES, &counters) == DCL_OK, "dcl_stats");
    int64_t moved = counters.bytes_moved + counters.loan_bytes;
    printf("%d calls, %s, %s: %" PRId64 " lent, %" PRId64 " taken back, %" PRId64 " bytes moved, %" PRId64
           " of them for loans, %" PRId64 " in vain (%.3f %% of all)\n",
           (BALANCED_ROUNDS + 1) * BODIES * CALLS, workers != NULL ? workers : "one embedded node", steal,
           counters.loans_won, counters.loans_taken_back, moved, counters.loan_bytes, counters.loan_bytes_in_vain,
           moved > 0 ? 100.0 * (double)counters.loan_bytes_in_vain / (double)moved : 0.0);
}

/* Compare never and pays. Which of them comes first changes from round to round. */
static void balanced_on(const char *workers)
{
    enum { COMPARED = 2 };
    static struct even even[COMPARED];
    for (int p = 0; p < COMPARED; p++)
        open_even(&even[p], workers, policy[p]);
    for (int r = -1; r < BALANCED_ROUNDS; r++)
        for (int b = 0; b < BODIES; b++)
            for (int n = 0; n < COMPARED; n++) {
                int p = r % 2 == 0 ? n : COMPARED - 1 - n;
                double took = run_even(&even[p], b);
                if (r >= 0)
                    even[p].took[b][r] = took;
            }
    for (int b = 0; b < BODIES; b++) {
        double never = median(BALANCED_ROUNDS, even[0].took[b]), pays = median(BALANCED_ROUNDS, even[1].took[b]);
        printf("%s on 2048^2 f32, %s: never %.3f ms, pays %.3f ms, ratio %.3f, of least times %.3f (median of %d)\n",
               balanced_names[b], workers != NULL ? workers : "one embedded node", never, pays, pays / never,
               even[1].took[b][0] / even[0].took[b][0], BALANCED_ROUNDS);
        fflush(stdout);
    }
    report_moved(&even[1], workers, policy[1]);
    for (int p = 0; p < COMPARED; p++) {
        dcl_release(even[p].A);
        dcl_release(even[p].B);
        dcl_release(even[p].C);
        dcl_release(even[p].map);
        check(dcl_close(even[p].cluster) == DCL_OK, "dcl_close");
    }
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

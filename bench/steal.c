/* steal.c - measures what stealing gains where work is spread unevenly over the nodes, and what it costs where the work is
 * even.
 *
 *     steal [item]         uneven, slow, mandelbrot, balanced, same, vain; all but the last if not given
 *     steal balanced 31    31 trials instead of 11
 *     steal vain 1000      1,000 runs
 *
 * uneven      256 tasks of 512 integers whose cost is proportional to the task's number, map "block", two worker processes of this
 *             host on a processor each. Ideal: the time of all tasks on one such process, divided by two. Without lending, the
 *             node with the second half takes 1.5 of that. Measured again with tasks four times as costly, because lending a batch
 *             takes the same time whatever its cost.
 * slow        256 tasks of equal cost; one of the two processes does everything twice. Ideal: the time on one process / 1.5.
 * mandelbrot  the set on 4096^2 points, at most 256 steps. Ideal: the time on one process / 2.
 * balanced    C = A + B, C = A + B^T and a five-point stencil on 2048^2 floats: one embedded node, and two worker processes.
 * same        as balanced, with never in place of pays: how far the measurement itself is off 1 on this machine.
 * vain        1,000 runs of the balanced bodies, and 1,000 of the uneven tasks, with pays on two worker processes: the share of
 *             the bytes that were lent in vain in all bytes that were moved. A run is five calls of each balanced body, or a
 *             call of the uneven one. Run it also beside other work: nodes that nobody disturbs lend no balanced work.
 *
 * Uneven, slow and mandelbrot run with the policies never, pays and always (DCL_STEAL). Timed: a call and its wait. The
 * clusters take turns; a turn is three calls, as programs repeat an operation. The third call counts. The ratio of the
 * first calls is printed beside it: before them, other processes have used the caches. Results are compared first. Uneven and mandelbrot also run without lending under a
 * map that deals the same work evenly. What that takes above the ideal is lost by the machine and by a call's begin and
 * end, not by lending: two processors that compute at once may be slower than one alone, because they share caches, a
 * core or a power limit. How much that is, is measured in the same turns: two threads of this program, on a processor
 * each, run the same loop for some 10 ms, first one after the other, then at once. The later of both at once against the
 * slower one alone is what two nodes lose in any case. They also wake each other in turns: this time varies with the
 * machine and its load, and a call of uneven work has some 30 wake-ups.
 * Balanced compares pays with never in 11 trials, or as many as are given. The place of a cluster's arrays in memory changes its times for as long as
 * it exists, and the cluster that is opened first may get another place than the second. So a trial opens two pairs of clusters, one after
 * the other, the second pair in the reverse order. Each pair runs in the order never, pays, pays, never and its reverse in
 * turns, so that a steady drift of the machine's speed adds the same to both. A trial's ratio is the geometric mean of the
 * median ratios of its two pairs. Printed: the median of the trials, and an interval that contains the true median with a
 * probability of at least 98.8 % if trials are independent (sign test).
 *
 * Processes of a single processor need one that is free: with other work on this host, nothing here means much; the least
 * times, which are printed for uneven work, suffer least. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <dcl.h>

#include "common.h"

enum { ROUNDS = 11, IN_TURN = 3, TASKS = 256, TASK = 512, SIDE = 4096, FLOATS = 2048 };

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
    const char *even_map; /* each node has the same work; NULL: none is known */
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

/* A turn. @param first_out  time of its first call. @return time of its last one */
static double take_turn(dcl_cluster *cluster, const struct work *work, dcl_array *C, double *first_out)
{
    double took = *first_out = run(cluster, work, C);
    for (int n = 1; n < IN_TURN; n++)
        took = run(cluster, work, C);
    return took;
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
    double took[ROUNDS]; /* last call of a turn */
    double first[ROUNDS];
};

static struct pair open_pair(const struct work *work, const char *steal, const char *map)
{
    struct pair pair = {.cluster = open_cluster("local:2", true, steal)};
    pair.map = dcl_map_parse(pair.cluster, map);
    pair.C = dcl_agile(work->grid, pair.map);
    check(pair.C != NULL, "dcl_agile");
    return pair;
}

/* ---- two processors at once -------------------------------------------------------------------------------------------- */

enum { PROCESSORS = 2, WAKES = 200, WAKE = -2, END = -1 };

/* A thread on a processor of its own. */
struct computer {
    alignas(256) pthread_t thread; /* no cache line is used by both, nor by two that a processor fetches together */
    pthread_barrier_t *turn;
    int processor;
    int64_t loops; /* of the next turn; 0: none; WAKE: the threads wake each other WAKES times; END: the thread ends */
    double took;   /* ms */
    bool first;
    int own, other; /* event descriptors: what wakes this thread, and what wakes the other one */
    uint32_t value[TASK];
};

struct machine {
    struct computer computer[PROCESSORS];
    pthread_barrier_t turn;
    int64_t loops; /* that take some 10 ms */
    double alone[ROUNDS], at_once[ROUNDS], ratio[ROUNDS];
    double wake[ROUNDS]; /* us of a wake-up from one processor to the other */
    int rounds;
};

/* Wake the other thread and wait to be woken, in turns. */
static void wake(struct computer *own, bool first)
{
    eventfd_t any;
    for (int n = 0; n < WAKES; n++) {
        if (first)
            check(eventfd_write(own->other, 1) == 0, "eventfd_write");
        check(eventfd_read(own->own, &any) == 0, "eventfd_read");
        if (!first)
            check(eventfd_write(own->other, 1) == 0, "eventfd_write");
    }
}

static void *compute(void *argument)
{
    struct computer *own = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(own->processor, &set);
    check(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0, "pthread_setaffinity_np");
    for (;;) {
        pthread_barrier_wait(own->turn);
        if (own->loops == END)
            return NULL;
        double began = now_ms();
        if (own->loops == WAKE)
            wake(own, own->first);
        for (int64_t k = 0; k < own->loops; k++)
            for (int i = 0; i < TASK; i++)
                own->value[i] = own->value[i] * 1664525 + 1013904223;
        own->took = now_ms() - began;
        pthread_barrier_wait(own->turn);
    }
}

/* @return ms of the slower of the threads that compute */
static double turn(struct machine *machine, bool first, bool second)
{
    struct computer *computer = machine->computer;
    computer[0].loops = first ? machine->loops : 0;
    computer[1].loops = second ? machine->loops : 0;
    pthread_barrier_wait(&machine->turn);
    pthread_barrier_wait(&machine->turn);
    return fmax(computer[0].took, computer[1].took);
}

/* @return us of a wake-up */
static double turn_of_wakes(struct machine *machine)
{
    machine->computer[0].loops = machine->computer[1].loops = WAKE;
    pthread_barrier_wait(&machine->turn);
    pthread_barrier_wait(&machine->turn);
    return 1e3 * machine->computer[0].took / (2 * WAKES);
}

/* @return whether there are two processors */
static bool open_machine(struct machine *machine)
{
    enum { CALIBRATED = 1000 };
    cpu_set_t all;
    *machine = (struct machine){.loops = CALIBRATED};
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < PROCESSORS)
        return false;
    pthread_barrier_init(&machine->turn, NULL, PROCESSORS + 1);
    int event[PROCESSORS] = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};
    check(event[0] >= 0 && event[1] >= 0, "eventfd");
    for (int n = 0, processor = -1; n < PROCESSORS; n++) {
        do
            processor++;
        while (!CPU_ISSET(processor, &all));
        machine->computer[n].processor = processor;
        machine->computer[n].turn = &machine->turn;
        machine->computer[n].first = n == 0;
        machine->computer[n].own = event[n];
        machine->computer[n].other = event[1 - n];
        check(pthread_create(&machine->computer[n].thread, NULL, compute, &machine->computer[n]) == 0,
              "pthread_create");
    }
    double ms = fmin(turn(machine, true, false), turn(machine, true, false));
    machine->loops = (int64_t)(CALIBRATED * 10 / ms);
    return true;
}

static void measure_machine(struct machine *machine)
{
    int r = machine->rounds++;
    machine->alone[r] = fmax(turn(machine, true, false), turn(machine, false, true));
    machine->at_once[r] = turn(machine, true, true);
    machine->ratio[r] = machine->at_once[r] / machine->alone[r];
    machine->wake[r] = turn_of_wakes(machine);
}

static void close_machine(struct machine *machine)
{
    for (int n = 0; n < PROCESSORS; n++)
        machine->computer[n].loops = END;
    pthread_barrier_wait(&machine->turn);
    for (int n = 0; n < PROCESSORS; n++)
        pthread_join(machine->computer[n].thread, NULL);
    for (int n = 0; n < PROCESSORS; n++)
        close(machine->computer[n].own);
    pthread_barrier_destroy(&machine->turn);
    double alone = median(machine->rounds, machine->alone), at_once = median(machine->rounds, machine->at_once);
    printf(
        "this machine, the same loop on two processors: one after the other %.2f ms, at once %.2f ms, ratio %.3f, of "
        "least times %.3f; a thread wakes one on the other processor in %.1f us (median of %d)\n",
        alone, at_once, median(machine->rounds, machine->ratio), machine->at_once[0] / machine->alone[0],
        median(machine->rounds, machine->wake), machine->rounds);
}

/* ---- uneven work, measured ------------------------------------------------------------------------------------------- */

/* Times of one process that does all the work. */
struct single {
    double took[ROUNDS], first[ROUNDS]; /* as in struct pair */
};

/* Print a median, and how it compares with the ideal, beside the same of the least times and of first calls. */
static void report(const struct work *work, struct pair *pair, const char *steal, struct single *single)
{
    dcl_counters counters;
    int rounds = rounds_of(work);
    double ideal = median(rounds, single->took) / work->ideal, middle = median(rounds, pair->took);
    double first = median(rounds, pair->first) / (median(rounds, single->first) / work->ideal);
    check(dcl_stats(pair->cluster, DCL_ALL_NODES, &counters) == DCL_OK, "dcl_stats");
    printf("%s, two processes of a processor each, %s: dcl %.2f ms, ideal %.2f ms, ratio %.3f, of least times %.3f, of "
           "first calls %.3f (median of %d); "
           "%" PRId64 " lent, %" PRId64 " taken back, %" PRId64 " bytes, %" PRId64 " in vain\n",
           work->name, steal, middle, ideal, middle / ideal, pair->took[0] / (single->took[0] / work->ideal), first,
           rounds, counters.loans_won, counters.loans_taken_back, counters.loan_bytes, counters.loan_bytes_in_vain);
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
    struct pair pair[POLICIES + 1];
    int pairs = POLICIES;
    for (int p = 0; p < POLICIES; p++)
        pair[p] = open_pair(work, policy[p], work->map);
    if (work->even_map != NULL)
        pair[pairs++] = open_pair(work, "never", work->even_map);
    unsetenv("DCL_FAULT");
    struct single single;
    struct machine machine;
    bool two = open_machine(&machine);
    run(one, work, C);
    for (int p = 0; p < pairs; p++) {
        run(pair[p].cluster, work, pair[p].C);
        compare(work, C, pair[p].C);
    }
    for (int r = 0; r < rounds_of(work); r++) {
        single.took[r] = take_turn(one, work, C, &single.first[r]);
        for (int p = 0; p < pairs; p++)
            pair[p].took[r] = take_turn(pair[p].cluster, work, pair[p].C, &pair[p].first[r]);
        if (two)
            measure_machine(&machine);
    }
    if (two)
        close_machine(&machine);
    for (int p = 0; p < pairs; p++) {
        compare(work, C, pair[p].C);
        report(work, &pair[p], p < POLICIES ? policy[p] : "never, dealt evenly", &single);
        dcl_release(pair[p].C);
        dcl_release(pair[p].map);
        check(dcl_close(pair[p].cluster) == DCL_OK, "dcl_close");
    }
    dcl_release(C);
    dcl_release(alone);
    check(dcl_close(one) == DCL_OK, "dcl_close");
}

/* 256 tasks, each of which costs as much as its number. @param n  0; 1: all are four times as costly */
static struct work growing_tasks(int n)
{
    static const struct {
        const char *name, *body;
    } cases[] = {{"256 tasks of cost ~ number",
                  "int s = (int)i; for (int k = 0; k < 4 * (i / 512); k++) s = s * 1664525 + 1013904223; C(i) = s;"},
                 {"the same, four times as costly",
                  "int s = (int)i; for (int k = 0; k < 16 * (i / 512); k++) s = s * 1664525 + 1013904223; C(i) = s;"}};
    return (struct work){.name = cases[n].name,
                         .body = cases[n].body,
                         .map = "block;tile=512",
                         .even_map = "cyclic(512);tile=512",
                         .grid = dcl_grid_1d(DCL_INT32, (int64_t)TASKS * TASK),
                         .ideal = 2};
}

static void uneven(void)
{
    for (int n = 0; n < 2; n++) {
        struct work work = growing_tasks(n);
        measure(&work, NULL);
    }
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
            .even_map = "cyclic(16),*",
            .grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE),
            .ideal = 2,
            .rounds = 5}, /* a round takes some 6 s */
        NULL);
}

/* ---- balanced work -------------------------------------------------------------------------------------------------- */

static const char *const balanced_names[] = {"A + B", "A + B^T", "stencil"};
enum {
    BODIES = sizeof balanced_names / sizeof balanced_names[0],
    MOST_TRIALS = 101,
    ORDERS = 2, /* in which the clusters of a trial's pairs are opened */
    ROUNDS_OF_PAIR = 5,
    TURNS = 4, /* of a round: two of each cluster per body */
    CALLS = 5  /* of a turn */
};

static int trials = 11;

/* A cluster with the arrays of the balanced bodies. */
struct even {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *A, *B, *C;
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

static void close_even(struct even *even)
{
    dcl_release(even->A);
    dcl_release(even->B);
    dcl_release(even->C);
    dcl_release(even->map);
    check(dcl_close(even->cluster) == DCL_OK, "dcl_close");
}

/* What the trials of a kind of cluster found. */
struct even_found {
    double ratio[BODIES][MOST_TRIALS], never[BODIES][MOST_TRIALS]; /* ms of a call */
    int64_t lent, taken_back, moved, loan_bytes, in_vain;          /* of all trials, the second of each pair */
};

static void add_moved(struct even_found *found, const struct even *even)
{
    dcl_counters counters;
    check(dcl_stats(even->cluster, DCL_ALL_NODES, &counters) == DCL_OK, "dcl_stats");
    found->lent += counters.loans_won;
    found->taken_back += counters.loans_taken_back;
    found->moved += counters.bytes_moved + counters.loan_bytes;
    found->loan_bytes += counters.loan_bytes;
    found->in_vain += counters.loan_bytes_in_vain;
}

/* Run a fresh pair of clusters, cluster `first` first. @param ratio_out  [BODIES] medians of `steal` / never
 * @param never_out  [BODIES] ms of a call */
static void run_pair(const char *workers, const char *steal, int first, struct even_found *found, double ratio_out[],
                     double never_out[])
{
    enum { COMPARED = 2 };
    struct even even[COMPARED];
    double ratio[ROUNDS_OF_PAIR], never[ROUNDS_OF_PAIR];
    for (int n = 0; n < COMPARED; n++) {
        int p = (first + n) % COMPARED;
        open_even(&even[p], workers, p == 1 ? steal : "never");
    }
    for (int b = 0; b < BODIES; b++) {
        for (int n = 0; n < COMPARED; n++)
            run_even(&even[(first + n) % COMPARED], b); /* compiles and measures the body */
        for (int r = 0; r < ROUNDS_OF_PAIR; r++) {
            double took[COMPARED] = {0, 0};
            for (int turn = 0; turn < TURNS; turn++) {
                int p = (first + r + (turn == 1 || turn == 2)) % COMPARED;
                took[p] += run_even(&even[p], b);
            }
            ratio[r] = took[1] / took[0];
            never[r] = took[0] * COMPARED / TURNS;
        }
        ratio_out[b] = median(ROUNDS_OF_PAIR, ratio);
        never_out[b] = median(ROUNDS_OF_PAIR, never);
    }
    add_moved(found, &even[1]);
    for (int n = 0; n < COMPARED; n++)
        close_even(&even[(first + n) % COMPARED]);
}

static void run_trial(const char *workers, const char *steal, int trial, struct even_found *found)
{
    double ratio[ORDERS][BODIES], never[ORDERS][BODIES];
    for (int n = 0; n < ORDERS; n++) {
        int first = (trial + n) % ORDERS;
        run_pair(workers, steal, first, found, ratio[first], never[first]);
    }
    for (int b = 0; b < BODIES; b++) {
        found->ratio[b][trial] = sqrt(ratio[0][b] * ratio[1][b]);
        found->never[b][trial] = (never[0][b] + never[1][b]) / ORDERS;
    }
}

static void balanced_on(const char *workers, const char *steal)
{
    const char *name = workers != NULL ? workers : "one embedded node";
    struct even_found found = {.lent = 0};
    for (int trial = 0; trial < trials; trial++)
        run_trial(workers, steal, trial, &found);
    for (int b = 0; b < BODIES; b++) {
        double *ratio = found.ratio[b], middle = median(trials, ratio); /* sorts them */
        printf("%s on 2048^2 f32, %s: never %.3f ms, %s / never: ratio %.3f, interval %.3f to %.3f "
               "(median of %d trials, %d calls each)\n",
               balanced_names[b], name, median(trials, found.never[b]), steal, middle, ratio[outside_interval(trials)],
               ratio[trials - 1 - outside_interval(trials)], trials, ORDERS * ROUNDS_OF_PAIR * TURNS / 2 * CALLS);
    }
    printf("%d calls, %s, %s: %" PRId64 " lent, %" PRId64 " taken back, %" PRId64 " bytes moved, %" PRId64
           " of them for loans, %" PRId64 " in vain (%.3f %% of all)\n",
           trials * ORDERS * BODIES * (ROUNDS_OF_PAIR * TURNS / 2 + 1) * CALLS, name, steal, found.lent,
           found.taken_back, found.moved, found.loan_bytes, found.in_vain,
           found.moved > 0 ? 100.0 * (double)found.in_vain / (double)found.moved : 0.0);
    fflush(stdout);
}

static void balanced(void)
{
    balanced_on(NULL, "pays");
    balanced_on("local:2", "pays");
}

static void same(void)
{
    balanced_on(NULL, "never");
    balanced_on("local:2", "never");
}

/* ---- bytes in vain -------------------------------------------------------------------------------------------------- */

static int vain_runs = 1000;

static void report_vain(const char *name, const struct even_found *found)
{
    printf("%d runs, %s, local:2, pays: %" PRId64 " lent, %" PRId64 " taken back, %" PRId64 " bytes moved, %" PRId64
           " of them for loans, %" PRId64 " in vain (%.3f %% of all)\n",
           vain_runs, name, found->lent, found->taken_back, found->moved, found->loan_bytes, found->in_vain,
           found->moved > 0 ? 100.0 * (double)found->in_vain / (double)found->moved : 0.0);
    fflush(stdout);
}

static void vain(void)
{
    struct even even = {0};
    struct even_found found = {.lent = 0};
    open_even(&even, "local:2", "pays");
    for (int n = 0; n < vain_runs; n++)
        for (int b = 0; b < BODIES; b++)
            run_even(&even, b);
    add_moved(&found, &even);
    close_even(&even);
    report_vain("A + B, A + B^T and a stencil", &found);

    found = (struct even_found){.lent = 0};
    struct work tasks = growing_tasks(0);
    even = (struct even){.cluster = open_cluster("local:2", false, "pays")};
    even.map = dcl_map_parse(even.cluster, tasks.map);
    even.C = dcl_agile(tasks.grid, even.map);
    check(even.C != NULL, "dcl_agile");
    for (int n = 0; n < vain_runs; n++)
        run(even.cluster, &tasks, even.C);
    add_moved(&found, &even);
    close_even(&even);
    report_vain(tasks.name, &found);
}

/* Take the number after the item, if there is one. @return whether it is valid */
static bool read_number(int argc, char **argv)
{
    int number = argc > 2 ? atoi(argv[2]) : 0;
    bool counts_trials = argc > 2 && (strcmp(argv[1], "balanced") == 0 || strcmp(argv[1], "same") == 0);
    if (argc > 3 || (argc > 2 && number < 1) || (counts_trials && number > MOST_TRIALS))
        return false;
    if (counts_trials)
        trials = number;
    else if (argc > 2)
        vain_runs = number;
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(void);
        bool by_name; /* only if it is asked for */
    } items[] = {{"uneven", uneven, false},     {"slow", slow, false}, {"mandelbrot", mandelbrot, false},
                 {"balanced", balanced, false}, {"same", same, false}, {"vain", vain, true}};
    if (!read_number(argc, argv)) {
        fprintf(stderr, "steal: expected balanced or same with a number of trials of 1..%d, or vain with one of runs\n",
                MOST_TRIALS);
        return 2;
    }
    printf("DCL %s, commit %s\n", dcl_version(), bench_commit);
    bool any = false;
    for (size_t n = 0; n < sizeof items / sizeof items[0]; n++)
        if (argc < 2 ? !items[n].by_name : strcmp(argv[1], items[n].name) == 0) {
            items[n].measure();
            any = true;
        }
    if (!any)
        fprintf(stderr, "steal: no item \"%s\"; expected uneven, slow, mandelbrot, balanced, same or vain\n", argv[1]);
    return any ? 0 : 2;
}

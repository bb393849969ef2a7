/* small.c - operations that are small but not cheap, each against what computing alone takes, taking turns in one run.
 *
 *     small [item]         chain, fresh, uneven, coupled, product, trace, untraced; all but the last if not given
 *     small trace 31       31 trials instead of 11
 *
 * chain    1,000 dependent operations on 64 x 64 floats, on one embedded node and on local:2 with the default map, against the
 *          same launches queued by hand: with arguments set before each launch, and with one kernel object per set of arguments;
 *          each with a work-item per element, and with one for all. Timed: from the first call until all are complete,
 *          after a second of the same calls: bodies that recur are compiled once more, to share launches.
 * fresh    the first 100 operations of two new bodies on 64 x 64 floats, against 100 launches of two new programs, both with the
 *          time of compiling them.
 * uneven   256 elements whose cost rises or falls with the index, on one embedded node: DCL against OpenMP, schedule(dynamic, 1).
 *          Timed: a call and its wait, from the third call on.
 * coupled  B(i) = f(A(i), A(i-1)), then A = g(B), of one element per node on two nodes, in place and sent: a step against one
 *          whose f does not read A(i-1). Timed: 100 steps and a wait.
 * product  every 32nd row of C = A * B, 2016^2 and 2048^2 floats on two local nodes, by columns of B, which come from both: time
 *          of a multiply-add of the larger one against the smaller one's, whose rows do not lie a power of two apart.
 * trace    dependent operations on 64^2, 400^2 and 1024^2 floats, on one embedded node and on local:2 with the default map: a
 *          traced cluster against one that is not. The place of arrays in memory changes the times of equal clusters by several
 *          per cent. So a trial opens two pairs of clusters, one after the other, the second pair in the reverse order, and
 *          makes the arrays three times in each. Its ratio is the geometric mean of the median ratios of the two pairs.
 *          Printed: the median of the trials, and an interval that contains the true median with a probability of at least
 *          98.8 %. Not timed: closing, which writes the trace.
 * untraced as trace, with neither of the clusters traced: how far the measurement itself is off 1 on this machine.
 *
 * Every item runs in a process of its own. No item transfers data between program and nodes while it is timed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

#include "device.h"

enum { ROUNDS = 11, STEPS = 100, ELEMENTS = 256 };

/* Wait until OpenMP's threads sleep: they spin after their work, and would disturb the next measurement. */
static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static double spread(const double sorted[ROUNDS])
{
    return 100 * (sorted[ROUNDS - 2] - sorted[1]) / sorted[ROUNDS / 2];
}

static dcl_cluster *open_traced(const char *devices, const char *workers, const char *move, const char *trace)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.devices = devices != NULL ? devices : config.devices;
    config.workers = workers;
    config.transfer = move;
    config.trace = trace;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

static dcl_cluster *open_cluster(const char *devices, const char *workers, const char *move)
{
    return open_traced(devices, workers, move, NULL);
}

/* ---- chains of small operations --------------------------------------------------------------------------------------- */

enum { EDGE = 64, CHAIN = 1000, FRESH = 100, FRESH_ROUNDS = 5 };

/* The same chain by hand: two kernels, there and back, and two buffers. */
struct hand {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem x, y;
};

static struct hand open_hand(const char *name)
{
    struct hand hand = {.device = find_device(name, 0)};
    cl_int error;
    hand.context = clCreateContext(NULL, 1, &hand.device, NULL, NULL, &error);
    check(error == CL_SUCCESS, "clCreateContext");
    hand.queue = clCreateCommandQueue(hand.context, hand.device, 0, &error);
    check(error == CL_SUCCESS, "clCreateCommandQueue");
    hand.x = clCreateBuffer(hand.context, CL_MEM_READ_WRITE, EDGE * EDGE * sizeof(float), NULL, &error);
    check(error == CL_SUCCESS, "clCreateBuffer");
    hand.y = clCreateBuffer(hand.context, CL_MEM_READ_WRITE, EDGE * EDGE * sizeof(float), NULL, &error);
    check(error == CL_SUCCESS, "clCreateBuffer");
    return hand;
}

static void close_hand(struct hand *hand)
{
    clReleaseMemObject(hand->x);
    clReleaseMemObject(hand->y);
    clReleaseCommandQueue(hand->queue);
    clReleaseContext(hand->context);
}

/* Kernels that add a constant: step_items has a work-item per element, step_rows one for all. */
static cl_program build(const struct hand *hand, double constant)
{
    char text[640];
    const char *texts[] = {text};
    snprintf(text, sizeof text,
             "__kernel void step_items(__global float *c, __global const float *a, long n) {\n"
             "    long x = get_global_id(0), y = get_global_id(1);\n"
             "    c[y * n + x] = a[y * n + x] + %.9ff;\n"
             "}\n"
             "__kernel void step_rows(__global float *c, __global const float *a, long n) {\n"
             "    for (long k = 0; k < n * n; k++)\n"
             "        c[k] = a[k] + %.9ff;\n"
             "}\n",
             constant, constant);
    cl_int error;
    cl_program program = clCreateProgramWithSource(hand->context, 1, texts, NULL, &error);
    check(error == CL_SUCCESS && clBuildProgram(program, 1, &hand->device, "", NULL, NULL) == CL_SUCCESS,
          "clBuildProgram");
    return program;
}

static void set_arguments(cl_kernel kernel, const struct hand *hand, bool back)
{
    cl_long n = EDGE;
    clSetKernelArg(kernel, 0, sizeof(cl_mem), back ? &hand->x : &hand->y);
    clSetKernelArg(kernel, 1, sizeof(cl_mem), back ? &hand->y : &hand->x);
    clSetKernelArg(kernel, 2, sizeof n, &n);
}

/* The forms of a chain by hand. */
struct form {
    const char *name, *kernel;
    bool kept; /* a kernel object per set of arguments; false: one, whose arguments are set before each launch */
};

static const struct form forms[] = {{"per element, set", "step_items", false},
                                    {"per element, kept", "step_items", true},
                                    {"one work-item, set", "step_rows", false},
                                    {"one work-item, kept", "step_rows", true}};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* @param program  of the launches there, and of those back. @return us of all launches. */
static double launch_chain(const struct hand *hand, const cl_program program[2], const struct form *form, int launches)
{
    cl_kernel kernel[2];
    cl_int error;
    double start = now_us();
    for (int back = 0; back < 2; back++) {
        kernel[back] = clCreateKernel(program[back], form->kernel, &error);
        check(error == CL_SUCCESS, "clCreateKernel");
        set_arguments(kernel[back], hand, back);
    }
    bool each = strcmp(form->kernel, "step_items") == 0;
    const size_t global[] = {each ? EDGE : 1, each ? EDGE : 1}, local[] = {each ? EDGE : 1, 1};
    for (int k = 0; k < launches; k++) {
        cl_kernel launched = kernel[form->kept ? k % 2 : 0];
        if (!form->kept)
            set_arguments(launched, hand, k % 2 != 0);
        check(clEnqueueNDRangeKernel(hand->queue, launched, 2, NULL, global, local, 0, NULL, NULL) == CL_SUCCESS,
              "clEnqueueNDRangeKernel");
    }
    clFinish(hand->queue);
    double spent = now_us() - start;
    clReleaseKernel(kernel[0]);
    clReleaseKernel(kernel[1]);
    return spent;
}

/* @return us of all operations: Y = X + constant, X = Y + constant. */
static double call_chain(dcl_cluster *cluster, dcl_array *X, dcl_array *Y, double constant, int operations)
{
    char there[64], back[64];
    snprintf(there, sizeof there, "Y(i,j) = X(i,j) + %.9ff;", constant);
    snprintf(back, sizeof back, "X(i,j) = Y(i,j) + %.9ff;", constant);
    double start = now_us();
    for (int k = 0; k < operations / 2; k++) {
        check(dcl_forall(cluster, there, DCL_OUT(Y), DCL_IN(X)) == DCL_OK, there);
        check(dcl_forall(cluster, back, DCL_OUT(X), DCL_IN(Y)) == DCL_OK, back);
    }
    check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
    return now_us() - start;
}

/* All sums are exact, so an operation that is missing shows. */
static void verify_chain(dcl_cluster *cluster, dcl_array *X, dcl_array *Y, const struct hand *hand,
                         const cl_program program[2])
{
    static float start[EDGE * EDGE], end[EDGE * EDGE];
    for (int f = -1; f < FORMS; f++) {
        if (f < 0) {
            check(dcl_write(X, NULL, start, NULL) == DCL_OK, "dcl_write");
            call_chain(cluster, X, Y, 1, CHAIN);
            check(dcl_read(X, NULL, end, NULL) == DCL_OK, "dcl_read");
        } else {
            clEnqueueWriteBuffer(hand->queue, hand->x, CL_TRUE, 0, sizeof start, start, 0, NULL, NULL);
            launch_chain(hand, program, &forms[f], CHAIN);
            clEnqueueReadBuffer(hand->queue, hand->x, CL_TRUE, 0, sizeof end, end, 0, NULL, NULL);
        }
        for (int k = 0; k < EDGE * EDGE; k++)
            check(end[k] == CHAIN, f < 0 ? "wrong results of the chain" : forms[f].name);
    }
}

static void measure_chain(dcl_cluster *cluster, dcl_array *X, dcl_array *Y, const char *where, const struct hand *hand)
{
    double dcl[ROUNDS], hands[FORMS][ROUNDS], best = 1e9;
    cl_program program[2] = {build(hand, 1)};
    program[1] = program[0];
    verify_chain(cluster, X, Y, hand, program);
    for (double end = now_us() + 1e6; now_us() < end;)
        call_chain(cluster, X, Y, 1, CHAIN);
    for (int r = 0; r < ROUNDS; r++) {
        dcl[r] = call_chain(cluster, X, Y, 1, CHAIN) / CHAIN;
        for (int f = 0; f < FORMS; f++) {
            hands[f][r] = launch_chain(hand, program, &forms[f], CHAIN) / CHAIN;
            rest();
        }
    }
    double mine = median(ROUNDS, dcl);
    printf("chain of %d operations f32 %d x %d, %s, \"%s\": dcl %.2f us each", CHAIN, EDGE, EDGE, where,
           dcl_node_name(cluster, 0), mine);
    for (int f = 0; f < FORMS; f++) {
        double theirs = median(ROUNDS, hands[f]);
        best = theirs < best ? theirs : best;
        printf(", %s %.2f us", forms[f].name, theirs);
    }
    printf(", dcl / best by hand %.2f (median of %d, spread %.0f %%)\n", mine / best, ROUNDS, spread(dcl));
    clReleaseProgram(program[0]);
}

static void measure_fresh(dcl_cluster *cluster, dcl_array *X, dcl_array *Y, const char *where, const struct hand *hand)
{
    double dcl[FRESH_ROUNDS], own[FRESH_ROUNDS], seed = (double)(time(NULL) % 1000000) * 1e-7;
    for (int r = 0; r < FRESH_ROUNDS; r++) {
        double constant = 1 + seed + 1e-8 * r, start = now_us(); /* no cache has seen these texts */
        cl_program program[2] = {build(hand, constant), build(hand, constant + 1)};
        launch_chain(hand, program, &forms[2], FRESH);
        own[r] = now_us() - start;
        clReleaseProgram(program[0]);
        clReleaseProgram(program[1]);
        dcl[r] = call_chain(cluster, X, Y, constant, FRESH);
    }
    qsort(dcl, FRESH_ROUNDS, sizeof dcl[0], by_value);
    qsort(own, FRESH_ROUNDS, sizeof own[0], by_value);
    double mine = dcl[FRESH_ROUNDS / 2], theirs = own[FRESH_ROUNDS / 2];
    printf(
        "first %d operations of two new bodies, %s: dcl %.0f us, compiled and launched by hand %.0f us, dcl / by hand "
        "%.2f (median of %d)\n",
        FRESH, where, mine, theirs, mine / theirs, FRESH_ROUNDS);
}

static void chain_on(const char *devices, const char *workers, bool fresh)
{
    const char *where = workers != NULL ? "local:2, default map" : "one embedded node";
    dcl_cluster *cluster = open_cluster(devices, workers, NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *X = dcl_agile(dcl_grid_2d(DCL_FLOAT, EDGE, EDGE), map),
              *Y = dcl_agile(dcl_grid_2d(DCL_FLOAT, EDGE, EDGE), map);
    struct hand hand = open_hand(dcl_node_name(cluster, 0));
    check(Y != NULL, "arrays");
    (fresh ? measure_fresh : measure_chain)(cluster, X, Y, where, &hand);
    close_hand(&hand);
    dcl_release(X);
    dcl_release(Y);
    dcl_release(map);
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
}

static void chain_embedded(void) { chain_on("0", NULL, false); }
static void chain_local(void) { chain_on(NULL, "local:2", false); }
static void fresh_embedded(void) { chain_on("0", NULL, true); }
static void fresh_local(void) { chain_on(NULL, "local:2", true); }

/* ---- elements of uneven cost ---------------------------------------------------------------------------------------- */

enum { GRAIN = 256 };

static float cost_openmp(float x, int rounds)
{
    for (int k = 0; k < rounds; k++)
        x = x * 0.999f + 0.001f;
    return x;
}

static double uneven_openmp(float c[], const float a[], bool falls)
{
    double start = now_us();
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1)
#endif
    for (int i = 0; i < ELEMENTS; i++)
        c[i] = cost_openmp(a[i], GRAIN * (falls ? ELEMENTS - i : i + 1));
    return now_us() - start;
}

static double uneven_dcl(dcl_cluster *cluster, dcl_array *C, dcl_array *A, int falls)
{
    double start = now_us();
    check(dcl_forall(cluster,
                     "float x = A(i); int rounds = 256 * (int)(falls ? 256 - i : i + 1);"
                     "for (int k = 0; k < rounds; k++) x = x * 0.999f + 0.001f; C(i) = x;",
                     DCL_OUT(C), DCL_IN(A), DCL_VALUE(falls)) == DCL_OK &&
              dcl_wait(cluster) == DCL_OK,
          "uneven");
    return now_us() - start;
}

static void uneven(void)
{
    dcl_cluster *cluster = open_cluster("0", NULL, NULL);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, ELEMENTS), map),
              *C = dcl_agile(dcl_grid_1d(DCL_FLOAT, ELEMENTS), map);
    float a[ELEMENTS], c[ELEMENTS], expected[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        a[i] = (float)(i % 7);
    check(C != NULL && dcl_write(A, NULL, a, NULL) == DCL_OK, "dcl_write");
    for (int falls = 0; falls < 2; falls++) {
        double dcl[ROUNDS], openmp[ROUNDS];
        for (int n = 0; n < 2; n++)
            uneven_dcl(cluster, C, A, falls);
        for (int r = 0; r < ROUNDS; r++) {
            dcl[r] = uneven_dcl(cluster, C, A, falls);
            openmp[r] = uneven_openmp(expected, a, falls);
            rest();
        }
        check(dcl_read(C, NULL, c, NULL) == DCL_OK && memcmp(c, expected, sizeof c) == 0, "uneven: wrong results");
        double mine = median(ROUNDS, dcl), theirs = median(ROUNDS, openmp);
        printf("%d elements f32 of %s cost, one node \"%s\": dcl %.0f us, OpenMP dynamic %.0f us, dcl / OpenMP %.2f "
               "(median of "
               "%d, spread %.0f %%)\n",
               ELEMENTS, falls ? "falling" : "rising", dcl_node_name(cluster, 0), mine, theirs, mine / theirs, ROUNDS,
               spread(dcl));
    }
    dcl_release(A);
    dcl_release(C);
    dcl_release(map);
    dcl_close(cluster);
}

/* ---- coupled steps ---------------------------------------------------------------------------------------------------- */

struct steps {
    dcl_cluster *cluster;
    dcl_array *A, *B;
};

/* @param rounds  of both bodies together. @return us of a step. */
static double run_steps(const struct steps *s, bool coupled, int rounds)
{
    dcl_array *A = s->A, *B = s->B;
    const char *read = coupled ? "float x = A(i), y = i > 0 ? A(i-1) : 1.0f;"
                                 "for (int k = 0; k < n; k++) x = x * 0.999f + y * 0.001f; B(i) = x;"
                               : "float x = A(i), y = 1.0f;"
                                 "for (int k = 0; k < n; k++) x = x * 0.999f + y * 0.001f; B(i) = x;";
    int n = rounds / 2;
    double start = now_us();
    for (int step = 0; step < STEPS; step++) {
        check(dcl_forall(s->cluster, read, DCL_OUT(B), DCL_IN(A), DCL_VALUE(n)) == DCL_OK, read);
        check(dcl_forall(s->cluster, "float x = B(i); for (int k = 0; k < n; k++) x = x * 0.999f + 0.001f; A(i) = x;",
                         DCL_OUT(A), DCL_IN(B), DCL_VALUE(n)) == DCL_OK,
              "g");
    }
    check(dcl_wait(s->cluster) == DCL_OK, "steps");
    return (now_us() - start) / STEPS;
}

static void compare_steps(const struct steps *s, const char *where, const char *move, double us)
{
    double alone[ROUNDS], coupled[ROUNDS], best = 1e9;
    for (int r = 0; r < 5; r++) { /* how many rounds take so long */
        double found = run_steps(s, false, 100000);
        best = found < best ? found : best;
    }
    int rounds = (int)(100000 * us / best);
    run_steps(s, true, rounds);
    for (int r = 0; r < ROUNDS; r++) {
        alone[r] = run_steps(s, false, rounds);
        coupled[r] = run_steps(s, true, rounds);
    }
    double one = median(ROUNDS, alone), both = median(ROUNDS, coupled);
    printf("coupled steps of %.1f ms, 2 elements f32, %s, %s: %.0f us, alone %.0f us, beyond 1.1 times alone %.0f us "
           "(least "
           "%.0f and %.0f; median of %d, spread %.0f %%)\n",
           1e-3 * us, where, move, both, one, both - 1.1 * one, coupled[0], alone[0], ROUNDS, spread(coupled));
}

static void coupled(const char *where, const char *devices, const char *workers)
{
    for (int sent = 0; sent < 2; sent++) {
        const char *move = sent ? "send" : "auto";
        struct steps s = {.cluster = open_cluster(devices, workers, move)};
        check(dcl_node_count(s.cluster) == 2, "coupled: not two nodes");
        dcl_map *map = dcl_map_block(s.cluster);
        s.A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 2), map);
        s.B = dcl_agile(dcl_grid_1d(DCL_FLOAT, 2), map);
        check(s.B != NULL, "arrays");
        compare_steps(&s, where, sent ? "sent" : "in place", 100);
        compare_steps(&s, where, sent ? "sent" : "in place", 500);
        dcl_release(s.A);
        dcl_release(s.B);
        dcl_release(map);
        dcl_close(s.cluster);
    }
}

static void coupled_embedded(void) { coupled("embedded, two devices of one core", "all", NULL); }
static void coupled_local(void) { coupled("local:2", NULL, "local:2"); }

/* ---- products ----------------------------------------------------------------------------------------------------------- */

enum { EVERY = 32 };

struct product {
    dcl_array *A, *B, *C;
    int n;
};

static struct product make_product(dcl_cluster *cluster, dcl_map *map, int n)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, n, n);
    struct product p = {dcl_agile(grid, map), dcl_agile(grid, map), dcl_agile(grid, map), n};
    dcl_array *A = p.A, *B = p.B;
    check(p.C != NULL, "arrays");
    check(dcl_forall(cluster, "A(i,j) = (float)((i + j) % 3);", DCL_OUT(A)) == DCL_OK &&
              dcl_forall(cluster, "B(i,j) = (float)((i - j) % 5);", DCL_OUT(B)) == DCL_OK,
          "A, B");
    return p;
}

/* @return ns of a multiply-add. */
static double run_product(dcl_cluster *cluster, const struct product *p)
{
    dcl_array *A = p->A, *B = p->B, *C = p->C;
    int n = p->n;
    dcl_box rows = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){n / EVERY, n});
    rows.stride[0] = EVERY;
    double start = now_us();
    check(dcl_forall_over(cluster, &rows, "float s = 0; for (int k = 0; k < n; k++) s += A(i,k) * B(k,j); C(i,j) = s;",
                          DCL_OUT(C), DCL_IN_ROWS(A), DCL_IN_COLUMNS(B), DCL_VALUE(n)) == DCL_OK &&
              dcl_wait(cluster) == DCL_OK,
          "product");
    return 1e3 * (now_us() - start) / ((double)n * n * (n / EVERY));
}

static void check_product(const struct product *p)
{
    float found;
    dcl_box box = dcl_box_nd(2, (int64_t[]){p->n - EVERY, 7}, (int64_t[]){1, 1});
    double sum = 0;
    for (int k = 0; k < p->n; k++)
        sum += (double)((p->n - EVERY + k) % 3) * ((k - 7) % 5);
    check(dcl_read(p->C, &box, &found, NULL) == DCL_OK && found == (float)sum, "product: wrong result");
}

static void end_product(struct product *p)
{
    dcl_release(p->A);
    dcl_release(p->B);
    dcl_release(p->C);
}

static void product(void)
{
    enum { FEW = 3 };
    dcl_cluster *cluster = open_cluster(NULL, "local:2", NULL);
    dcl_map *map = dcl_map_parse(cluster, "block,*");
    struct product small = make_product(cluster, map, 2016), large = make_product(cluster, map, 2048);
    double least[2] = {1e9, 1e9};
    for (int r = 0; r <= FEW; r++) { /* the first one compiles */
        double found[2] = {run_product(cluster, &small), run_product(cluster, &large)};
        for (int k = 0; k < 2 && r > 0; k++)
            least[k] = found[k] < least[k] ? found[k] : least[k];
    }
    check_product(&small);
    check_product(&large);
    printf("product f32, local:2, block,*: 2016 %.3f ns, 2048 %.3f ns a multiply-add, ratio %.2f (least of %d)\n",
           least[0], least[1], least[1] / least[0], FEW);
    end_product(&small);
    end_product(&large);
    dcl_release(map);
    dcl_close(cluster);
}

/* ---- traces ----------------------------------------------------------------------------------------------------------- */

enum {
    TRACED = 1,   /* the second of the clusters that are compared */
    COMPARED = 2, /* clusters of a pair */
    ORDERS = 2,   /* in which the clusters of a trial's pairs are opened */
    PLACES = 3,   /* of the arrays of a pair, one after the other */
    ROUNDS_OF_PLACE = 3,
    WARM_US = 20000, /* of a cluster in a place */
    TURNS = 4,       /* of a round: two of each cluster */
    MOST_TRIALS = 101,
    SIZES = 3
};

static int trials = 11;

static const struct {
    int64_t edge;
    int operations;
} sizes[SIZES] = {{EDGE, 4 * CHAIN}, {400, CHAIN / 2}, {1024, CHAIN / 5}};

struct chained {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *X, *Y;
};

/* Compare the clusters of a pair with arrays in a new place. @param first  cluster that has the first turn.
 * @param ratio_out, plain_out  [ROUNDS_OF_PLACE] second / first cluster; us of an operation on the first. */
static void measure_place(struct chained pair[], int size, int first, double ratio_out[], double plain_out[])
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, sizes[size].edge, sizes[size].edge);
    for (int n = 0; n < COMPARED; n++) {
        struct chained *p = &pair[(first + n) % COMPARED];
        p->X = dcl_agile(grid, p->map);
        p->Y = dcl_agile(grid, p->map);
        check(p->Y != NULL, "arrays");
        for (double end = now_us() + WARM_US; now_us() < end;) /* bodies that recur are compiled once more */
            call_chain(p->cluster, p->X, p->Y, 1, sizes[size].operations);
    }
    for (int r = 0; r < ROUNDS_OF_PLACE; r++) {
        double took[COMPARED] = {0, 0};
        for (int turn = 0; turn < TURNS; turn++) {
            int n = (first + r + (turn == 1 || turn == 2)) % COMPARED;
            took[n] += call_chain(pair[n].cluster, pair[n].X, pair[n].Y, 1, sizes[size].operations);
        }
        ratio_out[r] = took[1] / took[0];
        plain_out[r] = took[0] * COMPARED / TURNS / sizes[size].operations;
    }
    for (int n = 0; n < COMPARED; n++) {
        dcl_release(pair[n].X);
        dcl_release(pair[n].Y);
    }
}

/* Run a fresh pair of clusters, cluster `first` first. @param path  where the second writes its trace; NULL: it is not
 * traced. @param ratio_out, plain_out  [SIZES] medians. */
static void run_pair(const char *devices, const char *workers, const char *path, int first, double ratio_out[],
                     double plain_out[])
{
    struct chained pair[COMPARED];
    for (int n = 0; n < COMPARED; n++) {
        struct chained *p = &pair[(first + n) % COMPARED];
        p->cluster = open_traced(devices, workers, NULL, p == &pair[TRACED] ? path : NULL);
        p->map = dcl_map_default(p->cluster);
    }
    for (int size = 0; size < SIZES; size++) {
        double ratio[PLACES * ROUNDS_OF_PLACE], plain[PLACES * ROUNDS_OF_PLACE];
        for (int place = 0; place < PLACES; place++)
            measure_place(pair, size, (first + place) % COMPARED, ratio + place * ROUNDS_OF_PLACE,
                          plain + place * ROUNDS_OF_PLACE);
        ratio_out[size] = median(PLACES * ROUNDS_OF_PLACE, ratio);
        plain_out[size] = median(PLACES * ROUNDS_OF_PLACE, plain);
    }
    for (int n = 0; n < COMPARED; n++) {
        struct chained *p = &pair[(first + n) % COMPARED];
        dcl_release(p->map);
        check(dcl_close(p->cluster) == DCL_OK, "dcl_close");
    }
}

static void compare_traced(const char *devices, const char *workers, const char *path)
{
    const char *where = workers != NULL ? "local:2, default map" : "one embedded node";
    double found[SIZES][MOST_TRIALS], plain[SIZES][MOST_TRIALS];
    for (int t = 0; t < trials; t++) {
        double ratio[ORDERS][SIZES], us[ORDERS][SIZES];
        for (int n = 0; n < ORDERS; n++)
            run_pair(devices, workers, path, (t + n) % ORDERS, ratio[n], us[n]);
        for (int size = 0; size < SIZES; size++) {
            found[size][t] = sqrt(ratio[0][size] * ratio[1][size]);
            plain[size][t] = (us[0][size] + us[1][size]) / ORDERS;
        }
    }
    for (int size = 0; size < SIZES; size++) {
        double *ratio = found[size], middle = median(trials, ratio); /* sorts them */
        printf("%d operations f32 %d x %d, %s: %.2f us each, %s / untraced %.3f, interval %.3f to %.3f (median of %d "
               "trials, %d rounds each)\n",
               sizes[size].operations, (int)sizes[size].edge, (int)sizes[size].edge, where, median(trials, plain[size]),
               path != NULL ? "traced" : "untraced", middle, ratio[outside_interval(trials)],
               ratio[trials - 1 - outside_interval(trials)], trials, ORDERS * PLACES * ROUNDS_OF_PLACE);
    }
    fflush(stdout);
}

static void trace_on(const char *devices, const char *workers)
{
    char folder[] = "/tmp/dcl-bench-XXXXXX", path[64];
    check(mkdtemp(folder) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/trace.json", folder);
    compare_traced(devices, workers, path);
    unlink(path);
    rmdir(folder);
}

static void trace_embedded(void) { trace_on("0", NULL); }
static void trace_local(void) { trace_on(NULL, "local:2"); }
static void untraced_embedded(void) { compare_traced("0", NULL, NULL); }
static void untraced_local(void) { compare_traced(NULL, "local:2", NULL); }

/* ---- items -------------------------------------------------------------------------------------------------------------- */

static const struct item {
    const char *name;
    void (*run)(void);
    bool one_core; /* two devices of one core each; the driver reads these variables once */
    bool by_name;  /* only if it is asked for */
} items[] = {
    {"chain", chain_embedded, false, false},
    {"chain", chain_local, false, false},
    {"fresh", fresh_embedded, false, false},
    {"fresh", fresh_local, false, false},
    {"uneven", uneven, false, false},
    {"coupled", coupled_embedded, true, false},
    {"coupled", coupled_local, false, false},
    {"product", product, false, false},
    {"trace", trace_embedded, false, false},
    {"trace", trace_local, false, false},
    {"untraced", untraced_embedded, false, true},
    {"untraced", untraced_local, false, true},
};

static bool run(const struct item *item)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (item->one_core) {
            setenv("POCL_DEVICES", "pthread pthread", 1);
            setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
        }
        item->run();
        exit(0);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
    bool right = true;
    if (argc > 2)
        trials = atoi(argv[2]);
    if (argc > 3 || trials < 1 || trials > MOST_TRIALS) {
        fprintf(stderr, "small: expected an item, and for trace and untraced a number of trials of 1..%d\n",
                MOST_TRIALS);
        return 2;
    }
    printf("DCL %s, commit %s, small operations\n", dcl_version(), bench_commit);
    for (size_t n = 0; n < sizeof items / sizeof items[0]; n++)
        if (argc < 2 ? !items[n].by_name : strcmp(argv[1], items[n].name) == 0)
            right &= run(&items[n]);
    return right ? 0 : 1;
}

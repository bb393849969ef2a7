/* small.c - operations that are small but not cheap, each against what computing alone takes, taking turns in one run.
 *
 *     small [item]         uneven, coupled, product; all of them if not given
 *
 * uneven   256 elements whose cost rises or falls with the index, on one embedded node: DCL against OpenMP, schedule(dynamic, 1).
 *          Timed: a call and its wait, from the third call on.
 * coupled  B(i) = f(A(i), A(i-1)), then A = g(B), of one element per node on two nodes, in place and sent: a step against one
 *          whose f does not read A(i-1). Timed: 100 steps and a wait.
 * product  every 32nd row of C = A * B, 2016^2 and 2048^2 floats on two local nodes, by columns of B, which come from both: time
 *          of a multiply-add of the larger one against the smaller one's, whose rows do not lie a power of two apart.
 *
 * Every item runs in a process of its own. No item transfers data between program and nodes while it is timed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { ROUNDS = 11, STEPS = 100, ELEMENTS = 256 };

extern const char bench_commit[]; /* what was built; written by the build */

static void check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "small: %s; %s\n", what, dcl_error());
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

/* Wait until OpenMP's threads sleep: they spin after their work, and would disturb the next measurement. */
static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof values[0], by_value);
    return values[ROUNDS / 2];
}

static double spread(const double sorted[ROUNDS])
{
    return 100 * (sorted[ROUNDS - 2] - sorted[1]) / sorted[ROUNDS / 2];
}

static dcl_cluster *open_cluster(const char *devices, const char *workers, const char *move)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.devices = devices != NULL ? devices : config.devices;
    config.workers = workers;
    config.transfer = move;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

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
        double mine = median(dcl), theirs = median(openmp);
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
    double one = median(alone), both = median(coupled);
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

/* ---- items -------------------------------------------------------------------------------------------------------------- */

static const struct item {
    const char *name;
    void (*run)(void);
    bool one_core; /* two devices of one core each; the driver reads these variables once */
} items[] = {
    {"uneven", uneven, false},
    {"coupled", coupled_embedded, true},
    {"coupled", coupled_local, false},
    {"product", product, false},
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
    printf("DCL %s, commit %s, small operations\n", dcl_version(), bench_commit);
    for (size_t n = 0; n < sizeof items / sizeof items[0]; n++)
        if (argc < 2 || strcmp(argv[1], items[n].name) == 0)
            right &= run(&items[n]);
    return right ? 0 : 1;
}

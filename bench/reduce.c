/* reduce.c - sums of all elements: DCL against OpenMP, taking turns in one run.
 *
 *     reduce [edge]        edge of the square arrays, 8192 if not given
 *
 * sum f32, sum f64: the sum of all elements of an array, on one embedded node and on local:2 with the default map. DCL's result
 * does not depend on the order of the summands; OpenMP's (parallel for simd reduction, as many threads as processors) does. Timed: from
 * the call until the value is in the program. With DCL_FAST, DCL may add in any order, too. dot f32: the same of the products of two arrays, in double.
 * y = A x: dcl_reduce() into an array, against OpenMP's sum of A, as no product is faster than reading A.
 * small: the sum of an array of one element, against two waited dcl_forall() on such an array.
 * Bandwidth: bytes of the elements by time. The results are compared first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <dcl.h>

#include "common.h"

enum { ROUNDS = 11 };

/* OpenMP's threads spin after their work, and would disturb the next measurement. Each side is measured after a
 * call that is not timed, since processors that have slept take up to 0.2 ms to wake. */
static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

static void *allocate(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static float sum_singles(long count, const float *x)
{
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (long e = 0; e < count; e++)
        sum += x[e];
    return sum;
}

static double sum_doubles(long count, const double *x)
{
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (long e = 0; e < count; e++)
        sum += x[e];
    return sum;
}

static double dot_singles(long count, const float *x, const float *y)
{
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (long e = 0; e < count; e++)
        sum += (double)x[e] * y[e];
    return sum;
}

static dcl_cluster *open_cluster(const char *workers)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    config.workers = workers;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

static void report(const char *what, const char *where, double bytes, double dcl[], double openmp[])
{
    double ours = median(ROUNDS, dcl), theirs = median(ROUNDS, openmp);
    printf(
        "%s, %s: dcl %.2f ms, %.1f GB/s, OpenMP %.2f ms, %.1f GB/s, OpenMP / dcl %.2f (median of %d, spread %.0f %%)\n",
        what, where, ours, 1e-6 * bytes / ours, theirs, 1e-6 * bytes / theirs, theirs / ours, ROUNDS,
        100 * (dcl[ROUNDS - 2] - dcl[1]) / ours);
    fflush(stdout);
}

/* Arrays in the cluster, and the same numbers in memory; what DCL and OpenMP have found of them. */
struct numbers {
    dcl_cluster *cluster;
    long count;
    dcl_array *A, *B, *D, *x, *y, *v, *w; /* x and y of floats, v and w of doubles */
    float *a, *b;
    double *d;
    float single, plain_single;
    double sum, plain, bound;
};

static void dcl_single(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "s += A(i,j);", DCL_RESULT_AS("s", &n->single), DCL_IN_AS("A", n->A)) == DCL_OK,
          "dcl_reduce");
}

static void dcl_single_fast(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "s += A(i,j);", DCL_RESULT_AS("s", &n->single), DCL_IN_AS("A", n->A), DCL_FAST) ==
              DCL_OK,
          "dcl_reduce");
}

static void dcl_product(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "s += (double)A(i,j) * B(i,j);", DCL_RESULT_AS("s", &n->sum), DCL_IN_AS("A", n->A),
                     DCL_IN_AS("B", n->B)) == DCL_OK,
          "dcl_reduce");
}

static void dcl_double(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "s += D(i,j);", DCL_RESULT_AS("s", &n->sum), DCL_IN_AS("D", n->D)) == DCL_OK,
          "dcl_reduce");
}

static void dcl_double_fast(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "s += D(i,j);", DCL_RESULT_AS("s", &n->sum), DCL_IN_AS("D", n->D), DCL_FAST) == DCL_OK,
          "dcl_reduce");
}

static void dcl_times_single(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "y(i) += A(i,j) * x(j);", DCL_OUT_AS("y", n->y), DCL_IN_AS("A", n->A),
                     DCL_IN_AS("x", n->x)) == DCL_OK &&
              dcl_wait(n->cluster) == DCL_OK,
          "dcl_reduce");
}

static void dcl_times_double(struct numbers *n)
{
    check(dcl_reduce(n->cluster, "w(i) += D(i,j) * v(j);", DCL_OUT_AS("w", n->w), DCL_IN_AS("D", n->D),
                     DCL_IN_AS("v", n->v)) == DCL_OK &&
              dcl_wait(n->cluster) == DCL_OK,
          "dcl_reduce");
}

static void bound_single(struct numbers *n) { n->bound = sum_singles(n->count, n->a); }
static void bound_double(struct numbers *n) { n->bound = sum_doubles(n->count, n->d); }
static void plain_single(struct numbers *n) { n->plain_single = sum_singles(n->count, n->a); }
static void plain_product(struct numbers *n) { n->plain = dot_singles(n->count, n->a, n->b); }
static void plain_double(struct numbers *n) { n->plain = sum_doubles(n->count, n->d); }

/* Measure two functions, taking turns, and compare their results. */
static void compare(struct numbers *n, const char *what, const char *where, double bytes,
                    void (*ours)(struct numbers *), void (*theirs)(struct numbers *))
{
    double dcl[ROUNDS], openmp[ROUNDS];
    n->single = n->plain_single = 0;
    n->sum = n->plain = 0;
    for (int r = -1; r < ROUNDS; r++) {
        ours(n);
        double began = now_ms();
        ours(n);
        dcl[r < 0 ? 0 : r] = now_ms() - began;
        rest();
        theirs(n);
        began = now_ms();
        theirs(n);
        openmp[r < 0 ? 0 : r] = now_ms() - began;
        rest();
    }
    check(fabsf(n->single - n->plain_single) <= 1e-3F * n->plain_single && fabs(n->sum - n->plain) <= 1e-9 * n->plain,
          "the sums differ");
    report(what, where, bytes * (double)n->count, dcl, openmp);
}

/* Measure y = A x with x = 1. */
static void times(struct numbers *n, const char *what, const char *where, double bytes, dcl_array *y,
                  void (*ours)(struct numbers *), void (*bound)(struct numbers *))
{
    double sum;
    compare(n, what, where, bytes, ours, bound);
    check(dcl_sum(y, &sum) == DCL_OK && fabs(sum - n->bound) <= 1e-3 * n->bound, "y = A x is wrong");
}

static void sums(dcl_cluster *cluster, const char *where, long edge)
{
    struct numbers n = {.cluster = cluster, .count = edge * edge};
    size_t count = (size_t)n.count;
    dcl_map *map = dcl_map_default(cluster);
    n.A = dcl_agile(dcl_grid_2d(DCL_FLOAT, edge, edge), map);
    n.B = dcl_agile(dcl_grid_2d(DCL_FLOAT, edge, edge), map);
    n.D = dcl_agile(dcl_grid_2d(DCL_DOUBLE, edge, edge), map);
    n.x = dcl_agile(dcl_grid_1d(DCL_FLOAT, edge), map);
    n.y = dcl_agile(dcl_grid_1d(DCL_FLOAT, edge), map);
    n.v = dcl_agile(dcl_grid_1d(DCL_DOUBLE, edge), map);
    n.w = dcl_agile(dcl_grid_1d(DCL_DOUBLE, edge), map);
    check(dcl_forall(cluster, "x(i) = 1; v(i) = 1;", DCL_OUT_AS("x", n.x), DCL_OUT_AS("v", n.v)) == DCL_OK,
          "dcl_forall");
    check(dcl_forall(cluster,
                     "A(i,j) = (float)((i * 7 + j * 3) % 1024) / 64; B(i,j) = (float)((i + j) % 256) / 16; "
                     "D(i,j) = (double)((i * 7 + j * 3) % 1024) / 7;",
                     DCL_OUT_AS("A", n.A), DCL_OUT_AS("B", n.B), DCL_OUT_AS("D", n.D)) == DCL_OK,
          "dcl_forall");
    n.a = allocate(count * sizeof *n.a);
    n.b = allocate(count * sizeof *n.b);
    n.d = allocate(count * sizeof *n.d);
    check(dcl_read(n.A, NULL, n.a, NULL) == DCL_OK && dcl_read(n.B, NULL, n.b, NULL) == DCL_OK &&
              dcl_read(n.D, NULL, n.d, NULL) == DCL_OK,
          "dcl_read");
    compare(&n, "sum f32", where, 4, dcl_single, plain_single);
    compare(&n, "sum f32, DCL_FAST", where, 4, dcl_single_fast, plain_single);
    compare(&n, "dot f32", where, 8, dcl_product, plain_product);
    compare(&n, "sum f64", where, 8, dcl_double, plain_double);
    compare(&n, "sum f64, DCL_FAST", where, 8, dcl_double_fast, plain_double);
    times(&n, "y = A x f32", where, 4, n.y, dcl_times_single, bound_single);
    times(&n, "y = A x f64", where, 8, n.w, dcl_times_double, bound_double);
    munmap(n.a, count * sizeof *n.a);
    munmap(n.b, count * sizeof *n.b);
    munmap(n.d, count * sizeof *n.d);
    dcl_release(n.w);
    dcl_release(n.v);
    dcl_release(n.y);
    dcl_release(n.x);
    dcl_release(n.D);
    dcl_release(n.B);
    dcl_release(n.A);
    dcl_release(map);
}

static void small(dcl_cluster *cluster, const char *where)
{
    enum { CALLS = 200 };
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 1), map);
    double dcl[ROUNDS], calls[ROUNDS];
    float sum = 0;
    for (int r = -1; r < ROUNDS; r++) {
        double began = now_ms();
        for (int c = 0; c < CALLS; c++)
            check(dcl_reduce(cluster, "sum += A(i) + 1;", DCL_RESULT(sum), DCL_IN(A)) == DCL_OK, "dcl_reduce");
        dcl[r < 0 ? 0 : r] = (now_ms() - began) / CALLS;
        began = now_ms();
        for (int c = 0; c < 2 * CALLS; c++)
            check(dcl_forall(cluster, "A(i) = 0;", DCL_OUT(A)) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_forall");
        calls[r < 0 ? 0 : r] = (now_ms() - began) / CALLS;
    }
    check(sum == 1, "the sum is wrong");
    double ours = median(ROUNDS, dcl), two = median(ROUNDS, calls);
    printf("sum of one element, %s: %.1f us, two waited dcl_forall %.1f us, ratio %.2f (median of %d)\n", where,
           1e3 * ours, 1e3 * two, ours / two, ROUNDS);
    fflush(stdout);
    dcl_release(A);
    dcl_release(map);
}

int main(int count, char *arguments[])
{
    long edge = count > 1 ? atol(arguments[1]) : 8192;
    check(edge > 0, "edge");
    printf("DCL %s, commit %s, sums of %ld x %ld elements\n", dcl_version(), bench_commit, edge, edge);
    static const char *const places[] = {NULL, "local:2"};
    for (int p = 0; p < 2; p++) {
        dcl_cluster *cluster = open_cluster(places[p]);
        const char *where = places[p] != NULL ? "local:2, default map" : "one embedded node";
        sums(cluster, where, edge);
        small(cluster, where);
        check(dcl_close(cluster) == DCL_OK, "dcl_close");
    }
    return EXIT_SUCCESS;
}

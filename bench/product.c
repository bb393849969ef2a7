/* product.c - products of matrices: DCL's chains of fused multiply-adds, DCL with DCL_FAST, and OpenBLAS, taking turns in one run.
 *
 *     product [edge [rounds]]        4096 and 7 if not given; edge / 2 is used for doubles
 *
 * C = A B of square matrices in the default map, on one embedded node and on local:2. Timed: from the call to the end of dcl_wait(). OpenBLAS
 * (libopenblas.so.0, as many threads as processors) multiplies matrices whose rows are padded as DCL's are. Where there is
 * none, DCL is measured alone. Medians; ratios above 1: DCL is faster. The results are compared first. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <dcl.h>

#include "common.h"

enum { MOST_ROUNDS = 101, PAD = 16 };

typedef void gemm_single(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                         int);
typedef void gemm_double(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                         double *, int);

struct products {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C;
    int edge;
    bool doubles;
    void *a, *b, *c; /* [edge][edge + PAD] */
    gemm_single *single;
    gemm_double *twice;
};

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); }

static double a_at(int i, int j) { return (i * 7 + j * 3) % 11 - 5; }
static double b_at(int i, int j) { return (i * 5 + j * 2) % 13 - 6; }

static void chain(struct products *p)
{
    check(dcl_matmul(p->cluster, p->C, p->A, p->B) == DCL_OK && dcl_wait(p->cluster) == DCL_OK, "dcl_matmul");
}

static void fast(struct products *p)
{
    check(dcl_reduce(p->cluster, "C(i,j) += A(i,k) * B(k,j);", DCL_OUT_AS("C", p->C), DCL_IN_AS("A", p->A),
                     DCL_IN_AS("B", p->B), DCL_FAST) == DCL_OK &&
              dcl_wait(p->cluster) == DCL_OK,
          "DCL_FAST");
}

static void library(struct products *p)
{
    int n = p->edge, pitch = n + PAD;
    if (p->doubles && p->twice != NULL)
        p->twice(101, 111, 111, n, n, n, 1, p->a, pitch, p->b, pitch, 0, p->c, pitch);
    else if (!p->doubles && p->single != NULL)
        p->single(101, 111, 111, n, n, n, 1, p->a, pitch, p->b, pitch, 0, p->c, pitch);
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

/* Compare the first and the last row: all sums are exact. */
static void verify(struct products *p, const char *what)
{
    for (int turn = 0; turn < 2; turn++) {
        int i = turn * (p->edge - 1);
        dcl_box row = {.rank = 2, .start = {i, 0}, .count = {1, p->edge}, .stride = {1, 1}};
        void *found = malloc((size_t)p->edge * sizeof(double));
        check(found != NULL && dcl_read(p->C, &row, found, NULL) == DCL_OK, "dcl_read");
        for (int j = 0; j < p->edge; j++) {
            double sum = 0;
            for (int k = 0; k < p->edge; k++)
                sum += a_at(i, k) * b_at(k, j);
            check((p->doubles ? ((double *)found)[j] : ((float *)found)[j]) == sum, what);
        }
        free(found);
    }
}

static void fill(struct products *p)
{
    const char *a = "X(i,j) = (i * 7 + j * 3) % 11 - 5;", *b = "X(i,j) = (i * 5 + j * 2) % 13 - 6;";
    check(dcl_forall(p->cluster, a, DCL_OUT_AS("X", p->A)) == DCL_OK &&
              dcl_forall(p->cluster, b, DCL_OUT_AS("X", p->B)) == DCL_OK,
          "dcl_forall");
    for (int i = 0; i < p->edge; i++)
        for (int j = 0; j < p->edge; j++) {
            size_t at = (size_t)i * (size_t)(p->edge + PAD) + (size_t)j;
            if (p->doubles) {
                ((double *)p->a)[at] = a_at(i, j);
                ((double *)p->b)[at] = b_at(i, j);
            } else {
                ((float *)p->a)[at] = (float)a_at(i, j);
                ((float *)p->b)[at] = (float)b_at(i, j);
            }
        }
}

static void compare(const char *workers, int edge, bool doubles, int rounds)
{
    static void (*const ways[])(struct products *) = {chain, fast, library};
    struct products p = {.cluster = open_cluster(workers), .edge = edge, .doubles = doubles};
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (blas != NULL) {
        *(void **)&p.single = dlsym(blas, "cblas_sgemm");
        *(void **)&p.twice = dlsym(blas, "cblas_dgemm");
    }
    size_t bytes = (size_t)edge * (size_t)(edge + PAD) * (doubles ? 8 : 4);
    dcl_grid grid = dcl_grid_2d(doubles ? DCL_DOUBLE : DCL_FLOAT, edge, edge);
    double time[3][MOST_ROUNDS];
    dcl_map *map = dcl_map_default(p.cluster);
    p.A = dcl_agile(grid, map);
    p.B = dcl_agile(grid, map);
    p.C = dcl_agile(grid, map);
    p.a = calloc(1, bytes);
    p.b = calloc(1, bytes);
    p.c = calloc(1, bytes);
    check(p.C != NULL && p.a != NULL && p.b != NULL && p.c != NULL, "memory");
    fill(&p);
    chain(&p);
    verify(&p, "a chain differs");
    check(dcl_forall(p.cluster, "X(i,j) = -1;", DCL_OUT_AS("X", p.C)) == DCL_OK, "dcl_forall");
    fast(&p);
    verify(&p, "a product with DCL_FAST differs");
    for (int r = -1; r < rounds; r++)
        for (int w = 0; w < 3; w++) {
            double start = now();
            ways[w](&p);
            time[w][r < 0 ? 0 : r] = now() - start;
            rest();
        }
    double work = 2e-9 * edge * edge * edge, at[3];
    for (int w = 0; w < 3; w++)
        at[w] = median(rounds, time[w]);
    printf("product %s %d, %s: chain %.1f GF/s, DCL_FAST %.1f GF/s", doubles ? "f64" : "f32", edge,
           workers != NULL ? workers : "one node", work / at[0], work / at[1]);
    if (p.single != NULL)
        printf(", OpenBLAS %.1f GF/s; ratios %.3f and %.3f", work / at[2], at[2] / at[0], at[2] / at[1]);
    printf(" (medians of %d)\n", rounds);
    fflush(stdout);
    free(p.a);
    free(p.b);
    free(p.c);
    dcl_release(p.A);
    dcl_release(p.B);
    dcl_release(p.C);
    dcl_release(map);
    dcl_close(p.cluster);
}

int main(int count, char **words)
{
    int edge = count > 1 ? atoi(words[1]) : 4096, rounds = count > 2 ? atoi(words[2]) : 7;
    check(edge >= 2 && rounds >= 1 && rounds <= MOST_ROUNDS, "edge or rounds");
    for (int w = 0; w < 2; w++)
        for (int doubles = 0; doubles < 2; doubles++)
            compare(w == 0 ? NULL : "local:2", doubles ? edge / 2 : edge, doubles, rounds);
    return 0;
}

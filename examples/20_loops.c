/* 20_loops.c - loops in C, as they are written for plain arrays: a product of matrices, steps of a stencil, and a loop that cannot
 * run in parallel, with what DCL says about it. The same text is compiled as C, and the results have the same bits.
 * Built against an installed DCL, without fused multiply-adds, because bits are compared:
 * cc -ffp-contract=off 20_loops.c $(pkg-config --cflags --libs dcl) */
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { N = 150, M = 90, STEPS = 10 };

/* The loops, once as C and once as text. */
#define LOOPS(name, ...)                                \
    static void name(void)                              \
    {                                                   \
        int i = 0, j = 0, k = 0, t = 0;                 \
        __VA_ARGS__(void) i, (void)j, (void)k, (void)t; \
    }                                                   \
    static const char name##_text[] = #__VA_ARGS__;

static double A[N][M], B[M][N], C[N][N], D[N][N];
static int n = N, m = M, steps = STEPS;
static double alpha = 1.5;

/* clang-format off */
LOOPS(product,
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            C[i][j] = 0;
            for (k = 0; k < m; k++)
                C[i][j] += alpha * A[i][k] * B[k][j];
        }
)
LOOPS(stencil,
    for (t = 0; t < steps; t++) {
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                D[i][j] = 0.2 * (C[i][j] + C[i][j-1] + C[i][j+1] + C[i-1][j] + C[i+1][j]);
        for (i = 1; i < n - 1; i++)
            for (j = 1; j < n - 1; j++)
                C[i][j] = D[i][j];
    }
)
/* clang-format on */

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static int differences(dcl_array *array, double right[N][N])
{
    static double found[N][N];
    int count = 0;
    check(dcl_read(array, NULL, found, NULL), "dcl_read");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            count += found[i][j] != right[i][j];
    return count;
}

static int run(dcl_cluster *cluster, dcl_array *a, dcl_array *b, dcl_array *c, dcl_array *d)
{
    check(dcl_write(a, NULL, A, NULL), "dcl_write");
    check(dcl_write(b, NULL, B, NULL), "dcl_write");
    check(dcl_loops(cluster, product_text, DCL_OUT_AS("C", c), DCL_IN_AS("A", a), DCL_IN_AS("B", b), DCL_VALUE(n),
                    DCL_VALUE(m), DCL_VALUE(alpha)),
          "dcl_loops");
    product();
    int wrong = differences(c, C);
    check(dcl_loops(cluster, stencil_text, DCL_INOUT_AS("C", c), DCL_OUT_AS("D", d), DCL_VALUE(n), DCL_VALUE(steps)),
          "dcl_loops");
    stencil();
    wrong += differences(c, C);
    printf("elements that differ from those of the plain loops: %d\n\n", wrong);

    /* Each element needs its neighbour, in both directions: an error, and nothing is run. */
    dcl_status status = dcl_loops(cluster,
                                  "for (i = 1; i < n - 1; i++)\n"
                                  "    for (j = 1; j < n - 1; j++)\n"
                                  "        C[i][j] = C[i-1][j+1] + C[i][j-1];\n",
                                  DCL_INOUT_AS("C", c), DCL_VALUE(n));
    printf("%s\n", dcl_error());
    return wrong == 0 && status == DCL_ERR_BODY && differences(c, C) == 0;
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            A[i][j] = (7 * i + 3 * j) % 100 / 7.0;
            B[j][i] = (i - 2 * j) / 3.0;
        }
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *a = dcl_agile(dcl_grid_2d(DCL_DOUBLE, N, M), map), *b = dcl_agile(dcl_grid_2d(DCL_DOUBLE, M, N), map);
    dcl_array *c = dcl_agile(dcl_grid_2d(DCL_DOUBLE, N, N), map), *d = dcl_agile(dcl_grid_2d(DCL_DOUBLE, N, N), map);
    if (d == NULL)
        check(dcl_status_of(NULL), "dcl_agile");
    int right = run(cluster, a, b, c, d);
    dcl_release(d);
    dcl_release(c);
    dcl_release(b);
    dcl_release(a);
    dcl_release(map);
    dcl_close(cluster);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

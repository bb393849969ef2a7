/* 17_conjugate_gradient.c - solve a Poisson equation on a square by conjugate gradients. The scalars of the method stay on the
 * nodes, in arrays of one element, so the program waits for nothing within the loop.
 * On several nodes: DCL_WORKERS=local:4 17_conjugate_gradient
 * Built against an installed DCL: cc 17_conjugate_gradient.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { EDGE = 96, MOST = 1000, EVERY = 10 };

/* The system A X = B, with A the five-point Laplacian and B the residual R at the beginning. */
struct solver {
    dcl_cluster *cluster;
    dcl_array *X, *R, *P, *Q;     /* solution, residual, direction, A P */
    dcl_array *rho, *before, *pq; /* R.R, that of the step before, P.Q */
};

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static dcl_status step(void *user, int64_t n)
{
    struct solver *s = user;
    dcl_cluster *cluster = s->cluster;
    dcl_array *X = s->X, *R = s->R, *P = s->P, *Q = s->Q, *rho = s->rho, *before = s->before, *pq = s->pq;
    const int last = EDGE - 1;
    (void)n;
    dcl_reduce(cluster,
               "Q(i,j) = 4 * P(i,j) - (i > 0 ? P(i-1,j) : 0) - (i < last ? P(i+1,j) : 0)"
               "                    - (j > 0 ? P(i,j-1) : 0) - (j < last ? P(i,j+1) : 0);"
               "pq(0) += P(i,j) * Q(i,j);",
               DCL_OUT(Q), DCL_OUT(pq), DCL_IN(P), DCL_VALUE(last));
    dcl_swap(rho, before);
    dcl_reduce(cluster,
               "float alpha = before(0) / pq(0);"
               "X(i,j) += alpha * P(i,j);"
               "R(i,j) -= alpha * Q(i,j);"
               "rho(0) += R(i,j) * R(i,j);",
               DCL_INOUT(X), DCL_INOUT(R), DCL_OUT(rho), DCL_IN(P), DCL_IN(Q), DCL_IN(before), DCL_IN(pq));
    dcl_forall(cluster, "P(i,j) = R(i,j) + (float)(rho(0) / before(0)) * P(i,j);", DCL_INOUT(P), DCL_IN(R), DCL_IN(rho),
               DCL_IN(before));
    return dcl_status_of(cluster); /* the first error of these calls */
}

/* The right side: sources in the square. */
static float source(int i, int j) { return (float)((7 * i + 13 * j) % 17 - 8); }

/* The largest element of B - A X, for the solution that was found. */
static double largest_residual(const float *x)
{
    double most = 0;
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) {
            const float *at = x + i * EDGE + j;
            double sum = 4.0 * at[0];
            sum -= i > 0 ? (double)at[-EDGE] : 0;
            sum -= i < EDGE - 1 ? (double)at[EDGE] : 0;
            sum -= j > 0 ? (double)at[-1] : 0;
            sum -= j < EDGE - 1 ? (double)at[1] : 0;
            most = fmax(most, fabs((double)source(i, j) - sum));
        }
    return most;
}

int main(void)
{
    static float solution[EDGE * EDGE];
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE), one = dcl_grid_1d(DCL_DOUBLE, 1);
    dcl_array *X = dcl_agile(grid, map), *R = dcl_agile(grid, map), *P = dcl_agile(grid, map);
    dcl_array *Q = dcl_agile(grid, map), *rho = dcl_agile(one, map), *before = dcl_agile(one, map);
    dcl_array *pq = dcl_agile(one, map), *made[] = {X, R, P, Q, rho, before, pq};
    struct solver solver = {cluster, X, R, P, Q, rho, before, pq};
    const double limit = 1e-6;
    int64_t steps;
    check(dcl_forall(cluster, "R(i,j) = P(i,j) = (7*i + 13*j) % 17 - 8;", DCL_OUT(R), DCL_OUT(P)), "dcl_forall");
    check(dcl_reduce(cluster, "rho(0) += R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R)), "dcl_reduce");

    check(dcl_iterate(cluster, MOST, step, &solver, &steps,
                      DCL_UNTIL(EVERY, "rho(0) < limit", DCL_IN(rho), DCL_VALUE(limit))),
          "dcl_iterate");

    check(dcl_read(X, NULL, solution, NULL), "dcl_read");
    double residual = largest_residual(solution);
    printf("%ld steps; largest element of B - A X: %g\n", (long)steps, residual);
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return residual < 1e-3 && steps < MOST ? EXIT_SUCCESS : EXIT_FAILURE;
}

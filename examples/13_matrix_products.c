/* 13_matrix_products.c - reductions along axes: a matrix-vector product, a matrix product, and the largest element of each column.
 * Built against an installed DCL: cc 13_matrix_products.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 120, INNER = 200, COLUMNS = 90 };

static double A[ROWS][INNER], B[INNER][COLUMNS], C[ROWS][COLUMNS], x[INNER], y[ROWS], most[INNER];

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* The largest difference from plain loops. */
static double compare(void)
{
    double largest = 0;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < INNER; k++)
            sum += A[i][k] * x[k];
        largest = fmax(largest, fabs(sum - y[i]));
        for (int j = 0; j < COLUMNS; j++) {
            double chain = 0;
            for (int k = 0; k < INNER; k++)
                chain = fma(A[i][k], B[k][j], chain);
            largest = fmax(largest, fabs(2 * chain - C[i][j])); /* added twice; the second chain continues the first */
        }
    }
    for (int k = 0; k < INNER; k++) {
        double column = -INFINITY;
        for (int i = 0; i < ROWS; i++)
            column = fmax(column, A[i][k]);
        largest = fmax(largest, fabs(column - most[k]));
    }
    return largest;
}

int main(void)
{
    for (int k = 0; k < INNER; k++) {
        x[k] = k % 7 - 3;
        for (int i = 0; i < ROWS; i++)
            A[i][k] = (3 * i + 5 * k) % 17 - 8;
        for (int j = 0; j < COLUMNS; j++)
            B[k][j] = (7 * k + j) % 13 - 6;
    }
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *a = dcl_agile(dcl_grid_2d(DCL_DOUBLE, ROWS, INNER), map);
    dcl_array *b = dcl_agile(dcl_grid_2d(DCL_DOUBLE, INNER, COLUMNS), map);
    dcl_array *c = dcl_agile(dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS), map);
    dcl_array *v = dcl_agile(dcl_grid_1d(DCL_DOUBLE, INNER), map);
    dcl_array *u = dcl_agile(dcl_grid_1d(DCL_DOUBLE, ROWS), map);
    dcl_array *m = dcl_agile(dcl_grid_1d(DCL_DOUBLE, INNER), map);
    if (m == NULL)
        check(dcl_status_of(NULL), "dcl_agile");
    check(dcl_write(a, NULL, A, NULL), "dcl_write");
    check(dcl_write(b, NULL, B, NULL), "dcl_write");
    check(dcl_write(v, NULL, x, NULL), "dcl_write");

    /* Indices on the left are kept; all others are reduced. */
    check(dcl_reduce(cluster, "u(i) += a(i,j) * v(j);", DCL_OUT(u), DCL_IN(a), DCL_IN(v)), "dcl_reduce");
    check(dcl_reduce(cluster, "m(k) max= a(i,k);", DCL_OUT(m), DCL_IN(a)), "dcl_reduce");

    /* New arrays are 0. DCL_INOUT adds to what is there; DCL_OUT would start from 0 each time. */
    for (int times = 0; times < 2; times++)
        check(dcl_reduce(cluster, "c(i,j) += a(i,k) * b(k,j);", DCL_INOUT(c), DCL_IN(a), DCL_IN(b)), "dcl_reduce");

    check(dcl_read(u, NULL, y, NULL), "dcl_read");
    check(dcl_read(m, NULL, most, NULL), "dcl_read");
    check(dcl_read(c, NULL, C, NULL), "dcl_read");
    double largest = compare();
    printf("C(0,0) = %g, y(0) = %g, largest difference from plain loops %g\n", C[0][0], y[0], largest);
    dcl_array *made[] = {m, u, v, c, b, a};
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return largest == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* 10_recipes.c - sums and maxima of rows, and a matrix times a vector: rows are summed where they lie, and only the sums
 * travel. docs/recipes.md explains each body.
 * Built against an installed DCL: cc 10_recipes.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 500, COLUMNS = 700 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* The arrays in plain C. */
static float a(int i, int j) { return (float)((7 * i + 3 * j) % 1000) / 8; }
static float x(int j) { return (float)(j % 16) / 4; }

/* Compares the rows' results with a plain loop and returns the largest difference. */
static double compare(const char *what, dcl_array *S, double expected_of_row(int i))
{
    double found[ROWS], largest = 0;
    check(dcl_read(S, NULL, found, NULL), what);
    for (int i = 0; i < ROWS; i++)
        largest = fmax(largest, fabs(found[i] - expected_of_row(i)));
    printf("%-24s largest difference of %d rows: %g\n", what, ROWS, largest);
    return largest;
}

static double row_sum(int i)
{
    double s = 0;
    for (int j = 0; j < COLUMNS; j++)
        s += (double)a(i, j);
    return s;
}

static double row_of_squares(int i)
{
    double s = 0;
    for (int j = 0; j < COLUMNS; j++)
        s += (double)a(i, j) * (double)a(i, j);
    return s;
}

static double row_maximum(int i)
{
    double most = -INFINITY;
    for (int j = 0; j < COLUMNS; j++)
        most = fmax(most, (double)a(i, j));
    return most;
}

static double row_times_vector(int i)
{
    double s = 0;
    for (int j = 0; j < COLUMNS; j++)
        s += (double)a(i, j) * (double)x(j);
    return s;
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 0); /* where the CPU serves: as four nodes */
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *rows = dcl_map_parse(cluster, "block,*"), *block = dcl_map_parse(cluster, "block");
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), rows);
    dcl_array *V = dcl_agile(dcl_grid_1d(DCL_FLOAT, COLUMNS), block);
    dcl_array *S = dcl_agile(dcl_grid_1d(DCL_DOUBLE, ROWS), block); /* split as A's rows are */
    const long n = COLUMNS;
    double largest = 0;
    check(dcl_status_of(cluster), "making the arrays");
    check(dcl_forall(cluster, "A(i,j) = ((7*i + 3*j) % 1000) / 8.0f;", DCL_OUT(A)), "A");
    check(dcl_forall(cluster, "V(i) = (i % 16) / 4.0f;", DCL_OUT(V)), "V");

    check(dcl_forall(cluster, "double s = 0; for (long c = 0; c < n; c++) s += A(i, c); S(i) = s;", DCL_OUT(S),
                     DCL_IN_ROWS(A), DCL_VALUE(n)),
          "sum");
    largest = fmax(largest, compare("sum", S, row_sum));

    check(dcl_forall(cluster, "double s = 0; for (long c = 0; c < n; c++) s += (double)A(i, c) * A(i, c); S(i) = s;",
                     DCL_OUT(S), DCL_IN_ROWS(A), DCL_VALUE(n)),
          "sum of squares");
    largest = fmax(largest, compare("sum of squares", S, row_of_squares));

    check(dcl_forall(cluster,
                     "double s = -INFINITY; for (long c = 0; c < n; c++) s = fmax(s, (double)A(i, c)); S(i) = s;",
                     DCL_OUT(S), DCL_IN_ROWS(A), DCL_VALUE(n)),
          "maximum");
    largest = fmax(largest, compare("maximum", S, row_maximum));

    check(dcl_forall(cluster, "double s = 0; for (long c = 0; c < n; c++) s += (double)A(i, c) * V(c); S(i) = s;",
                     DCL_OUT(S), DCL_IN_ROWS(A), DCL_IN_ALL(V), DCL_VALUE(n)),
          "matrix times vector");
    largest = fmax(largest, compare("matrix times vector", S, row_times_vector));

    dcl_release(S);
    dcl_release(V);
    dcl_release(A);
    dcl_release(block);
    dcl_release(rows);
    check(dcl_close(cluster), "dcl_close");
    return largest == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

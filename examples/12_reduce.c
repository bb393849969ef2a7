/* 12_reduce.c - mean, variance, extremes and a dot product of distributed arrays, each in one pass over the elements.
 * Built against an installed DCL: cc 12_reduce.c $(pkg-config --cflags --libs dcl) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 600, COLUMNS = 900 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* Prints a value beside that of a plain loop. Returns the relative difference. */
static double compare(const char *what, double found, double expected)
{
    double difference = fabs(found - expected) / fmax(1, fabs(expected));
    printf("%-14s %.15g (plain loop %.15g)\n", what, found, expected);
    return difference;
}

int main(void)
{
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_default(cluster);
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS), map);
    dcl_array *B = dcl_agile(dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS), map);
    if (B == NULL)
        check(dcl_status_of(NULL), "dcl_agile");
    check(dcl_forall(cluster, "A(i,j) = (7*i + 3*j) % 1000 / 8.0; B(i,j) = (i - j) / 4.0;", DCL_OUT(A), DCL_OUT(B)),
          "dcl_forall");

    /* Several results of one pass. The names in the body are those of the variables. */
    double sum, squares, least, most, dot;
    long large;
    check(dcl_reduce(cluster, "double a = A(i,j); sum += a; squares += a * a; least min= a; most max= a;",
                     DCL_RESULT(sum), DCL_RESULT(squares), DCL_RESULT(least), DCL_RESULT(most), DCL_IN(A)),
          "dcl_reduce");
    double mean = sum / (ROWS * COLUMNS);
    check(dcl_reduce(cluster, "dot += A(i,j) * B(i,j); if (A(i,j) > mean) large += 1;", DCL_RESULT(dot),
                     DCL_RESULT(large), DCL_IN(A), DCL_IN(B), DCL_VALUE(mean)),
          "dcl_reduce");

    double plain_sum = 0, plain_squares = 0, plain_least = INFINITY, plain_most = -INFINITY, plain_dot = 0;
    long plain_large = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double a = (7 * i + 3 * j) % 1000 / 8.0;
            plain_sum += a;
            plain_squares += a * a;
            plain_least = fmin(plain_least, a);
            plain_most = fmax(plain_most, a);
            plain_dot += a * (i - j) / 4.0;
            plain_large += a > mean;
        }
    double n = ROWS * COLUMNS, largest = compare("mean", mean, plain_sum / n);
    largest = fmax(largest, compare("variance", squares / n - mean * mean, plain_squares / n - mean * mean));
    largest = fmax(largest, compare("minimum", least, plain_least));
    largest = fmax(largest, compare("maximum", most, plain_most));
    largest = fmax(largest, compare("dot product", dot, plain_dot));
    largest = fmax(largest, compare("above the mean", (double)large, (double)plain_large));
    printf("largest relative difference: %g\n", largest);
    dcl_release(B);
    dcl_release(A);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return largest < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* 04_views.c - views: a wavelet transform along rows, then, as nobody minds which way an array lies, along columns.
 * Built against an installed DCL: cc 04_views.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 600, COLUMNS = 1000 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* Half of an array's columns: from `first` on, every `step`-th. */
static dcl_array *half(dcl_array *array, int64_t first, int64_t step)
{
    dcl_grid grid = dcl_grid_of(array);
    return dcl_slice(array, (int64_t[]){0, first}, (int64_t[]){grid.extent[0], grid.extent[1] / 2},
                     (int64_t[]){1, step});
}

/* Sums of neighbours to the left half of `to`, differences to its right half; or back. */
static void haar(dcl_array *from, dcl_array *to, bool back)
{
    dcl_cluster *cluster = dcl_cluster_of(from);
    dcl_array *pairs = back ? to : from, *halves = back ? from : to;
    dcl_array *even = half(pairs, 0, 2), *odd = half(pairs, 1, 2);
    dcl_array *sum = half(halves, 0, 1), *difference = half(halves, dcl_grid_of(halves).extent[1] / 2, 1);
    check(dcl_status_of(cluster), "making views");
    if (!back)
        check(dcl_forall(cluster,
                         "sum(i,j) = (even(i,j) + odd(i,j)) / 2; difference(i,j) = (even(i,j) - odd(i,j)) / 2;",
                         DCL_OUT(sum), DCL_OUT(difference), DCL_IN(even), DCL_IN(odd)),
              "dcl_forall");
    else
        check(dcl_forall(cluster, "even(i,j) = sum(i,j) + difference(i,j); odd(i,j) = sum(i,j) - difference(i,j);",
                         DCL_OUT(even), DCL_OUT(odd), DCL_IN(sum), DCL_IN(difference)),
              "dcl_forall");
    dcl_array *views[] = {even, odd, sum, difference};
    for (int n = 0; n < 4; n++)
        dcl_release(views[n]);
}

/* What the transform of a pixel and its three neighbours has in the four quarters. */
static double quarter(int64_t i, int64_t j, const float *pixel)
{
    const float *p = pixel + 2 * (i % (ROWS / 2)) * COLUMNS + 2 * (j % (COLUMNS / 2));
    double across = j < COLUMNS / 2 ? 1 : -1, down = i < ROWS / 2 ? 1 : -1;
    return (p[0] + across * p[1] + down * (p[COLUMNS] + across * p[COLUMNS + 1])) / 4;
}

int main(void)
{
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    dcl_array *At = dcl_transpose(A), *Bt = dcl_transpose(B);
    static float before[ROWS * COLUMNS], after[ROWS * COLUMNS];
    check(dcl_status_of(cluster), "making the arrays");
    for (int64_t e = 0; e < ROWS * COLUMNS; e++)
        before[e] = (float)(e * 37 % 1009);
    check(dcl_write(A, NULL, before, NULL), "dcl_write");

    haar(A, B, false);
    haar(Bt, At, false); /* the same, of columns */
    check(dcl_read(A, NULL, after, NULL), "dcl_read");
    double largest = 0;
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++)
            largest = fmax(largest, fabs(after[i * COLUMNS + j] - quarter(i, j, before)));

    haar(At, Bt, true);
    haar(B, A, true);
    check(dcl_read(A, NULL, after, NULL), "dcl_read");
    for (int64_t e = 0; e < ROWS * COLUMNS; e++)
        largest = fmax(largest, fabs(after[e] - before[e]));
    printf("%d x %d floats on %d nodes, there and back; largest difference from plain C loops: %g\n", ROWS, COLUMNS,
           dcl_node_count(cluster), largest);

    dcl_array *all[] = {At, Bt, A, B};
    for (int n = 0; n < 4; n++)
        dcl_release(all[n]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return largest == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

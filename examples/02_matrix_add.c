/* 02_matrix_add.c - C = A + B, all three laid over the nodes in the same block-cyclic way: nothing has to move.
 * Built against an installed DCL: cc 02_matrix_add.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 1500, COLUMNS = 2000, PIECE = 256 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static double *host_matrix(void)
{
    double *matrix = malloc(sizeof(double) * ROWS * COLUMNS);
    if (matrix == NULL) {
        fputs("no memory for a matrix on the host\n", stderr);
        exit(EXIT_FAILURE);
    }
    return matrix;
}

static void fill_with(double *matrix, double scale)
{
    for (int64_t e = 0; e < ROWS * COLUMNS; e++)
        matrix[e] = scale * (double)(e % 1009);
}

static double largest_difference(const double *c, const double *a, const double *b)
{
    double largest = 0;
    for (int64_t e = 0; e < ROWS * COLUMNS; e++)
        largest = fmax(largest, fabs(c[e] - (a[e] + b[e])));
    return largest;
}

static void print_counters(dcl_cluster *cluster)
{
    for (int node = 0; node < dcl_node_count(cluster); node++) {
        dcl_counters counters;
        check(dcl_stats(cluster, node, &counters), "dcl_stats");
        printf("node %d: %" PRId64 " tasks, %" PRId64 " blocks moved, %.1f MB stored\n", node, counters.tasks,
               counters.blocks_moved, (double)counters.storage_bytes / 1e6);
    }
}

int main(void)
{
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_grid grid = dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS);
    dcl_map *map = dcl_map_block_cyclic(cluster, 2, (int64_t[]){PIECE, PIECE});
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    check(dcl_status_of(cluster), "making the arrays");

    double *a = host_matrix(), *b = host_matrix(), *c = host_matrix();
    fill_with(a, 0.5);
    fill_with(b, 1.0 / 3);
    check(dcl_write(A, NULL, a, NULL), "dcl_write");
    check(dcl_write(B, NULL, b, NULL), "dcl_write");

    check(dcl_forall(cluster, "C(i,j) = A(i,j) + B(i,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)), "dcl_forall");
    check(dcl_read(C, NULL, c, NULL), "dcl_read");
    print_counters(cluster);

    dcl_counters all;
    check(dcl_stats(cluster, DCL_ALL_NODES, &all), "dcl_stats");
    double largest = largest_difference(c, a, b);
    printf("%d x %d doubles on %d nodes: %" PRId64 " bytes moved; largest difference from a plain C loop: %g\n", ROWS,
           COLUMNS, dcl_node_count(cluster), all.bytes_moved, largest);

    free(c);
    free(b);
    free(a);
    dcl_release(C);
    dcl_release(B);
    dcl_release(A);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return largest == 0 && all.bytes_moved == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

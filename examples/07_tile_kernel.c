/* 07_tile_kernel.c - a kernel that exists already, with pointers and strides, run for every tile of an array.
 * It takes the mean of an element and its eight neighbours. Each tile is given its own box of A and one element more on every
 * side; what of that lies on other nodes moves while other tiles are computed.
 * Built against an installed DCL: cc 07_tile_kernel.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 1200, COLUMNS = 1600 };

/* Written for somebody else: `from` is the element above `to`, and both rows have `count` elements inside the picture. */
static const char mean_of_nine[] = //
    "void mean_of_nine(__global float *to, __global const float *from, long pitch, long low, long high, long count)\n"
    "{\n"
    "    for (long x = 0; x < count; x++) {\n"
    "        float sum = 0;\n"
    "        for (long y = low; y < high; y++)\n"
    "            sum += from[y * pitch + x - 1] + from[y * pitch + x] + from[y * pitch + x + 1];\n"
    "        to[x] = sum / (3 * (high - low));\n"
    "    }\n"
    "}\n";

/* One work-item per row of a tile: indices count from the tile's first element. The picture's first and last columns have no
 * neighbours beyond: they stay as they are. */
static const char by_rows[] = //
    "const long r = dcl_item(0);\n"
    "const long first = C_first(1) == 0, last = C_at(1, C_count(1)) == columns ? C_count(1) - 1 : C_count(1);\n"
    "mean_of_nine(&C(r, first), &A(r, first), A_stride(0), max(-1L, A_low(0) - r), min(2L, A_high(0) - r),\n"
    "             last - first);\n"
    "if (first == 1)\n"
    "    C(r, 0) = A(r, 0);\n"
    "if (last < C_count(1))\n"
    "    C(r, last) = A(r, last);";

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static float element(int i, int j) { return (float)((31 * i + 17 * j) % 1000); }

static float expected(int i, int j)
{
    float sum = 0;
    int rows = 0;
    if (j == 0 || j == COLUMNS - 1)
        return element(i, j);
    for (int y = i - 1; y <= i + 1; y++)
        if (y >= 0 && y < ROWS) {
            rows++;
            sum += element(y, j - 1) + element(y, j) + element(y, j + 1);
        }
    return sum / (float)(3 * rows);
}

/* Runs the kernel under a map; returns the largest difference from plain C. */
static double run(dcl_cluster *cluster, const char *text)
{
    static float found[ROWS][COLUMNS];
    const int columns = COLUMNS;
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), map);
    dcl_array *C = dcl_agile(dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), map);
    dcl_counters planned;
    check(dcl_status_of(cluster), text);
    check(dcl_forall(cluster, "A(i,j) = (31 * i + 17 * j) % 1000;", DCL_OUT(A)), "making A");

    const dcl_arg args[] = {DCL_OUT(C), DCL_IN_HALO(A, 1), DCL_VALUE(columns), DCL_PRELUDE(mean_of_nine),
                            DCL_ITEMS(1, 0)};
    check(dcl_call_explain(DCL_CALL_TILES_N(cluster, NULL, by_rows, 5, args), DCL_ALL_NODES, &planned),
          "dcl_explain_tiles");
    check(dcl_call_run(DCL_CALL_TILES_N(cluster, NULL, by_rows, 5, args)), "dcl_forall_tiles");
    check(dcl_read(C, NULL, found, NULL), "dcl_read");

    double largest = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            largest = fmax(largest, fabs((double)found[i][j] - (double)expected(i, j)));
    printf("%-32s %3" PRId64 " tiles, %8" PRId64 " bytes moved, largest difference %g\n", text, planned.tasks,
           planned.bytes_moved, largest);
    dcl_release(C);
    dcl_release(A);
    dcl_release(map);
    return largest;
}

int main(void)
{
    dcl_cluster *cluster = dcl_open(NULL);
    if (cluster == NULL) {
        fprintf(stderr, "dcl_open: %s\n", dcl_error());
        return EXIT_FAILURE;
    }
    printf("%d nodes\n", dcl_node_count(cluster));
    double largest = run(cluster, "block,*;tile=100x1600");
    largest = fmax(largest, run(cluster, "block,block;tile=200x200"));
    largest = fmax(largest, run(cluster, "rows:cyclic(300x400)"));
    check(dcl_close(cluster), "dcl_close");
    return largest <= 1e-3 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* 05_life.c - the Game of Life on a torus: a map with a halo that is periodic along both axes, so that the body reads its
 * neighbours as if there were no edge, and what a node reads of others is moved once a step.
 * Built against an installed DCL: cc 05_life.c $(pkg-config --cflags --libs dcl)
 * Source of the rule: M. Gardner, Mathematical Games, Scientific American, October 1970. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { ROWS = 240, COLUMNS = 320, STEPS = 60 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static const char rule[] = "int n = A(i-1,j-1) + A(i-1,j) + A(i-1,j+1) + A(i,j-1) + A(i,j+1)"
                           "      + A(i+1,j-1) + A(i+1,j) + A(i+1,j+1);"
                           "B(i,j) = n == 3 || (n == 2 && A(i,j) != 0);";

/* One step in plain C. */
static void step(const int8_t *from, int8_t *to)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int n = 0;
            for (int x = ROWS - 1; x <= ROWS + 1; x++)
                for (int y = COLUMNS - 1; y <= COLUMNS + 1; y++)
                    n += from[(i + x) % ROWS * COLUMNS + (j + y) % COLUMNS];
            to[i * COLUMNS + j] = n == 3 || (n == 4 && from[i * COLUMNS + j]); /* itself included */
        }
}

int main(void)
{
    static int8_t cells[2][ROWS * COLUMNS], found[ROWS * COLUMNS];
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_parse(cluster, "block;halo=1;periodic=*");
    dcl_grid grid = dcl_grid_2d(DCL_INT8, ROWS, COLUMNS);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    check(dcl_status_of(cluster), "making the arrays");

    for (int64_t e = 0; e < ROWS * COLUMNS; e++)
        cells[0][e] = (e * e / 7 + e) % 11 < 4;
    check(dcl_write(A, NULL, cells[0], NULL), "dcl_write");
    dcl_counters planned, counted;
    check(dcl_explain(cluster, &planned, rule, DCL_OUT(B), DCL_IN(A)), "dcl_explain");
    for (int t = 0; t < STEPS; t++) {
        check(dcl_forall(cluster, rule, DCL_OUT(B), DCL_IN(A)), "dcl_forall");
        check(dcl_swap(A, B), "dcl_swap");
        step(cells[t % 2], cells[(t + 1) % 2]);
    }
    check(dcl_read(A, NULL, found, NULL), "dcl_read");
    check(dcl_stats(cluster, DCL_ALL_NODES, &counted), "dcl_stats");
    bool right = memcmp(found, cells[STEPS % 2], sizeof found) == 0;
    right = right && counted.bytes_moved == STEPS * planned.bytes_moved;
    printf("%d steps on %d x %d cells and %d nodes, %" PRId64 " bytes moved in each; %s\n", STEPS, ROWS, COLUMNS,
           dcl_node_count(cluster), planned.bytes_moved, right ? "as in plain C" : "WRONG");

    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

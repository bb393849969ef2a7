/* 09_declared_reads.c - bodies whose subscripts are no sums of indices: what they read is declared, and no more is moved.
 * With DCL_CHECK=access in the environment all that they read and write is checked as well.
 * Built against an installed DCL: cc 09_declared_reads.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { ROWS = 600, COLUMNS = 800, LOW = 40, HIGH = 79 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

/* A(i / 2, j / 2) for a box of indices: half the box. Its strides are more than 1 where a map deals in turn. */
static int halves(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    (void)user;
    (void)most;
    int64_t start[2], count[2];
    for (int d = 0; d < 2; d++) {
        int64_t last = output->start[d] + (output->count[d] - 1) * output->stride[d];
        start[d] = output->start[d] / 2;
        count[d] = last / 2 - start[d] + 1;
    }
    inputs_out[0] = dcl_box_nd(2, start, count);
    return 1;
}

/* The arrays in plain C, and what each body computes of them. */
static float a(int i, int j) { return (float)((7 * i + 3 * j) % 1000); }
static int shift(int i, int j) { return (i + j) % 5 - 2; }
static int row(int i) { return LOW + i * 13 % (HIGH - LOW + 1); }

static float shifted(int i, int j)
{
    int r = i + shift(i, j);
    return r >= 0 && r < ROWS ? a(r, j) : 0;
}
static float crossed(int i, int j)
{
    int s = 1 + (i + j) % 2;
    return i < 2 || j < 2 ? 0 : a(i - s, j) + a(i, j - s);
}
static float cornered(int i, int j) { return a(i % 8, j % 8); }
static float looked_up(int i, int j) { return a(row(i), j); }
static float halved(int i, int j) { return a(i / 2, j / 2); }

/* A body that reads A and perhaps another array. */
struct use {
    const char *declared, *body;
    dcl_arg reads[2];
    int count;
    float (*expected)(int i, int j);
};

/* Runs a body; returns the largest difference from plain C. */
static double run(dcl_cluster *cluster, const struct use *use, dcl_array *C)
{
    static float found[ROWS][COLUMNS];
    const dcl_arg args[] = {DCL_OUT(C), use->reads[0], use->reads[1]};
    dcl_counters planned;
    check(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, use->body, 1 + use->count, args), DCL_ALL_NODES, &planned),
          use->body);
    check(dcl_forall_n(cluster, use->body, 1 + use->count, args), use->body);
    check(dcl_read(C, NULL, found, NULL), use->body);
    check(dcl_wait(cluster), use->body); /* a read outside of what is declared is told here */
    double largest = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            largest = fmax(largest, fabs((double)found[i][j] - (double)use->expected(i, j)));
    printf("%-30s %8" PRId64 " bytes moved, largest difference %g\n", use->declared, planned.bytes_moved, largest);
    return largest;
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 0); /* where the CPU serves: as four nodes */
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_parse(cluster, "splits(150,300,450)"); /* rows, of grids of every rank */
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), numbers = grid;
    numbers.type = DCL_INT32;
    dcl_array *A = dcl_agile(grid, map), *C = dcl_agile(grid, map), *S = dcl_agile(numbers, map);
    dcl_array *R = dcl_agile(dcl_grid_1d(DCL_INT32, ROWS), map);
    const int low = LOW, count = HIGH - LOW + 1;
    check(dcl_status_of(cluster), "making the arrays");
    check(dcl_forall(cluster, "A(i,j) = (7*i + 3*j) % 1000; S(i,j) = (i + j) % 5 - 2;", DCL_OUT(A), DCL_OUT(S)), "A");
    check(dcl_forall(cluster, "R(i) = low + i * 13 % count;", DCL_OUT(R), DCL_VALUE(low), DCL_VALUE(count)), "R");

    const dcl_box corner = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){8, 8});
    const char shift_body[] = "long r = i + S(i,j); C(i,j) = r >= 0 && r < 600 ? A(r, j) : 0;";
    const struct use uses[] = {
        {"DCL_IN_ALL(A)", shift_body, {DCL_IN_ALL(A), DCL_IN(S)}, 2, shifted},
        {"DCL_IN_HALO(A, 2, 0)", shift_body, {DCL_IN_HALO(A, 2, 0), DCL_IN(S)}, 2, shifted},
        {"DCL_IN_CROSS(A, 2)",
         "long s = 1 + (i + j) % 2; C(i,j) = i < 2 || j < 2 ? 0 : A(i - s, j) + A(i, j - s);",
         {DCL_IN_CROSS(A, 2)},
         1,
         crossed},
        {"DCL_IN_BOX(A, &corner)", "C(i,j) = A(i % 8, j % 8);", {DCL_IN_BOX(A, &corner)}, 1, cornered},
        {"DCL_IN_AT(A, 40, 79)", "C(i,j) = A(R(i), j);", {DCL_IN_AT(A, LOW, HIGH), DCL_IN(R)}, 2, looked_up},
        {"DCL_IN_FUNCTION(A, halves, 0)", "C(i,j) = A(i / 2, j / 2);", {DCL_IN_FUNCTION(A, halves, NULL)}, 1, halved},
    };
    double largest = 0;
    for (size_t u = 0; u < sizeof uses / sizeof uses[0]; u++)
        largest = fmax(largest, run(cluster, &uses[u], C));

    dcl_array *arrays[] = {A, C, S, R};
    for (int n = 0; n < 4; n++)
        dcl_release(arrays[n]);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return largest == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

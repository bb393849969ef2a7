/* A whole program against an installed DCL: makes a.npy, computes B and C = A + B^T, checks c.npy by a plain loop. */
#include <dcl.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6144 };

static float a_at(int i, int j) { return (float)(i % 1000) - 0.25f * (float)(j % 777); }

static int stop(const char *what)
{
    fprintf(stderr, "program: %s\n", what);
    return 1;
}

static int write_input(const char *path)
{
    static float row[N];
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return stop("a.npy cannot be written");
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file); /* version 1.0; a header of 118 bytes: data starts at 128 */
    fprintf(file, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (6144, 6144), }");
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            row[j] = a_at(i, j);
        fwrite(row, sizeof row, 1, file);
    }
    return fclose(file) == 0 ? 0 : stop("a.npy cannot be written");
}

/* sin() of OpenCL is within 4 units in the last place, the addition adds half a unit. */
static int check_row(const float row[], int i)
{
    for (int j = 0; j < N; j++) {
        double b = sin((double)(0.001f * (float)(j + 2 * i))), c = (double)a_at(i, j) + b;
        double bound = 4 * fabs(b) * 0x1p-23 + fabs(c) * 0x1p-23 + 0x1p-149;
        if (!(fabs((double)row[j] - c) <= bound)) {
            fprintf(stderr, "program: C(%d,%d) is %.9g; expected %.9g\n", i, j, (double)row[j], c);
            return 1;
        }
    }
    return 0;
}

static int check_output(const char *path)
{
    static float row[N];
    unsigned char start[10];
    char header[65536] = "";
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY\x01", 7) != 0)
        return stop("c.npy is not a .npy file of version 1");
    size_t length = (size_t)(start[8] + 256 * start[9]);
    if (fread(header, 1, length, file) != length || strstr(header, "'<f4'") == NULL ||
        strstr(header, "False") == NULL || strstr(header, "(6144, 6144)") == NULL)
        return stop("c.npy has another header than expected");
    int failed = 0;
    for (int i = 0; i < N && !failed; i++)
        failed = fread(row, sizeof row, 1, file) == 1 ? check_row(row, i) : stop("c.npy is too short");
    if (!failed && fgetc(file) != EOF)
        failed = stop("c.npy is too long");
    fclose(file);
    return failed;
}

int main(void)
{
    if (write_input("a.npy") != 0)
        return 1;

    dcl_cluster *cluster = dcl_open(NULL); /* environment, else embedded */
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 6144, 6144);
    dcl_map *map = dcl_map_block_cyclic(cluster, 2, (int64_t[]){2048, 2048});

    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    dcl_load_npy(A, "a.npy");
    dcl_forall(cluster, "B(i,j) = sin(0.001f * (i + 2*j));", DCL_OUT(B));
    dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B));
    dcl_save_npy(C, "c.npy");                                          /* waits for C */
    bool failed = cluster == NULL || dcl_status_of(cluster) != DCL_OK; /* the first error of all these calls */
    if (failed)
        fprintf(stderr, "%s\n", dcl_error());
    int nodes = dcl_node_count(cluster);
    dcl_release(C);
    dcl_release(B);
    dcl_release(A);
    dcl_release(map);
    dcl_close(cluster);

    if (failed || check_output("c.npy") != 0)
        return 1;
    printf("program: DCL %s, %d nodes: C = A + B^T is right\n", dcl_version(), nodes);
    return 0;
}

/* 03_transpose_add.c - C = A + B^T over 6144 x 6144 elements in nine segments on four nodes: what moves, and how much.
 * B's element (j,i) is needed where C's (i,j) is stored: segments across the diagonal move unless both are on one node.
 * Built against an installed DCL: cc 03_transpose_add.c $(pkg-config --cflags --libs dcl) -lm */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <dcl.h>

enum { N = 6144, SEGMENT = 2048, STRIP = 256, RUNS = 3 };

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

static void expect(int64_t found, int64_t expected, const char *what)
{
    if (found == expected)
        return;
    fprintf(stderr, "%s: %" PRId64 "; expected %" PRId64 "\n", what, found, expected);
    exit(EXIT_FAILURE);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void draw(const dcl_map *map)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, N, N);
    for (int64_t i = 0; i < N; i += SEGMENT) {
        for (int64_t j = 0; j < N; j += SEGMENT) {
            int node;
            int64_t offset;
            check(dcl_map_locate(map, &grid, (int64_t[]){i, j}, &node, &offset), "dcl_map_locate");
            printf("   s%d node %d", (int)(i / SEGMENT * (N / SEGMENT) + j / SEGMENT + 1), node);
        }
        putchar('\n');
    }
}

/* Runs the body; returns the fastest run's seconds. What moved must be what was planned. */
static double run(dcl_cluster *cluster, const char *body, dcl_array *C, dcl_array *A, dcl_array *B,
                  dcl_counters *moved_out)
{
    dcl_counters before, after;
    double fastest = INFINITY;
    check(dcl_explain(cluster, moved_out, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)), "dcl_explain");
    check(dcl_stats(cluster, DCL_ALL_NODES, &before), "dcl_stats");
    for (int r = 0; r < RUNS; r++) {
        double begin = now();
        check(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)), body);
        check(dcl_wait(cluster), body);
        fastest = fmin(fastest, now() - begin);
    }
    check(dcl_stats(cluster, DCL_ALL_NODES, &after), "dcl_stats");
    expect(after.blocks_moved - before.blocks_moved, RUNS * moved_out->blocks_moved, "blocks moved in all runs");
    expect(after.bytes_moved - before.bytes_moved, RUNS * moved_out->bytes_moved, "bytes moved in all runs");
    printf("%-27s %" PRId64 " tasks, %" PRId64 " blocks, %" PRId64 " bytes moved\n", body, moved_out->tasks,
           moved_out->blocks_moved, moved_out->bytes_moved);
    return fastest;
}

/* The same in plain C, a strip of rows at a time: A is (3i + 5j) mod 1024, B is (7i + 11j) mod 1024. */
static double largest_difference(dcl_array *C)
{
    static float c[STRIP][N];
    double largest = 0;
    for (int64_t i = 0; i < N; i += STRIP) {
        dcl_box strip = dcl_box_nd(2, (int64_t[]){i, 0}, (int64_t[]){STRIP, N});
        check(dcl_read(C, &strip, c, NULL), "dcl_read");
        for (int64_t t = 0; t < STRIP; t++)
            for (int64_t j = 0; j < N; j++)
                largest = fmax(largest, fabs(c[t][j] - (double)((3 * (i + t) + 5 * j) % 1024) -
                                             (double)((7 * j + 11 * (i + t)) % 1024)));
    }
    return largest;
}

/* Everything under one map. With four nodes `blocks` must move. Returns the largest difference. */
static double example(dcl_cluster *cluster, const char *text, int64_t blocks)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, N, N);
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    check(dcl_status_of(cluster), text);
    printf("\n%s\n", text);
    draw(map);
    check(dcl_forall(cluster, "A(i,j) = (3*i + 5*j) & 1023; B(i,j) = (7*i + 11*j) & 1023;", DCL_OUT(A), DCL_OUT(B)),
          "making A and B");

    dcl_counters plain, transposed;
    run(cluster, "C(i,j) = A(i,j) + B(i,j);", C, A, B, &plain);
    double seconds = run(cluster, "C(i,j) = A(i,j) + B(j,i);", C, A, B, &transposed);
    expect(plain.blocks_moved, 0, "blocks moved by A + B");
    if (dcl_node_count(cluster) == 4) {
        expect(transposed.blocks_moved, blocks, "blocks moved by A + B^T");
        expect(transposed.bytes_moved, (int64_t)4 * SEGMENT * SEGMENT * 4, "bytes moved by A + B^T: four segments");
    }
    double largest = largest_difference(C);
    printf("A + B^T of %d x %d floats on %d nodes: %.4f s (fastest of %d runs), %.1f GB/s, %" PRId64 " blocks, %" PRId64
           " bytes moved, largest difference %g\n",
           N, N, dcl_node_count(cluster), seconds, RUNS, 3.0 * N * N * sizeof(float) / seconds / 1e9,
           transposed.blocks_moved, transposed.bytes_moved, largest);
    dcl_release(C);
    dcl_release(B);
    dcl_release(A);
    dcl_release(map);
    return largest;
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 0); /* where the CPU serves: as four nodes */
    dcl_cluster *cluster = dcl_open(NULL);
    check(dcl_status_of(cluster), "dcl_open");
    if (dcl_node_count(cluster) != 4)
        printf("%d nodes: the counts are those of this machine, not of the example with four\n",
               dcl_node_count(cluster));
    double largest = example(cluster, "rows:cyclic(2048x2048);block=1024x1024;tile=1024x1024", 16);
    largest = fmax(largest, example(cluster, "rows:cyclic(2048x2048);block=2048x1024;tile=1024x1024", 8));
    check(dcl_close(cluster), "dcl_close");
    return largest == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

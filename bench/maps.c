/* bench/maps.c - C = A + B and C = A + B^T under every kind of map on two nodes, against the same under `block,*`, taking
 * turns. All arrays of a row have the row's map; times include what moves, which is printed beside them: ratios of A + B^T
 * are between equal amounts where the bytes are equal. Results are checked first. Maps that leave out elements are not
 * here, as they compute less. `maps MAP...` runs the given maps only. */
#include <dcl.h>

#include "common.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4096, ROUNDS = 31, NODES = 2, BODIES = 2 };

static const char *const bodies[BODIES] = {"C(i,j) = A(i,j) + B(i,j);", "C(i,j) = A(i,j) + B(j,i);"};

struct arrays {
    const char *map;
    bool judged; /* contiguous runs of 64 bytes or more */
    dcl_array *A, *B, *C;
    double seconds[BODIES][ROUNDS];
    int64_t moved[BODIES];
};

static void check_call(const dcl_cluster *cluster, dcl_status status)
{
    check(status == DCL_OK && cluster != NULL, "a call of DCL");
}

static void run(dcl_cluster *cluster, const struct arrays *a, int body)
{
    check_call(cluster, dcl_forall_n(cluster, bodies[body], 3,
                                     (dcl_arg[]){DCL_OUT_AS("C", a->C), DCL_IN_AS("A", a->A), DCL_IN_AS("B", a->B)}));
    check_call(cluster, dcl_wait(cluster));
}

static void verify(dcl_cluster *cluster, struct arrays *a, int body, float *result)
{
    dcl_counters before, after;
    check_call(cluster, dcl_stats(cluster, DCL_ALL_NODES, &before));
    run(cluster, a, body);
    check_call(cluster, dcl_stats(cluster, DCL_ALL_NODES, &after));
    a->moved[body] = after.bytes_moved - before.bytes_moved;
    check_call(cluster, dcl_read(a->C, NULL, result, NULL));
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            float b = body == 0 ? (float)(i - 3 * j) : (float)(j - 3 * i);
            if (result[i * SIDE + j] != (float)(2 * i + j) + b) {
                fprintf(stderr, "%s: C(%" PRId64 ",%" PRId64 ") of \"%s\" is wrong\n", a->map, i, j, bodies[body]);
                exit(1);
            }
        }
}

static void make(dcl_cluster *cluster, struct arrays *a)
{
    dcl_map *map = dcl_map_parse(cluster, a->map);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    a->A = dcl_agile(grid, map);
    a->B = dcl_agile(grid, map);
    a->C = dcl_agile(grid, map);
    dcl_map_release(map);
    check_call(a->C != NULL && a->B != NULL && a->A != NULL ? cluster : NULL, DCL_OK);
    check_call(cluster, dcl_forall_n(cluster, "A(i,j) = 2*i + j;", 1, (dcl_arg[]){DCL_OUT_AS("A", a->A)}));
    check_call(cluster, dcl_forall_n(cluster, "B(i,j) = i - 3*j;", 1, (dcl_arg[]){DCL_OUT_AS("B", a->B)}));
}

static void end(struct arrays *a)
{
    dcl_release(a->A);
    dcl_release(a->B);
    dcl_release(a->C);
}

static void compare(dcl_cluster *cluster, struct arrays *row, float *result)
{
    struct arrays block = {.map = "block,*"};
    make(cluster, &block);
    make(cluster, row);
    printf("%-40s", row->map);
    for (int body = 0; body < BODIES; body++) {
        verify(cluster, &block, body, result);
        verify(cluster, row, body, result);
        for (int r = 0; r < ROUNDS; r++) {
            struct arrays *turns[] = {&block, row};
            for (int t = 0; t < 2; t++) {
                double start = now();
                run(cluster, turns[t], body);
                turns[t]->seconds[body][r] = now() - start;
            }
        }
        double reference = median(ROUNDS, block.seconds[body]), time = median(ROUNDS, row->seconds[body]),
               ratio = time / reference;
        bool equal = row->moved[body] <= block.moved[body] + block.moved[body] / 50;
        printf("  %s %6.1f ms, block %6.1f ms, ratio %5.2f%s", body == 0 ? "A+B" : "A+B^T", 1e3 * time, 1e3 * reference,
               ratio,
               !row->judged   ? " (reported)"
               : ratio <= 1.3 ? ""
               : equal        ? " MORE"
                              : " (moves more)");
        if (body == 1)
            printf(", moved %.1f and %.1f MB", (double)row->moved[body] / 1e6, (double)block.moved[body] / 1e6);
    }
    printf("\n");
    end(&block);
    end(row);
}

struct row {
    const char *map;
    bool judged;
};

int main(int argc, char *argv[])
{
    static const struct row rows[] = {{"block,*", true},
                                      {"block", true},
                                      {"*,block", true},
                                      {"cyclic(256),*", true},
                                      {"cyclic(256)@2x1", true},
                                      {"*,cyclic(64)", true},
                                      {"splits(1024),*", true},
                                      {"splits(500,1000,1500,2000,2500,3000)", true},
                                      {"weighted(3:2)", true},
                                      {"rows:block(64x64)", true},
                                      {"rows:cyclic(64x64)", true},
                                      {"columns:cyclic(128x128)", true},
                                      {"rows:cyclic(512x512)", true},
                                      {"rows:cyclic(1x4096)", true},
                                      {"rows:hash(256x256)", true},
                                      {"rows:table(2048x2048);owners=0,1,1,0", true},
                                      {"boxes:[0:1000,0:4096]@0,[1000:4096,0:2000]@1,[1000:4096,2000:4096]@0", true},
                                      {"cyclic,*", true},
                                      {"cyclic(16)@2x1", true},
                                      {"*,cyclic(16)", true},
                                      {"*,cyclic(32)", true},
                                      {"*,weighted(3:2)", true},
                                      {"*,splits(1000,1016,1048,3000)", true},
                                      {"replicated", true},
                                      {"rows:cyclic(1x16)", true}, /* pieces of 64 bytes */
                                      {"rows:cyclic(8x16)", true},
                                      {"columns:cyclic(8x16)", true},
                                      {"columns:cyclic(16x32)", true},
                                      {"rows:block(8x16)", true},
                                      {"columns:block(8x16)", true},
                                      {"rows:hash(8x16)", true},
                                      {"columns:hash(16x32)", true},
                                      {"rows:cyclic(16x1)", false}, /* and of less */
                                      {"*,cyclic", false},
                                      {"rows:cyclic", false}};
    setenv("POCL_DEVICES", "pthread pthread", 0); /* two CPU devices, unless asked for others */
    dcl_cluster *cluster = dcl_open(NULL);
    check_call(cluster, DCL_OK);
    if (dcl_node_count(cluster) != NODES) {
        fprintf(stderr, "there are %d nodes; expected %d: choose them with DCL_DEVICES\n", dcl_node_count(cluster),
                NODES);
        return 1;
    }
    float *result = malloc((size_t)SIDE * SIDE * sizeof *result);
    if (result == NULL)
        return 1;
    printf("maps, float %d x %d, %d nodes \"%s\", threads of one program, times include movement, median of %d, commit "
           "%s\n",
           SIDE, SIDE, dcl_node_count(cluster), dcl_node_name(cluster, 0), ROUNDS, bench_commit);
    int count = argc > 1 ? argc - 1 : (int)(sizeof rows / sizeof rows[0]);
    for (int r = 0; r < count; r++) {
        struct arrays row = {.map = argc > 1 ? argv[r + 1] : rows[r].map, .judged = argc > 1 || rows[r].judged};
        compare(cluster, &row, result);
        fflush(stdout);
    }
    free(result);
    dcl_close(cluster);
    return 0;
}

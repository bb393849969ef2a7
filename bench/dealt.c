/* bench/dealt.c - maps that deal pieces against `block` on one node, taking turns: C = A + B, C = A + B^T and two stencils of
 * five points, one over the interior of the grid and one that guards its reads. Results are checked first. No element moves
 * between nodes; times are those of a call and its wait, and the launches of a call are printed beside them.
 *
 *     dealt [SIDE [MAP...]]    floats of SIDE x SIDE, 4096 if not given; maps: rows:cyclic(SIDE/16 x SIDE/16) */
#include <dcl.h>

#include "common.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 21, BODIES = 4 };

struct body {
    const char *name, *text;
    bool interior;
};

static const struct body bodies[BODIES] = {
    {"A+B", "C(i,j) = A(i,j) + B(i,j);", false},
    {"A+B^T", "C(i,j) = A(i,j) + B(j,i);", false},
    {"stencil", "C(i,j) = 0.5f * A(i,j) + 0.125f * (A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1));", true},
    {"guarded stencil",
     "C(i,j) = 0.5f * A(i,j) + 0.125f * ((i > 0 ? A(i-1,j) : 0) + (i < size - 1 ? A(i+1,j) : 0) + "
     "(j > 0 ? A(i,j-1) : 0) + (j < size - 1 ? A(i,j+1) : 0));",
     false}};

struct arrays {
    const char *map;
    dcl_array *A, *B, *C;
    double seconds[ROUNDS];
    int64_t launches;
};

static int64_t side = 4096;

static void check_call(const dcl_cluster *cluster, dcl_status status)
{
    check(status == DCL_OK && cluster != NULL, "a call of DCL");
}

static void run(dcl_cluster *cluster, const struct arrays *a, const struct body *body)
{
    dcl_box box = {.rank = 2, .start = {1, 1}, .count = {side - 2, side - 2}, .stride = {1, 1}};
    int64_t size = side;
    dcl_arg args[] = {DCL_OUT_AS("C", a->C), DCL_IN_AS("A", a->A), DCL_IN_AS("B", a->B)};
    if (body == &bodies[3])
        args[2] = DCL_VALUE(size);
    dcl_call call = dcl_call_body(cluster, body->interior ? &box : NULL, body->text, body->interior ? 2 : 3, args);
    check_call(cluster, dcl_call_run(&call));
    check_call(cluster, dcl_wait(cluster));
}

static float a_at(int64_t i, int64_t j) { return (float)((2 * i + j) % 512); }
static float b_at(int64_t i, int64_t j) { return (float)((i + 3 * j) % 512); }

static float guarded(int64_t i, int64_t j) { return i < 0 || j < 0 || i >= side || j >= side ? 0 : a_at(i, j); }

static float expected(const struct body *body, int64_t i, int64_t j)
{
    if (body < &bodies[2])
        return a_at(i, j) + (body == &bodies[0] ? b_at(i, j) : b_at(j, i));
    return 0.5F * a_at(i, j) + 0.125F * (guarded(i - 1, j) + guarded(i + 1, j) + guarded(i, j - 1) + guarded(i, j + 1));
}

static void verify(dcl_cluster *cluster, struct arrays *a, const struct body *body, float *result)
{
    dcl_counters before, after;
    run(cluster, a, body); /* compiled */
    check_call(cluster, dcl_stats(cluster, DCL_ALL_NODES, &before));
    run(cluster, a, body);
    check_call(cluster, dcl_stats(cluster, DCL_ALL_NODES, &after));
    a->launches = after.launches - before.launches;
    check_call(cluster, dcl_read(a->C, NULL, result, NULL));
    int64_t from = body->interior ? 1 : 0;
    for (int64_t i = from; i < side - from; i++)
        for (int64_t j = from; j < side - from; j++)
            if (result[i * side + j] != expected(body, i, j)) {
                fprintf(stderr, "%s: C(%" PRId64 ",%" PRId64 ") of %s is %g; expected %g\n", a->map, i, j, body->name,
                        (double)result[i * side + j], (double)expected(body, i, j));
                exit(1);
            }
}

static void make(dcl_cluster *cluster, struct arrays *a)
{
    dcl_map *map = dcl_map_parse(cluster, a->map);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    a->A = dcl_agile(grid, map);
    a->B = dcl_agile(grid, map);
    a->C = dcl_agile(grid, map);
    dcl_map_release(map);
    check_call(a->A != NULL && a->B != NULL && a->C != NULL ? cluster : NULL, DCL_OK);
    check_call(cluster, dcl_forall_n(cluster, "A(i,j) = (2*i + j) % 512;", 1, (dcl_arg[]){DCL_OUT_AS("A", a->A)}));
    check_call(cluster, dcl_forall_n(cluster, "B(i,j) = (i + 3*j) % 512;", 1, (dcl_arg[]){DCL_OUT_AS("B", a->B)}));
}

static void end(struct arrays *a)
{
    dcl_release(a->A);
    dcl_release(a->B);
    dcl_release(a->C);
}

static void compare(dcl_cluster *cluster, const char *map, float *result)
{
    struct arrays block = {.map = "block"}, dealt = {.map = map};
    make(cluster, &block);
    make(cluster, &dealt);
    for (int b = 0; b < BODIES; b++) {
        verify(cluster, &block, &bodies[b], result);
        verify(cluster, &dealt, &bodies[b], result);
        for (int r = 0; r < ROUNDS; r++) {
            struct arrays *turns[] = {&block, &dealt};
            for (int t = 0; t < 2; t++) {
                double start = now();
                run(cluster, turns[t], &bodies[b]);
                turns[t]->seconds[r] = now() - start;
            }
        }
        double reference = median(ROUNDS, block.seconds), time = median(ROUNDS, dealt.seconds);
        double bytes = (bodies[b].text == bodies[0].text || bodies[b].text == bodies[1].text ? 3 : 2) * 4.0 *
                       (double)side * (double)side;
        printf("%-24s %-16s %8.3f ms %5.0f GB/s, %5" PRId64 " launches; block %8.3f ms %5.0f GB/s, %3" PRId64
               " launches; ratio %5.2f\n",
               map, bodies[b].name, 1e3 * time, bytes / time / 1e9, dealt.launches, 1e3 * reference,
               bytes / reference / 1e9, block.launches, time / reference);
        fflush(stdout);
    }
    end(&block);
    end(&dealt);
}

int main(int argc, char *argv[])
{
    char usual[64];
    dcl_config config;
    side = argc > 1 ? strtoll(argv[1], NULL, 10) : side;
    snprintf(usual, sizeof usual, "rows:cyclic(%" PRId64 "x%" PRId64 ")", side / 16, side / 16);
    if (side < 16 || dcl_config_read(&config) != DCL_OK) {
        fprintf(stderr, "dealt: %s\n", side < 16 ? "SIDE is at least 16" : dcl_error());
        return 1;
    }
    config.devices = config.devices != NULL ? config.devices : "0";
    dcl_cluster *cluster = dcl_open(&config);
    check_call(cluster, DCL_OK);
    float *result = malloc((size_t)(side * side) * sizeof *result);
    if (result == NULL)
        return 1;
    printf("dealt, float %" PRId64 " x %" PRId64 ", \"%s\", one node, median of %d, commit %s\n", side, side,
           dcl_node_name(cluster, 0), ROUNDS, bench_commit);
    for (int m = 2; m < argc; m++)
        compare(cluster, argv[m], result);
    if (argc < 3)
        compare(cluster, usual, result);
    free(result);
    dcl_close(cluster);
    return 0;
}

/* bench/remap.c - dcl_remap() again and again against dcl_copy() of the same boxes, taking turns.
 *
 * Array A is remapped from `block,*` to `*,block` and back. Before each remap, an array with the map that A has is copied to
 * one with the map that A gets, so both move the same boxes; from rows to columns and back are rows of their own, because
 * they take different times. The ratio is the median of those of the pairs; limit 1.3. Times include the wait. Embedded
 * with one node, with as many as there are devices if these are two or more, and with two local worker processes.
 *
 *     remap [SIDE]      floats of SIDE x SIDE, 8192 if not given */
#include <dcl.h>

#include "common.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS = 11, WARM = 2 };

static const double limit = 1.3;
static int64_t side = 8192;

/* An array that is remapped, and two that are copied to each other. */
struct arrays {
    dcl_cluster *cluster;
    dcl_map *map[2]; /* `block,*` and `*,block` */
    dcl_array *remapped, *copied[2];
};

static double seconds_of(struct arrays *a, int to, bool remaps)
{
    double start = now();
    check((remaps ? dcl_remap(a->remapped, a->map[to]) : dcl_copy(a->copied[1 - to], a->copied[to])) == DCL_OK &&
              dcl_wait(a->cluster) == DCL_OK,
          remaps ? "dcl_remap" : "dcl_copy");
    return now() - start;
}

static void verify(dcl_array *array, const char *what)
{
    float *value = malloc((size_t)(side * side) * sizeof *value);
    check(value != NULL && dcl_read(array, NULL, value, NULL) == DCL_OK, "dcl_read");
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++)
            if (value[i * side + j] != (float)((3 * i + j) % 65521)) {
                fprintf(stderr, "remap: %s: element (%" PRId64 ",%" PRId64 ") is wrong\n", what, i, j);
                exit(1);
            }
    free(value);
}

static void measure(const char *place, const dcl_config *config)
{
    static const char *const maps[] = {"block,*", "*,block"}, *const ways[] = {"columns to rows", "rows to columns"};
    struct arrays a = {.cluster = dcl_open(config)};
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    for (int m = 0; m < 2; m++) {
        a.map[m] = dcl_map_parse(a.cluster, maps[m]);
        a.copied[m] = dcl_agile(grid, a.map[m]);
    }
    a.remapped = dcl_agile(grid, a.map[0]);
    dcl_array *filled[] = {a.remapped, a.copied[0]};
    for (int f = 0; f < 2; f++)
        check(dcl_forall_n(a.cluster, "A(i,j) = (3*i + j) % 65521;", 1, (dcl_arg[]){DCL_OUT_AS("A", filled[f])}) ==
                  DCL_OK,
              "filling");
    double remap[2][PAIRS], copy[2][PAIRS], ratio[2][PAIRS];
    for (int n = -WARM; n < PAIRS; n++)
        for (int to = 1; to >= 0; to--) {
            double copied = seconds_of(&a, to, false), remapped = seconds_of(&a, to, true);
            if (n < 0)
                continue;
            copy[to][n] = copied;
            remap[to][n] = remapped;
            ratio[to][n] = remapped / copied;
        }
    verify(a.remapped, "dcl_remap");
    verify(a.copied[0], "dcl_copy");
    for (int to = 1; to >= 0; to--)
        printf("%s, %d nodes, %s: dcl_remap %.2f ms, reference dcl_copy %.2f ms, ratio %.3f (median of %d pairs; "
               "limit %.1f)\n",
               place, dcl_node_count(a.cluster), ways[to], 1e3 * median(PAIRS, remap[to]),
               1e3 * median(PAIRS, copy[to]), median(PAIRS, ratio[to]), PAIRS, limit);
    fflush(stdout);
    check(dcl_close(a.cluster) == DCL_OK, "closing");
}

int main(int argc, char *argv[])
{
    dcl_config config;
    side = argc > 1 ? strtoll(argv[1], NULL, 10) : side;
    if (side < 2) {
        fprintf(stderr, "remap: SIDE is %s; expected at least 2\n", argv[1]);
        return 2;
    }
    check(dcl_config_read(&config) == DCL_OK, "the configuration");
    printf("remap, float %" PRId64 " x %" PRId64 ", commit %s\n", side, side, bench_commit);
    const char *devices = config.devices;
    config.workers = NULL;
    config.devices = devices != NULL ? devices : "0";
    measure("embedded", &config);
    if (devices == NULL) {
        config.devices = NULL;
        dcl_cluster *all = dcl_open(&config);
        int nodes = all != NULL ? dcl_node_count(all) : 0;
        dcl_close(all);
        if (nodes >= 2)
            measure("embedded", &config);
    }
    config.workers = "local:2";
    config.devices = devices;
    measure("local:2", &config);
    return 0;
}

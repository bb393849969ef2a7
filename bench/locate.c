/* bench/locate.c - nanoseconds to find the owner and offset of an element: maps of every kind, ranks 1 to 3, at random
 * indices. The reference, taking turns, is the same loop over a function that only adds the indices up: what the loop, the
 * call and the memory of the indices take. A planning cluster: no device is touched. */
#include <dcl.h>

#include "common.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INDICES = 1 << 14, ROUNDS = 11, NODES = 64, SPLITS = 1000, LISTED = 1000 };

typedef char *text_fn(int rank, int64_t extent);

struct row {
    const char *map;
    int rank;
    double most_ns;
    text_fn *text; /* makes the map's text where `map` is only its name */
};

static double now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* "splits(7,14,...)" of an extent, for every axis. */
static char *many_splits(int rank, int64_t extent)
{
    char *text = malloc((size_t)rank * SPLITS * 22 + 64), *at = text;
    for (int d = 0; d < rank && text != NULL; d++) {
        at += sprintf(at, "%ssplits(", d > 0 ? "," : "");
        for (int64_t k = 1; k <= SPLITS; k++)
            at += sprintf(at, "%s%" PRId64, k > 1 ? "," : "", k * extent / (SPLITS + 1) + k % 3);
        at += sprintf(at, ")");
    }
    if (text != NULL && rank == 1)
        sprintf(at, "@%d", NODES);
    return text;
}

/* "rows:table(n);owners=..." of pieces along the first axis, no two neighbours at one node. */
static char *many_owners(int rank, int64_t extent)
{
    char *text = malloc((size_t)LISTED * 4 + 128), *at = text;
    if (text == NULL)
        return NULL;
    at += sprintf(at, "rows:table(%" PRId64, (extent + LISTED - 1) / LISTED);
    for (int d = 1; d < rank; d++)
        at += sprintf(at, "x%" PRId64, extent);
    int64_t pieces = (extent + (extent + LISTED - 1) / LISTED - 1) / ((extent + LISTED - 1) / LISTED);
    for (int64_t k = 0; k < pieces; k++)
        at += sprintf(at, "%s%d", k > 0 ? "," : ");owners=", (int)(k * 7 % NODES));
    return text;
}

/* "boxes:[...]@0,..." of cubes, as many along each axis. */
static char *many_boxes(int rank, int64_t extent)
{
    static const int sides[4] = {0, LISTED, 32, 10};
    int side = sides[rank], boxes = 1;
    for (int d = 0; d < rank; d++)
        boxes *= side;
    char *text = malloc((size_t)boxes * 64 * (size_t)rank + 16), *at = text;
    if (text == NULL)
        return NULL;
    at += sprintf(at, "boxes:");
    for (int k = 0; k < boxes; k++) {
        for (int d = 0, left = k; d < rank; d++, left /= side)
            at += sprintf(at, "%s%" PRId64 ":%" PRId64,
                          d > 0   ? ","
                          : k > 0 ? ",["
                                  : "[",
                          left % side * extent / side, (left % side + 1) * extent / side);
        at += sprintf(at, "]@%d", k * 7 % NODES);
    }
    return text;
}

static dcl_status __attribute__((noinline))
add_up(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out, int64_t *offset_out)
{
    (void)map;
    *node_out = grid->rank;
    *offset_out = index[0] + index[1] + index[2];
    return DCL_OK;
}

typedef dcl_status find_fn(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                           int64_t *offset_out);

static double run(find_fn *find, const dcl_map *map, const dcl_grid *grid, int64_t index[INDICES][3], int64_t *sum)
{
    double start = now_ns();
    for (int k = 0; k < INDICES; k++) {
        int node = 0;
        int64_t offset = 0;
        if (find(map, grid, index[k], &node, &offset) != DCL_OK) {
            fprintf(stderr, "%s\n", dcl_error());
            exit(1);
        }
        *sum += node + offset;
    }
    return (now_ns() - start) / INDICES;
}

static void measure(dcl_cluster *cluster, const struct row *row)
{
    static int64_t index[INDICES][3];
    static const int64_t extents[4] = {0, INT64_C(1) << 40, INT64_C(1) << 20, INT64_C(1) << 13};
    int64_t extent = extents[row->rank], shape[3] = {extent, extent, extent}, sum = 0;
    char *text = row->text != NULL ? row->text(row->rank, extent) : NULL;
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, row->rank, shape, NULL);
    dcl_map *map = dcl_map_parse(cluster, text != NULL ? text : row->map);
    if (map == NULL) {
        fprintf(stderr, "%s\n", dcl_error());
        exit(1);
    }
    for (int k = 0; k < INDICES; k++)
        for (int d = 0; d < row->rank; d++)
            index[k][d] = (int64_t)(((uint64_t)rand() << 31 ^ (uint64_t)rand()) % (uint64_t)extent);
    double found[ROUNDS], loop[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        found[r] = run(dcl_map_locate, map, &grid, index, &sum);
        loop[r] = run(add_up, map, &grid, index, &sum);
    }
    double ns = median(ROUNDS, found), reference = median(ROUNDS, loop);
    printf("locate rank %d, %-28s %6.1f ns, loop alone %4.1f ns, of at most %5.1f ns: %s (sum %" PRId64 ")\n",
           row->rank, row->map, ns, reference, row->most_ns, ns - reference <= row->most_ns ? "within" : "MORE",
           sum % 1000);
    dcl_map_release(map);
    free(text);
}

int main(void)
{
    static const struct row rows[] = {
        {"block", 1, 20, NULL},
        {"block", 2, 20, NULL},
        {"block", 3, 20, NULL},
        {"block;nodes=0-62", 1, 20, NULL}, /* parts of two lengths */
        {"block;nodes=0-62", 2, 20, NULL},
        {"block;nodes=0-62", 3, 20, NULL},
        {"cyclic(1000)", 1, 20, NULL},
        {"cyclic(1000)", 2, 20, NULL},
        {"cyclic(100)", 3, 20, NULL},
        {"cyclic(100);every=2x2x2", 3, 20, NULL},
        {"rows:block(1024)", 1, 20, NULL},
        {"rows:block(64x64x64);nodes=0-62", 3, 20, NULL},
        {"rows:cyclic(1024)", 1, 20, NULL},
        {"rows:cyclic(256x256)", 2, 20, NULL},
        {"columns:cyclic(64x64x64)", 3, 20, NULL},
        {"rows:hash(64x64x64)", 3, 20, NULL},
        {"rows:cyclic", 3, 20, NULL},
        {"replicated", 3, 20, NULL},
        {"1000 splits along every axis", 1, 100, many_splits},
        {"1000 splits along every axis", 2, 100, many_splits},
        {"1000 splits along every axis", 3, 100, many_splits},
        {"weighted(3:2:1:5);nodes=0-3", 1, 100, NULL},
        {"table of 1000 pieces", 1, 100, many_owners},
        {"table of 1000 pieces", 3, 100, many_owners},
        {"1000 boxes", 1, 100, many_boxes},
        {"32x32 boxes", 2, 100, many_boxes},
        {"10x10x10 boxes", 3, 100, many_boxes},
    };
    dcl_cluster *cluster = dcl_open_plan(NODES);
    if (cluster == NULL) {
        fprintf(stderr, "%s\n", dcl_error());
        return 1;
    }
    printf("dcl_map_locate on %d planned nodes, %d random indices, median of %d, commit %s\n", NODES, INDICES, ROUNDS,
           bench_commit);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        measure(cluster, &rows[r]);
    dcl_close(cluster);
    return 0;
}

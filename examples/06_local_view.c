/* 06_local_view.c - the local view of an array: C = A + B^T tile by tile. What a tile of C needs of B is brought to the tile's
 * node ahead of use, so the tiles themselves move nothing, and go on moving nothing until B is written.
 * Built against an installed DCL: cc 06_local_view.c $(pkg-config --cflags --libs dcl) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

enum { N = 3072, STEPS = 3, STRIP = 256 };

static const char body[] = "C(i,j) = A(i,j) + B(j,i);";

/* Ends the program with the library's sentence when a call failed. */
static void check(dcl_status status, const char *call)
{
    if (status == DCL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, dcl_status_name(status), dcl_error());
    exit(EXIT_FAILURE);
}

struct arrays {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C;
};

/* Asks for the box of B that lies across the diagonal. Returns at once, and moves what the node does not have. */
static dcl_status bring(void *user, const dcl_tile *tile)
{
    struct arrays *arrays = user;
    dcl_status status = DCL_OK;
    for (int64_t b = 0; b < tile->box_count && status == DCL_OK; b++) {
        const dcl_box *box = &tile->box[b];
        dcl_box across =
            dcl_box_nd(2, (int64_t[]){box->start[1], box->start[0]}, (int64_t[]){box->count[1], box->count[0]});
        status = dcl_move(arrays->B, &across, tile->node);
    }
    return status;
}

static dcl_status compute(void *user, const dcl_tile *tile)
{
    struct arrays *arrays = user;
    dcl_array *A = arrays->A, *B = arrays->B, *C = arrays->C;
    dcl_status status = DCL_OK;
    for (int64_t b = 0; b < tile->box_count && status == DCL_OK; b++)
        status = dcl_forall_over(arrays->cluster, &tile->box[b], body, DCL_OUT(C), DCL_IN(A), DCL_IN(B));
    return status;
}

static int64_t bytes_moved(dcl_cluster *cluster)
{
    dcl_counters counters;
    check(dcl_stats(cluster, DCL_ALL_NODES, &counters), "dcl_stats");
    return counters.bytes_moved;
}

/* The same in plain C, a strip of rows at a time: A is (3i + 5j) mod 1024, B is (7i + 11j) mod 1024. */
static int64_t count_wrong(dcl_array *C)
{
    static int32_t c[STRIP][N];
    int64_t wrong = 0;
    for (int64_t i = 0; i < N; i += STRIP) {
        dcl_box strip = dcl_box_nd(2, (int64_t[]){i, 0}, (int64_t[]){STRIP, N});
        check(dcl_read(C, &strip, c, NULL), "dcl_read");
        for (int64_t t = 0; t < STRIP; t++)
            for (int64_t j = 0; j < N; j++)
                wrong += c[t][j] != (3 * (i + t) + 5 * j) % 1024 + (7 * j + 11 * (i + t)) % 1024;
    }
    return wrong;
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 0); /* where the CPU serves: as four nodes */
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(1024x1024);tile=512x512");
    struct arrays arrays = {cluster, dcl_agile(grid, map), dcl_agile(grid, map), dcl_agile(grid, map)};
    dcl_array *A = arrays.A, *B = arrays.B;
    check(dcl_status_of(cluster), "making arrays");
    check(dcl_forall(cluster, "A(i,j) = (3*i + 5*j) & 1023; B(i,j) = (7*i + 11*j) & 1023;", DCL_OUT(A), DCL_OUT(B)),
          "making A and B");

    check(dcl_tiles(arrays.C, DCL_ALL_NODES, bring, &arrays), "dcl_move");
    int64_t moved = bytes_moved(cluster);
    printf("%d nodes: %" PRId64 " bytes of B brought to where tiles of C need them\n", dcl_node_count(cluster), moved);
    for (int step = 0; step < STEPS; step++)
        check(dcl_tiles(arrays.C, DCL_ALL_NODES, compute, &arrays), body);
    int64_t by_loop = bytes_moved(cluster) - moved, wrong = count_wrong(arrays.C);
    printf("%s over the tiles, %d times: %" PRId64 " bytes moved, %" PRId64 " elements wrong\n", body, STEPS, by_loop,
           wrong);

    dcl_release(arrays.C);
    dcl_release(B);
    dcl_release(A);
    dcl_release(map);
    check(dcl_close(cluster), "dcl_close");
    return by_loop == 0 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

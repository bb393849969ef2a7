/* test/runtime/tiles_test.c - the tiles of arrays and views: those that tasks compute. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

/* Nothing runs: planning clusters will do. */

static dcl_array *make(dcl_cluster *cluster, dcl_grid grid, const char *map_text)
{
    dcl_map *map = dcl_map_parse(cluster, map_text);
    dcl_array *array = dcl_agile(grid, map);
    cr_assert_not_null(array, "%s", dcl_error());
    dcl_map_release(map);
    return array;
}

/* "node.number first-last first-last ..." of arrays of rank 1 */
static dcl_status print_tile(void *user, const dcl_tile *tile)
{
    char *text = user;
    text += strlen(text);
    text += sprintf(text, "%s%d.%" PRId64, text == user ? "" : "; ", tile->node, tile->number);
    for (int64_t b = 0; b < tile->box_count; b++) {
        const dcl_box *box = &tile->box[b];
        text +=
            sprintf(text, " %" PRId64 "-%" PRId64, box->start[0], box->start[0] + (box->count[0] - 1) * box->stride[0]);
    }
    return DCL_OK;
}

static void expect_tiles(const dcl_array *array, int node, const char *expected)
{
    char text[400] = "";
    cr_expect_eq(dcl_tiles(array, node, print_tile, text), DCL_OK, "%s", dcl_error());
    cr_expect_str_eq(text, expected, "%s; expected %s", text, expected);
}

Test(tiles, arrays_and_views)
{
    dcl_cluster *cluster = dcl_open_plan(3);
    dcl_array *A = make(cluster, dcl_grid_1d(DCL_INT32, 14), "block;tile=3");
    expect_tiles(A, DCL_ALL_NODES, "0.0 0-2; 0.1 3-4; 1.0 5-7; 1.1 8-9; 2.0 10-12; 2.1 13-13");
    expect_tiles(A, 1, "1.0 5-7; 1.1 8-9");
    dcl_array *S = dcl_slice(A, (int64_t[]){9}, (int64_t[]){4}, (int64_t[]){-2}); /* 9 7 5 3 of A are 0 1 2 3 */
    expect_tiles(S, DCL_ALL_NODES, "0.1 3-3; 1.0 1-2; 1.1 0-0");
    dcl_array *D = make(cluster, dcl_grid_1d(DCL_INT32, 14), "rows:cyclic(2);tile=4;nodes=0,2");
    expect_tiles(D, DCL_ALL_NODES, "0.0 0-1 4-5; 0.1 8-9 12-13; 2.0 2-3 6-7; 2.1 10-11");
    expect_tiles(D, 1, "");
    dcl_map *small = dcl_map_default(cluster);
    dcl_array *F = dcl_agile(dcl_grid_1d(DCL_INT32, 14), small);
    expect_tiles(F, DCL_ALL_NODES, "0.0 0-13");
    dcl_array *R = make(cluster, dcl_grid_2d(DCL_INT32, 4, 3), "block,*;tile=1x3;nodes=0-1"), *L = dcl_flatten(R);
    expect_tiles(L, DCL_ALL_NODES, "0.0 0-5; 1.0 6-11");
    dcl_array *const all[] = {S, A, D, F, L, R};
    for (int k = 0; k < 6; k++)
        dcl_release(all[k]);
    dcl_map_release(small);
    dcl_close(cluster);
}

struct counting {
    dcl_cluster *cluster;
    dcl_array *array;
    int64_t tiles[2];
    bool right;
};

static dcl_status count_tile(void *user, const dcl_tile *tile)
{
    struct counting *counting = user;
    counting->tiles[tile->node]++;
    return DCL_OK;
}

/* A task for each tile that is visited, on the same node, whatever the map, and after dcl_remap(). */
Test(tiles, are_what_tasks_compute)
{
    static const char *const maps[] = {"block,*;tile=3x5", "rows:cyclic(3x3);tile=2x2", "cyclic,cyclic(2)",
                                       "rows:cyclic(5x3);nodes=1", "rows:table(5x5);owners=0,-,1,0,-,1,1,-,0"};
    dcl_cluster *cluster = dcl_open_plan(2);
    for (int m = 0; m < 5; m++) {
        dcl_array *A = make(cluster, dcl_grid_2d(DCL_INT32, 13, 11), maps[m]);
        dcl_array *views[] = {A, dcl_transpose(A), dcl_take(A, 1, 4), dcl_flatten(A)};
        for (int v = 0; v < 4 && views[v] != NULL; v++) { /* not all maps can be flattened */
            struct counting counting = {.array = views[v]};
            dcl_counters planned;
            cr_assert_eq(dcl_tiles(views[v], DCL_ALL_NODES, count_tile, &counting), DCL_OK);
            for (int node = 0; node < 2; node++) {
                dcl_arg arg = DCL_OUT_AS("V", views[v]);
                const char *body = v < 2 ? "V(i,j) = 1;" : "V(i) = 1;";
                cr_assert_eq(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 1, &arg), node, &planned), DCL_OK,
                             "%s", dcl_error());
                cr_expect_eq(counting.tiles[node], planned.tasks,
                             "%s, view %d, node %d: %" PRId64 " tiles, %" PRId64 " tasks", maps[m], v, node,
                             counting.tiles[node], planned.tasks);
            }
        }
        dcl_release(views[1]);
        dcl_release(views[2]);
        dcl_release(views[3]);
        dcl_release(A);
    }
    dcl_close(cluster);
}

TestSuite(tiles_on_device, .timeout = TEST_SECONDS);

/* Turns rows to columns in the middle of the walk, which goes on as it began. */
static dcl_status remap_tile(void *user, const dcl_tile *tile)
{
    struct counting *counting = user;
    counting->tiles[tile->node]++;
    counting->right &= tile->box[0].count[0] == 2 && tile->box[0].count[1] == 8;
    dcl_map *map = dcl_map_parse(counting->cluster, "*,block");
    TEST_OK(dcl_remap(counting->array, map));
    dcl_map_release(map);
    return DCL_OK;
}

Test(tiles_on_device, a_walk_sees_one_map)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = make(cluster, dcl_grid_2d(DCL_INT32, 8, 8), "block,*;tile=2x8");
    struct counting before = {.cluster = cluster, .array = A, .right = true}, after = {.array = A};
    TEST_OK(dcl_tiles(A, DCL_ALL_NODES, remap_tile, &before));
    cr_expect(before.right && before.tiles[0] == 2 && before.tiles[1] == 2);
    TEST_OK(dcl_tiles(A, DCL_ALL_NODES, count_tile, &after));
    cr_expect(after.tiles[0] == 1 && after.tiles[1] == 1);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

static dcl_status stop(void *user, const dcl_tile *tile)
{
    (void)tile;
    ++*(int *)user;
    return DCL_ERR_TIMEOUT;
}

/* A view of another shape is looked for anew after each remap. */
Test(tiles_on_device, other_shapes_of_other_maps)
{
    static const char *const maps[] = {"block,*", "*,block", "block,*;nodes=1"};
    static const char *const tiles[] = {"0.0 0-11; 1.0 12-23", NULL, "1.0 0-23"};
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = make(cluster, dcl_grid_2d(DCL_INT32, 6, 4), maps[0]), *F = dcl_flatten(A);
    int calls = 0;
    for (int m = 0; m < 3; m++) {
        dcl_map *map = dcl_map_parse(cluster, maps[m]);
        TEST_OK(dcl_remap(A, map));
        if (tiles[m] != NULL)
            expect_tiles(F, DCL_ALL_NODES, tiles[m]);
        else
            TEST_REFUSED(dcl_tiles(F, DCL_ALL_NODES, stop, &calls), DCL_ERR_UNSUPPORTED,
                         "dcl_tiles: the map divides axis 1");
        dcl_map_release(map);
    }
    cr_expect_eq(calls, 0);
    dcl_release(F);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

Test(tiles, refusals)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *A = make(cluster, dcl_grid_1d(DCL_INT32, 14), "block");
    int calls = 0;
    TEST_REFUSED(dcl_tiles(NULL, 0, stop, &calls), DCL_ERR_INVALID, "dcl_tiles: array is NULL; expected one made by");
    TEST_REFUSED(dcl_tiles(A, 2, stop, &calls), DCL_ERR_INVALID,
                 "dcl_tiles: node is 2; expected 0..1, or DCL_ALL_NODES");
    TEST_REFUSED(dcl_tiles(A, DCL_HOST, stop, &calls), DCL_ERR_INVALID, "node is -2");
    TEST_REFUSED(dcl_tiles(A, 0, NULL, NULL), DCL_ERR_INVALID, "dcl_tiles: visit is NULL");
    cr_expect_eq(calls, 0);
    cr_expect_eq(dcl_tiles(A, DCL_ALL_NODES, stop, &calls), DCL_ERR_TIMEOUT);
    cr_expect_eq(calls, 1);
    dcl_release(A);
    dcl_close(cluster);
}

/* planning.c - what planning costs at scale: 10,000 nodes and a grid of 10^12 floats in square pieces that are dealt in turn.
 *
 * No device takes part: the cluster only plans. Timed are the owner and offset of elements at random, the boxes of one
 * node, and what dcl_call_explain() and dcl_call_report() take for one node and for all of them together, for a sum and
 * for a transposed sum. Bytes are compared first with a loop over all pieces. The ratio is that to the limit that each is
 * held to; those without one are for orientation. Last, dcl_call_explain() of one node at 10 to 10,000 nodes whose shares
 * under `block` are equal: the limit is twice the time at 10. (What a node plans of others is timed by
 * test/workqueue/scale_test.c.)
 *
 *     planning [rounds]      rounds: 11 if not given, of what concerns one node */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

#include "common.h"

enum { NODES = 10000, SIDE = 1000000, NODE = 1234, LOOKUPS = 1000000, MOST_ROUNDS = 101 };

static int rounds = 11;

/* A map and three arrays on it. */
struct scene {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *C, *A, *B;
    int64_t piece;
};

static struct scene open_scene(int64_t piece)
{
    struct scene scene = {.cluster = dcl_open_plan(NODES), .piece = piece};
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    scene.map = dcl_map_block_cyclic(scene.cluster, 2, (int64_t[]){piece, piece});
    scene.C = dcl_agile(grid, scene.map);
    scene.A = dcl_agile(grid, scene.map);
    scene.B = dcl_agile(grid, scene.map);
    check(scene.C != NULL && scene.A != NULL && scene.B != NULL, "making arrays");
    return scene;
}

static void close_scene(struct scene *scene)
{
    dcl_release(scene->map);
    check(dcl_close(scene->cluster) == DCL_OK, "closing");
}

/* Bytes of B^T that a node (-1: any) computes with and does not own, piece by piece. */
static int64_t moved(const struct scene *scene, int node)
{
    int64_t pieces = (SIDE + scene->piece - 1) / scene->piece, last = SIDE - (pieces - 1) * scene->piece, sum = 0;
    for (int64_t i = 0; i < pieces; i++)
        for (int64_t j = 0; j < pieces; j++) {
            int user = (int)((i * pieces + j) % NODES), owner = (int)((j * pieces + i) % NODES);
            if (user != owner && (node < 0 || user == node))
                sum += (i == pieces - 1 ? last : scene->piece) * (j == pieces - 1 ? last : scene->piece) * 4;
        }
    return sum;
}

static const char *const names[] = {"C = A + B", "C = A + B^T"};
static const char *const bodies[] = {"C(i,j) = A(i,j) + B(i,j);", "C(i,j) = A(i,j) + B(j,i);"};

static double explain(const struct scene *scene, int body, int node, int64_t expected)
{
    dcl_counters counters;
    dcl_arg args[] = {DCL_OUT_AS("C", scene->C), DCL_IN_AS("A", scene->A), DCL_IN_AS("B", scene->B)};
    double begin = now();
    check(dcl_call_explain(DCL_CALL_BODY_N(scene->cluster, NULL, bodies[body], 3, args), node, &counters) == DCL_OK,
          "explaining");
    double seconds = now() - begin;
    check(counters.bytes_moved == expected, "bytes_moved is wrong");
    return seconds;
}

static double report(const struct scene *scene, int body, int node, int64_t expected, int64_t *pairs_out)
{
    dcl_arg args[] = {DCL_OUT_AS("C", scene->C), DCL_IN_AS("A", scene->A), DCL_IN_AS("B", scene->B)};
    double begin = now();
    dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(scene->cluster, NULL, bodies[body], 3, args), node);
    check(report != NULL, "reporting");
    double seconds = now() - begin;
    int64_t bytes = 0;
    for (int64_t n = 0; n < report->pair_count; n++)
        bytes += report->pair[n].bytes;
    check(bytes == expected && report->planned.bytes_moved == expected, "bytes of pairs are wrong");
    *pairs_out = report->pair_count;
    dcl_report_release(report);
    return seconds;
}

static void print(const struct scene *scene, const char *what, double value, const char *unit, double limit)
{
    printf("%s, pieces of %" PRId64 " x %" PRId64 ": %.3g %s", what, scene->piece, scene->piece, value, unit);
    if (limit > 0)
        printf(", limit %g, ratio %.3g", limit, value / limit);
    putchar('\n');
    fflush(stdout);
}

static void explain_one(const struct scene *scene, int body)
{
    double plain[MOST_ROUNDS], full[MOST_ROUNDS];
    int64_t expected = body == 0 ? 0 : moved(scene, NODE), pairs = 0;
    for (int r = 0; r < rounds; r++) {
        plain[r] = explain(scene, body, NODE, expected);
        full[r] = report(scene, body, NODE, expected, &pairs);
    }
    char what[96];
    snprintf(what, sizeof what, "%s, explain of one node", names[body]);
    print(scene, what, 1e3 * median(rounds, plain), "ms", 1000);
    snprintf(what, sizeof what, "%s, report on one node (%" PRId64 " pairs)", names[body], pairs);
    print(scene, what, 1e3 * median(rounds, full), "ms", 1000);
}

/* Once: what takes seconds varies little. */
static void explain_all(const struct scene *scene, int body)
{
    char what[96];
    int64_t expected = body == 0 ? 0 : moved(scene, -1), pairs = 0;
    snprintf(what, sizeof what, "%s, explain of all nodes", names[body]);
    print(scene, what, explain(scene, body, DCL_ALL_NODES, expected), "s", 0);
    double seconds = report(scene, body, DCL_ALL_NODES, expected, &pairs);
    snprintf(what, sizeof what, "%s, report on all nodes (%" PRId64 " pairs)", names[body], pairs);
    print(scene, what, seconds, "s", 0);
}

static void locate(const struct scene *scene)
{
    double values[MOST_ROUNDS];
    dcl_grid grid = dcl_grid_of(scene->C);
    int64_t sum = 0, offset;
    for (int r = 0; r < rounds; r++) {
        uint64_t x = 1;
        double begin = now();
        for (int n = 0; n < LOOKUPS; n++) {
            int node;
            x = x * 6364136223846793005u + 1442695040888963407u; /* Knuth, TAOCP 2, 3.3.4 */
            int64_t index[] = {(int64_t)(x >> 33) % SIDE, (int64_t)(x >> 13 & 0xfffff) % SIDE};
            dcl_map_locate(scene->map, &grid, index, &node, &offset);
            sum += offset + node;
        }
        values[r] = (now() - begin) / LOOKUPS;
    }
    check(sum > 0, "looking up");
    print(scene, "owner and offset, with the element's choice", 1e9 * median(rounds, values), "ns", 0);
}

static dcl_status add_box(void *user, const dcl_box *box)
{
    *(int64_t *)user += box->count[0] * box->count[1];
    return DCL_OK;
}

static void boxes(const struct scene *scene)
{
    double values[MOST_ROUNDS];
    dcl_grid grid = dcl_grid_of(scene->C);
    for (int r = 0; r < rounds; r++) {
        int64_t elements = 0;
        double begin = now();
        check(dcl_map_boxes(scene->map, &grid, NODE, add_box, &elements) == DCL_OK && elements > 0, "boxes");
        values[r] = now() - begin;
    }
    print(scene, "boxes of one node", 1e3 * median(rounds, values), "ms", 0);
}

/* Explain one node of clusters of 10 to 10,000 nodes, each with a block of about 500 x 500 elements. */
static void equal_shares(const char *name, const char *body)
{
    double first = 0;
    for (int nodes = 10; nodes <= NODES; nodes *= 10) {
        double values[MOST_ROUNDS];
        int64_t side = 500;
        while (side * side < INT64_C(250000) * nodes)
            side += 500;
        dcl_cluster *cluster = dcl_open_plan(nodes);
        dcl_map *map = dcl_map_parse(cluster, "block");
        dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
        dcl_array *C = dcl_agile(grid, map), *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
        dcl_arg args[] = {DCL_OUT_AS("C", C), DCL_IN_AS("A", A), DCL_IN_AS("B", B)};
        dcl_counters counters;
        check(C != NULL && A != NULL && B != NULL, "making arrays");
        for (int r = 0; r < rounds; r++) {
            double begin = now();
            check(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 3, args), nodes / 2, &counters) == DCL_OK,
                  "explaining");
            values[r] = 1e6 * (now() - begin);
        }
        double time = median(rounds, values);
        first = nodes == 10 ? time : first;
        printf("%s, block, %d nodes, explain of one node (%" PRId64 " bytes moved): %.3g us, limit %.3g, ratio %.3g\n",
               name, nodes, counters.bytes_moved, time, 2 * first, time / (2 * first));
        dcl_release(map);
        check(dcl_close(cluster) == DCL_OK, "closing");
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "planning: rounds is %s; expected 1..%d\n", argv[1], MOST_ROUNDS);
        return 2;
    }
    printf("DCL %s, commit %s, %d nodes that are only planned, %d x %d floats, medians of %d\n", dcl_version(),
           bench_commit, NODES, SIDE, SIDE, rounds);
    static const int64_t pieces[] = {2048, 64};
    for (int p = 0; p < 2; p++) {
        struct scene scene = open_scene(pieces[p]);
        locate(&scene);
        boxes(&scene);
        for (int body = 0; body < 2; body++)
            explain_one(&scene, body);
        for (int body = 0; body < 2 && p == 0; body++) /* of small pieces there are 244 million */
            explain_all(&scene, body);
        close_scene(&scene);
    }
    equal_shares(names[0], bodies[0]);
    equal_shares(names[1], bodies[1]);
    equal_shares("5-point stencil", "C(i,j) = A(i,j) + B(i-1,j) + B(i+1,j) + B(i,j-1) + B(i,j+1);");
    return 0;
}

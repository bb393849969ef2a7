/* processes/join.c - a program whose cluster grows: join MORE MORE MORE
 *
 * MORE are what dcl_add_workers() is given; DCL_SPARE is 2, so the third is refused. Copies of elements are kept when the
 * first one joins. Says `joined N` after each newcomer, waits after `kill` until the last one is lost, and ends with
 * `end STATUS`. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl.h>

enum { EXTENT = 60, ELEMENTS = EXTENT * EXTENT };

typedef struct scene {
    dcl_cluster *cluster;
    dcl_array *A, *B; /* over the nodes that were there first */
    int32_t a[ELEMENTS];
    atomic_bool stop;
    int64_t calls; /* of the other thread */
} scene;

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

_Noreturn static void wrong_number(const char *what, int found, int expected)
{
    printf("WRONG %s: %d; expected %d\n", what, found, expected);
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        wrong(what);
}

static void say(const char *word, int number)
{
    printf("%s %d\n", word, number);
    fflush(stdout);
}

static dcl_array *make(dcl_map *map)
{
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT32, EXTENT, EXTENT), map);
    if (array == NULL)
        wrong("dcl_agile");
    return array;
}

static void expect(dcl_array *array, const int32_t wanted[], const char *what)
{
    static _Thread_local int32_t found[ELEMENTS];
    check(dcl_read(array, NULL, found, NULL), what);
    for (int e = 0; e < ELEMENTS; e++)
        if (found[e] != wanted[e]) {
            printf("WRONG %s: (%d, %d) is %" PRId32 "; expected %" PRId32 "\n", what, e / EXTENT, e % EXTENT, found[e],
                   wanted[e]);
            fflush(stdout);
            _Exit(EXIT_FAILURE);
        }
}

static void prepare(scene *scene)
{
    dcl_map *map = dcl_map_parse(scene->cluster, "rows:cyclic(7x11)");
    scene->A = make(map);
    scene->B = make(map);
    dcl_map_release(map);
    for (int e = 0; e < ELEMENTS; e++)
        scene->a[e] = e * 7 % 1001;
    check(dcl_write(scene->A, NULL, scene->a, NULL), "dcl_write");
}

/* New maps lay grids over the newcomer too, it computes, reads what is elsewhere and is read. */
static void use_all(scene *scene, int nodes)
{
    static int32_t wanted[ELEMENTS], back[ELEMENTS];
    dcl_array *A = scene->A, *B = scene->B;
    dcl_map *map = dcl_map_parse(scene->cluster, "cyclic(3),cyclic(2)");
    if (dcl_map_node_count(map) != nodes)
        wrong_number("nodes of a new map", dcl_map_node_count(map), nodes);
    dcl_array *C = make(map);
    dcl_counters before, after;
    check(dcl_stats(scene->cluster, dcl_map_node(map, nodes - 1), &before), "dcl_stats");
    check(dcl_forall(scene->cluster, "C(i,j) = A(j,i) + 3*i;", DCL_OUT(C), DCL_IN(A)), "a body on the new map");
    check(dcl_forall(scene->cluster, "B(i,j) = C(i,j) - C(j,i) + A(i,j);", DCL_OUT(B), DCL_IN(C), DCL_IN(A)),
          "a body that reads the new map");
    for (int i = 0; i < EXTENT; i++)
        for (int j = 0; j < EXTENT; j++)
            wanted[i * EXTENT + j] = scene->a[j * EXTENT + i] + 3 * i;
    for (int i = 0; i < EXTENT; i++)
        for (int j = 0; j < EXTENT; j++)
            back[i * EXTENT + j] = wanted[i * EXTENT + j] - wanted[j * EXTENT + i] + scene->a[i * EXTENT + j];
    expect(C, wanted, "an array over all nodes");
    expect(B, back, "an array over the first nodes");
    check(dcl_stats(scene->cluster, dcl_map_node(map, nodes - 1), &after), "dcl_stats");
    if (after.tasks <= before.tasks)
        wrong("the newcomer has computed nothing");
    dcl_release(C);
    dcl_map_release(map);
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

enum { LINE = 600, KEPT_BYTES = 2000 };

static dcl_array *line_on(scene *scene, int other)
{
    char text[40];
    snprintf(text, sizeof text, "block;nodes=0,%d", other);
    dcl_map *map = dcl_map_parse(scene->cluster, text);
    dcl_array *line = dcl_agile(dcl_grid_1d(DCL_INT32, LINE), map);
    if (line == NULL)
        wrong("dcl_agile");
    dcl_map_release(map);
    return line;
}

/* 1200 bytes of node 1 at node 0, which leaves it 800. */
static dcl_array *keep_some(scene *scene)
{
    dcl_array *line = line_on(scene, 1);
    dcl_box half = dcl_box_nd(1, (int64_t[]){LINE / 2}, (int64_t[]){LINE / 2});
    check(dcl_move(line, &half, 0), "dcl_move");
    return line;
}

/* The newcomer does not know of these. Had they not been dropped, it would take it that node 0 has room to keep 1200 bytes
 * of its own, and not send them again, which node 0 would wait for. */
static void keep_more(scene *scene, int newcomer)
{
    static const char body[] = "C(i) = X(599 - i);";
    dcl_array *X = line_on(scene, newcomer), *C = line_on(scene, newcomer);
    dcl_arg args[] = {DCL_OUT(C), DCL_IN_KEPT(X)};
    int32_t found[LINE];
    check(dcl_forall(scene->cluster, "X(i) = 3*i;", DCL_OUT(X)), "a body on two nodes");
    for (int n = 0; n < 2; n++) {
        dcl_counters planned, before, after;
        check(dcl_stats(scene->cluster, DCL_ALL_NODES, &before), "dcl_stats");
        check(dcl_call_explain(DCL_CALL_BODY_N(scene->cluster, NULL, body, 2, args), DCL_ALL_NODES, &planned),
              "dcl_explain");
        check(dcl_forall_n(scene->cluster, body, 2, args), "a body that keeps");
        check(dcl_read(C, NULL, found, NULL), "what was kept");
        check(dcl_stats(scene->cluster, DCL_ALL_NODES, &after), "dcl_stats");
        if (planned.bytes_moved != (n == 0 ? 2 * LINE / 2 * 4 : 0))
            wrong_number("bytes that are explained", (int)planned.bytes_moved, n == 0 ? 2 * LINE / 2 * 4 : 0);
        if (after.bytes_moved - before.bytes_moved != planned.bytes_moved)
            wrong_number("bytes moved", (int)(after.bytes_moved - before.bytes_moved), (int)planned.bytes_moved);
        for (int i = 0; i < LINE; i++)
            if (found[i] != 3 * (LINE - 1 - i))
                wrong_number("an element that was kept", found[i], 3 * (LINE - 1 - i));
    }
    dcl_release(C);
    dcl_release(X);
}

/* ---- joining ------------------------------------------------------------------------------------------------------ */

/* Operations are on their way at any time. */
static void *keep_computing(void *argument)
{
    scene *scene = argument;
    dcl_map *map = dcl_map_parse(scene->cluster, "block");
    dcl_array *D = make(map), *E = make(map);
    int32_t wanted[ELEMENTS] = {0};
    for (int64_t n = 1; !atomic_load(&scene->stop); n++) {
        check(dcl_forall(scene->cluster, "D(i,j) += E(j,i) + 1;", DCL_INOUT(D), DCL_IN(E)), "a body in a thread");
        scene->calls = n;
    }
    for (int e = 0; e < ELEMENTS; e++)
        wanted[e] = (int32_t)scene->calls;
    expect(D, wanted, "the array of a thread");
    dcl_release(E);
    dcl_release(D);
    dcl_map_release(map);
    return NULL;
}

static void join_one(scene *scene, const char *more)
{
    int nodes = dcl_node_count(scene->cluster);
    check(dcl_add_workers(scene->cluster, more), "dcl_add_workers");
    if (dcl_node_count(scene->cluster) != nodes + 1 || !dcl_node_is_alive(scene->cluster, nodes) ||
        dcl_node_name(scene->cluster, nodes) == NULL)
        wrong("the newcomer is not there");
    say("joined", nodes);
}

static void expect_refusal(scene *scene, const char *more, dcl_status expected, const char *words)
{
    dcl_status status = dcl_add_workers(scene->cluster, more);
    if (status != expected || strstr(dcl_error(), words) == NULL) {
        printf("WRONG dcl_add_workers(%s) gave %s: %s; expected %s and \"%s\"\n", more, dcl_status_name(status),
               dcl_error(), dcl_status_name(expected), words);
        fflush(stdout);
        _Exit(EXIT_FAILURE);
    }
    dcl_clear_error(scene->cluster);
}

static void await_loss(scene *scene, int node)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int n = 0; dcl_node_is_alive(scene->cluster, node); n++) {
        if (n == 10000)
            wrong("the loss is not noticed");
        nanosleep(&pause, NULL);
    }
    if (dcl_wait(scene->cluster) != DCL_ERR_NODE_LOST)
        wrong("the loss is not told");
    say("lost", node);
    dcl_clear_error(scene->cluster);
}

int main(int count, char **list)
{
    static scene scene;
    dcl_config config;
    check(dcl_config_read(&config), "dcl_config_read");
    config.kept_bytes = KEPT_BYTES;
    if (count != 4 || (scene.cluster = dcl_open(&config)) == NULL) {
        fprintf(stderr, "usage: join MORE MORE MORE; %s\n", dcl_error());
        return 2;
    }
    int nodes = dcl_node_count(scene.cluster);
    prepare(&scene);
    use_all(&scene, nodes);
    for (int n = 0; n < 50; n++) /* under way while one joins */
        check(dcl_forall(scene.cluster, "B(i,j) = A(j,i) + n;", DCL_OUT_AS("B", scene.B), DCL_IN_AS("A", scene.A),
                         DCL_VALUE(n)),
              "a body");
    dcl_array *line = keep_some(&scene);
    join_one(&scene, list[1]);
    keep_more(&scene, nodes);
    dcl_release(line);
    use_all(&scene, nodes + 1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep_computing, &scene) != 0)
        return 2;
    join_one(&scene, list[2]);
    atomic_store(&scene.stop, true);
    pthread_join(thread, NULL);
    use_all(&scene, nodes + 2);
    expect_refusal(&scene, list[3], DCL_ERR_UNSUPPORTED, "DCL_SPARE");
    expect_refusal(&scene, strncmp(list[1], "local", 5) == 0 ? "tcp://127.0.0.1:1" : "local:1", DCL_ERR_INVALID,
                   "as the cluster has");
    expect_refusal(&scene, NULL, DCL_ERR_INVALID, "workers is NULL");
    say("kill", nodes + 1);
    await_loss(&scene, nodes + 1);
    use_all(&scene, nodes + 1);
    dcl_release(scene.B);
    dcl_release(scene.A);
    printf("end %s\n", dcl_status_name(dcl_close(scene.cluster)));
    return EXIT_SUCCESS;
}

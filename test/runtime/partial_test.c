/* test/runtime/partial_test.c - arrays of which some elements are stored nowhere, through the whole library: every
 * operation, compared with loops over plain memory; what is refused. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/folder.h"
#include "support/nodes.h"

TestSuite(partial_on_device, .timeout = TEST_SECONDS, .init = test_make_folder, .fini = test_remove_folder);
TestSuite(partial_planned, .timeout = TEST_SECONDS);

enum { ROWS = 6, COLUMNS = 8, ELEMENTS = ROWS * COLUMNS };
static const int64_t origin[] = {10, -1}, extent[] = {ROWS, COLUMNS};

/* Of 6 x 8 elements; two nodes. */
static const char *const maps[] = {
    "rows:table(2x3);owners=0,-,1,-*2,0,1,1,-;rest=-7", /* the last column of pieces is cut */
    "columns:table(3x2);owners=-,1,-*3,0,-,0;rest=3",
    "rows:table(6x8);owners=-;rest=11", /* nothing is stored */
    "block;every=2x3;rest=-5",
    "cyclic,*;every=1x2",
    "rows:cyclic(1x2);every=3x1;rest=9;tile=1x1",
    "rows:table(1x2);owners=0,-,1,1,0,-;every=2x2;rest=4",
};
enum { MAPS = sizeof maps / sizeof maps[0] };

/* An array, and what it should hold, by rows. */
struct pair {
    dcl_array *array;
    bool stored[ELEMENTS];
    int32_t value[ELEMENTS]; /* of those that are stored nowhere: the rest */
};

struct scene {
    dcl_cluster *cluster;
    const char *text;
    dcl_map *map, *dense;
    int32_t fill_value;
    struct pair P, Q, C; /* P and Q by the map, C by one that stores everything */
};

static struct pair make_pair(dcl_map *map, int32_t fill_value)
{
    dcl_grid grid = dcl_grid_nd(DCL_INT32, 2, extent, origin);
    struct pair pair = {.array = dcl_agile(grid, map)};
    cr_assert_not_null(pair.array, "%s", dcl_error());
    for (int e = 0; e < ELEMENTS; e++) {
        int64_t index[] = {origin[0] + e / COLUMNS, origin[1] + e % COLUMNS}, offset;
        int node;
        TEST_OK(dcl_map_locate(map, &grid, index, &node, &offset));
        pair.stored[e] = node != DCL_NOWHERE;
        pair.value[e] = pair.stored[e] ? 0 : fill_value;
    }
    return pair;
}

static struct scene make_scene(dcl_cluster *cluster, const char *text)
{
    const char *rest = strstr(text, "rest=");
    struct scene scene = {.cluster = cluster, .text = text, .map = dcl_map_parse(cluster, text)};
    cr_assert_not_null(scene.map, "%s", dcl_error());
    scene.dense = dcl_map_parse(cluster, "*,block;tile=2x2");
    if (rest != NULL)
        sscanf(rest, "rest=%" SCNd32, &scene.fill_value);
    scene.P = make_pair(scene.map, scene.fill_value);
    scene.Q = make_pair(scene.map, scene.fill_value);
    scene.C = make_pair(scene.dense, 0);
    return scene;
}

static void end_scene(struct scene *scene)
{
    dcl_release(scene->P.array);
    dcl_release(scene->Q.array);
    dcl_release(scene->C.array);
    dcl_release(scene->map);
    dcl_release(scene->dense);
}

static void expect(const struct scene *scene, const struct pair *pair, const char *what)
{
    int32_t found[ELEMENTS];
    TEST_OK(dcl_read(pair->array, NULL, found, NULL));
    for (int e = 0; e < ELEMENTS; e++)
        cr_assert_eq(found[e], pair->value[e], "%s, %s: element %d is %" PRId32 "; expected %" PRId32, scene->text,
                     what, e, found[e], pair->value[e]);
}

/* What a body makes of elements: set by the arrays' own i and j. */
typedef int32_t formula(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c);

static void set(const struct scene *scene, struct pair *pair, const bool runs[], formula *make)
{
    for (int e = 0; e < ELEMENTS; e++)
        if (pair->stored[e] && runs[e])
            pair->value[e] = make((int32_t)origin[0] + e / COLUMNS, (int32_t)origin[1] + e % COLUMNS, scene->P.value[e],
                                  scene->Q.value[e], scene->C.value[e]);
}

/* Run a body; what it moves was explained. */
static void run(const struct scene *scene, const char *body, int count, const dcl_arg args[])
{
    dcl_counters before = test_counters(scene->cluster, DCL_ALL_NODES), planned;
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(scene->cluster, NULL, body, count, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_forall_n(scene->cluster, body, count, args));
    dcl_counters after = test_counters(scene->cluster, DCL_ALL_NODES);
    cr_expect(after.tasks - before.tasks == planned.tasks &&
                  after.bytes_moved - before.bytes_moved == planned.bytes_moved &&
                  after.blocks_moved - before.blocks_moved == planned.blocks_moved,
              "%s, %s: explained %" PRId64 " tasks, %" PRId64 " bytes, %" PRId64 " blocks; counted %" PRId64
              ", %" PRId64 ", %" PRId64,
              scene->text, body, planned.tasks, planned.bytes_moved, planned.blocks_moved, after.tasks - before.tasks,
              after.bytes_moved - before.bytes_moved, after.blocks_moved - before.blocks_moved);
}
#define RUN(scene, body, ...) \
    run((scene), (body), (int)(sizeof((dcl_arg[]){__VA_ARGS__}) / sizeof(dcl_arg)), (dcl_arg[]){__VA_ARGS__})
#define OUT(name, object) dcl_arg_array(DCL_ACCESS_OUT, (name), (object))
#define IN(name, object) dcl_arg_array(DCL_ACCESS_IN, (name), (object))
#define INOUT(name, object) dcl_arg_array(DCL_ACCESS_INOUT, (name), (object))

/* ---- each operation ----------------------------------------------------------------------------------------------- */

static int32_t five(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c)
{
    return (void)i, (void)j, (void)p, (void)q, (void)c, 5;
}
static int32_t of_index(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c)
{
    return (void)p, (void)q, (void)c, 100 * i + j;
}
static int32_t of_p(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c)
{
    return (void)i, (void)j, (void)q, (void)c, 2 * p + 1;
}
static int32_t of_c(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c)
{
    return (void)i, (void)j, (void)p, (void)q, 3 * c;
}
static int32_t of_both(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c)
{
    return (void)i, (void)j, (void)q, p + c;
}
static int32_t of_all(int32_t i, int32_t j, int32_t p, int32_t q, int32_t c) { return (void)i, (void)j, p - q + c; }

static void try_filling(struct scene *scene)
{
    int32_t element = 5;
    expect(scene, &scene->P, "made");
    TEST_OK(dcl_fill(scene->P.array, &element));
    set(scene, &scene->P, scene->P.stored, five);
    expect(scene, &scene->P, "filled");
}

static void try_bodies(struct scene *scene)
{
    dcl_array *P = scene->P.array, *Q = scene->Q.array, *C = scene->C.array;
    RUN(scene, "P(i,j) = 100 * i + j;", OUT("P", P));
    set(scene, &scene->P, scene->P.stored, of_index);
    expect(scene, &scene->P, "computed");
    RUN(scene, "C(i,j) = 2 * P(i,j) + 1;", OUT("C", C), IN("P", P));
    set(scene, &scene->C, scene->C.stored, of_p);
    expect(scene, &scene->C, "read by a body");
    RUN(scene, "Q(i,j) = 3 * C(i,j);", OUT("Q", Q), IN("C", C));
    set(scene, &scene->Q, scene->Q.stored, of_c);
    expect(scene, &scene->Q, "computed from what is whole");
    RUN(scene, "P(i,j) = P(i,j) + C(i,j);", INOUT("P", P), IN("C", C));
    set(scene, &scene->P, scene->P.stored, of_both);
    expect(scene, &scene->P, "read and written");
    RUN(scene, "C(i,j) = P(i,j) - Q(i,j) + C(i,j);", INOUT("C", C), IN("P", P), IN("Q", Q));
    set(scene, &scene->C, scene->C.stored, of_all);
    expect(scene, &scene->C, "two operands");
    RUN(scene, "P(i,j) = 5; Q(i,j) = 100 * i + j;", OUT("P", P), OUT("Q", Q));
    set(scene, &scene->P, scene->P.stored, five);
    set(scene, &scene->Q, scene->P.stored, of_index);
    expect(scene, &scene->P, "two outputs, the first");
    expect(scene, &scene->Q, "two outputs, the second");
    RUN(scene, "P(i,j) = 100 * i + j; C(i,j) = 5;", OUT("P", P), OUT("C", C));
    set(scene, &scene->P, scene->P.stored, of_index);
    set(scene, &scene->C, scene->P.stored, five);
    expect(scene, &scene->P, "written along, the first");
    expect(scene, &scene->C, "only where the first output is stored");
}

static int32_t at(const struct pair *pair, int i, int j) { return pair->value[i * COLUMNS + j]; }

/* Neighbours, and whole rows. */
static void try_reaching(struct scene *scene)
{
    dcl_box inside = dcl_box_nd(2, (int64_t[]){11, 0}, (int64_t[]){ROWS - 2, COLUMNS - 2});
    dcl_arg args[] = {OUT("C", scene->C.array), IN("P", scene->P.array)};
    TEST_OK(dcl_call_run(
        DCL_CALL_BODY_N(scene->cluster, &inside, "C(i,j) = P(i-1,j) + 3 * P(i,j+1) - P(i+1,j-1);", 2, args)));
    for (int i = 1; i < ROWS - 1; i++)
        for (int j = 1; j < COLUMNS - 1; j++)
            scene->C.value[i * COLUMNS + j] =
                at(&scene->P, i - 1, j) + 3 * at(&scene->P, i, j + 1) - at(&scene->P, i + 1, j - 1);
    expect(scene, &scene->C, "neighbours");
    static const char *const sum = "int s = 0; for (int n = -1; n < 7; n++) s += P(i, n); C(i,j) = s;";
    RUN(scene, sum, OUT("C", scene->C.array), dcl_arg_array(DCL_ACCESS_IN_ROWS, "P", scene->P.array));
    for (int e = 0; e < ELEMENTS; e++) {
        scene->C.value[e] = 0;
        for (int j = 0; j < COLUMNS; j++)
            scene->C.value[e] += at(&scene->P, e / COLUMNS, j);
    }
    expect(scene, &scene->C, "sums of rows");
}

static void try_views(struct scene *scene)
{
    dcl_array *T = dcl_transpose(scene->P.array), *D = dcl_transpose(scene->C.array);
    dcl_array *S = dcl_slice(scene->P.array, (int64_t[]){15, 0}, (int64_t[]){3, 3}, (int64_t[]){-2, 2});
    int32_t found[ELEMENTS], seven = 7;
    TEST_OK(dcl_read(T, NULL, found, NULL));
    for (int e = 0; e < ELEMENTS; e++)
        cr_assert_eq(found[e], at(&scene->P, e % ROWS, e / ROWS), "%s: transposed, element %d", scene->text, e);
    TEST_OK(dcl_read(S, NULL, found, NULL));
    for (int e = 0; e < 9; e++)
        cr_assert_eq(found[e], at(&scene->P, 5 - 2 * (e / 3), 1 + 2 * (e % 3)), "%s: sliced, element %d", scene->text,
                     e);
    RUN(scene, "C(i,j) = 2 * P(i,j) + 1;", OUT("C", D), IN("P", T));
    set(scene, &scene->C, scene->C.stored, of_p);
    expect(scene, &scene->C, "a view read by a body");
    RUN(scene, "P(i,j) = 100 * i + j;", OUT("P", T));
    for (int e = 0; e < ELEMENTS; e++)
        if (scene->P.stored[e])
            scene->P.value[e] = 100 * (e % COLUMNS - 1) + 10 + e / COLUMNS;
    expect(scene, &scene->P, "a view written by a body");
    TEST_OK(dcl_fill(S, &seven));
    for (int e = 0; e < 9; e++) {
        int to = (5 - 2 * (e / 3)) * COLUMNS + 1 + 2 * (e % 3);
        scene->P.value[to] = scene->P.stored[to] ? seven : scene->P.value[to];
    }
    expect(scene, &scene->P, "a view filled");
    dcl_release(S);
    dcl_release(T);
    dcl_release(D);
}

/* Every element that is stored is written alone, then those in the rows of the map's boxes. */
static dcl_status write_box(void *user, const dcl_box *box)
{
    struct pair *pair = user;
    int32_t source[ELEMENTS];
    for (int n = 0; n < ELEMENTS; n++)
        source[n] = 1000 + n;
    TEST_OK(dcl_write(pair->array, box, source, NULL));
    for (int64_t i = 0, n = 0; i < box->count[0]; i++)
        for (int64_t j = 0; j < box->count[1]; j++, n++)
            pair->value[(box->start[0] + i * box->stride[0] - origin[0]) * COLUMNS + box->start[1] +
                        j * box->stride[1] - origin[1]] = source[n];
    return DCL_OK;
}

static void try_writing(struct scene *scene)
{
    dcl_grid grid = dcl_grid_of(scene->P.array);
    int32_t source[ELEMENTS] = {0}, zero = 0;
    for (int node = 0; node < 2; node++)
        TEST_OK(dcl_map_boxes(scene->map, &grid, node, write_box, &scene->P));
    expect(scene, &scene->P, "boxes written");
    TEST_REFUSED(dcl_write(scene->P.array, NULL, source, NULL), DCL_ERR_RANGE, "is stored nowhere by its map");
    expect(scene, &scene->P, "a refused write");
    test_fail(scene->P.array);
    TEST_REFUSED(dcl_read(scene->P.array, NULL, source, NULL), DCL_ERR_DEVICE, "contents have failed");
    dcl_clear_error(scene->cluster);
    TEST_OK(dcl_fill(scene->P.array, &zero)); /* writing all that is stored heals it */
    RUN(scene, "P(i,j) = 100 * i + j;", OUT("P", scene->P.array));
    set(scene, &scene->P, scene->P.stored, of_index);
    expect(scene, &scene->P, "healed");
}

static void try_files(struct scene *scene, bool fortran_order)
{
    char path[TEST_PATH];
    test_path(path, "partial.npy");
    TEST_OK(dcl_save_npy_order(scene->P.array, path, fortran_order));
    TEST_OK(dcl_load_npy(scene->C.array, path));
    memcpy(scene->C.value, scene->P.value, sizeof scene->C.value);
    expect(scene, &scene->C, "saved");
    RUN(scene, "C(i,j) = 2 * P(i,j) + 1;", OUT("C", scene->C.array), IN("P", scene->P.array));
    set(scene, &scene->C, scene->C.stored, of_p);
    TEST_OK(dcl_save_npy_order(scene->C.array, path, fortran_order));
    TEST_OK(dcl_load_npy(scene->Q.array, path));
    for (int e = 0; e < ELEMENTS; e++)
        scene->Q.value[e] = scene->Q.stored[e] ? scene->C.value[e] : scene->fill_value;
    expect(scene, &scene->Q, "loaded");
}

/* Parts, into memory that is larger, from behind. */
static void try_reading(struct scene *scene)
{
    dcl_box box = {.rank = 2, .start = {11, -1}, .count = {2, 4}, .stride = {3, 2}};
    int32_t memory[40];
    memset(memory, 0, sizeof memory);
    TEST_OK(dcl_read(scene->P.array, &box, memory + 30, (int64_t[]){-20, 3}));
    for (int n = 0; n < 40; n++) {
        int i = n < 20 ? 1 : 0, j = (n - (i == 1 ? 10 : 30)) / 3;
        bool there = (n >= (i == 1 ? 10 : 30)) && (n - (i == 1 ? 10 : 30)) % 3 == 0 && j < 4;
        int32_t expected = there ? at(&scene->P, 1 + 3 * i, 2 * j) : 0;
        cr_assert_eq(memory[n], expected, "%s: place %d has %" PRId32 "; expected %" PRId32, scene->text, n, memory[n],
                     expected);
    }
}

/* How the nodes live, and how they move elements. */
struct world {
    char workers[12], move[8], files[8];
};

ParameterizedTestParameters(partial_on_device, all_operations)
{
    static struct world worlds[] = {
        {"", "auto", "auto"},
        {"", "send", "stream"},
#ifdef TEST_DCL
        {"local:2", "auto", "auto"},
#endif
    };
    return cr_make_param_array(struct world, worlds, sizeof worlds / sizeof worlds[0]);
}

ParameterizedTest(struct world *world, partial_on_device, all_operations)
{
    dcl_config config = test_config(2);
    config.transfer = world->move;
    config.files = world->files;
#ifdef TEST_DCL
    config.workers = world->workers[0] != '\0' ? world->workers : NULL;
    config.program = TEST_DCL;
#endif
    dcl_cluster *cluster = test_open(&config);
    for (int m = 0; m < MAPS; m++) {
        struct scene scene = make_scene(cluster, maps[m]);
        try_filling(&scene);
        try_bodies(&scene);
        try_reaching(&scene);
        try_views(&scene);
        try_writing(&scene);
        try_reading(&scene);
        try_files(&scene, m % 2 == 1);
        cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s: %s", maps[m], dcl_error());
        end_scene(&scene);
    }
    TEST_OK(dcl_close(cluster));
}

/* One map beside another: sums of every two. */
Test(partial_on_device, every_two_maps)
{
    dcl_cluster *cluster = open_nodes(2);
    for (int m = 0; m < MAPS; m++)
        for (int n = 0; n < MAPS; n++) {
            struct scene one = make_scene(cluster, maps[m]), other = make_scene(cluster, maps[n]);
            RUN(&one, "P(i,j) = 100 * i + j;", OUT("P", other.P.array));
            set(&other, &other.P, other.P.stored, of_index);
            RUN(&one, "P(i,j) = P(i,j) + C(i,j);", INOUT("P", one.P.array), IN("C", other.P.array));
            for (int e = 0; e < ELEMENTS; e++)
                one.P.value[e] += one.P.stored[e] ? other.P.value[e] : 0;
            expect(&one, &one.P, maps[n]);
            end_scene(&one);
            end_scene(&other);
        }
    TEST_OK(dcl_close(cluster));
}

/* Other maps for the same contents: what the new one stores nowhere is given up. */
Test(partial_on_device, remapped)
{
    dcl_cluster *cluster = open_nodes(2);
    for (int m = 0; m < MAPS; m++)
        for (int n = 0; n < MAPS; n++) {
            struct scene one = make_scene(cluster, maps[m]), other = make_scene(cluster, maps[n]);
            RUN(&one, "P(i,j) = 100 * i + j;", OUT("P", one.P.array));
            set(&one, &one.P, one.P.stored, of_index);
            TEST_OK(dcl_remap(one.P.array, other.map));
            for (int e = 0; e < ELEMENTS; e++)
                one.P.value[e] = other.P.stored[e] ? one.P.value[e] : other.fill_value;
            expect(&one, &one.P, maps[n]);
            TEST_OK(dcl_remap_with(one.P.array, one.dense, DCL_REMAP_RELABEL));
            expect(&one, &one.P, "all of it is stored");
            TEST_OK(dcl_copy(one.P.array, other.Q.array));
            for (int e = 0; e < ELEMENTS; e++)
                other.Q.value[e] = other.Q.stored[e] ? one.P.value[e] : other.fill_value;
            expect(&other, &other.Q, "copied");
            end_scene(&one);
            end_scene(&other);
        }
    TEST_OK(dcl_close(cluster));
}

/* What is kept of an array has the rest where nothing is stored, and is moved once. */
Test(partial_on_device, kept)
{
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(2);
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        for (int m = 0; m < MAPS; m++) {
            struct scene scene = make_scene(cluster, maps[m]);
            TEST_OK(dcl_keep(scene.P.array, true));
            RUN(&scene, "P(i,j) = 100 * i + j;", OUT("P", scene.P.array));
            set(&scene, &scene.P, scene.P.stored, of_index);
            for (int times = 0; times < 3; times++) {
                RUN(&scene, "C(i,j) = 2 * P(i,j) + 1;", OUT("C", scene.C.array), IN("P", scene.P.array));
                set(&scene, &scene.C, scene.C.stored, of_p);
                expect(&scene, &scene.C, "from what is kept");
            }
            dcl_counters planned;
            dcl_arg args[] = {OUT("C", scene.C.array), IN("P", scene.P.array)};
            TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, "C(i,j) = 2 * P(i,j) + 1;", 2, args), DCL_ALL_NODES,
                                     &planned));
            cr_expect_eq(planned.bytes_moved, 0, "%s: %" PRId64 " bytes", maps[m], planned.bytes_moved);
            end_scene(&scene);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* ---- other types, counts ------------------------------------------------------------------------------------------- */

Test(partial_on_device, the_rest_in_other_types)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "block;every=2;rest=-2.5"),
            *whole = dcl_map_parse(cluster, "block;every=2;rest=200");
    dcl_map *dense = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 5), map), *B = dcl_agile(dcl_grid_1d(DCL_UINT8, 5), whole);
    dcl_array *C = dcl_agile(dcl_grid_1d(DCL_FLOAT, 5), dense);
    float floats[5];
    uint8_t bytes[5];
    TEST_OK(dcl_forall(cluster, "C(i) = A(i) + 2 * B(i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    TEST_OK(dcl_read(C, NULL, floats, NULL));
    cr_expect(floats[0] == 0 && floats[1] == 397.5f && floats[4] == 0);
    TEST_OK(dcl_read(A, NULL, floats, NULL));
    cr_expect(floats[0] == 0 && floats[1] == -2.5f && floats[3] == -2.5f);
    TEST_OK(dcl_read(B, NULL, bytes, NULL));
    cr_expect(bytes[0] == 0 && bytes[1] == 200 && bytes[4] == 0);
    dcl_array *arrays[] = {A, B, C};
    for (int k = 0; k < 3; k++)
        dcl_release(arrays[k]);
    dcl_release(map);
    dcl_release(whole);
    dcl_release(dense);
    TEST_OK(dcl_close(cluster));
}

/* Values, indices and sums between the operations of a reduction lie as an array of the program does, but their types may not have the
 * fill value of its map. */
Test(partial_on_device, arrays_of_reductions_have_no_fill_value)
{
    enum { N = 40, KEYS = 3 };
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *a = test_array(cluster, "block;every=1;rest=-2.5", dcl_grid_1d(DCL_FLOAT, N)),
              *K = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N)),
              *low = test_array(cluster, "block;every=1;rest=0.5", dcl_grid_1d(DCL_FLOAT, KEYS)),
              *at = test_array(cluster, "block", dcl_grid_1d(DCL_INT64, KEYS));
    float found[KEYS];
    int64_t where[KEYS], last = 0;
    TEST_OK(dcl_forall(cluster, "a(i) = 50 - i; K(i) = i % 3;", DCL_OUT(a), DCL_OUT(K)));
    TEST_OK(dcl_reduce(cluster, "last combine= (long)a(i);", DCL_RESULT(last), DCL_IN(a), DCL_OPERATOR("combine", "0"),
                       DCL_PRELUDE("long combine(long x, long y) { return y; }")));
    cr_expect_eq(last, 11);
    TEST_OK(dcl_reduce(cluster, "low(K(i)) += a(i);", DCL_OUT(low), DCL_IN(K), DCL_IN(a)));
    TEST_OK(dcl_read(low, NULL, found, NULL));
    cr_expect(found[0] == 427 && found[1] == 403 && found[2] == 390, "%g %g %g", found[0], found[1], found[2]);
    TEST_OK(dcl_reduce(cluster, "if (3 * i <= j && j < 3 * i + 3) low(i) min= a(j);", DCL_OUT(low), DCL_RESULT_AT(at),
                       DCL_IN(a)));
    TEST_OK(dcl_read(at, NULL, where, NULL));
    TEST_OK(dcl_read(low, NULL, found, NULL));
    for (int k = 0; k < KEYS; k++)
        cr_expect(found[k] == 48 - 3 * k && where[k] == 3 * k + 2, "%d: %g at %d", k, found[k], (int)where[k]);
    dcl_array *arrays[] = {a, K, low, at};
    for (int k = 0; k < 4; k++)
        dcl_release(arrays[k]);
    TEST_OK(dcl_close(cluster));
}

/* Of a million elements a hundred are stored, and no more memory is taken; what is stored nowhere does not move. */
Test(partial_on_device, stores_and_moves_only_what_there_is)
{
    enum { N = 1000000 };
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "cyclic;every=10000"), *first = dcl_map_parse(cluster, "block;nodes=0");
    dcl_array *P = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    TEST_OK(dcl_wait(cluster));
    cr_expect_leq(test_counters(cluster, DCL_ALL_NODES).storage_bytes, 2 * 4096);
    dcl_array *C = dcl_agile(dcl_grid_1d(DCL_INT32, N), first);
    dcl_counters planned;
    TEST_OK(dcl_explain(cluster, &planned, "C(i) = P(i) + 1;", DCL_OUT(C), DCL_IN(P)));
    cr_expect_eq(planned.bytes_moved, 50 * 4, "%" PRId64, planned.bytes_moved); /* those of node 1 */
    TEST_OK(dcl_explain(cluster, &planned, "P(i) = C(i) + 1;", DCL_OUT(P), DCL_IN(C)));
    cr_expect_eq(planned.bytes_moved, 50 * 4, "%" PRId64, planned.bytes_moved);
    dcl_release(P);
    dcl_release(C);
    dcl_release(map);
    dcl_release(first);
    TEST_OK(dcl_close(cluster));
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

Test(partial_on_device, what_cannot_be_written)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "rows:table(2x2);owners=0,-,1,0");
    dcl_array *P = dcl_agile(dcl_grid_nd(DCL_INT32, 2, (int64_t[]){4, 4}, (int64_t[]){-1, 5}), map),
              *T = dcl_transpose(P);
    int32_t source[16] = {0};
    dcl_box row = dcl_box_nd(2, (int64_t[]){0, 5}, (int64_t[]){1, 4}),
            one = dcl_box_nd(2, (int64_t[]){-1, 8}, (int64_t[]){1, 1});
    dcl_box there = dcl_box_nd(2, (int64_t[]){-1, 5}, (int64_t[]){2, 2}),
            none = dcl_box_nd(2, there.start, (int64_t[]){0, 4});
    TEST_OK(dcl_write(P, &there, source, NULL));
    TEST_OK(dcl_write(P, &none, source, NULL));
    TEST_REFUSED(dcl_write(P, NULL, source, NULL), DCL_ERR_RANGE,
                 "dcl_write: element (-1, 7) is stored nowhere by its map and cannot be written; expected a box");
    TEST_REFUSED(dcl_write(P, &row, source, NULL), DCL_ERR_RANGE, "element (0, 7) is stored nowhere");
    TEST_REFUSED(dcl_write(P, &one, source, NULL), DCL_ERR_RANGE, "element (-1, 8) is stored nowhere");
    TEST_REFUSED(dcl_write(T, NULL, source, NULL), DCL_ERR_RANGE,
                 "element (-1, 7) of the array behind the view is stored nowhere");
    dcl_clear_error(cluster);
    dcl_release(T);
    dcl_release(P);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

Test(partial_planned, outputs_that_store_other_elements)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *half = dcl_map_parse(cluster, "block;every=2x1"), *other = dcl_map_parse(cluster, "cyclic;every=2x1");
    dcl_map *dense = dcl_map_block(cluster), *rest = dcl_map_with_rest(half, 3);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 8, 8);
    dcl_array *A = dcl_agile(grid, half), *B = dcl_agile(grid, other), *C = dcl_agile(grid, dense);
    dcl_array *D = dcl_agile(grid, rest), *T = dcl_transpose(D);
    dcl_counters planned;
#define EXPLAIN(body, ...) dcl_explain(cluster, &planned, body, __VA_ARGS__)
    TEST_REFUSED(EXPLAIN("A(i,j) = 1; B(i,j) = 2;", DCL_OUT(A), DCL_OUT(B)), DCL_ERR_UNSUPPORTED,
                 "output B stores only some of its elements, and not at the same places as the first output A");
    TEST_REFUSED(EXPLAIN("C(i,j) = 1; B(i,j) = 2;", DCL_OUT(C), DCL_OUT(B)), DCL_ERR_UNSUPPORTED,
                 "make B with the map of C, or write it by a body of its own");
    TEST_REFUSED(EXPLAIN("A(i,j) = 1; T(i,j) = 2;", DCL_OUT(A), DCL_OUT(T)), DCL_ERR_UNSUPPORTED,
                 "output T stores only some of its elements");
    TEST_REFUSED(EXPLAIN("A(i,j) = 1; D(j,i) = 2;", DCL_OUT(A), DCL_OUT(D)), DCL_ERR_UNSUPPORTED,
                 "written at the same subscripts");
    TEST_OK(EXPLAIN("A(i,j) = 1; D(i,j) = 2;", DCL_OUT(A), DCL_OUT(D)));
    cr_expect_eq(planned.tasks, 2);
    TEST_OK(EXPLAIN("A(i,j) = 1; C(i,j) = 2;", DCL_OUT(A), DCL_OUT(C)));
    TEST_REFUSED(dcl_swap(A, D), DCL_ERR_INVALID, "the arrays differ in grid, type or map");
    dcl_clear_error(cluster);
    cr_expect_null(dcl_agile(dcl_grid_1d(DCL_INT32, 8), half));
    cr_expect(strstr(dcl_error(), "dcl_agile: the map stores every so many-th element of 2 axes") != NULL, "%s",
              dcl_error());
    dcl_clear_error(cluster);
    dcl_array *all[] = {A, B, C, T, D};
    for (int n = 0; n < 5; n++)
        dcl_release(all[n]);
    dcl_map *made[] = {half, other, dense, rest};
    for (int n = 0; n < 4; n++)
        dcl_release(made[n]);
    TEST_OK(dcl_close(cluster));
}

/* Sentences that propose another map for B, which has this one. */
static int64_t advice_on(dcl_cluster *cluster, const char *map)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 512, 512);
    dcl_map *rows = dcl_map_parse(cluster, "block,*"), *other = dcl_map_parse(cluster, map);
    dcl_array *C = dcl_agile(grid, rows), *B = dcl_agile(grid, other);
    dcl_report *report = dcl_explain_report(cluster, "C(i,j) = B(j,i);", DCL_OUT(C), DCL_IN(B));
    cr_assert_not_null(report, "%s", dcl_error());
    int64_t sentences = 0;
    for (int n = 0; n < report->advice_count; n++)
        sentences += strstr(report->advice[n], "' for B,") != NULL;
    dcl_report_release(report);
    dcl_release(B);
    dcl_release(C);
    dcl_release(rows);
    dcl_release(other);
    return sentences;
}

/* What a map stores was chosen: no advice is to store more. */
Test(partial_planned, advice_leaves_their_maps_alone)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    cr_expect_eq(advice_on(cluster, "block,*"), 1);
    cr_expect_eq(advice_on(cluster, "block,*;every=2x1"), 0);
    TEST_OK(dcl_close(cluster));
}

/* An output that is written only where the first one is stored is not overwritten: its failure stays. */
Test(partial_on_device, what_is_written_in_part_is_not_healed)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "block;every=2"), *dense = dcl_map_block(cluster);
    dcl_array *P = dcl_agile(dcl_grid_1d(DCL_INT32, 8), map), *C = dcl_agile(dcl_grid_1d(DCL_INT32, 8), dense);
    int32_t found[8];
    test_fail(P);
    test_fail(C);
    TEST_OK(dcl_forall(cluster, "P(i) = 1; C(i) = 2;", DCL_OUT(P), DCL_OUT(C)));
    TEST_OK(dcl_read(P, NULL, found, NULL)); /* all that it stores was overwritten */
    cr_expect(found[0] == 1 && found[1] == 0);
    TEST_REFUSED(dcl_read(C, NULL, found, NULL), DCL_ERR_DEVICE, "cannot read an array whose contents have failed");
    dcl_clear_error(cluster);
    dcl_release(P);
    dcl_release(C);
    dcl_release(map);
    dcl_release(dense);
    TEST_OK(dcl_close(cluster));
}

/* test/runtime/view_test.c - views through the whole library: each kind read, written, filled, in bodies, in files; what
 * follows the array behind, and what is refused. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cluster.h"
#include "support/folder.h"
#include "support/nodes.h"

TestSuite(view_on_device, .timeout = TEST_SECONDS, .init = test_make_folder, .fini = test_remove_folder);
TestSuite(view_planned, .timeout = TEST_SECONDS);

/* ---- each kind with each operation -------------------------------------------------------------------------------- */

enum { ROWS = 3, COLUMNS = 4, ELEMENTS = ROWS * COLUMNS, MOST_SEEN = 24 };

/* Views of the array [10:13, -1:3] of 0 1 2 3 / 4 5 6 7 / 8 9 10 11, its rows dealt to two nodes. */
struct kind {
    char name[24];
    dcl_array *(*make)(dcl_array *A);
    int rank, origin[3], extent[3];
    int seen[MOST_SEEN]; /* elements in row-major order of the view */
    bool broadcast;
    bool rows; /* whole rows are dealt: other shapes need that */
};

static dcl_array *make_transpose(dcl_array *A) { return dcl_transpose(A); }
static dcl_array *make_permute(dcl_array *A) { return dcl_permute(A, (int[]){1, 0}); }
static dcl_array *make_sub(dcl_array *A)
{
    dcl_box box = dcl_box_nd(2, (int64_t[]){11, 0}, (int64_t[]){2, 3});
    return dcl_sub(A, &box);
}
static dcl_array *make_shift(dcl_array *A) { return dcl_shift(A, (int64_t[]){-10, 1}); }
static dcl_array *make_take(dcl_array *A) { return dcl_take(A, 1, 2); }
static dcl_array *make_slice(dcl_array *A)
{
    return dcl_slice(A, (int64_t[]){12, 2}, (int64_t[]){3, 2}, (int64_t[]){-1, -2});
}
static dcl_array *make_every_second(dcl_array *A)
{
    return dcl_slice(A, (int64_t[]){10, -1}, (int64_t[]){2, 2}, (int64_t[]){2, 2});
}
static dcl_array *make_broadcast(dcl_array *A) { return dcl_broadcast(A, 1, 2); }
static dcl_array *make_spread_row(dcl_array *A)
{
    dcl_array *row = dcl_take(A, 0, 11), *spread = dcl_broadcast(row, 1, 3);
    dcl_release(row);
    return spread;
}
static dcl_array *make_view_of_view(dcl_array *A)
{
    dcl_array *across = dcl_transpose(A),
              *part = dcl_slice(across, (int64_t[]){2, 10}, (int64_t[]){3, 2}, (int64_t[]){-1, 2});
    dcl_array *moved = dcl_shift(part, (int64_t[]){5, -5});
    dcl_release(across);
    dcl_release(part);
    return moved;
}

static dcl_array *make_flat(dcl_array *A) { return dcl_flatten(A); }
static dcl_array *make_reshaped(dcl_array *A)
{
    dcl_array *moved = dcl_shift(A, (int64_t[]){5, 5}), *reshaped = dcl_reshape(moved, 3, (int64_t[]){3, 2, 2});
    dcl_release(moved);
    return reshaped;
}
static dcl_array *make_part_of_flat(dcl_array *A)
{
    dcl_array *pairs = dcl_reshape(A, 2, (int64_t[]){6, 2}), *flat = dcl_flatten(pairs);
    dcl_array *part = dcl_slice(flat, (int64_t[]){11}, (int64_t[]){4}, (int64_t[]){-3});
    dcl_release(pairs);
    dcl_release(flat);
    return part;
}

static const struct kind kinds[] = {
    {"flat", make_flat, 1, {0}, {12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, false, true},
    {"another shape", make_reshaped, 3, {0, 0, 0}, {3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, false, true},
    {"a part of it, flat", make_part_of_flat, 1, {0}, {4}, {11, 8, 5, 2}, false, true},
    {"transpose", make_transpose, 2, {-1, 10}, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, false, false},
    {"permute", make_permute, 2, {-1, 10}, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, false, false},
    {"sub", make_sub, 2, {11, 0}, {2, 3}, {5, 6, 7, 9, 10, 11}, false, false},
    {"shift", make_shift, 2, {0, 0}, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, false, false},
    {"take", make_take, 1, {10}, {3}, {3, 7, 11}, false, false},
    {"slice backwards", make_slice, 2, {0, 0}, {3, 2}, {11, 9, 7, 5, 3, 1}, false, false},
    {"every second", make_every_second, 2, {0, 0}, {2, 2}, {0, 2, 8, 10}, false, false},
    {"broadcast",
     make_broadcast,
     3,
     {10, 0, -1},
     {3, 2, 4},
     {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11},
     true,
     false},
    {"a row for all", make_spread_row, 2, {-1, 0}, {4, 3}, {4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7}, true, false},
    {"view of a view", make_view_of_view, 2, {5, -5}, {3, 2}, {3, 11, 2, 10, 1, 9}, false, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct scene {
    dcl_cluster *cluster;
    dcl_map *map;
    dcl_array *A, *V;
    const struct kind *kind;
    int64_t count;
};

static dcl_array *base_array(dcl_map *map)
{
    dcl_array *A = dcl_agile(dcl_grid_nd(DCL_INT32, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){10, -1}), map);
    cr_assert_not_null(A, "%s", dcl_error());
    test_count_up(A, 0, 1);
    return A;
}

static struct scene open_scene(const struct kind *kind, const char *move)
{
    dcl_config config = test_config(2);
    config.transfer = move;
    struct scene scene = {.cluster = test_open(&config), .kind = kind};
    scene.map = dcl_map_parse(scene.cluster, kind->rows ? "rows:cyclic(1x4)" : "rows:cyclic(1x2)");
    scene.A = base_array(scene.map);
    scene.V = kind->make(scene.A);
    cr_assert_not_null(scene.V, "%s: %s", kind->name, dcl_error());
    dcl_grid grid = dcl_grid_of(scene.V);
    scene.count = dcl_grid_count(&grid);
    return scene;
}

static void close_scene(struct scene *scene)
{
    cr_expect_eq(dcl_status_of(scene->cluster), DCL_OK, "%s: %s", scene->kind->name, dcl_error());
    dcl_release(scene->V);
    dcl_release(scene->A);
    dcl_release(scene->map);
    TEST_OK(dcl_close(scene->cluster));
}

/* What the base holds after `written` has been written where the view shows it: the view's element v is written[v]. */
static void expect_base(struct scene *scene, const char *what, const int32_t written[])
{
    int32_t expected[ELEMENTS], found[ELEMENTS];
    for (int e = 0; e < ELEMENTS; e++)
        expected[e] = e;
    for (int64_t v = 0; v < scene->count && written != NULL; v++)
        expected[scene->kind->seen[v]] = written[v];
    TEST_OK(dcl_read(scene->A, NULL, found, NULL));
    for (int e = 0; e < ELEMENTS; e++)
        cr_expect_eq(found[e], expected[e], "%s, %s: element %d is %d; expected %d", scene->kind->name, what, e,
                     found[e], expected[e]);
}

static void expect_elements(const struct scene *scene, const char *what, const int32_t found[], int plus)
{
    for (int64_t v = 0; v < scene->count; v++)
        cr_expect_eq(found[v], scene->kind->seen[v] + plus, "%s, %s: element %" PRId64 " is %d; expected %d",
                     scene->kind->name, what, v, found[v], scene->kind->seen[v] + plus);
}

static void try_reading(struct scene *scene)
{
    int32_t found[2 * MOST_SEEN];
    int64_t strides[3], step = -2;
    dcl_grid grid = dcl_grid_of(scene->V);
    cr_expect_eq(grid.rank, scene->kind->rank);
    for (int d = 0; d < grid.rank; d++)
        cr_expect(grid.origin[d] == scene->kind->origin[d] && grid.extent[d] == scene->kind->extent[d],
                  "%s: axis %d of the grid", scene->kind->name, d);
    TEST_OK(dcl_read(scene->V, NULL, found, NULL));
    expect_elements(scene, "read", found, 0);
    /* from behind, every second place, first axis fastest */
    for (int d = 0; d < grid.rank; d++) {
        strides[d] = step;
        step *= grid.extent[d];
    }
    TEST_OK(dcl_read(scene->V, NULL, found + 2 * scene->count - 2, strides));
    for (int64_t v = 0, left = 0; v < scene->count; v++, left = v) {
        int64_t at = 2 * scene->count - 2;
        for (int d = grid.rank - 1; d >= 0; left /= grid.extent[d--])
            at += left % grid.extent[d] * strides[d];
        cr_expect_eq(found[at], scene->kind->seen[v], "%s, read from behind: element %" PRId64, scene->kind->name, v);
    }
}

static void count_down(struct scene *scene, int32_t elements[])
{
    for (int64_t v = 0; v < scene->count; v++)
        elements[v] = (int32_t)(-1 - v);
}

static void try_writing(struct scene *scene)
{
    int32_t written[MOST_SEEN], seven = 7;
    count_down(scene, written);
    if (scene->kind->broadcast) {
        TEST_REFUSED(dcl_write(scene->V, NULL, written, NULL), DCL_ERR_INVALID, "a view with a broadcast axis");
        TEST_REFUSED(dcl_fill(scene->V, &seven), DCL_ERR_INVALID, "a view with a broadcast axis");
        dcl_clear_error(scene->cluster);
        test_count_up(scene->A, 0, 1);
        return;
    }
    TEST_OK(dcl_write(scene->V, NULL, written, NULL));
    expect_base(scene, "write", written);
    test_count_up(scene->A, 0, 1);
    for (int64_t v = 0; v < scene->count; v++)
        written[v] = seven;
    TEST_OK(dcl_fill(scene->V, &seven));
    expect_base(scene, "fill", written);
    test_count_up(scene->A, 0, 1);
}

static dcl_status run(struct scene *scene, const char *const bodies[3], dcl_array *C, dcl_arg V)
{
    dcl_counters before = test_counters(scene->cluster, DCL_ALL_NODES), planned;
    const char *body = bodies[scene->kind->rank - 1];
    dcl_arg args[] = {dcl_arg_array(V.access == DCL_ACCESS_IN ? DCL_ACCESS_OUT : DCL_ACCESS_IN, "C", C), V};
    dcl_status status = dcl_call_explain(DCL_CALL_BODY_N(scene->cluster, NULL, body, 2, args), DCL_ALL_NODES, &planned);
    if (status == DCL_OK)
        status = dcl_forall_n(scene->cluster, body, 2, args);
    if (status != DCL_OK)
        return status;
    dcl_counters after = test_counters(scene->cluster, DCL_ALL_NODES);
    cr_expect(after.tasks - before.tasks == planned.tasks &&
                  after.bytes_moved - before.bytes_moved == planned.bytes_moved &&
                  after.blocks_moved - before.blocks_moved == planned.blocks_moved,
              "%s: explained are %" PRId64 " tasks, %" PRId64 " bytes, %" PRId64 " blocks; counted %" PRId64
              ", %" PRId64 ", %" PRId64,
              scene->kind->name, planned.tasks, planned.bytes_moved, planned.blocks_moved, after.tasks - before.tasks,
              after.bytes_moved - before.bytes_moved, after.blocks_moved - before.blocks_moved);
    return DCL_OK;
}

static void try_bodies(struct scene *scene)
{
    static const char *const in[] = {"C(i) = V(i) + 100;", "C(i,j) = V(i,j) + 100;", "C(i,j,k) = V(i,j,k) + 100;"};
    static const char *const out[] = {"V(i) = C(i) - 1;", "V(i,j) = C(i,j) - 1;", "V(i,j,k) = C(i,j,k) - 1;"};
    dcl_map *block = dcl_map_block(scene->cluster);
    dcl_array *C = dcl_agile(dcl_grid_of(scene->V), block);
    int32_t found[MOST_SEEN], written[MOST_SEEN];
    TEST_OK(run(scene, in, C, dcl_arg_array(DCL_ACCESS_IN, "V", scene->V)));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    expect_elements(scene, "read by a body", found, 100);
    if (scene->kind->broadcast) {
        TEST_REFUSED(run(scene, out, C, dcl_arg_array(DCL_ACCESS_OUT, "V", scene->V)), DCL_ERR_INVALID,
                     "output V is a view with a broadcast axis");
        dcl_clear_error(scene->cluster);
    } else {
        count_down(scene, written);
        TEST_OK(dcl_write(C, NULL, written, NULL));
        TEST_OK(run(scene, out, C, dcl_arg_array(DCL_ACCESS_OUT, "V", scene->V)));
        for (int64_t v = 0; v < scene->count; v++)
            written[v]--;
        expect_base(scene, "written by a body", written);
    }
    test_count_up(scene->A, 0, 1);
    dcl_release(C);
    dcl_release(block);
}

static void try_files(struct scene *scene, bool fortran_order)
{
    char path[TEST_PATH];
    int32_t found[MOST_SEEN], written[MOST_SEEN];
    dcl_map *block = dcl_map_block(scene->cluster);
    dcl_array *C = dcl_agile(dcl_grid_of(scene->V), block);
    test_path(path, "view.npy");
    TEST_OK(dcl_save_npy_order(scene->V, path, fortran_order));
    TEST_OK(dcl_load_npy(C, path));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    expect_elements(scene, "saved", found, 0);
    count_down(scene, written);
    TEST_OK(dcl_write(C, NULL, written, NULL));
    TEST_OK(dcl_save_npy_order(C, path, fortran_order));
    if (scene->kind->broadcast) {
        TEST_REFUSED(dcl_load_npy(scene->V, path), DCL_ERR_INVALID, "a view with a broadcast axis");
        dcl_clear_error(scene->cluster);
    } else {
        TEST_OK(dcl_load_npy(scene->V, path));
        expect_base(scene, "loaded", written);
    }
    test_count_up(scene->A, 0, 1);
    dcl_release(C);
    dcl_release(block);
}

ParameterizedTestParameters(view_on_device, kinds)
{
    static int numbers[KINDS];
    for (int k = 0; k < KINDS; k++)
        numbers[k] = k;
    return cr_make_param_array(int, numbers, KINDS);
}

ParameterizedTest(int *number, view_on_device, kinds)
{
    for (int mode = 0; mode < 2; mode++) {
        struct scene scene = open_scene(&kinds[*number], mode == 0 ? "auto" : "send");
        try_reading(&scene);
        try_writing(&scene);
        try_bodies(&scene);
        try_files(&scene, mode == 1);
        expect_base(&scene, "at the end", NULL);
        close_scene(&scene);
    }
}

/* ---- what follows the array behind --------------------------------------------------------------------------------- */

Test(view_on_device, follows_its_array)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = base_array(map), *B = base_array(map), *T = dcl_transpose(A);
    int32_t found[ELEMENTS];
    test_count_up(B, 100, 1);
    TEST_OK(dcl_swap(A, B));
    TEST_OK(dcl_read(T, NULL, found, NULL));
    cr_expect(found[0] == 100 && found[1] == 104, "%d, %d", found[0], found[1]);
    cr_expect(dcl_map_of(T) == dcl_map_of(A) && dcl_cluster_of(T) == cluster);
    /* a released array lives on behind its views, and views behind views do not need the ones before */
    dcl_array *row = dcl_take(T, 0, 0), *T2 = dcl_transpose(T);
    dcl_release(A);
    dcl_release(T);
    TEST_OK(dcl_read(row, NULL, found, NULL));
    cr_expect(found[0] == 101 && found[1] == 105 && found[2] == 109);
    dcl_release(row);
    TEST_OK(dcl_read(T2, NULL, found, NULL));
    cr_expect_eq(found[11], 111);
    int64_t held = test_counters(cluster, DCL_ALL_NODES).storage_bytes;
    dcl_release(T2);
    TEST_OK(dcl_wait(cluster));
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).storage_bytes, held / 2, "the array behind has gone with them");
    dcl_release(B);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* Also to another map; but there another shape may not be had without moving elements. */
Test(view_on_device, follows_its_array_to_another_map)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map[] = {dcl_map_parse(cluster, "rows:cyclic(1x4)"), dcl_map_parse(cluster, "rows:block(2x4)"),
                      dcl_map_parse(cluster, "*,cyclic(1)")};
    dcl_array *A = base_array(map[0]), *T = dcl_transpose(A), *flat = dcl_flatten(A), *B = base_array(map[2]),
              *across = dcl_transpose(B);
    int32_t found[ELEMENTS], zero = 0;
    for (int n = 1; n < 3; n++) {
        TEST_OK(dcl_remap(A, map[n]));
        cr_expect(dcl_map_of(T) == dcl_map_of(A));
        TEST_OK(dcl_fill(B, &zero));
        TEST_OK(dcl_copy(T, across));
        TEST_OK(dcl_read(B, NULL, found, NULL));
        for (int e = 0; e < ELEMENTS; e++)
            cr_expect_eq(found[e], e, "map %d: element %d is %d", n, e, found[e]);
        memset(found, -1, sizeof found);
        if (n == 1)
            TEST_OK(dcl_read(flat, NULL, found, NULL));
        else
            TEST_REFUSED(dcl_read(flat, NULL, found, NULL), DCL_ERR_UNSUPPORTED, "the map divides axis 1");
        cr_expect_eq(found[11], n == 1 ? 11 : -1);
    }
    dcl_clear_error(cluster);
    dcl_map *line = dcl_map_block(cluster);
    dcl_array *C = dcl_agile(dcl_grid_of(flat), line), *all[] = {flat, T, A, across, B};
    TEST_REFUSED(dcl_forall(cluster, "C(i) = flat(i);", DCL_OUT(C), DCL_IN(flat)), DCL_ERR_UNSUPPORTED,
                 "divides axis 1");
    dcl_release(C);
    dcl_release(line);
    for (int n = 0; n < 5; n++)
        dcl_release(all[n]);
    for (int n = 0; n < 3; n++)
        dcl_release(map[n]);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}

/* Views that the program forgets end with the cluster. */
Test(view_on_device, ends_with_the_cluster)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = base_array(map), *T = dcl_transpose(A);
    cr_assert_not_null(dcl_take(T, 0, 0));
    dcl_release(A);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

Test(view_on_device, writing_all_of_a_view_heals_what_it_covers)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = base_array(map), *B = base_array(map), *T = dcl_transpose(A), *row = dcl_take(A, 0, 11);
    int32_t seven = 7, found[ELEMENTS];
    test_fail(A);
    TEST_REFUSED(dcl_read(T, NULL, found, NULL), DCL_ERR_DEVICE, "cannot read an array whose contents have failed");
    dcl_clear_error(cluster);
    TEST_OK(dcl_fill(row, &seven));
    TEST_REFUSED(dcl_read(row, NULL, found, NULL), DCL_ERR_DEVICE, "cannot read an array whose contents have failed");
    dcl_clear_error(cluster);
    TEST_OK(dcl_forall(cluster, "T(i,j) = i + 10 * j;", DCL_OUT(T)));
    TEST_OK(dcl_read(A, NULL, found, NULL));
    cr_expect(found[0] == 99 && found[11] == 122, "%d, %d", found[0], found[11]);
    dcl_array *all[] = {row, T, A, B};
    for (int n = 0; n < 4; n++)
        dcl_release(all[n]);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* ---- several views of one array ------------------------------------------------------------------------------------ */

Test(view_on_device, views_without_a_common_element)
{
    dcl_cluster *cluster = open_nodes(3);
    dcl_map *map = dcl_map_parse(cluster, "cyclic(3)");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 40), map);
    dcl_array *even = dcl_slice(A, (int64_t[]){0}, (int64_t[]){20}, (int64_t[]){2});
    dcl_array *odd = dcl_slice(A, (int64_t[]){39}, (int64_t[]){20}, (int64_t[]){-2});
    int32_t found[40];
    for (int mode = 0; mode < 3; mode++) {
        test_count_up(A, 0, 1);
        if (mode == 0) /* views of it */
            TEST_OK(dcl_forall(cluster, "even(i) = odd(i) + 100;", DCL_OUT(even), DCL_IN(odd)));
        else if (mode == 1) /* both are written */
            TEST_OK(dcl_forall(cluster, "even(i) = i; odd(i) = -i;", DCL_OUT(even), DCL_OUT(odd)));
        else { /* a part of the indices: the array, and a view of it */
            dcl_box box = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){10});
            TEST_OK(dcl_forall_over(cluster, &box, "even(i) = A(i + 20);", DCL_OUT(even), DCL_IN(A)));
        }
        TEST_OK(dcl_read(A, NULL, found, NULL));
        for (int i = 0; i < 40; i++) {
            int one = i % 2 == 0 ? 139 - i : i, two = i % 2 == 0 ? i / 2 : -(39 - i) / 2;
            int three = i % 2 == 0 && i < 20 ? i / 2 + 20 : i, expected = mode == 0 ? one : mode == 1 ? two : three;
            cr_expect_eq(found[i], expected, "mode %d, element %d is %d; expected %d", mode, i, found[i], expected);
        }
    }
    dcl_release(odd);
    dcl_release(even);
    dcl_release(A);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* ---- reads outside ------------------------------------------------------------------------------------------------- */

/* The index in the report is the view's; on a broadcast axis, too, there is an outside. */
Test(view_on_device, reports_its_own_indices)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 8), map), *C = dcl_agile(dcl_grid_1d(DCL_INT32, 4), map);
    dcl_array *V = dcl_slice(A, (int64_t[]){6}, (int64_t[]){4}, (int64_t[]){-2}), *W = dcl_broadcast(A, 1, 4);
    int32_t found[4];
    test_count_up(A, 0, 1);
    TEST_OK(dcl_forall(cluster, "C(i) = V(i + 1);", DCL_OUT(C), DCL_IN(V)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "V(4)");
    dcl_clear_error(cluster);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_expect(found[0] == 4 && found[1] == 2 && found[2] == 0 && found[3] == 0, "0 beyond the view's edge");
    TEST_OK(dcl_forall(cluster, "C(i) = V(i - 1);", DCL_OUT(C), DCL_IN(V)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "V(-1)");
    dcl_clear_error(cluster);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_expect(found[0] == 0 && found[1] == 6 && found[3] == 2, "element 8 of the array is none");
    TEST_OK(dcl_forall(cluster, "C(i) = W(i + 2, i + 1);", DCL_OUT(C), DCL_IN(W)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "W(5, 4)");
    dcl_clear_error(cluster);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_expect(found[0] == 2 && found[2] == 4 && found[3] == 0);
    dcl_release(W);
    dcl_release(V);
    dcl_release(C);
    dcl_release(A);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* Declared reaches follow the view's axes: a row of the transposed is a column. */
Test(view_on_device, declared_reaches)
{
    static const char *const body = "int s = 0; for (int n = 0; n < 3; n++) s += T(i, 10 + n); C(i) = s;";
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "*,block"), *line = dcl_map_block(cluster);
    dcl_array *A = base_array(map), *T = dcl_transpose(A);
    dcl_array *C = dcl_agile(dcl_grid_nd(DCL_INT32, 1, (int64_t[]){4}, (int64_t[]){-1}), line);
    dcl_counters planned;
    int32_t found[4];
    TEST_OK(dcl_explain(cluster, &planned, body, DCL_OUT(C), DCL_IN_ROWS(T)));
    cr_expect_eq(planned.bytes_moved, 0, "each node has its columns: %" PRId64, planned.bytes_moved);
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN_ROWS(T)));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < 4; i++)
        cr_expect_eq(found[i], 12 + 3 * i, "column %d has the sum %d", i, found[i]);
    dcl_array *object[] = {C, T, A};
    for (int n = 0; n < 3; n++)
        dcl_release(object[n]);
    dcl_release(map);
    dcl_release(line);
    TEST_OK(dcl_close(cluster));
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

#define NO_VIEW(call, status, words)                                                       \
    do {                                                                                   \
        cr_expect_null((call), "%s", #call);                                               \
        cr_expect_eq(dcl_status_of(NULL), (status), "%s", #call);                          \
        cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s stays in the cluster", #call);    \
        cr_expect(strstr(dcl_error(), (words)) != NULL, "%s: \"%s\"", #call, dcl_error()); \
        dcl_clear_error(cluster);                                                          \
    } while (0)

Test(view_planned, wrong_views)
{
    dcl_cluster *cluster = dcl_open_plan(3);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_nd(DCL_INT32, 2, (int64_t[]){3, 4}, (int64_t[]){10, -1}), map);
    dcl_map *across = dcl_map_parse(cluster, "*,block");
    dcl_array *row = dcl_take(A, 0, 11), *columns = dcl_agile(dcl_grid_of(A), across);
    dcl_box out = dcl_box_nd(2, (int64_t[]){12, 0}, (int64_t[]){2, 1}),
            box = dcl_box_nd(2, out.start, (int64_t[]){1, 2});
    box.stride[1] = 2;
    NO_VIEW(dcl_permute(A, NULL), DCL_ERR_INVALID, "dcl_permute: axes is NULL");
    NO_VIEW(dcl_permute(A, (int[]){1, 1}), DCL_ERR_INVALID, "dcl_permute: axes[1] is 1 again");
    NO_VIEW(dcl_slice(A, NULL, (int64_t[]){1, 1}, NULL), DCL_ERR_INVALID, "dcl_slice: start is NULL");
    NO_VIEW(dcl_slice(A, (int64_t[]){10, 0}, NULL, NULL), DCL_ERR_INVALID, "dcl_slice: count is NULL");
    NO_VIEW(dcl_slice(A, (int64_t[]){10, 0}, (int64_t[]){1, 1}, (int64_t[]){1, 0}), DCL_ERR_INVALID, "stride[1] is 0");
    NO_VIEW(dcl_slice(A, (int64_t[]){10, 0}, (int64_t[]){4, 1}, NULL), DCL_ERR_RANGE, "axis 0 of the slice");
    NO_VIEW(dcl_sub(A, NULL), DCL_ERR_INVALID, "dcl_sub: the box is NULL");
    NO_VIEW(dcl_sub(A, &box), DCL_ERR_INVALID, "use dcl_slice(), with stride 2");
    NO_VIEW(dcl_sub(A, &out), DCL_ERR_RANGE, "axis 0 runs from 12 to 13");
    NO_VIEW(dcl_shift(A, NULL), DCL_ERR_INVALID, "dcl_shift: by is NULL");
    NO_VIEW(dcl_shift(A, (int64_t[]){0, INT64_MAX}), DCL_ERR_RANGE, "dcl_shift: by[1] is 9223372036854775807");
    NO_VIEW(dcl_broadcast(A, -1, 3), DCL_ERR_INVALID, "dcl_broadcast: axis is -1; expected 0..2");
    NO_VIEW(dcl_broadcast(A, 0, -3), DCL_ERR_INVALID, "extent[0] is -3");
    NO_VIEW(dcl_broadcast(A, 0, INT64_MAX / 4), DCL_ERR_INVALID, "exceeds");
    NO_VIEW(dcl_take(A, 2, 0), DCL_ERR_INVALID, "dcl_take: axis is 2; expected 0..1");
    NO_VIEW(dcl_take(A, 1, 3), DCL_ERR_RANGE, "index is 3; expected one of axis 1: from -1 to below 3");
    NO_VIEW(dcl_take(row, 0, 0), DCL_ERR_INVALID, "the array has one axis");
    NO_VIEW(dcl_reshape(A, 0, (int64_t[]){12}), DCL_ERR_INVALID, "dcl_reshape: rank is 0; expected 1..8");
    NO_VIEW(dcl_reshape(A, 1, NULL), DCL_ERR_INVALID, "dcl_reshape: extent is NULL");
    NO_VIEW(dcl_reshape(A, 1, (int64_t[]){-12}), DCL_ERR_INVALID, "extent[0] is -12");
    NO_VIEW(dcl_reshape(A, 2, (int64_t[]){3, 5}), DCL_ERR_INVALID, "15 elements and the array 12; expected as many");
    NO_VIEW(dcl_reshape(columns, 1, (int64_t[]){12}), DCL_ERR_UNSUPPORTED, "the map divides axis 1");
    NO_VIEW(dcl_flatten(columns), DCL_ERR_UNSUPPORTED, "dcl_flatten: the map divides axis 1");
    NO_VIEW(dcl_flatten(row), DCL_ERR_UNSUPPORTED, "a view that leaves out, repeats or reorders elements");
    cr_expect_null(dcl_transpose(NULL));
    dcl_release(columns);
    dcl_release(row);
    dcl_release(A);
    dcl_release(map);
    dcl_release(across);
    TEST_OK(dcl_close(cluster));
}

Test(view_planned, wrong_uses)
{
    dcl_cluster *cluster = dcl_open_plan(3);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid square = dcl_grid_2d(DCL_INT32, 8, 8);
    dcl_map *rows = dcl_map_parse(cluster, "rows:cyclic(1x8)");
    dcl_array *A = dcl_agile(square, map), *B = dcl_agile(square, map), *T = dcl_transpose(A);
    dcl_array *whole = dcl_agile(square, rows), *wide = dcl_broadcast(A, 0, 3), *row = dcl_take(A, 0, 1);
    dcl_box left = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){8, 5});
    dcl_array *part = dcl_sub(A, &left), *far = dcl_slice(A, (int64_t[]){0, 0}, (int64_t[]){4, 8}, (int64_t[]){2, 1});
    dcl_counters planned;
    TEST_REFUSED(dcl_swap(A, T), DCL_ERR_INVALID, "b is a view; expected two arrays made by dcl_agile()");
    TEST_REFUSED(dcl_swap(T, A), DCL_ERR_INVALID, "a is a view");
#define EXPLAIN(body, ...) dcl_explain(cluster, &planned, body, __VA_ARGS__)
    TEST_REFUSED(EXPLAIN("A(i,j) = T(i,j);", DCL_OUT(A), DCL_IN(T)), DCL_ERR_BODY,
                 "T and A are the same array, written and used at different subscripts");
    TEST_REFUSED(EXPLAIN("A(i,j) = T(i,j);", DCL_OUT(A), DCL_IN(T)), DCL_ERR_BODY,
                 "or through views that have no element in common");
    TEST_REFUSED(EXPLAIN("A(i,j) = T(j,i) + 1;", DCL_OUT(A), DCL_IN(T)), DCL_ERR_BODY,
                 "T and A are the same array, which is written; give it one name, with DCL_INOUT");
    TEST_REFUSED(EXPLAIN("B(i,j) = 1; T(i,j) = 2; A(i,j) = 3;", DCL_OUT(B), DCL_OUT(T), DCL_OUT(A)), DCL_ERR_BODY,
                 "are the same array");
    dcl_array *flat = dcl_flatten(whole);
    cr_assert_not_null(flat, "%s", dcl_error());
    TEST_REFUSED(EXPLAIN("whole(i,j) = flat(8 * i + j);", DCL_OUT(whole), DCL_IN(flat)), DCL_ERR_BODY,
                 "flat and whole are the same array, written and used at different subscripts");
    TEST_OK(EXPLAIN("B(i,j) = flat(8 * i + j) + whole(j,i);", DCL_OUT(B), DCL_IN(flat), DCL_IN(whole)));
    TEST_REFUSED(EXPLAIN("part(i,j) = A(i, j + 4);", DCL_OUT(part), DCL_IN(A)), DCL_ERR_BODY, "are the same array");
    TEST_REFUSED(EXPLAIN("part(i,j) = B(i,j) + row(j);", DCL_OUT(part), DCL_IN(B), DCL_IN_ALL(row)), DCL_ERR_BODY,
                 "row and part are the same array");
    TEST_REFUSED(EXPLAIN("wide(i,j,k) = 1;", DCL_OUT(wide)), DCL_ERR_INVALID, "output wide is a view with a broadcast");
    TEST_REFUSED(EXPLAIN("B(i,j) = 1; part(i,j) = 2;", DCL_OUT(B), DCL_OUT(part)), DCL_ERR_INVALID,
                 "axis 1 of output part runs 0..4; expected 0..7");
    TEST_REFUSED(EXPLAIN("B(i,j) = T(i);", DCL_OUT(B), DCL_IN(T)), DCL_ERR_BODY, "T");
    TEST_REFUSED(EXPLAIN("B(i,j) = far(6000000000000000000 * i, j);", DCL_OUT(B), DCL_IN(far)), DCL_ERR_BODY,
                 "a subscript of far overflows 64 bits on the array behind this view");
    dcl_box outside = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){5, 8});
    TEST_REFUSED(dcl_call_explain(DCL_CALL_BODY_N(cluster, &outside, "far(i,j) = 1;", 1,
                                                  &(dcl_arg){DCL_ACCESS_OUT, .name = "far", .array = far}),
                                  DCL_ALL_NODES, &planned),
                 DCL_ERR_RANGE, "axis 0 runs from 0 to 4");
    TEST_REFUSED(dcl_fill(T, &(int32_t){0}), DCL_ERR_UNSUPPORTED, "only plans");
    dcl_clear_error(cluster);
    dcl_array *all[] = {flat, whole, far, part, row, wide, T, B, A};
    for (int n = 0; n < 9; n++)
        dcl_release(all[n]);
    dcl_release(rows);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* ---- other shapes, moved ------------------------------------------------------------------------------------------ */

/* The error of a copy that fails is that of the constructor: what is given the NULL repeats it. */
Test(view_on_device, reshape_copy_says_why_it_is_null)
{
    dcl_cluster *cluster = open_nodes(2), *other = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 24));
    dcl_array *empty = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 0));
    dcl_map *foreign = dcl_map_block(other);
    cr_expect_null(dcl_reshape_copy(A, 2, (int64_t[]){4, 6}, foreign));
    cr_expect(strstr(dcl_error(), "dcl_reshape_copy: the map is of another cluster") != NULL, "%s", dcl_error());
    cr_expect_null(dcl_reshape_copy(empty, 2, (int64_t[]){0, 6}, foreign));
    cr_expect(strstr(dcl_error(), "dcl_reshape_copy: the map is of another cluster") != NULL, "%s", dcl_error());
    dcli_array_spoil(TEST_INSIDE(A), DCL_ERR_FILE);
    dcl_array *B = dcl_reshape_copy(A, 2, (int64_t[]){4, 6}, NULL);
    cr_expect_null(B);
    cr_expect(strstr(dcl_error(), "dcl_reshape_copy: ") != NULL, "%s", dcl_error());
    TEST_REFUSED(dcl_fill(A, NULL), DCL_ERR_INVALID, "NULL"); /* another error meanwhile */
    TEST_REFUSED(dcl_read(B, NULL, (int32_t[24]){0}, NULL), DCL_ERR_FILE, "dcl_reshape_copy: ");
    dcl_release(foreign);
    dcl_close(other);
    dcl_close(cluster);
}

/* What is refused as a view is refused on any number of nodes alike, and copied. */
static void reshape_copied(int nodes, const char *from, const char *to)
{
    enum { ROWS = 6, COLUMNS = 1024, WIDE = 1536 };
    static int32_t before[ROWS * COLUMNS], after[ROWS * COLUMNS];
    dcl_config config = test_config(nodes);
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_parse(cluster, from), *other = to != NULL ? dcl_map_parse(cluster, to) : NULL;
    dcl_array *A = dcl_agile(dcl_grid_nd(DCL_INT32, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){-2, 5}), map);
    for (int e = 0; e < ROWS * COLUMNS; e++)
        before[e] = 7 * e + 1;
    TEST_OK(dcl_write(A, NULL, before, NULL));
    cr_expect_null(dcl_reshape(A, 2, (int64_t[]){4, WIDE}), "%s on %d nodes", from, nodes);
    cr_expect(strstr(dcl_error(), "dcl_reshape_copy()") != NULL, "%s on %d nodes: %s", from, nodes, dcl_error());
    dcl_clear_error(cluster);
    dcl_array *B = dcl_reshape_copy(A, 2, (int64_t[]){4, WIDE}, other);
    cr_assert_not_null(B, "%s", dcl_error());
    dcl_grid grid = dcl_grid_of(B);
    cr_expect(grid.rank == 2 && grid.extent[0] == 4 && grid.extent[1] == WIDE && grid.origin[0] == 0);
    TEST_OK(dcl_read(B, NULL, after, NULL));
    cr_expect_arr_eq(after, before, sizeof before, "%s to %s on %d nodes", from, to != NULL ? to : "rows", nodes);
    dcl_array *T = dcl_transpose(B), *C = dcl_reshape_copy(T, 1, (int64_t[]){ROWS * COLUMNS}, NULL);
    cr_assert_not_null(C, "%s", dcl_error());
    TEST_OK(dcl_read(C, NULL, after, NULL));
    for (int e = 0; e < ROWS * COLUMNS; e++)
        cr_assert_eq(after[e], before[e % 4 * WIDE + e / 4], "element %d of what was turned is %d", e, after[e]);
    cr_expect_null(dcl_reshape_copy(A, 2, (int64_t[]){4, 4}, NULL));
    cr_expect(strstr(dcl_error(), "dcl_reshape_copy: the new shape has 16 elements") != NULL, "%s", dcl_error());
    cr_expect_null(dcl_reshape_copy(NULL, 2, (int64_t[]){4, 4}, NULL));
    dcl_clear_error(cluster);
    dcl_release(C);
    dcl_release(T);
    dcl_release(B);
    dcl_release(A);
    if (other != NULL)
        dcl_release(other);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(view_on_device, of_another_shape_that_is_refused_can_be_copied)
{
    test_config(3); /* the first call decides how many devices the process has */
    for (int nodes = 1; nodes <= 3; nodes += 2) {
        reshape_copied(nodes, "block,*", NULL); /* rows of 4 KB are padded */
        reshape_copied(nodes, "block", "*,block");
        reshape_copied(nodes, "rows:hash(2x16)", "rows:cyclic(1x7)");
    }
}

/* test/runtime/access_test.c - bodies that declare what they read: results, what moves, what is refused and reported. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(access_on_device, .timeout = TEST_SECONDS);

enum { N = 12 };

/* ---- what is declared, and what a plain loop gives ---------------------------------------------------------------- */

static int32_t at(int i, int j) { return i >= 0 && i < N && j >= 0 && j < N ? 100 * i + j : 0; }

static int32_t in_halo(int i, int j)
{
    int32_t sum = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -2; x <= 2; x++)
            sum += (y + 3 * x) * at(i + y, j + x);
    return sum;
}

static int32_t in_cross(int i, int j)
{
    int32_t sum = 0;
    for (int n = 1; n <= 2; n++)
        sum += at(i - n, j) + 3 * at(i + n, j) + 5 * at(i, j - n) + 7 * at(i, j + n);
    return sum;
}

static int32_t in_box(int i, int j) { return at(2 + 3 * (i % 3), 1 + (i + j) % 2); }

static int32_t in_rows(int i, int j) { return at(4 + (5 * i + j) % 3, (i * j) % N); }

static int32_t transposed(int i, int j) { return at(j, i); }

/* A tile reads its mirror image. */
static int mirror(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    *(int *)user += 1;
    cr_assert_eq(most, DCL_MOST_READS);
    inputs_out[0] = *output;
    for (int d = 0; d < 2; d++) {
        inputs_out[0].start[d] = output->start[1 - d];
        inputs_out[0].count[d] = output->count[1 - d];
        inputs_out[0].stride[d] = output->stride[1 - d];
    }
    return 1;
}

static int asked;
static dcl_box three_rows = {.rank = 2, .start = {2, 1}, .count = {3, 2}, .stride = {3, 1}};

static const struct {
    const char *what, *body;
    int32_t (*expected)(int i, int j);
} kinds[] = {
    {"halo",
     "int s = 0;\n"
     "for (int y = -1; y <= 1; y++)\n"
     "    for (int x = -2; x <= 2; x++)\n"
     "        if (i + y >= 0 && i + y < 12 && j + x >= 0 && j + x < 12) s += (y + 3 * x) * A(i + y, j + x);\n"
     "C(i,j) = s;",
     in_halo},
    {"cross",
     "int s = 0;\n"
     "for (int n = 1; n <= 2; n++)\n"
     "    s += (i >= n ? A(i - n, j) : 0) + (i + n < 12 ? 3 * A(i + n, j) : 0) + (j >= n ? 5 * A(i, j - n) : 0) +\n"
     "         (j + n < 12 ? 7 * A(i, j + n) : 0);\n"
     "C(i,j) = s;",
     in_cross},
    {"box", "C(i,j) = A(2 + 3 * (i % 3), 1 + (i + j) % 2);", in_box},
    {"at", "C(i,j) = A(4 + (5 * i + j) % 3, (i * j) % 12);", in_rows},
    {"function", "const long a = j, b = i; C(i,j) = A(a, b);", transposed},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static dcl_arg declare(int kind, dcl_array *A)
{
    switch (kind) {
    case 0:
        return DCL_IN_HALO(A, 1, 2);
    case 1:
        return DCL_IN_CROSS(A, 2);
    case 2:
        return DCL_IN_BOX(A, &three_rows);
    case 3:
        return DCL_IN_AT(A, 4, 6);
    default:
        return DCL_IN_FUNCTION(A, mirror, &asked);
    }
}

static const char *const maps[] = {"block,*", "cyclic,cyclic", "rows:cyclic(2x3)", "*,block;tile=5x4",
                                   "cyclic(2),block"};
enum { MAPS = sizeof maps / sizeof maps[0] };

static dcl_array *make(dcl_cluster *cluster, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT32, N, N), map);
    dcl_release(map);
    cr_assert_not_null(array, "%s", dcl_error());
    return array;
}

static void expect_planned(dcl_cluster *cluster, const dcl_counters *before, const dcl_counters *planned,
                           const char *what)
{
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect(after.tasks - before->tasks == planned->tasks &&
                  after.blocks_moved - before->blocks_moved == planned->blocks_moved &&
                  after.bytes_moved - before->bytes_moved == planned->bytes_moved &&
                  after.approximate - before->approximate == planned->approximate,
              "%s: explained %" PRId64 " bytes, %" PRId64 " blocks; counted %" PRId64 ", %" PRId64, what,
              planned->bytes_moved, planned->blocks_moved, after.bytes_moved - before->bytes_moved,
              after.blocks_moved - before->blocks_moved);
}

static void run_kind(dcl_cluster *cluster, int kind, dcl_array *C, dcl_array *A, const char *what)
{
    static int32_t found[N][N];
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    dcl_arg args[] = {DCL_OUT(C), declare(kind, A)};
    args[1].name = "A";
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, kinds[kind].body, 2, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_forall_n(cluster, kinds[kind].body, 2, args));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_assert_eq(dcl_wait(cluster), DCL_OK, "%s: %s", what, dcl_error());
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            cr_assert_eq(found[i][j], kinds[kind].expected(i, j), "%s: C(%d, %d) is %d, expected %d", what, i, j,
                         found[i][j], kinds[kind].expected(i, j));
    expect_planned(cluster, &before, &planned, what);
}

static void run_all(const dcl_config *config)
{
    dcl_cluster *cluster = test_open(config);
    for (int c = 0; c < MAPS; c++)
        for (int a = 0; a < MAPS; a++) {
            dcl_array *C = make(cluster, maps[c]), *A = make(cluster, maps[a]);
            TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j;", DCL_OUT(A)));
            for (int kind = 0; kind < KINDS; kind++) {
                char what[128];
                snprintf(what, sizeof what, "%s, C %s, A %s, move %s, check %s", kinds[kind].what, maps[c], maps[a],
                         config->transfer, config->check);
                run_kind(cluster, kind, C, A, what);
            }
            dcl_release(A);
            dcl_release(C);
        }
    TEST_OK(dcl_close(cluster));
}

Test(access_on_device, gives_what_loops_give)
{
    dcl_config config = test_config(3);
    config.transfer = "place";
    run_all(&config);
    config.transfer = "send";
    config.check = "access"; /* correct bodies are never reported */
    run_all(&config);
}

/* ---- what moves, by hand ------------------------------------------------------------------------------------------ */

/* Rows of 6 on two nodes with three each; A likewise but where it is said. */
Test(access_planned, moves_what_is_declared)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *rows = dcl_map_parse(cluster, "block,*"), *odd = dcl_map_parse(cluster, "cyclic,*");
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 6, 6);
    dcl_array *C = dcl_agile(grid, rows), *A = dcl_agile(grid, rows), *D = dcl_agile(grid, odd),
              *E = dcl_agile(grid, odd);
    dcl_box box = {.rank = 2, .start = {2, 0}, .count = {2, 3}, .stride = {1, 2}};
    dcl_counters found;
    const char *body = "const long a = i; C(i,j) = A(a, j);";
    struct {
        const char *what;
        dcl_arg in;
        dcl_array *out;
        int64_t elements, approximate;
    } cases[] = {
        {"halo: a row to either side", DCL_IN_HALO(A, 1), C, 2 * 6, 0},
        {"none along the rows' axis", DCL_IN_HALO(A, 0, 5), C, 0, 0},
        {"wider than the grid", DCL_IN_HALO(A, 9), C, 2 * 3 * 6, 0},
        {"cross: the same, no corners here", DCL_IN_CROSS(A, 1), C, 2 * 6, 0},
        {"box: row 2 to node 1, row 3 to node 0, 3 of each", DCL_IN_BOX(A, &box), C, 2 * 3, 0},
        {"rows 1..3 by an index array: 1 and 2 to node 1, 3 to node 0", DCL_IN_AT(A, 1, 3), C, 3 * 6, 2},
        {"dealt rows, own columns: none", DCL_IN_HALO_AS("A", D, 0, 1), E, 0, 0},
        {"dealt rows: all of the other's", DCL_IN_HALO_AS("A", D, 1, 0), E, 2 * 3 * 6, 0},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcl_arg args[] = {DCL_OUT_AS("C", cases[n].out), cases[n].in};
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 2, args), DCL_ALL_NODES, &found));
        cr_expect_eq(found.bytes_moved, 4 * cases[n].elements, "%s: %" PRId64 " elements", cases[n].what,
                     found.bytes_moved / 4);
        cr_expect_eq(found.approximate, cases[n].approximate, "%s: %" PRId64, cases[n].what, found.approximate);
    }
    dcl_release(E);
    dcl_release(D);
    dcl_release(A);
    dcl_release(C);
    dcl_release(odd);
    dcl_release(rows);
    TEST_OK(dcl_close(cluster));
}

/* Four tiles of 3 x 3, one per node: a halo takes 3 + 3 + 1 elements, a cross leaves the corner where it is. */
Test(access_planned, crosses_leave_corners)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_map *map = dcl_map_parse(cluster, "block,block");
    dcl_array *C = dcl_agile(dcl_grid_2d(DCL_INT8, 6, 6), map), *A = dcl_agile(dcl_grid_2d(DCL_INT8, 6, 6), map);
    dcl_counters found;
    const char *body = "const long a = i; C(i,j) = A(a, j);";
    TEST_OK(dcl_explain(cluster, &found, body, DCL_OUT(C), DCL_IN_HALO(A, 1)));
    cr_expect_eq(found.bytes_moved, 4 * 7, "%" PRId64, found.bytes_moved);
    TEST_OK(dcl_explain(cluster, &found, body, DCL_OUT(C), DCL_IN_CROSS(A, 1)));
    cr_expect_eq(found.bytes_moved, 4 * 6, "%" PRId64, found.bytes_moved);
    TEST_OK(dcl_explain(cluster, &found, body, DCL_OUT(C), DCL_IN_CROSS(A, 0, 2)));
    cr_expect_eq(found.bytes_moved, 4 * 6, "%" PRId64, found.bytes_moved);
    dcl_release(A);
    dcl_release(C);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

static int two_ends(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    (void)user;
    (void)most;
    inputs_out[0] = inputs_out[1] = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){1});
    inputs_out[1].start[0] = 11;
    return output->start[0] < 6 ? 2 : 0;
}

/* Remaps the output from another thread while the tiles that it had are walked. */
struct remapping {
    dcl_array *array;
    dcl_map *map;
    int asked;
    int64_t elements;
};

static void *remap(void *user)
{
    const struct remapping *remapping = user;
    return dcl_remap(remapping->array, remapping->map) == DCL_OK ? user : NULL;
}

static int remap_and_read_all(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    struct remapping *remapping = user;
    pthread_t thread;
    void *done = user;
    (void)most;
    if (remapping->asked++ == 0) {
        cr_assert_eq(pthread_create(&thread, NULL, remap, user), 0);
        pthread_join(thread, &done);
    }
    cr_assert_not_null(done, "the map cannot be changed");
    remapping->elements += output->count[0] * output->count[1];
    inputs_out[0] = dcl_box_of(&(dcl_grid){.type = DCL_INT32, .rank = 2, .extent = {N, N}});
    return 1;
}

Test(access_on_device, output_is_remapped_while_a_function_is_asked)
{
    static const char *const from[] = {"splits(5),*", "boxes:[0:4,0:12]@0,[4:12,0:12]@1",
                                       "rows:table(3x3);owners=0*5,1*11"};
    static int32_t found[N][N];
    dcl_cluster *cluster = open_nodes(2);
    for (size_t m = 0; m < sizeof from / sizeof from[0]; m++) {
        dcl_array *C = make(cluster, from[m]), *A = make(cluster, "block,*");
        struct remapping remapping = {.array = C, .map = dcl_map_parse(cluster, "block,*")};
        TEST_OK(dcl_forall(cluster, "A(i,j) = i + j;", DCL_OUT(A)));
        TEST_OK(
            dcl_forall(cluster, "C(i,j) = A(j,i);", DCL_OUT(C), DCL_IN_FUNCTION(A, remap_and_read_all, &remapping)));
        cr_expect_eq(remapping.elements, N * N, "%s: asked for %" PRId64 " elements", from[m], remapping.elements);
        TEST_OK(dcl_read(C, NULL, found, NULL));
        for (int e = 0; e < N * N; e++)
            cr_assert_eq(found[e / N][e % N], e / N + e % N, "%s: element %d", from[m], e);
        dcl_release(remapping.map);
        dcl_release(A);
        dcl_release(C);
    }
    TEST_OK(dcl_close(cluster));
}

/* Several boxes are one around them: of 12 elements on two nodes, the first needs 0 and 11 and gets 6 .. 11. */
Test(access_planned, joins_boxes_of_a_function)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *C = dcl_agile(dcl_grid_1d(DCL_INT8, 12), map), *A = dcl_agile(dcl_grid_1d(DCL_INT8, 12), map);
    dcl_counters found;
    const char *body = "const long a = i < 6 ? 11 * (i % 2) : 0; C(i) = i < 6 ? A(a) : 0;";
    TEST_OK(dcl_explain(cluster, &found, body, DCL_OUT(C), DCL_IN_FUNCTION(A, two_ends, NULL)));
    cr_expect_eq(found.bytes_moved, 1, "11 apart is one stride: %" PRId64, found.bytes_moved);
    cr_expect_eq(found.approximate, 0, "%" PRId64, found.approximate);
    dcl_release(A);
    dcl_release(C);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static int give_count(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    (void)output;
    (void)most;
    inputs_out[0] = dcl_box_nd(2, (int64_t[]){4, 0}, (int64_t[]){3, 6});
    return *(int *)user;
}

#define NOT_DECLARED(out, in, status, words)                                                                         \
    do {                                                                                                             \
        dcl_arg test_in = in;                                                                                        \
        test_in.name = "A";                                                                                          \
        TEST_REFUSED(                                                                                                \
            dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 2, (dcl_arg[]){DCL_OUT_AS("C", out), test_in}), 0, \
                             &found),                                                                                \
            (status), (words));                                                                                      \
    } while (0)

Test(access_planned, wrong_declarations)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *map = dcl_map_parse(cluster, "block,*"), *line_map = dcl_map_block(cluster);
    dcl_map *fine = dcl_map_parse(cluster, "block,*;tile=1x1");
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_INT32, 6, 6), map), *C = A,
              *B = dcl_agile(dcl_grid_2d(DCL_INT32, 6, 6), map);
    dcl_array *line = dcl_agile(dcl_grid_1d(DCL_INT32, 6), line_map);
    dcl_array *many = dcl_agile(dcl_grid_2d(DCL_INT32, 100, 100), fine);
    dcl_box box = dcl_box_nd(2, (int64_t[]){3, 0}, (int64_t[]){4, 6}), flat = dcl_box_nd(1, box.start, box.count),
            wrong;
    dcl_counters found;
    const char *body = "const long a = i; C(i,j) = A(a, j);";
    int minus = -1, one = 1, lots = DCL_MOST_READS + 1;
    A = B;
    NOT_DECLARED(C, DCL_IN_HALO(A, -1), DCL_ERR_INVALID, "the halo of A has width -1 along axis 0; expected 0..");
    NOT_DECLARED(C, DCL_IN_CROSS(A, 0, INT64_MAX), DCL_ERR_INVALID, "has width 9223372036854775807 along axis 1");
    NOT_DECLARED(C, DCL_IN_HALO(A, 1, 1, 1), DCL_ERR_INVALID, "has 3 widths; expected one for all axes, or 2");
    NOT_DECLARED(C, DCL_IN_BOX(A, NULL), DCL_ERR_INVALID, "the box of A: the box is NULL");
    NOT_DECLARED(C, DCL_IN_BOX(A, &box), DCL_ERR_RANGE, "the box of A: the box's axis 0 runs from 3 to 6");
    NOT_DECLARED(C, DCL_IN_BOX(A, &flat), DCL_ERR_INVALID, "the box of A: ");
    wrong = box;
    wrong.stride[1] = 0;
    NOT_DECLARED(C, DCL_IN_BOX(A, &wrong), DCL_ERR_INVALID, "the box of A: ");
    NOT_DECLARED(C, DCL_IN_AT(A, 4, 3), DCL_ERR_INVALID, "first subscripts 4..3; expected the least of them, then");
    NOT_DECLARED(C, DCL_IN_AT(A, 0, 6), DCL_ERR_RANGE, "0..6; expected indices from 0 to below 6");
    NOT_DECLARED(C, DCL_IN_FUNCTION(A, NULL, NULL), DCL_ERR_INVALID, "the function of A is NULL");
    NOT_DECLARED(C, DCL_IN_FUNCTION(A, give_count, &minus), DCL_ERR_INVALID, "the function of A returned -1");
    NOT_DECLARED(C, DCL_IN_FUNCTION(A, give_count, &lots), DCL_ERR_INVALID, "returned 17; expected a number of boxes");
    NOT_DECLARED(C, DCL_IN_FUNCTION(A, give_count, &one), DCL_ERR_RANGE,
                 "a box that the function gave for A: the box's axis 0 runs from 4 to 6");
    NOT_DECLARED(many, DCL_IN_FUNCTION(A, mirror, &asked), DCL_ERR_RANGE, "a box that the function gave for A");
    asked = 0;
    A = many;
    NOT_DECLARED(many, DCL_IN_FUNCTION(A, mirror, &asked), DCL_ERR_INVALID, "would be asked for more tiles than 341");
    cr_expect_eq(asked, 341, "it was asked %d times", asked);
    TEST_REFUSED(dcl_explain(cluster, &found, "C(i) = A(i, 0);", DCL_OUT_AS("C", line), DCL_IN_HALO_AS("A", B, 1)),
                 DCL_ERR_INVALID, "A has 2 axes and the first output 1; expected as many");
    TEST_REFUSED(dcl_explain(cluster, &found, "A(i,j) = C(i,j);", DCL_OUT(C), DCL_IN_HALO_AS("A", B, 1)), DCL_ERR_BODY,
                 "A is DCL_IN_HALO, but written here");
    TEST_REFUSED(dcl_explain(cluster, &found, body, DCL_OUT(C), DCL_IN_HALO_AS("A", C, 1)), DCL_ERR_BODY,
                 "the same array, written and used at different subscripts");
    TEST_REFUSED(dcl_explain(cluster, &found, body, DCL_OUT(C), DCL_IN_BOX_AS("A", NULL, &box)), DCL_ERR_INVALID,
                 "argument A is NULL");
    dcl_release(many);
    dcl_release(line);
    dcl_release(B);
    dcl_release(C);
    dcl_release(fine);
    dcl_release(line_map);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

Test(access_planned, checks_are_off_or_access)
{
    dcl_config config;
    TEST_OK(dcl_config_read(&config));
    config.check = "everything";
    cr_expect_null(dcl_open(&config));
    cr_expect(strstr(dcl_error(), "DCL_CHECK is \"everything\"; expected one of off|access") != NULL, "%s",
              dcl_error());
}

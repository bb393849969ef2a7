/* test/runtime/tile_rules_test.c - tile kernels: ranks, outputs, views, parts of a grid, DCL_MOVE; refusals. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(tile_rules_on_device, .timeout = TEST_SECONDS);

enum { N = 12 };

/* ---- indices ------------------------------------------------------------------------------------------------------ */

/* Every work-item knows where it is in the grid, in all ranks, in groups that do not divide the tiles, and a few work-items
 * for a whole tile. */
Test(tile_rules_on_device, finds_indices_in_all_ranks)
{
    const struct {
        int rank;
        int64_t extent[5], origin[5];
        const char *map, *text;
        dcl_arg sizes;
    } cases[] = {
        {1,
         {37},
         {-4},
         "cyclic(3);tile=5",
         "if (dcl_item(0) < C_count(0)) C(dcl_item(0)) = C_at(0, dcl_item(0));",
         DCL_GROUP(8)},
        {2,
         {7, 9},
         {3, 5},
         "cyclic,block;tile=3x4",
         "const long r = dcl_item(0), c = dcl_item(1);\n"
         "if (r < C_count(0) && c < C_count(1)) C(r, c) = 100 * C_at(0, r) + C_at(1, c);",
         DCL_GROUP(4, 2)},
        {3,
         {4, 5, 6},
         {0, 1, 2},
         "rows:cyclic(2x2x3)",
         "const long a = dcl_item(0), b = dcl_item(1), c = dcl_item(2);\n"
         "if (a < C_count(0) && b < C_count(1) && c < C_count(2))\n"
         "    C(a, b, c) = 100 * (100 * C_at(0, a) + C_at(1, b)) + C_at(2, c);",
         DCL_GROUP(2, 2, 4)},
        {4,
         {3, 4, 2, 5},
         {0},
         "block,cyclic,*,*;tile=2x3x2x4",
         "const long a = dcl_item(0), b = dcl_item(1), c = dcl_item(2);\n"
         "for (long d = 0; d < C_count(3); d++)\n"
         "    C(a, b, c, d) = 100 * (100 * (100 * C_at(0, a) + C_at(1, b)) + C_at(2, c)) + C_at(3, d);",
         DCL_ITEMS(1, 0, 0)},
        {5,
         {3, 2, 3, 2, 3},
         {0},
         "block,cyclic,*,*,block",
         "C(dcl_item(0), dcl_item(1), dcl_item(2), dcl_item(3), dcl_item(4)) =\n"
         "    100 * (100 * (100 * (100 * C_at(0, dcl_item(0)) + C_at(1, dcl_item(1))) + C_at(2, dcl_item(2))) +\n"
         "           C_at(3, dcl_item(3))) + C_at(4, dcl_item(4));",
         DCL_ITEMS(0, 0, 0)},
    };
    dcl_cluster *cluster = open_nodes(3);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        int64_t found[256], elements = 1;
        dcl_array *C =
            test_array(cluster, cases[n].map, dcl_grid_nd(DCL_INT64, cases[n].rank, cases[n].extent, cases[n].origin));
        TEST_OK(dcl_forall_tiles(cluster, cases[n].text, DCL_OUT(C), cases[n].sizes));
        TEST_OK(dcl_read(C, NULL, found, NULL));
        for (int d = 0; d < cases[n].rank; d++)
            elements *= cases[n].extent[d];
        for (int64_t e = 0; e < elements; e++) {
            int64_t expected = 0, scale = 1, rest = e;
            for (int d = cases[n].rank - 1; d >= 0; d--) {
                expected += scale * (cases[n].origin[d] + rest % cases[n].extent[d]);
                rest /= cases[n].extent[d];
                scale *= 100;
            }
            cr_assert_eq(found[e], expected, "rank %d, element %" PRId64 ": %" PRId64, cases[n].rank, e, found[e]);
        }
        dcl_release(C);
    }
    TEST_OK(dcl_close(cluster));
}

/* ---- outputs ------------------------------------------------------------------------------------------------------ */

/* What is not written stays, also in an output that others own; a box is computed alone. */
static void write_some(const dcl_config *config)
{
    static const char *const maps[] = {"block,*", "cyclic,cyclic", "*,block", "rows:cyclic(2x3)"};
    static int32_t c[N][N], d[N][N];
    dcl_cluster *cluster = test_open(config);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    const char *text = "const long r = dcl_item(0), c = dcl_item(1);\n"
                       "if ((C_at(0, r) + C_at(1, c)) % 3 == 0) {\n"
                       "    C(r, c) += 1000;\n"
                       "    D(r, c) = C(r, c);\n"
                       "}";
    dcl_box box = dcl_box_nd(2, (int64_t[]){2, 1}, (int64_t[]){7, 9});
    for (int m = 0; m < 16; m++) {
        dcl_array *C = test_array(cluster, maps[m / 4], grid), *D = test_array(cluster, maps[m % 4], grid);
        dcl_counters planned, before, after;
        TEST_OK(dcl_forall(cluster, "C(i,j) = 100 * i + j; D(i,j) = -1;", DCL_OUT(C), DCL_OUT(D)));
        before = test_counters(cluster, DCL_ALL_NODES);
        dcl_arg args[] = {DCL_INOUT(C), DCL_OUT(D)};
        TEST_OK(dcl_call_explain(DCL_CALL_TILES_N(cluster, &box, text, 2, args), DCL_ALL_NODES, &planned));
        TEST_OK(dcl_forall_tiles_over(cluster, &box, text, DCL_INOUT(C), DCL_OUT(D)));
        TEST_OK(dcl_read(C, NULL, c, NULL));
        TEST_OK(dcl_read(D, NULL, d, NULL));
        after = test_counters(cluster, DCL_ALL_NODES);
        cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
        cr_expect_eq(after.blocks_moved - before.blocks_moved, planned.blocks_moved);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                bool written = i >= 2 && i < 9 && j >= 1 && j < 10 && (i + j) % 3 == 0;
                cr_assert_eq(c[i][j], 100 * i + j + (written ? 1000 : 0), "%s: C(%d, %d) is %d", maps[m / 4], i, j,
                             c[i][j]);
                cr_assert_eq(d[i][j], written ? c[i][j] : -1, "%s: D(%d, %d) is %d", maps[m % 4], i, j, d[i][j]);
            }
        dcl_release(D);
        dcl_release(C);
    }
    TEST_OK(dcl_close(cluster));
}

Test(tile_rules_on_device, keeps_what_is_not_written)
{
    dcl_config config = test_config(3);
    config.transfer = "place";
    write_some(&config);
    config.transfer = "send";
    write_some(&config);
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

/* To a transposed array from one that is read backwards, and from a row that is seen under every row. */
Test(tile_rules_on_device, takes_views)
{
    static const char *const maps[] = {"block,*", "cyclic,cyclic", "*,block;tile=4x5"};
    static int32_t found[N][N];
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    for (int m = 0; m < 9; m++) {
        dcl_array *whole = test_array(cluster, maps[m / 3], grid), *from = test_array(cluster, maps[m % 3], grid);
        dcl_array *line = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N));
        dcl_array *C = dcl_transpose(whole);
        dcl_array *A = dcl_slice(from, (int64_t[]){N - 1, 0}, (int64_t[]){N, N}, (int64_t[]){-1, 1});
        dcl_array *B = dcl_broadcast(line, 0, N);
        TEST_OK(dcl_status_of(cluster));
        TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j;", DCL_OUT_AS("A", from)));
        TEST_OK(dcl_forall(cluster, "B(i) = 10000 * i;", DCL_OUT_AS("B", line)));
        TEST_OK(dcl_forall_tiles(cluster,
                                 "const long r = dcl_item(0), c = dcl_item(1);\n"
                                 "C(r, c) = A(r, c) + B(r, c) + (r > D_low(0) ? D(r - 1, c) : 0);",
                                 DCL_OUT(C), DCL_MOVE(C, A), DCL_IN(B), DCL_IN_HALO_AS("D", A, 1, 0)));
        TEST_OK(dcl_read(C, NULL, found, NULL));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                cr_assert_eq(found[i][j], 100 * (N - 1 - i) + j + 10000 * j + (i > 0 ? 100 * (N - i) + j : 0),
                             "%s, %s: C(%d, %d) is %d", maps[m / 3], maps[m % 3], i, j, found[i][j]);
        dcl_release(B);
        dcl_release(A);
        dcl_release(C);
        dcl_release(line);
        dcl_release(from);
        dcl_release(whole);
    }
    TEST_OK(dcl_close(cluster));
}

/* ---- what moves --------------------------------------------------------------------------------------------------- */

/* In a body DCL_MOVE moves what DCL_IN does; in a tile kernel the tile's box. Rows of 6 on two nodes; B is dealt by columns:
 * half of it is elsewhere. */
Test(tile_rules_planned, moves_what_tiles_need)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 6, 6);
    dcl_array *C = test_array(cluster, "block,*", grid), *B = test_array(cluster, "*,block", grid),
              *D = test_array(cluster, "block,*", grid);
    dcl_counters in, found;
    TEST_OK(dcl_explain(cluster, &in, "C(i,j) = B(j,i) + B(i,j);", DCL_OUT(C), DCL_IN(B)));
    TEST_OK(dcl_explain(cluster, &found, "C(i,j) = B(j,i) + B(i,j);", DCL_OUT(C), DCL_MOVE(C, B)));
    cr_expect_eq(found.bytes_moved, in.bytes_moved);
    cr_expect_gt(found.bytes_moved, 0);
    const char *text = "C(dcl_item(0), dcl_item(1)) = B(dcl_item(0), dcl_item(1));";
    TEST_OK(dcl_explain_tiles(cluster, &found, text, DCL_OUT(C), DCL_MOVE(C, B)));
    cr_expect_eq(found.bytes_moved, 4 * 18, "%" PRId64, found.bytes_moved);
    TEST_OK(dcl_explain_tiles(cluster, &found, text, DCL_OUT(C), DCL_IN_AS("B", D)));
    cr_expect_eq(found.bytes_moved, 0, "%" PRId64, found.bytes_moved);
    TEST_OK(dcl_explain_tiles(cluster, &found, text, DCL_OUT(C), DCL_IN_HALO_AS("B", D, 1)));
    cr_expect_eq(found.bytes_moved, 4 * 2 * 6, "%" PRId64, found.bytes_moved);
    dcl_report *report = dcl_explain_report_tiles(cluster, text, DCL_OUT(C), DCL_MOVE(C, B));
    cr_assert_not_null(report, "%s", dcl_error());
    cr_expect_eq(report->planned.bytes_moved, 4 * 18);
    cr_expect_eq(report->array_count, 2);
    dcl_report_release(report);
    dcl_release(D);
    dcl_release(B);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

struct refused {
    const char *text;
    dcl_status status;
    const char *words;
};

Test(tile_rules_planned, refuses_texts)
{
    static const struct refused cases[] = {
        {"", DCL_ERR_BODY, "the tile kernel is empty; expected statements of a work-item"},
        {"C(0, 0) = 1;\n  C(0) = A(0, 0);", DCL_ERR_BODY, "line 2, column 3: C has 1 subscript here; expected 2"},
        {"C(0, 0) = A(0, 0, 0);", DCL_ERR_BODY, "line 1, column 11: A has 3 subscripts here; expected 2"},
        {"C = 1;", DCL_ERR_BODY,
         "line 1, column 1: C is an array and stands without subscripts; write C(r, ...), or C_data"},
        {"C(0, 0) = A_count(2);", DCL_ERR_BODY, "line 1, column 19: 2 is no axis of A; expected 0..1"},
        {"C(0, dcl_item(2)) = 1;", DCL_ERR_BODY, "line 1, column 15: 2 is no axis of C; expected 0..1"},
        {"C(0, 0) = C_at(7, 1);", DCL_ERR_BODY, "7 is no axis of C"},
        {"#define X 1\nC(0, 0) = X;", DCL_ERR_BODY, "line 1, column 1: "},
        {"C(0, 0) = 1;\nbarrier(CLK_LOCAL_MEM_FENCE);", DCL_ERR_BODY,
         "line 2, column 1: barrier: the work-items of a group"},
        {"__local int t[4];\nC(0, 0) = 1;", DCL_ERR_BODY, "line 1, column 1: __local: the work-items of a group"},
        {"kernel void f(void) {}", DCL_ERR_BODY, "a tile kernel is the inside of a kernel; put functions"},
        {"C(0, 0) = dcl_b0[1];", DCL_ERR_BODY, "column 11: names that begin with dcl_ or DCL_ belong to the library"},
        {"{ C(0, 0) = 1;", DCL_ERR_BODY, "line 1, column 1: "},
        {"} void f(void) {", DCL_ERR_BODY, "line 1, column 1: "},
        {"C(0, 0) = 1;\n  A(0, 0) = 2;", DCL_ERR_BODY,
         "line 2, column 3: A is DCL_IN, but written here; declare DCL_OUT(A), whose elements"},
        {"(A(0, 0)) *= 2;", DCL_ERR_BODY, "line 1, column 2: A is DCL_IN, but written here"},
        {"C(0, 0) = 1 + ++A(0, 0);", DCL_ERR_BODY, "line 1, column 17: A is DCL_IN, but written here"},
        {"A_data[A_stride(0)] = 2;", DCL_ERR_BODY, "line 1, column 1: A is DCL_IN, but written here"},
    };
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 6, 6);
    dcl_array *C = test_array(cluster, "block,*", grid), *A = test_array(cluster, "block,*", grid);
    dcl_counters found;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++)
        TEST_REFUSED(dcl_explain_tiles(cluster, &found, cases[n].text, DCL_OUT(C), DCL_IN(A)), cases[n].status,
                     cases[n].words);
    dcl_release(A);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

#define NOT_TAKEN(status, words, ...) \
    TEST_REFUSED(dcl_explain_tiles(cluster, &found, text, __VA_ARGS__), (status), (words))

Test(tile_rules_planned, refuses_arguments)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 6, 6);
    dcl_array *C = test_array(cluster, "block,*", grid), *A = test_array(cluster, "block,*", grid);
    dcl_array *wide = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, 6, 7)),
              *line = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 6));
    dcl_counters found;
    const char *text = "C_data[0] = 1;";
    int n = 1;
    NOT_TAKEN(DCL_ERR_INVALID,
              "axis 1 of A runs 0..6; expected 0..5, as that of the first output C, for a tile has its own", DCL_OUT(C),
              DCL_IN_AS("A", wide));
    NOT_TAKEN(DCL_ERR_INVALID,
              "A has 1 axis and the first output C 2; expected as many, for it has the box of the tile", DCL_OUT(C),
              DCL_MOVE_AS("C", "A", line));
    NOT_TAKEN(DCL_ERR_INVALID, "A has 1 axis and the first output 2; expected as many, for a halo", DCL_OUT(C),
              DCL_IN_HALO_AS("A", line, 1));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_MOVE(D, A) moves what the tasks of D need of A, but D is no argument of this call",
              DCL_OUT(C), DCL_MOVE_AS("D", "A", A));
    NOT_TAKEN(DCL_ERR_INVALID, "but A is no output of this call", DCL_OUT(C), DCL_MOVE(A, A));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_MOVE(NULL, A)", DCL_OUT(C), DCL_MOVE_AS(NULL, "A", A));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_GROUP has size 0 along dimension 1; expected 1..", DCL_OUT(C), DCL_GROUP(4, 0));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_GROUP has size 0 along dimension 0; expected at least 1 work-item", DCL_OUT(C),
              DCL_GROUP(0, 0, 0));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_ITEMS has size -1 along dimension 0; expected 1..", DCL_OUT(C), DCL_ITEMS(-1));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_GROUP has 4 sizes; expected 1 to 3", DCL_OUT(C), DCL_GROUP(1, 1, 1, 1));
    NOT_TAKEN(DCL_ERR_INVALID, "DCL_ITEMS is given twice; expected it once", DCL_OUT(C), DCL_ITEMS(1), DCL_ITEMS(1));
    NOT_TAKEN(DCL_ERR_INVALID, "argument 1 is called C_count, which is a name that tile kernels have for array C",
              DCL_OUT(C), DCL_VALUE_AS("C_count", n));
    NOT_TAKEN(DCL_ERR_INVALID, "no argument is an output", DCL_IN(A));
    NOT_TAKEN(DCL_ERR_BODY, "the prelude has barrier: the work-items of a group", DCL_OUT(C),
              DCL_PRELUDE("/* barrier */ void f(void) { barrier(CLK_LOCAL_MEM_FENCE); }"));
    NOT_TAKEN(DCL_ERR_BODY, "A and C are the same array, which is written; give it one name", DCL_INOUT(C),
              DCL_IN_AS("A", C));
    NOT_TAKEN(DCL_ERR_BODY, "the same array, written and used at different subscripts", DCL_OUT(C),
              DCL_IN_HALO_AS("A", C, 1));
    TEST_REFUSED(dcl_explain(cluster, &found, "C(i,j) = 1;", DCL_OUT(C), DCL_GROUP(4)), DCL_ERR_INVALID,
                 "DCL_GROUP is an argument of a body, which has no work-items of its own; leave it out");
    TEST_REFUSED(dcl_explain(cluster, &found, "C(i,j) = A(i,j);", DCL_OUT(C), DCL_MOVE_AS("B", "A", A)),
                 DCL_ERR_INVALID, "but B is no argument of this call");
    TEST_REFUSED(dcl_explain_tiles(cluster, &found, NULL, DCL_OUT(C)), DCL_ERR_INVALID, "body is NULL");
    TEST_OK(dcl_explain_tiles(cluster, &found, text, DCL_OUT(C), DCL_PRELUDE("/* barrier */"), DCL_VALUE_AS("i", n)));
    dcl_arg nameless[] = {DCL_OUT(C), DCL_GROUP(4), DCL_ITEMS(1)}; /* as other languages may make them */
    nameless[1].name = nameless[2].name = NULL;
    TEST_OK(dcl_call_explain(DCL_CALL_TILES_N(cluster, NULL, text, 3, nameless), DCL_ALL_NODES, &found));
    dcl_release(line);
    dcl_release(wide);
    dcl_release(A);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* What only a device's compiler knows is said with the user's line and column. */
Test(tile_rules_on_device, refuses_what_does_not_compile)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    dcl_array *C = test_array(cluster, "block,*", grid), *A = test_array(cluster, "block,*", grid);
    const int32_t zero = 0;
    TEST_REFUSED(dcl_forall_tiles(cluster, "C(0, 0) = 1;\n    *A_data = 2;", DCL_OUT(C), DCL_IN(A)), DCL_ERR_BODY,
                 "line 2, column 13: ");
    dcl_clear_error(cluster);
    TEST_OK(dcl_fill(C, &zero));
    TEST_REFUSED(dcl_forall_tiles(cluster, "C(0, 0) = 1;\n\n  C(0, 1) = missing;", DCL_OUT(C)), DCL_ERR_BODY,
                 "line 3, column 13: ");
    dcl_clear_error(cluster);
    for (int time = 0; time < 2; time++) { /* it stays refused */
        TEST_REFUSED(dcl_forall_tiles(cluster, "C_data[0] = 1;", DCL_OUT(C), DCL_GROUP(1024, 1024, 64)), DCL_ERR_BODY,
                     "give DCL_GROUP ");
        dcl_clear_error(cluster);
    }
    TEST_OK(dcl_forall_tiles(cluster, "C(dcl_item(0), dcl_item(1)) = 1;",
                             DCL_OUT(C))); /* what was refused spoilt nothing */
    TEST_OK(dcl_wait(cluster));
    test_fail(C); /* whether it writes all of an array that has failed, nobody knows */
    TEST_REFUSED(dcl_forall_tiles(cluster, "C(dcl_item(0), dcl_item(1)) = 1;", DCL_OUT(C)), DCL_ERR_DEVICE,
                 "overwrite all of it first");
    dcl_clear_error(cluster);
    TEST_OK(dcl_forall(cluster, "C(i,j) = 0;", DCL_OUT(C)));
    TEST_OK(dcl_forall_tiles(cluster, "C(dcl_item(0), dcl_item(1)) = 1;", DCL_OUT(C)));
    TEST_OK(dcl_wait(cluster));
    dcl_release(A);
    dcl_release(C);
    TEST_OK(dcl_close(cluster));
}

/* test/runtime/tile_kernel_test.c - whole kernels per tile against plain loops, on several maps, nodes and ways to move. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(tile_kernel_on_device, .timeout = TEST_SECONDS);

enum { N = 14, K = 5 };

static int32_t value_of(int i, int j) { return 100 * i + j; }

/* ---- kernels, and what plain loops give ---------------------------------------------------------------------------- */

static const char blur[] = "const long r = dcl_item(0), c = dcl_item(1);\n"
                           "int s = 0;\n"
                           "for (long y = max(r - 1, A_low(0)); y < min(r + 2, A_high(0)); y++)\n"
                           "    for (long x = max(c - 2, A_low(1)); x < min(c + 3, A_high(1)); x++)\n"
                           "        s += (int)(y - r + 3 * (x - c) + 5) * A(y, x);\n"
                           "C(r, c) = s;";

static int32_t blurred(int i, int j)
{
    int32_t sum = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -2; x <= 2; x++)
            if (i + y >= 0 && i + y < N && j + x >= 0 && j + x < N)
                sum += (y + 3 * x + 5) * value_of(i + y, j + x);
    return sum;
}

static const char cross[] = "const long r = dcl_item(0), c = dcl_item(1);\n"
                            "C(r, c) = (r > A_low(0) ? A(r - 1, c) : 0) + 3 * (r + 1 < A_high(0) ? A(r + 1, c) : 0) +\n"
                            "          5 * (c > A_low(1) ? A(r, c - 1) : 0) + 7 * A(r, c);";

static int32_t crossed(int i, int j)
{
    return (i > 0 ? value_of(i - 1, j) : 0) + 3 * (i + 1 < N ? value_of(i + 1, j) : 0) +
           5 * (j > 0 ? value_of(i, j - 1) : 0) + 7 * value_of(i, j);
}

/* Without a halo along the last axis, whose indices may have gaps. */
static const char above[] = "const long r = dcl_item(0), c = dcl_item(1);\n"
                            "C(r, c) = (r > A_low(0) ? A(r - 1, c) : 0) + 3 * (r + 2 < A_high(0) ? A(r + 2, c) : 0);";

static int32_t below(int i, int j)
{
    return (i > 0 ? value_of(i - 1, j) : 0) + (i + 2 < N ? 3 * value_of(i + 2, j) : 0);
}

/* Through __local memory, in squares of 4 x 4. */
static const char transpose[] = "__local int square[4][5];\n"
                                "const int x = get_local_id(0), y = get_local_id(1);\n"
                                "const long r = 4 * get_group_id(1), c = 4 * get_group_id(0);\n"
                                "if (c + y < C_count(1) && r + x < C_count(0))\n"
                                "    square[y][x] = A(c + y, r + x);\n"
                                "barrier(CLK_LOCAL_MEM_FENCE);\n"
                                "if (r + y < C_count(0) && c + x < C_count(1))\n"
                                "    C(r + y, c + x) = square[x][y];";

static int32_t transposed(int i, int j) { return value_of(j, i); }

/* A tile reads its mirror image. */
static int mirror(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    (void)user;
    (void)most;
    inputs_out[0] = *output;
    for (int d = 0; d < 2; d++) {
        inputs_out[0].start[d] = output->start[1 - d];
        inputs_out[0].count[d] = output->count[1 - d];
        inputs_out[0].stride[d] = output->stride[1 - d];
    }
    return 1;
}

/* Row times column, a work-item per row of the tile. */
static const char product[] = "const long r = dcl_item(0);\n"
                              "for (long c = 0; c < C_count(1); c++) {\n"
                              "    int s = 0;\n"
                              "    for (long k = 0; k < A_count(1); k++)\n"
                              "        s += A(r, k) * B(k, c);\n"
                              "    C(r, c) = s;\n"
                              "}";

static int32_t multiplied(int i, int j)
{
    int32_t sum = 0;
    for (int k = 0; k < N; k++)
        sum += value_of(i, k) * value_of(k, j);
    return sum;
}

/* A kernel of somebody else's, called once per tile. */
static const char theirs[] =
    "void scale(__global int *to, long to_row, long to_column, __global const int *from,\n"
    "           long from_row, long from_column, long rows, long columns, int factor)\n"
    "{\n"
    "    for (long y = 0; y < rows; y++)\n"
    "        for (long x = 0; x < columns; x++)\n"
    "            to[y * to_row + x * to_column] = factor * from[y * from_row + x * from_column];\n"
    "}\n";
static const char whole[] = "scale(C_data, C_stride(0), C_stride(1), A_data, A_stride(0), A_stride(1), C_count(0),\n"
                            "      C_count(1), factor);";

static int32_t scaled(int i, int j) { return 3 * value_of(i, j); }

/* Local indices and the grid's, with a work-item per element in groups that the library chooses. */
static const char places[] =
    "const long r = dcl_item(0), c = dcl_item(1);\n"
    "const bool right = C_at(0, r) == C_first(0) + r * C_step(0) && C_low(1) == 0 &&\n"
    "                   C_high(1) == C_count(1) && A_low(0) == 0 && A_high(0) == 14 && A_first(1) == 0;\n"
    "C(r, c) = right ? A(C_at(0, r), C_at(1, c)) : -1;";

static const char boxed[] = "const long r = dcl_item(0), c = dcl_item(1);\n"
                            "C(r, c) = (int)(A_at(0, 2) * A_first(1) * A_count(1)) + A(C_at(0, r) % A_count(0), 1);";
static dcl_box three_rows = {.rank = 2, .start = {2, 1}, .count = {3, 2}, .stride = {3, 1}};

static int32_t in_box(int i, int j)
{
    (void)j;
    return 8 * 1 * 2 + value_of(2 + 3 * (i % 3), 2);
}

static const char looked_up[] = "const long r = dcl_item(0), c = dcl_item(1);\n"
                                "C(r, c) = A(C_at(0, r) % 3, C_at(1, c)) + (int)A_first(0);";

static int32_t in_rows(int i, int j) { return value_of(4 + i % 3, j) + 4; }

static const struct {
    const char *what, *text;
    int32_t (*expected)(int i, int j);
} kinds[] = {
    {"blur", blur, blurred},          {"cross", cross, crossed},  {"transpose", transpose, transposed},
    {"product", product, multiplied}, {"whole", whole, scaled},   {"all", places, value_of},
    {"box", boxed, in_box},           {"at", looked_up, in_rows}, {"above", above, below},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* @return the number of arguments */
static int make_args(int kind, dcl_array *C, dcl_array *A, dcl_array *B, dcl_arg args[])
{
    const int factor = 3;
    int count = 2;
    args[0] = DCL_OUT(C);
    switch (kind) {
    case 0:
        args[1] = DCL_IN_HALO(A, 1, 2);
        break;
    case 1:
        args[1] = DCL_IN_CROSS(A, 1);
        break;
    case 2:
        args[1] = DCL_IN_FUNCTION(A, mirror, NULL);
        args[count++] = DCL_GROUP(4, 4);
        break;
    case 3:
        args[1] = DCL_IN_ROWS(A);
        args[count++] = DCL_IN_COLUMNS(B);
        args[count++] = DCL_ITEMS(1, 0);
        break;
    case 4:
        args[1] = DCL_MOVE(C, A);
        args[count++] = DCL_VALUE(factor);
        args[count++] = DCL_PRELUDE(theirs);
        args[count++] = DCL_ITEMS(1);
        break;
    case 5:
        args[1] = DCL_IN_ALL(A);
        break;
    case 6:
        args[1] = DCL_IN_BOX(A, &three_rows);
        break;
    case 7:
        args[1] = DCL_IN_AT(A, 4, 6);
        break;
    default:
        args[1] = DCL_IN_HALO(A, 2, 0);
        break;
    }
    return count;
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

static const char *const maps[] = {"block,*", "cyclic,cyclic", "rows:cyclic(2x3)", "*,block;tile=5x4",
                                   "cyclic(2),block"};
enum { MAPS = sizeof maps / sizeof maps[0] };

static dcl_array *make(dcl_cluster *cluster, const char *text, dcl_grid grid)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(grid, map);
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
                  after.messages_planned - before->messages_planned == planned->messages_planned &&
                  after.approximate - before->approximate == planned->approximate,
              "%s: explained %" PRId64 " bytes, %" PRId64 " blocks; counted %" PRId64 ", %" PRId64, what,
              planned->bytes_moved, planned->blocks_moved, after.bytes_moved - before->bytes_moved,
              after.blocks_moved - before->blocks_moved);
}

static void expect_elements(dcl_array *C, int32_t (*expected)(int i, int j), const char *what)
{
    static int32_t found[N][N];
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            cr_assert_eq(found[i][j], expected(i, j), "%s: C(%d, %d) is %d, expected %d", what, i, j, found[i][j],
                         expected(i, j));
}

static void run_kind(dcl_cluster *cluster, int kind, dcl_array *C, dcl_array *A, dcl_array *B, const char *what)
{
    dcl_arg args[8];
    int count = make_args(kind, C, A, B, args);
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_TILES_N(cluster, NULL, kinds[kind].text, count, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_call_run(DCL_CALL_TILES_N(cluster, NULL, kinds[kind].text, count, args)));
    cr_assert_eq(dcl_wait(cluster), DCL_OK, "%s: %s", what, dcl_error());
    expect_elements(C, kinds[kind].expected, what);
    expect_planned(cluster, &before, &planned, what);
}

static void run_all(const dcl_config *config, int nodes)
{
    dcl_cluster *cluster = test_open(config);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    for (int c = 0; c < MAPS; c++)
        for (int a = 0; a < MAPS; a++) {
            dcl_array *C = make(cluster, maps[c], grid), *A = make(cluster, maps[a], grid),
                      *B = make(cluster, maps[(a + c) % MAPS], grid);
            TEST_OK(dcl_forall(cluster, "A(i,j) = 100 * i + j; B(i,j) = 100 * i + j;", DCL_OUT(A), DCL_OUT(B)));
            for (int kind = 0; kind < KINDS; kind++) {
                char what[128];
                snprintf(what, sizeof what, "%s, C %s, A %s, %d nodes, move %s, check %s", kinds[kind].what, maps[c],
                         maps[a], nodes, config->transfer, config->check);
                run_kind(cluster, kind, C, A, B, what);
            }
            dcl_release(B);
            dcl_release(A);
            dcl_release(C);
        }
    TEST_OK(dcl_close(cluster));
}

Test(tile_kernel_on_device, gives_what_loops_give)
{
    dcl_config config = test_config(3);
    config.transfer = "place";
    run_all(&config, 3);
    config.transfer = "send";
    run_all(&config, 3);
}

/* Correct kernels report nothing, also where there is one node. */
Test(tile_kernel_on_device, is_quiet_when_checked)
{
    dcl_config config = test_config(2);
    config.transfer = "send";
    config.check = "access";
    run_all(&config, 2);
}

Test(tile_kernel_on_device, runs_on_one_node)
{
    dcl_config config = test_config(1);
    run_all(&config, 1);
}

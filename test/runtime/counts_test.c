/* test/runtime/counts_test.c - what moves, what is stored and what is sent, as counted, planned and promised. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <malloc.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(counts_on_device, .timeout = TEST_SECONDS);
TestSuite(counts_planned, .timeout = TEST_SECONDS);

static const char *const plain = "C(i,j) = A(i,j) + B(i,j);", *const transposed = "C(i,j) = A(i,j) + B(j,i);";

/* ---- the worked example: C = A + B and C = A + B^T over nine segments on four nodes --------------------------------- */

struct moved_case {
    int side, segment; /* side = 3 * segment; tiles are half a segment wide */
    int block_rows, block_columns;
    int64_t blocks; /* of A + B^T */
};

#define MOVED_CASES                                                                                       \
    {6144, 2048, 1024, 1024, 16}, {6144, 2048, 2048, 1024, 8}, {96, 32, 16, 16, 16}, {96, 32, 32, 16, 8}, \
        {96, 32, 32, 32, 4},                                                                              \
    {                                                                                                     \
        96, 32, 1, 32, 4 * 32                                                                             \
    }

static dcl_map *example_map(dcl_cluster *cluster, const struct moved_case *c)
{
    char text[160];
    snprintf(text, sizeof text, "rows:cyclic(%dx%d);block=%dx%d;tile=%dx%d", c->segment, c->segment, c->block_rows,
             c->block_columns, c->segment / 2, c->segment / 2);
    return dcl_map_parse(cluster, text);
}

/* Segments s1 s5 s9 are on node 0, s2 s6 on 1, s3 s7 on 2, s4 s8 on 3: across the diagonal, s2 and s4, s6 and s8 are on
 * different nodes, s3 and s7 on one. A segment is four tiles. */
static void expect_plans(dcl_cluster *cluster, const struct moved_case *c, dcl_array *C, dcl_array *A, dcl_array *B)
{
    static const int64_t tasks[] = {12, 8, 8, 8}, segments[] = {0, 2, 0, 2};
    int64_t segment_bytes = (int64_t)c->segment * c->segment * 4;
    dcl_counters all, node;
    TEST_OK(dcl_explain(cluster, &all, plain, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    cr_expect(all.tasks == 36 && all.blocks_moved == 0 && all.bytes_moved == 0 && all.approximate == 0);
    TEST_OK(dcl_explain(cluster, &all, transposed, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    cr_expect_eq(all.tasks, 36);
    cr_expect_eq(all.blocks_moved, c->blocks, "%d x %d: %" PRId64 " blocks; expected %" PRId64, c->side, c->side,
                 all.blocks_moved, c->blocks);
    cr_expect_eq(all.bytes_moved, 4 * segment_bytes);
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A), DCL_IN(B)};
    for (int n = 0; n < 4; n++) {
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, transposed, 3, args), n, &node));
        cr_expect_eq(node.tasks, tasks[n], "node %d: %" PRId64 " tasks", n, node.tasks);
        cr_expect_eq(node.blocks_moved, segments[n] * c->blocks / 4, "node %d: %" PRId64 " blocks", n,
                     node.blocks_moved);
        cr_expect_eq(node.bytes_moved, segments[n] * segment_bytes, "node %d: %" PRId64 " bytes", n, node.bytes_moved);
    }
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, transposed, 3, args), DCL_HOST, &node));
    cr_expect(node.tasks == 0 && node.bytes_moved == 0);
}

Test(counts_planned, of_the_worked_example)
{
    static const struct moved_case cases[] = {MOVED_CASES};
    dcl_cluster *cluster = dcl_open_plan(4);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        const struct moved_case *c = &cases[n];
        dcl_map *map = example_map(cluster, c);
        dcl_grid grid = dcl_grid_2d(DCL_FLOAT, c->side, c->side);
        dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
        cr_assert_not_null(C, "%s", dcl_error());
        expect_plans(cluster, c, C, A, B);
        dcl_release(A);
        dcl_release(B);
        dcl_release(C);
        dcl_release(map);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

static void expect_counted(dcl_cluster *cluster, const char *body, dcl_array *C, dcl_array *A, dcl_array *B)
{
    dcl_counters before[5], after[5];
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A), DCL_IN(B)};
    for (int n = 0; n < 5; n++)
        before[n] = test_counters(cluster, n < 4 ? n : DCL_ALL_NODES);
    TEST_OK(dcl_forall_n(cluster, body, 3, args));
    for (int n = 0; n < 5; n++) {
        dcl_counters planned;
        after[n] = test_counters(cluster, n < 4 ? n : DCL_ALL_NODES);
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 3, args), n < 4 ? n : DCL_ALL_NODES, &planned));
        cr_expect_eq(after[n].tasks - before[n].tasks, planned.tasks);
        cr_expect_eq(after[n].blocks_moved - before[n].blocks_moved, planned.blocks_moved);
        cr_expect_eq(after[n].bytes_moved - before[n].bytes_moved, planned.bytes_moved);
        cr_expect_eq(after[n].messages_planned - before[n].messages_planned, planned.messages_planned);
        cr_expect_eq(after[n].approximate - before[n].approximate, planned.approximate);
    }
}

/* The same, carried out: what was planned is what is counted, and with streams also what is sent. */
Test(counts_on_device, of_the_worked_example)
{
    enum { SIDE = 96 };
    static const struct moved_case c = {SIDE, 32, 16, 16, 16};
    dcl_config config = test_config(4);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_map *map = example_map(cluster, &c);
        dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
        dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
        test_count_up(A, 0, 1);
        test_count_up(B, 7, 3);
        expect_plans(cluster, &c, C, A, B);
        expect_counted(cluster, plain, C, A, B);
        dcl_counters before = test_counters(cluster, DCL_ALL_NODES);
        expect_counted(cluster, transposed, C, A, B);
        dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
        if (mode == 1)
            cr_expect_eq(after.bytes_sent - before.bytes_sent, 4 * 32 * 32 * 4, "%" PRId64 " bytes sent",
                         after.bytes_sent - before.bytes_sent);
        float element[SIDE][SIDE];
        TEST_OK(dcl_read(C, NULL, element, NULL));
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                cr_assert_eq(element[i][j], (float)(i * SIDE + j + 7 + 3 * (j * SIDE + i)));
        dcl_release(map);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* ---- explain and stats, body by body ------------------------------------------------------------------------------ */

struct counted_case {
    char body[160];
    int64_t approximate;
};

Test(counts_on_device, planned_are_those_counted)
{
    static const struct counted_case cases[] = {
        {"C(i,j) = A(i,j) + B(j,i);", 0},
        {"C(j,i) = A(11 - i, 2*j - j + 1 - 1) - B(0, i);", 0},
        {"C(i,j) = A(i,j); if (i == j) B(j,i) = 1;", 0},
        {"C(i,j) = A(i, j) * (i + j < 12 ? B(i + j, j) : 0);", 1},
    };
    dcl_config config = test_config(4);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(2x3);block=2x2;tile=3x3"),
                *other = dcl_map_parse(cluster, "block;tile=5x2");
        dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 12, 12);
        dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, other), *C = dcl_agile(grid, map);
        for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
            const char *body = cases[n].body;
            bool two = strstr(body, "B(j,i) =") != NULL;
            dcl_arg args[] = {DCL_OUT(C), DCL_IN(A), two ? DCL_OUT(B) : DCL_IN(B)};
            for (int k = -1; k < 4; k++) {
                int node = k < 0 ? DCL_ALL_NODES : k;
                dcl_counters planned, before = test_counters(cluster, node), after;
                TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 3, args), node, &planned));
                TEST_OK(dcl_forall_n(cluster, body, 3, args));
                after = test_counters(cluster, node);
                cr_expect_eq(after.tasks - before.tasks, planned.tasks, "%s: tasks of node %d", body, node);
                cr_expect_eq(after.blocks_moved - before.blocks_moved, planned.blocks_moved, "%s: blocks of node %d",
                             body, node);
                cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "%s: bytes of node %d", body,
                             node);
                cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned,
                             "%s: messages of node %d", body, node);
                cr_expect_eq(after.approximate - before.approximate, planned.approximate);
                if (node == DCL_ALL_NODES)
                    cr_expect_eq(planned.approximate > 0, cases[n].approximate > 0, "%s: approximate %" PRId64, body,
                                 planned.approximate);
            }
        }
        dcl_release(map);
        dcl_release(other);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

Test(counts_on_device, are_not_changed_by_asking)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_FLOAT, 8, 8), map), *B = dcl_agile(dcl_grid_2d(DCL_FLOAT, 8, 8), map),
              *C = dcl_agile(dcl_grid_2d(DCL_FLOAT, 8, 8), map);
    dcl_counters before = test_counters(cluster, DCL_ALL_NODES), planned;
    TEST_OK(dcl_explain(cluster, &planned, transposed, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    TEST_REFUSED(dcl_explain(cluster, &planned, "C(i,j) = A(i*i, j) + B(i,j);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)),
                 DCL_ERR_BODY, "line 1");
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    before.messages_sent = after.messages_sent = 0;
    cr_expect_eq(memcmp(&before, &after, sizeof before), 0);
    cr_expect_eq(dcl_status_of(cluster), DCL_OK, "asking failed the cluster: %s", dcl_error());
    TEST_OK(dcl_wait_for(C, -1));
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- storage ------------------------------------------------------------------------------------------------------ */

enum { BIG = 10000, MOST_PART = BIG / 4 * BIG / 20 * 21 }; /* elements: a quarter and 5 % */

static const char *const storage_maps[] = {
    "block",           "block@4x1",     "block@1x4",   "*,block",        "block,*",    "cyclic",        "cyclic(16)",
    "cyclic(3),block", "block(2500),*", "rows:cyclic", "columns:cyclic", "rows:block", "columns:block",
};
enum { STORAGE_MAPS = sizeof storage_maps / sizeof storage_maps[0] };

Test(counts_planned, of_storage)
{
    dcl_cluster *cluster = dcl_open_plan(4);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, BIG, BIG);
    for (int m = 0; m < STORAGE_MAPS; m++) {
        dcl_map *map = dcl_map_parse(cluster, storage_maps[m]);
        cr_assert_not_null(map, "%s: %s", storage_maps[m], dcl_error());
        int64_t sum = 0;
        for (int node = 0; node < 4; node++) {
            int64_t elements;
            TEST_OK(dcl_map_storage(map, &grid, node, &elements));
            sum += elements;
            cr_expect_leq(elements, MOST_PART, "%s: node %d stores %" PRId64 " elements", storage_maps[m], node,
                          elements);
        }
        cr_expect_geq(sum, (int64_t)BIG * BIG);
        dcl_release(map);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* Made for real: memory as planned, and one message to a worker. */
Test(counts_on_device, of_storage)
{
    static const char *const maps[] = {"block", "columns:cyclic"};
    dcl_cluster *cluster = open_nodes(4);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, BIG, BIG);
    for (int m = 0; m < 2; m++) {
        dcl_map *map = dcl_map_parse(cluster, maps[m]);
        test_counters(cluster, DCL_HOST); /* all calls so far are complete, and told */
        int64_t before = test_counters(cluster, DCL_HOST).messages_sent;
        dcl_array *array = dcl_agile(grid, map);
        cr_assert_not_null(array, "%s", dcl_error());
        int64_t sent = test_counters(cluster, DCL_HOST).messages_sent - before;
        cr_expect_leq(sent, 4, "%s: %" PRId64 " messages to make an array", maps[m], sent);
        for (int node = 0; node < 4; node++) {
            int64_t elements, bytes = test_counters(cluster, node).storage_bytes;
            TEST_OK(dcl_map_storage(map, &grid, node, &elements));
            cr_expect_eq(bytes, elements * 4, "%s: node %d holds %" PRId64 " bytes", maps[m], node, bytes);
            cr_expect_leq(bytes, (int64_t)MOST_PART * 4);
        }
        dcl_release(array);
        cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).storage_bytes, 0);
        dcl_release(map);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* A map is arithmetic: 10^12 elements are as many as 10^2. */
Test(counts_planned, need_no_memory_for_the_grid)
{
    static const char *const maps[] = {"block",
                                       "cyclic(3)",
                                       "rows:cyclic",
                                       "columns:block",
                                       "rows:cyclic(3x3)",
                                       "columns:cyclic(7x1)",
                                       "rows:block(2x2)",
                                       "rows:cyclic(1024x1024)"};
    enum { QUESTIONS = 20000 };
    dcl_cluster *cluster = dcl_open_plan(1000);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 1000000, 1000000);
    for (int m = 0; m < 8; m++) {
        dcl_map *map = dcl_map_parse(cluster, maps[m]);
        cr_assert_not_null(map, "%s: %s", maps[m], dcl_error());
        size_t before = mallinfo2().uordblks;
        dcl_array *array = dcl_agile(grid, map);
        cr_assert_not_null(array, "%s: %s", maps[m], dcl_error());
        for (int64_t n = 0; n < QUESTIONS; n++) {
            int64_t index[] = {n * 49999 % 1000000, n * 3999971 % 1000000}, offset, elements;
            int node = -1;
            TEST_OK(dcl_map_locate(map, &grid, index, &node, &offset));
            TEST_OK(dcl_map_storage(map, &grid, node, &elements));
            cr_assert(node >= 0 && node < 1000 && offset >= 0 && offset < elements);
        }
        size_t after = mallinfo2().uordblks;
        cr_expect(after <= before + 16384, "%s: %zu bytes were allocated", maps[m], after - before);
        dcl_release(array);
        dcl_release(map);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* Messages the host sends for one forall, called when all before it is complete. */
static int64_t host_messages(dcl_cluster *cluster, const char *map_text, const char *body, int64_t tasks)
{
    enum { SIDE = 400 };
    dcl_map *map = dcl_map_parse(cluster, map_text);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B))); /* the body is compiled */
    dcl_counters planned;
    TEST_OK(dcl_explain(cluster, &planned, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    cr_expect_eq(planned.tasks, tasks, "%s: %" PRId64 " tasks", map_text, planned.tasks);
    int64_t before = test_counters(cluster, DCL_HOST).messages_sent;
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    int64_t sent = test_counters(cluster, DCL_HOST).messages_sent - before;
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(map);
    return sent;
}

Test(counts_on_device, of_messages_do_not_grow_with_tiles)
{
    static const char *const few = "block@2x2;tile=200x200", *const many = "block@2x2;tile=2x2";
    dcl_config config = test_config(4);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        for (int moving = 0; moving < 2; moving++) {
            const char *body = moving ? transposed : plain;
            int64_t with_few = host_messages(cluster, few, body, 4),
                    with_many = host_messages(cluster, many, body, 40000);
            cr_expect_eq(with_few, with_many, "%s, %s: %" PRId64 " messages for 4 tiles, %" PRId64 " for 40,000",
                         config.transfer, body, with_few, with_many);
            cr_expect(with_few >= 1 && with_few <= 8, "%" PRId64 " messages", with_few);
        }
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* Nodes without elements of the range send no partial results, and the program sends each node a few messages. */
Test(counts_on_device, of_a_small_reduction)
{
    enum { NODES = 4, CALLS = 20, RESULT_BYTES = 64 * 56 };
    dcl_config config = test_config(NODES);
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 2 * NODES), map);
    static const int64_t firsts[] = {0, 3, 3, 0}, counts[] = {1, 1, 2, 2 * NODES};
    TEST_OK(dcl_forall(cluster, "A(i) = (int)i + 1;", DCL_OUT(A)));
    for (int b = 0; b < 4; b++) {
        const int64_t first = firsts[b], last = first + counts[b] - 1;
        const dcl_box box = dcl_box_nd(1, &firsts[b], &counts[b]);
        dcl_counters before[NODES], host = {0};
        int32_t sum = 0;
        for (int c = -1; c < CALLS; c++) {
            for (int n = 0; n < NODES && c == 0; n++)
                before[n] = test_counters(cluster, n);
            if (c == 0)
                host = test_counters(cluster, DCL_HOST);
            TEST_OK(dcl_reduce_over(cluster, &box, "sum += A(i);", DCL_RESULT(sum), DCL_IN(A)));
        }
        int64_t sent = test_counters(cluster, DCL_HOST).messages_sent - host.messages_sent;
        cr_expect_eq(sum, (first + last + 2) * (last - first + 1) / 2, "box %d: %d", b, sum);
        for (int n = 0; n < NODES; n++) {
            int64_t bytes = test_counters(cluster, n).bytes_sent - before[n].bytes_sent;
            bool has = 2 * n + 1 >= first && 2 * n <= last;
            cr_expect_eq(bytes, has ? CALLS * RESULT_BYTES : 0, "box %d: node %d sent %" PRId64 " bytes", b, n, bytes);
        }
        cr_expect_leq(sent, 4 * NODES * CALLS, "box %d: %" PRId64 " messages of the program", b, sent);
    }
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* Each says something else, and a function that takes one of them refuses the others. */
Test(counts_planned, no_node_is_not_all_nodes)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *map = dcl_map_parse(cluster, "block");
    dcl_array *C = dcl_agile(dcl_grid_1d(DCL_FLOAT, 8), map);
    dcl_counters counters;
    cr_expect(DCL_ALL_NODES != DCL_NOWHERE && DCL_ALL_NODES != DCL_HOST && DCL_HOST != DCL_NOWHERE);
    dcl_arg args[] = {DCL_OUT(C)};
    TEST_REFUSED(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, "C(i) = 1;", 1, args), DCL_NOWHERE, &counters),
                 DCL_ERR_INVALID, "node is -1; expected 0..1, DCL_ALL_NODES or DCL_HOST");
    cr_expect_null(dcl_call_report(DCL_CALL_BODY_N(cluster, NULL, "C(i) = 1;", 1, args), DCL_NOWHERE));
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, "C(i) = 1;", 1, args), DCL_ALL_NODES, &counters));
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, "C(i) = 1;", 1, args), DCL_HOST, &counters));
    dcl_release(C);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

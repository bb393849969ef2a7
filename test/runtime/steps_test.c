/* test/runtime/steps_test.c - time loops on maps with an overlap: several steps per exchange, with the bits of plain loops. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <dcl/local.h>

#include "runtime/cluster.h"
#include "support/nodes.h"

TestSuite(steps_on_device, .timeout = TEST_SECONDS);

enum { NODES = 3, ROWS = 48, COLUMNS = 20, STEPS = 100, ARRAYS = 3, FAR = 2 };

typedef uint32_t grid_values[ROWS][COLUMNS];

static const char stencil[] = "V(i,j) = 3 * U(i-1,j) + U(i+1,j) * U(i,j-1) + U(i,j+1) + (uint)(i * j);";

static void plain_step(grid_values V, grid_values U, const dcl_box *box)
{
    for (int64_t i = box->start[0]; i < box->start[0] + box->count[0]; i++)
        for (int64_t j = box->start[1]; j < box->start[1] + box->count[1]; j++)
            V[i][j] = 3 * U[i - 1][j] + U[i + 1][j] * U[i][j - 1] + U[i][j + 1] + (uint32_t)(i * j);
}

static const dcl_box inside = {.rank = 2, .start = {1, 1}, .count = {ROWS - 2, COLUMNS - 2}, .stride = {1, 1}};

/* 100 steps on 3 nodes, each explained before it runs. 5 lines are exchanged over each of two borders in each direction: with
 * the second step, and then with each fifth. */
static void run_loop(const char *transfer)
{
    enum { LINES = 5, EXCHANGE = 2 * 2 * LINES * COLUMNS * (int)sizeof(uint32_t) };
    static grid_values u, v, found;
    dcl_config config = test_config(NODES);
    config.transfer = transfer;
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_UINT32, ROWS, COLUMNS);
    dcl_array *U = test_array(cluster, "block,*;overlap=5", grid), *V = test_array(cluster, "block,*;overlap=5", grid);
    memset(v, 0, sizeof v);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            u[i][j] = (uint32_t)(i * 37 + j);
    TEST_OK(dcl_write(U, NULL, u, NULL));
    int exchanges = 0;
    dcl_counters first = test_counters(cluster, DCL_ALL_NODES), before = first;
    for (int n = 0; n < STEPS; n++) {
        dcl_arg args[] = {DCL_OUT(V), DCL_IN(U)};
        dcl_counters planned;
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, &inside, stencil, 2, args), DCL_ALL_NODES, &planned));
        TEST_OK(dcl_call_run(DCL_CALL_BODY_N(cluster, &inside, stencil, 2, args)));
        TEST_OK(dcl_wait(cluster));
        dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
        cr_assert_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "step %d", n);
        cr_assert_eq(after.messages_planned - before.messages_planned, planned.messages_planned, "step %d", n);
        cr_assert(planned.bytes_moved == 0 || planned.bytes_moved == EXCHANGE, "step %d: %" PRId64, n,
                  planned.bytes_moved);
        exchanges += planned.bytes_moved > 0;
        before = after;
        TEST_OK(dcl_swap(U, V));
        plain_step(n % 2 == 0 ? v : u, n % 2 == 0 ? u : v, &inside);
    }
    /* step 0 receives all of U, step 1 the elements at the edge of V, which nothing has written; then each fifth step */
    cr_expect_eq(exchanges, 2 + (STEPS - 2) / LINES);
    cr_expect_eq(before.bytes_moved - first.bytes_moved, exchanges * EXCHANGE);
    cr_expect_leq(before.messages_planned - first.messages_planned, exchanges * 4);
    TEST_OK(dcl_read(U, NULL, found, NULL));
    cr_expect_eq(memcmp(found, u, sizeof u), 0, "%s", transfer);
    dcl_release(U);
    dcl_release(V);
    TEST_OK(dcl_close(cluster));
}

Test(steps_on_device, move_what_is_explained_in_place) { run_loop("place"); }
Test(steps_on_device, move_what_is_explained_in_messages) { run_loop("send"); }

/* ---- random programs ------------------------------------------------------------------------------------------------ */

/** Arrays, and their elements as plain loops compute them. */
typedef struct modelled {
    dcl_array *array[ARRAYS];
    grid_values value[ARRAYS];
} modelled;

static dcl_box draw_box(int edge)
{
    dcl_box box = {.rank = 2, .start = {edge, edge}, .count = {ROWS - 2 * edge, COLUMNS - 2 * edge}, .stride = {1, 1}};
    for (int d = 0; d < 2 && rand() % 3 == 0; d++) {
        box.start[d] += rand() % 5;
        box.count[d] -= 5 + rand() % 5;
    }
    return box;
}

static void step(modelled *of, dcl_cluster *cluster, int v, int u)
{
    dcl_array *V = of->array[v], *U = of->array[u];
    dcl_box box = draw_box(1);
    TEST_OK(dcl_forall_over(cluster, &box, stencil, DCL_OUT(V), DCL_IN(U)));
    plain_step(of->value[v], of->value[u], &box);
}

/* A step with a third array, which reads two lines ahead and writes only some elements. */
static void step_of_three(modelled *of, dcl_cluster *cluster, int v, int u, int w)
{
    dcl_array *V = of->array[v], *U = of->array[u], *W = of->array[w];
    dcl_box box = draw_box(FAR);
    TEST_OK(dcl_forall_over(cluster, &box, "if (U(i+2,j) % 3 != 0) V(i,j) = U(i+2,j) + W(i-1,j);", DCL_OUT(V),
                            DCL_IN(U), DCL_IN(W)));
    for (int64_t i = box.start[0]; i < box.start[0] + box.count[0]; i++)
        for (int64_t j = box.start[1]; j < box.start[1] + box.count[1]; j++)
            if (of->value[u][i + 2][j] % 3 != 0)
                of->value[v][i][j] = of->value[u][i + 2][j] + of->value[w][i - 1][j];
}

/* A step in place, which has a loop. */
static void step_in_place(modelled *of, dcl_cluster *cluster, int v, int u)
{
    dcl_array *V = of->array[v], *U = of->array[u];
    dcl_box box = draw_box(FAR);
    TEST_OK(
        dcl_forall_over(cluster, &box, "for (int d = -2; d <= 1; d++) V(i,j) += U(i+d,j);", DCL_INOUT(V), DCL_IN(U)));
    for (int64_t i = box.start[0]; i < box.start[0] + box.count[0]; i++)
        for (int64_t j = box.start[1]; j < box.start[1] + box.count[1]; j++)
            for (int d = -2; d <= 1; d++)
                of->value[v][i][j] += of->value[u][i + d][j];
}

/* The program writes a few rows. */
static void write_rows(modelled *of, int v)
{
    static uint32_t rows[3][COLUMNS];
    dcl_box box = {.rank = 2, .start = {rand() % (ROWS - 3), 0}, .count = {3, COLUMNS}, .stride = {1, 1}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < COLUMNS; j++)
            rows[i][j] = of->value[v][box.start[0] + i][j] = (uint32_t)rand();
    TEST_OK(dcl_write(of->array[v], &box, rows, NULL));
}

static void call_any(modelled *of, dcl_cluster *cluster)
{
    int dice = rand() % 100, v = rand() % ARRAYS, u = (v + 1 + rand() % (ARRAYS - 1)) % ARRAYS, w = ARRAYS - v - u;
    if (dice < 50)
        step(of, cluster, v, u);
    else if (dice < 65)
        step_of_three(of, cluster, v, u, w);
    else if (dice < 80)
        step_in_place(of, cluster, v, u);
    else if (dice < 90)
        write_rows(of, v);
    else {
        TEST_OK(dcl_fill(of->array[v], &(uint32_t){(uint32_t)dice}));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                of->value[v][i][j] = (uint32_t)dice;
    }
}

/* Random calls under one map. */
static void run_programs(const char *map, int nodes, const char *transfer, const char *steal)
{
    enum { PROGRAMS = 4, CALLS = 60 };
    static modelled of;
    static grid_values found;
    dcl_config config = test_config(nodes);
    config.transfer = transfer;
    config.steal = steal;
    dcl_cluster *cluster = test_open(&config);
    for (int program = 0; program < PROGRAMS; program++) {
        srand((unsigned)program + 1);
        for (int k = 0; k < ARRAYS; k++) {
            of.array[k] = test_array(cluster, map, dcl_grid_2d(DCL_UINT32, ROWS, COLUMNS));
            memset(of.value[k], 0, sizeof of.value[k]);
        }
        for (int n = 0; n < CALLS; n++)
            call_any(&of, cluster);
        for (int k = 0; k < ARRAYS; k++) {
            TEST_OK(dcl_read(of.array[k], NULL, found, NULL));
            cr_assert_eq(memcmp(found, of.value[k], sizeof found), 0,
                         "%s, %d nodes, %s, %s: program %d, array %d differs", map, nodes, transfer, steal, program, k);
            dcl_release(of.array[k]);
        }
    }
    TEST_OK(dcl_close(cluster));
}

Test(steps_on_device, alone) { run_programs("block,*;overlap=6", 1, "auto", "never"); }
Test(steps_on_device, two_nodes) { run_programs("block,*;overlap=6", 2, "place", "never"); }
Test(steps_on_device, five_nodes) { run_programs("block,*;overlap=5", 5, "send", "always"); }
/* The lines around a part are of several nodes. */
Test(steps_on_device, wide_overlap) { run_programs("weighted(3:1:4),*;overlap=20", 3, "auto", "always"); }

/* ---- other calls ---------------------------------------------------------------------------------------------------- */

enum { LENGTH = 60, LAYERS = 14, WIDTH = 5, DEPTH = 7 };

static void remap(dcl_array *array, const char *text)
{
    dcl_map *map = dcl_map_parse(dcl_cluster_of(array), text);
    TEST_OK(dcl_remap(array, map));
    dcl_map_release(map);
}

/* A loop in one dimension, between whose steps other calls read and move the array. */
Test(steps_on_device, other_calls_between)
{
    static uint32_t a[LENGTH], b[LENGTH], found[LENGTH];
    dcl_cluster *cluster = open_nodes(NODES);
    dcl_map *block = dcl_map_block(cluster), *map = dcl_map_overlap(block, 4);
    dcl_grid grid = dcl_grid_1d(DCL_UINT32, LENGTH);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *sums = dcl_agile(grid, block);
    cr_assert_not_null(B, "%s", dcl_error());
    const dcl_box inner = dcl_box_nd(1, (int64_t[]){1}, (int64_t[]){LENGTH - 2});
    for (int i = 0; i < LENGTH; i++)
        a[i] = (uint32_t)i % 7;
    memset(b, 0, sizeof b);
    TEST_OK(dcl_write(A, NULL, a, NULL));
    for (int n = 0; n < 48; n++) {
        uint32_t *from = n % 2 == 0 ? a : b, *to = n % 2 == 0 ? b : a, sum = 0, plain = 0;
        TEST_OK(dcl_forall_over(cluster, &inner, "B(i) = A(i-1) - 2 * A(i) + A(i+1) % 5;", DCL_OUT(B), DCL_IN(A)));
        for (int i = 1; i < LENGTH - 1; i++)
            to[i] = from[i - 1] - 2 * from[i] + from[i + 1] % 5;
        TEST_OK(dcl_swap(A, B));
        if (n % 7 == 0) {
            TEST_OK(dcl_reduce(cluster, "sum += A(i);", DCL_RESULT(sum), DCL_IN(A)));
            for (int i = 0; i < LENGTH; i++)
                plain += to[i];
            cr_expect_eq(sum, plain, "step %d", n);
        } else if (n % 7 == 3) {
            TEST_OK(dcl_scan(cluster, "sums(i) += A(i);", DCL_OUT(sums), DCL_IN(A), DCL_ALONG("i")));
            TEST_OK(dcl_read(sums, NULL, found, NULL));
            for (int i = 0; i < LENGTH; i++)
                cr_assert_eq(found[i], plain += to[i], "step %d, element %d", n, i);
        } else if (n % 7 == 5) {
            remap(A, "cyclic(3)");
            remap(A, "block;overlap=4");
        }
    }
    TEST_OK(dcl_read(A, NULL, found, NULL));
    cr_expect_eq(memcmp(found, a, sizeof a), 0);
    dcl_release(sums);
    dcl_release(B);
    dcl_release(A);
    dcl_release(map);
    dcl_release(block);
    TEST_OK(dcl_close(cluster));
}

/* A loop in three dimensions; a line is a layer. */
Test(steps_on_device, three_dimensions)
{
    static int64_t u[2][LAYERS][WIDTH][DEPTH], found[LAYERS][WIDTH][DEPTH];
    dcl_cluster *cluster = open_nodes(NODES);
    dcl_grid grid = dcl_grid_3d(DCL_INT64, LAYERS, WIDTH, DEPTH);
    dcl_array *U = test_array(cluster, "block,*,*;overlap=4", grid),
              *V = test_array(cluster, "block,*,*;overlap=4", grid);
    const dcl_box inner = {
        .rank = 3, .start = {1, 1}, .count = {LAYERS - 2, WIDTH - 1, DEPTH - 1}, .stride = {1, 1, 1}};
    TEST_OK(dcl_forall(cluster, "U(i,j,k) = i * 31 + j * 7 - k;", DCL_OUT(U)));
    for (int i = 0; i < LAYERS; i++)
        for (int j = 0; j < WIDTH; j++)
            for (int k = 0; k < DEPTH; k++)
                u[0][i][j][k] = i * 31 + j * 7 - k;
    for (int n = 0; n < 30; n++) {
        TEST_OK(dcl_forall_over(cluster, &inner, "V(i,j,k) = (U(i-1,j,k) + U(i+1,j-1,k)) % 1000 + U(i,j,k+1);",
                                DCL_OUT(V), DCL_IN(U)));
        TEST_OK(dcl_swap(U, V));
        for (int i = 1; i < LAYERS - 1; i++)
            for (int j = 1; j < WIDTH; j++)
                for (int k = 0; k < DEPTH - 1; k++)
                    u[1 - n % 2][i][j][k] =
                        (u[n % 2][i - 1][j][k] + u[n % 2][i + 1][j - 1][k]) % 1000 + u[n % 2][i][j][k + 1];
    }
    TEST_OK(dcl_read(U, NULL, found, NULL));
    cr_expect_eq(memcmp(found, u[0], sizeof found), 0);
    dcl_release(V);
    dcl_release(U);
    TEST_OK(dcl_close(cluster));
}

/* ---- lines that DCL reserves ----------------------------------------------------------------------------------------- */

enum { TALL = 1024, BROAD = 512, AUTOMATIC = 24 }; /* two parts of 512 lines: 32 lines are reserved */

typedef uint32_t tall_values[TALL][BROAD];

static void tall_step(tall_values V, tall_values U)
{
    for (int i = 1; i < TALL - 1; i++)
        for (int j = 1; j < BROAD - 1; j++)
            V[i][j] = 3 * U[i - 1][j] + U[i + 1][j] * U[i][j - 1] + U[i][j + 1] + (uint32_t)(i * j);
}

/* Explain and run a step. @return the lines over the border that it has moved in each direction. */
static int64_t run_tall_step(dcl_cluster *cluster, dcl_array *V, dcl_array *U)
{
    const dcl_box inner = {.rank = 2, .start = {1, 1}, .count = {TALL - 2, BROAD - 2}, .stride = {1, 1}};
    dcl_arg args[] = {DCL_OUT(V), DCL_IN(U)};
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, &inner, stencil, 2, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_call_run(DCL_CALL_BODY_N(cluster, &inner, stencil, 2, args)));
    TEST_OK(dcl_wait(cluster));
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_assert_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    TEST_OK(dcl_swap(U, V));
    const int64_t line = 2 * BROAD * (int64_t)sizeof(uint32_t);
    return (planned.bytes_moved + line - 1) / line; /* without lines, the corners do not move */
}

/* A time loop under a map without an overlap, on two nodes. The shape of an array is changed between the steps and an element
 * written, which begins the loop anew. @param lines  the setting. @param moved  expected: lines that each step moves. */
static void run_tall(size_t lines, const char *transfer, size_t pool_bytes, const char *moved)
{
    static tall_values u, v, found;
    dcl_config config = test_config(2);
    config.lines = lines;
    config.transfer = transfer;
    config.pool_bytes = pool_bytes;
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_UINT32, TALL, BROAD);
    dcl_array *U = test_array(cluster, "block,*", grid), *V = test_array(cluster, "block,*", grid);
    memset(v, 0, sizeof v);
    for (int i = 0; i < TALL; i++)
        for (int j = 0; j < BROAD; j++)
            u[i][j] = (uint32_t)(i * 37 + j);
    TEST_OK(dcl_write(U, NULL, u, NULL));
    char text[4 * AUTOMATIC + 8] = "";
    for (int n = 0; n < AUTOMATIC; n++) {
        if (n == AUTOMATIC - 2) { /* a row before the border, which the other node has as a line */
            dcl_array *flat = dcl_flatten(U);
            cr_assert_not_null(flat, "%s", dcl_error());
            const dcl_box row = {.rank = 1, .start = {511 * BROAD}, .count = {BROAD}, .stride = {1}};
            TEST_OK(dcl_forall_over(cluster, &row, "flat(i) = 7 * i;", DCL_INOUT(flat)));
            for (uint32_t j = 0; j < BROAD; j++)
                u[511][j] = 7 * (511 * BROAD + j);
            dcl_release(flat);
        }
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " %d", (int)run_tall_step(cluster, V, U));
        tall_step(n % 2 == 0 ? v : u, n % 2 == 0 ? u : v);
    }
    cr_expect_str_eq(text, moved, "%s", text);
    TEST_OK(dcl_read(U, NULL, found, NULL));
    cr_expect_eq(memcmp(found, u, sizeof u), 0, "%s", transfer);
    dcl_release(U);
    dcl_release(V);
    TEST_OK(dcl_close(cluster));
}

Test(steps_on_device, lines_that_are_reserved)
{
    run_tall(16, "send", 1 << 20, " 1 1 1 1 16 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 16 1 1");
}
Test(steps_on_device, lines_that_are_reserved_in_place)
{
    run_tall(8, "place", 1 << 20, " 1 1 1 1 8 8 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0 8 1 1");
}
Test(steps_on_device, no_lines_are_reserved)
{
    run_tall(0, "auto", 1 << 20, " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
}
Test(steps_on_device, lines_that_the_pool_has_no_room_for)
{
    run_tall(32, "send", 8 << 10, " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
}

/* Arrays of which only two have lines, as if a node of another kind had joined before the others were made, are exchanged. */
Test(steps_on_device, arrays_with_and_without_lines_are_exchanged)
{
    static tall_values u, v, found;
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_2d(DCL_UINT32, TALL, BROAD);
    const dcl_box inner = {.rank = 2, .start = {1, 1}, .count = {TALL - 2, BROAD - 2}, .stride = {1, 1}};
    dcl_array *U = test_array(cluster, "block,*", grid), *V = test_array(cluster, "block,*", grid);
    TEST_INSIDE(cluster)->config.lines = 0;
    dcl_array *W = test_array(cluster, "block,*", grid), *X = test_array(cluster, "block,*", grid);
    for (int i = 0; i < TALL; i++)
        for (int j = 0; j < BROAD; j++)
            u[i][j] = (uint32_t)(i * 37 + j);
    TEST_OK(dcl_write(U, NULL, u, NULL));
    memset(v, 0, sizeof v);
    for (int n = 0; n < 24; n++) {
        if (n % 8 == 0) { /* the contents change to the other pair of storages, and back */
            TEST_OK(dcl_copy(U, W));
            TEST_OK(dcl_swap(U, W));
            TEST_OK(dcl_swap(V, X));
            TEST_OK(dcl_copy(X, V));
        }
        TEST_OK(dcl_forall_over(cluster, &inner, stencil, DCL_OUT(V), DCL_IN(U)));
        TEST_OK(dcl_swap(U, V));
        tall_step(n % 2 == 0 ? v : u, n % 2 == 0 ? u : v);
    }
    TEST_OK(dcl_read(U, NULL, found, NULL));
    cr_expect_eq(memcmp(found, u, sizeof u), 0);
    dcl_array *all[] = {U, V, W, X};
    for (int k = 0; k < 4; k++)
        dcl_release(all[k]);
    TEST_OK(dcl_close(cluster));
}

/* Count the lines over the border that a call moves in each direction, and run it. */
static int run_counted(dcl_cluster *cluster, const dcl_box *box, const char *body, int count, const dcl_arg args[])
{
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, box, body, count, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_call_run(DCL_CALL_BODY_N(cluster, box, body, count, args)));
    TEST_OK(dcl_wait(cluster));
    cr_assert_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved - before.bytes_moved, planned.bytes_moved);
    return (int)((planned.bytes_moved + BROAD * 4 - 1) / (BROAD * 4));
}

/* Two fields that are updated in place, as those of a wave, and a row of one of them that is set from an array of another grid.
 * @param row  the row. @param moved  expected: lines that each time step moves over the border, in both directions together. */
static void run_fields(int64_t row, const char *moved)
{
    enum { TIMES = 20 };
    static tall_values e, h, found;
    uint32_t f[TIMES];
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_2d(DCL_UINT32, TALL, BROAD), times = dcl_grid_1d(DCL_UINT32, TIMES);
    dcl_array *E = test_array(cluster, "block,*", grid), *H = test_array(cluster, "block,*", grid),
              *F = test_array(cluster, "block", times);
    const dcl_box set = {.rank = 2, .start = {row, 0}, .count = {1, BROAD}, .stride = {1, 1}},
                  lower = {.rank = 2, .start = {1, 0}, .count = {TALL - 1, BROAD}, .stride = {1, 1}},
                  upper = {.rank = 2, .start = {0, 0}, .count = {TALL - 1, BROAD}, .stride = {1, 1}};
    for (int i = 0; i < TALL; i++)
        for (int j = 0; j < BROAD; j++) {
            e[i][j] = (uint32_t)(i * 37 + j);
            h[i][j] = (uint32_t)(i * 5 - j);
        }
    for (int t = 0; t < TIMES; t++)
        f[t] = (uint32_t)(t * 1001);
    TEST_OK(dcl_write(E, NULL, e, NULL));
    TEST_OK(dcl_write(H, NULL, h, NULL));
    TEST_OK(dcl_write(F, NULL, f, NULL));
    char text[8 * TIMES] = "";
    for (long t = 0; t < TIMES; t++) {
        dcl_arg source[] = {DCL_OUT(E), DCL_IN(F), DCL_VALUE(t)}, first[] = {DCL_INOUT(E), DCL_IN(H)},
                second[] = {DCL_INOUT(H), DCL_IN(E)};
        run_counted(cluster, &set, "E(i,j) = F(t) + j;", 3, source); /* may move the element of F */
        int lines = run_counted(cluster, &lower, "E(i,j) -= 3 * (H(i,j) - H(i-1,j));", 2, first);
        lines += run_counted(cluster, &upper, "H(i,j) -= E(i+1,j) - E(i,j);", 2, second);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " %d", lines);
        for (int j = 0; j < BROAD; j++)
            e[row][j] = f[t] + (uint32_t)j;
        for (int i = 1; i < TALL; i++)
            for (int j = 0; j < BROAD; j++)
                e[i][j] -= 3 * (h[i][j] - h[i - 1][j]);
        for (int i = 0; i < TALL - 1; i++)
            for (int j = 0; j < BROAD; j++)
                h[i][j] -= e[i + 1][j] - e[i][j];
    }
    cr_expect_str_eq(text, moved, "%s", text);
    TEST_OK(dcl_read(E, NULL, found, NULL));
    cr_expect_eq(memcmp(found, e, sizeof e), 0);
    TEST_OK(dcl_read(H, NULL, found, NULL));
    cr_expect_eq(memcmp(found, h, sizeof h), 0);
    dcl_array *all[] = {E, H, F};
    for (int k = 0; k < 3; k++)
        dcl_release(all[k]);
    TEST_OK(dcl_close(cluster));
}

/* A row that is far from the border is set: steps still share exchanges. */
Test(steps_on_device, a_source_far_from_the_border) { run_fields(0, " 2 2 128 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 64 64"); }
/* A row at the border is set by a body that cannot set it in the lines, too: they are received again for each step. */
Test(steps_on_device, a_source_near_the_border)
{
    run_fields(511, " 2 2 128 65 65 65 65 65 65 65 65 65 65 65 65 65 65 65 65 65");
}

/* Arrays of rank 1 have lines of one element. */
Test(steps_on_device, lines_of_one_element)
{
    enum { LENGTH = 1 << 19 };
    static uint32_t u[LENGTH], v[LENGTH], found[LENGTH];
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_1d(DCL_UINT32, LENGTH);
    dcl_array *U = test_array(cluster, "block", grid), *V = test_array(cluster, "block", grid);
    const dcl_box inner = {.rank = 1, .start = {1}, .count = {LENGTH - 2}, .stride = {1}};
    for (uint32_t i = 0; i < LENGTH; i++)
        u[i] = i * i;
    TEST_OK(dcl_write(U, NULL, u, NULL));
    TEST_OK(dcl_write(V, NULL, u, NULL));
    memcpy(v, u, sizeof v);
    char text[4 * 40 + 8] = "";
    for (int n = 0; n < 40; n++) {
        dcl_counters planned;
        dcl_arg args[] = {DCL_OUT(V), DCL_IN(U)};
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, &inner, "V(i) = U(i-1) * U(i) + U(i+1);", 2, args),
                                 DCL_ALL_NODES, &planned));
        TEST_OK(dcl_call_run(DCL_CALL_BODY_N(cluster, &inner, "V(i) = U(i-1) * U(i) + U(i+1);", 2, args)));
        TEST_OK(dcl_swap(U, V));
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " %d", (int)planned.bytes_moved / 8);
        uint32_t *from = n % 2 == 0 ? u : v, *to = n % 2 == 0 ? v : u;
        for (int i = 1; i < LENGTH - 1; i++)
            to[i] = from[i - 1] * from[i] + from[i + 1];
    }
    cr_expect_str_eq(text, " 1 1 1 1 32 32 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 32 0 0", "%s",
                     text);
    TEST_OK(dcl_read(U, NULL, found, NULL));
    cr_expect_eq(memcmp(found, u, sizeof u), 0);
    dcl_release(U);
    dcl_release(V);
    TEST_OK(dcl_close(cluster));
}

/* A body that sets a few elements between the steps does not interrupt the loop. The report calls no input written. */
Test(steps_on_device, elements_are_set_between_steps)
{
    static tall_values u, v, found;
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_2d(DCL_UINT32, TALL, BROAD);
    dcl_array *U = test_array(cluster, "block,*", grid), *V = test_array(cluster, "block,*", grid);
    const dcl_box source = {.rank = 2, .start = {505, 20}, .count = {10, 30}, .stride = {1, 1}},
                  inner = {.rank = 2, .start = {1, 1}, .count = {TALL - 2, BROAD - 2}, .stride = {1, 1}};
    memset(u, 0, sizeof u);
    memset(v, 0, sizeof v);
    char text[4 * AUTOMATIC + 8] = "";
    for (int n = 0; n < AUTOMATIC; n++) {
        dcl_arg args[] = {DCL_OUT(V), DCL_IN(U)};
        dcl_report *report = dcl_call_report(DCL_CALL_BODY_N(cluster, &inner, stencil, 2, args), DCL_ALL_NODES);
        cr_assert_not_null(report, "%s", dcl_error());
        cr_assert(!report->array[1].written && report->array[1].read, "step %d", n);
        dcl_report_release(report);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " %d", (int)run_tall_step(cluster, V, U));
        tall_step(n % 2 == 0 ? v : u, n % 2 == 0 ? u : v);
        TEST_OK(dcl_forall_over(cluster, &source, "U(i,j) = i + j;", DCL_OUT(U)));
        for (int i = 505; i < 515; i++)
            for (int j = 20; j < 50; j++)
                *(n % 2 == 0 ? &v[i][j] : &u[i][j]) = (uint32_t)(i + j);
    }
    cr_expect_str_eq(text, " 1 1 1 1 32 32 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "%s", text);
    TEST_OK(dcl_read(U, NULL, found, NULL));
    cr_expect_eq(memcmp(found, u, sizeof u), 0);
    dcl_release(U);
    dcl_release(V);
    TEST_OK(dcl_close(cluster));
}

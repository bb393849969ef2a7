/* test/runtime/loops_bytes_test.c - tests loop nests: what their operations move between nodes, compared with what isl says the threads of
 * each node read and write of elements that other nodes own; and what time loops move with and without lines around parts. */
#include <criterion/criterion.h>
#include <isl/point.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "loop/inside.h"
#include "support/kernels.h"
#include "support/nodes.h"

TestSuite(loops_bytes, .timeout = TEST_SECONDS);

enum {
    MAPS = 3,
    MOST_NODES = 3,
    MOST_ARRAYS = TEST_KERNEL_ARRAYS + 6 + DCLI_LOOPS_SCALARS,
    MOST = TEST_KERNEL_ELEMENTS,
    BYTES = 8
};

/* The elements of an array that threads of a node use in an operation, and the node that owns each. */
struct use {
    bool used[MOST_NODES][MOST];
    int owner[MOST];
    int64_t elements;
};

/* What is moved and what must be, in bytes. */
struct sum {
    int64_t moved, needed;
};

/* A kernel under certain maps. */
struct setting {
    dcl_array *array[MOST_ARRAYS], *copy[MOST_ARRAYS]; /* by symbol */
    struct use use[MOST_ARRAYS];
    struct sum sum[2]; /* over all operations and nodes: what a node needs are no boxes; are boxes */
};

/* A thread, by its element of the first output, and an element that it uses. */
struct pair {
    int array;
    int64_t thread, element;
};

struct measurement {
    dcl_cluster *cluster;
    int nodes;
    const struct test_kernel *kernel;
    dcli_loops_plan *plan;
    const dcli_loops_name *name; /* of the arguments */
    int name_count;
    struct setting *setting;           /* [MAPS] */
    int64_t pair_count, pair_capacity; /* of the current operation */
    struct pair *pair;
};

static const char *const maps[MAPS][3] = {{"block", "block,*", "block,*,*"},
                                          {"cyclic(3)", "*,cyclic(5)", "*,block,cyclic(2)"},
                                          {"cyclic", "cyclic(2),*", "*,*,block"}};

static int64_t place_of(const dcl_grid *grid, const int64_t index[])
{
    int64_t at = 0;
    for (int r = 0; r < grid->rank; r++)
        at = at * grid->extent[r] + index[r] - grid->origin[r];
    return at;
}

/* Note the owners of the elements of an array. */
static void find_owners(struct use *use, const dcl_grid *grid, dcl_map *map)
{
    use->elements = dcl_grid_count(grid);
    cr_assert_leq(use->elements, MOST);
    for (int64_t at = 0; at < use->elements; at++) {
        int64_t index[DCL_MAX_RANK], rest = at, offset;
        for (int r = grid->rank - 1; r >= 0; r--) {
            index[r] = grid->origin[r] + rest % grid->extent[r];
            rest /= grid->extent[r];
        }
        TEST_OK(dcl_map_locate(map, grid, index, &use->owner[at], &offset));
    }
}

static void make_arrays(struct measurement *m, int variant)
{
    struct setting *setting = &m->setting[variant];
    for (int a = 0; a < m->plan->tree->name_count; a++) {
        const dcli_loops_name *name = dcli_loops_plan_name(m->plan, a);
        if (name->access == DCL_ACCESS_VALUE)
            continue;
        dcl_map *map = a < m->name_count ? dcl_map_parse(m->cluster, maps[(variant + a) % MAPS][name->grid.rank - 1])
                                         : dcl_map_default(m->cluster);
        setting->array[a] = dcl_agile(name->grid, map);
        setting->copy[a] = dcl_agile(name->grid, map);
        cr_assert_not_null(setting->copy[a], "%s", dcl_error());
        find_owners(&setting->use[a], &name->grid, map);
        dcl_map_release(map);
    }
}

/* ---- by isl ---------------------------------------------------------------------------------------------------------- */

struct visit {
    struct measurement *measurement;
    int array, first; /* the array that is used; the output whose owner computes */
};

static isl_stat visit_pair(__isl_take isl_point *point, void *user)
{
    struct visit *visit = user;
    struct measurement *m = visit->measurement;
    const dcl_grid *of_threads = &dcli_loops_plan_name(m->plan, visit->first)->grid,
                   *grid = &dcli_loops_plan_name(m->plan, visit->array)->grid;
    int64_t index[2 * DCL_MAX_RANK];
    for (int d = 0; d < of_threads->rank + grid->rank; d++) {
        isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, d);
        index[d] = isl_val_get_num_si(value);
        isl_val_free(value);
    }
    isl_point_free(point);
    cr_assert_eq(dcli_grow(&m->pair, m->pair_count, &m->pair_capacity, sizeof *m->pair), 0);
    m->pair[m->pair_count++] =
        (struct pair){visit->array, place_of(of_threads, index), place_of(grid, index + of_threads->rank)};
    return isl_stat_ok;
}

/* Note what threads use of an array. @param pairs  from threads to elements, by the counters of the hosts; taken */
static void note_pairs(struct measurement *m, const dcli_loops_call *call, isl_map *pairs, int array, int first)
{
    struct visit visit = {m, array, first};
    isl_set *set = isl_set_flatten(isl_map_wrap(pairs));
    for (int k = 0; k < m->plan->operation[call->operation]->hosts.count; k++) {
        char name[] = {'p', (char)('0' + k), '\0'};
        int p = isl_set_find_dim_by_name(set, isl_dim_param, name);
        if (p >= 0)
            set = isl_set_fix_si(set, isl_dim_param, (unsigned)p, (int)call->counter[k]);
    }
    set = isl_set_project_out_all_params(set);
    cr_assert_eq(isl_set_foreach_point(set, visit_pair, &visit), isl_stat_ok);
    isl_set_free(set);
}

/* List what the threads of an operation read, and the elements that they write. */
static void list_pairs(struct measurement *m, const dcli_loops_call *call)
{
    const dcli_loops_operation *operation = m->plan->operation[call->operation];
    const dcli_loops_tree *tree = m->plan->tree;
    for (int s = 0; s < tree->statement_count; s++) {
        if (!dcli_loops_in(operation->statements, s))
            continue;
        for (int r = 0; r < tree->statement[s].read_count; r++)
            if (tree->statement[s].read[r].is_array)
                note_pairs(m, call, dcli_loops_reached(operation, m->plan->sets, s, r),
                           tree->statement[s].read[r].symbol, operation->output[0]);
        if (!tree->statement[s].target.is_array)
            continue;
        isl_set *threads = isl_map_range(isl_map_copy(operation->threads[s]));
        note_pairs(m, call, isl_set_identity(threads), tree->statement[s].target.symbol, operation->output[0]);
    }
}

/* Note which node uses which elements: a thread runs where its element of the first output is. */
static void find_uses(const struct measurement *m, struct setting *setting, int first)
{
    for (int a = 0; a < m->plan->tree->name_count; a++)
        memset(setting->use[a].used, 0, sizeof setting->use[a].used);
    for (const struct pair *pair = m->pair; pair < m->pair + m->pair_count; pair++)
        setting->use[pair->array].used[setting->use[first].owner[pair->thread]][pair->element] = true;
}

/* Whether the elements of an array that a node uses are a box. */
static bool is_box(const struct use *use, const dcl_grid *grid, int node)
{
    int64_t low[DCL_MAX_RANK], high[DCL_MAX_RANK], count = 0, all = 1;
    for (int64_t at = 0; at < use->elements; at++) {
        int64_t rest = at;
        if (!use->used[node][at])
            continue;
        for (int r = grid->rank - 1; r >= 0; r--) {
            int64_t x = rest % grid->extent[r];
            low[r] = count == 0 || x < low[r] ? x : low[r];
            high[r] = count == 0 || x > high[r] ? x : high[r];
            rest /= grid->extent[r];
        }
        count++;
    }
    for (int r = 0; r < grid->rank && count > 0; r++)
        all *= high[r] - low[r] + 1;
    return count == 0 || count == all;
}

/* The bytes that a node uses, but does not own. @param boxes_out  whether what it uses is a box of each array */
static int64_t needed_by(const struct measurement *m, const struct setting *setting, int node, bool *boxes_out)
{
    int64_t needed = 0;
    *boxes_out = true;
    for (int a = 0; a < m->plan->tree->name_count; a++) {
        const struct use *use = &setting->use[a];
        for (int64_t at = 0; at < use->elements; at++)
            needed += use->used[node][at] && use->owner[at] != node ? BYTES : 0;
        *boxes_out = *boxes_out && is_box(use, &dcli_loops_plan_name(m->plan, a)->grid, node);
    }
    return needed;
}

/* ---- by the library --------------------------------------------------------------------------------------------------- */

static void make_args(const struct measurement *m, const struct setting *setting, const dcli_loops_call *call,
                      dcl_arg args_out[])
{
    for (int k = 0; k < call->operand_count; k++) {
        const dcli_loops_operand *operand = &call->operand[k];
        if (operand->access == DCL_ACCESS_OVER)
            args_out[k] = DCL_OVER(operand->over);
        else if (operand->symbol < 0)
            args_out[k] = dcl_arg_signed(operand->name, DCL_INT64, operand->value);
        else if (operand->access != DCL_ACCESS_VALUE)
            args_out[k] =
                dcl_arg_array(operand->access, operand->name,
                              operand->of_copy ? setting->copy[operand->symbol] : setting->array[operand->symbol]);
        else if (m->name[operand->symbol].is_integer)
            args_out[k] = dcl_arg_signed(operand->name, DCL_INT32, m->name[operand->symbol].value);
        else
            args_out[k] = dcl_arg_floating(operand->name, DCL_DOUBLE, 1.5);
    }
}

/* The first two iterations of an outermost loop that the program runs are enough. */
static dcl_status look_at_operation(void *user, const dcli_loops_call *call)
{
    struct measurement *m = user;
    if (call->operation < 0 || (m->plan->operation[call->operation]->hosts.count > 0 && call->counter[0] > 1))
        return DCL_OK; /* copies have the map of what they copy */
    m->pair_count = 0;
    list_pairs(m, call);
    for (int variant = 0; variant < MAPS; variant++) {
        struct setting *setting = &m->setting[variant];
        dcl_arg args[DCLI_LOOPS_OPERANDS];
        make_args(m, setting, call, args);
        find_uses(m, setting, m->plan->operation[call->operation]->output[0]);
        const dcl_call body = dcl_call_body(m->cluster, &call->box, call->body, call->operand_count, args);
        for (int node = 0; node < m->nodes; node++) {
            dcl_counters counters;
            bool boxes;
            int64_t needed = needed_by(m, setting, node, &boxes);
            TEST_OK(dcl_call_explain(&body, node, &counters));
            cr_expect_geq(counters.bytes_moved, needed, "%s: less is moved than is used", m->kernel->name);
            setting->sum[boxes].moved += counters.bytes_moved;
            setting->sum[boxes].needed += needed;
        }
    }
    return DCL_OK;
}

/* ---- the test ---------------------------------------------------------------------------------------------------------- */

/* Compare what was moved with the limit. */
static void judge(const struct measurement *m, int variant, bool boxes)
{
    const struct sum *sum = &m->setting[variant].sum[boxes];
    double limit = boxes ? 1.05 : 1.305; /* 1.3; a three-hundredth of a kernel is an element or two */
    if (sum->moved > 0)
        cr_log_info("%-12s %d nodes, maps %d, %-6s %8ld bytes moved, %8ld needed: %.3f\n", m->kernel->name, m->nodes,
                    variant, boxes ? "boxes" : "others", (long)sum->moved, (long)sum->needed,
                    (double)sum->moved / (double)sum->needed);
    cr_expect((double)sum->moved <= limit * (double)sum->needed,
              "%s on %d nodes, maps %d, %s: %ld bytes are moved, %ld are needed", m->kernel->name, m->nodes, variant,
              boxes ? "boxes" : "others", (long)sum->moved, (long)sum->needed);
}

static void measure(dcl_cluster *cluster, int nodes, const struct test_kernel *kernel)
{
    dcli_loops_name names[TEST_KERNEL_ARRAYS + 6];
    struct measurement m = {.cluster = cluster, .nodes = nodes, .kernel = kernel, .name = names};
    m.setting = calloc(MAPS, sizeof *m.setting);
    cr_assert_not_null(m.setting);
    m.name_count = test_kernel_names(kernel, names);
    TEST_OK(dcli_loops_plan_make(kernel->text, m.name_count, names, &m.plan));
    cr_assert_leq(m.plan->tree->name_count, MOST_ARRAYS);
    for (int variant = 0; variant < MAPS; variant++)
        make_arrays(&m, variant);
    TEST_OK(dcli_loops_plan_walk(m.plan, look_at_operation, &m));
    for (int variant = 0; variant < MAPS; variant++) {
        judge(&m, variant, true);
        judge(&m, variant, false);
        for (int a = 0; a < MOST_ARRAYS; a++) {
            dcl_release(m.setting[variant].array[a]);
            dcl_release(m.setting[variant].copy[a]);
        }
    }
    dcli_loops_plan_free(m.plan);
    dcli_free(m.pair);
    free(m.setting);
}

/* Whether threads of a kernel add up a row or column of a triangle. A tile receives the box around what its threads read: a node that has one
 * tile needs a triangle and receives the square around it. Nodes with several tiles receive steps along the diagonal. */
static bool sums_triangles(const struct test_kernel *kernel)
{
    return strcmp(kernel->name, "trmm") == 0 || strcmp(kernel->name, "symm") == 0;
}

/* Measure every second kernel. */
static void measure_half(int nodes, int half)
{
    dcl_config config = test_config(nodes);
    dcl_cluster *whole = test_open(&config), *cut;
    config.tile_bytes = 8 * BYTES;
    cut = test_open(&config);
    for (int k = half; k < test_kernel_count; k += 2)
        if (!test_kernels[k].warned)
            measure(sums_triangles(&test_kernels[k]) ? cut : whole, nodes, &test_kernels[k]);
    TEST_OK(dcl_close(cut));
    TEST_OK(dcl_close(whole));
}

Test(loops_bytes, little_more_is_moved_than_is_used_on_two_nodes) { measure_half(2, 0); }

Test(loops_bytes, little_more_is_moved_than_is_used_on_two_nodes_by_the_others) { measure_half(2, 1); }

Test(loops_bytes, little_more_is_moved_than_is_used_on_three_nodes) { measure_half(3, 0); }

Test(loops_bytes, little_more_is_moved_than_is_used_on_three_nodes_by_the_others) { measure_half(3, 1); }

/* ---- time loops ------------------------------------------------------------------------------------------------------- */

enum { ROWS = 1024, COLUMNS = 512 }; /* parts on two nodes are large enough for lines around them */

typedef double plate[ROWS][COLUMNS];

#define JACOBI                                                                                     \
    for (int t = 0; t < steps; t++) {                                                              \
        for (int i = 1; i < n - 1; i++)                                                            \
            for (int j = 1; j < m - 1; j++)                                                        \
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]); \
        for (int i = 1; i < n - 1; i++)                                                            \
            for (int j = 1; j < m - 1; j++)                                                        \
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]); \
    }
#define FDTD                                                       \
    for (int t = 0; t < steps; t++) {                              \
        for (int i = 1; i < n; i++)                                \
            for (int j = 0; j < m; j++)                            \
                A[i][j] = A[i][j] - 0.5 * (B[i][j] - B[i - 1][j]); \
        for (int i = 0; i < n - 1; i++)                            \
            for (int j = 0; j < m; j++)                            \
                B[i][j] = B[i][j] - 0.7 * (A[i + 1][j] - A[i][j]); \
    }
#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)

static void jacobi(plate A, plate B, int n, int m, int steps) { JACOBI }
static void fdtd(plate A, plate B, int n, int m, int steps) { FDTD }

struct time_loop {
    const char *text;
    void (*run)(plate A, plate B, int n, int m, int steps);
};

/* Explain a time loop and run it on two nodes under block rows.
 * @param lines  the setting. @return what moves, as explained and counted. */
static dcl_counters run_time_loop(const struct time_loop *loop, size_t lines, int steps)
{
    static plate first[2], right[2], found;
    const int n = ROWS, m = COLUMNS;
    dcl_config config = test_config(2);
    config.lines = lines;
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS);
    dcl_array *A = test_array(cluster, "block,*", grid), *B = test_array(cluster, "block,*", grid);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            first[0][i][j] = (i * 37 + j) % 101 / 3.0;
            first[1][i][j] = (i * 5 + j * 11) % 97 / 7.0;
        }
    memcpy(right, first, sizeof right);
    loop->run(right[0], right[1], n, m, steps);
    TEST_OK(dcl_write(A, NULL, first[0], NULL));
    TEST_OK(dcl_write(B, NULL, first[1], NULL));
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    const dcl_call *call =
        DCL_CALL_LOOPS(cluster, loop->text, DCL_INOUT(A), DCL_INOUT(B), DCL_VALUE(n), DCL_VALUE(m), DCL_VALUE(steps));
    TEST_OK(dcl_call_explain(call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_call_run(call));
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "%d lines: %ld are planned, %ld counted",
                 (int)lines, (long)planned.bytes_moved, (long)(after.bytes_moved - before.bytes_moved));
    dcl_array *array[] = {A, B};
    for (int k = 0; k < 2; k++) {
        TEST_OK(dcl_read(array[k], NULL, found, NULL));
        cr_expect_eq(memcmp(found, right[k], sizeof found), 0, "%d lines: array %d differs", (int)lines, k);
        dcl_release(array[k]);
    }
    TEST_OK(dcl_close(cluster));
    return planned;
}

/* The elements of a row that are moved by a stencil that does not write the first and last column are those between them. */
Test(loops_bytes, a_time_loop_moves_a_row_per_neighbour_and_half_step_without_lines)
{
    const struct time_loop jacobi_2d = {TEXT_OF(JACOBI), jacobi}, fdtd_2d = {TEXT_OF(FDTD), fdtd};
    cr_expect_eq(run_time_loop(&jacobi_2d, 0, 20).bytes_moved, 40 * 2 * (int64_t)(COLUMNS - 2) * BYTES);
    cr_expect_eq(run_time_loop(&fdtd_2d, 0, 9).bytes_moved, 18 * (int64_t)COLUMNS * BYTES);
}

/* With k lines, k rows move at once: from the first half step on, because the nest says how often the loop runs. The second half step
 * needs all lines again, for their first and last columns, which the first one does not write. From then on they suffice for k half
 * steps. */
Test(loops_bytes, a_time_loop_moves_k_rows_in_k_half_steps_with_lines)
{
    const struct time_loop jacobi_2d = {TEXT_OF(JACOBI), jacobi}, fdtd_2d = {TEXT_OF(FDTD), fdtd};
    const int64_t row = 2 * COLUMNS * BYTES; /* in both directions */
    cr_expect_eq(run_time_loop(&jacobi_2d, 32, 20).bytes_moved, 3 * 32 * row, "in half steps 1, 2 and 34");
    cr_expect_eq(run_time_loop(&jacobi_2d, 8, 20).bytes_moved, 6 * 8 * row, "in half steps 1, 2, 10, 18, 26 and 34");
    cr_expect_eq(run_time_loop(&jacobi_2d, 8, 6).bytes_moved, 4 * 2 * (int64_t)(COLUMNS - 2) * BYTES + 2 * 8 * row,
                 "a loop of few iterations begins with four single rows");
    cr_expect_eq(run_time_loop(&fdtd_2d, 8, 9).bytes_moved, 2 * 2 * 8 * row, "both fields, in steps 1 and 5");
}

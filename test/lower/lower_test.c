/* test/lower/lower_test.c - what small operations become on a device: examples to check by hand, as text. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>

#include "base/alloc.h"
#include "kernel/tile_kernel.h"
#include "lower/print.h"
#include "lower/routes.h"
#include "lower/rows.h"
#include "support/setrow.h"
#include "support/ways.h"
#include "workqueue/ops.h"

enum { NODES = 2 };

/* Kinds of devices. */
enum { PROCESSOR, ELSEWHERE, GPU };

static dcli_traits traits_of(int device)
{
    return (dcli_traits){.is_gpu = device == GPU,
                         .in_place = device != GPU,
                         .same_addresses = device == PROCESSOR,
                         .compute_units = 1,
                         .near_bytes = 128 << 10,
                         .shares = 2};
}

/* A body over C and A, grids and maps as "extents|map", on node 0 of two. */
struct lower_case {
    char what[48], body[64], c[48], a[48];
    bool in_place;
    int device;
    bool all; /* of A is declared */
    char plan[400], lowered[300];
};

static const dcli_layout *read_array(const char *text)
{
    dcl_grid grid = {.type = DCL_INT64};
    for (char after = 'x'; after == 'x'; text++) {
        int used = 0;
        long long extent;
        cr_assert_eq(sscanf(text, "%lld%n", &extent, &used), 1, "%s", text);
        grid.extent[grid.rank++] = extent;
        text += used;
        after = *text;
    }
    return test_layout(text, NODES, &grid);
}

static dcli_plan *plan_early(const dcli_operation *operation, bool in_place, int64_t early_bytes)
{
    dcli_plan_terms terms = {.node_count = NODES,
                             .ways = test_ways(in_place),
                             .batch_bytes = 1 << 20,
                             .chunk_bytes = 1 << 22,
                             .pool_bytes = INT64_C(1) << 40,
                             .kept_bytes = 1 << 20,
                             .early_bytes = early_bytes};
    dcli_plan *plan = NULL;
    cr_assert_eq(dcli_plan_make(operation, 0, &terms, &plan), DCL_OK, "%s", dcl_error());
    return plan;
}

static dcli_plan *plan_of(const dcli_operation *operation, bool in_place) { return plan_early(operation, in_place, 0); }

ParameterizedTestParameters(lower, examples)
{
    static struct lower_case cases[] = {
        {"all in the own part", "C(i) = A(i);", "8|block", "8|block", false, PROCESSOR, false,
         "batch 0: 1 tiles\n"
         "  work [0:4]: C in own part at 0, A in own part at 0\n",
         "dcl_unit: C bound in own part, A bound in own part; 1 rows\n"},
        {"a peer's part, read in place", "C(i) = A(7 - i);", "8|block", "8|block", true, ELSEWHERE, false,
         "batch 0: 1 tiles\n"
         "  work [0:4]: C in own part at 0, A in peer 1 at 3\n",
         "dcl_unit: C bound in own part, A bound in peer 1; 1 rows\n"},
        {"a chunk, of a neighbour", "C(i) = A(i+1);", "8|block", "8|block", false, GPU, false,
         "batch 0: 1 tiles\n"
         "  work [0:3]: C in own part at 0, A in own part at 1\n"
         "  work [3:4]: C in own part at 3, A in stage 0 at 0\n"
         "  stage 0 of A [4:5], from [4:5] chunk 0\n"
         "chunk 0 from peer 1: 8 bytes\n",
         "A from chunk 0 to stage by wire: 1 elements in 1\n"
         "dcl_unit: C bound in own part, A bound in own part; 1 rows\n"
         "dcl_unit: C bound in own part, A bound in stage; 1 rows\n"
         "arena of 64 bytes\n"},
        {"pieces dealt in turn, gathered by kernels", "C(i,j) = A(j,i);", "4x4|block,*", "4x4|rows:cyclic(1x1)", true,
         PROCESSOR, false,
         "batch 0: 1 tiles\n"
         "  work [0:1, 0:4]: C in own part at 0, A in own part at 0\n"
         "  work [1:2, 0:4]: C in own part at 4, A in peer 1 at 0\n",
         "dcl_straight: C bound in own part, A gathered; 1 rows in 1 groups of 2 pieces\n"
         "arena of 192 bytes\n"},
        {"all of an array, copied by the host", "C(i) = A(i);", "8|block", "8|block", true, ELSEWHERE, true,
         "batch 0: 1 tiles\n"
         "  work [0:4]: C in own part at 0, A in stage 0 at 0\n"
         "  stage 0 of A [0:8], from [0:4] own part, [4:8] peer 1\n",
         "A from own part to stage by host: 4 elements in 1\n"
         "A from peer 1 to stage by host: 4 elements in 1\n"
         "dcl_unit: C bound in own part, A bound in stage; 1 rows\n"
         "arena of 64 bytes\n"},
        {"all of an array, by a kernel and in a chunk", "C(i) = A(i);", "8|block", "8|block", false, GPU, true,
         "batch 0: 1 tiles\n"
         "  work [0:4]: C in own part at 0, A in stage 0 at 0\n"
         "  stage 0 of A [0:8], from [0:4] own part, [4:8] chunk 0\n"
         "chunk 0 from peer 1: 32 bytes\n",
         "A from own part to stage by kernel: 4 elements in 1\n"
         "A from chunk 0 to stage by wire: 4 elements in 1\n"
         "dcl_unit: C bound in own part, A bound in stage; 1 rows\n"
         "arena of 64 bytes\n"},
    };
    return cr_make_param_array(struct lower_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct lower_case *c, lower, examples)
{
    const dcli_operation *operation =
        TEST_FORALL(1, c->body, {DCL_ACCESS_OUT, "C", 1, read_array(c->c)},
                    {c->all ? DCL_ACCESS_IN_ALL : DCL_ACCESS_IN, "A", 2, read_array(c->a)});
    const dcli_traits traits = traits_of(c->device);
    dcli_plan *plan = plan_of(operation, c->in_place);
    dcli_lowered lowered = {0};
    dcli_text text = {0};
    dcli_plan_print(operation, plan, INT64_MAX, &text);
    cr_expect_str_eq(text.bytes, c->plan, "%s: the plan is\n%s", c->what, text.bytes);
    dcli_text_free(&text);
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    dcli_lowered_print(operation, &lowered, INT64_MAX, &text);
    cr_expect_str_eq(text.bytes, c->lowered, "%s: lowered it is\n%s", c->what, text.bytes);
    cr_expect_gt(dcli_lowered_bytes(&lowered, operation->body), 0);
    dcli_text_free(&text);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* Plans may have millions of works: as many lines as wanted are put, and how many there are beyond. */
Test(lower, long_lists_are_cut)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {16, 16}};
    const dcli_operation *operation =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, test_layout("rows:cyclic(2x2)", NODES, &grid)},
                    {DCL_ACCESS_IN, "A", 2, test_layout("rows:cyclic(2x2)", NODES, &grid)});
    dcli_plan *plan = plan_of(operation, true);
    dcli_text text = {0};
    dcli_plan_print(operation, plan, 3, &text);
    cr_assert_not_null(text.bytes);
    int lines = 0;
    for (const char *at = text.bytes; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    cr_expect_eq(lines, 1 + 3 + 1, "%s", text.bytes);
    char rest[40];
    snprintf(rest, sizeof rest, "and %d more works\n", (int)plan->batch[0].work_count - 3);
    cr_expect_not_null(strstr(text.bytes, rest), "\"%s\" is not in\n%s", rest, text.bytes);
    dcli_text_free(&text);
    dcli_plan_free(plan);
    test_ops_free();
}

/* A body over C and A as above, all in place on node 0; whether peers' parts are read after the batch has been started. */
struct reads_case {
    char what[48], body[64], c[48], a[48];
    int device;
    int64_t early_bytes;
    bool reads;
};

ParameterizedTestParameters(lower, reads_peers)
{
    static struct reads_case cases[] = {
        {"the own part", "C(i) = A(i);", "8|block", "8|block", PROCESSOR, 0, false},
        {"a peer's part is bound", "C(i) = A(7 - i);", "8|block", "8|block", PROCESSOR, 0, true},
        {"too much", "C(i) = A(7 - i);", "8|block", "8|block", PROCESSOR, 31, true},
        {"copied early", "C(i) = A(7 - i);", "8|block", "8|block", PROCESSOR, 32, false},
        {"copied, but not by the host", "C(i) = A(7 - i);", "8|block", "8|block", GPU, 32, true},
        {"gathered from a peer", "C(i,j) = A(j,i);", "4x4|block,*", "4x4|rows:cyclic(1x1)", PROCESSOR, 0, true},
        {"gathered, were it not early", "C(i,j) = A(j,i);", "4x4|block,*", "4x4|rows:cyclic(1x1)", PROCESSOR, 256,
         false},
        {"part of a stage, large", "C(i) = A(2*i);", "16|block", "32|cyclic(3)", PROCESSOR, 0, true},
        {"part of a stage, early", "C(i) = A(2*i);", "16|block", "32|cyclic(3)", PROCESSOR, 256, false},
    };
    return cr_make_param_array(struct reads_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct reads_case *c, lower, reads_peers)
{
    const dcli_operation *operation =
        TEST_FORALL(1, c->body, {DCL_ACCESS_OUT, "C", 1, read_array(c->c)}, {DCL_ACCESS_IN, "A", 2, read_array(c->a)});
    const dcli_traits traits = traits_of(c->device);
    dcli_plan *plan = plan_early(operation, true, c->early_bytes);
    dcli_lowered lowered = {0};
    dcli_text text = {0};
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    dcli_plan_print(operation, plan, 100, &text);
    dcli_lowered_print(operation, &lowered, 100, &text);
    cr_expect_eq(lowered.reads_peers, c->reads, "%s:\n%s", c->what, text.bytes);
    dcli_text_free(&text);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* Every second row of a large array is copied as one transfer. */
Test(lower, regular_pieces_are_one_transfer)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {64, 8}};
    const dcli_operation *operation =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, test_layout("block,*", NODES, &grid)},
                    {DCL_ACCESS_IN, "A", 2, test_layout("rows:cyclic(1x8)", NODES, &grid)});
    const dcli_traits traits = traits_of(GPU);
    dcli_plan *plan = plan_of(operation, false);
    dcli_lowered lowered = {0};
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    for (int64_t r = 0; r < lowered.routes.count; r++)
        cr_expect_eq(lowered.routes.route[r].transfers.count, 1, "route %d", (int)r);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* Segments of one shape are one launch of a GPU: the body sees its indices, so that rows cannot be joined. */
Test(lower, segments_are_sets_of_rows)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {220, 256}}; /* the last row of segments is cut */
    const dcli_operation *operation = TEST_FORALL(
        1, "C(i,j) = A(i,j) + i;", {DCL_ACCESS_OUT, "C", 1, test_layout("rows:cyclic(64x64)", NODES, &grid)},
        {DCL_ACCESS_IN, "A", 2, test_layout("rows:cyclic(64x64)", NODES, &grid)});
    const dcli_traits traits = traits_of(GPU);
    dcli_plan *plan = plan_of(operation, false);
    dcli_lowered lowered = {0};
    int64_t row[dcli_row_length(operation->body)];
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    cr_assert_eq(lowered.launch_count, 1);
    const dcli_launch *launch = &lowered.launch[0];
    cr_expect_eq(launch->row_count, 8);
    cr_assert_eq(launch->set_count, 2);
    const dcli_row_set *whole = &launch->set[launch->set[0].count == 6 ? 0 : 1];
    cr_assert_eq(whole->count, 6);
    for (int n = 0; n < 6; n++) { /* segments 0, 2, 4, ... of four a row of segments */
        write_set_row(operation->body, launch, whole - launch->set, n, row);
        cr_expect_eq(row[0], 64 * (n / 2), "start of row %d", n);
        cr_expect_eq(row[1], 128 * (n % 2), "start of row %d", n);
        cr_expect_eq(row[dcli_row_at(operation->body, DCLI_ROW_OFFSET, 1)], 64 * 64 * n);
    }
    dcli_text text = {0};
    dcli_lowered_print(operation, &lowered, INT64_MAX, &text);
    cr_expect_str_eq(text.bytes, "dcl_unit: C bound in own part, A bound in own part; 8 rows in 2 sets\n", "%s",
                     text.bytes);
    dcli_text_free(&text);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* Body, maps and extents of C and A, what node 0 of two GPUs launches, and the thickness of the first strips. */
struct mixed_case {
    char what[48], body[64], c[32], a[32];
    int64_t strip_elements;
    char lowered[300];
    int64_t thick;
};

ParameterizedTestParameters(lower, mixed)
{
    static struct mixed_case cases[] = {
        {"halves of a transposition", "C(i,j) = A(j,i);", "256x256|block,*", "256x256|block,*", 4096,
         "dcl_mixed: C bound in own part, A bound in own part and peer 1; 8 rows in 1 sets\n", 32},
        {"rows to columns", "C(i,j) = A(i,j) + i;", "256x256|*,block", "256x256|block,*", 4096,
         "dcl_mixed: C bound in own part, A bound in own part and peer 1; 8 rows in 1 sets\n", 32},
        {"strips of a plane", "C(i,j,k) = A(i,j,k) + i;", "16x64x64|*,*,block", "16x64x64|block,*,*", 4096,
         "dcl_mixed: C bound in own part, A bound in own part and peer 1; 8 rows in 1 sets\n", 2},
        {"a part that is left", "C(i,j) = A(i,j) + i;", "400x64|*,block", "400x64|splits(300),*", 512,
         "dcl_mixed: C bound in own part, A bound in own part and peer 1; 14 rows in 2 sets\n"
         "dcl_unit: C bound in own part, A bound in own part; 1 rows\n",
         16},
        {"a border", "C(i,j) = A(i+1,j) + i;", "256x256|block,*", "257x256|splits(128),*", 4096,
         "dcl_unit: C bound in own part, A bound in own part; 1 rows\n"
         "dcl_unit: C bound in own part, A bound in peer 1; 1 rows\n",
         0},
    };
    return cr_make_param_array(struct mixed_case, cases, sizeof cases / sizeof cases[0]);
}

/* On a GPU that reads another one's memory, strips of the own part and of the other's are run in turn. */
ParameterizedTest(struct mixed_case *c, lower, mixed)
{
    const dcli_operation *operation =
        TEST_FORALL(1, c->body, {DCL_ACCESS_OUT, "C", 1, read_array(c->c)}, {DCL_ACCESS_IN, "A", 2, read_array(c->a)});
    const dcli_body *body = operation->body;
    dcli_traits traits = traits_of(GPU);
    traits.reads_peers = true;
    traits.strip_elements = c->strip_elements;
    dcli_plan *plan = plan_of(operation, true);
    dcli_lowered lowered = {0};
    dcli_text text = {0};
    int64_t elements = 0, most = 0;
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    dcli_lowered_print(operation, &lowered, 100, &text);
    cr_expect_str_eq(text.bytes, c->lowered, "%s: lowered it is\n%s", c->what, text.bytes);
    cr_expect(lowered.reads_peers);
    for (int64_t l = 0; l < lowered.launch_count; l++)
        for (int64_t s = 0; s < lowered.launch[l].set_count; s++) {
            const dcli_launch *launch = &lowered.launch[l];
            int64_t row[dcli_row_length(body)];
            const int64_t *count = row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
            cr_expect(!launch->mixed || (launch->set[s].first % 2 == 0 && launch->set[s].count % 2 == 0),
                      "%s: set %d has %d rows from %d", c->what, (int)s, (int)launch->set[s].count,
                      (int)launch->set[s].first);
            for (int64_t n = 0; n < launch->set[s].count; n++) {
                write_set_row(body, launch, s, n, row);
                int64_t all = 1;
                for (int m = 0; m < body->space_rank; m++)
                    all *= count[m];
                elements += all;
                most = launch->mixed && count[0] > most ? count[0] : most;
            }
        }
    int64_t own = dcli_layout_owned(operation->operand[0].layout, 0);
    cr_expect_eq(elements, own, "%s: %d of %d elements", c->what, (int)elements, (int)own);
    cr_expect_eq(most, c->thick, "%s: strips of %d", c->what, (int)most);
    dcli_text_free(&text);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* On a GPU the tiles of one part are one row, also where the body sees its indices, and so are their borders. */
Test(lower, consecutive_tiles_are_one_row)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {512, 256}};
    const dcli_layout *layout = test_layout("block,*", NODES, &grid);
    const dcli_operation *operation =
        TEST_FORALL(1, "int n = 256; C(i,j) = j > 0 && j < n - 1 ? A(i,j-1) + A(i,j+1) : i;",
                    {DCL_ACCESS_OUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
    const dcli_traits traits = traits_of(GPU);
    dcli_plan_terms terms = {.node_count = NODES,
                             .ways = test_ways(false),
                             .batch_bytes = 1 << 14, /* eight rows of the grid, of 256 on the node */
                             .local_bytes = 1 << 20,
                             .chunk_bytes = 1 << 22,
                             .pool_bytes = INT64_C(1) << 40,
                             .kept_bytes = 1 << 20};
    dcli_plan *plan;
    cr_assert_eq(dcli_plan_make(operation, 0, &terms, &plan), DCL_OK, "%s", dcl_error());
    cr_assert_eq(plan->batch_count, 1);
    cr_assert_gt(plan->batch[0].work_count, 32 * 2, "several works a tile");
    dcli_lowered lowered = {0};
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    int64_t sets = 0, rows = 0, elements = 0, length = dcli_row_length(operation->body);
    int count = dcli_row_at(operation->body, DCLI_ROW_COUNT, 0);
    for (int64_t l = 0; l < lowered.launch_count; l++)
        for (int64_t s = 0; s < lowered.launch[l].set_count; s++) {
            const int64_t *row = lowered.launch[l].row + s * length;
            rows += lowered.launch[l].set[s].count;
            elements += lowered.launch[l].set[s].count * row[count] * row[count + 1];
            sets++;
        }
    cr_expect_eq(rows, 3, "the inside, and the first and last column: %d rows", (int)rows);
    cr_expect_eq(sets, 2, "both columns are one launch: %d launches", (int)sets);
    cr_expect_eq(elements, 256 * 256);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* A kernel that transposes an input covers some two million rows; a longer row would not be computed whole. */
Test(lower, rows_are_not_lengthened_beyond_their_kernel)
{
    const dcl_grid tall = {.type = DCL_FLOAT, .rank = 2, .extent = {6000000, 4}},
                   wide = {.type = DCL_FLOAT, .rank = 2, .extent = {4, 6000000}};
    const dcli_operation *operation =
        TEST_FORALL(1, "C(i,j) = A(j,i) + i;", {DCL_ACCESS_OUT, "C", 1, test_layout("block,*", 1, &tall)},
                    {DCL_ACCESS_IN, "A", 2, test_layout("*,block", 1, &wide)});
    const dcli_traits traits = traits_of(GPU);
    dcli_plan_terms terms = {.node_count = 1,
                             .ways = test_ways(false),
                             .batch_bytes = 1 << 24,
                             .local_bytes = INT64_C(1) << 30,
                             .chunk_bytes = 1 << 22,
                             .pool_bytes = INT64_C(1) << 40,
                             .kept_bytes = 1 << 20};
    dcli_plan *plan;
    cr_assert_eq(dcli_plan_make(operation, 0, &terms, &plan), DCL_OK, "%s", dcl_error());
    dcli_lowered lowered = {0};
    int64_t elements = 0, length = dcli_row_length(operation->body);
    int count = dcli_row_at(operation->body, DCLI_ROW_COUNT, 0);
    for (int64_t b = 0; b < plan->batch_count; b++) {
        cr_assert_eq(dcli_lower(operation, plan, &plan->batch[b], &traits, &lowered), DCL_OK);
        for (int64_t l = 0; l < lowered.launch_count; l++)
            for (int64_t r = 0; r < lowered.launch[l].row_count; r++) {
                const int64_t *row = lowered.launch[l].row + r * length;
                elements += row[count] * row[count + 1];
                cr_expect(lowered.launch[l].variant != DCLI_VARIANT_UNIT || dcli_row_is_unit(operation->body, row),
                          "a row of %d indices", (int)row[count]);
            }
        dcli_lowered_free(&lowered);
        lowered = (dcli_lowered){0};
    }
    cr_expect_eq(elements, 24000000);
    dcli_plan_free(plan);
    test_ops_free();
}

struct flat_case {
    char what[48], body[64], map[16];
    int64_t count[2]; /* of the only row, on a processor */
};

ParameterizedTestParameters(lower, lines_that_continue_are_one)
{
    static struct flat_case cases[] = {
        {"all contiguous", "C(i,j) = A(i,j);", "block,*", {1, 32 * 64}},
        {"the body sees its indices", "C(i,j) = A(i,j) + i;", "block,*", {32, 64}},
        {"transposed input", "C(i,j) = A(j,i);", "block,*", {32, 64}},
        {"one input per line", "C(i,j) = A(i,0);", "block,*", {32, 64}},
        {"one input for all", "C(i,j) = A(3,5);", "block,*", {1, 32 * 64}},
        {"a part with narrower lines", "C(i,j) = A(i,j);", "*,block", {64, 32}},
    };
    return cr_make_param_array(struct flat_case, cases, sizeof cases / sizeof cases[0]);
}

/* A processor runs a box as one loop if all elements of the body's arrays follow each other. */
ParameterizedTest(struct flat_case *c, lower, lines_that_continue_are_one)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {64, 64}};
    const dcli_operation *operation =
        TEST_FORALL(1, c->body, {DCL_ACCESS_OUT, "C", 1, test_layout(c->map, NODES, &grid)},
                    {DCL_ACCESS_IN, "A", 2, test_layout("*,*;nodes=0", NODES, &grid)});
    const dcli_traits traits = traits_of(ELSEWHERE);
    dcli_plan *plan = plan_of(operation, true);
    dcli_lowered lowered = {0};
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    const dcli_launch *launch = &lowered.launch[0];
    const int64_t *count = launch->row + dcli_row_at(operation->body, DCLI_ROW_COUNT, 0);
    cr_expect(count[0] == c->count[0] && count[1] == c->count[1], "%s: %d x %d", c->what, (int)count[0], (int)count[1]);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* Rows of a costly body are cut finely, and reordered so that neighbours are computed by different work-items. */
Test(lower, costly_rows_take_turns)
{
    dcl_grid line = dcl_grid_1d(DCL_INT64, 8192);
    const dcli_layout *layout = test_layout("block", NODES, &line);
    const dcli_operation *operation =
        TEST_FORALL(1, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
    dcli_traits traits = traits_of(PROCESSOR);
    traits.compute_units = 2;
    traits.element_ns = 100000;
    dcli_plan *plan = plan_of(operation, false);
    dcli_lowered lowered = {0};
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    cr_assert_eq(lowered.launch_count, 1);
    const dcli_launch *launch = &lowered.launch[0];
    int64_t length = dcli_row_length(operation->body), rows = launch->row_count, even = (rows + 1) / 2;
    const int64_t *count = launch->row + dcli_row_at(operation->body, DCLI_ROW_COUNT, 0);
    const int64_t *offset = launch->row + dcli_row_at(operation->body, DCLI_ROW_OFFSET, 0);
    cr_assert_gt(rows, 4, "%d rows", (int)rows);
    for (int64_t r = 0; r < rows; r++) /* of two work-items: rows 0, 2, 4, ..., then 1, 3, ... */
        cr_expect_eq(offset[r * length], count[0] * (r < even ? 2 * r : 2 * (r - even) + 1), "row %d", (int)r);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* The borders of large segments read their neighbours on the same node in place: only what comes from the other node is staged. */
Test(lower, borders_of_large_segments_are_not_staged)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {512, 256}};
    const dcli_layout *layout = test_layout("rows:block(128x128)", NODES, &grid);
    const dcli_operation *operation = TEST_FORALL(1, "C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);",
                                                  {DCL_ACCESS_OUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
    const dcli_traits traits = traits_of(GPU);
    dcli_plan *plan = plan_of(operation, false);
    dcli_lowered lowered = {0};
    int64_t elements = 0, sets = 0;
    for (int64_t s = 0; s < plan->stage_count; s++) {
        bool comes = false;
        for (int64_t p = plan->stage[s].first_in; p < plan->stage[s].first_in + plan->stage[s].in_count; p++)
            comes |= plan->piece[p].kind == DCLI_SPACE_CHUNK;
        cr_expect(comes, "stage %d has elements of this node alone", (int)s);
    }
    for (int64_t w = 0; w < plan->work_count; w++)
        elements += dcli_box_elements(&plan->work[w].box);
    cr_expect_eq(elements, 256 * 256, "every element is computed once");
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    for (int64_t l = 0; l < lowered.launch_count; l++)
        sets += lowered.launch[l].set_count;
    cr_expect_leq(sets, 16, "%d launches", (int)sets);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* ---- tile kernels ------------------------------------------------------------------------------------------------- */

/* C and A of 8 x 6; what is declared of A. */
struct tile_case {
    char what[32], c[32], a[32];
    dcl_access access;
    int64_t width[2];
};

/* Where node 0 has an element of A for a work: in its part, or in the stage that the work is bound to. */
static int64_t offset_of(const dcli_operation *operation, const dcli_plan *plan, const dcli_lowered *lowered,
                         const dcli_binding *binding, const int64_t element[])
{
    dcli_region_list list = {0};
    dcl_box box = {.rank = 2, .start = {element[0], element[1]}, .count = {1, 1}, .stride = {1, 1}};
    int64_t offset;
    if (binding->kind == DCLI_SPACE_STAGE) {
        const dcli_stage *stage = &plan->stage[binding->where];
        return dcli_stage_region(operation, stage, lowered->stage_at[binding->where], &box).offset;
    }
    cr_assert_eq(dcli_layout_regions(operation->operand[1].layout, 0, &box, &list), DCL_OK);
    cr_assert_eq(list.count, 1);
    offset = list.region[0].offset;
    dcli_region_list_free(&list);
    return offset;
}

/* Every local index of A that a row says is there finds the element that it stands for. @return how many there are. */
static int64_t check_row(const char *what, const dcli_operation *operation, const dcli_plan *plan,
                         const dcli_lowered *lowered, const dcli_work *work)
{
    const dcli_body *body = operation->body;
    const dcli_binding *bindings = &plan->binding[work->first_binding];
    int64_t row[dcli_row_length(body)], base[2] = {0}, found = 0;
    if (bindings[1].kind == DCLI_SPACE_STAGE)
        base[1] = lowered->stage_at[bindings[1].where] / 8;
    dcli_tile_fill_row(body, work, bindings, base, row);
    const int64_t *step = row + dcli_row_at(body, DCLI_ROW_STEP, 1);
    const int64_t *low = row + dcli_row_at(body, DCLI_ROW_LOW, 1);
    const int64_t *high = row + dcli_row_at(body, DCLI_ROW_HIGH, 1);
    const int64_t *first = row + dcli_row_at(body, DCLI_ROW_FIRST, 1);
    const int64_t *by = row + dcli_row_at(body, DCLI_ROW_BY, 1);
    for (int64_t x = low[0]; x < high[0]; x++)
        for (int64_t y = low[1]; y < high[1]; y++, found++) {
            const int64_t element[2] = {first[0] + x * by[0], first[1] + y * by[1]};
            cr_assert_eq(row[dcli_row_at(body, DCLI_ROW_OFFSET, 1)] + x * step[0] + y * step[1],
                         offset_of(operation, plan, lowered, &bindings[1], element), "%s: element %d, %d", what,
                         (int)element[0], (int)element[1]);
        }
    return found;
}

ParameterizedTestParameters(lower, tiles)
{
    static struct tile_case cases[] = {
        {"the tile", "block,*", "block,*", DCL_ACCESS_IN, {0, 0}},
        {"the tile, elsewhere", "block,*", "*,block", DCL_ACCESS_IN, {0, 0}},
        {"with gaps", "cyclic,*", "block,*", DCL_ACCESS_IN, {0, 0}},
        {"a halo", "block,*;tile=2x3", "block,*", DCL_ACCESS_IN_HALO, {1, 1}},
        {"a cross along gaps", "cyclic,*", "block,*", DCL_ACCESS_IN_CROSS, {0, 2}},
        {"rows", "block,*;tile=2x3", "*,block", DCL_ACCESS_IN_ROWS, {0, 0}},
        {"columns", "*,block;tile=2x3", "block,*", DCL_ACCESS_IN_COLUMNS, {0, 0}},
        {"all", "block,*", "block,*", DCL_ACCESS_IN_ALL, {0, 0}},
    };
    return cr_make_param_array(struct tile_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct tile_case *c, lower, tiles)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {8, 6}};
    const dcli_operation *operation =
        TEST_TILES(1, "C(0, 0) = A(0, 0);", c->width, {DCL_ACCESS_OUT, "C", 1, test_layout(c->c, NODES, &grid)},
                   {c->access, "A", 2, test_layout(c->a, NODES, &grid)});
    const dcli_traits traits = traits_of(PROCESSOR);
    dcli_plan *plan = plan_of(operation, false);
    dcli_lowered lowered = {0};
    int64_t rows = 0, found = 0;
    cr_assert_eq(plan->batch_count, 1);
    cr_assert_eq(dcli_lower(operation, plan, &plan->batch[0], &traits, &lowered), DCL_OK);
    for (int64_t l = 0; l < lowered.launch_count; l++)
        rows += lowered.launch[l].row_count;
    cr_expect_eq(rows, plan->work_count, "%s", c->what);
    for (int64_t w = 0; w < plan->work_count; w++)
        found += check_row(c->what, operation, plan, &lowered, &plan->work[w]);
    cr_expect_geq(found, dcli_layout_owned(operation->operand[0].layout, 0), "%s", c->what);
    dcli_lowered_free(&lowered);
    dcli_plan_free(plan);
    test_ops_free();
}

/* ---- chunks ------------------------------------------------------------------------------------------------------- */

/* What node 1 packs for node 0: every second row of its part is one transfer into the chunk. */
Test(lower, a_chunk_is_packed_by_few_transfers)
{
    const dcl_grid grid = {.type = DCL_INT64, .rank = 2, .extent = {32, 8}};
    const dcli_operation *operation =
        TEST_FORALL(1, "C(i,j) = A(i,j);", {DCL_ACCESS_OUT, "C", 1, test_layout("cyclic,*", NODES, &grid)},
                    {DCL_ACCESS_IN, "A", 2, test_layout("block,*", NODES, &grid)});
    const dcli_traits traits = traits_of(GPU);
    dcli_plan *plan = plan_of(operation, false);
    dcli_routes routes = {0};
    cr_assert_eq(plan->chunk_count, 1);
    cr_assert_eq(dcli_routes_of_chunk(operation, plan, &plan->chunk[0], &traits, &routes), DCL_OK);
    cr_assert_eq(routes.count, 1);
    cr_expect_eq(routes.route[0].via, DCLI_VIA_WIRE);
    cr_expect_eq(routes.route[0].from.kind, DCLI_SPACE_OWN);
    cr_expect_eq(routes.route[0].elements, 8 * 8);
    cr_expect_eq(routes.route[0].transfers.count, 1);
    cr_expect_gt(dcli_routes_bytes(&routes), 0);
    dcli_routes_free(&routes);
    dcli_plan_free(plan);
    test_ops_free();
}

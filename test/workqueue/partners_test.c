/* test/workqueue/partners_test.c - partners and plans of pairs, compared with full plans: random programs are planned,
 * not run, so that there are many of them. TEST_SEED is the first seed. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/simplan.h"
#include "support/simprogram.h"
#include "support/ways.h"
#include "workqueue/ops.h"
#include "workqueue/partners.h"

enum { PROGRAMS = 60, STEPS = 20, MOST_NODES = 16 };

/* Compare all pairs of an operation. @param what  what is printed if they differ */
static void compare(const char *what, dcli_operation *operation, const dcli_plan_terms *terms, uint64_t seed)
{
    for (int q = 0; q <= terms->node_count; q++) {
        dcli_plan *plan = NULL;
        cr_assert_eq(dcli_plan_make(operation, q, terms, &plan), DCL_OK, "%s", dcl_error());
        cr_assert(operation->kind != DCLI_OP_FORALL || plan->batch_count < 2 || plan->status != DCL_OK ||
                      operation->body->tile_kernel || dcli_may_be_lent(operation, q, terms),
                  "seed %" PRIu64 ": operation %" PRId64 " has %" PRId64 " batches on node %d\n%s", seed,
                  operation->number, plan->batch_count, q, what);
        for (int p = 0; p <= terms->node_count; p++) {
            const char *differs = p != q ? sim_pair_differs(plan, operation, q, p, terms) : NULL;
            cr_assert_null(differs, "seed %" PRIu64 ": operation %" PRId64 ", plan of %d for the pair with %d: %s\n%s",
                           seed, operation->number, q, p, differs, what);
        }
        dcli_plan_free(plan);
    }
}

/* Without replicas: then not all nodes are partners. */
static void keep_nothing(dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++) {
        operation->operand[k].generation = 0;
        operation->operand[k].keeps = false;
    }
}

static void compare_program(uint64_t seed, bool loops)
{
    test_random random = seed;
    dcli_node_ways ways[MOST_NODES + 1] = {{0}}; /* pairs with the host are made here, too */
    int nodes = (int)test_between(&random, 2, MOST_NODES);
    sim_program *program = sim_program_make(&random, nodes, 0, STEPS, loops);
    bool mixed = test_between(&random, 0, 1) == 0, some = test_between(&random, 0, 1) == 0;
    for (int n = 0; n < nodes; n++)
        ways[n].can = (mixed ? test_between(&random, 0, 1) == 0 : some)
                          ? DCLI_CAN_ALL
                          : (seed % 2 == 0 ? dcli_ways_of_device(false, seed % 4 == 0) : 0);
    dcli_plan_terms terms = {.node_count = nodes,
                             .ways = ways,
                             .batch_bytes = INT64_C(8) << test_between(&random, 0, 9),
                             .chunk_bytes = INT64_C(8) << test_between(&random, 0, 9),
                             .pool_bytes = INT64_C(8) << test_between(&random, 2, 14),
                             .early_bytes = 64,
                             .kept_bytes = 1000,
                             .local_bytes = test_between(&random, 0, 1) == 0 ? 0 : 1 << 14};
    bool kept = test_between(&random, 0, 3) == 0;
    dcli_text text = {0};
    sim_program_print(program, &text);
    for (int s = 0; s < program->step_count; s++) {
        dcli_operation *operation = &program->step[s].operation;
        if (operation->kind != DCLI_OP_FORALL && operation->kind != DCLI_OP_READ && operation->kind != DCLI_OP_WRITE)
            continue;
        if (!kept)
            keep_nothing(operation);
        compare(text.bytes, operation, &terms, seed);
    }
    dcli_text_free(&text);
    sim_program_free(program);
}

Test(partners, pairs_of_random_programs_have_the_chunks_of_full_plans)
{
    const char *text = getenv("TEST_SEED");
    uint64_t first = text != NULL ? strtoull(text, NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + PROGRAMS; seed++)
        compare_program(seed, false);
    for (uint64_t seed = first; seed < first + PROGRAMS / 4; seed++)
        compare_program(seed, true);
}

/* Nodes whose elements fit a batch, but which have more tiles than a batch has bytes, because most of them are empty. */
Test(partners, empty_tiles_make_no_batches)
{
    dcl_grid grid = dcl_grid_2d(DCL_INT8, 23, 29);
    const dcli_layout *layout = test_layout("rows:block(22x2);block=1x4;tile=1x25;nodes=7-10", 12, &grid);
    bool some = false;
    for (int64_t bytes = 8; bytes <= 4096; bytes *= 2) {
        dcli_operation *operation = TEST_FORALL(3, "C(i,j) = A(22 - i, 28 - j);", {DCL_ACCESS_OUT, "C", 1, layout},
                                                {DCL_ACCESS_IN, "A", 2, layout});
        dcli_plan_terms terms = {.node_count = 12,
                                 .ways = test_ways(false),
                                 .batch_bytes = bytes,
                                 .chunk_bytes = 1 << 16,
                                 .pool_bytes = 1 << 20};
        compare("empty tiles", operation, &terms, 1);
        for (int n = 0; n < 12; n++) {
            int64_t owned = dcli_layout_place(layout, n) >= 0 ? dcli_layout_owned(layout, n) : 0;
            some |= owned > 0 && owned <= bytes && dcli_layout_tile_count(layout, n) > bytes;
        }
    }
    cr_expect(some, "no node has so many tiles");
    test_ops_free();
}

/* Stencils whose footprints overlap each other, and meet several owners: what is needed already is cut out of them, and
 * a plan for a pair looks at few of them only. */
Test(partners, overlapping_stencils_are_cut_as_in_full_plans)
{
    static const char *const maps[] = {"block", "block;tile=5x4", "rows:cyclic(5x6)", "block,*"};
    test_random random = 1;
    for (int n = 0; n < 60; n++) {
        dcl_grid grid = dcl_grid_2d(DCL_FLOAT, test_between(&random, 20, 40), test_between(&random, 20, 40));
        const dcli_layout *layout = test_layout(maps[n % 4], 9, &grid);
        char body[256] = "C(i,j) = 0";
        for (int64_t reads = test_between(&random, 2, 5); reads > 0; reads--)
            snprintf(body + strlen(body), sizeof body - strlen(body), " + A(i%+d,j%+d)",
                     (int)test_between(&random, -6, 6), (int)test_between(&random, -6, 6));
        snprintf(body + strlen(body), sizeof body - strlen(body), ";");
        dcli_operation *operation =
            TEST_FORALL(3, body, {DCL_ACCESS_OUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout});
        dcli_plan_terms terms = {.node_count = 9,
                                 .ways = test_ways(false),
                                 .batch_bytes = INT64_C(64) << test_between(&random, 0, 6),
                                 .chunk_bytes = 1 << 16,
                                 .pool_bytes = 1 << 20};
        compare(body, operation, &terms, 1);
    }
    test_ops_free();
}

/* Node 0 reads beyond both ends of a periodic axis that ends near the last index of 64 bits. */
Test(partners, images_near_the_ends_of_64_bits)
{
    const int64_t origin[] = {INT64_MAX - 60, INT64_MIN + 10};
    for (int end = 0; end < 2; end++) {
        dcl_grid grid = dcl_grid_nd(DCL_FLOAT, 1, (int64_t[]){48}, &origin[end]);
        const dcli_layout *layout = test_layout("block;halo=1;periodic=0", 4, &grid);
        dcli_operation *operation = TEST_FORALL(3, "C(i) = A(i-1) + A(i+1);", {DCL_ACCESS_OUT, "C", 1, layout},
                                                {DCL_ACCESS_IN, "A", 2, layout});
        dcli_plan_terms terms = {.node_count = 4,
                                 .ways = test_ways(false),
                                 .batch_bytes = 1 << 20,
                                 .chunk_bytes = 4096,
                                 .pool_bytes = 1 << 20,
                                 .kept_bytes = 1 << 20};
        for (int n = 0; n < 4; n++) {
            dcli_plan *plan = NULL;
            int before = (n + 3) % 4, after = (n + 1) % 4;
            cr_assert_eq(dcli_plan_make(operation, n, &terms, &plan), DCL_OK, "%s", dcl_error());
            cr_expect(plan->partners.count == 2 && dcli_node_list_has(&plan->partners, before) &&
                          dcli_node_list_has(&plan->partners, after),
                      "origin %d, node %d: %" PRId64 " partners", end, n, plan->partners.count);
            dcli_plan_free(plan);
        }
    }
    test_ops_free();
}

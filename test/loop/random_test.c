/* test/loop/random_test.c - tests plans of random loop nests: nearly all are accepted, and where isl's scheduler finds a loop whose
 * iterations do not depend on each other, nearly all have a parallel operation. That the plans are right is tested with data:
 * runtime/loops_random_test.c.
 *
 * TEST_NESTS sets the number of nests, TEST_SEED the first one. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loop/inside.h"
#include "support/nests.h"

TestSuite(loops_plan_random, .timeout = 180);

enum { CASES = 12, MOST_OPERATIONS = 1000 * 1000 };

/* ---- isl's scheduler ------------------------------------------------------------------------------------------------ */

struct search {
    const dcli_loops_tree *tree;
    bool array,
        found; /* the node has a statement that writes an array; there is such a node with a coincident dimension */
};

static isl_stat look_at_statement(isl_set *set, void *user)
{
    struct search *search = user;
    search->array |= search->tree->statement[atoi(isl_set_get_tuple_name(set) + 1)].target.is_array;
    isl_set_free(set);
    return isl_stat_ok;
}

static isl_bool look_at_node(isl_schedule_node *node, void *user)
{
    struct search *search = user;
    if (isl_schedule_node_get_type(node) != isl_schedule_node_band)
        return isl_bool_true;
    isl_union_set *domain = isl_schedule_node_get_domain(node);
    search->array = false;
    isl_union_set_foreach_set(domain, look_at_statement, search);
    isl_union_set_free(domain);
    for (int k = 0; k < isl_schedule_node_band_n_member(node); k++)
        search->found |= search->array && isl_schedule_node_band_member_get_coincident(node, k) == isl_bool_true;
    return isl_bool_true;
}

/* Whether isl finds a schedule with a dimension along which no dependence leads, for a statement that writes an array. */
static bool is_coincident(const dcli_loops_tree *tree, const dcli_loops_sets *sets)
{
    isl_union_set *domain = isl_union_set_empty_ctx(sets->ctx);
    isl_union_map *all = isl_union_map_empty_ctx(sets->ctx);
    struct search search = {.tree = tree};
    for (int s = 0; s < tree->statement_count; s++)
        domain = isl_union_set_union(domain, isl_union_set_from_set(isl_set_copy(sets->domain[s])));
    for (int64_t n = 0; n < sets->dependence_count; n++)
        all = isl_union_map_union(all, isl_union_map_from_map(isl_map_copy(sets->dependence[n].map)));
    for (int64_t n = 0; n < sets->flow_count; n++)
        all = isl_union_map_union(all, isl_union_map_from_map(isl_map_copy(sets->flow[n].map)));
    isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(domain);
    constraints = isl_schedule_constraints_set_validity(constraints, isl_union_map_copy(all));
    constraints = isl_schedule_constraints_set_coincidence(constraints, all);
    isl_ctx_reset_operations(sets->ctx);
    isl_ctx_set_max_operations(sets->ctx, MOST_OPERATIONS);
    isl_schedule *schedule = isl_schedule_constraints_compute_schedule(constraints);
    if (schedule == NULL)
        return false; /* it takes too long: some nests take minutes */
    isl_schedule_foreach_schedule_node_top_down(schedule, look_at_node, &search);
    isl_schedule_free(schedule);
    return search.found;
}

/* ---- plans ---------------------------------------------------------------------------------------------------------- */

struct counts {
    int accepted, coincident, parallel;
};

static bool has_threads(const dcli_loops_plan *plan)
{
    for (int o = 0; o < plan->operation_count; o++)
        if (plan->operation[o]->parallel)
            return true;
    return false;
}

static void plan_nest(int64_t number, const char *text, const dcli_loops_name names[], struct counts *counts)
{
    dcli_loops_plan *plan = NULL;
    dcl_status status = dcli_loops_plan_make(text, TEST_NEST_ARRAYS, names, &plan);
    cr_expect(status == DCL_OK || (status == DCL_ERR_BODY && strstr(dcl_error(), "error: ") != NULL),
              "nest %" PRId64 ": %s\n%s", number, dcl_error(), text);
    dcli_loops_complaints complaints = {.text = text};
    dcli_loops_tree *tree = dcli_loops_parse(text, TEST_NEST_ARRAYS, names, &complaints);
    dcli_loops_sets *sets = dcli_loops_sets_make(tree, 0, &complaints);
    cr_assert(sets != NULL && complaints.count == 0);
    bool coincident = is_coincident(tree, sets);
    counts->accepted += status == DCL_OK;
    counts->coincident += coincident;
    bool parallel = coincident && status == DCL_OK && has_threads(plan);
    counts->parallel += parallel;
    if (coincident && !parallel)
        cr_log_info("nest %" PRId64 " is not parallel:\n%s", number, text);
    dcli_loops_sets_free(sets);
    dcli_loops_tree_free(tree);
    dcli_loops_plan_free(plan);
}

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? atoll(text) : otherwise;
}

Test(loops_plan_random, what_isl_finds_parallel_is_parallel)
{
    int64_t cases = setting("TEST_NESTS", CASES), seed = setting("TEST_SEED", 1);
    dcli_loops_name names[TEST_NEST_ARRAYS];
    struct counts counts = {0};
    for (int a = 0; a < TEST_NEST_ARRAYS; a++) {
        dcl_grid grid = {.rank = test_nest_ranks[a], .type = DCL_DOUBLE, .extent = {TEST_NEST_EDGE, TEST_NEST_EDGE}};
        names[a] = (dcli_loops_name){.access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE, .grid = grid};
        strcpy(names[a].name, test_nest_names[a]);
    }
    for (int64_t n = seed; n < seed + cases; n++) {
        dcli_text text = {0};
        test_nest_put(&text, n);
        plan_nest(n, text.bytes, names, &counts);
        dcli_text_free(&text);
    }
    cr_log_info("%d of %" PRId64 " nests were accepted; isl finds %d parallel, and %d of these are\n", counts.accepted,
                cases, counts.coincident, counts.parallel);
    /* one of a few may be an exception: scripts/random-nests counts those of many runs */
    cr_expect(counts.accepted * 100 >= cases * 95 && (counts.parallel + 1) * 100 >= counts.coincident * 95,
              "%d of %" PRId64 " accepted, %d of %d parallel", counts.accepted, cases, counts.parallel,
              counts.coincident);
}

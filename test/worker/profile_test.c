/* test/worker/profile_test.c - predicting the time of batches by what the same elements took in the calls before. */
#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "worker/plans.h"
#include "worker/profile.h"
#include "worker/stealing.h"
#include "workqueue/ops.h"

enum { NODES = 2, BATCHES = 8 }; /* of node 0 */

#define SECOND INT64_C(1000000000)

static const dcli_node_ways nowhere[NODES];
static dcli_node_ways near[NODES] = {{.can = DCLI_CAN_SHARE}, {.can = DCLI_CAN_SHARE}};
static int64_t elements = 1024;

/* A node that runs batches of one body. */
static struct scene {
    dcli_plan_cache cache;
    dcli_plans plans;
    dcli_kernel kernel;
    dcli_entry entry;
    dcli_as_node own;
    dcli_worker worker;
    const dcli_plan *plan;
} scene;

static void open_scene(void)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, elements);
    const dcli_plan_terms terms = {.node_count = NODES,
                                   .ways = nowhere,
                                   .batch_bytes = 4 * elements,
                                   .chunk_bytes = 1 << 20,
                                   .pool_bytes = 4 * elements,
                                   .local_bytes = 4 * elements,
                                   .fine_elements = elements / NODES / BATCHES};
    dcli_layout *layout = test_layout("block", NODES, &grid);
    dcli_operation *operation = TEST_FORALL(1, "C(i) = i;", {DCL_ACCESS_OUT, "C", 0, layout});
    dcli_plan_cache_init(&scene.cache);
    dcli_plans_init(&scene.plans, 0, &terms, &scene.cache, 1, INT64_MAX);
    dcli_cached_plan *plan = dcli_plans_hold(&scene.plans, operation, NULL, 0);
    cr_assert_not_null(plan, "%s", dcl_error());
    scene.plan = plan->plan;
    cr_assert_eq(scene.plan->batch_count, BATCHES, "%d batches", (int)scene.plan->batch_count);
    scene.entry.operation = *operation;
    scene.entry.kernel = &scene.kernel;
    scene.worker.as_node = &scene.own;
    scene.worker.terms.ways = near;
    cr_assert_eq(dcli_entry_reserve_plan(&scene.entry), DCL_OK);
    dcli_entry_add_plan(&scene.entry, scene.worker.terms.self, plan);
}

static void close_scene(void)
{
    dcli_free(scene.kernel.profile);
    dcli_free(scene.entry.plans.of);
    test_ops_free();
}

/* Report that consecutive batches of a call have ended, and how many seconds they took. */
static void run_batches(int64_t call, int64_t batch, int64_t count, int64_t seconds)
{
    static dcli_running running;
    running = (dcli_running){.job = {.entry = &scene.entry, .plan = scene.plan}, .batch = batch, .more = count - 1};
    scene.entry.operation.number = call;
    scene.own.running = &running;
    dcli_profile_ran(&scene.own, 0, 0, seconds * SECOND);
}

static void expect_prediction(const char *when, int64_t batch, int64_t count, double seconds)
{
    double predicted = dcli_profile_predict(&scene.entry, scene.plan, batch, count) / (double)SECOND;
    cr_expect(predicted >= 0.98 * seconds && predicted <= 1.02 * seconds + 0.01,
              "%s, %d batches from %d on: %g s; expected %g", when, (int)count, (int)batch, predicted, seconds);
}

Test(profile, predicts_batches_by_their_place)
{
    open_scene();
    expect_prediction("nothing is known", 0, 1, 0);
    for (int64_t b = 0; b < BATCHES / 2; b++)
        run_batches(1, b, 1, 100 * (b + 1));
    expect_prediction("half is known", 2, 1, 300);
    expect_prediction("half is known", 0, 4, 1000);
    expect_prediction("half is known", 3, 2, 0);
    run_batches(1, 4, 4, 2600);
    expect_prediction("run together", 4, 1, 650);
    expect_prediction("all is known", 0, BATCHES, 3600);
    close_scene();
}

/* A busy machine only adds to times. */
Test(profile, follows_lower_times_at_once_and_higher_ones_little_by_little)
{
    open_scene();
    run_batches(1, 0, BATCHES, 800);
    run_batches(2, 0, 1, 40);
    expect_prediction("less than half the time", 0, 1, 40);
    run_batches(2, 1, 1, 180);
    expect_prediction("slower by 80 s", 1, 1, 120);
    run_batches(2, 2, 1, 9000);
    expect_prediction("out of all proportion: as twice the time", 2, 1, 125);
    expect_prediction("the others are as they were", 3, 5, 500);
    close_scene();
}

Test(profile, knows_nothing_of_other_calls)
{
    open_scene();
    run_batches(1, 0, BATCHES, 800);
    scene.entry.operation.box.count[0]--;
    expect_prediction("fewer indices", 0, 1, 0);
    scene.entry.operation.box.count[0]++;
    expect_prediction("the same", 0, 1, 100);
    run_batches(2, 0, 1, -1);
    expect_prediction("too short to be measured", 0, 1, 100);
    expect_prediction("batches that are not in the plan", BATCHES - 1, 2, 0);
    close_scene();
}

/* Node 1 has returned the results of a loan. */
static void win_loan(int64_t batch, int64_t count, int64_t seconds)
{
    const dcli_lent_out lent = {.thief = 1, .batch = batch, .count = count, .entry = &scene.entry};
    dcli_profile_won(&scene.worker, &lent, seconds * SECOND);
}

/* The thief takes three times as long for batches of the same part. By this, its times tell of parts that only it has run. */
Test(profile, compares_nodes_by_parts_that_both_have_run)
{
    open_scene();
    cr_expect_eq(dcli_profile_times(&scene.entry, scene.plan, 1), 0);
    run_batches(1, 0, 2, 200);
    win_loan(1, 1, 300);
    double times = dcli_profile_times(&scene.entry, scene.plan, 1);
    cr_expect(times > 2.9 && times <= 3, "%g times", times);
    cr_expect_eq(dcli_profile_times(&scene.entry, scene.plan, 0), 0, "nothing was lent to node 0");
    win_loan(4, 3, 1800);
    expect_prediction("lent together", 4, 3, 600);
    expect_prediction("one of them", 5, 1, 200);
    expect_prediction("what both have run", 1, 1, 100);
    win_loan(7, 1, 0);
    expect_prediction("the time at the thief was not measured", 7, 1, 0);
    close_scene();
}

/* Of each plan its own times are kept, and those of the plan that was used last but seven others are forgotten first. */
Test(profile, tells_plans_of_one_body_apart)
{
    enum { PLANS = 8 };
    open_scene();
    int64_t all = scene.entry.operation.box.count[0];
    for (int n = 0; n <= PLANS; n++) {
        scene.entry.operation.box.count[0] = all - n;
        run_batches(1 + n, 0, BATCHES, 800 * (n + 1));
    }
    expect_prediction("the last one", 0, 1, 100 * (PLANS + 1));
    scene.entry.operation.box.count[0] = all - 1;
    expect_prediction("the second one", 0, 1, 200);
    scene.entry.operation.box.count[0] = all;
    expect_prediction("the first one was replaced", 0, 1, 0);
    close_scene();
}

/* Run `calls` calls. @return how many of them may be lent; of these one batch is. */
static int lend_calls(int64_t *call, int calls, int64_t lent_ns, int64_t kept_ns)
{
    int lent = 0;
    for (int n = 0; n < calls; n++) {
        bool lends = dcli_profile_lends(&scene.entry, scene.plan);
        static dcli_running running;
        running = (dcli_running){.job = {.entry = &scene.entry, .plan = scene.plan}, .more = BATCHES - 1 - lends};
        scene.entry.operation.number = ++*call;
        scene.own.running = &running;
        dcli_profile_ran(&scene.own, 0, 0, lends ? lent_ns : kept_ns);
        if (lends)
            win_loan(BATCHES - 1, 1, 0);
        lent += lends;
    }
    return lent;
}

/* The times are far longer than those of the test itself, which count, too. */
Test(profile, a_body_that_memory_limits_is_lent_only_if_that_shortens_its_calls)
{
    elements = INT64_C(1) << 44;
    open_scene();
    int64_t call = 0;
    cr_expect(dcli_profile_lends(&scene.entry, scene.plan), "nothing is known");
    lend_calls(&call, 64, 5000 * SECOND, 4000 * SECOND);
    cr_expect_eq(lend_calls(&call, 64, 5000 * SECOND, 4000 * SECOND), 2);
    lend_calls(&call, 64, 2500 * SECOND, 4000 * SECOND);
    cr_expect_eq(lend_calls(&call, 64, 2500 * SECOND, 4000 * SECOND), 62);
    close_scene();
}

/* A node of another host has memory of its own, so its loans show nothing. */
Test(profile, loans_to_other_hosts_do_not_count_as_loans)
{
    elements = INT64_C(1) << 44;
    near[1].group = 1;
    open_scene();
    int64_t call = 0;
    cr_expect_eq(lend_calls(&call, 64, 5000 * SECOND, 4000 * SECOND), 64);
    close_scene();
}

Test(profile, a_body_that_computes_is_lent_always)
{
    open_scene();
    int64_t call = 0;
    cr_expect_eq(lend_calls(&call, 100, 500 * SECOND, 400 * SECOND), 100);
    close_scene();
}

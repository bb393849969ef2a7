/* test/sim/sim_test.c - the simulator of `dcl sim`: figures that a reader can compute, and what must hold for all. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "net/message.h"
#include "sim/clock.h"
#include "sim/sim.h"
#include "sim/state.h"

/* Settings in which only what a test sets takes time. */
static dcl_sim_settings timeless(dcl_sim_program program, int nodes, int64_t elements)
{
    dcl_sim_settings settings;
    dcl_sim_defaults(&settings);
    settings.program = program;
    settings.nodes = nodes;
    settings.elements = elements;
    settings.steps = 1;
    settings.bandwidth = settings.copy_rate = 1e15;
    settings.latency_ns = settings.message_ns = settings.launch_ns = settings.plan_ns = 0;
    settings.element_ns = 0;
    return settings;
}

static dcl_sim_figures run(const dcl_sim_settings *settings)
{
    dcl_sim_figures figures = {0};
    cr_assert_eq(dcl_sim_run(settings, &figures), DCL_OK, "%s", dcl_error());
    return figures;
}

/* ---- times --------------------------------------------------------------------------------------------------------- */

Test(sim, computing_takes_the_time_of_the_largest_part)
{
    dcl_sim_settings settings = timeless(DCL_SIM_ADD, 4, 1000000);
    settings.element_ns = 2;
    dcl_sim_figures figures = run(&settings);
    cr_expect_eq(figures.elements, 1000000);
    cr_expect_eq(figures.step_ns, 500000); /* 250,000 elements */
    cr_expect_eq(figures.bound_ns, 500000);
    cr_expect_eq(figures.balanced_ns, 500000);
    settings.steps = 7;
    cr_expect_eq(run(&settings).step_ns, 500000);
}

Test(sim, a_slow_node_is_waited_for)
{
    dcl_sim_settings settings = timeless(DCL_SIM_ADD, 4, 1000000);
    settings.element_ns = 2;
    settings.slow_count = 1;
    settings.slow[0] = (dcl_sim_slow){2, 3};
    dcl_sim_figures figures = run(&settings);
    cr_expect_eq(figures.step_ns, 1500000);
    cr_expect_eq(figures.bound_ns, 1500000);
    cr_expect_eq(figures.balanced_ns, 600000); /* 2 ms of work, 3 1/3 devices */
}

Test(sim, the_last_of_rising_tiles_costs_most)
{
    dcl_sim_settings settings = timeless(DCL_SIM_UNEVEN, 2, 1024);
    settings.element_ns = 1000;
    settings.tiles = 4;
    dcl_sim_figures figures = run(&settings);
    cr_expect_eq(figures.balanced_ns, 512000);
    cr_expect_eq(figures.bound_ns, 768000); /* tiles 5 to 8 cost 4.5 to 7.5 of 32 in sum */
    cr_expect_eq(figures.step_ns, 768000);
    settings.cost = DCL_SIM_ZIPF;
    figures = run(&settings);
    cr_expect_eq(figures.balanced_ns, 512000);
    cr_expect_gt(figures.step_ns, 512000);
    settings.seed = 8;
    cr_expect_neq(run(&settings).step_ns, figures.step_ns, "another seed shuffles otherwise");
}

/* Two nodes exchange a quarter of the array: 500,000 bytes each way, packed before and unpacked afterwards. */
Test(sim, a_transpose_takes_the_time_of_its_messages)
{
    dcl_sim_settings settings = timeless(DCL_SIM_TRANSPOSE, 2, 250000);
    settings.bandwidth = 1e9;
    dcl_sim_figures figures = run(&settings);
    cr_expect_eq(figures.data.messages, 2);
    cr_expect_geq(figures.data.bytes, 500000);
    cr_expect_leq(figures.data.bytes, 500100);
    cr_expect_geq(figures.bound_ns, 250000);
    cr_expect_geq(figures.step_ns, figures.bound_ns);
    cr_expect_leq(figures.step_ns, 2 * 250000 + 5000, "%" PRId64 " ns: leaves, and arrives, at the link's rate",
                  figures.step_ns);
    settings.latency_ns = 1000000;
    int64_t later = run(&settings).step_ns - figures.step_ns;
    cr_expect(later > 3999900 && later <= 4000000, "%" PRId64 " ns: descriptor, grant, chunk, watermarks", later);
    settings.latency_ns = 0;
    settings.copy_rate = 1e9;
    later = run(&settings).step_ns - figures.step_ns;
    cr_expect_eq(later, 2 * 250000, "%" PRId64 " ns: packed, and copied into its stage", later);
}

/* ---- stealing ------------------------------------------------------------------------------------------------------ */

/* Settings with elements that take much longer to compute than to move. */
static dcl_sim_settings costly(dcl_sim_program program, int nodes, dcl_steal_policy steal)
{
    dcl_sim_settings settings;
    dcl_sim_defaults(&settings);
    settings.program = program;
    settings.nodes = nodes;
    settings.elements = INT64_C(4000000) * nodes;
    settings.element_ns = 20;
    settings.cost = DCL_SIM_EVEN;
    settings.steal = steal;
    return settings;
}

/* A node computes the dearest of 16 tiles, and others, while the rest waits; which ones depends on the seed. */
Test(stealing, zipf_on_four_nodes)
{
    int64_t never = 0, pays = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        dcl_sim_settings settings = costly(DCL_SIM_UNEVEN, 4, DCL_STEAL_NEVER);
        settings.cost = DCL_SIM_ZIPF;
        settings.tiles = 4;
        settings.seed = seed;
        never += run(&settings).step_ns;
        settings.steal = DCL_STEAL_PAYS;
        dcl_sim_figures figures = run(&settings);
        pays += figures.step_ns;
        cr_expect_geq(figures.step_ns, figures.balanced_ns);
        cr_expect_leq(figures.step_ns, 1.2 * (double)figures.balanced_ns, "seed %d: %" PRId64 " ns of %" PRId64,
                      (int)seed, figures.step_ns, figures.balanced_ns);
    }
    cr_expect_geq((double)never, 1.6 * (double)pays, "%.2f times", (double)never / (double)pays);
}

/* The first of 4 nodes has the dearest tiles. */
Test(stealing, sorted_zipf_on_four_nodes)
{
    for (int tiles = 4; tiles <= 64; tiles *= 4) {
        dcl_sim_settings settings = costly(DCL_SIM_UNEVEN, 4, DCL_STEAL_NEVER);
        settings.cost = DCL_SIM_ZIPF_SORTED;
        settings.tiles = tiles;
        int64_t never = run(&settings).step_ns;
        settings.steal = DCL_STEAL_PAYS;
        dcl_sim_figures figures = run(&settings);
        cr_expect_geq((double)never, 1.8 * (double)figures.step_ns, "%d tiles: %.2f times", tiles,
                      (double)never / (double)figures.step_ns);
        cr_expect_geq(figures.step_ns, figures.balanced_ns);
    }
}

/* 4 nodes, one of which takes twice as long: 320 ms of work per step for 3.5 devices. */
Test(stealing, a_slow_node)
{
    dcl_sim_settings settings = costly(DCL_SIM_UNEVEN, 4, DCL_STEAL_PAYS);
    settings.slow_count = 1;
    settings.slow[0] = (dcl_sim_slow){0, 2};
    dcl_sim_figures figures = run(&settings);
    cr_expect_eq(figures.balanced_ns / 1000, 91428);
    cr_expect_leq(figures.step_ns, 1.05 * (double)figures.balanced_ns, "%" PRId64 " ns", figures.step_ns);
    cr_expect_gt(figures.loans.lent, 0);
    cr_expect_eq(figures.loans.lent, figures.loans.won + figures.loans.taken_back);
    /* each batch takes two inputs there, and a result back */
    cr_expect_geq(figures.data.bytes, figures.loans.won * 3 * 4 * 15625);
    settings.steal = DCL_STEAL_NEVER;
    figures = run(&settings);
    cr_expect_geq(figures.step_ns, 160000000);
    cr_expect(figures.loans.questions == 0 && figures.loans.lent == 0 && figures.data.bytes == 0);
}

/* Moving a batch takes ten times as long as computing it, so few of the 5120 are lent. */
Test(stealing, little_is_lent_if_moving_takes_longer)
{
    dcl_sim_settings settings = costly(DCL_SIM_UNEVEN, 4, DCL_STEAL_NEVER);
    settings.element_ns = 0.1;
    settings.slow_count = 1;
    settings.slow[0] = (dcl_sim_slow){0, 2};
    int64_t never = run(&settings).step_ns;
    settings.steal = DCL_STEAL_PAYS;
    dcl_sim_figures figures = run(&settings);
    cr_expect_leq(figures.loans.lent, 256, "%" PRId64, figures.loans.lent);
    cr_expect_leq(figures.step_ns, 1.02 * (double)never, "%" PRId64 " and %" PRId64 ", %" PRId64 " lent",
                  figures.step_ns, never, figures.loans.lent);
}

Test(stealing, balanced_work_stays)
{
    dcl_sim_settings settings = costly(DCL_SIM_UNEVEN, 8, DCL_STEAL_NEVER);
    int64_t never = run(&settings).step_ns;
    settings.steal = DCL_STEAL_PAYS;
    dcl_sim_figures figures = run(&settings);
    cr_expect_leq(figures.step_ns, 1.01 * (double)never);
    cr_expect_leq(figures.loans.lent, 8);
}

/* All programs end, under every policy, with slow nodes and uneven times; the same again is the same. */
Test(stealing, ends)
{
    for (int program = 0; program < DCL_SIM_PROGRAMS; program++)
        for (int nodes = 2; nodes <= 20; nodes += 9) {
            dcl_sim_settings settings = costly((dcl_sim_program)program, nodes, DCL_STEAL_ALWAYS);
            settings.elements /= 8;
            settings.jitter = 1;
            settings.slow_count = 1;
            settings.slow[0] = (dcl_sim_slow){nodes - 1, 5};
            dcl_sim_figures figures = run(&settings), again = run(&settings);
            cr_expect_geq(figures.step_ns, figures.bound_ns);
            cr_expect_eq(figures.loans.lent, figures.loans.won + figures.loans.taken_back);
            cr_expect_eq(figures.step_ns, again.step_ns);
            cr_expect_eq(figures.loans.questions, again.loans.questions);
            cr_expect(figures.loans.lent > 0 || program != DCL_SIM_UNEVEN, "nothing is lent on %d nodes", nodes);
        }
}

/* Every allocation in turn fails: the simulation fails, or a node lends less. */
Test(stealing, ends_without_memory)
{
    dcl_sim_settings settings = costly(DCL_SIM_UNEVEN, 2, DCL_STEAL_ALWAYS);
    settings.elements /= 4;
    settings.steps = 1;
    dcl_sim_figures figures;
    int failed = 0;
    for (int n = 1; n < 1000; n += 3) {
        dcli_alloc_fail_after(n);
        dcl_status status = dcl_sim_run(&settings, &figures);
        dcli_alloc_fail_after(0);
        cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM, "allocation %d: %s", n, dcl_error());
        failed += status == DCL_ERR_NOMEM;
    }
    cr_expect_geq(failed, 30, "%d", failed);
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

Test(sim, the_tree_bounds_the_messages_of_the_program)
{
    for (int nodes = 2; nodes <= 300; nodes += 149) {
        dcl_sim_settings settings = timeless(DCL_SIM_ADD, nodes, 1000000);
        settings.fanout = 8;
        dcl_sim_figures figures = run(&settings);
        int children = nodes < 8 ? nodes : 8;
        cr_expect_eq(figures.host_out.messages, children);
        cr_expect_eq(figures.host_in.messages, children);
        cr_expect_eq(figures.control.messages,
                     2 * nodes); /* every node gets the descriptor, and tells that it is done */
        cr_expect_eq(figures.data.messages, 0);
    }
}

/* Every node tells the program that it has failed, or skips, an operation, and the program tells every node once. */
Test(sim, a_failure_takes_few_messages)
{
    static const int nodes[] = {7, 64, 1000};
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        for (int failing = -1; failing < nodes[n]; failing += nodes[n] - 2) {
            dcl_sim_settings settings = timeless(DCL_SIM_STENCIL, nodes[n], INT64_C(10000) * nodes[n]);
            settings.latency_ns = 1000;
            settings.steps = 4;
            settings.failing_step = 2;
            settings.failing_node = failing;
            dcl_sim_figures figures = run(&settings);
            cr_expect_eq(figures.failed, 3, "%" PRId64 " of the steps 2 to 4 fail", figures.failed);
            cr_expect_leq(figures.failed_most, 2 * nodes[n], "%d nodes, %" PRId64 " messages", nodes[n],
                          figures.failed_most);
            cr_expect_geq(figures.failed_most, nodes[n] + 1);
        }
}

/* What a message of the program carries for nodes below the receiver is counted as it would be packed. */
Test(sim, proofs_have_their_packed_size)
{
    int64_t numbers[2 * DCLI_MOST_NODES];
    dcli_msg_operand operand = {.storage = 1};
    dcli_msg_operation operation = {.number = 9, .kind = DCLI_OP_CREATE, .operand_count = 1, .operand = &operand};
    dcli_message message = {
        .kind = DCLI_MSG_OPERATIONS, .epoch = 1, .operations = {.count = 1, .operation = &operation, .epoch = 1}};
    size_t length[2];
    for (int with = 0; with < 2; with++) {
        void *bytes;
        for (int node = 16; with && node < 200; node++) /* all that the only child has below it */
            if (node / 16 - 1 == 0) {
                numbers[message.operations.proof.count++] = node;
                numbers[message.operations.proof.count++] = INT64_MAX - node;
            }
        message.operations.proof.number = numbers;
        cr_assert_eq(dcli_message_pack(&message, &bytes, &length[with]), DCL_OK, "%s", dcl_error());
        dcli_free(bytes);
    }
    cr_expect_eq(dcli_sim_proof_bytes(200, 16, 0), (int64_t)(length[1] - length[0]));
    cr_expect_eq(dcli_sim_proof_bytes(16, 16, 0), 0, "no tree, no proof");
    cr_expect_eq(dcli_sim_proof_bytes(17, 16, 16), 0 + 1 + 9 + 1, "a leaf gets its own tag");
}

/* ---- all programs -------------------------------------------------------------------------------------------------- */

struct sim_case {
    dcl_sim_program program;
    int nodes;
};

ParameterizedTestParameters(sim, bounds)
{
    static struct sim_case cases[] = {{DCL_SIM_ADD, 1},       {DCL_SIM_ADD, 40},       {DCL_SIM_TRANSPOSE, 1},
                                      {DCL_SIM_TRANSPOSE, 9}, {DCL_SIM_TRANSPOSE, 24}, {DCL_SIM_STENCIL, 2},
                                      {DCL_SIM_STENCIL, 64},  {DCL_SIM_REMAP, 3},      {DCL_SIM_REMAP, 36},
                                      {DCL_SIM_UNEVEN, 5},    {DCL_SIM_UNEVEN, 33}};
    return cr_make_param_array(struct sim_case, cases, sizeof cases / sizeof cases[0]);
}

/* Nothing is faster than its bound, a second run gives the same, and jitter makes it slower. */
ParameterizedTest(struct sim_case *c, sim, bounds)
{
    dcl_sim_settings settings;
    dcl_sim_defaults(&settings);
    settings.program = c->program;
    settings.nodes = c->nodes;
    settings.elements = 200000 * c->nodes;
    settings.steps = 4;
    dcl_sim_figures first = run(&settings), again = run(&settings);
    cr_expect_geq(first.step_ns, first.bound_ns);
    cr_expect_geq(first.bound_ns, first.balanced_ns);
    cr_expect_geq(first.step_ns * settings.steps, first.first_ns);
    cr_expect_eq(first.step_ns, again.step_ns);
    cr_expect_eq(first.control.bytes, again.control.bytes);
    cr_expect_eq(first.events, again.events);
    cr_expect_eq(first.plans, again.plans);
    settings.jitter = 1;
    cr_expect_gt(run(&settings).step_ns, first.step_ns);
}

Test(sim, refuses_what_cannot_be)
{
    dcl_sim_figures figures = {.events = -1};
    dcl_sim_settings settings = timeless(DCL_SIM_ADD, 0, 100);
    cr_expect_eq(dcl_sim_run(&settings, &figures), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "the number of nodes is 0; expected 1..16384"), "%s", dcl_error());
    settings = timeless(DCL_SIM_ADD, 3, 100);
    settings.slow_count = 1;
    settings.slow[0] = (dcl_sim_slow){3, 2};
    cr_expect_eq(dcl_sim_run(&settings, &figures), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "the slow node is 3; expected 0..2"), "%s", dcl_error());
    settings = timeless(DCL_SIM_ADD, 3, 100);
    settings.steal = DCL_STEAL_ALWAYS + 1;
    cr_expect_eq(dcl_sim_run(&settings, &figures), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "the policy of stealing is 4; expected 1..3"), "%s", dcl_error());
    settings = timeless(DCL_SIM_ADD, 3, 100);
    settings.bandwidth = 0;
    cr_expect_eq(dcl_sim_run(&settings, &figures), DCL_ERR_INVALID);
    settings = timeless(DCL_SIM_ADD, 3, 100);
    settings.map = "nonsense";
    cr_expect_eq(dcl_sim_run(&settings, &figures), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "nonsense"), "%s", dcl_error());
    settings = timeless(DCL_SIM_ADD, 2, INT64_C(1) << 40);
    settings.element_ns = 1e12;
    cr_expect_eq(dcl_sim_run(&settings, &figures), DCL_ERR_INVALID);
    cr_expect_not_null(strstr(dcl_error(), "the simulated time exceeds 2.31e+09 s"), "%s", dcl_error());
    cr_expect_eq(figures.events, -1, "outputs are untouched");
}

/* Every allocation in turn fails: an error, nothing leaks, nothing crashes. */
Test(sim, ends_without_memory)
{
    dcl_sim_settings settings = timeless(DCL_SIM_STENCIL, 3, 900);
    dcl_sim_figures figures;
    int n = 0;
    dcl_status status = DCL_ERR_NOMEM;
    for (n = 1; status == DCL_ERR_NOMEM; n += n < 100 ? 1 : 17) {
        dcli_alloc_fail_after(n);
        status = dcl_sim_run(&settings, &figures);
        dcli_alloc_fail_after(0);
    }
    cr_expect_eq(status, DCL_OK, "%s", dcl_error());
    cr_expect_gt(n, 50);
}

/* ---- the clock ----------------------------------------------------------------------------------------------------- */

Test(clock, gives_events_by_time_then_in_the_order_of_posting)
{
    struct event {
        dcli_moment moment;
        int name;
    } event;
    dcli_sim_clock clock = {.event_bytes = sizeof event};
    static const int64_t times[] = {5, 1, 5, 3, 1, 9, 3, 5};
    static const int names[] = {1, 4, 3, 6, 0, 2, 7, 5}; /* of times 1, 1, 3, 3, 5, 5, 5, 9 */
    for (int n = 0; n < 8; n++) {
        event.name = n;
        cr_assert_eq(dcli_sim_clock_post(&clock, &event, times[n]), DCL_OK);
    }
    for (int n = 0; n < 8; n++) {
        cr_assert(dcli_sim_clock_take(&clock, &event));
        cr_expect_eq(event.name, names[n], "%d. event is %d, expected %d", n, event.name, names[n]);
        cr_expect_eq(clock.now, times[names[n]]);
    }
    cr_assert_eq(dcli_sim_clock_post(&clock, &event, 2), DCL_OK);
    cr_expect(dcli_sim_clock_take(&clock, &event));
    cr_expect_eq(event.moment.time, 9, "the past is now");
    cr_expect_not(dcli_sim_clock_take(&clock, &event));
    dcli_sim_clock_free(&clock);
}

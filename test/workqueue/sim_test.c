/* test/workqueue/sim_test.c - random programs on simulated clusters.
 *
 * TEST_SEED (the first seed), TEST_SEEDS (how many), TEST_SECONDS (after which no further one is begun but the first
 * LEAST_SEEDS; 0: no limit), TEST_NODES and TEST_STEPS, TEST_LENDING (a sim_lending) change what is run; TEST_TRACE=1
 * shows every action and message. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/simcluster.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SECONDS = 15, LEAST_SEEDS = 10 };
#else
enum { SECONDS = 55, LEAST_SEEDS = 100 };
#endif

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoll(text, NULL, 0) : otherwise;
}

static double monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether another seed is run: the least number always is, however slow the machine. */
static bool has_time(int64_t run, double begin, double seconds)
{
    return run < LEAST_SEEDS || monotonic_seconds() - begin < seconds;
}

static void add_figures(sim_figures *sum, const sim_figures *one)
{
    sum->operations += one->operations;
    sum->foralls += one->foralls;
    sum->overlapped += one->overlapped;
    sum->received += one->received;
    sum->batches += one->batches;
    sum->early += one->early;
    sum->joined_batches += one->joined_batches;
    sum->cut_out += one->cut_out;
    sum->chunks += one->chunks;
    sum->messages += one->messages;
    sum->bytes_moved += one->bytes_moved;
    sum->failures += one->failures;
    sum->declined += one->declined;
    sum->failures_in_marks += one->failures_in_marks;
    sum->lost += one->lost;
    sum->joined += one->joined;
    sum->losses_told += one->losses_told;
    sum->asked += one->asked;
    sum->lent += one->lent;
    sum->lent_in_place += one->lent_in_place;
    sum->lent_together += one->lent_together;
    sum->returned += one->returned;
    sum->taken_back += one->taken_back;
    sum->late += one->late;
    sum->won += one->won;
    sum->in_place |= one->in_place;
    sum->sent |= one->sent;
}

/* Runs seeds first, first + step, ... @return how many were run. */
static int64_t run_lending(uint64_t first, int64_t count, int64_t step, int nodes, bool lose, sim_lending lending,
                           sim_figures *sum)
{
    int64_t seconds = setting("TEST_SECONDS", SECONDS), run = 0;
    double begin = monotonic_seconds();
    for (; run < count && (seconds == 0 || has_time(run, begin, (double)seconds)); run++) {
        sim_settings settings = {.seed = first + (uint64_t)(run * step),
                                 .nodes = nodes,
                                 .steps = (int)setting("TEST_STEPS", 20),
                                 .lose = lose,
                                 .lending = lending,
                                 .trace = setting("TEST_TRACE", 0) != 0};
        sim_figures figures;
        char *wrong = sim_cluster_run(&settings, &figures);
        cr_assert_null(wrong, "%s", wrong);
        add_figures(sum, &figures);
    }
    return run;
}

static int64_t run_seeds(uint64_t first, int64_t count, int64_t step, int nodes, bool lose, sim_figures *sum)
{
    return run_lending(first, count, step, nodes, lose, (sim_lending)setting("TEST_LENDING", SIM_LEND_ANY), sum);
}

/* Two runners share the seeds, so that two processors work on them. */
enum { RUNNERS = 2 };

ParameterizedTestParameters(simulation, random_programs)
{
    static int runners[RUNNERS] = {0, 1};
    return cr_make_param_array(int, runners, RUNNERS);
}

ParameterizedTest(int *runner, simulation, random_programs)
{
    sim_figures sum = {0};
    int64_t count = (setting("TEST_SEEDS", 2000) + RUNNERS - 1 - *runner) / RUNNERS;
    uint64_t first = (uint64_t)setting("TEST_SEED", 1) + (uint64_t)*runner;
    int64_t run = run_seeds(first, count, RUNNERS, (int)setting("TEST_NODES", 0), false, &sum);
    fprintf(stderr,
            "simulation %d of %d: %" PRId64 " seeds from %" PRIu64 ", %d operations (%d bodies), %" PRId64
            " batches (%" PRId64 " copied early, %" PRId64 " cut out), %" PRId64 " chunks, %" PRId64
            " messages, %" PRId64 " provoked failures, %" PRId64 " nodes lost (%" PRId64 " times told), %" PRId64
            " joined; %" PRId64 " questions, %" PRId64 " batches lent (%" PRId64 " in place): %" PRId64 " won, %" PRId64
            " returned, %" PRId64 " taken back, %" PRId64 " late\n",
            *runner + 1, RUNNERS, run, first, sum.operations, sum.foralls, sum.batches, sum.early, sum.cut_out,
            sum.chunks, sum.messages, sum.failures, sum.lost, sum.losses_told, sum.joined, sum.asked, sum.lent,
            sum.lent_in_place, sum.won, sum.returned, sum.taken_back, sum.late);
    if (run >= 500) /* it does exercise all of it: some happens in a hundredth of the programs only */
        cr_assert(sum.chunks > 1000 && sum.batches > 1000 && sum.failures > 0 && sum.declined > 0 &&
                  sum.failures_in_marks > 0 && sum.in_place && sum.sent && sum.lost > 0 && sum.losses_told > 0 &&
                  sum.joined > 0 && sum.early > 0 && sum.lent > 0 && sum.won > 0 && sum.joined_batches > 0);
}

Test(simulation, few_nodes)
{
    static const int nodes[] = {1, 2, 3, 5};
    sim_figures sum = {0};
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        run_seeds(1000000, 20, 1, nodes[n], false, &sum);
}

/* Batches of own parts beside batches that exchange: run programs until there were some. */
Test(simulation, own_parts_are_cut_out)
{
    enum { MOST = 100 };
    sim_figures sum = {0};
    for (int n = 0; n < MOST && sum.cut_out == 0; n++)
        run_seeds(1000000 + (uint64_t)n, 1, 1, 2 + n % 2, false, &sum);
    cr_expect_gt(sum.cut_out, 0);
}

/* Few nodes that all need each other, and of which some are lost. */
Test(simulation, losses)
{
    static const int nodes[] = {2, 3, 4, 6};
    sim_figures sum = {0};
    int64_t run = 0;
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        run += run_seeds(2000000, setting("TEST_LOSSES", 150), 1, nodes[n], true, &sum);
    cr_assert(2 * sum.lost > run && sum.losses_told > sum.lost && sum.joined > 0);
}

/* Few nodes, with many batches each, that lend to each other, die and join. */
Test(simulation, lending)
{
    static const int nodes[] = {2, 3, 4, 6};
    static const sim_lending lending[] = {SIM_LEND_RARELY, SIM_LEND_ALWAYS, SIM_LEND_HOSTILE};
    sim_figures sum = {0};
    int64_t count = setting("TEST_LENT", 25);
    for (size_t l = 0; l < sizeof lending / sizeof lending[0]; l++)
        for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
            run_lending(3000000, count, 1, nodes[n], n % 2 == 1, lending[l], &sum);
    cr_assert(sum.lent > 40 * count && sum.won > 10 * count && sum.lent_in_place > count && sum.taken_back > count &&
                  sum.returned > count && sum.late > 0 && sum.lent_together > count,
              "%" PRId64 " lent, %" PRId64 " loans of several, %" PRId64 " in place, %" PRId64 " won, %" PRId64
              " returned, %" PRId64 " taken back, %" PRId64 " late",
              sum.lent, sum.lent_together, sum.lent_in_place, sum.won, sum.returned, sum.taken_back, sum.late);
}

/* Time loops on few nodes, with several steps per exchange, failures, and nodes that are lost or join. */
Test(simulation, loops)
{
    static const int nodes[] = {2, 3, 5, 9};
    sim_figures sum = {0};
    for (int n = 0; n < 4; n++)
        for (uint64_t seed = (uint64_t)setting("TEST_SEED", 1), end = seed + (uint64_t)setting("TEST_LOOPS", 15);
             seed < end; seed++) {
            sim_settings settings = {.seed = seed,
                                     .nodes = nodes[n],
                                     .steps = (int)setting("TEST_STEPS", 25),
                                     .lose = seed % 3 == 0,
                                     .lending = (sim_lending)setting("TEST_LENDING", SIM_LEND_ANY),
                                     .loops = true,
                                     .trace = setting("TEST_TRACE", 0) != 0};
            sim_figures figures;
            char *wrong = sim_cluster_run(&settings, &figures);
            cr_assert_null(wrong, "%s", wrong);
            add_figures(&sum, &figures);
        }
    cr_assert(sum.received > 100 && 2 * sum.overlapped > 3 * sum.received && sum.failures > 0 && sum.lost > 0,
              "%d of %d bodies used lines around parts, %d received them; %" PRId64 " failures, %" PRId64 " losses",
              sum.overlapped, sum.foralls, sum.received, sum.failures, sum.lost);
}

/* The same seed is the same run. */
Test(simulation, repeats)
{
    sim_figures once, again;
    sim_settings settings = {.seed = 7, .steps = 20, .lending = SIM_LEND_ALWAYS};
    char *wrong = sim_cluster_run(&settings, &once);
    cr_assert_null(wrong, "%s", wrong);
    wrong = sim_cluster_run(&settings, &again);
    cr_assert_null(wrong, "%s", wrong);
    cr_assert(once.messages == again.messages && once.lent == again.lent && once.batches == again.batches &&
              once.bytes_moved == again.bytes_moved);
}

/* Programs that failed once: 100378 keeps a declared cross of a view that repeats its array; in 2000213 a node loses the
 * third one, whose part it would read in place for its victim. */
Test(simulation, failed_before)
{
    sim_figures sum = {0};
    run_lending(100378, 1, 1, 0, false, SIM_LEND_ALWAYS, &sum);
    run_lending(2000213, 1, 1, 4, true, SIM_LEND_HOSTILE, &sum);
}

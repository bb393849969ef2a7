/* test/workqueue/sim_test.c - random programs on simulated clusters.
 *
 * TEST_SEED (the first seed), TEST_SEEDS (how many), TEST_SECONDS (at most, of wall time; 0: no limit), TEST_NODES and
 * TEST_STEPS change what is run; TEST_TRACE=1 shows every action and message. */
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

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void add_figures(sim_figures *sum, const sim_figures *one)
{
    sum->operations += one->operations;
    sum->foralls += one->foralls;
    sum->batches += one->batches;
    sum->early += one->early;
    sum->chunks += one->chunks;
    sum->messages += one->messages;
    sum->bytes_moved += one->bytes_moved;
    sum->failures += one->failures;
    sum->lost += one->lost;
    sum->joined += one->joined;
    sum->losses_told += one->losses_told;
    sum->in_place |= one->in_place;
    sum->sent |= one->sent;
}

/* Runs seeds first, first + step, ... @return how many were run. */
static int64_t run_seeds(uint64_t first, int64_t count, int64_t step, int nodes, bool lose, sim_figures *sum)
{
    int64_t seconds = setting("TEST_SECONDS", SECONDS), run = 0;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (; run < count && (seconds == 0 || seconds_since(&start) < (double)seconds); run++) {
        sim_settings settings = {.seed = first + (uint64_t)(run * step),
                                 .nodes = nodes,
                                 .steps = (int)setting("TEST_STEPS", 20),
                                 .lose = lose,
                                 .trace = setting("TEST_TRACE", 0) != 0};
        sim_figures figures;
        char *wrong = sim_cluster_run(&settings, &figures);
        cr_assert_null(wrong, "%s", wrong);
        add_figures(sum, &figures);
    }
    return run;
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
            " batches (%" PRId64 " copied early), %" PRId64 " chunks, %" PRId64 " messages, %" PRId64
            " provoked failures, %" PRId64 " nodes lost (%" PRId64 " times told), %" PRId64 " joined\n",
            *runner + 1, RUNNERS, run, first, sum.operations, sum.foralls, sum.batches, sum.early, sum.chunks,
            sum.messages, sum.failures, sum.lost, sum.losses_told, sum.joined);
    cr_assert(run >= (count < LEAST_SEEDS ? count : LEAST_SEEDS), "only %" PRId64 " of %" PRId64 " seeds in the time",
              run, count);
    if (run >= 50) /* it does exercise all of it */
        cr_assert(sum.chunks > 1000 && sum.batches > 1000 && sum.failures > 0 && sum.in_place && sum.sent &&
                  sum.lost > 0 && sum.losses_told > 0 && sum.joined > 0 && sum.early > 0);
}

Test(simulation, few_nodes)
{
    static const int nodes[] = {1, 2, 3, 5};
    sim_figures sum = {0};
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        run_seeds(1000000, 20, 1, nodes[n], false, &sum);
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

/* The same seed is the same run. */
Test(simulation, repeats)
{
    sim_figures once, again;
    sim_settings settings = {.seed = 7, .steps = 20};
    char *wrong = sim_cluster_run(&settings, &once);
    cr_assert_null(wrong, "%s", wrong);
    wrong = sim_cluster_run(&settings, &again);
    cr_assert_null(wrong, "%s", wrong);
    cr_assert(once.messages == again.messages && once.batches == again.batches &&
              once.bytes_moved == again.bytes_moved);
}

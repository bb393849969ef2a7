/* test/runtime/steal_test.c - stealing between real nodes: the same bits with every policy; wrong settings; the loss of a
 * thief and of a victim. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(steal, .timeout = TEST_SECONDS);

enum { SIDE = 300, BYTES = SIDE * SIDE * (int)sizeof(float) };

/** A program whose work is uneven: node 0 has most of it. */
typedef struct program {
    dcl_array *A, *B, *C, *D;
} program;

static void make(program *of, dcl_cluster *cluster, const char *map)
{
    of->A = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, SIDE, SIDE));
    of->B = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, SIDE, SIDE));
    of->C = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, SIDE, SIDE));
    of->D = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, SIDE, SIDE));
}

static void release(program *of)
{
    dcl_release(of->A);
    dcl_release(of->B);
    dcl_release(of->C);
    dcl_release(of->D);
}

/* Own elements only; elements of other nodes; an array that is read and written; neighbours; a loop whose length depends on
 * the row, so that some nodes have far more to do. */
static void run(dcl_cluster *cluster, const program *of, int rounds)
{
    dcl_array *A = of->A, *B = of->B, *C = of->C, *D = of->D;
    TEST_OK(dcl_forall(cluster, "A(i,j) = sin(0.001f * (i * 7 + 2*j));", DCL_OUT(A)));
    for (int r = 0; r < rounds; r++) {
        float s = 0.25f + (float)r;
        TEST_OK(dcl_forall(cluster,
                           "float x = A(i,j); for (int n = 0; n < i; n++) x = x * 0.99f + s * 0.01f; B(i,j) = x;",
                           DCL_OUT(B), DCL_IN(A), DCL_VALUE(s)));
        TEST_OK(dcl_forall(cluster, "C(i,j) = B(i,j) + 2 * B(j,i) - A(i,j);", DCL_OUT(C), DCL_IN(B), DCL_IN(A)));
        TEST_OK(dcl_forall(cluster, "D(i,j) = D(i,j) * 0.5f + C(i,j);", DCL_INOUT(D), DCL_IN(C)));
        TEST_OK(dcl_forall(cluster,
                           "A(i,j) = 0.2f * (D(i,j) + (i > 0 ? D(i-1,j) : 0) + (i < 299 ? D(i+1,j) : 0) + "
                           "(j > 0 ? D(i,j-1) : 0) + (j < 299 ? D(i,j+1) : 0));",
                           DCL_OUT(A), DCL_IN(D)));
    }
}

/* Run the program. @param bytes_out  [BYTES] the last result. @return the counters of all nodes. */
static dcl_counters run_with(const dcl_config *config, const char *map, int rounds, void *bytes_out)
{
    dcl_cluster *cluster = test_open(config);
    program of;
    make(&of, cluster, map);
    run(cluster, &of, rounds);
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_read(of.A, NULL, bytes_out, NULL));
    dcl_counters counters = test_counters(cluster, DCL_ALL_NODES);
    release(&of);
    TEST_OK(dcl_close(cluster));
    return counters;
}

static void same_bits(const char *workers, const char *transfer)
{
    enum { ROUNDS = 6, NODES = 3, TRIES = 20 };
    static const char *const maps[] = {"rows:block", "rows:cyclic(37x41)"};
    static float expected[SIDE * SIDE], found[SIDE * SIDE];
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        dcl_config config = test_config(NODES);
        config.workers = workers;
#ifdef TEST_DCL
        config.program = TEST_DCL;
#endif
        config.transfer = transfer;
        config.tile_bytes = 16384;
        config.steal = "never";
        dcl_counters never = run_with(&config, maps[m], ROUNDS, expected);
        cr_expect_eq(never.loans_asked, 0);
        int64_t won = 0;
        config.steal = "always";
        for (int n = 0; n < TRIES && (n < 2 || won == 0); n++) {
            dcl_counters always = run_with(&config, maps[m], ROUNDS, found);
            cr_assert(memcmp(found, expected, BYTES) == 0, "%s: another result", maps[m]);
            cr_expect_eq(always.bytes_moved, never.bytes_moved, "planned counters say nothing of loans");
            cr_expect_eq(always.messages_planned, never.messages_planned);
            won += always.loans_won;
        }
        cr_expect(won > 0, "%s: nothing was lent", maps[m]);
    }
}

Test(steal, same_bits_between_threads) { same_bits(NULL, "auto"); }

Test(steal, same_bits_between_threads_that_send) { same_bits(NULL, "send"); }

#ifdef TEST_DCL
Test(steal, same_bits_between_processes) { same_bits("local:3", "auto"); }

Test(steal, same_bits_between_processes_that_send) { same_bits("local:3", "send"); }
#endif

Test(steal, wrong_settings)
{
    static const char *const wrong[] = {"sometimes", "", "pays,", "kinds", "always,kind", "PAYS"};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        dcl_config config = test_config(2);
        config.steal = wrong[n];
        cr_expect_null(dcl_open(&config), "\"%s\" was accepted", wrong[n]);
        cr_expect(strstr(dcl_error(), "STEAL") != NULL && strstr(dcl_error(), "never|pays|always") != NULL, "%s",
                  dcl_error());
    }
}

/* Three nodes with small tiles, which are lent to every node that has nothing to do. */
static dcl_config lending_config(void)
{
    dcl_config config = test_config(3);
    config.steal = "always";
    config.tile_bytes = 16384;
    return config;
}

/* Open such a cluster with arrays of this map. */
static dcl_cluster *open_lending(program *of_out)
{
    const dcl_config config = lending_config();
    dcl_cluster *cluster = test_open(&config);
    make(of_out, cluster, "rows:block");
    return cluster;
}

/* Every batch reads outside its array. Those that are lent come back, because only their own node reports: the report is
 * that of a run without stealing. */
Test(steal, accesses_outside_are_reported)
{
    enum { ROUNDS = 4, TRIES = 40 };
    program of;
    dcl_cluster *cluster = open_lending(&of);
    dcl_array *A = of.A, *B = of.B;
    int64_t returned = 0;
    for (int r = 0; r < TRIES && (r < ROUNDS || returned == 0); r++) {
        TEST_OK(dcl_forall(cluster,
                           "float x = 0; for (int n = 0; n < 2 * i; n++) x = x * 0.99f + 0.01f; B(i,j) = A(j+1,i) + x;",
                           DCL_OUT(B), DCL_IN(A)));
        TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "A(300,");
        dcl_clear_error(cluster);
        returned = test_counters(cluster, DCL_ALL_NODES).loans_taken_back;
    }
    cr_expect(returned > 0, "nothing was lent");
    release(&of);
    TEST_OK(dcl_close(cluster));
}

/* Whether a file contains a text. */
static bool has_text(const char *path, const char *text)
{
    char line[4096];
    bool has = false;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    while (!has && fgets(line, sizeof line, file) != NULL)
        has = strstr(line, text) != NULL;
    fclose(file);
    return has;
}

Test(steal, stolen_batches_are_traced)
{
    enum { ROUNDS = 6, TRIES = 20 };
    static float found[SIDE * SIDE];
    char path[64];
    snprintf(path, sizeof path, "/tmp/dcl-steal-%d.json", (int)getpid());
    int64_t won = 0;
    for (int n = 0; n < TRIES && won == 0; n++) {
        dcl_config config = lending_config();
        config.trace = path;
        won = run_with(&config, "rows:block", ROUNDS, found).loans_won;
    }
    cr_expect(won > 0, "nothing was lent");
    cr_expect(has_text(path, "\"cat\":\"stolen\""));
    unlink(path);
}

/* Number of lines of a file that contain two texts. */
static int count_lines(const char *path, const char *text, const char *other)
{
    char line[4096];
    int count = 0;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, text) != NULL && strstr(line, other) != NULL;
    fclose(file);
    return count;
}

/* Node 1 has no elements, so it only needs the body for what it borrows. Its thread does not compile it. */
Test(steal, a_thief_compiles_beside_its_thread)
{
    enum { NODES = 2, TRIES = 20 };
    char path[64];
    snprintf(path, sizeof path, "/tmp/dcl-steal-%d.json", (int)getpid());
    dcl_counters counters = {0};
    for (int n = 0; n < TRIES && counters.loans_won == 0; n++) {
        dcl_config config = test_config(NODES);
        config.steal = "always";
        config.trace = path;
        dcl_cluster *cluster = test_open(&config);
        dcl_array *C = test_array(cluster, "block;nodes=0", dcl_grid_1d(DCL_INT32, 4096));
        for (int r = 0; r < TRIES && counters.loans_won == 0; r++) {
            TEST_OK(dcl_forall(cluster, "int s = 1; for (int n = 0; n < 9999; n++) s = s * 5 + 3; C(i) = s + i;",
                               DCL_OUT(C)));
            TEST_OK(dcl_wait(cluster));
            counters = test_counters(cluster, DCL_ALL_NODES);
        }
        dcl_release(C);
        TEST_OK(dcl_close(cluster));
    }
    cr_expect(counters.loans_won > 0, "nothing was lent");
    cr_expect_eq(counters.kernels_built, NODES);
    cr_expect_eq(count_lines(path, "\"cat\":\"compile\"", "\"pid\":2"), 1, "node 0");
    cr_expect_eq(count_lines(path, "\"cat\":\"compile\"", "\"pid\":3"), 0, "node 1");
    unlink(path);
}

/* Bytes of the payloads of loans on the wire in a trace. *packs_out: number of inputs that were packed for loans. */
static int64_t loan_bytes_in(const char *path, int64_t *packs_out)
{
    char line[4096];
    int64_t sum = 0;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    *packs_out = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *bytes = strstr(line, "\"bytes\":");
        if (strstr(line, "\"loan\":") == NULL || bytes == NULL)
            continue;
        if (strstr(line, "\"cat\":\"wire\"") != NULL || strstr(line, "\"cat\":\"sent\"") != NULL)
            sum += strtoll(bytes + strlen("\"bytes\":"), NULL, 10);
        *packs_out += strstr(line, "\"cat\":\"pack\"") != NULL;
        cr_expect_null(strstr(line, "not known"), "its sending is not known: %s", line);
    }
    fclose(file);
    return sum;
}

static void loans_are_on_the_wire(const char *workers)
{
    enum { NODES = 2, ROUNDS = 6, TRIES = 20 };
    static float found[SIDE * SIDE];
    char path[64];
    snprintf(path, sizeof path, "/tmp/dcl-steal-%d.json", (int)getpid());
    dcl_counters counters = {0};
    for (int n = 0; n < TRIES && counters.loans_won == 0; n++) {
        dcl_config config = test_config(NODES);
        config.workers = workers;
#ifdef TEST_DCL
        config.program = TEST_DCL;
#endif
        config.steal = "always";
        config.transfer = "send";
        config.tile_bytes = 16384;
        config.trace = path;
        counters = run_with(&config, "rows:block", ROUNDS, found);
    }
    cr_expect(counters.loans_won > 0, "nothing was lent");
    int64_t packs, bytes = loan_bytes_in(path, &packs); /* what was taken back may have arrived later */
    cr_expect(bytes >= counters.loan_bytes && bytes > 0, "%lld bytes are in the trace; expected at least %lld",
              (long long)bytes, (long long)counters.loan_bytes);
    cr_expect(packs > 0, "no input was packed for a loan");
    unlink(path);
}

Test(steal, loans_are_traced_between_threads) { loans_are_on_the_wire(NULL); }

#ifdef TEST_DCL
Test(steal, loans_are_traced_between_processes) { loans_are_on_the_wire("local:2"); }
#endif

/* A stencil whose parts are far smaller than a tile; its cost grows with the row. Each row needs the rows around it. */
static void a_stencil_is_lent(const char *transfer)
{
    enum { NODES = 2, ROWS = 64, COLUMNS = 32, TRIES = 40 };
    static float expected[ROWS * COLUMNS], found[ROWS * COLUMNS];
    dcl_config config = test_config(NODES);
    config.steal = "always";
    config.transfer = transfer;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_array *B = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    static const char body[] = "float s = 0; for (int n = 0; n < 300 * i; n++) "
                               "s = s * 0.5f + A(clamp(i-1, 0, 63),j) + A(clamp(i+1, 0, 63),j); B(i,j) = s;";
    TEST_OK(dcl_forall(cluster, "A(i,j) = 0.25f * i + j;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(B), DCL_IN(A), DCL_STEALING(DCL_STEAL_NEVER)));
    TEST_OK(dcl_read(B, NULL, expected, NULL));
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).loans_won, 0);
    int64_t won = 0;
    for (int n = 0; n < TRIES && won == 0; n++) {
        TEST_OK(dcl_forall(cluster, body, DCL_OUT(B), DCL_IN(A)));
        TEST_OK(dcl_read(B, NULL, found, NULL));
        cr_expect_arr_eq(found, expected, sizeof expected);
        won = test_counters(cluster, DCL_ALL_NODES).loans_won;
    }
    cr_expect(won > 0, "nothing was lent");
    dcl_release(A);
    dcl_release(B);
    TEST_OK(dcl_close(cluster));
}

Test(steal, own_parts_of_a_stencil_are_lent) { a_stencil_is_lent(NULL); }

Test(steal, own_parts_of_a_stencil_that_receives_rows_are_lent) { a_stencil_is_lent("send"); }

/* A thief that takes far longer than its victim: nothing was gained by the bytes sent to it. There are so few batches that
 * none is taken back. */
Test(steal, late_results_are_in_vain)
{
    enum { NODES = 2, TRIES = 200 };
    test_fault("slow node=0 times=30");
    dcl_config config = test_config(NODES);
    config.steal = "always";
    config.transfer = "send";
    config.tile_bytes = 32768;
    dcl_cluster *cluster = test_open(&config);
    test_fault(NULL);
    program of;
    make(&of, cluster, "weighted(1:299),*");
    dcl_array *A = of.A, *B = of.B;
    dcl_counters before, after = test_counters(cluster, DCL_ALL_NODES);
    bool seen = false;
    for (int n = 0; n < TRIES && !seen; n++) {
        before = after;
        TEST_OK(dcl_forall(cluster, "B(i,j) = sin(sin(A(i,j))) + (i > 0 ? A(i-1,j) : 0);", DCL_OUT(B), DCL_IN(A)));
        TEST_OK(dcl_wait(cluster));
        after = test_counters(cluster, DCL_ALL_NODES);
        cr_expect_leq(after.loan_bytes_in_vain, after.loan_bytes);
        seen =
            after.loans_taken_back == before.loans_taken_back && after.loan_bytes_in_vain > before.loan_bytes_in_vain;
    }
    cr_expect(seen, "no result came late: of %lld loans, %lld were taken back", (long long)after.loans_won,
              (long long)after.loans_taken_back);
    release(&of);
    TEST_OK(dcl_close(cluster));
}

/* Run a body several times on one cluster. @param policy  NULL: the call has none. @return batches that were lent. */
static int64_t lent_with(dcl_cluster *cluster, dcl_array *A, dcl_array *B, const dcl_steal_policy *policy)
{
    int64_t before = test_counters(cluster, DCL_ALL_NODES).loans_won;
    dcl_arg args[] = {DCL_OUT(B), DCL_IN(A), DCL_STEALING(policy != NULL ? *policy : DCL_STEAL_DEFAULT)};
    for (int r = 0; r < 4; r++) {
        TEST_OK(dcl_forall_n(cluster,
                             "float x = A(i,j); for (int n = 0; n < 2 * i; n++) x = x * 0.99f + 0.01f; B(i,j) = x;",
                             policy != NULL ? 3 : 2, args));
        TEST_OK(dcl_wait(cluster));
    }
    return test_counters(cluster, DCL_ALL_NODES).loans_won - before;
}

/* By default nobody lends in a session with GPUs; with `kinds` their launches are timed, and they lend what pays. */
static void gpus_lend(const char *workers)
{
    enum { TRIES = 30 };
    static float expected[SIDE * SIDE], found[SIDE * SIDE];
    fake_opencl_select();
    setenv("TEST_OPENCL", "gpu", 1);
    dcl_config config = test_config(2);
    config.workers = workers;
#ifdef TEST_DCL
    config.program = TEST_DCL;
#endif
    config.steal = "pays";
    dcl_counters counters = run_with(&config, "splits(30),*", 4, expected);
    cr_expect_eq(counters.loans_asked, 0, "without `kinds`");
    config.steal = "pays,kinds";
    counters = (dcl_counters){0};
    for (int n = 0; n < TRIES && counters.loans_won == 0; n++) {
        counters = run_with(&config, "splits(30),*", 4, found);
        cr_assert(memcmp(found, expected, BYTES) == 0, "another result");
    }
    cr_expect_gt(counters.loans_won, 0, "%" PRId64 " asked", counters.loans_asked);
}

Test(steal, gpus_lend_with_kinds_between_threads) { gpus_lend(NULL); }

#ifdef TEST_DCL
Test(steal, gpus_lend_with_kinds_between_processes) { gpus_lend("local:2"); }
#endif

Test(steal, policies_of_calls_and_arrays)
{
    enum { TRIES = 20 };
    program of;
    dcl_cluster *cluster = open_lending(&of);
    dcl_array *A = of.A, *B = of.B;
    const dcl_steal_policy never = DCL_STEAL_NEVER, always = DCL_STEAL_ALWAYS;
    int64_t won[2] = {0};
    for (int n = 0; n < TRIES && won[0] == 0; n++)
        won[0] += lent_with(cluster, A, B, NULL);
    cr_expect(won[0] > 0, "nothing was lent by the session's policy");
    cr_expect_eq(lent_with(cluster, A, B, &never), 0, "the call's policy counts");
    TEST_OK(dcl_steal(B, DCL_STEAL_NEVER));
    for (int n = 0; n < TRIES / 2; n++)
        cr_assert_eq(lent_with(cluster, A, B, NULL), 0, "the array's policy counts");
    for (int n = 0; n < TRIES && won[1] == 0; n++)
        won[1] += lent_with(cluster, A, B, &always);
    cr_expect(won[1] > 0, "nothing was lent, although the call's policy comes before that of the array");
    TEST_REFUSED(dcl_steal(NULL, DCL_STEAL_NEVER), DCL_ERR_INVALID, "array is NULL");
    TEST_REFUSED(dcl_steal(B, (dcl_steal_policy)9), DCL_ERR_INVALID, "the policy is 9");
    TEST_REFUSED(dcl_forall(cluster, "B(i,j) = A(i,j);", DCL_OUT(B), DCL_IN(A), DCL_STEALING((dcl_steal_policy)7)),
                 DCL_ERR_INVALID, "DCL_STEALING has policy 7");
    TEST_REFUSED(dcl_forall(cluster, "B(i,j) = A(i,j);", DCL_OUT(B), DCL_IN(A), DCL_STEALING(DCL_STEAL_NEVER),
                            DCL_STEALING(DCL_STEAL_NEVER)),
                 DCL_ERR_INVALID, "DCL_STEALING is given twice");
    dcl_clear_error(cluster);
    release(&of);
    TEST_OK(dcl_close(cluster));
}

/* ---- lasting imbalance --------------------------------------------------------------------------------------------- */

#ifdef TEST_DCL
enum { ROWS = 400, COLUMNS = 32 };

/* Run a body several times, waiting for each call. @return batches that were lent. */
static int64_t run_body(dcl_cluster *cluster, const char *body, dcl_array *B, int calls)
{
    int64_t before = test_counters(cluster, DCL_ALL_NODES).loans_won;
    for (int c = 0; c < calls; c++) {
        TEST_OK(dcl_forall(cluster, body, DCL_OUT(B)));
        TEST_OK(dcl_wait(cluster));
    }
    return test_counters(cluster, DCL_ALL_NODES).loans_won - before;
}

static dcl_report *report_on(dcl_cluster *cluster, const char *body, dcl_array *B)
{
    dcl_report *report = dcl_explain_report(cluster, body, DCL_OUT(B));
    cr_assert_not_null(report, "%s", dcl_error());
    return report;
}

static bool advises(const dcl_report *report, const char *words)
{
    bool found = false;
    for (int n = 0; n < report->advice_count; n++)
        found |= strstr(report->advice[n], words) != NULL;
    return found;
}

/* The share of the rows that node 0 has, percent. */
static double share_of_first(const dcl_array *B)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS);
    int rows = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        int node;
        int64_t offset, index[2] = {i, 0};
        TEST_OK(dcl_map_locate(dcl_map_of(B), &grid, index, &node, &offset));
        rows += node == 0;
    }
    return 100.0 * rows / ROWS;
}

/* Follow the advice of a report: with the map, node 0 gets a share of the rows between these, and fewer batches are lent.
 * Times that are measured on a busy machine may mislead: several attempts. */
static void follow_advice(const char *fault, const char *body, double least, double most)
{
    enum { CALLS = 12, TRIES = 40 };
    dcl_config config = test_config(2);
    config.workers = "local:2";
    config.program = TEST_DCL;
    config.pin = true;
    config.steal = "always";
    test_fault(fault);
    dcl_cluster *cluster = test_open(&config);
    test_fault(NULL);
    dcl_array *B = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_report *report = report_on(cluster, body, B);
    cr_expect_null(report->balanced_map, "nothing was run yet, but '%s' is advised", report->balanced_map);
    int64_t lent = 0, left = 0;
    double share = 0;
    bool good = false, advised = false;
    for (int n = 0; n < TRIES && !good; n++) {
        dcl_report_release(report);
        lent = run_body(cluster, body, B, CALLS);
        report = report_on(cluster, body, B);
        if (report->balanced_map == NULL)
            continue;
        advised = true;
        cr_expect(report->balanced_ns > 0 && report->balanced_ns < report->unbalanced_ns);
        cr_expect(advises(report, "node 1 has more to do than others"));
        cr_expect(advises(report, report->balanced_map));
        dcl_map *map = dcl_map_parse(cluster, report->balanced_map), *before = dcl_map_parse(cluster, "block,*");
        cr_assert_not_null(map, "'%s': %s", report->balanced_map, dcl_error());
        TEST_OK(dcl_remap(B, map));
        share = share_of_first(B);
        left = run_body(cluster, body, B, CALLS);
        good = share > least && share < most && left < lent;
        TEST_OK(dcl_remap(B, before));
        dcl_map_release(before);
        dcl_map_release(map);
    }
    cr_expect(good, "advised: %d; node 0 gets %.0f %% of the rows; %lld batches were lent before, %lld after", advised,
              share, (long long)lent, (long long)left);
    dcl_report_release(report);
    dcl_array_release(B);
    TEST_OK(dcl_close(cluster));
}

/* Rows 0 .. 282 of 400 have half of the work: 1 / sqrt(2). */
Test(steal, advice_for_costs_that_grow)
{
    follow_advice(NULL, "float x = i; for (int n = 0; n < 5 * i; n++) x = x * 0.99f + 0.01f; B(i,j) = x;", 58, 82);
}

/* Node 1 takes three times as long: node 0 should get three quarters. */
Test(steal, advice_for_a_slow_node)
{
    follow_advice("slow node=1 times=3",
                  "float x = i; for (int n = 0; n < 1000; n++) x = x * 0.99f + 0.01f; B(i,j) = x;", 60, 88);
}
#endif

/* Node 0 has no memory for a result: it runs the batch itself, and no operation fails. */
Test(steal, a_result_without_memory_counts_as_returned)
{
    enum { NODES = 3, TRIES = 20 };
    static float expected[SIDE * SIDE], found[SIDE * SIDE];
    dcl_config config = test_config(NODES);
    config.tile_bytes = 16384;
    config.steal = "never";
    run_with(&config, "rows:block", 2, expected);
    config.steal = "always";
    setenv("DCL_FAULT", "result node=0 count=1", 1);
    int64_t returned = 0;
    for (int n = 0; n < TRIES && returned == 0; n++) {
        dcl_cluster *cluster = test_open(&config);
        program of;
        make(&of, cluster, "rows:block");
        run(cluster, &of, 2);
        TEST_OK(dcl_wait(cluster));
        TEST_OK(dcl_read(of.A, NULL, found, NULL));
        cr_assert(memcmp(found, expected, BYTES) == 0, "another result");
        returned = test_counters(cluster, 0).loans_taken_back;
        release(&of);
        TEST_OK(dcl_close(cluster));
    }
    unsetenv("DCL_FAULT");
    cr_expect(returned > 0, "no result came");
}

/* A call whose plan fails has batches, but no works: it has no measured times, and the next call is right again. */
Test(steal, a_failed_plan_is_not_measured)
{
    enum { HEIGHT = 30, TALL = 200, WIDTH = 40, ROUNDS = 8 };
    dcl_config config = test_config(3);
    config.tile_bytes = 256;
    config.pool_bytes = 8192;
    config.transfer = "send";
    config.steal = "pays";
    dcl_cluster *cluster = test_open(&config);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t h = round % 4 < 3 ? HEIGHT : TALL, w = WIDTH;
        int32_t one = 1, found = 0;
        dcl_array *X = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, h, w)),
                  *O = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, h, w));
        TEST_OK(dcl_fill(X, &one));
        TEST_OK(dcl_forall(cluster, "O(i,j) = X(h-1-i,w-1-j) + X(i,j);", DCL_OUT(O), DCL_IN_ALL(X), DCL_VALUE(h),
                           DCL_VALUE(w)));
        cr_expect_eq(dcl_wait(cluster), h == TALL ? DCL_ERR_NOMEM : DCL_OK, "round %d: %s", round, dcl_error());
        dcl_clear_error(cluster);
        const dcl_box element = dcl_box_nd(2, (int64_t[]){h - 1, 0}, (int64_t[]){1, 1});
        if (h == HEIGHT) {
            TEST_OK(dcl_read(O, &element, &found, NULL));
            cr_expect_eq(found, 2, "round %d: %d", round, found);
        }
        dcl_release(O);
        dcl_release(X);
    }
    TEST_OK(dcl_close(cluster));
}

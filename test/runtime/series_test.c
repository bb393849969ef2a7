/* test/runtime/series_test.c - short operations that share a launch: the same bits, order, failures and blame as of
 * operations that are launched one by one. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/cluster.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"
#include "worker/series.h"

TestSuite(series_on_device, .timeout = TEST_SECONDS);

enum { EDGE = 16, MOST_S = 100 };

static double now_s(void) { return 1e-9 * (double)dcli_monotonic_ns(); }

/* Calls in between reach the nodes together, however slow the program is. There may be as many as the window allows, and
 * their bodies are known: no call waits. */
static void hold(dcl_cluster *cluster, bool on)
{
    dcl_cluster *inside = TEST_INSIDE(cluster);
    if (on)
        TEST_OK(dcl_wait(cluster));
    dcli_host_hold(inside->worker[inside->host], on);
}

/* ---- a program of many bodies ------------------------------------------------------------------------------------- */

typedef struct arrays {
    dcl_array *A, *B, *C, *D, *E;
} arrays;

static void make(arrays *of, dcl_cluster *cluster, const char *map)
{
    of->A = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    of->B = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    of->C = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    of->D = test_array(cluster, map, dcl_grid_2d(DCL_INT16, EDGE, EDGE));
    of->E = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, EDGE, EDGE));
}

/* Scalars of several types; indices; an input across; a macro of OpenCL C whose name an array has, but not in the next body;
 * subscripts that reach beyond the edge. */
static void call_all(dcl_cluster *cluster, const arrays *of, int round)
{
    dcl_array *A = of->A, *B = of->B, *C = of->C, *D = of->D, *E = of->E;
    float s = 0.01f * (float)(round % 17);
    int64_t n = round;
    double t = 1.0 / (1 + round % 5);
    uint8_t u = (uint8_t)round;
    TEST_OK(dcl_forall(cluster, "B(i,j) = sin(A(i,j) + s) * 0.5f + cos(A(i,j));", DCL_OUT(B), DCL_IN(A), DCL_VALUE(s)));
    TEST_OK(dcl_forall(cluster, "A(i,j) = B(j,i);", DCL_OUT(A), DCL_IN(B)));
    TEST_OK(dcl_forall(cluster, "M_PI_F(i,j) = A(i,j) * 0.25f + M_PI_F(i,j) * 0.5f;", DCL_INOUT_AS("M_PI_F", C),
                       DCL_IN(A)));
    TEST_OK(dcl_forall(cluster, "D(i,j) = (short)(C(i,j) * 100) + (short)((i + n * j + u) % 7);", DCL_OUT(D), DCL_IN(C),
                       DCL_VALUE(n), DCL_VALUE(u)));
    TEST_OK(dcl_forall(cluster, "E(i,j) = E(i,j) * 0.5 + t * C(i,j) / M_PI_F;", DCL_INOUT(E), DCL_IN(C), DCL_VALUE(t),
                       DCL_OVER("1 <= i < 16, 0 <= j <= i")));
    TEST_OK(dcl_forall(cluster, "A(i,j) = 0.5f * (i > 0 ? B(i-1,j) : 0.0f) + (float)E(i,j) * 0.001f + D(i,j) * 1e-4f;",
                       DCL_OUT(A), DCL_IN(B), DCL_IN(D), DCL_IN(E)));
}

/* @param rounds  0: until operations share launches. @return number of rounds. */
static int run_all(const dcl_config *config, const char *map, int rounds, float A_out[], double E_out[])
{
    enum { INTERVAL = 50, TOGETHER = 5 };
    dcl_cluster *cluster = test_open(config);
    arrays of;
    make(&of, cluster, map);
    int64_t first = 0, before = 0;
    int done = 0;
    bool shared = false;
    double end_s = now_s() + MOST_S;
    for (; rounds > 0 ? done < rounds : done % INTERVAL != 0 || (!shared && now_s() < end_s); done++) {
        if (done > 0 && done % INTERVAL == 0) {
            TEST_OK(dcl_wait(cluster));
            int64_t all = test_counters(cluster, DCL_ALL_NODES).launches, launches = all - before;
            first = first == 0 ? launches : first;
            shared = launches < first * 9 / 10;
            before = all;
        }
        if (done >= INTERVAL && done % TOGETHER == 0)
            hold(cluster, true);
        call_all(cluster, &of, done);
        if (done % TOGETHER == TOGETHER - 1)
            hold(cluster, false);
    }
    if (rounds == 0)
        cr_expect(shared, "%s: no launches were shared in %d rounds", map, done);
    TEST_OK(dcl_read(of.A, NULL, A_out, NULL));
    TEST_OK(dcl_read(of.E, NULL, E_out, NULL));
    TEST_OK(dcl_close(cluster));
    return done;
}

/* Kernels that check every access are launched one by one. */
static void compare(int nodes, const char *map)
{
    float A[2][EDGE * EDGE];
    double E[2][EDGE * EDGE];
    dcl_config config = test_config(nodes);
    int rounds = run_all(&config, map, 0, A[0], E[0]);
    config.check = "access";
    run_all(&config, map, rounds, A[1], E[1]);
    cr_expect_eq(memcmp(A[0], A[1], sizeof A[0]), 0, "%d nodes, %s: A differs", nodes, map);
    cr_expect_eq(memcmp(E[0], E[1], sizeof E[0]), 0, "%d nodes, %s: E differs", nodes, map);
}

Test(series_on_device, has_the_same_bits) { compare(1, "block"); }

Test(series_on_device, has_the_same_bits_on_several_nodes) { compare(2, "rows:cyclic(3x5)"); }

/* ---- a chain of two bodies ------------------------------------------------------------------------------------------ */

#define THERE "Y(i,j) = X(i,j) + 1.0f;"
#define BACK "X(i,j) = Y(i,j) + (n > 1 ? *(__global const float *)n : 1.0f);"

typedef struct chain {
    dcl_cluster *cluster;
    dcl_array *X, *Y;
    int64_t calls; /* value of X */
    bool knows;    /* both bodies were called */
} chain;

static chain open_chain(const dcl_config *config)
{
    chain c = {.cluster = test_open(config)};
    c.X = test_array(c.cluster, "block", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    c.Y = test_array(c.cluster, "block", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    return c;
}

static dcl_status call_there(chain *c)
{
    dcl_array *X = c->X, *Y = c->Y;
    return dcl_forall(c->cluster, THERE, DCL_OUT(Y), DCL_IN(X));
}

static dcl_status call_back(chain *c, int64_t n)
{
    dcl_array *X = c->X, *Y = c->Y;
    return dcl_forall(c->cluster, BACK, DCL_OUT(X), DCL_IN(Y), DCL_VALUE(n));
}

static void go_on(chain *c, int pairs)
{
    enum { TOGETHER = 20 };
    for (int n = 0; n < pairs; n++) {
        if (c->knows && n % TOGETHER == 0)
            hold(c->cluster, true);
        TEST_OK(call_there(c));
        TEST_OK(call_back(c, 1));
        if (n % TOGETHER == TOGETHER - 1 || n == pairs - 1)
            hold(c->cluster, false);
        c->knows = true;
    }
    c->calls += 2 * pairs;
}

static void expect_value(const chain *c)
{
    float found[EDGE * EDGE];
    TEST_OK(dcl_read(c->X, NULL, found, NULL));
    for (int k = 0; k < EDGE * EDGE; k++)
        cr_assert_eq(found[k], (float)c->calls, "element %d is %g after %lld calls", k, found[k], (long long)c->calls);
}

/* @return launches of as many pairs of calls. */
static int64_t count_launches(chain *c, int pairs)
{
    int64_t before = test_counters(c->cluster, DCL_ALL_NODES).launches;
    go_on(c, pairs);
    TEST_OK(dcl_wait(c->cluster));
    return test_counters(c->cluster, DCL_ALL_NODES).launches - before;
}

/* Until most operations share a launch. */
static void warm(chain *c)
{
    enum { PAIRS = 200 };
    bool shared = false;
    for (double end_s = now_s() + MOST_S; !shared && now_s() < end_s;)
        shared = count_launches(c, PAIRS) < PAIRS;
    cr_assert(shared, "no launches are shared");
}

static void close_chain(chain *c)
{
    dcl_release(c->X);
    dcl_release(c->Y);
    TEST_OK(dcl_close(c->cluster));
}

/* Operations of all kinds come between: each sees what the calls before it have written, and none after it. */
Test(series_on_device, keeps_the_order_of_operations)
{
    dcl_config config = test_config(1);
    const float zero = 0;
    chain c = open_chain(&config);
    warm(&c);
    for (int n = 0; n < 60; n++) {
        go_on(&c, 1 + n * 7 % 50);
        dcl_array *X = c.X, *Z = test_array(c.cluster, "rows:cyclic(3x5)", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
        float given[EDGE * EDGE];
        switch (n % 6) {
        case 0:
            expect_value(&c);
            break;
        case 1:
            TEST_OK(dcl_fill(c.X, &zero));
            c.calls = 0;
            break;
        case 2:
            TEST_OK(dcl_copy(c.X, Z));
            go_on(&c, 3);
            TEST_OK(dcl_read(Z, NULL, given, NULL));
            cr_assert_eq(given[5], (float)(c.calls - 6));
            break;
        case 3:
            for (int k = 0; k < EDGE * EDGE; k++)
                given[k] = (float)n;
            TEST_OK(dcl_write(c.X, NULL, given, NULL));
            c.calls = n;
            break;
        case 4: /* an array is released while operations on it have not ended */
            TEST_OK(dcl_forall(c.cluster, THERE, DCL_OUT_AS("Y", Z), DCL_IN(X)));
            break;
        default: /* another array in the place of one of the chain */
            dcl_release(c.Y);
            c.Y = test_array(c.cluster, "block", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
            break;
        }
        dcl_release(Z);
    }
    expect_value(&c);
    close_chain(&c);
}

/* The program evicts bodies, of which some are in series that have not ended, and calls them again. */
Test(series_on_device, outlives_its_bodies)
{
    dcl_config config = test_config(1);
    chain c = open_chain(&config);
    warm(&c);
    size_t most_bytes = TEST_INSIDE(c.cluster)->bodies.most_bytes;
    for (int n = 0; n < 4; n++) {
        dcl_array *Y = c.Y;
        char body[40];
        c.knows = false; /* they are evicted by the call of the other one */
        go_on(&c, 20);
        TEST_INSIDE(c.cluster)->bodies.most_bytes = 1;
        snprintf(body, sizeof body, "Y(i,j) = %d;", n % 2);
        TEST_OK(dcl_forall(c.cluster, body, DCL_OUT(Y)));
        TEST_INSIDE(c.cluster)->bodies.most_bytes = most_bytes;
        c.knows = false;
        go_on(&c, 20);
        expect_value(&c);
    }
    close_chain(&c);
}

/* ---- failures ------------------------------------------------------------------------------------------------------- */

static chain open_faked(fake_opencl *fake, const dcl_config *config)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(fake), "%s", TEST_FAKE_OPENCL);
    return open_chain(config);
}

Test(series_on_device, that_cannot_be_compiled_is_launched_one_by_one)
{
    fake_opencl fake;
    dcl_config config = test_config(1);
    chain c = open_faked(&fake, &config);
    go_on(&c, 1);
    TEST_OK(dcl_wait(c.cluster));
    fake.plan("fail clBuildProgram 1+ -11");
    for (double end_s = now_s() + MOST_S; fake.calls("clBuildProgram") == 0 && now_s() < end_s;)
        go_on(&c, 50);
    cr_expect_gt(fake.calls("clBuildProgram"), 0, "nobody has tried");
    fake.plan(NULL);
    cr_expect_gt(count_launches(&c, 500), 500);
    expect_value(&c);
    close_chain(&c);
}

/* All of its operations have failed, and so have their arrays, until they are overwritten. The loop may end after the first
 * call, which writes Y. */
Test(series_on_device, that_cannot_be_launched_fails)
{
    fake_opencl fake;
    const float zero = 0;
    float found[EDGE * EDGE];
    dcl_config config = test_config(1);
    chain c = open_faked(&fake, &config);
    warm(&c);
    fake.plan("fail clEnqueueNDRangeKernel 1+ -5");
    dcl_status status = DCL_OK;
    for (int n = 0; n < 20 && status == DCL_OK; n++)
        status = n % 2 == 0 ? call_there(&c) : call_back(&c, 1);
    TEST_REFUSED(dcl_wait(c.cluster), DCL_ERR_DEVICE, "clEnqueueNDRangeKernel gave CL_OUT_OF_RESOURCES (-5)");
    cr_expect_neq(dcl_read(c.Y, NULL, found, NULL), DCL_OK);
    fake.plan(NULL);
    dcl_clear_error(c.cluster);
    TEST_OK(dcl_fill(c.X, &zero));
    c.calls = 0;
    go_on(&c, 100);
    expect_value(&c);
    close_chain(&c);
}

Test(series_on_device, that_ends_with_an_error_fails)
{
    fake_opencl fake;
    float found[EDGE * EDGE];
    dcl_config config = test_config(1);
    chain c = open_faked(&fake, &config);
    warm(&c);
    fake.plan("event clEnqueueNDRangeKernel 1 -5");
    for (int n = 0; n < 20; n++)
        if ((n % 2 == 0 ? call_there(&c) : call_back(&c, 1)) != DCL_OK)
            break;
    TEST_REFUSED(dcl_wait(c.cluster), DCL_ERR_DEVICE, "CL_OUT_OF_RESOURCES (-5)");
    cr_expect_neq(dcl_read(c.Y, NULL, found, NULL), DCL_OK);
    dcl_close(c.cluster);
}

/* Closing waits for the compiler. */
Test(series_on_device, that_is_being_compiled_does_not_prevent_closing)
{
    for (int pairs = 130; pairs < 1000; pairs += 290) {
        dcl_config config = test_config(1);
        chain c = open_chain(&config);
        go_on(&c, pairs);
        expect_value(&c);
        close_chain(&c);
    }
}

/* Once the compiler has ended, a crash is a body's, although the program is used only by the next short operation. */
Test(series_on_device, whose_compiler_has_ended_excuses_no_body)
{
    dcl_config config = test_config(1);
    chain c = open_chain(&config);
    const dcli_worker *worker = TEST_INSIDE(c.cluster)->worker[0];
    const dcli_compiling *compiling = NULL;
    for (int n = 0; n < 1000 && compiling == NULL; n++) {
        go_on(&c, 1);
        TEST_OK(dcl_wait(c.cluster));
        compiling = dcli_series_compiling(worker->as_node);
    }
    cr_assert_not_null(compiling, "nothing is compiled");
    for (double end_s = now_s() + MOST_S; !dcli_program_is_compiled(compiling) && now_s() < end_s;)
        poll(NULL, 0, 1);
    dcl_array *X = c.X;
    TEST_OK(dcl_forall(c.cluster, "X(i,j) = 2;", DCL_OUT(X))); /* not measured yet, so it does not join a series */
    TEST_OK(dcl_wait(c.cluster));
    cr_expect_eq(dcli_series_compiling(worker->as_node), compiling, "it was taken");
    cr_expect_eq(atomic_load(&worker->terms.watch->page->beside), 0);
    close_chain(&c);
}

/* A program for bodies that never join each other would be of no use: here a sum is computed between any two of them. */
Test(series_on_device, is_not_compiled_for_bodies_that_never_join)
{
    enum { CALLS = 600, TOGETHER = 20 };
    dcl_config config = test_config(1);
    chain c = open_chain(&config);
    dcl_array *X = c.X, *sum = test_array(c.cluster, "block", dcl_grid_1d(DCL_DOUBLE, 1));
    const dcli_worker *worker = TEST_INSIDE(c.cluster)->worker[0];
    for (int n = 0; n < CALLS; n++) {
        TEST_OK(call_back(&c, 1));
        TEST_OK(dcl_reduce(c.cluster, "sum(0) += X(i,j);", DCL_OUT(sum), DCL_IN(X)));
        if (n % TOGETHER != 0)
            continue;
        TEST_OK(dcl_wait(c.cluster));
        cr_assert_null(dcli_series_compiling(worker->as_node), "after %d calls", n);
    }
    dcl_release(sum);
    close_chain(&c);
}

/* Both bodies of a pair are in the program, though a sum is computed after each pair. */
Test(series_on_device, is_compiled_for_the_first_of_two_as_well)
{
    enum { ROUNDS = 100 };
    dcl_config config = test_config(1);
    chain c = open_chain(&config);
    dcl_array *X = c.X, *sum = test_array(c.cluster, "block", dcl_grid_1d(DCL_DOUBLE, 1));
    bool shared = false;
    int64_t first = 0; /* launches of the first rounds, in which nothing is shared */
    for (double end_s = now_s() + MOST_S; !shared && now_s() < end_s;) {
        int64_t before = test_counters(c.cluster, DCL_ALL_NODES).launches;
        for (int n = 0; n < ROUNDS; n++) {
            TEST_OK(call_there(&c));
            TEST_OK(call_back(&c, 1));
            TEST_OK(dcl_reduce(c.cluster, "sum(0) += X(i,j);", DCL_OUT(sum), DCL_IN(X)));
        }
        TEST_OK(dcl_wait(c.cluster));
        int64_t launches = test_counters(c.cluster, DCL_ALL_NODES).launches - before;
        first = first == 0 ? launches : first;
        shared = launches < first - ROUNDS / 2;
    }
    cr_expect(shared, "no launches are shared");
    dcl_release(sum);
    close_chain(&c);
}

/* A sanitizer reports the crash, which the runner takes for a mistake. */
#if defined(TEST_DCL) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Crash a launch of several operations by one of its bodies, which must be named, and not run again; the others are. @return false:
 * the launch was not shared by operations, which happens on a busy machine, where they seem to be long: then several launches were
 * queued, and nobody is blamed. */
static bool crash_is_blamed(void)
{
    dcl_config config = test_config(1);
    config.workers = "local:2";
    config.program = TEST_DCL;
    chain c = open_chain(&config);
    dcl_array *X = test_array(c.cluster, "block;nodes=0", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE)),
              *Y = test_array(c.cluster, "block;nodes=0", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
    dcl_release(c.X);
    dcl_release(c.Y);
    c.X = X;
    c.Y = Y;
    warm(&c);
    go_on(&c, 10);
    hold(c.cluster, true);
    cr_expect_eq(call_there(&c), DCL_OK);
    call_back(&c, 8);
    for (int n = 0; n < 10; n++)
        if (call_there(&c) != DCL_OK || call_back(&c, 1) != DCL_OK)
            break;
    hold(c.cluster, false);
    cr_expect_eq(dcl_wait(c.cluster), DCL_ERR_NODE_LOST);
    bool blamed = strstr(dcl_error(), " (body ") != NULL;
    if (blamed) {
        cr_expect(strstr(dcl_error(), "`X(i,j) = Y(i,j) + (n > 1") != NULL, "%s", dcl_error());
        dcl_clear_error(c.cluster);
        dcl_release(c.X);
        dcl_release(c.Y);
        c.X = test_array(c.cluster, "block;nodes=1", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
        c.Y = test_array(c.cluster, "block;nodes=1", dcl_grid_2d(DCL_FLOAT, EDGE, EDGE));
        TEST_OK(call_there(&c));
        TEST_REFUSED(call_back(&c, 1), DCL_ERR_BODY, "a node was lost by this body");
    }
    dcl_clear_error(c.cluster);
    dcl_close(c.cluster);
    return blamed;
}

Test(series_on_device, that_crashes_blames_the_right_body)
{
    enum { MOST_ROUNDS = 8 };
    bool blamed = false;
    for (int round = 0; round < MOST_ROUNDS && !blamed; round++)
        blamed = crash_is_blamed();
    cr_expect(blamed, "nobody was blamed in any round");
}
#endif

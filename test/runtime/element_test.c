/* test/runtime/element_test.c - reductions into single elements of arrays: the bits of reductions to variables, on all nodes; a
 * conjugate gradient that waits for nothing; explain agrees with the counters; wrong calls are refused. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(element, .timeout = TEST_SECONDS);

enum { ROWS = 37, COLUMNS = 53, EDGE = 24, MOST = 3 };

static float A[ROWS][COLUMNS];

static void fill(void)
{
    uint32_t state = 11;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            state = state * 1664525 + 1013904223;
            A[i][j] = ldexpf((float)(int32_t)state, -22 - (int)(state >> 8) % 40);
        }
}

/* What the reductions of a cluster have found. */
struct found {
    float single, high;
    double sum, low;
    int16_t wrapped;
    uint64_t bits;
};

/* Reduce to variables, then into elements. */
static void reduce_both(dcl_cluster *cluster, const char *map, struct found *values, struct found *elements)
{
    static const char *const body = "single += a(i,j); high max= a(i,j);";
    struct found *v = values, *e = elements;
    const int at = -2;
    dcl_array *a = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_array *f = test_array(cluster, "cyclic", dcl_grid_1d(DCL_FLOAT, 1));
    dcl_array *h = test_array(cluster, "replicated", dcl_grid_1d(DCL_FLOAT, 1));
    dcl_grid table = dcl_grid_2d(DCL_DOUBLE, 3, 4);
    table.origin[1] = -3;
    dcl_array *d = test_array(cluster, "*,block", table), *l = test_array(cluster, "block", table);
    dcl_array *w = test_array(cluster, "block", dcl_grid_1d(DCL_INT16, 5));
    dcl_array *b = test_array(cluster, "cyclic", dcl_grid_1d(DCL_UINT64, 9));
    memset(v, 0, sizeof *v);
    memset(e, 0, sizeof *e);
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_reduce(cluster, body, DCL_RESULT_AS("single", &v->single), DCL_RESULT_AS("high", &v->high), DCL_IN(a)));
    TEST_OK(dcl_reduce(cluster, "single(0) += a(i,j); high(0) max= a(i,j);", DCL_OUT_AS("single", f),
                       DCL_OUT_AS("high", h), DCL_IN(a)));
    TEST_OK(dcl_read(f, NULL, &e->single, NULL));
    TEST_OK(dcl_read(h, NULL, &e->high, NULL));
    /* what the elements contain counts, too: here as the value at index (0,0) */
    TEST_OK(
        dcl_reduce(cluster,
                   "const float x = i + j == 0 ? a(i,j) + 2.5f : a(i,j); s += (double)x / 3; low min= a(i,j);"
                   "w += (int)(a(i,j) * 1000); if (i + j == 0) { s += 1e9 + 1.0 / 3; w += 30000; } b ^= (ulong)i * j;",
                   DCL_RESULT_AS("s", &v->sum), DCL_RESULT_AS("low", &v->low), DCL_RESULT_AS("w", &v->wrapped),
                   DCL_RESULT_AS("b", &v->bits), DCL_IN(a)));
    TEST_OK(dcl_forall(cluster, "d(i,j) = j == -2 ? 1e9 + 1.0 / 3 : 7; l(i,j) = 1e30;", DCL_OUT(d), DCL_OUT(l)));
    TEST_OK(dcl_forall(cluster, "w(i) = 30000;", DCL_OUT(w)));
    TEST_OK(dcl_reduce(cluster,
                       "const float x = i + j == 0 ? a(i,j) + 2.5f : a(i,j); d(1,at) += (double)x / 3;"
                       "l(2, -3) min= a(i,j); w(4) += (int)(a(i,j) * 1000); b(010) ^= (ulong)i * j;",
                       DCL_INOUT(d), DCL_INOUT(l), DCL_INOUT(w), DCL_OUT(b), DCL_VALUE(at), DCL_IN(a)));
    double all[3][4];
    int16_t words[5];
    uint64_t bits[9];
    TEST_OK(dcl_read(d, NULL, all, NULL));
    e->sum = all[1][1];
    cr_expect(all[0][1] == 1e9 + 1.0 / 3 && all[1][0] == 7, "other elements have changed");
    TEST_OK(dcl_read(l, NULL, all, NULL));
    e->low = all[2][0];
    TEST_OK(dcl_read(w, NULL, words, NULL));
    e->wrapped = words[4];
    TEST_OK(dcl_read(b, NULL, bits, NULL));
    e->bits = bits[8];
    dcl_array *made[] = {b, w, l, d, h, f, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

/* The number of doubles from x to y; sums may differ by rounding 1e9 as a summand at one index, or as one of its own. */
static bool is_near(double x, double y) { return fabs(x - y) <= 2e-7; }

static void same_on(dcl_cluster *cluster, struct found *first, bool *some)
{
    static const char *const maps[] = {"block", "rows:cyclic(3x7)"};
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        struct found v, e;
        reduce_both(cluster, maps[m], &v, &e);
        cr_expect(e.single == v.single && e.high == v.high && e.low == v.low, "%s: %a %a %a, not %a %a %a", maps[m],
                  (double)e.single, (double)e.high, e.low, (double)v.single, (double)v.high, v.low);
        cr_expect(e.wrapped == v.wrapped && e.bits == v.bits, "%s: %d, not %d", maps[m], e.wrapped, v.wrapped);
        cr_expect(is_near(e.sum, v.sum), "%s: %a, not %a", maps[m], e.sum, v.sum);
        *first = *some ? *first : e;
        *some = true;
        cr_expect(e.sum == first->sum && e.single == first->single, "%s: %a, %a before", maps[m], e.sum, first->sum);
    }
    TEST_OK(dcl_close(cluster));
}

Test(element, same_bits)
{
    struct found first;
    bool some = false;
    fill();
    for (int nodes = MOST; nodes >= 1; nodes--) {
        dcl_config config = test_config(nodes);
        same_on(test_open(&config), &first, &some);
    }
#ifdef TEST_DCL
    dcl_config config = test_config(MOST);
    config.workers = "local:2";
    config.program = TEST_DCL;
    same_on(test_open(&config), &first, &some);
#endif
}

/* Special values and no values at all. */
Test(element, special_values)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 9));
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 1)),
              *h = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 1));
    const struct special_case {
        float element, sum, high;
    } cases[] = {{0x1p127F, INFINITY, 0x1p127F},
                 {-INFINITY, -INFINITY, -INFINITY},
                 {NAN, NAN, NAN},
                 {-0x1p-149F, -0x1.2p-146F, -0x1p-149F}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        float sum, high;
        TEST_OK(dcl_fill(a, &cases[c].element));
        TEST_OK(dcl_reduce(cluster, "s(0) += a(i); h(0) max= a(i);", DCL_OUT(s), DCL_OUT(h), DCL_IN(a)));
        TEST_OK(dcl_read(s, NULL, &sum, NULL));
        TEST_OK(dcl_read(h, NULL, &high, NULL));
        cr_expect(sum == cases[c].sum || (isnan(sum) && isnan(cases[c].sum)), "case %zu: %a", c, (double)sum);
        cr_expect(high == cases[c].high || (isnan(high) && isnan(cases[c].high)), "case %zu: %a", c, (double)high);
    }
    const dcl_box none = {.rank = 1, .start = {0}, .count = {0}, .stride = {1}};
    float sum, high;
    TEST_OK(dcl_reduce_over(cluster, &none, "s(0) += a(i); h(0) max= a(i);", DCL_OUT(s), DCL_OUT(h), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, &sum, NULL));
    TEST_OK(dcl_read(h, NULL, &high, NULL));
    cr_expect(sum == 0 && high == -INFINITY, "%a %a", (double)sum, (double)high);
    dcl_release(h);
    dcl_release(s);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* ---- combining without a launch ---------------------------------------------------------------------------------------- */

enum { NUMBERS = 5000, COMBINED = 7 /* elements of reduce_all() */ };

/* Fill with numbers of very different magnitudes, or of the whole range of integers. */
static void fill_randomly(uint32_t state, float real[NUMBERS], int32_t integer[NUMBERS])
{
    for (int n = 0; n < NUMBERS; n++) {
        state = state * 1664525 + 1013904223;
        integer[n] = (int32_t)(state ^ state >> 15);
        real[n] = ldexpf((float)integer[n], -31 - (int)(state >> 8) % 60);
    }
}

/* Reduce into elements of all kinds of types, by all operators. @param words_out  [COMBINED] their bits */
static void reduce_all(dcl_cluster *cluster, dcl_array *a, dcl_array *b, uint64_t words_out[COMBINED])
{
    static const struct {
        dcl_type type;
        const char *text;
    } kinds[COMBINED] = {{DCL_FLOAT, "s(0) += a(i);"},   {DCL_DOUBLE, "s(0) += (double)a(i) * b(i);"},
                         {DCL_FLOAT, "s(0) min= a(i);"}, {DCL_DOUBLE, "s(0) max= a(i);"},
                         {DCL_INT16, "s(0) += b(i);"},   {DCL_UINT32, "s(0) max= b(i);"},
                         {DCL_INT64, "s(0) all= b(i);"}};
    memset(words_out, 0, COMBINED * sizeof *words_out);
    for (int k = 0; k < COMBINED; k++) {
        dcl_array *s = test_array(cluster, "block", dcl_grid_1d(kinds[k].type, 1));
        TEST_OK(strstr(kinds[k].text, "a(i)") == NULL ? dcl_reduce(cluster, kinds[k].text, DCL_OUT(s), DCL_IN(b))
                : strstr(kinds[k].text, "b(i)") == NULL
                    ? dcl_reduce(cluster, kinds[k].text, DCL_OUT(s), DCL_IN(a))
                    : dcl_reduce(cluster, kinds[k].text, DCL_OUT(s), DCL_IN(a), DCL_IN(b)));
        TEST_OK(dcl_read(s, NULL, &words_out[k], NULL));
        dcl_release(s);
    }
}

/* A node that works in host memory merges partial results itself; with DCL_CHECK=access a kernel does. Compare the bits, and count
 * the kernels: one less per element, but for the four elements that are NaN with seed 1, whose bits are the compiler's. */
Test(element, the_node_combines)
{
    static float real[NUMBERS];
    static int32_t integer[NUMBERS];
    static uint64_t found[2][3][COMBINED];
    int64_t launches[2][3];
    for (int checked = 0; checked < 2; checked++) {
        dcl_config config = test_config(2);
        config.check = checked ? "access" : "off";
        dcl_cluster *cluster = test_open(&config);
        dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, NUMBERS)),
                  *b = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, NUMBERS));
        for (uint32_t seed = 0; seed < 3; seed++) {
            fill_randomly(seed, real, integer);
            real[seed * 1000] = seed == 1 ? NAN : seed == 2 ? -INFINITY : real[0];
            integer[17] = seed == 0 ? 0 : 1;
            TEST_OK(dcl_write(a, NULL, real, NULL));
            TEST_OK(dcl_write(b, NULL, integer, NULL));
            dcl_counters before = test_counters(cluster, DCL_ALL_NODES);
            reduce_all(cluster, a, b, found[checked][seed]);
            launches[checked][seed] = test_counters(cluster, DCL_ALL_NODES).launches - before.launches;
        }
        dcl_release(b);
        dcl_release(a);
        TEST_OK(dcl_close(cluster));
    }
    dcl_device_info device[64];
    int devices;
    TEST_OK(dcl_device_list(64, device, &devices));
    for (int seed = 0; seed < 3; seed++) {
        int fewer = strcmp(device[0].kind, "cpu") != 0 ? 0 : seed == 1 ? COMBINED - 4 : COMBINED;
        cr_expect_eq(launches[1][seed] - launches[0][seed], fewer, "seed %d: %" PRId64 " launches, checked %" PRId64,
                     seed, launches[0][seed], launches[1][seed]);
        for (int k = 0; k < COMBINED; k++)
            cr_expect_eq(found[0][seed][k], found[1][seed][k], "seed %d, element %d: %" PRIx64 ", by a kernel %" PRIx64,
                         seed, k, found[0][seed][k], found[1][seed][k]);
    }
}

/* ---- conjugate gradient ------------------------------------------------------------------------------------------------ */

enum { STEPS = 50, OPERATIONS = 1 + 2 * 2 /* of a step; a reduction has two */, PARTIAL_BYTES = 64 * 7 * 8 };

/* The arrays of a conjugate gradient for the five-point Laplacian. */
struct gradient {
    dcl_array *X, *R, *P, *Q, *rho, *old, *pq;
};

static void step(dcl_cluster *cluster, const struct gradient *g)
{
    dcl_array *X = g->X, *R = g->R, *P = g->P, *Q = g->Q, *rho = g->rho, *old = g->old, *pq = g->pq;
    TEST_OK(dcl_reduce(cluster,
                       "Q(i,j) = 4 * P(i,j) - (i > 0 ? P(i-1,j) : 0) - (i < 23 ? P(i+1,j) : 0)"
                       " - (j > 0 ? P(i,j-1) : 0) - (j < 23 ? P(i,j+1) : 0); pq(0) += P(i,j) * Q(i,j);",
                       DCL_OUT(Q), DCL_OUT(pq), DCL_IN(P)));
    TEST_OK(dcl_swap(rho, old));
    TEST_OK(dcl_reduce(cluster,
                       "const float alpha = (float)(old(0) / pq(0)); X(i,j) += alpha * P(i,j);"
                       "R(i,j) -= alpha * Q(i,j); rho(0) += R(i,j) * R(i,j);",
                       DCL_INOUT(X), DCL_INOUT(R), DCL_OUT(rho), DCL_IN(P), DCL_IN(Q), DCL_IN(old), DCL_IN(pq)));
    TEST_OK(dcl_forall(cluster, "P(i,j) = R(i,j) + (float)(rho(0) / old(0)) * P(i,j);", DCL_INOUT(P), DCL_IN(R),
                       DCL_IN(rho), DCL_IN(old)));
}

/* @param map  of the elements. @return bytes that the nodes have sent in the steps */
static int64_t run_gradient(dcl_cluster *cluster, int nodes, const char *map, float found[EDGE][EDGE])
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE), one = dcl_grid_1d(DCL_DOUBLE, 1);
    struct gradient g;
    dcl_array **arrays[] = {&g.X, &g.R, &g.P, &g.Q, &g.rho, &g.old, &g.pq};
    for (int k = 0; k < 7; k++)
        *arrays[k] = test_array(cluster, k < 4 ? "block" : map, k < 4 ? grid : one);
    dcl_array *R = g.R, *P = g.P, *rho = g.rho;
    TEST_OK(dcl_forall(cluster, "R(i,j) = P(i,j) = (float)((i * 7 + j * 13) % 101);", DCL_OUT(R), DCL_OUT(P)));
    TEST_OK(dcl_reduce(cluster, "rho(0) += R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R)));
    step(cluster, &g); /* the first one compiles bodies */
    dcl_counters before, after, planned;
    TEST_OK(dcl_call_explain(DCL_CALL_REDUCTION(cluster, NULL, "rho(0) += R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R)),
                             DCL_ALL_NODES, &planned));
    const dcl_call *call = DCL_CALL_REDUCTION(cluster, NULL, "rho(0) += R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R));
    dcl_report *report = dcl_call_report(call, DCL_ALL_NODES);
    cr_assert(report != NULL, "%s", dcl_error());
    cr_expect_eq(report->planned.bytes_moved, planned.bytes_moved);
    cr_expect(strstr(report->method, "2 operations; each node sends 3584 bytes of partial results to the nodes") !=
                  NULL,
              "%s", report->method);
    dcl_report_release(report);
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_reduce(cluster, "rho(0) += R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R)));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned);
    cr_expect_eq(after.tasks - before.tasks, planned.tasks);
    cr_expect_eq(planned.bytes_moved, PARTIAL_BYTES * (nodes - 1), "%d nodes: %d bytes", nodes,
                 (int)planned.bytes_moved);
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_HOST, &before));
    for (int n = 0; n < STEPS; n++)
        step(cluster, &g);
    TEST_OK(dcl_stats(cluster, DCL_HOST, &after));
    int64_t sent = after.messages_sent - before.messages_sent;
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    int64_t bytes = after.bytes_moved - planned.bytes_moved;
    /* one for each operation and node, if a slow machine sends none together; no values pass through the host */
    cr_expect(sent <= STEPS * OPERATIONS * nodes, "%d nodes: %" PRId64 " messages for %d operations", nodes, sent,
              STEPS * OPERATIONS);
    TEST_OK(dcl_read(g.X, NULL, found, NULL));
    for (int k = 0; k < 7; k++)
        dcl_release(*arrays[k]);
    TEST_OK(dcl_close(cluster));
    return bytes;
}

Test(element, conjugate_gradient)
{
    static float found[4][EDGE][EDGE], replicated[EDGE][EDGE];
    int64_t bytes = 0;
    for (int nodes = MOST; nodes >= 1; nodes--) { /* the first call asks for the devices of all */
        dcl_config config = test_config(nodes);
        int64_t moved = run_gradient(test_open(&config), nodes, "block", found[nodes]);
        bytes = nodes == MOST ? moved : bytes;
    }
    dcl_config all = test_config(MOST);
    int64_t moved = run_gradient(test_open(&all), MOST, "replicated", replicated);
    cr_expect_eq(memcmp(replicated, found[1], sizeof replicated), 0, "replicated elements: other bits");
    /* of each step, the two other nodes get rho as `rho` and as `old` of the next step: once instead of twice; the first step
     * gets `old` for the first time */
    cr_expect_eq(bytes - moved, (STEPS - 1) * (MOST - 1) * (int64_t)sizeof(double), "%" PRId64 " bytes, %" PRId64,
                 moved, bytes);
#ifdef TEST_DCL
    dcl_config config = test_config(MOST);
    config.workers = "local:2";
    config.program = TEST_DCL;
    run_gradient(test_open(&config), 2, "block", found[0]);
#else
    memcpy(found[0], found[1], sizeof found[0]);
#endif
    for (int n = 1; n < 4; n++)
        cr_expect_eq(memcmp(found[n], found[0], sizeof found[0]), 0, "%d nodes: other bits", n);
    /* solved: the residual is small */
    double error = 0, right = 0;
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) {
#define AT(i, j) ((i) >= 0 && (i) < EDGE && (j) >= 0 && (j) < EDGE ? (double)found[0][i][j] : 0)
            double b = (i * 7 + j * 13) % 101;
            double r = b - (4 * AT(i, j) - AT(i - 1, j) - AT(i + 1, j) - AT(i, j - 1) - AT(i, j + 1));
            error += r * r;
            right += b * b;
        }
    cr_expect(sqrt(error / right) < 1e-4, "the relative residual is %g", sqrt(error / right));
}

/* ---- wrong calls ------------------------------------------------------------------------------------------------------- */

struct wrong_case {
    char what[40];
    int which;
    dcl_status status;
    char words[80];
};

ParameterizedTestParameters(element, refused)
{
    static struct wrong_case cases[] = {
        {"an element that does not exist", 0, DCL_ERR_INVALID, "index 4 along axis 1; expected 0..3"},
        {"an index without a range", 1, DCL_ERR_BODY, "the range of index j is unknown"},
        {"an element that is read", 2, DCL_ERR_BODY, "its value is known only after the call"},
        {"the same beside a variable", 3, DCL_ERR_INVALID, "a reduction to values takes DCL_RESULT"},
        {"an argument for loop bodies", 4, DCL_ERR_INVALID, "a reduction into elements takes"},
        {"no subscripts", 5, DCL_ERR_BODY, "s is an array and stands without subscripts"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status call_wrongly(dcl_cluster *cluster, int which, dcl_array *a, dcl_array *s)
{
    double variable;
    switch (which) {
    case 0:
        return dcl_reduce(cluster, "b(1,4) += a(i,j);", DCL_OUT_AS("b", a), DCL_IN(a));
    case 1:
        return dcl_reduce(cluster, "s(0) += a(0,2*j);", DCL_OUT(s), DCL_IN(a));
    case 2:
        return dcl_reduce(cluster, "s(0) += a(i,j) * s(0);", DCL_INOUT(s), DCL_IN(a));
    case 3:
        return dcl_reduce(cluster, "s(0) += a(i,j); v += 1;", DCL_OUT(s), DCL_RESULT_AS("v", &variable),
                          DCL_IN_HALO(a, 1));
    case 4:
        return dcl_reduce(cluster, "s(0) += a(i,j);", DCL_OUT(s), DCL_IN_HALO(a, 1));
    default:
        return dcl_reduce(cluster, "s(0) += a(i,j); s += 1;", DCL_OUT(s), DCL_IN(a));
    }
}

ParameterizedTest(struct wrong_case *c, element, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 2));
    float found[2] = {0}, nine = 9;
    TEST_OK(dcl_fill(s, &nine));
    cr_expect_eq(call_wrongly(cluster, c->which, a, s), c->status, "%s: %s", c->what, dcl_error());
    cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: %s; expected %s", c->what, dcl_error(), c->words);
    dcl_clear_error(cluster);
    TEST_OK(dcl_read(s, NULL, found, NULL));
    cr_expect(found[0] == 9 && found[1] == 9, "%s: the array has changed", c->what);
    dcl_release(s);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* test/runtime/iterate_test.c - time loops: what a step moves, where a condition ends a loop, wrong calls. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(iterate, .timeout = TEST_SECONDS);

enum { EDGE = 64, MOST = 3 };

/* The arrays of a heat equation. */
struct heat {
    dcl_cluster *cluster;
    dcl_array *U, *V, *residual;
    int64_t failing; /* the step that fails; -1: none */
};

static struct heat heat_of(dcl_cluster *cluster)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, EDGE, EDGE);
    struct heat heat = {.cluster = cluster,
                        .U = test_array(cluster, "block,*", grid),
                        .V = test_array(cluster, "block,*", grid),
                        .residual = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 1)),
                        .failing = -1};
    dcl_array *U = heat.U, *V = heat.V;
    TEST_OK(dcl_forall(cluster, "U(i,j) = V(i,j) = i == 0 ? 100 : 0;", DCL_OUT(U), DCL_OUT(V)));
    return heat;
}

static void release(struct heat *heat)
{
    dcl_release(heat->U);
    dcl_release(heat->V);
    dcl_release(heat->residual);
    TEST_OK(dcl_close(heat->cluster));
}

static dcl_status move_heat(struct heat *heat)
{
    dcl_status status = dcl_forall(heat->cluster,
                                   "V(i,j) = i > 0 && i < 63 && j > 0 && j < 63"
                                   " ? 0.25f * (U(i-1,j) + U(i+1,j) + U(i,j-1) + U(i,j+1)) : U(i,j);",
                                   DCL_OUT_AS("V", heat->V), DCL_IN_AS("U", heat->U));
    return status == DCL_OK ? dcl_swap(heat->U, heat->V) : status;
}

static dcl_status step(void *user, int64_t n)
{
    struct heat *heat = user;
    dcl_status status = n == heat->failing ? DCL_ERR_FILE : move_heat(heat);
    if (status == DCL_OK && n % 5 == 4)
        status = dcl_reduce(heat->cluster, "r(0) += (U(i,j) - V(i,j)) * (U(i,j) - V(i,j));",
                            DCL_OUT_AS("r", heat->residual), DCL_IN_AS("U", heat->U), DCL_IN_AS("V", heat->V));
    return status;
}

/* The first step after which the residual is below a limit, if it is known after each 5 steps. */
static int64_t plain_loop(double limit, float u[EDGE][EDGE])
{
    static float v[EDGE][EDGE];
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++)
            u[i][j] = v[i][j] = i == 0 ? 100 : 0;
    for (int64_t n = 0;; n++) {
        double sum = 0;
        for (int i = 1; i < EDGE - 1; i++)
            for (int j = 1; j < EDGE - 1; j++)
                v[i][j] = 0.25F * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        for (int i = 0; i < EDGE; i++)
            for (int j = 0; j < EDGE; j++) {
                sum += (double)((v[i][j] - u[i][j]) * (v[i][j] - u[i][j]));
                u[i][j] = v[i][j];
            }
        if (n % 5 == 4 && sum < limit)
            return n + 1;
    }
}

/* The loop ends a check after the one that finds the condition met, wherever the elements are. */
static void ends_on(dcl_cluster *cluster, int64_t right)
{
    static float found[EDGE][EDGE], first[EDGE][EDGE];
    static bool some = false;
    const double limit = 60;
    int64_t steps = -1;
    struct heat heat = heat_of(cluster);
    TEST_OK(dcl_iterate(cluster, 1000, step, &heat, &steps,
                        DCL_UNTIL(10, "r(0) < limit", DCL_IN_AS("r", heat.residual), DCL_VALUE(limit))));
    cr_expect_eq(steps, right, "%" PRId64 " steps; expected %" PRId64, steps, right);
    TEST_OK(dcl_read(heat.U, NULL, found, NULL));
    if (!some)
        memcpy(first, found, sizeof first);
    cr_expect_eq(memcmp(found, first, sizeof found), 0, "other bits");
    some = true;
    release(&heat);
}

Test(iterate, until)
{
    static float u[EDGE][EDGE];
    int64_t met = plain_loop(60, u), right = (met + 9) / 10 * 10 + 10;
    for (int nodes = MOST; nodes >= 1; nodes--) {
        dcl_config config = test_config(nodes);
        ends_on(test_open(&config), right);
    }
#ifdef TEST_DCL
    dcl_config config = test_config(MOST);
    config.workers = "local:2";
    config.program = TEST_DCL;
    ends_on(test_open(&config), right);
#endif
}

/* Of each step only the rows at the edges move, in one message to each side, and as many as were explained. */
Test(iterate, moves_edges)
{
    enum { STEPS = 100 };
    dcl_config config = test_config(2);
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    struct heat heat = heat_of(cluster);
    dcl_array *U = heat.U, *V = heat.V;
    dcl_counters planned, before, after;
    int64_t steps = -1;
    TEST_OK(dcl_explain(cluster, &planned,
                        "V(i,j) = i > 0 && i < 63 && j > 0 && j < 63"
                        " ? 0.25f * (U(i-1,j) + U(i+1,j) + U(i,j-1) + U(i,j+1)) : U(i,j);",
                        DCL_OUT(V), DCL_IN(U)));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    for (int n = 0; n < STEPS; n++)
        TEST_OK(move_heat(&heat));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(planned.bytes_moved, 2 * EDGE * 4, "%" PRId64 " bytes", planned.bytes_moved);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, STEPS * planned.bytes_moved);
    int64_t beside = after.bytes_sent - before.bytes_sent - STEPS * planned.bytes_moved;
    cr_expect(beside >= 0 && beside <= STEPS * 2 * 16, "%" PRId64 " bytes beside the elements", beside);
    cr_expect_eq(after.messages_planned - before.messages_planned, STEPS * 2, "%" PRId64 " messages",
                 after.messages_planned - before.messages_planned);
    TEST_OK(dcl_iterate(cluster, 7, step, &heat, &steps, DCL_NEVER));
    cr_expect_eq(steps, 7);
    release(&heat);
}

struct wrong_case {
    char what[40];
    int which;
    dcl_status status;
    int64_t steps;
    char words[64];
};

ParameterizedTestParameters(iterate, refused)
{
    static struct wrong_case cases[] = {
        {"no cluster", 0, DCL_ERR_INVALID, -1, "cluster is NULL"},
        {"steps", 1, DCL_ERR_INVALID, -1, "steps is -1; expected 0 or more"},
        {"no function", 2, DCL_ERR_INVALID, -1, "step is NULL"},
        {"no check", 3, DCL_ERR_INVALID, -1, "every is 0; expected 1 or more"},
        {"a step that fails", 4, DCL_ERR_FILE, 3, ""},
        {"a condition that does not compile", 5, DCL_ERR_BODY, 2, "rest"},
        {"a condition at no constant index", 6, DCL_ERR_BODY, 0, "'j'"},
        {"an element outside", 8, DCL_ERR_RANGE, 4, "r(4) was read, which is outside its grid"},
        {"a statement", 9, DCL_ERR_BODY, -1, "the condition has a semicolon"},
        {"brackets", 10, DCL_ERR_BODY, -1, "line 1, column 9"},
        {"an output", 11, DCL_ERR_INVALID, -1, "argument r is DCL_OUT; a condition takes DCL_IN"},
        {"another kind of call", 12, DCL_ERR_INVALID, -1, "expected one of kind 1"},
        {"a comment", 13, DCL_OK, 4, ""},
        {"an unknown access", 14, DCL_ERR_INVALID, -1, "has access number 99"},
        {"a check of nothing", 15, DCL_ERR_INVALID, -1, "until is NULL, but every is 3"},
        {"no text", 7, DCL_ERR_INVALID, -1, "no description with a text"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status iterate_wrongly(struct heat *heat, int which, int64_t *steps)
{
    dcl_cluster *cluster = heat->cluster;
    dcl_array *r = heat->residual;
    switch (which) {
    case 0:
        return dcl_iterate(NULL, 9, step, heat, steps, DCL_NEVER);
    case 1:
        return dcl_iterate(cluster, -1, step, heat, steps, DCL_NEVER);
    case 2:
        return dcl_iterate(cluster, 9, NULL, heat, steps, DCL_NEVER);
    case 3:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(0, "r(0) < 1", DCL_IN(r)));
    case 4:
        heat->failing = 3;
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(1, "r(0) < -1", DCL_IN(r)));
    case 5:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "rest < 1 + r(0)", DCL_IN(r)));
    case 6:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(j) < 1", DCL_IN(r)));
    case 8:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(4) < 1", DCL_IN(r)));
    case 9:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(0) < 1;", DCL_IN(r)));
    case 10:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(0) < 1) || (1", DCL_IN(r)));
    case 11:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(0) < 1", DCL_OUT(r)));
    case 12:
        return dcl_iterate(cluster, 9, step, heat, steps, 2, DCL_CALL_REDUCTION(NULL, NULL, "r(0) < 1", DCL_IN(r)));
    case 13:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(0) * 0 + 1 // met", DCL_IN(r)));
    case 14: {
        dcl_arg odd = DCL_IN(r);
        odd.access = (dcl_access)99;
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, "r(0) < 1", odd));
    }
    case 15:
        return dcl_iterate(cluster, 9, step, heat, steps, 3, NULL);
    default:
        return dcl_iterate(cluster, 9, step, heat, steps, DCL_UNTIL(2, NULL, DCL_IN(r)));
    }
}

ParameterizedTest(struct wrong_case *c, iterate, refused)
{
    dcl_config config = test_config(1);
    struct heat heat = heat_of(test_open(&config));
    int64_t steps = -1;
    cr_expect_eq(iterate_wrongly(&heat, c->which, &steps), c->status, "%s: %s", c->what, dcl_error());
    cr_expect(c->words[0] == '\0' || strstr(dcl_error(), c->words) != NULL, "%s: %s; expected %s", c->what, dcl_error(),
              c->words);
    cr_expect_eq(steps, c->steps, "%s: %" PRId64 " steps", c->what, steps);
    dcl_clear_error(heat.cluster);
    release(&heat);
}

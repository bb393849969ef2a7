/* test/runtime/loops_random_test.c - tests random loop nests: what DCL makes of them has the bits that an interpreter of the
 * parsed nest computes, one iteration after the other. Nearly all are accepted; refused ones must have a message.
 *
 * TEST_NESTS sets the number of nests, TEST_SEED the first one. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "loop/tree.h"
#include "support/nodes.h"

TestSuite(loops_random, .timeout = TEST_SECONDS);

enum { EDGE = 9, ARRAYS = 4, CASES = 6 };

/* Arrays a, b of rank 1, C, D of rank 2, all indices 0..8. */
static const int ranks[ARRAYS] = {1, 1, 2, 2};
static const char *const array_names[ARRAYS] = {"a", "b", "C", "D"};
static double start[ARRAYS][EDGE * EDGE], right[ARRAYS][EDGE * EDGE], found[EDGE * EDGE];

/* ---- an interpreter -------------------------------------------------------------------------------------------------- */

struct machine {
    const dcli_loops_tree *tree;
    int64_t counter[DCLI_LOOPS_MOST];
    double scalar[DCLI_LOOPS_SCALARS];
};

static int64_t value_of(const struct machine *m, const dcli_loops_linear *linear, const int loop[])
{
    int64_t value = linear->constant;
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
        if (linear->coef[d] != 0)
            value += linear->coef[d] * m->counter[loop[d]];
    return value;
}

static double *element(const struct machine *m, const dcli_loops_statement *s, const dcli_loops_access *access)
{
    int64_t at = 0;
    for (int d = 0; d < ranks[access->symbol]; d++)
        at = at * EDGE + value_of(m, &access->subscript[d], s->loop);
    return &right[access->symbol][at];
}

static double evaluate(const struct machine *m, const dcli_loops_statement *s, const dcli_loops_expr *expr)
{
    const dcli_loops_expr *first = expr->first, *second = first != NULL ? first->next : NULL;
    switch (expr->kind) {
    case DCLI_LOOPS_EXPR_NUMBER:
        return atof(expr->text);
    case DCLI_LOOPS_EXPR_COUNTER:
        return (double)m->counter[expr->symbol];
    case DCLI_LOOPS_EXPR_ELEMENT:
        return *element(m, s, &s->read[expr->read]);
    case DCLI_LOOPS_EXPR_SCALAR:
        return m->scalar[expr->symbol];
    case DCLI_LOOPS_EXPR_BINARY:
        if (strcmp(expr->text, "<") == 0)
            return evaluate(m, s, first) < evaluate(m, s, second);
        if (strcmp(expr->text, ">=") == 0)
            return evaluate(m, s, first) >= evaluate(m, s, second);
        return expr->text[0] == '+'   ? evaluate(m, s, first) + evaluate(m, s, second)
               : expr->text[0] == '-' ? evaluate(m, s, first) - evaluate(m, s, second)
                                      : evaluate(m, s, first) * evaluate(m, s, second);
    default:
        cr_assert_fail("the interpreter has no %d", (int)expr->kind);
    }
    return 0;
}

static void execute(struct machine *m, const dcli_loops_node *node);

static void run_loop(struct machine *m, const dcli_loops_node *node)
{
    const dcli_loops_loop *loop = &m->tree->loop[node->number];
    int around[DCLI_LOOPS_DEPTH] = {0};
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int l = loop->parent; l >= 0; l = m->tree->loop[l].parent)
        around[m->tree->loop[l].depth] = l;
    for (int n = 0; n < loop->low_count; n++)
        low = low > value_of(m, &loop->low[n], around) ? low : value_of(m, &loop->low[n], around);
    for (int n = 0; n < loop->high_count; n++)
        high = high < value_of(m, &loop->high[n], around) ? high : value_of(m, &loop->high[n], around);
    for (int64_t c = loop->step > 0 ? low : high; c >= low && c <= high; c += loop->step) {
        m->counter[node->number] = c;
        execute(m, node->first);
    }
}

static void execute(struct machine *m, const dcli_loops_node *node)
{
    static const dcli_loops_statement none;
    for (; node != NULL; node = node->next) {
        if (node->kind == DCLI_LOOPS_NODE_LOOP) {
            run_loop(m, node);
        } else if (node->kind == DCLI_LOOPS_NODE_IF) {
            if ((evaluate(m, &none, node->test.condition) != 0) != node->test.negated)
                execute(m, node->first);
        } else {
            const dcli_loops_statement *s = &m->tree->statement[node->number];
            double value = evaluate(m, s, s->value);
            double *target = s->target.is_array ? element(m, s, &s->target) : &m->scalar[s->target.symbol];
            *target = s->op[0] == '='   ? value
                      : s->op[0] == '+' ? *target + value
                      : s->op[0] == '-' ? *target - value
                                        : *target * value;
        }
    }
}

/* ---- random nests ---------------------------------------------------------------------------------------------------- */

struct maker {
    uint64_t state;
    dcli_text *out;
    int depth, low[4], high[4]; /* of the counters i, j, k, l around: all their values */
    int statements, counters;
    bool has_scalar;
};

static int pick(struct maker *m, int count)
{
    m->state = m->state * 6364136223846793005U + 1442695040888963407U;
    return (int)((m->state >> 33) % (uint64_t)count);
}

/* Put a subscript that stays in 0..8. */
static void put_subscript(struct maker *m)
{
    int c = m->depth > 0 ? pick(m, m->depth) : 0, kind = pick(m, 12);
    if (m->depth == 0 || kind == 0) {
        dcli_text_put(m->out, "[%d]", pick(m, EDGE));
    } else if (kind == 1 && m->high[c] - m->low[c] < EDGE) {
        dcli_text_put(m->out, "[%d - %c]", m->high[c] + pick(m, EDGE - m->high[c] + m->low[c]), "ijkl"[c]);
    } else {
        int shift = -m->low[c] + pick(m, EDGE - m->high[c] + m->low[c]);
        if (pick(m, 3) > 0 && m->low[c] >= 0 && m->high[c] < EDGE)
            shift = 0;
        dcli_text_put(m->out, "[%c + %d]", "ijkl"[c], shift);
    }
}

static void put_element(struct maker *m, int array)
{
    dcli_text_put(m->out, "%s", array_names[array]);
    for (int d = 0; d < ranks[array]; d++)
        put_subscript(m);
}

static void put_value(struct maker *m)
{
    int terms = 1 + pick(m, 3);
    for (int t = 0; t < terms; t++) {
        dcli_text_put(m->out, "%s", t == 0 ? "" : pick(m, 2) ? " * " : " - ");
        int kind = pick(m, 8);
        if (kind == 0)
            dcli_text_put(m->out, "0.3");
        else if (kind == 1 && m->depth > 0)
            dcli_text_put(m->out, "%c", "ijkl"[pick(m, m->depth)]);
        else if (kind == 2 && m->has_scalar)
            dcli_text_put(m->out, "s");
        else
            put_element(m, pick(m, ARRAYS));
    }
}

static void put_statement(struct maker *m)
{
    static const char *const ops[] = {"=", "=", "+=", "-=", "*="};
    m->statements++;
    if (pick(m, 6) == 0 && m->depth > 0)
        dcli_text_put(m->out, "if (%c %s %d) ", "ijkl"[pick(m, m->depth)], pick(m, 2) ? "<" : ">=", pick(m, EDGE));
    put_element(m, pick(m, ARRAYS));
    dcli_text_put(m->out, " %s ", ops[pick(m, 5)]);
    put_value(m);
    dcli_text_put(m->out, "; ");
}

static void put_loop(struct maker *m)
{
    int d = m->depth, outer = d > 0 && pick(m, 3) == 0 ? pick(m, d) : -1, step = pick(m, 8) == 0 ? 2 : 1;
    char c = "ijkl"[d];
    m->low[d] = pick(m, 3);
    m->high[d] = EDGE - 1 - pick(m, 3);
    if (outer >= 0 && pick(m, 2) && m->low[outer] >= 0 && m->high[outer] < EDGE) { /* triangles */
        m->low[d] = m->low[outer];
        dcli_text_put(m->out, "for (%c = %c; %c <= %d; %c += %d) { ", c, "ijkl"[outer], c, m -> high[d], c, step);
    } else if (outer >= 0 && m->high[outer] < EDGE) {
        m->high[d] = m->high[outer];
        m->low[d] = 0;
        dcli_text_put(m->out, "for (%c = %c; %c >= 0; %c -= %d) { ", c, "ijkl"[outer], c, c, step);
    } else {
        dcli_text_put(m->out, "for (%c = %d; %c <= %d; %c += %d) { ", c, m->low[d], c, m->high[d], c, step);
    }
    m->depth++;
    bool scalar = m->has_scalar;
    if (!scalar && pick(m, 4) == 0) {
        dcli_text_put(m->out, "double s = ");
        put_value(m);
        dcli_text_put(m->out, "; ");
        m->has_scalar = true;
    }
    int parts = 1 + pick(m, 2);
    for (int p = 0; p < parts || m->statements == 0; p++)
        if (m->depth < 3 && pick(m, 2) == 0 && m->statements < 4)
            put_loop(m);
        else
            put_statement(m);
    m->has_scalar = scalar;
    dcli_text_put(m->out, "} ");
    m->depth--;
}

/* ---- the test -------------------------------------------------------------------------------------------------------- */

/* Run a nest. @return whether it was accepted. */
static bool run_nest(dcl_cluster *cluster, const char *text, int64_t number)
{
    static const char *const maps[2][2] = {{"block", "block,*"}, {"cyclic(2)", "*,cyclic(3)"}};
    dcl_arg args[ARRAYS];
    dcl_array *made[ARRAYS];
    dcli_loops_name names[ARRAYS];
    memset(names, 0, sizeof names);
    for (int a = 0; a < ARRAYS; a++) {
        dcl_grid grid = {.rank = ranks[a], .type = DCL_DOUBLE, .extent = {EDGE, EDGE}};
        made[a] = test_array(cluster, maps[(number + a) % 2][ranks[a] - 1], grid);
        TEST_OK(dcl_write(made[a], NULL, start[a], NULL));
        args[a] = dcl_arg_array(DCL_ACCESS_INOUT, array_names[a], made[a]);
        names[a] = (dcli_loops_name){.access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE, .grid = grid};
        strcpy(names[a].name, array_names[a]);
    }
    const dcl_call call = dcl_call_loops(cluster, text, ARRAYS, args);
    dcl_status status = dcl_call_run(&call);
    memcpy(right, start, sizeof right);
    cr_expect(status == DCL_OK || (status == DCL_ERR_BODY && strstr(dcl_error(), "error: ") != NULL),
              "nest %" PRId64 ": %s\n%s", number, dcl_error(), text);
    dcl_clear_error(cluster);
    if (status == DCL_OK) {
        dcli_loops_complaints complaints = {.text = text};
        struct machine machine = {.tree = dcli_loops_parse(text, ARRAYS, names, &complaints)};
        cr_assert(machine.tree != NULL && complaints.count == 0);
        execute(&machine, machine.tree->first);
        dcli_loops_tree_free((dcli_loops_tree *)machine.tree);
    }
    for (int a = 0; a < ARRAYS; a++) {
        TEST_OK(dcl_read(made[a], NULL, found, NULL));
        cr_expect_eq(memcmp(found, right[a], (size_t)(ranks[a] == 1 ? EDGE : EDGE * EDGE) * sizeof *found), 0,
                     "nest %" PRId64 ": %s differs\n%s", number, array_names[a], text);
        dcl_release(made[a]);
    }
    return status == DCL_OK;
}

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? atoll(text) : otherwise;
}

Test(loops_random, nests_have_the_bits_of_an_interpreter)
{
    int64_t cases = setting("TEST_NESTS", CASES), seed = setting("TEST_SEED", 1), accepted = 0;
    dcl_cluster *cluster = open_nodes(2);
    for (int a = 0; a < ARRAYS; a++)
        for (int k = 0; k < EDGE * EDGE; k++)
            start[a][k] = ((k * 37 + a * 11) % 64 - 31) / 16.0 + 0.1;
    for (int64_t n = seed; n < seed + cases; n++) {
        dcli_text text = {0};
        struct maker maker = {.state = (uint64_t)n * 0x9E3779B97F4A7C15U, .out = &text};
        for (int nests = 1 + pick(&maker, 2); nests > 0; nests--)
            put_loop(&maker);
        accepted += run_nest(cluster, text.bytes, n);
        dcli_text_free(&text);
    }
    cr_log_info("%" PRId64 " of %" PRId64 " nests were accepted\n", accepted, cases);
    cr_expect(accepted * 100 >= cases * 95, "%" PRId64 " of %" PRId64 " nests were accepted; expected 95 %%", accepted,
              cases);
    dcl_close(cluster);
}

/* test/runtime/loops_random_test.c - tests random loop nests: what DCL makes of them has the bits that an interpreter of the
 * parsed nest computes, one iteration after the other. Nearly all are accepted; refused ones must have a message.
 *
 * TEST_NESTS sets the number of nests, TEST_SEED the first one, TEST_WORKERS the workers of two nodes (local:2). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "loop/tree.h"
#include "support/nests.h"
#include "support/nodes.h"

TestSuite(loops_random, .timeout = TEST_SECONDS);

enum { EDGE = TEST_NEST_EDGE, ARRAYS = TEST_NEST_ARRAYS, CASES = 6 };

static const int *const ranks = test_nest_ranks;
static const char *const *const array_names = test_nest_names;
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

/* ---- the test -------------------------------------------------------------------------------------------------------- */

/* Run a nest. @param maps  of array 0, 1, 0, ..., by rank. @return whether it was accepted. */
static bool run_nest(dcl_cluster *cluster, const char *text, int64_t number, const char *const maps[2][2])
{
    dcl_arg args[ARRAYS];
    dcl_array *made[ARRAYS];
    dcli_loops_name names[ARRAYS];
    memset(names, 0, sizeof names);
    for (int a = 0; a < ARRAYS; a++) {
        dcl_grid grid = {.rank = ranks[a], .type = DCL_DOUBLE, .extent = {EDGE, EDGE}};
        made[a] = test_array(cluster, maps[a % 2][ranks[a] - 1], grid);
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

/* Run nest `number` of the others. @return whether it was accepted. */
static bool run_any(dcl_cluster *cluster, int64_t number)
{
    static const char *const maps[3][2] = {{"block", "block,*"}, {"cyclic(2)", "*,cyclic(3)"}, {"block", "block,*"}};
    dcli_text text = {0};
    test_nest_put(&text, number);
    bool accepted = run_nest(cluster, text.bytes, number, maps + number % 2);
    dcli_text_free(&text);
    return accepted;
}

static void fill(void)
{
    for (int a = 0; a < ARRAYS; a++)
        for (int k = 0; k < EDGE * EDGE; k++)
            start[a][k] = ((k * 37 + a * 11) % 64 - 31) / 16.0 + 0.1;
}

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? atoll(text) : otherwise;
}

/* Loop l is cut at l = j. Where j is 4, the parts from j on are empty; where j is 2, each has one iteration. */
static const char cut_nest[] = "for (i = 2; i <= 8; i += 2) { for (j = 2; j <= 4; j += 2) { D[i][i] = D[i - 2][i];\n"
                               "for (k = 0; k <= 1; k += 1) { for (l = 0; l <= 3; l += 1) {\n"
                               "D[i][8] += D[l][i]; C[i][l] = C[i][j] * D[j + 2][i]; } } } }";
static const char *const both_block[2][2] = {{"block", "block,*"}, {"block", "block,*"}};

/* Two nodes: of the test's process, unless workers are asked for. */
static dcl_cluster *open_two(void)
{
    dcl_config config = test_config(2);
    config.workers = getenv("TEST_WORKERS");
#ifdef TEST_DCL
    config.program = TEST_DCL;
#endif
    return test_open(&config);
}

Test(loops_random, nests_have_the_bits_of_an_interpreter)
{
    static const int64_t wrong_once[] = {564, 590, 1363, 81202505}; /* in the last one a statement never runs */
    int64_t cases = setting("TEST_NESTS", CASES), seed = setting("TEST_SEED", 1), accepted = 0;
    dcl_cluster *cluster = open_two();
    fill();
    bool again = getenv("TEST_SEED") == NULL;
    for (size_t k = 0; again && k < sizeof wrong_once / sizeof wrong_once[0]; k++)
        cr_expect(run_any(cluster, wrong_once[k]));
    cr_expect(!again || run_nest(cluster, cut_nest, 0, both_block));
    for (int64_t n = seed; n < seed + cases; n++)
        accepted += run_any(cluster, n);
    cr_log_info("%" PRId64 " of %" PRId64 " nests were accepted\n", accepted, cases);
    cr_expect(accepted * 100 >= cases * 95, "%" PRId64 " of %" PRId64 " nests were accepted; expected 95 %%", accepted,
              cases);
    dcl_close(cluster);
}

/* Recurrences along lines: each is one operation (test/loop/lines_test.c), whose work-items compute eight lines together, or one, or lines
 * with gaps between them. For every third nest the maps divide lines, so that these are gathered. */
Test(loops_random, recurrences_along_lines_have_the_bits_of_an_interpreter)
{
    static const char *const maps[4][2] = {
        {"block", "block,*"}, {"block", "*,block"}, {"cyclic(2)", "cyclic(2),*"}, {"cyclic", "*,cyclic(3)"}};
    int64_t cases = setting("TEST_NESTS", CASES), seed = setting("TEST_SEED", 1);
    dcl_cluster *clusters[2] = {open_two(), open_nodes(1)};
    fill();
    for (int64_t n = seed; n < seed + cases; n++) {
        const char *const used[2][2] = {{maps[n % 4][0], maps[n % 4][1]}, {maps[n % 4][0], maps[n % 4][1]}};
        bool divided = n % 3 == 2;
        dcli_text text = {0};
        test_nest_lines_put(&text, n, (n % 2 == 0) != divided);
        cr_expect(run_nest(clusters[divided ? 0 : n / 4 % 2], text.bytes, n, used), "nest %" PRId64 " was refused", n);
        dcli_text_free(&text);
    }
    dcl_close(clusters[0]);
    dcl_close(clusters[1]);
}

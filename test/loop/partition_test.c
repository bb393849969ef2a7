/* test/loop/partition_test.c - tests space partitions: the thread numbers of nests whose partition is known, that Farkas' form finds
 * the threads that isl's scheduler finds, and that a wrong partition is found out.
 *
 * TEST_NESTS sets the number of random nests. */
#include "loop/partition.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "support/kernels.h"
#include "support/nests.h"

TestSuite(loops_partition, .timeout = 180);

static const dcli_loops_hosts no_hosts;

/* Put the numbers of each statement: `S0: i + j; S1: i, j`. */
static void put_partition(dcli_text *out, const dcli_loops_tree *tree, const dcli_loops_partition *partition)
{
    for (int s = 0; s < tree->statement_count; s++) {
        if (!dcli_loops_in(partition->statements, s))
            continue;
        dcli_text_put(out, "%sS%d:", out->length > 0 ? "; " : "", s);
        for (int n = 0; n < partition->rank[partition->component[s]]; n++) {
            dcli_text_put(out, "%s ", n > 0 ? "," : "");
            dcli_loops_linear_print(tree, &partition->number[s][n], tree->statement[s].depth, tree->statement[s].loop,
                                    out);
        }
    }
}

/* ---- known partitions ----------------------------------------------------------------------------------------------- */

struct known_case {
    char what[64], text[320], as_written[80], numbers[160];
    int threads; /* along the first number of the first statement */
};

/* Arrays z[31], x[11], y[11], C[11][11], D[11][11]; n = 10. */
ParameterizedTestParameters(loops_partition, known)
{
    static struct known_case cases[] = {
        {"a product of polynomials", "for (i = 0; i <= n; i++) for (j = 0; j <= n; j++) z[i + j] += x[i] * y[j];",
         "S0:", "S0: i + j", 21},
        {"its mirror image", "for (i = 0; i <= n; i++) for (j = 0; j <= n; j++) z[i - j + n] += x[i] * y[n - j];",
         "S0:", "S0: i - j + 10", 21},
        {"the same by two statements",
         "for (i = 0; i <= n; i++) for (j = 0; j <= n; j++) { double p = x[i] * y[n - j]; z[i - j + n] += p; }",
         "S0:; S1:", "S0: i - j + 10; S1: i - j + 10", 21},
        {"by an array of products",
         "for (i = 0; i <= n; i++) for (k = 0; k <= n; k++) { C[i][k] = x[i] * y[n - k]; z[i - k + n] += C[i][k]; }",
         "S0:; S1:", "S0: i - k + 10; S1: i - k + 10", 21},
        {"diagonals", "for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) C[i][j] += C[i-1][j-1];",
         "S0:", "S0: i - j + 9", 19},
        {"steep diagonals", "for (i = 1; i <= n; i++) for (j = 2; j <= n; j++) C[i][j] += C[i-1][j-2];",
         "S0:", "S0: 2*i - j + 8", 27},
        {"diagonals of two arrays, shifted against each other",
         "for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) { C[i][j] += D[i-1][j]; D[i][j] += C[i][j-1]; }",
         "S0:; S1:", "S0: i - j + 9; S1: i - j + 10", 20},
        {"products: all elements",
         "for (i = 0; i <= n; i++) for (j = 0; j <= n; j++) for (k = 0; k <= n; k++) C[i][j] += "
         "D[i][k] * D[k][j];",
         "S0: i, j", "S0: i, j", 11},
        {"rows", "for (i = 2; i <= n; i++) for (j = 1; j <= n; j++) C[i][j] = C[i][j-1];", "S0: i - 2", "S0: i - 2", 9},
        {"no loop", "z[0] = 1;", "S0:", "S0:", 0},
        {"one after the other", "for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) C[i][j] = C[i][j-1] + C[i-1][j];",
         "S0:", "S0:", 0},
        {"planes",
         "for (i = 1; i < n; i++) for (j = 1; j < n; j++) for (k = 1; k < n; k++) z[i + j - k + 8] += C[i][j] * "
         "D[j][k];",
         "S0:", "S0: i + j - k + 7", 25},
        {"two components that begin at 2", "for (i = 2; i <= n; i++) { x[i] = 1; y[i] = 2; }", "S0: i - 2; S1: i - 2",
         "S0: i - 2; S1: i - 2", 0},
    };
    return cr_make_param_array(struct known_case, cases, sizeof cases / sizeof cases[0]);
}

static dcli_loops_name array_name(const char *name, int rank, int64_t extent, int64_t second)
{
    dcli_loops_name made = {.access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE};
    made.grid = (dcl_grid){.rank = rank, .type = DCL_DOUBLE, .extent = {extent, second}};
    strcpy(made.name, name);
    return made;
}

ParameterizedTest(struct known_case *c, loops_partition, known)
{
    const dcli_loops_name names[] = {
        array_name("z", 1, 31, 0),  array_name("x", 1, 11, 0),
        array_name("y", 1, 11, 0),  array_name("C", 2, 11, 11),
        array_name("D", 2, 11, 11), {.name = "n", .access = DCL_ACCESS_VALUE, .is_integer = true, .value = 10}};
    dcli_loops_complaints complaints = {.text = c->text};
    dcli_loops_tree *tree = dcli_loops_parse(c->text, 6, names, &complaints);
    dcli_loops_sets *sets = dcli_loops_sets_make(tree, 0, &complaints);
    cr_assert(sets != NULL && complaints.count == 0, "%s", c->what);
    dcli_loops_mask all = ((dcli_loops_mask)1 << tree->statement_count) - 1;
    for (int path = DCLI_LOOPS_AS_WRITTEN; path <= DCLI_LOOPS_FARKAS; path++) {
        dcli_loops_partition *found = dcli_loops_partition_find(sets, all, &no_hosts, NULL, (dcli_loops_path)path);
        dcli_text text = {0};
        cr_assert_not_null(found, "%s: %s", c->what, dcl_error());
        put_partition(&text, tree, found);
        cr_expect_str_eq(text.bytes, path == DCLI_LOOPS_FARKAS ? c->numbers : c->as_written, "%s: %s", c->what,
                         text.bytes);
        if (path == DCLI_LOOPS_FARKAS && c->threads > 0) {
            cr_expect_eq(dcli_loops_partition_threads(sets, found, 0, 0, &no_hosts), c->threads, "%s", c->what);
            cr_expect(dcli_loops_partition_verify(sets, found, &no_hosts, NULL), "%s", c->what);
            int last = tree->statement[0].depth - 1; /* tell iterations apart that are one thread */
            found->number[0][0].coef[last] += 7;
            cr_expect_not(dcli_loops_partition_verify(sets, found, &no_hosts, NULL), "%s", c->what);
            found->number[0][0].coef[last] -= 7;
            found->number[0][0].constant -= 1000; /* negative ones */
            cr_expect_not(dcli_loops_partition_verify(sets, found, &no_hosts, NULL), "%s", c->what);
        }
        dcli_text_free(&text);
        dcli_free(found);
    }
    dcli_loops_sets_free(sets);
    dcli_loops_tree_free(tree);
}

/* ---- two ways agree ------------------------------------------------------------------------------------------------- */

/* Compare both ways for statements in one iteration of hosts: Farkas' form finds all threads that isl finds.
 * @param same  and no others. */
static void compare(const char *what, dcli_loops_sets *sets, dcli_loops_mask statements, const dcli_loops_hosts *hosts,
                    const dcli_loops_operation *operation, bool same)
{
    dcli_loops_partition *farkas = dcli_loops_partition_find(sets, statements, hosts, operation, DCLI_LOOPS_FARKAS);
    dcli_loops_partition *schedule =
        dcli_loops_partition_find(sets, statements, hosts, operation, DCLI_LOOPS_SCHEDULER);
    dcli_text text = {0};
    cr_assert(farkas != NULL && (schedule != NULL || !same), "%s: %s", what, farkas == NULL ? "Farkas" : "isl");
    put_partition(&text, sets->tree, farkas);
    dcli_text_put(&text, " but ");
    if (schedule != NULL) { /* isl gives up after a limit */
        put_partition(&text, sets->tree, schedule);
        cr_expect(dcli_loops_partition_refines(sets, farkas, schedule, hosts), "%s: %s", what, text.bytes);
    }
    if (same)
        cr_expect(dcli_loops_partition_refines(sets, schedule, farkas, hosts), "%s: %s", what, text.bytes);
    dcli_text_free(&text);
    dcli_free(farkas);
    dcli_free(schedule);
}

Test(loops_partition, farkas_and_isl_agree_on_kernels)
{
    for (int k = 0; k < test_kernel_count; k++) {
        dcli_loops_name names[TEST_KERNEL_ARRAYS + 6];
        dcli_loops_plan *plan = NULL;
        int count = test_kernel_names(&test_kernels[k], names);
        if (test_kernels[k].warned)
            continue; /* nothing is parallel in a part */
        cr_assert_eq(dcli_loops_plan_make(test_kernels[k].text, count, names, &plan), DCL_OK, "%s", dcl_error());
        for (int o = 0; o < plan->operation_count; o++)
            compare(test_kernels[k].name, plan->sets, plan->operation[o]->statements, &plan->operation[o]->hosts,
                    plan->operation[o], true);
        dcli_loops_plan_free(plan);
    }
}

Test(loops_partition, farkas_and_isl_agree_on_random_nests)
{
    dcli_loops_name names[TEST_NEST_ARRAYS];
    const char *setting = getenv("TEST_NESTS");
    for (int a = 0; a < TEST_NEST_ARRAYS; a++)
        names[a] = array_name(test_nest_names[a], test_nest_ranks[a], TEST_NEST_EDGE,
                              test_nest_ranks[a] > 1 ? TEST_NEST_EDGE : 0);
    for (int64_t n = 1; n <= (setting != NULL ? atoll(setting) : 10); n++) {
        dcli_text text = {0};
        test_nest_put(&text, n);
        dcli_loops_complaints complaints = {.text = text.bytes};
        dcli_loops_tree *tree = dcli_loops_parse(text.bytes, TEST_NEST_ARRAYS, names, &complaints);
        dcli_loops_sets *sets = dcli_loops_sets_make(tree, 0, &complaints);
        cr_assert(sets != NULL && complaints.count == 0);
        compare(text.bytes, sets, ((dcli_loops_mask)1 << tree->statement_count) - 1, &no_hosts, NULL, false);
        dcli_loops_sets_free(sets);
        dcli_loops_tree_free(tree);
        dcli_text_free(&text);
    }
}

/* test/loop/flat_test.c - tests how subscripts such as b[i*n + j] are divided among axes: the axes and subscripts that are found, and, for
 * random nests whose arrays of two axes are written with one subscript, that the same elements are accessed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loop/sets.h"
#include "support/nests.h"

TestSuite(loops_flat, .timeout = 60);

/* C[10][20] and I[4][6][3]; x of 200 and p of 72 elements, of any shape; y of 200 elements; Z[5][0]; n = 10, m = 20. */
static const dcli_loops_name names[] = {
    {.name = "C",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 2, .type = DCL_DOUBLE, .extent = {10, 20}}},
    {.name = "I",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 3, .type = DCL_DOUBLE, .extent = {4, 6, 3}}},
    {.name = "x",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .any_shape = true,
     .grid = {.rank = 1, .type = DCL_DOUBLE, .extent = {200}}},
    {.name = "p",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .any_shape = true,
     .grid = {.rank = 1, .type = DCL_DOUBLE, .extent = {72}}},
    {.name = "y",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 1, .type = DCL_DOUBLE, .extent = {200}}},
    {.name = "Z",
     .access = DCL_ACCESS_INOUT,
     .type = DCL_DOUBLE,
     .grid = {.rank = 2, .type = DCL_DOUBLE, .extent = {5}}},
    {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 10},
    {.name = "m", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 20},
};
enum { NAMES = sizeof names / sizeof names[0] };

static dcli_loops_tree *divide(const char *text, int count, const dcli_loops_name of[],
                               dcli_loops_complaints *complaints)
{
    *complaints = (dcli_loops_complaints){.text = text};
    dcli_loops_tree *tree = dcli_loops_parse(text, count, of, complaints);
    cr_assert(tree != NULL);
    if (complaints->count > 0 || !dcli_loops_has_flat(tree))
        return tree;
    dcli_loops_sets *sets = dcli_loops_sets_begin(tree, 0);
    cr_assert(sets != NULL);
    cr_expect_eq(dcli_loops_divide_flat(tree, sets, complaints), DCL_OK, "%s: %s", text, dcl_error());
    cr_expect_not(sets->failed, "%s", text);
    dcli_loops_sets_free(sets);
    return tree;
}

struct flat_case {
    char what[48], nest[200], tree[200]; /* the tree without its loops; or what is wrong */
};

ParameterizedTestParameters(loops_flat, subscripts)
{
    static struct flat_case cases[] = {
        {"rows of an array of two axes", "for (i = 0; i < n; i++) for (j = 0; j < m; j++) C[i*m + j] += C[j];",
         "C[i][j] += C[0][j];"},
        {"neighbours",
         "for (i = 1; i < n-1; i++) for (j = 1; j < m-1; j++) C[i*m+j] = C[(i-1)*m+j-1] + C[(i+1)*m+j+1];",
         "C[i][j] = (C[(i - 1)][(j - 1)] + C[(i + 1)][(j + 1)]);"},
        {"rows backwards", "for (i = 0; i < n; i++) for (j = 0; j < m; j++) C[(n-1-i)*m + m-1-j] = 0;",
         "C[(9 - i)][(19 - j)] = 0;"},
        {"a triangle shifted to the left", "for (i = 0; i < n; i++) for (j = i; j < m; j++) C[i*m + j - i] = 0;",
         "C[i][(j - i)] = 0;"},
        {"a diagonal", "for (i = 0; i < n; i++) C[i*m + i] = C[i*(m+1)];", "C[i][i] = C[i][i];"},
        {"a row and a half", "for (i = 0; i < n/2; i++) for (j = 0; j < 2; j++) C[i*2*m + 15*j] = 0;",
         "C[(2 * i)][(15 * j)] = 0;"},
        {"one row", "for (j = 0; j < m; j++) C[3*m + j] = 1;", "C[3][j] = 1;"},
        {"three axes", "for (i = 0; i < 4; i++) for (j = 0; j < 6; j++) for (k = 0; k < 3; k++) I[(i*6+j)*3+k] = 1;",
         "I[i][j][k] = 1;"},
        {"axes that the subscripts have", "for (i = 0; i < n; i++) for (j = 0; j < m; j++) x[i*m+j] = y[j*n+i];",
         "x[i][j] = y[((j * n) + i)];"},
        {"three axes that the subscripts have",
         "for (i = 0; i < 4; i++) for (j = 0; j < 6; j++) for (k = 0; k < 3; k++) p[(i*6+j)*3+k] *= 2;",
         "p[i][j][k] *= 2;"},
        {"axes of one of two arrays", "for (i = 0; i < n; i++) for (j = 0; j < m; j++) x[i*m+j] = p[i+j];",
         "x[i][j] = p[(i + j)];"},
        {"no axes: all in order", "for (i = 0; i < 200; i++) x[i] = 0;", "x[i] = 0;"},
        {"no axes: rows that overlap", "for (i = 0; i < n; i++) for (j = 0; j < m; j++) x[i*n+j] = 0;",
         "x[((i * n) + j)] = 0;"},
        {"no axes: another access is in order",
         "for (i = 0; i < n; i++) for (j = 0; j < m; j++) { x[i*m+j] = 0; } for (i = 0; i < 200; i++) x[i] += 1;",
         "x[((i * m) + j)] = 0; x[i] += 1;"},
        {"where a condition is false",
         "for (i = 0; i < n; i++) for (j = 0; j < m; j++) C[i*m+j] = j > 0 ? C[i*m+j-1] : 0;",
         "C[i][j] = ((j > 0) ? C[i][(j - 1)] : 0);"},
        {"a subscript was forgotten", "for (i = 0; i < n; i++) C[i] = 1;",
         "C has 1 subscript; expected 2, one per axis [rank]"},
        {"an axis without elements", "for (i = 0; i < n; i++) Z[i] = 1;",
         "Z has 1 subscript; expected 2, one per axis [rank]"},
        {"a range beyond 64 bits", "for (i = -9223372036854775807; i < 9223372036854775807; i++) C[i*m + 3*i] = 1;",
         "C has 1 subscript for its 2 axes, whose part along axis 2 is not within 0..19 for all iterations [rank]"},
        {"beyond a row", "for (i = 0; i < n; i++) for (j = 0; j <= m; j++) C[i*m + j] = 1;",
         "C has 1 subscript for its 2 axes, whose part along axis 2 is not within 0..19 for all iterations [rank]"},
    };
    return cr_make_param_array(struct flat_case, cases, sizeof cases / sizeof cases[0]);
}

/* Print the statements of a tree: `C[i][j] = 1;`. */
static void print(const dcli_loops_tree *tree, dcli_text *out)
{
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        dcli_text_put(out, "%s", s > 0 ? " " : "");
        dcli_loops_expr_print(tree, statement->target_expr, out);
        dcli_text_put(out, " %s ", statement->op);
        dcli_loops_expr_print(tree, statement->value, out);
        dcli_text_put(out, ";");
    }
}

ParameterizedTest(struct flat_case *c, loops_flat, subscripts)
{
    dcli_loops_complaints complaints;
    dcli_loops_tree *tree = divide(c->nest, NAMES, names, &complaints);
    dcli_text text = {0};
    if (complaints.count > 0)
        dcli_text_put(&text, "%.*s", (int)strcspn(complaints.said[0].bytes, "\n"), complaints.said[0].bytes);
    else
        print(tree, &text);
    cr_expect_str_eq(text.bytes, c->tree, "%s: %s", c->what, text.bytes);
    dcli_text_free(&text);
    dcli_loops_tree_free(tree);
    dcli_loops_complaints_free(&complaints);
}

/* The expressions, of which bodies are made, say the same as the linear forms, of which sets are made. */
static void expect_same_forms(const dcli_loops_tree *tree, const dcli_loops_access *access,
                              const dcli_loops_expr *element)
{
    int d = 0;
    for (const dcli_loops_expr *item = element->first; item != NULL; item = item->next, d++) {
        dcli_loops_linear form;
        cr_expect(dcli_loops_linear_read(tree, item, NULL, "subscript", &form));
        cr_expect_eq(memcmp(&form, &access->subscript[d], sizeof form), 0);
    }
}

static void expect_same_reads(const dcli_loops_tree *tree, const dcli_loops_statement *statement,
                              const dcli_loops_expr *expr)
{
    if (expr->kind == DCLI_LOOPS_EXPR_ELEMENT)
        expect_same_forms(tree, &statement->read[expr->read], expr);
    else
        for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next)
            expect_same_reads(tree, statement, item);
}

static void expect_same_map(dcli_loops_sets *found, isl_map *map, isl_map *right, const char *text)
{
    char *printed = isl_map_to_str(right); /* the sets have contexts of their own */
    isl_map *copy = isl_map_read_from_str(found->ctx, printed);
    cr_expect_eq(isl_map_is_equal(map, copy), isl_bool_true, "%s of %s", printed, text);
    isl_map_free(copy);
    free(printed);
}

static void expect_same_sets(dcli_loops_sets *found, const dcli_loops_sets *right, const char *text)
{
    for (int s = 0; s < right->tree->statement_count; s++) {
        const dcli_loops_statement *statement = &found->tree->statement[s];
        expect_same_map(found, found->write[s], right->write[s], text);
        for (int r = 0; r < statement->read_count; r++)
            expect_same_map(found, found->read[s][r], right->read[s][r], text);
        if (statement->target.is_array)
            expect_same_forms(found->tree, &statement->target, statement->target_expr);
        expect_same_reads(found->tree, statement, statement->value);
    }
}

Test(loops_flat, random_nests_access_the_same_elements)
{
    const char *setting = getenv("TEST_NESTS");
    int64_t cases = setting != NULL ? atoll(setting) : 30, divided = 0;
    dcli_loops_name of[TEST_NEST_ARRAYS];
    memset(of, 0, sizeof of);
    for (int a = 0; a < TEST_NEST_ARRAYS; a++) {
        dcl_grid grid = {.rank = test_nest_ranks[a], .type = DCL_DOUBLE, .extent = {TEST_NEST_EDGE, TEST_NEST_EDGE}};
        of[a] = (dcli_loops_name){.access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE, .grid = grid};
        strcpy(of[a].name, test_nest_names[a]);
    }
    for (int64_t n = 1; n <= cases; n++) {
        dcli_text text = {0}, flat = {0};
        test_nest_put(&text, n);
        test_nest_flatten(&flat, text.bytes);
        dcli_loops_complaints more, complaints = {.text = text.bytes};
        dcli_loops_tree *right = dcli_loops_parse(text.bytes, TEST_NEST_ARRAYS, of, &complaints),
                        *found = divide(flat.bytes, TEST_NEST_ARRAYS, of, &more);
        dcli_loops_sets *right_sets = dcli_loops_sets_make(right, 0, &complaints);
        dcli_loops_sets *found_sets = more.count == 0 ? dcli_loops_sets_make(found, 0, &more) : NULL;
        cr_expect_eq(complaints.count, 0, "nest %" PRId64, n);
        if (more.count == 0)
            expect_same_sets(found_sets, right_sets, flat.bytes);
        else /* only elements of the first row: this may be a subscript that was forgotten */
            cr_expect(strstr(more.said[0].bytes, "expected 2, one per axis") != NULL, "%s", more.said[0].bytes);
        divided += more.count == 0;
        dcli_loops_sets_free(right_sets);
        dcli_loops_sets_free(found_sets);
        dcli_loops_tree_free(right);
        dcli_loops_tree_free(found);
        dcli_loops_complaints_free(&complaints);
        dcli_loops_complaints_free(&more);
        dcli_text_free(&text);
        dcli_text_free(&flat);
    }
    cr_expect(divided * 100 >= cases * 95, "%" PRId64 " of %" PRId64, divided, cases);
}

/* test/loop/scheme_test.c - tests nests as schemes in three languages: what they say, and that reading a scheme gives the tree
 * from which it was printed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/error.h"
#include "loop/scheme.h"

TestSuite(loops_scheme, .timeout = 120);

#define ARRAY(text, axes, ...)                                                  \
    {                                                                           \
        .name = text, .access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE, .grid = { \
            .rank = axes,                                                       \
            .type = DCL_DOUBLE,                                                 \
            .extent = {__VA_ARGS__}                                             \
        }                                                                       \
    }
static const dcli_loops_name names[] = {
    ARRAY("A", 2, 10, 20),
    ARRAY("x", 1, 20),
    ARRAY("to", 1, 10), /* a word of the sentences */
    {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true, .value = 10},
    {.name = "alpha", .access = DCL_ACCESS_VALUE, .type = DCL_DOUBLE},
};
enum { NAMES = sizeof names / sizeof names[0], LANGUAGES = 3 };

static dcli_loops_tree *parse(const char *text)
{
    dcli_loops_complaints complaints = {.text = text};
    dcli_loops_tree *tree = dcli_loops_parse(text, NAMES, names, &complaints);
    cr_assert(tree != NULL);
    cr_assert_eq(dcli_loops_complaints_end(&complaints), DCL_OK, "%s\n%s", dcl_error(), text);
    dcli_loops_complaints_free(&complaints);
    return tree;
}

struct scheme_case {
    char language[4], scheme[900];
};

static const char nest[] = "double s;\n"
                           "for (i = 0; i < n; i++) {\n"
                           "    s = 0;\n"
                           "    for (long j = n - 1; j >= 1; j -= 2)\n"
                           "        s += A[i][j] * x[j];\n"
                           "    if (i > 2)\n"
                           "        to[i] /= s;\n"
                           "    else\n"
                           "        to[i] -= alpha;\n"
                           "}\n"
                           "for (i = 0; i <= 9; i++) {\n"
                           "    int k = 3;\n"
                           "    x[i] = k;\n"
                           "}\n";

ParameterizedTestParameters(loops_scheme, languages)
{
    static struct scheme_case cases[] = {
        {"en", "Let \"double s\" be a variable.\n"
               "For \"i\" from \"0\" below \"n\", in parallel:\n"
               "    Set \"s\" to \"0\".\n"
               "    For \"long j\" from \"n - 1\" down to \"1\", in steps of \"2\", one after another:\n"
               "        Add \"A[i][j] * x[j]\" to \"s\".\n"
               "    End of the loop.\n"
               "    If \"i > 2\":\n"
               "        Divide \"to[i]\" by \"s\".\n"
               "    Otherwise:\n"
               "        Subtract \"alpha\" from \"to[i]\".\n"
               "    End of the condition.\n"
               "End of the loop.\n"
               "Wait for all.\n"
               "For \"i\" from \"0\" to \"9\":\n"
               "    Let \"int k\" be \"3\".\n"
               "    Set \"x[i]\" to \"k\".\n"
               "End of the loop.\n"},
        {"uk", "Нехай \"double s\" - змінна.\n"
               "Для \"i\" від \"0\", менше \"n\", паралельно:\n"
               "    Присвоїти \"s\" значення \"0\".\n"
               "    Для \"long j\" від \"n - 1\" униз до \"1\", з кроком \"2\", по черзі:\n"
               "        Додати \"A[i][j] * x[j]\" до \"s\".\n"
               "    Кінець циклу.\n"
               "    Якщо \"i > 2\":\n"
               "        Поділити \"to[i]\" на \"s\".\n"
               "    Інакше:\n"
               "        Відняти \"alpha\" від \"to[i]\".\n"
               "    Кінець умови.\n"
               "Кінець циклу.\n"
               "Зачекати на всіх.\n"
               "Для \"i\" від \"0\" до \"9\":\n"
               "    Нехай \"int k\" дорівнює \"3\".\n"
               "    Присвоїти \"x[i]\" значення \"k\".\n"
               "Кінець циклу.\n"},
        {"ru", "Пусть \"double s\" - переменная.\n"
               "Для \"i\" от \"0\", меньше \"n\", параллельно:\n"
               "    Присвоить \"s\" значение \"0\".\n"
               "    Для \"long j\" от \"n - 1\" вниз до \"1\", с шагом \"2\", по очереди:\n"
               "        Прибавить \"A[i][j] * x[j]\" к \"s\".\n"
               "    Конец цикла.\n"
               "    Если \"i > 2\":\n"
               "        Разделить \"to[i]\" на \"s\".\n"
               "    Иначе:\n"
               "        Вычесть \"alpha\" из \"to[i]\".\n"
               "    Конец условия.\n"
               "Конец цикла.\n"
               "Подождать всех.\n"
               "Для \"i\" от \"0\" до \"9\":\n"
               "    Пусть \"int k\" равно \"3\".\n"
               "    Присвоить \"x[i]\" значение \"k\".\n"
               "Конец цикла.\n"},
    };
    return cr_make_param_array(struct scheme_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct scheme_case *c, loops_scheme, languages)
{
    static const dcli_scheme_way way[] = {DCLI_SCHEME_PARALLEL, DCLI_SCHEME_IN_ORDER, DCLI_SCHEME_ANY};
    static const bool wait[] = {false, false, false, false, true, false};
    dcli_loops_tree *tree = parse(nest);
    dcli_text scheme = {0};
    dcli_scheme_print(tree, dcli_scheme_language(c->language), way, wait, &scheme);
    cr_expect_str_eq(scheme.bytes, c->scheme, "%s", scheme.bytes);
    dcli_text_free(&scheme);
    dcli_loops_tree_free(tree);
}

/* Print a tree as a scheme, read that, and compare the trees. */
static void check_identity(const char *text, int language)
{
    dcli_loops_tree *tree = parse(text);
    dcli_text scheme = {0}, read = {0}, before = {0}, after = {0};
    int line;
    dcli_scheme_print(tree, language, NULL, NULL, &scheme);
    cr_assert(dcli_scheme_read(scheme.bytes, &read, &line), "line %d of\n%s", line, scheme.bytes);
    dcli_loops_tree *again = parse(read.bytes);
    dcli_loops_tree_print(tree, &before);
    dcli_loops_tree_print(again, &after);
    cr_assert_str_eq(before.bytes, after.bytes, "%s\n%s\n%s", text, scheme.bytes, after.bytes);
    for (int l = 0; l < tree->loop_count; l++)
        cr_expect_eq(tree->loop[l].is_long, again->loop[l].is_long);
    dcli_loops_tree_free(again);
    dcli_loops_tree_free(tree);
    dcli_text_free(&scheme);
    dcli_text_free(&read);
    dcli_text_free(&before);
    dcli_text_free(&after);
}

/* ---- generated nests ----------------------------------------------------------------------------------------------- */

typedef struct generator {
    uint64_t state;
    dcli_text text;
    int depth, variables; /* loops around, variables declared around */
    int made;             /* statements and loops */
} generator;

static int below(generator *g, int limit)
{
    g->state = g->state * 6364136223846793005U + 1442695040888963407U;
    return (int)((g->state >> 33) % (uint64_t)limit);
}

static void put_affine(generator *g)
{
    if (g->depth == 0 || below(g, 3) == 0)
        dcli_text_put(&g->text, "%d", below(g, 9));
    else
        dcli_text_put(&g->text, "%s%c%s%d", below(g, 3) == 0 ? "2 * " : "", 'i' + below(g, g->depth),
                      below(g, 2) == 0 ? " + " : " - ", below(g, 4));
}

static void put_condition(generator *g)
{
    static const char *const relations[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
    if (below(g, 4) == 0) {
        dcli_text_put(&g->text, below(g, 2) == 0 ? "!(" : "(");
        put_condition(g);
        dcli_text_put(&g->text, below(g, 2) == 0 ? ") && " : ") || ");
    }
    put_affine(g);
    dcli_text_put(&g->text, "%s", relations[below(g, 6)]);
    put_affine(g);
}

static void put_value(generator *g, int deep)
{
    static const char *const operators[] = {" + ", " - ", " * ", " / ", " < "};
    switch (deep > 3 ? below(g, 3) : below(g, 8)) {
    case 0:
        dcli_text_put(&g->text, below(g, 2) == 0 ? "1.5e-3f" : "alpha");
        return;
    case 1:
        if (g->variables > 0)
            dcli_text_put(&g->text, "v%d", below(g, g->variables));
        else
            dcli_text_put(&g->text, "n");
        return;
    case 2:
        dcli_text_put(&g->text, below(g, 2) == 0 ? "x[" : "to[");
        put_affine(g);
        dcli_text_put(&g->text, "]");
        return;
    case 3:
        dcli_text_put(&g->text, below(g, 2) == 0 ? "sqrt((double)(" : "-((");
        put_value(g, deep + 1);
        dcli_text_put(&g->text, "))");
        return;
    case 4:
        dcli_text_put(&g->text, "((");
        put_condition(g);
        dcli_text_put(&g->text, ") ? ");
        put_value(g, deep + 1);
        dcli_text_put(&g->text, " : ");
        put_value(g, deep + 1);
        dcli_text_put(&g->text, ")");
        return;
    case 5:
        dcli_text_put(&g->text, "(float)fmax((float)(");
        put_value(g, deep + 1);
        dcli_text_put(&g->text, "), 2)");
        return;
    default:
        put_value(g, deep + 1);
        dcli_text_put(&g->text, "%s", operators[below(g, 5)]);
        put_value(g, deep + 1);
    }
}

static void put_statements(generator *g, int count);

static void put_loop(generator *g)
{
    char name = (char)('i' + g->depth);
    bool rises = below(g, 3) > 0;
    int step = 1 + below(g, 3);
    dcli_text_put(&g->text, "for (%s%c = ", below(g, 3) == 0 ? "int " : below(g, 3) == 0 ? "long " : "", name);
    if (step == 1 && below(g, 3) == 0) {
        dcli_text_put(&g->text, rises ? "max(1, " : "min(");
        put_affine(g);
        dcli_text_put(&g->text, rises ? ")" : ", n - 1)");
    } else {
        put_affine(g);
    }
    dcli_text_put(&g->text, "; %c %s%s ", name, rises ? "<" : ">", below(g, 2) == 0 ? "=" : "");
    put_affine(g);
    if (step == 1)
        dcli_text_put(&g->text, rises ? "; %c++)" : "; --%c)", name);
    else
        dcli_text_put(&g->text, rises ? "; %c += %d)" : "; %c -= %d)", name, step);
    g->depth++;
    put_statements(g, 1 + below(g, 3));
    g->depth--;
}

static void put_assignment(generator *g)
{
    static const char *const ops[] = {"=", "+=", "-=", "*=", "/="};
    if (g->variables > 0 && below(g, 4) == 0) {
        dcli_text_put(&g->text, "v%d", below(g, g->variables));
    } else {
        dcli_text_put(&g->text, "A[");
        put_affine(g);
        dcli_text_put(&g->text, "][");
        put_affine(g);
        dcli_text_put(&g->text, "]");
    }
    dcli_text_put(&g->text, " %s ", ops[below(g, 5)]);
    put_value(g, 0);
    dcli_text_put(&g->text, ";\n");
}

/* Declare a variable: of an own name, or one that hides another. */
static void put_declaration(generator *g)
{
    static const char *const types[] = {"double", "float", "int", "unsigned long", "long long"};
    int number = g->variables > 0 && below(g, 4) == 0 ? below(g, g->variables) : g->variables;
    dcli_text_put(&g->text, "%s v%d", types[below(g, 5)], number);
    if (below(g, 2) == 0)
        dcli_text_put(&g->text, " = %d", below(g, 5));
    dcli_text_put(&g->text, ";\n");
    g->variables += number == g->variables;
}

static void put_statement(generator *g)
{
    int kind = ++g->made > 25 ? 9 : below(g, 10);
    if (kind < 3 && g->depth < 5) {
        put_loop(g);
    } else if (kind == 3) {
        dcli_text_put(&g->text, "if (");
        put_condition(g);
        dcli_text_put(&g->text, ")");
        put_statements(g, 1 + below(g, 2));
        if (below(g, 2) == 0) {
            dcli_text_put(&g->text, "else");
            put_statements(g, 1 + below(g, 2));
        }
    } else {
        put_assignment(g);
    }
}

/* A block. */
static void put_statements(generator *g, int count)
{
    int variables = g->variables;
    dcli_text_put(&g->text, " {\n");
    for (int n = 0; n < count; n++) {
        if (below(g, 4) == 0 && g->variables < 6)
            put_declaration(g);
        put_statement(g);
    }
    dcli_text_put(&g->text, "}\n");
    g->variables = variables;
}

Test(loops_scheme, reading_what_was_printed_gives_the_same_tree)
{
    for (int n = 0; n < 400; n++) {
        generator g = {.state = (uint64_t)n + 1};
        put_statements(&g, 1 + below(&g, 4));
        if (g.made < 40)
            check_identity(g.text.bytes, n % LANGUAGES);
        dcli_text_free(&g.text);
    }
}

Test(loops_scheme, what_is_no_sentence_is_refused)
{
    static const struct {
        const char *scheme;
        int line;
    } cases[] = {{"Set \"x[0]\" to \"1\".\nset \"x[0]\" to \"1\".\n", 2},
                 {"Set \"x[0]\" to \"1.\n", 1},
                 {"Set \"x[0]\" to \"1\". Now\n", 1},
                 {"For \"i\" from \"0\" below \"n\", backwards:\n", 1},
                 {"\n\n\"", 3},
                 {"Wait", 1}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcli_text read = {0};
        int line = 0;
        cr_expect(!dcli_scheme_read(cases[n].scheme, &read, &line), "%s", cases[n].scheme);
        cr_expect_eq(line, cases[n].line, "%s: line %d", cases[n].scheme, line);
        dcli_text_free(&read);
    }
    cr_expect_eq(dcli_scheme_language("de"), -1);
}

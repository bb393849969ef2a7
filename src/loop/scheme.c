/* loop/scheme.c - print and read nests as schemes. */
#include "loop/scheme.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LANGUAGES = 3, INDENT = 4, MOST_VALUES = 4, LONGEST_VALUE = 4000 };

/* The sentences of a language. @ stands for a value in quotes. */
typedef struct sentences {
    const char *name;
    const char *loop[4]; /* counter, first value, limit: by relation < <= > >= */
    const char *step;    /* after it */
    const char *way[3];  /* ANY, PARALLEL, IN_ORDER: at the end of the line */
    const char *end_loop, *condition, *otherwise, *end_condition;
    const char *declare, *let; /* declaration; declaration, value */
    const char *assign[5];     /* by operator = += -= *= /= */
    bool value_first[5];       /* the value stands before the target */
    const char *wait;
} sentences;

static const sentences languages[LANGUAGES] = {
    {"en",
     {"For @ from @ below @", "For @ from @ to @", "For @ from @ down, above @", "For @ from @ down to @"},
     ", in steps of @",
     {":", ", in parallel:", ", one after another:"},
     "End of the loop.",
     "If @:",
     "Otherwise:",
     "End of the condition.",
     "Let @ be a variable.",
     "Let @ be @.",
     {"Set @ to @.", "Add @ to @.", "Subtract @ from @.", "Multiply @ by @.", "Divide @ by @."},
     {false, true, true, false, false},
     "Wait for all."},
    {"uk",
     {"Для @ від @, менше @", "Для @ від @ до @", "Для @ від @ униз, більше @", "Для @ від @ униз до @"},
     ", з кроком @",
     {":", ", паралельно:", ", по черзі:"},
     "Кінець циклу.",
     "Якщо @:",
     "Інакше:",
     "Кінець умови.",
     "Нехай @ - змінна.",
     "Нехай @ дорівнює @.",
     {"Присвоїти @ значення @.", "Додати @ до @.", "Відняти @ від @.", "Помножити @ на @.", "Поділити @ на @."},
     {false, true, true, false, false},
     "Зачекати на всіх."},
    {"ru",
     {"Для @ от @, меньше @", "Для @ от @ до @", "Для @ от @ вниз, больше @", "Для @ от @ вниз до @"},
     ", с шагом @",
     {":", ", параллельно:", ", по очереди:"},
     "Конец цикла.",
     "Если @:",
     "Иначе:",
     "Конец условия.",
     "Пусть @ - переменная.",
     "Пусть @ равно @.",
     {"Присвоить @ значение @.", "Прибавить @ к @.", "Вычесть @ из @.", "Умножить @ на @.", "Разделить @ на @."},
     {false, true, true, false, false},
     "Подождать всех."},
};
static const char *const relations[4] = {"<", "<=", ">", ">="};
static const char *const ops[5] = {"=", "+=", "-=", "*=", "/="};

int dcli_scheme_language(const char *name)
{
    for (int l = 0; l < LANGUAGES; l++)
        if (strcmp(name, languages[l].name) == 0)
            return l;
    return -1;
}

/* ---- printing ------------------------------------------------------------------------------------------------------ */

typedef struct printer {
    const dcli_loops_tree *tree;
    const sentences *say;
    const dcli_scheme_way *way;
    const bool *wait;
    dcli_text *out;
    int indent;
    bool declared[DCLI_LOOPS_SCALARS];
} printer;

/* Put a sentence with its values. */
static void put(printer *printer, const char *sentence, const char *a, const char *b, const char *c)
{
    const char *values[] = {a, b, c};
    int next = 0;
    for (; *sentence != '\0'; sentence++)
        if (*sentence == '@')
            dcli_text_put(printer->out, "\"%s\"", values[next++]);
        else
            dcli_text_append(printer->out, sentence, 1);
}

static void put_line(printer *printer, const char *sentence, const char *a, const char *b)
{
    dcli_text_put(printer->out, "%*s", INDENT * printer->indent, "");
    put(printer, sentence, a, b, NULL);
    dcli_text_put(printer->out, "\n");
}

/* Print an expression without the parentheses around all of it. */
static char *text_of(const dcli_loops_tree *tree, const dcli_loops_expr *expr, dcli_text *text)
{
    dcli_loops_expr_print(tree, expr, text);
    bool enclosed = expr->kind == DCLI_LOOPS_EXPR_BINARY || expr->kind == DCLI_LOOPS_EXPR_UNARY ||
                    expr->kind == DCLI_LOOPS_EXPR_CHOICE || expr->kind == DCLI_LOOPS_EXPR_CAST;
    if (enclosed && !text->failed && text->length >= 2) {
        memmove(text->bytes, text->bytes + 1, text->length - 2);
        text->bytes[text->length -= 2] = '\0';
    }
    return text->bytes != NULL ? text->bytes : "";
}

static bool is_used(const dcli_loops_tree *tree, int scalar)
{
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        if (!statement->target.is_array && statement->target.symbol == scalar)
            return true;
        for (int r = 0; r < statement->read_count; r++)
            if (!statement->read[r].is_array && statement->read[r].symbol == scalar)
                return true;
    }
    return false;
}

/* Print the declarations without a value that stand before a node. Unused ones are left out: they might hide others. */
static void print_declarations(printer *printer, dcli_loops_place before)
{
    for (int v = 0; v < printer->tree->scalar_count; v++) {
        const dcli_loops_scalar *scalar = &printer->tree->scalar[v];
        char text[80];
        if (printer->declared[v] || scalar->place.line > before.line ||
            (scalar->place.line == before.line && scalar->place.column >= before.column))
            continue;
        printer->declared[v] = true;
        snprintf(text, sizeof text, "%s %s", scalar->type, scalar->name);
        if (is_used(printer->tree, v))
            put_line(printer, printer->say->declare, text, NULL);
    }
}

static void print_nodes(printer *printer, const dcli_loops_node *node);

static void print_loop(printer *printer, const dcli_loops_node *node)
{
    const dcli_loops_loop *loop = &printer->tree->loop[node->number];
    dcli_text first = {0}, limit = {0};
    char name[64], step[32];
    int relation = 0;
    while (relation < 3 && strcmp(loop->relation, relations[relation]) != 0)
        relation++;
    snprintf(name, sizeof name, "%s%s", loop->is_long ? "long " : "", loop->name);
    dcli_text_put(printer->out, "%*s", INDENT * printer->indent, "");
    put(printer, printer->say->loop[relation], name, text_of(printer->tree, loop->first, &first),
        text_of(printer->tree, loop->limit, &limit));
    snprintf(step, sizeof step, "%" PRIu64, loop->step < 0 ? -(uint64_t)loop->step : (uint64_t)loop->step);
    if (strcmp(step, "1") != 0)
        put(printer, printer->say->step, step, NULL, NULL);
    dcli_text_put(printer->out, "%s\n",
                  printer->say->way[printer->way != NULL ? printer->way[node->number] : DCLI_SCHEME_ANY]);
    printer->indent++;
    print_nodes(printer, node->first);
    printer->indent--;
    put_line(printer, printer->say->end_loop, NULL, NULL);
    dcli_text_free(&first);
    dcli_text_free(&limit);
}

/* Print an if, with the else that follows it. @return the last node that was printed. */
static const dcli_loops_node *print_if(printer *printer, const dcli_loops_node *node)
{
    const dcli_loops_node *otherwise = node->next;
    dcli_text condition = {0};
    put_line(printer, printer->say->condition, text_of(printer->tree, node->test.condition, &condition), NULL);
    dcli_text_free(&condition);
    printer->indent++;
    print_nodes(printer, node->first);
    printer->indent--;
    bool has_else = otherwise != NULL && otherwise->kind == DCLI_LOOPS_NODE_IF && otherwise->test.negated &&
                    otherwise->test.condition == node->test.condition;
    if (has_else) {
        put_line(printer, printer->say->otherwise, NULL, NULL);
        printer->indent++;
        print_nodes(printer, otherwise->first);
        printer->indent--;
    }
    put_line(printer, printer->say->end_condition, NULL, NULL);
    return has_else ? otherwise : node;
}

static void print_assignment(printer *printer, const dcli_loops_statement *statement)
{
    const dcli_loops_tree *tree = printer->tree;
    dcli_text target = {0}, value = {0};
    text_of(tree, statement->value, &value);
    if (statement->target_expr == NULL) { /* a declaration with its value */
        const dcli_loops_scalar *scalar = &tree->scalar[statement->target.symbol];
        printer->declared[statement->target.symbol] = true;
        dcli_text_put(&target, "%s %s", scalar->type, scalar->name);
        put_line(printer, printer->say->let, target.bytes, value.bytes);
    } else {
        int op = 0;
        while (op < 4 && strcmp(statement->op, ops[op]) != 0)
            op++;
        text_of(tree, statement->target_expr, &target);
        bool swap = printer->say->value_first[op];
        put_line(printer, printer->say->assign[op], swap ? value.bytes : target.bytes,
                 swap ? target.bytes : value.bytes);
    }
    dcli_text_free(&target);
    dcli_text_free(&value);
}

/* The first statement of a node in the order of the text; -1: none. */
static int first_statement(const dcli_loops_node *node)
{
    if (node->kind == DCLI_LOOPS_NODE_ASSIGN)
        return node->number;
    for (const dcli_loops_node *inside = node->first; inside != NULL; inside = inside->next) {
        int found = first_statement(inside);
        if (found >= 0)
            return found;
    }
    return -1;
}

static void print_nodes(printer *printer, const dcli_loops_node *node)
{
    for (bool begins = true; node != NULL; node = node->next, begins = false) {
        int statement = first_statement(node);
        if (!begins && statement >= 0 && printer->wait != NULL && printer->wait[statement])
            put_line(printer, printer->say->wait, NULL, NULL);
        if (node->kind == DCLI_LOOPS_NODE_ASSIGN && printer->tree->statement[node->number].target_expr == NULL)
            printer->declared[printer->tree->statement[node->number].target.symbol] = true;
        print_declarations(printer, node->place);
        if (node->kind == DCLI_LOOPS_NODE_LOOP)
            print_loop(printer, node);
        else if (node->kind == DCLI_LOOPS_NODE_IF)
            node = print_if(printer, node);
        else
            print_assignment(printer, &printer->tree->statement[node->number]);
    }
}

void dcli_scheme_print(const dcli_loops_tree *tree, int language, const dcli_scheme_way way[], const bool wait[],
                       dcli_text *out)
{
    printer printer = {.tree = tree, .say = &languages[language], .way = way, .wait = wait, .out = out};
    print_nodes(&printer, tree->first);
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* The values of a line, as they stand in quotes. */
typedef struct values {
    int count;
    struct {
        const char *start;
        int length;
    } value[MOST_VALUES];
} values;

/* Match the beginning of a line with a sentence. @param at  advanced past what was matched. @return false: it does
 * not match. */
static bool match(const char **at, const char *sentence, values *values)
{
    const char *c = *at;
    for (; *sentence != '\0'; sentence++) {
        if (*sentence != '@') {
            if (*c++ != *sentence)
                return false;
            continue;
        }
        size_t length = *c == '"' ? strcspn(c + 1, "\"\n") : 0;
        if (*c != '"' || c[1 + length] != '"' || length > LONGEST_VALUE || values->count == MOST_VALUES)
            return false;
        values->value[values->count].start = c + 1;
        values->value[values->count++].length = (int)length;
        c += length + 2;
    }
    *at = c;
    return true;
}

static bool ends(const char *at) { return *at == '\n' || *at == '\0' || (*at == '\r' && at[1] == '\n'); }

static bool matches(const char *line, const char *sentence, values *values_out)
{
    *values_out = (values){0};
    return match(&line, sentence, values_out) && ends(line);
}

static void put_value(dcli_text *out, const values *values, int n)
{
    dcli_text_append(out, values->value[n].start, (size_t)values->value[n].length);
}

static bool read_loop(const char *line, const sentences *say, dcli_text *out)
{
    for (int relation = 0; relation < 4; relation++) {
        values values = {0}, step = {0};
        const char *at = line, *name;
        if (!match(&at, say->loop[relation], &values))
            continue;
        match(&at, say->step, &step);
        bool ended = false;
        for (int w = 0; w < 3; w++) {
            const char *tail = at;
            ended = ended || (match(&tail, say->way[w], &values) && ends(tail));
        }
        if (!ended)
            continue;
        dcli_text_put(out, "for (");
        put_value(out, &values, 0);
        dcli_text_put(out, " = ");
        put_value(out, &values, 1);
        name = values.value[0].start;
        int length = values.value[0].length;
        if (length > 5 && strncmp(name, "long ", 5) == 0) {
            name += 5;
            length -= 5;
        }
        dcli_text_put(out, "; %.*s %s ", length, name, relations[relation]);
        put_value(out, &values, 2);
        dcli_text_put(out, "; %.*s %s ", length, name, relation < 2 ? "+=" : "-=");
        if (step.count > 0)
            put_value(out, &step, 0);
        else
            dcli_text_put(out, "1");
        dcli_text_put(out, ") {");
        return true;
    }
    return false;
}

static bool read_assignment(const char *line, const sentences *say, dcli_text *out)
{
    values values;
    for (int op = 0; op < 5; op++) {
        if (!matches(line, say->assign[op], &values))
            continue;
        put_value(out, &values, say->value_first[op] ? 1 : 0);
        dcli_text_put(out, " %s ", ops[op]);
        put_value(out, &values, say->value_first[op] ? 0 : 1);
        dcli_text_put(out, ";");
        return true;
    }
    return false;
}

static bool read_declaration(const char *line, const sentences *say, dcli_text *out)
{
    values values;
    bool declares = matches(line, say->declare, &values);
    if (!declares && !matches(line, say->let, &values))
        return false;
    put_value(out, &values, 0);
    if (!declares) {
        dcli_text_put(out, " = ");
        put_value(out, &values, 1);
    }
    dcli_text_put(out, ";");
    return true;
}

static bool read_line(const char *line, const sentences *say, dcli_text *out)
{
    values values;
    if (matches(line, "", &values) || matches(line, say->wait, &values))
        return true;
    if (read_loop(line, say, out) || read_declaration(line, say, out) || read_assignment(line, say, out))
        return true;
    if (matches(line, say->condition, &values)) {
        dcli_text_put(out, "if (");
        put_value(out, &values, 0);
        dcli_text_put(out, ") {");
        return true;
    }
    bool otherwise = matches(line, say->otherwise, &values);
    if (!otherwise && !matches(line, say->end_loop, &values) && !matches(line, say->end_condition, &values))
        return false;
    dcli_text_put(out, otherwise ? "} else {" : "}");
    return true;
}

bool dcli_scheme_read(const char *scheme, dcli_text *out, int *line_out)
{
    for (*line_out = 1; *scheme != '\0'; ++*line_out) {
        const char *line = scheme + strspn(scheme, " \t");
        bool read = false;
        for (int l = 0; l < LANGUAGES && !read; l++)
            read = read_line(line, &languages[l], out);
        if (!read)
            return false;
        dcli_text_put(out, "\n");
        scheme += strcspn(scheme, "\n");
        scheme += *scheme == '\n';
    }
    return true;
}

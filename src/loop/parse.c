/* loop/parse.c - parse the statements of a loop nest.
 *
 * After an error in a statement the parser continues after this statement, so that all errors of a nest are found at
 * once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "loop/parser.h"

enum { LONGEST = 1 << 16 /* most bytes of a nest */ };

/* A list of nodes that is being made: the pointer to which the next node is attached. */
typedef dcli_loops_node **list_end;

static list_end read_statement(dcli_loops_parser *parser, list_end end);

static dcli_loops_node *make_node(dcli_loops_parser *parser, dcli_loops_node_kind kind, dcli_loops_place place)
{
    dcli_loops_node *node = dcli_calloc(1, sizeof *node);
    if (node == NULL) {
        parser->failed = true;
        return NULL;
    }
    *node = (dcli_loops_node){
        .kind = kind, .place = place, .order = parser->tree->node_count++, .made = parser->tree->nodes};
    parser->tree->nodes = node;
    return node;
}

static bool at_end(const dcli_loops_parser *parser)
{
    return dcli_loops_parse_now(parser)->kind == DCLI_LOOPS_SIGN_END;
}

/* Skip the rest of a statement that has an error: up to and with the next semicolon, or up to the brace that closes
 * its block. */
static void skip_rest(dcli_loops_parser *parser)
{
    for (int inside = 0; !at_end(parser); parser->at++) {
        if (inside == 0 && dcli_loops_parse_is(parser, "}"))
            return;
        inside += dcli_loops_sign_in(dcli_loops_parse_now(parser), "( {");
        inside -= inside > 0 && dcli_loops_sign_in(dcli_loops_parse_now(parser), ") }");
        if (inside == 0 && dcli_loops_sign_in(dcli_loops_parse_now(parser), "; }")) {
            parser->at++;
            return;
        }
    }
}

static bool copy_name(dcli_loops_parser *parser, char name_out[48])
{
    const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
    if (sign->kind != DCLI_LOOPS_SIGN_NAME)
        return dcli_loops_parse_expect(parser, "a name", "here");
    if (sign->length > 47)
        return dcli_loops_parse_refuse(parser, "syntax", "this name is longer than 47 characters", NULL);
    memcpy(name_out, sign->start, (size_t)sign->length);
    name_out[sign->length] = '\0';
    parser->at++;
    return true;
}

/* ---- assignments -------------------------------------------------------------------------------------------------- */

static dcli_loops_statement *begin_assignment(dcli_loops_parser *parser, dcli_loops_place place)
{
    dcli_loops_tree *tree = parser->tree;
    if (tree->statement_count == DCLI_LOOPS_STATEMENTS) {
        dcli_loops_complain(parser->complaints, place, "too-large",
                            "this is assignment number %d of the nest; expected %d at most", DCLI_LOOPS_STATEMENTS + 1,
                            DCLI_LOOPS_STATEMENTS);
        dcli_loops_note(parser->complaints, "split the nest into several calls");
        return NULL;
    }
    dcli_loops_statement *statement = &tree->statement[tree->statement_count];
    memset(statement, 0, sizeof *statement);
    statement->place = place;
    statement->depth = parser->depth;
    memcpy(statement->loop, parser->loop, sizeof statement->loop);
    statement->test_count = parser->test_count;
    memcpy(statement->test, parser->test, sizeof statement->test);
    return statement;
}

/* Check that the target of an assignment may be written, and note its subscripts. */
static bool set_target(dcli_loops_parser *parser, dcli_loops_statement *statement, const dcli_loops_expr *target)
{
    static const char *const what[] = {"a number", "a counter", "a scalar of the call (DCL_VALUE)"};
    if (target->kind != DCLI_LOOPS_EXPR_ELEMENT && target->kind != DCLI_LOOPS_EXPR_SCALAR) {
        dcli_loops_complain(parser->complaints, target->place, "assigned", "%s is %s, which is not assigned in a nest",
                            target->text, target->kind <= DCLI_LOOPS_EXPR_VALUE ? what[target->kind] : "a value");
        dcli_loops_note(parser->complaints, "assign to an element, or to a variable that the nest declares");
        return false;
    }
    statement->target_expr = target;
    statement->target = (dcli_loops_access){
        .is_array = target->kind == DCLI_LOOPS_EXPR_ELEMENT, .symbol = target->symbol, .place = target->place};
    if (target->kind == DCLI_LOOPS_EXPR_SCALAR)
        return true;
    if (parser->tree->name[target->symbol].access == DCL_ACCESS_IN) {
        dcli_loops_complain(parser->complaints, target->place, "assigned",
                            "%s is an input of the call and is assigned here", target->text);
        dcli_loops_note(parser->complaints,
                        "pass it as DCL_INOUT(%s), or as DCL_OUT where the nest never reads what it "
                        "held before",
                        target->text);
        return false;
    }
    statement->target.is_flat = dcli_loops_is_flat(parser->tree, target);
    int axis = 0;
    for (const dcli_loops_expr *item = target->first; item != NULL; item = item->next)
        if (!dcli_loops_linear_read(parser->tree, item, parser->complaints, "subscript",
                                    &statement->target.subscript[axis++]))
            return false;
    return true;
}

/* Read the operator and the value of an assignment, and add it to the tree. */
static list_end finish_assignment(dcli_loops_parser *parser, dcli_loops_statement *statement, const char *op,
                                  list_end end)
{
    strcpy(statement->op, op);
    statement->reads_target = strcmp(op, "=") != 0;
    parser->statement = statement;
    statement->value = dcli_loops_parse_value(parser);
    parser->statement = NULL;
    if (statement->value == NULL)
        return NULL;
    if (statement->reads_target) { /* after the value's reads, whose numbers are in the tree */
        if (statement->read_count == DCLI_LOOPS_READS) {
            dcli_loops_complain(parser->complaints, statement->place, "too-large",
                                "this statement reads more than %d elements", DCLI_LOOPS_READS - 1);
            return NULL;
        }
        statement->read[statement->read_count++] = statement->target;
    }
    dcli_loops_node *node = make_node(parser, DCLI_LOOPS_NODE_ASSIGN, statement->place);
    if (node == NULL)
        return NULL;
    statement->node = node;
    node->number = parser->tree->statement_count++;
    *end = node;
    return &node->next;
}

static list_end read_assignment(dcli_loops_parser *parser, list_end end)
{
    static const char *const ops[] = {"=", "+=", "-=", "*=", "/="};
    const dcli_loops_sign *first = dcli_loops_parse_now(parser);
    if (first->kind != DCLI_LOOPS_SIGN_NAME) {
        if (dcli_loops_sign_is(first, "*"))
            dcli_loops_parse_refuse(parser, "statement", "a nest has no pointers",
                                    "pass an array, and write x[0] in place of *x");
        else
            dcli_loops_parse_expect(parser, "a statement", "here");
        return NULL;
    }
    if (dcli_loops_sign_is(&parser->sign[parser->at + 1], "(")) {
        dcli_loops_parse_refuse(parser, "statement", "a call is no statement of a nest, which consists of assignments",
                                "assign its value to an element");
        return NULL;
    }
    dcli_loops_statement *statement = begin_assignment(parser, first->place);
    const dcli_loops_expr *target = statement != NULL ? dcli_loops_parse_target(parser) : NULL;
    if (target == NULL || !set_target(parser, statement, target))
        return NULL;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        if (dcli_loops_parse_is(parser, ops[o])) {
            parser->at++;
            end = finish_assignment(parser, statement, ops[o], end);
            return end != NULL && dcli_loops_parse_expect(parser, ";", "after the assignment") ? end : NULL;
        }
    if (dcli_loops_sign_in(dcli_loops_parse_now(parser), "++ -- %= &= |= ^= <<= >>="))
        dcli_loops_parse_refuse(parser, "operator",
                                "this operator is none of = += -= *= /=", "write x += 1, or x = x % y");
    else
        dcli_loops_parse_expect(parser, "=", "after the target of an assignment");
    return NULL;
}

/* ---- declarations ------------------------------------------------------------------------------------------------- */

/* Declare a variable. @return its number; -1: refused. */
static int declare(dcli_loops_parser *parser, const char *type)
{
    dcli_loops_tree *tree = parser->tree;
    const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
    dcli_loops_scalar made = {.place = sign->place};
    if (!copy_name(parser, made.name))
        return -1;
    strcpy(made.type, type);
    if (tree->scalar_count == DCLI_LOOPS_SCALARS) {
        dcli_loops_complain(parser->complaints, sign->place, "too-large", "the nest declares more than %d variables",
                            DCLI_LOOPS_SCALARS);
        return -1;
    }
    if (dcli_loops_parse_is(parser, "[")) {
        dcli_loops_parse_refuse(parser, "statement", "a nest declares no arrays", "pass an array of the call");
        return -1;
    }
    for (int d = 0; d < parser->depth; d++)
        if (strcmp(made.name, tree->loop[parser->loop[d]].name) == 0) {
            dcli_loops_complain(parser->complaints, sign->place, "assigned",
                                "%s is the counter of a loop around this declaration", made.name);
            dcli_loops_note(parser->complaints, "choose another name");
            return -1;
        }
    made.depth = parser->depth;
    memcpy(made.loop, parser->loop, sizeof made.loop);
    tree->scalar[tree->scalar_count] = made;
    return tree->scalar_count++;
}

static list_end read_declaration(dcli_loops_parser *parser, list_end end)
{
    char type[16];
    if (!dcli_loops_parse_type(parser, type))
        return NULL;
    for (;;) {
        const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
        int scalar = declare(parser, type);
        if (scalar < 0)
            return NULL;
        dcli_loops_statement *statement =
            dcli_loops_parse_is(parser, "=") ? begin_assignment(parser, sign->place) : NULL;
        if (statement != NULL) {
            parser->at++;
            statement->target = (dcli_loops_access){.symbol = scalar, .place = sign->place};
            end = finish_assignment(parser, statement, "=", end);
            if (end == NULL)
                return NULL;
        }
        parser->scope[parser->scope_count++] = scalar; /* it is known after its own value only */
        if (!dcli_loops_parse_is(parser, ","))
            return dcli_loops_parse_expect(parser, ";", "after the declaration") ? end : NULL;
        parser->at++;
    }
}

/* ---- loops -------------------------------------------------------------------------------------------------------- */

/* Convert an expression to bounds: one, or, if it is a call of `joins` (min or max), one for each argument. */
static bool read_bounds(dcli_loops_parser *parser, const dcli_loops_expr *expr, const char *joins, int *count,
                        dcli_loops_linear bounds[])
{
    if (expr->kind == DCLI_LOOPS_EXPR_CALL && strcmp(expr->text, joins) == 0) {
        for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next)
            if (!read_bounds(parser, item, joins, count, bounds))
                return false;
        return true;
    }
    if (*count == DCLI_LOOPS_BOUNDS) {
        dcli_loops_complain(parser->complaints, expr->place, "too-large", "this bound has more than %d parts",
                            DCLI_LOOPS_BOUNDS);
        dcli_loops_note(parser->complaints, "write some of them as an if inside of the loop");
        return false;
    }
    return dcli_loops_linear_read(parser->tree, expr, parser->complaints, "bound", &bounds[(*count)++]);
}

/* Read the step of a loop: ++, --, += number, -= number, = counter + number. */
static bool read_step(dcli_loops_parser *parser, dcli_loops_loop *loop)
{
    static const char way[] = "write i++, i--, i += 2 or i -= 2";
    dcli_loops_place place = dcli_loops_parse_now(parser)->place;
    bool before = dcli_loops_sign_in(dcli_loops_parse_now(parser), "++ --");
    int sign = dcli_loops_parse_is(parser, "++") ? 1 : -1;
    parser->at += before;
    if (!dcli_loops_parse_is(parser, loop->name)) {
        dcli_loops_complain(parser->complaints, dcli_loops_parse_now(parser)->place, "step",
                            "this loop does not change its counter, %s", loop->name);
        dcli_loops_note(parser->complaints, "write %s++, %s--, %s += 2 or %s -= 2", loop->name, loop->name, loop->name,
                        loop->name);
        return false;
    }
    parser->at++;
    if (before) {
        loop->step = sign;
        return true;
    }
    const dcli_loops_sign *op = dcli_loops_parse_now(parser);
    parser->at++;
    if (dcli_loops_sign_in(op, "++ --")) {
        loop->step = dcli_loops_sign_is(op, "++") ? 1 : -1;
        return true;
    }
    dcli_loops_linear step;
    dcli_loops_expr *expr = dcli_loops_sign_in(op, "+= -= =") ? dcli_loops_parse_value(parser) : NULL;
    if (dcli_loops_sign_in(op, "+= -= =") && expr == NULL)
        return false;
    bool constant = expr != NULL && dcli_loops_linear_read(parser->tree, expr, NULL, "step", &step);
    if (constant && dcli_loops_sign_is(op, "=")) { /* i = i + 2 */
        constant = step.coef[loop->depth] == 1;
        step.coef[loop->depth] = 0;
    }
    for (int d = 0; d < DCLI_LOOPS_DEPTH && constant; d++)
        constant = step.coef[d] == 0;
    constant = constant && dcli_mul(step.constant, dcli_loops_sign_is(op, "-=") ? -1 : 1, &loop->step);
    if (constant && loop->step != 0)
        return true;
    dcli_loops_complain(parser->complaints, place, "step", "the step of this loop is not constant, or 0");
    dcli_loops_note(parser->complaints, "%s", way);
    return false;
}

/* Turn the first value and the limit of a loop into its bounds. */
static bool set_bounds(dcli_loops_parser *parser, dcli_loops_loop *loop, const dcli_loops_expr *first,
                       const dcli_loops_sign *relation, const dcli_loops_expr *limit)
{
    bool rises = dcli_loops_sign_in(relation, "< <=");
    if (rises != (loop->step > 0)) {
        dcli_loops_complain(parser->complaints, relation->place, "step", "this loop counts %s, away from its limit",
                            loop->step > 0 ? "up" : "down");
        dcli_loops_note(parser->complaints, "write < or <= with a step above 0, > or >= with a step below 0");
        return false;
    }
    int *first_count = rises ? &loop->low_count : &loop->high_count;
    int *limit_count = rises ? &loop->high_count : &loop->low_count;
    dcli_loops_linear *limits = rises ? loop->high : loop->low;
    if (!read_bounds(parser, first, rises ? "max" : "min", first_count, rises ? loop->low : loop->high) ||
        !read_bounds(parser, limit, rises ? "min" : "max", limit_count, limits))
        return false;
    for (int n = 0; n < *limit_count && dcli_loops_sign_in(relation, "< >"); n++)
        if (!dcli_add(limits[n].constant, rises ? -1 : 1, &limits[n].constant)) {
            dcli_loops_complain(parser->complaints, limit->place, "overflow", "this bound does not fit 64 bits");
            dcli_loops_note(parser->complaints, "pass smaller numbers");
            return false;
        }
    if (*first_count == 1 || loop->step == 1 || loop->step == -1)
        return true;
    dcli_loops_complain(parser->complaints, first->place, "step",
                        "a loop whose step is not 1 begins at one value, not at several");
    dcli_loops_note(parser->complaints, "let it begin at one of them, and write the other as an if inside of the loop");
    return false;
}

/* Read the parentheses of a `for`. The loop is entered before its limit is read, because limit and step name the
 * counter. */
static bool read_header(dcli_loops_parser *parser, dcli_loops_loop *loop)
{
    char type[16] = "";
    dcli_loops_parse_type(parser, type);
    const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
    int variable = type[0] == '\0' ? dcli_loops_parse_variable(parser, sign) : -1; /* declared before the loop */
    if (variable >= 0)
        strcpy(type, parser->tree->scalar[variable].type);
    if (type[0] != '\0' && strcmp(type, "int") != 0 && strcmp(type, "long") != 0) {
        dcli_loops_parse_refuse(parser, "for", "the counter of a loop is an int or a long",
                                "write for (int i = 0; i < n; i++)");
        return copy_name(parser, loop->name) && false; /* so that it is known inside */
    }
    loop->is_long = strcmp(type, "long") == 0;
    if (!copy_name(parser, loop->name) || !dcli_loops_parse_expect(parser, "=", "and the counter's first value"))
        return false;
    for (int d = 0; d < parser->depth; d++)
        if (strcmp(loop->name, parser->tree->loop[parser->loop[d]].name) == 0) {
            dcli_loops_complain(parser->complaints, loop->place, "assigned",
                                "%s is the counter of a loop around this one, too", loop->name);
            dcli_loops_note(parser->complaints, "choose another name");
            return false;
        }
    if (variable >= 0 && !dcli_loops_parse_note_use(parser, variable, true, sign->place))
        return false;
    dcli_loops_expr *first = dcli_loops_parse_value(parser);
    if (first == NULL || !dcli_loops_parse_expect(parser, ";", "after the counter's first value"))
        return false;
    if (!dcli_loops_parse_is(parser, loop->name))
        return dcli_loops_parse_refuse(parser, "for", "the condition of this loop does not begin with its counter",
                                       "write for (i = 0; i < n; i++)");
    parser->at++;
    const dcli_loops_sign *relation = dcli_loops_parse_now(parser);
    if (!dcli_loops_sign_in(relation, "< <= > >="))
        return dcli_loops_parse_refuse(parser, "for", "the condition of this loop is no comparison by < <= > or >=",
                                       "write for (i = 0; i < n; i++)");
    parser->at++;
    dcli_loops_expr *limit = dcli_loops_parse_value(parser);
    if (limit == NULL || !dcli_loops_parse_expect(parser, ";", "after the loop's limit"))
        return false;
    loop->first = first;
    loop->limit = limit;
    snprintf(loop->relation, sizeof loop->relation, "%.*s", relation->length, relation->start);
    parser->loop[parser->depth++] = loop->node->number; /* for i = i + 2 */
    bool stepped = read_step(parser, loop);
    parser->depth--;
    return stepped && dcli_loops_parse_expect(parser, ")", "after the loop's step") &&
           set_bounds(parser, loop, first, relation, limit);
}

static dcli_loops_loop *make_loop(dcli_loops_parser *parser, dcli_loops_node *node)
{
    dcli_loops_tree *tree = parser->tree;
    if (tree->loop_count == DCLI_LOOPS_MOST || parser->depth == DCLI_LOOPS_DEPTH) {
        dcli_loops_complain(parser->complaints, node->place, "too-large",
                            "the nest has more than %d loops, or %d inside each other", DCLI_LOOPS_MOST,
                            DCLI_LOOPS_DEPTH);
        return NULL;
    }
    node->number = tree->loop_count++;
    dcli_loops_loop *loop = &tree->loop[node->number];
    *loop = (dcli_loops_loop){.place = node->place,
                              .node = node,
                              .depth = parser->depth,
                              .parent = parser->depth > 0 ? parser->loop[parser->depth - 1] : -1};
    return loop;
}

static list_end read_loop(dcli_loops_parser *parser, list_end end)
{
    dcli_loops_node *node = make_node(parser, DCLI_LOOPS_NODE_LOOP, dcli_loops_parse_now(parser)->place);
    dcli_loops_loop *loop = node != NULL ? make_loop(parser, node) : NULL;
    parser->at++;
    if (loop == NULL || !dcli_loops_parse_expect(parser, "(", "after for"))
        return NULL;
    int open = parser->at, scope = parser->scope_count;
    if (!read_header(parser, loop)) { /* parse the body all the same, to report its errors too, if the counter has a
                                         name */
        int inside = 1;
        for (parser->at = open; !at_end(parser) && inside > 0; parser->at++)
            inside += dcli_loops_parse_is(parser, "(") - dcli_loops_parse_is(parser, ")");
        if (loop->name[0] == '\0')
            return NULL;
    }
    *end = node;
    parser->loop[parser->depth++] = node->number;
    list_end inside = read_statement(parser, &node->first);
    parser->depth--;
    parser->scope_count = scope;
    return inside != NULL ? &node->next : NULL;
}

/* ---- if ----------------------------------------------------------------------------------------------------------- */

/* Read the statement of an if or else. */
static dcli_loops_node *read_branch(dcli_loops_parser *parser, dcli_loops_place place, dcli_loops_test test)
{
    dcli_loops_node *node = make_node(parser, DCLI_LOOPS_NODE_IF, place);
    if (node == NULL)
        return NULL;
    if (parser->test_count == DCLI_LOOPS_TESTS) {
        dcli_loops_complain(parser->complaints, place, "too-large", "more than %d ifs stand inside each other",
                            DCLI_LOOPS_TESTS);
        return NULL;
    }
    node->test = test;
    int scope = parser->scope_count;
    parser->test[parser->test_count++] = test;
    list_end inside = read_statement(parser, &node->first);
    parser->test_count--;
    parser->scope_count = scope;
    return inside != NULL ? node : NULL;
}

static list_end read_if(dcli_loops_parser *parser, list_end end)
{
    dcli_loops_place place = dcli_loops_parse_now(parser)->place;
    parser->at++;
    if (!dcli_loops_parse_expect(parser, "(", "after if"))
        return NULL;
    dcli_loops_expr *condition = dcli_loops_parse_value(parser);
    if (condition == NULL || !dcli_loops_parse_expect(parser, ")", "after the condition"))
        return NULL;
    dcli_loops_condition_is_linear(parser->tree, condition, parser->complaints);
    dcli_loops_node *node = read_branch(parser, place, (dcli_loops_test){condition, false});
    if (node == NULL)
        return NULL;
    *end = node;
    end = &node->next;
    if (!dcli_loops_parse_is(parser, "else"))
        return end;
    place = dcli_loops_parse_now(parser)->place;
    parser->at++;
    if ((node = read_branch(parser, place, (dcli_loops_test){condition, true})) == NULL)
        return NULL;
    *end = node;
    return &node->next;
}

/* ---- statements --------------------------------------------------------------------------------------------------- */

static list_end read_block(dcli_loops_parser *parser, list_end end)
{
    int scope = parser->scope_count;
    dcli_loops_place place = dcli_loops_parse_now(parser)->place;
    for (parser->at++; !dcli_loops_parse_is(parser, "}");) {
        if (at_end(parser)) {
            if (!parser->stopped)
                dcli_loops_complain(parser->complaints, place, "syntax", "this brace is not closed; expected }");
            return NULL;
        }
        list_end more = read_statement(parser, end);
        end = more != NULL ? more : end;
    }
    parser->at++;
    parser->scope_count = scope;
    return end;
}

/* Refuse statements that nests cannot contain, by their first word. @return false: it is none of these. */
static bool refuse_word(dcli_loops_parser *parser)
{
    static const struct {
        const char *words, *code, *why, *way;
    } refused[] = {
        {"while do", "while", "how often this loop runs is not known before it runs",
         "write for with bounds that do not depend on data; for a loop until a condition, see dcl_iterate()"},
        {"break continue", "break", "a nest leaves no loop early",
         "write the condition into the bounds of the loop, or use if"},
        {"goto return switch case default", "statement", "a nest consists of for, if and assignments",
         "use if and else"},
        {"struct union enum typedef static extern void", "statement", "a nest declares variables of numbers only",
         NULL},
    };
    for (size_t r = 0; r < sizeof refused / sizeof refused[0]; r++)
        if (dcli_loops_sign_in(dcli_loops_parse_now(parser), refused[r].words)) {
            dcli_loops_parse_refuse(parser, refused[r].code, refused[r].why, refused[r].way);
            return true;
        }
    return false;
}

/* Read one statement; at an error skip it. @return the new end of the list; NULL: there was an error. */
static list_end read_one(dcli_loops_parser *parser, list_end end)
{
    char type[16];
    int begin = parser->at;
    if (dcli_loops_parse_is(parser, ";")) {
        parser->at++;
        return end;
    }
    if (dcli_loops_parse_is(parser, "for"))
        return read_loop(parser, end);
    if (dcli_loops_parse_is(parser, "if"))
        return read_if(parser, end);
    if (dcli_loops_parse_is(parser, "else")) {
        dcli_loops_parse_refuse(parser, "syntax", "this else belongs to no if", NULL);
        parser->at++;
        return NULL;
    }
    list_end more = NULL;
    if (!refuse_word(parser)) {
        bool declares = dcli_loops_parse_type(parser, type);
        parser->at = begin;
        more = declares ? read_declaration(parser, end) : read_assignment(parser, end);
    }
    if (more == NULL && !parser->failed) {
        parser->at = begin;
        skip_rest(parser);
    }
    return more;
}

static list_end read_statement(dcli_loops_parser *parser, list_end end)
{
    if (parser->failed || parser->nesting == DCLI_LOOPS_NESTING) {
        if (!parser->failed)
            dcli_loops_parse_refuse(parser, "too-large", "statements are nested too deeply", "simplify the nest");
        parser->stopped = true;
        parser->at = parser->count - 1;
        return NULL;
    }
    parser->nesting++;
    list_end more = dcli_loops_parse_is(parser, "{") ? read_block(parser, end) : read_one(parser, end);
    parser->nesting--;
    return more;
}

static void read_all(dcli_loops_parser *parser)
{
    list_end end = &parser->tree->first;
    while (!at_end(parser) && !parser->failed) {
        int begin = parser->at;
        if (dcli_loops_parse_is(parser, "}")) {
            dcli_loops_parse_refuse(parser, "syntax", "this brace closes nothing", NULL);
            parser->at++;
            continue;
        }
        list_end more = read_statement(parser, end);
        end = more != NULL ? more : end;
        if (parser->at == begin) /* nothing was skipped: at a token that no statement begins with */
            parser->at++;
    }
    if (parser->tree->statement_count == 0 && parser->complaints->count == 0)
        dcli_loops_complain(parser->complaints, dcli_loops_parse_now(parser)->place, "syntax",
                            "the nest has no assignment");
}

dcli_loops_tree *dcli_loops_parse(const char *text, int count, const dcli_loops_name names[],
                                  dcli_loops_complaints *complaints)
{
    dcli_loops_tree *tree = dcli_calloc(1, sizeof *tree);
    if (tree == NULL)
        return NULL;
    tree->text = text;
    tree->name_count = count;
    tree->name = names;
    if (strlen(text) > LONGEST) {
        dcli_loops_complain(complaints, (dcli_loops_place){1, 1}, "too-large",
                            "the nest has %zu bytes; expected %d at most", strlen(text), LONGEST);
        return tree;
    }
    dcli_loops_parser parser = {.tree = tree, .complaints = complaints};
    dcli_loops_sign *signs = dcli_loops_signs_make(text, complaints, &parser.count);
    parser.sign = signs;
    if (signs != NULL)
        read_all(&parser);
    dcli_loops_check_rows(tree, complaints);
    dcli_free(signs);
    if (signs != NULL && !parser.failed)
        return tree;
    dcli_loops_tree_free(tree);
    return NULL;
}

void dcli_loops_tree_free(dcli_loops_tree *tree)
{
    if (tree == NULL)
        return;
    dcli_free(tree->own_names);
    for (dcli_loops_expr *expr = tree->exprs, *before; expr != NULL; expr = before) {
        before = expr->made;
        dcli_free(expr);
    }
    for (dcli_loops_node *node = tree->nodes, *before; node != NULL; node = before) {
        before = node->made;
        dcli_free(node);
    }
    dcli_free(tree);
}

/* ---- printing ----------------------------------------------------------------------------------------------------- */

static void print_bounds(const dcli_loops_tree *tree, const dcli_loops_loop *loop, bool high, dcli_text *out)
{
    int around[DCLI_LOOPS_DEPTH], count = high ? loop->high_count : loop->low_count;
    for (int l = loop->parent, d = loop->depth - 1; d >= 0; d--, l = tree->loop[l].parent)
        around[d] = l;
    for (int n = 0; n < count; n++) {
        dcli_text_put(out, "%s", n > 0 ? " & " : "");
        dcli_loops_linear_print(tree, high ? &loop->high[n] : &loop->low[n], loop->depth, around, out);
    }
}

static void print_nodes(const dcli_loops_tree *tree, const dcli_loops_node *node, dcli_text *out)
{
    for (; node != NULL; node = node->next) {
        if (node->kind == DCLI_LOOPS_NODE_ASSIGN) {
            const dcli_loops_statement *statement = &tree->statement[node->number];
            dcli_text_put(out, "S%d: ", node->number);
            if (statement->target_expr != NULL)
                dcli_loops_expr_print(tree, statement->target_expr, out);
            else
                dcli_text_put(out, "%s %s", tree->scalar[statement->target.symbol].type,
                              tree->scalar[statement->target.symbol].name);
            dcli_text_put(out, " %s ", statement->op);
            dcli_loops_expr_print(tree, statement->value, out);
            dcli_text_put(out, "; ");
            continue;
        }
        if (node->kind == DCLI_LOOPS_NODE_LOOP) {
            const dcli_loops_loop *loop = &tree->loop[node->number];
            dcli_text_put(out, "for %s in [", loop->name);
            print_bounds(tree, loop, false, out);
            dcli_text_put(out, ", ");
            print_bounds(tree, loop, true, out);
            dcli_text_put(out, "]");
            if (loop->step != 1)
                dcli_text_put(out, " by %" PRId64, loop->step);
        } else {
            dcli_text_put(out, node->test.negated ? "if !" : "if ");
            dcli_loops_expr_print(tree, node->test.condition, out);
        }
        dcli_text_put(out, " { ");
        print_nodes(tree, node->first, out);
        dcli_text_put(out, "} ");
    }
}

void dcli_loops_tree_print(const dcli_loops_tree *tree, dcli_text *out) { print_nodes(tree, tree->first, out); }

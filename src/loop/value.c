/* loop/value.c - parse the expressions of a loop nest. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "loop/parser.h"

static dcli_loops_expr *read_choice(dcli_loops_parser *parser);

bool dcli_loops_parse_refuse(dcli_loops_parser *parser, const char *code, const char *why, const char *way)
{
    dcli_loops_complain(parser->complaints, dcli_loops_parse_now(parser)->place, code, "%s", why);
    if (way != NULL)
        dcli_loops_note(parser->complaints, "%s", way);
    return false;
}

bool dcli_loops_parse_expect(dcli_loops_parser *parser, const char *spelling, const char *where)
{
    const dcli_loops_sign *now = dcli_loops_parse_now(parser);
    if (dcli_loops_sign_is(now, spelling)) {
        parser->at++;
        return true;
    }
    if (now->kind == DCLI_LOOPS_SIGN_END)
        dcli_loops_complain(parser->complaints, now->place, "syntax", "the text ends here; expected %s %s", spelling,
                            where);
    else
        dcli_loops_complain(parser->complaints, now->place, "syntax", "found %.*s; expected %s %s", now->length,
                            now->start, spelling, where);
    return false;
}

static dcli_loops_expr *make(dcli_loops_parser *parser, dcli_loops_expr_kind kind, const dcli_loops_sign *sign)
{
    dcli_loops_expr *expr = dcli_calloc(1, sizeof *expr);
    if (expr == NULL) {
        parser->failed = true;
        return NULL;
    }
    *expr =
        (dcli_loops_expr){.kind = kind, .place = sign->place, .symbol = -1, .read = -1, .made = parser->tree->exprs};
    parser->tree->exprs = expr;
    if ((size_t)sign->length >= sizeof expr->text) {
        dcli_loops_complain(parser->complaints, sign->place, "syntax",
                            "this word has %d characters; expected at most %zu", sign->length, sizeof expr->text - 1);
        return NULL;
    }
    memcpy(expr->text, sign->start, (size_t)sign->length);
    return expr;
}

/* The words of a type, counted, and its name in OpenCL C, where `long long` is no type. @return false: there is no such type. */
static bool name_type(int longs, bool is_signed, bool is_unsigned, const char *base, char type_out[16])
{
    bool plain = base[0] == '\0' || strcmp(base, "int") == 0;
    if (longs > 2 || (is_signed && is_unsigned) || (longs > 0 && !plain))
        return false;
    if (is_unsigned && !plain && strcmp(base, "char") != 0 && strcmp(base, "short") != 0)
        return false;
    snprintf(type_out, 16, "%s%.14s", is_unsigned ? "u" : "", longs > 0 ? "long" : base[0] == '\0' ? "int" : base);
    return true;
}

bool dcli_loops_parse_type(dcli_loops_parser *parser, char type_out[16])
{
    static const char *const words =
        "char short int long float double uchar ushort uint ulong unsigned signed size_t bool";
    int begin = parser->at, longs = 0;
    bool is_signed = false, is_unsigned = false, any = false, twice = false;
    char base[16] = "";
    type_out[0] = '\0';
    for (;; parser->at++) {
        const dcli_loops_sign *word = dcli_loops_parse_now(parser);
        if (dcli_loops_sign_is(word, "const"))
            continue;
        if (!dcli_loops_sign_in(word, words))
            break;
        any = true;
        if (dcli_loops_sign_is(word, "long")) {
            longs++;
        } else if (dcli_loops_sign_is(word, "signed")) {
            is_signed = true;
        } else if (dcli_loops_sign_is(word, "unsigned")) {
            is_unsigned = true;
        } else if (!dcli_loops_sign_is(word, "int") || base[0] == '\0') { /* `short int` is short */
            twice |= base[0] != '\0' && strcmp(base, "int") != 0;
            snprintf(base, sizeof base, "%.*s", word->length, word->start);
        } else {
            twice |= strcmp(base, "short") != 0;
        }
    }
    if (any && !twice && name_type(longs, is_signed, is_unsigned, base, type_out))
        return true;
    parser->at = begin;
    return false;
}

bool dcli_loops_parse_note_read(dcli_loops_parser *parser, dcli_loops_expr *expr)
{
    dcli_loops_statement *statement = parser->statement;
    if (statement == NULL)
        return true; /* a bound or condition, in which it is refused later */
    if (statement->read_count == DCLI_LOOPS_READS) {
        dcli_loops_complain(parser->complaints, expr->place, "too-large", "this statement reads more than %d elements",
                            DCLI_LOOPS_READS);
        dcli_loops_note(parser->complaints, "split it, with a variable for a part of it");
        return false;
    }
    dcli_loops_access *access = &statement->read[statement->read_count];
    *access = (dcli_loops_access){
        .is_array = expr->kind == DCLI_LOOPS_EXPR_ELEMENT, .symbol = expr->symbol, .place = expr->place};
    access->is_flat = access->is_array && dcli_loops_is_flat(parser->tree, expr);
    int axis = 0;
    for (const dcli_loops_expr *item = expr->first; item != NULL && access->is_array; item = item->next)
        if (!dcli_loops_linear_read(parser->tree, item, parser->complaints, "subscript", &access->subscript[axis++]))
            return false;
    access->test_count = parser->choice_count;
    memcpy(access->test, parser->choice, sizeof access->test);
    expr->read = statement->read_count++;
    return true;
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static bool is_named(const dcli_loops_sign *sign, const char *name)
{
    return strlen(name) == (size_t)sign->length && memcmp(name, sign->start, (size_t)sign->length) == 0;
}

int dcli_loops_parse_variable(const dcli_loops_parser *parser, const dcli_loops_sign *sign)
{
    for (int s = parser->scope_count - 1; s >= 0; s--)
        if (is_named(sign, parser->tree->scalar[parser->scope[s]].name))
            return parser->scope[s];
    return -1;
}

bool dcli_loops_parse_note_use(dcli_loops_parser *parser, int variable, bool as_counter, dcli_loops_place place)
{
    dcli_loops_scalar *scalar = &parser->tree->scalar[variable];
    *(as_counter ? &scalar->is_counter : &scalar->is_used) = true;
    if (!scalar->is_counter || !scalar->is_used)
        return true;
    dcli_loops_complain(parser->complaints, place, "unknown-name",
                        "%s is the counter of a loop, and is used outside of this loop, too", scalar->name);
    dcli_loops_note(parser->complaints, "choose another name for the counter, or declare it in the loop, as in "
                                        "for (int i = 0; i < n; i++)");
    return false;
}

/* Find what a name means: a counter, a variable, or an argument. A variable that is named as a loop around it is refused where it is
 * declared, so a counter hides variables. @return false: nothing. */
static bool look_up(const dcli_loops_parser *parser, const dcli_loops_sign *sign, dcli_loops_expr *expr)
{
    const dcli_loops_tree *tree = parser->tree;
    for (int d = parser->depth - 1; d >= 0; d--)
        if (is_named(sign, tree->loop[parser->loop[d]].name)) {
            expr->kind = DCLI_LOOPS_EXPR_COUNTER;
            expr->symbol = parser->loop[d];
            return true;
        }
    expr->symbol = dcli_loops_parse_variable(parser, sign);
    if (expr->symbol >= 0) {
        expr->kind = DCLI_LOOPS_EXPR_SCALAR;
        return true;
    }
    for (int n = 0; n < tree->name_count; n++)
        if (is_named(sign, tree->name[n].name)) {
            expr->kind = tree->name[n].access == DCL_ACCESS_VALUE ? DCLI_LOOPS_EXPR_VALUE : DCLI_LOOPS_EXPR_ELEMENT;
            expr->symbol = n;
            return true;
        }
    return false;
}

static void add_item(dcli_loops_expr *expr, dcli_loops_expr *item)
{
    dcli_loops_expr **at = &expr->first;
    while (*at != NULL)
        at = &(*at)->next;
    *at = item;
}

/* Read the subscripts of an element. */
static bool read_subscripts(dcli_loops_parser *parser, dcli_loops_expr *expr)
{
    const dcli_loops_name *name = &parser->tree->name[expr->symbol];
    dcli_loops_statement *outside = parser->statement;
    int count = 0;
    while (dcli_loops_parse_is(parser, "[")) {
        parser->at++;
        parser->statement = NULL; /* an element in a subscript is refused as a subscript */
        dcli_loops_expr *item = read_choice(parser);
        parser->statement = outside;
        if (item == NULL || !dcli_loops_parse_expect(parser, "]", "after a subscript"))
            return false;
        add_item(expr, item);
        count++;
    }
    if (count == name->grid.rank || dcli_loops_is_flat(parser->tree, expr))
        return true;
    dcli_loops_complain_rank(parser->complaints, expr->place, name, count);
    return false;
}

static dcli_loops_expr *read_call(dcli_loops_parser *parser, const dcli_loops_sign *sign)
{
    dcli_loops_expr *expr = make(parser, DCLI_LOOPS_EXPR_CALL, sign);
    if (expr == NULL)
        return NULL;
    if (!dcli_loops_is_function(sign)) {
        dcli_loops_complain(parser->complaints, sign->place, "unknown-function",
                            "%.*s is no function that a nest may call", sign->length, sign->start);
        dcli_loops_note(parser->complaints,
                        "use the built-in functions of OpenCL C on numbers, as sqrt, fabs, exp, pow, "
                        "fmin, fma; write out what a function of the program computes");
        return NULL;
    }
    for (parser->at++; !dcli_loops_parse_is(parser, ")");) {
        dcli_loops_expr *item = read_choice(parser);
        if (item == NULL)
            return NULL;
        add_item(expr, item);
        if (!dcli_loops_parse_is(parser, ")") && !dcli_loops_parse_expect(parser, ",", "between arguments"))
            return NULL;
    }
    parser->at++;
    bool in_statement = parser->statement != NULL; /* bounds have max() and min() of any number of integers */
    return !in_statement || dcli_loops_check_call(parser, expr, sign) ? expr : NULL;
}

/* Read a name with what follows it: a call, an element, a variable, a counter, a scalar. */
static dcli_loops_expr *read_name(dcli_loops_parser *parser)
{
    const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
    parser->at++;
    if (dcli_loops_parse_is(parser, "("))
        return read_call(parser, sign);
    dcli_loops_expr *expr = make(parser, DCLI_LOOPS_EXPR_VALUE, sign);
    if (expr == NULL)
        return NULL;
    if (!look_up(parser, sign, expr)) {
        dcli_loops_complain(parser->complaints, sign->place, "unknown-name", "%.*s is not known here", sign->length,
                            sign->start);
        dcli_loops_note(parser->complaints, "pass it as DCL_IN, DCL_OUT, DCL_INOUT or DCL_VALUE, or declare it in the "
                                            "nest; a counter is known inside of its loop only");
        return NULL;
    }
    if (expr->kind == DCLI_LOOPS_EXPR_SCALAR && !dcli_loops_parse_note_use(parser, expr->symbol, false, sign->place))
        return NULL;
    if (expr->kind == DCLI_LOOPS_EXPR_ELEMENT)
        return read_subscripts(parser, expr) ? expr : NULL;
    if (dcli_loops_parse_is(parser, "[")) {
        dcli_loops_complain(parser->complaints, sign->place, "rank", "%.*s is no array, but has subscripts",
                            sign->length, sign->start);
        dcli_loops_note(parser->complaints, "pass an array under this name, or leave the subscripts out");
        return NULL;
    }
    return expr;
}

dcli_loops_expr *dcli_loops_parse_target(dcli_loops_parser *parser) { return read_name(parser); }

/* ---- operators ---------------------------------------------------------------------------------------------------- */

static dcli_loops_expr *read_unary(dcli_loops_parser *parser);

static dcli_loops_expr *read_parentheses(dcli_loops_parser *parser)
{
    const dcli_loops_sign *open = dcli_loops_parse_now(parser);
    char type[16];
    parser->at++;
    if (dcli_loops_parse_type(parser, type)) {
        dcli_loops_expr *cast = make(parser, DCLI_LOOPS_EXPR_CAST, open);
        if (cast == NULL || !dcli_loops_parse_expect(parser, ")", "after the type of a cast"))
            return NULL;
        strcpy(cast->text, type);
        cast->first = read_unary(parser);
        return cast->first != NULL ? cast : NULL;
    }
    dcli_loops_expr *expr = read_choice(parser);
    if (expr != NULL && dcli_loops_sign_in(dcli_loops_parse_now(parser), "= += -= *= /=")) {
        dcli_loops_parse_refuse(parser, "statement", "an expression changes a variable",
                                "write an assignment of its own");
        return NULL;
    }
    return expr != NULL && dcli_loops_parse_expect(parser, ")", "to close the parenthesis") ? expr : NULL;
}

static dcli_loops_expr *read_primary(dcli_loops_parser *parser)
{
    const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
    if (dcli_loops_sign_is(sign, "("))
        return read_parentheses(parser);
    if (sign->kind == DCLI_LOOPS_SIGN_NUMBER) {
        parser->at++;
        return make(parser, DCLI_LOOPS_EXPR_NUMBER, sign);
    }
    if (sign->kind == DCLI_LOOPS_SIGN_NAME) {
        dcli_loops_expr *expr = read_name(parser);
        bool reads = expr != NULL && (expr->kind == DCLI_LOOPS_EXPR_ELEMENT || expr->kind == DCLI_LOOPS_EXPR_SCALAR);
        return !reads || dcli_loops_parse_note_read(parser, expr) ? expr : NULL;
    }
    dcli_loops_parse_expect(parser, "a value", "here");
    return NULL;
}

static dcli_loops_expr *read_unary(dcli_loops_parser *parser)
{
    const dcli_loops_sign *sign = dcli_loops_parse_now(parser);
    if (parser->nesting == DCLI_LOOPS_NESTING) {
        dcli_loops_parse_refuse(parser, "too-large", "this is nested too deeply", "simplify it");
        return NULL;
    }
    if (dcli_loops_sign_in(sign, "++ --")) {
        dcli_loops_parse_refuse(parser, "statement", "an expression changes a variable",
                                "write an assignment of its own");
        return NULL;
    }
    parser->nesting++;
    dcli_loops_expr *expr = NULL;
    if (dcli_loops_sign_in(sign, "- + ! ~")) {
        parser->at++;
        expr = make(parser, DCLI_LOOPS_EXPR_UNARY, sign);
        if (expr != NULL && (expr->first = read_unary(parser)) == NULL)
            expr = NULL;
    } else {
        expr = read_primary(parser);
    }
    parser->nesting--;
    return expr;
}

/* The operators by precedence, the loosest first. */
static const char *const levels[] = {"||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static dcli_loops_expr *read_level(dcli_loops_parser *parser, int level)
{
    dcli_loops_expr *left = level == LEVELS - 1 ? read_unary(parser) : read_level(parser, level + 1);
    while (left != NULL && dcli_loops_sign_in(dcli_loops_parse_now(parser), levels[level])) {
        dcli_loops_expr *expr = make(parser, DCLI_LOOPS_EXPR_BINARY, dcli_loops_parse_now(parser));
        parser->at++;
        dcli_loops_expr *right = level == LEVELS - 1 ? read_unary(parser) : read_level(parser, level + 1);
        if (expr == NULL || right == NULL)
            return NULL;
        expr->first = left;
        left->next = right;
        left = expr;
    }
    return left;
}

/* Read one value of a ?:, whose reads take place if the condition holds, or if it does not. They count as always made if
 * the condition is not linear, or too many of them are nested. */
static dcli_loops_expr *read_chosen(dcli_loops_parser *parser, const dcli_loops_expr *condition, bool negated)
{
    bool known =
        parser->choice_count < DCLI_LOOPS_TESTS && dcli_loops_condition_is_linear(parser->tree, condition, NULL);
    if (known)
        parser->choice[parser->choice_count++] = (dcli_loops_test){condition, negated};
    dcli_loops_expr *expr = read_choice(parser);
    parser->choice_count -= known;
    return expr;
}

/* Read what follows the condition of a ?:. */
static dcli_loops_expr *read_values(dcli_loops_parser *parser, dcli_loops_expr *condition)
{
    dcli_loops_expr *expr = make(parser, DCLI_LOOPS_EXPR_CHOICE, dcli_loops_parse_now(parser));
    parser->at++;
    if (expr == NULL)
        return NULL;
    dcli_loops_expr *yes = read_chosen(parser, condition, false);
    if (yes == NULL || !dcli_loops_parse_expect(parser, ":", "between the two values of ?:"))
        return NULL;
    dcli_loops_expr *no = read_chosen(parser, condition, true);
    if (no == NULL)
        return NULL;
    expr->first = condition;
    condition->next = yes;
    yes->next = no;
    return expr;
}

static dcli_loops_expr *read_choice(dcli_loops_parser *parser)
{
    if (parser->nesting == DCLI_LOOPS_NESTING) {
        dcli_loops_parse_refuse(parser, "too-large", "this is nested too deeply", "simplify it");
        return NULL;
    }
    parser->nesting++;
    dcli_loops_expr *expr = read_level(parser, 0);
    if (expr != NULL && dcli_loops_parse_is(parser, "?"))
        expr = read_values(parser, expr);
    parser->nesting--;
    return expr;
}

dcli_loops_expr *dcli_loops_parse_value(dcli_loops_parser *parser)
{
    parser->choice_count = 0;
    dcli_loops_expr *expr = read_choice(parser);
    if (expr != NULL && dcli_loops_sign_in(dcli_loops_parse_now(parser), "++ -- = += -= *= /=")) {
        dcli_loops_parse_refuse(parser, "statement", "an expression changes a variable",
                                "write an assignment of its own");
        return NULL;
    }
    return expr;
}

/* ---- printing ----------------------------------------------------------------------------------------------------- */

static void print_items(const dcli_loops_tree *tree, const dcli_loops_expr *expr, const char *separator, dcli_text *out)
{
    for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next) {
        dcli_loops_expr_print(tree, item, out);
        if (item->next != NULL)
            dcli_text_put(out, "%s", separator);
    }
}

void dcli_loops_expr_print(const dcli_loops_tree *tree, const dcli_loops_expr *expr, dcli_text *out)
{
    switch (expr->kind) {
    case DCLI_LOOPS_EXPR_NUMBER:
    case DCLI_LOOPS_EXPR_COUNTER:
    case DCLI_LOOPS_EXPR_VALUE:
    case DCLI_LOOPS_EXPR_SCALAR:
        dcli_text_put(out, "%s", expr->text);
        return;
    case DCLI_LOOPS_EXPR_ELEMENT:
        dcli_text_put(out, "%s[", expr->text);
        print_items(tree, expr, "][", out);
        dcli_text_put(out, "]");
        return;
    case DCLI_LOOPS_EXPR_CALL:
        dcli_text_put(out, "%s(", expr->text);
        print_items(tree, expr, ", ", out);
        dcli_text_put(out, ")");
        return;
    case DCLI_LOOPS_EXPR_UNARY:
        dcli_text_put(out, "(%s", expr->text);
        print_items(tree, expr, "", out);
        dcli_text_put(out, ")");
        return;
    case DCLI_LOOPS_EXPR_CAST:
        dcli_text_put(out, "((%s)", expr->text);
        print_items(tree, expr, "", out);
        dcli_text_put(out, ")");
        return;
    case DCLI_LOOPS_EXPR_BINARY: {
        char between[40];
        snprintf(between, sizeof between, " %s ", expr->text);
        dcli_text_put(out, "(");
        print_items(tree, expr, between, out);
        dcli_text_put(out, ")");
        return;
    }
    case DCLI_LOOPS_EXPR_CHOICE:
        dcli_text_put(out, "(");
        dcli_loops_expr_print(tree, expr->first, out);
        dcli_text_put(out, " ? ");
        dcli_loops_expr_print(tree, expr->first->next, out);
        dcli_text_put(out, " : ");
        dcli_loops_expr_print(tree, expr->first->next->next, out);
        dcli_text_put(out, ")");
        return;
    }
}

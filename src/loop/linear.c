/* loop/linear.c - expressions as linear forms of counters, and conditions on them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "loop/tree.h"

/* What a reader of linear forms needs. */
typedef struct reader {
    const dcli_loops_tree *tree;
    dcli_loops_complaints *complaints;
    const char *what;
} reader;

static bool refuse(const reader *reader, dcli_loops_place place, const char *code, const char *why, const char *way)
{
    if (reader->complaints != NULL) {
        dcli_loops_complain(reader->complaints, place, code, "this %s %s", reader->what, why);
        dcli_loops_note(reader->complaints, "%s", way);
    }
    return false;
}

static bool overflow(const reader *reader, dcli_loops_place place)
{
    return refuse(reader, place, "overflow", "does not fit 64 bits", "pass smaller numbers");
}

/* *sum += factor * other */
static bool add(dcli_loops_linear *sum, const dcli_loops_linear *other, int64_t factor)
{
    int64_t more;
    bool fits = dcli_mul(other->constant, factor, &more) && dcli_add(sum->constant, more, &sum->constant);
    for (int d = 0; d < DCLI_LOOPS_DEPTH && fits; d++)
        fits = dcli_mul(other->coef[d], factor, &more) && dcli_add(sum->coef[d], more, &sum->coef[d]);
    return fits;
}

static bool is_constant(const dcli_loops_linear *linear)
{
    for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
        if (linear->coef[d] != 0)
            return false;
    return true;
}

static bool read_number(const reader *reader, const dcli_loops_expr *expr, dcli_loops_linear *out)
{
    char *end;
    unsigned long long number = strtoull(expr->text, &end, 0);
    if (strspn(end, "uUlL") != strlen(end))
        return refuse(reader, expr->place, "not-affine", "contains a number that is no integer",
                      "write integers, counters and integer scalars");
    if (number > INT64_MAX)
        return overflow(reader, expr->place);
    out->constant = (int64_t)number;
    return true;
}

static bool read_value(const reader *reader, const dcli_loops_expr *expr, dcli_loops_linear *out)
{
    const dcli_loops_name *name = &reader->tree->name[expr->symbol];
    if (!name->is_integer)
        return refuse(reader, expr->place, "not-affine",
                      name->type == DCL_UINT64 ? "contains a scalar above 9223372036854775807"
                                               : "contains a scalar that is no integer",
                      "pass an integer as DCL_VALUE, of 64 bits with sign");
    out->constant = name->value;
    return true;
}

static bool read(const reader *reader, const dcli_loops_expr *expr, dcli_loops_linear *out);

static bool read_product(const reader *reader, const dcli_loops_expr *expr, const dcli_loops_linear *left,
                         const dcli_loops_linear *right, dcli_loops_linear *out)
{
    const dcli_loops_linear *factor = is_constant(left) ? left : right, *form = is_constant(left) ? right : left;
    if (!is_constant(factor))
        return refuse(reader, expr->place, "product", "multiplies counters, so that it is not affine",
                      strcmp(reader->what, "subscript") == 0
                          ? "give the array one more axis, as A[i][j] in place of A[i*n+j]"
                          : "use sums of counters, multiplied by integers");
    return add(out, form, factor->constant) || overflow(reader, expr->place);
}

static bool read_binary(const reader *reader, const dcli_loops_expr *expr, dcli_loops_linear *out)
{
    dcli_loops_linear left = {0}, right = {0};
    if (!read(reader, expr->first, &left) || !read(reader, expr->first->next, &right))
        return false;
    switch (expr->text[0]) {
    case '+':
    case '-':
        return (add(out, &left, 1) && add(out, &right, expr->text[0] == '+' ? 1 : -1)) || overflow(reader, expr->place);
    case '*':
        return read_product(reader, expr, &left, &right, out);
    case '/':
    case '%':
        if (is_constant(&left) && is_constant(&right) && right.constant > 0) { /* C's, towards zero */
            out->constant = expr->text[0] == '/' ? left.constant / right.constant : left.constant % right.constant;
            return true;
        }
        if (is_constant(&right) && right.constant <= 0)
            return refuse(reader, expr->place, "division",
                          right.constant == 0 ? "divides by 0"
                                              : "divides by a negative number, which C rounds towards 0",
                          "divide by a number above 0, and put the sign before the quotient");
        return refuse(reader, expr->place, "division", "divides a counter, so that it is not affine",
                      "let the loop run over the quotient, with another loop inside over the remainder");
    default:
        return refuse(reader, expr->place, "not-affine", "is not affine",
                      "use sums of counters, multiplied by integers");
    }
}

static bool refuse_data(const reader *reader, const dcli_loops_expr *expr)
{
    if (strcmp(reader->what, "bound") == 0)
        return refuse(reader, expr->place, "data-subscript",
                      "depends on data, so that how often the loop runs is not known",
                      "use outer counters and integer scalars; for a loop until a condition, see dcl_iterate()");
    if (strcmp(reader->what, "condition") == 0)
        return refuse(reader, expr->place, "data-subscript", "depends on data, so that where it holds is not known",
                      "write x = condition ? new : x; in place of if");
    return refuse(reader, expr->place, "data-subscript", "depends on data, so that what it touches is not known",
                  "use counters and integer scalars; for elements named by data, use dcl_forall() with DCL_IN_ALL");
}

static bool is_integer_type(const char *type)
{
    return strcmp(type, "int") == 0 || strcmp(type, "long") == 0 || strcmp(type, "size_t") == 0;
}

static bool read(const reader *reader, const dcli_loops_expr *expr, dcli_loops_linear *out)
{
    switch (expr->kind) {
    case DCLI_LOOPS_EXPR_NUMBER:
        return read_number(reader, expr, out);
    case DCLI_LOOPS_EXPR_COUNTER:
        out->coef[reader->tree->loop[expr->symbol].depth] = 1;
        return true;
    case DCLI_LOOPS_EXPR_VALUE:
        return read_value(reader, expr, out);
    case DCLI_LOOPS_EXPR_UNARY: {
        dcli_loops_linear item = {0};
        if (expr->text[0] != '-' && expr->text[0] != '+')
            break;
        return read(reader, expr->first, &item) &&
               (add(out, &item, expr->text[0] == '-' ? -1 : 1) || overflow(reader, expr->place));
    }
    case DCLI_LOOPS_EXPR_BINARY:
        return read_binary(reader, expr, out);
    case DCLI_LOOPS_EXPR_CAST:
        if (is_integer_type(expr->text))
            return read(reader, expr->first, out);
        break;
    case DCLI_LOOPS_EXPR_ELEMENT:
    case DCLI_LOOPS_EXPR_SCALAR:
        return refuse_data(reader, expr);
    case DCLI_LOOPS_EXPR_CALL:
    case DCLI_LOOPS_EXPR_CHOICE:
        break;
    }
    return refuse(reader, expr->place, "not-affine", "is not affine", "use sums of counters, multiplied by integers");
}

bool dcli_loops_linear_read(const dcli_loops_tree *tree, const dcli_loops_expr *expr, dcli_loops_complaints *complaints,
                            const char *what, dcli_loops_linear *out)
{
    *out = (dcli_loops_linear){0};
    return read(&(reader){tree, complaints, what}, expr, out);
}

bool dcli_loops_condition_is_linear(const dcli_loops_tree *tree, const dcli_loops_expr *expr,
                                    dcli_loops_complaints *complaints)
{
    dcli_loops_linear side;
    if (expr->kind == DCLI_LOOPS_EXPR_UNARY && expr->text[0] == '!')
        return dcli_loops_condition_is_linear(tree, expr->first, complaints);
    if (expr->kind == DCLI_LOOPS_EXPR_BINARY && (strcmp(expr->text, "&&") == 0 || strcmp(expr->text, "||") == 0))
        return dcli_loops_condition_is_linear(tree, expr->first, complaints) &&
               dcli_loops_condition_is_linear(tree, expr->first->next, complaints);
    if (expr->kind == DCLI_LOOPS_EXPR_BINARY && strchr("<>=!", expr->text[0]) != NULL &&
        strcmp(expr->text, "<<") != 0 && strcmp(expr->text, ">>") != 0)
        return dcli_loops_linear_read(tree, expr->first, complaints, "condition", &side) &&
               dcli_loops_linear_read(tree, expr->first->next, complaints, "condition", &side);
    if (complaints != NULL) {
        dcli_loops_complain(complaints, expr->place, "condition", "this condition is no comparison of counters");
        dcli_loops_note(complaints, "where it depends on data, write x = condition ? new : x; in place of if");
    }
    return false;
}

/* ---- printing ----------------------------------------------------------------------------------------------------- */

void dcli_loops_linear_print(const dcli_loops_tree *tree, const dcli_loops_linear *linear, int depth, const int loop[],
                             dcli_text *out)
{
    bool first = true;
    for (int d = 0; d < depth; d++) {
        int64_t coef = linear->coef[d];
        if (coef == 0)
            continue;
        dcli_text_put(out, "%s", first ? coef < 0 ? "-" : "" : coef < 0 ? " - " : " + ");
        if (coef != 1 && coef != -1)
            dcli_text_put(out, "%" PRIu64 "*", coef < 0 ? -(uint64_t)coef : (uint64_t)coef);
        dcli_text_put(out, "%s", tree->loop[loop[d]].name);
        first = false;
    }
    if (first)
        dcli_text_put(out, "%" PRId64, linear->constant);
    else if (linear->constant != 0)
        dcli_text_put(out, " %c %" PRIu64, linear->constant < 0 ? '-' : '+',
                      linear->constant < 0 ? -(uint64_t)linear->constant : (uint64_t)linear->constant);
}

/* kernel/affine.c - parse subscripts into sums of factor * scalars * index.
 * A recursive-descent parser for + - * and parentheses, and for boundaries (kernel/boundary.h) around them, over polynomials that are linear in the indices; token.c has
 * limited the nesting depth. */
#include "kernel/affine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "kernel/boundary.h"
#include "kernel/inner.h"
#include "kernel/names.h"

struct reader {
    const dcli_affine_reader *about;
    int at, end;
};

static dcl_status read_sum(struct reader *r, dcli_affine *out);

/* The token that is the whole first (or `last`) subscript of the array at `name`; -1: there is none. */
static int lone_subscript(const dcli_tokens *tokens, int name, bool last)
{
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    int count = dcli_token_is(tokens, name + 1, "(") ? dcli_token_split(tokens, name + 1, DCL_MAX_RANK, first, end) : 0;
    int d = last ? count - 1 : 0;
    return count >= 1 && count <= DCL_MAX_RANK && end[d] == first[d] + 1 ? first[d] : -1;
}

static bool same_token(const dcli_tokens *tokens, int a, int b)
{
    const dcli_token *x = &tokens->token[a], *y = &tokens->token[b];
    return x->length == y->length && memcmp(tokens->text + x->start, tokens->text + y->start, (size_t)x->length) == 0;
}

/* Suggest a declaration for the array whose subscript contains token t: rows or columns if its first or last subscript
 * is that of the first output. */
static const char *declaration_for(const dcli_affine_reader *about, int t)
{
    const dcli_tokens *tokens = about->tokens;
    const char *output = about->body->params[about->body->owner].name;
    int name = t, written = 0;
    while (name > 0 && !(dcli_token_is(tokens, name, about->body->params[about->param].name) &&
                         dcli_token_is(tokens, name + 1, "(") && tokens->token[name + 1].partner > t))
        name--;
    while (written < tokens->count && !dcli_token_is(tokens, written, output))
        written++;
    for (int last = 0; last < 2; last++) {
        int own = lone_subscript(tokens, name, last),
            its = written < tokens->count ? lone_subscript(tokens, written, last) : -1;
        if (own >= 0 && its >= 0 && own != t && same_token(tokens, own, its))
            return last ? "DCL_IN_COLUMNS" : "DCL_IN_ROWS";
    }
    return NULL;
}

dcl_status dcli_refuse_as_index(const dcli_tokens *tokens, int t, const char *name)
{
    return dcli_token_fail(tokens, t,
                           "%s is an argument here, so it is no index; give the argument another name, as in "
                           "DCL_IN_AS(\"A\", %s), DCL_OUT_AS or DCL_RESULT_AS",
                           name, name);
}

/* Refuse a subscript because of token t. The advice in the error depends on how the array is declared. */
static dcl_status refuse(const struct reader *r, int t, const char *what)
{
    const dcli_affine_reader *about = r->about;
    const dcli_token *token = &about->tokens->token[t];
    if (about->param < 0)
        return dcli_token_fail(about->tokens, t,
                               "DCL_OVER: '%.*s' is no affine bound: %s; expected + - * of indices, integer literals "
                               "and integer DCL_VALUEs",
                               token->length, about->tokens->text + token->start, what);
    const dcli_param *param = &about->body->params[about->param];
    const char *narrow = param->access == DCL_ACCESS_IN && param->rank > 1 && !about->body->along
                             ? declaration_for(about, t)
                             : NULL; /* reductions along axes take no DCL_IN_ROWS */
    if (narrow != NULL)
        return dcli_token_fail(about->tokens, t,
                               "'%.*s' in subscript %d of %s is not affine: %s; declare %s(%s), which never moves more "
                               "than DCL_IN_ALL, or use + - * of indices, integer literals and integer DCL_VALUEs",
                               token->length, about->tokens->text + token->start, about->axis + 1, param->name, what,
                               narrow, param->name);
    if (param->access == DCL_ACCESS_IN)
        return dcli_token_fail(about->tokens, t,
                               "'%.*s' in subscript %d of %s is not affine: %s; use + - * of indices, integer literals "
                               "and integer DCL_VALUEs, or declare DCL_IN_ALL(%s)",
                               token->length, about->tokens->text + token->start, about->axis + 1, param->name, what,
                               param->name);
    return dcli_token_fail(about->tokens, t,
                           "'%.*s' in subscript %d of %s: %s; an output is written at the plain indices, each once",
                           token->length, about->tokens->text + token->start, about->axis + 1, param->name, what);
}

static int compare_terms(const dcli_term *a, const dcli_term *b)
{
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->scalars != b->scalars)
        return a->scalars < b->scalars ? -1 : 1;
    return memcmp(a->scalar, b->scalar, (size_t)a->scalars);
}

/* Add a term to a sum in normal form. @return NULL: added; else why the sum cannot be represented, for the error. */
static const char *add_term(dcli_affine *sum, const dcli_term *term)
{
    int t = 0;
    while (t < sum->count && compare_terms(&sum->term[t], term) < 0)
        t++;
    if (t < sum->count && compare_terms(&sum->term[t], term) == 0) {
        if (!dcli_add(sum->term[t].factor, term->factor, &sum->term[t].factor))
            return "its coefficients overflow";
        if (sum->term[t].factor == 0)
            memmove(&sum->term[t], &sum->term[t + 1], (size_t)(--sum->count - t) * sizeof *term);
        return NULL;
    }
    if (term->factor == 0)
        return NULL;
    if (sum->count == DCLI_AFFINE_TERMS)
        return "it has too many terms";
    memmove(&sum->term[t + 1], &sum->term[t], (size_t)(sum->count++ - t) * sizeof *term);
    sum->term[t] = *term;
    return NULL;
}

static const char *multiply_terms(const dcli_term *a, const dcli_term *b, dcli_term *out)
{
    if (a->index >= 0 && b->index >= 0)
        return "it multiplies an index by an index";
    if (a->scalars + b->scalars > DCLI_TERM_SCALARS)
        return "it multiplies too many scalars";
    *out = (dcli_term){.index = a->index >= 0 ? a->index : b->index};
    if (!dcli_mul(a->factor, b->factor, &out->factor))
        return "its coefficients overflow";
    for (int x = 0, y = 0; x < a->scalars || y < b->scalars;)
        out->scalar[out->scalars++] =
            y == b->scalars || (x < a->scalars && a->scalar[x] <= b->scalar[y]) ? a->scalar[x++] : b->scalar[y++];
    return NULL;
}

static const char *multiply(const dcli_affine *a, const dcli_affine *b, dcli_affine *out)
{
    *out = (dcli_affine){0};
    const char *why = NULL;
    for (int x = 0; x < a->count && why == NULL; x++)
        for (int y = 0; y < b->count && why == NULL; y++) {
            dcli_term term;
            why = multiply_terms(&a->term[x], &b->term[y], &term);
            if (why == NULL)
                why = add_term(out, &term);
        }
    return why;
}

static const char *negate(dcli_affine *a)
{
    for (int t = 0; t < a->count; t++)
        if (!dcli_sub(0, a->term[t].factor, &a->term[t].factor))
            return "its coefficients overflow";
    return NULL;
}

static dcl_status read_number(struct reader *r, dcli_affine *out)
{
    const dcli_tokens *tokens = r->about->tokens;
    const char *start = tokens->text + tokens->token[r->at].start;
    char *end;
    errno = 0;
    long long value = strtoll(start, &end, 0);
    bool overflows = errno == ERANGE;
    const char *suffix = end, *behind = start + tokens->token[r->at].length;
    end += strspn(end, "uUlL");
    if (end != behind)
        return refuse(r, r->at, "it is no integer");
    if (memchr(suffix, 'u', (size_t)(end - suffix)) != NULL || memchr(suffix, 'U', (size_t)(end - suffix)) != NULL)
        return refuse(r, r->at,
                      "it is unsigned, but subscripts are exact signed integers that do not wrap; leave out u");
    if (overflows)
        return refuse(r, r->at, "it is beyond the range of long");
    *out = (dcli_affine){0};
    add_term(out, &(dcli_term){.factor = value, .index = -1});
    r->at++;
    return DCL_OK;
}

static bool is_integer(const dcli_param *param) { return param->access == DCL_ACCESS_VALUE && param->type < DCL_HALF; }

/* Refuse arithmetic on what a boundary returns: it is no sum. @param t  the token of the operator. */
static dcl_status refuse_bounded(const struct reader *r, int t)
{
    return refuse(r, t, "min, max, clamp, reflect, symmetric, constant and % are the last operations of a subscript");
}

/* Whether token t begins a boundary. If the prelude has a function of this name, it is a call of that function instead. This is
 * not tested for `constant`: as a keyword of OpenCL C it cannot name a function, but preludes with tables contain it. */
static bool is_limiting(const struct reader *r, int t)
{
    return dcli_token_in(r->about->tokens, t, "min max clamp reflect symmetric constant") &&
           dcli_token_is(r->about->tokens, t + 1, "(") &&
           (dcli_token_is(r->about->tokens, t, "constant") || !dcli_prelude_names(r->about->body, r->about->tokens, t));
}

/* Parse min(e, limit), max(e, limit), with the arguments in any order, or clamp(e, low, high). */
static dcl_status read_limits(struct reader *r, dcli_affine *out)
{
    const dcli_tokens *tokens = r->about->tokens;
    bool clamps = dcli_token_is(tokens, r->at, "clamp"), is_max = clamps || dcli_token_is(tokens, r->at, "max");
    int first[3], end[3], start = r->at, wanted = clamps ? 3 : 2;
    dcli_affine argument[3];
    if (dcli_token_split(tokens, r->at + 1, 3, first, end) != wanted)
        return refuse(r, start, clamps ? "clamp has three arguments" : "min and max have two arguments");
    for (int n = 0; n < wanted; n++) {
        struct reader inner = {.about = r->about, .at = first[n], .end = end[n]};
        dcl_status status = read_sum(&inner, &argument[n]);
        if (status != DCL_OK)
            return status;
    }
    int sum = !clamps && (dcli_affine_has_index(&argument[1]) || argument[1].boundary != 0);
    *out = argument[sum];
    const char *why = dcli_boundary_limit(r->about->body, out, is_max, &argument[clamps ? 1 : 1 - sum]);
    if (why == NULL && clamps && out->boundary > 0)
        why = dcli_boundary_limit(r->about->body, out, false, &argument[2]);
    r->at = tokens->token[start + 1].partner + 1;
    return why != NULL ? refuse(r, start, why) : out->boundary < 0 ? DCL_ERR_NOMEM : DCL_OK;
}

/* Whether the tokens [first, end) are a constant for elements: a number, or a scalar, with or without a sign. */
static bool is_element(const struct reader *r, int first, int end)
{
    const dcli_tokens *tokens = r->about->tokens;
    first += first < end && dcli_token_in(tokens, first, "+ -");
    bool scalar = false;
    for (int p = 0; p < r->about->body->param_count; p++)
        scalar |= r->about->body->params[p].access == DCL_ACCESS_VALUE &&
                  dcli_token_is(tokens, first, r->about->body->params[p].name);
    return end - first == 1 && (scalar || dcli_token_kind_of(tokens, first) == DCLI_TOKEN_NUMBER ||
                                dcli_token_in(tokens, first, "INFINITY NAN"));
}

/* Parse reflect(e, low, high), symmetric(e, low, high) or constant(e, low, high, value). */
static dcl_status read_between(struct reader *r, dcli_affine *out)
{
    const dcli_tokens *tokens = r->about->tokens;
    dcli_boundary_kind kind = dcli_token_is(tokens, r->at, "reflect")     ? DCLI_BOUNDARY_REFLECT
                              : dcli_token_is(tokens, r->at, "symmetric") ? DCLI_BOUNDARY_SYMMETRIC
                                                                          : DCLI_BOUNDARY_CONSTANT;
    int first[4], end[4], start = r->at, value[2] = {0, 0}, wanted = kind == DCLI_BOUNDARY_CONSTANT ? 4 : 3;
    dcli_affine argument[3];
    if (dcli_token_split(tokens, r->at + 1, 4, first, end) != wanted)
        return refuse(r, start,
                      wanted == 3
                          ? "reflect and symmetric have three arguments: a sum, the lowest and the highest index"
                          : "constant has four arguments: a sum, the lowest and the highest index, and the value "
                            "beyond them");
    for (int n = 0; n < 3; n++) {
        struct reader inner = {.about = r->about, .at = first[n], .end = end[n]};
        dcl_status status = read_sum(&inner, &argument[n]);
        if (status != DCL_OK)
            return status;
    }
    if (wanted == 4 && !is_element(r, first[3], end[3]))
        return refuse(r, first[3], "the value of constant is a number or a DCL_VALUE, with or without a sign");
    if (wanted == 4) {
        value[0] = first[3];
        value[1] = end[3];
    }
    *out = argument[0];
    const char *why = dcli_boundary_between(r->about->body, out, kind, argument + 1, value);
    r->at = tokens->token[start + 1].partner + 1;
    return why != NULL ? refuse(r, start, why) : out->boundary < 0 ? DCL_ERR_NOMEM : DCL_OK;
}

/* Whether a for loop before token t declares a variable of its name, or sets it first. */
static bool is_loop_variable(const dcli_tokens *tokens, int t)
{
    for (int f = 0; f < t; f++)
        for (int at = f + 2; dcli_token_is(tokens, f, "for") && at < t && !dcli_token_is(tokens, at, ";"); at++)
            if (dcli_token_is(tokens, at + 1, "=") && dcli_tokens_equal(tokens, at, t, 1))
                return true;
    return false;
}

/* Why the name at token t, which is no argument and no inner axis, cannot be in a subscript. @param index  its number as
 * the name of an index; negative: it is none. */
static const char *why_unknown(const struct reader *r, int t, int index)
{
    const dcli_tokens *tokens = r->about->tokens;
    const dcli_body *body = r->about->body;
    if (dcli_token_is(tokens, t + 1, "("))
        return "it is a function call or an unknown array";
    if (body->along && is_loop_variable(tokens, t))
        return "it is the variable of a for loop, and a reduction along axes with such subscripts has += -= min= max= "
               "(of integers also *= &= |= ^=), but no DCL_OPERATOR, box, DCL_RESULT_AT or other outputs; store the "
               "sums of the loop with dcl_forall() first";
    if (index >= 0 && body->result_count == 0 && !body->tile_kernel)
        return "it is a variable of the body or unknown, no index of the first output, no DCL_VALUE and no variable of "
               "a for loop with bounds known at the call (dcl_reduce() combines the values of all indices that the "
               "output does not have)";
    return "it is a variable of the body or unknown, no index, no DCL_VALUE and no variable of a for loop with bounds "
           "known at the call";
}

static dcl_status read_name(struct reader *r, dcli_affine *out)
{
    const dcli_tokens *tokens = r->about->tokens;
    const dcli_body *body = r->about->body;
    const dcli_token *token = &tokens->token[r->at];
    int index = dcli_name_index(tokens->text + token->start, (size_t)token->length);
    dcli_term term = {.factor = 1, .index = dcli_body_has_index(body, index) ? index : -1};
    int inner = r->about->param >= 0 ? dcli_inner_at(body, r->at) : -1;
    if (inner >= 0)
        term.index = DCL_MAX_RANK + inner;
    if (term.index < 0) {
        int p = 0;
        while (p < body->param_count && !dcli_token_is(tokens, r->at, body->params[p].name))
            p++;
        if (p == body->param_count && is_limiting(r, r->at))
            return dcli_token_in(tokens, r->at, "min max clamp") ? read_limits(r, out) : read_between(r, out);
        if (p == body->param_count)
            return refuse(r, r->at, why_unknown(r, r->at, index));
        if (index >= 0 && body->params[p].access != DCL_ACCESS_VALUE && !dcli_token_is(tokens, r->at + 1, "("))
            return dcli_refuse_as_index(tokens, r->at, body->params[p].name);
        if (!is_integer(&body->params[p]))
            return refuse(r, r->at,
                          body->params[p].access == DCL_ACCESS_VALUE ? "it is a scalar, but no integer"
                                                                     : "it is an element of an array");
        term.scalar[term.scalars++] = (unsigned char)p;
    }
    *out = (dcli_affine){0};
    add_term(out, &term);
    r->at++;
    return DCL_OK;
}

static dcl_status read_operand(struct reader *r, dcli_affine *out)
{
    const dcli_tokens *tokens = r->about->tokens;
    if (r->at >= r->end && r->about->param < 0)
        return dcli_token_fail(tokens, r->end,
                               "DCL_OVER: a bound ends too early; an index, a number or a scalar is "
                               "missing here");
    if (r->at >= r->end)
        return dcli_token_fail(tokens, r->end,
                               "subscript %d of %s ends too early; an index, a number or a scalar is "
                               "missing here",
                               r->about->axis + 1, r->about->body->params[r->about->param].name);
    if (dcli_token_is(tokens, r->at, "(")) {
        int close = tokens->token[r->at].partner;
        struct reader inner = {.about = r->about, .at = r->at + 1, .end = close};
        dcl_status status = read_sum(&inner, out);
        r->at = close + 1;
        return status;
    }
    switch (tokens->token[r->at].kind) {
    case DCLI_TOKEN_NUMBER:
        return read_number(r, out);
    case DCLI_TOKEN_NAME:
        return read_name(r, out);
    default:
        return refuse(
            r, r->at,
            "only + - * and parentheses, and min, max, clamp, reflect, symmetric, constant and % around them, are");
    }
}

static dcl_status read_signed(struct reader *r, dcli_affine *out)
{
    bool negative = false;
    int start = r->at;
    for (; r->at < r->end && dcli_token_in(r->about->tokens, r->at, "+ -"); r->at++)
        negative ^= dcli_token_is(r->about->tokens, r->at, "-");
    dcl_status status = read_operand(r, out);
    if (status == DCL_OK && negative && out->boundary != 0)
        return refuse_bounded(r, start);
    const char *why = status == DCL_OK && negative ? negate(out) : NULL;
    return why != NULL ? refuse(r, start, why) : status;
}

static dcl_status read_product(struct reader *r, dcli_affine *out)
{
    dcl_status status = read_signed(r, out);
    while (status == DCL_OK && r->at < r->end && dcli_token_in(r->about->tokens, r->at, "* %")) {
        int sign = r->at++;
        dcli_affine left = *out, right;
        bool wraps = dcli_token_is(r->about->tokens, sign, "%");
        status = read_signed(r, &right);
        if (status == DCL_OK && (left.boundary != 0 || right.boundary != 0))
            return refuse_bounded(r, sign);
        const char *why = status != DCL_OK ? NULL
                          : wraps          ? dcli_boundary_wrap(r->about->body, out, &right)
                                           : multiply(&left, &right, out);
        if (why != NULL)
            status = refuse(r, sign, why);
        else if (status == DCL_OK && out->boundary < 0)
            status = DCL_ERR_NOMEM;
    }
    return status;
}

static dcl_status read_sum(struct reader *r, dcli_affine *out)
{
    dcl_status status = read_product(r, out);
    while (status == DCL_OK && r->at < r->end && dcli_token_in(r->about->tokens, r->at, "+ -")) {
        int sign = r->at++;
        dcli_affine right;
        status = read_product(r, &right);
        if (status == DCL_OK && (out->boundary != 0 || right.boundary != 0))
            return refuse_bounded(r, sign);
        const char *why = NULL;
        if (status == DCL_OK && dcli_token_is(r->about->tokens, sign, "-"))
            why = negate(&right);
        for (int t = 0; status == DCL_OK && why == NULL && t < right.count; t++)
            why = add_term(out, &right.term[t]);
        if (why != NULL)
            status = refuse(r, sign, why);
    }
    if (status == DCL_OK && r->at < r->end)
        status = refuse(
            r, r->at,
            "only + - * and parentheses, and min, max, clamp, reflect, symmetric, constant and % around them, are");
    return status;
}

dcl_status dcli_affine_read(const dcli_affine_reader *reader, int first, int end, dcli_affine *out)
{
    struct reader r = {.about = reader, .at = first, .end = end};
    return read_sum(&r, out);
}

bool dcli_affine_add(dcli_affine *sum, const dcli_affine *other, int64_t factor)
{
    for (int t = 0; t < other->count; t++) {
        dcli_term term = other->term[t];
        if (!dcli_mul(term.factor, factor, &term.factor) || add_term(sum, &term) != NULL)
            return false;
    }
    return true;
}

bool dcli_affine_names(const dcli_affine *a, int param)
{
    for (int t = 0; t < a->count; t++)
        for (int s = 0; s < a->term[t].scalars; s++)
            if (a->term[t].scalar[s] == param)
                return true;
    return false;
}

bool dcli_affine_equal(const dcli_affine *a, const dcli_affine *b)
{
    if (a->count != b->count || a->boundary != b->boundary)
        return false;
    for (int t = 0; t < a->count; t++)
        if (a->term[t].factor != b->term[t].factor || compare_terms(&a->term[t], &b->term[t]) != 0)
            return false;
    return true;
}

int dcli_affine_plain_index(const dcli_affine *a)
{
    bool plain = a->count == 1 && a->boundary == 0 && a->term[0].factor == 1 && a->term[0].scalars == 0 &&
                 a->term[0].index < DCL_MAX_RANK;
    return plain ? a->term[0].index : -1;
}

bool dcli_affine_has_index(const dcli_affine *a)
{
    for (int t = 0; t < a->count; t++)
        if (a->term[t].index >= 0)
            return true;
    return false;
}

bool dcli_affine_uses(const dcli_affine *a, int index)
{
    for (int t = 0; t < a->count; t++)
        if (a->term[t].index == index)
            return true;
    return false;
}

int dcli_affine_unit(const dcli_affine *a, int index)
{
    int unit = 0;
    for (int t = 0; t < a->count; t++)
        if (a->term[t].index == index) {
            int64_t factor = a->term[t].factor;
            if (unit != 0 || (factor != 1 && factor != -1) || a->term[t].scalars != 0)
                return 0;
            unit = (int)factor;
        }
    return unit;
}

bool dcli_affine_has_unit(const dcli_affine *a, int index) { return dcli_affine_unit(a, index) == 1; }

__extension__ typedef __int128 wide;

static const wide WIDEST = (wide)1 << 120;

/* Compute a term's coefficient (factor times scalars) for the values of a call. @return false: it is 2^120 or more;
 * sums of smaller ones cannot overflow 128 bits. */
static bool term_value(const dcli_term *term, const dcli_body *body, const dcli_scalar values[], wide *out)
{
    *out = term->factor;
    for (int s = 0; s < term->scalars; s++) {
        int p = term->scalar[s];
        wide value = body->params[p].type >= DCL_UINT8 ? (wide)values[p].u : (wide)values[p].i;
        if (__builtin_mul_overflow(*out, value, out) || *out > WIDEST || *out < -WIDEST)
            return false;
    }
    return true;
}

/* As dcli_affine_evaluate(), for sums without scalars, which are nearly all of them. @return false: there are scalars, or a partial
 * sum overflows. */
static bool evaluate_plain(const dcli_affine *a, int64_t *constant_out, int64_t coef_of_index_out[])
{
    int64_t constant = 0;
    memset(coef_of_index_out, 0, DCLI_INDEX_NAMES * sizeof coef_of_index_out[0]);
    for (int t = 0; t < a->count; t++) {
        const dcli_term *term = &a->term[t];
        int64_t *sum = term->index < 0 ? &constant : &coef_of_index_out[term->index];
        if (term->scalars > 0 || !dcli_add(*sum, term->factor, sum))
            return false;
    }
    *constant_out = constant;
    return true;
}

bool dcli_affine_evaluate(const dcli_affine *a, const dcli_body *body, const dcli_scalar values[],
                          int64_t *constant_out, int64_t coef_of_index_out[])
{
    if (evaluate_plain(a, constant_out, coef_of_index_out))
        return true;
    wide sum[DCLI_INDEX_NAMES + 1] = {0}; /* sum[0] is the constant, sum[1 + n] the coefficient of index number n */
    for (int t = 0; t < a->count; t++) {
        wide value;
        if (!term_value(&a->term[t], body, values, &value))
            return false;
        sum[a->term[t].index + 1] += value;
    }
    for (int s = 0; s <= DCLI_INDEX_NAMES; s++)
        if (sum[s] > INT64_MAX || sum[s] < INT64_MIN)
            return false;
    *constant_out = (int64_t)sum[0];
    for (int d = 0; d < DCLI_INDEX_NAMES; d++)
        coef_of_index_out[d] = (int64_t)sum[d + 1];
    return true;
}

void dcli_affine_print(const dcli_affine *a, const dcli_body *body, dcli_text *out)
{
    if (a->count == 0)
        dcli_text_put(out, "0L");
    for (int t = 0; t < a->count; t++) {
        const dcli_term *term = &a->term[t];
        const char *joint = t > 0 ? " + " : "";
        if (term->factor == INT64_MIN) /* INT64_MIN cannot be written as one literal in OpenCL C */
            dcli_text_put(out, "%s(%" PRId64 "L - 1)", joint, INT64_MIN + 1);
        else if (term->factor != 1 || (term->index < 0 && term->scalars == 0))
            dcli_text_put(out, term->factor < 0 ? "%s(%" PRId64 "L)" : "%s%" PRId64 "L", joint, term->factor);
        else
            dcli_text_put(out, "%s1L", joint);
        for (int s = 0; s < term->scalars; s++)
            dcli_text_put(out, " * (long)%s", body->params[term->scalar[s]].name);
        if (term->index >= DCL_MAX_RANK) {
            const dcli_tokens *tokens = &body->inside->tokens;
            const dcli_token *name = &tokens->token[body->inside->inner[term->index - DCL_MAX_RANK].name];
            dcli_text_put(out, " * %.*s", name->length, tokens->text + name->start);
        } else if (term->index >= 0) {
            dcli_text_put(out, " * %s", dcli_index_name(term->index));
        }
    }
}

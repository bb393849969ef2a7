/* kernel/bounded.c - find declared reads whose subscripts need no check on a whole line of the innermost axis.
 *
 * A subscript is evaluated in interval arithmetic, by code of the kernel that runs once per line: from the intervals of indices, scalars
 * and variables follows that of the subscript. Where a declaration limits the distance from the innermost index, the same is done for
 * this distance; then the index itself counts as 0, and what is independent of it as the interval of the difference.
 *
 * Nothing may overflow in the kernel's own arithmetic: the code requires that indices and scalars are less than 2^40, and literal
 * factors are at most 1,024, at most one per product. Subexpressions of type int must fit that type. */
#include "kernel/bounded.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/emit.h"
#include "kernel/inner.h"
#include "kernel/inside.h"
#include "kernel/names.h"

enum {
    MOST_NODES = 64,    /* most subexpressions of a subscript */
    MOST_DEPTH = 48,    /* of nested subexpressions */
    MOST_LOOKS = 1024,  /* most searches for declarations in a body, each of which reads all of its text */
    MOST_FACTOR = 1024, /* of a literal factor, or a step */
    NONE = -1           /* instead of a node's number: the interval is unknown */
};

/* The evaluation of a subscript. Node n has the interval dcl_gl<n> to dcl_gh<n> in the code. */
struct reader {
    const dcli_body *body;
    const dcli_tokens *tokens;
    dcli_text code;
    int node, nodes;  /* number of the next node; how many this subscript has */
    int depth, looks; /* how deep read_part() is nested; how often declarations were looked for */
    bool in_product;
    bool wide; /* the subscript has a clamp of something unknown: any distance from the loop's index is possible */
};

/* A subexpression: the tokens [first, end); and whether the innermost index is to be subtracted. */
struct part {
    int first, end;
    bool less;
};

static int read_part(struct reader *r, struct part part);

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

/* Count a new node, the interval of a subexpression. The caller emits its declaration. @return its number; NONE: there are
 * too many. */
static int new_node(struct reader *r)
{
    if (++r->nodes > MOST_NODES)
        return NONE;
    return r->node++;
}

/* Emit a node's interval, given by the expressions of its two ends. @return the node's number. */
static int put_node(struct reader *r, const char *low, const char *high)
{
    int n = new_node(r);
    if (n != NONE)
        dcli_text_put(&r->code, "    const long dcl_gl%d = %s, dcl_gh%d = %s;\n", n, low, n, high);
    return n;
}

/* Begin the node for the difference of node n and the innermost index, if `less`. @return the node, or n. */
static int relate(struct reader *r, int n, bool less)
{
    char low[48], high[48];
    if (n == NONE || !less)
        return n;
    snprintf(low, sizeof low, "dcl_gl%d - dcl_jh", n);
    snprintf(high, sizeof high, "dcl_gh%d - dcl_jl", n);
    return put_node(r, low, high);
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

/* The number of the index whose name is token t; -1: it is none of the body's indices. */
static int index_at(const struct reader *r, int t)
{
    const dcli_token *token = &r->tokens->token[t];
    int index = dcli_name_index(r->tokens->text + token->start, (size_t)token->length);
    return dcli_body_has_index(r->body, index) ? index : -1;
}

static bool is_innermost(const struct reader *r, int t)
{
    return index_at(r, t) >= 0 && index_at(r, t) == r->body->index_of_axis[r->body->space_rank - 1];
}

/* A constant of the loop nest: an outer index or a scalar. */
static int read_constant(struct reader *r, int t, bool less)
{
    const dcli_token *token = &r->tokens->token[t];
    const char *text = r->tokens->text + token->start;
    char name[80];
    snprintf(name, sizeof name, "(long)%.*s", token->length, text);
    if (token->length > 64)
        return NONE;
    bool known = index_at(r, t) >= 0;
    for (int p = 0; p < r->body->param_count && !known; p++)
        known = r->body->params[p].access == DCL_ACCESS_VALUE && r->body->params[p].type <= DCL_INT64 &&
                dcli_token_is(r->tokens, t, r->body->params[p].name);
    if (!known)
        return NONE;
    int n = put_node(r, name, name);
    if (n != NONE)
        dcli_text_put(&r->code, "    dcl_safe &= dcl_gl%d > -(1L << 40) && dcl_gh%d < 1L << 40;\n", n, n);
    return relate(r, n, less);
}

/* Find the declaration of the variable at token t. It must be declared once, before t, as int or long with a value, and
 * be changed only in the header of its loop. @return the token after the name in the declaration; 0: it is not
 * declared; NONE: it is declared in another way. */
static int find_declaration(struct reader *r, int t, int *keyword_out)
{
    const dcli_tokens *tokens = r->tokens;
    int found = 0;
    *keyword_out = NONE;
    if (++r->looks > MOST_LOOKS)
        return NONE;
    for (int d = 1; d < tokens->count && found == 0; d++)
        if (dcli_tokens_equal(tokens, d, t, 1) && dcli_token_in(tokens, d - 1, "int long") &&
            dcli_token_is(tokens, d + 1, "="))
            found = d;
    if (found == 0)
        return dcli_may_change(r->body, t, 0, (int)tokens->count) ? NONE : 0;
    for (int p = 0; p < r->body->param_count; p++) /* where it has which meaning is not known here */
        if (dcli_token_is(tokens, t, r->body->params[p].name))
            return NONE;
    if (index_at(r, t) >= 0)
        return NONE;
    int first = found - 1;
    while (dcli_token_is(tokens, first - 1, "const"))
        first--;
    int after = found + 2;
    if (dcli_token_is(tokens, first - 1, "(") && dcli_token_is(tokens, first - 2, "for")) {
        *keyword_out = first - 2;
        after = tokens->token[first - 1].partner; /* the header is looked at by read_loop() */
    } else if (!dcli_token_in(tokens, first - 1, "; { }") && first > 0) {
        return NONE;
    }
    if (found >= t || dcli_may_change(r->body, t, 0, first) || dcli_may_change(r->body, t, after, (int)tokens->count))
        return NONE;
    return found + 1;
}

/* The end of an expression that begins at token t: the next of these tokens outside of brackets. */
static int expression_end(const dcli_tokens *tokens, int t, const char *ends)
{
    while (t < tokens->count && !dcli_token_in(tokens, t, ends) && !dcli_token_in(tokens, t, ") ] }"))
        t = tokens->token[t].partner > t ? tokens->token[t].partner + 1 : t + 1;
    return t;
}

/* The literal at token t; -1: it is none, or larger than `most`. */
static long read_literal(const dcli_tokens *tokens, int t, long most)
{
    const dcli_token *token = &tokens->token[t];
    const char *text = tokens->text + token->start;
    int digits = 0;
    while (digits < token->length && isdigit((unsigned char)text[digits]))
        digits++;
    bool suffix = digits == token->length - 1 && (text[digits] == 'l' || text[digits] == 'L');
    if (dcli_token_kind_of(tokens, t) != DCLI_TOKEN_NUMBER || digits == 0 || digits > 12 ||
        (digits < token->length && !suffix) || (text[0] == '0' && digits > 1))
        return -1;
    long value = strtol(text, NULL, 10);
    return value <= most ? value : -1;
}

/* Require that a node fits the type int. */
static int require_int(struct reader *r, int n)
{
    if (n != NONE)
        dcli_text_put(&r->code, "    dcl_safe &= dcl_gl%d >= INT_MIN && dcl_gh%d <= INT_MAX;\n", n, n);
    return n;
}

/* The variable of a loop: from the first value to the limit. `at`: the token after its name. */
static int read_loop(struct reader *r, int keyword, int at, bool less)
{
    const dcli_tokens *tokens = r->tokens;
    int name = at - 1, close = tokens->token[keyword + 1].partner, end = expression_end(tokens, at + 1, ";");
    int test = end + 1, second = expression_end(tokens, test, ";"), step = second + 1;
    bool rises = dcli_token_in(tokens, test + 1, "< <=");
    if (!dcli_token_is(tokens, end, ";") || !dcli_token_is(tokens, second, ";") ||
        !dcli_tokens_equal(tokens, test, name, 1) || !dcli_token_in(tokens, test + 1, "< <= > >=") ||
        dcli_may_change(r->body, name, at, second))
        return NONE;
    bool short_step =
        close - step == 2 &&
        ((dcli_tokens_equal(tokens, step, name, 1) && dcli_token_is(tokens, step + 1, rises ? "++" : "--")) ||
         (dcli_tokens_equal(tokens, step + 1, name, 1) && dcli_token_is(tokens, step, rises ? "++" : "--")));
    bool long_step = close - step == 3 && dcli_tokens_equal(tokens, step, name, 1) &&
                     dcli_token_is(tokens, step + 1, rises ? "+=" : "-=") &&
                     read_literal(tokens, step + 2, MOST_FACTOR) > 0;
    if (!short_step && !long_step)
        return NONE;
    int from = read_part(r, (struct part){at + 1, end, less});
    int to = from == NONE ? NONE : read_part(r, (struct part){test + 2, second, less});
    if (to == NONE)
        return NONE;
    char low[48], high[48];
    const char *strict = dcli_token_in(tokens, test + 1, "< >") ? "1" : "0";
    snprintf(low, sizeof low, rises ? "dcl_gl%d" : "dcl_gl%d + %s", rises ? from : to, strict);
    snprintf(high, sizeof high, rises ? "dcl_gh%d - %s" : "dcl_gh%d", rises ? to : from, strict);
    int n = put_node(r, low, high);
    if (n != NONE && !less && dcli_token_is(tokens, name - 1, "int")) /* nor may it wrap after its last value */
        dcli_text_put(&r->code,
                      "    dcl_safe &= dcl_gl%d > -(1L << 30) && dcl_gh%d < 1L << 30 && dcl_gl%d > -(1L << 30) && "
                      "dcl_gh%d < 1L << 30;\n",
                      from, from, to, to);
    return n;
}

/* A name: an index, a scalar or a variable. */
static int read_name(struct reader *r, int t, bool less)
{
    int keyword, at = find_declaration(r, t, &keyword);
    if (at == NONE || dcli_prelude_names(r->body, r->tokens, t))
        return NONE;
    if (at == 0 && is_innermost(r, t))
        return less ? put_node(r, "0", "0") : put_node(r, "dcl_jl", "dcl_jh");
    if (at == 0)
        return read_constant(r, t, less);
    if (keyword != NONE)
        return read_loop(r, keyword, at, less);
    int n = read_part(r, (struct part){at + 1, expression_end(r->tokens, at + 1, "; ,"), less});
    return less || !dcli_token_is(r->tokens, at - 2, "int") ? n : require_int(r, n);
}

/* ---- expressions -------------------------------------------------------------------------------------------------------- */

/* Whether some name in the tokens depends on the innermost index. */
static bool depends(struct reader *r, int first, int end, int depth)
{
    for (int t = first; t < end && depth > 0; t++) {
        int keyword, at = 0;
        if (dcli_token_kind_of(r->tokens, t) != DCLI_TOKEN_NAME || dcli_token_is(r->tokens, t + 1, "("))
            continue;
        if (is_innermost(r, t))
            return true;
        at = find_declaration(r, t, &keyword);
        if (at > 0 && depends(r, at + 1, expression_end(r->tokens, at + 1, "; ,"), depth - 1))
            return true;
    }
    return false;
}

/* The last binary operator outside of brackets that is one of `signs`; NONE: there is none. */
static int last_operator(const dcli_tokens *tokens, int first, int end, const char *signs)
{
    int found = NONE;
    for (int t = first; t < end; t++) {
        bool operand =
            t > first && (dcli_token_kind_of(tokens, t - 1) == DCLI_TOKEN_NAME ||
                          dcli_token_kind_of(tokens, t - 1) == DCLI_TOKEN_NUMBER || dcli_token_is(tokens, t - 1, ")"));
        if (operand && dcli_token_in(tokens, t, signs))
            found = t;
        if (dcli_token_in(tokens, t, "( ["))
            t = tokens->token[t].partner;
    }
    return found;
}

/* Whether an expression is known to be computed in 64 bits: it contains an operand of type long, and no conversion to another type. */
static bool is_long(struct reader *r, int first, int end)
{
    bool found = false;
    for (int t = first; t < end; t++) {
        const dcli_token *token = &r->tokens->token[t];
        const char *text = r->tokens->text + token->start;
        int keyword, at = 0;
        if (dcli_token_is(r->tokens, t, "int"))
            return false;
        found |= dcli_token_is(r->tokens, t, "long");
        found |= token->kind == DCLI_TOKEN_NUMBER && tolower((unsigned char)text[token->length - 1]) == 'l';
        if (token->kind != DCLI_TOKEN_NAME || dcli_token_is(r->tokens, t + 1, "("))
            continue;
        at = find_declaration(r, t, &keyword);
        found |= at > 0 && dcli_token_is(r->tokens, at - 2, "long");
        found |= at == 0 && index_at(r, t) >= 0;
        for (int p = 0; p < r->body->param_count && at == 0; p++)
            found |= r->body->params[p].type == DCL_INT64 && dcli_token_is(r->tokens, t, r->body->params[p].name);
    }
    return found;
}

/* A sum or difference; `sign`: its operator. */
static int read_sum(struct reader *r, struct part part, int sign)
{
    bool minus = dcli_token_is(r->tokens, sign, "-");
    bool first_less = part.less && depends(r, part.first, sign, 8);
    bool second_less = part.less && !first_less && !minus && depends(r, sign + 1, part.end, 8);
    int a = read_part(r, (struct part){part.first, sign, first_less});
    int b = a == NONE ? NONE : read_part(r, (struct part){sign + 1, part.end, second_less});
    char low[64], high[64];
    if (b == NONE)
        return NONE;
    snprintf(low, sizeof low, "dcl_gl%d %c dcl_g%c%d", a, minus ? '-' : '+', minus ? 'h' : 'l', b);
    snprintf(high, sizeof high, "dcl_gh%d %c dcl_g%c%d", a, minus ? '-' : '+', minus ? 'l' : 'h', b);
    int n = put_node(r, low, high);
    if (!part.less)
        return is_long(r, part.first, sign) || is_long(r, sign + 1, part.end) ? n : require_int(r, n);
    return first_less || second_less ? n : relate(r, n, true);
}

/* A product with a literal. */
static int read_product(struct reader *r, struct part part, int sign)
{
    long left = sign == part.first + 1 ? read_literal(r->tokens, part.first, MOST_FACTOR) : -1;
    long right = sign + 2 == part.end ? read_literal(r->tokens, sign + 1, MOST_FACTOR) : -1;
    if (r->in_product || (left < 0 && right < 0))
        return NONE;
    r->in_product = true;
    int a = read_part(r, (struct part){left >= 0 ? sign + 1 : part.first, left >= 0 ? part.end : sign, false});
    r->in_product = false;
    if (a == NONE)
        return NONE;
    char low[64], high[64];
    snprintf(low, sizeof low, "dcl_gl%d * %ld", a, left >= 0 ? left : right);
    snprintf(high, sizeof high, "dcl_gh%d * %ld", a, left >= 0 ? left : right);
    int n = put_node(r, low, high);
    if (!is_long(r, part.first, part.end))
        n = require_int(r, n);
    return relate(r, n, part.less);
}

/* min, max or clamp; the token `open` is its parenthesis. */
static int read_call(struct reader *r, int open, bool less)
{
    const dcli_tokens *tokens = r->tokens;
    int first[3], end[3], node[3] = {NONE, NONE, NONE}, count = dcli_token_split(tokens, open, 3, first, end);
    bool clamp = dcli_token_is(tokens, open - 1, "clamp");
    if (count != (clamp ? 3 : 2) || !dcli_token_in(tokens, open - 1, "min max clamp") ||
        dcli_prelude_names(r->body, tokens, open - 1))
        return NONE;
    for (int k = count - 1; k >= 0; k--) {
        node[k] = read_part(r, (struct part){first[k], end[k], less});
        if (node[k] == NONE && (!clamp || k > 0))
            return NONE;
    }
    char low[128], high[128];
    if (!clamp) {
        const char *call = dcli_token_is(tokens, open - 1, "min") ? "dcl_min" : "dcl_max";
        snprintf(low, sizeof low, "%s(dcl_gl%d, dcl_gl%d)", call, node[0], node[1]);
        snprintf(high, sizeof high, "%s(dcl_gh%d, dcl_gh%d)", call, node[0], node[1]);
        return put_node(r, low, high);
    }
    if (node[0] == NONE) {
        r->wide = true;
        snprintf(low, sizeof low, "dcl_min(dcl_gl%d, dcl_gl%d)", node[1], node[2]);
        snprintf(high, sizeof high, "dcl_max(dcl_gh%d, dcl_gh%d)", node[1], node[2]);
        return put_node(r, low, high);
    }
    snprintf(low, sizeof low, "dcl_min(dcl_max(dcl_gl%d, dcl_gl%d), dcl_gl%d)", node[0], node[1], node[2]);
    snprintf(high, sizeof high, "dcl_min(dcl_max(dcl_gh%d, dcl_gh%d), dcl_gh%d)", node[0], node[1], node[2]);
    if (!less) /* else the result is another */
        dcli_text_put(&r->code, "    dcl_safe &= dcl_gh%d <= dcl_gl%d;\n", node[1], node[2]);
    return put_node(r, low, high);
}

/* As read_part(), at any depth. */
static int read_nested(struct reader *r, struct part part)
{
    const dcli_tokens *tokens = r->tokens;
    int first = part.first, end = part.end;
    if (first >= end || r->nodes > MOST_NODES)
        return NONE;
    int sum = last_operator(tokens, first, end, "+ -");
    if (sum != NONE)
        return read_sum(r, part, sum);
    int product = last_operator(tokens, first, end, "*");
    if (product != NONE)
        return read_product(r, part, product);
    if (dcli_token_is(tokens, first, "-") && !part.less) {
        int a = read_part(r, (struct part){first + 1, end, false});
        char low[48], high[48];
        snprintf(low, sizeof low, "-dcl_gh%d", a);
        snprintf(high, sizeof high, "-dcl_gl%d", a);
        return a == NONE ? NONE : put_node(r, low, high);
    }
    if (dcli_token_is(tokens, first, "-"))
        return relate(r, read_part(r, (struct part){first, end, false}), true);
    if (dcli_token_is(tokens, first, "(") && tokens->token[first].partner == end - 1)
        return read_part(r, (struct part){first + 1, end - 1, part.less});
    if (dcli_token_is(tokens, first, "(") && dcli_token_in(tokens, first + 1, "int long") &&
        dcli_token_is(tokens, first + 2, ")")) {
        int n = read_part(r, (struct part){first + 3, end, part.less});
        return part.less || dcli_token_is(tokens, first + 1, "long") ? n : require_int(r, n);
    }
    if (dcli_token_is(tokens, first + 1, "(") && tokens->token[first + 1].partner == end - 1)
        return read_call(r, first + 1, part.less);
    if (end != first + 1)
        return NONE;
    if (dcli_token_kind_of(tokens, first) == DCLI_TOKEN_NUMBER) {
        char number[32];
        long value = read_literal(tokens, first, 1L << 40);
        snprintf(number, sizeof number, "%ldL", value);
        return value < 0 ? NONE : relate(r, put_node(r, number, number), part.less);
    }
    return dcli_token_kind_of(tokens, first) == DCLI_TOKEN_NAME ? read_name(r, first, part.less) : NONE;
}

/* Evaluate a part. @return its node, NONE: it is unknown. */
static int read_part(struct reader *r, struct part part)
{
    r->depth++; /* limits the recursion: the value of a variable may contain the variable itself */
    int n = r->depth <= MOST_DEPTH ? read_nested(r, part) : NONE;
    r->depth--;
    return n;
}

/* ---- subscripts ------------------------------------------------------------------------------------------------------- */

/* Emit the check of subscript d of access a, the tokens [first, end). @return false: it cannot be checked. */
static bool check_subscript(struct reader *r, int a, int d, int first, int end)
{
    const dcli_reach reach = r->body->access[a].reach;
    int rank = r->body->params[r->body->access[a].param].rank, axis = dcli_declared_axis(r->body, a, d);
    r->nodes = 0;
    r->wide = false;
    int n = read_part(r, (struct part){first, end, false});
    if (n == NONE || (r->wide && axis >= 0) || reach == DCLI_REACH_CROSS)
        return false;
    dcli_text_put(&r->code, "    dcl_safe &= dcl_gl%d >= dcl_k%d_%d && dcl_gh%d - dcl_k%d_%d < dcl_k%d_%d;\n", n, a,
                  1 + d, n, a, 1 + d, a, 1 + rank + d);
    if (axis < 0)
        return true;
    char width[32] = "0";
    if (reach == DCLI_REACH_HALO)
        snprintf(width, sizeof width, "dcl_k%d_%d", a, 1 + 3 * rank + d);
    if (axis < r->body->space_rank - 1) {
        const char *name = dcli_index_name(r->body->index_of_axis[axis]);
        dcli_text_put(&r->code, "    dcl_safe &= dcl_gl%d - %s >= -%s && dcl_gh%d - %s <= %s;\n", n, name, width, n,
                      name, width);
        return true;
    }
    r->nodes = 0;
    n = read_part(r, (struct part){first, end, true});
    if (n != NONE)
        dcli_text_put(&r->code, "    dcl_safe &= dcl_gl%d >= -%s && dcl_gh%d <= %s;\n", n, width, n, width);
    return n != NONE;
}

/* Try to bound subscript d of access a at all of its places. What was emitted is dropped if some place has another. */
static bool bound_axis(struct reader *r, int a, int d)
{
    const struct dcli_body_inside *inside = r->body->inside;
    bool bounded = true;
    for (int64_t p = 0; p < inside->place_count && bounded; p++) {
        int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
        if (inside->place[p].access != a)
            continue;
        int count = dcli_token_split(r->tokens, inside->place[p].name + 1, DCL_MAX_RANK, first, end);
        bounded = count > d && check_subscript(r, a, d, first[d], end[d]);
    }
    return bounded;
}

void dcli_bounded_find(const dcli_body *body, dcli_bounded *bounded_out)
{
    struct reader r = {.body = body, .tokens = &body->inside->tokens};
    dcli_text code = {0};
    *bounded_out = (dcli_bounded){.code = NULL};
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; d < body->params[body->access[a].param].rank && body->access[a].reach != DCLI_REACH_AFFINE;
             d++) {
            r.code = (dcli_text){0};
            bool bounded = bound_axis(&r, a, d);
            char *statements = dcli_text_take(&r.code);
            bounded_out->bounded[a][d] = bounded && statements != NULL;
            if (bounded_out->bounded[a][d])
                dcli_text_put(&code, "%s", statements);
            dcli_free(statements);
        }
    bounded_out->code = dcli_text_take(&code);
    if (bounded_out->code == NULL)
        memset(bounded_out->bounded, 0, sizeof bounded_out->bounded);
}

void dcli_bounded_free(dcli_bounded *found) { dcli_free(found->code); }

/* kernel/inner.c - find inner axes, and generate the code that depends on them.
 *
 * The generated text evaluates the bounds of an inner axis in 64 bits, as the plan does. Evaluated in the user's types,
 * they might wrap around, and the loop would read elements that the plan does not know of. */
#include "kernel/inner.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "kernel/guard.h"
#include "kernel/names.h"
#include "kernel/ranges.h"

enum {
    MOST_UNROLLED = 256 /* most copies of a statement when nested loops are unrolled */
};

/* The types that a loop variable may have, and their limits. */
static const struct {
    const char *name;
    int64_t low, high;
} types[] = {{"int", INT32_MIN, INT32_MAX},
             {"long", INT64_MIN, INT64_MAX},
             {"short", INT16_MIN, INT16_MAX},
             {"uint", 0, UINT32_MAX}};

static int type_at(const dcli_tokens *tokens, int t)
{
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++)
        if (dcli_token_is(tokens, t, types[n].name))
            return (int)n;
    return -1;
}

static bool same_name(const dcli_tokens *tokens, int a, int b)
{
    const dcli_token *x = &tokens->token[a], *y = &tokens->token[b];
    return y->kind == DCLI_TOKEN_NAME && x->length == y->length &&
           memcmp(tokens->text + x->start, tokens->text + y->start, (size_t)x->length) == 0;
}

int dcli_inner_at(const dcli_body *body, int t)
{
    const struct dcli_body_inside *inside = body->inside;
    for (int64_t q = inside->inner_count - 1; q >= 0; q--) /* the innermost loop first */
        if (t >= inside->inner[q].begin && t < inside->inner[q].end &&
            same_name(&inside->tokens, inside->inner[q].name, t))
            return (int)q;
    return -1;
}

/* ---- finding them ------------------------------------------------------------------------------------------------- */

int dcli_statement_end(const dcli_tokens *tokens, int t)
{
    int ifs = 0;
    while (t < tokens->count) {
        if (dcli_token_in(tokens, t, "for while switch if") && dcli_token_is(tokens, t + 1, "(")) {
            ifs += dcli_token_is(tokens, t, "if");
            t = tokens->token[t + 1].partner + 1;
            continue;
        }
        if (dcli_token_is(tokens, t, "do"))
            return -1;
        if (!dcli_token_is(tokens, t, "{"))
            while (t < tokens->count && !dcli_token_is(tokens, t, ";"))
                t = tokens->token[t].partner > t ? tokens->token[t].partner + 1 : t + 1;
        else
            t = tokens->token[t].partner;
        t++;
        if (ifs == 0 || !dcli_token_is(tokens, t, "else"))
            return t;
        ifs--;
        t++;
    }
    return -1;
}

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether a prelude contains a name as a word. */
static bool has_word(const char *prelude, const char *name, int length)
{
    for (const char *at = prelude; (at = memmem(at, strlen(at), name, (size_t)length)) != NULL; at++) {
        const char *end = at + length;
        if ((at == prelude || !is_word_byte(at[-1])) && !is_word_byte(*end))
            return true;
    }
    return false;
}

bool dcli_prelude_names(const dcli_body *body, const dcli_tokens *tokens, int t)
{
    return has_word(body->inside->joined, tokens->text + tokens->token[t].start, tokens->token[t].length);
}

/* Whether a prelude may have # or a backslash in another spelling: %: or a trigraph. */
static bool may_have_digraphs(const char *prelude)
{
    return strstr(prelude, "%:") != NULL || strstr(prelude, "??") != NULL;
}

/* Whether a word of the prelude, maybe an operator such as ++, stands after the variable at token t. */
static bool is_before_macro(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int after = t + 1;
    while (dcli_token_is(tokens, after, ")"))
        after++;
    return dcli_token_kind_of(tokens, after) == DCLI_TOKEN_NAME && dcli_prelude_names(body, tokens, after);
}

/* Whether macros of the prelude may change a variable in the tokens [begin, end): one contains its name, or gets it as an
 * argument, or may form the name, or stands after it. */
static bool may_expand(const dcli_body *body, int name, int begin, int end)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const char *prelude = body->inside->joined;
    const dcli_token *variable = &tokens->token[name];
    if (may_have_digraphs(prelude))
        return true;
    if (strchr(prelude, '#') == NULL)
        return false;
    if (strstr(prelude, "##") != NULL || has_word(prelude, tokens->text + variable->start, variable->length))
        return true;
    for (int t = begin; t < end; t++) {
        const dcli_token *token = &tokens->token[t];
        if (same_name(tokens, name, t) && is_before_macro(body, t))
            return true;
        if (token->kind != DCLI_TOKEN_NAME || !dcli_token_is(tokens, t + 1, "(") ||
            dcli_token_is(tokens, t, "constant") || /* a boundary: the word is a keyword in the prelude */
            !has_word(prelude, tokens->text + token->start, token->length))
            continue;
        for (int inside = t + 2; inside < tokens->token[t + 1].partner; inside++)
            if (same_name(tokens, name, inside))
                return true;
    }
    return false;
}

bool dcli_may_change(const dcli_body *body, int name, int begin, int end)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int t = begin; t < end; t++) {
        if (!same_name(tokens, name, t) || dcli_token_in(tokens, t - 1, ". ->"))
            continue;
        int before = t - 1; /* the token before it and before opening parentheses and stars: a name there declares it */
        while (dcli_token_in(tokens, before, "( *"))
            before--;
        bool declares = before == t - 1 ? dcli_token_kind_of(tokens, before) == DCLI_TOKEN_NAME &&
                                              !dcli_token_in(tokens, before, "return case else do sizeof")
                                        : dcli_name_is_type(tokens->text + tokens->token[before].start,
                                                            (size_t)tokens->token[before].length) &&
                                              dcli_token_is(tokens, t - 1, "*");
        if (declares || dcli_usage_of(tokens, t, t) != DCLI_READS || dcli_takes_address(tokens, t - 1) ||
            (dcli_token_is(tokens, t - 1, "(") && dcli_takes_address(tokens, before)))
            return true;
    }
    return may_expand(body, name, begin, end);
}

/* Parse a bound, the tokens [first, end). @return whether it is a sum of literals and scalars. */
static bool read_bound(const dcli_body *body, int first, int end, dcli_affine *out)
{
    dcli_affine_reader reader = {.tokens = &body->inside->tokens, .body = body};
    if (first >= end || dcli_affine_read(&reader, first, end, out) != DCL_OK) {
        dcli_error_clear();
        return false;
    }
    return !dcli_affine_has_index(out) && out->boundary == 0;
}

/* Parse the step of a loop, the tokens [first, end). @return 0: it has another form. */
static int64_t read_step(const dcli_body *body, int name, int first, int end)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    dcli_affine step;
    if (end - first == 2 && (same_name(tokens, name, first) || same_name(tokens, name, first + 1))) {
        int sign = same_name(tokens, name, first) ? first + 1 : first;
        return dcli_token_is(tokens, sign, "++") ? 1 : dcli_token_is(tokens, sign, "--") ? -1 : 0;
    }
    if (end - first != 3 || !same_name(tokens, name, first) || !dcli_token_in(tokens, first + 1, "+= -=") ||
        tokens->token[first + 2].kind != DCLI_TOKEN_NUMBER || !read_bound(body, first + 2, end, &step) ||
        step.count != 1 || step.term[0].factor > INT16_MAX)
        return 0;
    return dcli_token_is(tokens, first + 1, "+=") ? step.term[0].factor : -step.term[0].factor;
}

/* Whether token t is a decimal literal, of type int or long. */
static bool is_decimal(const dcli_tokens *tokens, int t)
{
    const char *text = tokens->text + tokens->token[t].start;
    int length = tokens->token[t].length;
    return length < 19 && (text[0] != '0' || length == 1) && (int)strspn(text, "0123456789") >= length;
}

/* Whether all operands of a limit's sum are long, int, or are converted to int. Other scalars would make comparisons unsigned. */
static bool has_signed_operands(const dcli_body *body, const dcli_inner_limit *limit)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int t = limit->first; t < limit->end; t++) {
        if (tokens->token[t].kind == DCLI_TOKEN_NUMBER && !is_decimal(tokens, t))
            return false;
        const dcli_param *param = dcli_param_at(body, t);
        if (param != NULL && param->type > DCL_INT64 && param->type != DCL_UINT8 && param->type != DCL_UINT16)
            return false;
        if (param != NULL && !dcli_affine_names(&limit->sum, (int)(param - body->params)))
            return false; /* it cancels out, so plans do not depend on it */
    }
    return true;
}

/* Read the limits at the beginning of a loop's statement, token t: `if (x < E) continue;` and alike, each with `break` or `continue`.
 * A limit whose sum has an unsigned operand is not used: kernels would compare unsigned numbers. The footprint is then larger than what is read. Any other
 * condition may read elements, which do not depend on later limits; so the limits after it are not used. */
static void read_limits(const dcli_body *body, dcli_inner *inner, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    t += dcli_token_is(tokens, t, "{");
    for (int close;
         dcli_token_is(tokens, t, "if") && same_name(tokens, inner->name, t + 2) && dcli_token_in(tokens, t + 3, "< >");
         t = close + 3) {
        dcli_affine_reader reader = {.tokens = tokens, .body = body};
        dcli_inner_limit *limit = &inner->limits[inner->limit_count];
        close = tokens->token[t + 1].partner;
        if (!dcli_token_in(tokens, close + 1, "continue break") || !dcli_token_is(tokens, close + 2, ";") ||
            inner->limit_count == DCLI_INNER_LIMITS)
            return;
        limit->low = dcli_token_is(tokens, t + 3, "<");
        limit->first = t + 4;
        limit->end = close;
        if (dcli_affine_read(&reader, t + 4, close, &limit->sum) != DCL_OK) {
            dcli_error_clear();
            return;
        }
        if (!has_signed_operands(body, limit))
            continue;
        bool of_indices = limit->sum.boundary == 0;
        for (int k = 0; k < limit->sum.count; k++)
            of_indices &= limit->sum.term[k].index < DCL_MAX_RANK;
        inner->limit_count += of_indices;
    }
}

dcl_status dcli_inner_find(const dcli_parser *parser, int keyword, const int semicolon[])
{
    const dcli_tokens *tokens = parser->tokens;
    struct dcli_body_inside *inside = parser->inside;
    int close = tokens->token[keyword + 1].partner, name = keyword + 3, test = semicolon[0] + 1;
    int type = type_at(tokens, keyword + 2), end = dcli_statement_end(tokens, close + 1);
    dcli_inner inner = {.keyword = keyword, .name = name, .begin = keyword, .end = end};
    if (parser->survey || parser->body->along || inside->inner_count == DCLI_MAX_INNER || type < 0 || end < 0 ||
        tokens->token[name].kind != DCLI_TOKEN_NAME || !dcli_token_is(tokens, name + 1, "=") ||
        !same_name(tokens, name, test) || !dcli_token_in(tokens, test + 1, "< <= > >="))
        return DCL_OK;
    bool rises = dcli_token_in(tokens, test + 1, "< <=");
    inner.type = type;
    inner.first_at[0] = name + 2;
    inner.first_at[1] = semicolon[0] - 1;
    inner.limit_at[0] = test + 2;
    inner.limit_at[1] = semicolon[1] - 1;
    inner.inclusive = dcli_token_in(tokens, test + 1, "<= >=");
    inner.step = read_step(parser->body, name, semicolon[1] + 1, close);
    if (inner.step == 0 || (inner.step > 0) != rises ||
        !read_bound(parser->body, name + 2, semicolon[0], &inner.first) ||
        !read_bound(parser->body, test + 2, semicolon[1], &inner.limit) ||
        dcli_may_change(parser->body, name, close + 1, end))
        return DCL_OK;
    /* macros of a prelude could give words another meaning; comparisons with unsigned numbers are unsigned */
    if (parser->body->prelude[0] == '\0' && types[type].low < 0)
        read_limits(parser->body, &inner, close + 1);
    if (dcli_grow(&inside->inner, inside->inner_count, &inside->inner_capacity, sizeof inner) != 0)
        return DCL_ERR_NOMEM;
    inside->inner[inside->inner_count++] = inner;
    return DCL_OK;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------- */

__extension__ typedef __int128 wide;

/* The length of an inner axis for its bounds. @return false: the variable's type does not contain all values that it
 * takes, including that after the last. */
static bool length_of(const dcli_inner *inner, int64_t first, int64_t limit, int64_t *count_out)
{
    wide span = inner->step > 0 ? (wide)limit - first : (wide)first - limit, step = llabs(inner->step);
    span += inner->inclusive;
    wide count = span > 0 ? (span + step - 1) / step : 0, end = first + count * inner->step;
    *count_out = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    return first >= types[inner->type].low && first <= types[inner->type].high && end >= types[inner->type].low &&
           end <= types[inner->type].high;
}

dcl_status dcli_inner_range(const dcli_body *body, int q, const dcli_scalar values[], int64_t *first_out,
                            int64_t *count_out)
{
    const dcli_inner *inner = &body->inside->inner[q];
    const dcli_tokens *tokens = &body->inside->tokens;
    int64_t limit, none[DCLI_INDEX_NAMES];
    if (!dcli_affine_evaluate(&inner->first, body, values, first_out, none) ||
        !dcli_affine_evaluate(&inner->limit, body, values, &limit, none))
        return dcli_token_fail(tokens, inner->name,
                               "the bounds of this loop overflow 64 bits with the scalars of this call; pass smaller "
                               "ones");
    if (!length_of(inner, *first_out, limit, count_out))
        return dcli_token_fail(tokens, inner->name,
                               "the variable of this loop runs from %" PRId64 " up to the limit %" PRId64
                               " with the scalars of this call, which %s does not contain; use long, or pass other "
                               "scalars",
                               *first_out, limit, types[inner->type].name);
    return DCL_OK;
}

/* Find the least and the greatest value of a sum for the indices of a box. @return false: it may exceed 62 bits. */
static bool find_values(const dcli_body *body, const dcli_affine *sum, const dcli_scalar values[], const dcl_box *box,
                        wide *low_out, wide *high_out)
{
    enum { BITS = 62 };
    int64_t constant, coef[DCLI_INDEX_NAMES];
    if (!dcli_affine_evaluate(sum, body, values, &constant, coef))
        return false;
    *low_out = *high_out = constant;
    for (int m = 0; m < body->space_rank; m++) {
        int64_t by = coef[body->index_of_axis[m]], first = box->start[m];
        wide last = first + ((wide)box->count[m] - 1) * box->stride[m], a = (wide)by * first, b;
        if (box->count[m] < 1 || __builtin_mul_overflow((wide)by, last, &b))
            return false;
        *low_out += a < b ? a : b;
        *high_out += a > b ? a : b;
        if (*low_out < -((wide)1 << BITS) || *high_out > (wide)1 << BITS)
            return false;
    }
    return true;
}

/* Whether a limit has the same value in kernels as in plans, which compute with 64 bits. Kernels compute with int as long as no operand is
 * long, so the operands of type int, literals among them, must be too small for an overflow. */
static bool is_computed_alike(const dcli_body *body, const dcli_inner_limit *limit, const dcli_scalar values[])
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int literals = 0, scalars = 0;
    int64_t largest = 2; /* so that sums of operands are no larger than products of as many */
    bool multiplies = false;
    for (int t = limit->first; t < limit->end; t++) {
        const dcli_param *param = dcli_param_at(body, t);
        int64_t value = 0;
        if (tokens->token[t].kind == DCLI_TOKEN_NUMBER) {
            value = strtoll(tokens->text + tokens->token[t].start, NULL, 10);
            literals++;
        } else if (param != NULL && param->type != DCL_INT64) {
            const dcli_scalar *scalar = &values[param - body->params];
            value = param->type < DCL_INT64 ? llabs(scalar->i) : (int64_t)scalar->u;
            scalars++;
        }
        largest = dcli_max(largest, value);
        multiplies |= dcli_token_is(tokens, t, "*");
    }
    wide bound = multiplies ? 1 : (wide)largest * (literals + scalars);
    for (int n = 0; multiplies && n < literals + scalars && bound <= INT32_MAX; n++)
        bound *= largest;
    return (literals <= 1 && scalars == 0) || bound <= INT32_MAX;
}

void dcli_inner_narrow(const dcli_body *body, int a, const dcli_scalar values[], const dcl_box *box, int64_t begin[],
                       int64_t count[])
{
    for (int k = 0; k < body->inside->access_inner_count[a]; k++) {
        const dcli_inner *inner = &body->inside->inner[body->inside->access_inner[a][k]];
        int64_t first, length;
        wide low, high;
        if (inner->limit_count == 0 ||
            dcli_inner_range(body, body->inside->access_inner[a][k], values, &first, &length) != DCL_OK)
            continue; /* it was checked before planning */
        wide least = begin[k], most = least + count[k] - 1, step = llabs(inner->step);
        for (int n = 0; n < inner->limit_count; n++) {
            if (!is_computed_alike(body, &inner->limits[n], values) ||
                !find_values(body, &inner->limits[n].sum, values, box, &low, &high))
                continue;
            /* how far the first value of the variable is before the limit, in the direction of the loop */
            wide before = (inner->limits[n].low ? low - first : high - first) * (inner->step > 0 ? 1 : -1);
            wide floor = before / step - (before % step < 0);
            if (inner->limits[n].low == (inner->step > 0)) {
                wide ceiling = floor + (before % step != 0);
                least = least > ceiling ? least : ceiling;
            } else {
                most = most < floor ? most : floor;
            }
        }
        begin[k] = least <= most ? (int64_t)least : begin[k];
        count[k] = least <= most ? (int64_t)(most - least + 1) : 0;
    }
}

bool dcli_inner_has_limits(const dcli_body *body, int a)
{
    for (int k = 0; k < body->inside->access_inner_count[a]; k++)
        if (body->inside->inner[body->inside->access_inner[a][k]].limit_count > 0)
            return true;
    return false;
}

int dcli_inner_unit(const dcli_body *body, int a, int k)
{
    const dcli_param *param = &body->params[body->access[a].param];
    int q = body->inside->access_inner[a][k], unit = param->rank - 1 - param->turned;
    if (body->access[a].unit_axis < 0 || body->inside->inner[q].step != 1)
        return 0;
    for (int d = 0; d < param->rank; d++)
        if (d != unit && dcli_affine_uses(dcli_inside_subscript(body, a, d), DCL_MAX_RANK + q))
            return 0;
    return dcli_affine_unit(dcli_inside_subscript(body, a, unit), DCL_MAX_RANK + q);
}

/* ---- generated text ----------------------------------------------------------------------------------------------- */

static bool is_used(const dcli_body *body, int q)
{
    for (int a = 0; a < body->access_count; a++)
        for (int k = 0; k < body->inside->access_inner_count[a]; k++)
            if (body->inside->access_inner[a][k] == q)
                return true;
    return false;
}

/* The length of an inner axis whose bounds are literals; MOST_UNROLLED + 1 if it is longer, or depends on scalars. */
static int64_t known_length(const dcli_inner *inner)
{
    int64_t first = inner->first.count > 0 ? inner->first.term[0].factor : 0, count;
    int64_t limit = inner->limit.count > 0 ? inner->limit.term[0].factor : 0;
    bool known = inner->first.count + inner->limit.count == 0;
    known |= inner->first.count <= 1 && inner->limit.count <= 1;
    known = known && (inner->first.count == 0 || inner->first.term[0].scalars == 0) &&
            (inner->limit.count == 0 || inner->limit.term[0].scalars == 0);
    return known && length_of(inner, first, limit, &count) && count <= MOST_UNROLLED ? count : MOST_UNROLLED + 1;
}

/* Copies of a statement of a loop when it and the loops around it are unrolled; above MOST_UNROLLED: too many, or unknown. */
static int64_t copies_of(const dcli_body *body, int q)
{
    const dcli_inner *inner = body->inside->inner;
    int64_t copies = 1;
    for (int other = 0; other <= q; other++)
        if (inner[other].begin <= inner[q].begin && inner[other].end >= inner[q].end && copies <= MOST_UNROLLED)
            copies *= known_length(&inner[other]);
    return copies;
}

/* Whether a loop is unrolled: a compiler vectorizes the innermost loop only, and that is to be the one over elements. */
static bool is_unrolled(const dcli_body *body, int q) { return copies_of(body, q) <= MOST_UNROLLED; }

int64_t dcli_inner_copies(const dcli_body *body, int q)
{
    return is_used(body, q) && is_unrolled(body, q) ? copies_of(body, q) : INT64_MAX;
}

bool dcli_inner_unrolls(const dcli_body *body)
{
    for (int q = 0; q < body->inside->inner_count; q++)
        if (is_used(body, q) && is_unrolled(body, q))
            return true;
    return false;
}

static int compare_edits(const void *a, const void *b)
{
    const dcli_edit *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->last > y->last) - (x->last < y->last);
}

static dcl_status add_edit(struct dcli_body_inside *inside, const dcli_edit *edit)
{
    if (dcli_grow(&inside->edit, inside->edit_count, &inside->edit_capacity, sizeof *inside->edit) != 0)
        return DCL_ERR_NOMEM;
    inside->edit[inside->edit_count++] = *edit;
    return DCL_OK;
}

dcl_status dcli_inner_edit(dcli_body *body)
{
    struct dcli_body_inside *inside = body->inside;
    dcl_status status = DCL_OK;
    for (int q = 0; q < inside->inner_count && status == DCL_OK; q++) {
        const dcli_inner *inner = &inside->inner[q];
        if (!is_used(body, q))
            continue;
        dcli_edit first = {.first = inner->first_at[0], .last = inner->first_at[1]};
        dcli_edit limit = {.first = inner->limit_at[0], .last = inner->limit_at[1]};
        dcli_edit hint = {.first = inner->keyword, .last = inner->keyword - 1, .text = "DCL_UNROLL "};
        bool hinted = inner->keyword > 0 && dcli_token_is(&inside->tokens, inner->keyword - 1, ")") &&
                      dcli_token_in(&inside->tokens, inside->tokens.token[inner->keyword - 1].partner - 1,
                                    "__attribute__ __attribute _Pragma");
        snprintf(first.text, sizeof first.text, "dcl_first%d", q);
        snprintf(limit.text, sizeof limit.text, "dcl_limit%d", q);
        if (is_unrolled(body, q) && !hinted)
            status = add_edit(inside, &hint);
        if (status == DCL_OK)
            status = add_edit(inside, &first);
        if (status == DCL_OK)
            status = add_edit(inside, &limit);
    }
    if (inside->edit_count > 0)
        qsort(inside->edit, (size_t)inside->edit_count, sizeof *inside->edit, compare_edits);
    return status;
}

void dcli_emit_inner_bounds(dcli_text *out, const dcli_body *body)
{
    for (int q = 0; q < body->inside->inner_count; q++) {
        if (!is_used(body, q))
            continue;
        dcli_text_put(out, "#undef dcl_first%d\n#undef dcl_limit%d\n#define dcl_first%d (", q, q, q);
        dcli_affine_print(&body->inside->inner[q].first, body, out);
        dcli_text_put(out, ")\n#define dcl_limit%d (", q);
        dcli_affine_print(&body->inside->inner[q].limit, body, out);
        dcli_text_put(out, ")\n");
    }
}

void dcli_emit_inner_counter(dcli_text *out, const dcli_body *body, int q)
{
    const dcli_inner *inner = &body->inside->inner[q];
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_token *name = &tokens->token[inner->name];
    const char *text = tokens->text + name->start;
    if (inner->step > 0)
        dcli_text_put(out, "((long)%.*s - dcl_first%d)", name->length, text, q);
    else
        dcli_text_put(out, "(dcl_first%d - (long)%.*s)", q, name->length, text);
    if (llabs(inner->step) != 1)
        dcli_text_put(out, " / %lld", llabs(inner->step));
}

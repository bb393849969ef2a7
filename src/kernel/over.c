/* kernel/over.c - parse DCL_OVER.
 *
 * Each range LOW <= index <= HIGH becomes conditions that a sum is not negative: index - LOW and HIGH - index. */
#include "kernel/over.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/names.h"
#include "kernel/ranges.h"

/* Fail at token t of the text of DCL_OVER. */
#define FAIL_AT(inside, t, ...) dcli_token_fail(&(inside)->over.tokens, (t), "DCL_OVER: " __VA_ARGS__)

static dcl_status add_bound(struct dcli_body_inside *inside, const dcli_affine *sum, int index, int t)
{
    dcli_over *over = &inside->over;
    if (over->count == DCLI_MAX_CONDITIONS)
        return FAIL_AT(inside, t, "more than %d bounds; expected fewer arguments of max() and min()",
                       DCLI_MAX_CONDITIONS);
    if (dcli_grow(&over->bound, over->count, &over->capacity, sizeof *over->bound) != 0)
        return DCL_ERR_NOMEM;
    over->bound[over->count++] = (dcli_bound){.sum = *sum, .index = index, .token = t};
    return DCL_OK;
}

/* Parse one bound of an index, the tokens [first, end). @param lower  it is a lower bound. @param strict  the index does not
 * take its value. */
static dcl_status read_bound(dcli_body *body, int first, int end, int index, bool lower, bool strict)
{
    struct dcli_body_inside *inside = body->inside;
    dcli_affine_reader reader = {.tokens = &inside->over.tokens, .body = body, .param = -1};
    dcli_affine sum = {.count = 1, .term = {{.factor = lower ? 1 : -1, .index = index}}}, bound;
    dcl_status status = dcli_affine_read(&reader, first, end, &bound);
    if (status != DCL_OK)
        return status;
    if (bound.boundary != 0)
        return FAIL_AT(inside, first,
                       "this bound of %s contains min, max, clamp or %%; expected max(...) as the whole lower bound, "
                       "or min(...) as the whole upper bound",
                       dcli_index_name(index));
    if (dcli_affine_uses(&bound, index))
        return FAIL_AT(inside, first,
                       "a bound of %s contains %s; expected a bound of other indices, integers and "
                       "integer DCL_VALUEs",
                       dcli_index_name(index), dcli_index_name(index));
    dcli_affine one = {.count = 1, .term = {{.factor = 1, .index = -1}}};
    if (!dcli_affine_add(&sum, &bound, lower ? -1 : 1) || (strict && !dcli_affine_add(&sum, &one, -1)))
        return FAIL_AT(inside, first,
                       "this bound of %s is too long, or its coefficients overflow 64 bits; expected a "
                       "simpler one",
                       dcli_index_name(index));
    return add_bound(inside, &sum, index, first);
}

/* Parse the lower or upper side of a range: a bound, or max(...) of lower bounds, or min(...) of upper bounds. */
static dcl_status read_side(dcli_body *body, int first, int end, int index, bool lower, bool strict)
{
    const dcli_tokens *tokens = &body->inside->over.tokens;
    const char *choice = lower ? "max" : "min";
    if (!dcli_token_is(tokens, first, choice) || !dcli_token_is(tokens, first + 1, "(") ||
        tokens->token[first + 1].partner != end - 1)
        return read_bound(body, first, end, index, lower, strict);
    int begin[DCLI_MAX_CONDITIONS], behind[DCLI_MAX_CONDITIONS];
    int count = dcli_token_split(tokens, first + 1, DCLI_MAX_CONDITIONS, begin, behind);
    if (count < 1 || count > DCLI_MAX_CONDITIONS)
        return FAIL_AT(body->inside, first, "%s() has %d arguments; expected 1..%d", choice, count,
                       DCLI_MAX_CONDITIONS);
    dcl_status status = DCL_OK;
    for (int n = 0; n < count && status == DCL_OK; n++)
        status = read_bound(body, begin[n], behind[n], index, lower, strict);
    return status;
}

/* The first token from t on, outside of brackets, that has one of these spellings; `end`: none. */
static int find_token(const dcli_tokens *tokens, int t, int end, const char *spellings)
{
    while (t < end && !dcli_token_in(tokens, t, spellings))
        t = tokens->token[t].partner > t ? tokens->token[t].partner : t + 1;
    return t < end ? t : end;
}

static dcl_status refuse_form(const dcli_body *body, int t)
{
    return FAIL_AT(body->inside, t,
                   "expected ranges LOW <= index <= HIGH, with < or <=, separated by commas, such as "
                   "\"0 <= j <= i, 0 <= k < n\"");
}

/* Parse a range, the tokens [first, end). */
static dcl_status read_range(dcli_body *body, int first, int end)
{
    static const char *const tests = "< <= > >= == !=";
    const dcli_tokens *tokens = &body->inside->over.tokens;
    int left = find_token(tokens, first, end, tests), right = find_token(tokens, left + 1, end, tests);
    int extra = find_token(tokens, right + 1, end, tests);
    if (left >= end || right >= end || extra < end || !dcli_token_in(tokens, left, "< <=") ||
        !dcli_token_in(tokens, right, "< <=") || right != left + 2)
        return refuse_form(body, extra < end ? extra : first);
    const dcli_token *name = &tokens->token[left + 1];
    int index = dcli_name_index(tokens->text + name->start, (size_t)name->length);
    if (!dcli_body_has_index(body, index))
        return FAIL_AT(body->inside, left + 1,
                       "%.*s is no index of the body: no subscript contains it; expected one of "
                       "the indices i, j, ... of the subscripts",
                       name->length, tokens->text + name->start);
    if (dcli_over_has(body, index))
        return FAIL_AT(body->inside, left + 1,
                       "%s has a range already; expected one for each index; several bounds are "
                       "written max(...) <= %s <= min(...)",
                       dcli_index_name(index), dcli_index_name(index));
    dcl_status status = read_side(body, first, left, index, true, dcli_token_is(tokens, left, "<"));
    return status == DCL_OK ? read_side(body, right + 1, end, index, false, dcli_token_is(tokens, right, "<")) : status;
}

bool dcli_bound_is_slanted(const dcli_bound *bound)
{
    for (int t = 0; t < bound->sum.count; t++)
        if (bound->sum.term[t].index >= 0 && bound->sum.term[t].index != bound->index)
            return true;
    return false;
}

dcl_status dcli_over_read(dcli_body *body)
{
    struct dcli_body_inside *inside = body->inside;
    dcl_status status = dcli_tokens_make(body->over, &inside->over.tokens);
    const dcli_tokens *tokens = &inside->over.tokens;
    for (int first = 0; status == DCL_OK;) {
        int end = find_token(tokens, first, (int)tokens->count, ",");
        status = first < end ? read_range(body, first, end) : refuse_form(body, first);
        if (end == tokens->count)
            break;
        first = end + 1;
    }
    for (int b = 0; b < inside->over.count; b++)
        body->slanted |= dcli_bound_is_slanted(&inside->over.bound[b]);
    return status;
}

void dcli_over_free(struct dcli_body_inside *inside)
{
    dcli_tokens_free(&inside->over.tokens);
    dcli_free(inside->over.bound);
}

bool dcli_over_has(const dcli_body *body, int index)
{
    for (int b = 0; b < body->inside->over.count; b++)
        if (body->inside->over.bound[b].index == index)
            return true;
    return false;
}

bool dcli_over_is_partial(const dcli_body *body)
{
    for (int b = 0; b < body->inside->over.count; b++) {
        const dcli_bound *bound = &body->inside->over.bound[b];
        unsigned indices = 0;
        for (int t = 0; t < bound->sum.count; t++)
            indices |= bound->sum.term[t].index >= 0 ? 1U << bound->sum.term[t].index : 0;
        bool kept = dcli_bound_is_slanted(bound);
        for (int m = body->space_rank; m < body->space_rank + body->inner_rank; m++)
            kept = kept && (indices >> body->index_of_axis[m] & 1) == 0;
        if (kept)
            return true;
    }
    return false;
}

bool dcli_over_uses(const dcli_body *body, int k)
{
    for (int b = 0; b < body->inside->over.count; b++)
        if (dcli_affine_names(&body->inside->over.bound[b].sum, k))
            return true;
    return false;
}

/* ---- the values of a call ---------------------------------------------------------------------------------------- */

dcl_status dcli_over_conditions(const dcli_body *body, const dcli_scalar values[], dcli_condition out[], int *count_out)
{
    const dcli_over *over = &body->inside->over;
    for (int b = 0; b < over->count; b++) {
        int64_t coef[DCLI_INDEX_NAMES];
        if (!dcli_affine_evaluate(&over->bound[b].sum, body, values, &out[b].constant, coef))
            return FAIL_AT(body->inside, over->bound[b].token,
                           "this bound of %s overflows 64 bits with the scalars of this call; pass smaller ones",
                           dcli_index_name(over->bound[b].index));
        for (int m = 0; m < DCL_MAX_RANK; m++)
            out[b].coef[m] = m < body->space_rank + body->inner_rank ? coef[body->index_of_axis[m]] : 0;
    }
    *count_out = (int)over->count;
    return DCL_OK;
}

/* The first bound of the index of axis m. */
static const dcli_bound *bound_of(const dcli_body *body, int m)
{
    const dcli_bound *bound = body->inside->over.bound;
    while (bound->index != body->index_of_axis[m])
        bound++;
    return bound;
}

static bool is_given(const dcli_body *body, int m) { return dcli_over_has(body, body->index_of_axis[m]); }

/* Complete a span that conditions have narrowed by the range of the array's axes, and check that it lies in it. */
static dcl_status close_span(const dcli_body *body, int m, const dcli_span *axis, dcli_span *span)
{
    if (span->low <= -DCLI_UNBOUNDED)
        span->low = axis->low;
    if (span->high >= DCLI_UNBOUNDED)
        span->high = axis->high;
    const char *name = dcli_index_name(body->index_of_axis[m]);
    int t = bound_of(body, m)->token;
    if (span->low <= -DCLI_UNBOUNDED || span->high >= DCLI_UNBOUNDED)
        return FAIL_AT(body->inside, t,
                       "the range of %s is unknown, as its bounds depend on each other; expected bounds "
                       "by integers, DCL_VALUEs and indices that have a range",
                       name);
    if (span->low >= axis->low && span->high <= axis->high)
        return DCL_OK;
    return FAIL_AT(body->inside, t,
                   "%s runs over %" PRId64 "..%" PRId64 "; expected a range within %" PRId64 "..%" PRId64
                   ", as %s stands alone in the subscript of an axis with these indices; narrow it, for example with "
                   "max(%" PRId64 ", ...) <= %s <= min(%" PRId64 ", ...)",
                   name, dcli_wide_clip(span->low), dcli_wide_clip(span->high), dcli_wide_clip(axis->low),
                   dcli_wide_clip(axis->high), name, dcli_wide_clip(axis->low), name, dcli_wide_clip(axis->high));
}

/* Whether a condition depends on axes before `rank` only. */
static bool is_within(const dcli_condition *condition, int rank)
{
    for (int m = rank; m < DCL_MAX_RANK; m++)
        if (condition->coef[m] != 0)
            return false;
    return true;
}

/* Check that the sums of the conditions on axes before `rank` fit 64 bits, also in kernels. */
static dcl_status check_sums(const dcli_body *body, int count, const dcli_condition conditions[], int rank,
                             const dcli_span span[])
{
    for (int c = 0; c < count; c++)
        if (is_within(&conditions[c], rank) && !dcli_condition_fits(&conditions[c], rank, span))
            return FAIL_AT(body->inside, body->inside->over.bound[c].token,
                           "this bound of %s does not fit 64 bits for some index; expected smaller coefficients",
                           dcli_index_name(body->inside->over.bound[c].index));
    return DCL_OK;
}

static bool any_empty(int rank, const dcli_span span[])
{
    for (int m = 0; m < rank; m++)
        if (dcli_span_is_empty(&span[m]))
            return true;
    return false;
}

static dcli_span span_of(int64_t start, int64_t count) { return (dcli_span){start, start + (dcli_wide)count - 1}; }

dcl_status dcli_over_box(const dcli_body *body, const dcli_scalar values[], const dcl_grid *grid, dcl_box *box_out)
{
    dcli_condition conditions[DCLI_MAX_CONDITIONS];
    dcli_span span[DCL_MAX_RANK];
    int rank = body->space_rank, count;
    dcl_status status = dcli_over_conditions(body, values, conditions, &count);
    if (status != DCL_OK)
        return status;
    *box_out = dcl_box_of(grid);
    for (int m = 0; m < rank; m++)
        span[m] = is_given(body, m) ? dcli_span_unbounded() : span_of(grid->origin[m], grid->extent[m]);
    dcli_conditions_narrow(count, conditions, rank, 0, span);
    for (int m = 0; m < rank && status == DCL_OK && !any_empty(rank, span); m++) {
        dcli_span axis = span_of(grid->origin[m], grid->extent[m]);
        status = is_given(body, m) ? close_span(body, m, &axis, &span[m]) : DCL_OK;
    }
    bool empty = any_empty(rank, span);
    for (int m = 0; m < rank && status == DCL_OK; m++) {
        box_out->start[m] = empty ? grid->origin[m] : (int64_t)span[m].low;
        box_out->count[m] = empty ? 0 : (int64_t)(span[m].high - span[m].low + 1);
    }
    return status == DCL_OK && !empty ? check_sums(body, count, conditions, rank, span) : status;
}

dcl_status dcli_over_inner(const dcli_body *body, const dcli_scalar values[], const dcl_box *box, int64_t start[],
                           int64_t count[])
{
    dcli_condition conditions[DCLI_MAX_CONDITIONS];
    dcli_span span[DCL_MAX_RANK];
    int rank = body->space_rank, all = rank + body->inner_rank, number;
    dcl_status status = dcli_over_conditions(body, values, conditions, &number);
    if (status != DCL_OK)
        return status;
    for (int m = 0; m < rank; m++)
        span[m] = (dcli_span){box->start[m], dcli_run_last(box->start[m], box->count[m], box->stride[m])};
    bool empty = any_empty(rank, span);
    for (int m = rank; m < all; m++)
        span[m] = is_given(body, m) ? dcli_span_unbounded() : span_of(start[m - rank], count[m - rank]);
    if (!empty)
        dcli_conditions_narrow(number, conditions, all, rank, span);
    empty = any_empty(all, span);
    for (int m = rank; m < all && status == DCL_OK && !empty; m++) {
        bool known = count[m - rank] >= 0;
        dcli_span axis = known ? span_of(start[m - rank], count[m - rank]) : dcli_span_unbounded();
        status = is_given(body, m) ? close_span(body, m, &axis, &span[m]) : DCL_OK;
    }
    for (int m = rank; m < all && status == DCL_OK; m++) {
        start[m - rank] = empty ? 0 : (int64_t)span[m].low;
        count[m - rank] = empty ? 0 : (int64_t)(span[m].high - span[m].low + 1);
    }
    return status == DCL_OK && !empty ? check_sums(body, number, conditions, all, span) : status;
}

void dcli_over_narrow(const dcli_body *body, const dcli_scalar values[], const dcl_box *box, int64_t start[],
                      int64_t count[])
{
    dcli_condition conditions[DCLI_MAX_CONDITIONS];
    dcli_span span[DCL_MAX_RANK];
    int rank = body->space_rank, all = rank + body->inner_rank, number;
    if (dcli_over_conditions(body, values, conditions, &number) != DCL_OK)
        return; /* it was checked before planning */
    for (int m = 0; m < rank; m++)
        span[m] = (dcli_span){box->start[m], dcli_run_last(box->start[m], box->count[m], box->stride[m])};
    for (int m = rank; m < all; m++)
        span[m] = span_of(start[m - rank], count[m - rank]);
    if (any_empty(all, span))
        return;
    dcli_conditions_narrow(number, conditions, all, rank, span);
    for (int m = rank; m < all; m++) {
        bool empty = dcli_span_is_empty(&span[m]);
        start[m - rank] = empty ? start[m - rank] : (int64_t)span[m].low;
        count[m - rank] = empty ? 0 : (int64_t)(span[m].high - span[m].low + 1);
    }
}

bool dcli_over_cut(const dcli_body *body, const dcli_scalar values[], dcl_box *box)
{
    dcli_condition conditions[DCLI_MAX_CONDITIONS];
    int count;
    return !body->slanted || dcli_over_conditions(body, values, conditions, &count) != DCL_OK ||
           dcli_conditions_cut(count, conditions, box);
}

/* kernel/along.c - reductions along axes: which indices are reduced, and which bodies are contractions.
 *
 * The indices of the first output are kept, and its owners compute. All others are inner axes: every element of the outputs is
 * reduced over all of their combinations, in the order of the indices' names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kernel/inside.h"
#include "kernel/names.h"
#include "kernel/parser.h"

/* ---- indices ------------------------------------------------------------------------------------------------------- */

static const char *name_of(const dcli_body *body, int a) { return body->params[body->access[a].param].name; }

static int rank_of(const dcli_body *body, int a) { return body->params[body->access[a].param].rank; }

/* The indices of an output: a set. */
static unsigned kept_by(const dcli_body *body, int a)
{
    unsigned kept = 0;
    for (int d = 0; d < rank_of(body, a); d++)
        kept |= 1U << dcli_affine_plain_index(dcli_inside_subscript(body, a, d));
    return kept;
}

static int lowest(unsigned indices) { return __builtin_ctz(indices); }

static dcl_status check_results(const dcli_body *body)
{
    unsigned kept = 0;
    for (int r = 0; r < body->result_count; r++) {
        const dcli_param *param = &body->params[body->result[r].param];
        if (!body->result[r].used)
            return DCLI_FAIL(
                DCL_ERR_BODY,
                "%s is %s, but the body does not reduce into it; write %s(i, ...) += ...;, or declare DCL_IN(%s)",
                param->name, dcli_access_name(param->access), param->name, param->name);
        unsigned own = kept_by(body, body->result[r].access);
        if (r > 0 && own != kept)
            return dcli_token_fail(
                &body->inside->tokens, dcli_inside_first_token(body, body->result[r].access),
                "%s has index %s, and the first output %s has not; expected the same indices for all "
                "outputs; reduce into %s with a call of its own",
                param->name, dcli_index_name(lowest(own & ~kept)), name_of(body, body->home), param->name);
        kept = own;
    }
    return DCL_OK;
}

/* Whether an index stands alone in a subscript of an input. */
static bool has_range(const dcli_body *body, int index)
{
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; d < rank_of(body, a) && body->access[a].reach == DCLI_REACH_AFFINE; d++)
            if (dcli_affine_plain_index(dcli_inside_subscript(body, a, d)) == index)
                return true;
    return false;
}

static dcl_status find_inner(dcli_body *body)
{
    unsigned inner = body->indices & ~kept_by(body, body->home);
    if (inner == 0)
        return DCLI_FAIL(
            DCL_ERR_BODY,
            "%s has all indices of the body, so that nothing is reduced; expected an index that %s does not "
            "have; combine elements with dcl_forall()",
            name_of(body, body->home), name_of(body, body->home));
    for (int n = 0; n < DCL_MAX_RANK; n++) {
        if ((inner >> n & 1) == 0)
            continue;
        if (!has_range(body, n) && !dcli_over_has(body, n))
            return DCLI_FAIL(
                DCL_ERR_BODY,
                "the range of index %s is unknown, because it stands alone in no subscript; expected it alone "
                "in a subscript of a DCL_IN, such as A(%s), or in DCL_OVER(\"0 <= %s < n\")",
                dcli_index_name(n), dcli_index_name(n), dcli_index_name(n));
        body->index_of_axis[body->space_rank + body->inner_rank++] = n;
    }
    return DCL_OK;
}

/* ---- contractions --------------------------------------------------------------------------------------------------- */

/* The access of the place at a name; -1: there is none. */
static int access_at(const dcli_body *body, int t)
{
    const struct dcli_body_inside *inside = body->inside;
    for (int64_t p = 0; p < inside->place_count; p++)
        if (inside->place[p].name == t)
            return inside->place[p].access;
    return -1;
}

static bool is_value(const dcli_body *body, int t)
{
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE && dcli_token_is(&body->inside->tokens, t, body->params[p].name))
            return true;
    return false;
}

/* Whether an input is a factor of a contraction: of the output's type, with an index of it. */
static bool is_factor(const dcli_body *body, int a)
{
    unsigned kept = kept_by(body, body->home);
    if (body->access[a].reach != DCLI_REACH_AFFINE || body->access[a].written ||
        body->params[body->access[a].param].type != body->params[body->owner].type)
        return false;
    for (int n = 0; n < DCL_MAX_RANK; n++)
        for (int d = 0; d < rank_of(body, a) && (kept >> n & 1) != 0; d++)
            if (dcli_affine_uses(dcli_inside_subscript(body, a, d), n))
                return true;
    return false;
}

/* Find whether the body is a contraction. */
static dcli_contraction find_contraction(const dcli_body *body)
{
    const dcli_contraction none = {.end = 0};
    const dcli_tokens *tokens = &body->inside->tokens;
    if (body->result_count != 1 || body->result[0].fold != DCLI_FOLD_SUM ||
        body->params[body->owner].type < DCL_FLOAT || access_at(body, 0) != body->home)
        return none;
    int sign = tokens->token[1].partner + 1, array[2], arrays = 0;
    dcli_contraction found = {.first = sign + 1, .minus = dcli_token_is(tokens, sign, "-=")};
    for (int t = found.first;;) {
        int a = access_at(body, t);
        if (a >= 0 ? arrays == 2 || !is_factor(body, a)
                   : dcli_token_kind_of(tokens, t) != DCLI_TOKEN_NUMBER && !is_value(body, t))
            return none;
        if (a >= 0)
            array[arrays++] = a;
        int next = a >= 0 ? tokens->token[t + 1].partner + 1 : t + 1;
        if (dcli_token_is(tokens, next, ";")) {
            if (a < 0 || arrays != 2 || next + 1 != tokens->count)
                return none;
            found.left = array[0];
            found.right = array[1];
            return found;
        }
        if (!dcli_token_is(tokens, next, "*"))
            return none;
        found.end = next;
        t = next + 1;
    }
}

dcl_status dcli_check_along(dcli_body *body)
{
    body->home = body->result[0].access;
    dcl_status status = check_results(body);
    if (status == DCL_OK)
        status = find_inner(body);
    if (status == DCL_OK)
        body->inside->contraction = find_contraction(body);
    return status;
}

bool dcli_body_is_chain(const dcli_body *body) { return dcli_inside_is_chain(body); }

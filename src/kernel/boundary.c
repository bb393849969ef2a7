/* kernel/boundary.c - boundaries of subscripts: kept in a list of the body, in which each occurs once, so that equal
 * boundaries have equal numbers. */
#include "kernel/boundary.h"

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/emit.h"
#include "kernel/inside.h"

static bool has_limits(const dcli_boundary *boundary)
{
    return boundary != NULL && boundary->kind != DCLI_BOUNDARY_WRAP;
}

/* Whether two constants have the same text. */
static bool are_alike(const dcli_body *body, const dcli_boundary *a, const dcli_boundary *b)
{
    return a->value_end - a->value == b->value_end - b->value &&
           dcli_tokens_equal(&body->inside->tokens, a->value, b->value, a->value_end - a->value);
}

static bool are_equal(const dcli_body *body, const dcli_boundary *a, const dcli_boundary *b)
{
    if (a->kind != b->kind || a->count != b->count || !are_alike(body, a, b))
        return false;
    for (int n = 0; n < a->count; n++)
        if (a->limit[n].is_max != b->limit[n].is_max || !dcli_affine_equal(&a->limit[n].value, &b->limit[n].value))
            return false;
    return true;
}

/* The number + 1 of a boundary in the body's list, to which it is added if it is new; -1: no memory. */
static int number_of(const dcli_body *body, const dcli_boundary *boundary)
{
    struct dcli_body_inside *inside = body->inside;
    for (int64_t n = 0; n < inside->boundary_count; n++)
        if (are_equal(body, &inside->boundary[n], boundary))
            return (int)n + 1;
    if (dcli_grow(&inside->boundary, inside->boundary_count, &inside->boundary_capacity, sizeof *boundary) != 0)
        return -1;
    inside->boundary[inside->boundary_count++] = *boundary;
    return (int)inside->boundary_count;
}

const char *dcli_boundary_limit(const dcli_body *body, dcli_affine *sum, bool is_max, const dcli_affine *value)
{
    const dcli_boundary *old = dcli_boundary_of(body, sum);
    dcli_boundary boundary = old != NULL ? *old : (dcli_boundary){.count = 0};
    if (dcli_affine_has_index(value) || value->boundary != 0)
        return "a limit of min, max or clamp contains an index; limits are made of integers and integer DCL_VALUEs";
    if (boundary.kind == DCLI_BOUNDARY_WRAP)
        return "min, max and clamp are not applied to the result of %";
    if (boundary.kind != DCLI_BOUNDARY_LIMITS)
        return "min, max and clamp are not applied to the result of reflect, symmetric or constant";
    if (boundary.count == DCLI_MAX_LIMITS)
        return "it has more than 4 limits";
    boundary.limit[boundary.count++] = (dcli_limit){.is_max = is_max, .value = *value};
    sum->boundary = number_of(body, &boundary);
    return NULL;
}

const char *dcli_boundary_wrap(const dcli_body *body, dcli_affine *sum, const dcli_affine *period)
{
    if (dcli_affine_has_index(period) || period->boundary != 0 || sum->boundary != 0)
        return "% takes a sum of indices on its left and, on its right, integers and integer DCL_VALUEs without an "
               "index";
    sum->boundary =
        number_of(body, &(dcli_boundary){.kind = DCLI_BOUNDARY_WRAP, .count = 1, .limit = {{.value = *period}}});
    return NULL;
}

const char *dcli_boundary_name(dcli_boundary_kind kind)
{
    static const char *const names[] = {"clamp", "%", "reflect", "symmetric", "constant"};
    return names[kind];
}

const char *dcli_boundary_between(const dcli_body *body, dcli_affine *sum, dcli_boundary_kind kind,
                                  const dcli_affine limits[2], const int value[2])
{
    dcli_boundary boundary = {.kind = kind, .value = value[0], .value_end = value[1], .count = 2};
    if (sum->boundary != 0)
        return "reflect, symmetric and constant take a sum of indices, without another boundary";
    for (int n = 0; n < 2; n++) {
        if (dcli_affine_has_index(&limits[n]) || limits[n].boundary != 0)
            return "a limit of reflect, symmetric or constant contains an index or a boundary; limits are made of "
                   "integers and "
                   "integer DCL_VALUEs";
        boundary.limit[n] = (dcli_limit){.is_max = n == 0, .value = limits[n]};
    }
    sum->boundary = number_of(body, &boundary);
    return NULL;
}

const dcli_boundary *dcli_boundary_of(const dcli_body *body, const dcli_affine *sum)
{
    return sum->boundary > 0 ? &body->inside->boundary[sum->boundary - 1] : NULL;
}

bool dcli_boundary_clamps(const dcli_body *body, int a, int d)
{
    return has_limits(dcli_boundary_of(body, dcli_inside_subscript(body, a, d)));
}

bool dcli_boundary_clamps_any(const dcli_body *body, int a)
{
    bool some = false;
    for (int d = 0; body->access[a].reach == DCLI_REACH_AFFINE && d < body->params[body->access[a].param].rank; d++)
        some |= dcli_boundary_clamps(body, a, d);
    return some;
}

bool dcli_boundary_evaluate(const dcli_body *body, const dcli_affine *sum, const dcli_scalar values[],
                            dcli_subscript *out)
{
    const dcli_boundary *boundary = dcli_boundary_of(body, sum);
    int64_t low = INT64_MIN, high = INT64_MAX, value, none[DCLI_INDEX_NAMES], apart;
    bool between = has_limits(boundary) && boundary->kind != DCLI_BOUNDARY_LIMITS;
    for (int n = 0; boundary != NULL && n < boundary->count; n++) {
        const dcli_limit *limit = &boundary->limit[n];
        if (!dcli_affine_evaluate(&limit->value, body, values, &value, none))
            return false;
        if (boundary->kind == DCLI_BOUNDARY_WRAP) {
            out->period = value;
            return true;
        }
        if (between) {
            *(n == 0 ? &low : &high) = value;
            continue;
        }
        low = limit->is_max ? dcli_max(low, value) : dcli_min(low, value);
        high = limit->is_max ? dcli_max(high, value) : dcli_min(high, value);
    }
    out->clamped = boundary != NULL;
    out->low = low;
    out->high = high;
    if (!between)
        return true;
    out->beyond = boundary->kind == DCLI_BOUNDARY_CONSTANT ? DCLI_BEYOND_NOTHING : DCLI_BEYOND_MIRROR;
    out->repeat = boundary->kind == DCLI_BOUNDARY_SYMMETRIC;
    return dcli_sub(high, low, &apart) && apart < INT64_C(1) << 60;
}

/* The functions have names of their own, because a prelude or a body may declare `max`. dcl_mirrored() takes remainders
 * of the sum and of the low limit before it subtracts them, because their difference could overflow. */
static const char functions[] =
    "static long dcl_larger(const long dcl_a, const long dcl_b) { return dcl_a > dcl_b ? dcl_a : dcl_b; }\n"
    "static long dcl_smaller(const long dcl_a, const long dcl_b) { return dcl_a < dcl_b ? dcl_a : dcl_b; }\n"
    "static long dcl_mirrored(const long dcl_a, const long dcl_low, const long dcl_high, const long dcl_repeat)\n"
    "{\n"
    "    const long dcl_reach = dcl_high - dcl_low, dcl_period = 2 * (dcl_reach + dcl_repeat);\n"
    "    if (dcl_reach == 0)\n"
    "        return dcl_low;\n"
    "    const long dcl_at = (dcl_a % dcl_period - dcl_low % dcl_period + 2 * dcl_period) % dcl_period;\n"
    "    return dcl_low + (dcl_at <= dcl_reach ? dcl_at : 2 * dcl_reach + dcl_repeat - dcl_at);\n"
    "}\n";

void dcli_emit_boundary_functions(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_boundary_clamps_any(body, a)) {
            dcli_text_put(out, "%s", functions);
            return;
        }
}

/* Write "NAME(sum, low, high, last)". */
static void print_between(const dcli_affine *sum, const dcli_boundary *boundary, const dcli_body *body, dcli_text *out)
{
    dcli_text_put(out, "dcl_mirrored(");
    dcli_affine_print(sum, body, out);
    for (int n = 0; n < 2; n++) {
        dcli_text_put(out, ", ");
        dcli_affine_print(&boundary->limit[n].value, body, out);
    }
    dcli_text_put(out, ", %d)", boundary->kind == DCLI_BOUNDARY_SYMMETRIC);
}

void dcli_boundary_print(const dcli_affine *sum, const dcli_body *body, dcli_text *out)
{
    const dcli_boundary *boundary = dcli_boundary_of(body, sum);
    int limits = boundary != NULL && boundary->kind == DCLI_BOUNDARY_LIMITS ? boundary->count : 0;
    if (boundary != NULL && (boundary->kind == DCLI_BOUNDARY_REFLECT || boundary->kind == DCLI_BOUNDARY_SYMMETRIC)) {
        print_between(sum, boundary, body, out);
        return;
    }
    for (int n = limits - 1; n >= 0; n--)
        dcli_text_put(out, "%s(", boundary->limit[n].is_max ? "dcl_larger" : "dcl_smaller");
    dcli_affine_print(sum, body, out);
    for (int n = 0; n < limits; n++) {
        dcli_text_put(out, ", ");
        dcli_affine_print(&boundary->limit[n].value, body, out);
        dcli_text_put(out, ")");
    }
}

/* The boundary of subscript d of an access, if beyond it the access is a constant; else NULL. */
static const dcli_boundary *constant_of(const dcli_body *body, int a, int d)
{
    const dcli_boundary *boundary = dcli_boundary_of(body, dcli_inside_subscript(body, a, d));
    return boundary != NULL && boundary->kind == DCLI_BOUNDARY_CONSTANT ? boundary : NULL;
}

static int rank_of(const dcli_body *body, int a)
{
    return body->access[a].reach == DCLI_REACH_AFFINE ? body->params[body->access[a].param].rank : 0;
}

bool dcli_emit_inside(dcli_text *out, const dcli_body *body, int a)
{
    bool some = false;
    for (int d = 0; d < rank_of(body, a); d++) {
        const dcli_boundary *boundary = constant_of(body, a, d);
        for (int n = 0; boundary != NULL && n < 2; n++) {
            dcli_text_put(out, some ? " && " : "");
            dcli_affine_print(dcli_inside_subscript(body, a, d), body, out);
            dcli_text_put(out, n == 0 ? " >= " : " <= ");
            dcli_affine_print(&boundary->limit[n].value, body, out);
            some = true;
        }
    }
    dcli_text_put(out, some ? " ? " : "");
    return some;
}

void dcli_emit_constant(dcli_text *out, const dcli_body *body, int a)
{
    int d = 0;
    while (constant_of(body, a, d) == NULL)
        d++;
    const dcli_boundary *boundary = constant_of(body, a, d);
    const dcli_tokens *tokens = &body->inside->tokens;
    dcli_text_put(out, " : (%s)(", dcli_kernel_type(body->params[body->access[a].param].type));
    for (int t = boundary->value; t < boundary->value_end; t++)
        dcli_text_put(out, "%.*s", tokens->token[t].length, tokens->text + tokens->token[t].start);
    dcli_text_put(out, ")");
}

bool dcli_boundary_constants_agree(const dcli_body *body, int a)
{
    const dcli_boundary *first = NULL;
    for (int d = 0; d < rank_of(body, a); d++) {
        const dcli_boundary *boundary = constant_of(body, a, d);
        if (boundary != NULL && first != NULL && !are_alike(body, first, boundary))
            return false;
        first = boundary != NULL ? boundary : first;
    }
    return true;
}

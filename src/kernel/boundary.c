/* kernel/boundary.c - boundaries of subscripts: kept in a list of the body, in which each occurs once, so that equal
 * boundaries have equal numbers. */
#include "kernel/boundary.h"

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/inside.h"

static bool are_equal(const dcli_boundary *a, const dcli_boundary *b)
{
    if (a->wraps != b->wraps || a->count != b->count)
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
        if (are_equal(&inside->boundary[n], boundary))
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
    if (boundary.wraps || boundary.count == DCLI_MAX_LIMITS)
        return boundary.wraps ? "min, max and clamp are not applied to the result of %" : "it has more than 4 limits";
    boundary.limit[boundary.count++] = (dcli_limit){.is_max = is_max, .value = *value};
    sum->boundary = number_of(body, &boundary);
    return NULL;
}

const char *dcli_boundary_wrap(const dcli_body *body, dcli_affine *sum, const dcli_affine *period)
{
    if (dcli_affine_has_index(period) || period->boundary != 0 || sum->boundary != 0)
        return "% takes a sum of indices on its left and, on its right, integers and integer DCL_VALUEs without an "
               "index";
    sum->boundary = number_of(body, &(dcli_boundary){.wraps = true, .count = 1, .limit = {{.value = *period}}});
    return NULL;
}

const dcli_boundary *dcli_boundary_of(const dcli_body *body, const dcli_affine *sum)
{
    return sum->boundary > 0 ? &body->inside->boundary[sum->boundary - 1] : NULL;
}

bool dcli_boundary_clamps(const dcli_body *body, int a, int d)
{
    const dcli_boundary *boundary = dcli_boundary_of(body, dcli_inside_subscript(body, a, d));
    return boundary != NULL && !boundary->wraps;
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
    int64_t low = INT64_MIN, high = INT64_MAX, value, none[DCLI_INDEX_NAMES];
    for (int n = 0; boundary != NULL && n < boundary->count; n++) {
        const dcli_limit *limit = &boundary->limit[n];
        if (!dcli_affine_evaluate(&limit->value, body, values, &value, none))
            return false;
        if (boundary->wraps) {
            out->period = value;
            return true;
        }
        low = limit->is_max ? dcli_max(low, value) : dcli_min(low, value);
        high = limit->is_max ? dcli_max(high, value) : dcli_min(high, value);
    }
    out->clamped = boundary != NULL;
    out->low = low;
    out->high = high;
    return true;
}

void dcli_emit_boundary_functions(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_boundary_clamps_any(body, a)) { /* names of their own, because a prelude or a body may declare `max` */
            dcli_text_put(out, "static long dcl_larger(const long dcl_a, const long dcl_b) { return dcl_a > dcl_b ? "
                               "dcl_a : dcl_b; }\n"
                               "static long dcl_smaller(const long dcl_a, const long dcl_b) { return dcl_a < dcl_b ? "
                               "dcl_a : dcl_b; }\n");
            return;
        }
}

void dcli_boundary_print(const dcli_affine *sum, const dcli_body *body, dcli_text *out)
{
    const dcli_boundary *boundary = dcli_boundary_of(body, sum);
    int limits = boundary != NULL && !boundary->wraps ? boundary->count : 0;
    for (int n = limits - 1; n >= 0; n--)
        dcli_text_put(out, "%s(", boundary->limit[n].is_max ? "dcl_larger" : "dcl_smaller");
    dcli_affine_print(sum, body, out);
    for (int n = 0; n < limits; n++) {
        dcli_text_put(out, ", ");
        dcli_affine_print(&boundary->limit[n].value, body, out);
        dcli_text_put(out, ")");
    }
}

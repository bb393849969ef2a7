/* kernel/nest.c - index arithmetic in generated loops. */
#include "kernel/nest.h"

#include <stdio.h>

#include "kernel/gather.h"
#include "kernel/inside.h"
#include "kernel/names.h"

enum { MOST_TRANSPOSED = 4 }; /* inputs loaded in blocks: their blocks share a first-level cache or local memory */

dcli_nest dcli_nest_start(dcli_text *out, const dcli_body *body, dcli_variant variant, const char *row)
{
    return (dcli_nest){.out = out, .body = body, .variant = variant, .row = row, .innermost = body->space_rank - 1};
}

static bool is_affine(const dcli_nest *nest, int a) { return nest->body->access[a].reach == DCLI_REACH_AFFINE; }

bool dcli_nest_is_unit(const dcli_nest *nest, int a, int m)
{
    int axis = nest->body->access[a].unit_axis;
    if (nest->straight && axis >= 0 && is_affine(nest, a))
        return m == nest->innermost;
    if (nest->variant != DCLI_VARIANT_UNIT || axis != m)
        return false;
    return m == nest->innermost || dcli_is_transposed(nest->body, a);
}

void dcli_nest_row(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int rank = body->space_rank;
    for (int m = 0; m < rank; m++)
        dcli_text_put(nest->out, "    const long dcl_i%d = %s[%d], dcl_d%d = %s[%d], dcl_n%d = %s[%d];\n", m, nest->row,
                      dcli_row_at(body, DCLI_ROW_START, 0) + m, m, nest->row, dcli_row_at(body, DCLI_ROW_STRIDE, 0) + m,
                      m, nest->row, dcli_row_at(body, DCLI_ROW_COUNT, 0) + m);
    for (int a = 0; a < body->access_count; a++) {
        if (!is_affine(nest, a))
            continue;
        dcli_text_put(nest->out, "    const long dcl_x%d_0 = %s[%d]", a, nest->row,
                      dcli_row_at(body, DCLI_ROW_OFFSET, a));
        if (nest->gathers && dcli_may_gather(body, a))
            dcli_text_put(nest->out, " + dcl_h%d", a);
        dcli_text_put(nest->out, ";\n");
        for (int m = 0; m < rank; m++)
            if (dcli_inside_depends(body, a, m) && !dcli_nest_is_unit(nest, a, m))
                dcli_text_put(nest->out, "    const long dcl_s%d_%d = %s[%d];\n", a, m, nest->row,
                              dcli_row_at(body, DCLI_ROW_STEP, a) + m);
    }
}

void dcli_nest_index(dcli_nest *nest, int m)
{
    dcli_text_put(nest->out, "    const long %s = dcl_i%d + dcl_t%d * dcl_d%d;\n",
                  dcli_index_name(nest->body->index_of_axis[m]), m, m, m);
}

void dcli_nest_offset(const dcli_nest *nest, int a, int m, char *out, size_t capacity)
{
    if (!dcli_inside_depends(nest->body, a, m))
        snprintf(out, capacity, "dcl_x%d_%d", a, nest->level[a]);
    else if (dcli_nest_is_unit(nest, a, m))
        snprintf(out, capacity, "dcl_x%d_%d + dcl_t%d", a, nest->level[a], m);
    else
        snprintf(out, capacity, "dcl_x%d_%d + dcl_t%d * dcl_s%d_%d", a, nest->level[a], m, a, m);
}

void dcli_nest_advance(dcli_nest *nest, int m)
{
    nest->levels++;
    for (int a = 0; a < nest->body->access_count; a++) {
        if (!is_affine(nest, a) || !dcli_inside_depends(nest->body, a, m))
            continue;
        char offset[96];
        dcli_nest_offset(nest, a, m, offset, sizeof offset);
        dcli_text_put(nest->out, "    const long dcl_x%d_%d = %s;\n", a, nest->levels, offset);
        nest->level[a] = nest->levels;
    }
}

static bool reads_across(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    int innermost = body->space_rank - 1;
    return access->reach == DCLI_REACH_AFFINE && !access->written && access->unit_axis >= 0 &&
           access->unit_axis != innermost && dcli_inside_depends(body, a, innermost);
}

int dcli_transposed_axis(const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (reads_across(body, a))
            return body->access[a].unit_axis;
    return -1;
}

bool dcli_is_transposed(const dcli_body *body, int a)
{
    int axis = dcli_transposed_axis(body), before = 0;
    if (axis < 0 || !reads_across(body, a) || body->access[a].unit_axis != axis)
        return false;
    for (int other = 0; other < a; other++)
        before += reads_across(body, other) && body->access[other].unit_axis == axis;
    return before < MOST_TRANSPOSED;
}

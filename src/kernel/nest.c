/* kernel/nest.c - generate the index arithmetic of loops. */
#include "kernel/nest.h"

#include <stdio.h>

#include "kernel/follow.h"
#include "kernel/gather.h"
#include "kernel/inner.h"
#include "kernel/names.h"
#include "kernel/source_chain.h"

/* Most inputs that are transposed in blocks: their blocks share a first-level cache, or local memory. */
enum { MOST_TRANSPOSED = 4 };

dcli_nest dcli_nest_start(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant)
{
    return (dcli_nest){.out = out,
                       .body = body,
                       .form = form,
                       .variant = variant,
                       .innermost = body->space_rank + body->inner_rank - 1};
}

static bool is_affine(const dcli_nest *nest, int a) { return nest->body->access[a].reach == DCLI_REACH_AFFINE; }

/* Whether the step of access a along axis m is known to be 1 in this kernel, so that the text needs no
 * multiplication. */
static bool is_unit(const dcli_nest *nest, int a, int m)
{
    int axis = nest->body->access[a].unit_axis;
    if (nest->straight && axis >= 0 && is_affine(nest, a))
        return m == nest->innermost;
    if (nest->variant != DCLI_VARIANT_UNIT || axis != m)
        return false;
    return m == nest->innermost || dcli_is_transposed(nest->body, a);
}

/* Emit the definition of a variable with a number of the row. The caller emits the end of the line. */
static void put_number(dcli_nest *nest, const char *name, dcli_row_field field, int a, int n)
{
    dcli_text_put(nest->out, "    const long %s = ", name);
    dcli_emit_number(nest->out, nest->body, nest->form, field, a, n);
}

static void put_box(dcli_nest *nest, const char *prefix, dcli_row_field field, int m)
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", prefix, m);
    put_number(nest, name, field, 0, m);
    dcli_text_put(nest->out, ";\n");
}

/* Emit the start and count of an inner axis; its stride is 1. */
static void put_inner(dcli_nest *nest, int q)
{
    int m = nest->body->space_rank + q;
    char name[16];
    snprintf(name, sizeof name, "dcl_i%d", m);
    put_number(nest, name, DCLI_ROW_INNER_START, 0, q);
    dcli_text_put(nest->out, ", dcl_d%d = 1;\n", m);
    snprintf(name, sizeof name, "dcl_n%d", m);
    put_number(nest, name, DCLI_ROW_INNER_COUNT, 0, q);
    dcli_text_put(nest->out, ";\n");
    if (q > 0 || !dcli_chain_is_blocked(nest->body))
        return;
    put_number(nest, "dcl_before", DCLI_ROW_INNER_BEFORE, 0, q);
    dcli_text_put(nest->out, ";\n");
}

/* Emit the step of an access along axis m. If the step along the innermost axis is a variable, LLVM vectorizes a loop for the value 1
 * only, and runs a scalar one for all others. In dcl_unit it is hardly ever 1, so it is hidden by a maximum that has no effect. */
static void put_step(dcli_nest *nest, const char *name, int a, int m)
{
    bool hidden = nest->form == DCLI_FORM_CPU && nest->variant == DCLI_VARIANT_UNIT && m == nest->innermost;
    int at = dcli_row_at(nest->body, DCLI_ROW_STEP, a) + m;
    if (hidden)
        dcli_text_put(nest->out, "    const long %s = dcl_r[%d] > 1 - LONG_MAX ? dcl_r[%d] : 1 - LONG_MAX;\n", name, at,
                      at);
    else {
        put_number(nest, name, DCLI_ROW_STEP, a, m);
        dcli_text_put(nest->out, ";\n");
    }
}

void dcli_nest_row(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    char name[32];
    for (int m = 0; m < body->space_rank; m++) {
        put_box(nest, "dcl_i", DCLI_ROW_START, m);
        put_box(nest, "dcl_d", DCLI_ROW_STRIDE, m);
        put_box(nest, "dcl_n", DCLI_ROW_COUNT, m);
    }
    for (int q = 0; q < body->inner_rank; q++)
        put_inner(nest, q);
    for (int a = 0; a < body->access_count; a++) {
        if (!is_affine(nest, a))
            continue;
        snprintf(name, sizeof name, "dcl_x%d_0", a);
        put_number(nest, name, DCLI_ROW_OFFSET, a, 0);
        if (nest->gathers && dcli_may_gather(body, a))
            dcli_text_put(nest->out, " + dcl_h%d", a);
        dcli_text_put(nest->out, ";\n");
        for (int m = 0; m < body->space_rank + body->inner_rank; m++)
            if (dcli_inside_depends(body, a, m) && !is_unit(nest, a, m)) {
                snprintf(name, sizeof name, "dcl_s%d_%d", a, m);
                put_step(nest, name, a, m);
            }
        for (int k = 0; k < body->inside->access_inner_count[a]; k++) {
            snprintf(name, sizeof name, "dcl_s%d_%d", a, body->space_rank + k);
            put_number(nest, name, DCLI_ROW_STEP, a, body->space_rank + k);
            dcli_text_put(nest->out, ";\n");
        }
    }
}

void dcli_nest_index(dcli_nest *nest, int m)
{
    const char *name = dcli_index_name(nest->body->index_of_axis[m]);
    if (nest->looks && m == nest->innermost) /* compilers vectorize products of longs badly */
        dcli_text_put(nest->out, "    const long %s = dcl_i%d + dcl_t%d;\n", name, m, m);
    else
        dcli_text_put(nest->out, "    const long %s = dcl_i%d + dcl_t%d * dcl_d%d;\n", name, m, m, m);
}

void dcli_nest_offset(const dcli_nest *nest, int a, int m, char *out, size_t capacity)
{
    if (!dcli_inside_depends(nest->body, a, m))
        snprintf(out, capacity, "dcl_x%d_%d", a, nest->level[a]);
    else if (is_unit(nest, a, m))
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

void dcli_emit_nest_elements(dcli_nest *nest)
{
    int v = nest->innermost;
    for (int a = 0; a < nest->body->access_count; a++) {
        char offset[96] = "";
        if (nest->pointed && is_affine(nest, a) && nest->body->inside->access_inner_count[a] == 0 &&
            dcli_inside_depends(nest->body, a, v) && is_unit(nest, a, v)) {
            dcli_text_put(nest->out, "#define dcl_a%d (dcl_p%d + dcl_x%d_%d)[dcl_t%d]\n", a, a, a, nest->level[a], v);
            continue;
        }
        if (nest->looks && !is_affine(nest, a)) {
            dcli_emit_look(nest->out, nest->body, a);
            continue;
        }
        if (is_affine(nest, a))
            dcli_nest_offset(nest, a, v, offset, sizeof offset);
        if (nest->plain)
            dcli_emit_plain_element(nest->out, nest->body, nest->form, nest->variant, a, offset);
        else
            dcli_emit_element(nest->out, nest->body, nest->form, nest->variant, a, offset);
    }
    if (nest->follows)
        dcli_emit_followers(nest);
}

static bool reads_across(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    int innermost = body->space_rank + body->inner_rank - 1;
    if (body->slanted) /* blocks would not be whole */
        return false;
    if (body->along && (body->inner_rank != 1 || dcli_inside_is_chain(body)))
        return false;
    return access->reach == DCLI_REACH_AFFINE && !access->written && body->inside->access_inner_count[a] == 0 &&
           access->unit_axis >= 0 && access->unit_axis != innermost && dcli_inside_depends(body, a, innermost);
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

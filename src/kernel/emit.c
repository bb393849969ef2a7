/* kernel/emit.c - generates the parts of a program that all kinds of devices have: the prelude, macros for accesses,
 * and functions that check indices. All names of the library in generated code begin with dcl_ or DCL_, which names in
 * bodies must not. */
#include "kernel/emit.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/block.h"
#include "kernel/bounded.h"
#include "kernel/cl.h"
#include "kernel/claim.h"
#include "kernel/gather.h"
#include "kernel/guard.h"
#include "kernel/inner.h"
#include "kernel/names.h"
#include "kernel/nest.h"
#include "kernel/rewrite.h"

static const char *const kernel_names[] = {"dcl_unit",     "dcl_any",      "dcl_checked", "dcl_streamed",
                                           "dcl_gathered", "dcl_straight", "dcl_checked"};

const char *dcli_variant_kernel(dcli_form form, dcli_variant variant)
{
    if (form == DCLI_FORM_GPU && variant == DCLI_VARIANT_MIXED)
        return "dcl_mixed";
    return form == DCLI_FORM_GPU && variant == DCLI_VARIANT_ONE ? "dcl_one" : kernel_names[variant];
}

const char *dcli_kernel_type(dcl_type type)
{
    static const char *const names[] = {"?",      "char", "short", "int",  "long",  "uchar",
                                        "ushort", "uint", "ulong", "half", "float", "double"};
    return names[type];
}

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether a text contains a type's name or a vector of it: `double`, `double4`, and so on. */
static bool names_type(const char *text, const char *name)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        size_t length = strlen(name) + strspn(at + strlen(name), "0123456789");
        if ((at == text || !is_word_byte(at[-1])) && !is_word_byte(at[length]))
            return true;
    }
    return false;
}

/* Whether a type is used by a parameter, or by name in the body or its prelude. */
static bool uses_type(const dcli_body *body, dcl_type type)
{
    const char *name = dcli_kernel_type(type);
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].type == type)
            return true;
    return names_type(body->text, name) || names_type(body->prelude, name);
}

static bool has_checks(const dcli_body *body, dcli_variant variant)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_emit_is_checked(body, a, variant))
            return true;
    return false;
}

bool dcli_emit_is_checked(const dcli_body *body, int a, dcli_variant variant)
{
    /* outputs are written where the operation computes, so never outside */
    if (body->access[a].reach == DCLI_REACH_AFFINE)
        return variant == DCLI_VARIANT_WATCHED || (variant == DCLI_VARIANT_CHECKED && !body->access[a].written);
    return true;
}

static int rank_of(const dcli_body *body, int a) { return body->params[body->access[a].param].rank; }

int dcli_declared_axis(const dcli_body *body, int a, int d)
{
    switch (body->access[a].reach) {
    case DCLI_REACH_ROWS:
        return d == 0 ? 0 : -1;
    case DCLI_REACH_COLUMNS:
        return d == rank_of(body, a) - 1 ? body->space_rank - 1 : -1;
    case DCLI_REACH_HALO:
    case DCLI_REACH_CROSS:
        return d;
    default:
        return -1;
    }
}

static bool has_widths(dcli_reach reach) { return reach == DCLI_REACH_HALO || reach == DCLI_REACH_CROSS; }

static bool has_strides(dcli_reach reach) { return reach == DCLI_REACH_BOX || reach == DCLI_REACH_FUNCTION; }

/* Append "PREFIX0 SUFFIX, PREFIX1 SUFFIX, ..." for every axis. */
static void emit_each(dcli_text *out, int rank, const char *prefix)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s%s%d", d > 0 ? ", " : "", prefix, d);
}

/* Emit the parameters of dcl_get<a> and dcl_put<a> after the pointer: dcl_l low, dcl_c count, dcl_s step, dcl_w width
 * or stride, dcl_x the loop's index, dcl_report, dcl_e the element's subscripts; one per axis. */
static void emit_checker_arguments(dcli_text *out, const dcli_body *body, int a)
{
    dcli_reach reach = body->access[a].reach;
    int rank = rank_of(body, a);
    emit_each(out, rank, "const long dcl_l");
    dcli_text_put(out, ", ");
    emit_each(out, rank, "const long dcl_c");
    if (reach != DCLI_REACH_AFFINE) {
        dcli_text_put(out, ", ");
        emit_each(out, rank, "const long dcl_s");
    }
    if (has_widths(reach) || has_strides(reach)) {
        dcli_text_put(out, ", ");
        emit_each(out, rank, "const long dcl_w");
    }
    for (int d = 0; d < rank; d++)
        if (dcli_declared_axis(body, a, d) >= 0)
            dcli_text_put(out, ", const long dcl_x%d", d);
    dcli_text_put(out, ", __global long *dcl_report, ");
    emit_each(out, rank, "const long dcl_e");
}

/* Emit dcl_q<d>: the position of an index in a range of indices that may have gaps. The division is avoided if there
 * are none, the usual case. */
static void emit_places(dcli_text *out, int rank)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out,
                      "    const ulong dcl_o%d = (ulong)dcl_e%d - (ulong)dcl_l%d;\n"
                      "    const ulong dcl_q%d = dcl_w%d == 1 ? dcl_o%d : dcl_o%d / (ulong)dcl_w%d;\n",
                      d, d, d, d, d, d, d, d);
}

/* Emit the condition that the element with subscripts dcl_e is present and within the declared reach. The difference e
 * - low is computed modulo 2^64, so one comparison checks both ends for any e. */
static void emit_condition(dcli_text *out, const dcli_body *body, int a)
{
    dcli_reach reach = body->access[a].reach;
    int rank = rank_of(body, a);
    for (int d = 0; d < rank; d++) {
        dcli_text_put(out, "%s", d > 0 ? " && " : "");
        if (has_strides(reach))
            dcli_text_put(out, "dcl_e%d >= dcl_l%d && dcl_q%d < (ulong)dcl_c%d && dcl_q%d * (ulong)dcl_w%d == dcl_o%d",
                          d, d, d, d, d, d, d);
        else
            dcli_text_put(out, "(ulong)dcl_e%d - (ulong)dcl_l%d < (ulong)dcl_c%d", d, d, d);
        if (has_widths(reach))
            dcli_text_put(out, " && (ulong)dcl_e%d - (ulong)dcl_x%d + (ulong)dcl_w%d <= 2 * (ulong)dcl_w%d", d, d, d,
                          d);
        else if (dcli_declared_axis(body, a, d) >= 0)
            dcli_text_put(out, " && dcl_e%d == dcl_x%d", d, d);
    }
    if (reach == DCLI_REACH_CROSS) {
        dcli_text_put(out, " && ");
        for (int d = 0; d < rank; d++)
            dcli_text_put(out, "%s(dcl_e%d != dcl_x%d)", d > 0 ? " + " : "", d, d);
        dcli_text_put(out, " <= 1");
    }
}

static void emit_report(dcli_text *out, const dcli_body *body, int a)
{
    dcli_text_put(out, "    if (dcl_is_first(dcl_report)) {\n        dcl_report[1] = %d;\n", a);
    for (int d = 0; d < rank_of(body, a); d++)
        dcli_text_put(out, "        dcl_report[%d] = dcl_e%d;\n", d + 2, d);
    dcli_text_put(out, "    }\n");
}

/* Emit dcl_get<a>: returns the element if it may be read, else 0 with a report. */
static void emit_getter(dcli_text *out, const dcli_body *body, int a)
{
    dcli_reach reach = body->access[a].reach;
    const char *type = dcli_kernel_type(body->params[body->access[a].param].type);
    dcli_text_put(out, "static %s dcl_get%d(__global const %s *dcl_p, const long dcl_at, ", type, a, type);
    emit_checker_arguments(out, body, a);
    dcli_text_put(out, ")\n{\n");
    if (has_strides(reach))
        emit_places(out, rank_of(body, a));
    dcli_text_put(out, "    if (");
    emit_condition(out, body, a);
    dcli_text_put(out, ")\n        return dcl_p[dcl_at");
    for (int d = 0; d < rank_of(body, a) && reach != DCLI_REACH_AFFINE; d++)
        dcli_text_put(out, has_strides(reach) ? " + (long)dcl_q%d * dcl_s%d" : " + (dcl_e%d - dcl_l%d) * dcl_s%d", d, d,
                      d);
    dcli_text_put(out, "];\n");
    emit_report(out, body, a);
    dcli_text_put(out, "    return 0;\n}\n");
}

/* The axis of an access' array along which elements are contiguous; -1: none. */
static int contiguous_axis(const dcli_body *body, int a)
{
    int turned = body->params[body->access[a].param].turned;
    return turned < 0 ? -1 : rank_of(body, a) - 1 - turned;
}

/* The loop axis whose index determines axis d of a declared reach, if that is the innermost one: then the subscript's distance from it is
 * checked at each index. For other axes, dcli_emit_look_limits() limits the subscript itself. */
static bool is_near_innermost(const dcli_body *body, int a, int d)
{
    return dcli_declared_axis(body, a, d) == body->space_rank - 1;
}

/* Emit dcl_look<a>: as dcl_get<a>, but an element outside of what may be read is only noted: in *dcl_f<d>, the largest position along axis
 * d relative to the first index that may be read, and in *dcl_g<d>, the largest distance from the loop's index plus its limit. Both are
 * unsigned, so an index below the limits gives a large number. An element at the end of the range is read instead. Compilers vectorize
 * maxima over a loop, but not sums of conditions. Subscripts that are bounded (kernel/bounded.h) need no check. */
static void emit_looker(dcli_text *out, const dcli_body *body, int a, const bool bounded[])
{
    int rank = rank_of(body, a);
    const char *type = dcli_kernel_type(body->params[body->access[a].param].type);
    dcli_text_put(out, "DCL_LOOK %s dcl_look%d(__global const %s *dcl_p, const long dcl_at", type, a, type);
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, ", const long dcl_l%d, const long dcl_c%d, const long dcl_s%d, ulong *const dcl_f%d", d, d,
                      d, d);
    for (int d = 0; d < rank; d++)
        if (is_near_innermost(body, a, d))
            dcli_text_put(out, ", const long dcl_w%d, const long dcl_x%d, ulong *const dcl_g%d", d, d, d);
    dcli_text_put(out, ", ");
    emit_each(out, rank, "const long dcl_e");
    dcli_text_put(out, ")\n{\n");
    for (int d = 0; d < rank; d++) {
        dcli_text_put(out, "    ulong dcl_o%d = (ulong)dcl_e%d - (ulong)dcl_l%d;\n", d, d, d);
        if (bounded[d])
            continue;
        dcli_text_put(out,
                      "    *dcl_f%d = dcl_o%d > *dcl_f%d ? dcl_o%d : *dcl_f%d;\n"
                      "    dcl_o%d = dcl_o%d < (ulong)dcl_c%d - 1 ? dcl_o%d : (ulong)dcl_c%d - 1;\n",
                      d, d, d, d, d, d, d, d, d, d);
        if (is_near_innermost(body, a, d))
            dcli_text_put(out,
                          "    const ulong dcl_d%d = (ulong)dcl_e%d - (ulong)dcl_x%d + (ulong)dcl_w%d;\n"
                          "    *dcl_g%d = dcl_d%d > *dcl_g%d ? dcl_d%d : *dcl_g%d;\n",
                          d, d, d, d, d, d, d, d, d);
    }
    dcli_text_put(out, "    return dcl_p[dcl_at");
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, d == contiguous_axis(body, a) ? " + (long)dcl_o%d" : " + (long)dcl_o%d * dcl_s%d", d, d);
    dcli_text_put(out, "];\n}\n");
}

/* Emit dcl_put<a>: returns the address of an output's element if it may be written, else a spare address after the
 * report. */
static void emit_putter(dcli_text *out, const dcli_body *body, int a)
{
    const char *type = dcli_kernel_type(body->params[body->access[a].param].type);
    dcli_text_put(out, "static __global %s *dcl_put%d(__global %s *dcl_p, const long dcl_at, ", type, a, type);
    emit_checker_arguments(out, body, a);
    dcli_text_put(out, ")\n{\n    if (");
    emit_condition(out, body, a);
    dcli_text_put(out, ")\n        return dcl_p + dcl_at;\n");
    emit_report(out, body, a);
    dcli_text_put(out, "    return (__global %s *)(dcl_report + %d);\n}\n", type, DCLI_REPORT_SPARE);
}

/* Undefine macros of the prelude or of OpenCL C (such as M_PI) that have the name of a parameter or of an index. */
static void emit_names(dcli_text *out, const dcli_body *body)
{
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access != DCL_ACCESS_OPERATOR)
            dcli_text_put(out, "#undef %s\n", body->params[p].name);
    for (int m = 0; m < body->space_rank + body->inner_rank; m++)
        dcli_text_put(out, "#undef %s\n", dcli_index_name(body->index_of_axis[m]));
}

void dcli_emit_hidden_names(dcli_text *out, const dcli_body *body, bool hide)
{
    const char *what = hide ? "push" : "pop";
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access != DCL_ACCESS_OPERATOR)
            dcli_text_put(out, "#pragma %s_macro(\"%s\")\n", what, body->params[p].name);
    for (int m = 0; m < body->space_rank + body->inner_rank; m++)
        dcli_text_put(out, "#pragma %s_macro(\"%s\")\n", what, dcli_index_name(body->index_of_axis[m]));
    if (hide)
        emit_names(out, body);
}

void dcli_emit_opening(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "#pragma OPENCL FP_CONTRACT OFF\n");
    if (uses_type(body, DCL_DOUBLE))
        dcli_text_put(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    if (uses_type(body, DCL_HALF))
        dcli_text_put(out, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
    if (body->prelude[0] != '\0')
        dcli_text_put(out, "#line 1 \"prelude\"\n%s\n", body->prelude);
    dcli_text_put(out, "#line 1 \"generated\"\n%s", dcli_cl_min);
    if (body->keyed) /* a key may have effects */
        dcli_text_put(out, "static uint dcl_max_uint(uint dcl_a, uint dcl_b) { return dcl_max(dcl_a, dcl_b); }\n"
                           "static ulong dcl_max_ulong(ulong dcl_a, ulong dcl_b) { return dcl_max(dcl_a, dcl_b); }\n");
}

void dcli_emit_cpu_opening(dcli_text *out)
{
    dcli_text_put(out, "%s%s#define DCL_PART_LONGS %d\n%s", dcli_cl_cpu, dcli_cl_names, DCLI_CLAIM_LONGS,
                  dcli_cl_claim);
}

/* Emit the pragmas, the prelude, and the functions dcl_get<a> and dcl_put<a>.
 * @param checked  the checking kernel that the program has: DCLI_VARIANT_CHECKED or DCLI_VARIANT_WATCHED. */
static void emit_head(dcli_text *out, const dcli_body *body, dcli_variant checked, bool looks)
{
    dcli_emit_opening(out, body);
    emit_names(out, body);
    if (!has_checks(body, checked))
        return;
    dcli_text_put(out, "%s", dcli_cl_report);
    dcli_emit_boundary_functions(out, body);
    for (int a = 0; a < body->access_count; a++)
        if (dcli_emit_is_checked(body, a, checked))
            (body->access[a].written ? emit_putter : emit_getter)(out, body, a);
    if (!looks)
        return;
    dcli_text_put(out, "#ifdef __clang__\n#define DCL_LOOK static inline __attribute__((always_inline))\n#else\n"
                       "#define DCL_LOOK static inline\n#endif\n");
    dcli_bounded bounded;
    dcli_bounded_find(body, &bounded);
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            emit_looker(out, body, a, bounded.bounded[a]);
    dcli_bounded_free(&bounded);
}

void dcli_emit_signature(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant)
{
    dcli_text_put(out, "__kernel void %s(", dcli_variant_kernel(form, variant));
    dcli_emit_parameters(out, body);
}

void dcli_emit_parameters(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "__global %s%s *restrict dcl_p%d, ", body->access[a].written ? "" : "const ",
                      dcli_kernel_type(body->params[body->access[a].param].type), a);
    for (int n = 0; n < dcli_body_partial_arrays(body); n++)
        dcli_text_put(out, "__global long *restrict %s, ", body->params[body->partials + n].name);
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE)
            dcli_text_put(out, "const %s %s, ", dcli_kernel_type(body->params[p].type), body->params[p].name);
}

void dcli_emit_number(dcli_text *out, const dcli_body *body, dcli_form form, dcli_row_field field, int a, int n)
{
    int at = dcli_row_at(body, field, a) + n;
    if (form == DCLI_FORM_CPU)
        dcli_text_put(out, "dcl_r[%d]", at);
    else
        dcli_text_put(out, dcli_row_is_own(field) ? "dcl_o%d" : "dcl_r.dcl_v[%d]", at);
}

void dcli_emit_inner_offsets(dcli_text *out, const dcli_body *body, dcli_variant variant, int a, int but)
{
    for (int k = 0; k < body->inside->access_inner_count[a]; k++) {
        if (k == but)
            continue;
        bool is_unit = variant == DCLI_VARIANT_UNIT && body->access[a].unit_axis == body->space_rank - 1;
        int unit = is_unit ? dcli_inner_unit(body, a, k) : 0;
        dcli_text_put(out, unit < 0 ? " - " : " + ");
        dcli_emit_inner_counter(out, body, body->inside->access_inner[a][k]);
        if (unit == 0)
            dcli_text_put(out, " * dcl_s%d_%d", a, body->space_rank + k);
    }
}

/* Emit the offset of an affine access: `element`, and what its inner axes contribute. */
static void emit_offset(dcli_text *out, const dcli_body *body, dcli_variant variant, int a, const char *element)
{
    dcli_text_put(out, "%s", element);
    dcli_emit_inner_offsets(out, body, variant, a, -1);
}

/* Emit how far clamps move the element of an affine access in memory: `element` is that of the sums. */
static void emit_moves(dcli_text *out, const dcli_body *body, dcli_form form, int a)
{
    for (int d = 0; d < rank_of(body, a); d++)
        if (dcli_boundary_clamps(body, a, d)) {
            dcli_text_put(out, " + (");
            dcli_boundary_print(dcli_inside_subscript(body, a, d), body, out);
            dcli_text_put(out, " - (");
            dcli_affine_print(dcli_inside_subscript(body, a, d), body, out);
            dcli_text_put(out, ")) * ");
            dcli_emit_number(out, body, form, DCLI_ROW_WIDTH, a, d);
        }
}

/* The fields that dcl_get<a> and dcl_look<a> get of an access with a declared reach, in this order. */
static const dcli_row_field declared_limits[] = {DCLI_ROW_OFFSET, DCLI_ROW_LOW, DCLI_ROW_EXTENT, DCLI_ROW_STEP,
                                                 DCLI_ROW_WIDTH};
enum { LIMIT_FIELDS = sizeof declared_limits / sizeof declared_limits[0] };

/* Append the arguments of dcl_x: the indices of the loop that determine axes of a declared reach. */
static void emit_same_axes(dcli_text *out, const dcli_body *body, int a)
{
    for (int d = 0; d < rank_of(body, a); d++)
        if (dcli_declared_axis(body, a, d) >= 0)
            dcli_text_put(out, ", %s", dcli_index_name(body->index_of_axis[dcli_declared_axis(body, a, d)]));
}

/* Emit the arguments that dcl_get<a> or dcl_put<a> gets between the pointer and the report. */
static void emit_limits(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant, int a,
                        const char *element)
{
    int rank = rank_of(body, a);
    if (body->access[a].reach == DCLI_REACH_AFFINE) {
        emit_offset(out, body, variant, a, element);
        emit_moves(out, body, form, a);
        for (int d = 0; d < rank; d++) {
            dcli_text_put(out, ", ");
            dcli_emit_number(out, body, form, DCLI_ROW_GRID_LOW, a, d);
        }
        for (int d = 0; d < rank; d++) {
            dcli_text_put(out, ", ");
            dcli_emit_number(out, body, form, DCLI_ROW_GRID_END, a, d);
            dcli_text_put(out, " - ");
            dcli_emit_number(out, body, form, DCLI_ROW_GRID_LOW, a, d);
        }
    } else {
        for (int f = 0; f < LIMIT_FIELDS; f++)
            for (int n = 0; n < dcli_row_field_length(body, declared_limits[f], a); n++) {
                dcli_text_put(out, "%s", f > 0 || n > 0 ? ", " : "");
                dcli_emit_number(out, body, form, declared_limits[f], a, n);
            }
    }
    emit_same_axes(out, body, a);
}

void dcli_emit_element(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant, int a,
                       const char *element)
{
    int rank = body->params[body->access[a].param].rank;
    bool affine = body->access[a].reach == DCLI_REACH_AFFINE;
    dcli_text_put(out, "#define dcl_a%d", a);
    if (!affine) {
        dcli_text_put(out, "(");
        emit_each(out, rank, "dcl_e");
        dcli_text_put(out, ")");
    }
    if (!dcli_emit_is_checked(body, a, variant)) {
        dcli_text_put(out, " dcl_p%d[", a);
        emit_offset(out, body, variant, a, element);
        dcli_text_put(out, "]\n");
        return;
    }
    bool written = body->access[a].written, constant = dcli_boundary_clamps_any(body, a);
    if (constant) {
        dcli_text_put(out, " (");
        constant = dcli_emit_inside(out, body, a);
    }
    dcli_text_put(out, written ? " (*dcl_put%d(dcl_p%d, " : " dcl_get%d(dcl_p%d, ", a, a);
    emit_limits(out, body, form, variant, a, element);
    dcli_text_put(out, ", dcl_report");
    for (int d = 0; d < rank; d++) {
        dcli_text_put(out, ", ");
        if (affine)
            dcli_boundary_print(dcli_inside_subscript(body, a, d), body, out);
        else
            dcli_text_put(out, "dcl_e%d", d);
    }
    dcli_text_put(out, written ? "))" : ")");
    if (constant)
        dcli_emit_constant(out, body, a);
    dcli_text_put(out, dcli_boundary_clamps_any(body, a) ? ")\n" : "\n");
}

void dcli_emit_plain_element(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant, int a,
                             const char *element)
{
    bool moves = !body->access[a].written && dcli_boundary_clamps_any(body, a);
    dcli_text_put(out, "#define dcl_a%d %s", a, moves ? "(" : "");
    bool constant = moves && dcli_emit_inside(out, body, a);
    dcli_text_put(out, "dcl_p%d[", a);
    emit_offset(out, body, variant, a, element);
    if (moves)
        emit_moves(out, body, form, a);
    dcli_text_put(out, "]");
    if (constant)
        dcli_emit_constant(out, body, a);
    dcli_text_put(out, moves ? ")\n" : "\n");
}

bool dcli_body_looks(const dcli_body *body)
{
    bool looks = false;
    if (body->result_count > 0 || strstr(body->text, "printf") != NULL || strstr(body->prelude, "printf") != NULL)
        return false;
    for (int a = 0; a < body->access_count; a++) {
        if (body->access[a].written && body->access[a].read)
            return false;
        if (body->access[a].reach == DCLI_REACH_CROSS)
            return false;
        looks |= body->access[a].reach != DCLI_REACH_AFFINE;
    }
    return looks;
}

void dcli_emit_look_limits(dcli_text *out, const dcli_body *body, dcli_form form)
{
    for (int a = 0; a < body->access_count; a++)
        for (int f = 0, k = 0; f < LIMIT_FIELDS && body->access[a].reach != DCLI_REACH_AFFINE; f++)
            for (int n = 0; n < dcli_row_field_length(body, declared_limits[f], a); n++, k++) {
                dcli_text_put(out, "    const long dcl_k%d_%d = ", a, k);
                dcli_emit_number(out, body, form, declared_limits[f], a, n);
                dcli_text_put(out, ";\n");
            }
}

/* Append the width of axis d of a declared reach, as an expression. */
static void emit_width(dcli_text *out, const dcli_body *body, int a, int d)
{
    if (has_widths(body->access[a].reach))
        dcli_text_put(out, "dcl_k%d_%d", a, 1 + 3 * rank_of(body, a) + d);
    else
        dcli_text_put(out, "0");
}

void dcli_emit_look_lows(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++) {
        int rank = rank_of(body, a);
        if (body->access[a].reach == DCLI_REACH_AFFINE)
            continue;
        for (int d = 0; d < rank; d++) {
            int axis = dcli_declared_axis(body, a, d), low = 1 + d, extent = 1 + rank + d;
            bool near = axis >= 0 && !is_near_innermost(body, a, d);
            const char *name = near ? dcli_index_name(body->index_of_axis[axis]) : "";
            dcli_text_put(out, "    const long dcl_kl%d_%d = ", a, d);
            dcli_text_put(out, near ? "dcl_max(dcl_k%d_%d, %s - " : "dcl_k%d_%d", a, low, name);
            if (near)
                emit_width(out, body, a, d);
            dcli_text_put(out,
                          near ? "), dcl_kc%d_%d = dcl_min(dcl_k%d_%d + dcl_k%d_%d, %s + 1 + "
                               : ", dcl_kc%d_%d = dcl_k%d_%d + dcl_k%d_%d",
                          a, d, a, low, a, extent, name);
            if (near)
                emit_width(out, body, a, d);
            dcli_text_put(out, "%s - dcl_kl%d_%d;\n", near ? ")" : "", a, d);
        }
        dcli_text_put(out, "    const long dcl_ko%d = dcl_k%d_0", a, a);
        for (int d = 0; d < rank; d++)
            dcli_text_put(out, " + (dcl_kl%d_%d - dcl_k%d_%d) * dcl_k%d_%d", a, d, a, 1 + d, a, 1 + 2 * rank + d);
        dcli_text_put(out, ";\n");
        for (int d = 0; d < rank; d++)
            dcli_text_put(out, "    ulong dcl_kf%d_%d = 0, dcl_kg%d_%d = 0;\n", a, d, a, d);
    }
    dcli_text_put(out, "    if (true");
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; d < rank_of(body, a) && body->access[a].reach != DCLI_REACH_AFFINE; d++)
            dcli_text_put(out, " && dcl_kc%d_%d > 0", a, d);
    dcli_text_put(out, ") {\n");
}

void dcli_emit_look_end(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; d < rank_of(body, a) && body->access[a].reach != DCLI_REACH_AFFINE; d++) {
            dcli_text_put(out, "    dcl_bad |= -(long)(dcl_kf%d_%d >= (ulong)dcl_kc%d_%d", a, d, a, d);
            if (is_near_innermost(body, a, d)) {
                dcli_text_put(out, " || dcl_kg%d_%d > 2 * (ulong)", a, d);
                emit_width(out, body, a, d);
            }
            dcli_text_put(out, ");\n");
        }
    dcli_text_put(out, "    } else\n        dcl_bad = -1;\n");
}

void dcli_emit_look(dcli_text *out, const dcli_body *body, int a)
{
    int rank = rank_of(body, a);
    dcli_text_put(out, "#define dcl_a%d(", a);
    emit_each(out, rank, "dcl_e");
    dcli_text_put(out, ") dcl_look%d(dcl_p%d, dcl_ko%d", a, a, a);
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, ", dcl_kl%d_%d, dcl_kc%d_%d, dcl_k%d_%d, &dcl_kf%d_%d", a, d, a, d, a, 1 + 2 * rank + d, a,
                      d);
    for (int d = 0; d < rank; d++)
        if (is_near_innermost(body, a, d)) {
            dcli_text_put(out, ", ");
            emit_width(out, body, a, d);
            dcli_text_put(out, ", %s, &dcl_kg%d_%d", dcli_index_name(body->index_of_axis[body->space_rank - 1]), a, d);
        }
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, ", dcl_e%d", d);
    dcli_text_put(out, ")\n");
}

void dcli_emit_look_steps(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++) {
        int rank = rank_of(body, a);
        if (body->access[a].reach == DCLI_REACH_AFFINE)
            continue;
        if (contiguous_axis(body, a) >= 0)
            dcli_text_put(out, " && dcl_k%d_%d == 1", a, 1 + 2 * rank + contiguous_axis(body, a));
        for (int d = 0; d < rank && has_strides(body->access[a].reach); d++)
            dcli_text_put(out, " && dcl_k%d_%d == 1", a, 1 + 3 * rank + d);
        for (int d = 0; d < rank && has_widths(body->access[a].reach); d++)
            dcli_text_put(out, " && dcl_k%d_%d < 1L << 40", a, 1 + 3 * rank + d);
    }
}

static void emit_block(dcli_text *out, const dcli_body *body, dcli_guards_as as)
{
    dcli_emit_guards(out, body, as);
    dcli_emit_inner_bounds(out, body);
    dcli_text_put(out, "{\n#line 1 \"body\"\n");
    dcli_rewrite(body, out, NULL);
    dcli_text_put(out, "\n#line 1 \"generated\"\n}\n");
    dcli_emit_guards_end(out, body);
}

void dcli_emit_text(dcli_text *out, const dcli_body *body) { emit_block(out, body, DCLI_GUARDS_ASKED); }

void dcli_emit_usual_text(dcli_text *out, const dcli_body *body) { emit_block(out, body, DCLI_GUARDS_USUAL); }

void dcli_emit_held_text(dcli_text *out, const dcli_body *body) { emit_block(out, body, DCLI_GUARDS_HELD); }

void dcli_emit_elements_end(dcli_text *out, const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "#undef dcl_a%d\n", a);
}

void dcli_emit_statements(dcli_text *out, const dcli_body *body)
{
    dcli_emit_text(out, body);
    dcli_emit_elements_end(out, body);
}

static void name_kernels(const dcli_body *body, dcli_form form, bool watched, bool gathers,
                         const char *names_out[DCLI_VARIANT_MOST])
{
    bool cpu = form == DCLI_FORM_CPU && !body->tile_kernel && !watched;
    bool has[DCLI_VARIANT_MOST] = {
        [DCLI_VARIANT_UNIT] = true, [DCLI_VARIANT_ANY] = true, [DCLI_VARIANT_CHECKED] = watched || !body->tile_kernel};
    if (form == DCLI_FORM_GPU && !body->tile_kernel)
        has[DCLI_VARIANT_ONE] = !watched && dcli_body_has_one(body);
    if (cpu)
        has[DCLI_VARIANT_STREAMED] = dcli_body_streams(body);
    if (form == DCLI_FORM_GPU)
        has[DCLI_VARIANT_MIXED] = !watched && gathers && dcli_body_mixes(body);
    else
        has[DCLI_VARIANT_GATHERED] = cpu && gathers && dcli_gathers(body);
    has[DCLI_VARIANT_STRAIGHT] = cpu && gathers && dcli_gathers_straight(body);
    for (int v = 0; v < DCLI_VARIANT_MOST; v++)
        names_out[v] = has[v] ? dcli_variant_kernel(form, (dcli_variant)v) : NULL;
}

char *dcli_body_program(const dcli_body *body, dcli_form form, bool watched, bool gathers,
                        const char *names_out[DCLI_VARIANT_MOST])
{
    dcli_text out = {0};
    name_kernels(body, form, watched, gathers, names_out);
    if (body->tile_kernel) {
        dcli_emit_tiles(&out, body, watched);
        return dcli_text_take(&out);
    }
    dcli_variant checked = watched ? DCLI_VARIANT_WATCHED : DCLI_VARIANT_CHECKED;
    emit_head(&out, body, checked, form == DCLI_FORM_CPU && dcli_body_looks(body));
    if (form == DCLI_FORM_CPU)
        dcli_emit_cpu(&out, body, checked, names_out);
    else
        dcli_emit_gpu(&out, body, checked, names_out[DCLI_VARIANT_MIXED] != NULL);
    return dcli_text_take(&out);
}

char *dcli_body_source(const dcli_body *body, dcli_form form, bool watched)
{
    const char *names[DCLI_VARIANT_MOST];
    return dcli_body_program(body, form, watched, true, names);
}

/* kernel/emit.c - the parts that the programs for all kinds of device have in common.
 * In generated text everything of the library's own begins with dcl_: a body and its parameters cannot use such names. */
#include "kernel/emit.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/inside.h"
#include "kernel/names.h"
#include "kernel/rewrite.h"

static const char *const kernel_names[] = {"dcl_unit", "dcl_any", "dcl_checked"};

const char *dcli_variant_kernel(dcli_variant variant) { return kernel_names[variant]; }

const char *dcli_kernel_type(dcl_type type)
{
    static const char *const names[] = {"?",      "char", "short", "int",  "long",  "uchar",
                                        "ushort", "uint", "ulong", "half", "float", "double"};
    return names[type];
}

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether `double`, `double4`, ... stands in a text. */
static bool names_type(const char *text, const char *name)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        size_t length = strlen(name) + strspn(at + strlen(name), "0123456789");
        if ((at == text || !is_word_byte(at[-1])) && !is_word_byte(at[length]))
            return true;
    }
    return false;
}

/* Whether a type is used: by a parameter, or by name in the body or its prelude. */
static bool uses_type(const dcli_body *body, dcl_type type)
{
    const char *name = dcli_kernel_type(type);
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].type == type)
            return true;
    return names_type(body->text, name) || names_type(body->prelude, name);
}

static bool has_checks(const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_emit_is_checked(body, a, DCLI_VARIANT_CHECKED))
            return true;
    return false;
}

bool dcli_emit_is_checked(const dcli_body *body, int a, dcli_variant variant)
{
    /* Outputs are read and written where the operation computes: always inside. */
    if (body->access[a].reach == DCLI_REACH_AFFINE)
        return variant == DCLI_VARIANT_CHECKED && !body->access[a].written;
    return true;
}

/* Appends "PREFIX0 SUFFIX, PREFIX1 SUFFIX, ..." for every axis. */
static void emit_each(dcli_text *out, int rank, const char *prefix)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s%s%d", d > 0 ? ", " : "", prefix, d);
}

/* dcl_get<a>: the element e of an array when it lies within low and count of every axis, else 0 and a report.
 * The difference e - low is taken modulo 2^64: one comparison tests both ends, for any e. */
static void emit_getter(dcli_text *out, const dcli_body *body, int a)
{
    const dcli_param *param = &body->params[body->access[a].param];
    const char *type = dcli_kernel_type(param->type);
    bool affine = body->access[a].reach == DCLI_REACH_AFFINE;
    dcli_text_put(out, "static %s dcl_get%d(__global const %s *dcl_p, const long dcl_at, ", type, a, type);
    emit_each(out, param->rank, "const long dcl_l");
    dcli_text_put(out, ", ");
    emit_each(out, param->rank, "const long dcl_c");
    if (!affine) {
        dcli_text_put(out, ", ");
        emit_each(out, param->rank, "const long dcl_s");
    }
    dcli_text_put(out, ", __global long *dcl_report, ");
    emit_each(out, param->rank, "const long dcl_e");
    dcli_text_put(out, ")\n{\n    if (");
    for (int d = 0; d < param->rank; d++)
        dcli_text_put(out, "%s(ulong)dcl_e%d - (ulong)dcl_l%d < (ulong)dcl_c%d", d > 0 ? " && " : "", d, d, d);
    dcli_text_put(out, ")\n        return dcl_p[dcl_at");
    for (int d = 0; d < param->rank && !affine; d++)
        dcli_text_put(out, " + (dcl_e%d - dcl_l%d) * dcl_s%d", d, d, d);
    dcli_text_put(out, "];\n    if (dcl_is_first(dcl_report)) {\n        dcl_report[1] = %d;\n", a);
    for (int d = 0; d < param->rank; d++)
        dcli_text_put(out, "        dcl_report[%d] = dcl_e%d;\n", d + 2, d);
    dcli_text_put(out, "    }\n    return 0;\n}\n");
}

/* A name of the user's is no macro, of the prelude or of OpenCL C (M_PI), from here on. */
static void emit_names(dcli_text *out, const dcli_body *body)
{
    for (int p = 0; p < body->param_count; p++)
        dcli_text_put(out, "#undef %s\n", body->params[p].name);
    for (int m = 0; m < body->space_rank; m++)
        dcli_text_put(out, "#undef %s\n", dcli_index_name(body->index_of_axis[m]));
}

void dcli_emit_head(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "#pragma OPENCL FP_CONTRACT OFF\n");
    if (uses_type(body, DCL_DOUBLE))
        dcli_text_put(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    if (uses_type(body, DCL_HALF))
        dcli_text_put(out, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
    if (body->prelude[0] != '\0')
        dcli_text_put(out, "#line 1 \"prelude\"\n%s\n", body->prelude);
    dcli_text_put(out, "#line 1 \"generated\"\n");
    emit_names(out, body);
    if (!has_checks(body))
        return;
    dcli_text_put(out, "static int dcl_is_first(__global long *dcl_report)\n{\n"
                       "    return atomic_cmpxchg((volatile __global int *)dcl_report, 0, 1) == 0;\n}\n");
    for (int a = 0; a < body->access_count; a++)
        if (dcli_emit_is_checked(body, a, DCLI_VARIANT_CHECKED))
            emit_getter(out, body, a);
}

void dcli_emit_signature(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_text_put(out, "__kernel void %s(", kernel_names[variant]);
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "__global %s%s *restrict dcl_p%d, ", body->access[a].written ? "" : "const ",
                      dcli_kernel_type(body->params[body->access[a].param].type), a);
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE)
            dcli_text_put(out, "const %s %s, ", dcli_kernel_type(body->params[p].type), body->params[p].name);
}

/* The arguments of dcl_get<a> between the pointer and the subscripts. */
static void emit_limits(dcli_text *out, const dcli_body *body, int a, const char *row, const char *element)
{
    int rank = body->params[body->access[a].param].rank, at = dcli_row_access(body, a),
        bounds = dcli_row_bounds(body, a);
    if (body->access[a].reach == DCLI_REACH_AFFINE) {
        dcli_text_put(out, "%s", element);
        for (int d = 0; d < rank; d++)
            dcli_text_put(out, ", %s[%d]", row, bounds + d);
        for (int d = 0; d < rank; d++)
            dcli_text_put(out, ", %s[%d] - %s[%d]", row, bounds + rank + d, row, bounds + d);
    } else {
        dcli_text_put(out, "%s[%d]", row, at);
        for (int d = 0; d < 3 * rank; d++)
            dcli_text_put(out, ", %s[%d]", row, at + 1 + d);
    }
}

void dcli_emit_element(dcli_text *out, const dcli_body *body, dcli_variant variant, int a, const char *row,
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
        dcli_text_put(out, " dcl_p%d[%s]\n", a, element);
        return;
    }
    dcli_text_put(out, " dcl_get%d(dcl_p%d, ", a, a);
    emit_limits(out, body, a, row, element);
    dcli_text_put(out, ", dcl_report");
    for (int d = 0; d < rank; d++) {
        dcli_text_put(out, ", ");
        if (affine)
            dcli_affine_print(dcli_inside_subscript(body, a, d), body, out);
        else
            dcli_text_put(out, "dcl_e%d", d);
    }
    dcli_text_put(out, ")\n");
}

void dcli_emit_statements(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "{\n#line 1 \"body\"\n");
    dcli_rewrite(body, out, NULL);
    dcli_text_put(out, "\n#line 1 \"generated\"\n}\n");
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "#undef dcl_a%d\n", a);
}

char *dcli_body_source(const dcli_body *body, dcli_form form)
{
    dcli_text out = {0};
    dcli_emit_head(&out, body);
    if (form == DCLI_FORM_CPU)
        dcli_emit_cpu(&out, body);
    else
        dcli_emit_gpu(&out, body);
    return dcli_text_take(&out);
}

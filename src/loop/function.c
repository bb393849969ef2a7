/* loop/function.c - the functions that a nest may call: how many arguments they take, and of which types.
 *
 * OpenCL C overloads functions by type, and rejects a call that fits several overloads equally well: pow(2, 3) may
 * be that of floats or of doubles. Such calls are refused here, with their place in the nest, rather than later by
 * the compiler of a device. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/parser.h"

enum { MOST_ARGUMENTS = 3 };

/* What the arguments of a function must be. */
enum kind {
    REALS,        /* at least one real, not both float and double; integers are converted to the type of the reals */
    REAL_FIRST,   /* the first one real; the others become integers */
    ONE_INTEGER,  /* one type of integers */
    SOME_INTEGER, /* integers; uint only if all are */
    ONE_TYPE,     /* one type, of integers or reals */
    ANY
};

/* The functions of OpenCL C on scalars without side effects, whose value depends on their arguments alone. Source:
 * The OpenCL C Specification 1.2, sections 6.12.2 to 6.12.4 and 6.2.3. */
static const struct function {
    const char *names;
    int count; /* arguments */
    enum kind kind;
} functions[] = {
    {"acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp exp2 exp10 expm1 "
     "fabs "
     "floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc degrees "
     "radians sign isfinite isinf isnan isnormal signbit",
     1, REALS},
    {"atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder step", 2, REALS},
    {"fma mad mix smoothstep", 3, REALS},
    {"ldexp pown rootn", 2, REAL_FIRST},
    {"abs clz popcount", 1, ONE_INTEGER},
    {"rotate", 2, ONE_INTEGER},
    {"mul24", 2, SOME_INTEGER},
    {"mad24", 3, SOME_INTEGER},
    {"max min", 2, ONE_TYPE},
    {"clamp", 3, ONE_TYPE},
    {"convert_int convert_uint convert_long convert_ulong convert_float convert_double convert_char convert_uchar "
     "convert_short convert_ushort convert_int_rte convert_int_rtz convert_int_sat convert_uchar_sat convert_char_sat "
     "convert_long_rte convert_long_rtz",
     1, ANY}};

static const char *const type_names[] = {"?",      "char", "short", "int",  "long",  "uchar",
                                         "ushort", "uint", "ulong", "half", "float", "double"};
enum { TYPES = sizeof type_names / sizeof type_names[0] };

static const struct function *find(const dcli_loops_sign *sign)
{
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
        if (dcli_loops_sign_in(sign, functions[f].names))
            return &functions[f];
    return NULL;
}

bool dcli_loops_is_function(const dcli_loops_sign *sign) { return find(sign) != NULL; }

/* ---- types of expressions ------------------------------------------------------------------------------------------- */

static bool is_real(dcl_type type) { return type == DCL_FLOAT || type == DCL_DOUBLE; }

static dcl_type named(const char *name, size_t length)
{
    for (int t = 1; t < TYPES; t++)
        if (strlen(type_names[t]) == length && strncmp(name, type_names[t], length) == 0)
            return (dcl_type)t;
    return length == 6 && strncmp(name, "size_t", 6) == 0 ? DCL_UINT64 : DCL_INT32; /* bool */
}

/* The type of a number as it is written. */
static dcl_type type_of_number(const char *text)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (strpbrk(text, hex ? ".pP" : ".eE") != NULL)
        return strpbrk(hex ? text + strcspn(text, "pP") : text, "fF") != NULL ? DCL_FLOAT : DCL_DOUBLE;
    bool is_unsigned = strpbrk(text, "uU") != NULL;
    unsigned long long value = strtoull(text, NULL, 0);
    bool is_long = strpbrk(text, "lL") != NULL || value > (is_unsigned || hex ? UINT32_MAX : (uint64_t)INT32_MAX);
    if (hex && !is_long && value > INT32_MAX)
        is_unsigned = true;
    return is_long ? is_unsigned ? DCL_UINT64 : DCL_INT64 : is_unsigned ? DCL_UINT32 : DCL_INT32;
}

/* The type of both sides of an operator, after C's usual conversions. */
static dcl_type common(dcl_type a, dcl_type b)
{
    static const dcl_type order[] = {DCL_DOUBLE, DCL_FLOAT, DCL_UINT64, DCL_INT64, DCL_UINT32};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        if (a == order[k] || b == order[k])
            return order[k];
    return DCL_INT32;
}

static dcl_type type_of(const dcli_loops_tree *tree, const dcli_loops_expr *expr)
{
    switch (expr->kind) {
    case DCLI_LOOPS_EXPR_NUMBER:
        return type_of_number(expr->text);
    case DCLI_LOOPS_EXPR_COUNTER:
        return tree->loop[expr->symbol].is_long ? DCL_INT64 : DCL_INT32;
    case DCLI_LOOPS_EXPR_VALUE:
    case DCLI_LOOPS_EXPR_ELEMENT:
        return tree->name[expr->symbol].type;
    case DCLI_LOOPS_EXPR_SCALAR:
        return named(tree->scalar[expr->symbol].type, strlen(tree->scalar[expr->symbol].type));
    case DCLI_LOOPS_EXPR_CALL:
        return expr->type;
    case DCLI_LOOPS_EXPR_UNARY:
        return expr->text[0] == '!' ? DCL_INT32 : common(type_of(tree, expr->first), DCL_INT32);
    case DCLI_LOOPS_EXPR_BINARY: {
        bool shift = strcmp(expr->text, "<<") == 0 || strcmp(expr->text, ">>") == 0;
        if (shift)
            return common(type_of(tree, expr->first), DCL_INT32);
        if (strchr("<>=!", expr->text[0]) != NULL || strcmp(expr->text, "&&") == 0 || strcmp(expr->text, "||") == 0)
            return DCL_INT32;
        return common(type_of(tree, expr->first), type_of(tree, expr->first->next));
    }
    case DCLI_LOOPS_EXPR_CHOICE:
        return common(type_of(tree, expr->first->next), type_of(tree, expr->first->next->next));
    case DCLI_LOOPS_EXPR_CAST:
        return named(expr->text, strlen(expr->text));
    }
    return DCL_INT32;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

static bool refuse(dcli_loops_parser *parser, const dcli_loops_expr *call, const char *way, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool refuse(dcli_loops_parser *parser, const dcli_loops_expr *call, const char *way, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    dcli_loops_complain(parser->complaints, call->place, "argument", "%s", why);
    dcli_loops_note(parser->complaints, "%s", way);
    return false;
}

/* @param type_out  the type of the real arguments */
static bool check_reals(dcli_loops_parser *parser, const dcli_loops_expr *call, const dcl_type types[], int count,
                        dcl_type *type_out)
{
    dcl_type found = (dcl_type)0;
    for (int k = 0; k < count; k++) {
        if (is_real(types[k]) && found != (dcl_type)0 && types[k] != found)
            return refuse(parser, call, "cast one of them, as (double)x[i]; a number of type float is written 2.0f",
                          "%s is given arguments of types %s and %s; expected one type", call->text, type_names[found],
                          type_names[types[k]]);
        found = is_real(types[k]) ? types[k] : found;
    }
    *type_out = found;
    return found != (dcl_type)0 ||
           refuse(parser, call, "write a real number, as 2.0, or a cast, as (double)i",
                  "%s takes real numbers, but is given %s", call->text, count > 1 ? "integers only" : "an integer");
}

static bool check_types(dcli_loops_parser *parser, const dcli_loops_expr *call, enum kind kind, const dcl_type types[],
                        int count, dcl_type *type_out)
{
    *type_out = types[0];
    if (kind == REALS)
        return check_reals(parser, call, types, count, type_out);
    if (kind == REAL_FIRST)
        return check_reals(parser, call, types, 1, type_out);
    for (int k = 0; k < count && kind != ANY; k++) {
        if (kind != ONE_TYPE && is_real(types[k]))
            return refuse(parser, call,
                          strcmp(call->text, "abs") == 0 ? "use fabs for floats and doubles"
                                                         : "cast it to an integer, as (int)x[i]",
                          "%s takes integers, but is given a %s", call->text, type_names[types[k]]);
        bool differ = types[k] != types[0];
        if (kind == SOME_INTEGER ? differ && (types[k] == DCL_UINT32 || types[0] == DCL_UINT32) : differ)
            return refuse(parser, call,
                          is_real(types[0]) || is_real(types[k])
                              ? "write 0.0 in place of 0, or use fmax and fmin, which take integers beside reals"
                          : kind == SOME_INTEGER ? "cast one of them, as (int)u"
                                                 : "cast one of them, as (long)i",
                          "%s is given arguments of types %s and %s; expected one type", call->text,
                          type_names[types[0]], type_names[types[k]]);
    }
    return true;
}

/* The type of a call with valid arguments. @param type  that of the arguments. */
static dcl_type result_of(const dcli_loops_expr *call, dcl_type type)
{
    if (strncmp(call->text, "convert_", 8) == 0)
        return named(call->text + 8, strcspn(call->text + 8, "_"));
    if (strcmp(call->text, "abs") == 0)
        return DCL_INT64; /* as it is generated */
    return strncmp(call->text, "is", 2) == 0 || strcmp(call->text, "signbit") == 0 ? DCL_INT32 : type;
}

bool dcli_loops_check_call(dcli_loops_parser *parser, dcli_loops_expr *call, const dcli_loops_sign *sign)
{
    const struct function *function = find(sign);
    dcl_type types[MOST_ARGUMENTS] = {(dcl_type)0}, type;
    int count = 0;
    for (const dcli_loops_expr *item = call->first; item != NULL; item = item->next, count++)
        if (count < MOST_ARGUMENTS)
            types[count] = type_of(parser->tree, item);
    if (count != function->count)
        return refuse(parser, call, "the functions are those of OpenCL C, on numbers",
                      "%s is given %d argument%s; expected %d", call->text, count, count == 1 ? "" : "s",
                      function->count);
    bool right = check_types(parser, call, function->kind, types, count, &type);
    call->type = right ? result_of(call, type) : DCL_INT32;
    return right;
}

/* kernel/names.c - names that a body and its parameters may use. */
#include "kernel/names.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "kernel/words.h"

static const char index_names[DCL_MAX_RANK][2] = {"i", "j", "k", "l", "m", "n", "o", "p"};

/* Source: The OpenCL C Specification 1.2, section 6.1.9 (keywords), 6.1.1 to 6.1.3 (types). */
static const char type_words[] =
    " void bool char short int long float double half signed unsigned size_t ptrdiff_t intptr_t uintptr_t uchar ushort "
    "uint ulong const volatile restrict struct union enum typedef static extern inline register auto global local "
    "constant private __global __local __constant __private __const __restrict ";
static const char vector_words[] = " char uchar short ushort int uint long ulong float double half ";
static const char other_keywords[] =
    " break case continue default do else for goto if return sizeof switch while kernel __kernel read_only write_only "
    "read_write __read_only __write_only __read_write image2d_t image3d_t sampler_t event_t true false NULL INFINITY "
    "NAN "
    "HUGE_VAL HUGE_VALF MAXFLOAT defined ";

/* Prefixes reserved for the compiler or generated code. */
static const char *const reserved_prefixes[] = {"__", "CLK_", "atomic_", "vload", "vstore"};

struct refused {
    const char *words, *why;
};

static const char apart[] = "each index of a body stands for itself; write two bodies";
static const char no_item[] = "which work-item computes an index is not fixed; use i, j, ...";

/* Families of refused functions, including those of OpenCL 2 and 3 and of subgroups. */
static const struct refused refused_prefixes[] = {
    {"work_group_", apart},
    {"sub_group_", apart},
    {"intel_sub_group_", apart},
    {"async_work_group_", apart},
    {"mem_fence", apart},
    {"read_mem_fence", apart},
    {"write_mem_fence", apart},
    {"atomic_work_item_fence", apart},
    {"get_global_", no_item},
    {"get_local_", no_item},
    {"get_group_", no_item},
    {"get_num_groups", no_item},
    {"get_num_sub_groups", no_item},
    {"get_sub_group_", no_item},
    {"get_max_sub_group_", no_item},
    {"get_enqueued_", no_item},
};

static const struct refused refused_words[] = {
    {" return ", "a body is no function and ends at its last statement; use if"},
    {" goto ", "a body runs from top to bottom; use if and loops"},
    {" barrier wait_group_events prefetch enqueue_kernel enqueue_marker ", apart},
    {" get_work_dim ", no_item},
    {" local __local kernel __kernel ",
     "a body is one part of a kernel that is generated; put functions into a DCL_PRELUDE"},
    {" asm __asm __asm__ _Pragma __pragma typeof __typeof __typeof__ __auto_type _Atomic _Generic ",
     "a body is plain OpenCL C"},
    {" enum ", "its names are like variables; put it into a DCL_PRELUDE"},
};

static bool listed(const char *words, const char *name, size_t length)
{
    for (const char *at = words; (at = strchr(at, ' ')) != NULL && at[1] != '\0'; at++)
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == ' ')
            return true;
    return false;
}

int dcli_name_index(const char *name, size_t length)
{
    for (int n = 0; n < DCL_MAX_RANK; n++)
        if (length == 1 && *name == index_names[n][0])
            return n;
    return -1;
}

const char *dcli_index_name(int index) { return index_names[index]; }

bool dcli_name_is_type(const char *name, size_t length)
{
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)name[length - 1 - digits]))
        digits++;
    if (digits > 0)
        return listed(" 2 3 4 8 16 ", name + length - digits, digits) && listed(vector_words, name, length - digits);
    return listed(type_words, name, length);
}

const char *dcli_name_refused(const char *name, size_t length)
{
    if (length >= 4 && (strncmp(name, "dcl_", 4) == 0 || strncmp(name, "DCL_", 4) == 0))
        return "names that begin with dcl_ or DCL_ belong to the library; choose another";
    for (size_t r = 0; r < sizeof refused_prefixes / sizeof refused_prefixes[0]; r++) {
        size_t prefix = strlen(refused_prefixes[r].words);
        if (length >= prefix && strncmp(name, refused_prefixes[r].words, prefix) == 0)
            return refused_prefixes[r].why;
    }
    for (size_t r = 0; r < sizeof refused_words / sizeof refused_words[0]; r++)
        if (listed(refused_words[r].words, name, length))
            return refused_words[r].why;
    return NULL;
}

const char *dcli_access_name(dcl_access access)
{
    static const char *const names[] = {"?",           "DCL_OUT",        "DCL_IN",     "DCL_INOUT",   "DCL_IN_ALL",
                                        "DCL_IN_ROWS", "DCL_IN_COLUMNS", "DCL_VALUE",  "DCL_PRELUDE", "DCL_IN_KEPT",
                                        "DCL_IN_HALO", "DCL_IN_CROSS",   "DCL_IN_BOX", "DCL_IN_AT",   "DCL_IN_FUNCTION",
                                        "DCL_RESULT",  "DCL_RESULT",     "DCL_RESULT", "DCL_OPERATOR"};
    return (unsigned)access < sizeof names / sizeof names[0] ? names[access] : "?";
}

static bool is_identifier(const char *name)
{
    if (*name == '\0' || isdigit((unsigned char)*name))
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static bool is_reserved(const char *name)
{
    size_t length = strlen(name);
    for (size_t p = 0; p < sizeof reserved_prefixes / sizeof reserved_prefixes[0]; p++)
        if (strncmp(name, reserved_prefixes[p], strlen(reserved_prefixes[p])) == 0)
            return true;
    return dcli_name_is_type(name, length) || listed(other_keywords, name, length) ||
           dcli_name_refused(name, length) != NULL;
}

const char *dcli_operator_split(const char *name, char word_out[64])
{
    const char *blank = strchr(name, ' ');
    size_t length = blank != NULL ? (size_t)(blank - name) : strlen(name);
    snprintf(word_out, 64, "%.*s", (int)(length < 63 ? length : 63), name);
    return blank != NULL ? blank + 1 : "";
}

/* Whether a text is a number or a name, perhaps with a sign. */
static bool is_constant(const char *text)
{
    text += *text == '-' || *text == '+';
    if (!isalnum((unsigned char)*text) && *text != '_' && *text != '.')
        return false;
    bool name = isalpha((unsigned char)*text) || *text == '_';
    for (size_t n = 0; text[n] != '\0'; n++)
        if (!isalnum((unsigned char)text[n]) && text[n] != '_' &&
            (name || (text[n] != '.' && (strchr("+-", text[n]) == NULL || strchr("eEpP", text[n - 1]) == NULL))))
            return false;
    return !name || dcli_name_refused(text, strlen(text)) == NULL;
}

/* Whether two parameters have the same name. That of an operator ends at a blank, before the neutral element. */
static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, " ");
    return strcspn(b, " ") == length && memcmp(a, b, length) == 0;
}

/* Check an operator of the program. */
dcl_status dcli_operator_check(int number, const dcli_param params[])
{
    char word[64];
    const char *neutral = dcli_operator_split(params[number].name, word);
    if (!is_identifier(word) || is_reserved(word) || dcli_name_index(word, strlen(word)) >= 0 ||
        strcmp(word, "min") == 0 || strcmp(word, "max") == 0 || strcmp(word, "any") == 0 || strcmp(word, "all") == 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d, a DCL_OPERATOR, is called '%s'; expected the name of a function of the "
                         "DCL_PRELUDE that takes two values and returns their combination",
                         number, word);
    if (!is_constant(neutral))
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the neutral element of operator %s is '%s'; expected one constant, such as 0.0f, -INFINITY or "
            "1",
            word, neutral);
    for (int p = 0; p < number; p++)
        if (same_name(params[number].name, params[p].name))
            return DCLI_FAIL(DCL_ERR_INVALID, "arguments %d and %d are both called %s; expected different names", p,
                             number, word);
    return DCL_OK;
}

bool dcli_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (length == 0)
        return false;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        if ((at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) && !isalnum((unsigned char)at[length]) &&
            at[length] != '_')
            return true;
    return false;
}

/* Whether the name at word w is that of a #define. */
static bool is_macro_defined(const dcli_words *words, int64_t w)
{
    return w > 1 && dcli_word_is(&words->word[w - 1], "define") && dcli_word_is(&words->word[w - 2], "#");
}

/* Whether the brace at word w opens a function's body, a struct or a union. What these declare is no constant of the prelude. */
static bool opens_local(const dcli_words *words, int64_t w)
{
    const dcli_word *word = words->word;
    return (w > 0 && (dcli_word_is(&word[w - 1], ")") || dcli_word_in(&word[w - 1], " struct union "))) ||
           (w > 1 && dcli_word_in(&word[w - 2], " struct union "));
}

/* Whether a prelude defines a name: by a #define, or outside of parameters, functions and structs. The braces of an enum are no
 * function. A prelude that cannot be cut into words is refused elsewhere. */
static bool is_defined(const char *prelude, const char *name)
{
    enum { DEEPEST = 64 };
    const dcli_origin origin = {.text = prelude, .what = "prelude "};
    dcli_words words = {0};
    bool local[DEEPEST] = {false}, directive = false, found = false;
    int depth = 0, inside = 0;
    if (dcli_words_cut(&origin, &words) != DCL_OK) {
        dcli_error_clear();
        return true;
    }
    for (int64_t w = 0; w < words.count && !found; w++) {
        const dcli_word *word = &words.word[w];
        directive = word->first ? dcli_word_is(word, "#") : directive;
        if (word->kind == DCLI_WORD_NAME && dcli_word_is(word, name))
            found = directive ? is_macro_defined(&words, w) : inside == 0;
        if (directive)
            continue;
        if (dcli_word_in(word, " ( { [ ") && depth < DEEPEST) {
            local[depth] = !dcli_word_is(word, "{") || opens_local(&words, w);
            inside += local[depth++];
        } else if (dcli_word_in(word, " ) } ] ") && depth > 0) {
            inside -= local[--depth];
        }
    }
    dcli_words_free(&words);
    return found;
}

/* The constants that OpenCL C defines: OpenCL C 1.2, 6.12.2.1 and 6.12.3. */
static const char constants[] =
    " true false INFINITY NAN MAXFLOAT HUGE_VALF HUGE_VAL"
    " CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN UINT_MAX"
    " LONG_MAX LONG_MIN ULONG_MAX"
    " FLT_DIG FLT_MANT_DIG FLT_MAX_10_EXP FLT_MAX_EXP FLT_MIN_10_EXP FLT_MIN_EXP FLT_RADIX FLT_MAX FLT_MIN FLT_EPSILON"
    " DBL_DIG DBL_MANT_DIG DBL_MAX_10_EXP DBL_MAX_EXP DBL_MIN_10_EXP DBL_MIN_EXP DBL_RADIX DBL_MAX DBL_MIN DBL_EPSILON"
    " M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2"
    " M_E_F M_LOG2E_F M_LOG10E_F M_LN2_F M_LN10_F M_PI_F M_PI_2_F M_PI_4_F M_1_PI_F M_2_PI_F M_2_SQRTPI_F M_SQRT2_F"
    " M_SQRT1_2_F FP_ILOGB0 FP_ILOGBNAN ";

/* Arguments are no constants: where an operator starts from its neutral element, kernels have no scalars. */
static bool is_known_constant(const char *text, int count, const dcli_param params[], const char *prelude)
{
    const char *name = text + (*text == '-' || *text == '+');
    if (isdigit((unsigned char)*name) || *name == '.')
        return true;
    for (int p = 0; p < count; p++)
        if (strcmp(params[p].name, name) == 0)
            return false;
    return dcli_has_word(constants, name) || is_defined(prelude, name);
}

dcl_status dcli_neutrals_check(int count, const dcli_param params[], const char *prelude)
{
    for (int p = 0; p < count; p++) {
        char word[64];
        if (params[p].access != DCL_ACCESS_OPERATOR)
            continue;
        const char *neutral = dcli_operator_split(params[p].name, word);
        if (!is_known_constant(neutral, count, params, prelude))
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "the neutral element of operator %s is '%s', a name that neither OpenCL C nor a DCL_PRELUDE defines; "
                "expected "
                "one constant, such as 0.0f, -INFINITY or 1; an argument, such as a DCL_VALUE, is not a constant",
                word, neutral);
    }
    return DCL_OK;
}

/* Check the name of a parameter, and that no other one has it. @param reserved  how many index names, from i on, parameters
 * may not have */
static dcl_status check_name(int number, const dcli_param params[], int reserved)
{
    const char *name = params[number].name;
    size_t length = strlen(name);
    if (params[number].access == DCL_ACCESS_OPERATOR)
        return dcli_operator_check(number, params);
    if (!is_identifier(name))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d is called '%s'; expected an identifier (letters, digits, _); give "
                         "it one with DCL_IN_AS, DCL_OUT_AS, ...",
                         number, name);
    int index = dcli_name_index(name, length);
    if (index >= 0 && index < reserved)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d is called %s, which names index %d of the body; give it another "
                         "name with DCL_IN_AS, DCL_VALUE_AS, ...",
                         number, name, index);
    if (is_reserved(name))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d is called %s, a reserved name; give it another name with "
                         "DCL_IN_AS, DCL_VALUE_AS, ...",
                         number, name);
    for (int other = 0; other < number; other++)
        if (same_name(params[other].name, name))
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "arguments %d and %d are both called %s; expected different names; give one "
                             "another name with DCL_IN_AS, ...",
                             other, number, name);
    return DCL_OK;
}

static dcl_status check_kind(int number, const dcli_param *param)
{
    if (param->access < DCL_ACCESS_OUT || param->access > DCL_ACCESS_OPERATOR || param->access == DCL_ACCESS_PRELUDE)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d (%s) has access %d; expected one of the DCL_ACCESS_ values of an "
                         "array or a scalar",
                         number, param->name, (int)param->access);
    if (param->type < DCL_INT8 || param->type > DCL_DOUBLE)
        return DCLI_FAIL(DCL_ERR_INVALID, "argument %d (%s) has type %d; expected DCL_INT8 ... DCL_DOUBLE", number,
                         param->name, (int)param->type);
    bool scalar = dcli_param_is_scalar(param) && !(dcli_param_is_result(param) && param->rank > 0);
    if (scalar ? param->rank != 0 : param->rank < 1 || param->rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "argument %d (%s) has rank %d; expected %s", number, param->name, param->rank,
                         scalar ? "0 for a scalar" : "1 to 8 for an array");
    return DCL_OK;
}

static dcl_status fail_beside(const dcli_param *output)
{
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "%s is %s beside a DCL_RESULT; expected outputs or results, not both; reduce into %s with a call of "
        "its own",
        output->name, dcli_access_name(output->access), output->name);
}

/* Check the parameters of a reduction to values. They may have the names of indices, which are then no indices. */
static dcl_status check_reduction(int count, const dcli_param params[], int results)
{
    if (results > DCLI_MAX_RESULTS)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%d arguments are DCL_RESULT; expected at most %d; reduce the others in a call of their own",
                         results, DCLI_MAX_RESULTS);
    dcl_status status = DCL_OK;
    bool keyed = false;
    for (int p = 0; p < count; p++)
        keyed |= dcli_param_is_result(&params[p]) && params[p].rank > 0 && params[p].turned == 0;
    for (int p = 0; p < count && status == DCL_OK; p++) {
        if (keyed && dcli_param_is_output(&params[p]))
            return fail_beside(&params[p]);
        status = check_kind(p, &params[p]);
        if (status == DCL_OK)
            status = check_name(p, params, 0);
    }
    return status;
}

/* Check an output of a reduction along axes. @param first  the first output. */
static dcl_status check_reduced_output(const dcli_param *param, const dcli_param *first)
{
    if (param->type == DCL_HALF)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "output %s has elements of type half; expected an integer type, float or double; reduce into "
                         "floats and convert them",
                         param->name);
    if (param->rank != first->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "output %s has %d axes, the first output %s has %d; expected equal ranks; "
                         "reduce into them with two calls",
                         param->name, param->rank, first->name, first->rank);
    return DCL_OK;
}

dcl_status dcli_along_params_check(int count, const dcli_param params[])
{
    int outputs = 0, first = -1;
    dcl_status status = DCL_OK;
    if (count < 1 || count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "a body has %d arguments; expected 1 to %d", count, DCLI_MAX_PARAMS);
    for (int p = 0; p < count && status == DCL_OK; p++) {
        bool output = dcli_param_is_output(&params[p]);
        status = check_kind(p, &params[p]);
        if (status == DCL_OK)
            status = check_name(p, params, 0);
        if (output && outputs++ == 0)
            first = p;
        if (status == DCL_OK && output)
            status = check_reduced_output(&params[p], &params[first]);
    }
    for (int p = 0; p < count && status == DCL_OK && first >= 0; p++)
        if (dcli_param_is_result(&params[p]))
            status = fail_beside(&params[first]);
    if (status == DCL_OK && (outputs < 1 || outputs > DCLI_MAX_RESULTS))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%d arguments are outputs; expected 1 to %d; reduce into the others in a call of their own",
                         outputs, DCLI_MAX_RESULTS);
    return status;
}

dcl_status dcli_params_check(int count, const dcli_param params[], bool tile_kernel)
{
    if (count < 1 || count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "a body has %d arguments; expected 1 to %d", count, DCLI_MAX_PARAMS);
    int first = 0, results = 0;
    while (first < count && !dcli_param_is_output(&params[first]))
        first++;
    for (int p = 0; p < count; p++)
        results += dcli_param_is_result(&params[p]);
    if (results > 0 && tile_kernel)
        return DCLI_FAIL(DCL_ERR_INVALID, "a tile kernel has a DCL_RESULT; expected a body: dcl_reduce()");
    if (results > 0)
        return check_reduction(count, params, results);
    if (first == count)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "none of the %d arguments is an output; expected at least one DCL_OUT or "
                         "DCL_INOUT: it gives the index space",
                         count);
    dcl_status status = DCL_OK;
    for (int p = 0; p < count && status == DCL_OK; p++) {
        status = check_kind(p, &params[p]);
        if (status == DCL_OK)
            status = check_name(p, params, tile_kernel ? 0 : params[first].rank);
    }
    for (int p = first; p < count && status == DCL_OK; p++)
        if (dcli_param_is_output(&params[p]) && params[p].rank != params[first].rank)
            status = DCLI_FAIL(DCL_ERR_INVALID,
                               "output %s has %d axes, the first output %s has %d; expected equal ranks; "
                               "write them with two bodies",
                               params[p].name, params[p].rank, params[first].name, params[first].rank);
    return status;
}

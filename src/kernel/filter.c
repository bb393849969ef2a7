/* kernel/filter.c - refuse dangerous constructs in a client's text.
 * Words are checked as written, also in inactive branches, and again after macro replacement. */
#include "kernel/filter.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "kernel/expand.h"
#include "kernel/names.h"
#include "kernel/prototype.h"

static const char plain[] = "it is no part of OpenCL C, and DCL passes it to no compiler";

/* ---- names -------------------------------------------------------------------------------------------------------- */

/* Harmless names that begin with two underscores. Such names belong to compilers: others are refused, except those in
 * upper case. */
static const char known_names[] =
    " __global __local __constant __private __generic __kernel __const __restrict __volatile __inline __inline__ "
    "__signed __read_only __write_only __read_write __attribute__ __func__ __builtin_prefetch "
    "__builtin_nontemporal_store "
    "__builtin_expect __builtin_popcount __builtin_popcountl __builtin_clz __builtin_clzl __builtin_ctz __builtin_ctzl "
    "__builtin_constant_p __builtin_unreachable __clang__ __opencl_c_fp64 __opencl_c_images __opencl_c_subgroups "
    "__opencl_c_int64 __opencl_c_atomic_order_acq_rel __opencl_c_generic_address_space __opencl_c_program_scope_global_"
    "variables __opencl_c_work_group_collective_functions ";

/* Whether a name is in upper case, as predefined macros are: __OPENCL_VERSION__. */
static bool is_upper_case(const dcli_word *word)
{
    for (int c = 0; c < word->length; c++)
        if (islower((unsigned char)word->at[c]))
            return false;
    return true;
}

static dcl_status check_name(const dcli_word *word)
{
    if (word->kind != DCLI_WORD_NAME)
        return DCL_OK;
    if (dcli_word_in(word, " asm __asm __asm__ "))
        return dcli_word_fail(word, "inline assembly cannot stand in a kernel: %s", plain);
    if (dcli_word_in(word, " extern typeof gnu clang _Clang __VA_OPT__ "))
        return dcli_word_fail(word, "%.*s cannot stand in a kernel: %s; choose another name, or leave it out",
                              word->length, word->at, plain);
    if (word->length > 1 && memcmp(word->at, "__", 2) == 0 && !is_upper_case(word) && !dcli_word_in(word, known_names))
        return dcli_word_fail(word,
                              "%.*s begins with two underscores, as names of compilers do, and is none that DCL passes "
                              "to one; choose another name",
                              word->length, word->at);
    return DCL_OK;
}

/* ---- pragmas ------------------------------------------------------------------------------------------------------ */

static dcl_status refuse_pragma(const dcli_word *word)
{
    return dcli_word_fail(word,
                          "this pragma is none that DCL passes to a compiler; expected `OPENCL EXTENSION cl_... : "
                          "enable`, `OPENCL FP_CONTRACT ON` or `unroll`");
}

/* Check a pragma: the words after #pragma, or in _Pragma. */
static dcl_status check_pragma(const dcli_word *at, const dcli_word word[], int64_t count)
{
    for (int64_t w = 0; w < count; w++)
        if (word[w].kind == DCLI_WORD_TEXT || (word[w].kind == DCLI_WORD_SIGN && !dcli_word_in(&word[w], " ( ) : ")))
            return refuse_pragma(at);
    if (count >= 1 && dcli_word_in(&word[0], " unroll nounroll "))
        return DCL_OK;
    if (count >= 2 && dcli_word_in(&word[0], " OPENCL STDC ") && dcli_word_is(&word[1], "FP_CONTRACT"))
        return DCL_OK;
    if (count >= 3 && dcli_word_is(&word[0], "OPENCL") && dcli_word_is(&word[1], "EXTENSION") &&
        (dcli_word_is(&word[2], "all") || (word[2].length > 3 && memcmp(word[2].at, "cl_", 3) == 0)))
        return DCL_OK;
    return refuse_pragma(at);
}

/* Check _Pragma("..."): a literal whose text must be allowed after #pragma. */
static dcl_status check_operator(const dcli_words *words, int64_t w)
{
    const dcli_word *at = &words->word[w], *text = at + 2;
    char pragma[128];
    if (w + 3 >= words->count || !dcli_word_is(at + 1, "(") || text->kind != DCLI_WORD_TEXT || text->at[0] != '"' ||
        !dcli_word_is(at + 3, ")") || text->length >= (int)sizeof pragma ||
        memchr(text->at, '\\', (size_t)text->length) != NULL)
        return refuse_pragma(at);
    memcpy(pragma, text->at + 1, (size_t)text->length - 2);
    pragma[text->length - 2] = '\0';
    dcli_origin origin = {.text = pragma, .what = ""};
    dcli_words inside;
    dcl_status status = dcli_words_cut(&origin, &inside);
    if (status == DCL_ERR_BODY)
        return refuse_pragma(at);
    if (status == DCL_OK)
        status = check_pragma(at, inside.word, inside.count);
    dcli_words_free(&inside);
    return status;
}

/* ---- directives --------------------------------------------------------------------------------------------------- */

/* Check the name that a directive defines. Names that generated code uses after the prelude are refused, because a
 * macro would change that code. */
static dcl_status check_macro(const dcli_word *name, bool there)
{
    static const char used[] =
        " if else for while do switch case default break continue return sizeof kernel __kernel __attribute__ defined "
        "min max fma fabs isfinite isnan signbit NAN INFINITY CHAR_MIN CHAR_MAX UCHAR_MAX SHRT_MIN SHRT_MAX USHRT_MAX "
        "INT_MIN INT_MAX UINT_MAX LONG_MIN LONG_MAX ULONG_MAX convert_double8 vload2 vload4 vload8 vload16 vstore2 "
        "vstore4 "
        "vstore8 vstore16 atomic_cmpxchg aligned reqd_work_group_size barrier CLK_LOCAL_MEM_FENCE always_inline OPENCL "
        "EXTENSION FP_CONTRACT unroll nounroll __builtin_prefetch __builtin_nontemporal_store __clang__ _Pragma "
        "atom_cmpxchg atom_xchg mem_fence CLK_GLOBAL_MEM_FENCE get_local_id get_group_id get_num_groups noinline cold "
        "unroll_count ";
    if (!there || name->kind != DCLI_WORD_NAME)
        return dcli_word_fail(name, "the name of a macro is missing here");
    bool reinterprets = name->length > 3 && strncmp(name->at, "as_", 3) == 0; /* as_long() and others */
    if (dcli_word_in(name, used) || reinterprets || dcli_name_is_type(name->at, (size_t)name->length) ||
        dcli_name_refused(name->at, (size_t)name->length) != NULL)
        return dcli_word_fail(name,
                              "%.*s cannot be a macro: generated code uses the name, or may; choose another, and write "
                              "that one in the body",
                              name->length, name->at);
    return DCL_OK;
}

static dcl_status check_directive(const dcli_words *words, int64_t at, int64_t end)
{
    const dcli_word *name = &words->word[at + 1];
    if (end == at + 1)
        return DCL_OK;
    if (dcli_word_in(name, " include include_next import embed "))
        return dcli_word_fail(name,
                              "#%.*s reads a file, and a kernel reads none; put the text of the file into the prelude",
                              name->length, name->at);
    if (dcli_word_is(name, "pragma"))
        return check_pragma(name, name + 1, end - at - 2);
    if (dcli_word_in(name, " define undef "))
        return check_macro(end > at + 2 ? name + 1 : name, end > at + 2);
    if (!dcli_word_in(name, " if ifdef ifndef elif elifdef elifndef else endif "))
        return dcli_word_fail(name,
                              "#%.*s cannot stand in a prelude; expected #define, #undef, #if and those that belong to "
                              "it, or #pragma OPENCL",
                              name->length, name->at);
    return DCL_OK;
}

/* ---- words as written --------------------------------------------------------------------------------------------- */

/* Check a sign as written: # and ## only in directives and definitions. */
static dcl_status check_sign(const dcli_words *words, int64_t w, bool in_definition)
{
    const dcli_word *word = &words->word[w];
    bool again = w + 1 < words->count && !word[1].first && dcli_word_is(word + 1, word->at[0] == '[' ? "[" : ":");
    if (dcli_word_in(word, " # ## ") && !in_definition)
        return dcli_word_fail(word, "%.*s cannot stand here; a directive begins a line of the prelude", word->length,
                              word->at);
    if (again && dcli_word_in(word, " [ : "))
        return dcli_word_fail(word, "attributes in double brackets cannot stand in a kernel: %s", plain);
    return DCL_OK;
}

static dcl_status check_words(const dcli_words *words, bool directives)
{
    dcl_status status = DCL_OK;
    int64_t end = 0; /* end of the directive that contains w */
    bool defines = false;
    for (int64_t w = 0; w < words->count && status == DCL_OK; w++) {
        const dcli_word *word = &words->word[w];
        if (directives && word->first && dcli_word_is(word, "#")) {
            end = dcli_directive_end(words, w);
            defines = end > w + 1 && dcli_word_is(word + 1, "define");
            status = check_directive(words, w, end);
            w += end > w + 1; /* skip the directive's name, which has been checked */
            continue;
        }
        if (dcli_word_is(word, "_Pragma"))
            status = check_operator(words, w);
        else
            status = word->kind == DCLI_WORD_SIGN ? check_sign(words, w, defines && w < end) : check_name(word);
    }
    return status;
}

/* ---- words with macros replaced ----------------------------------------------------------------------------------- */

/* Check an attribute at word w: DCL passes only these, and refuses strings in their arguments. Names in arguments are
 * allowed, as in vec_type_hint(float4). */
static dcl_status check_attribute(const dcli_words *words, int64_t w)
{
    static const char known[] =
        " aligned packed endian vec_type_hint work_group_size_hint reqd_work_group_size opencl_unroll_hint "
        "always_inline unused const pure overloadable may_alias nosvm fallthrough intel_reqd_sub_group_size ";
    const dcli_word *at = &words->word[w];
    int depth = 0;
    for (w++; w < words->count; w++) {
        const dcli_word *word = &words->word[w];
        depth += dcli_word_is(word, "(");
        depth -= dcli_word_is(word, ")");
        bool odd = depth < 2 && !dcli_word_in(word, " ( ) ");
        odd |= word->kind == DCLI_WORD_TEXT;
        odd |= depth == 2 && word->kind == DCLI_WORD_NAME && !dcli_word_in(word, known);
        if (odd)
            return dcli_word_fail(word,
                                  "this attribute is none that DCL passes to a compiler; expected aligned, packed, "
                                  "always_inline, reqd_work_group_size, ...");
        if (depth == 0)
            return DCL_OK;
    }
    return dcli_word_fail(at, "this attribute is not closed; add the missing )");
}

static dcl_status check_expanded(void *user, const dcli_words *words, int64_t body)
{
    (void)user;
    dcl_status status = DCL_OK;
    for (int64_t w = 0; w < words->count && status == DCL_OK; w++) {
        const dcli_word *word = &words->word[w];
        if (dcli_word_is(word, "_Pragma")) /* _Pragma may also have been formed by ## */
            status = check_operator(words, w);
        else if (dcli_word_is(word, "__attribute__"))
            status = check_attribute(words, w);
        else
            status = word->kind == DCLI_WORD_NAME ? check_name(word) : DCL_OK;
    }
    return status == DCL_OK ? dcli_prototypes_check(words, body) : status;
}

/* Whether generated code undefines macros of this name before the body: names of arguments and indices. */
static bool is_own(const void *user, const dcli_word *name)
{
    const dcli_body *body = user;
    int index = dcli_name_index(name->at, (size_t)name->length);
    for (int p = 0; p < body->param_count; p++)
        if (dcli_word_is(name, body->params[p].name))
            return true;
    return index >= 0 && index < body->space_rank && !body->tile_kernel;
}

dcl_status dcli_filter_check(const dcli_body *body)
{
    const dcli_origin prelude = {.text = body->prelude, .what = "prelude "}, text = {.text = body->text, .what = ""};
    dcli_words prelude_words = {0}, text_words = {0};
    dcl_status status = dcli_words_cut(&prelude, &prelude_words);
    if (status == DCL_OK)
        status = dcli_words_cut(&text, &text_words);
    if (status == DCL_OK)
        status = check_words(&prelude_words, true);
    if (status == DCL_OK)
        status = check_words(&text_words, false);
    dcli_expansion expansion = {.prelude = &prelude_words,
                                .body = &text_words,
                                .check = check_expanded,
                                .is_own = is_own,
                                .user = (void *)(uintptr_t)body};
    if (status == DCL_OK)
        status = dcli_expand(&expansion);
    dcli_words_free(&prelude_words);
    dcli_words_free(&text_words);
    return status;
}

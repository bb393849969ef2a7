/* kernel/scan.c - parse the statement of a scan. The tile kernels are generated in source_scan.c. */
#include "kernel/scan.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/macro.h"
#include "kernel/names.h"
#include "kernel/parser.h"
#include "kernel/words.h"

static int find_param(const dcli_tokens *tokens, int t, int count, const dcli_param params[])
{
    for (int p = 0; p < count; p++)
        if (dcli_token_is(tokens, t, params[p].name))
            return p;
    return -1;
}

/* The number of the index that token t names; -1: none. */
static int index_at(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME ? dcli_name_index(tokens->text + token->start, (size_t)token->length) : -1;
}

/* Parse the subscripts of P: plain indices. */
static dcl_status parse_subscripts(const dcli_tokens *tokens, const dcli_param *output, const char *along,
                                   dcli_scan *scan)
{
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    int found = dcli_token_split(tokens, 1, DCL_MAX_RANK, first, end);
    if (found != output->rank)
        return dcli_token_fail(tokens, 0, "%s has %d subscript%s here; expected %d, one per axis of the array",
                               output->name, found, found == 1 ? "" : "s", output->rank);
    scan->axis = -1;
    for (int d = 0; d < scan->rank; d++) {
        scan->index[d] = end[d] == first[d] + 1 ? index_at(tokens, first[d]) : -1;
        if (scan->index[d] < 0)
            return dcli_token_fail(tokens, first[d],
                                   "this subscript of %s is no plain index; expected one of i, j, ..., p; a scan "
                                   "writes all elements, in the order of their indices",
                                   output->name);
        for (int e = 0; e < d; e++)
            if (scan->index[e] == scan->index[d])
                return dcli_token_fail(tokens, first[d], "index %s occurs twice; expected each index once",
                                       dcli_index_name(scan->index[d]));
        if (strcmp(dcli_index_name(scan->index[d]), along) == 0)
            scan->axis = d;
    }
    if (scan->axis < 0)
        return dcli_token_fail(tokens, 0, "no subscript of %s is \"%s\", the index of DCL_ALONG; expected one of them",
                               output->name, along);
    return DCL_OK;
}

/* Parse the operator that token t begins. @param next_out  the token after it. */
static dcl_status parse_operator(const dcli_tokens *tokens, int t, int count, const dcli_param params[],
                                 dcli_scan *scan, int *next_out)
{
    const dcli_param *output = &params[scan->output];
    dcli_operator found;
    if (dcli_token_is(tokens, t, "-=") || !dcli_operator_at(tokens, t, count, params, &found) ||
        found.fold == DCLI_FOLD_ANY || found.fold == DCLI_FOLD_ALL)
        return dcli_token_fail(tokens, t,
                               "there is no operator of a scan here; expected %s(...) followed by one of += *= min= "
                               "max= &= |= ^= or a DCL_OPERATOR",
                               output->name);
    if (found.integers && output->type >= DCL_HALF)
        return dcli_token_fail(tokens, t,
                               "%s is of a floating-point type; expected an integer type for &= |= ^=, or += *= min= "
                               "max=",
                               output->name);
    scan->fold = found.fold;
    if (found.fold == DCLI_FOLD_OWN)
        snprintf(scan->neutral, sizeof scan->neutral, "%s",
                 dcli_operator_split(params[found.param].name, scan->combine));
    *next_out = found.next;
    return DCL_OK;
}

/* ---- macros of the prelude ------------------------------------------------------------------------------------------- */

/* Names without scan_ that the kernels of a scan use, besides those of types. A program may have macros of these names. */
static const char generated_names[] =
    " even odd lo s01234567 s89ab scd se sf min max signbit vload16 vstore16 as_char16 as_uchar16 as_short16 "
    "as_ushort16 "
    "as_int16 as_uint16 as_long16 as_ulong16 INFINITY CHAR_MIN CHAR_MAX UCHAR_MAX SHRT_MIN SHRT_MAX USHRT_MAX INT_MIN "
    "INT_MAX UINT_MAX LONG_MIN LONG_MAX ULONG_MAX ";

/* Whether token t of the value, a name, cannot stand for an index: it is a parameter, a function, a type or a component of a
 * vector, and no macro. */
static bool is_plain_name(const dcli_tokens *tokens, int t, bool is_param, const char *macros)
{
    const char *name = tokens->text + tokens->token[t].start;
    int length = tokens->token[t].length;
    if (is_param) /* generated code undefines macros of this name */
        return true;
    return !dcli_macros_have(macros, name, length) &&
           (dcli_token_is(tokens, t + 1, "(") || dcli_token_in(tokens, t - 1, ". ->") ||
            dcli_name_is_type(name, (size_t)length));
}

/* A macro that changes the text that is generated around the value; length 0: there is none. */
static const char *changing_macro(const char *macros, const dcli_scan *scan, int *length_out)
{
    *length_out = 1;
    for (int d = 0; d < scan->rank; d++)
        if (dcli_macros_have(macros, dcli_index_name(scan->index[d]), 1))
            return dcli_index_name(scan->index[d]);
    for (const char *at = generated_names + 1; *at != '\0'; at += strcspn(at, " ") + 1) {
        *length_out = (int)strcspn(at, " ");
        if (dcli_macros_have(macros, at, *length_out))
            return at;
    }
    *length_out = 0;
    return "";
}

/* Refuse names of generated code in the prelude. */
static dcl_status check_prelude(const char *prelude)
{
    const dcli_origin origin = {.text = prelude, .what = "prelude "};
    dcli_words words;
    dcl_status status = dcli_words_cut(&origin, &words);
    if (status != DCL_OK)
        return status;
    for (int64_t w = 0; w < words.count && status == DCL_OK; w++)
        if (words.word[w].kind == DCLI_WORD_NAME &&
            strncmp(words.word[w].at, DCLI_SCAN_PREFIX, strlen(DCLI_SCAN_PREFIX)) == 0)
            status = dcli_word_fail(&words.word[w],
                                    "names that begin with " DCLI_SCAN_PREFIX " belong to dcl_scan(); choose another");
    dcli_words_free(&words);
    return status;
}

/* ---- the statement --------------------------------------------------------------------------------------------------- */

/* Check the tokens of the value, [first, end), and find whether it is plain. */
static dcl_status parse_value(const dcli_tokens *tokens, int first, int end, int count, const dcli_param params[],
                              const char *macros, dcli_scan *scan)
{
    static const char prefix[] = DCLI_SCAN_PREFIX;
    const char *text = tokens->text;
    int subscripts = tokens->token[1].partner - 2; /* tokens of P's subscripts */
    int length;
    changing_macro(macros, scan, &length);
    scan->plain = length == 0;
    for (int t = first; t < end; t++) {
        int p = find_param(tokens, t, count, params);
        bool member = dcli_token_in(tokens, t - 1, ". ->");
        if (tokens->token[t].kind == DCLI_TOKEN_NAME &&
            strncmp(text + tokens->token[t].start, prefix, sizeof prefix - 1) == 0)
            return dcli_token_fail(tokens, t, "names that begin with %s belong to dcl_scan(); choose another", prefix);
        if (p == scan->output && !member)
            return dcli_token_fail(
                tokens, t, "%s is the output of the scan and cannot be read; scan into another array", params[p].name);
        if (p >= 0 && params[p].rank > 0 && !member && dcli_token_is(tokens, t + 1, "(")) {
            bool same = params[p].access == DCL_ACCESS_IN && params[p].rank == scan->rank &&
                        tokens->token[t + 1].partner == t + 2 + subscripts;
            for (int s = 0; s < subscripts && same; s++) {
                const dcli_token *ours = &tokens->token[2 + s], *other = &tokens->token[t + 2 + s];
                same = ours->length == other->length &&
                       memcmp(text + ours->start, text + other->start, (size_t)ours->length) == 0;
            }
            scan->plain &= same;
            scan->input = same && scan->input < 0 ? p : scan->input;
            t = same ? t + 2 + subscripts : t;
            continue;
        }
        if (tokens->token[t].kind == DCLI_TOKEN_NAME)
            scan->plain &= is_plain_name(tokens, t, p >= 0 && !member, macros);
    }
    scan->plain &= scan->input >= 0;
    return DCL_OK;
}

/* Append a comment with the operator to the first line of a body: two scans that differ in the operator have different bodies, so that
 * errors can tell them apart. It is a // comment, which does no harm inside another comment. */
static char *name_operator(const char *body, const dcli_token *operator, const char * text)
{
    dcli_text named = {0};
    size_t begin = strspn(body, " \t\r\n"), end = begin + strcspn(body + begin, "\r\n");
    dcli_text_append(&named, body, end);
    dcli_text_put(&named, " // %.*s", operator->length, text + operator->start);
    dcli_text_append(&named, body + end, strlen(body + end));
    return dcli_text_take(&named);
}

/* Make the texts: of the body that computes each value, in which `=` ends where the operator did, and of the value. */
static dcl_status make_texts(const dcli_tokens *tokens, int sign, int first, int end, dcli_scan *scan)
{
    const dcli_token *after = &tokens->token[first - 1];
    int last = after->start + after->length - 1; /* the = */
    int from = tokens->token[first].start, to = tokens->token[end].start;
    dcli_text value = {0}, each = {0};
    dcli_text_append(&value, tokens->text + from, (size_t)(to - from));
    dcli_text_append(&each, tokens->text, strlen(tokens->text));
    scan->value = dcli_text_take(&value);
    char *body = dcli_text_take(&each);
    if (body != NULL) {
        for (int at = tokens->token[sign].start; at < last; at++)
            if (body[at] != '\n')
                body[at] = ' ';
        body[last] = '=';
        scan->each = name_operator(body, &tokens->token[sign], tokens->text);
        dcli_free(body);
    }
    return scan->value != NULL && scan->each != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Find the end of the value, a token ; that is the last one. */
static dcl_status find_end(const dcli_tokens *tokens, int first, int *end_out)
{
    int end = first;
    while (end < tokens->count && !dcli_token_in(tokens, end, "; ,"))
        end = tokens->token[end].partner > end ? tokens->token[end].partner + 1 : end + 1;
    if (end == first)
        return dcli_token_fail(tokens, end, "there is no value here; expected an expression");
    if (end < tokens->count && dcli_token_in(tokens, end - 1, "+ - * / % & | ^ ! ~ < > << >> <= >= == != && || ? :"))
        return dcli_token_fail(tokens, end, "an operator has no right operand here; expected an expression");
    if (dcli_token_is(tokens, end, ","))
        return dcli_token_fail(tokens, end, "the value has a comma; expected one expression");
    if (end == tokens->count)
        return dcli_token_fail_behind(tokens, end - 1, "the statement has no end; expected ;");
    if (end + 1 < tokens->count)
        return dcli_token_fail(tokens, end + 1,
                               "a scan has one statement, and here begins another one; expected the end; compute the "
                               "values with dcl_forall() first, or by a function of a DCL_PRELUDE");
    *end_out = end;
    return DCL_OK;
}

static dcl_status parse(const dcli_tokens *tokens, int count, const dcli_param params[], const char *along,
                        const char *macros, dcli_scan *scan)
{
    const dcli_param *output = &params[scan->output];
    int first = 0, end = 0, sign;
    if (!dcli_token_is(tokens, 0, output->name) || !dcli_token_is(tokens, 1, "("))
        return dcli_token_fail(tokens, 0, "a scan begins with its output; expected %s(i, ...) += ...;", output->name);
    dcl_status status = parse_subscripts(tokens, output, along, scan);
    sign = tokens->token[1].partner + 1;
    if (status == DCL_OK)
        status = parse_operator(tokens, sign, count, params, scan, &first);
    int length = 0;
    const char *macro = status == DCL_OK ? changing_macro(macros, scan, &length) : "";
    if (length > 0 && scan->fold == DCLI_FOLD_OWN)
        return DCLI_FAIL(DCL_ERR_BODY,
                         "the prelude defines the macro %.*s, a name that the kernels of scans use; expected none of "
                         "these beside a DCL_OPERATOR; choose another name",
                         length, macro);
    if (status == DCL_OK)
        status = find_end(tokens, first, &end);
    if (status == DCL_OK)
        status = parse_value(tokens, first, end, count, params, macros, scan);
    return status == DCL_OK ? make_texts(tokens, sign, first, end, scan) : status;
}

dcl_status dcli_scan_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                           const char *along, dcli_scan *scan)
{
    *scan = (dcli_scan){.output = -1, .input = -1};
    for (int p = 0; p < count; p++) {
        if (strncmp(params[p].name, DCLI_SCAN_PREFIX, strlen(DCLI_SCAN_PREFIX)) == 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "an argument is called %s; names that begin with " DCLI_SCAN_PREFIX
                             " belong to dcl_scan(); choose another, with DCL_IN_AS, ...",
                             params[p].name);
        if (params[p].access == DCL_ACCESS_OUT)
            scan->output = p;
    }
    for (int p = 0; p < count; p++)
        if (params[p].access == DCL_ACCESS_OPERATOR && dcli_operator_check(p, params) != DCL_OK)
            return DCL_ERR_INVALID;
    if (dcli_neutrals_check(count, params, prelude) != DCL_OK)
        return DCL_ERR_INVALID;
    scan->rank = params[scan->output].rank;
    scan->type = params[scan->output].type;
    if (scan->type == DCL_HALF)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s is of type half; expected an integer type, float or double, whose results are as exact on "
                         "every device",
                         params[scan->output].name);
    dcli_tokens tokens;
    dcl_status status = check_prelude(prelude);
    char *macros = status == DCL_OK ? dcli_macros_list(prelude) : NULL;
    if (macros == NULL)
        return status == DCL_OK ? DCL_ERR_NOMEM : status;
    status = dcli_tokens_make(text, &tokens);
    if (status == DCL_OK) {
        status = parse(&tokens, count, params, along, macros, scan);
        dcli_tokens_free(&tokens);
    }
    dcli_free(macros);
    return status;
}

void dcli_scan_free(dcli_scan *scan)
{
    dcli_free(scan->each);
    dcli_free(scan->value);
    scan->each = scan->value = NULL;
}

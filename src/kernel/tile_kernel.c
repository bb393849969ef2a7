/* kernel/tile_kernel.c - parse a tile kernel: only its names are examined, the rest is left to the compiler. */
#include "kernel/tile_kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/filter.h"
#include "kernel/names.h"
#include "kernel/parser.h"

enum { MOST_ITEMS = 1 << 20 }; /* most work-items along a dimension: the product of three fits into 64 bits */

static const char no_group[] =
    "the work-items of a group do it together, and without sizes the library chooses groups and "
    "leaves some of their items out; give DCL_GROUP(x, y, z)";

/* ---- sizes -------------------------------------------------------------------------------------------------------- */

static dcl_status check_items(const dcli_items *items)
{
    bool grouped = items->group[0] != 0 || items->group[1] != 0 || items->group[2] != 0;
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
        if (grouped && (items->group[d] < 1 || items->group[d] > MOST_ITEMS))
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "DCL_GROUP has size %" PRId64 " along dimension %d; expected 1..%d work-items",
                             items->group[d], d, MOST_ITEMS);
        if (items->count[d] < 0 || items->count[d] > MOST_ITEMS)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "DCL_ITEMS has size %" PRId64
                             " along dimension %d; expected 1..%d work-items, or 0 for one "
                             "per element of the tile",
                             items->count[d], d, MOST_ITEMS);
    }
    return DCL_OK;
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static const char *const suffixes[] = {"_data", "_stride", "_count", "_low", "_high", "_first", "_step", "_at"};

/* Whether the rest of a name, after an array's name, is one of the suffixes. */
static bool is_suffix(const char *rest, size_t length)
{
    for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
        if (strlen(suffixes[s]) == length && memcmp(rest, suffixes[s], length) == 0)
            return true;
    return false;
}

static int array_named(const dcli_body *body, const char *name, size_t length, const char **suffix_out)
{
    for (int p = 0; p < body->param_count; p++) {
        size_t own = strlen(body->params[p].name);
        if (body->params[p].rank == 0 || own > length || memcmp(name, body->params[p].name, own) != 0)
            continue;
        *suffix_out = name + own;
        if (own == length || is_suffix(name + own, length - own))
            return p;
    }
    return -1;
}

/* Check that no argument has a name derived from an array's name. */
static dcl_status check_derived(const dcli_body *body)
{
    for (int p = 0; p < body->param_count; p++) {
        const char *suffix, *name = body->params[p].name;
        for (int q = 0; q < body->param_count; q++) {
            size_t own = strlen(body->params[q].name);
            suffix = name + own;
            if (q != p && body->params[q].rank > 0 && strncmp(name, body->params[q].name, own) == 0 &&
                is_suffix(suffix, strlen(suffix)))
                return DCLI_FAIL(
                    DCL_ERR_INVALID,
                    "argument %d is called %s, which is a name that tile kernels have for array %s; give it "
                    "another name with DCL_IN_AS, DCL_VALUE_AS, ...",
                    p, name, body->params[q].name);
        }
    }
    return DCL_OK;
}

/* ---- the text ----------------------------------------------------------------------------------------------------- */

/* Whether a word may be used only if DCL_GROUP is given: functions of OpenCL 1.2 to 3.0 that a work-group executes
 * together, and memory that it shares. */
static bool needs_group(const char *word, size_t length)
{
    static const char *const starts[] = {"work_group_", "async_work_group_", "sub_group_", "intel_sub_group_"};
    static const char *const words[] = {"barrier", "wait_group_events", "local", "__local"};
    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++)
        if (length >= strlen(starts[s]) && memcmp(word, starts[s], strlen(starts[s])) == 0)
            return true;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (length == strlen(words[w]) && memcmp(word, words[w], length) == 0)
            return true;
    return false;
}

static dcl_status check_word(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const char *word = tokens->text + tokens->token[t].start;
    int length = tokens->token[t].length;
    if (dcli_token_in(tokens, t, "kernel __kernel"))
        return dcli_token_fail(
            tokens, t,
            "a tile kernel is the inside of a kernel; put functions, and existing kernels as functions, "
            "into a DCL_PRELUDE and call them here");
    if (length >= 4 && (memcmp(word, "dcl_", 4) == 0 || memcmp(word, "DCL_", 4) == 0) &&
        !dcli_token_is(tokens, t, "dcl_item"))
        return dcli_token_fail(tokens, t, "names that begin with dcl_ or DCL_ belong to the library; choose another");
    if (!dcli_items_grouped(&body->items) && needs_group(word, (size_t)length))
        return dcli_token_fail(tokens, t, "%.*s: %s", length, word, no_group);
    return DCL_OK;
}

/* Check that an element of an array, C(...) or C_data[...], is not assigned to unless the array is an output. @param t
 * token of the name. @param last  last token of the element. */
static dcl_status check_written(const dcli_tokens *tokens, int t, int last, const dcli_param *param)
{
    bool output = param->access == DCL_ACCESS_OUT || param->access == DCL_ACCESS_INOUT;
    if (output || dcli_usage_of(tokens, t, last) == DCLI_READS)
        return DCL_OK;
    return dcli_token_fail(
        tokens, t, "%s is %s, but written here; declare DCL_OUT(%s), whose elements in the tile can be read too",
        param->name, dcli_access_name(param->access), param->name);
}

/* Check the use of an array by its name: C(...); its name alone is refused. */
static dcl_status check_element(const dcli_tokens *tokens, int t, const dcli_param *param)
{
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    if (!dcli_token_is(tokens, t + 1, "("))
        return dcli_token_fail(tokens, t,
                               "%s is an array and stands without subscripts; write %s(r, ...), or %s_data for "
                               "its address",
                               param->name, param->name, param->name);
    int found = dcli_token_split(tokens, t + 1, DCL_MAX_RANK, first, end);
    if (found != param->rank)
        return dcli_token_fail(tokens, t, "%s has %d subscript%s here; expected %d, one per axis of the array",
                               param->name, found, found == 1 ? "" : "s", param->rank);
    return check_written(tokens, t, tokens->token[t + 1].partner, param);
}

/* Check that an axis given as a number, as in C_count(0), is one of the array's: other numbers would read beyond the
 * field. */
static dcl_status check_axis(const dcli_tokens *tokens, int t, const char *name, int rank)
{
    if (!dcli_token_is(tokens, t + 1, "(") || dcli_token_kind_of(tokens, t + 2) != DCLI_TOKEN_NUMBER ||
        !dcli_token_in(tokens, t + 3, ") ,"))
        return DCL_OK;
    const dcli_token *number = &tokens->token[t + 2];
    char *end;
    unsigned long axis = strtoul(tokens->text + number->start, &end, 0);
    if (axis < (unsigned long)rank)
        return DCL_OK;
    return dcli_token_fail(tokens, t + 2, "%.*s is no axis of %s; expected 0..%d", number->length,
                           tokens->text + number->start, name, rank - 1);
}

/* Check a name of array p: C(...), C_data, or one that takes an axis, as C_count(0). */
static dcl_status check_name(const dcli_body *body, int t, int p, const char *suffix)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_param *param = &body->params[p];
    int behind = (int)(suffix - (tokens->text + tokens->token[t].start));
    if (behind == tokens->token[t].length)
        return check_element(tokens, t, param);
    if (dcli_token_is(tokens, t + 1, "["))
        return check_written(tokens, t, tokens->token[t + 1].partner, param);
    return check_axis(tokens, t, param->name, param->rank);
}

static dcl_status check_text(dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    dcl_status status = DCL_OK;
    for (int t = 0; t < tokens->count && status == DCL_OK; t++) {
        const dcli_token *token = &tokens->token[t];
        const char *word = tokens->text + token->start, *suffix;
        if (token->kind != DCLI_TOKEN_NAME)
            continue;
        status = check_word(body, t);
        if (status == DCL_OK && dcli_token_is(tokens, t, "dcl_item"))
            status = check_axis(tokens, t, body->params[body->owner].name, body->space_rank);
        int p = array_named(body, word, (size_t)token->length, &suffix);
        if (status != DCL_OK || p < 0 || dcli_token_in(tokens, t - 1, ". ->"))
            continue;
        status = check_name(body, t, p, suffix);
        dcli_body_access *access = &body->access[0];
        while (access->param != p)
            access++;
        if (access->line == 0) {
            access->line = token->line;
            access->column = token->column;
        }
    }
    return status;
}

/* Check a prelude for barriers if the library chooses the groups: surplus work-items end at once, so others would wait
 * for ever. */
static dcl_status check_prelude(const dcli_body *body)
{
    const char *at = dcli_items_grouped(&body->items) ? "" : body->prelude;
    while (*at != '\0') {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (length > 0 && needs_group(at, length))
            return DCLI_FAIL(DCL_ERR_BODY, "the prelude has %.*s: %s", (int)length, at, no_group);
        if (at[0] == '/' && at[1] == '/')
            length = strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            length = strstr(at + 2, "*/") != NULL ? (size_t)(strstr(at + 2, "*/") + 2 - at) : strlen(at);
        at += length > 0 ? length : 1;
    }
    return DCL_OK;
}

/* ---- accesses ----------------------------------------------------------------------------------------------------- */

static dcl_status add_subscripts(dcli_body *body, int a)
{
    struct dcli_body_inside *inside = body->inside;
    const dcli_param *param = &body->params[body->access[a].param];
    inside->first_subscript[a] = -1;
    if (body->access[a].reach != DCLI_REACH_AFFINE)
        return DCL_OK;
    if (param->rank != body->space_rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s has %d ax%s and the first output %s %d; expected as many, for it has the box of the tile; "
                         "declare what a tile reads of it: DCL_IN_ALL, DCL_IN_ROWS, DCL_IN_COLUMNS, DCL_IN_BOX or "
                         "DCL_IN_FUNCTION",
                         param->name, param->rank, param->rank == 1 ? "is" : "es", body->params[body->owner].name,
                         body->space_rank);
    inside->first_subscript[a] = (int)inside->subscript_count;
    for (int d = 0; d < param->rank; d++) {
        if (dcli_grow(&inside->subscript, inside->subscript_count, &inside->subscript_capacity,
                      sizeof *inside->subscript) != 0)
            return DCL_ERR_NOMEM;
        inside->subscript[inside->subscript_count++] = (dcli_affine){.count = 1, .term = {{.factor = 1, .index = d}}};
    }
    return DCL_OK;
}

static dcl_status add_accesses(dcli_body *body)
{
    dcl_status status = DCL_OK;
    for (int p = 0; p < body->param_count && status == DCL_OK; p++) {
        const dcli_param *param = &body->params[p];
        if (param->rank == 0)
            continue;
        bool output = param->access == DCL_ACCESS_OUT || param->access == DCL_ACCESS_INOUT;
        body->access[body->access_count] = (dcli_body_access){.param = p,
                                                              .read = param->access != DCL_ACCESS_OUT,
                                                              .written = output,
                                                              .conditional = output,
                                                              .reach = dcli_reach_of(param->access),
                                                              .unit_axis = -1};
        status = add_subscripts(body, body->access_count++);
    }
    return status;
}

static dcl_status read_text(dcli_body *body)
{
    dcl_status status = check_derived(body);
    if (status == DCL_OK)
        status = add_accesses(body);
    if (status == DCL_OK)
        status = dcli_tokens_make(body->text, &body->inside->tokens);
    if (status == DCL_OK && body->inside->tokens.count == 0)
        status = DCLI_FAIL(DCL_ERR_BODY, "the tile kernel is empty; expected statements of a work-item, like "
                                         "C(dcl_item(0), dcl_item(1)) = 1;");
    if (status == DCL_OK)
        status = check_text(body);
    if (status == DCL_OK)
        status = check_prelude(body);
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].line == 0) /* not found in the text: it may be used in a macro of the prelude */
            body->access[a].line = body->access[a].column = 1;
    return status;
}

dcl_status dcli_tile_kernel_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                                  const dcli_items *items, dcli_body **body_out)
{
    dcl_status status = dcli_params_check(count, params, true);
    if (status == DCL_OK)
        status = check_items(items);
    if (status != DCL_OK)
        return status;
    dcli_body *body = dcli_body_new(text, prelude, count, params);
    if (body == NULL)
        return dcli_error_status();
    body->tile_kernel = true;
    body->items = *items;
    while (!dcli_param_is_output(&params[body->owner]))
        body->owner++;
    body->space_rank = params[body->owner].rank;
    for (int m = 0; m < DCL_MAX_RANK; m++) {
        body->inside->axis_of_index[m] = m < body->space_rank ? m : -1;
        body->index_of_axis[m] = m < body->space_rank ? m : 0;
    }
    return dcli_finish_body(body, read_text(body), body_out);
}

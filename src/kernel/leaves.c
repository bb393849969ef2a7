/* kernel/leaves.c - reductions to values whose results are combined in one order: parse them, and generate the texts of their
 * operations. */
#include "kernel/leaves.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/emit.h"
#include "kernel/fold.h"
#include "kernel/macro.h"
#include "kernel/names.h"
#include "kernel/reduced.h"

/* ---- statements ------------------------------------------------------------------------------------------------------ */

static bool is_ordered(const dcli_body *body, int r)
{
    return dcli_fold_is_ordered(body->result[r].fold, body->params[body->result[r].param].type);
}

/* The number of result r among those that are combined in one order; -1: it is none of them. */
static int number_of(const dcli_body *body, int r)
{
    int number = 0;
    for (int other = 0; other < r; other++)
        number += is_ordered(body, other);
    return is_ordered(body, r) ? number : -1;
}

/* Put a statement of the body that stores values. Those of other results are evaluated only, so that the same arrays are read. */
static void put_value(dcli_text *out, const dcli_body *body, const dcli_reduced *s)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_result *result = &body->result[s->result];
    int n = number_of(body, s->result);
    char word[64];
    if (n < 0) {
        dcli_put_evaluated(out, tokens, s);
    } else if (result->fold == DCLI_FOLD_OWN) {
        dcli_operator_split(body->params[result->combine].name, word);
        dcli_text_put(out, DCLI_ORDERED "x%d = %s(" DCLI_ORDERED "x%d, (", n, word, n);
        dcli_put_tokens(out, tokens, s->value, s->end);
        dcli_text_put(out, "))");
    } else {
        dcli_text_put(out, DCLI_ORDERED "x%d *= ", n);
        dcli_put_tokens(out, tokens, s->value, s->end);
    }
}

/* Append the text of the reduction, with its statements replaced. @param values  for the body that stores values; else for the
 * reduction of the other results. */
static void put_text(dcli_text *out, const dcli_body *body, bool values)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    dcli_reduced s;
    int from = 0;
    dcli_text_append(out, tokens->text, (size_t)tokens->token[0].start);
    for (int t = 0; t < tokens->count; t++) {
        if (!dcli_find_reduced(body, t, &s))
            continue;
        dcli_put_tokens(out, tokens, from, t);
        if (values)
            put_value(out, body, &s);
        else if (is_ordered(body, s.result))
            dcli_put_evaluated(out, tokens, &s);
        else
            dcli_put_tokens(out, tokens, t, s.end);
        from = t = s.end;
    }
    dcli_put_tokens(out, tokens, from, tokens->count);
}

/* ---- texts ----------------------------------------------------------------------------------------------------------- */

static const char *neutral_of(const dcli_body *body, const dcli_result *result)
{
    char word[64];
    if (result->fold == DCLI_FOLD_OWN)
        return dcli_operator_split(body->params[result->combine].name, word);
    return dcli_fold_neutral(result->fold, body->params[result->param].type);
}

static void put_element(dcli_text *out, const dcli_body *body, int n)
{
    dcli_text_put(out, DCLI_ORDERED "v%d", n);
    for (int m = 0; m < body->space_rank; m++)
        dcli_text_put(out, "%c%s", m == 0 ? '(' : ',', dcli_index_name(body->index_of_axis[m]));
    dcli_text_put(out, ") = ");
}

static void make_texts(const dcli_body *body, dcli_leaves *leaves)
{
    dcli_text values = {0}, neutral = {0}, others = {0};
    for (int n = 0; n < leaves->count; n++) {
        const dcli_result *result = &leaves->result[n];
        const char *type = dcli_kernel_type(body->params[result->param].type);
        dcli_text_put(&values, "%s " DCLI_ORDERED "x%d = (%s)%s; ", type, n, type, neutral_of(body, result));
        put_element(&neutral, body, n);
        dcli_text_put(&neutral, "(%s)%s; ", type, neutral_of(body, result));
    }
    put_text(&values, body, true);
    dcli_text_put(&values, "\n"); /* the text may end in a comment */
    for (int n = 0; n < leaves->count; n++) {
        put_element(&values, body, n);
        dcli_text_put(&values, DCLI_ORDERED "x%d; ", n);
    }
    if (leaves->count < body->result_count)
        put_text(&others, body, false);
    leaves->values = dcli_text_take(&values);
    leaves->neutral = dcli_text_take(&neutral);
    leaves->others = leaves->count < body->result_count ? dcli_text_take(&others) : NULL;
}

/* Whether the text is one statement, whose value is an element at the indices. */
static bool is_plain(const dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_param *home = &body->params[body->access[body->home].param];
    dcli_reduced s;
    return body->result_count == 1 && body->over == NULL && dcli_find_reduced(body, 0, &s) &&
           s.end + 1 == tokens->count && home->type == body->params[body->result[0].param].type &&
           dcli_token_is(tokens, s.value, home->name) && dcli_token_is(tokens, s.value + 1, "(") &&
           tokens->token[s.value + 1].partner + 1 == s.end && body->access_count == 1;
}

/* List the indices that are no macros. */
static dcl_status find_letters(const char *prelude, dcli_leaves *leaves)
{
    char *macros = dcli_macros_list(prelude);
    int count = 0;
    if (macros == NULL)
        return DCL_ERR_NOMEM;
    for (int n = 0; n < DCL_MAX_RANK; n++) {
        char word[] = {' ', *dcli_index_name(n), ' ', '\0'};
        if (strstr(macros, word) == NULL)
            leaves->letters[count++] = word[1];
    }
    leaves->letters[count] = '\0';
    dcli_free(macros);
    return DCL_OK;
}

static dcl_status take(const dcli_body *body, dcli_leaves *leaves)
{
    for (int r = 0; r < body->result_count; r++)
        if (is_ordered(body, r))
            leaves->result[leaves->count++] = body->result[r];
    if (leaves->count == 0)
        return DCL_OK;
    dcl_status status = dcli_check_prefix(body->text, "body", DCLI_ORDERED);
    if (status == DCL_OK)
        status = dcli_check_prefix(body->prelude, "prelude", DCLI_ORDERED);
    if (status == DCL_OK)
        status = find_letters(body->prelude, leaves);
    if (status != DCL_OK)
        return status;
    leaves->home = body->owner;
    memcpy(leaves->index, body->index_of_axis, sizeof leaves->index);
    leaves->plain = is_plain(body);
    make_texts(body, leaves);
    bool made = leaves->values != NULL && leaves->neutral != NULL &&
                (leaves->others != NULL || leaves->count == body->result_count);
    return made ? DCL_OK : DCL_ERR_NOMEM;
}

dcl_status dcli_leaves_parse(const char *text, const char *prelude, const char *over, int count,
                             const dcli_param params[], dcli_leaves *out)
{
    dcli_body *body;
    *out = (dcli_leaves){0};
    dcl_status status = dcli_outline_parse(text, prelude, over, count, params, &body);
    if (status != DCL_OK)
        return status;
    status = body->own_space ? dcli_refuse_own_space(body) : take(body, out);
    dcli_body_free(body);
    return status;
}

void dcli_leaves_free(dcli_leaves *leaves)
{
    dcli_free(leaves->values);
    dcli_free(leaves->neutral);
    dcli_free(leaves->others);
    *leaves = (dcli_leaves){0};
}

/* ---- stages ---------------------------------------------------------------------------------------------------------- */

static void put_letters(dcli_text *out, const dcli_leaves *leaves, const char *name, int kept, char last)
{
    dcli_text_put(out, "%s(", name);
    for (int d = 0; d < kept; d++)
        dcli_text_put(out, "%s%c", d > 0 ? "," : "", leaves->letters[d]);
    if (last != '\0')
        dcli_text_put(out, "%s%c", kept > 0 ? "," : "", last);
    dcli_text_put(out, ")");
}

/* Whether the letters i to p suffice for this number of indices. */
static bool has_letters(const dcli_leaves *leaves, int count)
{
    if ((int)strlen(leaves->letters) >= count)
        return true;
    DCLI_FAIL(DCL_ERR_INVALID,
              "%d of the names i..p are no macros of the prelude; expected at least %d, which this reduction needs for "
              "indices; rename the others",
              (int)strlen(leaves->letters), count);
    return false;
}

char *dcli_leaves_stage(const dcli_leaves *leaves, int rank, const char *name, char **over_out)
{
    dcli_text text = {0}, over = {0};
    char word[64] = "*";
    bool cut = over_out != NULL;
    if (!has_letters(leaves, rank + cut))
        return NULL;
    char leaf = leaves->letters[rank - 1], index = leaves->letters[rank - 1 + cut];
    if (name != NULL)
        dcli_operator_split(name, word);
    put_letters(&text, leaves, DCLI_ORDERED_TO, rank - 1, cut ? leaf : '\0');
    dcli_text_put(&text, " %s= ", word);
    put_letters(&text, leaves, DCLI_ORDERED_FROM, rank - 1, index);
    dcli_text_put(&text, ";");
    if (cut) {
        dcli_text_put(&over,
                      DCLI_ORDERED_LOW " + %d * %c <= %c <= min(" DCLI_ORDERED_LOW " + %d + %d * %c, " DCLI_ORDERED_HIGH
                                       ")",
                      DCLI_LEAF, leaf, index, DCLI_LEAF - 1, DCLI_LEAF, leaf);
        *over_out = dcli_text_take(&over);
    }
    return dcli_text_take(&text);
}

char *dcli_leaves_end(const dcli_leaves *leaves, int rank, const char *name, bool added)
{
    dcli_text text = {0};
    char word[64];
    if (!has_letters(leaves, rank))
        return NULL;
    put_letters(&text, leaves, DCLI_ORDERED_TO, rank, '\0');
    if (added && name != NULL) {
        dcli_operator_split(name, word);
        dcli_text_put(&text, " = %s(", word);
        put_letters(&text, leaves, DCLI_ORDERED_TO, rank, '\0');
        dcli_text_put(&text, ", " DCLI_ORDERED_FROM "(0));");
    } else {
        dcli_text_put(&text, " %s= " DCLI_ORDERED_FROM "(0);", added ? "*" : "");
    }
    return dcli_text_take(&text);
}

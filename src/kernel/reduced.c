/* kernel/reduced.c - find the statements of a parsed reduction. */
#include "kernel/reduced.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"

bool dcli_find_reduced(const dcli_body *body, int t, dcli_reduced *out)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    if (dcli_token_kind_of(tokens, t) != DCLI_TOKEN_NAME || dcli_token_in(tokens, t - 1, ". ->"))
        return false;
    for (int r = 0; r < body->result_count; r++) {
        const dcli_param *param = &body->params[body->result[r].param];
        dcli_operator found;
        if (!dcli_token_is(tokens, t, param->name))
            continue;
        int after = param->rank > 0 ? tokens->token[t + 1].partner + 1 : t + 1;
        if (!dcli_operator_at(tokens, after, body->param_count, body->params, &found))
            return false;
        *out = (dcli_reduced){
            .result = r, .name = t, .value = found.next, .end = dcli_find_token(tokens, found.next, ";")};
        return true;
    }
    return false;
}

void dcli_put_tokens(dcli_text *out, const dcli_tokens *tokens, int from, int to)
{
    int start = from < tokens->count ? tokens->token[from].start : (int)strlen(tokens->text);
    int end = to < tokens->count ? tokens->token[to].start : (int)strlen(tokens->text);
    dcli_text_append(out, tokens->text + start, (size_t)(end - start));
}

void dcli_put_evaluated(dcli_text *out, const dcli_tokens *tokens, const dcli_reduced *statement)
{
    dcli_text_put(out, "(void)(");
    dcli_put_tokens(out, tokens, statement->value, statement->end);
    dcli_text_put(out, ")");
}

dcl_status dcli_check_prefix(const char *text, const char *what, const char *prefix)
{
    for (const char *at = text; (at = strstr(at, prefix)) != NULL; at++)
        if (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'))
            return DCLI_FAIL(DCL_ERR_BODY,
                             "the %s has a name that begins with %s, which belong to this kind of reduction; choose "
                             "another",
                             what, prefix);
    return DCL_OK;
}

/* kernel/scattered.c - finds bodies whose declared reads are scattered along a line.
 *
 * Loops that gather single elements are limited by computation. To store their results past the caches takes a buffer, which makes them
 * slower: 39 ms in place of 36.5 for 8192 x 8192 floats on two AMD cores (Zen 4). The answer decides on speed only: a variable that is
 * assigned under a condition counts as assigned. */
#include "kernel/scattered.h"

#include <string.h>

#include "kernel/inside.h"

enum { MOST_NAMES = 16 }; /* variables that are followed */

/* The variables found so far to depend on the innermost index, as the tokens where they are assigned. */
struct names {
    int token[MOST_NAMES], count;
};

static bool is_named(const dcli_body *body, const struct names *names, int t)
{
    for (int n = 0; n < names->count; n++)
        if (dcli_tokens_equal(&body->inside->tokens, t, names->token[n], 1))
            return true;
    return false;
}

/* Whether tokens [first, end) contain elements, or variables made from them, that depend on the innermost index. Elements of declared
 * reads depend on it if their subscripts do. */
static bool varies(const dcli_body *body, const struct names *names, int first, int end)
{
    for (int t = first; t < end; t++) {
        const dcli_place *place = dcli_inside_place(body, t);
        if (place == NULL) {
            if (dcli_token_kind_of(&body->inside->tokens, t) == DCLI_TOKEN_NAME && is_named(body, names, t))
                return true;
        } else if (body->access[place->access].reach == DCLI_REACH_AFFINE) {
            if (dcli_inside_depends(body, place->access, body->space_rank - 1))
                return true;
            t = place->close;
        }
    }
    return false;
}

/* The end of the expression that begins at token t: a `;` or `,` outside of brackets. */
static int end_of_expression(const dcli_tokens *tokens, int t)
{
    for (; t < (int)tokens->count && !dcli_token_in(tokens, t, "; , ) }"); t++)
        if (tokens->token[t].partner > t)
            t = tokens->token[t].partner;
    return t;
}

/* Add the variables that are assigned what varies. @return whether there are new ones. */
static bool add_names(const dcli_body *body, struct names *names)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    bool added = false;
    for (int t = 1; t < (int)tokens->count && names->count < MOST_NAMES; t++)
        if (dcli_token_in(tokens, t, "= += -= *= /= %= &= |= ^= <<= >>=") &&
            dcli_token_kind_of(tokens, t - 1) == DCLI_TOKEN_NAME && !is_named(body, names, t - 1) &&
            varies(body, names, t + 1, end_of_expression(tokens, t + 1))) {
            names->token[names->count++] = t - 1;
            added = true;
        }
    return added;
}

bool dcli_scattered_find(const dcli_body *body)
{
    struct names names = {.count = 0};
    while (add_names(body, &names))
        ;
    for (int64_t p = 0; p < body->inside->place_count; p++) {
        const dcli_place *place = &body->inside->place[p];
        if (body->access[place->access].reach != DCLI_REACH_AFFINE &&
            varies(body, &names, place->name + 1, place->close))
            return true;
    }
    return false;
}

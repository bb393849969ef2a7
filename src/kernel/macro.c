/* kernel/macro.c - find macros of a prelude that hide control flow from the parser of a body.
 * Definitions are found textually, regardless of #if; a name with several definitions is judged by all of them.
 * Source: ISO/IEC 9899:1999, 5.1.1.2 (joined lines, comments), 6.10.3 (macro replacement). */
#include "kernel/macro.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/names.h"

/* One #define of the prelude. A name may have several. */
struct macro {
    const char *name;
    int length;
    dcli_tokens tokens; /* replacement of the name; empty if it cannot be parsed */
    bool unread, seen;
};

struct macros {
    char *text; /* the prelude with joined lines and without comments; definitions end with '\0' */
    struct macro *macro;
    int64_t count, capacity;
};

/* What was found in the definitions of a name, and in those of the names in them. */
struct finding {
    bool hides;       /* a definition is more than an expression, or cannot be parsed */
    const char *word; /* a word that a body must not use; NULL: none */
    int length;
    const char *why;
};

static int word_length(const char *at)
{
    int length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

/* Length of a line joint "\\\n", with the blanks that compilers accept inside; 0: none. */
static size_t joint_length(const char *at)
{
    size_t blanks = *at == '\\' ? strspn(at + 1, " \t\r\v\f") : 0;
    return *at == '\\' && at[1 + blanks] == '\n' ? blanks + 2 : 0;
}

static void join_lines(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t joint = joint_length(at);
        at += joint;
        if (joint == 0)
            *to++ = *at++;
    }
    *to = '\0';
}

/* Replace comments by blanks, also those over several lines; string and character literals stay. */
static void blank_comments(char *text)
{
    for (char *at = text; *at != '\0';) {
        size_t length = 1;
        if (at[0] == '/' && at[1] == '/') {
            length = strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            length = end != NULL ? (size_t)(end + 2 - at) : strlen(at);
        } else if (*at == '"' || *at == '\'') {
            char quote = *at++;
            while (*at != '\0' && *at != '\n' && *at != quote)
                at += *at == '\\' && at[1] != '\0' ? 2 : 1;
            at += *at == quote;
            continue;
        } else {
            at++;
            continue;
        }
        memset(at, ' ', length);
        at += length;
    }
}

/* Add the definition after `#define`; its line ends with '\0'. */
static dcl_status add_macro(struct macros *macros, const char *at)
{
    at += strspn(at, " \t\r\v\f");
    struct macro macro = {.name = at, .length = word_length(at)};
    at += macro.length;
    if (*at == '(') /* a macro with parameters: no blank before the parenthesis */
        at += strcspn(at, ")");
    at += *at == ')';
    if (dcli_grow(&macros->macro, macros->count, &macros->capacity, sizeof *macros->macro) != 0)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_tokens_make(at, &macro.tokens);
    macro.unread = status == DCL_ERR_BODY; /* a definition with unmatched brackets, # and the like is no error; it is
                                              taken as hiding control flow */
    if (macro.unread)
        dcli_error_clear();
    if (status != DCL_ERR_NOMEM)
        macros->macro[macros->count++] = macro;
    return macro.unread ? DCL_OK : status;
}

/* Process one line of the prelude: add the macro if it is a #define. # may also be spelled %: or ??=. */
static dcl_status read_line(struct macros *macros, const char *at)
{
    at += strspn(at, " \t\r\v\f");
    size_t sign = *at == '#' ? 1 : strncmp(at, "%:", 2) == 0 ? 2 : strncmp(at, "\?\?=", 3) == 0 ? 3 : 0;
    if (sign == 0)
        return DCL_OK;
    at += sign;
    at += strspn(at, " \t\r\v\f");
    return word_length(at) == 6 && strncmp(at, "define", 6) == 0 ? add_macro(macros, at + 6) : DCL_OK;
}

static dcl_status find_macros(struct macros *macros, const char *prelude)
{
    macros->text = dcli_strdup(prelude);
    if (macros->text == NULL)
        return DCL_ERR_NOMEM;
    join_lines(macros->text);
    blank_comments(macros->text);
    dcl_status status = DCL_OK;
    for (char *line = macros->text; *line != '\0' && status == DCL_OK;) {
        char *end = line + strcspn(line, "\n"), *next = end + (*end == '\n');
        *end = '\0';
        status = read_line(macros, line);
        line = next;
    }
    return status;
}

static void free_macros(struct macros *macros)
{
    for (int64_t m = 0; m < macros->count; m++)
        dcli_tokens_free(&macros->macro[m].tokens);
    dcli_free(macros->macro);
    dcli_free(macros->text);
}

char *dcli_macros_list(const char *prelude)
{
    struct macros macros = {0};
    dcli_text names = {0};
    dcl_status status = find_macros(&macros, prelude);
    dcli_text_put(&names, " ");
    for (int64_t m = 0; m < macros.count; m++)
        dcli_text_put(&names, "%.*s ", macros.macro[m].length, macros.macro[m].name);
    free_macros(&macros);
    if (status == DCL_OK)
        return dcli_text_take(&names);
    dcli_text_free(&names);
    return NULL;
}

bool dcli_macros_have(const char *macros, const char *name, int length)
{
    for (const char *at = macros; (at = strchr(at, ' ')) != NULL; at++)
        if (strncmp(at + 1, name, (size_t)length) == 0 && at[1 + length] == ' ')
            return true;
    return false;
}

/* Whether a token of a definition can do more than help to compute a value: it begins or ends a statement, or can skip
 * a part of one. In a definition that is all in parentheses, ?:, && and || can skip only parts of the definition
 * itself. */
static bool is_hiding(const dcli_tokens *tokens, int t)
{
    bool wrapped = dcli_token_is(tokens, 0, "(") && tokens->token[0].partner == tokens->count - 1;
    return dcli_token_in(tokens, t, "{ } ; if else for while do switch case default break continue") ||
           (!wrapped && dcli_token_in(tokens, t, "? : && ||"));
}

/* Why a word of a definition must not be in a body; NULL: it may. */
static const char *why_refused(const dcli_tokens *tokens, int t)
{
    if (dcli_token_in(tokens, t, "break continue")) {
        for (int other = 0; other < tokens->count; other++)
            if (dcli_token_in(tokens, other, "for while do switch"))
                return NULL;
        return "it may end a loop over the indices; write it out in a loop of the body's own";
    }
    return dcli_name_refused(tokens->text + tokens->token[t].start, (size_t)tokens->token[t].length);
}

/* Add the findings of a name's definitions, and of the names in them. */
static void look_up(const struct macros *macros, const char *name, int length, struct finding *found)
{
    for (struct macro *m = macros->macro; m < macros->macro + macros->count; m++) {
        if (m->seen || m->length != length || memcmp(m->name, name, (size_t)length) != 0)
            continue;
        m->seen = true;
        found->hides |= m->unread;
        for (int t = 0; t < m->tokens.count; t++) {
            const dcli_token *token = &m->tokens.token[t];
            const char *word = m->tokens.text + token->start;
            found->hides |= is_hiding(&m->tokens, t);
            if (token->kind != DCLI_TOKEN_NAME)
                continue;
            const char *why = why_refused(&m->tokens, t);
            if (why != NULL)
                *found = (struct finding){.hides = true, .word = word, .length = token->length, .why = why};
            look_up(macros, word, token->length, found);
        }
    }
}

/* Whether the name at token t is an array (a macro in generated code), a scalar or an index (declared there), and not a
 * macro of the prelude. */
static bool is_own_name(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int index = dcli_name_index(tokens->text + tokens->token[t].start, (size_t)tokens->token[t].length);
    if (dcli_body_has_index(body, index))
        return true;
    for (int p = 0; p < body->param_count; p++)
        if (dcli_token_is(tokens, t, body->params[p].name))
            return true;
    return false;
}

static dcl_status check_names(const dcli_body *body, const struct macros *macros, int *hidden_out)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int t = 0; t < tokens->count; t++) {
        const dcli_token *token = &tokens->token[t];
        if (token->kind != DCLI_TOKEN_NAME || is_own_name(body, t))
            continue;
        struct finding found = {.hides = false};
        for (int64_t m = 0; m < macros->count; m++)
            macros->macro[m].seen = false;
        look_up(macros, tokens->text + token->start, token->length, &found);
        if (found.word != NULL)
            return dcli_token_fail(tokens, t, "%.*s cannot stand in a body, as the prelude defines it with %.*s: %s",
                                   token->length, tokens->text + token->start, found.length, found.word, found.why);
        if (found.hides && *hidden_out < 0)
            *hidden_out = t;
    }
    return DCL_OK;
}

dcl_status dcli_macros_check(const dcli_body *body, int *hidden_out)
{
    struct macros macros = {0};
    dcl_status status = find_macros(&macros, body->prelude);
    if (status == DCL_OK && macros.count > 0)
        status = check_names(body, &macros, hidden_out);
    free_macros(&macros);
    return status;
}

/* cli/body_text.c - find words of a body, without comments. */
#include "cli/body_text.h"

#include <ctype.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

/* The end of a comment, or `text` itself if none begins there. */
static const char *skip_comment(const char *text)
{
    if (text[0] != '/' || (text[1] != '/' && text[1] != '*'))
        return text;
    const char *end = strstr(text + 2, text[1] == '/' ? "\n" : "*/");
    return end == NULL ? text + strlen(text) : text[1] == '/' ? end : end + 2;
}

bool cli_body_mentions(const char *body, const char *name)
{
    while (*body != '\0') {
        const char *next = skip_comment(body);
        size_t length = next == body ? strspn(body, letters) : 0;
        if (length == strlen(name) && memcmp(body, name, length) == 0)
            return true;
        body = next > body ? next : body + (length > 0 ? length : 1);
    }
    return false;
}

const char *cli_body_next_call(const char *text, char name_out[CLI_NAME_BYTES])
{
    while (*text != '\0') {
        const char *next = skip_comment(text);
        if (next > text) {
            text = next;
            continue;
        }
        size_t length = strspn(text, letters), behind = length + strspn(text + length, " \t\n");
        if (length > 0 && length < CLI_NAME_BYTES && !isdigit((unsigned char)text[0]) && text[behind] == '(') {
            memcpy(name_out, text, length);
            name_out[length] = '\0';
            return text + length;
        }
        text += length > 0 ? length : 1;
    }
    return NULL;
}

/* The text after blanks and comments. */
static const char *skip_blanks(const char *text)
{
    for (;;) {
        const char *next = skip_comment(text + strspn(text, " \t\n"));
        if (next == text)
            return text;
        text = next;
    }
}

/* Whether an operator min= max= any= or all= begins here. */
static bool is_word(const char *text)
{
    static const char *const words[] = {"min=", "max=", "any=", "all="};
    for (int w = 0; w < 4; w++)
        if (strncmp(text, words[w], 4) == 0 && text[4] != '=')
            return true;
    return false;
}

/* Whether an operator that reduces begins here: x op= y, but no comparison. */
static bool is_reduced(const char *text)
{
    size_t length = is_word(text) ? 3 : text[0] != '\0' && strchr("+-*&|^", text[0]) != NULL;
    return length > 0 && text[0] != '\0' && text[length] == '=' && text[length + 1] != '=';
}

/* Find the next name with which a statement may begin. @return the text after it; NULL: there is none. */
static const char *next_begin(const char *body, const char *text, char name_out[CLI_NAME_BYTES])
{
    bool begins = text == body; /* whether a statement may begin here */
    while (*(text = skip_blanks(text)) != '\0') {
        size_t length = strspn(text, letters);
        bool is_else = length == 4 && memcmp(text, "else", 4) == 0;
        if (begins && !is_else && length > 0 && length < CLI_NAME_BYTES && !isdigit((unsigned char)text[0])) {
            memcpy(name_out, text, length);
            name_out[length] = '\0';
            return text + length;
        }
        begins = (length == 0 && strchr(";{})", *text) != NULL) || is_else;
        text += length > 0 ? length : 1;
    }
    return NULL;
}

const char *cli_body_next_result(const char *body, const char *text, char name_out[CLI_NAME_BYTES])
{
    while ((text = next_begin(body, text, name_out)) != NULL)
        if (is_reduced(skip_blanks(text)))
            return text;
    return NULL;
}

/* Read one subscript that may be a plain index. @return the text after it. */
static const char *take_subscript(const char *text, cli_update *update)
{
    text = skip_blanks(text);
    const char *behind = skip_blanks(text + (*text != '\0'));
    if (*text >= 'i' && *text <= 'p' && (*behind == ',' || *behind == ')') && strchr(update->indices, *text) == NULL) {
        update->indices[strlen(update->indices)] = *text;
        return behind;
    }
    update->plain = false;
    for (int depth = 0; *text != '\0' && (depth > 0 || (*text != ',' && *text != ')')); text = skip_blanks(text + 1))
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
    return text;
}

const char *cli_body_next_update(const char *body, const char *text, cli_update *update_out)
{
    cli_update update;
    while ((text = next_begin(body, text, update.name)) != NULL) {
        const char *at = skip_blanks(text);
        if (*at != '(')
            continue;
        update.plain = true;
        memset(update.indices, 0, sizeof update.indices);
        do
            at = take_subscript(at + 1, &update);
        while (*at == ',');
        at = *at == ')' ? skip_blanks(at + 1) : at;
        update.word = is_word(at);
        if (is_reduced(at)) {
            *update_out = update;
            return text;
        }
    }
    return NULL;
}

bool cli_body_assigns(const char *body, const char *name)
{
    while (*(body = skip_blanks(body)) != '\0') {
        size_t length = strspn(body, letters);
        const char *behind = skip_blanks(body + (length > 0 ? length : 1));
        if (length == strlen(name) && memcmp(body, name, length) == 0 && behind[0] == '=' && behind[1] != '=')
            return true;
        body = behind;
    }
    return false;
}

bool cli_body_declares(const char *body, const char *name)
{
    bool after_word = false;
    while (*(body = skip_blanks(body)) != '\0') {
        size_t length = strspn(body, letters);
        if (after_word && length == strlen(name) && memcmp(body, name, length) == 0)
            return true;
        after_word = length > 0 && !isdigit((unsigned char)body[0]) && !(length == 4 && memcmp(body, "else", 4) == 0);
        body += length > 0 ? length : 1;
    }
    return false;
}

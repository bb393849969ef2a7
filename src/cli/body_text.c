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

/* The text behind blanks and comments. */
static const char *skip_blanks(const char *text)
{
    for (;;) {
        const char *next = skip_comment(text + strspn(text, " \t\n"));
        if (next == text)
            return text;
        text = next;
    }
}

/* Whether an operator that reduces begins here: x op= y, but no comparison. */
static bool is_reduced(const char *text)
{
    size_t length =
        strncmp(text, "min", 3) == 0 || strncmp(text, "max", 3) == 0 ? 3 : strchr("+-*&|^", text[0]) != NULL;
    return length > 0 && text[0] != '\0' && text[length] == '=' && text[length + 1] != '=';
}

const char *cli_body_next_result(const char *body, const char *text, char name_out[CLI_NAME_BYTES])
{
    bool begins = text == body; /* whether a statement may begin here */
    while (*(text = skip_blanks(text)) != '\0') {
        size_t length = strspn(text, letters);
        if (begins && length > 0 && length < CLI_NAME_BYTES && !isdigit((unsigned char)text[0]) &&
            is_reduced(skip_blanks(text + length))) {
            memcpy(name_out, text, length);
            name_out[length] = '\0';
            return text + length;
        }
        begins = (length == 0 && strchr(";{})", *text) != NULL) || (length == 4 && memcmp(text, "else", 4) == 0);
        text += length > 0 ? length : 1;
    }
    return NULL;
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

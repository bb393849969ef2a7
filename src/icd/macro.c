/* icd/macro.c - expanding the macros of build options, as far as names of included files need it. */
#include "icd/macro.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { MOST_DEPTH = 16 };

/* ---- definitions ---- */

static bool is_first(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_inner(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t length_of_name(const char *text)
{
    size_t length = 0;
    if (is_first(text[0]))
        while (is_inner(text[length]))
            length++;
    return length;
}

static void free_macro(icd_macro *macro)
{
    for (int p = 0; p < macro->count; p++)
        dcli_free(macro->parameter[p]);
    dcli_free(macro->name);
    dcli_free(macro->body);
}

static icd_macro *find(const icd_macros *macros, const char *name, size_t length)
{
    for (int m = 0; m < macros->count; m++)
        if (strlen(macros->macro[m].name) == length && strncmp(macros->macro[m].name, name, length) == 0)
            return (icd_macro *)&macros->macro[m];
    return NULL;
}

void icd_macro_undefine(icd_macros *macros, const char *name)
{
    icd_macro *macro = find(macros, name, strlen(name));
    if (macro == NULL)
        return;
    free_macro(macro);
    *macro = macros->macro[--macros->count];
}

static char *copy_of(const char *text, size_t length)
{
    char *copy = dcli_malloc(length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* Read the parameters after the parenthesis. @return after the closing one; NULL: malformed, or no memory. */
static const char *read_parameters(icd_macro *macro, const char *at)
{
    macro->count = 0;
    at += strspn(at, " ");
    while (*at != ')') {
        size_t length = length_of_name(at);
        if (length == 0 || macro->count == ICD_MOST_PARAMETERS ||
            (macro->parameter[macro->count] = copy_of(at, length)) == NULL)
            return NULL;
        macro->count++;
        at += length;
        at += strspn(at, " ");
        if (*at == ',')
            at += 1 + strspn(at + 1, " ");
        else if (*at != ')')
            return NULL;
    }
    return at + 1;
}

bool icd_macro_define(icd_macros *macros, const char *definition)
{
    size_t length = length_of_name(definition);
    icd_macro macro = {.count = -1};
    if (length == 0)
        return true;
    if ((macro.name = copy_of(definition, length)) == NULL)
        return false;
    icd_macro_undefine(macros, macro.name);
    const char *at = definition + length;
    if (*at == '(')
        at = read_parameters(&macro, at + 1);
    bool right = at != NULL && (*at == '=' || *at == '\0') && macros->count < ICD_MOST_MACROS;
    if (right)
        macro.body = *at == '=' ? copy_of(at + 1, strlen(at + 1)) : copy_of("1", 1);
    if (macro.body != NULL)
        macros->macro[macros->count++] = macro;
    else
        free_macro(&macro);
    return !right || macro.body != NULL;
}

void icd_macros_free(icd_macros *macros)
{
    for (int m = 0; m < macros->count; m++)
        free_macro(&macros->macro[m]);
    macros->count = 0;
}

/* ---- expanding ---- */

/** Text that is being written. */
typedef struct writer {
    char *text; /* [ICD_MOST_EXPANSION] */
    size_t length;
    bool full;
} writer;

static void put(writer *w, const char *text, size_t length)
{
    if (length >= ICD_MOST_EXPANSION - w->length) {
        w->full = true;
        return;
    }
    memcpy(w->text + w->length, text, length);
    w->length += length;
    w->text[w->length] = '\0';
}

/* A part of the text: an argument of a macro. */
typedef struct part {
    const char *text;
    size_t length;
} part;

/* Length of a literal with its quotes, or of one character. */
static size_t literal(const char *text)
{
    size_t at = 1;
    if (text[0] != '"' && text[0] != '\'')
        return 1;
    while (text[at] != '\0' && text[at] != text[0])
        at += text[at] == '\\' && text[at + 1] != '\0' ? 2 : 1;
    return at + (text[at] != '\0');
}

/* Read the arguments of a call of a macro; `text` begins after the opening parenthesis. @return number of bytes up
 * to and including the closing one; 0: it is missing, or the number of arguments is wrong. */
static size_t read_arguments(const icd_macro *macro, const char *text, part argument_out[ICD_MOST_PARAMETERS])
{
    int depth = 0, count = 0;
    size_t at = strspn(text, " \t"), begin = at;
    for (; text[at] != '\0'; at += literal(text + at)) {
        bool ends = depth == 0 && (text[at] == ')' || text[at] == ',');
        depth += (text[at] == '(') - (text[at] == ')');
        if (!ends)
            continue;
        size_t length = at - begin;
        while (length > 0 && strchr(" \t", text[begin + length - 1]) != NULL)
            length--;
        if (count < macro->count)
            argument_out[count] = (part){text + begin, length};
        count += macro->count > 0 || length > 0 || text[at] == ',';
        if (text[at] == ')')
            return count == macro->count ? at + 1 : 0;
        begin = at + 1 + strspn(text + at + 1, " \t");
    }
    return 0;
}

static void expand(const icd_macros *macros, const char *text, int depth, writer *w);

/* Write an argument as a string. */
static void put_string(writer *w, part argument)
{
    put(w, "\"", 1);
    for (size_t c = 0; c < argument.length; c++) {
        if (argument.text[c] == '"' || argument.text[c] == '\\')
            put(w, "\\", 1);
        put(w, argument.text + c, 1);
    }
    put(w, "\"", 1);
}

static int parameter_of(const icd_macro *macro, const char *name, size_t length)
{
    for (int p = 0; p < macro->count; p++)
        if (strlen(macro->parameter[p]) == length && strncmp(macro->parameter[p], name, length) == 0)
            return p;
    return -1;
}

/* Write the body of a macro with its arguments, of which those after # are not expanded. */
static void substitute(const icd_macros *macros, const icd_macro *macro, const part argument[], int depth, writer *w)
{
    for (const char *at = macro->body; *at != '\0' && !w->full;) {
        bool is_string = at[0] == '#' && macro->count > 0;
        const char *name = is_string ? at + 1 + strspn(at + 1, " ") : at;
        size_t length = length_of_name(name);
        int p = length > 0 ? parameter_of(macro, name, length) : -1;
        if (p >= 0 && is_string) {
            put_string(w, argument[p]);
            at = name + length;
        } else if (p >= 0) {
            char *copy = copy_of(argument[p].text, argument[p].length);
            if (copy != NULL)
                expand(macros, copy, depth + 1, w);
            w->full |= copy == NULL;
            dcli_free(copy);
            at = name + length;
        } else {
            size_t bytes = !is_string && length > 0 ? length : literal(at);
            put(w, at, bytes);
            at += bytes;
        }
    }
}

/* Write one use of a macro. @return bytes of it in the text after the name; 0 with *used_out false: it is none. */
static size_t use(const icd_macros *macros, const icd_macro *macro, const char *after, int depth, writer *w,
                  bool *used_out)
{
    part argument[ICD_MOST_PARAMETERS];
    size_t bytes = 0, space = strspn(after, " \t");
    *used_out = macro->count < 0;
    if (macro->count >= 0 && after[space] == '(' && (bytes = read_arguments(macro, after + space + 1, argument)) > 0) {
        bytes += space + 1;
        *used_out = true;
    }
    writer body = {.text = *used_out ? dcli_calloc(ICD_MOST_EXPANSION, 1) : NULL};
    if (body.text == NULL) {
        w->full |= *used_out;
        return bytes;
    }
    substitute(macros, macro, argument, depth, &body);
    w->full |= body.full;
    expand(macros, body.text, depth + 1, w);
    dcli_free(body.text);
    return bytes;
}

static void expand(const icd_macros *macros, const char *text, int depth, writer *w)
{
    w->full |= depth > MOST_DEPTH; /* a macro that names itself is none of ours */
    while (*text != '\0' && !w->full) {
        size_t length = length_of_name(text);
        const icd_macro *macro = length > 0 ? find(macros, text, length) : NULL;
        bool used = false;
        size_t more = macro != NULL ? use(macros, macro, text + length, depth, w, &used) : 0;
        if (!used)
            put(w, text, length > 0 ? length : literal(text));
        text += (length > 0 ? length : literal(text)) + more;
    }
}

bool icd_macros_expand(const icd_macros *macros, const char *text, char *text_out)
{
    writer w = {.text = text_out};
    text_out[0] = '\0';
    expand(macros, text, 0, &w);
    return !w.full;
}

/* kernel/words.c - cut a text into words as a preprocessor does.
 * Text that compilers cut differently is refused, because what is checked must be what is compiled. */
#include "kernel/words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/quote.h"

struct cutter {
    const dcli_origin *origin;
    char *text; /* the text with joined lines, which the words point into */
    int *place; /* index in the original text of each byte of the joined text */
    int at, counted, line, line_start;
    dcli_words *words;
};

static bool is_name_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool dcli_word_is(const dcli_word *word, const char *spelling)
{
    return word->kind != DCLI_WORD_TEXT && strncmp(word->at, spelling, (size_t)word->length) == 0 &&
           spelling[word->length] == '\0';
}

bool dcli_word_in(const dcli_word *word, const char *spellings)
{
    for (const char *at = spellings; (at = strchr(at, ' ')) != NULL && at[1] != '\0'; at++)
        if (strncmp(at + 1, word->at, (size_t)word->length) == 0 && at[1 + word->length] == ' ')
            return word->kind != DCLI_WORD_TEXT;
    return false;
}

dcl_status dcli_word_fail(const dcli_word *word, const char *format, ...)
{
    char sentence[DCLI_ERROR_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    dcli_text quoted = {0};
    dcli_quote(&quoted, word->origin->text, word->line, word->column);
    dcl_status status = DCLI_FAIL(DCL_ERR_BODY, "%sline %d, column %d: %s%s", word->origin->what, word->line,
                                  word->column, sentence, quoted.bytes != NULL ? quoted.bytes : "");
    dcli_text_free(&quoted);
    return status;
}

/* Make a word that begins at byte `at` of the joined text. Calls must be in ascending order of `at`. */
static dcli_word word_at(struct cutter *c, int at)
{
    int place = c->place[at];
    for (; c->counted < place; c->counted++)
        if (c->origin->text[c->counted] == '\n') {
            c->line++;
            c->line_start = c->counted + 1;
        }
    return (dcli_word){.origin = c->origin, .at = c->text + at, .line = c->line, .column = place - c->line_start + 1};
}

static dcl_status fail_at(struct cutter *c, int at, const char *sentence)
{
    dcli_word word = word_at(c, at);
    return dcli_word_fail(&word, "%s", sentence);
}

/* Make the joined text: without the backslashes at ends of lines and the line breaks after them. */
static dcl_status join_lines(struct cutter *c)
{
    const char *from = c->origin->text;
    int to = 0;
    for (int at = 0;; at++) {
        c->text[to] = from[at];
        c->place[to] = at;
        if (from[at] == '\0')
            return DCL_OK;
        if (from[at] == '\\') {
            int blanks = (int)strspn(from + at + 1, " \t\r\v\f"), end = at + 1 + blanks;
            if (from[end] == '\0' && end == at + 1)
                return fail_at(c, to, "a backslash ends the text and would join it to what follows; take it away");
            if (from[end] == '\n' && blanks > (from[at + 1] == '\r'))
                return fail_at(c, to,
                               "blanks stand behind the backslash that ends this line, and compilers differ in whether "
                               "it joins lines then; take them away");
            if (from[end] == '\n') {
                at = end;
                continue;
            }
        }
        to++;
    }
}

static dcl_status refuse_trigraph(struct cutter *c)
{
    return fail_at(c, c->at,
                   "two question marks and this sign are a trigraph for some compilers; write the sign that it "
                   "stands for, or put a blank between");
}

static bool at_trigraph(const struct cutter *c)
{
    const char *at = c->text + c->at;
    return at[0] == '?' && at[1] == '?' && at[2] != '\0' && strchr("=/'()!<>-", at[2]) != NULL;
}

static dcl_status skip_comment(struct cutter *c)
{
    int start = c->at;
    bool block = c->text[c->at + 1] == '*';
    const char *end = block ? strstr(c->text + c->at + 2, "*/") : c->text + c->at + strcspn(c->text + c->at, "\n");
    if (end == NULL)
        return fail_at(c, start, "this comment is not closed; end it with */");
    for (; c->text + c->at < end; c->at++)
        if (at_trigraph(c) && c->text[c->at + 2] == '/')
            return refuse_trigraph(c);
    c->at += block ? 2 : 0;
    return DCL_OK;
}

/* Skip blanks and comments. @param first  set to true if a line began. @param spaced  set to true if anything was
 * skipped. */
static dcl_status skip_blanks(struct cutter *c, bool *first, bool *spaced)
{
    dcl_status status = DCL_OK;
    while (status == DCL_OK) {
        const char *at = c->text + c->at;
        if (at[0] == '/' && (at[1] == '/' || at[1] == '*')) {
            status = skip_comment(c);
        } else if (*at != '\0' && strchr(" \t\n\r\v\f", *at) != NULL) {
            *first |= *at == '\n';
            c->at++;
        } else {
            break;
        }
        *spaced = true;
    }
    return status;
}

static dcl_status cut_quoted(struct cutter *c, dcli_word *word)
{
    char quote = c->text[c->at];
    const dcli_word *last = c->words->count > 0 ? &c->words->word[c->words->count - 1] : NULL;
    if (last != NULL && !word->spaced && !word->first && last->kind == DCLI_WORD_NAME &&
        last->at[last->length - 1] == 'R')
        return dcli_word_fail(last, "strings without escapes are not OpenCL C; write a plain string");
    word->kind = DCLI_WORD_TEXT;
    for (c->at++; c->text[c->at] != quote; c->at++) {
        if (at_trigraph(c) && (c->text[c->at + 2] == '/' || c->text[c->at + 2] == '\''))
            return refuse_trigraph(c);
        c->at += c->text[c->at] == '\\' && c->text[c->at + 1] != '\0';
        if (c->text[c->at] == '\0' || c->text[c->at] == '\n')
            return dcli_word_fail(word, "this %c is not closed on its line; add the closing %c", quote, quote);
    }
    c->at++;
    return DCL_OK;
}

static void cut_number(struct cutter *c, dcli_word *word)
{
    word->kind = DCLI_WORD_NUMBER;
    for (c->at++;
         is_name_byte(c->text[c->at]) || c->text[c->at] == '.' ||
         (strchr("+-", c->text[c->at]) != NULL && c->text[c->at] != '\0' && strchr("eEpP", c->text[c->at - 1]) != NULL);
         c->at++)
        ;
}

static dcl_status cut_sign(struct cutter *c, dcli_word *word)
{
    static const struct {
        const char *spelling, *sign;
    } signs[] = {{"%:%:", "##"}, {"%:", "#"}, {"<:", "["}, {":>", "]"}, {"<%", "{"}, {"%>", "}"}, {"##", "##"}};
    const char *at = c->text + c->at;
    word->kind = DCLI_WORD_SIGN;
    if (at_trigraph(c))
        return refuse_trigraph(c);
    if (strchr("+-*/%=<>!&|^~?:;,.()[]{}#", *at) == NULL)
        return dcli_word_fail(word,
                              isprint((unsigned char)*at) ? "'%c' has no meaning in OpenCL C; take it away"
                                                          : "a byte of value %d has no meaning in OpenCL C; "
                                                            "outside of comments and strings use plain ASCII",
                              (unsigned char)*at);
    int length = 1;
    for (size_t s = 0; s < sizeof signs / sizeof signs[0] && length == 1; s++)
        if (strncmp(at, signs[s].spelling, strlen(signs[s].spelling)) == 0) {
            word->at = signs[s].sign;
            length = (int)strlen(signs[s].spelling);
        }
    word->length = length == 1 ? 1 : (int)strlen(word->at);
    c->at += length;
    return DCL_OK;
}

static dcl_status cut_word(struct cutter *c, dcli_word *word)
{
    char byte = c->text[c->at];
    int start = c->at;
    dcl_status status = DCL_OK;
    if (is_name_byte(byte) && !isdigit((unsigned char)byte)) {
        word->kind = DCLI_WORD_NAME;
        while (is_name_byte(c->text[c->at]))
            c->at++;
    } else if (isdigit((unsigned char)byte) || (byte == '.' && isdigit((unsigned char)c->text[c->at + 1]))) {
        cut_number(c, word);
    } else if (byte == '"' || byte == '\'') {
        status = cut_quoted(c, word);
    } else {
        return cut_sign(c, word);
    }
    word->length = c->at - start;
    return status;
}

static dcl_status cut(struct cutter *c)
{
    dcl_status status = join_lines(c);
    bool first = true;
    while (status == DCL_OK) {
        bool spaced = false;
        status = skip_blanks(c, &first, &spaced);
        if (status != DCL_OK || c->text[c->at] == '\0')
            break;
        dcli_word word = word_at(c, c->at);
        word.first = first;
        word.spaced = spaced;
        first = false;
        status = cut_word(c, &word);
        if (status == DCL_OK)
            status = dcli_words_add(c->words, &word);
    }
    return status;
}

dcl_status dcli_words_cut(const dcli_origin *origin, dcli_words *words_out)
{
    size_t bytes = strlen(origin->text) + 1;
    dcli_words words = {.text = dcli_malloc(bytes)};
    struct cutter cutter = {
        .origin = origin, .text = words.text, .place = dcli_calloc(bytes, sizeof(int)), .line = 1, .words = &words};
    dcl_status status = words.text == NULL || cutter.place == NULL ? DCL_ERR_NOMEM : cut(&cutter);
    dcli_free(cutter.place);
    if (status != DCL_OK)
        dcli_words_free(&words);
    else
        *words_out = words;
    return status;
}

void dcli_words_free(dcli_words *words)
{
    dcli_free(words->text);
    dcli_free(words->word);
    *words = (dcli_words){0};
}

dcl_status dcli_words_add(dcli_words *words, const dcli_word *word)
{
    if (dcli_grow(&words->word, words->count, &words->capacity, sizeof *words->word) != 0)
        return DCL_ERR_NOMEM;
    words->word[words->count++] = *word;
    return DCL_OK;
}

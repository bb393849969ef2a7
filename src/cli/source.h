/* cli/source.h - the text of a C program, cut into tokens, and errors in it. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_token_kind {
    CLI_TOKEN_NAME,
    CLI_TOKEN_NUMBER,
    CLI_TOKEN_QUOTED, /* a string or a character */
    CLI_TOKEN_OTHER,
    CLI_TOKEN_DIRECTIVE, /* a whole directive, with the lines on which it is continued */
    CLI_TOKEN_END
} cli_token_kind;

/** A part of a text. Lines and columns count from 1, columns in bytes. */
typedef struct cli_token {
    cli_token_kind kind;
    const char *start;
    int length, line, column;
} cli_token;

typedef struct cli_source {
    const char *path; /* borrowed; for messages */
    const char *text; /* borrowed, '\0'-ended */
    cli_token *token; /* [count], the last one is END */
    int count;
    int errors; /* that were printed */
} cli_source;

/** Cut a program into tokens. */
void cli_source_cut(const char *path, const char *text, cli_source *source_out);
void cli_source_free(cli_source *source);
/** Cut what follows the first `skip` words of a directive into tokens, the last of which is END.
 *  @return [count], yours: free() */
cli_token *cli_source_cut_directive(const cli_token *directive, int skip, int *count_out);
/** Whether the words of a directive are these, as "#pragma dcl loops"; more may follow. */
bool cli_directive_is(const cli_token *directive, const char *words);

bool cli_token_is(const cli_token *token, const char *spelling);
/** Whether it has one of these spellings, which are separated by blanks. */
bool cli_token_in(const cli_token *token, const char *spellings);
bool cli_token_same(const cli_token *a, const cli_token *b);

/** Print `path:line:column: error: ... [code]`, the line with a caret, and a note (NULL: none) to stderr.
 *  @return false */
bool cli_source_error(cli_source *source, const cli_token *at, const char *code, const char *note, const char *format,
                      ...) __attribute__((format(printf, 5, 6)));

#endif

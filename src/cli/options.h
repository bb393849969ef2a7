/* cli/options.h - parse the arguments of a command by a table of its options. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/** What an option does with its value. The comments give the type of the request's field. */
typedef enum cli_kind {
    CLI_BY_FUNCTION, /* `take` handles it */
    CLI_TEXT,        /* const char *: the value as it is */
    CLI_WORD,        /* const char *: one of `words` */
    CLI_FLAG,        /* bool: true */
    CLI_INT,         /* int: a whole number in least..most */
    CLI_SIZE,        /* size_t: the same, times `unit` */
    CLI_BYTES        /* size_t: bytes, optionally followed by K, M, G or T (powers of 1024) */
} cli_kind;

/** An option. Tables end with a NULL name. */
typedef struct cli_option {
    const char *name;  /* without its dashes */
    const char *value; /* name of its value in messages; NULL: it takes none; "=...": an optional value after "=" */
    cli_kind kind;
    size_t field; /* offset in the request */
    long least, most, unit;
    const char *const *words; /* ends with NULL */
    /* @param value  NULL: none was given. @return CLI_OK, or CLI_USAGE after a sentence. */
    int (*take)(void *request, char *value);
} cli_option;

/** A command line. `--name value` and `--name=value` are equivalent; options may be anywhere, "--" ends them. */
typedef struct cli_arguments {
    const char *command; /* for messages */
    const cli_option *options;
    int (*take_plain)(void *request, char *text); /* an argument that is not an option; as `take` */
    int count;
    char **list; /* its strings are passed unchanged */
} cli_arguments;

enum { CLI_HELP = -1 /* --help or -h was given */ };

/** Parse a command line into a request. @return CLI_OK; CLI_USAGE after a sentence; CLI_HELP. */
int cli_parse(const cli_arguments *arguments, void *request);

#endif

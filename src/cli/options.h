/* cli/options.h - iterate over the arguments of a command. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/** An option as typed, without its dashes. Tables end with a NULL name. */
typedef struct cli_option {
    const char *name;
    const char *value; /* name of its value in messages; NULL: it takes none; "=...": an optional value after "=" */
} cli_option;

/** An iteration over arguments; options may be anywhere, "--" ends them. */
typedef struct cli_arguments {
    const char *command; /* for messages */
    const cli_option *options;
    int count;
    char **list;
    int next;
    bool only_plain; /* "--" was seen */
} cli_arguments;

enum {
    CLI_END = -1,   /* no more arguments */
    CLI_PLAIN = -2, /* an argument that is not an option: in value_out */
    CLI_BAD = -3,   /* an error was printed; end with CLI_USAGE */
    CLI_HELP = -4   /* --help or -h */
};

/** Get the next argument. `--name value` and `--name=value` are equivalent. @return the option's number in its table,
 *  or one of the above. */
int cli_next(cli_arguments *arguments, char **value_out);

/** Parse a whole number in least..most. @return CLI_OK, or CLI_USAGE after a sentence that names `what`. */
int cli_number(const char *command, const char *what, const char *text, long least, long most, long *number_out);

/** Parse a size in bytes, optionally followed by K, M, G or T (powers of 1024). @return as cli_number(). */
int cli_bytes(const char *command, const char *what, const char *text, size_t *bytes_out);

#endif

/* cli/options.c - parse the arguments of a command by a table of its options. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"
#include "cli/report.h"

enum { MOST_OPTIONS = 32 };

static int unknown(const cli_arguments *arguments, const char *word)
{
    const char *names[MOST_OPTIONS] = {"help"};
    int count = 1;
    for (const cli_option *option = arguments->options; option->name != NULL && count < MOST_OPTIONS; option++)
        names[count++] = option->name;
    while (*word == '-')
        word++;
    return cli_usage(arguments->command, "option --%s is not known; the nearest is --%s", word,
                     names[cli_nearest(word, count, names)]);
}

static const cli_option *find(const cli_option options[], const char *name, size_t length)
{
    for (const cli_option *option = options; option->name != NULL; option++)
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

/* ---- values ---- */

/* Find an option's value: the text after "=", else the next argument, unless that is another option. */
static int find_value(const cli_arguments *arguments, const cli_option *option, char *equals, int *next,
                      char **value_out)
{
    if (option->value == NULL && equals != NULL)
        return cli_usage(arguments->command, "--%s was given the value '%s'; expected none; write --%s alone",
                         option->name, equals + 1, option->name);
    if (option->value == NULL || (option->value[0] == '=' && equals == NULL))
        return CLI_OK;
    if (equals == NULL && (*next == arguments->count || strncmp(arguments->list[*next], "--", 2) == 0))
        return cli_usage(arguments->command, "--%s has no value; expected --%s %s", option->name, option->name,
                         option->value);
    *value_out = equals != NULL ? equals + 1 : arguments->list[(*next)++];
    return CLI_OK;
}

static int take_number(const char *command, const cli_option *option, const char *text, long *number_out)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < option->least || number > option->most)
        return cli_usage(command, "--%s is '%s'; expected a whole number from %ld to %ld", option->name, text,
                         option->least, option->most);
    *number_out = number;
    return CLI_OK;
}

static int take_bytes(const char *command, const cli_option *option, const char *text, size_t *bytes_out)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    errno = 0;
    unsigned long long bytes = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    const char *unit = end != NULL && *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if (end == NULL || errno != 0 || end[unit != NULL ? 1 : 0] != '\0' || bytes > SIZE_MAX >> shift)
        return cli_usage(command, "--%s is '%s'; expected bytes, with K, M, G or T if you like, such as 4G",
                         option->name, text);
    *bytes_out = (size_t)bytes << shift;
    return CLI_OK;
}

static int take_word(const char *command, const cli_option *option, const char *text, const char **word_out)
{
    char expected[256] = "";
    int count = 0;
    for (; option->words[count] != NULL; count++) {
        if (strcmp(option->words[count], text) == 0) {
            *word_out = text;
            return CLI_OK;
        }
        size_t length = strlen(expected);
        snprintf(expected + length, sizeof expected - length, "%s%s",
                 count == 0                         ? ""
                 : option->words[count + 1] != NULL ? ", "
                                                    : " or ",
                 option->words[count]);
    }
    return cli_usage(command, "--%s is '%s'; expected %s; the nearest is %s", option->name, text, expected,
                     option->words[cli_nearest(text, count, option->words)]);
}

static int take(const char *command, const cli_option *option, char *value, void *request)
{
    void *field = (char *)request + option->field;
    long number = 0;
    int status = CLI_OK;
    switch (option->kind) {
    case CLI_BY_FUNCTION:
        return option->take(request, value);
    case CLI_TEXT:
        *(const char **)field = value;
        return CLI_OK;
    case CLI_WORD:
        return take_word(command, option, value, field);
    case CLI_FLAG:
        *(bool *)field = true;
        return CLI_OK;
    case CLI_BYTES:
        return take_bytes(command, option, value, field);
    case CLI_INT:
        if ((status = take_number(command, option, value, &number)) == CLI_OK)
            *(int *)field = (int)number;
        return status;
    case CLI_SIZE:
        if ((status = take_number(command, option, value, &number)) == CLI_OK)
            *(size_t *)field = (size_t)(number * option->unit);
        return status;
    }
    return CLI_USAGE;
}

/* ---- the command line ---- */

int cli_parse(const cli_arguments *arguments, void *request)
{
    bool only_plain = false; /* "--" was seen */
    int status = CLI_OK;
    for (int next = 0; status == CLI_OK && next < arguments->count;) {
        char *word = arguments->list[next++], *value = NULL;
        if (only_plain || word[0] != '-' || word[1] == '\0') {
            status = arguments->take_plain(request, word);
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return CLI_HELP;
        only_plain = strcmp(word, "--") == 0;
        if (only_plain)
            continue;
        char *equals = strchr(word, '=');
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const cli_option *option = strncmp(word, "--", 2) == 0 ? find(arguments->options, word + 2, length - 2) : NULL;
        if (option == NULL)
            return unknown(arguments, word);
        status = find_value(arguments, option, equals, &next, &value);
        if (status == CLI_OK)
            status = take(arguments->command, option, value, request);
    }
    return status;
}

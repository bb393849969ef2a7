/* cli/options.c - iterate over arguments. Strings of argv are returned unchanged. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
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
    cli_usage(arguments->command, "option --%s is not known; the nearest is --%s", word,
              names[cli_nearest(word, count, names)]);
    return CLI_BAD;
}

static int find(const cli_option options[], const char *name, size_t length)
{
    for (int o = 0; options[o].name != NULL; o++)
        if (strlen(options[o].name) == length && strncmp(options[o].name, name, length) == 0)
            return o;
    return CLI_BAD;
}

/* Take an option's value: the text after "=", else the next argument, unless that is another option. */
static int take_value(cli_arguments *arguments, const cli_option *option, char *equals, char **value_out)
{
    if (option->value == NULL && equals != NULL) {
        cli_usage(arguments->command, "--%s was given the value '%s'; expected none; write --%s alone", option->name,
                  equals + 1, option->name);
        return CLI_BAD;
    }
    if (option->value == NULL || (option->value[0] == '=' && equals == NULL))
        return CLI_OK;
    if (equals != NULL) {
        *value_out = equals + 1;
        return CLI_OK;
    }
    if (arguments->next == arguments->count || strncmp(arguments->list[arguments->next], "--", 2) == 0) {
        cli_usage(arguments->command, "--%s has no value; expected --%s %s", option->name, option->name, option->value);
        return CLI_BAD;
    }
    *value_out = arguments->list[arguments->next++];
    return CLI_OK;
}

int cli_next(cli_arguments *arguments, char **value_out)
{
    if (arguments->next == arguments->count)
        return CLI_END;
    char *word = arguments->list[arguments->next++];
    if (!arguments->only_plain && strcmp(word, "--") == 0) {
        arguments->only_plain = true;
        return cli_next(arguments, value_out);
    }
    if (arguments->only_plain || word[0] != '-' || word[1] == '\0') {
        *value_out = word;
        return CLI_PLAIN;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return CLI_HELP;
    char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    int option = strncmp(word, "--", 2) == 0 ? find(arguments->options, word + 2, length - 2) : CLI_BAD;
    if (option == CLI_BAD)
        return unknown(arguments, word);
    return take_value(arguments, &arguments->options[option], equals, value_out) == CLI_OK ? option : CLI_BAD;
}

int cli_number(const char *command, const char *what, const char *text, long least, long most, long *number_out)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most)
        return cli_usage(command, "%s is '%s'; expected a whole number from %ld to %ld", what, text, least, most);
    *number_out = number;
    return CLI_OK;
}

int cli_bytes(const char *command, const char *what, const char *text, size_t *bytes_out)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    errno = 0;
    unsigned long long bytes = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    const char *unit = end != NULL && *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if (end == NULL || errno != 0 || end[unit != NULL ? 1 : 0] != '\0' || bytes > SIZE_MAX >> shift)
        return cli_usage(command, "%s is '%s'; expected bytes, with K, M, G or T if you like, such as 4G", what, text);
    *bytes_out = (size_t)bytes << shift;
    return CLI_OK;
}

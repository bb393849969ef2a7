/* cli/eval_request.c - parse the command line of eval. */
#include "cli/eval_request.h"

#include <string.h>

#include "cli/explained.h"
#include "cli/options.h"
#include "cli/report.h"

enum option { MAP, SET, EXPLAIN, STATS, JSON, REPEAT, ORDER, WORKERS, KEYS };

static const cli_option options[] = {
    [MAP] = {"map", "[NAME=]MAP"},    [SET] = {"set", "NAME=VALUE"},
    [EXPLAIN] = {"explain", "=json"}, [STATS] = {"stats", NULL},
    [JSON] = {"json", NULL},          [REPEAT] = {"repeat", "N"},
    [ORDER] = {"order", "C|F"},       [WORKERS] = {"workers", "W"},
    [KEYS] = {"keys", "DIR"},         {NULL, NULL},
};

/* State that can be interpreted only after all arguments. */
struct pending {
    const char *map; /* map for all arrays without one of their own */
    int map_count;
    const char *map_text[CLI_MAX_ARGUMENTS];
    char map_name[CLI_MAX_ARGUMENTS][CLI_NAME_BYTES];
};

static int too_many(void)
{
    return cli_usage("eval", "more than %d arrays, values and maps were given; expected at most that many",
                     CLI_MAX_ARGUMENTS);
}

static int add_map(struct pending *pending, char *text)
{
    if (pending->map_count == CLI_MAX_ARGUMENTS)
        return too_many();
    char *map = cli_split_name(text, pending->map_name[pending->map_count]);
    const char *name = map != NULL ? pending->map_name[pending->map_count] : NULL;
    for (int m = 0; m < pending->map_count && name != NULL; m++)
        if (strcmp(pending->map_name[m], name) == 0)
            return cli_usage("eval", "--map is given twice for %s: %s and %s; expected one map", name,
                             pending->map_text[m], map);
    if (name == NULL && pending->map != NULL)
        return cli_usage("eval",
                         "--map is given twice for all arrays: %s and %s; expected one map; that of one array is "
                         "given as --map NAME=%s",
                         pending->map, text, text);
    if (name == NULL)
        pending->map = text;
    else
        pending->map_text[pending->map_count++] = map;
    return CLI_OK;
}

static bool is_taken(const cli_request *request, const char *name)
{
    for (int n = 0; n < request->operand_count; n++)
        if (strcmp(request->operand[n].name, name) == 0)
            return true;
    for (int n = 0; n < request->value_count; n++)
        if (strcmp(request->value_name[n], name) == 0)
            return true;
    return false;
}

static int twice(const char *name)
{
    return cli_usage("eval", "%s is given twice; expected each name once; rename one of them in the body", name);
}

static int add_value(cli_request *request, char *text)
{
    int n = request->value_count;
    if (n + request->operand_count == CLI_MAX_ARGUMENTS)
        return too_many();
    char *value = cli_split_name(text, request->value_name[n]);
    if (value == NULL)
        return cli_usage("eval", "--set was given '%s'; expected NAME=VALUE such as alpha=0.5f", text);
    if (is_taken(request, request->value_name[n]))
        return twice(request->value_name[n]);
    request->value_count++;
    return cli_value_parse("eval", request->value_name[n], value, &request->value[n]);
}

static int add_plain(cli_request *request, char *text)
{
    if (request->body == NULL) {
        request->body = text;
        return CLI_OK;
    }
    if (request->operand_count + request->value_count == CLI_MAX_ARGUMENTS)
        return too_many();
    cli_operand operand;
    int status = cli_operand_parse(text, &operand);
    if (status != CLI_OK)
        return status;
    if (is_taken(request, operand.name))
        return twice(operand.name);
    request->operand[request->operand_count++] = operand;
    return CLI_OK;
}

static int set_order(cli_request *request, const char *text)
{
    if (strcmp(text, "C") != 0 && strcmp(text, "F") != 0)
        return cli_usage("eval", "--order is '%s'; expected C (last axis fastest) or F (first axis fastest)", text);
    request->order = text[0] == 'C' ? CLI_ORDER_C : CLI_ORDER_FORTRAN;
    return CLI_OK;
}

static int set_repeat(cli_request *request, const char *text)
{
    long repeat = 1;
    int status = cli_number("eval", "--repeat", text, 1, 1000000, &repeat);
    request->repeat = (int)repeat;
    return status;
}

static int take(cli_request *request, struct pending *pending, int option, char *value)
{
    switch (option) {
    case MAP:
        return add_map(pending, value);
    case SET:
        return add_value(request, value);
    case EXPLAIN:
        request->explain = true;
        return cli_explain_parse("eval", value, &request->json);
    case STATS:
        request->stats = true;
        return CLI_OK;
    case JSON:
        request->json = true;
        return CLI_OK;
    case REPEAT:
        return set_repeat(request, value);
    case ORDER:
        return set_order(request, value);
    case WORKERS:
        request->workers = value;
        return CLI_OK;
    case KEYS:
        request->keys = value;
        return CLI_OK;
    case CLI_PLAIN:
        return add_plain(request, value);
    case CLI_HELP:
        return CLI_HELP;
    }
    return CLI_USAGE; /* cli_next() has printed the reason */
}

static int give_maps(cli_request *request, const struct pending *pending)
{
    for (int n = 0; n < request->operand_count; n++)
        request->operand[n].map = pending->map;
    for (int m = 0; m < pending->map_count; m++) {
        int found = 0;
        for (int n = 0; n < request->operand_count; n++)
            if (strcmp(request->operand[n].name, pending->map_name[m]) == 0) {
                request->operand[n].map = pending->map_text[m];
                found++;
            }
        if (found == 0)
            return cli_usage("eval", "--map names the array %s; expected one that is given as %s=FILE",
                             pending->map_name[m], pending->map_name[m]);
    }
    return CLI_OK;
}

static int check_complete(const cli_request *request)
{
    if (request->body == NULL)
        return cli_usage("eval", "there is no body; expected one such as 'C(i,j) = A(i,j) + B(j,i);'");
    if (request->operand_count == 0)
        return cli_usage("eval", "there is no array; expected NAME=FILE for each array behind the body '%s'",
                         request->body);
    return CLI_OK;
}

int cli_request_parse(int count, char **list, cli_request *request_out)
{
    *request_out = (cli_request){.repeat = 1};
    struct pending pending = {0};
    cli_arguments arguments = {.command = "eval", .options = options, .count = count, .list = list};
    for (;;) {
        char *value = NULL;
        int option = cli_next(&arguments, &value);
        if (option == CLI_END)
            break;
        int status = take(request_out, &pending, option, value);
        if (status != CLI_OK)
            return status;
    }
    int status = check_complete(request_out);
    return status == CLI_OK ? give_maps(request_out, &pending) : status;
}

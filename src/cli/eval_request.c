/* cli/eval_request.c - parse the command line of eval. */
#include "cli/eval_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explained.h"
#include "cli/options.h"
#include "cli/report.h"

static int too_many(void)
{
    return cli_usage("eval", "more than %d arrays, values and maps were given; expected at most that many",
                     CLI_MAX_ARGUMENTS);
}

static int take_map(void *target, char *text)
{
    cli_request *request = target;
    if (request->map_count == CLI_MAX_ARGUMENTS)
        return too_many();
    char *map = cli_split_name(text, request->map_name[request->map_count]);
    const char *name = map != NULL ? request->map_name[request->map_count] : NULL;
    for (int m = 0; m < request->map_count && name != NULL; m++)
        if (strcmp(request->map_name[m], name) == 0)
            return cli_usage("eval", "--map is given twice for %s: %s and %s; expected one map", name,
                             request->map_text[m], map);
    if (name == NULL && request->map != NULL)
        return cli_usage("eval",
                         "--map is given twice for all arrays: %s and %s; expected one map; that of one array is "
                         "given as --map NAME=%s",
                         request->map, text, text);
    if (name == NULL)
        request->map = text;
    else
        request->map_text[request->map_count++] = map;
    return CLI_OK;
}

bool cli_request_has(const cli_request *request, const char *name)
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

static int take_value(void *target, char *text)
{
    cli_request *request = target;
    int n = request->value_count;
    if (n + request->operand_count == CLI_MAX_ARGUMENTS)
        return too_many();
    char *value = cli_split_name(text, request->value_name[n]);
    if (value == NULL)
        return cli_usage("eval", "--set was given '%s'; expected NAME=VALUE such as alpha=0.5f", text);
    if (cli_request_has(request, request->value_name[n]))
        return twice(request->value_name[n]);
    request->value_count++;
    return cli_value_parse("eval", request->value_name[n], value, &request->value[n]);
}

static int take_plain(void *target, char *text)
{
    cli_request *request = target;
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
    if (cli_request_has(request, operand.name))
        return twice(operand.name);
    request->operand[request->operand_count++] = operand;
    return CLI_OK;
}

static int take_order(void *target, char *text)
{
    cli_request *request = target;
    if (strcmp(text, "C") != 0 && strcmp(text, "F") != 0)
        return cli_usage("eval", "--order is '%s'; expected C (last axis fastest) or F (first axis fastest)", text);
    request->order = text[0] == 'C' ? CLI_ORDER_C : CLI_ORDER_FORTRAN;
    return CLI_OK;
}

static int take_progress(void *target, char *text)
{
    static const char *const words[] = {"auto", "always", "never"};
    cli_request *request = target;
    for (int w = 0; w < 3; w++)
        if (strcmp(text, words[w]) == 0) {
            request->progress = (cli_progress_when)w;
            return CLI_OK;
        }
    return cli_usage("eval", "--progress is '%s'; expected auto, always or never", text);
}

static int take_bits(void *target, char *text)
{
    cli_request *request = target;
    if (strcmp(text, "8") != 0 && strcmp(text, "16") != 0)
        return cli_usage("eval", "--bits is '%s'; expected 8 or 16, the bits of a pixel", text);
    request->image.bits = atoi(text);
    request->image_given = true;
    return CLI_OK;
}

static int take_grey(void *target, char *text)
{
    cli_request *request = target;
    char *end, *last;
    double black = strtod(text, &end), white = *end == ':' ? strtod(end + 1, &last) : NAN;
    if (end == text || *end != ':' || last == end + 1 || *last != '\0' || !isfinite(black) || !isfinite(white) ||
        black == white)
        return cli_usage("eval",
                         "--grey is '%s'; expected two different numbers BLACK:WHITE, the elements that are black and "
                         "white, such as 0:1",
                         text);
    request->image.black = black;
    request->image.white = white;
    request->image_given = true;
    return CLI_OK;
}

static int take_explain(void *target, char *text)
{
    cli_request *request = target;
    request->explain = true;
    return cli_explain_parse("eval", text, &request->json);
}

#define FIELD(name) .field = offsetof(cli_request, name)
static const cli_option options[] = {
    {"map", "[NAME=]MAP", .take = take_map},
    {"set", "NAME=VALUE", .take = take_value},
    {"over", "RANGES", CLI_TEXT, FIELD(over)},
    {"scan", "INDEX", CLI_TEXT, FIELD(scan)},
    {"exclusive", NULL, CLI_FLAG, FIELD(exclusive)},
    {"explain", "=json", .take = take_explain},
    {"stats", NULL, CLI_FLAG, FIELD(stats)},
    {"json", NULL, CLI_FLAG, FIELD(json)},
    {"repeat", "N", CLI_INT, FIELD(repeat), 1, 1000000},
    {"order", "C|F", .take = take_order},
    {"bits", "8|16", .take = take_bits},
    {"grey", "BLACK:WHITE", .take = take_grey},
    {"workers", "W", CLI_TEXT, FIELD(workers)},
    {"keys", "DIR", CLI_TEXT, FIELD(keys)},
    {"trace", "FILE", CLI_TEXT, FIELD(trace)},
    {"steal", "POLICY", CLI_TEXT, FIELD(steal)},
    {"progress", "WHEN", .take = take_progress},
    {NULL},
};

static int give_maps(cli_request *request)
{
    for (int n = 0; n < request->operand_count; n++)
        request->operand[n].map = request->map;
    for (int m = 0; m < request->map_count; m++) {
        int found = 0;
        for (int n = 0; n < request->operand_count; n++)
            if (strcmp(request->operand[n].name, request->map_name[m]) == 0) {
                request->operand[n].map = request->map_text[m];
                found++;
            }
        if (found == 0)
            return cli_usage("eval", "--map names the array %s; expected one that is given as %s=FILE",
                             request->map_name[m], request->map_name[m]);
    }
    return CLI_OK;
}

static int check_complete(const cli_request *request)
{
    if (request->body == NULL)
        return cli_usage("eval", "there is no body; expected one such as 'C(i,j) = A(i,j) + B(j,i);'");
    if (request->operand_count == 0 && request->over == NULL)
        return cli_usage("eval", "there is no array; expected NAME=FILE for each array behind the body '%s'",
                         request->body);
    if (request->exclusive && request->scan == NULL)
        return cli_usage("eval",
                         "--exclusive is given without --scan; expected --scan INDEX with it, such as --scan i");
    if (request->scan != NULL && (strlen(request->scan) != 1 || strchr("ijklmnop", request->scan[0]) == NULL))
        return cli_usage("eval", "--scan is '%s'; expected the index that is scanned, one of i j k l m n o p",
                         request->scan);
    return CLI_OK;
}

int cli_request_parse(int count, char **list, cli_request *request_out)
{
    *request_out = (cli_request){.repeat = 1, .image.struct_size = sizeof request_out->image};
    int status = cli_parse(&(cli_arguments){"eval", options, take_plain, count, list}, request_out);
    if (status == CLI_OK)
        status = check_complete(request_out);
    return status == CLI_OK ? give_maps(request_out) : status;
}

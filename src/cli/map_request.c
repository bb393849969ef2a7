/* cli/map_request.c - parse the command line of map. */
#include "cli/map_request.h"

#include <string.h>

#include "cli/explained.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/shape.h"

/* ---- arrays by their names ---- */

/* Find the entry of an array, or make it. */
static int find_array(cli_map_request *request, const char *name, cli_map_array **array_out)
{
    for (int a = 0; a < request->array_count; a++)
        if (strcmp(request->array[a].name, name) == 0) {
            *array_out = &request->array[a];
            return CLI_OK;
        }
    if (request->array_count == CLI_MAP_MOST)
        return cli_usage("map", "more than %d arrays were named; expected at most that many", CLI_MAP_MOST);
    *array_out = &request->array[request->array_count++];
    strcpy((*array_out)->name, name);
    return CLI_OK;
}

/* Parse a grid: SHAPE or SHAPE:TYPE. */
static int read_grid(char *text, dcl_grid *grid_out)
{
    dcl_grid grid = {.type = DCL_FLOAT};
    char *type = strchr(text, ':');
    if (type != NULL) {
        *type++ = '\0';
        grid.type = dcl_type_named(type);
        if (grid.type == 0)
            return cli_usage(
                "map",
                "type '%s' is not known; expected int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
                "half, float or double behind the shape",
                type);
    }
    int status = cli_shape_parse("map", "--grid", text, &grid);
    *grid_out = grid;
    return status;
}

static int take_grid(void *target, char *text)
{
    cli_map_request *request = target;
    char name[CLI_NAME_BYTES];
    char *shape = cli_split_name(text, name);
    dcl_grid *grid = &request->grid;
    if (shape != NULL) {
        cli_map_array *array = NULL;
        int status = find_array(request, name, &array);
        if (status != CLI_OK)
            return status;
        grid = &array->grid;
    }
    if (grid->rank > 0)
        return cli_usage("map",
                         "--grid is given twice%s%s; expected one shape; that of one array of a body is given "
                         "as --grid NAME=SHAPE",
                         shape != NULL ? " for " : "", shape != NULL ? name : "");
    return read_grid(shape != NULL ? shape : text, grid);
}

static int take_map(void *target, char *text)
{
    cli_map_request *request = target;
    char name[CLI_NAME_BYTES];
    char *rule = cli_split_name(text, name);
    const char **map = &request->map;
    if (rule != NULL) {
        cli_map_array *array = NULL;
        int status = find_array(request, name, &array);
        if (status != CLI_OK)
            return status;
        map = &array->map;
    }
    if (*map != NULL)
        return cli_usage("map",
                         "--map is given twice%s%s; expected one map; that of one array of a body is given as "
                         "--map NAME=MAP",
                         rule != NULL ? " for " : "", rule != NULL ? name : "");
    *map = rule != NULL ? rule : text;
    return CLI_OK;
}

static int take_value(void *target, char *text)
{
    cli_map_request *request = target;
    int n = request->value_count;
    if (n == CLI_MAP_MOST)
        return cli_usage("map", "more than %d values were given; expected at most that many", CLI_MAP_MOST);
    char *value = cli_split_name(text, request->value_name[n]);
    if (value == NULL)
        return cli_usage("map", "--set was given '%s'; expected NAME=VALUE such as n=3", text);
    request->value_count++;
    return cli_value_parse("map", request->value_name[n], value, &request->value[n]);
}

static int set_once(const char **field, const char *option, const char *value)
{
    if (*field != NULL)
        return cli_usage("map", "%s is given twice; expected it once", option);
    *field = value;
    return CLI_OK;
}

static int take_svg(void *target, char *text) { return set_once(&((cli_map_request *)target)->svg, "--svg", text); }
static int take_body(void *target, char *text) { return set_once(&((cli_map_request *)target)->body, "--body", text); }

/* Set --owners. @param text  its value; NULL: none */
static int take_owners(void *target, char *text)
{
    cli_map_request *request = target;
    if (text != NULL && strcmp(text, "all") != 0)
        return cli_usage("map", "--owners is '%s'; expected --owners, or --owners=all for grids of any size", text);
    request->owners = true;
    request->all_owners |= text != NULL;
    return CLI_OK;
}

static int take_explain(void *target, char *text)
{
    cli_map_request *request = target;
    request->explain = true;
    return cli_explain_parse("map", text, &request->json);
}

static int take_plain(void *target, char *text)
{
    (void)target;
    return cli_usage("map", "argument '%s' was given; expected options only; a map is given as --map '%s'", text, text);
}

static const cli_option options[] = {
    {"grid", "[NAME=]SHAPE", .take = take_grid},
    {"nodes", "N", CLI_INT, .field = offsetof(cli_map_request, nodes), 1, 1000000},
    {"map", "[NAME=]MAP", .take = take_map},
    {"owners", "=all", .take = take_owners},
    {"svg", "FILE", .take = take_svg},
    {"body", "BODY", .take = take_body},
    {"set", "NAME=VALUE", .take = take_value},
    {"explain", "=json", .take = take_explain},
    {NULL},
};

static int check(const cli_map_request *request)
{
    bool any_grid = request->grid.rank > 0;
    for (int a = 0; a < request->array_count; a++)
        any_grid = any_grid || request->array[a].grid.rank > 0;
    if (request->body == NULL && request->array_count > 0)
        return cli_usage("map",
                         "%s is named, but there is no body; expected --body BODY, or a shape and a map without "
                         "a name",
                         request->array[0].name);
    if (request->body == NULL && request->value_count > 0)
        return cli_usage("map", "--set is given, but there is no body; expected --body BODY with it");
    if (request->explain && (request->body == NULL || request->svg != NULL))
        return cli_usage("map", "--explain is given %s; expected it with --body BODY and without --svg",
                         request->body == NULL ? "without a body" : "with --svg");
    if (!any_grid)
        return cli_usage("map", "there is no grid; expected --grid SHAPE such as --grid 6x6");
    if (request->nodes == 0)
        return cli_usage("map", "the number of nodes is not given; expected --nodes N such as --nodes 4");
    if (request->owners && (request->svg != NULL || request->body != NULL))
        return cli_usage("map", "--owners is given with %s; expected one of them: owners are printed as text",
                         request->svg != NULL ? "--svg" : "--body");
    return CLI_OK;
}

int cli_map_request_parse(int count, char **list, cli_map_request *request_out)
{
    *request_out = (cli_map_request){.grid.type = DCL_FLOAT};
    int status = cli_parse(&(cli_arguments){"map", options, take_plain, count, list}, request_out);
    return status == CLI_OK ? check(request_out) : status;
}

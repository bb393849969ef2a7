/* cli/map.c - dcl map: who owns what, without a device. */
#include <inttypes.h>
#include <stdio.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/picture.h"
#include "cli/report.h"
#include "cli/shape.h"

enum option { GRID, NODES, MAP, OWNERS };

static const cli_option options[] = {
    [GRID] = {"grid", "SHAPE"},
    [NODES] = {"nodes", "N"},
    [MAP] = {"map", "MAP"},
    [OWNERS] = {"owners", NULL},
    {NULL, NULL},
};

struct request {
    dcl_grid grid;
    long nodes;
    const char *map; /* NULL: the default */
    bool owners;
};

static int take(struct request *request, int option, const char *value)
{
    switch (option) {
    case GRID:
        return cli_shape_parse("map", "--grid", value, &request->grid);
    case NODES:
        return cli_number("map", "--nodes", value, 1, 1000000, &request->nodes);
    case MAP:
        request->map = value;
        return CLI_OK;
    case OWNERS:
        request->owners = true;
        return CLI_OK;
    case CLI_PLAIN:
        return cli_usage("map", "argument '%s' was given; expected options only; a map is given as --map '%s'", value,
                         value);
    case CLI_HELP:
        return CLI_HELP;
    }
    return CLI_USAGE; /* cli_next() has said why */
}

static int parse(int count, char **list, struct request *request_out)
{
    struct request request = {.grid.type = DCL_FLOAT}; /* only the default map's limit counts bytes */
    cli_arguments arguments = {.command = "map", .options = options, .count = count, .list = list};
    for (;;) {
        char *value = NULL;
        int option = cli_next(&arguments, &value);
        if (option == CLI_END)
            break;
        int status = take(&request, option, value);
        if (status != CLI_OK)
            return status;
    }
    if (request.grid.rank == 0)
        return cli_usage("map", "there is no grid; expected --grid SHAPE such as --grid 6x6");
    if (request.nodes == 0)
        return cli_usage("map", "the number of nodes is not given; expected --nodes N such as --nodes 4");
    *request_out = request;
    return CLI_OK;
}

/* Steps to the row-major next index. @return the axis that grew; -1 after the last index. */
static int next_index(const dcl_grid *grid, int64_t index[])
{
    for (int d = grid->rank - 1; d >= 0; d--) {
        if (++index[d] < grid->extent[d])
            return d;
        index[d] = 0;
    }
    return -1;
}

static int print_owners(const dcl_map *map, const dcl_grid *grid)
{
    int64_t index[DCL_MAX_RANK] = {0}, offset = 0;
    for (int axis = 0; axis >= 0;) {
        int node = 0;
        if (dcl_map_locate(map, grid, index, &node, &offset) != DCL_OK)
            return cli_library_failed();
        printf("%d", node);
        axis = next_index(grid, index);
        fputs(axis == grid->rank - 1 ? " " : axis >= 0 && axis < grid->rank - 2 ? "\n\n" : "\n", stdout);
    }
    return CLI_OK;
}

/* A map that was asked for has its text; the default one, unless DCL_MAP says another, has a limit beside it. */
static void print_title(const struct request *request, const dcl_map *map)
{
    char text[512], shape[CLI_SHAPE_BYTES];
    dcl_config config;
    dcl_map_print(map, text, sizeof text);
    if (request->map == NULL && dcl_config_read(&config) == DCL_OK && config.map == NULL)
        printf("default (%s; float arrays below %zu bytes on one node)", text, config.small_bytes);
    else
        printf("%s", text);
    int nodes = dcl_map_node_count(map);
    printf(": %s over %d node%s\n\n", cli_shape_print(&request->grid, shape), nodes, nodes == 1 ? "" : "s");
}

static int draw(const struct request *request, const dcl_map *map)
{
    const dcl_grid *grid = &request->grid;
    cli_survey survey;
    int status = cli_survey_make(map, grid, &survey);
    if (status != CLI_OK)
        return status;
    cli_canvas canvas = cli_canvas_of_stdout();
    print_title(request, map);
    if (dcl_grid_count(grid) > 0)
        status = cli_picture_draw(map, grid, &survey, &canvas);
    else
        puts("The grid has no elements.");
    if (status == CLI_OK)
        cli_picture_legend(grid, &survey, &canvas);
    cli_survey_free(&survey);
    return status;
}

static int show(const struct request *request, dcl_cluster *cluster)
{
    dcl_map *map = request->map != NULL ? dcl_map_parse(cluster, request->map) : dcl_map_default(cluster);
    if (map == NULL)
        return cli_library_failed();
    int64_t storage; /* says whether map and grid fit */
    int status =
        dcl_map_storage(map, &request->grid, dcl_map_node(map, 0), &storage) == DCL_OK ? CLI_OK : cli_library_failed();
    if (status == CLI_OK && !request->owners)
        status = draw(request, map);
    else if (status == CLI_OK && dcl_grid_count(&request->grid) > 0)
        status = print_owners(map, &request->grid);
    dcl_release(map);
    return status;
}

int cli_map(int count, char **list)
{
    struct request request;
    int status = parse(count, list, &request);
    if (status == CLI_HELP)
        return cli_help_about("map");
    if (status != CLI_OK)
        return status;
    dcl_cluster *cluster = dcl_open_plan((int)request.nodes);
    if (cluster == NULL)
        return cli_library_failed();
    status = show(&request, cluster);
    dcl_close(cluster);
    return status;
}

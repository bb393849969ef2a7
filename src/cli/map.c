/* cli/map.c - `dcl map`: show who owns what, without a device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/explained.h"
#include "cli/map_request.h"
#include "cli/map_svg.h"
#include "cli/map_title.h"
#include "cli/moves.h"
#include "cli/options.h" /* CLI_HELP */
#include "cli/picture.h"
#include "cli/report.h"
#include "cli/shape.h"

/* Advance to the row-major next index. @return the axis that was incremented; -1 after the last index. */
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
        if (node < 0)
            putchar('-'); /* stored nowhere */
        else
            printf("%d", node);
        axis = next_index(grid, index);
        fputs(axis == grid->rank - 1 ? " " : axis >= 0 && axis < grid->rank - 2 ? "\n\n" : "\n", stdout);
    }
    return CLI_OK;
}

static int draw(const cli_map_request *request, const dcl_map *map, const cli_survey *survey, const char *title)
{
    const dcl_grid *grid = &request->grid;
    char shape[CLI_SHAPE_BYTES];
    cli_canvas canvas = cli_canvas_of_stdout();
    int nodes = dcl_map_node_count(map), status = CLI_OK;
    printf("%s: %s over %d node%s\n\n", title, cli_shape_print(grid, shape), nodes, nodes == 1 ? "" : "s");
    if (dcl_grid_count(grid) > 0)
        status = cli_picture_draw(map, grid, survey, &canvas);
    else
        puts("The grid has no elements.");
    if (status == CLI_OK)
        cli_picture_legend(grid, survey, &canvas);
    return status;
}

/* Print owners, with a limit: a mistyped size would otherwise print without end. */
static int show_owners(const cli_map_request *request, const dcl_map *map)
{
    enum { MOST_PRINTED = 10000000 };
    const dcl_grid *grid = &request->grid;
    int64_t count = dcl_grid_count(grid);
    if (count > MOST_PRINTED && !request->all_owners)
        return cli_fail("the grid has %" PRId64 " elements; expected at most %d whose owners are printed one by one; "
                        "give a smaller grid, leave out --owners for a picture and what each node stores, or give "
                        "--owners=all",
                        count, MOST_PRINTED);
    return count > 0 ? print_owners(map, grid) : CLI_OK;
}

static int show(const cli_map_request *request, const dcl_map *map)
{
    const dcl_grid *grid = &request->grid;
    if (request->owners)
        return show_owners(request, map);
    if (request->svg != NULL && dcl_grid_count(grid) == 0)
        return cli_fail("the grid has no elements; expected some for a picture");
    cli_survey survey;
    int status = cli_survey_make(map, grid, &survey);
    if (status != CLI_OK)
        return status;
    char *title = cli_map_title(map, request->map);
    if (request->svg != NULL)
        status = cli_map_svg(title, map, grid, &survey, request->svg);
    else
        status = draw(request, map, &survey, title);
    free(title);
    cli_survey_free(&survey);
    return status;
}

static int show_map(const cli_map_request *request, dcl_cluster *cluster)
{
    dcl_map *map = request->map != NULL ? dcl_map_parse(cluster, request->map) : dcl_map_default(cluster);
    if (map == NULL)
        return cli_library_failed();
    int64_t storage; /* also checks whether map and grid fit */
    int status = CLI_OK;
    if (dcl_map_storage(map, &request->grid, dcl_map_node(map, 0), &storage) != DCL_OK)
        status = cli_library_failed();
    else
        status = show(request, map);
    dcl_release(map);
    return status;
}

static int show_moves(const cli_map_request *request, dcl_cluster *cluster)
{
    cli_moves *moves = cli_alloc(1, sizeof *moves);
    int status = cli_moves_make(request, cluster, moves);
    if (status == CLI_OK && request->explain)
        cli_report_show(moves->report, request->json);
    else if (status == CLI_OK && request->svg != NULL)
        status = cli_moves_svg(moves, request->svg);
    else if (status == CLI_OK)
        cli_moves_draw(moves);
    cli_moves_free(moves);
    free(moves);
    return status;
}

static int work(const cli_map_request *request)
{
    dcl_cluster *cluster = dcl_open_plan(request->nodes);
    if (cluster == NULL)
        return cli_library_failed();
    int status = request->body != NULL ? show_moves(request, cluster) : show_map(request, cluster);
    dcl_close(cluster);
    return status;
}

int cli_map(int count, char **list)
{
    cli_map_request *request = cli_alloc(1, sizeof *request);
    int status = cli_map_request_parse(count, list, request);
    if (status == CLI_HELP)
        status = cli_help_about("map");
    else if (status == CLI_OK)
        status = work(request);
    free(request);
    return status;
}

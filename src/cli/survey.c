/* cli/survey.c - find the borders and shares of a map. */
#include "cli/survey.h"

#include <limits.h>
#include <stdlib.h>

#include "cli/report.h"

enum {
    MOST_BOXES = 2000000, /* limit, because a map of single elements can have as many boxes as elements */
    MOST_STEPS = 1 << 20, /* limit on the steps along a line */
};

struct visit {
    cli_survey *survey;
    const dcl_grid *grid;
    int place; /* index in the survey of the node being visited */
    int64_t boxes;
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void note_borders(cli_survey *survey, const dcl_grid *grid, const dcl_box *box, int d)
{
    int64_t begin = box->start[d], end = begin + box->count[d];
    if (box->count[d] > 1 && box->stride[d] > 1)
        end = begin + 1;
    survey->grain[d] = common_divisor(survey->grain[d], begin);
    if (end < grid->extent[d])
        survey->grain[d] = common_divisor(survey->grain[d], end);
}

static dcl_status visit_box(void *user, const dcl_box *box)
{
    struct visit *visit = user;
    if (++visit->boxes > MOST_BOXES)
        return DCL_ERR_TIMEOUT;
    int64_t elements = 1;
    for (int d = 0; d < box->rank; d++)
        elements *= box->count[d];
    if (elements == 0)
        return DCL_OK;
    visit->survey->owned[visit->place] += elements;
    for (int d = 0; d < box->rank; d++)
        note_borders(visit->survey, visit->grid, box, d);
    return DCL_OK;
}

static int visit_nodes(const dcl_map *map, const dcl_grid *grid, cli_survey *survey)
{
    struct visit visit = {.survey = survey, .grid = grid};
    survey->complete = true;
    for (int n = 0; n < survey->nodes; n++) {
        survey->node[n] = dcl_map_node(map, n);
        survey->largest = survey->node[n] > survey->largest ? survey->node[n] : survey->largest;
        if (dcl_map_storage(map, grid, survey->node[n], &survey->storage[n]) != DCL_OK)
            return cli_library_failed();
        visit.place = n;
        if (survey->complete && dcl_map_boxes(map, grid, survey->node[n], visit_box, &visit) != DCL_OK) {
            if (visit.boxes <= MOST_BOXES)
                return cli_library_failed();
            survey->complete = false;
        }
    }
    return CLI_OK;
}

/* Walk along axis d from `index` to find borders between owners: the boxes of a map with strides do not show how long
 * runs are. */
static int walk_line(const dcl_map *map, const dcl_grid *grid, int d, int64_t index[], cli_survey *survey)
{
    int64_t offset, begin = 0, steps = grid->extent[d] < MOST_STEPS ? grid->extent[d] : MOST_STEPS;
    int owner = INT_MIN; /* none yet; -1 means elements that are not stored */
    for (index[d] = 0; index[d] < steps; index[d]++) {
        int node;
        if (dcl_map_locate(map, grid, index, &node, &offset) != DCL_OK)
            return cli_library_failed();
        if (node != owner) {
            survey->border[d] = common_divisor(survey->border[d], index[d]);
            begin = index[d];
            owner = node;
        }
        if (index[d] - begin >= survey->longest[d])
            survey->longest[d] = index[d] - begin + 1;
    }
    return CLI_OK;
}

static int walk_lines(const dcl_map *map, const dcl_grid *grid, cli_survey *survey)
{
    for (int line = 0; line < 3; line++)
        for (int d = 0; d < grid->rank; d++) {
            int64_t index[DCL_MAX_RANK];
            for (int e = 0; e < grid->rank; e++)
                index[e] = (grid->extent[e] - 1) * line / 2; /* first, middle, last */
            int status = walk_line(map, grid, d, index, survey);
            if (status != CLI_OK)
                return status;
        }
    return CLI_OK;
}

/* Complete the survey. An axis without borders gets its extent as grain; if not all boxes were visited, all grains are 1.
 * Axes too long to walk along have only the borders between boxes. */
static void complete_grains(const dcl_grid *grid, cli_survey *survey)
{
    for (int d = 0; d < grid->rank; d++) {
        if (!survey->complete)
            survey->grain[d] = 1;
        else if (survey->grain[d] == 0)
            survey->grain[d] = grid->extent[d];
        if (survey->border[d] == 0)
            survey->border[d] = grid->extent[d];
        if (grid->extent[d] > MOST_STEPS && survey->complete) {
            survey->border[d] = common_divisor(survey->border[d], survey->grain[d]);
            survey->longest[d] = survey->longest[d] > survey->grain[d] ? survey->longest[d] : survey->grain[d];
        }
    }
}

int cli_survey_make(const dcl_map *map, const dcl_grid *grid, cli_survey *survey_out)
{
    cli_survey survey = {.nodes = dcl_map_node_count(map)};
    survey.node = cli_alloc((size_t)survey.nodes, sizeof *survey.node);
    survey.owned = cli_alloc((size_t)survey.nodes, sizeof *survey.owned);
    survey.storage = cli_alloc((size_t)survey.nodes, sizeof *survey.storage);
    int status = visit_nodes(map, grid, &survey);
    if (status == CLI_OK && dcl_grid_count(grid) > 0)
        status = walk_lines(map, grid, &survey);
    if (status != CLI_OK) {
        cli_survey_free(&survey);
        return status;
    }
    complete_grains(grid, &survey);
    *survey_out = survey;
    return CLI_OK;
}

void cli_survey_free(cli_survey *survey)
{
    free(survey->node);
    free(survey->owned);
    free(survey->storage);
    *survey = (cli_survey){0};
}

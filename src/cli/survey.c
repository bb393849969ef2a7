/* cli/survey.c - borders and shares of a map. */
#include "cli/survey.h"

#include <stdlib.h>

#include "cli/report.h"

enum { MOST_BOXES = 4000000 }; /* about a second; maps of single elements have as many boxes as elements */

struct visit {
    cli_survey *survey;
    const dcl_grid *grid;
    int node;
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
    int64_t begin = box->start[d], count = box->count[d];
    bool scattered = count > 1 && box->stride[d] > 1;
    int64_t run = scattered ? 1 : count;
    survey->grain[d] = common_divisor(survey->grain[d], begin);
    if (begin + run < grid->extent[d])
        survey->grain[d] = common_divisor(survey->grain[d], begin + run);
    if (run > survey->longest[d])
        survey->longest[d] = run;
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
    visit->survey->owned[visit->node] += elements;
    for (int d = 0; d < box->rank; d++)
        note_borders(visit->survey, visit->grid, box, d);
    return DCL_OK;
}

static int visit_nodes(const dcl_map *map, const dcl_grid *grid, cli_survey *survey)
{
    struct visit visit = {.survey = survey, .grid = grid};
    survey->complete = true;
    for (int n = 0; n < survey->nodes; n++) {
        if (dcl_map_storage(map, grid, n, &survey->storage[n]) != DCL_OK)
            return cli_library_failed();
        visit.node = n;
        if (survey->complete && dcl_map_boxes(map, grid, n, visit_box, &visit) != DCL_OK) {
            if (visit.boxes <= MOST_BOXES)
                return cli_library_failed();
            survey->complete = false;
        }
    }
    return CLI_OK;
}

int cli_survey_make(const dcl_map *map, const dcl_grid *grid, cli_survey *survey_out)
{
    cli_survey survey = {.nodes = dcl_map_node_count(map)};
    survey.owned = cli_alloc((size_t)survey.nodes, sizeof *survey.owned);
    survey.storage = cli_alloc((size_t)survey.nodes, sizeof *survey.storage);
    int status = visit_nodes(map, grid, &survey);
    if (status != CLI_OK) {
        cli_survey_free(&survey);
        return status;
    }
    for (int d = 0; d < grid->rank; d++)
        if (survey.grain[d] == 0) /* no border at all */
            survey.grain[d] = grid->extent[d];
    *survey_out = survey;
    return CLI_OK;
}

void cli_survey_free(cli_survey *survey)
{
    free(survey->owned);
    free(survey->storage);
    *survey = (cli_survey){0};
}

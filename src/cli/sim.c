/* cli/sim.c - `dcl sim`: run a program on simulated clusters of many sizes. */
#include "cli/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"

static int run(const cli_sim_request *request, cli_sim_run *run)
{
    dcl_sim_settings settings = request->settings;
    double elements = strcmp(request->scaling, "weak") == 0 ? request->size * run->nodes : request->size;
    settings.program = run->program;
    settings.steal = run->steal;
    settings.nodes = run->nodes;
    settings.elements = (int64_t)fmin(elements, 0x1p60); /* dcl_sim_run() refuses more than 2^50 */
    cli_progress_say("simulating %s on %d nodes", cli_sim_programs[run->program], run->nodes);
    return dcl_sim_run(&settings, &run->figures) == DCL_OK ? CLI_OK : cli_library_failed();
}

static int run_all(const cli_sim_request *request, cli_sim_run runs[])
{
    int count = cli_sim_series(request) * request->node_count;
    int status = CLI_OK;
    cli_progress_begin(CLI_PROGRESS_AUTO);
    for (int n = 0; n < count && status == CLI_OK; n++) {
        int series = n / request->node_count;
        runs[n].program = request->program[series / request->steal_count];
        runs[n].steal = request->steal[series % request->steal_count];
        runs[n].nodes = request->nodes[n % request->node_count];
        status = run(request, &runs[n]);
    }
    cli_progress_end();
    return status;
}

int cli_sim(int count, char **list)
{
    cli_sim_request request;
    int status = cli_sim_parse(count, list, &request);
    if (status == CLI_HELP)
        return cli_help_about("sim");
    if (status != CLI_OK)
        return status;
    cli_sim_run *runs = cli_alloc((size_t)(cli_sim_series(&request) * request.node_count), sizeof *runs);
    status = run_all(&request, runs);
    if (status == CLI_OK && request.json)
        cli_sim_json(&request, runs);
    else if (status == CLI_OK && request.svg != NULL)
        status = cli_sim_draw(&request, runs);
    else if (status == CLI_OK)
        cli_sim_table(&request, runs);
    free(runs);
    return status;
}

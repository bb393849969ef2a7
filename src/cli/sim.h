/* cli/sim.h - `dcl sim`: the runs that its command line asks for, and their results. */
#ifndef CLI_SIM_H
#define CLI_SIM_H

#include <stdio.h>

#include "cli/chart.h"
#include "sim/sim.h"

enum { CLI_MOST_SIZES = CLI_MOST_POINTS, CLI_SIM_LABEL = 16, CLI_SIM_STEALS = DCL_STEAL_ALWAYS - DCL_STEAL_NEVER + 1 };

typedef struct cli_sim_request {
    dcl_sim_settings settings; /* of all runs */
    int program_count;
    dcl_sim_program program[DCL_SIM_PROGRAMS];
    int steal_count;
    dcl_steal_policy steal[CLI_SIM_STEALS]; /* each program is run with each of these policies */
    int node_count;
    int nodes[CLI_MOST_SIZES]; /* [node_count] ascending */
    const char *scaling;       /* "weak" or "strong" */
    double size;               /* elements: per node, or all */
    const char *cost, *chart, *svg;
    bool json;
} cli_sim_request;

/** A run. */
typedef struct cli_sim_run {
    dcl_sim_program program;
    dcl_steal_policy steal;
    int nodes;
    dcl_sim_figures figures;
} cli_sim_run;

extern const char *const cli_sim_programs[DCL_SIM_PROGRAMS + 1], *const cli_sim_steals[CLI_SIM_STEALS + 1];

/** The number of programs times that of policies. Each pair has a series of runs, one for each number of nodes. */
static inline int cli_sim_series(const cli_sim_request *request)
{
    return request->program_count * request->steal_count;
}

/** Parse the command line. @return as cli_parse(). */
int cli_sim_parse(int count, char **list, cli_sim_request *request_out);

/** Print runs, [series * node_count] program by program, policy by policy, and by number of nodes. */
void cli_sim_table(const cli_sim_request *request, const cli_sim_run runs[]);
void cli_sim_json(const cli_sim_request *request, const cli_sim_run runs[]);
/** Draw the requested chart. @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_sim_draw(const cli_sim_request *request, const cli_sim_run runs[]);

#endif

/* cli/figures.h - print what eval counted, for scripts (key=value lines) and for programs (JSON). */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include <stdio.h>

#include <dcl.h>

#include "cli/eval_request.h"

/** The figures of one evaluation. */
typedef struct cli_figures {
    bool planned;        /* not run: only `total` is set, with the planned counters */
    double seconds;      /* time of one run of the body; the median of several */
    double load_seconds; /* time of reading files and making arrays */
    double save_seconds;
    int repeat;                                  /* number of runs of the body */
    const char *balanced_map;                    /* of a report; NULL: none is advised */
    double balanced_seconds, unbalanced_seconds; /* ... a run with and without it, by the times measured */
    int nodes;
    dcl_counters total;      /* counters of one run, of all nodes together */
    dcl_counters *node;      /* [nodes] counters of one run, by node */
    const char *const *name; /* [nodes] names of the nodes' devices */
} cli_figures;

void cli_figures_lines(const cli_figures *figures, FILE *file);
/** Write the figures of a run, and what its body reduces, as JSON. */
void cli_figures_json(const cli_figures *figures, const cli_request *request, FILE *file);

#endif

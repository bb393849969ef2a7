/* cli/figures.h - print what eval counted, for scripts (key=value lines) and for programs (JSON). */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include <stdio.h>

#include <dcl.h>

/** The figures of one evaluation. */
typedef struct cli_figures {
    bool planned;        /* not run: only `total` is set, with the planned counters */
    double seconds;      /* time of one run of the body; the median of several */
    double load_seconds; /* time of reading files and making arrays */
    double save_seconds;
    int repeat; /* runs */
    int nodes;
    dcl_counters total;      /* of one run */
    dcl_counters *node;      /* [nodes] */
    const char *const *name; /* [nodes] devices */
} cli_figures;

void cli_figures_lines(const cli_figures *figures, FILE *file);
/** Write the figures of a run as JSON. */
void cli_figures_json(const cli_figures *figures, FILE *file);

#endif

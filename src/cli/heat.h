/* cli/heat.h - a heat map: how much moves from which node to which. Many nodes share rows and columns. */
#ifndef CLI_HEAT_H
#define CLI_HEAT_H

#include "cli/moves.h"

enum { CLI_MOST_HEAT = 48 }; /* rows, and columns */

typedef struct cli_heat {
    int size;                                    /* rows, and columns */
    int nodes;                                   /* nodes per row or column; the last may have fewer */
    int64_t bytes[CLI_MOST_HEAT][CLI_MOST_HEAT]; /* [from][to] bytes that move between two groups of nodes */
    int64_t largest;
} cli_heat;

/** Make a heat map. @param most  maximum number of rows, at most CLI_MOST_HEAT. */
void cli_heat_make(const cli_moves *moves, int most, cli_heat *heat_out);

#endif

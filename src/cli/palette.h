/* cli/palette.h - the colours of nodes, told apart by people who are colour-blind as well. */
#ifndef CLI_PALETTE_H
#define CLI_PALETTE_H

/** A colour of cells and of what is written on them. */
typedef struct cli_colour {
    const char *fill, *ink;     /* "#rrggbb" */
    int terminal, terminal_ink; /* nearest of the 256 colours of xterm */
} cli_colour;

enum { CLI_COLOURS = 16 }; /* then they come again */

/** The colour of a node; -1 is what no node owns. */
const cli_colour *cli_node_colour(int node);

#endif

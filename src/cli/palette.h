/* cli/palette.h - the colours of nodes, distinguishable also by colour-blind people. */
#ifndef CLI_PALETTE_H
#define CLI_PALETTE_H

/** A colour of cells and of the text on them. */
typedef struct cli_colour {
    const char *fill, *ink;     /* "#rrggbb" */
    int terminal, terminal_ink; /* the nearest of xterm's 256 colours */
} cli_colour;

enum { CLI_COLOURS = 16 }; /* then they come again */

/** The colour of a node; -1: of elements that no node owns. */
const cli_colour *cli_node_colour(int node);

#endif

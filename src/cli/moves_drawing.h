/* cli/moves_drawing.h - two ways to draw moves as SVG. */
#ifndef CLI_MOVES_DRAWING_H
#define CLI_MOVES_DRAWING_H

#include "cli/moves.h"
#include "cli/svg.h"

/** Nodes in a circle and an arrow for each move, as heavy as its share of the largest, with its bytes.
 *  @param left, top  upper left corner. */
void cli_draw_arrows(cli_svg *svg, const cli_moves *moves, double left, double top);

/** A row for each node that gives, a column for each that takes, a shade for the bytes, and what the shades mean. Many
 *  nodes share rows and columns. */
void cli_draw_heat(cli_svg *svg, const cli_moves *moves, double left, double top);

#endif

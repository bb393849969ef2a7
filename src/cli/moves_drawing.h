/* cli/moves_drawing.h - two ways to draw moves as SVG. */
#ifndef CLI_MOVES_DRAWING_H
#define CLI_MOVES_DRAWING_H

#include "cli/moves.h"
#include "cli/svg.h"

/** Draw nodes on a circle and an arrow for each move, with its bytes; the width is its share of the largest move.
 *  @param left, top  upper left corner. */
void cli_draw_arrows(cli_svg *svg, const cli_moves *moves, double left, double top);

/** Draw a heat map: a row for each sending node, a column for each receiving node, a shade for the bytes, and a scale.
 *  Many nodes share rows and columns. */
void cli_draw_heat(cli_svg *svg, const cli_moves *moves, double left, double top);

#endif

/* cli/picture.h - draw the owners of a grid with characters. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "cli/survey.h"

/** The area in which a map is drawn. */
typedef struct cli_canvas {
    int columns, lines; /* size of the drawing area in characters */
    bool colour;        /* a terminal that supports colours */
} cli_canvas;

/** The terminal on stdout, or 80 x 40 characters without colour. */
cli_canvas cli_canvas_of_stdout(void);

/** Draw the owners of a non-empty grid to stdout: a row of nodes for rank 1, a plane for rank 2, the first planes for
 *  more. If a grid is larger than the canvas, a cell stands for several elements; if runs of one owner are shorter than
 *  such a cell, the pattern would be hidden, and only the first corner is drawn. @return CLI_OK, or CLI_FAILURE after a
 *  sentence. */
int cli_picture_draw(const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const cli_canvas *canvas);

/** Print what each node owns and stores to stdout. */
void cli_picture_legend(const dcl_grid *grid, const cli_survey *survey, const cli_canvas *canvas);

#endif

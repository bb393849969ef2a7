/* cli/picture.h - a grid's owners drawn with characters. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "cli/survey.h"

/** Where it is drawn. */
typedef struct cli_canvas {
    int columns, lines; /* characters there is room for */
    bool colour;        /* a terminal that understands colours */
} cli_canvas;

/** The terminal behind stdout, or 80 x 40 characters without colour. */
cli_canvas cli_canvas_of_stdout(void);

/** Draw the owners of a grid that has elements to stdout: a row of nodes for rank 1, a plane for rank 2, the first
 *  planes for more. A grid larger than the canvas is drawn with several elements per character cell; when that would
 *  hide a pattern finer than a cell, its first corner is drawn.
 *  @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_picture_draw(const dcl_map *map, const dcl_grid *grid, const cli_survey *survey, const cli_canvas *canvas);

/** Print what each node owns and stores to stdout. */
void cli_picture_legend(const dcl_grid *grid, const cli_survey *survey, const cli_canvas *canvas);

#endif

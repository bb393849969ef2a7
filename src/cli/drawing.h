/* cli/drawing.h - the cells of a sheet as SVG. */
#ifndef CLI_DRAWING_H
#define CLI_DRAWING_H

#include "cli/sheet.h"
#include "cli/svg.h"

/** Rectangle of a picture, pixels. */
typedef struct cli_area {
    double left, top, right, bottom;
} cli_area;

/** Draw all planes of a sheet, side by side, with labels of rows and columns.
 *  @param size  pixels that a plane is at most wide and high; of rank 1: its width.
 *  @param room  pixels from `left` that the planes of a row may take together; one is drawn in any case.
 *  @return what is taken. */
cli_area cli_draw_sheet(cli_svg *svg, const cli_sheet *sheet, double left, double top, double size, double room);

/** Draw what the lines of a sheet mean. @param left, top  upper left corner. @return what is taken. */
cli_area cli_draw_line_legend(cli_svg *svg, const cli_sheet *sheet, double left, double top);

/** The cell in which a node's colour is explained: a square with its number. */
void cli_draw_swatch(cli_svg *svg, double left, double top, int node);

#endif

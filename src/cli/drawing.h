/* cli/drawing.h - draw the cells of a sheet as SVG. */
#ifndef CLI_DRAWING_H
#define CLI_DRAWING_H

#include "cli/sheet.h"
#include "cli/svg.h"

/** Where a part of a picture lies: its edges, in pixels from the upper left corner of the picture. */
typedef struct cli_area {
    double left, top, right, bottom;
} cli_area;

/** Draw all planes of a sheet side by side, with labels of rows and columns.
 *  @param size  most pixels of a plane's width and height; of rank 1: its width.
 *  @param room  most pixels from `left` for a row of planes; at least one plane is drawn.
 *  @return the area used. */
cli_area cli_draw_sheet(cli_svg *svg, const cli_sheet *sheet, double left, double top, double size, double room);

/** Draw the legend of the lines of a sheet. @param left, top  upper left corner. @return the area used. */
cli_area cli_draw_line_legend(cli_svg *svg, const cli_sheet *sheet, double left, double top);

/** Draw the sample of a node's colour for the legend: a square with its number. */
void cli_draw_swatch(cli_svg *svg, double left, double top, int node);

#endif

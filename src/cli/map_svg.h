/* cli/map_svg.h - draw a map as an SVG file. */
#ifndef CLI_MAP_SVG_H
#define CLI_MAP_SVG_H

#include "cli/survey.h"

/** Draw who owns what of a grid: planes, a legend of nodes and lines, and notes on what was omitted.
 *  @param title  the map as text. @param path  a file; "-": stdout.
 *  @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_map_svg(const char *title, const dcl_map *map, const dcl_grid *grid, const cli_survey *survey,
                const char *path);

#endif

/* cli/shape.h - shapes as text: 100x200. */
#ifndef CLI_SHAPE_H
#define CLI_SHAPE_H

#include <dcl.h>

enum { CLI_SHAPE_BYTES = 21 * DCL_MAX_RANK };

/** Whether a text is meant to be a shape: digits, and separators that people use. */
bool cli_shape_meant(const char *text);
/** Parse the extents of a shape; the grid's type is unchanged. @return CLI_OK, or CLI_USAGE after a sentence that names
 *  `what`. */
int cli_shape_parse(const char *command, const char *what, const char *text, dcl_grid *grid_out);
/** Write the extents of a grid. @return text_out */
const char *cli_shape_print(const dcl_grid *grid, char text_out[CLI_SHAPE_BYTES]);

#endif

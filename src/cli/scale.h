/* cli/scale.h - how many elements of an axis a drawn cell stands for. */
#ifndef CLI_SCALE_H
#define CLI_SCALE_H

#include <stdbool.h>
#include <stdint.h>

/** The scale of one axis: cell c stands for the elements from c * step on. */
typedef struct cli_scale {
    int64_t extent, step, cells;
    bool cropped; /* the axis has more cells than are drawn */
} cli_scale;

/** Choose the cells of an axis: at most `most`, with one element each if these suffice.
 *  @param border   all relevant borders are multiples of it; cells begin there if possible.
 *  @param longest  the longest run of one owner. If it is shorter than a cell, scaling would hide the pattern, so the
 *                  axis is cropped instead. */
cli_scale cli_scale_make(int64_t extent, int64_t most, int64_t border, int64_t longest);

#endif

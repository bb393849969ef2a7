/* cli/scale.h - how many elements of an axis a drawn cell stands for. */
#ifndef CLI_SCALE_H
#define CLI_SCALE_H

#include <stdbool.h>
#include <stdint.h>

/** One axis as it is drawn: cell c stands for the elements from c * step on. */
typedef struct cli_scale {
    int64_t extent, step, cells;
    bool cropped; /* more cells would follow */
} cli_scale;

/** Cells for an axis: at most `most`, of a single element each where these suffice.
 *  @param border   every border that matters lies at a multiple of it: cells begin there where that is possible.
 *  @param longest  the longest run of one owner. One that is shorter than a cell would hide a pattern: the axis is then
 *                  cropped rather than scaled. */
cli_scale cli_scale_make(int64_t extent, int64_t most, int64_t border, int64_t longest);

#endif

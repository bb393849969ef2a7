/* cli/scale.c - choose how many elements a drawn cell stands for. */
#include "cli/scale.h"

/* Elements per cell: the least divisor of the border in least .. 4 * least - 1, so that borders lie between cells; if
 * there is none, `least`. */
static int64_t step_for(int64_t least, int64_t border)
{
    for (int64_t step = least; step <= border && step < 4 * least; step++)
        if (border % step == 0)
            return step;
    return least;
}

cli_scale cli_scale_make(int64_t extent, int64_t most, int64_t border, int64_t longest)
{
    cli_scale scale = {.extent = extent, .step = 1, .cells = extent};
    if (extent <= most)
        return scale;
    int64_t least = (extent - 1) / most + 1;
    scale.step = longest >= least ? step_for(least, border) : border;
    scale.cells = (extent - 1) / scale.step + 1;
    scale.cropped = scale.cells > most;
    if (scale.cropped)
        scale.cells = most;
    return scale;
}

/* test/support/loop_arrays.h - the arrays of a nest, written shortly. Included by files that test the room loop. */
#ifndef TEST_LOOP_ARRAYS_H
#define TEST_LOOP_ARRAYS_H

#include "loop/inside.h"

/* An initializer of a dcli_loops_name of doubles: its name, access, number of axes and extents. */
#define ARRAY(text, use, axes, ...)                                \
    {                                                              \
        .name = text, .access = use, .type = DCL_DOUBLE, .grid = { \
            .rank = axes,                                          \
            .type = DCL_DOUBLE,                                    \
            .extent = {__VA_ARGS__}                                \
        }                                                          \
    }

#endif

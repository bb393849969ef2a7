/* test/support/simmap.h - random maps of both families. */
#ifndef TEST_SUPPORT_SIMMAP_H
#define TEST_SUPPORT_SIMMAP_H

#include "resmap/layout.h"
#include "segment/random.h"

/** Bind a random map to a grid. @param text_out  [capacity] receives the map as text. */
void sim_map_bind(test_random *random, int node_count, const dcl_grid *grid, char *text_out, size_t capacity,
                  dcli_layout *layout_out);

#endif

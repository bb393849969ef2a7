/* test/support/simview.h - random views. */
#ifndef TEST_SUPPORT_SIMVIEW_H
#define TEST_SUPPORT_SIMVIEW_H

#include "segment/random.h"
#include "segment/view.h"

/** Make a view of a grid: one to four steps of transposing, slicing, cutting, shifting, taking an index and, unless it
 *  is to be written, broadcasting. */
dcli_transform sim_random_view(test_random *random, const dcl_grid *base, bool written);

/** Another shape for a grid, of one to three axes. */
dcl_grid sim_random_shape(test_random *random, const dcl_grid *grid);

/** Every second index of axis 0, from the first (`second` false) or the second: the two have no element in common. */
dcli_transform sim_every_second(const dcl_grid *base, bool second);

/** Print a view: "[2:8, 0:3] of 1 - i, 2*j" is its grid, and the base's indices. */
void sim_print_view(const dcli_transform *view, char *text, size_t capacity);

#endif

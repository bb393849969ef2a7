/* golden/draw.h - random numbers and random maps. They are the same for ever: golden.txt holds what was made from them. */
#ifndef TEST_GOLDEN_DRAW_H
#define TEST_GOLDEN_DRAW_H

#include <dcl.h>

/** Source: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
uint64_t golden_next(uint64_t *random);
/** A number from low to high, both included. */
int64_t golden_between(uint64_t *random, int64_t low, int64_t high);
/** True in `percent` of 100 cases. */
bool golden_chance(uint64_t *random, int percent);
/** One of the numbers, which end with -1. */
int64_t golden_one_of(uint64_t *random, const int64_t numbers[]);

/** Append to a text of GOLDEN_TEXT bytes; what does not fit is cut. */
enum { GOLDEN_TEXT = 4096 };
__attribute__((format(printf, 2, 3))) void golden_append(char text[GOLDEN_TEXT], const char *format, ...);

/** Draw a map of any kind that serves this grid on nodes 0..nodes-1.
 *  @param large  only kinds whose text and planning do not grow with the number of elements. */
void golden_draw_map(uint64_t *random, const dcl_grid *grid, int nodes, bool large, char text_out[GOLDEN_TEXT]);

#endif

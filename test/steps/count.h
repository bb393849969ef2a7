/* test/steps/count.h - the counter of basic blocks that were run in the rooms that are compiled for counting. */
#ifndef TEST_STEPS_COUNT_H
#define TEST_STEPS_COUNT_H

#include <stdint.h>

extern int64_t steps;

#endif

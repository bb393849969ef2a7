/* test/segment/random.h - seeded random numbers and small random boxes for the properties of the geometry. */
#ifndef TEST_SEGMENT_RANDOM_H
#define TEST_SEGMENT_RANDOM_H

#include <stdint.h>

#include "segment/footprint.h"

/** A generator's state; start with the seed, print the seed in failures. Source: splitmix64, Steele, Lea, Flood,
 *  "Fast splittable pseudorandom number generators", OOPSLA 2014. */
typedef uint64_t test_random;

static inline uint64_t test_next(test_random *random)
{
    uint64_t z = *random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/** A number in lo..hi, where these differ by less than 2^64 - 1; their difference may be above INT64_MAX. */
static inline int64_t test_between(test_random *random, int64_t lo, int64_t hi)
{
    return (int64_t)((uint64_t)lo + test_next(random) % ((uint64_t)hi - (uint64_t)lo + 1));
}

/** A box inside [-side, side) on every axis, with strides up to 4; about one axis in sixteen is empty. */
static inline dcl_box test_box(test_random *random, int rank, int64_t side)
{
    dcl_box box = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        box.stride[d] = test_between(random, 1, 4);
        box.start[d] = test_between(random, -side, side - 1);
        int64_t most = (side - 1 - box.start[d]) / box.stride[d] + 1;
        box.count[d] = test_between(random, 0, 15) == 0 ? 0 : test_between(random, 1, most);
    }
    return box;
}

/** Step through all indices in [-side, side)^rank, last axis fastest. Start with index[] = -side.
 *  @return false after the last. */
static inline bool test_next_index(int64_t index[], int rank, int64_t side)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < side)
            return true;
        index[d] = -side;
    }
    return false;
}

/** What test_limited() gives where nothing is read: outside of all grids of these tests. */
#define TEST_NOTHING (-1000000)

/** Give a subscript limits within -side .. side, and something beyond them. */
static inline void test_add_limits(test_random *random, dcli_subscript *subscript, int64_t side)
{
    subscript->clamped = true;
    subscript->low = test_between(random, -side, side);
    subscript->high = test_between(random, subscript->low, side);
    subscript->beyond = (dcli_beyond)test_between(random, DCLI_BEYOND_EDGE, DCLI_BEYOND_NOTHING);
    subscript->repeat = subscript->beyond == DCLI_BEYOND_MIRROR ? test_between(random, 0, 1) : 0;
}

/** The element that a subscript reads for a number of its sum; it is mirrored step by step. */
static inline int64_t test_limited(const dcli_subscript *subscript, int64_t number)
{
    int64_t low = subscript->low, high = subscript->high;
    while (subscript->clamped && (number < low || number > high))
        if (subscript->beyond == DCLI_BEYOND_NOTHING)
            return TEST_NOTHING;
        else if (subscript->beyond == DCLI_BEYOND_EDGE || low == high)
            number = number < low ? low : high;
        else
            number = number < low ? 2 * low - subscript->repeat - number : 2 * high + subscript->repeat - number;
    return number;
}

#endif

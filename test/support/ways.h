/* test/support/ways.h - nodes that all read each other's parts in place, or all exchange messages. */
#ifndef TEST_SUPPORT_WAYS_H
#define TEST_SUPPORT_WAYS_H

#include "base/ways.h"

/** Abilities of 64 nodes: all, or none if not `in_place`. @return [64] */
static inline const dcli_node_ways *test_ways(bool in_place)
{
    static dcli_node_ways ways[2][64];
    for (int n = 0; n < 64; n++)
        ways[1][n].can = DCLI_CAN_ALL;
    return ways[in_place];
}

#endif

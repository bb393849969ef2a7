/* test/support/simcount.h - the planned counters of loop bodies and moves, computed element by element. */
#ifndef TEST_SUPPORT_SIMCOUNT_H
#define TEST_SUPPORT_SIMCOUNT_H

#include "support/simdata.h"

/** Count what every node's tasks, or the move to it, touch of each other node's elements without replicas; 1..64 nodes.
 *  @param bytes_out, blocks_out  [node_count * node_count]: of owner p's elements by node q's tasks, at p * node_count
 *                    + q.
 *  @return whether these are exact: then the plan must count the same, else at least as much. */
bool sim_count_moved(const sim_data *data, const dcli_operation *operation, int64_t bytes_out[], int64_t blocks_out[]);

#endif

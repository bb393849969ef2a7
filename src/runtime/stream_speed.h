/* runtime/stream_speed.h - how fast the nodes of a cluster stream each operation: measured by its first steps, and kept. */
#ifndef DCLI_RUNTIME_STREAM_SPEED_H
#define DCLI_RUNTIME_STREAM_SPEED_H

#include "loop/plan.h"
#include "loop/tiles.h"
#include "runtime/cluster.h"

/** A number for an operation of a nest: the same if its body, and the extents of its indices and arrays are the same. */
uint64_t dcli_stream_key(const dcli_loops_call *operation, const dcli_tiles *tiles);
/** Find the speed of an operation.
 *  @param speed_out  if nothing was measured: the copies of the operation measured last, or assumptions.
 *  @return whether it was measured. Takes the lock. */
bool dcli_stream_speed_find(dcl_cluster *cluster, uint64_t key, dcli_tiles_speed *speed_out);
/** Keep a measured speed; if there is no memory it is measured again. Takes the lock. */
void dcli_stream_speed_keep(dcl_cluster *cluster, uint64_t key, const dcli_tiles_speed *speed);
/** Find the parts into which an operation of measured speed was split last. Choosing them takes milliseconds.
 *  @param nodes, most_bytes  as of dcli_tiles_choose(). @return false: it was not split, or for other nodes. Takes the lock. */
bool dcli_stream_parts_find(dcl_cluster *cluster, uint64_t key, int nodes, int64_t most_bytes,
                            int64_t parts_out[DCL_MAX_RANK]);
/** Keep the parts of an operation until another speed is kept. Does nothing if its speed was not measured. Takes the lock. */
void dcli_stream_parts_keep(dcl_cluster *cluster, uint64_t key, int nodes, int64_t most_bytes,
                            const int64_t parts[DCL_MAX_RANK]);
void dcli_stream_speeds_free(dcl_cluster *cluster);

#endif

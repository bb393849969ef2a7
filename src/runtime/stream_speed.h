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
void dcli_stream_speeds_free(dcl_cluster *cluster);

#endif

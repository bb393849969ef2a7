/* worker/copying.h - the host's copies between the program's memory and chunks. The helpers of the process make long ones. */
#ifndef DCLI_WORKER_COPYING_H
#define DCLI_WORKER_COPYING_H

#include "worker/peer.h"

/** Copy the elements of a chunk between `packed` and the memory that the program lends to a READ or WRITE, in either direction.
 *  Both stay where they are until the copy has ended.
 *  @param batch      of the host's own plan, which has the chunk.
 *  @param start_out  whether it has ended or runs; one that runs ends its batch in dcli_copying_collect().
 *  @return DCL_OK; DCL_ERR_INVALID, without a sentence: the memory was taken back; DCL_ERR_NOMEM. */
dcl_status dcli_copying_start(dcli_worker *worker, dcli_entry *entry, int64_t batch, const dcli_chunk *chunk,
                              void *packed, dcli_start *start_out);
/** Tell the state machine of the copies that have ended. */
dcl_status dcli_copying_collect(dcli_worker *worker);
/** Wait for the helpers; what has not been told is not told any more. */
void dcli_copying_end(dcli_worker *worker);

#endif

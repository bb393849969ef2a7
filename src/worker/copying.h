/* worker/copying.h - the host's copies between the program's memory and chunks. Helper threads of the process make long
 * copies. */
#ifndef DCLI_WORKER_COPYING_H
#define DCLI_WORKER_COPYING_H

#include "worker/peer.h"

/** Copy the elements of a chunk between `packed` and the memory that the program lends to a READ or WRITE: to the
 *  program's memory for a READ, from it for a WRITE. Both must stay valid until the copy has ended.
 *  @param batch      number of the batch in the host's own plan to which the chunk belongs.
 *  @param start_out  DCLI_START_ENDED: the copy is complete; DCLI_START_RUNS: dcli_copying_collect() will report its
 *                    end.
 *  @return DCL_OK; DCL_ERR_INVALID, without a sentence: the program has taken its memory back; DCL_ERR_NOMEM. */
dcl_status dcli_copying_start(dcli_worker *worker, dcli_entry *entry, int64_t batch, const dcli_chunk *chunk,
                              void *packed, dcli_start *start_out);
/** Report to the state machine which copies have ended. */
dcl_status dcli_copying_collect(dcli_worker *worker);
/** Wait until the helpers have finished all copies. Their ends are not reported any more. */
void dcli_copying_end(dcli_worker *worker);

#endif

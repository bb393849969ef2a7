/* worker/board.h - addresses of parts in this process, by storage and node. Locked inside; never held for long. */
#ifndef DCLI_WORKER_BOARD_H
#define DCLI_WORKER_BOARD_H

#include "worker/worker.h"

dcl_status dcli_board_put(dcli_board *board, int64_t storage, int node, void *address, size_t bytes);
/** The same for memory of another process, which is unmapped when it is dropped.
 *  @return DCL_OK; DCL_ERR_PROTOCOL: the node has shown a part of this storage before; DCL_ERR_NOMEM. */
dcl_status dcli_board_put_mapped(dcli_board *board, int64_t storage, int node, void *address, size_t bytes);
/** The address, or NULL: the node holds no such part of at least so many bytes (its allocation failed, say). */
void *dcli_board_get(dcli_board *board, int64_t storage, int node, size_t bytes);
/** Forget a storage on all nodes. */
void dcli_board_drop_storage(dcli_board *board, int64_t storage);
void dcli_board_drop(dcli_board *board, int64_t storage, int node);

#endif

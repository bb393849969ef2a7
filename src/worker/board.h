/* worker/board.h - addresses of parts in this process, by storage and node. Locked inside; never held for long. */
#ifndef DCLI_WORKER_BOARD_H
#define DCLI_WORKER_BOARD_H

#include "net/message.h"
#include "worker/worker.h"

dcl_status dcli_board_put(dcli_board *board, int64_t storage, int node, void *address, size_t bytes);

/** Memory of another process, in which parts of its node lie. Unmapped once it has ended and no part in it is left.
 *  @param address  mapped; NULL: it could not be, so that its parts cannot be read here.
 *  @return DCL_OK; DCL_ERR_PROTOCOL: the node has shown memory of this number before; DCL_ERR_NOMEM. */
dcl_status dcli_board_add_memory(dcli_board *board, int node, int64_t memfd, void *address, size_t bytes);
/** @return whether it is there. */
bool dcli_board_find_memory(dcli_board *board, int node, int64_t memfd, void **address_out, size_t *bytes_out);
/** No more parts will lie in it. memfd 0: in none of this node. */
void dcli_board_end_memory(dcli_board *board, int node, int64_t memfd);
/** dcli_board_put() for a part that lies in such memory, which is there.
 *  @return DCL_OK; DCL_ERR_PROTOCOL: the node has shown a part of this storage before; DCL_ERR_NOMEM. */
dcl_status dcli_board_put_part(dcli_board *board, int node, const dcli_msg_part *part);

/** The address, or NULL: the node holds no such part of at least so many bytes (its allocation failed, say). */
void *dcli_board_get(dcli_board *board, int64_t storage, int node, size_t bytes);
/** Forget a storage on all nodes. */
void dcli_board_drop_storage(dcli_board *board, int64_t storage);
void dcli_board_drop(dcli_board *board, int64_t storage, int node);

#endif

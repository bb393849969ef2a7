/* worker/board.h - a table of where parts lie that kernels of this process read, by storage and node: addresses, or peer
 * memory (dcli_memory_import()). It has a lock of its own, held only briefly. */
#ifndef DCLI_WORKER_BOARD_H
#define DCLI_WORKER_BOARD_H

#include "device/device.h"
#include "net/message.h"
#include "worker/worker.h"

dcl_status dcli_board_put(dcli_board *board, int64_t storage, int node, void *address, size_t bytes);
/** The same of a part in peer memory, whose descriptor stays valid until the part is dropped. */
dcl_status dcli_board_put_peer(dcli_board *board, int64_t storage, int node, const dcli_memory_place *place,
                               size_t bytes);

/** Add memory of another process, which contains parts of its node. It is unmapped when it has ended and no part in it
 *  is left.
 *  @param address  mapped; NULL: it could not be mapped, so its parts cannot be read here.
 *  @return DCL_OK; DCL_ERR_PROTOCOL: the node has announced memory of this number before; DCL_ERR_NOMEM. */
dcl_status dcli_board_add_memory(dcli_board *board, int node, int64_t memfd, void *address, size_t bytes);
/** The same of peer memory of another process. @param descriptor  taken over on success. */
dcl_status dcli_board_add_peer_memory(dcli_board *board, int node, int64_t memfd, int descriptor);
/** Find memory of another process. @param address_out  NULL for peer memory, too; then its length is not known, and
 *  *bytes_out is SIZE_MAX. @return whether there is one with this number. */
bool dcli_board_find_memory(dcli_board *board, int node, int64_t memfd, void **address_out, size_t *bytes_out);
/** End a memory: no more parts will be added to it. memfd 0: end all memories of this node. */
void dcli_board_end_memory(dcli_board *board, int node, int64_t memfd);
/** dcli_board_put() for a part in memory of another process, which was added before. @return DCL_OK; DCL_ERR_PROTOCOL:
 *  the node has announced a part of this storage before; DCL_ERR_NOMEM. */
dcl_status dcli_board_put_part(dcli_board *board, int node, const dcli_msg_part *part);

/** Get the address of a part; NULL: the node has no such part of at least that many bytes (for example because its
 *  allocation failed). */
void *dcli_board_get(dcli_board *board, int64_t storage, int node, size_t bytes);
/** The same of a part in peer memory. The descriptor is borrowed until the part is dropped. @return false: there is none. */
bool dcli_board_get_peer(dcli_board *board, int64_t storage, int node, size_t bytes, dcli_memory_place *place_out);
/** Remove the parts of a storage on all nodes. */
void dcli_board_drop_storage(dcli_board *board, int64_t storage);
void dcli_board_drop(dcli_board *board, int64_t storage, int node);

#endif

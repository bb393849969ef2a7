/* worker/address_table.h - the address table of a process: for each storage and node, where kernels of this process
 * find the node's part. That is an address in memory mapped here, or memory of another GPU that can be imported
 * (dcli_memory_import()). It has a lock of its own, held only briefly. */
#ifndef DCLI_WORKER_ADDRESS_TABLE_H
#define DCLI_WORKER_ADDRESS_TABLE_H

#include "device/device.h"
#include "net/message.h"
#include "worker/worker.h"

/** Add the part of a node of this process. @param place  its address; or its place in peer memory, whose descriptors
 *  must stay valid until the part is dropped. @return DCL_OK; DCL_ERR_PROTOCOL: the part was added before;
 *  DCL_ERR_NOMEM. */
dcl_status dcli_address_table_put(dcli_address_table *addresses, int64_t storage, int node,
                                  const dcli_memory_place *place, size_t bytes);

/** Add memory of another process, in which parts of its node lie. It is unmapped when dcli_address_table_end_memory()
 *  was called for it and the table has no part in it any more.
 *  @param address     NULL: it could not be mapped, so its parts cannot be read here; or it is GPU memory.
 *  @param descriptor  of one allocation of GPU memory, taken over on success; -1: this is not GPU memory.
 *  @return DCL_OK; DCL_ERR_PROTOCOL: the node has announced memory of this number before; DCL_ERR_NOMEM. */
dcl_status dcli_address_table_add_memory(dcli_address_table *addresses, int node, int64_t memfd, void *address,
                                         size_t bytes, int descriptor);
/** Find memory of another process by its number. @param address_out  NULL for GPU memory, too; its length is then not
 *  known, and *bytes_out is SIZE_MAX. @return whether it was added. */
bool dcli_address_table_find_memory(dcli_address_table *addresses, int node, int64_t memfd, void **address_out,
                                    size_t *bytes_out);
/** End memory that its owner has freed: no part in it will be added any more. memfd 0: end all memories of the node. */
void dcli_address_table_end_memory(dcli_address_table *addresses, int node, int64_t memfd);
/** dcli_address_table_put() for a part in memory of another process, which was added before. @return DCL_OK, also if
 *  one of the part's allocations is missing here: then dcli_address_table_get() does not find it; DCL_ERR_PROTOCOL: the
 *  node has announced a part of this storage before; DCL_ERR_NOMEM. */
dcl_status dcli_address_table_put_part(dcli_address_table *addresses, int node, const dcli_msg_part *part);

/** Find where a part lies: its address (`host`), or its place in memory of another GPU, whose descriptors are borrowed
 *  until the part is dropped. @return false: the node has no such part of at least that many bytes (for example because
 *  its allocation failed). */
bool dcli_address_table_get(dcli_address_table *addresses, int64_t storage, int node, size_t bytes,
                            dcli_memory_place *place_out);
/** Remove the part of a storage on a node. @param node  -1: the parts on all nodes. */
void dcli_address_table_drop(dcli_address_table *addresses, int64_t storage, int node);
/** Remove the parts of a storage whose memory has ended (dcli_address_table_end_memory()). */
void dcli_address_table_drop_ended(dcli_address_table *addresses, int64_t storage);

#endif

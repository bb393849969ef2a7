/* worker/exec_routes.h - carry out transfers between this node's memory and other spaces (lower/routes.h). */
#ifndef DCLI_WORKER_EXEC_ROUTES_H
#define DCLI_WORKER_EXEC_ROUTES_H

#include "lower/routes.h"
#include "worker/peer.h"

/** Copy from a chunk, or from a peer's part, to the device's memory.
 *  @param host   address of that chunk or part in host memory.
 *  @param chunk  the chunk; its payload may still be read after the return, see `crossing`. NULL: a peer's part. */
dcl_status dcli_routes_take(dcli_worker *worker, const dcli_entry *entry, const dcli_route *route, dcli_memory *to,
                            const char *host, dcli_stored_chunk *chunk);
/** Copy all routes that lead to one chunk into host memory; for devices that work in host memory. @param from  the
 *  memory that all routes read; NULL: each reads the own part of its operand. */
dcl_status dcli_routes_give(dcli_worker *worker, const dcli_entry *entry, const dcli_routes *routes, int chunk,
                            dcli_memory *from, char *host);
/** Start copying all routes that lead to one chunk, of `count` bytes, into a slot; for devices with memory of their
 *  own. */
dcl_status dcli_routes_fetch(dcli_worker *worker, const dcli_entry *entry, const dcli_routes *routes, int chunk,
                             dcli_memory *from, dcli_slot *slot, size_t count);

/** Carry out the routes that fill stages and replicas. @param arena  memory of the batch's stages. */
dcl_status dcli_routes_run(dcli_worker *worker, const dcli_job *job, const dcli_routes *routes, dcli_memory *arena);
/** Carry out the routes that empty stages, after the chunks of the batch have memory. */
dcl_status dcli_routes_pass(dcli_worker *worker, const dcli_job *job, const dcli_lowered *lowered, dcli_memory *arena);

#endif

/* fleet/guard.h - the guard: a thread that monitors those threads of the program that serve nodes, and detects a node
 * whose driver does not return.
 *
 * Every node has a watch, as worker processes have. One thread checks them all: a node that shows no progress for
 * `silence_ms`, or exceeds a time limit, is reported to the host as lost. Its thread cannot be ended, so it is
 * abandoned. It ends by itself if its driver ever returns; until then it may use its memory: see dcli_guard_close(). */
#ifndef DCLI_FLEET_GUARD_H
#define DCLI_FLEET_GUARD_H

#include "worker/worker.h"

typedef struct dcli_guard dcli_guard;

/** Make a guard, with a watch for each node. @param config  outlives the guard. @return NULL (recorded). */
dcli_guard *dcli_guard_open(int node_count, const dcl_config *config);
/** The watch of a node; lives as long as the guard. */
struct dcli_watch *dcli_guard_watch(dcli_guard *guard, int node);
/** Start checking and reporting to the host's worker, until dcli_guard_stop(). All nodes must have been started. */
dcl_status dcli_guard_start(dcli_guard *guard, dcli_worker *host);

/** The hooks by which workers call the guard. Valid as long as the guard. */
const dcli_fleet_hooks *dcli_guard_hooks(dcli_guard *guard);

/** Whether this node is lost. */
bool dcli_guard_has_lost(dcli_guard *guard, int node);
/** Stop checking. If a node is lost, the caller must not free the guard nor anything that the node's thread uses. */
void dcli_guard_stop(dcli_guard *guard);
/** Free the guard. NULL is accepted. */
void dcli_guard_close(dcli_guard *guard);

#endif

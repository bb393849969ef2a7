/* fleet/guard.h - the guard of nodes that are threads of the program: it notices a node whose driver does not return.
 *
 * Every node has a watch, without a process of its own that could be ended. A thread looks at all of them: a node that shows
 * no life for `silence_ms`, or exceeds a deadline, is reported to the host as lost. Its thread cannot be ended. It is left
 * alone, ends by itself if its driver ever returns, and until then may use what it used before: see dcli_guard_close(). */
#ifndef DCLI_FLEET_GUARD_H
#define DCLI_FLEET_GUARD_H

#include "worker/worker.h"

typedef struct dcli_guard dcli_guard;

/** @param config  outlives the guard. @return NULL (recorded). */
dcli_guard *dcli_guard_open(int node_count, const dcl_config *config);
/** The watch of a node; lives as long as the guard. */
struct dcli_watch *dcli_guard_watch(dcli_guard *guard, int node);
/** Start to look, and to report to the host's worker, until dcli_guard_close(). All nodes have been started. */
dcl_status dcli_guard_start(dcli_guard *guard, dcli_worker *host);

/** What workers tell the guard. Lives as long as the guard. */
const dcli_fleet_hooks *dcli_guard_hooks(dcli_guard *guard);

/** Whether a node is lost. */
bool dcli_guard_has_lost(dcli_guard *guard, int node);
/** Stop looking. With a node that is lost, the caller frees neither the guard nor anything that the node's thread uses. */
void dcli_guard_stop(dcli_guard *guard);
/** Free it. NULL is accepted. */
void dcli_guard_close(dcli_guard *guard);

#endif

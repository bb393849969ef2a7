/* fleet/crew.h - the worker processes of a cluster, as the host sees them: started here or called at other hosts, watched
 * by a thread of their own (the keeper), ended. */
#ifndef DCLI_FLEET_CREW_H
#define DCLI_FLEET_CREW_H

#include "worker/worker.h"

typedef struct dcli_crew dcli_crew;

/** @param net     with I/O threads where workers are called by tcp.
 *  @param config, log, net  outlive the crew. */
typedef struct dcli_crew_terms {
    const dcl_config *config; /* workers is set */
    const char *fault;        /* for tests; NULL: none */
    const dcli_log *log;
    uint64_t session;
    dcli_net **net;         /* opened by the crew, closed by the cluster after it */
    dcli_buffers **buffers; /* the same */
} dcli_crew_terms;

/** Start or call the workers that config->workers names and wait until each has described its device.
 *  @return DCL_OK, or the error of the first that cannot be had; none is left then. */
dcl_status dcli_crew_open(const dcli_crew_terms *terms, dcli_crew **crew_out);

/** Nodes so far, and numbers there are for nodes: the host's number. */
int dcli_crew_nodes(const dcli_crew *crew);
int dcli_crew_capacity(const dcli_crew *crew);
/** Facts of a node's device; valid until dcli_crew_close(). */
const dcl_device_info *dcli_crew_device(const dcli_crew *crew, int node);
const char *dcli_crew_kind(const dcli_crew *crew, int node);
/** Whether its device works in memory that other processes of its host can map, and all nodes are on one host. */
bool dcli_crew_in_place(const dcli_crew *crew, int node);
/** Whether nodes may be on other hosts, with other files. */
bool dcli_crew_is_remote(const dcli_crew *crew);

/** What passwords and tags of this session's host come of; NULL: the nodes are this host's own, and believed. Lives as long as
 *  the crew. */
const struct dcli_secret *dcli_crew_secret(const dcli_crew *crew);

/** Send all nodes their SETUP, then give the host's endpoint away: it belongs to the caller.
 *  @param in_place  [capacity]. @return NULL (recorded). */
dcli_endpoint *dcli_crew_setup(dcli_crew *crew, const bool in_place[]);
/** From now on the keeper tells `host` of losses; before it stops. NULL: not any more. */
void dcli_crew_report_to(dcli_crew *crew, dcli_worker *host);

/** What the host's worker tells the crew. Lives as long as the crew. */
const dcli_fleet_hooks *dcli_crew_hooks(dcli_crew *crew);
/** Host's worker: as `lose` of dcli_fleet_hooks says. */
void dcli_crew_lose(dcli_crew *crew, int node, const char *seen, char *sentence_out, size_t capacity);

enum { DCLI_CREW_SHOW_MS = 1000 /* a desk that does not answer for so long is not waited for again until it does */ };

/** Have all that nodes have printed so far shown, and wait for it, no longer than this. Any thread; that which shows lines,
 *  in `log_fn`, does not wait.
 *  @return whether it was shown, or is waited for in vain: false where a later call should try again. */
bool dcli_crew_show_printed(dcli_crew *crew, int milliseconds);

/** Start or call more workers; they get the numbers from dcli_crew_nodes() on. The host's worker hears their devices.
 *  @param first_out, count_out  their numbers; on failure those that are used up: 0 of them when nothing was started.
 *  @return as dcli_crew_open(). One thread at a time. */
dcl_status dcli_crew_add(dcli_crew *crew, dcli_worker *host, const char *workers, int *first_out, int *count_out);
/** Who waits in dcli_crew_add() does so no longer: it fails. */
void dcli_crew_stop_waiting(dcli_crew *crew);
/** Queue for the host's worker: the newcomer's SETUP, and the news of it for all others. It takes part from
 *  `first_operation` on. */
dcl_status dcli_crew_introduce(dcli_crew *crew, dcli_worker *host, int node, const bool in_place[],
                               int64_t first_operation);
/** Host's worker: a process has described its device, or cannot serve. @return false: it has done so before. */
bool dcli_crew_hear(dcli_crew *crew, int node, const dcli_msg_device *device);
extern const char dcli_described_twice[]; /* what is then wrong with it */
void dcli_crew_refused(dcli_crew *crew, int node, dcl_status status, const char *sentence);

/** The opposite of dcli_crew_open(): ends processes that have not ended by themselves. The host's worker is closed. NULL is
 *  accepted. */
void dcli_crew_close(dcli_crew *crew);

#endif

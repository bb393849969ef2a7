/* fleet/worker_pool.h - the worker processes of a cluster, as the host records them. They are started here or requested
 * from other hosts, and a thread of their own, the process monitor, monitors and ends them. */
#ifndef DCLI_FLEET_WORKER_POOL_H
#define DCLI_FLEET_WORKER_POOL_H

#include "worker/worker.h"

typedef struct dcli_worker_pool dcli_worker_pool;

/** What a worker pool needs; `config` and `log` outlive it. */
typedef struct dcli_worker_pool_terms {
    const dcl_config *config; /* the configuration; its `workers` is set */
    const char *fault;        /* for tests: the fault to inject; NULL: none */
    const dcli_log *log;
    uint64_t session;
    bool opencl; /* the processes serve an OpenCL driver (remote/remote.h). Each chooses its device itself, so that this
                    process calls no OpenCL */
    const struct dcli_worker_address *address; /* the one worker to call, instead of config->workers; NULL: these */
    dcl_status (*select_devices)(const char *selection, int capacity, int numbers_out[],
                                 int *count_out); /* dcli_device_select(); not used if `opencl` */
    dcli_net **net;         /* opened by the worker pool; the cluster closes it after the worker pool */
    dcli_buffers **buffers; /* opened and closed as `net` */
} dcli_worker_pool_terms;

/** Whether config->workers asks for processes of this host, which exchange messages through shared memory; else workers
 *  are called over tcp. */
bool dcli_worker_pool_starts(const char *workers);

/** Start or call the workers that config->workers names, and wait until each has described its device.
 *  @return DCL_OK, or the error of the first that failed; then no process is left. */
dcl_status dcli_worker_pool_open(const dcli_worker_pool_terms *terms, dcli_worker_pool **pool_out);

/** Number of nodes so far. */
int dcli_worker_pool_nodes(const dcli_worker_pool *pool);
/** Number of node numbers, also those of nodes that may join later; it is also the host's number as a peer. */
int dcli_worker_pool_capacity(const dcli_worker_pool *pool);
/** Description of a node's device; valid until dcli_worker_pool_close(). */
const dcl_device_info *dcli_worker_pool_device(const dcli_worker_pool *pool, int node);
const char *dcli_worker_pool_kind(const dcli_worker_pool *pool, int node);
/** The abilities of a node and the group with which it shares memory. */
dcli_node_ways dcli_worker_pool_ways(const dcli_worker_pool *pool, int node);
/** Whether nodes may be on other hosts, where files differ. */
bool dcli_worker_pool_is_remote(const dcli_worker_pool *pool);

/** The secret from which the passwords and authentication tags of this session's host are derived; NULL: not needed,
 *  since all nodes are processes of this host. Valid as long as the worker pool. */
const struct dcli_secret *dcli_worker_pool_secret(const dcli_worker_pool *pool);

/** Send all nodes their SETUP, then hand over the host's endpoint to the caller.
 *  @param ways  [capacity] abilities and groups of all nodes.
 *  @return NULL (recorded). */
dcli_endpoint *dcli_worker_pool_setup(dcli_worker_pool *pool, const dcli_node_ways ways[]);
/** Who uses the processes of a worker pool, as the process monitor calls it, with the pool's lock held. */
typedef struct dcli_pool_user {
    void (*report_loss)(void *user, int node, const char *seen);
    bool (*is_alive)(void *user); /* false: it hangs, so the workers are to notice its silence */
} dcli_pool_user;

/** From now on the process monitor reports losses to `host`; NULL: stop reporting. */
void dcli_worker_pool_report_to(dcli_worker_pool *pool, dcli_worker *host);
/** As dcli_worker_pool_report_to(), but the monitor calls the functions of `calls`, for an OpenCL driver. `calls` outlives the
 *  pool. */
void dcli_worker_pool_report_with(dcli_worker_pool *pool, const dcli_pool_user *calls, void *user);

/** The hooks by which the host's worker calls the worker pool. Valid as long as the worker pool. */
const dcli_fleet_hooks *dcli_worker_pool_hooks(dcli_worker_pool *pool);
/** Wait until it is known how a node's process ended, for a sentence that says so.
 *  @param milliseconds  at most: the connection may have ended for another reason. */
void dcli_worker_pool_await_end(dcli_worker_pool *pool, int node, int milliseconds);
/** Make sure that the process of a lost node does not run any more. Called by the host's worker: see `lose` of
 *  dcli_fleet_hooks. */
void dcli_worker_pool_lose(dcli_worker_pool *pool, int node, const char *seen, char *sentence_out, size_t capacity);

enum {
    DCLI_WORKER_POOL_SHOW_MS = 1000 /* a listener that has not answered within this time is not waited for again
                                       until it answers */
};

/** Have everything that nodes have printed so far shown, and wait for that, at most this long. Any thread may call it;
 *  the thread that shows lines, inside `log_fn`, does not wait.
 *  @return true: it was shown, or a listener does not answer; false: a later call should try again. */
bool dcli_worker_pool_show_printed(dcli_worker_pool *pool, int milliseconds);

/** Start or call more workers. They get the numbers from dcli_worker_pool_nodes() on. The host's worker receives their
 *  device descriptions.
 *  @param first_out, count_out  their numbers; on failure the numbers that were used up; count 0: nothing was started.
 *  @return as dcli_worker_pool_open(). One thread at a time. */
dcl_status dcli_worker_pool_add(dcli_worker_pool *pool, dcli_worker *host, const char *workers, int *first_out,
                                int *count_out);
/** Make a waiting dcli_worker_pool_add() fail. */
void dcli_worker_pool_stop_waiting(dcli_worker_pool *pool);
/** Queue two messages for the host's worker to send: SETUP to the new node, and JOINED to all others. The new node
 *  takes part from `first_operation` on. */
dcl_status dcli_worker_pool_introduce(dcli_worker_pool *pool, dcli_worker *host, int node, const dcli_node_ways ways[],
                                      int64_t first_operation);
/** Called by the host's worker: a process has described its device. @return false: it has already done so before, or
 *  there is no such node. */
bool dcli_worker_pool_hear(dcli_worker_pool *pool, int node, const dcli_msg_device *device);
extern const char dcli_described_twice[]; /* error text for a process that describes its device twice */
/** Called by the host's worker: a process reports that it cannot serve. */
void dcli_worker_pool_refused(dcli_worker_pool *pool, int node, dcl_status status, const char *sentence);

/** The opposite of dcli_worker_pool_open(): kills processes that have not ended by themselves. The host's worker must
 *  be closed before. NULL is accepted. */
void dcli_worker_pool_close(dcli_worker_pool *pool);

#endif

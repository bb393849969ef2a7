/* dcl/cluster.h - the cluster: the nodes that a program uses. Opening, waiting, errors, configuration. */
#ifndef DCL_CLUSTER_H
#define DCL_CLUSTER_H

#include <stdio.h>

#include <dcl/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The nodes that a program uses. Opaque. Several threads may use one cluster: their calls are serialized.
 *
 *  Clusters, maps and arrays are *handles*. As long as the process runs, the library recognises a handle that was
 *  released or closed, or that it has never made: a call with such a handle changes nothing and returns DCL_ERR_INVALID
 *  or NULL.
 *
 *  In a process that was forked from a process that has used DCL, all handles are invalid and dcl_open() fails: the
 *  clusters belong to the parent, and the child cannot harm them, not even when it exits. Fork before the first call of
 *  DCL, or execute a program in the child. */
typedef struct dcl_cluster dcl_cluster;

/** Receives a log line without newline. `level` is 1 (warn), 2 (info) or 3 (debug). Level 0 marks what a kernel or driver
 *  has printed in a worker process (docs/workers.md, "Log lines and printed text"); these lines are received whatever the
 *  setting `log` is. May be called from any thread, also in calls such as dcl_forall(): do not take a lock in it that the program
 *  holds during such calls. */
typedef void dcl_log_fn(void *user, int level, const char *line);

/** Settings. Fill with dcl_config_read(), change fields, pass to dcl_open().
 *  Strings are borrowed until dcl_open() returns; NULL means the default. Sizes are in bytes. */
typedef struct dcl_config {
    size_t struct_size;   /**< sizeof(dcl_config) in the program; set by dcl_config_read() */
    const char *devices;  /**< DCL_DEVICES: which OpenCL devices serve as nodes, see dcl_open() */
    const char *map;      /**< DCL_MAP: the map of dcl_map_default(), in the grammar of dcl_map_parse() */
    const char *transfer; /**< DCL_TRANSFER: how a node gets elements of another node: "place" (it reads them in
                               the owner's memory), "slots" (messages whose data lies in shared memory), "send"
                               (messages that contain the data); "auto": for each pair of nodes the first of these
                               that is possible, but not "place" between GPUs of one process */
    const char *log;      /**< DCL_LOG: "off", "warn", "info", "debug" */
    size_t tile_bytes;    /**< DCL_TILE_BYTES: intended size of a tile */
    size_t block_bytes;   /**< DCL_BLOCK_BYTES: intended size of a block, the unit of the counter blocks_moved */
    size_t chunk_bytes;   /**< DCL_CHUNK_BYTES: largest data message; over tcp at most 1 MB */
    size_t pool_bytes;    /**< DCL_POOL_BYTES: memory per node for data that arrives from other nodes. If the device of
                               a worker process has memory of its own, its driver also pins shared memory for the data
                               of messages: at most pool_bytes or 256 MB, whichever is larger */
    size_t kept_bytes;    /**< DCL_KEPT_BYTES: maximum memory per node for replicas (dcl_keep(), dcl_move()) */
    size_t small_bytes;   /**< DCL_SMALL_BYTES: dcl_map_default() puts smaller arrays on one node */
    size_t window;        /**< DCL_WINDOW: maximum number of operations that are started and not yet complete */
    bool sync;            /**< DCL_SYNC: every call waits until its operation is complete; for debugging */
    dcl_log_fn *log_fn;   /**< gets log lines and the output of worker processes; NULL: standard error */
    void *log_user;       /**< passed to log_fn */
    const char *workers;  /**< DCL_WORKERS: NULL (threads of this program), "local:N", addresses, or a file of
                               addresses */
    const char *keys;     /**< DCL_KEYS: folder with this program's keys, as `dcl keys` makes it */
    const char *token;    /**< DCL_TOKEN: token file of a worker on this host that has no keys */
    const char *program;  /**< DCL_PROGRAM: path of the `dcl` command; worker processes are started from it */
    const char *files;    /**< DCL_FILES: "auto", "direct" (nodes read and write files), "stream" (the program does) */
    size_t silence_ms;    /**< DCL_SILENCE_MS: a node that has sent nothing for this long is lost */
    size_t build_ms;      /**< DCL_BUILD_MS: longest compilation; a node that exceeds it is lost */
    size_t kernel_ms;     /**< DCL_KERNEL_MS: longest time of one kernel, or of one copy between host and device; a
                               node that exceeds it is lost */
    size_t plan_ms;     /**< DCL_PLAN_MS: longest planning of one operation; a worker process that exceeds it is lost */
    size_t quota_bytes; /**< DCL_QUOTA_BYTES: memory limit per worker process for arrays, replicas, stages and plans; 0:
                          its share of the memory (docs/workers.md, "Limits and quotas") */
    size_t spare;       /**< DCL_SPARE: node numbers reserved for nodes that join later; worker processes only */
    size_t fanout;      /**< DCL_FANOUT: in clusters of more than this many nodes, the nodes forward the program's
                          messages to each other, in a tree with this many children per node */
    size_t io_threads;  /**< DCL_IO_THREADS: threads per process that encrypt and send between hosts */
    size_t wait_ms; /**< DCL_WAIT_MS: longest time a call waits for operations (wait, read, save, close); 0: no limit */
    const char *check; /**< DCL_CHECK: "off"; "access": kernels check every access, for debugging */
    const char
        *trace; /**< DCL_TRACE: file into which dcl_close() writes what every node did and when, as JSON for Chrome
                          and Perfetto (docs/tracing.md). An older trace in this file is replaced. If the file has other
                          contents, dcl_open() fails. NULL: nothing is recorded */
    size_t trace_bytes; /**< DCL_TRACE_BYTES: memory per node for the recorded events; when it is full, the oldest ones
                           are dropped and counted */
    bool pin; /**< DCL_PIN: pin each process of "local:N" to one of the processors on which this program may run, taken
                           in turn; for measuring, and for nodes that must not disturb each other */
    const char *steal; /**< DCL_STEAL: whether a node that has nothing to do runs batches of a loop body for another
                          node: "never", "pays" (the default: if that is expected to save time) or "always" (for tests).
                          With ",kinds" at the end ("pays,kinds"), nodes may also do so for devices of another kind; the
                          results may then differ in the last bits */
    size_t
        lines; /**< DCL_LINES: most lines that a node stores before and after its part of a large array, so that steps of
                       time loops need fewer exchanges (docs/time-loops.md); 0: only those of a map with an overlap */
} dcl_config;

/** @param config_bytes  sizeof(dcl_config) in the program; becomes struct_size. */
DCL_API dcl_status dcl_config_read_sized(dcl_config *config_out, size_t config_bytes);
/** Fill a configuration with the defaults, then with the DCL_ variables of the environment. Strings taken from the
 *  environment are valid until the environment changes.
 *  @return DCL_OK, or DCL_ERR_INVALID for an unknown DCL_ variable (the error text names the nearest known one) or a bad
 *          value. */
static inline dcl_status dcl_config_read(dcl_config *config_out)
{
    return dcl_config_read_sized(config_out, sizeof *config_out);
}
/** Print every setting on a line of its own: variable, value and meaning. */
DCL_API dcl_status dcl_config_print(const dcl_config *config, FILE *file);

/** Open a cluster.
 *
 *  By default the nodes are all GPUs and accelerators of this host; if there are none, all CPU devices of one platform.
 *  `devices` selects others: "all", "cpu", "gpu", or a comma-separated list of the numbers that `dcl devices` prints
 *  ("0,2"). A thread of this program serves each node; no port is opened.
 *
 *  If `workers` is given, worker processes serve the nodes instead of threads. The program stays the same. `workers` is one
 *  of:
 *  "local:3": start three worker processes on this host. They take the selected devices in turn, and end with the program.
 *  "tcp://host:port,tcp://host:port": use the workers at these addresses (`dcl worker`), one node per device.
 *  Anything else is the name of a file with one such address per line, followed by `key=` and the worker's public key
 *  if it has one.
 *
 *  @param config  settings, borrowed; NULL reads the environment (dcl_config_read()).
 *  @return the cluster, yours: end it with dcl_close(); or NULL, see dcl_error(): DCL_ERR_INVALID (configuration),
 *          DCL_ERR_DEVICE (no OpenCL device, or one that fails), DCL_ERR_NETWORK (a worker cannot be reached or
 *          refuses), DCL_ERR_PROTOCOL (a worker speaks another version), DCL_ERR_TIMEOUT, DCL_ERR_FILE (file of addresses,
 *          keys), DCL_ERR_NOMEM. */
DCL_API dcl_cluster *dcl_open(const dcl_config *config);

/** Open a cluster that can only plan: maps, owners, dcl_explain(). It has no device, thread or data. Settings are read
 *  from the environment (dcl_config_read()).
 *  @param nodes  1..1000000.
 *  @return the cluster, or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_cluster *dcl_open_plan(int nodes);

/** Wait for all operations, end the threads or worker processes of the nodes, and free everything. Arrays that are still there
 *  are released; their handles become invalid. Calls of other threads with this cluster return DCL_ERR_INVALID: those that
 *  are waiting now, and all later ones. Operations that were started before are completed. NULL is accepted. If the thread
 *  of a node hangs in its driver, the memory of that node, and memory that it may still be reading, is not freed.
 *  @return the status that dcl_status_of() would return, DCL_OK if nothing failed; DCL_ERR_INVALID if the cluster was
 *          closed before, or if the caller is a callback of a call with this cluster (a `visit` of dcl_tiles(),
 *          say). */
DCL_API dcl_status dcl_close(dcl_cluster *cluster);

/* Special values for parameters that take a node number. -1 is DCL_NOWHERE (dcl/map.h), which is no node. */
#define DCL_ALL_NODES (-3) /**< all nodes: counters are their sum; tiles are visited one node after the other */
#define DCL_HOST (-2)      /**< the program itself (elsewhere in DCL a host is a computer) */

/** Number of nodes, including lost ones; 0 for NULL. */
DCL_API int dcl_node_count(const dcl_cluster *cluster);
/** Name of the device of node `node`; "planned" in a cluster that only plans; NULL when there is no such node. Valid
 *  until dcl_close(). */
DCL_API const char *dcl_node_name(const dcl_cluster *cluster, int node);

/** Whether a node still works: false once it is lost. The number of a lost node is not used again. Arrays with a part
 *  on a lost node have failed for good; maps that are made after the loss use the remaining nodes. */
DCL_API bool dcl_node_is_alive(const dcl_cluster *cluster, int node);

/** Add nodes to the cluster: one for each device of the given workers, or N local processes. They get the next node
 *  numbers, and maps that are made afterwards use them too. The call waits for all earlier operations, and calls of other
 *  threads wait for it. It is complete when it returns. Either all new nodes join or none. After an error the worker
 *  processes that had started are ended, and their numbers are not used again.
 *  @param workers  addresses as in dcl_config; "local:N" if the cluster was opened with "local:N".
 *  @return DCL_OK, or as dcl_open(); DCL_ERR_NODE_LOST when a new node was lost before it had joined, or no node is
 *          left; DCL_ERR_UNSUPPORTED for a cluster of threads, or when no number is free (DCL_SPARE). */
DCL_API dcl_status dcl_add_workers(dcl_cluster *cluster, const char *workers);

/** The first error of this cluster since dcl_clear_error(), whether a call returned it or it happened later. dcl_error()
 *  then returns its text. A call can be refused because an array has failed, before it is known why the array has failed.
 *  If such a refusal is the first error, the reason replaces it as soon as it is known. Does not wait. With NULL: the status
 *  of this thread's last failing call, whatever the cluster; DCL_OK if there is none.
 *
 *  Only operations and waits set the cluster's error: calls that make, write, read, move or wait for elements, such as
 *  dcl_agile(), dcl_forall(), dcl_read() and dcl_wait(). Calls that only make maps and views (dcl_map_parse(),
 *  dcl_slice(), ...) and calls that only ask (dcl_explain(), dcl_map_locate(), ...) set dcl_error() and
 *  dcl_status_of(NULL) when they fail, but not the cluster's error. So a program can try a map without consequences. If
 *  the program passes the resulting NULL to an operation, such as dcl_agile(), the operation fails with the same error and
 *  sets the cluster's error. So it is enough to check once at the end. */
DCL_API dcl_status dcl_status_of(dcl_cluster *cluster);
/** Clear the cluster's first error and this thread's; with NULL only this thread's. Failed arrays stay failed until
 *  they are overwritten; arrays with a part on a lost node stay failed for good. If a body accessed elements
 *  outside a grid, the arrays that it wrote are valid, but calls that read them return DCL_ERR_RANGE (see dcl_read()),
 *  until dcl_clear_error() is called. */
DCL_API void dcl_clear_error(dcl_cluster *cluster);

/** Wait until every operation called so far is complete.
 *  @return the cluster's first error, DCL_OK if none. */
DCL_API dcl_status dcl_wait(dcl_cluster *cluster);
/** dcl_wait() with a time limit.
 *  @param seconds  longest wait; negative: only `wait_ms` limits the wait.
 *  @return DCL_ERR_TIMEOUT when some operation is not complete after that time; the operations continue. Else as
 *          dcl_wait(). */
DCL_API dcl_status dcl_wait_all(dcl_cluster *cluster, double seconds);

/** One OpenCL device as dcl_device_list() describes it. */
typedef struct dcl_device_info {
    char name[128], platform[128], version[128];
    char kind[16];   /**< "cpu", "gpu", "accelerator" or "other" */
    int number;      /**< the number that DCL_DEVICES selects it by */
    bool is_default; /**< dcl_open() uses it by default */
    bool has_half, has_double;
    int compute_units;
    int64_t memory_bytes; /**< size of its global memory */
} dcl_device_info;

/** @param info_bytes  sizeof(dcl_device_info) in the program. */
DCL_API dcl_status dcl_device_list_sized(int capacity, dcl_device_info info_out[], size_t info_bytes, int *count_out);
/** List the OpenCL devices of this host, in the order of their numbers.
 *  @param info_out   [capacity], may be NULL when capacity is 0.
 *  @param count_out  number of devices found, even if it is more than `capacity`.
 *  @return DCL_OK (also when there are none), or DCL_ERR_DEVICE. */
static inline dcl_status dcl_device_list(int capacity, dcl_device_info info_out[], int *count_out)
{
    return dcl_device_list_sized(capacity, info_out, sizeof(dcl_device_info), count_out);
}

#ifdef __cplusplus
}
#endif
#endif

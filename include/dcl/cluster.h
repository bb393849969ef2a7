/* dcl/cluster.h - the handle of all nodes a program uses: opening, waiting, errors, configuration. */
#ifndef DCL_CLUSTER_H
#define DCL_CLUSTER_H

#include <stdio.h>

#include <dcl/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The nodes a program uses. Opaque. Threads of a program may share one: calls are serialized.
 *
 *  A cluster, a map and an array are *handles*. One that was released or closed, or never made, is recognised for ever: a call
 *  with it is DCL_ERR_INVALID, or NULL, with a sentence, and changes nothing. So is every call with a handle, and every
 *  opening, in a process that was forked from one that has used DCL: its clusters are the parent's, and a child harms nothing
 *  when it ends. Fork before the first call, or execute a program in the child. */
typedef struct dcl_cluster dcl_cluster;

/** Receives a log line without newline; `level` is 1 warn, 2 info, 3 debug, and 0 what a kernel or driver has printed in a
 *  worker process (docs/workers.md, "What is said"), which comes whatever `log` is. May be called from any thread. */
typedef void dcl_log_fn(void *user, int level, const char *line);

/** Settings. Fill with dcl_config_read(), change fields, pass to dcl_open().
 *  Strings are borrowed until dcl_open() returns; NULL means the default. Sizes are in bytes. */
typedef struct dcl_config {
    size_t struct_size;   /**< sizeof(dcl_config) of the program; set by dcl_config_read() */
    const char *devices;  /**< DCL_DEVICES: which OpenCL devices serve as nodes, see dcl_open() */
    const char *map;      /**< DCL_MAP: the map of dcl_map_default(), in the grammar of dcl_map_parse() */
    const char *transfer; /**< DCL_TRANSFER: "auto", "place" (read peers' memory in place) or "send" (always stream) */
    const char *log;      /**< DCL_LOG: "off", "warn", "info", "debug" */
    size_t tile_bytes;    /**< DCL_TILE_BYTES: size aimed at for one tile */
    size_t block_bytes;   /**< DCL_BLOCK_BYTES: size aimed at for one block, the grain movement is counted in */
    size_t chunk_bytes;   /**< DCL_CHUNK_BYTES: most bytes of one message of data */
    size_t pool_bytes;    /**< DCL_POOL_BYTES: memory per node for data that arrives from other nodes */
    size_t kept_bytes;    /**< DCL_KEPT_BYTES: most memory per node for copies of elements (dcl_keep(), dcl_move()) */
    size_t small_bytes;   /**< DCL_SMALL_BYTES: dcl_map_default() keeps smaller arrays on one node */
    size_t window;        /**< DCL_WINDOW: most operations started and not yet complete */
    bool sync;            /**< DCL_SYNC: every call waits for its end; for finding errors */
    dcl_log_fn *log_fn;   /**< where log lines go, and what worker processes print; NULL: standard error */
    void *log_user;       /**< passed to log_fn */
    const char *workers;  /**< DCL_WORKERS: NULL (threads of this program), "local:N", addresses or a file of them */
    const char *keys;     /**< DCL_KEYS: folder with this program's keys, as `dcl keys` makes it */
    const char *token;    /**< DCL_TOKEN: file with the token of a worker of this host that has no keys */
    const char *program;  /**< DCL_PROGRAM: the dcl command that worker processes are started with */
    const char *files;    /**< DCL_FILES: "auto", "direct" (nodes use files) or "stream" (the host does) */
    size_t silence_ms;    /**< DCL_SILENCE_MS: a node that gives no sign of life for so long is lost */
    size_t build_ms;      /**< DCL_BUILD_MS: most time one compilation may take before its node is lost */
    size_t kernel_ms; /**< DCL_KERNEL_MS: most time one kernel may take before its node is lost; not of moving data */
    size_t plan_ms;   /**< DCL_PLAN_MS: most time planning one operation may take; a worker process beyond it is lost */
    size_t
        quota_bytes; /**< DCL_QUOTA_BYTES: most bytes of arrays, copies, stages, plans per worker process; 0: its share */
    size_t spare;    /**< DCL_SPARE: numbers kept free for nodes that join later; worker processes only */
    size_t fanout;   /**< DCL_FANOUT: with more nodes, descriptors go down a tree of so many children each */
    size_t io_threads; /**< DCL_IO_THREADS: threads per process that encrypt and send between hosts */
    size_t
        wait_ms; /**< DCL_WAIT_MS: most time that a call waits for operations: waits, reads, saves, closing; 0: any */
    const char *check; /**< DCL_CHECK: "off", or "access": kernels check every access; for finding errors */
} dcl_config;

/** @param config_bytes  sizeof(dcl_config) of the program; becomes struct_size. */
DCL_API dcl_status dcl_config_read_sized(dcl_config *config_out, size_t config_bytes);
/** Fill a configuration with the defaults, then with the DCL_ variables of the environment.
 *  @return DCL_OK, or DCL_ERR_INVALID for an unknown DCL_ variable (the nearest known one is named) or a bad value.
 *  Strings taken from the environment live until the environment changes. */
static inline dcl_status dcl_config_read(dcl_config *config_out)
{
    return dcl_config_read_sized(config_out, sizeof *config_out);
}
/** Print every setting with its variable, value and meaning, a line each. */
DCL_API dcl_status dcl_config_print(const dcl_config *config, FILE *file);

/** Open the nodes of this program.
 *
 *  Nodes by default: all GPUs and accelerators; where there is none, all CPU devices of one platform. `devices` selects
 *  instead: "all", "cpu", "gpu", or a comma-separated list of numbers as printed by `dcl devices` ("0,2").
 *  Every node is served by a worker thread; no port is opened.
 *
 *  With `workers`, nodes are served by processes instead, and the program stays the same:
 *  "local:3" starts three on this host, which share the selected devices in turn and end with the program;
 *  "tcp://host:port,tcp://host:port" uses those that `dcl worker` offers there, one node per device;
 *  anything else is the name of a file with one such address per line (and `key=` with the worker's public key).
 *
 *  @param config  settings, borrowed; NULL reads the environment (dcl_config_read()).
 *  @return the cluster, yours: end it with dcl_close(); or NULL, see dcl_error(): DCL_ERR_INVALID (configuration),
 *          DCL_ERR_DEVICE (no OpenCL device, or one that fails), DCL_ERR_NETWORK (a worker cannot be reached or refuses),
 *          DCL_ERR_PROTOCOL (it speaks another version), DCL_ERR_TIMEOUT, DCL_ERR_FILE (host file, keys), DCL_ERR_NOMEM. */
DCL_API dcl_cluster *dcl_open(const dcl_config *config);

/** Open a cluster that only plans: maps, owners, dcl_explain(). No device, no thread, no data. Settings are those of the
 *  environment (dcl_config_read()).
 *  @param nodes  1..1000000. @return the cluster, or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_cluster *dcl_open_plan(int nodes);

/** Wait for all operations, stop the workers and free everything. Arrays not yet released are released; their handles
 *  are then invalid. Calls of other threads with this cluster end with DCL_ERR_INVALID at once, before it waits. NULL is
 *  accepted. A node whose thread hangs in its driver keeps its memory, and that which it may be reading of others.
 *  @return the status dcl_status_of() would have given, DCL_OK if nothing failed; DCL_ERR_INVALID: it has been closed before,
 *          or this is called by a function that a call with this cluster has called (dcl_tiles(), say). */
DCL_API dcl_status dcl_close(dcl_cluster *cluster);

/* In place of a node's number, where a function takes them; -1 is DCL_NOWHERE (dcl/map.h), which is no node. */
#define DCL_ALL_NODES (-3) /**< all nodes: their sum, or one after the other */
#define DCL_HOST (-2)      /**< the program itself */

/** Number of nodes, lost ones included; 0 for NULL. */
DCL_API int dcl_node_count(const dcl_cluster *cluster);
/** Name of the device that node `node` is; "planned" for a planning cluster; NULL when there is no such node.
 *  Valid until dcl_close(). */
DCL_API const char *dcl_node_name(const dcl_cluster *cluster, int node);

/** Whether a node is there: false once its worker process was lost. Node numbers are never used again. Arrays with a part
 *  on a lost node have failed for good; maps made after the loss lay grids over the nodes that are left. */
DCL_API bool dcl_node_is_alive(const dcl_cluster *cluster, int node);

/** Let more workers take part: they get the next node numbers, and maps made from now on lay grids over them too.
 *  Complete when it returns; waits for all earlier operations, and calls of other threads wait for it.
 *  @param workers  addresses as in dcl_config; "local:N" in a cluster of local workers.
 *  All of them join or none: after an error those that had started are ended, and their numbers are used up.
 *  @return DCL_OK, or as dcl_open(); DCL_ERR_NODE_LOST when one was lost before it had joined, or no node is left;
 *          DCL_ERR_UNSUPPORTED for a cluster of threads or when no number is free (DCL_SPARE). */
DCL_API dcl_status dcl_add_workers(dcl_cluster *cluster, const char *workers);

/** The first error of this cluster since dcl_clear_error(), of an operation or asynchronous; its text becomes dcl_error().
 *  Does not wait. With NULL: the status of this thread's last failing call, whatever the cluster; DCL_OK if none.
 *
 *  Operations are the calls that make, write, read, move or wait for elements: dcl_agile(), dcl_forall(), dcl_read() and so on.
 *  Calls that only make maps and views (dcl_map_parse(), dcl_map_block(), dcl_slice(), dcl_reshape(), ...), and calls that only
 *  ask (dcl_explain(), dcl_map_locate(), ...), are tries: when one fails, dcl_error() and dcl_status_of(NULL) say why, and the
 *  cluster's status stays as it was. An operation that is then given the NULL fails with the same error, and that is kept: by
 *  the cluster that the map or view was to be made in. So a program may try, and may as well check once at the end. */
DCL_API dcl_status dcl_status_of(dcl_cluster *cluster);
/** Forget the cluster's first error and this thread's (with NULL: only this thread's). Failed arrays stay failed until
 *  overwritten, those with a part on a lost node for good. Also accepts the results that were computed with accesses outside
 *  of a grid: calls that read such arrays return DCL_OK again. */
DCL_API void dcl_clear_error(dcl_cluster *cluster);

/** Wait until every operation called so far is complete.
 *  @return the cluster's first error, DCL_OK if none. */
DCL_API dcl_status dcl_wait(dcl_cluster *cluster);
/** The same with a limit. @param seconds  longest wait; negative: as long as it takes, or `wait_ms` allows.
 *  @return DCL_ERR_TIMEOUT when some operation is not complete then: nothing is ended by that; else as dcl_wait(). */
DCL_API dcl_status dcl_wait_all(dcl_cluster *cluster, double seconds);

/** One OpenCL device as dcl_device_list() describes it. */
typedef struct dcl_device_info {
    char name[128], platform[128], version[128];
    char kind[16];   /**< "cpu", "gpu", "accelerator" or "other" */
    int number;      /**< what DCL_DEVICES calls it */
    bool is_default; /**< dcl_open() with no selection would use it */
    bool has_half, has_double;
    int compute_units;
    int64_t memory_bytes; /**< global memory it reports */
} dcl_device_info;

/** @param info_bytes  sizeof(dcl_device_info) of the program. */
DCL_API dcl_status dcl_device_list_sized(int capacity, dcl_device_info info_out[], size_t info_bytes, int *count_out);
/** List the OpenCL devices of this host, in the order of their numbers.
 *  @param info_out   [capacity], may be NULL when capacity is 0.
 *  @param count_out  devices found, also when more than `capacity`.
 *  @return DCL_OK (also for none), or DCL_ERR_DEVICE. */
static inline dcl_status dcl_device_list(int capacity, dcl_device_info info_out[], int *count_out)
{
    return dcl_device_list_sized(capacity, info_out, sizeof(dcl_device_info), count_out);
}

#ifdef __cplusplus
}
#endif
#endif

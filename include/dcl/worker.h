/* dcl/worker.h - offer the devices of a host to programs on other hosts, and ask workers what they offer. */
#ifndef DCL_WORKER_H
#define DCL_WORKER_H

#include <dcl/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Configuration of dcl_worker_run(). Fill with dcl_worker_defaults(), then change fields. Strings are borrowed for the
 *  call. */
typedef struct dcl_worker_config {
    size_t struct_size;  /**< sizeof(dcl_worker_config) in the program */
    const char *listen;  /**< "tcp://host:port": address that programs connect to. Beyond loopback `keys` is
                              required. */
    const char *devices; /**< which OpenCL devices, as in dcl_config; NULL: the default ones */
    const char *files;   /**< folder whose files the programs may read and write; NULL: none */
    const char *keys;    /**< folder made by dcl_keys_make(); the keys in its folder `allowed` may connect. NULL: a
                            token instead */
    const char *token;   /**< path of the token file; NULL: where programs of the same user look for it */
    const char *log;     /**< "off", "warn", "info", "debug" */
    int first_port;      /**< port range of worker processes: first_port..last_port; 0: 61000..61999 */
    int last_port;
    int most_sessions;   /**< maximum number of programs served at the same time, with one session each */
    size_t quota_bytes;  /**< memory limit per session and device for arrays, replicas, stages and plans; 0: the default
                          of docs/workers.md, "Limits and quotas" */
    size_t io_threads;   /**< threads per process that encrypt and send */
    const char *contain; /**< containment: deny worker processes all files, ports and other processes that they do not
                              need. "auto": use the limits that this system can enforce, and log a warning for the
                              others; "strict": use all limits, or return DCL_ERR_UNSUPPORTED; "off": none */
    const char *cache;   /**< folder for compiled kernels, with a subfolder per key; NULL: `dcl` in the user's cache
                              folder, or a temporary folder */
    int first_peer_port; /**< port range of the other workers' processes, first_peer_port..last_peer_port, if it differs
                              from first_port..last_port; 0: 61000..61999. The processes of this worker may connect to
                              the ports of both ranges only */
    int last_peer_port;
    int most_sessions_per_key; /**< maximum number of sessions of one key at the same time; 0: three quarters of
                                    most_sessions. Unused without keys */
    size_t grace_ms;           /**< dcl_worker_stop(): time that sessions get to complete their operations */
    size_t most_kernel_ms;     /**< upper limit for the program's kernel_ms. The upper limit for its build_ms is the
                                    longer of this value and 10 minutes */
} dcl_worker_config;

/** @param config_bytes  sizeof(dcl_worker_config) in the program; becomes struct_size. */
DCL_API void dcl_worker_defaults_sized(dcl_worker_config *config_out, size_t config_bytes);
/** Set defaults: no address, default devices, no files, no keys, log "warn", ports 61000..61999, 64 sessions,
 *  quota_bytes 0, contain "auto", most_kernel_ms one day. */
static inline void dcl_worker_defaults(dcl_worker_config *config_out)
{
    dcl_worker_defaults_sized(config_out, sizeof *config_out);
}

/** Offer the devices of this host until dcl_worker_stop(). Each session (dcl/base.h) that uses this worker gets one
 *  worker process per device here. When the program ends, for whatever reason, these processes end, and their memory and
 *  sockets are freed (docs/workers.md has exceptions). The call makes the calling process undumpable: it leaves no core
 *  dump, and other processes cannot trace it. The process also becomes a child subreaper (PR_SET_CHILD_SUBREAPER): it
 *  adopts orphaned descendants, in order to end them.
 *  @return DCL_OK after dcl_worker_stop(); DCL_ERR_INVALID (configuration), DCL_ERR_FILE (keys, token, folder),
 *          DCL_ERR_DEVICE (no device), DCL_ERR_NETWORK (bad address, port in use, or the self-test, which checks
 *          that clients with wrong credentials are refused, has failed). */
DCL_API dcl_status dcl_worker_run(const dcl_worker_config *config);
/** Make dcl_worker_run() return, now or when it is next called. No new session begins. Existing sessions end when their
 *  operations are complete, or after grace_ms; the error texts that their programs get say why. A second call ends them at
 *  once. May be called from any thread or signal handler. */
DCL_API void dcl_worker_stop(void);

/** One worker, as dcl_worker_list() reports it. */
typedef struct dcl_worker_info {
    char address[256];
    dcl_status status; /**< DCL_OK if it answers; otherwise the reason, with the error text in `problem` */
    char problem[512];
    char program[256]; /**< for people: version and process id of the worker, such as "DCL 0.1.0, process 4711" */
    int device_count;  /**< number of devices it offers; `device` has the first 16 */
    dcl_device_info device[16];
    int sessions, processes; /**< numbers of these that it serves now */
    int load_percent;        /**< average load of its host's processors over the last minute */
    double round_trip_us;    /**< shortest of a few round trips */
    bool files;              /**< sessions may read and write files there */
} dcl_worker_info;

/** @param info_bytes, device_bytes  sizeof(dcl_worker_info) and sizeof(dcl_device_info) in the program. */
DCL_API dcl_status dcl_worker_list_sized(const dcl_config *config, int capacity, dcl_worker_info info_out[],
                                         size_t info_bytes, size_t device_bytes, int *count_out);
/** Ask each worker listed in config->workers which devices it offers. "local:N" lists none, and is refused with
 *  DCL_ERR_INVALID.
 *  @param config     NULL: the environment.
 *  @param info_out   [capacity].
 *  @param count_out  number of addresses, even if it is more than `capacity`.
 *  @return DCL_OK, even when none answers; DCL_ERR_INVALID, DCL_ERR_FILE. */
static inline dcl_status dcl_worker_list(const dcl_config *config, int capacity, dcl_worker_info info_out[],
                                         int *count_out)
{
    return dcl_worker_list_sized(config, capacity, info_out, sizeof(dcl_worker_info), sizeof(dcl_device_info),
                                 count_out);
}

/** Make a key pair: `folder`/own.secret (mode 0600) and `folder`/own.public; also an empty folder `folder`/allowed for
 *  the public keys of others. Existing files are not overwritten.
 *  @param public_out  [65] the public key in hexadecimal digits, or NULL.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_FILE, DCL_ERR_UNSUPPORTED (this libzmq has no CURVE). */
DCL_API dcl_status dcl_keys_make(const char *folder, char *public_out);

#ifdef __cplusplus
}
#endif
#endif

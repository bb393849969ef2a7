/* dcl/worker.h - offering the devices of a host to programs elsewhere, and asking what is offered. */
#ifndef DCL_WORKER_H
#define DCL_WORKER_H

#include <dcl/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What dcl_worker_run() offers. Fill with dcl_worker_defaults(), change fields. Strings are borrowed for the call. */
typedef struct dcl_worker_config {
    size_t struct_size;  /**< sizeof(dcl_worker_config) of the program */
    const char *listen;  /**< "tcp://host:port": where programs call. Beyond loopback `keys` must be given. */
    const char *devices; /**< which OpenCL devices, as in dcl_config; NULL: the default ones */
    const char *files;   /**< folder whose files sessions may read and write; NULL: none */
    const char *keys;  /**< folder made by dcl_keys_make(): its `allowed` says who may come; NULL: a token in a file */
    const char *token; /**< where that file is made; NULL: where programs of the same user look for it */
    const char *log;   /**< "off", "warn", "info", "debug" */
    int first_port;    /**< ports of worker processes: first_port..last_port; 0: 61000..61999 */
    int last_port;
    int most_sessions; /**< programs served at once */
    size_t
        quota_bytes; /**< most bytes of arrays, copies, stages, plans per session and device; 0: a share of what there is */
    size_t io_threads;   /**< threads per process that encrypt and send */
    const char *contain; /**< processes of sessions are kept from all files, ports and processes that they do not need:
                            "auto": as far as this system can, and it is logged what it cannot; "strict": else
                            DCL_ERR_UNSUPPORTED; "off": not */
    const char *cache;   /**< folder in which each key has a folder for its compiled kernels; NULL: dcl in the user's
                            cache folder, or a temporary one */
    int first_peer_port; /**< ports of other workers' processes, where those are others than first_port..last_port; */
    int last_peer_port;  /**< 0: they are the same */
    int most_sessions_per_key; /**< of one key at once; 0: three quarters of most_sessions. Not without keys */
    size_t grace_ms;           /**< dcl_worker_stop(): sessions may end what they run for so long */
    size_t most_kernel_ms;     /**< of one kernel, and of one compilation if it is more than 10 minutes, whatever the
                              program allows */
} dcl_worker_config;

/** @param config_bytes  sizeof(dcl_worker_config) of the program; becomes struct_size. */
DCL_API void dcl_worker_defaults_sized(dcl_worker_config *config_out, size_t config_bytes);
/** Defaults: nowhere to listen, default devices, no files, no keys, log "warn", ports 61000..61999, 64 sessions, no quota,
 *  contain "auto", most_kernel_ms a day. */
static inline void dcl_worker_defaults(dcl_worker_config *config_out)
{
    dcl_worker_defaults_sized(config_out, sizeof *config_out);
}

/** Offer the devices of this host until dcl_worker_stop(). One process is started per session and device, and ends with the
 *  session; a program that is gone, for whatever reason, leaves nothing. The calling process gives up core dumps and being
 *  traced by others, and becomes the parent of its descendants' orphans (PR_SET_CHILD_SUBREAPER).
 *  @return DCL_OK after dcl_worker_stop(); DCL_ERR_INVALID (configuration), DCL_ERR_FILE (keys, token, folder),
 *          DCL_ERR_DEVICE (no device), DCL_ERR_NETWORK (address, port in use, no proof that strangers are refused). */
DCL_API dcl_status dcl_worker_run(const dcl_worker_config *config);
/** Make dcl_worker_run() end, now or when it is called: no session begins any more, those that there are end when all that
 *  was called is complete, or after grace_ms, and their programs are told why; called again: at once. From any thread or
 *  signal handler. */
DCL_API void dcl_worker_stop(void);

/** A worker as dcl_worker_list() finds it. */
typedef struct dcl_worker_info {
    char address[256];
    dcl_status status; /**< DCL_OK: it answers; else why not, with the sentence in `problem` */
    char problem[512];
    char program[256]; /**< its version and process */
    int device_count;  /**< devices it offers; the first ones follow */
    dcl_device_info device[16];
    int sessions, processes; /**< served now */
    int load_percent;        /**< of its host's processors over the last minute */
    double round_trip_us;    /**< shortest of a few messages there and back */
    bool files;              /**< sessions may use files there */
} dcl_worker_info;

/** @param info_bytes, device_bytes  sizeof(dcl_worker_info) and sizeof(dcl_device_info) of the program. */
DCL_API dcl_status dcl_worker_list_sized(const dcl_config *config, int capacity, dcl_worker_info info_out[],
                                         size_t info_bytes, size_t device_bytes, int *count_out);
/** Ask the workers that config->workers names what they offer. "local:N" has nobody to ask: DCL_ERR_INVALID.
 *  @param config     NULL: the environment. @param info_out  [capacity].
 *  @param count_out  how many addresses there are, also when more than `capacity`.
 *  @return DCL_OK, also when none answers; DCL_ERR_INVALID, DCL_ERR_FILE. */
static inline dcl_status dcl_worker_list(const dcl_config *config, int capacity, dcl_worker_info info_out[],
                                         int *count_out)
{
    return dcl_worker_list_sized(config, capacity, info_out, sizeof(dcl_worker_info), sizeof(dcl_device_info),
                                 count_out);
}

/** Make a pair of keys: `folder`/own.secret (mode 0600), own.public, and `folder`/allowed for public keys of others.
 *  Nothing that is there is overwritten.
 *  @param public_out  [65] the public key in hexadecimal digits, or NULL.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_FILE, DCL_ERR_UNSUPPORTED (this libzmq has no CURVE). */
DCL_API dcl_status dcl_keys_make(const char *folder, char *public_out);

#ifdef __cplusplus
}
#endif
#endif

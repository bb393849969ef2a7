/* dcl/base.h - what every other header uses: the words of all headers, visibility, status codes, error text, version. */
#ifndef DCL_BASE_H
#define DCL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCL_API __attribute__((visibility("default")))

/* Words that all headers use. docs/design.md has a longer list.
 *   - Program: the process that calls dcl_open(). Host: a computer. Host memory: its main memory, as opposed to that of a
 *     device.
 *   - Node: one OpenCL device of a cluster. A thread of the program or a *worker process* serves it. A *worker* is a
 *     running `dcl worker`: it starts worker processes on its host for each program that connects to it. A *session* is
 *     one program with its worker processes.
 *   - Operation: one call that makes, writes, reads or moves elements. "Started when it returns": the operation runs after
 *     the call has returned; dcl_wait() waits for it, and a later call sees its results. "Complete when it returns": it has
 *     ended.
 *   - Error text: the text that dcl_error() returns.
 *   - An array *fails* if an operation that writes it fails, or if a node that stores a part of it is lost. The contents of
 *     a *failed array* are undefined: calls that read it return the error, and operations that need it are not carried
 *     out. It becomes valid again when one operation overwrites all of it, but never if a node that stores a part of it
 *     was lost.
 *   - A cluster *breaks* in two cases: the last node is lost; or the program has no memory for DCL's internal state.
 *     This includes the state of the threads that serve nodes. From then on every call returns the error that broke the
 *     cluster, until dcl_close(). If a worker process has no memory for its internal state, or sends an invalid
 *     message, the cluster does not break: the node of this process is lost.
 *   - "NULL is passed through": a function that is given NULL returns NULL and does not change dcl_error(), which still
 *     describes the call that failed first.
 *   - Replica: a node's own copy of elements, mostly of elements that other nodes own. To *retain* a replica is to keep
 *     it when the operation that moved its elements has ended.
 *   - Tile: the elements of an array that are computed together, as one task.
 *   - Batch: tiles of a node that are launched together. Stage: temporary memory of a node, into which it copies inputs
 *     that are not contiguous. */

#define DCL_VERSION_MAJOR 0
#define DCL_VERSION_MINOR 1
#define DCL_VERSION_PATCH 0
#define DCL_VERSION "0.1.0"

/** Most dimensions a grid can have. */
#define DCL_MAX_RANK 8

/* Sizes of structs. The layout of dcl_grid, dcl_box, dcl_axis, dcl_tile, dcl_use, dcl_npy_info, dcl_report_pair,
 * dcl_report_array and dcl_report_footprint never changes. Other structs may get more fields at their end in later
 * versions. So the library must know which version of a struct the program was compiled with:
 *   - A struct that the program fills (dcl_config, dcl_worker_config, dcl_call, dcl_image) begins with `struct_size`.
 *     Fields that the program's version lacks get their defaults. If such a struct points to an array of other structs,
 *     one of its fields gives the size of an element of that array (dcl_call.arg_bytes).
 *   - A struct that the library fills is passed to a function ..._sized() with its size; the library writes no more
 *     bytes than that. The function of the same name without _sized is inline and passes sizeof. Other languages call
 *     ..._sized().
 *   - The library itself allocates a dcl_report and sets its struct_size: compare it with the offset of a newer field
 *     before reading the field. dcl_report and dcl_report_node contain a dcl_counters. If that gets more fields, the fields
 *     after it move, and programs that read reports must be compiled anew.
 * A call with a size that is larger than the library's own returns DCL_ERR_INVALID: the program was compiled with newer
 * headers. */

/** Result of a call. There are few codes, for branching; dcl_error() describes the error for people. */
typedef enum dcl_status {
    DCL_OK = 0,
    DCL_ERR_INVALID,     /**< an argument does not make sense */
    DCL_ERR_RANGE,       /**< an index or a box lies outside its grid */
    DCL_ERR_NOMEM,       /**< memory of the host or of a device is exhausted, or a limit such as DCL_KEPT_BYTES
                              would be exceeded */
    DCL_ERR_FILE,        /**< a file cannot be used */
    DCL_ERR_BODY,        /**< the text of a loop body is wrong */
    DCL_ERR_UNSUPPORTED, /**< valid, but not supported here */
    DCL_ERR_DEVICE,      /**< an OpenCL device refused or failed */
    DCL_ERR_NETWORK,     /**< a connection could not be made or broke */
    DCL_ERR_TIMEOUT,     /**< a time limit has passed */
    DCL_ERR_NODE_LOST,   /**< a node of the cluster is gone */
    DCL_ERR_PROTOCOL,    /**< a peer sent a message that the protocol does not allow */
    DCL_ERR_INTERNAL     /**< a bug in DCL itself */
} dcl_status;

/** The name of a status, such as "DCL_ERR_RANGE"; "DCL_ERR_?" for an unknown number. Never NULL; static storage. */
DCL_API const char *dcl_status_name(dcl_status status);

/** The sentence of this thread's last error: which call failed, what it found, what it expected, and what to do.
 *
 *  A *constructor* is a function that makes a cluster, map, array or view; it returns NULL if it fails. If a call needs a
 *  cluster, map or array and is given NULL, it fails with the status and sentence of this thread's last failed
 *  constructor, because the NULL usually comes from there.
 *  @return text owned by the library, valid until this thread's next failing call; "" before the first. */
DCL_API const char *dcl_error(void);

/** Version of the library that is loaded, "0.1.0"; compare with DCL_VERSION. Static storage. */
DCL_API const char *dcl_version(void);

#ifdef __cplusplus
}
#endif
#endif

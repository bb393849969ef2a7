/* dcl/base.h - what every other header uses: visibility, status codes, error text, version. */
#ifndef DCL_BASE_H
#define DCL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCL_API __attribute__((visibility("default")))

#define DCL_VERSION_MAJOR 0
#define DCL_VERSION_MINOR 1
#define DCL_VERSION_PATCH 0
#define DCL_VERSION "0.1.0"

/** Most dimensions a grid can have. */
#define DCL_MAX_RANK 8

/* Structs. dcl_grid, dcl_box, dcl_axis, dcl_tile, dcl_use, dcl_npy_info and the rows of a report are plain values and never
 * change. Later versions may append fields to all other structs. A program therefore passes their size, as it was compiled:
 *   - structs that the program fills begin with `struct_size` (dcl_config, dcl_worker_config, dcl_call); fields beyond that
 *     size get their defaults. The size of a list's elements stands beside the list (dcl_call.arg_bytes);
 *   - structs that the library fills are passed with their size to a function ..._sized(), which writes no more; the function
 *     without _sized is inline and passes sizeof. Other languages call ..._sized();
 *   - dcl_report is made by the library: its struct_size says which fields there are.
 * A size that the library does not know is DCL_ERR_INVALID: the program was built against newer headers. */

/** How a call ended. Few codes, to branch on; the sentence for people is dcl_error(). */
typedef enum dcl_status {
    DCL_OK = 0,
    DCL_ERR_INVALID,     /**< an argument does not make sense */
    DCL_ERR_RANGE,       /**< an index or a box lies outside its grid */
    DCL_ERR_NOMEM,       /**< memory of the host or of a device is exhausted, or a budget is too small */
    DCL_ERR_FILE,        /**< a file cannot be used */
    DCL_ERR_BODY,        /**< the text of a loop body is wrong */
    DCL_ERR_UNSUPPORTED, /**< right in itself, but not offered here */
    DCL_ERR_DEVICE,      /**< an OpenCL device refused or failed */
    DCL_ERR_NETWORK,     /**< a connection could not be made or broke */
    DCL_ERR_TIMEOUT,     /**< the time given was too short */
    DCL_ERR_NODE_LOST,   /**< a node of the cluster is gone */
    DCL_ERR_PROTOCOL,    /**< a peer sent what it must not send */
    DCL_ERR_INTERNAL     /**< a mistake of DCL itself */
} dcl_status;

/** The name of a status, "DCL_ERR_RANGE"; "DCL_ERR_?" for a number that is none. Never NULL; static storage. */
DCL_API const char *dcl_status_name(dcl_status status);

/** This thread's last error as a sentence: the call, the value found, what was expected and what to do. A call that is given
 *  NULL for a cluster, map or array repeats the error of this thread's last constructor that failed, and returns its status.
 *  @return text owned by the library, valid until this thread's next failing call; "" before the first. */
DCL_API const char *dcl_error(void);

/** Version of the library that is loaded, "0.1.0"; compare with DCL_VERSION. Static storage. */
DCL_API const char *dcl_version(void);

#ifdef __cplusplus
}
#endif
#endif

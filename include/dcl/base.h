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

/* Sizes of structs. dcl_grid, dcl_box, dcl_axis, dcl_tile, dcl_use, dcl_npy_info and the rows of a report are plain
 * values; they never change. Other structs may get more fields at their end in later versions. So the library must know
 * which version of a struct the program was compiled with:
 *   - A struct that the program fills (dcl_config, dcl_worker_config, dcl_call) begins with `struct_size`. Fields that
 *     the program does not have get their defaults. For elements of a list the size is a field beside the list
 *     (dcl_call.arg_bytes).
 *   - A struct that the library fills is passed to a function ..._sized() with its size; the library writes no more
 *     bytes than that. The function of the same name without _sized is inline and passes sizeof. Other languages call
 *     ..._sized().
 *   - The library itself allocates a dcl_report and sets its struct_size: compare it with the offset of a newer field
 *     before reading the field.
 * A size that is larger than the library's own is DCL_ERR_INVALID: the program was built against newer headers. */

/** Result of a call. There are few codes, for branching; dcl_error() gives the sentence for people. */
typedef enum dcl_status {
    DCL_OK = 0,
    DCL_ERR_INVALID,     /**< an argument does not make sense */
    DCL_ERR_RANGE,       /**< an index or a box lies outside its grid */
    DCL_ERR_NOMEM,       /**< memory of the host or of a device is exhausted, or a budget is too small */
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

/** This thread's last error as a sentence: the call, the value found, what was expected and how to fix it. A call that
 *  gets NULL for a cluster, map or array fails with the error of this thread's last constructor that returned NULL: the
 *  same status, the same sentence.
 *  @return text owned by the library, valid until this thread's next failing call; "" before the first. */
DCL_API const char *dcl_error(void);

/** Version of the library that is loaded, "0.1.0"; compare with DCL_VERSION. Static storage. */
DCL_API const char *dcl_version(void);

#ifdef __cplusplus
}
#endif
#endif

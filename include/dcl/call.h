/* dcl/call.h - calls as values: one description is run, explained or reported. */
#ifndef DCL_CALL_H
#define DCL_CALL_H

#include <string.h>

#include <dcl/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counters of a node, or sums over all nodes. Planned counters are known before an operation runs: dcl_explain() returns
 *  the same numbers. */
typedef struct dcl_counters {
    int64_t tasks; /**< planned: tiles computed */
    int64_t
        blocks_moved;    /**< planned: blocks that contain at least one of the elements counted in bytes_moved, once per
                                 operation, node and argument */
    int64_t bytes_moved; /**< planned: bytes of the elements that a node's tasks read or write but that another node
                                owns. An element counts once per operation, node and argument, in whatever way it is
                                transferred */
    int64_t
        messages_planned; /**< planned: messages of data that a node's tasks receive (inputs that cannot be read in place)
                                 and send (outputs that other nodes own). Sent as planned unless a node fails */
    int64_t approximate;  /**< planned: operations of a node that move a bounding box instead of exactly what is read */
    int64_t bytes_sent;   /**< bytes of data in messages */
    int64_t bytes_copied; /**< bytes copied on a node: packing, unpacking, staging */
    int64_t messages_sent; /**< messages of every kind, except those of dcl_stats() itself */
    int64_t kernels_built; /**< OpenCL programs compiled: each node counts those that its device's cache did not have */
    int64_t launches;      /**< kernels started; on a CPU, short operations that follow each other may share one */
    int64_t storage_bytes; /**< memory that holds parts of arrays now */
    int64_t loans_asked;   /**< stealing: how often this node has asked another node for batches (dcl/base.h) */
    int64_t loans_refused; /**< stealing: how often the answer to such a request of this node was no */
    int64_t loans_won;     /**< stealing: batches of this node that another node has computed for it */
    int64_t
        loans_taken_back; /**< stealing: batches that this node has lent and that came back without results, or that it
                               took back; it ran them itself or lent them again */
    int64_t loan_bytes;   /**< stealing: bytes that this node has sent: inputs of batches that it lent, and results of
                               batches that it borrowed */
    int64_t
        loan_bytes_in_vain; /**< stealing: bytes of loans that saved no time: inputs that this node has sent, and results
                                 that it has received. A batch saved no time if it was taken back, if it came back
                                 without results, or if its results came late: later than the time at which this node,
                                 by its prediction, would have computed the batch itself */
} dcl_counters;

/** @param counters_bytes  sizeof(dcl_counters) of the program. */
DCL_API dcl_status dcl_stats_sized(dcl_cluster *cluster, int node, dcl_counters *counters_out, size_t counters_bytes);
/** Counters since dcl_open(). Waits for the operations called so far, then asks every node that is not lost.
 *  @param node  0..node_count-1, DCL_ALL_NODES, or DCL_HOST.
 *  @param counters_out  filled on success. The counters of a lost node are those of its last message.
 *  @return DCL_OK; DCL_ERR_INVALID, DCL_ERR_NOMEM, DCL_ERR_TIMEOUT (a node has not answered for ten seconds), or the error
 *          that broke the cluster (dcl/base.h). Cost: a message to each node and its answer. */
static inline dcl_status dcl_stats(dcl_cluster *cluster, int node, dcl_counters *counters_out)
{
    return dcl_stats_sized(cluster, node, counters_out, sizeof *counters_out);
}

/** What a call does. */
typedef enum dcl_call_kind {
    DCL_CALL_IS_BODY = 1,  /**< dcl_forall(): run a body for each index */
    DCL_CALL_IS_TILES,     /**< dcl_forall_tiles(): run a kernel for each tile */
    DCL_CALL_IS_COPY,      /**< dcl_copy() */
    DCL_CALL_IS_REMAP,     /**< dcl_remap_with() */
    DCL_CALL_IS_MOVE,      /**< dcl_move() */
    DCL_CALL_IS_REDUCTION, /**< dcl_reduce(): reduce to values, or along axes into arrays */
    DCL_CALL_IS_SCAN,      /**< dcl_scan(): combine the elements up to each one */
    DCL_CALL_IS_LOOPS      /**< dcl_loops(): run a loop nest */
} dcl_call_kind;

typedef struct dcl_arg dcl_arg; /* dcl/forall.h */

/** A call. It is made by one of the macros DCL_CALL_BODY() (dcl/forall.h), DCL_CALL_TILES() (dcl/tile_kernel.h),
 *  DCL_CALL_COPY(), DCL_CALL_REMAP() (dcl/remap.h), DCL_CALL_MOVE() (dcl/local.h), DCL_CALL_REDUCTION() (dcl/reduce.h),
 *  DCL_CALL_SCAN() (dcl/scan.h) and DCL_CALL_LOOPS() (dcl/loops.h). Other languages make it by hand: zero the struct, then
 *  set `struct_size`, `kind` and the fields of that kind. The library borrows the struct, and everything that it points to,
 *  until the call returns.
 *
 *  The macros give a pointer for use as an argument: dcl_call_run(DCL_CALL_COPY(A, B)). In C it is valid until the end
 *  of the enclosing block, in C++ only until the end of the full expression. To keep a description, keep the struct,
 *  which dcl_call_body(), dcl_call_copy() and so on return. The list of arguments of a body must be kept as long. */
typedef struct dcl_call {
    size_t struct_size;   /**< sizeof(dcl_call) of the program */
    dcl_call_kind kind;   /**< what the call does: fields marked with this kind are used */
    dcl_cluster *cluster; /**< BODY, TILES, REDUCTION, SCAN, LOOPS */
    const char *text;     /**< BODY, REDUCTION, SCAN: the body, TILES: the kernel, LOOPS: the nest */
    const dcl_box *box;   /**< NULL: all indices. BODY, TILES, REDUCTION into arrays: in the grid of the first output.
                               REDUCTION to values: in the grid of the input that gives the indices. MOVE: in the grid
                               of the array */
    int arg_count;        /**< BODY, TILES, LOOPS: 1..64; REDUCTION: 1..63, to values 1..62; SCAN: 2..56 */
    size_t arg_bytes;     /**< sizeof(dcl_arg) of the program; for the same kinds as arg_count */
    const dcl_arg *args;  /**< [arg_count] BODY, TILES: at least one output; the first one gives the index space.
                               REDUCTION: at least one result or one output. SCAN: one output, and DCL_ALONG. LOOPS: at
                               least one output */
    dcl_array *array;     /**< COPY: to; REMAP, MOVE: the array */
    dcl_array *from;      /**< COPY */
    dcl_map *map;         /**< REMAP */
    unsigned flags;       /**< REMAP: as of dcl_remap_with() */
    int node;             /**< MOVE: the node that receives the elements */
} dcl_call;

/** Run a call.
 *  @return DCL_OK when started; otherwise an error of the corresponding function: dcl_forall() for DCL_CALL_IS_BODY,
 *          and so on; DCL_ERR_INVALID also when struct_size, kind or arg_bytes is wrong.
 *          A call that is refused changes nothing. */
DCL_API dcl_status dcl_call_run(const dcl_call *call);

/** @param counters_bytes  sizeof(dcl_counters) of the program. */
DCL_API dcl_status dcl_call_explain_sized(const dcl_call *call, int node, dcl_counters *counters_out,
                                          size_t counters_bytes);
/** The planned counters of a call, without running it; the other counters are 0. If the call is run next, the counters of
 *  the cluster grow by exactly these amounts.
 *  A body is not compiled. Errors that only a device's compiler finds, such as an unknown function, appear when it is run.
 *  @param node  as in dcl_stats() (DCL_HOST: zeros). A move is counted at the node that receives the elements.
 *  @return the statuses of dcl_call_run(). The cluster's state does not change. */
static inline dcl_status dcl_call_explain(const dcl_call *call, int node, dcl_counters *counters_out)
{
    return dcl_call_explain_sized(call, node, counters_out, sizeof *counters_out);
}

/** A call in which only `kind` and `struct_size` are set; all other fields are 0 or NULL. */
static inline dcl_call dcl_call_of(dcl_call_kind kind)
{
    dcl_call call;
    memset(&call, 0, sizeof call);
    call.struct_size = sizeof call;
    call.kind = kind;
    return call;
}

/* A pointer to a description, for use as an argument. It is valid until the end of the enclosing block (C) or of the full
 * expression (C++). */
#ifdef __cplusplus
}

static inline const dcl_call *dcli_call_pointer(const dcl_call &call) { return &call; }
#define DCLI_CALL(made) dcli_call_pointer(made)
#else
#define DCLI_CALL(made) ((const dcl_call[1]){made})
#endif
#endif
